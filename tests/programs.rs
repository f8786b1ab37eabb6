//! How the two programs end where nobody reads what they print, and what their help says about logs.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The writing end of a pipe that nobody reads any more.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

/// The device on which each write fails as on a full disk.
fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").expect("/dev/full")
}

fn bngd(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bngd"));
    command.args(arguments).env_remove("BNGD_CONFIG");
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let good = root().join("configs/quickstart.yaml");
    let good = good.to_str().expect("a path");
    for arguments in [&["schema"][..], &["check", good], &["--help"]] {
        let output = bngd(arguments).stdout(closed_pipe()).output().expect("bngd starts");
        // `check` may have warnings to say; what it must not do is to die of it.
        assert!(output.status.success() && !said(&output).contains("panicked"), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let output = bngd(&["schema"]).stdout(full()).output().expect("bngd starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("cannot be written"), "{}", said(&output));
}

#[test]
fn complaints_that_nobody_hears_change_no_exit_code() {
    for (arguments, code) in [(&["check", "/nonexistent.yaml"][..], 1), (&["--config", "/nonexistent.yaml"], 1)] {
        let closed = bngd(arguments).stderr(closed_pipe()).status().expect("bngd starts");
        assert_eq!(closed.code(), Some(code), "{arguments:?}");
        let full = bngd(arguments).stderr(full()).status().expect("bngd starts");
        assert_eq!(full.code(), Some(code), "{arguments:?}");
    }
    let bngctl = Command::new(env!("CARGO_BIN_EXE_bngctl"))
        .args(["--socket", "/nonexistent/api.sock", "show", "version"])
        .stderr(closed_pipe())
        .status()
        .expect("bngctl starts");
    assert_eq!(bngctl.code(), Some(3));
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "md") {
            found.push(path);
        }
    }
}

/// The targets of filters such as `info,bng_control=debug` in a text.
fn targets(text: &str) -> Vec<&str> {
    let levels = ["=error", "=warn", "=info", "=debug", "=trace"];
    let before = |(at, _): (usize, &str)| {
        let name = text[..at].rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        name.starts_with("bng_").then_some(name)
    };
    levels.iter().flat_map(|level| text.match_indices(level).filter_map(before)).collect()
}

/// Protocol crates are sans-I/O and write no log lines: a filter that names one shows nothing, so no help may.
#[test]
fn the_log_targets_that_help_and_pages_name_are_crates_that_log() {
    let mut files = vec![root().join("README.md")];
    for folder in ["src", "docs"] {
        sources(&root().join(folder), &mut files);
    }
    for entry in std::fs::read_dir(root().join("crates")).expect("crates/") {
        sources(&entry.expect("an entry").path().join("src"), &mut files);
    }
    let mut seen = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a text");
        for target in targets(&text) {
            let folder = root().join("crates").join(target.trim_start_matches("bng_"));
            let manifest = std::fs::read_to_string(folder.join("Cargo.toml"));
            let manifest = manifest.unwrap_or_else(|_| panic!("{}: there is no crate {target}", file.display()));
            assert!(manifest.contains("\ntracing.workspace"), "{}: {target} never logs", file.display());
            seen += 1;
        }
    }
    assert!(seen > 5, "only {seen} targets were found: does this test still read the help?");
}
