//! Disconnect and CoA requests (RFC 5176): verified, understood, and answered once the owner has done what they ask.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::Now;
use crate::authenticator::{verify_message_authenticator, verify_request};
use crate::authorization::{Authorization, FramedIp, Reader};
use crate::build::{AttributeList, encode_reply};
use crate::dictionary::{self, VENDOR_BROADBAND_FORUM, Where, number};
use crate::error::{Discard, DiscardCounters};
use crate::mapping::{self, Rule};
use crate::packet::{Code, Packet};
use crate::request::Nas;
use crate::secret::Secret;
use crate::value;

/// Who may send requests.
#[derive(Debug, Clone)]
pub struct DynamicClient {
    /// Its address; any port.
    pub address: IpAddr,
    /// The shared secret, never empty.
    pub secret: Secret,
    /// Whether its requests must carry Message-Authenticator. Off by default: RFC 5176 section 3 leaves it open, and
    /// the Request Authenticator covers the packet already.
    pub require_message_authenticator: bool,
}

/// Settings.
#[derive(Debug, Clone)]
pub struct DynamicConfig {
    /// Who may send requests; all others are met with silence.
    pub clients: Vec<DynamicClient>,
    /// How the box names itself: a request for another one is refused.
    pub nas: Nas,
    /// How far Event-Timestamp may be off, both ways (RFC 5176 section 6.3: 300 s).
    pub window: Duration,
    /// Whether Event-Timestamp must be there. Off by default: many tools leave it out.
    pub require_event_timestamp: bool,
    /// How long an answer is kept for repetitions of its request.
    pub answers_kept: Duration,
    /// Requests being worked on and answers kept, together at most.
    pub requests_max: usize,
    /// What vendors' attributes mean.
    pub rules: Vec<Rule>,
}

impl Default for DynamicConfig {
    fn default() -> Self {
        Self {
            clients: Vec::new(),
            nas: Nas::default(),
            window: Duration::from_secs(300),
            require_event_timestamp: false,
            answers_kept: Duration::from_secs(30),
            requests_max: 4096,
            rules: mapping::DEFAULT_RULES.to_vec(),
        }
    }
}

/// Error-Cause (RFC 5176 section 3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum ErrorCause {
    /// 401: an attribute that cannot be changed here.
    UnsupportedAttribute = 401,
    /// 402: nothing names a session.
    MissingAttribute = 402,
    /// 403: meant for another NAS.
    NasIdentificationMismatch = 403,
    /// 404: some other fault of the request.
    InvalidRequest = 404,
    /// 405: Service-Type is not supported.
    UnsupportedService = 405,
    /// 407: a value that cannot be.
    InvalidAttributeValue = 407,
    /// 501: this is not allowed.
    AdministrativelyProhibited = 501,
    /// 503: no session is meant.
    SessionContextNotFound = 503,
    /// 504: the session cannot be ended.
    SessionContextNotRemovable = 504,
    /// 506: something is used up.
    ResourcesUnavailable = 506,
    /// 508: several sessions are meant where one is needed.
    MultipleSessionSelectionUnsupported = 508,
}

/// What names a session. All that is given must match: one key or several (RFC 5176 section 3).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionKeys {
    /// Acct-Session-Id.
    pub acct_session_id: Option<Vec<u8>>,
    /// Acct-Multi-Session-Id.
    pub acct_multi_session_id: Option<Vec<u8>>,
    /// User-Name.
    pub user_name: Option<Vec<u8>>,
    /// Framed-IP-Address; the two magic values are no keys.
    pub ipv4: Option<Ipv4Addr>,
    /// Framed-IPv6-Address.
    pub ipv6_address: Option<Ipv6Addr>,
    /// Framed-IPv6-Prefix.
    pub ipv6_prefix: Option<(Ipv6Addr, u8)>,
    /// Delegated-IPv6-Prefix.
    pub delegated_prefix: Option<(Ipv6Addr, u8)>,
    /// Framed-Interface-Id.
    pub interface_id: Option<u64>,
    /// NAS-Port.
    pub nas_port: Option<u32>,
    /// NAS-Port-Id.
    pub nas_port_id: Option<Vec<u8>>,
    /// Calling-Station-Id.
    pub calling_station_id: Option<Vec<u8>>,
    /// Called-Station-Id.
    pub called_station_id: Option<Vec<u8>>,
    /// Agent-Circuit-Id of vendor 3561.
    pub circuit_id: Option<Vec<u8>>,
    /// Agent-Remote-Id of vendor 3561.
    pub remote_id: Option<Vec<u8>>,
}

