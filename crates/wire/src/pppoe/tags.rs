//! Discovery tags (RFC 2516 section 5 and Appendix A): a type, a length, a value.

use super::NoRoom;

/// Octets of a tag in front of its value.
pub const TAG_HEADER_LEN: usize = 4;

/// A TAG_TYPE. Values without a name are kept as they are: an unknown tag MUST be ignored (RFC 2516 section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TagType(pub u16);

impl TagType {
    /// No tag follows.
    pub const END_OF_LIST: Self = Self(0x0000);
    /// The service asked for or offered; empty means any.
    pub const SERVICE_NAME: Self = Self(0x0101);
    /// The access concentrator's name.
    pub const AC_NAME: Self = Self(0x0102);
    /// The host's own mark, to be returned unmodified.
    pub const HOST_UNIQ: Self = Self(0x0103);
    /// The access concentrator's mark, to be returned by the host unmodified.
    pub const AC_COOKIE: Self = Self(0x0104);
    /// A vendor's own data behind a four-octet vendor id.
    pub const VENDOR_SPECIFIC: Self = Self(0x0105);
    /// A relay's mark, to be returned unmodified.
    pub const RELAY_SESSION_ID: Self = Self(0x0110);
    /// The largest PPP payload the host can carry (RFC 4638 section 3).
    pub const PPP_MAX_PAYLOAD: Self = Self(0x0120);
    /// The service asked for is not to be had.
    pub const SERVICE_NAME_ERROR: Self = Self(0x0201);
    /// The access concentrator cannot do it.
    pub const AC_SYSTEM_ERROR: Self = Self(0x0202);
    /// Any other unrecoverable error.
    pub const GENERIC_ERROR: Self = Self(0x0203);
}

/// One tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag<'a> {
    /// What it is.
    pub kind: TagType,
    /// Its value, possibly empty.
    pub value: &'a [u8],
}

/// Why a tag list cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    /// One to three octets are left where a tag's header takes four.
    #[error("{have} octets left where a tag's header takes 4")]
    HeaderCut {
        /// Octets left.
        have: usize,
    },
    /// A tag's length counts more octets than are left.
    #[error("tag {kind:#06x} of {length} octets where {have} are left")]
    ValueCut {
        /// The tag's type.
        kind: u16,
        /// Its TAG_LENGTH.
        length: u16,
        /// Octets left after its header.
        have: usize,
    },
}

/// Walks over the tags of a discovery payload.
///
/// Ends after the last tag, before an End-Of-List tag (which it does not yield, whatever its length field says: nothing
/// after it is a tag), or after the first error.
#[derive(Debug, Clone)]
pub struct Tags<'a> {
    rest: &'a [u8],
}

impl<'a> Tags<'a> {
    /// Starts at the front of `payload`, which is LENGTH octets long: padding already cut off.
    #[must_use]
    pub const fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }
}

impl<'a> Iterator for Tags<'a> {
    type Item = Result<Tag<'a>, TagError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = core::mem::take(&mut self.rest);
        if rest.is_empty() {
            return None;
        }
        let Some((&[kind_high, kind_low, length_high, length_low], after)) = rest.split_first_chunk::<TAG_HEADER_LEN>()
        else {
            return Some(Err(TagError::HeaderCut { have: rest.len() }));
        };
        let kind = TagType(u16::from_be_bytes([kind_high, kind_low]));
        if kind == TagType::END_OF_LIST {
            return None;
        }
        let length = u16::from_be_bytes([length_high, length_low]);
        let Some((value, rest)) = after.split_at_checked(usize::from(length)) else {
            return Some(Err(TagError::ValueCut { kind: kind.0, length, have: after.len() }));
        };
        self.rest = rest;
        Some(Ok(Tag { kind, value }))
    }
}

impl core::iter::FusedIterator for Tags<'_> {}

/// Why a tag was not written. Nothing of it has been.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TagWriteError {
    /// The buffer's rest is too small.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// A value of more than 65,535 octets has no TAG_LENGTH.
    #[error("a tag's value has at most 65535 octets, this one {0}")]
    ValueTooLong(usize),
}

/// Writes tags one after another into a buffer; the buffer's size is the limit.
#[derive(Debug)]
pub struct TagWriter<'a> {
    out: &'a mut [u8],
    written: usize,
}

impl<'a> TagWriter<'a> {
    /// Starts at the front of `out`.
    #[must_use]
    pub const fn new(out: &'a mut [u8]) -> Self {
        Self { out, written: 0 }
    }

