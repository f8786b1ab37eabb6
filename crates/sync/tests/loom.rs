//! Model checks: loom runs each model in every order that the memory model allows, within a bound on preemptions.
//!
//! `loom.sh` beside this crate runs them, and then once for each mutant of `src/ordering.rs`, which must fail.
#![cfg(loom)]

use bng_sync::{FrameMeta, Full, Published, Qsbr, Reader, RetireList, Snapshot, frame_ring, published};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::sync::Arc;

fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// Memory that a structure hands out and reuses: loom fails the model if it is read while it may be written.
struct Memory([UnsafeCell<usize>; 3]);

// SAFETY: that no word is touched by two threads at once is what the models check.
unsafe impl Sync for Memory {}
// SAFETY: as above.
unsafe impl Send for Memory {}

const FREED: usize = 99;

impl Memory {
    fn new() -> Self {
        Self([UnsafeCell::new(0), UnsafeCell::new(1), UnsafeCell::new(2)])
    }

    /// Element `index` holds its own number until it is freed.
    fn read(&self, index: usize) {
        // SAFETY: loom checks that nobody writes meanwhile.
        let value = self.0[index].with(|word| unsafe { *word });
        assert_eq!(value, index, "read after it was freed");
    }

    fn free(&self, index: usize) {
        // SAFETY: loom checks that nobody reads or writes meanwhile.
        self.0[index].with_mut(|word| unsafe { *word = FREED });
    }
}

/// A pointer, as an index into the memory, that a writer replaces.
struct Pointed {
    domain: Arc<Qsbr>,
    memory: Memory,
    current: AtomicUsize,
}

impl Pointed {
    fn new(readers: usize) -> Arc<Self> {
        Arc::new(Self { domain: Qsbr::new(readers), memory: Memory::new(), current: AtomicUsize::new(0) })
    }

    fn look(&self) {
        self.memory.read(self.current.load(Ordering::Acquire));
    }

    /// Replaces what is pointed to and frees it if the readers let it, asking `polls` times.
    fn replace(&self, with: usize, polls: usize) {
        let old = self.current.swap(with, Ordering::Release);
        let mut retired = RetireList::new(&self.domain, 1);
        retired.push(old).expect("room");
        for _ in 0..polls {
            if retired.poll(|index| self.memory.free(index)) > 0 {
                break;
            }
            thread::yield_now();
        }
    }
}

fn reader(domain: &Arc<Qsbr>, index: usize) -> Reader {
    domain.reader(index).expect("a place")
}

#[test]
fn nothing_is_freed_under_a_reader_between_quiescent_points() {
    check(3, || {
        let pointed = Pointed::new(1);
        let mut reader = reader(&pointed.domain, 0);
        reader.online();
        let writing = thread::spawn({
            let pointed = Arc::clone(&pointed);
            move || pointed.replace(1, 2)
        });
        for _ in 0..3 {
            pointed.look();
            reader.quiescent();
        }
        writing.join().expect("the writer");
        // Nobody forgets the reader's own place.
        pointed.look();
        drop(reader);
    });
}

#[test]
fn nothing_is_freed_under_a_reader_that_comes_online() {
    check(3, || {
        let pointed = Pointed::new(1);
        let writing = thread::spawn({
            let pointed = Arc::clone(&pointed);
            move || pointed.replace(1, 2)
        });
        let mut reader = reader(&pointed.domain, 0);
        reader.online();
        pointed.look();
        writing.join().expect("the writer");
        drop(reader);
    });
}

#[test]
fn nothing_is_freed_under_a_reader_that_goes_offline() {
    check(3, || {
        let pointed = Pointed::new(1);
        let mut reader = reader(&pointed.domain, 0);
        reader.online();
        let writing = thread::spawn({
            let pointed = Arc::clone(&pointed);
            move || pointed.replace(1, 3)
        });
        pointed.look();
        reader.offline();
        reader.online();
        pointed.look();
        reader.offline();
        writing.join().expect("the writer");
    });
}

#[test]
fn the_slowest_of_two_readers_is_waited_for() {
    check(2, || {
        let pointed = Pointed::new(2);
        let slow = thread::spawn({
            let pointed = Arc::clone(&pointed);
            let mut reader = reader(&pointed.domain, 1);
            reader.online();
            move || {
                pointed.look();
                reader.quiescent();
                pointed.look();
            }
        });
        let mut reader = reader(&pointed.domain, 0);
        reader.online();
        reader.quiescent();
        // This thread is a reader and then the writer: it frees only what the other has let go.
        reader.offline();
        pointed.replace(1, 2);
        slow.join().expect("the reader");
    });
}

#[test]
fn writers_that_share_a_domain_do_not_pass_each_others_epochs() {
    check(2, || {
        let first = Pointed::new(1);
        let mut reader = reader(&first.domain, 0);
        reader.online();
        let second = Arc::new(Pointed {
            domain: Arc::clone(&first.domain),
            memory: Memory::new(),
            current: AtomicUsize::new(0),
        });
        let writing = [&first, &second].map(|pointed| {
            let pointed = Arc::clone(pointed);
            thread::spawn(move || pointed.replace(1, 1))
        });
        for _ in 0..2 {
            first.look();
            second.look();
            reader.quiescent();
        }
        writing.into_iter().for_each(|writer| writer.join().expect("a writer"));
        drop(reader);
    });
}

