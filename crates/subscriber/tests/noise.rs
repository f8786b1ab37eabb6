//! Any octets at any time: nothing panics, the tables agree, and sessions that are up stay up.

mod support;

use bng_testkit::{ClientConfig, ClientState};
use bng_wire::{MacAddr, PortIndex};
use proptest::prelude::*;
use support::*;

/// A frame that gets some way in: each part is right most of the time.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let mac = prop_oneof![
        3 => Just([2u8, 0, 0, 0, 0, 0xfe]),
        1 => Just([0xffu8; 6]),
        1 => any::<[u8; 6]>(),
    ];
    // Not the client's own address: what the owner says of its session may well end it.
    let source = prop_oneof![
        Just([2u8, 0, 0, 0, 0, 9]),
        any::<[u8; 6]>().prop_map(|mut mac| {
            mac[1] = 1;
            mac
        })
    ];
    let tags = prop_oneof![
        Just(vec![]),
        Just(vec![0x81, 0, 0, 100]),
        Just(vec![0x88, 0xa8, 0, 100, 0x81, 0, 0, 5]),
        proptest::collection::vec(any::<u8>(), 0..9),
    ];
    let code = prop_oneof![Just(0u8), Just(0x09), Just(0x19), Just(0xa7), any::<u8>()];
    let ppp = prop_oneof![
        Just(vec![0xc0, 0x21]),
        Just(vec![0xc0, 0x23]),
        Just(vec![0xc2, 0x23]),
        Just(vec![0x80, 0x21]),
        Just(vec![0x01, 0x01, 0, 0]),
        proptest::collection::vec(any::<u8>(), 0..4),
    ];
    let body = proptest::collection::vec(any::<u8>(), 0..60);
    let discovery = any::<bool>();
    let fields = (mac, source, tags, code, 0u16..4, ppp, body, discovery, any::<Option<u16>>());
    fields.prop_map(|(mac, source, tags, code, id, ppp, body, discovery, wrong_length)| {
        let mut out = mac.to_vec();
        out.extend(source);
        out.extend(tags);
        out.extend([0x88, if discovery { 0x63 } else { 0x64 }, 0x11, code]);
        out.extend(id.to_be_bytes());
        let length = (ppp.len() + body.len()) as u16;
        out.extend(wrong_length.filter(|length| length % 4 == 0).unwrap_or(length).to_be_bytes());
        out.extend(ppp);
        out.extend(body);
        out
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn noise_hurts_nobody(frames in proptest::collection::vec((frame(), 0u64..3000, 0u8..3), 1..60)) {
        let mut world = World::new(config(), 1);
        let victim = world.add(ClientConfig::numbered(1));
        world.dial(victim);
        world.run(secs(1));
        prop_assert_eq!(world.clients[victim].state(), ClientState::Open);
        let id = world.clients[victim].session_id();
        for (frame, wait, port) in frames {
            world.inject(PortIndex(port), &frame);
            world.run(millis(wait));
        }
        prop_assert_eq!(world.clients[victim].state(), ClientState::Open);
        prop_assert_eq!(world.clients[victim].session_id(), id);
        world.subscribers.audit().unwrap();
    }

    /// The owner of a session may send what it likes: it can hurt nobody but itself.
    #[test]
    fn a_mad_client_hurts_itself_alone(packets in proptest::collection::vec((frame(), 0u64..2000), 1..60)) {
        let mut world = World::new(config(), 2);
        let victim = world.add(ClientConfig::numbered(1));
        let mad = world.add(ClientConfig::numbered(2));
        world.clients[mad].config_mut().behaviour.mute = true;
        world.dial_all();
        world.run(secs(1));
        let mac = world.clients[mad].config().mac;
        for (mut frame, wait) in packets {
            let id = world.subscribers.sessions(world.now).find(|view| view.peer_mac == mac).map(|view| view.session_id);
            frame[6..12].copy_from_slice(&mac.0);
            if let Some(id) = id && frame.len() > 18 {
                frame[16..18].copy_from_slice(&id.0.to_be_bytes());
            }
            world.inject(PortIndex(0), &frame);
            world.run(millis(wait));
        }
        prop_assert_eq!(world.clients[victim].state(), ClientState::Open);
        world.with(mad, |client, _, _| client.vanish());
        world.run(secs(300));
        prop_assert!(world.subscribers.sessions(world.now).all(|view| view.peer_mac != mac));
    }
}

#[test]
fn addresses_of_groups_and_of_ourselves_get_no_answer() {
    let mut world = World::new(config(), 3);
    for source in [AC, MacAddr::BROADCAST, MacAddr::ZERO, MacAddr([3, 0, 0, 0, 0, 1])] {
        let mut padi = vec![0xff; 6];
        padi.extend(source.0);
        padi.extend([0x88, 0x63, 0x11, 0x09, 0, 0, 0, 4, 1, 1, 0, 0]);
        padi.resize(60, 0);
        world.inject(PortIndex(0), &padi);
        world.inject(PortIndex(0), &ppp_frame(source, &[], 5, 0xc021, &[9, 1, 0, 8, 0, 0, 0, 0]));
    }
    assert_eq!(world.words_since(0), [""; 0]);
}
