//! All subscribers of the box.

use crate::action::{Action, Input, SubscriberKey};
use crate::config::{ConfigError, PoolIndex, SubscriberConfig};
use crate::stats::{Gauges, Statistics};
use crate::view::SessionView;
use bng_pool::Usage;
use bng_session::SessionIndex;
use core::fmt;
use std::time::Instant;

/// What the subscribers need from outside and cannot be handed as an [`Input`].
pub struct Environment {
    /// Fills a buffer with random octets that clients cannot guess.
    pub random: Box<dyn FnMut(&mut [u8]) + Send>,
    /// How many packets have come from the client of a session so far, by the forwarding plane's counters. Asked only
    /// when a session's echo timer is due.
    pub upstream_packets: Box<dyn FnMut(SessionIndex) -> u64 + Send>,
    /// What a clock that outlives this process (seconds since boot) shows at the `now` of [`Subscribers::new`], so that
    /// discovery cookies outlive it too where their key is kept.
    pub boot_clock_s: u32,
}

impl fmt::Debug for Environment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Environment")
    }
}

/// A pool as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolView {
    /// Its place in the configuration.
    pub pool: PoolIndex,
    /// Its name in the configuration.
    pub name: String,
    /// The range or prefix, as text.
    pub range: String,
    /// How full it is.
    pub usage: Usage,
}

/// All subscribers of the box.
#[derive(Debug)]
pub struct Subscribers {
    config: SubscriberConfig,
    environment: Environment,
    statistics: Statistics,
}

impl Subscribers {
    /// Makes it, with no session. `now` is the time that all later times are measured from.
    ///
    /// # Errors
    /// The configuration cannot be used: what is wrong is named.
    pub fn new(config: SubscriberConfig, environment: Environment, now: Instant) -> Result<Self, ConfigError> {
        let _ = now;
        Ok(Self { config, environment, statistics: Statistics::default() })
    }

    /// Something has happened. What is to be done is added to `out`.
    pub fn handle(&mut self, now: Instant, input: Input<'_>, out: &mut Vec<Action>) {
        let _ = (now, input, out, &self.environment, &self.config);
    }

    /// When [`Subscribers::handle_timeout`] wants to be called next. Costs nothing.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// The time has come; harmless if it has not. A call does a bounded number of sessions; if more are due,
    /// [`Subscribers::poll_timeout`] is not later than `now`.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Action>) {
        let _ = (now, out);
    }

    /// All sessions, in the order of their slots.
    pub fn sessions(&self, now: Instant) -> impl Iterator<Item = SessionView> + '_ {
        let _ = now;
        core::iter::empty()
    }

    /// One session.
    #[must_use]
    pub fn session(&self, now: Instant, key: SubscriberKey) -> Option<SessionView> {
        let _ = (now, key);
        None
    }

    /// The pools.
    #[must_use]
    pub fn pools(&self) -> Vec<PoolView> {
        Vec::new()
    }

    /// The counters.
    #[must_use]
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// How many there are now.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        Gauges::default()
    }

    /// True where no session is left, not even one whose removal is under way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        true
    }
}
