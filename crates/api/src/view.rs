//! What is told about the running process. Counters count from the start of the process unless said otherwise.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::SessionFilter;

/// Where a session is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// LCP is being negotiated.
    Link,
    /// The client has to prove who it is.
    Authenticating,
    /// Authenticated; IPCP or IPV6CP is being negotiated.
    Network,
    /// At least one network protocol is up: packets are forwarded.
    Up,
    /// Being taken down.
    Closing,
}

impl SessionState {
    /// Every state, in order.
    pub const ALL: [Self; 5] = [Self::Link, Self::Authenticating, Self::Network, Self::Up, Self::Closing];

    /// The word used in JSON, filters and metric labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Authenticating => "authenticating",
            Self::Network => "network",
            Self::Up => "up",
            Self::Closing => "closing",
        }
    }
}

/// One subscriber session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionView {
    /// `PORT.OUTER.ID`, for example `access0.100.17`: access port, outer VLAN (0 for untagged), session id. Unique among
    /// live sessions.
    pub id: String,
    /// The name that the client authenticated with; absent before that.
    pub user: Option<String>,
    /// The client's MAC address, in lower case.
    pub mac: String,
    /// The access port's name.
    pub port: String,
    /// Outer VLAN id; absent for untagged.
    pub outer_vlan: Option<u16>,
    /// Inner VLAN id; absent where there is none.
    pub inner_vlan: Option<u16>,
    /// PPPoE session id (RFC 2516).
    pub session_id: u16,
    /// Where it is in its life.
    pub state: SessionState,
    /// The profile's name.
    pub profile: String,
    /// PPPoE service name agreed on; may be empty.
    pub service_name: String,
    /// Authentication protocol: `pap` or `chap-md5`; absent before it is agreed.
    pub auth: Option<String>,
    /// The client's IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// The prefix of the client's line, `ADDRESS/LENGTH`.
    pub ipv6_prefix: Option<String>,
    /// The prefix delegated to the client, `ADDRESS/LENGTH`.
    pub delegated_prefix: Option<String>,
    /// When the session was made, in seconds since 1970.
    pub started_unix_s: u64,
    /// Whole seconds since the session came up; 0 before.
    pub uptime_s: u64,
    /// Octets of inner IP packets forwarded from the client.
    pub octets_up: u64,
    /// Octets of inner IP packets forwarded to the client.
    pub octets_down: u64,
    /// Packets forwarded from the client.
    pub packets_up: u64,
    /// Packets forwarded to the client.
    pub packets_down: u64,
    /// Packets of this session that were dropped, both directions.
    pub packets_dropped: u64,
    /// The largest PPP payload that the client takes, in octets: the limit downstream.
    pub mru: u16,
    /// Agent Circuit ID (TR-101), octets that are not printable ASCII written as `\xNN`.
    pub circuit_id: Option<String>,
    /// Agent Remote ID (TR-101), written in the same way.
    pub remote_id: Option<String>,
}

/// Answer to `GET /api/v1/sessions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct SessionsView {
    /// How many match, those not shown included.
    pub matched: u64,
    /// Those shown.
    pub sessions: Vec<SessionView>,
}

/// What one worker moved on one port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerPortView {
    /// The port's name.
    pub port: String,
    /// Frames received.
    pub rx_packets: u64,
    /// Octets received.
    pub rx_octets: u64,
    /// Frames sent.
    pub tx_packets: u64,
    /// Octets sent.
    pub tx_octets: u64,
}

/// One worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerView {
    /// Its number, from 0.
    pub worker: u32,
    /// The CPU it runs on.
    pub cpu: u32,
    /// The share of the last second that it spent on packets, 0 to 1.
    pub busy_ratio: f64,
    /// Frames received on all ports.
    pub rx_packets: u64,
    /// Frames sent on all ports.
    pub tx_packets: u64,
    /// Frames handed to the control core.
    pub punted_packets: u64,
    /// Frames sent for the control core.
    pub injected_packets: u64,
    /// Frames dropped, for whatever reason.
    pub dropped_packets: u64,
    /// The same by port, in the order of the ports.
    pub ports: Vec<WorkerPortView>,
}

/// Answer to `GET /api/v1/workers`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct WorkersView {
    /// In order.
    pub workers: Vec<WorkerView>,
}

