//! What an Access-Accept (or a CoA-Request) allows a session, as types.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::dictionary::{self, VENDOR_MICROSOFT, Where, number};
use crate::error::PacketError;
use crate::mapping::{self, Form, Meaning, Rule};
use crate::packet::{Attribute, Packet};
use crate::value;

/// The client's IPv4 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FramedIp {
    /// This address.
    Address(Ipv4Addr),
    /// One of ours: 255.255.255.254 (RFC 2865 section 5.8).
    FromPool,
    /// The client's own choice, if it is free and allowed: 255.255.255.255.
    ClientChoice,
}

/// A route to networks behind the client (RFC 2865 section 5.22, RFC 3162 section 2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The network's address, bits behind the length zero.
    pub prefix: IpAddr,
    /// Its length in bits.
    pub length: u8,
    /// The gateway; `None`: the client itself.
    pub gateway: Option<IpAddr>,
    /// Metric; 0 where none is given.
    pub metric: u32,
}

/// All that a reply allows. What it does not mention is `None` or empty, and stays as configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Authorization {
    /// User-Name: the name for accounting (RFC 2865 section 5.1).
    pub user_name: Option<Vec<u8>>,
    /// Framed-IP-Address.
    pub framed_ip: Option<FramedIp>,
    /// Framed-IP-Netmask as a prefix length.
    pub framed_netmask: Option<u8>,
    /// Framed-Pool, or a vendor's.
    pub ipv4_pool: Option<Vec<u8>>,
    /// Framed-Route.
    pub ipv4_routes: Vec<Route>,
    /// Framed-IPv6-Prefix.
    pub ipv6_prefixes: Vec<(Ipv6Addr, u8)>,
    /// Framed-IPv6-Address.
    pub ipv6_addresses: Vec<Ipv6Addr>,
    /// Framed-IPv6-Pool.
    pub ipv6_pool: Option<Vec<u8>>,
    /// Stateful-IPv6-Address-Pool.
    pub ipv6_address_pool: Option<Vec<u8>>,
    /// Delegated-IPv6-Prefix.
    pub delegated_prefixes: Vec<(Ipv6Addr, u8)>,
    /// Delegated-IPv6-Prefix-Pool.
    pub delegated_pool: Option<Vec<u8>>,
    /// Framed-IPv6-Route.
    pub ipv6_routes: Vec<Route>,
    /// Framed-Interface-Id, never 0.
    pub interface_id: Option<u64>,
    /// IPv4 DNS servers.
    pub ipv4_dns: Vec<Ipv4Addr>,
    /// IPv4 NBNS servers.
    pub ipv4_nbns: Vec<Ipv4Addr>,
    /// IPv6 DNS servers.
    pub ipv6_dns: Vec<Ipv6Addr>,
    /// Framed-MTU in octets.
    pub mtu: Option<u16>,
    /// Session-Timeout in seconds from the session's start; 0 in the packet is "no limit" and is left out.
    pub session_timeout_s: Option<u32>,
    /// Idle-Timeout in seconds; 0 as above.
    pub idle_timeout_s: Option<u32>,
    /// Acct-Interim-Interval in seconds as sent; [`crate::Accounting`] applies the floor.
    pub interim_interval_s: Option<u32>,
    /// Class, each one in order, to be echoed octet for octet.
    pub classes: Vec<Vec<u8>>,
    /// State.
    pub state: Option<Vec<u8>>,
    /// Reply-Message, several put together, at most 253 octets each.
    pub reply_message: Vec<u8>,
    /// Filter-Id, each one in order, or a vendor's profile name.
    pub filter_ids: Vec<Vec<u8>>,
    /// Name of the upstream policy.
    pub policy_up: Option<Vec<u8>>,
    /// Name of the downstream policy.
    pub policy_down: Option<Vec<u8>>,
    /// Upstream rate in bit/s; a rate of 0 is "the default" and is left out.
    pub rate_up_bps: Option<u64>,
    /// Downstream rate in bit/s; 0 as above.
    pub rate_down_bps: Option<u64>,
    /// Upstream burst in octets.
    pub burst_up_octets: Option<u64>,
    /// Downstream burst in octets.
    pub burst_down_octets: Option<u64>,
    /// MS-CHAP2-Success: identifier, then `S=` and 40 hexadecimal digits.
    pub ms_chap2_success: Option<[u8; 43]>,
    /// MS-CHAP-Error without its first octet: `E=691 R=0 ...`.
    pub ms_chap_error: Option<Vec<u8>>,
}

