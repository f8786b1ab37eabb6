//! Sharing of load among workers in software: which flow a frame belongs to.
//!
//! Most cards put every PPPoE frame on one queue. The worker that polls it then hands flows to its peers. A flow is the
//! session id and the two addresses of the packet, never its ports: fragments have none, and must stay in order with
//! the rest.

use bng_wire::ether::{Ether, TpidSet, ethertype};

/// PPP protocol numbers of IPv4 and IPv6.
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;

/// Mixes what a peer can choose with what it cannot know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowHash {
    seed: u64,
}

impl FlowHash {
    /// A hash of its own for each process: who knows the seed can aim all flows at one worker.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The worker, 0 to `workers` less one, for a received frame; `None` for one that no peer is better at: control
    /// frames, and what will be dropped. All frames of a flow get the same answer.
    #[must_use]
    pub fn worker(self, frame: &[u8], workers: usize) -> Option<usize> {
        let hash = self.hash(frame)?;
        // The upper half times the number of workers: as even as a division, without one.
        let share = (hash >> 32).wrapping_mul(workers as u64) >> 32;
        usize::try_from(share).ok()
    }

    fn hash(self, frame: &[u8]) -> Option<u64> {
        let ether = Ether::parse(frame, TpidSet::ALL).ok()?;
        let payload = frame.get(ether.payload_offset..)?;
        match ether.ethertype {
            ethertype::PPPOE_SESSION => {
                let (header, packet) = payload.split_first_chunk::<8>()?;
                let [_, _, id_high, id_low, _, _, protocol_high, protocol_low] = *header;
                let id = u16::from_be_bytes([id_high, id_low]);
                match u16::from_be_bytes([protocol_high, protocol_low]) {
                    PPP_IPV4 => Some(self.of_ipv4(id, packet.get(12..)?.first_chunk()?)),
                    PPP_IPV6 => Some(self.of_ipv6(id, packet.get(8..)?.first_chunk()?)),
                    _ => None,
                }
            }
            ethertype::IPV4 => Some(self.of_ipv4(0, payload.get(12..)?.first_chunk()?)),
            ethertype::IPV6 => Some(self.of_ipv6(0, payload.get(8..)?.first_chunk()?)),
            _ => None,
        }
    }

    #[inline]
    fn of_ipv4(self, id: u16, addresses: &[u8; 8]) -> u64 {
        self.mix(self.seed ^ u64::from(id), u64::from_be_bytes(*addresses))
    }

    #[inline]
    fn of_ipv6(self, id: u16, addresses: &[u8; 32]) -> u64 {
        let (words, _) = addresses.as_chunks::<8>();
        words.iter().fold(self.seed ^ u64::from(id), |hash, word| self.mix(hash, u64::from_be_bytes(*word)))
    }

    /// Both halves of a 128-bit product, folded: every bit of either has its say in the upper half.
    #[inline(always)]
    const fn mix(self, hash: u64, word: u64) -> u64 {
        let product = ((hash ^ word) as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ (self.seed as u128) << 1 | 1);
        let folded = (product as u64) ^ ((product >> 64) as u64);
        folded.wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: FlowHash = FlowHash::new(0x0123_4567_89ab_cdef);

    /// An upstream frame of session `id` from a client's address, with `tags` octets of tags.
    fn upstream(id: u16, client: u32, rest: &[u8]) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x64, 0x11, 0];
        frame.extend(id.to_be_bytes());
        frame.extend([0, 30, 0, 0x21, 0x45, 0, 0, 28, 0, 1]);
        frame.extend(rest.get(..2).unwrap_or(&[0, 0]));
        frame.extend([64, 17, 0, 0]);
        frame.extend(client.to_be_bytes());
        frame.extend([203, 0, 113, 9]);
        frame.extend(rest.get(2..).unwrap_or(&[]));
        frame
    }

    #[test]
    fn ports_and_fragments_make_no_difference() {
        let first = HASH.worker(&upstream(1, 0x6440_0001, &[0x20, 0, 0x12, 0x34, 0, 80]), 64);
        assert!(first.is_some());
        for rest in [[0x20, 0, 0x43, 0x21, 0, 53], [0, 185, 1, 2, 3, 4], [0, 0, 9, 9, 9, 9]] {
            assert_eq!(HASH.worker(&upstream(1, 0x6440_0001, &rest), 64), first);
        }
    }

    #[test]
    fn p69_a_thousand_sessions_on_one_queue_are_spread_evenly() {
        for workers in [2, 3, 4, 16] {
            let mut shares = vec![0usize; workers];
            for n in 0..1024u16 {
                let frame = upstream(n + 1, 0x6440_0000 + u32::from(n), &[0, 0, 0, 1, 0, 2]);
                shares[HASH.worker(&frame, workers).expect("a flow")] += 1;
            }
            let mean = 1024.0 / workers as f64;
            let most = *shares.iter().max().expect("workers") as f64;
            assert!(workers > 4 || most <= mean * 1.3, "{workers} workers: {shares:?}");
            assert!(most <= mean * 1.6, "{workers} workers: {shares:?}");
        }
    }

    #[test]
    fn one_session_with_many_peers_is_spread_too() {
        let mut shares = [0usize; 2];
        for n in 0..1024u32 {
            let mut frame =
                vec![2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0];
            frame.extend((0xcb00_0000 + n).to_be_bytes());
            frame.extend([100, 64, 0, 1, 0, 1, 0, 2]);
            shares[HASH.worker(&frame, 2).expect("a flow")] += 1;
        }
        assert!(shares.iter().all(|share| (400..=624).contains(share)), "{shares:?}");
    }

    #[test]
    fn both_versions_tagged_or_not_have_flows_and_control_has_none() {
        let mut six =
            vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xa8, 0, 100, 0x81, 0, 0, 7, 0x88, 0x64, 0x11, 0, 0, 1];
        six.extend([0, 42, 0, 0x57, 0x60, 0, 0, 0, 0, 0, 59, 64]);
        six.extend([0x20; 32]);
        assert!(HASH.worker(&six, 4).is_some());
        let lcp =
            [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x64, 0x11, 0, 0, 1, 0, 6, 0xc0, 0x21][..], &[9, 1, 0, 4]];
        assert_eq!(HASH.worker(&lcp.concat(), 4), None);
        let padi = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 2, 0x88, 0x63, 0x11, 9, 0, 0, 0, 0]].concat();
        assert_eq!(HASH.worker(&padi, 4), None);
        for len in 0..six.len() {
            let _ = HASH.worker(&six[..len], 4);
        }
    }
}
