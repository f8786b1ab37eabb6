//! One client's link: its state, the packets that come in, the time.

use crate::authenticate::Authentication;
use crate::automaton::{Acked, Automaton, Event, State};
use crate::config::{AuthMethod, PppConfig};
use crate::error::Discard;
use crate::events::{Action, EndCause};
use crate::ipcp::Ipcp;
use crate::ipv6cp::Ipv6cp;
use crate::keepalive::Keepalive;
use crate::lcp::{Effect, Lcp};
use crate::negotiate::{Answer, digest};
use crate::random::{Purpose, derive};
use crate::transitions::{Layer, Trigger};
use bng_wire::ppp::lcp::{Echo, ProtocolReject};
use bng_wire::ppp::{Options, Packet, code, protocol};
use std::sync::Arc;
use std::time::Instant;

/// The phase of a link (RFC 1661 section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Not started, or ended.
    Dead,
    /// LCP is negotiating.
    Establish,
    /// The client has to prove who it is.
    Authenticate,
    /// Network protocols may be negotiated and used.
    Network,
    /// LCP is closing the link.
    Terminate,
}

/// One PPP link towards a client.
#[derive(Debug)]
pub struct Ppp {
    pub(crate) config: Arc<PppConfig>,
    pub(crate) seed: u64,
    pub(crate) phase: Phase,
    /// When the present phase must be over: link establishment, authentication, a network protocol being open.
    pub(crate) phase_ends_at: Option<Instant>,
    /// When the client must have got some service, however often it starts its link anew meanwhile.
    pub(crate) service_due_at: Option<Instant>,
    /// Why the link is being closed; the first cause counts.
    pub(crate) end_cause: Option<EndCause>,
    pub(crate) ended: bool,
    /// Whether the client has sent anything that could be read.
    pub(crate) heard: bool,

    pub(crate) lcp_automaton: Automaton,
    pub(crate) lcp: Lcp,
    pub(crate) authentication: Authentication,
    pub(crate) keepalive: Keepalive,

    pub(crate) ipcp_automaton: Automaton,
    /// `None`: IPCP is not offered.
    pub(crate) ipcp: Option<Ipcp>,
    /// Whether [`Action::Ipv4Up`] stands.
    pub(crate) ipv4_granted: bool,

    pub(crate) ipv6cp_automaton: Automaton,
    /// `None`: IPV6CP is not offered.
    pub(crate) ipv6cp: Option<Ipv6cp>,
    /// Whether [`Action::Ipv6Up`] stands.
    pub(crate) ipv6_granted: bool,
}

impl Ppp {
    /// A link that has not started. `mru_max` is the largest MRU that may be agreed either way, in octets: 1492, or
    /// what PPP-Max-Payload allows (RFC 4638). `seed` comes from a random source that clients cannot guess; all that
    /// must be unpredictable on this link is derived from it.
    #[must_use]
    pub fn new(config: Arc<PppConfig>, mru_max: u16, seed: u64) -> Self {
        // Random first identifiers: a stale packet of an earlier session is then hardly ever taken for an answer.
        let [lcp_id, ipcp_id, ipv6cp_id, challenge_id, jitter, ..] = derive(seed, Purpose::Identifiers, 0);
        Self {
            config,
            seed,
            phase: Phase::Dead,
            phase_ends_at: None,
            service_due_at: None,
            end_cause: None,
            ended: false,
            heard: false,
            lcp_automaton: Automaton::new(lcp_id),
            lcp: Lcp::new(mru_max, seed),
            authentication: Authentication::new(challenge_id),
            keepalive: Keepalive::new(jitter),
            ipcp_automaton: Automaton::new(ipcp_id),
            ipcp: None,
            ipv4_granted: false,
            ipv6cp_automaton: Automaton::new(ipv6cp_id),
            ipv6cp: None,
            ipv6_granted: false,
        }
    }

    /// The PPPoE session exists. LCP sends its first Configure-Request after [`PppConfig::first_request_delay`], or as
    /// soon as the client sends anything of LCP: one that left right behind the PADS would find many a client not
    /// listening yet, and cost it a whole restart interval. To be called once, and the actions carried out after the
    /// PADS has been sent; further calls do nothing.
    pub fn start(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.ended || self.lcp_automaton.state != State::Initial {
            return;
        }
        self.phase = Phase::Establish;
        self.phase_ends_at = now.checked_add(self.config.establish_timeout);
        self.await_service(now);
        self.run(Layer::Lcp, Event::Open, Trigger::NONE, now, out);
        if self.config.first_request_delay.is_zero() {
            self.lower_layer_up(now, out);
        } else {
            // The restart timer does not run in Starting (RFC 1661 section 4.4); its place holds the time of Up.
            self.lcp_automaton.restart_at = now.checked_add(self.config.first_request_delay);
        }
    }

