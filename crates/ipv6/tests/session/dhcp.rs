use std::time::Duration;

use bng_ipv6::{AddressSource, Discard, Ipv6Session, LeaseKind};
use bng_wire::dhcpv6::{SERVERS, kind, option};

use crate::lab::*;

const NO_ADDRS: u16 = 2;
const NO_BINDING: u16 = 3;
const NOT_ON_LINK: u16 = 4;
const USE_MULTICAST: u16 = 5;
const NO_PREFIX: u16 = 6;

/// RFC 8415 sections 18.3.1, 18.3.2, 18.3.9 and 18.3.10.
#[test]
fn four_messages_give_an_address_and_a_prefix() {
    let mut lab = Lab::new(change(|dhcp| dhcp.preference = 9));
    let offer = lab.ask(&Ask::new(kind::SOLICIT).na(5, &[]).pd(6, &[]).octets());
    assert_eq!(offer.kind, kind::ADVERTISE);
    assert_eq!(offer.first(option::CLIENT_ID), Some(CLIENT_DUID));
    assert_eq!(offer.first(option::PREFERENCE), Some(&[9][..]));
    assert!(lab.routes.is_empty(), "an offer is no grant");
    let (na, pd) = (offer.leases(LeaseKind::Address), offer.leases(LeaseKind::Prefix));
    let request = Ask::new(kind::REQUEST).server().na(5, &na).pd(6, &pd).octets();
    let reply = lab.ask(&request);
    assert_eq!(reply.kind, kind::REPLY);
    assert_eq!(reply.first(option::PREFERENCE), None);
    assert_eq!(reply.lifetimes(LeaseKind::Prefix), [(pd[0], 3600, 7200)]);
    assert_eq!(reply.lifetimes(LeaseKind::Address), [(na[0], 3600, 7200)]);
    assert_eq!((reply.times(LeaseKind::Address), reply.times(LeaseKind::Prefix)), ((1800, 2880), (1800, 2880)));
    assert_eq!(lab.routes.len(), 2);
    assert_eq!(lab.session.bound().count(), 2);
    // A repeated request has the same answer, octet by octet.
    assert_eq!(lab.ask(&request), reply);
    // So has an extension, and it extends.
    lab.pass(Duration::from_secs(7000));
    assert_eq!(lab.ask(&Ask::new(kind::RENEW).server().na(5, &na).pd(6, &pd).octets()).options, reply.options);
    lab.pass(Duration::from_secs(7000));
    assert_eq!(lab.ask(&Ask::new(kind::REBIND).na(5, &na).pd(6, &pd).octets()).options, reply.options);
    lab.pass(Duration::from_secs(7201));
    assert!(lab.routes.is_empty() && lab.pools.held.is_empty());
}

#[test]
fn an_offer_that_is_not_taken_lapses() {
    let mut lab = Lab::new(config());
    lab.ask(&Ask::new(kind::SOLICIT).pd(1, &[]).octets());
    assert_eq!(lab.pools.held.len(), 1);
    lab.pass(Duration::from_secs(61));
    assert!(lab.pools.held.is_empty());
}

/// Section 18.3.1.
#[test]
fn rapid_commit_needs_both_sides() {
    let rapid = Ask::new(kind::SOLICIT).with(option::RAPID_COMMIT, &[]).pd(1, &[]).octets();
    let mut lab = Lab::new(config());
    let reply = lab.ask(&rapid);
    assert_eq!((reply.kind, reply.first(option::RAPID_COMMIT)), (kind::REPLY, Some(&[][..])));
    let mut lab = Lab::new(change(|dhcp| dhcp.rapid_commit = false));
    let advertise = lab.ask(&rapid);
    assert_eq!((advertise.kind, advertise.first(option::RAPID_COMMIT)), (kind::ADVERTISE, None));
    assert!(lab.routes.is_empty());
    // Nothing to commit: an Advertise says why.
    let mut lab = Lab::new(config());
    lab.pools.empty = true;
    let advertise = lab.ask(&rapid);
    assert_eq!((advertise.kind, advertise.ia_status(LeaseKind::Prefix)), (kind::ADVERTISE, vec![(1, NO_PREFIX)]));
}

