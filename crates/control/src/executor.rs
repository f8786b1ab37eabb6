//! Carries out what the subscribers ask for, strictly in order: a session is in the forwarding plane before the frame
//! that tells its client so is given to a worker.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Instant;

use bng_aaa::{AaaHandle, Event as AaaEvent};
use bng_routing::{Prefix, RoutingHandle, SessionRef};
use bng_session::{PoolMaps, SessionIndex, SessionTotals, SessionWriter};
use bng_subscriber::{
    AaaVerdict, Action, AuthFailure, EndCause, EventKind, Input, PoolIndex, SessionEvent, SessionState, SubscriberKey,
    Subscribers,
};
use crossbeam_channel::Receiver;
use hashbrown::HashMap;
use tracing::error;

use crate::counters::ControlCounters;
use crate::inject::Injector;
use crate::log::SessionLog;

/// Where the addresses of a pool of the subscribers stand in the forwarding plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolBinding {
    /// An IPv4 pool: the number of its map, and the address at offset 0.
    Ipv4 {
        /// The number in [`PoolMaps`].
        map: u16,
        /// The first address.
        first: Ipv4Addr,
    },
    /// A pool of IPv6 prefixes: the number of its map, the prefix at offset 0 and the length of each.
    Ipv6 {
        /// The number in [`PoolMaps`].
        map: u16,
        /// The first prefix's address.
        first: Ipv6Addr,
        /// The length of the prefixes in bits.
        length: u8,
    },
    /// A pool that the forwarding plane has no map for.
    None,
}

/// Carries out actions.
#[derive(Debug)]
pub(crate) struct Executor {
    sessions: SessionWriter,
    pools: Arc<PoolMaps>,
    bindings: Vec<PoolBinding>,
    /// Where the session of each of the subscribers' slots stands in the forwarding plane, and which session of that
    /// slot it is.
    installed: Vec<Option<(u32, SessionIndex)>>,
    /// Whose entry is being removed.
    removing: HashMap<SessionIndex, SubscriberKey>,
    port_names: Vec<String>,
    aaa: Option<AaaHandle>,
    log: SessionLog,
    routing: Arc<RoutingHandle>,
    /// Routes that the routing thread had no room for yet, in their order.
    routes_waiting: VecDeque<(Prefix, Option<SessionRef>)>,
}

/// Events of the RADIUS thread heard in one turn.
const AAA_EVENTS_PER_TURN_MAX: usize = 256;

impl Executor {
    pub(crate) fn new(
        sessions: SessionWriter,
        pools: Arc<PoolMaps>,
        bindings: Vec<PoolBinding>,
        port_names: Vec<String>,
        routing: Arc<RoutingHandle>,
        aaa: Option<AaaHandle>,
        now: Instant,
    ) -> Self {
        Self {
            sessions,
            pools,
            bindings,
            installed: Vec::new(),
            removing: HashMap::new(),
            port_names,
            routing,
            aaa,
            log: SessionLog::new(now),
            routes_waiting: VecDeque::new(),
        }
    }

