//! The loop.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bng_aaa::{AaaHandle, Event as AaaEvent};
use bng_dataplane::{PuntClass, PuntMeta, Reason};
use bng_fib::Fib;
use bng_routing::{Event, RoutingHandle};
use bng_session::{PoolMaps, SessionWriter};
use bng_subscriber::{Action, Input, Subscribers};
use bng_sync::Reader;
use bng_wire::PortIndex;
use crossbeam_channel::Receiver;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use tracing::{info, warn};

use crate::counters::ControlCounters;
use crate::executor::{Executor, PoolBinding};
use crate::handle::{ControlHandle, QuestionQueue, control_channel};
use crate::host::{CoreInterface, Host, Punted};
use crate::inject::{Injector, PuntRings, WorkerRings};

/// Frames taken from one ring in a turn, most urgent class first. The less urgent a class, the less of it a turn
/// takes, so that a flood of discovery cannot keep a keepalive waiting.
const FRAMES_PER_TURN_MAX: [usize; PuntClass::COUNT] = [256, 128, 32, 64];
/// For this long after the last work the loop looks again without sleeping: a client's next packet is usually under
/// way.
const SPIN: Duration = Duration::from_micros(200);
/// The longest sleep: the punt rings wake nobody, since a worker makes no system call.
const SLEEP_MAX: Duration = Duration::from_millis(1);

const WAKE: Token = Token(usize::MAX);

/// What the control core is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlConfig {
    /// Whether clients get a PADT when the daemon stops.
    pub disconnect_at_stop: bool,
    /// How long stopping may take before what is left is given up.
    pub stop_timeout: Duration,
}

/// What the control core is made of.
#[derive(Debug)]
pub struct CoreParts {
    /// The sessions' lives.
    pub subscribers: Subscribers,
    /// The forwarding plane's sessions.
    pub sessions: SessionWriter,
    /// The forwarding plane's pools.
    pub pools: Arc<PoolMaps>,
    /// Where each of the subscribers' pools stands there, in their order.
    pub bindings: Vec<PoolBinding>,
    /// The forwarding plane's routes.
    pub fib: Arc<Fib>,
    /// The control core's own place among the readers of the FIB.
    pub reader: Reader,
    /// The rings, by worker.
    pub workers: Vec<WorkerRings>,
    /// The core interfaces, in the order of the routing thread's.
    pub interfaces: Vec<CoreInterface>,
    /// The routing thread.
    pub routing: Arc<RoutingHandle>,
    /// What it says.
    pub routing_events: Receiver<Event>,
    /// The ports' names, by index.
    pub port_names: Vec<String>,
    /// The RADIUS thread, and what it says; `None` where none is configured: every login that would need it is refused.
    pub aaa: Option<(AaaHandle, Receiver<AaaEvent>)>,
}

/// Why the control core cannot run.
#[derive(Debug, thiserror::Error)]
#[error("the control core cannot {what}: {source}")]
pub struct ControlError {
    what: &'static str,
    source: io::Error,
}

/// The control core.
#[derive(Debug)]
pub struct ControlCore {
    config: ControlConfig,
    subscribers: Subscribers,
    executor: Executor,
    injector: Injector,
    punt: Vec<PuntRings>,
    host: Host,
    reader: Reader,
    poll: Poll,
    questions: QuestionQueue,
    aaa_events: Option<Receiver<AaaEvent>>,
    /// The RADIUS thread knows that the process stops.
    aaa_told: bool,
    counters: Arc<ControlCounters>,
    actions: Vec<Action>,
}

