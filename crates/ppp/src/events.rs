//! What goes out of a [`crate::Ppp`] and what its owner answers.

use core::fmt;
use core::net::Ipv4Addr;
use zeroize::Zeroizing;

/// What the owner of a link is to do, strictly in the order in which the actions stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send a PPP packet to the client: protocol field and information field.
    Send {
        /// PPP protocol number, for example 0xc021.
        protocol: u16,
        /// Information field, from the code octet on; at most 1492 octets.
        payload: Vec<u8>,
    },
    /// Have these credentials checked and answer with [`crate::Ppp::auth_result`]. At most one is outstanding; a
    /// later one replaces it (the client has started its link anew).
    Authenticate(AuthRequest),
    /// LCP is Opened. May come again after [`Action::LinkDown`].
    LinkUp {
        /// The largest information field that the client takes, in octets: the downstream limit. A client that
        /// names none counts as 1492 (RFC 2516 section 7), or as up to 1500 where RFC 4638 raised the cap.
        peer_mru: u16,
        /// The MRU that was asked for or its default: the upstream limit in octets.
        local_mru: u16,
        /// This side's magic number, 0 where the client refused the option: what Echo-Replies carry (RFC 1661 section
        /// 5.8), for whoever answers echoes in this link's place.
        local_magic: u32,
    },
    /// LCP has left Opened: no network data may be forwarded until it is up and authenticated again.
    LinkDown,
    /// The client's IPv4 address is about to be acknowledged: data from it may follow at once, so forwarding must be
    /// ready before the `Send` behind this action is carried out.
    Ipv4Up {
        /// This side's address.
        local: Ipv4Addr,
        /// The client's address, as the offer has it.
        peer: Ipv4Addr,
    },
    /// IPCP is Opened: both sides have agreed. Comes after [`Action::Ipv4Up`], and again after the client has
    /// negotiated anew without losing its address. The moment at which service counts as started.
    Ipv4Opened,
    /// IPv4 must no longer be forwarded.
    Ipv4Down,
    /// The client's interface identifier is about to be acknowledged; as [`Action::Ipv4Up`].
    Ipv6Up {
        /// This side's interface identifier.
        local_id: u64,
        /// The client's interface identifier.
        peer_id: u64,
    },
    /// IPV6CP is Opened; as [`Action::Ipv4Opened`].
    Ipv6Opened,
    /// IPv6 must no longer be forwarded.
    Ipv6Down,
    /// The link is over, and this is its last action: send the PADT, free everything.
    Ended(EndCause),
}

/// Credentials to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthRequest {
    /// To be handed back with the verdict, so that a late answer to an earlier request is known as such.
    pub transaction: u32,
    /// What the client sent.
    pub credentials: Credentials,
}

/// What a client sent to prove who it is. Names are the client's own octets, 1 to 255 of them, in any encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credentials {
    /// The profile asks for no authentication.
    None,
    /// PAP (RFC 1334).
    Pap {
        /// Peer-ID.
        name: Vec<u8>,
        /// Password, 0 to 255 octets.
        password: Secret,
    },
    /// CHAP with MD5 (RFC 1994). [`crate::verify_chap_md5`] checks it against a known password.
    ChapMd5 {
        /// Name of the client.
        name: Vec<u8>,
        /// Identifier of the challenge that was answered.
        id: u8,
        /// Challenge value.
        challenge: [u8; 16],
        /// Response value.
        response: [u8; 16],
    },
    /// MS-CHAP-2 (RFC 2759). [`crate::verify_ms_chap_v2`] checks it against a known password and makes the message
    /// that the verdict must carry: `S=`, 40 hexadecimal digits, and maybe ` M=` and a text. A client that gets
    /// another one ends the link.
    MsChapV2 {
        /// Name of the client, with a domain in front if it gave one.
        name: Vec<u8>,
        /// Identifier of the challenge that was answered.
        id: u8,
        /// Challenge value.
        challenge: [u8; 16],
        /// Peer-Challenge.
        peer_challenge: [u8; 16],
        /// NT-Response.
        nt_response: [u8; 24],
        /// Flags, which should be 0.
        flags: u8,
    },
}

impl Credentials {
    /// The client's name; empty where it gave none.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        match self {
            Self::None => &[],
            Self::Pap { name, .. } | Self::ChapMd5 { name, .. } | Self::MsChapV2 { name, .. } => name,
        }
    }
}

/// Octets that must not be shown: debug output hides them, and memory is cleared when they are dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes a copy of the octets.
    #[must_use]
    pub fn new(octets: &[u8]) -> Self {
        Self(Zeroizing::new(octets.to_vec()))
    }

    /// The octets themselves.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(..)")
    }
}

