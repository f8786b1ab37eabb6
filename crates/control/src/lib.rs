//! The control core: one thread that drains what the workers punt, runs the sans-I/O protocols of
//! [`bng_subscriber`] with the real clock, carries out what they ask for, and stands between the core ports and the
//! kernel's twins.
//!
//! It knows neither DPDK nor the workers: it meets them at byte rings and at the shared tables, which the root package
//! builds and hands to [`ControlCore::new`].
#![forbid(unsafe_code)]

mod core;
mod counters;
mod executor;
mod handle;
mod host;
mod inject;
mod log;

pub use crate::core::{ControlConfig, ControlCore, ControlError, CoreParts};
pub use crate::log::printable;
pub use counters::ControlCounters;
pub use executor::PoolBinding;
pub use handle::{CallError, ControlHandle, control_channel};
pub use host::CoreInterface;
pub use inject::{PuntRings, WorkerRings};
