//! Quiescent-state based reclaim: when may a writer free what it has unlinked?
//!
//! Readers take no lock and write nothing while they read. Between bursts, when they hold no reference to anything
//! shared, each notes the current epoch in its own cache line. A writer that unlinked something starts a new epoch;
//! once every reader has noted that epoch or a later one, or is offline, nobody can hold what was unlinked.

use crate::CachePadded;
use crate::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::ordering::{
    EPOCH_ADVANCE, EPOCH_OBSERVE, OFFLINE_PUBLISH, QUIESCENT_OBSERVE, QUIESCENT_PUBLISH, advance_barrier,
    online_barrier,
};
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;

/// A reader's state while it is offline; every epoch is greater.
const OFFLINE: u64 = 0;

/// A point in the order of updates, see [`Qsbr::advance`]. 64 bits: it does not wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(u64);

/// What readers and writers of one reclaim domain share.
pub struct Qsbr {
    epoch: CachePadded<AtomicU64>,
    readers: Box<[CachePadded<Slot>]>,
}

/// One reader's line: only that reader writes `seen`, once a burst.
struct Slot {
    /// The newest epoch the reader has noted, or [`OFFLINE`].
    seen: AtomicU64,
    taken: AtomicBool,
}

impl Qsbr {
    /// A domain with places for `readers` readers, all offline. The number is fixed for its life.
    #[must_use]
    pub fn new(readers: usize) -> Arc<Self> {
        let slot = || CachePadded::new(Slot { seen: AtomicU64::new(OFFLINE), taken: AtomicBool::new(false) });
        Arc::new(Self { epoch: CachePadded::new(AtomicU64::new(1)), readers: (0..readers).map(|_| slot()).collect() })
    }

    /// The reader with this index, offline. `None` if there is no such place or it is taken; dropping the [`Reader`]
    /// gives the place back.
    #[must_use]
    pub fn reader(self: &Arc<Self>, index: usize) -> Option<Reader> {
        let slot = self.readers.get(index)?;
        if slot.taken.swap(true, Ordering::AcqRel) {
            return None;
        }
        Some(Reader { domain: Arc::clone(self), index, online: false, _not_sync: PhantomData })
    }

    /// The number of readers the domain has places for.
    #[must_use]
    pub fn readers(&self) -> usize {
        self.readers.len()
    }

    /// The number of readers that are online now; for display.
    #[must_use]
    pub fn readers_online(&self) -> usize {
        self.readers.iter().filter(|slot| slot.seen.load(Ordering::Relaxed) != OFFLINE).count()
    }

    /// Called by a writer after it has unlinked something: starts an epoch. What was unlinked may be freed, by the
    /// same writer, once [`Qsbr::passed`] says so for the epoch returned. Several writers may share a domain.
    #[must_use]
    pub fn advance(&self) -> Epoch {
        let before = self.epoch.fetch_add(1, EPOCH_ADVANCE);
        advance_barrier();
        Epoch(before.wrapping_add(1))
    }

    /// True once every reader has passed a quiescent point since `epoch` began, or is offline. Stays true. O(readers).
    #[must_use]
    pub fn passed(&self, epoch: Epoch) -> bool {
        self.readers.iter().all(|slot| {
            let seen = slot.seen.load(QUIESCENT_OBSERVE);
            seen == OFFLINE || seen >= epoch.0
        })
    }
}

impl fmt::Debug for Qsbr {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Qsbr")
            .field("epoch", &self.epoch.load(Ordering::Relaxed))
            .field("readers", &self.readers.len())
            .field("readers_online", &self.readers_online())
            .finish()
    }
}

/// One reader's handle; it lives on the thread that reads. Every method is wait-free.
///
/// References obtained through a reader (see [`crate::Published::load`]) borrow it, and [`Reader::quiescent`] and
/// [`Reader::offline`] borrow it mutably, so holding one across a quiescent point does not compile.
pub struct Reader {
    domain: Arc<Qsbr>,
    index: usize,
    online: bool,
    /// One thread at a time uses a reader.
    _not_sync: PhantomData<Cell<()>>,
}

impl Reader {
    /// The place in the domain this reader has.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// True between [`Reader::online`] and [`Reader::offline`].
    #[must_use]
    #[inline]
    pub fn is_online(&self) -> bool {
        self.online
    }

    /// True if this reader belongs to `domain`.
    #[must_use]
    #[inline]
    pub fn reads(&self, domain: &Arc<Qsbr>) -> bool {
        Arc::ptr_eq(&self.domain, domain)
    }

    /// Begins reading: from here on writers wait for this reader. Costs a full barrier; for start-up and waking, not
    /// for every burst.
    pub fn online(&mut self) {
        let epoch = self.domain.epoch.load(EPOCH_OBSERVE);
        self.store(epoch, QUIESCENT_PUBLISH);
        online_barrier();
        self.online = true;
    }

    /// Says that this reader holds nothing it has looked up. Called between bursts; a load and a store, no barrier
    /// on x86. Does nothing while offline.
    #[inline]
    pub fn quiescent(&mut self) {
        if self.online {
            let epoch = self.domain.epoch.load(EPOCH_OBSERVE);
            self.store(epoch, QUIESCENT_PUBLISH);
        }
    }

    /// Ends reading: writers no longer wait for this reader. For a thread about to sleep or to end.
    pub fn offline(&mut self) {
        self.store(OFFLINE, OFFLINE_PUBLISH);
        self.online = false;
    }

    #[inline]
    fn store(&self, value: u64, order: Ordering) {
        if let Some(slot) = self.domain.readers.get(self.index) {
            slot.seen.store(value, order);
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.offline();
        if let Some(slot) = self.domain.readers.get(self.index) {
            slot.taken.store(false, Ordering::Release);
        }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Reader").field("index", &self.index).field("online", &self.online).finish()
    }
}
