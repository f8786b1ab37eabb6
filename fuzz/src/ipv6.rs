//! IPv6 on one link with any packets at any time and any answers of the pools. An input is a sequence of: an octet that
//! says what, then its octets.

use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use std::sync::Arc;
use std::time::Instant;

use bng_ipv6::{Action, AddressSource, DhcpConfig, Ipv6Config, Ipv6Session, LeaseKind, Link, Prefix, Ticket};
use bng_wire::checksum::Sum;
use bng_wire::ipv6::Header;
use bng_wire::nd;

use crate::input::Input;

/// The server's DUID, so that seeds can name it.
pub const SERVER_DUID: &[u8] = &[0, 2, 0, 0, 0x7d, 0xd0, 1, 2];
/// A whole packet follows.
pub const PACKET: u8 = 0;
/// An ICMPv6 message follows; its checksum is put right.
pub const ICMP: u8 = 1;
/// A DHCPv6 message follows.
pub const DHCP: u8 = 2;
/// The pools answer.
pub const POOLS: u8 = 3;
/// A time follows.
pub const TIME: u8 = 4;
const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
const CLIENT: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
const SOLICITED: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 1);

/// What the owner of a session would know.
#[derive(Default)]
struct Owner {
    asked: Vec<(Ticket, LeaseKind, Option<Prefix>)>,
    held: BTreeSet<Prefix>,
    routes: BTreeSet<Prefix>,
    next: u128,
    sent: usize,
}

impl Owner {
    fn take(&mut self, actions: &mut Vec<Action>) {
        for action in actions.drain(..) {
            match action {
                Action::Send(packet) => {
                    self.sent += 1;
                    let header = Header::check(&packet).expect("a header");
                    assert!(header.total_len() == packet.len() && packet.len() <= 1500);
                    assert_eq!(header.src.get(), ROUTER.to_bits());
                }
                Action::Allocate { ticket, kind, hint, .. } => self.asked.push((ticket, kind, hint)),
                Action::Free { prefix, .. } => {
                    assert!(!self.routes.contains(&prefix) && self.held.remove(&prefix), "{prefix} given back");
                }
                Action::RouteAdd(prefix) => assert!(self.held.contains(&prefix) && self.routes.insert(prefix)),
                Action::RouteRemove(prefix) => assert!(self.routes.remove(&prefix)),
            }
        }
        assert!(self.routes.len() <= 4 && self.held.len() <= 6);
    }

    /// What the pools give: the wish, something else, or nothing.
    fn give(&mut self, kind: LeaseKind, hint: Option<Prefix>, what: u8) -> Option<Prefix> {
        let length = if kind == LeaseKind::Prefix { 56 } else { 128 };
        let wish = hint.filter(|hint| hint.length == length && what & 1 == 0);
        self.next += 1;
        let other = Prefix::containing(Ipv6Addr::from_bits(0x2001_0db8 << 96 | self.next << 72), length);
        let given = wish.unwrap_or(other);
        (what & 2 == 0 && self.held.insert(given)).then_some(given)
    }
}

fn packet(src: Ipv6Addr, dst: Ipv6Addr, protocol: u8, hop_limit: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 40];
    Header::new(src.to_bits(), dst.to_bits(), protocol, hop_limit, payload.len()).write(&mut packet).expect("room");
    packet.extend_from_slice(payload);
    packet
}

fn datagram(src: Ipv6Addr, dst: Ipv6Addr, message: &[u8]) -> Vec<u8> {
    let length = (message.len() + 8) as u16;
    let mut datagram = vec![2, 34, 2, 35];
    datagram.extend(length.to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend_from_slice(message);
    let sum = Sum::ZERO.pseudo_ipv6(src.to_bits(), dst.to_bits(), 17, length.into()).octets(&datagram).checksum();
    datagram[6..8].copy_from_slice(&sum.to_be_bytes());
    packet(src, dst, 17, 1, &datagram)
}

/// A sequence of packets, answers of the pools, and times.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let mut now = Instant::now();
    let choices = input.octet().unwrap_or(0);
    let mut config = Ipv6Config { dns: vec![ROUTER; usize::from(choices & 15)], ..Ipv6Config::default() };
    bng_wire::domain::encode("example.net", &mut config.domains).expect("a name");
    config.dhcp = Some(DhcpConfig {
        addresses: [AddressSource::Pool, AddressSource::Link, AddressSource::None][usize::from(choices >> 4) % 3],
        leases_max: 2,
        ..DhcpConfig::new(SERVER_DUID.to_vec())
    });
    let prefix = Prefix { address: Ipv6Addr::new(0x2001, 0xdb8, 0, 7, 0, 0, 0, 0), length: 64 };
    let link = Link { local_id: 1, mtu: 1492, prefix: (choices & 0x80 == 0).then_some(prefix) };
    let mut session = Ipv6Session::new(Arc::new(config), link, 7);
    let mut owner = Owner::default();
    let mut actions = Vec::new();
    session.start(now, &mut actions);
    while let Some(what) = input.octet() {
        let sent = owner.sent;
        let multicast = what & 0x10 == 0;
        match what & 7 {
            PACKET => _ = session.handle(now, input.octets(), &mut actions),
            ICMP => {
                let src = if what & 0x20 == 0 { CLIENT } else { Ipv6Addr::UNSPECIFIED };
                let dst = [ALL_ROUTERS, ROUTER, SOLICITED, SOLICITED][usize::from(what >> 6)];
                let mut message = input.octets().to_vec();
                nd::seal(src, dst, &mut message);
                let _ = session.handle(now, &packet(src, dst, nd::ICMPV6, 255, &message), &mut actions);
            }
            DHCP => {
                let dst = if multicast { bng_wire::dhcpv6::SERVERS } else { ROUTER };
                let _ = session.handle(now, &datagram(CLIENT, dst, input.octets()), &mut actions);
            }
            POOLS => {
                if let Some((ticket, kind, hint)) = owner.asked.pop() {
                    let given = owner.give(kind, hint, what >> 4);
                    session.granted(now, ticket, given, &mut actions);
                }
            }
            TIME => now += input.time(),
            5 => {
                if let Some(at) = session.poll_timeout() {
                    now = now.max(at);
                    session.handle_timeout(now, &mut actions);
                    assert!(session.poll_timeout().is_none_or(|next| next > now), "a timer that is due for ever");
                }
            }
            6 => session.close(now, &mut actions),
            _ => session.start(now, &mut actions),
        }
        if what & 7 == TIME {
            session.handle_timeout(now, &mut actions);
        }
        owner.take(&mut actions);
        assert!(owner.sent - sent <= 2, "one step leads to {} packets", owner.sent - sent);
    }
    session.close(now, &mut actions);
    owner.take(&mut actions);
    for (ticket, kind, hint) in std::mem::take(&mut owner.asked) {
        let given = owner.give(kind, hint, 0);
        session.granted(now, ticket, given, &mut actions);
        owner.take(&mut actions);
    }
    assert!(owner.held.is_empty() && owner.routes.is_empty(), "the end of a session leaves something behind");
}
