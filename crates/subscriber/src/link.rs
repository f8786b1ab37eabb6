//! What comes of a session's link: packets to send, credentials to check, addresses to give.

use crate::action::{AaaRequest, AaaVerdict, Action, AuthFailure, Authorization, Change, RequestId, SubscriberKey};
use crate::config::{AaaMethod, DuplicateUser, PoolIndex};
use crate::event::EventKind;
use crate::frame::session_frame;
use crate::session::{Entry, Grant, HeldAddress, Session};
use crate::subscribers::{PoolOf, Subscribers};
use bng_pool::TakeError;
use bng_ppp::{Action as PppAction, AuthMethod, AuthRequest, AuthVerdict, Credentials, EndCause, Ipv4Offer, Ipv6Offer};
use bng_session::{MTU_MIN, SessionSpec};
use bng_wire::VrfId;
use core::net::Ipv4Addr;
use std::time::Instant;

/// PPP protocol number of LCP, and its code of an Echo-Request (RFC 1661 section 5.8).
const LCP: u16 = 0xc021;
const ECHO_REQUEST: u8 = 9;

/// Sessions that may wait for an address that another is letting go of; the next is told that none is free.
const WAITERS_MAX: usize = 256;

/// Why a session gets no address now.
enum NoAddress {
    /// One is about to come free.
    Wait,
    Refused(AuthFailure),
    Exhausted,
}

impl Subscribers {
    /// Carries out what a link asks for, in its order. The cause comes back where the link has ended.
    pub(crate) fn carry_out(
        &mut self,
        now: Instant,
        session: &mut Session,
        actions: &mut Vec<PppAction>,
        out: &mut Vec<Action>,
    ) -> Option<EndCause> {
        let mut ended = None;
        // What an action gives rise to comes behind the actions that were there before.
        let mut more = Vec::new();
        loop {
            for action in actions.drain(..) {
                match action {
                    PppAction::Send { protocol, payload } => {
                        // The first that goes out since the client was last heard.
                        if protocol == LCP
                            && payload.first() == Some(&ECHO_REQUEST)
                            && session.ppp.unanswered_echoes() <= 1
                        {
                            session.echo_asked_at = Some(now);
                        }
                        self.send(session, protocol, &payload, out);
                    }
                    PppAction::Authenticate(request) => self.authenticate(now, session, request, &mut more, out),
                    PppAction::LinkUp { peer_mru, local_mru, local_magic } => {
                        session.peer_mru = peer_mru;
                        session.local_mru = local_mru;
                        session.link_was_up = true;
                        // From here on the workers answer the client's echoes.
                        session.echo_magic = Some(local_magic);
                        out.push(Action::Update { key: session.key, spec: self.spec(session) });
                        self.event(now, session, EventKind::LinkUp { peer_mru }, out);
                    }
                    PppAction::LinkDown => {
                        session.transaction = None;
                        session.aaa_deadline = None;
                        session.pending = None;
                        session.waiting = None;
                        // The next magic number is another one.
                        session.echo_magic = None;
                        out.push(Action::Update { key: session.key, spec: self.spec(session) });
                        self.event(now, session, EventKind::LinkDown, out);
                    }
                    PppAction::Ipv4Up { .. } => self.ipv4(session, true, out),
                    PppAction::Ipv4Opened => {
                        let first = session.up_since.is_none();
                        self.opened(now, session);
                        if let Some(held) = session.address {
                            self.event(now, session, EventKind::Ipv4Up { address: held.address, first }, out);
                        }
                    }
                    PppAction::Ipv4Down => {
                        if session.ipv4_up {
                            self.ipv4(session, false, out);
                            self.event(now, session, EventKind::Ipv4Down, out);
                        }
                    }
                    PppAction::Ipv6Up { local_id, .. } => self.ipv6_up(now, session, local_id, out),
                    PppAction::Ipv6Opened => self.ipv6_opened(now, session, out),
                    PppAction::Ipv6Down => self.ipv6_down(now, session, out),
                    PppAction::Ended(cause) => ended = ended.or(Some(cause)),
                }
            }
            if more.is_empty() {
                return ended;
            }
            core::mem::swap(actions, &mut more);
        }
    }

