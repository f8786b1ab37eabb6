//! Cases reported from the field, each under its number.

use super::*;

const PADI_ANY: &str = "ffffffffffff 020000000001 8863 11 09 0000 0004 0101 0000";

/// P09: a zero-length Service-Name where names are configured.
#[test]
fn p09_zero_length_service_name_is_served_where_names_are_configured() {
    let named = |accept_any, advertise| {
        Bench::with(|config| {
            let profile = &mut config.profiles[0];
            profile.service_names = vec!["isp-a".into(), "isp-b".into()];
            profile.accept_any = accept_any;
            profile.advertise = advertise;
        })
    };
    let ask = |name: &[u8]| frame(BROADCAST, CLIENT, &[], PADI, 0, &[(SERVICE_NAME, name)]);

    let mut bench = named(false, true);
    let pado = bench.reply(&hex(PADI_ANY));
    assert_eq!((pado.to, pado.from, pado.code, pado.id), (CLIENT, AC, PADO, 0));
    assert_eq!(pado.all(SERVICE_NAME), [&b""[..], b"isp-a", b"isp-b"]);
    assert_eq!(pado.all(AC_NAME), [b"ac"]);
    assert_eq!(bench.reply(&ask(b"isp-a")).all(SERVICE_NAME), [&b"isp-a"[..], b"isp-b"]);
    bench.dropped(&ask(b"isp-zzz"), DiscoveryDrop::ServiceNotOffered);
    bench.dropped(&ask(b"isp-"), DiscoveryDrop::ServiceNotOffered);
    bench.dropped(&ask(b"isp-a\0"), DiscoveryDrop::ServiceNotOffered);

    let mut quiet = named(false, false);
    assert_eq!(quiet.reply(&hex(PADI_ANY)).all(SERVICE_NAME), [b""]);

    let mut open = named(true, false);
    assert_eq!(open.reply(&ask(b"isp-zzz")).all(SERVICE_NAME), [b"isp-zzz"]);

    // PADS: exactly one Service-Name, the one asked for.
    for name in [&b""[..], b"isp-a", b"isp-zzz"] {
        let request = open.dial(CLIENT, &[], &[(SERVICE_NAME, name)]);
        assert_eq!(open.pads(&request, 1).all(SERVICE_NAME), [name]);
    }
}

/// P09, the same kind one step later: RFC 2516 section 5.4 has a Service-Name-Error for it, SESSION_ID 0.
#[test]
fn p09_a_padr_for_a_service_not_offered_gets_service_name_error() {
    let mut bench = Bench::with(|config| {
        config.profiles[0].service_names = vec!["isp-a".into()];
        config.profiles[0].accept_any = false;
    });
    let cookie = bench.cookie(CLIENT, &[]);
    let tags: &[(u16, &[u8])] = &[(SERVICE_NAME, b"isp-zzz"), (AC_COOKIE, &cookie), (HOST_UNIQ, b"hu")];
    let outcome = bench.send(&frame(AC, CLIENT, &[], PADR, 0, tags));
    let expected: &[(u16, &[u8])] = &[(SERVICE_NAME, b"isp-zzz"), (HOST_UNIQ, b"hu"), (0x0201, b"")];
    assert_eq!(outcome, DiscoveryOutcome::Reply(padded(frame(CLIENT, AC, &[], PADS, 0, expected))));
    // Without a good cookie there is no answer: the address may be forged.
    let tags: &[(u16, &[u8])] = &[(SERVICE_NAME, b"isp-zzz")];
    bench.dropped(&frame(AC, CLIENT, &[], PADR, 0, tags), DiscoveryDrop::NoCookie);
}

#[test]
fn p11_end_of_list_ends_the_tags() {
    let mut bench = Bench::new(config());
    let padi = hex("ffffffffffff 020000000001 8863 11 09 0000 0010 0101 0000 0000 0000 0103 0004 deadbeef");
    let pado = bench.reply(&padi);
    assert_eq!(pado.all(HOST_UNIQ), [] as [&[u8]; 0]);
    assert_eq!(pado.tags.len(), 3);
}

