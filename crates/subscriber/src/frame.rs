//! Frames of the access side: what line one came over, and how one to a client begins.

use crate::stats::Drop;
use bng_wire::pppoe::{Code, ETHERTYPE_DISCOVERY, ETHERTYPE_SESSION, HEADER_LEN, Header, Packet};
use bng_wire::{Line, MacAddr, PortIndex, SessionId, VlanStack, VlanTag};

/// Tag protocol identifiers: customer tag, service tag (IEEE 802.1Q), and the older one of stacked tags.
const TPIDS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// The shortest Ethernet frame without its check sequence (IEEE 802.3).
const FRAME_LEN_MIN: usize = 60;

/// A frame taken apart as far as both stages of PPPoE have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AccessFrame<'a> {
    pub(crate) line: Line,
    pub(crate) destination: MacAddr,
    pub(crate) discovery: bool,
    /// From VER/TYPE on.
    pub(crate) pppoe: &'a [u8],
}

impl<'a> AccessFrame<'a> {
    pub(crate) fn parse(port: PortIndex, bytes: &'a [u8]) -> Result<Self, Drop> {
        let (destination, rest) = bytes.split_first_chunk::<6>().ok_or(Drop::NotPppoe)?;
        let (source, mut rest) = rest.split_first_chunk::<6>().ok_or(Drop::NotPppoe)?;
        let mut vlans = VlanStack::default();
        let (ethertype, pppoe) = loop {
            let (ethertype, behind) = rest.split_first_chunk::<2>().ok_or(Drop::NotPppoe)?;
            let ethertype = u16::from_be_bytes(*ethertype);
            if !TPIDS.contains(&ethertype) {
                break (ethertype, behind);
            }
            let (tci, behind) = behind.split_first_chunk::<2>().ok_or(Drop::NotPppoe)?;
            let tag = Some(VlanTag { tpid: ethertype, tci: u16::from_be_bytes(*tci) });
            match vlans {
                VlanStack { outer: None, .. } => vlans.outer = tag,
                VlanStack { inner: None, .. } => vlans.inner = tag,
                _ => return Err(Drop::NotPppoe),
            }
            rest = behind;
        };
        let discovery = match ethertype {
            ETHERTYPE_DISCOVERY => true,
            ETHERTYPE_SESSION => false,
            _ => return Err(Drop::NotPppoe),
        };
        let peer_mac = MacAddr(*source);
        // A group address is nobody's own (IEEE 802), and an answer to it would reach many.
        if peer_mac.is_group() || peer_mac == MacAddr::ZERO {
            return Err(Drop::NotPppoe);
        }
        Ok(Self { line: Line { port, vlans, peer_mac }, destination: MacAddr(*destination), discovery, pppoe })
    }

    /// The session stage: id, PPP protocol, information field. RFC 2516 sections 4 and 6.
    pub(crate) fn session(&self) -> Result<(SessionId, u16, &'a [u8]), Drop> {
        let packet = Packet::parse(self.pppoe).map_err(|_| Drop::PppoeMalformed)?;
        if packet.header.code != Code::SESSION {
            return Err(Drop::PppoeMalformed);
        }
        let (protocol, payload) = packet.payload.split_first_chunk::<2>().ok_or(Drop::PppoeMalformed)?;
        Ok((packet.header.session_id, u16::from_be_bytes(*protocol), payload))
    }
}

/// A session-stage frame to a client, padded.
pub(crate) fn session_frame(
    line: &Line,
    reply_vlans: VlanStack,
    local_mac: MacAddr,
    session_id: SessionId,
    protocol: u16,
    payload: &[u8],
) -> Vec<u8> {
    let mut frame = Vec::with_capacity(payload.len().saturating_add(32).max(FRAME_LEN_MIN));
    frame.extend_from_slice(&line.peer_mac.0);
    frame.extend_from_slice(&local_mac.0);
    for tag in [reply_vlans.outer, reply_vlans.inner].into_iter().flatten() {
        frame.extend_from_slice(&tag.tpid.to_be_bytes());
        frame.extend_from_slice(&tag.tci.to_be_bytes());
    }
    frame.extend_from_slice(&ETHERTYPE_SESSION.to_be_bytes());
    // PPP control packets are at most 1492 octets long: the length always fits.
    let length = u16::try_from(payload.len().saturating_add(2)).unwrap_or(u16::MAX);
    let header: [u8; HEADER_LEN] = Header { code: Code::SESSION, session_id, length }.to_bytes();
    frame.extend_from_slice(&header);
    frame.extend_from_slice(&protocol.to_be_bytes());
    frame.extend_from_slice(payload);
    if frame.len() < FRAME_LEN_MIN {
        frame.resize(FRAME_LEN_MIN, 0);
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CLIENT: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const LOCAL: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xfe]);

    proptest! {
        #[test]
        fn what_is_built_parses_back(tags in proptest::collection::vec((0usize..3, any::<u16>()), 0..3), id: u16, protocol: u16, payload in proptest::collection::vec(any::<u8>(), 0..1492)) {
            let mut tags = tags.into_iter().map(|(tpid, tci)| VlanTag { tpid: TPIDS[tpid], tci });
            let vlans = VlanStack { outer: tags.next(), inner: tags.next() };
            let line = Line { port: PortIndex(3), vlans, peer_mac: CLIENT };
            let mut frame = session_frame(&line, vlans, LOCAL, SessionId(id), protocol, &payload);
            prop_assert!(frame.len() >= 60);
            prop_assert_eq!(&frame[..6], &CLIENT.0);
            // As if the client had sent it.
            frame[..6].copy_from_slice(&LOCAL.0);
            frame[6..12].copy_from_slice(&CLIENT.0);
            let parsed = AccessFrame::parse(PortIndex(3), &frame).unwrap();
            prop_assert_eq!(parsed.line, line);
            prop_assert_eq!(parsed.destination, LOCAL);
            prop_assert!(!parsed.discovery);
            prop_assert_eq!(parsed.session(), Ok((SessionId(id), protocol, &payload[..])));
            let header = 14 + 4 * vlans.len() + 8 + payload.len();
            for short in 0..header {
                let cut = AccessFrame::parse(PortIndex(3), &frame[..short]).and_then(|f| f.session().map(|_| ()));
                prop_assert!(matches!(cut, Err(Drop::NotPppoe | Drop::PppoeMalformed)));
            }
        }

        #[test]
        fn noise_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(frame) = AccessFrame::parse(PortIndex(0), &bytes) {
                prop_assert!(!frame.line.peer_mac.is_group());
                let _ = frame.session();
            }
        }
    }

    #[test]
    fn a_third_tag_and_a_group_source_are_refused() {
        let mut frame = [2, 0, 0, 0, 0, 0xfe, 2, 0, 0, 0, 0, 1].to_vec();
        for _ in 0..3 {
            frame.extend_from_slice(&[0x81, 0, 0, 5]);
        }
        frame.extend_from_slice(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 2, 0xc0, 0x21]);
        assert_eq!(AccessFrame::parse(PortIndex(0), &frame).err(), Some(Drop::NotPppoe));
        frame.drain(12..16);
        assert!(AccessFrame::parse(PortIndex(0), &frame).is_ok());
        frame[6] = 3;
        assert_eq!(AccessFrame::parse(PortIndex(0), &frame).err(), Some(Drop::NotPppoe));
    }
}
