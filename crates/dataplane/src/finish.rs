//! The end of each frame, the counters that go with it, and the frames made on its behalf.

use arrayvec::ArrayVec;
use bng_fib::{Adjacency, AdjacencyId, AdjacencyView};
use bng_session::{AnswerKind, Entry, SessionCounters, SessionIndex};
use bng_wire::PortIndex;
use bng_wire::ether::{Ether, TpidSet};

use crate::answer::{self, Question};
use crate::counters::WorkerCounters;
use crate::errors::{self, Message, Told};
use crate::fragment::{FRAGMENTS_MAX, FragmentHeader, Plan};
use crate::frame::{FrameBuf, PuntClass, PuntMeta, Sink};
use crate::limit::Limits;
use crate::pipeline::Tables;
use crate::reason::{Reason, Verdict};
use crate::work::{Family, Police, State, Work};
use crate::{rewrite, route};

/// Frames sent in a row on one port, not yet added to its counters.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    port: PortIndex,
    frames: u64,
    octets: u64,
}

impl Sent {
    #[inline(always)]
    fn add(&mut self, port: PortIndex, octets: usize, counters: &WorkerCounters) {
        if port != self.port {
            self.flush(counters);
            *self = Self { port, ..Self::default() };
        }
        self.frames = self.frames.wrapping_add(1);
        self.octets = self.octets.wrapping_add(octets as u64);
    }

    #[inline(always)]
    pub(crate) fn flush(&self, counters: &WorkerCounters) {
        if self.frames > 0
            && let Some(port) = counters.port(self.port)
        {
            port.tx_frames.add(self.frames);
            port.tx_octets.add(self.octets);
        }
    }
}

/// What the last stage needs, for one burst.
pub(crate) struct Finish<'a> {
    pub(crate) port: PortIndex,
    pub(crate) tables: &'a Tables,
    pub(crate) counters: &'a WorkerCounters,
    pub(crate) sessions: &'a [SessionCounters],
    pub(crate) limits: &'a mut Limits,
    pub(crate) police: Police,
    pub(crate) sent: Sent,
    /// The neighbour of the frame before: bursts mostly go one way.
    pub(crate) neighbour: Option<(AdjacencyId, Option<AdjacencyView>)>,
}

