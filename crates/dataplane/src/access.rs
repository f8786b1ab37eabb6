//! The access side: from a frame to its session, and what the session lets through.

use bng_session::{Direction, Entry, SessionIndex, SessionKey, SessionTable, flags};
use bng_wire::ether::{Ether, EtherError, HEADER_LEN, ethertype};
use bng_wire::icmp::{self, kind6};
use bng_wire::ipv4::protocol;
use bng_wire::{MacAddr, PortIndex, SessionId, ipv4, ipv6, udp};

use crate::address::{Kind4, Kind6, kind4, kind6};
use crate::frame::PuntClass;
use crate::pipeline::Tables;
use crate::ports::PortEntry;
use crate::reason::Reason;
use crate::route::leads_to;
use crate::work::{Family, Police, State, Work};

/// PPP protocol numbers that the data plane tells apart.
pub(crate) mod ppp {
    pub(super) const IPV4: u16 = 0x0021;
    pub(super) const IPV6: u16 = 0x0057;
    pub(crate) const LCP: u16 = 0xc021;
}

/// LCP codes that keep a session alive or end it (RFC 1661 section 5).
pub(crate) mod lcp {
    pub(super) const TERMINATE_REQUEST: u8 = 5;
    pub(super) const TERMINATE_ACK: u8 = 6;
    pub(crate) const ECHO_REQUEST: u8 = 9;
    pub(crate) const ECHO_REPLY: u8 = 10;
}

/// Octets of the PPPoE header and the PPP protocol.
const PPPOE_PPP_LEN: usize = 8;

/// The reason that goes with an unreadable Ethernet header.
pub(crate) const fn ether_reason(error: EtherError) -> Reason {
    match error {
        EtherError::Truncated => Reason::Runt,
        EtherError::TooManyTags => Reason::TooManyTags,
    }
}

/// First stage: Ethernet and PPPoE headers, and the first two steps of the walk to the session.
#[inline(always)]
pub(crate) fn parse(work: &mut Work, frame: &[u8], port: PortIndex, entry: &PortEntry, sessions: &SessionTable) {
    work.begin(State::Unknown);
    if let Err(end) = parse_frame(work, frame, port, entry, sessions) {
        work.state = end;
    }
}

#[inline(always)]
fn parse_frame(
    work: &mut Work,
    frame: &[u8],
    port: PortIndex,
    entry: &PortEntry,
    sessions: &SessionTable,
) -> Result<(), State> {
    let (addresses, _) = frame.split_first_chunk::<HEADER_LEN>().ok_or(State::Drop(Reason::Runt))?;
    let [d0, d1, d2, d3, d4, d5, s @ ..] = *addresses;
    // Source address (48 bits) and EtherType or tag protocol identifier (16) in one word.
    let source_and_type = u64::from_be_bytes(s);
    let ours = MacAddr([d0, d1, d2, d3, d4, d5]).to_u64() == entry.mac.to_u64();
    let front = if ours && source_and_type as u16 == ethertype::PPPOE_SESSION {
        // Untagged: the key is the address alone.
        Front { key: SessionKey(source_and_type >> 16), outer_vid: 0, payload_offset: HEADER_LEN }
    } else {
        Front::tagged(frame, entry)?
    };
    let header = frame.get(front.payload_offset..).and_then(|rest| rest.first_chunk::<PPPOE_PPP_LEN>());
    let header = u64::from_be_bytes(*header.ok_or(State::Drop(Reason::PppoeTruncated))?);
    // VER, TYPE (4 bits each), CODE (8), SESSION_ID (16), LENGTH (16), and the PPP protocol (16).
    if header >> 48 != 0x1100 {
        let version = header >> 56 != 0x11;
        return Err(State::Drop(if version { Reason::PppoeVersion } else { Reason::PppoeCode }));
    }
    let length = usize::from((header >> 16) as u16);
    let l3 = front.payload_offset.wrapping_add(PPPOE_PPP_LEN);
    let Some(l3_len) = length.checked_sub(2) else { return Err(State::Drop(Reason::PppoeTruncated)) };
    // What follows is link padding, and goes no further.
    if l3.wrapping_add(l3_len) > frame.len() {
        return Err(State::Drop(Reason::PppoeLength));
    }
    work.key = front.key;
    work.l3 = l3 as u16;
    work.l3_len = l3_len as u16;
    work.protocol = header as u16;
    let id = SessionId((header >> 32) as u16);
    let cell = sessions.directory(port, front.outer_vid).and_then(|directory| sessions.page(directory, id));
    match cell {
        Some(page) => {
            sessions.prefetch_page(page);
            work.state = State::Look(page);
            Ok(())
        }
        None => Err(no_session(work.key)),
    }
}

