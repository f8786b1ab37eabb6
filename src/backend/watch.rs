//! Watching clients: from the workers' copies to what `bngctl trace` and `bngctl capture` show.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bng_api as api;
use bng_api::BackendError;
use bng_dataplane::{
    Reason, Stage, TpidSet, WATCH_IDLE_MS_MAX, WATCH_KEYS_MAX, WatchKey, WatchReader, WatchRecord, WatchRoute,
    WatchStep,
};
use bng_fib::{Adjacency, AdjacencyId, AdjacencyView, Fib};
use bng_session::{SessionIndex, flags};
use bng_wire::ether::{Ether, ethertype};
use bng_wire::{MacAddr, ipv4, ipv6};

use super::Observer;

/// Records taken at one reading: what a ring holds, of a few workers.
const RECORDS_MAX: usize = 4096;
/// PPP protocols that carry packets.
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;

/// The watches.
pub struct Watching {
    slots: Vec<Mutex<Slot>>,
    fib: Arc<Fib>,
}

/// One watch.
struct Slot {
    reader: WatchReader,
    /// Rises with each watch of the slot, so that ids are never used twice.
    serial: u64,
    read_last: Option<Instant>,
    /// By how much the wall clock is ahead of the workers' clock, in milliseconds: the least that was seen, since a
    /// record is read after it was written.
    ahead_ms: Option<u64>,
    /// By worker: a frame whose end was not read yet.
    open: Vec<Option<Open>>,
}

/// A frame that was received, until the next one shows that nothing more comes of it.
struct Open {
    view: api::WatchedFrame,
    reached: Reached,
}

/// What the stages made of a frame.
#[derive(Debug, Clone, Copy)]
struct Reached {
    route: WatchRoute,
    target: u32,
    ttl: u8,
}

impl Watching {
    /// The watches of these readers; `fib` names neighbours.
    #[must_use]
    pub fn new(readers: Vec<WatchReader>, fib: Arc<Fib>) -> Self {
        let slot = |reader| Slot { reader, serial: 0, read_last: None, ahead_ms: None, open: Vec::new() };
        Self { slots: readers.into_iter().map(|reader| Mutex::new(slot(reader))).collect(), fib }
    }
}

fn watch_id(slot: usize, serial: u64) -> String {
    format!("{slot}-{serial}")
}

pub(super) fn begin(observer: &Observer, filter: &api::SessionFilter) -> Result<api::WatchView, BackendError> {
    let matching: Vec<_> = observer.all_sessions()?.into_iter().filter(|(_, shown)| filter.matches(shown)).collect();
    let mut keys = Vec::new();
    let mut view = api::WatchView { id: String::new(), sessions: Vec::new(), macs: Vec::new() };
    for (session, shown) in matching {
        if let Some((index, entry)) = session.index.and_then(|index| Some((index, observer.sessions.entry(index)?))) {
            keys.push(WatchKey::Session { index, generation: entry.generation() });
            view.sessions.push(shown.id);
            view.macs.push(shown.mac);
        }
    }
    // A client that is watched by its address is watched before it has a session, and when it comes back.
    if let Some(mac) = &filter.mac
        && let Some(mac) = api::normalize_mac(mac).ok().as_deref().and_then(parse_mac)
    {
        keys.insert(0, WatchKey::Mac(mac));
        view.macs.push(mac.to_string());
    }
    view.macs.sort();
    view.macs.dedup();
    if keys.is_empty() {
        return Err(BackendError::NotFound("no session matches".into()));
    }
    if keys.len() > WATCH_KEYS_MAX {
        let reason = format!("{} sessions match, and {WATCH_KEYS_MAX} can be watched at a time", keys.len());
        return Err(BackendError::Invalid(reason));
    }
    for (number, slot) in observer.watching.slots.iter().enumerate() {
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = Duration::from_millis(WATCH_IDLE_MS_MAX);
        let free = !slot.reader.is_active() || slot.read_last.is_none_or(|last| last.elapsed() > idle);
        if free {
            slot.serial += 1;
            slot.read_last = Some(Instant::now());
            slot.ahead_ms = None;
            slot.open.clear();
            slot.reader.begin(&keys);
            view.id = watch_id(number, slot.serial);
            return Ok(view);
        }
    }
    Err(BackendError::Busy(format!("{} watches are on already", observer.watching.slots.len())))
}

