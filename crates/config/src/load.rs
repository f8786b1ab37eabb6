//! From a path to a [`Config`].

use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::decode::{At, Decode, Here};
use crate::received::{Root, UserSection, users_file};
use crate::source::{Extent, FileId, Mark, Sources};
use crate::tree::Tree;
use crate::validate::validate;
use crate::{Config, ConfigErrors, Secret, Severity};

/// Octets that a file may have: a user takes about 60, so this is a million of them.
const FILE_OCTETS_MAX: u64 = 64 << 20;
/// A shared secret should be at least this long (RFC 2865 section 3).
const SECRET_OCTETS_ADVISED: usize = 16;

/// What is asked of the machine while a configuration is checked; a test passes its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The CPUs that are online; empty where that is not known, and then no CPU is refused.
    pub cpus: Vec<usize>,
    /// Its host name; may be empty.
    pub host_name: String,
}

impl Machine {
    /// The machine that this runs on.
    #[must_use]
    pub fn current() -> Self {
        let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        let host_name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self { cpus: cpu_list(online.trim()), host_name: host_name.trim().to_owned() }
    }
}

/// The kernel's notation for a set of CPUs: `0-3,8`.
fn cpu_list(text: &str) -> Vec<usize> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            cpus.extend(first..=last.min(first.saturating_add(4095)));
        }
    }
    cpus
}

pub(crate) fn load(path: &Path, machine: &Machine) -> Result<Config, ConfigErrors> {
    let mut out = Sources::default();
    let config = read_file(path, &mut out).and_then(|tree| check(path, &tree, machine, &mut out));
    finish(config, out)
}

/// The same for a text that is at hand; files that it names are sought from `path`'s folder.
pub(crate) fn load_text(path: &Path, text: &str, machine: &Machine) -> Result<Config, ConfigErrors> {
    let mut out = Sources::default();
    let file = out.add_file(path.to_owned(), Zeroizing::new(text.to_owned()));
    let config = read_tree(file, text, &mut out).and_then(|tree| check(path, &tree, machine, &mut out));
    finish(config, out)
}

fn finish(config: Option<Config>, out: Sources) -> Result<Config, ConfigErrors> {
    let problems = out.into_problems();
    match config {
        Some(mut config) if problems.iter().all(|problem| problem.severity == Severity::Warning) => {
            config.warnings = problems;
            Ok(config)
        }
        _ => Err(ConfigErrors { problems }),
    }
}

fn check(path: &Path, tree: &Tree, machine: &Machine, out: &mut Sources) -> Option<Config> {
    let here = Here { path: String::new(), at: Extent::whole(tree.at.file) };
    let root = Root::decode(tree, &here, out)?;
    let more = root.aaa.local.file.as_ref().map(|file| more_users(path, &file.value.0, &file.here, out));
    validate(path, root, more.unwrap_or_default(), machine, out)
}

/// Reads the file that `aaa.local.file` names.
fn more_users(config: &Path, name: &str, here: &Here, out: &mut Sources) -> Vec<At<UserSection>> {
    let path: PathBuf = config.parent().unwrap_or(Path::new("")).join(name);
    match open(&path) {
        Err(reason) => {
            out.error(here.at, &here.path, format!("cannot read {}: {reason}", path.display()), None);
            Vec::new()
        }
        Ok(octets) => {
            if readable_by_all(&path) {
                let help = Some(format!("it holds passwords: chmod 640 {}", path.display()));
                out.warn(
                    here.at,
                    &here.path,
                    format!("{} can be read by every user of this machine", path.display()),
                    help,
                );
            }
            let Some(tree) = understand(&path, octets, out) else { return Vec::new() };
            let here = Here { path: String::new(), at: Extent::whole(tree.at.file) };
            users_file(&tree, &here, out)
        }
    }
}

