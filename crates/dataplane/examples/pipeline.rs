//! Cycles a packet of the pipeline alone, frames and tables in memory:
//! `cargo run --release -p bng-dataplane --example pipeline [GHz] [most sessions] [rounds] [case, such as IPv4-up] [police]`.
//!
//! Only the calls of `process` are timed, eight bursts at a time; frames are written anew in between. The number of
//! cycles is time times the clock rate given (2.6 GHz by default). Each figure is the median of the rounds, the least
//! beside it.
//!
//! Instructions a packet are counted by `valgrind --tool=callgrind --toggle-collect='*burst*' ... 2.6 1 8 IPv4-up`: the
//! total divided by the packets, which the last line says.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;

use arrayvec::ArrayVec;
use bng_dataplane::memory::MemoryFrame;
use bng_dataplane::{
    Pipeline, PipelineConfig, PortEntry, PortRole, PortTable, PuntClass, PuntMeta, Reason, Sink, Tables, TpidSet,
    VidSet, WorkerCounters,
};
use bng_fib::{Fib, FibConfig, NextHop};
use bng_session::{PoolMap4, PoolMap6, PoolMaps, Rate, SessionSpec, SessionTable, TableConfig};
use bng_sync::{Placement, Qsbr};
use bng_wire::ether::Ether;
use bng_wire::{MacAddr, PortIndex, SessionId, VlanStack, VlanTag, VrfId, ipv4, ipv6};

const ACCESS: PortIndex = PortIndex(0);
const CORE: PortIndex = PortIndex(1);
const AC: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xfe]);
const CORE_MAC: MacAddr = MacAddr([2, 0, 0, 0, 1, 0xfe]);
const ROUTER: MacAddr = MacAddr([2, 0, 0, 0, 1, 1]);
/// 203.0.113.9.
const SERVER: u32 = 0xcb00_7109;
/// 100.64.0.0.
const POOL: u32 = 0x6440_0000;
/// 2001:db8:ffff::9 and 2001:db8:100::/40.
const SERVER6: u128 = 0x2001_0db8_ffff_0000_0000_0000_0000_0009;
const POOL6: u128 = 0x2001_0db8_0100_0000_0000_0000_0000_0000;
const BURSTS: usize = 8;

/// Keeps the frames for the next round.
struct Recycle {
    frames: Vec<MemoryFrame>,
    sent: u64,
}

impl Sink<MemoryFrame> for Recycle {
    #[inline]
    fn transmit(&mut self, _port: PortIndex, frame: MemoryFrame) {
        self.sent += 1;
        self.frames.push(frame);
    }

    fn punt(&mut self, _class: PuntClass, meta: PuntMeta, _frame: MemoryFrame) {
        panic!("punted: {}", meta.reason.label());
    }

    fn discard(&mut self, reason: Reason, _frame: MemoryFrame) {
        panic!("discarded: {}", reason.label());
    }

    fn allocate(&mut self) -> Option<MemoryFrame> {
        None
    }
}

/// A small generator, to choose sessions: xorshift of 64 bits.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// The session number `n`, of those spread over `spaces` outer VLANs (untagged where there is one).
fn spec(n: usize, spaces: usize, rate: Option<Rate>) -> SessionSpec {
    let outer = (spaces > 1).then_some(VlanTag { tpid: 0x8100, tci: (n % spaces) as u16 + 100 });
    SessionSpec {
        port: ACCESS,
        vlans: VlanStack { outer, inner: None },
        local_mac: AC,
        peer_mac: MacAddr::from_u64(0x0200_0000_0000 + n as u64 + 1),
        session_id: SessionId((n / spaces) as u16 + 1),
        ipv4: Some(Ipv4Addr::from_bits(POOL + n as u32)),
        ipv6_prefix: Some(((POOL6 + ((n as u128) << 64)).into(), 64)),
        ipv4_up: true,
        ipv6_up: true,
        policer_up: rate,
        policer_down: rate,
        ..SessionSpec::default()
    }
}