/// One reason for which packets were dropped or punted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropView {
    /// The reason's word: the metric's label; before it `control_`, `discovery_`, `ppp_` or `ipv6_` where the control core
    /// counts it.
    pub reason: String,
    /// `drop` or `punt`.
    pub verdict: String,
    /// How many, over all workers.
    pub packets: u64,
    /// How many by each worker, in order. Empty for a reason that the control core counts.
    pub workers: Vec<u64>,
    /// What the reason means, in one sentence.
    pub description: String,
    /// The clause that asks for it, for example `RFC 2516 section 4`; may be empty.
    pub reference: String,
}

/// Answer to `GET /api/v1/drops`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct DropsView {
    /// Every reason there is, those that never happened included.
    pub drops: Vec<DropView>,
}

/// One port.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PortView {
    /// Its name in the configuration.
    pub name: String,
    /// The DPDK device.
    pub device: String,
    /// The driver's name.
    pub driver: String,
    /// Its MAC address.
    pub mac: String,
    /// `access`, `core` or both.
    pub roles: Vec<String>,
    /// True if the link is up.
    pub link_up: bool,
    /// Link speed in Mbit/s; absent where the driver does not say.
    pub speed_mbps: Option<u32>,
    /// The largest Ethernet payload in octets, VLAN tags not counted.
    pub mtu: u16,
    /// Receive queues, and as many transmit queues.
    pub queues: u16,
    /// Who spreads packets over the workers now: `hardware`, `software`, or `single` where there is one worker.
    pub rss: String,
    /// Frames received.
    pub rx_packets: u64,
    /// Octets received.
    pub rx_octets: u64,
    /// Frames that the device dropped since no descriptor was free.
    pub rx_missed: u64,
    /// Frames received with an error.
    pub rx_errors: u64,
    /// Times that no packet buffer could be had for receiving.
    pub rx_no_buffer: u64,
    /// Frames sent.
    pub tx_packets: u64,
    /// Octets sent.
    pub tx_octets: u64,
    /// Frames that could not be sent.
    pub tx_errors: u64,
}

/// Answer to `GET /api/v1/ports`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct PortsView {
    /// In the order of the configuration.
    pub ports: Vec<PortView>,
}

/// One pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolView {
    /// Its name in the configuration.
    pub name: String,
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The network, `ADDRESS/LENGTH`.
    pub prefix: String,
    /// The length of each prefix given out: 32 in an IPv4 pool.
    pub length: u8,
    /// Addresses or prefixes that may be given out.
    pub size: u64,
    /// Given out now.
    pub used: u64,
    /// Free to give out now.
    pub free: u64,
}

/// Answer to `GET /api/v1/radius`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadiusView {
    /// Servers for logins, then those for accounting, each in the configuration's order.
    pub servers: Vec<RadiusServerView>,
    /// Logins that wait for a server.
    pub logins_waiting: u64,
    /// Access-Accepts that could not be used: their logins were refused.
    pub unusable_accepts: u64,
    /// Accounting, where it is on.
    pub accounting: Option<RadiusAccountingView>,
    /// Disconnect and CoA requests, where they are taken.
    pub dynamic: Option<RadiusDynamicView>,
}

/// One RADIUS server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadiusServerView {
    /// `authentication` or `accounting`.
    pub purpose: String,
    /// Address and port.
    pub address: SocketAddr,
    /// Lowest first.
    pub priority: u8,
    /// Whether it is alive.
    pub alive: bool,
    /// Requests that wait for it.
    pub outstanding: u64,
    /// Requests given to it, each counted once.
    pub requests: u64,
    /// Repetitions of them.
    pub retransmissions: u64,
    /// Accepts, rejects, challenges and accounting responses.
    pub replies: u64,
    /// Transmissions without an answer in time.
    pub timeouts: u64,
    /// Times that it was found dead.
    pub deaths: u64,
    /// Datagrams from there that were thrown away.
    pub discarded: u64,
    /// Mean time to an answer, in microseconds; 0 without any.
    pub round_trip_us: u64,
}

/// RADIUS accounting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadiusAccountingView {
    /// Records that wait for an answer.
    pub queued: u64,
    /// Sessions that are accounted for.
    pub sessions: u64,
    /// Records that were answered.
    pub delivered: u64,
    /// Records that were dropped because too many waited.
    pub dropped: u64,
    /// Writes to the disk that failed.
    pub disk_errors: u64,
}

