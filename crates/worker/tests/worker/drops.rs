//! What the worker itself drops.

use crate::bed::{Bed, SEND, Script, Setup, eal, scripted};
use bng_dataplane::Reason;
use bng_dpdk::{Mempool, MempoolConfig, Port, RingPortConfig};
use bng_sync::{Qsbr, frame_ring};
use bng_wire::PortIndex;
use bng_worker::{IdleConfig, Peers, Stop, Transmit, Worker, WorkerError, WorkerParts, WorkerPort};
use std::sync::Arc;

#[test]
fn segments_are_joined_where_they_fit_and_dropped_where_not() {
    let mut bed = Bed::start(&Setup::new("segments"), |_, _, _| Script);
    let mut frame = bed.frame(&scripted(SEND, &[1, 42]));
    frame.chain(bed.frame(&[7; 100])).unwrap();
    let mut long = bed.frame(&[0; 1500]);
    long.chain(bed.frame(&[0; 1500])).unwrap();
    let whole = bed.frame(&scripted(SEND, &[1, 43]));
    bed.feed(0, 0, [long, frame, whole]);
    let sent = bed.sent(1, 0, 2);
    assert_eq!((sent[0][2], sent[0].len(), &sent[0][60..]), (42, 160, &[7u8; 100][..]));
    assert_eq!(sent[1][2], 43);
    bed.await_count(Reason::NotLinear, 1);
    let ends = bed.finish();
    assert_eq!(ends[0].status.linearised.get(), 1);
    let counters = ends[0].counters.port(PortIndex(0)).unwrap();
    assert_eq!((counters.rx_frames.get(), counters.rx_octets.get()), (1, 3000), "what the stages never saw");
}

#[test]
fn a_full_transmit_queue_costs_the_frames_beyond_it_only() {
    let mut bed = Bed::start(&Setup { ring_frames_max: 64, ..Setup::new("txfull") }, |_, _, _| Script);
    for _ in 0..3 {
        let frames: Vec<_> = (0..32).map(|_| bed.frame(&scripted(SEND, &[1]))).collect();
        bed.feed(0, 0, frames);
        crate::bed::wait_until("the burst is taken", || bed.far[0].feeds[0].waiting() == 0);
    }
    bed.await_count(Reason::TxFull, 96 - 63);
    let frame = bed.frame(&scripted(SEND, &[0]));
    bed.feed(0, 0, [frame]);
    bed.sent(0, 0, 1);
    bed.sent(1, 0, 63);
    bed.finish();
}

#[test]
fn a_frame_too_long_for_its_port_does_not_hold_up_the_others() {
    let mut bed = Bed::start(&Setup::new("long"), |_, _, _| Script);
    let mut long = scripted(SEND, &[1, 1]);
    long.resize(1531, 0);
    let frames = [bed.frame(&scripted(SEND, &[1, 0])), bed.frame(&long), bed.frame(&scripted(SEND, &[1, 2]))];
    bed.feed(0, 0, frames);
    let order: Vec<u8> = bed.sent(1, 0, 2).iter().map(|frame| frame[2]).collect();
    assert_eq!(order, [0, 2]);
    bed.await_count(Reason::TooBig, 1);
    let nowhere = bed.frame(&scripted(SEND, &[9]));
    bed.feed(0, 0, [nowhere]);
    bed.await_count(Reason::UnknownPort, 1);
    bed.finish();
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let (eal, _turn) = eal();
    let config = MempoolConfig { name: "parts".to_owned(), mbufs: 255, cache: 0, ..MempoolConfig::default() };
    let pool = Mempool::new(&eal, &config).unwrap();
    let config = RingPortConfig { name: "parts".to_owned(), rx_queues: 3, tx_queues: 3, ..RingPortConfig::default() };
    let (port, _far) = Port::from_rings(&eal, &config, &pool).unwrap();
    let (_, mut tx) = port.take_queues();
    let mut make = |ports: &[u8]| {
        let mut port = |index: &u8| WorkerPort {
            port: PortIndex(*index),
            rx: Vec::new(),
            tx: Transmit::Own(tx.pop().expect("a queue")),
            steer: false,
        };
        let parts = WorkerParts {
            stages: Script,
            ports: ports.iter().map(&mut port).collect(),
            pool: pool.clone(),
            reader: Qsbr::new(1).reader(0).unwrap(),
            punt: std::array::from_fn(|_| frame_ring(64, 1).0),
            inject: frame_ring(64, 1).1,
            peers: Peers::none(),
            counters: Arc::default(),
            status: Arc::default(),
            idle: IdleConfig::default(),
            stop: Stop::new(),
        };
        Worker::new(parts).err()
    };
    assert_eq!(make(&[]), None);
    assert_eq!(make(&[32]), Some(WorkerError::PortIndex { index: 32 }));
    assert_eq!(make(&[1, 1]), Some(WorkerError::PortTwice { index: 1 }));
}
