//! Accounting: sessions into Start, Interim and Stop requests that arrive once each, in order, even if late.
//!
//! [`Accounting`] decides what is to be told and when; a [`crate::Client`] of purpose accounting sends it. Its owner
//! carries out [`Action`]s in order: hands [`Action::Submit`] to the client, brings back what becomes of it, reads a
//! session's counters when asked, and keeps records on disk.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::Now;
use crate::authorization::Authorization;
use crate::build::{AttributeList, DoesNotFit};
use crate::client::Request;
use crate::dictionary::{VENDOR_BNGD, number};
use crate::queue::{Entry, Queue, WHOLE_BOX};
use crate::random::Random;
use crate::request::{Nas, Subscriber, text, timestamp};
use crate::timers::Timers;

pub use crate::queue::Kind;

/// No interval between interims is shorter (RFC 2869 section 5.16: must not be smaller than 60 seconds).
pub const INTERIM_FLOOR: Duration = Duration::from_secs(60);

/// A session as accounting tells of it. Formats are the owner's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionRecord {
    /// Who and where; its `user_name` is the one from Access-Accept, if that had one.
    pub subscriber: Subscriber,
    /// Class, in order, octet for octet.
    pub classes: Vec<Vec<u8>>,
    /// Who authenticated: 1 RADIUS, 2 local (RFC 2866 section 5.6).
    pub authentic: u32,
    /// Framed-IP-Address; never one of the two magic values.
    pub ipv4: Option<Ipv4Addr>,
    /// Framed-Interface-Id.
    pub interface_id: Option<u64>,
    /// Framed-IPv6-Prefix.
    pub ipv6_prefixes: Vec<(Ipv6Addr, u8)>,
    /// Framed-IPv6-Address.
    pub ipv6_addresses: Vec<Ipv6Addr>,
    /// Delegated-IPv6-Prefix.
    pub delegated_prefixes: Vec<(Ipv6Addr, u8)>,
}

impl SessionRecord {
    /// A record of a session that RADIUS has let in: User-Name and Class as the reply has them.
    #[must_use]
    pub fn new(subscriber: Subscriber, authorization: &Authorization) -> Self {
        let mut record = Self { subscriber, authentic: 1, ..Self::default() };
        if let Some(name) = &authorization.user_name {
            record.subscriber.user_name.clone_from(name);
        }
        record.classes.clone_from(&authorization.classes);
        record
    }

    fn write(&self, list: &mut AttributeList) -> Result<(), DoesNotFit> {
        text(list, number::USER_NAME, &self.subscriber.user_name)?;
        // Before what may be left out for want of room: billing needs these.
        for class in &self.classes {
            text(list, number::CLASS, class)?;
        }
        list.push_integer(number::ACCT_AUTHENTIC, self.authentic)?;
        if let Some(address) = self.ipv4 {
            list.push_ipv4(number::FRAMED_IP_ADDRESS, address)?;
        }
        if let Some(id) = self.interface_id {
            list.push(number::FRAMED_INTERFACE_ID, &id.to_be_bytes())?;
        }
        for (prefix, length) in &self.ipv6_prefixes {
            list.push_ipv6_prefix(number::FRAMED_IPV6_PREFIX, *prefix, *length)?;
        }
        for address in &self.ipv6_addresses {
            list.push_ipv6(number::FRAMED_IPV6_ADDRESS, *address)?;
        }
        for (prefix, length) in &self.delegated_prefixes {
            list.push_ipv6_prefix(number::DELEGATED_IPV6_PREFIX, *prefix, *length)?;
        }
        self.subscriber.write(list)
    }
}

/// Inner IP packets and their octets; input is from the client (RFC 2866 section 5.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Octets from the client.
    pub input_octets: u64,
    /// Octets to the client.
    pub output_octets: u64,
    /// Packets from the client.
    pub input_packets: u64,
    /// Packets to the client.
    pub output_packets: u64,
}

impl Counts {
    fn each(self) -> [u64; 4] {
        [self.input_octets, self.output_octets, self.input_packets, self.output_packets]
    }

