//! From the client to the network.

use bng_dataplane::{PuntClass, Reason};
use bng_fib::NextHop;
use bng_session::{SessionSpec, SessionTotals};
use bng_wire::{MacAddr, SessionId};

use crate::bed::*;

#[test]
fn a_packet_leaves_with_the_routers_header() {
    let mut bed = Bed::new();
    let packet = ordinary();
    let out = bed.forward(ACCESS, &up(&packet), CORE);
    assert_eq!(out, pad(ether(ROUTER, CORE_MAC, untagged(), 0x0800, &hopped(&packet)), 0));
    let totals = SessionTotals { up_packets: 1, up_octets: packet.len() as u64, ..SessionTotals::default() };
    assert_eq!(bed.totals(bed.client), totals);
    let counters = bed.pipeline.counters();
    let (access, core) = (counters.port(ACCESS).unwrap(), counters.port(CORE).unwrap());
    assert_eq!((access.rx_frames.get(), access.rx_octets.get()), (1, up(&packet).len() as u64));
    assert_eq!((core.tx_frames.get(), core.tx_octets.get()), (1, out.len() as u64));
}

#[test]
fn an_ipv6_packet_leaves_with_the_routers_header() {
    let mut bed = Bed::new();
    for source in [IP6, "2001:db8:8000:1ff::1"] {
        let packet = ip6(source, SERVER6, 17, 64, &datagram(1, 2, b"to the network"));
        let out = bed.forward(ACCESS, &up6(&packet), CORE);
        assert_eq!(out, ether(ROUTER, CORE_MAC, untagged(), 0x86dd, &hopped(&packet)));
    }
    assert_eq!(bed.totals(bed.client).up_packets, 2);
}

#[test]
fn a_packet_for_another_subscriber_turns_round() {
    let mut bed = Bed::new();
    let packet = ip4(IP, IP_2, 17, 64, &datagram(1, 2, b"hello, neighbour"));
    let out = bed.forward(ACCESS, &up(&packet), ACCESS);
    let mut expected = pppoe(CLIENT_2, AC, untagged(), 2, 0x21, &hopped(&packet));
    expected.truncate(22 + packet.len());
    assert_eq!(out, pad(expected, 0));
    assert_eq!(bed.totals(bed.client).up_packets, 1);
    assert_eq!(bed.totals(bed.client_2).down_octets, packet.len() as u64);
}

#[test]
fn a_subscriber_does_not_reach_the_router_itself() {
    let mut bed = Bed::new();
    bed.drops(ACCESS, &up(&ip4(IP, GATEWAY, 17, 1, &datagram(40000, 53, b"resolver?"))), Reason::HostRefused);
    assert_eq!(bed.extra.len(), 1, "and is told so");
    assert_eq!(bed.totals(bed.client).up_drops, 1);
}

#[test]
fn a_held_packet_is_counted_when_it_goes_not_when_it_waits() {
    let mut bed = Bed::new();
    bed.fib.adjacency_unresolve(bed.router).unwrap();
    bed.punts(ACCESS, &up(&ordinary()), PuntClass::Host, Reason::NeighbourUnresolved);
    assert_eq!(bed.totals(bed.client), SessionTotals::default());
    let mut header = [0; 14];
    header[..6].copy_from_slice(&ROUTER.0);
    header[6..12].copy_from_slice(&CORE_MAC.0);
    bed.fib.adjacency_resolve(bed.router, &header).unwrap();
    bed.forward(ACCESS, &up(&ordinary()), CORE);
    assert_eq!(bed.totals(bed.client).up_packets, 1);
}

#[test]
fn a_framed_route_is_a_lawful_source_and_leads_back() {
    let mut bed = Bed::new();
    let framed = ip4("198.51.100.77", SERVER, 17, 64, &datagram(1, 2, b"from behind the client"));
    bed.drops(ACCESS, &up(&framed), Reason::Ipv4Spoofed);
    let generation = bed.sessions.generation(bed.client);
    bed.route4("198.51.100.64", 26, NextHop::Session { index: bed.client.0, generation });
    bed.forward(ACCESS, &up(&framed), CORE);
    let back = ip4(SERVER, "198.51.100.77", 17, 64, &datagram(2, 1, b"and back"));
    bed.forward(CORE, &down(&back), ACCESS);
    // Another subscriber does not gain by it.
    let thief = pppoe(AC, CLIENT_2, untagged(), 2, 0x21, &framed);
    bed.drops(ACCESS, &thief, Reason::Ipv4Spoofed);
    // The session of an earlier generation does not own it any more.
    bed.route4("198.51.100.64", 26, NextHop::Session { index: bed.client.0, generation: generation + 1 });
    bed.drops(ACCESS, &up(&framed), Reason::Ipv4Spoofed);
    bed.drops(CORE, &down(&back), Reason::NoSubscriber);
}

