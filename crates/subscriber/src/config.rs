//! What the operator says about subscribers: ports, access rules, profiles, pools, users, limits.
//!
//! Everything here has been checked by the configuration crate; [`crate::Subscribers::new`] checks once more what it
//! relies on and names what is wrong.

use bng_discovery::{AccessPort, AccessRule, ControlPriority, DiscoveryLimits, ServiceProfile};
use bng_ipv6::Ipv6Config;
use bng_pool::{Ipv4PoolConfig, PoolConfigError, PrefixPoolConfig};
use bng_ppp::PppConfig;
use bng_session::Rate;
use bng_wire::VrfId;
use core::net::Ipv4Addr;
use std::time::Duration;
use zeroize::Zeroizing;

/// The place of a pool in [`SubscriberConfig::pools`]; the forwarding plane numbers its address maps the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct PoolIndex(pub u16);

/// Everything that [`crate::Subscribers::new`] needs to know.
#[derive(Debug, Clone)]
pub struct SubscriberConfig {
    /// The access ports.
    pub ports: Vec<AccessPort>,
    /// Who gets which profile (the place in `profiles`); the first match wins, no match is no service.
    pub access: Vec<AccessRule>,
    /// The priority of control frames in tagged replies.
    pub control_priority: ControlPriority,
    /// How long a PADO's cookie is good for, 1 s to 1 h.
    pub cookie_lifetime: Duration,
    /// The profiles that the rules name.
    pub profiles: Vec<Profile>,
    /// The pools that the profiles name.
    pub pools: Vec<Pool>,
    /// The local users.
    pub users: Vec<LocalUser>,
    /// What is allowed at most.
    pub limits: Limits,
    /// The key of the discovery cookies: random, the same over a restart where that can be had.
    pub cookie_key: [u8; 32],
    /// True where no sessions of an earlier run are going to be restored, so that unknown session ids may be answered
    /// with a PADT from the start; else that begins with [`crate::Input::RestoreComplete`].
    pub restore_complete: bool,
}

impl Default for SubscriberConfig {
    /// Nobody may come in yet.
    fn default() -> Self {
        Self {
            ports: Vec::new(),
            access: Vec::new(),
            control_priority: ControlPriority::default(),
            cookie_lifetime: Duration::from_secs(60),
            profiles: Vec::new(),
            pools: Vec::new(),
            users: Vec::new(),
            limits: Limits::default(),
            cookie_key: [0; 32],
            restore_complete: true,
        }
    }
}

/// What a group of subscribers gets.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The name in the configuration.
    pub name: String,
    /// The routing instance.
    pub vrf: VrfId,
    /// Discovery.
    pub pppoe: PppoeProfile,
    /// The link.
    pub ppp: PppConfig,
    /// IPv4, where there is any.
    pub ipv4: Option<Ipv4Profile>,
    /// IPv6, where there is any.
    pub ipv6: Option<Ipv6Profile>,
    /// Whether the MSS of TCP is clamped to the link.
    pub mss_clamp: bool,
    /// Whether the source address of what a client sends must be its own. Leave it on.
    pub source_check: bool,
    /// What a client may send; `None` for as much as it can.
    pub rate_up: Option<Rate>,
    /// What may be sent to a client; `None` for as much as there is.
    pub rate_down: Option<Rate>,
    /// The DSCP to PCP map of frames to the client: its index in the forwarding plane plus one; 0 for none.
    pub priority_map: u8,
    /// Who decides about credentials.
    pub aaa: AaaMethod,
    /// What happens when a user who has a session logs in again from another line.
    pub duplicate_user: DuplicateUser,
    /// Whether the same user, or else the same line, gets the same address again where it is free.
    pub sticky_addresses: bool,
}

