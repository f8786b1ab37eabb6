//! PPPoE: the six-octet header (RFC 2516 section 4), the discovery tags, and the access line's description in them.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  VER  | TYPE  |      CODE     |          SESSION_ID           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |            LENGTH             |           payload             ~
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

pub mod access_line;
pub mod tags;

use crate::SessionId;

pub use access_line::AccessLine;
pub use tags::{Tag, TagError, TagType, TagWriter, Tags};

/// EtherType of the discovery stage (RFC 2516 section 5).
pub const ETHERTYPE_DISCOVERY: u16 = 0x8863;
/// EtherType of the PPP session stage (RFC 2516 section 6).
pub const ETHERTYPE_SESSION: u16 = 0x8864;
/// Octets of the header in front of the payload.
pub const HEADER_LEN: usize = 6;
/// The only VER and TYPE there are, in one octet (RFC 2516 section 4).
pub const VER_TYPE: u8 = 0x11;
/// The largest Ethernet payload, hence the largest PPPoE packet of the discovery stage, header included.
pub const DISCOVERY_LEN_MAX: usize = 1500;
/// The largest PADI, header included: a relay must have room to add its tag (RFC 2516 section 5.1).
pub const PADI_LEN_MAX: usize = 1484;
/// The MRU that needs no agreement: 1500 less the PPPoE header and the PPP protocol number (RFC 2516 section 7).
pub const MRU_DEFAULT: u16 = 1492;
/// Octets that PPPoE adds to a PPP payload: its header and the PPP protocol number.
pub const OVERHEAD: u16 = 8;

/// The CODE field. Values without a name are kept as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub u8);

impl Code {
    /// Session stage data (RFC 2516 section 6).
    pub const SESSION: Self = Self(0x00);
    /// Active Discovery Offer (section 5.2).
    pub const PADO: Self = Self(0x07);
    /// Active Discovery Initiation (section 5.1).
    pub const PADI: Self = Self(0x09);
    /// Active Discovery Request (section 5.3).
    pub const PADR: Self = Self(0x19);
    /// Active Discovery Session-confirmation (section 5.4).
    pub const PADS: Self = Self(0x65);
    /// Active Discovery Terminate (section 5.5).
    pub const PADT: Self = Self(0xa7);
}

/// The header's fields, VER and TYPE checked and left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What kind of packet it is.
    pub code: Code,
    /// The session, 0 in discovery until there is one.
    pub session_id: SessionId,
    /// Octets of the payload, neither header counted (RFC 2516 section 4).
    pub length: u16,
}

/// Why octets are not a PPPoE packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// Fewer octets than a header has.
    #[error("{have} octets where a PPPoE header takes 6")]
    TooShort {
        /// Octets there are.
        have: usize,
    },
    /// VER or TYPE is not 1 (RFC 2516 section 4).
    #[error("VER/TYPE {found:#04x} where PPPoE has 0x11")]
    VersionOrType {
        /// The octet found.
        found: u8,
    },
    /// LENGTH counts more octets than there are.
    #[error("LENGTH {length} where {have} octets follow the header")]
    LengthBeyondFrame {
        /// The field's value.
        length: u16,
        /// Octets there are after the header.
        have: usize,
    },
}

/// There is no room for what should be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{need} octets needed, {have} there")]
pub struct NoRoom {
    /// Octets needed.
    pub need: usize,
    /// Octets there are.
    pub have: usize,
}

impl Header {
    /// Reads a header from the front of `bytes`; what follows it is not looked at.
    ///
    /// # Errors
    /// [`PacketError::TooShort`] and [`PacketError::VersionOrType`].
    pub fn read(bytes: &[u8]) -> Result<Self, PacketError> {
        let Some(&[ver_type, code, id_high, id_low, length_high, length_low]) = bytes.first_chunk::<HEADER_LEN>()
        else {
            return Err(PacketError::TooShort { have: bytes.len() });
        };
        // RFC 2516 section 4: VER and TYPE MUST be 0x1 each.
        if ver_type != VER_TYPE {
            return Err(PacketError::VersionOrType { found: ver_type });
        }
        Ok(Self {
            code: Code(code),
            session_id: SessionId(u16::from_be_bytes([id_high, id_low])),
            length: u16::from_be_bytes([length_high, length_low]),
        })
    }

