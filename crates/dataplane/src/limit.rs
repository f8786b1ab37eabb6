//! Limits on what a worker does besides forwarding, where no session's own counters hold them.
//!
//! A limit that all share is taken by whoever floods most. So each of these gives a key (a line, a source, a target) a
//! part and leaves the others theirs. The tables are small: keys that fall into one cell share its part, for a second
//! (of 1,024 ms), and are mixed anew in the next, by a seed that nobody outside knows.

use crate::answer;
use crate::pipeline::PipelineConfig;

/// How many keys a table tells apart: as many as an octet.
const CELLS: usize = 256;

/// Counts by key in the current second.
#[derive(Debug)]
struct Cells {
    seed: u64,
    second: u64,
    counts: [u16; CELLS],
}

impl Cells {
    const fn new(seed: u64) -> Self {
        Self { seed, second: 0, counts: [0; CELLS] }
    }

    /// Begins a new second, where it is one; true then.
    fn turn(&mut self, now_ms: u64) -> bool {
        let second = now_ms >> 10;
        let new = second != self.second;
        if new {
            (self.second, self.counts) = (second, [0; CELLS]);
        }
        new
    }

    /// Counts one more for `key` where there are fewer than `max` in its cell.
    fn admit(&mut self, key: u64, max: u32) -> bool {
        let cell = (mix(mix(self.seed, self.second), key) >> 56) as u8;
        let Some(count) = self.counts.get_mut(usize::from(cell)) else { return false };
        let admitted = u32::from(*count) < max;
        if admitted {
            *count = count.saturating_add(1);
        }
        admitted
    }
}

/// Both halves of a 128-bit product, folded and spread: every bit of either has its say in the uppermost octet.
const fn mix(seed: u64, word: u64) -> u64 {
    let product = ((seed ^ word) as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ (seed as u128) << 1 | 1);
    ((product as u64) ^ (product >> 64) as u64).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// So many events each second, and of them to one key never more than are left to the others: one that floods gets half,
/// and `n` that flood leave the part of one more.
#[derive(Debug)]
pub(crate) struct Shares {
    per_second: u32,
    left: u32,
    cells: Cells,
}

impl Shares {
    pub(crate) const fn new(per_second: u32, seed: u64) -> Self {
        Self { per_second, left: per_second, cells: Cells::new(seed) }
    }

    /// True where an event for `key` at `now_ms` is within the limit; it is counted then.
    pub(crate) fn admit(&mut self, key: u64, now_ms: u64) -> bool {
        if self.cells.turn(now_ms) {
            self.left = self.per_second;
        }
        // A cell counts as far as 16 bits go.
        let admitted = self.cells.admit(key, self.left.min(u16::MAX.into()));
        if admitted {
            self.left = self.left.saturating_sub(1);
        }
        admitted
    }
}

/// So many events for each key, each second.
#[derive(Debug)]
pub(crate) struct Each {
    max: u32,
    cells: Cells,
}

impl Each {
    pub(crate) const fn new(max: u16, seed: u64) -> Self {
        Self { max: max as u32, cells: Cells::new(seed) }
    }

    /// True where an event for `key` at `now_ms` is within the limit; it is counted then.
    pub(crate) fn admit(&mut self, key: u64, now_ms: u64) -> bool {
        self.cells.turn(now_ms);
        self.cells.admit(key, self.max)
    }
}

/// The limits of one worker.
#[derive(Debug)]
pub(crate) struct Limits {
    /// Frames of unknown sessions, by line.
    pub(crate) unknown_by_line: Shares,
    /// The same, by client.
    pub(crate) unknown_by_mac: Each,
    /// ICMP errors about packets without a session, by the network that they go to.
    pub(crate) errors: Shares,
    /// The same, of those that say which length fits.
    pub(crate) too_big: Shares,
    /// Packets that wait for a neighbour, by who sent them.
    pub(crate) held_by_source: Shares,
    /// The same, by who is waited for.
    pub(crate) held_by_target: Each,
}

impl Limits {
    pub(crate) const fn new(config: &PipelineConfig) -> Self {
        let errors = config.errors_per_second_max;
        Self {
            unknown_by_line: Shares::new(config.unknown_sessions_per_second_max, config.seed),
            unknown_by_mac: Each::new(answer::UNKNOWN_PER_MAC_MAX, config.seed),
            errors: Shares::new(errors, config.seed),
            too_big: Shares::new(errors, config.seed),
            held_by_source: Shares::new(config.held_per_second_max, config.seed),
            held_by_target: Each::new(answer::HELD_PER_TARGET_MAX, config.seed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: u64 = 0x0123_4567_89ab_cdef;

    fn given(shares: &mut Shares, key: u64, now_ms: u64, tries: u32) -> usize {
        (0..tries).filter(|_| shares.admit(key, now_ms)).count()
    }

    #[test]
    fn one_that_floods_leaves_half() {
        let mut shares = Shares::new(100, SEED);
        assert_eq!(given(&mut shares, 1, 5_000, 10_000), 50);
        assert_eq!(given(&mut shares, 2, 5_000, 10_000), 25);
        assert_eq!(given(&mut shares, 3, 5_000, 1), 1);
        // The next second; one within it gets nothing anew.
        assert_eq!(given(&mut shares, 1, 6_000, 10_000), 50);
        assert_eq!(given(&mut shares, 1, 6_100, 10_000), 0);
        assert_eq!(given(&mut Shares::new(0, SEED), 1, 7_000, 10), 0);
        assert_eq!(given(&mut Shares::new(u32::MAX, SEED), 1, 7_000, 70_000), 65_535);
    }

    #[test]
    fn ten_that_flood_at_once_leave_as_much_as_each_of_them_has() {
        let mut shares = Shares::new(1000, SEED);
        for _ in 0..10_000 {
            for key in 0..10 {
                let _ = shares.admit(key, 5_000);
            }
        }
        assert!(shares.left >= 90, "{}", shares.left);
    }

    #[test]
    fn keys_that_meet_in_a_cell_do_not_meet_for_long() {
        // Keys as alike as VLANs are.
        let mut cells = Cells::new(SEED);
        let apart = (0..64u64).filter(|key| cells.admit(key << 16, 1)).count();
        assert!(apart > 50, "{apart} of 64 keys");
        let mut met = 0;
        for second in 0..1000u64 {
            let mut each = Each::new(2, SEED);
            let now_ms = second << 10;
            assert_eq!((0..5).filter(|_| each.admit(7, now_ms)).count(), 2);
            met += usize::from(!each.admit(8, now_ms));
        }
        // One in 256.
        assert!(met < 20, "{met} of 1000 seconds");
    }
}
