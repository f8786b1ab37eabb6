//! The stages over a burst, each with its memory asked for by the one before.

use std::sync::Arc;

use arrayvec::ArrayVec;
use bng_fib::{Adjacency, AdjacencyId, AdjacencyView, Fib};
use bng_session::{PoolMaps, SessionCounters, SessionIndex, SessionTable};
use bng_sync::prefetch_index;
use bng_wire::PortIndex;

use crate::counters::WorkerCounters;
use crate::frame::{BURST_FRAMES_MAX, FrameBuf, PuntClass, PuntMeta, Sink};
use crate::limit::Limiter;
use crate::ports::{PortRole, PortTable};
use crate::reason::Reason;
use crate::work::{State, Work};
use crate::{access, core_side, rewrite, route};

/// What all workers read.
#[derive(Debug, Clone)]
pub struct Tables {
    /// The sessions.
    pub sessions: Arc<SessionTable>,
    /// Routes and neighbours.
    pub fib: Arc<Fib>,
    /// The maps of the pools that routes lead to.
    pub pools: Arc<PoolMaps>,
    /// The ports.
    pub ports: Arc<PortTable>,
}

/// Limits of one worker's pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipelineConfig {
    /// How many frames of unknown sessions control is told of, each second.
    pub unknown_sessions_per_second_max: u32,
}

impl Default for PipelineConfig {
    fn default() -> Self {
        Self { unknown_sessions_per_second_max: 100 }
    }
}

/// One worker's forwarding.
#[derive(Debug)]
pub struct Pipeline {
    worker: usize,
    tables: Tables,
    counters: Arc<WorkerCounters>,
    work: [Work; BURST_FRAMES_MAX],
    unknown: Limiter,
}

impl Pipeline {
    /// The pipeline of worker number `worker`, which alone adds to `counters` and to the session table's counters of
    /// that number.
    #[must_use]
    pub fn new(worker: usize, tables: Tables, counters: Arc<WorkerCounters>, config: PipelineConfig) -> Self {
        Self {
            worker,
            tables,
            counters,
            work: [Work::IDLE; BURST_FRAMES_MAX],
            unknown: Limiter::new(config.unknown_sessions_per_second_max),
        }
    }

    /// The worker's counters.
    #[must_use]
    pub fn counters(&self) -> &Arc<WorkerCounters> {
        &self.counters
    }

    /// Takes every frame of a burst received on `port` to its end; `frames` is empty afterwards. `now_ms` is any
    /// monotonic clock in milliseconds.
    ///
    /// All table lookups are made within the call: between two calls the worker may pass a quiescent point.
    #[inline]
    pub fn process<F, S>(
        &mut self,
        port: PortIndex,
        frames: &mut ArrayVec<F, BURST_FRAMES_MAX>,
        now_ms: u64,
        sink: &mut S,
    ) where
        F: FrameBuf,
        S: Sink<F>,
    {
        let Self { worker, tables, counters, work, unknown } = self;
        let count = frames.len();
        let work = work.get_mut(..count).unwrap_or(&mut []);
        let sessions = tables.sessions.worker_counters(*worker).unwrap_or(&[]);
        let mut octets = 0u64;
        match tables.ports.get(port) {
            None => work.iter_mut().for_each(|work| work.begin(State::Drop(Reason::UnknownPort))),
            Some(entry) if entry.role == PortRole::Access => {
                for (work, frame) in work.iter_mut().zip(frames.iter()) {
                    let frame = frame.bytes();
                    octets = octets.wrapping_add(frame.len() as u64);
                    access::parse(work, frame, port, entry, &tables.sessions);
                }
                find_sessions(work, tables, sessions);
                for (work, frame) in work.iter_mut().zip(frames.iter()) {
                    if let State::Admit(index) = work.state {
                        access::admit(work, index, frame.bytes(), tables);
                        if work.state == State::Route {
                            route::prefetch(work, tables);
                        }
                    }
                }
            }
            Some(entry) => {
                for (work, frame) in work.iter_mut().zip(frames.iter()) {
                    let frame = frame.bytes();
                    octets = octets.wrapping_add(frame.len() as u64);
                    core_side::parse(work, frame, entry);
                    if work.state == State::Route {
                        route::prefetch(work, tables);
                    }
                }
            }
        }
        if let Some(port) = counters.port(port) {
            port.rx_frames.add(count as u64);
            port.rx_octets.add(octets);
        }
        let mut pools = false;
        for work in work.iter_mut() {
            if work.state == State::Route {
                route::look_up(work, tables);
                match work.state {
                    State::ToSession(index) => prefetch_downstream(index, tables, sessions),
                    State::ToPool(_) => pools = true,
                    _ => (),
                }
            }
        }
        if pools {
            for work in work.iter_mut() {
                if let State::ToPool(number) = work.state {
                    route::from_pool(work, number, tables);
                    if let State::ToSession(index) = work.state {
                        prefetch_downstream(index, tables, sessions);
                    }
                }
            }
        }
        let mut end = End { port, tables, counters, sessions, unknown, now_ms, sent: Sent::default(), neighbour: None };
        for (work, frame) in work.iter().zip(frames.drain(..)) {
            end.finish(work, frame, sink);
        }
        end.sent.flush(counters);
    }
}

