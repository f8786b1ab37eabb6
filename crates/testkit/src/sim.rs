//! What a simulation of many clients needs: chance that can be repeated, and a line that is not perfect.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

/// A source of chance that a seed repeats exactly (SplitMix64). Not for secrets.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// From a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next_u64() % limit
    }

    /// True `per_mille` times in a thousand.
    pub fn happens(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// Fills a buffer.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        for part in buffer.chunks_mut(8) {
            let octets = self.next_u64().to_le_bytes();
            part.copy_from_slice(&octets[..part.len()]);
        }
    }
}

/// What a line does to frames, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineQuality {
    /// Lost.
    pub loss: u64,
    /// Delivered twice.
    pub duplication: u64,
    /// Delivered late, so that later frames overtake it.
    pub reorder: u64,
    /// The time a frame takes.
    pub delay: Duration,
}

impl LineQuality {
    /// Loses nothing, takes 1 ms.
    pub const PERFECT: Self = Self { loss: 0, duplication: 0, reorder: 0, delay: Duration::from_millis(1) };

    /// The times from `now` at which a frame arrives: none, one or two.
    pub fn arrivals(&self, chance: &mut Chance) -> Vec<Duration> {
        if chance.happens(self.loss) {
            return Vec::new();
        }
        let one = |chance: &mut Chance| {
            let late = if chance.happens(self.reorder) { chance.below(20) } else { 0 };
            self.delay + Duration::from_millis(late)
        };
        let mut times = vec![one(chance)];
        if chance.happens(self.duplication) {
            times.push(one(chance));
        }
        times
    }
}

/// Things that will happen, in the order of their times; what is due at one time happens in the order in which it was
/// put in.
#[derive(Debug)]
pub struct Agenda<T> {
    heap: BinaryHeap<Reverse<Item<T>>>,
    count: u64,
}

#[derive(Debug)]
struct Item<T> {
    at: Instant,
    count: u64,
    what: T,
}

impl<T> PartialEq for Item<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.count) == (other.at, other.count)
    }
}

impl<T> Eq for Item<T> {}

impl<T> PartialOrd for Item<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Item<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.count).cmp(&(other.at, other.count))
    }
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), count: 0 }
    }
}

impl<T> Agenda<T> {
    /// Puts something in.
    pub fn at(&mut self, at: Instant, what: T) {
        self.count += 1;
        self.heap.push(Reverse(Item { at, count: self.count, what }));
    }

    /// When the next thing happens.
    #[must_use]
    pub fn next_time(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse(item)| item.at)
    }

    /// Takes out the next thing if it is due at `now`.
    pub fn due(&mut self, now: Instant) -> Option<T> {
        if self.next_time()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(item)| item.what)
    }

    /// How many things are to happen.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True where nothing is to happen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_another_does_not() {
        let draw = |seed| {
            let mut chance = Chance::new(seed);
            (0..5).map(|_| chance.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn an_agenda_keeps_the_order_of_equal_times() {
        let now = Instant::now();
        let mut agenda = Agenda::default();
        agenda.at(now + Duration::from_secs(1), "c");
        agenda.at(now, "a");
        agenda.at(now, "b");
        assert_eq!(agenda.due(now), Some("a"));
        assert_eq!(agenda.due(now), Some("b"));
        assert_eq!(agenda.due(now), None);
        assert_eq!(agenda.len(), 1);
    }
}
