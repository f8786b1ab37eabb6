//! From a packet's DSCP to the priority of its tags: maps that control sets and sessions refer to.

use core::sync::atomic::{AtomicU8, Ordering};

use bng_session::Entry;

use crate::frame::FrameBuf;
use crate::pipeline::Tables;
use crate::work::Family;

/// How many maps there are.
pub const PRIORITY_MAPS_MAX: usize = 16;
/// The PCP of control frames unless it is set otherwise: internetwork control (IEEE 802.1Q Annex I).
pub const CONTROL_PCP: u8 = 6;
/// The DSCP of the router's own packets unless it is set otherwise: CS6 (RFC 4594), of which RFC 1812 section 4.3.2.5 knows
/// the precedence, internetwork control.
pub const CONTROL_DSCP: u8 = 48;
/// Values of a DSCP (RFC 2474 section 3).
const DSCPS: usize = 64;

/// The DSCP to PCP maps; all PCPs are 0 at first. Each cell stands alone: while a map changes, a packet gets the old
/// priority or the new one.
#[derive(Debug)]
pub struct PriorityMaps {
    maps: [[AtomicU8; DSCPS]; PRIORITY_MAPS_MAX],
    control: AtomicU8,
    control_dscp: AtomicU8,
}

impl Default for PriorityMaps {
    fn default() -> Self {
        let map = || core::array::from_fn(|_| AtomicU8::new(0));
        Self {
            maps: core::array::from_fn(|_| map()),
            control: AtomicU8::new(CONTROL_PCP),
            control_dscp: AtomicU8::new(CONTROL_DSCP),
        }
    }
}

impl PriorityMaps {
    /// Sets the PCP (0 to 7, IEEE 802.1Q) of packets with this DSCP (0 to 63) in map number `map`, counted from 0;
    /// sessions name it by one more. False, and nothing changed, where one of the three is out of range.
    #[must_use]
    pub fn set(&self, map: usize, dscp: u8, pcp: u8) -> bool {
        let cell = self.maps.get(map).and_then(|map| map.get(usize::from(dscp)));
        match cell {
            Some(cell) if pcp < 8 => {
                cell.store(pcp, Ordering::Relaxed);
                true
            }
            _ => false,
        }
    }

    /// The PCP of control frames that workers send by themselves: Echo-Replies. [`CONTROL_PCP`] at first.
    #[must_use]
    pub fn control(&self) -> u8 {
        self.control.load(Ordering::Relaxed)
    }

    /// Sets the PCP of control frames, of which the low three bits count.
    pub fn set_control(&self, pcp: u8) {
        self.control.store(pcp & 7, Ordering::Relaxed);
    }

    /// Sets the DSCP of the packets that workers send by themselves, ICMP errors, of which the low six bits count.
    /// [`CONTROL_DSCP`] at first.
    pub fn set_control_dscp(&self, dscp: u8) {
        self.control_dscp.store(dscp & 63, Ordering::Relaxed);
    }

    /// The same as an octet of a header: not ECN-capable.
    #[must_use]
    pub(crate) fn control_class(&self) -> u8 {
        self.control_dscp.load(Ordering::Relaxed) << 2
    }

    /// The PCP of `packet`, by the map that a session names (0 is none, whose PCP is 0).
    #[must_use]
    pub(crate) fn of_packet(&self, session_map: u8, family: Family, packet: &[u8]) -> u8 {
        let Some([first, second]) = packet.first_chunk::<2>() else { return 0 };
        let class = match family {
            Family::V4 => *second,
            // Four bits of version, eight of traffic class.
            Family::V6 => first << 4 | second >> 4,
        };
        let map = usize::from(session_map).checked_sub(1).and_then(|map| self.maps.get(map));
        map.and_then(|map| map.get(usize::from(class >> 2))).map_or(0, |cell| cell.load(Ordering::Relaxed))
    }
}

/// Writes the packet's priority into the tags of its subscriber's header, the first `header_len` octets of the frame. A
/// call, so that sessions without a map do not pay for it.
#[inline(never)]
pub(crate) fn mark<F: FrameBuf>(frame: &mut F, header_len: usize, family: Family, entry: &Entry, tables: &Tables) {
    let Some((room, packet)) = frame.bytes_mut().split_at_mut_checked(header_len) else { return };
    set(room, tables.ports.priorities().of_packet(entry.priority_map(), family, packet));
}

/// Writes a priority into the tags of a subscriber's header: 22 octets without a tag, 26 with one, 30 with two. Both tags
/// get it: the outer one serves the access network, the inner one the client's line.
pub(crate) fn set(header: &mut [u8], pcp: u8) {
    /// Offsets of the tags' first octet of PCP, DEI and VID.
    const OUTER: usize = 14;
    const INNER: usize = 18;
    let len = header.len();
    for (offset, least) in [(OUTER, 26), (INNER, 30)] {
        if len >= least
            && let Some(octet) = header.get_mut(offset)
        {
            *octet = *octet & 0x1f | pcp << 5;
        }
    }
}
