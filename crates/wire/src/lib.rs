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

pub mod arp;
pub mod checksum;
pub mod dhcpv6;
pub mod domain;
pub mod ether;
pub mod icmp;
pub mod id;
pub mod ipv4;
pub mod ipv6;
pub mod nd;
pub mod ppp;
pub mod pppoe;
pub mod tcp;
pub mod udp;
pub mod writer;

pub use id::{Line, LineKey, MacAddr, PortIndex, SessionId, VlanStack, VlanTag, VrfId};
