//! The last stage: time to live, MSS, and the new header in front.

use bng_fib::AdjacencyView;
use bng_session::{Direction, SessionIndex, flags};
use bng_wire::ether::{FRAME_LEN_MIN, ethertype};
use bng_wire::ipv4::protocol;
use bng_wire::{PortIndex, ipv4, ipv6, tcp};
use zerocopy::FromBytes;

use crate::frame::{FrameBuf, PuntClass};
use crate::pipeline::Tables;
use crate::priority;
use crate::reason::Reason;
use crate::work::{Family, Police, State, Work};

/// IPv4 and TCP headers without options: what an MSS leaves room for (RFC 9293 section 3.7.1, RFC 6691).
const MSS_OVERHEAD_4: u16 = 40;
/// IPv6 and TCP headers without options.
const MSS_OVERHEAD_6: u16 = 60;

/// The PPP protocol of IPv6, in the last octet of the prebuilt header.
const PPP_IPV6_LOW: u8 = 0x57;

/// Makes the frame that a neighbour gets. The port to send it on, or how it ends otherwise; it is unchanged then.
#[inline(always)]
pub(crate) fn to_neighbour<F: FrameBuf>(
    work: &Work,
    view: Option<&AdjacencyView>,
    frame: &mut F,
) -> Result<PortIndex, State> {
    let (port, mtu, header) = match view {
        Some(AdjacencyView::Resolved { port, mtu, header }) => (*port, *mtu, header),
        Some(AdjacencyView::Unresolved { .. }) => {
            return Err(State::Punt(PuntClass::Host, Reason::NeighbourUnresolved));
        }
        None => return Err(State::Drop(Reason::NoRoute)),
    };
    if work.l3_len > mtu {
        return Err(State::TooBig(mtu));
    }
    let kind = match work.family {
        Family::V4 => ethertype::IPV4,
        Family::V6 => ethertype::IPV6,
    };
    let len = header.len();
    if !reshape(work, frame, len) {
        return Err(State::Drop(Reason::NoHeadroom));
    }
    let bytes = frame.bytes_mut();
    if let Some((room, packet)) = bytes.split_at_mut_checked(len) {
        hop(work, packet, work.mss_mtu);
        let source = header.padded();
        // Constant lengths, so that the copies are a few moves each.
        match len {
            14 => copy::<14>(room, source),
            18 => copy::<18>(room, source),
            _ => {
                for (to, from) in room.iter_mut().zip(source) {
                    *to = *from;
                }
            }
        }
        if let Some(field) = room.last_chunk_mut::<2>() {
            *field = kind.to_be_bytes();
        }
    }
    pad(work, frame, len)?;
    Ok(port)
}

/// Makes the frame that a subscriber gets, as [`to_neighbour`].
#[inline(always)]
pub(crate) fn to_session<F: FrameBuf>(
    work: &Work,
    index: SessionIndex,
    frame: &mut F,
    tables: &Tables,
    police: Police,
) -> Result<PortIndex, State> {
    let Some(entry) = tables.sessions.entry(index) else { return Err(State::Drop(Reason::NoSubscriber)) };
    let flags = entry.down_flags();
    let (up, down_reason) = match work.family {
        Family::V4 => (flags::IPV4_UP, Reason::Ipv4NotUp),
        Family::V6 => (flags::IPV6_UP, Reason::Ipv6NotUp),
    };
    if flags & (up | flags::LIVE) != up | flags::LIVE {
        let live = flags & flags::LIVE != 0;
        return Err(State::Drop(if live { down_reason } else { Reason::NoSubscriber }));
    }
    let mtu = entry.mtu_down();
    if work.l3_len > mtu {
        return Err(State::TooBig(mtu));
    }
    if flags & flags::POLICE_DOWN != 0
        && !tables.sessions.police(police.worker, index, Direction::Down, work.l3_len, police.now_ms)
    {
        return Err(State::Drop(Reason::PolicedDown));
    }
    let mss_mtu = if flags & flags::MSS_CLAMP != 0 { work.mss_mtu.min(mtu) } else { work.mss_mtu };
    let header = entry.header();
    let len = usize::from(header.len);
    if !reshape(work, frame, len) {
        return Err(State::Drop(Reason::NoHeadroom));
    }
    let bytes = frame.bytes_mut();
    if let Some((room, packet)) = bytes.split_at_mut_checked(len) {
        hop(work, packet, mss_mtu);
        match len {
            22 => copy::<22>(room, &header.bytes),
            26 => copy::<26>(room, &header.bytes),
            _ => copy::<30>(room, &header.bytes),
        }
        // LENGTH counts the PPP protocol too (RFC 2516 section 4).
        let protocol = if work.family == Family::V4 { 0x21 } else { PPP_IPV6_LOW };
        if let Some(field) = room.last_chunk_mut::<4>() {
            let [high, low] = work.l3_len.wrapping_add(2).to_be_bytes();
            *field = [high, low, 0, protocol];
        }
    }
    pad(work, frame, len)?;
    if flags & flags::PRIORITY != 0 {
        priority::mark(frame, len, work.family, entry, tables);
    }
    Ok(entry.port())
}

