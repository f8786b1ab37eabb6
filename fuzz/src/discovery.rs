//! The access concentrator with any frames at any time. An input is a sequence of: an octet that says what, then its
//! octets. A PADR can be given a good cookie, which no fuzzer would guess.

use std::time::{Duration, Instant};

use bng_discovery::{
    AcConfig, AccessConcentrator, AccessPort, AccessRule, DiscoveryLimits, DiscoveryOutcome, ErrorTag, LockOutPolicy,
    PadoMatch, PadoRule, PadoTime, ProfileIndex, ServiceProfile, SessionRequest, VidRange, VlanMatch,
};
use bng_wire::{MacAddr, PortIndex, SessionId};

use crate::input::Input;

const AC: [u8; 6] = [2, 0, 0, 0, 0, 0xfe];
const CLIENT: [u8; 6] = [2, 0, 0, 0, 0, 1];
const VLANS: [&[u8]; 4] = [&[], &[0x81, 0, 0xa0, 0], &[0x81, 0, 0, 9], &[0x88, 0xa8, 0, 100, 0x81, 0, 0, 200]];

fn config() -> AcConfig {
    let rule = |vlans| AccessRule { port: PortIndex(0), vlans, profile: ProfileIndex(0) };
    AcConfig {
        ports: vec![AccessPort { port: PortIndex(0), mac: MacAddr(AC), max_payload_by_tags: [1500, 1500, 1496] }],
        access: vec![
            rule(VlanMatch::Untagged),
            AccessRule { profile: ProfileIndex(1), ..rule(VlanMatch::Single { tpid: 0x8100, vids: VidRange::ANY }) },
            rule(VlanMatch::Double { tpid: 0x88a8, outer: VidRange::ANY, inner: VidRange::ANY }),
        ],
        profiles: vec![
            ServiceProfile { max_payload: 1500, ..ServiceProfile::default() },
            ServiceProfile {
                service_names: vec!["isp-a".into(), "isp-b".into()],
                accept_any: false,
                advertise: true,
                pado_delay: Duration::from_millis(200),
                pado_rules: vec![PadoRule { when: PadoMatch::CircuitIdPrefix(vec![b'x']), time: PadoTime::Never }],
                ..ServiceProfile::default()
            },
        ],
        ..AcConfig::default()
    }
}

/// A discovery frame of the client's; its LENGTH is right up to `length_error`.
fn frame(to: [u8; 6], vlans: &[u8], code: u8, id: u16, tags: &[u8], length_error: u8) -> Vec<u8> {
    let mut frame = [&to, &CLIENT, vlans, &[0x88, 0x63, 0x11, code]].concat();
    frame.extend_from_slice(&id.to_be_bytes());
    frame.extend_from_slice(&(tags.len() as u16).wrapping_add_signed(i16::from(length_error as i8)).to_be_bytes());
    frame.extend_from_slice(tags);
    frame
}

/// The value of a reply's AC-Cookie tag.
fn cookie_of(reply: &[u8], vlans: &[u8]) -> Option<Vec<u8>> {
    let packet = bng_wire::pppoe::Packet::parse(reply.get(14 + vlans.len()..)?).ok()?;
    let tag = packet.tags().flatten().find(|tag| tag.kind == bng_wire::pppoe::TagType::AC_COOKIE)?;
    Some(tag.value.to_vec())
}

fn check_frame(frame: &[u8]) {
    assert!((60..=22 + 1500).contains(&frame.len()));
    assert_eq!(frame[6..12], AC);
    assert!(frame[..6] != AC && frame[0] & 1 == 0);
}

fn check_request(ac: &mut AccessConcentrator, now: Instant, request: &SessionRequest) {
    check_frame(&ac.pads(request, SessionId(1)).expect("a PADS always fits"));
    check_frame(&ac.pads_error(request, ErrorTag::AcSystem, "no").expect("a refusal always fits"));
    assert!((576..=1500).contains(&request.mru_max));
    assert!(request.max_payload.is_none_or(|value| value > 1492));
    let key = request.line.key();
    if request.service_name.len().is_multiple_of(2) {
        ac.session_failed(now, &key, request.circuit_id());
    } else {
        ac.session_succeeded(&key, request.circuit_id());
    }
}

/// A sequence of frames and times.
pub fn run(data: &[u8]) {
    let mut now = Instant::now();
    let mut ac = AccessConcentrator::new(config(), [7; 32], now, 1000).expect("a good configuration");
    let lock_out = Some(LockOutPolicy::default());
    ac.set_limits(DiscoveryLimits { lock_out, ..DiscoveryLimits::default() }).expect("good limits");
    let mut input = Input(data);
    while let Some(what) = input.octet() {
        let vlans = VLANS[usize::from(what >> 4) % VLANS.len()];
        let frame = match what & 0x0f {
            0 => input.octets().to_vec(),
            1 => frame([0xff; 6], vlans, 0x09, 0, input.octets(), 0),
            2 => frame(AC, vlans, 0x19, 0, input.octets(), 0),
            3 => frame(AC, vlans, 0xa7, input.number(), input.octets(), 0),
            4 => {
                let (code, error) = (input.octet().unwrap_or(0), input.octet().unwrap_or(0));
                frame(AC, vlans, code, 0, input.octets(), error)
            }
            5 => {
                let padi = frame([0xff; 6], vlans, 0x09, 0, &[1, 1, 0, 0], 0);
                let mut pado = match ac.handle_frame(now, PortIndex(0), &padi) {
                    DiscoveryOutcome::Reply(pado) => Some(pado),
                    _ => None,
                };
                now += Duration::from_millis(300);
                ac.handle_timeout(now, &mut |_, frame| pado = pado.take().or(Some(frame)));
                let cookie = pado.and_then(|pado| cookie_of(&pado, vlans)).unwrap_or_default();
                let tags = [&[1, 4, 0, cookie.len() as u8], &cookie[..], input.octets()].concat();
                frame(AC, vlans, 0x19, 0, &tags, 0)
            }
            6 => {
                ac.rotate_key([what; 32]);
                continue;
            }
            _ => {
                now += input.time();
                ac.handle_timeout(now, &mut |port, frame| {
                    assert_eq!(port, PortIndex(0));
                    check_frame(&frame);
                });
                continue;
            }
        };
        match ac.handle_frame(now, PortIndex(0), &frame) {
            DiscoveryOutcome::Reply(reply) => check_frame(&reply),
            DiscoveryOutcome::Request(request) => check_request(&mut ac, now, &request),
            DiscoveryOutcome::Terminate { session_id, .. } => assert!(session_id.is_usable()),
            DiscoveryOutcome::Held => assert!(ac.poll_timeout().is_some()),
            DiscoveryOutcome::Drop(_) => {}
        }
    }
}