/// The answer to an [`AuthRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthVerdict {
    /// The client may come in.
    Accept {
        /// What it gets for IPv4; `None`: IPCP is refused (Protocol-Reject) and the link stays for IPv6.
        ipv4: Option<Ipv4Offer>,
        /// What it gets for IPv6; `None`: IPV6CP is refused.
        ipv6: Option<Ipv6Offer>,
        /// Text for the client (Reply-Message), at most 255 octets are sent; may be empty. For MS-CHAP-2 the
        /// authenticator's response must come first, see [`Credentials::MsChapV2`].
        message: Vec<u8>,
    },
    /// The client is refused.
    Reject {
        /// Text for the client (Reply-Message), at most 255 octets are sent; may be empty. For MS-CHAP-2 one that
        /// begins with `E=` is taken to be a whole Failure message (RFC 2759 section 6), and any other becomes the
        /// text of one that says "authentication failure, no retry".
        message: Vec<u8>,
    },
}

/// IPv4 as offered to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv4Offer {
    /// This side's address (the gateway); never 0.0.0.0.
    pub local: Ipv4Addr,
    /// The client's address; never 0.0.0.0.
    pub peer: Ipv4Addr,
    /// Primary and secondary DNS server (RFC 1877); an absent one is rejected when asked for.
    pub dns: [Option<Ipv4Addr>; 2],
    /// Primary and secondary NBNS server (RFC 1877).
    pub nbns: [Option<Ipv4Addr>; 2],
}

/// IPv6 as offered to a client: the interface identifiers of the link (RFC 5072); prefixes come by router
/// advertisement and DHCPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ipv6Offer {
    /// This side's interface identifier, never 0.
    pub local_id: u64,
    /// The identifier that the client must take, if the policy fixes it; else any that is not 0 and not ours is
    /// taken.
    pub peer_id: Option<u64>,
}

/// Why a link ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EndCause {
    /// The client sent an LCP Terminate-Request.
    UserRequest,
    /// The client sent a PADT.
    PadtReceived,
    /// The client no longer answers echoes.
    LostCarrier,
    /// The client used its session for too short a time to be idle no more: Idle-Timeout.
    IdleTimeout,
    /// Session-Timeout, or the daily disconnect.
    SessionTimeout,
    /// An operator, or a Disconnect-Request, ended the session.
    AdminReset,
    /// The daemon is being stopped.
    AdminReboot,
    /// The access port went away.
    PortError,
    /// The same client dialled in again.
    Replaced,
    /// Something failed on this side, for example a table was full.
    NasError,
    /// The credentials were refused.
    AuthFailed,
    /// The client did not authenticate in time, or no verdict came in time.
    AuthTimeout,
    /// The client refuses every method that the profile allows.
    AuthRefused,
    /// LCP: the client never answered.
    NoAnswer,
    /// LCP: the two sides did not agree within the time allowed.
    NotConverging,
    /// The line is looped back: this side's own magic number came back.
    LoopedBack,
    /// No network protocol was open for the time allowed.
    NoNetworkProtocol,
    /// The client rejected a code or protocol without which no link can be.
    ProtocolError,
}

impl EndCause {
    /// All causes, for counters.
    pub const ALL: [Self; 18] = [
        Self::UserRequest,
        Self::PadtReceived,
        Self::LostCarrier,
        Self::IdleTimeout,
        Self::SessionTimeout,
        Self::AdminReset,
        Self::AdminReboot,
        Self::PortError,
        Self::Replaced,
        Self::NasError,
        Self::AuthFailed,
        Self::AuthTimeout,
        Self::AuthRefused,
        Self::NoAnswer,
        Self::NotConverging,
        Self::LoopedBack,
        Self::NoNetworkProtocol,
        Self::ProtocolError,
    ];

    /// The word for logs, `bngctl` and metric labels.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::UserRequest => "user_request",
            Self::PadtReceived => "padt_received",
            Self::LostCarrier => "lost_carrier",
            Self::IdleTimeout => "idle_timeout",
            Self::SessionTimeout => "session_timeout",
            Self::AdminReset => "admin_reset",
            Self::AdminReboot => "admin_reboot",
            Self::PortError => "port_error",
            Self::Replaced => "replaced",
            Self::NasError => "nas_error",
            Self::AuthFailed => "auth_failed",
            Self::AuthTimeout => "auth_timeout",
            Self::AuthRefused => "auth_refused",
            Self::NoAnswer => "no_answer",
            Self::NotConverging => "not_converging",
            Self::LoopedBack => "looped_back",
            Self::NoNetworkProtocol => "no_network_protocol",
            Self::ProtocolError => "protocol_error",
        }
    }

    /// The value of Acct-Terminate-Cause (RFC 2866 section 5.10).
    #[must_use]
    pub const fn acct_terminate_cause(self) -> u32 {
        match self {
            Self::UserRequest | Self::PadtReceived => 1,
            Self::LostCarrier => 2,
            Self::IdleTimeout => 4,
            Self::SessionTimeout => 5,
            Self::AdminReset => 6,
            Self::AdminReboot => 7,
            Self::PortError | Self::LoopedBack => 8,
            Self::NasError => 9,
            Self::Replaced => 10,
            Self::NoNetworkProtocol => 15,
            Self::AuthFailed
            | Self::AuthTimeout
            | Self::AuthRefused
            | Self::NoAnswer
            | Self::NotConverging
            | Self::ProtocolError => 17,
        }
    }
}
