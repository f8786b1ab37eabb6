//! Workers, drops, ports and routes as the management interface shows them.

use bng_api as api;
use bng_api::BackendError;
use bng_dataplane::{Reason, Verdict};
use bng_routing::{RouteAction, RouteSource, RouteView};
use bng_subscriber::{DiscoveryDrop, Drop as ControlDrop, Ipv6Discard, PppDiscard, Statistics};
use bng_wire::PortIndex;

use super::Observer;

/// Routes shown at most.
const ROUTES_MAX: usize = 100_000;

fn port_index(index: usize) -> PortIndex {
    PortIndex(u8::try_from(index).unwrap_or(u8::MAX))
}

/// Share of its time that a worker spent on turns with work since it started, 0 to 1.
pub(super) fn busy_ratio(status: &bng_worker::WorkerStatus) -> f64 {
    let busy = status.busy_cycles.get();
    let all = busy + status.idle_cycles.get() + status.sleep_cycles.get();
    if all == 0 { 0.0 } else { busy as f64 / all as f64 }
}

pub(super) fn workers(observer: &Observer) -> api::WorkersView {
    let worker = |(number, (counters, status)): (usize, (&_, &_))| {
        let counters: &bng_dataplane::WorkerCounters = counters;
        let status: &bng_worker::WorkerStatus = status;
        let ports: Vec<api::WorkerPortView> = observer
            .names
            .ports
            .iter()
            .enumerate()
            .filter_map(|(index, name)| {
                let port = counters.port(port_index(index))?;
                Some(api::WorkerPortView {
                    port: name.clone(),
                    rx_packets: port.rx_frames.get(),
                    rx_octets: port.rx_octets.get(),
                    tx_packets: port.tx_frames.get(),
                    tx_octets: port.tx_octets.get(),
                })
            })
            .collect();
        let drops = Reason::ALL.iter().filter(|reason| reason.verdict() == Verdict::Drop);
        api::WorkerView {
            worker: u32::try_from(number).unwrap_or(u32::MAX),
            cpu: observer.names.worker_cpus.get(number).map_or(0, |cpu| u32::try_from(*cpu).unwrap_or(u32::MAX)),
            busy_ratio: busy_ratio(status),
            rx_packets: ports.iter().map(|port| port.rx_packets).sum(),
            tx_packets: ports.iter().map(|port| port.tx_packets).sum(),
            punted_packets: status.punted.iter().map(bng_sync::Counter::get).sum(),
            injected_packets: status.injected.get(),
            dropped_packets: drops.map(|reason| counters.reason(*reason).get()).sum(),
            ports,
        }
    };
    let workers =
        observer.counters.iter().map(AsRef::as_ref).zip(observer.status.iter().map(AsRef::as_ref)).enumerate();
    api::WorkersView { workers: workers.map(worker).collect() }
}

pub(super) fn drops(
    observer: &Observer,
    statistics: &Statistics,
    discovery: &[u64; DiscoveryDrop::COUNT],
) -> api::DropsView {
    let by_workers = |reason: &Reason| {
        let workers: Vec<u64> = observer.counters.iter().map(|counters| counters.reason(*reason).get()).collect();
        api::DropView {
            reason: reason.label().to_owned(),
            verdict: match reason.verdict() {
                Verdict::Drop => "drop",
                Verdict::Punt => "punt",
            }
            .to_owned(),
            packets: workers.iter().sum(),
            workers,
            description: reason.describe().to_owned(),
            reference: reason.reference().to_owned(),
        }
    };
    let by_control = |reason: String, description: String, packets: u64| api::DropView {
        reason,
        verdict: "drop".to_owned(),
        packets,
        workers: Vec::new(),
        description,
        reference: String::new(),
    };
    let control = ControlDrop::ALL.iter().zip(statistics.dropped).map(|(reason, packets)| {
        by_control(format!("control_{}", reason.label()), reason.describe().to_owned(), packets)
    });
    let discovery = DiscoveryDrop::ALL.iter().zip(discovery).map(|(reason, packets)| {
        by_control(format!("discovery_{}", reason.label()), reason.describe().to_owned(), *packets)
    });
    let ppp = PppDiscard::ALL.iter().zip(statistics.ppp_discarded).map(|(reason, packets)| {
        by_control(reason.label().to_owned(), format!("A PPP control packet: {reason}."), packets)
    });
    let ipv6 = Ipv6Discard::ALL.iter().zip(statistics.ipv6_discarded).map(|(reason, packets)| {
        by_control(reason.label().to_owned(), format!("An IPv6 packet for the router: {reason}."), packets)
    });
    api::DropsView {
        drops: Reason::ALL.iter().map(by_workers).chain(control).chain(discovery).chain(ppp).chain(ipv6).collect(),
    }
}

