//! Counters with one writer.

use crate::CachePadded;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use zerocopy::FromZeros;

/// A 64-bit counter that one thread adds to and any thread reads.
///
/// Adding is a plain load and store, without a locked instruction: two threads adding to the same counter would lose
/// counts (nothing worse). All zeroes is a counter at 0, so counters may live in an [`crate::Arena`].
#[derive(Default, FromZeros)]
#[repr(transparent)]
pub struct Counter(AtomicU64);

impl Counter {
    /// A counter at 0.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Adds `n`; wraps at 2^64. Only the counter's one writer may call it.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// The value now. Reads of several counters are not one snapshot.
    #[inline]
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the value, for gauges and for an element that starts a new life. Only the one writer may call it.
    #[inline]
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.get(), out)
    }
}

/// One block of `T` a worker, each on cache lines of its own.
#[derive(Debug)]
pub struct PerWorker<T>(Box<[CachePadded<T>]>);

impl<T> PerWorker<T> {
    /// One block each for `workers` workers.
    #[must_use]
    pub fn new(workers: usize, mut make: impl FnMut(usize) -> T) -> Self {
        Self((0..workers).map(|worker| CachePadded::new(make(worker))).collect())
    }

    /// The block of one worker; `None` if there is no such worker.
    #[inline]
    #[must_use]
    pub fn get(&self, worker: usize) -> Option<&T> {
        self.0.get(worker).map(|block| &**block)
    }

    /// Every worker's block, in order; a reader sums over it.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.0.iter().map(|block| &**block)
    }

    /// The number of workers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no workers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_adds_sets_and_wraps() {
        let counter = Counter::new();
        counter.add(3);
        counter.add(4);
        assert_eq!(counter.get(), 7);
        counter.set(u64::MAX);
        counter.add(2);
        assert_eq!(counter.get(), 1);
        assert_eq!(Counter::new_zeroed().get(), 0);
    }

    #[test]
    fn blocks_of_workers_share_no_cache_line() {
        let blocks = PerWorker::new(3, |_| Counter::new());
        let address = |worker| std::ptr::from_ref(blocks.get(worker).expect("a worker")).addr();
        assert!(address(1) - address(0) >= 64);
        assert_eq!(address(0) % 64, 0);
        blocks.iter().enumerate().for_each(|(worker, block)| block.add(worker as u64));
        assert_eq!(blocks.iter().map(Counter::get).sum::<u64>(), 3);
        assert!(blocks.get(3).is_none());
        assert_eq!((blocks.len(), blocks.is_empty()), (3, false));
    }
}
