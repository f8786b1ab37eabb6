//! What the documentation says that a program can check: links, files, commands, the configuration in the README, and
//! that each dependency has its reason in `docs/dependencies.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The README and every page of `docs/`.
fn pages() -> Vec<PathBuf> {
    let docs = std::fs::read_dir(root().join("docs")).expect("docs/");
    let mut pages: Vec<_> = docs.map(|entry| entry.expect("an entry of docs/").path()).collect();
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.push(root().join("README.md"));
    pages.sort();
    assert!(pages.len() > 5, "{pages:?}");
    pages
}

/// The lines outside fenced code, and those inside, each block with the word behind its fence.
fn split(page: &str) -> (Vec<&str>, Vec<(&str, Vec<&str>)>) {
    let (mut prose, mut blocks): (Vec<_>, Vec<(&str, Vec<&str>)>) = (Vec::new(), Vec::new());
    let mut inside = false;
    for line in page.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(language), false) => {
                blocks.push((language, Vec::new()));
                inside = true;
            }
            (Some(_), true) => inside = false,
            (None, true) => blocks.last_mut().expect("a block").1.push(line),
            (None, false) => prose.push(line),
        }
    }
    assert!(!inside, "a fence without its end");
    (prose, blocks)
}

/// The targets of `[text](target)`.
fn links(prose: &[&str]) -> Vec<String> {
    let of_line = |line: &&str| {
        let parts = line.split("](").skip(1);
        parts.filter_map(|part| part.split_once(')').map(|(target, _)| target.to_owned())).collect::<Vec<_>>()
    };
    prose.iter().flat_map(of_line).collect()
}

