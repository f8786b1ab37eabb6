//! Pools of IPv4 addresses.

use crate::{Exhausted, NotHeld, POOL_SIZE_MAX, PoolConfigError, Slots, TakeError, Usage};
use core::net::Ipv4Addr;

/// A contiguous run of IPv4 addresses, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv4Range {
    first: u32,
    last: u32,
}

impl Ipv4Range {
    /// From `first` to `last`.
    ///
    /// # Errors
    /// [`PoolConfigError::Reversed`] where `last` lies before `first`.
    pub fn new(first: Ipv4Addr, last: Ipv4Addr) -> Result<Self, PoolConfigError> {
        if last < first {
            return Err(PoolConfigError::Reversed { first, last });
        }
        Ok(Self { first: first.to_bits(), last: last.to_bits() })
    }

    /// All addresses of a prefix.
    ///
    /// # Errors
    /// [`PoolConfigError::NotAnIpv4Prefix`] where `length` is over 32 or `address` has bits set behind it.
    pub fn prefix(address: Ipv4Addr, length: u8) -> Result<Self, PoolConfigError> {
        let first = address.to_bits();
        let host_bits = match length {
            0 => u32::MAX,
            1..=32 => u32::MAX.checked_shr(u32::from(length)).unwrap_or(0),
            _ => return Err(PoolConfigError::NotAnIpv4Prefix { address, length }),
        };
        if first & host_bits != 0 {
            return Err(PoolConfigError::NotAnIpv4Prefix { address, length });
        }
        Ok(Self { first, last: first | host_bits })
    }

    /// The single address.
    #[must_use]
    pub const fn single(address: Ipv4Addr) -> Self {
        Self { first: address.to_bits(), last: address.to_bits() }
    }

    /// The first address.
    #[must_use]
    pub const fn first(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first)
    }

    /// The last address.
    #[must_use]
    pub const fn last(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.last)
    }

    /// True if `address` is one of them.
    #[must_use]
    pub const fn contains(&self, address: Ipv4Addr) -> bool {
        let address = address.to_bits();
        self.first <= address && address <= self.last
    }

    /// How many there are: 1 to 2^32.
    #[must_use]
    pub const fn count(&self) -> u64 {
        // The fields are private and first <= last always.
        (self.last.wrapping_sub(self.first) as u64).saturating_add(1)
    }
}

/// What an [`Ipv4Pool`] is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ipv4PoolConfig {
    /// The addresses, at most [`POOL_SIZE_MAX`].
    pub range: Ipv4Range,
    /// The router's own address towards these subscribers: never given out. It may lie outside the range.
    pub gateway: Option<Ipv4Addr>,
    /// Whether the first and the last address of the range are given out. A PPP link has no broadcast and a host
    /// route to each client, so that `x.x.x.0` and `x.x.x.255` are addresses like any other; but some clients'
    /// software takes them for broken. The policy of this project: a range given by its two ends is used from end to
    /// end (`true`), a prefix gives neither its network nor its broadcast address (`false`). Inner addresses that end
    /// in .0 or .255 are always used.
    pub use_ends: bool,
    /// Never given out.
    pub exclude: Vec<Ipv4Range>,
    /// Given out by [`Ipv4Pool::take`] alone: the static addresses of particular users.
    pub reserved: Vec<Ipv4Addr>,
}

impl Ipv4PoolConfig {
    /// A pool of all addresses between two ends.
    #[must_use]
    pub const fn range(range: Ipv4Range, gateway: Option<Ipv4Addr>) -> Self {
        Self { range, gateway, use_ends: true, exclude: Vec::new(), reserved: Vec::new() }
    }

    /// A pool of a prefix: without its network and broadcast address if it is longer than two addresses.
    ///
    /// # Errors
    /// As [`Ipv4Range::prefix`].
    pub fn prefix(address: Ipv4Addr, length: u8, gateway: Option<Ipv4Addr>) -> Result<Self, PoolConfigError> {
        let range = Ipv4Range::prefix(address, length)?;
        // A /31 and a /32 have no network or broadcast address (RFC 3021).
        Ok(Self { range, gateway, use_ends: length >= 31, exclude: Vec::new(), reserved: Vec::new() })
    }
}