    /// A network protocol is open: the client has shown itself good.
    pub(crate) fn opened(&mut self, now: Instant, session: &mut Session) {
        if session.up_since.is_none() {
            session.up_since = Some(now);
            self.statistics.came_up = self.statistics.came_up.saturating_add(1);
            self.ac.session_succeeded(&session.line.key(), session.circuit_id());
        }
    }

    pub(crate) fn send(&mut self, session: &Session, protocol: u16, payload: &[u8], out: &mut Vec<Action>) {
        let vlans = self.ac.reply_vlans(session.line.vlans);
        let frame = session_frame(&session.line, vlans, session.local_mac, session.session_id, protocol, payload);
        self.statistics.ppp_out = self.statistics.ppp_out.saturating_add(1);
        out.push(Action::Transmit { port: session.line.port, frame });
    }

    /// What the forwarding plane is to know of a session.
    pub(crate) fn spec(&self, session: &Session) -> SessionSpec {
        let profile = self.profiles.get(usize::from(session.profile.0)).map(|state| &state.profile);
        let grant = session.grant.as_ref();
        let [ipv6_prefix, delegated_prefix] = self.spec_prefixes(session);
        SessionSpec {
            ipv6_prefix,
            delegated_prefix,
            port: session.line.port,
            vlans: session.line.vlans,
            local_mac: session.local_mac,
            peer_mac: session.line.peer_mac,
            session_id: session.session_id,
            vrf: profile.map_or(VrfId(0), |profile| profile.vrf),
            mtu: session.peer_mru.max(MTU_MIN),
            mss_clamp: profile.is_none_or(|profile| profile.mss_clamp),
            source_check: profile.is_none_or(|profile| profile.source_check),
            ipv4: session.address.map(|held| held.address),
            gateway_ipv4: profile.and_then(|profile| profile.ipv4.as_ref()).map(|ipv4| ipv4.gateway),
            gateway_interface_id: session.gateway_interface_id,
            echo_magic: session.echo_magic,
            ipv4_up: session.ipv4_up,
            ipv6_up: session.ipv6_up,
            // What AAA says about the user goes before what the profile says about all.
            policer_up: grant.and_then(|grant| grant.rate_up).or(profile.and_then(|profile| profile.rate_up)),
            policer_down: grant.and_then(|grant| grant.rate_down).or(profile.and_then(|profile| profile.rate_down)),
            priority_map: profile.map_or(0, |profile| profile.priority_map),
            ..SessionSpec::default()
        }
    }

    fn update(&mut self, session: &Session, was_up: bool, out: &mut Vec<Action>) {
        let is_up = session.ipv4_up || session.ipv6_up;
        if is_up && !was_up {
            self.up = self.up.saturating_add(1);
        } else if was_up && !is_up {
            self.up = self.up.saturating_sub(1);
        }
        out.push(Action::Update { key: session.key, spec: self.spec(session) });
    }

    fn ipv4(&mut self, session: &mut Session, up: bool, out: &mut Vec<Action>) {
        let was_up = session.ipv4_up || session.ipv6_up;
        session.ipv4_up = up;
        self.update(session, was_up, out);
        if up
            && !session.mapped
            && let Some(held) = session.address
        {
            session.mapped = true;
            out.push(match held.pool {
                Some((pool, offset)) => Action::MapAddress { pool, offset, key: session.key },
                None => Action::AddRoute { vrf: held.vrf, address: held.address, key: session.key },
            });
        }
    }

    pub(crate) fn ipv6(&mut self, session: &mut Session, up: bool, out: &mut Vec<Action>) {
        if session.ipv6_up != up {
            let was_up = session.ipv4_up || session.ipv6_up;
            session.ipv6_up = up;
            self.update(session, was_up, out);
        }
    }

