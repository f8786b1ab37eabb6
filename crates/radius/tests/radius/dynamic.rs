//! Disconnect and CoA requests.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bng_radius::authenticator::{verify_message_authenticator, verify_response};
use bng_radius::build::{AttributeList, RequestParts, encode_request};
use bng_radius::dictionary::{VENDOR_BNGD, VENDOR_BROADBAND_FORUM, VENDOR_WISPR, number};
use bng_radius::request::Nas;
use bng_radius::server::{Action, Answer, DynamicClient, ErrorCause};
use bng_radius::{Code, Discard, DynamicConfig, DynamicServer, Now, Packet, Secret};

const UNIX_S: u64 = 1_700_000_000;

fn secret() -> Secret {
    Secret::new(b"coa")
}

fn from() -> SocketAddr {
    "192.0.2.9:40000".parse().unwrap()
}

struct World {
    server: DynamicServer,
    now: Now,
    id: u8,
}

impl World {
    fn new() -> Self {
        let address = from().ip();
        let client = DynamicClient { address, secret: secret(), require_message_authenticator: false };
        let nas = Nas { identifier: b"bng1".to_vec(), ipv4: Some([198, 51, 100, 1].into()), ipv6: None };
        let config = DynamicConfig { clients: vec![client], nas, ..DynamicConfig::default() };
        Self { server: DynamicServer::new(config), now: Now { at: Instant::now(), unix_s: UNIX_S }, id: 0 }
    }

    fn handle(&mut self, from: SocketAddr, datagram: &[u8]) -> Result<Vec<Action>, Discard> {
        let mut out = Vec::new();
        self.server.handle(self.now, from, datagram, &mut out).map(|()| out)
    }

    fn ask(&mut self, code: Code, list: &AttributeList) -> (Action, Vec<u8>) {
        self.id += 1;
        let datagram = datagram(code, self.id, list, &secret());
        let mut out = self.handle(from(), &datagram).unwrap();
        assert_eq!(out.len(), 1);
        (out.remove(0), datagram)
    }

    /// The Error-Cause of a request that is refused without asking anyone.
    fn refused(&mut self, code: Code, list: &AttributeList) -> Option<u32> {
        let (action, request) = self.ask(code, list);
        let Action::Send { to, datagram } = action else { return None };
        assert_eq!(to, from());
        let reply = Packet::parse(&datagram).unwrap();
        assert!(verify_response(&reply, request[4..20].try_into().unwrap(), &secret()));
        let nak = if code == Code::COA_REQUEST { Code::COA_NAK } else { Code::DISCONNECT_NAK };
        assert_eq!((reply.code(), reply.id()), (nak, request[1]));
        let cause = reply.first(number::ERROR_CAUSE).unwrap();
        Some(u32::from_be_bytes(cause.try_into().unwrap()))
    }
}

fn datagram(code: Code, id: u8, list: &AttributeList, secret: &Secret) -> Vec<u8> {
    let parts = RequestParts {
        code,
        id,
        authenticator: [0; 16],
        message_authenticator: false,
        attributes: list,
        password: None,
        delay_s: None,
    };
    encode_request(parts, secret).unwrap().0
}

fn list(attributes: &[(u8, &[u8])]) -> AttributeList {
    let mut list = AttributeList::new();
    for (number, value) in attributes {
        list.push(*number, value).unwrap();
    }
    list
}

const NAME: (u8, &[u8]) = (number::USER_NAME, b"user1@example.net");

#[test]
fn p59_any_sensible_key_names_a_session() {
    let mut world = World::new();
    for key in [
        (number::ACCT_SESSION_ID, &b"0001"[..]),
        NAME,
        (number::FRAMED_IP_ADDRESS, &[198, 51, 100, 7]),
        (number::CALLING_STATION_ID, b"02:00:00:00:00:01"),
        (number::NAS_PORT_ID, b"access0/100/200"),
        (number::FRAMED_IPV6_PREFIX, &[0, 64, 0x20, 1, 0x0d, 0xb8, 0, 1, 0, 0]),
    ] {
        let (action, request) = world.ask(Code::DISCONNECT_REQUEST, &list(&[key]));
        let Action::Disconnect { ticket, keys } = action else { panic!("{action:?}") };
        assert!(!keys.is_empty());
        let mut out = Vec::new();
        world.server.answer(world.now.at, ticket, Answer::Done, &mut out);
        let [Action::Send { datagram, .. }] = &out[..] else { panic!("{out:?}") };
        let reply = Packet::parse(datagram).unwrap();
        assert_eq!(reply.code(), Code::DISCONNECT_ACK);
        assert!(verify_response(&reply, request[4..20].try_into().unwrap(), &secret()));
    }
    let mut circuit = AttributeList::new();
    circuit.push_vendor(VENDOR_BROADBAND_FORUM, 1, b"eth 1/1").unwrap();
    let (action, _) = world.ask(Code::DISCONNECT_REQUEST, &circuit);
    assert!(matches!(action, Action::Disconnect { keys, .. } if keys.circuit_id.as_deref() == Some(b"eth 1/1")));
}

