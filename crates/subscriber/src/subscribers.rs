//! All subscribers of the box: what is kept, what comes in, what is shown.

use crate::action::{Action, Input, SubscriberKey};
use crate::config::{ConfigError, Limits, PoolIndex, PoolKind, Profile, SubscriberConfig};
use crate::event::{EventKind, SessionEvent};
use crate::index::Index;
use crate::session::{Entry, Session};
use crate::slab::Slab;
use crate::stats::{Drop, Gauges, Statistics};
use crate::timers::Timers;
use crate::users::Users;
use crate::view::SessionView;
use bng_discovery::{AcConfig, AccessConcentrator, DiscoveryDrop};
use bng_ipv6::Ipv6Config;
use bng_pool::{Ipv4Pool, PrefixPool, Usage};
use bng_ppp::{Action as PppAction, EndCause, PppConfig};
use bng_session::SessionIndex;
use bng_session::ids::IdSpaces;
use bng_wire::{LineKey, MacAddr, PortIndex, SessionId, VrfId};
use core::fmt;
use core::net::Ipv4Addr;
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Sessions whose timers are served in one call.
const TIMEOUT_BATCH: usize = 256;

/// Fills a buffer with random octets that clients cannot guess.
pub type Random = Box<dyn FnMut(&mut [u8]) + Send>;
/// Reads how many packets have come from the client of a session so far, by the forwarding plane's counters.
pub type UpstreamPackets = Box<dyn FnMut(SessionIndex) -> u64 + Send>;

/// What the subscribers need from outside and cannot be handed as an [`Input`].
pub struct Environment {
    /// Seeds of links and session keys.
    pub random: Random,
    /// Whether a client is alive without being asked; looked at only when a timer of a session that is up is due.
    pub upstream_packets: UpstreamPackets,
    /// How many LCP Echo-Requests of a session's client the forwarding plane has answered: signs of life too, but not of
    /// use.
    pub client_echoes: UpstreamPackets,
    /// What a clock that outlives this process (seconds since boot) shows at the `now` of [`Subscribers::new`], so that
    /// discovery cookies outlive it too where their key is kept.
    pub boot_clock_s: u32,
}

impl fmt::Debug for Environment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Environment")
    }
}

/// A pool as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolView {
    /// Its place in the configuration.
    pub pool: PoolIndex,
    /// Its name in the configuration.
    pub name: String,
    /// The range or prefix, as text.
    pub range: String,
    /// How full it is. Addresses of sessions that have ended count as held until their removal is complete.
    pub usage: Usage,
}

#[derive(Debug)]
pub(crate) struct ProfileState {
    pub(crate) profile: Profile,
    pub(crate) ppp: Arc<PppConfig>,
    pub(crate) ipv6: Option<Arc<Ipv6Config>>,
}

#[derive(Debug)]
pub(crate) struct PoolState {
    pub(crate) name: String,
    pub(crate) vrf: VrfId,
    pub(crate) kind: PoolOf,
}

#[derive(Debug)]
pub(crate) enum PoolOf {
    Ipv4(Ipv4Pool),
    Prefixes(PrefixPool),
}

