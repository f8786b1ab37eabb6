//! The client among scripted servers, under a virtual clock.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use bng_radius::authenticator::{reveal_password, verify_message_authenticator, verify_request};
use bng_radius::build::{AttributeList, encode_reply};
use bng_radius::client::{Action, ConfigError, Purpose, Refused, Request, SocketId};
use bng_radius::dictionary::{VENDOR_BNGD, VENDOR_BROADBAND_FORUM, VENDOR_MICROSOFT, number};
use bng_radius::request::{Nas, Proof, Subscriber, access_request};
use bng_radius::{Client, ClientConfig, Code, Discard, Packet, Secret, ServerConfig};

const S: Duration = Duration::from_secs(1);

fn secret(server: u8) -> Secret {
    Secret::new(&[b's', server])
}

fn config(purpose: Purpose, servers: u8) -> ClientConfig {
    let address = |server: u8| format!("192.0.2.{server}:1812").parse().unwrap();
    let servers = (1..=servers).map(|n| ServerConfig { priority: n, ..ServerConfig::new(address(n), secret(n)) });
    ClientConfig::new(purpose, servers.collect())
}

fn request() -> Request {
    let mut attributes = AttributeList::new();
    attributes.push(number::USER_NAME, b"user1@example.net").unwrap();
    Request { attributes, password: Some(Secret::new(b"hunter2")), delay_since: None }
}

fn reply_to(datagram: &[u8], code: Code, list: &AttributeList, secret: &Secret, signed: bool) -> Vec<u8> {
    let request = Packet::parse(datagram).unwrap();
    encode_reply(code, request.id(), request.authenticator(), signed, list, secret).unwrap()
}

/// A client, its servers, and the time.
struct World {
    client: Client,
    now: Instant,
    /// Which servers answer, after how long.
    alive: HashMap<u8, Duration>,
    on_the_way: Vec<(Instant, SocketId, Vec<u8>)>,
    sent: Vec<(SocketId, Vec<u8>)>,
    done: Vec<Action>,
    delivered_twice: bool,
}

impl World {
    fn new(config: ClientConfig) -> Self {
        Self {
            client: Client::new(config, [5; 32]).unwrap(),
            now: Instant::now(),
            alive: HashMap::new(),
            on_the_way: Vec::new(),
            sent: Vec::new(),
            done: Vec::new(),
            delivered_twice: false,
        }
    }

    fn ask(&mut self, key: u64, request: Request) -> Result<(), Refused> {
        let mut out = Vec::new();
        let result = self.client.request(self.now, key, request, &mut out);
        self.carry_out(out);
        result
    }

    fn carry_out(&mut self, actions: Vec<Action>) {
        for action in actions {
            let Action::Send { socket, to, datagram } = action else {
                self.done.push(action);
                continue;
            };
            assert_eq!(to, format!("192.0.2.{}:1812", socket.server + 1).parse().unwrap());
            let secret = secret(socket.server + 1);
            let packet = Packet::parse(&datagram).unwrap();
            let code = match packet.code() {
                Code::ACCOUNTING_REQUEST => {
                    assert!(verify_request(&packet, &secret));
                    Code::ACCOUNTING_RESPONSE
                }
                _ => {
                    let good = verify_message_authenticator(&packet, packet.authenticator(), &secret);
                    assert_eq!(good, Some(true));
                    assert_eq!(datagram[20], number::MESSAGE_AUTHENTICATOR, "first of all");
                    Code::ACCESS_ACCEPT
                }
            };
            if let Some(after) = self.alive.get(&socket.server) {
                let reply = reply_to(&datagram, code, &AttributeList::new(), &secret, true);
                self.on_the_way.push((self.now + *after, socket, reply));
            }
            self.sent.push((socket, datagram));
        }
    }

    fn give(&mut self, socket: SocketId, datagram: &[u8]) -> Result<(), Discard> {
        let mut out = Vec::new();
        let from = format!("192.0.2.{}:1812", socket.server + 1).parse().unwrap();
        let result = self.client.handle(self.now, socket, from, datagram, &mut out);
        self.carry_out(out);
        result
    }

