//! Whatever a client sends, at whatever time.

use std::time::Duration;

use bng_wire::dhcpv6::SERVERS;
use proptest::prelude::*;

use crate::lab::*;

#[derive(Debug, Clone)]
enum Step {
    Raw(Vec<u8>),
    Icmp(u8, Vec<u8>),
    Dhcp(u8, Vec<(u16, Vec<u8>)>, bool),
    Pass(u64),
    Pools(bool),
    Close,
    Start,
}

fn step() -> impl Strategy<Value = Step> {
    let octets = |max| proptest::collection::vec(any::<u8>(), 0..max);
    let body = prop_oneof![
        4 => octets(40),
        2 => Just(SERVER_DUID.to_vec()),
        2 => Just(CLIENT_DUID.to_vec()),
        3 => (0u8..4).prop_map(|iaid| vec![0, 0, 0, iaid, 0, 0, 0, 0, 0, 0, 0, 0]),
    ];
    let options = proptest::collection::vec((prop_oneof![0u16..30, any::<u16>()], body), 0..6);
    prop_oneof![
        1 => octets(100).prop_map(Step::Raw),
        2 => (128u8..140, octets(60)).prop_map(|(kind, octets)| Step::Icmp(kind, octets)),
        6 => (0u8..14, options, any::<bool>()).prop_map(|(kind, options, named)| Step::Dhcp(kind, options, named)),
        2 => (0u64..10_000_000).prop_map(Step::Pass),
        1 => any::<bool>().prop_map(Step::Pools),
        1 => Just(Step::Close),
        1 => Just(Step::Start),
    ]
}

proptest! {
    #[test]
    fn noise_never_panics_and_nothing_leaks(steps in proptest::collection::vec(step(), 0..60), prompt: bool) {
        let mut lab = Lab::new(change(|dhcp| dhcp.leases_max = 2));
        lab.prompt = prompt;
        for step in steps {
            match step {
                Step::Raw(octets) => _ = lab.receive(&octets),
                Step::Icmp(kind, octets) => {
                    let message = [&[kind, 0, 0, 0][..], &octets].concat();
                    let _ = lab.receive(&icmp_packet(client_address(), ip("ff02::2"), 255, &message));
                    let _ = lab.receive(&icmp_packet(client_address(), router_address(), 255, &message));
                }
                Step::Dhcp(kind, options, named) => {
                    let mut ask = if named { Ask::new(kind) } else { Ask::of(kind, None) };
                    for (code, body) in options { ask = ask.with(code, &body); }
                    let _ = lab.receive(&dhcp_packet(client_address(), SERVERS, &ask.octets()));
                }
                Step::Pass(ms) => lab.pass(Duration::from_millis(ms)),
                Step::Pools(empty) => { lab.pools.empty = empty; lab.answer_pools(); }
                Step::Close => {
                    lab.answer_pools();
                    lab.close();
                }
                Step::Start => lab.start(),
            }
            prop_assert!(lab.pools.held.len() <= 4);
        }
        lab.answer_pools();
        lab.close();
    }
}
