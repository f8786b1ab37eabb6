//! What a frame leads to.

use bng_wire::pppoe::{AccessLine, TagType};
use bng_wire::{Line, MacAddr, SessionId};

use crate::config::ProfileIndex;

/// What to do about a received frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiscoveryOutcome {
    /// Transmit this frame on the port the request came from.
    Reply(Vec<u8>),
    /// Nothing to do now: the reply is held back and comes out of `handle_timeout`.
    Held,
    /// A client asks for a session, and may: answer with `pads` or `pads_error`, or stay silent.
    Request(Box<SessionRequest>),
    /// A client says that a session has ended (PADT). That the session is this line's own is for its owner to check
    /// before it believes it; the frame itself was good. Nothing is to be sent in answer.
    Terminate {
        /// Who says so.
        line: Line,
        /// Which session, a usable id.
        session_id: SessionId,
    },
    /// Nothing to do, for this reason.
    Drop(DiscoveryDrop),
}

/// Tells requests apart: equal for a PADR and its repetitions, which carry the same cookie and Host-Uniq on the same line.
/// Compare within one line only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RequestFingerprint(pub u64);

/// A PADR that passed every check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRequest {
    /// Where it came from, tags as received.
    pub line: Line,
    /// The access port's own MAC address.
    pub local_mac: MacAddr,
    /// What the access list leads to.
    pub profile: ProfileIndex,
    /// Equal for repetitions of the same request.
    pub fingerprint: RequestFingerprint,
    /// The service asked for; empty for any.
    pub service_name: Box<[u8]>,
    /// The client's own mark, if it sent one.
    pub host_uniq: Option<Box<[u8]>>,
    /// A relay's mark, if there was one.
    pub relay_session_id: Option<Box<[u8]>>,
    /// What the access node says about the line: circuit id, remote id, rates.
    pub access_line: Option<AccessLine>,
    /// How many sub-options of the access line were left out as malformed.
    pub access_line_left_out: u16,
    /// The client's PPP-Max-Payload, to be echoed (RFC 4638); `None` where none was sent or more than 1492 octets
    /// cannot be carried.
    pub max_payload: Option<u16>,
    /// The largest MRU that LCP may agree to on this session, either way: 1492, or more by RFC 4638.
    pub mru_max: u16,
}

impl SessionRequest {
    /// The agent circuit id, if the access node gave one.
    #[must_use]
    pub fn circuit_id(&self) -> Option<&[u8]> {
        self.access_line.as_ref().and_then(AccessLine::circuit_id)
    }

    /// The agent remote id, if the access node gave one.
    #[must_use]
    pub fn remote_id(&self) -> Option<&[u8]> {
        self.access_line.as_ref().and_then(AccessLine::remote_id)
    }
}

/// An error to tell a client in a PADS (RFC 2516 section 5.4 and Appendix A).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorTag {
    /// The service asked for is not to be had.
    ServiceName,
    /// The access concentrator cannot do it now, for want of resources for example.
    AcSystem,
    /// Any other unrecoverable error.
    Generic,
}

impl ErrorTag {
    pub(crate) const fn tag_type(self) -> TagType {
        match self {
            Self::ServiceName => TagType::SERVICE_NAME_ERROR,
            Self::AcSystem => TagType::AC_SYSTEM_ERROR,
            Self::Generic => TagType::GENERIC_ERROR,
        }
    }
}

/// A reply with everything that must be in it would not fit an Ethernet payload of 1500 octets; it is not sent, and no
/// tag is ever cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reply would not fit an Ethernet payload of 1500 octets")]
pub struct ReplyTooLong;

/// What came, what was answered, what was dropped. Each counts frames since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveryCounters {
    /// PADIs received, good or not.
    pub padi: u64,
    /// PADOs made, held back or not.
    pub pado: u64,
    /// PADRs received, good or not.
    pub padr: u64,
    /// PADRs that were given out as requests, repetitions included.
    pub requests: u64,
    /// PADRs answered with Service-Name-Error.
    pub service_refused: u64,
    /// PADTs received, good or not.
    pub padt: u64,
    /// Frames that led to nothing, by [`DiscoveryDrop`] number.
    pub drops: [u64; DiscoveryDrop::COUNT],
}

impl Default for DiscoveryCounters {
    fn default() -> Self {
        Self { padi: 0, pado: 0, padr: 0, requests: 0, service_refused: 0, padt: 0, drops: [0; DiscoveryDrop::COUNT] }
    }
}

