//! IPv6 to the home: what the router says on a subscriber's PPP link, sans-I/O.
//!
//! One [`Ipv6Session`] stands beside one [`IPV6CP`](https://www.rfc-editor.org/rfc/rfc5072) that is Opened. It
//! advertises the router (RFC 4861, RFC 8106), answers for the router's link-local address, and leases addresses and
//! prefixes by DHCPv6 (RFC 8415). It owns no socket, clock, thread, pool or log: packets and the time go in, and
//! [`Action`]s come out, to be carried out strictly in their order.
//!
//! - [`Ipv6Session::start`] when IPV6CP is Opened, then [`Ipv6Session::handle`] for each IPv6 packet from the client
//!   whose destination is a link-local or multicast address;
//! - [`Action::Allocate`] asks the owner of the pools, [`Ipv6Session::granted`] brings the answer;
//! - [`Ipv6Session::poll_timeout`] says when to call [`Ipv6Session::handle_timeout`];
//! - [`Ipv6Session::close`] gives everything back.
//!
//! A DHCPv6 relay to an outside server is not part of it.
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

mod answer;
pub mod config;
mod dhcp;
pub mod error;
pub mod events;
mod lease;
mod limit;
mod packet;
mod router;
mod session;

pub use config::{AddressSource, DhcpConfig, Ipv6Config, RouterConfig};
pub use error::Discard;
pub use events::{Action, LeaseKind, Prefix, Ticket};
pub use session::{Ipv6Session, Link};
