//! The core side: from a frame to an IP packet to be routed, or to the kernel's twin of the interface.

use bng_wire::ether::{Ether, HEADER_LEN, ethertype};
use bng_wire::{MacAddr, ipv4, ipv6};

use crate::access::{ether_reason, ipv4_reason, ipv6_reason, is_station};
use crate::address::{Kind4, Kind6, kind4, kind6};
use crate::frame::PuntClass;
use crate::ports::PortEntry;
use crate::reason::Reason;
use crate::work::{Family, State, Work};

const HOST: State = State::Punt(PuntClass::Host, Reason::Host);

/// First stage: Ethernet and IP headers.
#[inline(always)]
pub(crate) fn parse(work: &mut Work, frame: &[u8], entry: &PortEntry) {
    work.begin(State::Route);
    if let Err(end) = parse_frame(work, frame, entry) {
        work.state = end;
    }
}

#[inline(always)]
fn parse_frame(work: &mut Work, frame: &[u8], entry: &PortEntry) -> Result<(), State> {
    let (addresses, _) = frame.split_first_chunk::<HEADER_LEN>().ok_or(State::Drop(Reason::Runt))?;
    let [d0, d1, d2, d3, d4, d5, s @ ..] = *addresses;
    let group = MacAddr([d0, d1, d2, d3, d4, d5]).to_u64() != entry.mac.to_u64();
    if group && d0 & 1 == 0 {
        return Err(State::Drop(not_ours(frame, entry)));
    }
    // Source address (48 bits) and EtherType or tag protocol identifier (16) in one word.
    let source_and_type = u64::from_be_bytes(s);
    let (kind, outer_vid, payload_offset) = match source_and_type as u16 {
        kind @ (ethertype::IPV4 | ethertype::IPV6) => (kind, 0, HEADER_LEN),
        _ => tagged(frame, entry)?,
    };
    if !is_station(MacAddr::from_u64(source_and_type >> 16)) {
        return Err(State::Drop(Reason::BadSourceMac));
    }
    if !entry.vids.contains(outer_vid) {
        return Err(State::Drop(Reason::UnknownVlan));
    }
    let packet = frame.get(payload_offset..).unwrap_or(&[]);
    work.l3 = payload_offset as u16;
    match kind {
        ethertype::IPV4 => {
            let header = ipv4::Header::check(packet).map_err(|error| State::Drop(ipv4_reason(error)))?;
            work.l3_len = header.total_len.get();
            work.family = Family::V4;
            work.dst4 = header.dst.get();
            work.ttl = header.ttl;
            admit_ipv4(header, work.dst4, group)?;
        }
        ethertype::IPV6 => {
            let header = ipv6::Header::check(packet).map_err(|error| State::Drop(ipv6_reason(error)))?;
            work.l3_len = header.total_len() as u16;
            work.family = Family::V6;
            work.set_dst6(header.dst.get());
            work.ttl = header.hop_limit;
            work.link_source = admit_ipv6(header, group)?;
        }
        ethertype::ARP => return Err(State::Punt(PuntClass::Host, Reason::Arp)),
        _ => return Err(State::Drop(Reason::Ethertype)),
    }
    Ok(())
}

/// EtherType, outer VID and payload offset of a frame that may have tags. Apart, so that untagged packets do not pay
/// for keeping the tags.
#[inline(never)]
fn tagged(frame: &[u8], entry: &PortEntry) -> Result<(u16, u16, usize), State> {
    let ether = Ether::parse(frame, entry.tpids).map_err(|error| State::Drop(ether_reason(error)))?;
    // Interfaces have one tag at most.
    if ether.vlans.inner.is_some() {
        return Err(State::Drop(if is_station(ether.src) { Reason::UnknownVlan } else { Reason::BadSourceMac }));
    }
    Ok((ether.ethertype, ether.vlans.outer_vid(), ether.payload_offset))
}

/// Why a frame to another station is dropped: a header that cannot be read goes first.
#[cold]
fn not_ours(frame: &[u8], entry: &PortEntry) -> Reason {
    Ether::parse(frame, entry.tpids).map_or_else(ether_reason, |_| Reason::NotOurMac)
}

#[inline]
fn admit_ipv4(header: &ipv4::Header, dst: u32, group: bool) -> Result<(), State> {
    if kind4(header.src.get()) != Kind4::Unicast {
        return Err(State::Drop(Reason::Ipv4Source));
    }
    match kind4(dst) {
        // RFC 1812 section 5.3.4: what came as a link broadcast is not forwarded.
        Kind4::Unicast if group => Err(State::Drop(Reason::Ipv4Broadcast)),
        Kind4::Unicast => Ok(()),
        Kind4::LocalMulticast => Err(HOST),
        Kind4::Multicast => Err(State::Drop(Reason::Ipv4Multicast)),
        Kind4::Broadcast => Err(State::Drop(Reason::Ipv4Broadcast)),
        Kind4::Martian => Err(State::Drop(Reason::Ipv4Destination)),
    }
}

/// Whether the source address is only good on its own link.
#[inline]
fn admit_ipv6(header: &ipv6::Header, group: bool) -> Result<bool, State> {
    let link_source = match kind6(header.src.get()) {
        Kind6::Unicast => false,
        // Neighbour discovery comes from these; the routing stage stops what is to be forwarded.
        Kind6::LinkLocal | Kind6::Unspecified => true,
        _ => return Err(State::Drop(Reason::Ipv6Source)),
    };
    match kind6(header.dst.get()) {
        Kind6::Unicast if group => Err(State::Drop(Reason::Ipv6Multicast)),
        Kind6::Unicast => Ok(link_source),
        Kind6::LinkLocal | Kind6::LocalMulticast => Err(HOST),
        Kind6::Multicast => Err(State::Drop(Reason::Ipv6Multicast)),
        Kind6::Unspecified | Kind6::Martian => Err(State::Drop(Reason::Ipv6Destination)),
    }
}
