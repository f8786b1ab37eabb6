//! The routing table as bngd sees it: what the kernel told, what follows from it for the FIB, and what is to be asked
//! of the kernel. No input or output of its own: changes go in, FIB updates go to a [`Table`], and asks and events
//! are picked up by the routing thread.

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use bng_fib::{AdjacencyId, GROUP_MEMBERS_MAX, GroupId};
use bng_wire::id::MacAddr;
use hashbrown::{HashMap, HashSet};
use tracing::info;

use crate::messages::{Change, Entry, Hop, NeighbourSeen, NextHopObject, Route, RouteKind};
use crate::requests::Ask;
use crate::{
    Event, InterfaceConfig, PoolRoute, Prefix, RESOLVE_TIMEOUT, ResolveTarget, RouteAction, RouteSource, RouteView,
    RoutingCounts, SessionRef, WayView,
};

/// What the FIB holds for a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Local,
    Pool(u16),
    Session(SessionRef),
    Glean(u16),
    Neighbour(AdjacencyId),
    Group(GroupId),
    Unreachable,
    Blackhole,
}

/// How many prefixes that found no room are tried again in one go.
const RETRIES_PER_TURN: usize = 1000;

/// The FIB has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoRoom;

/// Where the results go: the FIB, or a plain map in tests.
pub(crate) trait Table {
    /// Enters a prefix, in the place of what was there for it.
    fn set(&mut self, prefix: Prefix, action: Action) -> Result<(), NoRoom>;
    /// Takes a prefix out.
    fn remove(&mut self, prefix: Prefix);
    /// Makes an adjacency without a link-layer address.
    fn create_adjacency(&mut self, interface: &InterfaceConfig) -> Result<AdjacencyId, NoRoom>;
    /// Gives an adjacency its link-layer address, or takes it away.
    fn resolve_adjacency(&mut self, id: AdjacencyId, interface: &InterfaceConfig, mac: Option<MacAddr>);
    /// Frees an adjacency that no prefix leads to any longer.
    fn release_adjacency(&mut self, id: AdjacencyId);
    /// Makes a group of next hops, each with its weight. Flows that `like` leads to one of them stay there.
    fn create_group(&mut self, members: &[(Action, u32)], like: Option<GroupId>) -> Result<GroupId, NoRoom>;
    /// Changes the members of a group, at once for all prefixes that lead to it.
    fn set_group(&mut self, id: GroupId, members: &[(Action, u32)]);
    /// Frees a group that no prefix leads to any longer.
    fn release_group(&mut self, id: GroupId);
}

/// Who a neighbour is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct NeighbourKey {
    /// The interface number.
    pub(crate) interface: u16,
    pub(crate) address: IpAddr,
}

/// One of several ways that a route leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Way {
    interface: u16,
    /// `None`: the destination itself is on the interface.
    gateway: Option<IpAddr>,
    weight: u32,
}

impl Way {
    const fn neighbour(&self) -> Option<NeighbourKey> {
        match self.gateway {
            Some(address) => Some(NeighbourKey { interface: self.interface, address }),
            None => None,
        }
    }
}

/// What a prefix is to do, before adjacencies.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Decision {
    Local,
    Pool(u16),
    Session(SessionRef),
    Glean(u16),
    NextHop(NeighbourKey),
    /// By several ways, each once and in their order.
    Several(Arc<[Way]>),
    Host(NeighbourKey),
    Unreachable,
    Blackhole,
}

/// All that is known of a prefix.
#[derive(Debug, Default)]
struct Known {
    /// The kernel's routes, the best first.
    routes: Vec<Route>,
    pool: Option<u16>,
    /// The subscriber that it belongs to, outside all pools.
    session: Option<SessionRef>,
    /// A neighbour on this interface has exactly this address.
    host_on: Option<u16>,
    /// What the FIB does, who made it and its metric.
    installed: Option<(Decision, RouteSource, u32)>,
}

impl Known {
    fn is_empty(&self) -> bool {
        let none = self.pool.is_none() && self.session.is_none() && self.host_on.is_none();
        none && self.routes.is_empty() && self.installed.is_none()
    }
}

#[derive(Debug, Default)]
struct Neighbour {
    mac: Option<MacAddr>,
    /// An operator's entry: the kernel would forget it if it were asked to find the neighbour.
    permanent: bool,
    adjacency: Option<AdjacencyId>,
    /// How many prefixes lead to it.
    uses: u32,
    /// How many of them have it as their next hop.
    next_hop_uses: u32,
    waiting: Vec<ResolveTarget>,
    /// When those that wait give up.
    deadline: Option<Instant>,
}

impl Neighbour {
    fn is_empty(&self) -> bool {
        self.mac.is_none() && self.uses == 0 && self.waiting.is_empty()
    }
}

/// Several ways, in the FIB.
#[derive(Debug)]
struct Group {
    id: GroupId,
    /// How many prefixes lead there.
    uses: u32,
}

#[derive(Debug)]
struct Interface {
    config: InterfaceConfig,
    /// The kernel uses it.
    up: bool,
    /// Its port has a link.
    carrier: bool,
}

/// The kernel's tables as read in one go.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) changes: Vec<Change>,
}

