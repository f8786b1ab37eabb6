//! A disk that fails, and one that is slow: clients are served all the same, and it is safe again afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bng_store::{Change, Serial, StoreState, Ticket, open};

use super::disk::Disk;
use super::{content, is_safe, settings, within};

fn session(n: u64) -> Change {
    Change::Session { serial: Serial(n), record: n.to_le_bytes().into() }
}

#[test]
fn a_promise_is_released_when_it_is_committed() {
    let woken = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&woken);
    let disk = Disk::default();
    let opened = open(Box::new(disk.clone()), settings()).unwrap();
    let wake = move || {
        count.fetch_add(1, Ordering::Relaxed);
    };
    let mut writer = opened.into_writer(wake).unwrap();
    disk.stall(Duration::from_millis(50));
    let ticket = writer.put(session(1), true).unwrap();
    assert!(writer.released(Instant::now()) < ticket, "nothing is promised before the disk has it");
    within(5, "the commit", || writer.released(Instant::now()) >= ticket);
    within(5, "the waker", || woken.load(Ordering::Relaxed) > 0);
    disk.lose_power();
    drop(writer);
    assert_eq!(content(&open(Box::new(disk), settings()).unwrap()).sessions.len(), 1);
}

#[test]
fn changes_are_committed_in_groups() {
    let disk = Disk::default();
    let mut writer = open(Box::new(disk.clone()), settings()).unwrap().into_writer(|| {}).unwrap();
    disk.stall(Duration::from_millis(5));
    for n in 0..20_000 {
        writer.put(session(n), false).unwrap();
    }
    within(30, "the commits", || writer.committed() == Ticket(20_000));
    let statistics = writer.statistics();
    assert_eq!(statistics.rows, 20_000);
    assert!(statistics.commits <= 40, "{statistics:?}");
}

#[test]
fn a_disk_that_fails_holds_nobody_back_and_loses_nothing_once_it_is_well() {
    let disk = Disk::default();
    let mut writer = open(Box::new(disk.clone()), settings()).unwrap().into_writer(|| {}).unwrap();
    writer.put(session(0), true).unwrap();
    within(5, "the first commit", || writer.committed() == Ticket(1));
    disk.fail_after(0);
    for n in 1..100 {
        writer.put(session(n), true).unwrap();
    }
    within(5, "the failure", || writer.state(Instant::now()) == StoreState::Degraded);
    assert_eq!(writer.released(Instant::now()), Ticket(100), "clients are served unsafe rather than not at all");
    assert!(writer.committed() < Ticket(100));
    assert!(writer.last_error().unwrap().contains("no space left"), "{:?}", writer.last_error());
    writer.put(Change::Gone { serial: Serial(5) }, false).unwrap();
    disk.heal();
    within(10, "being safe again", || is_safe(&writer) && writer.committed() == Ticket(101));
    assert_eq!(writer.last_error(), None);
    assert!(!writer.wants_everything(), "the file is the same one");
    writer.finish().unwrap();
    assert_eq!(content(&open(Box::new(disk), settings()).unwrap()).sessions.len(), 99);
}

#[test]
fn a_commit_of_more_than_a_second_holds_nobody_back() {
    let disk = Disk::default();
    let mut writer = open(Box::new(disk.clone()), settings()).unwrap().into_writer(|| {}).unwrap();
    disk.stall(Duration::from_millis(1300));
    let put = Instant::now();
    let ticket = writer.put(session(1), true).unwrap();
    within(5, "the stall", || writer.state(Instant::now()) == StoreState::Degraded);
    assert!(put.elapsed() >= Duration::from_secs(1), "not before");
    assert!(writer.released(Instant::now()) >= ticket);
    disk.stall(Duration::ZERO);
    within(10, "being safe again", || is_safe(&writer) && writer.committed() == ticket);
    assert_eq!(writer.statistics().late, 1);
}

#[test]
fn a_file_spoilt_while_it_runs_is_made_anew_and_filled_by_the_caller() {
    let disk = Disk::default();
    let mut opened = open(Box::new(disk.clone()), settings()).unwrap();
    opened.intern(&[(bng_store::NameKind::Port, "access0")]).unwrap();
    let mut writer = opened.into_writer(|| {}).unwrap();
    writer.put(session(1), true).unwrap();
    within(5, "the first commit", || writer.committed() == Ticket(1));
    disk.fail_after(0);
    writer.put(session(2), true).unwrap();
    within(5, "the failure", || !is_safe(&writer));
    disk.spoil();
    disk.heal();
    within(10, "being safe again", || is_safe(&writer));
    assert_eq!(disk.set_aside_count(), 1);
    assert!(writer.wants_everything());
    assert!(!writer.wants_everything(), "said once");
    writer.put(session(1), true).unwrap();
    writer.finish().unwrap();
    let again = open(Box::new(disk), settings()).unwrap();
    assert_eq!(content(&again).sessions.len(), 2);
    assert_eq!(again.name(0), Some((bng_store::NameKind::Port, "access0")));
    assert_eq!(again.meta.run, 2, "the run number goes on");
}

#[test]
fn an_end_on_a_failing_disk_says_what_is_lost() {
    let disk = Disk::default();
    let mut writer = open(Box::new(disk.clone()), settings()).unwrap().into_writer(|| {}).unwrap();
    disk.fail_after(0);
    writer.put(session(1), false).unwrap();
    let said = writer.finish().unwrap_err().to_string();
    assert!(said.contains("1 changes were not written") && said.contains("no space left"), "{said}");
}
