//! Several next hops of one route.

use bng_fib::{Fib, FibConfig, FibError, FibWriter, GROUP_BUCKETS, GROUP_MEMBERS_MAX, GroupId, GroupMember, NextHop};
use bng_sync::{Qsbr, Reader};
use bng_wire::{PortIndex, VrfId};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const VRF: VrfId = VrfId(0);

fn fib() -> (Reader, Arc<Fib>, FibWriter) {
    let domain = Qsbr::new(1);
    let mut reader = domain.reader(0).expect("a place");
    reader.online();
    let config = FibConfig { nodes4_max: 16, nodes6_max: 16, next_hops_max: 8, groups_max: 2, ..FibConfig::default() };
    let (fib, writer) = Fib::new(&config, &domain).expect("memory");
    (reader, fib, writer)
}

fn member(next_hop: NextHop) -> GroupMember {
    GroupMember { next_hop, weight: 1 }
}

fn gleans(interfaces: impl IntoIterator<Item = u16>) -> Vec<GroupMember> {
    interfaces.into_iter().map(|interface| member(NextHop::Glean { interface })).collect()
}

/// Where each of the shares leads.
fn shares(fib: &Fib, id: GroupId) -> Vec<NextHop> {
    (0..GROUP_BUCKETS as u32).map(|hash| fib.group_member(id, hash)).collect()
}

fn count(shares: &[NextHop], interface: u16) -> usize {
    shares.iter().filter(|share| **share == NextHop::Glean { interface }).count()
}

fn default_route(writer: &mut FibWriter, next_hop: NextHop) {
    writer.insert4(VRF, Ipv4Addr::UNSPECIFIED, 0, next_hop).expect("room");
}

#[test]
fn a_route_leads_to_a_group_and_a_flow_to_one_of_its_members() {
    let (_reader, fib, mut writer) = fib();
    let id = writer.group_create(&gleans([1, 2]), None).expect("room");
    default_route(&mut writer, NextHop::Group(id));
    assert_eq!(fib.next_hop(fib.lookup4(VRF, 0x0808_0808)), NextHop::Group(id));
    let two = shares(&fib, id);
    assert_eq!((count(&two, 1), count(&two, 2)), (GROUP_BUCKETS / 2, GROUP_BUCKETS / 2));
    // A hash is taken by its lowest bits, whatever is above.
    assert_eq!(fib.group_member(id, 0xffff_ff00), fib.group_member(id, 0));
    // One that goes moves its own flows alone, for every route at once.
    writer.group_set(id, &gleans([2])).expect("a group");
    assert_eq!(count(&shares(&fib, id), 2), GROUP_BUCKETS);
    writer.group_set(id, &gleans([1, 2])).expect("a group");
    let again = shares(&fib, id);
    assert_eq!((count(&again, 1), count(&again, 2)), (GROUP_BUCKETS / 2, GROUP_BUCKETS / 2));
}

#[test]
fn a_group_in_the_place_of_another_keeps_its_flows() {
    let (_reader, fib, mut writer) = fib();
    let old = writer.group_create(&gleans([1, 2, 3]), None).expect("room");
    let new = writer.group_create(&gleans([3, 1]), Some(old)).expect("room");
    let (before, after) = (shares(&fib, old), shares(&fib, new));
    let moved = before.iter().zip(&after).filter(|(old, new)| old != new).count();
    assert_eq!(moved, count(&before, 2), "those of the member that is gone");
    assert_eq!((count(&after, 1), count(&after, 3)), (GROUP_BUCKETS / 2, GROUP_BUCKETS / 2));
}

#[test]
fn weights_count_and_equal_members_are_one() {
    let (_reader, fib, mut writer) = fib();
    let members = [
        GroupMember { next_hop: NextHop::Glean { interface: 1 }, weight: 1 },
        GroupMember { next_hop: NextHop::Glean { interface: 2 }, weight: 2 },
        GroupMember { next_hop: NextHop::Glean { interface: 1 }, weight: 1 },
        GroupMember { next_hop: NextHop::Blackhole, weight: 4 },
    ];
    let id = writer.group_create(&members, None).expect("room");
    let shares = shares(&fib, id);
    for interface in [1, 2] {
        assert!(count(&shares, interface).abs_diff(GROUP_BUCKETS / 4) <= 1);
    }
    assert_eq!(writer.statistics().next_hops, 3);
}

