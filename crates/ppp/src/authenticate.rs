//! The authentication phase: PAP (RFC 1334) and CHAP (RFC 1994), this side being the authenticator.

use crate::automaton::Event;
use crate::chap::{RESPONSE_OCTETS, challenge_value};
use crate::config::AuthMethod;
use crate::error::Discard;
use crate::events::{Action, AuthRequest, AuthVerdict, Credentials, EndCause, Secret};
use crate::ipcp::Ipcp;
use crate::ipv6cp::Ipv6cp;
use crate::session::{Phase, Ppp};
use crate::transitions::{Layer, Trigger};
use crate::{chap, ms_chap, pap};
use bng_wire::ppp::auth::{ChapValue, PapRequest, chap_code, pap_code};
use bng_wire::ppp::{Packet, protocol};
use std::time::Instant;

/// Where the client stands with proving who it is.
#[derive(Debug, Clone)]
pub(crate) struct Authentication {
    /// When the Challenge is to be repeated.
    pub(crate) challenge_at: Option<Instant>,
    /// The transaction whose verdict is being waited for.
    pending: Option<u32>,
    /// The number of transactions so far.
    transactions: u32,
    /// Identifier that the verdict will be sent with: PAP, of the latest request; CHAP, of the response.
    answer_id: u8,
    /// How the client has proved who it is.
    done: Option<AuthMethod>,
    /// Challenges sent on this link, and how many of them belong to earlier rounds. Identifier and value of each
    /// follow from its number.
    challenges: u32,
    challenges_before: u32,
    first_challenge_id: u8,
    /// Transmissions left in this round.
    challenges_left: u8,
    /// CHAP: the Success has gone out, and the client has not yet shown that it came through.
    success_unseen: bool,
    /// What a repeated Success must say: for MS-CHAP-2 the message that proves this side to the client, else nothing.
    success_message: Box<[u8]>,
}

impl Authentication {
    pub(crate) fn new(first_challenge_id: u8) -> Self {
        Self {
            challenge_at: None,
            pending: None,
            transactions: 0,
            answer_id: 0,
            done: None,
            challenges: 0,
            challenges_before: 0,
            first_challenge_id,
            challenges_left: 0,
            success_unseen: false,
            success_message: Box::default(),
        }
    }

    /// All that was proved or under way is void; numbers go on.
    pub(crate) fn reset(&mut self) {
        self.challenge_at = None;
        self.pending = None;
        self.done = None;
        self.success_unseen = false;
        self.success_message = Box::default();
        self.challenges_before = self.challenges;
    }

    /// The client has begun with a network protocol: it knows of its success.
    pub(crate) const fn seen(&mut self) {
        self.success_unseen = false;
    }

    pub(crate) const fn done_by(&self) -> Option<AuthMethod> {
        self.done
    }

    /// The number of the challenge in this round that had this identifier.
    fn challenge_number(&self, id: u8) -> Option<u32> {
        let in_round = self.challenges.checked_sub(self.challenges_before)?;
        // Identifiers repeat after 256 challenges; a round has at most 255.
        (1..=in_round.min(255)).rev().find_map(|place| {
            let number = self.challenges_before.checked_add(place)?;
            (self.challenge_id(number) == id).then_some(number)
        })
    }

    const fn challenge_id(&self, number: u32) -> u8 {
        let [.., low] = number.to_be_bytes();
        self.first_challenge_id.wrapping_add(low)
    }
}

/// The value of a CHAP Response, by the algorithm that was agreed.
enum ResponseValue {
    Md5([u8; RESPONSE_OCTETS]),
    MsChapV2(ms_chap::Response),
}

impl ResponseValue {
    /// `None`: it has not the octets that the algorithm's values have.
    fn parse(method: AuthMethod, value: &[u8]) -> Option<Self> {
        match method {
            AuthMethod::MsChapV2 => ms_chap::Response::parse(value).map(Self::MsChapV2),
            _ => value.try_into().ok().map(Self::Md5),
        }
    }
}

impl Ppp {
    /// LCP is up.
    pub(crate) fn enter_authenticate(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.phase = Phase::Authenticate;
        self.authentication.reset();
        self.phase_ends_at = now.checked_add(self.config.auth_timeout);
        match self.lcp.auth() {
            // RFC 1334 section 2: the client sends its request unasked.
            Some(AuthMethod::Pap) => {}
            Some(AuthMethod::ChapMd5 | AuthMethod::MsChapV2) => {
                self.authentication.challenges_left = self.config.max_configure;
                self.send_challenge(now, out);
            }
            None => self.ask_for_verdict(Credentials::None, now, out),
        }
    }