/// The anchors of a page's headings, as the usual renderers make them.
fn anchors(prose: &[&str]) -> BTreeSet<String> {
    let heading = |line: &&str| line.starts_with('#').then(|| line.trim_start_matches('#').trim().to_lowercase());
    let keep = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    let slug = |title: String| title.chars().filter(|c| keep(*c)).collect::<String>().replace(' ', "-");
    prose.iter().filter_map(heading).map(slug).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut seen = 0;
    for page in pages() {
        let content = text(&page);
        let (prose, _) = split(&content);
        for link in links(&prose) {
            if link.starts_with("https://") || link.starts_with("http://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { page.clone() } else { page.parent().expect("a folder").join(file) };
            assert!(target.exists(), "{}: the link {link} leads nowhere", page.display());
            if !anchor.is_empty() {
                let content = text(&target);
                assert!(anchors(&split(&content).0).contains(anchor), "{}: no heading for {link}", page.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen} links were found: does this test still read the pages?");
}

#[test]
fn the_readme_leads_to_every_page() {
    let readme = text(&root().join("README.md"));
    let (prose, _) = split(&readme);
    let links: BTreeSet<PathBuf> = links(&prose).iter().map(|link| root().join(link)).collect();
    for page in pages().iter().filter(|page| !page.ends_with("README.md")) {
        assert!(links.contains(page), "README.md has no link to {}", page.display());
    }
}

#[test]
fn files_that_are_named_exist() {
    let part_of_a_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    let mut seen = BTreeSet::new();
    for page in pages() {
        for folder in ["configs/", "scripts/"] {
            let content = text(&page);
            for (at, _) in content.match_indices(folder) {
                // `(configs/two-ports.yaml)`, `configs/two-ports.yaml,` and `../configs/...` alike.
                let rest = &content[at..];
                let end = rest.find(|c| !part_of_a_path(c)).unwrap_or(rest.len());
                let name = rest[..end].trim_end_matches('.');
                assert!(root().join(name).exists(), "{}: there is no {name}", page.display());
                seen.insert(name.to_owned());
            }
        }
    }
    assert!(seen.contains("configs/two-ports.yaml") && seen.contains("scripts/quickstart.sh"), "{seen:?}");
}

/// The commands of the README's shell blocks: comments taken off, quotes not looked into.
fn commands(program: &str) -> Vec<String> {
    let readme = text(&root().join("README.md"));
    let (_, blocks) = split(&readme);
    let lines = blocks.iter().filter(|(language, _)| *language == "sh").flat_map(|(_, lines)| lines);
    let command = |line: &&str| line.split(" #").next().unwrap_or_default().trim().to_owned();
    lines.map(command).filter(|command| command.split(' ').next() == Some(program)).collect()
}

/// Without a daemon, a right command line fails with 3 (bngd does not answer) and a wrong one with 2.
#[test]
fn bngctl_takes_the_commands_of_the_readme() {
    let commands = commands("bngctl");
    assert!(commands.len() > 5, "{commands:?}");
    for command in commands {
        let status = Command::new(env!("CARGO_BIN_EXE_bngctl"))
            .args(command.split_whitespace().skip(1))
            .env("BNGCTL_SOCKET", "/nonexistent/api.sock")
            .output()
            .expect("bngctl starts");
        assert_eq!(status.status.code(), Some(3), "{command}: {}", String::from_utf8_lossy(&status.stderr));
    }
}

#[test]
fn the_configuration_of_the_readme_is_accepted() {
    let readme = text(&root().join("README.md"));
    let (_, blocks) = split(&readme);
    let (_, yaml) = blocks.iter().find(|(language, _)| *language == "yaml").expect("a configuration");
    // The CPUs of the example are those of a server; here there may be only one.
    let here = |line: &&str| match line.starts_with("cores:") {
        true => "cores: {control: 0, workers: [0]}\n".to_owned(),
        false => format!("{line}\n"),
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::copy(root().join("configs/users.yaml"), folder.join("users.yaml")).expect("configs/users.yaml");
    let file = folder.join("bngd.yaml");
    std::fs::write(&file, yaml.iter().map(here).collect::<String>()).expect("a file");
    let checked = Command::new(env!("CARGO_BIN_EXE_bngd")).arg("check").arg(&file).output().expect("bngd starts");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

/// The names in a manifest's sections of dependencies with what stands behind them, without those that are paths: ours.
fn dependencies(manifest: &Path, wanted: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
    let content = text(manifest);
    let mut found = BTreeMap::new();
    let mut inside = false;
    for line in content.lines() {
        if let Some(section) = line.strip_prefix('[') {
            inside = wanted(section.trim_end_matches(']'));
        } else if inside
            && !line.starts_with('#')
            && let Some((name, value)) = line.split_once('=')
            && !value.contains("path =")
        {
            found.insert(name.trim().trim_end_matches(".workspace").to_owned(), line.to_owned());
        }
    }
    found
}

#[test]
fn every_dependency_has_its_reason() {
    let outside = |section: &str| section.ends_with("dependencies");
    let mut there = dependencies(&root().join("Cargo.toml"), |section| section == "workspace.dependencies");
    assert!(there.len() > 20, "{there:?}");
    // These two manifests name versions of their own.
    for manifest in ["fuzz/Cargo.toml", "dpdk-ffi/Cargo.toml"] {
        there.extend(dependencies(&root().join(manifest), outside));
    }
    let there: BTreeSet<_> = there.into_keys().collect();

    let page = text(&root().join("docs/dependencies.md"));
    let section = page.split("\n## ").find(|section| section.starts_with("Rust crates\n")).expect("its section");
    let mut rows = BTreeMap::new();
    for line in section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---")) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, reason] = cells[..] else { panic!("not a name and a reason: {line}") };
        if name != "crate" {
            assert!(reason.len() >= 8, "{name} has no reason");
            assert!(rows.insert(name.to_owned(), reason.to_owned()).is_none(), "{name} has two rows");
        }
    }
    let described: BTreeSet<_> = rows.into_keys().collect();
    let missing: Vec<_> = there.difference(&described).collect();
    assert!(missing.is_empty(), "docs/dependencies.md says nothing of {missing:?}");
    let gone: Vec<_> = described.difference(&there).collect();
    assert!(gone.is_empty(), "docs/dependencies.md describes {gone:?}, which nothing depends on");
}

/// So that the list of the workspace, which the page above is compared with, is the whole list.
#[test]
fn members_name_no_versions_of_their_own() {
    let crates = std::fs::read_dir(root().join("crates")).expect("crates/");
    let manifests = crates.map(|entry| entry.expect("an entry of crates/").path().join("Cargo.toml"));
    let mut seen = 0;
    for manifest in manifests.filter(|manifest| manifest.exists()) {
        for line in dependencies(&manifest, |section| section.ends_with("dependencies")).values() {
            let shared = line.contains("workspace = true");
            assert!(shared, "{}: {line}: the version belongs in the workspace's Cargo.toml", manifest.display());
            seen += 1;
        }
    }
    assert!(seen > 50, "only {seen} dependencies were found: does this test still read the manifests?");
}
