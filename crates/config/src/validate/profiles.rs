//! Profiles.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};

use super::pools::PoolPlace;
use super::refer;
use crate::decode::{At, Here, List, Parsed, Time};
use crate::received::{
    Ipv4Section, Ipv6Section, MacPrefixText, PadoRuleSection, PppSection, PppoeSection, ProfileSection, Root,
};
use crate::source::Sources;
use crate::{
    Dhcp, IpPrefix, MacPrefix, PadoMatch, PadoRule, Ppp, Pppoe, Profile, ProfileIpv4, ProfileIpv6, Rate,
    RouterAdvertisements,
};

/// RFC 1877 has a primary and a secondary name server.
const IPV4_DNS_MAX: usize = 2;
/// As many as fit into a router advertisement with room to spare.
const IPV6_DNS_MAX: usize = 3;
/// Entries of a list of MAC addresses at most: each is compared for each request.
const MAC_PREFIXES_MAX: usize = 1024;
/// PADO rules at most, for the same reason.
const PADO_RULES_MAX: usize = 64;
/// What the domain search list may take in a router advertisement.
const DOMAINS_OCTETS_MAX: usize = 512;
/// What PPPoE carries without PPP-Max-Payload (RFC 2516 section 7).
const PLAIN_MRU: u16 = 1492;

/// Each profile, `None` for one that has an error.
pub(crate) fn profiles(root: &Root, node: &str, places: &[PoolPlace], out: &mut Sources) -> Vec<Option<Profile>> {
    root.profiles
        .0
        .iter()
        .map(|(name, section)| {
            let section = section.as_ref()?;
            if !root.access.0.iter().any(|access| access.profile.value.0 == name.value) {
                out.hint(name.here.at, &name.here.path, "no access match uses this profile", None);
            }
            profile(name, section, root, node, places, out)
        })
        .collect()
}

fn profile(
    name: &At<String>,
    section: &ProfileSection,
    root: &Root,
    node: &str,
    places: &[PoolPlace],
    out: &mut Sources,
) -> Option<Profile> {
    if section.ipv4.is_none() && section.ipv6.is_none() {
        let help = Some("add `ipv4:` with a gateway and a pool".into());
        out.error(name.here.at, &name.here.path, "this profile gives its subscribers neither IPv4 nor IPv6", help);
    }
    let pppoe = pppoe(&section.pppoe, node, out);
    let ppp = ppp(&section.ppp, &pppoe, out);
    let ipv4 = match &section.ipv4 {
        Some(section) => Some(ipv4(section, root, places, out)?),
        None => None,
    };
    let ipv6 = match &section.ipv6 {
        Some(section) => Some(ipv6(section, root, places, out)?),
        None => None,
    };
    let priority_map = match &section.priority_map {
        Some(map) => Some(refer("priority map", &map.value.0, &map.here, &root.priority_maps, out)?),
        None => None,
    };
    let rate = |rate: Option<u64>, burst: Option<u32>| {
        let bits_per_second = rate?;
        // What arrives in 50 ms.
        let octets = u32::try_from(bits_per_second / 160).unwrap_or(u32::MAX);
        Some(Rate { bits_per_second, burst_octets: burst.unwrap_or(octets) })
    };
    let rates = &section.rate;
    for (rate, burst, name) in [(&rates.up, &rates.burst_up, "up"), (&rates.down, &rates.burst_down, "down")] {
        if let (None, Some(burst)) = (rate, burst) {
            out.error(burst.here.at, &burst.here.path, format!("a burst without a rate: add `{name}`"), None);
        }
    }
    Some(Profile {
        source_check: section.source_check.value,
        rate_up: rate(rates.up.as_ref().map(|rate| rate.0), rates.burst_up.as_ref().map(|burst| burst.u32())),
        rate_down: rate(rates.down.as_ref().map(|rate| rate.0), rates.burst_down.as_ref().map(|burst| burst.u32())),
        priority_map,
        duplicate_user: section.duplicate_user.value,
        sticky_addresses: section.sticky_addresses.value,
        name: name.value.clone(),
        pppoe,
        ppp,
        ipv4,
        ipv6,
        mss_clamp: section.mss_clamp.value,
        aaa: section.aaa.0.clone(),
    })
}

