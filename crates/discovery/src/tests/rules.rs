//! What the standards say, and what must hold for any input.

use super::*;
use proptest::prelude::*;

/// RFC 2516 Appendix A: Host-Uniq and Relay-Session-Id come back unmodified, empty ones too; unknown tags are ignored.
#[test]
fn marks_come_back_unmodified() {
    let mut bench = Bench::new(config());
    for (host_uniq, relay) in [(&b"\0\xff\0"[..], &b"relay-12-oct"[..]), (b"", b""), (&[0x55; 300], &[0xee; 300])] {
        let tags: &[(u16, &[u8])] =
            &[(0x7777, b"unknown"), (HOST_UNIQ, host_uniq), (SERVICE_NAME, b""), (RELAY_SESSION_ID, relay)];
        let pado = bench.reply(&frame(BROADCAST, CLIENT, &[], PADI, 0, tags));
        let cookie = pado.cookie();
        let expected: &[(u16, &[u8])] = &[
            (SERVICE_NAME, b""),
            (AC_NAME, b"ac"),
            (AC_COOKIE, &cookie),
            (HOST_UNIQ, host_uniq),
            (RELAY_SESSION_ID, relay),
        ];
        assert_eq!(pado, Parts::of(&padded(frame(CLIENT, AC, &[], PADO, 0, expected))));
        let request = bench.request(&frame(AC, CLIENT, &[], PADR, 0, &[tags, &[(AC_COOKIE, &cookie)]].concat()));
        let expected: &[(u16, &[u8])] = &[(SERVICE_NAME, b""), (HOST_UNIQ, host_uniq), (RELAY_SESSION_ID, relay)];
        assert_eq!(bench.ac.pads(&request, SessionId(9)), Ok(padded(frame(CLIENT, AC, &[], PADS, 9, expected))));
        for (error, kind) in [(ErrorTag::ServiceName, 0x201), (ErrorTag::AcSystem, 0x202), (ErrorTag::Generic, 0x203)] {
            let expected = [expected, &[(kind, b"full")]].concat();
            let refusal = bench.ac.pads_error(&request, error, "full");
            assert_eq!(refusal, Ok(padded(frame(CLIENT, AC, &[], PADS, 0, &expected))));
        }
    }
}

/// RFC 2516 sections 5.1 and 5.3: exactly one Service-Name, SESSION_ID 0, the destination.
#[test]
fn requests_must_be_as_the_standard_has_them() {
    let mut bench = Bench::new(config());
    let cookie = bench.cookie(CLIENT, &[]);
    let name = (SERVICE_NAME, &b""[..]);
    let token = (AC_COOKIE, &cookie[..]);
    for (to, code) in [(BROADCAST, PADI), (AC, PADR)] {
        bench.dropped(&frame(to, CLIENT, &[], code, 0, &[token]), DiscoveryDrop::NoServiceName);
        bench.dropped(&frame(to, CLIENT, &[], code, 0, &[name, token, name]), DiscoveryDrop::SeveralServiceNames);
        bench.dropped(&frame(to, CLIENT, &[], code, 1, &[name, token]), DiscoveryDrop::SessionIdNotZero);
        for other in [[0x02, 0, 0, 0, 0, 0xaa], [0x01, 0, 0x5e, 0, 0, 1]] {
            bench.dropped(&frame(other, CLIENT, &[], code, 0, &[name, token]), DiscoveryDrop::BadDestination);
        }
        for source in [[0; 6], BROADCAST, [0x01, 0, 0x5e, 0, 0, 1], AC] {
            bench.dropped(&frame(to, source, &[], code, 0, &[name, token]), DiscoveryDrop::BadSource);
        }
    }
    bench.dropped(&frame(BROADCAST, CLIENT, &[], PADR, 0, &[name, token]), DiscoveryDrop::BadDestination);
    assert_eq!(bench.reply(&frame(AC, CLIENT, &[], PADI, 0, &[name])).code, PADO, "a PADI made unicast on its way");
    for code in [PADO, PADS] {
        bench.dropped(&frame(AC, CLIENT, &[], code, 0, &[name]), DiscoveryDrop::NotForConcentrator);
    }
    for code in [0x00, 0x08, 0xff] {
        bench.dropped(&frame(AC, CLIENT, &[], code, 0, &[name]), DiscoveryDrop::UnknownCode);
    }
    let mut session = frame(AC, CLIENT, &[], 0, 1, &[]);
    session[13] = 0x64;
    bench.dropped(&session, DiscoveryDrop::NotDiscovery);
    assert_eq!(
        bench.ac.handle_frame(bench.now, PortIndex(1), &frame(BROADCAST, CLIENT, &[], PADI, 0, &[name])),
        DiscoveryOutcome::Drop(DiscoveryDrop::UnknownPort)
    );
}