fn parse_mac(text: &str) -> Option<MacAddr> {
    let mut octets = [0; 6];
    let mut parts = text.split(':');
    for octet in &mut octets {
        *octet = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(MacAddr(octets))
}

pub(super) fn read(observer: &Observer, id: &str, last: bool) -> Result<api::WatchReading, BackendError> {
    let not_found = || BackendError::NotFound(format!("no watch {id}: it has ended"));
    let mut numbered = observer.watching.slots.iter().enumerate();
    let slot = numbered.find_map(|(number, slot)| {
        let slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        (watch_id(number, slot.serial) == id).then_some(slot)
    });
    let mut slot = slot.ok_or_else(not_found)?;
    let Slot { reader, read_last, ahead_ms, open, .. } = &mut *slot;
    let before = read_last.ok_or_else(not_found)?;
    *read_last = Some(Instant::now());
    if last {
        reader.end();
    }
    let wall_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64);
    let mut frames = Vec::new();
    let taken = reader.read(RECORDS_MAX, |record| {
        let ahead = wall_ms.saturating_sub(record.now_ms);
        let ahead = ahead_ms.map_or(ahead, |before| before.min(ahead));
        *ahead_ms = Some(ahead);
        if open.len() <= record.worker {
            open.resize_with(record.worker + 1, || None);
        }
        let Some(place) = open.get_mut(record.worker) else { return };
        match record.step {
            WatchStep::Received | WatchStep::Injected => {
                frames.extend(place.take().map(|it| close(observer, it)));
                let opened = Open { view: view(observer, &record, ahead), reached: Reached::of(&record) };
                if record.step == WatchStep::Injected {
                    frames.push(close(observer, opened));
                } else {
                    *place = Some(opened);
                }
            }
            WatchStep::Sent | WatchStep::Punted | WatchStep::Dropped => {
                // Its beginning may have found no room.
                if let Some(it) = place.as_mut().filter(|it| it.view.number == u64::from(record.number)) {
                    ended(observer, &mut it.view, &record);
                }
            }
        }
    });
    // What has an end is whole: a worker notes a frame and all that comes of it without a pause.
    if last || taken < RECORDS_MAX {
        for place in open.iter_mut() {
            if last || place.as_ref().is_some_and(|it| it.view.verdict != "open") {
                frames.extend(place.take().map(|it| close(observer, it)));
            }
        }
    }
    let active = reader.is_active() && before.elapsed() < Duration::from_secs(3600);
    let reading = api::WatchReading { frames, lost: reader.lost(), active };
    if last {
        slot.read_last = None;
    }
    Ok(reading)
}

impl Reached {
    const fn of(record: &WatchRecord<'_>) -> Self {
        Self { route: record.route, target: record.target, ttl: record.ttl }
    }
}

fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::with_capacity(octets.len() * 2), |mut text, octet| {
        text.push_str(&format!("{octet:02x}"));
        text
    })
}

fn view(observer: &Observer, record: &WatchRecord<'_>, ahead_ms: u64) -> api::WatchedFrame {
    let verdict = if record.step == WatchStep::Injected { "injected" } else { "open" };
    api::WatchedFrame {
        worker: record.worker as u64,
        number: record.number.into(),
        time_unix_ms: record.now_ms.saturating_add(ahead_ms),
        port: observer.names.port(record.port).to_owned(),
        octets: record.frame_octets.into(),
        frame: hex(record.frame),
        stages: stages(observer, record),
        verdict: verdict.to_owned(),
        reason: None,
        sent: Vec::new(),
    }
}

/// Adds what became of a frame.
fn ended(observer: &Observer, view: &mut api::WatchedFrame, record: &WatchRecord<'_>) {
    match record.step {
        WatchStep::Sent => {
            view.sent.push(api::SentFrame {
                port: observer.names.port(record.port).to_owned(),
                octets: record.frame_octets.into(),
                frame: hex(record.frame),
            });
            if view.verdict == "open" {
                "sent".clone_into(&mut view.verdict);
            }
        }
        step => {
            let verdict = if step == WatchStep::Punted { "punted" } else { "dropped" };
            verdict.clone_into(&mut view.verdict);
            view.reason = record.reason.map(|reason| reason.label().to_owned());
        }
    }
}

/// The frame with the stages that it came through: to the one that gives the reason, or to the last.
fn close(observer: &Observer, open: Open) -> api::WatchedFrame {
    let Open { mut view, reached } = open;
    let reason = view.reason.as_deref().and_then(|label| Reason::ALL.iter().find(|reason| reason.label() == label));
    if view.verdict == "open" {
        "lost".clone_into(&mut view.verdict);
        return view;
    }
    if view.verdict == "injected" {
        return view;
    }
    let end = reason.map_or(Stage::Out, |reason| Stage::of(*reason));
    view.stages.retain(|it| Stage::ALL.iter().any(|stage| stage.label() == it.stage && *stage <= end));
    let add = |view: &mut api::WatchedFrame, stage: Stage, what: String| {
        view.stages.push(api::WatchedStage { stage: stage.label().to_owned(), what });
    };
    if end > Stage::Police && reason.is_none_or(|reason| *reason != Reason::HostRefused) {
        match route(observer, reached) {
            Some(what) => add(&mut view, Stage::Route, what),
            None if reason.is_none() => add(&mut view, Stage::Route, "answered by the worker itself".to_owned()),
            None => (),
        }
    }
    if let Some(reason) = reason {
        add(&mut view, end, reason.describe().to_owned());
    } else {
        for sent in view.sent.clone() {
            add(&mut view, Stage::Out, format!("{} octets on {}", sent.octets, sent.port));
        }
    }
    view
}

