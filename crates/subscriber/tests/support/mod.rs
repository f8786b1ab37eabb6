//! A small world: subscribers, clients, lines between them, a model of the forwarding plane, and a virtual clock.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use bng_pool::{Ipv4PoolConfig, Ipv4Range};
use bng_session::{SessionIndex, SessionSpec, SessionTotals};
use bng_subscriber::{
    AaaVerdict, AccessPort, AccessRule, Action, AuthFailure, Authorization, Environment, EventKind, Input, Ipv4Profile,
    LocalUser, Pool, PoolIndex, PoolKind, Profile, ProfileIndex, SessionEvent, SubscriberConfig, SubscriberKey,
    Subscribers, VidRange, VlanMatch,
};
use bng_testkit::sim::{Agenda, Chance, LineQuality};
use bng_testkit::{Client, ClientConfig, ClientState, Datagram, parse_datagram};
use bng_wire::{MacAddr, PortIndex, VlanStack, VlanTag, VrfId};
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub const AC: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xfe]);
pub const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);

pub fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Two ports, untagged, single-tagged and double-tagged lines, one pool 192.0.2.2-192.0.2.254, users 1 to 300.
pub fn config() -> SubscriberConfig {
    let mut profile = Profile::new("residential");
    profile.ipv4 = Some(Ipv4Profile {
        gateway: Ipv4Addr::new(192, 0, 2, 1),
        pools: vec![PoolIndex(0)],
        dns: [Some(Ipv4Addr::new(203, 0, 113, 53)), Some(Ipv4Addr::new(203, 0, 113, 54))],
        nbns: [None, None],
    });
    let range = Ipv4Range::new(Ipv4Addr::new(192, 0, 2, 2), Ipv4Addr::new(192, 0, 2, 254)).unwrap();
    SubscriberConfig {
        ports: (0..2)
            .map(|port| AccessPort { port: PortIndex(port), mac: AC, max_payload_by_tags: [1500, 1500, 1496] })
            .collect(),
        access: (0..2)
            .flat_map(|port| {
                [
                    VlanMatch::Untagged,
                    VlanMatch::Single { tpid: 0x8100, vids: VidRange { first: 100, last: 200 } },
                    VlanMatch::Double { tpid: 0x88a8, outer: VidRange { first: 100, last: 200 }, inner: VidRange::ANY },
                ]
                .map(|vlans| AccessRule { port: PortIndex(port), vlans, profile: ProfileIndex(0) })
            })
            .collect(),
        profiles: vec![profile],
        pools: vec![Pool {
            name: "pool4".into(),
            vrf: VrfId(0),
            kind: PoolKind::Ipv4(Ipv4PoolConfig::range(range, Some(Ipv4Addr::new(192, 0, 2, 1)))),
        }],
        users: (0..300).map(|n| LocalUser::new(&format!("user{n}@example.net"), "secret")).collect(),
        cookie_key: [7; 32],
        ..SubscriberConfig::default()
    }
}

/// What a worker would do with a data frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    Forwarded(SubscriberKey, Datagram),
    /// Known session, and not let through.
    Dropped(&'static str),
}

/// The forwarding plane as far as the subscribers' actions make it, each checked for sense.
#[derive(Debug, Default)]
pub struct Plane {
    pub sessions: HashMap<SubscriberKey, SessionSpec>,
    by_id: HashMap<(PortIndex, u16, u16), SubscriberKey>,
    pub addresses: HashMap<(PoolIndex, u32), SubscriberKey>,
    pub routes: HashMap<Ipv4Addr, SubscriberKey>,
    /// Taken out, and not yet reported as removed.
    removing: HashMap<SubscriberKey, SessionSpec>,
    pub upstream: Arc<Mutex<HashMap<u32, u64>>>,
    /// Echoes that the workers answered, by slot.
    pub client_echoes: Arc<Mutex<HashMap<u32, u64>>>,
}

#[derive(Debug)]
enum Happening {
    ToAc(PortIndex, Vec<u8>),
    ToClients(PortIndex, Vec<u8>),
    ClientTimer(usize),
    Removed(SubscriberKey),
}

