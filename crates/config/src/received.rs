//! The sections of the file as they are received: typed, defaults filled in, nothing compared with anything else yet.
//! Each section is declared once here; its documentation is also the schema's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::decode::{
    AnyText, At, BitRate, Decode, Here, Int, List, Named, Octets, Parsed, Text, TextForm, Time, entries, scalar,
    section, unknown_keys, words,
};
use crate::source::Sources;
use crate::tree::{Kind, Tree};
use crate::{
    AaaMethod, AuthMethod, DuplicateUser, Hugepages, InterfaceAddress, IpPrefix, Ipv4Prefix, Ipv6Prefix, LockOutBy,
    LogFormat, LogLevel, MacPrefix, MssClamp, PrefixError, Rss, Secret, StopSessions, Tpid, VlanSet, WhenFull,
};

section! {
    /// Configuration of bngd, a PPPoE broadband network gateway.
    struct Root {
        /// The box itself.
        with node: NodeSection = "{}",
        /// Which CPU does what. A CPU named twice is shared, with a warning; one that does not exist is an error.
        needed cores: CoresSection = "{workers: []}",
        /// What is handed to DPDK.
        with dpdk: DpdkSection = "{}",
        /// The Ethernet ports, by name.
        needed ports: Named<PortSection> = "{}",
        /// Routed interfaces towards the core, by name. Each has a kernel twin of the same name, so a name has at most
        /// 15 octets.
        with interfaces: Named<InterfaceSection> = "{}",
        /// Static routes.
        with routes: List<RouteSection> = "[]",
        /// Which frames from subscribers get which service. The first match wins; no match means no service.
        with access: List<AccessSection> = "[]",
        /// What subscribers of one kind get, by name.
        with profiles: Named<ProfileSection> = "{}",
        /// Pools of IPv4 addresses and IPv6 prefixes, by name.
        with pools: Named<PoolSection> = "{}",
        /// Maps from a packet's DSCP to the priority (PCP) of the tags that it gets towards the subscriber, by name; at
        /// most 16. A DSCP that a map does not name has PCP 0.
        with priority_maps: Named<List<PrioritySection>> = "{}",
        /// Who may log in.
        with aaa: AaaSection = "{}",
        /// How the box is watched.
        with telemetry: TelemetrySection = "{}",
        /// What happens when the daemon is stopped.
        with stop: StopSection = "{}",
        /// The sizes of tables and queues. Each is reserved at start, so that nothing grows without bound.
        with limits: LimitsSection = "{}",
    }
}

section! {
    /// The box itself.
    struct NodeSection {
        /// Its name: the AC-Name where a profile sets none. Default: the host name.
        optional name: Text<64>,
        /// Where is kept what must outlive the process: the DUID by which DHCPv6 clients know the box.
        with state_folder: PathValue = "/var/lib/bngd",
    }
}

section! {
    /// Which CPU does what.
    struct CoresSection {
        /// The CPU of the control core.
        with control: Int<0, 1023> = "0",
        /// The CPU of each worker; there are as many workers as elements, at most 64.
        needed workers: List<Int<0, 1023>> = "[]",
    }
}

section! {
    /// What is handed to DPDK.
    struct DpdkSection {
        /// Memory for packet buffers and DPDK's own tables, in MiB.
        with memory_mb: Int<64, 1_048_576> = "512",
        /// Whether huge pages are used.
        with hugepages: Hugepages = "auto",
        /// Further EAL arguments, handed over as they are.
        with eal_args: List<Text<256>> = "[]",
        /// Packet buffers to allocate. Default: as many as queues and descriptors need.
        optional mbufs: Int<1024, 16_777_216>,
    }
}

section! {
    /// An Ethernet port driven by DPDK.
    struct PortSection {
        /// The DPDK device with its arguments: a PCI address such as `0000:3b:00.0`, or a virtual device such as
        /// `net_tap0,iface=acc0`.
        required device: Text<256>,
        /// net_tap: the network namespace, by its name under /run/netns, in which the kernel's side is made.
        optional netns: Text<64>,
        /// The largest Ethernet payload, VLAN tags not counted, in octets. net_tap takes at most 1504; PPPoE with
        /// 1500-octet packets needs 1508. Default: on access ports 1508, or 1504 on net_tap; on others 1500.
        optional mtu: Int<576, 9600>,
        /// Receive queues, and as many transmit queues. Default: one for each worker, at most 4 on net_tap.
        optional queues: QueuesValue,
        /// Who spreads packets over the workers.
        with rss: Rss = "auto",
        /// The MAC address to set. Default: the device's own.
        optional mac: Parsed<MacText>,
        /// Descriptors of each queue.
        with descriptors: DescriptorsSection = "{}",
    }
}

section! {
    /// Descriptors of each queue.
    struct DescriptorsSection {
        /// Of each receive queue.
        with rx: Int<64, 8192> = "1024",
        /// Of each transmit queue.
        with tx: Int<64, 8192> = "1024",
    }
}

