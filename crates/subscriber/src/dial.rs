//! Frames from the access side: discovery, and which session a PPP packet is for.

use crate::action::{Action, SubscriberKey};
use crate::config::WhenFull;
use crate::event::EventKind;
use crate::frame::AccessFrame;
use crate::ipv6::IPV6;
use crate::session::{Entry, NewSession, Session};
use crate::stats::Drop;
use crate::subscribers::Subscribers;
use bng_discovery::{DiscoveryOutcome, ErrorTag, SessionRequest};
use bng_ppp::{EndCause, Ppp};
use bng_session::SessionKey;
use bng_wire::pppoe::{Code, Packet, TagType};
use bng_wire::{Line, MacAddr, PortIndex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// PPP protocol number of LCP, and its codes that end a link (RFC 1661 section 5).
const LCP: u16 = 0xc021;
const TERMINATE_REQUEST: u8 = 5;
const TERMINATE_ACK: u8 = 6;

impl Subscribers {
    /// A frame from an access port. The reason comes back where it was dropped; discovery's own reasons are counted by
    /// the access concentrator.
    pub(crate) fn frame(
        &mut self,
        now: Instant,
        port: PortIndex,
        bytes: &[u8],
        out: &mut Vec<Action>,
    ) -> Result<(), Drop> {
        let local_mac = self.local_macs.get(usize::from(port.0)).copied().flatten().ok_or(Drop::NotAccessPort)?;
        let frame = AccessFrame::parse(port, bytes)?;
        if frame.line.peer_mac == local_mac {
            // A loop in the network, or a forgery: an answer would come back to us.
            return Err(Drop::NotForUs);
        }
        if frame.discovery { self.discovery(now, &frame, out) } else { self.session_stage(now, &frame, local_mac, out) }
    }

    fn session_stage(
        &mut self,
        now: Instant,
        frame: &AccessFrame<'_>,
        local_mac: MacAddr,
        out: &mut Vec<Action>,
    ) -> Result<(), Drop> {
        if frame.destination != local_mac {
            return Err(Drop::NotForUs);
        }
        let (id, protocol, payload) = frame.session()?;
        let line = &frame.line;
        let Some(slot) = self.slot_of_id(line.port, line.vlans.outer_vid(), id) else {
            // A peer that is terminating needs not be told that it is over.
            let farewell = protocol == LCP && matches!(payload.first(), Some(&(TERMINATE_REQUEST | TERMINATE_ACK)));
            if id.is_usable() && self.restore_complete && !farewell && self.padt_allowed(now) {
                let frame = self.ac.padt(local_mac, line, id);
                out.push(Action::Transmit { port: line.port, frame });
                self.statistics.padt_out = self.statistics.padt_out.saturating_add(1);
                self.statistics.padt_unknown_out = self.statistics.padt_unknown_out.saturating_add(1);
            }
            return Err(Drop::UnknownSession);
        };
        // RFC 2516 section 4: the session is named by the id and both addresses; with tags, by these too.
        let owner = |of: &Line| SessionKey::new(of.peer_mac, of.vlans) == SessionKey::new(line.peer_mac, line.vlans);
        match self.entries.at(slot) {
            Some(Entry::Live(session)) if owner(&session.line) => {}
            Some(Entry::Leaving(leaving)) if owner(&leaving.line) => return Err(Drop::Removing),
            _ => return Err(Drop::NotOwner),
        }
        self.statistics.ppp_in = self.statistics.ppp_in.saturating_add(1);
        let Some(Entry::Live(mut session)) = self.entries.take(slot) else { return Err(Drop::Removing) };
        if protocol == IPV6 && session.ipv6.is_some() {
            self.ipv6_packet(now, &mut session, payload, out);
            self.work(now, session, out, |_, _| ());
            return Ok(());
        }
        let mut discarded = None;
        self.work(now, session, out, |session, actions| {
            discarded = session.ppp.handle(now, protocol, payload, actions).err();
        });
        if let Some(counter) = discarded.and_then(|reason| self.statistics.ppp_discarded.get_mut(reason as usize)) {
            *counter = counter.saturating_add(1);
        }
        Ok(())
    }

    /// Takes from the budget of PADTs for unknown sessions, which fills up within a second.
    fn padt_allowed(&mut self, now: Instant) -> bool {
        let (left, since) = &mut self.padt_budget;
        let rate = self.limits.unknown_padt_per_s;
        let elapsed = now.saturating_duration_since(*since).min(Duration::from_secs(1));
        let earned = elapsed.as_micros().saturating_mul(u128::from(rate)) / 1_000_000;
        if earned > 0 {
            *left = left.saturating_add(u32::try_from(earned).unwrap_or(u32::MAX)).min(rate);
            *since = now;
        }
        match left.checked_sub(1) {
            Some(rest) => {
                *left = rest;
                true
            }
            None => false,
        }
    }

    fn discovery(&mut self, now: Instant, frame: &AccessFrame<'_>, out: &mut Vec<Action>) -> Result<(), Drop> {
        let code = frame.pppoe.get(1).copied().map(Code);
        let counter = match code {
            Some(Code::PADI) => Some(&mut self.statistics.padi_in),
            Some(Code::PADR) => Some(&mut self.statistics.padr_in),
            Some(Code::PADT) => Some(&mut self.statistics.padt_in),
            _ => None,
        };
        if let Some(counter) = counter {
            *counter = counter.saturating_add(1);
        }
        self.tidy_half_open(frame.line.port);
        if code == Some(Code::PADI) {
            self.may_offer(now, frame)?;
        }
        match self.ac.handle(now, frame.line, frame.destination, frame.pppoe) {
            DiscoveryOutcome::Reply(reply) => {
                let counter = if code == Some(Code::PADI) {
                    self.padi_served(frame.line);
                    &mut self.statistics.pado_out
                } else {
                    &mut self.statistics.pads_error_out
                };
                *counter = counter.saturating_add(1);
                out.push(Action::Transmit { port: frame.line.port, frame: reply });
            }
            DiscoveryOutcome::Held => self.padi_served(frame.line),
            DiscoveryOutcome::Request(request) => return self.request(now, *request, out),
            DiscoveryOutcome::Terminate { line, session_id } => {
                let slot = self.slot_of_id(line.port, line.vlans.outer_vid(), session_id);
                let session = slot.and_then(|slot| self.live_at(slot));
                // RFC 2516 section 5.5: the addresses in a PADT are those of the session.
                let key = session.filter(|session| session.line.key() == line.key()).map(|session| session.key);
                let session = key.and_then(|key| self.take_live(key)).ok_or(Drop::PadtNotOwner)?;
                self.finish(now, session, EndCause::PadtReceived, true, out);
            }
            // Counted by the access concentrator.
            DiscoveryOutcome::Drop(_) => {}
        }
        Ok(())
    }

    /// A client that sends a PADI over a line whose session was up has lost it.
    fn padi_served(&mut self, line: Line) {
        let key = line.key();
        for slot in self.by_line.candidates(key) {
            if let Some(Entry::Live(session)) = self.entries.at_mut(slot)
                && session.line.key() == key
            {
                session.padi_seen |= session.link_was_up;
            }
        }
    }

    /// Whether a PADI may be answered. RFC 2516 section 5.2: a concentrator that cannot serve must not offer.
    fn may_offer(&self, now: Instant, frame: &AccessFrame<'_>) -> Result<(), Drop> {
        let line = &frame.line;
        if self.draining {
            return Err(Drop::Draining);
        }
        // In a flood of PADIs nothing may be allocated: most come from lines without a session.
        let key = line.key();
        let first = self.by_line.candidates(key).filter_map(|slot| self.live_at(slot)).find(|s| s.line.key() == key);
        let mut replaces = first.is_some();
        let allowed = first.map_or(1, |session| self.sessions_per_mac(session));
        if allowed > 1 {
            let sessions = self.of_line(key);
            // What the PADR will find, as far as a PADI tells: the circuit id may still make two clients of one line.
            replaces = false;
            if sessions.len() >= allowed {
                let host_uniq = Packet::parse(frame.pppoe)
                    .ok()
                    .and_then(|packet| packet.tags().flatten().find(|tag| tag.kind == TagType::HOST_UNIQ))
                    .map(|tag| tag.value);
                replaces = Self::replaceable(now, &sessions, allowed, host_uniq).is_some();
                if !replaces {
                    return Err(Drop::SessionsPerMac);
                }
            }
        }
        self.within_limits(line, replaces)
    }

    fn sessions_per_mac(&self, session: &Session) -> usize {
        let profile = self.profiles.get(usize::from(session.profile.0));
        profile.map_or(1, |state| usize::from(state.profile.pppoe.sessions_per_mac.max(1)))
    }

    /// Which of a line's sessions, all of them oldest first, gives way to a new one.
    fn replaceable<'a>(
        now: Instant,
        sessions: &[&'a Session],
        allowed: usize,
        host_uniq: Option<&[u8]>,
    ) -> Option<&'a Session> {
        if allowed <= 1 {
            return sessions.first().copied();
        }
        let same_host = |session: &&&Session| host_uniq.is_some() && session.host_uniq.as_deref() == host_uniq;
        let silent = |session: &&&Session| session.is_silent(now);
        sessions.iter().find(same_host).or_else(|| sessions.iter().find(silent)).copied()
    }

    fn within_limits(&self, line: &Line, replaces: bool) -> Result<(), Drop> {
        let replaced = u32::from(replaces);
        let limits = &self.limits;
        if self.live.saturating_sub(replaced) >= limits.sessions_max || self.entries.len() >= limits.table_size() {
            return Err(Drop::SessionsMax);
        }
        let vlan = self.per_vlan.get(&(line.port, line.vlans.outer_vid())).copied().unwrap_or(0);
        if limits.sessions_per_vlan_max != 0 && vlan.saturating_sub(replaced) >= limits.sessions_per_vlan_max {
            return Err(Drop::SessionsPerVlan);
        }
        let half_open = self.half_open.get(usize::from(line.port.0)).copied().unwrap_or(0);
        if self.counts_line(line) {
            let count = self.per_line.get(&line_of(line)).copied().unwrap_or(0);
            if count.saturating_sub(replaced) >= limits.sessions_per_line_max {
                return Err(Drop::SessionsPerLine);
            }
        }
        let full =
            limits.half_open_per_port_max != 0 && half_open.saturating_sub(replaced) >= limits.half_open_per_port_max;
        if full && self.oldest_silent(line.port).is_none() {
            return Err(Drop::HalfOpen);
        }
        Ok(())
    }

    /// True where the sessions of this line, whatever their MAC addresses, have a limit.
    pub(crate) fn counts_line(&self, line: &Line) -> bool {
        self.limits.sessions_per_line_max != 0 && line.vlans.inner_vid() != 0
    }

    /// The oldest session of a port whose client has not got as far as an open link. A client that means it is there
    /// within a few round trips; one whose address is forged never is.
    fn oldest_silent(&self, port: PortIndex) -> Option<SubscriberKey> {
        self.half_open_order.get(usize::from(port.0))?.front().copied().filter(|key| self.is_silent_half_open(*key))
    }

    fn is_silent_half_open(&self, key: SubscriberKey) -> bool {
        match self.entries.get(key) {
            Some(Entry::Live(session)) => !session.authenticated && !session.link_was_up,
            _ => false,
        }
    }

    /// Takes those out of the front of a port's queue that cannot give way any more.
    fn tidy_half_open(&mut self, port: PortIndex) {
        let index = usize::from(port.0);
        while let Some(key) = self.half_open_order.get(index).and_then(|order| order.front()).copied()
            && !self.is_silent_half_open(key)
        {
            if let Some(order) = self.half_open_order.get_mut(index) {
                order.pop_front();
            }
        }
        // One that stays for long at the front must not keep those behind it that are through.
        let half_open = self.half_open.get(index).copied().unwrap_or(0) as usize;
        let length = self.half_open_order.get(index).map_or(0, VecDeque::len);
        if length > half_open.saturating_mul(2).saturating_add(1024)
            && let Some(mut order) = self.half_open_order.get_mut(index).map(core::mem::take)
        {
            order.retain(|key| self.is_silent_half_open(*key));
            if let Some(place) = self.half_open_order.get_mut(index) {
                *place = order;
            }
        }
    }

    /// Makes room for a new session on a port that has as many half-open ones as it may.
    fn make_room(&mut self, now: Instant, port: PortIndex, out: &mut Vec<Action>) {
        let max = self.limits.half_open_per_port_max;
        let half_open = self.half_open.get(usize::from(port.0)).copied().unwrap_or(0);
        if max == 0 || half_open < max {
            return;
        }
        self.tidy_half_open(port);
        if let Some(session) = self.oldest_silent(port).and_then(|key| self.take_live(key)) {
            self.statistics.gave_way = self.statistics.gave_way.saturating_add(1);
            self.finish(now, session, EndCause::NoAnswer, true, out);
        }
    }

    /// A PADR that passed every check of the discovery stage.
    fn request(&mut self, now: Instant, request: SessionRequest, out: &mut Vec<Action>) -> Result<(), Drop> {
        // A repeated PADR is known by its fingerprint, and gets the same session.
        let sessions: Vec<_> = self
            .of_line(request.line.key())
            .into_iter()
            // With a circuit id from the access node, another circuit id is another line.
            .filter(|session| session.circuit_id() == request.circuit_id())
            .collect();
        let repeated = sessions
            .iter()
            .find(|session| session.fingerprint == request.fingerprint && !(session.padi_seen && session.link_was_up));
        if let Some(session) = repeated {
            let id = session.session_id;
            if let Ok(frame) = self.ac.pads(&request, id) {
                out.push(Action::Transmit { port: request.line.port, frame });
                self.statistics.pads_out = self.statistics.pads_out.saturating_add(1);
                self.statistics.pads_repeated = self.statistics.pads_repeated.saturating_add(1);
            }
            return Ok(());
        }
        match self.admit(now, &sessions, &request) {
            Ok(replaced) => self.create(now, request, replaced, out),
            Err(reason) => {
                self.refuse(&request, out);
                Err(reason)
            }
        }
    }

    /// Whether a new session may be, and which one it replaces.
    fn admit(
        &self,
        now: Instant,
        sessions: &[&Session],
        request: &SessionRequest,
    ) -> Result<Option<SubscriberKey>, Drop> {
        if self.draining {
            return Err(Drop::Draining);
        }
        let profile = self.profiles.get(usize::from(request.profile.0)).ok_or(Drop::NoService)?;
        let allowed = usize::from(profile.profile.pppoe.sessions_per_mac.max(1));
        let mut replaced = None;
        if sessions.len() >= allowed {
            let session = Self::replaceable(now, sessions, allowed, request.host_uniq.as_deref());
            replaced = Some(session.ok_or(Drop::SessionsPerMac)?.key);
        }
        self.within_limits(&request.line, replaced.is_some())?;
        Ok(replaced)
    }

    fn refuse(&mut self, request: &SessionRequest, out: &mut Vec<Action>) {
        if self.limits.when_full == WhenFull::Error
            && let Ok(frame) = self.ac.pads_error(request, ErrorTag::AcSystem, "no session available")
        {
            out.push(Action::Transmit { port: request.line.port, frame });
            self.statistics.pads_error_out = self.statistics.pads_error_out.saturating_add(1);
        }
    }

    fn create(
        &mut self,
        now: Instant,
        request: SessionRequest,
        replaced: Option<SubscriberKey>,
        out: &mut Vec<Action>,
    ) -> Result<(), Drop> {
        let line = request.line;
        let outer_vid = line.vlans.outer_vid();
        let Some(state) = self.profiles.get(usize::from(request.profile.0)) else { return Err(Drop::NoService) };
        let ppp_config = Arc::clone(&state.ppp);
        let Some(session_id) = self.ids.allocate(now, line.port, outer_vid) else {
            self.refuse(&request, out);
            return Err(Drop::SessionIds);
        };
        let Ok(pads) = self.ac.pads(&request, session_id) else {
            // Cannot be for a request that discovery gave out.
            self.ids.release(now, line.port, outer_vid, session_id);
            return Err(Drop::NoService);
        };
        // RFC 2516 section 5.4 says nothing of the session a client has forgotten: it ends before the new one begins.
        if let Some(session) = replaced.and_then(|key| self.take_live(key)) {
            self.statistics.redialled = self.statistics.redialled.saturating_add(1);
            self.finish(now, session, EndCause::Replaced, true, out);
        }
        self.make_room(now, line.port, out);
        let mut seed = [0u8; 8];
        (self.environment.random)(&mut seed);
        let new = NewSession {
            line,
            local_mac: request.local_mac,
            session_id,
            fingerprint: request.fingerprint,
            host_uniq: request.host_uniq,
            access_line: request.access_line,
            profile: request.profile,
            ppp: Ppp::new(ppp_config, request.mru_max, u64::from_ne_bytes(seed)),
            mru_max: request.mru_max,
        };
        let Some(key) = self.entries.insert(|key| Entry::Live(Box::new(Session::new(key, new, now)))) else {
            self.ids.release(now, line.port, outer_vid, session_id);
            return Err(Drop::SessionsMax);
        };
        self.by_id.insert((line.port, outer_vid, session_id), key.slot);
        self.by_line.insert(line.key(), key.slot);
        self.live = self.live.saturating_add(1);
        self.ac.set_sessions(self.live);
        if let Some(count) = self.half_open.get_mut(usize::from(line.port.0)) {
            *count = count.saturating_add(1);
        }
        if self.limits.half_open_per_port_max != 0
            && let Some(order) = self.half_open_order.get_mut(usize::from(line.port.0))
        {
            order.push_back(key);
        }
        let count = self.per_vlan.entry((line.port, outer_vid)).or_default();
        *count = count.saturating_add(1);
        if self.counts_line(&line) {
            let count = self.per_line.entry(line_of(&line)).or_default();
            *count = count.saturating_add(1);
        }
        self.statistics.created = self.statistics.created.saturating_add(1);
        let Some(mut session) = self.take_live(key) else { return Err(Drop::SessionsMax) };
        self.event(now, &mut session, EventKind::Created, out);
        // Known to the workers before the client can know the id: its first frame may come with no delay at all.
        out.push(Action::Install { key, spec: self.spec(&session) });
        out.push(Action::Transmit { port: line.port, frame: pads });
        self.statistics.pads_out = self.statistics.pads_out.saturating_add(1);
        self.work(now, session, out, |session, actions| session.ppp.start(now, actions));
        Ok(())
    }
}

/// What names a double-tagged line whatever the MAC address.
pub(crate) const fn line_of(line: &Line) -> (PortIndex, u16, u16) {
    (line.port, line.vlans.outer_vid(), line.vlans.inner_vid())
}
