//! Limits: rates, lock-out, MAC filters, PADO rules.

use super::*;

const fn padi(client: [u8; 6]) -> ([u8; 6], u8) {
    (client, PADI)
}

fn ask((client, code): ([u8; 6], u8), vlans: &[(u16, u16)]) -> Vec<u8> {
    frame(BROADCAST, client, vlans, code, 0, &[(SERVICE_NAME, b"")])
}

fn client(number: u32) -> [u8; 6] {
    let [a, b, c, d] = number.to_be_bytes();
    [0x02, 0x10, a, b, c, d]
}

/// P73, the part that is discovery's: a flood of PADIs on one VLAN, from random MACs and then from one, is answered up to
/// the limit; a client on another VLAN is served at once, all through it, and service is normal right after.
#[test]
fn p73_a_padi_flood_is_answered_up_to_the_limit_only() {
    let mut bench = Bench::with(|config| {
        config.access = vec![rule(0, VlanMatch::Single { tpid: 0x8100, vids: VidRange::ANY })];
    })
    .limits(|limits| limits.padi_rates.vlan = Some(Rate { per_s: 1000, burst: 1000 }));
    let flooded = [(0x8100, 100)];
    let calm = [(0x8100, 101)];
    let mut offers = 0;
    for millisecond in 0..10_000u32 {
        bench.pass(Duration::from_millis(1));
        for number in 0..50 {
            // The first half from random addresses, the second from one.
            let from = if millisecond < 5000 { client(millisecond * 50 + number) } else { CLIENT_2 };
            if let DiscoveryOutcome::Reply(_) = bench.send(&ask(padi(from), &flooded)) {
                offers += 1;
            }
        }
        if millisecond % 1000 == 999 {
            assert_eq!(bench.reply(&ask(padi(CLIENT), &calm)).code, PADO);
            let request = bench.dial(CLIENT, &calm, &[(SERVICE_NAME, b"")]);
            assert_eq!(bench.pads(&request, 1).vlans, [(0x8100, 0xc000 | 101)]);
        }
    }
    // 1000 at once and 1000 a second for 5 s; then 30 at once and 10 a second of the one address.
    assert!((6000..=6000 + 30 + 50 + 20).contains(&offers), "{offers}");
    assert!(bench.ac.drops()[DiscoveryDrop::VlanRate as usize] > 200_000);
    assert!(bench.ac.drops()[DiscoveryDrop::MacRate as usize] > 200_000);
    bench.pass(Duration::from_secs(1));
    for number in 0..500 {
        assert_eq!(bench.reply(&ask(padi(client(1_000_000 + number)), &flooded)).code, PADO);
    }
}

/// PADRs have buckets of their own, and forged ones take nothing from them.
#[test]
fn forged_padrs_use_up_nothing() {
    let mut bench = Bench::new(config()).limits(|limits| limits.padr_rates.port = Some(Rate { per_s: 1, burst: 2 }));
    let cookie = bench.cookie(CLIENT, &[]);
    for number in 0..1000 {
        let tags: &[(u16, &[u8])] = &[(SERVICE_NAME, b""), (AC_COOKIE, &cookie)];
        bench.dropped(&frame(AC, client(number), &[], PADR, 0, tags), DiscoveryDrop::BadCookie);
    }
    let good = frame(AC, CLIENT, &[], PADR, 0, &[(SERVICE_NAME, b""), (AC_COOKIE, &cookie)]);
    bench.request(&good);
    bench.request(&good);
    bench.dropped(&good, DiscoveryDrop::PortRate);
    bench.pass(Duration::from_secs(1));
    bench.request(&good);
}

