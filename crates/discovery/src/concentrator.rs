//! The access concentrator: from a frame to its outcome.

use std::time::{Duration, Instant};

use bng_wire::pppoe::{self, AccessLine, Code, MRU_DEFAULT, Packet, PacketError, TagType};
use bng_wire::{Line, LineKey, MacAddr, PortIndex, SessionId, VlanStack};

use crate::access;
use crate::config::{
    AcConfig, AccessPort, ConfigError, DiscoveryLimits, PadoMatch, PadoRule, PadoTime, Ports, ProfileIndex,
    ServiceProfile,
};
use crate::cookie::{CookieError, Keys};
use crate::frame::{self, Reply};
use crate::held::Held;
use crate::lock_out::LockOut;
use crate::outcome::{
    DiscoveryCounters, DiscoveryDrop, DiscoveryOutcome, ErrorTag, ReplyTooLong, RequestFingerprint, SessionRequest,
};
use crate::rate::Limiter;
use crate::request::{self, RequestTags};

/// The access concentrator: its configuration, its cookie keys, and what bounds floods. It has no table of clients.
pub struct AccessConcentrator {
    config: AcConfig,
    limits: DiscoveryLimits,
    /// The access ports by index.
    ports: Ports,
    keys: Keys,
    /// Where `clock_s` was counted from.
    epoch: Instant,
    epoch_s: u32,
    held: Held,
    padi_limiter: Limiter,
    padr_limiter: Limiter,
    lock_out: LockOut,
    /// Sessions that are up, as told.
    sessions: u32,
    counters: DiscoveryCounters,
}

/// A request's place: where it came from and what is offered there.
struct Place<'a> {
    line: Line,
    port: AccessPort,
    profile_index: ProfileIndex,
    profile: &'a ServiceProfile,
}

impl AccessConcentrator {
    /// Takes a configuration, a secret key of random octets for the cookies, and the time. `clock_s` is what a clock that
    /// outlives this process (seconds since boot) shows at `now`, so that cookies outlive it too if the key is kept.
    ///
    /// # Errors
    /// The first [`ConfigError`] found.
    pub fn new(config: AcConfig, cookie_key: [u8; 32], now: Instant, clock_s: u32) -> Result<Self, ConfigError> {
        let ports = config.validate()?;
        let keys = Keys::new(&cookie_key);
        let mut ac = Self {
            config,
            limits: DiscoveryLimits::default(),
            ports,
            epoch: now,
            epoch_s: clock_s,
            held: Held::default(),
            padi_limiter: Limiter::new(now, keys.secret(1)),
            padr_limiter: Limiter::new(now, keys.secret(2)),
            lock_out: LockOut::default(),
            sessions: 0,
            counters: DiscoveryCounters::default(),
            keys,
        };
        ac.add_ports();
        Ok(ac)
    }

    fn add_ports(&mut self) {
        for port in self.ports.iter().flatten() {
            self.padi_limiter.add_port(port.port);
            self.padr_limiter.add_port(port.port);
        }
    }

    /// Takes a new configuration; cookies given out stay good.
    ///
    /// # Errors
    /// The first [`ConfigError`] found; the old configuration then stays.
    pub fn reconfigure(&mut self, config: AcConfig) -> Result<(), ConfigError> {
        self.ports = config.validate()?;
        self.config = config;
        self.add_ports();
        Ok(())
    }

    /// Takes new limits in place of the defaults, or of those before.
    ///
    /// # Errors
    /// [`ConfigError::Rate`] and [`ConfigError::LockOut`]; the old limits then stay.
    pub fn set_limits(&mut self, limits: DiscoveryLimits) -> Result<(), ConfigError> {
        limits.validate()?;
        self.limits = limits;
        Ok(())
    }

    /// Tells how many sessions are up, for PADO rules that look at it.
    pub fn set_sessions(&mut self, sessions: u32) {
        self.sessions = sessions;
    }

