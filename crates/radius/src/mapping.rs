//! Which vendor's attribute means what: a table that is data, so that configuration can replace it.

use crate::dictionary::{
    VENDOR_BNGD, VENDOR_CISCO, VENDOR_ERX, VENDOR_MICROSOFT, VENDOR_MIKROTIK, VENDOR_WISPR, number,
};
use crate::value::decimal;

/// What a mapped attribute sets. Up is from the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// Upstream rate.
    RateUp,
    /// Downstream rate.
    RateDown,
    /// Both rates, from a text `up/down`; one number alone is for both.
    Rates,
    /// Upstream burst in octets.
    BurstUp,
    /// Downstream burst in octets.
    BurstDown,
    /// Name of the profile.
    Profile,
    /// Name of the upstream policy.
    PolicyUp,
    /// Name of the downstream policy.
    PolicyDown,
    /// Name of the IPv4 pool.
    Ipv4Pool,
    /// An IPv4 DNS server, or several in a text.
    Ipv4Dns,
    /// An IPv6 DNS server.
    Ipv6Dns,
    /// An IPv4 NBNS server.
    Ipv4Nbns,
}

/// How the value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A number of 32 or 64 bits, to be multiplied by this to give bit/s, or octets for bursts.
    Number(u64),
    /// A decimal text, `k`, `M` and `G` (powers of 1000) allowed, to be multiplied likewise. What follows the first
    /// blank is not looked at.
    Decimal(u64),
    /// A text.
    Text,
    /// An address in 4 or 16 octets.
    Address,
}

/// One row: attributes of this vendor and number mean this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Vendor, 0 for a standard attribute.
    pub vendor: u32,
    /// Attribute number.
    pub number: u8,
    /// For texts `key=value`: the key; the form is then that of what follows the `=`. Empty: the whole value.
    pub key: std::borrow::Cow<'static, str>,
    /// How the value is written.
    pub form: Form,
    /// What it sets.
    pub meaning: Meaning,
}

const fn rule(vendor: u32, number: u8, key: &'static str, form: Form, meaning: Meaning) -> Rule {
    Rule { vendor, number, key: std::borrow::Cow::Borrowed(key), form, meaning }
}