    /// Lets time pass, each event at its instant.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let arrival = self.on_the_way.iter().map(|(at, ..)| *at).min();
            let next = [arrival, self.client.poll_timeout()].into_iter().flatten().min();
            let Some(next) = next.filter(|at| *at <= end) else { break };
            self.now = self.now.max(next);
            let now = self.now;
            let due: Vec<_> = self.on_the_way.extract_if(.., |(at, ..)| *at <= now).collect();
            for (_, socket, datagram) in due {
                let _ = self.give(socket, &datagram);
                if self.delivered_twice {
                    assert_eq!(self.give(socket, &datagram), Err(Discard::UnknownIdentifier));
                }
            }
            let mut out = Vec::new();
            self.client.handle_timeout(self.now, &mut out);
            self.carry_out(out);
        }
        self.now = end;
    }

    fn answered(&self) -> usize {
        self.done.iter().filter(|action| matches!(action, Action::Answered { .. })).count()
    }

    fn unreachable(&self) -> usize {
        self.done.iter().filter(|action| matches!(action, Action::Unreachable { .. })).count()
    }
}

#[test]
fn p31_chap_goes_out_with_identifier_and_challenge() {
    let subscriber = Subscriber { user_name: b"user1@example.net".to_vec(), ..Subscriber::default() };
    for length in [16, 24] {
        let (challenge, response) = (vec![0xc5; length], [0x77; 16]);
        let proof = Proof::Chap { id: 0x2a, challenge: challenge.clone(), response };
        let (list, password) = access_request(&Nas::default(), &subscriber, &proof, 1_700_000_000).unwrap();
        assert!(password.is_none());
        let mut world = World::new(config(Purpose::Authentication, 1));
        world.ask(1, Request { attributes: list, password, delay_since: None }).unwrap();
        let packet = Packet::parse(&world.sent[0].1).unwrap();
        packet.validate().unwrap();
        assert_eq!(packet.first(number::CHAP_PASSWORD).unwrap(), [&[0x2a], &response[..]].concat());
        assert_eq!(packet.first(number::CHAP_CHALLENGE).unwrap(), challenge);
        assert_eq!(packet.first(number::USER_PASSWORD), None);
    }
}

#[test]
fn ms_chap_2_goes_out_as_rfc_2548_has_it() {
    let subscriber = Subscriber { user_name: b"user1".to_vec(), ..Subscriber::default() };
    let proof = Proof::MsChapV2 { id: 9, challenge: [1; 16], peer_challenge: [2; 16], nt_response: [3; 24], flags: 0 };
    let (list, _) = access_request(&Nas::default(), &subscriber, &proof, 0).unwrap();
    let octets = encode_reply(Code(1), 0, &[0; 16], false, &list, &secret(1)).unwrap();
    let found: Vec<_> = Packet::parse(&octets)
        .unwrap()
        .flat()
        .filter(|a| a.vendor == VENDOR_MICROSOFT)
        .map(|a| (a.number, a.value.to_vec()))
        .collect();
    let response = [&[9, 0], &[2; 16][..], &[0; 8], &[3; 24]].concat();
    assert_eq!(found, [(11, vec![1; 16]), (25, response)]);
}

#[test]
fn p29_line_identity_goes_out_octet_exact_or_not_at_all() {
    let line = vec![
        (1, b"eth 1/1/1:10".to_vec()),
        (2, vec![0, 0xff, b's']),
        (0x81, vec![0, 0, 0x10, 0]),
        (1, vec![b'c'; 63]),
        (1, vec![b'c'; 64]),
        (2, vec![]),
    ];
    let subscriber = Subscriber { user_name: b"u".to_vec(), line: line.clone(), ..Subscriber::default() };
    let (list, _) = access_request(&Nas::default(), &subscriber, &Proof::None, 0).unwrap();
    let octets = encode_reply(Code(1), 0, &[0; 16], false, &list, &secret(1)).unwrap();
    let found: Vec<_> = Packet::parse(&octets)
        .unwrap()
        .flat()
        .filter(|a| a.vendor == VENDOR_BROADBAND_FORUM)
        .map(|a| (a.number, a.value.to_vec()))
        .collect();
    assert_eq!(found, line[..4]);
}

#[test]
fn p28_an_empty_name_is_no_request() {
    assert!(access_request(&Nas::default(), &Subscriber::default(), &Proof::None, 0).is_err());
}

