//! Which packets belong together: those of one flow go by the same of several next hops, in their order.

/// A hash of what the packets of a flow have in common: both addresses, the protocol, and the ports of TCP, UDP, DCCP,
/// SCTP and UDP-Lite. The pieces of a fragmented datagram are told by addresses and protocol alone, all of them, since
/// only the first has ports; so is an IPv6 packet with extension headers. `packet` begins with the IP header; octets
/// that are missing count as zeroes. Every bit of the result is as good as any other (RFC 2992 looks at one way to use
/// them).
#[must_use]
pub fn hash(packet: &[u8], seed: u64) -> u32 {
    let mut hash = seed;
    let ports_at = match packet.first().map(|octet| octet >> 4) {
        Some(4) => {
            hash = mix(hash, word(packet, 12));
            let protocol = octet(packet, 9);
            hash = mix(hash, u64::from(protocol));
            // More fragments, or a fragment offset (RFC 791 section 3.1).
            let fragment = (u16::from(octet(packet, 6)) << 8 | u16::from(octet(packet, 7))) & 0x3fff != 0;
            let header_len = usize::from(octet(packet, 0) & 0xf).wrapping_mul(4);
            (!fragment && has_ports(protocol)).then_some(header_len)
        }
        Some(6) => {
            for at in [8, 16, 24, 32] {
                hash = mix(hash, word(packet, at));
            }
            let protocol = octet(packet, 6);
            hash = mix(hash, u64::from(protocol));
            has_ports(protocol).then_some(40)
        }
        _ => None,
    };
    if let Some(ports) = ports_at.and_then(|at| packet.get(at..)).and_then(|rest| rest.first_chunk::<4>()) {
        hash = mix(hash, u64::from(u32::from_be_bytes(*ports)) | 1 << 32);
    }
    (mix(hash, 0) >> 32) as u32
}

/// True for protocols whose header begins with two ports.
const fn has_ports(protocol: u8) -> bool {
    matches!(protocol, 6 | 17 | 33 | 132 | 136)
}

fn octet(packet: &[u8], at: usize) -> u8 {
    packet.get(at).copied().unwrap_or(0)
}

fn word(packet: &[u8], at: usize) -> u64 {
    packet.get(at..).and_then(|rest| rest.first_chunk::<8>()).map_or(0, |octets| u64::from_be_bytes(*octets))
}

/// One round: the product's upper half holds something of every bit, and goes back into the lower one.
fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An IPv4 packet with 8 octets of payload, the first 4 of them ports.
    fn ipv4(source: u32, destination: u32, protocol: u8, fragment: u16, ports: u32) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 28, 0, 0];
        packet.extend(fragment.to_be_bytes());
        packet.extend([64, protocol, 0, 0]);
        packet.extend(source.to_be_bytes());
        packet.extend(destination.to_be_bytes());
        packet.extend(ports.to_be_bytes());
        packet.extend([0; 4]);
        packet
    }

    fn ipv6(source: u128, destination: u128, protocol: u8, ports: u32) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 8, protocol, 64];
        packet.extend(source.to_be_bytes());
        packet.extend(destination.to_be_bytes());
        packet.extend(ports.to_be_bytes());
        packet.extend([0; 4]);
        packet
    }

    proptest! {
        #[test]
        fn what_is_not_the_flow_does_not_count(packet in prop::collection::vec(any::<u8>(), 0..80), seed: u64, ttl: u8) {
            // No packet is too odd.
            let _ = hash(&packet, seed);
            let mut one = ipv4(1, 2, 17, 0, 3);
            let other = one.clone();
            (one[8], one[10], one[4]) = (ttl, ttl, ttl);
            prop_assert_eq!(hash(&one, seed), hash(&other, seed));
        }

        #[test]
        fn the_pieces_of_a_datagram_stay_together(source: u32, destination: u32, ports: u32, offset in 1u16..0x2000) {
            let first = ipv4(source, destination, 17, 0x2000, ports);
            let later = ipv4(source, destination, 17, offset, !ports);
            prop_assert_eq!(hash(&first, 7), hash(&later, 7));
        }
    }

    /// How unevenly `count` hashes fall on 256 shares: the sum of squared differences in units of what chance gives.
    fn unevenness(count: u32, hash_of: impl Fn(u32) -> u32) -> f64 {
        let mut shares = [0u32; 256];
        (0..count).for_each(|number| shares[hash_of(number) as usize % 256] += 1);
        let due = f64::from(count) / 256.0;
        shares.iter().map(|share| (f64::from(*share) - due).powi(2) / due).sum::<f64>() / 255.0
    }

    #[test]
    fn flows_that_differ_in_one_thing_are_spread_evenly() {
        let subscribers = |n: u32| hash(&ipv4(0x6440_0000 + n, 0x0808_0808, 17, 0, 0x1234_01bb), 1);
        let destinations = |n: u32| hash(&ipv4(0x6440_0002, 0xcb00_7100 ^ n << 8, 6, 0, 0x1234_01bb), 1);
        let source_ports = |n: u32| hash(&ipv4(0x6440_0002, 0x0808_0808, 6, 0, n << 16 | 443), 1);
        let prefixes = |n: u32| hash(&ipv6((0x2001_0db8_u128 << 32 | u128::from(n)) << 64 | 1, 1 << 100, 6, 443), 1);
        for hash_of in [&subscribers as &dyn Fn(u32) -> u32, &destinations, &source_ports, &prefixes] {
            let unevenness = unevenness(25_600, hash_of);
            // 255 degrees of freedom: chance gives 1.0, with a standard deviation of 0.09.
            assert!((0.6..1.45).contains(&unevenness), "{unevenness}");
        }
    }

    #[test]
    fn routers_in_a_row_choose_independently() {
        // Of the flows that one router sends one way, another one sends half each way.
        let flow = |n: u32| ipv4(0x6440_0000 + n, 0x0808_0808, 17, 0, n << 16);
        let passed: Vec<u32> = (0..20_000).filter(|n| hash(&flow(*n), 1).is_multiple_of(2)).collect();
        let again = passed.iter().filter(|n| hash(&flow(**n), 2).is_multiple_of(2)).count();
        let share = again as f64 / passed.len() as f64;
        assert!((0.48..0.52).contains(&share), "{share}");
    }
}
