//! The validated configuration: plain fields, names resolved to indexes, every default filled in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::{InterfaceAddress, IpPrefix, Ipv4Prefix, Ipv6Prefix, Problem, Secret, VlanSet};

/// A whole configuration that passed every check.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file that it was read from.
    pub file: PathBuf,
    /// What was worth a warning and no error; the caller shows them.
    pub warnings: Vec<Problem>,
    /// The box itself.
    pub node: Node,
    /// Which CPU does what.
    pub cores: Cores,
    /// What is handed to DPDK.
    pub dpdk: Dpdk,
    /// Ports in the order of the file: their position is the port index everywhere. 1 to 32.
    pub ports: Vec<Port>,
    /// Core interfaces in the order of the file.
    pub interfaces: Vec<Interface>,
    /// Static routes.
    pub routes: Vec<StaticRoute>,
    /// Which frames get which service; the first that matches wins, none means no service.
    pub access: Vec<AccessMatch>,
    /// Profiles in the order of the file.
    pub profiles: Vec<Profile>,
    /// IPv4 address pools in the order of the file.
    pub ipv4_pools: Vec<Ipv4Pool>,
    /// IPv6 prefix pools in the order of the file.
    pub ipv6_pools: Vec<Ipv6Pool>,
    /// DSCP to PCP maps in the order of the file: at most 16, each the PCP by DSCP.
    pub priority_maps: Vec<[u8; 64]>,
    /// Who may log in.
    pub aaa: Aaa,
    /// How the box is watched.
    pub telemetry: Telemetry,
    /// What happens on SIGTERM.
    pub stop: Stop,
    /// The sizes of tables and queues.
    pub limits: Limits,
}

/// The box itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name: AC-Name and NAS-Identifier where nothing else is said; 1 to 64 characters. Default: the host name.
    pub name: String,
    /// Where is kept what must outlive the process.
    pub state_folder: PathBuf,
}

/// Which CPU does what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cores {
    /// The CPU of the control core.
    pub control: usize,
    /// The CPU of each worker; one worker per element, 1 to 64. A CPU may be named twice, with a warning.
    pub workers: Vec<usize>,
}

/// Whether huge pages are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hugepages {
    /// Used if there are enough, else ordinary memory.
    #[default]
    Auto,
    /// Start fails without them.
    Required,
    /// Never used.
    Off,
}

/// What is handed to DPDK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dpdk {
    /// Memory for packet buffers and DPDK's own tables, in MiB.
    pub memory_mb: u32,
    /// Whether huge pages are used.
    pub hugepages: Hugepages,
    /// Further EAL arguments, appended as they are.
    pub eal_args: Vec<String>,
    /// Packet buffers to allocate; `None` lets the number follow from queues and descriptors.
    pub mbufs: Option<u32>,
}

/// Receive and transmit queues of a port, equal in number.
pub type Queues = u16;

/// Who spreads packets over the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rss {
    /// The NIC where it can hash inside PPPoE, else software.
    #[default]
    Auto,
    /// The NIC; start fails where it cannot.
    Hardware,
    /// The workers.
    Software,
}

/// An Ethernet port driven by DPDK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Its name in the configuration, in metrics and in bngctl.
    pub name: String,
    /// The DPDK device with its arguments: `0000:3b:00.0`, or `net_tap0,iface=acc0`.
    pub device: String,
    /// The device without its arguments.
    pub device_name: String,
    /// True for a virtual device (`--vdev`), false for one on the PCI bus.
    pub is_virtual: bool,
    /// True for the net_tap driver, which has limits of its own.
    pub is_net_tap: bool,
    /// net_tap: the network namespace (a name under /run/netns) in which the kernel's side is made.
    pub netns: Option<String>,
    /// The largest Ethernet payload, VLAN tags not counted, in octets. Default: on access ports 1508, or 1504 on
    /// net_tap; on others 1500.
    pub mtu: u16,
    /// Receive queues, and as many transmit queues. Default: one for each worker, at most 4 on net_tap.
    pub queues: Queues,
    /// Who spreads packets over the workers.
    pub rss: Rss,
    /// The MAC address to set; `None` keeps the device's own.
    pub mac: Option<[u8; 6]>,
    /// Descriptors of each receive queue.
    pub rx_descriptors: u16,
    /// Descriptors of each transmit queue.
    pub tx_descriptors: u16,
    /// True if an access match names this port.
    pub is_access: bool,
    /// True if an interface is on this port.
    pub is_core: bool,
}

