//! The list of configuration options (RFC 1661 section 6).
//!
//! ```text
//!  0                   1
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Type      |    Length     |    Data ...
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

/// What is wrong with a list of options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// One octet is left, where an option has at least two.
    #[error("option header cut at octet {at}")]
    Header {
        /// Offset of the octet in the list.
        at: usize,
    },
    /// Length 0 or 1, which does not even cover the option's own header.
    #[error("option at octet {at} has length {length}, below 2")]
    Length {
        /// Offset of the option in the list.
        at: usize,
        /// The length octet.
        length: u8,
    },
    /// The option claims more octets than are left.
    #[error("option at octet {at} claims {length} octets, {left} are left")]
    Overrun {
        /// Offset of the option in the list.
        at: usize,
        /// The length octet.
        length: u8,
        /// Octets left, the option's header included.
        left: usize,
    },
}

/// A known option whose length is not the one it has by its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("option {kind} with {octets} octets of data")]
pub struct WrongLength {
    /// Option type.
    pub kind: u8,
    /// Octets of data received.
    pub octets: usize,
}

/// One option as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawOption<'a> {
    /// Type.
    pub kind: u8,
    /// Data, 0 to 253 octets.
    pub value: &'a [u8],
}

impl RawOption<'_> {
    /// The data as a fixed number of octets.
    ///
    /// # Errors
    /// [`WrongLength`]: it has another length.
    pub fn exactly<const N: usize>(&self) -> Result<[u8; N], WrongLength> {
        self.value.try_into().map_err(|_| WrongLength { kind: self.kind, octets: self.value.len() })
    }
}

/// A list that has been checked as a whole, so that walking it cannot fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options<'a> {
    octets: &'a [u8],
}

impl<'a> Options<'a> {
    /// Checks a list: the data of a Configure packet.
    ///
    /// # Errors
    /// [`OptionError`]: the packet is to be discarded without affecting the automaton (RFC 1661 section 6). That
    /// also covers lengths 0 and 1, about which the RFC says nothing: nothing after such an option can be read.
    pub fn parse(octets: &'a [u8]) -> Result<Self, OptionError> {
        let mut rest = octets;
        while !rest.is_empty() {
            let at = octets.len().saturating_sub(rest.len());
            let Some(&length) = rest.get(1) else { return Err(OptionError::Header { at }) };
            if length < 2 {
                return Err(OptionError::Length { at, length });
            }
            let Some(behind) = rest.get(usize::from(length)..) else {
                return Err(OptionError::Overrun { at, length, left: rest.len() });
            };
            rest = behind;
        }
        Ok(Self { octets })
    }

    /// The list as octets.
    #[must_use]
    pub const fn octets(self) -> &'a [u8] {
        self.octets
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = RawOption<'a>;

    fn next(&mut self) -> Option<RawOption<'a>> {
        // `parse` has walked the list, so `?` only ever ends it.
        let (&[kind, length], _) = self.octets.split_first_chunk::<2>()?;
        let value = self.octets.get(2..usize::from(length))?;
        self.octets = self.octets.get(usize::from(length)..)?;
        Some(RawOption { kind, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ppp::packet::PacketBuilder;
    use proptest::prelude::*;

    /// The trigger of field case P05, for any protocol's options.
    #[test]
    fn p05_lengths_zero_one_and_past_the_end_are_errors() {
        assert_eq!(Options::parse(&[1, 0, 5, 0xd4]), Err(OptionError::Length { at: 0, length: 0 }));
        assert_eq!(Options::parse(&[1, 1, 5, 0xd4]), Err(OptionError::Length { at: 0, length: 1 }));
        assert_eq!(Options::parse(&[1, 8, 5, 0xd4]), Err(OptionError::Overrun { at: 0, length: 8, left: 4 }));
        assert_eq!(Options::parse(&[7, 2, 3]), Err(OptionError::Header { at: 2 }));
    }

    proptest! {
        #[test]
        fn what_is_built_parses_back(
            list in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u8>(), 0..20)), 0..8)
        ) {
            let mut builder = PacketBuilder::new(1, 1, 1492);
            for (kind, value) in &list {
                builder.option(*kind, value).unwrap();
            }
            let octets = builder.finish();
            let read: Vec<_> = Options::parse(&octets[4..]).unwrap().map(|o| (o.kind, o.value.to_vec())).collect();
            prop_assert_eq!(read, list);
        }

        #[test]
        fn what_parses_builds_back(octets in proptest::collection::vec(0u8..9, 0..40)) {
            if let Ok(options) = Options::parse(&octets) {
                let mut builder = PacketBuilder::new(1, 1, 1492);
                for option in options {
                    builder.option(option.kind, option.value).unwrap();
                }
                prop_assert_eq!(&builder.finish()[4..], &octets[..]);
            }
        }

        #[test]
        fn each_error_on_noise_is_justified(octets in proptest::collection::vec(0u8..9, 0..40)) {
            match Options::parse(&octets) {
                Ok(options) => {
                    let walked: usize = options.map(|option| option.value.len() + 2).sum();
                    prop_assert_eq!(walked, octets.len());
                }
                Err(OptionError::Header { at }) => prop_assert_eq!(at + 1, octets.len()),
                Err(OptionError::Length { at, length }) => {
                    prop_assert!(length < 2);
                    prop_assert_eq!(octets[at + 1], length);
                }
                Err(OptionError::Overrun { at, length, left }) => {
                    prop_assert_eq!(octets[at + 1], length);
                    prop_assert!(at + left == octets.len() && usize::from(length) > left);
                }
            }
        }

        #[test]
        fn a_list_cut_inside_its_last_option_is_too_short_to_read(
            value in proptest::collection::vec(any::<u8>(), 0..20), cut in 1usize..22
        ) {
            let mut builder = PacketBuilder::new(1, 1, 1492);
            builder.option(5, &value).unwrap();
            let octets = builder.finish();
            let list = &octets[4..];
            let cut = cut.min(list.len() - 1);
            prop_assert!(Options::parse(&list[..cut]).is_err());
        }
    }
}