#[test]
fn a_line_that_fails_again_and_again_waits() {
    let mut bench = Bench::new(config()).limits(|limits| {
        limits.lock_out = Some(LockOutPolicy { failures_max: 2, by: LockOutBy::CircuitId, ..LockOutPolicy::default() });
    });
    let circuit = hex("00000de9 01 04 6c696e65");
    let tags: &[(u16, &[u8])] = &[(SERVICE_NAME, b""), (0x0105, &circuit)];
    let ask = |client| frame(BROADCAST, client, &[], PADI, 0, tags);
    let request = bench.dial(CLIENT, &[], tags);
    let cookie = bench.cookie(CLIENT, &[]);
    let (key, now) = (request.line.key(), bench.now);
    assert_eq!(bench.ac.session_failed(now, &key, request.circuit_id()), None);
    assert_eq!(bench.ac.session_failed(now, &key, request.circuit_id()), Some(Duration::from_secs(10)));
    assert_eq!(bench.ac.failing_lines(), 1);
    bench.dropped(&ask(CLIENT), DiscoveryDrop::LockedOut);
    bench.dropped(&ask(CLIENT_2), DiscoveryDrop::LockedOut);
    let padr = frame(AC, CLIENT, &[], PADR, 0, &[tags, &[(AC_COOKIE, &cookie)]].concat());
    bench.dropped(&padr, DiscoveryDrop::LockedOut);
    assert_eq!(bench.cookie(CLIENT, &[]).len(), COOKIE_LEN, "another line of the same client");
    bench.pass(Duration::from_secs(10));
    bench.request(&padr);
    bench.ac.session_succeeded(&key, request.circuit_id());
    assert_eq!(bench.ac.failing_lines(), 0);
}

#[test]
fn mac_addresses_are_denied_and_allowed_by_prefix() {
    let prefix = |mac, bits| MacPrefix { mac: MacAddr(mac), bits };
    let ask = |client| ask(padi(client), &[]);
    let vendor = [0x02, 0x10, 0, 0, 0, 0];
    let mut bench = Bench::with(|config| config.profiles[0].macs.deny = vec![prefix(vendor, 24), prefix(CLIENT_2, 48)]);
    bench.dropped(&ask(client(5)), DiscoveryDrop::MacDenied);
    bench.dropped(&ask(CLIENT_2), DiscoveryDrop::MacDenied);
    assert_eq!(bench.reply(&ask(CLIENT)).code, PADO);
    let mut bench = Bench::with(|config| config.profiles[0].macs.allow = vec![prefix(vendor, 24)]);
    assert_eq!(bench.reply(&ask(client(5))).code, PADO);
    bench.dropped(&ask(CLIENT), DiscoveryDrop::MacDenied);
    assert!(prefix([0; 6], 0).contains(MacAddr(CLIENT)));
    assert!(prefix(CLIENT, 60).contains(MacAddr(CLIENT)) && !prefix(CLIENT, 60).contains(MacAddr(CLIENT_2)));
}

#[test]
fn pado_rules_delay_or_withhold_the_first_match() {
    let after = |ms| PadoTime::After(Duration::from_millis(ms));
    let mut bench = Bench::with(|config| {
        let rule = |when, time| PadoRule { when, time };
        config.profiles[0].pado_rules = vec![
            rule(PadoMatch::CircuitIdPrefix(b"spare ".to_vec()), PadoTime::Never),
            rule(PadoMatch::ServiceName("gold".into()), after(0)),
            rule(PadoMatch::SessionsFrom(100), after(200)),
        ];
        config.profiles[0].pado_delay = Duration::from_millis(50);
    });
    let spare = hex("00000de9 01 07 7370617265 20 31");
    let withheld: &[(u16, &[u8])] = &[(SERVICE_NAME, b"gold"), (0x0105, &spare)];
    bench.dropped(&frame(BROADCAST, CLIENT, &[], PADI, 0, withheld), DiscoveryDrop::Withheld);
    let gold = frame(BROADCAST, CLIENT, &[], PADI, 0, &[(SERVICE_NAME, b"gold")]);
    assert_eq!(bench.reply(&gold).code, PADO);
    let any = ask(padi(CLIENT), &[]);
    for (sessions, delay_ms) in [(0, 50), (99, 50), (100, 200), (500, 200)] {
        bench.ac.set_sessions(sessions);
        assert_eq!(bench.send(&any), DiscoveryOutcome::Held);
        let due = bench.ac.poll_timeout().unwrap();
        assert_eq!(due - bench.now, Duration::from_millis(delay_ms));
        bench.ac.handle_timeout(due, &mut |_, _| ());
        assert_eq!(bench.ac.poll_timeout(), None);
    }
    // Who holds a cookie is served all the same.
    let cookie = bench.reply(&gold).cookie();
    bench.request(&frame(AC, CLIENT, &[], PADR, 0, &[withheld, &[(AC_COOKIE, &cookie)]].concat()));
}
