//! What the stages tell each other about a frame.

use bng_fib::{AdjacencyId, GroupId};
use bng_session::{PageRef, SessionIndex, SessionKey};

use crate::frame::PuntClass;
use crate::reason::Reason;

/// Where a frame stands between two stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// A PPPoE session frame; the cell that leads to its session is on its way.
    Look(PageRef),
    /// A PPPoE session frame; its session's entry is on its way.
    Admit(SessionIndex),
    /// A PPPoE session frame without session, not yet told from a flood of them.
    Unknown,
    /// An IP packet to be routed.
    Route,
    /// An IP packet to an address of this pool.
    ToPool(u16),
    /// An IP packet for this session.
    ToSession(SessionIndex),
    /// An IP packet for a neighbour of this group.
    ToGroup(GroupId),
    /// An IP packet for this neighbour.
    ToNeighbour(AdjacencyId),
    /// The packet is longer than this, which is what its way out takes.
    TooBig(u16),
    /// The end: to control.
    Punt(PuntClass, Reason),
    /// The end: dropped.
    Drop(Reason),
}

/// The two versions of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

/// One frame's notes: a cache line of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    pub(crate) state: State,
    /// What the session's key must be.
    pub(crate) key: SessionKey,
    /// The IPv6 destination, upper and lower half.
    dst6: [u64; 2],
    /// The IPv4 destination.
    pub(crate) dst4: u32,
    /// The session that the frame came from, once its key was found equal; [`Work::NONE`] before.
    source: u32,
    /// Where the IP header begins (or what follows the PPP protocol).
    pub(crate) l3: u16,
    /// Octets from there to the end: by PPPoE LENGTH first, by the IP header once that is checked.
    pub(crate) l3_len: u16,
    /// The PPP protocol.
    pub(crate) protocol: u16,
    /// The packet size that the MSS is to fit; `u16::MAX` for as it is.
    pub(crate) mss_mtu: u16,
    pub(crate) vrf: u16,
    pub(crate) family: Family,
    /// Time to live, or hop limit.
    pub(crate) ttl: u8,
    /// Whether the source address is one that is only good on its own link.
    pub(crate) link_source: bool,
}

const _: () = assert!(size_of::<Work>() <= 64);

/// Whose credit a packet is charged to, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Police {
    pub(crate) worker: usize,
    pub(crate) now_ms: u64,
}

impl Work {
    const NONE: u32 = u32::MAX;

    pub(crate) const IDLE: Self = Self {
        state: State::Drop(Reason::Runt),
        key: SessionKey(0),
        dst6: [0; 2],
        dst4: 0,
        source: Self::NONE,
        l3: 0,
        l3_len: 0,
        protocol: 0,
        mss_mtu: u16::MAX,
        vrf: 0,
        family: Family::V4,
        ttl: 0,
        link_source: false,
    };

    /// Makes the notes those of a new frame that begins in `state`. Fields that only mean something after another
    /// stage has set them keep what they had.
    #[inline(always)]
    pub(crate) fn begin(&mut self, state: State) {
        self.state = state;
        self.source = Self::NONE;
        self.mss_mtu = u16::MAX;
        self.vrf = 0;
        self.link_source = false;
    }

    /// The session that the frame came from.
    #[inline]
    pub(crate) const fn source(&self) -> Option<SessionIndex> {
        if self.source == Self::NONE { None } else { Some(SessionIndex(self.source)) }
    }

    /// The same, and the frame has none from now on.
    pub(crate) const fn take_source(&mut self) -> Option<SessionIndex> {
        let source = self.source();
        self.source = Self::NONE;
        source
    }

    #[inline]
    pub(crate) const fn set_source(&mut self, index: SessionIndex) {
        self.source = index.0;
    }

    /// The IPv6 destination.
    #[inline]
    pub(crate) const fn dst6(&self) -> u128 {
        let [high, low] = self.dst6;
        (high as u128) << 64 | low as u128
    }

    #[inline]
    pub(crate) const fn set_dst6(&mut self, dst: u128) {
        self.dst6 = [(dst >> 64) as u64, dst as u64];
    }

    /// The packet: what `l3` and `l3_len` enclose.
    #[inline]
    pub(crate) fn packet<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        let start = usize::from(self.l3);
        frame.get(start..start.wrapping_add(usize::from(self.l3_len))).unwrap_or(&[])
    }
}
