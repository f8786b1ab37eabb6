//! ICMP and ICMPv6 errors about packets that go no further.

use bng_wire::checksum::Sum;
use bng_wire::icmp::{self, kind4, kind6, unreachable4};
use bng_wire::ipv4::protocol;
use bng_wire::{icmp::Header, ipv4, ipv6};
use zerocopy::FromBytes;

use crate::address::{self, Kind4, Kind6};
use crate::reason::Reason;
use crate::work::Family;

/// The longest ICMP error (RFC 1812 section 4.3.2.3).
const ERROR_LEN_MAX_4: usize = 576;
/// Time to live of our own packets.
const TTL: u8 = 64;

/// What an error says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message {
    kind: u8,
    code: u8,
    /// The next hop's MTU, or 0.
    rest: u32,
}

/// An error and its packet's header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told<'a> {
    pub(crate) message: Message,
    /// Type of service or traffic class.
    pub(crate) class: u8,
    /// The packet that it is about.
    pub(crate) packet: &'a [u8],
}

impl Message {
    /// What the sender of a packet dropped for `reason` is told, if anything. `mtu` is that of the next hop.
    pub(crate) fn about(reason: Reason, family: Family, mtu: u16) -> Option<Self> {
        let (kind, code, rest) = match (family, reason) {
            (Family::V4, Reason::Ipv4TtlExceeded) => (kind4::TIME_EXCEEDED, 0, 0),
            (Family::V4, Reason::NoRoute) => (kind4::UNREACHABLE, unreachable4::NET, 0),
            (Family::V4, Reason::NoSubscriber) => (kind4::UNREACHABLE, unreachable4::HOST, 0),
            (Family::V4, Reason::TooBig) => (kind4::UNREACHABLE, unreachable4::FRAGMENTATION_NEEDED, mtu.into()),
            (Family::V6, Reason::Ipv6HopLimitExceeded) => (kind6::TIME_EXCEEDED, 0, 0),
            // RFC 4443 section 3.1: 0 no route, 3 address unreachable.
            (Family::V6, Reason::NoRoute) => (kind6::UNREACHABLE, 0, 0),
            (Family::V6, Reason::NoSubscriber) => (kind6::UNREACHABLE, 3, 0),
            (Family::V6, Reason::TooBig) => (kind6::TOO_BIG, 0, mtu.into()),
            _ => return None,
        };
        Some(Self { kind, code, rest })
    }
}

impl Message {
    /// Whether it says which length fits: path MTU discovery waits for it.
    pub(crate) fn is_too_big(self, family: Family) -> bool {
        match family {
            Family::V4 => (self.kind, self.code) == (kind4::UNREACHABLE, unreachable4::FRAGMENTATION_NEEDED),
            Family::V6 => self.kind == kind6::TOO_BIG,
        }
    }

    /// What the sender of `packet` is told, which is for the router itself and not taken: for an address that is the
    /// gateway's, that no such port or protocol is there, for another one, that it is prohibited.
    pub(crate) fn refusal(family: Family, to_gateway: bool, packet: &[u8]) -> Option<Self> {
        let (kind, code) = match family {
            // RFC 4443 section 3.1: 1 administratively prohibited.
            Family::V6 => (kind6::UNREACHABLE, 1),
            Family::V4 if !to_gateway => (kind4::UNREACHABLE, unreachable4::PROHIBITED),
            Family::V4 => match ipv4::Header::ref_from_prefix(packet).ok()?.0.protocol {
                protocol::UDP | protocol::TCP => (kind4::UNREACHABLE, unreachable4::PORT),
                // A broken ping, or another message: a host says nothing (RFC 1122 section 3.2.2).
                protocol::ICMP => return None,
                _ => (kind4::UNREACHABLE, unreachable4::PROTOCOL),
            },
        };
        Some(Self { kind, code, rest: 0 })
    }
}

