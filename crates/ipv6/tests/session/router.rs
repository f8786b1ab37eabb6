use std::net::Ipv6Addr;
use std::time::Duration;

use bng_ipv6::{Discard, Ipv6Config};
use bng_wire::ipv6::{HEADER_LEN, Header};
use bng_wire::nd::{self, Message, NeighbourAdvertisement, PrefixInformation, RouterAdvertisement, option};

use crate::lab::*;

/// Destination and message of a router advertisement.
fn advertisement(packet: &[u8]) -> (Ipv6Addr, RouterAdvertisement, nd::Options<'_>) {
    let Ok(Message::RouterAdvertisement(fixed, options)) = Message::parse(&packet[HEADER_LEN..]) else {
        panic!("no router advertisement: {packet:02x?}")
    };
    (Ipv6Addr::from_bits(Header::check(packet).unwrap().dst.get()), fixed, options)
}

/// RFC 4861 section 4.2, 4.6.2, 4.6.4; RFC 8106 sections 5.1 and 5.2.
#[test]
fn an_advertisement_says_all_that_is_configured() {
    let mut config = config();
    config.router.managed = true;
    config.dscp = 48;
    let mut lab = Lab::new(config);
    lab.pass(Duration::from_secs(1));
    assert_eq!(lab.sent[0][..2], [0x6c, 0], "CS6, not ECN-capable");
    let (to, fixed, options) = advertisement(&lab.sent[0]);
    assert_eq!(to, ip("ff02::1"));
    assert!(fixed.managed && fixed.other);
    assert_eq!((fixed.hop_limit, fixed.lifetime_s, fixed.reachable_ms, fixed.retransmit_ms), (64, 1800, 0, 0));
    assert_eq!(nd::parse_mtu(options.first(option::MTU).unwrap()), Some(1492));
    let prefix = PrefixInformation::parse(options.first(option::PREFIX_INFORMATION).unwrap()).unwrap();
    assert_eq!((prefix.prefix, prefix.length), (ip("2001:db8:0:7::"), 64));
    assert!(prefix.on_link && prefix.autonomous);
    assert_eq!((prefix.valid_s, prefix.preferred_s), (2_592_000, 604_800));
    let (lifetime, servers) = nd::parse_rdnss(options.first(option::RDNSS).unwrap()).unwrap();
    assert_eq!((lifetime, servers.collect::<Vec<_>>()), (1800, vec![ip("2001:db8::53"), ip("2001:db8::54")]));
    let (lifetime, mut names) = nd::parse_dnssl(options.first(option::DNSSL).unwrap()).unwrap();
    assert_eq!((lifetime, bng_wire::domain::decode(&mut names).unwrap().as_str()), (1800, "example.net"));
    assert_eq!(options.first(option::SOURCE_LINK_LAYER), None);
}

/// RFC 4861 sections 6.2.1 and 6.2.4.
#[test]
fn advertisements_come_quickly_at_first_and_then_at_the_interval() {
    let mut lab = Lab::new(Ipv6Config::default());
    let mut times = Vec::new();
    while times.len() < 40 {
        let at = lab.session.poll_timeout().unwrap();
        lab.pass(at - lab.now);
        assert_eq!(lab.sent.len(), 1);
        lab.sent.clear();
        times.push(at - lab.start);
    }
    assert!(times[0] <= Duration::from_secs(1));
    let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps[..2].iter().all(|gap| *gap <= Duration::from_secs(16)), "{gaps:?}");
    assert!(gaps[2..].iter().all(|gap| (200..=600).contains(&gap.as_secs())), "{gaps:?}");
    assert!(gaps[2..].windows(2).any(|pair| pair[0] != pair[1]), "no jitter");
}

/// RFC 4861 section 6.2.6: those to all nodes keep 3 s apart; those to one host are held to two a second.
#[test]
fn solicitations_are_answered_soon_but_not_all_of_them() {
    let mut lab = Lab::new(Ipv6Config::default());
    lab.pass(Duration::from_secs(100));
    lab.sent.clear();
    for _ in 0..100 {
        assert_eq!(lab.receive(&solicitation(client_address())), Ok(()));
        lab.pass(Duration::from_millis(20));
    }
    lab.pass(Duration::from_millis(600));
    assert!((2..=6).contains(&lab.sent.len()), "{} in 2 s", lab.sent.len());
    assert!(lab.sent.iter().all(|packet| advertisement(packet).0 == client_address()));
    lab.sent.clear();
    for _ in 0..500 {
        assert_eq!(lab.receive(&solicitation(Ipv6Addr::UNSPECIFIED)), Ok(()));
        lab.pass(Duration::from_millis(20));
    }
    assert!((2..=4).contains(&lab.sent.len()), "{} in 10 s", lab.sent.len());
    assert!(lab.sent.iter().all(|packet| advertisement(packet).0 == ip("ff02::1")));
}

