//! Pools of IPv6 prefixes: the /64 on the link, and the delegated ones.

use crate::{Exhausted, NotHeld, POOL_SIZE_MAX, PoolConfigError, Slots, TakeError, Usage};
use core::fmt;
use core::net::Ipv6Addr;

/// An IPv6 prefix: no bit is set behind its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix {
    bits: u128,
    length: u8,
}

impl Prefix {
    /// Checks and makes one.
    ///
    /// # Errors
    /// [`PoolConfigError::NotAnIpv6Prefix`] where `length` is over 128 or `address` has bits set behind it.
    pub fn new(address: Ipv6Addr, length: u8) -> Result<Self, PoolConfigError> {
        let bits = address.to_bits();
        if length > 128 || bits & host_bits(length) != 0 {
            return Err(PoolConfigError::NotAnIpv6Prefix { address, length });
        }
        Ok(Self { bits, length })
    }

    /// The address part.
    #[must_use]
    pub const fn address(&self) -> Ipv6Addr {
        Ipv6Addr::from_bits(self.bits)
    }

    /// The length in bits, 0 to 128.
    #[must_use]
    pub const fn length(&self) -> u8 {
        self.length
    }

    /// True if `address` lies in it.
    #[must_use]
    pub const fn contains(&self, address: Ipv6Addr) -> bool {
        (address.to_bits() ^ self.bits) & !host_bits(self.length) == 0
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address(), self.length)
    }
}

const fn host_bits(length: u8) -> u128 {
    match u128::MAX.checked_shr(length as u32) {
        Some(bits) => bits,
        None => 0,
    }
}

/// What a [`PrefixPool`] is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrefixPoolConfig {
    /// The prefix that is cut up.
    pub prefix: Prefix,
    /// The length of each piece: 64 for a subscriber's link, 48 to 64 for a delegation. At most 2^24 pieces.
    pub length: u8,
    /// Pieces that overlap one of these are never given out.
    pub exclude: Vec<Prefix>,
    /// Given out by [`PrefixPool::take`] alone.
    pub reserved: Vec<Prefix>,
}

/// A pool of IPv6 prefixes of one length. The first piece is given out like any other: it is a network of its own.
#[derive(Debug, Clone)]
pub struct PrefixPool {
    prefix: Prefix,
    length: u8,
    free: Slots,
    usable: Slots,
    reserved: Slots,
    held: Slots,
    cursor: u32,
    reserved_held: u32,
    peak: u32,
    exhausted: u64,
}

impl PrefixPool {
    /// Makes the pool, all free.
    ///
    /// # Errors
    /// A length that cannot be cut from the prefix, too many pieces, nothing left, or a reserved prefix that cannot be
    /// given.
    pub fn new(config: &PrefixPoolConfig) -> Result<Self, PoolConfigError> {
        let PrefixPoolConfig { prefix, length, exclude, reserved } = config;
        let wrong = PoolConfigError::Length { length: *length, pool: prefix.length };
        let index_bits = length.checked_sub(prefix.length).filter(|_| *length <= 128).ok_or(wrong)?;
        let count = 1u128.checked_shl(u32::from(index_bits)).unwrap_or(u128::MAX);
        let len =
            u32::try_from(count).ok().filter(|len| *len <= POOL_SIZE_MAX).ok_or(PoolConfigError::TooLarge(count))?;
        let mut pool = Self {
            prefix: *prefix,
            length: *length,
            free: Slots::new(len),
            usable: Slots::new(len),
            reserved: Slots::new(len),
            held: Slots::new(len),
            cursor: 0,
            reserved_held: 0,
            peak: 0,
            exhausted: 0,
        };
        for offset in 0..len {
            pool.usable.insert(offset);
        }
        for excluded in exclude {
            // The first and last address of the exclusion, moved into the pool, give the pieces it touches.
            let first = excluded.bits.max(prefix.bits);
            let last = (excluded.bits | host_bits(excluded.length)).min(prefix.bits | host_bits(prefix.length));
            if first <= last {
                let from = pool.offset_of_bits(first);
                let to = pool.offset_of_bits(last);
                if let (Some(from), Some(to)) = (from, to) {
                    for offset in from..=to {
                        pool.usable.remove(offset);
                    }
                }
            }
        }
        if pool.usable.is_empty() {
            return Err(PoolConfigError::Empty);
        }
        pool.free = pool.usable.clone();
        for prefix in reserved {
            let offset = pool
                .offset(*prefix)
                .filter(|offset| pool.usable.contains(*offset))
                .ok_or_else(|| PoolConfigError::Reserved(prefix.to_string()))?;
            pool.reserved.insert(offset);
            pool.free.remove(offset);
        }
        Ok(pool)
    }

