//! The access concentrator.

use std::time::Instant;

use bng_wire::{Line, MacAddr, PortIndex, SessionId, VlanStack};

use crate::config::{AcConfig, ConfigError};
use crate::outcome::{DiscoveryDrop, DiscoveryOutcome, ErrorTag, ReplyTooLong, SessionRequest};

/// The access concentrator: its configuration and its cookie keys. It has no table of clients.
pub struct AccessConcentrator {
    config: AcConfig,
    cookie_key: [u8; 32],
    drops: [u64; DiscoveryDrop::COUNT],
}

impl AccessConcentrator {
    /// Takes a configuration, a secret key of random octets for the cookies, and the time. `clock_s` is what a clock that
    /// outlives this process (seconds since boot) shows at `now`, so that cookies outlive it too if the key is kept.
    ///
    /// # Errors
    /// The first [`ConfigError`] found.
    pub fn new(config: AcConfig, cookie_key: [u8; 32], now: Instant, clock_s: u32) -> Result<Self, ConfigError> {
        let _ = (now, clock_s);
        Ok(Self { config, cookie_key, drops: [0; DiscoveryDrop::COUNT] })
    }

    /// Takes a new configuration; cookies given out stay good.
    ///
    /// # Errors
    /// The first [`ConfigError`] found; the old configuration then stays.
    pub fn reconfigure(&mut self, config: AcConfig) -> Result<(), ConfigError> {
        self.config = config;
        Ok(())
    }

    /// Takes a new cookie key; cookies made with the one before stay good for their lifetime.
    pub fn rotate_key(&mut self, cookie_key: [u8; 32]) {
        self.cookie_key = cookie_key;
    }

    /// Handles a whole frame, from the Ethernet header on, received on `port`.
    pub fn handle_frame(&mut self, now: Instant, port: PortIndex, frame: &[u8]) -> DiscoveryOutcome {
        let _ = (port, frame);
        self.handle(now, Line::default(), MacAddr::BROADCAST, &[])
    }

    /// Handles the payload of an Ethernet frame of type 0x8863, from VER/TYPE on, that came over `line` to `destination`.
    pub fn handle(&mut self, now: Instant, line: Line, destination: MacAddr, pppoe: &[u8]) -> DiscoveryOutcome {
        let _ = (now, line, destination, pppoe);
        self.count(DiscoveryDrop::HeaderTooShort)
    }

    /// When `handle_timeout` wants to be called next; `None` while nothing is held back.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Lets out what was held back until `now`: `transmit` gets each frame and its port.
    pub fn handle_timeout(&mut self, now: Instant, transmit: &mut dyn FnMut(PortIndex, Vec<u8>)) {
        let _ = (now, transmit);
    }

    /// The PADS that gives a client its session (RFC 2516 section 5.4), for `request.line.port`. A repeated PADR gets the
    /// same again: call it with the repeated request and the session it already has.
    ///
    /// # Errors
    /// [`ReplyTooLong`], which cannot happen to a request that `handle` gave out.
    pub fn pads(&self, request: &SessionRequest, session_id: SessionId) -> Result<Vec<u8>, ReplyTooLong> {
        let _ = (request, session_id);
        Err(ReplyTooLong)
    }

    /// The PADS that refuses a session, SESSION_ID 0; `message` is for people, UTF-8, and may be empty.
    ///
    /// # Errors
    /// [`ReplyTooLong`].
    pub fn pads_error(
        &self,
        request: &SessionRequest,
        error: ErrorTag,
        message: &str,
    ) -> Result<Vec<u8>, ReplyTooLong> {
        let _ = (request, error, message);
        Err(ReplyTooLong)
    }

    /// A PADT that ends a session (RFC 2516 section 5.5), for `line.port`.
    #[must_use]
    pub fn padt(&self, local_mac: MacAddr, line: &Line, session_id: SessionId) -> Vec<u8> {
        let _ = (local_mac, line, session_id);
        Vec::new()
    }

    /// The tags that frames to a client of `received` tags carry: see [`crate::ControlPriority::reply_vlans`].
    #[must_use]
    pub fn reply_vlans(&self, received: VlanStack) -> VlanStack {
        self.config.priority.reply_vlans(received)
    }

    /// How many frames led to nothing, by reason: index is the reason's number.
    #[must_use]
    pub const fn drops(&self) -> &[u64; DiscoveryDrop::COUNT] {
        &self.drops
    }

    fn count(&mut self, reason: DiscoveryDrop) -> DiscoveryOutcome {
        if let Some(counter) = self.drops.get_mut(reason as usize) {
            *counter = counter.wrapping_add(1);
        }
        DiscoveryOutcome::Drop(reason)
    }
}
