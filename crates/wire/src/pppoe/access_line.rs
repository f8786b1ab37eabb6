//! What the access node says about the subscriber's line: the Broadband Forum's Vendor-Specific tag (TR-101 Appendix A,
//! R-124 and following; the same attributes as RFC 4679), with the later sub-options for PON and G.fast.
//!
//! ```text
//! +----------------+---------------------+---------------------+---
//! | 00 00 0d e9    | sub-type | length | | sub-type | length | | ...
//! | vendor 3561    | value ...           | value ...           |
//! +----------------+---------------------+---------------------+---
//! ```

/// The Broadband Forum's (formerly ADSL Forum's) vendor id as a tag carries it: 3561.
pub const VENDOR_BROADBAND_FORUM: [u8; 4] = [0x00, 0x00, 0x0d, 0xe9];
/// The longest circuit id and remote id (RFC 4679 sections 3.3.1 and 3.3.2).
pub const IDENTITY_LEN_MAX: usize = 63;

/// A sub-type of the tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubType(pub u8);

impl SubType {
    /// Agent circuit id: the line as the access node names it.
    pub const CIRCUIT_ID: Self = Self(0x01);
    /// Agent remote id: the subscriber as the operator names it.
    pub const REMOTE_ID: Self = Self(0x02);
    /// A container of PON sub-options.
    pub const PON_ATTRIBUTES: Self = Self(0x12);
    /// Actual data rate upstream, kbit/s.
    pub const ACTUAL_RATE_UP: Self = Self(0x81);
    /// Actual data rate downstream, kbit/s.
    pub const ACTUAL_RATE_DOWN: Self = Self(0x82);
    /// Access loop encapsulation: data link, encapsulation 1, encapsulation 2, an octet each.
    pub const LOOP_ENCAPSULATION: Self = Self(0x90);
}

/// How a sub-option's value is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Octets that name something.
    Octets,
    /// A 32-bit number of kbit/s.
    KbitPerS,
    /// A 32-bit number of milliseconds.
    Ms,
    /// A 32-bit number from a list.
    Enumeration,
    /// Three octets: data link, encapsulation 1, encapsulation 2.
    Encapsulation,
    /// Sub-options inside a sub-option.
    Container,
}

/// A known sub-option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubOptionInfo {
    /// Its sub-type.
    pub kind: SubType,
    /// Its name in snake case, as API and logs show it.
    pub name: &'static str,
    /// How to read its value.
    pub unit: Unit,
}

const fn info(kind: u8, name: &'static str, unit: Unit) -> SubOptionInfo {
    SubOptionInfo { kind: SubType(kind), name, unit }
}

/// Every sub-option with a name: TR-101 Appendix A and RFC 4679 section 3.3 (0x01 to 0x91), and those that
/// draft-lihawi-ancp-protocol-access-extension adds for G.fast and PON (0x12 and 0x97 to 0xb5). Others are kept too.
pub const SUB_OPTIONS: &[SubOptionInfo] = &[
    info(0x01, "circuit_id", Unit::Octets),
    info(0x02, "remote_id", Unit::Octets),
    info(0x12, "pon_attributes", Unit::Container),
    info(0x81, "actual_rate_up", Unit::KbitPerS),
    info(0x82, "actual_rate_down", Unit::KbitPerS),
    info(0x83, "minimum_rate_up", Unit::KbitPerS),
    info(0x84, "minimum_rate_down", Unit::KbitPerS),
    info(0x85, "attainable_rate_up", Unit::KbitPerS),
    info(0x86, "attainable_rate_down", Unit::KbitPerS),
    info(0x87, "maximum_rate_up", Unit::KbitPerS),
    info(0x88, "maximum_rate_down", Unit::KbitPerS),
    info(0x89, "minimum_rate_up_low_power", Unit::KbitPerS),
    info(0x8a, "minimum_rate_down_low_power", Unit::KbitPerS),
    info(0x8b, "maximum_interleaving_delay_up", Unit::Ms),
    info(0x8c, "actual_interleaving_delay_up", Unit::Ms),
    info(0x8d, "maximum_interleaving_delay_down", Unit::Ms),
    info(0x8e, "actual_interleaving_delay_down", Unit::Ms),
    info(0x90, "loop_encapsulation", Unit::Encapsulation),
    info(0x91, "dsl_type", Unit::Enumeration),
    info(0x97, "pon_type", Unit::Enumeration),
    info(0x9b, "expected_throughput_up", Unit::KbitPerS),
    info(0x9c, "expected_throughput_down", Unit::KbitPerS),
    info(0x9d, "attainable_expected_throughput_up", Unit::KbitPerS),
    info(0x9e, "attainable_expected_throughput_down", Unit::KbitPerS),
    info(0x9f, "gamma_rate_up", Unit::KbitPerS),
    info(0xa0, "gamma_rate_down", Unit::KbitPerS),
    info(0xa1, "attainable_gamma_rate_up", Unit::KbitPerS),
    info(0xa2, "attainable_gamma_rate_down", Unit::KbitPerS),
    info(0xb0, "onu_average_rate_down", Unit::KbitPerS),
    info(0xb1, "onu_peak_rate_down", Unit::KbitPerS),
    info(0xb2, "onu_maximum_rate_up", Unit::KbitPerS),
    info(0xb3, "onu_assured_rate_up", Unit::KbitPerS),
    info(0xb4, "pon_tree_maximum_rate_up", Unit::KbitPerS),
    info(0xb5, "pon_tree_maximum_rate_down", Unit::KbitPerS),
];