/// A routed interface on a port, or on a VLAN of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name, which is also its kernel twin's: at most 15 octets.
    pub name: String,
    /// Index into [`Config::ports`].
    pub port: usize,
    /// Its VLAN id, `None` for untagged.
    pub vlan: Option<u16>,
    /// Its addresses.
    pub addresses: Vec<InterfaceAddress>,
    /// The largest IP packet, in octets. Default: 1500, or the port's MTU where that is less.
    pub mtu: u16,
}

/// A static route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaticRoute {
    /// The destination.
    pub to: IpPrefix,
    /// The next hop.
    pub via: IpAddr,
    /// Index into [`Config::interfaces`]: the one whose network holds the next hop, or the one named.
    pub interface: usize,
}

/// The tag protocol identifier of the outer tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Tpid {
    /// 0x8100.
    #[default]
    Dot1q,
    /// 0x88a8.
    Dot1ad,
    /// 0x9100.
    Legacy9100,
}

impl Tpid {
    /// The 16 bits on the wire.
    #[must_use]
    pub const fn value(self) -> u16 {
        match self {
            Self::Dot1q => 0x8100,
            Self::Dot1ad => 0x88a8,
            Self::Legacy9100 => 0x9100,
        }
    }
}

/// Which tags a frame must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TagMatch {
    /// No tag, or a priority tag alone (VID 0).
    Untagged,
    /// Exactly one tag.
    Single {
        /// Its TPID.
        tpid: Tpid,
        /// Its VID.
        outer: VlanSet,
    },
    /// Exactly two tags; the inner one's TPID is 0x8100.
    Double {
        /// The outer tag's TPID.
        tpid: Tpid,
        /// The outer tag's VID.
        outer: VlanSet,
        /// The inner tag's VID.
        inner: VlanSet,
    },
}

/// One line of the access list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessMatch {
    /// Index into [`Config::ports`].
    pub port: usize,
    /// Which tags.
    pub tags: TagMatch,
    /// Index into [`Config::profiles`].
    pub profile: usize,
}

/// What subscribers of one kind get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The discovery stage.
    pub pppoe: Pppoe,
    /// LCP and authentication.
    pub ppp: Ppp,
    /// IPv4, `None` where the profile gives none.
    pub ipv4: Option<ProfileIpv4>,
    /// IPv6, `None` where the profile gives none.
    pub ipv6: Option<ProfileIpv6>,
    /// TCP MSS clamping in both directions.
    pub mss_clamp: MssClamp,
    /// Whether what comes from a foreign address is dropped.
    pub source_check: bool,
    /// What the client may send; `None` for as much as it can.
    pub rate_up: Option<Rate>,
    /// What may be sent to the client; `None` for as much as there is.
    pub rate_down: Option<Rate>,
    /// Index into [`Config::priority_maps`].
    pub priority_map: Option<usize>,
    /// What happens when a user who has a session logs in again from another line.
    pub duplicate_user: DuplicateUser,
    /// Whether the same user or line gets the same address again.
    pub sticky_addresses: bool,
    /// Who decides about a login, in the order in which they are asked: 1 or 2, each once.
    pub aaa: Vec<AaaMethod>,
}

/// A rate up to which packets are forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Bits per second of IP packets.
    pub bits_per_second: u64,
    /// Octets that may come at once after a rest.
    pub burst_octets: u32,
}

/// What happens when a user who has a session logs in again from another line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DuplicateUser {
    /// Both stay.
    #[default]
    Allow,
    /// The older session ends.
    Replace,
    /// The newer one is refused.
    Deny,
}

