//! IPv6 on a session's link: the line's own prefix, router advertisements, and prefixes delegated by DHCPv6.
//!
//! Prefixes that a session has been given stay its own until it ends, even where the client releases one: what it asks
//! for next is the same, and no prefix changes hands while a worker may still be using it.

use crate::action::Action;
use crate::config::PoolIndex;
use crate::event::EventKind;
use crate::link::sticky_key;
use crate::session::{HeldPrefix, Session};
use crate::subscribers::{PoolOf, Subscribers};
use bng_ipv6::{Action as Ipv6Action, Discard, Ipv6Session, LeaseKind, Link, Prefix};
use core::net::Ipv6Addr;
use std::sync::Arc;
use std::time::Instant;

/// PPP protocol number of IPv6 (RFC 5072 section 3).
pub(crate) const IPV6: u16 = 0x0057;
/// Delegated prefixes that a session may hold: those leased, and those released that a client may want back.
const DELEGATED_MAX: usize = 4;

impl Subscribers {
    /// IPV6CP grants the client its interface identifier: its prefix must lead to it before it can know.
    pub(crate) fn ipv6_up(&mut self, now: Instant, session: &mut Session, local_id: u64, out: &mut Vec<Action>) {
        session.gateway_interface_id = Some(local_id);
        let profile = self.profiles.get(usize::from(session.profile.0));
        let config = profile.and_then(|state| state.ipv6.as_ref().map(Arc::clone));
        if session.line_prefix.is_none() {
            self.take_line_prefix(now, session, out);
        }
        if session.ipv6.is_none()
            && let Some(config) = config
        {
            let mut seed = [0u8; 8];
            (self.environment.random)(&mut seed);
            let prefix = session.line_prefix.and_then(|held| self.prefix(held));
            let mtu = session.peer_mru.min(session.local_mru);
            let link = Link { local_id, mtu, prefix };
            session.ipv6 = Some(Box::new(Ipv6Session::new(config, link, u64::from_ne_bytes(seed))));
        }
        self.ipv6(session, true, out);
        let key = session.key;
        if let Some(held) = session.line_prefix.as_mut().filter(|held| !held.mapped) {
            held.mapped = true;
            out.push(Action::MapAddress { pool: held.pool, offset: held.offset, key });
        }
    }

    /// IPV6CP is open: the router says who it is, and its services begin.
    pub(crate) fn ipv6_opened(&mut self, now: Instant, session: &mut Session, out: &mut Vec<Action>) {
        self.opened(now, session);
        let started = self.with_ipv6(now, session, out, |ipv6, actions| ipv6.start(now, actions));
        if started.is_some() {
            let prefix = session.line_prefix.and_then(|held| self.prefix(held));
            let prefix = prefix.map(|prefix| (prefix.address, prefix.length));
            self.event(now, session, EventKind::Ipv6Up { prefix }, out);
        }
    }

    /// IPV6CP is not open any more: leases end. The line's prefix stays the session's own.
    pub(crate) fn ipv6_down(&mut self, now: Instant, session: &mut Session, out: &mut Vec<Action>) {
        let was_up = session.ipv6_up;
        session.gateway_interface_id = None;
        self.ipv6(session, false, out);
        self.with_ipv6(now, session, out, |ipv6, actions| ipv6.close(now, actions));
        session.ipv6 = None;
        if was_up {
            self.event(now, session, EventKind::Ipv6Down, out);
        }
    }

    /// An IPv6 packet of the client to its router or to the link.
    pub(crate) fn ipv6_packet(&mut self, now: Instant, session: &mut Session, packet: &[u8], out: &mut Vec<Action>) {
        let handled = self.with_ipv6(now, session, out, |ipv6, actions| ipv6.handle(now, packet, actions));
        if let Err(reason) = handled.unwrap_or(Err(Discard::Closed))
            && let Some(counter) = self.statistics.ipv6_discarded.get_mut(reason as usize)
        {
            *counter = counter.saturating_add(1);
        }
    }

    /// A timer of the client's leases or advertisements may be due.
    pub(crate) fn ipv6_timeout(&mut self, now: Instant, session: &mut Session, out: &mut Vec<Action>) {
        if session.ipv6.as_ref().and_then(|ipv6| ipv6.poll_timeout()).is_some_and(|due| due <= now) {
            self.with_ipv6(now, session, out, |ipv6, actions| ipv6.handle_timeout(now, actions));
        }
    }

