//! The TCP header (RFC 9293 section 3.1), as far as a router looks at it: the MSS option of SYN segments.

use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::checksum;
use crate::ether::TooSmall;

/// Octets of a header without options.
pub const HEADER_LEN: usize = 20;
/// The SYN bit of [`Header::flags`].
pub const SYN: u8 = 0x02;
/// The ACK bit of [`Header::flags`].
pub const ACK: u8 = 0x10;

/// The fixed part of the header, as it lies in the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Header {
    /// Source port.
    pub src_port: U16,
    /// Destination port.
    pub dst_port: U16,
    /// Sequence number.
    pub sequence: U32,
    /// Acknowledgment number.
    pub acknowledgment: U32,
    /// Header length in words of 4 octets (the upper 4 bits).
    pub data_offset: u8,
    /// The flags.
    pub flags: u8,
    /// Window.
    pub window: U16,
    /// The checksum of pseudo-header and segment.
    pub checksum: U16,
    /// Urgent pointer.
    pub urgent: U16,
}

impl Header {
    /// Reads the header at the front of `segment`; `None` where it is shorter, or shorter than the data offset says,
    /// or the data offset is below 5.
    #[must_use]
    pub fn read(segment: &[u8]) -> Option<&Self> {
        let (header, _) = Self::ref_from_prefix(segment).ok()?;
        let len = header.header_len();
        (len >= HEADER_LEN && len <= segment.len()).then_some(header)
    }

    /// Octets of the header, options included.
    #[inline]
    #[must_use]
    pub const fn header_len(&self) -> usize {
        ((self.data_offset >> 4) as usize).wrapping_mul(4)
    }

    /// Writes the header to the front of `buffer`.
    ///
    /// # Errors
    /// [`TooSmall`].
    pub fn write(&self, buffer: &mut [u8]) -> Result<usize, TooSmall> {
        self.write_to_prefix(buffer).map_err(|_| TooSmall)?;
        Ok(HEADER_LEN)
    }
}

/// Option kinds that the walk knows (RFC 9293 section 3.2).
mod option {
    pub(super) const END: u8 = 0;
    pub(super) const NO_OPERATION: u8 = 1;
    pub(super) const MSS: u8 = 2;
}

/// Finds the MSS of a SYN segment: the offset of its two octets and its value. `None` in other segments, without the
/// option, and where the options are malformed before it.
#[must_use]
pub fn find_mss(segment: &[u8]) -> Option<(usize, u16)> {
    let header = Header::read(segment)?;
    if header.flags & SYN == 0 {
        return None;
    }
    let end = header.header_len();
    let mut at = HEADER_LEN;
    while at < end {
        let kind = *segment.get(at)?;
        match kind {
            option::END => return None,
            option::NO_OPERATION => at = at.saturating_add(1),
            _ => {
                let len = usize::from(*segment.get(at.saturating_add(1))?);
                let next = at.saturating_add(len);
                if len < 2 || next > end {
                    return None;
                }
                if kind == option::MSS {
                    let offset = at.saturating_add(2);
                    let (value, _) = segment.get(offset..next)?.split_first_chunk::<2>()?;
                    return (len == 4).then_some((offset, u16::from_be_bytes(*value)));
                }
                at = next;
            }
        }
    }
    None
}

/// Lowers the MSS of a SYN segment to `max` and brings the checksum up to date. True where it changed something: the
/// option is never inserted and never raised.
#[inline]
pub fn clamp_mss(segment: &mut [u8], max: u16) -> bool {
    // Nearly every segment has no SYN: look at the one octet first.
    match segment.get(13) {
        Some(flags) if flags & SYN != 0 => clamp_syn(segment, max),
        _ => false,
    }
}

