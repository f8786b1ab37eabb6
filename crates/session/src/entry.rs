//! One session as the workers read it: two cache lines, one for each direction.

use core::net::{Ipv4Addr, Ipv6Addr};
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use bng_wire::{MacAddr, PortIndex, VlanStack, VlanTag};
use zerocopy::FromZeros;

use crate::spec::SessionSpec;

/// The bits of [`Entry::up_flags`] and [`Entry::down_flags`].
pub mod flags {
    /// The entry belongs to a live session.
    pub const LIVE: u32 = 1;
    /// IPCP is open.
    pub const IPV4_UP: u32 = 1 << 1;
    /// IPV6CP is open.
    pub const IPV6_UP: u32 = 1 << 2;
    /// The MSS of SYN segments is lowered to fit.
    pub const MSS_CLAMP: u32 = 1 << 3;
    /// The source address of upstream packets is checked.
    pub const SOURCE_CHECK: u32 = 1 << 4;
    /// The session's packets are traced.
    pub const TRACE: u32 = 1 << 5;
    /// LCP Echo-Requests are answered by the workers.
    pub const ECHO: u32 = 1 << 6;
    /// Packets from the client are policed.
    pub const POLICE_UP: u32 = 1 << 7;
    /// Packets to the client are policed.
    pub const POLICE_DOWN: u32 = 1 << 8;
    /// Tags of frames to the client get their priority by a DSCP to PCP map.
    pub const PRIORITY: u32 = 1 << 9;
}

/// What a frame must have in common with its session besides what led to the entry: MAC address (48 bits), inner VID
/// (12 bits), and the kinds of the two tag protocol identifiers (2 bits each), in one word that is compared at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionKey(pub u64);

impl SessionKey {
    /// The key of a frame from `mac` with these tags. A lone priority tag (VID 0) is no tag (IEEE 802.1Q: it carries a
    /// priority only).
    #[must_use]
    #[inline]
    pub const fn new(mac: MacAddr, vlans: VlanStack) -> Self {
        let (outer, inner, inner_vid) = match (vlans.outer, vlans.inner) {
            (Some(outer), Some(inner)) => (tpid_kind(outer), tpid_kind(inner), inner.vid()),
            (Some(outer), None) if outer.vid() != 0 => (tpid_kind(outer), 0, 0),
            _ => (0, 0, 0),
        };
        Self(mac.to_u64() | ((inner_vid as u64) << 48) | (outer << 60) | (inner << 62))
    }

    /// The MAC address within.
    #[must_use]
    pub const fn mac(self) -> MacAddr {
        MacAddr::from_u64(self.0)
    }

    /// The inner VID within, 0 where there is none.
    #[must_use]
    pub const fn inner_vid(self) -> u16 {
        ((self.0 >> 48) & 0xfff) as u16
    }
}

/// 1 to 3 for the three identifiers in use; any other would not have been taken for a tag.
#[inline]
const fn tpid_kind(tag: VlanTag) -> u64 {
    match tag.tpid {
        0x8100 => 1,
        0x88a8 => 2,
        _ => 3,
    }
}

/// The prebuilt header of downstream frames: Ethernet, up to two tags, PPPoE (LENGTH zero) and the PPP protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The octets; those from `len` on are zero.
    pub bytes: [u8; 32],
    /// 22, 26 or 30: with no tag, one, two.
    pub len: u8,
}

/// Octets of the PPPoE header and the PPP protocol.
const PPPOE_PPP_LEN: usize = 8;