#[test]
fn p45_a_slow_server_sees_one_request() {
    let mut world = World::new(config(Purpose::Authentication, 1));
    world.alive.insert(0, 5 * S);
    world.ask(7, request()).unwrap();
    for _ in 0..3 {
        world.pass(S + S / 2);
        assert_eq!(world.ask(7, request()), Err(Refused::AlreadyOutstanding));
    }
    world.pass(20 * S);
    assert_eq!(world.answered(), 1);
    assert!(world.sent.len() > 1, "it was repeated");
    assert!(world.sent.iter().all(|sent| *sent == world.sent[0]), "same Identifier, same authenticator, same octets");
    let counters = world.client.counters(0).unwrap();
    assert_eq!((counters.requests, counters.accepts, counters.unanswered), (1, 1, 0));
    // The answers to the repetitions came too late to mean anything.
    assert_eq!(counters.discards.get(Discard::UnknownIdentifier), counters.retransmissions);
}

#[test]
fn p32_malformed_replies_change_nothing_and_a_good_one_is_used() {
    let raw = |number: u8, value: &[u8]| [&[number, value.len() as u8 + 2], value].concat();
    let own = |inner: &[u8]| raw(26, &[&VENDOR_BNGD.to_be_bytes()[..], inner].concat());
    let bad = [
        raw(8, &[1]),
        raw(8, &[1; 8]),
        raw(27, &[0, 1]),
        raw(97, &[0, 255, 0x20, 1]),
        raw(26, &VENDOR_BNGD.to_be_bytes()),
        own(&[1, 0]),
        own(&[1, 1]),
        own(&[1, 200]),
        own(&[1, 6, 0, 0, 0, 1]),
        vec![8, 0],
        vec![8, 1],
        vec![8, 6, 1, 2],
        vec![8],
    ];
    let mut world = World::new(config(Purpose::Authentication, 1));
    world.ask(1, request()).unwrap();
    let (socket, sent) = world.sent[0].clone();
    let sign = |attributes: &[u8], length: Option<u16>, code: u8| {
        // By hand: the builder would not write these.
        let request = Packet::parse(&sent).unwrap();
        let mut octets = vec![code, request.id(), 0, 0];
        octets.extend_from_slice(request.authenticator());
        octets.extend_from_slice(&[80, 18]);
        octets.extend_from_slice(&[0; 16]);
        octets.extend_from_slice(attributes);
        let length = length.unwrap_or(octets.len() as u16);
        octets[2..4].copy_from_slice(&length.to_be_bytes());
        use bng_radius::authenticator::{message_authenticator, response_authenticator};
        let digest = message_authenticator(&octets, request.authenticator(), 22, &secret(1));
        octets[22..38].copy_from_slice(&digest);
        let digest = response_authenticator(&octets, request.authenticator(), &secret(1));
        octets[4..20].copy_from_slice(&digest);
        octets
    };
    for attributes in &bad {
        let datagram = sign(attributes, None, 2);
        assert_eq!(world.give(socket, &datagram), Err(Discard::Malformed), "{attributes:?}");
    }
    assert_eq!(world.give(socket, &sign(&[], Some(19), 2)), Err(Discard::Malformed));
    assert_eq!(world.give(socket, &sign(&[], Some(39), 2)), Err(Discard::Truncated));
    assert_eq!(world.give(socket, &sign(&[], Some(4097), 2)), Err(Discard::Oversized));
    assert_eq!(world.give(socket, &[]), Err(Discard::Truncated));
    assert_eq!(world.give(socket, &sign(&[], None, 5)), Err(Discard::UnexpectedCode));
    assert_eq!(world.client.outstanding(), 1);
    assert!(world.done.is_empty());
    let mut good = sign(&raw(8, &[198, 51, 100, 7]), None, 2);
    good.extend_from_slice(b"padding");
    assert_eq!(world.give(socket, &good), Ok(()));
    assert_eq!(world.answered(), 1);
}