impl ControlCore {
    /// Puts the parts together. The handle is for other threads.
    ///
    /// # Errors
    /// [`ControlError`] where the kernel gives no epoll instance or takes no descriptor.
    pub fn new(config: ControlConfig, parts: CoreParts) -> Result<(Self, ControlHandle), ControlError> {
        let fail = |what| move |source| ControlError { what, source };
        let poll = Poll::new().map_err(fail("make an epoll instance"))?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKE).map_err(fail("make its waker"))?);
        for (number, interface) in parts.interfaces.iter().enumerate() {
            poll.registry()
                .register(&mut SourceFd(&interface.twin.as_raw_fd()), Token(number), Interest::READABLE)
                .map_err(fail("watch a kernel twin"))?;
        }
        let (handle, questions) = control_channel(waker);
        let (punt, inject) = parts.workers.into_iter().map(|rings| (rings.punt, rings.inject)).unzip();
        let (aaa, aaa_events) = parts.aaa.unzip();
        let core = Self {
            config,
            subscribers: parts.subscribers,
            executor: Executor::new(
                parts.sessions,
                parts.pools,
                parts.bindings,
                parts.port_names,
                Arc::clone(&parts.routing),
                aaa,
                Instant::now(),
            ),
            aaa_events,
            aaa_told: false,
            injector: Injector::new(inject),
            punt,
            host: Host::new(parts.interfaces, parts.fib, parts.routing, parts.routing_events),
            reader: parts.reader,
            poll,
            questions,
            counters: Arc::new(ControlCounters::default()),
            actions: Vec::new(),
        };
        Ok((core, handle))
    }

    /// The counters, for whoever shows them.
    #[must_use]
    pub fn counters(&self) -> Arc<ControlCounters> {
        Arc::clone(&self.counters)
    }

    /// Runs until `stop` is set and the sessions have been dealt with as configured.
    ///
    /// # Errors
    /// [`ControlError`] where waiting fails for another reason than a signal.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<(), ControlError> {
        let mut events = Events::with_capacity(64);
        let mut last_work = Instant::now();
        let mut stopping: Option<Instant> = None;
        self.reader.online();
        loop {
            let now = Instant::now();
            let done = self.turn(now);
            self.counters.turns.add(1);
            if stop.load(Ordering::Relaxed) && stopping.is_none() {
                stopping = Some(now);
                self.begin_stop(now);
            }
            if let Some(since) = stopping
                && self.stopped(now, since)
            {
                self.reader.offline();
                return Ok(());
            }
            self.reader.quiescent();
            if done > 0 {
                last_work = now;
                let busy = u64::try_from(now.elapsed().as_nanos()).unwrap_or(u64::MAX);
                self.counters.busy_nanoseconds.add(busy);
                continue;
            }
            if now.duration_since(last_work) < SPIN {
                std::hint::spin_loop();
                continue;
            }
            self.sleep(now, &mut events)?;
        }
    }

    /// One turn; how much there was to do.
    fn turn(&mut self, now: Instant) -> usize {
        let mut done = self.drain_punts(now);
        self.reader.quiescent();
        self.executor.send_routes();
        done += self.executor.reclaim(now, &mut self.subscribers, &mut self.actions);
        if self.subscribers.poll_timeout().is_some_and(|due| due <= now) {
            self.subscribers.handle_timeout(now, &mut self.actions);
            done += self.actions.len();
        }
        if let Some(events) = &self.aaa_events {
            done += self.executor.aaa_events(now, events, &mut self.subscribers, &mut self.actions);
        }
        while let Ok(question) = self.questions.0.try_recv() {
            question(&mut self.subscribers, now, &mut self.actions);
            done += 1;
        }
        self.execute(now);
        done += self.host.routing_events(now, &mut self.injector, &self.counters);
        done += self.host.take_from_twins(&mut self.injector, &self.counters);
        done
    }

    /// Takes a bounded batch from every ring, the most urgent class of all workers first. Actions are carried out
    /// frame by frame: what a frame asks for is done before the next one is looked at.
    fn drain_punts(&mut self, now: Instant) -> usize {
        let mut done = 0;
        for (class, frames_max) in PuntClass::ALL.into_iter().zip(FRAMES_PER_TURN_MAX) {
            for worker in 0..self.punt.len() {
                for _ in 0..frames_max {
                    if !self.take_one(now, class, worker) {
                        break;
                    }
                    done += 1;
                }
            }
        }
        done
    }

    fn take_one(&mut self, now: Instant, class: PuntClass, worker: usize) -> bool {
        let Self { punt, subscribers, host, counters, actions, .. } = self;
        let Some(ring) = punt.get_mut(worker).and_then(|rings| rings.get_mut(class as usize)) else { return false };
        let taken = ring.pop_with(|meta, frame| {
            let port = PortIndex(meta.port);
            match (class, Reason::from_u16(meta.reason)) {
                (PuntClass::Host, Some(reason)) => {
                    let session = PuntMeta::session_from_bits(meta.session);
                    host.punted(now, Punted { worker, port, session, reason, frame }, counters);
                }
                (PuntClass::Host, None) => counters.host_refused.add(1),
                _ => subscribers.handle(now, Input::Frame { port, bytes: frame }, actions),
            }
        });
        if taken {
            self.counters.punted(class).add(1);
            self.execute(now);
        }
        taken
    }

    fn execute(&mut self, now: Instant) {
        if !self.actions.is_empty() {
            self.executor.run(now, &mut self.subscribers, &mut self.actions, &mut self.injector, &self.counters);
        }
    }

    fn begin_stop(&mut self, now: Instant) {
        let sessions = self.subscribers.gauges().live;
        if self.config.disconnect_at_stop {
            info!(sessions, "stopping: every client gets a PADT");
            self.subscribers.handle(now, Input::Shutdown, &mut self.actions);
            self.execute(now);
        } else {
            info!(sessions, "stopping: the sessions stay up for the next start");
        }
    }

    /// Whether all is done: the sessions as configured, then the last words to the RADIUS servers.
    fn stopped(&mut self, now: Instant, since: Instant) -> bool {
        let late = now.duration_since(since) > self.config.stop_timeout;
        if self.aaa_told {
            return late || self.executor.aaa().is_none_or(AaaHandle::is_finished);
        }
        let empty = self.subscribers.is_empty();
        if self.config.disconnect_at_stop && !empty && !late {
            return false;
        }
        if self.config.disconnect_at_stop && late {
            warn!(sessions = self.subscribers.gauges().live, "stopping took too long: sessions are given up");
        }
        self.aaa_told = true;
        if let Some(aaa) = self.executor.aaa() {
            aaa.finish(self.config.disconnect_at_stop && empty);
            return false;
        }
        true
    }

    fn sleep(&mut self, now: Instant, events: &mut Events) -> Result<(), ControlError> {
        let due = [self.subscribers.poll_timeout(), self.host.poll_timeout()].into_iter().flatten().min();
        let timeout = due.map_or(SLEEP_MAX, |due| due.saturating_duration_since(now).min(SLEEP_MAX));
        // Asleep it holds nothing that was looked up.
        self.reader.offline();
        let result = self.poll.poll(events, Some(timeout));
        self.reader.online();
        match result {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                Err(ControlError { what: "wait for events", source: error })
            }
            _ => Ok(()),
        }
    }

    /// The core interfaces.
    #[must_use]
    pub fn interfaces(&self) -> &[CoreInterface] {
        self.host.interfaces()
    }

    /// The routing thread.
    #[must_use]
    pub fn routing(&self) -> &Arc<RoutingHandle> {
        self.host.routing()
    }
}