pub(super) fn ports(observer: &Observer) -> api::PortsView {
    let port = |port: &super::ObservedPort| {
        let link = port.device.link().ok();
        let stats = port.device.stats().unwrap_or_default();
        let roles = [(port.config.is_access, "access"), (port.config.is_core, "core")];
        api::PortView {
            name: port.config.name.clone(),
            device: port.config.device.clone(),
            driver: port.config.device_name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned(),
            mac: port.mac.to_string(),
            roles: roles.into_iter().filter(|(is, _)| *is).map(|(_, role)| role.to_owned()).collect(),
            link_up: link.is_some_and(|link| link.up),
            speed_mbps: link.and_then(|link| link.speed_mbps),
            mtu: port.device.mtu(),
            queues: port.config.queues,
            rss: port.spread.label().to_owned(),
            rx_packets: stats.rx_packets,
            rx_octets: stats.rx_octets,
            rx_missed: stats.rx_missed,
            rx_errors: stats.rx_errors,
            rx_no_buffer: stats.rx_no_mbuf,
            tx_packets: stats.tx_packets,
            tx_octets: stats.tx_octets,
            tx_errors: stats.tx_errors,
        }
    };
    api::PortsView { ports: observer.ports.iter().map(port).collect() }
}

pub(super) fn routes(observer: &Observer) -> Result<api::RoutesView, BackendError> {
    let routes = observer.routing.routes(ROUTES_MAX).map_err(|error| BackendError::Busy(error.to_string()))?;
    Ok(api::RoutesView { routes: routes.into_iter().map(route).collect() })
}

/// Who made a route, in a word; protocols have the names of `ip route` (rtnetlink.h, `RTPROT_*`).
fn source(source: RouteSource) -> String {
    let name = match source {
        RouteSource::Local => "local",
        RouteSource::Connected => "connected",
        RouteSource::Neighbour => "neighbour",
        RouteSource::Pool => "pool",
        RouteSource::Session => "subscriber",
        RouteSource::Kernel(protocol) => match protocol {
            1 => "redirect",
            2 => "kernel",
            3 => "boot",
            4 => "static",
            9 => "ra",
            11 => "zebra",
            12 => "bird",
            16 => "dhcp",
            186 => "bgp",
            187 => "isis",
            188 => "ospf",
            189 => "rip",
            192 => "eigrp",
            196 => "frr-static",
            number => return number.to_string(),
        },
    };
    name.to_owned()
}

fn route(view: RouteView) -> api::RouteView {
    let mut shown = api::RouteView {
        prefix: view.prefix.to_string(),
        vrf: 0,
        kind: api::RouteKind::Unreachable,
        next_hop: None,
        interface: None,
        mac: None,
        target: None,
        ways: Vec::new(),
        source: source(view.source),
        metric: view.metric,
    };
    shown.kind = match view.action {
        RouteAction::Local => api::RouteKind::Local,
        RouteAction::Pool(map) => {
            shown.target = Some(map.to_string());
            api::RouteKind::Pool
        }
        RouteAction::Session(index) => {
            shown.target = Some(index.to_string());
            api::RouteKind::Session
        }
        RouteAction::Connected { interface } => {
            shown.interface = Some(interface);
            api::RouteKind::Connected
        }
        RouteAction::Neighbour { via, interface, mac } => {
            shown.next_hop = Some(via);
            shown.interface = Some(interface);
            shown.mac = mac.map(|mac| mac.to_string());
            api::RouteKind::Neighbour
        }
        RouteAction::Several(ways) => {
            let way = |way: bng_routing::WayView| api::WayView {
                next_hop: way.via,
                interface: way.interface,
                mac: way.mac.map(|mac| mac.to_string()),
                weight: way.weight,
            };
            shown.ways = ways.into_iter().map(way).collect();
            api::RouteKind::Several
        }
        RouteAction::Unreachable => api::RouteKind::Unreachable,
        RouteAction::Blackhole => api::RouteKind::Blackhole,
    };
    shown
}
