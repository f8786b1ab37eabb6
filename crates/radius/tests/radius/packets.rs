//! Properties of reading and writing.

use bng_radius::authenticator::{verify_message_authenticator, verify_request};
use bng_radius::build::{AttributeList, LIST_OCTETS_MAX, RequestParts, encode_reply, encode_request};
use bng_radius::dictionary::{VENDOR_BNGD, number};
use bng_radius::packet::{Attribute, PACKET_OCTETS_MAX};
use bng_radius::{Code, Packet, PacketError, Secret};
use proptest::prelude::*;

type Given = (u32, u8, Vec<u8>);

/// Attributes of numbers that the dictionary does not know, so that any value goes.
fn attributes() -> impl Strategy<Value = Vec<Given>> {
    let standard = (Just(0), 192_u8..=223, prop::collection::vec(any::<u8>(), 1..=253));
    let vendor = (1_u32..100_000, any::<u8>(), prop::collection::vec(any::<u8>(), 1..=247));
    prop::collection::vec(prop_oneof![standard, vendor], 0..12)
}

fn list(given: &[Given]) -> AttributeList {
    let mut list = AttributeList::new();
    for (vendor, number, value) in given {
        if *vendor == 0 {
            list.push(*number, value).unwrap();
        } else {
            list.push_vendor(*vendor, *number, value).unwrap();
        }
    }
    list
}

fn parts<'a>(code: Code, list: &'a AttributeList, password: Option<&'a Secret>) -> RequestParts<'a> {
    RequestParts {
        code,
        id: 7,
        authenticator: [3; 16],
        message_authenticator: true,
        attributes: list,
        password,
        delay_s: None,
    }
}

/// Why a parse error is right, told without the parser.
fn is_justified(octets: &[u8], error: PacketError) -> bool {
    let length = octets.get(2..4).map(|l| usize::from(u16::from_be_bytes([l[0], l[1]])));
    match error {
        PacketError::Truncated => length.is_none_or(|length| octets.len() < length),
        PacketError::LengthTooSmall => length.is_some_and(|length| length < 20),
        PacketError::Oversized => length.is_some_and(|length| length > PACKET_OCTETS_MAX),
        PacketError::BadAttribute => {
            let end = length.unwrap();
            let mut at = 20;
            while at < end {
                let step = if at + 1 < end { usize::from(octets[at + 1]) } else { 0 };
                if step < 2 || at + step > end {
                    return true;
                }
                at += step;
            }
            false
        }
        PacketError::BadValue { .. } => false,
    }
}