    /// Carries out `actions` and those that follow from them, and leaves `actions` empty.
    pub(crate) fn run(
        &mut self,
        now: Instant,
        subscribers: &mut Subscribers,
        actions: &mut Vec<Action>,
        injector: &mut Injector,
        counters: &ControlCounters,
    ) {
        let mut follow_up = Vec::new();
        while !actions.is_empty() {
            for action in actions.drain(..) {
                match action {
                    Action::Transmit { port, frame } => {
                        if injector.transmit(port, &frame) {
                            counters.injected.add(1);
                        } else {
                            counters.inject_full.add(1);
                        }
                    }
                    Action::Install { key, spec } => {
                        let input = match self.sessions.insert(&spec) {
                            Ok(index) => {
                                self.remember(key, index);
                                Input::Installed { key, index }
                            }
                            Err(reason) => {
                                let session_id = spec.session_id.0;
                                error!(session_id, %reason, "a session finds no room in the forwarding plane");
                                Input::InstallFailed { key }
                            }
                        };
                        subscribers.handle(now, input, &mut follow_up);
                    }
                    Action::Update { key, spec } => {
                        let done = self.index(key).is_some_and(|index| self.sessions.update(index, &spec));
                        if !done {
                            error!(session_id = spec.session_id.0, "an update for a session that is not there");
                        }
                    }
                    Action::Remove { key } => self.remove(now, key, subscribers, &mut follow_up),
                    Action::MapAddress { pool, offset, key } => match self.index(key) {
                        Some(index) => self.map(pool, offset, Some(index)),
                        None => error!(pool = pool.0, offset, "an address for a session that is not there"),
                    },
                    Action::UnmapAddress { pool, offset } => self.map(pool, offset, None),
                    Action::AddRoute { address, key, .. } => match self.index(key) {
                        Some(index) => {
                            let generation = self.sessions.generation(index);
                            self.route(address, Some(SessionRef { index: index.0, generation }));
                        }
                        None => error!(%address, "a route to a session that is not there"),
                    },
                    Action::RemoveRoute { address, .. } => self.route(address, None),
                    Action::Authenticate(request) => {
                        let id = request.request;
                        if !self.aaa.as_ref().is_some_and(|aaa| aaa.authenticate(request)) {
                            let verdict = AaaVerdict::from(AuthFailure::Unreachable);
                            subscribers.handle(now, Input::AaaResult { request: id, verdict }, &mut follow_up);
                        }
                    }
                    Action::Event(event) => {
                        self.tell_aaa(now, &event, subscribers);
                        let port = self.port_names.get(usize::from(event.line.port.0)).map_or("?", String::as_str);
                        self.log.write(now, &event, port);
                    }
                    other => error!(?other, "an action that is not known here"),
                }
            }
            actions.append(&mut follow_up);
        }
    }

    /// What accounting has to know of a session.
    fn tell_aaa(&self, now: Instant, event: &SessionEvent, subscribers: &Subscribers) {
        let Some(aaa) = &self.aaa else { return };
        let key = event.key;
        match &event.what {
            EventKind::Ipv4Up { .. } => {
                if let Some(view) = subscribers.session(now, key) {
                    aaa.up(view, self.totals(key));
                }
            }
            // A client that never said who it is left nothing there.
            EventKind::Ended { cause, .. } if event.user.is_some() => aaa.ended(key, *cause),
            EventKind::Final { totals, .. } if event.user.is_some() => aaa.final_counters(key, *totals),
            _ => {}
        }
    }

    /// The RADIUS thread.
    pub(crate) fn aaa(&self) -> Option<&AaaHandle> {
        self.aaa.as_ref()
    }

    /// What a session has carried so far.
    fn totals(&self, key: SubscriberKey) -> SessionTotals {
        self.index(key).map_or_else(SessionTotals::default, |index| self.sessions.table().totals(index))
    }

    /// Hears the RADIUS thread. Returns how much there was to do.
    pub(crate) fn aaa_events(
        &mut self,
        now: Instant,
        events: &Receiver<AaaEvent>,
        subscribers: &mut Subscribers,
        actions: &mut Vec<Action>,
    ) -> usize {
        let mut done = 0;
        for event in events.try_iter().take(AAA_EVENTS_PER_TURN_MAX) {
            done += 1;
            match event {
                AaaEvent::Verdict { request, verdict } => {
                    subscribers.handle(now, Input::AaaResult { request, verdict }, actions);
                }
                AaaEvent::ReadUsage(key) => {
                    // One that is being removed gives its last counters by itself.
                    if let (Some(aaa), Some(_)) = (&self.aaa, self.index(key)) {
                        aaa.usage(key, self.totals(key));
                    }
                }
                AaaEvent::Disconnect { ticket, sessions } => {
                    let mut found = false;
                    for key in sessions {
                        let live = subscribers.session(now, key).is_some_and(|it| it.state != SessionState::Removing);
                        if live {
                            found = true;
                            subscribers.handle(now, Input::Clear { key, cause: EndCause::AdminReset }, actions);
                        }
                    }
                    if let Some(aaa) = &self.aaa {
                        aaa.done(ticket, found);
                    }
                }
                AaaEvent::Change { ticket, sessions, change } => {
                    let mut found = false;
                    for key in sessions {
                        found |= subscribers.change(now, key, &change, actions);
                    }
                    if let Some(aaa) = &self.aaa {
                        aaa.done(ticket, found);
                    }
                }
            }
        }
        done
    }

