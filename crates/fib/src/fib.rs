//! The whole: both families' tries, next hops, adjacencies.

use crate::adjacency::{Adjacency, HEADER_MAX_BYTES, HEADER_MIN_BYTES};
use crate::error::{FibConfig, FibError};
use crate::group::{GROUP_MEMBERS_MAX, Group, GroupId, deal};
use crate::key::Key;
use crate::next_hop::{AdjacencyId, NextHop, NextHopCell, NextHopId};
use crate::numbers::Numbers;
use crate::rib::Prefix;
use crate::trie::{Cell, Node, ROOT_CELLS, TrieTable};
use crate::writer::TrieWriter;
use bng_sync::{Arena, Qsbr, prefetch_index};
use bng_wire::{PortIndex, VrfId};
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use hashbrown::HashMap;
use std::sync::Arc;

/// The readers' side. A reader must be online in the domain given to [`Fib::new`], else what it looks up may be
/// reused under its hands (it would then send to a wrong place; nothing worse).
pub struct Fib {
    v4: Arc<TrieTable<u32>>,
    v6: Arc<TrieTable<u128>>,
    next_hops: Arena<NextHopCell>,
    adjacencies: Arena<Adjacency>,
    groups: Arena<Group>,
    flow_seed: u64,
}

impl Fib {
    /// An empty FIB: every lookup gives [`NextHopId::UNREACHABLE`]. `domain` is the readers'.
    ///
    /// # Errors
    /// [`FibError::Config`] for a limit out of range, [`FibError::Memory`].
    pub fn new(config: &FibConfig, domain: &Arc<Qsbr>) -> Result<(Arc<Self>, FibWriter), FibError> {
        let numbers_max = 1usize << Cell::NUMBER_BITS;
        let within = |name, value: usize, min: usize, max: usize| {
            if (min..=max).contains(&value) { Ok(()) } else { Err(FibError::Config { name, value, min, max }) }
        };
        within("vrfs_max", config.vrfs_max as usize, 1, 1 << 16)?;
        within("nodes4_max", config.nodes4_max, 0, numbers_max)?;
        within("nodes6_max", config.nodes6_max, 0, numbers_max)?;
        within("next_hops_max", config.next_hops_max, 1, numbers_max)?;
        within("adjacencies_max", config.adjacencies_max, 0, u32::MAX as usize)?;
        within("groups_max", config.groups_max, 0, u32::MAX as usize)?;

        let v4 = Arc::new(TrieTable::new(config.vrfs_max, config.nodes4_max, config.placement)?);
        let v6 = Arc::new(TrieTable::new(config.vrfs_max, config.nodes6_max, config.placement)?);
        // Place 0 is `NextHopId::UNREACHABLE`, beside those that the limit counts.
        let next_hops = Arena::new(config.next_hops_max.saturating_add(1).min(numbers_max), config.placement)?;
        let adjacencies = Arena::new(config.adjacencies_max, config.placement)?;
        let groups = Arena::new(config.groups_max, config.placement)?;
        let fib = Arc::new(Self { v4, v6, next_hops, adjacencies, groups, flow_seed: config.flow_seed });
        let writer = FibWriter {
            v4: TrieWriter::new(&fib.v4, domain, config.routes4_max),
            v6: TrieWriter::new(&fib.v6, domain, config.routes6_max),
            next_hops: NextHops {
                numbers: Numbers::new(domain, 1, fib.next_hops.len() as u32),
                by_value: HashMap::new(),
                places: Vec::new(),
            },
            adjacencies: Numbers::new(domain, 0, config.adjacencies_max as u32),
            adjacency_uses: HashMap::new(),
            groups: Numbers::new(domain, 0, config.groups_max as u32),
            group_places: HashMap::new(),
            vrfs_max: config.vrfs_max,
            fib: Arc::clone(&fib),
        };
        Ok((fib, writer))
    }

    /// The next hop of the longest route that covers an IPv4 address (in host order: `u32::from(Ipv4Addr)`).
    #[inline]
    #[must_use]
    pub fn lookup4(&self, vrf: VrfId, address: u32) -> NextHopId {
        self.v4.lookup(vrf, address)
    }

    /// The next hop of the longest route that covers an IPv6 address (in host order: `u128::from(Ipv6Addr)`).
    #[inline]
    #[must_use]
    pub fn lookup6(&self, vrf: VrfId, address: u128) -> NextHopId {
        self.v6.lookup(vrf, address)
    }

