//! Where the store lies: a file, or what a test puts in its place.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError};

/// A place for the store that can be opened again after a failure.
pub trait Media: Send + 'static {
    /// Opens it; makes it where there is none.
    ///
    /// # Errors
    /// redb's.
    fn open(&self, builder: &Builder) -> Result<Database, DatabaseError>;

    /// Moves what is there out of the way and says where to.
    ///
    /// # Errors
    /// The system's.
    fn set_aside(&self, wall_ms: u64) -> io::Result<PathBuf>;

    /// Its name in messages.
    fn path(&self) -> &Path;
}

/// How many files that were set aside are kept.
const ASIDE_MAX: usize = 2;

/// A file, mode 0600; its folder is made with mode 0700 where it is missing.
#[derive(Debug, Clone)]
pub struct FileMedia {
    path: PathBuf,
}

impl FileMedia {
    /// The file `path`.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn aside_prefix(&self) -> String {
        format!("{}.bad-", self.path.file_name().unwrap_or_default().to_string_lossy())
    }
}

impl Media for FileMedia {
    fn open(&self, builder: &Builder) -> Result<Database, DatabaseError> {
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&self.path)?;
        builder.create_with_backend(FileBackend::new(file)?)
    }

    fn set_aside(&self, wall_ms: u64) -> io::Result<PathBuf> {
        let prefix = self.aside_prefix();
        let folder = self.path.parent().unwrap_or(Path::new("."));
        // Wide enough that names sort by time for the next millennia.
        let target = folder.join(format!("{prefix}{wall_ms:015}"));
        std::fs::rename(&self.path, &target)?;
        let mut kept: Vec<_> = std::fs::read_dir(folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)))
            .collect();
        kept.sort();
        kept.reverse();
        for old in kept.into_iter().skip(ASIDE_MAX) {
            // What cannot be removed costs room and nothing else.
            let _ = std::fs::remove_file(old);
        }
        Ok(target)
    }

    fn path(&self) -> &Path {
        &self.path
    }
}
