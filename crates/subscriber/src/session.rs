//! What is kept of one session.

use crate::action::{Authorization, SubscriberKey};
use crate::config::PoolIndex;
use crate::event::EventKind;
use crate::view::{SessionState, SessionView};
use bng_discovery::{ProfileIndex, RequestFingerprint};
use bng_ipv6::Ipv6Session;
use bng_ppp::{AuthMethod, AuthRequest, Phase, Ppp};
use bng_session::{Rate, SessionIndex};
use bng_wire::pppoe::AccessLine;
use bng_wire::{Line, MacAddr, SessionId, VrfId};
use core::net::Ipv4Addr;
use std::time::{Duration, Instant};

/// How many of the last events are kept for the operator.
const RECENT: usize = 6;
/// How long after an Echo-Request a client counts as silent: longer than any line takes there and back.
const ECHO_PATIENCE: Duration = Duration::from_secs(2);

/// An address that a session holds, and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldAddress {
    pub(crate) vrf: VrfId,
    pub(crate) address: Ipv4Addr,
    /// The pool and the place in it; `None` for an address outside all pools, which has a route of its own.
    pub(crate) pool: Option<(PoolIndex, u32)>,
    /// Named for this user by AAA.
    pub(crate) fixed: bool,
}

/// A prefix that a session holds: 8 octets, since the pool knows the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldPrefix {
    pub(crate) pool: PoolIndex,
    /// Whether DHCPv6 has given it to the client.
    pub(crate) leased: bool,
    /// Whether the forwarding plane leads it to the session.
    pub(crate) mapped: bool,
    /// The place in the pool.
    pub(crate) offset: u32,
}

/// What is in a slot.
#[derive(Debug)]
pub(crate) enum Entry {
    /// A session. Boxed: a slot is small, and the memory of a session goes when it ends.
    Live(Box<Session>),
    /// One that has ended and waits for the forwarding plane to let go of it.
    Leaving(Leaving),
}

/// What is left of a session between its end and its removal.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub(crate) key: SubscriberKey,
    pub(crate) line: Line,
    pub(crate) session_id: SessionId,
    pub(crate) profile: ProfileIndex,
    pub(crate) index: Option<SessionIndex>,
    pub(crate) user: Option<Box<[u8]>>,
    pub(crate) address: Option<HeldAddress>,
    pub(crate) prefixes: Box<[HeldPrefix]>,
    pub(crate) created: Instant,
    pub(crate) was_up: bool,
}

/// A session from its PADR to its end.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) key: SubscriberKey,
    pub(crate) line: Line,
    pub(crate) local_mac: MacAddr,
    pub(crate) session_id: SessionId,
    pub(crate) fingerprint: RequestFingerprint,
    pub(crate) host_uniq: Option<Box<[u8]>>,
    pub(crate) access_line: Option<AccessLine>,
    pub(crate) profile: ProfileIndex,
    pub(crate) index: Option<SessionIndex>,
    pub(crate) ppp: Ppp,
    pub(crate) created: Instant,
    pub(crate) up_since: Option<Instant>,
    /// When the client was first let in.
    pub(crate) authenticated_at: Option<Instant>,
    /// Session-Timeout.
    pub(crate) ends_at: Option<Instant>,
    /// When a credential check by the owner has taken too long.
    pub(crate) aaa_deadline: Option<Instant>,
    /// The credential check that is outstanding.
    pub(crate) transaction: Option<u32>,
    /// What the client sent, where the local list is to be asked if the owner cannot say.
    pub(crate) pending: Option<Box<AuthRequest>>,
    /// Accepted, and waiting for an address that another session is letting go of.
    pub(crate) waiting: Option<Box<Authorization>>,
    /// What AAA gave beyond the profile, where it gave something that has to be kept.
    pub(crate) grant: Option<Box<Grant>>,
    pub(crate) user: Option<Box<[u8]>>,
    pub(crate) auth_method: Option<AuthMethod>,
    pub(crate) address: Option<HeldAddress>,
    /// Whether the forwarding plane leads the address here.
    pub(crate) mapped: bool,
    /// IPv6 on the link, while IPV6CP has agreed.
    pub(crate) ipv6: Option<Box<Ipv6Session>>,
    /// The line's own prefix.
    pub(crate) line_prefix: Option<HeldPrefix>,
    /// Delegated prefixes, leased or kept for the client.
    pub(crate) delegated: Vec<HeldPrefix>,
    /// Whether the session is in the index of users.
    pub(crate) indexed_user: bool,
    pub(crate) authenticated: bool,
    pub(crate) ipv4_up: bool,
    pub(crate) ipv6_up: bool,
    /// A PADI has come over this line since LCP was first Opened: the next PADR is a redial even if it looks the same.
    pub(crate) padi_seen: bool,
    pub(crate) link_was_up: bool,
    pub(crate) peer_mru: u16,
    pub(crate) local_mru: u16,
    /// Our LCP magic number while LCP is Opened.
    pub(crate) echo_magic: Option<u32>,
    /// Our interface identifier while IPV6CP has agreed on it.
    pub(crate) gateway_interface_id: Option<u64>,
    /// Upstream packets when the echo timer last looked.
    pub(crate) upstream_seen: u64,
    /// When the first of the Echo-Requests was sent that the client has not answered, if it has not.
    pub(crate) echo_asked_at: Option<Instant>,
    recent: [(u32, u8); RECENT],
    recent_len: u8,
}

