//! Cycles a frame of 64 octets costs in the worker's loop: receive, stages, transmit, on one core, with rings as
//! ports. Only the loop's turn is timed; making frames and draining them is not. The bare forwarder in the same run is
//! what the pipeline is measured against.
//!
//! `cargo bench -p bng-worker --bench turn`

use arrayvec::ArrayVec;
use bng_dataplane::{Pipeline, PipelineConfig, PortEntry, PortRole, PortTable, Tables, TpidSet, VidSet};
use bng_dpdk::{Eal, EalConfig, Mbuf, Mempool, MempoolConfig, Port, RingPort, RingPortConfig, rdtsc};
use bng_fib::{Fib, FibConfig, FibWriter, NextHop};
use bng_session::{PoolMap4, PoolMaps, SessionSpec, SessionTable, SessionWriter, TableConfig};
use bng_sync::{Placement, Qsbr, frame_ring};
use bng_wire::{MacAddr, PortIndex, SessionId, VrfId};
use bng_worker::{Forward, IdleConfig, Stages, Stop, Worker, WorkerParts, WorkerPort};
use std::net::Ipv4Addr;
use std::sync::Arc;

const BURST: usize = 32;
const ROUNDS: usize = 20_000;
const AC: [u8; 6] = [2, 0, 0, 0, 0, 0xfe];
const CORE: [u8; 6] = [2, 0, 0, 0, 1, 0xfe];
const ROUTER: [u8; 6] = [2, 0, 0, 0, 1, 1];
const SERVER: [u8; 4] = [203, 0, 113, 9];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let eal = Eal::init(EalConfig { file_prefix: "bngbench".to_owned(), memory_mb: 128, ..EalConfig::default() })?;
    let config = MempoolConfig { mbufs: 8191, ..MempoolConfig::default() };
    let pool = Mempool::new(&eal, &config)?;
    println!(
        "huge pages for packets: {}; cycles a frame, median (least) of {ROUNDS} bursts of {BURST}",
        eal.uses_huge_pages()
    );
    let forward = measure(&eal, &pool, "bare", |_| Forward, &mut |_| (vec![0; 64], 0))?;
    println!("forwarder                          {:6.1} ({:.1})", forward.0, forward.1);
    for sessions in [1u32, 1024, 65_000] {
        let grace = Qsbr::new(2);
        let (tables, _writers) = tables(sessions, &grace)?;
        for (port, label) in [(0, "upstream"), (1, "downstream")] {
            let stages =
                |counters: &Arc<_>| Pipeline::new(0, tables.clone(), Arc::clone(counters), PipelineConfig::default());
            let make = &mut |random: u64| {
                let session = (random % u64::from(sessions)) as u32;
                (if port == 0 { upstream(session) } else { downstream(session) }, port)
            };
            let cost = measure(&eal, &pool, "pipe", stages, make)?;
            let ratio = cost.0 / forward.0;
            println!("{label:<11} {sessions:>7} sessions      {:6.1} ({:.1})   {ratio:.1} x forwarder", cost.0, cost.1);
        }
    }
    Ok(())
}

/// Median and least cycles a frame.
fn measure<S: Stages>(
    eal: &Eal,
    pool: &Mempool,
    name: &str,
    stages: impl Fn(&Arc<bng_dataplane::WorkerCounters>) -> S,
    make: &mut dyn FnMut(u64) -> (Vec<u8>, usize),
) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let (mut ports, mut far, mut held) = (Vec::new(), Vec::<RingPort>::new(), Vec::new());
    for number in 0..2u8 {
        let config = RingPortConfig { name: format!("{name}{number}"), ..RingPortConfig::default() };
        let (port, end) = Port::from_rings(eal, &config, pool)?;
        let (rx, mut tx) = port.take_queues();
        ports.push(WorkerPort { port: PortIndex(number), rx, tx: tx.pop().ok_or("a queue")? });
        far.push(end);
        held.push(port);
    }
    let counters = Arc::default();
    let mut worker = Worker::new(WorkerParts {
        stages: stages(&counters),
        ports,
        pool: pool.clone(),
        reader: Qsbr::new(1).reader(0).ok_or("a place")?,
        punt: std::array::from_fn(|_| frame_ring(4096, 16).0),
        inject: frame_ring(4096, 16).1,
        counters: Arc::clone(&counters),
        status: Arc::default(),
        idle: IdleConfig::default(),
        stop: Stop::new(),
    })?;
    // As many different frames as there are sessions, at most.
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let templates: Vec<_> = (0..1 << 16).map(|_| make(random.next())).collect();
    let mut costs = Vec::with_capacity(ROUNDS);
    let mut out = 0;
    for _ in 0..ROUNDS {
        let mut burst = ArrayVec::<Mbuf, BURST>::new();
        pool.alloc_bulk(&mut burst);
        let mut port = 0;
        for mbuf in &mut burst {
            let (frame, on) = &templates[random.next() as usize % templates.len()];
            assert!(mbuf.fill(frame));
            port = *on;
        }
        far[port].feeds[0].feed(&mut burst);
        let began = rdtsc();
        worker.step();
        costs.push((rdtsc() - began) as f64 / BURST as f64);
        let mut sent = ArrayVec::<Mbuf, 64>::new();
        for end in &mut far {
            out += end.drains[0].drain(&mut sent);
            Mbuf::free_burst(&mut sent);
        }
    }
    assert_eq!(out, ROUNDS * BURST, "every frame is forwarded");
    costs.sort_by(f64::total_cmp);
    drop(worker);
    Ok((costs[ROUNDS / 2], costs[0]))
}