    /// Tells that a line's login or session has failed: a wrong password, a session gone at once. Where the policy now locks
    /// the line out, for how long.
    pub fn session_failed(&mut self, now: Instant, line: &LineKey, circuit_id: Option<&[u8]>) -> Option<Duration> {
        let policy = self.limits.lock_out?;
        self.lock_out.failed(now, line, circuit_id, &policy)
    }

    /// Tells that a line has shown itself good: its failures are forgotten.
    pub fn session_succeeded(&mut self, line: &LineKey, circuit_id: Option<&[u8]>) {
        if let Some(policy) = self.limits.lock_out {
            self.lock_out.succeeded(line, circuit_id, policy.by);
        }
    }

    /// How many failing lines are remembered, at most [`crate::LOCK_OUT_LINES_MAX`].
    #[must_use]
    pub fn failing_lines(&self) -> usize {
        self.lock_out.len()
    }

    /// Takes a new cookie key; cookies made with the one before stay good for their lifetime, or until the next rotation
    /// where that comes earlier.
    pub fn rotate_key(&mut self, cookie_key: [u8; 32]) {
        self.keys.rotate(&cookie_key);
    }

    /// Handles a whole frame, from the Ethernet header on, received on `port`.
    pub fn handle_frame(&mut self, now: Instant, port: PortIndex, frame: &[u8]) -> DiscoveryOutcome {
        match frame::read(port, frame) {
            Ok(received) => self.handle(now, received.line, received.destination, received.pppoe),
            Err(reason) => self.drop(reason),
        }
    }

    /// Handles the payload of an Ethernet frame of type 0x8863, from VER/TYPE on, that came over `line` to `destination`.
    pub fn handle(&mut self, now: Instant, line: Line, destination: MacAddr, pppoe: &[u8]) -> DiscoveryOutcome {
        self.try_handle(now, line, destination, pppoe).unwrap_or_else(|reason| self.drop(reason))
    }

    fn try_handle(
        &mut self,
        now: Instant,
        line: Line,
        destination: MacAddr,
        pppoe: &[u8],
    ) -> Result<DiscoveryOutcome, DiscoveryDrop> {
        let port = self.port(line.port).ok_or(DiscoveryDrop::UnknownPort)?;
        // No station has such an address, so nobody would hear the answer; our own would be answered to ourselves.
        if line.peer_mac.is_group() || line.peer_mac == MacAddr::ZERO || line.peer_mac == port.mac {
            return Err(DiscoveryDrop::BadSource);
        }
        let profile_index =
            access::profile_of(&self.config.access, line.port, line.vlans).ok_or(DiscoveryDrop::UnknownVlan)?;
        let packet = Packet::parse(pppoe).map_err(|error| match error {
            PacketError::TooShort { .. } => DiscoveryDrop::HeaderTooShort,
            PacketError::VersionOrType { .. } => DiscoveryDrop::VersionOrType,
            PacketError::LengthBeyondFrame { .. } => DiscoveryDrop::LengthBeyondFrame,
        })?;
        if packet.len() > pppoe::DISCOVERY_LEN_MAX {
            return Err(DiscoveryDrop::TooLong);
        }
        match packet.header.code {
            Code::PADI => self.padi(now, line, port, profile_index, destination, &packet),
            Code::PADR => self.padr(now, line, port, profile_index, destination, &packet),
            Code::PADT => self.padt_received(line, port, destination, &packet),
            Code::PADO | Code::PADS => Err(DiscoveryDrop::NotForConcentrator),
            _ => Err(DiscoveryDrop::UnknownCode),
        }
    }

