//! A session, its pools and routes, and the packets of a client.

use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bng_ipv6::{Action, AddressSource, DhcpConfig, Discard, Ipv6Config, Ipv6Session, LeaseKind, Link, Prefix};
use bng_wire::dhcpv6::{
    self, Ia, IaAddress, IaPrefix, Options, kind, option, parse_status, write_header, write_option,
};
use bng_wire::ipv6::{HEADER_LEN, Header};
use bng_wire::nd;
use bng_wire::writer::Writer;

pub(crate) const SERVER_DUID: &[u8] = &[0, 2, 0, 0, 0x7d, 0xd0, 1, 2, 3, 4];
pub(crate) const CLIENT_DUID: &[u8] = &[0, 3, 0, 1, 2, 0, 0x5e, 0x10, 0, 1];

pub(crate) fn ip(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

pub(crate) fn prefix(text: &str) -> Prefix {
    let (address, length) = text.split_once('/').unwrap();
    Prefix { address: ip(address), length: length.parse().unwrap() }
}

pub(crate) fn router_address() -> Ipv6Addr {
    ip("fe80::1")
}

pub(crate) fn client_address() -> Ipv6Addr {
    ip("fe80::200:5eff:fe10:1")
}

pub(crate) fn config() -> Ipv6Config {
    let mut config = Ipv6Config::default();
    config.router.other = true;
    config.dns = vec![ip("2001:db8::53"), ip("2001:db8::54")];
    bng_wire::domain::encode("example.net", &mut config.domains).unwrap();
    config.dhcp = Some(DhcpConfig { addresses: AddressSource::Pool, ..DhcpConfig::new(SERVER_DUID.to_vec()) });
    config
}

pub(crate) fn change(edit: impl FnOnce(&mut DhcpConfig)) -> Ipv6Config {
    let mut config = config();
    edit(config.dhcp.as_mut().unwrap());
    config
}

/// Pools that several sessions share.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    pub(crate) held: BTreeSet<Prefix>,
    pub(crate) empty: bool,
    pub(crate) declined: BTreeSet<Prefix>,
}

impl Pools {
    fn take(&mut self, kind: LeaseKind, hint: Option<Prefix>, exact: bool) -> Option<Prefix> {
        let (base, step, length) = match kind {
            LeaseKind::Prefix => (prefix("2001:db8:1000::/36"), 1u128 << 72, 56),
            LeaseKind::Address => (prefix("2001:db8:2000::/64"), 1, 128),
        };
        if self.empty {
            return None;
        }
        let hint = hint.filter(|hint| hint.length == length && base.contains(hint.address));
        if let Some(hint) = hint
            && self.held.insert(hint)
        {
            return Some(hint);
        }
        if exact {
            return None;
        }
        let mut all = (1..).map(|n| Prefix { address: Ipv6Addr::from_bits(base.address.to_bits() + n * step), length });
        let free = all.find(|one| !self.held.contains(one) && !self.declined.contains(one)).unwrap();
        self.held.insert(free);
        Some(free)
    }
}

pub(crate) struct Lab {
    pub(crate) session: Ipv6Session,
    pub(crate) pools: Pools,
    pub(crate) routes: BTreeSet<Prefix>,
    pub(crate) sent: Vec<Vec<u8>>,
    pub(crate) actions: Vec<Action>,
    pub(crate) now: Instant,
    pub(crate) start: Instant,
    /// Whether the pools answer at once.
    pub(crate) prompt: bool,
    pub(crate) open: Vec<(bng_ipv6::Ticket, LeaseKind, Option<Prefix>, bool)>,
}

impl Lab {
    pub(crate) fn new(config: Ipv6Config) -> Self {
        let link = Link { local_id: 1, mtu: 1492, prefix: Some(prefix("2001:db8:0:7::/64")) };
        let now = Instant::now();
        let mut lab = Self {
            session: Ipv6Session::new(Arc::new(config), link, 11),
            pools: Pools::default(),
            routes: BTreeSet::new(),
            sent: Vec::new(),
            actions: Vec::new(),
            now,
            start: now,
            prompt: true,
            open: Vec::new(),
        };
        lab.start();
        lab
    }

    pub(crate) fn start(&mut self) {
        let mut out = Vec::new();
        self.session.start(self.now, &mut out);
        self.carry_out(out);
    }

    pub(crate) fn carry_out(&mut self, out: Vec<Action>) {
        for action in out {
            self.actions.push(action.clone());
            match action {
                Action::Send(packet) => {
                    check_packet(&packet);
                    self.sent.push(packet);
                }
                Action::Allocate { ticket, kind, hint, exact } => {
                    self.open.push((ticket, kind, hint, exact));
                }
                Action::Free { prefix, declined, .. } => {
                    assert!(!self.routes.contains(&prefix), "{prefix} is given back with its route");
                    assert!(self.pools.held.remove(&prefix), "{prefix} is given back twice");
                    if declined {
                        self.pools.declined.insert(prefix);
                    }
                }
                Action::RouteAdd(prefix) => {
                    assert!(self.pools.held.contains(&prefix), "{prefix} is not allocated");
                    assert!(self.routes.insert(prefix), "{prefix} is routed twice");
                }
                Action::RouteRemove(prefix) => assert!(self.routes.remove(&prefix), "{prefix} is not routed"),
            }
        }
        if self.prompt {
            self.answer_pools();
        }
    }