#[test]
fn what_is_forged_replayed_or_from_elsewhere_is_counted_and_changes_nothing() {
    let mut world = World::new(config(Purpose::Authentication, 2));
    world.ask(1, request()).unwrap();
    let (socket, sent) = world.sent[0].clone();
    let empty = AttributeList::new();
    let good = reply_to(&sent, Code::ACCESS_ACCEPT, &empty, &secret(1), true);
    let mut out = Vec::new();
    for from in ["192.0.2.2:1812", "192.0.2.1:1813", "203.0.113.1:1812"] {
        let result = world.client.handle(world.now, socket, from.parse().unwrap(), &good, &mut out);
        assert_eq!(result, Err(Discard::WrongSource));
    }
    let wrong = reply_to(&sent, Code::ACCESS_ACCEPT, &empty, &secret(9), true);
    assert_eq!(world.give(socket, &wrong), Err(Discard::BadAuthenticator));
    let unsigned = reply_to(&sent, Code::ACCESS_ACCEPT, &empty, &secret(1), false);
    assert_eq!(world.give(socket, &unsigned), Err(Discard::NoMessageAuthenticator));
    let mut forged = AttributeList::new();
    forged.push(number::MESSAGE_AUTHENTICATOR, &[9; 16]).unwrap();
    let forged = reply_to(&sent, Code::ACCESS_ACCEPT, &forged, &secret(1), false);
    assert_eq!(world.give(socket, &forged), Err(Discard::BadMessageAuthenticator));
    assert_eq!(world.give(SocketId { number: 3, ..socket }, &good), Err(Discard::UnknownIdentifier));
    for at in 0..good.len() {
        let mut changed = good.clone();
        changed[at] ^= 1;
        assert!(world.give(socket, &changed).is_err(), "octet {at}");
    }
    assert!(out.is_empty() && world.done.is_empty());
    assert_eq!(world.give(socket, &good), Ok(()));
    assert_eq!(world.give(socket, &good), Err(Discard::UnknownIdentifier), "replayed");
    let discards = &world.client.counters(0).unwrap().discards;
    assert_eq!(discards.get(Discard::WrongSource), 3);
    assert_eq!(discards.get(Discard::NoMessageAuthenticator), 1);
    assert_eq!(discards.sum(), 3 + 4 + good.len() as u64 + 1);
}

#[test]
fn an_old_server_is_taken_where_the_switch_says_so() {
    let mut config = config(Purpose::Authentication, 1);
    config.servers[0].require_message_authenticator = false;
    let mut world = World::new(config);
    world.ask(1, request()).unwrap();
    let (socket, sent) = world.sent[0].clone();
    let reply = reply_to(&sent, Code::ACCESS_REJECT, &AttributeList::new(), &secret(1), false);
    assert_eq!(world.give(socket, &reply), Ok(()));
    assert_eq!(world.client.counters(0).unwrap().rejects, 1);
}

#[test]
fn requests_fail_over_with_a_new_packet_and_the_dead_server_comes_back() {
    let mut world = World::new(config(Purpose::Authentication, 2));
    world.alive.insert(1, S / 10);
    world.ask(1, request()).unwrap();
    world.pass(20 * S);
    assert_eq!((world.answered(), world.unreachable()), (1, 0));
    let first = world.sent.iter().position(|(socket, _)| socket.server == 1).unwrap();
    let (before, after) = (Packet::parse(&world.sent[0].1).unwrap(), Packet::parse(&world.sent[first].1).unwrap());
    assert_ne!(before.authenticator(), after.authenticator());
    let hidden = after.first(number::USER_PASSWORD).unwrap();
    assert_eq!(reveal_password(hidden, after.authenticator(), &secret(2)), Some(Secret::new(b"hunter2")));
    // While it is dead nobody waits for it.
    assert!(!world.client.is_alive(0));
    let before = world.now;
    world.ask(2, request()).unwrap();
    world.pass(S);
    assert_eq!(world.answered(), 2, "{:?}", world.now - before);
    let probes = world.client.counters(0).unwrap().probes;
    assert!(probes >= 1);
    world.alive.insert(0, S / 10);
    world.pass(20 * S);
    assert!(world.client.is_alive(0));
    world.ask(3, request()).unwrap();
    assert_eq!(world.sent.last().unwrap().0.server, 0);
    world.pass(S);
    assert_eq!(world.answered(), 3);
    assert_eq!(world.client.counters(0).unwrap().deaths, 1);
}

#[test]
fn without_status_server_a_dead_one_gets_another_chance() {
    let mut config = config(Purpose::Authentication, 1);
    config.servers[0].status_server = false;
    let mut world = World::new(config);
    world.ask(1, request()).unwrap();
    world.pass(31 * S);
    assert_eq!(world.unreachable(), 1);
    assert!(!world.client.any_alive());
    world.pass(61 * S);
    assert!(world.client.any_alive());
    assert_eq!(world.client.counters(0).unwrap().probes, 0);
}

#[test]
fn load_is_shared_by_weight() {
    let mut config = config(Purpose::Authentication, 2);
    for (server, weight) in config.servers.iter_mut().zip([1, 3]) {
        (server.priority, server.weight) = (0, weight);
    }
    let mut world = World::new(config);
    for key in 0..400 {
        world.ask(key, request()).unwrap();
    }
    let requests = [0, 1].map(|server| world.client.counters(server).unwrap().requests);
    assert!(requests[0].abs_diff(100) < 5 && requests[1].abs_diff(300) < 5, "{requests:?}");
}