impl Header {
    /// The header for this session, with PPP protocol 0x0021 (IPv4); whoever sends IPv6 patches the last octet.
    #[must_use]
    pub fn build(spec: &SessionSpec) -> Self {
        let mut bytes = [0u8; 32];
        let mut len = 0usize;
        let mut put = |part: &[u8]| {
            let end = len.saturating_add(part.len());
            if let Some(room) = bytes.get_mut(len..end) {
                room.copy_from_slice(part);
                len = end;
            }
        };
        put(&spec.peer_mac.0);
        put(&spec.local_mac.0);
        let priority_only = spec.vlans.inner.is_none() && spec.vlans.outer_vid() == 0;
        if !priority_only {
            for tag in [spec.vlans.outer, spec.vlans.inner].into_iter().flatten() {
                put(&tag.tpid.to_be_bytes());
                // The VID alone: the priority of what we send is ours, not a copy of the client's.
                put(&tag.vid().to_be_bytes());
            }
        }
        put(&0x8864u16.to_be_bytes());
        put(&[0x11, 0]);
        put(&spec.session_id.0.to_be_bytes());
        put(&[0, 0]);
        put(&0x0021u16.to_be_bytes());
        Self { bytes, len: len as u8 }
    }

    /// The offset of the PPPoE LENGTH field.
    #[must_use]
    pub const fn length_offset(&self) -> usize {
        (self.len as usize).saturating_sub(4)
    }

    /// Octets before the PPPoE header: 14, 18 or 22.
    #[must_use]
    pub const fn l2_len(&self) -> usize {
        (self.len as usize).saturating_sub(PPPOE_PPP_LEN)
    }
}

/// A session as the workers read it. Each field stands alone; the flags, stored last with release order, open the
/// way to the others. The first cache line serves packets from the client, the second those to it, so that either
/// direction reads one line.
#[derive(Debug, Default, FromZeros)]
#[repr(C, align(64))]
pub struct Entry {
    // Upstream line.
    key: AtomicU64,
    prefix_high: AtomicU64,
    prefix_low: AtomicU64,
    delegated_high: AtomicU64,
    up_flags: AtomicU32,
    ipv4: AtomicU32,
    gateway_ipv4: AtomicU32,
    spare_word_up: AtomicU32,
    vrf: AtomicU16,
    mtu_up: AtomicU16,
    prefix_len: AtomicU8,
    delegated_len: AtomicU8,
    session_id: AtomicU16,
    outer_vid: AtomicU16,
    spare_up: AtomicU16,
    echo_magic: AtomicU32,
    // Downstream line.
    header: [AtomicU64; 4],
    down_flags: AtomicU32,
    generation: AtomicU32,
    mtu_down: AtomicU16,
    port: AtomicU8,
    header_len: AtomicU8,
    spare_word_down: AtomicU32,
    ipv4_down: AtomicU32,
    priority_map: AtomicU8,
    spare_down: [AtomicU8; 3],
    gateway_interface_id: AtomicU64,
}

const RELAXED: Ordering = Ordering::Relaxed;

const _: () = assert!(size_of::<Entry>() == 128);

impl Entry {
    /// The upstream flags; see [`flags`]. Read these before any other upstream field.
    #[must_use]
    #[inline]
    pub fn up_flags(&self) -> u32 {
        self.up_flags.load(Ordering::Acquire)
    }

    /// The downstream flags; see [`flags`]. Read these before any other downstream field.
    #[must_use]
    #[inline]
    pub fn down_flags(&self) -> u32 {
        self.down_flags.load(Ordering::Acquire)
    }

    /// MAC address, inner VID and tag kinds of the client's frames.
    #[must_use]
    #[inline]
    pub fn key(&self) -> SessionKey {
        SessionKey(self.key.load(RELAXED))
    }

    /// The client's IPv4 address as a number, 0 where it has none. From the upstream line.
    #[must_use]
    #[inline]
    pub fn ipv4(&self) -> u32 {
        self.ipv4.load(RELAXED)
    }

    /// The same, from the downstream line.
    #[must_use]
    #[inline]
    pub fn ipv4_down(&self) -> u32 {
        self.ipv4_down.load(RELAXED)
    }

    /// The gateway's IPv4 address towards the client as a number, 0 where there is none.
    #[must_use]
    #[inline]
    pub fn gateway_ipv4(&self) -> u32 {
        self.gateway_ipv4.load(RELAXED)
    }