    /// RFC 2516 sections 5.1 and 5.2.
    fn padi(
        &mut self,
        now: Instant,
        line: Line,
        port: AccessPort,
        profile_index: ProfileIndex,
        destination: MacAddr,
        packet: &Packet<'_>,
    ) -> Result<DiscoveryOutcome, DiscoveryDrop> {
        self.counters.padi = self.counters.padi.wrapping_add(1);
        // Section 5.1: sent to the broadcast address. Access nodes that turn it into unicast for us are put up with.
        if destination != MacAddr::BROADCAST && destination != port.mac {
            return Err(DiscoveryDrop::BadDestination);
        }
        // Section 5.1: SESSION_ID MUST be 0, and the packet MUST NOT exceed 1484 octets.
        if packet.header.session_id != SessionId(0) {
            return Err(DiscoveryDrop::SessionIdNotZero);
        }
        if packet.len() > pppoe::PADI_LEN_MAX {
            return Err(DiscoveryDrop::TooLong);
        }
        let tags = RequestTags::read(packet.tags())?;
        let place = self.place(line, port, profile_index)?;
        // Section 5.2: a PADI that cannot be served MUST NOT be answered.
        self.admits(now, &place, &tags)?;
        if !serves(place.profile, tags.service_name) {
            return Err(DiscoveryDrop::ServiceNotOffered);
        }
        let PadoTime::After(delay) = self.pado_time(place.profile, &tags) else {
            return Err(DiscoveryDrop::Withheld);
        };
        self.padi_limiter.admit(now, &line.key(), &self.limits.padi_rates)?;
        let place = self.place(line, port, profile_index)?;
        if !delay.is_zero() && self.held.is_full() {
            return Err(DiscoveryDrop::HeldFull);
        }
        let pado = self.pado(now, &place, &tags).map_err(|ReplyTooLong| DiscoveryDrop::ReplyTooLong)?;
        self.counters.pado = self.counters.pado.wrapping_add(1);
        match now.checked_add(delay).filter(|_| !delay.is_zero()) {
            None => Ok(DiscoveryOutcome::Reply(pado)),
            Some(due) => {
                self.held.push(due, line.port, pado);
                Ok(DiscoveryOutcome::Held)
            }
        }
    }

    /// RFC 2516 section 5.2: exactly one AC-Name, the Service-Name of the PADI, and any other tags.
    fn pado(&self, now: Instant, place: &Place<'_>, tags: &RequestTags<'_>) -> Result<Vec<u8>, ReplyTooLong> {
        let mut reply = self.reply(&place.line, place.port.mac, Code::PADO, SessionId(0))?;
        reply.tag(TagType::SERVICE_NAME, tags.service_name)?;
        reply.tag(TagType::AC_NAME, place.profile.ac_name.as_bytes())?;
        reply.tag(TagType::AC_COOKIE, &self.keys.make(&place.line, self.clock_s(now)))?;
        // Appendix A: Host-Uniq and Relay-Session-Id MUST come back unmodified.
        reply.tag_opt(TagType::HOST_UNIQ, tags.host_uniq)?;
        reply.tag_opt(TagType::RELAY_SESSION_ID, tags.relay_session_id)?;
        // RFC 4638 section 3: an echo of the client's own value.
        if let (Some(value), _) = self.max_payload(place, tags) {
            reply.tag(TagType::PPP_MAX_PAYLOAD, &value.to_be_bytes())?;
        }
        if place.profile.advertise {
            let others = place.profile.service_names.iter().map(String::as_bytes);
            for name in others.filter(|name| !name.is_empty() && *name != tags.service_name) {
                // "Any number of other Service-Name tags": those that fit.
                if reply.tag(TagType::SERVICE_NAME, name).is_err() {
                    break;
                }
            }
        }
        reply.finish()
    }

