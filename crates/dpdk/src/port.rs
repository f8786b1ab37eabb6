//! Ports: opening, what can be asked of one, closing.

use crate::device::{Device, c_string};
use crate::eal::{Eal, error_text};
use crate::limits::{TAP_RX_DESCRIPTORS_MAX, check, check_interface};
use crate::log;
use crate::mempool::Mempool;
use crate::netns::Netns;
use crate::port_error::PortError;
use crate::queue::{RxQueue, TxQueue};
use crate::rings::Ring;
use crate::signals;
use parking_lot::Mutex;
use std::ffi::{CStr, c_int};
use std::sync::Arc;

/// Ethernet header and two tags: what a frame may have beyond the MTU.
const HEADER_OCTETS_MAX: u16 = 14 + 2 * 4;

/// How a port is set up.
#[derive(Debug, Clone)]
pub struct PortConfig {
    /// A PCI address, or a virtual device with its arguments: see [`Device::parse`].
    pub device: String,
    /// The network namespace that a device of the kernel's (net_tap, net_af_packet) is made in.
    pub netns: Option<Netns>,
    /// Receive queues: 1 to what the device has (net_tap: [`crate::TAP_QUEUES_MAX`], as many as transmit queues).
    pub rx_queues: u16,
    /// Transmit queues.
    pub tx_queues: u16,
    /// Descriptors of each receive queue; moved to the nearest number that the device takes (net_tap: at most 16). The
    /// device holds a buffer of the pool for each.
    pub rx_descriptors: u16,
    /// Descriptors of each transmit queue; moved to the nearest number that the device takes.
    pub tx_descriptors: u16,
    /// Octets of payload of an Ethernet frame, the two tags not counted.
    pub mtu: u16,
    /// The MAC address to take on; the device's own where there is none.
    pub mac: Option<[u8; 6]>,
    /// Receive frames for other stations as well.
    pub promiscuous: bool,
}

impl Default for PortConfig {
    fn default() -> Self {
        Self {
            device: String::new(),
            netns: None,
            rx_queues: 1,
            tx_queues: 1,
            rx_descriptors: 1024,
            tx_descriptors: 1024,
            mtu: 1500,
            mac: None,
            promiscuous: true,
        }
    }
}

/// What the link is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkState {
    /// True where frames can pass.
    pub up: bool,
    /// Megabits a second; none where the device does not say.
    pub speed_mbps: Option<u32>,
    /// True for full duplex.
    pub full_duplex: bool,
}

/// What the device counted since it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortStats {
    /// Frames received.
    pub rx_packets: u64,
    /// Frames transmitted.
    pub tx_packets: u64,
    /// Octets received.
    pub rx_octets: u64,
    /// Octets transmitted.
    pub tx_octets: u64,
    /// Frames lost by the device because no descriptor was free.
    pub rx_missed: u64,
    /// Frames received with an error.
    pub rx_errors: u64,
    /// Frames not transmitted because of an error.
    pub tx_errors: u64,
    /// Frames lost because no buffer was free.
    pub rx_no_mbuf: u64,
}

/// An open port. It is stopped and closed when the port and all its queues have been dropped.
pub struct Port {
    shared: Arc<Shared>,
    queues: Mutex<Option<Queues>>,
}

/// A port's queues, receive and transmit.
type Queues = (Vec<RxQueue>, Vec<TxQueue>);

/// What a port is made of.
pub(crate) enum Origin {
    /// A device that was plugged in for it.
    Device(Device),
    /// Rings in memory.
    Rings {
        /// The name that DPDK knows it by.
        name: String,
        /// Kept until the port is closed.
        _rings: Vec<Arc<Ring>>,
    },
}

/// The port itself, kept by its handle and by each queue.
pub(crate) struct Shared {
    id: u16,
    origin: Origin,
    started: bool,
    frame_octets_max: usize,
    mtu: u16,
    rss_hash: u64,
    /// One request at a time: drivers do not lock.
    requests: Mutex<()>,
    _pool: Mempool,
    eal: Eal,
}

/// What the device can do, as far as it matters here.
struct Abilities {
    rx_queues_max: u16,
    tx_queues_max: u16,
    mtu_min: u16,
    mtu_max: u16,
    rss: u64,
    tx_offloads: u64,
}

