//! What the access concentrator is told: ports, who may dial in where, and what is offered to them.

use core::time::Duration;

use bng_wire::pppoe::MRU_DEFAULT;
use bng_wire::{MacAddr, PortIndex, VlanStack};

/// The index of a [`ServiceProfile`] in [`AcConfig::profiles`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ProfileIndex(pub u16);

/// An access port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessPort {
    /// Which port.
    pub port: PortIndex,
    /// Its MAC address, the source of every reply and the only unicast destination listened to.
    pub mac: MacAddr,
    /// The largest PPP payload, in octets, that port and driver carry under no tag, one tag and two tags: the port's MTU
    /// less 8, or less where the driver's own limit is lower. Up to 1492 means that RFC 4638 is not offered.
    pub max_payload_by_tags: [u16; 3],
}

/// VLAN identifiers from `first` to `last`, both included: 1 to 4094.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VidRange {
    /// The lowest.
    pub first: u16,
    /// The highest.
    pub last: u16,
}

impl VidRange {
    /// Every usable VID. 0 is a priority tag and 4095 is reserved (IEEE 802.1Q).
    pub const ANY: Self = Self { first: 1, last: 4094 };

    /// One VID.
    #[must_use]
    pub const fn one(vid: u16) -> Self {
        Self { first: vid, last: vid }
    }

    /// True where `vid` is in the range.
    #[must_use]
    pub const fn contains(self, vid: u16) -> bool {
        self.first <= vid && vid <= self.last
    }
}

/// The tags a rule is about. The number of tags must be the rule's own: a frame with one tag more than configured comes
/// from another customer's domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VlanMatch {
    /// No tag, or a priority tag (VID 0) only.
    Untagged,
    /// One tag.
    Single {
        /// Its TPID, usually 0x8100.
        tpid: u16,
        /// Its VIDs.
        vids: VidRange,
    },
    /// Two tags. The inner one's TPID is 0x8100 always.
    Double {
        /// The outer tag's TPID: 0x88a8, 0x8100 or 0x9100.
        tpid: u16,
        /// The outer VIDs.
        outer: VidRange,
        /// The inner VIDs.
        inner: VidRange,
    },
}

/// Who may dial in: the first rule that matches decides; no match means no service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessRule {
    /// The port the rule is about.
    pub port: PortIndex,
    /// The tags the rule is about.
    pub vlans: VlanMatch,
    /// What is offered there.
    pub profile: ProfileIndex,
}

/// What is offered to the clients that a rule leads here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceProfile {
    /// The AC-Name tag's value: 1 to 255 octets of UTF-8.
    pub ac_name: String,
    /// Service names on offer. A zero-length request (any service) is always served; an empty name here says so again.
    pub service_names: Vec<String>,
    /// Serve any other service name too, and return it as it came: the policy that RFC 2516 section 9 recommends.
    pub accept_any: bool,
    /// Name the services on offer in a PADO (RFC 2516 section 5.2), as far as they fit. Section 9 warns against telling
    /// them to everybody.
    pub advertise: bool,
    /// The largest PPP payload agreed to, octets (RFC 4638); up to 1492 means the tag is not answered.
    pub max_payload: u16,
    /// How long a PADO is held back where no rule of `pado_rules` matches; zero sends at once. With several concentrators
    /// on a VLAN the least delayed wins.
    pub pado_delay: Duration,
    /// Other delays, the first match wins.
    pub pado_rules: Vec<PadoRule>,
    /// Who is served at all.
    pub macs: MacFilter,
}

impl Default for ServiceProfile {
    fn default() -> Self {
        Self {
            ac_name: "bng".to_owned(),
            service_names: Vec::new(),
            accept_any: true,
            advertise: false,
            max_payload: MRU_DEFAULT,
            pado_delay: Duration::ZERO,
            pado_rules: Vec::new(),
            macs: MacFilter::default(),
        }
    }
}

