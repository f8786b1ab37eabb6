//! IPCP and IPV6CP, and what happens to protocols that are not spoken.

use crate::harness::*;
use bng_ppp::automaton::State;
use bng_ppp::{Action, AuthMethod, AuthVerdict, Discard, EndCause, Ipv4Offer, Ipv6Offer, PppConfig};
use bng_wire::ppp::protocol::{IPCP, IPV6CP, LCP};
use std::net::Ipv4Addr;
use std::time::Duration;

fn config() -> PppConfig {
    with_auth(AuthMethod::Pap)
}

fn up4() -> Action {
    Action::Ipv4Up { local: offer4().local, peer: offer4().peer }
}

#[test]
fn the_address_is_given_by_nak_and_up_comes_before_the_ack() {
    let (mut link, actions) = Link::to_network(config());
    let ours = only_send(&actions, IPCP);
    assert_eq!(ours[4..], hex("03 06 c0 00 02 01"));
    assert_eq!(link.ipcp("01 01 00 0a 03 06 00 00 00 00"), [send(IPCP, "03 01 00 0a 03 06 c0 00 02 0a")]);
    assert_eq!(link.ipcp("01 02 00 0a 03 06 c0 00 02 0a"), [up4(), send(IPCP, "02 02 00 0a 03 06 c0 00 02 0a")]);
    assert_eq!(link.put(IPCP, &ack_of(&ours)), Ok(vec![Action::Ipv4Opened]));

    // The other order: the client's Ack first.
    let (mut link, actions) = Link::to_network(config());
    let ours = only_send(&actions, IPCP);
    assert_eq!(link.put(IPCP, &ack_of(&ours)), Ok(vec![]));
    assert_eq!(
        link.ipcp("01 02 00 0a 03 06 c0 00 02 0a"),
        [up4(), send(IPCP, "02 02 00 0a 03 06 c0 00 02 0a"), Action::Ipv4Opened]
    );
}

#[test]
fn name_servers_are_given_where_there_are_any_and_rejected_where_not() {
    let (mut link, _) = Link::to_network(config());
    // What a common desktop system asks for: address, DNS, NBNS, secondary DNS, secondary NBNS.
    let all = "01 01 00 22 03 06 00 00 00 00 81 06 00 00 00 00 82 06 00 00 00 00 83 06 00 00 00 00 84 06 00 00 00 00";
    assert_eq!(link.ipcp(all), [send(IPCP, "04 01 00 16 82 06 00 00 00 00 83 06 00 00 00 00 84 06 00 00 00 00")]);
    assert_eq!(
        link.ipcp("01 02 00 10 03 06 00 00 00 00 81 06 00 00 00 00"),
        [send(IPCP, "03 02 00 10 03 06 c0 00 02 0a 81 06 cb 00 71 35")]
    );
    assert_eq!(
        link.ipcp("01 03 00 10 03 06 c0 00 02 0a 81 06 cb 00 71 35"),
        [up4(), send(IPCP, "02 03 00 10 03 06 c0 00 02 0a 81 06 cb 00 71 35")]
    );

    let (mut link, _) = Link::to_authenticate(PppConfig { auth: Vec::new(), ..config() });
    let server = |last| Some(Ipv4Addr::new(203, 0, 113, last));
    let ipv4 = Ipv4Offer { dns: [server(1), server(2)], nbns: [server(3), server(4)], ..offer4() };
    link.verdict(AuthVerdict::Accept { ipv4: Some(ipv4), ipv6: None, message: Vec::new() });
    assert_eq!(
        link.ipcp(all),
        [send(
            IPCP,
            "03 01 00 22 03 06 c0 00 02 0a 81 06 cb 00 71 01 82 06 cb 00 71 03 83 06 cb 00 71 02 84 06 cb 00 71 04"
        )]
    );
}

#[test]
fn options_that_are_not_spoken_are_rejected() {
    let (mut link, _) = Link::to_network(config());
    // IP-Compression (Van Jacobson), IP-Addresses, Mobile-IPv4.
    for other in ["02 06 00 2d 0f 01", "01 0a 00 00 00 00 00 00 00 00", "04 06 00 00 00 00"] {
        let length = hex(other).len();
        assert_eq!(
            link.ipcp(&format!("01 01 00 {:02x} {other} 03 06 c0 00 02 0a", length + 10)),
            [send(IPCP, &format!("04 01 00 {:02x} {other}", length + 4))]
        );
    }
}

