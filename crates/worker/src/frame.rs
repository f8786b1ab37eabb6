//! An mbuf as the pipeline sees a frame.

use bng_dataplane::FrameBuf;
use bng_dpdk::Mbuf;

/// A received frame, in one segment. Nothing but the mbuf in memory.
#[derive(Debug)]
#[repr(transparent)]
pub struct Frame(pub(crate) Mbuf);

impl Frame {
    /// The mbuf as a frame; the mbuf comes back where it has several segments and no room to join them.
    ///
    /// # Errors
    /// The mbuf, unchanged.
    #[inline(always)]
    pub fn new(mut mbuf: Mbuf) -> Result<Self, Mbuf> {
        if mbuf.segments() == 1 || mbuf.linearise() { Ok(Self(mbuf)) } else { Err(mbuf) }
    }

    /// The mbuf again.
    #[inline(always)]
    #[must_use]
    pub fn into_mbuf(self) -> Mbuf {
        self.0
    }
}

impl FrameBuf for Frame {
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    #[inline(always)]
    fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.bytes_mut()
    }

    #[inline(always)]
    fn push_front(&mut self, octets: usize) -> bool {
        self.0.push_front(octets)
    }

    #[inline(always)]
    fn pull_front(&mut self, octets: usize) -> bool {
        self.0.pull_front(octets)
    }

    #[inline(always)]
    fn set_len(&mut self, octets: usize) -> bool {
        self.0.set_len(octets)
    }
}
