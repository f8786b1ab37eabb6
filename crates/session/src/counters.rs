//! Per-session counters, one set for each worker, summed by the reader.

use core::ops::Add;

use bng_sync::Counter;
use zerocopy::FromZeros;

/// What one worker counted for one session. Only that worker writes it; anyone may read it.
///
/// Octets are those of the inner IP packet. A packet is counted where it is forwarded or a ping of the gateway's that
/// is answered, or else as a drop.
#[derive(Debug, Default, FromZeros)]
#[repr(C, align(64))]
pub struct SessionCounters {
    /// Packets from the client.
    pub up_packets: Counter,
    /// Inner IP octets from the client.
    pub up_octets: Counter,
    /// Packets to the client.
    pub down_packets: Counter,
    /// Inner IP octets to the client.
    pub down_octets: Counter,
    /// Packets from the client that were dropped.
    pub up_drops: Counter,
    /// Packets to the client that were dropped.
    pub down_drops: Counter,
    /// LCP Echo-Requests answered. They are no packets of the client's and count nowhere else, but they are a sign of
    /// its life.
    pub echoes: Counter,
    /// The answers given in the current second: see [`SessionCounters::admit_answer`].
    answers: Counter,
}

impl SessionCounters {
    /// True where one more frame of the client's that costs more than forwarding is within `per_second_max`; it is counted
    /// then. Each [`AnswerKind`] has a limit of its own, and each worker counts by itself. Seconds are those of `now_ms`, 1,024 ms long.
    #[must_use]
    pub fn admit_answer(&self, kind: AnswerKind, per_second_max: u8, now_ms: u64) -> bool {
        // An octet for each kind; in the upper 16 bits the second they were counted in. It comes round after 18 hours: a
        // session that was idle until then to the second finds old counts for the rest of it.
        let second = now_ms >> 10;
        let word = self.answers.get();
        let word = if word >> 48 == second & 0xffff { word } else { second << 48 };
        let shift = kind as u32;
        let given = (word >> shift) as u8;
        let admitted = given < per_second_max;
        // Below its limit the octet cannot overflow into the next.
        self.answers.set(if admitted { word.wrapping_add(1 << shift) } else { word });
        admitted
    }

    /// The values now.
    #[must_use]
    pub fn totals(&self) -> SessionTotals {
        SessionTotals {
            up_packets: self.up_packets.get(),
            up_octets: self.up_octets.get(),
            down_packets: self.down_packets.get(),
            down_octets: self.down_octets.get(),
            up_drops: self.up_drops.get(),
            down_drops: self.down_drops.get(),
            echoes: self.echoes.get(),
        }
    }
}

/// A session's counters, summed over the workers. 64 bits each, so that none wraps in a session's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionTotals {
    /// Packets from the client, forwarded or answered.
    pub up_packets: u64,
    /// Inner IP octets of those packets.
    pub up_octets: u64,
    /// Packets to the client.
    pub down_packets: u64,
    /// Inner IP octets of those packets.
    pub down_octets: u64,
    /// Packets from the client that were dropped.
    pub up_drops: u64,
    /// Packets to the client that were dropped.
    pub down_drops: u64,
    /// LCP Echo-Requests answered by the workers.
    pub echoes: u64,
}

/// What a worker does for a client besides forwarding, within limits; the value is the place of its count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum AnswerKind {
    /// LCP Echo-Requests.
    Echo = 0,
    /// Pings of the gateway.
    Ping = 8,
    /// Control frames that are handed over.
    Control = 16,
    /// Packets that wait for a neighbour to be resolved.
    Held = 24,
    /// ICMP errors about the client's packets.
    Error = 32,
    /// Errors that say which length fits, about packets from the client and to it. On their own: path MTU discovery
    /// must work while others ask for errors.
    TooBig = 40,
}

impl Add for SessionTotals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            up_packets: self.up_packets.wrapping_add(other.up_packets),
            up_octets: self.up_octets.wrapping_add(other.up_octets),
            down_packets: self.down_packets.wrapping_add(other.down_packets),
            down_octets: self.down_octets.wrapping_add(other.down_octets),
            up_drops: self.up_drops.wrapping_add(other.up_drops),
            down_drops: self.down_drops.wrapping_add(other.down_drops),
            echoes: self.echoes.wrapping_add(other.echoes),
        }
    }
}

impl SessionCounters {
    /// Sets everything to zero, for the entry's next session. Only after a grace period: no worker adds then.
    pub(crate) fn reset(&self) {
        for counter in [
            &self.up_packets,
            &self.up_octets,
            &self.down_packets,
            &self.down_octets,
            &self.up_drops,
            &self.down_drops,
            &self.echoes,
            &self.answers,
        ] {
            counter.set(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_limited_by_kind_and_second() {
        let counters = SessionCounters::default();
        let admitted =
            |kind, max, now_ms, tries: u32| (0..tries).filter(|_| counters.admit_answer(kind, max, now_ms)).count();
        assert_eq!(admitted(AnswerKind::Echo, 4, 0, 10), 4);
        // Pings have a limit of their own, however many echoes there were.
        assert_eq!(admitted(AnswerKind::Ping, 255, 1023, 300), 255);
        assert_eq!(admitted(AnswerKind::Echo, 4, 1023, 10), 0);
        assert_eq!(admitted(AnswerKind::Echo, 4, 1024, 10), 4);
        assert_eq!(admitted(AnswerKind::Ping, 16, u64::MAX, 20), 16);
        assert_eq!(admitted(AnswerKind::Ping, 0, 1 << 40, 20), 0);
        assert_eq!(admitted(AnswerKind::Control, 64, 1 << 40, 100), 64);
        assert_eq!(admitted(AnswerKind::Held, 255, 1 << 40, 300), 255);
        assert_eq!(admitted(AnswerKind::Control, 64, 1 << 40, 100), 0);
        assert_eq!(admitted(AnswerKind::Error, 255, 1 << 40, 300), 255);
        assert_eq!(admitted(AnswerKind::TooBig, 255, 1 << 40, 300), 255);
        assert_eq!(admitted(AnswerKind::TooBig, 255, 1 << 40, 1), 0);
        assert_eq!(admitted(AnswerKind::TooBig, 255, (1 << 40) + 1024, 300), 255);
        counters.reset();
        assert_eq!(counters.totals(), SessionTotals::default());
    }
}
