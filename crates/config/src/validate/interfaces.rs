//! Core interfaces and static routes.

use std::net::IpAddr;

use super::ports::INTERFACE_NAME_MAX;
use super::refer;
use crate::decode::Here;
use crate::received::{InterfaceSection, Root, RouteSection};
use crate::source::Sources;
use crate::{Interface, InterfaceAddress, IpPrefix, Port, StaticRoute};

/// Names that the kernel or bngd itself gives to something else.
const RESERVED: [&str; 4] = ["lo", "all", "default", "sub0"];

/// Each interface, `None` for one that has an error.
pub(crate) fn interfaces(root: &Root, ports: &[Option<Port>], out: &mut Sources) -> Vec<Option<Interface>> {
    let mut places: Vec<(String, Option<u16>, &str)> = Vec::new();
    let mut networks: Vec<(InterfaceAddress, &str)> = Vec::new();
    root.interfaces
        .0
        .iter()
        .map(|(name, section)| {
            check_name(&name.value, &name.here, out);
            let section = section.as_ref()?;
            let port = refer("port", &section.port.value.0, &section.port.here, &root.ports, out)?;
            let vlan = section.vlan.as_ref().map(|vlan| vlan.to::<u16>());
            let place = (section.port.value.0.clone(), vlan);
            let known = !out.is_broken(&format!("{}.vlan", name.here.path));
            if let Some((.., first)) =
                places.iter().filter(|_| known).find(|(port, vlan, _)| *port == place.0 && *vlan == place.1)
            {
                let on = vlan.map_or_else(|| "untagged".to_owned(), |vlan| format!("VLAN {vlan}"));
                let reason = format!("{on} on the port `{}` is already the interface `{first}`", place.0);
                out.error(name.here.at, &name.here.path, reason, None);
            }
            places.push((place.0, place.1, &name.value));
            let addresses = addresses(&name.value, section, &mut networks, out);
            if section.addresses.0.is_empty() {
                let reason = "this interface has no address: neither neighbours nor routes can be reached over it";
                out.hint(name.here.at, &name.here.path, reason, None);
            }
            let port_mtu = ports.get(port).and_then(Option::as_ref).map_or(u16::MAX, |port| port.mtu);
            let mtu = section.mtu.as_ref().map_or(1500.min(port_mtu), |mtu| mtu.to());
            if let (Some(at), true) = (&section.mtu, mtu > port_mtu) {
                let reason = format!("an MTU of {mtu} is more than the port's, {port_mtu}");
                out.error(at.here.at, &at.here.path, reason, None);
            }
            Some(Interface { name: name.value.clone(), port, vlan, addresses, mtu })
        })
        .collect()
}

fn check_name(name: &str, here: &Here, out: &mut Sources) {
    if name.len() > INTERFACE_NAME_MAX {
        let reason = format!(
            "`{name}` has {} octets: the kernel twin of that name may have at most {INTERFACE_NAME_MAX}",
            name.len()
        );
        out.error(here.at, &here.path, reason, None);
    }
    if RESERVED.contains(&name) {
        out.error(here.at, &here.path, format!("the name `{name}` is taken by the kernel or by bngd itself"), None);
    }
}

fn addresses<'a>(
    name: &'a str,
    section: &InterfaceSection,
    networks: &mut Vec<(InterfaceAddress, &'a str)>,
    out: &mut Sources,
) -> Vec<InterfaceAddress> {
    let mut addresses = Vec::new();
    for at in &section.addresses.0 {
        let (here, address) = (&at.here, at.value.0);
        if let Some(reason) = unusable(&address) {
            out.error(here.at, &here.path, format!("{} {reason}", address.address), None);
        }
        let link_local = matches!(address.address, IpAddr::V6(address) if address.is_unicast_link_local());
        for (other, owner) in networks.iter() {
            if other.address == address.address && (*owner == name || !link_local) {
                out.error(here.at, &here.path, format!("{} is already an address of `{owner}`", address.address), None);
            } else if *owner != name && !link_local && other.network().overlaps(&address.network()) {
                let reason = format!("{} overlaps {} of the interface `{owner}`", address.network(), other.network());
                out.error(here.at, &here.path, reason, None);
            }
        }
        networks.push((address, name));
        addresses.push(address);
    }
    addresses
}