impl SessionKeys {
    /// Whether nothing is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Takes a key. `None`: not a key; `Some(false)`: a value that it cannot have.
    fn take(&mut self, vendor: u32, number: u8, octets: &[u8]) -> Option<bool> {
        let text = Some(octets.to_vec());
        if vendor == VENDOR_BROADBAND_FORUM {
            match number {
                number::AGENT_CIRCUIT_ID => self.circuit_id = text,
                number::AGENT_REMOTE_ID => self.remote_id = text,
                _ => return None,
            }
            return Some(true);
        }
        if vendor != 0 {
            return None;
        }
        let good = match number {
            number::ACCT_SESSION_ID => set(&mut self.acct_session_id, text),
            number::ACCT_MULTI_SESSION_ID => set(&mut self.acct_multi_session_id, text),
            number::USER_NAME => set(&mut self.user_name, text),
            number::FRAMED_IP_ADDRESS => match value::ipv4(octets) {
                Some(address) if address.to_bits() >= 0xffff_fffe => true,
                address => set(&mut self.ipv4, address),
            },
            number::FRAMED_IPV6_ADDRESS => set(&mut self.ipv6_address, value::ipv6(octets)),
            number::FRAMED_IPV6_PREFIX => set(&mut self.ipv6_prefix, value::ipv6_prefix(octets)),
            number::DELEGATED_IPV6_PREFIX => set(&mut self.delegated_prefix, value::ipv6_prefix(octets)),
            number::FRAMED_INTERFACE_ID => set(&mut self.interface_id, value::integer64(octets)),
            number::NAS_PORT => set(&mut self.nas_port, value::integer(octets)),
            number::NAS_PORT_ID => set(&mut self.nas_port_id, text),
            number::CALLING_STATION_ID => set(&mut self.calling_station_id, text),
            number::CALLED_STATION_ID => set(&mut self.called_station_id, text),
            _ => return None,
        };
        Some(good)
    }
}

fn set<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    let good = value.is_some();
    *place = value;
    good
}

/// Names a request while it is being worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(u64);

/// What the owner is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send this answer.
    Send {
        /// To whom, from the address and port that the request came to.
        to: SocketAddr,
        /// The octets.
        datagram: Vec<u8>,
    },
    /// End the sessions that all keys fit, then call [`DynamicServer::answer`].
    Disconnect {
        /// For the answer.
        ticket: Ticket,
        /// Which sessions; not empty.
        keys: SessionKeys,
    },
    /// Change the sessions that all keys fit: all of the change or nothing, then call [`DynamicServer::answer`].
    Change {
        /// For the answer.
        ticket: Ticket,
        /// Which sessions; not empty.
        keys: SessionKeys,
        /// What to change: what is `None` or empty stays as it is.
        change: Box<Authorization>,
    },
}

/// What the owner has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// All of it.
    Done,
    /// Nothing, and why.
    Refused(ErrorCause),
}

/// What has been asked and answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DynamicCounters {
    /// Disconnect-Requests taken.
    pub disconnects: u64,
    /// CoA-Requests taken.
    pub changes: u64,
    /// ACKs, repetitions not counted.
    pub acks: u64,
    /// NAKs, repetitions not counted.
    pub naks: u64,
    /// Repetitions answered with the same octets.
    pub repeated: u64,
    /// Datagrams thrown away, by reason.
    pub discards: DiscardCounters,
}

/// The same source, Identifier and authenticator: the same request (RFC 5176 section 2.3).
type Key = (SocketAddr, u8, [u8; 16]);

enum State {
    Working,
    Answered(Vec<u8>),
}

struct Work {
    key: Key,
    code: Code,
    client: usize,
    with_message_authenticator: bool,
    echo: AttributeList,
}

/// See the [module](self).
pub struct DynamicServer {
    config: DynamicConfig,
    seen: HashMap<Key, State>,
    answered: VecDeque<(Instant, Key)>,
    work: HashMap<Ticket, Work>,
    next_ticket: u64,
    counters: DynamicCounters,
}

impl DynamicServer {
    /// A server that has seen nothing yet.
    #[must_use]
    pub fn new(config: DynamicConfig) -> Self {
        Self {
            config,
            seen: HashMap::new(),
            answered: VecDeque::new(),
            work: HashMap::new(),
            next_ticket: 0,
            counters: DynamicCounters::default(),
        }
    }