impl Finish<'_> {
    /// Ends one frame as [`Finish::finish`] does, for whoever is not in a hurry.
    #[inline(never)]
    pub(crate) fn finish_apart<F: FrameBuf, S: Sink<F>>(&mut self, work: &Work, frame: F, sink: &mut S) {
        self.finish(work, frame, sink);
    }

    /// Ends one frame in one of the three ways. Inlined into the burst's loop, where it costs 40 instructions less.
    #[inline(always)]
    pub(crate) fn finish<F: FrameBuf, S: Sink<F>>(&mut self, work: &Work, mut frame: F, sink: &mut S) {
        match self.rewrite(work, &mut frame) {
            Ok(port) => self.transmit(work, port, frame, sink),
            Err(State::TooBig(mtu)) => self.too_big(work, mtu, frame, sink),
            Err(end) => self.finish_otherwise(work, end, 0, frame, sink),
        }
    }

    #[inline(always)]
    fn rewrite<F: FrameBuf>(&mut self, work: &Work, frame: &mut F) -> Result<PortIndex, State> {
        match work.state {
            State::ToNeighbour(id) => {
                let view = match &self.neighbour {
                    Some((last, view)) if *last == id => view,
                    _ => {
                        let view = self.tables.fib.adjacency(id).and_then(Adjacency::view);
                        &self.neighbour.insert((id, view)).1
                    }
                };
                rewrite::to_neighbour(work, view.as_ref(), frame)
            }
            State::ToSession(index) => rewrite::to_session(work, index, frame, self.tables, self.police),
            other => Err(other),
        }
    }

    #[inline(always)]
    fn transmit<F: FrameBuf, S: Sink<F>>(&mut self, work: &Work, port: PortIndex, frame: F, sink: &mut S) {
        let octets = u64::from(work.l3_len);
        if let Some(source) = work.source() {
            self.count_up(source, octets);
        }
        if let State::ToSession(target) = work.state {
            self.count_down(target, octets);
        }
        self.sent.add(port, frame.bytes().len(), self.counters);
        sink.transmit(port, frame);
    }

    #[inline(always)]
    fn count_up(&self, index: SessionIndex, octets: u64) {
        if let Some(counters) = self.sessions.get(index.0 as usize) {
            counters.up_packets.add(1);
            counters.up_octets.add(octets);
        }
    }

    #[inline(always)]
    fn count_down(&self, index: SessionIndex, octets: u64) {
        if let Some(counters) = self.sessions.get(index.0 as usize) {
            counters.down_packets.add(1);
            counters.down_octets.add(octets);
        }
    }

    /// Ends a frame that is not transmitted. `mtu` is the next hop's where the packet is too long for it.
    #[cold]
    #[inline(never)]
    fn finish_otherwise<F: FrameBuf, S: Sink<F>>(
        &mut self,
        work: &Work,
        end: State,
        mtu: u16,
        mut frame: F,
        sink: &mut S,
    ) {
        let end = self.refused(work, end);
        let end = match self.answer(work, end, &mut frame) {
            Answered::Not => end,
            Answered::Echo => {
                self.sent.add(self.port, frame.bytes().len(), self.counters);
                return sink.transmit(self.port, frame);
            }
            Answered::Ping(own, port) => return self.transmit(&own, port, frame, sink),
            Answered::Limited(reason) => State::Drop(reason),
        };
        let end = self.within_limits(work, end, frame.bytes());
        let (class, reason) = match end {
            State::Punt(class, reason) => (Some(class), reason),
            State::Drop(reason) => (None, reason),
            State::Unknown if self.admits_unknown(work, frame.bytes()) => {
                (Some(PuntClass::Discovery), Reason::UnknownSession)
            }
            State::Unknown => (None, Reason::UnknownSessionLimited),
            // Every stage above turns these into another state; were one forgotten, the frame would still be freed.
            State::Look(_)
            | State::Admit(_)
            | State::Route
            | State::ToPool(_)
            | State::ToSession(_)
            | State::ToNeighbour(_)
            | State::ToGroup(_)
            | State::TooBig(_) => {
                debug_assert!(false, "a frame left the stages in {end:?}");
                (None, Reason::NoRoute)
            }
        };
        self.counters.reason(reason).add(1);
        match class {
            Some(class) => {
                debug_assert_eq!(reason.verdict(), Verdict::Punt);
                sink.punt(class, PuntMeta { port: self.port, reason, session: work.source() }, frame);
            }
            None => {
                debug_assert_eq!(reason.verdict(), Verdict::Drop);
                if let Some(counters) = work.source().and_then(|index| self.sessions.get(index.0 as usize)) {
                    counters.up_drops.add(1);
                }
                if let State::ToSession(target) = work.state
                    && let Some(counters) = self.sessions.get(target.0 as usize)
                {
                    counters.down_drops.add(1);
                }
                if let Some(message) =
                    Message::about(reason, work.family, mtu).or_else(|| self.refusal(work, reason, &frame))
                {
                    self.tell_sender(work, message, &frame, sink);
                }
                sink.discard(reason, frame);
            }
        }
    }

    /// What becomes of a frame of a session that would otherwise end in `end`: subscribers do not reach the router itself.
    fn refused(&self, work: &Work, end: State) -> State {
        let Some(source) = work.source() else { return end };
        match end {
            State::Punt(PuntClass::Host, Reason::Host) => State::Drop(Reason::HostRefused),
            State::Drop(Reason::NoSubscriber | Reason::Blackhole | Reason::NoRoute | Reason::Ipv4TtlExceeded)
                if work.family == Family::V4
                    && self.tables.sessions.entry(source).is_some_and(|entry| entry.gateway_ipv4() == work.dst4) =>
            {
                State::Drop(Reason::HostRefused)
            }
            _ => end,
        }
    }

    /// The same end, or a drop where too much was handed over in this second: neither one client nor the internet must
    /// keep the rings to control from the others.
    fn within_limits(&mut self, work: &Work, end: State, frame: &[u8]) -> State {
        let counters = work.source().and_then(|source| self.sessions.get(source.0 as usize));
        let now_ms = self.police.now_ms;
        match (end, counters) {
            (State::Punt(PuntClass::Keepalive | PuntClass::Session, _), Some(counters)) => {
                let within = counters.admit_answer(AnswerKind::Control, answer::CONTROL_PER_SECOND_MAX, now_ms);
                if within { end } else { State::Drop(Reason::ControlLimited) }
            }
            (State::Punt(_, Reason::NeighbourUnresolved), counters) => {
                // The target first: what many send to one neighbour is nobody's fault.
                let target = match work.state {
                    State::ToNeighbour(id) => 1 << 63 | u64::from(id.0),
                    _ => destination(work),
                };
                let own = |counters: &SessionCounters| {
                    counters.admit_answer(AnswerKind::Held, answer::HELD_PER_SECOND_MAX, now_ms)
                };
                let source = match work.source() {
                    Some(index) => u64::from(index.0),
                    None => 1 << 63 | source_network(work, frame),
                };
                let within = self.limits.held_by_target.admit(target, now_ms)
                    && counters.is_none_or(own)
                    && self.limits.held_by_source.admit(source, now_ms);
                if within { end } else { State::Drop(Reason::HeldLimited) }
            }
            _ => end,
        }
    }

    /// Whether control is told of a frame without session: within the client's limit, and its line's.
    fn admits_unknown(&mut self, work: &Work, frame: &[u8]) -> bool {
        let now_ms = self.police.now_ms;
        let tpids = self.tables.ports.get(self.port).map_or(TpidSet::ALL, |entry| entry.tpids);
        let vids = Ether::parse(frame, tpids).map_or(0, |ether| {
            let inner = ether.vlans.inner.map_or(0, |tag| tag.vid());
            u64::from(ether.vlans.outer_vid()) << 16 | u64::from(inner)
        });
        let line = u64::from(self.port.0) << 32 | vids;
        self.limits.unknown_by_mac.admit(work.key.mac().to_u64(), now_ms)
            && self.limits.unknown_by_line.admit(line, now_ms)
    }

    /// Turns the frame into the answer that its client is owed, where a worker owes it: to an LCP Echo-Request or to a
    /// ping of the gateway. The frame is unchanged otherwise.
    fn answer<F: FrameBuf>(&mut self, work: &Work, end: State, frame: &mut F) -> Answered {
        let Some(source) = work.source() else { return Answered::Not };
        let (Some(entry), Some(counters)) = (self.tables.sessions.entry(source), self.sessions.get(source.0 as usize))
        else {
            return Answered::Not;
        };
        let Some(question) = answer::question(work, end, frame.bytes(), entry) else { return Answered::Not };
        match question {
            Question::Echo { magic, len } => {
                if !counters.admit_answer(AnswerKind::Echo, answer::ECHOES_PER_SECOND_MAX, self.police.now_ms) {
                    return Answered::Limited(Reason::EchoLimited);
                }
                let pcp = self.tables.ports.priorities().control();
                if !answer::echo(work, magic, len, frame, entry, pcp) {
                    return Answered::Limited(Reason::NoHeadroom);
                }
                counters.echoes.add(1);
                self.counters.echoes_answered.add(1);
                Answered::Echo
            }
            Question::Ping => {
                if !counters.admit_answer(AnswerKind::Ping, answer::PINGS_PER_SECOND_MAX, self.police.now_ms) {
                    return Answered::Limited(Reason::PingLimited);
                }
                answer::ping(work, frame.bytes_mut());
                let mut own = *work;
                own.state = State::ToSession(source);
                match rewrite::to_session(&own, source, frame, self.tables, self.police) {
                    Ok(port) => {
                        self.counters.pings_answered.add(1);
                        Answered::Ping(own, port)
                    }
                    Err(State::Drop(reason)) => Answered::Limited(reason),
                    Err(_) => Answered::Limited(Reason::NoHeadroom),
                }
            }
        }
    }

    /// What the sender of a packet for the router itself is told: of its gateway's address that nothing listens there
    /// (RFC 1122 section 3.2.2.1), of the router's other addresses that they are not for it.
    fn refusal<F: FrameBuf>(&self, work: &Work, reason: Reason, frame: &F) -> Option<Message> {
        if reason != Reason::HostRefused {
            return None;
        }
        let gateway = work.source().and_then(|source| self.tables.sessions.entry(source)).map(Entry::gateway_ipv4);
        let to_gateway = work.family == Family::V4 && gateway == Some(work.dst4);
        Message::refusal(work.family, to_gateway, work.packet(frame.bytes()))
    }

    /// A packet longer than its way out takes: cut where it may be (RFC 1812 section 4.2.2.7), else dropped, and its
    /// sender told the length that fits.
    #[cold]
    #[inline(never)]
    fn too_big<F: FrameBuf, S: Sink<F>>(&mut self, work: &Work, mtu: u16, frame: F, sink: &mut S) {
        let packet = work.packet(frame.bytes());
        let may_cut = work.family == Family::V4 && packet.get(6).is_some_and(|flags| flags & 0x40 == 0);
        if !may_cut {
            return self.finish_otherwise(work, State::Drop(Reason::TooBig), mtu, frame, sink);
        }
        match Plan::new(packet, mtu) {
            Some(plan) => self.fragment(work, &plan, frame, sink),
            None => self.finish_otherwise(work, State::Drop(Reason::NoFragmentBuffer), mtu, frame, sink),
        }
    }

    fn fragment<F: FrameBuf, S: Sink<F>>(&mut self, work: &Work, plan: &Plan, mut frame: F, sink: &mut S) {
        let mut later: ArrayVec<F, FRAGMENTS_MAX> = ArrayVec::new();
        let packet = work.packet(frame.bytes());
        for number in 1..plan.count {
            let written = sink.allocate().and_then(|mut piece| {
                let header = FragmentHeader::new(packet, plan, number)?;
                let written = write_all(&mut piece, &[header.bytes(), plan.data(packet, number)]);
                if let Err(piece) = later.try_push(piece) {
                    sink.discard(Reason::NoFragmentBuffer, piece.element());
                    return None;
                }
                written
            });
            if written.is_none() {
                // All or nothing: a datagram that lacks a piece is of no use to anyone.
                for piece in later {
                    sink.discard(Reason::NoFragmentBuffer, piece);
                }
                return self.finish_otherwise(work, State::Drop(Reason::NoFragmentBuffer), 0, frame, sink);
            }
        }
        let Some(first) = FragmentHeader::new(packet, plan, 0) else {
            for piece in later {
                sink.discard(Reason::NoFragmentBuffer, piece);
            }
            return self.finish_otherwise(work, State::Drop(Reason::NoFragmentBuffer), 0, frame, sink);
        };
        // The client sent one packet, however many leave.
        let mut own = *work;
        if let Some(source) = own.take_source() {
            self.count_up(source, u64::from(work.l3_len));
        }
        if let Some(room) =
            frame.bytes_mut().get_mut(usize::from(own.l3)..).and_then(|rest| rest.get_mut(..plan.header_len))
        {
            room.copy_from_slice(first.bytes());
        }
        own.l3_len = plan.header_len.saturating_add(plan.chunk) as u16;
        self.counters.fragments_sent.add(plan.count as u64);
        self.finish_apart(&own, frame, sink);
        for piece in later {
            let mut own = own;
            (own.l3, own.l3_len) = (0, piece.bytes().len() as u16);
            self.finish_apart(&own, piece, sink);
        }
    }

    /// Sends an ICMP error about the packet in `frame`, within the limit.
    fn tell_sender<F: FrameBuf, S: Sink<F>>(&mut self, work: &Work, message: Message, frame: &F, sink: &mut S) {
        let packet = work.packet(frame.bytes());
        let Some(way) = self.way_back(work, packet) else { return };
        if !self.admits_error(work, message, way.addresses.network()) {
            self.counters.errors_unsent.add(1);
            return;
        }
        let Some(mut error) = sink.allocate() else {
            self.counters.errors_unsent.add(1);
            return;
        };
        let len = errors::len(work.family, packet.len(), self.mtu_of(way.work.state));
        let told = Told { message, class: self.tables.ports.priorities().control_class(), packet };
        let written = if error.set_len(len) { way.write(told, error.bytes_mut()) } else { None };
        let mut own = way.work;
        own.l3_len = len as u16;
        match written.ok_or(State::Drop(Reason::NoBuffer)).and_then(|()| self.rewrite(&own, &mut error)) {
            Ok(port) => {
                self.counters.errors_sent.add(1);
                self.transmit(&own, port, error, sink);
            }
            Err(_) => {
                self.counters.errors_unsent.add(1);
                sink.discard(Reason::NoBuffer, error);
            }
        }
    }

    /// Whether an error is within its limit: the session's whose packet it is about, else the one of the network that is
    /// told. So neither a client that asks for errors nor anybody on the internet keeps others from theirs.
    fn admits_error(&mut self, work: &Work, message: Message, network: u64) -> bool {
        let session = match work.state {
            State::ToSession(target) if work.source().is_none() => Some(target),
            _ => work.source(),
        };
        let too_big = message.is_too_big(work.family);
        match session.and_then(|index| self.sessions.get(index.0 as usize)) {
            Some(counters) => {
                let kind = if too_big { AnswerKind::TooBig } else { AnswerKind::Error };
                counters.admit_answer(kind, answer::ERRORS_PER_SECOND_MAX, self.police.now_ms)
            }
            None if too_big => self.limits.too_big.admit(network, self.police.now_ms),
            None => self.limits.errors.admit(network, self.police.now_ms),
        }
    }

    /// The longest packet that this way out takes, in octets.
    fn mtu_of(&self, way: State) -> u16 {
        let mtu = match way {
            State::ToSession(index) => self.tables.sessions.entry(index).map(Entry::mtu_down),
            State::ToNeighbour(id) => match self.tables.fib.adjacency(id).and_then(Adjacency::view) {
                Some(AdjacencyView::Resolved { mtu, .. } | AdjacencyView::Unresolved { mtu, .. }) => Some(mtu),
                None => None,
            },
            _ => None,
        };
        mtu.unwrap_or(u16::MAX)
    }

    /// The addresses of an error about `packet`, and where it goes: to the session that the packet came from, else by
    /// routing. `None` where no error may be sent, or there is no address to send it from.
    fn way_back(&self, work: &Work, packet: &[u8]) -> Option<WayBack> {
        let mut back = Work::IDLE;
        back.begin(State::Route);
        (back.vrf, back.family, back.ttl) = (work.vrf, work.family, u8::MAX);
        let router = self.tables.ports.router();
        let addresses = match work.family {
            Family::V4 => {
                let to = errors::sender4(packet)?;
                let gateway =
                    work.source().and_then(|index| self.tables.sessions.entry(index)).map(|e| e.gateway_ipv4());
                let from =
                    gateway.filter(|bits| *bits != 0).or_else(|| router.ipv4().map(|address| address.to_bits()))?;
                back.dst4 = to;
                Addresses::V4 { from, to }
            }
            Family::V6 => {
                let to = errors::sender6(packet)?;
                back.set_dst6(to);
                Addresses::V6 { from: router.ipv6()?.to_bits(), to }
            }
        };
        match work.source() {
            Some(source) => back.state = State::ToSession(source),
            None => {
                route::look_up(&mut back, self.tables, &mut route::Last::default());
                if let State::ToPool(number) = back.state {
                    route::from_pool(&mut back, number, self.tables);
                }
                if let State::ToGroup(group) = back.state {
                    // All errors about the packets of one flow go one way.
                    route::from_group(&mut back, group, packet, self.tables);
                }
            }
        }
        matches!(back.state, State::ToSession(_) | State::ToNeighbour(_)).then_some(WayBack { work: back, addresses })
    }
}

