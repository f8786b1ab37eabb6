//! A token bucket on the worker's own clock.

/// Lets `per_second` events through each second, and as many at once after a second's rest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limiter {
    per_second: u64,
    /// Thousandths of an event.
    credit: u64,
    last_ms: u64,
}

impl Limiter {
    pub(crate) const fn new(per_second: u32) -> Self {
        let per_second = per_second as u64;
        Self { per_second, credit: per_second.saturating_mul(1000), last_ms: 0 }
    }

    /// True where an event at `now_ms` is within the limit; it is counted then.
    pub(crate) const fn admit(&mut self, now_ms: u64) -> bool {
        let passed = now_ms.saturating_sub(self.last_ms);
        self.last_ms = now_ms;
        let full = self.per_second.saturating_mul(1000);
        let credit = self.credit.saturating_add(passed.saturating_mul(self.per_second));
        self.credit = if credit > full { full } else { credit };
        match self.credit.checked_sub(1000) {
            Some(rest) => {
                self.credit = rest;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_holds_over_time_and_at_once() {
        let mut limiter = Limiter::new(10);
        let admitted = |limiter: &mut Limiter, from: u64, to: u64| (from..to).filter(|ms| limiter.admit(*ms)).count();
        assert_eq!(admitted(&mut limiter, 5_000, 5_050), 10);
        assert_eq!(admitted(&mut limiter, 5_050, 15_050), 100);
        assert_eq!((0..50).filter(|_| limiter.admit(1_000_000)).count(), 10);
        // A clock that stands or goes back gives nothing.
        assert!(!limiter.admit(0));
        assert!(!Limiter::new(0).admit(9_999_999));
    }
}
