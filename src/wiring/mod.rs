//! From a validated configuration to the parts of the running process.

pub mod aaa;
pub mod duid;
pub mod forwarding;
pub mod ports;
pub mod routing;
pub mod subscribers;
