//! The files that a configuration was read from, and how a place in them is shown.

use std::path::PathBuf;

use zeroize::Zeroizing;

use crate::{Place, Problem, Severity};

/// Columns of a line that a snippet shows at most.
const SNIPPET_COLUMNS_MAX: usize = 120;

/// Which of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileId(pub(crate) usize);

/// A line and a column, both counted from 1; columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// A piece of a file; `end` is the first place behind it. Line 0 means the file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Extent {
    pub(crate) file: FileId,
    pub(crate) start: Mark,
    pub(crate) end: Mark,
}

impl Extent {
    /// The file as a whole.
    pub(crate) fn whole(file: FileId) -> Self {
        let mark = Mark { line: 0, column: 0 };
        Self { file, start: mark, end: mark }
    }
}

struct File {
    name: PathBuf,
    text: Zeroizing<String>,
    /// Pieces that must not be shown.
    secrets: Vec<Extent>,
    /// True once the tree was built: before that nobody knows where the secrets are.
    understood: bool,
}

/// All files of one configuration, and what was found wrong in them.
#[derive(Default)]
pub(crate) struct Sources {
    files: Vec<File>,
    found: Vec<(Extent, String, Finding)>,
}

struct Finding {
    severity: Severity,
    reason: String,
    help: Option<String>,
    hint: bool,
}

impl Sources {
    pub(crate) fn add_file(&mut self, name: PathBuf, text: Zeroizing<String>) -> FileId {
        self.files.push(File { name, text, secrets: Vec::new(), understood: false });
        FileId(self.files.len() - 1)
    }

    pub(crate) fn understood(&mut self, file: FileId) {
        if let Some(file) = self.files.get_mut(file.0) {
            file.understood = true;
        }
    }

    /// Keeps a piece of a file from ever being shown.
    pub(crate) fn hide(&mut self, at: Extent) {
        if let Some(file) = self.files.get_mut(at.file.0) {
            file.secrets.push(at);
        }
    }

    pub(crate) fn error(&mut self, at: Extent, path: &str, reason: impl Into<String>, help: Option<String>) {
        self.found.push((
            at,
            path.into(),
            Finding { severity: Severity::Error, reason: reason.into(), help, hint: false },
        ));
    }

    pub(crate) fn warn(&mut self, at: Extent, path: &str, reason: impl Into<String>, help: Option<String>) {
        self.found.push((
            at,
            path.into(),
            Finding { severity: Severity::Warning, reason: reason.into(), help, hint: false },
        ));
    }

    /// A warning that may well come of an error elsewhere, such as "nobody uses this": not shown beside errors.
    pub(crate) fn hint(&mut self, at: Extent, path: &str, reason: impl Into<String>, help: Option<String>) {
        self.found.push((
            at,
            path.into(),
            Finding { severity: Severity::Warning, reason: reason.into(), help, hint: true },
        ));
    }

