//! Finding sessions by what they have in common: a hash table of slots that keeps no keys.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::{BuildHasher as _, Hash};

/// Slots by the hash of a key that the session itself knows, so that a session costs 16 octets here whatever the key
/// is. Several sessions may have one key. Hashes are seeded at random: a client cannot choose its bucket.
#[derive(Debug)]
pub(crate) struct Index {
    table: HashTable<Item>,
    hasher: DefaultHashBuilder,
}

#[derive(Debug, Clone, Copy)]
struct Item {
    hash: u64,
    slot: u32,
}

impl Index {
    /// With room for `capacity` sessions from the start: the table never grows in the middle of a storm. Memory that
    /// is not used is not touched.
    pub(crate) fn with_capacity(capacity: u32) -> Self {
        Self { table: HashTable::with_capacity(capacity as usize), hasher: DefaultHashBuilder::default() }
    }

    pub(crate) fn insert(&mut self, key: impl Hash, slot: u32) {
        let hash = self.hasher.hash_one(key);
        self.table.insert_unique(hash, Item { hash, slot }, |item| item.hash);
    }

    pub(crate) fn remove(&mut self, key: impl Hash, slot: u32) -> bool {
        let hash = self.hasher.hash_one(key);
        match self.table.find_entry(hash, |item| item.slot == slot && item.hash == hash) {
            Ok(entry) => {
                entry.remove();
                true
            }
            Err(_) => false,
        }
    }

    /// The slots whose key has the same hash as `key`: the caller looks whether the key is the same.
    pub(crate) fn candidates(&self, key: impl Hash) -> impl Iterator<Item = u32> + '_ {
        let hash = self.hasher.hash_one(key);
        self.table.iter_hash(hash).filter(move |item| item.hash == hash).map(|item| item.slot)
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_slots_may_share_a_key() {
        let mut index = Index::with_capacity(4);
        for slot in 0..100u32 {
            index.insert(slot / 3, slot);
        }
        let mut found: Vec<_> = index.candidates(7u32).collect();
        found.sort_unstable();
        assert_eq!(found, [21, 22, 23]);
        assert!(index.remove(7u32, 22));
        assert!(!index.remove(7u32, 22));
        assert!(!index.remove(8u32, 21), "another key's");
        assert_eq!(index.candidates(7u32).count(), 2);
        assert_eq!(index.len(), 99);
    }
}