/// What [`Finish::answer`] made of a frame.
enum Answered {
    /// Nothing: it is no question that a worker answers.
    Not,
    /// An Echo-Reply, for the port that the request came from.
    Echo,
    /// An ICMP or ICMPv6 echo reply, and the port it goes to.
    Ping(Work, PortIndex),
    /// It is a question, and gets no answer.
    Limited(Reason),
}

enum Addresses {
    V4 { from: u32, to: u32 },
    V6 { from: u128, to: u128 },
}

impl Addresses {
    /// The network that the error goes to.
    const fn network(&self) -> u64 {
        match *self {
            Self::V4 { to, .. } => network4(to),
            Self::V6 { to, .. } => network6(to),
        }
    }
}

/// What an IPv4 source can be held responsible for, as a key of limits: its /24.
const fn network4(address: u32) -> u64 {
    (address >> 8) as u64
}

/// As [`network4`]: the /48, of which a site has one.
const fn network6(address: u128) -> u64 {
    1 << 62 | (address >> 80) as u64
}

/// The network that a packet comes from, as a key of limits.
fn source_network(work: &Work, frame: &[u8]) -> u64 {
    let packet = work.packet(frame);
    match work.family {
        Family::V4 => {
            packet.get(12..).and_then(|rest| rest.first_chunk()).map_or(0, |it| network4(u32::from_be_bytes(*it)))
        }
        Family::V6 => {
            packet.get(8..).and_then(|rest| rest.first_chunk()).map_or(0, |it| network6(u128::from_be_bytes(*it)))
        }
    }
}

/// A packet's destination, as a key of limits.
const fn destination(work: &Work) -> u64 {
    match work.family {
        Family::V4 => work.dst4 as u64,
        Family::V6 => work.dst6() as u64 ^ ((work.dst6() >> 64) as u64).rotate_left(32),
    }
}

struct WayBack {
    work: Work,
    addresses: Addresses,
}

impl WayBack {
    fn write(&self, told: Told<'_>, room: &mut [u8]) -> Option<()> {
        match self.addresses {
            Addresses::V4 { from, to } => errors::write4(room, told, from, to),
            Addresses::V6 { from, to } => errors::write6(room, told, from, to),
        }
    }
}

/// Makes an empty frame one of these octets.
fn write_all<F: FrameBuf>(frame: &mut F, parts: &[&[u8]]) -> Option<()> {
    let len = parts.iter().fold(0usize, |sum, part| sum.saturating_add(part.len()));
    if !frame.set_len(len) {
        return None;
    }
    let mut room = frame.bytes_mut();
    for part in parts {
        let (to, rest) = room.split_at_mut_checked(part.len())?;
        to.copy_from_slice(part);
        room = rest;
    }
    Some(())
}
