//! What goes out of a [`crate::Ipv6Session`].

use core::fmt;
use core::net::Ipv6Addr;

/// An IPv6 prefix; a single address has length 128.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix {
    /// The address part; no bit is set behind the length.
    pub address: Ipv6Addr,
    /// Its length in bits, 0 to 128.
    pub length: u8,
}

impl Prefix {
    /// The prefix of this length that holds `address`; lengths over 128 count as 128.
    #[must_use]
    pub const fn containing(address: Ipv6Addr, length: u8) -> Self {
        let length = if length > 128 { 128 } else { length };
        let host = match u128::MAX.checked_shr(length as u32) {
            Some(bits) => bits,
            None => 0,
        };
        Self { address: Ipv6Addr::from_bits(address.to_bits() & !host), length }
    }

    /// True where `address` lies in it.
    #[must_use]
    pub const fn contains(&self, address: Ipv6Addr) -> bool {
        Self::containing(address, self.length).address.to_bits() == self.address.to_bits()
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.length)
    }
}

/// What is leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LeaseKind {
    /// An address of an IA_NA.
    Address,
    /// A delegated prefix of an IA_PD.
    Prefix,
}

/// Names one [`Action::Allocate`] of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u32);

/// What the owner of a session is to do, strictly in the order in which the actions stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send this IPv6 packet to the client, in PPP protocol 0x0057; at most 1,280 octets. Where the link is down
    /// already it is thrown away.
    Send(Vec<u8>),
    /// Take something from a pool and answer with [`crate::Ipv6Session::granted`], at once or later.
    Allocate {
        /// To be handed back with the answer.
        ticket: Ticket,
        /// From which kind of pool.
        kind: LeaseKind,
        /// What the client would like, its length already within policy. The address `::` stands for any of this
        /// length; `None`: any at all.
        hint: Option<Prefix>,
        /// True: the client says that it has the hint already, and nothing else will do. It may be given unless
        /// somebody else has it or it is in no pool of this client's.
        exact: bool,
    },
    /// Give back to its pool what was allocated, for it is not in use (any more).
    Free {
        /// What kind.
        kind: LeaseKind,
        /// What.
        prefix: Prefix,
        /// True: the client found the address in use by somebody else (Decline), so do not give it out again soon.
        declined: bool,
    },
    /// From now on packets to this prefix go to this session, and this session may send from it. Comes before the
    /// `Send` that grants it.
    RouteAdd(Prefix),
    /// Undoes a [`Action::RouteAdd`].
    RouteRemove(Prefix),
}