/// All subscribers of the box.
pub struct Subscribers {
    pub(crate) profiles: Vec<ProfileState>,
    pub(crate) limits: Limits,
    pub(crate) restore_complete: bool,
    pub(crate) draining: bool,
    /// The next slot that a shutdown has not come to, and since when it is under way.
    stopping: Option<(u32, Instant)>,
    pub(crate) ac: AccessConcentrator,
    pub(crate) local_macs: [Option<MacAddr>; PortIndex::MAX as usize + 1],
    pub(crate) users: Users,
    pub(crate) pools: Vec<PoolState>,
    pub(crate) ids: IdSpaces,
    pub(crate) entries: Slab<Entry>,
    /// By port, outer VID and session id: live sessions, and those that are being removed.
    pub(crate) by_id: Index,
    /// By [`LineKey`]: live sessions.
    pub(crate) by_line: Index,
    /// By user name: live sessions that were let in.
    pub(crate) by_user: Index,
    /// Who holds an address that AAA named.
    pub(crate) fixed: HashMap<(VrfId, Ipv4Addr), u32>,
    pub(crate) timers: Timers,
    /// Sessions that wait for an address, in the order in which they came.
    pub(crate) waiters: VecDeque<SubscriberKey>,
    /// Sessions that are being removed and hold an address.
    pub(crate) leaving_addresses: u32,
    pub(crate) live: u32,
    pub(crate) up: u32,
    pub(crate) half_open: [u32; PortIndex::MAX as usize + 1],
    /// Sessions by port that had not authenticated when they came in, oldest first; some have since, or have ended.
    pub(crate) half_open_order: [VecDeque<SubscriberKey>; PortIndex::MAX as usize + 1],
    pub(crate) per_vlan: HashMap<(PortIndex, u16), u32>,
    /// By port, outer and inner VID: lines that two tags name, where their sessions are limited.
    pub(crate) per_line: HashMap<(PortIndex, u16, u16), u32>,
    /// PADTs for unknown sessions that may be sent now, and since when.
    pub(crate) padt_budget: (u32, Instant),
    pub(crate) statistics: Statistics,
    pub(crate) environment: Environment,
    /// An empty buffer, kept for its memory.
    pub(crate) scratch: Vec<PppAction>,
}

impl fmt::Debug for Subscribers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Subscribers").field("live", &self.live).finish_non_exhaustive()
    }
}

impl Subscribers {
    /// Makes it, with no session. `now` is the time that all later times are measured from.
    ///
    /// # Errors
    /// The configuration cannot be used: what is wrong is named.
    pub fn new(config: SubscriberConfig, environment: Environment, now: Instant) -> Result<Self, ConfigError> {
        let SubscriberConfig { ports, access, profiles, pools, users, limits, .. } = config;
        if limits.sessions_max == 0 || limits.sessions_max > 1 << 22 {
            return Err(ConfigError::Limit("sessions_max is 1 to 4194304"));
        }
        if profiles.iter().any(|profile| profile.pppoe.sessions_per_mac == 0) {
            return Err(ConfigError::Limit("sessions_per_mac is at least 1"));
        }
        let mut local_macs = [None; PortIndex::MAX as usize + 1];
        for port in &ports {
            if let Some(place) = local_macs.get_mut(usize::from(port.port.0)) {
                *place = Some(port.mac);
            }
        }
        let ac = AcConfig {
            ports,
            access,
            profiles: profiles.iter().map(|profile| profile.pppoe.service.clone()).collect(),
            cookie_lifetime: config.cookie_lifetime,
            priority: config.control_priority,
        };
        let mut ac = AccessConcentrator::new(ac, config.cookie_key, now, environment.boot_clock_s)?;
        ac.set_limits(limits.discovery)?;
        let mut pool_states = Vec::with_capacity(pools.len());
        for pool in pools {
            let kind = match pool.kind {
                PoolKind::Ipv4(mut ipv4) => {
                    // A local user's own address is nobody else's, not even for a day when it is free.
                    let own = users.iter().filter_map(|user| user.ipv4);
                    ipv4.reserved.extend(own.filter(|address| ipv4.range.contains(*address)));
                    Ipv4Pool::new(&ipv4).map(PoolOf::Ipv4)
                }
                PoolKind::Prefixes(prefixes) => PrefixPool::new(&prefixes).map(PoolOf::Prefixes),
            };
            let kind = kind.map_err(|error| ConfigError::Pool { name: pool.name.clone(), error })?;
            pool_states.push(PoolState { name: pool.name, vrf: pool.vrf, kind });
        }
        for profile in &profiles {
            for pool in profile.ipv4.iter().flat_map(|ipv4| &ipv4.pools) {
                let fits = pool_states
                    .get(usize::from(pool.0))
                    .is_some_and(|state| state.vrf == profile.vrf && matches!(state.kind, PoolOf::Ipv4(_)));
                if !fits {
                    return Err(ConfigError::ProfilePool { profile: profile.name.clone(), pool: pool.0 });
                }
            }
        }
        for profile in &profiles {
            let pools = profile.ipv6.iter().flat_map(|ipv6| ipv6.prefix_pools.iter().chain(&ipv6.delegated_pools));
            for pool in pools {
                let fits = pool_states
                    .get(usize::from(pool.0))
                    .is_some_and(|state| state.vrf == profile.vrf && matches!(state.kind, PoolOf::Prefixes(_)));
                if !fits {
                    return Err(ConfigError::ProfilePrefixPool { profile: profile.name.clone(), pool: pool.0 });
                }
            }
        }
        let users = Users::new(&users)?;
        let places = limits.table_size();
        Ok(Self {
            profiles: profiles
                .into_iter()
                .map(|profile| ProfileState {
                    ppp: Arc::new(profile.ppp.clone()),
                    ipv6: profile.ipv6.as_ref().map(|ipv6| Arc::new(ipv6.services.clone())),
                    profile,
                })
                .collect(),
            restore_complete: config.restore_complete,
            draining: false,
            stopping: None,
            ac,
            local_macs,
            users,
            pools: pool_states,
            ids: IdSpaces::new(),
            entries: Slab::new(places),
            by_id: Index::with_capacity(places),
            by_line: Index::with_capacity(places),
            by_user: Index::with_capacity(places),
            fixed: HashMap::new(),
            timers: Timers::new(now),
            waiters: VecDeque::new(),
            leaving_addresses: 0,
            live: 0,
            up: 0,
            half_open: [0; PortIndex::MAX as usize + 1],
            half_open_order: [const { VecDeque::new() }; PortIndex::MAX as usize + 1],
            per_vlan: HashMap::new(),
            per_line: HashMap::new(),
            padt_budget: (limits.unknown_padt_per_s, now),
            statistics: Statistics::default(),
            environment,
            scratch: Vec::new(),
            limits,
        })
    }

