//! LCP: options, refusals, renegotiation, retransmission, the end of the link.

use crate::harness::*;
use bng_ppp::{Action, AuthMethod, Discard, EndCause, Phase, PppConfig};
use bng_wire::ppp::protocol::LCP;
use std::collections::HashSet;
use std::time::Duration;

fn started(config: PppConfig) -> (Link, Vec<u8>) {
    let mut link = Link::new(config);
    let actions = link.start();
    let request = only_send(&actions, LCP);
    (link, request)
}

#[test]
fn the_first_request_asks_for_mru_authentication_and_magic() {
    let (_, request) = started(PppConfig::default());
    assert_eq!(request[0], 1);
    assert_eq!(
        request[2..],
        hex(&format!("00 13 01 04 05 d4 03 05 c2 23 05 05 06 {}", {
            let magic = option(&request, 5).unwrap();
            magic.iter().map(|octet| format!("{octet:02x}")).collect::<String>()
        }))
    );
}

#[test]
fn a_request_right_after_the_pads_is_answered_at_once() {
    let (mut link, _) = started(PppConfig::default());
    assert_eq!(link.lcp(CLIENT_LCP), [send(LCP, "02 01 00 0e 01 04 05 d4 05 06 a1 b2 c3 d4")]);
}

#[test]
fn p01_mru_1500_without_max_payload_is_nakd_with_1492() {
    let (mut link, _) = started(PppConfig::default());
    assert_eq!(link.lcp("01 01 00 0e 01 04 05 dc 05 06 a1 b2 c3 d4"), [send(LCP, "03 01 00 08 01 04 05 d4")]);
    for mru in ["05 d4", "05 d3", "00 80"] {
        let request = format!("01 02 00 0e 01 04 {mru} 05 06 a1 b2 c3 d4");
        let ack = format!("02 02 00 0e 01 04 {mru} 05 06 a1 b2 c3 d4");
        assert_eq!(link.lcp(&request), [send(LCP, &ack)]);
    }
    // The kind: every value above the cap, every length that is not the option's.
    for mru in ["05 d5", "05 db", "ff ff"] {
        assert_eq!(link.lcp(&format!("01 03 00 08 01 04 {mru}")), [send(LCP, "03 03 00 08 01 04 05 d4")]);
        link.lcp("01 04 00 04");
    }
    for broken in ["01 05 00 07 01 03 05", "01 05 00 06 01 02", "01 05 00 09 01 05 05 d4 00"] {
        assert_eq!(link.lcp(broken), [send(LCP, "03 05 00 08 01 04 05 d4")]);
    }
}

#[test]
fn p16_mru_1500_is_agreed_both_ways_where_max_payload_allows_it() {
    let mut link = Link::with(with_auth(AuthMethod::Pap), 1500, 7);
    let actions = link.start();
    let ours = only_send(&actions, LCP);
    assert_eq!(option(&ours, 1), Some(vec![0x05, 0xdc]));
    assert_eq!(link.lcp("01 01 00 08 01 04 05 dc"), [send(LCP, "02 01 00 08 01 04 05 dc")]);
    assert_eq!(
        link.put(LCP, &ack_of(&ours)).unwrap(),
        [Action::LinkUp { peer_mru: 1500, local_mru: 1500, local_magic: magic_of(&ours) }]
    );
    assert_eq!(link.lcp("01 02 00 08 01 04 05 dd").last(), Some(&send(LCP, "03 02 00 08 01 04 05 dc")));
}

