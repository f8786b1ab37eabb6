//! The Internet checksum (RFC 1071), and its incremental update (RFC 1624).

/// A running ones' complement sum of 16-bit words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum(u64);

impl Sum {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// The sum with the words of `octets` added; a last odd octet counts as though a zero followed it.
    #[inline]
    #[must_use]
    pub fn octets(self, octets: &[u8]) -> Self {
        let mut sum = self.0;
        let (words, rest) = octets.as_chunks::<4>();
        for word in words {
            // 2^32 words would have to be added before 64 bits overflow.
            sum = sum.wrapping_add(u64::from(u32::from_be_bytes(*word)));
        }
        let mut last = [0u8; 4];
        for (room, octet) in last.iter_mut().zip(rest) {
            *room = *octet;
        }
        Self(sum.wrapping_add(u64::from(u32::from_be_bytes(last))))
    }

    /// The sum with one word added.
    #[inline]
    #[must_use]
    pub const fn word(self, word: u16) -> Self {
        Self(self.0.wrapping_add(word as u64))
    }

    /// The sum with the pseudo-header of TCP, UDP and ICMPv6 over IPv6 added (RFC 8200 section 8.1).
    #[must_use]
    pub fn pseudo_ipv6(self, src: u128, dst: u128, protocol: u8, len: u32) -> Self {
        let lengths = Self(self.0.wrapping_add(u64::from(len)).wrapping_add(u64::from(protocol)));
        lengths.octets(&src.to_be_bytes()).octets(&dst.to_be_bytes())
    }

    /// The sum with the pseudo-header of TCP and UDP over IPv4 added (RFC 9293 section 3.1).
    #[must_use]
    pub fn pseudo_ipv4(self, src: u32, dst: u32, protocol: u8, len: u16) -> Self {
        self.word(len).word(u16::from(protocol)).octets(&src.to_be_bytes()).octets(&dst.to_be_bytes())
    }

    /// The 16 bits that the sum folds to.
    #[inline]
    #[must_use]
    pub const fn fold(self) -> u16 {
        let mut sum = self.0;
        sum = (sum & 0xffff_ffff).wrapping_add(sum >> 32);
        sum = (sum & 0xffff).wrapping_add(sum >> 16);
        sum = (sum & 0xffff).wrapping_add(sum >> 16);
        sum = (sum & 0xffff).wrapping_add(sum >> 16);
        sum as u16
    }

    /// The checksum: the complement of the folded sum.
    #[inline]
    #[must_use]
    pub const fn checksum(self) -> u16 {
        !self.fold()
    }
}

/// The checksum of `octets`.
#[must_use]
pub fn checksum(octets: &[u8]) -> u16 {
    Sum::ZERO.octets(octets).checksum()
}

/// True where `octets`, checksum included, sum to all ones, that is where the checksum is right.
#[inline]
#[must_use]
pub fn is_valid(octets: &[u8]) -> bool {
    Sum::ZERO.octets(octets).fold() == 0xffff
}

/// [`is_valid`] of the 20 octets of an IPv4 header without options. The sum of all ones does not depend on the order of
/// octets within words (RFC 1071 section 2 B), so that words are added as they lie in memory, 32 bits at a time.
#[inline]
#[must_use]
pub const fn is_valid_20(octets: &[u8; 20]) -> bool {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = *octets;
    let sum = (u32::from_ne_bytes([a, b, c, d]) as u64)
        .wrapping_add(u32::from_ne_bytes([e, f, g, h]) as u64)
        .wrapping_add(u32::from_ne_bytes([i, j, k, l]) as u64)
        .wrapping_add(u32::from_ne_bytes([m, n, o, p]) as u64)
        .wrapping_add(u32::from_ne_bytes([q, r, s, t]) as u64);
    // Ones' complement zero is all ones: a multiple of 2^16 - 1 other than 0 itself.
    let sum = (sum & 0xffff_ffff).wrapping_add(sum >> 32);
    let sum = (sum & 0xffff).wrapping_add(sum >> 16);
    let sum = (sum & 0xffff).wrapping_add(sum >> 16);
    sum == 0xffff
}

/// The checksum after one 16-bit word of what it covers went from `old` to `new`: HC' = ~(~HC + ~m + m'), RFC 1624
/// equation 3, which never yields the wrong zero that equation 2 of RFC 1141 can.
#[inline]
#[must_use]
pub const fn update(checksum: u16, old: u16, new: u16) -> u16 {
    Sum((!checksum) as u64).word(!old).word(new).checksum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition of RFC 1071 section 1, word by word.
    fn reference(octets: &[u8]) -> u16 {
        let mut sum = 0u32;
        for pair in octets.chunks(2) {
            sum += u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    proptest! {
        #[test]
        fn equals_the_definition(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(checksum(&octets), reference(&octets));
        }

        #[test]
        fn twenty_octets_at_once_are_judged_alike(octets: [u8; 20], right: bool) {
            let mut octets = octets;
            if right {
                octets[10..12].fill(0);
                let sum = checksum(&octets);
                octets[10..12].copy_from_slice(&sum.to_be_bytes());
            }
            prop_assert_eq!(is_valid_20(&octets), is_valid(&octets));
            prop_assert!(!right || is_valid_20(&octets));
        }

        #[test]
        fn an_update_equals_a_new_sum(octets in proptest::collection::vec(any::<u8>(), 4..100), word in 0usize..50, new in any::<u16>()) {
            let mut octets = octets;
            octets.truncate(octets.len() & !1);
            let at = 2 * (word % (octets.len() / 2));
            // Where all octets are zero the checksum has two forms; no header is.
            prop_assume!(octets.iter().enumerate().any(|(i, o)| *o != 0 && i / 2 != at / 2));
            let old = u16::from_be_bytes([octets[at], octets[at + 1]]);
            let before = checksum(&octets);
            octets[at..at + 2].copy_from_slice(&new.to_be_bytes());
            prop_assert_eq!(update(before, old, new), checksum(&octets));
        }
    }

    #[test]
    fn rfc_1624_section_4_example() {
        // The case that RFC 1141 gets wrong: HC 0xdd2f, m 0x5555, m' 0x3285, and the right HC' is 0x0000.
        assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn a_right_checksum_is_valid() {
        let mut octets = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 1];
        let sum = checksum(&octets);
        octets[10..12].copy_from_slice(&sum.to_be_bytes());
        assert!(is_valid(&octets));
        octets[19] ^= 1;
        assert!(!is_valid(&octets));
    }
}
