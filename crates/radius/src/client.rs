//! The client: requests out, verified replies in, over any number of servers.
//!
//! A [`Client`] serves one purpose, authentication or accounting, so that an outage of the one cannot take identifiers
//! or sockets from the other. A request goes to the best server that is alive, is repeated there unchanged (same
//! Identifier, same authenticator, so that the server sees one request), and then goes to the next one.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use crate::authenticator::{verify_message_authenticator, verify_response};
use crate::build::{AttributeList, DoesNotFit, RequestParts, encode_request};
use crate::error::{Discard, DiscardCounters};
use crate::identifiers::{Identifiers, Slot};
use crate::packet::{Code, Packet};
use crate::random::Random;
use crate::request::Nas;
use crate::secret::Secret;
use crate::timers::Timers;

/// What the servers are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Access-Request.
    Authentication,
    /// Accounting-Request.
    Accounting,
}

/// One server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Where it is.
    pub address: SocketAddr,
    /// The address to send from, for whoever opens the sockets.
    pub source: Option<IpAddr>,
    /// The shared secret; never empty.
    pub secret: Secret,
    /// Whether a reply to an Access-Request must carry Message-Authenticator (CVE-2024-3596). Off only for a server
    /// that cannot; whoever turns it off should warn.
    pub require_message_authenticator: bool,
    /// The server with the lowest number that is alive is asked; those with the same number share the load.
    pub priority: u8,
    /// Share of the load, 1 to 100, among servers of the same priority.
    pub weight: u8,
    /// Whether it answers Status-Server (RFC 5997).
    pub status_server: bool,
}

impl ServerConfig {
    /// A server with the usual settings.
    #[must_use]
    pub const fn new(address: SocketAddr, secret: Secret) -> Self {
        Self {
            address,
            source: None,
            secret,
            require_message_authenticator: true,
            priority: 0,
            weight: 1,
            status_server: true,
        }
    }
}

/// The client's settings.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// What the servers are asked for.
    pub purpose: Purpose,
    /// 1 to 32 servers, each at another address or port.
    pub servers: Vec<ServerConfig>,
    /// How the box names itself in Status-Server requests.
    pub nas: Nas,
    /// Requests outstanding at most.
    pub outstanding_max: usize,
    /// Sockets for each server at most; each carries 256 requests at once.
    pub sockets_max: u16,
    /// Time to the first repetition (RFC 5080 section 2.2.1: IRT).
    pub first_timeout: Duration,
    /// The longest time between repetitions (MRT).
    pub timeout_max: Duration,
    /// Transmissions to one server before the next one is asked.
    pub transmissions_per_server: u8,
    /// How long a request may take over all servers (MRD).
    pub request_time_max: Duration,
    /// A server that has let so many transmissions in a row go unanswered ...
    pub dead_after_timeouts: u32,
    /// ... and has been silent for so long is dead.
    pub dead_after: Duration,
    /// A dead server without Status-Server is asked again after this time.
    pub dead_time: Duration,
    /// Time between two Status-Server probes of a dead server.
    pub probe_interval: Duration,
    /// So many probes in a row answered, and the server is alive again.
    pub probes_to_revive: u32,
}

impl ClientConfig {
    /// The usual settings for these servers.
    #[must_use]
    pub fn new(purpose: Purpose, servers: Vec<ServerConfig>) -> Self {
        Self {
            purpose,
            servers,
            nas: Nas::default(),
            outstanding_max: 16_384,
            sockets_max: 64,
            first_timeout: Duration::from_secs(2),
            timeout_max: Duration::from_secs(16),
            transmissions_per_server: 3,
            request_time_max: Duration::from_secs(30),
            dead_after_timeouts: 3,
            dead_after: Duration::from_secs(5),
            dead_time: Duration::from_secs(60),
            probe_interval: Duration::from_secs(5),
            probes_to_revive: 2,
        }
    }
}

/// Settings with which there can be no client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No server, or more than 32.
    #[error("there must be 1 to 32 servers")]
    Servers,
    /// Two servers at the same address and port.
    #[error("two servers have the same address and port")]
    SameAddress,
    /// An empty secret.
    #[error("a server's secret is empty")]
    EmptySecret,
    /// A number that must not be zero is.
    #[error("a limit, a time or a weight is zero")]
    Zero,
}

