//! Values of attributes, read; each gives `None` for octets that are no value of its type.

use core::net::{Ipv4Addr, Ipv6Addr};

/// A 32-bit number.
#[must_use]
pub fn integer(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_be_bytes)
}

/// A number of 32 or 64 bits.
#[must_use]
pub fn integer64(value: &[u8]) -> Option<u64> {
    match value.len() {
        4 => integer(value).map(u64::from),
        _ => value.try_into().ok().map(u64::from_be_bytes),
    }
}

/// An IPv4 address.
#[must_use]
pub fn ipv4(value: &[u8]) -> Option<Ipv4Addr> {
    integer(value).map(Ipv4Addr::from_bits)
}

/// An IPv6 address.
#[must_use]
pub fn ipv6(value: &[u8]) -> Option<Ipv6Addr> {
    <[u8; 16]>::try_from(value).ok().map(Ipv6Addr::from)
}

/// An IPv6 prefix and its length in bits (RFC 3162 section 2.3). Bits past the length must be zero by that section;
/// where they are not they are cleared, since servers send whole addresses. The octets may be fewer than the length asks for, the
/// missing ones then count as zero, as some servers strip them.
#[must_use]
pub fn ipv6_prefix(value: &[u8]) -> Option<(Ipv6Addr, u8)> {
    let (&[_reserved, length], rest) = value.split_first_chunk::<2>()?;
    if length > 128 || rest.len() > 16 {
        return None;
    }
    let mut octets = [0; 16];
    octets.get_mut(..rest.len())?.copy_from_slice(rest);
    let mask = u128::MAX.checked_shl(128_u32.saturating_sub(u32::from(length))).unwrap_or(0);
    Some((Ipv6Addr::from_bits(u128::from_be_bytes(octets) & mask), length))
}

/// An IPv6 prefix in the octets of its attribute: as many octets of prefix as its length needs.
#[must_use]
pub fn ipv6_prefix_octets(prefix: Ipv6Addr, length: u8) -> Vec<u8> {
    let needed = usize::from(length.min(128)).div_ceil(8);
    let mut octets = vec![0, length.min(128)];
    octets.extend(prefix.octets().into_iter().take(needed));
    octets
}

/// A whole decimal number with nothing around it.
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    core::str::from_utf8(text).ok()?.parse().ok()
}
