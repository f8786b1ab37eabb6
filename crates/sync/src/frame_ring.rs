//! A ring of frames from one thread to another.
//!
//! The memory is a power of two of 64-bit words. A record is one word with the frame's length, one with its
//! [`FrameMeta`], and the frame itself padded to whole words; it never wraps round the end of the memory, so the
//! consumer sees each frame as one slice. Where a record would wrap, a word of all ones sends the consumer back to
//! the start. `tail` (words ever written) belongs to the producer and `head` (words ever consumed) to the consumer;
//! each side keeps a copy of the other's and looks anew only when the copy says that it cannot go on.

use crate::CachePadded;
use crate::atomic::{AtomicU64, Ordering};
use crate::ordering::{RING_OBSERVE, RING_PUBLISH, RING_RELEASE, RING_REUSE};
use crate::words::{WORD_BYTES, Words};
use core::fmt;
use std::sync::Arc;

/// The words of a record before the frame: its length and its meta data.
const HEADER_WORDS: usize = 2;

/// In place of a length: the next record is at the start of the memory.
const WRAP: u64 = u64::MAX;

/// The least memory of a ring, in words.
const WORDS_MIN: usize = 8;

/// What travels with a frame. The ring does not look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FrameMeta {
    /// The port the frame came from or is meant for.
    pub port: u8,
    /// The kind of record, as its two ends agree.
    pub kind: u8,
    /// The reason the frame is here, as its two ends agree.
    pub reason: u16,
    /// The session the frame belongs to, as its two ends agree.
    pub session: u32,
}

impl FrameMeta {
    fn to_word(self) -> u64 {
        u64::from(self.port) | u64::from(self.kind) << 8 | u64::from(self.reason) << 16 | u64::from(self.session) << 32
    }

    fn from_word(word: u64) -> Self {
        let [port, kind, r0, r1, s0, s1, s2, s3] = word.to_le_bytes();
        Self { port, kind, reason: u16::from_le_bytes([r0, r1]), session: u32::from_le_bytes([s0, s1, s2, s3]) }
    }
}

/// Why a frame was not taken. The ring is as it was before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Full {
    /// Not enough memory is free until the consumer has caught up.
    #[error("the ring has no room for the frame")]
    Bytes,
    /// The ring holds as many records as it may.
    #[error("the ring holds as many records as it may")]
    Records,
    /// The frame is longer than [`FrameProducer::frame_max_bytes`]: it will never fit.
    #[error("the frame is too long for the ring")]
    TooLong,
}

/// The producer's line, read by the consumer.
struct Written {
    tail: AtomicU64,
    /// Records ever pushed.
    pushed: AtomicU64,
}

/// The consumer's line, read by the producer.
struct Consumed {
    head: AtomicU64,
    /// Records ever popped.
    popped: AtomicU64,
}

struct Shared {
    written: CachePadded<Written>,
    consumed: CachePadded<Consumed>,
    words: Words,
    records_max: u64,
}

impl Shared {
    /// The place in memory of a position.
    #[inline]
    fn place(&self, position: u64) -> usize {
        // The length is a power of two, and a place is less than it.
        position as usize & (self.words.len() - 1)
    }

    fn len(&self) -> usize {
        let popped = self.consumed.popped.load(Ordering::Relaxed);
        // Read second, so that it is not behind; a concurrent push may make it one too many for an instant.
        let pushed = self.written.pushed.load(Ordering::Relaxed);
        usize::try_from(pushed.saturating_sub(popped)).unwrap_or(usize::MAX)
    }

    fn frame_max_bytes(&self) -> usize {
        (self.words.len() / 2 - HEADER_WORDS) * WORD_BYTES
    }
}

/// The end that frames go into.
pub struct FrameProducer {
    shared: Arc<Shared>,
    tail: u64,
    pushed: u64,
    /// The consumer's `head` and `popped` as last seen.
    head_seen: u64,
    popped_seen: u64,
}

/// The end that frames come out of.
pub struct FrameConsumer {
    shared: Arc<Shared>,
    head: u64,
    popped: u64,
    /// The producer's `tail` as last seen.
    tail_seen: u64,
}

/// Makes a ring of at least `capacity_bytes` octets of memory (rounded up to a power of two, at least 64) and at most
/// `records_max` frames at a time. A frame takes its own length rounded up to 8 octets, and 16 more.
///
/// # Panics
/// If `capacity_bytes` is over half of the address space.
#[must_use]
pub fn frame_ring(capacity_bytes: usize, records_max: usize) -> (FrameProducer, FrameConsumer) {
    let words = capacity_bytes.div_ceil(WORD_BYTES).max(WORDS_MIN);
    let words = words.checked_next_power_of_two().expect("a ring fits the address space");
    let shared = Arc::new(Shared {
        written: CachePadded::new(Written { tail: AtomicU64::new(0), pushed: AtomicU64::new(0) }),
        consumed: CachePadded::new(Consumed { head: AtomicU64::new(0), popped: AtomicU64::new(0) }),
        words: Words::new(words),
        records_max: records_max as u64,
    });
    (
        FrameProducer { shared: Arc::clone(&shared), tail: 0, pushed: 0, head_seen: 0, popped_seen: 0 },
        FrameConsumer { shared, head: 0, popped: 0, tail_seen: 0 },
    )
}

