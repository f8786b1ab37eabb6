//! What the control core counts. Written by its thread alone, read by whoever renders metrics.

use bng_dataplane::PuntClass;
use bng_sync::Counter;

/// Counters of the control core.
#[derive(Debug, Default)]
pub struct ControlCounters {
    /// Frames taken from the punt rings, by [`PuntClass`].
    pub punted: [Counter; PuntClass::COUNT],
    /// Frames given to the workers for transmission.
    pub injected: Counter,
    /// Frames that found their inject ring full.
    pub inject_full: Counter,
    /// Frames handed to the kernel's twins.
    pub host_in: Counter,
    /// Frames that the kernel sent by its twins.
    pub host_out: Counter,
    /// Frames that a twin refused, or that belong to no interface.
    pub host_refused: Counter,
    /// Frames held for a neighbour.
    pub held: Counter,
    /// Frames held that were dropped: the neighbour did not answer, or too many waited.
    pub held_dropped: Counter,
    /// Turns of the loop.
    pub turns: Counter,
    /// Nanoseconds spent in turns that found something to do.
    pub busy_nanoseconds: Counter,
}

impl ControlCounters {
    /// The counter of frames punted in `class`.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "a class's number is below COUNT by its declaration")]
    pub fn punted(&self, class: PuntClass) -> &Counter {
        &self.punted[class as usize]
    }
}