/// What one request asks.
#[derive(Debug, Clone)]
pub struct Request {
    /// The attributes but for what depends on the server or the time of sending.
    pub attributes: AttributeList,
    /// A password to send hidden, 0 to 128 octets.
    pub password: Option<Secret>,
    /// For accounting: when the event was, for Acct-Delay-Time, and how many seconds to add to that. It is told anew
    /// with each new Identifier, not with a repetition: an unchanged repetition is what lets a server see that it is
    /// one (RFC 5080 section 2.2.2), and Event-Timestamp is exact in any case.
    pub delay_since: Option<(Instant, u32)>,
}

/// Why a request was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The key's request is outstanding: it goes on, and its answer will be the answer.
    #[error("a request with this key is outstanding")]
    AlreadyOutstanding,
    /// As many requests are outstanding as may be.
    #[error("too many requests outstanding")]
    Full,
    /// The password is longer than 128 octets.
    #[error("the request does not fit in a packet")]
    DoesNotFit,
}

/// Which socket: each server has its own, numbered from 0, opened when first named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SocketId {
    /// Index in [`ClientConfig::servers`].
    pub server: u8,
    /// Number of the socket.
    pub number: u16,
}

/// What the owner is to do, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send a datagram.
    Send {
        /// From this socket.
        socket: SocketId,
        /// To this address.
        to: SocketAddr,
        /// The octets.
        datagram: Vec<u8>,
    },
    /// A request has its answer. The key is free again.
    Answered {
        /// The request's key.
        key: u64,
        /// Who answered.
        server: u8,
        /// Access-Accept, Access-Reject, Access-Challenge or Accounting-Response.
        code: Code,
        /// The whole packet, verified, every known attribute valid: [`Packet::parse`] takes it.
        reply: Vec<u8>,
        /// Time from the last transmission to that server.
        after: Duration,
    },
    /// No server answered: "unreachable", which is neither accepted nor rejected. The key is free again.
    Unreachable {
        /// The request's key.
        key: u64,
    },
    /// A server is alive again, or dead: for logs.
    ServerState {
        /// Index in [`ClientConfig::servers`].
        server: u8,
        /// Whether it is alive.
        alive: bool,
    },
}

/// What has happened with a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerCounters {
    /// Requests given to it, each counted once.
    pub requests: u64,
    /// Repetitions.
    pub retransmissions: u64,
    /// Status-Server requests.
    pub probes: u64,
    /// Answers to those.
    pub probe_replies: u64,
    /// Access-Accepts.
    pub accepts: u64,
    /// Access-Rejects.
    pub rejects: u64,
    /// Access-Challenges.
    pub challenges: u64,
    /// Accounting-Responses.
    pub accounting_responses: u64,
    /// Transmissions that nothing came back for in time.
    pub timeouts: u64,
    /// Requests that it left without an answer.
    pub unanswered: u64,
    /// Times that it was found dead.
    pub deaths: u64,
    /// Sum of round trips of answered requests, in microseconds.
    pub round_trip_us: u64,
    /// Datagrams thrown away, by reason.
    pub discards: DiscardCounters,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Alive,
    Dead,
}

struct Server {
    config: ServerConfig,
    identifiers: Identifiers,
    life: Life,
    /// When a dead one is probed or tried again.
    wake_at: Option<Instant>,
    timeouts_in_a_row: u32,
    silent_since: Option<Instant>,
    probe: Option<u32>,
    probes_answered: u32,
    outstanding: usize,
    counters: ServerCounters,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    Key(u64),
    Probe,
}

struct Outstanding {
    holder: Holder,
    request: Request,
    server: u8,
    slot: Slot,
    authenticator: [u8; 16],
    datagram: Vec<u8>,
    ends_at: Option<Instant>,
    sent_at: Instant,
    timeout: Duration,
    transmissions: u8,
    /// A bit for each server that was asked.
    asked: u32,
    due_at: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Server(u8),
    Request(u32),
}

/// See the [module](self).
pub struct Client {
    config: ClientConfig,
    servers: Vec<Server>,
    table: Vec<Option<Outstanding>>,
    unused: Vec<u32>,
    keys: HashMap<u64, u32>,
    timers: Timers<Timer>,
    random: Random,
}