/// Declares the reasons once: variant, label for metrics and traces, sentence.
macro_rules! discovery_drops {
    ($($(#[$meta:meta])* $variant:ident, $label:literal, $sentence:literal;)*) => {
        /// Why a discovery frame leads to nothing.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum DiscoveryDrop {
            $(#[doc = $sentence] $(#[$meta])* $variant,)*
        }

        impl DiscoveryDrop {
            /// Every reason, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The word that metrics and traces have for it.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)* }
            }

            /// One sentence.
            #[must_use]
            pub const fn describe(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

discovery_drops! {
    FrameTooShort, "frame_too_short", "The frame ends within its Ethernet header or tags.";
    TooManyTags, "too_many_tags", "The frame has more than two VLAN tags.";
    NotDiscovery, "not_discovery", "The EtherType is not 0x8863.";
    BadSource, "bad_source", "The source address is a group's, zero, or the port's own.";
    BadDestination, "bad_destination", "The destination is not the port's own address (nor, for a PADI, broadcast).";
    UnknownPort, "unknown_port", "The port is not an access port.";
    UnknownVlan, "unknown_vlan", "No access rule matches the frame's tags.";
    HeaderTooShort, "header_too_short", "Fewer than six octets follow the EtherType (RFC 2516 section 4).";
    VersionOrType, "version_or_type", "VER or TYPE is not 1 (RFC 2516 section 4).";
    LengthBeyondFrame, "length_beyond_frame", "LENGTH counts more octets than the frame has (RFC 2516 section 4).";
    TooLong, "too_long", "A discovery packet over 1500 octets, or a PADI over 1484 (RFC 2516 section 5.1).";
    TagHeaderCut, "tag_header_cut", "A tag's header is cut by the end of the payload (RFC 2516 section 5).";
    TagValueCut, "tag_value_cut", "A tag's length goes past the end of the payload (RFC 2516 section 5).";
    NotForConcentrator, "not_for_concentrator", "A PADO or PADS, which only an access concentrator sends.";
    UnknownCode, "unknown_code", "The CODE is none of the discovery stage's (RFC 2516 section 5).";
    SessionIdNotZero, "session_id_not_zero", "A PADI or PADR with a SESSION_ID (RFC 2516 sections 5.1 and 5.3).";
    SessionIdUnusable, "session_id_unusable", "A PADT whose SESSION_ID is 0 or 0xffff (RFC 2516 sections 4 and 5.5).";
    NoServiceName, "no_service_name", "A PADI or PADR without a Service-Name (RFC 2516 sections 5.1 and 5.3).";
    SeveralServiceNames, "several_service_names", "A PADI or PADR with several Service-Names where exactly one is allowed.";
    ServiceNotOffered, "service_not_offered", "A PADI for a service that is not offered (RFC 2516 section 5.2: no PADO).";
    NoCookie, "no_cookie", "A PADR without an AC-Cookie.";
    BadCookie, "bad_cookie", "A PADR whose AC-Cookie was not made here for this line.";
    ExpiredCookie, "expired_cookie", "A PADR whose AC-Cookie has passed its lifetime.";
    ReplyTooLong, "reply_too_long", "The reply would not fit an Ethernet payload of 1500 octets.";
    PortRate, "port_rate", "The port's rate of discovery requests is reached.";
    VlanRate, "vlan_rate", "The outer VLAN's rate of discovery requests is reached.";
    LineRate, "line_rate", "The rate of discovery requests of the line's outer and inner VLAN is reached.";
    MacRate, "mac_rate", "The MAC address's rate of discovery requests is reached.";
    LockedOut, "locked_out", "The line has failed too often and must wait.";
    MacDenied, "mac_denied", "The MAC address is on the deny list, or not on the allow list.";
    Withheld, "withheld", "A PADO rule leaves this client to another concentrator.";
    HeldFull, "held_full", "The queue of PADOs that are held back is full.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_label_and_a_sentence_of_its_own() {
        let labels: std::collections::BTreeSet<_> = DiscoveryDrop::ALL.iter().map(|reason| reason.label()).collect();
        assert_eq!(labels.len(), DiscoveryDrop::COUNT);
        for (index, reason) in DiscoveryDrop::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, index);
            assert!(reason.label().bytes().all(|octet| octet.is_ascii_lowercase() || octet == b'_'));
            assert!(reason.describe().ends_with('.'));
        }
    }
}