/// What a remote AAA says of a user.
pub type Decide = fn(&str) -> Result<Authorization, AuthFailure>;

/// A frame on the wire of an access port.
#[derive(Debug, Clone)]
pub struct Seen {
    pub at: Instant,
    pub port: PortIndex,
    pub from_ac: bool,
    pub frame: Vec<u8>,
}

pub struct World {
    pub now: Instant,
    pub start: Instant,
    pub subscribers: Subscribers,
    pub clients: Vec<Client>,
    client_port: Vec<PortIndex>,
    armed: Vec<Option<Instant>>,
    by_mac: HashMap<(PortIndex, MacAddr), Vec<usize>>,
    agenda: Agenda<Happening>,
    pub chance: Chance,
    pub quality: LineQuality,
    /// From [`Action::Remove`] to [`Input::Removed`].
    pub grace: Duration,
    pub plane: Plane,
    pub fates: Vec<(Instant, Fate)>,
    pub events: Vec<(Instant, SessionEvent)>,
    pub keep_wire: bool,
    pub wire: Vec<Seen>,
    /// Audit after every input; else after every so many.
    pub audit_every: u64,
    steps: u64,
    /// What the owner answers to credential checks, if it does.
    pub aaa: Option<Decide>,
    pub aaa_requests: Vec<bng_subscriber::RequestId>,
}

impl World {
    pub fn new(config: SubscriberConfig, seed: u64) -> Self {
        let now = Instant::now();
        let upstream = Arc::new(Mutex::new(HashMap::new()));
        let counters = Arc::clone(&upstream);
        let client_echoes = Arc::new(Mutex::new(HashMap::<u32, u64>::new()));
        let echoes = Arc::clone(&client_echoes);
        let mut random = Chance::new(seed ^ 0x5eed);
        let environment = Environment {
            random: Box::new(move |buffer| random.fill(buffer)),
            client_echoes: Box::new(move |index: SessionIndex| {
                echoes.lock().unwrap().get(&index.0).copied().unwrap_or(0)
            }),
            upstream_packets: Box::new(move |index: SessionIndex| {
                counters.lock().unwrap().get(&index.0).copied().unwrap_or(0)
            }),
            boot_clock_s: 1000,
        };
        Self {
            now,
            start: now,
            subscribers: Subscribers::new(config, environment, now).unwrap(),
            clients: Vec::new(),
            client_port: Vec::new(),
            armed: Vec::new(),
            by_mac: HashMap::new(),
            agenda: Agenda::default(),
            chance: Chance::new(seed),
            quality: LineQuality::PERFECT,
            grace: millis(1),
            plane: Plane { upstream, client_echoes, ..Plane::default() },
            fates: Vec::new(),
            events: Vec::new(),
            keep_wire: true,
            wire: Vec::new(),
            audit_every: 1,
            steps: 0,
            aaa: None,
            aaa_requests: Vec::new(),
        }
    }

    pub fn add(&mut self, config: ClientConfig) -> usize {
        self.add_on(PortIndex(0), config)
    }

    pub fn add_on(&mut self, port: PortIndex, config: ClientConfig) -> usize {
        let index = self.clients.len();
        self.by_mac.entry((port, config.mac)).or_default().push(index);
        self.clients.push(Client::new(config));
        self.client_port.push(port);
        self.armed.push(None);
        index
    }

    /// Adds clients `0..count`, one each of the numbered ones.
    pub fn add_numbered(&mut self, count: u32) {
        for n in 0..count {
            self.add(ClientConfig::numbered(n));
        }
    }

    /// Lets a client do something; what it sends goes onto its line.
    pub fn with(&mut self, client: usize, act: impl FnOnce(&mut Client, Instant, &mut Vec<Vec<u8>>)) {
        let mut out = Vec::new();
        act(&mut self.clients[client], self.now, &mut out);
        let port = self.client_port[client];
        for frame in out {
            self.note(port, false, &frame);
            for delay in self.quality.arrivals(&mut self.chance) {
                self.agenda.at(self.now + delay, Happening::ToAc(port, frame.clone()));
            }
        }
        let timer = self.clients[client].poll_timeout();
        if let Some(at) = timer.filter(|_| timer != self.armed[client]) {
            self.agenda.at(at, Happening::ClientTimer(client));
        }
        self.armed[client] = timer;
    }

