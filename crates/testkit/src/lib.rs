//! Development only: the client side (CPE) of every protocol, for tests and load.
//!
//! [`Client`] is one subscriber's router, sans-I/O: it dials, negotiates, sends data, hangs up or dies. It is written
//! from the RFCs and has its own small encoders: a fault that both sides shared could not be found with it, so it shares
//! no protocol code with the concentrator. [`sim`] holds what a simulation of many clients needs: a virtual clock, a
//! line that loses, repeats and reorders, and a seeded source of chance.
#![forbid(unsafe_code)]
// Test support: a wrong index here is a failed test, not an outage. Bytes that come in are still parsed with care.
#![allow(clippy::missing_panics_doc)]

mod bytes;
mod client;
mod config;
mod data;
mod link;
pub mod sim;

pub use client::Client;
pub use config::{Behaviour, ClientConfig, ClientEvent, ClientState, Patience};
pub use data::{Datagram, parse_datagram};
pub use link::Login;
