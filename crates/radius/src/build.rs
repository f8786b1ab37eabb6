//! Packets, written.

use core::net::{Ipv4Addr, Ipv6Addr};

use zeroize::Zeroize;

use crate::authenticator::{accounting_authenticator, hide_password, message_authenticator, response_authenticator};
use crate::dictionary::number;
use crate::packet::{Code, HEADER_OCTETS, PACKET_OCTETS_MAX};
use crate::secret::Secret;

/// Octets that a list of attributes may have: a packet without its header, Message-Authenticator, Acct-Delay-Time and a
/// User-Password of 128 octets.
pub const LIST_OCTETS_MAX: usize = PACKET_OCTETS_MAX - HEADER_OCTETS - 18 - 6 - 130;
/// Octets of an attribute's value at most (RFC 2865 section 5).
pub const VALUE_OCTETS_MAX: usize = 253;

/// An attribute that was not added: its value is empty or too long, or the list is full. The list is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("empty, longer than an attribute may be, or the packet is full")]
pub struct DoesNotFit;

/// A list of attributes in the octets that go on the wire.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AttributeList(Vec<u8>);

impl core::fmt::Debug for AttributeList {
    // CHAP responses are in here: not for logs.
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(out, "AttributeList({} octets)", self.0.len())
    }
}

impl AttributeList {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The octets.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.0
    }

    /// Takes octets that were a list's before. `None`: they are not a list of attributes.
    #[must_use]
    pub fn from_octets(octets: &[u8]) -> Option<Self> {
        let mut rest = octets;
        while let Some((&length, _)) = rest.get(1..).and_then(<[u8]>::split_first) {
            if length < 2 {
                return None;
            }
            rest = rest.get(usize::from(length)..)?;
        }
        (rest.is_empty() && octets.len() <= LIST_OCTETS_MAX).then(|| Self(octets.to_vec()))
    }

    fn room(&self, octets: usize) -> Result<(), DoesNotFit> {
        if self.0.len().saturating_add(octets) > LIST_OCTETS_MAX { Err(DoesNotFit) } else { Ok(()) }
    }

    /// Adds all of another list.
    ///
    /// # Errors
    ///
    /// [`DoesNotFit`]: no room for it.
    pub fn append(&mut self, other: &Self) -> Result<(), DoesNotFit> {
        self.room(other.0.len())?;
        self.0.extend_from_slice(&other.0);
        Ok(())
    }

    /// Adds a standard attribute.
    ///
    /// # Errors
    ///
    /// [`DoesNotFit`]: the value is not 1 to 253 octets, or the list is full.
    pub fn push(&mut self, number: u8, value: &[u8]) -> Result<(), DoesNotFit> {
        if value.is_empty() || value.len() > VALUE_OCTETS_MAX {
            return Err(DoesNotFit);
        }
        let length = value.len().saturating_add(2);
        self.room(length)?;
        self.0.extend_from_slice(&[number, u8::try_from(length).map_err(|_| DoesNotFit)?]);
        self.0.extend_from_slice(value);
        Ok(())
    }

    /// Adds a 32-bit number.
    ///
    /// # Errors
    ///
    /// [`DoesNotFit`]: the list is full.
    pub fn push_integer(&mut self, number: u8, value: u32) -> Result<(), DoesNotFit> {
        self.push(number, &value.to_be_bytes())
    }

    /// Adds an IPv4 address.
    ///
    /// # Errors
    ///
    /// [`DoesNotFit`]: the list is full.
    pub fn push_ipv4(&mut self, number: u8, value: Ipv4Addr) -> Result<(), DoesNotFit> {
        self.push(number, &value.octets())
    }

    /// Adds an IPv6 address.
    ///
    /// # Errors
    ///
    /// [`DoesNotFit`]: the list is full.
    pub fn push_ipv6(&mut self, number: u8, value: Ipv6Addr) -> Result<(), DoesNotFit> {
        self.push(number, &value.octets())
    }

    /// Adds an IPv6 prefix.
    ///
    /// # Errors
    ///
    /// [`DoesNotFit`]: the list is full.
    pub fn push_ipv6_prefix(&mut self, number: u8, prefix: Ipv6Addr, length: u8) -> Result<(), DoesNotFit> {
        self.push(number, &crate::value::ipv6_prefix_octets(prefix, length))
    }

    /// Adds a vendor's attribute in a Vendor-Specific of its own (RFC 2865 section 5.26).
    ///
    /// # Errors
    ///
    /// [`DoesNotFit`]: the value is not 1 to 247 octets, or the list is full.
    pub fn push_vendor(&mut self, vendor: u32, vendor_number: u8, value: &[u8]) -> Result<(), DoesNotFit> {
        let outer = u8::try_from(value.len().saturating_add(8)).map_err(|_| DoesNotFit)?;
        if value.is_empty() {
            return Err(DoesNotFit);
        }
        self.room(usize::from(outer))?;
        self.0.extend_from_slice(&[number::VENDOR_SPECIFIC, outer]);
        self.0.extend_from_slice(&vendor.to_be_bytes());
        self.0.extend_from_slice(&[vendor_number, outer.saturating_sub(6)]);
        self.0.extend_from_slice(value);
        Ok(())
    }

    /// Adds a long extended attribute in as many pieces as it needs (RFC 6929 section 2.2); `base` is 245 or 246.
    ///
    /// # Errors
    ///
    /// [`DoesNotFit`]: the value is empty, or the list has no room for it; nothing was added.
    pub fn push_long(&mut self, base: u8, extended_number: u8, value: &[u8]) -> Result<(), DoesNotFit> {
        const PIECE: usize = VALUE_OCTETS_MAX - 2;
        let pieces = value.len().div_ceil(PIECE);
        if value.is_empty() {
            return Err(DoesNotFit);
        }
        self.room(value.len().saturating_add(pieces.saturating_mul(4)))?;
        let mut pieces = value.chunks(PIECE).peekable();
        while let Some(piece) = pieces.next() {
            let more = if pieces.peek().is_some() { 0x80 } else { 0 };
            self.push(base, &[&[extended_number, more], piece].concat())?;
        }
        Ok(())
    }
}