/// The routing table.
#[derive(Debug)]
pub(crate) struct Rib<T> {
    table: T,
    interfaces: Vec<Interface>,
    numbers: HashMap<u32, u16>,
    /// Devices that are no twins and yet hold addresses of the router: loopback and dummies.
    address_hosts: HashSet<u32>,
    known: HashMap<Prefix, Known>,
    objects: HashMap<u32, NextHopObject>,
    object_users: HashMap<u32, HashSet<Prefix>>,
    neighbours: HashMap<NeighbourKey, Neighbour>,
    /// The addresses of neighbours that may be host routes: those with a link-layer address.
    hosts: BTreeSet<IpAddr>,
    by_adjacency: HashMap<AdjacencyId, NeighbourKey>,
    groups: HashMap<Arc<[Way]>, Group>,
    deadlines: VecDeque<(Instant, NeighbourKey)>,
    /// Prefixes that found no room in the FIB.
    missing: HashSet<Prefix>,
    asks: Vec<(NeighbourKey, Ask)>,
    events: Vec<Event>,
    resync_wanted: bool,
    came_up: bool,
    counts: RoutingCounts,
}

impl<T: Table> Rib<T> {
    pub(crate) fn new(table: T, interfaces: &[InterfaceConfig], pools: &[PoolRoute]) -> Self {
        let numbers = (0u16..).zip(interfaces).map(|(number, config)| (config.if_index, number)).collect();
        let mut rib = Self {
            table,
            interfaces: interfaces
                .iter()
                .map(|config| Interface { config: config.clone(), up: false, carrier: false })
                .collect(),
            numbers,
            address_hosts: HashSet::new(),
            known: HashMap::new(),
            objects: HashMap::new(),
            object_users: HashMap::new(),
            neighbours: HashMap::new(),
            hosts: BTreeSet::new(),
            by_adjacency: HashMap::new(),
            groups: HashMap::new(),
            deadlines: VecDeque::new(),
            missing: HashSet::new(),
            asks: Vec::new(),
            events: Vec::new(),
            resync_wanted: false,
            came_up: false,
            counts: RoutingCounts::default(),
        };
        for pool in pools {
            rib.known.entry(pool.prefix).or_default().pool = Some(pool.map);
            rib.apply(pool.prefix);
        }
        rib
    }

    /// The FIB side, for its housekeeping.
    pub(crate) fn table_mut(&mut self) -> &mut T {
        &mut self.table
    }

    /// What is to be asked of the kernel now.
    pub(crate) fn take_asks(&mut self) -> Vec<(NeighbourKey, Ask)> {
        std::mem::take(&mut self.asks)
    }

    /// What the control core is to hear now.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// True once after something happened that the kernel does not tell in full: when a device goes down or a
    /// next-hop object is deleted, IPv4 routes vanish without a message.
    pub(crate) fn take_resync_wanted(&mut self) -> bool {
        std::mem::take(&mut self.resync_wanted)
    }

    /// True once after a twin came up: the kernel took its routes away when it went down.
    pub(crate) fn take_came_up(&mut self) -> bool {
        std::mem::take(&mut self.came_up)
    }

    /// The kernel's index of an interface.
    pub(crate) fn if_index(&self, interface: u16) -> Option<u32> {
        self.interfaces.get(usize::from(interface)).map(|interface| interface.config.if_index)
    }

    /// How much there is.
    pub(crate) fn counts(&self) -> RoutingCounts {
        let resolved = self.neighbours.values().filter(|neighbour| neighbour.mac.is_some()).count() as u64;
        let all = self.neighbours.len() as u64;
        RoutingCounts {
            neighbours_resolved: resolved,
            neighbours_unresolved: all - resolved,
            refused: self.missing.len() as u64,
            ..self.counts
        }
    }

    /// Takes in one change.
    pub(crate) fn change(&mut self, change: Change) {
        match change {
            Change::NewRoute { prefix, route, how } => {
                if self.concerns(prefix, &route) {
                    self.edit_routes(prefix, |routes| insert(routes, route, how));
                } else if self.known.contains_key(&prefix) && how == Entry::Replace {
                    // A route that was ours may have become another's.
                    self.edit_routes(prefix, |routes| routes.retain(|old| old.metric != route.metric));
                }
            }
            Change::DelRoute { prefix, route } => {
                if self.known.contains_key(&prefix) {
                    let mut exact = true;
                    self.edit_routes(prefix, |routes| exact = remove(routes, &route));
                    // A route that never concerned us is no reason to look.
                    self.resync_wanted |= !exact && self.concerns(prefix, &route);
                }
            }
            Change::NewNeighbour(seen) => self.neighbour_seen(seen),
            Change::DelNeighbour { if_index, address } => {
                self.neighbour_seen(NeighbourSeen {
                    if_index,
                    address,
                    mac: None,
                    failed: false,
                    stale: false,
                    permanent: false,
                });
                self.neighbour_gone(if_index, address);
            }
            Change::NewLink { if_index, up, carrier, hosts_addresses } => {
                self.link(if_index, up, carrier, hosts_addresses);
            }
            Change::DelLink { if_index } => {
                self.link(if_index, false, false, false);
                self.address_hosts.remove(&if_index);
            }
            Change::NewNextHop { id, object } => self.set_object(id, Some(object)),
            Change::DelNextHop { id } => {
                self.set_object(id, None);
                self.resync_wanted = true;
            }
        }
    }

