//! The router's own pipeline in the loop: one frame each way, discovery, and noise.

use crate::bed::{Bed, Setup};
use bng_dataplane::{
    Pipeline, PipelineConfig, PortEntry, PortRole, PortTable, PuntClass, Reason, Tables, TpidSet, VidSet,
};
use bng_fib::{Fib, FibConfig, FibWriter, NextHop};
use bng_session::{PoolMap4, PoolMaps, SessionSpec, SessionTable, SessionWriter, TableConfig};
use bng_sync::{Placement, Qsbr};
use bng_wire::{MacAddr, PortIndex, SessionId, VrfId};
use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::sync::Arc;

const AC: [u8; 6] = [2, 0, 0, 0, 0, 0xfe];
const CLIENT: [u8; 6] = [2, 0, 0, 0, 0, 1];
const CORE: [u8; 6] = [2, 0, 0, 0, 1, 0xfe];
const ROUTER: [u8; 6] = [2, 0, 0, 0, 1, 1];
const CLIENT_IP: [u8; 4] = [192, 0, 2, 10];
const SERVER_IP: [u8; 4] = [203, 0, 113, 9];

/// What writes the tables; kept for the test's life.
struct Writers {
    sessions: SessionWriter,
    _fib: FibWriter,
}

fn tables(grace: &Arc<Qsbr>) -> (Tables, Writers) {
    let config = TableConfig { sessions_max: 64, workers: 1, placement: Placement::Ordinary };
    let (table, mut sessions) = SessionTable::new(config, Arc::clone(grace)).expect("memory");
    let config = FibConfig { nodes4_max: 256, nodes6_max: 256, ..FibConfig::default() };
    let (fib, mut writer) = Fib::new(&config, grace).expect("memory");
    let pools = Arc::new(PoolMaps::new());
    let pool = PoolMap4::new(Ipv4Addr::new(192, 0, 2, 0), 256, Placement::Ordinary).expect("a pool");
    let pool = pools.add4(pool).expect("room");
    let router = writer.adjacency_create(PortIndex(1), 1500).expect("room");
    writer.adjacency_resolve(router, &[&ROUTER[..], &CORE, &[0, 0]].concat()).expect("an adjacency");
    let vrf = VrfId(0);
    writer.insert4(vrf, Ipv4Addr::UNSPECIFIED, 0, NextHop::Neighbour(router)).expect("room");
    writer.insert4(vrf, Ipv4Addr::new(192, 0, 2, 0), 24, NextHop::Pool(pool)).expect("room");
    let spec = SessionSpec {
        port: PortIndex(0),
        local_mac: MacAddr(AC),
        peer_mac: MacAddr(CLIENT),
        session_id: SessionId(1),
        ipv4: Some(CLIENT_IP.into()),
        ipv4_up: true,
        ..SessionSpec::default()
    };
    let session = sessions.insert(&spec).expect("room");
    assert!(pools.v4(pool).expect("a map").set(CLIENT_IP.into(), Some(session)));
    let entry = |role, mac| PortEntry { role, mac, mtu: 1508, tpids: TpidSet::ALL, vids: VidSet::of(&[0]) };
    let ports = PortTable::new(vec![entry(PortRole::Access, MacAddr(AC)), entry(PortRole::Core, MacAddr(CORE))]);
    (Tables { sessions: table, fib, pools, ports: Arc::new(ports) }, Writers { sessions, _fib: writer })
}

/// An IPv4 packet of 28 octets (UDP without payload), its header checksum right.
fn ipv4(source: [u8; 4], destination: [u8; 4], ttl: u8) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0x40, 0, ttl, 17, 0, 0];
    packet.extend(source);
    packet.extend(destination);
    packet.extend([0x10, 0, 0, 53, 0, 8, 0, 0]);
    let sum: u32 = packet[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !(((folded & 0xffff) + (folded >> 16)) as u16);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet
}

fn pppoe(packet: &[u8]) -> Vec<u8> {
    let length = u16::try_from(packet.len() + 2).unwrap().to_be_bytes();
    let mut frame = [&AC[..], &CLIENT, &[0x88, 0x64, 0x11, 0, 0, 1], &length, &[0, 0x21], packet].concat();
    frame.resize(60, 0);
    frame
}

