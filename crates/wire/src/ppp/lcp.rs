//! LCP: configuration options (RFC 1661 section 6) and the data of its maintenance packets (section 5).

use super::options::{RawOption, WrongLength};
use super::packet::{PacketBuilder, TooLong};

/// Type numbers of LCP options. Those without an own variant in [`LcpOption`] are named for tests and traces.
pub mod kind {
    /// Maximum-Receive-Unit.
    pub const MRU: u8 = 1;
    /// Async-Control-Character-Map (RFC 1662), which RFC 2516 section 7 forbids.
    pub const ACCM: u8 = 2;
    /// Authentication-Protocol.
    pub const AUTH_PROTOCOL: u8 = 3;
    /// Quality-Protocol.
    pub const QUALITY_PROTOCOL: u8 = 4;
    /// Magic-Number.
    pub const MAGIC_NUMBER: u8 = 5;
    /// Protocol-Field-Compression, which RFC 2516 section 7 advises against.
    pub const PFC: u8 = 7;
    /// Address-and-Control-Field-Compression, which RFC 2516 section 7 forbids.
    pub const ACFC: u8 = 8;
    /// FCS-Alternatives (RFC 1570), which RFC 2516 section 7 forbids.
    pub const FCS_ALTERNATIVES: u8 = 9;
    /// Multilink-MRRU (RFC 1990).
    pub const MRRU: u8 = 17;
    /// Endpoint-Discriminator (RFC 1990).
    pub const ENDPOINT_DISCRIMINATOR: u8 = 19;
}

/// An LCP option, typed where this side negotiates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LcpOption<'a> {
    /// Maximum-Receive-Unit in octets (section 6.1).
    Mru(u16),
    /// Authentication-Protocol (section 6.2).
    AuthProtocol {
        /// The PPP protocol number of the authentication protocol.
        protocol: u16,
        /// What follows it: for CHAP one octet, the algorithm (RFC 1994 section 3).
        data: &'a [u8],
    },
    /// Magic-Number (section 6.4).
    MagicNumber(u32),
    /// Any other.
    Other(RawOption<'a>),
}

impl<'a> LcpOption<'a> {
    /// Reads one option.
    ///
    /// # Errors
    /// [`WrongLength`]: a typed option has another length than its definition says; it is to be answered by a Nak
    /// with a proper one (RFC 1661 section 6).
    pub fn parse(raw: RawOption<'a>) -> Result<Self, WrongLength> {
        match raw.kind {
            kind::MRU => raw.exactly().map(|octets| Self::Mru(u16::from_be_bytes(octets))),
            kind::MAGIC_NUMBER => raw.exactly().map(|octets| Self::MagicNumber(u32::from_be_bytes(octets))),
            kind::AUTH_PROTOCOL => match raw.value.split_first_chunk::<2>() {
                Some((protocol, data)) => Ok(Self::AuthProtocol { protocol: u16::from_be_bytes(*protocol), data }),
                None => Err(WrongLength { kind: raw.kind, octets: raw.value.len() }),
            },
            _ => Ok(Self::Other(raw)),
        }
    }

    /// Writes the option.
    ///
    /// # Errors
    /// [`TooLong`]: it does not fit.
    pub fn emit(self, builder: &mut PacketBuilder) -> Result<(), TooLong> {
        match self {
            Self::Mru(octets) => builder.option(kind::MRU, &octets.to_be_bytes())?,
            Self::MagicNumber(number) => builder.option(kind::MAGIC_NUMBER, &number.to_be_bytes())?,
            Self::AuthProtocol { protocol, data: &[] } => {
                builder.option(kind::AUTH_PROTOCOL, &protocol.to_be_bytes())?
            }
            Self::AuthProtocol { protocol, data } => {
                let mut value = protocol.to_be_bytes().to_vec();
                value.extend_from_slice(data);
                builder.option(kind::AUTH_PROTOCOL, &value)?
            }
            Self::Other(raw) => builder.option(raw.kind, raw.value)?,
        };
        Ok(())
    }
}