    /// Takes over the lines of a world whose concentrator is no more; the clients have been moved before.
    pub fn adopt(&mut self, other: &Self) {
        self.now = self.now.max(other.now);
        self.client_port.clone_from(&other.client_port);
        self.by_mac.clone_from(&other.by_mac);
        self.armed = vec![None; self.clients.len()];
        for client in 0..self.clients.len() {
            self.with(client, |_, _, _| ());
        }
    }

    pub fn dial(&mut self, client: usize) {
        self.with(client, |client, now, out| client.dial(now, out));
    }

    pub fn dial_all(&mut self) {
        for client in 0..self.clients.len() {
            self.dial(client);
        }
    }

    /// A frame that no client of this world would send.
    pub fn inject(&mut self, port: PortIndex, frame: &[u8]) {
        self.note(port, false, frame);
        self.input(Input::Frame { port, bytes: frame });
    }

    pub fn input(&mut self, input: Input<'_>) {
        let mut out = Vec::new();
        self.subscribers.handle(self.now, input, &mut out);
        self.carry_out(out);
    }

    fn note(&mut self, port: PortIndex, from_ac: bool, frame: &[u8]) {
        if self.keep_wire {
            self.wire.push(Seen { at: self.now, port, from_ac, frame: frame.to_vec() });
        }
    }

    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        let mut still = 0;
        loop {
            let before = self.now;
            let next = [self.agenda.next_time(), self.subscribers.poll_timeout()].into_iter().flatten().min();
            match next.filter(|next| *next <= end) {
                Some(next) => self.now = self.now.max(next),
                None => break,
            }
            // Time must go on: whatever happens at one instant ends.
            still = if self.now == before { still + 1 } else { 0 };
            assert!(
                still < 100_000,
                "time stands still at {:?}: {:?}",
                self.now - self.start,
                self.subscribers.gauges()
            );
            let mut count = 0;
            while let Some(what) = self.agenda.due(self.now) {
                count += 1;
                assert!(count < 1_000_000, "no end at {:?}: {what:?}", self.now - self.start);
                self.happen(what);
            }
            if self.subscribers.poll_timeout().is_some_and(|at| at <= self.now) {
                let mut out = Vec::new();
                self.subscribers.handle_timeout(self.now, &mut out);
                self.carry_out(out);
            }
        }
        self.now = end;
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::ToAc(port, frame) => self.arrive(port, &frame),
            Happening::ToClients(port, frame) => {
                let mac = MacAddr(frame[..6].try_into().unwrap());
                for client in self.by_mac.get(&(port, mac)).cloned().unwrap_or_default() {
                    self.with(client, |client, now, out| client.handle(now, &frame, out));
                }
            }
            Happening::ClientTimer(client) => {
                self.with(client, |client, now, out| client.handle_timeout(now, out));
            }
            Happening::Removed(key) => {
                let spec = self.plane.removing.remove(&key).expect("removed once");
                self.plane.by_id.remove(&(spec.port, spec.vlans.outer_vid(), spec.session_id.0));
                let totals = SessionTotals { up_packets: 1, ..SessionTotals::default() };
                self.input(Input::Removed { key, totals });
            }
        }
    }

    /// What a worker does: data of known sessions is its own, the rest goes to the subscribers.
    pub fn arrive(&mut self, port: PortIndex, frame: &[u8]) {
        if let Some((outer, id, protocol, payload)) = session_stage(frame)
            && protocol == 0x0021
            && let Some(key) = self.plane.by_id.get(&(port, outer, id)).copied()
        {
            let fate = match self.plane.sessions.get(&key) {
                None => Fate::Dropped("removed"),
                Some(spec) if spec.peer_mac.0 != frame[6..12] => Fate::Dropped("not the owner"),
                Some(spec) if !spec.ipv4_up => Fate::Dropped("not up"),
                Some(spec) => match parse_datagram(payload) {
                    Some(datagram) if Some(datagram.source) == spec.ipv4 => Fate::Forwarded(key, datagram),
                    _ => Fate::Dropped("source"),
                },
            };
            if matches!(fate, Fate::Forwarded(..)) {
                *self.plane.upstream.lock().unwrap().entry(key.slot).or_default() += 1;
            }
            self.fates.push((self.now, fate));
            return;
        }
        self.input(Input::Frame { port, bytes: frame });
    }

    fn carry_out(&mut self, actions: Vec<Action>) {
        let mut answers = Vec::new();
        for action in actions {
            match action {
                Action::Transmit { port, frame } => {
                    assert!(frame.len() >= 60);
                    self.note(port, true, &frame);
                    for delay in self.quality.arrivals(&mut self.chance) {
                        self.agenda.at(self.now + delay, Happening::ToClients(port, frame.clone()));
                    }
                }
                Action::Install { key, spec } => {
                    let id = (spec.port, spec.vlans.outer_vid(), spec.session_id.0);
                    assert!(self.plane.by_id.insert(id, key).is_none(), "id used again too soon");
                    assert!(self.plane.sessions.insert(key, spec).is_none());
                    self.plane.upstream.lock().unwrap().insert(key.slot, 0);
                    answers.push((key, SessionIndex(key.slot)));
                }
                Action::Update { key, spec } => {
                    if spec.ipv4_up {
                        let twice = self.plane.sessions.iter().filter(|(_, other)| other.ipv4 == spec.ipv4).count();
                        assert!(twice <= 1, "an address with two owners");
                    }
                    let old = self.plane.sessions.insert(key, spec).expect("updated while installed");
                    assert_eq!((old.port, old.session_id, old.peer_mac), (spec.port, spec.session_id, spec.peer_mac));
                }
                Action::Remove { key } => {
                    let spec = self.plane.sessions.remove(&key).expect("removed while installed");
                    self.plane.removing.insert(key, spec);
                    assert!(!self.plane.addresses.values().any(|owner| *owner == key), "unmapped before");
                    assert!(!self.plane.routes.values().any(|owner| *owner == key), "unrouted before");
                    self.agenda.at(self.now + self.grace, Happening::Removed(key));
                }
                Action::MapAddress { pool, offset, key } => {
                    assert!(self.plane.sessions.contains_key(&key));
                    assert!(self.plane.addresses.insert((pool, offset), key).is_none(), "mapped twice");
                }
                Action::UnmapAddress { pool, offset } => {
                    assert!(self.plane.addresses.remove(&(pool, offset)).is_some());
                }
                Action::AddRoute { address, key, .. } => {
                    assert!(self.plane.routes.insert(address, key).is_none());
                }
                Action::RemoveRoute { address, .. } => {
                    assert!(self.plane.routes.remove(&address).is_some());
                }
                Action::Authenticate(request) => {
                    self.aaa_requests.push(request.request);
                    if let Some(decide) = self.aaa {
                        let name = String::from_utf8_lossy(request.credentials.credentials.name()).into_owned();
                        let verdict = match decide(&name) {
                            Ok(authorization) => AaaVerdict::Accept(Box::new(authorization)),
                            Err(failure) => failure.into(),
                        };
                        self.input(Input::AaaResult { request: request.request, verdict });
                    }
                }
                Action::Event(event) => self.events.push((self.now, event)),
                other => panic!("an action that this world does not know: {other:?}"),
            }
        }
        for (key, index) in answers {
            self.input(Input::Installed { key, index });
        }
        self.steps += 1;
        if self.steps.is_multiple_of(self.audit_every) {
            self.subscribers.audit().unwrap();
        }
    }

    pub fn open(&self) -> usize {
        self.clients.iter().filter(|client| client.state() == ClientState::Open).count()
    }

    /// Frames the concentrator has sent since `mark`, as short words: `PADT`, `LCP 5`, ...
    pub fn words_since(&self, mark: usize) -> Vec<String> {
        self.wire[mark..].iter().filter(|seen| seen.from_ac).map(|seen| word(&seen.frame)).collect()
    }

    pub fn ended(&self) -> Vec<(SubscriberKey, bng_subscriber::EndCause)> {
        self.events
            .iter()
            .filter_map(|(_, event)| match event.what {
                EventKind::Ended { cause, .. } => Some((event.key, cause)),
                _ => None,
            })
            .collect()
    }

    /// The words of one session's events, in order.
    pub fn story(&self, key: SubscriberKey) -> Vec<&'static str> {
        self.events.iter().filter(|(_, event)| event.key == key).map(|(_, event)| event.what.label()).collect()
    }
}

