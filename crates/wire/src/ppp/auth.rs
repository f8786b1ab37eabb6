//! The fields of PAP (RFC 1334 section 2.2) and CHAP packets (RFC 1994 section 4). Code, identifier and length are
//! those of [`super::Packet`].

use super::packet::{PacketBuilder, TooLong};

/// Code numbers of PAP.
pub mod pap_code {
    /// Authenticate-Request.
    pub const REQUEST: u8 = 1;
    /// Authenticate-Ack.
    pub const ACK: u8 = 2;
    /// Authenticate-Nak.
    pub const NAK: u8 = 3;
}

/// Code numbers of CHAP.
pub mod chap_code {
    /// Challenge.
    pub const CHALLENGE: u8 = 1;
    /// Response.
    pub const RESPONSE: u8 = 2;
    /// Success.
    pub const SUCCESS: u8 = 3;
    /// Failure.
    pub const FAILURE: u8 = 4;
}

/// Algorithm numbers in CHAP's Authentication-Protocol option (RFC 1994 section 3, IANA "PPP Authentication
/// Algorithms").
pub mod chap_algorithm {
    /// CHAP with MD5.
    pub const MD5: u8 = 5;
    /// MS-CHAP (RFC 2433).
    pub const MS_CHAP_V1: u8 = 0x80;
    /// MS-CHAP-2 (RFC 2759).
    pub const MS_CHAP_V2: u8 = 0x81;
}

/// A length octet leads past the end of the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a field claims {claimed} octets, {available} are left")]
pub struct FieldError {
    /// Octets that the field needs, 1 for a missing length octet.
    pub claimed: usize,
    /// Octets that are left.
    pub available: usize,
}

/// Splits a field with a leading length octet off.
fn counted(octets: &[u8]) -> Result<(&[u8], &[u8]), FieldError> {
    let Some((&length, rest)) = octets.split_first() else {
        return Err(FieldError { claimed: 1, available: 0 });
    };
    rest.split_at_checked(usize::from(length)).ok_or(FieldError { claimed: usize::from(length), available: rest.len() })
}

/// Appends a field with a leading length octet, cut to 255 octets and to the room there is.
fn put_counted_cut(builder: &mut PacketBuilder, field: &[u8]) -> Result<(), TooLong> {
    let length = u8::try_from(field.len()).unwrap_or(u8::MAX);
    builder.bytes(&[length])?.bytes(field.get(..usize::from(length)).unwrap_or(field))?;
    Ok(())
}

/// The data of a PAP Authenticate-Request. Octets behind the password are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PapRequest<'a> {
    /// Peer-ID, 0 to 255 octets.
    pub name: &'a [u8],
    /// Password, 0 to 255 octets.
    pub password: &'a [u8],
}

impl<'a> PapRequest<'a> {
    /// Reads the data of an Authenticate-Request.
    ///
    /// # Errors
    /// [`FieldError`]: a length octet leads past the end.
    pub fn parse(data: &'a [u8]) -> Result<Self, FieldError> {
        let (name, rest) = counted(data)?;
        let (password, _) = counted(rest)?;
        Ok(Self { name, password })
    }

    /// Writes the data; each field is cut to 255 octets.
    ///
    /// # Errors
    /// [`TooLong`]: it does not fit.
    pub fn emit(self, builder: &mut PacketBuilder) -> Result<(), TooLong> {
        put_counted_cut(builder, self.name)?;
        put_counted_cut(builder, self.password)
    }
}

/// The data of a PAP Authenticate-Ack or Authenticate-Nak: a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PapReply<'a> {
    /// Message, 0 to 255 octets.
    pub message: &'a [u8],
}

impl<'a> PapReply<'a> {
    /// Reads the data of an Ack or Nak. A missing length octet counts as an empty message, which some send.
    ///
    /// # Errors
    /// [`FieldError`]: the length octet leads past the end.
    pub fn parse(data: &'a [u8]) -> Result<Self, FieldError> {
        if data.is_empty() {
            return Ok(Self { message: &[] });
        }
        counted(data).map(|(message, _)| Self { message })
    }