/// What the Ethernet header of a session frame to us says.
struct Front {
    key: SessionKey,
    outer_vid: u16,
    payload_offset: usize,
}

impl Front {
    /// The header of a frame that has tags, or is no session frame to us. Apart, so that untagged frames do not pay for
    /// keeping the tags.
    #[inline(never)]
    fn tagged(frame: &[u8], entry: &PortEntry) -> Result<Self, State> {
        let ether = Ether::parse(frame, entry.tpids).map_err(|error| State::Drop(ether_reason(error)))?;
        if ether.dst != entry.mac || ether.ethertype != ethertype::PPPOE_SESSION {
            return Err(not_a_session_frame(&ether, entry));
        }
        Ok(Self {
            key: SessionKey::new(ether.src, ether.vlans),
            outer_vid: ether.vlans.outer_vid(),
            payload_offset: ether.payload_offset,
        })
    }
}

#[cold]
fn not_a_session_frame(ether: &Ether, entry: &PortEntry) -> State {
    let ours = ether.dst == entry.mac;
    if !ours && !ether.dst.is_group() {
        return State::Drop(Reason::NotOurMac);
    }
    if !is_station(ether.src) {
        return State::Drop(Reason::BadSourceMac);
    }
    match ether.ethertype {
        ethertype::PPPOE_DISCOVERY if ours || ether.dst == MacAddr::BROADCAST => {
            State::Punt(PuntClass::Discovery, Reason::Discovery)
        }
        ethertype::PPPOE_DISCOVERY => State::Drop(Reason::NotOurMac),
        // RFC 2516 section 6: the session stage is unicast.
        ethertype::PPPOE_SESSION => State::Drop(Reason::PppoeBroadcast),
        _ => State::Drop(Reason::Ethertype),
    }
}

/// No session has the frame's id. A source address that no station has is told apart only where it matters: no
/// session has one.
#[cold]
pub(crate) fn no_session(key: SessionKey) -> State {
    if is_station(key.mac()) { State::Unknown } else { State::Drop(Reason::BadSourceMac) }
}

/// The session of the frame's id is another line's.
#[cold]
fn other_line(session: SessionKey, frame: SessionKey) -> State {
    State::Drop(if !is_station(frame.mac()) {
        Reason::BadSourceMac
    } else if session.mac() != frame.mac() {
        Reason::SessionMac
    } else {
        Reason::SessionVlan
    })
}

/// Neither a group address nor zero.
#[inline]
pub(crate) fn is_station(mac: MacAddr) -> bool {
    !mac.is_group() && mac != MacAddr::ZERO
}

