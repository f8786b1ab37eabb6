//! Address and prefix pools: which IPv4 addresses and IPv6 prefixes are free, which are held.
//!
//! A pool is one contiguous range. A named pool of several prefixes is a list of these, tried in order by the caller:
//! so that an offset into a pool is one subtraction, for this crate as well as for the forwarding plane's maps.
//!
//! Everything is deterministic: the same calls give the same addresses. Released addresses come back as late as
//! possible (the search goes round the pool), because a neighbour's stale state may still point at them.
//! No operation depends on how many addresses are held: see [`Slots`].
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::arithmetic_side_effects
    )
)]

mod error;
mod ipv4;
mod prefix;
mod slots;

pub use error::{Exhausted, NotHeld, PoolConfigError, TakeError};
pub use ipv4::{Ipv4Pool, Ipv4PoolConfig, Ipv4Range};
pub use prefix::{Prefix, PrefixPool, PrefixPoolConfig};
pub use slots::Slots;

/// The most addresses or prefixes that one pool may have: 2^24 (an IPv4 /8, or a /40 cut into /64s). The free map of
/// such a pool takes 2.1 MiB.
pub const POOL_SIZE_MAX: u32 = 1 << 24;

/// How full a pool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Addresses or prefixes that subscribers can have: without gateway, exclusions and the like.
    pub usable: u32,
    /// Of these, how many are held now.
    pub held: u32,
    /// Of these, how many are reserved by name and not held now: only `take` gives them out.
    pub reserved: u32,
    /// The most that were held at once.
    pub peak: u32,
    /// How many times nothing was free.
    pub exhausted: u64,
}

impl Usage {
    /// How many a caller that asks for any address can still get.
    #[must_use]
    pub const fn free(&self) -> u32 {
        self.usable.saturating_sub(self.held).saturating_sub(self.reserved)
    }
}
