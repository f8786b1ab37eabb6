//! How fast lookups are and how long a full table takes to load:
//! `cargo run --release --example lookup -p bng-fib [-- huge|transparent]`.
//!
//! Routes are synthetic, with about the mix of prefix lengths of the Internet's table. Addresses are drawn from the
//! routes at random; "hot" looks up the same 256 again and again, "spread" 2^20 different ones. Every figure is the
//! best of nine runs. "walk" is the same loop without a lookup.

use bng_fib::{Fib, FibConfig, FibWriter, NextHop, NextHopId};
use bng_sync::{Placement, Qsbr};
use bng_wire::VrfId;
use std::hint::black_box;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Instant;

const VRF: VrfId = VrfId(0);
const RUNS: usize = 9;
const BURST: usize = 32;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: u64) -> u64 {
        ((self.next() >> 32) * end) >> 32
    }

    /// One of `lengths` by its weight.
    fn length(&mut self, lengths: &[(u8, u64)]) -> u8 {
        let mut at = self.below(lengths.iter().map(|(_, weight)| weight).sum());
        for (len, weight) in lengths {
            if at < *weight {
                return *len;
            }
            at -= weight;
        }
        0
    }
}

/// Prefix lengths of the Internet's IPv4 table, per mille.
const LENGTHS4: [(u8, u64); 12] = [
    (8, 1),
    (12, 1),
    (15, 2),
    (16, 14),
    (17, 8),
    (18, 14),
    (19, 25),
    (20, 43),
    (21, 50),
    (22, 110),
    (23, 100),
    (24, 632),
];

/// Prefix lengths of the Internet's IPv6 table, per mille.
const LENGTHS6: [(u8, u64); 10] =
    [(20, 1), (28, 5), (29, 25), (32, 125), (36, 30), (40, 85), (44, 90), (46, 20), (47, 19), (48, 600)];

/// IPv4 routes in 1.0.0.0 to 223.255.255.255.
fn routes4(count: usize, random: &mut Random) -> Vec<(u32, u8)> {
    let mut routes = Vec::with_capacity(count);
    while routes.len() < count {
        let len = random.length(&LENGTHS4);
        let key = (1 << 24) + random.below(223 << 24) as u32;
        routes.push((key & u32::MAX << (32 - len), len));
    }
    routes
}

/// IPv6 routes: allocations of a /29 or /32 in 2000::/3, and longer ones inside of them.
fn routes6(count: usize, random: &mut Random) -> Vec<(u128, u8)> {
    // Registries allocate from a few dozen /12s to /23s.
    let registries: Vec<u32> = (0..48).map(|_| 0x2000_0000 | (random.next() as u32 & 0x0fff_f000)).collect();
    let allocations: Vec<u32> =
        (0..count / 6 + 1).map(|_| registries[random.below(48) as usize] | (random.next() as u32 & 0xfff)).collect();
    (0..count)
        .map(|_| {
            let len = random.length(&LENGTHS6);
            let allocation = allocations[random.below(allocations.len() as u64) as usize];
            // Customers are numbered from the start of an allocation on, mostly.
            let inside = if random.below(2) == 0 { random.next() as u16 & 0xff } else { random.next() as u16 };
            let key = u128::from(allocation) << 96 | u128::from(inside) << 80;
            (key & u128::MAX << (128 - len), len)
        })
        .collect()
}

fn fib(placement: Placement) -> (std::sync::Arc<Fib>, FibWriter) {
    let domain = Qsbr::new(0);
    let config = FibConfig { placement, ..FibConfig::default() };
    Fib::new(&config, &domain).expect("memory")
}

/// Nanoseconds for each of `count` operations, best of the runs.
fn best(count: usize, mut run: impl FnMut()) -> f64 {
    run();
    let once = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..RUNS).map(|_| once(&mut run)).fold(f64::INFINITY, f64::min) * 1e9 / count as f64
}

/// The figures of one table and one set of addresses.
fn measure<K: Copy>(
    label: &str,
    addresses: &[K],
    fold: impl Fn(K) -> u32,
    lookup: impl Fn(K) -> NextHopId,
    burst: impl Fn(&[K], &mut [NextHopId]),
) {
    const LOOKUPS: usize = 1 << 20;
    let rounds = LOOKUPS / addresses.len();
    let each = |of: &dyn Fn(&[K]) -> u32| {
        best(LOOKUPS, || {
            let sum = (0..rounds).fold(0u32, |sum, _| sum.wrapping_add(of(black_box(addresses))));
            black_box(sum);
        })
    };
    let walk = each(&|addresses| addresses.iter().fold(0, |sum, key| sum ^ fold(*key)));
    let single = each(&|addresses| addresses.iter().fold(0, |sum, key| sum ^ lookup(*key).0));
    let bursts = each(&|addresses| {
        let mut results = [NextHopId::UNREACHABLE; BURST];
        addresses.chunks(BURST).fold(0, |sum, keys| {
            burst(keys, &mut results);
            results.iter().fold(sum, |sum, id| sum ^ id.0)
        })
    });
    println!("  {label:<7} walk {walk:6.2} ns   single {single:6.2} ns   burst of {BURST} {bursts:6.2} ns");
}