/// Reads a file that holds a shared secret in its one line.
pub(crate) fn secret_file(config: &Path, name: &str, here: &Here, out: &mut Sources) -> Option<Secret> {
    let path: PathBuf = config.parent().unwrap_or(Path::new("")).join(name);
    let shown = path.display();
    let octets = match open(&path) {
        Ok(octets) => octets,
        Err(reason) => {
            out.error(here.at, &here.path, format!("cannot read {shown}: {reason}"), None);
            return None;
        }
    };
    if readable_by_all(&path) {
        let help = Some(format!("it holds a secret: chmod 600 {shown}"));
        out.warn(here.at, &here.path, format!("{shown} can be read by every user of this machine"), help);
    }
    let text = std::str::from_utf8(&octets).unwrap_or_default();
    let line = text.strip_suffix('\n').unwrap_or(text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() || line.len() > 128 || line.contains(['\n', '\r']) {
        let reason = format!("{shown} does not hold a secret: one line of UTF-8 text, 1 to 128 octets long");
        out.error(here.at, &here.path, reason, None);
        return None;
    }
    if line.len() < SECRET_OCTETS_ADVISED {
        let reason = format!("the secret in {shown} is shorter than {SECRET_OCTETS_ADVISED} octets: it can be guessed");
        out.warn(here.at, &here.path, reason, None);
    }
    Some(Secret::new(line.to_owned()))
}

fn readable_by_all(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o004 != 0)
}

fn open(path: &Path) -> Result<Zeroizing<Vec<u8>>, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a file".into());
    }
    if metadata.len() > FILE_OCTETS_MAX {
        return Err(format!("it is larger than {} MiB", FILE_OCTETS_MAX >> 20));
    }
    std::fs::read(path).map(Zeroizing::new).map_err(|error| error.to_string())
}

fn read_file(path: &Path, out: &mut Sources) -> Option<Tree> {
    match open(path) {
        Ok(octets) => understand(path, octets, out),
        Err(reason) => {
            let file = out.add_file(path.to_owned(), Zeroizing::default());
            out.error(Extent::whole(file), "", format!("cannot read this file: {reason}"), None);
            None
        }
    }
}

fn understand(path: &Path, octets: Zeroizing<Vec<u8>>, out: &mut Sources) -> Option<Tree> {
    match std::str::from_utf8(&octets) {
        Ok(text) => {
            let file = out.add_file(path.to_owned(), Zeroizing::new(text.to_owned()));
            read_tree(file, text, out)
        }
        Err(error) => {
            let good = octets.get(..error.valid_up_to()).unwrap_or_default();
            let line = good.iter().filter(|octet| **octet == b'\n').count() + 1;
            let file = out.add_file(path.to_owned(), Zeroizing::default());
            let mark = Mark { line, column: 1 };
            out.error(Extent { file, start: mark, end: mark }, "", "this line is not UTF-8 text", None);
            None
        }
    }
}

fn read_tree(file: FileId, text: &str, out: &mut Sources) -> Option<Tree> {
    match crate::tree::read(file, text) {
        Ok((tree, duplicates)) => {
            hide_secrets(&tree, out);
            out.understood(file);
            for duplicate in duplicates {
                out.error(duplicate.at, "", duplicate.reason, duplicate.help);
            }
            Some(tree)
        }
        Err(error) => {
            out.error(error.at, "", error.reason, error.help);
            None
        }
    }
}

/// Keeps whatever stands behind a key that is called like a secret from being shown, wherever it was put.
fn hide_secrets(tree: &Tree, out: &mut Sources) {
    use crate::tree::Kind;
    match &tree.kind {
        Kind::Null | Kind::Scalar(_) => {}
        Kind::List(list) => list.iter().for_each(|tree| hide_secrets(tree, out)),
        Kind::Map(entries) => {
            for (key, value) in entries {
                let name = key.name.to_ascii_lowercase();
                let words = ["password", "secret"];
                let like = words.iter().any(|word| name.contains(word)) && !name.ends_with("_file");
                if like || crate::suggest::nearest(&name, &words).is_some() {
                    out.hide(value.at);
                }
                hide_secrets(value, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_as_the_kernel_writes_them() {
        assert_eq!(cpu_list("0"), [0]);
        assert_eq!(cpu_list("0-3,8"), [0, 1, 2, 3, 8]);
        assert!(cpu_list("").is_empty());
        assert!(Machine::current().cpus.contains(&0) || Machine::current().cpus.is_empty());
    }
}
