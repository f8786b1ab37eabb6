//! Deadlines of many things, of which most are called off before they are due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// A heap of deadlines. Calling one off means that its owner no longer answers for it when it comes up; the heap is
/// swept when such entries are the majority, so it stays within twice the live ones.
pub(crate) struct Timers<K: Ord + Copy> {
    heap: BinaryHeap<Reverse<(Instant, K)>>,
}

impl<K: Ord + Copy> Timers<K> {
    pub(crate) const fn new() -> Self {
        Self { heap: BinaryHeap::new() }
    }

    pub(crate) fn set(&mut self, at: Instant, key: K) {
        self.heap.push(Reverse((at, key)));
    }

    /// The next deadline. It may be a stale one: being woken for it costs a look, and takes it out.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes what is due, stale entries with it.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(Instant, K)> {
        let Reverse((at, _)) = self.heap.peek()?;
        if *at > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }

    /// Sweeps stale entries if there may be more of them than live ones.
    pub(crate) fn sweep(&mut self, live: usize, is_live: impl Fn(Instant, K) -> bool) {
        if self.heap.len() > live.saturating_mul(2).saturating_add(64) {
            self.heap.retain(|Reverse((at, key))| is_live(*at, *key));
        }
    }
}
