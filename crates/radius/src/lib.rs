//! RADIUS for the access side, sans-I/O: no socket, clock, thread or log; time and a seed are arguments.
//!
//! - [`Client`] sends requests to servers and gives verified replies back: fail-over, retransmission, probes, counters;
//! - [`request`] builds what an Access-Request says, [`authorization`] reads what an Access-Accept says, with vendors'
//!   attributes by a table that is data ([`mapping`]);
//! - [`Accounting`] turns sessions into Start, Interim and Stop requests, queued while no server answers;
//! - [`DynamicServer`] takes Disconnect and CoA requests (RFC 5176);
//! - [`packet`], [`build`], [`authenticator`] and [`dictionary`] are the floor under them.
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

pub mod accounting;
pub mod authenticator;
pub mod authorization;
pub mod build;
pub mod client;
pub mod dictionary;
pub mod error;
mod identifiers;
pub mod mapping;
pub mod packet;
mod queue;
mod random;
pub mod request;
mod secret;
pub mod server;
mod timers;
pub mod value;

pub use accounting::{Accounting, AccountingConfig};
pub use authorization::Authorization;
pub use client::{Client, ClientConfig, ServerConfig};
pub use error::{Discard, PacketError};
pub use packet::{Code, Packet};
pub use secret::Secret;
pub use server::{DynamicConfig, DynamicServer};

/// The two clocks that a call may need: one that never jumps, for timers, and the calendar, for Event-Timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// The monotonic clock.
    pub at: std::time::Instant,
    /// Seconds since 1970-01-01 UTC.
    pub unix_s: u64,
}
