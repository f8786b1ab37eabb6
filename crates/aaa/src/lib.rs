//! The RADIUS thread: [`bng_radius`], which is sans-I/O, with sockets, a clock and a disk.
//!
//! The control core hands logins and the sessions' events to it by [`AaaHandle`], which never blocks, and hears
//! [`Event`]s from it. So cryptography, sockets and name tables cost the control core nothing, and a disk that hangs
//! holds up neither it nor a login: records go to the disk by a thread of their own.
#![forbid(unsafe_code)]

mod config;
mod convert;
mod handle;
mod identity;
mod sessions;
mod snapshot;
mod sockets;
mod spool;
mod template;
mod thread;

pub use config::{AaaConfig, AccountingSettings, DynamicSettings, Formats, Names};
pub use handle::{AaaHandle, Event, ShowError, Ticket};
pub use snapshot::{AccountingSnapshot, DynamicSnapshot, ServerSnapshot, Snapshot};
pub use spool::SpoolError;
pub use template::{Template, TemplateError};
pub use thread::{AaaError, AaaThread, spawn};
