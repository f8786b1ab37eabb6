//! A few words that are read together.

use crate::atomic::{AtomicU64, Ordering};
use crate::ordering::{SNAPSHOT_OBSERVE, SNAPSHOT_PUBLISH, snapshot_read_barrier, snapshot_write_barrier};
use core::array;
use core::fmt;

/// The bits of [`Snapshot`]'s state that are the user's tag; those above count the changes of the words.
const TAG_BITS: u32 = 40;

const TAG_MASK: u64 = (1 << TAG_BITS) - 1;

/// How often a reader looks again when the writer changed the words under its eyes. Once is rare; the writer must be
/// at its second change since the reader began to disturb it at all.
const LOOKS_MAX: usize = 4;

/// `WORDS` 64-bit words and a tag of 40 bits, written by one thread and read whole by others without a lock.
///
/// The words are kept twice. The writer fills the copy that is not in force and then switches the state over, so that
/// a reader is disturbed only if the writer changes the words twice while it reads, and notices that. All zeroes is a
/// snapshot of zeroes, so snapshots may live in an [`crate::Arena`]. After 2^24 changes during one read a reader could
/// be deceived; that takes longer than any read.
#[cfg_attr(not(loom), derive(zerocopy::FromZeros))]
#[repr(C)]
pub struct Snapshot<const WORDS: usize> {
    /// The tag, and the number of changes, whose lowest bit says which copy is in force.
    state: AtomicU64,
    copies: [[AtomicU64; WORDS]; 2],
}

impl<const WORDS: usize> Snapshot<WORDS> {
    /// The greatest tag.
    pub const TAG_MAX: u64 = TAG_MASK;

    /// A snapshot of zeroes.
    #[must_use]
    pub fn new() -> Self {
        let copy = || array::from_fn(|_| AtomicU64::new(0));
        Self { state: AtomicU64::new(0), copies: [copy(), copy()] }
    }

    /// The tag alone.
    #[inline]
    #[must_use]
    pub fn tag(&self) -> u64 {
        self.state.load(SNAPSHOT_OBSERVE) & TAG_MASK
    }

    /// The tag, and the words that belong to it. No words if the writer changed them under each of four looks, which
    /// a reader would have to be descheduled four times for.
    #[inline]
    #[must_use]
    pub fn read(&self) -> (u64, Option<[u64; WORDS]>) {
        let mut state = self.state.load(SNAPSHOT_OBSERVE);
        for _ in 0..LOOKS_MAX {
            let copy = self.copy(state >> TAG_BITS);
            let words = array::from_fn(|index| copy[index].load(Ordering::Relaxed));
            snapshot_read_barrier();
            let again = self.state.load(Ordering::Relaxed);
            if again == state {
                return (state & TAG_MASK, Some(words));
            }
            // The next look needs what the newer state published.
            state = self.state.load(SNAPSHOT_OBSERVE);
        }
        (state & TAG_MASK, None)
    }

    /// Changes the tag and the words; only the one writer may call it. Bits of `tag` over the 40th are dropped.
    pub fn write(&self, tag: u64, words: &[u64; WORDS]) {
        let changes = (self.state.load(Ordering::Relaxed) >> TAG_BITS).wrapping_add(1);
        snapshot_write_barrier();
        for (place, word) in self.copy(changes).iter().zip(words) {
            place.store(*word, Ordering::Relaxed);
        }
        self.state.store(changes << TAG_BITS | tag & TAG_MASK, SNAPSHOT_PUBLISH);
    }

    /// Changes the tag and leaves the words; only the one writer may call it. Bits over the 40th are dropped.
    pub fn set_tag(&self, tag: u64) {
        let changes = self.state.load(Ordering::Relaxed) & !TAG_MASK;
        self.state.store(changes | tag & TAG_MASK, SNAPSHOT_PUBLISH);
    }

    /// The copy in force after that many changes.
    #[inline]
    fn copy(&self, changes: u64) -> &[AtomicU64; WORDS] {
        let [even, odd] = &self.copies;
        if changes & 1 == 0 { even } else { odd }
    }
}

impl<const WORDS: usize> Default for Snapshot<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const WORDS: usize> fmt::Debug for Snapshot<WORDS> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tag, words) = self.read();
        out.debug_struct("Snapshot").field("tag", &tag).field("words", &words).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    #[test]
    fn what_was_written_is_read() {
        let snapshot = Snapshot::<3>::new_zeroed();
        assert_eq!(snapshot.read(), (0, Some([0; 3])));
        for n in 1..100u64 {
            snapshot.write(n, &[n, n + 1, u64::MAX - n]);
            assert_eq!(snapshot.read(), (n, Some([n, n + 1, u64::MAX - n])));
            snapshot.set_tag(Snapshot::<3>::TAG_MAX - n);
            assert_eq!(snapshot.read(), (Snapshot::<3>::TAG_MAX - n, Some([n, n + 1, u64::MAX - n])));
        }
        snapshot.write(u64::MAX, &[1; 3]);
        assert_eq!((snapshot.tag(), snapshot.read().1), (Snapshot::<3>::TAG_MAX, Some([1; 3])));
    }
}