    /// Octets written so far.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.written
    }

    /// True as long as no tag is written.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.written == 0
    }

    /// Appends a tag, whole or not at all.
    ///
    /// # Errors
    /// [`TagWriteError`]; the buffer then holds what it held before.
    pub fn push(&mut self, kind: TagType, value: &[u8]) -> Result<(), TagWriteError> {
        let length = u16::try_from(value.len()).map_err(|_| TagWriteError::ValueTooLong(value.len()))?;
        let free = self.out.get_mut(self.written..).unwrap_or_default();
        // At most 65,535 + 4.
        let need = TAG_HEADER_LEN.saturating_add(value.len());
        let have = free.len();
        let room = free.get_mut(..need).ok_or(NoRoom { need, have })?;
        let Some((header, body)) = room.split_first_chunk_mut::<TAG_HEADER_LEN>() else {
            return Err(NoRoom { need, have }.into());
        };
        let [kind_high, kind_low] = kind.0.to_be_bytes();
        let [length_high, length_low] = length.to_be_bytes();
        *header = [kind_high, kind_low, length_high, length_low];
        body.copy_from_slice(value);
        self.written = self.written.saturating_add(need);
        Ok(())
    }

    /// Octets written in all.
    #[must_use]
    pub const fn finish(self) -> usize {
        self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(payload: &[u8]) -> Vec<Result<Tag<'_>, TagError>> {
        Tags::new(payload).collect()
    }

    #[test]
    fn p11_end_of_list_ends_the_tags() {
        let payload = [1, 1, 0, 0, 0, 0, 0, 0, 1, 3, 0, 4, 0xde, 0xad, 0xbe, 0xef];
        assert_eq!(read(&payload), [Ok(Tag { kind: TagType::SERVICE_NAME, value: &[] })]);
        // An End-Of-List with a length is against Appendix A; it ends the list all the same, before its length is used.
        assert_eq!(read(&[0, 0, 0xff, 0xff, 1, 1, 0, 0]), []);
    }

    #[test]
    fn p12_a_cut_header_and_a_cut_value_are_told_apart() {
        let service = Ok(Tag { kind: TagType::SERVICE_NAME, value: &[][..] });
        for have in 1..TAG_HEADER_LEN {
            let payload = [&[1, 1, 0, 0][..], &[1, 3, 0][..have]].concat();
            assert_eq!(read(&payload), [service, Err(TagError::HeaderCut { have })]);
        }
        let cut = read(&[1, 1, 0, 0, 1, 3, 0, 0x40]);
        assert_eq!(cut, [service, Err(TagError::ValueCut { kind: 0x0103, length: 64, have: 0 })]);
    }

    #[test]
    fn a_value_longer_than_its_length_field_is_refused() {
        let mut out = vec![0; 70_000];
        let mut writer = TagWriter::new(&mut out);
        assert_eq!(writer.push(TagType::HOST_UNIQ, &vec![7; 65_536]), Err(TagWriteError::ValueTooLong(65_536)));
        assert_eq!(writer.push(TagType::HOST_UNIQ, &vec![7; 65_535]), Ok(()));
        assert_eq!(writer.finish(), 65_539);
    }

    /// Tags of any type but End-Of-List.
    fn any_tags() -> impl Strategy<Value = Vec<(u16, Vec<u8>)>> {
        prop::collection::vec((1u16.., prop::collection::vec(any::<u8>(), 0..40)), 0..12)
    }

    proptest! {
        #[test]
        fn what_is_built_is_read_back(tags in any_tags()) {
            let mut out = [0; 1024];
            let mut writer = TagWriter::new(&mut out);
            for (kind, value) in &tags {
                writer.push(TagType(*kind), value).unwrap();
            }
            let len = writer.finish();
            let back: Vec<_> = Tags::new(&out[..len]).map(|tag| tag.map(|tag| (tag.kind.0, tag.value.to_vec()))).collect();
            prop_assert_eq!(back, tags.into_iter().map(Ok).collect::<Vec<_>>());
        }

        #[test]
        fn noise_is_read_to_its_end_or_to_a_justified_error(payload in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut at = 0;
            for tag in Tags::new(&payload) {
                match tag {
                    Ok(tag) => {
                        prop_assert_eq!(&payload[at..at + 2], &tag.kind.0.to_be_bytes());
                        prop_assert_eq!(&payload[at + 4..at + 4 + tag.value.len()], tag.value);
                        at += 4 + tag.value.len();
                    }
                    Err(TagError::HeaderCut { have }) => prop_assert!(have < 4 && at + have == payload.len()),
                    Err(TagError::ValueCut { length, have, .. }) => {
                        prop_assert_eq!(at + 4 + have, payload.len());
                        prop_assert!(usize::from(length) > have);
                    }
                }
            }
        }

        #[test]
        fn what_is_read_is_built_again(tags in any_tags(), cut in 0usize..1024) {
            let mut out = [0; 1024];
            let mut writer = TagWriter::new(&mut out);
            for (kind, value) in &tags {
                writer.push(TagType(*kind), value).unwrap();
            }
            let len = writer.finish();
            let payload = &out[..cut.min(len)];
            let mut again = [0; 1024];
            let mut writer = TagWriter::new(&mut again);
            for tag in Tags::new(payload).flatten() {
                writer.push(tag.kind, tag.value).unwrap();
            }
            let len = writer.finish();
            prop_assert_eq!(&again[..len], &payload[..len]);
        }

        #[test]
        fn too_small_a_buffer_takes_whole_tags_only(size in 0usize..48, value in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut out = vec![0xee; size];
            let mut writer = TagWriter::new(&mut out);
            let need = TAG_HEADER_LEN + value.len();
            let result = writer.push(TagType::HOST_UNIQ, &value);
            let len = writer.finish();
            if need <= size {
                prop_assert_eq!((result, len), (Ok(()), need));
            } else {
                prop_assert_eq!((result, len), (Err(NoRoom { need, have: size }.into()), 0));
                prop_assert!(out.iter().all(|octet| *octet == 0xee), "nothing is written in part");
            }
        }
    }
}
