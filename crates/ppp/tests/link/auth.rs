//! PAP and CHAP.

use crate::harness::*;
use bng_ppp::{
    Action, AuthMethod, AuthVerdict, Credentials, Discard, EndCause, Phase, Secret, verify_chap_md5, verify_ms_chap_v2,
};
use bng_wire::ppp::protocol::{CHAP, IPCP, LCP, PAP};
use std::time::Duration;

const PAP_REQUEST: &str = "01 01 00 10 05 75 73 65 72 31 05 70 61 73 73 31";

fn pap() -> Link {
    let (link, actions) = Link::to_authenticate(with_auth(AuthMethod::Pap));
    assert_eq!(sends(&actions, PAP), Vec::<Vec<u8>>::new());
    link
}

/// A link with its first Challenge.
fn chap() -> (Link, Vec<u8>) {
    let (link, actions) = Link::to_authenticate(with_auth(AuthMethod::ChapMd5));
    let challenge = only_send(&actions, CHAP);
    assert_eq!(challenge[0], 1);
    assert_eq!(challenge[4], 16);
    assert_eq!(challenge[21..], *b"bng");
    (link, challenge)
}

/// The Response of a client that knows the password.
fn response(challenge: &[u8], password: &[u8], name: &[u8]) -> Vec<u8> {
    use md5::{Digest, Md5};
    let value: [u8; 16] = Md5::new()
        .chain_update([challenge[1]])
        .chain_update(password)
        .chain_update(&challenge[5..21])
        .finalize()
        .into();
    packet(2, challenge[1], &[&[16], &value[..], name].concat())
}

