//! Routes with several next hops.

use std::collections::HashMap;

use bng_dataplane::memory::{MemoryFrame, Outcome};
use bng_dataplane::{FrameBuf, PuntClass, Reason, flow};
use bng_fib::{AdjacencyId, GroupId, GroupMember, NextHop};
use bng_wire::MacAddr;

use crate::bed::*;

const ROUTER_2: MacAddr = MacAddr([2, 0, 0, 0, 1, 2]);
const ROUTER_3: MacAddr = MacAddr([2, 0, 0, 0, 1, 3]);

fn neighbour(bed: &mut Bed, mac: MacAddr) -> AdjacencyId {
    let id = bed.fib.adjacency_create(CORE, 1500).unwrap();
    let header = ether(mac, CORE_MAC, untagged(), 0, &[]);
    bed.fib.adjacency_resolve(id, &header).unwrap();
    id
}

fn members(of: &[AdjacencyId]) -> Vec<GroupMember> {
    of.iter().map(|id| GroupMember { next_hop: NextHop::Neighbour(*id), weight: 1 }).collect()
}

/// A bed whose default routes lead to a group of the usual router and two more.
fn bed() -> (Bed, GroupId, [AdjacencyId; 3]) {
    let mut bed = Bed::new();
    let of = [bed.router, neighbour(&mut bed, ROUTER_2), neighbour(&mut bed, ROUTER_3)];
    let group = bed.fib.group_create(&members(&of), None).unwrap();
    bed.route4("0.0.0.0", 0, NextHop::Group(group));
    bed.fib.insert6(bng_wire::VrfId(0), std::net::Ipv6Addr::UNSPECIFIED, 0, NextHop::Group(group)).unwrap();
    (bed, group, of)
}

fn flow_packet(number: u16) -> Vec<u8> {
    ip4(IP, SERVER, 17, 64, &datagram(number, 53, b"which way do I go from here?"))
}

/// The router that a packet from the first client goes to.
fn way(bed: &mut Bed, packet: &[u8]) -> MacAddr {
    let frame = if packet[0] >> 4 == 6 { up6(packet) } else { up(packet) };
    let out = bed.forward(ACCESS, &frame, CORE);
    let kind: [u8; 2] = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
    assert_eq!(out[12..14], kind);
    assert_eq!(out[14..14 + packet.len()], hopped(packet));
    MacAddr(out[..6].try_into().unwrap())
}

#[test]
fn flows_are_spread_over_the_next_hops_and_each_stays_on_its_own() {
    let (mut bed, group, of) = bed();
    let mut ways = HashMap::new();
    let mut counts: HashMap<MacAddr, u32> = HashMap::new();
    for number in 0..3000 {
        let to = way(&mut bed, &flow_packet(number));
        *counts.entry(to).or_default() += 1;
        ways.insert(number, to);
    }
    for router in [ROUTER, ROUTER_2, ROUTER_3] {
        assert!((900..1100).contains(&counts[&router]), "{counts:?}");
    }
    // Another packet of the flow, with another time to live and another length, goes the same way.
    for number in 0..100 {
        let later = ip4(IP, SERVER, 17, 9, &datagram(number, 53, b"and now?"));
        assert_eq!(way(&mut bed, &later), ways[&number]);
    }
    // When a router goes, the flows of the others stay where they are.
    bed.fib.group_set(group, &members(&of[..2])).unwrap();
    for (number, before) in &ways {
        let after = way(&mut bed, &flow_packet(*number));
        assert!(after == *before || *before == ROUTER_3);
        assert_ne!(after, ROUTER_3);
    }
}