fn pppoe(section: &PppoeSection, node: &str, out: &mut Sources) -> Pppoe {
    let mut names: Vec<String> = Vec::new();
    for name in &section.service_names.0 {
        if names.contains(&name.value.0) {
            out.error(
                name.here.at,
                &name.here.path,
                format!("the service `{}` is already in the list", name.value.0),
                None,
            );
        }
        names.push(name.value.0.clone());
    }
    if names.is_empty() {
        let here = &section.service_names.here;
        let help = Some("the empty name serves any client: [\"\"]".into());
        out.error(here.at, &here.path, "no service is offered", help);
    }
    Pppoe {
        ac_name: section.ac_name.as_ref().map_or_else(|| node.to_owned(), |name| name.value.0.clone()),
        service_names: names,
        accept_any_service: section.accept_any_service.value,
        max_payload: section.max_payload.to(),
        sessions_per_mac: section.sessions_per_mac.to(),
        advertise: section.advertise.value,
        pado_delay: section.pado_delay.0,
        pado_rules: pado_rules(section, out),
        macs_allowed: macs(&section.macs.allow, out),
        macs_denied: macs(&section.macs.deny, out),
    }
}

fn macs(list: &At<List<Parsed<MacPrefixText>>>, out: &mut Sources) -> Vec<MacPrefix> {
    if list.0.len() > MAC_PREFIXES_MAX {
        let reason = format!("{} are more than the {MAC_PREFIXES_MAX} there may be", list.0.len());
        out.error(list.here.at, &list.here.path, reason, None);
    }
    list.0.iter().map(|mac| mac.value.0.0).collect()
}

fn pado_rules(section: &PppoeSection, out: &mut Sources) -> Vec<PadoRule> {
    let list = &section.pado_rules;
    if list.0.len() > PADO_RULES_MAX {
        let reason = format!("{} are more than the {PADO_RULES_MAX} there may be", list.0.len());
        out.error(list.here.at, &list.here.path, reason, None);
    }
    let rule = |rule: &At<PadoRuleSection>| {
        let here = &rule.here;
        let when = match (&rule.sessions_from, &rule.service_name, &rule.circuit_id) {
            (Some(sessions), None, None) => Some(PadoMatch::SessionsFrom(sessions.to())),
            (None, Some(name), None) => Some(PadoMatch::ServiceName(name.value.0.clone())),
            (None, None, Some(id)) => Some(PadoMatch::CircuitIdPrefix(id.value.0.clone())),
            _ => None,
        };
        let delay = match (&rule.delay, rule.never.value) {
            (Some(delay), false) => Some(Some(delay.0)),
            (None, true) => Some(None),
            _ => None,
        };
        if when.is_none() {
            let reason = "a rule has exactly one of `sessions_from`, `service_name` and `circuit_id`";
            out.error(here.at, &here.path, reason, None);
        }
        if delay.is_none() {
            out.error(here.at, &here.path, "a rule has exactly one of `delay` and `never: true`", None);
        }
        Some(PadoRule { when: when?, delay: delay? })
    };
    list.0.iter().filter_map(rule).collect()
}

fn ppp(section: &PppSection, pppoe: &Pppoe, out: &mut Sources) -> Ppp {
    let here = &section.auth.here;
    if section.auth.0.is_empty() {
        out.error(here.at, &here.path, "at least one authentication protocol is needed", None);
    }
    let mut seen = HashSet::new();
    for method in &section.auth.0 {
        if !seen.insert(method.value) {
            out.error(method.here.at, &method.here.path, "this protocol is already in the list", None);
        }
    }
    let mru = section.mru.to::<u16>();
    if mru > pppoe.max_payload.max(PLAIN_MRU) {
        let here = &section.mru.here;
        let reason = format!("an MRU of {mru} can never be agreed: `pppoe.max_payload` is {}", pppoe.max_payload);
        out.error(here.at, &here.path, reason, None);
    }
    Ppp {
        auth: section.auth.0.iter().map(|method| method.value).collect(),
        mru,
        echo_interval: section.echo_interval.0,
        echo_misses: section.echo_misses.to(),
        restart_interval: section.restart_interval.0,
        first_request_delay: section.first_request_delay.0,
        configure_max: section.configure_max.to(),
        terminate_max: section.terminate_max.to(),
        failure_max: section.failure_max.to(),
        establish_timeout: section.establish_timeout.0,
        auth_timeout: section.auth_timeout.0,
        network_timeout: section.network_timeout.0,
        traffic_is_alive: section.traffic_is_alive.value,
    }
}