/// What a [`PadoRule`] looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PadoMatch {
    /// At least so many sessions are up in the box (see `AccessConcentrator::set_sessions`).
    SessionsFrom(u32),
    /// The service asked for.
    ServiceName(String),
    /// The agent circuit id starts with these octets.
    CircuitIdPrefix(Vec<u8>),
}

/// When a PADO is sent under a [`PadoRule`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PadoTime {
    /// After this time; zero sends at once.
    After(Duration),
    /// Never: another concentrator is to serve this client. One that has a cookie is still served.
    Never,
}

/// A delay for some clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PadoRule {
    /// Which.
    pub when: PadoMatch,
    /// What.
    pub time: PadoTime,
}

/// The first `bits` of a MAC address: 24 for a vendor, 48 for one address, 0 for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacPrefix {
    /// The address; bits after the prefix do not count.
    pub mac: MacAddr,
    /// Length of the prefix, 0 to 48.
    pub bits: u8,
}

impl MacPrefix {
    /// True where `mac` has the prefix.
    #[must_use]
    pub const fn contains(self, mac: MacAddr) -> bool {
        let differing = self.mac.to_u64() ^ mac.to_u64();
        match 48u32.checked_sub(self.bits as u32) {
            Some(rest) => differing >> rest == 0,
            None => differing == 0,
        }
    }
}

/// Which MAC addresses are served: not one that is denied, and, where some are allowed by name, only those.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MacFilter {
    /// Served even if `deny` says otherwise; where not empty, nobody else is.
    pub allow: Vec<MacPrefix>,
    /// Never served.
    pub deny: Vec<MacPrefix>,
}

impl MacFilter {
    /// True where `mac` is served.
    #[must_use]
    pub fn admits(&self, mac: MacAddr) -> bool {
        let has = |list: &[MacPrefix]| list.iter().any(|prefix| prefix.contains(mac));
        if self.allow.is_empty() { !has(&self.deny) } else { has(&self.allow) }
    }
}

/// How often something may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Lasting rate per second, at least 1.
    pub per_s: u32,
    /// How many may come at once after silence, at least 1.
    pub burst: u32,
}

/// The rates up to which requests of one kind are answered; `None` is no limit. What is over a rate is dropped, counted by
/// the limit that did it, and uses up no other limit; there is no penalty afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimits {
    /// For one MAC address on one line.
    pub mac: Option<Rate>,
    /// For one line that two tags name (port, outer and inner VLAN), whatever the MAC addresses: a customer who forges
    /// them uses up nobody else's share.
    pub line: Option<Rate>,
    /// For one outer VLAN of a port; untagged counts as one.
    pub vlan: Option<Rate>,
    /// For one port.
    pub port: Option<Rate>,
}

impl RateLimits {
    /// No limits.
    pub const NONE: Self = Self { mac: None, line: None, vlan: None, port: None };
}

impl Default for RateLimits {
    /// Generous: a client sends a request every second at worst, and a town of 60,000 may come back at once.
    fn default() -> Self {
        Self {
            mac: Some(Rate { per_s: 10, burst: 30 }),
            line: Some(Rate { per_s: 200, burst: 1000 }),
            vlan: Some(Rate { per_s: 50_000, burst: 131_072 }),
            port: Some(Rate { per_s: 100_000, burst: 262_144 }),
        }
    }
}

/// What is locked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LockOutBy {
    /// The line: port, VLANs and MAC address.
    #[default]
    Line,
    /// The circuit id where there is one, whatever the MAC address; else the line.
    CircuitId,
}

/// When a failing line must wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockOutPolicy {
    /// Failures that lead to a lock-out, at least 1.
    pub failures_max: u16,
    /// Time within which one failure must follow another to count with it.
    pub window: Duration,
    /// How long the first lock-out is; each further one twice the one before.
    pub wait: Duration,
    /// How long a lock-out is at most. A line that is quiet for the window and this time starts anew.
    pub wait_max: Duration,
    /// What is locked out.
    pub by: LockOutBy,
}

