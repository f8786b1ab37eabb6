//! Ports made of rings in memory: what is fed into the receive side is what the port receives, and what it transmits
//! can be drained. For tests and benchmarks that run the whole loop without a kernel or a card.

use crate::device::c_string;
use crate::eal::{Eal, errno, error_text};
use crate::mbuf::Mbuf;
use crate::mempool::Mempool;
use crate::port::{Origin, Port, PortConfig, Shared};
use crate::port_error::PortError;
use arrayvec::ArrayVec;
use dpdk_sys::{rte_mbuf, rte_ring};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

/// How a port of rings is made.
#[derive(Debug, Clone)]
pub struct RingPortConfig {
    /// Unique in the process; 1 to 16 letters, digits and '_'.
    pub name: String,
    /// Receive queues.
    pub rx_queues: u16,
    /// Transmit queues.
    pub tx_queues: u16,
    /// Frames that a ring holds: a power of two, of which one place stays empty.
    pub frames_max: u32,
    /// The port's MTU, octets of payload of an Ethernet frame.
    pub mtu: u16,
}

impl Default for RingPortConfig {
    fn default() -> Self {
        Self { name: "ring0".to_owned(), rx_queues: 1, tx_queues: 1, frames_max: 1024, mtu: 1508 }
    }
}

/// The far side of a port of rings.
pub struct RingPort {
    /// One for each receive queue of the port.
    pub feeds: Vec<RingFeed>,
    /// One for each transmit queue of the port.
    pub drains: Vec<RingDrain>,
}

/// Puts frames into a receive queue.
pub struct RingFeed(Arc<Ring>);

/// Takes frames out of a transmit queue.
pub struct RingDrain(Arc<Ring>);

pub(crate) struct Ring {
    raw: NonNull<rte_ring>,
    /// Frames left in the ring go home when it is freed, so the pool must still be there.
    _pool: Mempool,
}

// SAFETY: an rte_ring is shared memory made for this; each end is used by one thread, as feed, drain and queue can
// each be used by one only.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Ring {
    fn new(name: &str, config: &RingPortConfig, pool: &Mempool) -> Result<Arc<Self>, PortError> {
        let flags = dpdk_sys::RING_F_SP_ENQ | dpdk_sys::RING_F_SC_DEQ;
        let c_name = c_string(name);
        // SAFETY: the EAL is up, as the pool shows; the name is a zero-ended string that DPDK copies.
        let raw =
            unsafe { dpdk_sys::rte_ring_create(c_name.as_ptr(), config.frames_max, dpdk_sys::SOCKET_ID_ANY, flags) };
        let raw = NonNull::new(raw).ok_or_else(|| PortError::Refused {
            device: config.name.clone(),
            step: "make a ring",
            reason: error_text(errno()),
            said: crate::log::said(),
        })?;
        Ok(Arc::new(Self { raw, _pool: pool.clone() }))
    }

    fn enqueue<const N: usize>(&self, frames: &mut ArrayVec<Mbuf, N>) -> usize {
        let have = frames.len();
        let first = frames.as_mut_ptr();
        // SAFETY: the ring is alive, this is its only producer, and `have` buffers of ours lie there.
        let taken =
            unsafe { dpdk_sys::shim_ring_enqueue_burst(self.raw.as_ptr(), first.cast::<*mut c_void>(), have as u32) };
        let taken = (taken as usize).min(have);
        let left = have - taken;
        // SAFETY: `left` handles lie behind the `taken` ones, within the same array; the ranges may overlap.
        unsafe { std::ptr::copy(first.wrapping_add(taken), first, left) };
        // SAFETY: the first `left` places hold the buffers that the ring did not take.
        unsafe { frames.set_len(left) };
        taken
    }

    fn dequeue<const N: usize>(&self, out: &mut ArrayVec<Mbuf, N>) -> usize {
        let (have, room) = (out.len(), out.remaining_capacity());
        let free = out.as_mut_ptr().wrapping_add(have).cast::<*mut c_void>();
        // SAFETY: the ring is alive, this is its only consumer, and there is room for `room` pointers.
        let count = unsafe { dpdk_sys::shim_ring_dequeue_burst(self.raw.as_ptr(), free, room as u32) };
        let count = (count as usize).min(room);
        // SAFETY: `count` pointers to buffers were written; they are ours now.
        unsafe { out.set_len(have + count) };
        count
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let mut left = ArrayVec::<Mbuf, 32>::new();
        while self.dequeue(&mut left) > 0 {
            Mbuf::free_burst(&mut left);
        }
        // SAFETY: no port, feed or drain is left, as each holds a count.
        unsafe { dpdk_sys::rte_ring_free(self.raw.as_ptr()) };
    }
}

