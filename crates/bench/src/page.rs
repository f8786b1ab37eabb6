//! The tables of docs/performance.md, made from the files that hold the figures.

use anyhow::{Context as _, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

/// A file of the documentation.
fn document(name: &str) -> std::path::PathBuf {
    crate::own_file("../../docs").join(name)
}

/// Wraps the lines that a run printed, with what they were made by.
///
/// # Errors
/// git does not answer, or the file cannot be written.
pub(crate) fn keep(figures: &[Value], command: &str, tsc_hz: u64) -> anyhow::Result<()> {
    let ask = |program: &str, arguments: &[&str]| -> anyhow::Result<String> {
        let output = Command::new(program).args(arguments).output().with_context(|| program.to_owned())?;
        ensure!(output.status.success(), "{program} fails");
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name").and_then(|rest| rest.split_once(": ")));
    let kept = serde_json::json!({
        "command": command,
        "commit": ask("git", &["rev-parse", "--short=12", "HEAD"])?,
        "date": ask("date", &["-u", "+%Y-%m-%d"])?,
        "cpu": cpu.map_or("unknown", |(_, name)| name),
        "tsc_mhz": tsc_hz / 1_000_000,
        "figures": figures,
    });
    std::fs::write(document("performance.json"), serde_json::to_string_pretty(&kept)? + "\n")?;
    Ok(())
}

/// Writes the tables into the page.
///
/// # Errors
/// A file is missing, or the page lacks a place for a table.
pub(crate) fn write() -> anyhow::Result<()> {
    let path = document("performance.md");
    let page = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    std::fs::write(&path, filled(&page, &tables()?)?)?;
    Ok(())
}

/// By name.
type Tables = BTreeMap<&'static str, String>;

fn tables() -> anyhow::Result<Tables> {
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(document("performance.json"))?)?;
    let counted: BTreeMap<String, f64> =
        serde_json::from_str(&std::fs::read_to_string(crate::own_file("instructions.json"))?)?;
    let mut tables = Tables::new();
    let text = |key: &str| kept[key].as_str().unwrap_or_default().to_owned();
    tables.insert(
        "origin",
        format!(
            "Command: `{}`; commit {}; {}; {}, TSC {} MHz.\n",
            text("command"),
            text("commit"),
            text("date"),
            text("cpu"),
            kept["tsc_mhz"]
        ),
    );
    let (mut forwarding, mut lookups, mut memory) = (String::new(), String::new(), String::new());
    forwarding.push_str("| case | cycles a packet | medians of ninths | bare | above bare | Mpps a core |\n");
    forwarding.push_str("| --- | --- | --- | --- | --- | --- |\n");
    lookups.push_str("| table | cycles a lookup | medians of ninths |\n| --- | --- | --- |\n");
    memory.push_str("| sessions | resident octets a session |\n| --- | --- |\n");
    let mut sizes = BTreeMap::new();
    for figure in kept["figures"].as_array().context("figures")? {
        let name = figure["name"].as_str().context("a name")?;
        let number = |value: &Value| value.as_f64().unwrap_or_default();
        let cycles = &figure["cycles"];
        let spread = format!("{:.1}-{:.1}", number(&cycles["low"]), number(&cycles["high"]));
        let median = number(&cycles["median"]);
        if let Some(name) = name.strip_prefix("lookup-") {
            writeln!(lookups, "| {name} | {median:.1} | {spread} |")?;
            continue;
        }
        let (bare, above) = (number(&figure["bare"]["median"]), number(&figure["above_bare"]));
        let mpps = number(&figure["mpps_per_core"]);
        writeln!(forwarding, "| {name} | {median:.1} | {spread} | {bare:.1} | {above:.1} | {mpps:.2} |")?;
        if let (Some(sessions), Some(octets)) = (figure["case"]["sessions"].as_u64(), figure["session_octets"].as_f64())
        {
            let most: &mut f64 = sizes.entry(sessions).or_default();
            *most = most.max(octets);
        }
    }
    for (sessions, octets) in sizes.range(10_000..) {
        writeln!(memory, "| {sessions} | {octets:.0} |")?;
    }
    let mut instructions =
        String::from("| case | instructions a packet, whole loop | the bare loop |\n| --- | --- | --- |\n");
    for (name, count) in &counted {
        let Some(case) = name.strip_prefix("router ") else { continue };
        let bare = counted.get(&format!("bare {case}")).context("a bare loop")?;
        writeln!(instructions, "| {case} | {count:.1} | {bare:.1} |")?;
    }
    tables.insert("forwarding", forwarding);
    tables.insert("lookups", lookups);
    tables.insert("memory", memory);
    tables.insert("instructions", instructions);
    Ok(tables)
}

/// The page with each table in its place.
fn filled(page: &str, tables: &Tables) -> anyhow::Result<String> {
    let mut page = page.to_owned();
    for (name, table) in tables {
        let (begin, end) = (format!("<!-- figures: {name} -->\n"), "<!-- end -->");
        let start = page.find(&begin).with_context(|| format!("the page has no place for {name}"))? + begin.len();
        let stop = page[start..].find(end).with_context(|| format!("{name} does not end"))? + start;
        page.replace_range(start..stop, &format!("\n{table}\n"));
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_tells_what_the_files_hold() {
        let page = std::fs::read_to_string(document("performance.md")).expect("the page");
        let right = filled(&page, &tables().expect("tables")).expect("a place for each");
        assert!(page == right, "docs/performance.md: run cargo run --release -p bng-bench -- --page");
    }

    #[test]
    fn a_table_takes_the_place_of_the_one_before() {
        let page = "a\n<!-- figures: x -->\nold\n<!-- end -->\nb\n";
        let tables = Tables::from([("x", "new\n".to_owned())]);
        assert_eq!(filled(page, &tables).expect("a place"), "a\n<!-- figures: x -->\n\nnew\n\n<!-- end -->\nb\n");
        assert!(filled("nothing", &tables).is_err());
    }
}