    pub(crate) fn answer_pools(&mut self) {
        for (ticket, kind, hint, exact) in std::mem::take(&mut self.open) {
            let answer = self.pools.take(kind, hint, exact);
            let mut out = Vec::new();
            self.session.granted(self.now, ticket, answer, &mut out);
            self.carry_out(out);
        }
    }

    pub(crate) fn receive(&mut self, packet: &[u8]) -> Result<(), Discard> {
        let mut out = Vec::new();
        let result = self.session.handle(self.now, packet, &mut out);
        self.carry_out(out);
        result
    }

    /// Lets time pass, and timers with it.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(at) = self.session.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            let mut out = Vec::new();
            self.session.handle_timeout(self.now, &mut out);
            self.carry_out(out);
            assert!(self.session.poll_timeout().is_none_or(|next| next > self.now), "a timer that is due for ever");
        }
        self.now = end;
    }

    pub(crate) fn close(&mut self) {
        let mut out = Vec::new();
        self.session.close(self.now, &mut out);
        self.carry_out(out);
        assert!(self.routes.is_empty() && self.pools.held.is_empty());
        assert_eq!(self.session.poll_timeout(), None);
    }

    /// Sends a DHCPv6 message and returns the one answer.
    pub(crate) fn ask(&mut self, message: &[u8]) -> Answer {
        self.sent.clear();
        let packet = dhcp_packet(client_address(), dhcpv6::SERVERS, message);
        assert_eq!(self.receive(&packet), Ok(()));
        assert_eq!(self.sent.len(), 1, "one answer");
        Answer::parse(&self.sent[0])
    }

    /// Solicit and Request of one prefix.
    pub(crate) fn lease_prefix(&mut self) -> Prefix {
        let offered = self.ask(&Ask::new(kind::SOLICIT).pd(1, &[]).octets()).leases(LeaseKind::Prefix)[0];
        let given = self.ask(&Ask::new(kind::REQUEST).server().pd(1, &[offered]).octets());
        assert_eq!(given.leases(LeaseKind::Prefix), [offered]);
        offered
    }
}

/// What holds for every packet that goes out.
pub(crate) fn check_packet(packet: &[u8]) {
    let header = Header::check(packet).unwrap();
    assert_eq!(header.total_len(), packet.len());
    assert!(packet.len() <= 1500);
    assert_eq!(header.hop_limit, 255);
    let (src, dst) = (Ipv6Addr::from_bits(header.src.get()), Ipv6Addr::from_bits(header.dst.get()));
    assert_eq!(src, router_address());
    assert!(dst == ip("ff02::1") || !dst.is_multicast() && !dst.is_unspecified());
    let payload = &packet[HEADER_LEN..];
    match header.next_header {
        58 => assert!(nd::is_sealed(src, dst, payload)),
        17 => {
            let sum = bng_wire::checksum::Sum::ZERO.pseudo_ipv6(src.to_bits(), dst.to_bits(), 17, payload.len() as u32);
            assert_eq!(sum.octets(payload).fold(), 0xffff);
            assert_eq!(&payload[..4], [2, 35, 2, 34], "from port 547 to 546");
        }
        other => panic!("protocol {other}"),
    }
}

pub(crate) fn icmp_packet(src: Ipv6Addr, dst: Ipv6Addr, hop_limit: u8, message: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    nd::seal(src, dst, &mut message);
    let mut packet = vec![0; HEADER_LEN];
    Header::new(src.to_bits(), dst.to_bits(), 58, hop_limit, message.len()).write(&mut packet).unwrap();
    packet.extend(message);
    packet
}

