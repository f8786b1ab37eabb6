//! Neighbours on core interfaces: the port and the frame header that lead to each.

use bng_wire::PortIndex;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering, fence};
use zerocopy::FromZeros;

/// The longest prebuilt header, in octets: Ethernet and two tags.
pub const HEADER_MAX_BYTES: usize = 22;

/// The shortest prebuilt header, in octets: Ethernet without a tag.
pub const HEADER_MIN_BYTES: usize = 14;

const HEADER_WORDS: usize = 3;

/// How often a reader looks again when the writer changed the header under its eyes. Once is rare; a second time
/// would mean two changes within nanoseconds.
const LOOKS_MAX: usize = 4;

/// One neighbour, shared: its writer is the [`crate::FibWriter`]. One cache line.
///
/// The header is kept twice. The writer fills the copy that is not in force and then switches `state` over; a reader
/// that sees `state` unchanged after it has read the header has read it whole.
#[derive(FromZeros)]
#[repr(C, align(64))]
pub struct Adjacency {
    /// Bits 0-7: [`FREE`], [`UNRESOLVED`] or [`RESOLVED`]; 8-15: port; 16-31: MTU; 32-39: header length;
    /// 40-63: changes so far, whose lowest bit says which copy is in force.
    state: AtomicU64,
    headers: [[AtomicU64; HEADER_WORDS]; 2],
}

const FREE: u8 = 0;
const UNRESOLVED: u8 = 1;
const RESOLVED: u8 = 2;

/// The fields of [`Adjacency::state`].
#[derive(Clone, Copy)]
struct State {
    kind: u8,
    port: PortIndex,
    mtu: u16,
    header_len: u8,
    /// 24 bits.
    changes: u32,
}

impl State {
    const CHANGES_MASK: u32 = 0x00ff_ffff;

    fn pack(self) -> u64 {
        u64::from(self.kind)
            | u64::from(self.port.0) << 8
            | u64::from(self.mtu) << 16
            | u64::from(self.header_len) << 32
            | u64::from(self.changes & Self::CHANGES_MASK) << 40
    }

    fn unpack(word: u64) -> Self {
        let [kind, port, m0, m1, header_len, c0, c1, c2] = word.to_le_bytes();
        Self {
            kind,
            port: PortIndex(port),
            mtu: u16::from_le_bytes([m0, m1]),
            header_len,
            changes: u32::from_le_bytes([c0, c1, c2, 0]),
        }
    }
}

/// What a reader learns of a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdjacencyView {
    /// The neighbour's MAC address is not known yet (or no longer): frames are held, not sent.
    Unresolved {
        /// The port it is on.
        port: PortIndex,
        /// The longest IP packet the link takes, in octets.
        mtu: u16,
    },
    /// The frame header is known.
    Resolved {
        /// The port to send on.
        port: PortIndex,
        /// The longest IP packet the link takes, in octets.
        mtu: u16,
        /// Destination, source, tags if any, and two octets for the EtherType of what follows.
        header: Header,
    },
}

/// A prebuilt frame header, from the destination MAC address to the EtherType.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Header {
    octets: [u8; HEADER_WORDS * 8],
    len: u8,
}

impl Header {
    /// The header's octets.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.octets.get(..usize::from(self.len)).unwrap_or(&self.octets)
    }

    /// The header's octets in a fixed array (zeroes behind its length), for copying without a loop.
    #[inline]
    #[must_use]
    pub fn padded(&self) -> &[u8; 24] {
        &self.octets
    }

    /// The number of octets, 14 to 22.
    #[inline]
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().iter().try_for_each(|octet| write!(out, "{octet:02x}"))
    }
}

impl Adjacency {
    /// What is known of the neighbour. `None` for an adjacency that does not exist (any more): treated as no route.
    #[inline]
    #[must_use]
    pub fn view(&self) -> Option<AdjacencyView> {
        let mut word = self.state.load(Ordering::Acquire);
        for _ in 0..LOOKS_MAX {
            let state = State::unpack(word);
            match state.kind {
                UNRESOLVED => return Some(AdjacencyView::Unresolved { port: state.port, mtu: state.mtu }),
                RESOLVED => {}
                _ => return None,
            }
            let [even, odd] = &self.headers;
            let copy = if state.changes & 1 == 0 { even } else { odd };
            let [w0, w1, w2] = copy.each_ref().map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
            // The loads above come before the one below, which then tells whether they saw one header.
            fence(Ordering::Acquire);
            let again = self.state.load(Ordering::Relaxed);
            if again == word {
                let mut octets = [0; HEADER_WORDS * 8];
                let (places, _) = octets.as_chunks_mut::<8>();
                for (place, value) in places.iter_mut().zip([w0, w1, w2]) {
                    *place = value;
                }
                let header = Header { octets, len: state.header_len };
                return Some(AdjacencyView::Resolved { port: state.port, mtu: state.mtu, header });
            }
            word = again;
        }
        let State { port, mtu, .. } = State::unpack(word);
        Some(AdjacencyView::Unresolved { port, mtu })
    }

    /// Asks for the adjacency's cache line.
    #[inline]
    pub fn prefetch(&self) {
        bng_sync::prefetch_read(self);
    }

    /// The writer's: puts a neighbour without a header here.
    pub(crate) fn set_unresolved(&self, port: PortIndex, mtu: u16) {
        self.change(|state| State { kind: UNRESOLVED, port, mtu, header_len: 0, ..state });
    }

    /// The writer's: the header is known. `header` is at most [`HEADER_MAX_BYTES`] long.
    pub(crate) fn set_resolved(&self, header: &[u8]) {
        let changes = State::unpack(self.state.load(Ordering::Relaxed)).changes;
        let [even, odd] = &self.headers;
        // The copy that comes into force with the next change.
        let copy = if changes & 1 == 0 { odd } else { even };
        let mut octets = [0; HEADER_WORDS * 8];
        for (place, octet) in octets.iter_mut().zip(header) {
            *place = *octet;
        }
        let (words, _) = octets.as_chunks::<8>();
        // A reader that sees one of the stores below also sees the state of before, or a later one: it will notice.
        fence(Ordering::Release);
        for (place, word) in copy.iter().zip(words) {
            place.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
        }
        self.change(|state| State { kind: RESOLVED, header_len: header.len() as u8, ..state });
    }

    /// The writer's: the longest packet has changed.
    pub(crate) fn set_mtu(&self, mtu: u16) {
        let state = State::unpack(self.state.load(Ordering::Relaxed));
        // Without a change of copy: the header stays in force.
        self.state.store(State { mtu, ..state }.pack(), Ordering::Release);
    }

    /// The writer's: forgets the header.
    pub(crate) fn set_unknown(&self) {
        self.change(|state| State { kind: UNRESOLVED, header_len: 0, ..state });
    }

    /// The writer's: there is no neighbour here.
    pub(crate) fn set_free(&self) {
        self.change(|state| State { kind: FREE, port: PortIndex(0), mtu: 0, header_len: 0, ..state });
    }

    /// The writer's: the port and MTU; `None` if there is no neighbour here.
    pub(crate) fn exists(&self) -> bool {
        State::unpack(self.state.load(Ordering::Relaxed)).kind != FREE
    }

    fn change(&self, to: impl FnOnce(State) -> State) {
        let state = State::unpack(self.state.load(Ordering::Relaxed));
        let state = State { changes: state.changes.wrapping_add(1), ..to(state) };
        self.state.store(state.pack(), Ordering::Release);
    }
}

impl fmt::Debug for Adjacency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.view(), out)
    }
}
