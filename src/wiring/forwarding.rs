//! The tables that the workers read.

use std::net::IpAddr;
use std::sync::Arc;

use anyhow::Context as _;
use bng_config::Config;
use bng_control::PoolBinding;
use bng_dataplane::{PortEntry, PortRole, PortTable, TpidSet, VidSet};
use bng_fib::{Fib, FibConfig, FibWriter};
use bng_routing::{PoolRoute, Prefix};
use bng_session::{PoolMap4, PoolMap6, PoolMaps, SessionTable, SessionWriter, TableConfig};
use bng_sync::{Placement, Qsbr};
use bng_wire::MacAddr;

/// The tables, and the writers' ends of those that have one writer.
#[derive(Debug)]
pub struct Tables {
    /// Who reads: one place for each worker, and the last for the control core.
    pub grace: Arc<Qsbr>,
    /// Sessions.
    pub sessions: Arc<SessionTable>,
    /// The control core's end.
    pub session_writer: SessionWriter,
    /// Routes.
    pub fib: Arc<Fib>,
    /// The routing thread's end.
    pub fib_writer: FibWriter,
    /// Pools.
    pub pools: Arc<PoolMaps>,
    /// Where each pool of the subscribers stands in `pools`, in their order: IPv4 pools, then IPv6 pools.
    pub bindings: Vec<PoolBinding>,
    /// The pools as routes.
    pub pool_routes: Vec<PoolRoute>,
}

/// Makes the tables. `sessions_max` is the subscribers' [`bng_subscriber::Limits::table_size`].
///
/// # Errors
/// Memory cannot be reserved, or a pool has no map.
pub fn tables(config: &Config, sessions_max: u32, placement: Placement) -> anyhow::Result<Tables> {
    let workers = config.cores.workers.len();
    let grace = Qsbr::new(workers + 1);
    let table = TableConfig { sessions_max: sessions_max as usize, workers, placement };
    let (sessions, session_writer) =
        SessionTable::new(table, Arc::clone(&grace)).context("the session table cannot be made")?;
    let fib_config = FibConfig {
        routes4_max: config.limits.ipv4_routes_max as usize,
        routes6_max: config.limits.ipv6_routes_max as usize,
        placement,
        adjacencies_max: config.limits.neighbours_max as usize,
        flow_seed: flow_seed(&config.node.name),
        ..FibConfig::default()
    };
    let (fib, fib_writer) = Fib::new(&fib_config, &grace).context("the routing table cannot be made")?;
    let pools = Arc::new(PoolMaps::new());
    let mut bindings = Vec::new();
    let mut pool_routes = Vec::new();
    for pool in &config.ipv4_pools {
        let first = pool.prefix.address();
        let count = pool.prefix.last().to_bits().wrapping_sub(first.to_bits()).saturating_add(1);
        let map = PoolMap4::new(first, count, placement).with_context(|| format!("pool {}", pool.name))?;
        let map = pools.add4(map).with_context(|| format!("pool {}: too many pools", pool.name))?;
        bindings.push(PoolBinding::Ipv4 { map, first });
        let prefix = Prefix::new(first.into(), pool.prefix.length()).context("an IPv4 prefix length")?;
        pool_routes.push(PoolRoute { prefix, map });
    }
    for pool in &config.ipv6_pools {
        let first = pool.prefix.address();
        let map = PoolMap6::new(first, pool.prefix.length(), pool.length, placement)
            .with_context(|| format!("pool {}", pool.name))?;
        let map = pools.add6(map).with_context(|| format!("pool {}: too many pools", pool.name))?;
        bindings.push(PoolBinding::Ipv6 { map, first, length: pool.length });
        let prefix = Prefix::new(first.into(), pool.prefix.length()).context("an IPv6 prefix length")?;
        pool_routes.push(PoolRoute { prefix, map });
    }
    Ok(Tables { grace, sessions, session_writer, fib, fib_writer, pools, bindings, pool_routes })
}

/// A number that is another one for each node and the same after every start (FNV-1a), so that flows keep their ways.
fn flow_seed(node: &str) -> u64 {
    node.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, octet| (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3))
}

/// What the pipeline knows of the ports; `macs` are theirs, in the order of the configuration.
#[must_use]
pub fn port_table(config: &Config, macs: &[MacAddr]) -> PortTable {
    let entries = config.ports.iter().zip(macs).enumerate().map(|(index, (port, mac))| {
        let vids = VidSet::default();
        for interface in config.interfaces.iter().filter(|interface| interface.port == index) {
            vids.insert(interface.vlan.unwrap_or(0));
        }
        PortEntry {
            role: if port.is_access { PortRole::Access } else { PortRole::Core },
            mac: *mac,
            mtu: port.mtu,
            // Which tag protocol identifiers a line must have is the access list's affair, and part of a session's key.
            tpids: TpidSet::ALL,
            vids,
        }
    });
    let table = PortTable::new(entries.collect());
    for (number, map) in config.priority_maps.iter().enumerate() {
        for (dscp, pcp) in (0u8..).zip(map) {
            // The configuration has no more maps and no higher values than there are.
            let known = table.priorities().set(number, dscp, *pcp);
            debug_assert!(known, "a priority map without a place");
        }
    }
    table.priorities().set_control(config.limits.control_priority);
    table.priorities().set_control_dscp(config.limits.control_dscp);
    // ICMP errors come from the first core interface where a session has no gateway of its own.
    let addresses = || config.interfaces.iter().flat_map(|interface| &interface.addresses).map(|own| own.address);
    table.router().set_ipv4(addresses().find_map(|address| match address {
        IpAddr::V4(v4) => Some(v4),
        IpAddr::V6(_) => None,
    }));
    table.router().set_ipv6(addresses().find_map(|address| match address {
        IpAddr::V6(v6) if !v6.is_unicast_link_local() => Some(v6),
        _ => None,
    }));
    table
}
