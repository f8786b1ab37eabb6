//! IPCP configuration options (RFC 1332 section 3, RFC 1877).

use super::options::{RawOption, WrongLength};
use super::packet::{PacketBuilder, TooLong};
use core::net::Ipv4Addr;

/// Type numbers of IPCP options.
pub mod kind {
    /// IP-Addresses, deprecated by RFC 1332 section 3.1.
    pub const IP_ADDRESSES: u8 = 1;
    /// IP-Compression-Protocol.
    pub const IP_COMPRESSION: u8 = 2;
    /// IP-Address.
    pub const IP_ADDRESS: u8 = 3;
    /// Primary DNS server address (RFC 1877).
    pub const PRIMARY_DNS: u8 = 129;
    /// Primary NBNS server address (RFC 1877).
    pub const PRIMARY_NBNS: u8 = 130;
    /// Secondary DNS server address (RFC 1877).
    pub const SECONDARY_DNS: u8 = 131;
    /// Secondary NBNS server address (RFC 1877).
    pub const SECONDARY_NBNS: u8 = 132;
}

/// An IPCP option, typed where this side negotiates it: all of these carry one IPv4 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IpcpOption<'a> {
    /// IP-Address, or one of the four server addresses: type and address.
    Address {
        /// One of the five type numbers in [`kind`] whose data is an address.
        kind: u8,
        /// The address; 0.0.0.0 asks for one.
        address: Ipv4Addr,
    },
    /// Any other.
    Other(RawOption<'a>),
}

impl<'a> IpcpOption<'a> {
    /// True for the types whose data is one IPv4 address.
    #[must_use]
    pub const fn is_address_kind(kind: u8) -> bool {
        matches!(
            kind,
            kind::IP_ADDRESS | kind::PRIMARY_DNS | kind::PRIMARY_NBNS | kind::SECONDARY_DNS | kind::SECONDARY_NBNS
        )
    }

    /// Reads one option.
    ///
    /// # Errors
    /// [`WrongLength`]: an address option whose data has not 4 octets.
    pub fn parse(raw: RawOption<'a>) -> Result<Self, WrongLength> {
        if !Self::is_address_kind(raw.kind) {
            return Ok(Self::Other(raw));
        }
        raw.exactly::<4>().map(|octets| Self::Address { kind: raw.kind, address: Ipv4Addr::from(octets) })
    }

    /// Writes the option.
    ///
    /// # Errors
    /// [`TooLong`]: it does not fit.
    pub fn emit(self, builder: &mut PacketBuilder) -> Result<(), TooLong> {
        match self {
            Self::Address { kind, address } => builder.option(kind, &address.octets())?,
            Self::Other(raw) => builder.option(raw.kind, raw.value)?,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ppp::options::Options;
    use proptest::prelude::*;

    #[test]
    fn too_small_to_write_is_an_error() {
        let option = IpcpOption::Address { kind: kind::IP_ADDRESS, address: Ipv4Addr::new(192, 0, 2, 1) };
        for limit in 4..10 {
            assert!(option.emit(&mut PacketBuilder::new(1, 1, limit)).is_err(), "{limit}");
        }
        let mut builder = PacketBuilder::new(1, 1, 10);
        option.emit(&mut builder).unwrap();
        assert_eq!(builder.finish(), [1, 1, 0, 10, 3, 6, 192, 0, 2, 1]);
    }

    proptest! {
        #[test]
        fn an_error_means_a_length_other_than_the_definition(
            kind in proptest::sample::select(vec![1u8, 2, 3, 4, 129, 130, 131, 132, 200]),
            value in proptest::collection::vec(any::<u8>(), 0..8)
        ) {
            let raw = RawOption { kind, value: &value };
            let right = !IpcpOption::is_address_kind(kind) || value.len() == 4;
            prop_assert_eq!(IpcpOption::parse(raw).is_ok(), right);
            if let Ok(option) = IpcpOption::parse(raw) {
                let mut builder = PacketBuilder::new(1, 1, 1492);
                option.emit(&mut builder).unwrap();
                let octets = builder.finish();
                prop_assert_eq!(Options::parse(&octets[4..]).unwrap().next(), Some(raw));
            }
        }
    }
}
