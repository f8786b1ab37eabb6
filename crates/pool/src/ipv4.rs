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
