//! What the automaton's actions do: the one place where a state is entered or left.

use crate::automaton::{Acked, Act, Automaton, Event, State, transition};
use crate::events::Action;
use crate::lcp::MRU_PPPOE;
use crate::negotiate::{Answer, PACKET_OCTETS_MAX, digest};
use crate::session::{Phase, Ppp};
use bng_wire::ppp::{Options, Packet, PacketBuilder, code, protocol};
use std::time::Instant;

/// The three protocols that have an automaton.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    Lcp,
    Ipcp,
    Ipv6cp,
}

impl Layer {
    const fn protocol(self) -> u16 {
        match self {
            Self::Lcp => protocol::LCP,
            Self::Ipcp => protocol::IPCP,
            Self::Ipv6cp => protocol::IPV6CP,
        }
    }
}

/// What an event came with.
#[derive(Debug)]
pub(crate) struct Trigger<'a> {
    /// The packet, for events that are one.
    pub(crate) packet: Option<Packet<'a>>,
    /// The same as octets, for Code-Reject.
    pub(crate) payload: &'a [u8],
    /// The answer to a Configure-Request.
    pub(crate) answer: Option<Answer>,
}

impl Trigger<'_> {
    /// Nothing.
    pub(crate) const NONE: Self = Self { packet: None, payload: &[], answer: None };
}

/// A copy of an acknowledged Configure-Request counts as a repetition for this many restart intervals: with one
/// interval of delay each way the last copy comes two intervals after the first.
const REPETITION_INTERVALS: u32 = 3;

impl Ppp {
    pub(crate) const fn automaton(&self, layer: Layer) -> &Automaton {
        match layer {
            Layer::Lcp => &self.lcp_automaton,
            Layer::Ipcp => &self.ipcp_automaton,
            Layer::Ipv6cp => &self.ipv6cp_automaton,
        }
    }

    pub(crate) const fn automaton_mut(&mut self, layer: Layer) -> &mut Automaton {
        match layer {
            Layer::Lcp => &mut self.lcp_automaton,
            Layer::Ipcp => &mut self.ipcp_automaton,
            Layer::Ipv6cp => &mut self.ipv6cp_automaton,
        }
    }

    /// Feeds an event to a layer's automaton and does what the table says. An event that the table calls illegal
    /// changes nothing (RFC 1661 section 4.4).
    pub(crate) fn run(
        &mut self,
        layer: Layer,
        event: Event,
        trigger: Trigger<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let before = self.automaton(layer).state;
        let Some(cell) = transition(before, event) else { return };
        self.automaton_mut(layer).state = cell.next;
        for act in cell.acts.into_iter().flatten() {
            match act {
                // The lower layer is there from the start: the PPPoE session, or LCP itself.
                Act::Tls => {}
                Act::Tlu => self.layer_up(layer, now, out),
                Act::Tld => self.layer_down(layer, now, out),
                Act::Tlf if layer == Layer::Lcp => self.finish(out),
                // A network protocol that ends leaves the link alone (RFC 1661 section 3.7).
                Act::Tlf => {}
                Act::Irc => {
                    let terminating = cell.has(Act::Str);
                    let transmissions = if terminating { self.config.max_terminate } else { self.config.max_configure };
                    self.automaton_mut(layer).restarts_left = transmissions;
                }
                Act::Zrc => {
                    self.automaton_mut(layer).restarts_left = 0;
                    self.arm_restart(layer, now);
                }
                Act::Scr => self.send_configure_request(layer, before, now, out),
                Act::Sca => self.acknowledge(layer, &trigger, now, out),
                Act::Scn => self.send_refusal(layer, &trigger, out),
                Act::Str => {
                    let id = self.automaton_mut(layer).take_id();
                    send(layer, PacketBuilder::new(code::TERMINATE_REQUEST, id, PACKET_OCTETS_MAX), out);
                    self.count_transmission(layer, now);
                }
                Act::Sta => {
                    // Section 5.5: the identifier of a request is copied. Where the Ack answers another packet,
                    // that one's is as good as any.
                    let id = match trigger.packet {
                        Some(packet) => packet.id,
                        None => self.automaton_mut(layer).take_id(),
                    };
                    send(layer, PacketBuilder::new(code::TERMINATE_ACK, id, PACKET_OCTETS_MAX), out);
                }
                Act::Scj => self.send_code_reject(layer, &trigger, out),
                Act::Ser => self.send_echo_reply(&trigger, out),
            }
        }
        self.after(layer, now, out);
    }