pub(crate) fn dhcp_packet(src: Ipv6Addr, dst: Ipv6Addr, message: &[u8]) -> Vec<u8> {
    let len = (message.len() + 8) as u16;
    let mut datagram = vec![2, 34, 2, 35];
    datagram.extend(len.to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(message);
    let sum = bng_wire::checksum::Sum::ZERO.pseudo_ipv6(src.to_bits(), dst.to_bits(), 17, len.into());
    let sum = sum.octets(&datagram).checksum();
    datagram[6..8].copy_from_slice(&sum.to_be_bytes());
    let mut packet = vec![0; HEADER_LEN];
    Header::new(src.to_bits(), dst.to_bits(), 17, 1, datagram.len()).write(&mut packet).unwrap();
    packet.extend(datagram);
    packet
}

pub(crate) fn solicitation(src: Ipv6Addr) -> Vec<u8> {
    icmp_packet(src, ip("ff02::2"), 255, &[133, 0, 0, 0, 0, 0, 0, 0])
}

/// A client's message in the making.
#[derive(Clone)]
pub(crate) struct Ask(Vec<u8>);

impl Ask {
    pub(crate) fn new(kind: u8) -> Self {
        Self::of(kind, Some(CLIENT_DUID))
    }

    pub(crate) fn of(kind: u8, client: Option<&[u8]>) -> Self {
        let mut ask = Self(Vec::new());
        ask.write(|out| write_header(out, kind, 0xabcdef).unwrap());
        match client {
            Some(duid) => ask.with(option::CLIENT_ID, duid),
            None => ask,
        }
    }

    fn write(&mut self, write: impl FnOnce(&mut Writer<'_>)) {
        let mut buffer = [0; 1500];
        let mut out = Writer::new(&mut buffer);
        write(&mut out);
        self.0.extend_from_slice(out.written());
    }

    pub(crate) fn with(mut self, code: u16, body: &[u8]) -> Self {
        self.write(|out| write_option(out, code, |out| out.octets(body)).unwrap());
        self
    }

    pub(crate) fn server(self) -> Self {
        self.with(option::SERVER_ID, SERVER_DUID)
    }

    pub(crate) fn pd(self, iaid: u32, named: &[Prefix]) -> Self {
        self.ia(option::IA_PD, iaid, named)
    }

    pub(crate) fn na(self, iaid: u32, named: &[Prefix]) -> Self {
        self.ia(option::IA_NA, iaid, named)
    }

    fn ia(mut self, code: u16, iaid: u32, named: &[Prefix]) -> Self {
        self.write(|out| {
            write_option(out, code, |out| {
                let options = Options::default();
                Ia { iaid, t1_s: 0, t2_s: 0, options }.write(out)?;
                named.iter().try_for_each(|Prefix { address, length }| match code {
                    option::IA_PD => {
                        IaPrefix { preferred_s: 0, valid_s: 0, length: *length, prefix: *address, options }.write(out)
                    }
                    _ => IaAddress { address: *address, preferred_s: 0, valid_s: 0, options }.write(out),
                })
            })
            .unwrap();
        });
        self
    }

    pub(crate) fn octets(&self) -> Vec<u8> {
        self.0.clone()
    }
}

/// A server's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) kind: u8,
    pub(crate) transaction: u32,
    pub(crate) options: Vec<(u16, Vec<u8>)>,
}

impl Answer {
    pub(crate) fn parse(packet: &[u8]) -> Self {
        let message = dhcpv6::Message::parse(&packet[HEADER_LEN + 8..]).unwrap();
        let options: Vec<_> = message.options.iter().map(|option| (option.code, option.body.to_vec())).collect();
        let answer = Self { kind: message.kind, transaction: message.transaction, options };
        assert_eq!(answer.transaction, 0xabcdef);
        assert_eq!(answer.first(option::SERVER_ID), Some(SERVER_DUID));
        answer
    }

    pub(crate) fn first(&self, code: u16) -> Option<&[u8]> {
        self.options.iter().find(|(other, _)| *other == code).map(|(_, body)| &body[..])
    }

    pub(crate) fn status(&self) -> Option<u16> {
        self.first(option::STATUS).and_then(parse_status).map(|(code, _)| code)
    }

    fn ias(&self, kind: LeaseKind) -> impl Iterator<Item = Ia<'_>> {
        let code = if kind == LeaseKind::Prefix { option::IA_PD } else { option::IA_NA };
        self.options.iter().filter(move |(other, _)| *other == code).map(|(_, body)| Ia::parse(body).unwrap())
    }

    /// IAID and status of each association that has one.
    pub(crate) fn ia_status(&self, kind: LeaseKind) -> Vec<(u32, u16)> {
        self.ias(kind).filter_map(|ia| Some((ia.iaid, parse_status(ia.options.first(option::STATUS)?)?.0))).collect()
    }

    /// T1, T2.
    pub(crate) fn times(&self, kind: LeaseKind) -> (u32, u32) {
        let ia = self.ias(kind).next().unwrap();
        (ia.t1_s, ia.t2_s)
    }

    /// All leases with preferred and valid lifetime.
    pub(crate) fn lifetimes(&self, kind: LeaseKind) -> Vec<(Prefix, u32, u32)> {
        let mut all = Vec::new();
        for ia in self.ias(kind) {
            for option in ia.options.iter() {
                match option.code {
                    option::IA_PREFIX => {
                        let lease = IaPrefix::parse(option.body).unwrap();
                        let prefix = Prefix { address: lease.prefix, length: lease.length };
                        all.push((prefix, lease.preferred_s, lease.valid_s));
                    }
                    option::IA_ADDRESS => {
                        let lease = IaAddress::parse(option.body).unwrap();
                        let prefix = Prefix { address: lease.address, length: 128 };
                        all.push((prefix, lease.preferred_s, lease.valid_s));
                    }
                    _ => {}
                }
            }
        }
        all
    }

    pub(crate) fn leases(&self, kind: LeaseKind) -> Vec<Prefix> {
        self.lifetimes(kind).into_iter().filter(|(_, _, valid)| *valid > 0).map(|(prefix, ..)| prefix).collect()
    }
}
