//! Whole IPv6 packets: what one that came in holds, and those that go out.

use core::net::Ipv6Addr;

use bng_wire::checksum::Sum;
use bng_wire::dhcpv6::{CLIENT_PORT, SERVER_PORT};
use bng_wire::ether::TooSmall;
use bng_wire::ipv6::{HEADER_LEN, Header, MTU_MIN};
use bng_wire::writer::Writer;
use bng_wire::{nd, udp};

use crate::error::Discard;

/// `ff02::1`.
pub(crate) const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const UDP: u8 = 17;
/// The longest packet that is answered by one as long.
const PACKET_MAX: usize = 1500;

/// A packet that came in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received<'a> {
    pub(crate) src: Ipv6Addr,
    pub(crate) dst: Ipv6Addr,
    pub(crate) hop_limit: u8,
    pub(crate) upper: Upper<'a>,
}

/// What it holds; checksums are right.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Upper<'a> {
    /// A message of ICMPv6.
    Icmp(&'a [u8]),
    /// A message to the DHCPv6 server's port.
    Dhcp(&'a [u8]),
}

/// True for `fe80::/10` (RFC 4291 section 2.4).
pub(crate) const fn is_link_local(address: Ipv6Addr) -> bool {
    address.to_bits() >> 118 == 0xfe80 >> 6
}

/// The link-local address with this interface identifier.
pub(crate) const fn link_local(id: u64) -> Ipv6Addr {
    Ipv6Addr::from_bits((0xfe80 << 112) | id as u128)
}

/// The solicited-node multicast address (RFC 4291 section 2.7.1).
pub(crate) const fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    Ipv6Addr::from_bits(0xff02_0000_0000_0000_0000_0001_ff00_0000 | address.to_bits() & 0xff_ffff)
}

/// Reads a packet and checks its checksum.
pub(crate) fn receive(packet: &[u8]) -> Result<Received<'_>, Discard> {
    let header = Header::check(packet).map_err(|_| Discard::Malformed)?;
    let payload = packet.get(HEADER_LEN..header.total_len()).ok_or(Discard::Malformed)?;
    let (src, dst) = (Ipv6Addr::from_bits(header.src.get()), Ipv6Addr::from_bits(header.dst.get()));
    if src.is_multicast() {
        return Err(Discard::Source);
    }
    let upper = match header.next_header {
        nd::ICMPV6 => {
            if !nd::is_sealed(src, dst, payload) {
                return Err(Discard::Checksum);
            }
            Upper::Icmp(payload)
        }
        UDP => {
            let (udp, data) = udp::Header::read(payload).ok_or(Discard::Malformed)?;
            if udp.dst_port.get() != SERVER_PORT {
                return Err(Discard::NotForUs);
            }
            let datagram = payload.get(..usize::from(udp.len.get())).ok_or(Discard::Malformed)?;
            // RFC 8200 section 8.1: "IPv6 receivers must discard UDP packets containing a zero checksum".
            if udp.checksum.get() == 0 || udp_sum(src, dst, datagram).fold() != 0xffff {
                return Err(Discard::Checksum);
            }
            Upper::Dhcp(data)
        }
        _ => return Err(Discard::NotForUs),
    };
    Ok(Received { src, dst, hop_limit: header.hop_limit, upper })
}

fn udp_sum(src: Ipv6Addr, dst: Ipv6Addr, datagram: &[u8]) -> Sum {
    let len = u32::try_from(datagram.len()).unwrap_or(u32::MAX);
    Sum::ZERO.pseudo_ipv6(src.to_bits(), dst.to_bits(), UDP, len).octets(datagram)
}

/// Where a packet of ours comes from and goes to, and its DSCP.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) src: Ipv6Addr,
    pub(crate) dst: Ipv6Addr,
    pub(crate) dscp: u8,
}

fn header(src: Ipv6Addr, dst: Ipv6Addr, dscp: u8, next: u8, len: usize) -> Header {
    let mut header = Header::new(src.to_bits(), dst.to_bits(), next, nd::HOP_LIMIT, len);
    // Version, the DSCP in the upper six bits of the traffic class (RFC 2474 section 3), no flow label.
    header.version_class_flow = (6 << 28 | u32::from(dscp & 63) << 22).into();
    header
}

/// A packet with an ICMPv6 message that `write` writes with checksum 0.
pub(crate) fn icmp(
    Ends { src, dst, dscp }: Ends,
    write: impl FnOnce(&mut Writer<'_>) -> Result<(), TooSmall>,
) -> Option<Vec<u8>> {
    let mut buffer = [0u8; PACKET_MAX];
    let (room, body) = buffer.split_at_mut_checked(HEADER_LEN)?;
    let mut out = Writer::new(body);
    write(&mut out).ok()?;
    nd::seal(src, dst, out.written_mut());
    let len = out.len();
    // RFC 4861 section 4: whatever neighbour discovery sends has hop limit 255; an echo reply may have any.
    header(src, dst, dscp, nd::ICMPV6, len).write(room).ok()?;
    buffer.get(..HEADER_LEN.saturating_add(len)).map(<[u8]>::to_vec)
}

/// A packet with a DHCPv6 message to a client, at most [`MTU_MIN`] octets long.
pub(crate) fn dhcp(
    Ends { src, dst, dscp }: Ends,
    write: impl FnOnce(&mut Writer<'_>) -> Result<(), TooSmall>,
) -> Option<Vec<u8>> {
    let mut buffer = [0u8; MTU_MIN];
    let (room, body) = buffer.split_at_mut_checked(HEADER_LEN)?;
    let mut out = Writer::new(body);
    out.octets(&[0; udp::HEADER_LEN]).ok()?;
    write(&mut out).ok()?;
    let len = out.len();
    let mut udp = udp::Header {
        src_port: SERVER_PORT.into(),
        dst_port: CLIENT_PORT.into(),
        len: u16::try_from(len).ok()?.into(),
        checksum: 0.into(),
    };
    udp.write(out.written_mut()).ok()?;
    // RFC 8200 section 8.1: a checksum that comes out as zero is sent as ffff.
    udp.checksum = match udp_sum(src, dst, out.written()).checksum() {
        0 => u16::MAX,
        sum => sum,
    }
    .into();
    udp.write(out.written_mut()).ok()?;
    header(src, dst, dscp, UDP, len).write(room).ok()?;
    buffer.get(..HEADER_LEN.saturating_add(len)).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_link() {
        assert_eq!(link_local(0x0211_22ff_fe33_4455), "fe80::211:22ff:fe33:4455".parse::<Ipv6Addr>().unwrap());
        assert_eq!(solicited_node(link_local(0xabcd_ef01)), "ff02::1:ffcd:ef01".parse::<Ipv6Addr>().unwrap());
        assert!(is_link_local("febf::1".parse().unwrap()));
        assert!(!is_link_local("fec0::1".parse().unwrap()));
        assert!(!is_link_local("::1".parse().unwrap()));
    }
}
