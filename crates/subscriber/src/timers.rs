//! One queue of deadlines for all sessions: at most one deadline a session, moved in place.

use std::time::{Duration, Instant};

/// No place in the queue.
const NOWHERE: u32 = u32::MAX;
/// Children of a node. Four of them lie in one cache line, and the tree is half as deep as one of two.
const FAN: usize = 4;

/// A heap of (deadline, slot) that knows where each slot stands in it. Setting, moving and taking out a deadline each
/// cost O(log n) and no stale entry ever stays behind; the nearest deadline is at hand. 16 octets a deadline and 4 a
/// slot.
#[derive(Debug)]
pub(crate) struct Timers {
    base: Instant,
    heap: Vec<Entry>,
    place: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Microseconds since `base`, rounded up, so that a timer never comes early.
    at_us: u64,
    slot: u32,
}

impl Timers {
    pub(crate) fn new(base: Instant) -> Self {
        Self { base, heap: Vec::new(), place: Vec::new() }
    }

    /// How many deadlines there are.
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    /// The nearest deadline.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.first().and_then(|entry| self.base.checked_add(Duration::from_micros(entry.at_us)))
    }

    /// The slot whose deadline is nearest, if that has come.
    pub(crate) fn due(&self, now: Instant) -> Option<u32> {
        let now_us = u64::try_from(now.saturating_duration_since(self.base).as_micros()).unwrap_or(u64::MAX);
        self.heap.first().filter(|entry| entry.at_us <= now_us).map(|entry| entry.slot)
    }

    /// Sets, moves (`Some`) or takes out (`None`) the deadline of a slot.
    pub(crate) fn set(&mut self, slot: u32, deadline: Option<Instant>) {
        let Some(deadline) = deadline else {
            self.remove(slot);
            return;
        };
        let nanos = deadline.saturating_duration_since(self.base).as_nanos();
        let at_us = u64::try_from(nanos.div_ceil(1000)).unwrap_or(u64::MAX);
        let index = slot as usize;
        if index >= self.place.len() {
            self.place.resize(index.saturating_add(1), NOWHERE);
        }
        let place = self.place.get(index).copied().unwrap_or(NOWHERE);
        if place == NOWHERE {
            self.heap.push(Entry { at_us, slot });
            self.note(self.heap.len().saturating_sub(1));
            self.up(self.heap.len().saturating_sub(1));
        } else if let Some(entry) = self.heap.get_mut(place as usize) {
            if entry.at_us == at_us {
                return;
            }
            let earlier = at_us < entry.at_us;
            entry.at_us = at_us;
            if earlier { self.up(place as usize) } else { self.down(place as usize) }
        }
    }

    fn remove(&mut self, slot: u32) {
        let Some(place) = self.place.get_mut(slot as usize) else { return };
        let at = core::mem::replace(place, NOWHERE);
        if at == NOWHERE {
            return;
        }
        let at = at as usize;
        self.heap.swap_remove(at);
        if at < self.heap.len() {
            // The last entry has come to stand here: it may belong higher or lower.
            self.note(at);
            self.up(at);
            self.down(at);
        }
    }

    /// Writes down where the entry at `at` stands.
    fn note(&mut self, at: usize) {
        if let Some(entry) = self.heap.get(at)
            && let Some(place) = self.place.get_mut(entry.slot as usize)
        {
            // The heap is no longer than there are slots, and these are counted in 32 bits.
            *place = u32::try_from(at).unwrap_or(NOWHERE);
        }
    }

    fn before(&self, a: usize, b: usize) -> bool {
        match (self.heap.get(a), self.heap.get(b)) {
            // Equal deadlines go by slot, so that a run can be repeated exactly.
            (Some(a), Some(b)) => (a.at_us, a.slot) < (b.at_us, b.slot),
            _ => false,
        }
    }

    fn up(&mut self, mut at: usize) {
        while at > 0 {
            let parent = at.saturating_sub(1) / FAN;
            if !self.before(at, parent) {
                break;
            }
            self.heap.swap(at, parent);
            self.note(at);
            self.note(parent);
            at = parent;
        }
    }

    fn down(&mut self, mut at: usize) {
        loop {
            let first = at.saturating_mul(FAN).saturating_add(1);
            let mut least = at;
            for child in first..first.saturating_add(FAN) {
                if self.before(child, least) {
                    least = child;
                }
            }
            if least == at {
                break;
            }
            self.heap.swap(at, least);
            self.note(at);
            self.note(least);
            at = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn comes_out_in_the_order_of_the_deadlines(steps in proptest::collection::vec((0u32..64, proptest::option::of(0u64..1000)), 0..300)) {
            let base = Instant::now();
            let mut timers = Timers::new(base);
            let mut model = BTreeMap::new();
            for (slot, deadline) in steps {
                timers.set(slot, deadline.map(|ms| base + Duration::from_millis(ms)));
                match deadline {
                    Some(ms) => { model.insert(slot, ms); }
                    None => { model.remove(&slot); }
                }
                prop_assert_eq!(timers.len(), model.len());
                let nearest = model.values().min().map(|ms| base + Duration::from_millis(*ms));
                prop_assert_eq!(timers.next(), nearest);
            }
            let late = base + Duration::from_secs(10);
            let mut order = Vec::new();
            while let Some(slot) = timers.due(late) {
                order.push(slot);
                timers.set(slot, None);
            }
            let mut expected: Vec<_> = model.iter().map(|(slot, ms)| (*ms, *slot)).collect();
            expected.sort_unstable();
            prop_assert_eq!(order, expected.into_iter().map(|(_, slot)| slot).collect::<Vec<_>>());
        }
    }

    #[test]
    fn is_not_due_a_microsecond_early() {
        let base = Instant::now();
        let mut timers = Timers::new(base);
        timers.set(3, Some(base + Duration::from_nanos(1_500)));
        assert_eq!(timers.due(base + Duration::from_nanos(1_499)), None);
        assert_eq!(timers.due(base + Duration::from_micros(2)), Some(3));
    }
}
