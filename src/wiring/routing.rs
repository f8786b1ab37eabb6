//! The kernel's twins and the routing thread's settings.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use bng_config::Config;
use bng_control::CoreInterface;
use bng_dpdk::Port;
use bng_routing::{
    Carrier, InterfaceAddress, InterfaceConfig, PoolRoute, Prefix, RoutingConfig, StaticRoute, Twin, TwinConfig,
};
use bng_wire::ether::ethertype;
use bng_wire::{MacAddr, PortIndex, VlanTag, VrfId};
use tracing::warn;

/// How often the ports' links are looked at. A driver's own word of a change (an interrupt) would be no faster where it
/// matters: routers that must know within milliseconds run BFD.
const LINK_INTERVAL: Duration = Duration::from_millis(50);

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

/// The thread that gives each twin the carrier that its port's link has. It ends when this is dropped.
#[derive(Debug)]
pub struct LinkWatch {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Watched {
    port: Arc<Port>,
    carriers: Vec<Carrier>,
    up: Option<bool>,
}

impl Watched {
    /// A link that a driver does not tell is taken to be up.
    fn look(&mut self) {
        let up = self.port.link().map_or(true, |link| link.up);
        if self.up == Some(up) {
            return;
        }
        self.up = Some(up);
        for carrier in &self.carriers {
            if let Err(error) = carrier.set(up) {
                warn!(interface = carrier.name(), up, %error, "the twin does not follow its port's link");
            }
        }
    }
}

/// Lets the carriers of `interfaces` follow the links of `ports`, from now on.
///
/// # Errors
/// No descriptor or no thread can be had.
pub fn watch_links(ports: &[Arc<Port>], interfaces: &[CoreInterface]) -> anyhow::Result<LinkWatch> {
    let mut watched = Vec::new();
    for (index, device) in ports.iter().enumerate() {
        let on_port = interfaces.iter().filter(|interface| usize::from(interface.port.0) == index);
        let carriers = on_port.map(|interface| interface.twin.carrier()).collect::<Result<Vec<_>, _>>();
        let carriers = carriers.context("a twin's carrier cannot be had")?;
        if !carriers.is_empty() {
            watched.push(Watched { port: Arc::clone(device), carriers, up: None });
        }
    }
    watched.iter_mut().for_each(Watched::look);
    let (stop, stopped) = channel::<()>();
    let watch = move || {
        while stopped.recv_timeout(LINK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            watched.iter_mut().for_each(Watched::look);
        }
    };
    // It inherits the control core's CPU from the caller.
    let thread =
        std::thread::Builder::new().name("bng-links".into()).spawn(watch).context("a thread cannot be started")?;
    Ok(LinkWatch { stop: Some(stop), thread: Some(thread) })
}

impl Drop for LinkWatch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            warn!("the thread that watches the links ended by a panic");
        }
    }
}
