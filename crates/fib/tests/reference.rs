//! The FIB against the plainest table there is: a map of prefixes, searched from the longest length down.

use bng_fib::{Fib, FibConfig, FibError, FibWriter, NextHop};
use bng_sync::{Qsbr, Reader};
use bng_wire::VrfId;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// One family as the test sees it: addresses as 128-bit numbers, IPv4 in the lower 32 bits.
trait Family: Copy {
    const BITS: u8;
    fn insert(writer: &mut FibWriter, vrf: u16, key: u128, len: u8, to: NextHop) -> Result<Option<NextHop>, FibError>;
    fn remove(writer: &mut FibWriter, vrf: u16, key: u128, len: u8) -> Result<Option<NextHop>, FibError>;
    fn lookup(fib: &Fib, vrf: u16, key: u128) -> NextHop;
    fn lookup_burst(fib: &Fib, vrf: u16, keys: &[u128]) -> Vec<NextHop>;
    fn routes(writer: &FibWriter) -> Vec<(u16, u8, u128, NextHop)>;
    fn nodes(writer: &FibWriter) -> (usize, usize);
}

#[derive(Clone, Copy, Debug)]
struct V4;
#[derive(Clone, Copy, Debug)]
struct V6;

impl Family for V4 {
    const BITS: u8 = 32;
    fn insert(writer: &mut FibWriter, vrf: u16, key: u128, len: u8, to: NextHop) -> Result<Option<NextHop>, FibError> {
        writer.insert4(VrfId(vrf), Ipv4Addr::from(key as u32), len, to)
    }
    fn remove(writer: &mut FibWriter, vrf: u16, key: u128, len: u8) -> Result<Option<NextHop>, FibError> {
        writer.remove4(VrfId(vrf), Ipv4Addr::from(key as u32), len)
    }
    fn lookup(fib: &Fib, vrf: u16, key: u128) -> NextHop {
        fib.next_hop(fib.lookup4(VrfId(vrf), key as u32))
    }
    fn lookup_burst(fib: &Fib, vrf: u16, keys: &[u128]) -> Vec<NextHop> {
        let keys: Vec<u32> = keys.iter().map(|key| *key as u32).collect();
        let mut results = vec![Default::default(); keys.len()];
        fib.lookup4_burst(VrfId(vrf), &keys, &mut results);
        results.into_iter().map(|id| fib.next_hop(id)).collect()
    }
    fn routes(writer: &FibWriter) -> Vec<(u16, u8, u128, NextHop)> {
        writer
            .routes4()
            .map(|route| (route.vrf.0, route.len, u32::from(route.address).into(), route.next_hop))
            .collect()
    }
    fn nodes(writer: &FibWriter) -> (usize, usize) {
        let family = writer.statistics().v4;
        (family.nodes, family.nodes_waiting)
    }
}

impl Family for V6 {
    const BITS: u8 = 128;
    fn insert(writer: &mut FibWriter, vrf: u16, key: u128, len: u8, to: NextHop) -> Result<Option<NextHop>, FibError> {
        writer.insert6(VrfId(vrf), Ipv6Addr::from(key), len, to)
    }
    fn remove(writer: &mut FibWriter, vrf: u16, key: u128, len: u8) -> Result<Option<NextHop>, FibError> {
        writer.remove6(VrfId(vrf), Ipv6Addr::from(key), len)
    }
    fn lookup(fib: &Fib, vrf: u16, key: u128) -> NextHop {
        fib.next_hop(fib.lookup6(VrfId(vrf), key))
    }
    fn lookup_burst(fib: &Fib, vrf: u16, keys: &[u128]) -> Vec<NextHop> {
        let mut results = vec![Default::default(); keys.len()];
        fib.lookup6_burst(VrfId(vrf), keys, &mut results);
        results.into_iter().map(|id| fib.next_hop(id)).collect()
    }
    fn routes(writer: &FibWriter) -> Vec<(u16, u8, u128, NextHop)> {
        writer.routes6().map(|route| (route.vrf.0, route.len, u128::from(route.address), route.next_hop)).collect()
    }
    fn nodes(writer: &FibWriter) -> (usize, usize) {
        let family = writer.statistics().v6;
        (family.nodes, family.nodes_waiting)
    }
}

fn mask(bits: u8, len: u8) -> u128 {
    let all = u128::MAX >> (128 - u32::from(bits));
    all & all.checked_shl(u32::from(bits - len)).unwrap_or(0)
}

