//! Every reason has a case that provokes it.

use std::collections::BTreeSet;

use bng_dataplane::memory::{MemoryFrame, Outcome};
use bng_dataplane::{PuntClass, Reason, Source, Verdict};
use bng_fib::NextHop;
use bng_session::{Rate, SessionSpec};
use bng_wire::{MacAddr, PortIndex};

use crate::bed::*;

type Case = (Reason, fn(&mut Bed) -> (PortIndex, Vec<u8>));

/// An ordinary session frame with one octet of its PPPoE header changed.
fn pppoe_with(offset: usize, octet: u8) -> Vec<u8> {
    let mut frame = up(&ordinary());
    frame[14 + offset] = octet;
    frame
}

/// An ordinary packet with one octet of its IPv4 header changed, the checksum right again.
fn ipv4_with(offset: usize, octet: u8) -> Vec<u8> {
    let mut packet = ordinary();
    packet[offset] = octet;
    packet[10..12].fill(0);
    let sum = bng_wire::checksum::checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn ordinary6() -> Vec<u8> {
    ip6(IP6, SERVER6, 17, 64, &datagram(40000, 53, b"who is there?"))
}

const CASES: &[Case] = &[
    (Reason::Runt, |_| (ACCESS, vec![2, 0, 0, 0, 0, 0xfe, 2, 0, 0, 0, 0, 1, 0x88])),
    (Reason::NotOurMac, |_| (ACCESS, pppoe(MacAddr([2, 0, 0, 0, 0, 0xaa]), CLIENT, untagged(), 1, 0x21, &ordinary()))),
    (Reason::BadSourceMac, |_| (ACCESS, pppoe(AC, MacAddr([3, 0, 0, 0, 0, 1]), untagged(), 1, 0x21, &ordinary()))),
    (Reason::TooManyTags, |_| {
        let mut frame = ether(AC, CLIENT, tagged((0x8100, 1), Some((0x8100, 2))), 0x8100, &[0; 40]);
        frame.extend([0; 10]);
        (ACCESS, frame)
    }),
    (Reason::UnknownVlan, |_| (CORE, ether(CORE_MAC, ROUTER, tagged((0x8100, 11), None), 0x0800, &answer()))),
    (Reason::Ethertype, |_| (ACCESS, ether(AC, CLIENT, untagged(), 0x0800, &ordinary()))),
    (Reason::Discovery, |_| {
        (ACCESS, ether(MacAddr::BROADCAST, CLIENT, untagged(), 0x8863, &[0x11, 9, 0, 0, 0, 4, 1, 1, 0, 0]))
    }),
    (Reason::PppoeTruncated, |_| (ACCESS, ether(AC, CLIENT, untagged(), 0x8864, &[0x11, 0, 0, 1, 0, 2, 0]))),
    (Reason::PppoeVersion, |_| (ACCESS, pppoe_with(0, 0x21))),
    (Reason::PppoeCode, |_| (ACCESS, pppoe_with(1, 0xa7))),
    (Reason::PppoeLength, |_| (ACCESS, pppoe_with(4, 0x02))),
    (Reason::PppoeBroadcast, |_| (ACCESS, pppoe(MacAddr::BROADCAST, CLIENT, untagged(), 1, 0x21, &ordinary()))),
    (Reason::UnknownSession, |_| (ACCESS, pppoe_with(3, 0x77))),
    (Reason::UnknownSessionLimited, |bed| {
        for _ in 0..100 {
            bed.punts(ACCESS, &pppoe_with(3, 0x77), PuntClass::Discovery, Reason::UnknownSession);
        }
        (ACCESS, pppoe_with(3, 0x77))
    }),
    (Reason::SessionMac, |_| (ACCESS, pppoe(AC, CLIENT_2, untagged(), 1, 0x21, &ordinary()))),
    (Reason::SessionVlan, |bed| {
        let spec = SessionSpec { vlans: tagged((0x88a8, 100), Some((0x8100, 200))), ..bed.spec };
        bed.sessions.insert(&spec).expect("room");
        (ACCESS, pppoe(AC, CLIENT, tagged((0x88a8, 100), Some((0x8100, 201))), 1, 0x21, &ordinary()))
    }),
    (Reason::PppKeepalive, |_| (ACCESS, pppoe(AC, CLIENT, untagged(), 1, 0xc021, &[9, 1, 0, 8, 1, 2, 3, 4]))),
    (Reason::EchoLimited, |bed| {
        bed.change(|spec| spec.echo_magic = Some(0x0a0b_0c0d));
        let echo = pppoe(AC, CLIENT, untagged(), 1, 0xc021, &[9, 1, 0, 8, 1, 2, 3, 4]);
        for _ in 0..4 {
            bed.forward(ACCESS, &echo, ACCESS);
        }
        (ACCESS, echo)
    }),
    (Reason::PppControl, |_| (ACCESS, pppoe(AC, CLIENT, untagged(), 1, 0xc021, &[1, 1, 0, 4]))),
    (Reason::Ipv4NotUp, |bed| {
        bed.change(|spec| spec.ipv4_up = false);
        (ACCESS, up(&ordinary()))
    }),
    (Reason::Ipv6NotUp, |bed| {
        bed.change(|spec| spec.ipv6_up = false);
        (ACCESS, up6(&ordinary6()))
    }),
    (Reason::Ipv4Truncated, |_| (ACCESS, up(&ordinary()[..10]))),
    (Reason::Ipv4Version, |_| (ACCESS, up(&ipv4_with(0, 0x55)))),
    (Reason::Ipv4HeaderLength, |_| (ACCESS, up(&ipv4_with(0, 0x43)))),
    (Reason::Ipv4Length, |_| (ACCESS, up(&ipv4_with(3, 0xff)))),
    (Reason::Ipv4Checksum, |_| {
        let mut packet = ordinary();
        packet[10] ^= 0x40;
        (ACCESS, up(&packet))
    }),
    (Reason::Ipv4Source, |_| (ACCESS, up(&ip4("127.0.0.1", SERVER, 17, 64, &[0; 8])))),
    (Reason::Ipv4Destination, |_| (ACCESS, up(&ip4(IP, "169.254.1.1", 17, 64, &[0; 8])))),
    (Reason::Ipv4Broadcast, |_| (ACCESS, up(&ip4(IP, "255.255.255.255", 17, 64, &[0; 8])))),
    (Reason::Ipv4Multicast, |_| (ACCESS, up(&ip4(IP, "239.1.2.3", 17, 64, &[0; 8])))),
    (Reason::Ipv4Spoofed, |_| (ACCESS, up(&ip4(IP_2, SERVER, 17, 64, &[0; 8])))),
    (Reason::Ipv4TtlExceeded, |_| (ACCESS, up(&ip4(IP, SERVER, 17, 1, &[0; 8])))),
    (Reason::Ipv6Truncated, |_| (ACCESS, up6(&ordinary6()[..39]))),
    (Reason::Ipv6Version, |_| (ACCESS, up6(&ordinary()))),
    (Reason::Ipv6Length, |_| {
        let mut packet = ordinary6();
        packet[4] = 4;
        (ACCESS, up6(&packet))
    }),
    (Reason::Ipv6Source, |_| (ACCESS, up6(&ip6("fe80::1", SERVER6, 17, 64, &[0; 8])))),
    (Reason::Ipv6Destination, |_| (ACCESS, up6(&ip6(IP6, "::1", 17, 64, &[0; 8])))),
    (Reason::Ipv6Multicast, |_| (ACCESS, up6(&ip6(IP6, "ff0e::1", 17, 64, &[0; 8])))),
    (Reason::Ipv6Spoofed, |_| (ACCESS, up6(&ip6("2001:db8:100:2::1", SERVER6, 17, 64, &[0; 8])))),
    (Reason::Ipv6ServerMessage, |_| (ACCESS, up6(&ip6("fe80::1", "ff02::1", 58, 255, &[134, 0, 0, 0, 64, 0, 0, 0])))),
    (Reason::Ipv6HopLimitExceeded, |_| (ACCESS, up6(&ip6(IP6, SERVER6, 17, 1, &[0; 8])))),
    (Reason::Ipv6Control, |_| (ACCESS, up6(&ip6("fe80::1", "ff02::2", 58, 255, &[133, 0, 0, 0, 0, 0, 0, 0])))),
    (Reason::NoRoute, |bed| {
        bed.route4("203.0.113.0", 24, NextHop::Unreachable);
        (ACCESS, up(&ordinary()))
    }),
    (Reason::Blackhole, |bed| {
        bed.route4("203.0.113.0", 24, NextHop::Blackhole);
        (ACCESS, up(&ordinary()))
    }),
    (Reason::NoSubscriber, |_| (CORE, down(&ip4(SERVER, "192.0.2.99", 17, 64, &[0; 8])))),
    (Reason::NeighbourUnresolved, |bed| {
        bed.route4("203.0.113.0", 24, NextHop::Glean { interface: 0 });
        (ACCESS, up(&ordinary()))
    }),
    (Reason::Host, |_| (ACCESS, up(&ip4(IP, GATEWAY, 17, 64, &datagram(40000, 53, b"resolver?"))))),
    (Reason::PolicedUp, |bed| {
        bed.change(|spec| spec.policer_up = Some(Rate { bits_per_second: 64_000, burst_octets: 3036 }));
        let frame = up(&ip4(IP, SERVER, 17, 64, &[0; 1472]));
        for _ in 0..2 {
            bed.forward(ACCESS, &frame, CORE);
        }
        (ACCESS, frame)
    }),
    (Reason::PolicedDown, |bed| {
        bed.change(|spec| spec.policer_down = Some(Rate { bits_per_second: 64_000, burst_octets: 3036 }));
        let frame = down(&ip4(SERVER, IP, 17, 64, &[0; 1464]));
        for _ in 0..2 {
            bed.forward(CORE, &frame, ACCESS);
        }
        (CORE, frame)
    }),
    (Reason::PingLimited, |bed| {
        let ping = up(&ip4(IP, GATEWAY, 1, 64, &[8, 0, 0xf7, 0xff, 0, 0, 0, 0]));
        for _ in 0..20 {
            bed.forward(ACCESS, &ping, ACCESS);
        }
        (ACCESS, ping)
    }),
    (Reason::Arp, |_| (CORE, pad(ether(MacAddr::BROADCAST, ROUTER, untagged(), 0x0806, &[0; 28]), 0))),
    (Reason::TooBig, |_| (CORE, down(&ip6(SERVER6, IP6, 17, 64, &[0; 1453])))),
    // Cut for the least MTU that a neighbour can have, it would make more pieces than there may be.
    (Reason::NoFragmentBuffer, |bed| {
        bed.fib.adjacency_set_mtu(bed.router, 60).expect("an adjacency");
        (ACCESS, up(&ip4(IP, SERVER, 17, 64, &[0; 1472])))
    }),
    (Reason::UnknownPort, |_| (PortIndex(9), up(&ordinary()))),
];

#[test]
fn each_reason_of_the_pipeline_is_provoked_by_its_case() {
    for (reason, case) in CASES {
        let mut bed = Bed::new();
        let (port, frame) = case(&mut bed);
        let before = bed.count(*reason);
        match (bed.send(port, &frame), reason.verdict()) {
            (Result::Dropped(got), Verdict::Drop) => assert_eq!(got, *reason),
            (Result::Punted(_, meta), Verdict::Punt) => assert_eq!(meta.reason, *reason),
            (other, _) => panic!("{reason:?}: {other:?}"),
        }
        assert_eq!(bed.count(*reason), before + 1, "{reason:?}");
        // No other reason was counted for it.
        let all: u64 = Reason::ALL.iter().map(|reason| bed.count(*reason)).sum();
        let expected = if *reason == Reason::UnknownSessionLimited { 101 } else { 1 };
        assert_eq!(all, expected, "{reason:?}");
    }
}

#[test]
fn a_frame_without_headroom_is_dropped_for_it() {
    let mut bed = Bed::new();
    let frame = MemoryFrame::with_headroom(&down(&answer()), 7);
    let outcomes = bed.burst(CORE, [frame]);
    assert!(matches!(outcomes[..], [Outcome::Discard(Reason::NoHeadroom, _)]));
    assert_eq!((bed.count(Reason::NoHeadroom), bed.totals(bed.client).down_drops), (1, 1));
    assert_eq!(bed.totals(bed.client).down_packets, 0);
}

#[test]
fn no_reason_is_without_a_case() {
    let mut provoked: BTreeSet<_> = CASES.iter().map(|(reason, _)| *reason).collect();
    provoked.insert(Reason::NoHeadroom);
    for reason in Reason::ALL.iter().filter(|reason| reason.source() == Source::Pipeline) {
        assert!(provoked.contains(reason), "{} has no case that provokes it", reason.label());
    }
}

#[test]
fn the_documentation_page_is_that_of_the_declaration() {
    let page = include_str!("../../../../docs/drop-reasons.md");
    let made = bng_dataplane::reasons_page();
    assert!(page == made, "run: cargo run -p bng-dataplane --example reasons > docs/drop-reasons.md");
}