/// What the stages before the routing found, read from the frame again; those that it did not come to are taken off
/// where its end says so.
fn stages(observer: &Observer, record: &WatchRecord<'_>) -> Vec<api::WatchedStage> {
    let mut found = Vec::new();
    let mut add = |stage: Stage, what: String| found.push(api::WatchedStage { stage: stage.label().to_owned(), what });
    let Ok(ether) = Ether::parse(record.frame, TpidSet::ALL) else { return found };
    let tags: Vec<String> =
        [ether.vlans.outer, ether.vlans.inner].into_iter().flatten().map(|tag| tag.vid().to_string()).collect();
    let tags = if tags.is_empty() { String::new() } else { format!(", VLAN {}", tags.join(".")) };
    add(Stage::Ethernet, format!("{} > {}{tags}, type {:#06x}", ether.src, ether.dst, ether.ethertype));
    let rest = record.frame.get(ether.payload_offset..).unwrap_or(&[]);
    let (protocol, packet) = match ether.ethertype {
        ethertype::PPPOE_SESSION => {
            let Some(([_, _, i0, i1, l0, l1, p0, p1], packet)) = rest.split_first_chunk::<8>() else { return found };
            let protocol = u16::from_be_bytes([*p0, *p1]);
            let (id, length) = (u16::from_be_bytes([*i0, *i1]), u16::from_be_bytes([*l0, *l1]));
            add(Stage::Pppoe, format!("session id {id}, LENGTH {length}, PPP protocol {protocol:#06x}"));
            if let Some(source) = record.source {
                add(Stage::Session, format!("session {}", session_id(observer, source)));
            }
            (protocol, packet)
        }
        ethertype::IPV4 => (PPP_IPV4, rest),
        ethertype::IPV6 => (PPP_IPV6, rest),
        _ => return found,
    };
    if let Some(what) = describe(protocol, packet) {
        add(Stage::Packet, what);
    }
    let policed = record
        .source
        .and_then(|source| observer.sessions.entry(source))
        .is_some_and(|entry| entry.up_flags() & flags::POLICE_UP != 0);
    if policed && matches!(protocol, PPP_IPV4 | PPP_IPV6) {
        add(Stage::Police, "within the upstream rate".to_owned());
    }
    found
}

fn describe(protocol: u16, packet: &[u8]) -> Option<String> {
    match protocol {
        PPP_IPV4 => {
            let header = ipv4::Header::check(packet).ok()?;
            let (src, dst) = (header.src.get(), header.dst.get());
            let (src, dst) = (std::net::Ipv4Addr::from_bits(src), std::net::Ipv4Addr::from_bits(dst));
            let (number, len, ttl) = (header.protocol, header.total_len.get(), header.ttl);
            Some(format!("{src} > {dst}, IP protocol {number}, {len} octets, TTL {ttl}"))
        }
        PPP_IPV6 => {
            let header = ipv6::Header::check(packet).ok()?;
            let (src, dst) = (header.src.get(), header.dst.get());
            let (src, dst) = (std::net::Ipv6Addr::from_bits(src), std::net::Ipv6Addr::from_bits(dst));
            let (next, len, hops) = (header.next_header, header.total_len(), header.hop_limit);
            Some(format!("{src} > {dst}, next header {next}, {len} octets, hop limit {hops}"))
        }
        _ => {
            let [code, id, ..] = packet else { return None };
            Some(format!("code {code}, identifier {id}"))
        }
    }
}

/// The name that an operator has for a session.
fn session_id(observer: &Observer, index: SessionIndex) -> String {
    match observer.sessions.entry(index).map(bng_session::Entry::place) {
        Some((port, outer, id)) => format!("{}.{outer}.{id}", observer.names.port(bng_wire::PortIndex(port))),
        None => format!("number {}", index.0),
    }
}

fn route(observer: &Observer, reached: Reached) -> Option<String> {
    let hops = format!("TTL {} on arrival", reached.ttl);
    match reached.route {
        WatchRoute::None => None,
        WatchRoute::Session => {
            Some(format!("to session {}, {hops}", session_id(observer, SessionIndex(reached.target))))
        }
        WatchRoute::Neighbour => {
            let id = AdjacencyId(reached.target);
            let neighbour = match observer.watching.fib.adjacency(id).and_then(Adjacency::view) {
                Some(AdjacencyView::Resolved { port, mtu, header }) => {
                    let mac =
                        header.bytes().first_chunk::<6>().map_or_else(String::new, |mac| MacAddr(*mac).to_string());
                    format!("{mac} on {}, MTU {mtu}", observer.names.port(port))
                }
                Some(AdjacencyView::Unresolved { port, .. }) => {
                    format!("not resolved, on {}", observer.names.port(port))
                }
                None => format!("number {}, which is gone", reached.target),
            };
            Some(format!("to neighbour {neighbour}, {hops}"))
        }
    }
}
