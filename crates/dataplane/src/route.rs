//! Where a packet goes: the FIB's answer, and the pool behind it.

use bng_fib::NextHop;
use bng_session::{SessionIndex, SessionTable, flags};
use bng_wire::VrfId;

use crate::frame::PuntClass;
use crate::pipeline::Tables;
use crate::reason::Reason;
use crate::work::{Family, State, Work};

/// Asks for what the FIB reads first.
#[inline]
pub(crate) fn prefetch(work: &Work, tables: &Tables) {
    match work.family {
        Family::V4 => tables.fib.prefetch4(VrfId(work.vrf), work.dst4),
        Family::V6 => tables.fib.prefetch6(VrfId(work.vrf), work.dst6()),
    }
}

/// Looks the destination up.
#[inline]
pub(crate) fn look_up(work: &mut Work, tables: &Tables) {
    let fib = &*tables.fib;
    let vrf = VrfId(work.vrf);
    let next_hop = fib.next_hop(match work.family {
        Family::V4 => fib.lookup4(vrf, work.dst4),
        Family::V6 => fib.lookup6(vrf, work.dst6()),
    });
    // RFC 1812 section 5.3.1: a packet for the router itself is taken whatever its time to live.
    if next_hop == NextHop::Local {
        work.state = State::Punt(PuntClass::Host, Reason::Host);
        return;
    }
    if let Some(reason) = hop_check(work) {
        work.state = State::Drop(reason);
        return;
    }
    work.state = match next_hop {
        NextHop::Neighbour(id) => {
            if let Some(adjacency) = fib.adjacency(id) {
                adjacency.prefetch();
            }
            State::ToNeighbour(id)
        }
        NextHop::Pool(number) => {
            match work.family {
                Family::V4 => {
                    if let Some(map) = tables.pools.v4(number) {
                        map.prefetch(work.dst4);
                    }
                }
                Family::V6 => {
                    if let Some(map) = tables.pools.v6(number) {
                        map.prefetch(work.dst6());
                    }
                }
            }
            State::ToPool(number)
        }
        NextHop::Session { index, generation } => {
            let index = SessionIndex(index);
            if is_current(index, generation, &tables.sessions) {
                State::ToSession(index)
            } else {
                State::Drop(Reason::NoSubscriber)
            }
        }
        NextHop::Glean { .. } => State::Punt(PuntClass::Host, Reason::NeighbourUnresolved),
        NextHop::Blackhole => State::Drop(Reason::Blackhole),
        NextHop::Unreachable | NextHop::Local => State::Drop(Reason::NoRoute),
    };
}

/// Whether the packet may go another hop; link-local sources may not (RFC 4291 section 2.5.6).
#[inline]
fn hop_check(work: &Work) -> Option<Reason> {
    if work.link_source {
        return Some(Reason::Ipv6Source);
    }
    (work.ttl <= 1).then_some(match work.family {
        Family::V4 => Reason::Ipv4TtlExceeded,
        Family::V6 => Reason::Ipv6HopLimitExceeded,
    })
}

/// The session of a pool address.
#[inline]
pub(crate) fn from_pool(work: &mut Work, number: u16, tables: &Tables) {
    let index = match work.family {
        Family::V4 => tables.pools.v4(number).and_then(|map| map.get(work.dst4)),
        Family::V6 => tables.pools.v6(number).and_then(|map| map.get(work.dst6())),
    };
    work.state = index.map_or(State::Drop(Reason::NoSubscriber), State::ToSession);
}

/// True where the entry still belongs to the session that a route was made for.
#[inline]
fn is_current(index: SessionIndex, generation: u32, sessions: &SessionTable) -> bool {
    sessions.entry(index).is_some_and(|entry| entry.down_flags() & flags::LIVE != 0 && entry.generation() == generation)
}

/// True where a next hop is the session `index`.
pub(crate) fn leads_to(
    next_hop: NextHop,
    pool: impl FnOnce(u16) -> Option<SessionIndex>,
    index: SessionIndex,
    sessions: &SessionTable,
) -> bool {
    match next_hop {
        NextHop::Session { index: to, generation } => {
            SessionIndex(to) == index && is_current(index, generation, sessions)
        }
        NextHop::Pool(number) => pool(number) == Some(index),
        _ => false,
    }
}
