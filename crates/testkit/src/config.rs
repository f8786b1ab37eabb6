//! What a client is and does, and what it reports.

use crate::data::Datagram;
use crate::link::Login;
use bng_wire::MacAddr;
use core::net::Ipv4Addr;
use std::time::Duration;

/// What a client does that not every client does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behaviour {
    /// Starts LCP in the moment the PADS arrives; else waits for the concentrator's first packet. Default true.
    pub eager: bool,
    /// Sends data in the moment IPCP's last Ack leaves or arrives: to this address. Default none.
    pub data_at_once: Option<Ipv4Addr>,
    /// Answers LCP Echo-Requests. Default true.
    pub answers_echoes: bool,
    /// Says nothing at all after the PADS. Default false.
    pub mute: bool,
    /// Sends every PADR twice. Default false.
    pub repeats_padr: bool,
    /// Asks for IPV6CP as well, and terminates it when it does not come up. Default false.
    pub tries_ipv6: bool,
    /// Answers every LCP Configure-Request with a Nak for a smaller MRU, for ever. Default false.
    pub nak_loop: bool,
    /// Asks for this address first, and again after a Nak. Default none: 0.0.0.0, then what the Nak says.
    pub insists_on: Option<Ipv4Addr>,
    /// Dials again by itself when a session has ended or an attempt has failed. Default true.
    pub redials: bool,
    /// Sends an LCP Echo-Request as often as this. Default never.
    pub echo_interval: Option<Duration>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            eager: true,
            data_at_once: None,
            answers_echoes: true,
            mute: false,
            repeats_padr: false,
            tries_ipv6: false,
            nak_loop: false,
            insists_on: None,
            redials: true,
            echo_interval: None,
        }
    }
}

/// How long a client waits for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Between two PADIs or PADRs.
    pub discovery: Duration,
    /// PADRs before it begins with a PADI again.
    pub padr_max: u32,
    /// Between two Configure-Requests or authentication requests.
    pub resend: Duration,
    /// Requests without an answer before it gives up the session.
    pub resend_max: u32,
    /// Before it dials again.
    pub redial: Duration,
    /// Echo-Requests without an answer before it gives up.
    pub echo_misses: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            discovery: Duration::from_secs(5),
            padr_max: 3,
            resend: Duration::from_secs(3),
            resend_max: 10,
            redial: Duration::from_secs(2),
            echo_misses: 3,
        }
    }
}

/// What a client is.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// Its address.
    pub mac: MacAddr,
    /// Tags of its line, outermost first: (TPID, TCI).
    pub vlans: Vec<(u16, u16)>,
    /// Host-Uniq; none if empty. The number of the attempt is put behind it if `fresh_host_uniq`.
    pub host_uniq: Vec<u8>,
    /// Whether each dial has a Host-Uniq of its own, as most clients do.
    pub fresh_host_uniq: bool,
    /// Service-Name.
    pub service_name: String,
    /// Circuit id that the access node puts in, if any.
    pub circuit_id: Option<Vec<u8>>,
    /// PPP-Max-Payload (RFC 4638), if any.
    pub max_payload: Option<u16>,
    /// MRU to ask for; none leaves the option out.
    pub mru: Option<u16>,
    /// Name.
    pub user: String,
    /// Password.
    pub password: String,
    /// Methods it is willing to use.
    pub login: Login,
    /// What it does that not every client does.
    pub behaviour: Behaviour,
    /// How long it waits.
    pub patience: Patience,
    /// LCP magic number; not 0.
    pub magic: u32,
}

impl ClientConfig {
    /// Client number `n`: MAC address 02:10:00:xx:xx:xx, user `user<n>@example.net`, password `secret`.
    #[must_use]
    pub fn numbered(n: u32) -> Self {
        let [_, a, b, c] = n.to_be_bytes();
        Self {
            mac: MacAddr([2, 0x10, 0, a, b, c]),
            vlans: Vec::new(),
            host_uniq: n.to_be_bytes().to_vec(),
            fresh_host_uniq: true,
            service_name: String::new(),
            circuit_id: None,
            max_payload: None,
            mru: Some(1492),
            user: format!("user{n}@example.net"),
            password: String::from("secret"),
            login: Login::Any,
            behaviour: Behaviour::default(),
            patience: Patience::default(),
            magic: 0x6b8b_0000 | (n & 0xffff) | 1,
        }
    }
}

/// How far a client has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClientState {
    /// Not dialling.
    Idle,
    /// A PADI is out.
    Searching,
    /// A PADR is out.
    Requesting,
    /// LCP is negotiating.
    Establishing,
    /// The login is under way.
    Authenticating,
    /// IPCP is negotiating.
    Configuring,
    /// IPCP is open.
    Open,
}

/// Something a client has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientEvent {
    /// A PADO arrived.
    Pado,
    /// A PADS arrived with this session id.
    Pads(u16),
    /// A PADS refused a session: the error tag's kind.
    Refused(u16),
    /// The concentrator's MRU, as its Configure-Request has it.
    PeerMru(u16),
    /// LCP came up.
    LcpUp,
    /// Accepted, with this text.
    LoggedIn(String),
    /// Refused, with this text.
    LoginFailed(String),
    /// IPCP came up with this address.
    Up(Ipv4Addr),
    /// The concentrator sent an LCP Terminate-Request.
    Terminated,
    /// A PADT for the session arrived.
    Padt,
    /// It gave up.
    GaveUp(&'static str),
    /// The concentrator does not speak this protocol.
    ProtocolRejected(u16),
    /// An echo was answered.
    EchoAnswered,
    /// Data arrived.
    Data(Datagram),
}
