//! Watching clients: what `bngctl trace` and `bngctl capture` ask for.

use serde::{Deserialize, Serialize};

use crate::SessionFilter;

/// Begins a watch: `POST /api/v1/watch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchRequest {
    /// Which clients. A MAC address is watched without a session as well.
    pub filter: SessionFilter,
}

/// A watch that was begun. It ends when it is ended, or is not read for ten seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchView {
    /// Names it in `POST /api/v1/watch/ID/read` and `.../end`.
    pub id: String,
    /// The sessions that are watched, by their ids.
    pub sessions: Vec<String>,
    /// The clients' MAC addresses.
    pub macs: Vec<String>,
}

/// What was seen since the last reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchReading {
    /// The frames, those of one worker in their order.
    pub frames: Vec<WatchedFrame>,
    /// Copies that found no room since the watch began: frames, or what was sent on their account.
    pub lost: u64,
    /// False once the watch has ended.
    pub active: bool,
}

/// One frame from its arrival to its end, or one that control sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedFrame {
    /// The worker that had it.
    pub worker: u64,
    /// Its number among those that the worker copied.
    pub number: u64,
    /// When, in milliseconds since 1970; exact to a few milliseconds, between two frames to one.
    pub time_unix_ms: u64,
    /// The port that it was received on, or that control sent it on.
    pub port: String,
    /// Octets from the Ethernet header on.
    pub octets: u64,
    /// The octets in hexadecimal; at most 2,048 of them.
    pub frame: String,
    /// Every stage that it passed, in order; the last is the one where it ended.
    pub stages: Vec<WatchedStage>,
    /// How it ended: `sent`, `punted` (handed to control), `dropped`, or `injected` for one that control sent.
    pub verdict: String,
    /// Why it was punted or dropped: a reason of `bngctl show drops`.
    pub reason: Option<String>,
    /// What was sent on its account: itself, its pieces, an answer or an error.
    pub sent: Vec<SentFrame>,
}

/// What a stage found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedStage {
    /// `ethernet`, `pppoe`, `session`, `packet`, `police`, `route` or `out`.
    pub stage: String,
    /// What it found, for someone to read.
    pub what: String,
}

/// A frame that was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentFrame {
    /// The port.
    pub port: String,
    /// Octets from the Ethernet header on.
    pub octets: u64,
    /// The octets in hexadecimal; at most 2,048 of them.
    pub frame: String,
}
