//! A set of small numbers with a fast "next free one from here": the free map behind every pool.

/// A set over `0..len`, kept as a bitmap with summaries: a word of a higher level says which words below are not zero.
/// Each operation looks at one word a level up and down again, so at most 2 x 4 words for 2^24 members, however full
/// the set is. It takes 1.02 bits a member.
#[derive(Debug, Clone)]
pub struct Slots {
    /// Level 0 has one bit a member; a bit of level n + 1 is set where word n is not zero.
    levels: Vec<Vec<u64>>,
    len: u32,
    count: u32,
}

const fn split(index: u32) -> (usize, u64) {
    ((index >> 6) as usize, 1u64 << (index & 63))
}

impl Slots {
    /// An empty set over `0..len`.
    #[must_use]
    pub fn new(len: u32) -> Self {
        let mut levels = Vec::new();
        let mut words = len.div_ceil(64);
        loop {
            levels.push(vec![0u64; words as usize]);
            if words <= 1 {
                break;
            }
            words = words.div_ceil(64);
        }
        Self { levels, len, count: 0 }
    }

    /// How many numbers there could be.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// True where no number is in the set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many numbers are in the set.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// True if `index` is in the set; false for what lies outside.
    #[must_use]
    pub fn contains(&self, index: u32) -> bool {
        let (word, bit) = split(index);
        self.levels.first().and_then(|level| level.get(word)).is_some_and(|w| w & bit != 0)
    }

    /// Puts `index` in; false if it was there already or lies outside.
    pub fn insert(&mut self, index: u32) -> bool {
        if index >= self.len || self.contains(index) {
            return false;
        }
        let mut at = index;
        for level in &mut self.levels {
            let (word, bit) = split(at);
            if let Some(w) = level.get_mut(word) {
                *w |= bit;
            }
            at >>= 6;
        }
        self.count = self.count.saturating_add(1);
        true
    }

    /// Takes `index` out; false if it was not there.
    pub fn remove(&mut self, index: u32) -> bool {
        if !self.contains(index) {
            return false;
        }
        let mut at = index;
        for level in &mut self.levels {
            let (word, bit) = split(at);
            if let Some(w) = level.get_mut(word) {
                *w &= !bit;
                if *w != 0 {
                    break;
                }
            }
            at >>= 6;
        }
        self.count = self.count.saturating_sub(1);
        true
    }

    /// The lowest number in the set that is at least `from`, else the lowest of all; `None` if the set is empty.
    #[must_use]
    pub fn next(&self, from: u32) -> Option<u32> {
        self.at_least(from).or_else(|| self.at_least(0))
    }

    /// The lowest number in the set that is at least `from`.
    #[must_use]
    pub fn at_least(&self, from: u32) -> Option<u32> {
        if from >= self.len {
            return None;
        }
        // Up: the first level where the word that `from` falls into has a bit at or behind it.
        let mut at = from;
        for (height, level) in self.levels.iter().enumerate() {
            let word = (at >> 6) as usize;
            // Bits at or above the position; at the end of a level the position may lie one word too far.
            let rest = level.get(word).map_or(0, |w| w & (u64::MAX << (at & 63)));
            if rest != 0 {
                return self.descend(height, word, rest);
            }
            // Nothing here: go on in the next word, whose bit one level up is the one behind.
            at = (at >> 6).saturating_add(1);
        }
        None
    }

    /// From a non-zero word down to the lowest member that it stands for.
    fn descend(&self, height: usize, word: usize, bits: u64) -> Option<u32> {
        let mut at = u32::try_from(word).ok()?.checked_mul(64)?.checked_add(bits.trailing_zeros())?;
        for level in self.levels.get(..height)?.iter().rev() {
            let bits = level.get(at as usize)?;
            at = at.checked_mul(64)?.checked_add(bits.trailing_zeros())?;
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn sizes_at_the_edges_of_words_and_levels() {
        for len in [0, 1, 63, 64, 65, 4095, 4096, 4097, 262_144, 262_145] {
            let mut slots = Slots::new(len);
            assert_eq!(slots.next(0), None);
            assert!(!slots.insert(len), "outside");
            for index in [0, len / 2, len.saturating_sub(1)] {
                if index < len {
                    slots.insert(index);
                    assert_eq!(slots.next(index), Some(index));
                    assert_eq!(slots.at_least(index), Some(index));
                }
            }
            if len > 2 {
                assert_eq!(slots.count(), 3);
                assert_eq!(slots.at_least(len / 2 + 1), Some(len - 1));
                assert!(slots.remove(len - 1));
                assert!(!slots.remove(len - 1));
                assert_eq!(slots.at_least(len / 2 + 1), None);
                assert_eq!(slots.next(len / 2 + 1), Some(0), "goes round");
            }
        }
    }

    proptest! {
        #[test]
        fn behaves_like_an_ordered_set(len in 1u32..9000, steps in proptest::collection::vec((0u32..9100, 0u8..3), 0..400)) {
            let mut slots = Slots::new(len);
            let mut model = BTreeSet::new();
            for (index, what) in steps {
                match what {
                    0 => prop_assert_eq!(slots.insert(index), index < len && model.insert(index)),
                    1 => prop_assert_eq!(slots.remove(index), model.remove(&index)),
                    _ => {}
                }
                prop_assert_eq!(slots.contains(index), model.contains(&index));
                prop_assert_eq!(slots.at_least(index), model.range(index..).next().copied());
                prop_assert_eq!(slots.next(index), model.range(index..).next().or(model.first()).copied());
                prop_assert_eq!(slots.count() as usize, model.len());
            }
        }
    }
}
