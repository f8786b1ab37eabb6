//! The subscribers and their packets: what goes in, and what must come out.

use crate::case::{Case, Family, Tags, Transport};
use bng_session::{Rate, SessionSpec};
use bng_wire::ether::Ether;
use bng_wire::{MacAddr, PortIndex, SessionId, VlanStack, VlanTag, ipv4, ipv6};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The access port.
pub(crate) const ACCESS: PortIndex = PortIndex(0);
/// The core port.
pub(crate) const CORE: PortIndex = PortIndex(1);
/// Our address on the access port.
pub(crate) const ACCESS_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xfe]);
/// Our address on the core port.
pub(crate) const CORE_MAC: MacAddr = MacAddr([2, 0, 0, 0, 1, 0xfe]);
/// The router on the core side.
pub(crate) const ROUTER_MAC: MacAddr = MacAddr([2, 0, 0, 0, 1, 1]);
/// 100.64.0.0/12.
pub(crate) const POOL4: u32 = 0x6440_0000;
/// Its prefix length.
pub(crate) const POOL4_LEN: u8 = 12;
/// 2001:db8:100::/40.
pub(crate) const POOL6: u128 = 0x2001_0db8_0100_0000_0000_0000_0000_0000;
/// Its prefix length.
pub(crate) const POOL6_LEN: u8 = 40;
/// 203.0.113.9.
const SERVER4: u32 = 0xcb00_7109;
/// 2001:db8:ffff::9.
const SERVER6: u128 = 0x2001_0db8_ffff_0000_0000_0000_0000_0009;
const TTL: u8 = 64;

/// The IPv4 address of subscriber `n`.
pub(crate) fn address4(n: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(POOL4.wrapping_add(n as u32))
}

/// The /64 of subscriber `n`.
pub(crate) fn prefix6(n: usize) -> Ipv6Addr {
    Ipv6Addr::from_bits(POOL6.wrapping_add((n as u128) << 64))
}

/// The session of subscriber `n`: both families up, every check on.
pub(crate) fn session(case: &Case, n: usize) -> SessionSpec {
    let outer_vid = 100u16.wrapping_add((n % case.spaces) as u16);
    let inner_vid = ((n / case.spaces) % 4000) as u16 + 1;
    let tag = |tpid, tci| Some(VlanTag { tpid, tci });
    let vlans = match case.tags {
        Tags::None => VlanStack::default(),
        Tags::Vlan => VlanStack { outer: tag(0x8100, outer_vid), inner: None },
        Tags::Qinq => VlanStack { outer: tag(0x88a8, outer_vid), inner: tag(0x8100, inner_vid) },
    };
    let rate = (case.police > 0).then_some(Rate { bits_per_second: case.police, burst_octets: 1 << 20 });
    SessionSpec {
        port: ACCESS,
        vlans,
        local_mac: ACCESS_MAC,
        peer_mac: MacAddr::from_u64(0x0201_0000_0000_u64.wrapping_add(n as u64)),
        session_id: SessionId((n / case.spaces) as u16 + 1),
        ipv4: Some(address4(n)),
        ipv6_prefix: Some((prefix6(n), 64)),
        ipv4_up: true,
        ipv6_up: true,
        policer_up: rate,
        policer_down: rate,
        ..SessionSpec::default()
    }
}

/// A packet of subscriber `n`, `upstream` or to it, whose checksum is computed in full.
fn packet(case: &Case, n: usize, upstream: bool, ttl: u8) -> Vec<u8> {
    let mut octets = vec![0; case.octets];
    let protocol = match case.transport {
        Transport::Udp => 17,
        Transport::Tcp => 6,
    };
    let header_len = match case.family {
        Family::Ipv4 => {
            let own = address4(n).to_bits();
            let (src, dst) = if upstream { (own, SERVER4) } else { (SERVER4, own) };
            ipv4::Header::new(src, dst, protocol, ttl, case.octets.saturating_sub(20)).write(&mut octets)
        }
        Family::Ipv6 => {
            let own = prefix6(n).to_bits() | 1;
            let (src, dst) = if upstream { (own, SERVER6) } else { (SERVER6, own) };
            ipv6::Header::new(src, dst, protocol, ttl, case.octets.saturating_sub(40)).write(&mut octets)
        }
    };
    let transport: &[u8] = match case.transport {
        Transport::Udp => &[0xc0, 0, 0, 53],
        // A header of 20 octets, ACK and nothing else.
        Transport::Tcp => &[0xc0, 0, 1, 187, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10],
    };
    if let Some(room) = octets.get_mut(header_len.unwrap_or(0)..).and_then(|rest| rest.get_mut(..transport.len())) {
        room.copy_from_slice(transport);
    }
    octets
}

fn frame(ether: &Ether, middle: &[u8], packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 22];
    let len = ether.write(&mut frame).unwrap_or(0);
    frame.truncate(len);
    frame.extend_from_slice(middle);
    frame.extend_from_slice(packet);
    // 64 octets with the FCS, which nobody carries here.
    frame.resize(frame.len().max(60), 0);
    frame
}

fn on_access(case: &Case, n: usize, from_client: bool, packet: &[u8]) -> Vec<u8> {
    let spec = session(case, n);
    let (src, dst) = if from_client { (spec.peer_mac, ACCESS_MAC) } else { (ACCESS_MAC, spec.peer_mac) };
    let ether = Ether { dst, src, vlans: spec.vlans, ethertype: 0x8864, payload_offset: 0 };
    let [s, t] = spec.session_id.0.to_be_bytes();
    let [l, m] = (packet.len() as u16).wrapping_add(2).to_be_bytes();
    let protocol = match case.family {
        Family::Ipv4 => 0x21,
        Family::Ipv6 => 0x57,
    };
    frame(&ether, &[0x11, 0, s, t, l, m, 0, protocol], packet)
}

fn on_core(case: &Case, from_us: bool, packet: &[u8]) -> Vec<u8> {
    let (src, dst) = if from_us { (CORE_MAC, ROUTER_MAC) } else { (ROUTER_MAC, CORE_MAC) };
    let ethertype = match case.family {
        Family::Ipv4 => 0x0800,
        Family::Ipv6 => 0x86dd,
    };
    frame(&Ether { dst, src, vlans: VlanStack::default(), ethertype, payload_offset: 0 }, &[], packet)
}

/// What is received on port 0 or 1 for subscriber `n`.
pub(crate) fn received(case: &Case, n: usize, port: usize) -> Vec<u8> {
    if port == 0 {
        on_access(case, n, true, &packet(case, n, true, TTL))
    } else {
        on_core(case, false, &packet(case, n, false, TTL))
    }
}

/// What must then be sent on the other port.
pub(crate) fn expected(case: &Case, n: usize, port: usize) -> Vec<u8> {
    if port == 0 {
        on_core(case, true, &packet(case, n, true, TTL - 1))
    } else {
        on_access(case, n, false, &packet(case, n, false, TTL - 1))
    }
}

/// xorshift of 64 bits: the same subscribers in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// 0 to `end` less one.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}
