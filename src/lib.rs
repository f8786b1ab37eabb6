//! The two programs' wiring: `bngd` puts the crates together and runs them, `bngctl` talks to it.
#![forbid(unsafe_code)]

pub mod backend;
pub mod cli;
pub mod daemon;
pub mod wiring;