    fn authenticate(
        &mut self,
        now: Instant,
        session: &mut Session,
        request: AuthRequest,
        more: &mut Vec<PppAction>,
        out: &mut Vec<Action>,
    ) {
        session.transaction = Some(request.transaction);
        session.auth_method = match request.credentials {
            Credentials::Pap { .. } => Some(AuthMethod::Pap),
            Credentials::ChapMd5 { .. } => Some(AuthMethod::ChapMd5),
            Credentials::MsChapV2 { .. } => Some(AuthMethod::MsChapV2),
            _ => None,
        };
        let name = request.credentials.name();
        if session.authenticated && session.user.as_deref() != Some(name).filter(|name| !name.is_empty()) {
            // A link that negotiates anew is still the same subscriber's: its records and address are.
            self.verdict(now, session, AuthFailure::Rejected.into(), more, out);
            return;
        }
        session.user = Some(name).filter(|name| !name.is_empty()).map(Box::from);
        let method =
            self.profiles.get(usize::from(session.profile.0)).map_or(AaaMethod::Local, |state| state.profile.aaa);
        let verdict = match method {
            AaaMethod::Local => self.local(&request.credentials),
            AaaMethod::LocalThenRemote => match self.local(&request.credentials) {
                AaaVerdict::Reject { failure: AuthFailure::UnknownUser, .. } => {
                    return self.ask_owner(now, session, request, out);
                }
                verdict => verdict,
            },
            AaaMethod::RemoteThenLocal => {
                session.pending = Some(Box::new(request.clone()));
                return self.ask_owner(now, session, request, out);
            }
            AaaMethod::Remote => return self.ask_owner(now, session, request, out),
        };
        self.verdict(now, session, verdict, more, out);
    }

    fn local(&self, credentials: &Credentials) -> AaaVerdict {
        match self.users.check(credentials) {
            Ok(authorization) => AaaVerdict::Accept(Box::new(authorization)),
            Err(failure) => failure.into(),
        }
    }

    fn ask_owner(&mut self, now: Instant, session: &mut Session, credentials: AuthRequest, out: &mut Vec<Action>) {
        session.aaa_deadline = now.checked_add(self.limits.aaa_timeout);
        out.push(Action::Authenticate(Box::new(AaaRequest {
            request: RequestId { session: session.key, transaction: credentials.transaction },
            line: session.line,
            session_id: session.session_id,
            local_mac: session.local_mac,
            peer_mru: session.peer_mru,
            access_line: session.access_line.clone(),
            credentials,
        })));
    }

    /// The owner's answer to [`Action::Authenticate`].
    pub(crate) fn aaa_result(&mut self, now: Instant, request: RequestId, verdict: AaaVerdict, out: &mut Vec<Action>) {
        let Some(Entry::Live(session)) = self.entries.get(request.session) else { return };
        // An answer to an earlier request, or a second one, is not of interest any more.
        if session.aaa_deadline.is_none() || session.transaction != Some(request.transaction) {
            return;
        }
        if let Some(session) = self.take_live(request.session) {
            self.decide(now, session, verdict, out);
        }
    }

    /// The owner has not answered [`Action::Authenticate`] in time.
    pub(crate) fn aaa_timeout(&mut self, now: Instant, session: Box<Session>, out: &mut Vec<Action>) {
        self.decide(now, session, AuthFailure::Unreachable.into(), out);
    }

    fn decide(&mut self, now: Instant, mut session: Box<Session>, verdict: AaaVerdict, out: &mut Vec<Action>) {
        let mut first = Vec::new();
        self.verdict(now, &mut session, verdict, &mut first, out);
        self.work(now, session, out, |_, actions| actions.append(&mut first));
    }

