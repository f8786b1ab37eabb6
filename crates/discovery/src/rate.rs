//! How many requests are answered in a time: per MAC address, per double-tagged line, per outer VLAN, per port. All memory is taken at the start.

use std::time::Instant;

use bng_wire::{LineKey, PortIndex};

use crate::config::{Rate, RateLimits};
use crate::outcome::DiscoveryDrop;

/// Buckets for MAC addresses. A MAC address has one by keyed hash; those that fall together share it, which costs them
/// something only while one of them floods.
pub const MAC_BUCKETS: usize = 16_384;
/// Buckets for double-tagged lines, shared in the same way.
const LINE_BUCKETS: usize = 16_384;
/// One bucket for each VID.
const VIDS: usize = 4096;

/// A token bucket as one number: the time, in nanoseconds since the limiter's start, at which it will be full again (the
/// generic cell rate algorithm). 0 is a full bucket.
#[derive(Debug, Clone, Copy)]
struct Bucket(u64);

impl Bucket {
    /// The bucket after one more token, or `None` where there is none left.
    fn take(self, now_ns: u64, rate: Rate) -> Option<Self> {
        let step_ns = NS_PER_S.checked_div(u64::from(rate.per_s))?;
        let full_at = self.0.max(now_ns);
        let depth_ns = step_ns.saturating_mul(u64::from(rate.burst.saturating_sub(1)));
        (full_at.saturating_sub(now_ns) <= depth_ns).then(|| Self(full_at.saturating_add(step_ns)))
    }
}

const NS_PER_S: u64 = 1_000_000_000;

/// The buckets of one kind of request.
pub(crate) struct Limiter {
    start: Instant,
    /// Keeps a flooder from choosing whose bucket its MAC addresses fall into.
    secret: [u64; 2],
    // Buckets as bare numbers: only so is their memory not touched, hence not there, before it is used.
    ports: Box<[u64]>,
    /// By port and outer VID; empty for ports that are no access ports.
    vlans: Vec<Box<[u64]>>,
    lines: Box<[u64]>,
    macs: Box<[u64]>,
}

impl Limiter {
    /// Starts with full buckets. `secret` is random.
    pub(crate) fn new(start: Instant, secret: [u64; 2]) -> Self {
        let port_count = usize::from(PortIndex::MAX).saturating_add(1);
        Self {
            start,
            secret,
            ports: vec![0; port_count].into(),
            vlans: vec![Box::default(); port_count],
            lines: vec![0; LINE_BUCKETS].into(),
            macs: vec![0; MAC_BUCKETS].into(),
        }
    }

    /// Makes a port's VLANs ready.
    pub(crate) fn add_port(&mut self, port: PortIndex) {
        if let Some(vlans) = self.vlans.get_mut(usize::from(port.0)).filter(|vlans| vlans.is_empty()) {
            *vlans = vec![0; VIDS].into();
        }
    }

    /// Takes a token from each bucket that a request falls into, or from none where one is empty: what one limit refuses
    /// must not use up another, or one MAC address's flood would use up its VLAN, and a VLAN's flood the port.
    pub(crate) fn admit(&mut self, now: Instant, line: &LineKey, limits: &RateLimits) -> Result<(), DiscoveryDrop> {
        let elapsed = now.saturating_duration_since(self.start);
        let now_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        let mac_index = self.index(line, line.peer_mac.to_u64()) & (MAC_BUCKETS - 1);
        // With fewer than two tags a line is the whole VLAN or port, which have limits of their own.
        let line_index = (line.inner_vlan != 0).then(|| self.index(line, 0) & (LINE_BUCKETS - 1));
        let port_index = usize::from(line.port.0);
        let mut mac = self.macs.get_mut(mac_index);
        let mut own = line_index.and_then(|index| self.lines.get_mut(index));
        let mut vlan = self.vlans.get_mut(port_index).and_then(|vlans| vlans.get_mut(usize::from(line.outer_vlan)));
        let mut port = self.ports.get_mut(port_index);
        let mac_after = after(&mac, now_ns, limits.mac).ok_or(DiscoveryDrop::MacRate)?;
        let line_limit = limits.line.filter(|_| own.is_some());
        let own_after = after(&own, now_ns, line_limit).ok_or(DiscoveryDrop::LineRate)?;
        let vlan_after = after(&vlan, now_ns, limits.vlan).ok_or(DiscoveryDrop::VlanRate)?;
        let port_after = after(&port, now_ns, limits.port).ok_or(DiscoveryDrop::PortRate)?;
        for (bucket, after) in
            [(&mut mac, mac_after), (&mut own, own_after), (&mut vlan, vlan_after), (&mut port, port_after)]
        {
            if let Some(bucket) = bucket {
                **bucket = after.0;
            }
        }
        Ok(())
    }

    /// A folded multiplication of the keyed line: the same MAC address on two VLANs has two buckets.
    fn index(&self, line: &LineKey, mac: u64) -> usize {
        let place = u64::from_be_bytes({
            let [outer_high, outer_low] = line.outer_vlan.to_be_bytes();
            let [inner_high, inner_low] = line.inner_vlan.to_be_bytes();
            [0, 0, 0, line.port.0, outer_high, outer_low, inner_high, inner_low]
        });
        let [mac_secret, place_secret] = self.secret;
        let product = u128::from(mac ^ mac_secret).wrapping_mul(u128::from(place ^ place_secret | 1));
        let folded = (product as u64) ^ (product >> 64) as u64;
        // The numbers of buckets are powers of two, so the low bits do.
        folded as usize
    }
}

