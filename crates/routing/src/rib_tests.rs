//! The routing table without a kernel: changes in, FIB entries, asks and events out.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use bng_fib::{AdjacencyId, GroupId};
use bng_wire::id::{MacAddr, PortIndex};

use crate::messages::{Change, Entry, Hop, NeighbourSeen, NextHopObject, Route, RouteKind};
use crate::requests::Ask;
use crate::rib::{Action, NeighbourKey, NoRoom, Rib, Snapshot, Table};
use crate::{
    Event, InterfaceConfig, PoolRoute, Prefix, RESOLVE_TIMEOUT, ResolveTarget, RouteAction, RouteSource, SessionRef,
    WayView,
};

const TWIN: u32 = 10;
const OTHER_TWIN: u32 = 11;
const MANAGEMENT: u32 = 2;
const LOOPBACK: u32 = 1;
const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

/// A FIB that is a map, with a limit on adjacencies, and that checks how it is used.
#[derive(Debug, Default)]
struct Map {
    entries: BTreeMap<Prefix, Action>,
    adjacencies: BTreeMap<u32, Option<MacAddr>>,
    groups: BTreeMap<u32, Vec<(Action, u32)>>,
    /// Which group the last one was made like.
    like: Option<GroupId>,
    next: u32,
    adjacencies_max: usize,
}

impl Map {
    fn users(&self, id: AdjacencyId) -> usize {
        let members = self.groups.values().flatten().map(|(action, _)| action);
        self.entries.values().chain(members).filter(|action| **action == Action::Neighbour(id)).count()
    }

    fn check(&self, action: Action) {
        match action {
            Action::Neighbour(id) => assert!(self.adjacencies.contains_key(&id.0), "{id:?} does not exist"),
            Action::Group(id) => assert!(self.groups.contains_key(&id.0), "{id:?} does not exist"),
            _ => {}
        }
    }
}

impl Table for Map {
    fn set(&mut self, prefix: Prefix, action: Action) -> Result<(), NoRoom> {
        self.check(action);
        self.entries.insert(prefix, action);
        Ok(())
    }

    fn remove(&mut self, prefix: Prefix) {
        assert!(self.entries.remove(&prefix).is_some(), "{prefix} was not there");
    }

    fn create_adjacency(&mut self, _: &InterfaceConfig) -> Result<AdjacencyId, NoRoom> {
        if self.adjacencies.len() >= self.adjacencies_max {
            return Err(NoRoom);
        }
        self.next += 1;
        self.adjacencies.insert(self.next, None);
        Ok(AdjacencyId(self.next))
    }

    fn resolve_adjacency(&mut self, id: AdjacencyId, _: &InterfaceConfig, mac: Option<MacAddr>) {
        *self.adjacencies.get_mut(&id.0).expect("an adjacency that exists") = mac;
    }

    fn release_adjacency(&mut self, id: AdjacencyId) {
        assert_eq!(self.users(id), 0, "routes still lead to the adjacency");
        assert!(self.adjacencies.remove(&id.0).is_some(), "released once");
    }

    fn create_group(&mut self, members: &[(Action, u32)], like: Option<GroupId>) -> Result<GroupId, NoRoom> {
        members.iter().for_each(|(action, _)| self.check(*action));
        assert!(like.is_none_or(|like| self.groups.contains_key(&like.0)));
        self.next += 1;
        self.groups.insert(self.next, members.to_vec());
        self.like = like;
        Ok(GroupId(self.next))
    }

    fn set_group(&mut self, id: GroupId, members: &[(Action, u32)]) {
        members.iter().for_each(|(action, _)| self.check(*action));
        *self.groups.get_mut(&id.0).expect("a group that exists") = members.to_vec();
    }

    fn release_group(&mut self, id: GroupId) {
        assert!(!self.entries.values().any(|action| *action == Action::Group(id)), "routes still lead to the group");
        assert!(self.groups.remove(&id.0).is_some(), "released once");
    }
}

fn interface(name: &str, if_index: u32) -> InterfaceConfig {
    let mac = MacAddr([2, 0, 0, 0, 0, 1]);
    InterfaceConfig { name: name.to_owned(), if_index, port: PortIndex(1), vlan: None, mac, mtu: 1500 }
}

fn rib_with(adjacencies_max: usize, pools: &[PoolRoute]) -> Rib<Map> {
    let interfaces = [interface("uplink", TWIN), interface("peer", OTHER_TWIN)];
    let mut rib = Rib::new(Map { adjacencies_max, ..Map::default() }, &interfaces, pools);
    for if_index in [TWIN, OTHER_TWIN] {
        rib.change(Change::NewLink { if_index, up: true, carrier: true, hosts_addresses: false });
    }
    rib.change(Change::NewLink { if_index: LOOPBACK, up: true, carrier: true, hosts_addresses: true });
    rib
}

