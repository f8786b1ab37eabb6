//! The DHCPv6 server's side of one session (RFC 8415 section 18.3): what a message asks for, what it does to the
//! leases. Section numbers are those of RFC 8415.
//!
//! A lease belongs to the session. The client is told apart by its DUID, but a line has one client: one that comes back
//! with another DUID, or names its association anew, gets the lease that the line has.

use core::net::Ipv6Addr;

use bng_wire::dhcpv6::{DUID_MAX, Ia, IaAddress, IaPrefix, Message, Options, RawOption, SERVERS, kind, option};

use crate::config::{AddressSource, DhcpConfig};
use crate::error::Discard;
use crate::events::{Action, LeaseKind, Prefix, Ticket};
use crate::lease::{Lease, State};
use crate::packet::{Received, is_link_local};
use crate::router::NEVER;
use crate::session::{Ipv6Session, Waiting};

/// How long an offer stands without a Request.
const OFFER_MS: u64 = 60_000;
/// How long the pools may take.
const ANSWER_MS: u64 = 10_000;
/// The most associations of one message that are looked at.
const IAS_MAX: usize = 16;
/// `leases_max` is at most this.
const LEASES_MAX: u8 = 16;

/// A message that is to be answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query<'a> {
    pub(crate) kind: u8,
    pub(crate) transaction: u32,
    pub(crate) options: Options<'a>,
    /// The client's DUID; only an Information-request may have none.
    pub(crate) client: Option<&'a [u8]>,
    /// Its digest.
    pub(crate) owner: u64,
    /// Where the answer goes.
    pub(crate) to: Ipv6Addr,
}

/// One identity association of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Association<'a> {
    pub(crate) kind: LeaseKind,
    pub(crate) iaid: u32,
    options: Options<'a>,
}

impl<'a> Association<'a> {
    fn parse(option: RawOption<'a>) -> Option<Self> {
        let kind = match option.code {
            option::IA_NA => LeaseKind::Address,
            option::IA_PD => LeaseKind::Prefix,
            _ => return None,
        };
        let Ia { iaid, options, .. } = Ia::parse(option.body)?;
        Some(Self { kind, iaid, options })
    }

    /// What the client names in it: addresses, or prefixes and lengths.
    pub(crate) fn named(&self) -> impl Iterator<Item = Prefix> + use<'a> {
        let kind = self.kind;
        self.options.iter().filter_map(move |RawOption { code, body }| match (kind, code) {
            (LeaseKind::Address, option::IA_ADDRESS) => {
                IaAddress::parse(body).map(|lease| Prefix { address: lease.address, length: 128 })
            }
            (LeaseKind::Prefix, option::IA_PREFIX) => {
                IaPrefix::parse(body).map(|lease| Prefix::containing(lease.prefix, lease.length))
            }
            _ => None,
        })
    }

    /// What the client names, but not a mere wish for a length.
    pub(crate) fn held(&self) -> impl Iterator<Item = Prefix> + use<'a> {
        self.named().filter(|prefix| !prefix.address.is_unspecified())
    }
}

impl<'a> Query<'a> {
    /// The associations, those that cannot be read left out.
    pub(crate) fn associations(&self) -> impl Iterator<Item = Association<'a>> + use<'a> {
        self.options.iter().filter_map(Association::parse).take(IAS_MAX)
    }

    fn names(&self, kind: LeaseKind, iaid: u32) -> bool {
        self.associations().any(|ia| ia.kind == kind && ia.iaid == iaid)
    }

    /// True for the messages with which a client takes whatever the line has.
    const fn opens(&self) -> bool {
        matches!(self.kind, kind::SOLICIT | kind::REQUEST)
    }
}

