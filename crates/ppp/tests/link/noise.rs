//! Whatever comes, in whatever order: no panic, no endless loop, and the promises about the actions hold.

use crate::harness::*;
use bng_ppp::{Action, AuthMethod, Ppp, PppConfig};
use bng_wire::ppp::protocol::{CHAP, IPCP, IPV6CP, LCP, PAP};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Debug, Clone)]
enum Step {
    /// A packet with any octets.
    Noise(u16, Vec<u8>),
    /// A packet with a fitting length and a code that exists.
    Shaped(u16, u8, u8, Vec<u8>),
    /// A copy of something sent, with another code: an Ack, Nak, Reject or an echo of it.
    Mirror(usize, u8),
    Wait(u32),
    Verdict(bool),
    Activity,
    Close,
}

fn protocols() -> impl Strategy<Value = u16> {
    prop_oneof![4 => Just(LCP), 2 => Just(PAP), 2 => Just(CHAP), 3 => Just(IPCP), 2 => Just(IPV6CP), 1 => any::<u16>()]
}

fn options() -> impl Strategy<Value = Vec<u8>> {
    let option =
        (prop_oneof![0u8..9, 129u8..133], proptest::collection::vec(any::<u8>(), 0..9)).prop_map(|(kind, value)| {
            let mut octets = vec![kind, u8::try_from(value.len() + 2).unwrap()];
            octets.extend(value);
            octets
        });
    proptest::collection::vec(option, 0..4).prop_map(|list| list.concat())
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (protocols(), proptest::collection::vec(any::<u8>(), 0..40)).prop_map(|(p, o)| Step::Noise(p, o)),
        5 => (protocols(), 0u8..15, any::<u8>(), options()).prop_map(|(p, c, i, o)| Step::Shaped(p, c, i, o)),
        8 => (0usize..4, prop_oneof![6 => Just(2u8), 1 => Just(3u8), 1 => Just(4u8), 1 => 0u8..15])
            .prop_map(|(back, code)| Step::Mirror(back, code)),
        3 => (0u32..4000).prop_map(Step::Wait),
        3 => proptest::bool::weighted(0.9).prop_map(Step::Verdict),
        1 => Just(Step::Activity),
        1 => proptest::bool::weighted(0.05).prop_map(|close| if close { Step::Close } else { Step::Activity }),
    ]
}

/// What the actions say, checked against what they promise.
#[derive(Default)]
struct Watch {
    link_up: bool,
    ipv4: bool,
    ipv6: bool,
    ended: bool,
    transaction: Option<u32>,
    sent: Vec<(u16, Vec<u8>)>,
}

impl Watch {
    fn see(&mut self, actions: Vec<Action>) {
        for action in actions {
            assert!(!self.ended, "{action:?} after the end");
            match action {
                Action::Send { protocol, payload } => {
                    assert!(payload.len() <= 1500 && payload.len() >= 4);
                    assert_eq!(usize::from(u16::from_be_bytes([payload[2], payload[3]])), payload.len());
                    if protocol == IPCP && payload[0] == 2 {
                        assert!(self.ipv4, "an Ack without Ipv4Up before it");
                        assert_ne!(option(&payload, 3), Some(vec![0; 4]), "0.0.0.0 acknowledged");
                    }
                    if protocol == IPV6CP && payload[0] == 2 {
                        assert!(self.ipv6);
                        assert_ne!(option(&payload, 1), Some(vec![0; 8]));
                    }
                    if protocol == LCP && payload[0] == 2 {
                        assert!(option(&payload, 1).is_none_or(|mru| mru <= vec![0x05, 0xd4]), "MRU over the cap");
                        assert!(option(&payload, 3).is_none(), "promised to authenticate");
                    }
                    self.sent.push((protocol, payload));
                }
                Action::Authenticate(request) => {
                    assert!(self.link_up);
                    self.transaction = Some(request.transaction);
                }
                Action::LinkUp { peer_mru, local_mru, .. } => {
                    assert!(!self.link_up);
                    assert!((128..=1492).contains(&peer_mru) && (128..=1492).contains(&local_mru));
                    self.link_up = true;
                }
                Action::LinkDown => {
                    assert!(self.link_up && !self.ipv4 && !self.ipv6);
                    self.link_up = false;
                }
                Action::Ipv4Up { .. } => {
                    assert!(self.link_up && !self.ipv4);
                    self.ipv4 = true;
                }
                Action::Ipv4Opened => assert!(self.ipv4),
                Action::Ipv4Down => {
                    assert!(self.ipv4);
                    self.ipv4 = false;
                }
                Action::Ipv6Up { peer_id, local_id } => {
                    assert!(self.link_up && peer_id != 0 && peer_id != local_id);
                    self.ipv6 = true;
                }
                Action::Ipv6Opened => assert!(self.ipv6),
                Action::Ipv6Down => {
                    assert!(self.ipv6);
                    self.ipv6 = false;
                }
                Action::Ended(_) => {
                    assert!(!self.link_up && !self.ipv4 && !self.ipv6);
                    self.ended = true;
                }
            }
        }
    }
}

fn drive(auth: Vec<AuthMethod>, steps: Vec<Step>) {
    let config = PppConfig { auth, ipv6: true, echo_interval: Duration::from_secs(2), ..PppConfig::default() };
    let mut now = Instant::now();
    let mut ppp = Ppp::new(Arc::new(config), 1492, 42);
    let mut watch = Watch::default();
    let mut out = Vec::new();
    ppp.start(now, &mut out);
    watch.see(std::mem::take(&mut out));
    for step in steps {
        match step {
            Step::Noise(protocol, payload) => {
                let _ = ppp.handle(now, protocol, &payload, &mut out);
            }
            Step::Shaped(protocol, code, id, data) => {
                let _ = ppp.handle(now, protocol, &packet(code, id, &data), &mut out);
            }
            Step::Mirror(back, code) => {
                let Some((protocol, mut payload)) = watch.sent.iter().rev().nth(back).cloned() else { continue };
                payload[0] = code;
                let _ = ppp.handle(now, protocol, &payload, &mut out);
            }
            Step::Wait(milliseconds) => {
                now += Duration::from_millis(u64::from(milliseconds));
                ppp.handle_timeout(now, &mut out);
                assert!(ppp.poll_timeout().is_none_or(|at| at > now), "due again at once: an endless loop");
            }
            Step::Verdict(yes) => {
                if let Some(transaction) = watch.transaction {
                    ppp.auth_result(now, transaction, if yes { accept() } else { reject("no") }, &mut out);
                }
            }
            Step::Activity => ppp.upstream_activity(now),
            Step::Close => ppp.close(now, bng_ppp::EndCause::AdminReset, &mut out),
        }
        assert!(out.len() <= 8, "{out:?}");
        watch.see(std::mem::take(&mut out));
        assert_eq!(ppp.is_ended(), watch.ended);
    }
    // Left alone, every link comes to an end: nobody answers its echoes or its requests.
    let limit = now + Duration::from_secs(600);
    while let Some(at) = ppp.poll_timeout() {
        assert!(at <= limit, "waits too long");
        now = now.max(at);
        ppp.handle_timeout(now, &mut out);
        watch.see(std::mem::take(&mut out));
    }
    assert!(ppp.is_ended());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn noise_neither_panics_nor_loops_and_keeps_the_promises(
        method in 0usize..4, steps in proptest::collection::vec(steps(), 0..80)
    ) {
        let auth = [vec![], vec![AuthMethod::Pap], vec![AuthMethod::ChapMd5, AuthMethod::Pap], vec![AuthMethod::MsChapV2]];
        drive(auth[method].clone(), steps);
    }
}
