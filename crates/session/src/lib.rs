//! The session table: one writer, lock-free readers.
//!
//! A data frame finds its session by an index walk over (access port, outer VID, session id), never by a hash; the
//! entry's MAC address, inner VID and tag protocol identifiers are compared afterwards. All memory is reserved when
//! the table is made and touched when it is first used.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::arithmetic_side_effects
    )
)]

mod counters;
mod entry;
pub mod ids;
mod index;
mod policer;
mod pools;
mod spec;
mod table;

pub use counters::{AnswerKind, SessionCounters, SessionTotals};
pub use entry::{Entry, Header, SessionKey, flags};
pub use index::{DirectoryRef, PageRef};
pub use policer::{CREDIT_IDLE_MS, Direction, Rate};
pub use pools::{PoolMap4, PoolMap6, PoolMaps, PoolRangeError};
pub use spec::{MTU_MIN, SessionSpec};
pub use table::{Removed, SessionIndex, SessionTable, SessionWriter, TableConfig, TableFull};