/// A pool of IPv4 addresses. An address is in one of four states: never given, reserved, free, held.
#[derive(Debug, Clone)]
pub struct Ipv4Pool {
    range: Ipv4Range,
    /// Addresses that a caller who asks for any may get.
    free: Slots,
    /// Addresses that may be held at all.
    usable: Slots,
    /// Addresses for [`Ipv4Pool::take`] alone.
    reserved: Slots,
    held: Slots,
    /// Where the search for the next free one starts.
    cursor: u32,
    reserved_held: u32,
    peak: u32,
    exhausted: u64,
}

impl Ipv4Pool {
    /// Makes the pool, all free.
    ///
    /// # Errors
    /// Too large, nothing left to give, or a reserved address that cannot be given.
    pub fn new(config: &Ipv4PoolConfig) -> Result<Self, PoolConfigError> {
        let count = config.range.count();
        let len = u32::try_from(count)
            .ok()
            .filter(|len| *len <= POOL_SIZE_MAX)
            .ok_or(PoolConfigError::TooLarge(u128::from(count)))?;
        let mut usable = Slots::new(len);
        for offset in 0..len {
            usable.insert(offset);
        }
        let offset_of = |address: Ipv4Addr| {
            config.range.contains(address).then(|| address.to_bits().wrapping_sub(config.range.first))
        };
        if !config.use_ends {
            usable.remove(0);
            usable.remove(len.saturating_sub(1));
        }
        if let Some(offset) = config.gateway.and_then(offset_of) {
            usable.remove(offset);
        }
        for excluded in &config.exclude {
            let first = excluded.first.max(config.range.first);
            let last = excluded.last.min(config.range.last);
            if first <= last {
                for address in first..=last {
                    usable.remove(address.wrapping_sub(config.range.first));
                }
            }
        }
        if usable.is_empty() {
            return Err(PoolConfigError::Empty);
        }
        let mut free = usable.clone();
        let mut reserved = Slots::new(len);
        for address in &config.reserved {
            let offset = offset_of(*address)
                .filter(|offset| usable.contains(*offset))
                .ok_or_else(|| PoolConfigError::Reserved(address.to_string()))?;
            reserved.insert(offset);
            free.remove(offset);
        }
        Ok(Self {
            range: config.range,
            free,
            usable,
            reserved,
            held: Slots::new(len),
            cursor: 0,
            reserved_held: 0,
            peak: 0,
            exhausted: 0,
        })
    }

