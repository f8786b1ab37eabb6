//! Where sessions are kept: places that never move, each with a count of the sessions it has seen.

use crate::action::SubscriberKey;

/// Places in one page. A new page is one allocation of bounded size, however many sessions there are.
const PAGE: usize = 64;

/// Pages of places. Memory grows by pages and is never given back: what was needed once is needed again after the next
/// power cut.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    pages: Vec<Box<[Slot<T>]>>,
    free: Vec<u32>,
    used: u32,
    len: u32,
    limit: u32,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

fn split(slot: u32) -> (usize, usize) {
    ((slot as usize) / PAGE, (slot as usize) % PAGE)
}

impl<T> Slab<T> {
    pub(crate) fn new(limit: u32) -> Self {
        Self { pages: Vec::new(), free: Vec::new(), used: 0, len: 0, limit }
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Puts a value in; it is made with the key it gets. `None` where all places are taken.
    pub(crate) fn insert(&mut self, make: impl FnOnce(SubscriberKey) -> T) -> Option<SubscriberKey> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.used < self.limit => {
                let slot = self.used;
                self.used = self.used.saturating_add(1);
                if split(slot).0 >= self.pages.len() {
                    self.pages.push((0..PAGE).map(|_| Slot { generation: 0, value: None }).collect());
                }
                slot
            }
            None => return None,
        };
        let (page, place) = split(slot);
        let place = self.pages.get_mut(page)?.get_mut(place)?;
        place.generation = place.generation.wrapping_add(1);
        let key = SubscriberKey { slot, generation: place.generation };
        place.value = Some(make(key));
        self.len = self.len.saturating_add(1);
        Some(key)
    }

    pub(crate) fn remove(&mut self, key: SubscriberKey) -> Option<T> {
        let (page, place) = split(key.slot);
        let place = self.pages.get_mut(page)?.get_mut(place)?;
        if place.generation != key.generation {
            return None;
        }
        let value = place.value.take()?;
        self.free.push(key.slot);
        self.len = self.len.saturating_sub(1);
        Some(value)
    }

    pub(crate) fn get(&self, key: SubscriberKey) -> Option<&T> {
        let (page, place) = split(key.slot);
        let place = self.pages.get(page)?.get(place)?;
        if place.generation == key.generation { place.value.as_ref() } else { None }
    }

    pub(crate) fn get_mut(&mut self, key: SubscriberKey) -> Option<&mut T> {
        let (page, place) = split(key.slot);
        let place = self.pages.get_mut(page)?.get_mut(place)?;
        if place.generation == key.generation { place.value.as_mut() } else { None }
    }

    /// Takes out what is at a place for a while, to be put back by [`Slab::put`]: what is being worked on is not in the
    /// slab, so that the rest of it may be looked at and changed meanwhile.
    pub(crate) fn take(&mut self, slot: u32) -> Option<T> {
        let (page, place) = split(slot);
        self.pages.get_mut(page)?.get_mut(place)?.value.take()
    }

    /// Puts back what [`Slab::take`] took.
    pub(crate) fn put(&mut self, slot: u32, value: T) {
        let (page, place) = split(slot);
        if let Some(slot) = self.pages.get_mut(page).and_then(|page| page.get_mut(place)) {
            slot.value = Some(value);
        }
    }

    /// What is at a place now, whichever session it is.
    pub(crate) fn at(&self, slot: u32) -> Option<&T> {
        let (page, place) = split(slot);
        self.pages.get(page)?.get(place)?.value.as_ref()
    }

    /// The same, to be changed.
    pub(crate) fn at_mut(&mut self, slot: u32) -> Option<&mut T> {
        let (page, place) = split(slot);
        self.pages.get_mut(page)?.get_mut(place)?.value.as_mut()
    }

    /// All values in the order of their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flat_map(|page| page.iter()).filter_map(|slot| slot.value.as_ref())
    }

    /// How many places were ever used: all values are below.
    pub(crate) fn used(&self) -> u32 {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_key_opens_nothing() {
        let mut slab = Slab::new(2);
        let a = slab.insert(|key| key.slot).unwrap();
        let b = slab.insert(|key| key.slot).unwrap();
        assert!(slab.insert(|_| 9).is_none(), "both places are taken");
        assert_eq!(slab.remove(a), Some(0));
        assert_eq!(slab.remove(a), None);
        let c = slab.insert(|_| 7).unwrap();
        assert_eq!(c.slot, a.slot);
        assert_eq!(slab.get(a), None);
        assert_eq!(slab.get(c), Some(&7));
        assert_eq!(slab.iter().copied().collect::<Vec<_>>(), [7, 1]);
        assert_eq!(slab.take(b.slot), Some(1));
        assert_eq!(slab.at(b.slot), None);
        slab.put(b.slot, 5);
        assert_eq!(slab.get(b), Some(&5));
        assert_eq!(slab.used(), 2);
        assert_eq!(slab.len(), 2);
    }
}
