//! What a worker tells of itself. It alone writes; anyone reads.

use bng_dataplane::PuntClass;
use bng_sync::Counter;

/// Buckets of the burst histogram.
pub const BURST_BUCKETS: usize = 6;

/// One worker's account of its time and of what passed to and from control.
#[derive(Debug)]
#[repr(align(128))]
pub struct WorkerStatus {
    /// Turns of the loop: each polls every receive queue once and the inject ring.
    pub turns: Counter,
    /// Turns that found nothing to do.
    pub turns_empty: Counter,
    /// Time stamp counter ticks spent in turns that had work.
    pub busy_cycles: Counter,
    /// Time stamp counter ticks spent in turns that found nothing.
    pub idle_cycles: Counter,
    /// Time stamp counter ticks spent asleep.
    pub sleep_cycles: Counter,
    /// Times it went to sleep.
    pub sleeps: Counter,
    /// 1 while it is asleep, otherwise 0.
    pub sleeping: Counter,
    /// 1 from the first turn to the last, otherwise 0.
    pub running: Counter,
    /// Bursts received, by their number of frames: 1, 2-3, 4-7, 8-15, 16-31, 32.
    pub bursts: [Counter; BURST_BUCKETS],
    /// Frames taken from the inject ring.
    pub injected: Counter,
    /// Frames given to control, by class.
    pub punted: [Counter; PuntClass::COUNT],
    /// Frames lost because the ring to control was full, by class. Also counted as `punt_full`.
    pub punt_full: [Counter; PuntClass::COUNT],
    /// Frames in several segments that were joined.
    pub linearised: Counter,
    /// Frames received and handed to another worker.
    pub steered: Counter,
    /// Frames taken from the rings of other workers.
    pub from_peers: Counter,
}

impl Default for WorkerStatus {
    fn default() -> Self {
        Self {
            turns: Counter::new(),
            turns_empty: Counter::new(),
            busy_cycles: Counter::new(),
            idle_cycles: Counter::new(),
            sleep_cycles: Counter::new(),
            sleeps: Counter::new(),
            sleeping: Counter::new(),
            running: Counter::new(),
            bursts: Default::default(),
            injected: Counter::new(),
            punted: Default::default(),
            punt_full: Default::default(),
            linearised: Counter::new(),
            steered: Counter::new(),
            from_peers: Counter::new(),
        }
    }
}

impl WorkerStatus {
    /// The smallest number of frames that falls into each bucket of [`WorkerStatus::bursts`].
    pub const BURST_FLOORS: [u32; BURST_BUCKETS] = [1, 2, 4, 8, 16, 32];

    /// Counts a burst of `frames`, 1 or more.
    #[inline]
    pub(crate) fn burst(&self, frames: usize) {
        let bucket = (frames.max(1).ilog2() as usize).min(BURST_BUCKETS - 1);
        if let Some(counter) = self.bursts.get(bucket) {
            counter.add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_fall_into_the_bucket_of_their_floor() {
        let status = WorkerStatus::default();
        for frames in 1..=32 {
            status.burst(frames);
        }
        let counts: Vec<u64> = status.bursts.iter().map(Counter::get).collect();
        assert_eq!(counts, [1, 2, 4, 8, 16, 1]);
        for floor in WorkerStatus::BURST_FLOORS {
            status.burst(floor as usize);
        }
        assert!(status.bursts.iter().zip(counts).all(|(counter, before)| counter.get() == before + 1));
    }
}