    /// Gives out an address that is free. With `sticky` (a hash of what names the user or the line) the same key gets
    /// the same address again wherever that one is free: no memory is spent on it, and two keys that meet at one
    /// address are served in the order they come.
    ///
    /// # Errors
    /// [`Exhausted`] where nothing is free: counted.
    pub fn allocate(&mut self, sticky: Option<u64>) -> Result<Ipv4Addr, Exhausted> {
        let preferred = sticky.and_then(|key| {
            let offset = u32::try_from(key.checked_rem(u64::from(self.free.len()))?).ok()?;
            // A key whose own address is not given at all (the gateway) still wants one and the same.
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
        Ok(self.address_at(offset))
    }

    /// Gives out this very address, be it reserved or free: a user's static one, or one that a restart restores.
    ///
    /// # Errors
    /// It is not of this pool, never given, or held.
    pub fn take(&mut self, address: Ipv4Addr) -> Result<(), TakeError> {
        let offset = self.offset(address).ok_or(TakeError::NotInPool)?;
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

    /// Takes an address back. The caller sees to it that nobody forwards to its old holder any more.
    ///
    /// # Errors
    /// [`NotHeld`] where it is not held.
    pub fn release(&mut self, address: Ipv4Addr) -> Result<(), NotHeld> {
        let offset = self.offset(address).ok_or(NotHeld)?;
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

    /// The place of an address in the pool, from 0; `None` for what lies outside.
    #[must_use]
    pub fn offset(&self, address: Ipv4Addr) -> Option<u32> {
        self.range.contains(address).then(|| address.to_bits().wrapping_sub(self.range.first))
    }

    /// The address at a place: the inverse of [`Ipv4Pool::offset`].
    #[must_use]
    pub fn address(&self, offset: u32) -> Option<Ipv4Addr> {
        (offset < self.free.len()).then(|| self.address_at(offset))
    }

    /// All addresses from the first to the last, given out or not.
    #[must_use]
    pub const fn range(&self) -> Ipv4Range {
        self.range
    }

    /// True where somebody holds the address.
    #[must_use]
    pub fn is_held(&self, address: Ipv4Addr) -> bool {
        self.offset(address).is_some_and(|offset| self.held.contains(offset))
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

    const fn address_at(&self, offset: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.range.first.wrapping_add(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    const GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

    fn drain(pool: &mut Ipv4Pool) -> Vec<Ipv4Addr> {
        std::iter::from_fn(|| pool.allocate(None).ok()).collect()
    }

    #[test]
    fn p65_all_usable_addresses_and_never_the_gateway() {
        let range = Ipv4Range::new([192, 0, 2, 2].into(), [192, 0, 2, 254].into()).unwrap();
        let mut pool = Ipv4Pool::new(&Ipv4PoolConfig::range(range, Some(GATEWAY))).unwrap();
        let all = drain(&mut pool);
        assert_eq!(all.len(), 253);
        assert_eq!(pool.usage(), Usage { usable: 253, held: 253, reserved: 0, peak: 253, exhausted: 1 });
        let one = Ipv4Addr::new(192, 0, 2, 99);
        pool.release(one).unwrap();
        assert_eq!(pool.release(one), Err(NotHeld));
        assert_eq!(pool.allocate(None), Ok(one), "what is freed is used again");

        let mut pool =
            Ipv4Pool::new(&Ipv4PoolConfig::prefix([192, 0, 2, 0].into(), 24, Some(GATEWAY)).unwrap()).unwrap();
        let all: HashSet<_> = drain(&mut pool).into_iter().collect();
        assert_eq!(all.len(), 253);
        for never in [0, 1, 255] {
            let address = Ipv4Addr::new(192, 0, 2, never);
            assert!(!all.contains(&address));
            assert_eq!(pool.take(address), Err(TakeError::Excluded));
        }
    }

    #[test]
    fn inner_zeros_and_255s_are_addresses() {
        let mut pool = Ipv4Pool::new(&Ipv4PoolConfig::prefix([100, 64, 0, 0].into(), 22, None).unwrap()).unwrap();
        let all: HashSet<_> = drain(&mut pool).into_iter().collect();
        assert_eq!(all.len(), 1022);
        assert!(all.contains(&[100, 64, 0, 255].into()) && all.contains(&[100, 64, 1, 0].into()));
        // RFC 3021: a /31 is two hosts.
        let mut pool = Ipv4Pool::new(&Ipv4PoolConfig::prefix([192, 0, 2, 8].into(), 31, None).unwrap()).unwrap();
        assert_eq!(drain(&mut pool).len(), 2);
    }

    #[test]
    fn what_is_released_rests_as_long_as_it_can() {
        let range = Ipv4Range::new([192, 0, 2, 10].into(), [192, 0, 2, 19].into()).unwrap();
        let mut pool = Ipv4Pool::new(&Ipv4PoolConfig::range(range, None)).unwrap();
        let first = pool.allocate(None).unwrap();
        pool.release(first).unwrap();
        for _ in 0..9 {
            let next = pool.allocate(None).unwrap();
            assert_ne!(next, first);
            pool.release(next).unwrap();
        }
        assert_eq!(pool.allocate(None), Ok(first));
    }

    #[test]
    fn a_sticky_key_finds_its_address_again() {
        let mut pool =
            Ipv4Pool::new(&Ipv4PoolConfig::prefix([192, 0, 2, 0].into(), 24, Some(GATEWAY)).unwrap()).unwrap();
        for key in 0..2000u64 {
            let first = pool.allocate(Some(key)).unwrap();
            assert_ne!(first, GATEWAY);
            let second = pool.allocate(Some(key)).unwrap();
            assert_ne!(first, second, "one owner each");
            pool.release(first).unwrap();
            assert_eq!(pool.allocate(Some(key)), Ok(first));
            pool.release(first).unwrap();
            pool.release(second).unwrap();
        }
    }

    #[test]
    fn mistakes_are_named() {
        let prefix = |address: [u8; 4], length| Ipv4PoolConfig::prefix(address.into(), length, None);
        assert!(matches!(prefix([192, 0, 2, 1], 24), Err(PoolConfigError::NotAnIpv4Prefix { .. })));
        assert!(matches!(prefix([192, 0, 2, 0], 33), Err(PoolConfigError::NotAnIpv4Prefix { .. })));
        assert!(prefix([0, 0, 0, 0], 0).is_ok());
        let range = Ipv4Range::new([192, 0, 2, 9].into(), [192, 0, 2, 8].into());
        assert!(matches!(range, Err(PoolConfigError::Reversed { .. })));
        assert!(matches!(Ipv4Pool::new(&prefix([0, 0, 0, 0], 0).unwrap()), Err(PoolConfigError::TooLarge(_))));
        assert!(Ipv4Pool::new(&prefix([10, 0, 0, 0], 8).unwrap()).is_ok());
        let mut config = prefix([192, 0, 2, 0], 30).unwrap();
        config.exclude = vec![Ipv4Range::prefix([192, 0, 0, 0].into(), 16).unwrap()];
        assert_eq!(Ipv4Pool::new(&config).err(), Some(PoolConfigError::Empty));
        config.exclude.clear();
        config.reserved = vec![[192, 0, 2, 3].into()];
        assert_eq!(Ipv4Pool::new(&config).err(), Some(PoolConfigError::Reserved("192.0.2.3".into())));
        let pool = Ipv4Pool::new(&prefix([192, 0, 2, 0], 30).unwrap()).unwrap();
        assert_eq!(pool.offset([192, 0, 2, 4].into()), None);
        assert_eq!(pool.address(4), None);
    }

    proptest! {
        /// Whatever is asked of it in whatever order, no address has two owners, the gateway and what is excluded are
        /// never given, reserved ones only by name, and in the end every usable address can be had.
        #[test]
        fn keeps_its_promises(
            first in 0u32..5,
            size in 1u32..200,
            gateway in 0u32..210,
            use_ends: bool,
            exclude in proptest::collection::vec((0u32..210, 0u32..20), 0..4),
            reserved in proptest::collection::vec(0u32..210, 0..4),
            steps in proptest::collection::vec((0u8..4, 0u32..210), 0..300),
        ) {
            let base = 0xc000_0200 + first;
            let at = |offset: u32| Ipv4Addr::from_bits(base + offset);
            let config = Ipv4PoolConfig {
                range: Ipv4Range::new(at(0), at(size - 1)).unwrap(),
                gateway: Some(at(gateway)),
                use_ends,
                exclude: exclude.iter().map(|(from, count)| Ipv4Range::new(at(*from), at(from + count)).unwrap()).collect(),
                reserved: reserved.iter().map(|offset| at(*offset)).collect(),
            };
            let given = |offset: u32| {
                offset < size
                    && offset != gateway
                    && (use_ends || (offset != 0 && offset != size - 1))
                    && !exclude.iter().any(|(from, count)| (*from..=from + count).contains(&offset))
            };
            let mut pool = match Ipv4Pool::new(&config) {
                Ok(pool) => pool,
                Err(PoolConfigError::Empty) => { prop_assert!(!(0..size).any(given)); return Ok(()); }
                Err(PoolConfigError::Reserved(_)) => { prop_assert!(!reserved.iter().all(|r| given(*r))); return Ok(()); }
                Err(other) => return Err(TestCaseError::fail(other.to_string())),
            };
            let mut held = HashSet::new();
            let is_reserved = |address: Ipv4Addr| config.reserved.contains(&address);
            for (what, offset) in steps {
                let address = at(offset);
                match what {
                    0 | 1 => match pool.allocate((what == 1).then_some(u64::from(offset))) {
                        Ok(address) => {
                            prop_assert!(given(address.to_bits() - base) && !is_reserved(address));
                            prop_assert!(held.insert(address));
                        }
                        Err(Exhausted) => {
                            prop_assert!((0..size).all(|o| !given(o) || is_reserved(at(o)) || held.contains(&at(o))));
                        }
                    },
                    2 => match pool.take(address) {
                        Ok(()) => { prop_assert!(given(offset)); prop_assert!(held.insert(address)); }
                        Err(TakeError::Held) => prop_assert!(held.contains(&address)),
                        Err(TakeError::Excluded) => prop_assert!(offset < size && !given(offset)),
                        Err(TakeError::NotInPool) => prop_assert!(offset >= size),
                    },
                    _ => prop_assert_eq!(pool.release(address).is_ok(), held.remove(&address)),
                }
                prop_assert_eq!(pool.is_held(address), held.contains(&address));
                let usage = pool.usage();
                prop_assert_eq!(usage.held as usize, held.len());
                prop_assert_eq!(usage.free() as usize, (0..size).filter(|o| given(*o) && !is_reserved(at(*o)) && !held.contains(&at(*o))).count());
            }
            for address in drain(&mut pool) {
                prop_assert!(held.insert(address));
            }
            for offset in (0..size).filter(|offset| given(*offset)) {
                let address = at(offset);
                prop_assert_eq!(held.contains(&address), !is_reserved(address) || pool.is_held(address));
            }
        }
    }
}
