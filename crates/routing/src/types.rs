//! What the other crates tell this one and hear from it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bng_fib::AdjacencyId;
use bng_wire::id::{MacAddr, PortIndex, VlanTag, VrfId};

/// An IP prefix in canonical form: no bit is set behind the length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// The prefix of `length` bits (IPv4: 0 to 32, IPv6: 0 to 128) that holds `address`; `None` for a length that is
    /// too great. Bits behind the length are cleared.
    #[must_use]
    pub fn new(address: IpAddr, length: u8) -> Option<Self> {
        let address = match address {
            IpAddr::V4(v4) => {
                let kept = u32::MAX.checked_shl(32u32.checked_sub(u32::from(length))?).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from(u32::from(v4) & kept))
            }
            IpAddr::V6(v6) => {
                let kept = u128::MAX.checked_shl(128u32.checked_sub(u32::from(length))?).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from(u128::from(v6) & kept))
            }
        };
        Some(Self { address, length })
    }

    /// The prefix that holds `address` alone: /32 or /128.
    #[must_use]
    pub const fn host(address: IpAddr) -> Self {
        let length = match address {
            IpAddr::V4(_) => 32,
            IpAddr::V6(_) => 128,
        };
        Self { address, length }
    }

    /// The first address.
    #[must_use]
    pub const fn address(self) -> IpAddr {
        self.address
    }

    /// The number of leading bits that count.
    #[must_use]
    pub const fn length(self) -> u8 {
        self.length
    }

    /// The last address.
    #[must_use]
    pub fn last_address(self) -> IpAddr {
        match self.address {
            IpAddr::V4(v4) => {
                let free = u32::MAX.checked_shr(u32::from(self.length)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from(u32::from(v4) | free))
            }
            IpAddr::V6(v6) => {
                let free = u128::MAX.checked_shr(u32::from(self.length)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from(u128::from(v6) | free))
            }
        }
    }

    /// True for a prefix of one address.
    #[must_use]
    pub const fn is_host(self) -> bool {
        self.length == Self::host(self.address).length
    }

    /// True where `address` is of the same family and lies inside.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && Self::new(address, self.length) == Some(self)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.length)
    }
}

/// One core interface: a port, or a VLAN on a port, with the kernel device that stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceConfig {
    /// Its name in the configuration, which is also the name of the twin.
    pub name: String,
    /// The kernel's index of the twin ([`Twin::if_index`](crate::Twin::if_index)).
    pub if_index: u32,
    /// The port that its frames leave by.
    pub port: PortIndex,
    /// The tag that its frames carry.
    pub vlan: Option<VlanTag>,
    /// The source address of its frames: the port's own.
    pub mac: MacAddr,
    /// The largest IP packet that it carries, in octets.
    pub mtu: u16,
}

/// A pool of subscriber addresses, as the routing table sees it: one prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PoolRoute {
    /// The whole pool.
    pub prefix: Prefix,
    /// The pool's number in the data plane (`NextHop::Pool`).
    pub map: u16,
}

/// A session of the forwarding plane that a route leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionRef {
    /// Its place in the session table.
    pub index: u32,
    /// The place's generation: a route to a session that has ended leads nowhere.
    pub generation: u32,
}

/// A route from the configuration, which is written to the kernel's table and learned back from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StaticRoute {
    /// Where it leads.
    pub to: Prefix,
    /// The next router.
    pub via: IpAddr,
    /// The interface, as an index into [`RoutingConfig::interfaces`]; needed for a link-local `via`. Where there is
    /// none the kernel finds it from its connected routes.
    pub interface: Option<u16>,
}