/// The bucket after a request; unchanged where there is no limit, `None` where it is empty.
fn after(bucket: &Option<&mut u64>, now_ns: u64, rate: Option<Rate>) -> Option<Bucket> {
    let bucket = Bucket(bucket.as_deref().copied().unwrap_or_default());
    match rate {
        Some(rate) => bucket.take(now_ns, rate),
        None => Some(bucket),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bng_wire::MacAddr;
    use std::time::Duration;

    fn line(mac: u64, outer_vlan: u16) -> LineKey {
        LineKey { port: PortIndex(0), outer_vlan, inner_vlan: 0, peer_mac: MacAddr::from_u64(mac) }
    }

    fn limiter() -> (Limiter, Instant) {
        let start = Instant::now();
        let mut limiter = Limiter::new(start, [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210]);
        limiter.add_port(PortIndex(0));
        (limiter, start)
    }

    fn limits(mac: Option<Rate>, vlan: Option<Rate>, port: Option<Rate>) -> RateLimits {
        RateLimits { mac, line: None, vlan, port }
    }

    fn admitted(limiter: &mut Limiter, now: Instant, line: &LineKey, limits: &RateLimits, offered: usize) -> usize {
        (0..offered).filter(|_| limiter.admit(now, line, limits).is_ok()).count()
    }

    #[test]
    fn a_burst_then_the_rate() {
        let (mut limiter, start) = limiter();
        let limits = limits(Some(Rate { per_s: 10, burst: 5 }), None, None);
        let line = line(1, 0);
        assert_eq!(admitted(&mut limiter, start, &line, &limits, 100), 5);
        assert_eq!(limiter.admit(start, &line, &limits), Err(DiscoveryDrop::MacRate));
        for second_tenth in 1..=50 {
            let now = start + Duration::from_millis(100 * second_tenth);
            assert_eq!(admitted(&mut limiter, now, &line, &limits, 100), 1, "{second_tenth}");
        }
        // Silence fills the bucket up, and no further; there is no penalty for the flood before.
        assert_eq!(admitted(&mut limiter, start + Duration::from_secs(60), &line, &limits, 100), 5);
    }

    #[test]
    fn what_one_limit_refuses_uses_up_no_other() {
        let (mut limiter, now) = limiter();
        let limits = limits(
            Some(Rate { per_s: 1, burst: 2 }),
            Some(Rate { per_s: 1, burst: 10 }),
            Some(Rate { per_s: 1, burst: 15 }),
        );
        // One MAC address floods: its VLAN loses 2 tokens only.
        assert_eq!(admitted(&mut limiter, now, &line(1, 5), &limits, 1000), 2);
        // Many MAC addresses flood VLAN 5: the port loses 10 only.
        let flood = (2..1000).filter(|mac| limiter.admit(now, &line(*mac, 5), &limits).is_ok()).count();
        assert_eq!(flood, 8);
        assert_eq!(limiter.admit(now, &line(5000, 5), &limits), Err(DiscoveryDrop::VlanRate));
        // Another VLAN still has the port's rest.
        let others = (2..1000).filter(|mac| limiter.admit(now, &line(*mac, 6), &limits).is_ok()).count();
        assert_eq!(others, 5);
        assert_eq!(limiter.admit(now, &line(5000, 6), &limits), Err(DiscoveryDrop::PortRate));
    }

    #[test]
    fn a_customer_who_forges_addresses_uses_up_the_customer_s_own_line_alone() {
        let (mut limiter, now) = limiter();
        let limits = RateLimits { line: Some(Rate { per_s: 50, burst: 200 }), ..RateLimits::default() };
        let from = |mac: u64, inner_vlan| LineKey { inner_vlan, ..line(mac, 5) };
        let flood = (0..100_000).filter(|mac| limiter.admit(now, &from(*mac, 7), &limits).is_ok()).count();
        assert_eq!(flood, 200);
        assert_eq!(limiter.admit(now, &from(200_000, 7), &limits), Err(DiscoveryDrop::LineRate));
        // The neighbours on the same outer VLAN.
        let others = (8..2008).filter(|inner| limiter.admit(now, &from(1, *inner), &limits).is_ok()).count();
        assert!(others >= 1990, "{others}");
        // Without an inner tag the line is the VLAN.
        assert_eq!(admitted(&mut limiter, now, &line(3, 5), &limits, 20), 20);
    }

    #[test]
    fn no_limit_is_no_limit() {
        let (mut limiter, now) = limiter();
        assert_eq!(admitted(&mut limiter, now, &line(1, 5), &limits(None, None, None), 10_000), 10_000);
    }

    #[test]
    fn mac_addresses_spread_over_the_buckets() {
        let (limiter, _) = limiter();
        let mut used = vec![0u32; MAC_BUCKETS];
        for mac in 0..4 * MAC_BUCKETS as u64 {
            let mac = 0x0200_0000_0000 + mac;
            used[limiter.index(&line(mac, 7), mac) & (MAC_BUCKETS - 1)] += 1;
        }
        let most = *used.iter().max().unwrap();
        assert!(most <= 24, "{most} of a mean of 4 in one bucket");
    }
}
