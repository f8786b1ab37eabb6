//! Where a route leads.

use crate::GroupId;
use core::sync::atomic::{AtomicU64, Ordering};

/// Names an adjacency, see [`crate::Fib::adjacency`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AdjacencyId(pub u32);

/// What a lookup gives: names a next hop, see [`crate::Fib::next_hop`]. Valid until the reader's next quiescent point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct NextHopId(pub u32);

impl NextHopId {
    /// Where no route leads: always [`NextHop::Unreachable`].
    pub const UNREACHABLE: Self = Self(0);
}

/// Where a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum NextHop {
    /// Nowhere: the sender is told (ICMP destination unreachable, RFC 1812 section 5.2.7.1).
    #[default]
    Unreachable,
    /// Nowhere, silently.
    Blackhole,
    /// To the router itself: an address of its own.
    Local,
    /// Into a pool map: the address's offset in the pool gives the session.
    Pool(u16),
    /// To one session: a static address outside the pools, a framed route, a foreign prefix.
    Session {
        /// The session's place in the table, less than 2^28.
        index: u32,
        /// The place's generation when the route was made; another one means that the session has ended.
        generation: u32,
    },
    /// To a neighbour whose frame header is prebuilt.
    Neighbour(AdjacencyId),
    /// To a network the interface is connected to: the destination itself is the neighbour, still to be resolved.
    Glean {
        /// The core interface.
        interface: u16,
    },
    /// By one of several, the same for all packets of a flow: see [`crate::Fib::group_member`]. No member of a group is
    /// a group.
    Group(GroupId),
}

/// The number of bits that name the variant, at the bottom of a packed next hop; 8 to 15 are free.
const TAG_BITS: u32 = 4;

/// Session indices are less than this: 64 bits less tag and generation.
const SESSION_INDEX_END: u32 = 1 << 28;

const UNREACHABLE: u64 = 0;
const BLACKHOLE: u64 = 1;
const LOCAL: u64 = 2;
const POOL: u64 = 3;
const SESSION: u64 = 4;
const NEIGHBOUR: u64 = 5;
const GLEAN: u64 = 6;
const GROUP: u64 = 7;

impl NextHop {
    /// The next hop in 64 bits; `None` if a session's index is 2^28 or more.
    #[must_use]
    pub fn pack(self) -> Option<u64> {
        let with = |tag: u64, low: u32, high: u32| tag | u64::from(low) << TAG_BITS | u64::from(high) << 32;
        Some(match self {
            Self::Unreachable => UNREACHABLE,
            Self::Blackhole => BLACKHOLE,
            Self::Local => LOCAL,
            Self::Pool(map) => with(POOL, u32::from(map), 0),
            Self::Session { index, generation } if index < SESSION_INDEX_END => with(SESSION, index, generation),
            Self::Session { .. } => return None,
            Self::Neighbour(adjacency) => with(NEIGHBOUR, 0, adjacency.0),
            Self::Glean { interface } => with(GLEAN, u32::from(interface), 0),
            Self::Group(group) => with(GROUP, 0, group.0),
        })
    }

    /// The inverse of [`NextHop::pack`]; what it never makes is [`NextHop::Unreachable`].
    #[inline]
    #[must_use]
    pub fn unpack(word: u64) -> Self {
        let low = (word as u32) >> TAG_BITS;
        let high = (word >> 32) as u32;
        match word & 0xf {
            BLACKHOLE => Self::Blackhole,
            LOCAL => Self::Local,
            POOL => Self::Pool(low as u16),
            SESSION => Self::Session { index: low, generation: high },
            NEIGHBOUR => Self::Neighbour(AdjacencyId(high)),
            GLEAN => Self::Glean { interface: low as u16 },
            GROUP => Self::Group(GroupId(high)),
            _ => Self::Unreachable,
        }
    }
}

/// One place of the next-hop table; all zero is [`NextHop::Unreachable`].
#[derive(zerocopy::FromZeros)]
#[repr(transparent)]
pub(crate) struct NextHopCell(AtomicU64);

impl NextHopCell {
    #[inline]
    pub(crate) fn load(&self) -> NextHop {
        NextHop::unpack(self.0.load(Ordering::Acquire))
    }

    pub(crate) fn store(&self, packed: u64) {
        self.0.store(packed, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn any_next_hop() -> impl Strategy<Value = NextHop> {
        prop_oneof![
            Just(NextHop::Unreachable),
            Just(NextHop::Blackhole),
            Just(NextHop::Local),
            any::<u16>().prop_map(NextHop::Pool),
            (0..SESSION_INDEX_END, any::<u32>()).prop_map(|(index, generation)| NextHop::Session { index, generation }),
            any::<u32>().prop_map(|id| NextHop::Neighbour(AdjacencyId(id))),
            any::<u16>().prop_map(|interface| NextHop::Glean { interface }),
            any::<u32>().prop_map(|id| NextHop::Group(GroupId(id))),
        ]
    }

    proptest! {
        #[test]
        fn a_packed_next_hop_unpacks_to_itself(next_hop in any_next_hop()) {
            prop_assert_eq!(next_hop.pack().map(NextHop::unpack), Some(next_hop));
        }

        #[test]
        fn any_word_unpacks(word: u64) {
            let next_hop = NextHop::unpack(word);
            prop_assert_eq!(next_hop.pack().map(NextHop::unpack), Some(next_hop));
        }
    }

    #[test]
    fn a_session_index_too_great_is_refused() {
        assert_eq!(NextHop::Session { index: SESSION_INDEX_END, generation: 0 }.pack(), None);
        assert!(NextHop::Session { index: SESSION_INDEX_END - 1, generation: u32::MAX }.pack().is_some());
    }
}
