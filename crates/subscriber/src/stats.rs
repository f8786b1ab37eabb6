//! Counters of the control side. Every one only rises.

use crate::action::AuthFailure;
use bng_ppp::{Discard, EndCause};

macro_rules! drops {
    ($($(#[doc = $doc:literal])+ $variant:ident = $label:literal,)*) => {
        /// Why a frame that reached the control side was dropped.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Drop {
            $($(#[doc = $doc])+ $variant,)*
        }

        impl Drop {
            /// All, for counters.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The label of its counter.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)* }
            }

            /// What it means, in a sentence or two.
            #[must_use]
            pub const fn describe(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim_ascii_start(),)* }
            }
        }
    };
}

drops! {
    /// Not an Ethernet frame with at most two tags and a PPPoE EtherType.
    NotPppoe = "not_pppoe",
    /// From a port that is no access port.
    NotAccessPort = "not_access_port",
    /// Addressed to somebody else, or from the port's own address.
    NotForUs = "not_for_us",
    /// No access rule matches its port and tags.
    NoService = "no_service",
    /// The PPPoE header or its length field is wrong (RFC 2516 section 4).
    PppoeMalformed = "pppoe_malformed",
    /// No session has this id.
    UnknownSession = "unknown_session",
    /// The session has ended, and its removal is under way.
    Removing = "removing",
    /// The session belongs to another MAC address or inner VLAN.
    NotOwner = "not_owner",
    /// A PADT for no session, or from somebody who does not own it.
    PadtNotOwner = "padt_not_owner",
    /// Taking no new sessions: draining or stopping.
    Draining = "draining",
    /// The box has as many sessions as it may have.
    SessionsMax = "sessions_max",
    /// The port and outer VLAN have as many sessions as they may have.
    SessionsPerVlan = "sessions_per_vlan",
    /// The line's outer and inner VLAN have as many sessions as they may have.
    SessionsPerLine = "sessions_per_line",
    /// The MAC address has as many sessions on its line as it may have, and none can be replaced.
    SessionsPerMac = "sessions_per_mac",
    /// Too many sessions of the port have not authenticated yet.
    HalfOpen = "half_open",
    /// No session id of this port and VLAN is free.
    SessionIds = "session_ids",
}

/// Counters of the control side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statistics {
    /// PADIs received, whatever became of them.
    pub padi_in: u64,
    /// PADOs sent.
    pub pado_out: u64,
    /// PADRs received.
    pub padr_in: u64,
    /// PADSs sent that grant a session.
    pub pads_out: u64,
    /// PADSs sent that refuse one.
    pub pads_error_out: u64,
    /// PADSs of `pads_out` that answered a repeated PADR.
    pub pads_repeated: u64,
    /// PADTs received.
    pub padt_in: u64,
    /// PADTs sent, all kinds.
    pub padt_out: u64,
    /// PADTs of `padt_out` that answered a frame of an unknown session.
    pub padt_unknown_out: u64,
    /// PPP packets received.
    pub ppp_in: u64,
    /// PPP packets sent.
    pub ppp_out: u64,
    /// Sessions created.
    pub created: u64,
    /// Sessions that a redial of the same line replaced.
    pub redialled: u64,
    /// Sessions that had not authenticated and gave way to a new one of a port at its limit.
    pub gave_way: u64,
    /// Sessions that came up.
    pub came_up: u64,
    /// Clients accepted.
    pub auth_accepted: u64,
    /// Clients refused, by [`AuthFailure`].
    pub auth_refused: [u64; AuthFailure::ALL.len()],
    /// Sessions that got no address because none was free.
    pub pool_exhausted: u64,
    /// How often a line was locked out for failing again and again.
    pub locked_out: u64,
    /// Sessions ended, by [`EndCause`].
    pub ended: [u64; EndCause::ALL.len()],
    /// Frames dropped, by [`Drop`].
    pub dropped: [u64; Drop::ALL.len()],
    /// PPP packets discarded, by [`Discard`].
    pub ppp_discarded: [u64; Discard::ALL.len()],
    /// IPv6 packets for the router that it discarded, by [`bng_ipv6::Discard`].
    pub ipv6_discarded: [u64; bng_ipv6::Discard::ALL.len()],
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            padi_in: 0,
            pado_out: 0,
            padr_in: 0,
            pads_out: 0,
            pads_error_out: 0,
            pads_repeated: 0,
            padt_in: 0,
            padt_out: 0,
            padt_unknown_out: 0,
            ppp_in: 0,
            ppp_out: 0,
            created: 0,
            redialled: 0,
            gave_way: 0,
            came_up: 0,
            auth_accepted: 0,
            auth_refused: [0; AuthFailure::ALL.len()],
            pool_exhausted: 0,
            locked_out: 0,
            ended: [0; EndCause::ALL.len()],
            dropped: [0; Drop::ALL.len()],
            ppp_discarded: [0; Discard::ALL.len()],
            ipv6_discarded: [0; bng_ipv6::Discard::ALL.len()],
        }
    }
}

impl Statistics {
    /// Every counter as (metric name without prefix and `_total`, label value or "", value), for a collector.
    pub fn visit(&self, visit: &mut dyn FnMut(&'static str, &'static str, u64)) {
        for (kind, value) in [("padi", self.padi_in), ("padr", self.padr_in), ("padt", self.padt_in)] {
            visit("discovery_received", kind, value);
        }
        for (kind, value) in [
            ("pado", self.pado_out),
            ("pads", self.pads_out),
            ("pads_error", self.pads_error_out),
            ("padt", self.padt_out),
        ] {
            visit("discovery_sent", kind, value);
        }
        for (name, value) in [
            ("pads_repeated", self.pads_repeated),
            ("padt_unknown_session_sent", self.padt_unknown_out),
            ("ppp_control_received", self.ppp_in),
            ("ppp_control_sent", self.ppp_out),
            ("sessions_created", self.created),
            ("sessions_redialled", self.redialled),
            ("sessions_gave_way", self.gave_way),
            ("sessions_came_up", self.came_up),
            ("auth_accepted", self.auth_accepted),
            ("pool_exhausted", self.pool_exhausted),
            ("lines_locked_out", self.locked_out),
        ] {
            visit(name, "", value);
        }
        for (failure, value) in AuthFailure::ALL.iter().zip(self.auth_refused) {
            visit("auth_refused", failure.label(), value);
        }
        for (cause, value) in EndCause::ALL.iter().zip(self.ended) {
            visit("sessions_ended", cause.label(), value);
        }
        for (reason, value) in Drop::ALL.iter().zip(self.dropped) {
            visit("control_dropped", reason.label(), value);
        }
        for (reason, value) in Discard::ALL.iter().zip(self.ppp_discarded) {
            visit("ppp_discarded", reason.label(), value);
        }
        for (reason, value) in bng_ipv6::Discard::ALL.iter().zip(self.ipv6_discarded) {
            visit("ipv6_discarded", reason.label(), value);
        }
    }
}

/// How many there are now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gauges {
    /// Sessions that have not ended.
    pub live: u32,
    /// Of these, the ones that have not authenticated.
    pub half_open: u32,
    /// Of these, the ones that forward.
    pub up: u32,
    /// Sessions that have ended and whose removal is under way.
    pub removing: u32,
    /// Timers that run.
    pub timers: u32,
}
