//! IPv4 fragmentation (RFC 791 section 3.2, RFC 1812 section 4.2.2.7): plans, and headers.

use bng_wire::{checksum, ipv4};
use zerocopy::FromBytes;

/// Most fragments of one packet; a packet that would make more is dropped.
pub(crate) const FRAGMENTS_MAX: usize = 32;

/// How a packet is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Octets of the packet's own header, which the first fragment keeps.
    pub(crate) header_len: usize,
    /// Octets of data in each fragment but the last: a multiple of 8.
    pub(crate) chunk: usize,
    /// How many fragments: 2 or more.
    pub(crate) count: usize,
}

impl Plan {
    /// How to cut `packet`, whose header is checked, for a link that takes `mtu` octets. `None` where that would make
    /// too many pieces.
    pub(crate) fn new(packet: &[u8], mtu: u16) -> Option<Self> {
        let header_len = ipv4::Header::ref_from_prefix(packet).ok()?.0.header_len();
        let chunk = usize::from(mtu).checked_sub(header_len)? & !7;
        let count = packet.len().checked_sub(header_len)?.div_ceil(chunk.max(1));
        (chunk > 0 && (2..=FRAGMENTS_MAX).contains(&count)).then_some(Self { header_len, chunk, count })
    }

    /// Where the data of fragment `number` lies in the packet.
    pub(crate) fn data<'a>(&self, packet: &'a [u8], number: usize) -> &'a [u8] {
        let data = packet.get(self.header_len..).unwrap_or(&[]);
        data.chunks(self.chunk.max(1)).nth(number).unwrap_or(&[])
    }
}

/// A fragment's header: at most 60 octets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FragmentHeader {
    octets: [u8; 60],
    len: usize,
}

impl FragmentHeader {
    /// The header of fragment `number` of `packet`. The first keeps all options, the others those that are marked to
    /// be copied (RFC 791 section 3.1).
    pub(crate) fn new(packet: &[u8], plan: &Plan, number: usize) -> Option<Self> {
        let own = packet.get(..plan.header_len)?;
        let mut header = Self { octets: [0; 60], len: 0 };
        if number == 0 {
            header.put(own)?;
        } else {
            header.put(own.get(..ipv4::HEADER_LEN)?)?;
            header.put_copied_options(own.get(ipv4::HEADER_LEN..)?)?;
        }
        let total = header.len.checked_add(plan.data(packet, number).len())?;
        let words = u8::try_from(header.len >> 2).ok()?;
        let (fixed, _) = ipv4::Header::mut_from_prefix(&mut header.octets).ok()?;
        fixed.version_ihl = 0x40 | words;
        fixed.total_len.set(u16::try_from(total).ok()?);
        // The packet may be a fragment itself: offsets add up, and only the last piece of the last has no successor.
        let before = fixed.fragment.get();
        let offset = usize::from(before & ipv4::FRAGMENT_OFFSET).checked_add(plan.chunk.checked_mul(number)? >> 3)?;
        let offset = u16::try_from(offset).ok().filter(|offset| *offset <= ipv4::FRAGMENT_OFFSET)?;
        let last = number.checked_add(1)? == plan.count;
        let more = if last { before & ipv4::MORE_FRAGMENTS } else { ipv4::MORE_FRAGMENTS };
        fixed.fragment.set(offset | more);
        fixed.checksum.set(0);
        let sum = checksum::checksum(header.octets.get(..header.len)?);
        ipv4::Header::mut_from_prefix(&mut header.octets).ok()?.0.checksum.set(sum);
        Some(header)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or(&[])
    }

    fn put(&mut self, octets: &[u8]) -> Option<()> {
        let end = self.len.checked_add(octets.len())?;
        self.octets.get_mut(self.len..end)?.copy_from_slice(octets);
        self.len = end;
        Some(())
    }