fn ipv4(section: &Ipv4Section, root: &Root, places: &[PoolPlace], out: &mut Sources) -> Option<ProfileIpv4> {
    gateway(section, root, out);
    dns(section.dns.0.iter().map(|dns| (IpAddr::V4(dns.value.0), &dns.here)), IPV4_DNS_MAX, out);
    dns(section.nbns.0.iter().map(|nbns| (IpAddr::V4(nbns.value.0), &nbns.here)), IPV4_DNS_MAX, out);
    let here = &section.pool.here;
    let pool = refer("pool", &section.pool.value.0, here, &root.pools, out)?;
    match places.get(pool) {
        Some(PoolPlace::V4(pool)) => Some(ProfileIpv4 {
            gateway: section.gateway.value.0,
            pool: *pool,
            dns: section.dns.0.iter().map(|dns| dns.value.0).collect(),
            nbns: section.nbns.0.iter().map(|nbns| nbns.value.0).collect(),
        }),
        Some(PoolPlace::V6(..)) => {
            out.error(here.at, &here.path, format!("`{}` is an IPv6 pool", section.pool.value.0), None);
            None
        }
        _ => None,
    }
}

/// The gateway may lie in the profile's own pool, which then keeps it, or outside all pools; never in another pool,
/// where a client could be given it.
fn gateway(section: &Ipv4Section, root: &Root, out: &mut Sources) {
    let (here, gateway) = (&section.gateway.here, section.gateway.value.0);
    if gateway.is_unspecified() || gateway.is_loopback() || gateway.is_multicast() || gateway == Ipv4Addr::BROADCAST {
        out.error(here.at, &here.path, format!("{gateway} is no address of a router"), None);
        return;
    }
    let own =
        root.pools.0.iter().find(|(name, _)| name.value == section.pool.value.0).and_then(|(_, pool)| pool.as_ref());
    if !own.is_some_and(|pool| matches!(pool.prefix.value.0, IpPrefix::V4(_))) {
        // The pool is reported; what the gateway should be is anybody's guess.
        return;
    }
    for (name, pool) in &root.pools.0 {
        let Some(IpPrefix::V4(prefix)) = pool.as_ref().map(|pool| pool.prefix.value.0) else { continue };
        if !prefix.contains(gateway) {
            continue;
        }
        if name.value != section.pool.value.0 {
            let reason = format!("{gateway} lies in the pool `{}`, which is not this profile's", name.value);
            out.error(
                here.at,
                &here.path,
                reason,
                Some("take an address of this profile's pool, or one outside all pools".into()),
            );
        } else if prefix.length() < 31 && gateway == prefix.address() {
            out.error(here.at, &here.path, format!("{gateway} is the network's own address in {prefix}"), None);
        } else if prefix.length() < 31 && gateway == prefix.last() {
            out.error(here.at, &here.path, format!("{gateway} is the broadcast address of {prefix}"), None);
        }
    }
}

fn ipv6(section: &Ipv6Section, root: &Root, places: &[PoolPlace], out: &mut Sources) -> Option<ProfileIpv6> {
    dns(section.dns.0.iter().map(|dns| (IpAddr::V6(dns.value.0), &dns.here)), IPV6_DNS_MAX, out);
    let mut good = true;
    let mut find = |name: &Option<At<crate::decode::Text<32>>>, line: bool| -> Option<usize> {
        let name = name.as_ref()?;
        let here = &name.here;
        let place = refer("pool", &name.value.0, here, &root.pools, out).and_then(|pool| places.get(pool));
        match place {
            Some(PoolPlace::V6(pool, length)) => {
                if line && *length != 64 {
                    let reason =
                        format!("the prefix of a line is a /64 (RFC 4862), and `{}` gives out /{length}", name.value.0);
                    out.error(here.at, &here.path, reason, None);
                } else if !line && *length > 64 {
                    let reason =
                        format!("a delegated prefix is a /64 or shorter, and `{}` gives out /{length}", name.value.0);
                    out.error(here.at, &here.path, reason, None);
                }
                return Some(*pool);
            }
            Some(PoolPlace::V4(_)) => {
                out.error(here.at, &here.path, format!("`{}` is an IPv4 pool", name.value.0), None)
            }
            _ => {}
        }
        good = false;
        None
    };
    let prefix_pool = find(&section.prefix_pool, true);
    let delegated_pool = find(&section.delegated_pool, false);
    let domains = domains(section, out);
    let router = router(section, delegated_pool.is_some(), out);
    let dhcp = dhcp(section, prefix_pool.is_some(), out);
    good.then(|| ProfileIpv6 {
        prefix_pool,
        delegated_pool,
        dns: section.dns.0.iter().map(|dns| dns.value.0).collect(),
        domains,
        router,
        dhcp,
    })
}

