//! One PPP link with any packets at any time and any verdicts. An input is a sequence of: an octet that says what, then
//! its octets.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;

use bng_ppp::{Action, AuthVerdict, EndCause, Ipv4Offer, Ppp, PppConfig};

use crate::input::Input;

const PROTOCOLS: [u16; 8] = [0xc021, 0xc023, 0xc223, 0x8021, 0x8057, 0x80fd, 0x0021, 0xc021];

/// What the owner of a link would know of it.
#[derive(Default)]
struct Owner {
    /// Checks of credentials that wait for a verdict.
    waiting: Vec<u32>,
    link_up: bool,
    ipv4_up: bool,
    ended: bool,
    /// How many packets went out in all.
    sent: usize,
}

impl Owner {
    fn take(&mut self, actions: &mut Vec<Action>) {
        for action in actions.drain(..) {
            assert!(!self.ended, "after the end: {action:?}");
            match action {
                Action::Send { payload, .. } => {
                    assert!((4..=1500).contains(&payload.len()), "{} octets", payload.len());
                    self.sent += 1;
                }
                Action::Authenticate(request) => self.waiting.push(request.transaction),
                Action::LinkUp { peer_mru, local_mru, .. } => {
                    assert!(peer_mru > 0 && peer_mru <= 1500 && local_mru <= 1500);
                    self.link_up = true;
                }
                Action::LinkDown => self.link_up = false,
                Action::Ipv4Up { peer, .. } => {
                    assert!(self.link_up && !peer.is_unspecified());
                    self.ipv4_up = true;
                }
                Action::Ipv4Opened => assert!(self.ipv4_up),
                Action::Ipv4Down => self.ipv4_up = false,
                Action::Ended(_) => self.ended = true,
                _ => {}
            }
        }
    }
}

fn verdict(what: u8) -> AuthVerdict {
    let ipv4 = Ipv4Offer {
        local: Ipv4Addr::new(192, 0, 2, 1),
        peer: Ipv4Addr::new(192, 0, 2, 10),
        dns: [Some(Ipv4Addr::new(203, 0, 113, 53)), None],
        nbns: [None, None],
    };
    match what % 4 {
        0 => AuthVerdict::Reject { message: b"no".to_vec() },
        1 => AuthVerdict::Accept { ipv4: None, ipv6: None, message: Vec::new() },
        _ => AuthVerdict::Accept { ipv4: Some(ipv4), ipv6: Some(Default::default()), message: b"welcome".to_vec() },
    }
}

/// A sequence of packets, verdicts and times.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let mut now = Instant::now();
    let mru_max = if input.octet().unwrap_or(0) & 1 == 0 { 1492 } else { 1500 };
    let mut ppp = Ppp::new(Arc::new(PppConfig::default()), mru_max, 7);
    let mut owner = Owner::default();
    let mut actions = Vec::new();
    ppp.start(now, &mut actions);
    owner.take(&mut actions);
    let mut packets = 0usize;
    while let Some(what) = input.octet() {
        match what & 0x0f {
            0..=7 => {
                let sent = owner.sent;
                let _ = ppp.handle(now, PROTOCOLS[usize::from(what & 7)], input.octets(), &mut actions);
                owner.take(&mut actions);
                packets += 1;
                assert!(owner.sent - sent <= 8, "one packet leads to {} others", owner.sent - sent);
            }
            8 => {
                if let Some(transaction) = owner.waiting.pop() {
                    ppp.auth_result(now, transaction, verdict(input.octet().unwrap_or(0)), &mut actions);
                }
            }
            9 => ppp.auth_result(now, u32::from(input.number()), verdict(what >> 4), &mut actions),
            10 => ppp.close(now, EndCause::AdminReset, &mut actions),
            11 => ppp.upstream_activity(now),
            12 => {
                if let Some(at) = ppp.poll_timeout() {
                    now = now.max(at);
                    ppp.handle_timeout(now, &mut actions);
                    assert!(ppp.poll_timeout().is_none_or(|next| next > now), "a timer that is due for ever");
                }
            }
            _ => {
                now += input.time();
                ppp.handle_timeout(now, &mut actions);
            }
        }
        owner.take(&mut actions);
        assert_eq!(owner.ended, ppp.is_ended());
    }
    assert!(packets <= data.len());
}
