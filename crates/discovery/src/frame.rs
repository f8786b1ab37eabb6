//! Ethernet around discovery packets: reading it off a request, putting it on a reply.

use bng_wire::pppoe::{self, Code, Header, TagType, TagWriter};
use bng_wire::{Line, MacAddr, PortIndex, SessionId, VlanStack, VlanTag};

use crate::outcome::{DiscoveryDrop, ReplyTooLong};

/// The shortest Ethernet frame, its check sequence not counted (IEEE 802.3 section 3.2.8).
pub(crate) const FRAME_LEN_MIN: usize = 60;
/// Octets of the two addresses.
const ADDRESSES_LEN: usize = 12;
/// Octets of a VLAN tag.
const VLAN_TAG_LEN: usize = 4;
/// Octets of an EtherType.
const ETHERTYPE_LEN: usize = 2;
/// Octets in front of the PPPoE header at most: addresses, two tags, EtherType.
const L2_LEN_MAX: usize = ADDRESSES_LEN + 2 * VLAN_TAG_LEN + ETHERTYPE_LEN;
/// Octets of the longest frame made here.
const FRAME_LEN_MAX: usize = L2_LEN_MAX + pppoe::DISCOVERY_LEN_MAX;

/// True for the EtherTypes that announce a VLAN tag here: 0x8100, 0x88a8 and the older 0x9100.
const fn is_tpid(ethertype: u16) -> bool {
    matches!(ethertype, 0x8100 | 0x88a8 | 0x9100)
}

/// A received frame, its Ethernet header taken apart.
pub(crate) struct Received<'a> {
    pub(crate) line: Line,
    pub(crate) destination: MacAddr,
    pub(crate) pppoe: &'a [u8],
}

/// Takes a frame of the discovery stage apart.
pub(crate) fn read(port: PortIndex, frame: &[u8]) -> Result<Received<'_>, DiscoveryDrop> {
    let short = DiscoveryDrop::FrameTooShort;
    let (&destination, rest) = frame.split_first_chunk::<6>().ok_or(short)?;
    let (&source, mut rest) = rest.split_first_chunk::<6>().ok_or(short)?;
    let mut vlans = VlanStack::default();
    loop {
        let (&ethertype, after) = rest.split_first_chunk::<2>().ok_or(short)?;
        let ethertype = u16::from_be_bytes(ethertype);
        if ethertype == pppoe::ETHERTYPE_DISCOVERY {
            let line = Line { port, vlans, peer_mac: MacAddr(source) };
            return Ok(Received { line, destination: MacAddr(destination), pppoe: after });
        }
        if !is_tpid(ethertype) {
            return Err(DiscoveryDrop::NotDiscovery);
        }
        let (&tci, after) = after.split_first_chunk::<2>().ok_or(short)?;
        let tag = Some(VlanTag { tpid: ethertype, tci: u16::from_be_bytes(tci) });
        match vlans {
            VlanStack { outer: None, .. } => vlans.outer = tag,
            VlanStack { inner: None, .. } => vlans.inner = tag,
            _ => return Err(DiscoveryDrop::TooManyTags),
        }
        rest = after;
    }
}

/// A discovery packet being written, tag by tag, into a frame of its own.
pub(crate) struct Reply {
    octets: [u8; FRAME_LEN_MAX],
    /// Octets in front of the PPPoE header.
    l2_len: usize,
    /// Octets of tags so far.
    tags_len: usize,
    code: Code,
    session_id: SessionId,
}

impl Reply {
    pub(crate) fn new(
        destination: MacAddr,
        source: MacAddr,
        vlans: VlanStack,
        code: Code,
        session_id: SessionId,
    ) -> Result<Self, ReplyTooLong> {
        let mut reply = Self { octets: [0; FRAME_LEN_MAX], l2_len: 0, tags_len: 0, code, session_id };
        reply.append(&destination.0)?;
        reply.append(&source.0)?;
        for tag in [vlans.outer, vlans.inner].into_iter().flatten() {
            reply.append(&tag.tpid.to_be_bytes())?;
            reply.append(&tag.tci.to_be_bytes())?;
        }
        reply.append(&pppoe::ETHERTYPE_DISCOVERY.to_be_bytes())?;
        Ok(reply)
    }

    /// Appends to the Ethernet header, which has room for all that `new` gives it.
    fn append(&mut self, octets: &[u8]) -> Result<(), ReplyTooLong> {
        let end = self.l2_len.saturating_add(octets.len());
        self.octets.get_mut(self.l2_len..end).ok_or(ReplyTooLong)?.copy_from_slice(octets);
        self.l2_len = end;
        Ok(())
    }

    /// Where the tags start.
    const fn tags_at(&self) -> usize {
        self.l2_len.saturating_add(pppoe::HEADER_LEN)
    }

    /// Appends a tag, whole or not at all: the Ethernet payload never grows beyond 1500 octets.
    pub(crate) fn tag(&mut self, kind: TagType, value: &[u8]) -> Result<(), ReplyTooLong> {
        let start = self.tags_at().saturating_add(self.tags_len);
        let end = self.l2_len.saturating_add(pppoe::DISCOVERY_LEN_MAX);
        let mut writer = TagWriter::new(self.octets.get_mut(start..end).ok_or(ReplyTooLong)?);
        writer.push(kind, value).map_err(|_| ReplyTooLong)?;
        self.tags_len = self.tags_len.saturating_add(writer.finish());
        Ok(())
    }

    /// Appends a tag if there is one to append.
    pub(crate) fn tag_opt(&mut self, kind: TagType, value: Option<&[u8]>) -> Result<(), ReplyTooLong> {
        value.map_or(Ok(()), |value| self.tag(kind, value))
    }

    /// The finished frame, padded with zeros to 60 octets.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>, ReplyTooLong> {
        let length = u16::try_from(self.tags_len).map_err(|_| ReplyTooLong)?;
        let tags_at = self.tags_at();
        let header = self.octets.get_mut(self.l2_len..tags_at).ok_or(ReplyTooLong)?;
        Header { code: self.code, session_id: self.session_id, length }.write(header).map_err(|_| ReplyTooLong)?;
        let len = tags_at.saturating_add(self.tags_len).max(FRAME_LEN_MIN);
        Ok(self.octets.get(..len).ok_or(ReplyTooLong)?.to_vec())
    }
}
