//! From an address of a pool to the session that has it: an array by offset.
//!
//! Addresses of pools are not routes: the FIB leads to the pool, and the pool's map to the session.

use core::net::{Ipv4Addr, Ipv6Addr};
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

use bng_sync::{Arena, ArenaError, Placement, prefetch_index};

use crate::table::SessionIndex;

/// Why a pool map cannot be.
#[derive(Debug, thiserror::Error)]
pub enum PoolRangeError {
    /// The range has no address, too many (above 2^24), or runs past the end of the address space.
    #[error("a pool has 1 to 16,777,216 addresses or prefixes within the address space")]
    Size,
    /// The memory cannot be reserved.
    #[error("cannot reserve the pool's map")]
    Memory(#[from] ArenaError),
}

const CELLS_MAX: u64 = 1 << 24;

/// One IPv4 pool's map.
#[derive(Debug)]
pub struct PoolMap4 {
    base: u32,
    cells: Arena<AtomicU32>,
}

/// One IPv6 pool's map: of prefixes of one length.
#[derive(Debug)]
pub struct PoolMap6 {
    base: u128,
    unit_bits: u32,
    cells: Arena<AtomicU32>,
}

fn get(cells: &[AtomicU32], offset: usize) -> Option<SessionIndex> {
    cells.get(offset)?.load(Ordering::Acquire).checked_sub(1).map(SessionIndex)
}

fn put(cells: &[AtomicU32], offset: usize, session: Option<SessionIndex>) -> bool {
    let Some(cell) = cells.get(offset) else { return false };
    cell.store(session.map_or(0, |index| index.0.saturating_add(1)), Ordering::Release);
    true
}

impl PoolMap4 {
    /// The map of the `count` addresses from `base` on.
    ///
    /// # Errors
    /// [`PoolRangeError`].
    pub fn new(base: Ipv4Addr, count: u32, placement: Placement) -> Result<Self, PoolRangeError> {
        let base = base.to_bits();
        let last = base.checked_add(count.checked_sub(1).ok_or(PoolRangeError::Size)?);
        if last.is_none() || u64::from(count) > CELLS_MAX {
            return Err(PoolRangeError::Size);
        }
        Ok(Self { base, cells: Arena::new(count as usize, placement)? })
    }

    /// Who has `address`.
    #[inline]
    #[must_use]
    pub fn get(&self, address: u32) -> Option<SessionIndex> {
        get(&self.cells, address.wrapping_sub(self.base) as usize)
    }

    /// Asks for the cell's cache line.
    #[inline]
    pub fn prefetch(&self, address: u32) {
        prefetch_index(&self.cells, address.wrapping_sub(self.base) as usize);
    }

    /// Says who has `address` from now on. False for an address outside the pool. Only the control thread writes, and
    /// it clears an address before it removes the session.
    pub fn set(&self, address: Ipv4Addr, session: Option<SessionIndex>) -> bool {
        put(&self.cells, address.to_bits().wrapping_sub(self.base) as usize, session)
    }

    /// True for an address of this pool.
    #[must_use]
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        (address.to_bits().wrapping_sub(self.base) as usize) < self.cells.len()
    }
}

impl PoolMap6 {
    /// The map of a pool `base`/`pool_len` given out in prefixes of `unit_len` bits.
    ///
    /// # Errors
    /// [`PoolRangeError`].
    pub fn new(base: Ipv6Addr, pool_len: u8, unit_len: u8, placement: Placement) -> Result<Self, PoolRangeError> {
        if unit_len > 128 || pool_len > unit_len || unit_len == 0 {
            return Err(PoolRangeError::Size);
        }
        let count = 1u64.checked_shl(u32::from(unit_len.saturating_sub(pool_len))).unwrap_or(0);
        let unit_bits = 128u32.saturating_sub(u32::from(unit_len));
        let host_bits = 128u32.saturating_sub(u32::from(pool_len));
        let base = base.to_bits();
        let beyond = base & 1u128.checked_shl(host_bits).map_or(u128::MAX, |bit| bit.wrapping_sub(1));
        if count == 0 || count > CELLS_MAX || beyond != 0 {
            return Err(PoolRangeError::Size);
        }
        Ok(Self { base, unit_bits, cells: Arena::new(count as usize, placement)? })
    }

    #[inline]
    fn offset(&self, address: u128) -> usize {
        let offset = address.wrapping_sub(self.base).checked_shr(self.unit_bits).unwrap_or(0);
        usize::try_from(offset).unwrap_or(usize::MAX)
    }

    /// Who has the prefix that `address` lies in.
    #[inline]
    #[must_use]
    pub fn get(&self, address: u128) -> Option<SessionIndex> {
        get(&self.cells, self.offset(address))
    }

    /// Asks for the cell's cache line.
    #[inline]
    pub fn prefetch(&self, address: u128) {
        prefetch_index(&self.cells, self.offset(address));
    }

    /// Says who has the prefix of `address` from now on. False for an address outside the pool.
    pub fn set(&self, address: Ipv6Addr, session: Option<SessionIndex>) -> bool {
        put(&self.cells, self.offset(address.to_bits()), session)
    }

    /// True for an address of this pool.
    #[must_use]
    pub fn contains(&self, address: Ipv6Addr) -> bool {
        self.offset(address.to_bits()) < self.cells.len()
    }
}

/// The maps of all pools, by the number that the FIB's next hop carries. A map once registered stays.
#[derive(Debug)]
pub struct PoolMaps {
    v4: Box<[OnceLock<PoolMap4>]>,
    v6: Box<[OnceLock<PoolMap6>]>,
}

impl PoolMaps {
    /// Most pools of each family.
    pub const POOLS_MAX: u16 = 256;

    /// A set without any map.
    #[must_use]
    pub fn new() -> Self {
        Self {
            v4: (0..Self::POOLS_MAX).map(|_| OnceLock::new()).collect(),
            v6: (0..Self::POOLS_MAX).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Registers an IPv4 pool's map; the number for `NextHop::Pool`. `None` when there is no room.
    pub fn add4(&self, mut map: PoolMap4) -> Option<u16> {
        for (number, slot) in self.v4.iter().enumerate() {
            match slot.set(map) {
                Ok(()) => return u16::try_from(number).ok(),
                Err(back) => map = back,
            }
        }
        None
    }

    /// Registers an IPv6 pool's map; the number for `NextHop::Pool` in IPv6 routes. `None` when there is no room.
    pub fn add6(&self, mut map: PoolMap6) -> Option<u16> {
        for (number, slot) in self.v6.iter().enumerate() {
            match slot.set(map) {
                Ok(()) => return u16::try_from(number).ok(),
                Err(back) => map = back,
            }
        }
        None
    }

    /// The IPv4 map with this number.
    #[inline]
    #[must_use]
    pub fn v4(&self, number: u16) -> Option<&PoolMap4> {
        self.v4.get(usize::from(number))?.get()
    }

    /// The IPv6 map with this number.
    #[inline]
    #[must_use]
    pub fn v6(&self, number: u16) -> Option<&PoolMap6> {
        self.v6.get(usize::from(number))?.get()
    }
}

impl Default for PoolMaps {
    fn default() -> Self {
        Self::new()
    }
}
