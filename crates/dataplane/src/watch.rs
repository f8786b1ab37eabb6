//! Watching: copies of chosen clients' frames with what became of them, for `bngctl trace` and `bngctl capture`.
//!
//! A watch is a few keys and a ring from each worker. A worker looks at the keys only while a watch is on, which it asks
//! once a burst; it never waits: what does not fit into the ring is counted as lost. A watch that nobody reads ends by
//! itself.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;

use arrayvec::ArrayVec;
use bng_session::{SessionIndex, SessionTable};
use bng_sync::{Counter, FrameConsumer, FrameMeta, FrameProducer, frame_ring};
use bng_wire::ether::{Ether, ethertype};
use bng_wire::{MacAddr, PortIndex, SessionId};

use crate::frame::{FrameBuf, PuntClass, PuntMeta, Sink};
use crate::ports::TpidSet;
use crate::reason::Reason;
use crate::work::{Family, State, Work};

/// Watches that may be on at the same time.
pub const WATCHES_MAX: usize = 4;
/// Keys of one watch.
pub const WATCH_KEYS_MAX: usize = 8;
/// A watch that is not read for so long ends, in milliseconds.
pub const WATCH_IDLE_MS_MAX: u64 = 10_000;
/// Octets of one worker's ring of one watch.
const RING_BYTES: usize = 256 * 1024;
/// Records of one worker's ring of one watch.
const RING_RECORDS: usize = 1024;
/// The longest record: notes and a frame. A longer frame is cut.
const RECORD_LEN_MAX: usize = NOTES_LEN + 2048;
/// Octets of a record's notes.
const NOTES_LEN: usize = 40;

/// What a watch looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchKey {
    /// What this session sends and gets.
    Session {
        /// Its entry.
        index: SessionIndex,
        /// The entry's generation: its next session is another one.
        generation: u32,
    },
    /// What a client with this MAC address sends and gets, with or without a session.
    Mac(MacAddr),
}

impl WatchKey {
    const SESSION: u64 = 1 << 63;
    const MAC: u64 = 1 << 62;
    /// Bits of the index, below the generation's.
    const INDEX_BITS: u32 = 28;

    /// Never 0. Of the generation the low 32 bits count, of the index the low 28, which is all that there are.
    const fn pack(self) -> u64 {
        match self {
            Self::Session { index, generation } => {
                Self::SESSION | (generation as u64) << Self::INDEX_BITS | (index.0 & 0x0fff_ffff) as u64
            }
            Self::Mac(mac) => Self::MAC | mac.to_u64(),
        }
    }
}

/// One watch, as workers see it.
#[derive(Debug, Default)]
struct Slot {
    /// Which of the slot's watches this is.
    turn: AtomicU32,
    /// Rises with each reading.
    reads: AtomicU32,
    keys: [AtomicU64; WATCH_KEYS_MAX],
    /// Records that found no room, by worker.
    lost: Vec<Counter>,
}

/// What is watched. Workers read; the management side sets.
#[derive(Debug)]
pub struct Watches {
    /// One bit for each slot that is on.
    active: AtomicU32,
    slots: [Slot; WATCHES_MAX],
}

/// One worker's part: its ends of the rings.
#[derive(Debug)]
pub struct WorkerWatch {
    shared: Arc<Watches>,
    worker: usize,
    rings: [FrameProducer; WATCHES_MAX],
    /// For each slot, its last reading and when this worker first saw that.
    seen: [(u32, u64); WATCHES_MAX],
    number: u32,
}

/// The reader's part of one slot. Only one thread may have it.
#[derive(Debug)]
pub struct WatchReader {
    shared: Arc<Watches>,
    slot: usize,
    rings: Vec<FrameConsumer>,
    lost_before: u64,
}

/// The parts of watching: for each worker, and for each slot.
#[must_use]
pub fn watches(workers: usize) -> (Vec<WorkerWatch>, Vec<WatchReader>) {
    let slot = |_| Slot { lost: (0..workers).map(|_| Counter::default()).collect(), ..Slot::default() };
    let shared = Arc::new(Watches { active: AtomicU32::new(0), slots: core::array::from_fn(slot) });
    let mut readers: Vec<WatchReader> = (0..WATCHES_MAX)
        .map(|slot| WatchReader { shared: Arc::clone(&shared), slot, rings: Vec::new(), lost_before: 0 })
        .collect();
    let workers = (0..workers)
        .map(|worker| {
            let mut consumers = ArrayVec::<_, WATCHES_MAX>::new();
            let rings = core::array::from_fn(|_| {
                let (producer, consumer) = frame_ring(RING_BYTES, RING_RECORDS);
                consumers.push(consumer);
                producer
            });
            for (reader, consumer) in readers.iter_mut().zip(consumers) {
                reader.rings.push(consumer);
            }
            WorkerWatch { shared: Arc::clone(&shared), worker, rings, seen: [(0, 0); WATCHES_MAX], number: 0 }
        })
        .collect();
    (workers, readers)
}

