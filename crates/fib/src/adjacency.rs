//! Neighbours on core interfaces: the port and the frame header that lead to each.

use bng_sync::Snapshot;
use bng_wire::PortIndex;
use core::fmt;
use zerocopy::FromZeros;

/// The longest prebuilt header, in octets: Ethernet and two tags.
pub const HEADER_MAX_BYTES: usize = 22;

/// The shortest prebuilt header, in octets: Ethernet without a tag.
pub const HEADER_MIN_BYTES: usize = 14;

const HEADER_WORDS: usize = 3;

/// One neighbour, shared: its writer is the [`crate::FibWriter`]. One cache line.
///
/// Readers see the header whole, see [`Snapshot`]; what else is known of the neighbour is its tag.
#[derive(FromZeros)]
#[repr(C, align(64))]
pub struct Adjacency(Snapshot<HEADER_WORDS>);

const FREE: u8 = 0;
const UNRESOLVED: u8 = 1;
const RESOLVED: u8 = 2;

/// The 40 bits of a tag.
#[derive(Clone, Copy)]
struct Tag {
    /// [`FREE`] (and with it all zeroes), [`UNRESOLVED`] or [`RESOLVED`].
    kind: u8,
    port: PortIndex,
    mtu: u16,
    header_len: u8,
}

impl Tag {
    fn pack(self) -> u64 {
        let [m0, m1] = self.mtu.to_le_bytes();
        u64::from_le_bytes([self.kind, self.port.0, m0, m1, self.header_len, 0, 0, 0])
    }

    fn unpack(tag: u64) -> Self {
        let [kind, port, m0, m1, header_len, ..] = tag.to_le_bytes();
        Self { kind, port: PortIndex(port), mtu: u16::from_le_bytes([m0, m1]), header_len }
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
        let (tag, words) = self.0.read();
        let Tag { kind, port, mtu, header_len } = Tag::unpack(tag);
        match (kind, words) {
            (RESOLVED, Some(words)) => {
                let header = Header { octets: octets(&words), len: header_len };
                Some(AdjacencyView::Resolved { port, mtu, header })
            }
            // A header that changed under every look is treated as one that is not known yet: the frame is held.
            (UNRESOLVED | RESOLVED, _) => Some(AdjacencyView::Unresolved { port, mtu }),
            _ => None,
        }
    }

    /// Asks for the adjacency's cache line.
    #[inline]
    pub fn prefetch(&self) {
        bng_sync::prefetch_read(self);
    }

    /// The writer's: puts a neighbour without a header here.
    pub(crate) fn set_unresolved(&self, port: PortIndex, mtu: u16) {
        self.0.set_tag(Tag { kind: UNRESOLVED, port, mtu, header_len: 0 }.pack());
    }

    /// The writer's: the header is known. `header` is at most [`HEADER_MAX_BYTES`] long.
    pub(crate) fn set_resolved(&self, header: &[u8]) {
        let mut octets = [0; HEADER_WORDS * 8];
        for (place, octet) in octets.iter_mut().zip(header) {
            *place = *octet;
        }
        let mut words = [0; HEADER_WORDS];
        let (chunks, _) = octets.as_chunks::<8>();
        for (word, chunk) in words.iter_mut().zip(chunks) {
            *word = u64::from_ne_bytes(*chunk);
        }
        let tag = Tag { kind: RESOLVED, header_len: header.len() as u8, ..Tag::unpack(self.0.tag()) };
        self.0.write(tag.pack(), &words);
    }

    /// The writer's: the longest packet has changed; the header stays.
    pub(crate) fn set_mtu(&self, mtu: u16) {
        self.0.set_tag(Tag { mtu, ..Tag::unpack(self.0.tag()) }.pack());
    }

    /// The writer's: forgets the header.
    pub(crate) fn set_unknown(&self) {
        self.0.set_tag(Tag { kind: UNRESOLVED, header_len: 0, ..Tag::unpack(self.0.tag()) }.pack());
    }

    /// The writer's: there is no neighbour here.
    pub(crate) fn set_free(&self) {
        self.0.set_tag(Tag { kind: FREE, port: PortIndex(0), mtu: 0, header_len: 0 }.pack());
    }

    /// The writer's: true if there is a neighbour here.
    pub(crate) fn exists(&self) -> bool {
        Tag::unpack(self.0.tag()).kind != FREE
    }
}

/// The octets of the words of a header.
#[inline]
fn octets(words: &[u64; HEADER_WORDS]) -> [u8; HEADER_WORDS * 8] {
    let mut octets = [0; HEADER_WORDS * 8];
    let (chunks, _) = octets.as_chunks_mut::<8>();
    for (chunk, word) in chunks.iter_mut().zip(words) {
        *chunk = word.to_ne_bytes();
    }
    octets
}

impl fmt::Debug for Adjacency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.view(), out)
    }
}