fn v4(count: usize, placement: Placement) {
    let mut random = Random(1 + count as u64);
    let routes = routes4(count, &mut random);
    let (fib, mut writer) = fib(placement);
    let start = Instant::now();
    for (n, (key, len)) in routes.iter().enumerate() {
        writer.insert4(VRF, Ipv4Addr::from(*key), *len, NextHop::Pool(n as u16)).expect("room");
    }
    let elapsed = start.elapsed();
    let statistics = writer.statistics().v4;
    println!(
        "IPv4, {} routes: loaded in {:.3} s ({:.0} ns a route), {} nodes, {:.1} MiB",
        statistics.routes,
        elapsed.as_secs_f64(),
        elapsed.as_nanos() as f64 / count as f64,
        statistics.nodes,
        statistics.bytes as f64 / f64::from(1 << 20),
    );
    let spread: Vec<u32> = (0..1 << 20)
        .map(|_| {
            let (key, len) = routes[random.below(count as u64) as usize];
            key | (random.next() as u32).checked_shr(len.into()).unwrap_or(0)
        })
        .collect();
    for (label, addresses) in [("hot", &spread[..256]), ("spread", &spread[..])] {
        let burst = |keys: &[u32], results: &mut [NextHopId]| fib.lookup4_burst(VRF, keys, results);
        measure(label, addresses, |key| key, |key| fib.lookup4(VRF, key), burst);
    }
    let start = Instant::now();
    writer.insert4(VRF, Ipv4Addr::UNSPECIFIED, 0, NextHop::Local).expect("room");
    let added = start.elapsed();
    let start = Instant::now();
    writer.remove4(VRF, Ipv4Addr::UNSPECIFIED, 0).expect("there");
    println!("  default route: added in {:.2?}, removed in {:.2?}", added, start.elapsed());
    let start = Instant::now();
    for (key, len) in &routes {
        writer.remove4(VRF, Ipv4Addr::from(*key), *len).expect("good");
    }
    println!("  all removed in {:.3} s; {} nodes left", start.elapsed().as_secs_f64(), writer.statistics().v4.nodes);
}

fn v6(count: usize, placement: Placement) {
    let mut random = Random(2 + count as u64);
    let routes = routes6(count, &mut random);
    let (fib, mut writer) = fib(placement);
    let start = Instant::now();
    for (n, (key, len)) in routes.iter().enumerate() {
        writer.insert6(VRF, Ipv6Addr::from(*key), *len, NextHop::Pool(n as u16)).expect("room");
    }
    let elapsed = start.elapsed();
    let statistics = writer.statistics().v6;
    println!(
        "IPv6, {} routes: loaded in {:.3} s ({:.0} ns a route), {} nodes, {:.1} MiB",
        statistics.routes,
        elapsed.as_secs_f64(),
        elapsed.as_nanos() as f64 / count as f64,
        statistics.nodes,
        statistics.bytes as f64 / f64::from(1 << 20),
    );
    let spread: Vec<u128> = (0..1 << 20)
        .map(|_| {
            let (key, len) = routes[random.below(count as u64) as usize];
            let rest = u128::from(random.next()) << 64 | u128::from(random.next());
            key | rest.checked_shr(len.into()).unwrap_or(0)
        })
        .collect();
    for (label, addresses) in [("hot", &spread[..256]), ("spread", &spread[..])] {
        let burst = |keys: &[u128], results: &mut [NextHopId]| fib.lookup6_burst(VRF, keys, results);
        measure(label, addresses, |key| key as u32, |key| fib.lookup6(VRF, key), burst);
    }
}

fn main() {
    let placement = match std::env::args().nth(1).as_deref() {
        Some("huge") => Placement::Huge,
        Some("transparent") => Placement::Transparent,
        _ => Placement::Ordinary,
    };
    for count in [1_000, 64_000, 1_000_000] {
        v4(count, placement);
    }
    for count in [1_000, 200_000] {
        v6(count, placement);
    }
}