section! {
    /// A routed interface on a port, or on a VLAN of it.
    struct InterfaceSection {
        /// The port's name.
        required port: Text<32>,
        /// VLAN id. Default: untagged.
        optional vlan: Int<1, 4094>,
        /// Its addresses with the length of the connected network.
        with addresses: List<Parsed<InterfaceAddress>> = "[]",
        /// The largest IP packet, in octets. Default: 1500, or the port's MTU where that is less.
        optional mtu: Int<576, 9600>,
    }
}

section! {
    /// A static route.
    struct RouteSection {
        /// The destination network.
        required to: Parsed<IpPrefix>,
        /// The next hop: an address in the network of an interface, or a link-local one.
        required via: Parsed<IpAddr>,
        /// The interface's name. Needed where the next hop is link-local.
        optional interface: Text<32>,
    }
}

section! {
    /// One match of the access list.
    struct AccessSection {
        /// The port's name.
        required port: Text<32>,
        /// Match frames without a tag, or with a priority tag alone.
        with untagged: bool = "false",
        /// VLAN ids of the outer tag: an id, a range `100-199`, a list of both, or `any`. Without `inner_vlan`, the frame
        /// must have exactly this one tag.
        optional outer_vlan: VlanSet,
        /// VLAN ids of the inner tag, in the same forms: the frame must have exactly two tags.
        optional inner_vlan: VlanSet,
        /// The outer tag's protocol identifier. Default: `dot1ad` for two tags, `dot1q` for one.
        optional tpid: Tpid,
        /// The profile's name.
        required profile: Text<32>,
    }
}

section! {
    /// What subscribers of one kind get.
    struct ProfileSection {
        /// The discovery stage (RFC 2516).
        with pppoe: PppoeSection = "{}",
        /// LCP and authentication (RFC 1661).
        with ppp: PppSection = "{}",
        /// IPv4. Left out, these subscribers get none.
        optional ipv4: Ipv4Section,
        /// IPv6. Left out, these subscribers get none.
        optional ipv6: Ipv6Section,
        /// TCP MSS clamping in both directions.
        with mss_clamp: MssClamp = "auto",
        /// Drop what comes from an address that is not the subscriber's own. Leave it on.
        with source_check: bool = "true",
        /// The rates up to which packets are forwarded, counted in octets of IP packets.
        with rate: RateSection = "{}",
        /// The name of a priority map for frames to the subscriber. Default: PCP 0.
        optional priority_map: Text<32>,
        /// What happens when a user who has a session logs in again from another line; a redial from the same line
        /// always replaces its old session.
        with duplicate_user: DuplicateUser = "allow",
        /// Give the same user, or else the same line, the same address and prefixes again where they are free.
        with sticky_addresses: bool = "true",
        /// Who decides about a login: `local`, `radius`, or a list of both. `[radius, local]`: the local users where no
        /// RADIUS server answers; a refusal by RADIUS stands. `[local, radius]`: RADIUS about names that are not among
        /// the local users; a wrong password stands.
        with aaa: ChainValue = "local",
    }
}

section! {
    /// The rates up to which packets are forwarded; what is over is dropped.
    struct RateSection {
        /// From the subscriber. Default: no limit.
        optional up: BitRate<64_000, 400_000_000_000>,
        /// To the subscriber. Default: no limit.
        optional down: BitRate<64_000, 400_000_000_000>,
        /// Octets that may come at once after a rest, from the subscriber. Default: what arrives in 50 ms at the rate. At
        /// least 2 ms at the rate are always let through.
        optional burst_up: Octets<3036, 1_073_741_824>,
        /// The same, to the subscriber.
        optional burst_down: Octets<3036, 1_073_741_824>,
    }
}

section! {
    /// The priority of some packets.
    struct PrioritySection {
        /// The DSCP, or a range of them: `46`, `40-47`; 0 to 63.
        required dscp: DscpRange,
        /// The priority code point (IEEE 802.1Q).
        required pcp: Int<0, 7>,
    }
}

section! {
    /// The discovery stage (RFC 2516).
    struct PppoeSection {
        /// AC-Name. Default: the node's name.
        optional ac_name: Text<64>,
        /// Services offered. The empty name stands for any client that asks for none in particular.
        with service_names: List<AnyText<64>> = "['']",
        /// Serve a client that asks for a service that is not in the list.
        with accept_any_service: bool = "false",
        /// The largest PPP-Max-Payload granted (RFC 4638), in octets; the port and the tags may allow less. 1492 leaves
        /// the tag unanswered.
        with max_payload: Int<1492, 9000> = "1500",
        /// Sessions that one MAC address may have on one line.
        with sessions_per_mac: Int<1, 64> = "1",
        /// Name the services in every PADO (RFC 2516 section 5.2), as far as they fit; section 9 warns against telling
        /// them to everybody.
        with advertise: bool = "false",
        /// How long a PADO is held back: among several concentrators on a VLAN the quickest serves. 0 sends it at once.
        with pado_delay: Time<0, 10_000> = "0",
        /// Other delays for some clients; the first rule that matches decides. At most 64.
        with pado_rules: List<PadoRuleSection> = "[]",
        /// Which MAC addresses are served.
        with macs: MacsSection = "{}",
    }
}

