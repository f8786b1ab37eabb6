//! Longest-prefix match: the router's own against DPDK's two, over the same routes and addresses in bursts of 32.

use crate::measure::Cycles;
use crate::traffic::Random;
use anyhow::{Context as _, anyhow, ensure};
use bng_dpdk::yardstick::{Dir24Fib, Lpm, NO_ROUTE};
use bng_dpdk::{Eal, rdtsc};
use bng_fib::{Fib, FibConfig, NextHop, NextHopId};
use bng_sync::{Placement, Qsbr};
use bng_wire::{PortIndex, VrfId};
use std::hint::black_box;

const BURST: usize = 32;
const VRF: VrfId = VrfId(0);
/// Next hops that the routes lead to.
const NEIGHBOURS: usize = 16;

/// A route: address, length, number of its next hop.
type Route = (u32, u8, u32);

/// So many routes as a provider's table has them: most of them /24, some shorter, some host routes.
fn routes(count: usize, random: &mut Random) -> Vec<Route> {
    let mut seen = std::collections::HashSet::new();
    let mut routes = Vec::with_capacity(count);
    while routes.len() < count {
        let len = match random.below(16) {
            0 => 16 + random.below(6) as u8,
            1..=3 => 22,
            4 => 32,
            _ => 24,
        };
        let address = (0x0100_0000 + random.below(0xdf00_0000 - 0x0100_0000)) as u32 & (u32::MAX << (32 - len));
        if seen.insert((address, len)) {
            routes.push((address, len, random.below(NEIGHBOURS) as u32));
        }
    }
    routes
}

/// Measures all three with `count` routes, and prints a line of JSON for each, which it answers, too.
pub(crate) fn run(eal: &Eal, count: usize, polls: usize) -> anyhow::Result<Vec<serde_json::Value>> {
    let mut random = Random::new();
    let routes = routes(count, &mut random);
    let grace = Qsbr::new(1);
    let config = FibConfig {
        routes4_max: count + 16,
        nodes4_max: count * 4 + 4096,
        placement: Placement::Transparent,
        ..FibConfig::default()
    };
    let (fib, mut writer) = Fib::new(&config, &grace)?;
    let neighbours =
        (0..NEIGHBOURS).map(|_| writer.adjacency_create(PortIndex(1), 1500)).collect::<Result<Vec<_>, _>>()?;
    let groups = count as u32 + 256;
    let dpdk = |error: String| anyhow!("{error}");
    let mut lpm = Lpm::new(eal, "lpm", count as u32 + 16, groups).map_err(dpdk)?;
    let mut dir24 = Dir24Fib::new(eal, "dir24", count as u32 + 16, groups).map_err(dpdk)?;
    for (address, len, number) in &routes {
        let neighbour = neighbours.get(*number as usize).context("a neighbour")?;
        writer.insert4(VRF, (*address).into(), *len, NextHop::Neighbour(*neighbour))?;
        lpm.insert(*address, *len, *number).map_err(dpdk)?;
        dir24.insert(*address, *len, *number).map_err(dpdk)?;
    }
    let number = |id: NextHopId| match fib.next_hop(id) {
        NextHop::Neighbour(adjacency) => {
            neighbours.iter().position(|one| *one == adjacency).map_or(NO_ROUTE, |at| at as u32)
        }
        _ => NO_ROUTE,
    };
    let mut polled: [Vec<f64>; 3] = Default::default();
    let mut ids = [NextHopId::default(); BURST];
    for poll in 0..polls {
        let mut addresses: [u32; BURST] = std::array::from_fn(|_| {
            let route = routes.get(random.below(routes.len()));
            route
                .map_or(0, |(address, len, _)| address | (random.next() as u32).checked_shr((*len).into()).unwrap_or(0))
        });
        let began = rdtsc();
        fib.lookup4_burst(VRF, black_box(&addresses), &mut ids);
        black_box(&mut ids);
        let mut of_lpm = [0; BURST];
        let then = rdtsc();
        lpm.look_up(black_box(&addresses), &mut of_lpm);
        black_box(&mut of_lpm);
        let mut of_dir24 = [0; BURST];
        let third = rdtsc();
        dir24.look_up(&mut addresses, &mut of_dir24);
        black_box(&mut of_dir24);
        let end = rdtsc();
        // The first to look an address up fetches nothing for the others, whose tables are their own.
        for (cycles, polled) in [then - began, third - then, end - third].into_iter().zip(&mut polled) {
            polled.push(cycles as f64 / BURST as f64);
        }
        if poll < 1024 {
            for ((id, of_lpm), of_dir24) in ids.iter().zip(of_lpm).zip(of_dir24) {
                let numbers = [u64::from(number(*id)), of_lpm.into(), of_dir24];
                ensure!(numbers.iter().all(|one| *one == numbers[0]), "the tables differ: {numbers:?}");
            }
        }
    }
    let mut figures = Vec::new();
    for (name, polled) in ["bng-fib", "rte_lpm", "rte_fib"].into_iter().zip(&polled) {
        let cycles = Cycles::of(polled);
        let figure = serde_json::json!({"name": format!("lookup-{name}-{count}"), "routes": count, "cycles": cycles});
        println!("{figure}");
        eprintln!("lookup {name:<8} {count:>8} routes  {:6.1} ({:.1}-{:.1})", cycles.median, cycles.low, cycles.high);
        figures.push(figure);
    }
    Ok(figures)
}