/// What a record tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum WatchStep {
    /// A frame was received. The record has it as it came, and what the stages made of it.
    Received = 0,
    /// A frame was sent on account of the one received: itself, a piece of it, or an answer. The record has it.
    Sent = 1,
    /// The frame received was handed to control.
    Punted = 2,
    /// The frame received was dropped.
    Dropped = 3,
    /// Control sent a frame. The record has it.
    Injected = 4,
}

impl WatchStep {
    const fn from_u8(value: u8) -> Option<Self> {
        Some(match value {
            0 => Self::Received,
            1 => Self::Sent,
            2 => Self::Punted,
            3 => Self::Dropped,
            4 => Self::Injected,
            _ => return None,
        })
    }
}

/// Where the stages had brought a frame before the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum WatchRoute {
    /// It did not come to be routed.
    None = 0,
    /// To a neighbour.
    Neighbour = 1,
    /// To a session.
    Session = 2,
}

/// The stages, in the order that a frame meets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Addresses, tags and EtherType.
    Ethernet,
    /// The PPPoE header.
    Pppoe,
    /// Whose frame it is.
    Session,
    /// The packet: its header, its addresses, or what kind of control it is.
    Packet,
    /// The upstream policer.
    Police,
    /// Where it goes.
    Route,
    /// The way out: size, policer, header.
    Out,
}

impl Stage {
    /// Every stage, in order.
    pub const ALL: [Self; 7] =
        [Self::Ethernet, Self::Pppoe, Self::Session, Self::Packet, Self::Police, Self::Route, Self::Out];

    /// The word in traces.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ethernet => "ethernet",
            Self::Pppoe => "pppoe",
            Self::Session => "session",
            Self::Packet => "packet",
            Self::Police => "police",
            Self::Route => "route",
            Self::Out => "out",
        }
    }

    /// The stage that gives this reason.
    #[must_use]
    pub const fn of(reason: Reason) -> Self {
        use Reason as R;
        match reason {
            R::Runt | R::NotOurMac | R::BadSourceMac | R::TooManyTags | R::UnknownVlan | R::Ethertype => Self::Ethernet,
            R::Discovery | R::Arp | R::UnknownPort | R::NotLinear | R::SteerFull => Self::Ethernet,
            R::PppoeTruncated | R::PppoeVersion | R::PppoeCode | R::PppoeLength | R::PppoeBroadcast => Self::Pppoe,
            R::UnknownSession | R::UnknownSessionLimited | R::SessionMac | R::SessionVlan => Self::Session,
            R::PppKeepalive | R::EchoLimited | R::PppControl | R::ControlLimited => Self::Packet,
            R::Ipv4Truncated | R::Ipv4Version | R::Ipv4HeaderLength | R::Ipv4Length | R::Ipv4Checksum => Self::Packet,
            R::Ipv4Source | R::Ipv4Destination | R::Ipv4Broadcast | R::Ipv4Multicast | R::Ipv4Spoofed => Self::Packet,
            R::Ipv6Truncated | R::Ipv6Version | R::Ipv6Length | R::Ipv6Source | R::Ipv6Destination => Self::Packet,
            R::Ipv6Multicast | R::Ipv6Spoofed | R::Ipv6ServerMessage | R::Ipv6Control => Self::Packet,
            R::PolicedUp => Self::Police,
            R::Ipv4TtlExceeded | R::Ipv6HopLimitExceeded | R::NoRoute | R::Blackhole | R::NoSubscriber => Self::Route,
            R::Host | R::HostRefused | R::PingLimited => Self::Route,
            R::NeighbourUnresolved | R::HeldLimited | R::Ipv4NotUp | R::Ipv6NotUp | R::PolicedDown => Self::Out,
            R::TooBig | R::NoFragmentBuffer | R::NoHeadroom | R::TxFull | R::PuntFull | R::NoBuffer => Self::Out,
        }
    }
}

