//! IPv4 datagrams, enough to send some and to know them again.

use crate::bytes::checksum;
use core::net::Ipv4Addr;

/// A UDP datagram in IPv4 that a client has sent or received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Time to live.
    pub ttl: u8,
    /// What was sent.
    pub payload: Vec<u8>,
}

impl Datagram {
    /// The IPv4 packet, with UDP ports 5000 and 5001 and a UDP checksum of 0 (none, RFC 768).
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = 28 + self.payload.len();
        let mut out = vec![0x45, 0];
        out.extend_from_slice(&(length as u16).to_be_bytes());
        out.extend_from_slice(&[0, 1, 0x40, 0, self.ttl, 17, 0, 0]);
        out.extend_from_slice(&self.source.octets());
        out.extend_from_slice(&self.destination.octets());
        let sum = checksum(&out);
        out[10..12].copy_from_slice(&sum.to_be_bytes());
        out.extend_from_slice(&5000u16.to_be_bytes());
        out.extend_from_slice(&5001u16.to_be_bytes());
        out.extend_from_slice(&((length - 20) as u16).to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&self.payload);
        out
    }
}

/// Reads such a packet again, its header checksum checked; `None` for anything else.
#[must_use]
pub fn parse_datagram(bytes: &[u8]) -> Option<Datagram> {
    let header = bytes.get(..20)?;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[0] != 0x45 || header[9] != 17 || checksum(header) != 0 {
        return None;
    }
    let address = |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
    Some(Datagram {
        source: address(12),
        destination: address(16),
        ttl: header[8],
        payload: bytes.get(28..length)?.to_vec(),
    })
}
