//! Packets, read: a view over octets from outside, refused whole where a length is wrong.
//!
//! ```text
//!  0                   1                   2                   3
//! |     Code      |  Identifier   |            Length             |
//! |                   Authenticator (16 octets)                   |
//! |  Attributes: type, length (2 and more), value ...
//! ```

use crate::dictionary::{self, Kind, number};
use crate::error::PacketError;

/// Octets of code, identifier, length and authenticator.
pub const HEADER_OCTETS: usize = 20;
/// The most that Length may say (RFC 2865 section 3).
pub const PACKET_OCTETS_MAX: usize = 4096;

/// What a packet is (RFC 2865 section 3, RFC 2866 section 3, RFC 5997, RFC 5176 section 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub u8);

impl Code {
    /// Access-Request.
    pub const ACCESS_REQUEST: Self = Self(1);
    /// Access-Accept.
    pub const ACCESS_ACCEPT: Self = Self(2);
    /// Access-Reject.
    pub const ACCESS_REJECT: Self = Self(3);
    /// Accounting-Request.
    pub const ACCOUNTING_REQUEST: Self = Self(4);
    /// Accounting-Response.
    pub const ACCOUNTING_RESPONSE: Self = Self(5);
    /// Access-Challenge.
    pub const ACCESS_CHALLENGE: Self = Self(11);
    /// Status-Server.
    pub const STATUS_SERVER: Self = Self(12);
    /// Disconnect-Request.
    pub const DISCONNECT_REQUEST: Self = Self(40);
    /// Disconnect-ACK.
    pub const DISCONNECT_ACK: Self = Self(41);
    /// Disconnect-NAK.
    pub const DISCONNECT_NAK: Self = Self(42);
    /// CoA-Request.
    pub const COA_REQUEST: Self = Self(43);
    /// CoA-ACK.
    pub const COA_ACK: Self = Self(44);
    /// CoA-NAK.
    pub const COA_NAK: Self = Self(45);
}

/// An attribute as it stands in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its vendor, 0 for a standard attribute.
    pub vendor: u32,
    /// Its number.
    pub number: u8,
    /// Its value, without type and length.
    pub value: &'a [u8],
}

