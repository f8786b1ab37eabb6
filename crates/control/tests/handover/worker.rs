//! A worker: the real pipeline, its rings and its quiescent points, with queues in memory where a port would be.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arrayvec::ArrayVec;
use bng_dataplane::memory::MemoryFrame;
use bng_dataplane::{BURST_FRAMES_MAX, FrameBuf, InjectKind, Pipeline, PuntClass, PuntMeta, Reason, Sink};
use bng_sync::{FrameConsumer, FrameMeta, FrameProducer, Reader};
use bng_testkit::sim::Chance;
use bng_wire::PortIndex;
use crossbeam_channel::{Receiver, Sender};

use crate::ledger::Ledger;
use crate::{CORE, Flags};

/// A frame on its way to a worker, and the port that it comes in by.
pub type Arrival = (PortIndex, Vec<u8>);

/// What one sender has put before one worker.
#[derive(Debug)]
pub struct Lane {
    pub arrivals: Receiver<Arrival>,
    /// Taken from there, and of another port than the burst before.
    pub next: Option<Arrival>,
    /// How many of them have been dealt with, to their end.
    pub done: Arc<AtomicU64>,
}

/// Where frames leave a worker.
#[derive(Debug)]
pub struct Outlet {
    pub punt: [FrameProducer; PuntClass::COUNT],
    /// To the senders, for their clients.
    pub wires: Vec<Sender<Vec<u8>>>,
    pub chance: Chance,
    pub ledger: Ledger,
    pub punt_full: u64,
    pub ended: u64,
    pub allocated: u64,
    pub dropped: Vec<u64>,
}

#[derive(Debug)]
pub struct Worker {
    pub pipeline: Pipeline,
    pub lanes: Vec<Lane>,
    pub inject: FrameConsumer,
    pub reader: Reader,
    pub outlet: Outlet,
    pub received: u64,
}

/// One transmission of so many is held up, as by a scheduler that takes the core away within a burst.
const HELD_UP_ONE_IN: u64 = 128;

impl Outlet {
    /// A frame for a client, whose MAC address says which sender plays it.
    fn to_client(&self, frame: &[u8]) {
        let sender = usize::from(frame[4]);
        if let Some(wire) = self.wires.get(sender) {
            // A sender that has ended hears no last words.
            let _ = wire.send(frame.to_vec());
        }
    }
}

impl Sink<MemoryFrame> for Outlet {
    fn transmit(&mut self, port: PortIndex, frame: MemoryFrame) {
        self.ended += 1;
        if port == CORE {
            self.ledger.upstream(frame.bytes());
        } else {
            self.ledger.downstream(frame.bytes());
        }
        if self.chance.below(HELD_UP_ONE_IN) == 0 {
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    fn punt(&mut self, class: PuntClass, meta: PuntMeta, frame: MemoryFrame) {
        self.ended += 1;
        let record = FrameMeta { port: meta.port.0, kind: 0, reason: meta.reason as u16, session: meta.session_bits() };
        if self.punt[class as usize].push(record, frame.bytes()).is_err() {
            self.punt_full += 1;
        }
    }

    fn discard(&mut self, reason: Reason, _frame: MemoryFrame) {
        self.ended += 1;
        self.dropped[reason as usize] += 1;
    }

    fn allocate(&mut self) -> Option<MemoryFrame> {
        self.allocated += 1;
        Some(MemoryFrame::new())
    }
}

impl Worker {
    /// Runs until the workers are to stop and nothing is left to do.
    pub fn run(mut self, flags: &Flags) -> Self {
        let start = Instant::now();
        let mut idle = 0u32;
        self.reader.online();
        loop {
            let stop = flags.workers_stop.load(Ordering::Acquire) || flags.failed();
            let now_ms = start.elapsed().as_millis() as u64;
            let worked = self.turn(now_ms);
            self.reader.quiescent();
            if worked {
                idle = 0;
                continue;
            }
            if stop {
                self.reader.offline();
                return self;
            }
            idle += 1;
            if idle.is_multiple_of(16) {
                // The idle ramp: asleep a worker is offline, and writers do not wait for it.
                self.reader.offline();
                std::thread::sleep(Duration::from_micros(20));
                self.reader.online();
            } else {
                std::thread::yield_now();
            }
        }
    }

    fn turn(&mut self, now_ms: u64) -> bool {
        let mut worked = false;
        for at in 0..self.lanes.len() {
            worked |= self.poll(at, now_ms);
        }
        let Self { inject, outlet, .. } = self;
        let injected = inject.pop_batch(BURST_FRAMES_MAX, |meta, bytes| {
            assert_eq!(meta.kind, InjectKind::Transmit as u8, "no neighbour is waited for here");
            outlet.to_client(bytes);
        });
        worked || injected > 0
    }

    /// A burst of what came in by one port in one lane.
    fn poll(&mut self, at: usize, now_ms: u64) -> bool {
        let lane = &mut self.lanes[at];
        let Some((port, frame)) = lane.next.take().or_else(|| lane.arrivals.try_recv().ok()) else { return false };
        let mut burst = ArrayVec::<_, BURST_FRAMES_MAX>::new();
        burst.push(MemoryFrame::of(&frame));
        while !burst.is_full() {
            match lane.arrivals.try_recv() {
                Ok((other, frame)) if other == port => burst.push(MemoryFrame::of(&frame)),
                Ok(other) => {
                    lane.next = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        let count = burst.len() as u64;
        self.pipeline.process(port, &mut burst, now_ms, &mut self.outlet);
        self.received += count;
        lane.done.fetch_add(count, Ordering::Release);
        true
    }
}