impl FrameProducer {
    /// Appends a frame; the consumer sees it at once. Copies the frame; never waits.
    ///
    /// # Errors
    /// [`Full`] when it does not fit; nothing is changed then.
    #[inline]
    pub fn push(&mut self, meta: FrameMeta, frame: &[u8]) -> Result<(), Full> {
        if frame.len() > self.shared.frame_max_bytes() {
            return Err(Full::TooLong);
        }
        let record = (HEADER_WORDS + frame.len().div_ceil(WORD_BYTES)) as u64;
        let capacity = self.shared.words.len() as u64;
        let before_end = capacity - self.shared.place(self.tail) as u64;
        let skipped = if record > before_end { before_end } else { 0 };
        let end = self.tail + skipped + record;
        if end - self.head_seen > capacity || self.pushed - self.popped_seen >= self.shared.records_max {
            // Head first: `popped` is stored before it, so it is at least as new.
            self.head_seen = self.shared.consumed.head.load(RING_REUSE);
            self.popped_seen = self.shared.consumed.popped.load(Ordering::Relaxed);
            if self.pushed.saturating_sub(self.popped_seen) >= self.shared.records_max {
                return Err(Full::Records);
            }
            if end - self.head_seen > capacity {
                return Err(Full::Bytes);
            }
        }
        let words = &self.shared.words;
        if skipped > 0 {
            // SAFETY: positions from `tail` to `end` are at most `capacity` past the consumer's head, so the consumer
            // is done with these words, and it looks at none of them before `tail` is stored below.
            unsafe { words.set(self.shared.place(self.tail), WRAP) };
        }
        let at = self.shared.place(self.tail + skipped);
        // SAFETY: as above.
        unsafe { words.set(at, frame.len() as u64) };
        // SAFETY: as above.
        unsafe { words.set(at + 1, meta.to_word()) };
        // SAFETY: as above.
        unsafe { words.write(at + HEADER_WORDS, frame) };
        self.tail = end;
        self.pushed += 1;
        self.shared.written.pushed.store(self.pushed, Ordering::Relaxed);
        self.shared.written.tail.store(end, RING_PUBLISH);
        Ok(())
    }

    /// The number of frames in the ring, about: the consumer may be popping.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// True if the ring holds no frame, about.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory of the ring, in octets.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.shared.words.len() * WORD_BYTES
    }

    /// The most frames the ring holds at a time.
    #[must_use]
    pub fn records_max(&self) -> usize {
        self.shared.records_max as usize
    }

    /// The longest frame the ring takes, in octets: half of its memory less 16, so that an empty ring takes it
    /// wherever it stands.
    #[must_use]
    pub fn frame_max_bytes(&self) -> usize {
        self.shared.frame_max_bytes()
    }
}

impl FrameConsumer {
    /// Hands `look` the oldest frame and removes it. False if there is none.
    #[inline]
    pub fn pop_with(&mut self, look: impl FnOnce(FrameMeta, &[u8])) -> bool {
        let taken = self.take(look);
        if taken {
            self.release();
        }
        taken
    }

    /// Hands `look` up to `frames_max` frames, oldest first, and gives their memory back at once when done, so that
    /// the producer's copy of the head is disturbed once a batch. Returns how many there were.
    pub fn pop_batch(&mut self, frames_max: usize, mut look: impl FnMut(FrameMeta, &[u8])) -> usize {
        let mut taken = 0;
        while taken < frames_max && self.take(&mut look) {
            taken += 1;
        }
        if taken > 0 {
            self.release();
        }
        taken
    }

    #[inline]
    fn take(&mut self, look: impl FnOnce(FrameMeta, &[u8])) -> bool {
        if self.head == self.tail_seen {
            self.tail_seen = self.shared.written.tail.load(RING_OBSERVE);
            if self.head == self.tail_seen {
                return false;
            }
        }
        let words = &self.shared.words;
        let mut at = self.shared.place(self.head);
        // SAFETY: positions from `head` to the producer's tail hold whole records, and the producer writes none of
        // their words before `head` is stored in `release`.
        let mut len = unsafe { words.get(at) };
        if len == WRAP {
            self.head += (words.len() - at) as u64;
            at = 0;
            // SAFETY: as above; a record always follows the mark.
            len = unsafe { words.get(at) };
        }
        // SAFETY: as above.
        let meta = FrameMeta::from_word(unsafe { words.get(at + 1) });
        let len = len as usize;
        // Before `look`: a frame that makes it panic is gone, not handed out again.
        self.head += (HEADER_WORDS + len.div_ceil(WORD_BYTES)) as u64;
        self.popped += 1;
        // SAFETY: as above; `head` is stored for the producer only after this returns.
        unsafe { words.read(at + HEADER_WORDS, len, |frame| look(meta, frame)) };
        true
    }

    #[inline]
    fn release(&mut self) {
        self.shared.consumed.popped.store(self.popped, Ordering::Relaxed);
        self.shared.consumed.head.store(self.head, RING_RELEASE);
    }

    /// The number of frames in the ring, about: the producer may be pushing.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// True if the ring holds no frame, about.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory of the ring, in octets.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.shared.words.len() * WORD_BYTES
    }
}

impl fmt::Debug for FrameProducer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("FrameProducer").field("len", &self.len()).field("capacity", &self.capacity_bytes()).finish()
    }
}

impl fmt::Debug for FrameConsumer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("FrameConsumer").field("len", &self.len()).field("capacity", &self.capacity_bytes()).finish()
    }
}
