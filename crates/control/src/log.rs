//! Session events as log lines: one a session start, stop and failure, with who, where and why.
//!
//! A start and the end of a session that had service always have their lines. Failures before service and renegotiations
//! can be had by any client, as often as it likes: their lines are limited, and what was left out is counted.

use std::time::{Duration, Instant};

use bng_session::SessionTotals;
use bng_subscriber::{EventKind, SessionEvent};
use tracing::{debug, info, warn};

/// Text of octets that a client chose: printable ASCII as it is, the rest as `\xNN`, so that no client can forge a
/// log line.
#[must_use]
pub fn printable(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len());
    for octet in octets {
        if octet.is_ascii_graphic() && *octet != b'\\' || *octet == b' ' {
            text.push(char::from(*octet));
        } else {
            text.push_str(&format!("\\x{octet:02x}"));
        }
    }
    text
}

/// Lines a second about what a client can repeat at will.
const LIMITED_PER_S: f64 = 100.0;
/// How many of those may come at once.
const LIMITED_AT_ONCE: f64 = 1_000.0;
/// How often the number of lines left out is said.
const SUMMARY_EVERY: Duration = Duration::from_secs(10);

/// The log of sessions.
#[derive(Debug)]
pub(crate) struct SessionLog {
    /// Limited lines that may be written now.
    credit: f64,
    /// When `credit` was true.
    at: Instant,
    /// Lines left out since the last summary, and when that was.
    left_out: u64,
    summary: Instant,
}

impl SessionLog {
    pub(crate) fn new(now: Instant) -> Self {
        Self { credit: LIMITED_AT_ONCE, at: now, left_out: 0, summary: now }
    }

    /// Writes one event; `port` is the access port's name.
    pub(crate) fn write(&mut self, now: Instant, event: &SessionEvent, port: &str) {
        if !is_limited(&event.what) || self.admit(now) {
            write(event, port);
        }
        if let Some(lines) = self.summary(now) {
            warn!(lines, "lines about failed logins and renegotiations were left out");
        }
    }

    fn admit(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.credit = (self.credit + since * LIMITED_PER_S).min(LIMITED_AT_ONCE);
        self.at = now;
        if self.credit < 1.0 {
            self.left_out = self.left_out.saturating_add(1);
            return false;
        }
        self.credit -= 1.0;
        true
    }

    fn summary(&mut self, now: Instant) -> Option<u64> {
        if self.left_out == 0 || now.saturating_duration_since(self.summary) < SUMMARY_EVERY {
            return None;
        }
        self.summary = now;
        Some(core::mem::take(&mut self.left_out))
    }
}

/// Whether a client can make this event happen as often as it likes: what comes before service, and what a
/// renegotiation repeats.
fn is_limited(what: &EventKind) -> bool {
    matches!(
        what,
        EventKind::AuthFailed { .. }
            | EventKind::PoolExhausted
            | EventKind::Ended { was_up: false, .. }
            | EventKind::Ipv4Up { first: false, .. }
            | EventKind::Ipv6Up { .. }
    )
}

fn write(event: &SessionEvent, port: &str) {
    let user = event.user.as_deref().map(printable).unwrap_or_default();
    let mac = event.line.peer_mac;
    let outer_vlan = event.line.vlans.outer_vid();
    let inner_vlan = event.line.vlans.inner_vid();
    let session_id = event.session_id.0;
    macro_rules! line {
        ($level:ident, $message:literal $(, $($field:tt)*)?) => {
            $level!(port, outer_vlan, inner_vlan, session_id, %mac, user, $($($field)*,)? $message)
        };
    }
    match &event.what {
        EventKind::Created => line!(debug, "session created"),
        EventKind::LinkUp { peer_mru } => line!(debug, "link up", peer_mru),
        EventKind::LinkDown => line!(debug, "link down"),
        EventKind::Authenticated => line!(debug, "authenticated"),
        EventKind::AuthFailed { failure } => line!(warn, "login refused", reason = failure.label()),
        EventKind::Ipv4Up { address, first: true } => line!(info, "session up", ipv4 = %address),
        EventKind::Ipv4Up { address, first: false } => line!(info, "ipv4 up", ipv4 = %address),
        EventKind::Ipv6Up { prefix } => line!(info, "ipv6 up", prefix = prefix_text(*prefix)),
        EventKind::Ipv6Down => line!(debug, "ipv6 down"),
        EventKind::PrefixDelegated { prefix } => line!(debug, "prefix delegated", prefix = prefix_text(Some(*prefix))),
        EventKind::Ipv4Down => line!(debug, "ipv4 down"),
        EventKind::PoolExhausted => line!(warn, "no address is free"),
        EventKind::Ended { cause, lasted, was_up } => {
            line!(info, "session ended", reason = cause.label(), lasted_s = lasted.as_secs(), was_up)
        }
        EventKind::Final { totals, was_up } => {
            macro_rules! counters {
                ($level:ident) => {
                    line!(
                        $level,
                        "session counters",
                        packets_up = totals.up_packets,
                        octets_up = totals.up_octets,
                        packets_down = totals.down_packets,
                        octets_down = totals.down_octets,
                        drops_up = totals.up_drops,
                        drops_down = totals.down_drops
                    )
                };
            }
            // One that ended while its first Configure-Ack was under way may have carried packets.
            if *was_up || *totals != SessionTotals::default() { counters!(info) } else { counters!(debug) }
        }
        other => line!(debug, "session event", event = other.label()),
    }
}

fn prefix_text(prefix: Option<(std::net::Ipv6Addr, u8)>) -> String {
    prefix.map(|(address, length)| format!("{address}/{length}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{LIMITED_AT_ONCE, LIMITED_PER_S, SUMMARY_EVERY, SessionLog};

    #[test]
    fn what_a_client_can_repeat_has_a_limited_number_of_lines_and_the_rest_is_counted() {
        let start = Instant::now();
        let mut log = SessionLog::new(start);
        let written = (0..5_000).filter(|_| log.admit(start)).count();
        assert_eq!(written, LIMITED_AT_ONCE as usize);
        assert_eq!(log.summary(start), None, "too early");
        let later = start + SUMMARY_EVERY;
        assert_eq!(log.summary(later), Some(5_000 - LIMITED_AT_ONCE as u64));
        assert_eq!(log.summary(later + SUMMARY_EVERY), None, "said once");
        // One second's worth comes back in a second, and no more.
        let mut log = SessionLog::new(start);
        while log.admit(start) {}
        let second = start + Duration::from_secs(1);
        assert_eq!((0..5_000).filter(|_| log.admit(second)).count(), LIMITED_PER_S as usize);
    }

    #[test]
    fn a_client_cannot_forge_a_log_line() {
        assert_eq!(super::printable(b"user1@example.net"), "user1@example.net");
        assert_eq!(super::printable(b"a\nINFO forged\\x\xff"), "a\\x0aINFO forged\\x5cx\\xff");
    }
}
