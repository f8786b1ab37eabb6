//! What waits to be written: for each key the newest change, so that the queue is bounded by what there is and not by
//! how long the disk takes.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::change::{Change, MetaChange, Serial, Totals};

/// A session as it is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionRow {
    Record(Box<[u8]>),
    Gone,
}

/// The state of every key that changed, at one moment.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) sessions: HashMap<Serial, SessionRow>,
    pub(crate) safe: HashMap<Serial, Totals>,
    /// `None`: acknowledged.
    pub(crate) accounting: HashMap<u64, Option<Box<[u8]>>>,
    pub(crate) id_marks: HashMap<(u16, u16), u16>,
    /// In order; few.
    pub(crate) meta: Vec<MetaChange>,
}

impl Batch {
    pub(crate) fn len(&self) -> usize {
        [self.sessions.len(), self.safe.len(), self.accounting.len(), self.id_marks.len(), self.meta.len()]
            .into_iter()
            .fold(0, usize::saturating_add)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn put(&mut self, change: Change) {
        match change {
            Change::Session { serial, record } => {
                self.sessions.insert(serial, SessionRow::Record(record));
            }
            Change::Gone { serial } => {
                self.sessions.insert(serial, SessionRow::Gone);
                self.safe.remove(&serial);
            }
            Change::Safe { serial, totals } => {
                if self.sessions.get(&serial) != Some(&SessionRow::Gone) {
                    self.safe.insert(serial, totals);
                }
            }
            Change::Accounting { sequence, record } => {
                self.accounting.insert(sequence, Some(record));
            }
            Change::Acknowledged { sequence } => {
                self.accounting.insert(sequence, None);
            }
            Change::IdMark { port, outer_vid, id } => {
                self.id_marks.insert((port, outer_vid), id);
            }
            Change::Meta(change) => self.meta.push(change),
        }
    }

    /// Puts an older batch, whose commit failed, below this one.
    pub(crate) fn merge_under(&mut self, older: Self) {
        for (serial, totals) in older.safe {
            if self.sessions.get(&serial) != Some(&SessionRow::Gone) {
                self.safe.entry(serial).or_insert(totals);
            }
        }
        for (serial, row) in older.sessions {
            if let Entry::Vacant(place) = self.sessions.entry(serial) {
                // Counters of a session that was gone already when they came: as in `put`.
                if row == SessionRow::Gone {
                    self.safe.remove(&serial);
                }
                place.insert(row);
            }
        }
        for (sequence, record) in older.accounting {
            self.accounting.entry(sequence).or_insert(record);
        }
        for (space, id) in older.id_marks {
            self.id_marks.entry(space).or_insert(id);
        }
        let mut meta = older.meta;
        meta.append(&mut self.meta);
        self.meta = meta;
    }
}

#[cfg(test)]
mod tests {
    use hashbrown::HashSet;
    use proptest::prelude::*;

    use super::*;

    fn change() -> impl Strategy<Value = Change> {
        let serial = (0u64..4).prop_map(Serial);
        let record = prop::collection::vec(any::<u8>(), 0..3).prop_map(Box::from);
        prop_oneof![
            (serial.clone(), record.clone()).prop_map(|(serial, record)| Change::Session { serial, record }),
            serial.clone().prop_map(|serial| Change::Gone { serial }),
            (serial, any::<u64>())
                .prop_map(|(serial, boot_ms)| Change::Safe { serial, totals: Totals { boot_ms, ..Totals::default() } }),
            (0u64..4, record).prop_map(|(sequence, record)| Change::Accounting { sequence, record }),
            (0u64..4).prop_map(|sequence| Change::Acknowledged { sequence }),
            (0u16..3, 0u16..2, any::<u16>()).prop_map(|(port, outer_vid, id)| Change::IdMark { port, outer_vid, id }),
            any::<u64>().prop_map(|epoch| Change::Meta(MetaChange::CounterEpoch(epoch))),
        ]
    }

    proptest! {
        /// A failed commit that goes back below what came since is the same as if it had never been taken out.
        #[test]
        fn merging_is_as_if_nothing_had_been_taken(
            before in prop::collection::vec(change(), 0..20),
            after in prop::collection::vec(change(), 0..20),
        ) {
            // The serial of a session that is gone names no other.
            let mut gone = HashSet::new();
            let mut live = |change: &Change| match change {
                Change::Gone { serial } => { gone.insert(*serial); true }
                Change::Session { serial, .. } => !gone.contains(serial),
                _ => true,
            };
            let before: Vec<_> = before.into_iter().filter(&mut live).collect();
            let after: Vec<_> = after.into_iter().filter(&mut live).collect();
            let mut whole = Batch::default();
            before.iter().chain(&after).cloned().for_each(|change| whole.put(change));
            let (mut older, mut newer) = (Batch::default(), Batch::default());
            before.into_iter().for_each(|change| older.put(change));
            after.into_iter().for_each(|change| newer.put(change));
            newer.merge_under(older);
            prop_assert_eq!(newer.sessions, whole.sessions);
            prop_assert_eq!(newer.accounting, whole.accounting);
            prop_assert_eq!(newer.id_marks, whole.id_marks);
            prop_assert_eq!(newer.meta, whole.meta);
            prop_assert_eq!(newer.safe, whole.safe);
        }
    }
}
