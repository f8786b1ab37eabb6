//! The kernel's twins and the routing thread's settings.

use anyhow::Context as _;
use bng_config::Config;
use bng_control::CoreInterface;
use bng_routing::{InterfaceAddress, InterfaceConfig, PoolRoute, Prefix, RoutingConfig, StaticRoute, Twin, TwinConfig};
use bng_wire::ether::ethertype;
use bng_wire::{MacAddr, PortIndex, VlanTag, VrfId};

/// Makes a twin for each interface of the configuration, in its order.
///
/// # Errors
/// The kernel refuses one.
pub fn twins(config: &Config, macs: &[MacAddr]) -> anyhow::Result<Vec<CoreInterface>> {
    let twin = |interface: &bng_config::Interface| {
        let twin = Twin::create(&TwinConfig {
            name: interface.name.clone(),
            mac: mac(macs, interface.port),
            mtu: interface.mtu,
            addresses: interface
                .addresses
                .iter()
                .map(|address| InterfaceAddress { address: address.address, length: address.length })
                .collect(),
        })?;
        Ok(CoreInterface { twin, port: port(interface.port), vlan: interface.vlan })
    };
    config.interfaces.iter().map(twin).collect()
}

/// The routing thread's settings.
///
/// # Errors
/// A prefix that the configuration's own checks should have found.
pub fn settings(
    config: &Config,
    macs: &[MacAddr],
    interfaces: &[CoreInterface],
    pools: Vec<PoolRoute>,
) -> anyhow::Result<RoutingConfig> {
    let interface = |(from, made): (&bng_config::Interface, &CoreInterface)| InterfaceConfig {
        name: from.name.clone(),
        if_index: made.twin.if_index(),
        port: made.port,
        vlan: from.vlan.map(|vid| VlanTag { tpid: ethertype::DOT1Q, tci: vid }),
        mac: mac(macs, from.port),
        mtu: from.mtu,
    };
    let route = |from: &bng_config::StaticRoute| {
        let (address, length) = match from.to {
            bng_config::IpPrefix::V4(prefix) => (prefix.address().into(), prefix.length()),
            bng_config::IpPrefix::V6(prefix) => (prefix.address().into(), prefix.length()),
        };
        let to = Prefix::new(address, length).context("a prefix length out of range")?;
        Ok(StaticRoute { to, via: from.via, interface: u16::try_from(from.interface).ok() })
    };
    Ok(RoutingConfig {
        vrf: VrfId(0),
        interfaces: config.interfaces.iter().zip(interfaces).map(interface).collect(),
        pools,
        static_routes: config.routes.iter().map(route).collect::<anyhow::Result<_>>()?,
        cpus: vec![config.cores.control],
    })
}

fn port(index: usize) -> PortIndex {
    PortIndex(u8::try_from(index).unwrap_or(u8::MAX))
}

fn mac(macs: &[MacAddr], port: usize) -> MacAddr {
    macs.get(port).copied().unwrap_or_default()
}
