//! The lcore loop: poll, run the stages, transmit, punt, inject, idle ramp.
//!
//! A worker owns a receive and a transmit queue on each port and runs every frame to its end on the spot. Between two
//! bursts it takes what control has to say ([`InjectKind`](bng_dataplane::InjectKind)), passes a quiescent point and,
//! after a spell without frames, sleeps for a little. It allocates nothing, locks nothing, logs nothing and makes no
//! system call but the driver's own and that sleep.
//!
//! [`Stages`] is what is done with a burst: [`bng_dataplane::Pipeline`] in the router, [`Forward`] as the yardstick
//! of benchmarks.
#![forbid(unsafe_code)]

mod frame;
mod idle;
mod outlet;
mod peers;
mod stages;
mod status;
mod worker;

pub use frame::Frame;
pub use idle::IdleConfig;
pub use outlet::{Outlet, TX_FRAMES_MAX};
pub use peers::{PEER_RING_FRAMES, Peers};
pub use stages::{Forward, Stages};
pub use status::{BURST_BUCKETS, WorkerStatus};
pub use worker::{INJECT_FRAMES_MAX, Stop, Transmit, Worker, WorkerError, WorkerParts, WorkerPort};
