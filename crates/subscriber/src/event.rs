//! What happened to a session, for logs and records.

use crate::action::{AuthFailure, SubscriberKey};
use bng_ppp::EndCause;
use bng_session::SessionTotals;
use bng_wire::{Line, SessionId};
use core::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// Something that happened to a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEvent {
    /// The session.
    pub key: SubscriberKey,
    /// Its PPPoE session id.
    pub session_id: SessionId,
    /// Where its client is.
    pub line: Line,
    /// The user's name as the client sent it, once known; it may be any octets.
    pub user: Option<Box<[u8]>>,
    /// What happened.
    pub what: EventKind,
}

/// What happened to a session.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EventKind {
    /// A PADR was accepted.
    Created,
    /// LCP is Opened.
    LinkUp {
        /// The downstream limit in octets.
        peer_mru: u16,
    },
    /// LCP has left Opened; the client negotiates anew.
    LinkDown,
    /// The client has proved who it is, and may come in.
    Authenticated,
    /// The client was refused.
    AuthFailed {
        /// Why.
        failure: AuthFailure,
    },
    /// The client's address is agreed: service starts. Once for each time IPCP opens.
    Ipv4Up {
        /// The client's address.
        address: Ipv4Addr,
        /// Whether this is the session's first service: false after a renegotiation.
        first: bool,
    },
    /// IPCP is no longer open.
    Ipv4Down,
    /// IPv6 is agreed: the router advertises itself. Once for each time IPV6CP opens.
    Ipv6Up {
        /// The line's own prefix, where it has one.
        prefix: Option<(Ipv6Addr, u8)>,
    },
    /// IPV6CP is no longer open.
    Ipv6Down,
    /// DHCPv6 has given the client a prefix.
    PrefixDelegated {
        /// The prefix.
        prefix: (Ipv6Addr, u8),
    },
    /// No address was free for this session.
    PoolExhausted,
    /// The session has ended.
    Ended {
        /// Why.
        cause: EndCause,
        /// How long it lasted since its PADR.
        lasted: Duration,
        /// Whether it ever had service.
        was_up: bool,
    },
    /// The session is out of the forwarding plane: its counters are final.
    Final {
        /// What it carried in all.
        totals: SessionTotals,
        /// Whether it ever had service.
        was_up: bool,
    },
}

/// The words for logs, in the order of [`EventKind::code`].
const LABELS: [&str; 13] = [
    "created",
    "link_up",
    "link_down",
    "authenticated",
    "auth_failed",
    "ipv4_up",
    "ipv4_down",
    "pool_exhausted",
    "ended",
    "final",
    "ipv6_up",
    "ipv6_down",
    "prefix_delegated",
];

impl EventKind {
    /// A small number for the kind, as a session keeps it.
    pub(crate) const fn code(&self) -> u8 {
        match self {
            Self::Created => 0,
            Self::LinkUp { .. } => 1,
            Self::LinkDown => 2,
            Self::Authenticated => 3,
            Self::AuthFailed { .. } => 4,
            Self::Ipv4Up { .. } => 5,
            Self::Ipv4Down => 6,
            Self::PoolExhausted => 7,
            Self::Ended { .. } => 8,
            Self::Final { .. } => 9,
            Self::Ipv6Up { .. } => 10,
            Self::Ipv6Down => 11,
            Self::PrefixDelegated { .. } => 12,
        }
    }

    pub(crate) fn label_of(code: u8) -> &'static str {
        LABELS.get(usize::from(code)).copied().unwrap_or("unknown")
    }

    /// The word for logs.
    #[must_use]
    pub fn label(&self) -> &'static str {
        Self::label_of(self.code())
    }
}