    /// RFC 2516 sections 5.3 and 5.4.
    fn padr(
        &mut self,
        now: Instant,
        line: Line,
        port: AccessPort,
        profile_index: ProfileIndex,
        destination: MacAddr,
        packet: &Packet<'_>,
    ) -> Result<DiscoveryOutcome, DiscoveryDrop> {
        self.counters.padr = self.counters.padr.wrapping_add(1);
        // Section 5.3: sent to the unicast address of the concentrator that is meant, SESSION_ID 0.
        if destination != port.mac {
            return Err(DiscoveryDrop::BadDestination);
        }
        if packet.header.session_id != SessionId(0) {
            return Err(DiscoveryDrop::SessionIdNotZero);
        }
        let tags = RequestTags::read(packet.tags())?;
        let cookie = tags.cookie.ok_or(DiscoveryDrop::NoCookie)?;
        let lifetime_s = u32::try_from(self.config.cookie_lifetime.as_secs()).unwrap_or(u32::MAX);
        self.keys.check(&line, cookie, self.clock_s(now), lifetime_s).map_err(|error| match error {
            CookieError::Bad => DiscoveryDrop::BadCookie,
            CookieError::Expired => DiscoveryDrop::ExpiredCookie,
        })?;
        // After the cookie: a forger of addresses must not use up what is for those who hold one.
        self.padr_limiter.admit(now, &line.key(), &self.limits.padr_rates)?;
        let place = self.place(line, port, profile_index)?;
        self.admits(now, &place, &tags)?;
        let fingerprint = self.keys.fingerprint(cookie, tags.host_uniq);
        let request = self.session_request(&place, &tags, fingerprint);
        // Section 5.4: a Service-Name that is not liked MUST be answered with a Service-Name-Error, SESSION_ID 0.
        if !serves(place.profile, tags.service_name) {
            let refusal = self.pads_error(&request, ErrorTag::ServiceName, "");
            let refusal = refusal.map_err(|ReplyTooLong| DiscoveryDrop::ReplyTooLong)?;
            self.counters.service_refused = self.counters.service_refused.wrapping_add(1);
            return Ok(DiscoveryOutcome::Reply(refusal));
        }
        self.counters.requests = self.counters.requests.wrapping_add(1);
        Ok(DiscoveryOutcome::Request(Box::new(request)))
    }

    fn session_request(
        &self,
        place: &Place<'_>,
        tags: &RequestTags<'_>,
        fingerprint: RequestFingerprint,
    ) -> SessionRequest {
        let (max_payload, mru_max) = self.max_payload(place, tags);
        let access_line = tags.access_line();
        SessionRequest {
            line: place.line,
            local_mac: place.port.mac,
            profile: place.profile_index,
            fingerprint,
            service_name: tags.service_name.into(),
            host_uniq: tags.host_uniq.map(Into::into),
            relay_session_id: tags.relay_session_id.map(Into::into),
            access_line_left_out: access_line.as_ref().map_or(0, |read| read.left_out),
            access_line: access_line.map(|read| read.line).filter(|line| !line.is_empty()),
            max_payload,
            mru_max,
        }
    }

    /// RFC 2516 section 5.5. Tags are not required; those that are there must be well formed.
    fn padt_received(
        &mut self,
        line: Line,
        port: AccessPort,
        destination: MacAddr,
        packet: &Packet<'_>,
    ) -> Result<DiscoveryOutcome, DiscoveryDrop> {
        self.counters.padt = self.counters.padt.wrapping_add(1);
        // Section 5.5: to a unicast address; one that is not ours ends nothing of ours.
        if destination != port.mac {
            return Err(DiscoveryDrop::BadDestination);
        }
        let session_id = packet.header.session_id;
        if !session_id.is_usable() {
            return Err(DiscoveryDrop::SessionIdUnusable);
        }
        for tag in packet.tags() {
            tag.map_err(request::malformed)?;
        }
        Ok(DiscoveryOutcome::Terminate { line, session_id })
    }