/// Disconnect and CoA requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadiusDynamicView {
    /// Disconnect-Requests taken.
    pub disconnects: u64,
    /// CoA-Requests taken.
    pub changes: u64,
    /// Of both, those that were done.
    pub acks: u64,
    /// Of both, those that were refused.
    pub naks: u64,
    /// Datagrams that were met with silence.
    pub discarded: u64,
}

/// Answer to `GET /api/v1/pools`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct PoolsView {
    /// In the order of the configuration.
    pub pools: Vec<PoolView>,
}

/// What a route leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteKind {
    /// A neighbour on a core interface.
    Neighbour,
    /// One of several ways, the same for all packets of a flow.
    Several,
    /// A network that an interface is connected to.
    Connected,
    /// The router itself.
    Local,
    /// A pool: the address leads to its session.
    Pool,
    /// One session.
    Session,
    /// Dropped in silence.
    Blackhole,
    /// Answered with an ICMP error.
    Unreachable,
}

impl RouteKind {
    /// The word used in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Neighbour => "neighbour",
            Self::Several => "several",
            Self::Connected => "connected",
            Self::Local => "local",
            Self::Pool => "pool",
            Self::Session => "session",
            Self::Blackhole => "blackhole",
            Self::Unreachable => "unreachable",
        }
    }
}

/// One route of the forwarding table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteView {
    /// The destination, `ADDRESS/LENGTH`.
    pub prefix: String,
    /// The routing instance: 0 is the only one so far.
    pub vrf: u16,
    /// What it leads to.
    pub kind: RouteKind,
    /// The neighbour's address.
    pub next_hop: Option<IpAddr>,
    /// The interface's name.
    pub interface: Option<String>,
    /// The neighbour's MAC address; absent while it is not known.
    pub mac: Option<String>,
    /// The pool's name or the session's id.
    pub target: Option<String>,
    /// The ways of [`RouteKind::Several`]; none for other kinds.
    #[serde(default)]
    pub ways: Vec<WayView>,
    /// Who made it: `local`, `connected`, `neighbour`, `pool`, or the protocol that entered it in the kernel's table
    /// (`static`, `bgp`, `ospf`, ...; a number where it has no name).
    #[serde(default)]
    pub source: String,
    /// The kernel's metric; less is better. 0 for what is not from the kernel's table.
    #[serde(default)]
    pub metric: u32,
}

/// One of several ways of a route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WayView {
    /// The neighbour's address; absent where the destination itself is on the interface.
    pub next_hop: Option<IpAddr>,
    /// The interface's name.
    pub interface: String,
    /// The neighbour's MAC address; absent while it is not known.
    pub mac: Option<String>,
    /// How many of the flows go by it, in relation to the other ways.
    pub weight: u32,
}

/// Answer to `GET /api/v1/routes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct RoutesView {
    /// In the order of family, address and length.
    pub routes: Vec<RouteView>,
}

/// What runs here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct VersionView {
    /// The version of bngd.
    pub version: String,
    /// The version of DPDK that it is linked with.
    pub dpdk: String,
    /// The node's name in the configuration.
    pub node: String,
    /// The process id.
    pub pid: u32,
    /// Whole seconds since the start.
    pub uptime_s: u64,
}

/// Answer to `GET /healthz`: the process is alive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Always `ok`.
    pub status: String,
}

/// Answer to `GET /readyz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Readiness {
    /// True if subscribers can be served; the status code is 200 then and 503 otherwise.
    pub ready: bool,
    /// What is missing, one sentence each.
    pub reasons: Vec<String>,
}

/// Body of `POST /api/v1/clear`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct ClearRequest {
    /// Which sessions.
    pub filter: SessionFilter,
    /// Must be true where the filter names nothing, so that an empty filter never clears the box by mistake.
    pub all: bool,
}

/// Answer to `POST /api/v1/clear`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ClearReport {
    /// Sessions that are being taken down.
    pub cleared: u64,
}

/// Body of `POST /api/v1/log-level`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogLevelRequest {
    /// `error`, `warn`, `info`, `debug`, `trace`, or a filter such as `info,bng_routing=debug`.
    pub level: String,
}

/// Body of every answer that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorView {
    /// What is wrong, in one sentence.
    pub error: String,
}