/// Sections 18.3.2, 18.3.9, 21.13: each association has its own status.
#[test]
fn empty_pools_are_said_and_do_not_stick() {
    let mut lab = Lab::new(config());
    lab.pools.empty = true;
    let request = Ask::new(kind::REQUEST).server().na(1, &[]).pd(2, &[]).with(option::IA_TA, &[0, 0, 0, 9]).octets();
    let reply = lab.ask(&request);
    assert_eq!(reply.ia_status(LeaseKind::Address), [(1, NO_ADDRS)]);
    assert_eq!(reply.ia_status(LeaseKind::Prefix), [(2, NO_PREFIX)]);
    assert_eq!(&reply.first(option::IA_TA).unwrap()[..10], [0, 0, 0, 9, 0, 13, 0, 24, 0, 2]);
    lab.pools.empty = false;
    let reply = lab.ask(&request);
    assert_eq!((reply.leases(LeaseKind::Address).len(), reply.leases(LeaseKind::Prefix).len()), (1, 1));
    let mut lab = Lab::new(change(|dhcp| (dhcp.addresses, dhcp.prefixes) = (AddressSource::None, false)));
    let reply = lab.ask(&request);
    assert_eq!(reply.ia_status(LeaseKind::Address), [(1, NO_ADDRS)]);
    assert_eq!(reply.ia_status(LeaseKind::Prefix), [(2, NO_PREFIX)]);
}

#[test]
fn several_associations_up_to_the_limit() {
    let mut lab = Lab::new(change(|dhcp| dhcp.leases_max = 2));
    let solicit = Ask::new(kind::SOLICIT).pd(1, &[]).pd(2, &[]).pd(3, &[]).na(1, &[]).octets();
    let offer = lab.ask(&solicit);
    assert_eq!(offer.leases(LeaseKind::Prefix).len(), 2);
    assert_eq!(offer.ia_status(LeaseKind::Prefix), [(3, NO_PREFIX)]);
    assert_eq!(lab.pools.held.len(), 3);
    lab.close();
}

/// A client without memory comes back with another IAID and another DUID; the line keeps its prefix and no other.
#[test]
fn a_client_that_forgot_who_it_was_gets_the_lease_of_the_line() {
    let mut lab = Lab::new(config());
    let first = lab.lease_prefix();
    for n in 1..20u8 {
        lab.pass(Duration::from_secs(30));
        let duid = [0, 3, 0, 1, n, 0, 0, 0, 0, n];
        let offer = lab.ask(&Ask::of(kind::SOLICIT, Some(&duid)).pd(n.into(), &[]).octets());
        assert_eq!(offer.leases(LeaseKind::Prefix), [first]);
        let reply = lab.ask(&Ask::of(kind::REQUEST, Some(&duid)).server().pd(n.into(), &[first]).octets());
        assert_eq!(reply.leases(LeaseKind::Prefix), [first]);
        assert_eq!((lab.routes.len(), lab.pools.held.len()), (1, 1));
    }
    // The earlier client's identity no longer extends it.
    let reply = lab.ask(&Ask::new(kind::RENEW).server().pd(19, &[first]).octets());
    assert_eq!(reply.ia_status(LeaseKind::Prefix), [(19, NO_BINDING)]);
}

/// Section 18.2.1: lengths are wishes.
#[test]
fn length_wishes_are_held_to_policy() {
    for (wish, asked) in [(56, 56), (40, 48), (64, 64), (128, 64), (0, 48)] {
        let mut lab = Lab::new(config());
        lab.prompt = false;
        let wish = bng_ipv6::Prefix { address: ip("::"), length: wish };
        let packet = dhcp_packet(client_address(), SERVERS, &Ask::new(kind::SOLICIT).pd(1, &[wish]).octets());
        assert_eq!(lab.receive(&packet), Ok(()));
        let (_, _, hint, exact) = lab.open[0];
        assert_eq!((hint.unwrap().length, exact), (asked, false));
    }
}

/// Sections 18.3.4 and 18.3.5: what the client believes to have besides is to be forgotten.
#[test]
fn outdated_prefixes_beside_the_right_one_end_at_once() {
    let mut lab = Lab::new(config());
    let own = lab.lease_prefix();
    let old = prefix("2001:db8:1000:900::/56");
    for ask in [Ask::new(kind::RENEW).server(), Ask::new(kind::REBIND)] {
        let reply = lab.ask(&ask.pd(1, &[old, own]).octets());
        assert_eq!(reply.lifetimes(LeaseKind::Prefix), [(own, 3600, 7200), (old, 0, 0)]);
    }
}

/// Section 18.3.2.
#[test]
fn a_request_for_an_address_of_elsewhere_is_not_on_link() {
    for source in [AddressSource::Pool, AddressSource::Link] {
        let mut lab = Lab::new(change(|dhcp| dhcp.addresses = source));
        let reply = lab.ask(&Ask::new(kind::REQUEST).server().na(1, &[prefix("2001:db8:ffff::1/128")]).octets());
        assert_eq!(reply.ia_status(LeaseKind::Address), [(1, NOT_ON_LINK)]);
    }
}