impl Client {
    /// A client. `seed` must be secret random octets: authenticators come from it.
    ///
    /// # Errors
    ///
    /// [`ConfigError`].
    pub fn new(config: ClientConfig, seed: [u8; 32]) -> Result<Self, ConfigError> {
        let servers = &config.servers;
        if servers.is_empty() || servers.len() > 32 {
            return Err(ConfigError::Servers);
        }
        let same = |(index, one): (usize, &ServerConfig)| {
            servers.iter().skip(index.saturating_add(1)).any(|other| other.address == one.address)
        };
        if servers.iter().enumerate().any(same) {
            return Err(ConfigError::SameAddress);
        }
        if servers.iter().any(|server| server.secret.expose().is_empty()) {
            return Err(ConfigError::EmptySecret);
        }
        let times = [config.first_timeout, config.timeout_max, config.request_time_max, config.probe_interval];
        if servers.iter().any(|server| server.weight == 0)
            || times.iter().any(Duration::is_zero)
            || config.outstanding_max == 0
            || config.sockets_max == 0
            || config.transmissions_per_server == 0
        {
            return Err(ConfigError::Zero);
        }
        let servers = servers.iter().map(|server| Server {
            config: server.clone(),
            identifiers: Identifiers::new(config.sockets_max, config.timeout_max),
            life: Life::Alive,
            wake_at: None,
            timeouts_in_a_row: 0,
            silent_since: None,
            probe: None,
            probes_answered: 0,
            outstanding: 0,
            counters: ServerCounters::default(),
        });
        Ok(Self {
            servers: servers.collect(),
            config,
            table: Vec::new(),
            unused: Vec::new(),
            keys: HashMap::new(),
            timers: Timers::new(),
            random: Random::new(seed),
        })
    }

    /// Asks. `key` is the owner's name for the request: while it is outstanding, another one with the same key is
    /// refused, so that a client that repeats itself never makes a second transaction.
    ///
    /// # Errors
    ///
    /// [`Refused`]; nothing was sent.
    pub fn request(&mut self, now: Instant, key: u64, request: Request, out: &mut Vec<Action>) -> Result<(), Refused> {
        if self.keys.contains_key(&key) {
            return Err(Refused::AlreadyOutstanding);
        }
        if self.keys.len() >= self.config.outstanding_max {
            return Err(Refused::Full);
        }
        let server = self.choose(0).ok_or(Refused::Full)?;
        let ends_at = now.checked_add(self.config.request_time_max);
        let index = self.open(now, Holder::Key(key), request, server, ends_at)?;
        self.keys.insert(key, index);
        self.transmit(now, index, out);
        Ok(())
    }

    /// Forgets a request; its answer will change nothing.
    pub fn cancel(&mut self, now: Instant, key: u64) {
        if let Some(index) = self.keys.remove(&key) {
            self.close(now, index, false);
        }
    }

    /// Takes a datagram that came in on one of the sockets.
    ///
    /// # Errors
    ///
    /// [`Discard`]: thrown away and counted; nothing has changed.
    pub fn handle(
        &mut self,
        now: Instant,
        socket: SocketId,
        from: SocketAddr,
        datagram: &[u8],
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        let result = self.take(now, socket, from, datagram, out);
        if let Err(reason) = result
            && let Some(server) = self.servers.get_mut(usize::from(socket.server))
        {
            server.counters.discards.count(reason);
        }
        result
    }

