//! Numbers of places in a table: handed out, and reused after the readers have forgotten them.

use bng_sync::{Qsbr, RetireList};
use std::sync::Arc;

/// The numbers 0 to `end` - 1, each free, in use, or waiting for readers.
pub(crate) struct Numbers {
    free: Vec<u32>,
    /// Numbers from here on were never used.
    fresh: u32,
    end: u32,
    retired: RetireList<u32>,
}

impl Numbers {
    /// Numbers from `first` (those below are the caller's) to `end` - 1.
    pub(crate) fn new(domain: &Arc<Qsbr>, first: u32, end: u32) -> Self {
        // Every number is retired at most once at a time, so the list is never full.
        Self { free: Vec::new(), fresh: first, end, retired: RetireList::new(domain, end as usize) }
    }

    /// The numbers that can be had now, after reclaiming if they are fewer than `wanted`.
    pub(crate) fn available(&mut self, wanted: usize) -> usize {
        if self.available_now() < wanted {
            self.poll();
        }
        self.available_now()
    }

    fn available_now(&self) -> usize {
        self.free.len().saturating_add(self.end.saturating_sub(self.fresh) as usize)
    }

    /// A free number.
    pub(crate) fn take(&mut self) -> Option<u32> {
        if let Some(number) = self.free.pop() {
            return Some(number);
        }
        if self.available(1) == 0 {
            return None;
        }
        self.free.pop().or_else(|| {
            let number = self.fresh;
            self.fresh = number.saturating_add(1);
            Some(number)
        })
    }

    /// Gives back a number that no new reader can come across; it is reused after grace.
    pub(crate) fn retire(&mut self, number: u32) {
        let pushed = self.retired.push(number);
        debug_assert!(pushed.is_ok(), "a number was retired twice");
    }

    /// Reclaims the numbers that no reader can hold any more.
    pub(crate) fn poll(&mut self) {
        let free = &mut self.free;
        self.retired.poll(|number| free.push(number));
    }

    /// The numbers that wait for readers.
    pub(crate) fn waiting(&self) -> usize {
        self.retired.len()
    }

    /// The numbers below which every number ever used lies.
    pub(crate) fn high_water(&self) -> u32 {
        self.fresh
    }
}