#[test]
fn any_number_is_outstanding_over_more_ports_and_the_limit_says_full() {
    let mut config = config(Purpose::Authentication, 1);
    config.outstanding_max = 1000;
    let mut world = World::new(config);
    world.alive.insert(0, S);
    for key in 0..1000 {
        world.ask(key, request()).unwrap();
    }
    assert_eq!(world.ask(1000, request()), Err(Refused::Full));
    assert_eq!(world.client.sockets(0), 4);
    let ids: HashSet<_> = world.sent.iter().map(|(socket, datagram)| (*socket, datagram[1])).collect();
    assert_eq!(ids.len(), 1000, "no Identifier twice on one port");
    let authenticators: HashSet<_> = world.sent.iter().map(|(_, datagram)| datagram[4..20].to_vec()).collect();
    assert_eq!(authenticators.len(), 1000);
    world.pass(2 * S);
    assert_eq!((world.answered(), world.client.outstanding()), (1000, 0));
}

#[test]
fn a_black_hole_of_ten_minutes_takes_no_more_sockets_and_leaves_nothing() {
    let mut config = config(Purpose::Authentication, 2);
    (config.outstanding_max, config.sockets_max) = (2000, 4);
    let mut world = World::new(config);
    let mut refused = 0;
    for key in 0..6000 {
        refused += u32::from(world.ask(key, request()).is_err());
        world.pass(S / 10);
        world.sent.clear();
    }
    assert!(world.client.sockets(0) <= 4 && world.client.sockets(1) <= 4);
    world.pass(60 * S);
    assert_eq!(world.client.outstanding(), 0);
    assert_eq!(world.unreachable() as u32 + refused, 6000);
    world.alive.extend([(0, S / 100), (1, S / 100)]);
    world.pass(30 * S);
    world.ask(1, request()).unwrap();
    world.pass(S);
    assert_eq!(world.answered(), 1);
}

#[test]
fn loss_and_duplication_give_each_request_one_answer() {
    let mut world = World::new(config(Purpose::Accounting, 1));
    world.delivered_twice = true;
    for key in 0..500 {
        // Every third transmission is lost.
        if key % 3 == 0 {
            world.alive.clear()
        } else {
            world.alive.extend([(0, S / 50)])
        };
        world.ask(key, Request { password: None, ..request() }).unwrap();
        world.alive.insert(0, S / 50);
        world.pass(S / 25);
    }
    world.pass(60 * S);
    let mut keys = HashSet::new();
    for action in &world.done {
        if let Action::Answered { key, code, .. } = action {
            assert_eq!(*code, Code::ACCOUNTING_RESPONSE);
            assert!(keys.insert(*key), "{key} twice");
        }
    }
    assert_eq!((keys.len(), world.unreachable()), (500, 0));
}

#[test]
fn a_cancelled_request_has_no_answer() {
    let mut world = World::new(config(Purpose::Authentication, 1));
    world.alive.insert(0, S);
    world.ask(1, request()).unwrap();
    world.client.cancel(world.now, 1);
    world.pass(60 * S);
    assert!(world.done.is_empty());
    assert_eq!((world.sent.len(), world.client.outstanding()), (1, 0));
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let with = |change: &dyn Fn(&mut ClientConfig)| {
        let mut config = config(Purpose::Authentication, 2);
        change(&mut config);
        Client::new(config, [0; 32]).err()
    };
    assert_eq!(with(&|_| ()), None);
    assert_eq!(with(&|c| c.servers.clear()), Some(ConfigError::Servers));
    assert_eq!(with(&|c| c.servers[1].address = c.servers[0].address), Some(ConfigError::SameAddress));
    assert_eq!(with(&|c| c.servers[1].secret = Secret::default()), Some(ConfigError::EmptySecret));
    assert_eq!(with(&|c| c.servers[1].weight = 0), Some(ConfigError::Zero));
    assert_eq!(with(&|c| c.first_timeout = Duration::ZERO), Some(ConfigError::Zero));
}

#[test]
fn nothing_secret_shows_in_debug_output() {
    let text = format!("{:?} {:?}", config(Purpose::Authentication, 1), request());
    assert!(!text.contains("hunter2") && !text.contains("115, 1"), "{text}");
}
