//! The trie as its writer changes it.
//!
//! Each update is a sequence of single stores after which a lookup of any one address gives what it gave before the
//! whole update or what it gives after it, never anything else:
//!
//! - In the node where a route's last bits are looked at, each cell that the route covers, and that no longer route
//!   owns, is stored once. The cells of nodes below that were handed down the old answer are stored once too. One
//!   address ends in exactly one of these cells.
//! - Nodes that a new route needs are filled out of sight, from the bottom up, with the route already in them, and
//!   appear by the one store of their number in a cell that held their common leaf before.
//! - A node in which nothing but handed-down leaves is left disappears by the one store of that leaf in its place;
//!   lookups under way in it find the same leaf. Its memory is reused after grace.

use crate::NextHopId;
use crate::error::FibError;
use crate::key::{Key, NODE_BITS, ROOT_BITS};
use crate::numbers::Numbers;
use crate::rib::{Prefix, Rib};
use crate::trie::{Cell, NODE_CELLS, SharedCell, TrieTable};
use bng_sync::Qsbr;
use core::ops::Range;
use std::sync::Arc;

/// What the writer notes of a node.
#[derive(Clone, Copy)]
struct Note {
    /// The leaf that would be in the node's place if the node were not there.
    behind: Cell,
    /// The cells that are nodes, or leaves of routes that end in this node.
    used: u16,
}

const NO_NOTE: Note = Note { behind: Cell::NONE, used: 0 };

/// The levels below the root at which the last bits of a prefix of `len` bits are looked at: 0 is the root itself.
fn depth(len: u8) -> usize {
    usize::from(len.saturating_sub(ROOT_BITS).div_ceil(NODE_BITS))
}

/// The bits looked at before a node at `depth`.
fn bits_before(depth: usize) -> u8 {
    match depth.checked_sub(1) {
        None => 0,
        Some(nodes) => ROOT_BITS.saturating_add((nodes as u8).saturating_mul(NODE_BITS)),
    }
}

/// One family's tries with all that their writer needs to change them.
pub(crate) struct TrieWriter<K> {
    table: Arc<TrieTable<K>>,
    rib: Rib<K>,
    routes_max: usize,
    numbers: Numbers,
    /// By node number, as far as numbers were used.
    notes: Vec<Note>,
    nodes_in_use: usize,
}

impl<K: Key> TrieWriter<K> {
    pub(crate) fn new(table: &Arc<TrieTable<K>>, domain: &Arc<Qsbr>, routes_max: usize) -> Self {
        let numbers = Numbers::new(domain, 0, table.nodes_max() as u32);
        let table = Arc::clone(table);
        Self { table, rib: Rib::new(), routes_max, numbers, notes: Vec::new(), nodes_in_use: 0 }
    }

    pub(crate) fn rib(&self) -> &Rib<K> {
        &self.rib
    }

    pub(crate) fn nodes_in_use(&self) -> usize {
        self.nodes_in_use
    }

    pub(crate) fn nodes_waiting(&self) -> usize {
        self.numbers.waiting()
    }

    /// The nodes that have ever been used, and so may be resident.
    pub(crate) fn nodes_touched(&self) -> usize {
        self.numbers.high_water() as usize
    }

    pub(crate) fn poll(&mut self) {
        self.numbers.poll();
    }

    /// Says whether [`TrieWriter::insert`] of `prefix` can be done.
    pub(crate) fn check_room(&mut self, prefix: Prefix<K>) -> Result<(), FibError> {
        if self.rib.get(prefix).is_some() {
            return Ok(());
        }
        if self.rib.len() >= self.routes_max {
            return Err(FibError::RoutesFull { limit: self.routes_max });
        }
        let needed = depth(prefix.len).saturating_sub(self.path(prefix).len());
        let free = self.numbers.available(needed);
        if free < needed {
            let waiting = self.numbers.waiting();
            return Err(FibError::NodesFull { needed, free, waiting, limit: self.table.nodes_max() });
        }
        Ok(())
    }