impl Port {
    /// Opens and starts a port. Buffers for received frames come from `pool`.
    ///
    /// # Errors
    /// [`PortError`] says in one sentence what is wrong; nothing is left behind then.
    pub fn open(eal: &Eal, config: &PortConfig, pool: &Mempool) -> Result<Self, PortError> {
        let device = Device::parse(&config.device)?;
        check(&device, config)?;
        if device.pci_address().is_some() && !eal.has_pci() {
            return Err(PortError::PciDisabled { device: device.name().to_owned() });
        }
        if !eal.claim(device.name()) {
            return Err(PortError::AlreadyOpen { device: device.name().to_owned() });
        }
        if device.is_tap() {
            signals::ignore_real_time();
        }
        let Some(netns) = &config.netns else { return Self::open_here(eal, device, config, pool) };
        let name = device.name().to_owned();
        // The device, and the sockets by which the driver controls it, belong to the namespace they are made in.
        match netns.within(|| Self::open_here(eal, device, config, pool)) {
            Ok(outcome) => outcome,
            Err(error) => {
                eal.release(&name);
                Err(PortError::Netns { device: name, netns: netns.to_string(), error })
            }
        }
    }

    fn open_here(eal: &Eal, device: Device, config: &PortConfig, pool: &Mempool) -> Result<Self, PortError> {
        let id =
            check_interface(&device).and_then(|()| plug(eal, &device)).inspect_err(|_| eal.release(device.name()))?;
        Self::bring_up(Shared::new(eal, id, Origin::Device(device), pool), config, pool)
    }

    /// Configures and starts what was plugged in. Where a step fails, dropping `shared` undoes the ones before.
    pub(crate) fn bring_up(mut shared: Shared, config: &PortConfig, pool: &Mempool) -> Result<Self, PortError> {
        log::forget_errors();
        let abilities = shared.abilities()?;
        shared.check_abilities(&abilities, config, pool)?;
        shared.configure(&abilities, config)?;
        shared.set_up_queues(config, pool)?;
        if matches!(&shared.origin, Origin::Device(device) if device.is_tap()) {
            crate::descriptors::keep_taps_from_children();
        }
        if let Some(mac) = config.mac {
            shared.set_mac(mac)?;
        }
        shared.set_mtu(config.mtu)?;
        shared.start()?;
        if config.promiscuous {
            shared.set_promiscuous()?;
        }
        let shared = Arc::new(shared);
        let rx = (0..config.rx_queues).map(|queue| RxQueue { port: Arc::clone(&shared), queue }).collect();
        let tx = (0..config.tx_queues).map(|queue| TxQueue { port: Arc::clone(&shared), queue }).collect();
        tracing::info!(device = shared.name(), rx_queues = config.rx_queues, mtu = config.mtu, "port open");
        Ok(Self { shared, queues: Mutex::new(Some((rx, tx))) })
    }

    /// The queues, each for one worker. Empty from the second call on.
    #[must_use]
    pub fn take_queues(&self) -> Queues {
        self.queues.lock().take().unwrap_or_default()
    }

    /// The name that DPDK knows the port by.
    #[must_use]
    pub fn name(&self) -> &str {
        self.shared.name()
    }

    /// The MTU that was set.
    #[must_use]
    pub fn mtu(&self) -> u16 {
        self.shared.mtu
    }

    /// The longest frame that may be handed over for transmission, from the Ethernet header on, without the checksum.
    #[must_use]
    pub fn frame_octets_max(&self) -> usize {
        self.shared.frame_octets_max
    }

    /// True where the device itself spreads PPPoE frames over its queues by what is inside them.
    #[must_use]
    pub fn hashes_inside_pppoe(&self) -> bool {
        self.shared.rss_hash & dpdk_sys::K_RTE_ETH_RSS_PPPOE != 0
    }

    /// True where the device spreads received frames over its queues by a hash at all.
    #[must_use]
    pub fn hashes(&self) -> bool {
        self.shared.rss_hash != 0
    }

    /// The MAC address in use.
    ///
    /// # Errors
    /// [`PortError::Refused`] when the driver does not say.
    pub fn mac(&self) -> Result<[u8; 6], PortError> {
        let _one = self.shared.request();
        let mut address = dpdk_sys::rte_ether_addr { addr_bytes: [0; 6] };
        // SAFETY: the port is open; DPDK writes the address.
        let code = unsafe { dpdk_sys::rte_eth_macaddr_get(self.shared.id, &mut address) };
        self.shared.accepted(code, "read its MAC address")?;
        Ok(address.addr_bytes)
    }