/// What section 16 says about the identifiers in a message.
fn check<'a>(message: &Message<'a>, config: &DhcpConfig) -> Result<Option<&'a [u8]>, Discard> {
    let client = message.options.first(option::CLIENT_ID);
    let server = message.options.first(option::SERVER_ID);
    if client.is_some_and(|duid| duid.is_empty() || duid.len() > DUID_MAX) {
        return Err(Discard::Option);
    }
    match message.kind {
        // Sections 16.2, 16.5 and 16.7: no server identifier.
        kind::SOLICIT | kind::CONFIRM | kind::REBIND if client.is_none() || server.is_some() => {
            return Err(Discard::Option);
        }
        kind::SOLICIT | kind::CONFIRM | kind::REBIND => {}
        // Sections 16.4, 16.6, 16.8 and 16.9: this server's.
        kind::REQUEST | kind::RENEW | kind::RELEASE | kind::DECLINE => {
            if client.is_none() || server.is_none() {
                return Err(Discard::Option);
            }
        }
        // Section 16.12: no association.
        kind::INFORMATION_REQUEST => {
            let is_ia = |code| matches!(code, option::IA_NA | option::IA_TA | option::IA_PD);
            if message.options.iter().any(|option| is_ia(option.code)) {
                return Err(Discard::Option);
            }
        }
        // What servers send, sections 16.3, 16.10 and 16.11, what relays send, which have no place on a subscriber's
        // line, and what is not known (section 16: "A server MUST discard").
        _ => return Err(Discard::Unexpected),
    }
    if server.is_some_and(|duid| duid != config.duid) {
        return Err(Discard::OtherServer);
    }
    Ok(client)
}

impl Ipv6Session {
    pub(crate) fn dhcp(
        &mut self,
        now: u64,
        received: &Received<'_>,
        octets: &[u8],
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        let multicast = received.dst == SERVERS;
        if !multicast && received.dst != self.address() {
            return Err(Discard::NotForUs);
        }
        if !is_link_local(received.src) {
            return Err(Discard::Source);
        }
        let repeated =
            self.waiting.as_ref().is_some_and(|waiting| waiting.src == received.src && *waiting.message == *octets);
        if repeated {
            return Err(Discard::NoAnswer);
        }
        if !self.limit.take(now) {
            return Err(Discard::RateLimited);
        }
        self.waiting = None;
        self.process(now, received.src, octets, multicast, out)
    }

    fn process(
        &mut self,
        now: u64,
        src: Ipv6Addr,
        octets: &[u8],
        multicast: bool,
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        let config = self.config.clone();
        let dhcp = config.dhcp.as_ref().ok_or(Discard::NotForUs)?;
        let message = Message::parse(octets).map_err(|_| Discard::Malformed)?;
        let client = check(&message, dhcp)?;
        let Message { kind, transaction, options } = message;
        let owner = self.digest(client.unwrap_or_default());
        let query = Query { kind, transaction, options, client, owner, to: src };
        if !multicast {
            return self.unicast(&query, out);
        }
        match kind {
            kind::SOLICIT | kind::REQUEST | kind::RENEW | kind::REBIND => {
                let is_ia = |code| matches!(code, option::IA_NA | option::IA_TA | option::IA_PD);
                if !options.iter().any(|option| is_ia(option.code)) {
                    return Err(Discard::Option);
                }
                if self.acquire(now, dhcp, &query, out) {
                    self.waiting = Some(Box::new(Waiting { src, message: octets.into() }));
                    return Ok(());
                }
                let answered = self.answer_leases(now, dhcp, &query, out);
                self.leases.retain(|lease| lease.state != State::Refused);
                answered
            }
            kind::CONFIRM => self.confirm(&query, out),
            kind::RELEASE => self.give_back(&query, false, out),
            kind::DECLINE => self.give_back(&query, true, out),
            _ => self.answer_information(dhcp, &query, out),
        }
    }