section! {
    /// A delay of the PADO for some clients: exactly one of `sessions_from`, `service_name` and `circuit_id`, and exactly one
    /// of `delay` and `never`.
    struct PadoRuleSection {
        /// Once the box has at least so many sessions.
        optional sessions_from: Int<1, 1_048_576>,
        /// For clients that ask for this service.
        optional service_name: Text<64>,
        /// For clients whose circuit id (TR-101) begins with this text.
        optional circuit_id: Text<63>,
        /// How long the PADO is held back; 0 sends it at once.
        optional delay: Time<0, 10_000>,
        /// `true`: no PADO at all, another concentrator is to serve them.
        with never: bool = "false",
    }
}

section! {
    /// Which MAC addresses are served: all but those of `deny`, or, where `allow` has any, those of `allow` alone.
    struct MacsSection {
        /// Addresses (02:00:00:00:00:01) or beginnings of them (02:00:00/24). At most 1,024.
        with allow: List<Parsed<MacPrefixText>> = "[]",
        /// The same, never served. At most 1,024.
        with deny: List<Parsed<MacPrefixText>> = "[]",
    }
}

section! {
    /// LCP and authentication (RFC 1661, RFC 1334, RFC 1994).
    struct PppSection {
        /// Authentication protocols in the order in which they are offered.
        with auth: List<AuthMethod> = "[chap-md5, pap]",
        /// The MRU asked for, in octets. A session gets more than 1492 only as far as PPP-Max-Payload was agreed.
        with mru: Int<576, 9000> = "1492",
        /// Time between two echo requests on an otherwise silent line; 0 sends none.
        with echo_interval: Time<0, 3_600_000> = "30s",
        /// Unanswered echo requests after which the session ends.
        with echo_misses: Int<1, 20> = "3",
        /// RFC 1661's Restart timer.
        with restart_interval: Time<200, 30_000> = "3s",
        /// How long the first LCP Configure-Request waits for the client to speak first; 0 sends it right behind the
        /// PADS, before many a client listens.
        with first_request_delay: Time<0, 5_000> = "200ms",
        /// RFC 1661's Max-Configure: Configure-Requests without an answer before giving up.
        with configure_max: Int<1, 50> = "10",
        /// RFC 1661's Max-Terminate.
        with terminate_max: Int<1, 10> = "2",
        /// RFC 1661's Max-Failure: Configure-Naks before refusing.
        with failure_max: Int<1, 20> = "5",
        /// How long the two sides may take to agree on the link, from the PADS on.
        with establish_timeout: Time<1000, 600_000> = "60s",
        /// How long a client may take to authenticate.
        with auth_timeout: Time<1000, 300_000> = "30s",
        /// How long a client that has authenticated may stay without IPv4 and IPv6.
        with network_timeout: Time<1000, 600_000> = "60s",
        /// Count packets from the client as a sign of life, so that a busy line gets no echo requests.
        with traffic_is_alive: bool = "true",
    }
}

section! {
    /// IPv4 for a profile.
    struct Ipv4Section {
        /// The router's own address towards its clients. It may lie in the pool and is then not given out.
        required gateway: Parsed<Ipv4Addr>,
        /// The name of an IPv4 pool.
        required pool: Text<32>,
        /// Name servers told to the client (RFC 1877): at most 2.
        with dns: List<Parsed<Ipv4Addr>> = "[]",
        /// NetBIOS name servers told to the client (RFC 1877): at most 2.
        with nbns: List<Parsed<Ipv4Addr>> = "[]",
    }
}

section! {
    /// IPv6 for a profile.
    struct Ipv6Section {
        /// The name of an IPv6 pool with length 64: the prefix of the line itself.
        optional prefix_pool: Text<32>,
        /// The name of an IPv6 pool: the prefix delegated over DHCPv6.
        optional delegated_pool: Text<32>,
        /// Name servers told to the client by router advertisement (RFC 8106) and DHCPv6: at most 3.
        with dns: List<Parsed<Ipv6Addr>> = "[]",
        /// Domain names to search, told in the same ways; 512 octets in all.
        with domains: List<Text<253>> = "[]",
        /// Router advertisements (RFC 4861).
        with ra: RouterSection = "{}",
        /// The DHCPv6 server (RFC 8415).
        with dhcp: DhcpSection = "{}",
    }
}