/// xorshift64: the same frames in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// What writes the tables, kept while they are read.
type Writers = (SessionWriter, FibWriter);

fn tables(sessions: u32, grace: &Arc<Qsbr>) -> Result<(Tables, Writers), Box<dyn std::error::Error>> {
    let config = TableConfig { sessions_max: sessions as usize, workers: 1, placement: Placement::Huge };
    let (table, mut writer) = SessionTable::new(config, Arc::clone(grace))?;
    let (fib, mut routes) = Fib::new(&FibConfig::default(), grace)?;
    let pools = Arc::new(PoolMaps::new());
    let pool = pools.add4(PoolMap4::new(Ipv4Addr::new(100, 64, 0, 0), 1 << 16, Placement::Huge)?).ok_or("room")?;
    let router = routes.adjacency_create(PortIndex(1), 1500)?;
    routes.adjacency_resolve(router, &[&ROUTER[..], &CORE, &[0, 0]].concat())?;
    routes.insert4(VrfId(0), Ipv4Addr::UNSPECIFIED, 0, NextHop::Neighbour(router))?;
    routes.insert4(VrfId(0), Ipv4Addr::new(100, 64, 0, 0), 16, NextHop::Pool(pool))?;
    for session in 0..sessions {
        let spec = SessionSpec {
            port: PortIndex(0),
            local_mac: MacAddr(AC),
            peer_mac: MacAddr(client_mac(session)),
            session_id: SessionId((session + 1) as u16),
            ipv4: Some(client_ip(session).into()),
            ipv4_up: true,
            ..SessionSpec::default()
        };
        let index = writer.insert(&spec)?;
        pools.v4(pool).ok_or("the map")?.set(client_ip(session).into(), Some(index));
    }
    let entry = |role, mac| PortEntry { role, mac, mtu: 1508, tpids: TpidSet::ALL, vids: VidSet::of(&[0]) };
    let ports = PortTable::new(vec![entry(PortRole::Access, MacAddr(AC)), entry(PortRole::Core, MacAddr(CORE))]);
    Ok((Tables { sessions: table, fib, pools, ports: Arc::new(ports) }, (writer, routes)))
}

fn client_mac(session: u32) -> [u8; 6] {
    let [a, b, c, d] = session.to_be_bytes();
    [2, 1, a, b, c, d]
}

fn client_ip(session: u32) -> [u8; 4] {
    let [_, _, c, d] = session.to_be_bytes();
    [100, 64, c, d]
}

/// An IPv4 packet of UDP, its header checksum right.
fn ipv4(source: [u8; 4], destination: [u8; 4], octets: u8) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, octets, 0, 0, 0x40, 0, 64, 17, 0, 0];
    packet.extend(source);
    packet.extend(destination);
    packet.extend([0x10, 0, 0, 53, 0, octets - 20, 0, 0]);
    packet.resize(usize::from(octets), 0);
    let sum: u32 = packet[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !(((folded & 0xffff) + (folded >> 16)) as u16);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet
}

fn upstream(session: u32) -> Vec<u8> {
    let [.., high, low] = (session + 1).to_be_bytes();
    let packet = ipv4(client_ip(session), SERVER, 42);
    [&AC[..], &client_mac(session), &[0x88, 0x64, 0x11, 0, high, low, 0, 44, 0, 0x21], &packet].concat()
}

fn downstream(session: u32) -> Vec<u8> {
    [&CORE[..], &ROUTER, &[8, 0], &ipv4(SERVER, client_ip(session), 50)].concat()
}
