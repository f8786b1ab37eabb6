//! Packets that wait for a neighbour's link-layer address.

use std::time::{Duration, Instant};

use hashbrown::HashMap;

use crate::ResolveTarget;

/// How many packets wait for one target; a further one pushes out the oldest (RFC 1122 section 2.3.2.2 asks for the
/// latest to be kept).
pub const HELD_PER_TARGET_MAX: usize = 3;
/// How many targets are waited for at a time. A packet for one more is dropped.
pub const HELD_TARGETS_MAX: usize = 1024;

/// What became of a packet that was to be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The first for its target: the caller asks the routing thread to resolve it.
    First,
    /// Held with others for the same target.
    Queued,
    /// Held, and the oldest one for the same target was dropped for it.
    PushedOut,
    /// Not held: too many targets are being waited for.
    Full,
}

/// The packets held, by target. Pure: the caller passes the time and does the asking and the sending.
#[derive(Debug)]
pub struct HeldPackets<P> {
    waiting: HashMap<ResolveTarget, Waiting<P>>,
    timeout: Duration,
    dropped: u64,
}

#[derive(Debug)]
struct Waiting<P> {
    since: Instant,
    packets: Vec<P>,
}

impl<P> HeldPackets<P> {
    /// Packets are dropped when their target has been waited for longer than `timeout`.
    #[must_use]
    pub fn new(timeout: Duration) -> Self {
        Self { waiting: HashMap::new(), timeout, dropped: 0 }
    }

    /// Keeps `packet` until its target is resolved.
    pub fn hold(&mut self, now: Instant, target: ResolveTarget, packet: P) -> Hold {
        if let Some(waiting) = self.waiting.get_mut(&target) {
            let full = waiting.packets.len() >= HELD_PER_TARGET_MAX;
            if full {
                waiting.packets.remove(0);
                self.dropped += 1;
            }
            waiting.packets.push(packet);
            return if full { Hold::PushedOut } else { Hold::Queued };
        }
        if self.waiting.len() >= HELD_TARGETS_MAX {
            self.dropped += 1;
            return Hold::Full;
        }
        self.waiting.insert(target, Waiting { since: now, packets: vec![packet] });
        Hold::First
    }

    /// Takes the packets that waited for `target`, in the order they came in: the target can be reached.
    pub fn release(&mut self, target: ResolveTarget) -> Vec<P> {
        self.waiting.remove(&target).map(|waiting| waiting.packets).unwrap_or_default()
    }

    /// Drops the packets that waited for `target` and says how many: it cannot be reached.
    pub fn give_up(&mut self, target: ResolveTarget) -> usize {
        let packets = self.release(target).len();
        self.dropped += packets as u64;
        packets
    }

    /// Drops what has waited too long and says how many packets that were. The routing thread gives up in about the
    /// same time and says so; this holds also where its word was lost.
    pub fn expire(&mut self, now: Instant) -> usize {
        let mut expired = 0;
        let timeout = self.timeout;
        self.waiting.retain(|_, waiting| {
            let keep = now.saturating_duration_since(waiting.since) < timeout;
            if !keep {
                expired += waiting.packets.len();
            }
            keep
        });
        self.dropped += expired as u64;
        expired
    }

    /// When [`HeldPackets::expire`] will next have something to do.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.values().map(|waiting| waiting.since + self.timeout).min()
    }

    /// How many packets are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.values().map(|waiting| waiting.packets.len()).sum()
    }

    /// True where none is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many packets were dropped here: pushed out, refused, given up or expired.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(3);

    fn target(last: u8) -> ResolveTarget {
        ResolveTarget::Destination { interface: 0, address: [198, 51, 100, last].into() }
    }

    #[test]
    fn the_first_packet_asks_and_all_come_back_in_order() {
        let now = Instant::now();
        let mut held = HeldPackets::new(TIMEOUT);
        assert_eq!(held.hold(now, target(1), 'a'), Hold::First);
        assert_eq!(held.hold(now, target(1), 'b'), Hold::Queued);
        assert_eq!(held.hold(now, target(2), 'x'), Hold::First);
        assert_eq!(held.release(target(1)), vec!['a', 'b']);
        assert_eq!(held.release(target(1)), Vec::<char>::new());
        assert_eq!(held.len(), 1);
        assert_eq!(held.dropped(), 0);
    }

    #[test]
    fn a_fourth_packet_pushes_out_the_oldest() {
        let now = Instant::now();
        let mut held = HeldPackets::new(TIMEOUT);
        for packet in ['a', 'b', 'c'] {
            held.hold(now, target(1), packet);
        }
        assert_eq!(held.hold(now, target(1), 'd'), Hold::PushedOut);
        assert_eq!(held.release(target(1)), vec!['b', 'c', 'd']);
        assert_eq!(held.dropped(), 1);
    }

    #[test]
    fn what_waits_too_long_is_dropped_and_counted() {
        let now = Instant::now();
        let mut held = HeldPackets::new(TIMEOUT);
        held.hold(now, target(1), 'a');
        held.hold(now + Duration::from_secs(1), target(2), 'b');
        assert_eq!(held.poll_timeout(), Some(now + TIMEOUT));
        assert_eq!(held.expire(now + Duration::from_millis(2999)), 0);
        assert_eq!(held.expire(now + TIMEOUT), 1);
        assert_eq!(held.poll_timeout(), Some(now + Duration::from_secs(4)));
        assert_eq!(held.give_up(target(2)), 1);
        assert!(held.is_empty());
        assert_eq!(held.dropped(), 2);
    }

    #[test]
    fn there_is_a_limit_on_targets() {
        let now = Instant::now();
        let mut held = HeldPackets::new(TIMEOUT);
        for number in 0..HELD_TARGETS_MAX as u32 {
            let target = ResolveTarget::Destination { interface: 0, address: std::net::Ipv4Addr::from(number).into() };
            assert_eq!(held.hold(now, target, ()), Hold::First);
        }
        let one_more = ResolveTarget::Destination { interface: 1, address: [0, 0, 0, 0].into() };
        assert_eq!(held.hold(now, one_more, ()), Hold::Full);
        assert_eq!(held.dropped(), 1);
    }
}
