//! What a worker answers by itself: LCP Echo-Requests and pings of the gateway, so that neither the keepalives of many
//! sessions nor a curious client costs the control core anything.

use bng_session::{Entry, flags};
use bng_wire::checksum::{self, Sum};
use bng_wire::icmp::{self, kind4, kind6};
use bng_wire::ipv4::protocol;
use bng_wire::{ipv4, ipv6};
use zerocopy::FromBytes;

use crate::access::{lcp, ppp::LCP as PPP_LCP};
use crate::frame::{FrameBuf, PuntClass};
use crate::reason::Reason;
use crate::work::{Family, State, Work};
use crate::{priority, rewrite};

/// Echo-Requests that each worker answers a session, each second. Clients send one in some seconds.
pub(crate) const ECHOES_PER_SECOND_MAX: u8 = 4;
/// Pings that each worker answers a session, each second.
pub(crate) const PINGS_PER_SECOND_MAX: u8 = 20;

/// Control frames that each worker hands over of a session, each second. A login takes twenty, all phases together.
pub(crate) const CONTROL_PER_SECOND_MAX: u8 = 64;
/// Packets to unresolved neighbours that each worker hands over of a session, each second; control holds three for each
/// neighbour.
pub(crate) const HELD_PER_SECOND_MAX: u8 = 32;

/// Packets to one unresolved neighbour that each worker hands over each second, whoever sent them: control keeps the last
/// three.
pub(crate) const HELD_PER_TARGET_MAX: u16 = 8;

/// Frames of unknown sessions from one MAC address that each worker tells control of, each second.
pub(crate) const UNKNOWN_PER_MAC_MAX: u16 = 8;

/// ICMP errors that each worker sends about packets of a session, each second; those that say which length fits have as
/// many of their own (RFC 1812 section 4.3.2.8, RFC 4443 section 2.4 f).
pub(crate) const ERRORS_PER_SECOND_MAX: u8 = 50;

/// Octets of an Echo packet without data: code, identifier, length, magic number.
const ECHO_LEN_MIN: usize = 8;
/// The time to live of a reply; one more, since it is forwarded like any other packet.
const TTL: u8 = 64 + 1;
/// fe80::/64, the upper half of a link-local address (RFC 4291 section 2.5.6).
const LINK_LOCAL: u64 = 0xfe80 << 48;

/// What is to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// An LCP Echo-Request of `len` octets, to be answered with `magic`.
    Echo { magic: u32, len: u16 },
    /// An echo request to the gateway's address, ICMP or ICMPv6.
    Ping,
}

/// The question in a frame of the session `entry` that would otherwise end in `end`, if there is one. Whatever is odd
/// about it is no question: control or the kernel judge that.
pub(crate) fn question(work: &Work, end: State, frame: &[u8], entry: &Entry) -> Option<Question> {
    let packet = work.packet(frame);
    match end {
        State::Punt(PuntClass::Keepalive, _) => echo_request(packet, entry),
        // To the gateway, whether its address is the twin's or merely one that no session of the pool has.
        State::Drop(Reason::HostRefused) if work.family == Family::V4 => ping4(work, packet, entry),
        State::Punt(PuntClass::Session, Reason::Ipv6Control) => ping6(work, packet, entry),
        _ => None,
    }
}

fn echo_request(packet: &[u8], entry: &Entry) -> Option<Question> {
    if entry.up_flags() & flags::ECHO == 0 {
        return None;
    }
    let [code, _, high, low, m0, m1, m2, m3] = *packet.first_chunk::<ECHO_LEN_MIN>()?;
    let len = u16::from_be_bytes([high, low]);
    let fits = usize::from(len) >= ECHO_LEN_MIN && usize::from(len) <= packet.len() && len <= entry.mtu_up();
    let magic = entry.echo_magic();
    let theirs = u32::from_be_bytes([m0, m1, m2, m3]);
    // Our own number coming back means a loop (RFC 1661 section 6.4): control's affair.
    let looped = magic != 0 && theirs == magic;
    (code == lcp::ECHO_REQUEST && fits && !looped).then_some(Question::Echo { magic, len })
}

