//! Where frames leave a worker: the transmit queues, the rings to control, the pool.

use crate::frame::Frame;
use crate::peers::{Errand, Hand};
use crate::status::WorkerStatus;
use crate::worker::Transmit;
use arrayvec::ArrayVec;
use bng_dataplane::{PuntClass, PuntMeta, Reason, Sink, WorkerCounters};
use bng_dpdk::{Mbuf, Mempool, TxQueue};
use bng_sync::{FrameMeta, FrameProducer};
use bng_wire::PortIndex;
use std::sync::Arc;

/// Frames that wait for transmission on one port until the end of the burst; one more sends them at once.
pub const TX_FRAMES_MAX: usize = 64;

/// Frames that wait to be freed together.
const FREE_FRAMES_MAX: usize = 64;

/// One port's way out.
struct Lane {
    port: PortIndex,
    way: Way,
    /// Longer frames never reach the driver: net_tap would stop the whole burst at one.
    octets_max: usize,
    waiting: ArrayVec<Mbuf, TX_FRAMES_MAX>,
}

/// Whose queue a lane's frames go by.
enum Way {
    Own(TxQueue),
    /// That of the worker with this number.
    Through(usize),
}

/// The way out of one worker, and the [`Sink`] of its pipeline.
pub struct Outlet {
    /// By port index; none for a port that this worker does not serve.
    lanes: Vec<Option<Lane>>,
    punt: [FrameProducer; PuntClass::COUNT],
    free: ArrayVec<Mbuf, FREE_FRAMES_MAX>,
    /// The ways to the other workers, by number.
    hands: Vec<Option<Hand>>,
    pool: Mempool,
    counters: Arc<WorkerCounters>,
    status: Arc<WorkerStatus>,
}

impl Outlet {
    pub(crate) fn new(
        ways: Vec<(PortIndex, Transmit)>,
        hands: Vec<Option<Hand>>,
        punt: [FrameProducer; PuntClass::COUNT],
        pool: Mempool,
        counters: Arc<WorkerCounters>,
        status: Arc<WorkerStatus>,
    ) -> Self {
        let length = ways.iter().map(|(port, _)| usize::from(port.0) + 1).max().unwrap_or(0);
        let mut lanes: Vec<Option<Lane>> = (0..length).map(|_| None).collect();
        for (port, way) in ways {
            let (way, octets_max) = match way {
                Transmit::Own(queue) => {
                    let octets_max = queue.frame_octets_max();
                    (Way::Own(queue), octets_max)
                }
                Transmit::Through { worker, frame_octets_max } => (Way::Through(worker), frame_octets_max),
            };
            if let Some(lane) = lanes.get_mut(usize::from(port.0)) {
                *lane = Some(Lane { port, way, octets_max, waiting: ArrayVec::new() });
            }
        }
        Self { lanes, punt, free: ArrayVec::new(), hands, pool, counters, status }
    }

    /// Sends what waits on every port and frees what is to be freed: the end of each burst.
    #[inline]
    pub(crate) fn flush(&mut self) {
        let Self { lanes, free, hands, counters, .. } = self;
        for lane in lanes.iter_mut().flatten() {
            if !lane.waiting.is_empty() {
                send(lane, hands, counters);
            }
        }
        for hand in hands.iter_mut().flatten() {
            if !hand.waiting.is_empty() {
                hand_over(hand, counters);
            }
        }
        if !free.is_empty() {
            Mbuf::free_burst(free);
        }
    }

    /// Sends a frame of control's, and counts it as given to the port, which the pipeline does for its own.
    pub(crate) fn inject(&mut self, port: PortIndex, frame: Frame) {
        if let Some(port) = self.counters.port(port) {
            port.tx_frames.add(1);
            port.tx_octets.add(frame.0.len() as u64);
        }
        self.transmit(port, frame);
    }

    /// Hands a frame that was received on `port` to another worker; it comes back where there is no such one.
    #[inline]
    pub(crate) fn hand(&mut self, worker: usize, port: PortIndex, mut mbuf: Mbuf) -> Option<Mbuf> {
        let Some(Some(hand)) = self.hands.get_mut(worker) else { return Some(mbuf) };
        if hand.waiting.is_full() {
            hand_over(hand, &self.counters);
        }
        mbuf.set_mark(Errand::Received(port).mark());
        self.status.steered.add(1);
        hand.waiting.push(mbuf);
        None
    }