fn header(frame: &[u8]) -> Option<(u16, u16, usize)> {
    let mut at = 12;
    let mut outer = None;
    loop {
        let ethertype = u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]);
        if ![0x8100, 0x88a8, 0x9100].contains(&ethertype) {
            return Some((outer.unwrap_or(0), ethertype, at + 2));
        }
        outer.get_or_insert(u16::from_be_bytes([*frame.get(at + 2)?, *frame.get(at + 3)?]) & 0xfff);
        at += 4;
    }
}

/// Outer VID, session id, PPP protocol and payload of a session-stage frame.
pub fn session_stage(frame: &[u8]) -> Option<(u16, u16, u16, &[u8])> {
    let (outer, ethertype, at) = header(frame)?;
    if ethertype != 0x8864 {
        return None;
    }
    let be = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let length = usize::from(be(at + 4)?);
    Some((outer, be(at + 2)?, be(at + 6)?, frame.get(at + 8..at + 6 + length)?))
}

/// A frame as a short word.
pub fn word(frame: &[u8]) -> String {
    let Some((_, ethertype, at)) = header(frame) else { return "?".into() };
    if ethertype == 0x8863 {
        return match frame[at + 1] {
            0x07 => "PADO".into(),
            0x65 if frame[at + 2..at + 4] == [0, 0] => "PADS error".into(),
            0x65 => "PADS".into(),
            0xa7 => "PADT".into(),
            other => format!("discovery {other:#x}"),
        };
    }
    let Some((_, _, protocol, payload)) = session_stage(frame) else { return "?".into() };
    let name = match protocol {
        0xc021 => "LCP",
        0xc023 => "PAP",
        0xc223 => "CHAP",
        0x8021 => "IPCP",
        0x8057 => "IPV6CP",
        0x0021 => return "IPv4".into(),
        _ => "PPP",
    };
    format!("{name} {}", payload.first().copied().unwrap_or(0))
}