    /// Looks up a burst of IPv4 addresses, all fetched from memory at once: `results[i]` is of `addresses[i]`. The
    /// shorter of the two slices says how many.
    #[inline]
    pub fn lookup4_burst(&self, vrf: VrfId, addresses: &[u32], results: &mut [NextHopId]) {
        self.v4.lookup_burst(vrf, addresses, results);
    }

    /// Looks up a burst of IPv6 addresses, as [`Fib::lookup4_burst`].
    #[inline]
    pub fn lookup6_burst(&self, vrf: VrfId, addresses: &[u128], results: &mut [NextHopId]) {
        self.v6.lookup_burst(vrf, addresses, results);
    }

    /// Asks for the cache line that [`Fib::lookup4`] reads first.
    #[inline]
    pub fn prefetch4(&self, vrf: VrfId, address: u32) {
        self.v4.prefetch(vrf, address);
    }

    /// Asks for the cache line that [`Fib::lookup6`] reads first.
    #[inline]
    pub fn prefetch6(&self, vrf: VrfId, address: u128) {
        self.v6.prefetch(vrf, address);
    }

    /// Where a next hop leads.
    #[inline]
    #[must_use]
    pub fn next_hop(&self, id: NextHopId) -> NextHop {
        self.next_hops.get(id.0 as usize).map_or(NextHop::Unreachable, NextHopCell::load)
    }

    /// Asks for the cache line that [`Fib::next_hop`] reads.
    #[inline]
    pub fn prefetch_next_hop(&self, id: NextHopId) {
        prefetch_index(&self.next_hops, id.0 as usize);
    }

    /// The member of a group that a flow goes by, by the lowest bits of the flow's hash. A member is never a group; of a
    /// group that does not exist, it is [`NextHop::Unreachable`].
    #[inline]
    #[must_use]
    pub fn group_member(&self, id: GroupId, hash: u32) -> NextHop {
        let group = self.groups.get(id.0 as usize);
        group.map_or(NextHop::Unreachable, |group| self.next_hop(group.member(hash)))
    }

    /// [`FibConfig::flow_seed`].
    #[inline]
    #[must_use]
    pub const fn flow_seed(&self) -> u64 {
        self.flow_seed
    }

    /// The neighbour with this number. `None` if the number is out of range; [`Adjacency::view`] says whether there
    /// is a neighbour.
    #[inline]
    #[must_use]
    pub fn adjacency(&self, id: AdjacencyId) -> Option<&Adjacency> {
        self.adjacencies.get(id.0 as usize)
    }
}

impl fmt::Debug for Fib {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Fib")
            .field("next_hops", &self.next_hops)
            .field("adjacencies", &self.adjacencies)
            .finish_non_exhaustive()
    }
}

/// A route, as [`FibWriter::routes4`] and [`FibWriter::routes6`] tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route<A> {
    /// The routing instance.
    pub vrf: VrfId,
    /// The first address that the route covers.
    pub address: A,
    /// The number of leading bits that count.
    pub len: u8,
    /// Where it leads.
    pub next_hop: NextHop,
}

/// How much of one address family there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FamilyStatistics {
    /// Routes.
    pub routes: usize,
    /// Trie nodes in use.
    pub nodes: usize,
    /// Trie nodes that wait for readers.
    pub nodes_waiting: usize,
    /// The octets of trie memory that have been written: roots (whole) and nodes.
    pub bytes: usize,
}

/// How much there is of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FibStatistics {
    /// IPv4.
    pub v4: FamilyStatistics,
    /// IPv6.
    pub v6: FamilyStatistics,
    /// Different next hops in use, not counting [`NextHop::Unreachable`].
    pub next_hops: usize,
    /// Next hops that wait for readers.
    pub next_hops_waiting: usize,
    /// Adjacencies.
    pub adjacencies: usize,
    /// Adjacencies that wait for readers.
    pub adjacencies_waiting: usize,
    /// Groups of next hops.
    pub groups: usize,
    /// Groups that wait for readers.
    pub groups_waiting: usize,
}

/// One of several next hops, as [`FibWriter::group_create`] is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupMember {
    /// Where its flows go; not [`NextHop::Group`].
    pub next_hop: NextHop,
    /// How many of the flows it gets, in relation to the other members; not 0.
    pub weight: u32,
}