    /// Sends a frame that another worker made, and counted, by a queue of this one.
    #[inline]
    pub(crate) fn send_for_peer(&mut self, port: PortIndex, mbuf: Mbuf) {
        match self.lanes.get(usize::from(port.0)) {
            Some(Some(Lane { way: Way::Own(_), .. })) => self.transmit(port, Frame(mbuf)),
            // The wiring names the owner of a queue; should it not, the frame must not go round.
            _ => self.drop_frame(Reason::UnknownPort, mbuf),
        }
    }

    /// Counts a frame under `reason` and frees it: for what the worker itself drops.
    #[inline]
    pub(crate) fn drop_frame(&mut self, reason: Reason, mbuf: Mbuf) {
        self.counters.reason(reason).add(1);
        self.release(mbuf);
    }

    #[inline(always)]
    fn release(&mut self, mbuf: Mbuf) {
        if self.free.is_full() {
            Mbuf::free_burst(&mut self.free);
        }
        self.free.push(mbuf);
    }

    pub(crate) fn counters(&self) -> &WorkerCounters {
        &self.counters
    }
}

/// Hands a lane's frames to the driver, once. What it does not take now is dropped: waiting would hold up every other
/// port, and the queue is the place for waiting.
#[inline]
fn send(lane: &mut Lane, hands: &mut [Option<Hand>], counters: &WorkerCounters) {
    match &mut lane.way {
        Way::Own(queue) => {
            queue.tx_burst(&mut lane.waiting);
        }
        Way::Through(worker) => return send_through(hands.get_mut(*worker), lane, counters),
    }
    if !lane.waiting.is_empty() {
        counters.reason(Reason::TxFull).add(lane.waiting.len() as u64);
        Mbuf::free_burst(&mut lane.waiting);
    }
}

/// Leaves a lane's frames to the worker that owns the queue.
#[cold]
#[inline(never)]
fn send_through(hand: Option<&mut Option<Hand>>, lane: &mut Lane, counters: &WorkerCounters) {
    let Some(Some(hand)) = hand else {
        counters.reason(Reason::UnknownPort).add(lane.waiting.len() as u64);
        return Mbuf::free_burst(&mut lane.waiting);
    };
    let mark = Errand::Send(lane.port).mark();
    for mut mbuf in lane.waiting.drain(..) {
        if hand.waiting.is_full() {
            hand_over(hand, counters);
        }
        mbuf.set_mark(mark);
        hand.waiting.push(mbuf);
    }
}

/// Puts what waits into the ring. What does not fit is dropped: kept, it would be overtaken by what comes next or hold
/// it up.
#[inline]
fn hand_over(hand: &mut Hand, counters: &WorkerCounters) {
    hand.ring.feed(&mut hand.waiting);
    if !hand.waiting.is_empty() {
        counters.reason(Reason::SteerFull).add(hand.waiting.len() as u64);
        Mbuf::free_burst(&mut hand.waiting);
    }
}

impl Sink<Frame> for Outlet {
    #[inline]
    fn transmit(&mut self, port: PortIndex, frame: Frame) {
        let Some(Some(lane)) = self.lanes.get_mut(usize::from(port.0)) else {
            return self.drop_frame(Reason::UnknownPort, frame.0);
        };
        if frame.0.len() > lane.octets_max {
            return self.drop_frame(Reason::TooBig, frame.0);
        }
        if lane.waiting.is_full() {
            send(lane, &mut self.hands, &self.counters);
        }
        lane.waiting.push(frame.0);
    }

    #[inline]
    fn punt(&mut self, class: PuntClass, meta: PuntMeta, frame: Frame) {
        let record = FrameMeta { port: meta.port.0, kind: 0, reason: meta.reason as u16, session: meta.session_bits() };
        let class = class as usize;
        let taken = self.punt.get_mut(class).is_some_and(|ring| ring.push(record, frame.0.bytes()).is_ok());
        let counter = if taken { self.status.punted.get(class) } else { self.status.punt_full.get(class) };
        if let Some(counter) = counter {
            counter.add(1);
        }
        if !taken {
            self.counters.reason(Reason::PuntFull).add(1);
        }
        self.release(frame.0);
    }

    #[inline]
    fn discard(&mut self, _reason: Reason, frame: Frame) {
        self.release(frame.0);
    }

    #[inline]
    fn allocate(&mut self) -> Option<Frame> {
        self.pool.alloc().map(Frame)
    }
}
