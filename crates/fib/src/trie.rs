//! The trie as its readers see it.
//!
//! A multibit trie with leaf pushing: the root looks at 16 bits, every node below at 8 more, so that a lookup is one
//! load a level and stops at the first leaf. An IPv4 address takes one to three loads, nearly always two.
//!
//! A cell is 32 bits: a leaf with its next hop, or the number of a node. A leaf also carries the length of the route
//! it belongs to, counted from the start of its node (0 when the leaf was handed down from above), which only the
//! writer looks at. The zeroed memory of a fresh table is a trie without routes: leaves that lead to
//! [`NextHopId::UNREACHABLE`].

use crate::NextHopId;
use crate::error::FibError;
use crate::key::{Key, NODE_BITS, ROOT_BITS};
use bng_sync::{Arena, Placement, prefetch_read};
use bng_wire::VrfId;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, Ordering};
use zerocopy::FromZeros;

/// The cells of the root.
pub(crate) const ROOT_CELLS: usize = 1 << ROOT_BITS;

/// The cells of a node.
pub(crate) const NODE_CELLS: usize = 1 << NODE_BITS;

/// The most lookups that [`TrieTable::lookup_burst`] has in flight at a time.
pub(crate) const BURST_MAX: usize = 32;

/// The content of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell(u32);

impl Cell {
    const NODE: u32 = 1 << 31;
    /// The bits of a next hop or node number.
    pub(crate) const NUMBER_BITS: u32 = 26;
    const NUMBER_MASK: u32 = (1 << Self::NUMBER_BITS) - 1;

    /// The leaf where no route leads.
    pub(crate) const NONE: Self = Self(0);

    /// A leaf whose route is `length` bits longer than what leads to its node.
    #[inline]
    pub(crate) fn leaf(next_hop: NextHopId, length: u8) -> Self {
        Self(next_hop.0 & Self::NUMBER_MASK | u32::from(length) << Self::NUMBER_BITS)
    }

    #[inline]
    pub(crate) fn node(number: u32) -> Self {
        Self(Self::NODE | number & Self::NUMBER_MASK)
    }

    #[inline(always)]
    pub(crate) fn is_node(self) -> bool {
        self.0 & Self::NODE != 0
    }

    /// The node's number, or the next hop's.
    #[inline(always)]
    pub(crate) fn number(self) -> u32 {
        self.0 & Self::NUMBER_MASK
    }

    #[inline(always)]
    pub(crate) fn next_hop(self) -> NextHopId {
        NextHopId(self.number())
    }

    /// Of a leaf: the length of its route counted from its node, 0 if handed down.
    #[inline]
    pub(crate) fn length(self) -> u8 {
        ((self.0 & !Self::NODE) >> Self::NUMBER_BITS) as u8
    }

    /// The same leaf as the node below hands it on.
    #[inline]
    pub(crate) fn handed_down(self) -> Self {
        Self::leaf(self.next_hop(), 0)
    }
}

/// A cell in shared memory. Only the writer stores, and each store takes the lookups of an address from the answer
/// before an update to the one after it.
#[derive(FromZeros)]
#[repr(transparent)]
pub(crate) struct SharedCell(AtomicU32);

impl SharedCell {
    /// Acquire: what a node's number leads to was filled before the number was stored.
    #[inline(always)]
    pub(crate) fn load(&self) -> Cell {
        Cell(self.0.load(Ordering::Acquire))
    }

    #[inline]
    pub(crate) fn store(&self, cell: Cell) {
        self.0.store(cell.0, Ordering::Release);
        #[cfg(test)]
        crate::atomicity::stored();
    }
}

/// A node below the root: 16 cache lines.
#[derive(FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Node(pub(crate) [SharedCell; NODE_CELLS]);

/// The tries of one address family: a root for each routing instance, and nodes that they draw from.
pub(crate) struct TrieTable<K> {
    roots: Arena<SharedCell>,
    nodes: Arena<Node>,
    _key: PhantomData<K>,
}