    /// What leads prefixes to a session that ends is taken away.
    pub(crate) fn unmap_prefixes(session: &mut Session, out: &mut Vec<Action>) {
        for held in session.line_prefix.iter_mut().chain(&mut session.delegated).filter(|held| held.mapped) {
            held.mapped = false;
            out.push(Action::UnmapAddress { pool: held.pool, offset: held.offset });
        }
    }

    /// No worker can be using these prefixes any more.
    pub(crate) fn release_prefixes(&mut self, prefixes: &[HeldPrefix]) {
        for held in prefixes {
            if let Some(PoolOf::Prefixes(pool)) =
                self.pools.get_mut(usize::from(held.pool.0)).map(|state| &mut state.kind)
                && let Some(prefix) = pool.prefix(held.offset)
            {
                let released = pool.release(prefix);
                debug_assert!(released.is_ok(), "a session's prefix was not held");
            }
        }
    }

    /// A prefix that a session holds.
    pub(crate) fn prefix(&self, held: HeldPrefix) -> Option<Prefix> {
        match &self.pools.get(usize::from(held.pool.0))?.kind {
            PoolOf::Prefixes(pool) => {
                let prefix = pool.prefix(held.offset)?;
                Some(Prefix { address: prefix.address(), length: prefix.length() })
            }
            PoolOf::Ipv4(_) => None,
        }
    }

    /// The prefix of the line and the first one delegated, as the forwarding plane wants them.
    pub(crate) fn spec_prefixes(&self, session: &Session) -> [Option<(Ipv6Addr, u8)>; 2] {
        let delegated = session.delegated.iter().find(|held| held.mapped).copied();
        [session.line_prefix, delegated].map(|held| {
            let prefix = held.and_then(|held| self.prefix(held))?;
            Some((prefix.address, prefix.length))
        })
    }

    fn take_line_prefix(&mut self, now: Instant, session: &mut Session, out: &mut Vec<Action>) {
        let Some(profile) = self.profiles.get(usize::from(session.profile.0)).map(|state| &state.profile) else {
            return;
        };
        let Some(pools) = profile.ipv6.as_ref().map(|ipv6| &ipv6.prefix_pools).filter(|pools| !pools.is_empty()) else {
            return;
        };
        let sticky = profile.sticky_addresses.then(|| sticky_key(session));
        session.line_prefix = pools.iter().find_map(|pool| allocate(&mut self.pools, *pool, sticky));
        if session.line_prefix.is_none() {
            self.prefixes_exhausted(now, session, out);
        }
    }

    fn prefixes_exhausted(&mut self, now: Instant, session: &mut Session, out: &mut Vec<Action>) {
        self.statistics.pool_exhausted = self.statistics.pool_exhausted.saturating_add(1);
        self.event(now, session, EventKind::PoolExhausted, out);
    }

    /// Lets `change` do something to a session's IPv6 and carries out what comes of it; `None` where it has none.
    fn with_ipv6<R>(
        &mut self,
        now: Instant,
        session: &mut Session,
        out: &mut Vec<Action>,
        change: impl FnOnce(&mut Ipv6Session, &mut Vec<Ipv6Action>) -> R,
    ) -> Option<R> {
        let mut ipv6 = session.ipv6.take()?;
        let mut actions = Vec::new();
        let result = change(&mut ipv6, &mut actions);
        let mut more = Vec::new();
        while !actions.is_empty() {
            for action in actions.drain(..) {
                match action {
                    Ipv6Action::Send(packet) => {
                        if session.ipv6_up {
                            self.send(session, IPV6, &packet, out);
                        }
                    }
                    Ipv6Action::Allocate { ticket, kind, hint, exact } => {
                        // Addresses come from the line's prefix, which needs no pool.
                        let answer = match kind {
                            LeaseKind::Prefix => self.delegate(now, session, hint, exact, out),
                            LeaseKind::Address => None,
                        };
                        ipv6.granted(now, ticket, answer, &mut more);
                    }
                    Ipv6Action::Free { prefix, .. } => {
                        if let Some(place) = self.delegated_place(session, prefix)
                            && let Some(held) = session.delegated.get_mut(place)
                        {
                            held.leased = false;
                        }
                    }
                    Ipv6Action::RouteAdd(prefix) => self.route_prefix(now, session, prefix, true, out),
                    Ipv6Action::RouteRemove(prefix) => self.route_prefix(now, session, prefix, false, out),
                }
            }
            core::mem::swap(&mut actions, &mut more);
        }
        session.ipv6 = Some(ipv6);
        Some(result)
    }