/// A packet whose every length is right. Octets behind Length are not part of it (RFC 2865 section 3: padding).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    code: Code,
    id: u8,
    authenticator: &'a [u8; 16],
    attributes: &'a [u8],
    octets: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads a datagram.
    ///
    /// # Errors
    ///
    /// [`PacketError`] but for `BadValue`: a length is wrong, the packet must be discarded.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, PacketError> {
        let (&[code, id, length_high, length_low], _) =
            datagram.split_first_chunk::<4>().ok_or(PacketError::Truncated)?;
        let length = usize::from(u16::from_be_bytes([length_high, length_low]));
        if length < HEADER_OCTETS {
            return Err(PacketError::LengthTooSmall);
        }
        if length > PACKET_OCTETS_MAX {
            return Err(PacketError::Oversized);
        }
        let octets = datagram.get(..length).ok_or(PacketError::Truncated)?;
        let authenticator = octets.get(4..).and_then(<[u8]>::first_chunk::<16>).ok_or(PacketError::Truncated)?;
        let attributes = octets.get(HEADER_OCTETS..).ok_or(PacketError::Truncated)?;
        let mut rest = attributes;
        while !rest.is_empty() {
            rest = split(rest).ok_or(PacketError::BadAttribute)?.1;
        }
        Ok(Self { code: Code(code), id, authenticator, attributes, octets })
    }

    /// Checks the value of every known attribute against its type, and the inside of every attribute of a known vendor.
    ///
    /// # Errors
    ///
    /// [`PacketError`]: the packet must be refused whole.
    pub fn validate(&self) -> Result<(), PacketError> {
        for attribute in self.attributes() {
            let Some(info) = dictionary::info(0, attribute.number) else { continue };
            let bad = |vendor, number| Err(PacketError::BadValue { vendor, number });
            if !info.kind.admits(attribute.value) {
                return bad(0, attribute.number);
            }
            if info.kind == Kind::Vendor
                && let Some((vendor, mut rest)) = vendor(attribute.value)
            {
                let known = dictionary::is_known_vendor(vendor);
                while known && !rest.is_empty() {
                    let (number, value, behind) = match split(rest) {
                        Some(((number, value), behind)) => (number, value, behind),
                        None => return bad(vendor, 0),
                    };
                    if dictionary::info(vendor, number).is_some_and(|info| !info.kind.admits(value)) {
                        return bad(vendor, number);
                    }
                    rest = behind;
                }
            }
        }
        Ok(())
    }

    /// What it is.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// Its Identifier.
    #[must_use]
    pub const fn id(&self) -> u8 {
        self.id
    }

    /// Its authenticator.
    #[must_use]
    pub const fn authenticator(&self) -> &'a [u8; 16] {
        self.authenticator
    }

    /// The whole packet, as long as Length says.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// The attributes as they stand, Vendor-Specific ones unopened.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute<'a>> + use<'a> {
        let mut rest = self.attributes;
        core::iter::from_fn(move || {
            let ((number, value), behind) = split(rest)?;
            rest = behind;
            Some(Attribute { vendor: 0, number, value })
        })
    }

    /// The attributes with Vendor-Specific ones opened, in order. One whose inside does not have the usual form gives
    /// those before the fault: [`Packet::validate`] has refused such a packet of a known vendor, and an unknown
    /// vendor's form is its own.
    pub fn flat(&self) -> impl Iterator<Item = Attribute<'a>> + use<'a> {
        self.attributes().flat_map(|attribute| {
            let inside = (attribute.number == number::VENDOR_SPECIFIC).then(|| vendor(attribute.value)).flatten();
            let (vendor, mut rest) = inside.unwrap_or((0, &[]));
            let mut itself = (attribute.number != number::VENDOR_SPECIFIC).then_some(attribute);
            core::iter::from_fn(move || {
                itself.take().or_else(|| {
                    let ((number, value), behind) = split(rest)?;
                    rest = behind;
                    Some(Attribute { vendor, number, value })
                })
            })
        })
    }

    /// The first standard attribute of that number.
    #[must_use]
    pub fn first(&self, number: u8) -> Option<&'a [u8]> {
        self.attributes().find(|attribute| attribute.number == number).map(|attribute| attribute.value)
    }

    /// Where the value of Message-Authenticator begins, from the packet's first octet on. `None`: there is none, or
    /// its length is wrong, or there are several (RFC 3579 section 3.2 allows one), which counts as none.
    #[must_use]
    pub fn message_authenticator_at(&self) -> Option<usize> {
        let mut found = None;
        let mut at = HEADER_OCTETS;
        for attribute in self.attributes() {
            if attribute.number == number::MESSAGE_AUTHENTICATOR {
                if found.is_some() || attribute.value.len() != 16 {
                    return None;
                }
                found = Some(at.saturating_add(2));
            }
            at = at.saturating_add(2).saturating_add(attribute.value.len());
        }
        found
    }

    /// An extended attribute put together from its pieces: `base` is 241 to 246, `number` the octet behind it. Long
    /// ones (245, 246) go on while the flag More is set (RFC 6929 section 2.2). `None`: not there, or the last piece
    /// is missing.
    #[must_use]
    pub fn extended(&self, base: u8, number: u8) -> Option<Vec<u8>> {
        let long = dictionary::info(0, base)?.kind == Kind::LongExtended;
        let mut whole = Vec::new();
        for piece in self.attributes().filter(|attribute| attribute.number == base) {
            let (first, rest) = piece.value.split_first()?;
            if *first != number {
                continue;
            }
            if !long {
                return Some(rest.to_vec());
            }
            let (flags, rest) = rest.split_first()?;
            whole.extend_from_slice(rest);
            if flags & 0x80 == 0 {
                return Some(whole);
            }
        }
        None
    }
}

/// Splits the first attribute off: number, value, and what is behind.
#[allow(clippy::type_complexity)]
fn split(octets: &[u8]) -> Option<((u8, &[u8]), &[u8])> {
    let (&[number, length], _) = octets.split_first_chunk::<2>()?;
    let value = octets.get(2..usize::from(length))?;
    Some(((number, value), octets.get(usize::from(length)..)?))
}

/// Vendor number and inside of a Vendor-Specific attribute's value.
fn vendor(value: &[u8]) -> Option<(u32, &[u8])> {
    let (vendor, rest) = value.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*vendor), rest))
}