/// RFC 2516 section 9: a cookie is good for its client, line and time.
#[test]
fn a_padr_needs_a_cookie_made_for_it() {
    let mut bench = Bench::with(|config| {
        config.access.push(rule(0, VlanMatch::Single { tpid: 0x8100, vids: VidRange::ANY }));
    });
    let cookie = bench.cookie(CLIENT, &[]);
    let padr = |client, vlans: &[(u16, u16)], cookie: &[u8]| {
        frame(AC, client, vlans, PADR, 0, &[(SERVICE_NAME, b""), (AC_COOKIE, cookie)])
    };
    bench.dropped(&padr(CLIENT_2, &[], &cookie), DiscoveryDrop::BadCookie);
    bench.dropped(&padr(CLIENT, &[(0x8100, 9)], &cookie), DiscoveryDrop::BadCookie);
    bench.dropped(&padr(CLIENT, &[], &cookie[1..]), DiscoveryDrop::BadCookie);
    bench.dropped(&padr(CLIENT, &[], b""), DiscoveryDrop::BadCookie);
    bench.dropped(&frame(AC, CLIENT, &[], PADR, 0, &[(SERVICE_NAME, b"")]), DiscoveryDrop::NoCookie);

    let first = bench.request(&padr(CLIENT, &[], &cookie));
    bench.ac.rotate_key([8; 32]);
    bench.pass(Duration::from_secs(60));
    let again = bench.request(&padr(CLIENT, &[], &cookie));
    assert_eq!(first, again, "a repeated PADR is known by its fingerprint, over a key rotation too");
    bench.pass(Duration::from_secs(1));
    bench.dropped(&padr(CLIENT, &[], &cookie), DiscoveryDrop::ExpiredCookie);
    let fresh = bench.cookie(CLIENT, &[]);
    assert_ne!(bench.request(&padr(CLIENT, &[], &fresh)).fingerprint, first.fingerprint);
}

/// A cookie outlives the process where key and clock do.
#[test]
fn a_cookie_is_good_over_a_restart() {
    let mut bench = Bench::new(config());
    let cookie = bench.cookie(CLIENT, &[]);
    let padr = frame(AC, CLIENT, &[], PADR, 0, &[(SERVICE_NAME, b""), (AC_COOKIE, &cookie)]);
    let now = Instant::now();
    let mut restarted = AccessConcentrator::new(config(), [7; 32], now, 1_000_005).unwrap();
    assert!(matches!(restarted.handle_frame(now, PortIndex(0), &padr), DiscoveryOutcome::Request(_)));
}

/// Two clients behind one MAC address, told apart by Host-Uniq (a bridge that dials twice).
#[test]
fn host_uniq_parts_requests_with_one_cookie() {
    let mut bench = Bench::new(config());
    let cookie = bench.cookie(CLIENT, &[]);
    let mut dial = |uniq: &[u8]| {
        let tags: &[(u16, &[u8])] = &[(SERVICE_NAME, b""), (AC_COOKIE, &cookie), (HOST_UNIQ, uniq)];
        bench.request(&frame(AC, CLIENT, &[], PADR, 0, tags)).fingerprint
    };
    assert_eq!(dial(b"a"), dial(b"a"));
    assert_ne!(dial(b"a"), dial(b"b"));
}

#[test]
fn a_pado_is_held_back_for_its_time() {
    let mut bench = Bench::with(|config| config.profiles[0].pado_delay = Duration::from_millis(500))
        .limits(|limits| limits.padi_rates = RateLimits::NONE);
    let padi = |client| frame(BROADCAST, client, &[], PADI, 0, &[(SERVICE_NAME, b"")]);
    assert_eq!(bench.ac.poll_timeout(), None);
    let start = bench.now;
    assert_eq!(bench.send(&padi(CLIENT)), DiscoveryOutcome::Held);
    bench.pass(Duration::from_millis(100));
    assert_eq!(bench.send(&padi(CLIENT_2)), DiscoveryOutcome::Held);
    assert_eq!(bench.ac.poll_timeout(), Some(start + Duration::from_millis(500)));
    let let_out = |bench: &mut Bench, at_ms| {
        let mut clients = Vec::new();
        bench.ac.handle_timeout(start + Duration::from_millis(at_ms), &mut |port, frame| {
            assert_eq!(port, PortIndex(0));
            clients.push(Parts::of(&frame).to);
        });
        clients
    };
    assert_eq!(let_out(&mut bench, 499), [] as [[u8; 6]; 0]);
    assert_eq!(let_out(&mut bench, 500), [CLIENT]);
    assert_eq!(let_out(&mut bench, 700), [CLIENT_2]);
    for _ in 0..HELD_MAX {
        assert_eq!(bench.send(&padi(CLIENT)), DiscoveryOutcome::Held);
    }
    bench.dropped(&padi(CLIENT), DiscoveryDrop::HeldFull);
    assert_eq!(let_out(&mut bench, 10_000).len(), HELD_MAX);
    assert_eq!(bench.ac.poll_timeout(), None);
}