section! {
    /// Router advertisements (RFC 4861 section 6.2.1, RFC 8106).
    struct RouterSection {
        /// The longest time between two advertisements that no client asked for.
        with interval: Time<4_000, 1_800_000> = "10m",
        /// The shortest; at most three quarters of `interval`. Default: a third of `interval`.
        optional interval_min: Time<3_000, 1_350_000>,
        /// How long the box is the default router after an advertisement: 0 for never, else not less than `interval`.
        with lifetime: Time<0, 9_000_000> = "30m",
        /// The M flag: addresses come by DHCPv6.
        with managed: bool = "false",
        /// The O flag: other settings come by DHCPv6. Default: where the profile has a `delegated_pool`, since many a
        /// client asks for a prefix only once it sees M or O.
        optional other: bool,
        /// The hop limit for clients; 0 leaves it to them.
        with hop_limit: Int<0, 255> = "64",
        /// Advertise the link's MTU.
        with mtu: bool = "true",
        /// Clients may make addresses of their own from the line's prefix (the A flag, SLAAC).
        with autonomous: bool = "true",
        /// The valid lifetime of the line's prefix, in whole seconds.
        with prefix_valid: Time<60_000, 31_536_000_000> = "720h",
        /// Its preferred lifetime, at most the valid one.
        with prefix_preferred: Time<60_000, 31_536_000_000> = "168h",
    }
}

section! {
    /// The DHCPv6 server (RFC 8415). Leases end with their session.
    struct DhcpSection {
        /// Answer DHCPv6 at all.
        with enabled: bool = "true",
        /// Lease addresses (IA_NA) from the line's prefix.
        with addresses: bool = "true",
        /// Answer a Solicit with Rapid Commit by a Reply.
        with rapid_commit: bool = "true",
        /// The Preference in an Advertise; 255 makes clients take this server at once.
        with preference: Int<0, 255> = "0",
        /// The preferred lifetime of leases, at most the valid one. Clients renew after half of it.
        with preferred: Time<60_000, 31_536_000_000> = "1h",
        /// The valid lifetime of leases: one that is not renewed ends with it.
        with valid: Time<60_000, 31_536_000_000> = "2h",
        /// How long clients may keep what they asked for without an address or prefix (Information Refresh Time).
        /// Default: not said, and clients take a day.
        optional refresh: Time<600_000, 31_536_000_000>,
    }
}

section! {
    /// A pool of IPv4 addresses or IPv6 prefixes.
    struct PoolSection {
        /// The network: IPv4 of /8 and longer, or IPv6.
        required prefix: Parsed<IpPrefix>,
        /// IPv6: the length of each prefix given out, at most 24 more than the network's.
        optional length: Int<1, 128>,
        /// IPv4: addresses never given out, each an address or a range `A-B`.
        with exclude: List<AddressRange> = "[]",
    }
}

section! {
    /// Who may log in.
    struct AaaSection {
        /// Users known to the box itself.
        with local: LocalSection = "{}",
        /// RADIUS servers. Left out, there are none.
        optional radius: RadiusSection,
    }
}

section! {
    /// RADIUS: logins, accounting, and changes from outside.
    struct RadiusSection {
        /// NAS-Identifier. Default: the node's name.
        optional nas_identifier: Text<253>,
        /// NAS-IP-Address.
        optional nas_ip_address: Parsed<Ipv4Addr>,
        /// NAS-IPv6-Address.
        optional nas_ipv6_address: Parsed<Ipv6Addr>,
        /// NAS-Port-Id: a text with {node}, {port}, {outer_vlan}, {inner_vlan}, {vlans}, {session_id}, {mac} (02:..),
        /// {mac_dash} (02-..), {mac_dot}, {mac_plain}, {local_mac}, {circuit_id} and {remote_id} in it.
        with nas_port_id: AnyText<253> = "'{port}:{vlans}'",
        /// Calling-Station-Id, likewise.
        with calling_station_id: AnyText<253> = "'{mac}'",
        /// Called-Station-Id, likewise.
        with called_station_id: AnyText<253> = "'{local_mac}'",
        /// Who is asked about logins.
        with servers: List<RadiusServerSection> = "[]",
        /// How often servers are asked, and when they count as dead.
        with requests: RadiusRequestsSection = "{}",
        /// Accounting. Left out, there is none.
        optional accounting: RadiusAccountingSection,
        /// Disconnect and CoA requests (RFC 5176). Left out, none is taken.
        optional dynamic: RadiusDynamicSection,
    }
}

section! {
    /// One RADIUS server.
    struct RadiusServerSection {
        /// Its address.
        required address: Parsed<IpAddr>,
        /// Its port. Default: 1812, for accounting 1813.
        optional port: Int<1, 65_535>,
        /// A file with the shared secret, 1 to 128 octets in one line; a relative path starts at this file's folder.
        required secret_file: Text<4096>,
        /// The address to send from. Default: the kernel's choice.
        optional source: Parsed<IpAddr>,
        /// The server with the lowest number that is alive is asked; those with the same number share the load.
        with priority: Int<0, 255> = "0",
        /// Share of the load among servers of the same priority.
        with weight: Int<1, 100> = "1",
        /// Whether it answers Status-Server (RFC 5997): so it is found alive again without a login as the trial.
        with status_server: bool = "true",
        /// Whether its replies to logins must carry Message-Authenticator (CVE-2024-3596). Turn it off only for a server
        /// that cannot send it.
        with require_message_authenticator: bool = "true",
    }
}