/// Section 18.3.3.
#[test]
fn confirm_says_whether_addresses_suit_the_link() {
    let mut lab = Lab::new(config());
    let given = lab.ask(&Ask::new(kind::REQUEST).server().na(1, &[]).octets()).leases(LeaseKind::Address)[0];
    let on_link = prefix("2001:db8:0:7::99/128");
    let foreign = prefix("2001:db8:ffff::1/128");
    for (named, status) in [
        (vec![given], 0),
        (vec![on_link], 0),
        (vec![given, on_link], 0),
        (vec![foreign], NOT_ON_LINK),
        (vec![given, foreign], NOT_ON_LINK),
    ] {
        assert_eq!(lab.ask(&Ask::new(kind::CONFIRM).na(1, &named).octets()).status(), Some(status));
    }
    for none in [Ask::new(kind::CONFIRM), Ask::new(kind::CONFIRM).na(1, &[]), Ask::new(kind::CONFIRM).pd(1, &[given])] {
        let packet = dhcp_packet(client_address(), SERVERS, &none.octets());
        assert_eq!(lab.receive(&packet), Err(Discard::NoAnswer));
    }
}

/// Sections 18.3.7 and 18.3.8.
#[test]
fn release_and_decline_end_leases() {
    let mut lab = Lab::new(config());
    let given = lab.ask(&Ask::new(kind::REQUEST).server().na(1, &[]).pd(1, &[]).octets());
    let (na, pd) = (given.leases(LeaseKind::Address), given.leases(LeaseKind::Prefix));
    let decline = lab.ask(&Ask::new(kind::DECLINE).server().na(1, &na).pd(1, &pd).octets());
    assert_eq!(decline.status(), Some(0));
    assert!(lab.pools.declined.contains(&na[0]));
    assert_eq!(lab.routes.iter().copied().collect::<Vec<_>>(), pd);
    let again = lab.ask(&Ask::new(kind::REQUEST).server().na(1, &[]).octets()).leases(LeaseKind::Address);
    assert_ne!(again, na);
    let release = Ask::new(kind::RELEASE).server().na(1, &again).pd(1, &pd).octets();
    assert!(lab.ask(&release).ia_status(LeaseKind::Prefix).is_empty());
    assert!(lab.routes.is_empty() && lab.pools.held.is_empty());
    // Again: it succeeds, and says that nothing was there.
    let reply = lab.ask(&release);
    assert_eq!((reply.status(), reply.ia_status(LeaseKind::Prefix)), (Some(0), vec![(1, NO_BINDING)]));
}

#[test]
fn addresses_of_the_link_need_no_pool_and_no_route() {
    let mut lab = Lab::new(change(|dhcp| dhcp.addresses = AddressSource::Link));
    let first = lab.ask(&Ask::new(kind::REQUEST).server().na(1, &[]).octets()).leases(LeaseKind::Address);
    assert_eq!(first, [prefix("2001:db8:0:7::2/128")]);
    lab.ask(&Ask::new(kind::DECLINE).server().na(1, &first).octets());
    let second = lab.ask(&Ask::new(kind::REQUEST).server().na(1, &[]).octets()).leases(LeaseKind::Address);
    assert_eq!(second, [prefix("2001:db8:0:7::3/128")]);
    assert!(lab.routes.is_empty() && lab.pools.held.is_empty());
    // After a restart the client keeps the address that it has.
    let mut lab = Lab::new(change(|dhcp| dhcp.addresses = AddressSource::Link));
    let renew = lab.ask(&Ask::new(kind::RENEW).server().na(1, &[prefix("2001:db8:0:7::abc/128")]).octets());
    assert_eq!(renew.leases(LeaseKind::Address), [prefix("2001:db8:0:7::abc/128")]);
}

