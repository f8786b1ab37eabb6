//! The hand-over: data frames race with the set-up and the tear-down of their sessions.
//!
//! The real control core, session table, pool map, FIB, rings and pipelines, each on a thread of its own as in the
//! daemon; only the ports are queues in memory. Several senders play clients that fire data in the very instant in
//! which IPCP is up, while they hang up (PADT; Terminate-Request and PADT; an operator's clear; redialling without a
//! word), after it, and into the next session, through two workers at once and in both directions. Entries and
//! addresses go from one session to the next within microseconds. It is then proved, for each session, that
//!
//! - every frame that was dealt with before the tear-down began was forwarded, exactly once, and no flow was reordered;
//! - the session's final counters are, to the packet and the octet, what left the workers as this session's: so nothing
//!   was forwarded or counted under another session's identity, nor after the counters were final;
//! - what reached a client had that client's address and session id together, and no frame with another's source
//!   address was forwarded;
//! - no control frame was lost, also between PADS and the session's first LCP packet: nothing is ever repeated here.
//!
//! `ROUNDS=N` (at most 25,000) plays another number of rounds, one round being one session that came up.
#![forbid(unsafe_code)]
#![allow(unreachable_pub, reason = "modules of one test")]

mod audit;
mod journal;
mod ledger;
mod sender;
mod worker;
mod world;

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bng_subscriber::{EndCause, Input};
use bng_wire::{MacAddr, PortIndex};

use journal::Journal;

const ACCESS: PortIndex = PortIndex(0);
const CORE: PortIndex = PortIndex(1);
const AC: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xfe]);
const CORE_MAC: MacAddr = MacAddr([2, 0, 0, 0, 1, 0xfe]);
/// The next router on the core port.
const ROUTER: MacAddr = MacAddr([2, 0, 0, 0, 1, 1]);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// A host behind the next router.
const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 9);

const WORKERS: usize = 2;
const SENDERS: u8 = 3;
const CLIENTS_PER_SENDER: u8 = 8;
const CLIENTS: u32 = SENDERS as u32 * CLIENTS_PER_SENDER as u32;
const ROUNDS: u64 = 8000;
const ROUNDS_MAX: u64 = 25_000;
/// How long the control core may take for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(20);

/// What all threads look at.
#[derive(Debug, Default)]
struct Flags {
    rounds: AtomicU64,
    rounds_wanted: u64,
    workers_stop: AtomicBool,
    control_stop: AtomicBool,
    failed: AtomicBool,
}

impl Flags {
    fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn enough(&self) -> bool {
        self.rounds.load(Ordering::Relaxed) >= self.rounds_wanted
    }
}

/// Stops everything where the thread that has it panics.
struct Guard<'a>(&'a Flags);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(true, Ordering::Relaxed);
            self.0.control_stop.store(true, Ordering::Relaxed);
        }
    }
}

fn guarded<R>(flags: &Flags, run: impl FnOnce() -> R) -> R {
    let _guard = Guard(flags);
    run()
}

fn race() {
    let rounds = std::env::var("ROUNDS").ok().map_or(ROUNDS, |text| text.parse().expect("ROUNDS is a number"));
    assert!((1..=ROUNDS_MAX).contains(&rounds), "ROUNDS is 1 to {ROUNDS_MAX}");
    let flags = Flags { rounds_wanted: rounds, ..Flags::default() };
    let flags = &flags;
    let world::World { mut control, handle, senders, workers, table, cleared, routing } = world::build();
    let counters = control.counters();
    let journal = Journal::default();
    let started = Instant::now();
    let (senders, workers) = std::thread::scope(|scope| {
        let workers: Vec<_> =
            workers.into_iter().map(|worker| scope.spawn(|| guarded(flags, || worker.run(flags)))).collect();
        let senders: Vec<_> =
            senders.into_iter().map(|sender| scope.spawn(|| guarded(flags, || sender.run(flags)))).collect();
        let for_operator = handle.clone();
        let operator = scope.spawn(move || {
            guarded(flags, || {
                for (vid, id) in cleared {
                    let found = for_operator.call(ANSWER_MAX, move |subscribers, now, actions| {
                        let mut sessions = subscribers.sessions(now);
                        let found = sessions.find(|view| (view.vlans.outer_vid(), view.session_id.0) == (vid, id));
                        let key = found.map(|view| view.key);
                        drop(sessions);
                        if let Some(key) = key {
                            subscribers.handle(now, Input::Clear { key, cause: EndCause::AdminReset }, actions);
                        }
                        key.is_some()
                    });
                    assert!(flags.failed() || found == Ok(true), "session {id} of VLAN {vid}: {found:?}");
                }
            });
        });
        let director = scope.spawn(move || {
            guarded(flags, || {
                let senders: Vec<_> = senders.into_iter().map(|sender| sender.join().expect("a sender")).collect();
                operator_end(&handle, flags);
                flags.control_stop.store(true, Ordering::Relaxed);
                senders
            })
        });
        tracing::subscriber::with_default(journal.clone(), || {
            guarded(flags, || control.run(&flags.control_stop).expect("the control core"));
        });
        let senders = director.join().expect("the director");
        flags.workers_stop.store(true, Ordering::Release);
        let workers: Vec<_> = workers.into_iter().map(|worker| worker.join().expect("a worker")).collect();
        // The senders' ends of its channel are in what they return.
        let senders: Vec<_> = senders.into_iter().map(sender::Sender::finish).collect();
        operator.join().expect("the operator");
        (senders, workers)
    });
    routing.stop();
    let lasted = started.elapsed();
    let entries = journal.0.lock().expect("the journal");
    audit::audit(&audit::Evidence {
        senders: &senders,
        workers: &workers,
        journal: &entries,
        table: &table,
        control: &counters,
        rounds,
        lasted,
    });
}

/// Waits for the last session to be out of the forwarding plane, and looks for contradictions in the books.
fn operator_end(handle: &bng_control::ControlHandle, flags: &Flags) {
    let began = Instant::now();
    loop {
        let left = handle.call(ANSWER_MAX, |subscribers, _, _| {
            subscribers.audit().expect("the subscribers' books are in order");
            (!subscribers.is_empty()).then(|| subscribers.gauges())
        });
        match left {
            Ok(None) => return,
            _ if flags.failed() => return,
            left => assert!(began.elapsed() < ANSWER_MAX, "sessions are left: {left:?}"),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn data_races_with_set_up_and_tear_down() {
    // The routing thread reads the tables of a namespace that is its own, and finds them empty.
    let thread = std::thread::spawn(|| {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET)
            .expect("this test makes a network namespace: run it as root");
        race();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
