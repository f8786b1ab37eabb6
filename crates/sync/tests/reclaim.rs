//! Quiescent-state reclaim as its users see it; every order of events is checked in `loom.rs`.
#![cfg(not(loom))]

use bng_sync::{Qsbr, RetireFull, RetireList, published};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[test]
fn each_place_of_a_domain_has_one_reader() {
    let domain = Qsbr::new(2);
    let first = domain.reader(0).expect("free");
    assert!(domain.reader(0).is_none(), "taken");
    assert!(domain.reader(2).is_none(), "no such place");
    assert_eq!((first.index(), domain.readers(), domain.readers_online()), (0, 2, 0));
    drop(first);
    let mut again = domain.reader(0).expect("free again");
    again.online();
    assert_eq!(domain.readers_online(), 1);
    assert!(again.reads(&domain) && !again.reads(&Qsbr::new(1)));
    drop(again);
    assert_eq!(domain.readers_online(), 0, "a dropped reader is waited for by nobody");
}

#[test]
fn an_epoch_passes_when_every_online_reader_has_noted_it() {
    let domain = Qsbr::new(3);
    let [mut a, mut b, mut asleep] = [0, 1, 2].map(|index| domain.reader(index).expect("free"));
    let early = domain.advance();
    assert!(domain.passed(early), "nobody is online");
    a.online();
    b.online();
    assert!(domain.passed(early), "stays passed: they came later");
    let epoch = domain.advance();
    assert!(epoch > early);
    assert!(!domain.passed(epoch));
    a.quiescent();
    asleep.quiescent();
    assert!(!asleep.is_online(), "being quiescent does not wake a reader");
    assert!(!domain.passed(epoch));
    b.offline();
    assert!(domain.passed(epoch));
    let next = domain.advance();
    b.online();
    a.quiescent();
    assert!(domain.passed(next));
}

#[test]
fn a_full_list_hands_the_item_back_and_goes_on() {
    let domain = Qsbr::new(1);
    let mut reader = domain.reader(0).expect("free");
    reader.online();
    let mut list = RetireList::new(&domain, 2);
    assert_eq!((list.room(), list.items_max(), list.is_empty()), (2, 2, true));
    list.push("a").expect("room");
    list.push("b").expect("room");
    let RetireFull(back) = list.push("c").expect_err("full");
    assert_eq!((back, list.room()), ("c", 0));
    assert_eq!(list.poll(|_| panic!("the reader has not passed")), 0);
    reader.quiescent();
    let mut freed = Vec::new();
    assert_eq!(list.poll(|item| freed.push(item)), 2);
    assert_eq!(freed, ["a", "b"]);
    list.push("c").expect("room");
    assert_eq!(list.take_all().collect::<Vec<_>>(), ["c"]);
    assert!(list.is_empty());
}

proptest! {
    /// Against the plainest account: an item may go once the reader has been quiescent or offline after the poll
    /// that followed its push, and goes at the next poll after that, in order.
    #[test]
    fn items_come_back_in_order_after_grace_and_not_before(steps in prop::collection::vec(0u8..5, 1..200)) {
        let domain = Qsbr::new(1);
        let mut reader = domain.reader(0).expect("free");
        let mut list = RetireList::new(&domain, 10);
        // For each waiting item, in order: its number, and whether it has been stamped, and passed.
        let mut waiting: Vec<(u32, bool, bool)> = Vec::new();
        let mut next = 0;
        for step in steps {
            match step {
                0 => {
                    prop_assert_eq!(list.push(next).is_ok(), waiting.len() < 10);
                    if waiting.len() < 10 {
                        waiting.push((next, false, false));
                        next += 1;
                    }
                }
                1 => {
                    for item in &mut waiting {
                        item.1 = true;
                        item.2 |= !reader.is_online();
                    }
                    let mut freed = Vec::new();
                    list.poll(|item| freed.push(item));
                    let expected: Vec<u32> = waiting.iter().filter(|item| item.2).map(|item| item.0).collect();
                    waiting.retain(|item| !item.2);
                    prop_assert_eq!(freed, expected);
                }
                2 => reader.online(),
                3 => {
                    reader.quiescent();
                }
                _ => reader.offline(),
            }
            if step >= 2 {
                for item in &mut waiting {
                    item.2 |= item.1;
                }
            }
            prop_assert_eq!(list.len(), waiting.len());
        }
    }
}

/// Counts how many of them live, and on which thread they end.
struct Counted(Arc<AtomicUsize>, std::thread::ThreadId);

impl Counted {
    fn new(live: &Arc<AtomicUsize>) -> Self {
        live.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(live), std::thread::current().id())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert_eq!(self.1, std::thread::current().id(), "dropped on the writer's thread");
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn published_values_end_on_the_writer_and_none_is_left() {
    let live = Arc::new(AtomicUsize::new(0));
    let domain = Qsbr::new(1);
    let (mut publisher, shared) = published(&domain, (0u64, Counted::new(&live)), 3);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (domain, shared, stop) = (&domain, &shared, &stop);
        let reading = scope.spawn(move || {
            let mut reader = domain.reader(0).expect("free");
            reader.online();
            let mut last = 0;
            while !stop.load(Ordering::Relaxed) {
                let (number, _) = shared.load(&reader);
                assert!(*number >= last);
                last = *number;
                reader.quiescent();
            }
            last
        });
        let mut number = 0;
        while number < 20_000 {
            match publisher.publish((number + 1, Counted::new(&live))) {
                Ok(()) => number += 1,
                Err(RetireFull((refused, _))) => {
                    assert_eq!(refused, number + 1);
                    std::thread::yield_now();
                }
            }
            assert!(live.load(Ordering::Relaxed) <= 4);
        }
        assert_eq!(publisher.current().0, 20_000);
        stop.store(true, Ordering::Relaxed);
        assert!(reading.join().expect("a good reader") <= 20_000);
    });
    assert_eq!(publisher.poll(), 0);
    assert_eq!(live.load(Ordering::Relaxed), 1);
    drop(publisher);
    drop(shared);
    assert_eq!(live.load(Ordering::Relaxed), 0);
}

#[test]
fn a_publisher_that_ends_first_leaves_its_values_to_the_readers() {
    let live = Arc::new(AtomicUsize::new(0));
    let domain = Qsbr::new(1);
    let mut reader = domain.reader(0).expect("free");
    reader.online();
    let (mut publisher, shared) = published(&domain, Counted::new(&live), 1);
    let seen = shared.load(&reader);
    publisher.publish(Counted::new(&live)).expect("room");
    drop(publisher);
    assert_eq!(live.load(Ordering::Relaxed), 2, "one is still looked at");
    assert_eq!(seen.1, std::thread::current().id());
    drop(shared);
    assert_eq!(live.load(Ordering::Relaxed), 0);
}

#[test]
#[should_panic(expected = "would not wait")]
fn an_offline_reader_may_not_look() {
    let domain = Qsbr::new(1);
    let (_publisher, shared) = published(&domain, 1, 1);
    let reader = domain.reader(0).expect("free");
    let _ = shared.load(&reader);
}

#[test]
#[should_panic(expected = "would not wait")]
fn a_reader_of_another_domain_may_not_look() {
    let (_publisher, shared) = published(&Qsbr::new(1), 1, 1);
    let other = Qsbr::new(1);
    let mut reader = other.reader(0).expect("free");
    reader.online();
    let _ = shared.load(&reader);
}
