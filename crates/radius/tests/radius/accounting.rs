//! Accounting with its client and a scripted server, under a virtual clock.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use bng_radius::accounting::{Action, Counts, Kind, SessionRecord, Usage};
use bng_radius::authenticator::verify_request;
use bng_radius::build::{AttributeList, encode_reply};
use bng_radius::client::{self, Purpose};
use bng_radius::dictionary::{VENDOR_BNGD, number};
use bng_radius::request::{Nas, Subscriber};
use bng_radius::{
    Accounting, AccountingConfig, Authorization, Client, ClientConfig, Code, Now, Packet, Secret, ServerConfig,
};

const S: Duration = Duration::from_secs(1);
const CAUSE_LOST_CARRIER: u32 = 2;

fn secret() -> Secret {
    Secret::new(b"acct")
}

/// What the server has on its books.
#[derive(Debug, Clone)]
struct Row {
    at: Duration,
    status: u32,
    session: Vec<u8>,
    delay: u32,
    event: u32,
    octets: Vec<u8>,
}

impl Row {
    fn integer(&self, number: u8) -> Option<u32> {
        let packet = Packet::parse(&self.octets).unwrap();
        packet.first(number).map(|value| u32::from_be_bytes(value.try_into().unwrap()))
    }
}

struct World {
    accounting: Accounting,
    client: Client,
    start: Instant,
    now: Instant,
    answers: bool,
    rows: Vec<Row>,
    disk: BTreeMap<u64, Vec<u8>>,
    usage: Usage,
    sent: Vec<(Vec<u8>, u8)>,
}

fn client() -> Client {
    let server = ServerConfig::new("192.0.2.1:1813".parse().unwrap(), secret());
    Client::new(ClientConfig::new(Purpose::Accounting, vec![server]), [1; 32]).unwrap()
}

fn config() -> AccountingConfig {
    let nas = Nas { identifier: b"bng1".to_vec(), ..Nas::default() };
    AccountingConfig { nas, ..AccountingConfig::default() }
}

impl World {
    fn new(config: AccountingConfig) -> Self {
        let start = Instant::now();
        Self {
            accounting: Accounting::new(config, [2; 32]),
            client: client(),
            start,
            now: start,
            answers: true,
            rows: Vec::new(),
            disk: BTreeMap::new(),
            usage: Usage::default(),
            sent: Vec::new(),
        }
    }

    fn now(&self) -> Now {
        Now { at: self.now, unix_s: 1_700_000_000 + (self.now - self.start).as_secs() }
    }

    /// Calls the accounting, and carries out all that follows from it.
    fn call(&mut self, what: impl FnOnce(&mut Accounting, Now, &mut Vec<Action>)) {
        let mut out = Vec::new();
        let now = self.now();
        what(&mut self.accounting, now, &mut out);
        let mut rest: std::collections::VecDeque<Action> = out.into();
        while let Some(action) = rest.pop_front() {
            let mut out = Vec::new();
            match action {
                Action::Persist { id, octets } => drop(self.disk.insert(id, octets)),
                Action::Forget { id } => drop(self.disk.remove(&id)),
                Action::ReadUsage { session } => {
                    self.accounting.interim(self.now(), session, self.usage, &mut out);
                }
                Action::Submit { id, request } => {
                    let mut sent = Vec::new();
                    self.client.request(self.now, id, request, &mut sent).unwrap();
                    self.network(sent, &mut out);
                }
            }
            rest.extend(out);
        }
    }

    fn network(&mut self, actions: Vec<client::Action>, out: &mut Vec<Action>) {
        for action in actions {
            match action {
                client::Action::Send { socket, to, datagram } => {
                    let packet = Packet::parse(&datagram).unwrap();
                    if packet.code() == Code::ACCOUNTING_REQUEST {
                        self.sent.push((datagram[4..20].to_vec(), packet.id()));
                    }
                    if !self.answers {
                        continue;
                    }
                    let mut code = Code::ACCOUNTING_RESPONSE;
                    if packet.code() == Code::ACCOUNTING_REQUEST {
                        assert!(verify_request(&packet, &secret()));
                        packet.validate().unwrap();
                        self.book(&packet);
                    } else {
                        code = Code::ACCOUNTING_RESPONSE;
                    }
                    let reply = encode_reply(
                        code,
                        packet.id(),
                        packet.authenticator(),
                        false,
                        &AttributeList::new(),
                        &secret(),
                    );
                    let mut more = Vec::new();
                    self.client.handle(self.now, socket, to, &reply.unwrap(), &mut more).unwrap();
                    self.network(more, out);
                }
                client::Action::Answered { key, .. } => self.accounting.answered(self.now(), key, out),
                client::Action::Unreachable { key } => self.accounting.unanswered(self.now(), key, out),
                client::Action::ServerState { .. } => {}
            }
        }
    }