#[test]
fn p59_what_cannot_be_is_refused_with_its_cause() {
    let mut world = World::new();
    let disconnect = Code::DISCONNECT_REQUEST;
    assert_eq!(world.refused(disconnect, &list(&[])), Some(402));
    assert_eq!(world.refused(disconnect, &list(&[NAME, (number::NAS_IP_ADDRESS, &[203, 0, 113, 1])])), Some(403));
    assert_eq!(world.refused(disconnect, &list(&[NAME, (number::NAS_IDENTIFIER, b"bng2")])), Some(403));
    assert_eq!(world.refused(disconnect, &list(&[NAME, (number::NAS_IP_ADDRESS, &[198, 51, 100, 1])])), None);
    assert_eq!(world.refused(disconnect, &list(&[NAME, (number::SESSION_TIMEOUT, &[0, 0, 0, 9])])), Some(401));
    assert_eq!(world.refused(disconnect, &list(&[NAME, (number::FRAMED_IP_ADDRESS, &[1, 2, 3])])), Some(407));
    let coa = Code::COA_REQUEST;
    assert_eq!(world.refused(coa, &list(&[NAME, (number::SERVICE_TYPE, &[0, 0, 0, 17])])), Some(405));
    assert_eq!(world.refused(coa, &list(&[NAME])), Some(402));
    assert_eq!(world.refused(coa, &list(&[(number::SESSION_TIMEOUT, &[0, 0, 0, 9])])), Some(402));
    // An unknown session is for the owner to tell.
    let (action, _) = world.ask(disconnect, &list(&[NAME]));
    let Action::Disconnect { ticket, .. } = action else { panic!() };
    let mut out = Vec::new();
    world.server.answer(world.now.at, ticket, Answer::Refused(ErrorCause::SessionContextNotFound), &mut out);
    let [Action::Send { datagram, .. }] = &out[..] else { panic!() };
    assert_eq!(Packet::parse(datagram).unwrap().first(number::ERROR_CAUSE), Some(&503_u32.to_be_bytes()[..]));
}

#[test]
fn p59_a_change_names_only_what_it_changes() {
    let mut world = World::new();
    let (action, _) = world.ask(Code::COA_REQUEST, &list(&[NAME, (number::SESSION_TIMEOUT, &[0, 0, 0, 120])]));
    let Action::Change { change, keys, .. } = action else { panic!("{action:?}") };
    assert_eq!((change.session_timeout_s, change.rate_up_bps, change.rate_down_bps), (Some(120), None, None));
    assert_eq!(keys.user_name.as_deref(), Some(NAME.1));
    let mut rate = list(&[NAME]);
    rate.push_vendor(VENDOR_BNGD, number::BNGD_RATE_DOWN, &10_000_000_000_u64.to_be_bytes()).unwrap();
    let (action, _) = world.ask(Code::COA_REQUEST, &rate);
    let Action::Change { change, .. } = action else { panic!("{action:?}") };
    assert_eq!((change.session_timeout_s, change.rate_down_bps), (None, Some(10_000_000_000)));
    // With something that cannot be changed beside it, nothing is.
    for other in [number::FRAMED_POOL, 222] {
        let mut mixed = rate.clone();
        mixed.push(other, b"xxxx").unwrap();
        assert_eq!(world.refused(Code::COA_REQUEST, &mixed), Some(401));
    }
    let mut vendor = rate.clone();
    vendor.push_vendor(4242, 1, b"x").unwrap();
    assert_eq!(world.refused(Code::COA_REQUEST, &vendor), Some(401));
    let mut bad = rate.clone();
    bad.push_vendor(VENDOR_WISPR, number::WISPR_BANDWIDTH_MAX_UP, b"abc").unwrap();
    assert_eq!(world.refused(Code::COA_REQUEST, &bad), Some(407));
}

#[test]
fn p33_the_magic_address_is_no_key() {
    let mut world = World::new();
    for address in [[255, 255, 255, 254], [255; 4]] {
        let only = list(&[(number::FRAMED_IP_ADDRESS, &address)]);
        assert_eq!(world.refused(Code::DISCONNECT_REQUEST, &only), Some(402));
        let (action, _) = world.ask(Code::DISCONNECT_REQUEST, &list(&[NAME, (number::FRAMED_IP_ADDRESS, &address)]));
        assert!(matches!(action, Action::Disconnect { keys, .. } if keys.ipv4.is_none()));
    }
}