fn packet(family: u8, src: (u32, u128), dst: (u32, u128), len: usize) -> Vec<u8> {
    let mut octets = vec![0; len];
    if family == 4 {
        ipv4::Header::new(src.0, dst.0, 17, 64, len - 20).write(&mut octets).expect("room");
    } else {
        ipv6::Header::new(src.1, dst.1, 17, 64, len - 40).write(&mut octets).expect("room");
    }
    octets
}

fn framed(ether: &Ether, middle: &[u8], packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 22];
    let len = ether.write(&mut frame).expect("room");
    frame.truncate(len);
    frame.extend_from_slice(middle);
    frame.extend_from_slice(packet);
    frame
}

fn upstream(spec: &SessionSpec, family: u8, n: usize, len: usize) -> Vec<u8> {
    let packet = packet(family, (POOL + n as u32, POOL6 + ((n as u128) << 64) + 1), (SERVER, SERVER6), len);
    let [s, t] = spec.session_id.0.to_be_bytes();
    let [l, m] = (len as u16 + 2).to_be_bytes();
    let protocol = if family == 4 { 0x21 } else { 0x57 };
    let header = Ether { dst: AC, src: spec.peer_mac, vlans: spec.vlans, ethertype: 0x8864, payload_offset: 0 };
    framed(&header, &[0x11, 0, s, t, l, m, 0, protocol], &packet)
}

fn downstream(family: u8, n: usize, len: usize) -> Vec<u8> {
    let packet = packet(family, (SERVER, SERVER6), (POOL + n as u32, POOL6 + ((n as u128) << 64) + 1), len);
    let ethertype = if family == 4 { 0x0800 } else { 0x86dd };
    let header = Ether { dst: CORE_MAC, src: ROUTER, vlans: VlanStack::default(), ethertype, payload_offset: 0 };
    framed(&header, &[], &packet)
}

fn pipeline(sessions: usize, spaces: usize, rate: Option<Rate>) -> Pipeline {
    let grace = Qsbr::new(1);
    let config = TableConfig { sessions_max: sessions, workers: 1, placement: Placement::Transparent };
    let (table, mut writer) = SessionTable::new(config, Arc::clone(&grace)).expect("memory");
    let config =
        FibConfig { nodes4_max: 4096, nodes6_max: 4096, placement: Placement::Transparent, ..FibConfig::default() };
    let (fib, mut routes) = Fib::new(&config, &grace).expect("memory");
    let pools = Arc::new(PoolMaps::new());
    let map = PoolMap4::new(Ipv4Addr::from_bits(POOL), 1 << 20, Placement::Transparent).expect("memory");
    let pool4 = pools.add4(map).expect("room");
    let map = PoolMap6::new(POOL6.into(), 40, 64, Placement::Transparent).expect("memory");
    let pool6 = pools.add6(map).expect("room");
    for n in 0..sessions {
        let spec = spec(n, spaces, rate);
        let index = writer.insert(&spec).expect("room");
        assert!(pools.v4(pool4).expect("a map").set(Ipv4Addr::from_bits(POOL + n as u32), Some(index)));
        assert!(pools.v6(pool6).expect("a map").set((POOL6 + ((n as u128) << 64)).into(), Some(index)));
    }
    let router = routes.adjacency_create(CORE, 1500).expect("room");
    let header = Ether { dst: ROUTER, src: CORE_MAC, vlans: VlanStack::default(), ethertype: 0, payload_offset: 0 };
    let mut octets = [0; 14];
    header.write(&mut octets).expect("room");
    routes.adjacency_resolve(router, &octets).expect("an adjacency");
    let vrf = VrfId(0);
    routes.insert4(vrf, Ipv4Addr::UNSPECIFIED, 0, NextHop::Neighbour(router)).expect("room");
    routes.insert4(vrf, Ipv4Addr::from_bits(POOL), 12, NextHop::Pool(pool4)).expect("room");
    routes.insert6(vrf, 0.into(), 0, NextHop::Neighbour(router)).expect("room");
    routes.insert6(vrf, POOL6.into(), 40, NextHop::Pool(pool6)).expect("room");
    let port = |role, mac| PortEntry { role, mac, mtu: 1508, tpids: TpidSet::ALL, vids: VidSet::of(&[0]) };
    let ports = PortTable::new(vec![port(PortRole::Access, AC), port(PortRole::Core, CORE_MAC)]);
    let tables = Tables { sessions: table, fib, pools, ports: Arc::new(ports) };
    Pipeline::new(0, tables, Arc::new(WorkerCounters::default()), PipelineConfig::default())
}