    /// Writes the data; the message is cut to 255 octets.
    ///
    /// # Errors
    /// [`TooLong`]: it does not fit.
    pub fn emit(self, builder: &mut PacketBuilder) -> Result<(), TooLong> {
        put_counted_cut(builder, self.message)
    }
}

/// The data of a CHAP Challenge or Response: a value, then the sender's name up to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChapValue<'a> {
    /// Value, 1 to 255 octets (an empty one parses; its receiver refuses it).
    pub value: &'a [u8],
    /// Name of the sender.
    pub name: &'a [u8],
}

impl<'a> ChapValue<'a> {
    /// Reads the data of a Challenge or Response.
    ///
    /// # Errors
    /// [`FieldError`]: the value leads past the end.
    pub fn parse(data: &'a [u8]) -> Result<Self, FieldError> {
        let (value, name) = counted(data)?;
        Ok(Self { value, name })
    }

    /// Writes the data; the value is cut to 255 octets.
    ///
    /// # Errors
    /// [`TooLong`]: it does not fit.
    pub fn emit(self, builder: &mut PacketBuilder) -> Result<(), TooLong> {
        put_counted_cut(builder, self.value)?;
        builder.bytes(self.name)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn data(write: impl FnOnce(&mut PacketBuilder) -> Result<(), TooLong>) -> Vec<u8> {
        let mut builder = PacketBuilder::new(1, 1, 1492);
        write(&mut builder).unwrap();
        builder.finish().split_off(4)
    }

    #[test]
    fn p28_peer_id_length_past_the_end_is_an_error() {
        let octets = [0xff, 0x75, 0x73, 0x65, 0x72, 0x31, 5, 0x70, 0x61, 0x73, 0x73, 0x31];
        assert_eq!(PapRequest::parse(&octets), Err(FieldError { claimed: 255, available: 11 }));
        assert_eq!(PapRequest::parse(&[0]), Err(FieldError { claimed: 1, available: 0 }));
        assert_eq!(PapRequest::parse(&[0, 2, 0x70, 0x77]), Ok(PapRequest { name: b"", password: b"pw" }));
    }

    #[test]
    fn overlong_fields_are_cut_to_what_their_length_octet_can_say() {
        let long = [7u8; 300];
        let octets = data(|builder| PapReply { message: &long }.emit(builder));
        assert_eq!(octets.len(), 256);
        assert_eq!(PapReply::parse(&octets), Ok(PapReply { message: &long[..255] }));
    }

    #[test]
    fn too_small_to_write_is_an_error() {
        let request = PapRequest { name: b"user1", password: b"pass1" };
        for limit in 4..16 {
            assert!(request.emit(&mut PacketBuilder::new(1, 1, limit)).is_err(), "{limit}");
        }
        assert!(request.emit(&mut PacketBuilder::new(1, 1, 16)).is_ok());
    }

    proptest! {
        #[test]
        fn what_is_built_parses_back(
            first in proptest::collection::vec(any::<u8>(), 0..256), second in proptest::collection::vec(any::<u8>(), 0..256)
        ) {
            let request = PapRequest { name: &first, password: &second };
            let octets = data(|builder| request.emit(builder));
            prop_assert_eq!(PapRequest::parse(&octets), Ok(request));
            let reply = PapReply { message: &first };
            let octets = data(|builder| reply.emit(builder));
            prop_assert_eq!(PapReply::parse(&octets), Ok(reply));
            let value = ChapValue { value: &first, name: &second };
            let octets = data(|builder| value.emit(builder));
            prop_assert_eq!(ChapValue::parse(&octets), Ok(value));
        }

        #[test]
        fn each_error_on_noise_is_justified(octets in proptest::collection::vec(0u8..12, 0..24)) {
            for error in [
                PapRequest::parse(&octets).err(),
                PapReply::parse(&octets).err(),
                ChapValue::parse(&octets).err(),
            ].into_iter().flatten() {
                prop_assert!(error.claimed > error.available);
                prop_assert!(error.available < octets.len().max(1));
            }
            if let Ok(value) = ChapValue::parse(&octets) {
                prop_assert_eq!(data(|builder| value.emit(builder)), octets);
            }
        }
    }
}