#[test]
fn p05_bad_option_lengths_in_ipcp_and_ipv6cp() {
    let (mut link, _) = Link::to_network(config());
    for bad in ["01 05 00 08 03 00 05 d4", "01 06 00 08 03 01 05 d4", "01 07 00 08 03 08 05 d4"] {
        for protocol in [IPCP, IPV6CP] {
            assert_eq!(link.put(protocol, &hex(bad)), Err(Discard::BadOption));
        }
    }
    // A length that is not that of an address: Nak with a proper one.
    assert_eq!(link.ipcp("01 05 00 08 03 04 05 d4"), [send(IPCP, "03 05 00 0a 03 06 c0 00 02 0a")]);
    assert_eq!(link.ipcp("01 02 00 0a 03 06 c0 00 02 0a"), [up4(), send(IPCP, "02 02 00 0a 03 06 c0 00 02 0a")]);
}

#[test]
fn zero_is_never_acknowledged_whatever_the_client_does() {
    let (mut link, _) = Link::to_network(config());
    for round in 0..20 {
        let actions = link.put(IPCP, &packet(1, round, &hex("03 06 00 00 00 00"))).unwrap();
        let answer = only_send(&actions, IPCP);
        assert_eq!(answer[0], if round < 5 { 3 } else { 4 }, "{round}");
        assert_eq!(actions.len(), 1);
    }
    // An offer of zero is no offer.
    let (mut link, _) = Link::to_authenticate(PppConfig { auth: Vec::new(), ..config() });
    let zero = Ipv4Offer { peer: Ipv4Addr::UNSPECIFIED, ..offer4() };
    let actions = link.verdict(AuthVerdict::Accept { ipv4: Some(zero), ipv6: None, message: Vec::new() });
    assert_eq!(actions, []);
    assert_eq!(only_send(&link.ipcp("01 01 00 0a 03 06 00 00 00 00"), LCP)[0], 8);
}

#[test]
fn a_client_without_an_address_option_is_told_its_address_and_then_taken_as_it_is() {
    let (mut link, _) = Link::to_network(config());
    for id in 1..=5 {
        let nak = only_send(&link.put(IPCP, &packet(1, id, &[])).unwrap(), IPCP);
        assert_eq!(nak, packet(3, id, &hex("03 06 c0 00 02 0a")));
    }
    assert_eq!(link.ipcp("01 06 00 04"), [up4(), send(IPCP, "02 06 00 04")]);
}

#[test]
fn a_client_that_insists_on_its_own_address_does_not_get_it() {
    let (mut link, _) = Link::to_network(config());
    for id in 1..=5 {
        let nak = only_send(&link.put(IPCP, &packet(1, id, &hex("03 06 c6 33 64 07"))).unwrap(), IPCP);
        assert_eq!(nak, packet(3, id, &hex("03 06 c0 00 02 0a")));
    }
    assert_eq!(link.ipcp("01 06 00 0a 03 06 c6 33 64 07"), [send(IPCP, "04 06 00 0a 03 06 c6 33 64 07")]);
}

#[test]
fn our_own_address_stays_ours() {
    let (mut link, actions) = Link::to_network(config());
    let mut ours = only_send(&actions, IPCP);
    for round in 0..6 {
        let actions = link.put(IPCP, &answer_to(&ours, 3, &hex("03 06 c6 33 64 01"))).unwrap();
        ours = only_send(&actions, IPCP);
        assert_eq!(option(&ours, 3), (round < 5).then_some(vec![192, 0, 2, 1]), "{round}");
    }
    let (mut link, actions) = Link::to_network(config());
    let ours = only_send(&actions, IPCP);
    assert_eq!(link.put(IPCP, &answer_to(&ours, 4, &hex("81 06 00 00 00 00"))), Err(Discard::OptionMismatch));
    let actions = link.put(IPCP, &answer_to(&ours, 4, &ours[4..])).unwrap();
    assert_eq!(only_send(&actions, IPCP)[2..], hex("00 04"));
}