section! {
    /// How often servers are asked, and when they count as dead.
    struct RadiusRequestsSection {
        /// Time to the first repetition (RFC 5080: IRT).
        with timeout: Time<100, 60_000> = "2s",
        /// The longest time between repetitions (MRT).
        with timeout_max: Time<100, 120_000> = "16s",
        /// Transmissions to one server before the next is asked.
        with transmissions: Int<1, 10> = "3",
        /// How long a request may take over all servers (MRD).
        with time_max: Time<1000, 120_000> = "30s",
        /// A server that lets so many transmissions in a row go unanswered ...
        with dead_after_timeouts: Int<1, 100> = "3",
        /// ... and has been silent for so long is dead.
        with dead_after: Time<0, 300_000> = "5s",
        /// A dead server without Status-Server is tried again after this time.
        with dead_time: Time<1000, 3_600_000> = "60s",
        /// Time between Status-Server probes of a dead server.
        with probe_interval: Time<200, 300_000> = "5s",
        /// Requests outstanding at most.
        with outstanding_max: Int<1, 65_536> = "16384",
    }
}

section! {
    /// Accounting by RADIUS (RFC 2866).
    struct RadiusAccountingSection {
        /// Who is told.
        required servers: List<RadiusServerSection>,
        /// Time between interims; it wins over a server's. Default: the server's (Acct-Interim-Interval), never less than
        /// a minute; without one, none are sent.
        optional interim: Time<60_000, 86_400_000>,
        /// By how many hundredths an interval may be shortened at random, so that interims are spread.
        with interim_jitter: Int<0, 50> = "10",
        /// The folder in which records that no server has answered are kept, over a restart too.
        with folder: PathValue = "/var/lib/bngd/accounting",
        /// Records kept at most; of more, the oldest are dropped and counted.
        with records_max: Int<100, 10_000_000> = "300000",
        /// Memory for them at most.
        with records_octets_max: Octets<65_536, 4_294_967_295> = "256MiB",
        /// Whether servers are told when the box starts and stops (Accounting-On and -Off).
        with on_off: bool = "true",
    }
}

section! {
    /// Disconnect and CoA requests (RFC 5176).
    struct RadiusDynamicSection {
        /// Where to listen: addresses of this box with a port, usually 3799.
        required listen: List<Parsed<SocketAddr>>,
        /// Who may ask; all others are met with silence.
        required clients: List<RadiusDynamicClientSection>,
        /// How far a request's Event-Timestamp may be off.
        with window: Time<1000, 3_600_000> = "300s",
        /// Whether requests must carry Event-Timestamp.
        with require_event_timestamp: bool = "false",
    }
}

section! {
    /// Who may send Disconnect and CoA requests.
    struct RadiusDynamicClientSection {
        /// Its address.
        required address: Parsed<IpAddr>,
        /// A file with the shared secret, as for servers.
        required secret_file: Text<4096>,
        /// Whether its requests must carry Message-Authenticator.
        with require_message_authenticator: bool = "false",
    }
}

section! {
    /// Users known to the box itself.
    struct LocalSection {
        /// Users written here.
        with users: List<UserSection> = "[]",
        /// A YAML file with more of them, a list in the same form; a relative path starts at this file's folder.
        optional file: Text<4096>,
    }
}

section! {
    /// One local user.
    struct UserSection {
        /// The name as the client sends it.
        required name: Text<253>,
        /// The password.
        required password: Secret,
        /// The address that this user always gets, inside a pool, which then gives it to nobody else, or outside all pools,
        /// where it is a route of its own. Default: one from the profile's pool.
        optional ipv4: Parsed<Ipv4Addr>,
        /// How long a session of this user lasts at most. Default: no limit.
        optional session_timeout: Time<60_000, 31_536_000_000>,
        /// Listed, and not let in.
        with disabled: bool = "false",
    }
}

section! {
    /// How the box is watched.
    struct TelemetrySection {
        /// Where HTTP is served over TCP (metrics, health and reading alone), `ADDRESS:PORT`, or `off`.
        with listen: ListenValue = "127.0.0.1:9464",
        /// The UNIX socket that bngctl uses.
        with socket: PathValue = "/run/bngd/api.sock",
        /// Logging.
        with log: LogSection = "{}",
    }
}

section! {
    /// Logging.
    struct LogSection {
        /// How much.
        with level: LogLevel = "info",
        /// In which form.
        with format: LogFormat = "human",
    }
}

section! {
    /// What happens when the daemon is stopped.
    struct StopSection {
        /// What becomes of the sessions.
        with sessions: StopSessions = "disconnect",
    }
}