    /// The client can be talked to.
    fn lower_layer_up(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.lcp_automaton.restart_at = None;
        self.run(Layer::Lcp, Event::Up, Trigger::NONE, now, out);
    }

    /// A packet from the client: PPP protocol number and information field, without Ethernet padding where that is
    /// known (padding is tolerated).
    ///
    /// # Errors
    /// The packet was discarded, for the reason given; nothing has changed.
    pub fn handle(
        &mut self,
        now: Instant,
        protocol: u16,
        payload: &[u8],
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        if self.ended {
            return Err(Discard::Ended);
        }
        if protocol == protocol::LCP && self.lcp_automaton.state == State::Starting {
            self.lower_layer_up(now, out);
        }
        let handled = match protocol {
            protocol::LCP => self.control_packet(Layer::Lcp, payload, now, out),
            protocol::PAP => self.pap_packet(payload, now, out),
            protocol::CHAP => self.chap_packet(payload, now, out),
            protocol::IPCP if self.offers(Layer::Ipcp) => self.control_packet(Layer::Ipcp, payload, now, out),
            protocol::IPV6CP if self.offers(Layer::Ipv6cp) => self.control_packet(Layer::Ipv6cp, payload, now, out),
            // Data that came up here is data that may not be forwarded yet (RFC 1661 section 3.7).
            protocol::IPV4 | protocol::IPV6 => Err(Discard::WrongPhase),
            _ => self.unknown_protocol(protocol, payload, out),
        };
        if handled.is_ok() {
            self.heard = true;
            self.keepalive.heard(&self.config);
        }
        handled
    }

    /// Ends the link in order: Terminate-Request, then [`Action::Ended`] with `why` after the Ack or the restart
    /// time. Further calls keep the first cause.
    pub fn close(&mut self, now: Instant, why: EndCause, out: &mut Vec<Action>) {
        if self.ended {
            return;
        }
        self.end_cause.get_or_insert(why);
        match self.lcp_automaton.state {
            State::Initial | State::Starting => self.finish(out),
            _ => self.run(Layer::Lcp, Event::Close, Trigger::NONE, now, out),
        }
    }

    /// Data came from the client since the last call: a sign of life, where the profile counts it as one. To be
    /// called before [`Ppp::handle_timeout`] when the session's counters have moved, or whenever convenient.
    pub fn upstream_activity(&mut self, now: Instant) {
        self.keepalive.traffic(&self.config, now);
    }