    fn ask_for_verdict(&mut self, credentials: Credentials, now: Instant, out: &mut Vec<Action>) {
        self.authentication.transactions = self.authentication.transactions.wrapping_add(1);
        let transaction = self.authentication.transactions;
        self.authentication.pending = Some(transaction);
        self.authentication.challenge_at = None;
        self.phase_ends_at = now.checked_add(self.config.auth_timeout);
        out.push(Action::Authenticate(AuthRequest { transaction, credentials }));
    }

    /// RFC 1994 section 4.1: each Challenge has a new identifier and a new value, also when it only repeats one
    /// that was not answered. A response to any of the round counts, so that a line slower than the restart timer
    /// still gets through.
    fn send_challenge(&mut self, now: Instant, out: &mut Vec<Action>) {
        let authentication = &mut self.authentication;
        authentication.challenges = authentication.challenges.wrapping_add(1);
        authentication.challenges_left = authentication.challenges_left.saturating_sub(1);
        authentication.challenge_at = now.checked_add(self.config.restart_interval);
        let number = authentication.challenges;
        let id = authentication.challenge_id(number);
        let value = challenge_value(self.seed, number);
        out.push(chap::challenge(id, &value, self.config.name.as_bytes()));
    }

    pub(crate) fn repeat_challenge(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.authentication.challenges_left > 0 {
            self.send_challenge(now, out);
        } else {
            self.authentication.challenge_at = None;
            self.close(now, EndCause::AuthTimeout, out);
        }
    }

    /// A CHAP client whose Success was lost does not ask again, as one of PAP does (RFC 1994 section 4.1 only makes it
    /// answer challenges), and neither side would get on. As long as it has begun with no network protocol, Success
    /// goes out again with each repeated request of ours; a client that has had it ignores it.
    pub(crate) fn repeat_success(&self, out: &mut Vec<Action>) {
        if self.authentication.success_unseen {
            out.push(self.success());
        }
    }

    /// CHAP's Success once more.
    fn success(&self) -> Action {
        let Authentication { answer_id, ref success_message, .. } = self.authentication;
        chap::reply(chap_code::SUCCESS, answer_id, success_message)
    }

    pub(crate) fn pap_packet(&mut self, payload: &[u8], now: Instant, out: &mut Vec<Action>) -> Result<(), Discard> {
        let packet = self.auth_packet(self.lcp.auth() == Some(AuthMethod::Pap), protocol::PAP, payload, out)?;
        let Some(packet) = packet else { return Ok(()) };
        if packet.code != pap_code::REQUEST {
            return Err(Discard::Unexpected);
        }
        let PapRequest { name, password } = PapRequest::parse(packet.data).map_err(|_| Discard::BadOption)?;
        if self.phase == Phase::Network {
            // RFC 1334 section 2.2.1: the Ack may have been lost; the same reply code goes out again.
            out.push(pap::reply(pap_code::ACK, packet.id, &[]));
            return Ok(());
        }
        self.authentication.answer_id = packet.id;
        if self.authentication.pending.is_some() {
            // One transaction, and its verdict answers the latest request.
            return Err(Discard::AuthPending);
        }
        if name.is_empty() {
            self.refuse(AuthMethod::Pap, &[], now, out);
            return Ok(());
        }
        let credentials = Credentials::Pap { name: name.to_vec(), password: Secret::new(password) };
        self.ask_for_verdict(credentials, now, out);
        Ok(())
    }

    pub(crate) fn chap_packet(&mut self, payload: &[u8], now: Instant, out: &mut Vec<Action>) -> Result<(), Discard> {
        let method = self.lcp.auth().filter(|method| *method != AuthMethod::Pap);
        let packet = self.auth_packet(method.is_some(), protocol::CHAP, payload, out)?;
        let (Some(packet), Some(method)) = (packet, method) else { return Ok(()) };
        if packet.code != chap_code::RESPONSE {
            return Err(Discard::Unexpected);
        }
        let ChapValue { value, name } = ChapValue::parse(packet.data).map_err(|_| Discard::BadOption)?;
        let value = ResponseValue::parse(method, value).ok_or(Discard::BadOption)?;
        if self.phase == Phase::Network {
            // RFC 1994 section 4.1: the Success may have been lost; the same reply code goes out again.
            if packet.id != self.authentication.answer_id {
                return Err(Discard::StaleIdentifier);
            }
            out.push(self.success());
            return Ok(());
        }
        if self.authentication.pending.is_some() {
            return Err(Discard::AuthPending);
        }
        let number = self.authentication.challenge_number(packet.id).ok_or(Discard::StaleIdentifier)?;
        self.authentication.answer_id = packet.id;
        if name.is_empty() {
            self.refuse(method, &[], now, out);
            return Ok(());
        }
        let challenge = challenge_value(self.seed, number);
        let (name, id) = (name.to_vec(), packet.id);
        let credentials = match value {
            ResponseValue::Md5(response) => Credentials::ChapMd5 { name, id, challenge, response },
            ResponseValue::MsChapV2(ms_chap::Response { peer_challenge, nt_response, flags }) => {
                Credentials::MsChapV2 { name, id, challenge, peer_challenge, nt_response, flags }
            }
        };
        self.ask_for_verdict(credentials, now, out);
        Ok(())
    }