/// What is known of a sub-type; `None` for one without a name.
#[must_use]
pub fn sub_option_info(kind: SubType) -> Option<&'static SubOptionInfo> {
    SUB_OPTIONS.iter().find(|info| info.kind == kind)
}

/// One sub-option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubOption<'a> {
    /// What it is.
    pub kind: SubType,
    /// Its value, at most 255 octets.
    pub value: &'a [u8],
}

impl SubOption<'_> {
    /// The value as a number, for those that are four octets.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        self.value.try_into().ok().map(u32::from_be_bytes)
    }

    /// True where the value has a length that its sub-type allows: an identity 1 to 63 octets, a number 4, an
    /// encapsulation 3. A sub-type without a name, and a container, may have any.
    fn fits(&self) -> bool {
        match sub_option_info(self.kind).map(|info| info.unit) {
            Some(Unit::Octets) => (1..=IDENTITY_LEN_MAX).contains(&self.value.len()),
            Some(Unit::KbitPerS | Unit::Ms | Unit::Enumeration) => self.value.len() == 4,
            Some(Unit::Encapsulation) => self.value.len() == 3,
            Some(Unit::Container) | None => true,
        }
    }
}

/// Walks over sub-options; `Err` with what is left where the last one is cut.
#[derive(Debug, Clone)]
struct SubOptions<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for SubOptions<'a> {
    type Item = Result<SubOption<'a>, CutSubOption>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = core::mem::take(&mut self.rest);
        let (&kind, after) = rest.split_first()?;
        let Some((&length, after)) = after.split_first() else {
            return Some(Err(CutSubOption));
        };
        let Some((value, rest)) = after.split_at_checked(usize::from(length)) else {
            return Some(Err(CutSubOption));
        };
        self.rest = rest;
        Some(Ok(SubOption { kind: SubType(kind), value }))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CutSubOption;

/// A subscriber line as its access node describes it. Holds the well-formed sub-options only, octet-exact and in the
/// order received, in one piece of memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct AccessLine {
    octets: Box<[u8]>,
}

/// A vendor tag's reading: what is good of it, and whether something was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessLineRead {
    /// The well-formed sub-options; may be none.
    pub line: AccessLine,
    /// Sub-options left out: cut at the tag's end, or of a length that their sub-type does not allow.
    pub left_out: u16,
}

impl AccessLine {
    /// Reads the value of a Vendor-Specific tag. `None` where it is another vendor's, or shorter than a vendor id.
    ///
    /// A sub-option that is overlong or cut is left out whole: a shortened identity would name another line.
    #[must_use]
    pub fn from_vendor_tag(value: &[u8]) -> Option<AccessLineRead> {
        let sub_options = value.strip_prefix(&VENDOR_BROADBAND_FORUM)?;
        let mut left_out: u16 = 0;
        let mut octets = Vec::new();
        for sub_option in (SubOptions { rest: sub_options }) {
            match sub_option {
                Ok(sub_option) if sub_option.fits() => {
                    // A sub-option's value has at most 255 octets, so its length is one octet.
                    let length = u8::try_from(sub_option.value.len()).unwrap_or(u8::MAX);
                    octets.extend_from_slice(&[sub_option.kind.0, length]);
                    octets.extend_from_slice(sub_option.value);
                }
                _ => left_out = left_out.saturating_add(1),
            }
        }
        Some(AccessLineRead { line: Self { octets: octets.into() }, left_out })
    }

    /// The sub-options as the tag has them after the vendor id; what a checkpoint keeps.
    #[must_use]
    pub fn as_octets(&self) -> &[u8] {
        &self.octets
    }