    /// When `handle_timeout` wants to be called next; `None` while nothing is held back.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.held.due()
    }

    /// Lets out what was held back until `now`: `transmit` gets each frame and its port.
    pub fn handle_timeout(&mut self, now: Instant, transmit: &mut dyn FnMut(PortIndex, Vec<u8>)) {
        while let Some((port, frame)) = self.held.pop(now) {
            transmit(port, frame);
        }
    }

    /// The PADS that gives a client its session (RFC 2516 section 5.4), for `request.line.port`. A repeated PADR gets the
    /// same again: call it with the repeated request and the session it already has.
    ///
    /// Each of its tags was in the PADR, which had a cookie besides: it always fits. The AC-Name is left out for that.
    ///
    /// # Errors
    /// [`ReplyTooLong`], which cannot happen to a request that `handle` gave out.
    pub fn pads(&self, request: &SessionRequest, session_id: SessionId) -> Result<Vec<u8>, ReplyTooLong> {
        let mut reply = self.reply(&request.line, request.local_mac, Code::PADS, session_id)?;
        reply.tag(TagType::SERVICE_NAME, &request.service_name)?;
        reply.tag_opt(TagType::HOST_UNIQ, request.host_uniq.as_deref())?;
        reply.tag_opt(TagType::RELAY_SESSION_ID, request.relay_session_id.as_deref())?;
        if let Some(value) = request.max_payload {
            reply.tag(TagType::PPP_MAX_PAYLOAD, &value.to_be_bytes())?;
        }
        reply.finish()
    }

    /// The PADS that refuses a session, SESSION_ID 0. `message` is for people, UTF-8, and may be empty; where it does not
    /// fit, it is left out.
    ///
    /// # Errors
    /// [`ReplyTooLong`], which cannot happen to a request that `handle` gave out.
    pub fn pads_error(
        &self,
        request: &SessionRequest,
        error: ErrorTag,
        message: &str,
    ) -> Result<Vec<u8>, ReplyTooLong> {
        let mut reply = self.reply(&request.line, request.local_mac, Code::PADS, SessionId(0))?;
        // Section 5.4: the PADS contains exactly one Service-Name, in a refusal too.
        reply.tag(TagType::SERVICE_NAME, &request.service_name)?;
        reply.tag_opt(TagType::HOST_UNIQ, request.host_uniq.as_deref())?;
        reply.tag_opt(TagType::RELAY_SESSION_ID, request.relay_session_id.as_deref())?;
        let kind = error.tag_type();
        reply.tag(kind, message.as_bytes()).or_else(|ReplyTooLong| reply.tag(kind, &[]))?;
        reply.finish()
    }

    /// A PADT that ends a session (RFC 2516 section 5.5), for `line.port`. Without tags, as section 5.5 allows.
    #[must_use]
    pub fn padt(&self, local_mac: MacAddr, line: &Line, session_id: SessionId) -> Vec<u8> {
        // Nothing in it is of variable length, so it fits.
        self.reply(line, local_mac, Code::PADT, session_id).and_then(Reply::finish).unwrap_or_default()
    }

    /// The tags that frames to a client of `received` tags carry: see [`crate::ControlPriority::reply_vlans`].
    #[must_use]
    pub fn reply_vlans(&self, received: VlanStack) -> VlanStack {
        self.config.priority.reply_vlans(received)
    }

    /// What has been received, sent and dropped.
    #[must_use]
    pub const fn counters(&self) -> &DiscoveryCounters {
        &self.counters
    }

    /// How many frames led to nothing, by reason: index is the reason's number.
    #[must_use]
    pub const fn drops(&self) -> &[u64; DiscoveryDrop::COUNT] {
        &self.counters.drops
    }

    fn port(&self, port: PortIndex) -> Option<AccessPort> {
        self.ports.get(usize::from(port.0)).copied().flatten()
    }

    fn place(&self, line: Line, port: AccessPort, profile_index: ProfileIndex) -> Result<Place<'_>, DiscoveryDrop> {
        // The profile exists: the configuration has been checked.
        let profile = self.config.profiles.get(usize::from(profile_index.0)).ok_or(DiscoveryDrop::UnknownVlan)?;
        Ok(Place { line, port, profile_index, profile })
    }

    /// Who is served at all, now.
    fn admits(&self, now: Instant, place: &Place<'_>, tags: &RequestTags<'_>) -> Result<(), DiscoveryDrop> {
        if !place.profile.macs.admits(place.line.peer_mac) {
            return Err(DiscoveryDrop::MacDenied);
        }
        if let Some(policy) = self.limits.lock_out
            && self.lock_out.len() > 0
        {
            let access_line = tags.access_line().map(|read| read.line);
            let circuit_id = access_line.as_ref().and_then(AccessLine::circuit_id);
            if self.lock_out.is_locked(now, &place.line.key(), circuit_id, policy.by) {
                return Err(DiscoveryDrop::LockedOut);
            }
        }
        Ok(())
    }

    /// When a PADO is to be sent.
    fn pado_time(&self, profile: &ServiceProfile, tags: &RequestTags<'_>) -> PadoTime {
        let access_line = if profile.pado_rules.is_empty() { None } else { tags.access_line().map(|read| read.line) };
        let circuit_id = access_line.as_ref().and_then(AccessLine::circuit_id);
        let matches = |rule: &&PadoRule| match &rule.when {
            PadoMatch::SessionsFrom(sessions) => self.sessions >= *sessions,
            PadoMatch::ServiceName(name) => tags.service_name == name.as_bytes(),
            PadoMatch::CircuitIdPrefix(prefix) => circuit_id.is_some_and(|circuit_id| circuit_id.starts_with(prefix)),
        };
        profile.pado_rules.iter().find(matches).map_or(PadoTime::After(profile.pado_delay), |rule| rule.time)
    }

    /// The tag to echo, if any, and the largest MRU that LCP may agree to.
    fn max_payload(&self, place: &Place<'_>, tags: &RequestTags<'_>) -> (Option<u16>, u16) {
        let vlan_tags = self.reply_vlans(place.line.vlans).len();
        let port_max = place.port.max_payload_by_tags.get(vlan_tags).copied().unwrap_or(MRU_DEFAULT);
        // RFC 4638 sections 3 and 4: a value up to 1492 changes nothing and is ignored; above it the smaller of the tag and
        // of what the port carries holds. Where that is not above 1492, the tag is not supported here, hence not echoed.
        let wanted = tags.max_payload.filter(|value| *value > MRU_DEFAULT);
        let agreed = wanted.map(|value| value.min(port_max).min(place.profile.max_payload));
        match agreed.filter(|agreed| *agreed > MRU_DEFAULT) {
            Some(agreed) => (wanted, agreed),
            None => (None, port_max.min(MRU_DEFAULT)),
        }
    }

    fn reply(&self, line: &Line, local_mac: MacAddr, code: Code, session_id: SessionId) -> Result<Reply, ReplyTooLong> {
        Reply::new(line.peer_mac, local_mac, self.reply_vlans(line.vlans), code, session_id)
    }

    /// Seconds on the clock that outlives the process.
    fn clock_s(&self, now: Instant) -> u32 {
        // The low 32 bits are what a cookie carries.
        self.epoch_s.wrapping_add(now.saturating_duration_since(self.epoch).as_secs() as u32)
    }

    fn drop(&mut self, reason: DiscoveryDrop) -> DiscoveryOutcome {
        if let Some(counter) = self.counters.drops.get_mut(reason as usize) {
            *counter = counter.wrapping_add(1);
        }
        DiscoveryOutcome::Drop(reason)
    }
}

/// True where a profile serves a service name. Empty means any (RFC 2516 Appendix A), which every profile has.
fn serves(profile: &ServiceProfile, name: &[u8]) -> bool {
    name.is_empty() || profile.accept_any || profile.service_names.iter().any(|offered| offered.as_bytes() == name)
}