#[test]
fn p07_interface_identifiers() {
    let (mut link, actions) = Link::to_network(config());
    // (d) an identifier of 1, in network order.
    assert_eq!(only_send(&actions, IPV6CP)[2..], hex("00 0e 01 0a 00 00 00 00 00 00 00 01"));
    // (a) zero, (b) ours.
    for id in ["00 00 00 00 00 00 00 00", "00 00 00 00 00 00 00 01"] {
        let nak = only_send(&link.ipv6cp(&format!("01 01 00 0e 01 0a {id}")), IPV6CP);
        assert_eq!(nak[..6], hex("03 01 00 0e 01 0a"));
        assert_ne!(nak[6..], hex(id));
        assert_ne!(nak[6..], [0; 8]);
        assert_eq!(nak[6] & 2, 0, "u-bit");
    }
    // (c) another one.
    assert_eq!(
        link.ipv6cp("01 03 00 0e 01 0a 02 00 00 ff fe 00 00 01"),
        [
            Action::Ipv6Up { local_id: 1, peer_id: 0x0200_00ff_fe00_0001 },
            send(IPV6CP, "02 03 00 0e 01 0a 02 00 00 ff fe 00 00 01")
        ]
    );
    // The kind: no option, a wrong length, an option that is not spoken.
    assert_eq!(only_send(&link.ipv6cp("01 04 00 04"), IPV6CP)[..6], hex("03 04 00 0e 01 0a"));
    assert_eq!(only_send(&link.ipv6cp("01 05 00 08 01 04 00 01"), IPV6CP)[..6], hex("03 05 00 0e 01 0a"));
    assert_eq!(link.ipv6cp("01 06 00 08 02 04 00 4f"), [send(IPV6CP, "04 06 00 08 02 04 00 4f")]);
}

#[test]
fn an_interface_identifier_fixed_by_policy_is_the_only_one() {
    let (mut link, _) = Link::to_authenticate(PppConfig { auth: Vec::new(), ..config() });
    let ipv6 = Ipv6Offer { local_id: 1, peer_id: Some(9) };
    link.verdict(AuthVerdict::Accept { ipv4: None, ipv6: Some(ipv6), message: Vec::new() });
    assert_eq!(
        link.ipv6cp("01 03 00 0e 01 0a 02 00 00 ff fe 00 00 01"),
        [send(IPV6CP, "03 03 00 0e 01 0a 00 00 00 00 00 00 00 09")]
    );
}

#[test]
fn p38_the_end_of_ipv6cp_leaves_ipv4_alone() {
    let mut link = Link::to_ipv4(config());
    let request = only_send(&link.ipv6cp("01 01 00 0e 01 0a 02 00 00 ff fe 00 00 01"), IPV6CP);
    assert_eq!(request[0], 2);
    let actions = link.ipv6cp("05 09 00 0a 6e 6f 20 76 36 21");
    assert_eq!(actions.last(), Some(&Action::Ipv6Down));
    assert_eq!(only_send(&actions, IPV6CP), hex("06 09 00 04"));
    let actions = link.pass(Duration::from_secs(20));
    assert!(actions.iter().all(|action| matches!(action, Action::Send { protocol: IPV6CP, .. })), "{actions:?}");
    assert_eq!(link.ppp.states()[..2], [State::Opened, State::Opened]);
}

#[test]
fn p38_ipv6cp_opened_then_terminated() {
    let (mut link, actions) = Link::to_network(config());
    let (ours4, ours6) = (only_send(&actions, IPCP), only_send(&actions, IPV6CP));
    link.put(IPCP, &ack_of(&ours4)).unwrap();
    link.ipcp("01 01 00 0a 03 06 c0 00 02 0a");
    link.put(IPV6CP, &ack_of(&ours6)).unwrap();
    let actions = link.ipv6cp("01 01 00 0e 01 0a 02 00 00 ff fe 00 00 01");
    assert_eq!(actions.last(), Some(&Action::Ipv6Opened));
    assert_eq!(link.ipv6cp("05 09 00 05 78"), [send(IPV6CP, "06 09 00 04"), Action::Ipv6Down]);
    // The restart time passes, and nothing but the echo of LCP follows.
    assert_eq!(link.pass(Duration::from_secs(20)), []);
    assert_eq!(link.ppp.states(), [State::Opened, State::Opened, State::Stopped]);
    // The client may begin again.
    let actions = link.ipv6cp("01 0a 00 0e 01 0a 02 00 00 ff fe 00 00 01");
    assert_eq!(actions.len(), 3, "{actions:?}");
}

#[test]
fn p40_ccp_is_protocol_rejected_and_ipcp_goes_on() {
    let (mut link, _) = Link::to_network(config());
    let actions = link.put(0x80fd, &hex("01 01 00 0a 12 06 01 00 00 40")).unwrap();
    let reject = only_send(&actions, LCP);
    assert_eq!((reject[0], &reject[2..]), (8, &hex("00 10 80 fd 01 01 00 0a 12 06 01 00 00 40")[..]));
    link.pass(Duration::from_millis(30));
    assert_eq!(link.ipcp("01 03 00 0a 03 06 c0 00 02 0a"), [up4(), send(IPCP, "02 03 00 0a 03 06 c0 00 02 0a")]);
    // The kind: every protocol that is not spoken, each with a new identifier.
    let mut last = reject[1];
    for protocol in [0x8281u16, 0x8053, 0x802b, 0xc025, 0xc227, 0x0001, 0xc223] {
        let reject = only_send(&link.put(protocol, &[1, 2, 3]).unwrap(), LCP);
        assert_eq!(reject[4..6], protocol.to_be_bytes());
        assert_ne!(reject[1], last);
        last = reject[1];
    }
}