    fn take(
        &mut self,
        now: Instant,
        socket: SocketId,
        from: SocketAddr,
        datagram: &[u8],
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        let purpose = self.config.purpose;
        let server = self.servers.get_mut(usize::from(socket.server)).ok_or(Discard::WrongSource)?;
        if from.ip() != server.config.address.ip() || from.port() != server.config.address.port() {
            return Err(Discard::WrongSource);
        }
        let packet = Packet::parse(datagram)?;
        let slot = Slot { socket: socket.number, id: packet.id() };
        let index = server.identifiers.holder(slot).ok_or(Discard::UnknownIdentifier)?;
        let entry = self.table.get(index as usize).and_then(Option::as_ref).ok_or(Discard::UnknownIdentifier)?;
        let code = packet.code();
        let fits = match (purpose, entry.holder) {
            (Purpose::Accounting, _) => code == Code::ACCOUNTING_RESPONSE,
            (Purpose::Authentication, Holder::Probe) => code == Code::ACCESS_ACCEPT,
            (Purpose::Authentication, Holder::Key(_)) => {
                matches!(code, Code::ACCESS_ACCEPT | Code::ACCESS_REJECT | Code::ACCESS_CHALLENGE)
            }
        };
        if !fits {
            return Err(Discard::UnexpectedCode);
        }
        let secret = &server.config.secret;
        if !verify_response(&packet, &entry.authenticator, secret) {
            return Err(Discard::BadAuthenticator);
        }
        match verify_message_authenticator(&packet, &entry.authenticator, secret) {
            Some(true) => {}
            Some(false) => return Err(Discard::BadMessageAuthenticator),
            // Accounting-Responses need none: their authenticator's attack needs a chosen prefix in the request that
            // no attacker has where nothing depends on the answer's content.
            None if purpose == Purpose::Authentication && server.config.require_message_authenticator => {
                return Err(Discard::NoMessageAuthenticator);
            }
            None => {}
        }
        packet.validate()?;

        let (holder, clean) = (entry.holder, entry.transmissions == 1);
        let after = now.saturating_duration_since(entry.sent_at);
        let counters = &mut server.counters;
        let counter = match (holder, code) {
            (Holder::Probe, _) => &mut counters.probe_replies,
            (_, Code::ACCESS_ACCEPT) => &mut counters.accepts,
            (_, Code::ACCESS_REJECT) => &mut counters.rejects,
            (_, Code::ACCESS_CHALLENGE) => &mut counters.challenges,
            _ => &mut counters.accounting_responses,
        };
        *counter = counter.saturating_add(1);
        if let Holder::Key(_) = holder {
            let us = u64::try_from(after.as_micros()).unwrap_or(u64::MAX);
            counters.round_trip_us = counters.round_trip_us.saturating_add(us);
        }
        self.close(now, index, clean);
        match holder {
            Holder::Probe => self.probe_answered(now, socket.server, out),
            Holder::Key(key) => {
                self.keys.remove(&key);
                self.heard(socket.server, out);
                let reply = packet.octets().to_vec();
                out.push(Action::Answered { key, server: socket.server, code, reply, after });
            }
        }
        Ok(())
    }

