//! What a profile says about IPv6.

use core::net::Ipv6Addr;
use std::time::Duration;

/// The settings of one profile, shared by all its sessions behind an `Arc`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ipv6Config {
    /// The router's advertisements.
    pub router: RouterConfig,
    /// The DHCPv6 server; `None`: DHCPv6 is not answered.
    pub dhcp: Option<DhcpConfig>,
    /// Recursive DNS servers, for advertisements (the first 8) and DHCPv6 (the first 8).
    pub dns: Vec<Ipv6Addr>,
    /// The domain search list, each name encoded by [`bng_wire::domain::encode`]; at most 512 octets are sent, so a
    /// longer one is not sent at all.
    pub domains: Vec<u8>,
    /// The DSCP of what is sent, 0 to 63. Default 0.
    pub dscp: u8,
}

/// Router advertisements. [`RouterConfig::default`] holds the defaults of RFC 4861 section 6.2.1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterConfig {
    /// The longest time between two advertisements that nobody asked for: 4 to 1,800 s. Default 600 s.
    pub interval_max: Duration,
    /// The shortest: 3 s to three quarters of the longest. Default 200 s.
    pub interval_min: Duration,
    /// M: addresses come by DHCPv6. Default false.
    pub managed: bool,
    /// O: other settings come by DHCPv6. Default false; profiles that delegate prefixes set it, since many clients
    /// ask for none before they see M or O.
    pub other: bool,
    /// Hop limit for the client's packets; 0: not said. Default 64.
    pub hop_limit: u8,
    /// How long this is the default router: 0 to 9,000 s, not less than the longest interval. Default 1,800 s.
    pub lifetime_s: u16,
    /// Reachable time; 0: not said. Default 0.
    pub reachable_ms: u32,
    /// Time between two neighbour solicitations; 0: not said. Default 0.
    pub retransmit_ms: u32,
    /// Whether the link's MTU is advertised. Default true.
    pub mtu: bool,
    /// L of the link's prefix. Default true.
    pub on_link: bool,
    /// A of the link's prefix. Default true.
    pub autonomous: bool,
    /// Valid lifetime of the link's prefix. Default 30 days.
    pub prefix_valid_s: u32,
    /// Preferred lifetime of the link's prefix. Default 7 days.
    pub prefix_preferred_s: u32,
    /// Lifetime of DNS servers and search list. Default 1,800 s, three of the longest intervals (RFC 8106 section
    /// 5.1).
    pub dns_lifetime_s: u32,
}

impl Default for RouterConfig {
    fn default() -> Self {
        Self {
            interval_max: Duration::from_secs(600),
            interval_min: Duration::from_secs(200),
            managed: false,
            other: false,
            hop_limit: 64,
            lifetime_s: 1800,
            reachable_ms: 0,
            retransmit_ms: 0,
            mtu: true,
            on_link: true,
            autonomous: true,
            prefix_valid_s: 2_592_000,
            prefix_preferred_s: 604_800,
            dns_lifetime_s: 1800,
        }
    }
}

/// Where addresses of IA_NA come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AddressSource {
    /// None are leased: NoAddrsAvail.
    #[default]
    None,
    /// From the link's own prefix, which is routed to the session anyway; nothing is allocated.
    Link,
    /// From a pool, by [`crate::Action::Allocate`], and each has a route of its own.
    Pool,
}

/// The DHCPv6 server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DhcpConfig {
    /// The server's DUID, 3 to 130 octets, the same as long as the box lives (RFC 8415 section 11).
    pub duid: Vec<u8>,
    /// Preference in Advertise; 0 is not sent, 255 makes clients take this server at once. Default 0.
    pub preference: u8,
    /// Whether a Solicit that asks for it is answered by Reply. Default true.
    pub rapid_commit: bool,
    /// Where addresses come from. Default: none are leased.
    pub addresses: AddressSource,
    /// Whether prefixes are delegated. Default true.
    pub prefixes: bool,
    /// The most leases of each kind that a session has. 1 to 16. Default 1.
    pub leases_max: u8,
    /// The lengths that a client's wish may have; others are taken for the nearest. Default 48 to 64.
    pub length_min: u8,
    /// See [`DhcpConfig::length_min`].
    pub length_max: u8,
    /// Preferred lifetime of leases, at most the valid one. Default 3,600 s.
    pub preferred_s: u32,
    /// Valid lifetime of leases: a lease that is not renewed ends with it. 60 s and more. Default 7,200 s.
    pub valid_s: u32,
    /// When clients renew; `None`: half of the preferred lifetime (RFC 8415 section 21.4).
    pub t1_s: Option<u32>,
    /// When clients rebind; `None`: 0.8 of the preferred lifetime.
    pub t2_s: Option<u32>,
    /// Information Refresh Time, sent when asked for; at least 600 s. Default: not sent, and clients take a day.
    pub refresh_s: Option<u32>,
    /// SOL_MAX_RT and INF_MAX_RT, sent when asked for, 60 to 86,400 s. Default: not sent.
    pub max_rt_s: Option<u32>,
}

impl DhcpConfig {
    /// The defaults, with this DUID.
    #[must_use]
    pub const fn new(duid: Vec<u8>) -> Self {
        Self {
            duid,
            preference: 0,
            rapid_commit: true,
            addresses: AddressSource::None,
            prefixes: true,
            leases_max: 1,
            length_min: 48,
            length_max: 64,
            preferred_s: 3600,
            valid_s: 7200,
            t1_s: None,
            t2_s: None,
            refresh_s: None,
            max_rt_s: None,
        }
    }

    /// T1 and T2 in seconds.
    #[must_use]
    pub fn times(&self) -> (u32, u32) {
        let t1 = self.t1_s.unwrap_or(self.preferred_s / 2);
        let t2 = self.t2_s.unwrap_or_else(|| (self.preferred_s / 5).saturating_mul(4));
        // "T1 MUST be less than or equal to T2", section 21.4: a client throws the option away else.
        (t1.min(t2), t2)
    }
}
