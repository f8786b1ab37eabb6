//! The life of a session from PADI to its end, sans-I/O.
//!
//! [`Subscribers`] composes discovery, PPP, pools and the local user list. It is fed with [`Input`]s and the time, and
//! answers with [`Action`]s that its owner carries out strictly in the order given:
//!
//! - a session is put into the forwarding plane ([`Action::Install`]) before its PADS goes out, and its address before
//!   IPCP's Ack, so that nothing a quick client sends can come too early;
//! - a session that has ended is taken out ([`Action::Remove`]) at once, but its id and addresses are used again only
//!   after [`Input::Removed`] says that no worker can still be using them.
//!
//! It owns no socket, clock, thread or log; the randomness it needs comes in through [`Environment`].
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

pub mod action;
mod audit;
pub mod config;
mod dial;
mod end;
pub mod event;
mod frame;
mod index;
mod ipv6;
mod link;
mod session;
mod slab;
pub mod stats;
mod subscribers;
mod timers;
mod users;
pub mod view;

pub use action::{AaaRequest, AaaVerdict, Action, AuthFailure, Authorization, Change, Input, RequestId, SubscriberKey};
pub use bng_discovery::{
    AccessPort, AccessRule, ControlPriority, DiscoveryDrop, DiscoveryLimits, LockOutBy, LockOutPolicy, ProfileIndex,
    Rate, RateLimits, ServiceProfile, VidRange, VlanMatch,
};
pub use bng_ipv6::Discard as Ipv6Discard;
pub use bng_pool::{Ipv4PoolConfig, Ipv4Range, PrefixPoolConfig};
pub use bng_ppp::{AuthMethod, AuthRequest, Credentials, Discard as PppDiscard, EndCause, PppConfig};
pub use bng_session::Rate as PolicerRate;
pub use config::{
    AaaMethod, ConfigError, DuplicateUser, Ipv4Profile, Ipv6Profile, Limits, LocalUser, Pool, PoolIndex, PoolKind,
    PppoeProfile, Profile, SubscriberConfig, WhenFull,
};
pub use event::{EventKind, SessionEvent};
pub use stats::{Drop, Gauges, Statistics};
pub use subscribers::{Environment, PoolView, Random, Subscribers, UpstreamPackets};
pub use view::{SessionState, SessionView};