/// RFC 1035 section 2.3.4: labels of 1 to 63 octets, 255 in all; the whole list as it is sent has 512 at most.
fn domains(section: &Ipv6Section, out: &mut Sources) -> Vec<String> {
    let mut octets = 0;
    for name in &section.domains.0 {
        let text = name.value.0.strip_suffix('.').unwrap_or(&name.value.0);
        let good = text.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        });
        if !good {
            out.error(name.here.at, &name.here.path, format!("`{}` is no domain name", name.value.0), None);
        }
        octets += text.len() + 2;
    }
    if octets > DOMAINS_OCTETS_MAX {
        let here = &section.domains.here;
        let reason = format!("the list takes {octets} octets, and {DOMAINS_OCTETS_MAX} at most are sent");
        out.error(here.at, &here.path, reason, None);
    }
    section.domains.0.iter().map(|name| name.value.0.clone()).collect()
}

fn router(section: &Ipv6Section, delegates: bool, out: &mut Sources) -> RouterAdvertisements {
    let ra = &section.ra;
    let interval_max = ra.interval.0;
    let least = std::time::Duration::from_secs(3);
    let interval_min = ra.interval_min.as_ref().map_or(interval_max / 3, |min| min.0).max(least);
    if let Some(min) = &ra.interval_min
        && min.0 * 4 > interval_max * 3
    {
        let reason = "the shortest interval is at most three quarters of `interval` (RFC 4861 section 6.2.1)";
        out.error(min.here.at, &min.here.path, reason, None);
    }
    if !ra.lifetime.0.is_zero() && ra.lifetime.0 < interval_max {
        let reason = "the lifetime is 0, or not less than `interval` (RFC 4861 section 6.2.1)";
        out.error(ra.lifetime.here.at, &ra.lifetime.here.path, reason, None);
    }
    not_longer(&ra.prefix_preferred, &ra.prefix_valid, "prefix_valid", out);
    RouterAdvertisements {
        interval_max,
        interval_min: interval_min.min(interval_max * 3 / 4),
        lifetime_s: u16::try_from(ra.lifetime.0.as_secs()).unwrap_or(u16::MAX),
        managed: ra.managed.value,
        other: ra.other.as_ref().map_or(delegates, |other| other.value),
        hop_limit: ra.hop_limit.to(),
        mtu: ra.mtu.value,
        autonomous: ra.autonomous.value,
        prefix_valid_s: seconds(ra.prefix_valid.0),
        prefix_preferred_s: seconds(ra.prefix_preferred.0),
    }
}

fn dhcp(section: &Ipv6Section, has_prefix: bool, out: &mut Sources) -> Option<Dhcp> {
    let dhcp = &section.dhcp;
    not_longer(&dhcp.preferred, &dhcp.valid, "valid", out);
    dhcp.enabled.value.then(|| Dhcp {
        addresses: dhcp.addresses.value && has_prefix,
        rapid_commit: dhcp.rapid_commit.value,
        preference: dhcp.preference.to(),
        preferred_s: seconds(dhcp.preferred.0),
        valid_s: seconds(dhcp.valid.0),
        refresh_s: dhcp.refresh.as_ref().map(|refresh| seconds(refresh.0)),
    })
}

fn seconds(time: std::time::Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}

/// RFC 4861 section 4.6.2 and RFC 8415 section 7.7: the preferred lifetime is not longer than the valid one.
fn not_longer<const MIN: u64, const MAX: u64>(
    preferred: &At<Time<MIN, MAX>>,
    valid: &At<Time<MIN, MAX>>,
    name: &str,
    out: &mut Sources,
) {
    if preferred.0 > valid.0 {
        let reason = format!("the preferred lifetime is longer than the valid one, `{name}`");
        out.error(preferred.here.at, &preferred.here.path, reason, None);
    }
}

fn dns<'a>(servers: impl Iterator<Item = (IpAddr, &'a Here)>, max: usize, out: &mut Sources) {
    for (index, (address, here)) in servers.enumerate() {
        if index == max {
            out.error(here.at, &here.path, format!("at most {max} name servers can be told to a client"), None);
        }
        if address.is_unspecified() || address.is_multicast() {
            out.error(here.at, &here.path, format!("{address} is no address of a server"), None);
        }
    }
}