/// When a PADO is sent to the clients that a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PadoRule {
    /// Which clients.
    pub when: PadoMatch,
    /// After which time; `None` for never.
    pub delay: Option<Duration>,
}

/// Which clients a [`PadoRule`] is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PadoMatch {
    /// All, once the box has at least so many sessions.
    SessionsFrom(u32),
    /// Those that ask for this service.
    ServiceName(String),
    /// Those whose circuit id begins with this text.
    CircuitIdPrefix(String),
}

/// A MAC address, or its first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacPrefix {
    /// The address; bits behind the prefix do not count.
    pub mac: [u8; 6],
    /// 0 to 48.
    pub bits: u8,
}

/// The discovery stage (RFC 2516, RFC 4638).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pppoe {
    /// AC-Name. Default: the node's name.
    pub ac_name: String,
    /// Services offered; one empty name means any client is served.
    pub service_names: Vec<String>,
    /// Serve a client that asks for a service that is not in the list, and echo its name.
    pub accept_any_service: bool,
    /// The largest PPP-Max-Payload granted, 1492 to 9000 octets; 1492 means that the tag is not answered.
    pub max_payload: u16,
    /// Sessions that one MAC address may have on one line.
    pub sessions_per_mac: u16,
    /// Name the services in every PADO.
    pub advertise: bool,
    /// How long a PADO is held back where no rule matches.
    pub pado_delay: Duration,
    /// Other delays, the first match wins; at most 64.
    pub pado_rules: Vec<PadoRule>,
    /// Where not empty, only these addresses are served; at most 1,024.
    pub macs_allowed: Vec<MacPrefix>,
    /// Addresses that are never served; at most 1,024.
    pub macs_denied: Vec<MacPrefix>,
}

/// An authentication protocol, in the order in which it is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuthMethod {
    /// PAP (RFC 1334).
    Pap,
    /// CHAP with MD5 (RFC 1994).
    ChapMd5,
    /// MS-CHAP version 2 (RFC 2759).
    MsChapV2,
}

/// LCP and authentication (RFC 1661, RFC 1334, RFC 1994).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ppp {
    /// What is offered, best first; at least one.
    pub auth: Vec<AuthMethod>,
    /// The MRU asked for, 576 to 9000 octets. A session gets more than 1492 only as far as PPP-Max-Payload was agreed.
    pub mru: u16,
    /// Time between two echo requests on an otherwise silent line; zero sends none.
    pub echo_interval: Duration,
    /// Unanswered echo requests after which the session ends.
    pub echo_misses: u8,
    /// RFC 1661's Restart timer.
    pub restart_interval: Duration,
    /// How long the first LCP Configure-Request waits for the client to speak first.
    pub first_request_delay: Duration,
    /// RFC 1661's Max-Configure: Configure-Requests sent without an answer before giving up.
    pub configure_max: u8,
    /// RFC 1661's Max-Terminate.
    pub terminate_max: u8,
    /// RFC 1661's Max-Failure: Configure-Naks sent before refusing.
    pub failure_max: u8,
    /// How long the two sides may take to agree on the link.
    pub establish_timeout: Duration,
    /// How long a client may take to authenticate.
    pub auth_timeout: Duration,
    /// How long a client may stay without a network protocol.
    pub network_timeout: Duration,
    /// Whether packets from the client count as a sign of life.
    pub traffic_is_alive: bool,
}

/// IPv4 for a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileIpv4 {
    /// The router's own address towards its clients (IPCP).
    pub gateway: Ipv4Addr,
    /// Index into [`Config::ipv4_pools`].
    pub pool: usize,
    /// Name servers told to the client (RFC 1877): at most 2.
    pub dns: Vec<Ipv4Addr>,
    /// NetBIOS name servers told to the client (RFC 1877): at most 2.
    pub nbns: Vec<Ipv4Addr>,
}