/// Why an Access-Accept counts as an Access-Reject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The form of the packet or of a value is wrong (RFC 2865 section 5: Reject or discard).
    #[error(transparent)]
    Malformed(#[from] PacketError),
    /// Service-Type is none that is offered here (RFC 2865 section 5.6: as though rejected).
    #[error("Service-Type {0} is not offered")]
    ServiceType(u32),
}

impl Authorization {
    /// Reads a reply. Unknown attributes do not count.
    ///
    /// # Errors
    ///
    /// [`Unusable`]: nothing of it may be used; an Access-Accept counts as a reject.
    pub fn from_reply(packet: &Packet<'_>, rules: &[Rule]) -> Result<Self, Unusable> {
        packet.validate()?;
        let mut reader = Reader::new(rules);
        for attribute in packet.flat() {
            reader.take(attribute)?;
        }
        match reader.service_type {
            None | Some(2) => Ok(reader.authorization),
            Some(other) => Err(Unusable::ServiceType(other)),
        }
    }
}

/// Reads attributes one by one.
pub(crate) struct Reader<'r> {
    rules: &'r [Rule],
    pub(crate) authorization: Authorization,
    pub(crate) service_type: Option<u32>,
    ranks: Vec<(Meaning, usize)>,
}

impl<'r> Reader<'r> {
    pub(crate) const fn new(rules: &'r [Rule]) -> Self {
        Self { rules, authorization: EMPTY, service_type: None, ranks: Vec::new() }
    }

    /// Takes an attribute. False: not one of ours.
    ///
    /// # Errors
    ///
    /// [`PacketError::BadValue`].
    pub(crate) fn take(&mut self, attribute: Attribute<'_>) -> Result<bool, PacketError> {
        let Attribute { vendor, number, value } = attribute;
        let bad = PacketError::BadValue { vendor, number };
        if mapping::concerns(self.rules, vendor, number) {
            if let Some((rank, rule, value)) = mapping::find(self.rules, vendor, number, value) {
                self.apply(rank, rule.form, rule.meaning, value).ok_or(bad)?;
                return Ok(true);
            }
            return Ok(false);
        }
        if vendor == VENDOR_MICROSOFT {
            match number {
                number::MS_CHAP2_SUCCESS => {
                    self.authorization.ms_chap2_success = Some(value.try_into().map_err(|_| bad)?)
                }
                number::MS_CHAP_ERROR => self.authorization.ms_chap_error = value.get(1..).map(<[u8]>::to_vec),
                _ => return Ok(false),
            }
            return Ok(true);
        }
        if vendor != 0 || !dictionary::info(0, number).is_some_and(|info| info.place.has(Where::ACCEPT)) {
            return Ok(false);
        }
        self.standard(number, value).ok_or(bad)
    }

    /// `None`: a bad value.
    fn standard(&mut self, number: u8, value: &[u8]) -> Option<bool> {
        let it = &mut self.authorization;
        match number {
            number::USER_NAME => it.user_name = Some(value.to_vec()),
            number::SERVICE_TYPE => self.service_type = Some(value::integer(value)?),
            number::FRAMED_IP_ADDRESS => it.framed_ip = Some(framed_ip(value::ipv4(value)?)?),
            number::FRAMED_IP_NETMASK => {
                let mask = value::integer(value)?;
                let length = mask.leading_ones();
                if mask.count_ones() != length {
                    return None;
                }
                it.framed_netmask = u8::try_from(length).ok();
            }
            number::FILTER_ID => it.filter_ids.push(value.to_vec()),
            number::FRAMED_MTU => it.mtu = Some(u16::try_from(value::integer(value)?).ok()?),
            number::REPLY_MESSAGE => it.reply_message.extend_from_slice(value),
            number::FRAMED_ROUTE => it.ipv4_routes.push(route(value, false)?),
            number::STATE => it.state = Some(value.to_vec()),
            number::CLASS => it.classes.push(value.to_vec()),
            number::SESSION_TIMEOUT => it.session_timeout_s = Some(value::integer(value)?).filter(|s| *s != 0),
            number::IDLE_TIMEOUT => it.idle_timeout_s = Some(value::integer(value)?).filter(|s| *s != 0),
            number::ACCT_INTERIM_INTERVAL => it.interim_interval_s = Some(value::integer(value)?),
            number::FRAMED_POOL => it.ipv4_pool = Some(value.to_vec()),
            number::FRAMED_INTERFACE_ID => {
                // 0 is no identifier (RFC 5072 section 4.1).
                it.interface_id = Some(value::integer64(value).filter(|id| *id != 0)?);
            }
            number::FRAMED_IPV6_PREFIX => it.ipv6_prefixes.push(prefix(value)?),
            number::FRAMED_IPV6_ROUTE => it.ipv6_routes.push(route(value, true)?),
            number::FRAMED_IPV6_POOL => it.ipv6_pool = Some(value.to_vec()),
            number::DELEGATED_IPV6_PREFIX => it.delegated_prefixes.push(prefix(value)?),
            number::FRAMED_IPV6_ADDRESS => {
                let address = value::ipv6(value)?;
                if address.is_unspecified() || address.is_multicast() || address.is_loopback() {
                    return None;
                }
                it.ipv6_addresses.push(address);
            }
            number::DNS_SERVER_IPV6_ADDRESS => it.ipv6_dns.push(value::ipv6(value)?),
            number::DELEGATED_IPV6_PREFIX_POOL => it.delegated_pool = Some(value.to_vec()),
            number::STATEFUL_IPV6_ADDRESS_POOL => it.ipv6_address_pool = Some(value.to_vec()),
            _ => return Some(false),
        }
        Some(true)
    }