    /// Takes a datagram.
    ///
    /// # Errors
    ///
    /// [`Discard`]: met with silence and counted; nothing has changed.
    pub fn handle(
        &mut self,
        now: Now,
        from: SocketAddr,
        datagram: &[u8],
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        let result = self.take(now, from, datagram, out);
        if let Err(reason) = result {
            self.counters.discards.count(reason);
        }
        result
    }

    fn take(&mut self, now: Now, from: SocketAddr, datagram: &[u8], out: &mut Vec<Action>) -> Result<(), Discard> {
        let clients = &self.config.clients;
        let from_ip = from.ip().to_canonical();
        let client_index = clients.iter().position(|client| client.address == from_ip).ok_or(Discard::WrongSource)?;
        let client = clients.get(client_index).ok_or(Discard::WrongSource)?;
        let packet = Packet::parse(datagram)?;
        if !matches!(packet.code(), Code::DISCONNECT_REQUEST | Code::COA_REQUEST) {
            return Err(Discard::UnexpectedCode);
        }
        if client.secret.expose().is_empty() || !verify_request(&packet, &client.secret) {
            return Err(Discard::BadAuthenticator);
        }
        let message_authenticator = verify_message_authenticator(&packet, &[0; 16], &client.secret);
        match message_authenticator {
            Some(false) => return Err(Discard::BadMessageAuthenticator),
            None if client.require_message_authenticator => return Err(Discard::NoMessageAuthenticator),
            None if packet.first(number::MESSAGE_AUTHENTICATOR).is_some() => return Err(Discard::Malformed),
            _ => {}
        }
        // The window comes before the memory of answers: a packet recorded long ago stays outside.
        let timestamp =
            packet.first(number::EVENT_TIMESTAMP).map(|octets| value::integer(octets).ok_or(Discard::Malformed));
        match timestamp.transpose()? {
            Some(time) if u64::from(time).abs_diff(now.unix_s) > self.config.window.as_secs() => {
                return Err(Discard::StaleTimestamp);
            }
            None if self.config.require_event_timestamp => return Err(Discard::StaleTimestamp),
            _ => {}
        }
        self.expire(now.at);
        let key = (from, packet.id(), *packet.authenticator());
        match self.seen.get(&key) {
            Some(State::Working) => return Err(Discard::Repeated),
            Some(State::Answered(datagram)) => {
                self.counters.repeated = self.counters.repeated.saturating_add(1);
                out.push(Action::Send { to: from, datagram: datagram.clone() });
                return Ok(());
            }
            None => {}
        }
        if self.seen.len() >= self.config.requests_max {
            return Err(Discard::Busy);
        }
        // Proxy-State is given back as it came, in order (RFC 5176 section 3.1).
        let mut echo = AttributeList::new();
        for attribute in packet.attributes().filter(|attribute| attribute.number == number::PROXY_STATE) {
            echo.push(attribute.number, attribute.value).map_err(|_| Discard::Malformed)?;
        }
        let understood = understand(&packet, &self.config);
        let ticket = Ticket(self.next_ticket);
        self.next_ticket = self.next_ticket.wrapping_add(1);
        let with_message_authenticator = message_authenticator.is_some();
        let code = packet.code();
        self.seen.insert(key, State::Working);
        self.work.insert(ticket, Work { key, code, client: client_index, with_message_authenticator, echo });
        let counter = match code {
            Code::COA_REQUEST => &mut self.counters.changes,
            _ => &mut self.counters.disconnects,
        };
        *counter = counter.saturating_add(1);
        match understood {
            Err(cause) => self.answer(now.at, ticket, Answer::Refused(cause), out),
            Ok((keys, _)) if code == Code::DISCONNECT_REQUEST => out.push(Action::Disconnect { ticket, keys }),
            Ok((keys, change)) => out.push(Action::Change { ticket, keys, change: Box::new(change) }),
        }
        Ok(())
    }

