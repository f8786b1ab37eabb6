//! One-rate policers: one for each session and direction, shared by all workers.
//!
//! The bucket is one word, the time at which it would have been empty: what has passed since then, at the rate, is in
//! it. A worker draws coarse credit from it, a millisecond's worth, and spends that by itself, so that no locked
//! instruction is due for each packet. Credit drawn more than [`CREDIT_IDLE_MS`] ago goes back before more is drawn.
//! All that is ever let through is drawn from the bucket, so that the bound of a token bucket holds exactly; what
//! workers hold unspent is at most half a burst.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use zerocopy::FromZeros;

/// Credit is good for so long.
pub const CREDIT_IDLE_MS: u32 = 2;
/// The longest packet that a burst must let through, in octets.
const PACKET_LEN_MAX: u64 = 1518;
/// Units of the bucket's time in a millisecond: a 64th of a nanosecond each.
const UNITS_PER_MS: u64 = 64_000_000;
/// How often a draw is tried again where another worker was quicker.
const DRAWS_MAX: usize = 8;

const RELAXED: Ordering = Ordering::Relaxed;

/// A limit as the control side describes it. Inner IP octets are what counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Bits per second, at least 1,000.
    pub bits_per_second: u64,
    /// How many octets may come at once after a rest. Raised to what arrives in two milliseconds at the rate, and to
    /// two packets of 1,518 octets, where it is less: below, the rate could not be reached.
    pub burst_octets: u32,
}

impl Rate {
    /// The burst in force, in octets.
    #[must_use]
    pub fn burst(self) -> u64 {
        // Bits per second over 8 and over 500.
        let two_ms = self.bits_per_second / 4000;
        u64::from(self.burst_octets).max(two_ms).max(PACKET_LEN_MAX.saturating_mul(2))
    }
}

/// The directions of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client.
    Up,
    /// To the client.
    Down,
}

/// The bucket of one direction. All workers draw from it; control sets the rest.
#[derive(Debug, Default, FromZeros)]
#[repr(C)]
struct Bucket {
    /// When the bucket would have been empty, in units of time; 0 for long ago.
    empty_at: AtomicU64,
    /// The time of 1,024 octets, in units.
    kib_time: AtomicU64,
    /// The time of a burst, in units.
    burst_time: AtomicU64,
    /// Octets drawn at a time.
    chunk: AtomicU32,
    workers: AtomicU32,
}

/// What one worker holds of one bucket.
#[derive(Debug, Default, FromZeros)]
#[repr(C)]
struct Credit {
    octets: AtomicU32,
    /// When it was drawn, by the worker's clock.
    drawn_ms: AtomicU32,
}

/// The buckets of one session.
#[derive(Debug, Default, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Buckets([Bucket; 2]);

/// What one worker holds of one session's buckets.
#[derive(Debug, Default, FromZeros)]
#[repr(C)]
pub(crate) struct Credits([Credit; 2]);

impl Buckets {
    /// Sets the limits; a bucket keeps what is in it unless `fresh`.
    pub(crate) fn set(&self, rates: [Option<Rate>; 2], workers: usize, fresh: bool) {
        for (bucket, rate) in self.0.iter().zip(rates) {
            if let Some(rate) = rate {
                bucket.set(rate, workers);
            }
            if fresh {
                bucket.empty_at.store(0, RELAXED);
            }
        }
    }

    #[inline]
    pub(crate) fn take(&self, credits: &Credits, direction: Direction, octets: u16, now_ms: u64) -> bool {
        let ([up, down], [up_credit, down_credit]) = (&self.0, &credits.0);
        let (bucket, credit) = match direction {
            Direction::Up => (up, up_credit),
            Direction::Down => (down, down_credit),
        };
        let octets = u32::from(octets);
        let age_ms = (now_ms as u32).wrapping_sub(credit.drawn_ms.load(RELAXED));
        match credit.octets.load(RELAXED).checked_sub(octets) {
            Some(rest) if age_ms <= CREDIT_IDLE_MS => {
                credit.octets.store(rest, RELAXED);
                true
            }
            _ => bucket.draw(credit, octets, age_ms, now_ms),
        }
    }
}