/// A record, as its reader gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchRecord<'a> {
    /// Which worker saw it.
    pub worker: usize,
    /// The frame's number among those that the worker copied; what was sent on its account has the same.
    pub number: u32,
    /// The worker's clock, which is monotonic and the same for all workers, in milliseconds.
    pub now_ms: u64,
    /// What the record tells.
    pub step: WatchStep,
    /// The port that the frame was received on, or sent.
    pub port: PortIndex,
    /// Why it was punted or dropped.
    pub reason: Option<Reason>,
    /// The session that it came from.
    pub source: Option<SessionIndex>,
    /// Where the stages had brought it.
    pub route: WatchRoute,
    /// The neighbour's or the session's number.
    pub target: u32,
    /// Where the packet begins, in octets from the frame's first.
    pub l3: u16,
    /// Octets of the packet.
    pub l3_len: u16,
    /// Time to live or hop limit; of a packet that was read so far.
    pub ttl: u8,
    /// Octets of the whole frame, of which `frame` may be a part.
    pub frame_octets: u32,
    /// The frame.
    pub frame: &'a [u8],
}

/// A record's notes besides its frame.
#[derive(Debug, Clone, Copy)]
struct Notes {
    now_ms: u64,
    number: u32,
    source: u32,
    route: WatchRoute,
    target: u32,
    l3: u16,
    l3_len: u16,
    ttl: u8,
}

impl Notes {
    fn of(work: &Work, number: u32, now_ms: u64) -> Self {
        let (route, target) = match work.state {
            State::ToNeighbour(id) => (WatchRoute::Neighbour, id.0),
            State::ToSession(index) => (WatchRoute::Session, index.0),
            _ => (WatchRoute::None, 0),
        };
        let source = work.source().map_or(PuntMeta::NO_SESSION, |index| index.0);
        let ttl = if matches!(work.family, Family::V4 | Family::V6) { work.ttl } else { 0 };
        Self { now_ms, number, source, route, target, l3: work.l3, l3_len: work.l3_len, ttl }
    }
}