#[test]
fn p02_a_client_that_wants_us_to_authenticate_is_rejected() {
    let (mut link, ours) = started(with_auth(AuthMethod::Pap));
    assert_eq!(
        link.lcp("01 01 00 12 01 04 05 d4 03 04 c0 23 05 06 a1 b2 c3 d4"),
        [send(LCP, "04 01 00 08 03 04 c0 23")]
    );
    assert_eq!(
        link.lcp("01 02 00 0e 01 04 05 d4 05 06 a1 b2 c3 d4"),
        [send(LCP, "02 02 00 0e 01 04 05 d4 05 06 a1 b2 c3 d4")]
    );
    assert_eq!(
        link.put(LCP, &ack_of(&ours)).unwrap(),
        [Action::LinkUp { peer_mru: 1492, local_mru: 1492, local_magic: magic_of(&ours) }]
    );
    // The kind: CHAP, and an option too short to name a protocol.
    for auth in ["03 05 c2 23 05", "03 02", "03 03 c0"] {
        let (mut link, _) = started(PppConfig::default());
        let length = 4 + hex(auth).len();
        assert_eq!(
            link.lcp(&format!("01 01 00 {length:02x} {auth}")),
            [send(LCP, &format!("04 01 00 {length:02x} {auth}"))]
        );
    }
}

#[test]
fn p03_options_that_must_be_refused_and_only_those() {
    let (mut link, _) = started(PppConfig::default());
    assert_eq!(
        link.lcp("01 01 00 14 02 06 00 00 00 00 05 06 a1 b2 c3 d4 07 02 08 02"),
        [send(LCP, "04 01 00 0e 02 06 00 00 00 00 07 02 08 02")]
    );
    assert_eq!(
        link.lcp("01 02 00 1b 01 04 05 d4 11 04 05 dc 13 09 03 02 00 00 00 00 01 05 06 a1 b2 c3 d4"),
        [send(LCP, "04 02 00 11 11 04 05 dc 13 09 03 02 00 00 00 00 01")]
    );
    // The kind: every type but MRU and Magic-Number, also next to an MRU that would be Nak'd.
    for kind in (0..=255u8).filter(|kind| ![1, 5].contains(kind)) {
        let request = packet(1, kind, &[1, 4, 5, 0xdc, kind, 4, 0xc0, 0x21]);
        let actions = link.put(LCP, &request).unwrap();
        assert_eq!(only_send(&actions, LCP), packet(4, kind, &[kind, 4, 0xc0, 0x21]));
    }
}

#[test]
fn an_option_listed_twice_is_refused_the_second_time() {
    let (mut link, _) = started(PppConfig::default());
    assert_eq!(link.lcp("01 01 00 0c 01 04 05 d4 01 04 05 d3"), [send(LCP, "04 01 00 08 01 04 05 d3")]);
}

#[test]
fn p05_bad_option_lengths_change_nothing_and_the_next_request_is_acknowledged() {
    let (mut link, ours) = started(PppConfig::default());
    for bad in ["01 05 00 08 01 00 05 d4", "01 06 00 08 01 01 05 d4", "01 07 00 08 01 08 05 d4"] {
        let before = link.ppp.states();
        assert_eq!(link.put(LCP, &hex(bad)), Err(Discard::BadOption));
        // The same in the answers to our own request.
        for code in [3, 4] {
            assert_eq!(link.put(LCP, &answer_to(&ours, code, &hex(bad)[4..])), Err(Discard::BadOption));
        }
        assert_eq!(link.ppp.states(), before);
    }
    assert_eq!(link.lcp(CLIENT_LCP), [send(LCP, "02 01 00 0e 01 04 05 d4 05 06 a1 b2 c3 d4")]);
}

#[test]
fn lengths_that_do_not_fit_are_discarded() {
    let (mut link, _) = started(PppConfig::default());
    for bad in ["", "01", "01 01 00", "01 01 00 00", "01 01 00 03", "01 01 00 05", "09 01 ff ff 00"] {
        assert_eq!(link.put(LCP, &hex(bad)), Err(Discard::Malformed), "{bad}");
    }
    // Padding behind the length is not looked at.
    assert_eq!(link.lcp("01 01 00 08 01 04 05 d4 aa aa"), [send(LCP, "02 01 00 08 01 04 05 d4")]);
}

