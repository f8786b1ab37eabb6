//! Builds the parts as the daemon does, without DPDK and without core interfaces.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use bng_control::{ControlConfig, ControlCore, ControlHandle, CoreParts, PoolBinding, WorkerRings};
use bng_dataplane::{
    Pipeline, PipelineConfig, PortEntry, PortRole, PortTable, PuntClass, Reason, Tables, TpidSet, VidSet,
    WorkerCounters,
};
use bng_fib::{Fib, FibConfig, NextHop};
use bng_routing::{RoutingConfig, RoutingHandle};
use bng_session::{PoolMap4, PoolMaps, SessionTable, TableConfig};
use bng_subscriber::{
    AccessPort, AccessRule, DiscoveryLimits, Environment, Ipv4PoolConfig, Ipv4Profile, Ipv4Range, Limits, LocalUser,
    Pool, PoolIndex, PoolKind, Profile, ProfileIndex, RateLimits, SubscriberConfig, Subscribers, VidRange, VlanMatch,
};
use bng_sync::{FrameConsumer, FrameProducer, Placement, Qsbr, frame_ring};
use bng_testkit::sim::Chance;
use bng_wire::ether::Ether;
use bng_wire::{VlanStack, VrfId};
use crossbeam_channel::{Receiver, bounded, unbounded};

use crate::ledger::Ledger;
use crate::sender::{Sender, Trunk};
use crate::worker::{Lane, Outlet, Worker};
use crate::{AC, ACCESS, CLIENTS, CLIENTS_PER_SENDER, CORE, CORE_MAC, GATEWAY, ROUTER, SENDERS, WORKERS};

/// Frames that may wait in a lane; then its sender waits.
const LANE_FRAMES_MAX: usize = 1024;
/// A few more than there are clients, so that addresses go from hand to hand.
const ADDRESSES: u32 = CLIENTS + 3;

pub struct World {
    pub control: ControlCore,
    pub handle: ControlHandle,
    pub senders: Vec<Sender>,
    pub workers: Vec<Worker>,
    pub table: Arc<SessionTable>,
    /// What the operator is asked to clear.
    pub cleared: Receiver<(u16, u16)>,
    pub routing: Arc<RoutingHandle>,
}

fn subscribers() -> SubscriberConfig {
    let mut profile = Profile::new("residential");
    profile.sticky_addresses = false;
    profile.ipv4 = Some(Ipv4Profile { gateway: GATEWAY, pools: vec![PoolIndex(0)], dns: [None; 2], nbns: [None; 2] });
    let first = Ipv4Addr::from_bits(GATEWAY.to_bits() + 1);
    let range = Ipv4Range::new(first, Ipv4Addr::from_bits(GATEWAY.to_bits() + ADDRESSES)).expect("a range");
    let vids = VidRange { first: 100, last: 4000 };
    let access = [VlanMatch::Untagged, VlanMatch::Single { tpid: 0x8100, vids }];
    SubscriberConfig {
        ports: vec![AccessPort { port: ACCESS, mac: AC, max_payload_by_tags: [1500, 1500, 1496] }],
        access: access.map(|vlans| AccessRule { port: ACCESS, vlans, profile: ProfileIndex(0) }).to_vec(),
        profiles: vec![profile],
        pools: vec![Pool {
            name: "pool4".into(),
            vrf: VrfId(0),
            kind: PoolKind::Ipv4(Ipv4PoolConfig::range(range, Some(GATEWAY))),
        }],
        users: (0..CLIENTS).map(|n| LocalUser::new(&format!("user{n}@example.net"), "secret")).collect(),
        limits: Limits {
            sessions_max: 256,
            discovery: DiscoveryLimits { padi_rates: RateLimits::NONE, padr_rates: RateLimits::NONE, lock_out: None },
            ..Limits::default()
        },
        cookie_key: [7; 32],
        ..SubscriberConfig::default()
    }
}

fn rings() -> ([FrameProducer; PuntClass::COUNT], [FrameConsumer; PuntClass::COUNT]) {
    // Roomier than the lanes before them: none may overflow here.
    let [keepalive, session, discovery, host] = PuntClass::ALL.map(|_| frame_ring(1 << 22, 1 << 14));
    ([keepalive.0, session.0, discovery.0, host.0], [keepalive.1, session.1, discovery.1, host.1])
}

