//! The check, the clock and the figures.

use crate::bed::{BURST, Bed, Burst, Router, burst};
use crate::case::Case;
use crate::traffic::{Random, expected, received};
use anyhow::{Context as _, ensure};
use bng_dataplane::{Pipeline, Reason};
use bng_dpdk::{Mbuf, Mempool, rdtsc};
use bng_worker::{Forward, Stages, Worker};
use serde::Serialize;

/// Subscribers whose frames are compared octet by octet before anything is timed.
const CHECKED_MAX: usize = 1 << 16;
/// Parts that the polls are cut into, to show how far medians differ within a run.
const SLICES: usize = 9;

/// Cycles a frame.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Cycles {
    /// Of all polls.
    pub(crate) median: f64,
    /// The least median of a ninth of the run.
    pub(crate) low: f64,
    /// The highest.
    pub(crate) high: f64,
    /// The quickest poll.
    pub(crate) least: f64,
}

impl Cycles {
    pub(crate) fn of(polls: &[f64]) -> Self {
        let slices: Vec<f64> = polls.chunks(polls.len().div_ceil(SLICES).max(1)).map(median).collect();
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        Self {
            median: median(polls),
            low: least(&slices),
            high: slices.iter().copied().fold(0.0, f64::max),
            least: least(polls),
        }
    }
}

/// The middle one; 0 where there is none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// What is measured, with a name for callgrind.
#[inline(never)]
pub(crate) fn device_under_test<S: Stages>(worker: &mut Worker<S>) {
    std::hint::black_box(worker.step());
}

/// Where callgrind writes down what it has counted.
#[inline(never)]
pub(crate) fn write_down_here(name: &str) {
    std::hint::black_box(name);
}

/// Sends packets of up to [`CHECKED_MAX`] subscribers through, and compares every octet that comes out and every
/// counter. The counters must be at zero before.
///
/// # Errors
/// The first thing that is not as it must be.
pub(crate) fn check(case: &Case, router: &Router, bed: &mut Bed<Pipeline>, pool: &Mempool) -> anyhow::Result<()> {
    let count = case.sessions.min(CHECKED_MAX).div_ceil(BURST) * BURST;
    let mut octets = [[0u64; 2]; 2];
    for port in case.direction.ports() {
        let (port, other) = (*port, 1 - *port);
        for first in (0..count).step_by(BURST) {
            let mut numbers = (first..first + BURST).map(|at| subscriber(case, at, count));
            let frames: Vec<usize> = numbers.by_ref().collect();
            let mut at = frames.iter();
            let mut into = burst(pool, || received(case, at.next().copied().unwrap_or(0), port))?;
            for mbuf in &into {
                octets[port][0] += mbuf.len() as u64;
            }
            bed.feed(port, &mut into)?;
            bed.worker.step();
            let mut out = Burst::new();
            bed.drain(other, &mut out);
            ensure!(out.len() == BURST, "{} of {BURST} frames came out", out.len());
            for (mbuf, n) in out.iter().zip(&frames) {
                octets[other][1] += mbuf.len() as u64;
                let right = expected(case, *n, port);
                ensure!(mbuf.bytes() == right, "subscriber {n}: {:02x?} in place of {right:02x?}", mbuf.bytes());
            }
            Mbuf::free_burst(&mut out);
        }
    }
    let frames = |used: bool| if used { count as u64 } else { 0 };
    for (port, octets) in octets.iter().enumerate() {
        let counters = bed.counters.port(bng_wire::PortIndex(port as u8)).context("a port")?;
        let (received, sent) = (case.direction.ports().contains(&port), case.direction.ports().contains(&(1 - port)));
        let is =
            [counters.rx_frames.get(), counters.rx_octets.get(), counters.tx_frames.get(), counters.tx_octets.get()];
        let must = [frames(received), octets[0], frames(sent), octets[1]];
        ensure!(is == must, "port {port}: frames and octets are {is:?} and must be {must:?}");
    }
    for reason in Reason::ALL {
        let have = bed.counters.reason(*reason).get();
        ensure!(have == 0, "{have} frames ended as {}", reason.label());
    }
    let (mut packets, mut inner) = (0, 0);
    for index in &router.indexes {
        let totals = router.tables.sessions.totals(*index);
        packets += totals.up_packets + totals.down_packets;
        inner += totals.up_octets + totals.down_octets;
        ensure!(totals.up_drops + totals.down_drops == 0, "drops are counted for a session");
    }
    let must = count as u64 * case.direction.ports().len() as u64;
    ensure!(packets == must, "{packets} packets are counted for the sessions and must be {must}");
    ensure!(inner == must * case.octets as u64, "{inner} octets are counted for the sessions");
    for at in 0..count.min(case.sessions) {
        let index = router.indexes.get(subscriber(case, at, count)).context("a subscriber")?;
        let totals = router.tables.sessions.totals(*index);
        ensure!(totals.up_packets + totals.down_packets > 0, "a subscriber's packet is not counted");
    }
    Ok(())
}

/// The subscriber of the frame number `at` of `count`: all of them, or evenly among them.
fn subscriber(case: &Case, at: usize, count: usize) -> usize {
    if case.sessions > count { at * (case.sessions / count) } else { at % case.sessions }
}

/// Cycles a frame of the bare forwarder and of the pipeline, in turn.
pub(crate) fn time(
    case: &Case,
    bare: &mut Bed<Forward>,
    router: &mut Bed<Pipeline>,
    pool: &Mempool,
    polls: usize,
) -> anyhow::Result<(Cycles, Cycles)> {
    let mut random = Random::new();
    let (mut of_bare, mut of_router) = (Vec::with_capacity(polls), Vec::with_capacity(polls));
    for _ in 0..polls {
        of_bare.push(poll(case, bare, pool, &mut random)?);
        of_router.push(poll(case, router, pool, &mut random)?);
    }
    Ok((Cycles::of(&of_bare), Cycles::of(&of_router)))
}

/// Feeds, polls and drains once.
pub(crate) fn poll<S: Stages>(
    case: &Case,
    bed: &mut Bed<S>,
    pool: &Mempool,
    random: &mut Random,
) -> anyhow::Result<f64> {
    let ports = case.direction.ports();
    for port in ports {
        let mut into = burst(pool, || received(case, random.below(case.sessions), *port))?;
        bed.feed(*port, &mut into)?;
    }
    let began = rdtsc();
    device_under_test(&mut bed.worker);
    let cycles = rdtsc().wrapping_sub(began);
    for port in ports {
        let mut out = Burst::new();
        let sent = bed.drain(1 - *port, &mut out);
        ensure!(sent == BURST, "{sent} of {BURST} frames came out");
        Mbuf::free_burst(&mut out);
    }
    Ok(cycles as f64 / (BURST * ports.len()) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_that_of_the_slices() {
        let polls: Vec<f64> = (0..90).map(|poll| f64::from(poll / 10)).collect();
        let cycles = Cycles::of(&polls);
        assert_eq!((cycles.low, cycles.median, cycles.high, cycles.least), (0.0, 4.0, 8.0, 0.0));
        assert_eq!(median(&[]), 0.0);
    }
}
