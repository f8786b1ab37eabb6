//! The whole box without DPDK, in one thread: the data plane's pipeline with its tables, and the subscribers behind it.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arrayvec::ArrayVec;
use bng_dataplane::memory::{MemoryFrame, MemorySink, Outcome};
use bng_dataplane::{
    FrameBuf, Pipeline, PipelineConfig, PortEntry, PortRole, PortTable, PuntClass, Tables, TpidSet, VidSet,
    WorkerCounters,
};
use bng_fib::{Fib, FibConfig, NextHop};
use bng_pool::{Ipv4PoolConfig, Ipv4Range};
use bng_session::{PoolMap4, PoolMaps, SessionIndex, SessionSpec, SessionTable, SessionWriter, TableConfig};
use bng_subscriber::{
    AccessPort, AccessRule, Action, Environment, EventKind, Input, Ipv4Profile, Limits, LocalUser, Pool, PoolIndex,
    PoolKind, Profile, ProfileIndex, SubscriberConfig, SubscriberKey, Subscribers, VidRange, VlanMatch,
};
use bng_sync::{Placement, Qsbr};
use bng_wire::ether::Ether;
use bng_wire::{MacAddr, PortIndex, VlanStack, VrfId};

/// The access port.
pub const ACCESS: PortIndex = PortIndex(0);
/// The core port.
pub const CORE: PortIndex = PortIndex(1);
/// The access port's MAC address.
pub const AC: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xfe]);
/// The core port's MAC address.
pub const CORE_MAC: MacAddr = MacAddr([2, 0, 0, 0, 1, 0xfe]);
/// The next router's.
pub const ROUTER: MacAddr = MacAddr([2, 0, 0, 0, 1, 1]);

const GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const POOL_BASE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const POOL_LAST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);
const SESSIONS_MAX: u32 = 16;
/// The number of the pool's map.
const POOL: u16 = 0;

/// What an input has come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reached {
    /// Frames forwarded from a client to the core.
    pub forwarded_up: u64,
    /// Frames forwarded from the core to a client.
    pub forwarded_down: u64,
    /// Frames handed to control.
    pub punted: u64,
    /// Frames dropped.
    pub dropped: u64,
    /// Sessions whose LCP came to Opened.
    pub link_up: u64,
    /// Sessions whose IPCP came to Opened.
    pub ipv4_up: u64,
    /// Sessions that ended.
    pub ended: u64,
}

/// The box.
pub struct World {
    start: Instant,
    now: Instant,
    subscribers: Subscribers,
    pipeline: Pipeline,
    sessions: SessionWriter,
    pools: Arc<PoolMaps>,
    /// Where each session is in the forwarding plane, and what it was told of it.
    places: HashMap<SubscriberKey, (SessionIndex, SessionSpec)>,
    removing: HashMap<SessionIndex, SubscriberKey>,
    /// Frames the box has sent, since the last look.
    pub sent: Vec<(PortIndex, Vec<u8>)>,
    /// What has been reached so far.
    pub reached: Reached,
}

fn config() -> SubscriberConfig {
    let mut profile = Profile::new("residential");
    profile.pppoe.service.max_payload = 1500;
    profile.ipv4 = Some(Ipv4Profile {
        gateway: GATEWAY,
        pools: vec![PoolIndex(0)],
        dns: [Some(Ipv4Addr::new(203, 0, 113, 53)), None],
        nbns: [None, None],
    });
    let range = Ipv4Range::new(POOL_BASE, POOL_LAST).expect("a range");
    let kinds = [
        VlanMatch::Untagged,
        VlanMatch::Single { tpid: 0x8100, vids: VidRange { first: 100, last: 199 } },
        VlanMatch::Double { tpid: 0x88a8, outer: VidRange { first: 100, last: 199 }, inner: VidRange::ANY },
    ];
    SubscriberConfig {
        ports: vec![AccessPort { port: ACCESS, mac: AC, max_payload_by_tags: [1500, 1500, 1496] }],
        access: kinds.map(|vlans| AccessRule { port: ACCESS, vlans, profile: ProfileIndex(0) }).into(),
        profiles: vec![profile],
        pools: vec![Pool {
            name: "pool4".into(),
            vrf: VrfId(0),
            kind: PoolKind::Ipv4(Ipv4PoolConfig::range(range, Some(GATEWAY))),
        }],
        users: (0..8).map(|n| LocalUser::new(&format!("user{n}@example.net"), "secret")).collect(),
        limits: Limits { sessions_max: SESSIONS_MAX, ..Limits::default() },
        cookie_key: [7; 32],
        restore_complete: true,
        ..SubscriberConfig::default()
    }
}

