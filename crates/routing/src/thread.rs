//! The routing thread: the kernel's messages in, the FIB and the control core's events out.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use mio::unix::SourceFd;
use mio::{Interest, Poll, Token, Waker};
use tracing::{debug, info, warn};

use crate::fib_table::FibTable;
use crate::handle::Request;
use crate::messages::{Reading, read};
use crate::netlink::{Dump, Events, Received, Requests, Table};
use crate::requests::{self, Ask};
use crate::rib::{Rib, Snapshot};
use crate::{Event, RoutingConfig, RoutingCounts, RoutingError};

const KERNEL: Token = Token(0);
const WAKER: Token = Token(1);

/// Datagrams read before the thread looks after its requests, FIB and timers again.
const DATAGRAMS_PER_TURN: usize = 64;
/// How often a reading that was disturbed is begun anew before it is taken as it is.
const DUMP_TRIES: usize = 3;
/// How long after a disturbed reading the next is made.
const RESYNC_AGAIN: Duration = Duration::from_secs(1);
/// How long messages that hint at routes gone without a message are left to gather before the tables are read.
const RESYNC_SETTLE: Duration = Duration::from_millis(20);
/// How often the FIB is looked after while something in it waits for the workers.
const FIB_POLL: Duration = Duration::from_millis(10);
/// How often what found no room in the FIB is tried again, and next hops without an answer are asked for on a kernel
/// that does not do so by itself.
const AGAIN: Duration = Duration::from_secs(5);

/// What the routing thread owns.
pub(crate) struct Routing {
    config: RoutingConfig,
    rib: Rib<FibTable>,
    requests: Requests,
    kernel: Events,
    /// Subscribers' prefixes that stand in the kernel's table.
    session_routes: HashSet<crate::Prefix>,
    poll: Poll,
    incoming: Receiver<Request>,
    outgoing: Sender<Event>,
    shared: Arc<Mutex<RoutingCounts>>,
    counts: RoutingCounts,
    /// The kernel knows managed neighbours.
    managed: bool,
    /// The kernel's messages were not all read.
    unread: bool,
    /// Static routes could not be entered again after a twin came up.
    static_missing: bool,
    resync_at: Option<Instant>,
    again_at: Instant,
}

impl Routing {
    /// Opens the sockets, reads the tables and enters the pools and static routes; all in the calling thread.
    pub(crate) fn start(
        config: RoutingConfig,
        table: FibTable,
        incoming: Receiver<Request>,
        outgoing: Sender<Event>,
        shared: Arc<Mutex<RoutingCounts>>,
        events_buffer_octets: Option<usize>,
    ) -> Result<(Self, Waker), RoutingError> {
        let fail = |what: &str| {
            let what = what.to_owned();
            move |source| RoutingError::Netlink { what, source }
        };
        let requests = Requests::open().map_err(fail("cannot open a socket for requests to the kernel's routing"))?;
        // Listening begins before the first reading, so that nothing falls between.
        let kernel =
            Events::open(events_buffer_octets).map_err(fail("cannot listen to the kernel's routing messages"))?;
        let poll = Poll::new().map_err(fail("cannot make a poll for the routing thread"))?;
        let waker = Waker::new(poll.registry(), WAKER).map_err(fail("cannot make a waker for the routing thread"))?;
        poll.registry()
            .register(&mut SourceFd(&kernel.as_raw_fd()), KERNEL, Interest::READABLE)
            .map_err(fail("cannot poll the kernel's routing messages"))?;
        let rib = Rib::new(table, &config.interfaces, &config.pools);
        let mut routing = Self {
            config,
            rib,
            requests,
            kernel,
            session_routes: HashSet::new(),
            poll,
            incoming,
            outgoing,
            shared,
            counts: RoutingCounts::default(),
            managed: true,
            unread: false,
            static_missing: false,
            resync_at: None,
            again_at: Instant::now() + AGAIN,
        };
        routing.enter_routes()?;
        routing.read_tables().map_err(fail("cannot read the kernel's routing tables"))?;
        // The twins that are up now were so when the routes were entered.
        routing.rib.take_came_up();
        routing.follow_up();
        routing.publish_counts();
        Ok((routing, waker))
    }

    /// Enters the pools and the static routes in the kernel's table. Pools that an earlier run left go first.
    fn enter_routes(&mut self) -> Result<(), RoutingError> {
        let wanted: Vec<crate::Prefix> = self.config.pools.iter().map(|pool| pool.prefix).collect();
        let mut left = Vec::new();
        for table in [Table::RoutesIpv4, Table::RoutesIpv6] {
            self.requests.dump(table, |message| left.extend(crate::messages::own_pool(&message))).map_err(
                |source| RoutingError::Netlink { what: "cannot read the kernel's routing tables".to_owned(), source },
            )?;
        }
        for prefix in left.into_iter().filter(|prefix| !wanted.contains(prefix)) {
            info!(%prefix, "removing a pool's route that an earlier run left");
            if let Err(error) = requests::remove_pool(&mut self.requests, prefix) {
                warn!(%prefix, %error, "cannot remove the route");
            }
        }
        for prefix in wanted {
            requests::add_pool(&mut self.requests, prefix).map_err(|source| RoutingError::Netlink {
                what: format!("the kernel does not take pool {prefix} as a route"),
                source,
            })?;
        }
        self.enter_static()
    }

