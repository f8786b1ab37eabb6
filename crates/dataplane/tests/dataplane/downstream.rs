//! From the network to the client, and to the router itself.

use bng_dataplane::{PuntClass, Reason};
use bng_fib::NextHop;
use bng_session::{SessionSpec, SessionTotals};
use bng_wire::{MacAddr, SessionId};

use crate::bed::*;

#[test]
fn a_packet_gets_the_sessions_header() {
    let mut bed = Bed::new();
    let packet = answer();
    let out = bed.forward(CORE, &down(&packet), ACCESS);
    let mut expected = pppoe(CLIENT, AC, untagged(), 1, 0x21, &hopped(&packet));
    expected.truncate(22 + packet.len());
    assert_eq!(out, pad(expected, 0));
    let totals = SessionTotals { down_packets: 1, down_octets: packet.len() as u64, ..SessionTotals::default() };
    assert_eq!(bed.totals(bed.client), totals);
}

#[test]
fn an_ipv6_packet_finds_its_session_by_either_prefix() {
    let mut bed = Bed::new();
    for address in [IP6, "2001:db8:8000:1ff::1"] {
        let packet = ip6(SERVER6, address, 17, 64, &datagram(1, 2, b"from the network"));
        let out = bed.forward(CORE, &down(&packet), ACCESS);
        assert_eq!(out, pppoe(CLIENT, AC, untagged(), 1, 0x57, &hopped(&packet)));
    }
    assert_eq!(bed.totals(bed.client).down_packets, 2);
    bed.change(|spec| spec.ipv6_up = false);
    bed.drops(CORE, &down(&ip6(SERVER6, IP6, 17, 64, &[0; 8])), Reason::Ipv6NotUp);
    bed.forward(CORE, &down(&answer()), ACCESS);
}

#[test]
fn every_kind_of_tag_is_sent_as_it_was_received() {
    let mut bed = Bed::new();
    for (n, vlans) in [
        tagged((0x8100, 100), None),
        tagged((0x88a8, 101), Some((0x8100, 200))),
        tagged((0x9100, 102), Some((0x8100, 201))),
        tagged((0x8100, 103), Some((0x8100, 202))),
    ]
    .into_iter()
    .enumerate()
    {
        let address = format!("192.0.2.{}", 100 + n);
        let spec =
            SessionSpec { vlans, session_id: SessionId(0x0203), ipv4: Some(address.parse().unwrap()), ..bed.spec };
        let index = bed.sessions.insert(&spec).unwrap();
        bed.pools.v4(bed.pool4).unwrap().set(address.parse().unwrap(), Some(index));
        let packet = ip4(SERVER, &address, 17, 64, &datagram(1, 2, b"some octets to fill the frame"));
        let out = bed.forward(CORE, &down(&packet), ACCESS);
        assert_eq!(out, pppoe(CLIENT, AC, vlans, 0x0203, 0x21, &hopped(&packet)));
        let packet = ip4(&address, SERVER, 17, 64, &datagram(1, 2, b"some octets to fill the frame"));
        bed.forward(ACCESS, &pppoe(AC, CLIENT, vlans, 0x0203, 0x21, &packet), CORE);
    }
}

#[test]
fn what_is_for_the_router_goes_to_the_host() {
    let mut bed = Bed::new();
    bed.route4("198.51.100.1", 32, NextHop::Local);
    let all_ospf = MacAddr([1, 0, 0x5e, 0, 0, 5]);
    let nodes = MacAddr([0x33, 0x33, 0, 0, 0, 1]);
    for (dst, kind, packet) in [
        (CORE_MAC, 0x0800, ip4(SERVER, "198.51.100.1", 1, 64, &[8, 0, 0, 0])),
        (CORE_MAC, 0x0800, ip4(SERVER, "198.51.100.1", 6, 1, &[0; 20])),
        (all_ospf, 0x0800, ip4("198.51.100.2", "224.0.0.5", 89, 1, &[0; 44])),
        (nodes, 0x86dd, ip6("fe80::1", "ff02::1", 58, 255, &[134, 0, 0, 0])),
        (CORE_MAC, 0x86dd, ip6("fe80::1", "fe80::2", 58, 255, &[135, 0, 0, 0])),
        (nodes, 0x86dd, ip6("::", "ff02::1:ff00:1", 58, 255, &[135, 0, 0, 0])),
    ] {
        for vlans in [untagged(), tagged((0x8100, 10), None)] {
            let meta = bed.punts(CORE, &ether(dst, ROUTER, vlans, kind, &packet), PuntClass::Host, Reason::Host);
            assert_eq!(meta.session, None);
        }
    }
    bed.punts(CORE, &ether(CORE_MAC, ROUTER, untagged(), 0x0806, &[0; 28]), PuntClass::Host, Reason::Arp);
}