    fn book(&mut self, packet: &Packet<'_>) {
        let integer = |number| packet.first(number).map(|v| u32::from_be_bytes(v.try_into().unwrap())).unwrap();
        self.rows.push(Row {
            at: self.now - self.start,
            status: integer(number::ACCT_STATUS_TYPE),
            session: packet.first(number::ACCT_SESSION_ID).unwrap().to_vec(),
            delay: integer(number::ACCT_DELAY_TIME),
            event: integer(number::EVENT_TIMESTAMP),
            octets: packet.octets().to_vec(),
        });
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let next = [self.client.poll_timeout(), self.accounting.poll_timeout()].into_iter().flatten().min();
            let Some(next) = next.filter(|at| *at <= end) else { break };
            self.now = self.now.max(next);
            let mut actions = Vec::new();
            self.client.handle_timeout(self.now, &mut actions);
            self.call(|accounting, now, out| accounting.handle_timeout(now, out));
            let mut out = Vec::new();
            self.network(actions, &mut out);
            self.call(|_, _, more| more.append(&mut out));
        }
        self.now = end;
    }

    fn of(&self, status: Kind) -> Vec<&Row> {
        self.rows.iter().filter(|row| row.status == status as u32).collect()
    }
}

fn record(session: u64) -> SessionRecord {
    let subscriber = Subscriber {
        user_name: format!("user{session}@example.net").into_bytes(),
        acct_session_id: format!("{session:08x}").into_bytes(),
        ..Subscriber::default()
    };
    SessionRecord { subscriber, authentic: 1, ..SessionRecord::default() }
}

fn usage(input: u64, output: u64) -> Usage {
    let ipv4 = Counts { input_octets: input, output_octets: output, input_packets: 10, output_packets: 20 };
    Usage { ipv4, ..Usage::default() }
}

#[test]
fn p37_octets_across_32_bits() {
    for (octets, low, high) in [(4_294_967_295, 4_294_967_295, 0), (4_294_967_296, 0, 1), (4_294_967_396, 100, 1)] {
        let mut world = World::new(config());
        world.call(|a, now, out| a.start(now, 1, &record(1), Some(600), out));
        world.usage = usage(octets, 7);
        world.pass(601 * S);
        // Half of it by IPv6: together they are the same.
        world.call(|a, now, out| {
            let ipv6 = Counts { output_octets: octets - 7, ..Counts::default() };
            a.stop(now, 1, Usage { ipv6, ..usage(octets, 7) }, CAUSE_LOST_CARRIER, out);
        });
        for row in world.rows.iter().filter(|row| row.status != Kind::Start as u32) {
            let input = (row.integer(number::ACCT_INPUT_OCTETS), row.integer(number::ACCT_INPUT_GIGAWORDS));
            assert_eq!(input, (Some(low), Some(high)));
        }
        let stop = world.of(Kind::Stop)[0].clone();
        let output = (stop.integer(number::ACCT_OUTPUT_OCTETS), stop.integer(number::ACCT_OUTPUT_GIGAWORDS));
        assert_eq!(output, (Some(low), Some(high)));
        assert_eq!(stop.integer(number::ACCT_INPUT_PACKETS), Some(10));
        assert_eq!(stop.integer(number::ACCT_OUTPUT_PACKETS), Some(20));
        assert_eq!(stop.integer(number::ACCT_TERMINATE_CAUSE), Some(CAUSE_LOST_CARRIER));
        assert_eq!(stop.integer(number::ACCT_SESSION_TIME), Some(601));
        let packet = Packet::parse(&stop.octets).unwrap();
        let apart = |number| {
            let found = packet.flat().find(|a| a.vendor == VENDOR_BNGD && a.number == number).unwrap();
            u64::from_be_bytes(found.value.try_into().unwrap())
        };
        assert_eq!(apart(number::BNGD_IPV4_INPUT_OCTETS), octets);
        assert_eq!(apart(number::BNGD_IPV6_OUTPUT_OCTETS), octets - 7);
    }
}

#[test]
fn p37_values_never_go_down() {
    let mut world = World::new(config());
    world.call(|a, now, out| a.start(now, 1, &record(1), None, out));
    world.call(|a, now, out| a.interim(now, 1, usage(1000, 500), out));
    world.call(|a, now, out| a.stop(now, 1, usage(10, 600), 1, out));
    let stop = world.of(Kind::Stop)[0];
    assert_eq!(stop.integer(number::ACCT_INPUT_OCTETS), Some(1000));
    assert_eq!(stop.integer(number::ACCT_OUTPUT_OCTETS), Some(600));
}