#[test]
fn p11_padding_is_never_parsed_and_never_echoed() {
    let mut bench = Bench::new(config());
    let mut padi = hex("ffffffffffff 020000000001 8863 11 09 0000 0008 0101 0000 0000 0000");
    padi.resize(60, 0xaa);
    assert_eq!(bench.reply(&padi).tags.len(), 3);
    // The same without an End-Of-List, and with padding that would read as tags.
    let mut padi = hex(PADI_ANY);
    while padi.len() < 60 {
        padi.extend_from_slice(&[0x01, 0x03, 0x00, 0x00]);
    }
    assert_eq!(bench.reply(&padi).all(HOST_UNIQ), [] as [&[u8]; 0]);
}

#[test]
fn p11_a_cookie_after_end_of_list_is_no_cookie() {
    let mut bench = Bench::new(config());
    let cookie = bench.cookie(CLIENT, &[]);
    let tags: &[(u16, &[u8])] = &[(SERVICE_NAME, b""), (0, b""), (AC_COOKIE, &cookie)];
    bench.dropped(&frame(AC, CLIENT, &[], PADR, 0, tags), DiscoveryDrop::NoCookie);
}

/// P12: each malformed frame has its reason, as PADI, PADR and PADT, and a good PADI right after is answered.
///
/// One difference to the case's wording: a PADT with LENGTH 0 is good, because RFC 2516 section 5.5 requires no tags.
#[test]
fn p12_malformed_frames_are_dropped_each_for_its_reason() {
    let mut bench = Bench::new(config());
    for (to, code, id) in [(BROADCAST, PADI, 0), (AC, PADR, 0), (AC, PADT, 1)] {
        let head = |ver_type: u8, length: u16| {
            let mut head = [to, CLIENT].concat();
            head.extend_from_slice(&[0x88, 0x63, ver_type, code]);
            head.extend_from_slice(&u16::to_be_bytes(id));
            head.extend_from_slice(&length.to_be_bytes());
            head
        };
        let with = |ver_type, length, rest: &str| [head(ver_type, length), hex(rest)].concat();
        let cases = [
            (with(0x11, 6, "0101 0000 01 03"), DiscoveryDrop::TagHeaderCut),
            (with(0x11, 5, "0101 0000 01"), DiscoveryDrop::TagHeaderCut),
            (with(0x11, 7, "0101 0000 01 03 00"), DiscoveryDrop::TagHeaderCut),
            (with(0x11, 8, "0101 0000 0103 0040"), DiscoveryDrop::TagValueCut),
            (with(0x11, 0x100, "0101 0000"), DiscoveryDrop::LengthBeyondFrame),
            (with(0x21, 4, "0101 0000"), DiscoveryDrop::VersionOrType),
            (with(0x12, 4, "0101 0000"), DiscoveryDrop::VersionOrType),
            (with(0x10, 4, "0101 0000"), DiscoveryDrop::VersionOrType),
            (head(0x11, 0)[..14].to_vec(), DiscoveryDrop::HeaderTooShort),
            (head(0x11, 0)[..19].to_vec(), DiscoveryDrop::HeaderTooShort),
            (head(0x11, 0)[..13].to_vec(), DiscoveryDrop::FrameTooShort),
            (Vec::new(), DiscoveryDrop::FrameTooShort),
        ];
        for (frame, reason) in cases {
            bench.dropped(&frame, reason);
        }
        if code == PADT {
            let line = bng_wire::Line { peer_mac: MacAddr(CLIENT), ..Default::default() };
            let terminate = DiscoveryOutcome::Terminate { line, session_id: SessionId(1) };
            assert_eq!(bench.send(&head(0x11, 0)), terminate);
        } else {
            bench.dropped(&head(0x11, 0), DiscoveryDrop::NoServiceName);
        }
        assert_eq!(bench.reply(&hex(PADI_ANY)).code, PADO);
    }
}