/// Why a station cannot have this address.
fn unusable(address: &InterfaceAddress) -> Option<&'static str> {
    let ip = address.address;
    if ip.is_unspecified() {
        return Some("is no address of a station");
    }
    if ip.is_multicast() {
        return Some("is a multicast address");
    }
    if ip.is_loopback() {
        return Some("is a loopback address");
    }
    if let (IpAddr::V4(ip), IpPrefix::V4(network)) = (ip, address.network())
        && network.length() < 31
    {
        if ip == network.address() {
            return Some("is the network's own address");
        }
        if ip == network.last() {
            return Some("is the network's broadcast address");
        }
    }
    None
}

/// The routes that have no error.
pub(crate) fn routes(root: &Root, interfaces: &[Option<Interface>], out: &mut Sources) -> Vec<StaticRoute> {
    let mut seen: Vec<(IpPrefix, usize)> = Vec::new();
    let mut routes = Vec::new();
    for route in &root.routes.0 {
        let to = route.to.value.0;
        let line = route.to.here.at.start.line;
        match seen.iter().find(|(known, _)| *known == to) {
            Some((_, line)) => {
                let reason = format!("a route to {to} is already there, in line {line}");
                out.error(route.to.here.at, &route.to.here.path, reason, None);
            }
            None => seen.push((to, line)),
        }
        if let Some(interface) = way_out(route, root, interfaces, out) {
            routes.push(StaticRoute { to, via: route.via.value.0, interface });
        }
    }
    routes
}

/// The interface by which a route's next hop is reached.
fn way_out(route: &RouteSection, root: &Root, interfaces: &[Option<Interface>], out: &mut Sources) -> Option<usize> {
    let (to, via) = (route.to.value.0, route.via.value.0);
    let here = &route.via.here;
    if matches!(to, IpPrefix::V4(_)) != via.is_ipv4() {
        out.error(here.at, &here.path, format!("{via} is not of the family of {to}"), None);
        return None;
    }
    if via.is_unspecified() || via.is_multicast() || via.is_loopback() {
        out.error(here.at, &here.path, format!("{via} is no address of a neighbour"), None);
        return None;
    }
    let has_own = |interface: &Interface| interface.addresses.iter().any(|address| address.address == via);
    if let Some(interface) = interfaces.iter().flatten().find(|interface| has_own(interface)) {
        out.error(here.at, &here.path, format!("{via} is this box's own address, on `{}`", interface.name), None);
        return None;
    }
    let reaches = |interface: &Interface| interface.addresses.iter().any(|address| address.network().contains(via));
    let link_local = matches!(via, IpAddr::V6(via) if via.is_unicast_link_local());
    if let Some(name) = &route.interface {
        let index = refer("interface", &name.value.0, &name.here, &root.interfaces, out)?;
        let interface = interfaces.get(index)?.as_ref()?;
        if !link_local && !reaches(interface) {
            out.error(
                here.at,
                &here.path,
                format!("{via} is in no network of the interface `{}`", interface.name),
                None,
            );
        }
        return Some(index);
    }
    if link_local {
        let help = Some("add `interface:` to the route".into());
        out.error(here.at, &here.path, format!("{via} is link-local: it says nothing about the interface"), help);
        return None;
    }
    let found = interfaces.iter().position(|interface| interface.as_ref().is_some_and(reaches));
    // An interface that has an error of its own may be the one: then this is not reported as well.
    if found.is_none() && interfaces.iter().all(Option::is_some) {
        let help = Some("the next hop must be a neighbour: an address in the network of an interface".into());
        out.error(here.at, &here.path, format!("{via} is in no network of any interface"), help);
    }
    found
}