/// A PPP frame as a client of these addresses and tags would send it.
pub fn ppp_frame(source: MacAddr, vlans: &[(u16, u16)], id: u16, protocol: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = AC.0.to_vec();
    frame.extend_from_slice(&source.0);
    for (tpid, tci) in vlans {
        frame.extend_from_slice(&tpid.to_be_bytes());
        frame.extend_from_slice(&tci.to_be_bytes());
    }
    frame.extend_from_slice(&[0x88, 0x64, 0x11, 0]);
    frame.extend_from_slice(&id.to_be_bytes());
    frame.extend_from_slice(&((payload.len() + 2) as u16).to_be_bytes());
    frame.extend_from_slice(&protocol.to_be_bytes());
    frame.extend_from_slice(payload);
    frame.resize(frame.len().max(60), 0);
    frame
}

/// A PADT as anybody could send it.
pub fn padt(destination: MacAddr, source: MacAddr, vlans: &[(u16, u16)], id: u16) -> Vec<u8> {
    let mut frame = destination.0.to_vec();
    frame.extend_from_slice(&source.0);
    for (tpid, tci) in vlans {
        frame.extend_from_slice(&tpid.to_be_bytes());
        frame.extend_from_slice(&tci.to_be_bytes());
    }
    frame.extend_from_slice(&[0x88, 0x63, 0x11, 0xa7]);
    frame.extend_from_slice(&id.to_be_bytes());
    frame.extend_from_slice(&[0, 0]);
    frame.resize(60, 0);
    frame
}

pub fn one_tag(vid: u16) -> VlanStack {
    VlanStack { outer: Some(VlanTag { tpid: 0x8100, tci: vid }), inner: None }
}
