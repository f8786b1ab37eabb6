//! The IPv4 header (RFC 791 section 3.1), with the checks of RFC 1812 section 5.2.2.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------+-------+---------------+-------------------------------+
//! |Version|  IHL  |Type of Service|          Total Length         |
//! +-------+-------+---------------+-----+-------------------------+
//! |         Identification        |Flags|      Fragment Offset    |
//! +---------------+---------------+-----+-------------------------+
//! |  Time to Live |    Protocol   |         Header Checksum       |
//! +---------------+---------------+-------------------------------+
//! |                       Source Address                          |
//! +---------------------------------------------------------------+
//! |                    Destination Address                        |
//! +---------------------------------------------------------------+
//! ```

use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::checksum;
use crate::ether::TooSmall;

/// Octets of a header without options.
pub const HEADER_LEN: usize = 20;
/// "Don't fragment", in [`Header::fragment`].
pub const DONT_FRAGMENT: u16 = 0x4000;
/// "More fragments", in [`Header::fragment`].
pub const MORE_FRAGMENTS: u16 = 0x2000;
/// The fragment offset in units of 8 octets, in [`Header::fragment`].
pub const FRAGMENT_OFFSET: u16 = 0x1fff;

/// IP protocol numbers, of IPv4 and IPv6.
pub mod protocol {
    /// ICMP.
    pub const ICMP: u8 = 1;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// ICMPv6.
    pub const ICMPV6: u8 = 58;
}

/// The fixed part of the header, as it lies in the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Header {
    /// Version (4 bits) and header length in words of 4 octets (4 bits).
    pub version_ihl: u8,
    /// Type of service: DSCP (6 bits) and ECN (2 bits).
    pub tos: u8,
    /// Octets of header and payload.
    pub total_len: U16,
    /// Which fragments belong together.
    pub identification: U16,
    /// Flags (3 bits) and fragment offset (13 bits).
    pub fragment: U16,
    /// Hops left.
    pub ttl: u8,
    /// The protocol of the payload.
    pub protocol: u8,
    /// The checksum of the header.
    pub checksum: U16,
    /// The source address.
    pub src: U32,
    /// The destination address.
    pub dst: U32,
}

/// What is wrong with a packet's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ipv4Error {
    /// Shorter than a header.
    #[error("the packet is shorter than an IPv4 header")]
    Truncated,
    /// The version is not 4.
    #[error("the version is not 4")]
    Version,
    /// The header length is below 20 octets or beyond the packet.
    #[error("the header length is below 20 octets or beyond the packet")]
    HeaderLength,
    /// The total length is below the header length or beyond the packet.
    #[error("the total length is below the header length or beyond the packet")]
    Length,
    /// The header checksum is wrong.
    #[error("the header checksum is wrong")]
    Checksum,
}

impl Header {
    /// Reads and checks the header at the front of `packet`, which may be longer than the total length says (link
    /// padding). The checks are those of RFC 1812 section 5.2.2, in its order but that the cheap ones come first.
    ///
    /// # Errors
    /// [`Ipv4Error`].
    #[inline]
    pub fn check(packet: &[u8]) -> Result<&Self, Ipv4Error> {
        let octets = packet.first_chunk::<HEADER_LEN>().ok_or(Ipv4Error::Truncated)?;
        let header: &Self = zerocopy::transmute_ref!(octets);
        if header.version_ihl == 0x45 {
            // Nearly every packet: no options.
            if usize::from(header.total_len.get()) > packet.len() || header.total_len.get() < HEADER_LEN as u16 {
                return Err(Ipv4Error::Length);
            }
            return if checksum::is_valid_20(octets) { Ok(header) } else { Err(Ipv4Error::Checksum) };
        }
        header.check_with_options(packet)
    }