#[test]
fn the_source_check_can_be_off_but_martians_stay_out() {
    let mut bed = Bed::new();
    bed.change(|spec| spec.source_check = false);
    bed.forward(ACCESS, &up(&ip4("198.51.100.7", SERVER, 17, 64, &[0; 8])), CORE);
    for martian in ["0.0.0.0", "127.0.0.1", "169.254.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"] {
        bed.drops(ACCESS, &up(&ip4(martian, SERVER, 17, 64, &[0; 8])), Reason::Ipv4Source);
    }
}

#[test]
fn a_session_without_an_address_forwards_nothing() {
    let mut bed = Bed::new();
    bed.change(|spec| spec.ipv4 = None);
    bed.drops(ACCESS, &up(&ip4("0.0.0.0", SERVER, 17, 64, &[0; 8])), Reason::Ipv4Source);
}

#[test]
fn control_frames_go_to_their_class_with_their_session() {
    let mut bed = Bed::new();
    for (protocol, code, class, reason) in [
        (0xc021, 9, PuntClass::Keepalive, Reason::PppKeepalive),
        (0xc021, 10, PuntClass::Keepalive, Reason::PppKeepalive),
        (0xc021, 5, PuntClass::Keepalive, Reason::PppKeepalive),
        (0xc021, 6, PuntClass::Keepalive, Reason::PppKeepalive),
        (0xc021, 1, PuntClass::Session, Reason::PppControl),
        (0xc023, 1, PuntClass::Session, Reason::PppControl),
        (0xc223, 2, PuntClass::Session, Reason::PppControl),
        (0x8021, 1, PuntClass::Session, Reason::PppControl),
        (0x8057, 9, PuntClass::Session, Reason::PppControl),
        (0x80fd, 1, PuntClass::Session, Reason::PppControl),
        (0x0000, 0, PuntClass::Session, Reason::PppControl),
    ] {
        let frame = pppoe(AC, CLIENT, untagged(), 1, protocol, &[code, 1, 0, 8, 1, 2, 3, 4]);
        assert_eq!(bed.punts(ACCESS, &frame, class, reason).session, Some(bed.client));
        // Without payload there is no code; control says what is wrong with it.
        let empty = pppoe(AC, CLIENT, untagged(), 1, protocol, &[]);
        bed.punts(ACCESS, &empty, PuntClass::Session, Reason::PppControl);
        // Another client's frame is never given to the session.
        let foreign = pppoe(AC, CLIENT_2, untagged(), 1, protocol, &[code, 1, 0, 4]);
        bed.drops(ACCESS, &foreign, Reason::SessionMac);
    }
    assert_eq!(bed.totals(bed.client), SessionTotals::default());
}

#[test]
fn discovery_is_punted_with_its_tags_and_only_to_us_or_all() {
    let mut bed = Bed::new();
    let padi = [0x11, 9, 0, 0, 0, 4, 1, 1, 0, 0];
    for vlans in [untagged(), tagged((0x8100, 0xa000), None), tagged((0x88a8, 100), Some((0x8100, 200)))] {
        for dst in [MacAddr::BROADCAST, AC] {
            let frame = ether(dst, CLIENT, vlans, 0x8863, &padi);
            let meta = bed.punts(ACCESS, &frame, PuntClass::Discovery, Reason::Discovery);
            assert_eq!(meta.session, None);
        }
        bed.drops(ACCESS, &ether(CLIENT_2, CLIENT, vlans, 0x8863, &padi), Reason::NotOurMac);
        let group = MacAddr([1, 0, 0x5e, 0, 0, 1]);
        bed.drops(ACCESS, &ether(group, CLIENT, vlans, 0x8863, &padi), Reason::NotOurMac);
    }
}

