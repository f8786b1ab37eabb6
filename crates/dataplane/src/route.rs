//! Where a packet goes: the FIB's answer, and the pool behind it.

use bng_fib::{GroupId, NextHop, NextHopId};
use bng_session::{SessionIndex, SessionTable, flags};
use bng_wire::VrfId;

use crate::flow;
use crate::frame::PuntClass;
use crate::pipeline::Tables;
use crate::reason::Reason;
use crate::work::{Family, State, Work};

/// Asks for what the FIB reads first.
#[inline(always)]
pub(crate) fn prefetch(work: &Work, tables: &Tables) {
    match work.family {
        Family::V4 => tables.fib.prefetch4(VrfId(work.vrf), work.dst4),
        Family::V6 => tables.fib.prefetch6(VrfId(work.vrf), work.dst6()),
    }
}

/// The next hop of the frame before, where it is a neighbour or a pool, and what it made of the frame: bursts mostly go
/// one way. Good for one burst.
#[derive(Debug, Default)]
pub(crate) struct Last(Option<(NextHopId, State)>);

/// Looks the destination up.
#[inline(always)]
pub(crate) fn look_up(work: &mut Work, tables: &Tables, last: &mut Last) {
    let vrf = VrfId(work.vrf);
    let id = match work.family {
        Family::V4 => tables.fib.lookup4(vrf, work.dst4),
        Family::V6 => tables.fib.lookup6(vrf, work.dst6()),
    };
    let state = match last.0 {
        Some((before, state)) if before == id => state,
        _ => to_state(id, tables, last),
    };
    // RFC 1812 section 5.3.1: a packet for the router itself is taken whatever its time to live.
    if (work.ttl <= 1 || work.link_source) && state != HOST {
        work.state = State::Drop(no_hop(work));
        return;
    }
    if let State::ToPool(number) = state {
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
    }
    work.state = state;
}

const HOST: State = State::Punt(PuntClass::Host, Reason::Host);

/// What a next hop makes of a frame.
fn to_state(id: NextHopId, tables: &Tables, last: &mut Last) -> State {
    let state = of_next_hop(tables.fib.next_hop(id), tables);
    if matches!(state, State::ToNeighbour(_) | State::ToPool(_)) {
        last.0 = Some((id, state));
    }
    state
}

fn of_next_hop(next_hop: NextHop, tables: &Tables) -> State {
    match next_hop {
        NextHop::Neighbour(adjacency) => {
            if let Some(adjacency) = tables.fib.adjacency(adjacency) {
                adjacency.prefetch();
            }
            State::ToNeighbour(adjacency)
        }
        NextHop::Group(group) => State::ToGroup(group),
        NextHop::Pool(number) => State::ToPool(number),
        NextHop::Session { index, generation } => {
            let index = SessionIndex(index);
            if is_current(index, generation, &tables.sessions) {
                State::ToSession(index)
            } else {
                State::Drop(Reason::NoSubscriber)
            }
        }
        NextHop::Local => HOST,
        NextHop::Glean { .. } => State::Punt(PuntClass::Host, Reason::NeighbourUnresolved),
        NextHop::Blackhole => State::Drop(Reason::Blackhole),
        NextHop::Unreachable => State::Drop(Reason::NoRoute),
    }
}

/// Why a packet may not go another hop; link-local sources may not (RFC 4291 section 2.5.6).
#[cold]
fn no_hop(work: &Work) -> Reason {
    match work.family {
        _ if work.link_source => Reason::Ipv6Source,
        Family::V4 => Reason::Ipv4TtlExceeded,
        Family::V6 => Reason::Ipv6HopLimitExceeded,
    }
}

/// The session of a pool address.
#[inline(always)]
pub(crate) fn from_pool(work: &mut Work, number: u16, tables: &Tables) {
    let index = match work.family {
        Family::V4 => tables.pools.v4(number).and_then(|map| map.get(work.dst4)),
        Family::V6 => tables.pools.v6(number).and_then(|map| map.get(work.dst6())),
    };
    work.state = index.map_or(State::Drop(Reason::NoSubscriber), State::ToSession);
}

/// The member of a group that the flow of `packet` goes by.
#[inline(never)]
pub(crate) fn from_group(work: &mut Work, group: GroupId, packet: &[u8], tables: &Tables) {
    let member = tables.fib.group_member(group, flow::hash(packet, tables.fib.flow_seed()));
    work.state = match of_next_hop(member, tables) {
        // No group has such a member: they are the core's neighbours and networks.
        State::ToGroup(_) | State::ToPool(_) => State::Drop(Reason::NoRoute),
        state => state,
    };
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
