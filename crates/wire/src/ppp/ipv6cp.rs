//! IPV6CP configuration options (RFC 5072 section 4).

use super::options::{RawOption, WrongLength};
use super::packet::{PacketBuilder, TooLong};

/// Type number of the Interface-Identifier option, the only one that RFC 5072 defines.
pub const INTERFACE_IDENTIFIER: u8 = 1;

/// An IPV6CP option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ipv6cpOption<'a> {
    /// Interface-Identifier: 64 bits, first octet most significant; 0 asks for one (section 4.1).
    InterfaceIdentifier(u64),
    /// Any other.
    Other(RawOption<'a>),
}

impl<'a> Ipv6cpOption<'a> {
    /// Reads one option.
    ///
    /// # Errors
    /// [`WrongLength`]: an interface identifier whose data has not 8 octets.
    pub fn parse(raw: RawOption<'a>) -> Result<Self, WrongLength> {
        if raw.kind != INTERFACE_IDENTIFIER {
            return Ok(Self::Other(raw));
        }
        raw.exactly().map(|octets| Self::InterfaceIdentifier(u64::from_be_bytes(octets)))
    }

    /// Writes the option.
    ///
    /// # Errors
    /// [`TooLong`]: it does not fit.
    pub fn emit(self, builder: &mut PacketBuilder) -> Result<(), TooLong> {
        match self {
            Self::InterfaceIdentifier(id) => builder.option(INTERFACE_IDENTIFIER, &id.to_be_bytes())?,
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
    fn p07_identifier_one_is_big_endian_on_the_wire() {
        let mut builder = PacketBuilder::new(1, 1, 1492);
        Ipv6cpOption::InterfaceIdentifier(1).emit(&mut builder).unwrap();
        assert_eq!(builder.finish(), [1, 1, 0, 14, 1, 10, 0, 0, 0, 0, 0, 0, 0, 1]);
        for limit in 4..14 {
            let mut small = PacketBuilder::new(1, 1, limit);
            assert!(Ipv6cpOption::InterfaceIdentifier(1).emit(&mut small).is_err(), "{limit}");
        }
    }

    proptest! {
        #[test]
        fn an_error_means_a_length_other_than_the_definition(
            kind in 0u8..3, value in proptest::collection::vec(any::<u8>(), 0..12)
        ) {
            let raw = RawOption { kind, value: &value };
            prop_assert_eq!(Ipv6cpOption::parse(raw).is_ok(), kind != 1 || value.len() == 8);
            if let Ok(option) = Ipv6cpOption::parse(raw) {
                let mut builder = PacketBuilder::new(1, 1, 1492);
                option.emit(&mut builder).unwrap();
                let octets = builder.finish();
                prop_assert_eq!(Options::parse(&octets[4..]).unwrap().next(), Some(raw));
            }
        }
    }
}