    fn verdict(
        &mut self,
        now: Instant,
        session: &mut Session,
        verdict: AaaVerdict,
        more: &mut Vec<PppAction>,
        out: &mut Vec<Action>,
    ) {
        session.aaa_deadline = None;
        let verdict = match (session.pending.take(), verdict) {
            (Some(request), AaaVerdict::Reject { failure: AuthFailure::Unreachable, .. }) => {
                self.local(&request.credentials)
            }
            (_, verdict) => verdict,
        };
        match verdict {
            AaaVerdict::Accept(authorization) => match self.duplicates(now, session, out) {
                Ok(()) => self.authorize(now, session, authorization, more, out),
                Err(failure) => self.reject(now, session, failure, Vec::new(), more, out),
            },
            AaaVerdict::Reject { failure, message } => self.reject(now, session, failure, message, more, out),
        }
    }

    fn reject(
        &mut self,
        now: Instant,
        session: &mut Session,
        failure: AuthFailure,
        message: Vec<u8>,
        more: &mut Vec<PppAction>,
        out: &mut Vec<Action>,
    ) {
        if let Some(counter) = self.statistics.auth_refused.get_mut(failure as usize) {
            *counter = counter.saturating_add(1);
        }
        self.event(now, session, EventKind::AuthFailed { failure }, out);
        if let Some(transaction) = session.transaction.take() {
            let message = if message.is_empty() { failure.message().as_bytes().to_vec() } else { message };
            let verdict = AuthVerdict::Reject { message };
            session.ppp.auth_result(now, transaction, verdict, more);
        }
    }

    /// Other sessions of the same user, as the profile wants it.
    fn duplicates(&mut self, now: Instant, session: &Session, out: &mut Vec<Action>) -> Result<(), AuthFailure> {
        let policy = self
            .profiles
            .get(usize::from(session.profile.0))
            .map_or(DuplicateUser::Allow, |state| state.profile.duplicate_user);
        let Some(user) = session.user.as_deref().filter(|_| policy != DuplicateUser::Allow) else { return Ok(()) };
        // The session itself is not in the slab while it is worked on.
        let others: Vec<_> = self
            .by_user
            .candidates(user)
            .filter_map(|slot| self.live_at(slot))
            .filter(|other| other.user.as_deref() == Some(user) && !other.ppp.is_ended())
            .map(|other| other.key)
            .collect();
        if policy == DuplicateUser::Deny && !others.is_empty() {
            return Err(AuthFailure::DuplicateUser);
        }
        for other in others {
            if let Some(other) = self.take_live(other) {
                self.finish(now, other, EndCause::Replaced, true, out);
            }
        }
        Ok(())
    }

    /// Gives an accepted client what it gets, or lets it wait for it.
    fn authorize(
        &mut self,
        now: Instant,
        session: &mut Session,
        authorization: Box<Authorization>,
        more: &mut Vec<PppAction>,
        out: &mut Vec<Action>,
    ) {
        match self.address_for(now, session, &authorization, out) {
            Ok(address) => {
                session.address = address;
                self.accept(now, session, &authorization, more, out);
            }
            Err(NoAddress::Wait) if self.waiters.len() < WAITERS_MAX => {
                session.waiting = Some(authorization);
                self.waiters.push_back(session.key);
            }
            Err(NoAddress::Refused(failure)) => self.reject(now, session, failure, Vec::new(), more, out),
            Err(NoAddress::Wait | NoAddress::Exhausted) => {
                self.statistics.pool_exhausted = self.statistics.pool_exhausted.saturating_add(1);
                self.event(now, session, EventKind::PoolExhausted, out);
                self.accept(now, session, &authorization, more, out);
                let ipv6 = self.profiles.get(usize::from(session.profile.0)).is_some_and(|state| state.ppp.ipv6);
                if !ipv6 {
                    // The password was right, so it is not CHAP that says no; but there is nothing to stay for.
                    session.ppp.close(now, EndCause::NasError, more);
                }
            }
        }
    }