    /// Something has happened. What is to be done is added to `out`.
    pub fn handle(&mut self, now: Instant, input: Input<'_>, out: &mut Vec<Action>) {
        match input {
            Input::Frame { port, bytes } => {
                if let Err(reason) = self.frame(now, port, bytes, out) {
                    self.drop_frame(reason);
                }
            }
            Input::Installed { key, index } => match self.entries.get_mut(key) {
                Some(Entry::Live(session)) => session.index = Some(index),
                Some(Entry::Leaving(leaving)) => leaving.index = Some(index),
                None => {}
            },
            Input::InstallFailed { key } => {
                if let Some(session) = self.take_live(key) {
                    self.finish(now, session, EndCause::NasError, false, out);
                }
            }
            Input::Removed { key, totals } => self.removed(now, key, totals, out),
            Input::AaaResult { request, verdict } => self.aaa_result(now, request, verdict, out),
            Input::Clear { key, cause } => {
                if let Some(session) = self.take_live(key) {
                    self.work(now, session, out, |session, actions| session.ppp.close(now, cause, actions));
                }
            }
            Input::Drain(draining) => self.draining = draining || self.stopping.is_some(),
            Input::RestoreComplete => self.restore_complete = true,
            Input::Shutdown => {
                self.draining = true;
                self.stopping = Some((0, now));
                self.stop_some(now, out);
            }
        }
    }