fn rib() -> Rib<Map> {
    rib_with(100, &[])
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn prefix(text: &str) -> Prefix {
    let (address, length) = text.split_once('/').expect("a prefix");
    Prefix::new(ip(address), length.parse().expect("a length")).expect("a prefix")
}

fn hop(if_index: u32, gateway: Option<&str>) -> Hop {
    Hop { if_index, gateway: gateway.map(ip), dead: false, weight: 1 }
}

fn unicast(metric: u32, hops: &[Hop]) -> Route {
    Route { kind: RouteKind::Unicast, protocol: 4, metric, hops: hops.to_vec(), object: None }
}

fn of_kind(kind: RouteKind, if_index: u32) -> Route {
    Route { kind, ..unicast(0, &[hop(if_index, None)]) }
}

fn add(rib: &mut Rib<Map>, to: &str, route: Route) {
    rib.change(Change::NewRoute { prefix: prefix(to), route, how: Entry::First });
}

fn seen(address: &str, mac: Option<MacAddr>) -> Change {
    Change::NewNeighbour(NeighbourSeen {
        if_index: TWIN,
        address: ip(address),
        mac,
        failed: false,
        stale: false,
        permanent: false,
    })
}

fn action(rib: &mut Rib<Map>, of: &str) -> Option<Action> {
    rib.table_mut().entries.get(&prefix(of)).copied()
}

/// The MAC address that a prefix's packets go to.
fn mac_of(rib: &mut Rib<Map>, of: &str) -> Option<MacAddr> {
    match action(rib, of) {
        Some(Action::Neighbour(id)) => rib.table_mut().adjacencies.get(&id.0).copied().flatten(),
        other => panic!("{of} leads to {other:?}"),
    }
}

#[test]
fn only_routes_that_leave_by_a_twin_are_taken() {
    let mut rib = rib();
    add(&mut rib, "203.0.113.0/24", unicast(0, &[hop(MANAGEMENT, Some("10.0.0.1"))]));
    assert_eq!(action(&mut rib, "203.0.113.0/24"), None);
    add(&mut rib, "203.0.113.0/24", unicast(20, &[hop(TWIN, Some("198.51.100.2"))]));
    assert!(matches!(action(&mut rib, "203.0.113.0/24"), Some(Action::Neighbour(_))));
    add(&mut rib, "198.51.100.0/24", unicast(0, &[hop(TWIN, None)]));
    assert_eq!(action(&mut rib, "198.51.100.0/24"), Some(Action::Glean(0)));
    add(&mut rib, "fe80::/64", unicast(256, &[hop(TWIN, None)]));
    assert_eq!(action(&mut rib, "fe80::/64"), None, "link-local traffic is not forwarded");
    assert_eq!(rib.counts().routes_ipv4, 2);
    assert_eq!(rib.counts().routes_ipv6, 0);
}

#[test]
fn own_addresses_are_those_of_twins_and_loopbacks() {
    let mut rib = rib();
    add(&mut rib, "198.51.100.1/32", of_kind(RouteKind::Local, TWIN));
    add(&mut rib, "192.0.2.1/32", of_kind(RouteKind::Local, LOOPBACK));
    add(&mut rib, "127.0.0.0/8", of_kind(RouteKind::Local, LOOPBACK));
    add(&mut rib, "10.0.0.7/32", of_kind(RouteKind::Local, MANAGEMENT));
    add(&mut rib, "198.51.100.255/32", of_kind(RouteKind::Broadcast, TWIN));
    assert_eq!(action(&mut rib, "198.51.100.1/32"), Some(Action::Local));
    assert_eq!(action(&mut rib, "192.0.2.1/32"), Some(Action::Local));
    assert_eq!(action(&mut rib, "127.0.0.0/8"), None);
    assert_eq!(action(&mut rib, "10.0.0.7/32"), None, "subscribers do not reach the management address");
    assert_eq!(action(&mut rib, "198.51.100.255/32"), Some(Action::Blackhole), "RFC 2644");
}

#[test]
fn the_better_metric_wins_and_the_other_takes_over() {
    let mut rib = rib();
    let (near, far) = (unicast(20, &[hop(TWIN, None)]), unicast(10, &[hop(OTHER_TWIN, None)]));
    add(&mut rib, "0.0.0.0/0", near);
    add(&mut rib, "0.0.0.0/0", far.clone());
    assert_eq!(action(&mut rib, "0.0.0.0/0"), Some(Action::Glean(1)));
    rib.change(Change::DelRoute { prefix: prefix("0.0.0.0/0"), route: far });
    assert_eq!(action(&mut rib, "0.0.0.0/0"), Some(Action::Glean(0)));
    assert!(!rib.take_resync_wanted());
}

#[test]
fn a_replaced_route_leads_elsewhere_and_lets_its_next_hop_go() {
    let mut rib = rib();
    let to = prefix("203.0.113.0/24");
    let via = |gateway| unicast(20, &[hop(TWIN, Some(gateway))]);
    add(&mut rib, "203.0.113.0/24", via("198.51.100.2"));
    rib.change(Change::NewRoute { prefix: to, route: via("198.51.100.3"), how: Entry::Replace });
    assert_eq!(rib.table_mut().adjacencies.len(), 1, "the old adjacency is released");
    let key = |address| NeighbourKey { interface: 0, address: ip(address) };
    let asks = rib.take_asks();
    assert_eq!(
        asks,
        [(key("198.51.100.2"), Ask::Managed), (key("198.51.100.3"), Ask::Managed), (key("198.51.100.2"), Ask::Once)]
    );
    // Replaced by one that leaves by another device: no longer ours.
    let route = unicast(20, &[hop(MANAGEMENT, Some("10.0.0.1"))]);
    rib.change(Change::NewRoute { prefix: to, route, how: Entry::Replace });
    assert_eq!(action(&mut rib, "203.0.113.0/24"), None);
    assert!(rib.table_mut().adjacencies.is_empty());
}

#[test]
fn a_next_hop_is_resolved_lost_and_asked_for_again() {
    let mut rib = rib();
    add(&mut rib, "198.51.100.0/30", unicast(0, &[hop(TWIN, None)]));
    add(&mut rib, "0.0.0.0/0", unicast(20, &[hop(TWIN, Some("198.51.100.2"))]));
    assert_eq!(mac_of(&mut rib, "0.0.0.0/0"), None);
    rib.change(seen("198.51.100.2", Some(MAC)));
    assert_eq!(mac_of(&mut rib, "0.0.0.0/0"), Some(MAC));
    assert_eq!(mac_of(&mut rib, "198.51.100.2/32"), Some(MAC), "the neighbour itself can be reached, too");
    rib.take_asks();
    rib.change(Change::DelNeighbour { if_index: TWIN, address: ip("198.51.100.2") });
    assert_eq!(mac_of(&mut rib, "0.0.0.0/0"), None);
    assert_eq!(action(&mut rib, "198.51.100.2/32"), None);
    assert_eq!(rib.take_asks(), [(NeighbourKey { interface: 0, address: ip("198.51.100.2") }, Ask::Managed)]);
}

#[test]
fn a_destination_on_a_connected_network_is_resolved_and_told() {
    let now = Instant::now();
    let mut rib = rib();
    add(&mut rib, "198.51.100.0/24", unicast(0, &[hop(TWIN, None)]));
    let target = ResolveTarget::Destination { interface: 0, address: ip("198.51.100.77") };
    rib.resolve(now, target);
    rib.resolve(now, target);
    assert!(rib.take_events().is_empty());
    assert_eq!(rib.take_asks().len(), 2);
    rib.change(seen("198.51.100.77", Some(MAC)));
    assert_eq!(rib.take_events(), [Event::Resolved(target)], "told once");
    assert_eq!(mac_of(&mut rib, "198.51.100.77/32"), Some(MAC));
    rib.resolve(now, target);
    assert_eq!(rib.take_events(), [Event::Resolved(target)], "known already: told at once");
    assert_eq!(rib.poll_timeout(), Some(now + RESOLVE_TIMEOUT));
    rib.expire(now + RESOLVE_TIMEOUT);
    assert!(rib.take_events().is_empty());
    assert_eq!(rib.poll_timeout(), None);
}

/// The kernel notes the sender of any ARP request as a neighbour, whatever address it says it has.
#[test]
fn a_neighbour_is_a_route_only_where_its_network_is_connected() {
    let pools = [PoolRoute { prefix: prefix("100.64.0.0/16"), map: 3 }];
    let mut rib = rib_with(100, &pools);
    add(&mut rib, "198.51.100.0/24", unicast(0, &[hop(TWIN, None)]));
    add(&mut rib, "0.0.0.0/0", unicast(20, &[hop(TWIN, Some("198.51.100.2"))]));
    add(&mut rib, "192.0.2.0/24", unicast(0, &[hop(OTHER_TWIN, None)]));
    for (address, what) in [
        ("203.0.113.9", "an address of the Internet"),
        ("100.64.1.1", "a subscriber's address"),
        ("192.0.2.7", "connected by another interface"),
    ] {
        rib.change(seen(address, Some(MAC)));
        assert_eq!(action(&mut rib, &format!("{address}/32")), None, "{what}");
    }
    rib.change(seen("198.51.100.9", Some(MAC)));
    assert_eq!(mac_of(&mut rib, "198.51.100.9/32"), Some(MAC));
    // A longer route comes between, and goes.
    let between = unicast(20, &[hop(TWIN, Some("198.51.100.2"))]);
    add(&mut rib, "198.51.100.8/29", between.clone());
    assert_eq!(action(&mut rib, "198.51.100.9/32"), None);
    rib.change(Change::DelRoute { prefix: prefix("198.51.100.8/29"), route: between });
    assert_eq!(mac_of(&mut rib, "198.51.100.9/32"), Some(MAC));
    // The network is connected after its neighbour was seen, and no longer.
    let connected = unicast(0, &[hop(TWIN, None)]);
    add(&mut rib, "203.0.113.0/24", connected.clone());
    assert_eq!(mac_of(&mut rib, "203.0.113.9/32"), Some(MAC));
    rib.change(Change::DelRoute { prefix: prefix("203.0.113.0/24"), route: connected });
    assert_eq!(action(&mut rib, "203.0.113.9/32"), None);
    // A network of one address (point to point).
    add(&mut rib, "203.0.113.9/32", unicast(0, &[hop(TWIN, None)]));
    assert_eq!(mac_of(&mut rib, "203.0.113.9/32"), Some(MAC));
}

#[test]
fn who_does_not_answer_is_given_up() {
    let now = Instant::now();
    let mut rib = rib();
    let target = ResolveTarget::Destination { interface: 0, address: ip("198.51.100.77") };
    rib.resolve(now, target);
    rib.expire(now + RESOLVE_TIMEOUT - Duration::from_millis(1));
    assert!(rib.take_events().is_empty());
    rib.expire(now + RESOLVE_TIMEOUT);
    assert_eq!(rib.take_events(), [Event::Unreachable(target)]);
    assert_eq!(rib.counts().neighbours_unresolved, 0, "and forgotten");
    // The kernel's own word comes earlier.
    rib.resolve(now, target);
    rib.change(Change::NewNeighbour(NeighbourSeen {
        if_index: TWIN,
        address: ip("198.51.100.77"),
        mac: None,
        failed: true,
        stale: false,
        permanent: false,
    }));
    assert_eq!(rib.take_events(), [Event::Unreachable(target)]);
}

#[test]
fn an_old_deadline_is_none_of_a_new_question() {
    let now = Instant::now();
    let mut rib = rib();
    let target = ResolveTarget::Destination { interface: 0, address: ip("198.51.100.77") };
    let seen = |mac, failed| NeighbourSeen {
        if_index: TWIN,
        address: ip("198.51.100.77"),
        mac,
        failed,
        stale: false,
        permanent: false,
    };
    rib.resolve(now, target);
    rib.change(Change::NewNeighbour(seen(None, true)));
    assert_eq!(rib.take_events(), [Event::Unreachable(target)]);
    let again = now + RESOLVE_TIMEOUT - Duration::from_millis(1);
    rib.resolve(again, target);
    rib.expire(now + RESOLVE_TIMEOUT);
    assert_eq!(rib.take_events(), []);
    rib.expire(again + RESOLVE_TIMEOUT);
    assert_eq!(rib.take_events(), [Event::Unreachable(target)]);
}

#[test]
fn what_cannot_be_a_neighbour_is_refused_at_once() {
    let mut rib = rib();
    for (interface, address) in [(0, "224.0.0.5"), (0, "255.255.255.255"), (9, "198.51.100.2"), (0, "ff02::1")] {
        let target = ResolveTarget::Destination { interface, address: ip(address) };
        rib.resolve(Instant::now(), target);
        assert_eq!(rib.take_events(), [Event::Unreachable(target)]);
    }
    let target = ResolveTarget::Adjacency(AdjacencyId(77));
    rib.resolve(Instant::now(), target);
    assert_eq!(rib.take_events(), [Event::Unreachable(target)]);
    assert!(rib.take_asks().is_empty());
}

#[test]
fn a_waiting_adjacency_is_told_by_its_id() {
    let mut rib = rib();
    add(&mut rib, "0.0.0.0/0", unicast(20, &[hop(TWIN, Some("198.51.100.2"))]));
    let Some(Action::Neighbour(id)) = action(&mut rib, "0.0.0.0/0") else { panic!("no adjacency") };
    rib.resolve(Instant::now(), ResolveTarget::Adjacency(id));
    rib.change(seen("198.51.100.2", Some(MAC)));
    assert_eq!(rib.take_events(), [Event::Resolved(ResolveTarget::Adjacency(id))]);
}

#[test]
fn a_full_fib_counts_and_does_not_make_packets_go_round() {
    let mut rib = rib_with(0, &[]);
    add(&mut rib, "0.0.0.0/0", unicast(20, &[hop(TWIN, Some("198.51.100.2"))]));
    assert_eq!(action(&mut rib, "0.0.0.0/0"), None);
    assert_eq!(rib.counts().refused, 1);
    let target = ResolveTarget::Destination { interface: 0, address: ip("198.51.100.77") };
    rib.resolve(Instant::now(), target);
    rib.change(seen("198.51.100.77", Some(MAC)));
    assert_eq!(rib.take_events(), [Event::Unreachable(target)]);
}

#[test]
fn pools_stand_before_the_kernels_routes() {
    let mut rib = rib_with(100, &[PoolRoute { prefix: prefix("100.64.0.0/16"), map: 3 }]);
    assert_eq!(action(&mut rib, "100.64.0.0/16"), Some(Action::Pool(3)));
    add(&mut rib, "100.64.0.0/16", unicast(0, &[hop(TWIN, None)]));
    assert_eq!(action(&mut rib, "100.64.0.0/16"), Some(Action::Pool(3)));
    rib.resync(Snapshot::default(), true);
    assert_eq!(action(&mut rib, "100.64.0.0/16"), Some(Action::Pool(3)), "a pool does not come from the kernel");
}

#[test]
fn next_hop_objects_and_groups_are_followed() {
    let mut rib = rib();
    let by_object = |object| Route { object: Some(object), ..unicast(20, &[]) };
    let one = |gateway: &str| NextHopObject::Hop(hop(TWIN, Some(gateway)));
    rib.change(Change::NewNextHop { id: 1, object: one("198.51.100.2") });
    rib.change(Change::NewNextHop { id: 2, object: NextHopObject::Hop(hop(OTHER_TWIN, None)) });
    rib.change(Change::NewNextHop { id: 9, object: NextHopObject::Group(vec![(1, 1), (2, 1)]) });
    add(&mut rib, "203.0.113.0/24", by_object(1));
    add(&mut rib, "192.0.2.0/24", by_object(9));
    rib.change(seen("198.51.100.2", Some(MAC)));
    rib.change(seen("198.51.100.3", Some(MacAddr([2, 0, 0, 0, 0, 10]))));
    assert_eq!(mac_of(&mut rib, "203.0.113.0/24"), Some(MAC));
    let first = neighbour_of(&mut rib, "203.0.113.0/24");
    assert_eq!(members(&mut rib, "192.0.2.0/24"), [(first, 1), (Action::Glean(1), 1)]);
    // Changing the object moves both routes, without a message for either.
    rib.change(Change::NewNextHop { id: 1, object: one("198.51.100.3") });
    assert_eq!(mac_of(&mut rib, "203.0.113.0/24"), Some(MacAddr([2, 0, 0, 0, 0, 10])));
    let first = neighbour_of(&mut rib, "203.0.113.0/24");
    assert_eq!(members(&mut rib, "192.0.2.0/24"), [(first, 1), (Action::Glean(1), 1)]);
    // A dead member is passed over.
    let dead = NextHopObject::Hop(Hop { dead: true, ..hop(TWIN, Some("198.51.100.3")) });
    rib.change(Change::NewNextHop { id: 1, object: dead });
    assert_eq!(action(&mut rib, "203.0.113.0/24"), None);
    assert_eq!(action(&mut rib, "192.0.2.0/24"), Some(Action::Glean(1)));
    rib.change(Change::NewNextHop { id: 1, object: NextHopObject::Blackhole });
    assert_eq!(action(&mut rib, "203.0.113.0/24"), Some(Action::Blackhole));
    rib.change(Change::DelNextHop { id: 1 });
    assert!(rib.take_resync_wanted(), "the kernel drops the routes without a word");
}

#[test]
fn ways_of_an_ipv6_route_come_and_go_one_by_one() {
    let mut rib = rib();
    let to = prefix("2001:db8:7::/48");
    let (a, b) = (hop(TWIN, Some("2001:db8::2")), hop(TWIN, Some("2001:db8::3")));
    add(&mut rib, "2001:db8:7::/48", unicast(1024, &[a]));
    rib.change(Change::NewRoute { prefix: to, route: unicast(1024, &[a, b]), how: Entry::Append });
    rib.change(Change::NewNeighbour(NeighbourSeen {
        if_index: TWIN,
        address: ip("2001:db8::3"),
        mac: Some(MAC),
        failed: false,
        stale: false,
        permanent: false,
    }));
    rib.change(Change::DelRoute { prefix: to, route: unicast(1024, &[a]) });
    assert_eq!(mac_of(&mut rib, "2001:db8:7::/48"), Some(MAC));
    assert!(!rib.take_resync_wanted());
    rib.change(Change::DelRoute { prefix: to, route: unicast(1024, &[b]) });
    assert_eq!(action(&mut rib, "2001:db8:7::/48"), None);
}

#[test]
fn a_resync_sweeps_what_is_gone_and_keeps_what_is_there() {
    let mut rib = rib();
    let via = unicast(20, &[hop(TWIN, Some("198.51.100.2"))]);
    let new = |to: &str| Change::NewRoute { prefix: prefix(to), route: via.clone(), how: Entry::Append };
    for to in ["203.0.113.0/24", "192.0.2.0/24"] {
        rib.change(new(to));
    }
    rib.change(seen("198.51.100.2", Some(MAC)));
    let snapshot = || Snapshot { changes: vec![new("192.0.2.0/24"), new("198.18.0.0/15")] };
    rib.resync(snapshot(), false);
    assert!(action(&mut rib, "203.0.113.0/24").is_some(), "a disturbed reading removes nothing");
    assert!(action(&mut rib, "198.18.0.0/15").is_some());
    assert_eq!(mac_of(&mut rib, "192.0.2.0/24"), Some(MAC));
    rib.resync(snapshot(), true);
    assert_eq!(action(&mut rib, "203.0.113.0/24"), None);
    assert_eq!(mac_of(&mut rib, "192.0.2.0/24"), None, "the neighbour was not in the table");
    assert_eq!(rib.counts().routes_ipv4, 2);
    rib.resync(Snapshot::default(), true);
    assert!(rib.table_mut().entries.is_empty());
    assert!(rib.table_mut().adjacencies.is_empty());
}

#[test]
fn an_interface_that_goes_down_and_up_is_read_anew_and_asked_again() {
    let mut rib = rib();
    add(&mut rib, "0.0.0.0/0", unicast(20, &[hop(TWIN, Some("198.51.100.2"))]));
    rib.take_asks();
    rib.change(Change::NewLink { if_index: TWIN, up: false, carrier: false, hosts_addresses: false });
    assert!(rib.take_resync_wanted());
    rib.take_asks();
    assert_eq!(action(&mut rib, "0.0.0.0/0"), None);
    rib.change(Change::NewLink { if_index: TWIN, up: true, carrier: true, hosts_addresses: false });
    assert!(!rib.take_resync_wanted());
    assert_eq!(rib.take_asks(), [(NeighbourKey { interface: 0, address: ip("198.51.100.2") }, Ask::Managed)]);
}

#[test]
fn the_view_says_what_is_used_and_from_where() {
    let mut rib = rib_with(100, &[PoolRoute { prefix: prefix("100.64.0.0/16"), map: 0 }]);
    add(&mut rib, "0.0.0.0/0", Route { protocol: 186, ..unicast(20, &[hop(TWIN, Some("198.51.100.2"))]) });
    add(&mut rib, "198.51.100.0/24", unicast(0, &[hop(TWIN, None)]));
    add(&mut rib, "198.51.100.1/32", of_kind(RouteKind::Local, TWIN));
    rib.change(seen("198.51.100.2", Some(MAC)));
    let view = rib.view(100);
    let lines: Vec<(String, RouteSource)> = view.iter().map(|route| (route.prefix.to_string(), route.source)).collect();
    assert_eq!(
        lines,
        [
            ("0.0.0.0/0".to_owned(), RouteSource::Kernel(186)),
            ("100.64.0.0/16".to_owned(), RouteSource::Pool),
            ("198.51.100.0/24".to_owned(), RouteSource::Connected),
            ("198.51.100.1/32".to_owned(), RouteSource::Local),
            ("198.51.100.2/32".to_owned(), RouteSource::Neighbour),
        ]
    );
    let way = RouteAction::Neighbour { via: ip("198.51.100.2"), interface: "uplink".to_owned(), mac: Some(MAC) };
    assert_eq!(view.first().map(|route| route.action.clone()), Some(way));
    assert_eq!(rib.view(2).len(), 2);
}

fn members(rib: &mut Rib<Map>, of: &str) -> Vec<(Action, u32)> {
    match action(rib, of) {
        Some(Action::Group(id)) => rib.table_mut().groups[&id.0].clone(),
        other => panic!("{of} leads to {other:?}"),
    }
}

fn neighbour_of(rib: &mut Rib<Map>, of: &str) -> Action {
    match action(rib, of) {
        Some(action @ Action::Neighbour(_)) => action,
        other => panic!("{of} leads to {other:?}"),
    }
}

#[test]
fn several_ways_are_one_group_that_all_their_prefixes_share() {
    let mut rib = rib();
    let heavy = Hop { weight: 3, ..hop(OTHER_TWIN, Some("192.0.2.2")) };
    let both = unicast(20, &[hop(TWIN, Some("198.51.100.2")), heavy]);
    add(&mut rib, "203.0.113.0/24", both.clone());
    // The same in another order, and one way twice.
    let again = unicast(20, &[Hop { weight: 2, ..heavy }, hop(TWIN, Some("198.51.100.2")), Hop { weight: 1, ..heavy }]);
    add(&mut rib, "198.18.0.0/15", again);
    assert_eq!(action(&mut rib, "203.0.113.0/24"), action(&mut rib, "198.18.0.0/15"));
    assert_eq!(rib.table_mut().groups.len(), 1);
    assert_eq!(rib.take_asks().len(), 2, "each next hop is asked for once");
    let weights: Vec<u32> = members(&mut rib, "203.0.113.0/24").iter().map(|(_, weight)| *weight).collect();
    assert_eq!(weights, [1, 3]);
    let way = |via: &str, interface: &str, weight| WayView {
        via: Some(ip(via)),
        interface: interface.to_owned(),
        mac: None,
        weight,
    };
    let ways = RouteAction::Several(vec![way("198.51.100.2", "uplink", 1), way("192.0.2.2", "peer", 3)]);
    assert_eq!(rib.view(1).first().map(|route| route.action.clone()), Some(ways));
    // The last prefix takes the group and the adjacencies along.
    rib.change(Change::DelRoute { prefix: prefix("203.0.113.0/24"), route: both });
    assert_eq!(rib.table_mut().groups.len(), 1);
    rib.resync(Snapshot::default(), true);
    assert!(rib.table_mut().groups.is_empty() && rib.table_mut().adjacencies.is_empty());
    assert_eq!(rib.counts().routes_ipv4, 0);
}

#[test]
fn a_link_that_goes_down_leaves_the_other_ways_and_comes_back() {
    let mut rib = rib();
    let (a, b, c) =
        (hop(TWIN, Some("198.51.100.2")), hop(OTHER_TWIN, Some("192.0.2.2")), hop(OTHER_TWIN, Some("192.0.2.3")));
    add(&mut rib, "0.0.0.0/0", unicast(20, &[a, b, c]));
    add(&mut rib, "203.0.113.0/24", unicast(10, &[a]));
    add(&mut rib, "203.0.113.0/24", unicast(20, &[b]));
    add(&mut rib, "198.18.0.0/15", unicast(20, &[a]));
    let group = action(&mut rib, "0.0.0.0/0");
    let carrier = |rib: &mut Rib<Map>, carrier| {
        rib.change(Change::NewLink { if_index: TWIN, up: true, carrier, hosts_addresses: false });
    };
    carrier(&mut rib, false);
    assert_eq!(members(&mut rib, "0.0.0.0/0").len(), 2);
    assert_ne!(action(&mut rib, "0.0.0.0/0"), group);
    let Some(Action::Group(old)) = group else { panic!("no group") };
    assert_eq!(rib.table_mut().like, Some(old), "the flows of the ways that are left stay");
    assert_eq!(neighbour_of(&mut rib, "203.0.113.0/24"), members(&mut rib, "0.0.0.0/0")[0].0, "the next metric");
    assert_eq!(action(&mut rib, "198.18.0.0/15"), None);
    assert!(!rib.take_resync_wanted(), "the kernel keeps its routes");
    rib.take_asks();
    carrier(&mut rib, true);
    assert_eq!(members(&mut rib, "0.0.0.0/0").len(), 3);
    assert_eq!(neighbour_of(&mut rib, "203.0.113.0/24"), neighbour_of(&mut rib, "198.18.0.0/15"));
    assert!(rib.take_asks().contains(&(NeighbourKey { interface: 0, address: ip("198.51.100.2") }, Ask::Managed)));
    // Both down: nothing leads on.
    carrier(&mut rib, false);
    rib.change(Change::NewLink { if_index: OTHER_TWIN, up: true, carrier: false, hosts_addresses: false });
    assert!(rib.table_mut().entries.is_empty() && rib.table_mut().groups.is_empty());
    assert!(rib.table_mut().adjacencies.is_empty());
}

#[test]
fn ways_for_which_there_is_no_room_leave_nothing_behind() {
    let mut rib = rib_with(1, &[]);
    add(&mut rib, "0.0.0.0/0", unicast(20, &[hop(TWIN, Some("198.51.100.2")), hop(TWIN, Some("198.51.100.3"))]));
    assert_eq!(action(&mut rib, "0.0.0.0/0"), None);
    assert_eq!(rib.counts().refused, 1);
    assert!(rib.table_mut().adjacencies.is_empty() && rib.table_mut().groups.is_empty());
    rib.table_mut().adjacencies_max = 2;
    rib.retry_missing();
    assert_eq!(members(&mut rib, "0.0.0.0/0").len(), 2);
    assert_eq!(rib.counts().refused, 0);
}

#[test]
fn a_neighbour_that_an_operator_entered_is_not_asked_for() {
    let mut rib = rib();
    let entered = |permanent| {
        Change::NewNeighbour(NeighbourSeen {
            if_index: TWIN,
            address: ip("198.51.100.2"),
            mac: Some(MAC),
            failed: false,
            stale: false,
            permanent,
        })
    };
    rib.change(entered(true));
    let route = unicast(20, &[hop(TWIN, Some("198.51.100.2"))]);
    add(&mut rib, "0.0.0.0/0", route.clone());
    assert_eq!(mac_of(&mut rib, "0.0.0.0/0"), Some(MAC));
    rib.change(Change::DelRoute { prefix: prefix("0.0.0.0/0"), route });
    assert!(rib.take_asks().is_empty());
    rib.change(entered(false));
    add(&mut rib, "0.0.0.0/0", unicast(20, &[hop(TWIN, Some("198.51.100.2"))]));
    assert_eq!(rib.take_asks(), [(NeighbourKey { interface: 0, address: ip("198.51.100.2") }, Ask::Managed)]);
}

#[test]
fn a_subscriber_s_route_goes_before_a_pool_and_the_kernel_and_leaves_them_as_they_were() {
    let mut rib = rib_with(100, &[PoolRoute { prefix: prefix("100.64.0.0/16"), map: 3 }]);
    add(&mut rib, "203.0.113.7/32", of_kind(RouteKind::Blackhole, 0));
    let first = SessionRef { index: 7, generation: 1 };
    let second = SessionRef { index: 9, generation: 4 };
    for own in ["203.0.113.7/32", "192.0.2.0/28", "2001:db8:77::/48"] {
        rib.set_session(prefix(own), Some(first));
        assert_eq!(action(&mut rib, own), Some(Action::Session(first)));
        rib.set_session(prefix(own), Some(second));
        assert_eq!(action(&mut rib, own), Some(Action::Session(second)));
    }
    let view = rib.view(100);
    assert!(view.iter().any(|route| route.source == RouteSource::Session && route.action == RouteAction::Session(9)));
    // A full reading of the kernel's tables does not touch it.
    rib.resync(Snapshot::default(), true);
    assert_eq!(action(&mut rib, "192.0.2.0/28"), Some(Action::Session(second)));
    for own in ["203.0.113.7/32", "192.0.2.0/28", "2001:db8:77::/48"] {
        rib.set_session(prefix(own), None);
        rib.set_session(prefix(own), None);
        assert_eq!(action(&mut rib, own), None);
    }
    assert_eq!(action(&mut rib, "100.64.0.0/16"), Some(Action::Pool(3)));
    assert_eq!((rib.counts().routes_ipv4, rib.counts().routes_ipv6), (1, 0));
    // A pool's own prefix.
    rib.set_session(prefix("100.64.0.0/16"), Some(first));
    assert_eq!(action(&mut rib, "100.64.0.0/16"), Some(Action::Session(first)));
    rib.set_session(prefix("100.64.0.0/16"), None);
    assert_eq!(action(&mut rib, "100.64.0.0/16"), Some(Action::Pool(3)));
}
