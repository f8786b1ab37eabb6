//! The frame ring against a queue, and between two threads.
#![cfg(not(loom))]

use bng_sync::{FrameMeta, Full, frame_ring};
use proptest::prelude::*;
use std::collections::VecDeque;

#[derive(Debug, Clone)]
enum Step {
    Push(FrameMeta, Vec<u8>),
    Pop,
    PopBatch(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let meta = (any::<u8>(), any::<u8>(), any::<u16>(), any::<u32>())
        .prop_map(|(port, kind, reason, session)| FrameMeta { port, kind, reason, session });
    prop_oneof![
        5 => (meta, prop::collection::vec(any::<u8>(), 0..140)).prop_map(|(meta, frame)| Step::Push(meta, frame)),
        3 => Just(Step::Pop),
        1 => (0usize..6).prop_map(Step::PopBatch),
    ]
}

/// The octets a frame of `len` takes in the ring, as its documentation says.
fn taken(len: usize) -> usize {
    len.next_multiple_of(8) + 16
}

proptest! {
    #[test]
    fn a_ring_is_a_bounded_queue(
        capacity in 0usize..1000,
        records_max in 0usize..12,
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let (mut producer, mut consumer) = frame_ring(capacity, records_max);
        let capacity = producer.capacity_bytes();
        prop_assert!(capacity >= 64 && capacity.is_power_of_two());
        let mut queue: VecDeque<(FrameMeta, Vec<u8>)> = VecDeque::new();
        for step in steps {
            match step {
                Step::Push(meta, frame) => {
                    let used: usize = queue.iter().map(|(_, frame)| taken(frame.len())).sum();
                    match producer.push(meta, &frame) {
                        Ok(()) => {
                            prop_assert!(queue.len() < records_max && used + taken(frame.len()) <= capacity);
                            queue.push_back((meta, frame));
                        }
                        // Every refusal has its reason.
                        Err(Full::TooLong) => prop_assert!(frame.len() > producer.frame_max_bytes()),
                        Err(Full::Records) => prop_assert!(queue.len() == records_max),
                        // What is skipped at the end of the memory is less than the record that did not fit there,
                        // and there may be one such gap in use and one to come.
                        Err(Full::Bytes) => {
                            prop_assert!(!queue.is_empty());
                            let longest = queue.iter().map(|(_, frame)| taken(frame.len())).max().unwrap_or(0);
                            prop_assert!(used + taken(frame.len()) + longest.max(taken(frame.len())) > capacity);
                        }
                    }
                }
                Step::Pop => {
                    let mut seen = None;
                    let popped = consumer.pop_with(|meta, frame| seen = Some((meta, frame.to_vec())));
                    prop_assert_eq!(popped, seen.is_some());
                    prop_assert_eq!(seen, queue.pop_front());
                }
                Step::PopBatch(frames_max) => {
                    let mut seen = Vec::new();
                    let popped = consumer.pop_batch(frames_max, |meta, frame| seen.push((meta, frame.to_vec())));
                    let expected: Vec<_> = queue.drain(..frames_max.min(queue.len())).collect();
                    prop_assert_eq!(popped, expected.len());
                    prop_assert_eq!(seen, expected);
                }
            }
            prop_assert_eq!((producer.len(), consumer.len()), (queue.len(), queue.len()));
            prop_assert_eq!(producer.is_empty(), queue.is_empty());
        }
    }

    #[test]
    fn an_empty_ring_takes_the_longest_frame_wherever_it_stands(
        capacity in 0usize..3000,
        lengths in prop::collection::vec(0usize..200, 0..40),
    ) {
        let (mut producer, mut consumer) = frame_ring(capacity, 1);
        for len in lengths {
            if producer.push(FrameMeta::default(), &vec![1; len]).is_ok() {
                prop_assert!(consumer.pop_with(|_, _| ()));
            }
        }
        let longest = vec![7; producer.frame_max_bytes()];
        prop_assert_eq!(producer.push(FrameMeta::default(), &longest), Ok(()));
        prop_assert!(consumer.pop_with(|_, frame| assert_eq!(frame, longest)));
    }
}

#[test]
fn a_frame_that_makes_its_reader_panic_is_not_handed_out_again() {
    let (mut producer, mut consumer) = frame_ring(256, 8);
    producer.push(FrameMeta::default(), b"bad").expect("room");
    producer.push(FrameMeta::default(), b"good").expect("room");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        consumer.pop_with(|_, _| std::panic::resume_unwind(Box::new(())));
    }));
    assert!(panicked.is_err());
    assert!(consumer.pop_with(|_, frame| assert_eq!(frame, b"good")));
    assert!(consumer.is_empty() && !consumer.pop_with(|_, _| ()));
}

#[test]
fn two_threads_pass_frames_of_every_length_in_order() {
    const FRAMES: u32 = 300_000;
    let (mut producer, mut consumer) = frame_ring(8192, 50);
    let length = |n: u32| (n.wrapping_mul(0x9e37_79b9) >> 21) as usize % 1600;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for n in 0..FRAMES {
                let frame = [n as u8; 1600];
                let meta = FrameMeta { port: n as u8, kind: 1, reason: n as u16, session: n };
                while let Err(full) = producer.push(meta, &frame[..length(n)]) {
                    assert_ne!(full, Full::TooLong);
                    std::thread::yield_now();
                }
            }
        });
        let mut next = 0u32;
        while next < FRAMES {
            let check = |meta: FrameMeta, frame: &[u8]| {
                assert_eq!(meta, FrameMeta { port: next as u8, kind: 1, reason: next as u16, session: next });
                assert_eq!(frame.len(), length(next));
                assert!(frame.iter().all(|octet| *octet == next as u8));
                next += 1;
            };
            if consumer.pop_batch(32, check) == 0 {
                std::thread::yield_now();
            }
        }
        assert!(consumer.is_empty());
    });
}