    /// Adds or replaces a route. [`TrieWriter::check_room`] has said that it can be done. Returns what was there.
    pub(crate) fn insert(&mut self, prefix: Prefix<K>, next_hop: NextHopId) -> Option<NextHopId> {
        let before = self.rib.insert(prefix, next_hop);
        if before == Some(next_hop) {
            return before;
        }
        let path = self.path(prefix);
        let depth = depth(prefix.len);
        if path.len() < depth {
            self.grow(prefix, next_hop, &path);
        } else {
            let length = prefix.len.saturating_sub(bits_before(depth));
            self.fill(prefix, path.last().copied(), Cell::leaf(next_hop, length), |owner| owner <= length);
        }
        before
    }

    /// Removes a route; returns what was there.
    pub(crate) fn remove(&mut self, prefix: Prefix<K>) -> Option<NextHopId> {
        let before = self.rib.remove(prefix)?;
        let path = self.path(prefix);
        let depth = depth(prefix.len);
        let base = bits_before(depth);
        let length = prefix.len.saturating_sub(base);
        // A covering route that ends above this node hands down: length 0.
        let leaf = match self.rib.covering(prefix) {
            Some((len, next_hop)) => Cell::leaf(next_hop, len.saturating_sub(base)),
            None => Cell::NONE,
        };
        self.fill(prefix, path.last().copied(), leaf, |owner| owner == length);
        self.prune(prefix, &path);
        Some(before)
    }

    /// The numbers of the nodes on the way to where `prefix` ends, as far as there are any.
    fn path(&self, prefix: Prefix<K>) -> Path {
        let mut path = Path::default();
        let mut cells = self.table.root(prefix.vrf);
        let mut slot = prefix.key.root_slot();
        for level in 0..depth(prefix.len) {
            let Some(cell) = cells.get(slot).map(SharedCell::load) else { break };
            let Some(node) = cell.is_node().then(|| self.table.node(cell.number())).flatten() else { break };
            path.push(cell.number());
            cells = &node.0;
            slot = prefix.key.node_slot(level);
        }
        path
    }

    /// The cells of a node, or of the root where `node` is none.
    fn cells(table: &TrieTable<K>, prefix: Prefix<K>, node: Option<u32>) -> &[SharedCell] {
        match node {
            None => table.root(prefix.vrf),
            Some(number) => table.node(number).map(|node| node.0.as_slice()).unwrap_or_default(),
        }
    }

    /// The slots that `prefix` covers in the node where it ends.
    fn slots(prefix: Prefix<K>) -> Range<usize> {
        let depth = depth(prefix.len);
        let (first, bits) = match depth.checked_sub(1) {
            None => (prefix.key.root_slot(), ROOT_BITS),
            Some(level) => (prefix.key.node_slot(level), NODE_BITS),
        };
        let length = prefix.len.saturating_sub(bits_before(depth));
        let count = 1usize << bits.saturating_sub(length);
        first..first.saturating_add(count)
    }

    /// Stores `leaf` in the cells that `prefix` covers and whose owner's length `replaces` accepts. The nodes down to
    /// where `prefix` ends exist; `node` is the last of them.
    fn fill(&mut self, prefix: Prefix<K>, node: Option<u32>, leaf: Cell, replaces: impl Fn(u8) -> bool) {
        let table = Arc::clone(&self.table);
        let cells = Self::cells(&table, prefix, node).get(Self::slots(prefix)).unwrap_or_default();
        let mut used_before = 0u16;
        let mut used_after = 0u16;
        for shared in cells {
            let cell = shared.load();
            if cell.is_node() {
                let behind = self.note(cell.number()).behind;
                if replaces(behind.length()) {
                    self.note_mut(cell.number()).behind = leaf;
                    self.hand_down(&table, cell.number(), leaf.handed_down());
                }
            } else if replaces(cell.length()) && cell != leaf {
                used_before = used_before.saturating_add(u16::from(cell.length() > 0));
                used_after = used_after.saturating_add(u16::from(leaf.length() > 0));
                shared.store(leaf);
            }
        }
        if let Some(number) = node {
            let note = self.note_mut(number);
            note.used = note.used.saturating_sub(used_before).saturating_add(used_after);
        }
    }

    /// Stores `leaf` in every cell of a node, and of those below it, that had been handed down its leaf.
    fn hand_down(&mut self, table: &TrieTable<K>, number: u32, leaf: Cell) {
        let Some(node) = table.node(number) else { return };
        for shared in &node.0 {
            let cell = shared.load();
            if cell.is_node() {
                if self.note(cell.number()).behind.length() == 0 {
                    self.note_mut(cell.number()).behind = leaf;
                    // As deep as the trie at most.
                    self.hand_down(table, cell.number(), leaf);
                }
            } else if cell.length() == 0 && cell != leaf {
                shared.store(leaf);
            }
        }
    }