/// Sections 18.3.6, 21.7, 21.23 to 21.25; RFC 3646.
#[test]
fn settings_are_sent_as_asked_for() {
    let mut lab = Lab::new(change(|dhcp| (dhcp.refresh_s, dhcp.max_rt_s) = (Some(60), Some(7200))));
    let codes = |answer: &Answer| answer.options.iter().map(|(code, _)| *code).collect::<Vec<_>>();
    let all = lab.ask(
        &Ask::of(kind::INFORMATION_REQUEST, None)
            .with(option::REQUESTED, &[0, 23, 0, 24, 0, 32, 0, 82, 0, 83, 0x7f, 0xff])
            .octets(),
    );
    assert_eq!(codes(&all), [2, 23, 24, 82, 83, 32]);
    assert_eq!(all.first(23).unwrap().len(), 32);
    assert_eq!(all.first(24), Some(&b"\x07example\x03net\x00"[..]));
    assert_eq!(all.first(32), Some(&600u32.to_be_bytes()[..]));
    let domains = lab.ask(&Ask::new(kind::INFORMATION_REQUEST).with(option::REQUESTED, &[0, 24]).octets());
    assert_eq!(codes(&domains), [1, 2, 24]);
    let unsaid = lab.ask(&Ask::new(kind::INFORMATION_REQUEST).octets());
    assert_eq!(codes(&unsaid), [1, 2, 23, 24]);
    let nothing = lab.ask(&Ask::new(kind::SOLICIT).with(option::REQUESTED, &[]).pd(1, &[]).octets());
    assert_eq!(codes(&nothing), [1, 2, 25]);
}

/// Unknown options are no obstacle, nor are known ones that only others use.
#[test]
fn unknown_options_are_passed_over() {
    let mut lab = Lab::new(config());
    let solicit = Ask::of(kind::SOLICIT, None)
        .with(0xfff0, &[1, 2, 3])
        .with(16, &[0, 0, 0x0d, 0xe9, 0, 1, 65])
        .with(20, &[])
        .with(option::ELAPSED_TIME, &[0, 0])
        .with(option::CLIENT_ID, CLIENT_DUID)
        .pd(1, &[])
        .with(option::IA_PD, &[1, 2, 3]);
    assert_eq!(lab.ask(&solicit.octets()).leases(LeaseKind::Prefix).len(), 1);
}

/// Sections 16 and 18.4.
#[test]
fn messages_that_are_not_valid_are_not_answered() {
    let mut lab = Lab::new(config());
    let given = lab.lease_prefix();
    let other = |kind| Ask::new(kind).with(option::SERVER_ID, &[0, 3, 0, 1, 9, 9, 9, 9, 9, 9]).pd(1, &[given]);
    let anonymous = |kind| Ask::of(kind, None).server().pd(1, &[given]);
    for (ask, reason) in [
        (Ask::of(kind::SOLICIT, None).pd(1, &[]), Discard::Option),
        (Ask::new(kind::SOLICIT).server().pd(1, &[]), Discard::Option),
        (Ask::new(kind::SOLICIT), Discard::Option),
        (Ask::of(kind::SOLICIT, Some(&[7; 131])).pd(1, &[]), Discard::Option),
        (Ask::of(kind::SOLICIT, Some(&[])).pd(1, &[]), Discard::Option),
        (Ask::new(kind::CONFIRM).server().na(1, &[given]), Discard::Option),
        (Ask::new(kind::REBIND).server().pd(1, &[given]), Discard::Option),
        (Ask::new(kind::REQUEST).pd(1, &[]), Discard::Option),
        (Ask::new(kind::RENEW).pd(1, &[given]), Discard::Option),
        (anonymous(kind::RENEW), Discard::Option),
        (anonymous(kind::RELEASE), Discard::Option),
        (Ask::new(kind::INFORMATION_REQUEST).pd(1, &[]), Discard::Option),
        (other(kind::REQUEST), Discard::OtherServer),
        (other(kind::RELEASE), Discard::OtherServer),
        (Ask::new(kind::INFORMATION_REQUEST).with(option::SERVER_ID, &[0, 9, 9]), Discard::OtherServer),
        (Ask::new(kind::ADVERTISE).server(), Discard::Unexpected),
        (Ask::new(kind::REPLY).server(), Discard::Unexpected),
        (Ask::new(12), Discard::Unexpected),
        (Ask::new(0), Discard::Unexpected),
    ] {
        lab.pass(Duration::from_secs(1));
        let packet = dhcp_packet(client_address(), SERVERS, &ask.octets());
        assert_eq!(lab.receive(&packet), Err(reason), "{:02x?}", ask.octets());
    }
    lab.pass(Duration::from_secs(10));
    let good = Ask::new(kind::RELEASE).server().pd(1, &[given]).octets();
    let to = router_address();
    let mut broken = dhcp_packet(client_address(), SERVERS, &good);
    broken[47] ^= 1;
    let mut no_sum = dhcp_packet(client_address(), SERVERS, &good);
    no_sum[46..48].fill(0);
    for (packet, reason) in [
        (broken, Discard::Checksum),
        (no_sum, Discard::Checksum),
        (dhcp_packet(ip("2001:db8:0:7::9"), SERVERS, &good), Discard::Source),
        (dhcp_packet(ip("::"), SERVERS, &good), Discard::Source),
        (dhcp_packet(client_address(), ip("2001:db8::1"), &good), Discard::NotForUs),
        (dhcp_packet(client_address(), SERVERS, &good[..good.len() - 1]), Discard::Malformed),
        (dhcp_packet(client_address(), to, &Ask::new(kind::SOLICIT).pd(1, &[]).octets()), Discard::Unexpected),
    ] {
        assert_eq!(lab.receive(&packet), Err(reason));
    }
    // Sent to the router alone: the client is told to use the group, and nothing is done.
    lab.sent.clear();
    assert_eq!(lab.receive(&dhcp_packet(client_address(), to, &good)), Ok(()));
    let answer = Answer::parse(&lab.sent[0]);
    assert_eq!((answer.kind, answer.status(), answer.options.len()), (kind::REPLY, Some(USE_MULTICAST), 3));
    assert!(lab.routes.contains(&given));
}

