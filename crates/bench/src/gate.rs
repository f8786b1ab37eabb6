//! Instructions a packet under callgrind: two runs of the same program differ by a fiftieth of a percent, whatever else
//! the machine does.

use crate::bed::{BURST, Bed};
use crate::case::Case;
use crate::measure::{poll, write_down_here};
use crate::traffic::Random;
use anyhow::{Context as _, bail, ensure};
use bng_dataplane::Pipeline;
use bng_dpdk::Mempool;
use bng_worker::Forward;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// Polls that callgrind watches for each case.
const POLLS: usize = 64;
/// The rise that is let pass, in percent.
const RISE_MAX: f64 = 3.0;
/// What stands before the name of what was counted, in the order that it was.
const MARK: &str = "counted ";

/// One case for callgrind: both loops, each written down by itself.
pub(crate) fn count(
    case: &Case,
    bare: &mut Bed<Forward>,
    router: &mut Bed<Pipeline>,
    pool: &Mempool,
    polls: usize,
) -> anyhow::Result<()> {
    let frames = polls * BURST * case.direction.ports().len();
    let name = case.name();
    let mut random = Random::new();
    for _ in 0..polls {
        poll(case, bare, pool, &mut random)?;
    }
    println!("{MARK}{frames} bare {name}");
    write_down_here(&name);
    for _ in 0..polls {
        poll(case, router, pool, &mut random)?;
    }
    println!("{MARK}{frames} router {name}");
    write_down_here(&name);
    Ok(())
}

/// Counts anew and compares, or writes down what was counted. False where a case has become dearer.
pub(crate) fn run(update: bool) -> anyhow::Result<bool> {
    let counted = callgrind()?;
    let file = crate::own_file("instructions.json");
    if update {
        let text = serde_json::to_string_pretty(&counted)?;
        std::fs::write(&file, text + "\n").with_context(|| file.display().to_string())?;
        println!("{} figures written down", counted.len());
        return Ok(true);
    }
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let before: BTreeMap<String, f64> = serde_json::from_str(&text)?;
    let lines = compare(&before, &counted);
    let mut good = true;
    for line in &lines {
        println!("{}", line.text);
        good &= line.good;
    }
    Ok(good)
}

struct Line {
    text: String,
    good: bool,
}

/// Every case of either side: one that is missing on the other is a failure, too.
fn compare(before: &BTreeMap<String, f64>, now: &BTreeMap<String, f64>) -> Vec<Line> {
    let names: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let line = |name: &String| match (before.get(name), now.get(name)) {
        (Some(old), Some(new)) => {
            let rise = (new / old - 1.0) * 100.0;
            let good = rise <= RISE_MAX;
            let verdict = if good { "ok    " } else { "DEARER" };
            Line { text: format!("{verdict} {name:<52} {new:7.1} instructions a packet, {rise:+.1} %"), good }
        }
        (old, _) => {
            let verdict = if old.is_some() { "NOT COUNTED" } else { "NOT IN FILE" };
            Line { text: format!("{verdict} {name}: run with --update"), good: false }
        }
    };
    names.into_iter().map(line).collect()
}

/// Instructions a packet, by what was counted.
fn callgrind() -> anyhow::Result<BTreeMap<String, f64>> {
    let folder = std::env::temp_dir().join(format!("bng-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let outcome = in_folder(&folder);
    std::fs::remove_dir_all(&folder)?;
    outcome
}

fn in_folder(folder: &Path) -> anyhow::Result<BTreeMap<String, f64>> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--toggle-collect=*device_under_test*"])
        .args(["--dump-after=*write_down_here*", "--dump-line=no", "--quiet"])
        .arg(format!("--callgrind-out-file={}/out", folder.display()))
        .arg(std::env::current_exe()?)
        .arg(format!("--count={POLLS}"))
        .arg(crate::own_file("cases/gate.yaml"))
        .stderr(Stdio::piped())
        .output()
        .context("valgrind does not start: is it installed (apt-get install valgrind)?")?;
    let (out, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "callgrind failed: {said}");
    let mut counted = BTreeMap::new();
    for (number, line) in out.lines().filter_map(|line| line.strip_prefix(MARK)).enumerate() {
        let (frames, name) = line.split_once(' ').context("a line of two words")?;
        let part = folder.join(format!("out.{}", number + 1));
        let text = std::fs::read_to_string(&part).with_context(|| part.display().to_string())?;
        let total =
            text.lines().find_map(|line| line.strip_prefix("totals: ").or_else(|| line.strip_prefix("summary: ")));
        let total: f64 = total.context("a total")?.trim().parse()?;
        let each = total / frames.parse::<f64>()?;
        if each < 1.0 {
            bail!("{name}: callgrind saw nothing of it");
        }
        counted.insert(name.to_owned(), (each * 10.0).round() / 10.0);
    }
    ensure!(!counted.is_empty(), "nothing was counted: {said}");
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(pairs: &[(&str, f64)]) -> BTreeMap<String, f64> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn a_rise_above_three_percent_fails() {
        let before = figures(&[("a", 100.0)]);
        let good = |now: &[(&str, f64)]| compare(&before, &figures(now)).iter().all(|line| line.good);
        assert!(good(&[("a", 102.9)]));
        assert!(good(&[("a", 50.0)]));
        assert!(!good(&[("a", 103.1)]));
        assert!(!good(&[]));
        assert!(!good(&[("a", 100.0), ("b", 1.0)]));
    }
}