/// The routes: a default route to the next router, the pool, the gateway. No input changes them, and they take longer to
/// make than most inputs to run, so all worlds of a process share them.
fn routes() -> Arc<Fib> {
    static ROUTES: OnceLock<Arc<Fib>> = OnceLock::new();
    let make = || {
        let config = FibConfig {
            routes4_max: 64,
            routes6_max: 64,
            nodes4_max: 64,
            nodes6_max: 64,
            next_hops_max: 64,
            adjacencies_max: 4,
            ..FibConfig::default()
        };
        let (fib, mut writer) = Fib::new(&config, &Qsbr::new(1)).expect("memory");
        let router = writer.adjacency_create(CORE, 1500).expect("room");
        let mut header = [0; 14];
        let ether = Ether { dst: ROUTER, src: CORE_MAC, vlans: VlanStack::default(), ethertype: 0, payload_offset: 14 };
        ether.write(&mut header).expect("room");
        writer.adjacency_resolve(router, &header).expect("an adjacency");
        let hops = [
            (Ipv4Addr::UNSPECIFIED, 0, NextHop::Neighbour(router)),
            (Ipv4Addr::new(192, 0, 2, 0), 24, NextHop::Pool(POOL)),
            (GATEWAY, 32, NextHop::Local),
        ];
        for (to, length, hop) in hops {
            writer.insert4(VrfId(0), to, length, hop).expect("room");
        }
        fib
    };
    Arc::clone(ROUTES.get_or_init(make))
}