/// What AAA gave a session beyond its profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Grant {
    pub(crate) rate_up: Option<Rate>,
    pub(crate) rate_down: Option<Rate>,
    pub(crate) idle_timeout: Option<Duration>,
    /// When the upstream counter was last seen to have moved, what it was, and when to look again.
    active_at: Option<Instant>,
    active_seen: u64,
    idle_look_at: Option<Instant>,
}

impl Grant {
    /// What there is to keep of an authorisation; `None` for nothing.
    pub(crate) fn new(authorization: &Authorization) -> Option<Box<Self>> {
        let grant = Self {
            rate_up: authorization.rate_up,
            rate_down: authorization.rate_down,
            idle_timeout: authorization.idle_timeout,
            ..Self::default()
        };
        (grant != Self::default()).then(|| Box::new(grant))
    }

    /// From now on the session is idle after this time.
    pub(crate) fn watch(&mut self, now: Instant, idle_timeout: Option<Duration>) {
        self.idle_timeout = idle_timeout;
        self.active_at = Some(now);
        self.idle_look_at = idle_timeout.and_then(|timeout| now.checked_add(timeout));
    }
}

/// What a session begins with.
#[derive(Debug)]
pub(crate) struct NewSession {
    pub(crate) line: Line,
    pub(crate) local_mac: MacAddr,
    pub(crate) session_id: SessionId,
    pub(crate) fingerprint: RequestFingerprint,
    pub(crate) host_uniq: Option<Box<[u8]>>,
    pub(crate) access_line: Option<AccessLine>,
    pub(crate) profile: ProfileIndex,
    pub(crate) ppp: Ppp,
    pub(crate) mru_max: u16,
}

impl Session {
    pub(crate) fn new(key: SubscriberKey, new: NewSession, now: Instant) -> Self {
        Self {
            key,
            line: new.line,
            local_mac: new.local_mac,
            session_id: new.session_id,
            fingerprint: new.fingerprint,
            host_uniq: new.host_uniq,
            access_line: new.access_line,
            profile: new.profile,
            index: None,
            ppp: new.ppp,
            created: now,
            up_since: None,
            authenticated_at: None,
            ends_at: None,
            aaa_deadline: None,
            transaction: None,
            pending: None,
            waiting: None,
            grant: None,
            user: None,
            auth_method: None,
            address: None,
            mapped: false,
            ipv6: None,
            line_prefix: None,
            delegated: Vec::new(),
            indexed_user: false,
            authenticated: false,
            ipv4_up: false,
            ipv6_up: false,
            padi_seen: false,
            link_was_up: false,
            peer_mru: new.mru_max.min(bng_wire::pppoe::MRU_DEFAULT),
            local_mru: new.mru_max.min(bng_wire::pppoe::MRU_DEFAULT),
            echo_magic: None,
            gateway_interface_id: None,
            upstream_seen: 0,
            echo_asked_at: None,
            recent: [(0, 0); RECENT],
            recent_len: 0,
        }
    }

    pub(crate) fn circuit_id(&self) -> Option<&[u8]> {
        self.access_line.as_ref().and_then(AccessLine::circuit_id)
    }

    pub(crate) fn remote_id(&self) -> Option<&[u8]> {
        self.access_line.as_ref().and_then(AccessLine::remote_id)
    }

    /// True where the client has had the time to answer an echo and has not.
    pub(crate) fn is_silent(&self, now: Instant) -> bool {
        self.ppp.unanswered_echoes() > 0
            && self.echo_asked_at.is_some_and(|since| now.saturating_duration_since(since) >= ECHO_PATIENCE)
    }