/// The IPv4 source of a packet that an error may be sent about: no error, no later fragment, from one host to one host
/// (RFC 1812 section 4.3.2.7). Its header is checked.
pub(crate) fn sender4(packet: &[u8]) -> Option<u32> {
    let (header, rest) = ipv4::Header::ref_from_prefix(packet).ok()?;
    let src = header.src.get();
    let hosts = address::kind4(src) == Kind4::Unicast && address::kind4(header.dst.get()) == Kind4::Unicast;
    if !hosts || header.is_later_fragment() {
        return None;
    }
    if header.protocol == protocol::ICMP {
        let kind = rest.get(header.header_len().checked_sub(ipv4::HEADER_LEN)?)?;
        if icmp::is_error4(*kind) {
            return None;
        }
    }
    Some(src)
}

/// The IPv6 source of a packet that an error may be sent about (RFC 4443 section 2.4 e). Its header is checked.
pub(crate) fn sender6(packet: &[u8]) -> Option<u128> {
    let (header, _) = ipv6::Header::ref_from_prefix(packet).ok()?;
    let src = header.src.get();
    let hosts = address::kind6(src) == Kind6::Unicast && address::kind6(header.dst.get()) == Kind6::Unicast;
    let upper = ipv6::upper_layer(packet, header.next_header)?;
    if !hosts {
        return None;
    }
    if upper.protocol == protocol::ICMPV6 && icmp::is_error6(*packet.get(upper.offset)?) {
        return None;
    }
    Some(src)
}

/// Octets of the error about a packet of `packet_len` octets: it quotes as much as its own limit lets it, and the link
/// that it leaves by.
pub(crate) fn len(family: Family, packet_len: usize, mtu: u16) -> usize {
    let (header, max) = match family {
        Family::V4 => (ipv4::HEADER_LEN, ERROR_LEN_MAX_4),
        Family::V6 => (ipv6::HEADER_LEN, ipv6::MTU_MIN),
    };
    header.saturating_add(icmp::HEADER_LEN).saturating_add(packet_len).min(max).min(mtu.into())
}

/// Writes an ICMP error into `room`, which is [`len`] octets long. Its time to live is one more than
/// our packets have: it is about to be forwarded like any other.
pub(crate) fn write4(room: &mut [u8], told: Told<'_>, src: u32, dst: u32) -> Option<()> {
    let payload = room.len().checked_sub(ipv4::HEADER_LEN)?;
    let mut header = ipv4::Header::new(src, dst, protocol::ICMP, TTL.saturating_add(1), payload);
    header.tos = told.class;
    // Atomic, so that its identification need not be unique (RFC 6864 section 4.1); it fits everywhere.
    header.fragment = ipv4::DONT_FRAGMENT.into();
    header.seal();
    header.write(room).ok()?;
    write_message(room.get_mut(ipv4::HEADER_LEN..)?, told, Sum::ZERO)
}

/// As [`write4`], ICMPv6.
pub(crate) fn write6(room: &mut [u8], told: Told<'_>, src: u128, dst: u128) -> Option<()> {
    let payload = room.len().checked_sub(ipv6::HEADER_LEN)?;
    let mut header = ipv6::Header::new(src, dst, protocol::ICMPV6, TTL.saturating_add(1), payload);
    header.version_class_flow = (6 << 28 | u32::from(told.class) << 20).into();
    header.write(room).ok()?;
    let pseudo = Sum::ZERO.pseudo_ipv6(src, dst, protocol::ICMPV6, u32::try_from(payload).ok()?);
    write_message(room.get_mut(ipv6::HEADER_LEN..)?, told, pseudo)
}

fn write_message(room: &mut [u8], told: Told<'_>, pseudo: Sum) -> Option<()> {
    let Told { message, packet, .. } = told;
    let mut header = Header { kind: message.kind, code: message.code, checksum: 0.into(), rest: message.rest.into() };
    let quoted = room.get_mut(icmp::HEADER_LEN..)?;
    quoted.copy_from_slice(packet.get(..quoted.len())?);
    header.write(room).ok()?;
    header.checksum.set(pseudo.octets(room).checksum());
    header.write(room).ok()?;
    Some(())
}
