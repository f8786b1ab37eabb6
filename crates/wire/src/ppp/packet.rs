//! The packet that LCP, the network control protocols, PAP and CHAP have in common (RFC 1661 section 5).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Code      |  Identifier   |            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Data ...
//! +-+-+-+-+
//! ```

/// Code numbers of LCP and, for 1 to 7, of the network control protocols (RFC 1661 section 5, RFC 1570 section 1).
pub mod code {
    /// Configure-Request.
    pub const CONFIGURE_REQUEST: u8 = 1;
    /// Configure-Ack.
    pub const CONFIGURE_ACK: u8 = 2;
    /// Configure-Nak.
    pub const CONFIGURE_NAK: u8 = 3;
    /// Configure-Reject.
    pub const CONFIGURE_REJECT: u8 = 4;
    /// Terminate-Request.
    pub const TERMINATE_REQUEST: u8 = 5;
    /// Terminate-Ack.
    pub const TERMINATE_ACK: u8 = 6;
    /// Code-Reject.
    pub const CODE_REJECT: u8 = 7;
    /// Protocol-Reject; LCP only.
    pub const PROTOCOL_REJECT: u8 = 8;
    /// Echo-Request; LCP only.
    pub const ECHO_REQUEST: u8 = 9;
    /// Echo-Reply; LCP only.
    pub const ECHO_REPLY: u8 = 10;
    /// Discard-Request; LCP only.
    pub const DISCARD_REQUEST: u8 = 11;
    /// Identification (RFC 1570); LCP only.
    pub const IDENTIFICATION: u8 = 12;
    /// Time-Remaining (RFC 1570); LCP only.
    pub const TIME_REMAINING: u8 = 13;
}

/// Octets of code, identifier and length together.
pub const HEADER_OCTETS: usize = 4;

/// What is wrong with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// Fewer octets than a header has.
    #[error("{0} octets are too few for a code, an identifier and a length")]
    Short(usize),
    /// The length field is below 4 or beyond the octets that are there.
    #[error("length field {length} where {available} octets were received")]
    Length {
        /// The field's value.
        length: u16,
        /// Octets received.
        available: usize,
    },
}

/// A packet taken apart; borrowed from the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Code; its meaning depends on the protocol.
    pub code: u8,
    /// Identifier, which matches replies to requests.
    pub id: u8,
    /// Data as the length field bounds it.
    pub data: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Takes a packet apart. Octets behind the length are padding and left out (RFC 1661 section 5).
    ///
    /// # Errors
    /// [`PacketError`]: too short, or the length field does not fit.
    pub fn parse(octets: &'a [u8]) -> Result<Self, PacketError> {
        let Some(([code, id, high, low], rest)) = octets.split_first_chunk::<HEADER_OCTETS>() else {
            return Err(PacketError::Short(octets.len()));
        };
        let length = u16::from_be_bytes([*high, *low]);
        let data = usize::from(length).checked_sub(HEADER_OCTETS).and_then(|data_octets| rest.get(..data_octets));
        match data {
            Some(data) => Ok(Self { code: *code, id: *id, data }),
            None => Err(PacketError::Length { length, available: octets.len() }),
        }
    }
}

/// A packet would grow over its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the packet would be longer than {octets_max} octets")]
pub struct TooLong {
    /// The limit in octets, header included.
    pub octets_max: usize,
}

/// Writes a packet. The length field is kept right all the time.
#[derive(Debug)]
pub struct PacketBuilder {
    octets: Vec<u8>,
    octets_max: usize,
}

impl PacketBuilder {
    /// An empty packet of at most `octets_max` octets, header included; less than 4 counts as 4 and more than 65,535
    /// as 65,535, since the header is always there and its length field has 16 bits.
    #[must_use]
    pub fn new(code: u8, id: u8, octets_max: usize) -> Self {
        let octets_max = octets_max.clamp(HEADER_OCTETS, usize::from(u16::MAX));
        let mut octets = Vec::with_capacity(octets_max.min(64));
        octets.extend_from_slice(&[code, id, 0, 4]);
        Self { octets, octets_max }
    }