    /// When [`Subscribers::handle_timeout`] wants to be called next. Costs nothing.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        [self.stopping.map(|(_, since)| since), self.timers.next(), self.ac.poll_timeout()].into_iter().flatten().min()
    }

    /// The time has come; harmless if it has not. A call does a bounded number of sessions; if more are due,
    /// [`Subscribers::poll_timeout`] is not later than `now`.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.stop_some(now, out);
        let mut offers = 0u64;
        self.ac.handle_timeout(now, &mut |port, frame| {
            offers = offers.saturating_add(1);
            out.push(Action::Transmit { port, frame });
        });
        self.statistics.pado_out = self.statistics.pado_out.saturating_add(offers);
        for _ in 0..TIMEOUT_BATCH {
            let Some(slot) = self.timers.due(now) else { break };
            self.session_timeout(now, slot, out);
        }
    }

    /// All sessions, in the order of their slots.
    pub fn sessions(&self, now: Instant) -> impl Iterator<Item = SessionView> + '_ {
        self.entries.iter().map(move |entry| self.view_of(entry, now))
    }

    /// One session.
    #[must_use]
    pub fn session(&self, now: Instant, key: SubscriberKey) -> Option<SessionView> {
        self.entries.get(key).map(|entry| self.view_of(entry, now))
    }

    fn view_of(&self, entry: &Entry, now: Instant) -> SessionView {
        match entry {
            Entry::Live(session) => {
                let [ipv6_prefix, delegated_prefix] = self.spec_prefixes(session);
                SessionView { ipv6_prefix, delegated_prefix, ..session.view(now) }
            }
            Entry::Leaving(leaving) => leaving.view(now),
        }
    }

    /// The pools.
    #[must_use]
    pub fn pools(&self) -> Vec<PoolView> {
        (0u16..)
            .zip(&self.pools)
            .map(|(pool, state)| {
                let (range, usage) = match &state.kind {
                    PoolOf::Ipv4(pool) => {
                        let range = pool.range();
                        (format!("{}-{}", range.first(), range.last()), pool.usage())
                    }
                    PoolOf::Prefixes(pool) => (format!("{} by /{}", pool.whole(), pool.length()), pool.usage()),
                };
                PoolView { pool: PoolIndex(pool), name: state.name.clone(), range, usage }
            })
            .collect()
    }

    /// The counters.
    #[must_use]
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// How many discovery frames led to nothing, by [`DiscoveryDrop`] as a number.
    #[must_use]
    pub fn discovery_drops(&self) -> &[u64; DiscoveryDrop::COUNT] {
        self.ac.drops()
    }

    /// How many there are now.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        Gauges {
            live: self.live,
            half_open: self.half_open.iter().fold(0, |sum, count| sum.saturating_add(*count)),
            up: self.up,
            removing: self.entries.len().saturating_sub(self.live),
            timers: u32::try_from(self.timers.len()).unwrap_or(u32::MAX),
        }
    }

    /// True where no session is left, not even one whose removal is under way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.len() == 0
    }

    /// The profiles' names, in the order of their indices.
    pub fn profile_names(&self) -> impl Iterator<Item = &str> {
        self.profiles.iter().map(|state| state.profile.name.as_str())
    }

    /// True where a profile asks its owner to check credentials.
    #[must_use]
    pub fn needs_aaa(&self) -> bool {
        self.profiles.iter().any(|state| state.profile.aaa.asks_owner())
    }

    pub(crate) fn drop_frame(&mut self, reason: Drop) {
        if let Some(counter) = self.statistics.dropped.get_mut(reason as usize) {
            *counter = counter.saturating_add(1);
        }
    }

    /// Takes a live session out of the slab to be worked on.
    pub(crate) fn take_live(&mut self, key: SubscriberKey) -> Option<Box<Session>> {
        if !matches!(self.entries.get(key), Some(Entry::Live(_))) {
            return None;
        }
        match self.entries.take(key.slot) {
            Some(Entry::Live(session)) => Some(session),
            _ => None,
        }
    }

    /// The live session at a slot.
    pub(crate) fn live_at(&self, slot: u32) -> Option<&Session> {
        match self.entries.at(slot) {
            Some(Entry::Live(session)) => Some(session),
            _ => None,
        }
    }

    /// The slot that has a session id, live or being removed.
    pub(crate) fn slot_of_id(&self, port: PortIndex, outer_vid: u16, id: SessionId) -> Option<u32> {
        self.by_id.candidates((port, outer_vid, id)).find(|slot| {
            let (line, session_id) = match self.entries.at(*slot) {
                Some(Entry::Live(session)) => (&session.line, session.session_id),
                Some(Entry::Leaving(leaving)) => (&leaving.line, leaving.session_id),
                None => return false,
            };
            session_id == id && line.port == port && line.vlans.outer_vid() == outer_vid
        })
    }

    /// The live sessions of a line, oldest first.
    pub(crate) fn of_line(&self, key: LineKey) -> Vec<&Session> {
        let mut found: Vec<_> = self
            .by_line
            .candidates(key)
            .filter_map(|slot| self.live_at(slot))
            .filter(|session| session.line.key() == key)
            .collect();
        found.sort_by_key(|session| (session.created, session.key));
        found
    }

    /// Lets `change` do something to a session's link, carries out what comes of it, and puts the session back where
    /// it was, its timer set anew; or ends it if the link has ended.
    pub(crate) fn work(
        &mut self,
        now: Instant,
        mut session: Box<Session>,
        out: &mut Vec<Action>,
        change: impl FnOnce(&mut Session, &mut Vec<PppAction>),
    ) {
        let mut actions = core::mem::take(&mut self.scratch);
        change(&mut session, &mut actions);
        let ended = self.carry_out(now, &mut session, &mut actions, out);
        self.scratch = actions;
        match ended {
            Some(cause) => self.finish(now, session, cause, true, out),
            None => {
                self.timers.set(session.key.slot, session.deadline());
                self.entries.put(session.key.slot, Entry::Live(session));
            }
        }
    }

    fn session_timeout(&mut self, now: Instant, slot: u32, out: &mut Vec<Action>) {
        let Some(Entry::Live(mut session)) = self.entries.take(slot) else {
            // Cannot be: a timer runs for live sessions alone. Without its session it must not run for ever.
            debug_assert!(false, "a timer without a live session");
            self.timers.set(slot, None);
            return;
        };
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(session.aaa_deadline) {
            self.aaa_timeout(now, session, out);
            return;
        }
        let mut activity = false;
        let mut seen = session.upstream_seen;
        let mut data = 0;
        if let Some(index) = session.index
            && (session.ipv4_up || session.ipv6_up)
        {
            data = (self.environment.upstream_packets)(index);
            let signs = data.wrapping_add((self.environment.client_echoes)(index));
            activity = signs != seen;
            seen = signs;
        }
        self.ipv6_timeout(now, &mut session, out);
        self.work(now, session, out, |session, actions| {
            session.upstream_seen = seen;
            if activity {
                session.ppp.upstream_activity(now);
            }
            if session.is_idle(now, data) {
                session.ppp.close(now, EndCause::IdleTimeout, actions);
            }
            if due(session.ends_at) {
                session.ends_at = None;
                session.ppp.close(now, EndCause::SessionTimeout, actions);
            }
            session.ppp.handle_timeout(now, actions);
        });
    }

    /// A step of the shutdown: a Terminate-Request and a PADT to each client, without waiting for answers.
    fn stop_some(&mut self, now: Instant, out: &mut Vec<Action>) {
        let Some((from, since)) = self.stopping else { return };
        let mut slot = from;
        let mut ended = 0;
        while slot < self.entries.used() && ended < self.limits.shutdown_batch.max(1) {
            if matches!(self.entries.at(slot), Some(Entry::Live(_)))
                && let Some(Entry::Live(mut session)) = self.entries.take(slot)
            {
                let mut actions = core::mem::take(&mut self.scratch);
                session.ppp.close(now, EndCause::AdminReboot, &mut actions);
                self.carry_out(now, &mut session, &mut actions, out);
                self.scratch = actions;
                self.finish(now, session, EndCause::AdminReboot, true, out);
                ended = ended.saturating_add(1);
            }
            slot = slot.saturating_add(1);
        }
        self.stopping = (slot < self.entries.used()).then_some((slot, since));
    }

    pub(crate) fn event(&mut self, now: Instant, session: &mut Session, what: EventKind, out: &mut Vec<Action>) {
        session.remember(now, &what);
        out.push(Action::Event(SessionEvent {
            key: session.key,
            session_id: session.session_id,
            line: session.line,
            user: session.user.clone(),
            what,
        }));
    }
}
