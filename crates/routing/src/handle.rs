//! Starting the routing thread, and talking to it.

use parking_lot::Mutex;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use bng_fib::FibWriter;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use mio::Waker;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use tracing::warn;

use crate::fib_table::FibTable;
use crate::thread::Routing;
use crate::{Event, Prefix, ResolveTarget, RouteView, RoutingConfig, RoutingCounts, RoutingError, SessionRef};

/// How many requests to resolve may wait for the routing thread.
const REQUESTS_MAX: usize = 1024;
/// How many events may wait for the control core.
const EVENTS_MAX: usize = 2 * REQUESTS_MAX;
/// How long one who asks for the routes waits.
const ROUTES_TIMEOUT: Duration = Duration::from_secs(1);

/// What the routing thread is asked for.
#[derive(Debug)]
pub(crate) enum Request {
    Resolve(ResolveTarget),
    Session { prefix: Prefix, session: Option<SessionRef> },
    Routes { limit: usize, reply: Sender<Vec<RouteView>> },
    Stop,
}

/// The way to the routing thread. Dropping it, or [`RoutingHandle::stop`], ends the thread.
#[derive(Debug)]
pub struct RoutingHandle {
    requests: Sender<Request>,
    waker: Waker,
    counts: Arc<Mutex<RoutingCounts>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Starts the routing thread in the network namespace of the caller, after the kernel's tables have been read once:
/// the FIB is complete when this returns. The twins of [`RoutingConfig::interfaces`] exist already.
///
/// # Errors
/// [`RoutingError::Netlink`] where the kernel refuses the sockets, the first reading, a pool's or a static route.
pub fn spawn(config: RoutingConfig, fib: FibWriter) -> Result<(RoutingHandle, Receiver<Event>), RoutingError> {
    spawn_with(config, fib, None)
}

/// As [`spawn`], with a chosen size of the kernel's buffer for messages.
pub(crate) fn spawn_with(
    config: RoutingConfig,
    fib: FibWriter,
    events_buffer_octets: Option<usize>,
) -> Result<(RoutingHandle, Receiver<Event>), RoutingError> {
    let (requests, incoming) = bounded(REQUESTS_MAX);
    let (outgoing, events) = bounded(EVENTS_MAX);
    let counts = Arc::new(Mutex::new(RoutingCounts::default()));
    let cpus = config.cpus.clone();
    let table = FibTable::new(fib, config.vrf);
    let (routing, waker) =
        Routing::start(config, table, incoming, outgoing, Arc::clone(&counts), events_buffer_octets)?;
    let thread = std::thread::Builder::new()
        .name("routing".to_owned())
        .spawn(move || {
            if let Err(error) = place(&cpus) {
                warn!(%error, ?cpus, "the routing thread cannot be placed on its CPUs");
            }
            routing.run();
        })
        .map_err(|source| RoutingError::Netlink { what: "cannot start the routing thread".to_owned(), source })?;
    Ok((RoutingHandle { requests, waker, counts, thread: Mutex::new(Some(thread)) }, events))
}

/// Lets the calling thread run on the given CPUs only, if any are given.
fn place(cpus: &[usize]) -> nix::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu)?;
    }
    sched_setaffinity(Pid::from_raw(0), &set)
}

impl RoutingHandle {
    /// Asks for a target to be resolved; an [`Event`] answers within about
    /// [`RESOLVE_TIMEOUT`](crate::RESOLVE_TIMEOUT). Never blocks. `false` where too many requests wait already or the
    /// thread is gone; the caller treats the target as unreachable.
    pub fn resolve(&self, target: ResolveTarget) -> bool {
        let taken = self.requests.try_send(Request::Resolve(target)).is_ok();
        if !taken {
            self.lock_counts().requests_dropped += 1;
        }
        self.wake();
        taken
    }

    /// Leads a prefix to a subscriber's session from now on, or to none any longer, in the FIB and, as a blackhole like a
    /// pool, in the kernel's table, where routing daemons find it. Never blocks; calls are carried out in their order.
    /// `false` where too many requests wait already: the caller tries again.
    pub fn session_route(&self, prefix: Prefix, session: Option<SessionRef>) -> bool {
        let taken = self.requests.try_send(Request::Session { prefix, session }).is_ok();
        self.wake();
        taken
    }

    /// The routes in force, in the order of their prefixes, at most `limit`. Waits for the thread, for a second at
    /// the most: not for the control loop.
    ///
    /// # Errors
    /// [`RoutingError::Gone`].
    pub fn routes(&self, limit: usize) -> Result<Vec<RouteView>, RoutingError> {
        let (reply, answer) = bounded(1);
        self.requests.send_timeout(Request::Routes { limit, reply }, ROUTES_TIMEOUT).map_err(|_| RoutingError::Gone)?;
        self.wake();
        answer.recv_timeout(ROUTES_TIMEOUT).map_err(|_| RoutingError::Gone)
    }

    /// How much the thread knows and has done, as of its last turn.
    #[must_use]
    pub fn counts(&self) -> RoutingCounts {
        *self.lock_counts()
    }

    /// Takes the pools and static routes out of the kernel's table, ends the thread and waits for it. The FIB stays
    /// as it is.
    pub fn stop(&self) {
        let thread = self.thread.lock().take();
        let Some(thread) = thread else {
            return;
        };
        let mut stop = Request::Stop;
        while let Err(TrySendError::Full(again)) = self.requests.try_send(stop) {
            stop = again;
            self.wake();
            std::thread::sleep(Duration::from_millis(1));
        }
        self.wake();
        if thread.join().is_err() {
            warn!("the routing thread ended by a panic");
        }
    }

    fn wake(&self) {
        if let Err(error) = self.waker.wake() {
            warn!(%error, "cannot wake the routing thread");
        }
    }

    fn lock_counts(&self) -> parking_lot::MutexGuard<'_, RoutingCounts> {
        self.counts.lock()
    }
}

impl Drop for RoutingHandle {
    fn drop(&mut self) {
        self.stop();
    }
}