    fn combine(self, other: Self, with: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input_octets: with(self.input_octets, other.input_octets),
            output_octets: with(self.output_octets, other.output_octets),
            input_packets: with(self.input_packets, other.input_packets),
            output_packets: with(self.output_packets, other.output_packets),
        }
    }
}

/// What a session has used since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// By IPv4.
    pub ipv4: Counts,
    /// By IPv6.
    pub ipv6: Counts,
    /// Both together, where they are not counted apart: it is told in the sums alone.
    pub together: Counts,
}

impl Usage {
    /// What is not counted apart.
    #[must_use]
    pub fn sum(together: Counts) -> Self {
        Self { together, ..Self::default() }
    }

    fn write(&self, list: &mut AttributeList) -> Result<(), DoesNotFit> {
        let apart = self.ipv4.combine(self.ipv6, u64::saturating_add);
        let sum = apart.combine(self.together, u64::saturating_add);
        for (low, high, octets) in [
            (number::ACCT_INPUT_OCTETS, number::ACCT_INPUT_GIGAWORDS, sum.input_octets),
            (number::ACCT_OUTPUT_OCTETS, number::ACCT_OUTPUT_GIGAWORDS, sum.output_octets),
        ] {
            // RFC 2869 section 5.1: how often the 32 bits have wrapped. Sent when 0 too, so that nobody has to guess.
            let (gigawords, rest) = halves(octets);
            list.push_integer(low, rest)?;
            list.push_integer(high, gigawords)?;
        }
        list.push_integer(number::ACCT_INPUT_PACKETS, halves(sum.input_packets).1)?;
        list.push_integer(number::ACCT_OUTPUT_PACKETS, halves(sum.output_packets).1)?;
        if sum != apart {
            return Ok(());
        }
        for (first, counts) in
            [(number::BNGD_IPV4_INPUT_OCTETS, self.ipv4), (number::BNGD_IPV6_INPUT_OCTETS, self.ipv6)]
        {
            for (count, number) in counts.each().into_iter().zip(first..) {
                list.push_vendor(VENDOR_BNGD, number, &count.to_be_bytes())?;
            }
        }
        Ok(())
    }
}

/// The upper and the lower 32 bits.
fn halves(value: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = value.to_be_bytes();
    (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
}

/// Settings.
#[derive(Debug, Clone)]
pub struct AccountingConfig {
    /// How the box names itself.
    pub nas: Nas,
    /// Acct-Session-Id of Accounting-On and -Off, another one at each start.
    pub box_session_id: Vec<u8>,
    /// Interval between interims set here, which wins over a server's (RFC 2869 section 2.1); `None`: the server's, and
    /// without one no interims.
    pub interim_interval: Option<Duration>,
    /// By how many hundredths an interval may be shortened at random, 0 to 50.
    pub interim_jitter_percent: u32,
    /// Requests in flight at most; half of `entries_max` where that is less.
    pub window: usize,
    /// Entries in the queue at most.
    pub entries_max: usize,
    /// Octets of memory for the queue at most, roughly.
    pub octets_max: usize,
    /// Time between attempts while nobody answers: at first, and at most.
    pub retry: (Duration, Duration),
}

impl Default for AccountingConfig {
    fn default() -> Self {
        Self {
            nas: Nas::default(),
            box_session_id: b"bngd".to_vec(),
            interim_interval: None,
            interim_jitter_percent: 10,
            window: 256,
            entries_max: 300_000,
            octets_max: 256 << 20,
            retry: (Duration::from_secs(5), Duration::from_secs(60)),
        }
    }
}

/// What the owner is to do, in order.
#[derive(Debug, Clone)]
pub enum Action {
    /// Give this to the accounting client with `id` as its key, and tell what becomes of it by
    /// [`Accounting::answered`] or [`Accounting::unanswered`].
    Submit {
        /// The entry's number.
        id: u64,
        /// What to send.
        request: Request,
    },
    /// Read this session's counters and call [`Accounting::interim`].
    ReadUsage {
        /// The session's key.
        session: u64,
    },
    /// Keep these octets under this number, over a restart too; replaces what was kept under it.
    Persist {
        /// The entry's number.
        id: u64,
        /// What to keep.
        octets: Vec<u8>,
    },
    /// Nothing needs to be kept under this number any more.
    Forget {
        /// The entry's number.
        id: u64,
    },
}

/// What has become of entries, by kind ([`Kind::ALL`]'s order).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AccountingCounters {
    /// Taken into the queue.
    pub queued: [u64; 5],
    /// Answered by a server.
    pub delivered: [u64; 5],
    /// Dropped because the queue was full, the oldest first.
    pub dropped: [u64; 5],
    /// Interims whose place a newer interim or the Stop took before they were sent: its counters include theirs.
    pub superseded: u64,
    /// Requests that did not fit in a packet.
    pub too_long: u64,
    /// Kept records that could not be read back.
    pub unreadable: u64,
}

