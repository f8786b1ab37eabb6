//! PADOs that are held back until their time.

use std::collections::BinaryHeap;
use std::time::Instant;

use bng_wire::PortIndex;

/// How many PADOs are held back at most; a frame takes up to 1.5 KB, usually 0.1 KB.
pub const HELD_MAX: usize = 8192;

/// A frame and when it is due. Ordered so that the heap's greatest is the one due first, the older one among equals.
struct HeldFrame {
    due: Instant,
    number: u64,
    port: PortIndex,
    frame: Vec<u8>,
}

impl HeldFrame {
    fn rank(&self) -> core::cmp::Reverse<(Instant, u64)> {
        core::cmp::Reverse((self.due, self.number))
    }
}

impl PartialEq for HeldFrame {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for HeldFrame {}

impl PartialOrd for HeldFrame {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for HeldFrame {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// The frames held back.
#[derive(Default)]
pub(crate) struct Held {
    heap: BinaryHeap<HeldFrame>,
    next_number: u64,
}

impl Held {
    /// True where no further frame is taken.
    pub(crate) fn is_full(&self) -> bool {
        self.heap.len() >= HELD_MAX
    }

    /// Takes a frame; the caller has asked [`Held::is_full`].
    pub(crate) fn push(&mut self, due: Instant, port: PortIndex, frame: Vec<u8>) {
        self.heap.push(HeldFrame { due, number: self.next_number, port, frame });
        self.next_number = self.next_number.wrapping_add(1);
    }

    /// When the first frame is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.heap.peek().map(|first| first.due)
    }

    /// Gives out a frame that is due.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(PortIndex, Vec<u8>)> {
        if self.due()? > now {
            return None;
        }
        self.heap.pop().map(|first| (first.port, first.frame))
    }
}