/// A value whose content loom watches.
struct Watched(UnsafeCell<usize>);

// SAFETY: loom checks that nobody reads while the writer writes.
unsafe impl Sync for Watched {}
// SAFETY: as above.
unsafe impl Send for Watched {}

impl Watched {
    fn new(value: usize) -> Self {
        let watched = Self(UnsafeCell::new(0));
        // SAFETY: nobody else has it.
        watched.0.with_mut(|place| unsafe { *place = value });
        watched
    }

    fn read(&self) -> usize {
        // SAFETY: loom checks that nobody writes meanwhile.
        self.0.with(|place| unsafe { *place })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // SAFETY: loom checks that nobody reads meanwhile.
        self.0.with_mut(|place| unsafe { *place = FREED });
    }
}

#[test]
fn a_published_value_is_seen_whole_and_outlives_its_readers() {
    check(3, || {
        let domain = Qsbr::new(1);
        let (mut publisher, shared) = published(&domain, Watched::new(1), 2);
        let mut reader = reader(&domain, 0);
        reader.online();
        let looking = thread::spawn({
            let shared: Arc<Published<Watched>> = Arc::clone(&shared);
            move || {
                let mut last = 0;
                for _ in 0..2 {
                    let value = shared.load(&reader).read();
                    assert!((1..=2).contains(&value) && value >= last, "{value} after {last}");
                    last = value;
                    reader.quiescent();
                }
            }
        });
        publisher.publish(Watched::new(2)).expect("room");
        publisher.poll();
        looking.join().expect("the reader");
        assert_eq!(publisher.poll(), 0);
        assert_eq!(publisher.current().read(), 2);
    });
}

/// A ring of 8 words, and frames of one: a record is 3 words, so the third wraps round and reuses the memory of the
/// first.
#[test]
fn frames_arrive_whole_in_order_and_memory_is_reused_after_them() {
    check(3, || {
        let (mut producer, mut consumer) = frame_ring(64, 8);
        let pushing = thread::spawn(move || {
            let mut pushed = 0;
            for _ in 0..4 {
                let n = pushed + 1;
                let meta = FrameMeta { session: u32::from(n), ..FrameMeta::default() };
                match producer.push(meta, &[n; 5]) {
                    Ok(()) => pushed = n,
                    Err(error) => {
                        assert_eq!(error, Full::Bytes);
                        thread::yield_now();
                    }
                }
            }
            pushed
        });
        let mut popped = 0u8;
        let mut check = |meta: FrameMeta, frame: &[u8]| {
            popped += 1;
            assert_eq!(frame, [popped; 5]);
            assert_eq!(meta.session, u32::from(popped));
        };
        for _ in 0..3 {
            if !consumer.pop_with(&mut check) {
                thread::yield_now();
            }
        }
        let pushed = pushing.join().expect("the producer");
        while consumer.pop_with(&mut check) {}
        assert_eq!(popped, pushed, "none lost, none made up");
    });
}

#[test]
fn a_batch_gives_its_memory_back_when_it_is_done() {
    check(3, || {
        let (mut producer, mut consumer) = frame_ring(64, 2);
        producer.push(FrameMeta::default(), &[1; 8]).expect("room");
        producer.push(FrameMeta::default(), &[2; 8]).expect("room");
        let pushing = thread::spawn(move || {
            let mut pushed = 2;
            for _ in 0..2 {
                if producer.push(FrameMeta::default(), &[3; 8]).is_ok() {
                    pushed += 1;
                    break;
                }
                thread::yield_now();
            }
            pushed
        });
        let mut popped = 0u8;
        let mut check = |_: FrameMeta, frame: &[u8]| {
            popped += 1;
            assert_eq!(frame, [popped; 8]);
        };
        assert_eq!(consumer.pop_batch(2, &mut check), 2);
        let pushed = pushing.join().expect("the producer");
        consumer.pop_batch(8, &mut check);
        assert_eq!(popped, pushed);
    });
}

#[test]
fn the_words_of_a_snapshot_are_seen_together() {
    check(3, || {
        let snapshot = Arc::new(Snapshot::<2>::new());
        let writing = thread::spawn({
            let snapshot = Arc::clone(&snapshot);
            move || {
                // Three: the second and third reuse a copy that a reader may be looking at.
                for n in 1..=3 {
                    snapshot.write(n, &[n, n]);
                }
            }
        });
        let (tag, words) = snapshot.read();
        let words = words.expect("three changes disturb fewer than four looks");
        assert_eq!(words, [tag, tag]);
        assert!(snapshot.tag() >= tag);
        writing.join().expect("the writer");
        assert_eq!(snapshot.read(), (3, Some([3, 3])));
    });
}
