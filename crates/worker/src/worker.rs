//! One worker: its parts, and its loop.

use crate::frame::Frame;
use crate::idle::{IdleConfig, Ramp, Rest};
use crate::outlet::Outlet;
use crate::peers::{Errand, Farewells, Peers};
use crate::stages::Stages;
use crate::status::WorkerStatus;
use arrayvec::ArrayVec;
use bng_dataplane::{BURST_FRAMES_MAX, FlowHash, FrameBuf, InjectKind, PuntClass, Reason, WorkerCounters};
use bng_dpdk::{Mbuf, Mempool, RingDrain, RxQueue, TxQueue, pause, rdtsc, tsc_hz};
use bng_sync::{FrameConsumer, FrameMeta, FrameProducer, Reader, prefetch_read};
use bng_wire::PortIndex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Frames taken from the inject ring in one turn: as many as from a receive queue, so that neither starves the other.
pub const INJECT_FRAMES_MAX: usize = BURST_FRAMES_MAX;

/// Turns that still take frames of control's after the stop: together they empty a ring of 65,536 frames.
const LAST_TURNS_MAX: usize = 65_536 / INJECT_FRAMES_MAX;

/// How long a worker waits at the end for others that send by its queues. The longest sleep of one is a millisecond.
const FAREWELL_MS_MAX: u64 = 100;

/// Tells workers to stop. Clones are the same flag.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A flag that is down.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises it: each worker sends what control has injected before this call, and returns. A sleeping one does so
    /// when its sleep ends.
    pub fn stop(&self) {
        // What was injected before must be seen by whoever sees the flag.
        self.0.store(true, Ordering::Release);
    }

    /// True once it is raised.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A port as one worker has it.
pub struct WorkerPort {
    /// Which one.
    pub port: PortIndex,
    /// The receive queues that this worker polls: one as a rule, none where the port has fewer queues than there are
    /// workers, several where it has more. Every queue that is configured must be polled by someone.
    pub rx: Vec<RxQueue>,
    /// How this worker sends on it.
    pub tx: Transmit,
    /// True where the port does not spread its frames over its queues by itself: then whoever polls one of them hands
    /// flows to all workers alike.
    pub steer: bool,
}

/// How a worker sends on a port.
pub enum Transmit {
    /// By a queue of its own.
    Own(TxQueue),
    /// By another worker's: the port has too few.
    Through {
        /// The worker that has a queue.
        worker: usize,
        /// The longest frame that the port takes.
        frame_octets_max: usize,
    },
}

/// What a worker is made of.
pub struct WorkerParts<S> {
    /// What is done with each burst.
    pub stages: S,
    /// Every port of the router: any worker may have to send on any of them.
    pub ports: Vec<WorkerPort>,
    /// Where buffers for control's frames, and for frames made on the spot, come from.
    pub pool: Mempool,
    /// This worker's place in the reclaim domain.
    pub reader: Reader,
    /// The rings to control, by [`PuntClass`].
    pub punt: [FrameProducer; PuntClass::COUNT],
    /// The ring from control.
    pub inject: FrameConsumer,
    /// The other workers; [`Peers::none`] where there is none, or each has what it needs.
    pub peers: Peers,
    /// What is counted by reason and port: the same that the stages add to.
    pub counters: Arc<WorkerCounters>,
    /// What the worker tells of itself.
    pub status: Arc<WorkerStatus>,
    /// When it sleeps.
    pub idle: IdleConfig,
    /// When it ends.
    pub stop: Stop,
}

/// Why a worker cannot be made of its parts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkerError {
    /// The index of a port is above the highest.
    #[error("port index {index} is above {max}", max = PortIndex::MAX)]
    PortIndex {
        /// The index.
        index: u8,
    },
    /// Two ports have the same index.
    #[error("port index {index} is given twice")]
    PortTwice {
        /// The index.
        index: u8,
    },
    /// The EAL is not up, so there is no clock.
    #[error("the time stamp counter's rate is not known before the EAL is up")]
    NoClock,
}

/// One receive queue and the port it belongs to.
struct Inlet {
    port: PortIndex,
    queue: RxQueue,
    steer: bool,
}