impl WorkerWatch {
    /// True while a watch is on.
    #[inline]
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.shared.active.load(Ordering::Relaxed) != 0
    }

    /// The watches that are on, one bit each; those that nobody reads any more are ended.
    fn active(&mut self, now_ms: u64) -> u32 {
        let mut active = self.shared.active.load(Ordering::Acquire);
        for (bit, (slot, seen)) in self.shared.slots.iter().zip(&mut self.seen).enumerate() {
            let bit = 1u32 << bit;
            let reads = slot.reads.load(Ordering::Relaxed);
            if active & bit == 0 {
                continue;
            }
            if seen.0 != reads {
                *seen = (reads, now_ms);
            } else if now_ms.saturating_sub(seen.1) > WATCH_IDLE_MS_MAX {
                self.shared.active.fetch_and(!bit, Ordering::Relaxed);
                active &= !bit;
            }
        }
        active
    }

    /// The watches of `active` that look for one of these, zero where there is none.
    fn matching(&self, active: u32, wanted: &[u64]) -> u32 {
        let mut mask = 0;
        for (bit, slot) in self.shared.slots.iter().enumerate() {
            let bit = 1u32 << bit;
            let looks_for = |key: &AtomicU64| {
                let key = key.load(Ordering::Relaxed);
                key != 0 && wanted.contains(&key)
            };
            if active & bit != 0 && slot.keys.iter().any(looks_for) {
                mask |= bit;
            }
        }
        mask
    }

    /// The watches that look for a frame which stands before its last stage.
    fn of_frame(&self, active: u32, work: &Work, frame: &[u8], sessions: &SessionTable) -> u32 {
        let mut wanted = ArrayVec::<u64, 5>::new();
        let target = match work.state {
            State::ToSession(index) => Some(index),
            _ => None,
        };
        for index in [work.source(), target].into_iter().flatten() {
            if let Some(entry) = sessions.entry(index) {
                wanted.push(WatchKey::Session { index, generation: entry.generation() }.pack());
                wanted.push(WatchKey::Mac(entry.key().mac()).pack());
            }
        }
        // A client that has no session is known by its frames alone.
        if let Some([_, _, _, _, _, _, source @ ..]) = frame.first_chunk::<12>() {
            wanted.push(WatchKey::Mac(MacAddr(*source)).pack());
        }
        self.matching(active, &wanted)
    }

    /// Notes that control sends `frame` on `port`.
    #[cold]
    pub(crate) fn injected(&mut self, port: PortIndex, frame: &[u8], now_ms: u64, sessions: &SessionTable) {
        let active = self.active(now_ms);
        let Ok(ether) = Ether::parse(frame, TpidSet::ALL) else { return };
        let mut wanted = ArrayVec::<u64, 2>::new();
        wanted.push(WatchKey::Mac(ether.dst).pack());
        let mut source = None;
        if ether.ethertype == ethertype::PPPOE_SESSION
            && let Some([_, _, high, low]) = frame.get(ether.payload_offset..).and_then(|rest| rest.first_chunk::<4>())
            && let Some(index) =
                sessions.find(port, ether.vlans.outer_vid(), SessionId(u16::from_be_bytes([*high, *low])))
            && let Some(entry) = sessions.entry(index)
        {
            source = Some(index);
            wanted.push(WatchKey::Session { index, generation: entry.generation() }.pack());
        }
        let mask = self.matching(active, &wanted);
        if mask == 0 {
            return;
        }
        self.number = self.number.wrapping_add(1);
        let mut work = Work::IDLE;
        if let Some(index) = source {
            work.set_source(index);
        }
        let notes = Notes::of(&work, self.number, now_ms);
        self.push(mask, WatchStep::Injected, port, None, &notes, frame);
    }

    fn push(
        &mut self,
        mask: u32,
        step: WatchStep,
        port: PortIndex,
        reason: Option<Reason>,
        notes: &Notes,
        frame: &[u8],
    ) {
        let reason = reason.map_or(u16::MAX, |reason| reason as u16);
        let Self { shared, worker, rings, .. } = self;
        for (bit, (slot, ring)) in shared.slots.iter().zip(rings).enumerate() {
            if mask & (1 << bit) == 0 {
                continue;
            }
            let turn = slot.turn.load(Ordering::Relaxed);
            let mut record = ArrayVec::<u8, RECORD_LEN_MAX>::new();
            let octets = u32::try_from(frame.len()).unwrap_or(u32::MAX);
            let parts: [&[u8]; 10] = [
                &notes.now_ms.to_le_bytes(),
                &turn.to_le_bytes(),
                &notes.number.to_le_bytes(),
                &notes.source.to_le_bytes(),
                &notes.target.to_le_bytes(),
                &octets.to_le_bytes(),
                &notes.l3.to_le_bytes(),
                &notes.l3_len.to_le_bytes(),
                &[notes.route as u8, notes.ttl, 0, 0, 0, 0, 0, 0],
                frame.get(..frame.len().min(RECORD_LEN_MAX - NOTES_LEN)).unwrap_or(&[]),
            ];
            // They fit by their lengths.
            let written = parts.iter().all(|part| record.try_extend_from_slice(part).is_ok());
            let meta = FrameMeta { port: port.0, kind: step as u8, reason, session: notes.source };
            if (!written || ring.push(meta, &record).is_err())
                && let Some(lost) = slot.lost.get(*worker)
            {
                lost.add(1);
            }
        }
    }
}

/// Stands before a sink and notes what passes.
struct Spy<'a, S> {
    sink: &'a mut S,
    watch: &'a mut WorkerWatch,
    mask: u32,
    port: PortIndex,
    notes: Notes,
}

impl<F: FrameBuf, S: Sink<F>> Sink<F> for Spy<'_, S> {
    fn transmit(&mut self, port: PortIndex, frame: F) {
        self.watch.push(self.mask, WatchStep::Sent, port, None, &self.notes, frame.bytes());
        self.sink.transmit(port, frame);
    }

    fn punt(&mut self, class: PuntClass, meta: PuntMeta, frame: F) {
        self.watch.push(self.mask, WatchStep::Punted, self.port, Some(meta.reason), &self.notes, &[]);
        self.sink.punt(class, meta, frame);
    }

    fn discard(&mut self, reason: Reason, frame: F) {
        self.watch.push(self.mask, WatchStep::Dropped, self.port, Some(reason), &self.notes, &[]);
        self.sink.discard(reason, frame);
    }

    fn allocate(&mut self) -> Option<F> {
        self.sink.allocate()
    }
}

