//! A test of every instant of every update: after each single store of the writer, each lookup must give what it gave
//! before the update or what it gives after it, and once it has given the new answer never the old one again. That
//! holds for lookups that begin then, and for those that had got as far as some node at any earlier instant of the
//! update and go on now.
//!
//! What `tests/churn.rs` tries with a second thread and luck is certain here.

use crate::NextHopId;
use crate::key::Key;
use crate::rib::Prefix;
use crate::trie::{Cell, SharedCell, TrieTable};
use crate::writer::TrieWriter;
use bng_sync::{Placement, Qsbr};
use bng_wire::VrfId;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

type Hook = Box<dyn FnMut()>;

thread_local! {
    static AFTER_STORE: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

/// Called after every store to a cell.
pub(crate) fn stored() {
    AFTER_STORE.with_borrow_mut(|hook| {
        if let Some(hook) = hook {
            hook();
        }
    });
}

const VRF: VrfId = VrfId(0);

/// A lookup that has loaded `cell` and would look below it at `level`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Underway {
    probe: usize,
    cell: u32,
    level: usize,
}

/// Goes on from a loaded cell to the leaf; calls `passed` with each cell that leads to a node.
fn finish<K: Key>(
    table: &TrieTable<K>,
    key: K,
    mut cell: Cell,
    mut level: usize,
    mut passed: impl FnMut(u32, usize),
) -> NextHopId {
    while cell.is_node() {
        passed(cell.number(), level);
        let node = table.node(cell.number()).expect("a node");
        cell = node.0[key.node_slot(level)].load();
        level += 1;
    }
    cell.next_hop()
}

/// Watches one update.
struct Watch<K> {
    table: Arc<TrieTable<K>>,
    probes: Vec<K>,
    before: Vec<NextHopId>,
    after: Vec<NextHopId>,
    /// Lookups that begin now give the new answer.
    turned: Vec<bool>,
    underway: HashSet<Underway>,
}

impl<K: Key> Watch<K> {
    fn look(&mut self) {
        for lookup in &self.underway {
            let (probe, cell) = (lookup.probe, Cell::node(lookup.cell));
            let found = finish(&self.table, self.probes[probe], cell, lookup.level, |_, _| ());
            assert!(
                found == self.before[probe] || found == self.after[probe],
                "a lookup under way of {:x?} found {found:?}",
                self.probes[probe]
            );
        }
        for probe in 0..self.probes.len() {
            let key = self.probes[probe];
            let cell = self.table.root(VRF).get(key.root_slot()).map(SharedCell::load).expect("a root");
            let found = finish(&self.table, key, cell, 0, |cell, level| {
                self.underway.insert(Underway { probe, cell, level });
            });
            assert_eq!(found, self.table.lookup(VRF, key));
            let (before, after) = (self.before[probe], self.after[probe]);
            assert!(found == before || found == after, "{key:x?} found {found:?}, not {before:?} or {after:?}");
            assert!(found == after || !self.turned[probe], "{key:x?} went back to the old answer");
            self.turned[probe] |= found == after && before != after;
        }
    }
}

/// The answer of the routes in `rib` for `key`, without the trie.
fn reference<K: Key>(routes: &std::collections::BTreeMap<(u8, K), NextHopId>, key: K) -> NextHopId {
    let longest = (0..=K::BITS).rev().find_map(|len| routes.get(&(len, key.masked(len))));
    longest.copied().unwrap_or(NextHopId::UNREACHABLE)
}

/// Route `(key, len)`: there if it was not, gone or led elsewhere if it was.
fn every_instant_is_before_or_after<K: Key>(changes: Vec<(K, u8, bool)>, probes: &[K]) {
    let domain = Qsbr::new(1);
    let mut reader = domain.reader(0).expect("a place");
    reader.online();
    let table: Arc<TrieTable<K>> = Arc::new(TrieTable::new(1, 2048, Placement::Ordinary).expect("memory"));
    let mut writer = TrieWriter::new(&table, &domain, 1000);
    let mut routes = std::collections::BTreeMap::new();
    let mut probes = probes.to_vec();
    probes.extend(changes.iter().map(|(key, _, _)| *key));
    for (number, (key, len, replace)) in changes.into_iter().enumerate() {
        let (key, next_hop) = (key.masked(len), NextHopId(number as u32 + 1));
        let before = probes.iter().map(|key| reference(&routes, *key)).collect();
        let removing = routes.contains_key(&(len, key)) && !replace;
        if removing {
            routes.remove(&(len, key));
        } else {
            routes.insert((len, key), next_hop);
        }
        let after: Vec<NextHopId> = probes.iter().map(|key| reference(&routes, *key)).collect();
        let mut watch = Watch {
            table: Arc::clone(&table),
            turned: vec![false; probes.len()],
            probes: probes.clone(),
            before,
            after: after.clone(),
            underway: HashSet::new(),
        };
        watch.look();
        AFTER_STORE.set(Some(Box::new(move || watch.look())));
        let prefix = Prefix { vrf: VRF, len, key };
        if removing {
            writer.remove(prefix).expect("it is there");
        } else {
            writer.check_room(prefix).expect("room");
            writer.insert(prefix, next_hop);
        }
        AFTER_STORE.set(None);
        for (key, after) in probes.iter().zip(after) {
            assert_eq!(table.lookup(VRF, *key), after);
        }
        // Nodes are reused from here on, as after a burst.
        reader.quiescent();
    }
}

/// Addresses that share all but a few bits of a few octets, so that routes cover one another in every way.
fn near<K: Key>(octets: &'static [u8], make: fn(&[u8]) -> K) -> impl Strategy<Value = K> {
    let other = prop::collection::vec(prop_oneof![3 => Just(0u8), 1 => 1u8..4, 1 => Just(0x80)], octets.len());
    other.prop_map(move |other| {
        let near: Vec<u8> = octets.iter().zip(other).map(|(octet, other)| octet ^ other).collect();
        make(&near)
    })
}

/// Lengths from 13 on: shorter ones would store thousands of cells of the root and tell nothing more.
fn changes<K: Key>(key: impl Strategy<Value = K>, len_max: u8) -> impl Strategy<Value = Vec<(K, u8, bool)>> {
    prop::collection::vec((key, 13..=len_max, any::<bool>()), 1..25)
}

fn key4() -> impl Strategy<Value = u32> {
    near(&[10, 1, 2, 3], |octets| u32::from_be_bytes(octets.try_into().expect("four")))
}

/// The first seven octets vary: what is below repeats what is above.
fn key6() -> impl Strategy<Value = u128> {
    near(&[0x20, 1, 0xd, 0xb8, 1, 2, 3], |octets| {
        octets.iter().fold(0, |key, octet| key << 8 | u128::from(*octet)) << 72
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_instant_of_every_ipv4_update_is_before_or_after(
        changes in changes(key4(), 32),
        probes in prop::collection::vec(key4(), 6),
    ) {
        every_instant_is_before_or_after(changes, &probes);
    }

    #[test]
    fn every_instant_of_every_ipv6_update_is_before_or_after(
        changes in changes(key6(), 56),
        probes in prop::collection::vec(key6(), 6),
    ) {
        every_instant_is_before_or_after(changes, &probes);
    }
}
