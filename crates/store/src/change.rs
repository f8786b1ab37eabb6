use crate::meta::CookieKey;

/// The longest record that the store takes, in octets.
pub const RECORD_OCTETS_MAX: usize = 4096;

/// The name of a session over all runs: the run number in the upper 24 bits, a count in the lower 40.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Serial(pub u64);

impl Serial {
    /// The `count`-th session of a run. Both are cut to their bits.
    #[must_use]
    pub const fn new(run: u32, count: u64) -> Self {
        Self(((run as u64) & 0xff_ffff) << 40 | (count & 0xff_ffff_ffff))
    }

    /// The run that it comes from.
    #[must_use]
    pub const fn run(self) -> u32 {
        (self.0 >> 40) as u32
    }
}

/// How far the story has been told: grows by one with each change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Ticket(pub u64);

/// A session's counters at a moment, as accounting may name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// The session's counters, in the order of the caller.
    pub values: [u64; 6],
    /// Milliseconds of `CLOCK_BOOTTIME`.
    pub boot_ms: u64,
    /// Milliseconds since 1970, UTC.
    pub wall_ms: u64,
}

impl Totals {
    /// Octets of the stored form.
    pub(crate) const OCTETS: usize = 64;

    pub(crate) fn encode(&self) -> [u8; Self::OCTETS] {
        let mut octets = [0; Self::OCTETS];
        let all = self.values.iter().chain([&self.boot_ms, &self.wall_ms]);
        for (place, value) in octets.chunks_exact_mut(8).zip(all) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        octets
    }

    pub(crate) fn decode(octets: &[u8]) -> Option<Self> {
        let octets: &[u8; Self::OCTETS] = octets.try_into().ok()?;
        let mut numbers = octets.chunks_exact(8).filter_map(|chunk| Some(u64::from_le_bytes(chunk.try_into().ok()?)));
        let mut next = || numbers.next();
        let values = [next()?, next()?, next()?, next()?, next()?, next()?];
        Some(Self { values, boot_ms: next()?, wall_ms: next()? })
    }
}

/// What a name in the store is the name of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum NameKind {
    /// A port of the configuration.
    Port = 0,
    /// A profile.
    Profile = 1,
    /// A pool.
    Pool = 2,
}

impl NameKind {
    pub(crate) const fn from_octet(octet: u8) -> Option<Self> {
        match octet {
            0 => Some(Self::Port),
            1 => Some(Self::Profile),
            2 => Some(Self::Pool),
            _ => None,
        }
    }
}

/// One thing that happened. Of changes to the same key that wait together, the newest is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A session as it is now; at most [`RECORD_OCTETS_MAX`] octets.
    Session {
        /// Which.
        serial: Serial,
        /// Its record.
        record: Box<[u8]>,
    },
    /// A session is gone, and its safe counters with it.
    Gone {
        /// Which.
        serial: Serial,
    },
    /// Counters that accounting may name from now on. Of a session that is gone: nothing.
    Safe {
        /// Whose.
        serial: Serial,
        /// The counters.
        totals: Totals,
    },
    /// An accounting record that is to reach a server; at most [`RECORD_OCTETS_MAX`] octets.
    Accounting {
        /// Its place in the queue.
        sequence: u64,
        /// Its attributes.
        record: Box<[u8]>,
    },
    /// A server has that record, or it was given up.
    Acknowledged {
        /// Its place in the queue.
        sequence: u64,
    },
    /// No session id of this space above `id` has ever been given out.
    IdMark {
        /// Name id of the port.
        port: u16,
        /// Outer VLAN, 0 for none.
        outer_vid: u16,
        /// The mark.
        id: u16,
    },
    /// One of the values that there is one of.
    Meta(MetaChange),
}

/// A change of [`Meta`](crate::Meta).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetaChange {
    /// The cookie key in force and the one before it.
    CookieKeys {
        /// In force.
        current: CookieKey,
        /// Still good for cookies under way.
        before: Option<CookieKey>,
    },
    /// Which file of counters is in use.
    CounterEpoch(u64),
    /// The DHCPv6 server's DUID (RFC 8415, section 11), at most 130 octets.
    ServerDuid(Box<[u8]>),
    /// This run has served for 30 s: what was restored does no harm.
    Served,
}
