//! What one worker counts: by reason, and by port.

use bng_sync::Counter;
use bng_wire::PortIndex;

use crate::reason::Reason;

/// Frames and octets of one port, from the Ethernet header on, without FCS.
#[derive(Debug, Default)]
pub struct PortCounters {
    /// Frames received.
    pub rx_frames: Counter,
    /// Octets received.
    pub rx_octets: Counter,
    /// Frames given to the port for transmission.
    pub tx_frames: Counter,
    /// Octets given to the port for transmission.
    pub tx_octets: Counter,
}

/// The counters of one worker. Only that worker adds; anyone reads. The pipeline adds once a burst.
#[derive(Debug)]
#[repr(align(128))]
pub struct WorkerCounters {
    reasons: [Counter; Reason::COUNT],
    ports: [PortCounters; PortIndex::MAX as usize + 1],
    /// ICMP and ICMPv6 errors sent.
    pub errors_sent: Counter,
    /// ICMP and ICMPv6 errors not sent: beyond the limit, or for want of a buffer or a way back.
    pub errors_unsent: Counter,
    /// LCP Echo-Requests answered.
    pub echoes_answered: Counter,
    /// Pings of a subscriber's gateway answered.
    pub pings_answered: Counter,
    /// Fragments made, of IPv4 packets too long for their link.
    pub fragments_sent: Counter,
}

impl Default for WorkerCounters {
    fn default() -> Self {
        Self {
            reasons: core::array::from_fn(|_| Counter::default()),
            ports: core::array::from_fn(|_| PortCounters::default()),
            errors_sent: Counter::default(),
            errors_unsent: Counter::default(),
            echoes_answered: Counter::default(),
            pings_answered: Counter::default(),
            fragments_sent: Counter::default(),
        }
    }
}

impl WorkerCounters {
    /// The counter of frames that ended for `reason`.
    #[inline]
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "a reason's number is below COUNT by its declaration")]
    pub fn reason(&self, reason: Reason) -> &Counter {
        &self.reasons[reason as usize]
    }

    /// The counters of `port`; `None` for an index above [`PortIndex::MAX`].
    #[inline]
    #[must_use]
    pub fn port(&self, port: PortIndex) -> Option<&PortCounters> {
        self.ports.get(usize::from(port.0))
    }
}
