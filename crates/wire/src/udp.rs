//! The UDP header (RFC 768).

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::ether::TooSmall;

/// Octets of the header.
pub const HEADER_LEN: usize = 8;

/// The header, as it lies in the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Header {
    /// Source port.
    pub src_port: U16,
    /// Destination port.
    pub dst_port: U16,
    /// Octets of header and payload.
    pub len: U16,
    /// The checksum of pseudo-header and datagram; 0 for none over IPv4.
    pub checksum: U16,
}

impl Header {
    /// Reads the header at the front of `datagram` and returns it with the payload that its length gives. `None`
    /// where the datagram is shorter than a header or than the length says, or the length below 8.
    #[must_use]
    pub fn read(datagram: &[u8]) -> Option<(&Self, &[u8])> {
        let (header, rest) = Self::ref_from_prefix(datagram).ok()?;
        let payload = usize::from(header.len.get()).checked_sub(HEADER_LEN)?;
        Some((header, rest.get(..payload)?))
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

    proptest! {
        #[test]
        fn there_and_back(src: u16, dst: u16, checksum: u16, payload in proptest::collection::vec(any::<u8>(), 0..40), cut in 0usize..48) {
            let len = (payload.len() + 8) as u16;
            let header = Header { src_port: src.into(), dst_port: dst.into(), len: len.into(), checksum: checksum.into() };
            let mut octets = vec![0u8; 8];
            header.write(&mut octets).unwrap();
            octets.extend_from_slice(&payload);
            prop_assert_eq!(Header::read(&octets), Some((&header, &payload[..])));
            let cut = cut.min(octets.len() - 1);
            prop_assert_eq!(Header::read(&octets[..cut]), None);
            prop_assert_eq!(header.write(&mut octets[..cut.min(7)]), Err(TooSmall));
        }

        #[test]
        fn noise_is_refused_only_for_its_length(octets in proptest::collection::vec(any::<u8>(), 0..40)) {
            match Header::read(&octets) {
                Some((header, payload)) => prop_assert_eq!(usize::from(header.len.get()), payload.len() + 8),
                None if octets.len() < 8 => (),
                None => {
                    let len = usize::from(u16::from_be_bytes([octets[4], octets[5]]));
                    prop_assert!(len < 8 || len > octets.len());
                }
            }
        }
    }
}