    /// Looks for what each association is to get, and asks the pools where there is nothing yet. True: the answer has
    /// to wait for them.
    fn acquire(&mut self, now: u64, dhcp: &DhcpConfig, query: &Query<'_>, out: &mut Vec<Action>) -> bool {
        for ia in query.associations() {
            if self.leases.iter().any(|lease| lease.kind == ia.kind && lease.iaid == ia.iaid) {
                continue;
            }
            let served = match ia.kind {
                LeaseKind::Address => dhcp.addresses != AddressSource::None,
                LeaseKind::Prefix => dhcp.prefixes,
            };
            if !served || self.take_over(dhcp, query, &ia) {
                continue;
            }
            let count = self.leases.iter().filter(|lease| lease.kind == ia.kind).count();
            if count >= usize::from(dhcp.leases_max.clamp(1, LEASES_MAX)) {
                continue;
            }
            // A client that extends a lease this session knows nothing of had it in an earlier one: it may go on with
            // the same, or must begin anew (sections 18.3.4 and 18.3.5). Addresses are taken as exactly in Request,
            // since another one would have to be refused as being not on the link (section 18.3.2).
            let first = ia.held().next();
            let strict = !query.opens() || query.kind == kind::REQUEST && ia.kind == LeaseKind::Address;
            let exact = strict && first.is_some();
            if ia.kind == LeaseKind::Address && dhcp.addresses == AddressSource::Link {
                self.take_from_link(now, query, &ia, first, exact);
            } else {
                self.ask(now, dhcp, query, &ia, exact, out);
            }
        }
        self.leases
            .iter()
            .any(|lease| matches!(lease.state, State::Asked { .. }) && query.names(lease.kind, lease.iaid))
    }

    /// A client that begins anew under another name gets the lease that it left behind, when it may not have more.
    fn take_over(&mut self, dhcp: &DhcpConfig, query: &Query<'_>, ia: &Association<'_>) -> bool {
        let count = self.leases.iter().filter(|lease| lease.kind == ia.kind).count();
        if !query.opens() || count < usize::from(dhcp.leases_max.clamp(1, LEASES_MAX)) {
            return false;
        }
        let left = self
            .leases
            .iter_mut()
            .filter(|lease| lease.kind == ia.kind && lease.is_held() && !query.names(lease.kind, lease.iaid))
            .min_by_key(|lease| lease.until);
        let found = left.is_some();
        if let Some(lease) = left {
            lease.iaid = ia.iaid;
        }
        found
    }

    /// An address of the link's own prefix.
    fn take_from_link(&mut self, now: u64, query: &Query<'_>, ia: &Association<'_>, hint: Option<Prefix>, exact: bool) {
        let Some(link) = self.link.prefix else { return };
        let free = |address: Ipv6Addr| !self.leases.iter().any(|lease| lease.prefix.address == address);
        let suits = |address: Ipv6Addr| link.contains(address) && address != link.address && free(address);
        let named = hint.map(|hint| hint.address).filter(|address| suits(*address));
        let chosen = if exact || named.is_some() {
            named
        } else {
            let first = u128::from(self.declined).saturating_add(2);
            (first..first.saturating_add(u128::from(LEASES_MAX).saturating_add(1)))
                .map(|number| Ipv6Addr::from_bits(link.address.to_bits() | number))
                .find(|address| suits(*address))
        };
        let (state, address) = match chosen {
            Some(address) => (State::Offered, address),
            None => (State::Refused, Ipv6Addr::UNSPECIFIED),
        };
        // Most sessions have one lease, and a vector that grows by itself begins with room for four.
        self.leases.reserve_exact(1);
        self.leases.push(Lease {
            kind: ia.kind,
            state,
            pooled: false,
            iaid: ia.iaid,
            ticket: Ticket(0),
            owner: query.owner,
            prefix: Prefix { address, length: 128 },
            until: now.saturating_add(OFFER_MS),
        });
    }

    fn ask(
        &mut self,
        now: u64,
        dhcp: &DhcpConfig,
        query: &Query<'_>,
        ia: &Association<'_>,
        exact: bool,
        out: &mut Vec<Action>,
    ) {
        let hint = if exact { ia.held().next() } else { ia.named().next() };
        let (shortest, longest) = (dhcp.length_min.min(128), dhcp.length_max.min(128));
        let hint = match (ia.kind, hint) {
            (LeaseKind::Prefix, Some(hint)) if !exact => {
                let length = hint.length.max(shortest).min(longest.max(shortest));
                Some(Prefix::containing(hint.address, length))
            }
            (LeaseKind::Address, Some(hint)) if hint.address.is_unspecified() => None,
            (_, hint) => hint,
        };
        // The lowest bit says which pool a late answer goes back to.
        self.tickets = self.tickets.wrapping_add(2);
        let ticket = Ticket(self.tickets | u32::from(ia.kind == LeaseKind::Prefix));
        out.push(Action::Allocate { ticket, kind: ia.kind, hint, exact });
        // Most sessions have one lease, and a vector that grows by itself begins with room for four.
        self.leases.reserve_exact(1);
        self.leases.push(Lease {
            kind: ia.kind,
            state: State::Asked { exact },
            pooled: true,
            iaid: ia.iaid,
            ticket,
            owner: query.owner,
            prefix: hint.unwrap_or(Prefix { address: Ipv6Addr::UNSPECIFIED, length: 0 }),
            until: now.saturating_add(ANSWER_MS),
        });
    }