    /// Takes in the kernel's tables as a whole. What is not in them is gone, unless `sweep` is false because they
    /// changed while they were read.
    pub(crate) fn resync(&mut self, snapshot: Snapshot, sweep: bool) {
        let mut routes: HashMap<Prefix, Vec<Route>> = HashMap::new();
        let mut objects = HashSet::new();
        let mut neighbours = HashSet::new();
        for change in snapshot.changes {
            match change {
                // A dump gives the routes of a prefix from the best to the worst.
                Change::NewRoute { prefix, route, .. } => {
                    if self.concerns(prefix, &route) {
                        insert(routes.entry(prefix).or_default(), route, Entry::Append);
                    }
                }
                Change::NewNextHop { id, ref object } => {
                    objects.insert(id);
                    if self.objects.get(&id) != Some(object) {
                        self.change(change);
                    }
                }
                Change::NewNeighbour(seen) => {
                    neighbours.insert((seen.if_index, seen.address));
                    self.change(Change::NewNeighbour(seen));
                }
                other => self.change(other),
            }
        }
        if sweep {
            let gone: Vec<u32> = self.objects.keys().filter(|id| !objects.contains(*id)).copied().collect();
            for id in gone {
                self.set_object(id, None);
            }
            let gone: Vec<Prefix> = self
                .known
                .iter()
                .filter(|(prefix, known)| !known.routes.is_empty() && !routes.contains_key(*prefix))
                .map(|(prefix, _)| *prefix)
                .collect();
            for prefix in gone {
                self.edit_routes(prefix, Vec::clear);
            }
            let gone: Vec<(u32, IpAddr)> = self
                .neighbours
                .iter()
                .filter(|(_, neighbour)| neighbour.mac.is_some())
                .filter_map(|(key, _)| Some((self.if_index(key.interface)?, key.address)))
                .filter(|seen| !neighbours.contains(seen))
                .collect();
            for (if_index, address) in gone {
                self.change(Change::DelNeighbour { if_index, address });
            }
        }
        for (prefix, new) in routes {
            let same = self.known.get(&prefix).is_some_and(|known| known.routes == new);
            if !same {
                self.edit_routes(prefix, |routes| *routes = new);
            }
        }
    }

    /// Leads a prefix to a subscriber's session, or no longer.
    pub(crate) fn set_session(&mut self, prefix: Prefix, session: Option<SessionRef>) {
        match session {
            Some(_) => self.known.entry(prefix).or_default().session = session,
            None => match self.known.get_mut(&prefix) {
                Some(known) => known.session = None,
                None => return,
            },
        }
        self.apply(prefix);
    }

    /// Asks for a target on behalf of the control core.
    pub(crate) fn resolve(&mut self, now: Instant, target: ResolveTarget) {
        let key = match target {
            ResolveTarget::Destination { interface, address } => Some(NeighbourKey { interface, address }),
            ResolveTarget::Adjacency(id) => self.by_adjacency.get(&id).copied(),
        };
        let key = key.filter(|key| usize::from(key.interface) < self.interfaces.len() && is_unicast(key.address));
        let Some(key) = key else {
            self.events.push(Event::Unreachable(target));
            return;
        };
        let neighbour = self.neighbours.entry(key).or_default();
        if neighbour.mac.is_some() {
            self.answer(key, target);
            return;
        }
        if neighbour.waiting.is_empty() {
            neighbour.deadline = Some(now + RESOLVE_TIMEOUT);
            self.deadlines.push_back((now + RESOLVE_TIMEOUT, key));
        }
        if !neighbour.waiting.contains(&target) {
            neighbour.waiting.push(target);
        }
        self.ask(key);
    }

    /// Gives up what has waited too long.
    pub(crate) fn expire(&mut self, now: Instant) {
        while let Some((deadline, key)) = self.deadlines.front().copied() {
            if deadline > now {
                break;
            }
            self.deadlines.pop_front();
            // Else it was answered, and is waited for anew.
            if self.neighbours.get(&key).is_some_and(|neighbour| neighbour.deadline == Some(deadline)) {
                self.give_up(key);
            }
        }
    }

