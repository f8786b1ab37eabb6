//! Ethernet II frames with up to two VLAN tags (IEEE 802.3, IEEE 802.1Q).
//!
//! ```text
//!  +-----------------+-----------------+------------------+------------------+-----------+---------
//!  | destination (6) |   source (6)    | TPID (2) TCI (2) | TPID (2) TCI (2) | type (2)  | payload
//!  +-----------------+-----------------+------------------+------------------+-----------+---------
//!                                       0, 1 or 2 tags, outer first
//! ```

use crate::id::{MacAddr, VlanStack, VlanTag};

/// Octets of a header without tags.
pub const HEADER_LEN: usize = 14;
/// Octets of one tag.
pub const TAG_LEN: usize = 4;
/// The least length of a frame on the wire, without FCS: shorter ones are padded (IEEE 802.3 clause 4.2.3.3).
pub const FRAME_LEN_MIN: usize = 60;

/// EtherTypes and tag protocol identifiers.
pub mod ethertype {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// ARP.
    pub const ARP: u16 = 0x0806;
    /// IPv6.
    pub const IPV6: u16 = 0x86dd;
    /// PPPoE discovery stage (RFC 2516 section 4).
    pub const PPPOE_DISCOVERY: u16 = 0x8863;
    /// PPPoE session stage (RFC 2516 section 4).
    pub const PPPOE_SESSION: u16 = 0x8864;
    /// Customer VLAN tag (IEEE 802.1Q).
    pub const DOT1Q: u16 = 0x8100;
    /// Service VLAN tag (IEEE 802.1ad).
    pub const DOT1AD: u16 = 0x88a8;
    /// Outer tag of equipment older than IEEE 802.1ad.
    pub const QINQ_9100: u16 = 0x9100;
}

/// The EtherTypes that a port takes for tag protocol identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TpidSet(u8);

impl TpidSet {
    /// No tags at all.
    pub const NONE: Self = Self(0);
    /// 0x8100.
    pub const DOT1Q: Self = Self(1);
    /// 0x88a8.
    pub const DOT1AD: Self = Self(2);
    /// 0x9100.
    pub const QINQ_9100: Self = Self(4);
    /// All three.
    pub const ALL: Self = Self(7);

    /// The members of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True where `ethertype` is a tag protocol identifier of this set.
    #[inline]
    #[must_use]
    pub const fn contains(self, ethertype: u16) -> bool {
        let bit = match ethertype {
            ethertype::DOT1Q => 1,
            ethertype::DOT1AD => 2,
            ethertype::QINQ_9100 => 4,
            _ => 0,
        };
        self.0 & bit != 0
    }
}

/// A frame's Ethernet header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ether {
    /// The destination address.
    pub dst: MacAddr,
    /// The source address.
    pub src: MacAddr,
    /// The tags, outer first.
    pub vlans: VlanStack,
    /// The EtherType of the payload.
    pub ethertype: u16,
    /// Where the payload begins: 14, 18 or 22.
    pub payload_offset: usize,
}

/// Why a frame's Ethernet header cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EtherError {
    /// The frame ends within the header.
    #[error("the frame ends within its Ethernet header")]
    Truncated,
    /// There are more than two tags.
    #[error("the frame has more than two VLAN tags")]
    TooManyTags,
}

/// The buffer has no room for what is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the buffer has no room")]
pub struct TooSmall;

#[inline]
fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    let (octets, _) = bytes.get(offset..)?.split_first_chunk::<2>()?;
    Some(u16::from_be_bytes(*octets))
}