/// The writer's side: there is one.
pub struct FibWriter {
    fib: Arc<Fib>,
    v4: TrieWriter<u32>,
    v6: TrieWriter<u128>,
    next_hops: NextHops,
    adjacencies: Numbers,
    /// How many next hops lead to each adjacency; every adjacency has an entry.
    adjacency_uses: HashMap<AdjacencyId, u32>,
    groups: Numbers,
    group_places: HashMap<GroupId, GroupPlace>,
    vrfs_max: u32,
}

/// What the writer notes of a group.
struct GroupPlace {
    /// Each counted as a route that leads there.
    members: Vec<NextHopId>,
    /// How many next hops lead to the group: 0 or 1.
    uses: u32,
}

/// The next hops in use: each different one once, counted.
struct NextHops {
    numbers: Numbers,
    by_value: HashMap<u64, NextHopId>,
    /// By number: the packed value and how many routes lead to it.
    places: Vec<(u64, u32)>,
}

impl FibWriter {
    /// The readers' side of this FIB.
    #[must_use]
    pub fn fib(&self) -> &Arc<Fib> {
        &self.fib
    }

    /// Adds an IPv4 route or changes where it leads; bits of `address` behind `len` are ignored. Returns where it led
    /// before, if it was there.
    ///
    /// # Errors
    /// [`FibError`] naming the limit; nothing is changed then.
    pub fn insert4(
        &mut self,
        vrf: VrfId,
        address: Ipv4Addr,
        len: u8,
        next_hop: NextHop,
    ) -> Result<Option<NextHop>, FibError> {
        let prefix = self.prefix(vrf, u32::from(address), len)?;
        self.v4.check_room(prefix)?;
        let id = self.use_next_hop(next_hop)?;
        let before = self.v4.insert(prefix, id);
        Ok(before.map(|before| self.release_next_hop(before)))
    }

    /// As [`FibWriter::insert4`] for IPv6.
    ///
    /// # Errors
    /// [`FibError`] naming the limit; nothing is changed then.
    pub fn insert6(
        &mut self,
        vrf: VrfId,
        address: Ipv6Addr,
        len: u8,
        next_hop: NextHop,
    ) -> Result<Option<NextHop>, FibError> {
        let prefix = self.prefix(vrf, u128::from(address), len)?;
        self.v6.check_room(prefix)?;
        let id = self.use_next_hop(next_hop)?;
        let before = self.v6.insert(prefix, id);
        Ok(before.map(|before| self.release_next_hop(before)))
    }

    /// Removes an IPv4 route; returns where it led, `None` if it was not there.
    ///
    /// # Errors
    /// [`FibError::Vrf`], [`FibError::Length`].
    pub fn remove4(&mut self, vrf: VrfId, address: Ipv4Addr, len: u8) -> Result<Option<NextHop>, FibError> {
        let prefix = self.prefix(vrf, u32::from(address), len)?;
        let before = self.v4.remove(prefix);
        Ok(before.map(|before| self.release_next_hop(before)))
    }

    /// As [`FibWriter::remove4`] for IPv6.
    ///
    /// # Errors
    /// [`FibError::Vrf`], [`FibError::Length`].
    pub fn remove6(&mut self, vrf: VrfId, address: Ipv6Addr, len: u8) -> Result<Option<NextHop>, FibError> {
        let prefix = self.prefix(vrf, u128::from(address), len)?;
        let before = self.v6.remove(prefix);
        Ok(before.map(|before| self.release_next_hop(before)))
    }

    /// Where the IPv4 route of exactly this prefix leads, if there is one.
    #[must_use]
    pub fn get4(&self, vrf: VrfId, address: Ipv4Addr, len: u8) -> Option<NextHop> {
        let prefix = self.prefix(vrf, u32::from(address), len).ok()?;
        self.v4.rib().get(prefix).map(|id| self.fib.next_hop(id))
    }

    /// As [`FibWriter::get4`] for IPv6.
    #[must_use]
    pub fn get6(&self, vrf: VrfId, address: Ipv6Addr, len: u8) -> Option<NextHop> {
        let prefix = self.prefix(vrf, u128::from(address), len).ok()?;
        self.v6.rib().get(prefix).map(|id| self.fib.next_hop(id))
    }