#[cold]
fn clamp_syn(segment: &mut [u8], max: u16) -> bool {
    let Some((offset, old)) = find_mss(segment) else { return false };
    if old <= max {
        return false;
    }
    if let Some(value) = segment.get_mut(offset..).and_then(|rest| rest.first_chunk_mut::<2>()) {
        *value = max.to_be_bytes();
    }
    // At an odd offset the value's octets lie in the lower half of one word and the upper half of the next: the sum
    // sees them swapped (RFC 1071 section 2 B).
    let (old, new) = if offset % 2 == 0 { (old, max) } else { (old.swap_bytes(), max.swap_bytes()) };
    if let Some(field) = segment.get_mut(16..).and_then(|rest| rest.first_chunk_mut::<2>()) {
        *field = checksum::update(u16::from_be_bytes(*field), old, new).to_be_bytes();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::Sum;
    use proptest::prelude::*;

    /// A segment with these options, padded with zeros to whole words, its checksum right over an empty pseudo-header.
    fn segment(flags: u8, options: &[u8], data: &[u8]) -> Vec<u8> {
        let words = options.len().div_ceil(4);
        let header = Header {
            src_port: 40000.into(),
            dst_port: 443.into(),
            sequence: 0x0102_0304.into(),
            acknowledgment: 0.into(),
            data_offset: ((5 + words) << 4) as u8,
            flags,
            window: 64240.into(),
            checksum: 0.into(),
            urgent: 0.into(),
        };
        let mut octets = vec![0u8; 20 + words * 4];
        header.write(&mut octets).unwrap();
        octets[20..20 + options.len()].copy_from_slice(options);
        octets.extend_from_slice(data);
        let sum = Sum::ZERO.octets(&octets).checksum();
        octets[16..18].copy_from_slice(&sum.to_be_bytes());
        octets
    }

    #[test]
    fn p22_mss_is_lowered_never_raised_never_inserted() {
        for (flags, options, max, changed) in [
            (SYN, &[2u8, 4, 0x05, 0xb4][..], 1452u16, true), // 1460 -> 1452
            (SYN | ACK, &[2, 4, 0x05, 0xa0], 1432, true),    // 1440 -> 1432
            (SYN, &[2, 4, 0x02, 0x18], 1452, false),         // 536 stays
            (SYN, &[], 1452, false),                         // none is inserted
            (SYN, &[1, 1, 2, 4, 0x05, 0xb4], 1452, true),    // behind two NOPs
            (SYN, &[1, 2, 4, 0x05, 0xb4], 1452, true),       // at an odd offset
            (SYN, &[3, 3, 7, 2, 4, 0x05, 0xb4], 1452, true), // behind a window scale, odd too
            (SYN, &[4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 2, 4, 0x05, 0xb4], 1452, true),
            (ACK, &[2, 4, 0x05, 0xb4], 1452, false),        // no SYN
            (SYN, &[2, 4, 0x05, 0xb4], 1460, false),        // MRU 1500
            (SYN, &[0, 2, 4, 0x05, 0xb4], 1452, false),     // behind the end of the list
            (SYN, &[2, 3, 0x05], 1452, false),              // malformed
            (SYN, &[5, 0, 2, 4, 0x05, 0xb4], 1452, false),  // an option of length 0 ends the walk
            (SYN, &[5, 40, 2, 4, 0x05, 0xb4], 1452, false), // one beyond the header too
        ] {
            let before = segment(flags, options, b"data!");
            let mut after = before.clone();
            assert_eq!(clamp_mss(&mut after, max), changed, "{options:?}");
            assert!(checksum::is_valid(&after), "{options:?}");
            if changed {
                assert_eq!(find_mss(&after).unwrap().1, max);
                assert_eq!(before.len(), after.len());
            } else {
                assert_eq!(before, after);
            }
        }
    }

    proptest! {
        #[test]
        fn any_segment_keeps_a_right_checksum(options in proptest::collection::vec(any::<u8>(), 0..40), flags: u8, max: u16, data in proptest::collection::vec(any::<u8>(), 0..20)) {
            let before = segment(flags, &options, &data);
            let mut after = before.clone();
            let changed = clamp_mss(&mut after, max);
            prop_assert!(checksum::is_valid(&after));
            prop_assert_eq!(changed, before != after);
            if changed {
                prop_assert!(find_mss(&before).unwrap().1 > max && find_mss(&after).unwrap().1 == max);
            }
        }

        #[test]
        fn noise_does_no_harm(octets in proptest::collection::vec(any::<u8>(), 0..80), max: u16) {
            let mut after = octets.clone();
            clamp_mss(&mut after, max);
            prop_assert_eq!(after.len(), octets.len());
            if Header::read(&octets).is_none() { prop_assert_eq!(after, octets); }
        }

        #[test]
        fn too_short_to_read_and_too_small_to_write(cut in 0usize..20) {
            let octets = segment(SYN, &[], &[]);
            prop_assert!(Header::read(&octets[..cut]).is_none());
            let header = Header::read(&octets).unwrap();
            prop_assert_eq!(header.write(&mut [0u8; 20][..cut]), Err(TooSmall));
        }
    }
}