#[test]
fn pap_asks_once_and_carries_the_message() {
    let mut link = pap();
    let actions = link.put(PAP, &hex(PAP_REQUEST)).unwrap();
    let [Action::Authenticate(request)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(request.credentials, Credentials::Pap { name: b"user1".to_vec(), password: Secret::new(b"pass1") });
    assert!(!format!("{request:?}").contains("112"), "the password must not be shown");
    let verdict = AuthVerdict::Accept { ipv4: Some(offer4()), ipv6: None, message: b"welcome".to_vec() };
    let actions = link.verdict(verdict);
    assert_eq!(actions[0], send(PAP, "02 01 00 0c 07 77 65 6c 63 6f 6d 65"));
    assert_eq!(only_send(&actions, IPCP)[0], 1);
    assert_eq!(link.ppp.authenticated_by(), Some(AuthMethod::Pap));
}

#[test]
fn p28a_pap_before_lcp_is_open_is_discarded() {
    let mut link = Link::new(with_auth(AuthMethod::Pap));
    assert_eq!(link.put(PAP, &hex(PAP_REQUEST)), Err(Discard::WrongPhase));
    link.start();
    assert_eq!(link.put(PAP, &hex(PAP_REQUEST)), Err(Discard::WrongPhase));
    assert_eq!(link.put(CHAP, &hex("02 01 00 05 00")), Err(Discard::WrongPhase));
}

#[test]
fn p28b_an_empty_name_is_refused_without_asking_anyone() {
    let mut link = pap();
    let actions = link.put(PAP, &hex("01 02 00 08 00 02 70 77")).unwrap();
    assert_eq!(actions[0], send(PAP, "03 02 00 05 00"));
    assert_eq!(actions[1], Action::LinkDown);
    assert_eq!(only_send(&actions, LCP)[0], 5);
    assert_eq!(actions.len(), 3);
    // The kind: CHAP.
    let (mut link, challenge) = chap();
    let actions = link.put(CHAP, &response(&challenge, b"pass1", b"")).unwrap();
    assert_eq!(only_send(&actions, CHAP), packet(4, challenge[1], &[]));
    assert!(link.asked.is_none());
}

#[test]
fn p28c_lengths_past_the_end_are_discarded() {
    let mut link = pap();
    for bad in [
        "01 01 00 10 ff 75 73 65 72 31 05 70 61 73 73 31",
        "01 01 00 10 05 75 73 65 72 31 06 70 61 73 73 31",
        "01 01 00 0a 05 75 73 65 72 31",
        "01 01 00 04",
    ] {
        assert_eq!(link.put(PAP, &hex(bad)), Err(Discard::BadOption), "{bad}");
    }
    assert_eq!(link.put(PAP, &hex("01 01 00 11 05 75 73 65 72 31 05 70 61 73 73 31")), Err(Discard::Malformed));
    assert!(link.put(PAP, &hex(PAP_REQUEST)).is_ok());

    let (mut link, challenge) = chap();
    for value in ["", "10 00", "00", "0f 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 75"] {
        assert_eq!(link.put(CHAP, &packet(2, challenge[1], &hex(value))), Err(Discard::BadOption), "{value}");
    }
}

#[test]
fn an_authentication_protocol_that_was_not_agreed_is_discarded() {
    let mut link = pap();
    assert_eq!(link.put(CHAP, &hex("02 01 00 05 00")), Err(Discard::WrongPhase));
    assert_eq!(link.put(IPCP, &hex("01 01 00 0a 03 06 00 00 00 00")), Err(Discard::WrongPhase));
    assert_eq!(link.put(0x80fd, &hex("01 01 00 04")), Err(Discard::WrongPhase));
    // Codes that only an authenticator sends.
    assert_eq!(link.put(PAP, &hex("02 01 00 05 00")), Err(Discard::Unexpected));
    assert_eq!(link.put(PAP, &hex("09 01 00 05 00")), Err(Discard::Unexpected));
}

#[test]
fn chap_response_is_handed_on_and_checks_out() {
    let (mut link, challenge) = chap();
    let actions = link.put(CHAP, &response(&challenge, b"pass1", b"user1")).unwrap();
    let [Action::Authenticate(request)] = &actions[..] else { panic!("{actions:?}") };
    let Credentials::ChapMd5 { name, id, challenge: value, response } = &request.credentials else {
        panic!("{request:?}")
    };
    assert_eq!((&name[..], *id, &value[..]), (&b"user1"[..], challenge[1], &challenge[5..21]));
    assert!(verify_chap_md5(*id, b"pass1", value, response));
    assert!(!verify_chap_md5(*id, b"pass2", value, response));
    assert!(!verify_chap_md5(id.wrapping_add(1), b"pass1", value, response));
    let actions = link.verdict(accept());
    assert_eq!(actions[0], Action::Send { protocol: CHAP, payload: packet(3, challenge[1], &[]) });
    // The first request of the client's IPCP comes right behind, and is answered.
    assert_eq!(link.ipcp("01 01 00 0a 03 06 00 00 00 00"), [send(IPCP, "03 01 00 0a 03 06 c0 00 02 0a")]);
}

#[test]
fn p45_a_slow_verdict_answers_the_latest_pap_request_once() {
    let mut link = pap();
    link.put(PAP, &hex(PAP_REQUEST)).unwrap();
    let first = link.asked.clone();
    link.pass(Duration::from_secs(3));
    for id in ["02", "03"] {
        let repeated = PAP_REQUEST.replacen("01 01", &format!("01 {id}"), 1);
        assert_eq!(link.put(PAP, &hex(&repeated)), Err(Discard::AuthPending));
    }
    assert_eq!(link.take(), []);
    assert_eq!(link.asked, first);
    let actions = link.verdict(accept());
    assert_eq!(sends(&actions, PAP), [hex("02 03 00 05 00")]);
    // A verdict that comes twice does nothing.
    assert_eq!(link.verdict(accept()), []);
}

#[test]
fn p45_a_slow_verdict_on_chap_brings_no_second_challenge() {
    let (mut link, challenge) = chap();
    let response = response(&challenge, b"pass1", b"user1");
    link.put(CHAP, &response).unwrap();
    assert_eq!(link.pass(Duration::from_secs(5)), []);
    assert_eq!(link.put(CHAP, &response), Err(Discard::AuthPending));
    assert_eq!(sends(&link.verdict(accept()), CHAP), [packet(3, challenge[1], &[])]);
}

#[test]
fn a_repeated_request_after_success_is_answered_the_same() {
    let mut link = pap();
    link.put(PAP, &hex(PAP_REQUEST)).unwrap();
    link.verdict(accept());
    assert_eq!(link.put(PAP, &hex(&PAP_REQUEST.replacen("01 01", "01 07", 1))), Ok(vec![send(PAP, "02 07 00 05 00")]));

    let (mut link, challenge) = chap();
    let first = response(&challenge, b"pass1", b"user1");
    link.put(CHAP, &first).unwrap();
    link.verdict(accept());
    let success = Action::Send { protocol: CHAP, payload: packet(3, challenge[1], &[]) };
    assert_eq!(link.put(CHAP, &first), Ok(vec![success]));
    let mut other = first;
    other[1] = other[1].wrapping_add(1);
    assert_eq!(link.put(CHAP, &other), Err(Discard::StaleIdentifier));
}

#[test]
fn p46_refused_first_then_terminated_then_ended() {
    for acked in [true, false] {
        for method in [AuthMethod::Pap, AuthMethod::ChapMd5] {
            let mut link = if method == AuthMethod::Pap {
                let mut link = pap();
                link.put(PAP, &hex(PAP_REQUEST)).unwrap();
                link
            } else {
                let (mut link, challenge) = chap();
                link.put(CHAP, &response(&challenge, b"wrong", b"user1")).unwrap();
                link
            };
            let actions = link.verdict(reject("no"));
            let [
                Action::Send { protocol, payload },
                Action::LinkDown,
                Action::Send { protocol: LCP, payload: request },
            ] = &actions[..]
            else {
                panic!("{actions:?}")
            };
            match method {
                AuthMethod::Pap => assert_eq!((*protocol, &payload[..]), (PAP, &hex("03 01 00 07 02 6e 6f")[..])),
                _ => assert_eq!((*protocol, payload[0], &payload[4..]), (CHAP, 4, &b"no"[..])),
            }
            assert_eq!(request[0], 5);
            assert_eq!(link.ppp.phase(), Phase::Terminate);
            // Another try is too late.
            assert_eq!(link.put(PAP, &hex(PAP_REQUEST)), Err(Discard::WrongPhase));
            let actions = if acked {
                link.put(LCP, &packet(6, request[1], &[])).unwrap()
            } else {
                let actions = link.pass(Duration::from_millis(5999));
                assert_eq!(actions.len(), 1, "the second Terminate-Request: {actions:?}");
                link.pass(Duration::from_millis(1))
            };
            assert_eq!(actions, [Action::Ended(EndCause::AuthFailed)]);
        }
    }
}

#[test]
fn challenges_are_repeated_with_new_identifiers_and_values_and_each_may_be_answered() {
    let (mut link, first) = chap();
    let second = only_send(&link.pass(Duration::from_secs(3)), CHAP);
    assert_ne!(second[1], first[1]);
    assert_ne!(second[5..21], first[5..21]);
    let late = response(&first, b"pass1", b"user1");
    let actions = link.put(CHAP, &late).unwrap();
    let [Action::Authenticate(request)] = &actions[..] else { panic!("{actions:?}") };
    let Credentials::ChapMd5 { id, challenge, response, .. } = &request.credentials else { panic!("{request:?}") };
    assert!(verify_chap_md5(*id, b"pass1", challenge, response));
    assert_eq!(sends(&link.verdict(accept()), CHAP), [packet(3, first[1], &[])]);
}

#[test]
fn a_response_to_no_challenge_of_this_round_is_discarded() {
    let (mut link, challenge) = chap();
    for id in [challenge[1].wrapping_add(1), challenge[1].wrapping_sub(1)] {
        let mut wrong = response(&challenge, b"pass1", b"user1");
        wrong[1] = id;
        assert_eq!(link.put(CHAP, &wrong), Err(Discard::StaleIdentifier));
    }
    // After a renegotiation the old challenge is void.
    let actions = link.lcp("01 09 00 08 01 04 05 d4");
    let ours = sends(&actions, LCP).remove(0);
    let actions = link.put(LCP, &ack_of(&ours)).unwrap();
    assert_ne!(only_send(&actions, CHAP)[5..21], challenge[5..21]);
    assert_eq!(link.put(CHAP, &response(&challenge, b"pass1", b"user1")), Err(Discard::StaleIdentifier));
}

#[test]
fn a_verdict_on_an_earlier_round_is_ignored() {
    let mut link = pap();
    link.put(PAP, &hex(PAP_REQUEST)).unwrap();
    let old = link.asked.clone().unwrap().transaction;
    let ours = sends(&link.lcp("01 09 00 08 01 04 05 d4"), LCP).remove(0);
    link.put(LCP, &ack_of(&ours)).unwrap();
    link.put(PAP, &hex(PAP_REQUEST)).unwrap();
    let new = link.asked.clone().unwrap().transaction;
    assert_ne!(old, new);
    let mut out = Vec::new();
    link.ppp.auth_result(link.now, old, accept(), &mut out);
    assert_eq!(out, []);
    link.ppp.auth_result(link.now, new, accept(), &mut out);
    assert_eq!(out[0], send(PAP, "02 01 00 05 00"));
}

#[test]
fn a_client_that_does_not_authenticate_is_given_up() {
    for method in [AuthMethod::Pap, AuthMethod::ChapMd5] {
        let (mut link, _) = Link::to_authenticate(with_auth(method));
        let actions = link.pass(Duration::from_secs(36));
        assert_eq!(actions.last(), Some(&Action::Ended(EndCause::AuthTimeout)));
        let challenges = if method == AuthMethod::Pap { 0 } else { 9 };
        assert_eq!(sends(&actions, CHAP).len(), challenges);
    }
    // So is one whose verdict never comes.
    let mut link = pap();
    link.put(PAP, &hex(PAP_REQUEST)).unwrap();
    assert_eq!(link.pass(Duration::from_secs(36)).last(), Some(&Action::Ended(EndCause::AuthTimeout)));
}

#[test]
fn a_protocol_reject_of_the_method_ends_the_link() {
    let (mut link, _) = chap();
    let actions = link.lcp("08 01 00 06 c2 23");
    assert_eq!(only_send(&actions, LCP)[0], 5);
    assert_eq!(link.pass(Duration::from_secs(6)).last(), Some(&Action::Ended(EndCause::AuthRefused)));
}

#[test]
fn long_messages_are_cut_to_what_fits() {
    let mut link = pap();
    link.put(PAP, &hex(PAP_REQUEST)).unwrap();
    let nak = only_send(&link.verdict(reject(&"x".repeat(400))), PAP);
    assert_eq!((nak.len(), nak[4]), (260, 255));
}

#[test]
fn a_success_that_was_lost_is_repeated_until_the_client_begins_with_a_network_protocol() {
    let (mut link, challenge) = chap();
    link.put(CHAP, &response(&challenge, b"pass1", b"user1")).unwrap();
    link.verdict(accept());
    let success = Action::Send { protocol: CHAP, payload: packet(3, challenge[1], &[]) };
    assert_eq!(link.pass(Duration::from_secs(3))[0], success);
    link.ipcp("01 01 00 0a 03 06 00 00 00 00");
    assert_eq!(sends(&link.pass(Duration::from_secs(9)), CHAP), Vec::<Vec<u8>>::new());
}

#[test]
fn a_client_that_starts_anew_for_ever_without_service_is_given_up() {
    let (mut link, _) = Link::to_authenticate(with_auth(AuthMethod::Pap));
    for round in 0..=255u8 {
        if link.ppp.phase() == Phase::Terminate {
            assert_eq!(link.pass(Duration::from_secs(6)).last(), Some(&Action::Ended(EndCause::NotConverging)));
            assert!(round > 10);
            return;
        }
        link.pass(Duration::from_secs(1));
        link.put(PAP, &hex(PAP_REQUEST)).ok();
        let request = packet(1, round, &hex("05 06 00 00 00 09"));
        let Ok(actions) = link.put(LCP, &request) else { continue };
        if let Some(ours) = sends(&actions, LCP).into_iter().find(|packet| packet[0] == 1) {
            link.put(LCP, &ack_of(&ours)).unwrap();
        }
    }
    panic!("still negotiating");
}

#[test]
fn ms_chap_v2_carries_the_proof_of_this_side_in_each_success() {
    let (mut link, actions) = Link::to_authenticate(with_auth(AuthMethod::MsChapV2));
    let challenge = only_send(&actions, CHAP);
    assert_eq!((challenge[0], challenge[4]), (1, 16));
    let value: Vec<u8> = (0..49).collect();
    let response = packet(2, challenge[1], &[&[49], &value[..], b"DOMAIN\\user1"].concat());
    // The value of another algorithm is none.
    let md5 = packet(2, challenge[1], &[&[16][..], &[0; 16], b"user1"].concat());
    assert_eq!(link.put(CHAP, &md5), Err(Discard::BadOption));
    let actions = link.put(CHAP, &response).unwrap();
    let [Action::Authenticate(request)] = &actions[..] else { panic!("{actions:?}") };
    let Credentials::MsChapV2 { name, id, challenge: sent, peer_challenge, nt_response, flags } = &request.credentials
    else {
        panic!("{request:?}")
    };
    assert_eq!((&name[..], *id, &sent[..]), (&b"DOMAIN\\user1"[..], challenge[1], &challenge[5..21]));
    assert_eq!((&peer_challenge[..], &nt_response[..], *flags), (&value[..16], &value[24..48], 48));
    assert_eq!(verify_ms_chap_v2(name, b"pass1", sent, peer_challenge, nt_response), None);
    let message = b"S=407A5589115FD0D6209F510FE9C04566932CDA56 M=hello".to_vec();
    let success = Action::Send { protocol: CHAP, payload: packet(3, challenge[1], &message) };
    let actions = link.verdict(AuthVerdict::Accept { ipv4: Some(offer4()), ipv6: None, message });
    assert_eq!(actions[0], success);
    assert_eq!(link.put(CHAP, &response), Ok(vec![success]));
}

#[test]
fn ms_chap_v2_failure_has_the_format_that_clients_read() {
    let (mut link, actions) = Link::to_authenticate(with_auth(AuthMethod::MsChapV2));
    let challenge = only_send(&actions, CHAP);
    link.put(CHAP, &packet(2, challenge[1], &[&[49][..], &[0; 49], b"user1"].concat())).unwrap();
    let failure = only_send(&link.verdict(reject("no")), CHAP);
    let digits: String = challenge[5..21].iter().map(|octet| format!("{octet:02X}")).collect();
    assert_eq!(failure, packet(4, challenge[1], format!("E=691 R=0 C={digits} V=3 M=no").as_bytes()));
}
