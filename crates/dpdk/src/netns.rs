//! Doing something inside another network namespace.

use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A network namespace: by the name that `ip netns` gave it, or by the path of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Netns(String);

impl Netns {
    /// `text` is a path where it holds a '/', otherwise a name under /var/run/netns.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The file that stands for the namespace.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        if self.0.contains('/') { PathBuf::from(&self.0) } else { Path::new("/var/run/netns").join(&self.0) }
    }

    /// Runs `inside` on this thread with the namespace entered, and comes back.
    ///
    /// # Errors
    /// When the namespace does not exist, when this process may not enter it, or when it may not come back (the
    /// thread is then still inside: the process should stop).
    pub(crate) fn within<T>(&self, inside: impl FnOnce() -> T) -> io::Result<T> {
        let home = File::open("/proc/thread-self/ns/net")?;
        let target = File::open(self.path())?;
        setns(&target, CloneFlags::CLONE_NEWNET)?;
        let outcome = inside();
        setns(&home, CloneFlags::CLONE_NEWNET)?;
        Ok(outcome)
    }
}

impl std::fmt::Display for Netns {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}
