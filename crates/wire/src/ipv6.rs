//! The IPv6 header (RFC 8200 section 3) and the walk over extension headers to the upper layer.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------+---------------+---------------------------------------+
//! |Version| Traffic Class |              Flow Label               |
//! +-------+---------------+-------+---------------+---------------+
//! |         Payload Length        |  Next Header  |   Hop Limit   |
//! +-------------------------------+---------------+---------------+
//! |                     Source Address (16)                       |
//! |                  Destination Address (16)                     |
//! +---------------------------------------------------------------+
//! ```

use zerocopy::byteorder::network_endian::{U16, U32, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::ether::TooSmall;

/// Octets of the header.
pub const HEADER_LEN: usize = 40;
/// The least link MTU (RFC 8200 section 5), and the longest ICMPv6 error (RFC 4443 section 2.4 c).
pub const MTU_MIN: usize = 1280;

/// The header, as it lies in the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Header {
    /// Version (4 bits), traffic class (8 bits), flow label (20 bits).
    pub version_class_flow: U32,
    /// Octets after this header.
    pub payload_len: U16,
    /// What follows this header.
    pub next_header: u8,
    /// Hops left.
    pub hop_limit: u8,
    /// The source address.
    pub src: U128,
    /// The destination address.
    pub dst: U128,
}

/// What is wrong with a packet's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ipv6Error {
    /// Shorter than a header.
    #[error("the packet is shorter than an IPv6 header")]
    Truncated,
    /// The version is not 6.
    #[error("the version is not 6")]
    Version,
    /// The payload length is beyond the packet.
    #[error("the payload length is beyond the packet")]
    Length,
}

impl Header {
    /// Reads and checks the header at the front of `packet`, which may be longer than the payload length says (link
    /// padding). Jumbograms (RFC 2675) are not for links of this size: their length 0 stands for no payload.
    ///
    /// # Errors
    /// [`Ipv6Error`].
    #[inline]
    pub fn check(packet: &[u8]) -> Result<&Self, Ipv6Error> {
        let (header, payload) = Self::ref_from_prefix(packet).map_err(|_| Ipv6Error::Truncated)?;
        if header.version_class_flow.get() >> 28 != 6 {
            return Err(Ipv6Error::Version);
        }
        if usize::from(header.payload_len.get()) > payload.len() {
            return Err(Ipv6Error::Length);
        }
        Ok(header)
    }

    /// Octets of header and payload.
    #[inline]
    #[must_use]
    pub const fn total_len(&self) -> usize {
        (self.payload_len.get() as usize).wrapping_add(HEADER_LEN)
    }

    /// A header without traffic class and flow label. `payload_len` is cut to what 16 bits hold.
    #[must_use]
    pub fn new(src: u128, dst: u128, next_header: u8, hop_limit: u8, payload_len: usize) -> Self {
        Self {
            version_class_flow: (6u32 << 28).into(),
            payload_len: u16::try_from(payload_len).unwrap_or(u16::MAX).into(),
            next_header,
            hop_limit,
            src: src.into(),
            dst: dst.into(),
        }
    }

    /// Writes the header to the front of `buffer`.
    ///
    /// # Errors
    /// [`TooSmall`].
    pub fn write(&self, buffer: &mut [u8]) -> Result<usize, TooSmall> {
        self.write_to_prefix(buffer).map_err(|_| TooSmall)?;
        Ok(HEADER_LEN)
    }
}

/// Extension headers that the walk passes over.
mod extension {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const DESTINATION: u8 = 60;
}

/// The most extension headers that the walk passes over; a packet with more has no upper layer as far as we look.
pub const EXTENSIONS_MAX: usize = 8;

/// The upper layer of an IPv6 packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpperLayer {
    /// Its protocol number.
    pub protocol: u8,
    /// Where it begins, from the start of the IPv6 header.
    pub offset: usize,
}