proptest! {
    #[test]
    fn what_is_built_parses_back(given in attributes(), code in any::<u8>(), tail in prop::collection::vec(any::<u8>(), 0..9)) {
        let secret = Secret::new(b"s");
        let mut octets = encode_reply(Code(code), 9, &[1; 16], true, &list(&given), &secret).unwrap();
        octets.extend_from_slice(&tail);
        let packet = Packet::parse(&octets).unwrap();
        prop_assert_eq!(packet.octets().len(), octets.len() - tail.len());
        prop_assert_eq!(verify_message_authenticator(&packet, &[1; 16], &secret), Some(true));
        prop_assert_eq!(packet.first(number::MESSAGE_AUTHENTICATOR), Some(&octets[22..38]), "first of all");
        let back: Vec<Given> = packet.flat().skip(1).map(|Attribute { vendor, number, value }| (vendor, number, value.to_vec())).collect();
        prop_assert_eq!(back, given);
    }

    #[test]
    fn what_parses_is_built_the_same(given in attributes()) {
        let list = list(&given);
        prop_assert_eq!(AttributeList::from_octets(list.octets()), Some(list));
    }

    #[test]
    fn noise_never_panics_and_each_error_is_justified(
        octets in prop::collection::vec(any::<u8>(), 0..200),
        length in prop_oneof![Just(None), (0_u16..300).prop_map(Some)],
    ) {
        let mut octets = octets;
        if let (Some(length), true) = (length, octets.len() >= 4) {
            octets[2..4].copy_from_slice(&length.to_be_bytes());
        }
        match Packet::parse(&octets) {
            Err(error) => prop_assert!(is_justified(&octets, error), "{error:?} {octets:?}"),
            Ok(packet) => {
                let _ = packet.validate();
                let _ = bng_radius::Authorization::from_reply(&packet, bng_radius::mapping::DEFAULT_RULES);
                prop_assert!(packet.flat().count() <= octets.len());
                for base in 241..=246 {
                    let _ = packet.extended(base, 1);
                }
            }
        }
    }

    #[test]
    fn too_short_to_read_says_so(given in attributes()) {
        let octets = encode_reply(Code(2), 9, &[1; 16], false, &list(&given), &Secret::new(b"s")).unwrap();
        for cut in 0..octets.len() {
            prop_assert_eq!(Packet::parse(&octets[..cut]), Err(PacketError::Truncated));
        }
    }

    #[test]
    fn too_small_to_write_changes_nothing(values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..60)) {
        let mut list = AttributeList::new();
        for value in values {
            let before = list.clone();
            let fits = !value.is_empty() && value.len() <= 253 && before.octets().len() + value.len() + 2 <= LIST_OCTETS_MAX;
            prop_assert_eq!(list.push(200, &value).is_ok(), fits);
            prop_assert_eq!(list == before, !fits);
        }
        let password = Secret::new(&[b'x'; 128]);
        let (octets, _) = encode_request(parts(Code::ACCESS_REQUEST, &list, Some(&password)), &Secret::new(b"s")).unwrap();
        prop_assert!(octets.len() <= PACKET_OCTETS_MAX);
    }

    #[test]
    fn any_changed_octet_breaks_the_digest(given in attributes(), at in any::<prop::sample::Index>(), bit in 0_u8..8) {
        let secret = Secret::new(b"s");
        let list = list(&given);
        let (octets, _) = encode_request(parts(Code::COA_REQUEST, &list, None), &secret).unwrap();
        prop_assert!(verify_request(&Packet::parse(&octets).unwrap(), &secret));
        let mut changed = octets.clone();
        let at = at.index(octets.len());
        changed[at] ^= 1 << bit;
        if let Ok(packet) = Packet::parse(&changed) {
            prop_assert!(!verify_request(&packet, &secret), "octet {at}");
        }
    }

    #[test]
    fn long_attributes_come_back_whole(value in prop::collection::vec(any::<u8>(), 1..3000)) {
        let mut list = AttributeList::new();
        list.push_long(245, 3, &value).unwrap();
        list.push_long(245, 4, &[9]).unwrap();
        let octets = encode_reply(Code(2), 9, &[1; 16], false, &list, &Secret::new(b"s")).unwrap();
        let packet = Packet::parse(&octets).unwrap();
        packet.validate().unwrap();
        prop_assert_eq!(packet.extended(245, 3), Some(value));
        prop_assert_eq!(packet.extended(245, 4), Some(vec![9]));
        prop_assert_eq!(packet.extended(246, 3), None);
    }

    #[test]
    fn prefixes_come_back(bits in any::<u128>(), length in 0_u8..=128) {
        let masked = bits & u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
        let octets = bng_radius::value::ipv6_prefix_octets(masked.into(), length);
        prop_assert_eq!(bng_radius::value::ipv6_prefix(&octets), Some((masked.into(), length)));
    }
}

#[test]
fn a_second_message_authenticator_is_none() {
    let mut list = AttributeList::new();
    list.push(number::MESSAGE_AUTHENTICATOR, &[0; 16]).unwrap();
    let secret = Secret::new(b"s");
    let octets = encode_reply(Code(2), 9, &[1; 16], true, &list, &secret).unwrap();
    assert_eq!(verify_message_authenticator(&Packet::parse(&octets).unwrap(), &[1; 16], &secret), None);
}

#[test]
fn a_value_for_a_vendor_has_247_octets_at_most() {
    let mut list = AttributeList::new();
    assert!(list.push_vendor(VENDOR_BNGD, 1, &[0; 248]).is_err());
    assert!(list.push_vendor(VENDOR_BNGD, 1, &[]).is_err());
    assert!(list.octets().is_empty());
    list.push_vendor(VENDOR_BNGD, 1, &[0; 247]).unwrap();
    assert_eq!(list.octets().len(), 255);
}
