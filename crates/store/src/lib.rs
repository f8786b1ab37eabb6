//! What outlives the process: live sessions, their last safe counters, accounting records that no server has
//! acknowledged, session-id marks and keys, in one file (redb). The plan behind it is `docs/restart.md`.
//!
//! The control core hands changes to a [`StoreWriter`] and never waits: a thread of the store's own gathers them and
//! commits them in groups. Every change has a [`Ticket`]; a frame that promises something (an address, a lease) leaves
//! only when [`StoreWriter::released`] has reached the ticket of what it promises.
//!
//! **Prefix rule.** A commit holds all changes that were put before some moment and none that came after it. What a
//! crash loses is the end of the story and never its middle, so an address that was given back and given out again is
//! never in two records.
//!
//! **A bad store costs sessions, never the start.** A file that is damaged, newer than this program, or that made
//! three starts fail is moved aside ([`open_or_set_aside`]). A disk that is full or that stalls makes the store
//! *degraded*: everything is released at once, unsafe rather than not at all, and a try each second writes all that
//! has gathered.
//!
//! The crate knows octets and numbers. What is in a session's record is `bng-subscriber`'s business.
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

mod change;
mod error;
mod media;
mod meta;
mod open;
mod queue;
mod schema;
mod writer;

pub use change::{Change, MetaChange, NameKind, RECORD_OCTETS_MAX, Serial, Ticket, Totals};
pub use error::{OpenError, RecordTooLong, StoreError};
pub use media::{FileMedia, Media};
pub use meta::{CookieKey, Meta};
pub use open::{Aside, Opened, Settings, StoredSession, open, open_or_set_aside};
pub use writer::{Statistics, StoreState, StoreWriter};