    /// Every IPv4 route, in no order.
    pub fn routes4(&self) -> impl ExactSizeIterator<Item = Route<Ipv4Addr>> {
        self.v4.rib().iter().map(|(Prefix { vrf, len, key }, id)| {
            let next_hop = self.fib.next_hop(id);
            Route { vrf, address: Ipv4Addr::from(key), len, next_hop }
        })
    }

    /// Every IPv6 route, in no order.
    pub fn routes6(&self) -> impl ExactSizeIterator<Item = Route<Ipv6Addr>> {
        self.v6.rib().iter().map(|(Prefix { vrf, len, key }, id)| {
            let next_hop = self.fib.next_hop(id);
            Route { vrf, address: Ipv6Addr::from(key), len, next_hop }
        })
    }

    /// Adds a neighbour on `port` whose MAC address is not known yet. `mtu` is the longest IP packet the link takes,
    /// in octets.
    ///
    /// # Errors
    /// [`FibError::AdjacenciesFull`].
    pub fn adjacency_create(&mut self, port: PortIndex, mtu: u16) -> Result<AdjacencyId, FibError> {
        let Some(number) = self.adjacencies.take() else {
            let waiting = self.adjacencies.waiting();
            return Err(FibError::AdjacenciesFull { waiting, limit: self.fib.adjacencies.len() });
        };
        let id = AdjacencyId(number);
        if let Some(adjacency) = self.fib.adjacency(id) {
            adjacency.set_unresolved(port, mtu);
        }
        self.adjacency_uses.insert(id, 0);
        Ok(id)
    }

    /// Says how frames to the neighbour begin: 14 octets, and 4 for each VLAN tag (at most 2), up to and with the two
    /// octets of the EtherType. Readers see the old header or the new one, never a mixture.
    ///
    /// # Errors
    /// [`FibError::NoAdjacency`], [`FibError::HeaderLength`].
    pub fn adjacency_resolve(&mut self, id: AdjacencyId, header: &[u8]) -> Result<(), FibError> {
        if !(HEADER_MIN_BYTES..=HEADER_MAX_BYTES).contains(&header.len()) {
            return Err(FibError::HeaderLength { len: header.len() });
        }
        self.existing(id)?.set_resolved(header);
        Ok(())
    }

    /// Says that the neighbour's MAC address is not known any more.
    ///
    /// # Errors
    /// [`FibError::NoAdjacency`].
    pub fn adjacency_unresolve(&mut self, id: AdjacencyId) -> Result<(), FibError> {
        self.existing(id)?.set_unknown();
        Ok(())
    }

    /// Changes the longest IP packet the neighbour's link takes, in octets.
    ///
    /// # Errors
    /// [`FibError::NoAdjacency`].
    pub fn adjacency_set_mtu(&mut self, id: AdjacencyId, mtu: u16) -> Result<(), FibError> {
        self.existing(id)?.set_mtu(mtu);
        Ok(())
    }

    /// Removes a neighbour to which no route leads; its number is reused after grace.
    ///
    /// # Errors
    /// [`FibError::NoAdjacency`], [`FibError::AdjacencyInUse`].
    pub fn adjacency_release(&mut self, id: AdjacencyId) -> Result<(), FibError> {
        self.existing(id)?;
        if self.adjacency_uses.get(&id).is_some_and(|uses| *uses > 0) {
            return Err(FibError::AdjacencyInUse(id));
        }
        self.adjacency_uses.remove(&id);
        if let Some(adjacency) = self.fib.adjacency(id) {
            adjacency.set_free();
        }
        self.adjacencies.retire(id.0);
        Ok(())
    }

    /// Makes a group of next hops. Members that are the same count as one with the weights of both. Where `like` names
    /// another group, its flows stay with their members as far as those are members here: for a group that takes the
    /// other one's place.
    ///
    /// # Errors
    /// [`FibError::GroupMembers`], [`FibError::GroupsFull`], and as for a route with a member as its next hop; nothing
    /// is changed then.
    pub fn group_create(&mut self, members: &[GroupMember], like: Option<GroupId>) -> Result<GroupId, FibError> {
        let members = self.use_members(members)?;
        let Some(number) = self.groups.take() else {
            self.release_members(members.iter().map(|(id, _)| *id));
            let waiting = self.groups.waiting();
            return Err(FibError::GroupsFull { waiting, limit: self.fib.groups.len() });
        };
        let id = GroupId(number);
        let like = like.filter(|like| self.group_places.contains_key(like));
        let before = like.and_then(|like| self.fib.groups.get(like.0 as usize)).map(Group::buckets);
        if let Some(group) = self.fib.groups.get(number as usize) {
            group.store(&deal(&members, &before.unwrap_or_default()));
        }
        let members = members.into_iter().map(|(id, _)| id).collect();
        self.group_places.insert(id, GroupPlace { members, uses: 0 });
        Ok(id)
    }