#[test]
fn p58_class_and_user_name_are_echoed() {
    let classes = vec![vec![0x41, 0, 0x42, 0xff], vec![7; 253]];
    let real = b"user1-real@example.net".to_vec();
    let authorization =
        Authorization { classes: classes.clone(), user_name: Some(real.clone()), ..Authorization::default() };
    for (authorization, classes, name) in
        [(authorization, classes, real), (Authorization::default(), vec![], b"user1@example.net".to_vec())]
    {
        let record = SessionRecord::new(record(1).subscriber, &authorization);
        let mut world = World::new(config());
        world.call(|a, now, out| a.start(now, 1, &record, None, out));
        world.call(|a, now, out| a.interim(now, 1, usage(1, 1), out));
        world.call(|a, now, out| a.stop(now, 1, usage(1, 1), 1, out));
        assert_eq!(world.rows.iter().map(|row| row.status).collect::<Vec<_>>(), [1, 3, 2]);
        for row in &world.rows {
            let packet = Packet::parse(&row.octets).unwrap();
            let found: Vec<_> =
                packet.attributes().filter(|a| a.number == number::CLASS).map(|a| a.value.to_vec()).collect();
            assert_eq!(found, classes);
            assert_eq!(packet.first(number::USER_NAME), Some(&name[..]));
        }
    }
}

#[test]
fn p61_which_interval_is_in_force() {
    for (local, server, from, to) in [
        (None, Some(600), 540, 600),
        (None, Some(30), 60, 66),
        (None, Some(0), 0, 0),
        (None, None, 0, 0),
        (Some(300), Some(600), 270, 300),
        (Some(300), None, 270, 300),
        (Some(10), Some(600), 60, 66),
    ] {
        let mut world = World::new(AccountingConfig { interim_interval: local.map(Duration::from_secs), ..config() });
        world.call(|a, now, out| a.start(now, 1, &record(1), server, out));
        world.pass(Duration::from_secs(7200));
        let mut before = Duration::ZERO;
        let interims = world.of(Kind::Interim);
        assert_eq!(interims.is_empty(), to == 0, "{local:?} {server:?}");
        for row in interims {
            let between = row.at - before;
            before = row.at;
            let range = Duration::from_secs(from)..=Duration::from_secs(to);
            assert!(range.contains(&between), "{local:?} {server:?}: {between:?}");
        }
    }
}

#[test]
fn p61_interims_are_spread_and_resume_after_an_outage() {
    let mut world = World::new(config());
    for session in 0..1000 {
        world.call(|a, now, out| a.start(now, session, &record(session), Some(600), out));
    }
    world.pass(601 * S);
    let mut by_second: HashMap<u64, u32> = HashMap::new();
    for row in world.of(Kind::Interim) {
        *by_second.entry(row.at.as_secs()).or_default() += 1;
    }
    assert_eq!(by_second.values().sum::<u32>(), 1000);
    assert!(*by_second.values().max().unwrap() < 50, "a burst: {by_second:?}");
    world.answers = false;
    world.pass(1300 * S);
    // One interim for each session at most, however long the outage.
    assert!(world.accounting.queued() <= 1000, "{}", world.accounting.queued());
    world.answers = true;
    world.rows.clear();
    world.usage = usage(5, 5);
    world.pass(600 * S);
    let seen: HashSet<_> = world.of(Kind::Interim).iter().map(|row| row.session.clone()).collect();
    assert_eq!(seen.len(), 1000);
    assert_eq!(world.accounting.counters().dropped, [0; 5]);
}

#[test]
fn p62_each_stop_is_delivered_once_with_its_true_delay() {
    let mut world = World::new(config());
    for session in 0..2000 {
        world.call(|a, now, out| a.start(now, session, &record(session), None, out));
    }
    assert_eq!(world.of(Kind::Start).len(), 2000);
    world.answers = false;
    world.sent.clear();
    for session in 0..2000 {
        world.call(|a, now, out| a.stop(now, session, usage(1, 1), 1, out));
        world.pass(S / 5);
    }
    assert_eq!(world.disk.len(), 2000, "each Stop is on disk");
    world.pass(200 * S);
    let different: HashSet<_> = world.sent.iter().map(|(authenticator, _)| authenticator.clone()).collect();
    assert!(different.len() > 5, "a new packet for each attempt: {}", different.len());
    assert!(world.client.outstanding() <= 256, "{}", world.client.outstanding());
    assert!(world.client.sockets(0) <= 9, "{}", world.client.sockets(0));
    world.answers = true;
    world.pass(120 * S);
    let stops = world.of(Kind::Stop);
    let sessions: HashSet<_> = stops.iter().map(|row| row.session.clone()).collect();
    assert_eq!((stops.len(), sessions.len()), (2000, 2000));
    for stop in stops {
        let age = 1_700_000_000 + stop.at.as_secs() - u64::from(stop.event);
        assert!(age.abs_diff(u64::from(stop.delay)) <= 2, "{stop:?}");
    }
    assert!(world.disk.is_empty());
    assert_eq!((world.accounting.queued(), world.accounting.queued_octets()), (0, 0));
}