/// What is measured, with a name for the profiler.
#[inline(never)]
fn burst(pipeline: &mut Pipeline, port: PortIndex, frames: &mut ArrayVec<MemoryFrame, 32>, sink: &mut Recycle) {
    pipeline.process(port, frames, 0, sink);
}

fn measure(
    pipeline: &mut Pipeline,
    port: PortIndex,
    templates: &[Vec<u8>],
    random: &mut Random,
    rounds: usize,
) -> (f64, f64) {
    let frames = BURSTS * 32;
    let mut sink = Recycle { frames: (0..frames).map(|_| MemoryFrame::new()).collect(), sent: 0 };
    let mut nanoseconds = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let mut bursts: [ArrayVec<MemoryFrame, 32>; BURSTS] = Default::default();
        for burst in &mut bursts {
            for mut frame in sink.frames.drain(sink.frames.len() - 32..) {
                frame.refill(&templates[random.below(templates.len())]);
                burst.push(frame);
            }
        }
        let start = Instant::now();
        for frames in &mut bursts {
            burst(pipeline, port, frames, &mut sink);
        }
        nanoseconds.push(start.elapsed().as_nanos() as f64 / frames as f64);
    }
    assert_eq!(sink.sent, (rounds * frames) as u64);
    nanoseconds.sort_by(f64::total_cmp);
    (nanoseconds[rounds / 2], nanoseconds[0])
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let ghz: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(2.6);
    let sessions_max: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(65_536);
    let rounds: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(2001);
    let only = arguments.next().filter(|only| only != "all");
    // A limit that is charged and never reached: the clock stands still.
    let rate = arguments.next().map(|_| Rate { bits_per_second: 10_000_000_000, burst_octets: u32::MAX });
    let mut packets = 0;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    println!("sessions  spaces  family  direction   cycles/packet (median, least)");
    for (sessions, spaces) in [(1, 1), (1000, 1), (65_536, 2), (1 << 20, 17)] {
        if sessions > sessions_max {
            continue;
        }
        let mut pipeline = pipeline(sessions, spaces, rate);
        for (family, len) in [(4, 46), (6, 48)] {
            let sample: Vec<usize> = (0..sessions.min(1 << 18)).map(|_| random.below(sessions)).collect();
            let up: Vec<_> = sample.iter().map(|n| upstream(&spec(*n, spaces, None), family, *n, len)).collect();
            let down: Vec<_> = sample.iter().map(|n| downstream(family, *n, len)).collect();
            for (name, port, templates) in [("up", ACCESS, &up), ("down", CORE, &down)] {
                if only.as_ref().is_some_and(|only| *only != format!("IPv{family}-{name}")) {
                    continue;
                }
                packets += 2 * rounds * BURSTS * 32;
                measure(&mut pipeline, port, templates, &mut random, rounds);
                let (median, least) = measure(&mut pipeline, port, templates, &mut random, rounds);
                println!(
                    "{sessions:>8}  {spaces:>6}  IPv{family}    {name:<9}  {:>6.1} {:>6.1}",
                    median * ghz,
                    least * ghz
                );
            }
        }
    }
    println!("{packets} packets");
}
