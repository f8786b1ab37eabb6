//! Why a packet was thrown away.

/// The reason why a packet was discarded without an answer. None of these changes the state of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum Discard {
    /// No whole IPv6 packet, or no whole message in it.
    #[error("packet, message or option cut short")]
    Malformed,
    /// Neither neighbour discovery nor an echo request nor DHCPv6 to this router. Messages behind extension headers
    /// are among these: clients do not send them, and fragments of neighbour discovery must not be taken (RFC 6980).
    #[error("nothing that this router answers")]
    NotForUs,
    /// A checksum is wrong, or the one of UDP is missing (RFC 8200 section 8.1).
    #[error("wrong checksum")]
    Checksum,
    /// A message of neighbour discovery that did not come from the link itself: its hop limit is not 255 (RFC 4861
    /// sections 6.1.1 and 7.1.1).
    #[error("hop limit of neighbour discovery is not 255")]
    HopLimit,
    /// A source address that this message must not have.
    #[error("source address not allowed for this message")]
    Source,
    /// A message that only routers or servers send, or one that no client sends here.
    #[error("not expected from a client")]
    Unexpected,
    /// A DHCPv6 message without an option that it must have, or with one that it must not have (RFC 8415 section 16).
    #[error("an option is missing or not allowed in this message")]
    Option,
    /// A DHCPv6 message to another server (RFC 8415 section 16).
    #[error("meant for another server")]
    OtherServer,
    /// A DHCPv6 message to which RFC 8415 gives no answer in this state, or a repetition while the pools are asked.
    #[error("nothing to answer")]
    NoAnswer,
    /// More messages than one client may send.
    #[error("too many messages from one client")]
    RateLimited,
    /// The session is not open.
    #[error("the session is not open")]
    Closed,
}

impl Discard {
    /// All reasons, for counters.
    pub const ALL: [Self; 11] = [
        Self::Malformed,
        Self::NotForUs,
        Self::Checksum,
        Self::HopLimit,
        Self::Source,
        Self::Unexpected,
        Self::Option,
        Self::OtherServer,
        Self::NoAnswer,
        Self::RateLimited,
        Self::Closed,
    ];

    /// The label of its counter.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Malformed => "ipv6_malformed",
            Self::NotForUs => "ipv6_not_for_us",
            Self::Checksum => "ipv6_checksum",
            Self::HopLimit => "ipv6_hop_limit",
            Self::Source => "ipv6_source",
            Self::Unexpected => "ipv6_unexpected",
            Self::Option => "ipv6_option",
            Self::OtherServer => "ipv6_other_server",
            Self::NoAnswer => "ipv6_no_answer",
            Self::RateLimited => "ipv6_rate_limited",
            Self::Closed => "ipv6_closed",
        }
    }
}