#[derive(Default)]
struct Reference(BTreeMap<(u16, u8, u128), NextHop>);

impl Reference {
    fn lookup(&self, bits: u8, vrf: u16, key: u128) -> NextHop {
        (0..=bits)
            .rev()
            .find_map(|len| self.0.get(&(vrf, len, key & mask(bits, len))))
            .copied()
            .unwrap_or(NextHop::Unreachable)
    }
}

#[derive(Debug, Clone)]
enum Change {
    Insert {
        vrf: u16,
        key: u128,
        len: u8,
        to: NextHop,
    },
    Remove {
        vrf: u16,
        key: u128,
        len: u8,
    },
    /// Removes one of the routes there are.
    RemoveExisting(prop::sample::Index),
    Poll,
}

/// Addresses that share long beginnings, so that routes cover one another.
fn key(bits: u8) -> impl Strategy<Value = u128> {
    let octet = prop_oneof![4 => 0u8..3, 1 => 253u8..=255, 1 => any::<u8>()];
    prop::collection::vec(octet, usize::from(bits / 8))
        .prop_map(|octets| octets.into_iter().fold(0, |key, octet| key << 8 | u128::from(octet)))
}

fn length(bits: u8) -> impl Strategy<Value = u8> {
    prop_oneof![3 => 0..=bits, 2 => (0..=bits / 8).prop_map(|octets| octets * 8), 1 => 14u8..=18]
}

fn change(bits: u8) -> impl Strategy<Value = Change> {
    let to = prop_oneof![
        4 => (0u16..20).prop_map(NextHop::Pool),
        1 => Just(NextHop::Unreachable),
        1 => Just(NextHop::Blackhole),
    ];
    prop_oneof![
        6 => (0u16..2, key(bits), length(bits), to)
            .prop_map(|(vrf, key, len, to)| Change::Insert { vrf, key, len, to }),
        1 => (0u16..2, key(bits), length(bits)).prop_map(|(vrf, key, len)| Change::Remove { vrf, key, len }),
        3 => any::<prop::sample::Index>().prop_map(Change::RemoveExisting),
        1 => Just(Change::Poll),
    ]
}

fn fib() -> (Arc<Qsbr>, Reader, Arc<Fib>, FibWriter) {
    let domain = Qsbr::new(1);
    let mut reader = domain.reader(0).expect("a place");
    reader.online();
    let config = FibConfig { vrfs_max: 2, nodes4_max: 4096, nodes6_max: 8192, ..FibConfig::default() };
    let (fib, writer) = Fib::new(&config, &domain).expect("memory");
    (domain, reader, fib, writer)
}