    fn enter_static(&mut self) -> Result<(), RoutingError> {
        for route in &self.config.static_routes {
            let if_index = route.interface.and_then(|number| self.rib.if_index(number));
            requests::add_static(&mut self.requests, route.to, route.via, if_index).map_err(|source| {
                RoutingError::Netlink {
                    what: format!("the kernel does not take the static route to {} via {}", route.to, route.via),
                    source,
                }
            })?;
        }
        Ok(())
    }

    /// Enters the static routes again after a twin was down, when the kernel has dropped them.
    fn restore_static(&mut self) {
        match self.enter_static() {
            Ok(()) => {
                self.static_missing = false;
                if !self.config.static_routes.is_empty() {
                    info!(
                        routes = self.config.static_routes.len(),
                        "a core interface came up: static routes entered again"
                    );
                }
            }
            Err(error) => {
                if !self.static_missing {
                    warn!(%error, "trying again every {} s", AGAIN.as_secs());
                }
                self.static_missing = true;
            }
        }
    }

    /// A subscriber's prefix in the FIB first, for packets may come at once, then in the kernel's table.
    fn session_route(&mut self, prefix: crate::Prefix, session: Option<crate::SessionRef>) {
        self.rib.set_session(prefix, session);
        let (done, is_new) = match session {
            Some(_) => (requests::add_pool(&mut self.requests, prefix), self.session_routes.insert(prefix)),
            None => (requests::remove_pool(&mut self.requests, prefix), self.session_routes.remove(&prefix)),
        };
        if let Err(error) = done
            && is_new
        {
            warn!(%prefix, %error, "the kernel's table does not follow a subscriber's route");
        }
    }

    /// Takes out again what [`Routing::enter_routes`] entered.
    fn leave_routes(&mut self) {
        for route in &self.config.static_routes {
            let if_index = route.interface.and_then(|number| self.rib.if_index(number));
            if let Err(error) = requests::remove_static(&mut self.requests, route.to, route.via, if_index) {
                debug!(to = %route.to, %error, "the static route was gone already");
            }
        }
        let pools = self.config.pools.iter().map(|pool| pool.prefix);
        for prefix in pools.chain(core::mem::take(&mut self.session_routes)) {
            if let Err(error) = requests::remove_pool(&mut self.requests, prefix) {
                debug!(%prefix, %error, "the pool's route was gone already");
            }
        }
    }

