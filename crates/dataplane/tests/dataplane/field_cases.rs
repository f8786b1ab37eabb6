//! Cases from the field, as far as the data path decides them.

use bng_dataplane::{PuntClass, Reason};
use bng_session::{SessionSpec, SessionTotals};
use bng_wire::{MacAddr, SessionId, checksum};

use crate::bed::*;

/// The packet within a session frame without tags.
fn inner(frame: &[u8]) -> &[u8] {
    let len = usize::from(u16::from_be_bytes([frame[18], frame[19]]));
    &frame[22..20 + len]
}

#[test]
fn p17_untagged_and_priority_tagged_are_one_service() {
    let mut bed = Bed::new();
    let priority = tagged((0x8100, 0xa000), None);
    let padi = [0x11, 9, 0, 0, 0, 4, 1, 1, 0, 0];
    for vlans in [untagged(), priority] {
        let frame = ether(MacAddr::BROADCAST, CLIENT, vlans, 0x8863, &padi);
        bed.punts(ACCESS, &frame, PuntClass::Discovery, Reason::Discovery);
        // The session of the untagged service takes both.
        bed.forward(ACCESS, &pppoe(AC, CLIENT, vlans, 1, 0x21, &ordinary()), CORE);
    }
    // A client that began with a priority tag is answered without any tag.
    let spec = SessionSpec {
        vlans: priority,
        session_id: SessionId(9),
        ipv4: Some("192.0.2.90".parse().unwrap()),
        ..bed.spec
    };
    let index = bed.sessions.insert(&spec).unwrap();
    bed.pools.v4(bed.pool4).unwrap().set("192.0.2.90".parse().unwrap(), Some(index));
    let out = bed.forward(CORE, &down(&ip4(SERVER, "192.0.2.90", 17, 64, &[0; 40])), ACCESS);
    assert_eq!(out[12..14], [0x88, 0x64]);
}

#[test]
fn p18_an_extra_tag_is_another_line() {
    let mut bed = Bed::new();
    let single = tagged((0x8100, 123), None);
    let spec = SessionSpec { vlans: single, ..bed.spec };
    bed.sessions.insert(&spec).unwrap();
    bed.forward(ACCESS, &pppoe(AC, CLIENT, single, 1, 0x21, &ordinary()), CORE);
    // Session frames with a second tag are not this session's; discovery keeps both tags for control to judge.
    let double = tagged((0x8100, 123), Some((0x8100, 321)));
    bed.drops(ACCESS, &pppoe(AC, CLIENT, double, 1, 0x21, &ordinary()), Reason::SessionVlan);
    let padi = ether(MacAddr::BROADCAST, CLIENT, double, 0x8863, &[0x11, 9, 0, 0, 0, 4, 1, 1, 0, 0]);
    bed.punts(ACCESS, &padi, PuntClass::Discovery, Reason::Discovery);
}

#[test]
fn p19_the_outer_identifier_is_part_of_the_line() {
    let mut bed = Bed::new();
    let dot1ad = tagged((0x88a8, 100), Some((0x8100, 200)));
    let spec = SessionSpec { vlans: dot1ad, ..bed.spec };
    bed.sessions.insert(&spec).unwrap();
    bed.forward(ACCESS, &pppoe(AC, CLIENT, dot1ad, 1, 0x21, &ordinary()), CORE);
    for other in [tagged((0x8100, 100), Some((0x8100, 200))), tagged((0x9100, 100), Some((0x8100, 200)))] {
        bed.drops(ACCESS, &pppoe(AC, CLIENT, other, 1, 0x21, &ordinary()), Reason::SessionVlan);
    }
}

#[test]
fn p20_what_is_not_this_clients_never_reaches_its_session() {
    let mut bed = Bed::new();
    let terminate = [5, 1, 0, 4];
    let frame = |dst, src, vlans, id| pppoe(dst, src, vlans, id, 0xc021, &terminate);
    // (a) another client, (b) another station, (c) id 0, (d) an id not in use, (e) another VLAN, (f) broadcast.
    bed.drops(ACCESS, &frame(AC, CLIENT_2, untagged(), 1), Reason::SessionMac);
    bed.drops(ACCESS, &frame(MacAddr([2, 0, 0, 0, 0, 0xaa]), CLIENT, untagged(), 1), Reason::NotOurMac);
    for (vlans, id) in [(untagged(), 0), (untagged(), 0x0fff), (tagged((0x8100, 5), None), 1)] {
        let meta = bed.punts(ACCESS, &frame(AC, CLIENT, vlans, id), PuntClass::Discovery, Reason::UnknownSession);
        assert_eq!(meta.session, None);
    }
    bed.drops(ACCESS, &frame(MacAddr::BROADCAST, CLIENT, untagged(), 1), Reason::PppoeBroadcast);
    // (g) the right one.
    let meta = bed.punts(ACCESS, &frame(AC, CLIENT, untagged(), 1), PuntClass::Keepalive, Reason::PppKeepalive);
    assert_eq!(meta.session, Some(bed.client));
    // A PADT is discovery, to be judged by control with all its tags.
    let padt = ether(AC, CLIENT_2, untagged(), 0x8863, &[0x11, 0xa7, 0, 1, 0, 0]);
    bed.punts(ACCESS, &padt, PuntClass::Discovery, Reason::Discovery);
}

