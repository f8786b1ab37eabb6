//! The layout tells the architecture: which crate may know which, and where `unsafe` may live.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The arrows of `docs/architecture.md`: a crate, and those of ours that it may depend on. Tests may name what these
/// depend on in turn, since that is there anyway, and `bng-testkit`, which nothing else may.
const ARROWS: &[(&str, &[&str])] = &[
    ("bng-wire", &[]),
    ("bng-sync", &[]),
    ("bng-pool", &[]),
    ("bng-store", &[]),
    ("bng-config", &[]),
    ("dpdk-sys", &[]),
    ("bng-dpdk", &["dpdk-sys"]),
    ("bng-session", &["bng-wire", "bng-sync"]),
    ("bng-fib", &["bng-wire", "bng-sync"]),
    ("bng-dataplane", &["bng-wire", "bng-sync", "bng-session", "bng-fib"]),
    ("bng-worker", &["bng-wire", "bng-sync", "bng-dpdk", "bng-dataplane"]),
    ("bng-discovery", &["bng-wire"]),
    ("bng-ppp", &["bng-wire"]),
    ("bng-ipv6", &["bng-wire"]),
    ("bng-radius", &["bng-wire"]),
    ("bng-subscriber", &["bng-wire", "bng-session", "bng-discovery", "bng-ppp", "bng-ipv6", "bng-radius", "bng-pool"]),
    ("bng-aaa", &["bng-wire", "bng-session", "bng-subscriber", "bng-radius"]),
    ("bng-routing", &["bng-wire", "bng-sync", "bng-fib"]),
    ("bng-telemetry", &["bng-wire", "bng-dataplane"]),
    (
        "bng-control",
        &[
            "bng-wire",
            "bng-sync",
            "bng-session",
            "bng-fib",
            "bng-dataplane",
            "bng-subscriber",
            "bng-routing",
            "bng-aaa",
        ],
    ),
    ("bng-api", &[]),
    ("bng-testkit", &["bng-wire"]),
    ("bng-bench", &["bng-wire", "bng-sync", "bng-dpdk", "bng-session", "bng-fib", "bng-dataplane", "bng-worker"]),
];

/// The only crates whose source may hold `unsafe`.
const UNSAFE_CRATES: &[&str] = &["dpdk-sys", "bng-dpdk", "bng-sync"];

struct Package {
    name: String,
    manifest: PathBuf,
    normal: BTreeSet<String>,
    dev: BTreeSet<String>,
}

fn ours(name: &str) -> bool {
    name == "dpdk-sys" || name.starts_with("bng")
}

fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .output()
        .expect("cargo metadata starts");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let list = metadata["packages"].as_array().expect("a list of packages");
    list.iter()
        .map(|package| {
            let of_kind = |dev: bool| {
                package["dependencies"]
                    .as_array()
                    .expect("a list of dependencies")
                    .iter()
                    .filter(|dependency| (dependency["kind"].as_str() == Some("dev")) == dev)
                    .map(|dependency| dependency["name"].as_str().expect("a name").to_owned())
                    .filter(|name| ours(name))
                    .collect()
            };
            Package {
                name: package["name"].as_str().expect("a name").to_owned(),
                manifest: package["manifest_path"].as_str().expect("a path").into(),
                normal: of_kind(false),
                dev: of_kind(true),
            }
        })
        .collect()
}

#[test]
fn crates_only_know_whom_they_may() {
    let arrows: BTreeMap<_, BTreeSet<_>> =
        ARROWS.iter().map(|(name, may)| (*name, may.iter().copied().collect())).collect();
    let packages = packages();
    assert!(packages.len() > 15, "the workspace has {} packages: is this the right manifest?", packages.len());
    for package in packages.iter().filter(|package| package.name != "bng") {
        let may = arrows
            .get(package.name.as_str())
            .unwrap_or_else(|| panic!("{} has no row in ARROWS: say whom it may know", package.name));
        for dependency in &package.normal {
            assert!(may.contains(dependency.as_str()), "forbidden arrow: {} -> {dependency}", package.name);
        }
        let below = reachable(&arrows, &package.name);
        for dependency in &package.dev {
            let allowed = below.contains(dependency.as_str()) || dependency == "bng-testkit";
            assert!(
                allowed || package.name == "bng-testkit",
                "forbidden arrow in tests: {} -> {dependency}",
                package.name
            );
        }
    }
}

/// A crate and all that it may reach by arrows.
fn reachable<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::from([from]);
    let mut next = vec![from];
    while let Some(name) = next.pop() {
        next.extend(arrows.get(name).into_iter().flatten().copied().filter(|dependency| found.insert(dependency)));
    }
    found
}

#[test]
fn arrows_make_no_circle() {
    let mut placed: BTreeSet<&str> = BTreeSet::new();
    let mut rest: Vec<_> = ARROWS.to_vec();
    while !rest.is_empty() {
        let before = rest.len();
        rest.retain(|(name, may)| {
            let ready = may.iter().all(|dependency| placed.contains(dependency));
            if ready {
                placed.insert(name);
            }
            !ready
        });
        assert!(rest.len() < before, "a circle among {:?}", rest.iter().map(|(name, _)| name).collect::<Vec<_>>());
    }
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// `forbid` in the crate's root is what the compiler enforces; this test sees to it that the line is there.
#[test]
fn unsafe_is_forbidden_outside_its_three_crates() {
    let mut roots = 0;
    for package in packages() {
        if UNSAFE_CRATES.contains(&package.name.as_str()) {
            continue;
        }
        let mut files = Vec::new();
        rust_files(&package.manifest.parent().expect("a folder").join("src"), &mut files);
        for file in files {
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_root =
                name == "lib.rs" || name == "main.rs" || file.parent().is_some_and(|p| p.ends_with("src/bin"));
            if is_root {
                roots += 1;
                let text = std::fs::read_to_string(&file).expect("a readable file");
                assert!(
                    text.lines().any(|line| line.trim() == "#![forbid(unsafe_code)]"),
                    "{} lacks #![forbid(unsafe_code)]",
                    file.display()
                );
            }
        }
    }
    assert!(roots > 10, "only {roots} crate roots were looked at");
}
