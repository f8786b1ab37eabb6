//! PPP for the access side: the RFC 1661 automaton, LCP, PAP, CHAP, IPCP, IPV6CP, sans-I/O.
//!
//! One [`Ppp`] is one subscriber's link from the moment its PPPoE session exists until [`Action::Ended`]. It is fed
//! with packets, verdicts and the time, and answers with [`Action`]s that its owner carries out strictly in the order
//! given. It owns no socket, clock, thread or log.
//!
//! - [`Ppp::start`] once, then [`Ppp::handle`] for each PPP packet that control receives;
//! - [`Action::Authenticate`] asks the owner to check a client's credentials, [`Ppp::auth_result`] brings the answer;
//! - [`Ppp::poll_timeout`] says when to call [`Ppp::handle_timeout`];
//! - [`Ppp::upstream_activity`] tells that data came from the client, so that no echo is needed.
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

mod authenticate;
pub mod automaton;
mod chap;
pub mod config;
pub mod error;
pub mod events;
mod ipcp;
mod ipv6cp;
mod keepalive;
mod lcp;
mod ms_chap;
mod negotiate;
mod pap;
mod random;
mod session;
mod transitions;

pub use chap::verify_chap_md5;
pub use config::{AuthMethod, PppConfig};
pub use error::Discard;
pub use events::{Action, AuthRequest, AuthVerdict, Credentials, EndCause, Ipv4Offer, Ipv6Offer, Secret};
pub use ms_chap::verify_ms_chap_v2;
pub use session::{Phase, Ppp};
