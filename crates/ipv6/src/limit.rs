//! How many messages one client may have answered.

/// One message every so often on average, in milliseconds.
const INTERVAL_MS: u64 = 200;
/// This many at once.
const BURST: u64 = 20;

/// A bucket in the form of one number: when it will be full again.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limit {
    full_at: u64,
}

impl Limit {
    /// Takes one message; false: it is one too many.
    pub(crate) fn take(&mut self, now: u64) -> bool {
        let full_at = self.full_at.max(now).saturating_add(INTERVAL_MS);
        let fits = full_at <= now.saturating_add(INTERVAL_MS.saturating_mul(BURST));
        if fits {
            self.full_at = full_at;
        }
        fits
    }
}

/// Pseudo-random numbers for jitter, from a seed: SplitMix64.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Jitter(pub(crate) u64);

impl Jitter {
    /// The next number.
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `min` to `max`, `min` where that is greater.
    pub(crate) fn between(&mut self, min: u64, max: u64) -> u64 {
        let span = max.saturating_sub(min).saturating_add(1);
        min.saturating_add(self.next().checked_rem(span).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_one_at_a_time() {
        let mut limit = Limit::default();
        assert_eq!((0..100).filter(|_| limit.take(5000)).count(), 20);
        assert!(!limit.take(5199));
        assert!(limit.take(5200));
        assert!(!limit.take(5200));
        assert_eq!((0..100).filter(|_| limit.take(60_000)).count(), 20);
    }

    #[test]
    fn jitter_stays_in_its_bounds() {
        let mut jitter = Jitter(1);
        assert!((0..1000).all(|_| (200..=600).contains(&jitter.between(200, 600))));
        assert_eq!(jitter.between(7, 3), 7);
        assert_ne!(Jitter(1).next(), Jitter(2).next());
    }
}
