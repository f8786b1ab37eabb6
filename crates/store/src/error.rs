use std::io;
use std::path::PathBuf;

/// What went wrong in the store once it was open.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk: full, read-only, gone.
    #[error("input or output: {0}")]
    Io(#[from] io::Error),
    /// The file is not what was written.
    #[error("damaged: {0}")]
    Damaged(String),
    /// All 65,536 ids of port, profile and pool names are taken.
    #[error("more than 65,536 names of ports, profiles and pools")]
    NamesFull,
}

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it. Nothing was changed.
    #[error("{0} is in use by another process")]
    Locked(PathBuf),
    /// It was written by a newer bngd. Nothing was changed.
    #[error("{path} has schema {found}; this bngd knows up to {known}")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// Checksums or structure are wrong.
    #[error("{path} is damaged: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// The starts before this one never came to 30 s of service.
    #[error("{path}: {attempts} starts with it have failed")]
    Poisoned {
        /// The file.
        path: PathBuf,
        /// How many.
        attempts: u32,
    },
    /// The file or its folder cannot be read or written.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's word.
        #[source]
        error: io::Error,
    },
}

/// A record of more than [`RECORD_OCTETS_MAX`](crate::RECORD_OCTETS_MAX) octets is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a record of {0} octets is too long for the store")]
pub struct RecordTooLong(pub usize);

impl From<redb::StorageError> for StoreError {
    fn from(error: redb::StorageError) -> Self {
        match error {
            redb::StorageError::Io(error) => Self::Io(error),
            redb::StorageError::Corrupted(reason) => Self::Damaged(reason),
            other => Self::Io(io::Error::other(other)),
        }
    }
}

impl From<redb::TransactionError> for StoreError {
    fn from(error: redb::TransactionError) -> Self {
        match error {
            redb::TransactionError::Storage(error) => error.into(),
            other => Self::Io(io::Error::other(other)),
        }
    }
}

impl From<redb::TableError> for StoreError {
    fn from(error: redb::TableError) -> Self {
        match error {
            redb::TableError::Storage(error) => error.into(),
            other => Self::Damaged(other.to_string()),
        }
    }
}

impl From<redb::CommitError> for StoreError {
    fn from(error: redb::CommitError) -> Self {
        match error {
            redb::CommitError::Storage(error) => error.into(),
            other => Self::Io(io::Error::other(other)),
        }
    }
}