#[inline(always)]
fn copy<const N: usize>(room: &mut [u8], source: &[u8]) {
    if let (Some(to), Some(from)) = (room.first_chunk_mut::<N>(), source.first_chunk::<N>()) {
        *to = *from;
    }
}

/// Brings the frame's ends to the packet with `header_len` octets in front.
#[inline]
pub(crate) fn reshape<F: FrameBuf>(work: &Work, frame: &mut F, header_len: usize) -> bool {
    let l3 = usize::from(work.l3);
    let moved = match header_len.checked_sub(l3) {
        Some(0) => true,
        Some(more) => frame.push_front(more),
        None => frame.pull_front(l3.wrapping_sub(header_len)),
    };
    moved && frame.set_len(header_len.wrapping_add(usize::from(work.l3_len)))
}

/// Fills a short frame with zeros: link padding that came in, or what lay in the buffer before, must not travel.
#[inline]
pub(crate) fn pad<F: FrameBuf>(work: &Work, frame: &mut F, header_len: usize) -> Result<(), State> {
    let len = header_len.wrapping_add(usize::from(work.l3_len));
    if len >= FRAME_LEN_MIN {
        return Ok(());
    }
    if !frame.set_len(FRAME_LEN_MIN) {
        return Err(State::Drop(Reason::NoHeadroom));
    }
    if let Some(padding) = frame.bytes_mut().get_mut(len..) {
        padding.fill(0);
    }
    Ok(())
}

/// One hop: the time to live, which was found above 1, and the MSS.
#[inline(always)]
fn hop(work: &Work, packet: &mut [u8], mss_mtu: u16) {
    match work.family {
        Family::V4 => {
            let Ok((header, rest)) = ipv4::Header::mut_from_prefix(packet) else { return };
            header.decrement_ttl();
            if header.protocol == protocol::TCP && mss_mtu != u16::MAX && !header.is_later_fragment() {
                let options = header.header_len().wrapping_sub(ipv4::HEADER_LEN);
                if let Some(segment) = rest.get_mut(options..) {
                    tcp::clamp_mss(segment, mss_mtu.saturating_sub(MSS_OVERHEAD_4));
                }
            }
        }
        Family::V6 => {
            let Ok((header, rest)) = ipv6::Header::mut_from_prefix(packet) else { return };
            header.hop_limit = header.hop_limit.saturating_sub(1);
            match header.next_header {
                _ if mss_mtu == u16::MAX => (),
                protocol::TCP => {
                    tcp::clamp_mss(rest, mss_mtu.saturating_sub(MSS_OVERHEAD_6));
                }
                protocol::UDP | protocol::ICMPV6 => (),
                next => clamp_behind_extensions(packet, next, mss_mtu),
            }
        }
    }
}

#[cold]
fn clamp_behind_extensions(packet: &mut [u8], next: u8, mss_mtu: u16) {
    if let Some(upper) = ipv6::upper_layer(packet, next)
        && upper.protocol == protocol::TCP
        && let Some(segment) = packet.get_mut(upper.offset..)
    {
        tcp::clamp_mss(segment, mss_mtu.saturating_sub(MSS_OVERHEAD_6));
    }
}