    #[cold]
    fn check_with_options<'a>(&'a self, packet: &[u8]) -> Result<&'a Self, Ipv4Error> {
        if self.version_ihl >> 4 != 4 {
            return Err(Ipv4Error::Version);
        }
        if self.header_len() < HEADER_LEN {
            return Err(Ipv4Error::HeaderLength);
        }
        let whole = packet.get(..self.header_len()).ok_or(Ipv4Error::HeaderLength)?;
        let total = usize::from(self.total_len.get());
        if total < self.header_len() || total > packet.len() {
            return Err(Ipv4Error::Length);
        }
        if checksum::is_valid(whole) { Ok(self) } else { Err(Ipv4Error::Checksum) }
    }

    /// Octets of the header, options included.
    #[inline]
    #[must_use]
    pub const fn header_len(&self) -> usize {
        ((self.version_ihl & 0x0f) as usize).wrapping_mul(4)
    }

    /// True for a fragment that is not the first: its payload does not begin with a transport header.
    #[inline]
    #[must_use]
    pub const fn is_later_fragment(&self) -> bool {
        self.fragment.get() & FRAGMENT_OFFSET != 0
    }

    /// True where a router must not fragment the packet.
    #[must_use]
    pub const fn dont_fragment(&self) -> bool {
        self.fragment.get() & DONT_FRAGMENT != 0
    }

    /// A header without options, its checksum set. `payload_len` is cut to what 16 bits hold.
    #[must_use]
    pub fn new(src: u32, dst: u32, protocol: u8, ttl: u8, payload_len: usize) -> Self {
        let total = u16::try_from(payload_len.saturating_add(HEADER_LEN)).unwrap_or(u16::MAX);
        let mut header = Self {
            version_ihl: 0x45,
            tos: 0,
            total_len: total.into(),
            identification: 0.into(),
            fragment: 0.into(),
            ttl,
            protocol,
            checksum: 0.into(),
            src: src.into(),
            dst: dst.into(),
        };
        header.seal();
        header
    }

    /// Sets the checksum of a header without options.
    pub fn seal(&mut self) {
        self.checksum.set(0);
        self.checksum.set(checksum::checksum(self.as_bytes()));
    }

    /// Takes one off the time to live and brings the checksum up to date (RFC 1624). The time to live must not be 0.
    #[inline]
    pub fn decrement_ttl(&mut self) {
        let Some(ttl) = self.ttl.checked_sub(1) else { return };
        self.ttl = ttl;
        // RFC 1624 equation 3, HC' = ~(~HC + ~m + m'), with m' = m - 0x0100: the two constants make 0xfeff, and one
        // fold is enough for two summands. The sum does not care for the order of octets (RFC 1071 section 2 B), so
        // that the words are taken as they lie in memory.
        let sum = u32::from(!u16::from_ne_bytes(self.checksum.to_bytes()))
            .wrapping_add(u32::from(u16::from_ne_bytes([0xfe, 0xff])));
        let folded = (sum as u16).wrapping_add((sum >> 16) as u16);
        self.checksum = U16::from_bytes((!folded).to_ne_bytes());
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn header()(src: u32, dst: u32, protocol: u8, ttl: u8, payload in 0usize..1500, tos: u8, id: u16, fragment: u16) -> Header {
            let mut header = Header::new(src, dst, protocol, ttl, payload);
            header.tos = tos;
            header.identification = id.into();
            header.fragment = fragment.into();
            header.seal();
            header
        }
    }

    fn packet(header: &Header) -> Vec<u8> {
        let mut packet = vec![0u8; usize::from(header.total_len.get())];
        header.write(&mut packet).unwrap();
        packet
    }

    proptest! {
        #[test]
        fn what_is_built_parses_back(header in header(), padding in 0usize..10) {
            let mut octets = packet(&header);
            octets.extend(vec![0xaa; padding]);
            prop_assert_eq!(Header::check(&octets), Ok(&header));
        }

        #[test]
        fn noise_is_refused_for_a_reason_that_holds(octets in proptest::collection::vec(any::<u8>(), 0..80), fix in any::<bool>()) {
            let mut octets = octets;
            if fix && !octets.is_empty() { octets[0] = 0x40 | octets[0] & 0x0f; }
            match Header::check(&octets) {
                Ok(header) => {
                    let ihl = header.header_len();
                    prop_assert!(octets[0] >> 4 == 4 && ihl >= 20);
                    prop_assert!(ihl <= usize::from(header.total_len.get()) && usize::from(header.total_len.get()) <= octets.len());
                    prop_assert!(checksum::is_valid(&octets[..ihl]));
                }
                Err(Ipv4Error::Truncated) => prop_assert!(octets.len() < 20),
                Err(Ipv4Error::Version) => prop_assert!(octets[0] >> 4 != 4),
                Err(Ipv4Error::HeaderLength) => prop_assert!(octets[0] & 15 < 5 || usize::from(octets[0] & 15) * 4 > octets.len()),
                Err(Ipv4Error::Length) => {
                    let total = usize::from(u16::from_be_bytes([octets[2], octets[3]]));
                    prop_assert!(total > octets.len() || total < usize::from(octets[0] & 15) * 4);
                }
                Err(Ipv4Error::Checksum) => prop_assert!(!checksum::is_valid(&octets[..usize::from(octets[0] & 15) * 4])),
            }
        }

        #[test]
        fn too_short_to_read_and_too_small_to_write(header in header(), cut in 0usize..20) {
            let mut octets = packet(&header);
            prop_assert_eq!(Header::check(&octets[..cut]), Err(Ipv4Error::Truncated));
            prop_assert_eq!(header.write(&mut octets[..cut]), Err(TooSmall));
        }

        #[test]
        fn one_bit_flipped_is_noticed(header in header(), bit in 0usize..160) {
            let mut octets = packet(&header);
            octets[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Header::check(&octets).is_err());
        }

        #[test]
        fn a_hop_keeps_the_checksum_right(header in header()) {
            prop_assume!(header.ttl > 0);
            let mut after = header;
            after.decrement_ttl();
            let mut expected = after;
            expected.seal();
            prop_assert_eq!(after.ttl, header.ttl - 1);
            prop_assert_eq!(after, expected);
        }
    }

    #[test]
    fn options_are_covered_by_the_checksum() {
        let mut octets = vec![0u8; 24];
        let mut header = Header::new(0xc000_0201, 0xc633_6401, 17, 64, 4);
        header.version_ihl = 0x46;
        header.checksum.set(0);
        header.write(&mut octets).unwrap();
        octets[20..].copy_from_slice(&[148, 4, 0, 0]);
        let sum = checksum::checksum(&octets);
        octets[10..12].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(Header::check(&octets).map(Header::header_len), Ok(24));
        octets[23] = 1;
        assert_eq!(Header::check(&octets), Err(Ipv4Error::Checksum));
    }
}
