//! Ethernet, ARP, IPv4, IPv6, TCP, UDP and ICMP headers.

use bng_wire::ether::{Ether, TpidSet};
use bng_wire::{arp, checksum, icmp, ipv4, ipv6, tcp, udp};

/// One frame, from the Ethernet header on.
pub fn run(data: &[u8]) {
    for tpids in [TpidSet::ALL, TpidSet::DOT1Q] {
        let Ok(ether) = Ether::parse(data, tpids) else { continue };
        let mut again = [0; 22];
        let length = ether.write(&mut again).expect("22 octets are enough");
        assert_eq!(length, ether.payload_offset);
        assert_eq!(again[..length], data[..length]);
        payload(&data[length..]);
    }
}

fn payload(data: &[u8]) {
    if let Ok(packet) = arp::Packet::read(data) {
        let mut again = [0; 64];
        let length = packet.write(&mut again).expect("room");
        assert_eq!(again[..length], data[..length]);
    }
    if let Ok(header) = ipv4::Header::check(data) {
        let mut header = *header;
        let mut octets = [0; 64];
        // A good header stays good when its TTL is counted down.
        header.decrement_ttl();
        header.write(&mut octets).expect("room");
        let length = usize::from(data[0] & 0x0f) * 4;
        assert!((20..=60).contains(&length) && length <= data.len());
        octets[20..length].copy_from_slice(&data[20..length]);
        if data[8] > 0 {
            assert!(checksum::is_valid(&octets[..length]));
        }
        upper(&data[length..]);
    }
    if let Ok(header) = ipv6::Header::check(data) {
        let next_header = header.next_header;
        if let Some(upper_layer) = ipv6::upper_layer(data, next_header) {
            upper(data.get(upper_layer.offset..).unwrap_or_default());
        }
    }
    upper(data);
}

fn upper(data: &[u8]) {
    let _ = udp::Header::read(data);
    let _ = icmp::Header::read(data);
    let _ = tcp::Header::read(data);
    let mut segment = data.to_vec();
    let before = tcp::find_mss(data);
    let changed = tcp::clamp_mss(&mut segment, 1452);
    assert_eq!(segment.len(), data.len());
    assert_eq!(changed, before.is_some_and(|(_, mss)| mss > 1452));
    if changed {
        assert_eq!(tcp::find_mss(&segment).map(|(_, mss)| mss), Some(1452));
    } else {
        assert_eq!(segment, data);
    }
}