    pub(crate) fn state(&self) -> SessionState {
        match self.ppp.phase() {
            Phase::Terminate => SessionState::Closing,
            _ if self.ipv4_up || self.ipv6_up => SessionState::Up,
            Phase::Network => SessionState::Authenticated,
            Phase::Authenticate => SessionState::Authenticating,
            Phase::Dead | Phase::Establish => SessionState::Establishing,
        }
    }

    /// The nearest time at which something is to be done.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let idle = self.grant.as_ref().and_then(|grant| grant.idle_look_at);
        let ipv6 = self.ipv6.as_ref().and_then(|ipv6| ipv6.poll_timeout());
        [self.ppp.poll_timeout(), ipv6, self.ends_at, self.aaa_deadline, idle].into_iter().flatten().min()
    }

    /// True where Idle-Timeout has passed without a packet from the client; `upstream` is their number so far.
    pub(crate) fn is_idle(&mut self, now: Instant, upstream: u64) -> bool {
        let Some(grant) = self.grant.as_mut() else { return false };
        let Some(timeout) = grant.idle_timeout else { return false };
        if grant.active_seen != upstream {
            grant.active_seen = upstream;
            grant.active_at = Some(now);
        }
        let ends = grant.active_at.and_then(|at| at.checked_add(timeout));
        if ends.is_some_and(|ends| ends <= now) {
            grant.idle_look_at = None;
            return true;
        }
        grant.idle_look_at = ends;
        false
    }

    /// Remembers an event for the operator.
    pub(crate) fn remember(&mut self, now: Instant, what: &EventKind) {
        let ms = u32::try_from(now.saturating_duration_since(self.created).as_millis()).unwrap_or(u32::MAX);
        if usize::from(self.recent_len) == RECENT {
            self.recent.rotate_left(1);
        } else {
            self.recent_len = self.recent_len.saturating_add(1);
        }
        if let Some(last) = self.recent.get_mut(usize::from(self.recent_len).saturating_sub(1)) {
            *last = (ms, what.code());
        }
    }

    pub(crate) fn view(&self, now: Instant) -> SessionView {
        SessionView {
            key: self.key,
            index: self.index,
            session_id: self.session_id,
            port: self.line.port,
            vlans: self.line.vlans,
            peer_mac: self.line.peer_mac,
            user: self.user.clone(),
            profile: self.profile,
            state: self.state(),
            auth_method: self.auth_method,
            ipv4: self.address.map(|held| held.address),
            ipv4_up: self.ipv4_up,
            ipv6_up: self.ipv6_up,
            ipv6_prefix: None,
            delegated_prefix: None,
            peer_mru: self.peer_mru,
            local_mru: self.local_mru,
            circuit_id: self.circuit_id().map(Box::from),
            remote_id: self.remote_id().map(Box::from),
            access_line: self.access_line.clone(),
            local_mac: self.local_mac,
            age: now.saturating_duration_since(self.created),
            uptime: self.up_since.map(|since| now.saturating_duration_since(since)),
            events: self
                .recent
                .iter()
                .take(usize::from(self.recent_len))
                .map(|(ms, code)| (Duration::from_millis(u64::from(*ms)), EventKind::label_of(*code)))
                .collect(),
            ends_at: self.ends_at,
        }
    }
}

impl Leaving {
    pub(crate) fn view(&self, now: Instant) -> SessionView {
        SessionView {
            key: self.key,
            index: self.index,
            session_id: self.session_id,
            port: self.line.port,
            vlans: self.line.vlans,
            peer_mac: self.line.peer_mac,
            user: self.user.clone(),
            profile: self.profile,
            state: SessionState::Removing,
            auth_method: None,
            ipv4: self.address.map(|held| held.address),
            ipv4_up: false,
            ipv6_up: false,
            ipv6_prefix: None,
            delegated_prefix: None,
            peer_mru: 0,
            local_mru: 0,
            circuit_id: None,
            remote_id: None,
            access_line: None,
            local_mac: MacAddr::ZERO,
            age: now.saturating_duration_since(self.created),
            uptime: None,
            events: Vec::new(),
            ends_at: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        println!("session {} of which ppp {}, entry {}", size_of::<Session>(), size_of::<Ppp>(), size_of::<Entry>());
        assert!(size_of::<Session>() - size_of::<Ppp>() <= 384);
        assert!(size_of::<Entry>() <= 136);
    }
}