struct Session {
    /// The attributes that stay the same, as octets.
    identity: AttributeList,
    started: Instant,
    interval: Option<Duration>,
    next_at: Option<Instant>,
    usage: Usage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Retry,
    Interim(u64),
}

/// After so many attempts an Accounting-On or -Off is given up: a server that does not know them must not block all.
const WHOLE_BOX_ATTEMPTS_MAX: u32 = 3;

/// See the [module](self).
pub struct Accounting {
    config: AccountingConfig,
    sessions: HashMap<u64, Session>,
    queue: Queue,
    timers: Timers<Timer>,
    random: Random,
    /// Requests in flight at most at present: falls to 1 when nobody answers, and doubles with answers.
    window: usize,
    retry_at: Option<Instant>,
    retry_after: Duration,
    counters: AccountingCounters,
}

impl Accounting {
    /// Nothing to tell yet. `seed` spreads interims.
    #[must_use]
    pub fn new(mut config: AccountingConfig, seed: [u8; 32]) -> Self {
        // What is in flight is not dropped: it must not fill the queue, or the newest entry would be the one to go.
        config.window = config.window.min(config.entries_max / 2).max(1);
        Self {
            window: config.window,
            retry_after: config.retry.0,
            config,
            sessions: HashMap::new(),
            queue: Queue::new(),
            timers: Timers::new(),
            random: Random::new(seed),
            retry_at: None,
            counters: AccountingCounters::default(),
        }
    }

    /// Takes back a record that was kept before a restart, before anything else is queued.
    pub fn restore(&mut self, now: Now, id: u64, octets: &[u8]) {
        let restored = Entry::from_octets(now, octets).and_then(|entry| self.queue.push(Some(id), entry));
        if restored.is_none() {
            self.counters.unreadable = self.counters.unreadable.saturating_add(1);
        }
    }

    /// The box has started and has no sessions: Accounting-On.
    pub fn on(&mut self, now: Now, out: &mut Vec<Action>) {
        self.whole_box(now, Kind::On, out);
    }

    /// The box is being stopped and has no sessions any more: Accounting-Off.
    pub fn off(&mut self, now: Now, out: &mut Vec<Action>) {
        self.whole_box(now, Kind::Off, out);
    }

    /// A session has begun. `session` is its key: any number but `u64::MAX`, never used before, over restarts too.
    /// `server_interval_s` is the reply's Acct-Interim-Interval.
    pub fn start(
        &mut self,
        now: Now,
        session: u64,
        record: &SessionRecord,
        server_interval_s: Option<u32>,
        out: &mut Vec<Action>,
    ) {
        if !self.adopt(now, session, record, server_interval_s, Duration::ZERO) {
            return;
        }
        self.tell(now, session, Kind::Start, None, out);
        self.pump(now, out);
    }

    /// A session that lived before this process did: no Start. Its first interim comes at any time within the interval,
    /// so that the interims of many are spread.
    pub fn resume(
        &mut self,
        now: Now,
        session: u64,
        record: &SessionRecord,
        server_interval_s: Option<u32>,
        age: Duration,
        usage: Usage,
    ) {
        if self.adopt(now, session, record, server_interval_s, age)
            && let Some(entry) = self.sessions.get_mut(&session)
        {
            entry.usage = usage;
            if let Some(interval) = entry.interval {
                entry.next_at = now.at.checked_add(part(interval, self.random.millionths()));
                if let Some(at) = entry.next_at {
                    self.timers.set(at, Timer::Interim(session));
                }
            }
        }
    }

