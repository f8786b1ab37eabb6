//! The burst stages of forwarding, pure: bytes and tables in, verdicts out.
//!
//! [`Pipeline::process`] takes a burst of frames received on one port and ends each in exactly one of three ways:
//! transmitted, punted to the control side, or discarded; the last two with a [`Reason`]. It knows no driver: frames
//! are [`FrameBuf`]s and verdicts go to a [`Sink`].
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

mod access;
mod address;
mod answer;
mod core_side;
mod counters;
mod errors;
mod finish;
pub mod flow;
mod fragment;
mod frame;
mod inject;
mod limit;
pub mod memory;
mod page;
mod pipeline;
mod ports;
mod priority;
mod reason;
mod rewrite;
mod route;
mod steer;
mod watch;
mod work;

pub use counters::{PortCounters, WorkerCounters};
pub use frame::{BURST_FRAMES_MAX, FrameBuf, PuntClass, PuntMeta, Sink};
pub use inject::InjectKind;
pub use page::{WORKER_CASES, reasons_page};
pub use pipeline::{Pipeline, PipelineConfig, Tables};
pub use ports::{PortEntry, PortRole, PortTable, RouterAddresses, TpidSet, VidSet};
pub use priority::{CONTROL_DSCP, CONTROL_PCP, PRIORITY_MAPS_MAX, PriorityMaps};
pub use reason::{Reason, Source, Verdict};
pub use steer::FlowHash;
pub use watch::{
    Stage, WATCH_IDLE_MS_MAX, WATCH_KEYS_MAX, WATCHES_MAX, WatchKey, WatchReader, WatchRecord, WatchRoute, WatchStep,
    Watches, WorkerWatch, watches,
};
