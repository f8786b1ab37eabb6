//! IPv4/IPv6 longest-prefix match, next hops and adjacencies: one writer, lock-free readers.
//!
//! [`Fib::new`] gives the two sides. Readers (workers) share a [`Fib`]: a lookup gives a [`NextHopId`], the next-hop
//! table says where it leads, and the adjacency table holds the prebuilt frame header of each neighbour. The
//! [`FibWriter`] changes all three while they are read: a lookup sees each update wholly or not at all, and what is
//! replaced is reused only after every reader has passed a quiescent point. What a reader has looked up is therefore
//! good until its next one, and no longer.
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

mod adjacency;
#[cfg(test)]
mod atomicity;
mod error;
mod fib;
mod group;
mod key;
mod next_hop;
mod numbers;
mod rib;
mod trie;
mod writer;

pub use adjacency::{Adjacency, AdjacencyView, HEADER_MAX_BYTES, HEADER_MIN_BYTES, Header};
pub use error::{FibConfig, FibError};
pub use fib::{FamilyStatistics, Fib, FibStatistics, FibWriter, GroupMember, Route};
pub use group::{GROUP_BUCKETS, GROUP_MEMBERS_MAX, GroupId};
pub use next_hop::{AdjacencyId, NextHop, NextHopId};