    fn adopt(
        &mut self,
        now: Now,
        session: u64,
        record: &SessionRecord,
        server_interval_s: Option<u32>,
        age: Duration,
    ) -> bool {
        let mut identity = AttributeList::new();
        if session == WHOLE_BOX
            || self.config.nas.write(&mut identity).and_then(|()| record.write(&mut identity)).is_err()
        {
            self.counters.too_long = self.counters.too_long.saturating_add(1);
            return false;
        }
        let interval = self.interval(server_interval_s);
        let next_at = self.next_interim(now.at, interval);
        if let Some(at) = next_at {
            self.timers.set(at, Timer::Interim(session));
        }
        let started = now.at.checked_sub(age).unwrap_or(now.at);
        let usage = Usage::default();
        self.sessions.insert(session, Session { identity, started, interval, next_at, usage });
        true
    }

    /// A session's counters now, as [`Action::ReadUsage`] asked for.
    pub fn interim(&mut self, now: Now, session: u64, usage: Usage, out: &mut Vec<Action>) {
        if self.note_usage(session, usage) {
            self.tell(now, session, Kind::Interim, None, out);
            self.pump(now, out);
        }
    }

    /// Something about the session has changed, an address has come or gone: an interim at once.
    pub fn changed(&mut self, now: Now, session: u64, record: &SessionRecord, usage: Usage, out: &mut Vec<Action>) {
        let mut identity = AttributeList::new();
        if self.config.nas.write(&mut identity).and_then(|()| record.write(&mut identity)).is_err() {
            self.counters.too_long = self.counters.too_long.saturating_add(1);
        } else if let Some(entry) = self.sessions.get_mut(&session) {
            entry.identity = identity;
        }
        self.interim(now, session, usage, out);
    }

    /// The server has changed the interval (CoA).
    pub fn set_interval(&mut self, now: Now, session: u64, server_interval_s: Option<u32>) {
        let interval = self.interval(server_interval_s);
        let next_at = self.next_interim(now.at, interval);
        if let Some(entry) = self.sessions.get_mut(&session) {
            (entry.interval, entry.next_at) = (interval, next_at);
            if let Some(at) = next_at {
                self.timers.set(at, Timer::Interim(session));
            }
        }
    }

    /// A session has ended: its last counters, and Acct-Terminate-Cause (RFC 2866 section 5.10).
    pub fn stop(&mut self, now: Now, session: u64, usage: Usage, terminate_cause: u32, out: &mut Vec<Action>) {
        if self.note_usage(session, usage) {
            if let Some(interim) = self.queue.waiting_interim(session) {
                self.counters.superseded = self.counters.superseded.saturating_add(1);
                self.remove(interim, out);
            }
            self.tell(now, session, Kind::Stop, Some(terminate_cause), out);
            self.sessions.remove(&session);
            self.pump(now, out);
        }
    }

    /// A server has answered: done.
    pub fn answered(&mut self, now: Now, id: u64, out: &mut Vec<Action>) {
        if let Some(kind) = self.remove(id, out) {
            count(&mut self.counters.delivered, kind);
        }
        self.window = self.window.saturating_mul(2).clamp(1, self.config.window);
        self.retry_at = None;
        self.retry_after = self.config.retry.0;
        self.pump(now, out);
    }

    /// No server has answered, or the client would not take it: it stays, and goes out again later, with a new
    /// Identifier and its true Acct-Delay-Time.
    pub fn unanswered(&mut self, now: Now, id: u64, out: &mut Vec<Action>) {
        self.queue.send_again(id);
        if let Some(entry) = self.queue.get_mut(id) {
            entry.attempts = entry.attempts.saturating_add(1);
            let kind = entry.kind;
            if kind.is_whole_box() && entry.attempts >= WHOLE_BOX_ATTEMPTS_MAX {
                self.remove(id, out);
                count(&mut self.counters.dropped, kind);
            } else if !entry.persisted {
                entry.persisted = true;
                out.push(Action::Persist { id, octets: entry.to_octets() });
            }
        }
        self.window = 1;
        if self.retry_at.is_none_or(|at| at <= now.at) {
            let at = now.at.checked_add(self.retry_after).unwrap_or(now.at);
            self.retry_at = Some(at);
            self.retry_after = self.retry_after.saturating_mul(2).min(self.config.retry.1);
            self.timers.set(at, Timer::Retry);
        }
    }

