//! Two peers under a virtual clock with loss, repetition, delay and reordering: our side, and a client that follows
//! RFC 1661 to the letter. However bad the line was, once it is calm again the link ends up Opened, or is over.

use crate::harness::*;
use bng_ppp::automaton::{Act, Event, State, transition};
use bng_ppp::{Action, AuthMethod, EndCause, Ppp, PppConfig};
use bng_wire::ppp::protocol::{CHAP, IPCP, LCP, PAP};
use bng_wire::ppp::{Options, Packet};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const RESTART: Duration = Duration::from_secs(3);

#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    pub(crate) auth: Vec<AuthMethod>,
    /// Methods that the client takes.
    pub(crate) client_auth: Vec<AuthMethod>,
    /// How long the line is bad.
    pub(crate) bad_for: Duration,
    /// Chances in 256, while the line is bad.
    pub(crate) loss: u8,
    pub(crate) repetition: u8,
    /// Delay of a packet is a random share of this while the line is bad: packets overtake each other.
    pub(crate) jitter: Duration,
    pub(crate) upstream_delay: Duration,
    /// MRU that the client asks for at first; 0 for none.
    pub(crate) client_mru: u16,
    pub(crate) client_wants_compression: bool,
    pub(crate) verdict_after: Duration,
    /// The client starts LCP anew at this time.
    pub(crate) client_restarts_at: Option<Duration>,
}