/// Second stage of the access side: from the index cell to the entry.
#[inline]
fn find_sessions(work: &mut [Work], tables: &Tables, sessions: &[SessionCounters]) {
    for work in work {
        if let State::Look(page) = work.state {
            work.state = match tables.sessions.index(page) {
                Some(index) => {
                    tables.sessions.prefetch_up(index);
                    prefetch_index(sessions, index.0 as usize);
                    State::Admit(index)
                }
                None => State::Unknown,
            };
        }
    }
}

#[inline]
fn prefetch_downstream(index: SessionIndex, tables: &Tables, sessions: &[SessionCounters]) {
    tables.sessions.prefetch_down(index);
    prefetch_index(sessions, index.0 as usize);
}

/// Frames sent in a row on one port, not yet added to its counters.
#[derive(Debug, Default)]
struct Sent {
    port: PortIndex,
    frames: u64,
    octets: u64,
}

impl Sent {
    #[inline]
    fn add(&mut self, port: PortIndex, octets: usize, counters: &WorkerCounters) {
        if port != self.port {
            self.flush(counters);
            *self = Self { port, ..Self::default() };
        }
        self.frames = self.frames.wrapping_add(1);
        self.octets = self.octets.wrapping_add(octets as u64);
    }

    #[inline]
    fn flush(&self, counters: &WorkerCounters) {
        if self.frames > 0
            && let Some(port) = counters.port(self.port)
        {
            port.tx_frames.add(self.frames);
            port.tx_octets.add(self.octets);
        }
    }
}

/// What the last stage needs.
struct End<'a> {
    port: PortIndex,
    tables: &'a Tables,
    counters: &'a WorkerCounters,
    sessions: &'a [SessionCounters],
    unknown: &'a mut Limiter,
    now_ms: u64,
    sent: Sent,
    /// The neighbour of the frame before: bursts mostly go one way.
    neighbour: Option<(AdjacencyId, Option<AdjacencyView>)>,
}

impl End<'_> {
    /// Ends one frame in one of the three ways.
    #[inline]
    fn finish<F: FrameBuf, S: Sink<F>>(&mut self, work: &Work, mut frame: F, sink: &mut S) {
        let (outcome, target) = match work.state {
            State::ToNeighbour(id) => {
                let view = match &self.neighbour {
                    Some((last, view)) if *last == id => view,
                    _ => {
                        let view = self.tables.fib.adjacency(id).and_then(Adjacency::view);
                        &self.neighbour.insert((id, view)).1
                    }
                };
                (rewrite::to_neighbour(work, view.as_ref(), &mut frame), None)
            }
            State::ToSession(index) => (rewrite::to_session(work, index, &mut frame, self.tables), Some(index)),
            other => (Err(other), None),
        };
        match outcome {
            Ok(port) => {
                let octets = u64::from(work.l3_len);
                if let Some(source) = work.source() {
                    self.count(source, |counters| {
                        counters.up_packets.add(1);
                        counters.up_octets.add(octets);
                    });
                }
                if let Some(target) = target {
                    self.count(target, |counters| {
                        counters.down_packets.add(1);
                        counters.down_octets.add(octets);
                    });
                }
                self.sent.add(port, frame.bytes().len(), self.counters);
                sink.transmit(port, frame);
            }
            Err(end) => self.finish_otherwise(work, end, target, frame, sink),
        }
    }

    #[inline]
    fn count(&self, index: SessionIndex, add: impl FnOnce(&SessionCounters)) {
        if let Some(counters) = self.sessions.get(index.0 as usize) {
            add(counters);
        }
    }

    #[cold]
    fn finish_otherwise<F: FrameBuf, S: Sink<F>>(
        &mut self,
        work: &Work,
        end: State,
        target: Option<SessionIndex>,
        frame: F,
        sink: &mut S,
    ) {
        let (class, reason) = match end {
            State::Punt(class, reason) => (Some(class), reason),
            State::Drop(reason) => (None, reason),
            State::Unknown if self.unknown.admit(self.now_ms) => (Some(PuntClass::Discovery), Reason::UnknownSession),
            State::Unknown => (None, Reason::UnknownSessionLimited),
            // Every stage above turns these into another state; were one forgotten, the frame would still be freed.
            State::Look(_)
            | State::Admit(_)
            | State::Route
            | State::ToPool(_)
            | State::ToSession(_)
            | State::ToNeighbour(_) => {
                debug_assert!(false, "a frame left the stages in {end:?}");
                (None, Reason::NoRoute)
            }
        };
        self.counters.reason(reason).add(1);
        match class {
            Some(class) => {
                debug_assert_eq!(reason.verdict(), crate::reason::Verdict::Punt);
                // What the router itself takes was received from the client; a frame held for its neighbour will come
                // again, and is counted then.
                if let (Reason::Host, Some(source)) = (reason, work.source()) {
                    self.count(source, |counters| {
                        counters.up_packets.add(1);
                        counters.up_octets.add(u64::from(work.l3_len));
                    });
                }
                sink.punt(class, PuntMeta { port: self.port, reason, session: work.source() }, frame);
            }
            None => {
                debug_assert_eq!(reason.verdict(), crate::reason::Verdict::Drop);
                if let Some(source) = work.source() {
                    self.count(source, |counters| counters.up_drops.add(1));
                }
                if let Some(target) = target {
                    self.count(target, |counters| counters.down_drops.add(1));
                }
                sink.discard(reason, frame);
            }
        }
    }
}
