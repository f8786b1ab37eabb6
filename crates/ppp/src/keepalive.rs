//! Whether the client is still there: LCP Echo (RFC 1661 section 5.8, RFC 2516 section 7), and its traffic.

use crate::automaton::Event;
use crate::config::PppConfig;
use crate::events::{Action, EndCause};
use crate::negotiate::PACKET_OCTETS_MAX;
use crate::session::Ppp;
use crate::transitions::{Layer, Trigger, send};
use bng_wire::ppp::{PacketBuilder, code};
use std::time::{Duration, Instant};

/// The echo timer and what has been missed.
#[derive(Debug, Clone)]
pub(crate) struct Keepalive {
    /// When the next Echo-Request is due, or the answer to the last one; `None` where none are sent.
    pub(crate) due_at: Option<Instant>,
    /// Echo-Requests in a row without a sign of life since.
    missed: u8,
    jitter: u8,
}

impl Keepalive {
    /// Not running. `jitter` spreads the first echoes of sessions that came up together.
    pub(crate) const fn new(jitter: u8) -> Self {
        Self { due_at: None, missed: 0, jitter }
    }

    /// The client may be asked from now on. The first request comes up to a quarter early, so that a town that came
    /// back at once is not asked at once for ever after.
    pub(crate) fn start(&mut self, config: &PppConfig, now: Instant) {
        self.missed = 0;
        let early = config.echo_interval.saturating_mul(u32::from(self.jitter)).checked_div(1024).unwrap_or_default();
        self.due_at = if config.echo_interval == Duration::ZERO {
            None
        } else {
            now.checked_add(config.echo_interval.saturating_sub(early))
        };
    }

    /// No more echoes.
    pub(crate) const fn stop(&mut self) {
        self.due_at = None;
        self.missed = 0;
    }

    /// An Echo-Reply; false where none was being waited for. Any reply counts as long as one is owed, not only the
    /// one to the latest request: on a slow line it is still a sign of life.
    pub(crate) const fn replied(&mut self) -> bool {
        let owed = self.missed > 0;
        self.missed = 0;
        owed
    }

    /// Echo-Requests in a row without a sign of life since.
    pub(crate) const fn missed(&self) -> u8 {
        self.missed
    }

    /// A packet of any control protocol that could be read: it shows as much as data does.
    pub(crate) const fn heard(&mut self, config: &PppConfig) {
        if config.traffic_is_alive {
            self.missed = 0;
        }
    }

    /// Data from the client: no echo is needed for a whole interval.
    pub(crate) fn traffic(&mut self, config: &PppConfig, now: Instant) {
        if config.traffic_is_alive && self.due_at.is_some() {
            self.missed = 0;
            self.due_at = now.checked_add(config.echo_interval);
        }
    }
}

impl Ppp {
    pub(crate) fn keepalive_due(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.keepalive.missed >= self.config.echo_misses {
            // Nobody is there to answer a Terminate-Request: the layers go down, and that is all.
            self.end_cause.get_or_insert(EndCause::LostCarrier);
            self.run(Layer::Lcp, Event::Down, Trigger::NONE, now, out);
            self.finish(out);
            return;
        }
        self.keepalive.missed = self.keepalive.missed.saturating_add(1);
        self.keepalive.due_at = now.checked_add(self.config.echo_interval);
        let id = self.lcp_automaton.take_id();
        let mut builder = PacketBuilder::new(code::ECHO_REQUEST, id, PACKET_OCTETS_MAX);
        builder.bytes_cut(&self.lcp.magic().to_be_bytes());
        send(Layer::Lcp, builder, out);
    }
}
