//! The session table: one writer, lock-free readers.
#![forbid(unsafe_code)]