/// The FIB with a default route to the next router and the pool; its writer goes to the routing thread.
fn fib(grace: &Arc<Qsbr>, pool: u16) -> (Arc<Fib>, bng_fib::FibWriter) {
    let config = FibConfig { nodes4_max: 1024, nodes6_max: 1024, ..FibConfig::default() };
    let (fib, mut writer) = Fib::new(&config, grace).expect("memory");
    let router = writer.adjacency_create(CORE, 1500).expect("room");
    let mut header = [0; 14];
    let ether = Ether { dst: ROUTER, src: CORE_MAC, vlans: VlanStack::default(), ethertype: 0, payload_offset: 14 };
    ether.write(&mut header).expect("room");
    writer.adjacency_resolve(router, &header).expect("an adjacency");
    let routes = [
        (Ipv4Addr::UNSPECIFIED, 0, NextHop::Neighbour(router)),
        (Ipv4Addr::new(192, 0, 2, 0), 24, NextHop::Pool(pool)),
        (GATEWAY, 32, NextHop::Local),
    ];
    for (to, len, hop) in routes {
        writer.insert4(VrfId(0), to, len, hop).expect("room");
    }
    (fib, writer)
}

pub fn build() -> World {
    let grace = Qsbr::new(WORKERS + 1);
    let settings = subscribers();
    let sessions_max = settings.limits.table_size() as usize;
    let config = TableConfig { sessions_max, workers: WORKERS, placement: Placement::Ordinary };
    let (table, sessions) = SessionTable::new(config, Arc::clone(&grace)).expect("memory");
    let pools = Arc::new(PoolMaps::new());
    let first = Ipv4Addr::from_bits(GATEWAY.to_bits() + 1);
    let map = PoolMap4::new(first, ADDRESSES, Placement::Ordinary).expect("a map");
    let map = pools.add4(map).expect("room");
    let (fib, fib_writer) = fib(&grace, map);
    let (routing, routing_events) = bng_routing::spawn(RoutingConfig::default(), fib_writer).expect("routing");
    let routing = Arc::new(routing);
    let entry = |role, mac, mtu, tpids, vids| PortEntry { role, mac, mtu, tpids, vids };
    let ports = Arc::new(PortTable::new(vec![
        entry(PortRole::Access, AC, 1508, TpidSet::ALL, VidSet::default()),
        entry(PortRole::Core, CORE_MAC, 1500, TpidSet::DOT1Q, VidSet::of(&[0])),
    ]));

    let (operator, cleared) = unbounded();
    let (wires, clients): (Vec<_>, Vec<_>) = (0..SENDERS).map(|_| unbounded()).unzip();
    let mut trunks: Vec<Vec<Trunk>> = (0..SENDERS).map(|_| Vec::new()).collect();
    let mut control_rings = Vec::new();
    let mut workers = Vec::new();
    for number in 0..WORKERS {
        let (punt, punted) = rings();
        let (injected, inject) = frame_ring(1 << 22, 1 << 14);
        control_rings.push(WorkerRings { punt: punted, inject: injected });
        let mut lanes = Vec::new();
        for trunks in &mut trunks {
            let (to, arrivals) = bounded(LANE_FRAMES_MAX);
            let done = Arc::new(AtomicU64::new(0));
            lanes.push(Lane { arrivals, next: None, done: Arc::clone(&done) });
            trunks.push(Trunk { to, sent: 0, done });
        }
        let tables = Tables {
            sessions: Arc::clone(&table),
            fib: Arc::clone(&fib),
            pools: Arc::clone(&pools),
            ports: Arc::clone(&ports),
        };
        let counters = Arc::new(WorkerCounters::default());
        workers.push(Worker {
            pipeline: Pipeline::new(number, tables, counters, PipelineConfig::default()),
            lanes,
            inject,
            reader: grace.reader(number).expect("a place"),
            outlet: Outlet {
                punt,
                wires: wires.clone(),
                chance: Chance::new(number as u64 + 1),
                ledger: Ledger::default(),
                punt_full: 0,
                ended: 0,
                allocated: 0,
                dropped: vec![0; Reason::COUNT],
            },
            received: 0,
        });
    }
    let senders = trunks
        .into_iter()
        .zip(clients)
        .zip(0..)
        .map(|((trunks, wire), number)| Sender::new(number, CLIENTS_PER_SENDER, trunks, wire, operator.clone()))
        .collect();

    let mut random = Chance::new(99);
    let watched = Arc::clone(&table);
    let environment = Environment {
        random: Box::new(move |bytes| random.fill(bytes)),
        client_echoes: Box::new(|_| 0),
        upstream_packets: Box::new(move |index| watched.totals(index).up_packets),
        boot_clock_s: 1000,
    };
    let (control, handle) = ControlCore::new(
        ControlConfig { disconnect_at_stop: false, stop_timeout: Duration::from_secs(1) },
        CoreParts {
            subscribers: Subscribers::new(settings, environment, Instant::now()).expect("a configuration"),
            sessions,
            pools,
            bindings: vec![PoolBinding::Ipv4 { map, first }],
            fib,
            reader: grace.reader(WORKERS).expect("a place"),
            workers: control_rings,
            interfaces: Vec::new(),
            routing: Arc::clone(&routing),
            routing_events,
            port_names: vec!["access0".into(), "core0".into()],
            aaa: None,
        },
    )
    .expect("a control core");
    World { control, handle, senders, workers, table, cleared, routing }
}