#[test]
fn p41_lcp_restarted_by_the_client_while_opened() {
    let mut link = Link::to_ipv4(with_auth(AuthMethod::Pap));
    let actions = link.lcp("01 09 00 0e 01 04 05 a2 05 06 0a 0b 0c 0d");
    assert_eq!(actions[..2], [Action::Ipv4Down, Action::LinkDown]);
    let packets = sends(&actions, LCP);
    assert_eq!(packets.len(), 2);
    assert_eq!(packets[0][0], 1);
    assert_eq!(packets[1], hex("02 09 00 0e 01 04 05 a2 05 06 0a 0b 0c 0d"));
    assert_eq!(link.ppp.phase(), Phase::Establish);
    // Nothing of the network layer is answered in between, and the client has to be judged anew.
    let stale = link.put(0x8021, &hex("01 02 00 0a 03 06 c0 00 02 0a"));
    assert_eq!(stale, Err(Discard::WrongPhase));
    let actions = link.put(LCP, &ack_of(&packets[0])).unwrap();
    let local_magic = magic_of(&packets[0]);
    assert_eq!(actions[0], Action::LinkUp { peer_mru: 1442, local_mru: 1492, local_magic });
    assert!(matches!(actions[1], Action::Authenticate(_)));
    assert_eq!(link.ppp.peer_mru(), 1442);
}