#[test]
fn link_local_traffic_is_controls_and_no_subscriber_plays_the_router() {
    let mut bed = Bed::new();
    let solicit = datagram(546, 547, &[1, 0, 0, 1]);
    for packet in [
        ip6("fe80::1", "ff02::1:2", 17, 1, &solicit),
        ip6("fe80::1", "ff02::2", 58, 255, &[133, 0, 0, 0, 0, 0, 0, 0]),
        ip6("::", "ff02::1:ff00:1", 58, 255, &[135, 0, 0, 0, 0, 0, 0, 0]),
        ip6("fe80::1", "fe80::fe", 58, 64, &[128, 0, 0, 0, 0, 0, 0, 0]),
    ] {
        let meta = bed.punts(ACCESS, &up6(&packet), PuntClass::Session, Reason::Ipv6Control);
        assert_eq!(meta.session, Some(bed.client));
    }
    let advertise = datagram(547, 546, &[2, 0, 0, 1]);
    let mut hidden = vec![17, 0, 1, 4, 0, 0, 0, 0];
    hidden.extend(&advertise);
    for packet in [
        ip6("fe80::1", "fe80::2", 17, 1, &advertise),
        ip6("fe80::1", "ff02::1", 58, 255, &[137, 0, 0, 0, 0, 0, 0, 0]),
        ip6("fe80::1", "fe80::2", 60, 1, &hidden),
        // A fragment that hides what it is.
        ip6("fe80::1", "ff02::1", 44, 255, &[58, 0, 0, 8, 0, 0, 0, 1, 134, 0, 0, 0]),
    ] {
        bed.drops(ACCESS, &up6(&packet), Reason::Ipv6ServerMessage);
    }
}

#[test]
fn a_removed_session_forwards_nothing_more() {
    let mut bed = Bed::new();
    bed.forward(ACCESS, &up(&ordinary()), CORE);
    assert!(bed.sessions.remove(bed.client));
    bed.punts(ACCESS, &up(&ordinary()), PuntClass::Discovery, Reason::UnknownSession);
    bed.drops(CORE, &down(&answer()), Reason::NoSubscriber);
    let mut gone = Vec::new();
    bed.sessions.poll(|removed| gone.push(removed));
    assert_eq!(gone.len(), 1);
    assert_eq!((gone[0].index, gone[0].counters.up_packets), (bed.client, 1));
}

#[test]
fn a_burst_of_all_kinds_keeps_its_order() {
    use bng_dataplane::FrameBuf;
    use bng_dataplane::memory::{MemoryFrame, Outcome};
    let mut bed = Bed::new();
    let frames = (0..32u8).map(|n| {
        let packet = ip4(IP, SERVER, 17, 64, &datagram(u16::from(n), 2, b"numbered frames, thirty-two"));
        let frame = match n % 4 {
            0 => up(&packet),
            1 => pppoe(AC, CLIENT, untagged(), 1, 0xc021, &[9, n, 0, 8, 0, 0, 0, 0]),
            2 => pppoe(AC, CLIENT_2, untagged(), 1, 0x21, &packet),
            _ => up(&ip4(IP, IP_2, 17, 64, &datagram(u16::from(n), 2, b"to a neighbour in the same street"))),
        };
        MemoryFrame::of(&frame)
    });
    let outcomes = bed.burst(ACCESS, frames);
    assert_eq!(outcomes.len(), 32);
    for (n, outcome) in (0u8..).zip(outcomes) {
        match (n % 4, outcome) {
            (0, Outcome::Transmit(CORE, frame)) => assert_eq!(frame.bytes()[34 + 1], n),
            (1, Outcome::Punt(PuntClass::Keepalive, _, frame)) => assert_eq!(frame.bytes()[23], n),
            (2, Outcome::Discard(Reason::SessionMac, _)) => (),
            (3, Outcome::Transmit(ACCESS, frame)) => assert_eq!(frame.bytes()[42 + 1], n),
            (_, other) => panic!("{n}: {other:?}"),
        }
    }
}

#[test]
fn sessions_of_several_spaces_share_an_id() {
    let mut bed = Bed::new();
    let vlans = tagged((0x8100, 7), None);
    let spec = SessionSpec { vlans, ipv4: Some("192.0.2.70".parse().unwrap()), session_id: SessionId(1), ..bed.spec };
    let index = bed.sessions.insert(&spec).unwrap();
    let packet = ip4("192.0.2.70", SERVER, 17, 64, &datagram(1, 2, b"from VLAN 7"));
    bed.forward(ACCESS, &pppoe(AC, CLIENT, vlans, 1, 0x21, &packet), CORE);
    assert_eq!((bed.totals(index).up_packets, bed.totals(bed.client).up_packets), (1, 0));
}