/// IPv6 for a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileIpv6 {
    /// Index into [`Config::ipv6_pools`]: the /64 for the line itself.
    pub prefix_pool: Option<usize>,
    /// Index into [`Config::ipv6_pools`]: the prefix delegated over DHCPv6.
    pub delegated_pool: Option<usize>,
    /// Name servers told to the client: at most 3.
    pub dns: Vec<Ipv6Addr>,
    /// Domain names to search; each can be encoded, all within 512 octets.
    pub domains: Vec<String>,
    /// Router advertisements.
    pub router: RouterAdvertisements,
    /// The DHCPv6 server; `None`: DHCPv6 is not answered.
    pub dhcp: Option<Dhcp>,
}

/// Router advertisements (RFC 4861 section 6.2.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterAdvertisements {
    /// The longest time between two that no client asked for, 4 to 1,800 s.
    pub interval_max: Duration,
    /// The shortest: 3 s to three quarters of the longest.
    pub interval_min: Duration,
    /// How long the box is the default router, in seconds: 0, or `interval_max` to 9,000.
    pub lifetime_s: u16,
    /// M: addresses come by DHCPv6.
    pub managed: bool,
    /// O: other settings come by DHCPv6.
    pub other: bool,
    /// Hop limit for clients, 0 for none said.
    pub hop_limit: u8,
    /// Whether the link's MTU is advertised.
    pub mtu: bool,
    /// A: clients may make addresses from the line's prefix.
    pub autonomous: bool,
    /// Valid lifetime of the line's prefix, in seconds.
    pub prefix_valid_s: u32,
    /// Preferred lifetime of the line's prefix, in seconds: at most the valid one.
    pub prefix_preferred_s: u32,
}

/// The DHCPv6 server (RFC 8415).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dhcp {
    /// Whether addresses (IA_NA) are leased from the line's prefix; false where there is none.
    pub addresses: bool,
    /// Whether Rapid Commit is granted.
    pub rapid_commit: bool,
    /// Preference.
    pub preference: u8,
    /// Preferred lifetime of leases, in seconds: at most the valid one.
    pub preferred_s: u32,
    /// Valid lifetime of leases, in seconds.
    pub valid_s: u32,
    /// Information Refresh Time, in seconds.
    pub refresh_s: Option<u32>,
}

/// TCP MSS clamping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MssClamp {
    /// To what the session's MTU leaves room for.
    #[default]
    Auto,
    /// Not at all.
    Off,
}

/// Who decides about a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AaaMethod {
    /// The users of [`Aaa::users`].
    #[default]
    Local,
    /// The servers of [`Aaa::radius`].
    Radius,
}

/// A pool of IPv4 addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ipv4Pool {
    /// Its name.
    pub name: String,
    /// The network; its first and last address are not given out unless it is a /31 or /32.
    pub prefix: Ipv4Prefix,
    /// Addresses never given out, as inclusive ranges in order: those of `exclude`, gateways, first and last address.
    pub reserved: Vec<(Ipv4Addr, Ipv4Addr)>,
}

/// A pool of IPv6 prefixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ipv6Pool {
    /// Its name.
    pub name: String,
    /// The network that is cut into prefixes.
    pub prefix: Ipv6Prefix,
    /// The length of each prefix given out, in bits; at most 24 more than the network's.
    pub length: u8,
}

/// Who may log in.
#[derive(Debug, Clone, Default)]
pub struct Aaa {
    /// Users known to the box itself, those of `file` included; names are unique.
    pub users: Vec<LocalUser>,
    /// RADIUS; `None` where there is none.
    pub radius: Option<Radius>,
}