    /// The interface identifier of the gateway's link-local address, 0 where there is none. From the downstream line.
    #[must_use]
    #[inline]
    pub fn gateway_interface_id(&self) -> u64 {
        self.gateway_interface_id.load(RELAXED)
    }

    /// Our LCP magic number; good while [`flags::ECHO`] is set.
    #[must_use]
    #[inline]
    pub fn echo_magic(&self) -> u32 {
        self.echo_magic.load(RELAXED)
    }

    /// True where `source` lies in the client's own prefix or in its first delegated prefix.
    #[must_use]
    #[inline]
    pub fn owns_ipv6(&self, source: u128) -> bool {
        let high = (source >> 64) as u64;
        let prefix_len = self.prefix_len.load(RELAXED);
        let own = prefix_len != 0 && {
            let prefix = (u128::from(self.prefix_high.load(RELAXED)) << 64) | u128::from(self.prefix_low.load(RELAXED));
            equal_above(source, prefix, prefix_len)
        };
        own || {
            let delegated_len = self.delegated_len.load(RELAXED);
            let delegated = self.delegated_high.load(RELAXED);
            delegated_len != 0 && equal_above(u128::from(high) << 64, u128::from(delegated) << 64, delegated_len)
        }
    }

    /// The longest IP packet for the client, in octets. From the upstream line, for the MSS clamp.
    #[must_use]
    #[inline]
    pub fn mtu_up(&self) -> u16 {
        self.mtu_up.load(RELAXED)
    }

    /// The same, from the downstream line.
    #[must_use]
    #[inline]
    pub fn mtu_down(&self) -> u16 {
        self.mtu_down.load(RELAXED)
    }

    /// The routing instance.
    #[must_use]
    #[inline]
    pub fn vrf(&self) -> u16 {
        self.vrf.load(RELAXED)
    }

    /// Which session of the entry's successive ones this is.
    #[must_use]
    #[inline]
    pub fn generation(&self) -> u32 {
        self.generation.load(RELAXED)
    }

    /// The access port that leads to the client.
    #[must_use]
    #[inline]
    pub fn port(&self) -> PortIndex {
        PortIndex(self.port.load(RELAXED))
    }

    /// The prebuilt header of downstream frames.
    #[must_use]
    #[inline]
    pub fn header(&self) -> Header {
        let [a, b, c, d] = &self.header;
        let mut bytes = [0u8; 32];
        // Four whole words, whatever the length: no branch, and all of it is one cache line.
        for (room, word) in bytes.chunks_exact_mut(8).zip([a, b, c, d]) {
            room.copy_from_slice(&word.load(RELAXED).to_ne_bytes());
        }
        Header { bytes, len: self.header_len.load(RELAXED) }
    }