    /// When [`Ppp::handle_timeout`] wants to be called next; `None` when there is nothing to wait for.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.ended {
            return None;
        }
        [
            self.lcp_automaton.restart_at,
            self.ipcp_automaton.restart_at,
            self.ipv6cp_automaton.restart_at,
            self.authentication.challenge_at,
            self.keepalive.due_at,
            self.phase_ends_at,
            self.service_due_at,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// The time has come; harmless if it has not.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Action>) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if !self.ended && self.lcp_automaton.state == State::Starting && due(self.lcp_automaton.restart_at) {
            self.lower_layer_up(now, out);
        }
        for layer in [Layer::Lcp, Layer::Ipcp, Layer::Ipv6cp] {
            if !self.ended && due(self.automaton(layer).restart_at) {
                let retry = self.automaton(layer).restarts_left > 0;
                let event = if retry { Event::TimeoutRetry } else { Event::TimeoutLast };
                if layer != Layer::Lcp {
                    self.repeat_success(out);
                }
                self.run(layer, event, Trigger::NONE, now, out);
            }
        }
        if !self.ended && due(self.authentication.challenge_at) {
            self.repeat_challenge(now, out);
        }
        if !self.ended && due(self.keepalive.due_at) {
            self.keepalive_due(now, out);
        }
        if !self.ended && due(self.phase_ends_at) {
            self.phase_ends_at = None;
            let why = match self.phase {
                Phase::Authenticate => EndCause::AuthTimeout,
                Phase::Network => EndCause::NoNetworkProtocol,
                _ => self.unanswered(),
            };
            self.close(now, why, out);
        }
        if !self.ended && due(self.service_due_at) {
            self.service_due_at = None;
            self.close(now, EndCause::NotConverging, out);
        }
    }

    /// The phase of the link.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// True once [`Action::Ended`] has been given out.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// The client's MRU in octets: what it named last; where it named none, 1492, or up to 1500 under RFC 4638.
    #[must_use]
    pub fn peer_mru(&self) -> u16 {
        self.lcp.peer_mru()
    }

    /// How the client proved who it is; `None` before it has, and where the profile asks for nothing.
    #[must_use]
    pub fn authenticated_by(&self) -> Option<AuthMethod> {
        self.authentication.done_by()
    }

    /// The method by which the client is to prove who it is, as LCP has agreed or is asking for; `None` where the
    /// profile asks for nothing, and before the start.
    #[must_use]
    pub fn auth_method(&self) -> Option<AuthMethod> {
        self.lcp.auth()
    }

    /// How many Echo-Requests in a row have been sent without a sign of life since.
    #[must_use]
    pub fn unanswered_echoes(&self) -> u8 {
        self.keepalive.missed()
    }

    /// The states of LCP, IPCP and IPV6CP, for display.
    #[must_use]
    pub fn states(&self) -> [State; 3] {
        [self.lcp_automaton.state, self.ipcp_automaton.state, self.ipv6cp_automaton.state]
    }

    /// Starts the time in which the client has to get some service, if it is not running: all phases together. Without
    /// it, a client could make the owner check its credentials for ever by starting anew again and again.
    pub(crate) fn await_service(&mut self, now: Instant) {
        let PppConfig { establish_timeout, auth_timeout, network_timeout, .. } = *self.config;
        let all = establish_timeout.saturating_add(auth_timeout).saturating_add(network_timeout);
        if self.service_due_at.is_none() {
            self.service_due_at = now.checked_add(all);
        }
    }

    /// What a negotiation that came to nothing is put down to.
    pub(crate) const fn unanswered(&self) -> EndCause {
        if self.heard { EndCause::NotConverging } else { EndCause::NoAnswer }
    }

    /// Whether this network control protocol is offered, now that the client is authenticated.
    fn offers(&self, layer: Layer) -> bool {
        // Before that phase its packets are discarded like those of any other protocol.
        self.phase == Phase::Network
            && match layer {
                Layer::Lcp => true,
                Layer::Ipcp => self.ipcp.is_some(),
                Layer::Ipv6cp => self.ipv6cp.is_some(),
            }
    }

    fn unknown_protocol(&mut self, protocol: u16, payload: &[u8], out: &mut Vec<Action>) -> Result<(), Discard> {
        // RFC 1661 section 5.7 wants a Protocol-Reject in Opened; section 3.5 wants silence while authenticating.
        if self.phase != Phase::Network {
            return Err(Discard::WrongPhase);
        }
        self.send_protocol_reject(protocol, payload, out);
        Ok(())
    }

    /// A packet of LCP or of a network control protocol that is offered.
    fn control_packet(
        &mut self,
        layer: Layer,
        payload: &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        let packet = Packet::parse(payload).map_err(|_| Discard::Malformed)?;
        if matches!(self.automaton(layer).state, State::Initial | State::Starting) {
            return Err(Discard::WrongPhase);
        }
        if layer != Layer::Lcp {
            self.authentication.seen();
        }
        let trigger = Trigger { packet: Some(packet), payload, answer: None };
        match packet.code {
            code::CONFIGURE_REQUEST => return self.configure_request(layer, packet, now, out),
            code::CONFIGURE_ACK => return self.configure_ack(layer, packet, now, out),
            code::CONFIGURE_NAK | code::CONFIGURE_REJECT => return self.configure_nak(layer, packet, now, out),
            code::TERMINATE_REQUEST => {
                if layer == Layer::Lcp && self.automaton(layer).state == State::Opened {
                    self.end_cause.get_or_insert(EndCause::UserRequest);
                }
                self.run(layer, Event::TerminateRequest, trigger, now, out);
            }
            code::TERMINATE_ACK => self.run(layer, Event::TerminateAck, trigger, now, out),
            code::CODE_REJECT => return self.code_reject(layer, packet, now, out),
            code::PROTOCOL_REJECT if layer == Layer::Lcp => return self.protocol_reject(packet, now, out),
            code::ECHO_REQUEST | code::ECHO_REPLY if layer == Layer::Lcp => {
                return self.echo(packet, trigger, now, out);
            }
            // RFC 1661 section 5.9 and RFC 1570 section 1: nothing is answered, and nothing need be done.
            code::DISCARD_REQUEST | code::IDENTIFICATION | code::TIME_REMAINING if layer == Layer::Lcp => {}
            _ => self.run(layer, Event::UnknownCode, trigger, now, out),
        }
        Ok(())
    }

    fn configure_request(
        &mut self,
        layer: Layer,
        packet: Packet<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        let options = Options::parse(packet.data).map_err(|_| Discard::BadOption)?;
        if self.is_repetition(layer, packet, now) {
            // On a slow line a copy of the request arrives when both sides are already Opened. Section 4.1 would
            // start again, get another copy, and so on for ever; the client only needs its Ack.
            self.send_configure_ack(layer, packet, out);
            return Ok(());
        }
        let PppConfig { max_failure, max_configure, .. } = *self.config;
        let naks_exhausted = self.automaton(layer).naks_exhausted(packet.id, max_failure, max_configure);
        let answer = match layer {
            Layer::Lcp => self.lcp.judge(packet, options, naks_exhausted),
            Layer::Ipcp => self.ipcp.as_ref().map_or(Answer::Ack, |ipcp| ipcp.judge(packet, options, naks_exhausted)),
            Layer::Ipv6cp => {
                self.ipv6cp.as_ref().map_or(Answer::Ack, |ipv6cp| ipv6cp.judge(packet, options, naks_exhausted))
            }
        };
        if layer == Layer::Lcp && self.lcp.is_looped_back(self.config.max_failure) {
            self.close(now, EndCause::LoopedBack, out);
            return Ok(());
        }
        let event = match answer {
            Answer::Ack => Event::ConfigureRequestGood,
            Answer::Nak(_) | Answer::Reject(_) => Event::ConfigureRequestBad,
        };
        let trigger = Trigger { packet: Some(packet), payload: &[], answer: Some(answer) };
        self.run(layer, event, trigger, now, out);
        Ok(())
    }

    /// A Configure-Request equal in identifier and options to the one acknowledged a short while ago, while Opened.
    fn is_repetition(&self, layer: Layer, packet: Packet<'_>, now: Instant) -> bool {
        let automaton = self.automaton(layer);
        automaton.state == State::Opened
            && automaton.acked.is_some_and(|Acked { id, digest: acked, until }| {
                now < until && id == packet.id && acked == digest(packet.data)
            })
    }

    /// Whether a packet answers the Configure-Request outstanding.
    fn check_answer(&self, layer: Layer, packet: Packet<'_>) -> Result<(), Discard> {
        let automaton = self.automaton(layer);
        if automaton.outstanding && automaton.request_id == packet.id { Ok(()) } else { Err(Discard::StaleIdentifier) }
    }

    fn configure_ack(
        &mut self,
        layer: Layer,
        packet: Packet<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        self.check_answer(layer, packet)?;
        // RFC 1661 section 5.2: the options must be exactly those of the request.
        if self.configure_request_packet(layer, packet.id).get(4..) != Some(packet.data) {
            return Err(Discard::OptionMismatch);
        }
        let automaton = self.automaton_mut(layer);
        automaton.outstanding = false;
        automaton.new_id = true;
        automaton.naks_received = 0;
        self.run(layer, Event::ConfigureAck, Trigger::NONE, now, out);
        Ok(())
    }

    fn configure_nak(
        &mut self,
        layer: Layer,
        packet: Packet<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        self.check_answer(layer, packet)?;
        let options = Options::parse(packet.data).map_err(|_| Discard::BadOption)?;
        let insisted = self.automaton(layer).naks_received >= self.config.max_failure;
        let is_nak = packet.code == code::CONFIGURE_NAK;
        let effect = match layer {
            Layer::Lcp if is_nak => Some(self.lcp.nak(&self.config, options, insisted)),
            Layer::Lcp => self.lcp.reject(options),
            Layer::Ipcp => self.ipcp.as_mut().and_then(|ipcp| {
                let valid = if is_nak {
                    ipcp.nak(insisted);
                    true
                } else {
                    ipcp.reject(options)
                };
                valid.then_some(Effect::AskAgain)
            }),
            Layer::Ipv6cp => self.ipv6cp.as_mut().and_then(|ipv6cp| {
                let valid = if is_nak {
                    ipv6cp.nak(insisted);
                    true
                } else {
                    ipv6cp.reject(options)
                };
                valid.then_some(Effect::AskAgain)
            }),
        };
        let effect = effect.ok_or(Discard::OptionMismatch)?;
        let automaton = self.automaton_mut(layer);
        automaton.outstanding = false;
        automaton.new_id = true;
        automaton.naks_received = automaton.naks_received.saturating_add(1);
        // Each Nak starts the Restart counter again (section 4.1, RCN), so a client that never agrees would have a new
        // request at wire speed; section 4.5 leaves ending such a loop to us.
        let hopeless = automaton.naks_received > self.config.max_failure.saturating_mul(2);
        match effect {
            Effect::AskAgain if hopeless => self.give_up(layer, now, out),
            Effect::AskAgain => self.run(layer, Event::ConfigureNak, Trigger::NONE, now, out),
            Effect::AuthRefused => self.close(now, EndCause::AuthRefused, out),
        }
        Ok(())
    }

    /// The client has refused too often: the link ends, or the network protocol does and leaves the link alone.
    fn give_up(&mut self, layer: Layer, now: Instant, out: &mut Vec<Action>) {
        match layer {
            Layer::Lcp => self.close(now, EndCause::NotConverging, out),
            Layer::Ipcp | Layer::Ipv6cp => self.run(layer, Event::Close, Trigger::NONE, now, out),
        }
    }

    fn code_reject(
        &mut self,
        layer: Layer,
        packet: Packet<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        let rejected = *packet.data.first().ok_or(Discard::Malformed)?;
        match rejected {
            // Without these no link can be (RFC 1661 section 4.3, RXJ-).
            code::CONFIGURE_REQUEST..=code::CODE_REJECT => {
                self.run_fatal_reject(layer, now, out);
            }
            _ => {
                if layer == Layer::Lcp && rejected == code::ECHO_REQUEST {
                    // "The implementation MUST stop sending the offending packet type."
                    self.keepalive.stop();
                }
                self.run(layer, Event::RejectTolerable, Trigger::NONE, now, out);
            }
        }
        Ok(())
    }

    fn protocol_reject(&mut self, packet: Packet<'_>, now: Instant, out: &mut Vec<Action>) -> Result<(), Discard> {
        // RFC 1661 section 5.7: in any other state SHOULD be silently discarded.
        if self.lcp_automaton.state != State::Opened {
            return Err(Discard::WrongPhase);
        }
        let ProtocolReject { protocol, .. } = ProtocolReject::parse(packet.data).ok_or(Discard::Malformed)?;
        match protocol {
            protocol::LCP => self.run_fatal_reject(Layer::Lcp, now, out),
            protocol::IPCP => self.stop_rejected(Layer::Ipcp, now, out),
            protocol::IPV6CP => self.stop_rejected(Layer::Ipv6cp, now, out),
            protocol::PAP | protocol::CHAP if self.phase == Phase::Authenticate => {
                self.close(now, EndCause::AuthRefused, out);
            }
            _ => self.run(Layer::Lcp, Event::RejectTolerable, Trigger::NONE, now, out),
        }
        Ok(())
    }

    /// The client does not speak this network control protocol. Not one packet more may be sent (RFC 1661 section
    /// 5.7), so this is not the table's RXJ-, which sends a Terminate-Request: the layer goes down and waits, as in
    /// Stopped, for a client that begins by itself after all.
    fn stop_rejected(&mut self, layer: Layer, now: Instant, out: &mut Vec<Action>) {
        if matches!(self.automaton(layer).state, State::Initial | State::Starting) {
            return;
        }
        self.run(layer, Event::Down, Trigger::NONE, now, out);
        self.automaton_mut(layer).state = State::Stopped;
    }

    fn run_fatal_reject(&mut self, layer: Layer, now: Instant, out: &mut Vec<Action>) {
        if layer == Layer::Lcp {
            self.end_cause.get_or_insert(EndCause::ProtocolError);
        }
        self.run(layer, Event::RejectFatal, Trigger::NONE, now, out);
    }

    fn echo(
        &mut self,
        packet: Packet<'_>,
        trigger: Trigger<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        // RFC 1661 section 5.8: outside Opened SHOULD be silently discarded.
        if self.lcp_automaton.state != State::Opened {
            return Err(Discard::WrongPhase);
        }
        let echo = Echo::parse(packet.data).ok_or(Discard::Malformed)?;
        if packet.code == code::ECHO_REPLY {
            // Any magic number will do: some clients send this side's back, and a reply is a sign of life whatever
            // it carries.
            return if self.keepalive.replied() { Ok(()) } else { Err(Discard::Unexpected) };
        }
        // A request with this side's own number is this side's own request, come back over a loop (section 6.4).
        if echo.magic != 0 && echo.magic == self.lcp.magic() {
            return Err(Discard::OwnMagic);
        }
        self.run(Layer::Lcp, Event::Echo, trigger, now, out);
        Ok(())
    }
}