/// RADIUS: logins, accounting, and changes from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Radius {
    /// NAS-Identifier, 1 to 253 octets.
    pub nas_identifier: String,
    /// NAS-IP-Address.
    pub nas_ipv4: Option<Ipv4Addr>,
    /// NAS-IPv6-Address.
    pub nas_ipv6: Option<Ipv6Addr>,
    /// NAS-Port-Id: a text with the places of [`FORMAT_WORDS`](crate::FORMAT_WORDS) in braces.
    pub nas_port_id: String,
    /// Calling-Station-Id, likewise.
    pub calling_station_id: String,
    /// Called-Station-Id, likewise.
    pub called_station_id: String,
    /// Who is asked about logins: up to 32, each at another address or port.
    pub servers: Vec<RadiusServer>,
    /// How often servers are asked, and when they count as dead.
    pub requests: RadiusRequests,
    /// Accounting; `None` for none.
    pub accounting: Option<RadiusAccounting>,
    /// Disconnect and CoA requests; `None`: none is taken.
    pub dynamic: Option<RadiusDynamic>,
}

/// One RADIUS server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RadiusServer {
    /// Its address and port.
    pub address: SocketAddr,
    /// The shared secret, 1 to 128 octets.
    pub secret: Secret,
    /// The address to send from, of the same family; `None` for the kernel's choice.
    pub source: Option<IpAddr>,
    /// Lowest first; equals share the load.
    pub priority: u8,
    /// Share of the load, 1 to 100.
    pub weight: u8,
    /// Whether it answers Status-Server.
    pub status_server: bool,
    /// Whether its replies to logins must carry Message-Authenticator.
    pub require_message_authenticator: bool,
}

/// How often servers are asked, and when they count as dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RadiusRequests {
    /// Time to the first repetition.
    pub timeout: Duration,
    /// The longest time between repetitions.
    pub timeout_max: Duration,
    /// Transmissions to one server before the next is asked.
    pub transmissions: u8,
    /// How long a request may take over all servers.
    pub time_max: Duration,
    /// Unanswered transmissions in a row that a dead server has had.
    pub dead_after_timeouts: u32,
    /// And its silence.
    pub dead_after: Duration,
    /// A dead server without Status-Server is tried again after this time.
    pub dead_time: Duration,
    /// Time between probes of a dead server.
    pub probe_interval: Duration,
    /// Requests outstanding at most.
    pub outstanding_max: usize,
}

/// Accounting by RADIUS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RadiusAccounting {
    /// Who is told: 1 to 32.
    pub servers: Vec<RadiusServer>,
    /// Time between interims that wins over a server's, at least a minute; `None`: the server's.
    pub interim: Option<Duration>,
    /// By how many hundredths an interval may be shortened at random, 0 to 50.
    pub interim_jitter_percent: u32,
    /// Where records outlive an outage and a restart.
    pub folder: PathBuf,
    /// Records kept at most.
    pub records_max: usize,
    /// Octets of memory for them at most.
    pub records_octets_max: usize,
    /// Whether servers are told when the box starts and stops.
    pub on_off: bool,
}

/// Disconnect and CoA requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RadiusDynamic {
    /// Where to listen; at least one, no wildcard.
    pub listen: Vec<SocketAddr>,
    /// Who may ask; at least one.
    pub clients: Vec<RadiusDynamicClient>,
    /// How far Event-Timestamp may be off.
    pub window: Duration,
    /// Whether Event-Timestamp must be there.
    pub require_event_timestamp: bool,
}

/// Who may send Disconnect and CoA requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RadiusDynamicClient {
    /// Its address.
    pub address: IpAddr,
    /// The shared secret, 1 to 128 octets.
    pub secret: Secret,
    /// Whether its requests must carry Message-Authenticator.
    pub require_message_authenticator: bool,
}

/// One local user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalUser {
    /// The name as the client sends it, 1 to 253 octets.
    pub name: String,
    /// The password, 1 to 128 octets.
    pub password: Secret,
    /// The address that this user always gets: nobody else's.
    pub ipv4: Option<Ipv4Addr>,
    /// How long a session lasts at most.
    pub session_timeout: Option<Duration>,
    /// Not let in.
    pub disabled: bool,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogLevel {
    /// Errors alone.
    Error,
    /// And warnings.
    Warn,
    /// And the life of sessions.
    #[default]
    Info,
    /// And each decision of the control core.
    Debug,
    /// And each control frame.
    Trace,
}

