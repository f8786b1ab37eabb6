//! What a profile says about PPP.

use std::time::Duration;

/// How a client may prove who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AuthMethod {
    /// CHAP with MD5 (RFC 1994): Authentication-Protocol c223, algorithm 5.
    ChapMd5,
    /// MS-CHAP-2 (RFC 2759): Authentication-Protocol c223, algorithm 0x81. Its DES and MD4 are weak; it is here for
    /// clients and user databases that know nothing else.
    MsChapV2,
    /// PAP (RFC 1334): Authentication-Protocol c023. The password crosses the line in the clear.
    Pap,
}

impl AuthMethod {
    /// The word that the configuration uses: `chap-md5`, `ms-chap-v2`, `pap`.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::ChapMd5 => "chap-md5",
            Self::MsChapV2 => "ms-chap-v2",
            Self::Pap => "pap",
        }
    }
}

/// The settings of one profile, shared by all its sessions behind an `Arc`. [`PppConfig::default`] holds the defaults
/// of RFC 1661 section 4.6 where that names any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PppConfig {
    /// The MRU that is asked for, in octets, 128 to 1492; the session's own cap (`mru_max` of [`crate::Ppp::new`])
    /// limits it, and replaces it where RFC 4638 raised the cap over 1492. Default 1492 (RFC 2516 section 7).
    pub mru: u16,
    /// Methods in the order in which they are offered; one that the client refuses is followed by the next, or by
    /// the one that the client names if it is in the list. Empty: the client need not authenticate, and
    /// [`crate::Credentials::None`] asks the owner for a verdict all the same. At most 8 are looked at.
    /// Default: CHAP-MD5, then PAP (RFC 1334 section 2: the stronger one first).
    pub auth: Vec<AuthMethod>,
    /// Name that stands in CHAP challenges, usually the AC-Name; at most 255 octets are sent. Default `bng`.
    pub name: String,
    /// Restart timer (RFC 1661 section 4.6): between two Configure-Requests, Terminate-Requests or Challenges.
    /// Default 3 s.
    pub restart_interval: Duration,
    /// How long the first LCP Configure-Request waits for the client to speak first; zero sends it at once. A client
    /// opens its session only when it has read the PADS. Default zero; 200 ms suits clients of all kinds.
    pub first_request_delay: Duration,
    /// How often a Configure-Request or a Challenge is sent without an answer. 1 to 255. Default 10.
    pub max_configure: u8,
    /// How often a Terminate-Request is sent without an answer. 1 to 255. Default 2.
    pub max_terminate: u8,
    /// How many Configure-Naks are sent without an Ack between them before options are rejected instead.
    /// 1 to 255. Default 5.
    pub max_failure: u8,
    /// How long link establishment may take as a whole, from the start until LCP is Opened: ends the negotiation of
    /// a client that answers for ever and never agrees. Default 60 s.
    pub establish_timeout: Duration,
    /// How long the client may take to authenticate once LCP is Opened, and how long the verdict may take after
    /// that. Default 30 s.
    pub auth_timeout: Duration,
    /// How long a link may exist with no network protocol open after authentication. Default 60 s.
    pub network_timeout: Duration,
    /// Time between two LCP Echo-Requests; zero sends none. Default 30 s.
    pub echo_interval: Duration,
    /// How many Echo-Requests in a row may stay unanswered; the session ends when the time for the answer to the
    /// last of them has passed. 1 to 255. Default 3.
    pub echo_misses: u8,
    /// Whether data from the client counts as a sign of life, as an Echo-Reply does. Default true.
    pub traffic_is_alive: bool,
    /// Whether IPCP is offered. Default true.
    pub ipv4: bool,
    /// Whether IPV6CP is offered. Default false.
    pub ipv6: bool,
}

impl Default for PppConfig {
    fn default() -> Self {
        Self {
            mru: 1492,
            auth: vec![AuthMethod::ChapMd5, AuthMethod::Pap],
            name: String::from("bng"),
            restart_interval: Duration::from_secs(3),
            first_request_delay: Duration::ZERO,
            max_configure: 10,
            max_terminate: 2,
            max_failure: 5,
            establish_timeout: Duration::from_secs(60),
            auth_timeout: Duration::from_secs(30),
            network_timeout: Duration::from_secs(60),
            echo_interval: Duration::from_secs(30),
            echo_misses: 3,
            traffic_is_alive: true,
            ipv4: true,
            ipv6: false,
        }
    }
}
