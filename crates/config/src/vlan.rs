//! Sets of VLAN identifiers.

use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

/// A set of VLAN identifiers, 1 to 4094 (IEEE 802.1Q: 0 is a priority tag without a VLAN, 4095 is reserved).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct VlanSet(Box<[u64; 64]>);

/// What is wrong with the text of a VLAN set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VlanSetError {
    /// Neither a number, nor `A-B`, nor `any`.
    #[error("expected a VLAN id (100), a range (100-199), a list of both, or `any`")]
    Syntax,
    /// An id outside 1 to 4094.
    #[error("VLAN id {0} is outside 1-4094")]
    Range(u32),
    /// The first id of a range is larger than the last.
    #[error("the range {0}-{1} runs backwards")]
    Backwards(u16, u16),
    /// No id at all.
    #[error("the list of VLAN ids is empty")]
    Empty,
}

impl VlanSet {
    /// Lowest usable id.
    pub const FIRST: u16 = 1;
    /// Highest usable id.
    pub const LAST: u16 = 4094;

    /// No id.
    #[must_use]
    pub fn empty() -> Self {
        Self(Box::new([0; 64]))
    }

    /// Every usable id.
    #[must_use]
    pub fn any() -> Self {
        let mut set = Self::empty();
        set.insert(Self::FIRST..=Self::LAST);
        set
    }

    fn insert(&mut self, ids: RangeInclusive<u16>) {
        for id in ids {
            if let Some(word) = self.0.get_mut(usize::from(id / 64)) {
                *word |= 1 << (id % 64);
            }
        }
    }

    /// Adds what `text` says: one id, or a range `A-B`, or several of both joined by commas, or `any`.
    ///
    /// # Errors
    /// See [`VlanSetError`]; nothing is added then.
    pub fn add(&mut self, text: &str) -> Result<(), VlanSetError> {
        let mut sum = Self::empty();
        for part in text.split(',') {
            let part = part.trim();
            if part == "any" {
                sum.insert(Self::FIRST..=Self::LAST);
                continue;
            }
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (id(first.trim())?, id(last.trim())?),
                None => (id(part)?, id(part)?),
            };
            if first > last {
                return Err(VlanSetError::Backwards(first, last));
            }
            sum.insert(first..=last);
        }
        *self = self.union(&sum);
        Ok(())
    }

    /// True if `vid` is one of them.
    #[must_use]
    pub fn contains(&self, vid: u16) -> bool {
        self.0.get(usize::from(vid / 64)).is_some_and(|word| word >> (vid % 64) & 1 == 1)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Those in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut result = self.clone();
        for (word, more) in result.0.iter_mut().zip(other.0.iter()) {
            *word |= more;
        }
        result
    }

    /// Those in this set and not in the other.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let mut result = self.clone();
        for (word, less) in result.0.iter_mut().zip(other.0.iter()) {
            *word &= !less;
        }
        result
    }

    /// The ids in order, as ranges with gaps between them.
    #[must_use]
    pub fn ranges(&self) -> Vec<RangeInclusive<u16>> {
        let mut ranges: Vec<RangeInclusive<u16>> = Vec::new();
        for vid in (Self::FIRST..=Self::LAST).filter(|vid| self.contains(*vid)) {
            match ranges.last_mut() {
                Some(range) if *range.end() + 1 == vid => *range = *range.start()..=vid,
                _ => ranges.push(vid..=vid),
            }
        }
        ranges
    }
}

fn id(text: &str) -> Result<u16, VlanSetError> {
    if text.is_empty() || text.len() > 6 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(VlanSetError::Syntax);
    }
    let number: u32 = text.parse().map_err(|_| VlanSetError::Syntax)?;
    match u16::try_from(number) {
        Ok(vid) if (VlanSet::FIRST..=VlanSet::LAST).contains(&vid) => Ok(vid),
        _ => Err(VlanSetError::Range(number)),
    }
}

impl FromStr for VlanSet {
    type Err = VlanSetError;

    fn from_str(text: &str) -> Result<Self, VlanSetError> {
        let mut set = Self::empty();
        set.add(text)?;
        Ok(set)
    }
}

impl fmt::Display for VlanSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.len() == usize::from(Self::LAST) {
            return out.write_str("any");
        }
        for (index, range) in self.ranges().iter().enumerate() {
            if index > 0 {
                out.write_str(",")?;
            }
            if range.start() == range.end() {
                write!(out, "{}", range.start())?;
            } else {
                write!(out, "{}-{}", range.start(), range.end())?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for VlanSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "VlanSet({self})")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_may_be_written_and_what_may_not() {
        for (text, shown) in [
            ("100", "100"),
            ("100-199", "100-199"),
            ("any", "any"),
            ("7, 5,6", "5-7"),
            ("1-4094", "any"),
            ("1,3-4", "1,3-4"),
        ] {
            assert_eq!(text.parse::<VlanSet>().unwrap().to_string(), shown, "{text}");
        }
        for (text, error) in [
            ("", VlanSetError::Syntax),
            ("x", VlanSetError::Syntax),
            ("-5", VlanSetError::Syntax),
            ("1--5", VlanSetError::Syntax),
            ("0x10", VlanSetError::Syntax),
            ("0", VlanSetError::Range(0)),
            ("4095", VlanSetError::Range(4095)),
            ("100-70000", VlanSetError::Range(70000)),
            ("199-100", VlanSetError::Backwards(199, 100)),
        ] {
            assert_eq!(text.parse::<VlanSet>(), Err(error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn shown_and_read_back_is_the_same_set(ids in proptest::collection::btree_set(1u16..=4094, 1..60)) {
            let text = ids.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
            let set: VlanSet = text.parse().unwrap();
            prop_assert_eq!(set.len(), ids.len());
            prop_assert_eq!(set.to_string().parse::<VlanSet>().unwrap(), set.clone());
            for vid in 0..=4095 {
                prop_assert_eq!(set.contains(vid), ids.contains(&vid));
            }
            prop_assert!(set.minus(&set).is_empty());
        }

        #[test]
        fn noise_never_panics(text in "\\PC{0,20}") {
            let _ = text.parse::<VlanSet>();
        }
    }
}