#[test]
fn p22_mss_is_clamped_both_ways_for_both_families() {
    const SYN: u8 = 2;
    const ACK: u8 = 16;
    let with_nops = [1, 1, 2, 4, 0x05, 0xb4, 1, 1];
    for (mtu, flags, options, expected4, expected6) in [
        (1492u16, SYN, &[2u8, 4, 0x05, 0xb4][..], 1452u16, 1432u16),
        (1492, SYN | ACK, &[2, 4, 0x05, 0xb4], 1452, 1432),
        (1492, SYN, &[2, 4, 0x05, 0xa0], 1440, 1432),
        (1492, SYN, &[2, 4, 0x02, 0x18], 536, 536),
        (1492, SYN, &with_nops, 1452, 1432),
        (1492, SYN, &[1, 2, 4, 0x05, 0xb4], 1452, 1432),
        (1492, ACK, &[2, 4, 0x05, 0xb4], 1460, 1460),
        (1500, SYN, &[2, 4, 0x05, 0xb4], 1460, 1440),
        (1492, SYN, &[], 0, 0),
    ] {
        let mut bed = Bed::new();
        bed.change(|spec| spec.mtu = mtu);
        let at = options.windows(2).position(|pair| pair == [2, 4]).map(|at| at + 2);
        let mss = |packet: &[u8], header: usize| {
            let at = header + 20 + at?;
            Some(u16::from_be_bytes([packet[at], packet[at + 1]]))
        };
        let sent = tcp4(IP, SERVER, flags, options, b"");
        let out = bed.forward(ACCESS, &up(&sent), CORE);
        assert!(tcp4_is_valid(&out[14..]));
        assert_eq!(mss(&out[14..], 20), at.map(|_| expected4), "up {options:?}");
        assert_eq!(out[16..18], sent[2..4], "nothing is inserted");
        let sent = tcp4(SERVER, IP, flags, options, b"");
        let out = bed.forward(CORE, &down(&sent), ACCESS);
        assert!(tcp4_is_valid(inner(&out)));
        assert_eq!(mss(inner(&out), 20), at.map(|_| expected4), "down {options:?}");
        let out = bed.forward(ACCESS, &up6(&tcp6(IP6, SERVER6, flags, options, b"")), CORE);
        assert!(tcp6_is_valid(&out[14..]));
        assert_eq!(mss(&out[14..], 40), at.map(|_| expected6), "up6 {options:?}");
        let out = bed.forward(CORE, &down(&tcp6(SERVER6, IP6, flags, options, b"")), ACCESS);
        assert!(tcp6_is_valid(inner(&out)));
        assert_eq!(mss(inner(&out), 40), at.map(|_| expected6), "down6 {options:?}");
        // Off means off.
        bed.change(|spec| spec.mss_clamp = false);
        let out = bed.forward(CORE, &down(&tcp4(SERVER, IP, flags, options, b"")), ACCESS);
        assert_eq!(inner(&out), hopped(&tcp4(SERVER, IP, flags, options, b"")));
    }
}

#[test]
fn p22_a_packet_between_subscribers_fits_the_narrower_one() {
    let mut bed = Bed::new();
    bed.change(|spec| spec.mtu = 1400);
    let syn = tcp4(IP_2, IP, 2, &[2, 4, 0x05, 0xb4], b"");
    let out = bed.forward(ACCESS, &pppoe(AC, CLIENT_2, untagged(), 2, 0x21, &syn), ACCESS);
    assert_eq!(inner(&out)[42..44], 1360u16.to_be_bytes());
    let syn = tcp4(IP, IP_2, 2, &[2, 4, 0x05, 0xb4], b"");
    let out = bed.forward(ACCESS, &up(&syn), ACCESS);
    assert_eq!(inner(&out)[42..44], 1360u16.to_be_bytes());
}

