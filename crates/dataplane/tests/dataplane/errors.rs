//! ICMP errors and fragments.

use bng_dataplane::memory::{MemoryFrame, MemorySink, Outcome};
use bng_dataplane::{FrameBuf, Reason};
use bng_fib::NextHop;
use bng_session::SessionTotals;
use bng_wire::checksum::{self, Sum};
use bng_wire::{MacAddr, PortIndex, VrfId, ipv4, ipv6};

use crate::bed::*;

const ROUTER_IP: &str = "198.51.100.1";
const ROUTER_IP6: &str = "2001:db8::1";

fn bed() -> Bed {
    let bed = Bed::new();
    let router = bed.pipeline.tables().ports.router();
    router.set_ipv4(Some(ROUTER_IP.parse().unwrap()));
    router.set_ipv6(Some(ROUTER_IP6.parse().unwrap()));
    bed
}

/// An IPv4 packet with DF set or not.
fn sized4(src: &str, dst: &str, len: usize, df: bool) -> Vec<u8> {
    let data: Vec<u8> = (0..len - 20).map(|n| (n / 8) as u8).collect();
    let mut packet = ip4(src, dst, 17, 64, &data);
    packet[6] = if df { 0x40 } else { 0 };
    packet[10..12].fill(0);
    let sum = checksum::checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// Checks an ICMP error: addresses, type, code, the last 32 bits, and what it quotes.
fn check4(packet: &[u8], src: &str, dst: &str, kind: (u8, u8), rest: u32, about: &[u8]) {
    let header = ipv4::Header::check(packet).unwrap();
    assert_eq!(usize::from(header.total_len.get()), packet.len());
    assert_eq!((header.src.get(), header.dst.get(), header.protocol), (v4(src), v4(dst), 1));
    assert_eq!((header.ttl, header.tos), (64, 0xc0));
    let message = &packet[20..];
    assert!(checksum::is_valid(message));
    assert_eq!((message[0], message[1]), kind);
    assert_eq!(message[4..8], rest.to_be_bytes());
    let quoted = &message[8..];
    assert_eq!(quoted.len(), about.len().min(548));
    assert_eq!(quoted, &about[..quoted.len()], "the packet as it was received");
}

fn check6(packet: &[u8], src: &str, dst: &str, kind: (u8, u8), rest: u32, about: &[u8]) {
    let header = ipv6::Header::check(packet).unwrap();
    // Version 6, CS6, no flow.
    assert_eq!(header.version_class_flow.get(), 0x6c00_0000);
    assert_eq!(header.total_len(), packet.len());
    assert_eq!((header.src.get(), header.dst.get()), (v6(src), v6(dst)));
    assert_eq!((header.next_header, header.hop_limit), (58, 64));
    let message = &packet[40..];
    let pseudo = Sum::ZERO.pseudo_ipv6(v6(src), v6(dst), 58, message.len() as u32);
    assert_eq!(pseudo.octets(message).fold(), 0xffff);
    assert_eq!((message[0], message[1]), kind);
    assert_eq!(message[4..8], rest.to_be_bytes());
    let quoted = &message[8..];
    assert_eq!(quoted.len(), about.len().min(1232));
    assert_eq!(quoted, &about[..quoted.len()]);
}

/// The only frame sent besides, on `port`, from its IP header on.
#[track_caller]
fn error(bed: &Bed, port: PortIndex) -> Vec<u8> {
    assert_eq!(bed.extra.len(), 1, "one error");
    let (to, frame) = &bed.extra[0];
    assert_eq!(*to, port);
    if port == CORE {
        let len = match frame[12..14] {
            [0x08, 0x00] => usize::from(u16::from_be_bytes([frame[16], frame[17]])),
            _ => 40 + usize::from(u16::from_be_bytes([frame[18], frame[19]])),
        };
        assert_eq!(frame[..12], [ROUTER.0, CORE_MAC.0].concat());
        frame[14..14 + len].to_vec()
    } else {
        assert_eq!(frame[..12], [CLIENT.0, AC.0].concat());
        let len = usize::from(u16::from_be_bytes([frame[18], frame[19]])) - 2;
        frame[22..22 + len].to_vec()
    }
}

#[test]
fn p25_time_exceeded_goes_back_to_the_sender() {
    let mut bed = bed();
    let packet = ip4(IP, SERVER, 17, 1, &datagram(1, 2, b"traceroute"));
    bed.drops(ACCESS, &up(&packet), Reason::Ipv4TtlExceeded);
    check4(&error(&bed, ACCESS), GATEWAY, IP, (11, 0), 0, &packet);
    let packet = ip4(SERVER, IP, 17, 1, &datagram(1, 2, b"traceroute"));
    bed.drops(CORE, &down(&packet), Reason::Ipv4TtlExceeded);
    check4(&error(&bed, CORE), ROUTER_IP, SERVER, (11, 0), 0, &packet);
    let packet = ip6(IP6, SERVER6, 17, 1, &datagram(1, 2, b"traceroute6"));
    bed.drops(ACCESS, &up6(&packet), Reason::Ipv6HopLimitExceeded);
    check6(&error(&bed, ACCESS), ROUTER_IP6, IP6, (3, 0), 0, &packet);
    let packet = ip6(SERVER6, IP6, 17, 1, &datagram(1, 2, b"traceroute6"));
    bed.drops(CORE, &down(&packet), Reason::Ipv6HopLimitExceeded);
    check6(&error(&bed, CORE), ROUTER_IP6, SERVER6, (3, 0), 0, &packet);
    assert_eq!(bed.pipeline.counters().errors_sent.get(), 4);
    // What the client got counts as its own; what it sent was dropped.
    let totals = bed.totals(bed.client);
    assert_eq!((totals.up_packets, totals.up_drops, totals.down_packets), (0, 2, 2));
}

#[test]
fn p26_the_sender_is_told_the_length_that_fits() {
    for mtu in [1480u16, 1492] {
        let mut bed = bed();
        bed.change(|spec| spec.mtu = mtu);
        let packet = sized4(SERVER, IP, usize::from(mtu) + 1, true);
        bed.drops(CORE, &down(&packet), Reason::TooBig);
        check4(&error(&bed, CORE), ROUTER_IP, SERVER, (3, 4), mtu.into(), &packet);
        let packet = ip6(SERVER6, IP6, 17, 64, &vec![7; usize::from(mtu) - 39]);
        bed.drops(CORE, &down(&packet), Reason::TooBig);
        check6(&error(&bed, CORE), ROUTER_IP6, SERVER6, (2, 0), mtu.into(), &packet);
        // Between subscribers, and upstream into a narrower link.
        let packet = sized4(IP_2, IP, usize::from(mtu) + 1, true);
        bed.drops(ACCESS, &pppoe(AC, CLIENT_2, untagged(), 2, 0x21, &packet), Reason::TooBig);
        assert_eq!(bed.extra[0].1[..6], CLIENT_2.0);
        bed.fib.adjacency_set_mtu(bed.router, 1400).unwrap();
        let packet = sized4(IP, SERVER, 1401, true);
        bed.drops(ACCESS, &up(&packet), Reason::TooBig);
        check4(&error(&bed, ACCESS), GATEWAY, IP, (3, 4), 1400, &packet);
    }
}

#[test]
fn p26_without_df_a_packet_is_cut() {
    let mut bed = bed();
    let packet = sized4(SERVER, IP, 1493, false);
    let outcomes = bed.burst(CORE, [MemoryFrame::of(&down(&packet))]);
    let frames: Vec<Vec<u8>> = outcomes
        .into_iter()
        .map(|outcome| match outcome {
            Outcome::Transmit(ACCESS, frame) => frame.bytes().to_vec(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(frames.len(), 2);
    assert_eq!((frames[0].len(), frames[0][18..20].to_vec()), (22 + 1492, vec![0x05, 0xd6]));
    // 21 octets of IP in a frame padded with zeros.
    assert_eq!((frames[1].len(), frames[1][18..20].to_vec()), (60, vec![0, 23]));
    assert_eq!(frames[1][43..], [0; 17]);
    let (first, second) = (&frames[0][22..], &frames[1][22..43]);
    for (piece, fragment) in [(first, 0x2000u16), (second, 184)] {
        let header = ipv4::Header::check(piece).unwrap();
        assert_eq!((header.fragment.get(), header.ttl), (fragment, 63));
        assert_eq!(usize::from(header.total_len.get()), piece.len());
    }
    assert_eq!([&first[20..], &second[20..]].concat(), packet[20..]);
    let totals = SessionTotals { down_packets: 2, down_octets: 1492 + 21, ..SessionTotals::default() };
    assert_eq!(bed.totals(bed.client), totals);
    assert_eq!(bed.pipeline.counters().fragments_sent.get(), 2);
}

#[test]
fn a_client_sent_one_packet_however_many_leave() {
    let mut bed = bed();
    bed.fib.adjacency_set_mtu(bed.router, 600).unwrap();
    let packet = sized4(IP, SERVER, 1492, false);
    let outcomes = bed.burst(ACCESS, [MemoryFrame::of(&up(&packet))]);
    let mut joined = Vec::new();
    assert_eq!(outcomes.len(), 3);
    for outcome in outcomes {
        let Outcome::Transmit(CORE, frame) = outcome else { panic!("{outcome:?}") };
        let header = ipv4::Header::check(&frame.bytes()[14..]).unwrap();
        assert!(header.total_len.get() <= 600);
        joined.extend_from_slice(&frame.bytes()[34..14 + usize::from(header.total_len.get())]);
    }
    assert_eq!(joined, packet[20..]);
    let totals = SessionTotals { up_packets: 1, up_octets: 1492, ..SessionTotals::default() };
    assert_eq!(bed.totals(bed.client), totals);
}

#[test]
fn without_buffers_a_packet_is_not_cut_and_no_error_sent() {
    let mut bed = bed();
    for (packet, reason) in
        [(sized4(SERVER, IP, 1493, false), Reason::NoFragmentBuffer), (sized4(SERVER, IP, 1493, true), Reason::TooBig)]
    {
        let mut frames = [MemoryFrame::of(&down(&packet))].into_iter().collect();
        let mut sink = MemorySink { exhausted: true, ..MemorySink::default() };
        bed.pipeline.process(CORE, &mut frames, 0, &mut sink);
        assert!(matches!(&sink.outcomes[..], [Outcome::Discard(got, _)] if *got == reason));
        assert_eq!(bed.count(reason), 1);
    }
    assert_eq!(bed.pipeline.counters().errors_unsent.get(), 1);
    assert_eq!(bed.totals(bed.client).down_drops, 2);
}

#[test]
fn unreachable_says_what_is_not_there() {
    let mut bed = bed();
    let packet = ip4(SERVER, "192.0.2.99", 17, 64, &datagram(1, 2, b"nobody home"));
    bed.drops(CORE, &down(&packet), Reason::NoSubscriber);
    check4(&error(&bed, CORE), ROUTER_IP, SERVER, (3, 1), 0, &packet);
    let packet = ip6(SERVER6, "2001:db8:100:99::1", 17, 64, &datagram(1, 2, b"nobody home"));
    bed.drops(CORE, &down(&packet), Reason::NoSubscriber);
    check6(&error(&bed, CORE), ROUTER_IP6, SERVER6, (1, 3), 0, &packet);
    bed.route4("203.0.113.0", 24, NextHop::Unreachable);
    bed.fib.insert6(VrfId(0), "2001:db8:ffff::".parse().unwrap(), 48, NextHop::Unreachable).unwrap();
    let packet = ordinary();
    bed.drops(ACCESS, &up(&packet), Reason::NoRoute);
    check4(&error(&bed, ACCESS), GATEWAY, IP, (3, 0), 0, &packet);
    let packet = ip6(IP6, SERVER6, 17, 64, &datagram(1, 2, b"no way"));
    bed.drops(ACCESS, &up6(&packet), Reason::NoRoute);
    check6(&error(&bed, ACCESS), ROUTER_IP6, IP6, (1, 0), 0, &packet);
    // A blackhole is silent.
    bed.route4("203.0.113.0", 24, NextHop::Blackhole);
    bed.drops(ACCESS, &up(&ordinary()), Reason::Blackhole);
    assert!(bed.extra.is_empty());
}

#[test]
fn no_error_is_sent_about_what_none_may_be_sent_about() {
    let mut bed = bed();
    let mut later = ip4(IP, SERVER, 17, 1, &[0; 8]);
    later[7] = 1;
    later[10..12].fill(0);
    let sum = checksum::checksum(&later[..20]);
    later[10..12].copy_from_slice(&sum.to_be_bytes());
    for packet in [
        ip4(IP, SERVER, 1, 1, &[3, 1, 0, 0, 0, 0, 0, 0]),
        ip4(IP, SERVER, 1, 1, &[11, 0, 0, 0, 0, 0, 0, 0]),
        ip4(IP, SERVER, 1, 1, &[5, 0, 0, 0, 0, 0, 0, 0]),
        ip4(IP, SERVER, 1, 1, &[]),
        later,
    ] {
        bed.drops(ACCESS, &up(&packet), Reason::Ipv4TtlExceeded);
        assert!(bed.extra.is_empty(), "{packet:?}");
    }
    for packet in [
        ip6(IP6, SERVER6, 58, 1, &[1, 0, 0, 0, 0, 0, 0, 0]),
        ip6(IP6, SERVER6, 58, 1, &[137, 0, 0, 0, 0, 0, 0, 0]),
        ip6(IP6, SERVER6, 44, 1, &[17, 0, 0, 8, 0, 0, 0, 1]),
        ip6(IP6, SERVER6, 60, 1, &[58, 0, 1, 4, 0, 0, 0, 0, 2, 0, 0, 0]),
    ] {
        bed.drops(ACCESS, &up6(&packet), Reason::Ipv6HopLimitExceeded);
        assert!(bed.extra.is_empty(), "{packet:?}");
    }
    // A ping is answered: it is no error.
    bed.drops(ACCESS, &up(&ip4(IP, SERVER, 1, 1, &[8, 0, 0, 0, 0, 0, 0, 0])), Reason::Ipv4TtlExceeded);
    assert_eq!(bed.extra.len(), 1);
    // Nor is an error sent about a bad checksum, a spoofed source, a broadcast or a frame to a group.
    let mut bad = ordinary();
    bad[10] ^= 1;
    bed.drops(ACCESS, &up(&bad), Reason::Ipv4Checksum);
    assert!(bed.extra.is_empty());
    bed.drops(ACCESS, &up(&ip4(IP_2, SERVER, 17, 1, &[0; 8])), Reason::Ipv4Spoofed);
    assert!(bed.extra.is_empty());
    let group = MacAddr([1, 0, 0x5e, 0, 0, 1]);
    let packet = ip4(SERVER, IP, 17, 1, &[0; 8]);
    bed.drops(CORE, &ether(group, ROUTER, untagged(), 0x0800, &packet), Reason::Ipv4Broadcast);
    assert!(bed.extra.is_empty());
}

#[test]
fn without_an_address_of_its_own_the_router_keeps_silent() {
    let mut bed = Bed::new();
    bed.change(|spec| spec.gateway_ipv4 = None);
    bed.drops(ACCESS, &up(&ip4(IP, SERVER, 17, 1, &[0; 8])), Reason::Ipv4TtlExceeded);
    assert!(bed.extra.is_empty());
    bed.drops(ACCESS, &up6(&ip6(IP6, SERVER6, 17, 1, &[0; 8])), Reason::Ipv6HopLimitExceeded);
    assert!(bed.extra.is_empty());
}

#[test]
fn errors_are_limited() {
    let mut bed = bed();
    let sent = |bed: &mut Bed, port, frame: &[u8], reason, tries: usize| -> usize {
        let send = |_| {
            bed.drops(port, frame, reason);
            bed.extra.len()
        };
        (0..tries).map(send).sum()
    };
    let from_client = up(&ip4(IP, SERVER, 17, 1, &[0; 8]));
    assert_eq!(sent(&mut bed, ACCESS, &from_client, Reason::Ipv4TtlExceeded, 3000), 50);
    let counters = bed.pipeline.counters();
    assert_eq!((counters.errors_sent.get(), counters.errors_unsent.get()), (50, 2950));
    // What the client used up is its own: the internet is still told, and of lengths the client too.
    let nobody = down(&ip4(SERVER, "192.0.2.99", 17, 9, &[0; 8]));
    assert_eq!(sent(&mut bed, CORE, &nobody, Reason::NoSubscriber, 3000), 500);
    // And so is another network on it.
    let elsewhere = down(&ip4("198.18.7.7", "192.0.2.99", 17, 9, &[0; 8]));
    assert_eq!(sent(&mut bed, CORE, &elsewhere, Reason::NoSubscriber, 10), 10);
    assert_eq!(sent(&mut bed, CORE, &down(&sized4(SERVER, IP, 1493, true)), Reason::TooBig, 3000), 50);
    // A second later.
    bed.now_ms += 1024;
    assert_eq!(sent(&mut bed, ACCESS, &from_client, Reason::Ipv4TtlExceeded, 60), 50);
    assert_eq!(sent(&mut bed, CORE, &nobody, Reason::NoSubscriber, 10), 10);
}