    /// `None`: a bad value.
    fn apply(&mut self, rank: usize, form: Form, meaning: Meaning, value: &[u8]) -> Option<()> {
        let numbers = match (form, meaning) {
            (Form::Number(scale), _) => {
                let number = value::integer64(value)?.checked_mul(scale)?;
                Some((number, number))
            }
            (Form::Decimal(scale), Meaning::Rates) => Some(mapping::pair(value, scale)?),
            (Form::Decimal(scale), _) => {
                let number = mapping::scaled(value, scale)?;
                Some((number, number))
            }
            (Form::Text | Form::Address, _) => None,
        };
        match meaning {
            Meaning::RateUp | Meaning::RateDown | Meaning::Rates | Meaning::BurstUp | Meaning::BurstDown => {
                let (up, down) = numbers?;
                self.set_numbers(rank, meaning, up, down);
            }
            Meaning::Profile => self.authorization.filter_ids.push(name(value)?),
            Meaning::PolicyUp => {
                if self.outranks(meaning, rank) {
                    self.authorization.policy_up = Some(name(value)?);
                }
            }
            Meaning::PolicyDown => {
                if self.outranks(meaning, rank) {
                    self.authorization.policy_down = Some(name(value)?);
                }
            }
            Meaning::Ipv4Pool => {
                let name = name(value)?;
                self.authorization.ipv4_pool.get_or_insert(name);
            }
            Meaning::Ipv4Dns => self.authorization.ipv4_dns.extend(addresses4(form, value)?),
            Meaning::Ipv4Nbns => self.authorization.ipv4_nbns.extend(addresses4(form, value)?),
            Meaning::Ipv6Dns => self.authorization.ipv6_dns.push(value::ipv6(value)?),
        }
        Some(())
    }

    fn set_numbers(&mut self, rank: usize, meaning: Meaning, up: u64, down: u64) {
        // Zero is "the default": as though it were not there, but it still hides rows of lower rank.
        let (up, down) = (Some(up).filter(|n| *n != 0), Some(down).filter(|n| *n != 0));
        let both = meaning == Meaning::Rates;
        if (both || meaning == Meaning::RateUp) && self.outranks(Meaning::RateUp, rank) {
            self.authorization.rate_up_bps = up;
        }
        if (both || meaning == Meaning::RateDown) && self.outranks(Meaning::RateDown, rank) {
            self.authorization.rate_down_bps = down;
        }
        if meaning == Meaning::BurstUp && self.outranks(meaning, rank) {
            self.authorization.burst_up_octets = up;
        }
        if meaning == Meaning::BurstDown && self.outranks(meaning, rank) {
            self.authorization.burst_down_octets = down;
        }
    }

    /// Whether a row of this rank may set this now, and notes that it has. Of equals the later one wins.
    fn outranks(&mut self, meaning: Meaning, rank: usize) -> bool {
        match self.ranks.iter_mut().find(|(of, _)| *of == meaning) {
            Some((_, best)) if *best < rank => false,
            Some((_, best)) => {
                *best = rank;
                true
            }
            None => {
                self.ranks.push((meaning, rank));
                true
            }
        }
    }
}