#[test]
fn what_no_router_forwards_is_dropped_on_the_core_side_too() {
    let mut bed = Bed::new();
    let unicast = answer();
    let group = MacAddr([1, 0, 0x5e, 1, 2, 3]);
    bed.drops(CORE, &ether(group, ROUTER, untagged(), 0x0800, &unicast), Reason::Ipv4Broadcast);
    bed.drops(CORE, &ether(CLIENT, ROUTER, untagged(), 0x0800, &unicast), Reason::NotOurMac);
    bed.drops(CORE, &ether(CORE_MAC, ROUTER, untagged(), 0x88cc, &[0; 46]), Reason::Ethertype);
    bed.drops(CORE, &ether(CORE_MAC, ROUTER, tagged((0x88a8, 10), None), 0x0800, &unicast), Reason::Ethertype);
    let double = tagged((0x8100, 10), Some((0x8100, 11)));
    bed.drops(CORE, &ether(CORE_MAC, ROUTER, double, 0x0800, &unicast), Reason::UnknownVlan);
    for source in ["0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255"] {
        bed.drops(CORE, &down(&ip4(source, IP, 17, 64, &[0; 8])), Reason::Ipv4Source);
    }
    for (destination, reason) in [
        ("127.0.0.1", Reason::Ipv4Destination),
        ("0.0.0.0", Reason::Ipv4Destination),
        ("239.0.0.1", Reason::Ipv4Multicast),
        ("255.255.255.255", Reason::Ipv4Broadcast),
    ] {
        bed.drops(CORE, &down(&ip4(SERVER, destination, 17, 64, &[0; 8])), reason);
    }
    for source in ["fe80::1", "::"] {
        bed.drops(CORE, &down(&ip6(source, IP6, 17, 64, &[0; 8])), Reason::Ipv6Source);
    }
    bed.drops(CORE, &down(&ip6("::ffff:192.0.2.1", IP6, 17, 64, &[0; 8])), Reason::Ipv6Source);
    bed.drops(CORE, &down(&ip6(SERVER6, "ff0e::1", 17, 64, &[0; 8])), Reason::Ipv6Multicast);
    assert_eq!(bed.totals(bed.client), SessionTotals::default());
}

#[test]
fn transit_between_core_networks_is_routed() {
    let mut bed = Bed::new();
    let packet = ip4("198.51.100.9", "203.0.113.200", 17, 64, &datagram(1, 2, b"merely passing through"));
    let frame = ether(CORE_MAC, ROUTER, tagged((0x8100, 10), None), 0x0800, &packet);
    let out = bed.forward(CORE, &frame, CORE);
    assert_eq!(out, pad(ether(ROUTER, CORE_MAC, untagged(), 0x0800, &hopped(&packet)), 0));
}

#[test]
fn a_tagged_neighbour_gets_its_tag() {
    let mut bed = Bed::new();
    let id = bed.fib.adjacency_create(CORE, 1500).unwrap();
    let vlans = tagged((0x8100, 10), None);
    let mut header = ether(ROUTER, CORE_MAC, vlans, 0, &[]);
    header.truncate(18);
    bed.fib.adjacency_resolve(id, &header).unwrap();
    bed.route4("203.0.113.0", 24, NextHop::Neighbour(id));
    let packet = ordinary();
    let out = bed.forward(ACCESS, &up(&packet), CORE);
    assert_eq!(out, pad(ether(ROUTER, CORE_MAC, vlans, 0x0800, &hopped(&packet)), 0));
}