#[test]
fn p22_a_later_fragment_is_no_syn() {
    let mut bed = Bed::new();
    let mut packet = tcp4(IP, SERVER, 2, &[2, 4, 0x05, 0xb4], b"");
    packet[7] = 1; // fragment offset 8
    packet[10..12].fill(0);
    let sum = checksum::checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let out = bed.forward(ACCESS, &up(&packet), CORE);
    assert_eq!(out[14..14 + packet.len()], hopped(&packet));
}

#[test]
fn p23_link_padding_does_not_travel() {
    let mut bed = Bed::new();
    // Down: 60 octets with 6 octets of padding.
    let ack = tcp4(SERVER, IP, 16, &[], b"");
    let frame = down(&ack);
    assert_eq!((frame.len(), &frame[54..]), (60, &[0xaa; 6][..]));
    let out = bed.forward(CORE, &frame, ACCESS);
    assert_eq!(out.len(), 62);
    assert_eq!(out[18..20], [0x00, 0x2a]);
    assert!(!out[22..].contains(&0xaa));
    assert!(tcp4_is_valid(inner(&out)));
    // Up: an IP packet of 28 octets in a frame of 60.
    let ping = ip4(IP, SERVER, 17, 64, &datagram(1, 2, b""));
    let frame = up(&ping);
    assert_eq!((ping.len(), frame.len(), frame[19]), (28, 60, 30));
    let out = bed.forward(ACCESS, &frame, CORE);
    assert_eq!(out[14..42], hopped(&ping));
    assert_eq!(out[42..], [0; 18]);
    // Between subscribers a short frame is padded anew.
    let short = ip4(IP, IP_2, 17, 64, &datagram(1, 2, b""));
    let out = bed.forward(ACCESS, &up(&short), ACCESS);
    assert_eq!((out.len(), &out[50..]), (60, &[0; 10][..]));
}

#[test]
fn p23_padding_inside_the_pppoe_payload_is_cut_by_the_total_length() {
    let mut bed = Bed::new();
    let mut packet = ip4(IP, SERVER, 17, 64, &datagram(1, 2, b"all of it, and no more than that"));
    let len = packet.len();
    packet.extend([0xaa; 9]);
    let out = bed.forward(ACCESS, &up(&packet), CORE);
    assert_eq!(out.len(), 14 + len);
    assert_eq!(bed.totals(bed.client).up_octets, len as u64);
}

