//! One client's link.

use crate::config::PppConfig;
use crate::error::Discard;
use crate::events::{Action, AuthVerdict, EndCause};
use std::sync::Arc;
use std::time::Instant;

/// The phase of a link (RFC 1661 section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Not started, or ended.
    Dead,
    /// LCP is negotiating.
    Establish,
    /// The client has to prove who it is.
    Authenticate,
    /// Network protocols may be negotiated and used.
    Network,
    /// LCP is closing the link.
    Terminate,
}

/// One PPP link towards a client.
#[derive(Debug)]
pub struct Ppp {
    config: Arc<PppConfig>,
    seed: u64,
    mru_max: u16,
    phase: Phase,
}

impl Ppp {
    /// A link that has not started. `mru_max` is the largest MRU that may be agreed either way, in octets: 1492, or
    /// what PPP-Max-Payload allows (RFC 4638). `seed` comes from a random source that clients cannot guess; all that
    /// must be unpredictable on this link is derived from it.
    #[must_use]
    pub fn new(config: Arc<PppConfig>, mru_max: u16, seed: u64) -> Self {
        Self { config, seed, mru_max, phase: Phase::Dead }
    }

    /// The PPPoE session exists: LCP sends its first Configure-Request. To be called once, and the actions carried
    /// out after the PADS has been sent.
    pub fn start(&mut self, now: Instant, out: &mut Vec<Action>) {
        let _ = (now, out, &self.config, self.seed, self.mru_max);
    }

    /// A packet from the client: PPP protocol number and information field, without Ethernet padding where that is
    /// known (padding is tolerated).
    ///
    /// # Errors
    /// The packet was discarded, for the reason given; nothing has changed.
    pub fn handle(
        &mut self,
        now: Instant,
        protocol: u16,
        payload: &[u8],
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        let _ = (now, protocol, payload, out);
        Ok(())
    }

    /// The verdict on an [`crate::AuthRequest`]; one whose `transaction` is no longer outstanding is ignored.
    pub fn auth_result(&mut self, now: Instant, transaction: u32, verdict: AuthVerdict, out: &mut Vec<Action>) {
        let _ = (now, transaction, verdict, out);
    }

    /// Ends the link in order: Terminate-Request, then [`Action::Ended`] with `why` after the Ack or the restart
    /// time. Further calls keep the first cause.
    pub fn close(&mut self, now: Instant, why: EndCause, out: &mut Vec<Action>) {
        let _ = (now, why, out);
    }

    /// Data came from the client since the last call: a sign of life, where the profile counts it as one. To be
    /// called before [`Ppp::handle_timeout`] when the session's counters have moved, or whenever convenient.
    pub fn upstream_activity(&mut self, now: Instant) {
        let _ = now;
    }

    /// When [`Ppp::handle_timeout`] wants to be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// The time has come; harmless if it has not.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Action>) {
        let _ = (now, out);
    }

    /// The phase of the link.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// True once [`Action::Ended`] has been given out.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        false
    }
}

/// Checks a CHAP-MD5 response against a known password, in constant time (RFC 1994 section 4.1).
#[must_use]
pub fn verify_chap_md5(id: u8, password: &[u8], challenge: &[u8], response: &[u8; 16]) -> bool {
    let _ = (id, password, challenge, response);
    false
}
