//! What a packet costs in the worker's loop: receive, stages, transmit, on one core, with rings as ports.
//!
//! `cargo run --release -p bng-bench [FILE...]` prints one line of JSON for each case of the YAML files (by default
//! `cases/standard.yaml` of this crate) on standard output, and a table on standard error. Each case is first checked:
//! every octet and every counter; where one is wrong there is no figure. Frames are made anew before each poll, and
//! only the poll is timed. The bare forwarder runs in turn with the pipeline, in the same loop over the same rings.
//!
//! `cargo run --release -p bng-bench -- --gate` counts instructions under callgrind and compares them with
//! `instructions.json` of this crate.
#![forbid(unsafe_code)]

mod bed;
mod case;
mod gate;
mod lookups;
mod measure;
mod page;
mod traffic;
mod yaml;

use anyhow::Context as _;
use bed::{Bed, Router};
use bng_dpdk::{Eal, EalConfig, HugePages, Mempool, MempoolConfig, tsc_hz};
use bng_sync::{Placement, Qsbr};
use bng_worker::Forward;
use case::Case;
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// What a packet costs in the worker's loop.
#[derive(Debug, Parser)]
struct Arguments {
    /// Files of cases.
    files: Vec<PathBuf>,
    /// Only cases whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Polls that are timed for each case, in place of the files' number.
    #[arg(long)]
    polls: Option<usize>,
    /// Count instructions under callgrind and fail where a case has become dearer than the file says.
    #[arg(long)]
    gate: bool,
    /// With --gate: write down what was counted.
    #[arg(long)]
    update: bool,
    /// Keep the figures in docs/performance.json and bring the tables of docs/performance.md up to date.
    #[arg(long)]
    keep: bool,
    /// Bring the tables of docs/performance.md up to date, and measure nothing.
    #[arg(long)]
    page: bool,
    /// Run each case so many polls for callgrind: what --gate starts.
    #[arg(long, hide = true)]
    count: Option<usize>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = if arguments.gate {
        gate::run(arguments.update)
    } else if arguments.page {
        page::write().map(|()| true)
    } else {
        run(&arguments).map(|()| true)
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bng-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A file of this crate.
fn own_file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn cases(arguments: &Arguments) -> anyhow::Result<Vec<(usize, Case)>> {
    let standard = [own_file("cases/standard.yaml")];
    let files = if arguments.files.is_empty() { &standard[..] } else { &arguments.files };
    let mut all = Vec::new();
    for file in files {
        let (polls, cases) = case::load(file)?;
        let polls = arguments.polls.unwrap_or(polls).max(1);
        all.extend(cases.into_iter().filter(|case| case.name().contains(&arguments.only)).map(|case| (polls, case)));
    }
    Ok(all)
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let cases = cases(arguments)?;
    // Under callgrind no huge page can be had.
    let huge_pages = if arguments.count.is_some() { HugePages::None } else { HugePages::Auto };
    let eal = Eal::init(EalConfig {
        file_prefix: format!("bngbench-{}", std::process::id()),
        huge_pages,
        memory_mb: 384,
        ..EalConfig::default()
    })?;
    let pool = Mempool::new(&eal, &MempoolConfig { mbufs: 4095, ..MempoolConfig::default() })?;
    let placement = if arguments.count.is_some() { Placement::Ordinary } else { Placement::Transparent };
    eprintln!(
        "TSC {:.0} MHz; huge pages for packets: {}; cycles a frame: median (medians of ninths)",
        tsc_hz() as f64 / 1e6,
        if eal.uses_huge_pages() { "yes" } else { "no" }
    );
    let mut figures = Vec::new();
    if arguments.count.is_none() && "lookup".contains(&arguments.only) {
        for routes in [1000, 64_000] {
            figures.extend(lookups::run(&eal, routes, arguments.polls.unwrap_or(9000))?);
        }
    }
    for (polls, case) in cases {
        figures.extend(one(&eal, &pool, &case, polls, placement, arguments.count).with_context(|| case.name())?);
    }
    if arguments.keep {
        let words: Vec<String> = std::env::args().skip(1).collect();
        page::keep(&figures, &format!("cargo run --release -p bng-bench -- {}", words.join(" ")), tsc_hz())?;
        page::write()?;
    }
    Ok(())
}

fn one(
    eal: &Eal,
    pool: &Mempool,
    case: &Case,
    polls: usize,
    placement: Placement,
    count: Option<usize>,
) -> anyhow::Result<Option<serde_json::Value>> {
    let resident = resident_octets();
    let router = Router::new(case, 1, placement)?;
    let reader = router.grace.reader(0).context("a place")?;
    let mut routing = Bed::new(eal, pool, "route", reader, |counters| router.pipeline(0, counters))?;
    let reader = Qsbr::new(1).reader(0).context("a place")?;
    let mut bare = Bed::new(eal, pool, "bare", reader, |_| Forward)?;
    measure::check(case, &router, &mut routing, pool)?;
    let name = case.name();
    if let Some(polls) = count {
        return gate::count(case, &mut bare, &mut routing, pool, polls).map(|()| None);
    }
    let (of_bare, cycles) = measure::time(case, &mut bare, &mut routing, pool, polls)?;
    let mpps = tsc_hz() as f64 / cycles.median / 1e6;
    let above = cycles.median - of_bare.median;
    let figures = serde_json::json!({
        "name": name, "case": case, "polls": polls, "tsc_hz": tsc_hz(), "huge_pages": eal.uses_huge_pages(),
        "bare": of_bare, "cycles": cycles, "above_bare": above, "mpps_per_core": mpps,
        "session_octets": resident_octets().saturating_sub(resident) as f64 / case.sessions as f64,
    });
    println!("{figures}");
    eprintln!(
        "{name:<44} {:6.1} ({:.1}-{:.1})  bare {:5.1} ({:.1}-{:.1})  above {above:6.1}  {mpps:6.2} Mpps",
        cycles.median, cycles.low, cycles.high, of_bare.median, of_bare.low, of_bare.high
    );
    Ok(Some(figures))
}

/// Resident memory of the process: the second number of /proc/self/statm, in pages of 4 KiB.
fn resident_octets() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}