    /// True if an error was found at `path` or below it: what seems to be missing there may just be unreadable.
    pub(crate) fn is_broken(&self, path: &str) -> bool {
        self.found.iter().any(|(_, found, finding)| {
            finding.severity == Severity::Error
                && found.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    /// Everything found, in the order of the files.
    pub(crate) fn into_problems(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|(at, ..)| (at.file, at.start));
        if self.found.iter().any(|(.., finding)| finding.severity == Severity::Error) {
            self.found.retain(|(.., finding)| !finding.hint);
        }
        let files = &self.files;
        self.found
            .into_iter()
            .map(|(at, path, finding)| {
                let file = files.get(at.file.0);
                Problem {
                    severity: finding.severity,
                    place: Place {
                        file: file.map(|file| file.name.clone()).unwrap_or_default(),
                        line: at.start.line,
                        column: at.start.column,
                    },
                    path,
                    reason: finding.reason,
                    help: finding.help,
                    snippet: file.map(|file| file.snippet(at)).unwrap_or_default(),
                }
            })
            .collect()
    }
}

impl File {
    /// The line with what is meant marked beneath it; empty where there is nothing that may be shown.
    fn snippet(&self, at: Extent) -> String {
        let line = if at.start.line == 0 { None } else { self.text.lines().nth(at.start.line - 1) };
        let Some(line) = line else { return String::new() };
        if !self.understood {
            let lower = self.text.to_ascii_lowercase();
            // Where the tree could not be built, a secret may stand anywhere behind its key, also in later lines.
            if ["password", "secret"].iter().any(|word| lower.contains(word)) {
                return String::new();
            }
        }
        let mut shown = Vec::new();
        let mut marks = String::new();
        let end = if at.end.line == at.start.line { at.end.column.max(at.start.column + 1) } else { usize::MAX };
        let trimmed = line.trim_end();
        for (column, character) in trimmed.chars().enumerate().map(|(index, character)| (index + 1, character)) {
            let here = Mark { line: at.start.line, column };
            let secret = self.secrets.iter().any(|secret| secret.start <= here && here < secret.end);
            let before = column > 1
                && self.secrets.iter().any(|secret| {
                    let left = Mark { line: at.start.line, column: column - 1 };
                    secret.start <= left && here < secret.end
                });
            // A secret of any length is shown as three stars: nothing of it, not even its length, is told.
            match (secret, before) {
                (true, true) => continue,
                (true, false) => {
                    shown.extend("***".chars());
                    let mark = if at.start.column <= column && column < end { '^' } else { ' ' };
                    marks.extend([mark; 3]);
                }
                (false, _) => {
                    shown.push(if character.is_control() { ' ' } else { character });
                    marks.push(if at.start.column <= column && column < end { '^' } else { ' ' });
                }
            }
        }
        if !marks.contains('^') {
            marks = " ".repeat(shown.len());
            marks.push('^');
        }
        let number = at.start.line.to_string();
        let margin = " ".repeat(number.len());
        let first = marks.chars().position(|mark| mark == '^').unwrap_or(0);
        let skip = if first + 20 > SNIPPET_COLUMNS_MAX { first.saturating_sub(SNIPPET_COLUMNS_MAX / 2) } else { 0 };
        let text: String = shown.into_iter().skip(skip).take(SNIPPET_COLUMNS_MAX).collect();
        let marks: String = marks.chars().skip(skip).take(SNIPPET_COLUMNS_MAX).collect();
        format!(" {margin} |\n {number} | {text}\n {margin} | {}", marks.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(line: usize, from: usize, to: usize) -> Extent {
        Extent { file: FileId(0), start: Mark { line, column: from }, end: Mark { line, column: to } }
    }

    fn sources(text: &str) -> Sources {
        let mut sources = Sources::default();
        let file = sources.add_file("a.yaml".into(), Zeroizing::new(text.into()));
        sources.understood(file);
        sources
    }

    #[test]
    fn the_place_is_marked_beneath_the_line() {
        let mut sources = sources("one: 1\ntwo: [1, 2]\n");
        sources.error(extent(2, 10, 11), "two[1]", "too much", Some("less".into()));
        let shown = sources.into_problems()[0].to_string();
        assert_eq!(
            shown,
            "a.yaml:2:10: error: two[1]: too much\n   |\n 2 | two: [1, 2]\n   |          ^\n  help: less"
        );
    }

    #[test]
    fn a_secret_is_blanked_out_and_the_mark_moves_with_the_text() {
        let mut sources = sources("{name: a, password: hunter2, x: 1}\n");
        sources.hide(extent(1, 21, 28));
        sources.error(extent(1, 30, 31), "x", "unknown key `x`", None);
        let shown = sources.into_problems()[0].to_string();
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.ends_with("1 | {name: a, password: ***, x: 1}\n   |                          ^"), "{shown}");
    }

    #[test]
    fn a_file_that_is_not_understood_shows_no_line_if_it_may_hold_a_secret() {
        for (text, shows) in [("a: [\n", true), ("password: hunter2\na: [\n", false)] {
            let mut sources = Sources::default();
            sources.add_file("a.yaml".into(), Zeroizing::new(text.into()));
            sources.error(extent(1, 1, 2), "", "this is not YAML", None);
            assert_eq!(!sources.into_problems()[0].snippet.is_empty(), shows, "{text}");
        }
    }

    #[test]
    fn a_place_behind_the_end_of_its_line_is_marked_there() {
        let mut sources = sources("ports:\n");
        sources.error(extent(1, 7, 7), "ports", "nothing here", None);
        assert!(sources.into_problems()[0].snippet.ends_with("ports:\n   |       ^"));
    }
}