#[test]
fn p41_first_identifiers_differ_from_link_to_link() {
    for layer in [LCP, 0x8021] {
        let mut ids = HashSet::new();
        for seed in 0..64u64 {
            let config = PppConfig { auth: Vec::new(), ..PppConfig::default() };
            let mut link = Link::with(config, 1492, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut actions = link.start();
            if layer != LCP {
                link.open_lcp(&actions);
                actions = link.verdict(accept());
            }
            ids.insert(only_send(&actions, layer)[1]);
        }
        assert!(ids.len() > 32, "{} different identifiers", ids.len());
    }
}

#[test]
fn p42a_the_request_is_repeated_after_3_s_with_the_same_identifier() {
    let (mut link, first) = started(with_auth(AuthMethod::Pap));
    assert_eq!(link.pass(Duration::from_millis(2999)), []);
    assert_eq!(only_send(&link.pass(Duration::from_millis(1)), LCP), first);
    link.put(LCP, &ack_of(&first)).unwrap();
    assert!(matches!(link.lcp(CLIENT_LCP).last(), Some(Action::LinkUp { .. })));
}

#[test]
fn p42_the_first_request_waits_until_the_client_listens() {
    let config = || PppConfig { first_request_delay: Duration::from_millis(200), ..PppConfig::default() };
    // The client speaks first: its request is answered at once, behind our own.
    let mut link = Link::new(config());
    assert_eq!(link.start(), []);
    let actions = link.lcp(CLIENT_LCP);
    let sent: Vec<u8> = sends(&actions, LCP).iter().map(|packet| packet[0]).collect();
    assert_eq!(sent, [1, 2], "Configure-Request, Configure-Ack");
    assert_eq!(link.pass(Duration::from_millis(2999)), []);
    assert_eq!(sends(&link.pass(Duration::from_millis(1)), LCP).len(), 1);
    // The client waits: the request comes by itself, once, and is repeated as ever.
    let mut link = Link::new(config());
    assert_eq!(link.start(), []);
    assert_eq!(link.pass(Duration::from_millis(199)), []);
    let first = only_send(&link.pass(Duration::from_millis(1)), LCP);
    assert_eq!(link.pass(Duration::from_millis(2999)), []);
    assert_eq!(only_send(&link.pass(Duration::from_millis(1)), LCP), first);
    // Closed while it waits, nothing was ever sent and nothing is left to wait for.
    let mut link = Link::new(config());
    link.start();
    link.ppp.close(link.now, EndCause::AdminReset, &mut Vec::new());
    assert!(link.ppp.is_ended());
    assert_eq!(link.ppp.poll_timeout(), None);
}

#[test]
fn p42b_ten_requests_without_an_answer_end_the_link() {
    let (mut link, _) = started(PppConfig::default());
    let actions = link.pass(Duration::from_millis(29_999));
    assert_eq!(sends(&actions, LCP).len(), 9);
    assert_eq!(actions.len(), 9);
    assert_eq!(link.pass(Duration::from_millis(1)), [Action::Ended(EndCause::NoAnswer)]);
    assert_eq!(link.ppp.poll_timeout(), None);
    assert_eq!(link.put(LCP, &hex(CLIENT_LCP)), Err(Discard::Ended));
}

#[test]
fn p42d_answers_to_requests_that_are_no_longer_current_are_discarded() {
    let (mut link, first) = started(PppConfig::default());
    let actions = link.put(LCP, &answer_to(&first, 4, &first[4..8])).unwrap();
    let second = only_send(&actions, LCP);
    assert_ne!(second[1], first[1]);
    for code in [2, 3, 4] {
        assert_eq!(link.put(LCP, &answer_to(&first, code, &first[4..])), Err(Discard::StaleIdentifier));
    }
    // The right identifier with the wrong options is no Ack either.
    assert_eq!(link.put(LCP, &answer_to(&second, 2, &first[4..])), Err(Discard::OptionMismatch));
    assert_eq!(link.put(LCP, &ack_of(&second)), Ok(vec![]));
    // Nor does a second Ack of the same request count.
    assert_eq!(link.put(LCP, &ack_of(&second)), Err(Discard::StaleIdentifier));
}

#[test]
fn a_copy_of_the_clients_request_while_opened_only_gets_its_ack_again() {
    let (mut link, _) = Link::to_authenticate(with_auth(AuthMethod::Pap));
    assert_eq!(link.lcp(CLIENT_LCP), [send(LCP, "02 01 00 0e 01 04 05 d4 05 06 a1 b2 c3 d4")]);
    // The same octets long afterwards are a client that starts again.
    link.pass(Duration::from_secs(10));
    assert_eq!(link.lcp(CLIENT_LCP)[0], Action::LinkDown);
}

#[test]
fn p43_a_client_that_rejects_mru_or_magic_or_both() {
    for (rejected, left) in [("mru", 2), ("magic", 2), ("both", 1)] {
        let (mut link, first) = started(with_auth(AuthMethod::Pap));
        let (mru, magic) = (&first[4..8], &first[12..18]);
        let options = match rejected {
            "mru" => mru.to_vec(),
            "magic" => magic.to_vec(),
            _ => [mru, magic].concat(),
        };
        let actions = link.put(LCP, &answer_to(&first, 4, &options)).unwrap();
        let second = only_send(&actions, LCP);
        assert_ne!(second[1], first[1]);
        assert_eq!(option(&second, 1).is_none(), rejected != "magic");
        assert_eq!(option(&second, 5).is_none(), rejected != "mru");
        assert_eq!(option(&second, 3), Some(vec![0xc0, 0x23]), "{left}");
        // A client without options of its own: 1492, not 0 and not 1500.
        assert_eq!(link.lcp("01 01 00 04"), [send(LCP, "02 01 00 04")]);
        let actions = link.put(LCP, &ack_of(&second)).unwrap();
        assert!(matches!(actions[0], Action::LinkUp { peer_mru: 1492, .. }));
        // Without a magic number echoes carry 0.
        let actions = link.lcp("09 21 00 0c 11 22 33 44 de ad be ef");
        let reply = only_send(&actions, LCP);
        let magic = option(&second, 5).unwrap_or(vec![0; 4]);
        assert_eq!(reply, packet(10, 0x21, &[&magic[..], &hex("de ad be ef")].concat()));
    }
}

#[test]
fn a_reject_of_what_was_not_asked_for_is_discarded() {
    let (mut link, first) = started(PppConfig::default());
    for options in ["", "01 04 05 d3", "07 02", "01 04 05 d4 07 02"] {
        assert_eq!(link.put(LCP, &answer_to(&first, 4, &hex(options))), Err(Discard::OptionMismatch), "{options}");
    }
}

#[test]
fn a_nak_of_the_mru_is_followed_where_it_can_be() {
    let (mut link, first) = started(PppConfig::default());
    let actions = link.put(LCP, &answer_to(&first, 3, &hex("01 04 05 78"))).unwrap();
    let second = only_send(&actions, LCP);
    assert_eq!(option(&second, 1), Some(vec![0x05, 0x78]));
    // More than the cap is never asked for, and a client that insists is left without the option in the end.
    let mut request = second;
    for round in 0..6 {
        let actions = link.put(LCP, &answer_to(&request, 3, &hex("01 04 05 dc"))).unwrap();
        request = only_send(&actions, LCP);
        assert_eq!(option(&request, 1), (round < 4).then_some(vec![0x05, 0x78]), "{round}");
    }
}

#[test]
fn a_magic_number_of_zero_or_of_ours_is_nakd() {
    let (mut link, ours) = started(PppConfig::default());
    let own = option(&ours, 5).unwrap();
    for magic in [vec![0; 4], own.clone()] {
        let actions = link.put(LCP, &packet(1, 1, &[&[5, 6], &magic[..]].concat())).unwrap();
        let nak = only_send(&actions, LCP);
        assert_eq!(nak[..4], hex("03 01 00 0a"));
        let suggested = option(&nak, 5).unwrap();
        assert_ne!(suggested, own);
        assert_ne!(suggested, [0; 4]);
    }
}

#[test]
fn a_looped_line_ends_within_a_few_rounds() {
    let (mut link, request) = started(PppConfig::default());
    let mut waiting = vec![request];
    let mut rounds = 0;
    while let Some(packet) = waiting.pop() {
        rounds += 1;
        assert!(rounds < 100);
        if let Ok(actions) = link.put(LCP, &packet) {
            waiting.extend(sends(&actions, LCP));
            if actions.contains(&Action::Ended(EndCause::LoopedBack)) {
                return;
            }
        }
    }
    let actions = link.pass(Duration::from_secs(6));
    assert_eq!(actions.last(), Some(&Action::Ended(EndCause::LoopedBack)));
}

#[test]
fn after_max_failure_naks_the_option_is_rejected() {
    let (mut link, _) = started(PppConfig::default());
    let ask = |link: &mut Link, id: u8| link.put(LCP, &packet(1, id, &hex("01 04 05 dc"))).unwrap();
    let answer = |code: u8, id: u8, mru: &str| {
        [Action::Send { protocol: LCP, payload: packet(code, id, &hex(&format!("01 04 {mru}"))) }]
    };
    // A repetition says that the Nak was lost, and does not count.
    for id in [1, 1, 1, 2, 3, 3, 3, 4, 5, 5] {
        assert_eq!(ask(&mut link, id), answer(3, id, "05 d4"));
    }
    assert_eq!(ask(&mut link, 6), answer(4, 6, "05 dc"));
    assert_eq!(link.lcp("01 07 00 04"), [send(LCP, "02 07 00 04")]);
    // An Ack between them starts the count again. A client that never changes its identifier is rejected as well.
    for _ in 0..10 {
        assert_eq!(ask(&mut link, 8), answer(3, 8, "05 d4"));
    }
    assert_eq!(ask(&mut link, 8), answer(4, 8, "05 dc"));
}

#[test]
fn a_client_that_naks_for_ever_is_given_up() {
    let (mut link, mut request) = started(PppConfig::default());
    for _ in 0..200 {
        let ended = link.pass(Duration::from_secs(1));
        if ended.contains(&Action::Ended(EndCause::NotConverging)) {
            return;
        }
        if let Ok(actions) = link.put(LCP, &answer_to(&request, 3, &hex("01 04 05 dc"))) {
            request = sends(&actions, LCP).pop().unwrap_or(request);
        }
    }
    panic!("still negotiating");
}

#[test]
fn unknown_codes_get_a_code_reject_with_a_new_identifier_each_time() {
    let (mut link, _) = started(PppConfig::default());
    let first = only_send(&link.lcp("0e 05 00 06 01 02 aa aa"), LCP);
    assert_eq!(first[0], 7);
    assert_eq!(first[2..], hex("00 0a 0e 05 00 06 01 02"));
    assert_ne!(only_send(&link.lcp("00 05 00 04"), LCP)[1], first[1]);
}

#[test]
fn a_code_reject_is_cut_to_the_clients_mru() {
    let (mut link, _) = Link::to_authenticate(with_auth(AuthMethod::Pap));
    link.lcp("01 07 00 08 01 04 00 80");
    let request = packet(200, 1, &[7; 300]);
    let reject = only_send(&link.put(LCP, &request).unwrap(), LCP);
    assert_eq!(reject.len(), 128);
    assert_eq!(reject[4..], request[..124]);
}

#[test]
fn identification_time_remaining_and_discard_are_tolerated() {
    let (mut link, _) = Link::to_authenticate(with_auth(AuthMethod::Pap));
    for packet in ["0c 01 00 0a 00 00 00 00 68 69", "0d 01 00 0c 00 00 00 00 00 00 00 09", "0b 01 00 08 00 00 00 00"] {
        assert_eq!(link.lcp(packet), []);
    }
}

#[test]
fn a_terminate_request_is_acknowledged_and_the_link_ends_after_the_restart_time() {
    let mut link = Link::to_ipv4(with_auth(AuthMethod::Pap));
    assert_eq!(link.lcp("05 44 00 07 62 79 65"), [Action::Ipv4Down, Action::LinkDown, send(LCP, "06 44 00 04")]);
    assert_eq!(link.ppp.phase(), Phase::Terminate);
    // The Ack may have been lost.
    assert_eq!(link.lcp("05 45 00 04"), [send(LCP, "06 45 00 04")]);
    assert_eq!(link.pass(Duration::from_secs(3)), [Action::Ended(EndCause::UserRequest)]);
}

#[test]
fn close_sends_two_terminate_requests_and_ends_with_the_first_cause() {
    let mut link = Link::to_ipv4(with_auth(AuthMethod::Pap));
    let actions = link.close(EndCause::SessionTimeout);
    assert_eq!(actions[..2], [Action::Ipv4Down, Action::LinkDown]);
    assert_eq!(only_send(&actions, LCP)[0], 5);
    assert_eq!(link.close(EndCause::AdminReset), []);
    assert_eq!(sends(&link.pass(Duration::from_secs(3)), LCP).len(), 1);
    assert_eq!(link.pass(Duration::from_secs(3)), [Action::Ended(EndCause::SessionTimeout)]);

    let mut link = Link::to_ipv4(with_auth(AuthMethod::Pap));
    let request = only_send(&link.close(EndCause::AdminReset), LCP);
    assert_eq!(link.put(LCP, &packet(6, request[1], &[])), Ok(vec![Action::Ended(EndCause::AdminReset)]));
}

#[test]
fn close_before_the_start_ends_at_once() {
    let mut link = Link::new(PppConfig::default());
    assert_eq!(link.close(EndCause::NasError), [Action::Ended(EndCause::NasError)]);
    assert_eq!(link.start(), []);
}

#[test]
fn rejects_of_what_no_link_can_be_without_end_it() {
    for fatal in ["07 01 00 08 01 01 00 04", "07 01 00 05 06", "08 01 00 06 c0 21"] {
        let mut link = Link::to_ipv4(with_auth(AuthMethod::Pap));
        let actions = link.lcp(fatal);
        assert_eq!(actions[..2], [Action::Ipv4Down, Action::LinkDown], "{fatal}");
        let actions = link.pass(Duration::from_secs(6));
        assert_eq!(actions.last(), Some(&Action::Ended(EndCause::ProtocolError)));
    }
    for harmless in ["07 01 00 08 09 01 00 08", "07 01 00 05 08", "08 01 00 06 80 fd", "08 01 00 0a 00 57 01 01 00 04"]
    {
        let mut link = Link::to_ipv4(with_auth(AuthMethod::Pap));
        assert_eq!(link.lcp(harmless), [], "{harmless}");
    }
    let mut link = Link::to_ipv4(with_auth(AuthMethod::Pap));
    assert_eq!(link.put(LCP, &hex("07 01 00 04")), Err(Discard::Malformed));
    assert_eq!(link.put(LCP, &hex("08 01 00 05 c0")), Err(Discard::Malformed));
}

#[test]
fn a_protocol_reject_outside_opened_is_discarded() {
    let (mut link, _) = started(PppConfig::default());
    assert_eq!(link.put(LCP, &hex("08 01 00 06 c0 21")), Err(Discard::WrongPhase));
}

#[test]
fn authentication_is_negotiated_down_the_list_and_by_the_clients_choice() {
    let list = || PppConfig::default();
    // A Nak that names the second one, one that names something unknown, and one that is broken: PAP follows.
    for named in ["03 04 c0 23", "03 05 c2 23 81", "03 04 c2 27", "03 02"] {
        let (mut link, first) = started(list());
        assert_eq!(option(&first, 3), Some(hex("c2 23 05")));
        let actions = link.put(LCP, &answer_to(&first, 3, &hex(named))).unwrap();
        assert_eq!(option(&only_send(&actions, LCP), 3), Some(hex("c0 23")), "{named}");
    }
    // A method that the profile does not have ends the link, and so does a Reject.
    for (code, named) in [(3, "03 04 c0 23"), (4, "03 05 c2 23 05")] {
        let (mut link, first) = started(with_auth(AuthMethod::ChapMd5));
        let actions = link.put(LCP, &answer_to(&first, code, &hex(named))).unwrap();
        assert_eq!(only_send(&actions, LCP)[0], 5);
        assert_eq!(link.pass(Duration::from_secs(6)).last(), Some(&Action::Ended(EndCause::AuthRefused)));
    }
    let all = vec![AuthMethod::MsChapV2, AuthMethod::ChapMd5, AuthMethod::Pap];
    let (mut link, first) = started(PppConfig { auth: all, ..PppConfig::default() });
    assert_eq!(option(&first, 3), Some(hex("c2 23 81")));
    let second = only_send(&link.put(LCP, &answer_to(&first, 3, &hex("03 05 c2 23 80"))).unwrap(), LCP);
    assert_eq!(option(&second, 3), Some(hex("c2 23 05")));
    // A method refused once is not taken up again.
    let (mut link, first) = started(list());
    let second = only_send(&link.put(LCP, &answer_to(&first, 3, &hex("03 04 c0 23"))).unwrap(), LCP);
    let actions = link.put(LCP, &answer_to(&second, 3, &hex("03 05 c2 23 05"))).unwrap();
    assert_eq!(only_send(&actions, LCP)[0], 5);
}

#[test]
fn p42c_a_line_with_3_3_s_of_delay_still_converges() {
    // Everything that the client sends arrives 3.3 s late; it follows RFC 1661 and repeats after 3 s.
    let result = crate::convergence::run(&crate::convergence::Scenario {
        seed: 1,
        upstream_delay: Duration::from_millis(3300),
        ..crate::convergence::Scenario::calm()
    });
    assert!(result.opened, "{result:?}");
    assert!(result.time < Duration::from_secs(90), "{result:?}");
}

#[test]
fn p16_a_client_that_names_no_mru_has_the_default_where_max_payload_allows_it() {
    for (mru_max, mru) in [(1500, 1500), (1508, 1500), (1496, 1496), (1492, 1492), (1400, 1400)] {
        let mut link = Link::with(with_auth(AuthMethod::Pap), mru_max, 7);
        let ours = only_send(&link.start(), LCP);
        link.put(LCP, &ack_of(&ours)).unwrap();
        let actions = link.lcp("01 01 00 0a 05 06 a1 b2 c3 d4");
        assert!(matches!(actions[1], Action::LinkUp { peer_mru, .. } if peer_mru == mru), "{mru_max}: {actions:?}");
    }
}

#[test]
fn a_client_that_naks_at_wire_speed_is_given_up_after_twice_max_failure() {
    let (mut link, mut request) = started(PppConfig::default());
    for _ in 0..10 {
        let actions = link.put(LCP, &answer_to(&request, 3, &hex("01 04 05 dc"))).unwrap();
        request = only_send(&actions, LCP);
        assert_eq!(request[0], 1);
    }
    let actions = link.put(LCP, &answer_to(&request, 3, &hex("01 04 05 dc"))).unwrap();
    assert_eq!(only_send(&actions, LCP)[0], 5);
    assert_eq!(link.pass(Duration::from_secs(6)).last(), Some(&Action::Ended(EndCause::NotConverging)));
}
