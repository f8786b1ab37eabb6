//! Why a packet was thrown away.

/// The reason why a packet was discarded without an answer. None of these changes the state of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum Discard {
    /// Shorter than its header, or its length field disagrees with what is there (RFC 1661 section 5).
    #[error("length field wrong or packet cut short")]
    Malformed,
    /// An option, a name or a value runs past the end or is shorter than its own header (RFC 1661 section 6).
    #[error("option or field runs past the end of the packet")]
    BadOption,
    /// The identifier is not that of the request outstanding (RFC 1661 section 5).
    #[error("identifier does not match the outstanding request")]
    StaleIdentifier,
    /// An Ack, Nak or Reject whose options are not those that were asked for (RFC 1661 sections 5.2 to 5.4).
    #[error("options do not match the outstanding request")]
    OptionMismatch,
    /// A protocol or code that this phase does not allow (RFC 1661 sections 3.4 to 3.7).
    #[error("not allowed in this phase of the link")]
    WrongPhase,
    /// A code that only this side sends, or one that needs no answer where none was asked for.
    #[error("not expected from a client")]
    Unexpected,
    /// An Echo-Request that carries this side's own magic number: a loop (RFC 1661 section 6.4).
    #[error("echo with this side's own magic number")]
    OwnMagic,
    /// A repeated authentication request while the verdict is still being waited for: the one verdict will answer the
    /// latest request.
    #[error("authentication is already under way")]
    AuthPending,
    /// The link has ended.
    #[error("the link has ended")]
    Ended,
}

impl Discard {
    /// All reasons, for counters.
    pub const ALL: [Self; 9] = [
        Self::Malformed,
        Self::BadOption,
        Self::StaleIdentifier,
        Self::OptionMismatch,
        Self::WrongPhase,
        Self::Unexpected,
        Self::OwnMagic,
        Self::AuthPending,
        Self::Ended,
    ];

    /// The label of its counter.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Malformed => "ppp_malformed",
            Self::BadOption => "ppp_bad_option",
            Self::StaleIdentifier => "ppp_stale_identifier",
            Self::OptionMismatch => "ppp_option_mismatch",
            Self::WrongPhase => "ppp_wrong_phase",
            Self::Unexpected => "ppp_unexpected",
            Self::OwnMagic => "ppp_own_magic",
            Self::AuthPending => "ppp_auth_pending",
            Self::Ended => "ppp_ended",
        }
    }
}
