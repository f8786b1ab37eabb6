//! Each reason to drop a frame has a case that provokes it, and only it.

use super::*;

#[test]
fn each_reason_is_provoked() {
    use DiscoveryDrop as Reason;
    let mut bench = Bench::with(|config| {
        config.profiles.push(ServiceProfile {
            accept_any: false,
            pado_delay: Duration::from_secs(1),
            macs: MacFilter { deny: vec![MacPrefix { mac: MacAddr(CLIENT_2), bits: 48 }], allow: Vec::new() },
            pado_rules: vec![PadoRule { when: PadoMatch::CircuitIdPrefix(b"x".to_vec()), time: PadoTime::Never }],
            ..ServiceProfile::default()
        });
        let delayed = |vid| AccessRule {
            profile: ProfileIndex(1),
            ..rule(0, VlanMatch::Single { tpid: 0x8100, vids: VidRange::one(vid) })
        };
        config.access.extend([delayed(9), delayed(10)]);
    })
    .limits(|limits| {
        limits.lock_out = Some(LockOutPolicy { failures_max: 1, ..LockOutPolicy::default() });
        limits.padi_rates.mac = Some(Rate { per_s: 1, burst: 1_000_000 });
    });
    let mut unprovoked: std::collections::BTreeSet<Reason> = Reason::ALL.iter().copied().collect();
    let name = (SERVICE_NAME, &b""[..]);
    let padi = |tags: &[(u16, &[u8])]| frame(BROADCAST, CLIENT, &[], PADI, 0, tags);
    let padr = |tags: &[(u16, &[u8])]| frame(AC, CLIENT, &[], PADR, 0, tags);
    let on_vlan = |client, vid, tags: &[(u16, &[u8])]| frame(BROADCAST, client, &[(0x8100, vid)], PADI, 0, tags);
    let cut = |mut frame: Vec<u8>, len| {
        frame.truncate(len);
        frame
    };
    let with = |mut frame: Vec<u8>, at: usize, octet| {
        frame[at] = octet;
        frame
    };
    let good = padi(&[name]);
    let cookie = bench.cookie(CLIENT, &[]);
    let line_x = hex("00000de9 01 01 78");
    let cases = vec![
        (cut(good.clone(), 13), Reason::FrameTooShort),
        (frame(BROADCAST, CLIENT, &[(0x8100, 1); 3], PADI, 0, &[name]), Reason::TooManyTags),
        (with(good.clone(), 12, 8), Reason::NotDiscovery),
        (with(good.clone(), 6, 3), Reason::BadSource),
        (with(good.clone(), 0, 3), Reason::BadDestination),
        (on_vlan(CLIENT, 11, &[name]), Reason::UnknownVlan),
        (cut(good.clone(), 19), Reason::HeaderTooShort),
        (with(good.clone(), 14, 0x12), Reason::VersionOrType),
        (cut(good.clone(), 23), Reason::LengthBeyondFrame),
        (padi(&[name, (HOST_UNIQ, &[0; 1471])]), Reason::TooLong),
        (cut(with(good.clone(), 19, 3), 23), Reason::TagHeaderCut),
        (with(good.clone(), 23, 1), Reason::TagValueCut),
        (with(good.clone(), 15, PADO), Reason::NotForConcentrator),
        (with(good.clone(), 15, 0xee), Reason::UnknownCode),
        (with(good.clone(), 17, 1), Reason::SessionIdNotZero),
        (frame(AC, CLIENT, &[], PADT, 0, &[]), Reason::SessionIdUnusable),
        (padi(&[]), Reason::NoServiceName),
        (padi(&[name, name]), Reason::SeveralServiceNames),
        (on_vlan(CLIENT, 9, &[(SERVICE_NAME, b"isp")]), Reason::ServiceNotOffered),
        (padr(&[name]), Reason::NoCookie),
        (padr(&[name, (AC_COOKIE, b"no cookie")]), Reason::BadCookie),
        (padi(&[name, (HOST_UNIQ, &[0; 1470])]), Reason::ReplyTooLong),
        (on_vlan(CLIENT_2, 9, &[name]), Reason::MacDenied),
        (on_vlan(CLIENT, 9, &[name, (0x0105, &line_x)]), Reason::Withheld),
    ];
    for (frame, reason) in cases {
        bench.dropped(&frame, reason);
        assert!(unprovoked.remove(&reason), "{reason:?} twice");
    }

    let unknown_port = bench.ac.handle_frame(bench.now, PortIndex(3), &good);
    assert_eq!(unknown_port, DiscoveryOutcome::Drop(Reason::UnknownPort));
    unprovoked.remove(&Reason::UnknownPort);

    while bench.send(&on_vlan(CLIENT, 9, &[name])) == DiscoveryOutcome::Held {}
    bench.dropped(&on_vlan(CLIENT, 9, &[name]), Reason::HeldFull);
    unprovoked.remove(&Reason::HeldFull);

    bench.pass(Duration::from_secs(61));
    bench.dropped(&padr(&[name, (AC_COOKIE, &cookie)]), Reason::ExpiredCookie);
    unprovoked.remove(&Reason::ExpiredCookie);

    let line = bng_wire::Line { peer_mac: MacAddr(CLIENT_2), ..Default::default() };
    bench.ac.session_failed(bench.now, &line.key(), None);
    bench.dropped(&frame(BROADCAST, CLIENT_2, &[], PADI, 0, &[name]), Reason::LockedOut);
    unprovoked.remove(&Reason::LockedOut);

    let one = Some(Rate { per_s: 1, burst: 1 });
    for (rates, reason) in [
        (RateLimits { mac: one, ..RateLimits::NONE }, Reason::MacRate),
        (RateLimits { vlan: one, ..RateLimits::NONE }, Reason::VlanRate),
        (RateLimits { port: one, ..RateLimits::NONE }, Reason::PortRate),
    ] {
        let mut bench = Bench::new(config()).limits(|limits| limits.padi_rates = rates);
        bench.reply(&good);
        bench.dropped(&good, reason);
        unprovoked.remove(&reason);
    }
    let double = VlanMatch::Double { tpid: 0x88a8, outer: VidRange::ANY, inner: VidRange::ANY };
    let mut bench = Bench::with(|config| config.access.push(rule(0, double)))
        .limits(|limits| limits.padi_rates = RateLimits { line: one, ..RateLimits::NONE });
    let from = |client| frame(BROADCAST, client, &[(0x88a8, 5), (0x8100, 7)], PADI, 0, &[name]);
    bench.reply(&from(CLIENT));
    bench.dropped(&from(CLIENT_2), Reason::LineRate);
    unprovoked.remove(&Reason::LineRate);
    assert!(unprovoked.is_empty(), "no case for {unprovoked:?}");
}
