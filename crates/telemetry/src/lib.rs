//! Logs, and metrics in Prometheus's text format.
//!
//! Metrics are not registered: whoever is scraped collects the counters of the moment into an [`Exposition`], so that
//! nothing on the forwarding path knows of them.
#![forbid(unsafe_code)]

mod exposition;
mod logs;
mod workers;

pub use exposition::{Exposition, ExpositionError, Family, Kind};
pub use logs::{LogConfig, LogError, LogGuard, LogHandle, init_logs};
pub use workers::worker_metrics;