    /// When [`Rib::expire`] has something to do next.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.front().map(|(deadline, _)| *deadline)
    }

    /// Next hops that are wanted and have no link-layer address, for a kernel that does not keep at it by itself.
    pub(crate) fn ask_again(&mut self) {
        let wanted =
            self.neighbours.iter().filter(|(_, neighbour)| neighbour.next_hop_uses > 0 && neighbour.mac.is_none());
        let keys: Vec<NeighbourKey> = wanted.map(|(key, _)| *key).collect();
        keys.into_iter().for_each(|key| self.ask(key));
    }

    /// Tries again what found no room in the FIB; `true` where something is still missing.
    pub(crate) fn retry_missing(&mut self) -> bool {
        let missing: Vec<Prefix> = self.missing.iter().take(RETRIES_PER_TURN).copied().collect();
        for prefix in missing {
            self.missing.remove(&prefix);
            self.apply(prefix);
        }
        !self.missing.is_empty()
    }

    /// The routes in force, in the order of their prefixes.
    pub(crate) fn view(&self, limit: usize) -> Vec<RouteView> {
        let mut prefixes: Vec<Prefix> =
            self.known.iter().filter(|(_, known)| known.installed.is_some()).map(|(prefix, _)| *prefix).collect();
        prefixes.sort_unstable();
        prefixes.truncate(limit);
        let view = |prefix: Prefix| {
            let (decision, source, metric) = self.known.get(&prefix)?.installed.as_ref()?;
            let (source, metric) = (*source, *metric);
            Some(RouteView { prefix, source, action: self.view_action(decision)?, metric })
        };
        prefixes.into_iter().filter_map(view).collect()
    }

    fn view_action(&self, decision: &Decision) -> Option<RouteAction> {
        let name = |interface: u16| Some(self.interfaces.get(usize::from(interface))?.config.name.clone());
        let mac = |key: &NeighbourKey| self.neighbours.get(key).and_then(|neighbour| neighbour.mac);
        Some(match decision {
            Decision::Local => RouteAction::Local,
            Decision::Pool(map) => RouteAction::Pool(*map),
            Decision::Session(session) => RouteAction::Session(session.index),
            Decision::Glean(interface) => RouteAction::Connected { interface: name(*interface)? },
            Decision::NextHop(key) | Decision::Host(key) => {
                RouteAction::Neighbour { via: key.address, interface: name(key.interface)?, mac: mac(key) }
            }
            Decision::Several(ways) => {
                let view = |way: &Way| {
                    let interface = name(way.interface)?;
                    let mac = way.neighbour().as_ref().and_then(mac);
                    Some(WayView { via: way.gateway, interface, mac, weight: way.weight })
                };
                RouteAction::Several(ways.iter().map(view).collect::<Option<_>>()?)
            }
            Decision::Unreachable => RouteAction::Unreachable,
            Decision::Blackhole => RouteAction::Blackhole,
        })
    }

    /// True for a route that the FIB may have to do with.
    fn concerns(&self, prefix: Prefix, route: &Route) -> bool {
        let on_twin = |hop: &Hop| self.numbers.contains_key(&hop.if_index);
        match route.kind {
            RouteKind::Local => {
                !is_link_local(prefix.address())
                    && !prefix.address().is_loopback()
                    && route.hops.iter().any(|hop| on_twin(hop) || self.address_hosts.contains(&hop.if_index))
            }
            RouteKind::Broadcast => route.hops.iter().any(on_twin),
            RouteKind::Unicast => {
                let usable = is_unicast(prefix.address()) || prefix.length() == 0;
                let may_lead = route.object.is_some() || route.hops.iter().any(on_twin);
                usable && may_lead && !is_link_local(prefix.address())
            }
            // The kernel's own catch-all refusal of IPv6 has the worst metric there is.
            RouteKind::Blackhole | RouteKind::Unreachable => route.metric != u32::MAX,
        }
    }

    /// Changes the kernel's routes of a prefix, and what follows.
    fn edit_routes(&mut self, prefix: Prefix, edit: impl FnOnce(&mut Vec<Route>)) {
        let known = self.known.entry(prefix).or_default();
        for id in known.routes.iter().filter_map(|route| route.object) {
            if let Some(users) = self.object_users.get_mut(&id) {
                users.remove(&prefix);
                if users.is_empty() {
                    self.object_users.remove(&id);
                }
            }
        }
        edit(&mut known.routes);
        for id in known.routes.iter().filter_map(|route| route.object) {
            self.object_users.entry(id).or_default().insert(prefix);
        }
        self.apply(prefix);
    }

    /// A next-hop object is new, changed or gone: the routes by it, directly or by a group, are looked at again.
    fn set_object(&mut self, id: u32, object: Option<NextHopObject>) {
        match object {
            Some(object) => self.objects.insert(id, object),
            None => self.objects.remove(&id),
        };
        let groups = self.objects.iter().filter_map(|(group, object)| match object {
            NextHopObject::Group(members) if members.iter().any(|(member, _)| *member == id) => Some(*group),
            _ => None,
        });
        let affected: HashSet<Prefix> = groups
            .chain([id])
            .filter_map(|id| self.object_users.get(&id))
            .flat_map(|users| users.iter().copied())
            .collect();
        for prefix in affected {
            self.apply(prefix);
        }
    }

    /// The usable ways of a route that leave by a twin.
    fn ways(&self, route: &Route) -> Option<Decision> {
        let mut hops = Vec::new();
        match route.object.and_then(|id| self.objects.get(&id)) {
            Some(NextHopObject::Blackhole) => return Some(Decision::Blackhole),
            Some(NextHopObject::Hop(hop)) => hops.push(*hop),
            Some(NextHopObject::Group(members)) => {
                hops.extend(members.iter().filter_map(|(id, weight)| match self.objects.get(id) {
                    Some(NextHopObject::Hop(hop)) => Some(Hop { weight: *weight, ..*hop }),
                    _ => None,
                }));
            }
            None => hops.extend_from_slice(&route.hops),
        }
        let mut ways: Vec<Way> = hops
            .iter()
            .filter(|hop| !hop.dead)
            .filter_map(|hop| {
                let interface = *self.numbers.get(&hop.if_index)?;
                self.leads_on(interface).then_some(Way { interface, gateway: hop.gateway, weight: hop.weight })
            })
            .collect();
        ways.sort_unstable();
        ways.dedup_by(|way, before| {
            let same = (way.interface, way.gateway) == (before.interface, before.gateway);
            if same {
                before.weight = before.weight.saturating_add(way.weight);
            }
            same
        });
        // More than the FIB takes do not all have to be used.
        ways.truncate(GROUP_MEMBERS_MAX);
        match *ways.as_slice() {
            [] => None,
            [way] => Some(way.neighbour().map_or(Decision::Glean(way.interface), Decision::NextHop)),
            _ => Some(Decision::Several(ways.into())),
        }
    }

    /// True where an interface carries packets now.
    fn leads_on(&self, interface: u16) -> bool {
        self.interfaces.get(usize::from(interface)).is_some_and(|interface| interface.up && interface.carrier)
    }

    /// What is to be done with a prefix: an address of the router before a session or pool, these before the kernel's routes,
    /// these by metric, and at last a neighbour that has just this address.
    fn decide(&self, prefix: Prefix, known: &Known) -> Option<(Decision, RouteSource, u32)> {
        if let Some(route) = known.routes.iter().find(|route| route.kind == RouteKind::Local) {
            return Some((Decision::Local, RouteSource::Local, route.metric));
        }
        if let Some(session) = known.session {
            return Some((Decision::Session(session), RouteSource::Session, 0));
        }
        if let Some(map) = known.pool {
            return Some((Decision::Pool(map), RouteSource::Pool, 0));
        }
        let by_kernel = known.routes.iter().find_map(|route| {
            let decision = match route.kind {
                RouteKind::Unicast => self.ways(route)?,
                // A directed broadcast is not forwarded (RFC 2644).
                RouteKind::Broadcast | RouteKind::Blackhole => Decision::Blackhole,
                RouteKind::Unreachable => Decision::Unreachable,
                RouteKind::Local => return None,
            };
            let source = match decision {
                Decision::Glean(_) => RouteSource::Connected,
                _ => RouteSource::Kernel(route.protocol),
            };
            Some((decision, source, route.metric))
        });
        let by_neighbour = |interface: u16| {
            let key = NeighbourKey { interface, address: prefix.address() };
            Some((Decision::Host(key), RouteSource::Neighbour, 0))
        };
        match (by_kernel, known.host_on) {
            (None, Some(interface)) if self.connected_by(prefix) == Some(interface) => by_neighbour(interface),
            // A connected network of this one address.
            (Some((Decision::Glean(connected), ..)), Some(interface)) if connected == interface && prefix.is_host() => {
                by_neighbour(interface)
            }
            (by_kernel, _) => by_kernel,
        }
    }

    /// The interface that a host's address is connected by, where the longest shorter prefix says so. Anyone on a link
    /// may have the kernel note a neighbour with any address (the sender of an ARP request, RFC 826): only what the
    /// routes call connected may become a route by that.
    fn connected_by(&self, host: Prefix) -> Option<u16> {
        let longest = (0..host.length()).rev().find_map(|length| {
            self.known.get(&Prefix::new(host.address(), length)?).and_then(|known| known.installed.as_ref())
        });
        match longest {
            Some((Decision::Glean(interface), ..)) => Some(*interface),
            _ => None,
        }
    }

    /// What covers hosts has changed: they are looked at again.
    fn look_at_hosts(&mut self, covering: Prefix) {
        let hosts: Vec<IpAddr> = self.hosts.range(covering.address()..=covering.last_address()).copied().collect();
        for host in hosts {
            self.apply(Prefix::host(host));
        }
    }

    /// Brings the FIB in line with what is known of a prefix.
    fn apply(&mut self, prefix: Prefix) {
        let Some(known) = self.known.get(&prefix) else {
            return;
        };
        let old = known.installed.clone();
        let wanted = self.decide(prefix, known);
        let is_wanted = wanted.is_some();
        let mut new = wanted;
        let same = match (&new, &old) {
            (Some((new, ..)), Some((old, ..))) => new == old,
            (new, old) => new.is_none() && old.is_none(),
        };
        if same {
            // The same ways are kept once for all prefixes.
            if let (Some((new, ..)), Some((old, ..))) = (&mut new, &old) {
                new.clone_from(old);
            }
        } else {
            let like = old.as_ref().and_then(|(decision, ..)| self.group_of(decision));
            new = new
                .and_then(|(decision, source, metric)| Some((self.install(prefix, decision, like)?, source, metric)));
            if new.is_none() && old.is_some() {
                self.table.remove(prefix);
            }
            // The old next hop is let go after the FIB has ceased to lead there.
            if let Some((decision, ..)) = &old {
                self.release(decision);
            }
            let count = match prefix.address() {
                IpAddr::V4(_) => &mut self.counts.routes_ipv4,
                IpAddr::V6(_) => &mut self.counts.routes_ipv6,
            };
            *count = *count + u64::from(new.is_some()) - u64::from(old.is_some());
        }
        if is_wanted && new.is_none() {
            self.missing.insert(prefix);
        } else if !self.missing.is_empty() {
            self.missing.remove(&prefix);
        }
        if let Some(known) = self.known.get_mut(&prefix) {
            known.installed = new;
            if known.is_empty() {
                self.known.remove(&prefix);
            }
        }
        if !prefix.is_host() && !same {
            self.look_at_hosts(prefix);
        }
    }

    /// Enters a decision in the FIB and returns it as it is to be kept; `None` where there is no room. Flows that the
    /// group `like` leads to one of several ways stay there.
    fn install(&mut self, prefix: Prefix, mut decision: Decision, like: Option<GroupId>) -> Option<Decision> {
        let action = match &mut decision {
            Decision::Local => Action::Local,
            Decision::Pool(map) => Action::Pool(*map),
            Decision::Session(session) => Action::Session(*session),
            Decision::Glean(interface) => Action::Glean(*interface),
            Decision::Unreachable => Action::Unreachable,
            Decision::Blackhole => Action::Blackhole,
            Decision::NextHop(key) => Action::Neighbour(self.retain(*key, true)?),
            Decision::Host(key) => Action::Neighbour(self.retain(*key, false)?),
            Decision::Several(ways) => Action::Group(self.retain_group(ways, like)?),
        };
        if self.table.set(prefix, action).is_err() {
            self.release(&decision);
            return None;
        }
        Some(decision)
    }

    fn group_of(&self, decision: &Decision) -> Option<GroupId> {
        match decision {
            Decision::Several(ways) => self.groups.get(ways).map(|group| group.id),
            _ => None,
        }
    }

    /// Counts a prefix as leading by several ways, which get a group if they have none; `ways` is made the one copy that
    /// all such prefixes share.
    fn retain_group(&mut self, ways: &mut Arc<[Way]>, like: Option<GroupId>) -> Option<GroupId> {
        if let Some((kept, _)) = self.groups.get_key_value(ways) {
            *ways = Arc::clone(kept);
        }
        if let Some(group) = self.groups.get_mut(ways) {
            group.uses += 1;
            return Some(group.id);
        }
        let (mut held, mut members) = (Vec::with_capacity(ways.len()), Vec::with_capacity(ways.len()));
        for way in ways.iter() {
            let action = match way.neighbour() {
                Some(key) => self.retain(key, true).map(Action::Neighbour),
                None => Some(Action::Glean(way.interface)),
            };
            let Some(action) = action else { break };
            held.push(*way);
            members.push((action, way.weight));
        }
        let complete = members.len() == ways.len();
        let id = if complete { self.table.create_group(&members, like).ok() } else { None };
        let Some(id) = id else {
            held.iter().for_each(|way| self.release_way(way));
            return None;
        };
        self.groups.insert(Arc::clone(ways), Group { id, uses: 1 });
        Some(id)
    }

    fn release_way(&mut self, way: &Way) {
        if let Some(key) = way.neighbour() {
            self.release_neighbour(key, true);
        }
    }

    /// Takes the ways out of all groups that do not lead on, as long as others do: at once for every prefix, before each
    /// of them is looked at. Puts them back where they lead on again.
    fn mend_groups(&mut self, interface: u16) {
        let affected: Vec<(GroupId, Arc<[Way]>)> = self
            .groups
            .iter()
            .filter(|(ways, _)| ways.iter().any(|way| way.interface == interface))
            .map(|(ways, group)| (group.id, Arc::clone(ways)))
            .collect();
        for (id, ways) in affected {
            let action = |way: &Way| match way.neighbour() {
                None => Some(Action::Glean(way.interface)),
                Some(key) => self.neighbours.get(&key)?.adjacency.map(Action::Neighbour),
            };
            let members: Vec<(Action, u32)> = ways
                .iter()
                .filter(|way| self.leads_on(way.interface))
                .filter_map(|way| Some((action(way)?, way.weight)))
                .collect();
            if !members.is_empty() {
                self.table.set_group(id, &members);
            }
        }
    }

    /// Counts a prefix as leading to a neighbour, which gets an adjacency if it has none.
    fn retain(&mut self, key: NeighbourKey, next_hop: bool) -> Option<AdjacencyId> {
        let config = &self.interfaces.get(usize::from(key.interface))?.config;
        let neighbour = self.neighbours.entry(key).or_default();
        let id = match neighbour.adjacency {
            Some(id) => id,
            None => {
                let Ok(id) = self.table.create_adjacency(config) else {
                    if neighbour.is_empty() {
                        self.neighbours.remove(&key);
                    }
                    return None;
                };
                if neighbour.mac.is_some() {
                    self.table.resolve_adjacency(id, config, neighbour.mac);
                }
                neighbour.adjacency = Some(id);
                self.by_adjacency.insert(id, key);
                id
            }
        };
        neighbour.uses += 1;
        if next_hop {
            neighbour.next_hop_uses += 1;
            if neighbour.next_hop_uses == 1 && !neighbour.permanent {
                self.asks.push((key, Ask::Managed));
            }
        }
        Some(id)
    }

    /// Counts a prefix as no longer leading there.
    fn release(&mut self, decision: &Decision) {
        match decision {
            Decision::NextHop(key) => self.release_neighbour(*key, true),
            Decision::Host(key) => self.release_neighbour(*key, false),
            Decision::Several(ways) => {
                let Some(group) = self.groups.get_mut(ways) else {
                    return;
                };
                group.uses -= 1;
                if group.uses == 0 {
                    self.table.release_group(group.id);
                    self.groups.remove(ways);
                    ways.iter().for_each(|way| self.release_way(way));
                }
            }
            Decision::Local
            | Decision::Pool(_)
            | Decision::Session(_)
            | Decision::Glean(_)
            | Decision::Unreachable
            | Decision::Blackhole => {}
        }
    }

    fn release_neighbour(&mut self, key: NeighbourKey, next_hop: bool) {
        let Some(neighbour) = self.neighbours.get_mut(&key) else {
            return;
        };
        neighbour.uses -= 1;
        if next_hop {
            neighbour.next_hop_uses -= 1;
            if neighbour.next_hop_uses == 0 && !neighbour.permanent {
                // Asking without the flag takes it away again.
                self.asks.push((key, Ask::Once));
            }
        }
        if neighbour.uses == 0
            && let Some(id) = neighbour.adjacency.take()
        {
            self.by_adjacency.remove(&id);
            self.table.release_adjacency(id);
        }
        if neighbour.is_empty() {
            self.neighbours.remove(&key);
        }
    }

    /// The kernel says what it has for a neighbour.
    fn neighbour_seen(&mut self, seen: NeighbourSeen) {
        let Some(&interface) = self.numbers.get(&seen.if_index) else {
            return;
        };
        if !is_unicast(seen.address) {
            return;
        }
        let key = NeighbourKey { interface, address: seen.address };
        if seen.mac.is_none() && !self.neighbours.contains_key(&key) {
            return;
        }
        let neighbour = self.neighbours.entry(key).or_default();
        neighbour.permanent = seen.permanent;
        if neighbour.mac != seen.mac {
            neighbour.mac = seen.mac;
            if let (Some(id), Some(interface)) = (neighbour.adjacency, self.interfaces.get(usize::from(interface))) {
                self.table.resolve_adjacency(id, &interface.config, seen.mac);
            }
        }
        // Only next hops are kept fresh by the kernel itself. A host that was found on a connected network is checked
        // when its entry grows stale, so that one that has gone does not stay in the FIB.
        if seen.stale && neighbour.next_hop_uses == 0 && neighbour.uses > 0 {
            self.asks.push((key, Ask::Once));
        }
        if !is_link_local(seen.address) {
            let prefix = Prefix::host(seen.address);
            if seen.mac.is_some() {
                self.hosts.insert(seen.address);
            } else {
                self.hosts.remove(&seen.address);
            }
            if seen.mac.is_some() || self.known.contains_key(&prefix) {
                self.known.entry(prefix).or_default().host_on = seen.mac.map(|_| interface);
                self.apply(prefix);
            }
        }
        if seen.mac.is_some() {
            let waiting = self.neighbours.get_mut(&key).map(|neighbour| std::mem::take(&mut neighbour.waiting));
            for target in waiting.unwrap_or_default() {
                self.answer(key, target);
            }
        } else if seen.failed {
            self.give_up(key);
        }
        self.forget_if_empty(key);
    }

    /// The kernel has dropped its entry; a next hop is asked for anew.
    fn neighbour_gone(&mut self, if_index: u32, address: IpAddr) {
        let Some(&interface) = self.numbers.get(&if_index) else {
            return;
        };
        let key = NeighbourKey { interface, address };
        let wanted = self.neighbours.get(&key).is_some_and(|neighbour| neighbour.next_hop_uses > 0);
        if wanted && self.interfaces.get(usize::from(interface)).is_some_and(|interface| interface.up) {
            self.asks.push((key, Ask::Managed));
        }
    }

    /// Tells who waits for a neighbour that it can be reached. A packet for a destination on a connected network goes
    /// by the FIB's entry for it: where that found no room, the packet would only come back.
    fn answer(&mut self, key: NeighbourKey, target: ResolveTarget) {
        let leads = match target {
            ResolveTarget::Adjacency(_) => true,
            ResolveTarget::Destination { .. } => {
                let known = self.known.get(&Prefix::host(key.address));
                known.is_some_and(|known| known.installed.is_some())
            }
        };
        self.events.push(if leads { Event::Resolved(target) } else { Event::Unreachable(target) });
    }

    /// Tells who waits for a neighbour that it cannot be reached.
    fn give_up(&mut self, key: NeighbourKey) {
        let Some(neighbour) = self.neighbours.get_mut(&key) else {
            return;
        };
        let waiting = std::mem::take(&mut neighbour.waiting);
        self.events.extend(waiting.into_iter().map(Event::Unreachable));
        self.forget_if_empty(key);
    }

    fn forget_if_empty(&mut self, key: NeighbourKey) {
        if self.neighbours.get(&key).is_some_and(Neighbour::is_empty) {
            self.neighbours.remove(&key);
        }
    }

    fn ask(&mut self, key: NeighbourKey) {
        let neighbour = self.neighbours.get(&key);
        if neighbour.is_some_and(|neighbour| neighbour.permanent) {
            return;
        }
        let managed = neighbour.is_some_and(|neighbour| neighbour.next_hop_uses > 0);
        self.asks.push((key, if managed { Ask::Managed } else { Ask::Once }));
    }

    /// A device came, went up or down, or is as it was.
    fn link(&mut self, if_index: u32, up: bool, carrier: bool, hosts_addresses: bool) {
        let Some(&number) = self.numbers.get(&if_index) else {
            if hosts_addresses {
                self.address_hosts.insert(if_index);
            }
            return;
        };
        let Some(interface) = self.interfaces.get_mut(usize::from(number)) else {
            return;
        };
        let was_up = std::mem::replace(&mut interface.up, up);
        let had_carrier = std::mem::replace(&mut interface.carrier, carrier);
        let (led_on, leads_on) = (was_up && had_carrier, up && carrier);
        let name = interface.config.name.clone();
        if was_up && !up {
            self.resync_wanted = true;
        }
        if up && !was_up {
            self.came_up = true;
        }
        if leads_on && !led_on {
            let keys: Vec<NeighbourKey> = self
                .neighbours
                .iter()
                .filter(|(key, neighbour)| key.interface == number && neighbour.next_hop_uses > 0)
                .map(|(key, _)| *key)
                .collect();
            keys.into_iter().for_each(|key| self.ask(key));
        }
        if led_on != leads_on {
            info!(interface = name, "the link is {}", if leads_on { "up" } else { "down" });
            self.mend_groups(number);
            self.decide_again(if_index);
        }
    }
}