    pub(crate) fn allocated(&mut self, now: u64, ticket: Ticket, answer: Option<Prefix>, out: &mut Vec<Action>) {
        let kind = if ticket.0 & 1 == 1 { LeaseKind::Prefix } else { LeaseKind::Address };
        let asked =
            self.leases.iter_mut().find(|lease| lease.ticket == ticket && matches!(lease.state, State::Asked { .. }));
        let Some(lease) = asked else {
            out.extend(answer.map(|prefix| Action::Free { kind, prefix, declined: false }));
            return;
        };
        match answer {
            Some(prefix) if lease.state != (State::Asked { exact: true }) || prefix == lease.prefix => {
                (lease.state, lease.prefix) = (State::Offered, prefix);
                lease.until = now.saturating_add(OFFER_MS);
            }
            other => {
                lease.state = State::Refused;
                out.extend(other.map(|prefix| Action::Free { kind, prefix, declined: false }));
            }
        }
        if self.leases.iter().any(|lease| matches!(lease.state, State::Asked { .. })) {
            return;
        }
        match self.waiting.take() {
            // Its outcome was said when it came; what is found out now changes nothing about that.
            Some(waiting) => _ = self.process(now, waiting.src, &waiting.message, true, out),
            None => self.leases.retain(|lease| lease.state != State::Refused),
        }
    }

    /// The lease of an association, where this client may have it.
    pub(crate) fn lease_mut(&mut self, query: &Query<'_>, ia: &Association<'_>) -> Option<&mut Lease> {
        self.leases.iter_mut().find(|lease| {
            lease.kind == ia.kind
                && lease.iaid == ia.iaid
                && lease.is_held()
                && (query.opens() || lease.owner == query.owner)
        })
    }

    /// The client takes, or extends, the lease of an association.
    pub(crate) fn bind(
        &mut self,
        now: u64,
        dhcp: &DhcpConfig,
        query: &Query<'_>,
        ia: &Association<'_>,
        out: &mut Vec<Action>,
    ) {
        let until = match dhcp.valid_s {
            u32::MAX => NEVER,
            valid => now.saturating_add(u64::from(valid).saturating_mul(1000)),
        };
        if let Some(lease) = self.lease_mut(query, ia) {
            lease.bind(query.owner, until, out);
        }
    }

    /// An offer stands for a while longer.
    pub(crate) fn offer(&mut self, now: u64, query: &Query<'_>, ia: &Association<'_>) {
        if let Some(lease) = self.lease_mut(query, ia) {
            lease.until = lease.until.max(now.saturating_add(OFFER_MS));
        }
    }

    /// Ends the lease of an association if the client names it. `None`: there is no such lease.
    pub(crate) fn end_lease(
        &mut self,
        query: &Query<'_>,
        ia: &Association<'_>,
        declined: bool,
        out: &mut Vec<Action>,
    ) -> Option<()> {
        let lease = *self.lease_mut(query, ia)?;
        if ia.held().any(|prefix| prefix == lease.prefix) {
            lease.end(declined, out);
            self.leases.retain(|other| other.kind != lease.kind || other.iaid != lease.iaid);
            self.declined = self.declined.saturating_add(u32::from(declined && !lease.pooled));
        }
        Some(())
    }

    /// FNV-1a over a salt and the DUID: within one session, that is enough.
    fn digest(&self, duid: &[u8]) -> u64 {
        duid.iter().fold(self.salt, |hash, octet| (hash ^ u64::from(*octet)).wrapping_mul(0x0000_0100_0000_01b3))
    }
}
