//! A session as an operator sees it.

use crate::action::SubscriberKey;
use bng_discovery::ProfileIndex;
use bng_ppp::AuthMethod;
use bng_session::SessionIndex;
use bng_wire::pppoe::AccessLine;
use bng_wire::{MacAddr, PortIndex, SessionId, VlanStack};
use core::net::{Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

/// How far a session has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SessionState {
    /// LCP is negotiating.
    Establishing,
    /// The client has to prove who it is.
    Authenticating,
    /// The client may come in; no network protocol is open.
    Authenticated,
    /// A network protocol is open: it is forwarding.
    Up,
    /// LCP is closing the link.
    Closing,
    /// Ended; the forwarding plane is letting go of it.
    Removing,
}

impl SessionState {
    /// All, for gauges.
    pub const ALL: [Self; 6] =
        [Self::Establishing, Self::Authenticating, Self::Authenticated, Self::Up, Self::Closing, Self::Removing];

    /// The word for `bngctl` and metric labels.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Establishing => "establishing",
            Self::Authenticating => "authenticating",
            Self::Authenticated => "authenticated",
            Self::Up => "up",
            Self::Closing => "closing",
            Self::Removing => "removing",
        }
    }
}

/// A session as an operator sees it, at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionView {
    /// Names the session, also for [`crate::Input::Clear`].
    pub key: SubscriberKey,
    /// Its place in the forwarding plane, by which its counters are read.
    pub index: Option<SessionIndex>,
    /// PPPoE session id.
    pub session_id: SessionId,
    /// Access port.
    pub port: PortIndex,
    /// Tags.
    pub vlans: VlanStack,
    /// The client's MAC address.
    pub peer_mac: MacAddr,
    /// The user's name as the client sent it.
    pub user: Option<Box<[u8]>>,
    /// The profile.
    pub profile: ProfileIndex,
    /// How far it has come.
    pub state: SessionState,
    /// How it proved who it is.
    pub auth_method: Option<AuthMethod>,
    /// The address that it has been given.
    pub ipv4: Option<Ipv4Addr>,
    /// Whether IPv4 is forwarded.
    pub ipv4_up: bool,
    /// Whether IPv6 is forwarded.
    pub ipv6_up: bool,
    /// The prefix of the line itself.
    pub ipv6_prefix: Option<(Ipv6Addr, u8)>,
    /// The first prefix delegated by DHCPv6.
    pub delegated_prefix: Option<(Ipv6Addr, u8)>,
    /// Largest IP packet towards the client, in octets.
    pub peer_mru: u16,
    /// Largest IP packet from the client, in octets.
    pub local_mru: u16,
    /// TR-101 circuit id.
    pub circuit_id: Option<Box<[u8]>>,
    /// TR-101 remote id.
    pub remote_id: Option<Box<[u8]>>,
    /// All that the access node says about the line.
    pub access_line: Option<AccessLine>,
    /// Our MAC address on the port.
    pub local_mac: MacAddr,
    /// Time since the PADR.
    pub age: Duration,
    /// Time since the first network protocol opened.
    pub uptime: Option<Duration>,
    /// The last things that happened to it, oldest first: time since the PADR, and [`crate::EventKind::label`].
    pub events: Vec<(Duration, &'static str)>,
    /// When it must end, by Session-Timeout.
    pub ends_at: Option<Instant>,
}
