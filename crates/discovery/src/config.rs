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
    /// How long a PADO is held back; zero sends at once. With several concentrators on a VLAN the least delayed wins.
    pub pado_delay: Duration,
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
        }
    }
}

/// The priority code point of control frames in tagged replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ControlPriority {
    /// The one that the client's frame had.
    #[default]
    AsReceived,
    /// This one, 0 to 7; network control is 6 (IEEE 802.1Q Annex I).
    Fixed(u8),
}

impl ControlPriority {
    /// The tags of a reply to a frame with `received` tags: the same TPIDs and VIDs in the same order; a priority tag
    /// (VID 0) is left out, because many a client drops tagged answers.
    #[must_use]
    pub fn reply_vlans(self, received: VlanStack) -> VlanStack {
        let tag = |tag: Option<bng_wire::VlanTag>| {
            let mut tag = tag.filter(|tag| tag.vid() != 0)?;
            if let Self::Fixed(pcp) = self {
                tag.tci = (tag.tci & 0x1fff) | (u16::from(pcp & 7) << 13);
            }
            Some(tag)
        };
        match (tag(received.outer), tag(received.inner)) {
            (None, inner) => VlanStack { outer: inner, inner: None },
            (outer, inner) => VlanStack { outer, inner },
        }
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
    /// A cookie's lifetime is out of range.
    #[error("cookies that live {0:?}: expected 1 s to 1 h")]
    CookieLifetime(Duration),
}
