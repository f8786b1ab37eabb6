//! What is wrong with a configuration, where, and how it is shown.

use core::fmt;
use std::path::PathBuf;

/// How bad a [`Problem`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The configuration is used all the same.
    Warning,
    /// The configuration is refused.
    Error,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was named by the operator.
    pub file: PathBuf,
    /// Line, counted from 1; 0 when the whole file is meant.
    pub line: usize,
    /// Column, counted from 1 in characters; 0 when the whole file is meant.
    pub column: usize,
}

/// One error or warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Error or warning.
    pub severity: Severity,
    /// Where it is.
    pub place: Place,
    /// The keys that lead there, for example `access[0].profile`; empty for the whole file.
    pub path: String,
    /// What is wrong, as one sentence without a full stop.
    pub reason: String,
    /// What to do about it, if that can be said.
    pub help: Option<String>,
    /// The line of the file with the place marked beneath it; secrets are blanked out.
    pub snippet: String,
}

/// Everything that is wrong with a configuration: at least one error, and the warnings beside it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigErrors {
    /// In the order of the file.
    pub problems: Vec<Problem>,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.place.file.display())?;
        if self.place.line > 0 {
            write!(out, ":{}:{}", self.place.line, self.place.column)?;
        }
        out.write_str(match self.severity {
            Severity::Warning => ": warning: ",
            Severity::Error => ": error: ",
        })?;
        if !self.path.is_empty() {
            write!(out, "{}: ", self.path)?;
        }
        out.write_str(&self.reason)?;
        if !self.snippet.is_empty() {
            write!(out, "\n{}", self.snippet)?;
        }
        if let Some(help) = &self.help {
            write!(out, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl ConfigErrors {
    /// How many errors there are, warnings not counted.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.problems.iter().filter(|problem| problem.severity == Severity::Error).count()
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.problems {
            writeln!(out, "{problem}\n")?;
        }
        let errors = self.errors();
        write!(out, "{errors} error{}", if errors == 1 { "" } else { "s" })
    }
}