    /// Gives out a prefix that is free; `sticky` as in [`crate::Ipv4Pool::allocate`].
    ///
    /// # Errors
    /// [`Exhausted`] where nothing is free: counted.
    pub fn allocate(&mut self, sticky: Option<u64>) -> Result<Prefix, Exhausted> {
        let preferred = sticky.and_then(|key| {
            let offset = u32::try_from(key.checked_rem(u64::from(self.free.len()))?).ok()?;
            if self.usable.contains(offset) { Some(offset) } else { self.usable.next(offset) }
        });
        let offset = match preferred.filter(|offset| self.free.contains(*offset)) {
            Some(offset) => offset,
            None => {
                let Some(offset) = self.free.next(self.cursor) else {
                    self.exhausted = self.exhausted.saturating_add(1);
                    return Err(Exhausted);
                };
                self.cursor = offset.saturating_add(1);
                offset
            }
        };
        self.free.remove(offset);
        self.hold(offset);
        Ok(self.prefix_at(offset))
    }

    /// Gives out this very prefix.
    ///
    /// # Errors
    /// It is not of this pool, never given, or held.
    pub fn take(&mut self, prefix: Prefix) -> Result<(), TakeError> {
        let offset = self.offset(prefix).ok_or(TakeError::NotInPool)?;
        if !self.usable.contains(offset) {
            return Err(TakeError::Excluded);
        }
        if self.held.contains(offset) {
            return Err(TakeError::Held);
        }
        self.free.remove(offset);
        if self.reserved.contains(offset) {
            self.reserved_held = self.reserved_held.saturating_add(1);
        }
        self.hold(offset);
        Ok(())
    }

    /// Takes a prefix back.
    ///
    /// # Errors
    /// [`NotHeld`] where it is not held.
    pub fn release(&mut self, prefix: Prefix) -> Result<(), NotHeld> {
        let offset = self.offset(prefix).ok_or(NotHeld)?;
        if !self.held.remove(offset) {
            return Err(NotHeld);
        }
        if self.reserved.contains(offset) {
            self.reserved_held = self.reserved_held.saturating_sub(1);
        } else {
            self.free.insert(offset);
        }
        Ok(())
    }

    /// The place of a prefix in the pool, from 0; `None` for what is no piece of it.
    #[must_use]
    pub fn offset(&self, prefix: Prefix) -> Option<u32> {
        if prefix.length != self.length || !self.prefix.contains(prefix.address()) {
            return None;
        }
        self.offset_of_bits(prefix.bits)
    }

    /// The prefix at a place: the inverse of [`PrefixPool::offset`].
    #[must_use]
    pub fn prefix(&self, offset: u32) -> Option<Prefix> {
        (offset < self.free.len()).then(|| self.prefix_at(offset))
    }

    /// The prefix that is cut up.
    #[must_use]
    pub const fn whole(&self) -> Prefix {
        self.prefix
    }

    /// The length of each piece.
    #[must_use]
    pub const fn length(&self) -> u8 {
        self.length
    }

    /// True where somebody holds the prefix.
    #[must_use]
    pub fn is_held(&self, prefix: Prefix) -> bool {
        self.offset(prefix).is_some_and(|offset| self.held.contains(offset))
    }

    /// True for a prefix that [`PrefixPool::take`] alone gives out.
    #[must_use]
    pub fn is_reserved(&self, prefix: Prefix) -> bool {
        self.offset(prefix).is_some_and(|offset| self.reserved.contains(offset))
    }

    /// How full it is.
    #[must_use]
    pub fn usage(&self) -> Usage {
        Usage {
            usable: self.usable.count(),
            held: self.held.count(),
            reserved: self.reserved.count().saturating_sub(self.reserved_held),
            peak: self.peak,
            exhausted: self.exhausted,
        }
    }

    fn hold(&mut self, offset: u32) {
        self.held.insert(offset);
        self.peak = self.peak.max(self.held.count());
    }

    /// Shift of the offset within the address; 128 only for a pool of one single ::/0.
    fn shift(&self) -> u32 {
        128u32.saturating_sub(u32::from(self.length))
    }

    fn offset_of_bits(&self, bits: u128) -> Option<u32> {
        let inside = bits ^ self.prefix.bits;
        u32::try_from(inside.checked_shr(self.shift()).unwrap_or(0)).ok()
    }

