//! Carries out what the subscribers ask for, strictly in order: a session is in the forwarding plane before the frame
//! that tells its client so is given to a worker.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;

use bng_session::{PoolMaps, SessionIndex, SessionTotals, SessionWriter};
use bng_subscriber::{AaaVerdict, Action, AuthFailure, Input, PoolIndex, SubscriberKey, Subscribers};
use hashbrown::HashMap;
use tracing::error;

use crate::counters::ControlCounters;
use crate::inject::Injector;
use crate::log;

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
}

impl Executor {
    pub(crate) fn new(
        sessions: SessionWriter,
        pools: Arc<PoolMaps>,
        bindings: Vec<PoolBinding>,
        port_names: Vec<String>,
    ) -> Self {
        Self { sessions, pools, bindings, installed: Vec::new(), removing: HashMap::new(), port_names }
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
                    // Addresses outside the pools cannot be configured yet.
                    Action::AddRoute { address, .. } | Action::RemoveRoute { address, .. } => {
                        error!(%address, "an address outside every pool has no way into the routing table");
                    }
                    Action::Authenticate(request) => {
                        // No profile can be configured with a remote AAA yet; refusing is the safe answer if one is.
                        let verdict = AaaVerdict::from(AuthFailure::Unreachable);
                        subscribers.handle(now, Input::AaaResult { request: request.request, verdict }, &mut follow_up);
                    }
                    Action::Event(event) => {
                        let port = self.port_names.get(usize::from(event.line.port.0)).map_or("?", String::as_str);
                        log::write(&event, port);
                    }
                    other => error!(?other, "an action that is not known here"),
                }
            }
            actions.append(&mut follow_up);
        }
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
        if let Some(PoolBinding::Ipv4 { map, first }) = self.bindings.get(usize::from(pool.0)).copied() {
            let address = Ipv4Addr::from_bits(first.to_bits().wrapping_add(offset));
            let known = self.pools.v4(map).is_some_and(|map| map.set(address, session));
            if !known {
                error!(%address, "an address that is outside its pool's map");
            }
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
