//! One client's link: packets that come in, the time, the answers of the pools.

use core::net::Ipv6Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bng_wire::icmp::kind6;
use bng_wire::nd::{self, Message, NdError, NeighbourAdvertisement, option};

use crate::config::Ipv6Config;
use crate::error::Discard;
use crate::events::{Action, Prefix, Ticket};
use crate::lease::{Lease, State};
use crate::limit::{Jitter, Limit};
use crate::packet::{self, ALL_NODES, Ends, Received, Upper, is_link_local, link_local, solicited_node};
use crate::router::{self, NEVER, Router};

/// The link as IPV6CP and the pools have made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// This side's interface identifier.
    pub local_id: u64,
    /// The longest IPv6 packet that the client may send or get, in octets: the lesser MRU of the two sides. Below 1280
    /// none is advertised.
    pub mtu: u16,
    /// The link's own prefix, a /64 that is routed to the session already; `None`: none is advertised.
    pub prefix: Option<Prefix>,
}

/// A DHCPv6 message that waits for the pools.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) src: Ipv6Addr,
    pub(crate) message: Box<[u8]>,
}

/// IPv6 on one subscriber's link.
#[derive(Debug)]
pub struct Ipv6Session {
    pub(crate) config: Arc<Ipv6Config>,
    pub(crate) link: Link,
    pub(crate) open: bool,
    pub(crate) tickets: u32,
    /// How many addresses of the link's prefix the client has found in use.
    pub(crate) declined: u32,
    epoch: Option<Instant>,
    pub(crate) jitter: Jitter,
    pub(crate) limit: Limit,
    router: Router,
    pub(crate) leases: Vec<Lease>,
    pub(crate) waiting: Option<Box<Waiting>>,
    /// Makes digests of DUIDs that nobody can aim at.
    pub(crate) salt: u64,
}

impl Ipv6Session {
    /// A session that has not started. `seed` comes from a random source that clients cannot guess.
    #[must_use]
    pub fn new(config: Arc<Ipv6Config>, link: Link, seed: u64) -> Self {
        let mut jitter = Jitter(seed);
        let salt = jitter.next();
        Self {
            config,
            link,
            open: false,
            tickets: 0,
            declined: 0,
            epoch: None,
            jitter,
            limit: Limit::default(),
            router: Router::SILENT,
            leases: Vec::new(),
            waiting: None,
            salt,
        }
    }

    /// IPV6CP is Opened. Does nothing where the session is open already.
    pub fn start(&mut self, now: Instant, _out: &mut Vec<Action>) {
        if self.open {
            return;
        }
        self.open = true;
        let now = self.ms(now);
        self.router = Router::start(now, &mut self.jitter);
    }

    /// A packet from the client, from the IPv6 header on.
    ///
    /// # Errors
    /// [`Discard`]: it is not answered. Anything may be in it; none of it panics.
    pub fn handle(&mut self, now: Instant, packet: &[u8], out: &mut Vec<Action>) -> Result<(), Discard> {
        if !self.open {
            return Err(Discard::Closed);
        }
        let now = self.ms(now);
        let received = packet::receive(packet)?;
        // What claims to come from this router has come back over a loop, or worse.
        if received.src == self.address() {
            return Err(Discard::Source);
        }
        match received.upper {
            Upper::Icmp(message) => self.icmp(now, &received, message, out),
            Upper::Dhcp(message) => self.dhcp(now, &received, message, out),
        }
    }

    /// The pools' answer to [`Action::Allocate`]: what was taken, or `None` where there is nothing to give. An answer
    /// that comes too late, or that is not what was asked for, is given back by [`Action::Free`].
    pub fn granted(&mut self, now: Instant, ticket: Ticket, answer: Option<Prefix>, out: &mut Vec<Action>) {
        let now = self.ms(now);
        self.allocated(now, ticket, answer, out);
    }

