//! The receive and transmit queues of a port. Each belongs to one worker.

use crate::mbuf::Mbuf;
use crate::port::Shared;
use arrayvec::ArrayVec;
use dpdk_sys::rte_mbuf;
use std::sync::Arc;

/// A receive queue. It may move to another thread, but not be used by two.
pub struct RxQueue {
    pub(crate) port: Arc<Shared>,
    pub(crate) queue: u16,
}

/// A transmit queue. It may move to another thread, but not be used by two.
pub struct TxQueue {
    pub(crate) port: Arc<Shared>,
    pub(crate) queue: u16,
}

impl RxQueue {
    /// Receives into what is free in `out`. Answers how many frames came.
    #[inline]
    pub fn rx_burst<const N: usize>(&mut self, out: &mut ArrayVec<Mbuf, N>) -> usize {
        let have = out.len();
        let room = u16::try_from(out.remaining_capacity()).unwrap_or(u16::MAX);
        let free = out.as_mut_ptr().wrapping_add(have).cast::<*mut rte_mbuf>();
        // SAFETY: the port runs as long as `self.port` lives, the queue is ours alone, and there is room for `room`
        // pointers; `Mbuf` is one pointer.
        let count = unsafe { dpdk_sys::shim_eth_rx_burst(self.port.id(), self.queue, free, room) };
        // SAFETY: the driver wrote `count` pointers to buffers that are now ours.
        unsafe { out.set_len(have + usize::from(count)) };
        usize::from(count)
    }

    /// The queue's number on its port.
    #[must_use]
    pub fn index(&self) -> u16 {
        self.queue
    }

    /// The port's name.
    #[must_use]
    pub fn port_name(&self) -> &str {
        self.port.name()
    }
}

impl TxQueue {
    /// Sends from the front of `frames`. What the driver takes is its own from then on; what it does not take stays in
    /// `frames`, in order, for the caller to try again or to drop with a reason. Answers how many were taken.
    ///
    /// No frame may be longer than [`TxQueue::frame_octets_max`]: net_tap stops the whole burst at one that is.
    #[inline]
    pub fn tx_burst<const N: usize>(&mut self, frames: &mut ArrayVec<Mbuf, N>) -> usize {
        let have = frames.len();
        let offered = u16::try_from(have).unwrap_or(u16::MAX);
        let first = frames.as_mut_ptr();
        // SAFETY: the port runs as long as `self.port` lives, the queue is ours alone, and `offered` buffers of ours
        // lie there; `Mbuf` is one pointer.
        let taken =
            unsafe { dpdk_sys::shim_eth_tx_burst(self.port.id(), self.queue, first.cast::<*mut rte_mbuf>(), offered) };
        let taken = usize::from(taken).min(have);
        let left = have - taken;
        if left > 0 {
            // SAFETY: `left` handles lie behind the `taken` ones, within the same array; the ranges may overlap.
            unsafe { std::ptr::copy(first.wrapping_add(taken), first, left) };
        }
        // SAFETY: the first `left` places hold the buffers that the driver did not take.
        unsafe { frames.set_len(left) };
        taken
    }

    /// The longest frame that may be handed over, in octets from the Ethernet header on, without the checksum.
    #[inline(always)]
    #[must_use]
    pub fn frame_octets_max(&self) -> usize {
        self.port.frame_octets_max()
    }

    /// The queue's number on its port.
    #[must_use]
    pub fn index(&self) -> u16 {
        self.queue
    }

    /// The port's name.
    #[must_use]
    pub fn port_name(&self) -> &str {
        self.port.name()
    }
}