const EMPTY: Authorization = Authorization {
    user_name: None,
    framed_ip: None,
    framed_netmask: None,
    ipv4_pool: None,
    ipv4_routes: Vec::new(),
    ipv6_prefixes: Vec::new(),
    ipv6_addresses: Vec::new(),
    ipv6_pool: None,
    ipv6_address_pool: None,
    delegated_prefixes: Vec::new(),
    delegated_pool: None,
    ipv6_routes: Vec::new(),
    interface_id: None,
    ipv4_dns: Vec::new(),
    ipv4_nbns: Vec::new(),
    ipv6_dns: Vec::new(),
    mtu: None,
    session_timeout_s: None,
    idle_timeout_s: None,
    interim_interval_s: None,
    classes: Vec::new(),
    state: None,
    reply_message: Vec::new(),
    filter_ids: Vec::new(),
    policy_up: None,
    policy_down: None,
    rate_up_bps: None,
    rate_down_bps: None,
    burst_up_octets: None,
    burst_down_octets: None,
    ms_chap2_success: None,
    ms_chap_error: None,
};

fn framed_ip(address: Ipv4Addr) -> Option<FramedIp> {
    match address {
        Ipv4Addr::BROADCAST => Some(FramedIp::ClientChoice),
        address if address == Ipv4Addr::new(255, 255, 255, 254) => Some(FramedIp::FromPool),
        // No host has one of these: 0.0.0.0/8, 127.0.0.0/8, multicast and above.
        address => match address.octets() {
            [0 | 127 | 224.., ..] => None,
            _ => Some(FramedIp::Address(address)),
        },
    }
}

/// A prefix that hosts may have.
fn prefix(value: &[u8]) -> Option<(Ipv6Addr, u8)> {
    value::ipv6_prefix(value).filter(|(address, length)| *length != 0 && !address.is_multicast())
}

fn name(value: &[u8]) -> Option<Vec<u8>> {
    (!value.is_empty()).then(|| value.to_vec())
}

fn addresses4(form: Form, value: &[u8]) -> Option<Vec<Ipv4Addr>> {
    if form == Form::Address {
        return value::ipv4(value).map(|address| vec![address]);
    }
    let text = core::str::from_utf8(value).ok()?;
    text.split([' ', ',']).filter(|word| !word.is_empty()).map(|word| word.parse().ok()).collect()
}

/// `prefix[/length] [gateway [metric ...]]`. Without a length an IPv4 prefix has that of its class (RFC 2865 section
/// 5.22) unless its host part is set, which makes it one address; an IPv6 prefix must have one.
fn route(value: &[u8], ipv6: bool) -> Option<Route> {
    let text = core::str::from_utf8(value).ok()?;
    let mut words = text.split_ascii_whitespace();
    let network = words.next()?;
    let (address, length) = match network.split_once('/') {
        Some((address, length)) => (address, Some(u8::try_from(value::decimal(length.as_bytes())?).ok()?)),
        None => (network, None),
    };
    let gateway = words.next();
    let metric = words.next().map_or(Some(0), |word| value::decimal(word.as_bytes()))?;
    let metric = u32::try_from(metric).ok()?;
    if ipv6 {
        let length = length.filter(|length| *length <= 128)?;
        let mask = u128::MAX.checked_shl(128_u32.saturating_sub(u32::from(length))).unwrap_or(0);
        let prefix = Ipv6Addr::from_bits(address.parse::<Ipv6Addr>().ok()?.to_bits() & mask);
        let gateway: Option<Ipv6Addr> = gateway.map(str::parse).transpose().ok()?;
        let gateway = gateway.filter(|gateway| !gateway.is_unspecified()).map(IpAddr::V6);
        return Some(Route { prefix: IpAddr::V6(prefix), length, gateway, metric });
    }
    let address: Ipv4Addr = address.parse().ok()?;
    let length = match length {
        Some(length) => Some(length).filter(|length| *length <= 32)?,
        None => class_length(address),
    };
    let mask = u32::MAX.checked_shl(32_u32.saturating_sub(u32::from(length))).unwrap_or(0);
    let gateway: Option<Ipv4Addr> = gateway.map(str::parse).transpose().ok()?;
    let gateway = gateway.filter(|gateway| !gateway.is_unspecified()).map(IpAddr::V4);
    Some(Route { prefix: IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask)), length, gateway, metric })
}

fn class_length(address: Ipv4Addr) -> u8 {
    let [first, ..] = address.octets();
    let length: u8 = match first {
        0..=127 => 8,
        128..=191 => 16,
        _ => 24,
    };
    let host = u32::MAX.checked_shr(u32::from(length)).unwrap_or(0);
    if address.is_unspecified() {
        0
    } else if address.to_bits() & host != 0 {
        32
    } else {
        length
    }
}