impl RingFeed {
    /// Feeds from the front of `frames`; what does not fit stays there. Answers how many were taken.
    pub fn feed<const N: usize>(&mut self, frames: &mut ArrayVec<Mbuf, N>) -> usize {
        self.0.enqueue(frames)
    }

    /// Frames fed and not yet received.
    #[must_use]
    pub fn waiting(&self) -> usize {
        // SAFETY: the ring is alive.
        unsafe { dpdk_sys::shim_ring_count(self.0.raw.as_ptr()) as usize }
    }
}

impl RingDrain {
    /// Takes what was transmitted into what is free in `out`. Answers how many frames came.
    pub fn drain<const N: usize>(&mut self, out: &mut ArrayVec<Mbuf, N>) -> usize {
        self.0.dequeue(out)
    }

    /// Frames transmitted and not yet drained.
    #[must_use]
    pub fn waiting(&self) -> usize {
        // SAFETY: the ring is alive.
        unsafe { dpdk_sys::shim_ring_count(self.0.raw.as_ptr()) as usize }
    }
}

/// A ring of frames from one thread to another, of `frames_max` (a power of two) less one. `name` is its own in the
/// process, at most 26 octets long.
///
/// # Errors
/// [`PortError::Refused`]: there is no memory, or the name is taken.
pub fn mbuf_ring(_eal: &Eal, name: &str, frames_max: u32, pool: &Mempool) -> Result<(RingFeed, RingDrain), PortError> {
    let config = RingPortConfig { name: name.to_owned(), frames_max, ..RingPortConfig::default() };
    let ring = Ring::new(name, &config, pool)?;
    Ok((RingFeed(Arc::clone(&ring)), RingDrain(ring)))
}

impl Port {
    /// Makes a port of rings, started.
    ///
    /// # Errors
    /// [`PortError`] says what is wrong.
    pub fn from_rings(eal: &Eal, config: &RingPortConfig, pool: &Mempool) -> Result<(Self, RingPort), PortError> {
        let name = config.name.as_str();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || name.len() > 16 || !name.bytes().all(plain) {
            return Err(PortError::BadRingName { name: config.name.clone() });
        }
        let ring = |side: char, queue: u16| Ring::new(&format!("{name}-{side}{queue}"), config, pool);
        let rx: Vec<Arc<Ring>> = (0..config.rx_queues).map(|queue| ring('r', queue)).collect::<Result<_, _>>()?;
        let tx: Vec<Arc<Ring>> = (0..config.tx_queues).map(|queue| ring('t', queue)).collect::<Result<_, _>>()?;
        // The driver puts this before the name it is given.
        let device = format!("net_ring_{name}");
        if !eal.claim(&device) {
            return Err(PortError::AlreadyOpen { device });
        }
        let id = attach(eal, name, &rx, &tx).inspect_err(|_| eal.release(&device))?;
        let held = rx.iter().chain(&tx).cloned().collect();
        let origin = Origin::Rings { name: device.clone(), _rings: held };
        let settings = PortConfig {
            device,
            rx_queues: config.rx_queues,
            tx_queues: config.tx_queues,
            mtu: config.mtu,
            ..PortConfig::default()
        };
        let shared = Shared::new(eal, id, origin, pool);
        let port = Self::bring_up(shared, &settings, pool)?;
        let far =
            RingPort { feeds: rx.into_iter().map(RingFeed).collect(), drains: tx.into_iter().map(RingDrain).collect() };
        Ok((port, far))
    }
}

fn attach(eal: &Eal, name: &str, rx: &[Arc<Ring>], tx: &[Arc<Ring>]) -> Result<u16, PortError> {
    let _one_at_a_time = eal.control();
    let pointers = |rings: &[Arc<Ring>]| rings.iter().map(|ring| ring.raw.as_ptr()).collect::<Vec<_>>();
    let (rx, tx) = (pointers(rx), pointers(tx));
    let c_name = c_string(name);
    crate::log::forget_errors();
    // SAFETY: both arrays hold live rings, which outlive the port as it holds a count of each; DPDK copies the arrays
    // and the name.
    let id = unsafe {
        dpdk_sys::rte_eth_from_rings(c_name.as_ptr(), rx.as_ptr(), rx.len() as u32, tx.as_ptr(), tx.len() as u32, 0)
    };
    u16::try_from(id).map_err(|_| PortError::Refused {
        device: name.to_owned(),
        step: "make a port of rings",
        reason: error_text(errno()),
        said: crate::log::said(),
    })
}

// The handles carry buffers as plain pointers.
const _: () = assert!(size_of::<Mbuf>() == size_of::<*mut rte_mbuf>());