impl<T: Table> Rib<T> {
    /// Looks again at the routes that can lead by a device.
    fn decide_again(&mut self, if_index: u32) {
        let by_device = |route: &Route| match route.object {
            // Which devices an object leads to takes as long to find out as deciding.
            Some(_) => true,
            None => route.hops.iter().any(|hop| hop.if_index == if_index),
        };
        let affected: Vec<Prefix> = self
            .known
            .iter()
            .filter(|(_, known)| known.routes.iter().any(by_device))
            .map(|(prefix, _)| *prefix)
            .collect();
        affected.into_iter().for_each(|prefix| self.apply(prefix));
    }
}

/// Enters a route among those of its prefix, which stay in the order of their metrics.
fn insert(routes: &mut Vec<Route>, route: Route, how: Entry) {
    if routes.contains(&route) {
        return;
    }
    let same = routes.iter().position(|old| old.metric == route.metric);
    match (how, same) {
        (Entry::Replace, Some(place)) => {
            if let Some(old) = routes.get_mut(place) {
                *old = route;
            }
        }
        (Entry::Append, Some(_)) => {
            // IPv6 tells all ways of a route with several again when one is added.
            let wider =
                |old: &&mut Route| old.metric == route.metric && old.hops.iter().all(|hop| route.hops.contains(hop));
            if let Some(old) = routes.iter_mut().find(wider).filter(|old| !old.hops.is_empty()) {
                *old = route;
                return;
            }
            let place = routes.partition_point(|old| old.metric <= route.metric);
            routes.insert(place, route);
        }
        _ => {
            let place = routes.partition_point(|old| old.metric < route.metric);
            routes.insert(place, route);
        }
    }
}