#[test]
fn what_is_no_group_is_refused_and_changes_nothing() {
    let (mut reader, fib, mut writer) = fib();
    let id = writer.group_create(&gleans([1, 2]), None).expect("room");
    let too_many: Vec<_> = gleans(0..=GROUP_MEMBERS_MAX as u16);
    let weightless = GroupMember { next_hop: NextHop::Local, weight: 0 };
    for bad in [&[][..], &too_many, &[weightless], &[member(NextHop::Group(id))]] {
        assert!(matches!(writer.group_create(bad, None), Err(FibError::GroupMembers)));
        assert!(matches!(writer.group_set(id, bad), Err(FibError::GroupMembers)));
    }
    // The sixth and further next hops find no room; those before them are given back.
    assert!(matches!(writer.group_create(&gleans(0..10), None), Err(FibError::NextHopsFull { .. })));
    assert!(matches!(writer.group_set(id, &gleans(0..10)), Err(FibError::NextHopsFull { .. })));
    let nowhere = NextHop::Neighbour(bng_fib::AdjacencyId(3));
    assert!(matches!(writer.group_create(&[member(nowhere)], None), Err(FibError::NoAdjacency(_))));
    assert_eq!(writer.statistics().next_hops, 2);
    assert_eq!(count(&shares(&fib, id), 1), GROUP_BUCKETS / 2);
    let none = GroupId(77);
    assert!(matches!(writer.group_release(none), Err(FibError::NoGroup(_))));
    assert!(matches!(writer.group_set(none, &gleans([1])), Err(FibError::NoGroup(_))));
    assert!(matches!(writer.insert4(VRF, Ipv4Addr::LOCALHOST, 32, NextHop::Group(none)), Err(FibError::NoGroup(_))));
    assert_eq!(fib.group_member(none, 0), NextHop::Unreachable);

    reader.quiescent();
    writer.poll();
    writer.group_create(&gleans([3]), None).expect("room");
    let full = writer.group_create(&gleans([4]), None);
    assert!(matches!(full, Err(FibError::GroupsFull { limit: 2, waiting: 0 })));
}

#[test]
fn a_group_goes_after_its_routes_and_its_neighbours_after_it() {
    let (mut reader, fib, mut writer) = fib();
    let neighbour = writer.adjacency_create(PortIndex(1), 1500).expect("room");
    let members = [member(NextHop::Neighbour(neighbour)), member(NextHop::Glean { interface: 1 })];
    let id = writer.group_create(&members, None).expect("room");
    default_route(&mut writer, NextHop::Group(id));
    assert!(matches!(writer.group_release(id), Err(FibError::GroupInUse(_))));
    assert!(matches!(writer.adjacency_release(neighbour), Err(FibError::AdjacencyInUse(_))));
    default_route(&mut writer, NextHop::Blackhole);
    writer.group_release(id).expect("no route leads there");
    writer.adjacency_release(neighbour).expect("nor there");
    // A reader in the middle of its burst still finds what it has looked up.
    assert_eq!(count(&shares(&fib, id), 1), GROUP_BUCKETS / 2);
    assert_eq!((writer.statistics().groups, writer.statistics().groups_waiting), (0, 1));
    for _ in 0..2 {
        reader.quiescent();
        writer.poll();
    }
    let statistics = writer.statistics();
    assert_eq!((statistics.groups_waiting, statistics.next_hops_waiting, statistics.adjacencies_waiting), (0, 0, 0));
    assert_eq!(statistics.next_hops, 1);
}

#[test]
fn readers_never_see_a_member_that_was_not_there() {
    let domain = Qsbr::new(1);
    let mut reader = domain.reader(0).expect("a place");
    let config = FibConfig { nodes4_max: 16, nodes6_max: 16, next_hops_max: 64, groups_max: 8, ..FibConfig::default() };
    let (fib, mut writer) = Fib::new(&config, &domain).expect("memory");
    let mut id = writer.group_create(&gleans([0, 100]), None).expect("room");
    default_route(&mut writer, NextHop::Group(id));
    let stop = Arc::new(AtomicBool::new(false));
    let reading = {
        let (fib, stop) = (Arc::clone(&fib), Arc::clone(&stop));
        std::thread::spawn(move || {
            reader.online();
            let mut looked = 0u32;
            while !stop.load(Ordering::Relaxed) {
                for _ in 0..64 {
                    looked = looked.wrapping_add(1);
                    let NextHop::Group(group) = fib.next_hop(fib.lookup4(VRF, looked)) else {
                        panic!("the route leads to a group at all times")
                    };
                    match fib.group_member(group, looked) {
                        NextHop::Glean { interface } => assert!(interface < 8 || interface == 100),
                        other => panic!("{other:?} was never a member"),
                    }
                }
                reader.quiescent();
            }
            reader.offline();
            looked
        })
    };
    let end = std::time::Instant::now() + std::time::Duration::from_secs(1);
    let mut changes = 0u32;
    while std::time::Instant::now() < end {
        changes += 1;
        writer.poll();
        let others = gleans((0..8).filter(|bit| changes >> bit & 1 != 0).chain([100]));
        if changes.is_multiple_of(3) {
            let Ok(new) = writer.group_create(&others, Some(id)) else { continue };
            default_route(&mut writer, NextHop::Group(new));
            writer.group_release(id).expect("no route leads there any more");
            id = new;
        } else {
            // Refused while the numbers of what went wait for the reader.
            let _ = writer.group_set(id, &others);
        }
    }
    stop.store(true, Ordering::Relaxed);
    let looked = reading.join().expect("the reader's checks hold");
    assert!(looked > 1000 && changes > 1000, "{looked} {changes}");
}