impl LogLevel {
    /// The word in the configuration: `error`, `warn`, `info`, `debug` or `trace`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Human,
    /// One JSON object a line.
    Json,
}

/// Logging.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Log {
    /// How much.
    pub level: LogLevel,
    /// In which form.
    pub format: LogFormat,
}

/// How the box is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telemetry {
    /// Where HTTP is served over TCP; `None` for nowhere.
    pub listen: Option<SocketAddr>,
    /// The UNIX socket of the same service, which bngctl uses.
    pub socket: PathBuf,
    /// Logging.
    pub log: Log,
}

/// What becomes of sessions when the daemon stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSessions {
    /// Clients are left up for the next start.
    Keep,
    /// Every client gets a PADT.
    Disconnect,
}

/// What happens on SIGTERM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// What becomes of the sessions.
    pub sessions: StopSessions,
}

/// The sizes of tables and queues. Each is reserved at start, so that nothing grows without bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Sessions in the whole box.
    pub sessions_max: u32,
    /// Sessions of one access port that have not authenticated yet.
    pub half_open_max_per_port: u32,
    /// Sessions of one (port, outer VLAN), 0 for no limit.
    pub sessions_max_per_vlan: u32,
    /// Sessions of one (port, outer VLAN, inner VLAN), 0 for no limit.
    pub sessions_max_per_line: u32,
    /// What a PADR gets when a limit is met.
    pub when_full: WhenFull,
    /// PADTs a second that answer frames of unknown sessions.
    pub unknown_padt_per_s: u32,
    /// How many PADIs are answered.
    pub padi: RequestRates,
    /// How many PADRs are served.
    pub padr: RequestRates,
    /// When a failing client must wait; `None` for never.
    pub lock_out: Option<LockOut>,
    /// How long a PADO's cookie is good for.
    pub cookie_lifetime: Duration,
    /// The priority of control frames.
    pub control_priority: u8,
    /// The DSCP of the box's own packets.
    pub control_dscp: u8,
    /// Records in each worker's punt ring of each class.
    pub punt_ring_frames: u32,
    /// Octets in each worker's punt ring of each class.
    pub punt_ring_bytes: u32,
    /// Records in each worker's inject ring.
    pub inject_ring_frames: u32,
    /// Octets in each worker's inject ring.
    pub inject_ring_bytes: u32,
    /// IPv4 routes.
    pub ipv4_routes_max: u32,
    /// IPv6 routes.
    pub ipv6_routes_max: u32,
    /// Neighbours on core interfaces.
    pub neighbours_max: u32,
}

/// What a client's PADR gets when a limit is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// Nothing.
    #[default]
    Silent,
    /// A PADS with AC-System-Error.
    Error,
}

/// How often something may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRate {
    /// Lasting rate per second, at least 1.
    pub per_s: u32,
    /// How many may come at once after a rest, at least 1.
    pub burst: u32,
}

/// The rates up to which requests are served; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRates {
    /// Of one MAC address on one line.
    pub mac: Option<RequestRate>,
    /// Of one line that two tags name.
    pub line: Option<RequestRate>,
    /// Of one outer VLAN of a port.
    pub vlan: Option<RequestRate>,
    /// Of one port.
    pub port: Option<RequestRate>,
}

/// Who has to wait after failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LockOutBy {
    /// The line: port, VLANs and MAC address.
    #[default]
    Line,
    /// The circuit id where there is one; else the line.
    CircuitId,
}

/// When a failing client must wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockOut {
    /// Failures that lead to a lock-out, at least 1.
    pub failures: u16,
    /// Time within which one failure must follow another to count with it.
    pub window: Duration,
    /// How long the first lock-out is; each further one is twice as long.
    pub wait: Duration,
    /// How long a lock-out is at most: not less than `wait`.
    pub wait_max: Duration,
    /// Who has to wait.
    pub by: LockOutBy,
}
