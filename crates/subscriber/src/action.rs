//! What goes into [`crate::Subscribers`] and what comes out.

use crate::config::PoolIndex;
use crate::event::SessionEvent;
use bng_ppp::{AuthRequest, EndCause};
use bng_session::{Rate, SessionIndex, SessionSpec, SessionTotals};
use bng_wire::pppoe::AccessLine;
use bng_wire::{Line, MacAddr, PortIndex, SessionId, VrfId};
use core::net::Ipv4Addr;
use std::time::Duration;

/// Names a session from its PADR until its last counter has been read. Never used twice: the generation counts the
/// sessions that a slot has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriberKey {
    /// The place in the table of subscribers: below [`crate::Limits::table_size`].
    pub slot: u32,
    /// Which session of that place.
    pub generation: u32,
}

/// Names a credential check that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId {
    /// The session.
    pub session: SubscriberKey,
    /// Which of its requests: an answer to an earlier one is ignored.
    pub transaction: u32,
}

/// Something that has happened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Input<'a> {
    /// A frame from an access port: discovery (0x8863) or session stage (0x8864) that the workers punted.
    Frame {
        /// The port it came in by.
        port: PortIndex,
        /// The frame from the Ethernet header on, tags included, without frame check sequence.
        bytes: &'a [u8],
    },
    /// [`Action::Install`] has been carried out.
    Installed {
        /// The session.
        key: SubscriberKey,
        /// Its place in the forwarding plane.
        index: SessionIndex,
    },
    /// [`Action::Install`] could not be carried out: the session ends.
    InstallFailed {
        /// The session.
        key: SubscriberKey,
    },
    /// After [`Action::Remove`]: no worker can still be using the session. Its id and addresses may be used again.
    Removed {
        /// The session.
        key: SubscriberKey,
        /// What it carried in all.
        totals: SessionTotals,
    },
    /// The answer to [`Action::Authenticate`].
    AaaResult {
        /// Which.
        request: RequestId,
        /// The answer.
        verdict: AaaVerdict,
    },
    /// An operator ends a session, in order: LCP Terminate-Request, then PADT.
    Clear {
        /// The session.
        key: SubscriberKey,
        /// What the records will say; usually [`EndCause::AdminReset`].
        cause: EndCause,
    },
    /// Take no new sessions; the ones there are stay.
    Drain(bool),
    /// All sessions of an earlier run have been restored: unknown session ids are now unknown indeed.
    RestoreComplete,
    /// End every session at once: a Terminate-Request and a PADT to each client, without waiting for answers. Goes on
    /// in [`crate::Subscribers::handle_timeout`] until [`crate::Subscribers::is_empty`].
    Shutdown,
}

/// What is to be done, strictly in the order in which the actions stand.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Action {
    /// Send a frame.
    Transmit {
        /// The access port.
        port: PortIndex,
        /// Complete, from the Ethernet header on, padded to 60 octets.
        frame: Vec<u8>,
    },
    /// Put a session into the forwarding plane, and say where with [`Input::Installed`]. The actions that follow name
    /// the session by its key: whoever carries them out keeps the [`SessionIndex`] of each [`SubscriberKey::slot`].
    Install {
        /// The session.
        key: SubscriberKey,
        /// What the forwarding plane is to know.
        spec: SessionSpec,
    },
    /// Change what the forwarding plane knows.
    Update {
        /// The session.
        key: SubscriberKey,
        /// The whole, not only what has changed.
        spec: SessionSpec,
    },
    /// Take a session out of the forwarding plane, and answer with [`Input::Removed`] once no worker uses it.
    Remove {
        /// The session.
        key: SubscriberKey,
    },
    /// Lead a pool address to a session.
    MapAddress {
        /// The pool.
        pool: PoolIndex,
        /// The place of the address in the pool.
        offset: u32,
        /// The session.
        key: SubscriberKey,
    },
    /// Lead a pool address nowhere.
    UnmapAddress {
        /// The pool.
        pool: PoolIndex,
        /// The place of the address in the pool.
        offset: u32,
    },
    /// Lead an address that lies in no pool to a session: a route of its own.
    AddRoute {
        /// The routing instance.
        vrf: VrfId,
        /// The address, a /32.
        address: Ipv4Addr,
        /// The session.
        key: SubscriberKey,
    },
    /// Take that route out.
    RemoveRoute {
        /// The routing instance.
        vrf: VrfId,
        /// The address, a /32.
        address: Ipv4Addr,
    },
    /// Have credentials checked and answer with [`Input::AaaResult`]. Only for profiles whose
    /// [`crate::AaaMethod::asks_owner`].
    Authenticate(Box<AaaRequest>),
    /// Something that belongs in the log and in records.
    Event(SessionEvent),
}