impl Credits {
    /// Forgets what is held, for the entry's next session.
    pub(crate) fn reset(&self) {
        for credit in &self.0 {
            // Memory that was never written stays untouched.
            if credit.octets.load(RELAXED) != 0 {
                credit.octets.store(0, RELAXED);
            }
        }
    }
}

impl Bucket {
    fn set(&self, rate: Rate, workers: usize) {
        let workers = workers.clamp(1, 1024) as u64;
        let bits = rate.bits_per_second.max(1000);
        let burst = rate.burst();
        // 8 bits an octet, 1,024 octets, and as many units in a second.
        let kib_time = UNITS_PER_MS.saturating_mul(1000 * 8 * 1024).checked_div(bits).unwrap_or(1);
        let kib_time = kib_time.max(1);
        let burst_time = u128::from(burst).saturating_mul(kib_time.into()) >> 10;
        let chunk = (bits / 8000).min(burst.checked_div(workers.saturating_mul(2)).unwrap_or(0)).max(PACKET_LEN_MAX);
        self.kib_time.store(kib_time, RELAXED);
        self.burst_time.store(u64::try_from(burst_time).unwrap_or(u64::MAX).min(u64::MAX / 8), RELAXED);
        self.chunk.store(u32::try_from(chunk).unwrap_or(u32::MAX), RELAXED);
        self.workers.store(workers as u32, RELAXED);
    }