#[test]
fn p62_over_the_limit_the_oldest_is_dropped_and_counted() {
    let mut world = World::new(AccountingConfig { entries_max: 100, ..config() });
    world.answers = false;
    for session in 0..500 {
        world.call(|a, now, out| a.start(now, session, &record(session), None, out));
        world.call(|a, now, out| a.stop(now, session, usage(1, 1), 1, out));
    }
    assert!(world.accounting.queued() <= 100);
    world.pass(100 * S);
    world.answers = true;
    world.pass(200 * S);
    let counters = *world.accounting.counters();
    let (queued, delivered, dropped): (u64, u64, u64) =
        (counters.queued.iter().sum(), counters.delivered.iter().sum(), counters.dropped.iter().sum());
    assert_eq!(queued, 1000);
    assert_eq!(queued, delivered + dropped);
    assert!(dropped >= 700, "{counters:?}");
    let newest = format!("{:08x}", 499).into_bytes();
    assert!(world.of(Kind::Stop).iter().any(|row| row.session == newest), "the newest is kept");
}

#[test]
fn what_was_kept_is_replayed_after_a_restart_once_and_in_order() {
    let mut world = World::new(config());
    world.answers = false;
    for session in 0..300 {
        world.call(|a, now, out| a.start(now, session, &record(session), None, out));
        world.call(|a, now, out| a.stop(now, session, usage(session, 1), 1, out));
    }
    world.pass(40 * S);
    world.call(|a, _, out| a.persist_all(out));
    assert_eq!(world.disk.len(), 600);
    // The process ends; another one starts 100 s later.
    let disk = world.disk.clone();
    world.now += 100 * S;
    world.accounting = Accounting::new(config(), [3; 32]);
    world.client = client();
    world.answers = true;
    let now = world.now();
    for (id, octets) in &disk {
        world.accounting.restore(now, *id, octets);
    }
    world.call(|a, now, out| a.on(now, out));
    world.pass(10 * S);
    assert_eq!(world.rows.len(), 601);
    assert_eq!(world.rows.last().unwrap().status, Kind::On as u32, "after all that happened before");
    let mut before: HashMap<Vec<u8>, u32> = HashMap::new();
    for row in &world.rows[..600] {
        assert!((138..=142).contains(&row.delay), "{}", row.delay);
        let last = before.insert(row.session.clone(), row.status);
        assert_eq!(last, if row.status == Kind::Start as u32 { None } else { Some(Kind::Start as u32) });
    }
    assert!(world.disk.is_empty());
    for noise in [&[][..], &[1], &[9; 40], &[1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 1]] {
        world.accounting.restore(now, 9_999, noise);
    }
    assert_eq!(world.accounting.counters().unreadable, 4);
}

#[test]
fn a_change_is_told_at_once() {
    let mut world = World::new(config());
    world.call(|a, now, out| a.start(now, 1, &record(1), None, out));
    let mut changed = record(1);
    changed.delegated_prefixes.push(("2001:db8:100::".parse().unwrap(), 56));
    changed.ipv4 = Some("198.51.100.7".parse().unwrap());
    world.call(|a, now, out| a.changed(now, 1, &changed, usage(1, 1), out));
    let row = world.of(Kind::Interim)[0];
    let packet = Packet::parse(&row.octets).unwrap();
    assert_eq!(packet.first(number::DELEGATED_IPV6_PREFIX), Some(&[0, 56, 0x20, 1, 0x0d, 0xb8, 1, 0, 0][..]));
    assert_eq!(packet.first(number::FRAMED_IP_ADDRESS), Some(&[198, 51, 100, 7][..]));
}

#[test]
fn sessions_taken_over_are_spread_over_the_whole_interval() {
    let mut world = World::new(config());
    for session in 0..1000 {
        let now = world.now();
        world.accounting.resume(now, session, &record(session), Some(600), 3600 * S, usage(9, 9));
    }
    world.pass(300 * S);
    let half = world.of(Kind::Interim).len();
    assert!((400..600).contains(&half), "{half}");
    assert!(world.of(Kind::Start).is_empty());
    assert!(world.of(Kind::Interim)[0].integer(number::ACCT_SESSION_TIME) >= Some(3600));
}

#[test]
fn an_accounting_on_that_nobody_answers_blocks_nothing_for_ever() {
    let mut world = World::new(config());
    world.answers = false;
    world.call(|a, now, out| a.on(now, out));
    world.call(|a, now, out| a.start(now, 1, &record(1), None, out));
    world.pass(300 * S);
    world.answers = true;
    world.pass(120 * S);
    assert_eq!(world.of(Kind::Start).len(), 1);
    assert!(world.of(Kind::On).is_empty());
}
