//! The FIB as the routing table's [`Table`].

use std::net::IpAddr;
use std::time::{Duration, Instant};

use bng_fib::{AdjacencyId, FibError, FibWriter, GroupId, GroupMember, NextHop};
use bng_wire::id::{MacAddr, VrfId};
use tracing::warn;

use crate::rib::{Action, NoRoom, Table};
use crate::{InterfaceConfig, Prefix, SessionRef};

/// How long a turn of the routing thread may wait in all for room that the workers have yet to give back.
const GRACE_WAIT_MAX: Duration = Duration::from_millis(50);
/// How long it waits at a time.
const GRACE_WAIT_STEP: Duration = Duration::from_micros(200);

/// The FIB, with the routing instance that everything goes to.
#[derive(Debug)]
pub(crate) struct FibTable {
    fib: FibWriter,
    vrf: VrfId,
    /// What is left of [`GRACE_WAIT_MAX`].
    may_wait: Duration,
    told_full: bool,
}

impl FibTable {
    pub(crate) fn new(fib: FibWriter, vrf: VrfId) -> Self {
        Self { fib, vrf, may_wait: GRACE_WAIT_MAX, told_full: false }
    }

    /// Frees what every worker has ceased to see. True where something still waits for that.
    pub(crate) fn housekeeping(&mut self) -> bool {
        self.may_wait = GRACE_WAIT_MAX;
        self.fib.poll();
        let statistics = self.fib.statistics();
        let waiting = statistics.v4.nodes_waiting
            + statistics.v6.nodes_waiting
            + statistics.next_hops_waiting
            + statistics.adjacencies_waiting
            + statistics.groups_waiting;
        waiting > 0
    }

    /// Makes a change; where there is no room because workers have not given it back yet, waits for them a little.
    fn change<R>(&mut self, mut change: impl FnMut(&mut FibWriter) -> Result<R, FibError>) -> Result<R, NoRoom> {
        loop {
            let error = match change(&mut self.fib) {
                Ok(result) => return Ok(result),
                Err(error) => error,
            };
            let waiting = match error {
                FibError::NodesFull { waiting, .. }
                | FibError::NextHopsFull { waiting, .. }
                | FibError::AdjacenciesFull { waiting, .. }
                | FibError::GroupsFull { waiting, .. } => waiting,
                _ => 0,
            };
            if waiting == 0 || self.may_wait.is_zero() {
                if !self.told_full {
                    self.told_full = true;
                    warn!(%error, "the FIB does not take a route; it is missing until there is room");
                }
                return Err(NoRoom);
            }
            let before = Instant::now();
            std::thread::sleep(GRACE_WAIT_STEP);
            self.fib.poll();
            self.may_wait = self.may_wait.saturating_sub(before.elapsed());
        }
    }
}

/// How a frame to a neighbour begins: destination, source, the interface's tag if it has one, and room for the
/// EtherType.
fn header(interface: &InterfaceConfig, mac: MacAddr) -> Vec<u8> {
    let mut octets = Vec::with_capacity(18);
    octets.extend_from_slice(&mac.0);
    octets.extend_from_slice(&interface.mac.0);
    if let Some(tag) = interface.vlan {
        octets.extend_from_slice(&tag.tpid.to_be_bytes());
        octets.extend_from_slice(&tag.tci.to_be_bytes());
    }
    octets.extend_from_slice(&[0, 0]);
    octets
}

fn next_hop(action: Action) -> NextHop {
    match action {
        Action::Local => NextHop::Local,
        Action::Pool(map) => NextHop::Pool(map),
        Action::Session(SessionRef { index, generation }) => NextHop::Session { index, generation },
        Action::Glean(interface) => NextHop::Glean { interface },
        Action::Neighbour(id) => NextHop::Neighbour(id),
        Action::Group(id) => NextHop::Group(id),
        Action::Unreachable => NextHop::Unreachable,
        Action::Blackhole => NextHop::Blackhole,
    }
}

fn group_members(members: &[(Action, u32)]) -> Vec<GroupMember> {
    members.iter().map(|(action, weight)| GroupMember { next_hop: next_hop(*action), weight: *weight }).collect()
}

impl Table for FibTable {
    fn set(&mut self, prefix: Prefix, action: Action) -> Result<(), NoRoom> {
        let next_hop = next_hop(action);
        let vrf = self.vrf;
        self.change(|fib| match prefix.address() {
            IpAddr::V4(v4) => fib.insert4(vrf, v4, prefix.length(), next_hop),
            IpAddr::V6(v6) => fib.insert6(vrf, v6, prefix.length(), next_hop),
        })
        .map(|_| ())
    }

    fn remove(&mut self, prefix: Prefix) {
        let result = match prefix.address() {
            IpAddr::V4(v4) => self.fib.remove4(self.vrf, v4, prefix.length()),
            IpAddr::V6(v6) => self.fib.remove6(self.vrf, v6, prefix.length()),
        };
        if let Err(error) = result {
            warn!(%prefix, %error, "cannot take a route out of the FIB");
        }
    }

    fn create_adjacency(&mut self, interface: &InterfaceConfig) -> Result<AdjacencyId, NoRoom> {
        self.change(|fib| fib.adjacency_create(interface.port, interface.mtu))
    }

    fn resolve_adjacency(&mut self, id: AdjacencyId, interface: &InterfaceConfig, mac: Option<MacAddr>) {
        let result = match mac {
            Some(mac) => self.fib.adjacency_resolve(id, &header(interface, mac)),
            None => self.fib.adjacency_unresolve(id),
        };
        if let Err(error) = result {
            warn!(?id, %error, "cannot change an adjacency");
        }
    }

    fn release_adjacency(&mut self, id: AdjacencyId) {
        if let Err(error) = self.fib.adjacency_release(id) {
            warn!(?id, %error, "cannot release an adjacency");
        }
    }

    fn create_group(&mut self, members: &[(Action, u32)], like: Option<GroupId>) -> Result<GroupId, NoRoom> {
        let members = group_members(members);
        self.change(|fib| fib.group_create(&members, like))
    }

    fn set_group(&mut self, id: GroupId, members: &[(Action, u32)]) {
        let members = group_members(members);
        if self.change(|fib| fib.group_set(id, &members)).is_err() {
            warn!(?id, "cannot change the members of a group of next hops");
        }
    }

    fn release_group(&mut self, id: GroupId) {
        if let Err(error) = self.fib.group_release(id) {
            warn!(?id, %error, "cannot release a group of next hops");
        }
    }
}
