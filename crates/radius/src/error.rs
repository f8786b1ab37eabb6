//! Why a packet was not taken.

/// What is wrong with a packet's form. Such a packet is refused whole: none of its attributes is looked at
/// (RFC 2865 sections 3 and 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum PacketError {
    /// Fewer than 20 octets, or fewer than Length says.
    #[error("shorter than its header or its Length")]
    Truncated,
    /// Length is below 20.
    #[error("Length below 20")]
    LengthTooSmall,
    /// Length is above 4096.
    #[error("Length above 4096")]
    Oversized,
    /// An attribute's length is 0 or 1, or it runs past the end.
    #[error("an attribute's length is wrong")]
    BadAttribute,
    /// A value of a known attribute has a length or a content that the attribute cannot have.
    #[error("vendor {vendor} attribute {number}: not a value of its type")]
    BadValue {
        /// Vendor, 0 for a standard attribute.
        vendor: u32,
        /// Attribute number.
        number: u8,
    },
}

/// Why a datagram was thrown away. It has changed nothing but its counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum Discard {
    /// It came from another address or port than the server's (RFC 2865 section 3: the source decides on the secret).
    #[error("not from the server's address and port")]
    WrongSource,
    /// Cut short, or shorter than its header.
    #[error("truncated")]
    Truncated,
    /// Its Length is above 4096.
    #[error("longer than a packet may be")]
    Oversized,
    /// Its Length or an attribute's length is wrong, or a known attribute has a value that it cannot have.
    #[error("malformed")]
    Malformed,
    /// No request is outstanding with its Identifier: late, repeated or made up.
    #[error("no request with this Identifier")]
    UnknownIdentifier,
    /// A code that does not answer the request.
    #[error("a code that is no answer to the request")]
    UnexpectedCode,
    /// The authenticator is wrong: forged, or the secrets differ.
    #[error("wrong authenticator: forged, or the two secrets differ")]
    BadAuthenticator,
    /// Message-Authenticator is wrong.
    #[error("wrong Message-Authenticator: forged, or the two secrets differ")]
    BadMessageAuthenticator,
    /// Message-Authenticator is required and missing (CVE-2024-3596).
    #[error(
        "no Message-Authenticator: let the server add it to every reply, or set require_message_authenticator to \
         false for this server"
    )]
    NoMessageAuthenticator,
    /// Event-Timestamp lies outside the window, or is missing where it is required (RFC 5176 section 6.3).
    #[error("Event-Timestamp missing or outside the window")]
    StaleTimestamp,
    /// A repetition of a request whose answer is still being made.
    #[error("repetition of a request that is being worked on")]
    Repeated,
    /// More requests at once than are taken.
    #[error("too many requests at once")]
    Busy,
}

impl Discard {
    /// All reasons, for counters.
    pub const ALL: [Self; 12] = [
        Self::WrongSource,
        Self::Truncated,
        Self::Oversized,
        Self::Malformed,
        Self::UnknownIdentifier,
        Self::UnexpectedCode,
        Self::BadAuthenticator,
        Self::BadMessageAuthenticator,
        Self::NoMessageAuthenticator,
        Self::StaleTimestamp,
        Self::Repeated,
        Self::Busy,
    ];

    /// The label of its counter.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::WrongSource => "wrong_source",
            Self::Truncated => "truncated",
            Self::Oversized => "oversized",
            Self::Malformed => "malformed",
            Self::UnknownIdentifier => "unknown_identifier",
            Self::UnexpectedCode => "unexpected_code",
            Self::BadAuthenticator => "bad_authenticator",
            Self::BadMessageAuthenticator => "bad_message_authenticator",
            Self::NoMessageAuthenticator => "no_message_authenticator",
            Self::StaleTimestamp => "stale_timestamp",
            Self::Repeated => "repeated",
            Self::Busy => "busy",
        }
    }
}

impl From<PacketError> for Discard {
    fn from(error: PacketError) -> Self {
        match error {
            PacketError::Truncated => Self::Truncated,
            PacketError::Oversized => Self::Oversized,
            PacketError::LengthTooSmall | PacketError::BadAttribute | PacketError::BadValue { .. } => Self::Malformed,
        }
    }
}

/// How many datagrams were thrown away, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiscardCounters([u64; Discard::ALL.len()]);

impl DiscardCounters {
    pub(crate) fn count(&mut self, reason: Discard) {
        if let Some(counter) = self.0.get_mut(reason as usize) {
            *counter = counter.saturating_add(1);
        }
    }

    /// How many were thrown away for this reason.
    #[must_use]
    pub fn get(&self, reason: Discard) -> u64 {
        self.0.get(reason as usize).copied().unwrap_or(0)
    }

    /// How many were thrown away.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.0.iter().fold(0, |sum, counter| sum.saturating_add(*counter))
    }
}
