//! The kernel's messages, read into what the routing table needs of them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bng_wire::id::MacAddr;
use netlink_packet_core::{NLM_F_APPEND, NLM_F_REPLACE, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_packet_route::neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteNextHop, RouteNextHopFlags, RouteType, RouteVia,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use crate::Prefix;
use crate::netlink::RawMessage;

const RTM_NEWNEXTHOP: u16 = 104;
const RTM_DELNEXTHOP: u16 = 105;

/// `RT_TABLE_MAIN` and `RT_TABLE_LOCAL`: the tables that the one routing instance uses.
const TABLE_MAIN: u32 = 254;
const TABLE_LOCAL: u32 = 255;

/// One thing that changed, or that a table holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    NewRoute { prefix: Prefix, route: Route, how: Entry },
    DelRoute { prefix: Prefix, route: Route },
    NewNeighbour(NeighbourSeen),
    DelNeighbour { if_index: u32, address: IpAddr },
    NewLink { if_index: u32, up: bool, carrier: bool, hosts_addresses: bool },
    DelLink { if_index: u32 },
    NewNextHop { id: u32, object: NextHopObject },
    DelNextHop { id: u32 },
}

/// How a new route joins those with the same prefix and metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// In the place of one with the same metric.
    Replace,
    /// Behind them.
    Append,
    /// Before them.
    First,
}

/// One route to a prefix, of several that may exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) kind: RouteKind,
    /// `RTPROT_*`.
    pub(crate) protocol: u8,
    pub(crate) metric: u32,
    pub(crate) hops: Vec<Hop>,
    /// The next-hop object that the hops are from; it decides where it is known.
    pub(crate) object: Option<u32>,
}

/// What a route does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteKind {
    /// Leads to its hops.
    Unicast,
    /// An address of the host.
    Local,
    /// The broadcast address of a connected network.
    Broadcast,
    /// Drops.
    Blackhole,
    /// Refuses.
    Unreachable,
}

/// One way to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Hop {
    pub(crate) if_index: u32,
    /// `None`: the destination itself is on the interface.
    pub(crate) gateway: Option<IpAddr>,
    /// The kernel does not use it now. A link that is down alone does not make it so: that is told of the device.
    pub(crate) dead: bool,
    /// How many of the flows are to go this way, in relation to the others; 1 or more.
    pub(crate) weight: u32,
}

/// A next-hop object (`ip nexthop`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NextHopObject {
    Hop(Hop),
    /// The members and their weights.
    Group(Vec<(u32, u32)>),
    Blackhole,
}

/// A neighbour as the kernel has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NeighbourSeen {
    pub(crate) if_index: u32,
    pub(crate) address: IpAddr,
    /// Its link-layer address, if that may be used.
    pub(crate) mac: Option<MacAddr>,
    /// The kernel has tried and got no answer.
    pub(crate) failed: bool,
    /// The kernel would check it before it used it.
    pub(crate) stale: bool,
    /// Entered by an operator: it is never checked and never grows old.
    pub(crate) permanent: bool,
}

/// What a message is to the routing table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reading {
    Change(Change),
    /// Nothing that concerns it.
    Other,
    /// It should have been understood and was not.
    Unreadable,
}

/// Reads one message.
pub(crate) fn read(message: &RawMessage<'_>) -> Reading {
    if matches!(message.kind, RTM_NEWNEXTHOP | RTM_DELNEXTHOP) {
        return read_next_hop(message.kind, message.payload());
    }
    let Ok(parsed) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(message.whole) else {
        return Reading::Unreadable;
    };
    let NetlinkPayload::InnerMessage(inner) = parsed.payload else {
        return Reading::Other;
    };
    let change = match inner {
        RouteNetlinkMessage::NewRoute(route) => read_route(&route).map(|(prefix, route)| {
            let how = match message.flags {
                flags if flags & NLM_F_REPLACE != 0 => Entry::Replace,
                flags if flags & NLM_F_APPEND != 0 => Entry::Append,
                _ => Entry::First,
            };
            Change::NewRoute { prefix, route, how }
        }),
        RouteNetlinkMessage::DelRoute(route) => {
            read_route(&route).map(|(prefix, route)| Change::DelRoute { prefix, route })
        }
        RouteNetlinkMessage::NewNeighbour(neighbour) => read_neighbour(&neighbour).map(Change::NewNeighbour),
        RouteNetlinkMessage::DelNeighbour(neighbour) => read_neighbour(&neighbour)
            .map(|seen| Change::DelNeighbour { if_index: seen.if_index, address: seen.address }),
        RouteNetlinkMessage::NewLink(link) => Some(read_link(&link)),
        RouteNetlinkMessage::DelLink(link) => Some(Change::DelLink { if_index: link.header.index }),
        _ => None,
    };
    change.map_or(Reading::Other, Reading::Change)
}