    /// What the link is doing. Asks the driver and does not wait.
    ///
    /// # Errors
    /// [`PortError::Refused`] when the driver does not say.
    pub fn link(&self) -> Result<LinkState, PortError> {
        let _one = self.shared.request();
        // SAFETY: all zeros is a valid rte_eth_link, which is numbers only.
        let mut link: dpdk_sys::rte_eth_link = unsafe { std::mem::zeroed() };
        // SAFETY: the port is open; DPDK writes the state.
        let code = unsafe { dpdk_sys::rte_eth_link_get_nowait(self.shared.id, &mut link) };
        self.shared.accepted(code, "read its link state")?;
        let known = link.link_speed != 0 && link.link_speed != dpdk_sys::RTE_ETH_SPEED_NUM_UNKNOWN;
        Ok(LinkState {
            up: link.link_status() != 0,
            speed_mbps: known.then_some(link.link_speed),
            full_duplex: link.link_duplex() != 0,
        })
    }

    /// What the device counted.
    ///
    /// # Errors
    /// [`PortError::Refused`] when the driver does not say.
    pub fn stats(&self) -> Result<PortStats, PortError> {
        let _one = self.shared.request();
        // SAFETY: all zeros is a valid rte_eth_stats, which is numbers only.
        let mut stats: dpdk_sys::rte_eth_stats = unsafe { std::mem::zeroed() };
        // SAFETY: the port is open; DPDK writes the counters.
        let code = unsafe { dpdk_sys::rte_eth_stats_get(self.shared.id, &mut stats) };
        self.shared.accepted(code, "read its counters")?;
        Ok(PortStats {
            rx_packets: stats.ipackets,
            tx_packets: stats.opackets,
            rx_octets: stats.ibytes,
            tx_octets: stats.obytes,
            rx_missed: stats.imissed,
            rx_errors: stats.ierrors,
            tx_errors: stats.oerrors,
            rx_no_mbuf: stats.rx_nombuf,
        })
    }

    /// Stops and closes the port now.
    ///
    /// # Errors
    /// [`PortError::QueuesInUse`] while a worker still holds a queue: then the port closes with the last of them.
    pub fn close(self) -> Result<(), PortError> {
        let Self { shared, queues } = self;
        drop(queues);
        match Arc::try_unwrap(shared) {
            Ok(shared) => {
                drop(shared);
                Ok(())
            }
            Err(shared) => Err(PortError::QueuesInUse { device: shared.name().to_owned() }),
        }
    }
}

/// Plugs the device in, where it is not, and finds its port. Initialisation of the EAL succeeds also where a device
/// fails to come up, so a port is there only if it is found by name.
fn plug(eal: &Eal, device: &Device) -> Result<u16, PortError> {
    if let Some(id) = port_by_name(device.name()) {
        return Ok(id);
    }
    let (name, arguments) = (c_string(device.name()), c_string(device.arguments()));
    let _one_at_a_time = eal.control();
    log::forget_errors();
    // SAFETY: the EAL is up; the three strings are zero-ended, and DPDK copies them.
    let code = unsafe { dpdk_sys::rte_eal_hotplug_add(device.bus().as_ptr(), name.as_ptr(), arguments.as_ptr()) };
    let device_name = || device.name().to_owned();
    match -code {
        0 => {}
        libc::EEXIST => return Err(PortError::AlreadyOpen { device: device_name() }),
        libc::ENODEV | libc::ENOENT if device.pci_address().is_some() => {
            return Err(PortError::NoSuchCard { device: device_name(), said: log::said() });
        }
        // A name that no driver answers to fails already when it is parsed, with EFAULT.
        libc::ENODEV | libc::EFAULT => {
            return Err(PortError::UnknownDriver { device: device_name(), said: log::said() });
        }
        errno => {
            return Err(PortError::Probe { device: device_name(), reason: error_text(errno), said: log::said() });
        }
    }
    port_by_name(device.name()).ok_or_else(|| PortError::Probe {
        device: device_name(),
        reason: "its driver made no port".to_owned(),
        said: log::said(),
    })
}

fn port_by_name(name: &str) -> Option<u16> {
    let name = c_string(name);
    let mut id = 0;
    // SAFETY: the name is a zero-ended string; DPDK writes the number where it finds the port.
    let code = unsafe { dpdk_sys::rte_eth_dev_get_port_by_name(name.as_ptr(), &mut id) };
    (code == 0).then_some(id)
}

impl Shared {
    pub(crate) fn new(eal: &Eal, id: u16, origin: Origin, pool: &Mempool) -> Self {
        Self {
            id,
            origin,
            started: false,
            frame_octets_max: 0,
            mtu: 0,
            rss_hash: 0,
            requests: Mutex::new(()),
            _pool: pool.clone(),
            eal: eal.clone(),
        }
    }

    #[inline(always)]
    pub(crate) fn id(&self) -> u16 {
        self.id
    }

