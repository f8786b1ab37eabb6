//! What can go wrong with a pool.

use core::net::{Ipv4Addr, Ipv6Addr};

/// Nothing is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the pool is exhausted")]
pub struct Exhausted;

/// The address or prefix that was given back is not held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the address or prefix is not held from this pool")]
pub struct NotHeld;

/// Why one particular address or prefix cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TakeError {
    /// It lies outside the pool, or is no prefix of the pool's length.
    #[error("it is not of this pool")]
    NotInPool,
    /// It is the gateway, excluded, or the network or broadcast address.
    #[error("the pool never gives it out")]
    Excluded,
    /// Somebody holds it.
    #[error("it is held already")]
    Held,
}

/// Why a pool cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolConfigError {
    /// An IPv4 prefix longer than 32 bits, or with bits set behind its length.
    #[error("{address}/{length} is not an IPv4 prefix")]
    NotAnIpv4Prefix {
        /// As given.
        address: Ipv4Addr,
        /// As given.
        length: u8,
    },
    /// An IPv6 prefix longer than 128 bits, or with bits set behind its length.
    #[error("{address}/{length} is not an IPv6 prefix")]
    NotAnIpv6Prefix {
        /// As given.
        address: Ipv6Addr,
        /// As given.
        length: u8,
    },
    /// The last address of a range lies before its first.
    #[error("the range {first}-{last} ends before it starts")]
    Reversed {
        /// As given.
        first: Ipv4Addr,
        /// As given.
        last: Ipv4Addr,
    },
    /// More than [`crate::POOL_SIZE_MAX`] addresses or prefixes.
    #[error("a pool has at most 16,777,216 addresses or prefixes, not {0}")]
    TooLarge(u128),
    /// The delegated length is shorter than the pool's own prefix, or longer than 128.
    #[error("prefixes of length {length} cannot be cut from a /{pool}")]
    Length {
        /// Length of the prefixes to give.
        length: u8,
        /// Length of the pool's prefix.
        pool: u8,
    },
    /// A reserved address lies outside the pool or is one that is never given.
    #[error("the reserved {0} is not an address that this pool gives")]
    Reserved(String),
    /// Gateway and exclusions leave nothing.
    #[error("the pool has no address left to give")]
    Empty,
}