impl<K: Key> TrieTable<K> {
    pub(crate) fn new(vrfs: u32, nodes_max: usize, placement: Placement) -> Result<Self, FibError> {
        let roots = Arena::new((vrfs as usize).saturating_mul(ROOT_CELLS), placement)?;
        Ok(Self { roots, nodes: Arena::new(nodes_max, placement)?, _key: PhantomData })
    }

    /// The cells of one routing instance's root; none if there is no such instance.
    pub(crate) fn root(&self, vrf: VrfId) -> &[SharedCell] {
        let start = usize::from(vrf.0).saturating_mul(ROOT_CELLS);
        self.roots.get(start..).and_then(|rest| rest.get(..ROOT_CELLS)).unwrap_or_default()
    }

    #[inline(always)]
    pub(crate) fn node(&self, number: u32) -> Option<&Node> {
        self.nodes.get(number as usize)
    }

    pub(crate) fn nodes_max(&self) -> usize {
        self.nodes.len()
    }

    #[inline(always)]
    fn root_cell(&self, vrf: VrfId, key: K) -> Option<&SharedCell> {
        self.roots.get(usize::from(vrf.0) << ROOT_BITS | key.root_slot())
    }

    #[inline(always)]
    fn node_cell(&self, number: u32, level: usize, key: K) -> Option<&SharedCell> {
        // The slot is an octet, so the inner check folds away.
        self.node(number).and_then(|node| node.0.get(key.node_slot(level)))
    }

    /// The next hop of the longest route that covers `key`.
    #[inline(always)]
    pub(crate) fn lookup(&self, vrf: VrfId, key: K) -> NextHopId {
        let Some(cell) = self.root_cell(vrf, key) else { return NextHopId::UNREACHABLE };
        let mut cell = cell.load();
        for level in 0..K::LEVELS {
            if !cell.is_node() {
                break;
            }
            let Some(below) = self.node_cell(cell.number(), level, key) else { return NextHopId::UNREACHABLE };
            cell = below.load();
        }
        cell.next_hop()
    }

    /// Asks for the cache line that a lookup reads first.
    #[inline(always)]
    pub(crate) fn prefetch(&self, vrf: VrfId, key: K) {
        if let Some(cell) = self.root_cell(vrf, key) {
            prefetch_read(cell);
        }
    }

    /// Looks up each of `keys`, level by level, so that the memory of all is fetched at once. As many results as
    /// there are keys are written, or as `results` has places.
    pub(crate) fn lookup_burst(&self, vrf: VrfId, keys: &[K], results: &mut [NextHopId]) {
        let bursts = keys.chunks(BURST_MAX).zip(results.chunks_mut(BURST_MAX));
        for (keys, results) in bursts {
            for key in keys {
                self.prefetch(vrf, *key);
            }
            let mut cells = [Cell::NONE; BURST_MAX];
            let mut below = false;
            for (cell, key) in cells.iter_mut().zip(keys) {
                if let Some(shared) = self.root_cell(vrf, *key) {
                    *cell = shared.load();
                }
                below |= self.prefetch_below(*cell, 0, *key);
            }
            let mut level: usize = 0;
            while below && level < K::LEVELS {
                below = false;
                for (cell, key) in cells.iter_mut().zip(keys) {
                    if cell.is_node() {
                        let shared = self.node_cell(cell.number(), level, *key);
                        *cell = shared.map_or(Cell::NONE, SharedCell::load);
                        below |= self.prefetch_below(*cell, level.wrapping_add(1), *key);
                    }
                }
                level = level.wrapping_add(1);
            }
            for (result, cell) in results.iter_mut().zip(cells) {
                *result = cell.next_hop();
            }
        }
    }

    /// True if the lookup of `key` goes on below `cell`; asks for what it reads there.
    #[inline(always)]
    fn prefetch_below(&self, cell: Cell, level: usize, key: K) -> bool {
        if !cell.is_node() {
            return false;
        }
        if let Some(shared) = self.node_cell(cell.number(), level, key) {
            prefetch_read(shared);
        }
        true
    }
}
