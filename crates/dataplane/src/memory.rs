//! Frames in ordinary memory and a sink that keeps them: for tests, golden cases and benchmarks.

use bng_wire::PortIndex;

use crate::frame::{FrameBuf, PuntClass, PuntMeta, Sink};
use crate::reason::Reason;

/// Octets free in front of a new frame, as in an mbuf of the usual configuration.
pub const HEADROOM: usize = 128;
/// Octets of a frame's memory, headroom included.
pub const CAPACITY: usize = HEADROOM + 2048;

/// A frame in memory of its own.
#[derive(Debug, Clone)]
pub struct MemoryFrame {
    memory: Box<[u8; CAPACITY]>,
    start: usize,
    len: usize,
}

impl MemoryFrame {
    /// An empty frame. Its memory is filled with 0xa5, so that whatever is sent unwritten shows.
    #[must_use]
    pub fn new() -> Self {
        Self { memory: Box::new([0xa5; CAPACITY]), start: HEADROOM, len: 0 }
    }

    /// A frame of these octets; those beyond what it holds are left out.
    #[must_use]
    pub fn of(octets: &[u8]) -> Self {
        let mut frame = Self::new();
        frame.refill(octets);
        frame
    }

    /// Makes it a frame of these octets again, with the usual headroom.
    pub fn refill(&mut self, octets: &[u8]) {
        self.start = HEADROOM;
        self.len = octets.len().min(CAPACITY.saturating_sub(HEADROOM));
        for (to, from) in self.bytes_mut().iter_mut().zip(octets) {
            *to = *from;
        }
    }

    /// The same frame with only this much headroom.
    #[must_use]
    pub fn with_headroom(octets: &[u8], headroom: usize) -> Self {
        let mut frame = Self::new();
        frame.start = headroom.min(HEADROOM);
        frame.len = octets.len().min(CAPACITY.saturating_sub(HEADROOM));
        for (to, from) in frame.bytes_mut().iter_mut().zip(octets) {
            *to = *from;
        }
        frame
    }
}

impl Default for MemoryFrame {
    fn default() -> Self {
        Self::new()
    }
}

impl FrameBuf for MemoryFrame {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.memory.get(self.start..self.start.wrapping_add(self.len)).unwrap_or(&[])
    }

    #[inline]
    fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.get_mut(self.start..self.start.wrapping_add(self.len)).unwrap_or(&mut [])
    }

    #[inline]
    fn push_front(&mut self, octets: usize) -> bool {
        match self.start.checked_sub(octets) {
            Some(start) => {
                self.start = start;
                self.len = self.len.wrapping_add(octets);
                true
            }
            None => false,
        }
    }

    #[inline]
    fn pull_front(&mut self, octets: usize) -> bool {
        match self.len.checked_sub(octets) {
            Some(len) => {
                self.start = self.start.wrapping_add(octets);
                self.len = len;
                true
            }
            None => false,
        }
    }

    #[inline]
    fn set_len(&mut self, octets: usize) -> bool {
        let fits = self.start.checked_add(octets).is_some_and(|end| end <= CAPACITY);
        if fits {
            self.len = octets;
        }
        fits
    }
}

/// How a frame ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// Sent on this port.
    Transmit(PortIndex, MemoryFrame),
    /// Handed to control.
    Punt(PuntClass, PuntMeta, MemoryFrame),
    /// Dropped.
    Discard(Reason, MemoryFrame),
}

/// Keeps what the pipeline does, in order.
#[derive(Debug, Default)]
pub struct MemorySink {
    /// The outcomes so far.
    pub outcomes: Vec<Outcome>,
    /// True to refuse new frames.
    pub exhausted: bool,
}

impl Sink<MemoryFrame> for MemorySink {
    fn transmit(&mut self, port: PortIndex, frame: MemoryFrame) {
        self.outcomes.push(Outcome::Transmit(port, frame));
    }

    fn punt(&mut self, class: PuntClass, meta: PuntMeta, frame: MemoryFrame) {
        self.outcomes.push(Outcome::Punt(class, meta, frame));
    }

    fn discard(&mut self, reason: Reason, frame: MemoryFrame) {
        self.outcomes.push(Outcome::Discard(reason, frame));
    }

    fn allocate(&mut self) -> Option<MemoryFrame> {
        (!self.exhausted).then(MemoryFrame::new)
    }
}