impl Profile {
    /// A profile with the defaults of every part.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            vrf: VrfId(0),
            pppoe: PppoeProfile::default(),
            ppp: PppConfig::default(),
            ipv4: None,
            ipv6: None,
            mss_clamp: true,
            source_check: true,
            rate_up: None,
            rate_down: None,
            priority_map: 0,
            aaa: AaaMethod::Local,
            duplicate_user: DuplicateUser::Allow,
            sticky_addresses: true,
        }
    }
}

/// Discovery settings of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PppoeProfile {
    /// Names, services, and the largest payload.
    pub service: ServiceProfile,
    /// How many sessions one line (port, VLANs, MAC, circuit id) may have. With 1 a new one replaces the old; with more
    /// the one with the same Host-Uniq is replaced, else the oldest that does not answer an echo, else the newcomer is
    /// refused. At least 1; default 1.
    pub sessions_per_mac: u16,
}

impl Default for PppoeProfile {
    fn default() -> Self {
        Self { service: ServiceProfile::default(), sessions_per_mac: 1 }
    }
}

/// IPv4 settings of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ipv4Profile {
    /// The router's address towards the subscribers.
    pub gateway: Ipv4Addr,
    /// Pools in the order in which they are tried.
    pub pools: Vec<PoolIndex>,
    /// Primary and secondary DNS server.
    pub dns: [Option<Ipv4Addr>; 2],
    /// Primary and secondary NBNS server.
    pub nbns: [Option<Ipv4Addr>; 2],
}

/// IPv6 settings of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ipv6Profile {
    /// Router advertisements and DHCPv6.
    pub services: Ipv6Config,
    /// Pools of /64 for the lines themselves, in the order in which they are tried.
    pub prefix_pools: Vec<PoolIndex>,
    /// Pools of prefixes for delegation, in the order in which they are tried.
    pub delegated_pools: Vec<PoolIndex>,
}

/// A named pool.
#[derive(Debug, Clone)]
pub struct Pool {
    /// The name in the configuration.
    pub name: String,
    /// The routing instance its addresses belong to.
    pub vrf: VrfId,
    /// The addresses or prefixes.
    pub kind: PoolKind,
}

/// What a pool is made of.
#[derive(Debug, Clone)]
pub enum PoolKind {
    /// IPv4 addresses.
    Ipv4(Ipv4PoolConfig),
    /// IPv6 prefixes: for links or for delegation.
    Prefixes(PrefixPoolConfig),
}

/// A user of the local list.
#[derive(Debug, Clone)]
pub struct LocalUser {
    /// The name as the client sends it: 1 to 255 octets, compared octet by octet.
    pub name: String,
    /// The password.
    pub password: Zeroizing<String>,
    /// An address that this user always gets, inside a pool or outside all of them.
    pub ipv4: Option<Ipv4Addr>,
    /// The longest time a session of this user lasts.
    pub session_timeout: Option<Duration>,
    /// A user who is listed but may not come in.
    pub disabled: bool,
}

impl LocalUser {
    /// A user with a name and a password.
    #[must_use]
    pub fn new(name: &str, password: &str) -> Self {
        Self {
            name: name.to_owned(),
            password: Zeroizing::new(password.to_owned()),
            ipv4: None,
            session_timeout: None,
            disabled: false,
        }
    }
}

/// Who decides about a client's credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AaaMethod {
    /// The local list, at once.
    #[default]
    Local,
    /// The owner: [`crate::Action::Authenticate`] goes out, [`crate::Input::AaaResult`] comes back.
    Remote,
    /// The owner; the local list where the owner says [`crate::AuthFailure::Unreachable`] or nothing in time. A refusal
    /// is a refusal.
    RemoteThenLocal,
    /// The local list; the owner about a name that is not in it. A wrong password is a refusal.
    LocalThenRemote,
}

impl AaaMethod {
    /// Whether the owner may be asked.
    #[must_use]
    pub const fn asks_owner(self) -> bool {
        !matches!(self, Self::Local)
    }
}