/// Finds the upper layer of `packet`, from the IPv6 header on. `None` in a fragment that is not the first, in a packet
/// that ends within its extension headers, and behind more than [`EXTENSIONS_MAX`] of them.
#[must_use]
pub fn upper_layer(packet: &[u8], next_header: u8) -> Option<UpperLayer> {
    let mut protocol = next_header;
    let mut offset = HEADER_LEN;
    for _ in 0..=EXTENSIONS_MAX {
        let words = match protocol {
            extension::HOP_BY_HOP | extension::ROUTING | extension::DESTINATION => {
                usize::from(*packet.get(offset.saturating_add(1))?)
            }
            extension::FRAGMENT => {
                let (field, _) = packet.get(offset.saturating_add(2)..)?.split_first_chunk::<2>()?;
                if u16::from_be_bytes(*field) & 0xfff8 != 0 {
                    return None;
                }
                0
            }
            _ => return Some(UpperLayer { protocol, offset }),
        };
        protocol = *packet.get(offset)?;
        offset = offset.saturating_add(words.saturating_add(1).saturating_mul(8));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn header()(src: u128, dst: u128, next: u8, hop: u8, payload in 0usize..1460, flow in 0u32..1 << 28) -> Header {
            let mut header = Header::new(src, dst, next, hop, payload);
            header.version_class_flow = (6 << 28 | flow).into();
            header
        }
    }

    proptest! {
        #[test]
        fn what_is_built_parses_back(header in header(), padding in 0usize..10) {
            let mut octets = vec![0u8; header.total_len() + padding];
            header.write(&mut octets).unwrap();
            prop_assert_eq!(Header::check(&octets), Ok(&header));
        }

        #[test]
        fn noise_is_refused_for_a_reason_that_holds(octets in proptest::collection::vec(any::<u8>(), 0..120), fix in any::<bool>()) {
            let mut octets = octets;
            if fix && !octets.is_empty() { octets[0] = 0x60 | octets[0] & 0x0f; }
            match Header::check(&octets) {
                Ok(header) => {
                    prop_assert!(header.total_len() <= octets.len());
                    let _ = upper_layer(&octets, header.next_header);
                    let mut out = [0u8; 40];
                    header.write(&mut out).unwrap();
                    prop_assert_eq!(&out[..], &octets[..40]);
                }
                Err(Ipv6Error::Truncated) => prop_assert!(octets.len() < 40),
                Err(Ipv6Error::Version) => prop_assert!(octets[0] >> 4 != 6),
                Err(Ipv6Error::Length) => prop_assert!(usize::from(u16::from_be_bytes([octets[4], octets[5]])) + 40 > octets.len()),
            }
        }

        #[test]
        fn too_short_to_read_and_too_small_to_write(header in header(), cut in 0usize..40) {
            let mut octets = vec![0u8; header.total_len()];
            header.write(&mut octets).unwrap();
            prop_assert_eq!(Header::check(&octets[..cut]), Err(Ipv6Error::Truncated));
            prop_assert_eq!(header.write(&mut octets[..cut]), Err(TooSmall));
        }

        #[test]
        fn the_walk_never_leaves_the_packet(octets in proptest::collection::vec(any::<u8>(), 0..200), next in prop_oneof![Just(0u8), Just(43), Just(44), Just(60), any::<u8>()]) {
            if let Some(upper) = upper_layer(&octets, next) {
                prop_assert!(upper.offset >= HEADER_LEN);
            }
        }
    }

    #[test]
    fn the_walk_passes_extension_headers_and_stops_at_later_fragments() {
        let mut octets = vec![0u8; 40];
        octets.extend([60, 0, 1, 4, 0, 0, 0, 0]); // hop-by-hop, then destination options
        octets.extend([44, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // destination options of 16 octets
        octets.extend([6, 0, 0, 1, 0, 0, 0, 9]); // first fragment, more follow
        assert_eq!(upper_layer(&octets, 0), Some(UpperLayer { protocol: 6, offset: 72 }));
        octets[67] = 0x08; // offset 1
        assert_eq!(upper_layer(&octets, 0), None);
        assert_eq!(upper_layer(&octets[..41], 0), None);
    }
}
