//! Address and prefix pools.

use std::net::Ipv4Addr;

use crate::decode::{At, Here};
use crate::received::{PoolSection, Root};
use crate::source::Sources;
use crate::{Interface, IpPrefix, Ipv4Pool, Ipv4Prefix, Ipv6Pool, Ipv6Prefix, Profile};

/// Bits of a pool's offset at most: an array of that many entries leads from an address to its session.
const OFFSET_BITS_MAX: u8 = 24;

/// Where a pool of the file went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PoolPlace {
    /// Index among the IPv4 pools.
    V4(usize),
    /// Index among the IPv6 pools, and the length of its prefixes.
    V6(usize, u8),
    /// It has an error.
    Broken,
}

type Pools = (Vec<Option<Ipv4Pool>>, Vec<Option<Ipv6Pool>>, Vec<PoolPlace>);

/// Networks that no pool may touch (RFC 6890).
const SPECIAL: [(&str, &str); 7] = [
    ("0.0.0.0/8", "\"this network\""),
    ("127.0.0.0/8", "the loopback network"),
    ("224.0.0.0/4", "the multicast network"),
    ("255.255.255.255/32", "the limited broadcast address"),
    ("::1/128", "the loopback address"),
    ("fe80::/10", "the link-local network"),
    ("ff00::/8", "the multicast network"),
];

/// The pools of either family, and where each pool of the file went.
pub(crate) fn pools(root: &Root, out: &mut Sources) -> Pools {
    let mut v4 = Vec::new();
    let mut v6 = Vec::new();
    let mut places = Vec::new();
    let mut seen: Vec<(IpPrefix, &str)> = Vec::new();
    for (name, section) in &root.pools.0 {
        let Some(section) = section else {
            places.push(PoolPlace::Broken);
            continue;
        };
        let (here, prefix) = (&section.prefix.here, section.prefix.value.0);
        for (other, owner) in seen.iter().filter(|(other, _)| other.overlaps(&prefix)) {
            out.error(here.at, &here.path, format!("{prefix} overlaps the pool `{owner}`, {other}"), None);
        }
        seen.push((prefix, &name.value));
        for (special, what) in SPECIAL {
            if special.parse::<IpPrefix>().is_ok_and(|special| special.overlaps(&prefix)) {
                out.error(here.at, &here.path, format!("{prefix} overlaps {what}, {special}"), None);
            }
        }
        match prefix {
            IpPrefix::V4(prefix) => {
                places.push(PoolPlace::V4(v4.len()));
                v4.push(ipv4_pool(&name.value, section, prefix, out));
            }
            IpPrefix::V6(prefix) => {
                let pool = ipv6_pool(&name.value, &name.here, section, prefix, out);
                places.push(pool.as_ref().map_or(PoolPlace::Broken, |pool| PoolPlace::V6(v6.len(), pool.length)));
                v6.push(pool);
            }
        }
    }
    (v4, v6, places)
}

fn ipv4_pool(name: &str, section: &PoolSection, prefix: Ipv4Prefix, out: &mut Sources) -> Option<Ipv4Pool> {
    let here = &section.prefix.here;
    if prefix.length() < 32 - OFFSET_BITS_MAX {
        out.error(here.at, &here.path, format!("an IPv4 pool is a /{} or longer", 32 - OFFSET_BITS_MAX), None);
        return None;
    }
    if let Some(length) = &section.length {
        let reason = "`length` is for IPv6 pools: an IPv4 pool gives out single addresses";
        out.error(length.here.at, &length.here.path, reason, None);
    }
    let mut reserved = Vec::new();
    if prefix.length() < 31 {
        reserved.push((prefix.address(), prefix.address()));
        reserved.push((prefix.last(), prefix.last()));
    }
    for range in &section.exclude.0 {
        let (first, last) = (range.first, range.last);
        if !prefix.contains(first) || !prefix.contains(last) {
            let text = if first == last { first.to_string() } else { format!("{first}-{last}") };
            out.error(range.here.at, &range.here.path, format!("{text} is not within the pool, {prefix}"), None);
        } else {
            reserved.push((first, last));
        }
    }
    Some(Ipv4Pool { name: name.to_owned(), prefix, reserved })
}

fn ipv6_pool(name: &str, at: &Here, section: &PoolSection, prefix: Ipv6Prefix, out: &mut Sources) -> Option<Ipv6Pool> {
    if let Some(range) = section.exclude.0.first() {
        out.error(range.here.at, &range.here.path, "`exclude` is for IPv4 pools", None);
    }
    let Some(length) = &section.length else {
        let help = Some("64 for the prefix of the line itself, 48 to 64 for delegated prefixes".into());
        out.error(at.at, &at.path, "an IPv6 pool needs `length`: the length of each prefix it gives out", help);
        return None;
    };
    let (here, value) = (&length.here, length.to::<u8>());
    if value > 64 {
        out.error(here.at, &here.path, format!("a prefix of /{value} is too small for a network: at most 64"), None);
        return None;
    }
    if value < prefix.length() {
        out.error(here.at, &here.path, format!("a /{value} does not fit into the pool, {prefix}"), None);
        return None;
    }
    if value - prefix.length() > OFFSET_BITS_MAX {
        let reason = format!("{prefix} holds more than 2^{OFFSET_BITS_MAX} prefixes of /{value}");
        let help = Some(format!("a /{} is the largest pool of them", value - OFFSET_BITS_MAX));
        out.error(here.at, &here.path, reason, help);
        return None;
    }
    Some(Ipv6Pool { name: name.to_owned(), prefix, length: value })
}