#[test]
fn priority_of_replies_is_the_configured_one_whatever_came() {
    let tags = [(0x88a8, 0x2000 | 100), (0x8100, 0x5000 | 200)];
    let double = VlanMatch::Double { tpid: 0x88a8, outer: VidRange::ANY, inner: VidRange::ANY };
    let padi = frame(BROADCAST, CLIENT, &tags, PADI, 0, &[(SERVICE_NAME, b"")]);
    let mut bench = Bench::with(|config| config.access = vec![rule(0, double)]);
    assert_eq!(bench.reply(&padi).vlans, [(0x88a8, 0xc000 | 100), (0x8100, 0xc000 | 200)]);
    let mut bench = Bench::with(|config| {
        config.access = vec![rule(0, double)];
        config.priority = ControlPriority(3);
    });
    assert_eq!(bench.reply(&padi).vlans, [(0x88a8, 0x6000 | 100), (0x8100, 0x6000 | 200)]);
}

#[test]
fn advertised_services_are_those_that_fit() {
    let mut bench = Bench::with(|config| {
        config.profiles[0].advertise = true;
        config.profiles[0].service_names = (0..200).map(|index| format!("service-{index:03}")).collect();
    });
    let DiscoveryOutcome::Reply(pado) = bench.send(&frame(BROADCAST, CLIENT, &[], PADI, 0, &[(SERVICE_NAME, b"")]))
    else {
        panic!()
    };
    assert!(pado.len() <= 14 + 1500 && pado.len() > 14 + 1500 - 15);
    assert_eq!(Parts::of(&pado).all(SERVICE_NAME)[1], b"service-000");
}

#[test]
fn a_wrong_configuration_is_named() {
    let wrong = |change: fn(&mut AcConfig)| {
        let mut config = config();
        change(&mut config);
        AccessConcentrator::new(config, [0; 32], Instant::now(), 0).err().map(|error| error.to_string())
    };
    assert_eq!(wrong(|_| ()), None);
    assert_eq!(
        wrong(|config| config.ports.push(port(0, 1500))).unwrap(),
        "port 0 is over the limit of 31 or named twice"
    );
    assert!(wrong(|config| config.ports.push(port(32, 1500))).unwrap().starts_with("port 32"));
    assert_eq!(
        wrong(|config| config.access.push(rule(5, VlanMatch::Untagged))).unwrap(),
        "access rule 1: port 5 is not an access port"
    );
    assert_eq!(wrong(|config| config.access[0].profile.0 = 7).unwrap(), "access rule 0: there is no profile 7");
    for (first, last) in [(0, 5), (5, 4), (1, 4095)] {
        let mut config = config();
        config.access.push(rule(0, VlanMatch::Single { tpid: 0x8100, vids: VidRange { first, last } }));
        let error = AccessConcentrator::new(config, [0; 32], Instant::now(), 0).err().unwrap();
        assert_eq!(error, ConfigError::RuleVlans { rule: 1, first, last });
    }
    assert!(wrong(|config| config.profiles[0].ac_name.clear()).unwrap().contains("0 octets"));
    assert!(wrong(|config| config.cookie_lifetime = Duration::ZERO).unwrap().contains("1 s to 1 h"));
    let mut bench = Bench::new(config());
    let mut limits = DiscoveryLimits::default();
    limits.padr_rates.vlan = Some(Rate { per_s: 0, burst: 1 });
    assert_eq!(bench.ac.set_limits(limits), Err(ConfigError::Rate));
    let lock_out = Some(LockOutPolicy { failures_max: 0, ..LockOutPolicy::default() });
    assert_eq!(bench.ac.set_limits(DiscoveryLimits { lock_out, ..Default::default() }), Err(ConfigError::LockOut));
    let bad = AcConfig { cookie_lifetime: Duration::ZERO, ..config() };
    assert!(bench.ac.reconfigure(bad).is_err());
    bench.cookie(CLIENT, &[]);
}