/// Third stage: the frame against its session's entry, then the packet in it.
#[inline(always)]
pub(crate) fn admit(work: &mut Work, index: SessionIndex, frame: &[u8], tables: &Tables, police: Police) {
    let Some(entry) = tables.sessions.entry(index) else {
        work.state = no_session(work.key);
        return;
    };
    let flags = entry.up_flags();
    if flags & flags::LIVE == 0 {
        work.state = no_session(work.key);
        return;
    }
    if entry.key() != work.key {
        work.state = other_line(entry.key(), work.key);
        return;
    }
    work.set_source(index);
    work.vrf = entry.vrf();
    let verdict = match work.protocol {
        ppp::IPV4 if flags & flags::IPV4_UP != 0 => {
            if flags & flags::MSS_CLAMP != 0 {
                work.mss_mtu = entry.mtu_up();
            }
            admit_ipv4(work, index, entry, flags, frame, tables)
        }
        ppp::IPV6 if flags & flags::IPV6_UP != 0 => {
            if flags & flags::MSS_CLAMP != 0 {
                work.mss_mtu = entry.mtu_up();
            }
            admit_ipv6(work, index, entry, flags, frame, tables)
        }
        ppp::IPV4 => Err(State::Drop(Reason::Ipv4NotUp)),
        ppp::IPV6 => Err(State::Drop(Reason::Ipv6NotUp)),
        other => Err(control(other, work.packet(frame))),
    };
    work.state = match verdict {
        Ok(()) if flags & flags::POLICE_UP != 0 => policed(work, index, tables, police),
        Ok(()) => State::Route,
        Err(end) => end,
    };
}

/// The upstream policer's word on a packet that is otherwise good.
#[inline(always)]
fn policed(work: &Work, index: SessionIndex, tables: &Tables, police: Police) -> State {
    let Police { worker, now_ms } = police;
    if tables.sessions.police(worker, index, Direction::Up, work.l3_len, now_ms) {
        State::Route
    } else {
        State::Drop(Reason::PolicedUp)
    }
}

#[cold]
fn control(protocol: u16, payload: &[u8]) -> State {
    use lcp::{ECHO_REPLY, ECHO_REQUEST, TERMINATE_ACK, TERMINATE_REQUEST};
    match (protocol, payload.first()) {
        (ppp::LCP, Some(&(ECHO_REQUEST | ECHO_REPLY | TERMINATE_REQUEST | TERMINATE_ACK))) => {
            State::Punt(PuntClass::Keepalive, Reason::PppKeepalive)
        }
        _ => State::Punt(PuntClass::Session, Reason::PppControl),
    }
}

/// The reason that goes with a bad IPv4 header.
pub(crate) const fn ipv4_reason(error: ipv4::Ipv4Error) -> Reason {
    match error {
        ipv4::Ipv4Error::Truncated => Reason::Ipv4Truncated,
        ipv4::Ipv4Error::Version => Reason::Ipv4Version,
        ipv4::Ipv4Error::HeaderLength => Reason::Ipv4HeaderLength,
        ipv4::Ipv4Error::Length => Reason::Ipv4Length,
        ipv4::Ipv4Error::Checksum => Reason::Ipv4Checksum,
    }
}

/// The reason that goes with a bad IPv6 header.
pub(crate) const fn ipv6_reason(error: ipv6::Ipv6Error) -> Reason {
    match error {
        ipv6::Ipv6Error::Truncated => Reason::Ipv6Truncated,
        ipv6::Ipv6Error::Version => Reason::Ipv6Version,
        ipv6::Ipv6Error::Length => Reason::Ipv6Length,
    }
}

#[inline(always)]
fn admit_ipv4(
    work: &mut Work,
    index: SessionIndex,
    entry: &Entry,
    flags: u32,
    frame: &[u8],
    tables: &Tables,
) -> Result<(), State> {
    let header = ipv4::Header::check(work.packet(frame)).map_err(|error| State::Drop(ipv4_reason(error)))?;
    work.l3_len = header.total_len.get();
    work.family = Family::V4;
    work.dst4 = header.dst.get();
    work.ttl = header.ttl;
    let source = header.src.get();
    if source != entry.ipv4() || source == 0 {
        foreign_ipv4(work.vrf, index, flags, source, tables)?;
    }
    match kind4(work.dst4) {
        Kind4::Unicast => Ok(()),
        Kind4::Martian => Err(State::Drop(Reason::Ipv4Destination)),
        Kind4::Broadcast => Err(State::Drop(Reason::Ipv4Broadcast)),
        Kind4::Multicast | Kind4::LocalMulticast => Err(State::Drop(Reason::Ipv4Multicast)),
    }
}