fn same_as_the_reference<F: Family>(changes: Vec<Change>, probes: &[u128]) -> Result<(), TestCaseError> {
    let (_domain, mut reader, fib, mut writer) = fib();
    let mut reference = Reference::default();
    for change in changes {
        let touched = match change {
            Change::Insert { vrf, key, len, to } => {
                let before = F::insert(&mut writer, vrf, key, len, to).expect("room");
                prop_assert_eq!(before, reference.0.insert((vrf, len, key & mask(F::BITS, len)), to));
                Some((vrf, key & mask(F::BITS, len), len))
            }
            Change::Remove { vrf, key, len } => {
                let before = F::remove(&mut writer, vrf, key, len).expect("a good prefix");
                prop_assert_eq!(before, reference.0.remove(&(vrf, len, key & mask(F::BITS, len))));
                Some((vrf, key & mask(F::BITS, len), len))
            }
            Change::RemoveExisting(index) if !reference.0.is_empty() => {
                let (vrf, len, key) = *index.get(&reference.0.keys().copied().collect::<Vec<_>>());
                let before = F::remove(&mut writer, vrf, key, len).expect("a good prefix");
                prop_assert_eq!(before, reference.0.remove(&(vrf, len, key)));
                Some((vrf, key, len))
            }
            Change::RemoveExisting(_) => None,
            Change::Poll => {
                reader.quiescent();
                writer.poll();
                None
            }
        };
        // The edges of what changed, after every change.
        if let Some((vrf, first, len)) = touched {
            let last = first | !mask(F::BITS, len) & mask(F::BITS, F::BITS);
            for key in [first, last, first.wrapping_sub(1), last.wrapping_add(1)] {
                let key = key & mask(F::BITS, F::BITS);
                prop_assert_eq!(F::lookup(&fib, vrf, key), reference.lookup(F::BITS, vrf, key), "{:x}", key);
            }
        }
    }
    for vrf in 0..3 {
        let edges = reference.0.keys().flat_map(|(_, len, first)| [*first, *first | !mask(F::BITS, *len)]);
        let keys: Vec<u128> = probes.iter().copied().chain(edges).map(|key| key & mask(F::BITS, F::BITS)).collect();
        let expected: Vec<NextHop> = keys.iter().map(|key| reference.lookup(F::BITS, vrf, *key)).collect();
        prop_assert_eq!(keys.iter().map(|key| F::lookup(&fib, vrf, *key)).collect::<Vec<_>>(), expected.clone());
        prop_assert_eq!(F::lookup_burst(&fib, vrf, &keys), expected);
    }
    let mut routes = F::routes(&writer);
    routes.sort_unstable();
    prop_assert_eq!(&routes, &reference.0.iter().map(|((v, l, k), to)| (*v, *l, *k, *to)).collect::<Vec<_>>());

    // Everything taken out again, nothing is left: no node, no next hop.
    for (vrf, len, key, to) in routes {
        prop_assert_eq!(F::remove(&mut writer, vrf, key, len).expect("a good prefix"), Some(to));
    }
    prop_assert_eq!(F::nodes(&writer).0, 0);
    reader.quiescent();
    writer.poll();
    // What the first poll stamped is free once the reader has passed again.
    reader.quiescent();
    writer.poll();
    let statistics = writer.statistics();
    prop_assert_eq!(F::nodes(&writer), (0, 0));
    prop_assert_eq!((statistics.next_hops, statistics.next_hops_waiting), (0, 0));
    for key in probes {
        prop_assert_eq!(F::lookup(&fib, 0, *key), NextHop::Unreachable);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn ipv4_lookups_equal_the_reference(
        changes in prop::collection::vec(change(32), 1..120),
        probes in prop::collection::vec(key(32), 64),
    ) {
        same_as_the_reference::<V4>(changes, &probes)?;
    }

    #[test]
    fn ipv6_lookups_equal_the_reference(
        changes in prop::collection::vec(change(128), 1..120),
        probes in prop::collection::vec(key(128), 64),
    ) {
        same_as_the_reference::<V6>(changes, &probes)?;
    }
}

#[test]
fn a_default_route_reaches_below_every_longer_one() {
    let (_domain, _reader, fib, mut writer) = fib();
    let pool = NextHop::Pool;
    V4::insert(&mut writer, 0, 0x0a01_0203, 32, pool(32)).expect("room");
    V4::insert(&mut writer, 0, 0x0a01_0000, 18, pool(18)).expect("room");
    V4::insert(&mut writer, 0, 0, 0, pool(0)).expect("room");
    assert_eq!(V4::lookup(&fib, 0, 0x0a01_0203), pool(32));
    assert_eq!(V4::lookup(&fib, 0, 0x0a01_0204), pool(18));
    assert_eq!(V4::lookup(&fib, 0, 0x0a01_4000), pool(0));
    assert_eq!(V4::lookup(&fib, 0, 0xffff_ffff), pool(0));
    V4::remove(&mut writer, 0, 0x0a01_0000, 18).expect("good");
    assert_eq!(V4::lookup(&fib, 0, 0x0a01_0204), pool(0));
    V4::remove(&mut writer, 0, 0, 0).expect("good");
    assert_eq!(V4::lookup(&fib, 0, 0x0a01_0204), NextHop::Unreachable);
    assert_eq!(V4::lookup(&fib, 0, 0x0a01_0203), pool(32));
    // The other instance knows nothing of it, and one that does not exist leads nowhere.
    assert_eq!(V4::lookup(&fib, 1, 0x0a01_0203), NextHop::Unreachable);
    assert_eq!(V4::lookup(&fib, 2, 0x0a01_0203), NextHop::Unreachable);
}

#[test]
fn lookups_may_exceed_a_burst_or_be_none() {
    let (_domain, _reader, fib, mut writer) = fib();
    writer.insert4(VrfId(0), Ipv4Addr::new(10, 0, 0, 0), 8, NextHop::Local).expect("room");
    let keys: Vec<u128> = (0..100).map(|n| if n % 3 == 0 { 0x0a00_0000 + n } else { n }).collect();
    let results = V4::lookup_burst(&fib, 0, &keys);
    for (n, result) in results.into_iter().enumerate() {
        assert_eq!(result, if n % 3 == 0 { NextHop::Local } else { NextHop::Unreachable });
    }
    assert!(V4::lookup_burst(&fib, 0, &[]).is_empty());
}