    /// Changes the members of a group for all routes that lead to it: a flow moves only if its member is gone or has
    /// more than its due.
    ///
    /// # Errors
    /// [`FibError::NoGroup`], [`FibError::GroupMembers`], and as for a route with a member as its next hop; nothing is
    /// changed then.
    pub fn group_set(&mut self, id: GroupId, members: &[GroupMember]) -> Result<(), FibError> {
        if !self.group_places.contains_key(&id) {
            return Err(FibError::NoGroup(id));
        }
        let members = self.use_members(members)?;
        if let Some(group) = self.fib.groups.get(id.0 as usize) {
            let before = group.buckets();
            group.store(&deal(&members, &before));
        }
        if let Some(place) = self.group_places.get_mut(&id) {
            let new = members.into_iter().map(|(id, _)| id).collect();
            let old = core::mem::replace(&mut place.members, new);
            self.release_members(old);
        }
        Ok(())
    }

    /// Removes a group to which no route leads; its number is reused after grace.
    ///
    /// # Errors
    /// [`FibError::NoGroup`], [`FibError::GroupInUse`].
    pub fn group_release(&mut self, id: GroupId) -> Result<(), FibError> {
        match self.group_places.get(&id) {
            None => return Err(FibError::NoGroup(id)),
            Some(place) if place.uses > 0 => return Err(FibError::GroupInUse(id)),
            Some(_) => {}
        }
        if let Some(place) = self.group_places.remove(&id) {
            self.release_members(place.members);
            self.groups.retire(id.0);
        }
        Ok(())
    }

    /// The members' numbers, each different one once and counted once more, with their weights.
    fn use_members(&mut self, members: &[GroupMember]) -> Result<Vec<(NextHopId, u32)>, FibError> {
        let bad = |member: &GroupMember| member.weight == 0 || matches!(member.next_hop, NextHop::Group(_));
        if members.is_empty() || members.len() > GROUP_MEMBERS_MAX || members.iter().any(bad) {
            return Err(FibError::GroupMembers);
        }
        let mut used: Vec<(NextHopId, u32)> = Vec::with_capacity(members.len());
        for member in members {
            let id = match self.use_next_hop(member.next_hop) {
                Ok(id) => id,
                Err(error) => {
                    self.release_members(used.into_iter().map(|(id, _)| id));
                    return Err(error);
                }
            };
            match used.iter_mut().find(|(other, _)| *other == id) {
                None => used.push((id, member.weight)),
                Some((_, weight)) => {
                    *weight = weight.saturating_add(member.weight);
                    self.release_next_hop(id);
                }
            }
        }
        Ok(used)
    }

    fn release_members(&mut self, members: impl IntoIterator<Item = NextHopId>) {
        for id in members {
            self.release_next_hop(id);
        }
    }

    /// Reclaims what no reader can hold any more; never waits. To be called now and then, also when nothing changes.
    pub fn poll(&mut self) {
        self.v4.poll();
        self.v6.poll();
        self.next_hops.numbers.poll();
        self.adjacencies.poll();
        self.groups.poll();
    }

    /// How much there is of everything.
    #[must_use]
    pub fn statistics(&self) -> FibStatistics {
        FibStatistics {
            v4: self.family(&self.v4),
            v6: self.family(&self.v6),
            next_hops: self.next_hops.by_value.len(),
            next_hops_waiting: self.next_hops.numbers.waiting(),
            adjacencies: self.adjacency_uses.len(),
            adjacencies_waiting: self.adjacencies.waiting(),
            groups: self.group_places.len(),
            groups_waiting: self.groups.waiting(),
        }
    }

    fn family<K: Key>(&self, trie: &TrieWriter<K>) -> FamilyStatistics {
        let roots = (self.vrfs_max as usize).saturating_mul(size_of::<[u32; ROOT_CELLS]>());
        FamilyStatistics {
            routes: trie.rib().len(),
            nodes: trie.nodes_in_use(),
            nodes_waiting: trie.nodes_waiting(),
            bytes: roots.saturating_add(trie.nodes_touched().saturating_mul(size_of::<Node>())),
        }
    }