    /// Tells what became of a request; it is answered, and so are its repetitions from now on. A ticket that was
    /// answered before changes nothing.
    pub fn answer(&mut self, now: Instant, ticket: Ticket, answer: Answer, out: &mut Vec<Action>) {
        let Some(mut work) = self.work.remove(&ticket) else { return };
        let Some(client) = self.config.clients.get(work.client) else { return };
        let (counter, code) = match (answer, work.code) {
            (Answer::Done, Code::COA_REQUEST) => (&mut self.counters.acks, Code::COA_ACK),
            (Answer::Done, _) => (&mut self.counters.acks, Code::DISCONNECT_ACK),
            (Answer::Refused(_), Code::COA_REQUEST) => (&mut self.counters.naks, Code::COA_NAK),
            (Answer::Refused(_), _) => (&mut self.counters.naks, Code::DISCONNECT_NAK),
        };
        *counter = counter.saturating_add(1);
        if let Answer::Refused(cause) = answer {
            // There is room: the request held less than a packet, and this is 6 octets.
            let _ = work.echo.push_integer(number::ERROR_CAUSE, cause as u32);
        }
        let (_, id, authenticator) = &work.key;
        let secret = &client.secret;
        let reply = encode_reply(code, *id, authenticator, work.with_message_authenticator, &work.echo, secret);
        let Ok(datagram) = reply else {
            self.seen.remove(&work.key);
            return;
        };
        self.seen.insert(work.key, State::Answered(datagram.clone()));
        let until = now.checked_add(self.config.answers_kept).unwrap_or(now);
        self.answered.push_back((until, work.key));
        out.push(Action::Send { to: work.key.0, datagram });
    }

    /// Requests being worked on and answers kept.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.seen.len()
    }

    /// Counters.
    #[must_use]
    pub const fn counters(&self) -> &DynamicCounters {
        &self.counters
    }

    fn expire(&mut self, now: Instant) {
        while self.answered.front().is_some_and(|(until, _)| *until <= now) {
            if let Some((_, key)) = self.answered.pop_front() {
                self.seen.remove(&key);
            }
        }
    }
}

/// Reads keys and change; nothing is changed unless all of it is understood.
fn understand(packet: &Packet<'_>, config: &DynamicConfig) -> Result<(SessionKeys, Authorization), ErrorCause> {
    packet.validate().map_err(|_| ErrorCause::InvalidAttributeValue)?;
    let is_change = packet.code() == Code::COA_REQUEST;
    let mut keys = SessionKeys::default();
    let mut reader = Reader::new(&config.rules);
    let mut changes = false;
    for attribute in packet.flat() {
        let (vendor, number, octets) = (attribute.vendor, attribute.number, attribute.value);
        match (vendor, number) {
            (0, number::NAS_IP_ADDRESS) if config.nas.ipv4 != value::ipv4(octets) => {
                return Err(ErrorCause::NasIdentificationMismatch);
            }
            (0, number::NAS_IPV6_ADDRESS) if config.nas.ipv6 != value::ipv6(octets) => {
                return Err(ErrorCause::NasIdentificationMismatch);
            }
            (0, number::NAS_IDENTIFIER) if config.nas.identifier != octets => {
                return Err(ErrorCause::NasIdentificationMismatch);
            }
            (0, number::NAS_IP_ADDRESS | number::NAS_IPV6_ADDRESS | number::NAS_IDENTIFIER)
            | (0, number::EVENT_TIMESTAMP | number::MESSAGE_AUTHENTICATOR | number::PROXY_STATE)
            // Hints that change nothing here.
            | (0, number::REPLY_MESSAGE | number::ACCT_TERMINATE_CAUSE | number::NAS_PORT_TYPE) => continue,
            // "Authorize Only" and the like (RFC 5176 section 3.2).
            (0, number::SERVICE_TYPE) => return Err(ErrorCause::UnsupportedService),
            _ => {}
        }
        match keys.take(vendor, number, octets) {
            Some(true) => continue,
            Some(false) => return Err(ErrorCause::InvalidAttributeValue),
            None => {}
        }
        let changeable = mapping::concerns(&config.rules, vendor, number)
            || vendor == 0 && dictionary::info(0, number).is_some_and(|info| info.place.has(Where::CHANGE));
        // Class and State may stand in a Disconnect-Request (RFC 5176 section 3.6).
        let harmless = vendor == 0 && matches!(number, number::CLASS | number::STATE);
        if !is_change && !harmless || !changeable {
            return Err(ErrorCause::UnsupportedAttribute);
        }
        match reader.take(attribute) {
            Ok(true) => changes |= is_change,
            Ok(false) => return Err(ErrorCause::UnsupportedAttribute),
            Err(_) => return Err(ErrorCause::InvalidAttributeValue),
        }
    }
    if keys.is_empty() || is_change && !changes {
        return Err(ErrorCause::MissingAttribute);
    }
    debug_assert!(!matches!(reader.authorization.framed_ip, Some(FramedIp::Address(_))), "an address is a key");
    Ok((keys, reader.authorization))
}