    /// When [`Ipv6Session::handle_timeout`] is to be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let leases = self.leases.iter().map(|lease| lease.until).min().unwrap_or(NEVER);
        let next = self.router.next().min(leases);
        self.epoch?.checked_add(Duration::from_millis((next != NEVER).then_some(next)?))
    }

    /// Time has passed; may be called at any time.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Action>) {
        let now = self.ms(now);
        self.leases.retain(|lease| {
            let lives = lease.until > now;
            if !lives {
                lease.end(false, out);
            }
            lives
        });
        if !self.leases.iter().any(|lease| matches!(lease.state, State::Asked { .. })) {
            self.waiting = None;
        }
        // At most one to all nodes and one to the client.
        for _ in 0..2 {
            if let Some(to) = self.router.due(now, &self.config, &mut self.jitter) {
                self.advertise(to, false, out);
            }
        }
    }

    /// IPV6CP goes down, or the session ends: the router says so (useless where the link is down already, and then
    /// not to be sent), and all leases are withdrawn and given back. [`Ipv6Session::start`] may open it again.
    pub fn close(&mut self, _now: Instant, out: &mut Vec<Action>) {
        if !self.open {
            return;
        }
        self.open = false;
        self.router = Router::SILENT;
        self.waiting = None;
        self.advertise(ALL_NODES, true, out);
        for lease in std::mem::take(&mut self.leases) {
            lease.end(false, out);
        }
    }

    /// The leases that the client has: addresses have length 128.
    pub fn bound(&self) -> impl Iterator<Item = Prefix> + '_ {
        self.leases.iter().filter(|lease| lease.state == State::Bound).map(|lease| lease.prefix)
    }

    /// The router's link-local address.
    #[must_use]
    pub const fn address(&self) -> Ipv6Addr {
        link_local(self.link.local_id)
    }

    pub(crate) fn ends(&self, dst: Ipv6Addr) -> Ends {
        Ends { src: self.address(), dst, dscp: self.config.dscp }
    }

    fn ms(&mut self, now: Instant) -> u64 {
        let epoch = *self.epoch.get_or_insert(now);
        u64::try_from(now.saturating_duration_since(epoch).as_millis()).unwrap_or(NEVER)
    }

    fn advertise(&self, to: Ipv6Addr, last: bool, out: &mut Vec<Action>) {
        let written = packet::icmp(self.ends(to), |out| router::write(out, &self.config, &self.link, last));
        out.extend(written.map(Action::Send));
    }

    fn icmp(
        &mut self,
        now: u64,
        received: &Received<'_>,
        message: &[u8],
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        if message.first() == Some(&kind6::ECHO) {
            return self.echo(now, received, message, out);
        }
        let parsed = match Message::parse(message) {
            Ok(parsed) => parsed,
            Err(NdError::Kind) => return Err(Discard::NotForUs),
            Err(_) => return Err(Discard::Malformed),
        };
        // RFC 4861 sections 6.1.1 and 7.1.1: "the packet could not possibly have been forwarded by a router".
        if received.hop_limit != nd::HOP_LIMIT {
            return Err(Discard::HopLimit);
        }
        match parsed {
            Message::RouterSolicitation(options) => {
                let unspecified = received.src.is_unspecified();
                // Section 6.1.1: no link-layer address may come from the unspecified address.
                if unspecified && options.first(option::SOURCE_LINK_LAYER).is_some()
                    || !unspecified && !is_link_local(received.src)
                {
                    return Err(Discard::Source);
                }
                self.router.solicited(now, received.src, &mut self.jitter);
                Ok(())
            }
            Message::NeighbourSolicitation(fixed, options) => {
                if received.src.is_unspecified() {
                    // Section 7.1.1: duplicate address detection asks the solicited-node address, without option.
                    if received.dst != solicited_node(fixed.target)
                        || options.first(option::SOURCE_LINK_LAYER).is_some()
                    {
                        return Err(Discard::Source);
                    }
                }
                if fixed.target.is_multicast() {
                    return Err(Discard::Malformed);
                }
                if fixed.target != self.address() {
                    return Err(Discard::NotForUs);
                }
                if !self.limit.take(now) {
                    return Err(Discard::RateLimited);
                }
                // Section 7.2.4; to the unspecified address nothing can be sent, so all nodes are told.
                let solicited = !received.src.is_unspecified();
                let to = if solicited { received.src } else { ALL_NODES };
                let answer = NeighbourAdvertisement { router: true, solicited, overrides: true, target: fixed.target };
                out.extend(packet::icmp(self.ends(to), |out| answer.write(out)).map(Action::Send));
                Ok(())
            }
            // A client that plays the router, and answers to what was never asked: PPP needs no resolution.
            Message::RouterAdvertisement(..) | Message::NeighbourAdvertisement(..) => Err(Discard::Unexpected),
        }
    }

    /// Some clients watch their router by ping (RFC 4443 section 4.2).
    fn echo(
        &mut self,
        now: u64,
        received: &Received<'_>,
        message: &[u8],
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        if received.dst != self.address() {
            return Err(Discard::NotForUs);
        }
        if received.src.is_unspecified() {
            return Err(Discard::Source);
        }
        let rest = message.get(4..).filter(|rest| rest.len() >= 4).ok_or(Discard::Malformed)?;
        if !self.limit.take(now) {
            return Err(Discard::RateLimited);
        }
        let reply = packet::icmp(self.ends(received.src), |out| {
            out.octets(&[kind6::ECHO_REPLY, 0, 0, 0])?;
            out.octets(rest)
        });
        out.extend(reply.map(Action::Send));
        Ok(())
    }
}