    /// Octets written so far, header included.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.octets.len()
    }

    /// True while nothing stands behind the header.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.octets.len() == HEADER_OCTETS
    }

    /// Appends octets as they are.
    ///
    /// # Errors
    /// [`TooLong`]: they do not fit; nothing has been appended.
    pub fn bytes(&mut self, data: &[u8]) -> Result<&mut Self, TooLong> {
        if data.len() > self.room() {
            return Err(TooLong { octets_max: self.octets_max });
        }
        self.octets.extend_from_slice(data);
        self.patch_length();
        Ok(self)
    }

    /// Appends as many of the octets as fit: for fields that their RFC wants cut to the MRU.
    pub fn bytes_cut(&mut self, data: &[u8]) -> &mut Self {
        let fitting = data.get(..self.room()).unwrap_or(data);
        self.octets.extend_from_slice(fitting);
        self.patch_length();
        self
    }

    /// Appends a configuration option: type, length, value.
    ///
    /// # Errors
    /// [`TooLong`]: it does not fit the packet, or its value is over 253 octets; nothing has been appended.
    pub fn option(&mut self, kind: u8, value: &[u8]) -> Result<&mut Self, TooLong> {
        let too_long = TooLong { octets_max: self.octets_max };
        let option_octets = value.len().checked_add(2).ok_or(too_long)?;
        let length = u8::try_from(option_octets).map_err(|_| too_long)?;
        if option_octets > self.room() {
            return Err(too_long);
        }
        self.octets.extend_from_slice(&[kind, length]);
        self.octets.extend_from_slice(value);
        self.patch_length();
        Ok(self)
    }

    /// The packet from the code octet on.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.octets
    }

    fn room(&self) -> usize {
        self.octets_max.saturating_sub(self.octets.len())
    }

    fn patch_length(&mut self) {
        // `new` bounds the limit by 65,535, so the conversion never falls back.
        let length = u16::try_from(self.octets.len()).unwrap_or(u16::MAX);
        if let Some(field) = self.octets.get_mut(2..HEADER_OCTETS) {
            field.copy_from_slice(&length.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn padding_behind_the_length_is_left_out() {
        let packet = Packet::parse(&[9, 7, 0, 8, 1, 2, 3, 4, 0xaa, 0xaa]).unwrap();
        assert_eq!(packet, Packet { code: 9, id: 7, data: &[1, 2, 3, 4] });
    }

    #[test]
    fn length_fields_zero_to_three_are_errors_not_panics() {
        for length in 0..4 {
            let error = Packet::parse(&[1, 1, 0, length, 0, 0, 0, 0]).unwrap_err();
            assert_eq!(error, PacketError::Length { length: u16::from(length), available: 8 });
        }
    }

    #[test]
    fn limit_of_a_builder_is_clamped_to_what_a_header_can_say() {
        assert_eq!(PacketBuilder::new(1, 2, 0).finish(), [1, 2, 0, 4]);
        let mut long = PacketBuilder::new(1, 2, usize::MAX);
        long.bytes_cut(&vec![7; 70_000]);
        assert_eq!(long.octets(), 65_535);
        assert_eq!(long.finish().get(..4), Some(&[1, 2, 0xff, 0xff][..]));
        assert!(PacketBuilder::new(1, 2, 1492).option(1, &[0; 254]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_built_parses_back(code: u8, id: u8, data in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut builder = PacketBuilder::new(code, id, 1492);
            builder.bytes(&data).unwrap();
            prop_assert_eq!(builder.is_empty(), data.is_empty());
            let octets = builder.finish();
            prop_assert_eq!(Packet::parse(&octets), Ok(Packet { code, id, data: &data }));
        }

        #[test]
        fn what_parses_builds_back(octets in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(packet) = Packet::parse(&octets) {
                let mut builder = PacketBuilder::new(packet.code, packet.id, 1492);
                builder.bytes(packet.data).unwrap();
                let built = builder.finish();
                prop_assert_eq!(&octets[..built.len()], &built[..]);
            }
        }

        #[test]
        fn each_error_on_noise_is_justified(octets in proptest::collection::vec(any::<u8>(), 0..40)) {
            match Packet::parse(&octets) {
                Ok(packet) => prop_assert!(packet.data.len() + 4 <= octets.len()),
                Err(PacketError::Short(there)) => prop_assert!(there == octets.len() && there < 4),
                Err(PacketError::Length { length, available }) => {
                    prop_assert_eq!(available, octets.len());
                    prop_assert!(length < 4 || usize::from(length) > available);
                }
            }
        }

        #[test]
        fn a_packet_cut_anywhere_is_too_short_to_read(data in proptest::collection::vec(any::<u8>(), 0..40), at: usize) {
            let mut builder = PacketBuilder::new(1, 1, 1492);
            builder.bytes(&data).unwrap();
            let octets = builder.finish();
            prop_assert!(Packet::parse(&octets[..at % octets.len()]).is_err());
        }

        #[test]
        fn a_limit_too_small_to_write_is_an_error_and_changes_nothing(
            limit in 4usize..60, data in proptest::collection::vec(any::<u8>(), 1..80)
        ) {
            let mut builder = PacketBuilder::new(1, 1, limit);
            prop_assert_eq!(builder.bytes(&data).is_ok(), data.len() + 4 <= limit);
            let before = builder.octets();
            prop_assert_eq!(builder.option(1, &data).is_ok(), before + 2 + data.len() <= limit);
            builder.bytes_cut(&data);
            prop_assert!(builder.octets() <= limit);
            let octets = builder.finish();
            prop_assert_eq!(Packet::parse(&octets).unwrap().data.len() + 4, octets.len());
        }
    }
}