    /// Keeps all that waits, before the process ends.
    pub fn persist_all(&mut self, out: &mut Vec<Action>) {
        let numbers: Vec<u64> = self.queue.numbers().collect();
        for id in numbers {
            if let Some(entry) = self.queue.get_mut(id)
                && !entry.persisted
            {
                entry.persisted = true;
                out.push(Action::Persist { id, octets: entry.to_octets() });
            }
        }
    }

    /// When [`Accounting::handle_timeout`] is to be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Interims that are due, and another attempt while nobody answers.
    pub fn handle_timeout(&mut self, now: Now, out: &mut Vec<Action>) {
        while let Some((at, timer)) = self.timers.pop_due(now.at) {
            match timer {
                Timer::Retry => {
                    if self.retry_at == Some(at) {
                        self.retry_at = None;
                    }
                }
                Timer::Interim(session) => {
                    let Some(entry) = self.sessions.get(&session).filter(|entry| entry.next_at == Some(at)) else {
                        continue;
                    };
                    let next_at = self.next_interim(now.at, entry.interval);
                    if let Some(entry) = self.sessions.get_mut(&session) {
                        entry.next_at = next_at;
                    }
                    if let Some(at) = next_at {
                        self.timers.set(at, Timer::Interim(session));
                    }
                    out.push(Action::ReadUsage { session });
                }
            }
        }
        let (sessions, retry_at) = (&self.sessions, self.retry_at);
        self.timers.sweep(sessions.len().saturating_add(1), |at, timer| match timer {
            Timer::Retry => retry_at == Some(at),
            Timer::Interim(session) => sessions.get(&session).is_some_and(|entry| entry.next_at == Some(at)),
        });
        self.pump(now, out);
    }

    /// Entries that wait or are in flight.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Memory of the queue in octets, roughly.
    #[must_use]
    pub fn queued_octets(&self) -> usize {
        self.queue.octets()
    }

    /// Sessions that are accounted for.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Counters.
    #[must_use]
    pub const fn counters(&self) -> &AccountingCounters {
        &self.counters
    }

    /// The interval in force: the one set here wins, none is below the floor, 0 is none.
    fn interval(&self, server_interval_s: Option<u32>) -> Option<Duration> {
        let servers = server_interval_s.filter(|s| *s != 0).map(|s| Duration::from_secs(s.into()));
        self.config.interim_interval.or(servers).filter(|it| !it.is_zero()).map(|it| it.max(INTERIM_FLOOR))
    }

    /// Somewhere in the last part of the interval, never before the floor; where the floor leaves no room, past it.
    fn next_interim(&mut self, from: Instant, interval: Option<Duration>) -> Option<Instant> {
        let interval = interval?;
        let percent = self.config.interim_jitter_percent.min(50);
        let room = interval.checked_div(100)?.saturating_mul(percent);
        let earliest = interval.saturating_sub(room).max(INTERIM_FLOOR);
        let latest = interval.max(earliest.saturating_add(if earliest >= interval { room } else { Duration::ZERO }));
        let after = earliest.saturating_add(part(latest.saturating_sub(earliest), self.random.millionths()));
        from.checked_add(after)
    }

    /// Notes counters, which never go down. False: no such session.
    fn note_usage(&mut self, session: u64, usage: Usage) -> bool {
        let Some(entry) = self.sessions.get_mut(&session) else { return false };
        entry.usage.ipv4 = entry.usage.ipv4.combine(usage.ipv4, u64::max);
        entry.usage.ipv6 = entry.usage.ipv6.combine(usage.ipv6, u64::max);
        entry.usage.together = entry.usage.together.combine(usage.together, u64::max);
        true
    }

    fn whole_box(&mut self, now: Now, kind: Kind, out: &mut Vec<Action>) {
        let mut list = AttributeList::new();
        let built = status(&mut list, kind, now)
            .and_then(|()| text(&mut list, number::ACCT_SESSION_ID, &self.config.box_session_id))
            .and_then(|()| self.config.nas.write(&mut list));
        if built.is_ok() {
            self.push(now, WHOLE_BOX, kind, list, out);
        }
        self.pump(now, out);
    }

