//! ARP for IPv4 over Ethernet (RFC 826).

use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::ether::TooSmall;
use crate::id::MacAddr;

/// Octets of a packet.
pub const PACKET_LEN: usize = 28;
/// The operation of a request.
pub const REQUEST: u16 = 1;
/// The operation of a reply.
pub const REPLY: u16 = 2;

/// A packet, as it lies in the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Packet {
    hardware_kind: U16,
    protocol_kind: U16,
    hardware_len: u8,
    protocol_len: u8,
    /// [`REQUEST`] or [`REPLY`].
    pub operation: U16,
    /// The sender's MAC address.
    pub sender_mac: [u8; 6],
    /// The sender's IPv4 address.
    pub sender_ip: U32,
    /// The target's MAC address.
    pub target_mac: [u8; 6],
    /// The target's IPv4 address.
    pub target_ip: U32,
}

/// What is wrong with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ArpError {
    /// Shorter than 28 octets.
    #[error("the packet is shorter than ARP for IPv4 over Ethernet")]
    Truncated,
    /// Other kinds or lengths of addresses than Ethernet's and IPv4's.
    #[error("the packet is not about IPv4 over Ethernet")]
    NotIpv4OverEthernet,
}

impl Packet {
    /// Reads the packet at the front of `payload`.
    ///
    /// # Errors
    /// [`ArpError`].
    pub fn read(payload: &[u8]) -> Result<&Self, ArpError> {
        let (packet, _) = Self::ref_from_prefix(payload).map_err(|_| ArpError::Truncated)?;
        let right = packet.hardware_kind.get() == 1
            && packet.protocol_kind.get() == crate::ether::ethertype::IPV4
            && packet.hardware_len == 6
            && packet.protocol_len == 4;
        if right { Ok(packet) } else { Err(ArpError::NotIpv4OverEthernet) }
    }

    /// A packet.
    #[must_use]
    pub fn new(operation: u16, sender: (MacAddr, u32), target: (MacAddr, u32)) -> Self {
        Self {
            hardware_kind: 1.into(),
            protocol_kind: crate::ether::ethertype::IPV4.into(),
            hardware_len: 6,
            protocol_len: 4,
            operation: operation.into(),
            sender_mac: sender.0.0,
            sender_ip: sender.1.into(),
            target_mac: target.0.0,
            target_ip: target.1.into(),
        }
    }

    /// Writes the packet to the front of `buffer`.
    ///
    /// # Errors
    /// [`TooSmall`].
    pub fn write(&self, buffer: &mut [u8]) -> Result<usize, TooSmall> {
        self.write_to_prefix(buffer).map_err(|_| TooSmall)?;
        Ok(PACKET_LEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn there_and_back(operation: u16, a: [u8; 6], b: [u8; 6], sender: u32, target: u32, cut in 0usize..28) {
            let packet = Packet::new(operation, (MacAddr(a), sender), (MacAddr(b), target));
            let mut octets = [0u8; 46];
            packet.write(&mut octets).unwrap();
            prop_assert_eq!(Packet::read(&octets), Ok(&packet));
            prop_assert_eq!(Packet::read(&octets[..cut]), Err(ArpError::Truncated));
            prop_assert_eq!(packet.write(&mut octets[..cut]), Err(TooSmall));
        }

        #[test]
        fn noise_is_refused_for_a_reason_that_holds(octets in proptest::collection::vec(any::<u8>(), 0..60)) {
            match Packet::read(&octets) {
                Ok(_) => prop_assert_eq!(&octets[..6], &[0, 1, 8, 0, 6, 4]),
                Err(ArpError::Truncated) => prop_assert!(octets.len() < 28),
                Err(ArpError::NotIpv4OverEthernet) => prop_assert_ne!(&octets[..6], &[0, 1, 8, 0, 6, 4]),
            }
        }
    }
}
