//! What happens when something is full: the change is refused with the limit's name, and nothing has changed.

use bng_fib::{AdjacencyId, AdjacencyView, Fib, FibConfig, FibError, FibWriter, NextHop};
use bng_sync::{Qsbr, Reader};
use bng_wire::{PortIndex, VrfId};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

const VRF: VrfId = VrfId(0);

fn small() -> FibConfig {
    FibConfig {
        vrfs_max: 1,
        routes4_max: 4,
        routes6_max: 2,
        nodes4_max: 3,
        nodes6_max: 3,
        next_hops_max: 3,
        adjacencies_max: 2,
        ..FibConfig::default()
    }
}

fn fib(config: &FibConfig) -> (Reader, Arc<Fib>, FibWriter) {
    let domain = Qsbr::new(1);
    let mut reader = domain.reader(0).expect("a place");
    reader.online();
    let (fib, writer) = Fib::new(config, &domain).expect("memory");
    (reader, fib, writer)
}

fn v4(text: &str) -> Ipv4Addr {
    text.parse().expect("an address")
}

fn v6(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

#[test]
fn routes_are_limited() {
    let (_reader, fib, mut writer) = fib(&small());
    for n in 0..4u8 {
        writer.insert4(VRF, Ipv4Addr::new(10, n, 0, 0), 16, NextHop::Local).expect("room");
    }
    let refused = writer.insert4(VRF, v4("10.9.0.0"), 16, NextHop::Local);
    assert!(matches!(refused, Err(FibError::RoutesFull { limit: 4 })));
    assert_eq!(fib.next_hop(fib.lookup4(VRF, v4("10.9.0.1").into())), NextHop::Unreachable);
    // One that is there may still change, and one that goes makes room.
    assert_eq!(writer.insert4(VRF, v4("10.0.0.0"), 16, NextHop::Blackhole).expect("there"), Some(NextHop::Local));
    writer.remove4(VRF, v4("10.1.0.0"), 16).expect("good");
    assert_eq!(writer.insert4(VRF, v4("10.9.0.0"), 16, NextHop::Local).expect("room"), None);
    // The families have limits of their own.
    writer.insert6(VRF, v6("2001:db8::"), 16, NextHop::Local).expect("room");
}

#[test]
fn nodes_are_limited_and_come_back_after_grace() {
    let (mut reader, fib, mut writer) = fib(&small());
    writer.insert4(VRF, v4("10.0.0.1"), 32, NextHop::Local).expect("two nodes");
    writer.insert4(VRF, v4("10.0.0.0"), 8, NextHop::Blackhole).expect("no node");
    let before = writer.statistics();
    let refused = writer.insert4(VRF, v4("10.1.0.1"), 32, NextHop::Pool(1));
    let nodes = FibError::NodesFull { needed: 2, free: 1, waiting: 0, limit: 3 };
    assert_eq!(refused.expect_err("full").to_string(), nodes.to_string());
    assert_eq!(writer.statistics(), before, "nothing half done");
    assert_eq!(fib.next_hop(fib.lookup4(VRF, v4("10.1.0.1").into())), NextHop::Blackhole);
    writer.insert4(VRF, v4("10.1.0.0"), 24, NextHop::Local).expect("the third node");

    // Nodes given back wait for the reader ...
    writer.remove4(VRF, v4("10.0.0.1"), 32).expect("good");
    assert_eq!((writer.statistics().v4.nodes, writer.statistics().v4.nodes_waiting), (1, 2));
    let refused = writer.insert4(VRF, v4("10.2.0.1"), 32, NextHop::Local);
    assert!(matches!(refused, Err(FibError::NodesFull { free: 0, waiting: 2, .. })));
    // ... and are there again when it has passed a quiescent point, without a call to poll.
    reader.quiescent();
    writer.insert4(VRF, v4("10.2.0.1"), 32, NextHop::Local).expect("room");
    assert_eq!(fib.next_hop(fib.lookup4(VRF, v4("10.2.0.1").into())), NextHop::Local);
    assert_eq!(fib.next_hop(fib.lookup4(VRF, v4("10.2.0.2").into())), NextHop::Blackhole);

    let refused = writer.insert6(VRF, v6("2001:db8::"), 48, NextHop::Local);
    assert!(matches!(refused, Err(FibError::NodesFull { needed: 4, free: 3, .. })));
    writer.insert6(VRF, v6("2001:db8::"), 40, NextHop::Local).expect("room");
}

#[test]
fn next_hops_are_shared_and_limited() {
    let (mut reader, fib, mut writer) = fib(&FibConfig { routes4_max: 100, ..small() });
    for n in 0..20u8 {
        let next_hop = NextHop::Pool(u16::from(n % 3));
        writer.insert4(VRF, Ipv4Addr::new(10, n, 0, 0), 16, next_hop).expect("room");
    }
    assert_eq!(writer.statistics().next_hops, 3);
    let refused = writer.insert4(VRF, v4("11.0.0.0"), 16, NextHop::Pool(3));
    assert!(matches!(refused, Err(FibError::NextHopsFull { waiting: 0, limit: 3 })));
    assert_eq!(writer.get4(VRF, v4("11.0.0.0"), 16), None);
    // To nowhere needs no place, and a refused change of a route leaves it as it was.
    writer.insert4(VRF, v4("11.0.0.0"), 16, NextHop::Unreachable).expect("no place needed");
    assert!(writer.insert4(VRF, v4("10.0.0.0"), 16, NextHop::Pool(3)).is_err());
    assert_eq!(writer.get4(VRF, v4("10.0.0.0"), 16), Some(NextHop::Pool(0)));

    let held = fib.lookup4(VRF, v4("10.0.0.1").into());
    for n in (0..20u8).step_by(3) {
        writer.remove4(VRF, Ipv4Addr::new(10, n, 0, 0), 16).expect("good");
    }
    // A reader that looked it up before still finds what it was, until it has passed a quiescent point.
    let refused = writer.insert4(VRF, v4("11.0.0.0"), 16, NextHop::Pool(3));
    assert!(matches!(refused, Err(FibError::NextHopsFull { waiting: 1, limit: 3 })));
    assert_eq!(fib.next_hop(held), NextHop::Pool(0));
    reader.quiescent();
    writer.insert4(VRF, v4("11.0.0.0"), 16, NextHop::Pool(3)).expect("room");
    assert_eq!(fib.next_hop(fib.lookup4(VRF, v4("11.0.0.1").into())), NextHop::Pool(3));
}

#[test]
fn adjacencies_are_limited_counted_and_reused_after_grace() {
    let (mut reader, fib, mut writer) = fib(&small());
    let view = |id| fib.adjacency(id).and_then(|adjacency| adjacency.view());
    let first = writer.adjacency_create(PortIndex(3), 1500).expect("room");
    let second = writer.adjacency_create(PortIndex(4), 9000).expect("room");
    assert!(matches!(
        writer.adjacency_create(PortIndex(5), 1500),
        Err(FibError::AdjacenciesFull { waiting: 0, limit: 2 })
    ));
    assert_eq!(view(first), Some(AdjacencyView::Unresolved { port: PortIndex(3), mtu: 1500 }));

    let header: Vec<u8> = (1..=18).collect();
    writer.adjacency_resolve(first, &header).expect("good");
    let Some(AdjacencyView::Resolved { port: PortIndex(3), mtu: 1500, header: seen }) = view(first) else {
        panic!("{:?}", view(first));
    };
    assert_eq!((seen.bytes(), seen.len()), (header.as_slice(), 18));
    assert_eq!(seen.padded()[18..], [0; 6]);
    writer.adjacency_set_mtu(first, 1400).expect("good");
    assert!(matches!(view(first), Some(AdjacencyView::Resolved { mtu: 1400, header, .. }) if header == seen));
    for len in [0, 13, 23] {
        let refused = writer.adjacency_resolve(first, &vec![0; len]);
        assert!(matches!(refused, Err(FibError::HeaderLength { .. })));
    }

    writer.insert4(VRF, v4("0.0.0.0"), 0, NextHop::Neighbour(first)).expect("room");
    assert!(matches!(writer.adjacency_release(first), Err(FibError::AdjacencyInUse(id)) if id == first));
    writer.adjacency_unresolve(first).expect("good");
    assert_eq!(view(first), Some(AdjacencyView::Unresolved { port: PortIndex(3), mtu: 1400 }));
    writer.remove4(VRF, v4("0.0.0.0"), 0).expect("good");
    writer.adjacency_release(first).expect("no route is left");
    assert_eq!(view(first), None);
    assert!(matches!(writer.adjacency_release(first), Err(FibError::NoAdjacency(_))));
    let to_none = writer.insert4(VRF, v4("0.0.0.0"), 0, NextHop::Neighbour(first));
    assert!(matches!(to_none, Err(FibError::NoAdjacency(_))));
    assert!(matches!(
        writer.adjacency_create(PortIndex(5), 1500),
        Err(FibError::AdjacenciesFull { waiting: 1, limit: 2 })
    ));
    reader.quiescent();
    assert_eq!(writer.adjacency_create(PortIndex(5), 1500).expect("room"), first);
    assert_eq!(view(first), Some(AdjacencyView::Unresolved { port: PortIndex(5), mtu: 1500 }));
    writer.adjacency_release(second).expect("good");
    assert_eq!(writer.statistics().adjacencies, 1);
    assert!(fib.adjacency(AdjacencyId(2)).is_none());
}

#[test]
fn bad_arguments_are_refused() {
    let (_reader, _fib, mut writer) = fib(&small());
    assert!(matches!(
        writer.insert4(VrfId(1), v4("10.0.0.0"), 8, NextHop::Local),
        Err(FibError::Vrf { vrf: 1, vrfs_max: 1 })
    ));
    assert!(matches!(
        writer.insert4(VRF, v4("10.0.0.0"), 33, NextHop::Local),
        Err(FibError::Length { len: 33, bits: 32 })
    ));
    assert!(matches!(writer.remove6(VRF, v6("::"), 129), Err(FibError::Length { len: 129, bits: 128 })));
    assert_eq!(writer.get4(VRF, v4("10.0.0.0"), 33), None);
    let session = NextHop::Session { index: 1 << 28, generation: 0 };
    assert!(matches!(writer.insert4(VRF, v4("10.0.0.0"), 8, session), Err(FibError::SessionIndex { .. })));
    assert_eq!(writer.statistics().v4.routes, 0);
    // Bits behind the length do not make another route.
    writer.insert4(VRF, v4("10.1.2.3"), 8, NextHop::Local).expect("room");
    assert_eq!(writer.get4(VRF, v4("10.0.0.0"), 8), Some(NextHop::Local));

    let domain = Qsbr::new(1);
    for config in [
        FibConfig { vrfs_max: 0, ..small() },
        FibConfig { vrfs_max: 65_537, ..small() },
        FibConfig { nodes4_max: (1 << 26) + 1, ..small() },
        FibConfig { next_hops_max: 0, ..small() },
    ] {
        assert!(matches!(Fib::new(&config, &domain), Err(FibError::Config { .. })));
    }
}
