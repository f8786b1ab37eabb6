//! The management interface: what can be asked of a running bngd, the HTTP server that answers over TCP and over a
//! UNIX socket, the client for it, and bngctl's command line.
//!
//! The root implements [`Backend`]; nothing in this crate knows a table, a port or a packet. Field names of the view
//! types are an interface that other programs rely on: they may gain fields and never lose or rename one.
#![forbid(unsafe_code)]

mod backend;
pub mod cli;
mod client;
mod connections;
mod filter;
mod server;
mod view;
mod watch;

pub use backend::{Backend, BackendError};
pub use client::{Client, ClientError};
pub use filter::{FilterError, SessionFilter, VlanFilter, normalize_mac};
pub use server::{ServeError, Server, ServerConfig, serve};
pub use view::{
    ClearReport, ClearRequest, DropView, DropsView, ErrorView, Health, LogLevelRequest, PoolView, PoolsView, PortView,
    PortsView, RadiusAccountingView, RadiusDynamicView, RadiusServerView, RadiusView, Readiness, RouteKind, RouteView,
    RoutesView, SessionState, SessionView, SessionsView, VersionView, WayView, WorkerPortView, WorkerView, WorkersView,
};
pub use watch::{SentFrame, WatchReading, WatchRequest, WatchView, WatchedFrame, WatchedStage};