section! {
    /// The sizes of tables and queues.
    struct LimitsSection {
        /// Sessions in the whole box.
        with sessions_max: Int<1, 1_048_576> = "65536",
        /// Sessions of one access port that have not authenticated yet. At the limit the oldest whose client has not
        /// answered gives way to a new one.
        with half_open_max_per_port: Int<1, 1_048_576> = "16384",
        /// Sessions of one outer VLAN of a port; 0 for no limit.
        with sessions_max_per_vlan: Int<0, 1_048_576> = "0",
        /// Sessions of one line that two tags name (port, outer and inner VLAN); 0 for no limit.
        with sessions_max_per_line: Int<0, 1_048_576> = "256",
        /// What a client's PADR gets when a limit is met.
        with when_full: WhenFull = "silent",
        /// PADTs a second that answer frames of unknown sessions; 0 for none.
        with unknown_padt_per_s: Int<0, 1_000_000> = "1000",
        /// How many PADIs are answered.
        with padi: RequestRatesSection = "{}",
        /// How many PADRs are served.
        with padr: RequestRatesSection = "{}",
        /// Lets a client wait that fails again and again to come up. Left out, none has to wait.
        optional lock_out: LockOutSection,
        /// How long a PADO's cookie is good for.
        with cookie_lifetime: Time<1000, 3_600_000> = "60s",
        /// Priority (PCP, IEEE 802.1Q) of the tags of PPPoE discovery and PPP control frames to clients, and of router
        /// advertisements and DHCPv6, 0 to 7.
        with control_priority: Int<0, 7> = "6",
        /// DSCP of the box's own packets, 0 to 63: ICMP errors, router advertisements, DHCPv6 and RADIUS. 48 is CS6. A ping
        /// is answered with its own, and what the kernel or a routing daemon sends has the sender's.
        with control_dscp: Int<0, 63> = "48",
        /// Records in each worker's punt ring of each class.
        with punt_ring_frames: Int<64, 1_048_576> = "4096",
        /// Octets in each worker's punt ring of each class.
        with punt_ring_bytes: Octets<65_536, 268_435_456> = "1MiB",
        /// Records in each worker's inject ring.
        with inject_ring_frames: Int<64, 1_048_576> = "8192",
        /// Octets in each worker's inject ring.
        with inject_ring_bytes: Octets<65_536, 268_435_456> = "2MiB",
        /// IPv4 routes.
        with ipv4_routes_max: Int<1024, 4_194_304> = "262144",
        /// IPv6 routes.
        with ipv6_routes_max: Int<1024, 4_194_304> = "131072",
        /// Neighbours on core interfaces.
        with neighbours_max: Int<16, 65_536> = "1024",
    }
}

section! {
    /// How many requests are served a second, and how many at once after a rest (`burst`). 0 a second is no limit. What is
    /// over a limit is dropped, counted, and uses up no other limit.
    struct RequestRatesSection {
        /// Of one MAC address on one line.
        with mac_per_s: Int<0, 1_000_000> = "10",
        /// See `mac_per_s`.
        with mac_burst: Int<1, 10_000_000> = "30",
        /// Of one line that two tags name (port, outer and inner VLAN), whatever the MAC addresses.
        with line_per_s: Int<0, 1_000_000> = "200",
        /// See `line_per_s`.
        with line_burst: Int<1, 10_000_000> = "1000",
        /// Of one outer VLAN of a port; untagged counts as one.
        with vlan_per_s: Int<0, 1_000_000> = "50000",
        /// See `vlan_per_s`.
        with vlan_burst: Int<1, 10_000_000> = "131072",
        /// Of one port.
        with port_per_s: Int<0, 1_000_000> = "100000",
        /// See `port_per_s`.
        with port_burst: Int<1, 10_000_000> = "262144",
    }
}

section! {
    /// Lets a client wait that fails again and again to come up: wrong passwords, no answers, no agreement.
    struct LockOutSection {
        /// Failures that lead to a lock-out.
        with failures: Int<1, 1000> = "5",
        /// Time within which one failure must follow another to count with it.
        with window: Time<1000, 86_400_000> = "60s",
        /// How long the first lock-out is; each further one is twice as long as the one before.
        with wait: Time<1000, 86_400_000> = "10s",
        /// How long a lock-out is at most.
        with wait_max: Time<1000, 86_400_000> = "5m",
        /// Who has to wait.
        with by: LockOutBy = "line",
    }
}

words!(DuplicateUser {
    "allow" => Allow: "both sessions stay",
    "replace" => Replace: "the older session ends",
    "deny" => Deny: "the newer one is refused",
});

words!(WhenFull {
    "silent" => Silent: "nothing: the client asks again, and perhaps another concentrator",
    "error" => Error: "a PADS with AC-System-Error; some clients never ask again after it",
});

words!(LockOutBy {
    "line" => Line: "the line: port, VLANs and MAC address",
    "circuit-id" => CircuitId: "the circuit id where there is one, whatever the MAC address; else the line",
});

words!(Hugepages {
    "auto" => Auto: "used if there are enough, else ordinary memory",
    "required" => Required: "start fails without them",
    "off" => Off: "never used",
});

words!(Rss {
    "auto" => Auto: "the NIC where it can hash inside PPPoE, else the workers",
    "hardware" => Hardware: "the NIC; start fails where it cannot",
    "software" => Software: "the workers",
});

