//! The PPPoE access concentrator's discovery stage (RFC 2516, RFC 4638, TR-101), sans-I/O.
//!
//! Frames in, one [`DiscoveryOutcome`] each out; complete frames to transmit come back, from the Ethernet header on and
//! padded to 60 octets. Nothing is kept for a client before its PADR has shown, by the cookie, that it receives what is
//! sent to its address (RFC 2516 section 9).
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
mod concentrator;
mod config;
mod cookie;
mod frame;
mod held;
mod lock_out;
mod outcome;
mod rate;
mod request;
#[cfg(test)]
mod tests;

pub use concentrator::AccessConcentrator;
pub use config::{
    AcConfig, AccessPort, AccessRule, ConfigError, ControlPriority, DiscoveryLimits, LockOutBy, LockOutPolicy,
    MAC_PREFIXES_MAX, MacFilter, MacPrefix, PADO_RULES_MAX, PadoMatch, PadoRule, PadoTime, ProfileIndex, Rate,
    RateLimits, ServiceProfile, VidRange, VlanMatch,
};
pub use cookie::COOKIE_LEN;
pub use held::HELD_MAX;
pub use lock_out::LOCK_OUT_LINES_MAX;
pub use outcome::{
    DiscoveryCounters, DiscoveryDrop, DiscoveryOutcome, ErrorTag, ReplyTooLong, RequestFingerprint, SessionRequest,
};
pub use rate::MAC_BUCKETS;
