//! Frames in, frames out.

use crate::bed::{Bed, Burst, COPY, SEND, Script, Setup, eal, scripted, wait_until};
use bng_dpdk::{Mempool, MempoolConfig, Port, RingPortConfig};
use bng_wire::PortIndex;
use bng_worker::{Forward, Peers, Transmit, WorkerPort, WorkerStatus};

#[test]
fn frames_leave_on_the_port_beside_in_order() {
    let setup = Setup { workers: 2, ..Setup::new("order") };
    let mut bed = Bed::start(&setup, |_, _, _| Forward);
    for queue in 0..2 {
        for port in 0..2usize {
            let frames: Vec<_> = (0..20u8).map(|number| bed.frame(&[number; 60])).collect();
            bed.feed(port, queue, frames);
            let sent = bed.sent(port ^ 1, queue, 20);
            assert!(sent.iter().zip(0u8..).all(|(frame, number)| frame[..] == [number; 60]));
        }
    }
    let ends = bed.finish();
    for ends in ends {
        let frames: u64 = ends
            .status
            .bursts
            .iter()
            .zip(WorkerStatus::BURST_FLOORS)
            .map(|(bursts, floor)| bursts.get() * u64::from(floor))
            .sum();
        assert!((20..=40).contains(&frames), "40 frames in bursts that are at least their bucket's floor: {frames}");
        assert!(ends.status.busy_cycles.get() > 0 && ends.status.turns.get() > ends.status.turns_empty.get());
    }
}

#[test]
fn what_goes_in_comes_out_once() {
    const FRAMES: usize = 20_000;
    let setup = Setup { workers: 2, ..Setup::new("many") };
    let mut bed = Bed::start(&setup, |_, _, _| Forward);
    let (mut sent, mut seen) = (0usize, vec![0u8; FRAMES]);
    let mut received = 0;
    let mut burst = Burst::new();
    wait_until("every frame comes out", || {
        for queue in 0..2 {
            while sent < FRAMES && sent - received < 512 {
                let mut one = Burst::from_iter([bed.frame(&sent.to_be_bytes())]);
                sent += bed.far[0].feeds[queue].feed(&mut one);
            }
            received += bed.far[1].drains[queue].drain(&mut burst);
            for mbuf in burst.drain(..) {
                let number = usize::from_be_bytes(mbuf.bytes().try_into().expect("as it was sent"));
                seen[number] += 1;
            }
        }
        received == FRAMES
    });
    assert!(seen.iter().all(|count| *count == 1));
    bed.finish();
}

#[test]
fn a_burst_may_grow_beyond_the_transmit_buffer() {
    let mut bed = Bed::start(&Setup::new("grow"), |_, _, _| Script);
    let frames: Vec<_> = (0..32u8).map(|number| bed.frame(&scripted(COPY, &[1, number]))).collect();
    bed.feed(0, 0, frames);
    let sent = bed.sent(1, 0, 96);
    assert!(sent.iter().enumerate().all(|(at, frame)| usize::from(frame[2]) == at / 3), "in order");
    bed.finish();
}

#[test]
fn one_worker_polls_every_queue_it_was_given() {
    let setup = Setup::new("several");
    let (eal, turn) = eal();
    let config = MempoolConfig { name: "several".to_owned(), mbufs: 1023, cache: 32, ..MempoolConfig::default() };
    let pool = Mempool::new(&eal, &config).unwrap();
    let config = RingPortConfig { name: "several".to_owned(), rx_queues: 3, ..RingPortConfig::default() };
    let (port, far) = Port::from_rings(&eal, &config, &pool).unwrap();
    let (rx, mut tx) = port.take_queues();
    let hand = vec![WorkerPort { port: PortIndex(0), rx, tx: Transmit::Own(tx.pop().unwrap()), steer: false }];
    let mut bed =
        Bed::run(&setup, &eal, turn, pool, vec![port], vec![far], vec![hand], vec![Peers::none()], |_, _, _| Script);
    for queue in 0..3u8 {
        let frame = bed.frame(&scripted(SEND, &[0, queue]));
        bed.feed(0, usize::from(queue), [frame]);
        assert_eq!(bed.sent(0, 0, 1)[0][2], queue);
    }
    bed.finish();
}
