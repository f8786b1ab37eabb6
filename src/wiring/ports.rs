//! DPDK: the EAL, packet buffers and ports.

use std::sync::Arc;

use anyhow::Context as _;
use bng_config::{Config, Hugepages};
use bng_dpdk::{Eal, EalConfig, HugePages, Mempool, MempoolConfig, Netns, Port, PortConfig, RxQueue, TxQueue};
use bng_wire::MacAddr;

/// Buffers that each worker may keep at hand, and hold in bursts under way.
const MBUFS_PER_WORKER: u32 = 2 * 512;

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
        Port::open(&eal, &port_config(port), &pool).map(Arc::new).with_context(|| format!("port {}", port.name))
    };
    let ports = config.ports.iter().map(open).collect::<anyhow::Result<_>>()?;
    Ok(Dpdk { ports, pool, eal })
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

/// One worker's queues of one port.
pub type Share = (Vec<RxQueue>, TxQueue);

/// The queues of each worker: `[worker][port]`. Receive queue `q` goes to worker `q` modulo the number of workers;
/// every worker has the transmit queue of its own number.
///
/// # Errors
/// A port with fewer transmit queues than there are workers.
pub fn share_queues(ports: &[Arc<Port>], workers: usize) -> anyhow::Result<Vec<Vec<Share>>> {
    let mut shares: Vec<Vec<Share>> = (0..workers).map(|_| Vec::with_capacity(ports.len())).collect();
    for port in ports {
        let (rx, tx) = port.take_queues();
        let have = tx.len();
        let mut of_worker: Vec<Vec<RxQueue>> = (0..workers).map(|_| Vec::new()).collect();
        for (number, queue) in rx.into_iter().enumerate() {
            if let Some(queues) = of_worker.get_mut(number % workers) {
                queues.push(queue);
            }
        }
        let mut tx = tx.into_iter();
        for (share, rx) in shares.iter_mut().zip(of_worker) {
            let tx = tx.next().with_context(|| {
                format!(
                    "port {} has {have} transmit queues for {workers} workers: each worker needs its own",
                    port.name()
                )
            })?;
            share.push((rx, tx));
        }
    }
    Ok(shares)
}