/// Frames that are almost good: a good one with a few octets changed, cut or appended.
fn almost_good() -> impl Strategy<Value = Vec<u8>> {
    let tags = prop::collection::vec(
        (
            prop::sample::select(vec![0, 0x101, 0x102, 0x103, 0x104, 0x105, 0x110, 0x120, 0x201, 0x9999]),
            prop::collection::vec(any::<u8>(), 0..64),
        ),
        0..8,
    );
    let vlans = prop::collection::vec((prop::sample::select(vec![0x8100u16, 0x88a8, 0x9100]), any::<u16>()), 0..4);
    let code = prop::sample::select(vec![PADI, PADO, PADR, PADS, PADT, 0]);
    let to = prop::sample::select(vec![AC, BROADCAST, CLIENT_2]);
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    let id = prop::sample::select(vec![0, 0, 0, 1]);
    (tags, vlans, code, to, id, edits, 0usize..1600).prop_map(|(tags, vlans, code, to, id, edits, cut)| {
        let tags: Vec<(u16, &[u8])> = tags.iter().map(|(kind, value)| (*kind, &value[..])).collect();
        let mut frame = frame(to, CLIENT, &vlans, code, id, &tags);
        for (at, octet) in edits {
            let at = at.index(frame.len());
            frame[at] = octet;
        }
        frame.truncate(cut);
        frame
    })
}

fn check_outcome(bench: &mut Bench, frame: &[u8]) {
    let drops = bench.ac.drops().iter().sum::<u64>();
    match bench.send(frame) {
        DiscoveryOutcome::Reply(reply) => {
            let parts = Parts::of(&reply);
            assert_eq!(parts.to, frame[6..12]);
            assert!(reply.len() <= 14 + 4 * parts.vlans.len() + 1500);
            assert_eq!(parts.all(SERVICE_NAME).len(), 1);
            assert_eq!(parts.id, 0);
        }
        DiscoveryOutcome::Request(request) => {
            let parts = Parts::of(&bench.ac.pads(&request, SessionId(1)).unwrap());
            assert_eq!(parts.all(SERVICE_NAME).len(), 1);
        }
        DiscoveryOutcome::Terminate { session_id, .. } => assert!(session_id.is_usable()),
        DiscoveryOutcome::Held => unreachable!("no delay is configured"),
        DiscoveryOutcome::Drop(_) => assert_eq!(bench.ac.drops().iter().sum::<u64>(), drops + 1),
    }
}

fn any_vlan_bench() -> Bench {
    Bench::with(|config| {
        config.access.push(rule(0, VlanMatch::Single { tpid: 0x8100, vids: VidRange::ANY }));
        config.access.push(rule(0, VlanMatch::Double { tpid: 0x88a8, outer: VidRange::ANY, inner: VidRange::ANY }));
    })
}

proptest! {
    #[test]
    fn noise_never_panics(frame in prop::collection::vec(any::<u8>(), 0..1600)) {
        check_outcome(&mut any_vlan_bench(), &frame);
    }

    #[test]
    fn almost_good_frames_never_panic_and_replies_are_well_formed(frame in almost_good()) {
        check_outcome(&mut any_vlan_bench(), &frame);
    }

    #[test]
    fn every_good_request_gets_its_marks_back(
        name in prop::collection::vec(any::<u8>(), 0..300),
        uniq in prop::option::of(prop::collection::vec(any::<u8>(), 0..500)),
        relay in prop::option::of(prop::collection::vec(any::<u8>(), 0..500)),
        max_payload in prop::option::of(any::<u16>()),
    ) {
        let mut bench = Bench::new(config());
        let max_octets = max_payload.map(u16::to_be_bytes);
        let mut tags: Vec<(u16, &[u8])> = vec![(SERVICE_NAME, &name)];
        tags.extend(uniq.as_deref().map(|value| (HOST_UNIQ, value)));
        tags.extend(relay.as_deref().map(|value| (RELAY_SESSION_ID, value)));
        tags.extend(max_octets.as_ref().map(|value| (PPP_MAX_PAYLOAD, &value[..])));
        let pado = bench.reply(&frame(BROADCAST, CLIENT, &[], PADI, 0, &tags));
        let cookie = pado.cookie();
        let request = bench.request(&frame(AC, CLIENT, &[], PADR, 0, &[&tags[..], &[(AC_COOKIE, &cookie)]].concat()));
        let pads = bench.pads(&request, 0x1234);
        prop_assert_eq!(pads.id, 0x1234);
        for reply in [&pado, &pads] {
            prop_assert_eq!(reply.all(SERVICE_NAME), [&name[..]]);
            prop_assert_eq!(reply.all(HOST_UNIQ), uniq.as_deref().into_iter().collect::<Vec<_>>());
            prop_assert_eq!(reply.all(RELAY_SESSION_ID), relay.as_deref().into_iter().collect::<Vec<_>>());
            let echoed = max_octets.as_ref().filter(|_| max_payload.unwrap() > 1492);
            prop_assert_eq!(reply.all(PPP_MAX_PAYLOAD), echoed.map(|value| &value[..]).into_iter().collect::<Vec<_>>());
        }
        prop_assert_eq!(request.mru_max, max_payload.unwrap_or(0).clamp(1492, 1500));
    }
}
