//! Per-session counters, one set for each worker, summed by the reader.

use core::ops::Add;

use bng_sync::Counter;
use zerocopy::FromZeros;

/// What one worker counted for one session. Only that worker writes it; anyone may read it.
///
/// Octets are those of the inner IP packet. A packet is counted where it is forwarded or handed to the router itself,
/// or else as a drop.
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
    spare: [Counter; 2],
}

impl SessionCounters {
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
        }
    }
}

/// A session's counters, summed over the workers. 64 bits each, so that none wraps in a session's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionTotals {
    /// Packets from the client, forwarded or handed to the router itself.
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
        }
    }
}

impl SessionCounters {
    /// Sets everything to zero, for the entry's next session. Only after a grace period: no worker adds then.
    pub(crate) fn reset(&self) {
        for counter in
            [&self.up_packets, &self.up_octets, &self.down_packets, &self.down_octets, &self.up_drops, &self.down_drops]
        {
            counter.set(0);
        }
    }
}
