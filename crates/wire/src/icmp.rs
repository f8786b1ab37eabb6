//! ICMP (RFC 792) and ICMPv6 (RFC 4443): the common header, and the types a router cares for.
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |     Type      |     Code      |          Checksum             |
//! +---------------+---------------+-------------------------------+
//! |            depends on the type (MTU, identifier...)           |
//! +---------------------------------------------------------------+
//! ```

use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::ether::TooSmall;

/// Octets of the header.
pub const HEADER_LEN: usize = 8;

/// ICMP types.
pub mod kind4 {
    /// Echo reply.
    pub const ECHO_REPLY: u8 = 0;
    /// Destination unreachable.
    pub const UNREACHABLE: u8 = 3;
    /// Source quench, deprecated.
    pub const SOURCE_QUENCH: u8 = 4;
    /// Redirect.
    pub const REDIRECT: u8 = 5;
    /// Echo.
    pub const ECHO: u8 = 8;
    /// Time exceeded.
    pub const TIME_EXCEEDED: u8 = 11;
    /// Parameter problem.
    pub const PARAMETER_PROBLEM: u8 = 12;
}

/// Codes of ICMP type 3.
pub mod unreachable4 {
    /// Network unreachable.
    pub const NET: u8 = 0;
    /// Host unreachable.
    pub const HOST: u8 = 1;
    /// Protocol unreachable.
    pub const PROTOCOL: u8 = 2;
    /// Port unreachable.
    pub const PORT: u8 = 3;
    /// Fragmentation needed and DF set.
    pub const FRAGMENTATION_NEEDED: u8 = 4;
    /// Communication administratively prohibited (RFC 1812 section 5.2.7.1).
    pub const PROHIBITED: u8 = 13;
}

/// ICMPv6 types.
pub mod kind6 {
    /// Destination unreachable.
    pub const UNREACHABLE: u8 = 1;
    /// Packet too big.
    pub const TOO_BIG: u8 = 2;
    /// Time exceeded.
    pub const TIME_EXCEEDED: u8 = 3;
    /// Parameter problem.
    pub const PARAMETER_PROBLEM: u8 = 4;
    /// Echo request: the first of the informational types (128 and above).
    pub const ECHO: u8 = 128;
    /// Echo reply.
    pub const ECHO_REPLY: u8 = 129;
    /// Router solicitation (RFC 4861).
    pub const ROUTER_SOLICITATION: u8 = 133;
    /// Router advertisement.
    pub const ROUTER_ADVERTISEMENT: u8 = 134;
    /// Neighbour solicitation.
    pub const NEIGHBOUR_SOLICITATION: u8 = 135;
    /// Neighbour advertisement.
    pub const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
    /// Redirect.
    pub const REDIRECT: u8 = 137;
}

/// The first eight octets of any message of either version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Header {
    /// The type.
    pub kind: u8,
    /// The code.
    pub code: u8,
    /// The checksum; of ICMPv6, with the pseudo-header.
    pub checksum: U16,
    /// What the type makes of it.
    pub rest: U32,
}

impl Header {
    /// Reads the header at the front of `message`; `None` where it is shorter.
    #[must_use]
    pub fn read(message: &[u8]) -> Option<&Self> {
        Self::ref_from_prefix(message).ok().map(|(header, _)| header)
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

/// True for the ICMP types that report an error, about which no error is ever sent (RFC 1812 section 4.3.2.7).
#[must_use]
pub const fn is_error4(kind: u8) -> bool {
    matches!(
        kind,
        kind4::UNREACHABLE | kind4::SOURCE_QUENCH | kind4::REDIRECT | kind4::TIME_EXCEEDED | kind4::PARAMETER_PROBLEM
    )
}

/// True for the ICMPv6 types about which no error is ever sent: errors, and redirects (RFC 4443 section 2.4 e).
#[must_use]
pub const fn is_error6(kind: u8) -> bool {
    kind < 128 || kind == kind6::REDIRECT
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn there_and_back(octets in proptest::collection::vec(any::<u8>(), 0..40)) {
            match Header::read(&octets) {
                Some(header) => {
                    let mut out = [0u8; 8];
                    header.write(&mut out).unwrap();
                    prop_assert_eq!(&out[..], &octets[..8]);
                    prop_assert_eq!(header.write(&mut out[..7]), Err(TooSmall));
                }
                None => prop_assert!(octets.len() < 8),
            }
        }
    }

    #[test]
    fn errors_are_told_from_queries() {
        assert!([3, 4, 5, 11, 12].into_iter().all(is_error4));
        assert!([0, 8, 13, 14].into_iter().all(|kind| !is_error4(kind)));
        assert!([1, 2, 3, 4, 100, 137].into_iter().all(is_error6));
        assert!([128, 129, 133, 135].into_iter().all(|kind| !is_error6(kind)));
    }
}