/// P13: a Host-Uniq comes back whole or there is no PADO.
#[test]
fn p13_host_uniq_is_returned_whole_or_not_at_all() {
    let mut bench = Bench::new(config());
    let name = 2;
    let mut answered = 0;
    for length in 1440..=1480 {
        bench.pass(Duration::from_secs(1));
        let host_uniq: Vec<u8> = (0..length).map(|at| at as u8).collect();
        let padi = frame(BROADCAST, CLIENT, &[], PADI, 0, &[(SERVICE_NAME, b""), (HOST_UNIQ, &host_uniq)]);
        if 14 + length > 1484 {
            bench.dropped(&padi, DiscoveryDrop::TooLong);
        } else if 22 + length + name + COOKIE_LEN <= 1500 {
            let DiscoveryOutcome::Reply(reply) = bench.send(&padi) else { panic!("{length}") };
            assert_eq!(reply.len(), 14 + 22 + length + name + COOKIE_LEN);
            assert_eq!(Parts::of(&reply).all(HOST_UNIQ), [&host_uniq[..]]);
            answered += 1;
        } else {
            bench.dropped(&padi, DiscoveryDrop::ReplyTooLong);
        }
    }
    assert_eq!(answered, 1456 - 1440 + 1);
}

/// P13, the same kind: whatever PADR passes, its PADS fits, refusals too.
#[test]
fn p13_a_pads_fits_whatever_the_padr_had() {
    let mut bench = Bench::new(config());
    let cookie = bench.cookie(CLIENT, &[]);
    let host_uniq = vec![0x5a; 1500 - 6 - 4 - 4 - 4 - COOKIE_LEN];
    let tags: &[(u16, &[u8])] = &[(SERVICE_NAME, b""), (AC_COOKIE, &cookie), (HOST_UNIQ, &host_uniq)];
    let request = bench.request(&frame(AC, CLIENT, &[], PADR, 0, tags));
    assert_eq!(bench.pads(&request, 1).all(HOST_UNIQ), [&host_uniq[..]]);
    let refusal = bench.ac.pads_error(&request, ErrorTag::AcSystem, &"no ".repeat(100)).unwrap();
    assert_eq!(Parts::of(&refusal).tags[2], (0x0202, Vec::new()), "the message is left out, the error is not");
    let one_more = [&host_uniq[..], &[0]].concat();
    let tags: &[(u16, &[u8])] = &[(SERVICE_NAME, b""), (AC_COOKIE, &cookie), (HOST_UNIQ, &one_more)];
    bench.dropped(&frame(AC, CLIENT, &[], PADR, 0, tags), DiscoveryDrop::TooLong);
}

/// P15: no vendor tag is taken for a PPP-Max-Payload.
#[test]
fn p15_vendor_tags_change_no_mru() {
    let mut bench = Bench::new(config());
    let line = hex("00000de9 01 0c 65746820312f312f313a3130 02 07 7375622d303031");
    for value in [&line[..], &[0x05, 0xdc], &[], &[0, 0, 0x0d], &[0, 0, 0x0d, 0xe9], &[0, 1, 2, 3, 5, 0xdc]] {
        let request = bench.dial(CLIENT, &[], &[(SERVICE_NAME, b""), (0x0105, value)]);
        assert_eq!((request.mru_max, request.max_payload), (1492, None));
        assert_eq!(bench.pads(&request, 1).all(PPP_MAX_PAYLOAD), [] as [&[u8]; 0]);
        assert_eq!(request.access_line.is_some(), value == line, "{value:02x?}");
    }
}