/// Ends the frames of a burst as [`crate::finish::Finish::finish`] does, and notes those that are watched.
#[cold]
#[inline(never)]
pub(crate) fn finish_watched<F: FrameBuf, S: Sink<F>>(
    end: &mut crate::finish::Finish<'_>,
    watch: &mut WorkerWatch,
    frames: impl Iterator<Item = (Work, F)>,
    sink: &mut S,
) {
    let now_ms = end.police.now_ms;
    let active = watch.active(now_ms);
    for (work, frame) in frames {
        let mask = watch.of_frame(active, &work, frame.bytes(), &end.tables.sessions);
        if mask == 0 {
            end.finish_apart(&work, frame, sink);
            continue;
        }
        watch.number = watch.number.wrapping_add(1);
        let notes = Notes::of(&work, watch.number, now_ms);
        let port = end.port;
        watch.push(mask, WatchStep::Received, port, None, &notes, frame.bytes());
        end.finish_apart(&work, frame, &mut Spy { sink, watch, mask, port, notes });
    }
}

impl WatchReader {
    /// True while the watch that was begun last is on.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.shared.active.load(Ordering::Relaxed) & self.bit() != 0
    }

    const fn bit(&self) -> u32 {
        1 << self.slot
    }

    fn slot(&self) -> Option<&Slot> {
        self.shared.slots.get(self.slot)
    }

    /// Begins a watch for these keys, of which the first [`WATCH_KEYS_MAX`] count. An earlier one ends.
    pub fn begin(&mut self, keys: &[WatchKey]) {
        self.end();
        // What is left of an earlier one, and what a worker still writes, has another turn.
        for ring in &mut self.rings {
            while ring.pop_with(|_, _| ()) {}
        }
        self.lost_before = self.lost_now();
        let Some(slot) = self.slot() else { return };
        for (n, place) in slot.keys.iter().enumerate() {
            place.store(keys.get(n).map_or(0, |key| key.pack()), Ordering::Relaxed);
        }
        slot.turn.fetch_add(1, Ordering::Relaxed);
        slot.reads.fetch_add(1, Ordering::Relaxed);
        self.shared.active.fetch_or(self.bit(), Ordering::Release);
    }

    /// Ends the watch; what was noted can still be read.
    pub fn end(&mut self) {
        self.shared.active.fetch_and(!self.bit(), Ordering::Relaxed);
    }

    /// Records that found no room since the watch began.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost_now().wrapping_sub(self.lost_before)
    }

    fn lost_now(&self) -> u64 {
        self.slot().map_or(0, |slot| slot.lost.iter().map(Counter::get).fold(0, u64::wrapping_add))
    }

    /// Gives what was noted to `look`, at most `records_max` records, those of one worker in their order. Each call keeps
    /// the watch on.
    pub fn read(&mut self, records_max: usize, mut look: impl FnMut(WatchRecord<'_>)) -> usize {
        let Self { shared, slot, rings, .. } = self;
        let Some(slot) = shared.slots.get(*slot) else { return 0 };
        slot.reads.fetch_add(1, Ordering::Relaxed);
        let turn = slot.turn.load(Ordering::Relaxed);
        let mut count = 0usize;
        for (worker, ring) in rings.iter_mut().enumerate() {
            while count < records_max
                && ring.pop_with(|meta, octets| {
                    if let Some((of_turn, record)) = decode(worker, meta, octets)
                        && of_turn == turn
                    {
                        look(record);
                    }
                })
            {
                count = count.saturating_add(1);
            }
        }
        count
    }
}

/// A record and its turn.
fn decode(worker: usize, meta: FrameMeta, octets: &[u8]) -> Option<(u32, WatchRecord<'_>)> {
    let (notes, frame) = octets.split_first_chunk::<NOTES_LEN>()?;
    let word = |at: usize| {
        let (octets, _) = notes.get(at..)?.split_first_chunk::<4>()?;
        Some(u32::from_le_bytes(*octets))
    };
    let half = |at: usize| {
        let (octets, _) = notes.get(at..)?.split_first_chunk::<2>()?;
        Some(u16::from_le_bytes(*octets))
    };
    let record = WatchRecord {
        worker,
        now_ms: u64::from(word(0)?) | u64::from(word(4)?) << 32,
        number: word(12)?,
        step: WatchStep::from_u8(meta.kind)?,
        port: PortIndex(meta.port),
        reason: Reason::from_u16(meta.reason),
        source: PuntMeta::session_from_bits(word(16)?),
        target: word(20)?,
        frame_octets: word(24)?,
        l3: half(28)?,
        l3_len: half(30)?,
        route: match notes.get(32)? {
            1 => WatchRoute::Neighbour,
            2 => WatchRoute::Session,
            _ => WatchRoute::None,
        },
        ttl: *notes.get(33)?,
        frame,
    };
    Some((word(8)?, record))
}
