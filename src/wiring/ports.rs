//! DPDK: the EAL, packet buffers and ports.

use std::sync::Arc;

use anyhow::Context as _;
use bng_config::{Config, Hugepages, Rss};
use bng_dpdk::{Eal, EalConfig, HugePages, Mempool, MempoolConfig, Netns, Port, PortConfig, PortError, RxQueue};
use bng_wire::{MacAddr, PortIndex};
use bng_worker::{PEER_RING_FRAMES, Peers, Transmit, WorkerPort};
use tracing::{info, warn};

/// Buffers that each worker may keep at hand, hold in bursts under way, and have in the ring from another worker.
const MBUFS_PER_WORKER: u32 = 2 * 512 + PEER_RING_FRAMES;

/// Everything of DPDK's. Fields are dropped in their order: ports before the pool, the EAL last.
pub struct Dpdk {
    /// The ports, in the order of the configuration.
    pub ports: Vec<Arc<Port>>,
    /// The buffers.
    pub pool: Mempool,
    /// The EAL.
    pub eal: Eal,
}

/// Starts the EAL and opens every port. The calling thread becomes the EAL's main lcore and is pinned to the control
/// CPU.
///
/// # Errors
/// One sentence that names the cause; ports opened before it are closed again.
pub fn open(config: &Config, file_prefix: &str) -> anyhow::Result<Dpdk> {
    let eal = Eal::init(EalConfig {
        file_prefix: file_prefix.to_owned(),
        huge_pages: match config.dpdk.hugepages {
            Hugepages::Auto => HugePages::Auto,
            Hugepages::Required => HugePages::Required,
            Hugepages::Off => HugePages::None,
        },
        memory_mb: config.dpdk.memory_mb,
        main_cpu: config.cores.control,
        worker_cpus: config.cores.workers.clone(),
        pci_addresses: config.ports.iter().filter(|port| !port.is_virtual).map(|port| port.device.clone()).collect(),
        extra_args: config.dpdk.eal_args.clone(),
        log: None,
    })?;
    let pool = Mempool::new(&eal, &mempool(config))?;
    let open = |port: &bng_config::Port| {
        open_port(&eal, &pool, port).map(Arc::new).with_context(|| format!("port {}", port.name))
    };
    let ports = config.ports.iter().map(open).collect::<anyhow::Result<_>>()?;
    Ok(Dpdk { ports, pool, eal })
}

/// Opens a port with as many queues as configured, or as many as its device has where that is fewer (virtio often has
/// one): the workers share what there is.
fn open_port(eal: &Eal, pool: &Mempool, port: &bng_config::Port) -> Result<Port, PortError> {
    let mut config = port_config(port);
    loop {
        match Port::open(eal, &config, pool) {
            Err(PortError::QueueCount { max, wanted, side, .. }) if 0 < max && max < wanted => {
                warn!(port = port.name, wanted, max, "the device has fewer {side} queues");
                (config.rx_queues, config.tx_queues) = (max, max);
            }
            outcome => return outcome,
        }
    }
}

fn mempool(config: &Config) -> MempoolConfig {
    let descriptors = |port: &bng_config::Port| {
        u32::from(port.queues).saturating_mul(u32::from(port.rx_descriptors) + u32::from(port.tx_descriptors))
    };
    let workers = u32::try_from(config.cores.workers.len()).unwrap_or(u32::MAX);
    let needed = config
        .ports
        .iter()
        .map(descriptors)
        .fold(workers.saturating_mul(MBUFS_PER_WORKER), u32::saturating_add)
        .max(4096);
    // A power of two less one wastes the least memory.
    let mbufs = config.dpdk.mbufs.unwrap_or_else(|| needed.checked_next_power_of_two().map_or(needed, |n| n - 1));
    let mtu_max = config.ports.iter().map(|port| port.mtu).max().unwrap_or(1500);
    let default = MempoolConfig::default();
    // Header, two tags, and the four octets of FCS that some NICs leave on.
    let data_room_octets = default.data_room_octets.max(mtu_max.saturating_add(14 + 8 + 4));
    MempoolConfig { mbufs, data_room_octets, ..default }
}

fn port_config(port: &bng_config::Port) -> PortConfig {
    PortConfig {
        device: port.device.clone(),
        netns: port.netns.as_deref().map(Netns::new),
        rx_queues: port.queues,
        tx_queues: port.queues,
        rx_descriptors: port.rx_descriptors,
        tx_descriptors: port.tx_descriptors,
        mtu: port.mtu,
        mac: port.mac,
        promiscuous: true,
    }
}

/// The ports' MAC addresses, in their order.
///
/// # Errors
/// A driver does not say.
pub fn macs(ports: &[Arc<Port>]) -> anyhow::Result<Vec<MacAddr>> {
    ports.iter().map(|port| Ok(MacAddr(port.mac()?))).collect()
}