    /// Works until it is told to stop.
    pub(crate) fn run(mut self) {
        let mut ready = mio::Events::with_capacity(4);
        loop {
            let timeout = self.timeout(Instant::now());
            match self.poll.poll(&mut ready, Some(timeout)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    warn!(%error, "the routing thread cannot wait for the kernel's messages");
                    std::thread::sleep(FIB_POLL);
                }
            }
            if !self.serve_requests() {
                self.leave_routes();
                return;
            }
            self.read_messages();
            let now = Instant::now();
            if self.resync_at.is_some_and(|at| at <= now) {
                self.resync();
            }
            if self.rib.take_came_up() {
                self.restore_static();
            }
            self.rib.expire(now);
            if self.again_at <= now {
                self.again_at = now + AGAIN;
                self.rib.retry_missing();
                if self.static_missing {
                    self.restore_static();
                }
                if !self.managed {
                    self.rib.ask_again();
                }
            }
            self.follow_up();
            self.publish_counts();
        }
    }

    fn timeout(&mut self, now: Instant) -> Duration {
        if self.unread {
            return Duration::ZERO;
        }
        let mut timeout = AGAIN;
        for at in [self.rib.poll_timeout(), self.resync_at].into_iter().flatten() {
            timeout = timeout.min(at.saturating_duration_since(now));
        }
        if self.rib.table_mut().housekeeping() {
            timeout = timeout.min(FIB_POLL);
        }
        timeout
    }

    /// `false` when told to stop.
    fn serve_requests(&mut self) -> bool {
        loop {
            match self.incoming.try_recv() {
                Ok(Request::Resolve(target)) => self.rib.resolve(Instant::now(), target),
                Ok(Request::Session { prefix, session }) => self.session_route(prefix, session),
                Ok(Request::Routes { limit, reply }) => {
                    // The asker may have gone.
                    let _ = reply.try_send(self.rib.view(limit));
                }
                Ok(Request::Stop) | Err(crossbeam_channel::TryRecvError::Disconnected) => return false,
                Err(crossbeam_channel::TryRecvError::Empty) => return true,
            }
        }
    }

    /// Reads a turn's worth of the kernel's messages.
    fn read_messages(&mut self) {
        self.unread = true;
        for _ in 0..DATAGRAMS_PER_TURN {
            let Self { kernel, rib, counts, .. } = self;
            let received = kernel.receive(|message| match read(&message) {
                Reading::Change(change) => rib.change(change),
                Reading::Other => {}
                Reading::Unreadable => counts.unreadable += 1,
            });
            match received {
                Ok(Received::More) => {}
                Ok(Received::Drained) => {
                    self.unread = false;
                    break;
                }
                Ok(Received::Overrun) => {
                    info!("the kernel's routing messages ran over; reading its tables anew");
                    self.resync_at = Some(Instant::now());
                    break;
                }
                Err(error) => {
                    warn!(%error, "cannot read the kernel's routing messages; reading its tables anew");
                    self.unread = false;
                    self.resync_at = Some(Instant::now() + RESYNC_AGAIN);
                    break;
                }
            }
        }
        if self.rib.take_resync_wanted() {
            let at = Instant::now() + RESYNC_SETTLE;
            self.resync_at = Some(self.resync_at.map_or(at, |old| old.min(at)));
        }
    }

    /// Reads the kernel's tables anew, in the place of the messages that wait.
    fn resync(&mut self) {
        self.resync_at = None;
        self.counts.resyncs += 1;
        // What waits is older than what is about to be read. There is an end to it even if the kernel adds without
        // pause: what is left is then taken in after the tables, in its order.
        for _ in 0..1_000_000 {
            match self.kernel.receive(|_| {}) {
                Ok(Received::Drained) | Err(_) => break,
                Ok(Received::More | Received::Overrun) => {}
            }
        }
        self.unread = true;
        if let Err(error) = self.read_tables() {
            warn!(%error, "cannot read the kernel's routing tables; trying again");
            self.resync_at = Some(Instant::now() + RESYNC_AGAIN);
        }
    }

    /// Reads all tables and brings the routing table in line with them.
    fn read_tables(&mut self) -> io::Result<()> {
        // Links before routes, since they tell whose addresses are the router's; next hops before the routes by them.
        const TABLES: [Table; 5] =
            [Table::Links, Table::NextHops, Table::RoutesIpv4, Table::RoutesIpv6, Table::Neighbours];
        for attempt in 1..=DUMP_TRIES {
            let mut snapshot = Snapshot::default();
            let mut whole = true;
            for table in TABLES {
                let counts = &mut self.counts;
                let dump = self.requests.dump(table, |message| match read(&message) {
                    Reading::Change(change) => snapshot.changes.push(change),
                    Reading::Other => {}
                    Reading::Unreadable => counts.unreadable += 1,
                });
                match dump {
                    Ok(dump) => whole &= dump == Dump::Whole,
                    // A kernel before 5.3 has no next-hop objects.
                    Err(error) if table == Table::NextHops => debug!(%error, "no next-hop objects here"),
                    Err(error) => return Err(error),
                }
            }
            if whole || attempt == DUMP_TRIES {
                if !whole {
                    self.resync_at = Some(Instant::now() + RESYNC_AGAIN);
                }
                self.rib.resync(snapshot, whole);
                break;
            }
        }
        Ok(())
    }

    /// Asks the kernel what is to be asked, and tells the control core what it is to hear.
    fn follow_up(&mut self) {
        for (key, ask) in self.rib.take_asks() {
            let Some(if_index) = self.rib.if_index(key.interface) else {
                continue;
            };
            let mut ask = if self.managed { ask } else { Ask::Once };
            let mut result = requests::ask_neighbour(&mut self.requests, if_index, key.address, ask);
            if ask == Ask::Managed && refuses_managed(&result) {
                info!("this kernel has no managed neighbours: next hops are kept fresh by asking");
                self.managed = false;
                ask = Ask::Once;
                result = requests::ask_neighbour(&mut self.requests, if_index, key.address, ask);
            }
            if let Err(error) = result {
                debug!(address = %key.address, ?ask, %error, "cannot ask for the neighbour");
            }
        }
        for event in self.rib.take_events() {
            if self.outgoing.try_send(event).is_err() {
                self.counts.events_dropped += 1;
            }
        }
    }

    fn publish_counts(&self) {
        let mut shared = self.shared.lock();
        let from_rib = self.rib.counts();
        *shared = RoutingCounts {
            resyncs: self.counts.resyncs,
            unreadable: self.counts.unreadable,
            events_dropped: self.counts.events_dropped,
            requests_dropped: shared.requests_dropped,
            ..from_rib
        };
    }
}

/// True where the kernel does not know the flag: before 5.16 it refuses a new entry without an address or a use.
fn refuses_managed(result: &io::Result<()>) -> bool {
    matches!(result, Err(error) if error.raw_os_error() == Some(libc::EINVAL))
}
