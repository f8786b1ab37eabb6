//! What a writer has unlinked and may free later.

use crate::qsbr::{Epoch, Qsbr};
use core::fmt;
use std::collections::VecDeque;
use std::sync::Arc;

/// A bounded list of things unlinked from a shared structure, handed back to the writer after the grace period.
///
/// An item is any value: a box, an index into an arena, the counters of a session that ended. The list belongs to one
/// writer and hands items back on that writer's thread, in the order they came. Pushing is cheap: one epoch is
/// started for all that came since the last [`RetireList::poll`].
///
/// Limit: `items_max`. When it is reached [`RetireList::push`] hands the item back. A writer that cannot take its
/// change back asks [`RetireList::room`] before it unlinks.
pub struct RetireList<T> {
    domain: Arc<Qsbr>,
    items: VecDeque<T>,
    /// Epochs that began after the oldest items were pushed, with the number of items each covers.
    batches: VecDeque<(Epoch, usize)>,
    /// Items pushed since the last epoch began, at the back of `items`.
    fresh: usize,
    items_max: usize,
}

/// The list holds as many items as it may; here is the one that did not fit.
pub struct RetireFull<T>(pub T);

impl<T> fmt::Debug for RetireFull<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("RetireFull")
    }
}

impl<T> fmt::Display for RetireFull<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the list of items that wait for the readers is full")
    }
}

impl<T> std::error::Error for RetireFull<T> {}

impl<T> RetireList<T> {
    /// An empty list whose items wait for the readers of `domain`.
    #[must_use]
    pub fn new(domain: &Arc<Qsbr>, items_max: usize) -> Self {
        Self { domain: Arc::clone(domain), items: VecDeque::new(), batches: VecDeque::new(), fresh: 0, items_max }
    }

    /// The domain whose readers the items wait for.
    #[must_use]
    pub fn domain(&self) -> &Arc<Qsbr> {
        &self.domain
    }

    /// Adds an item that no new reader can reach any more.
    ///
    /// # Errors
    /// [`RetireFull`] with the item when the list holds `items_max` items.
    pub fn push(&mut self, item: T) -> Result<(), RetireFull<T>> {
        if self.items.len() >= self.items_max {
            return Err(RetireFull(item));
        }
        self.items.push_back(item);
        self.fresh += 1;
        Ok(())
    }

    /// Hands `free` every item that no reader can hold any more; never waits. Returns how many there were.
    pub fn poll(&mut self, mut free: impl FnMut(T)) -> usize {
        if self.fresh > 0 {
            self.batches.push_back((self.domain.advance(), self.fresh));
            self.fresh = 0;
        }
        let mut freed = 0;
        while let Some(&(epoch, count)) = self.batches.front() {
            if !self.domain.passed(epoch) {
                break;
            }
            self.batches.pop_front();
            for _ in 0..count {
                if let Some(item) = self.items.pop_front() {
                    free(item);
                    freed += 1;
                }
            }
        }
        freed
    }

    /// Takes every item back without regard to the readers; for what need not be freed, or is freed otherwise.
    pub fn take_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.batches.clear();
        self.fresh = 0;
        core::mem::take(&mut self.items).into_iter()
    }

    /// The number of items that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if no item waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The number of items that may be pushed before the list is full.
    #[must_use]
    pub fn room(&self) -> usize {
        self.items_max.saturating_sub(self.items.len())
    }

    /// The limit given to [`RetireList::new`].
    #[must_use]
    pub fn items_max(&self) -> usize {
        self.items_max
    }
}

impl<T> fmt::Debug for RetireList<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RetireList").field("len", &self.items.len()).field("items_max", &self.items_max).finish()
    }
}
