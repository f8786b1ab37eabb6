//! One packet buffer, owned.

use arrayvec::ArrayVec;
use dpdk_sys::rte_mbuf;
use std::ptr::NonNull;

/// Octets that DPDK keeps free in front of a received frame.
pub const HEADROOM_OCTETS: u16 = dpdk_sys::RTE_PKTMBUF_HEADROOM as u16;

/// A packet buffer: owned by whoever holds it, given back to its pool when dropped. One pointer in size.
///
/// The bytes are those of the first segment. A frame in several segments ([`Mbuf::segments`]) is to be joined by
/// [`Mbuf::linearise`] before anything looks at it.
#[repr(transparent)]
pub struct Mbuf(NonNull<rte_mbuf>);

// SAFETY: a buffer belongs to one holder at a time and may be freed on any thread.
unsafe impl Send for Mbuf {}

impl Mbuf {
    /// # Safety
    /// `raw` is a live buffer that nobody else holds.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(raw: NonNull<rte_mbuf>) -> Self {
        Self(raw)
    }

    #[inline(always)]
    fn raw(&self) -> &rte_mbuf {
        // SAFETY: the buffer is alive and nobody else writes it while this handle exists.
        unsafe { self.0.as_ref() }
    }

    #[inline(always)]
    fn raw_mut(&mut self) -> &mut rte_mbuf {
        // SAFETY: as above, and `self` is borrowed alone.
        unsafe { self.0.as_mut() }
    }

    #[inline(always)]
    fn start(&self) -> *mut u8 {
        let raw = self.raw();
        raw.buf_addr.cast::<u8>().wrapping_add(usize::from(raw.data_off))
    }

    /// The frame's bytes (of the first segment).
    #[inline(always)]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: data_off + data_len lies within the buffer, which was zeroed when it was mapped and is ours.
        unsafe { std::slice::from_raw_parts(self.start(), self.len()) }
    }

    /// The frame's bytes, to be changed.
    #[inline(always)]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.len()) }
    }

    /// Octets in the first segment.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.raw().data_len)
    }

    /// True for a buffer without bytes.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Octets in all segments.
    #[inline(always)]
    #[must_use]
    pub fn total_len(&self) -> usize {
        self.raw().pkt_len as usize
    }

    /// Octets free in front.
    #[inline(always)]
    #[must_use]
    pub fn headroom(&self) -> usize {
        usize::from(self.raw().data_off)
    }

    /// Octets free behind the first segment's bytes.
    #[inline(always)]
    #[must_use]
    pub fn tailroom(&self) -> usize {
        let raw = self.raw();
        usize::from(raw.buf_len.saturating_sub(raw.data_off).saturating_sub(raw.data_len))
    }

    /// How many buffers the frame is spread over.
    #[inline(always)]
    #[must_use]
    pub fn segments(&self) -> u16 {
        self.raw().nb_segs
    }

    /// Puts `count` octets in front; their content is whatever lay there. False, and nothing changed, where the
    /// headroom is smaller.
    #[inline(always)]
    #[must_use]
    pub fn push_front(&mut self, count: usize) -> bool {
        let raw = self.raw_mut();
        let Ok(count) = u16::try_from(count) else { return false };
        let (Some(offset), Some(length)) = (raw.data_off.checked_sub(count), raw.data_len.checked_add(count)) else {
            return false;
        };
        raw.data_off = offset;
        raw.data_len = length;
        raw.pkt_len = raw.pkt_len.wrapping_add(u32::from(count));
        true
    }

    /// Takes `count` octets off the front. False, and nothing changed, where there are fewer.
    #[inline(always)]
    #[must_use]
    pub fn pull_front(&mut self, count: usize) -> bool {
        let raw = self.raw_mut();
        let Ok(count) = u16::try_from(count) else { return false };
        let Some(length) = raw.data_len.checked_sub(count) else { return false };
        raw.data_off = raw.data_off.wrapping_add(count);
        raw.data_len = length;
        raw.pkt_len = raw.pkt_len.wrapping_sub(u32::from(count));
        true
    }

    /// Makes the frame `length` octets long, by cutting or by growing at the end; what is new is whatever lay there.
    /// False, and nothing changed, where the buffer is too small or the frame has several segments.
    #[inline(always)]
    #[must_use]
    pub fn set_len(&mut self, length: usize) -> bool {
        let raw = self.raw_mut();
        let room = raw.buf_len.saturating_sub(raw.data_off);
        match u16::try_from(length) {
            Ok(length) if length <= room && raw.nb_segs == 1 => {
                raw.data_len = length;
                raw.pkt_len = u32::from(length);
                true
            }
            _ => false,
        }
    }

    /// Replaces the frame's bytes by `frame`. False, and nothing changed, where the buffer is too small.
    #[inline]
    #[must_use]
    pub fn fill(&mut self, frame: &[u8]) -> bool {
        let fits = self.set_len(frame.len());
        if fits {
            self.bytes_mut().copy_from_slice(frame);
        }
        fits
    }

    /// Joins the segments into the first one. False, and nothing changed, where it has no room for all of them.
    #[must_use]
    pub fn linearise(&mut self) -> bool {
        if self.segments() == 1 {
            return true;
        }
        // SAFETY: the buffer and the segments that hang on it are ours.
        unsafe { dpdk_sys::shim_pktmbuf_linearize(self.0.as_ptr()) == 0 }
    }

    /// Hangs `tail` behind this frame as further segments. False where the two are longer than a frame can be.
    ///
    /// # Errors
    /// `tail` comes back where it does not fit (65,535 octets in all, 65,535 segments).
    pub fn chain(&mut self, tail: Mbuf) -> Result<(), Mbuf> {
        let segments = self.segments().checked_add(tail.segments());
        let (Some(segments), Some(total)) = (segments, self.raw().pkt_len.checked_add(tail.raw().pkt_len)) else {
            return Err(tail);
        };
        if total > u32::from(u16::MAX) {
            return Err(tail);
        }
        let mut last = self.0;
        // SAFETY: each `next` of a chain that we own is null or a live segment that nobody else writes.
        while let Some(next) = NonNull::new(unsafe { last.as_ref() }.next) {
            last = next;
        }
        let tail = std::mem::ManuallyDrop::new(tail);
        // SAFETY: the last segment is ours alone; the tail now belongs to the chain.
        unsafe { last.as_mut() }.next = tail.0.as_ptr();
        let raw = self.raw_mut();
        raw.nb_segs = segments;
        raw.pkt_len = total;
        Ok(())
    }

    /// The tag control information that the card took off the frame, where it did.
    #[must_use]
    pub fn stripped_tag(&self) -> Option<u16> {
        let raw = self.raw();
        (raw.ol_flags & dpdk_sys::K_RTE_MBUF_F_RX_VLAN_STRIPPED != 0).then_some(raw.vlan_tci)
    }

    /// The outer tag control information where the card took two tags off.
    #[must_use]
    pub fn stripped_outer_tag(&self) -> Option<u16> {
        let raw = self.raw();
        (raw.ol_flags & dpdk_sys::K_RTE_MBUF_F_RX_QINQ_STRIPPED != 0).then_some(raw.vlan_tci_outer)
    }

    /// Writes 32 bits beside the frame, for whoever it is handed to. A driver may write over them on reception.
    #[inline(always)]
    pub fn set_mark(&mut self, mark: u32) {
        self.raw_mut().__bindgen_anon_2.hash.usr = mark;
    }

    /// What [`Mbuf::set_mark`] wrote.
    #[inline(always)]
    #[must_use]
    pub fn mark(&self) -> u32 {
        // SAFETY: the union has this one member.
        let hash = unsafe { self.raw().__bindgen_anon_2.hash };
        // SAFETY: any 32 bits are a number.
        unsafe { hash.usr }
    }

    /// Gives all buffers back at once, which is cheaper than one by one.
    #[inline]
    pub fn free_burst<const N: usize>(burst: &mut ArrayVec<Mbuf, N>) {
        let count = burst.len();
        // SAFETY: shortening: the buffers are handed over just below and not touched again.
        unsafe { burst.set_len(0) };
        // SAFETY: the first `count` places hold buffers that were ours; `Mbuf` is one pointer.
        unsafe { dpdk_sys::rte_pktmbuf_free_bulk(burst.as_mut_ptr().cast::<*mut rte_mbuf>(), count as u32) };
    }
}

impl Drop for Mbuf {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the buffer is ours and this handle ends here.
        unsafe { dpdk_sys::shim_pktmbuf_free(self.0.as_ptr()) };
    }
}

impl std::fmt::Debug for Mbuf {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Mbuf")
            .field("len", &self.len())
            .field("segments", &self.segments())
            .field("headroom", &self.headroom())
            .finish_non_exhaustive()
    }
}