#[test]
fn p60_who_may_speak() {
    let mut world = World::new();
    let request = datagram(Code::DISCONNECT_REQUEST, 1, &list(&[NAME]), &secret());
    assert_eq!(world.handle("192.0.2.10:40000".parse().unwrap(), &request), Err(Discard::WrongSource));
    let wrong = datagram(Code::DISCONNECT_REQUEST, 1, &list(&[NAME]), &Secret::new(b"other"));
    assert_eq!(world.handle(from(), &wrong), Err(Discard::BadAuthenticator));
    let mut short = request.clone();
    short[3] = 19;
    assert_eq!(world.handle(from(), &short), Err(Discard::Malformed));
    for code in [1, 4, 41, 99] {
        let other = datagram(Code(code), 1, &list(&[NAME]), &secret());
        assert_eq!(world.handle(from(), &other), Err(Discard::UnexpectedCode));
    }
    for (time, taken) in [(UNIX_S - 600, false), (UNIX_S + 301, false), (UNIX_S - 300, true), (UNIX_S + 300, true)] {
        let stamp = u32::try_from(time).unwrap().to_be_bytes();
        let stamped =
            datagram(Code::DISCONNECT_REQUEST, 7, &list(&[NAME, (number::EVENT_TIMESTAMP, &stamp)]), &secret());
        let result = world.handle(from(), &stamped);
        assert_eq!(result.is_ok(), taken, "{time}");
        assert!(taken || result == Err(Discard::StaleTimestamp));
    }
    let discards = &world.server.counters().discards;
    assert_eq!(discards.get(Discard::UnexpectedCode), 4);
    assert_eq!(discards.sum(), 9);
    // The IPv4 client may come in on an IPv6 socket.
    assert!(world.handle("[::ffff:192.0.2.9]:40000".parse().unwrap(), &request).is_ok());
}

#[test]
fn p60_a_repeated_request_is_done_once_and_answered_the_same() {
    let mut world = World::new();
    let (action, request) = world.ask(Code::DISCONNECT_REQUEST, &list(&[NAME]));
    let Action::Disconnect { ticket, .. } = action else { panic!() };
    assert_eq!(world.handle(from(), &request), Err(Discard::Repeated), "still being worked on");
    let mut out = Vec::new();
    world.server.answer(world.now.at, ticket, Answer::Done, &mut out);
    world.server.answer(world.now.at, ticket, Answer::Done, &mut out);
    assert_eq!(out.len(), 1);
    for _ in 0..2 {
        assert_eq!(world.handle(from(), &request).unwrap(), out);
    }
    let counters = world.server.counters();
    assert_eq!((counters.disconnects, counters.acks, counters.repeated), (1, 1, 2));
    world.now.at += Duration::from_secs(31);
    assert!(matches!(&world.handle(from(), &request).unwrap()[..], [Action::Disconnect { .. }]), "forgotten by then");
    assert_eq!(world.server.requests(), 1);
}

#[test]
fn proxy_state_comes_back_in_order_and_message_authenticator_if_asked() {
    let mut world = World::new();
    let attributes = list(&[NAME, (number::PROXY_STATE, b"b"), (number::PROXY_STATE, b"a")]);
    let parts = RequestParts {
        code: Code::COA_REQUEST,
        id: 3,
        authenticator: [0; 16],
        message_authenticator: true,
        attributes: &attributes,
        password: None,
        delay_s: None,
    };
    let (request, authenticator) = encode_request(parts, &secret()).unwrap();
    let out = world.handle(from(), &request).unwrap();
    let [Action::Send { datagram, .. }] = &out[..] else { panic!("{out:?}") };
    let reply = Packet::parse(datagram).unwrap();
    assert_eq!(verify_message_authenticator(&reply, &authenticator, &secret()), Some(true));
    let states: Vec<_> = reply.attributes().filter(|a| a.number == number::PROXY_STATE).map(|a| a.value).collect();
    assert_eq!(states, [b"b", b"a"]);
    let mut forged = request.clone();
    forged[22] ^= 1;
    assert!(world.handle(from(), &forged).is_err());
}

#[test]
fn too_many_at_once_are_met_with_silence() {
    let mut world = World::new();
    let address = from().ip();
    let client = DynamicClient { address, secret: secret(), require_message_authenticator: false };
    world.server =
        DynamicServer::new(DynamicConfig { clients: vec![client], requests_max: 10, ..DynamicConfig::default() });
    for _ in 0..10 {
        world.ask(Code::DISCONNECT_REQUEST, &list(&[NAME]));
    }
    let more = datagram(Code::DISCONNECT_REQUEST, 99, &list(&[NAME]), &secret());
    assert_eq!(world.handle(from(), &more), Err(Discard::Busy));
}