    /// Options end at the first that makes no sense. Zeros (End of Option List) fill the last word.
    fn put_copied_options(&mut self, mut options: &[u8]) -> Option<()> {
        while let Some((kind, rest)) = options.split_first() {
            let len = match kind {
                0 => break,
                1 => {
                    options = rest;
                    continue;
                }
                _ => usize::from(*rest.first().unwrap_or(&0)),
            };
            let Some(option) = options.get(..len).filter(|option| option.len() >= 2) else { break };
            if kind & 0x80 != 0 {
                self.put(option)?;
            }
            options = options.get(len..)?;
        }
        self.len = self.len.checked_next_multiple_of(4)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet(options: &[u8], fragment: u16, data: usize) -> Vec<u8> {
        let mut header = ipv4::Header::new(0xc000_0201, 0xcb00_7109, 17, 64, options.len() + data);
        header.version_ihl = 0x40 | (5 + options.len() / 4) as u8;
        header.fragment = fragment.into();
        header.identification = 0x1234.into();
        header.checksum = 0.into();
        let mut octets = vec![0; 20];
        header.write(&mut octets).unwrap();
        octets.extend_from_slice(options);
        let sum = checksum::checksum(&octets);
        octets[10..12].copy_from_slice(&sum.to_be_bytes());
        octets.extend((0..data).map(|n| n as u8));
        octets
    }

    fn cut(packet: &[u8], mtu: u16) -> Option<Vec<Vec<u8>>> {
        let plan = Plan::new(packet, mtu)?;
        (0..plan.count)
            .map(|n| {
                let header = FragmentHeader::new(packet, &plan, n)?;
                Some([header.bytes(), plan.data(packet, n)].concat())
            })
            .collect()
    }

    proptest! {
        #[test]
        fn fragments_fit_and_join_to_the_packet(data in 100usize..1500, mtu in 68u16..1400, fragment in prop_oneof![Just(0u16), Just(0x2000), Just(0x0010), Just(0x2010)]) {
            let packet = packet(&[], fragment, data);
            prop_assume!(packet.len() > usize::from(mtu));
            let Some(fragments) = cut(&packet, mtu) else {
                prop_assert!(data.div_ceil(usize::from(mtu - 20) & !7) > FRAGMENTS_MAX);
                return Ok(());
            };
            let mut joined = Vec::new();
            for (n, octets) in fragments.iter().enumerate() {
                let header = ipv4::Header::check(octets).unwrap();
                prop_assert!(octets.len() <= usize::from(mtu));
                prop_assert_eq!(usize::from(header.total_len.get()), octets.len());
                prop_assert_eq!(header.identification.get(), 0x1234);
                let offset = usize::from(header.fragment.get() & 0x1fff) * 8;
                prop_assert_eq!(offset, usize::from(fragment & 0x1fff) * 8 + joined.len());
                let more = header.fragment.get() & 0x2000 != 0;
                prop_assert_eq!(more, n + 1 < fragments.len() || fragment & 0x2000 != 0);
                joined.extend_from_slice(&octets[20..]);
            }
            prop_assert_eq!(&joined[..], &packet[20..]);
        }
    }

    #[test]
    fn later_fragments_carry_only_the_options_marked_to_be_copied() {
        // No operation, record route (not copied), router alert (copied), end.
        let packet = packet(&[1, 7, 7, 4, 0, 0, 0, 0, 148, 4, 0, 0], 0, 200);
        let fragments = cut(&packet, 128).unwrap();
        let header = |n: usize| ipv4::Header::check(&fragments[n]).unwrap();
        assert_eq!((header(0).header_len(), header(1).header_len()), (32, 24));
        assert_eq!(fragments[0][20..32], packet[20..32]);
        assert_eq!(fragments[1][20..24], [148, 4, 0, 0]);
        // Malformed options end the list.
        for bad in [[148, 0, 0, 0], [148, 9, 0, 0], [148, 1, 0, 0]] {
            let fragments = cut(&self::packet(&bad, 0, 200), 128).unwrap();
            assert_eq!(ipv4::Header::check(&fragments[1]).unwrap().header_len(), 20);
        }
    }

    #[test]
    fn a_packet_that_would_make_too_many_pieces_is_not_cut() {
        assert_eq!(Plan::new(&packet(&[], 0, 1480), 60), None);
        assert_eq!(Plan::new(&packet(&[], 0, 1480), 27), None);
        assert_eq!(Plan::new(&packet(&[], 0, 1480), 10), None);
        assert!(Plan::new(&packet(&[], 0, 1480), 68).is_some());
    }
}