/// P16: PPP-Max-Payload is echoed, and bounded by what the port carries (RFC 4638 sections 3 and 4).
#[test]
fn p16_max_payload_is_echoed_where_the_port_carries_it() {
    // Port's payload limit, the tag's value; what is echoed, the cap.
    let cases: &[(u16, &[u8], Option<u16>, u16)] = &[
        (1500, &[0x05, 0xdc], Some(1500), 1500),
        (1492, &[0x05, 0xdc], None, 1492),
        (1500, &[0x06, 0x40], Some(1600), 1500),
        (1496, &[0x05, 0xdc], Some(1500), 1496),
        (1500, &[0x05, 0x78], None, 1492),
        (1500, &[0x05, 0xd4], None, 1492),
        (1500, &[0x05, 0xd5], Some(1493), 1493),
        (1500, &[0x05], None, 1492),
        (1500, &[0x05, 0xdc, 0, 0], None, 1492),
        (1500, &[], None, 1492),
        (1480, &[0x05, 0xdc], None, 1480),
    ];
    for (port_max, value, echo, cap) in cases {
        let mut bench = Bench::with(|config| config.ports = vec![port(0, *port_max)]);
        let padi = frame(BROADCAST, CLIENT, &[], PADI, 0, &[(SERVICE_NAME, b""), (PPP_MAX_PAYLOAD, value)]);
        let echo_octets = echo.map(u16::to_be_bytes);
        let echo_tags: Vec<&[u8]> = echo_octets.iter().map(|octets| &octets[..]).collect();
        assert_eq!(bench.reply(&padi).all(PPP_MAX_PAYLOAD), echo_tags, "PADO {port_max} {value:?}");
        let request = bench.dial(CLIENT, &[], &[(SERVICE_NAME, b""), (PPP_MAX_PAYLOAD, value)]);
        assert_eq!((request.max_payload, request.mru_max), (*echo, *cap));
        assert_eq!(bench.pads(&request, 1).all(PPP_MAX_PAYLOAD), echo_tags, "PADS {port_max} {value:?}");
    }
}

/// P16 (a), byte-exact but for the cookie.
#[test]
fn p16_the_pado_octet_by_octet() {
    let mut bench = Bench::new(config());
    let padi = hex("ffffffffffff 020000000001 8863 11 09 0000 000a 0101 0000 0120 0002 05dc");
    let DiscoveryOutcome::Reply(pado) = bench.send(&padi) else { panic!() };
    let mut expected = hex("020000000001 0200000000fe 8863 11 07 0000 0028 0101 0000 0102 0002 6163 0104 0014");
    expected.extend_from_slice(&pado[34..54]);
    expected.extend_from_slice(&hex("0120 0002 05dc"));
    assert_eq!(pado, expected);
}

/// P16, the profile's and the tags' limits: P71's net_tap carries 1496 under two tags.
#[test]
fn p16_p71_the_cap_depends_on_tags_and_profile() {
    let tags_and_caps: [(&[(u16, u16)], u16); 4] =
        [(&[], 1500), (&[(0x8100, 0xa000)], 1500), (&[(0x8100, 9)], 1498), (&[(0x88a8, 100), (0x8100, 200)], 1496)];
    let mut bench = Bench::with(|config| {
        config.ports[0].max_payload_by_tags = [1500, 1498, 1496];
        config.access.push(rule(0, VlanMatch::Single { tpid: 0x8100, vids: VidRange::ANY }));
        config.access.push(rule(0, VlanMatch::Double { tpid: 0x88a8, outer: VidRange::ANY, inner: VidRange::ANY }));
    });
    for (vlans, cap) in tags_and_caps {
        let request = bench.dial(CLIENT, vlans, &[(SERVICE_NAME, b""), (PPP_MAX_PAYLOAD, &[0x05, 0xdc])]);
        assert_eq!(request.mru_max, cap, "{vlans:04x?}");
    }
    let mut bench = Bench::with(|config| config.profiles[0].max_payload = 1492);
    let request = bench.dial(CLIENT, &[], &[(SERVICE_NAME, b""), (PPP_MAX_PAYLOAD, &[0x05, 0xdc])]);
    assert_eq!((request.mru_max, request.max_payload), (1492, None));
}