    /// Adds a route for which nodes are missing: fills them from the bottom up and shows them with one store.
    fn grow(&mut self, prefix: Prefix<K>, next_hop: NextHopId, path: &Path) {
        let table = Arc::clone(&self.table);
        let parent = path.last().copied();
        let slot = match path.len().checked_sub(1) {
            None => prefix.key.root_slot(),
            Some(level) => prefix.key.node_slot(level),
        };
        let Some(shared) = Self::cells(&table, prefix, parent).get(slot) else { return };
        let behind = shared.load();
        let deepest = depth(prefix.len);
        let length = prefix.len.saturating_sub(bits_before(deepest));
        let leaf = Cell::leaf(next_hop, length);
        let mut below = None;
        for depth in (path.len().saturating_add(1)..=deepest).rev() {
            // `check_room` has counted the numbers; without one, nothing has been shown yet.
            let Some(number) = self.numbers.take() else { return };
            let Some(node) = table.node(number) else { return };
            let (range, content) = match below {
                None => (Self::slots(prefix), leaf),
                Some(number) => {
                    let slot = prefix.key.node_slot(depth.saturating_sub(1));
                    (slot..slot.saturating_add(1), Cell::node(number))
                }
            };
            for (slot, cell) in node.0.iter().enumerate() {
                cell.store(if range.contains(&slot) { content } else { behind.handed_down() });
            }
            // The topmost of the new nodes stands in front of the leaf itself, the others of what is handed down.
            let topmost = depth == path.len().saturating_add(1);
            let behind = if topmost { behind } else { behind.handed_down() };
            *self.note_mut(number) = Note { behind, used: range.len() as u16 };
            self.nodes_in_use = self.nodes_in_use.saturating_add(1);
            below = Some(number);
        }
        if let Some(number) = below {
            shared.store(Cell::node(number));
            if let (Some(parent), 0) = (parent, behind.length()) {
                let note = self.note_mut(parent);
                note.used = note.used.saturating_add(1);
            }
        }
    }

    /// Takes the nodes on the path of which nothing is used any more out of the trie, from the bottom up.
    fn prune(&mut self, prefix: Prefix<K>, path: &Path) {
        let table = Arc::clone(&self.table);
        let mut left = path.as_slice();
        while let [above @ .., number] = left {
            let note = self.note(*number);
            if note.used > 0 {
                break;
            }
            let slot = match above.len().checked_sub(1) {
                None => prefix.key.root_slot(),
                Some(level) => prefix.key.node_slot(level),
            };
            let parent = above.last().copied();
            if let Some(shared) = Self::cells(&table, prefix, parent).get(slot) {
                shared.store(note.behind);
            }
            if let (Some(parent), 0) = (parent, note.behind.length()) {
                let note = self.note_mut(parent);
                note.used = note.used.saturating_sub(1);
            }
            self.numbers.retire(*number);
            self.nodes_in_use = self.nodes_in_use.saturating_sub(1);
            left = above;
        }
    }

    fn note(&self, number: u32) -> Note {
        self.notes.get(number as usize).copied().unwrap_or(NO_NOTE)
    }

    #[allow(clippy::indexing_slicing)] // the resize makes the index good; numbers are less than `nodes_max`
    fn note_mut(&mut self, number: u32) -> &mut Note {
        let index = number as usize;
        if index >= self.notes.len() {
            self.notes.resize(index.saturating_add(1), NO_NOTE);
        }
        &mut self.notes[index]
    }
}

/// The numbers of the nodes from below the root to where a prefix ends.
#[derive(Default)]
struct Path {
    numbers: [u32; 16],
    len: usize,
}

impl Path {
    fn push(&mut self, number: u32) {
        if let Some(place) = self.numbers.get_mut(self.len) {
            *place = number;
            self.len = self.len.saturating_add(1);
        }
    }

    fn as_slice(&self) -> &[u32] {
        self.numbers.get(..self.len).unwrap_or_default()
    }
}

impl core::ops::Deref for Path {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        self.as_slice()
    }
}

const _: () = assert!(NODE_CELLS <= u16::MAX as usize && <u128 as Key>::LEVELS <= 16);
