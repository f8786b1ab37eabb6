//! The golden cases: each folder of `cases` is a box, frames in, frames out and counts. What they are made of says
//! `make.py`, which writes them from scapy; what the pipeline does must equal them octet for octet.
//!
//! `GOLDEN_UPDATE=1` writes what the pipeline does into the cases instead, for a change whose difference is then read;
//! `make.py` must be brought to say the same. `GOLDEN_ONLY=TEXT` runs the cases whose names contain it.

mod pcap;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use arrayvec::ArrayVec;
use bng_dataplane::memory::{MemoryFrame, MemorySink, Outcome};
use bng_dataplane::{FrameBuf, Reason, Source, Verdict, WORKER_CASES};

use crate::pcap::Record;
use crate::world::World;

/// How many cases there must be at least.
const CASES_MIN: usize = 150;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cases")
}

/// The folders of the cases, in the order of their names.
fn cases() -> Vec<PathBuf> {
    let read = fs::read_dir(folder()).expect("the folder of cases");
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

fn json(path: &Path) -> serde_json::Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The counters of a case: those that are not named are zero.
fn counters(case: &Path) -> BTreeMap<String, u64> {
    let value = json(&case.join("counters.json"));
    let object = value.as_object().expect("an object");
    object.iter().map(|(name, value)| (name.clone(), value.as_u64().expect("a count"))).collect()
}

/// What the pipeline did with a case.
#[derive(Debug, Default, PartialEq, Eq)]
struct Done {
    /// By port: what was sent on it, with the time.
    sent: BTreeMap<String, Vec<Record>>,
    counters: BTreeMap<String, u64>,
}

fn run(case: &Path) -> Result<Done, String> {
    let mut world = World::new(&json(&case.join("config.json")));
    // Frames of all ports by time; of one time and port they are a burst.
    let mut bursts: BTreeMap<(u64, usize), Vec<Vec<u8>>> = BTreeMap::new();
    for (index, port) in world.port_names.iter().enumerate() {
        for Record { at_us, octets } in pcap::read(&case.join(format!("in-{port}.pcap"))) {
            bursts.entry((at_us, index)).or_default().push(octets);
        }
    }
    let mut done = Done::default();
    for ((at_us, port), frames) in bursts {
        for burst in frames.chunks(bng_dataplane::BURST_FRAMES_MAX) {
            let mut given: ArrayVec<MemoryFrame, 32> = burst.iter().map(|octets| world.frame(octets)).collect();
            let mut sink = MemorySink { exhausted: world.exhausted, ..MemorySink::default() };
            world.pipeline.process(World::port(port), &mut given, at_us / 1000, &mut sink);
            for outcome in sink.outcomes {
                match outcome {
                    Outcome::Transmit(to, frame) => {
                        let name = &world.port_names[usize::from(to.0)];
                        let record = Record { at_us, octets: frame.bytes().to_vec() };
                        done.sent.entry(name.clone()).or_default().push(record);
                    }
                    Outcome::Punt(_, meta, frame) => {
                        if !burst.iter().any(|octets| octets == frame.bytes()) {
                            return Err(format!("what is punted as {} is not as it came", meta.reason.label()));
                        }
                    }
                    Outcome::Discard(..) => (),
                }
            }
        }
    }
    done.counters = world.counters();
    Ok(done)
}

fn expected(case: &Path) -> Done {
    let mut sent = BTreeMap::new();
    for entry in fs::read_dir(case).expect("a folder") {
        let path = entry.expect("an entry").path();
        if let Some(port) = name(&path).strip_prefix("out-").and_then(|rest| rest.strip_suffix(".pcap")) {
            sent.insert(port.to_owned(), pcap::read(&path));
        }
    }
    Done { sent, counters: counters(case) }
}

/// The differences between what was expected and what was done, for someone to read.
fn differences(expected: &Done, done: &Done) -> Vec<String> {
    let mut found = Vec::new();
    let ports: BTreeSet<&String> = expected.sent.keys().chain(done.sent.keys()).collect();
    for port in ports {
        let none = Vec::new();
        let (wanted, got) = (expected.sent.get(port).unwrap_or(&none), done.sent.get(port).unwrap_or(&none));
        for at in 0..wanted.len().max(got.len()) {
            if wanted.get(at) != got.get(at) {
                let show = |record: Option<&Record>| record.map_or("nothing".to_owned(), Record::show);
                found.push(format!(
                    "{port}, frame {}:\n  must  {}\n  is    {}",
                    at + 1,
                    show(wanted.get(at)),
                    show(got.get(at))
                ));
                break;
            }
        }
    }
    let names: BTreeSet<&String> = expected.counters.keys().chain(done.counters.keys()).collect();
    for counter in names {
        let (wanted, got) = (expected.counters.get(counter), done.counters.get(counter));
        if wanted != got {
            found.push(format!("{counter}: must be {}, is {}", wanted.unwrap_or(&0), got.unwrap_or(&0)));
        }
    }
    found
}

/// Makes the case say what was done.
fn update(case: &Path, done: &Done) {
    for port in expected(case).sent.keys().filter(|port| !done.sent.contains_key(*port)) {
        fs::remove_file(case.join(format!("out-{port}.pcap"))).expect("a file");
    }
    for (port, records) in &done.sent {
        pcap::write(&case.join(format!("out-{port}.pcap")), records);
    }
    let text = serde_json::to_string_pretty(&done.counters).expect("counters");
    fs::write(case.join("counters.json"), text + "\n").expect("a file");
}

#[test]
fn every_case_is_right_to_the_octet() {
    let only = std::env::var("GOLDEN_ONLY").unwrap_or_default();
    let updating = std::env::var_os("GOLDEN_UPDATE").is_some();
    let all = cases();
    assert!(all.len() >= CASES_MIN, "{} cases", all.len());
    let mut bad = Vec::new();
    for case in all.iter().filter(|case| name(case).contains(&only)) {
        let expected = expected(case);
        let found = match run(case) {
            Ok(done) if updating && done != expected => {
                update(case, &done);
                Vec::new()
            }
            Ok(done) => differences(&expected, &done),
            Err(error) => vec![error],
        };
        if !found.is_empty() {
            let shows = json(&case.join("config.json"))["shows"].as_str().unwrap_or_default().to_owned();
            bad.push(format!("{}: {shows}\n{}", name(case), found.join("\n")));
        }
    }
    assert!(bad.is_empty(), "{} cases differ:\n\n{}", bad.len(), bad.join("\n\n"));
}

#[test]
fn each_case_says_in_a_line_what_it_shows() {
    let mut said = BTreeMap::new();
    for case in cases() {
        let config = json(&case.join("config.json"));
        let shows = config["shows"].as_str().unwrap_or_default().to_owned();
        assert!(shows.ends_with('.') && !shows.contains('\n'), "{}: {shows:?}", name(&case));
        if let Some(other) = said.insert(shows, name(&case)) {
            panic!("{} and {other} say the same", name(&case));
        }
        let inputs = fs::read_dir(&case)
            .expect("a folder")
            .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("in-")));
        assert!(inputs.count() > 0, "{} has no frames", name(&case));
    }
}