/// P17: untagged and priority-tagged clients get untagged answers.
#[test]
fn p17_untagged_clients_get_untagged_answers() {
    let mut bench = Bench::new(config());
    for (vlans, padi) in [
        (&[][..], hex(PADI_ANY)),
        (&[(0x8100, 0xa000)][..], hex("ffffffffffff 020000000001 8100 a000 8863 11 09 0000 0004 0101 0000")),
    ] {
        assert_eq!(bench.reply(&padi).vlans, []);
        let request = bench.dial(CLIENT, vlans, &[(SERVICE_NAME, b"")]);
        assert_eq!(bench.pads(&request, 7).vlans, []);
        let padt = bench.ac.padt(request.local_mac, &request.line, SessionId(7));
        assert_eq!(padt, padded(frame(CLIENT, AC, &[], PADT, 7, &[])));
    }
    // A client whose PADR is priority-tagged where its PADI was not is the same client.
    let cookie = bench.cookie(CLIENT, &[]);
    let tags: &[(u16, &[u8])] = &[(SERVICE_NAME, b""), (AC_COOKIE, &cookie)];
    bench.request(&frame(AC, CLIENT, &[(0x8100, 0xa000)], PADR, 0, tags));
}

/// P18: a tag more than configured is another customer's domain.
#[test]
fn p18_an_extra_tag_is_an_unknown_vlan() {
    let double = hex("ffffffffffff 020000000001 8100 007b 8100 0141 8863 11 09 0000 0004 0101 0000");
    let mut bench = Bench::with(|config| {
        config.access = vec![rule(0, VlanMatch::Single { tpid: 0x8100, vids: VidRange::one(123) })];
    });
    bench.dropped(&double, DiscoveryDrop::UnknownVlan);
    bench.dropped(&hex(PADI_ANY), DiscoveryDrop::UnknownVlan);

    let mut bench = Bench::with(|config| {
        let (outer, inner) = (VidRange::one(123), VidRange::one(321));
        config.access = vec![rule(0, VlanMatch::Double { tpid: 0x8100, outer, inner })];
    });
    assert_eq!(bench.reply(&double).vlans, [(0x8100, 0xc000 | 123), (0x8100, 0xc000 | 321)]);
    bench.dropped(
        &frame(BROADCAST, CLIENT, &[(0x8100, 123)], PADI, 0, &[(SERVICE_NAME, b"")]),
        DiscoveryDrop::UnknownVlan,
    );
    bench.dropped(
        &frame(BROADCAST, CLIENT, &[(0x8100, 321), (0x8100, 123)], PADI, 0, &[(SERVICE_NAME, b"")]),
        DiscoveryDrop::UnknownVlan,
    );
    bench.dropped(
        &frame(BROADCAST, CLIENT, &[(0x8100, 123), (0x8100, 321), (0x8100, 5)], PADI, 0, &[(SERVICE_NAME, b"")]),
        DiscoveryDrop::TooManyTags,
    );
}

/// P19: replies carry the TPIDs they came with, and another TPID is another service.
#[test]
fn p19_replies_carry_their_tpids() {
    let padi = hex("ffffffffffff 020000000001 88a8 0064 8100 00c8 8863 11 09 0000 0004 0101 0000");
    let dot1q = hex("ffffffffffff 020000000001 8100 0064 8100 00c8 8863 11 09 0000 0004 0101 0000");
    for (tpid, good, bad) in [(0x88a8, &padi, &dot1q), (0x8100, &dot1q, &padi)] {
        let mut bench = Bench::with(|config| {
            config.access =
                vec![rule(0, VlanMatch::Double { tpid, outer: VidRange::one(100), inner: VidRange::one(200) })];
        });
        let tags = [(tpid, 100), (0x8100, 200)];
        let ours = tags.map(|(tpid, vid)| (tpid, 0xc000 | vid));
        assert_eq!(bench.reply(good).vlans, ours);
        bench.dropped(bad, DiscoveryDrop::UnknownVlan);
        let request = bench.dial(CLIENT, &tags, &[(SERVICE_NAME, b"")]);
        assert_eq!(request.line.vlans, vlans(&tags));
        assert_eq!(bench.pads(&request, 1).vlans, ours);
        let padt = bench.ac.padt(request.local_mac, &request.line, SessionId(1));
        assert_eq!(padt, padded(frame(CLIENT, AC, &ours, PADT, 1, &[])));
    }
}