/// The shipped table. Where two rows would set the same thing, the upper one wins, whatever the order in the packet.
pub const DEFAULT_RULES: &[Rule] = &[
    rule(VENDOR_BNGD, number::BNGD_RATE_UP, "", Form::Number(1), Meaning::RateUp),
    rule(VENDOR_BNGD, number::BNGD_RATE_DOWN, "", Form::Number(1), Meaning::RateDown),
    rule(VENDOR_BNGD, number::BNGD_BURST_UP, "", Form::Number(1), Meaning::BurstUp),
    rule(VENDOR_BNGD, number::BNGD_BURST_DOWN, "", Form::Number(1), Meaning::BurstDown),
    rule(VENDOR_WISPR, number::WISPR_BANDWIDTH_MAX_UP, "", Form::Number(1), Meaning::RateUp),
    rule(VENDOR_WISPR, number::WISPR_BANDWIDTH_MAX_DOWN, "", Form::Number(1), Meaning::RateDown),
    // The router's receive rate comes first: what the client sends.
    rule(VENDOR_MIKROTIK, number::MIKROTIK_RATE_LIMIT, "", Form::Decimal(1), Meaning::Rates),
    rule(VENDOR_CISCO, number::CISCO_AVPAIR, "subscriber:rate-up", Form::Decimal(1), Meaning::RateUp),
    rule(VENDOR_CISCO, number::CISCO_AVPAIR, "subscriber:rate-down", Form::Decimal(1), Meaning::RateDown),
    rule(VENDOR_CISCO, number::CISCO_AVPAIR, "ip:sub-qos-policy-in", Form::Text, Meaning::PolicyUp),
    rule(VENDOR_CISCO, number::CISCO_AVPAIR, "ip:sub-qos-policy-out", Form::Text, Meaning::PolicyDown),
    rule(VENDOR_CISCO, number::CISCO_AVPAIR, "ip:addr-pool", Form::Text, Meaning::Ipv4Pool),
    rule(VENDOR_CISCO, number::CISCO_AVPAIR, "ip:dns-servers", Form::Text, Meaning::Ipv4Dns),
    rule(VENDOR_ERX, 26, "", Form::Text, Meaning::Profile),
    rule(VENDOR_ERX, number::ERX_INGRESS_POLICY_NAME, "", Form::Text, Meaning::PolicyUp),
    rule(VENDOR_ERX, number::ERX_EGRESS_POLICY_NAME, "", Form::Text, Meaning::PolicyDown),
    rule(VENDOR_ERX, 2, "", Form::Text, Meaning::Ipv4Pool),
    rule(VENDOR_ERX, 4, "", Form::Address, Meaning::Ipv4Dns),
    rule(VENDOR_ERX, 5, "", Form::Address, Meaning::Ipv4Dns),
    rule(VENDOR_ERX, 47, "", Form::Address, Meaning::Ipv6Dns),
    rule(VENDOR_ERX, 48, "", Form::Address, Meaning::Ipv6Dns),
    rule(VENDOR_MICROSOFT, number::MS_PRIMARY_DNS_SERVER, "", Form::Address, Meaning::Ipv4Dns),
    rule(VENDOR_MICROSOFT, number::MS_SECONDARY_DNS_SERVER, "", Form::Address, Meaning::Ipv4Dns),
    rule(VENDOR_MICROSOFT, number::MS_PRIMARY_NBNS_SERVER, "", Form::Address, Meaning::Ipv4Nbns),
    rule(VENDOR_MICROSOFT, number::MS_SECONDARY_NBNS_SERVER, "", Form::Address, Meaning::Ipv4Nbns),
];

/// The first row for an attribute, with its rank and the octets that the form is about.
pub(crate) fn find<'r, 'v>(
    rules: &'r [Rule],
    vendor: u32,
    number: u8,
    value: &'v [u8],
) -> Option<(usize, &'r Rule, &'v [u8])> {
    rules.iter().enumerate().find_map(|(rank, rule)| {
        if rule.vendor != vendor || rule.number != number {
            return None;
        }
        if rule.key.is_empty() {
            return Some((rank, rule, value));
        }
        let rest = value.strip_prefix(rule.key.as_bytes())?.strip_prefix(b"=")?;
        Some((rank, rule, rest))
    })
}

/// Whether any row is about this attribute.
pub(crate) fn concerns(rules: &[Rule], vendor: u32, number: u8) -> bool {
    rules.iter().any(|rule| rule.vendor == vendor && rule.number == number)
}

/// A decimal number with `k`, `M` or `G` behind it. `None`: something else, or above 64 bits.
pub(crate) fn scaled(text: &[u8], scale: u64) -> Option<u64> {
    let (digits, factor) = match text.split_last()? {
        (b'k' | b'K', rest) => (rest, 1_000),
        (b'm' | b'M', rest) => (rest, 1_000_000),
        (b'g' | b'G', rest) => (rest, 1_000_000_000),
        _ => (text, 1),
    };
    decimal(digits)?.checked_mul(factor)?.checked_mul(scale)
}

/// The two numbers of `up/down`; one alone is for both. Only what stands before the first blank counts.
pub(crate) fn pair(text: &[u8], scale: u64) -> Option<(u64, u64)> {
    let first = text.split(|octet| *octet == b' ').next()?;
    let mut parts = first.split(|octet| *octet == b'/');
    let up = scaled(parts.next()?, scale)?;
    let down = parts.next().map_or(Some(up), |part| scaled(part, scale))?;
    parts.next().is_none().then_some((up, down))
}
