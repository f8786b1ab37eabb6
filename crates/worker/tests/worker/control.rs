//! To control and from it.

use crate::bed::{Bed, DROP, PUNT, SEND, Script, Setup, scripted, wait_until};
use bng_dataplane::{InjectKind, PuntClass, PuntMeta, Reason};
use bng_wire::PortIndex;

const TRANSMIT: u8 = InjectKind::Transmit as u8;
const RECEIVE: u8 = InjectKind::Receive as u8;

#[test]
fn a_punted_frame_reaches_control_whole_in_its_class() {
    let mut bed = Bed::start(&Setup::new("punt"), |_, _, _| Script);
    for class in PuntClass::ALL {
        let frame = scripted(PUNT, &[class as u8, 7, 8, 9]);
        let mbuf = bed.frame(&frame);
        bed.feed(1, 0, [mbuf]);
        let punted = bed.punted(0, class, 1);
        let (meta, bytes) = &punted[0];
        assert_eq!(*bytes, frame);
        assert_eq!((meta.port, meta.kind, meta.reason), (1, 0, Reason::Host as u16));
        assert_eq!(PuntMeta::session_from_bits(meta.session), None);
    }
    let ends = bed.finish();
    assert!(ends[0].status.punted.iter().all(|count| count.get() == 1));
}

#[test]
fn a_full_ring_to_control_is_a_drop_of_its_class_only() {
    let mut bed = Bed::start(&Setup { punt_records_max: 8, ..Setup::new("full") }, |_, _, _| Script);
    let flood = scripted(PUNT, &[PuntClass::Discovery as u8]);
    for _ in 0..4 {
        let frames: Vec<_> = (0..5).map(|_| bed.frame(&flood)).collect();
        bed.feed(0, 0, frames);
    }
    bed.await_count(Reason::PuntFull, 12);
    let frame = bed.frame(&scripted(PUNT, &[PuntClass::Keepalive as u8]));
    bed.feed(0, 0, [frame]);
    bed.punted(0, PuntClass::Keepalive, 1);
    bed.punted(0, PuntClass::Discovery, 8);
    let frame = bed.frame(&flood);
    bed.feed(0, 0, [frame]);
    bed.punted(0, PuntClass::Discovery, 1);
    let ends = bed.finish();
    let lost: Vec<u64> = ends[0].status.punt_full.iter().map(|count| count.get()).collect();
    assert_eq!(lost, [0, 0, 12, 0]);
}

#[test]
fn control_sends_on_any_port_by_any_worker() {
    let mut bed = Bed::start(&Setup { workers: 2, ..Setup::new("inject") }, |_, _, _| Script);
    for worker in 0..2 {
        for port in 0..2u8 {
            let frame = [worker as u8, port, 9].repeat(20);
            bed.inject(worker, TRANSMIT, port, &frame);
            assert_eq!(bed.sent(usize::from(port), worker, 1), [frame]);
        }
    }
    let ends = bed.finish();
    for ends in ends {
        assert_eq!(ends.status.injected.get(), 2);
        for port in 0..2 {
            let counters = ends.counters.port(PortIndex(port)).unwrap();
            assert_eq!((counters.tx_frames.get(), counters.tx_octets.get()), (1, 60));
        }
    }
}

#[test]
fn a_frame_that_was_held_goes_through_the_stages() {
    let mut bed = Bed::start(&Setup::new("held"), |_, _, _| Script);
    bed.inject(0, RECEIVE, 0, &scripted(SEND, &[1, 1]));
    bed.inject(0, TRANSMIT, 1, &scripted(SEND, &[0, 2]));
    bed.inject(0, RECEIVE, 0, &scripted(SEND, &[1, 3]));
    bed.inject(0, RECEIVE, 0, &scripted(DROP, &[]));
    let order: Vec<u8> = bed.sent(1, 0, 3).iter().map(|frame| frame[2]).collect();
    assert_eq!(order, [1, 2, 3], "in the order of the ring");
    bed.inject(0, RECEIVE, 1, &scripted(PUNT, &[PuntClass::Host as u8]));
    assert_eq!(bed.punted(0, PuntClass::Host, 1)[0].0.port, 1);
    bed.finish();
}

#[test]
fn what_cannot_be_injected_is_dropped_with_a_reason() {
    let mut bed = Bed::start(&Setup::new("refuse"), |_, _, _| Script);
    bed.inject(0, TRANSMIT, 2, &[0; 60]);
    bed.inject(0, TRANSMIT, 255, &[0; 60]);
    bed.inject(0, 77, 0, &[0; 60]);
    bed.await_count(Reason::UnknownPort, 3);
    bed.inject(0, TRANSMIT, 0, &[0; 1531]);
    bed.inject(0, TRANSMIT, 0, &[0; 3000]);
    bed.await_count(Reason::TooBig, 2);
    bed.inject(0, TRANSMIT, 0, &[5; 1530]);
    assert_eq!(bed.sent(0, 0, 1)[0].len(), 1530, "the longest that may");
    bed.finish();
}

#[test]
fn without_a_buffer_an_injected_frame_is_dropped_with_a_reason() {
    let mut bed = Bed::start(&Setup { mbufs: 255, ..Setup::new("empty") }, |_, _, _| Script);
    let held: Vec<_> = std::iter::from_fn(|| bed.pool.alloc()).collect();
    assert_eq!(held.len(), 255);
    bed.inject(0, TRANSMIT, 0, &[0; 60]);
    bed.await_count(Reason::NoBuffer, 1);
    drop(held);
    bed.inject(0, TRANSMIT, 0, &[0; 60]);
    bed.sent(0, 0, 1);
    bed.finish();
}

#[test]
fn what_was_injected_before_the_stop_is_still_sent() {
    let mut bed = Bed::start(&Setup { ring_frames_max: 2048, ..Setup::new("farewell") }, |_, _, _| Script);
    for number in 0..1000u16 {
        bed.inject(0, TRANSMIT, 1, &number.to_be_bytes().repeat(30));
    }
    bed.join();
    let sent = bed.sent(1, 0, 1000);
    assert!(sent.iter().zip(0u16..).all(|(frame, number)| frame[..2] == number.to_be_bytes()));
}

#[test]
fn a_writer_never_waits_long_for_a_worker() {
    let bed = Bed::start(&Setup { workers: 2, ..Setup::new("grace") }, |_, _, _| Script);
    for _ in 0..100 {
        let epoch = bed.qsbr.advance();
        wait_until("the grace period ends", || bed.qsbr.passed(epoch));
    }
    bed.finish();
}