#[test]
fn a_session_that_is_not_up_gets_nothing() {
    let mut bed = Bed::new();
    bed.change(|spec| spec.ipv4_up = false);
    bed.drops(CORE, &down(&answer()), Reason::Ipv4NotUp);
    assert_eq!(bed.totals(bed.client), SessionTotals { down_drops: 1, ..SessionTotals::default() });
}

#[test]
fn the_priority_of_both_tags_follows_the_dscp_where_a_map_says_so() {
    let mut bed = Bed::new();
    let vlans = tagged((0x88a8, 100), Some((0x8100, 200)));
    let mut spec = SessionSpec { vlans, session_id: SessionId(9), ..bed.spec };
    let session = bed.sessions.insert(&spec).expect("room");
    let map = bed.pools.v4(bed.pool4).expect("a map");
    assert!(map.set(IP.parse().expect("an address"), Some(session)));
    // Expedited forwarding (46, RFC 3246) is 5 in the second map; nothing is in the first.
    let priorities = |bed: &Bed, dscp, pcp| bed.pipeline.tables().ports.priorities().set(1, dscp, pcp);
    assert!(priorities(&bed, 46, 5));
    assert!(!priorities(&bed, 64, 5) && !priorities(&bed, 46, 8));
    let marked = |bed: &mut Bed, dscp: u8| {
        let mut packet = answer();
        packet[1] = dscp << 2 | 1;
        packet[10..12].fill(0);
        let sum = bng_wire::checksum::checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        let out = bed.forward(CORE, &down(&packet), ACCESS);
        // The identifiers are untouched, and so is the packet but for its hop.
        assert_eq!((out[14] & 0x0f, out[15], out[18] & 0x0f, out[19]), (0, 100, 0, 200));
        assert_eq!(out[30..30 + packet.len()], hopped(&packet));
        (out[14] >> 4, out[18] >> 4)
    };
    for (map, expected) in [(0, 0), (1, 0), (2, 5 << 1), (200, 0)] {
        spec.priority_map = map;
        assert!(bed.sessions.update(session, &spec));
        assert_eq!(marked(&mut bed, 46), (expected, expected), "map {map}");
        assert_eq!(marked(&mut bed, 0), (0, 0));
    }
}

#[test]
fn the_priority_of_ipv6_follows_its_traffic_class_and_one_tag_is_enough() {
    let mut bed = Bed::new();
    assert!(bed.pipeline.tables().ports.priorities().set(0, 46, 7));
    let spec =
        SessionSpec { vlans: tagged((0x8100, 100), None), session_id: SessionId(9), priority_map: 1, ..bed.spec };
    let session = bed.sessions.insert(&spec).expect("room");
    let generation = bed.sessions.generation(session);
    let to = "2001:db8:7777::".parse().expect("a prefix");
    let hop = bng_fib::NextHop::Session { index: session.0, generation };
    bed.fib.insert6(bng_wire::VrfId(0), to, 48, hop).expect("room");
    let mut packet = ip6(SERVER6, "2001:db8:7777::1", 17, 64, &datagram(53, 40000, b"it is I."));
    (packet[0], packet[1]) = (0x6b, 0x80);
    let out = bed.forward(CORE, &down(&packet), ACCESS);
    assert_eq!((&out[12..16], &out[26..26 + packet.len()]), (&[0x81, 0, 0xe0, 100][..], &hopped(&packet)[..]));
    // Without a tag there is nowhere to say it.
    bed.change(|spec| spec.priority_map = 1);
    let mut packet = ip6(SERVER6, IP6, 17, 64, &datagram(53, 40000, b"it is I."));
    (packet[0], packet[1]) = (0x6b, 0x80);
    let out = bed.forward(CORE, &down(&packet), ACCESS);
    assert_eq!(out, pppoe(CLIENT, AC, untagged(), 1, 0x57, &hopped(&packet)));
}