impl Default for LockOutPolicy {
    fn default() -> Self {
        Self {
            failures_max: 5,
            window: Duration::from_secs(60),
            wait: Duration::from_secs(10),
            wait_max: Duration::from_secs(300),
            by: LockOutBy::default(),
        }
    }
}

/// The priority code point of control frames in tagged replies, 0 to 7. By default 6, internetwork control (IEEE 802.1Q
/// Annex I), whatever the client's frames have: an access network that is full must not end its sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ControlPriority(pub u8);

impl Default for ControlPriority {
    fn default() -> Self {
        Self(6)
    }
}

impl ControlPriority {
    /// The tags of a reply to a frame with `received` tags: the same TPIDs and VIDs in the same order, not eligible to be
    /// dropped; a priority tag (VID 0) is left out, because many a client drops tagged answers.
    #[must_use]
    pub fn reply_vlans(self, received: VlanStack) -> VlanStack {
        let tag = |tag: Option<bng_wire::VlanTag>| {
            let mut tag = tag.filter(|tag| tag.vid() != 0)?;
            tag.tci = tag.vid() | u16::from(self.0 & 7) << 13;
            Some(tag)
        };
        match (tag(received.outer), tag(received.inner)) {
            (None, inner) => VlanStack { outer: inner, inner: None },
            (outer, inner) => VlanStack { outer, inner },
        }
    }
}

/// What bounds the load that clients can make. Apart from [`AcConfig`], because it has good defaults and may change alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiscoveryLimits {
    /// How many PADIs are answered.
    pub padi_rates: RateLimits,
    /// How many PADRs with a good cookie are given out as requests.
    pub padr_rates: RateLimits,
    /// When a failing line must wait; `None` is never.
    pub lock_out: Option<LockOutPolicy>,
}

impl DiscoveryLimits {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        for limits in [&self.padi_rates, &self.padr_rates] {
            for rate in [limits.mac, limits.line, limits.vlan, limits.port].into_iter().flatten() {
                if rate.per_s == 0 || rate.burst == 0 {
                    return Err(ConfigError::Rate);
                }
            }
        }
        if self.lock_out.is_some_and(|policy| policy.failures_max == 0 || policy.wait > policy.wait_max) {
            return Err(ConfigError::LockOut);
        }
        Ok(())
    }
}

/// Everything the access concentrator is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcConfig {
    /// The access ports.
    pub ports: Vec<AccessPort>,
    /// Who may dial in, first match wins.
    pub access: Vec<AccessRule>,
    /// What the rules lead to.
    pub profiles: Vec<ServiceProfile>,
    /// How long a cookie is good for, 1 s to 1 h: at least a client's patience between PADO and PADR.
    pub cookie_lifetime: Duration,
    /// Priority of control frames.
    pub priority: ControlPriority,
}

impl Default for AcConfig {
    fn default() -> Self {
        Self {
            ports: Vec::new(),
            access: Vec::new(),
            profiles: Vec::new(),
            cookie_lifetime: Duration::from_secs(60),
            priority: ControlPriority::default(),
        }
    }
}

/// The access ports by index.
pub(crate) type Ports = [Option<AccessPort>; PortIndex::MAX as usize + 1];