impl Scenario {
    pub(crate) fn calm() -> Self {
        Self {
            seed: 0,
            auth: vec![AuthMethod::ChapMd5, AuthMethod::Pap],
            client_auth: vec![AuthMethod::ChapMd5, AuthMethod::Pap],
            bad_for: Duration::ZERO,
            loss: 0,
            repetition: 0,
            jitter: Duration::ZERO,
            upstream_delay: Duration::ZERO,
            client_mru: 1492,
            client_wants_compression: false,
            verdict_after: Duration::ZERO,
            client_restarts_at: None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Outcome {
    /// IPCP is Opened on both sides.
    pub(crate) opened: bool,
    pub(crate) ended: Option<EndCause>,
    /// Until the link was in that state for good.
    pub(crate) time: Duration,
    /// Packets on the line, both ways.
    pub(crate) packets: u32,
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn chance(&mut self, of_256: u8) -> bool {
        self.next() % 256 < u64::from(of_256)
    }
}

/// One automaton of the client.
struct ClientLayer {
    protocol: u16,
    state: State,
    left: u8,
    id: u8,
    options: Vec<(u8, Vec<u8>)>,
    initial: Vec<(u8, Vec<u8>)>,
    outstanding: bool,
    fresh: bool,
    restart_at: Option<Instant>,
}

impl ClientLayer {
    fn new(protocol: u16, options: Vec<(u8, Vec<u8>)>) -> Self {
        Self {
            protocol,
            state: State::Initial,
            left: 0,
            id: 0,
            initial: options.clone(),
            options,
            outstanding: false,
            fresh: true,
            restart_at: None,
        }
    }

    fn request(&self) -> Vec<u8> {
        let options: Vec<u8> = self
            .options
            .iter()
            .flat_map(|(kind, value)| [&[*kind, u8::try_from(value.len() + 2).unwrap()], &value[..]].concat())
            .collect();
        packet(1, self.id, &options)
    }

    fn run(&mut self, event: Event, received: Option<&[u8]>, refusal: Option<Vec<u8>>, now: Instant, out: &mut Line) {
        let before = self.state;
        let Some(cell) = transition(before, event) else { return };
        self.state = cell.next;
        let id = received.map_or(0, |packet| packet[1]);
        for act in cell.acts.into_iter().flatten() {
            match act {
                Act::Irc => self.left = if cell.has(Act::Str) { 2 } else { 10 },
                Act::Scr => {
                    if !matches!(before, State::ReqSent | State::AckRcvd | State::AckSent) {
                        self.options = self.initial.clone();
                        self.fresh = true;
                    }
                    if self.fresh {
                        self.id = self.id.wrapping_add(1);
                        self.fresh = false;
                    }
                    self.outstanding = true;
                    self.left = self.left.saturating_sub(1);
                    self.restart_at = Some(now + RESTART);
                    out.up.push((self.protocol, self.request()));
                }
                Act::Sca => out.up.push((self.protocol, ack_of(received.unwrap()))),
                Act::Scn => out.up.push((self.protocol, refusal.clone().unwrap())),
                Act::Str => {
                    self.left = self.left.saturating_sub(1);
                    self.restart_at = Some(now + RESTART);
                    out.up.push((self.protocol, packet(5, id, &[])));
                }
                Act::Sta => out.up.push((self.protocol, packet(6, id, &[]))),
                Act::Zrc => {
                    self.left = 0;
                    self.restart_at = Some(now + RESTART);
                }
                Act::Tlu | Act::Tld | Act::Tlf | Act::Tls | Act::Scj | Act::Ser => {}
            }
        }
        if !self.state.has_restart_timer() {
            self.restart_at = None;
        }
    }

    fn timeout(&mut self, now: Instant, out: &mut Line) {
        let event = if self.left > 0 { Event::TimeoutRetry } else { Event::TimeoutLast };
        self.run(event, None, None, now, out);
    }

    /// An answer to this layer's request.
    fn answered(&mut self, octets: &[u8], now: Instant, out: &mut Line) {
        if !self.outstanding || octets[1] != self.id {
            return;
        }
        let answer = Packet::parse(octets).unwrap();
        if answer.code == 2 && answer.data != &self.request()[4..] {
            return;
        }
        for option in Options::parse(answer.data).unwrap() {
            match answer.code {
                3 => self
                    .options
                    .iter_mut()
                    .filter(|own| own.0 == option.kind)
                    .for_each(|own| own.1 = option.value.to_vec()),
                4 => self.options.retain(|own| own.0 != option.kind),
                _ => {}
            }
        }
        self.outstanding = false;
        self.fresh = true;
        let event = if answer.code == 2 { Event::ConfigureAck } else { Event::ConfigureNak };
        self.run(event, Some(octets), None, now, out);
    }
}

/// Packets just sent upstream.
#[derive(Default)]
struct Line {
    up: Vec<(u16, Vec<u8>)>,
}

struct Client {
    lcp: ClientLayer,
    ipcp: ClientLayer,
    auth: Vec<AuthMethod>,
    agreed: Option<AuthMethod>,
    authenticated: bool,
    pap_at: Option<Instant>,
    pap_id: u8,
}

impl Client {
    fn new(scenario: &Scenario) -> Self {
        let magic = scenario.seed.to_be_bytes()[4..].to_vec();
        let mut lcp = vec![(5, magic)];
        if scenario.client_mru != 0 {
            lcp.insert(0, (1, scenario.client_mru.to_be_bytes().to_vec()));
        }
        if scenario.client_wants_compression {
            lcp.extend([(7, vec![]), (8, vec![])]);
        }
        let ipcp = vec![(3, vec![0; 4]), (129, vec![0; 4]), (131, vec![0; 4])];
        Self {
            lcp: ClientLayer::new(LCP, lcp),
            ipcp: ClientLayer::new(IPCP, ipcp),
            auth: scenario.client_auth.clone(),
            agreed: None,
            authenticated: false,
            pap_at: None,
            pap_id: 0,
        }
    }

    fn address(&self) -> Option<Vec<u8>> {
        let address = self.ipcp.options.iter().find(|option| option.0 == 3)?.1.clone();
        (self.ipcp.state == State::Opened).then_some(address)
    }

    /// What follows from LCP having come up or gone down.
    fn follow(&mut self, was: State, now: Instant, out: &mut Line) {
        if was == State::Opened && self.lcp.state != State::Opened {
            self.authenticated = false;
            self.pap_at = None;
            self.ipcp.run(Event::Down, None, None, now, out);
            self.ipcp.run(Event::Close, None, None, now, out);
        }
        if was != State::Opened && self.lcp.state == State::Opened && self.agreed == Some(AuthMethod::Pap) {
            self.send_pap(now, out);
        }
    }

    fn send_pap(&mut self, now: Instant, out: &mut Line) {
        self.pap_id = self.pap_id.wrapping_add(1);
        self.pap_at = Some(now + RESTART);
        out.up.push((PAP, packet(1, self.pap_id, b"\x05user1\x05pass1")));
    }

    fn success(&mut self, now: Instant, out: &mut Line) {
        if self.lcp.state == State::Opened && !self.authenticated {
            self.authenticated = true;
            self.pap_at = None;
            self.ipcp.run(Event::Open, None, None, now, out);
            self.ipcp.run(Event::Up, None, None, now, out);
        }
    }

    fn take(&mut self, protocol: u16, octets: &[u8], now: Instant, out: &mut Line) {
        let received = Packet::parse(octets).unwrap();
        let was = self.lcp.state;
        match (protocol, received.code) {
            (LCP, 1) => {
                let auth = option(octets, 3).unwrap();
                let offered = if auth[0] == 0xc2 { AuthMethod::ChapMd5 } else { AuthMethod::Pap };
                if self.auth.contains(&offered) {
                    self.agreed = Some(offered);
                    self.lcp.run(Event::ConfigureRequestGood, Some(octets), None, now, out);
                } else {
                    let wanted: &[u8] =
                        if self.auth == [AuthMethod::Pap] { &[3, 4, 0xc0, 0x23] } else { &[3, 5, 0xc2, 0x23, 5] };
                    let nak = answer_to(octets, 3, wanted);
                    self.lcp.run(Event::ConfigureRequestBad, Some(octets), Some(nak), now, out);
                }
            }
            (LCP, 2..=4) => self.lcp.answered(octets, now, out),
            (LCP, 5) => self.lcp.run(Event::TerminateRequest, Some(octets), None, now, out),
            (LCP, 6) => self.lcp.run(Event::TerminateAck, Some(octets), None, now, out),
            (LCP, 9) if self.lcp.state == State::Opened => out.up.push((LCP, packet(10, received.id, &[0; 4]))),
            (CHAP, 1) if self.lcp.state == State::Opened => {
                use md5::{Digest, Md5};
                let value: [u8; 16] = Md5::new()
                    .chain_update([received.id])
                    .chain_update(b"pass1")
                    .chain_update(&octets[5..21])
                    .finalize()
                    .into();
                out.up.push((CHAP, packet(2, received.id, &[&[16], &value[..], b"user1"].concat())));
            }
            (CHAP, 3) => self.success(now, out),
            (PAP, 2) if received.id == self.pap_id => self.success(now, out),
            (IPCP, 1) => self.ipcp.run(Event::ConfigureRequestGood, Some(octets), None, now, out),
            (IPCP, 2..=4) => self.ipcp.answered(octets, now, out),
            (IPCP, 5) => self.ipcp.run(Event::TerminateRequest, Some(octets), None, now, out),
            (IPCP, 6) => self.ipcp.run(Event::TerminateAck, Some(octets), None, now, out),
            _ => {}
        }
        self.follow(was, now, out);
    }

    fn due(&self) -> Option<Instant> {
        [self.lcp.restart_at, self.ipcp.restart_at, self.pap_at].into_iter().flatten().min()
    }

    fn timeout(&mut self, now: Instant, out: &mut Line) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(self.lcp.restart_at) {
            self.lcp.timeout(now, out);
        }
        if due(self.ipcp.restart_at) {
            self.ipcp.timeout(now, out);
        }
        if due(self.pap_at) {
            self.send_pap(now, out);
        }
    }
}

enum Arrival {
    Up(u16, Vec<u8>),
    Down(u16, Vec<u8>),
    Verdict(u32),
    Restart,
}

/// Runs a scenario for 400 virtual seconds.
pub(crate) fn run(scenario: &Scenario) -> Outcome {
    let config = PppConfig { auth: scenario.auth.clone(), ..PppConfig::default() };
    let begin = Instant::now();
    let end = begin + Duration::from_secs(400);
    let mut now = begin;
    let mut random = Random(scenario.seed);
    let mut ppp = Ppp::new(Arc::new(config), 1492, random.next());
    let mut client = Client::new(scenario);
    let mut queue: BTreeMap<(Instant, u64), Arrival> = BTreeMap::new();
    let mut serial = 0;
    let mut outcome = Outcome { opened: false, ended: None, time: Duration::ZERO, packets: 0 };
    let mut settled = None;

    let mut line = Line::default();
    let mut actions = Vec::new();
    ppp.start(now, &mut actions);
    client.lcp.run(Event::Open, None, None, now, &mut line);
    client.lcp.run(Event::Up, None, None, now, &mut line);
    if let Some(at) = scenario.client_restarts_at {
        queue.insert((begin + at, u64::MAX), Arrival::Restart);
    }
    loop {
        let mut arrivals = Vec::new();
        for (protocol, payload) in line.up.drain(..) {
            arrivals.push((scenario.upstream_delay, Arrival::Up(protocol, payload)));
        }
        for action in actions.drain(..) {
            match action {
                Action::Send { protocol, payload } => arrivals.push((Duration::ZERO, Arrival::Down(protocol, payload))),
                Action::Authenticate(request) => {
                    serial += 1;
                    queue.insert((now + scenario.verdict_after, serial), Arrival::Verdict(request.transaction));
                }
                Action::Ended(cause) => outcome.ended = Some(cause),
                _ => {}
            }
        }
        for (delay, arrival) in arrivals {
            outcome.packets += 1;
            assert!(outcome.packets < 5000, "a storm of packets");
            let bad = now < begin + scenario.bad_for;
            if bad && random.chance(scenario.loss) {
                continue;
            }
            let copies = if bad && random.chance(scenario.repetition) { 2 } else { 1 };
            for _ in 0..copies {
                let jitter =
                    if bad { scenario.jitter.mul_f64((random.next() % 1000) as f64 / 1000.0) } else { Duration::ZERO };
                serial += 1;
                let arrival = match &arrival {
                    Arrival::Up(protocol, payload) => Arrival::Up(*protocol, payload.clone()),
                    Arrival::Down(protocol, payload) => Arrival::Down(*protocol, payload.clone()),
                    _ => continue,
                };
                queue.insert((now + delay + jitter + Duration::from_micros(500), serial), arrival);
            }
        }
        let opened = ppp.states()[1] == State::Opened && client.address() == Some(vec![192, 0, 2, 10]);
        if opened != outcome.opened || settled.is_none() || (outcome.ended.is_some() && settled != Some(true)) {
            outcome.time = now - begin;
        }
        settled = Some(outcome.ended.is_some());
        outcome.opened = opened;

        let arrival_at = queue.keys().next().map(|key| key.0);
        let Some(next) = [arrival_at, ppp.poll_timeout(), client.due()].into_iter().flatten().min() else { break };
        if next > end {
            break;
        }
        now = now.max(next);
        if arrival_at.is_some_and(|at| at <= now) {
            match queue.pop_first().unwrap().1 {
                Arrival::Up(protocol, payload) => {
                    let _ = ppp.handle(now, protocol, &payload, &mut actions);
                }
                Arrival::Down(protocol, payload) => client.take(protocol, &payload, now, &mut line),
                Arrival::Verdict(transaction) => ppp.auth_result(now, transaction, accept(), &mut actions),
                Arrival::Restart => {
                    let was = client.lcp.state;
                    client.lcp.run(Event::Down, None, None, now, &mut line);
                    client.follow(was, now, &mut line);
                    client.lcp.run(Event::Up, None, None, now, &mut line);
                }
            }
        } else if ppp.poll_timeout().is_some_and(|at| at <= now) {
            ppp.handle_timeout(now, &mut actions);
        } else {
            client.timeout(now, &mut line);
        }
    }
    outcome
}

#[test]
fn on_a_calm_line_the_link_is_up_at_once() {
    for (auth, client_auth) in [
        (vec![AuthMethod::ChapMd5, AuthMethod::Pap], vec![AuthMethod::ChapMd5]),
        (vec![AuthMethod::ChapMd5, AuthMethod::Pap], vec![AuthMethod::Pap]),
        (vec![AuthMethod::Pap], vec![AuthMethod::Pap]),
    ] {
        let result =
            run(&Scenario { auth, client_auth, client_mru: 1500, client_wants_compression: true, ..Scenario::calm() });
        assert!(result.opened, "{result:?}");
        assert!(result.time < Duration::from_millis(50), "{result:?}");
    }
}

#[test]
fn a_client_that_takes_no_allowed_method_is_sent_away() {
    let auth = vec![AuthMethod::ChapMd5];
    let result = run(&Scenario { auth, client_auth: vec![AuthMethod::Pap], ..Scenario::calm() });
    assert_eq!(result.ended, Some(EndCause::AuthRefused));
}

fn scenarios() -> impl Strategy<Value = Scenario> {
    let methods = prop_oneof![
        Just(vec![AuthMethod::ChapMd5, AuthMethod::Pap]),
        Just(vec![AuthMethod::ChapMd5]),
        Just(vec![AuthMethod::Pap])
    ];
    let line = (0u64..40, 0u8..150, 0u8..80, 0u64..4000);
    let client = (prop_oneof![Just(0u16), Just(1492), Just(1500), Just(1400)], any::<bool>(), 0u64..8000);
    let restart = proptest::option::of(0u64..60_000);
    (any::<u64>(), methods.clone(), methods, line, client, restart).prop_map(
        |(
            seed,
            auth,
            client_auth,
            (bad_s, loss, repetition, jitter_ms),
            (mru, compression, verdict_ms),
            restart_ms,
        )| {
            Scenario {
                seed,
                auth,
                client_auth,
                bad_for: Duration::from_secs(bad_s),
                loss,
                repetition,
                jitter: Duration::from_millis(jitter_ms),
                upstream_delay: Duration::ZERO,
                client_mru: mru,
                client_wants_compression: compression,
                verdict_after: Duration::from_millis(verdict_ms),
                client_restarts_at: restart_ms.map(Duration::from_millis),
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_link_ends_up_opened_or_over(scenario in scenarios()) {
        let result = run(&scenario);
        prop_assert!(result.opened != result.ended.is_some(), "{:?}", result);
        // The line is calm from 40 s on and the client has restarted by 60 s. What came late may have to be
        // repeated by the restart timer, and a verdict may take 8 s.
        prop_assert!(result.time < Duration::from_secs(200), "{:?}", result);
    }
}

#[test]
fn repetitions_of_a_request_whose_naks_were_lost_do_not_cost_the_client_its_address() {
    // On this line the client's first IPCP request was repeated so often that its address was rejected in the end.
    let bad_for = Duration::from_secs(33);
    let seed = 6_245_114_727_232_417_139;
    let result = run(&Scenario { seed, bad_for, loss: 74, repetition: 7, client_mru: 1400, ..Scenario::calm() });
    assert!(result.opened, "{result:?}");
}

/// Without this, the property above could hold because every link is given up.
#[test]
fn most_links_survive_a_bad_line() {
    let mut opened = 0;
    for seed in 0..500 {
        let mut random = Random(seed);
        let mut below = |limit: u64| random.next() % limit;
        let scenario = Scenario {
            seed,
            bad_for: Duration::from_secs(below(40)),
            loss: below(150) as u8,
            repetition: below(80) as u8,
            jitter: Duration::from_millis(below(4000)),
            client_restarts_at: Some(Duration::from_millis(below(60_000))),
            ..Scenario::calm()
        };
        opened += u32::from(run(&scenario).opened);
    }
    println!("{opened} of 500 links are up after a bad line");
    assert!(opened >= 480, "{opened} of 500");
}