fn read_link(link: &LinkMessage) -> Change {
    let dummy = link.attributes.iter().any(|attribute| {
        matches!(attribute, LinkAttribute::LinkInfo(infos)
            if infos.iter().any(|info| matches!(info, LinkInfo::Kind(InfoKind::Dummy))))
    });
    Change::NewLink {
        if_index: link.header.index,
        up: link.header.flags.contains(LinkFlags::Up),
        carrier: link.header.flags.contains(LinkFlags::LowerUp),
        hosts_addresses: dummy || link.header.flags.contains(LinkFlags::Loopback),
    }
}

fn route_address(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(v4) => Some(IpAddr::V4(*v4)),
        RouteAddress::Inet6(v6) => Some(IpAddr::V6(*v6)),
        _ => None,
    }
}

/// The gateway that an attribute names, if it names one.
fn gateway_of(attribute: &RouteAttribute) -> Option<IpAddr> {
    match attribute {
        RouteAttribute::Gateway(address) => route_address(address),
        RouteAttribute::Via(RouteVia::Inet(v4)) => Some(IpAddr::V4(*v4)),
        RouteAttribute::Via(RouteVia::Inet6(v6)) => Some(IpAddr::V6(*v6)),
        _ => None,
    }
}

fn leg(next_hop: &RouteNextHop) -> Hop {
    Hop {
        if_index: next_hop.interface_index,
        gateway: next_hop.attributes.iter().find_map(gateway_of),
        dead: next_hop.flags.contains(RouteNextHopFlags::Dead),
        // rtnh_hops is the weight less one.
        weight: u32::from(next_hop.hops) + 1,
    }
}

/// The route of a message; `None` where it is not one that could ever matter: another table, a cache entry, a kind
/// that forwards nothing, one of bngd's own pools.
fn read_route(message: &RouteMessage) -> Option<(Prefix, Route)> {
    let header = &message.header;
    let kind = match header.kind {
        RouteType::Unicast => RouteKind::Unicast,
        RouteType::Local | RouteType::Anycast => RouteKind::Local,
        RouteType::Broadcast => RouteKind::Broadcast,
        RouteType::BlackHole => RouteKind::Blackhole,
        RouteType::Unreachable | RouteType::Prohibit => RouteKind::Unreachable,
        _ => return None,
    };
    let unspecified = match header.address_family {
        AddressFamily::Inet => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        AddressFamily::Inet6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        _ => return None,
    };
    let protocol = u8::from(header.protocol);
    // A route for some sources, or for some types of service, cannot be followed by destination alone.
    let special = header.source_prefix_length != 0 || header.tos != 0 || header.flags.contains(RouteFlags::Cloned);
    if special || protocol == crate::ROUTE_PROTOCOL {
        return None;
    }
    let mut table = u32::from(header.table);
    let (mut destination, mut metric, mut oif, mut gateway, mut object) = (unspecified, 0, None, None, None);
    let mut hops = Vec::new();
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Table(number) => table = *number,
            RouteAttribute::Destination(address) => destination = route_address(address)?,
            RouteAttribute::Priority(value) => metric = *value,
            RouteAttribute::Oif(index) => oif = Some(*index),
            RouteAttribute::NhId(id) => object = Some(*id),
            RouteAttribute::MultiPath(legs) => hops = legs.iter().map(leg).collect(),
            other => gateway = gateway.or(gateway_of(other)),
        }
    }
    let own_table = match kind {
        RouteKind::Local | RouteKind::Broadcast => table == TABLE_LOCAL,
        _ => table == TABLE_MAIN,
    };
    if !own_table {
        return None;
    }
    if let (Some(if_index), true) = (oif, hops.is_empty()) {
        let dead = header.flags.contains(RouteFlags::Dead);
        hops.push(Hop { if_index, gateway, dead, weight: 1 });
    }
    let prefix = Prefix::new(destination, header.destination_prefix_length)?;
    Some((prefix, Route { kind, protocol, metric, hops, object }))
}