/// A worker, ready to run on its lcore.
pub struct Worker<S> {
    stages: S,
    inlets: Vec<Inlet>,
    outlet: Outlet,
    /// This worker's number among its peers, and how many there are.
    own: usize,
    workers: usize,
    hash: FlowHash,
    from_peers: Vec<RingDrain>,
    farewells: Farewells,
    inject: FrameConsumer,
    reader: Reader,
    pool: Mempool,
    status: Arc<WorkerStatus>,
    ramp: Ramp,
    clock: Clock,
    stop: Stop,
    received: ArrayVec<Mbuf, BURST_FRAMES_MAX>,
    frames: ArrayVec<Frame, BURST_FRAMES_MAX>,
}

impl<S: Stages> Worker<S> {
    /// Puts the parts together.
    ///
    /// # Errors
    /// [`WorkerError`] says which part does not fit.
    pub fn new(parts: WorkerParts<S>) -> Result<Self, WorkerError> {
        let ticks_per_second = tsc_hz();
        if ticks_per_second == 0 {
            return Err(WorkerError::NoClock);
        }
        let (mut inlets, mut queues) = (Vec::new(), Vec::<(PortIndex, Transmit)>::new());
        for WorkerPort { port, rx, tx, steer } in parts.ports {
            if port.0 > PortIndex::MAX {
                return Err(WorkerError::PortIndex { index: port.0 });
            }
            if queues.iter().any(|(other, _)| *other == port) {
                return Err(WorkerError::PortTwice { index: port.0 });
            }
            inlets.extend(rx.into_iter().map(|queue| Inlet { port, queue, steer }));
            queues.push((port, tx));
        }
        let Peers { own, hands, from, hash, farewells } = parts.peers;
        let workers = hands.len();
        let outlet =
            Outlet::new(queues, hands, parts.punt, parts.pool.clone(), parts.counters, Arc::clone(&parts.status));
        Ok(Self {
            stages: parts.stages,
            inlets,
            outlet,
            own,
            workers,
            hash,
            from_peers: from,
            farewells,
            inject: parts.inject,
            reader: parts.reader,
            pool: parts.pool,
            status: parts.status,
            ramp: Ramp::new(parts.idle, ticks_per_second),
            clock: Clock::new(ticks_per_second),
            stop: parts.stop,
            received: ArrayVec::new(),
            frames: ArrayVec::new(),
        })
    }

    /// Runs until [`Stop::stop`]. The worker comes back, so that queues and rings are dropped by whoever joins it.
    #[must_use]
    pub fn run(mut self) -> Self {
        self.status.running.set(1);
        self.reader.online();
        let mut turn_began = rdtsc();
        while !self.stop.is_stopped() {
            let worked = self.turn(turn_began);
            self.reader.quiescent();
            let now = rdtsc();
            turn_began = match self.account(worked, turn_began, now) {
                Rest::Spin => now,
                Rest::Sleep(sleep) => self.sleep(sleep, now),
            };
        }
        self.last_turns();
        self.reader.offline();
        self.status.running.set(0);
        self
    }

    /// One turn on the calling thread, without rest: for benchmarks, and for fuzzers that drive the whole receive path.
    /// True where there was anything to do.
    #[inline]
    pub fn step(&mut self) -> bool {
        if !self.reader.is_online() {
            self.reader.online();
        }
        let worked = self.turn(rdtsc());
        self.reader.quiescent();
        worked
    }

    /// One turn: each receive queue, then the inject ring. True where there was anything to do.
    #[inline]
    fn turn(&mut self, now: u64) -> bool {
        let now_ms = self.clock.millis(now);
        let mut worked = false;
        for at in 0..self.inlets.len() {
            worked |= self.poll(at, now_ms);
        }
        if !self.from_peers.is_empty() {
            worked |= self.take_handed(now_ms);
        }
        worked | self.take_injected(now_ms)
    }