    /// When [`Client::handle_timeout`] is to be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Repeats, gives up, asks others, probes.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Action>) {
        while let Some((at, timer)) = self.timers.pop_due(now) {
            if !is_live(&self.servers, &self.table, at, timer) {
                continue;
            }
            match timer {
                Timer::Server(server) => self.wake(now, server, out),
                Timer::Request(index) => self.timed_out(now, index, out),
            }
        }
        let (servers, table) = (&self.servers, &self.table);
        let live = table.len().saturating_sub(self.unused.len()).saturating_add(servers.len());
        self.timers.sweep(live, |at, timer| is_live(servers, table, at, timer));
    }

    /// Requests outstanding, probes not counted.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.keys.len()
    }

    /// Requests that wait for a server, probes counted.
    #[must_use]
    pub fn outstanding_at(&self, server: u8) -> usize {
        self.servers.get(usize::from(server)).map_or(0, |server| server.outstanding)
    }

    /// Sockets in use for a server; they only become more, up to [`ClientConfig::sockets_max`].
    #[must_use]
    pub fn sockets(&self, server: u8) -> usize {
        self.servers.get(usize::from(server)).map_or(0, |server| server.identifiers.sockets())
    }

    /// Whether a server is alive.
    #[must_use]
    pub fn is_alive(&self, server: u8) -> bool {
        self.servers.get(usize::from(server)).is_some_and(|server| server.life == Life::Alive)
    }

    /// Whether any server is alive.
    #[must_use]
    pub fn any_alive(&self) -> bool {
        self.servers.iter().any(|server| server.life == Life::Alive)
    }

    /// A server's counters.
    #[must_use]
    pub fn counters(&self, server: u8) -> Option<&ServerCounters> {
        self.servers.get(usize::from(server)).map(|server| &server.counters)
    }

    /// The server to ask next: alive before dead, then by priority, then the one with the least to do for its weight.
    /// Where all are dead the best of them is asked all the same: its silence may be over.
    fn choose(&self, asked: u32) -> Option<u8> {
        let room = usize::from(self.config.sockets_max).saturating_mul(256);
        let candidates =
            self.servers.iter().zip(0_u8..).filter(|(server, index)| !has(asked, *index) && server.outstanding < room);
        let best = candidates.min_by_key(|(server, _)| {
            let load = server.outstanding.saturating_mul(1000).checked_div(usize::from(server.config.weight));
            (server.life == Life::Dead, server.config.priority, load, server.counters.requests)
        });
        best.filter(|(server, _)| asked == 0 || server.life == Life::Alive).map(|(_, index)| index)
    }

    /// Puts a request into the table, with an Identifier of that server.
    fn open(
        &mut self,
        now: Instant,
        holder: Holder,
        request: Request,
        server_index: u8,
        ends_at: Option<Instant>,
    ) -> Result<u32, Refused> {
        let index = match self.unused.last() {
            Some(index) => *index,
            None => u32::try_from(self.table.len()).map_err(|_| Refused::Full)?,
        };
        let server = self.servers.get_mut(usize::from(server_index)).ok_or(Refused::Full)?;
        let slot = server.identifiers.take(now, index).ok_or(Refused::Full)?;
        let random = self.random.octets();
        let encoded = encode(&self.config, holder, &request, slot.id, random, now, &server.config);
        let Ok((datagram, authenticator)) = encoded else {
            server.identifiers.give_back(now, slot, true);
            return Err(Refused::DoesNotFit);
        };
        server.outstanding = server.outstanding.saturating_add(1);
        let entry = Outstanding {
            holder,
            request,
            server: server_index,
            slot,
            authenticator,
            datagram,
            ends_at,
            sent_at: now,
            timeout: Duration::ZERO,
            transmissions: 0,
            asked: bit(server_index),
            due_at: now,
        };
        match self.unused.pop() {
            Some(_) => {
                if let Some(place) = self.table.get_mut(index as usize) {
                    *place = Some(entry);
                }
            }
            None => self.table.push(Some(entry)),
        }
        Ok(index)
    }

    fn close(&mut self, now: Instant, index: u32, clean: bool) {
        let Some(entry) = self.table.get_mut(index as usize).and_then(Option::take) else { return };
        self.unused.push(index);
        if let Some(server) = self.servers.get_mut(usize::from(entry.server)) {
            server.identifiers.give_back(now, entry.slot, clean);
            server.outstanding = server.outstanding.saturating_sub(1);
            if server.probe == Some(index) {
                server.probe = None;
            }
        }
    }

    /// Sends a request for the first time or again, and sets its timer.
    fn transmit(&mut self, now: Instant, index: u32, out: &mut Vec<Action>) {
        let Some(entry) = self.table.get_mut(index as usize).and_then(Option::as_mut) else { return };
        let Some(server) = self.servers.get_mut(usize::from(entry.server)) else { return };
        let counters = &mut server.counters;
        let counter = match (entry.transmissions, entry.holder) {
            (0, Holder::Probe) => &mut counters.probes,
            (0, Holder::Key(_)) => &mut counters.requests,
            _ => &mut counters.retransmissions,
        };
        *counter = counter.saturating_add(1);
        // RFC 5080 section 2.2.1: IRT, then twice the last one, up to MRT; each plus or minus a tenth.
        let base = if entry.transmissions == 0 { self.config.first_timeout } else { entry.timeout.saturating_mul(2) };
        entry.timeout = spread(base.min(self.config.timeout_max), self.random.millionths());
        entry.transmissions = entry.transmissions.saturating_add(1);
        entry.sent_at = now;
        let mut due_at = now.checked_add(entry.timeout).unwrap_or(now);
        if let Some(end) = entry.ends_at {
            due_at = due_at.min(end);
        }
        entry.due_at = due_at;
        self.timers.set(due_at, Timer::Request(index));
        let socket = SocketId { server: entry.server, number: entry.slot.socket };
        out.push(Action::Send { socket, to: server.config.address, datagram: entry.datagram.clone() });
    }

    fn timed_out(&mut self, now: Instant, index: u32, out: &mut Vec<Action>) {
        let Some(entry) = self.table.get(index as usize).and_then(Option::as_ref) else { return };
        let (server_index, holder, asked, sent_at) = (entry.server, entry.holder, entry.asked, entry.sent_at);
        let over = entry.ends_at.is_some_and(|end| end <= now);
        // Where nobody is alive a login gets its "unreachable" after one try, so that what comes next in a chain can
        // decide while the client still waits. Accounting has time.
        let hopeless = self.config.purpose == Purpose::Authentication && !self.any_alive();
        let may_repeat = entry.transmissions < self.config.transmissions_per_server && !hopeless;
        let died = self.silence(now, server_index, sent_at, out);
        if holder == Holder::Probe {
            self.close(now, index, false);
            if let Some(server) = self.servers.get_mut(usize::from(server_index)) {
                server.probes_answered = 0;
            }
            return;
        }
        if died {
            self.leave_dead_server(now, server_index, out);
        }
        // It may have moved to another server just now.
        let moved = |table: &[Option<Outstanding>]| !matches!(table.get(index as usize), Some(Some(entry)) if entry.server == server_index && entry.holder == holder);
        if moved(&self.table) {
            return;
        }
        if over {
            self.give_up(now, index, out);
        } else if may_repeat {
            self.transmit(now, index, out);
        } else if let Some(next) = self.choose(asked) {
            self.move_to(now, index, next, out);
        } else {
            self.give_up(now, index, out);
        }
    }

    fn give_up(&mut self, now: Instant, index: u32, out: &mut Vec<Action>) {
        let Some(entry) = self.table.get(index as usize).and_then(Option::as_ref) else { return };
        let (holder, server) = (entry.holder, entry.server);
        if let Some(server) = self.servers.get_mut(usize::from(server)) {
            server.counters.unanswered = server.counters.unanswered.saturating_add(1);
        }
        self.close(now, index, false);
        if let Holder::Key(key) = holder {
            self.keys.remove(&key);
            out.push(Action::Unreachable { key });
        }
    }

    /// Asks another server: new Identifier, new authenticator, the password hidden anew, Acct-Delay-Time told anew.
    fn move_to(&mut self, now: Instant, index: u32, next: u8, out: &mut Vec<Action>) {
        let Some(entry) = self.table.get_mut(index as usize).and_then(Option::as_mut) else { return };
        let Some(server) = self.servers.get_mut(usize::from(next)) else { return };
        entry.asked |= bit(next);
        let random = self.random.octets();
        let Some(slot) = server.identifiers.take(now, index) else { return self.give_up(now, index, out) };
        let encoded = encode(&self.config, entry.holder, &entry.request, slot.id, random, now, &server.config);
        let Ok((datagram, authenticator)) = encoded else {
            server.identifiers.give_back(now, slot, true);
            return self.give_up(now, index, out);
        };
        server.outstanding = server.outstanding.saturating_add(1);
        let (left, left_slot) = (entry.server, entry.slot);
        (entry.server, entry.slot, entry.authenticator, entry.datagram) = (next, slot, authenticator, datagram);
        entry.transmissions = 0;
        if let Some(server) = self.servers.get_mut(usize::from(left)) {
            server.identifiers.give_back(now, left_slot, false);
            server.outstanding = server.outstanding.saturating_sub(1);
            server.counters.unanswered = server.counters.unanswered.saturating_add(1);
        }
        self.transmit(now, index, out);
    }

    /// A transmission went unanswered. True: the server is dead from now on.
    fn silence(&mut self, now: Instant, index: u8, sent_at: Instant, out: &mut Vec<Action>) -> bool {
        let Some(server) = self.servers.get_mut(usize::from(index)) else { return false };
        server.counters.timeouts = server.counters.timeouts.saturating_add(1);
        server.timeouts_in_a_row = server.timeouts_in_a_row.saturating_add(1);
        let since = *server.silent_since.get_or_insert(sent_at);
        if server.life == Life::Dead
            || server.timeouts_in_a_row < self.config.dead_after_timeouts
            || now.saturating_duration_since(since) < self.config.dead_after
        {
            return false;
        }
        server.life = Life::Dead;
        server.counters.deaths = server.counters.deaths.saturating_add(1);
        server.probes_answered = 0;
        let wait = if server.config.status_server { self.config.probe_interval } else { self.config.dead_time };
        set_wake(server, &mut self.timers, index, now.checked_add(wait));
        out.push(Action::ServerState { server: index, alive: false });
        true
    }

    /// Moves all that wait for a server that has just died to others, where there are any alive.
    fn leave_dead_server(&mut self, now: Instant, dead: u8, out: &mut Vec<Action>) {
        for index in 0..u32::try_from(self.table.len()).unwrap_or(u32::MAX) {
            if let Some(Some(entry)) = self.table.get(index as usize)
                && entry.server == dead
                && entry.holder != Holder::Probe
                && entry.ends_at.is_none_or(|end| end > now)
                && let Some(next) = self.choose(entry.asked)
            {
                self.move_to(now, index, next, out);
            }
        }
    }

    /// A verified reply: whatever was thought of the server, it is alive.
    fn heard(&mut self, index: u8, out: &mut Vec<Action>) {
        let Some(server) = self.servers.get_mut(usize::from(index)) else { return };
        server.timeouts_in_a_row = 0;
        server.silent_since = None;
        if server.life == Life::Dead {
            server.life = Life::Alive;
            server.wake_at = None;
            out.push(Action::ServerState { server: index, alive: true });
        }
    }

    fn probe_answered(&mut self, now: Instant, index: u8, out: &mut Vec<Action>) {
        let Some(server) = self.servers.get_mut(usize::from(index)) else { return };
        server.probes_answered = server.probes_answered.saturating_add(1);
        if server.probes_answered >= self.config.probes_to_revive {
            return self.heard(index, out);
        }
        // The next one soon: it is there, and should only show that it stays.
        let soon = self.config.probe_interval.min(Duration::from_secs(1));
        set_wake(server, &mut self.timers, index, now.checked_add(soon));
    }

    /// A dead server's time has come: a probe, or another chance.
    fn wake(&mut self, now: Instant, index: u8, out: &mut Vec<Action>) {
        let interval = self.config.probe_interval;
        let Some(server) = self.servers.get_mut(usize::from(index)) else { return };
        server.wake_at = None;
        if !server.config.status_server {
            // One more silence is enough to send it back.
            server.life = Life::Alive;
            server.timeouts_in_a_row = self.config.dead_after_timeouts.saturating_sub(1);
            out.push(Action::ServerState { server: index, alive: true });
            return;
        }
        set_wake(server, &mut self.timers, index, now.checked_add(interval));
        if server.probe.is_some() {
            return;
        }
        let mut attributes = AttributeList::new();
        // A name that is too long was refused with the configuration; without it the probe still works.
        let _ = self.config.nas.write(&mut attributes);
        let request = Request { attributes, password: None, delay_since: None };
        if let Ok(probe) = self.open(now, Holder::Probe, request, index, now.checked_add(interval)) {
            if let Some(server) = self.servers.get_mut(usize::from(index)) {
                server.probe = Some(probe);
            }
            self.transmit(now, probe, out);
        }
    }
}

