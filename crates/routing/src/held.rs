//! Packets that wait for a neighbour's link-layer address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::ResolveTarget;

/// How many packets wait for one target; a further one pushes out the oldest (RFC 1122 section 2.3.2.2 asks for the
/// latest to be kept).
pub const HELD_PER_TARGET_MAX: usize = 3;
/// How many next hops are waited for at a time. A packet for one more is dropped.
pub const HELD_NEXT_HOPS_MAX: usize = 1024;
/// How many hosts on connected networks are waited for at a time, whoever asks for them. Each is an entry without an
/// answer in the kernel's neighbour table too, which by default is cleared by force from 512 on and full at 1,024
/// (`net.ipv4.neigh.default.gc_thresh2` and `3`). Next hops are none of these: nobody can think of one.
pub const HELD_HOSTS_MAX: usize = 256;

/// Who sent a packet: who is to blame where too many are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Asker {
    /// The session with this index.
    Session(u32),
    /// The rest of the world, by the network of the source address: a /24 or a /48.
    Network(IpAddr),
}

impl Asker {
    /// The asker behind the source address of a packet without session.
    #[must_use]
    pub fn network(source: IpAddr) -> Self {
        Self::Network(match source {
            IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits() & 0xffff_ff00).into(),
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & u128::MAX << 80).into(),
        })
    }
}

/// What became of a packet that was to be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The first for its target: the caller asks the routing thread to resolve it.
    First,
    /// Held with others for the same target.
    Queued,
    /// Held, and the oldest one for the same target was dropped for it.
    PushedOut,
    /// Not held: too many targets are being waited for, or too many of this asker's.
    Full,
}

/// The packets held, by target. Pure: the caller passes the time and does the asking and the sending.
#[derive(Debug)]
pub struct HeldPackets<P> {
    waiting: HashMap<ResolveTarget, Waiting<P>>,
    /// How many hosts are waited for on behalf of each.
    askers: HashMap<Asker, usize>,
    hosts: usize,
    timeout: Duration,
    dropped: u64,
}

#[derive(Debug)]
struct Waiting<P> {
    /// Who asked for it first.
    asker: Asker,
    since: Instant,
    packets: Vec<P>,
}

impl<P> HeldPackets<P> {
    /// Packets are dropped when their target has been waited for longer than `timeout`.
    #[must_use]
    pub fn new(timeout: Duration) -> Self {
        Self { waiting: HashMap::new(), askers: HashMap::new(), hosts: 0, timeout, dropped: 0 }
    }

    /// Keeps `packet` until its target is resolved. Of the hosts that are waited for an asker has at most as many as are
    /// left to the others: one that scans a network gets half of them, and `n` that do leave the part of one more.
    pub fn hold(&mut self, now: Instant, target: ResolveTarget, asker: Asker, packet: P) -> Hold {
        if let Some(waiting) = self.waiting.get_mut(&target) {
            let full = waiting.packets.len() >= HELD_PER_TARGET_MAX;
            if full {
                waiting.packets.remove(0);
                self.dropped += 1;
            }
            waiting.packets.push(packet);
            return if full { Hold::PushedOut } else { Hold::Queued };
        }
        let full = match target {
            ResolveTarget::Adjacency(_) => self.waiting.len() - self.hosts >= HELD_NEXT_HOPS_MAX,
            ResolveTarget::Destination { .. } => {
                let own = self.askers.get(&asker).copied().unwrap_or(0);
                own >= HELD_HOSTS_MAX - self.hosts
            }
        };
        if full {
            self.dropped += 1;
            return Hold::Full;
        }
        if is_host(target) {
            self.hosts += 1;
            *self.askers.entry(asker).or_default() += 1;
        }
        self.waiting.insert(target, Waiting { asker, since: now, packets: vec![packet] });
        Hold::First
    }

