//! Seeds and found inputs, run without a fuzzer: what was found once stays found.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bng_fuzz::TARGETS;
use bng_fuzz::receive_path::reach;

fn inputs(folder: &str, target: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(target);
    let Ok(files) = fs::read_dir(&folder) else { return BTreeMap::new() };
    files
        .map(|file| file.expect("a file").path())
        .map(|path| (path.clone(), fs::read(path).expect("its octets")))
        .collect()
}

#[test]
fn every_target_has_seeds_and_passes_them_cut_and_changed() {
    for (target, run) in TARGETS {
        let seeds = inputs("seeds", target);
        assert!(!seeds.is_empty(), "{target} has no seeds");
        for (path, seed) in seeds {
            println!("{}", path.display());
            run(&seed);
            // A few octets of each seed changed, and a few cuts of it: what a fuzzer tries first.
            let step = (seed.len() / 24).max(1);
            for at in (0..seed.len()).step_by(step) {
                run(&seed[..at]);
                let mut changed = seed.clone();
                changed[at] ^= 0x81;
                run(&changed);
            }
        }
    }
}

/// Each file of `found/<target>` has a sentence in `found/README.md` that names it.
#[test]
fn inputs_found_earlier_pass_and_are_explained() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("found/README.md")).expect("the README");
    for (target, run) in TARGETS {
        for (path, input) in inputs("found", target) {
            println!("{}", path.display());
            run(&input);
            let name = path.file_name().expect("a name").to_string_lossy();
            assert!(readme.contains(&*name), "no sentence about {name}");
        }
    }
}

#[test]
fn the_seeds_of_the_receive_path_reach_all_of_it() {
    let mut sum = bng_fuzz::world::Reached::default();
    for (path, seed) in inputs("seeds", "receive_path") {
        let reached = reach(&seed);
        println!("{}: {reached:?}", path.display());
        sum.forwarded_up += reached.forwarded_up;
        sum.forwarded_down += reached.forwarded_down;
        sum.punted += reached.punted;
        sum.dropped += reached.dropped;
        sum.link_up += reached.link_up;
        sum.ipv4_up += reached.ipv4_up;
        sum.ended += reached.ended;
    }
    assert!(sum.forwarded_up > 0 && sum.forwarded_down > 0, "nothing is forwarded: {sum:?}");
    assert!(sum.punted > 0, "nothing is punted: {sum:?}");
    assert!(sum.link_up >= 3 && sum.ipv4_up >= 3, "no PPP link comes to Opened: {sum:?}");
    assert!(sum.ended > 0, "no session ends: {sum:?}");
}