fn start(setup: &Setup) -> (Bed<Pipeline>, Writers) {
    let writers = RefCell::new(None);
    let bed = Bed::start(setup, |worker, counters, grace| {
        let (tables, kept) = tables(grace);
        writers.replace(Some(kept));
        Pipeline::new(worker, tables, Arc::clone(counters), PipelineConfig::default())
    });
    (bed, writers.into_inner().expect("made"))
}

#[test]
fn a_session_is_served_both_ways() {
    let (mut bed, writers) = start(&Setup::new("pipe"));
    let frame = bed.frame(&pppoe(&ipv4(CLIENT_IP, SERVER_IP, 64)));
    bed.feed(0, 0, [frame]);
    let out = bed.sent(1, 0, 1).remove(0);
    assert_eq!(out[..14], [&ROUTER[..], &CORE, &[8, 0]].concat());
    assert_eq!(out[14..42], ipv4(CLIENT_IP, SERVER_IP, 63), "one hop less, the checksum right");

    let packet = ipv4(SERVER_IP, CLIENT_IP, 9);
    let mut frame = [&CORE[..], &ROUTER, &[8, 0], &packet].concat();
    frame.resize(60, 0);
    let frame = bed.frame(&frame);
    bed.feed(1, 0, [frame]);
    let out = bed.sent(0, 0, 1).remove(0);
    assert_eq!(out[..22], [&CLIENT[..], &AC, &[0x88, 0x64, 0x11, 0, 0, 1, 0, 30, 0, 0x21]].concat());
    assert_eq!(out[22..50], ipv4(SERVER_IP, CLIENT_IP, 8));

    let padi = [&[0xff; 6][..], &CLIENT, &[0x88, 0x63, 0x11, 9, 0, 0, 0, 4, 1, 1, 0, 0], &[0; 36]].concat();
    let frame = bed.frame(&padi);
    bed.feed(0, 0, [frame]);
    let punted = bed.punted(0, PuntClass::Discovery, 1);
    assert_eq!(punted[0].1, padi);
    assert_eq!(bng_dataplane::Reason::Discovery as u16, punted[0].0.reason);

    let spoofed = bed.frame(&pppoe(&ipv4(SERVER_IP, SERVER_IP, 64)));
    bed.feed(0, 0, [spoofed]);
    bed.await_count(Reason::Ipv4Spoofed, 1);

    let index = bng_session::SessionIndex(0);
    let totals = writers.sessions.table().totals(index);
    assert_eq!((totals.up_packets, totals.up_octets, totals.down_packets, totals.down_octets), (1, 28, 1, 28));
    bed.finish();
}

#[test]
fn no_noise_stops_the_loop_and_each_frame_ends_once() {
    const FRAMES: u64 = 20_000;
    let (mut bed, _writers) = start(&Setup { punt_records_max: 1 << 16, ..Setup::new("noise") });
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let good = pppoe(&ipv4(CLIENT_IP, SERVER_IP, 64));
    let (mut fed, mut left) = (0u64, 0u64);
    while fed < FRAMES {
        let mut frame = good.clone();
        frame.truncate(1 + (random() % 60) as usize);
        for _ in 0..random() % 6 {
            let at = random() as usize % frame.len();
            frame[at] = random() as u8;
        }
        let mbuf = bed.frame(&frame);
        bed.feed((random() % 2) as usize, 0, [mbuf]);
        fed += 1;
        if fed.is_multiple_of(256) {
            crate::bed::wait_until("the frames are taken", || bed.far.iter().all(|far| far.feeds[0].waiting() == 0));
            left += drained(&mut bed);
        }
    }
    let ended = |bed: &Bed<Pipeline>| Reason::ALL.iter().map(|reason| bed.count(*reason)).sum::<u64>();
    crate::bed::wait_until("every frame ended", || {
        left += drained(&mut bed);
        left + ended(&bed) >= FRAMES
    });
    assert_eq!(left + ended(&bed), FRAMES);
    let received: u64 = (0..2).map(|port| bed.ends[0].counters.port(PortIndex(port)).unwrap().rx_frames.get()).sum();
    assert_eq!(received, FRAMES);
    assert!(left > 0, "some of it was good");
    bed.finish();
}

/// Takes what was sent off every port.
fn drained(bed: &mut Bed<Pipeline>) -> u64 {
    let mut count = 0;
    for far in &mut bed.far {
        let mut burst = crate::bed::Burst::new();
        while far.drains[0].drain(&mut burst) > 0 {
            count += burst.len() as u64;
            burst.clear();
        }
    }
    count
}
