//! Profiles.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};

use super::pools::PoolPlace;
use super::refer;
use crate::decode::{At, Here};
use crate::received::{Ipv4Section, Ipv6Section, PppSection, PppoeSection, ProfileSection, Root};
use crate::source::Sources;
use crate::{IpPrefix, Ppp, Pppoe, Profile, ProfileIpv4, ProfileIpv6};

/// RFC 1877 has a primary and a secondary name server.
const IPV4_DNS_MAX: usize = 2;
/// As many as fit into a router advertisement with room to spare.
const IPV6_DNS_MAX: usize = 3;
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
    Some(Profile {
        name: name.value.clone(),
        pppoe,
        ppp,
        ipv4,
        ipv6,
        mss_clamp: section.mss_clamp.value,
        aaa: section.aaa.value,
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
    }
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
        auth_timeout: section.auth_timeout.0,
    }
}

fn ipv4(section: &Ipv4Section, root: &Root, places: &[PoolPlace], out: &mut Sources) -> Option<ProfileIpv4> {
    gateway(section, root, out);
    dns(section.dns.0.iter().map(|dns| (IpAddr::V4(dns.value.0), &dns.here)), IPV4_DNS_MAX, out);
    let here = &section.pool.here;
    let pool = refer("pool", &section.pool.value.0, here, &root.pools, out)?;
    match places.get(pool) {
        Some(PoolPlace::V4(pool)) => Some(ProfileIpv4 {
            gateway: section.gateway.value.0,
            pool: *pool,
            dns: section.dns.0.iter().map(|dns| dns.value.0).collect(),
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
    good.then(|| ProfileIpv6 {
        prefix_pool,
        delegated_pool,
        dns: section.dns.0.iter().map(|dns| dns.value.0).collect(),
    })
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
