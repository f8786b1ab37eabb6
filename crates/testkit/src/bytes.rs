//! Reading and writing frames, octet by octet.

use bng_wire::MacAddr;

pub(crate) const DISCOVERY: u16 = 0x8863;
pub(crate) const SESSION: u16 = 0x8864;

/// A frame as the client sees it.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) destination: MacAddr,
    pub(crate) source: MacAddr,
    pub(crate) vids: Vec<u16>,
    pub(crate) ethertype: u16,
    pub(crate) code: u8,
    pub(crate) session_id: u16,
    pub(crate) payload: &'a [u8],
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn mac(bytes: &[u8], at: usize) -> Option<MacAddr> {
    Some(MacAddr(bytes.get(at..at + 6)?.try_into().ok()?))
}

impl<'a> Frame<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let destination = mac(bytes, 0)?;
        let source = mac(bytes, 6)?;
        let mut at = 12;
        let mut vids = Vec::new();
        let ethertype = loop {
            match be16(bytes, at)? {
                0x8100 | 0x88a8 | 0x9100 => {
                    vids.push(be16(bytes, at + 2)? & 0xfff);
                    at += 4;
                }
                other => break other,
            }
        };
        if ethertype != DISCOVERY && ethertype != SESSION {
            return None;
        }
        let header = at + 2;
        if *bytes.get(header)? != 0x11 {
            return None;
        }
        let length = usize::from(be16(bytes, header + 4)?);
        Some(Self {
            destination,
            source,
            vids,
            ethertype,
            code: *bytes.get(header + 1)?,
            session_id: be16(bytes, header + 2)?,
            payload: bytes.get(header + 6..header + 6 + length)?,
        })
    }

    /// The value of the first tag of a kind.
    pub(crate) fn tag(&self, kind: u16) -> Option<&'a [u8]> {
        self.tags().into_iter().find(|(found, _)| *found == kind).map(|(_, value)| value)
    }

    pub(crate) fn tags(&self) -> Vec<(u16, &'a [u8])> {
        let mut found = Vec::new();
        let mut at = 0;
        while let (Some(kind), Some(length)) = (be16(self.payload, at), be16(self.payload, at + 2)) {
            let end = at + 4 + usize::from(length);
            let Some(value) = self.payload.get(at + 4..end) else { break };
            if kind == 0 {
                break;
            }
            found.push((kind, value));
            at = end;
        }
        found
    }
}

/// Writes a frame: addresses, tags, PPPoE header, payload, padding to 60 octets.
pub(crate) fn frame(
    destination: MacAddr,
    source: MacAddr,
    vlans: &[(u16, u16)],
    ethertype: u16,
    code: u8,
    session_id: u16,
    payload: &[u8],
) -> Vec<u8> {
    let mut out = Vec::with_capacity(60.max(payload.len() + 32));
    out.extend_from_slice(&destination.0);
    out.extend_from_slice(&source.0);
    for (tpid, tci) in vlans {
        out.extend_from_slice(&tpid.to_be_bytes());
        out.extend_from_slice(&tci.to_be_bytes());
    }
    out.extend_from_slice(&ethertype.to_be_bytes());
    out.extend_from_slice(&[0x11, code]);
    out.extend_from_slice(&session_id.to_be_bytes());
    out.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    out.extend_from_slice(payload);
    if out.len() < 60 {
        out.resize(60, 0);
    }
    out
}

/// Appends a discovery tag.
pub(crate) fn tag(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&(value.len() as u16).to_be_bytes());
    out.extend_from_slice(value);
}

/// A PPP control packet: code, identifier, length, data.
pub(crate) fn control(code: u8, id: u8, data: &[u8]) -> Vec<u8> {
    let mut out = vec![code, id];
    out.extend_from_slice(&((data.len() + 4) as u16).to_be_bytes());
    out.extend_from_slice(data);
    out
}

/// Code, identifier and data of a PPP control packet, trimmed to its length field.
pub(crate) fn parse_control(bytes: &[u8]) -> Option<(u8, u8, &[u8])> {
    let length = usize::from(be16(bytes, 2)?);
    Some((*bytes.first()?, *bytes.get(1)?, bytes.get(4..length)?))
}

/// Configuration options as (kind, value).
pub(crate) fn options(mut data: &[u8]) -> Option<Vec<(u8, &[u8])>> {
    let mut found = Vec::new();
    while let [kind, length, ..] = *data {
        found.push((kind, data.get(2..usize::from(length))?));
        data = data.get(usize::from(length)..)?;
    }
    data.is_empty().then_some(found)
}

/// Appends a configuration option.
pub(crate) fn option(out: &mut Vec<u8>, kind: u8, value: &[u8]) {
    out.extend_from_slice(&[kind, value.len() as u8 + 2]);
    out.extend_from_slice(value);
}

/// The Internet checksum (RFC 1071).
pub(crate) fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