    /// One receive queue. True where frames came.
    #[inline]
    fn poll(&mut self, at: usize, now_ms: u64) -> bool {
        let Some(inlet) = self.inlets.get_mut(at) else { return false };
        let received = inlet.queue.rx_burst(&mut self.received);
        if received == 0 {
            return false;
        }
        self.status.burst(received);
        let port = inlet.port;
        if inlet.steer {
            self.steer(port);
        }
        for mbuf in self.received.drain(..) {
            if mbuf.segments() == 1 {
                // A card's driver has just written the mbuf, but no core has touched the frame itself yet. With rings
                // as ports the frames are in the cache already, and this costs 1 to 2 cycles a frame for nothing.
                if let Some(first) = mbuf.bytes().first() {
                    prefetch_read(first);
                }
                self.frames.push(Frame(mbuf));
                continue;
            }
            join(mbuf, port, &mut self.frames, &mut self.outlet, &self.status);
        }
        self.stages.process(port, &mut self.frames, now_ms, &mut self.outlet);
        self.outlet.flush();
        true
    }

    /// Hands what was received to the workers whose flows it is of; what is this worker's own stays.
    #[inline(never)]
    fn steer(&mut self, port: PortIndex) {
        let Self { received, outlet, hash, own, workers, .. } = self;
        let mut stay = ArrayVec::<Mbuf, BURST_FRAMES_MAX>::new();
        for mbuf in received.drain(..) {
            // What is in several segments has its headers in the first, or is not worth spreading.
            match hash.worker(mbuf.bytes(), *workers) {
                Some(worker) if worker != *own => stay.extend(outlet.hand(worker, port, mbuf)),
                _ => stay.push(mbuf),
            }
        }
        *received = stay;
    }

    /// What other workers hand over, a burst from each. True where there was any.
    #[inline(never)]
    fn take_handed(&mut self, now_ms: u64) -> bool {
        let mut worked = false;
        for at in 0..self.from_peers.len() {
            let Some(ring) = self.from_peers.get_mut(at) else { break };
            let mut handed = ArrayVec::<Mbuf, BURST_FRAMES_MAX>::new();
            let taken = ring.drain(&mut handed);
            if taken == 0 {
                continue;
            }
            worked = true;
            self.status.from_peers.add(taken as u64);
            let mut run = None;
            for mbuf in handed {
                match Errand::of(mbuf.mark()) {
                    Errand::Send(port) => self.outlet.send_for_peer(port, mbuf),
                    Errand::Received(port) => {
                        if run.is_some_and(|before| before != port) {
                            self.process_run(run, now_ms);
                        }
                        run = Some(port);
                        join(mbuf, port, &mut self.frames, &mut self.outlet, &self.status);
                    }
                }
            }
            self.process_run(run, now_ms);
            self.outlet.flush();
        }
        worked
    }

    /// Takes gathered frames of one port to their end.
    #[inline]
    fn process_run(&mut self, port: Option<PortIndex>, now_ms: u64) {
        if let Some(port) = port {
            self.stages.process(port, &mut self.frames, now_ms, &mut self.outlet);
        }
    }

    /// What control has to say. True where it had.
    #[inline]
    fn take_injected(&mut self, now_ms: u64) -> bool {
        let Self { inject, outlet, stages, frames, pool, .. } = self;
        let taken = inject.pop_batch(INJECT_FRAMES_MAX, |meta, bytes| {
            if meta.kind == InjectKind::Transmit as u8 {
                stages.injected(PortIndex(meta.port), bytes, now_ms);
            }
            injected(meta, bytes, pool, outlet, |port, frame, outlet| {
                frames.push(frame);
                stages.process(port, frames, now_ms, outlet);
            });
        });
        if taken == 0 {
            return false;
        }
        self.status.injected.add(taken as u64);
        self.outlet.flush();
        true
    }

    /// Counts the turn, and says what comes next.
    #[inline]
    fn account(&mut self, worked: bool, began: u64, now: u64) -> Rest {
        let cycles = now.wrapping_sub(began);
        let status = &*self.status;
        status.turns.add(1);
        if worked {
            status.busy_cycles.add(cycles);
            self.ramp.worked();
            return Rest::Spin;
        }
        status.turns_empty.add(1);
        status.idle_cycles.add(cycles);
        let rest = self.ramp.rested(now);
        if rest == Rest::Spin {
            pause();
        }
        rest
    }

    /// Sleeps, and tells writers not to wait for this worker meanwhile. Answers when it woke.
    #[cold]
    fn sleep(&mut self, sleep: Duration, now: u64) -> u64 {
        self.status.sleeps.add(1);
        self.status.sleeping.set(1);
        self.reader.offline();
        std::thread::sleep(sleep);
        self.reader.online();
        self.status.sleeping.set(0);
        let woke = rdtsc();
        self.status.sleep_cycles.add(woke.wrapping_sub(now));
        woke
    }