/// What happens when a user who has a session logs in again from another line. (A redial from the same line always
/// replaces its old session.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DuplicateUser {
    /// Both stay. If the user has a static address the newer session takes it over, and the older one ends.
    #[default]
    Allow,
    /// The older session ends.
    Replace,
    /// The newer one is refused.
    Deny,
}

/// What is allowed at most. Each has a counter that says how often it was met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Sessions in the box, 1 to 4,194,304.
    pub sessions_max: u32,
    /// Sessions of one (port, outer VLAN), 0 for no limit of its own.
    pub sessions_per_vlan_max: u32,
    /// Sessions of one line that two tags name (port, outer and inner VLAN), whatever the MAC addresses; 0 for no limit.
    pub sessions_per_line_max: u32,
    /// Sessions of one port that have not authenticated yet, 0 for no limit. At the limit the oldest that has not got as
    /// far as an open link gives way to a new one.
    pub half_open_per_port_max: u32,
    /// What a PADR gets when a limit is met.
    pub when_full: WhenFull,
    /// How many PADTs a second answer frames of unknown sessions, for the whole box; 0 for none.
    pub unknown_padt_per_s: u32,
    /// How long a credential check by the owner may take before the client is refused.
    pub aaa_timeout: Duration,
    /// Sessions that are ended in one call at shutdown, so that no call takes long.
    pub shutdown_batch: u32,
    /// Rates of discovery, and how a line that fails again and again is locked out.
    pub discovery: DiscoveryLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions_max: 65_536,
            sessions_per_vlan_max: 0,
            sessions_per_line_max: 256,
            half_open_per_port_max: 16_384,
            when_full: WhenFull::Silent,
            unknown_padt_per_s: 1000,
            aaa_timeout: Duration::from_secs(30),
            shutdown_batch: 1024,
            discovery: DiscoveryLimits::default(),
        }
    }
}

impl Limits {
    /// How many entries the forwarding plane's session table needs: the live sessions and those that have ended and
    /// wait for their removal, among them the ones that a redial has replaced.
    #[must_use]
    pub const fn table_size(&self) -> u32 {
        let slack = self.sessions_max / 8;
        let slack = if slack < 256 { 256 } else { slack };
        self.sessions_max.saturating_add(slack)
    }
}

/// What a PADR gets when a limit is met. A PADI gets nothing in either case (RFC 2516 section 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// Nothing: the client asks again, and perhaps another concentrator.
    #[default]
    Silent,
    /// A PADS without a session and with AC-System-Error. Some clients never ask again after it.
    Error,
}

/// Why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Ports, access rules or the discovery part of a profile cannot be used.
    #[error(transparent)]
    Discovery(#[from] bng_discovery::ConfigError),
    /// A profile names a pool that does not exist, is of another kind or of another routing instance.
    #[error("profile {profile} names pool {pool}, which is not an IPv4 pool of its routing instance")]
    ProfilePool {
        /// The profile's name.
        profile: String,
        /// The pool's index.
        pool: u16,
    },
    /// A profile's IPv6 names a pool that does not exist, is of another kind or of another routing instance.
    #[error("profile {profile} names pool {pool}, which is not a pool of IPv6 prefixes of its routing instance")]
    ProfilePrefixPool {
        /// The profile's name.
        profile: String,
        /// The pool's index.
        pool: u16,
    },
    /// A pool cannot be made.
    #[error("pool {name}: {error}")]
    Pool {
        /// The pool's name.
        name: String,
        /// What is wrong with it.
        error: PoolConfigError,
    },
    /// A user is listed twice.
    #[error("user {0} is listed twice")]
    User(String),
    /// A user's name is empty or longer than 255 octets, which no client can send.
    #[error("the user name {0:?} is not 1 to 255 octets long")]
    UserName(String),
    /// A static address is the property of two users.
    #[error("users {0} and {1} have the same static address")]
    SharedAddress(String, String),
    /// A limit is out of its range.
    #[error("limits: {0}")]
    Limit(&'static str),
}