    /// Takes the packets that waited for `target`, in the order they came in: the target can be reached.
    pub fn release(&mut self, target: ResolveTarget) -> Vec<P> {
        let Some(waiting) = self.waiting.remove(&target) else { return Vec::new() };
        if is_host(target) {
            self.hosts -= 1;
            if let Entry::Occupied(mut own) = self.askers.entry(waiting.asker) {
                *own.get_mut() -= 1;
                if *own.get() == 0 {
                    own.remove();
                }
            }
        }
        waiting.packets
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
        let late = |waiting: &Waiting<P>| now.saturating_duration_since(waiting.since) >= self.timeout;
        let expired: Vec<ResolveTarget> =
            self.waiting.iter().filter(|(_, waiting)| late(waiting)).map(|(target, _)| *target).collect();
        expired.into_iter().map(|target| self.give_up(target)).sum()
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

const fn is_host(target: ResolveTarget) -> bool {
    matches!(target, ResolveTarget::Destination { .. })
}

#[cfg(test)]
mod tests {
    use bng_fib::AdjacencyId;

    use super::*;

    const ALICE: Asker = Asker::Session(1);
    const BOB: Asker = Asker::Session(2);

    fn host(number: u32) -> ResolveTarget {
        ResolveTarget::Destination { interface: 0, address: Ipv4Addr::from_bits(0xc633_0000 + number).into() }
    }

    const TIMEOUT: Duration = Duration::from_secs(3);

    fn target(last: u8) -> ResolveTarget {
        ResolveTarget::Destination { interface: 0, address: [198, 51, 100, last].into() }
    }

    #[test]
    fn the_first_packet_asks_and_all_come_back_in_order() {
        let now = Instant::now();
        let mut held = HeldPackets::new(TIMEOUT);
        assert_eq!(held.hold(now, target(1), ALICE, 'a'), Hold::First);
        assert_eq!(held.hold(now, target(1), ALICE, 'b'), Hold::Queued);
        assert_eq!(held.hold(now, target(2), ALICE, 'x'), Hold::First);
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
            held.hold(now, target(1), ALICE, packet);
        }
        assert_eq!(held.hold(now, target(1), ALICE, 'd'), Hold::PushedOut);
        assert_eq!(held.release(target(1)), vec!['b', 'c', 'd']);
        assert_eq!(held.dropped(), 1);
    }

    #[test]
    fn what_waits_too_long_is_dropped_and_counted() {
        let now = Instant::now();
        let mut held = HeldPackets::new(TIMEOUT);
        held.hold(now, target(1), ALICE, 'a');
        held.hold(now + Duration::from_secs(1), target(2), ALICE, 'b');
        assert_eq!(held.poll_timeout(), Some(now + TIMEOUT));
        assert_eq!(held.expire(now + Duration::from_millis(2999)), 0);
        assert_eq!(held.expire(now + TIMEOUT), 1);
        assert_eq!(held.poll_timeout(), Some(now + Duration::from_secs(4)));
        assert_eq!(held.give_up(target(2)), 1);
        assert!(held.is_empty());
        assert_eq!(held.dropped(), 2);
    }

    #[test]
    fn who_scans_a_network_gets_half_and_others_are_served() {
        let now = Instant::now();
        let mut held = HeldPackets::new(TIMEOUT);
        let scan = |held: &mut HeldPackets<()>, asker, from: u32| {
            (from..from + 1000).filter(|number| held.hold(now, host(*number), asker, ()) == Hold::First).count()
        };
        assert_eq!(scan(&mut held, ALICE, 0), HELD_HOSTS_MAX / 2);
        assert_eq!(held.hold(now, host(1000), BOB, ()), Hold::First);
        // A packet more for a host that is waited for needs no place.
        assert_eq!(held.hold(now, host(1000), ALICE, ()), Hold::Queued);
        // What is answered is a place for the same asker again.
        held.release(host(0));
        assert_eq!(scan(&mut held, ALICE, 2000), 1);
        // The whole internet together leaves a place too.
        for network in 0..20 {
            let asker = Asker::network(Ipv4Addr::new(203, 0, network, 9).into());
            assert_eq!(asker, Asker::network(Ipv4Addr::new(203, 0, network, 99).into()));
            scan(&mut held, asker, 10_000 + 1000 * u32::from(network));
        }
        assert!(held.hosts <= HELD_HOSTS_MAX);
        // Next hops are apart from all that.
        assert_eq!(held.hold(now, ResolveTarget::Adjacency(AdjacencyId(7)), ALICE, ()), Hold::First);
        held.expire(now + TIMEOUT);
        assert!(held.is_empty() && held.hosts == 0 && held.askers.is_empty());
        assert_eq!(scan(&mut held, BOB, 0), HELD_HOSTS_MAX / 2);
    }

    #[test]
    fn ten_sessions_that_scan_at_once_leave_an_eleventh_its_part() {
        let now = Instant::now();
        let mut held = HeldPackets::new(TIMEOUT);
        for number in 0..1000 {
            for session in 0..10 {
                held.hold(now, host(session * 1000 + number), Asker::Session(session), ());
            }
        }
        let given =
            (0..100).filter(|number| held.hold(now, host(90_000 + number), Asker::Session(77), ()) == Hold::First);
        assert!(given.count() >= 10);
    }

    #[test]
    fn there_is_a_limit_on_next_hops() {
        let now = Instant::now();
        let mut held = HeldPackets::new(TIMEOUT);
        for number in 0..HELD_NEXT_HOPS_MAX as u32 {
            assert_eq!(held.hold(now, ResolveTarget::Adjacency(AdjacencyId(number)), ALICE, ()), Hold::First);
        }
        let one_more = ResolveTarget::Adjacency(AdjacencyId(u32::MAX));
        assert_eq!(held.hold(now, one_more, ALICE, ()), Hold::Full);
        assert_eq!(held.dropped(), 1);
        assert_eq!(held.hold(now, host(1), ALICE, ()), Hold::First);
    }
}
