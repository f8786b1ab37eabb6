//! The router's advertisements on one link (RFC 4861 section 6.2). Times are milliseconds since the session's start.

use core::net::Ipv6Addr;

use bng_wire::ether::TooSmall;
use bng_wire::nd::{self, PrefixInformation, RouterAdvertisement};
use bng_wire::writer::Writer;

use crate::config::Ipv6Config;
use crate::limit::Jitter;
use crate::packet::ALL_NODES;
use crate::session::Link;

/// A time that never comes.
pub(crate) const NEVER: u64 = u64::MAX;
/// MAX_INITIAL_RTR_ADVERTISEMENTS (RFC 4861 section 10).
const INITIAL_MAX: u8 = 3;
/// MAX_INITIAL_RTR_ADVERT_INTERVAL.
const INITIAL_INTERVAL_MS: u64 = 16_000;
/// MAX_RA_DELAY_TIME.
const DELAY_MS: u64 = 500;
/// MIN_DELAY_BETWEEN_RAS, for those to all nodes.
const BETWEEN_MS: u64 = 3_000;
/// The first advertisement waits so long at least: the client's stack is just being told that its link is up.
const FIRST_MIN_MS: u64 = 50;
/// The longest domain list that is sent, in octets.
pub(crate) const DOMAINS_MAX: usize = 512;

/// When the next advertisements are due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Router {
    /// The next one that nobody asked for.
    next_at: u64,
    /// The next one that somebody asked for.
    answer_at: u64,
    /// Whom that one goes to.
    answer_to: Ipv6Addr,
    /// When the last one to all nodes went out.
    all_at: Option<u32>,
    /// When the last one to a single node went out.
    one_at: Option<u32>,
    /// How many of the initial ones have been sent.
    initial: u8,
}

fn tenths_up(ms: u64) -> Option<u32> {
    u32::try_from(ms.div_ceil(100)).ok()
}

/// The time, from the tenths of a second that are kept.
fn ms(tenths: Option<u32>) -> Option<u64> {
    tenths.map(|tenths| u64::from(tenths).saturating_mul(100))
}

impl Router {
    pub(crate) const SILENT: Self =
        Self { next_at: NEVER, answer_at: NEVER, answer_to: ALL_NODES, all_at: None, one_at: None, initial: 0 };

    /// The link is up: the first advertisement goes out within half a second.
    pub(crate) fn start(now: u64, jitter: &mut Jitter) -> Self {
        Self { next_at: now.saturating_add(jitter.between(FIRST_MIN_MS, DELAY_MS)), ..Self::SILENT }
    }

    /// When to call [`Router::due`].
    pub(crate) fn next(&self) -> u64 {
        self.next_at.min(self.answer_at)
    }

    /// A router solicitation came from `src`.
    pub(crate) fn solicited(&mut self, now: u64, src: Ipv6Addr, jitter: &mut Jitter) {
        let soon = now.saturating_add(jitter.between(0, DELAY_MS));
        let (to, at) = if src.is_unspecified() {
            // Section 6.2.6: those to all nodes MUST keep their distance.
            let earliest = ms(self.all_at).map_or(0, |at| at.saturating_add(BETWEEN_MS));
            (ALL_NODES, soon.max(earliest))
        } else {
            // "A router MAY choose to unicast the response": on a link with one host the better choice, for it need
            // not wait. Two a second are enough.
            let earliest = ms(self.one_at).map_or(0, |at| at.saturating_add(DELAY_MS));
            (src, soon.max(earliest))
        };
        if self.answer_at == NEVER {
            (self.answer_at, self.answer_to) = (at, to);
        } else if self.answer_to != to {
            // Two ask at once: one advertisement to all of them answers both.
            self.answer_to = ALL_NODES;
            let earliest = ms(self.all_at).map_or(0, |at| at.saturating_add(BETWEEN_MS));
            self.answer_at = self.answer_at.max(earliest);
        }
    }

    /// Whom an advertisement is to be sent to now, if to anybody.
    pub(crate) fn due(&mut self, now: u64, config: &Ipv6Config, jitter: &mut Jitter) -> Option<Ipv6Addr> {
        if self.next_at <= now {
            self.sent_to_all(now, config, jitter);
            if self.answer_to == ALL_NODES {
                self.answer_at = NEVER;
            }
            return Some(ALL_NODES);
        }
        if self.answer_at > now {
            return None;
        }
        self.answer_at = NEVER;
        if self.answer_to == ALL_NODES {
            // Section 6.2.6: this one counts as one of those that nobody asked for.
            self.sent_to_all(now, config, jitter);
        } else {
            self.one_at = tenths_up(now);
        }
        Some(self.answer_to)
    }

    fn sent_to_all(&mut self, now: u64, config: &Ipv6Config, jitter: &mut Jitter) {
        self.all_at = tenths_up(now);
        self.initial = self.initial.saturating_add(1);
        let bounds = |interval: std::time::Duration| u64::try_from(interval.as_millis()).unwrap_or(NEVER);
        // Section 6.2.1: no two closer than 3 s, whatever the configuration says.
        let min = bounds(config.router.interval_min).max(BETWEEN_MS);
        let max = bounds(config.router.interval_max).min(1_800_000);
        let mut interval = jitter.between(min, max);
        if self.initial < INITIAL_MAX {
            // Section 6.2.4: the first few come closer together.
            interval = interval.min(INITIAL_INTERVAL_MS);
        }
        self.next_at = now.saturating_add(interval);
    }
}

/// Writes an advertisement; the final one says that the router and what it told are no more (section 6.2.5).
pub(crate) fn write(out: &mut Writer<'_>, config: &Ipv6Config, link: &Link, last: bool) -> Result<(), TooSmall> {
    let router = &config.router;
    let still = |value: u32| if last { 0 } else { value };
    RouterAdvertisement {
        hop_limit: router.hop_limit,
        managed: router.managed,
        other: router.other,
        lifetime_s: if last { 0 } else { router.lifetime_s.min(9000) },
        reachable_ms: router.reachable_ms,
        retransmit_ms: router.retransmit_ms,
    }
    .write(out)?;
    // There is no source link-layer address option: PPP has no such addresses.
    if router.mtu && link.mtu >= 1280 {
        nd::write_mtu(out, link.mtu.into())?;
    }
    if let Some(prefix) = link.prefix {
        PrefixInformation {
            prefix: prefix.address,
            length: prefix.length,
            on_link: router.on_link,
            autonomous: router.autonomous,
            valid_s: still(router.prefix_valid_s),
            // Section 6.2.1: "MUST NOT be larger than AdvValidLifetime".
            preferred_s: still(router.prefix_preferred_s.min(router.prefix_valid_s)),
        }
        .write(out)?;
    }
    nd::write_rdnss(out, still(router.dns_lifetime_s), &config.dns)?;
    if config.domains.len() <= DOMAINS_MAX {
        nd::write_dnssl(out, still(router.dns_lifetime_s), &config.domains)?;
    }
    Ok(())
}
