//! Readers beside a writer that never rests: each lookup equals the table before or after one update.

use bng_fib::{AdjacencyView, Fib, FibConfig, NextHop};
use bng_sync::Qsbr;
use bng_wire::{PortIndex, VrfId};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const VRF: VrfId = VrfId(0);

/// A small generator (xorshift64*), so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 33) % end
    }
}

/// The routes that come and go: of every kind of length, most of them covering the one address looked up, so that
/// nodes on its path are made and freed all the time. A route's next hop names its length.
const LENGTHS: [u8; 10] = [0, 7, 12, 16, 17, 20, 24, 25, 30, 32];

/// What the reader must find lies between two updates: the writer counts them, and keeps for each the set of routes
/// in force (bit i: LENGTHS[i]).
#[test]
fn each_lookup_equals_the_table_before_or_after_one_update() {
    const UPDATES: usize = 20_000;
    let domain = Qsbr::new(1);
    // Few nodes: they are reused as soon as they may be.
    let config = FibConfig { nodes4_max: 6, nodes6_max: 6, next_hops_max: 14, ..FibConfig::default() };
    let (fib, mut writer) = Fib::new(&config, &domain).expect("memory");
    let address = Ipv4Addr::new(10, 1, 2, 3);
    // In the same /25, so that the routes up to that length cover it too, and it shares every node.
    let beside = Ipv4Addr::new(10, 1, 2, 77);
    // Its answer never changes, although shorter routes around it do; it needs no node, so that all come and go.
    let steady = Ipv4Addr::new(10, 2, 2, 3);
    writer.insert4(VRF, steady, 16, NextHop::Local).expect("room");

    // The set of routes after each update, written before the update begins.
    let sets: Vec<AtomicU64> = (0..=UPDATES).map(|_| AtomicU64::new(0)).collect();
    // Updates begun, and updates done.
    let (begun, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let ready = AtomicBool::new(false);
    let longest = |set: u64, len_max: u8| {
        let found = (0..LENGTHS.len()).rev().find(|i| set >> i & 1 == 1 && LENGTHS[*i] <= len_max);
        found.map_or(NextHop::Unreachable, |i| NextHop::Pool(u16::from(LENGTHS[i])))
    };
    let looked = std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut reader = domain.reader(0).expect("a place");
            reader.online();
            ready.store(true, Ordering::Release);
            let mut looked = 0u64;
            let mut burst = [Default::default(); 4];
            loop {
                let earliest = done.load(Ordering::Acquire);
                let found = fib.next_hop(fib.lookup4(VRF, address.into()));
                fib.lookup4_burst(VRF, &[steady.into(), address.into(), steady.into(), beside.into()], &mut burst);
                let in_burst = burst.map(|id| fib.next_hop(id));
                let latest = begun.load(Ordering::Acquire);
                let possible = |found, len_max| {
                    let set = |n: u64| sets[n as usize].load(Ordering::Acquire);
                    (earliest..=latest).any(|n| longest(set(n), len_max) == found)
                };
                assert!(possible(found, 32), "{found:?} between updates {earliest} and {latest}");
                assert!(possible(in_burst[1], 32) && possible(in_burst[3], 25), "{in_burst:?}");
                assert_eq!((in_burst[0], in_burst[2]), (NextHop::Local, NextHop::Local));
                looked += 1;
                reader.quiescent();
                if earliest == UPDATES as u64 {
                    return looked;
                }
            }
        });
        while !ready.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut set = 0u64;
        for n in 1..=UPDATES as u64 {
            let i = random.below(LENGTHS.len() as u64) as usize;
            let len = LENGTHS[i];
            let adding = set >> i & 1 == 0;
            let after = set ^ 1 << i;
            sets[n as usize].store(after, Ordering::Release);
            begun.store(n, Ordering::Release);
            if adding {
                // Nodes and next hops may all be waiting for the reader: then so does the writer.
                while writer.insert4(VRF, address, len, NextHop::Pool(len.into())).is_err() {
                    std::thread::yield_now();
                }
            } else {
                let before = writer.remove4(VRF, address, len).expect("good");
                assert_eq!(before, Some(NextHop::Pool(len.into())));
            }
            set = after;
            done.store(n, Ordering::Release);
        }
        reading.join().expect("the reader saw only what it might")
    });
    assert!(looked > 100, "the reader was there: {looked}");
}