/// RFC 4861 section 6.1.1.
#[test]
fn solicitations_that_are_not_valid_are_not_answered() {
    let mut lab = Lab::new(Ipv6Config::default());
    let (all, client) = (ip("ff02::2"), client_address());
    let short = [133, 0, 0, 0, 0, 0, 0];
    let good = [133, 0, 0, 0, 0, 0, 0, 0];
    let with_address = [133, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 0, 0x5e, 0x10, 0, 1];
    let mut broken = icmp_packet(client, all, 255, &good);
    broken[42] ^= 1;
    for (packet, reason) in [
        (icmp_packet(client, all, 254, &good), Discard::HopLimit),
        (broken, Discard::Checksum),
        (icmp_packet(client, all, 255, &[133, 1, 0, 0, 0, 0, 0, 0]), Discard::Malformed),
        (icmp_packet(client, all, 255, &short), Discard::Malformed),
        (icmp_packet(client, all, 255, &[133, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]), Discard::Malformed),
        (icmp_packet(Ipv6Addr::UNSPECIFIED, all, 255, &with_address), Discard::Source),
        (icmp_packet(ip("2001:db8::1"), all, 255, &good), Discard::Source),
        (icmp_packet(ip("ff02::9"), all, 255, &good), Discard::Source),
        (icmp_packet(router_address(), all, 255, &good), Discard::Source),
        (
            icmp_packet(client, ip("ff02::1"), 255, &[134, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            Discard::Unexpected,
        ),
        (icmp_packet(client, ip("ff02::16"), 1, &[143, 0, 0, 0, 0, 0, 0, 0]), Discard::NotForUs),
    ] {
        assert_eq!(lab.receive(&packet), Err(reason), "{packet:02x?}");
    }
    assert_eq!(lab.receive(&icmp_packet(client, all, 255, &with_address)), Ok(()));
}

/// RFC 4861 sections 7.1.1 and 7.2.4; RFC 4862 section 5.4.3.
#[test]
fn the_router_answers_for_its_own_address_and_no_other() {
    let mut lab = Lab::new(Ipv6Config::default());
    let ask = |target: Ipv6Addr| [&[135, 0, 0, 0, 0, 0, 0, 0][..], &target.octets()].concat();
    let group = ip("ff02::1:ff00:1");
    for (src, to, solicited) in [(client_address(), client_address(), true), (ip("::"), ip("ff02::1"), false)] {
        lab.sent.clear();
        assert_eq!(lab.receive(&icmp_packet(src, group, 255, &ask(router_address()))), Ok(()));
        let packet = lab.sent.pop().unwrap();
        assert_eq!(Header::check(&packet).unwrap().dst.get(), to.to_bits());
        let expected = NeighbourAdvertisement { router: true, solicited, overrides: true, target: router_address() };
        assert_eq!(
            Message::parse(&packet[HEADER_LEN..]),
            Ok(Message::NeighbourAdvertisement(expected, nd::Options::default()))
        );
    }
    let client = client_address();
    let mut with_address = ask(router_address());
    with_address.extend([1, 1, 2, 0, 0x5e, 0x10, 0, 1]);
    for (packet, reason) in [
        (icmp_packet(client, group, 255, &ask(client)), Discard::NotForUs),
        (icmp_packet(client, group, 64, &ask(router_address())), Discard::HopLimit),
        (icmp_packet(client, group, 255, &ask(ip("ff02::1"))), Discard::Malformed),
        (icmp_packet(ip("::"), router_address(), 255, &ask(router_address())), Discard::Source),
        (icmp_packet(ip("::"), group, 255, &with_address), Discard::Source),
    ] {
        assert_eq!(lab.receive(&packet), Err(reason));
    }
    let flood = (0..100).filter(|_| {
        let packet = icmp_packet(client, group, 255, &ask(router_address()));
        lab.receive(&packet) == Err(Discard::RateLimited)
    });
    assert!(flood.count() >= 80);
}

#[test]
fn a_client_may_ping_its_router() {
    let mut lab = Lab::new(Ipv6Config::default());
    let echo = [128, 0, 0, 0, 0x12, 0x34, 0, 7, b'p', b'i', b'n', b'g'];
    assert_eq!(lab.receive(&icmp_packet(client_address(), router_address(), 64, &echo)), Ok(()));
    let reply = &lab.sent[0][HEADER_LEN..];
    assert_eq!((reply[0], &reply[4..]), (129, &echo[4..]));
    assert_eq!(lab.receive(&icmp_packet(client_address(), ip("2001:db8::1"), 64, &echo)), Err(Discard::NotForUs));
}

/// RFC 4861 section 6.2.5.
#[test]
fn the_last_advertisement_takes_everything_back() {
    let mut lab = Lab::new(config());
    lab.pass(Duration::from_secs(1));
    lab.sent.clear();
    lab.close();
    let (to, fixed, options) = advertisement(&lab.sent[0]);
    assert_eq!((to, fixed.lifetime_s), (ip("ff02::1"), 0));
    let prefix = PrefixInformation::parse(options.first(option::PREFIX_INFORMATION).unwrap()).unwrap();
    assert_eq!((prefix.valid_s, prefix.preferred_s), (0, 0));
    assert_eq!(nd::parse_rdnss(options.first(option::RDNSS).unwrap()).unwrap().0, 0);
    assert_eq!(lab.receive(&solicitation(client_address())), Err(Discard::Closed));
    lab.pass(Duration::from_secs(10_000));
    assert_eq!(lab.sent.len(), 1);
    // IPV6CP comes up again.
    lab.start();
    lab.pass(Duration::from_secs(1));
    assert_eq!(lab.sent.len(), 2);
}

/// The whole packet, octet by octet, as it was checked with another program's dissector.
#[test]
fn a_small_advertisement_octet_by_octet() {
    let mut config = Ipv6Config::default();
    config.router.other = true;
    let mut lab = Lab::new(config);
    lab.pass(Duration::from_secs(1));
    let expected = "6000000000383aff fe800000000000000000000000000001 ff020000000000000000000000000001 \
                    8600CCCC 4040 0708 00000000 00000000 0501 0000 000005d4 \
                    0304 40c0 00278d00 00093a80 00000000 20010db8000000070000000000000000";
    let octets: String = lab.sent[0].iter().map(|octet| format!("{octet:02x}")).collect();
    let sum = octets[84..88].to_owned();
    assert_eq!(octets, expected.replace(' ', "").replace("CCCC", &sum));
}