words!(Tpid {
    "dot1q" => Dot1q: "0x8100",
    "dot1ad" => Dot1ad: "0x88a8",
    "0x9100" => Legacy9100: "0x9100",
});

words!(AuthMethod {
    "chap-md5" => ChapMd5: "CHAP with MD5 (RFC 1994)",
    "ms-chap-v2" => MsChapV2: "MS-CHAP version 2 (RFC 2759)",
    "pap" => Pap: "PAP (RFC 1334): the password is sent in the clear",
});

words!(MssClamp {
    "auto" => Auto: "to what the session's MTU leaves room for",
    "off" => Off: "not at all",
});

words!(AaaMethod {
    "local" => Local: "the users of `aaa.local`",
    "radius" => Radius: "the servers of `aaa.radius`",
});

words!(LogLevel {
    "error" => Error: "errors alone",
    "warn" => Warn: "and warnings",
    "info" => Info: "and the life of sessions",
    "debug" => Debug: "and each decision of the control core",
    "trace" => Trace: "and each control frame",
});

words!(LogFormat {
    "human" => Human: "for people",
    "json" => Json: "one JSON object a line",
});

words!(StopSessions {
    "keep" => Keep: "clients are left up for the next start",
    "disconnect" => Disconnect: "every client gets a PADT",
});

impl TextForm for SocketAddr {
    const EXPECTED: &'static str = "ADDRESS:PORT (192.0.2.1:3799, [2001:db8::1]:3799)";
}

impl TextForm for IpAddr {
    const EXPECTED: &'static str = "an IP address";
}

impl TextForm for Ipv4Addr {
    const EXPECTED: &'static str = "an IPv4 address";
    const FORMAT: Option<&'static str> = Some("ipv4");
}

impl TextForm for Ipv6Addr {
    const EXPECTED: &'static str = "an IPv6 address";
    const FORMAT: Option<&'static str> = Some("ipv6");
}

fn prefix_reason(text: &str, error: &PrefixError) -> String {
    match error {
        PrefixError::Syntax { .. } => format!("{error}, found `{text}`"),
        _ => format!("`{text}`: {error}"),
    }
}

impl TextForm for IpPrefix {
    const EXPECTED: &'static str = "a network (ADDRESS/LENGTH)";

    fn reason(text: &str, error: PrefixError) -> String {
        prefix_reason(text, &error)
    }
}

impl TextForm for Ipv4Prefix {
    const EXPECTED: &'static str = "an IPv4 network (ADDRESS/LENGTH)";

    fn reason(text: &str, error: PrefixError) -> String {
        prefix_reason(text, &error)
    }
}

impl TextForm for Ipv6Prefix {
    const EXPECTED: &'static str = "an IPv6 network (ADDRESS/LENGTH)";

    fn reason(text: &str, error: PrefixError) -> String {
        prefix_reason(text, &error)
    }
}

impl TextForm for InterfaceAddress {
    const EXPECTED: &'static str = "an address with the length of its network (ADDRESS/LENGTH)";

    fn reason(text: &str, error: PrefixError) -> String {
        prefix_reason(text, &error)
    }
}

/// A MAC address as written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MacText(pub(crate) [u8; 6]);

impl std::str::FromStr for MacText {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut octets = [0; 6];
        let mut parts = text.split(':');
        for octet in &mut octets {
            let part = parts.next().filter(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit()));
            *octet = u8::from_str_radix(part.ok_or(())?, 16).map_err(|_| ())?;
        }
        if parts.next().is_some() { Err(()) } else { Ok(Self(octets)) }
    }
}

/// A MAC address or its beginning, as written: `02:00:00:00:00:01`, `02:00:00/24`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MacPrefixText(pub(crate) MacPrefix);

impl std::str::FromStr for MacPrefixText {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| ())?)),
            None => (text, None),
        };
        let given = address.split(':').count();
        if given > 6 || bits.is_none() && given != 6 {
            return Err(());
        }
        let whole = format!("{address}{}", ":00".repeat(6 - given));
        let MacText(mac) = whole.parse()?;
        let bits = bits.unwrap_or(48);
        if usize::from(bits) > given * 8 {
            return Err(());
        }
        Ok(Self(MacPrefix { mac, bits }))
    }
}

impl TextForm for MacPrefixText {
    const EXPECTED: &'static str = "a MAC address such as 02:00:00:00:00:01, or a beginning of one such as 02:00:00/24";
}

/// A DSCP or a range of them, both ends included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DscpRange {
    pub(crate) first: u8,
    pub(crate) last: u8,
}

impl Decode for DscpRange {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        let expected = "a DSCP from 0 to 63 or a range of them (40-47)";
        let text = scalar(tree, here, expected, out)?;
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse::<u8>(), last.trim().parse::<u8>()) {
            (Ok(first), Ok(last)) if first <= last && last < 64 => Some(Self { first, last }),
            _ => {
                out.error(tree.at, &here.path, format!("expected {expected}, found `{text}`"), None);
                None
            }
        }
    }

    fn schema() -> Value {
        json!({ "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": 63 },
            { "type": "string", "pattern": "^[0-9]+ *- *[0-9]+$" },
        ] })
    }
}

