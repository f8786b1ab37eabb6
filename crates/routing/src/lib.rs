//! The core side's tie to the kernel: a [`Twin`] for each core interface, which carries what is addressed to the
//! router itself, and the routing thread ([`spawn`]), which learns the kernel's routes and neighbours over netlink
//! into the FIB and is the FIB's only writer.
//!
//! There is one mechanism: whatever is to be forwarded stands in the kernel's table first (static routes of the
//! configuration, an operator's `ip route`, a routing daemon's routes), so `ip route` shows the truth. Only routes
//! whose next hop leaves by a twin are taken over. Subscriber pools go the other way: into the FIB, and into the
//! kernel's table as blackhole routes with protocol [`ROUTE_PROTOCOL`], so that a routing daemon can redistribute
//! them.
#![forbid(unsafe_code)]

mod fib_table;
mod handle;
mod held;
#[cfg(test)]
mod kernel_tests;
mod messages;
mod netlink;
mod requests;
mod rib;
#[cfg(test)]
mod rib_tests;
mod sysctl;
mod thread;
mod twin;
mod types;

use std::time::Duration;

pub use handle::{RoutingHandle, spawn};
pub use held::{Asker, HELD_HOSTS_MAX, HELD_NEXT_HOPS_MAX, HELD_PER_TARGET_MAX, HeldPackets, Hold};
pub use twin::{Carrier, InterfaceAddress, Twin, TwinConfig};
pub use types::{
    Event, InterfaceConfig, PoolRoute, Prefix, ResolveTarget, RouteAction, RouteSource, RouteView, RoutingConfig,
    RoutingCounts, SessionRef, StaticRoute, WayView,
};

/// The protocol number (`RTPROT_*`, shown by `ip route` as `proto 210`) of the routes that bngd writes for its
/// subscriber pools. FRR redistributes them by `redistribute kernel`, or by this number in `ip import-table` and
/// route maps. It is outside the numbers that the kernel and the known routing daemons use.
pub const ROUTE_PROTOCOL: u8 = 210;

/// How long a neighbour may take to answer before what waits for it is given up: three of the kernel's probes, one
/// second apart (`retrans_time`, RFC 4861 section 10).
pub const RESOLVE_TIMEOUT: Duration = Duration::from_secs(3);

/// What can go wrong with twins and the routing thread. Each says in one sentence what was being done.
#[derive(Debug, thiserror::Error)]
pub enum RoutingError {
    /// A twin could not be made.
    #[error("the kernel twin {name} cannot be {what}: {source}")]
    Twin {
        /// The interface.
        name: String,
        /// What was being done: `created`, `configured`, ...
        what: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The kernel refused a request.
    #[error("{what}: {source}")]
    Netlink {
        /// What was being done.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The routing thread is gone or does not answer.
    #[error("the routing thread does not answer")]
    Gone,
}