    fn prefix_at(&self, offset: u32) -> Prefix {
        let inside = u128::from(offset).checked_shl(self.shift()).unwrap_or(0);
        Prefix { bits: self.prefix.bits | inside, length: self.length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn prefix(text: &str) -> Prefix {
        let (address, length) = text.split_once('/').unwrap();
        Prefix::new(address.parse().unwrap(), length.parse().unwrap()).unwrap()
    }

    fn pool(whole: &str, length: u8) -> Result<PrefixPool, PoolConfigError> {
        PrefixPool::new(&PrefixPoolConfig { prefix: prefix(whole), length, exclude: Vec::new(), reserved: Vec::new() })
    }

    #[test]
    fn pieces_are_cut_in_order() {
        let mut pool = pool("2001:db8:8000::/48", 56).unwrap();
        assert_eq!(pool.allocate(None).unwrap().to_string(), "2001:db8:8000::/56");
        assert_eq!(pool.allocate(None).unwrap().to_string(), "2001:db8:8000:100::/56");
        let rest = std::iter::from_fn(|| pool.allocate(None).ok()).count();
        assert_eq!(rest, 254);
        assert_eq!(pool.allocate(None), Err(Exhausted));
        assert_eq!(pool.usage(), Usage { usable: 256, held: 256, reserved: 0, peak: 256, exhausted: 2 });
        let piece = prefix("2001:db8:8000:ff00::/56");
        assert_eq!(pool.offset(piece), Some(255));
        pool.release(piece).unwrap();
        assert_eq!(pool.release(piece), Err(NotHeld));
        assert_eq!(pool.take(piece), Ok(()));
        assert_eq!(pool.take(piece), Err(TakeError::Held));
    }

    #[test]
    fn what_is_no_piece_is_not_of_the_pool() {
        let mut pool = pool("2001:db8:8000::/48", 56).unwrap();
        for other in ["2001:db8:8000::/64", "2001:db8:8001::/56", "2001:db8:8000::/48"] {
            assert_eq!(pool.take(prefix(other)), Err(TakeError::NotInPool), "{other}");
        }
    }

    #[test]
    fn exclusions_touch_every_piece_they_overlap() {
        let mut config = PrefixPoolConfig {
            prefix: prefix("2001:db8::/60"),
            length: 64,
            exclude: vec![prefix("2001:db8:0:3::1/128"), prefix("2001:db8:0:4::/63"), prefix("2001:db9::/32")],
            reserved: vec![prefix("2001:db8:0:7::/64")],
        };
        let mut pool = PrefixPool::new(&config).unwrap();
        let given: HashSet<_> = std::iter::from_fn(|| pool.allocate(None).ok()).collect();
        let expected: HashSet<_> = (0..16u16)
            .filter(|n| ![3, 4, 5, 7].contains(n))
            .map(|n| prefix(&format!("2001:db8:0:{n:x}::/64")))
            .collect();
        assert_eq!(given, expected);
        assert_eq!(pool.take(prefix("2001:db8:0:7::/64")), Ok(()));
        assert_eq!(pool.take(prefix("2001:db8:0:3::/64")), Err(TakeError::Excluded));
        config.exclude = vec![prefix("2001:db8::/32")];
        assert_eq!(PrefixPool::new(&config).err(), Some(PoolConfigError::Empty));
        config.exclude = vec![prefix("2001:db8:0:7::/64")];
        assert!(matches!(PrefixPool::new(&config), Err(PoolConfigError::Reserved(_))));
    }

    #[test]
    fn lengths_and_sizes_are_checked() {
        assert!(pool("2001:db8:100::/40", 64).is_ok());
        assert_eq!(pool("2001:db8::/32", 64).err(), Some(PoolConfigError::TooLarge(1 << 32)));
        assert_eq!(pool("::/0", 128).err(), Some(PoolConfigError::TooLarge(u128::MAX)));
        assert!(matches!(pool("2001:db8::/64", 56), Err(PoolConfigError::Length { .. })));
        assert!(matches!(pool("2001:db8::/120", 129), Err(PoolConfigError::Length { .. })));
        assert_eq!(pool("::/0", 0).unwrap().allocate(None), Ok(prefix("::/0")));
        assert!(Prefix::new("2001:db8::1".parse().unwrap(), 64).is_err());
        assert!(Prefix::new("::".parse().unwrap(), 129).is_err());
    }

    proptest! {
        #[test]
        fn offsets_go_there_and_back(bits: u128, pool_length in 0u8..=128, more in 0u8..=12, offset: u32) {
            let length = pool_length.saturating_add(more).min(128);
            let whole = Prefix::new(Ipv6Addr::from_bits(bits & !host_bits(pool_length)), pool_length).unwrap();
            let pool = PrefixPool::new(&PrefixPoolConfig { prefix: whole, length, exclude: vec![], reserved: vec![] }).unwrap();
            let offset = offset % pool.usage().usable;
            let piece = pool.prefix(offset).unwrap();
            prop_assert!(whole.contains(piece.address()));
            prop_assert_eq!(piece.length(), length);
            prop_assert_eq!(pool.offset(piece), Some(offset));
        }
    }
}