/// A credential check for somebody else to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AaaRequest {
    /// To be handed back with the answer.
    pub request: RequestId,
    /// Where the client is.
    pub line: Line,
    /// Its PPPoE session id.
    pub session_id: SessionId,
    /// Our MAC address on its port.
    pub local_mac: MacAddr,
    /// The largest IP packet towards the client, in octets.
    pub peer_mru: u16,
    /// What the access node says about the line (TR-101), where it says something.
    pub access_line: Option<AccessLine>,
    /// What the client sent.
    pub credentials: AuthRequest,
}

/// The answer to a credential check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AaaVerdict {
    /// The client may come in.
    Accept(Box<Authorization>),
    /// The client is refused.
    Reject {
        /// Why.
        failure: AuthFailure,
        /// Text for the client; empty: [`AuthFailure::message`].
        message: Vec<u8>,
    },
}

impl From<AuthFailure> for AaaVerdict {
    fn from(failure: AuthFailure) -> Self {
        Self::Reject { failure, message: Vec::new() }
    }
}

/// What an accepted client gets beyond its profile, or in place of what its profile says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Authorization {
    /// Its own address; else one from `ipv4_pool` or the profile's pools.
    pub ipv4: Option<Ipv4Addr>,
    /// The pool its address is from, in place of the profile's.
    pub ipv4_pool: Option<PoolIndex>,
    /// Primary and secondary DNS server, in place of the profile's.
    pub ipv4_dns: Option<[Option<Ipv4Addr>; 2]>,
    /// Primary and secondary NBNS server, in place of the profile's.
    pub ipv4_nbns: Option<[Option<Ipv4Addr>; 2]>,
    /// How long the session may last.
    pub session_timeout: Option<Duration>,
    /// After how long without a packet from the client the session ends.
    pub idle_timeout: Option<Duration>,
    /// What the client may send.
    pub rate_up: Option<Rate>,
    /// What may be sent to the client.
    pub rate_down: Option<Rate>,
    /// Text for the client.
    pub message: Vec<u8>,
}

/// A change of a session while it is up (RFC 5176). What is `None` stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    /// How long the session may last, counted from when it was let in.
    pub session_timeout: Option<Duration>,
    /// After how long without a packet from the client the session ends, from now on.
    pub idle_timeout: Option<Duration>,
    /// What the client may send.
    pub rate_up: Option<Rate>,
    /// What may be sent to the client.
    pub rate_down: Option<Rate>,
}

/// Why a client was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AuthFailure {
    /// No such user.
    UnknownUser,
    /// The password is wrong.
    BadPassword,
    /// The user is listed and may not come in.
    Disabled,
    /// The user has a session already, and the policy allows one.
    DuplicateUser,
    /// No address is free.
    NoAddress,
    /// The user's own address is held by somebody else, or is one that is never given.
    AddressUnavailable,
    /// Whoever decides said no.
    Rejected,
    /// Whoever decides did not answer in time.
    Unreachable,
}

impl AuthFailure {
    /// All, for counters.
    pub const ALL: [Self; 8] = [
        Self::UnknownUser,
        Self::BadPassword,
        Self::Disabled,
        Self::DuplicateUser,
        Self::NoAddress,
        Self::AddressUnavailable,
        Self::Rejected,
        Self::Unreachable,
    ];

    /// The word for logs and metric labels.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::UnknownUser => "unknown_user",
            Self::BadPassword => "bad_password",
            Self::Disabled => "disabled",
            Self::DuplicateUser => "duplicate_user",
            Self::NoAddress => "no_address",
            Self::AddressUnavailable => "address_unavailable",
            Self::Rejected => "rejected",
            Self::Unreachable => "unreachable",
        }
    }

    /// What the client is told: a stranger does not learn whether the name or the password was wrong.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::UnknownUser | Self::BadPassword => "authentication failed: wrong name or password",
            Self::Disabled => "authentication failed: account disabled",
            Self::DuplicateUser => "authentication failed: user is logged in already",
            Self::NoAddress => "no address available",
            Self::AddressUnavailable => "the user's address is in use",
            Self::Rejected => "authentication failed",
            Self::Unreachable => "authentication service unavailable",
        }
    }
}