    fn remember(&mut self, key: SubscriberKey, index: SessionIndex) {
        let slot = key.slot as usize;
        if self.installed.len() <= slot {
            // Slots are handed out from the lowest up, and their number is bounded by the limits on sessions.
            self.installed.resize(slot.saturating_add(1), None);
        }
        if let Some(place) = self.installed.get_mut(slot) {
            *place = Some((key.generation, index));
        }
    }

    fn index(&self, key: SubscriberKey) -> Option<SessionIndex> {
        let (generation, index) = self.installed.get(key.slot as usize).copied().flatten()?;
        (generation == key.generation).then_some(index)
    }

    fn remove(&mut self, now: Instant, key: SubscriberKey, subscribers: &mut Subscribers, follow_up: &mut Vec<Action>) {
        match self.index(key) {
            Some(index) if self.sessions.remove(index) => {
                self.removing.insert(index, key);
                if let Some(place) = self.installed.get_mut(key.slot as usize) {
                    *place = None;
                }
            }
            // Never installed: there is nothing to wait for.
            _ => subscribers.handle(now, Input::Removed { key, totals: SessionTotals::default() }, follow_up),
        }
    }

    fn map(&self, pool: PoolIndex, offset: u32, session: Option<SessionIndex>) {
        match self.bindings.get(usize::from(pool.0)).copied() {
            Some(PoolBinding::Ipv4 { map, first }) => {
                let address = Ipv4Addr::from_bits(first.to_bits().wrapping_add(offset));
                if !self.pools.v4(map).is_some_and(|map| map.set(address, session)) {
                    error!(%address, "an address that is outside its pool's map");
                }
            }
            Some(PoolBinding::Ipv6 { map, first, length }) => {
                let above = u128::from(offset).checked_shl(128u32.saturating_sub(u32::from(length))).unwrap_or(0);
                let address = Ipv6Addr::from_bits(first.to_bits().wrapping_add(above));
                if !self.pools.v6(map).is_some_and(|map| map.set(address, session)) {
                    error!(%address, "a prefix that is outside its pool's map");
                }
            }
            Some(PoolBinding::None) | None => error!(pool = pool.0, offset, "a pool that has no map"),
        }
    }

    fn route(&mut self, address: Ipv4Addr, session: Option<SessionRef>) {
        self.routes_waiting.push_back((Prefix::host(address.into()), session));
        self.send_routes();
    }

    /// Hands the routing thread what it has room for; the order stays.
    pub(crate) fn send_routes(&mut self) {
        while let Some((prefix, session)) = self.routes_waiting.front().copied()
            && self.routing.session_route(prefix, session)
        {
            self.routes_waiting.pop_front();
        }
    }

    /// Tells the subscribers whose removal is complete. Returns how many those were.
    pub(crate) fn reclaim(&mut self, now: Instant, subscribers: &mut Subscribers, actions: &mut Vec<Action>) -> usize {
        let mut done = 0;
        let removing = &mut self.removing;
        self.sessions.poll(|removed| {
            if let Some(key) = removing.remove(&removed.index) {
                done += 1;
                subscribers.handle(now, Input::Removed { key, totals: removed.counters }, actions);
            }
        });
        done
    }
}