    /// The header's octets.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; HEADER_LEN] {
        let [id_high, id_low] = self.session_id.0.to_be_bytes();
        let [length_high, length_low] = self.length.to_be_bytes();
        [VER_TYPE, self.code.0, id_high, id_low, length_high, length_low]
    }

    /// Writes the header to the front of `out`.
    ///
    /// # Errors
    /// [`NoRoom`] when `out` has fewer than six octets.
    pub fn write(self, out: &mut [u8]) -> Result<(), NoRoom> {
        let have = out.len();
        let front = out.first_chunk_mut::<HEADER_LEN>().ok_or(NoRoom { need: HEADER_LEN, have })?;
        *front = self.to_bytes();
        Ok(())
    }
}

/// A PPPoE packet: header, and exactly LENGTH octets of payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The header.
    pub header: Header,
    /// The payload. Octets after LENGTH are Ethernet padding and not part of it.
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the packet that starts at the front of `bytes`, which is the Ethernet payload.
    ///
    /// # Errors
    /// Any [`PacketError`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, PacketError> {
        let header = Header::read(bytes)?;
        let rest = bytes.get(HEADER_LEN..).unwrap_or_default();
        let payload = rest
            .get(..usize::from(header.length))
            .ok_or(PacketError::LengthBeyondFrame { length: header.length, have: rest.len() })?;
        Ok(Self { header, payload })
    }

    /// Octets of header and payload together, the figure that [`PADI_LEN_MAX`] limits.
    #[must_use]
    pub const fn len(&self) -> usize {
        HEADER_LEN.saturating_add(self.payload.len())
    }

    /// True where the payload is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.payload.is_empty()
    }

    /// The payload read as discovery tags.
    #[must_use]
    pub const fn tags(&self) -> Tags<'a> {
        Tags::new(self.payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_2516_appendix_b_reads() {
        let bytes = [0x11, 0x09, 0, 0, 0, 4, 1, 1, 0, 0];
        let packet = Packet::parse(&bytes).unwrap();
        assert_eq!(packet.header, Header { code: Code::PADI, session_id: SessionId(0), length: 4 });
        assert_eq!(packet.payload, &bytes[6..]);
        assert_eq!(packet.len(), 10);
    }

    #[test]
    fn padding_is_not_payload() {
        let bytes = [0x11, 0x00, 0, 1, 0, 2, 0xc0, 0x21, 0xaa, 0xaa];
        assert_eq!(Packet::parse(&bytes).unwrap().payload, &[0xc0, 0x21]);
    }

    #[test]
    fn each_error_has_its_cause() {
        for have in 0..HEADER_LEN {
            assert_eq!(Packet::parse(&[0x11, 9, 0, 0, 0, 0][..have]), Err(PacketError::TooShort { have }));
        }
        for found in (0..=0xff).filter(|octet| *octet != 0x11) {
            assert_eq!(Packet::parse(&[found, 9, 0, 0, 0, 0]), Err(PacketError::VersionOrType { found }));
        }
        let long = Packet::parse(&[0x11, 9, 0, 0, 1, 0, 1, 1, 0, 0]);
        assert_eq!(long, Err(PacketError::LengthBeyondFrame { length: 256, have: 4 }));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(code: u8, id: u16, length: u16) {
            let header = Header { code: Code(code), session_id: SessionId(id), length };
            let mut out = [0; HEADER_LEN];
            header.write(&mut out).unwrap();
            prop_assert_eq!(Header::read(&out), Ok(header));
            for have in 0..HEADER_LEN {
                prop_assert_eq!(header.write(&mut out[..have]), Err(NoRoom { need: HEADER_LEN, have }));
            }
        }

        #[test]
        fn what_is_read_is_written_back(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            match Packet::parse(&bytes) {
                Ok(packet) => {
                    prop_assert_eq!(&packet.header.to_bytes()[..], &bytes[..HEADER_LEN]);
                    prop_assert_eq!(packet.payload, &bytes[HEADER_LEN..packet.len()]);
                }
                Err(PacketError::TooShort { have }) => prop_assert!(have == bytes.len() && have < HEADER_LEN),
                Err(PacketError::VersionOrType { found }) => prop_assert!(found == bytes[0] && found != VER_TYPE),
                Err(PacketError::LengthBeyondFrame { length, have }) => {
                    prop_assert_eq!(have, bytes.len() - HEADER_LEN);
                    prop_assert!(usize::from(length) > have);
                }
            }
        }
    }
}
