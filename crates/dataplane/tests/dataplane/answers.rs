//! What a worker answers by itself.

use bng_dataplane::{PuntClass, Reason};
use bng_session::SessionSpec;
use bng_wire::checksum::checksum;

use crate::bed::*;

const MAGIC: u32 = 0x0a0b_0c0d;

/// An LCP packet of the first client: code, identifier 7, this magic number and data; `rest` follows behind.
fn lcp(code: u8, magic: [u8; 4], data: &[u8], rest: &[u8]) -> Vec<u8> {
    let mut octets = vec![code, 7];
    octets.extend((data.len() as u16 + 8).to_be_bytes());
    octets.extend(magic);
    octets.extend(data);
    octets.extend(rest);
    octets
}

fn echoing() -> Bed {
    let mut bed = Bed::new();
    bed.change(|spec| spec.echo_magic = Some(MAGIC));
    bed
}

#[test]
fn an_echo_request_is_answered_with_our_magic_number() {
    let mut bed = echoing();
    // The client pads the PPP packet, and its frame.
    let request = pppoe(AC, CLIENT, untagged(), 1, 0xc021, &lcp(9, [1, 2, 3, 4], b"abc", &[0xee; 5]));
    let reply = bed.forward(ACCESS, &request, ACCESS);
    let expected = pppoe(CLIENT, AC, untagged(), 1, 0xc021, &lcp(10, [0x0a, 0x0b, 0x0c, 0x0d], b"abc", &[]));
    assert_eq!(reply[..33], expected[..33]);
    assert_eq!((reply.len(), &reply[33..]), (60, &[0; 27][..]), "nothing of the request's padding travels");
    let totals = bed.totals(bed.client);
    // A sign of life, but no packet of the client's.
    assert_eq!((totals.echoes, totals.up_packets, totals.down_packets, totals.up_drops), (1, 0, 0, 0));
    assert_eq!(bed.pipeline.counters().echoes_answered.get(), 1);
    assert_eq!(bed.pipeline.counters().port(ACCESS).expect("a port").tx_octets.get(), 60);
}

#[test]
fn an_echo_reply_keeps_both_tags_and_long_data() {
    let mut bed = echoing();
    let vlans = tagged((0x88a8, 0x6064), Some((0x8100, 0xe0c8)));
    let spec = SessionSpec { vlans, ..bed.spec };
    bed.sessions.insert(&spec).expect("room");
    let request = pppoe(AC, CLIENT, vlans, 1, 0xc021, &lcp(9, [0; 4], &[0x5a; 100], &[]));
    let reply = bed.forward(ACCESS, &request, ACCESS);
    let magic = [0x0a, 0x0b, 0x0c, 0x0d];
    // The identifiers of the session with the priority of control frames.
    let vlans = tagged((0x88a8, 0xc064), Some((0x8100, 0xc0c8)));
    assert_eq!(reply, pppoe(CLIENT, AC, vlans, 1, 0xc021, &lcp(10, magic, &[0x5a; 100], &[])));
}

#[test]
fn an_agreed_lack_of_magic_numbers_is_answered_with_zero() {
    let mut bed = Bed::new();
    bed.change(|spec| spec.echo_magic = Some(0));
    let reply = bed.forward(ACCESS, &pppoe(AC, CLIENT, untagged(), 1, 0xc021, &lcp(9, [0; 4], &[], &[])), ACCESS);
    assert_eq!(reply[..30], pppoe(CLIENT, AC, untagged(), 1, 0xc021, &lcp(10, [0; 4], &[], &[]))[..30]);
}

#[test]
fn whatever_is_odd_about_an_echo_request_is_for_control() {
    let mut bed = echoing();
    let mut punted = |packet: &[u8]| {
        let frame = pppoe(AC, CLIENT, untagged(), 1, 0xc021, packet);
        let meta = bed.punts(ACCESS, &frame, PuntClass::Keepalive, Reason::PppKeepalive);
        assert_eq!(meta.session, Some(bed.client));
    };
    // Our own magic number: the link is looped back.
    punted(&lcp(9, [0x0a, 0x0b, 0x0c, 0x0d], &[], &[]));
    // A length below the header's, beyond the frame, and a packet that ends within its header.
    punted(&[9, 1, 0, 7, 0, 0, 0, 0]);
    punted(&[9, 1, 0, 9, 0, 0, 0, 0]);
    punted(&[9, 1, 0, 8, 0, 0, 0]);
    // Other codes, replies above all.
    punted(&lcp(10, [1, 2, 3, 4], &[], &[]));
    punted(&lcp(5, [1, 2, 3, 4], &[], &[]));
    // A reply that the client could not take.
    punted(&lcp(9, [1, 2, 3, 4], &[0; 1485], &[]));
    assert_eq!(bed.totals(bed.client).echoes, 0);
    // LCP is not open.
    bed.change(|spec| spec.echo_magic = None);
    let request = pppoe(AC, CLIENT, untagged(), 1, 0xc021, &lcp(9, [1, 2, 3, 4], &[], &[]));
    bed.punts(ACCESS, &request, PuntClass::Keepalive, Reason::PppKeepalive);
}

