//! Whatever arrives, each frame ends once, its counters add up, and what is punted is unchanged.

use bng_dataplane::memory::{MemoryFrame, Outcome};
use bng_dataplane::{FrameBuf, Reason};
use bng_wire::PortIndex;
use proptest::prelude::*;

use crate::bed::*;

fn seeds() -> Vec<Vec<u8>> {
    let tags = tagged((0x88a8, 100), Some((0x8100, 200)));
    vec![
        up(&ordinary()),
        down(&answer()),
        up(&tcp4(IP, SERVER, 2, &[1, 1, 2, 4, 0x05, 0xb4], b"")),
        up(&ip4(IP, IP_2, 17, 64, &[0; 40])),
        up6(&ip6(IP6, SERVER6, 6, 64, &[0; 40])),
        up6(&ip6("fe80::1", "ff02::1:2", 17, 1, &datagram(546, 547, b"solicit"))),
        down(&ip6(SERVER6, IP6, 0, 64, &[6, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        pppoe(AC, CLIENT, tags, 1, 0x21, &ordinary()),
        pppoe(AC, CLIENT, untagged(), 1, 0xc021, &[9, 1, 0, 8, 1, 2, 3, 4]),
    ]
}

fn frame() -> impl Strategy<Value = Vec<u8>> {
    let noise = proptest::collection::vec(any::<u8>(), 0..200);
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    let mutated = (prop::sample::select(seeds()), changes, any::<prop::sample::Index>(), any::<bool>()).prop_map(
        |(mut frame, changes, cut, whole)| {
            for (at, octet) in changes {
                let at = at.index(frame.len());
                frame[at] = octet;
            }
            if !whole {
                frame.truncate(cut.index(frame.len() + 1));
            }
            frame
        },
    );
    prop_oneof![1 => noise, 5 => mutated]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn each_frame_ends_once(frames in proptest::collection::vec(frame(), 1..32), port in 0u8..4) {
        let mut bed = Bed::new();
        let outcomes = bed.burst(PortIndex(port), frames.iter().map(|frame| MemoryFrame::of(frame)));
        // Errors come on top; frames of this size are never cut.
        let errors = bed.pipeline.counters().errors_sent.get();
        prop_assert_eq!(outcomes.len() as u64, frames.len() as u64 + errors);
        let mut sent = 0u64;
        let mut rest = frames.iter();
        for outcome in &outcomes {
            match outcome {
                Outcome::Transmit(to, out) => {
                    sent += 1;
                    prop_assert!(out.bytes().len() >= 60);
                    prop_assert!(to.0 < 3);
                }
                Outcome::Punt(_, meta, out) => {
                    prop_assert_eq!(meta.port, PortIndex(port));
                    // In order, and as it was.
                    prop_assert!(rest.any(|frame| out.bytes() == &frame[..]));
                }
                Outcome::Discard(..) => (),
            }
        }
        let ended: u64 = Reason::ALL.iter().map(|reason| bed.count(*reason)).sum();
        prop_assert_eq!(ended + sent, frames.len() as u64 + errors);
        let tx: u64 = (0..3).filter_map(|port| bed.pipeline.counters().port(PortIndex(port))).map(|port| port.tx_frames.get()).sum();
        prop_assert_eq!(tx, sent);
    }
}