    /// Octets of the prebuilt header: 22, 26 or 30, or 0 in an entry never used.
    #[must_use]
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.header_len.load(RELAXED))
    }

    /// The DSCP to PCP map's index plus one, 0 for none.
    #[must_use]
    #[inline]
    pub fn priority_map(&self) -> u8 {
        self.priority_map.load(RELAXED)
    }

    /// Asks for the cache line that serves packets to the client.
    #[inline]
    pub fn prefetch_down(&self) {
        bng_sync::prefetch_read(&self.header);
    }

    /// The index coordinates: port, outer VID, session id.
    #[must_use]
    pub fn place(&self) -> (u8, u16, u16) {
        (self.port.load(RELAXED), self.outer_vid.load(RELAXED), self.session_id.load(RELAXED))
    }

    /// Writes everything that is fixed for a session's life. No reader may reach the entry yet.
    pub(crate) fn fill(&self, spec: &SessionSpec, generation: u32) {
        self.key.store(SessionKey::new(spec.peer_mac, spec.vlans).0, RELAXED);
        self.session_id.store(spec.session_id.0, RELAXED);
        self.outer_vid.store(spec.vlans.outer_vid(), RELAXED);
        self.port.store(spec.port.0, RELAXED);
        self.generation.store(generation, RELAXED);
        let header = Header::build(spec);
        for (word, part) in self.header.iter().zip(header.bytes.chunks_exact(8)) {
            let mut octets = [0u8; 8];
            octets.copy_from_slice(part);
            word.store(u64::from_ne_bytes(octets), RELAXED);
        }
        self.header_len.store(header.len, RELAXED);
        self.refresh(spec);
    }

    /// Writes what may change while the session lives.
    ///
    /// A protocol that is going down is closed before its address changes, and one that is coming up is opened after,
    /// so that no packet is judged by an open flag and a stale address: hence the flags twice.
    pub(crate) fn refresh(&self, spec: &SessionSpec) {
        let open = spec_flags(spec);
        self.up_flags.fetch_and(open, Ordering::AcqRel);
        self.down_flags.fetch_and(open, Ordering::AcqRel);
        let ipv4 = spec.ipv4.map_or(0, Ipv4Addr::to_bits);
        self.ipv4.store(ipv4, RELAXED);
        self.ipv4_down.store(ipv4, RELAXED);
        self.gateway_ipv4.store(spec.gateway_ipv4.map_or(0, Ipv4Addr::to_bits), RELAXED);
        self.gateway_interface_id.store(spec.gateway_interface_id.unwrap_or(0), RELAXED);
        self.echo_magic.store(spec.echo_magic.unwrap_or(0), RELAXED);
        let (prefix, prefix_len) = spec.ipv6_prefix.map_or((0, 0), |(p, len)| (Ipv6Addr::to_bits(p), len.min(128)));
        let (delegated, delegated_len) = spec.delegated_prefix.map_or((0, 0), |(p, len)| (Ipv6Addr::to_bits(p), len));
        self.prefix_len.store(0, RELAXED);
        self.prefix_high.store((prefix >> 64) as u64, RELAXED);
        self.prefix_low.store(prefix as u64, RELAXED);
        self.prefix_len.store(prefix_len, Ordering::Release);
        self.delegated_len.store(0, RELAXED);
        self.delegated_high.store((delegated >> 64) as u64, RELAXED);
        // A prefix longer than what the entry keeps is the FIB's affair.
        self.delegated_len.store(if delegated_len <= 64 { delegated_len } else { 0 }, Ordering::Release);
        let mtu = spec.mtu.max(crate::spec::MTU_MIN);
        self.mtu_up.store(mtu, RELAXED);
        self.mtu_down.store(mtu, RELAXED);
        self.vrf.store(spec.vrf.0, RELAXED);
        self.priority_map.store(spec.priority_map, RELAXED);
        self.up_flags.store(open, Ordering::Release);
        self.down_flags.store(open, Ordering::Release);
    }

    /// Closes the entry to every packet.
    pub(crate) fn close(&self) {
        self.up_flags.store(0, Ordering::Release);
        self.down_flags.store(0, Ordering::Release);
    }
}

/// True where the first `len` bits of both are equal; `len` is 1 to 128.
#[inline]
const fn equal_above(a: u128, b: u128, len: u8) -> bool {
    match (a ^ b).checked_shr(128u32.saturating_sub(len as u32)) {
        Some(rest) => rest == 0,
        None => true,
    }
}

/// The flags that a specification asks for.
const fn spec_flags(spec: &SessionSpec) -> u32 {
    let mut bits = flags::LIVE;
    if spec.ipv4_up {
        bits |= flags::IPV4_UP;
    }
    if spec.ipv6_up {
        bits |= flags::IPV6_UP;
    }
    if spec.mss_clamp {
        bits |= flags::MSS_CLAMP;
    }
    if spec.source_check {
        bits |= flags::SOURCE_CHECK;
    }
    if spec.trace {
        bits |= flags::TRACE;
    }
    if spec.echo_magic.is_some() {
        bits |= flags::ECHO;
    }
    if spec.policer_up.is_some() {
        bits |= flags::POLICE_UP;
    }
    if spec.policer_down.is_some() {
        bits |= flags::POLICE_DOWN;
    }
    if spec.priority_map != 0 {
        bits |= flags::PRIORITY;
    }
    bits
}
