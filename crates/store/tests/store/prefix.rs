//! The prefix rule: whenever the power goes, the store holds the state after some prefix of what was put, and that
//! prefix is no shorter than what the writer had called committed.

use std::collections::BTreeSet;

use bng_store::{Change, Serial, open};
use proptest::prelude::*;

use super::disk::Disk;
use super::{Content, content, settings, totals};

#[derive(Debug, Clone)]
enum Step {
    Session(u64, u8),
    Gone(u64),
    Safe(u64, u64),
    Accounting(u64, u8),
    Acknowledged(u64),
    Mark(u16, u16),
    /// Until all of this is committed, or the disk has failed.
    Wait,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u64..6, any::<u8>()).prop_map(|(serial, octet)| Step::Session(serial, octet)),
        2 => (0u64..6).prop_map(Step::Gone),
        2 => (0u64..6, any::<u64>()).prop_map(|(serial, value)| Step::Safe(serial, value)),
        2 => (0u64..6, any::<u8>()).prop_map(|(sequence, octet)| Step::Accounting(sequence, octet)),
        1 => (0u64..6).prop_map(Step::Acknowledged),
        1 => (0u16..3, any::<u16>()).prop_map(|(vid, id)| Step::Mark(vid, id)),
        2 => Just(Step::Wait),
    ]
}

/// Whether a caller would do so: a serial that is gone names no other session, and only sessions have counters.
fn makes_sense(content: &Content, gone: &BTreeSet<u64>, step: &Step) -> bool {
    match step {
        Step::Session(serial, _) => !gone.contains(serial),
        Step::Gone(serial) | Step::Safe(serial, _) => content.sessions.contains_key(&Serial(*serial)),
        _ => true,
    }
}

fn apply(content: &mut Content, step: &Step) -> Option<Change> {
    Some(match *step {
        Step::Session(serial, octet) => {
            let record = vec![octet; 40];
            content.sessions.entry(Serial(serial)).or_default().0.clone_from(&record);
            Change::Session { serial: Serial(serial), record: record.into() }
        }
        Step::Gone(serial) => {
            content.sessions.remove(&Serial(serial));
            Change::Gone { serial: Serial(serial) }
        }
        Step::Safe(serial, value) => {
            if let Some(session) = content.sessions.get_mut(&Serial(serial)) {
                session.1 = Some(totals(value));
            }
            Change::Safe { serial: Serial(serial), totals: totals(value) }
        }
        Step::Accounting(sequence, octet) => {
            content.accounting.insert(sequence, vec![octet]);
            Change::Accounting { sequence, record: [octet].into() }
        }
        Step::Acknowledged(sequence) => {
            content.accounting.remove(&sequence);
            Change::Acknowledged { sequence }
        }
        Step::Mark(outer_vid, id) => {
            content.id_marks.insert((0, outer_vid), id);
            Change::IdMark { port: 0, outer_vid, id }
        }
        Step::Wait => return None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]
    #[test]
    fn a_crash_loses_the_end_and_never_the_middle(
        steps in prop::collection::vec(step(), 1..60),
        writes in 0u64..120,
    ) {
        let disk = Disk::default();
        let mut writer = open(Box::new(disk.clone()), settings()).unwrap().into_writer(|| {}).unwrap();
        disk.fail_after(writes);
        let mut states = vec![Content::default()];
        let mut gone = BTreeSet::new();
        for step in &steps {
            let mut state = states.last().unwrap().clone();
            if !makes_sense(&state, &gone, step) {
                continue;
            }
            if let Step::Gone(serial) = step {
                gone.insert(*serial);
            }
            match apply(&mut state, step) {
                Some(change) => {
                    writer.put(change, true).unwrap();
                    states.push(state);
                }
                None => while writer.committed().0 + 1 < states.len() as u64 && writer.statistics().failures == 0 {
                    std::thread::yield_now();
                },
            }
        }
        // Once it has failed it tries no more for a second: what it calls committed now is what it promised.
        let promised = writer.committed().0 as usize;
        let failed = writer.statistics().failures > 0;
        if failed {
            disk.lose_power();
            // The writer must not repair what the next start is to find.
            disk.fail_after(0);
        }
        drop(writer);
        disk.lose_power();
        let found = content(&open(Box::new(disk), settings()).unwrap());
        prop_assert!(
            states[promised..].contains(&found),
            "promised {promised} of {}, failed {failed}, found {found:?}", states.len() - 1
        );
    }
}