/// P20, the part that the frame alone decides: (b) another destination, (c) id 0, (f) broadcast. Whose session it is, (a),
/// (d), (e), is for the owner of the sessions; the line it needs for that is exact.
#[test]
fn p20_a_padt_must_be_for_us_and_name_a_session() {
    let mut bench = Bench::with(|config| {
        config.access.push(rule(0, VlanMatch::Single { tpid: 0x8100, vids: VidRange::one(9) }));
    });
    let other = [0x02, 0, 0, 0, 0, 0xaa];
    bench.dropped(&frame(other, CLIENT, &[], PADT, 1, &[]), DiscoveryDrop::BadDestination);
    bench.dropped(&frame(BROADCAST, CLIENT, &[], PADT, 1, &[]), DiscoveryDrop::BadDestination);
    bench.dropped(&frame(AC, CLIENT, &[], PADT, 0, &[]), DiscoveryDrop::SessionIdUnusable);
    bench.dropped(&frame(AC, CLIENT, &[], PADT, 0xffff, &[]), DiscoveryDrop::SessionIdUnusable);
    for (client, tags, id) in
        [(CLIENT, &[][..], 1), (CLIENT_2, &[], 1), (CLIENT, &[(0x8100, 9)], 1), (CLIENT, &[], 0xfff)]
    {
        let line = bng_wire::Line { port: PortIndex(0), vlans: vlans(tags), peer_mac: MacAddr(client) };
        let expected = DiscoveryOutcome::Terminate { line, session_id: SessionId(id) };
        assert_eq!(bench.send(&frame(AC, client, tags, PADT, id, &[])), expected);
    }
}

/// P29: the line's identity, octet-exact, whatever else is wrong with the tag.
#[test]
fn p29_line_identity_is_kept_octet_exact() {
    let mut bench = Bench::new(config());
    let tag = hex("00000de9 01 0c 65746820312f312f313a3130 02 07 7375622d303031");
    let request = bench.dial(CLIENT, &[], &[(SERVICE_NAME, b""), (0x0105, &tag)]);
    assert_eq!(request.circuit_id(), Some(&b"eth 1/1/1:10"[..]));
    assert_eq!(request.remote_id(), Some(&b"sub-001"[..]));
    assert_eq!(request.access_line_left_out, 0);

    let identity = |length: usize| {
        let mut tag = hex("00000de9");
        tag.extend_from_slice(&[1, length as u8]);
        tag.extend((0..length).map(|at| if at % 2 == 0 { 0x00 } else { 0xff }));
        tag.extend_from_slice(&hex("81 04 00000400 82 04 00004000 02 03 aabb"));
        tag
    };
    for (length, kept) in [(63, true), (64, false)] {
        let tag = identity(length);
        let request = bench.dial(CLIENT, &[], &[(SERVICE_NAME, b""), (0x0105, &tag)]);
        assert_eq!(request.circuit_id(), kept.then(|| &tag[6..6 + length]));
        assert_eq!(request.remote_id(), None, "cut at the tag's end");
        let rate = request.access_line.as_ref().unwrap().get(bng_wire::pppoe::access_line::SubType(0x82));
        assert_eq!(rate.unwrap().number(), Some(0x4000));
        assert_eq!(request.access_line_left_out, 1 + u16::from(!kept));
    }

    // The access node appends its tag; what a client put in front of it is not believed, nor mixed with it.
    let forged = hex("00000de9 01 03 616263 02 03 646566");
    let genuine = hex("00000de9 01 04 6c696e65");
    let other_vendor = hex("00000d75 01 03 616263");
    let tags: &[(u16, &[u8])] = &[(SERVICE_NAME, b""), (0x0105, &forged), (0x0105, &genuine), (0x0105, &other_vendor)];
    let request = bench.dial(CLIENT, &[], tags);
    assert_eq!((request.circuit_id(), request.remote_id()), (Some(&b"line"[..]), None));
}