impl Ether {
    /// Reads the header of `frame`. A tag's identifier counts as one if `tpids` has it; behind an outer tag 0x8100
    /// always does, since that is what customer tags have whatever the outer one.
    ///
    /// # Errors
    /// [`EtherError`]; a tag protocol identifier not in `tpids` is no error but the EtherType.
    #[inline]
    pub fn parse(frame: &[u8], tpids: TpidSet) -> Result<Self, EtherError> {
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] =
            *frame.first_chunk::<HEADER_LEN>().ok_or(EtherError::Truncated)?;
        let mut ether = Self {
            dst: MacAddr([d0, d1, d2, d3, d4, d5]),
            src: MacAddr([s0, s1, s2, s3, s4, s5]),
            vlans: VlanStack::default(),
            ethertype: u16::from_be_bytes([t0, t1]),
            payload_offset: HEADER_LEN,
        };
        // What most untagged frames carry is asked for first.
        let plain = matches!(ether.ethertype, ethertype::PPPOE_SESSION | ethertype::IPV4 | ethertype::IPV6);
        if !plain && tpids.contains(ether.ethertype) {
            ether.parse_tags(frame, tpids)?;
        }
        Ok(ether)
    }

    fn parse_tags(&mut self, frame: &[u8], tpids: TpidSet) -> Result<(), EtherError> {
        let tag = |ethertype, offset| -> Result<(VlanTag, u16), EtherError> {
            let tci = u16_at(frame, offset).ok_or(EtherError::Truncated)?;
            let next = u16_at(frame, offset.saturating_add(2)).ok_or(EtherError::Truncated)?;
            Ok((VlanTag { tpid: ethertype, tci }, next))
        };
        let (outer, next) = tag(self.ethertype, HEADER_LEN)?;
        (self.vlans.outer, self.ethertype) = (Some(outer), next);
        self.payload_offset = HEADER_LEN + TAG_LEN;
        if !tpids.with(TpidSet::DOT1Q).contains(next) {
            return Ok(());
        }
        let (inner, next) = tag(next, HEADER_LEN + TAG_LEN)?;
        (self.vlans.inner, self.ethertype) = (Some(inner), next);
        self.payload_offset = HEADER_LEN + 2 * TAG_LEN;
        if TpidSet::ALL.contains(next) { Err(EtherError::TooManyTags) } else { Ok(()) }
    }

    /// The octets that the header takes.
    #[must_use]
    pub const fn len(vlans: VlanStack) -> usize {
        HEADER_LEN.saturating_add(vlans.len().saturating_mul(TAG_LEN))
    }

    /// Writes the header to the front of `buffer`; how many octets that took. `payload_offset` is not looked at.
    ///
    /// # Errors
    /// [`TooSmall`]; the buffer's contents are undefined then.
    pub fn write(&self, buffer: &mut [u8]) -> Result<usize, TooSmall> {
        let mut offset = 0usize;
        let mut put = |octets: &[u8]| {
            let end = offset.saturating_add(octets.len());
            buffer.get_mut(offset..end).ok_or(TooSmall)?.copy_from_slice(octets);
            offset = end;
            Ok(())
        };
        put(&self.dst.0)?;
        put(&self.src.0)?;
        for tag in [self.vlans.outer, self.vlans.inner].into_iter().flatten() {
            put(&tag.tpid.to_be_bytes())?;
            put(&tag.tci.to_be_bytes())?;
        }
        put(&self.ethertype.to_be_bytes())?;
        Ok(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tag() -> impl Strategy<Value = VlanTag> {
        let tpid = prop_oneof![Just(ethertype::DOT1Q), Just(ethertype::DOT1AD), Just(ethertype::QINQ_9100)];
        (tpid, any::<u16>()).prop_map(|(tpid, tci)| VlanTag { tpid, tci })
    }

    fn header() -> impl Strategy<Value = Ether> {
        let vlans = prop_oneof![
            Just(VlanStack::default()),
            tag().prop_map(|outer| VlanStack { outer: Some(outer), inner: None }),
            (tag(), tag()).prop_map(|(outer, inner)| VlanStack { outer: Some(outer), inner: Some(inner) }),
        ];
        let kind = any::<u16>().prop_filter("not a tag", |kind| !TpidSet::ALL.contains(*kind));
        (any::<[u8; 6]>(), any::<[u8; 6]>(), vlans, kind).prop_map(|(dst, src, vlans, ethertype)| Ether {
            dst: MacAddr(dst),
            src: MacAddr(src),
            vlans,
            ethertype,
            payload_offset: Ether::len(vlans),
        })
    }

    proptest! {
        #[test]
        fn what_is_built_parses_back(ether in header(), payload in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut frame = vec![0; 22];
            let len = ether.write(&mut frame).unwrap();
            frame.truncate(len);
            frame.extend_from_slice(&payload);
            prop_assert_eq!(Ether::parse(&frame, TpidSet::ALL), Ok(ether));
        }

        #[test]
        fn what_parses_builds_the_same_octets(frame in proptest::collection::vec(any::<u8>(), 0..64), tagged in 0u8..3) {
            let mut frame = frame;
            if tagged > 0 && frame.len() > 14 { frame[12..14].copy_from_slice(&[0x88, 0xa8]); }
            if tagged > 1 && frame.len() > 18 { frame[16..18].copy_from_slice(&[0x81, 0x00]); }
            match Ether::parse(&frame, TpidSet::ALL) {
                Ok(ether) => {
                    let mut out = [0u8; 22];
                    let len = ether.write(&mut out).unwrap();
                    prop_assert_eq!(len, ether.payload_offset);
                    prop_assert_eq!(&out[..len], &frame[..len]);
                }
                // Noise is refused only for one of the two reasons there are.
                Err(EtherError::Truncated) => prop_assert!(frame.len() < 22),
                Err(EtherError::TooManyTags) => prop_assert!(TpidSet::ALL.contains(u16_at(&frame, 20).unwrap())),
            }
        }

        #[test]
        fn too_short_to_read_and_too_small_to_write(ether in header(), cut in 0usize..22) {
            let mut frame = [0u8; 22];
            let len = ether.write(&mut frame).unwrap();
            let cut = cut.min(len - 1);
            prop_assert_eq!(Ether::parse(&frame[..cut], TpidSet::ALL), Err(EtherError::Truncated));
            prop_assert_eq!(ether.write(&mut frame[..cut]), Err(TooSmall));
        }
    }

    #[test]
    fn a_port_takes_only_its_own_identifiers_for_tags() {
        let mut frame = [0u8; 22];
        frame[12..].copy_from_slice(&[0x88, 0xa8, 0, 100, 0x81, 0, 0, 200, 0x88, 0x63]);
        let both = Ether::parse(&frame, TpidSet::DOT1AD).unwrap();
        assert_eq!((both.vlans.outer_vid(), both.vlans.inner_vid(), both.ethertype), (100, 200, 0x8863));
        let neither = Ether::parse(&frame, TpidSet::DOT1Q).unwrap();
        assert_eq!((neither.vlans.len(), neither.ethertype, neither.payload_offset), (0, 0x88a8, 14));
        let none = Ether::parse(&frame, TpidSet::NONE).unwrap();
        assert!(none.vlans.is_empty());
    }

    #[test]
    fn a_third_tag_is_refused() {
        let mut frame = [0u8; 30];
        frame[12..26].copy_from_slice(&[0x81, 0, 0, 1, 0x81, 0, 0, 2, 0x81, 0, 0, 3, 8, 0]);
        assert_eq!(Ether::parse(&frame, TpidSet::ALL), Err(EtherError::TooManyTags));
    }
}