    /// Queues what there is to say about a session.
    fn tell(&mut self, now: Now, session: u64, kind: Kind, cause: Option<u32>, out: &mut Vec<Action>) {
        let Some(entry) = self.sessions.get(&session) else { return };
        let mut list = AttributeList::new();
        let built = status(&mut list, kind, now).and_then(|()| {
            if kind != Kind::Start {
                let time = now.at.saturating_duration_since(entry.started).as_secs();
                list.push_integer(number::ACCT_SESSION_TIME, u32::try_from(time).unwrap_or(u32::MAX))?;
                entry.usage.write(&mut list)?;
            }
            if let Some(cause) = cause {
                list.push_integer(number::ACCT_TERMINATE_CAUSE, cause)?;
            }
            list.append(&entry.identity)
        });
        if built.is_err() {
            self.counters.too_long = self.counters.too_long.saturating_add(1);
            return;
        }
        if kind == Kind::Interim
            && let Some(waiting) = self.queue.waiting_interim(session)
        {
            self.counters.superseded = self.counters.superseded.saturating_add(1);
            self.queue.replace(waiting, list, now);
            if let Some(entry) = self.queue.get_mut(waiting)
                && entry.persisted
            {
                out.push(Action::Persist { id: waiting, octets: entry.to_octets() });
            }
            return;
        }
        self.push(now, session, kind, list, out);
    }

    fn push(&mut self, now: Now, session: u64, kind: Kind, attributes: AttributeList, out: &mut Vec<Action>) {
        // A Stop is kept at once: a crash must not lose it. The others are kept when a first attempt has failed, or where
        // they have to wait for theirs.
        let waits = self.retry_at.is_some() || self.queue.in_flight() >= self.window;
        let persisted = kind == Kind::Stop || waits && !kind.is_whole_box();
        let entry = Entry { kind, session, attributes, event: now, age_s: 0, in_flight: false, persisted, attempts: 0 };
        let octets = persisted.then(|| entry.to_octets());
        count(&mut self.counters.queued, kind);
        let Some(id) = self.queue.push(None, entry) else { return };
        if let Some(octets) = octets {
            out.push(Action::Persist { id, octets });
        }
        while self.queue.len() > self.config.entries_max || self.queue.octets() > self.config.octets_max {
            let Some(oldest) = self.queue.oldest() else { break };
            if let Some(kind) = self.remove(oldest, out) {
                count(&mut self.counters.dropped, kind);
            }
        }
    }

    fn remove(&mut self, id: u64, out: &mut Vec<Action>) -> Option<Kind> {
        let entry = self.queue.remove(id)?;
        if entry.persisted {
            out.push(Action::Forget { id });
        }
        Some(entry.kind)
    }

    /// Sends what may be sent.
    fn pump(&mut self, now: Now, out: &mut Vec<Action>) {
        if self.retry_at.is_some_and(|at| at > now.at) {
            return;
        }
        while self.queue.in_flight() < self.window && !self.queue.whole_box_in_flight() {
            let Some((id, entry)) = self.queue.send_next() else { break };
            let request = Request {
                attributes: entry.attributes.clone(),
                password: None,
                delay_since: Some((entry.event.at, entry.age_s)),
            };
            out.push(Action::Submit { id, request });
        }
    }
}

fn status(list: &mut AttributeList, kind: Kind, now: Now) -> Result<(), DoesNotFit> {
    list.push_integer(number::ACCT_STATUS_TYPE, kind as u32)?;
    list.push_integer(number::EVENT_TIMESTAMP, timestamp(now.unix_s))
}

fn count(counters: &mut [u64; 5], kind: Kind) {
    for (counter, of) in counters.iter_mut().zip(Kind::ALL) {
        if of == kind {
            *counter = counter.saturating_add(1);
        }
    }
}

/// That many millionths of a time.
fn part(time: Duration, millionths: u32) -> Duration {
    let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let us = u128::from(us).saturating_mul(millionths.into()).checked_div(1_000_000).unwrap_or(0);
    Duration::from_micros(u64::try_from(us).unwrap_or(u64::MAX))
}
