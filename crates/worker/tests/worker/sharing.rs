//! Load shared in software: ports with fewer queues than there are workers.

use crate::bed::{Bed, Setup, deal_one_queue, eal, wait_until};
use bng_dataplane::{InjectKind, Reason};
use bng_dpdk::{Mbuf, Mempool, MempoolConfig, Port, RingPortConfig};
use bng_sync::{Qsbr, frame_ring};
use bng_worker::{Forward, IdleConfig, PEER_RING_FRAMES, Peers, Stop, Worker, WorkerParts};
use std::collections::HashMap;
use std::sync::Arc;

/// A frame of session `id`, as its client sends it, with a number behind the addresses.
fn frame(id: u16, number: u32) -> Vec<u8> {
    let [high, low] = id.to_be_bytes();
    let mut frame = vec![2, 0, 0, 0, 0, 0xfe, 2, 0, 0, 0, high, low, 0x88, 0x64, 0x11, 0, high, low, 0, 40, 0, 0x21];
    frame.extend([0x45, 0, 0, 38, 0, 0, 0, 0, 64, 17, 0, 0, 100, 64, high, low, 203, 0, 113, 9]);
    // Where a whole datagram has its ports: they must not matter.
    frame.extend(number.to_be_bytes());
    frame.resize(60, 0);
    frame
}

fn setup(name: &'static str) -> Setup {
    Setup { workers: 2, one_queue: true, ..Setup::new(name) }
}

#[test]
fn p69_one_queue_serves_two_workers_evenly_and_in_order() {
    const SESSIONS: u16 = 1024;
    const ROUNDS: u32 = 20;
    let mut bed = Bed::start(&setup("share"), |_, _, _| Forward);
    let mut order: HashMap<Vec<u8>, u32> = HashMap::new();
    let (mut received, mut burst) = (0u64, crate::bed::Burst::new());
    let mut drain = |bed: &mut Bed<Forward>, least: u64| {
        wait_until("frames come out", || {
            bed.far[1].drains[0].drain(&mut burst);
            for mbuf in burst.drain(..) {
                received += 1;
                let number = u32::from_be_bytes(mbuf.bytes()[42..46].try_into().expect("four octets"));
                let next = order.entry(mbuf.bytes()[..42].to_vec()).or_default();
                assert_eq!(number, *next, "a flow is overtaken");
                *next += 1;
            }
            received >= least
        });
    };
    let mut fed = 0u64;
    for round in 0..ROUNDS {
        for id in (1..=SESSIONS).step_by(32) {
            let frames: Vec<Mbuf> = (id..id + 32).map(|id| bed.frame(&frame(id, round))).collect();
            bed.feed(0, 0, frames);
            fed += 32;
            drain(&mut bed, fed.saturating_sub(256));
        }
    }
    drain(&mut bed, fed);
    assert_eq!(order.len(), usize::from(SESSIONS));
    assert!(order.values().all(|count| *count == ROUNDS));
    assert_eq!(bed.count(Reason::SteerFull), 0);
    let ends = bed.finish();
    let steered = ends[0].status.steered.get();
    assert!(steered.abs_diff(fed / 2) <= fed * 15 / 100, "{steered} of {fed} went to the other worker");
    assert_eq!(ends[1].status.steered.get(), 0);
    assert_eq!(ends[1].status.from_peers.get(), steered);
    assert_eq!(ends[0].status.from_peers.get(), steered, "what the other worker sent by the only queue");
}

#[test]
fn a_full_ring_to_a_worker_drops_and_never_overtakes() {
    let (eal, _turn) = eal();
    let config = MempoolConfig { name: "stuck".to_owned(), mbufs: 4095, cache: 32, ..MempoolConfig::default() };
    let pool = Mempool::new(&eal, &config).expect("a pool");
    let (mut ports, mut far) = (Vec::new(), Vec::new());
    for number in 0..2 {
        let config = RingPortConfig { name: format!("stuck{number}"), frames_max: 2048, ..RingPortConfig::default() };
        let (port, end) = Port::from_rings(&eal, &config, &pool).expect("a port of rings");
        ports.push(port);
        far.push(end);
    }
    let peers = Peers::mesh(&eal, &pool, "stuck", 2, 7).expect("rings");
    let grace = Qsbr::new(2);
    let counters: Vec<Arc<bng_dataplane::WorkerCounters>> = vec![Arc::default(), Arc::default()];
    let hands = deal_one_queue(&ports, 2).into_iter().zip(peers).zip(&counters).enumerate();
    let mut workers: Vec<Worker<Forward>> = hands
        .map(|(number, ((ports, peers), counters))| {
            Worker::new(WorkerParts {
                stages: Forward,
                ports,
                pool: pool.clone(),
                reader: grace.reader(number).expect("a place"),
                punt: std::array::from_fn(|_| frame_ring(64, 1).0),
                inject: frame_ring(64, 1).1,
                peers,
                counters: Arc::clone(counters),
                status: Arc::default(),
                idle: IdleConfig::default(),
                stop: Stop::new(),
            })
            .expect("parts that fit")
        })
        .collect();
    // One flow of the second worker's: the first forwards none of it.
    let sent = |workers: &mut Vec<Worker<Forward>>, far: &mut Vec<bng_dpdk::RingPort>, id: u16, number: u32| {
        let mut mbuf = pool.alloc().expect("a buffer");
        assert!(mbuf.fill(&frame(id, number)));
        far[0].feeds[0].feed(&mut crate::bed::Burst::from_iter([mbuf]));
        workers[0].step();
        far[1].drains[0].waiting()
    };
    let id = (1..100).find(|id| {
        let before = far[1].drains[0].waiting();
        sent(&mut workers, &mut far, *id, 0) == before
    });
    let id = id.expect("one of a hundred flows is the other worker's");
    let room = PEER_RING_FRAMES - 1;
    for number in 1..room + 40 {
        sent(&mut workers, &mut far, id, number);
    }
    assert_eq!(counters[0].reason(Reason::SteerFull).get(), 40);
    while workers[1].step() {
        workers[0].step();
    }
    let mut numbers = Vec::new();
    let mut burst = crate::bed::Burst::new();
    while far[1].drains[0].drain(&mut burst) > 0 {
        let of_flow = burst.drain(..).filter(|mbuf| mbuf.bytes()[16..18] == id.to_be_bytes());
        numbers.extend(of_flow.map(|mbuf| u32::from_be_bytes(mbuf.bytes()[42..46].try_into().expect("four octets"))));
    }
    assert_eq!(numbers, (0..room).collect::<Vec<u32>>(), "what fitted, in order");
    drop(workers);
}

#[test]
fn last_words_leave_by_another_workers_queue() {
    let mut bed = Bed::start(&setup("words"), |_, _, _| Forward);
    for number in 0..200u8 {
        bed.inject(1, InjectKind::Transmit as u8, 1, &[number; 60]);
    }
    bed.join();
    let sent = bed.sent_by_then(1, 0);
    assert_eq!(sent.len(), 200);
    assert!(sent.iter().zip(0u8..).all(|(frame, number)| frame[..] == [number; 60]));
}
