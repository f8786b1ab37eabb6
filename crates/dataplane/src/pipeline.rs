//! The stages over a burst, each with its memory asked for by the one before.

use std::sync::Arc;

use arrayvec::ArrayVec;
use bng_fib::Fib;
use bng_session::{PoolMaps, SessionCounters, SessionIndex, SessionTable};
use bng_sync::prefetch_index;
use bng_wire::PortIndex;

use crate::counters::WorkerCounters;
use crate::finish::{Finish, Sent};
use crate::frame::{BURST_FRAMES_MAX, FrameBuf, Sink};
use crate::limit::Limits;
use crate::ports::{PortRole, PortTable};
use crate::reason::Reason;
use crate::route::Last;
use crate::watch::{WorkerWatch, finish_watched};
use crate::work::{Police, State, Work};
use crate::{access, core_side, route};

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
    /// How many frames of unknown sessions control is told of, each second; of those of one line never more than are left
    /// to the others.
    pub unknown_sessions_per_second_max: u32,
    /// How many ICMP and ICMPv6 errors are sent each second about packets that are neither from a session nor to one, and
    /// as many again of those that say which length fits (RFC 1812 section 4.3.2.8, RFC 4443 section 2.4 f). Each session
    /// has a limit of its own. Of those to one network (/24 or /48) there are never more than are left to the others.
    pub errors_per_second_max: u32,
    /// How many packets that wait for a neighbour to be resolved control is handed, each second; of those of one session
    /// or one network never more than are left to the others.
    pub held_per_second_max: u32,
    /// Mixes the keys of these limits: nobody outside may know it.
    pub seed: u64,
}

impl Default for PipelineConfig {
    fn default() -> Self {
        Self { unknown_sessions_per_second_max: 200, errors_per_second_max: 1000, held_per_second_max: 500, seed: 0 }
    }
}

/// One worker's forwarding.
#[derive(Debug)]
pub struct Pipeline {
    worker: usize,
    tables: Tables,
    counters: Arc<WorkerCounters>,
    work: [Work; BURST_FRAMES_MAX],
    limits: Limits,
    watch: Option<WorkerWatch>,
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
            limits: Limits::new(&config),
            watch: None,
        }
    }

    /// The same, with clients that may be watched.
    #[must_use]
    pub fn with_watch(self, watch: WorkerWatch) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Control sends `frame` on `port`: told where its client is watched. The frame itself does not pass here.
    #[inline]
    pub fn injected(&mut self, port: PortIndex, frame: &[u8], now_ms: u64) {
        if let Some(watch) = self.watch.as_mut().filter(|watch| watch.is_active()) {
            watch.injected(port, frame, now_ms, &self.tables.sessions);
        }
    }

    /// The worker's counters.
    #[must_use]
    pub fn counters(&self) -> &Arc<WorkerCounters> {
        &self.counters
    }

    /// What it reads.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Takes every frame of a burst received on `port` to its end; `frames` is empty afterwards. `now_ms` is a
    /// monotonic clock in milliseconds, the same for all workers: policers share buckets by it.
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
        if self.watch.as_ref().is_some_and(WorkerWatch::is_active) {
            self.process_watched(port, frames, now_ms, sink);
        } else {
            self.stages::<F, S, false>(port, frames, now_ms, sink);
        }
    }

    #[cold]
    #[inline(never)]
    fn process_watched<F, S>(
        &mut self,
        port: PortIndex,
        frames: &mut ArrayVec<F, BURST_FRAMES_MAX>,
        now_ms: u64,
        sink: &mut S,
    ) where
        F: FrameBuf,
        S: Sink<F>,
    {
        self.stages::<F, S, true>(port, frames, now_ms, sink);
    }

    /// The stages. Twice in the program, so that a watch costs those nothing who are not watched.
    #[inline(always)]
    fn stages<F, S, const WATCHED: bool>(
        &mut self,
        port: PortIndex,
        frames: &mut ArrayVec<F, BURST_FRAMES_MAX>,
        now_ms: u64,
        sink: &mut S,
    ) where
        F: FrameBuf,
        S: Sink<F>,
    {
        let Self { worker, tables, counters, work, limits, watch } = self;
        let count = frames.len();
        let work = work.get_mut(..count).unwrap_or(&mut []);
        let sessions = tables.sessions.worker_counters(*worker).unwrap_or(&[]);
        let police = Police { worker: *worker, now_ms };
        let mut octets = 0u64;
        match tables.ports.get(port) {
            None => work.iter_mut().for_each(|work| work.begin(State::Drop(Reason::UnknownPort))),
            Some(entry) if entry.role == PortRole::Access => {
                for (work, frame) in work.iter_mut().zip(frames.iter()) {
                    let frame = frame.bytes();
                    octets = octets.wrapping_add(frame.len() as u64);
                    access::parse(work, frame, port, entry, &tables.sessions);
                }
                find_sessions(work, tables, sessions, police.worker);
                for (work, frame) in work.iter_mut().zip(frames.iter()) {
                    if let State::Admit(index) = work.state {
                        access::admit(work, index, frame.bytes(), tables, police);
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
        let mut groups = false;
        let mut last = Last::default();
        for work in work.iter_mut() {
            if work.state == State::Route {
                route::look_up(work, tables, &mut last);
                match work.state {
                    State::ToSession(index) => prefetch_downstream(index, tables, sessions, police.worker),
                    State::ToPool(_) => pools = true,
                    State::ToGroup(_) => groups = true,
                    _ => (),
                }
            }
        }
        if pools {
            for work in work.iter_mut() {
                if let State::ToPool(number) = work.state {
                    route::from_pool(work, number, tables);
                    if let State::ToSession(index) = work.state {
                        prefetch_downstream(index, tables, sessions, police.worker);
                    }
                }
            }
        }
        if groups {
            for (work, frame) in work.iter_mut().zip(frames.iter()) {
                if let State::ToGroup(group) = work.state {
                    route::from_group(work, group, work.packet(frame.bytes()), tables);
                }
            }
        }
        let mut end =
            Finish { port, tables, counters, sessions, limits, police, sent: Sent::default(), neighbour: None };
        match watch {
            Some(watch) if WATCHED => {
                finish_watched(&mut end, watch, work.iter().copied().zip(frames.drain(..)), sink);
            }
            _ => {
                for (work, frame) in work.iter().zip(frames.drain(..)) {
                    end.finish(work, frame, sink);
                }
            }
        }
        end.sent.flush(counters);
    }
}

/// Second stage of the access side: from the index cell to the entry.
#[inline(always)]
fn find_sessions(work: &mut [Work], tables: &Tables, sessions: &[SessionCounters], worker: usize) {
    for work in work {
        if let State::Look(page) = work.state {
            work.state = match tables.sessions.index(page) {
                Some(index) => {
                    tables.sessions.prefetch_up(index);
                    prefetch_index(sessions, index.0 as usize);
                    tables.sessions.prefetch_policers(worker, index);
                    State::Admit(index)
                }
                None => access::no_session(work.key),
            };
        }
    }
}

#[inline(always)]
fn prefetch_downstream(index: SessionIndex, tables: &Tables, sessions: &[SessionCounters], worker: usize) {
    tables.sessions.prefetch_down(index);
    prefetch_index(sessions, index.0 as usize);
    tables.sessions.prefetch_policers(worker, index);
}