/// What the routing thread is started with.
#[derive(Debug, Clone, Default)]
pub struct RoutingConfig {
    /// The routing instance that everything is entered in.
    pub vrf: VrfId,
    /// The core interfaces. Their place in this list is the interface number of `NextHop::Glean` and of
    /// [`ResolveTarget::Destination`]. At most 65,535.
    pub interfaces: Vec<InterfaceConfig>,
    /// The subscriber pools.
    pub pools: Vec<PoolRoute>,
    /// The routes of the configuration.
    pub static_routes: Vec<StaticRoute>,
    /// The CPUs that the thread may use; empty: those of the thread that starts it. The EAL pins the thread that
    /// starts it, and new threads inherit that, so a caller names the CPUs that are not the workers'.
    pub cpus: Vec<usize>,
}

/// What a packet waits for: who the control core asks the routing thread to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResolveTarget {
    /// A host on a connected network (`NextHop::Glean`).
    Destination {
        /// The interface number.
        interface: u16,
        /// The packet's destination.
        address: IpAddr,
    },
    /// A next hop whose adjacency has no link-layer address yet.
    Adjacency(AdjacencyId),
}

/// What the routing thread tells the control core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The target can be reached now: the FIB leads there. Packets held for it may go.
    Resolved(ResolveTarget),
    /// The target did not answer in [`RESOLVE_TIMEOUT`](crate::RESOLVE_TIMEOUT), or is not known. Packets held for it
    /// are to be dropped.
    Unreachable(ResolveTarget),
}

/// A route as an operator sees it: what the workers use, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteView {
    /// Where it leads.
    pub prefix: Prefix,
    /// Who made it.
    pub source: RouteSource,
    /// What the workers do with a packet for it.
    pub action: RouteAction,
    /// The kernel's metric, 0 for what did not come from the kernel's table.
    pub metric: u32,
}

/// Who made a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RouteSource {
    /// An address of the router.
    Local,
    /// The network of an interface.
    Connected,
    /// A host found on the network of an interface.
    Neighbour,
    /// A subscriber pool.
    Pool,
    /// An address or network of one subscriber, outside all pools.
    Session,
    /// The kernel's table, by the given protocol number (`RTPROT_*`).
    Kernel(u8),
}

/// What the workers do with a packet that a route leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteAction {
    /// Hand it to the kernel twin.
    Local,
    /// Look the subscriber up in a pool, by the pool's number.
    Pool(u16),
    /// Send it to the session at this place of the table.
    Session(u32),
    /// Find the destination itself on the interface of this name.
    Connected {
        /// The interface.
        interface: String,
    },
    /// Send it to a neighbour.
    Neighbour {
        /// The neighbour.
        via: IpAddr,
        /// The interface.
        interface: String,
        /// The neighbour's MAC address, once it is known.
        mac: Option<MacAddr>,
    },
    /// Send it by one of several ways, each flow by the same.
    Several(Vec<WayView>),
    /// Drop it and say so by ICMP.
    Unreachable,
    /// Drop it in silence.
    Blackhole,
}

/// One of several ways of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WayView {
    /// The neighbour; `None` where the destination itself is on the interface.
    pub via: Option<IpAddr>,
    /// The interface.
    pub interface: String,
    /// The neighbour's MAC address, once it is known.
    pub mac: Option<MacAddr>,
    /// How many of the flows go by it, in relation to the other ways.
    pub weight: u32,
}

/// How much the routing thread knows and has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoutingCounts {
    /// Routes in force in the FIB, IPv4.
    pub routes_ipv4: u64,
    /// Routes in force in the FIB, IPv6.
    pub routes_ipv6: u64,
    /// Neighbours with a link-layer address.
    pub neighbours_resolved: u64,
    /// Neighbours wanted and without one.
    pub neighbours_unresolved: u64,
    /// Full reads of the kernel's tables after the first: the kernel's queue of messages had run over.
    pub resyncs: u64,
    /// Routes that found no room in the FIB and are missing there now; tried again every few seconds.
    pub refused: u64,
    /// Messages of the kernel that could not be read.
    pub unreadable: u64,
    /// Requests to resolve that found the thread's queue full.
    pub requests_dropped: u64,
    /// Events that found the control core's queue full.
    pub events_dropped: u64,
}