#[test]
fn the_limits_of_echoes_and_pings_are_apart_and_by_session() {
    let mut bed = echoing();
    let echo = pppoe(AC, CLIENT, untagged(), 1, 0xc021, &lcp(9, [1, 2, 3, 4], &[], &[]));
    for _ in 0..20 {
        bed.forward(ACCESS, &ping4(IP, GATEWAY, b"flood"), ACCESS);
    }
    bed.drops(ACCESS, &ping4(IP, GATEWAY, b"flood"), Reason::PingLimited);
    for _ in 0..4 {
        bed.forward(ACCESS, &echo, ACCESS);
    }
    bed.drops(ACCESS, &echo, Reason::EchoLimited);
    assert_eq!(bed.totals(bed.client).up_drops, 2);
    bed.now_ms += 1024;
    bed.forward(ACCESS, &echo, ACCESS);
    bed.forward(ACCESS, &ping4(IP, GATEWAY, b"again"), ACCESS);
}

fn message(kind: u8, data: &[u8]) -> Vec<u8> {
    let mut octets = vec![kind, 0, 0, 0, 0x12, 0x34, 0, 1];
    octets.extend(data);
    octets
}

fn icmp4(kind: u8, data: &[u8]) -> Vec<u8> {
    let mut octets = message(kind, data);
    let sum = checksum(&octets);
    octets[2..4].copy_from_slice(&sum.to_be_bytes());
    octets
}

fn icmp6(kind: u8, from: &str, to: &str, data: &[u8]) -> Vec<u8> {
    let mut octets = message(kind, data);
    let pseudo = bng_wire::checksum::Sum::ZERO.pseudo_ipv6(v6(from), v6(to), 58, octets.len() as u32);
    let sum = pseudo.octets(&octets).checksum();
    octets[2..4].copy_from_slice(&sum.to_be_bytes());
    octets
}

fn ping4(from: &str, to: &str, data: &[u8]) -> Vec<u8> {
    up(&ip4(from, to, 1, 64, &icmp4(8, data)))
}

#[test]
fn a_ping_of_the_gateway_is_answered() {
    let mut bed = Bed::new();
    for ttl in [64, 1] {
        let request = ip4(IP, GATEWAY, 1, ttl, &icmp4(8, b"thirty-three octets of test data."));
        let reply = bed.forward(ACCESS, &up(&request), ACCESS);
        let expected = ip4(GATEWAY, IP, 1, 64, &icmp4(0, b"thirty-three octets of test data."));
        assert_eq!(reply, pppoe(CLIENT, AC, untagged(), 1, 0x21, &expected));
    }
    let totals = bed.totals(bed.client);
    assert_eq!((totals.up_packets, totals.up_octets, totals.down_packets, totals.down_octets), (2, 122, 2, 122));
    assert_eq!(bed.pipeline.counters().pings_answered.get(), 2);
    assert_eq!(bed.count(Reason::Host), 0);
}

#[test]
fn what_is_no_plain_ping_of_the_gateway_is_refused() {
    let mut bed = Bed::new();
    let mut broken = icmp4(8, b"data");
    broken[2] ^= 1;
    for packet in [
        ip4(IP, GATEWAY, 1, 64, &broken),
        ip4(IP, GATEWAY, 1, 64, &icmp4(0, b"a reply")),
        ip4(IP, GATEWAY, 1, 64, &[8, 0]),
    ] {
        bed.drops(ACCESS, &up(&packet), Reason::HostRefused);
        assert!(bed.extra.is_empty());
    }
    // No gateway address is known.
    bed.change(|spec| spec.gateway_ipv4 = None);
    bed.drops(ACCESS, &ping4(IP, GATEWAY, b"data"), Reason::HostRefused);
    assert_eq!(bed.pipeline.counters().pings_answered.get(), 0);
}

#[test]
fn a_ping_of_the_link_local_gateway_is_answered_once_it_is_known() {
    let mut bed = Bed::new();
    let gateway = "fe80::a1b2:c3d4";
    for from in ["fe80::1", IP6] {
        let request = ip6(from, gateway, 58, 64, &icmp6(128, from, gateway, b"payload of some length"));
        bed.change(|spec| spec.gateway_interface_id = None);
        bed.punts(ACCESS, &up6(&request), PuntClass::Session, Reason::Ipv6Control);
        bed.change(|spec| spec.gateway_interface_id = Some(0xa1b2_c3d4));
        let reply = bed.forward(ACCESS, &up6(&request), ACCESS);
        let expected = ip6(gateway, from, 58, 64, &icmp6(129, gateway, from, b"payload of some length"));
        assert_eq!(reply, pppoe(CLIENT, AC, untagged(), 1, 0x57, &expected));
    }
    // Another's address, another destination and a wrong checksum.
    let strange = ip6(SERVER6, gateway, 58, 64, &icmp6(128, SERVER6, gateway, b""));
    let other = ip6("fe80::1", "fe80::2", 58, 64, &icmp6(128, "fe80::1", "fe80::2", b""));
    let broken = ip6("fe80::1", gateway, 58, 64, &icmp6(128, "fe80::9", gateway, b""));
    for packet in [strange, other, broken] {
        bed.punts(ACCESS, &up6(&packet), PuntClass::Session, Reason::Ipv6Control);
    }
}
