//! The routes themselves, for the writer: which there are, and which is the next longest.

use crate::NextHopId;
use crate::key::Key;
use bng_wire::VrfId;
use hashbrown::HashMap;

/// A route's prefix: `key` has no bit set behind `len`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Prefix<K> {
    pub(crate) vrf: VrfId,
    pub(crate) len: u8,
    pub(crate) key: K,
}

/// One family's routes. Keys come from routing peers, so the map's hash is seeded at random.
pub(crate) struct Rib<K> {
    routes: HashMap<Prefix<K>, NextHopId>,
    /// How many routes there are of each length, to skip the lengths of which there are none.
    lengths: Box<[u32]>,
}

impl<K: Key> Rib<K> {
    pub(crate) fn new() -> Self {
        Self { routes: HashMap::new(), lengths: vec![0; usize::from(K::BITS).saturating_add(1)].into() }
    }

    pub(crate) fn len(&self) -> usize {
        self.routes.len()
    }

    pub(crate) fn get(&self, prefix: Prefix<K>) -> Option<NextHopId> {
        self.routes.get(&prefix).copied()
    }

    /// Adds or replaces; returns what was there.
    pub(crate) fn insert(&mut self, prefix: Prefix<K>, next_hop: NextHopId) -> Option<NextHopId> {
        let before = self.routes.insert(prefix, next_hop);
        if before.is_none() {
            self.count(prefix.len, |count| count.saturating_add(1));
        }
        before
    }

    pub(crate) fn remove(&mut self, prefix: Prefix<K>) -> Option<NextHopId> {
        let before = self.routes.remove(&prefix);
        if before.is_some() {
            self.count(prefix.len, |count| count.saturating_sub(1));
        }
        before
    }

    fn count(&mut self, len: u8, change: impl FnOnce(u32) -> u32) {
        if let Some(count) = self.lengths.get_mut(usize::from(len)) {
            *count = change(*count);
        }
    }

    /// The longest route that covers `prefix` and is shorter: its length and next hop.
    pub(crate) fn covering(&self, prefix: Prefix<K>) -> Option<(u8, NextHopId)> {
        let shorter = self.lengths.get(..usize::from(prefix.len)).unwrap_or_default();
        shorter.iter().enumerate().rev().filter(|(_, count)| **count > 0).find_map(|(len, _)| {
            let len = len as u8;
            self.get(Prefix { len, key: prefix.key.masked(len), ..prefix }).map(|next_hop| (len, next_hop))
        })
    }

    /// Every route, in no order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (Prefix<K>, NextHopId)> {
        self.routes.iter().map(|(prefix, next_hop)| (*prefix, *next_hop))
    }
}