fn read_neighbour(message: &NeighbourMessage) -> Option<NeighbourSeen> {
    // NUD_*, whose names the packet crate gives one at a time.
    const REACHABLE: u16 = 0x02;
    const STALE: u16 = 0x04;
    const DELAY: u16 = 0x08;
    const PROBE: u16 = 0x10;
    const FAILED: u16 = 0x20;
    const PERMANENT: u16 = 0x80;
    if message.header.flags.contains(NeighbourFlags::Proxy) {
        return None;
    }
    let state = u16::from(message.header.state);
    let (mut address, mut mac) = (None, None);
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(v4)) => address = Some(IpAddr::V4(*v4)),
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(v6)) => address = Some(IpAddr::V6(*v6)),
            NeighbourAttribute::LinkLayerAddress(octets) => {
                mac = <[u8; 6]>::try_from(octets.as_slice()).ok().map(MacAddr);
            }
            _ => {}
        }
    }
    let usable = state & (REACHABLE | STALE | DELAY | PROBE | PERMANENT) != 0;
    Some(NeighbourSeen {
        if_index: message.header.ifindex,
        address: address?,
        mac: mac.filter(|mac| usable && !mac.is_group() && *mac != MacAddr::ZERO),
        failed: state & FAILED != 0,
        stale: state & STALE != 0,
        permanent: state & PERMANENT != 0,
    })
}

/// Reads a next-hop object's message: `struct nhmsg` (family, scope, protocol, a reserved octet, four octets of
/// flags), then attributes.
fn read_next_hop(kind: u16, payload: &[u8]) -> Reading {
    const NHMSG_OCTETS: usize = 8;
    const NHA_ID: u16 = 1;
    const NHA_GROUP: u16 = 2;
    const NHA_BLACKHOLE: u16 = 4;
    const NHA_OIF: u16 = 5;
    const NHA_GATEWAY: u16 = 6;
    const RTNH_F_DEAD: u32 = 1;

    let Some((head, rest)) = payload.split_first_chunk::<NHMSG_OCTETS>() else {
        return Reading::Unreadable;
    };
    let [_, _, _, _, f0, f1, f2, f3] = *head;
    let flags = u32::from_ne_bytes([f0, f1, f2, f3]);
    let number = |value: &[u8]| value.first_chunk::<4>().map(|octets| u32::from_ne_bytes(*octets));
    let (mut id, mut oif, mut gateway, mut group, mut blackhole) = (None, None, None, None, false);
    for (attribute, value) in attributes(rest) {
        match attribute {
            NHA_ID => id = number(value),
            NHA_OIF => oif = number(value),
            NHA_BLACKHOLE => blackhole = true,
            // struct nexthop_grp: the id, the weight less one, three octets more.
            NHA_GROUP => {
                let member = |octets: &[u8]| Some((number(octets)?, u32::from(*octets.get(4)?) + 1));
                group = Some(value.chunks_exact(8).filter_map(member).collect::<Vec<(u32, u32)>>());
            }
            NHA_GATEWAY => {
                gateway = <[u8; 4]>::try_from(value)
                    .map(IpAddr::from)
                    .or_else(|_| <[u8; 16]>::try_from(value).map(IpAddr::from))
                    .ok();
            }
            _ => {}
        }
    }
    let Some(id) = id else {
        return Reading::Unreadable;
    };
    if kind == RTM_DELNEXTHOP {
        return Reading::Change(Change::DelNextHop { id });
    }
    let object = match (group, oif) {
        (Some(members), _) => NextHopObject::Group(members),
        (None, _) if blackhole => NextHopObject::Blackhole,
        (None, Some(if_index)) => {
            NextHopObject::Hop(Hop { if_index, gateway, dead: flags & RTNH_F_DEAD != 0, weight: 1 })
        }
        (None, None) => return Reading::Other,
    };
    Reading::Change(Change::NewNextHop { id, object })
}