    #[inline(always)]
    pub(crate) fn frame_octets_max(&self) -> usize {
        self.frame_octets_max
    }

    pub(crate) fn name(&self) -> &str {
        match &self.origin {
            Origin::Device(device) => device.name(),
            Origin::Rings { name, .. } => name,
        }
    }

    fn request(&self) -> parking_lot::MutexGuard<'_, ()> {
        self.requests.lock()
    }

    fn accepted(&self, code: c_int, step: &'static str) -> Result<(), PortError> {
        if code >= 0 {
            return Ok(());
        }
        let reason = error_text(-code);
        Err(PortError::Refused { device: self.name().to_owned(), step, reason, said: log::said() })
    }

    fn abilities(&self) -> Result<Abilities, PortError> {
        // SAFETY: all zeros is a valid rte_eth_dev_info: numbers and null pointers.
        let mut info: dpdk_sys::rte_eth_dev_info = unsafe { std::mem::zeroed() };
        // SAFETY: the port exists; DPDK writes the description.
        let code = unsafe { dpdk_sys::rte_eth_dev_info_get(self.id, &mut info) };
        self.accepted(code, "describe itself")?;
        let rss = match self.driver_ignores_rss(info.driver_name) {
            true => 0,
            false => info.flow_type_rss_offloads,
        };
        Ok(Abilities {
            rx_queues_max: info.max_rx_queues,
            tx_queues_max: info.max_tx_queues,
            mtu_min: info.min_mtu,
            mtu_max: info.max_mtu,
            rss,
            tx_offloads: info.tx_offload_capa,
        })
    }

    /// net_tap and net_null take every RSS flag and do nothing with it.
    fn driver_ignores_rss(&self, driver: *const std::ffi::c_char) -> bool {
        if driver.is_null() {
            return true;
        }
        // SAFETY: a driver's name is a static zero-ended string.
        let driver = unsafe { CStr::from_ptr(driver) };
        [c"net_tap", c"net_null"].contains(&driver)
    }

    fn check_abilities(&self, able: &Abilities, config: &PortConfig, pool: &Mempool) -> Result<(), PortError> {
        let device = || self.name().to_owned();
        let queues =
            [("receive", config.rx_queues, able.rx_queues_max), ("transmit", config.tx_queues, able.tx_queues_max)];
        for (side, wanted, max) in queues {
            if wanted == 0 || wanted > max {
                return Err(PortError::QueueCount { device: device(), side, wanted, max });
            }
        }
        if config.mtu < able.mtu_min || config.mtu > able.mtu_max {
            let (min, max) = (able.mtu_min, able.mtu_max);
            return Err(PortError::Mtu { device: device(), wanted: config.mtu, min, max });
        }
        let room = pool.data_room_octets();
        if config.mtu.saturating_add(HEADER_OCTETS_MAX) > room {
            return Err(PortError::BuffersTooSmall { device: device(), mtu: config.mtu, room });
        }
        Ok(())
    }

    fn configure(&mut self, able: &Abilities, config: &PortConfig) -> Result<(), PortError> {
        // SAFETY: all zeros is a valid rte_eth_conf: the defaults of everything.
        let mut conf: dpdk_sys::rte_eth_conf = unsafe { std::mem::zeroed() };
        conf.rxmode.mtu = u32::from(config.mtu);
        conf.txmode.offloads = able.tx_offloads & dpdk_sys::K_RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
        let wanted = dpdk_sys::K_RTE_ETH_RSS_IP
            | dpdk_sys::K_RTE_ETH_RSS_TCP
            | dpdk_sys::K_RTE_ETH_RSS_UDP
            | dpdk_sys::K_RTE_ETH_RSS_PPPOE;
        if config.rx_queues > 1 && able.rss & wanted != 0 {
            self.rss_hash = able.rss & wanted;
            conf.rxmode.mq_mode = dpdk_sys::RTE_ETH_MQ_RX_RSS;
            conf.rx_adv_conf.rss_conf =
                dpdk_sys::rte_eth_rss_conf { rss_key: std::ptr::null_mut(), rss_key_len: 0, rss_hf: self.rss_hash };
        }
        // SAFETY: the port exists and is stopped; `conf` outlives the call.
        let code = unsafe { dpdk_sys::rte_eth_dev_configure(self.id, config.rx_queues, config.tx_queues, &conf) };
        self.accepted(code, "be configured")
    }

    fn set_up_queues(&self, config: &PortConfig, pool: &Mempool) -> Result<(), PortError> {
        let (mut rx_descriptors, mut tx_descriptors) = (config.rx_descriptors, config.tx_descriptors);
        if matches!(&self.origin, Origin::Device(device) if device.is_tap()) {
            rx_descriptors = rx_descriptors.min(TAP_RX_DESCRIPTORS_MAX);
        }
        // SAFETY: the port is configured; DPDK changes the two numbers to what the device takes.
        let code =
            unsafe { dpdk_sys::rte_eth_dev_adjust_nb_rx_tx_desc(self.id, &mut rx_descriptors, &mut tx_descriptors) };
        self.accepted(code, "say how many descriptors it takes")?;
        // SAFETY: the port exists.
        let node = unsafe { dpdk_sys::rte_eth_dev_socket_id(self.id) };
        // -1, any node, is what the device says where it has none; DPDK takes it as an unsigned number.
        let node = node.cast_unsigned();
        for queue in 0..config.rx_queues {
            // SAFETY: the port is configured for this queue; the pool outlives the port, which holds a count of it.
            let code = unsafe {
                dpdk_sys::rte_eth_rx_queue_setup(self.id, queue, rx_descriptors, node, std::ptr::null(), pool.raw())
            };
            if code == -libc::ENOMEM {
                let free = pool.available();
                return Err(PortError::TooFewBuffers { device: self.name().to_owned(), rx_descriptors, free });
            }
            self.accepted(code, "set up a receive queue")?;
        }
        for queue in 0..config.tx_queues {
            // SAFETY: the port is configured for this queue.
            let code =
                unsafe { dpdk_sys::rte_eth_tx_queue_setup(self.id, queue, tx_descriptors, node, std::ptr::null()) };
            self.accepted(code, "set up a transmit queue")?;
        }
        Ok(())
    }

    fn set_mac(&self, mac: [u8; 6]) -> Result<(), PortError> {
        let mut address = dpdk_sys::rte_ether_addr { addr_bytes: mac };
        // SAFETY: the port is configured; DPDK reads the address.
        let code = unsafe { dpdk_sys::rte_eth_dev_default_mac_addr_set(self.id, &mut address) };
        self.accepted(code, "take on its MAC address")
    }

    fn set_mtu(&mut self, mtu: u16) -> Result<(), PortError> {
        // SAFETY: the port is configured and stopped.
        let code = unsafe { dpdk_sys::rte_eth_dev_set_mtu(self.id, mtu) };
        // A device without the request (net_ring) takes frames of any length; rte_eth_dev_configure has noted the MTU.
        if code != -libc::ENOTSUP {
            self.accepted(code, "set its MTU")?;
        }
        self.mtu = mtu;
        self.frame_octets_max = usize::from(mtu) + usize::from(HEADER_OCTETS_MAX);
        Ok(())
    }

    fn start(&mut self) -> Result<(), PortError> {
        // SAFETY: the port is configured and all its queues are set up.
        let code = unsafe { dpdk_sys::rte_eth_dev_start(self.id) };
        self.accepted(code, "start")?;
        self.started = true;
        Ok(())
    }

    fn set_promiscuous(&self) -> Result<(), PortError> {
        // SAFETY: the port is started.
        let code = unsafe { dpdk_sys::rte_eth_promiscuous_enable(self.id) };
        // A device that cannot filter cannot stop filtering.
        if code == -libc::ENOTSUP {
            return Ok(());
        }
        self.accepted(code, "receive frames for other stations")
    }

    fn unplug(&self) -> c_int {
        match &self.origin {
            Origin::Device(device) => {
                let name = c_string(device.name());
                // SAFETY: the port is closed; both strings are zero-ended.
                unsafe { dpdk_sys::rte_eal_hotplug_remove(device.bus().as_ptr(), name.as_ptr()) }
            }
            Origin::Rings { name, .. } => {
                let name = c_string(name);
                // SAFETY: the port is closed; the name is the one that the driver gave its device.
                unsafe { dpdk_sys::rte_vdev_uninit(name.as_ptr()) }
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.started {
            // SAFETY: no queue is left to use it.
            let code = unsafe { dpdk_sys::rte_eth_dev_stop(self.id) };
            self.report(code, "stop");
        }
        // SAFETY: the port is stopped.
        let code = unsafe { dpdk_sys::rte_eth_dev_close(self.id) };
        self.report(code, "close");
        let code = {
            let _one_at_a_time = self.eal.control();
            self.unplug()
        };
        self.report(code, "be unplugged");
        self.eal.release(self.name());
    }
}

impl Shared {
    fn report(&self, code: c_int, step: &'static str) {
        if let Err(error) = self.accepted(code, step) {
            tracing::warn!("{error}");
        }
    }
}