#[test]
fn ipv6cp_that_is_not_offered_is_protocol_rejected() {
    let (mut link, actions) = Link::to_network(PppConfig { ipv6: false, ..config() });
    assert!(sends(&actions, IPV6CP).is_empty());
    let reject = only_send(&link.ipv6cp("01 01 00 0e 01 0a 02 00 00 ff fe 00 00 01"), LCP);
    assert_eq!(reject[4..6], [0x80, 0x57]);
}

#[test]
fn no_address_to_give_leaves_the_link_for_ipv6() {
    let (mut link, _) = Link::to_authenticate(PppConfig { auth: Vec::new(), ..config() });
    let actions = link.verdict(AuthVerdict::Accept { ipv4: None, ipv6: Some(offer6()), message: Vec::new() });
    assert!(sends(&actions, IPCP).is_empty());
    assert_eq!(only_send(&link.ipcp("01 01 00 0a 03 06 00 00 00 00"), LCP)[4..6], [0x80, 0x21]);
    let ours = only_send(&actions, IPV6CP);
    link.put(IPV6CP, &ack_of(&ours)).unwrap();
    assert_eq!(link.ipv6cp("01 01 00 0e 01 0a 00 00 00 00 00 00 00 07").last(), Some(&Action::Ipv6Opened));
}

#[test]
fn a_client_that_protocol_rejects_ipv6cp_hears_no_more_of_it() {
    let mut link = Link::to_ipv4(config());
    assert_eq!(link.lcp("08 01 00 0a 80 57 01 01 00 04"), []);
    assert_eq!(link.pass(Duration::from_secs(20)), []);
    // The same while Opened: down, and not one packet more.
    assert_eq!(link.lcp("08 02 00 0a 80 21 01 01 00 04"), [Action::Ipv4Down]);
    assert_eq!(link.ppp.states()[1..], [State::Stopped, State::Stopped]);
}

#[test]
fn ipcp_negotiated_again_while_opened_keeps_the_address_or_loses_it() {
    let mut link = Link::to_ipv4(config());
    let actions = link.ipcp("01 09 00 0a 03 06 c0 00 02 0a");
    let packets = sends(&actions, IPCP);
    assert_eq!((actions.len(), packets[0][0], packets[1][0]), (2, 1, 2), "{actions:?}");
    assert_eq!(link.put(IPCP, &ack_of(&packets[0])), Ok(vec![Action::Ipv4Opened]));
    // A request that cannot be granted takes the address away until the next one.
    let actions = link.ipcp("01 0a 00 0a 03 06 00 00 00 00");
    assert_eq!(actions.last(), Some(&Action::Ipv4Down));
    let actions = link.ipcp("01 0b 00 0a 03 06 c0 00 02 0a");
    assert_eq!(actions[0], up4());
}

#[test]
fn a_link_without_any_network_protocol_ends() {
    let (mut link, _) = Link::to_network(PppConfig { echo_interval: Duration::ZERO, ..config() });
    let actions = link.pass(Duration::from_secs(66));
    assert_eq!(actions.last(), Some(&Action::Ended(EndCause::NoNetworkProtocol)));
}

#[test]
fn network_data_that_comes_up_is_discarded() {
    let mut link = Link::to_ipv4(config());
    assert_eq!(link.put(0x0021, &[0x45]), Err(Discard::WrongPhase));
    assert_eq!(link.put(0x0057, &[0x60]), Err(Discard::WrongPhase));
}

#[test]
fn a_client_that_naks_ipcp_at_wire_speed_loses_ipcp_alone() {
    let (mut link, actions) = Link::to_network(config());
    let mut ours = only_send(&actions, IPCP);
    for _ in 0..10 {
        ours = only_send(&link.put(IPCP, &answer_to(&ours, 3, &hex("03 06 c6 33 64 01"))).unwrap(), IPCP);
    }
    let actions = link.put(IPCP, &answer_to(&ours, 3, &hex("03 06 c6 33 64 01"))).unwrap();
    assert_eq!(only_send(&actions, IPCP)[0], 5);
    assert_eq!(link.ppp.states()[..2], [State::Opened, State::Closing]);
}