/// The attributes of a message: length, type, value, each aligned to 4 octets.
fn attributes(mut octets: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    /// The type without its flags (`NLA_F_NESTED`, `NLA_F_NET_BYTEORDER`).
    const TYPE_MASK: u16 = 0x3fff;
    std::iter::from_fn(move || {
        let (head, _) = octets.split_first_chunk::<4>()?;
        let [l0, l1, k0, k1] = *head;
        let length = usize::from(u16::from_ne_bytes([l0, l1]));
        let value = octets.get(4..length)?;
        octets = octets.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([k0, k1]) & TYPE_MASK, value))
    })
}

/// The prefix of a pool's route that bngd itself wrote to the main table, now or in an earlier run.
pub(crate) fn own_pool(message: &RawMessage<'_>) -> Option<Prefix> {
    let parsed = NetlinkMessage::<RouteNetlinkMessage>::deserialize(message.whole).ok()?;
    let NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(route)) = parsed.payload else {
        return None;
    };
    let own = u8::from(route.header.protocol) == crate::ROUTE_PROTOCOL && route.header.kind == RouteType::BlackHole;
    let destination = route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Destination(address) => route_address(address),
        _ => None,
    });
    Prefix::new(destination.filter(|_| own)?, route.header.destination_prefix_length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::netlink::messages;

    /// A next-hop object's message: header, `struct nhmsg`, attributes.
    fn next_hop_message(kind: u16, flags: u32, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = vec![libc::AF_INET as u8, 0, 0, 0];
        body.extend(flags.to_ne_bytes());
        for (kind, value) in attributes {
            body.extend((value.len() as u16 + 4).to_ne_bytes());
            body.extend(kind.to_ne_bytes());
            body.extend_from_slice(value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        let mut octets = (body.len() as u32 + 16).to_ne_bytes().to_vec();
        octets.extend(kind.to_ne_bytes());
        octets.extend([0; 10]);
        octets.extend(body);
        octets
    }

    fn read_all(datagram: &[u8]) -> Vec<Reading> {
        messages(datagram).map(|message| read(&message)).collect()
    }

    #[test]
    fn next_hop_objects_are_read() {
        let [id, oif] = [7u32.to_ne_bytes(), 10u32.to_ne_bytes()];
        let hop = next_hop_message(RTM_NEWNEXTHOP, 1, &[(1, &id), (5, &oif), (6, &[198, 51, 100, 2])]);
        let gateway = Some(IpAddr::from([198, 51, 100, 2]));
        let object = NextHopObject::Hop(Hop { if_index: 10, gateway, dead: true, weight: 1 });
        assert_eq!(read_all(&hop), [Reading::Change(Change::NewNextHop { id: 7, object })]);

        let members = [1u32.to_ne_bytes(), [0; 4], 2u32.to_ne_bytes(), [3, 0, 0, 0]].concat();
        let group = next_hop_message(RTM_NEWNEXTHOP, 0, &[(1, &id), (2, &members)]);
        let object = NextHopObject::Group(vec![(1, 1), (2, 4)]);
        assert_eq!(read_all(&group), [Reading::Change(Change::NewNextHop { id: 7, object })]);

        let blackhole = next_hop_message(RTM_NEWNEXTHOP, 0, &[(1, &id), (4, &[])]);
        let object = NextHopObject::Blackhole;
        assert_eq!(read_all(&blackhole), [Reading::Change(Change::NewNextHop { id: 7, object })]);

        // Two messages in one datagram, the second without the id that it has to have.
        let two = [next_hop_message(RTM_DELNEXTHOP, 0, &[(1, &id)]), next_hop_message(RTM_DELNEXTHOP, 0, &[])].concat();
        assert_eq!(read_all(&two), [Reading::Change(Change::DelNextHop { id: 7 }), Reading::Unreadable]);
    }

    proptest! {
        #[test]
        fn no_datagram_is_too_odd(datagram in prop::collection::vec(any::<u8>(), 0..200)) {
            read_all(&datagram);
        }

        #[test]
        fn no_next_hop_message_is_too_odd(
            kind in RTM_NEWNEXTHOP..=RTM_DELNEXTHOP,
            body in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let mut octets = (body.len() as u32 + 16).to_ne_bytes().to_vec();
            octets.extend(kind.to_ne_bytes());
            octets.extend([0; 10]);
            octets.extend(body);
            let readings = read_all(&octets);
            prop_assert_eq!(readings.len(), 1);
            // Whatever is understood has an id; what is not says so.
            if octets.len() < 24 {
                prop_assert_eq!(&readings, &[Reading::Unreadable]);
            }
        }
    }
}
