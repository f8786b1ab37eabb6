//! The two kinds of keys: IPv4 and IPv6 addresses as numbers.

use core::fmt::Debug;
use core::hash::Hash;

/// The bits that the root of a trie looks at.
pub(crate) const ROOT_BITS: u8 = 16;

/// The bits that every further node looks at.
pub(crate) const NODE_BITS: u8 = 8;

/// An address as a number, most significant bit first on the wire.
pub(crate) trait Key: Copy + Eq + Hash + Ord + Debug + Send + Sync + 'static {
    /// The bits of an address.
    const BITS: u8;
    /// The levels of nodes below the root.
    const LEVELS: usize = ((Self::BITS - ROOT_BITS) / NODE_BITS) as usize;

    /// The first 16 bits.
    fn root_slot(self) -> usize;
    /// The octet that nodes of `level` (0 is just below the root) look at.
    fn node_slot(self, level: usize) -> usize;
    /// The key with only its first `len` bits kept.
    fn masked(self, len: u8) -> Self;
}

macro_rules! key {
    ($number:ty) => {
        impl Key for $number {
            const BITS: u8 = <$number>::BITS as u8;

            #[inline(always)]
            fn root_slot(self) -> usize {
                (self >> (<$number>::BITS - 16)) as usize
            }

            #[inline(always)]
            fn node_slot(self, level: usize) -> usize {
                // `level` is less than LEVELS, so the shift is 0 or more; a greater one is masked, not a panic.
                let shift = (<$number>::BITS as usize).wrapping_sub(24).wrapping_sub(level.wrapping_mul(8));
                (self.wrapping_shr(shift as u32) & 0xff) as usize
            }

            fn masked(self, len: u8) -> Self {
                let gone = <$number>::BITS.saturating_sub(u32::from(len));
                self & <$number>::MAX.checked_shl(gone).unwrap_or(0)
            }
        }
    };
}

key!(u32);
key!(u128);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_cut_into_sixteen_bits_and_octets() {
        let key = 0xc0a8_0102_u32;
        assert_eq!((key.root_slot(), key.node_slot(0), key.node_slot(1)), (0xc0a8, 1, 2));
        assert_eq!(<u32 as Key>::LEVELS, 2);
        let key = 0x2001_0db8_0000_0000_0000_0000_0000_00fe_u128;
        assert_eq!(
            (key.root_slot(), key.node_slot(0), key.node_slot(1), key.node_slot(13)),
            (0x2001, 0x0d, 0xb8, 0xfe)
        );
        assert_eq!(<u128 as Key>::LEVELS, 14);
    }

    #[test]
    fn masks_of_every_length() {
        assert_eq!(u32::MAX.masked(0), 0);
        assert_eq!(u32::MAX.masked(1), 0x8000_0000);
        assert_eq!(u32::MAX.masked(32), u32::MAX);
        assert_eq!(u128::MAX.masked(64), u128::MAX << 64);
        assert_eq!(u128::MAX.masked(128), u128::MAX);
    }
}