/// A source that is not the session's own address: no martian, and by routing it must lead back to this session
/// (framed routes), unless the check is off.
#[cold]
fn foreign_ipv4(vrf: u16, index: SessionIndex, flags: u32, source: u32, tables: &Tables) -> Result<(), State> {
    if kind4(source) != Kind4::Unicast {
        return Err(State::Drop(Reason::Ipv4Source));
    }
    let next_hop = tables.fib.next_hop(tables.fib.lookup4(bng_wire::VrfId(vrf), source));
    let pool = |map: u16| tables.pools.v4(map).and_then(|map| map.get(source));
    if flags & flags::SOURCE_CHECK == 0 || leads_to(next_hop, pool, index, &tables.sessions) {
        Ok(())
    } else {
        Err(State::Drop(Reason::Ipv4Spoofed))
    }
}

#[inline(always)]
fn admit_ipv6(
    work: &mut Work,
    index: SessionIndex,
    entry: &Entry,
    flags: u32,
    frame: &[u8],
    tables: &Tables,
) -> Result<(), State> {
    let packet = work.packet(frame);
    let header = ipv6::Header::check(packet).map_err(|error| State::Drop(ipv6_reason(error)))?;
    work.l3_len = header.total_len() as u16;
    work.family = Family::V6;
    let source = header.src.get();
    let dst = header.dst.get();
    work.ttl = header.hop_limit;
    work.set_dst6(dst);
    let to = kind6(dst);
    match to {
        Kind6::Unicast => (),
        Kind6::LinkLocal | Kind6::LocalMulticast => return Err(local_ipv6(packet, header, kind6(source))),
        Kind6::Multicast => return Err(State::Drop(Reason::Ipv6Multicast)),
        Kind6::Unspecified | Kind6::Martian => return Err(State::Drop(Reason::Ipv6Destination)),
    }
    if !entry.owns_ipv6(source) {
        if kind6(source) != Kind6::Unicast {
            return Err(State::Drop(Reason::Ipv6Source));
        }
        let next_hop = tables.fib.next_hop(tables.fib.lookup6(bng_wire::VrfId(work.vrf), source));
        let pool = |map: u16| tables.pools.v6(map).and_then(|map| map.get(source));
        if flags & flags::SOURCE_CHECK != 0 && !leads_to(next_hop, pool, index, &tables.sessions) {
            return Err(State::Drop(Reason::Ipv6Spoofed));
        }
    }
    Ok(())
}

/// UDP ports of DHCPv6 (RFC 8415 section 7.2): servers and relays send from 547.
const DHCPV6_SERVER_PORT: u16 = 547;

/// What a subscriber says on its own link: solicitations and DHCPv6 for control, but nothing that only a router or a
/// server may say.
#[cold]
fn local_ipv6(packet: &[u8], header: &ipv6::Header, from: Kind6) -> State {
    if !matches!(from, Kind6::LinkLocal | Kind6::Unspecified | Kind6::Unicast) {
        return State::Drop(Reason::Ipv6Source);
    }
    let upper = ipv6::upper_layer(packet, header.next_header);
    let server = match upper {
        Some(upper) => match (upper.protocol, packet.get(upper.offset..)) {
            (protocol::ICMPV6, Some(message)) => icmp::Header::read(message)
                .is_none_or(|m| matches!(m.kind, kind6::ROUTER_ADVERTISEMENT | kind6::REDIRECT)),
            (protocol::UDP, Some(datagram)) => {
                udp::Header::read(datagram).is_none_or(|(udp, _)| udp.src_port.get() == DHCPV6_SERVER_PORT)
            }
            _ => false,
        },
        // A later fragment, or a chain of headers too long to see what it is (RFC 6980, RFC 7113).
        None => true,
    };
    if server { State::Drop(Reason::Ipv6ServerMessage) } else { State::Punt(PuntClass::Session, Reason::Ipv6Control) }
}
