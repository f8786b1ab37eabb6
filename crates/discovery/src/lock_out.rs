//! Lines that fail again and again must wait, longer each time: a client with a wrong password, or one whose session
//! flaps, must not keep the box and the RADIUS servers busy.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use bng_wire::LineKey;

use crate::config::{LockOutBy, LockOutPolicy};

/// How many failing lines are remembered; further ones are not locked out until others are forgotten.
pub const LOCK_OUT_LINES_MAX: usize = 65_536;
/// How often a full table is searched for entries to forget.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// What is remembered of a line.
#[derive(Debug, Clone, Copy)]
struct Record {
    /// Failures since the last lock-out, within the policy's window.
    failures: u16,
    /// Lock-outs so far; each doubles the next one's time.
    lock_outs: u16,
    /// The last failure or the end of the lock-out, whichever is later.
    last: Instant,
    /// Until when it must wait.
    until: Option<Instant>,
}

/// The failing lines.
#[derive(Default)]
pub(crate) struct LockOut {
    records: HashMap<u64, Record>,
    swept: Option<Instant>,
}

impl LockOut {
    /// True while a line must wait.
    pub(crate) fn is_locked(&self, now: Instant, line: &LineKey, circuit_id: Option<&[u8]>, by: LockOutBy) -> bool {
        if self.records.is_empty() {
            return false;
        }
        let record = self.records.get(&self.key(line, circuit_id, by));
        record.and_then(|record| record.until).is_some_and(|until| now < until)
    }

    /// Remembers a failure. The time the line must now wait, if it must.
    pub(crate) fn failed(
        &mut self,
        now: Instant,
        line: &LineKey,
        circuit_id: Option<&[u8]>,
        policy: &LockOutPolicy,
    ) -> Option<Duration> {
        let key = self.key(line, circuit_id, policy.by);
        if self.records.len() >= LOCK_OUT_LINES_MAX && !self.records.contains_key(&key) {
            self.sweep(now, policy);
            if self.records.len() >= LOCK_OUT_LINES_MAX {
                return None;
            }
        }
        let fresh = Record { failures: 0, lock_outs: 0, last: now, until: None };
        let record = self.records.entry(key).or_insert(fresh);
        if is_forgotten(record, now, policy) {
            *record = fresh;
        } else if now.saturating_duration_since(record.last) > policy.window {
            record.failures = 0;
        }
        record.failures = record.failures.saturating_add(1);
        record.last = record.last.max(now);
        if record.failures < policy.failures_max {
            return None;
        }
        let doublings = u32::from(record.lock_outs);
        let wait = 2u32.checked_pow(doublings).map_or(policy.wait_max, |factor| policy.wait.saturating_mul(factor));
        let wait = wait.min(policy.wait_max);
        record.failures = 0;
        record.lock_outs = record.lock_outs.saturating_add(1);
        record.until = now.checked_add(wait);
        record.last = record.until.unwrap_or(now);
        Some(wait)
    }

    /// Forgets a line that has shown itself good.
    pub(crate) fn succeeded(&mut self, line: &LineKey, circuit_id: Option<&[u8]>, by: LockOutBy) {
        if !self.records.is_empty() {
            let key = self.key(line, circuit_id, by);
            self.records.remove(&key);
        }
    }

    /// Lines remembered.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Forgets old records, at most once a second.
    fn sweep(&mut self, now: Instant, policy: &LockOutPolicy) {
        if self.swept.is_some_and(|swept| now.saturating_duration_since(swept) < SWEEP_INTERVAL) {
            return;
        }
        self.swept = Some(now);
        self.records.retain(|_, record| !is_forgotten(record, now, policy));
    }

