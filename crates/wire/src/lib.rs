//! Packet formats: views that parse and builders that write; no I/O, and no allocation on the parse side.
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

pub mod id;
pub mod ppp;
pub mod pppoe;

pub use id::{Line, LineKey, MacAddr, PortIndex, SessionId, VlanStack, VlanTag, VrfId};
