//! What the fuzz targets do with their input. Each module is one target's: `run` takes an input and panics where
//! something is wrong, so that the same code serves libFuzzer, and the test over seeds and found inputs.

pub mod discovery;
pub mod input;
pub mod ipv6;
pub mod network;
pub mod ppp_packet;
pub mod ppp_session;
pub mod pppoe;
pub mod radius;
pub mod receive_path;
pub mod world;

/// What a target does with an input.
pub type Run = fn(&[u8]);

/// Every target by name.
pub const TARGETS: &[(&str, Run)] = &[
    ("pppoe", pppoe::run),
    ("discovery", discovery::run),
    ("ppp_packet", ppp_packet::run),
    ("ppp_session", ppp_session::run),
    ("ipv6", ipv6::run),
    ("network", network::run),
    ("radius", radius::run),
    ("receive_path", receive_path::run),
];