    /// True where no sub-option was well formed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// The sub-options in the order received, those inside a PON container after it.
    pub fn sub_options(&self) -> impl Iterator<Item = SubOption<'_>> {
        SubOptions { rest: &self.octets }.flatten().flat_map(|sub_option| {
            let inner = if sub_option.kind == SubType::PON_ATTRIBUTES { sub_option.value } else { &[] };
            core::iter::once(sub_option).chain(SubOptions { rest: inner }.flatten().filter(SubOption::fits))
        })
    }

    /// The first sub-option of a kind.
    #[must_use]
    pub fn get(&self, kind: SubType) -> Option<SubOption<'_>> {
        self.sub_options().find(|sub_option| sub_option.kind == kind)
    }

    /// The agent circuit id, 1 to 63 octets.
    #[must_use]
    pub fn circuit_id(&self) -> Option<&[u8]> {
        self.get(SubType::CIRCUIT_ID).map(|sub_option| sub_option.value)
    }

    /// The agent remote id, 1 to 63 octets.
    #[must_use]
    pub fn remote_id(&self) -> Option<&[u8]> {
        self.get(SubType::REMOTE_ID).map(|sub_option| sub_option.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tag(sub_options: &[(u8, &[u8])]) -> Vec<u8> {
        let mut value = VENDOR_BROADBAND_FORUM.to_vec();
        for (kind, octets) in sub_options {
            value.extend_from_slice(&[*kind, octets.len() as u8]);
            value.extend_from_slice(octets);
        }
        value
    }

    #[test]
    fn p29_circuit_and_remote_id_are_octet_exact() {
        let value = [
            0x00, 0x00, 0x0d, 0xe9, 0x01, 0x0c, 0x65, 0x74, 0x68, 0x20, 0x31, 0x2f, 0x31, 0x2f, 0x31, 0x3a, 0x31, 0x30,
            0x02, 0x07, 0x73, 0x75, 0x62, 0x2d, 0x30, 0x30, 0x31,
        ];
        let read = AccessLine::from_vendor_tag(&value).unwrap();
        assert_eq!(read.line.circuit_id(), Some(&b"eth 1/1/1:10"[..]));
        assert_eq!(read.line.remote_id(), Some(&b"sub-001"[..]));
        assert_eq!(read.left_out, 0);
        assert_eq!(read.line.as_octets(), &value[4..]);
    }

    #[test]
    fn p29_an_identity_of_63_octets_is_kept_and_of_64_left_out_whole() {
        for (length, kept) in [(1, true), (63, true), (64, false), (255, false), (0, false)] {
            let circuit = vec![0xff; length];
            let read = AccessLine::from_vendor_tag(&tag(&[(1, &circuit), (2, b"\0sub\xff")])).unwrap();
            assert_eq!(read.line.circuit_id(), kept.then_some(&circuit[..]), "{length}");
            assert_eq!(read.line.remote_id(), Some(&b"\0sub\xff"[..]));
            assert_eq!(read.left_out, u16::from(!kept));
        }
    }

    #[test]
    fn p29_a_sub_option_past_the_tag_end_is_left_out() {
        let mut value = tag(&[(1, b"line"), (0x81, &[0, 0, 4, 0])]);
        value.extend_from_slice(&[2, 8, b's', b'u', b'b']);
        let read = AccessLine::from_vendor_tag(&value).unwrap();
        assert_eq!(read.line.circuit_id(), Some(&b"line"[..]));
        assert_eq!(read.line.remote_id(), None);
        assert_eq!(read.line.get(SubType::ACTUAL_RATE_UP).unwrap().number(), Some(1024));
        assert_eq!(read.left_out, 1);
    }

    #[test]
    fn p15_other_vendors_and_short_values_are_not_a_line() {
        assert_eq!(AccessLine::from_vendor_tag(&[0x05, 0xdc]), None);
        assert_eq!(AccessLine::from_vendor_tag(&[]), None);
        assert_eq!(AccessLine::from_vendor_tag(&[0, 0, 0x0d, 0xe8, 1, 1, b'x']), None);
    }

    #[test]
    fn pon_sub_options_are_found_in_their_container() {
        let read = AccessLine::from_vendor_tag(&tag(&[
            (1, b"olt 1"),
            (0x12, &[0x97, 4, 0, 0, 0, 4, 0xb0, 4, 0, 0x0f, 0x42, 0x40, 0xb1, 1, 9]),
            (0x91, &[0, 0, 0, 8]),
        ]))
        .unwrap();
        assert_eq!(read.line.get(SubType(0x97)).unwrap().number(), Some(4));
        assert_eq!(read.line.get(SubType(0xb0)).unwrap().number(), Some(1_000_000));
        assert_eq!(read.line.get(SubType(0xb1)), None, "a rate of one octet is no rate");
        assert_eq!(read.line.get(SubType(0x91)).unwrap().number(), Some(8));
    }

    #[test]
    fn sub_options_without_a_name_are_kept() {
        let read = AccessLine::from_vendor_tag(&tag(&[(0xf0, b"new")])).unwrap();
        assert_eq!(read.line.get(SubType(0xf0)).map(|sub_option| sub_option.value), Some(&b"new"[..]));
    }

    #[test]
    fn the_table_names_each_sub_option_once_and_in_order() {
        assert!(SUB_OPTIONS.windows(2).all(|pair| pair[0].kind < pair[1].kind));
    }

    proptest! {
        #[test]
        fn noise_keeps_only_what_reads_back(noise in prop::collection::vec(any::<u8>(), 0..300)) {
            let value = [&VENDOR_BROADBAND_FORUM[..], &noise].concat();
            let read = AccessLine::from_vendor_tag(&value).unwrap();
            prop_assert!(read.line.as_octets().len() <= noise.len());
            let again = AccessLine::from_vendor_tag(&[&VENDOR_BROADBAND_FORUM[..], read.line.as_octets()].concat()).unwrap();
            prop_assert_eq!(&again.line, &read.line);
            prop_assert_eq!(again.left_out, 0);
            prop_assert!(read.line.sub_options().all(|sub_option| sub_option.fits()));
            prop_assert!(read.left_out > 0 || read.line.as_octets() == &noise[..]);
        }
    }
}