    /// Sends what control injected before it raised the flag: the farewells to the clients are among it.
    fn last_turns(&mut self) {
        for _ in 0..LAST_TURNS_MAX {
            let now_ms = self.clock.millis(rdtsc());
            if !self.take_injected(now_ms) {
                break;
            }
            self.reader.quiescent();
        }
        self.outlet.flush();
        self.farewells.say();
        // Others may have sent theirs by a queue of this one.
        let deadline = rdtsc().wrapping_add(self.clock.ticks(FAREWELL_MS_MAX));
        loop {
            let all_said = self.farewells.all_said();
            let now = rdtsc();
            let worked = self.take_handed(self.clock.millis(now));
            self.reader.quiescent();
            if (all_said && !worked) || now > deadline {
                break;
            }
            pause();
        }
    }
}

/// Takes a frame in, its segments joined, or drops it. The stages never see it then, so it is counted as received here.
#[inline]
fn join(
    mbuf: Mbuf,
    port: PortIndex,
    frames: &mut ArrayVec<Frame, BURST_FRAMES_MAX>,
    outlet: &mut Outlet,
    status: &WorkerStatus,
) {
    let single = mbuf.segments() == 1;
    match Frame::new(mbuf) {
        Ok(frame) => {
            if !single {
                status.linearised.add(1);
            }
            frames.push(frame);
        }
        Err(mbuf) => {
            if let Some(counters) = outlet.counters().port(port) {
                counters.rx_frames.add(1);
                counters.rx_octets.add(mbuf.total_len() as u64);
            }
            outlet.drop_frame(Reason::NotLinear, mbuf);
        }
    }
}

/// One record of the inject ring.
fn injected(
    meta: FrameMeta,
    bytes: &[u8],
    pool: &Mempool,
    outlet: &mut Outlet,
    receive: impl FnOnce(PortIndex, Frame, &mut Outlet),
) {
    let Some(mbuf) = pool.alloc() else {
        outlet.counters().reason(Reason::NoBuffer).add(1);
        return;
    };
    let mut frame = Frame(mbuf);
    if !frame.set_len(bytes.len()) {
        return outlet.drop_frame(Reason::TooBig, frame.0);
    }
    frame.bytes_mut().copy_from_slice(bytes);
    let port = PortIndex(meta.port);
    match InjectKind::from_u8(meta.kind) {
        Some(InjectKind::Transmit) => outlet.inject(port, frame),
        Some(InjectKind::Receive) => receive(port, frame, outlet),
        // Control writes no other kind; should it, the frame has nowhere to go.
        None => outlet.drop_frame(Reason::UnknownPort, frame.0),
    }
}

/// Ticks to milliseconds by a multiplication, as a division would cost more than the rest of an empty turn.
#[derive(Debug, Clone, Copy)]
struct Clock {
    /// Milliseconds a tick, times 2^64.
    factor: u64,
}

impl Clock {
    fn new(ticks_per_second: u64) -> Self {
        let factor = (1000u128 << 64) / u128::from(ticks_per_second.max(1001));
        Self { factor: u64::try_from(factor).unwrap_or(u64::MAX) }
    }

    fn ticks(self, millis: u64) -> u64 {
        u64::try_from((u128::from(millis) << 64) / u128::from(self.factor.max(1))).unwrap_or(u64::MAX)
    }

    #[inline(always)]
    fn millis(self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.factor)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_milliseconds() {
        for hz in [1_000_000, 24_000_000, 2_600_000_000u64, 5_000_000_000] {
            let clock = Clock::new(hz);
            for seconds in [0, 1, 3600, 31_536_000u64] {
                let millis = clock.millis(seconds * hz);
                assert!(millis.abs_diff(seconds * 1000) <= 1, "{hz} Hz, {seconds} s: {millis}");
            }
        }
    }

    #[test]
    fn a_raised_flag_is_seen_by_all() {
        let stop = Stop::new();
        let other = stop.clone();
        assert!(!other.is_stopped());
        stop.stop();
        assert!(other.is_stopped());
    }
}