    /// What holds in every state, whatever led to it.
    fn after(&mut self, layer: Layer, now: Instant, out: &mut Vec<Action>) {
        let automaton = self.automaton_mut(layer);
        if !automaton.state.has_restart_timer() {
            automaton.restart_at = None;
        }
        let state = automaton.state;
        // The client may use what has been acknowledged; in any other state it may not.
        let granted = matches!(state, State::AckSent | State::Opened);
        match layer {
            Layer::Lcp => {
                if matches!(state, State::Closing | State::Stopping) {
                    self.phase = Phase::Terminate;
                    self.phase_ends_at = None;
                    self.service_due_at = None;
                }
                return;
            }
            Layer::Ipcp if self.ipv4_granted && !granted => {
                self.ipv4_granted = false;
                out.push(Action::Ipv4Down);
            }
            Layer::Ipv6cp if self.ipv6_granted && !granted => {
                self.ipv6_granted = false;
                out.push(Action::Ipv6Down);
            }
            _ => {}
        }
        if self.phase == Phase::Network {
            let any_open = self.ipcp_automaton.state == State::Opened || self.ipv6cp_automaton.state == State::Opened;
            if any_open {
                self.phase_ends_at = None;
                self.service_due_at = None;
            } else if self.phase_ends_at.is_none() {
                self.phase_ends_at = now.checked_add(self.config.network_timeout);
            }
        }
    }

    fn layer_up(&mut self, layer: Layer, now: Instant, out: &mut Vec<Action>) {
        match layer {
            Layer::Lcp => {
                out.push(Action::LinkUp {
                    peer_mru: self.lcp.peer_mru(),
                    local_mru: self.lcp.local_mru(),
                    local_magic: self.lcp.magic(),
                });
                self.enter_authenticate(now, out);
            }
            Layer::Ipcp => out.push(Action::Ipv4Opened),
            Layer::Ipv6cp => out.push(Action::Ipv6Opened),
        }
    }

    fn layer_down(&mut self, layer: Layer, now: Instant, out: &mut Vec<Action>) {
        // A network protocol's own side effects follow from its state: see `after`.
        if layer != Layer::Lcp {
            return;
        }
        self.authentication.reset();
        self.keepalive.stop();
        for ncp in [Layer::Ipcp, Layer::Ipv6cp] {
            self.run(ncp, Event::Down, Trigger::NONE, now, out);
            self.run(ncp, Event::Close, Trigger::NONE, now, out);
        }
        self.ipcp = None;
        self.ipv6cp = None;
        self.phase = Phase::Establish;
        self.phase_ends_at = now.checked_add(self.config.establish_timeout);
        self.await_service(now);
        out.push(Action::LinkDown);
    }

    /// The link is over, for the cause that has been noted.
    pub(crate) fn finish(&mut self, out: &mut Vec<Action>) {
        if self.ended {
            return;
        }
        self.ended = true;
        self.phase = Phase::Dead;
        let cause = self.end_cause.unwrap_or(self.unanswered());
        out.push(Action::Ended(cause));
    }

    pub(crate) fn configure_request_packet(&self, layer: Layer, id: u8) -> Vec<u8> {
        match layer {
            Layer::Lcp => self.lcp.request(id),
            Layer::Ipcp => self.ipcp.as_ref().map(|ipcp| ipcp.request(id)).unwrap_or_default(),
            Layer::Ipv6cp => self.ipv6cp.as_ref().map(|ipv6cp| ipv6cp.request(id)).unwrap_or_default(),
        }
    }

    fn send_configure_request(&mut self, layer: Layer, before: State, now: Instant, out: &mut Vec<Action>) {
        if !matches!(before, State::ReqSent | State::AckRcvd | State::AckSent) {
            // A negotiation begins: what was agreed or refused in an earlier one is no longer in force.
            match layer {
                Layer::Lcp => self.lcp.reset(&self.config),
                Layer::Ipcp => self.ipcp.iter_mut().for_each(|ipcp| ipcp.reset()),
                Layer::Ipv6cp => self.ipv6cp.iter_mut().for_each(|ipv6cp| ipv6cp.reset()),
            }
            let automaton = self.automaton_mut(layer);
            automaton.forget_naks();
            automaton.naks_received = 0;
            automaton.new_id = true;
            automaton.acked = None;
        }
        let automaton = self.automaton_mut(layer);
        if automaton.new_id {
            automaton.request_id = automaton.take_id();
            automaton.new_id = false;
        }
        automaton.outstanding = true;
        let id = automaton.request_id;
        out.push(Action::Send { protocol: layer.protocol(), payload: self.configure_request_packet(layer, id) });
        self.count_transmission(layer, now);
    }

    /// The Restart counter goes down with each transmission, the first included (section 4.4, irc), and the timer
    /// starts.
    fn count_transmission(&mut self, layer: Layer, now: Instant) {
        let automaton = self.automaton_mut(layer);
        automaton.restarts_left = automaton.restarts_left.saturating_sub(1);
        self.arm_restart(layer, now);
    }