#[test]
fn ipv6_lookups_under_churn_see_only_routes_that_cover_them() {
    let domain = Qsbr::new(1);
    let config = FibConfig { nodes6_max: 200, next_hops_max: 300, ..FibConfig::default() };
    let (fib, mut writer) = Fib::new(&config, &domain).expect("memory");
    let base = u128::from("2001:db8:1:2:3:4:5:6".parse::<Ipv6Addr>().expect("an address"));
    // Always there: nothing shorter may show through.
    writer.insert6(VRF, Ipv6Addr::from(base), 30, NextHop::Pool(30)).expect("room");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut reader = domain.reader(0).expect("a place");
            let mut random = Random(77);
            let mut looked = 0;
            while !stop.load(Ordering::Relaxed) || looked < 1000 {
                // Sometimes asleep, as a worker without packets is.
                reader.online();
                for _ in 0..100 {
                    // An address that leaves the churned path after `same` bits.
                    let same = 30 + random.below(99) as u32;
                    let address = base ^ u128::MAX.checked_shr(same).map_or(0, |rest| rest & !(rest >> 1));
                    let found = fib.next_hop(fib.lookup6(VRF, address));
                    let NextHop::Pool(len) = found else { panic!("{found:?}") };
                    assert!(u32::from(len) >= 30 && u32::from(len) <= same, "/{len} does not cover it: {same}");
                    looked += 1;
                    reader.quiescent();
                }
                reader.offline();
            }
        });
        let mut random = Random(42);
        for _ in 0..30_000 {
            let len = 16 + random.below(113) as u8;
            if random.below(2) == 0 {
                // Full only while nodes wait for the reader, which may be descheduled.
                let _ = writer.insert6(VRF, Ipv6Addr::from(base), len, NextHop::Pool(len.into()));
            } else if len != 30 {
                writer.remove6(VRF, Ipv6Addr::from(base), len).expect("good");
            }
        }
        stop.store(true, Ordering::Relaxed);
        reading.join().expect("the reader saw only what it might");
    });
}

#[test]
fn a_header_that_changes_is_seen_whole() {
    let domain = Qsbr::new(1);
    let (fib, mut writer) = Fib::new(&FibConfig::default(), &domain).expect("memory");
    let id = writer.adjacency_create(PortIndex(1), 1500).expect("room");
    writer.adjacency_resolve(id, &[0; 22]).expect("good");
    // Headers that the reader has seen change; the writer goes on until they are enough.
    let different = AtomicU64::new(0);
    let enough = 5_000;
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut last = 0u8;
            while different.load(Ordering::Relaxed) < enough {
                match fib.adjacency(id).and_then(|adjacency| adjacency.view()) {
                    Some(AdjacencyView::Resolved { header, .. }) => {
                        let first = header.bytes()[0];
                        assert!(header.bytes().iter().all(|octet| *octet == first), "{header:?}");
                        assert_eq!(header.len(), 14 + 4 * usize::from(first % 3));
                        different.fetch_add(u64::from(first != last), Ordering::Relaxed);
                        last = first;
                    }
                    // Four changes under one look: the reader was descheduled again and again.
                    Some(AdjacencyView::Unresolved { .. }) => {}
                    None => panic!("the adjacency exists"),
                }
            }
        });
        let mut octet = 0u8;
        while different.load(Ordering::Relaxed) < enough && !reading.is_finished() {
            octet = octet.wrapping_add(1);
            let header = [octet; 22];
            writer.adjacency_resolve(id, &header[..14 + 4 * usize::from(octet % 3)]).expect("good");
        }
        reading.join().expect("only whole headers");
    });
}
