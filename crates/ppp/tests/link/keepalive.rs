//! LCP Echo, both ways, and the size of a link at rest.

use crate::harness::*;
use bng_ppp::{Action, AuthMethod, Discard, EndCause, Ppp, PppConfig};
use bng_wire::ppp::protocol::LCP;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn link() -> Link {
    Link::to_ipv4(PppConfig { echo_interval: SECOND, ipv6: false, ..with_auth(AuthMethod::Pap) })
}

fn echo_requests(actions: &[Action]) -> Vec<Vec<u8>> {
    sends(actions, LCP).into_iter().filter(|packet| packet[0] == 9).collect()
}

#[test]
fn echo_requests_are_answered_with_our_magic_and_their_data() {
    let mut link = link();
    let request = echo_requests(&link.pass(SECOND)).remove(0);
    let own = request[4..8].to_vec();
    assert_eq!(link.put(LCP, &packet(10, request[1], &hex("a1 b2 c3 d4"))), Ok(vec![]));
    let reply = only_send(&link.lcp("09 77 00 0e a1 b2 c3 d4 01 02 03 04 05 06 aa aa"), LCP);
    assert_eq!(reply, packet(10, 0x77, &[&own[..], &hex("01 02 03 04 05 06")].concat()));
    // Magic zero or a wrong one: still a client that wants an answer. Our own: a loop.
    for magic in ["00 00 00 00", "11 11 11 11"] {
        assert_eq!(link.put(LCP, &packet(9, 1, &hex(magic))).unwrap().len(), 1);
    }
    assert_eq!(link.put(LCP, &packet(9, 1, &own)), Err(Discard::OwnMagic));
    assert_eq!(link.put(LCP, &packet(9, 1, &[1, 2, 3])), Err(Discard::Malformed));
}

#[test]
fn echo_outside_opened_is_discarded() {
    let mut link = Link::new(PppConfig::default());
    link.start();
    assert_eq!(link.put(LCP, &hex("09 01 00 08 00 00 00 00")), Err(Discard::WrongPhase));
    assert_eq!(link.put(LCP, &hex("0a 01 00 08 00 00 00 00")), Err(Discard::WrongPhase));
}

#[test]
fn p51a_traffic_keeps_a_link_alive_without_any_reply() {
    let mut link = link();
    for _ in 0..600 {
        let actions = link.pass(SECOND / 10);
        assert!(!actions.iter().any(|action| matches!(action, Action::Ended(_))));
        link.ppp.upstream_activity(link.now);
    }
    // While data flows, no echo is asked for.
    assert_eq!(link.pass(SECOND / 2), []);
}

#[test]
fn p51a_traffic_does_not_count_where_the_profile_says_so() {
    let config = PppConfig { echo_interval: SECOND, traffic_is_alive: false, ..with_auth(AuthMethod::Pap) };
    let mut link = Link::to_ipv4(config);
    for _ in 0..50 {
        if link.pass(SECOND / 10).contains(&Action::Ended(EndCause::LostCarrier)) {
            return;
        }
        link.ppp.upstream_activity(link.now);
    }
    panic!("still up");
}

#[test]
fn p51b_one_reply_in_three_is_enough() {
    let mut link = link();
    for _ in 0..20 {
        assert_eq!(link.ppp.unanswered_echoes(), 0);
        let mut requests = Vec::new();
        for _ in 0..3 {
            let actions = link.pass(SECOND);
            assert!(!actions.iter().any(|action| matches!(action, Action::Ended(_))));
            requests.extend(echo_requests(&actions));
        }
        let last = requests.last().unwrap();
        assert_eq!(link.put(LCP, &packet(10, last[1], &hex("a1 b2 c3 d4"))), Ok(vec![]));
    }
    // A reply that nobody waits for changes nothing.
    assert_eq!(link.put(LCP, &hex("0a 01 00 08 a1 b2 c3 d4")), Err(Discard::Unexpected));
}

#[test]
fn p51c_three_misses_end_the_link_between_3_and_5_intervals() {
    let mut link = link();
    let start = link.now;
    let mut requests = 0;
    loop {
        let actions = link.pass(SECOND / 100);
        requests += echo_requests(&actions).len();
        if let Some(Action::Ended(cause)) = actions.last() {
            assert_eq!(*cause, EndCause::LostCarrier);
            assert_eq!(cause.acct_terminate_cause(), 2);
            assert_eq!(actions[..2], [Action::Ipv4Down, Action::LinkDown]);
            assert_eq!(actions.len(), 3, "no Terminate-Request to nobody");
            break;
        }
    }
    assert_eq!(requests, 3);
    let lasted = link.now - start;
    assert!(lasted > SECOND * 3 && lasted < SECOND * 5, "{lasted:?}");
}

#[test]
fn a_client_that_code_rejects_echo_is_not_asked_again() {
    let mut link = link();
    assert_eq!(link.lcp("07 01 00 0c 09 01 00 08 00 00 00 00"), []);
    assert_eq!(link.pass(SECOND * 60), []);
}

#[test]
fn a_link_is_small() {
    let octets = size_of::<Ppp>();
    println!("a link takes {octets} octets");
    assert!(octets <= 480, "{octets} octets");
}