    fn accept(
        &mut self,
        now: Instant,
        session: &mut Session,
        authorization: &Authorization,
        more: &mut Vec<PppAction>,
        out: &mut Vec<Action>,
    ) {
        let Some(transaction) = session.transaction.take() else { return };
        self.statistics.auth_accepted = self.statistics.auth_accepted.saturating_add(1);
        if !session.authenticated {
            session.authenticated = true;
            if let Some(count) = self.half_open.get_mut(usize::from(session.line.port.0)) {
                *count = count.saturating_sub(1);
            }
            if let Some(user) = session.user.as_deref() {
                self.by_user.insert(user, session.key.slot);
                session.indexed_user = true;
            }
            session.ends_at = authorization.session_timeout.and_then(|timeout| now.checked_add(timeout));
            session.authenticated_at = Some(now);
        }
        session.grant = Grant::new(authorization);
        if let Some(grant) = session.grant.as_mut() {
            grant.watch(now, authorization.idle_timeout);
        }
        if let Some(held) = session.address.filter(|held| held.fixed) {
            self.fixed.insert((held.vrf, held.address), session.key.slot);
        }
        self.event(now, session, EventKind::Authenticated, out);
        let state = self.profiles.get(usize::from(session.profile.0));
        let ipv4 = session.address.zip(state.and_then(|state| state.profile.ipv4.as_ref()));
        let verdict = AuthVerdict::Accept {
            ipv4: ipv4.map(|(held, profile)| Ipv4Offer {
                local: profile.gateway,
                peer: held.address,
                dns: authorization.ipv4_dns.unwrap_or(profile.dns),
                nbns: authorization.ipv4_nbns.unwrap_or(profile.nbns),
            }),
            ipv6: state
                .filter(|state| state.ppp.ipv6)
                .map(|_| Ipv6Offer { local_id: interface_id(session.local_mac), peer_id: None }),
            message: authorization.message.clone(),
        };
        session.ppp.auth_result(now, transaction, verdict, more);
    }

    /// Changes a session while it is up: all of it, or nothing. False: there is no such session that was let in.
    pub fn change(&mut self, now: Instant, key: SubscriberKey, change: &Change, out: &mut Vec<Action>) -> bool {
        let Some(Entry::Live(session)) = self.entries.get(key) else { return false };
        let Some(since) = session.authenticated_at.filter(|_| session.authenticated) else { return false };
        let Some(mut session) = self.take_live(key) else { return false };
        if let Some(timeout) = change.session_timeout {
            // Counted from the beginning; one that has passed already ends the session at once.
            session.ends_at = since.checked_add(timeout);
        }
        let grant = session.grant.get_or_insert_default();
        if change.idle_timeout.is_some() {
            grant.watch(now, change.idle_timeout);
        }
        grant.rate_up = change.rate_up.or(grant.rate_up);
        grant.rate_down = change.rate_down.or(grant.rate_down);
        out.push(Action::Update { key, spec: self.spec(&session) });
        self.work(now, session, out, |_, _| {});
        true
    }

    /// An address has come free: sessions that wait get one, in the order in which they came.
    pub(crate) fn serve_waiters(&mut self, now: Instant, out: &mut Vec<Action>) {
        for _ in 0..self.waiters.len() {
            let Some(key) = self.waiters.pop_front() else { return };
            let Some(mut session) = self.take_live(key) else { continue };
            let Some(authorization) = session.waiting.take() else {
                self.entries.put(key.slot, Entry::Live(session));
                continue;
            };
            let mut first = Vec::new();
            self.authorize(now, &mut session, authorization, &mut first, out);
            self.work(now, session, out, |_, actions| actions.append(&mut first));
        }
    }

