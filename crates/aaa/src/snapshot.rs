//! What an operator sees of it.

use std::net::SocketAddr;

use bng_radius::accounting::AccountingCounters;
use bng_radius::client::{Purpose, ServerCounters};
use bng_radius::server::DynamicCounters;

/// The thread at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Servers: those for authentication, then those for accounting, each in the configuration's order.
    pub servers: Vec<ServerSnapshot>,
    /// Logins that wait for a server.
    pub logins_waiting: usize,
    /// Sessions that the thread knows.
    pub sessions: usize,
    /// Access-Accepts that could not be used.
    pub unusable_accepts: u64,
    /// Datagrams that could not be sent, or sockets that could not be opened.
    pub send_errors: u64,
    /// Messages of the control core that found no room: logins so lost are answered with "unreachable".
    pub messages_lost: u64,
    /// Accounting, where it is on.
    pub accounting: Option<AccountingSnapshot>,
    /// Requests from outside, where they are listened for.
    pub dynamic: Option<DynamicSnapshot>,
}

/// One server.
#[derive(Debug, Clone)]
pub struct ServerSnapshot {
    /// What it is asked for.
    pub purpose: Purpose,
    /// Where it is.
    pub address: SocketAddr,
    /// Its priority, lowest first.
    pub priority: u8,
    /// Whether it is alive.
    pub alive: bool,
    /// Sockets in use for it.
    pub sockets: usize,
    /// Requests that wait for it.
    pub outstanding: usize,
    /// What has happened with it.
    pub counters: ServerCounters,
}

/// Accounting.
#[derive(Debug, Clone)]
pub struct AccountingSnapshot {
    /// Records that wait or are in flight.
    pub queued: usize,
    /// Memory that they take, in octets.
    pub queued_octets: usize,
    /// Sessions that are accounted for.
    pub sessions: usize,
    /// What has become of records.
    pub counters: AccountingCounters,
    /// Writes to the disk that failed.
    pub disk_errors: u64,
}

/// Requests from outside.
#[derive(Debug, Clone)]
pub struct DynamicSnapshot {
    /// What has been asked and answered.
    pub counters: DynamicCounters,
}
