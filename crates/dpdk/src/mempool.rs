//! Pools of packet buffers.

use crate::device::c_string;
use crate::eal::{Eal, errno, error_text};
use crate::log;
use crate::mbuf::{HEADROOM_OCTETS, Mbuf};
use arrayvec::ArrayVec;
use std::ptr::NonNull;
use std::sync::Arc;

/// Octets of a buffer behind the headroom, unless asked otherwise: room for a frame of a 1,508-octet MTU with two
/// tags, and for every frame a port with an MTU up to 2,000 takes.
pub const DATA_ROOM_OCTETS: u16 = 2048;

/// How a pool is made.
#[derive(Debug, Clone)]
pub struct MempoolConfig {
    /// Unique in the process; at most 25 characters.
    pub name: String,
    /// Buffers. A power of two less one wastes the least memory.
    pub mbufs: u32,
    /// Buffers that each lcore keeps for itself, at most 512 and less than `mbufs` / 1.5.
    pub cache: u32,
    /// Octets of a buffer behind the headroom.
    pub data_room_octets: u16,
    /// The NUMA node that the memory comes from; any where there is none.
    pub numa_node: Option<u32>,
}

impl Default for MempoolConfig {
    fn default() -> Self {
        Self { name: "mbufs".to_owned(), mbufs: 8191, cache: 256, data_room_octets: DATA_ROOM_OCTETS, numa_node: None }
    }
}

/// Why a pool was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MempoolError {
    /// There is a pool of that name.
    #[error("there is a mempool named \"{name}\" already")]
    NameInUse {
        /// The name.
        name: String,
    },
    /// The name is empty, too long, or not plain.
    #[error("\"{name}\" cannot be the name of a mempool: 1 to 25 letters, digits, '-' and '_' can")]
    BadName {
        /// The name.
        name: String,
    },
    /// The memory given to the EAL does not hold it.
    #[error(
        "mempool \"{name}\" with {mbufs} buffers does not fit: raise dpdk.memory_mb (it takes about {takes_mb} MiB)"
    )]
    NotEnoughMemory {
        /// The name.
        name: String,
        /// Buffers asked for.
        mbufs: u32,
        /// Memory it takes.
        takes_mb: u64,
    },
    /// Anything else that DPDK refuses.
    #[error("mempool \"{name}\" cannot be made: {reason}{said}")]
    Refused {
        /// The name.
        name: String,
        /// DPDK's error as a text.
        reason: String,
        /// What DPDK logged.
        said: String,
    },
}

/// A pool of packet buffers. Clones are the same pool.
#[derive(Clone)]
pub struct Mempool(Arc<Inner>);

struct Inner {
    raw: NonNull<dpdk_sys::rte_mempool>,
    /// Taken only where the pool cannot be freed, so that its memory stays mapped.
    eal: Option<Eal>,
    capacity: u32,
    data_room_octets: u16,
}

// SAFETY: rte_mempool is made for use by many threads at once; every field of the handle is plain data.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Mempool {
    /// Makes a pool.
    ///
    /// # Errors
    /// [`MempoolError`] says what is wrong.
    pub fn new(eal: &Eal, config: &MempoolConfig) -> Result<Self, MempoolError> {
        let name = config.name.clone();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if name.is_empty() || name.len() > 25 || !name.bytes().all(plain) {
            return Err(MempoolError::BadName { name });
        }
        let node = config.numa_node.and_then(|node| i32::try_from(node).ok()).unwrap_or(dpdk_sys::SOCKET_ID_ANY);
        let room = HEADROOM_OCTETS.saturating_add(config.data_room_octets);
        let c_name = c_string(&name);
        log::forget_errors();
        // SAFETY: the EAL is up, as `eal` shows; the name is a zero-ended string that DPDK copies.
        let raw =
            unsafe { dpdk_sys::rte_pktmbuf_pool_create(c_name.as_ptr(), config.mbufs, config.cache, 0, room, node) };
        let Some(raw) = NonNull::new(raw) else {
            return Err(match errno() {
                libc::EEXIST => MempoolError::NameInUse { name },
                // ENOBUFS where the memory that is left lies in pieces too small to go on with.
                libc::ENOMEM | libc::ENOBUFS => {
                    let takes = u64::from(config.mbufs).saturating_mul(u64::from(room) + 192);
                    MempoolError::NotEnoughMemory { name, mbufs: config.mbufs, takes_mb: takes.div_ceil(1 << 20) }
                }
                other => MempoolError::Refused { name, reason: error_text(other), said: log::said() },
            });
        };
        Ok(Self(Arc::new(Inner {
            raw,
            eal: Some(eal.clone()),
            capacity: config.mbufs,
            data_room_octets: config.data_room_octets,
        })))
    }

    /// One buffer, empty, with the usual headroom; none where the pool is empty.
    #[inline]
    #[must_use]
    pub fn alloc(&self) -> Option<Mbuf> {
        // SAFETY: the pool is alive.
        let raw = unsafe { dpdk_sys::shim_pktmbuf_alloc(self.raw()) };
        // SAFETY: a buffer just taken from the pool belongs to nobody else.
        NonNull::new(raw).map(|raw| unsafe { Mbuf::from_raw(raw) })
    }

    /// Fills what is free in `out` with empty buffers, all of it or nothing. Answers how many were added.
    #[inline]
    pub fn alloc_bulk<const N: usize>(&self, out: &mut ArrayVec<Mbuf, N>) -> usize {
        let (have, wanted) = (out.len(), out.remaining_capacity());
        let free = out.as_mut_ptr().wrapping_add(have).cast::<*mut dpdk_sys::rte_mbuf>();
        // SAFETY: the pool is alive, and there is room for `wanted` pointers; `Mbuf` is one pointer.
        let code = unsafe { dpdk_sys::shim_pktmbuf_alloc_bulk(self.raw(), free, wanted as u32) };
        if code != 0 {
            return 0;
        }
        // SAFETY: DPDK wrote `wanted` pointers to buffers that are now ours.
        unsafe { out.set_len(have + wanted) };
        wanted
    }

    /// How many buffers the pool has in all.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.0.capacity
    }

    /// How many buffers are in use. Walks the caches of all lcores: not for the data path.
    #[must_use]
    pub fn in_use(&self) -> u32 {
        // SAFETY: the pool is alive.
        unsafe { dpdk_sys::rte_mempool_in_use_count(self.raw()) }
    }

    /// How many buffers are free, in the pool or in the caches of the lcores.
    #[must_use]
    pub fn available(&self) -> u32 {
        self.capacity().saturating_sub(self.in_use())
    }

    /// Octets of a buffer behind the headroom.
    #[must_use]
    pub fn data_room_octets(&self) -> u16 {
        self.0.data_room_octets
    }

    pub(crate) fn raw(&self) -> *mut dpdk_sys::rte_mempool {
        self.0.raw.as_ptr()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the pool is alive until the line below.
        let out = unsafe { dpdk_sys::rte_mempool_in_use_count(self.raw.as_ptr()) };
        if out != 0 {
            tracing::error!("a mempool is dropped while {out} of its buffers are in use: it stays in memory");
            // Whoever still has a buffer will hand it back to this pool; so pool and EAL stay.
            std::mem::forget(self.eal.take());
            return;
        }
        // SAFETY: no handle is left and all buffers are home.
        unsafe { dpdk_sys::rte_mempool_free(self.raw.as_ptr()) };
    }
}