    fn address_for(
        &mut self,
        now: Instant,
        session: &Session,
        authorization: &Authorization,
        out: &mut Vec<Action>,
    ) -> Result<Option<HeldAddress>, NoAddress> {
        let Some(state) = self.profiles.get(usize::from(session.profile.0)) else { return Ok(None) };
        let vrf = state.profile.vrf;
        let Some(ipv4) = state.profile.ipv4.as_ref() else { return Ok(None) };
        match (session.address, authorization.ipv4) {
            // A link that negotiates anew keeps its address.
            (Some(held), None) if !held.fixed => return Ok(Some(held)),
            (Some(held), Some(address)) if held.address == address => return Ok(Some(held)),
            // What AAA gives has changed since: the address can only change with a new session.
            (Some(_), _) => return Err(NoAddress::Refused(AuthFailure::AddressUnavailable)),
            (None, Some(address)) => return self.fixed_address(now, session, vrf, address, out).map(Some),
            (None, None) => {}
        }
        let sticky = state.profile.sticky_addresses.then(|| sticky_key(session));
        let named = authorization.ipv4_pool.as_ref().map(core::slice::from_ref);
        for index in named.unwrap_or(&ipv4.pools) {
            if let Some(PoolOf::Ipv4(pool)) = self.pools.get_mut(usize::from(index.0)).map(|state| &mut state.kind)
                && let Ok(address) = pool.allocate(sticky)
            {
                let offset = pool.offset(address).unwrap_or_default();
                return Ok(Some(HeldAddress { vrf, address, pool: Some((*index, offset)), fixed: false }));
            }
        }
        // Some addresses are held only until their last user's removal is complete: a matter of milliseconds. No more
        // sessions wait than addresses come.
        let coming = usize::try_from(self.leaving_addresses).unwrap_or(usize::MAX);
        Err(if self.waiters.len() < coming { NoAddress::Wait } else { NoAddress::Exhausted })
    }

    /// An address that AAA named for this user.
    fn fixed_address(
        &mut self,
        now: Instant,
        session: &Session,
        vrf: VrfId,
        address: Ipv4Addr,
        out: &mut Vec<Action>,
    ) -> Result<HeldAddress, NoAddress> {
        if let Some(slot) = self.fixed.get(&(vrf, address)).copied() {
            let holder = self.live_at(slot);
            if let Some(holder) = holder {
                if holder.user != session.user {
                    return Err(NoAddress::Refused(AuthFailure::AddressUnavailable));
                }
                // The same user from another line: an address has one owner, and that is the newer session.
                let key = holder.key;
                if let Some(holder) = self.take_live(key) {
                    self.finish(now, holder, EndCause::Replaced, true, out);
                }
            }
            return Err(NoAddress::Wait);
        }
        for (index, state) in (0u16..).zip(&mut self.pools) {
            let PoolOf::Ipv4(pool) = &mut state.kind else { continue };
            let Some(offset) = pool.offset(address).filter(|_| state.vrf == vrf) else { continue };
            return match pool.take(address) {
                Ok(()) => Ok(HeldAddress { vrf, address, pool: Some((PoolIndex(index), offset)), fixed: true }),
                Err(TakeError::Held | TakeError::Excluded | TakeError::NotInPool) => {
                    Err(NoAddress::Refused(AuthFailure::AddressUnavailable))
                }
            };
        }
        Ok(HeldAddress { vrf, address, pool: None, fixed: true })
    }
}

/// The interface identifier of a MAC address (RFC 4291 appendix A: modified EUI-64).
fn interface_id(mac: bng_wire::MacAddr) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    let id = u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, f]);
    id.max(1)
}

/// What a subscriber's addresses and prefixes go by, so that they are the same ones tomorrow.
pub(crate) fn sticky_key(session: &Session) -> u64 {
    match session.user.as_deref() {
        Some(user) => stable_hash(user),
        None => stable_hash(&session.line.peer_mac.0),
    }
}

/// A hash that stays the same over restarts (FNV-1a, 64 bits): a user gets the same address again tomorrow. What a
/// client can reach by choosing its name is no more than the address of its choice.
fn stable_hash(octets: &[u8]) -> u64 {
    octets.iter().fold(0xcbf2_9ce4_8422_2325, |hash, octet| (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interface_identifiers_are_modified_eui_64() {
        assert_eq!(interface_id(bng_wire::MacAddr([2, 0, 0, 0, 0, 0xfe])), 0x0000_00ff_fe00_00fe);
        assert_ne!(interface_id(bng_wire::MacAddr([2, 0, 0, 0, 0, 0])), 0);
    }

    #[test]
    fn the_stable_hash_is_fnv_1a() {
        assert_eq!(stable_hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(stable_hash(b"a"), 0xaf63_dc4c_8601_ec8c);
    }
}