/// What [`encode_request`] is to write.
#[derive(Debug, Clone, Copy)]
pub struct RequestParts<'a> {
    /// Access-Request, Accounting-Request, Status-Server, CoA-Request or Disconnect-Request.
    pub code: Code,
    /// Identifier.
    pub id: u8,
    /// Random octets; not used for codes whose authenticator is a digest.
    pub authenticator: [u8; 16],
    /// Whether Message-Authenticator stands first.
    pub message_authenticator: bool,
    /// The attributes.
    pub attributes: &'a AttributeList,
    /// A password to send as User-Password, hidden; 0 to 128 octets.
    pub password: Option<&'a Secret>,
    /// Acct-Delay-Time in seconds, if it is to be sent.
    pub delay_s: Option<u32>,
}

/// Writes a request and gives its authenticator beside it.
///
/// # Errors
///
/// [`DoesNotFit`]: the password is longer than 128 octets.
pub fn encode_request(parts: RequestParts<'_>, secret: &Secret) -> Result<(Vec<u8>, [u8; 16]), DoesNotFit> {
    let mut octets = Vec::with_capacity(parts.attributes.0.len().saturating_add(HEADER_OCTETS + 18 + 6 + 130));
    let random = matches!(parts.code, Code::ACCESS_REQUEST | Code::STATUS_SERVER);
    // RFC 2866 section 3 and RFC 5176 section 2.3: the digest is taken over 16 zero octets in its own place.
    let authenticator = if random { parts.authenticator } else { [0; 16] };
    header(&mut octets, parts.code, parts.id, &authenticator);
    if parts.message_authenticator {
        octets.extend_from_slice(&[number::MESSAGE_AUTHENTICATOR, 18]);
        octets.extend_from_slice(&[0; 16]);
    }
    octets.extend_from_slice(&parts.attributes.0);
    if let Some(password) = parts.password {
        let mut hidden = hide_password(password, &authenticator, secret).ok_or(DoesNotFit)?;
        let length = u8::try_from(hidden.len().saturating_add(2)).map_err(|_| DoesNotFit)?;
        octets.extend_from_slice(&[number::USER_PASSWORD, length]);
        octets.extend_from_slice(&hidden);
        hidden.zeroize();
    }
    if let Some(delay) = parts.delay_s {
        octets.extend_from_slice(&[number::ACCT_DELAY_TIME, 6]);
        octets.extend_from_slice(&delay.to_be_bytes());
    }
    set_length(&mut octets)?;
    if parts.message_authenticator {
        let digest = message_authenticator(&octets, &authenticator, HEADER_OCTETS + 2, secret);
        patch(&mut octets, HEADER_OCTETS + 2, &digest);
    }
    if random {
        return Ok((octets, authenticator));
    }
    let digest = accounting_authenticator(&octets, secret);
    patch(&mut octets, 4, &digest);
    Ok((octets, digest))
}

/// Writes a reply to the request whose authenticator is given, with Message-Authenticator first if asked for.
///
/// # Errors
///
/// [`DoesNotFit`]: never, since a list always fits.
pub fn encode_reply(
    code: Code,
    id: u8,
    request_authenticator: &[u8; 16],
    with_message_authenticator: bool,
    attributes: &AttributeList,
    secret: &Secret,
) -> Result<Vec<u8>, DoesNotFit> {
    let mut octets = Vec::with_capacity(attributes.0.len().saturating_add(HEADER_OCTETS + 18));
    header(&mut octets, code, id, request_authenticator);
    if with_message_authenticator {
        octets.extend_from_slice(&[number::MESSAGE_AUTHENTICATOR, 18]);
        octets.extend_from_slice(&[0; 16]);
    }
    octets.extend_from_slice(&attributes.0);
    set_length(&mut octets)?;
    if with_message_authenticator {
        let digest = message_authenticator(&octets, request_authenticator, HEADER_OCTETS + 2, secret);
        patch(&mut octets, HEADER_OCTETS + 2, &digest);
    }
    let digest = response_authenticator(&octets, request_authenticator, secret);
    patch(&mut octets, 4, &digest);
    Ok(octets)
}

fn header(octets: &mut Vec<u8>, code: Code, id: u8, authenticator: &[u8; 16]) {
    octets.extend_from_slice(&[code.0, id, 0, 0]);
    octets.extend_from_slice(authenticator);
}

fn set_length(octets: &mut [u8]) -> Result<(), DoesNotFit> {
    if octets.len() > PACKET_OCTETS_MAX {
        return Err(DoesNotFit);
    }
    let length = u16::try_from(octets.len()).map_err(|_| DoesNotFit)?;
    patch(octets, 2, &length.to_be_bytes());
    Ok(())
}

fn patch(octets: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = octets.get_mut(at..at.saturating_add(value.len())) {
        place.copy_from_slice(value);
    }
}