    fn arm_restart(&mut self, layer: Layer, now: Instant) {
        self.automaton_mut(layer).restart_at = now.checked_add(self.config.restart_interval);
    }

    /// Send-Configure-Ack: the client's options come into force, and what they allow is announced first.
    fn acknowledge(&mut self, layer: Layer, trigger: &Trigger<'_>, now: Instant, out: &mut Vec<Action>) {
        let Some(packet) = trigger.packet else { return };
        let Ok(options) = Options::parse(packet.data) else { return };
        match layer {
            Layer::Lcp => self.lcp.acknowledge(options),
            Layer::Ipcp => {
                if let (Some(ipcp), false) = (&self.ipcp, self.ipv4_granted) {
                    self.ipv4_granted = true;
                    out.push(Action::Ipv4Up { local: ipcp.offer().local, peer: ipcp.offer().peer });
                }
            }
            Layer::Ipv6cp => {
                if let Some(ipv6cp) = &mut self.ipv6cp {
                    let known = self.ipv6_granted.then(|| ipv6cp.peer_id());
                    ipv6cp.acknowledge(options);
                    if known != Some(ipv6cp.peer_id()) {
                        self.ipv6_granted = true;
                        out.push(Action::Ipv6Up { local_id: ipv6cp.local_id(), peer_id: ipv6cp.peer_id() });
                    }
                }
            }
        }
        let window = self.config.restart_interval.saturating_mul(REPETITION_INTERVALS);
        let automaton = self.automaton_mut(layer);
        automaton.forget_naks();
        automaton.acked =
            now.checked_add(window).map(|until| Acked { id: packet.id, digest: digest(packet.data), until });
        self.send_configure_ack(layer, packet, out);
    }

    /// The options go back exactly as they came (RFC 1661 section 5.2).
    pub(crate) fn send_configure_ack(&self, layer: Layer, packet: Packet<'_>, out: &mut Vec<Action>) {
        let mut builder = PacketBuilder::new(code::CONFIGURE_ACK, packet.id, usize::from(u16::MAX));
        builder.bytes_cut(packet.data);
        send(layer, builder, out);
    }

    fn send_refusal(&mut self, layer: Layer, trigger: &Trigger<'_>, out: &mut Vec<Action>) {
        let payload = match &trigger.answer {
            Some(Answer::Nak(packet)) => {
                if let Some(request) = trigger.packet {
                    self.automaton_mut(layer).count_nak(request.id);
                }
                packet.clone()
            }
            Some(Answer::Reject(packet)) => packet.clone(),
            Some(Answer::Ack) | None => return,
        };
        out.push(Action::Send { protocol: layer.protocol(), payload });
    }

    /// The packet of unknown code goes back, cut to the client's MRU (RFC 1661 section 5.6).
    fn send_code_reject(&mut self, layer: Layer, trigger: &Trigger<'_>, out: &mut Vec<Action>) {
        let Some(packet) = trigger.packet else { return };
        let octets_max = self.maintenance_octets_max();
        let id = self.automaton_mut(layer).take_id();
        let mut builder = PacketBuilder::new(code::CODE_REJECT, id, octets_max);
        let rejected = packet.data.len().saturating_add(4);
        builder.bytes_cut(trigger.payload.get(..rejected).unwrap_or(trigger.payload));
        send(layer, builder, out);
    }

    /// The packet of an unknown protocol goes back, cut to the client's MRU (RFC 1661 section 5.7).
    pub(crate) fn send_protocol_reject(&mut self, rejected: u16, payload: &[u8], out: &mut Vec<Action>) {
        let octets_max = self.maintenance_octets_max();
        let id = self.lcp_automaton.take_id();
        let mut builder = PacketBuilder::new(code::PROTOCOL_REJECT, id, octets_max);
        builder.bytes_cut(&rejected.to_be_bytes()).bytes_cut(payload);
        send(Layer::Lcp, builder, out);
    }

    /// Identifier and data are copied, the magic number is this side's (RFC 1661 section 5.8).
    fn send_echo_reply(&self, trigger: &Trigger<'_>, out: &mut Vec<Action>) {
        let Some(packet) = trigger.packet else { return };
        let mut builder = PacketBuilder::new(code::ECHO_REPLY, packet.id, self.maintenance_octets_max());
        builder.bytes_cut(&self.lcp.magic().to_be_bytes()).bytes_cut(packet.data.get(4..).unwrap_or_default());
        send(Layer::Lcp, builder, out);
    }

    fn maintenance_octets_max(&self) -> usize {
        usize::from(self.lcp.peer_mru().min(MRU_PPPOE))
    }
}

pub(crate) fn send(layer: Layer, builder: PacketBuilder, out: &mut Vec<Action>) {
    out.push(Action::Send { protocol: layer.protocol(), payload: builder.finish() });
}