/// Who spreads a port's frames over the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// There is one worker.
    Single,
    /// The device, or the kernel behind a tap.
    Hardware,
    /// The workers that poll its queues hand flows to the others.
    Software,
}

impl Spread {
    /// Its word in metrics and in `bngctl show ports`.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Hardware => "hardware",
            Self::Software => "software",
        }
    }

    /// What is in force for a port with so many queues. `hashes`: the device spreads this port's frames by itself.
    const fn of(wanted: Rss, hashes: bool, queues: usize, workers: usize) -> Self {
        match wanted {
            _ if workers < 2 => Self::Single,
            Rss::Auto | Rss::Hardware if hashes && queues >= workers => Self::Hardware,
            _ => Self::Software,
        }
    }
}

/// The workers' parts of the ports: `[worker][port]`, their rings to each other, and how each port's frames are spread.
pub struct Shares {
    /// By worker, then in the order of the ports.
    pub ports: Vec<Vec<WorkerPort>>,
    /// By worker.
    pub peers: Vec<Peers>,
    /// By port.
    pub spread: Vec<Spread>,
}

/// Shares the queues. Receive queue `q` goes to worker `q` modulo the number of workers; a worker has the transmit queue
/// of its own number, or sends by the worker whose number is its own modulo that of the queues.
///
/// # Errors
/// A port without a queue, or no memory for rings between workers.
pub fn share_queues(config: &Config, dpdk: &Dpdk, seed: u64) -> anyhow::Result<Shares> {
    let workers = config.cores.workers.len();
    let mut shares: Vec<Vec<WorkerPort>> = (0..workers).map(|_| Vec::with_capacity(dpdk.ports.len())).collect();
    let mut spreads = Vec::with_capacity(dpdk.ports.len());
    let mut rings = false;
    for ((port, from), index) in dpdk.ports.iter().zip(&config.ports).zip(0u8..) {
        let (rx, tx) = port.take_queues();
        let (have, frame_octets_max) = (tx.len(), port.frame_octets_max());
        anyhow::ensure!(have > 0, "port {} has no queue", from.name);
        // A tap's frames are spread by the kernel, which sees into PPPoE.
        let hashes = from.is_net_tap || if from.is_access { port.hashes_inside_pppoe() } else { port.hashes() };
        let spread = Spread::of(from.rss, hashes, rx.len(), workers);
        anyhow::ensure!(
            from.rss != Rss::Hardware || spread != Spread::Software,
            "port {}: rss: hardware, but its {} queues for {workers} workers do not spread its frames: set rss: auto",
            from.name,
            rx.len()
        );
        if spread == Spread::Software {
            let asked = from.rss == Rss::Software;
            tell_of_software(&from.name, asked, hashes, rx.len(), workers);
        }
        rings |= spread == Spread::Software || have < workers;
        let mut of_worker: Vec<Vec<RxQueue>> = (0..workers).map(|_| Vec::new()).collect();
        for (number, queue) in rx.into_iter().enumerate() {
            if let Some(queues) = of_worker.get_mut(number % workers) {
                queues.push(queue);
            }
        }
        let mut tx = tx.into_iter();
        for ((number, share), rx) in shares.iter_mut().enumerate().zip(of_worker) {
            let through = Transmit::Through { worker: number % have, frame_octets_max };
            share.push(WorkerPort {
                port: PortIndex(index),
                rx,
                tx: tx.next().map_or(through, Transmit::Own),
                steer: spread == Spread::Software,
            });
        }
        spreads.push(spread);
    }
    let peers = if rings {
        Peers::mesh(&dpdk.eal, &dpdk.pool, "peer", workers, seed).context("the rings between the workers")?
    } else {
        (0..workers).map(|_| Peers::none()).collect()
    };
    Ok(Shares { ports: shares, peers, spread: spreads })
}

fn tell_of_software(port: &str, asked: bool, hashes: bool, queues: usize, workers: usize) {
    if asked {
        info!(port, "the workers share this port's load, as configured");
    } else if hashes {
        warn!(
            port,
            queues, workers, "the port has fewer queues than there are workers: they share its load in software"
        );
    } else {
        warn!(port, "the port cannot spread its frames over queues by itself: the workers share its load in software");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p69_software_takes_over_where_the_card_cannot() {
        use Spread::{Hardware, Single, Software};
        for (wanted, hashes, queues, workers, is) in [
            (Rss::Auto, true, 4, 4, Hardware),
            (Rss::Auto, true, 1, 4, Software),
            (Rss::Auto, false, 4, 4, Software),
            (Rss::Hardware, true, 4, 4, Hardware),
            (Rss::Hardware, false, 4, 4, Software),
            (Rss::Software, true, 4, 4, Software),
            (Rss::Software, true, 1, 1, Single),
            (Rss::Auto, false, 1, 1, Single),
        ] {
            assert_eq!(Spread::of(wanted, hashes, queues, workers), is, "{wanted:?} {hashes} {queues} {workers}");
        }
    }
}