    fn prefix<K: Key>(&self, vrf: VrfId, key: K, len: u8) -> Result<Prefix<K>, FibError> {
        if u32::from(vrf.0) >= self.vrfs_max {
            return Err(FibError::Vrf { vrf: vrf.0, vrfs_max: self.vrfs_max });
        }
        if len > K::BITS {
            return Err(FibError::Length { len, bits: K::BITS });
        }
        Ok(Prefix { vrf, len, key: key.masked(len) })
    }

    fn existing(&self, id: AdjacencyId) -> Result<&Adjacency, FibError> {
        self.fib.adjacency(id).filter(|adjacency| adjacency.exists()).ok_or(FibError::NoAdjacency(id))
    }

    /// The number of a next hop, with one more route that leads to it.
    fn use_next_hop(&mut self, next_hop: NextHop) -> Result<NextHopId, FibError> {
        let packed = match (next_hop, next_hop.pack()) {
            (NextHop::Unreachable, _) => return Ok(NextHopId::UNREACHABLE),
            (NextHop::Session { index, .. }, None) => return Err(FibError::SessionIndex { index }),
            (_, packed) => packed.unwrap_or_default(),
        };
        if let NextHop::Neighbour(id) = next_hop {
            self.existing(id)?;
        }
        if let NextHop::Group(id) = next_hop
            && !self.group_places.contains_key(&id)
        {
            return Err(FibError::NoGroup(id));
        }
        if let Some(id) = self.next_hops.by_value.get(&packed).copied() {
            self.next_hops.count(id, |uses| uses.saturating_add(1));
            return Ok(id);
        }
        let Some(number) = self.next_hops.numbers.take() else {
            let waiting = self.next_hops.numbers.waiting();
            return Err(FibError::NextHopsFull { waiting, limit: self.fib.next_hops.len().saturating_sub(1) });
        };
        let id = NextHopId(number);
        self.next_hops.by_value.insert(packed, id);
        self.next_hops.set(id, (packed, 1));
        if let Some(cell) = self.fib.next_hops.get(number as usize) {
            cell.store(packed);
        }
        self.count_target(next_hop, |uses| uses.saturating_add(1));
        Ok(id)
    }

    /// One route fewer leads to a next hop, and no reader can find it by that route any more. Returns what it is.
    fn release_next_hop(&mut self, id: NextHopId) -> NextHop {
        let next_hop = self.fib.next_hop(id);
        if id != NextHopId::UNREACHABLE {
            let (packed, uses) = self.next_hops.count(id, |uses| uses.saturating_sub(1));
            if uses == 0 {
                self.next_hops.by_value.remove(&packed);
                self.next_hops.numbers.retire(id.0);
                self.count_target(next_hop, |uses| uses.saturating_sub(1));
            }
        }
        next_hop
    }

    /// Counts the next hops that lead to an adjacency or a group.
    fn count_target(&mut self, next_hop: NextHop, change: impl FnOnce(u32) -> u32) {
        let uses = match next_hop {
            NextHop::Neighbour(id) => self.adjacency_uses.get_mut(&id),
            NextHop::Group(id) => self.group_places.get_mut(&id).map(|place| &mut place.uses),
            _ => None,
        };
        if let Some(uses) = uses {
            *uses = change(*uses);
        }
    }
}

impl NextHops {
    /// Changes how many routes lead to a next hop; returns its packed value and how many there are now.
    fn count(&mut self, id: NextHopId, change: impl FnOnce(u32) -> u32) -> (u64, u32) {
        let Some((packed, uses)) = self.places.get_mut(id.0 as usize) else { return (0, 0) };
        *uses = change(*uses);
        (*packed, *uses)
    }

    fn set(&mut self, id: NextHopId, place: (u64, u32)) {
        let index = id.0 as usize;
        if index >= self.places.len() {
            self.places.resize(index.saturating_add(1), (0, 0));
        }
        if let Some(there) = self.places.get_mut(index) {
            *there = place;
        }
    }
}

impl fmt::Debug for FibWriter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.statistics(), out)
    }
}

/// Workers share the one side; the other moves to the thread that learns routes.
const _: () = {
    const fn send<T: Send>() {}
    const fn send_sync<T: Send + Sync>() {}
    send_sync::<Fib>();
    send::<FibWriter>();
};