    /// A packet of an authentication protocol, if this is the time for it. `None`: it has been answered.
    fn auth_packet<'a>(
        &mut self,
        agreed: bool,
        protocol: u16,
        payload: &'a [u8],
        out: &mut Vec<Action>,
    ) -> Result<Option<Packet<'a>>, Discard> {
        match self.phase {
            Phase::Authenticate | Phase::Network if agreed => {
                Packet::parse(payload).map(Some).map_err(|_| Discard::Malformed)
            }
            // Not a protocol of this link: RFC 1661 section 5.7.
            Phase::Network => {
                self.send_protocol_reject(protocol, payload, out);
                Ok(None)
            }
            // RFC 1661 sections 3.4 to 3.7, RFC 1334 section 2.2.1: silently discarded in any other phase.
            _ => Err(Discard::WrongPhase),
        }
    }

    /// The verdict on an [`AuthRequest`]; one whose `transaction` is no longer outstanding is ignored.
    pub fn auth_result(&mut self, now: Instant, transaction: u32, verdict: AuthVerdict, out: &mut Vec<Action>) {
        if self.ended || self.phase != Phase::Authenticate || self.authentication.pending != Some(transaction) {
            return;
        }
        self.authentication.pending = None;
        let method = self.lcp.auth();
        match verdict {
            AuthVerdict::Accept { ipv4, ipv6, message } => {
                self.authentication.done = method;
                let id = self.authentication.answer_id;
                match method {
                    Some(AuthMethod::Pap) => out.push(pap::reply(pap_code::ACK, id, &message)),
                    Some(AuthMethod::ChapMd5) => {
                        self.authentication.success_unseen = true;
                        out.push(chap::reply(chap_code::SUCCESS, id, &message));
                    }
                    Some(AuthMethod::MsChapV2) => {
                        self.authentication.success_unseen = true;
                        self.authentication.success_message = message.into_boxed_slice();
                        out.push(self.success());
                    }
                    None => {}
                }
                self.ipcp = ipv4.filter(|_| self.config.ipv4).and_then(Ipcp::new);
                self.ipv6cp = ipv6.filter(|_| self.config.ipv6).and_then(|offer| Ipv6cp::new(offer, self.seed));
                self.enter_network(now, out);
            }
            AuthVerdict::Reject { message } => match method {
                Some(method) => self.refuse(method, &message, now, out),
                None => self.close(now, EndCause::AuthFailed, out),
            },
        }
    }

    /// The client learns that it is refused, and only then that the link ends (RFC 1994 section 4.2).
    fn refuse(&mut self, method: AuthMethod, message: &[u8], now: Instant, out: &mut Vec<Action>) {
        let id = self.authentication.answer_id;
        out.push(match method {
            AuthMethod::Pap => pap::reply(pap_code::NAK, id, message),
            AuthMethod::ChapMd5 => chap::reply(chap_code::FAILURE, id, message),
            AuthMethod::MsChapV2 => {
                let number = self.authentication.challenge_number(id).unwrap_or_default();
                let message = ms_chap::failure_message(message, &challenge_value(self.seed, number));
                chap::reply(chap_code::FAILURE, id, &message)
            }
        });
        self.close(now, EndCause::AuthFailed, out);
    }

    fn enter_network(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.phase = Phase::Network;
        self.phase_ends_at = now.checked_add(self.config.network_timeout);
        self.keepalive.start(&self.config, now);
        for (layer, offered) in [(Layer::Ipcp, self.ipcp.is_some()), (Layer::Ipv6cp, self.ipv6cp.is_some())] {
            if offered {
                self.run(layer, Event::Open, Trigger::NONE, now, out);
                self.run(layer, Event::Up, Trigger::NONE, now, out);
            }
        }
    }
}