#[test]
fn a_burst_of_many_flows_goes_by_all_next_hops_and_single_routes_go_as_ever() {
    let (mut bed, _, _) = bed();
    bed.route4("198.18.0.0", 15, NextHop::Neighbour(bed.router));
    let packets: Vec<Vec<u8>> = (0..32)
        .map(|number| match number % 4 {
            0 => ip4(IP, "198.18.0.1", 17, 64, &datagram(number, 53, b"the one way there is")),
            1 => ip4(IP, IP_2, 17, 64, &datagram(number, 53, b"to the neighbour's")),
            _ => flow_packet(number),
        })
        .collect();
    let outcomes = bed.burst(ACCESS, packets.iter().map(|packet| MemoryFrame::of(&up(packet))));
    let mut seen = std::collections::HashSet::new();
    for (number, outcome) in outcomes.into_iter().enumerate() {
        let Outcome::Transmit(port, frame) = outcome else { panic!("{outcome:?}") };
        let to = MacAddr(frame.bytes()[..6].try_into().unwrap());
        match number % 4 {
            0 => assert_eq!((port, to), (CORE, ROUTER)),
            1 => assert_eq!((port, to), (ACCESS, CLIENT_2)),
            _ => {
                assert_eq!(port, CORE);
                assert_eq!(to, way(&mut bed, &packets[number]), "alone it goes where it went among others");
                seen.insert(to);
            }
        }
    }
    assert_eq!(seen.len(), 3);
}

#[test]
fn all_pieces_of_a_datagram_go_one_way() {
    let (mut bed, _, _) = bed();
    for number in 0..50 {
        let mut first = flow_packet(number);
        first[6] = 0x20;
        let mut later = ip4(IP, SERVER, 17, 64, b"no ports in here, only data");
        later[7] = 100;
        for packet in [&mut first, &mut later] {
            packet[10..12].fill(0);
            let sum = bng_wire::checksum::checksum(&packet[..20]);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        assert_eq!(way(&mut bed, &first), way(&mut bed, &later));
    }
}

#[test]
fn ipv6_flows_are_spread_too() {
    let (mut bed, _, _) = bed();
    let mut counts: HashMap<MacAddr, u32> = HashMap::new();
    for number in 0..300 {
        let packet = ip6(IP6, SERVER6, 17, 64, &datagram(number, 53, b"and in version six?"));
        *counts.entry(way(&mut bed, &packet)).or_default() += 1;
    }
    assert!(counts.len() == 3 && counts.values().all(|count| (60..140).contains(count)), "{counts:?}");
}

#[test]
fn a_member_without_an_address_holds_its_own_flows_alone() {
    let (mut bed, group, of) = bed();
    bed.fib.adjacency_unresolve(of[1]).unwrap();
    let (mut held, mut sent) = (0, 0);
    for number in 0..300 {
        let packet = flow_packet(number);
        // Whoever holds it finds by the same hash for whom.
        let fib = &bed.pipeline.tables().fib;
        let member = fib.group_member(group, flow::hash(&packet, fib.flow_seed()));
        // So many of one session are held each second, and no more.
        bed.now_ms += 100;
        if member == NextHop::Neighbour(of[1]) {
            bed.punts(ACCESS, &up(&packet), PuntClass::Host, Reason::NeighbourUnresolved);
            held += 1;
        } else {
            bed.forward(ACCESS, &up(&packet), CORE);
            sent += 1;
        }
    }
    assert!(held > 60 && sent > 120, "{held} held, {sent} sent");
}

#[test]
fn a_connected_network_can_be_a_member_and_a_pool_cannot_be_entered_by_one() {
    let (mut bed, group, of) = bed();
    let glean = GroupMember { next_hop: NextHop::Glean { interface: 3 }, weight: 1 };
    bed.fib.group_set(group, &[glean]).unwrap();
    bed.punts(ACCESS, &up(&ordinary()), PuntClass::Host, Reason::NeighbourUnresolved);
    let pool = GroupMember { next_hop: NextHop::Pool(bed.pool4), weight: 1 };
    bed.fib.group_set(group, &[pool]).unwrap();
    bed.drops(ACCESS, &up(&ordinary()), Reason::NoRoute);
    bed.fib.group_set(group, &members(&of)).unwrap();
    // Errors find their way by a group as well, to the neighbour that leads to their receiver.
    let dying = ip4("198.51.100.9", "203.0.113.200", 17, 1, &datagram(1, 2, b"too far"));
    bed.pipeline.tables().ports.router().set_ipv4(Some("198.51.100.1".parse().unwrap()));
    bed.drops(CORE, &down(&dying), Reason::Ipv4TtlExceeded);
    let (port, error) = &bed.extra[0];
    assert_eq!(*port, CORE);
    assert_eq!((error[12..14].to_vec(), error[34]), (vec![8, 0], 11));
    assert!([ROUTER, ROUTER_2, ROUTER_3].iter().any(|router| router.0 == error[..6]));
}