    fn delegated_place(&self, session: &Session, prefix: Prefix) -> Option<usize> {
        session.delegated.iter().position(|held| self.prefix(*held) == Some(prefix))
    }

    /// A prefix for delegation: one that the session had before, the one that the client would like, or another.
    fn delegate(
        &mut self,
        now: Instant,
        session: &mut Session,
        hint: Option<Prefix>,
        exact: bool,
        out: &mut Vec<Action>,
    ) -> Option<Prefix> {
        let wanted = hint.filter(|hint| !hint.address.is_unspecified());
        let own = wanted.and_then(|wanted| self.delegated_place(session, wanted));
        let spare = match own {
            Some(place) => Some(place),
            None if exact => None,
            None => session.delegated.iter().position(|held| !held.leased),
        };
        if let Some(held) = spare.and_then(|place| session.delegated.get_mut(place)).filter(|held| !held.leased) {
            held.leased = true;
            let held = *held;
            return self.prefix(held);
        }
        if session.delegated.len() >= DELEGATED_MAX {
            return None;
        }
        let profile = self.profiles.get(usize::from(session.profile.0)).map(|state| &state.profile)?;
        let pools = &profile.ipv6.as_ref()?.delegated_pools;
        let sticky = profile.sticky_addresses.then(|| sticky_key(session));
        let mut held = wanted.and_then(|wanted| pools.iter().find_map(|pool| take(&mut self.pools, *pool, wanted)));
        if held.is_none() && !exact {
            held = pools.iter().find_map(|pool| allocate(&mut self.pools, *pool, sticky));
            if held.is_none() && !pools.is_empty() {
                self.prefixes_exhausted(now, session, out);
            }
        }
        let held = HeldPrefix { leased: true, ..held? };
        // Most sessions have one, and a vector that grows by itself begins with room for four.
        session.delegated.reserve_exact(1);
        session.delegated.push(held);
        self.prefix(held)
    }

    fn route_prefix(
        &mut self,
        now: Instant,
        session: &mut Session,
        prefix: Prefix,
        to_session: bool,
        out: &mut Vec<Action>,
    ) {
        let key = session.key;
        let Some(place) = self.delegated_place(session, prefix) else { return };
        let Some(held) = session.delegated.get_mut(place).filter(|held| held.mapped != to_session) else { return };
        held.mapped = to_session;
        let HeldPrefix { pool, offset, .. } = *held;
        if !to_session {
            out.push(Action::UnmapAddress { pool, offset });
        }
        out.push(Action::Update { key, spec: self.spec(session) });
        if to_session {
            out.push(Action::MapAddress { pool, offset, key });
            let prefix = (prefix.address, prefix.length);
            self.event(now, session, EventKind::PrefixDelegated { prefix }, out);
        }
    }
}

fn allocate(pools: &mut [crate::subscribers::PoolState], index: PoolIndex, sticky: Option<u64>) -> Option<HeldPrefix> {
    let Some(PoolOf::Prefixes(pool)) = pools.get_mut(usize::from(index.0)).map(|state| &mut state.kind) else {
        return None;
    };
    let prefix = pool.allocate(sticky).ok()?;
    Some(HeldPrefix { pool: index, leased: false, mapped: false, offset: pool.offset(prefix)? })
}

/// Takes the prefix that a client asks for, where it is of this pool and free.
fn take(pools: &mut [crate::subscribers::PoolState], index: PoolIndex, wanted: Prefix) -> Option<HeldPrefix> {
    let Some(PoolOf::Prefixes(pool)) = pools.get_mut(usize::from(index.0)).map(|state| &mut state.kind) else {
        return None;
    };
    let prefix = bng_pool::Prefix::new(wanted.address, wanted.length).ok()?;
    // One that is reserved for somebody else is not for whoever asks.
    if pool.is_reserved(prefix) {
        return None;
    }
    pool.take(prefix).ok()?;
    Some(HeldPrefix { pool: index, leased: false, mapped: false, offset: pool.offset(prefix)? })
}