#[test]
fn pools_that_take_their_time() {
    let mut lab = Lab::new(config());
    lab.prompt = false;
    let request = Ask::new(kind::REQUEST).server().na(1, &[]).pd(1, &[]).octets();
    let packet = dhcp_packet(client_address(), SERVERS, &request);
    assert_eq!(lab.receive(&packet), Ok(()));
    assert_eq!(lab.receive(&packet), Err(Discard::NoAnswer), "a repetition asks the pools nothing more");
    assert_eq!(lab.open.len(), 2);
    lab.pass(Duration::from_secs(2));
    lab.sent.clear();
    lab.answer_pools();
    assert_eq!(lab.sent.len(), 1);
    let answer = Answer::parse(&lab.sent[0]);
    assert_eq!((answer.leases(LeaseKind::Address).len(), answer.leases(LeaseKind::Prefix).len()), (1, 1));
    lab.close();
    // An answer after the end, and one after the time is up, go back.
    lab.start();
    assert_eq!(lab.receive(&packet), Ok(()));
    lab.pass(Duration::from_secs(11));
    lab.sent.clear();
    lab.answer_pools();
    assert!(lab.pools.held.is_empty() && lab.sent.is_empty());
    assert_eq!(lab.receive(&packet), Ok(()));
    lab.close();
    lab.answer_pools();
    assert!(lab.pools.held.is_empty() && lab.routes.is_empty());
}

#[test]
fn a_flood_is_held_to_a_rate() {
    let mut lab = Lab::new(config());
    let mut answered = 0;
    for n in 0..1000u32 {
        let ask = Ask::new(kind::SOLICIT).pd(n, &[]).octets();
        answered += u32::from(lab.receive(&dhcp_packet(client_address(), SERVERS, &ask)).is_ok());
        lab.pass(Duration::from_millis(10));
    }
    assert!((60..=75).contains(&answered), "{answered} in 10 s");
    assert_eq!(lab.pools.held.len(), 1);
}

/// What a million sessions cost: a line with a delegated prefix has the session itself and one lease on the heap.
#[test]
fn sizes() {
    let session = size_of::<Ipv6Session>();
    println!("Ipv6Session {session} octets");
    assert!(session <= 256, "{session}");
}

/// A pool that gives another prefix than the one that alone will do: it goes back, and the client begins anew.
#[test]
fn another_prefix_than_the_exact_one_is_given_back() {
    let mut lab = Lab::new(config());
    lab.prompt = false;
    let held = prefix("2001:db8:1000:900::/56");
    let renew = Ask::new(kind::RENEW).server().pd(1, &[held]).octets();
    assert_eq!(lab.receive(&dhcp_packet(client_address(), SERVERS, &renew)), Ok(()));
    let (ticket, _, hint, exact) = lab.open.remove(0);
    assert_eq!((hint, exact), (Some(held), true));
    let other = prefix("2001:db8:1000:a00::/56");
    lab.pools.held.insert(other);
    let mut out = Vec::new();
    lab.session.granted(lab.now, ticket, Some(other), &mut out);
    lab.carry_out(out);
    assert!(lab.pools.held.is_empty() && lab.routes.is_empty());
    assert_eq!(Answer::parse(&lab.sent[0]).ia_status(LeaseKind::Prefix), [(1, NO_BINDING)]);
}
