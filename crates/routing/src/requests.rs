//! The changes that bngd asks the kernel for.

use std::io;
use std::net::IpAddr;

use bng_wire::id::MacAddr;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourExtFlags, NeighbourFlags, NeighbourMessage};
use netlink_packet_route::route::{RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteType, RouteVia};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use crate::netlink::Requests;
use crate::{InterfaceAddress, Prefix};

/// The metric of the routes that bngd writes. A route that an operator or a DHCP client enters without one (0) or a
/// routing daemon's (20 for FRR) stands before it or beside it; lower means better.
pub(crate) const METRIC: u32 = 20;

fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

/// Gives a device its MAC address and MTU.
pub(crate) fn set_link(requests: &mut Requests, if_index: u32, mac: MacAddr, mtu: u16) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = if_index;
    message.attributes = vec![LinkAttribute::Address(mac.0.to_vec()), LinkAttribute::Mtu(u32::from(mtu))];
    requests.change(RouteNetlinkMessage::SetLink(message), 0)
}

/// Takes a device up.
pub(crate) fn set_up(requests: &mut Requests, if_index: u32) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = if_index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    requests.change(RouteNetlinkMessage::SetLink(message), 0)
}

/// Gives a device an address; one that it has already stays.
pub(crate) fn add_address(requests: &mut Requests, if_index: u32, address: InterfaceAddress) -> io::Result<()> {
    let mut message = AddressMessage::default();
    message.header.family = family(address.address);
    message.header.prefix_len = address.length;
    message.header.index = if_index;
    message.attributes = vec![AddressAttribute::Local(address.address), AddressAttribute::Address(address.address)];
    if let IpAddr::V4(v4) = address.address
        && address.length < 31
    {
        // The network's broadcast address, as `ip address add ... broadcast +` would set it; a /31 has none (RFC 3021).
        let host_bits = u32::MAX.checked_shr(u32::from(address.length)).unwrap_or(0);
        message.attributes.push(AddressAttribute::Broadcast((u32::from(v4) | host_bits).into()));
    }
    requests.change(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_REPLACE)
}

fn route_message(to: Prefix, kind: RouteType, protocol: u8) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family(to.address());
    message.header.destination_prefix_length = to.length();
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::from(protocol);
    message.header.kind = kind;
    message.attributes = vec![RouteAttribute::Destination(to.address().into()), RouteAttribute::Priority(METRIC)];
    message
}

/// The pool's route: packets of the host itself for a subscriber end here, and a routing daemon sees the prefix.
fn pool_message(prefix: Prefix) -> RouteMessage {
    route_message(prefix, RouteType::BlackHole, crate::ROUTE_PROTOCOL)
}

/// A static route by way of a gateway.
pub(crate) fn static_message(to: Prefix, via: IpAddr, if_index: Option<u32>) -> RouteMessage {
    let mut message = route_message(to, RouteType::Unicast, libc::RTPROT_STATIC);
    message.attributes.push(match (to.address(), via) {
        (IpAddr::V4(_), IpAddr::V6(v6)) => RouteAttribute::Via(RouteVia::Inet6(v6)),
        _ => RouteAttribute::Gateway(via.into()),
    });
    if let Some(if_index) = if_index {
        message.attributes.push(RouteAttribute::Oif(if_index));
    }
    message
}

/// Enters a pool's prefix as a blackhole route with protocol [`crate::ROUTE_PROTOCOL`].
pub(crate) fn add_pool(requests: &mut Requests, prefix: Prefix) -> io::Result<()> {
    requests.change(RouteNetlinkMessage::NewRoute(pool_message(prefix)), NLM_F_CREATE | NLM_F_REPLACE)
}

/// Takes a pool's prefix out again.
pub(crate) fn remove_pool(requests: &mut Requests, prefix: Prefix) -> io::Result<()> {
    requests.change(RouteNetlinkMessage::DelRoute(pool_message(prefix)), 0)
}

/// Enters a route of the configuration.
pub(crate) fn add_static(requests: &mut Requests, to: Prefix, via: IpAddr, if_index: Option<u32>) -> io::Result<()> {
    requests.change(RouteNetlinkMessage::NewRoute(static_message(to, via, if_index)), NLM_F_CREATE | NLM_F_REPLACE)
}

/// Takes a route of the configuration out again.
pub(crate) fn remove_static(requests: &mut Requests, to: Prefix, via: IpAddr, if_index: Option<u32>) -> io::Result<()> {
    requests.change(RouteNetlinkMessage::DelRoute(static_message(to, via, if_index)), 0)
}

/// How a neighbour is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// The kernel keeps it fresh by itself from now on (`NTF_EXT_MANAGED`, Linux 5.16 and later).
    Managed,
    /// The kernel looks it up as though a packet had to go there now (`NTF_USE`).
    Once,
}

/// Asks the kernel to find a neighbour.
pub(crate) fn ask_neighbour(requests: &mut Requests, if_index: u32, address: IpAddr, ask: Ask) -> io::Result<()> {
    let mut message = NeighbourMessage::default();
    message.header.family = family(address);
    message.header.ifindex = if_index;
    message.attributes = vec![NeighbourAttribute::Destination(address.into())];
    match ask {
        Ask::Managed => message.attributes.push(NeighbourAttribute::ExtFlags(NeighbourExtFlags::Managed)),
        Ask::Once => message.header.flags = NeighbourFlags::Use,
    }
    requests.change(RouteNetlinkMessage::NewNeighbour(message), NLM_F_CREATE | NLM_F_REPLACE)
}