/// Takes a route out. `false` where none was just like it; the likeliest one is then out, and the kernel's table has
/// to be read anew.
fn remove(routes: &mut Vec<Route>, route: &Route) -> bool {
    let alike = |old: &Route| {
        old.metric == route.metric
            && old.kind == route.kind
            && match (old.object, route.object) {
                (None, None) => {
                    let ways = |hops: &[Hop]| hops.iter().map(|hop| (hop.if_index, hop.gateway)).collect::<Vec<_>>();
                    ways(&old.hops) == ways(&route.hops)
                }
                (old, new) => old == new,
            }
    };
    if let Some(place) = routes.iter().position(alike) {
        routes.remove(place);
        return true;
    }
    let Some(place) = routes.iter().position(|old| old.metric == route.metric && old.kind == route.kind) else {
        return false;
    };
    // IPv6 may take away one of several ways.
    if let Some(old) = routes.get_mut(place) {
        let gone = |hop: &Hop| route.hops.iter().any(|way| (way.if_index, way.gateway) == (hop.if_index, hop.gateway));
        let before = old.hops.len();
        old.hops.retain(|hop| !gone(hop));
        if old.hops.is_empty() {
            routes.remove(place);
        } else if old.hops.len() < before {
            return true;
        }
    }
    false
}

/// True for an address that one station can have.
fn is_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !v4.is_multicast() && !v4.is_broadcast() && !v4.is_unspecified(),
        IpAddr::V6(v6) => !v6.is_multicast() && !v6.is_unspecified(),
    }
}

/// True for fe80::/10, which is not forwarded (RFC 4291 section 2.5.6). IPv4's 169.254.0.0/16 is left alone: networks
/// are numbered from it in practice.
fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}
