//! Identifiers of one server: 256 for each source port, and as many source ports as are needed, up to a limit.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// An Identifier on a source port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Which of the server's sockets.
    pub(crate) socket: u16,
    /// The Identifier.
    pub(crate) id: u8,
}

const FREE: u32 = u32::MAX;

/// Who holds which Identifier. One whose request was answered at once may be used again, the one free for longest
/// first; one that may still be answered late rests before, as long as other ones or other ports are left.
pub(crate) struct Identifiers {
    sockets_max: u16,
    rest: Duration,
    holders: Vec<[u32; 256]>,
    free: VecDeque<Slot>,
    resting: VecDeque<(Instant, Slot)>,
}

impl Identifiers {
    pub(crate) const fn new(sockets_max: u16, rest: Duration) -> Self {
        Self { sockets_max, rest, holders: Vec::new(), free: VecDeque::new(), resting: VecDeque::new() }
    }

    /// Gives an Identifier to a holder. `None`: all are held.
    pub(crate) fn take(&mut self, now: Instant, holder: u32) -> Option<Slot> {
        while self.resting.front().is_some_and(|(until, _)| *until <= now) {
            self.free.extend(self.resting.pop_front().map(|(_, slot)| slot));
        }
        if self.free.is_empty() && self.holders.len() < usize::from(self.sockets_max) {
            let socket = u16::try_from(self.holders.len()).ok()?;
            self.holders.push([FREE; 256]);
            self.free.extend((0..=u8::MAX).map(|id| Slot { socket, id }));
        }
        let slot = self.free.pop_front().or_else(|| self.resting.pop_front().map(|(_, slot)| slot))?;
        *self.place(slot)? = holder;
        Some(slot)
    }

    /// Gives one back; `clean`: answered after one transmission, so nothing can come late.
    pub(crate) fn give_back(&mut self, now: Instant, slot: Slot, clean: bool) {
        if let Some(place) = self.place(slot)
            && *place != FREE
        {
            *place = FREE;
            match now.checked_add(self.rest) {
                Some(until) if !clean => self.resting.push_back((until, slot)),
                _ => self.free.push_back(slot),
            }
        }
    }

    /// Who holds it.
    pub(crate) fn holder(&self, slot: Slot) -> Option<u32> {
        let holder = *self.holders.get(usize::from(slot.socket))?.get(usize::from(slot.id))?;
        (holder != FREE).then_some(holder)
    }

    /// How many sockets have been needed so far.
    pub(crate) fn sockets(&self) -> usize {
        self.holders.len()
    }

    fn place(&mut self, slot: Slot) -> Option<&mut u32> {
        self.holders.get_mut(usize::from(slot.socket))?.get_mut(usize::from(slot.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_is_held_once_and_more_ports_come_before_reuse() {
        let now = Instant::now();
        let mut identifiers = Identifiers::new(3, Duration::from_secs(10));
        let mut held = HashSet::new();
        for holder in 0..768 {
            let slot = identifiers.take(now, holder).unwrap();
            assert!(held.insert((slot.socket, slot.id)));
            assert_eq!(identifiers.holder(slot), Some(holder));
        }
        assert_eq!(identifiers.take(now, 9), None);
        assert_eq!(identifiers.sockets(), 3);
        let slot = Slot { socket: 1, id: 7 };
        identifiers.give_back(now, slot, false);
        identifiers.give_back(now, slot, false);
        assert_eq!(identifiers.holder(slot), None);
        assert_eq!(identifiers.take(now, 1), Some(slot), "resting, but the last one");
        assert_eq!(identifiers.take(now, 1), None);
    }

    #[test]
    fn what_may_be_answered_late_rests() {
        let now = Instant::now();
        let mut identifiers = Identifiers::new(2, Duration::from_secs(10));
        for _ in 0..256 {
            let slot = identifiers.take(now, 1).unwrap();
            identifiers.give_back(now, slot, false);
        }
        assert_eq!(identifiers.take(now, 1).unwrap().socket, 1);
        let later = now + Duration::from_secs(10);
        for _ in 0..255 {
            identifiers.take(later, 1).unwrap();
        }
        assert_eq!(identifiers.take(later, 1).unwrap(), Slot { socket: 0, id: 0 });
    }
}