/// Reproducible chance: an input must always do the same.
fn chance() -> impl FnMut(&mut [u8]) + Send {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    move |buffer| {
        for octet in buffer {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *octet = (state >> 32) as u8;
        }
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    /// A box with one access port, one core port, a default route and a pool of eight addresses.
    pub fn new() -> Self {
        let grace = Qsbr::new(1);
        let table = TableConfig { sessions_max: SESSIONS_MAX as usize, workers: 1, placement: Placement::Ordinary };
        let (table, sessions) = SessionTable::new(table, Arc::clone(&grace)).expect("memory");
        let pools = Arc::new(PoolMaps::new());
        let map = PoolMap4::new(POOL_BASE, POOL_LAST.to_bits() - POOL_BASE.to_bits() + 1, Placement::Ordinary);
        let pool = pools.add4(map.expect("a pool")).expect("room");
        assert_eq!(pool, POOL);
        let port = |role, mac, mtu, tpids, vids| PortEntry { role, mac, mtu, tpids, vids };
        let ports = Arc::new(PortTable::new(vec![
            port(PortRole::Access, AC, 1508, TpidSet::ALL, VidSet::default()),
            port(PortRole::Core, CORE_MAC, 1500, TpidSet::DOT1Q, VidSet::of(&[0])),
        ]));
        let tables = Tables { sessions: table, fib: routes(), pools: Arc::clone(&pools), ports };
        let counters = Arc::new(WorkerCounters::default());
        let pipeline = Pipeline::new(0, tables, counters, PipelineConfig::default());
        let now = Instant::now();
        let environment =
            Environment { random: Box::new(chance()), upstream_packets: Box::new(|_| 0), client_echoes: Box::new(|_| 0), boot_clock_s: 1000 };
        Self {
            start: now,
            now,
            subscribers: Subscribers::new(config(), environment, now).expect("a good configuration"),
            pipeline,
            sessions,
            pools,
            places: HashMap::new(),
            removing: HashMap::new(),
            sent: Vec::new(),
            reached: Reached::default(),
        }
    }

    /// The time.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The sessions that are in the forwarding plane, by session id.
    pub fn installed(&self) -> Vec<SessionSpec> {
        let mut specs: Vec<_> = self.places.values().map(|(_, spec)| *spec).collect();
        specs.sort_by_key(|spec| (spec.vlans.outer_vid(), spec.session_id));
        specs
    }

    /// Frames arrive in one burst, at most 32 of them.
    pub fn receive(&mut self, port: PortIndex, frames: &[&[u8]]) {
        let mut burst: ArrayVec<MemoryFrame, 32> = frames.iter().map(|frame| MemoryFrame::of(frame)).collect();
        let count = burst.len();
        let mut sink = MemorySink::default();
        let now_ms = self.now.duration_since(self.start).as_millis() as u64;
        self.pipeline.process(port, &mut burst, now_ms, &mut sink);
        assert!(burst.is_empty());
        assert!(sink.outcomes.len() >= count, "a frame without an end");
        for outcome in sink.outcomes {
            match outcome {
                Outcome::Transmit(to, frame) => {
                    assert!((60..=1526).contains(&frame.bytes().len()), "{} octets", frame.bytes().len());
                    assert!(to == ACCESS || to == CORE);
                    match (port, to) {
                        (ACCESS, CORE) => self.reached.forwarded_up += 1,
                        (CORE, ACCESS) => self.reached.forwarded_down += 1,
                        _ => {}
                    }
                    self.sent.push((to, frame.bytes().to_vec()));
                }
                Outcome::Punt(class, _, frame) => {
                    self.reached.punted += 1;
                    if class != PuntClass::Host {
                        self.input(Input::Frame { port, bytes: frame.bytes() });
                    }
                }
                Outcome::Discard(..) => self.reached.dropped += 1,
            }
        }
    }

    /// Time passes: first up to the next timer that is due, then the rest.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        let mut turns = 0;
        while let Some(at) = self.subscribers.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            let mut actions = Vec::new();
            self.subscribers.handle_timeout(self.now, &mut actions);
            self.carry_out(actions);
            self.grace_is_over();
            turns += 1;
            assert!(turns < 1_000_000, "a timer that is due for ever");
        }
        self.now = end;
        self.grace_is_over();
    }

    /// Something for the subscribers.
    pub fn input(&mut self, input: Input<'_>) {
        let mut actions = Vec::new();
        self.subscribers.handle(self.now, input, &mut actions);
        self.carry_out(actions);
    }

    /// The key of some session.
    pub fn some_session(&self, number: usize) -> Option<SubscriberKey> {
        let mut keys: Vec<_> = self.places.keys().copied().collect();
        keys.sort();
        keys.get(number % keys.len().max(1)).copied()
    }

    /// What must hold between two inputs.
    pub fn check(&self) {
        self.subscribers.audit().expect("the subscribers' tables agree");
        let mut addresses: Vec<_> =
            self.places.values().filter(|(_, spec)| spec.ipv4_up).filter_map(|(_, spec)| spec.ipv4).collect();
        addresses.sort();
        assert!(addresses.windows(2).all(|pair| pair[0] != pair[1]), "an address with two owners");
        assert!(!addresses.contains(&GATEWAY));
    }

    /// No worker is in a burst: what was removed is gone.
    fn grace_is_over(&mut self) {
        let mut gone = Vec::new();
        self.sessions.poll(|removed| gone.push((removed.index, removed.counters)));
        for (index, totals) in gone {
            let key = self.removing.remove(&index).expect("removed once");
            self.input(Input::Removed { key, totals });
        }
    }

    fn carry_out(&mut self, actions: Vec<Action>) {
        let mut installed = Vec::new();
        for action in actions {
            match action {
                Action::Transmit { port, frame } => {
                    assert_eq!(port, ACCESS);
                    assert!((60..=1526).contains(&frame.len()), "{} octets", frame.len());
                    self.sent.push((port, frame));
                }
                Action::Install { key, spec } => match self.sessions.insert(&spec) {
                    Ok(index) => {
                        assert!(self.places.insert(key, (index, spec)).is_none());
                        installed.push((key, Some(index)));
                    }
                    Err(_) => installed.push((key, None)),
                },
                Action::Update { key, spec } => {
                    if let Some((index, known)) = self.places.get_mut(&key) {
                        assert!(self.sessions.update(*index, &spec));
                        *known = spec;
                    }
                }
                Action::Remove { key } => {
                    if let Some((index, _)) = self.places.remove(&key) {
                        assert!(self.sessions.remove(index));
                        self.removing.insert(index, key);
                    }
                }
                Action::MapAddress { offset, key, .. } => self.map(offset, self.places.get(&key).map(|place| place.0)),
                Action::UnmapAddress { offset, .. } => self.map(offset, None),
                // No user of this box has an address of his own.
                Action::AddRoute { .. } | Action::RemoveRoute { .. } => unreachable!("{action:?}"),
                Action::Event(event) => match event.what {
                    EventKind::LinkUp { .. } => self.reached.link_up += 1,
                    EventKind::Ipv4Up { .. } => self.reached.ipv4_up += 1,
                    EventKind::Ended { .. } => self.reached.ended += 1,
                    _ => {}
                },
                _ => {}
            }
        }
        for (key, index) in installed {
            match index {
                Some(index) => self.input(Input::Installed { key, index }),
                None => self.input(Input::InstallFailed { key }),
            }
        }
    }

    fn map(&self, offset: u32, session: Option<SessionIndex>) {
        let address = Ipv4Addr::from_bits(POOL_BASE.to_bits() + offset);
        assert!(self.pools.v4(POOL).expect("the pool").set(address, session), "{address} is in the pool");
    }
}
