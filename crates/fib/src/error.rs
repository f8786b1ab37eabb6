//! Limits, and what happens when one is reached.

use crate::{AdjacencyId, GROUP_MEMBERS_MAX, GroupId};
use bng_sync::{ArenaError, Placement};

/// How much a FIB holds. Memory is faulted in as it is used (in ordinary pages), so limits may be generous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FibConfig {
    /// Routing instances, 1 to 65,536; instance numbers are less than this. Each costs 512 KiB when used.
    pub vrfs_max: u32,
    /// IPv4 routes, all instances together.
    pub routes4_max: usize,
    /// IPv6 routes, all instances together.
    pub routes6_max: usize,
    /// Trie nodes for IPv4, 1 KiB each, at most 2^26. A /17 to /24 needs one (shared by the routes in its /16), a
    /// longer prefix a second one (shared in its /24).
    pub nodes4_max: usize,
    /// Trie nodes for IPv6, 1 KiB each, at most 2^26. One for every octet of the prefix after the second, shared by
    /// the routes that agree so far.
    pub nodes6_max: usize,
    /// Different next hops, at most 2^26. Routes with the same next hop share one.
    pub next_hops_max: usize,
    /// Adjacencies, at most 2^32 - 1.
    pub adjacencies_max: usize,
    /// Groups of next hops, 1 KiB each, at most 2^32 - 1.
    pub groups_max: usize,
    /// What the choice among the members of a group begins with: routers in a row that begin with different numbers
    /// choose independently of each other.
    pub flow_seed: u64,
    /// The pages that the tables ask for.
    pub placement: Placement,
}

impl Default for FibConfig {
    /// Room for a full Internet table of 2 million IPv4 and 1 million IPv6 routes in one instance.
    fn default() -> Self {
        Self {
            vrfs_max: 1,
            routes4_max: 2_000_000,
            routes6_max: 1_000_000,
            nodes4_max: 1 << 18,
            nodes6_max: 1 << 20,
            next_hops_max: 1 << 20,
            adjacencies_max: 1 << 16,
            groups_max: 1 << 12,
            flow_seed: 0,
            placement: Placement::Ordinary,
        }
    }
}

/// Why a FIB could not be made or a change was refused. A refused change has changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum FibError {
    /// The memory could not be had.
    #[error(transparent)]
    Memory(#[from] ArenaError),
    /// A limit of [`FibConfig`] is out of its own range.
    #[error("{name} is {value}: it must be {min} to {max}")]
    Config {
        /// The field.
        name: &'static str,
        /// What it says.
        value: usize,
        /// The least it may say.
        min: usize,
        /// The most it may say.
        max: usize,
    },
    /// No such routing instance.
    #[error("routing instance {vrf} does not exist: there are {vrfs_max}")]
    Vrf {
        /// The instance asked for.
        vrf: u16,
        /// [`FibConfig::vrfs_max`].
        vrfs_max: u32,
    },
    /// A prefix longer than the address.
    #[error("a prefix length of {len} exceeds the {bits} bits of the address")]
    Length {
        /// The length asked for.
        len: u8,
        /// 32 or 128.
        bits: u8,
    },
    /// As many routes as there may be.
    #[error("the FIB holds {limit} routes of this family, as many as it may")]
    RoutesFull {
        /// [`FibConfig::routes4_max`] or [`FibConfig::routes6_max`].
        limit: usize,
    },
    /// Too few trie nodes for the route. Nodes that wait for readers come back with [`crate::FibWriter::poll`].
    #[error("the route needs {needed} trie nodes: {free} of {limit} are free, {waiting} wait for readers")]
    NodesFull {
        /// Nodes the route needs.
        needed: usize,
        /// Nodes free now.
        free: usize,
        /// Nodes in grace.
        waiting: usize,
        /// [`FibConfig::nodes4_max`] or [`FibConfig::nodes6_max`].
        limit: usize,
    },
    /// As many different next hops as there may be. Those that wait for readers come back with
    /// [`crate::FibWriter::poll`].
    #[error("the FIB holds {limit} next hops, as many as it may; {waiting} of them wait for readers")]
    NextHopsFull {
        /// Next hops in grace.
        waiting: usize,
        /// [`FibConfig::next_hops_max`].
        limit: usize,
    },
    /// As many adjacencies as there may be. Those that wait for readers come back with [`crate::FibWriter::poll`].
    #[error("the FIB holds {limit} adjacencies, as many as it may; {waiting} of them wait for readers")]
    AdjacenciesFull {
        /// Adjacencies in grace.
        waiting: usize,
        /// [`FibConfig::adjacencies_max`].
        limit: usize,
    },
    /// A session index that a next hop cannot hold.
    #[error("session index {index} is not less than 2^28")]
    SessionIndex {
        /// The index.
        index: u32,
    },
    /// No such adjacency.
    #[error("adjacency {} does not exist", .0.0)]
    NoAdjacency(AdjacencyId),
    /// Routes still lead to the adjacency.
    #[error("routes still lead to adjacency {}", .0.0)]
    AdjacencyInUse(AdjacencyId),
    /// As many groups of next hops as there may be. Those that wait for readers come back with
    /// [`crate::FibWriter::poll`].
    #[error("the FIB holds {limit} groups of next hops, as many as it may; {waiting} of them wait for readers")]
    GroupsFull {
        /// Groups in grace.
        waiting: usize,
        /// [`FibConfig::groups_max`].
        limit: usize,
    },
    /// No member, too many, one without weight, or one that is a group itself.
    #[error("a group has 1 to {GROUP_MEMBERS_MAX} members with a weight, none of them a group")]
    GroupMembers,
    /// No such group.
    #[error("group {} does not exist", .0.0)]
    NoGroup(GroupId),
    /// Routes still lead to the group.
    #[error("routes still lead to group {}", .0.0)]
    GroupInUse(GroupId),
    /// A prebuilt header of a length that no adjacency has.
    #[error("a prebuilt header is 14 to 22 octets, not {len}")]
    HeaderLength {
        /// The length given.
        len: usize,
    },
}
