//! A look over all tables at once: does each say the same as the others?

use crate::dial::line_of;
use crate::session::{Entry, HeldAddress, HeldPrefix};
use crate::subscribers::{PoolOf, Subscribers};
use bng_wire::{PortIndex, VrfId};
use core::net::Ipv4Addr;
use hashbrown::{HashMap, HashSet};

/// Two tables contradict each other: a fault of this program, whatever the clients do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the tables of subscribers contradict each other: {0}")]
pub struct Contradiction(pub String);

fn same<T: PartialEq + core::fmt::Debug>(what: &str, counted: T, kept: T) -> Result<(), Contradiction> {
    if counted == kept { Ok(()) } else { Err(Contradiction(format!("{what}: counted {counted:?}, kept {kept:?}"))) }
}

impl Subscribers {
    /// Compares all tables with what the sessions themselves say: no id, address, timer or index entry is left over or
    /// missing, and every address has one owner. It visits every session, so it is for tests and for an operator who
    /// asks, not for a timer.
    ///
    /// # Errors
    /// The first contradiction found.
    pub fn audit(&self) -> Result<(), Contradiction> {
        let mut live = 0u32;
        let mut up = 0u32;
        let mut timers = 0usize;
        let mut users = 0usize;
        let mut leaving_addresses = 0u32;
        let mut half_open = self.half_open.map(|_| 0u32);
        let mut per_vlan: HashMap<(PortIndex, u16), u32> = HashMap::new();
        let mut prefix_owners = HashSet::new();
        let mut per_line: HashMap<(PortIndex, u16, u16), u32> = HashMap::new();
        let mut ids = HashSet::new();
        let mut owners: HashMap<(VrfId, Ipv4Addr), HeldAddress> = HashMap::new();
        for entry in self.entries.iter() {
            let (line, id, key, address) = match entry {
                Entry::Live(session) => (session.line, session.session_id, session.key, session.address),
                Entry::Leaving(leaving) => (leaving.line, leaving.session_id, leaving.key, leaving.address),
            };
            let outer_vid = line.vlans.outer_vid();
            let prefixes: Vec<HeldPrefix> = match entry {
                Entry::Live(session) => session.line_prefix.iter().chain(&session.delegated).copied().collect(),
                Entry::Leaving(leaving) => leaving.prefixes.to_vec(),
            };
            for held in prefixes {
                if !prefix_owners.insert((held.pool, held.offset)) {
                    return Err(Contradiction(format!(
                        "prefix {} of pool {} has two owners",
                        held.offset, held.pool.0
                    )));
                }
            }
            if !ids.insert((line.port, outer_vid, id)) {
                return Err(Contradiction(format!("two sessions have the id {id:?} on {line:?}")));
            }
            same("slot by id", Some(key.slot), self.slot_of_id(line.port, outer_vid, id))?;
            if let Some(held) = address
                && owners.insert((held.vrf, held.address), held).is_some()
            {
                return Err(Contradiction(format!("{} has two owners", held.address)));
            }
            match entry {
                Entry::Live(session) => {
                    live = live.saturating_add(1);
                    up = up.saturating_add(u32::from(session.ipv4_up || session.ipv6_up));
                    timers = timers.saturating_add(usize::from(session.deadline().is_some()));
                    users = users.saturating_add(usize::from(session.indexed_user));
                    if !session.authenticated
                        && let Some(count) = half_open.get_mut(usize::from(line.port.0))
                    {
                        *count = count.saturating_add(1);
                    }
                    let count = per_vlan.entry((line.port, outer_vid)).or_default();
                    *count = count.saturating_add(1);
                    if self.counts_line(&line) {
                        let count = per_line.entry(line_of(&line)).or_default();
                        *count = count.saturating_add(1);
                    }
                    if session.ppp.is_ended() {
                        return Err(Contradiction(format!("{key:?} has ended and is still there")));
                    }
                    if session.deadline().is_none() && !session.authenticated {
                        return Err(Contradiction(format!("{key:?} could stay half open for ever")));
                    }
                    if !self.by_line.candidates(line.key()).any(|slot| slot == key.slot) {
                        return Err(Contradiction(format!("{key:?} is not found by its line")));
                    }
                }
                Entry::Leaving(_) => {
                    leaving_addresses = leaving_addresses.saturating_add(u32::from(address.is_some()));
                }
            }
        }
        same("entries", ids.len(), self.entries.len() as usize)?;
        same("index by id", ids.len(), self.by_id.len())?;
        same("index by line", live as usize, self.by_line.len())?;
        same("index by user", users, self.by_user.len())?;
        same("live sessions", live, self.live)?;
        same("sessions that are up", up, self.up)?;
        same("timers", timers, self.timers.len())?;
        same("addresses on their way back", leaving_addresses, self.leaving_addresses)?;
        same("half-open sessions", half_open, self.half_open)?;
        same("sessions by VLAN", &per_vlan, &self.per_vlan)?;
        same("sessions by line", &per_line, &self.per_line)?;
        for ((port, outer_vid), count) in &per_vlan {
            let ids_live = self.ids.live(*port, *outer_vid);
            if ids_live < *count {
                return Err(Contradiction(format!("{ids_live} ids live for {count} sessions of VLAN {outer_vid}")));
            }
        }
        let held = |pooled: bool| owners.values().filter(|held| held.pool.is_some() == pooled).count();
        let in_pools = |prefixes: bool| -> u32 {
            let held = self.pools.iter().map(|state| match &state.kind {
                PoolOf::Ipv4(pool) if !prefixes => pool.usage().held,
                PoolOf::Prefixes(pool) if prefixes => pool.usage().held,
                PoolOf::Ipv4(_) | PoolOf::Prefixes(_) => 0,
            });
            held.fold(0, u32::saturating_add)
        };
        same("pool addresses held", held(true), in_pools(false) as usize)?;
        same("pool prefixes held", prefix_owners.len(), in_pools(true) as usize)?;
        let fixed = owners.values().filter(|held| held.fixed).count();
        same("fixed addresses", fixed, self.fixed.len())
    }
}