#[test]
fn each_reason_of_the_pipeline_has_a_case_of_its_name_and_is_provoked_by_it() {
    for reason in Reason::ALL.iter().filter(|reason| reason.source() == Source::Pipeline) {
        let case = folder().join(reason.label());
        assert!(case.is_dir(), "{} has no case that provokes it", reason.label());
        let count = counters(&case).get(&format!("reason.{}", reason.label())).copied();
        assert!(count > Some(0), "{} is not provoked by its case", reason.label());
    }
}

#[test]
fn each_reason_of_the_worker_has_a_test_that_provokes_it() {
    for reason in Reason::ALL.iter().filter(|reason| reason.source() == Source::Worker) {
        let (_, file, test) =
            WORKER_CASES.iter().find(|(other, ..)| other == reason).unwrap_or_else(|| panic!("{reason:?} has no case"));
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../worker/tests/worker").join(file);
        let source = fs::read_to_string(path).expect("the worker's tests");
        let (_, body) = source.split_once(&format!("fn {test}()")).unwrap_or_else(|| panic!("no {test} in {file}"));
        let body = body.split("#[test]").next().expect("a body");
        assert!(body.contains(&format!("Reason::{reason:?}")), "{test} does not look for {reason:?}");
    }
}

#[test]
fn the_documentation_page_is_that_of_the_declaration() {
    let page = include_str!("../../../../docs/drop-reasons.md");
    let made = bng_dataplane::reasons_page();
    assert!(page == made, "run: cargo run -p bng-dataplane --example reasons > docs/drop-reasons.md");
}

#[test]
fn each_frame_ends_in_one_of_the_three_ways() {
    for case in cases() {
        let done = run(&case).expect("a case");
        let sum = |prefix: &str, suffix: &str| -> u64 {
            let of =
                |(name, count): (&String, &u64)| (name.starts_with(prefix) && name.ends_with(suffix)).then_some(*count);
            done.counters.iter().filter_map(of).sum()
        };
        let ended: u64 = Reason::ALL
            .iter()
            .filter(|reason| matches!(reason.verdict(), Verdict::Punt | Verdict::Drop))
            .map(|reason| sum(&format!("reason.{}", reason.label()), reason.label()))
            .sum();
        // What is made on the spot is sent besides: errors, and all pieces of a packet but one.
        let given: u64 = done_inputs(&case);
        let made = sum("worker.errors_sent", "");
        let sent = sum("port.", "tx_frames");
        let pieces = sum("worker.fragments_sent", "");
        assert!(ended + sent >= given + made, "{}", name(&case));
        assert!(ended + sent - given - made <= pieces, "{}", name(&case));
        if pieces == 0 {
            assert_eq!(ended + sent, given + made, "{}", name(&case));
        }
    }
}

fn done_inputs(case: &Path) -> u64 {
    let names = fs::read_dir(case).expect("a folder").map(|entry| entry.expect("an entry").path());
    names.filter(|path| name(path).starts_with("in-")).map(|path| pcap::read(&path).len() as u64).sum()
}
