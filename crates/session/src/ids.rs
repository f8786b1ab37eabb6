//! Which session id comes next: pure bookkeeping of the control side.
//!
//! Ids are unique in a *space*, one (access port, outer VID), and come from a window that is at least
//! [`WINDOW_FACTOR`] times as wide as the space has live sessions, so that a released id rests long before it is used
//! again: at least [`REUSE_AFTER`]. A frame still on its way from the old client of an id must not meet its next one.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bng_wire::{PortIndex, SessionId};
use hashbrown::HashMap;

/// How long a released id rests at least.
pub const REUSE_AFTER: Duration = Duration::from_secs(60);
/// How many times wider than its live sessions a space's window is at least.
pub const WINDOW_FACTOR: u32 = 4;
/// The narrowest window.
pub const WINDOW_MIN: u32 = 1024;
/// Ids of a space: 1 to 65,534 (RFC 2516 section 4: 0 is discovery's, 0xffff is reserved).
pub const IDS_PER_SPACE: u32 = 65_534;

/// The session ids of all spaces.
#[derive(Debug, Default)]
pub struct IdSpaces {
    spaces: HashMap<(PortIndex, u16), Space>,
}

/// One space's ids. `fresh` have never been used; the others are live or rest in the order of their release.
#[derive(Debug, Default)]
struct Space {
    live: u32,
    /// Ids 1 to `touched` have been given out at least once.
    touched: u16,
    resting: VecDeque<(SessionId, Instant)>,
    /// One bit for each id from 0 on, set while it is live.
    live_bits: Vec<u64>,
}

impl Space {
    fn allocate(&mut self, now: Instant) -> Option<SessionId> {
        let rested =
            self.resting.front().is_some_and(|(_, since)| now.saturating_duration_since(*since) >= REUSE_AFTER);
        let window = self.live.saturating_add(1).saturating_mul(WINDOW_FACTOR).clamp(WINDOW_MIN, IDS_PER_SPACE);
        let touched = u32::from(self.touched);
        // Within the window an unused id is better than a rested one; beyond it, only where none has rested.
        let id = if touched < window || (!rested && touched < IDS_PER_SPACE) {
            self.touched = self.touched.saturating_add(1);
            SessionId(self.touched)
        } else if rested {
            self.resting.pop_front()?.0
        } else {
            return None;
        };
        self.live = self.live.saturating_add(1);
        self.mark(id, true);
        Some(id)
    }

    fn release(&mut self, now: Instant, id: SessionId) -> bool {
        if !self.is_live(id) {
            return false;
        }
        self.mark(id, false);
        self.live = self.live.saturating_sub(1);
        self.resting.push_back((id, now));
        true
    }

    fn is_live(&self, id: SessionId) -> bool {
        self.live_bits.get(usize::from(id.0 >> 6)).is_some_and(|word| word & (1u64 << (id.0 & 63)) != 0)
    }

    fn mark(&mut self, id: SessionId, live: bool) {
        let word = usize::from(id.0 >> 6);
        if word >= self.live_bits.len() {
            self.live_bits.resize(word.saturating_add(1), 0);
        }
        if let Some(bits) = self.live_bits.get_mut(word) {
            let bit = 1u64 << (id.0 & 63);
            *bits = if live { *bits | bit } else { *bits & !bit };
        }
    }
}

impl IdSpaces {
    /// No space yet; each comes into being with its first id.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A session id for a client on (`port`, `outer_vid`). `None` when the space's ids are all live or resting.
    pub fn allocate(&mut self, now: Instant, port: PortIndex, outer_vid: u16) -> Option<SessionId> {
        self.spaces.entry((port, outer_vid)).or_default().allocate(now)
    }

    /// Gives an id back; it rests from `now` on. False for an id that is not live.
    pub fn release(&mut self, now: Instant, port: PortIndex, outer_vid: u16, id: SessionId) -> bool {
        self.spaces.get_mut(&(port, outer_vid)).is_some_and(|space| space.release(now, id))
    }

    /// Live ids of a space.
    #[must_use]
    pub fn live(&self, port: PortIndex, outer_vid: u16) -> u32 {
        self.spaces.get(&(port, outer_vid)).map_or(0, |space| space.live)
    }
}