impl AcConfig {
    /// Checks everything, and gives the ports by index.
    pub(crate) fn validate(&self) -> Result<Ports, ConfigError> {
        let mut ports: Ports = Default::default();
        for port in &self.ports {
            let slot = ports.get_mut(usize::from(port.port.0)).filter(|slot| slot.is_none());
            *slot.ok_or(ConfigError::Port(port.port.0))? = Some(*port);
        }
        for (rule, access) in self.access.iter().enumerate() {
            let AccessRule { port, vlans, profile } = *access;
            if ports.get(usize::from(port.0)).copied().flatten().is_none() {
                return Err(ConfigError::RulePort { rule, port: port.0 });
            }
            if usize::from(profile.0) >= self.profiles.len() {
                return Err(ConfigError::RuleProfile { rule, profile: profile.0 });
            }
            let ranges = match vlans {
                VlanMatch::Untagged => [None, None],
                VlanMatch::Single { vids, .. } => [Some(vids), None],
                VlanMatch::Double { outer, inner, .. } => [Some(outer), Some(inner)],
            };
            for VidRange { first, last } in ranges.into_iter().flatten() {
                if first > last || !VidRange::ANY.contains(first) || !VidRange::ANY.contains(last) {
                    return Err(ConfigError::RuleVlans { rule, first, last });
                }
            }
        }
        for (profile, service) in self.profiles.iter().enumerate() {
            let patterns = service.macs.allow.len().max(service.macs.deny.len());
            if patterns > MAC_PREFIXES_MAX || service.pado_rules.len() > PADO_RULES_MAX {
                return Err(ConfigError::TooManyRules { profile });
            }
            let length = service.ac_name.len();
            if !(1..=AC_NAME_LEN_MAX).contains(&length) {
                return Err(ConfigError::AcName { profile, length });
            }
        }
        if !(Duration::from_secs(1)..=Duration::from_secs(3600)).contains(&self.cookie_lifetime) {
            return Err(ConfigError::CookieLifetime(self.cookie_lifetime));
        }
        Ok(ports)
    }
}

/// The longest AC-Name, octets: leaves room for the host's own tags in a PADO.
const AC_NAME_LEN_MAX: usize = 255;

/// Entries of an allow or a deny list at most: each is compared for each request.
pub const MAC_PREFIXES_MAX: usize = 1024;
/// PADO rules of a profile at most, for the same reason.
pub const PADO_RULES_MAX: usize = 64;

/// What is wrong with an [`AcConfig`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A port index is over the limit, or named twice.
    #[error("port {0} is over the limit of {limit} or named twice", limit = PortIndex::MAX)]
    Port(u8),
    /// A rule is about a port that is not an access port.
    #[error("access rule {rule}: port {port} is not an access port")]
    RulePort {
        /// The rule's place in the list, from 0.
        rule: usize,
        /// The port.
        port: u8,
    },
    /// A rule leads to a profile that does not exist.
    #[error("access rule {rule}: there is no profile {profile}")]
    RuleProfile {
        /// The rule's place in the list, from 0.
        rule: usize,
        /// The profile.
        profile: u16,
    },
    /// A range of VIDs is empty or leaves 1 to 4094.
    #[error("access rule {rule}: VLANs {first}-{last}: expected an ascending range in 1-4094")]
    RuleVlans {
        /// The rule's place in the list, from 0.
        rule: usize,
        /// The range's start.
        first: u16,
        /// The range's end.
        last: u16,
    },
    /// An AC-Name is empty or longer than 255 octets.
    #[error("profile {profile}: the access concentrator's name has {length} octets, expected 1 to 255")]
    AcName {
        /// The profile.
        profile: usize,
        /// Octets of the name.
        length: usize,
    },
    /// A profile has more MAC prefixes or PADO rules than are compared for each request.
    #[error(
        "profile {profile}: more than {MAC_PREFIXES_MAX} MAC prefixes in a list, or more than {PADO_RULES_MAX} PADO rules"
    )]
    TooManyRules {
        /// The profile.
        profile: usize,
    },
    /// A rate or its burst is 0.
    #[error("a rate limit and its burst are at least 1; leave the limit out for none")]
    Rate,
    /// A lock-out after no failure, or whose first wait is longer than its longest.
    #[error("a lock-out takes at least 1 failure, and its first wait is at most its longest")]
    LockOut,
    /// A cookie's lifetime is out of range.
    #[error("cookies that live {0:?}: expected 1 s to 1 h")]
    CookieLifetime(Duration),
}