impl TextForm for MacText {
    const EXPECTED: &'static str = "a MAC address such as 02:00:00:00:00:01";
}

/// How many queues: one number, or one for each direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueuesValue {
    pub(crate) rx: u16,
    pub(crate) tx: u16,
}

section! {
    /// Queues by direction; the two must be equal.
    struct QueuesSection {
        /// Receive queues.
        required rx: Int<1, 64>,
        /// Transmit queues.
        required tx: Int<1, 64>,
    }
}

impl Decode for QueuesValue {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        if matches!(tree.kind, Kind::Map(_)) {
            let section = QueuesSection::decode(tree, here, out)?;
            return Some(Self { rx: section.rx.to(), tx: section.tx.to() });
        }
        let queues = Int::<1, 64>::decode(tree, here, out)?.to();
        Some(Self { rx: queues, tx: queues })
    }

    fn schema() -> Value {
        json!({ "anyOf": [Int::<1, 64>::schema(), QueuesSection::schema()] })
    }
}

/// One method, or several in the order in which they are asked.
#[derive(Debug, Clone)]
pub(crate) struct ChainValue(pub(crate) Vec<AaaMethod>);

impl Decode for ChainValue {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        if !matches!(tree.kind, Kind::List(_)) {
            return AaaMethod::decode(tree, here, out).map(|method| Self(vec![method]));
        }
        let list = List::<AaaMethod>::decode(tree, here, out)?;
        let mut methods: Vec<AaaMethod> = Vec::new();
        for method in &list.0 {
            if methods.contains(&method.value) {
                out.error(method.here.at, &method.here.path, "this method is already in the list", None);
            }
            methods.push(method.value);
        }
        if methods.is_empty() {
            out.error(tree.at, &here.path, "at least one method is needed: `local` or `radius`", None);
            return None;
        }
        Some(Self(methods))
    }

    fn schema() -> Value {
        json!({ "anyOf": [AaaMethod::schema(), List::<AaaMethod>::schema()] })
    }
}

/// An IPv4 address or a range of them, both ends included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AddressRange {
    pub(crate) first: Ipv4Addr,
    pub(crate) last: Ipv4Addr,
}

impl Decode for AddressRange {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        let expected = "an IPv4 address or a range of them (100.64.0.2-100.64.0.9)";
        let text = scalar(tree, here, expected, out)?;
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (Ok(first), Ok(last)) = (first.trim().parse::<Ipv4Addr>(), last.trim().parse::<Ipv4Addr>()) else {
            out.error(tree.at, &here.path, format!("expected {expected}, found `{text}`"), None);
            return None;
        };
        if first > last {
            out.error(tree.at, &here.path, format!("the range {text} runs backwards"), None);
            return None;
        }
        Some(Self { first, last })
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[0-9.]+( *- *[0-9.]+)?$" })
    }
}

/// Where to listen, or nowhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListenValue(pub(crate) Option<SocketAddr>);

impl Decode for ListenValue {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        let expected = "ADDRESS:PORT (127.0.0.1:9464, [::1]:9464) or `off`";
        let text = scalar(tree, here, expected, out)?;
        if text == "off" {
            return Some(Self(None));
        }
        match text.parse() {
            Ok(address) => Some(Self(Some(address))),
            Err(_) => {
                out.error(tree.at, &here.path, format!("expected {expected}, found `{text}`"), None);
                None
            }
        }
    }

    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

/// An absolute path short enough for a UNIX socket's address.
#[derive(Debug, Clone)]
pub(crate) struct PathValue(pub(crate) PathBuf);

impl Decode for PathValue {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        let text = scalar(tree, here, "an absolute path", out)?;
        // `sockaddr_un` has 108 octets for the path, its closing zero included (unix(7)).
        if !text.starts_with('/') || text.len() > 107 {
            out.error(
                tree.at,
                &here.path,
                format!("expected an absolute path of at most 107 octets, found `{text}`"),
                None,
            );
            return None;
        }
        Some(Self(PathBuf::from(text)))
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^/", "maxLength": 107 })
    }
}

/// A file of users: a list, or a map whose key `users` holds it.
pub(crate) fn users_file(tree: &Tree, here: &Here, out: &mut Sources) -> Vec<At<UserSection>> {
    let list = if let Kind::Map(_) = tree.kind {
        let Some(entries) = entries(tree, here, out) else { return Vec::new() };
        unknown_keys(entries, &["users"], here, out);
        match entries.iter().find(|(key, _)| key.name == "users") {
            Some((key, tree)) => List::decode(tree, &here.key("users", key.at), out),
            None => None,
        }
    } else {
        List::decode(tree, here, out)
    };
    list.map(|list| list.0).unwrap_or_default()
}
