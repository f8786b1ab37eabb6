//! What the pipeline asks of a frame's memory, and where frames go.

use bng_session::SessionIndex;
use bng_wire::PortIndex;

use crate::reason::Reason;

/// Most frames of a burst.
pub const BURST_FRAMES_MAX: usize = 32;

/// A frame in memory that may grow at the front: an mbuf, or a vector in tests. All of it is contiguous; a frame in
/// several segments is made linear, or dropped, before it comes here.
pub trait FrameBuf {
    /// The frame from its first octet (the destination MAC address) to its last, without FCS.
    fn bytes(&self) -> &[u8];
    /// The same, to be changed.
    fn bytes_mut(&mut self) -> &mut [u8];
    /// Makes the frame `octets` longer at the front; the new octets are undefined. False, and nothing changed, where
    /// the headroom does not suffice.
    #[must_use]
    fn push_front(&mut self, octets: usize) -> bool;
    /// Takes `octets` off the front. False, and nothing changed, where the frame is shorter.
    #[must_use]
    fn pull_front(&mut self, octets: usize) -> bool;
    /// Sets the frame's length, by cutting or extending its end; new octets are undefined. False, and nothing
    /// changed, where the tailroom does not suffice.
    #[must_use]
    fn set_len(&mut self, octets: usize) -> bool;
}

/// The queues towards the control side, most urgent first. Each is a ring of its own, so that a flood of one class
/// takes no room of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum PuntClass {
    /// What keeps live sessions alive or ends them: LCP echoes and terminations.
    Keepalive = 0,
    /// Other control frames of known sessions: LCP, authentication, NCPs, IPv6 neighbour and router discovery.
    Session = 1,
    /// PPPoE discovery, and session frames that belong to no session.
    Discovery = 2,
    /// Frames for the router itself, and for neighbours not resolved yet.
    Host = 3,
}

impl PuntClass {
    /// How many classes there are.
    pub const COUNT: usize = 4;
    /// All classes, most urgent first.
    pub const ALL: [Self; Self::COUNT] = [Self::Keepalive, Self::Session, Self::Discovery, Self::Host];

    /// The class's name in metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Keepalive => "keepalive",
            Self::Session => "session",
            Self::Discovery => "discovery",
            Self::Host => "host",
        }
    }

    /// The inverse of `as u8`.
    #[must_use]
    pub const fn from_u8(value: u8) -> Option<Self> {
        match value {
            0 => Some(Self::Keepalive),
            1 => Some(Self::Session),
            2 => Some(Self::Discovery),
            3 => Some(Self::Host),
            _ => None,
        }
    }
}

/// What goes with a punted frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PuntMeta {
    /// The port that the frame was received on.
    pub port: PortIndex,
    /// Why it was punted.
    pub reason: Reason,
    /// The session that the frame belongs to, where one was found and the frame is its client's.
    pub session: Option<SessionIndex>,
}

impl PuntMeta {
    /// [`PuntMeta::session_bits`] of a frame without session.
    pub const NO_SESSION: u32 = u32::MAX;

    /// The session as the 32 bits of a ring's record.
    #[must_use]
    pub const fn session_bits(self) -> u32 {
        match self.session {
            Some(index) => index.0,
            None => Self::NO_SESSION,
        }
    }

    /// The inverse of [`PuntMeta::session_bits`].
    #[must_use]
    pub const fn session_from_bits(bits: u32) -> Option<SessionIndex> {
        if bits == Self::NO_SESSION { None } else { Some(SessionIndex(bits)) }
    }
}

/// Where frames go. Each frame given to the pipeline comes back through exactly one of the first three.
pub trait Sink<F> {
    /// Send `frame` on `port`.
    fn transmit(&mut self, port: PortIndex, frame: F);
    /// Hand `frame`, unchanged since it was received, to the control side.
    fn punt(&mut self, class: PuntClass, meta: PuntMeta, frame: F);
    /// Free `frame`; it was counted under `reason`.
    fn discard(&mut self, reason: Reason, frame: F);
    /// A new frame, empty, with headroom: for fragments and ICMP errors. `None` when there is none to be had.
    fn allocate(&mut self) -> Option<F>;
}
