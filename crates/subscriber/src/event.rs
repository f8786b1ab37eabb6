//! What happened to a session, for logs and records.

use crate::action::{AuthFailure, SubscriberKey};
use bng_ppp::EndCause;
use bng_session::SessionTotals;
use bng_wire::{Line, SessionId};
use core::net::Ipv4Addr;
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
    },
    /// IPCP is no longer open.
    Ipv4Down,
    /// No address was free for this session.
    PoolExhausted,
    /// The session has ended.
    Ended {
        /// Why.
        cause: EndCause,
        /// How long it lasted since its PADR.
        lasted: Duration,
        /// Whether it had come up (authenticated) before.
        was_up: bool,
    },
    /// The session is out of the forwarding plane: its counters are final.
    Final {
        /// What it carried in all.
        totals: SessionTotals,
    },
}

impl EventKind {
    /// The word for logs.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::LinkUp { .. } => "link_up",
            Self::LinkDown => "link_down",
            Self::Authenticated => "authenticated",
            Self::AuthFailed { .. } => "auth_failed",
            Self::Ipv4Up { .. } => "ipv4_up",
            Self::Ipv4Down => "ipv4_down",
            Self::PoolExhausted => "pool_exhausted",
            Self::Ended { .. } => "ended",
            Self::Final { .. } => "final",
        }
    }
}