/// Adds the gateways to the reserved addresses of their pools, puts those in order, and reports pools of which nothing
/// is left or which nobody uses.
pub(crate) fn reserve_gateways(
    mut pools: Vec<Option<Ipv4Pool>>,
    profiles: &[Option<Profile>],
    root: &Root,
    out: &mut Sources,
) -> Vec<Option<Ipv4Pool>> {
    for gateway in profiles.iter().flatten().filter_map(|profile| profile.ipv4.as_ref()).map(|ipv4| ipv4.gateway) {
        for pool in pools.iter_mut().flatten().filter(|pool| pool.prefix.contains(gateway)) {
            pool.reserved.push((gateway, gateway));
        }
    }
    let sections: Vec<&(At<String>, Option<PoolSection>)> = root.pools.0.iter().collect();
    for pool in pools.iter_mut().flatten() {
        pool.reserved = merged(std::mem::take(&mut pool.reserved));
        let size = 1u64 << (32 - pool.prefix.length());
        let reserved: u64 =
            pool.reserved.iter().map(|(first, last)| u64::from(last.to_bits() - first.to_bits()) + 1).sum();
        let place = sections.iter().find(|(name, _)| name.value == pool.name).map(|(name, _)| name);
        if let (true, Some(name)) = (reserved >= size, place) {
            let reason =
                "no address of this pool is left to give out: all are excluded, gateways, or the network's own";
            out.error(name.here.at, &name.here.path, reason, None);
        }
    }
    for (name, _) in &root.pools.0 {
        let used = root.profiles.0.iter().filter_map(|(_, profile)| profile.as_ref()).any(|profile| {
            let v4 = profile.ipv4.as_ref().map(|ipv4| &ipv4.pool);
            let v6 = profile.ipv6.as_ref().map(|ipv6| [ipv6.prefix_pool.as_ref(), ipv6.delegated_pool.as_ref()]);
            v4.into_iter().chain(v6.into_iter().flatten().flatten()).any(|pool| pool.value.0 == name.value)
        });
        if !used {
            out.hint(name.here.at, &name.here.path, "no profile uses this pool", None);
        }
    }
    pools
}

/// Ranges in order, those that touch made one.
fn merged(mut ranges: Vec<(Ipv4Addr, Ipv4Addr)>) -> Vec<(Ipv4Addr, Ipv4Addr)> {
    ranges.sort_unstable();
    let mut merged: Vec<(Ipv4Addr, Ipv4Addr)> = Vec::new();
    for (first, last) in ranges {
        match merged.last_mut() {
            Some((_, end)) if first.to_bits() <= end.to_bits().saturating_add(1) => *end = (*end).max(last),
            _ => merged.push((first, last)),
        }
    }
    merged
}

/// Reports pools that share addresses with a network that an interface is connected to, or with a static route.
pub(crate) fn compare_with_interfaces(
    root: &Root,
    v4: &[Option<Ipv4Pool>],
    v6: &[Option<Ipv6Pool>],
    interfaces: &[Option<Interface>],
    out: &mut Sources,
) {
    let v4 = v4.iter().flatten().map(|pool| (&pool.name, IpPrefix::V4(pool.prefix)));
    let v6 = v6.iter().flatten().map(|pool| (&pool.name, IpPrefix::V6(pool.prefix)));
    for (name, prefix) in v4.chain(v6) {
        let section =
            root.pools.0.iter().find(|(known, _)| known.value == *name).and_then(|(_, section)| section.as_ref());
        let Some(section) = section else { continue };
        let here = &section.prefix.here;
        for interface in interfaces.iter().flatten() {
            for network in interface.addresses.iter().map(crate::InterfaceAddress::network) {
                if network.overlaps(&prefix) {
                    let reason = format!(
                        "{prefix} overlaps {network}, which the interface `{}` is connected to",
                        interface.name
                    );
                    out.error(here.at, &here.path, reason, None);
                }
            }
        }
        for route in root.routes.0.iter().filter(|route| route.to.value.0 == prefix) {
            let reason = format!("{prefix} is also the pool `{name}`, whose addresses lead to sessions");
            out.error(route.to.here.at, &route.to.here.path, reason, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let a = |last: u8| Ipv4Addr::new(10, 0, 0, last);
        assert_eq!(merged(vec![(a(9), a(9)), (a(1), a(3)), (a(4), a(5)), (a(2), a(2))]), [(a(1), a(5)), (a(9), a(9))]);
        let top = Ipv4Addr::BROADCAST;
        assert_eq!(merged(vec![(top, top), (top, top)]), [(top, top)]);
    }
}