/// The data of Echo-Request, Echo-Reply and Discard-Request: a magic number, then anything (sections 5.8, 5.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo<'a> {
    /// Magic number of the sender, 0 where it has negotiated none.
    pub magic: u32,
    /// Data of the sender.
    pub data: &'a [u8],
}

impl<'a> Echo<'a> {
    /// Reads the data of an echo packet; `None` where there are less than 4 octets.
    #[must_use]
    pub fn parse(data: &'a [u8]) -> Option<Self> {
        let (magic, data) = data.split_first_chunk::<4>()?;
        Some(Self { magic: u32::from_be_bytes(*magic), data })
    }
}

/// The data of a Protocol-Reject (section 5.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtocolReject<'a> {
    /// The PPP protocol number that the sender does not speak.
    pub protocol: u16,
    /// The rejected packet, maybe cut.
    pub information: &'a [u8],
}

impl<'a> ProtocolReject<'a> {
    /// Reads the data of a Protocol-Reject; `None` where there are less than 2 octets.
    #[must_use]
    pub fn parse(data: &'a [u8]) -> Option<Self> {
        let (protocol, information) = data.split_first_chunk::<2>()?;
        Some(Self { protocol: u16::from_be_bytes(*protocol), information })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ppp::options::Options;
    use proptest::prelude::*;

    #[test]
    fn each_option_goes_there_and_back() {
        let options = [
            LcpOption::Mru(1492),
            LcpOption::AuthProtocol { protocol: 0xc023, data: &[] },
            LcpOption::AuthProtocol { protocol: 0xc223, data: &[5] },
            LcpOption::MagicNumber(0xa1b2_c3d4),
            LcpOption::Other(RawOption { kind: kind::PFC, value: &[] }),
        ];
        let mut builder = PacketBuilder::new(1, 1, 1492);
        for option in options {
            option.emit(&mut builder).unwrap();
        }
        let octets = builder.finish();
        let wire = [1, 4, 5, 0xd4, 3, 4, 0xc0, 0x23, 3, 5, 0xc2, 0x23, 5, 5, 6, 0xa1, 0xb2, 0xc3, 0xd4, 7, 2];
        assert_eq!(octets[4..], wire);
        let read: Vec<_> = Options::parse(&wire).unwrap().map(|raw| LcpOption::parse(raw).unwrap()).collect();
        assert_eq!(read, options);
    }

    #[test]
    fn too_small_to_write_is_an_error() {
        for limit in 4..8 {
            assert!(LcpOption::Mru(1492).emit(&mut PacketBuilder::new(1, 1, limit)).is_err(), "{limit}");
        }
    }

    #[test]
    fn maintenance_data_shorter_than_its_first_field_is_none() {
        assert_eq!(Echo::parse(&[1, 2, 3]), None);
        assert_eq!(Echo::parse(&[0, 0, 0, 1, 9]), Some(Echo { magic: 1, data: &[9] }));
        assert_eq!(ProtocolReject::parse(&[0x80]), None);
        assert_eq!(
            ProtocolReject::parse(&[0x80, 0x57, 1]),
            Some(ProtocolReject { protocol: 0x8057, information: &[1] })
        );
    }

    proptest! {
        #[test]
        fn an_error_means_a_length_other_than_the_definition(
            kind in 0u8..20, value in proptest::collection::vec(any::<u8>(), 0..10)
        ) {
            let raw = RawOption { kind, value: &value };
            let right = match kind {
                kind::MRU => value.len() == 2,
                kind::MAGIC_NUMBER => value.len() == 4,
                kind::AUTH_PROTOCOL => value.len() >= 2,
                _ => true,
            };
            prop_assert_eq!(LcpOption::parse(raw).is_ok(), right);
            if let Ok(option) = LcpOption::parse(raw) {
                let mut builder = PacketBuilder::new(1, 1, 1492);
                option.emit(&mut builder).unwrap();
                let octets = builder.finish();
                prop_assert_eq!(Options::parse(&octets[4..]).unwrap().next(), Some(raw));
            }
        }
    }
}