fn encode(
    config: &ClientConfig,
    holder: Holder,
    request: &Request,
    id: u8,
    authenticator: [u8; 16],
    now: Instant,
    server: &ServerConfig,
) -> Result<(Vec<u8>, [u8; 16]), DoesNotFit> {
    let code = match (holder, config.purpose) {
        (Holder::Probe, _) => Code::STATUS_SERVER,
        (_, Purpose::Authentication) => Code::ACCESS_REQUEST,
        (_, Purpose::Accounting) => Code::ACCOUNTING_REQUEST,
    };
    let delay_s = request.delay_since.map(|(since, more)| {
        let passed = now.saturating_duration_since(since).as_secs();
        u32::try_from(passed).unwrap_or(u32::MAX).saturating_add(more)
    });
    let parts = RequestParts {
        code,
        id,
        authenticator,
        message_authenticator: code != Code::ACCOUNTING_REQUEST,
        attributes: &request.attributes,
        password: request.password.as_ref(),
        delay_s,
    };
    encode_request(parts, &server.secret)
}

fn set_wake(server: &mut Server, timers: &mut Timers<Timer>, index: u8, at: Option<Instant>) {
    server.wake_at = at;
    if let Some(at) = at {
        timers.set(at, Timer::Server(index));
    }
}

fn is_live(servers: &[Server], table: &[Option<Outstanding>], at: Instant, timer: Timer) -> bool {
    match timer {
        Timer::Server(index) => servers.get(usize::from(index)).is_some_and(|server| server.wake_at == Some(at)),
        Timer::Request(index) => matches!(table.get(index as usize), Some(Some(entry)) if entry.due_at == at),
    }
}

const fn bit(server: u8) -> u32 {
    1_u32.wrapping_shl(server as u32)
}

const fn has(asked: u32, server: u8) -> bool {
    asked & bit(server) != 0
}

/// A time plus or minus a tenth; `millionths` is 0 to 999,999.
fn spread(time: Duration, millionths: u32) -> Duration {
    let ninety = time.saturating_mul(9).checked_div(10).unwrap_or(time);
    let part = time.checked_div(5).unwrap_or_default();
    let part_us = u64::try_from(part.as_micros()).unwrap_or(u64::MAX);
    let scaled = part_us.saturating_mul(u64::from(millionths)).checked_div(1_000_000).unwrap_or(0);
    ninety.saturating_add(Duration::from_micros(scaled))
}