    /// The key of a line: a keyed hash, 64 bits, so that one record is small whatever the circuit id's length is. Two lines
    /// of one hash among 65,536 come once in 8 billion boxes.
    fn key(&self, line: &LineKey, circuit_id: Option<&[u8]>, by: LockOutBy) -> u64 {
        match (by, circuit_id) {
            (LockOutBy::CircuitId, Some(circuit_id)) => self.records.hasher().hash_one((1u8, circuit_id)),
            _ => self.records.hasher().hash_one((0u8, line)),
        }
    }
}

/// True for a line that has been quiet for the window and for as long as it may be locked out at most.
fn is_forgotten(record: &Record, now: Instant, policy: &LockOutPolicy) -> bool {
    now.saturating_duration_since(record.last) > policy.window.saturating_add(policy.wait_max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bng_wire::MacAddr;

    fn line(mac: u64) -> LineKey {
        LineKey { peer_mac: MacAddr::from_u64(mac), ..LineKey::default() }
    }

    fn policy() -> LockOutPolicy {
        LockOutPolicy {
            failures_max: 3,
            window: Duration::from_secs(60),
            wait: Duration::from_secs(10),
            wait_max: Duration::from_secs(60),
            by: LockOutBy::CircuitId,
        }
    }

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn waits_double_up_to_the_limit_and_are_forgotten() {
        let mut table = LockOut::default();
        let (policy, line) = (policy(), line(1));
        let mut now = Instant::now();
        for wait in [10, 20, 40, 60, 60] {
            assert_eq!(table.failed(now, &line, None, &policy), None);
            assert_eq!(table.failed(now, &line, None, &policy), None);
            assert!(!table.is_locked(now, &line, None, policy.by));
            assert_eq!(table.failed(now, &line, None, &policy), Some(s(wait)));
            assert!(table.is_locked(now + s(wait) - Duration::from_millis(1), &line, None, policy.by));
            now += s(wait);
            assert!(!table.is_locked(now, &line, None, policy.by));
        }
        now += s(121);
        for wait in [None, None, Some(s(10))] {
            assert_eq!(table.failed(now, &line, None, &policy), wait);
        }
        table.succeeded(&line, None, policy.by);
        assert!(!table.is_locked(now, &line, None, policy.by));
        assert_eq!(table.len(), 0);
    }

    #[test]
    fn failures_count_within_the_window_only() {
        let mut table = LockOut::default();
        let mut now = Instant::now();
        for _ in 0..20 {
            assert_eq!(table.failed(now, &line(1), None, &policy()), None);
            now += s(61);
        }
    }

    #[test]
    fn a_circuit_id_is_locked_whatever_the_mac_address() {
        let mut table = LockOut::default();
        let now = Instant::now();
        for mac in 0..3 {
            table.failed(now, &line(mac), Some(b"port 7"), &policy());
        }
        assert!(table.is_locked(now, &line(99), Some(b"port 7"), LockOutBy::CircuitId));
        assert!(!table.is_locked(now, &line(99), Some(b"port 8"), LockOutBy::CircuitId));
        assert!(!table.is_locked(now, &line(1), None, LockOutBy::CircuitId));
        let by_line = LockOutPolicy { by: LockOutBy::Line, ..policy() };
        for _ in 0..3 {
            table.failed(now, &line(1), Some(b"port 9"), &by_line);
        }
        assert!(table.is_locked(now, &line(1), Some(b"port 10"), LockOutBy::Line));
    }

    #[test]
    fn the_table_has_a_limit_and_forgets() {
        let mut table = LockOut::default();
        let now = Instant::now();
        let one = LockOutPolicy { failures_max: 1, ..policy() };
        for mac in 0..LOCK_OUT_LINES_MAX as u64 {
            assert!(table.failed(now, &line(mac), None, &one).is_some());
        }
        assert_eq!(table.failed(now, &line(1 << 40), None, &one), None);
        assert_eq!(table.len(), LOCK_OUT_LINES_MAX);
        let later = now + s(10 + 121);
        assert!(table.failed(later, &line(1 << 40), None, &one).is_some());
        assert_eq!(table.len(), 1);
    }
}