    /// Gives old credit back, draws anew and spends `octets` of it. False, and nothing changed, where the bucket has
    /// too little.
    #[inline(never)]
    fn draw(&self, credit: &Credit, octets: u32, age_ms: u32, now_ms: u64) -> bool {
        let kib_time = self.kib_time.load(RELAXED);
        let burst = self.burst_time.load(RELAXED) as i64;
        let chunk = self.chunk.load(RELAXED);
        let workers = u64::from(self.workers.load(RELAXED));
        let time = |octets: u32| (u64::from(octets).saturating_mul(kib_time) >> 10) as i64;
        // The clock may start anywhere: differences alone mean something, and wrap rightly.
        let now = now_ms.wrapping_mul(UNITS_PER_MS);
        let held = time(credit.octets.load(RELAXED));
        // The last quarter of the bucket is for workers that use less than their part: one that draws all the time
        // comes first after each tick of the clock, and would leave nothing to a small flow on another.
        let age = u64::from(age_ms).saturating_mul(UNITS_PER_MS);
        let light = age > workers.saturating_mul(2).saturating_mul(time(chunk) as u64);
        let spare = burst / 4;
        let reserve = if workers < 2 || light || spare < time(PACKET_LEN_MAX as u32) { 0 } else { spare };
        let wish = chunk.max(octets);
        for _ in 0..DRAWS_MAX {
            let empty_at = self.empty_at.load(RELAXED);
            let filled = if empty_at == 0 { burst } else { now.wrapping_sub(empty_at) as i64 };
            let level = filled.min(burst).saturating_add(held).min(burst);
            let room = level.saturating_sub(reserve);
            let drawn = if time(wish) <= room {
                wish
            } else if time(octets) <= room {
                octets
            } else {
                return false;
            };
            let left = level.saturating_sub(time(drawn));
            let next = now.wrapping_sub(left as u64).max(1);
            // Relaxed: the word stands for itself, nothing is read on its account.
            if self.empty_at.compare_exchange(empty_at, next, RELAXED, RELAXED).is_ok() {
                credit.octets.store(drawn.saturating_sub(octets), RELAXED);
                credit.drawn_ms.store(now_ms as u32, RELAXED);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bed {
        buckets: Buckets,
        credits: Vec<Credits>,
    }

    impl Bed {
        fn new(rate: Rate, workers: usize) -> Self {
            let buckets = Buckets::default();
            buckets.set([Some(rate), None], workers, true);
            Self { buckets, credits: (0..workers).map(|_| Credits::default()).collect() }
        }

        fn take(&self, worker: usize, octets: u16, now_ms: u64) -> bool {
            self.buckets.take(&self.credits[worker], Direction::Up, octets, now_ms)
        }
    }

    /// Offers `share` times the rate to each worker for so long, evenly; the octets that each had let through. Workers
    /// take turns in an order that changes.
    fn offer(bed: &Bed, rate: Rate, shares: &[f64], octets: u16, seconds: f64) -> Vec<u64> {
        // The clock starts at an instant that wraps within the run.
        let start_ms = u64::from(u32::MAX) - 5;
        let mut passed = vec![0; shares.len()];
        let gaps: Vec<f64> =
            shares.iter().map(|share| f64::from(octets) * 8.0 / (rate.bits_per_second as f64 * share)).collect();
        let mut due: Vec<f64> = gaps.iter().enumerate().map(|(n, gap)| gap * 0.37 * n as f64).collect();
        loop {
            let (worker, at) = due.iter().copied().enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).expect("workers");
            if at > seconds {
                return passed;
            }
            due[worker] += gaps[worker];
            if bed.take(worker, octets, start_ms + (at * 1000.0) as u64) {
                passed[worker] += u64::from(octets);
            }
        }
    }

    #[test]
    fn the_rate_is_held_within_two_percent_and_a_burst() {
        for bits_per_second in [64_000, 1_000_000, 50_000_000, 1_000_000_000, 10_000_000_000] {
            for (workers, octets) in [(1, 1492), (2, 1492), (2, 64), (1, 576)] {
                for load in [0.5, 2.0] {
                    let rate = Rate { bits_per_second, burst_octets: 20_000 };
                    let bed = Bed::new(rate, workers);
                    // The longer of 10 s and 1,000 packets, but no more than some million packets.
                    let packet_seconds = f64::from(octets) * 8.0 / bits_per_second as f64;
                    let seconds = (packet_seconds * 1000.0).max(10.0).min((packet_seconds * 400_000.0).max(0.5));
                    let share = vec![load / workers as f64; workers];
                    let passed: u64 = offer(&bed, rate, &share, octets, seconds).iter().sum();
                    let right = bits_per_second as f64 / 8.0 * seconds * load.min(1.0);
                    let burst = rate.burst() as f64;
                    let case = format!("{bits_per_second} bit/s, {workers} workers, {octets} octets, load {load}");
                    assert!((passed as f64) < right * 1.02 + burst, "{case}: {passed} of {right}");
                    assert!((passed as f64) > right * 0.98 - burst, "{case}: {passed} of {right}");
                }
            }
        }
    }

    #[test]
    fn a_small_flow_on_another_worker_is_not_starved() {
        for bits_per_second in [1_000_000, 100_000_000, 1_000_000_000] {
            let rate = Rate { bits_per_second, burst_octets: 30_000 };
            let bed = Bed::new(rate, 2);
            let passed = offer(&bed, rate, &[5.0, 0.02], 1000, 4.0);
            let offered = bits_per_second as f64 / 8.0 * 4.0 * 0.02;
            assert!(passed[1] as f64 > offered * 0.8, "{bits_per_second}: {} of {offered}", passed[1]);
            let all = (passed[0] + passed[1]) as f64;
            assert!(all > bits_per_second as f64 / 8.0 * 4.0 * 0.98 - 30_000.0, "{bits_per_second}: {all}");
        }
    }

    #[test]
    fn a_rest_is_worth_one_burst_and_no_more() {
        let rate = Rate { bits_per_second: 8_000_000, burst_octets: 30_000 };
        let bed = Bed::new(rate, 1);
        let at_once = |now_ms| (0..1000).filter(|_| bed.take(0, 1000, now_ms)).count();
        assert_eq!(at_once(5), 30);
        // 10 ms at 1,000 octets each; what was drawn and not spent counts again.
        assert_eq!(at_once(15), 10);
        assert_eq!(at_once(15), 0);
        assert_eq!(at_once(1_000_000), 30);
    }

    #[test]
    fn two_workers_at_once_share_one_burst() {
        let rate = Rate { bits_per_second: 8_000_000, burst_octets: 30_000 };
        let bed = Bed::new(rate, 2);
        let passed: usize = std::thread::scope(|scope| {
            let take = |worker| (0..100_000).filter(|_| bed.take(worker, 100, 7)).count();
            let threads = [0, 1].map(|worker| scope.spawn(move || take(worker)));
            threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
        });
        assert!((200..=300).contains(&passed), "{passed}");
    }
}