fn ping4(work: &Work, packet: &[u8], entry: &Entry) -> Option<Question> {
    let gateway = entry.gateway_ipv4();
    if gateway == 0 || work.dst4 != gateway || work.l3_len > entry.mtu_up() {
        return None;
    }
    let (header, message) = ipv4::Header::ref_from_prefix(packet).ok()?;
    // Only the address's owner, without options, in one piece (more fragments, or an offset).
    let plain = header.version_ihl == 0x45 && header.protocol == protocol::ICMP && header.fragment.get() & 0x3fff == 0;
    if !plain || header.src.get() != entry.ipv4() {
        return None;
    }
    let icmp = icmp::Header::read(message)?;
    (icmp.kind == kind4::ECHO && icmp.code == 0 && checksum::is_valid(message)).then_some(Question::Ping)
}

fn ping6(work: &Work, packet: &[u8], entry: &Entry) -> Option<Question> {
    let gateway = entry.gateway_interface_id();
    if gateway == 0 || work.dst6() != (u128::from(LINK_LOCAL) << 64 | u128::from(gateway)) {
        return None;
    }
    let (header, message) = ipv6::Header::ref_from_prefix(packet).ok()?;
    let source = header.src.get();
    let own = (source >> 64) as u64 == LINK_LOCAL || entry.owns_ipv6(source);
    if header.next_header != protocol::ICMPV6 || !own || work.l3_len > entry.mtu_up() {
        return None;
    }
    let icmp = icmp::Header::read(message)?;
    let len = u32::try_from(message.len()).ok()?;
    let sum = Sum::ZERO.pseudo_ipv6(source, header.dst.get(), protocol::ICMPV6, len).octets(message).fold();
    (icmp.kind == kind6::ECHO && icmp.code == 0 && sum == 0xffff).then_some(Question::Ping)
}

/// Makes the Echo-Request in `frame` the Echo-Reply: behind the session's own header, whose tags get the priority of
/// control frames. False, and the frame of no use, where there is no room.
pub(crate) fn echo<F: FrameBuf>(work: &Work, magic: u32, len: u16, frame: &mut F, entry: &Entry, pcp: u8) -> bool {
    let header = entry.header();
    let front = usize::from(header.len);
    // What the client put behind the LCP packet does not come back.
    let mut own = *work;
    own.l3_len = len;
    if !rewrite::reshape(&own, frame, front) {
        return false;
    }
    if let Some((room, packet)) = frame.bytes_mut().split_at_mut_checked(front) {
        for (to, from) in room.iter_mut().zip(header.bytes) {
            *to = from;
        }
        // LENGTH counts the PPP protocol too (RFC 2516 section 4).
        if let Some([length @ .., p0, p1]) = room.last_chunk_mut::<4>() {
            *length = len.wrapping_add(2).to_be_bytes();
            [*p0, *p1] = PPP_LCP.to_be_bytes();
        }
        priority::set(room, pcp);
        if let Some([code, _, _, _, field @ ..]) = packet.first_chunk_mut::<ECHO_LEN_MIN>() {
            *code = lcp::ECHO_REPLY;
            *field = magic.to_be_bytes();
        }
    }
    rewrite::pad(&own, frame, front).is_ok()
}

/// Makes the ping in `frame` the reply: addresses swapped, type changed, the checksum with it (RFC 1624); the
/// pseudo-header's sum is the same either way round.
pub(crate) fn ping(work: &Work, frame: &mut [u8]) {
    let start = usize::from(work.l3);
    let Some(packet) = frame.get_mut(start..start.wrapping_add(usize::from(work.l3_len))) else { return };
    let (message, from, to) = match work.family {
        Family::V4 => {
            let Ok((header, message)) = ipv4::Header::mut_from_prefix(packet) else { return };
            core::mem::swap(&mut header.src, &mut header.dst);
            header.ttl = TTL;
            header.seal();
            (message, kind4::ECHO, kind4::ECHO_REPLY)
        }
        Family::V6 => {
            let Ok((header, message)) = ipv6::Header::mut_from_prefix(packet) else { return };
            core::mem::swap(&mut header.src, &mut header.dst);
            header.hop_limit = TTL;
            (message, kind6::ECHO, kind6::ECHO_REPLY)
        }
    };
    if let Ok((icmp, _)) = icmp::Header::mut_from_prefix(message) {
        icmp.kind = to;
        let word = |kind| u16::from_be_bytes([kind, 0]);
        icmp.checksum.set(checksum::update(icmp.checksum.get(), word(from), word(to)));
    }
}