#[test]
fn p24_bad_inner_headers_are_dropped_with_their_reason() {
    let good = ordinary();
    let with = |change: fn(&mut Vec<u8>)| {
        let mut packet = good.clone();
        change(&mut packet);
        packet[10..12].fill(0);
        let sum = checksum::checksum(&packet[..20.min(packet.len())]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet
    };
    let mut bad_sum = good.clone();
    bad_sum[11] ^= 1;
    let mut bed = Bed::new();
    for (packet, reason) in [
        (with(|p| p[0] = 0x55), Reason::Ipv4Version),
        (with(|p| p[0] = 0x43), Reason::Ipv4HeaderLength),
        (good[..10].to_vec(), Reason::Ipv4Truncated),
        (with(|p| p[3] += 1), Reason::Ipv4Length),
        (with(|p| p[3] = 19), Reason::Ipv4Length),
        (bad_sum, Reason::Ipv4Checksum),
        (with(|p| p[0] = 0x65), Reason::Ipv4Version), // PPP protocol 0021 with version 6
    ] {
        bed.drops(ACCESS, &up(&packet), reason);
        bed.drops(CORE, &ether(CORE_MAC, ROUTER, untagged(), 0x0800, &packet), reason);
    }
    let mut long = ip6(IP6, SERVER6, 17, 64, &[0; 8]);
    long[5] = 9;
    bed.drops(ACCESS, &up6(&long), Reason::Ipv6Length);
    bed.drops(ACCESS, &up6(&good), Reason::Ipv6Version);
    bed.drops(ACCESS, &up6(&long[..20]), Reason::Ipv6Truncated);
    let totals = bed.totals(bed.client);
    assert_eq!((totals.up_packets, totals.up_drops), (0, 10));
    // A good one right behind passes.
    bed.forward(ACCESS, &up(&good), CORE);
}

#[test]
fn p25_ttl_falls_by_one_and_the_checksum_stays_right() {
    let mut bed = Bed::new();
    for ttl in [255, 64, 2] {
        // Identifications chosen so that the header checksum takes the awkward values.
        for wanted in [0xff00u16, 0x00ff, 0xfffe, 0x0001, 0x1234] {
            for (src, dst, from, to) in [(IP, SERVER, ACCESS, CORE), (SERVER, IP, CORE, ACCESS)] {
                let mut packet = ip4(src, dst, 17, ttl, &datagram(1, 2, b"ttl and checksum, together"));
                // sum(header without id and checksum) + id + checksum = ffff: solve for id.
                packet[4..6].fill(0);
                packet[10..12].copy_from_slice(&wanted.to_be_bytes());
                let id = checksum::checksum(&packet[..20]);
                packet[4..6].copy_from_slice(&id.to_be_bytes());
                assert!(checksum::is_valid(&packet[..20]));
                let frame = if from == ACCESS { up(&packet) } else { down(&packet) };
                let out = bed.forward(from, &frame, to);
                let start = if to == CORE { 14 } else { 22 };
                assert_eq!(out[start..start + packet.len()], hopped(&packet), "{ttl} {wanted:04x}");
            }
        }
    }
    for ttl in [1, 0] {
        bed.drops(ACCESS, &up(&ip4(IP, SERVER, 17, ttl, &[0; 8])), Reason::Ipv4TtlExceeded);
        bed.drops(CORE, &down(&ip4(SERVER, IP, 17, ttl, &[0; 8])), Reason::Ipv4TtlExceeded);
        bed.drops(ACCESS, &up6(&ip6(IP6, SERVER6, 17, ttl, &[0; 8])), Reason::Ipv6HopLimitExceeded);
        bed.drops(CORE, &down(&ip6(SERVER6, IP6, 17, ttl, &[0; 8])), Reason::Ipv6HopLimitExceeded);
    }
    let out = bed.forward(ACCESS, &up6(&ip6(IP6, SERVER6, 17, 64, &[0; 8])), CORE);
    assert_eq!(out[14 + 7], 63);
}

#[test]
fn p26_the_mru_passes_and_one_more_does_not_pass_whole() {
    for mtu in [1480u16, 1492, 1500] {
        let mut bed = Bed::new();
        bed.change(|spec| spec.mtu = mtu);
        let fits = ip4(SERVER, IP, 17, 64, &vec![7; usize::from(mtu) - 20]);
        let out = bed.forward(CORE, &down(&fits), ACCESS);
        assert_eq!(out.len(), 22 + usize::from(mtu));
        assert_eq!(out[18..20], (mtu + 2).to_be_bytes());
        assert_eq!(inner(&out), hopped(&fits));
        let mut over = ip4(SERVER, IP, 17, 64, &vec![7; usize::from(mtu) - 19]);
        over[6] = 0x40;
        over[10..12].fill(0);
        let sum = checksum::checksum(&over[..20]);
        over[10..12].copy_from_slice(&sum.to_be_bytes());
        bed.drops(CORE, &down(&over), Reason::TooBig);
        let fits = ip6(SERVER6, IP6, 17, 64, &vec![7; usize::from(mtu) - 40]);
        assert_eq!(bed.forward(CORE, &down(&fits), ACCESS).len(), 22 + usize::from(mtu));
        bed.drops(CORE, &down(&ip6(SERVER6, IP6, 17, 64, &vec![7; usize::from(mtu) - 39])), Reason::TooBig);
    }
}

#[test]
fn p54_equal_macs_and_ids_on_several_lines_are_several_sessions() {
    let mut bed = Bed::new();
    let lines = [
        (ACCESS, tagged((0x8100, 100), None), CLIENT, 1, "192.0.2.50"),
        (ACCESS, tagged((0x8100, 200), None), CLIENT, 1, "192.0.2.51"),
        (ACCESS_2, untagged(), CLIENT, 1, "192.0.2.52"),
        (ACCESS_2, untagged(), CLIENT_2, 2, "192.0.2.53"),
    ];
    let mut indexes = Vec::new();
    for (port, vlans, peer_mac, id, address) in lines {
        let spec = SessionSpec {
            port,
            vlans,
            peer_mac,
            session_id: SessionId(id),
            ipv4: Some(address.parse().unwrap()),
            ..bed.spec
        };
        let index = bed.sessions.insert(&spec).unwrap();
        bed.pools.v4(bed.pool4).unwrap().set(address.parse().unwrap(), Some(index));
        indexes.push(index);
    }
    for (port, vlans, mac, id, address) in lines {
        let packet = ip4(address, SERVER, 17, 64, &datagram(1, 2, b"my own words in my own frame"));
        bed.forward(port, &pppoe(AC, mac, vlans, id, 0x21, &packet), CORE);
        let packet = ip4(SERVER, address, 17, 64, &datagram(1, 2, b"and an answer for me alone"));
        let out = bed.forward(CORE, &down(&packet), port);
        assert_eq!(out, pppoe(mac, AC, vlans, id, 0x21, &hopped(&packet)));
    }
    for index in &indexes {
        let totals = bed.totals(*index);
        assert_eq!((totals.up_packets, totals.down_packets), (1, 1));
    }
    // A valid id from the wrong VLAN, port or MAC is credited to nobody.
    let before: Vec<SessionTotals> = indexes.iter().map(|index| bed.totals(*index)).collect();
    let packet = ip4("192.0.2.50", SERVER, 17, 64, &datagram(1, 2, b"not mine"));
    let wrong_vlan = pppoe(AC, CLIENT, tagged((0x8100, 300), None), 1, 0x21, &packet);
    bed.punts(ACCESS, &wrong_vlan, PuntClass::Discovery, Reason::UnknownSession);
    let wrong_mac = pppoe(AC, CLIENT_2, tagged((0x8100, 100), None), 1, 0x21, &packet);
    bed.drops(ACCESS, &wrong_mac, Reason::SessionMac);
    let wrong_address = pppoe(AC, CLIENT, tagged((0x8100, 200), None), 1, 0x21, &packet);
    bed.drops(ACCESS, &wrong_address, Reason::Ipv4Spoofed);
    let after: Vec<SessionTotals> = indexes.iter().map(|index| bed.totals(*index)).collect();
    assert_eq!(after[1], SessionTotals { up_drops: 1, ..before[1] });
    assert_eq!((&after[0], &after[2..]), (&before[0], &before[2..]));
}

#[test]
fn p55_the_counters_of_a_dead_line_are_exact() {
    let mut bed = Bed::new();
    let size = |src, dst| ip4(src, dst, 17, 64, &datagram(1, 2, &[7; 72]));
    for _ in 0..10 {
        bed.forward(ACCESS, &up(&size(IP, SERVER)), CORE);
    }
    for _ in 0..20 {
        bed.forward(CORE, &down(&size(SERVER, IP)), ACCESS);
    }
    bed.sessions.remove(bed.client);
    let mut last = None;
    bed.sessions.poll(|removed| last = Some(removed.counters));
    let totals = SessionTotals {
        up_packets: 10,
        up_octets: 1000,
        down_packets: 20,
        down_octets: 2000,
        ..SessionTotals::default()
    };
    assert_eq!(last, Some(totals));
}

#[test]
fn p70_fragments_are_forwarded_whole_and_unread() {
    let mut bed = Bed::new();
    for (fragment, len) in [(0x2000u16, 1472), (0x20b8, 1472), (0x0170, 4), (0x4000, 100)] {
        let mut packet = ip4(IP, SERVER, 17, 64, &vec![0x5a; len]);
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet[10..12].fill(0);
        let sum = checksum::checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        let out = bed.forward(ACCESS, &up(&packet), CORE);
        assert_eq!(out[14..14 + packet.len()], hopped(&packet));
    }
    // An IPv6 fragment header with offset 1, whatever follows.
    let packet = ip6(IP6, SERVER6, 44, 64, &[6, 0, 0, 8, 0, 0, 0, 1, 2, 2, 2, 2]);
    let out = bed.forward(ACCESS, &up6(&packet), CORE);
    assert_eq!(out[14..14 + packet.len()], hopped(&packet));
}

#[test]
fn p72_checksums_are_left_as_they_are() {
    let mut bed = Bed::new();
    // UDP checksum 0 stays 0; IP options pass.
    let packet = ordinary();
    let out = bed.forward(ACCESS, &up(&packet), CORE);
    assert_eq!(out[14 + 26..14 + 28], [0, 0]);
    let mut with_options = vec![0x46, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 148, 4, 0, 0];
    with_options[12..16].copy_from_slice(&v4(IP).to_be_bytes());
    with_options[16..20].copy_from_slice(&v4(SERVER).to_be_bytes());
    let sum = checksum::checksum(&with_options);
    with_options[10..12].copy_from_slice(&sum.to_be_bytes());
    with_options.extend(datagram(1, 2, b""));
    let out = bed.forward(ACCESS, &up(&with_options), CORE);
    assert_eq!(out[14..46], hopped(&with_options));
}
