//! Cases from the field that concern a session's life, by number.

mod support;

use bng_pool::{Ipv4PoolConfig, Ipv4Range};
use bng_subscriber::{Drop, DuplicateUser, EndCause, EventKind, Input, PoolKind, WhenFull};
use bng_testkit::{ClientConfig, ClientEvent, ClientState};
use bng_wire::{MacAddr, PortIndex};
use std::collections::HashSet;
use std::net::Ipv4Addr;
use support::*;

const PORT: PortIndex = PortIndex(0);

fn no_redial(n: u32) -> ClientConfig {
    let mut client = ClientConfig::numbered(n);
    client.behaviour.redials = false;
    client
}

fn up(world: &mut World, client: usize) -> u16 {
    world.dial(client);
    world.run(secs(1));
    assert_eq!(world.clients[client].state(), ClientState::Open);
    world.clients[client].session_id()
}

#[test]
fn p20_a_padt_ends_a_session_only_from_its_owner() {
    let mut world = World::new(config(), 20);
    let client = world.add(no_redial(1));
    let id = up(&mut world, client);
    let mac = world.clients[client].config().mac;
    let other = MacAddr([2, 0, 0, 0, 9, 2]);
    let elsewhere = MacAddr([2, 0, 0, 0, 0, 0xaa]);
    let tag = [(0x8100, 100)];
    let terminate = [5, 77, 0, 4];
    let forged = [
        padt(AC, other, &[], id),
        padt(elsewhere, mac, &[], id),
        padt(AC, mac, &[], 0),
        padt(AC, mac, &[], 0x0fff),
        padt(AC, mac, &tag, id),
        padt(MacAddr::BROADCAST, mac, &[], id),
        ppp_frame(other, &[], id, 0xc021, &terminate),
        ppp_frame(mac, &tag, id, 0xc021, &terminate),
    ];
    for (case, frame) in forged.iter().enumerate() {
        let mark = world.wire.len();
        world.inject(PORT, frame);
        world.run(millis(500));
        assert_eq!(world.words_since(mark), [""; 0], "case {case}: no reply of any kind");
        assert_eq!(world.clients[client].state(), ClientState::Open, "case {case}");
        // An echo is still answered.
        let mark = world.wire.len();
        world.inject(PORT, &ppp_frame(mac, &[], id, 0xc021, &[9, case as u8, 0, 8, 0, 0, 0, 0]));
        assert_eq!(world.words_since(mark), ["LCP 10"], "case {case}");
    }
    assert_eq!(world.subscribers.statistics().dropped[Drop::PadtNotOwner as usize], 3);
    let mark = world.wire.len();
    world.inject(PORT, &padt(AC, mac, &[], id));
    world.run(secs(10));
    assert_eq!(world.words_since(mark), [""; 0], "nothing is sent for it afterwards");
    assert!(world.subscribers.is_empty());
    let (_, cause) = world.ended()[0];
    assert_eq!((cause, cause.acct_terminate_cause()), (EndCause::PadtReceived, 1));
}

#[test]
fn p38_ipv6cp_terminate_does_not_end_the_session() {
    let mut config = config();
    config.profiles[0].ppp.ipv6 = true;
    let mut world = World::new(config, 38);
    let mut client = no_redial(1);
    client.behaviour.tries_ipv6 = true;
    let client = world.add(client);
    up(&mut world, client);
    let mark = world.wire.len();
    world.with(client, |client, _, out| client.send_ppp(0x8057, b"\x05\x2a\x00\x0ano ipv6"[..10].as_ref(), out));
    world.run(millis(10));
    assert_eq!(world.words_since(mark), ["IPV6CP 6"]);
    assert_eq!(world.wire.last().map(|seen| seen.frame[23]), Some(0x2a), "same identifier");
    for _ in 0..60 {
        world.with(client, |client, _, out| {
            client.send_data(SERVER, b"still here", out);
        });
        world.run(secs(1));
    }
    assert_eq!(world.fates.iter().filter(|(_, fate)| matches!(fate, Fate::Forwarded(..))).count(), 60);
    assert!(world.ended().is_empty());
    let words = world.words_since(mark);
    assert!(!words.iter().any(|word| word == "LCP 5" || word == "PADT"), "{words:?}");
}

#[test]
fn p50_the_same_client_comes_back_without_a_goodbye() {
    let mut world = World::new(config(), 50);
    let client = world.add(no_redial(1));
    let old_id = up(&mut world, client);
    let old_key = world.subscribers.sessions(world.now).next().unwrap().key;
    world.with(client, |client, _, _| client.vanish());
    world.run(secs(5));
    let mark = world.wire.len();
    world.dial(client);
    world.run(secs(1));
    assert_eq!(world.clients[client].state(), ClientState::Open);
    assert_ne!(world.clients[client].session_id(), old_id);
    let words = world.words_since(mark);
    assert_eq!(words[..3], ["PADO", "PADT", "PADS"], "the old one ends before the new one begins");
    let padt = world.wire[mark..].iter().find(|seen| seen.from_ac && word(&seen.frame) == "PADT").unwrap();
    assert_eq!(padt.frame[16..18], old_id.to_be_bytes());
    assert_eq!(world.ended(), [(old_key, EndCause::Replaced)]);
    assert_eq!(world.subscribers.gauges().live, 1);
    assert_eq!(world.subscribers.pools()[0].usage.held, 1);
    // Its end is on record before the new one's start.
    let at = |pick: &dyn Fn(&EventKind) -> bool| world.events.iter().rposition(|(_, e)| pick(&e.what)).unwrap();
    let ended = at(&|what| matches!(what, EventKind::Ended { .. }));
    let started = at(&|what| matches!(what, EventKind::Ipv4Up { .. }));
    assert!(ended < started);
}

#[test]
fn p50_the_same_user_from_another_line() {
    for policy in [DuplicateUser::Allow, DuplicateUser::Replace, DuplicateUser::Deny] {
        let mut config = config();
        config.profiles[0].duplicate_user = policy;
        let mut world = World::new(config, 51);
        let first = world.add(no_redial(1));
        let mut second = no_redial(2);
        second.user = "user1@example.net".into();
        let second = world.add(second);
        up(&mut world, first);
        world.dial(second);
        world.run(secs(30));
        let states = [first, second].map(|client| world.clients[client].state() == ClientState::Open);
        let expected = match policy {
            DuplicateUser::Allow => [true, true],
            DuplicateUser::Replace => [false, true],
            DuplicateUser::Deny => [true, false],
        };
        assert_eq!(states, expected, "{policy:?}");
        if policy == DuplicateUser::Deny {
            let events = world.clients[second].take_events();
            let message = "authentication failed: user is logged in already";
            assert!(events.contains(&ClientEvent::LoginFailed(message.into())));
        }
        // The one that was refused may come in once the other has left.
        if policy == DuplicateUser::Deny {
            world.with(first, |client, _, out| client.hang_up(out));
            world.run(secs(1));
            up(&mut world, second);
        }
    }
}

#[test]
fn p51_echoes_and_traffic() {
    let echo = |traffic: bool| {
        let mut config = config();
        config.profiles[0].ppp.echo_interval = secs(1);
        config.profiles[0].ppp.echo_misses = 3;
        config.profiles[0].ppp.traffic_is_alive = traffic;
        config
    };
    // (a) data every 100 ms and no echo replies: stays.
    let mut world = World::new(echo(true), 1);
    world.audit_every = 64;
    let mut deaf = no_redial(1);
    deaf.behaviour.answers_echoes = false;
    let client = world.add(deaf.clone());
    up(&mut world, client);
    for _ in 0..600 {
        world.with(client, |client, _, out| {
            client.send_data(SERVER, b"x", out);
        });
        world.run(millis(100));
    }
    assert!(world.ended().is_empty());
    // The data stops: now it is dead.
    world.run(secs(6));
    assert_eq!(world.ended()[0].1, EndCause::LostCarrier);

    // (b) two lost, one answered, twenty times: stays.
    let mut world = World::new(echo(false), 2);
    world.audit_every = 64;
    let client = world.add(no_redial(1));
    up(&mut world, client);
    for round in 0..60 {
        world.clients[client].config_mut().behaviour.answers_echoes = round % 3 == 2;
        world.run(secs(1));
    }
    assert!(world.ended().is_empty());

    // (c) nothing at all: closed after three misses, between 3 and 5 s.
    let mut world = World::new(echo(true), 3);
    let client = world.add(deaf);
    world.dial(client);
    world.run(millis(10));
    let opened = world.now;
    world.run(secs(10));
    let (at, event) = world.events.iter().find(|(_, e)| matches!(e.what, EventKind::Ended { .. })).unwrap();
    assert!(matches!(event.what, EventKind::Ended { cause: EndCause::LostCarrier, .. }));
    let took = at.saturating_duration_since(opened);
    assert!(took >= secs(3) - millis(10) && took <= secs(5), "{took:?}");
    assert_eq!(EndCause::LostCarrier.acct_terminate_cause(), 2);
    assert_eq!(world.words_since(0).last().map(String::as_str), Some("PADT"));
}

#[test]
fn p54_lines_with_the_same_address_are_apart() {
    let mut world = World::new(config(), 54);
    let mut lines = Vec::new();
    for (port, vlans) in [
        (0, vec![(0x8100, 100)]),
        (0, vec![(0x8100, 200)]),
        (1, vec![(0x8100, 100)]),
        (0, vec![(0x88a8, 100), (0x8100, 7)]),
        (0, vec![(0x88a8, 100), (0x8100, 8)]),
        (1, vec![]),
    ] {
        let mut client = no_redial(1);
        client.vlans = vlans;
        lines.push(world.add_on(PortIndex(port), client));
    }
    world.dial_all();
    world.run(secs(1));
    assert_eq!(world.open(), lines.len());
    let addresses: HashSet<_> = world.clients.iter().map(|client| client.address().unwrap()).collect();
    assert_eq!(addresses.len(), lines.len());
    let mac = world.clients[0].config().mac;
    // The id of one line, sent over another: no session of that line, whoever's it is elsewhere.
    for (vlans, id) in [
        (vec![(0x88a8u16, 100u16), (0x8100, 8)], world.clients[3].session_id()),
        (vec![(0x88a8, 100), (0x8100, 9)], world.clients[3].session_id()),
    ] {
        let mark = world.wire.len();
        world.inject(PORT, &ppp_frame(mac, &vlans, id, 0xc021, &[5, 1, 0, 4]));
        assert_eq!(world.words_since(mark), [""; 0]);
    }
    world.run(secs(1));
    assert_eq!(world.open(), lines.len());
    assert_eq!(world.subscribers.statistics().dropped[Drop::NotOwner as usize], 2);
    // One leaves: the others stay.
    world.with(lines[0], |client, _, out| client.padt(out));
    world.run(secs(1));
    assert_eq!(world.subscribers.gauges().live as usize, lines.len() - 1);
}

#[test]
fn p65_every_address_of_a_pool_and_never_the_gateway() {
    let mut world = World::new(config(), 65);
    world.audit_every = 500;
    for n in 0..254 {
        world.add(no_redial(n));
    }
    world.dial_all();
    world.run(secs(30));
    let addresses: HashSet<_> = world.clients.iter().filter_map(|client| client.address()).collect();
    assert_eq!(addresses.len(), 253);
    assert!(!addresses.contains(&Ipv4Addr::new(192, 0, 2, 1)));
    let last = world.clients.iter().position(|client| client.address().is_none()).unwrap();
    let events = world.clients[last].take_events();
    // The password was right, and is said to be; then the link is closed.
    assert!(events.iter().any(|event| matches!(event, ClientEvent::LoggedIn(_))), "{events:?}");
    assert!(events.contains(&ClientEvent::Terminated) && events.contains(&ClientEvent::Padt));
    assert_eq!(world.subscribers.statistics().pool_exhausted, 1);
    assert!(world.events.iter().any(|(_, event)| event.what == EventKind::PoolExhausted));
    // One leaves, one comes.
    let leaver = usize::from(last == 0);
    let freed = world.clients[leaver].address().unwrap();
    world.with(leaver, |client, _, out| client.hang_up(out));
    world.run(secs(1));
    up(&mut world, last);
    assert_eq!(world.clients[last].address(), Some(freed));

    // The whole /24: neither .0 nor .255, as the pool documents.
    let mut whole = config();
    whole.pools[0].kind = PoolKind::Ipv4(
        Ipv4PoolConfig::prefix(Ipv4Addr::new(192, 0, 2, 0), 24, Some(Ipv4Addr::new(192, 0, 2, 1))).unwrap(),
    );
    let mut world = World::new(whole, 66);
    world.audit_every = 500;
    for n in 0..254 {
        world.add(no_redial(n));
    }
    world.dial_all();
    world.run(secs(30));
    let mut addresses: Vec<_> = world.clients.iter().filter_map(|client| client.address()).collect();
    addresses.sort_unstable();
    let expected: Vec<_> = (2..=254).map(|host| Ipv4Addr::new(192, 0, 2, host)).collect();
    assert_eq!(addresses, expected);
}

/// The last address is still on its way back when the next client asks for one: it waits the moment that takes.
#[test]
fn p65_an_address_on_its_way_back_is_waited_for() {
    let mut config = config();
    let only = Ipv4Addr::new(192, 0, 2, 10);
    config.pools[0].kind = PoolKind::Ipv4(Ipv4PoolConfig::range(Ipv4Range::single(only), None));
    let mut world = World::new(config, 67);
    world.grace = millis(300);
    let first = world.add(no_redial(1));
    let second = world.add(no_redial(2));
    up(&mut world, first);
    world.with(first, |client, _, out| client.padt(out));
    world.dial(second);
    world.run(millis(100));
    assert_eq!(world.clients[second].state(), ClientState::Authenticating);
    world.run(millis(300));
    assert_eq!(world.clients[second].address(), Some(only));
    assert_eq!(world.subscribers.statistics().pool_exhausted, 0);
}

#[test]
fn p67_no_offer_when_full() {
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Limit {
        Total,
        Vlan,
        Mac,
    }
    for limit in [Limit::Total, Limit::Vlan, Limit::Mac] {
        for when_full in [WhenFull::Silent, WhenFull::Error] {
            let mut config = config();
            config.limits.when_full = when_full;
            config.limits.discovery.padi_rates = bng_subscriber::RateLimits::NONE;
            config.limits.discovery.padr_rates = bng_subscriber::RateLimits::NONE;
            match limit {
                Limit::Total => config.limits.sessions_max = 100,
                Limit::Vlan => config.limits.sessions_per_vlan_max = 100,
                Limit::Mac => config.profiles[0].pppoe.sessions_per_mac = 100,
            }
            let mut world = World::new(config, 68);
            world.audit_every = 100;
            for n in 0..102 {
                let mut client = no_redial(n);
                if limit == Limit::Mac {
                    client.mac = MacAddr([2, 0, 0, 0, 0, 1]);
                }
                world.add(client);
            }
            // The last one has a cookie from before the box was full: its PADO is kept from it for now.
            for client in 0..100 {
                world.dial(client);
            }
            world.run(millis(1));
            world.run(secs(1));
            assert_eq!(world.open(), 100, "{limit:?}");
            let mark = world.wire.len();
            world.dial(100);
            world.run(secs(1));
            assert_eq!(world.words_since(mark), [""; 0], "{limit:?}: no PADO");
            let reason = match limit {
                Limit::Total => Drop::SessionsMax,
                Limit::Vlan => Drop::SessionsPerVlan,
                Limit::Mac => Drop::SessionsPerMac,
            };
            assert_eq!(world.subscribers.statistics().dropped[reason as usize], 1);
            // One leaves: a PADO at once, and the client is held back before its PADR.
            world.with(0, |client, _, out| client.padt(out));
            world.run(millis(10));
            world.dial(101);
            world.run(std::time::Duration::from_micros(1500));
            let padi = world.wire.iter().rfind(|seen| seen.from_ac && word(&seen.frame) == "PADO");
            assert!(padi.is_some());
            let mut late = bng_testkit::Client::new(world.clients[101].config().clone());
            let mut out = Vec::new();
            late.dial(world.now, &mut out);
            late.handle(world.now, &padi.unwrap().frame.clone(), &mut out);
            let padr = out.pop().unwrap();
            world.run(secs(1));
            assert_eq!(world.open(), 100);
            // Full again, and a PADR with a good cookie from a line that has none, or no more, of these sessions.
            world.with(101, |client, _, _| client.vanish());
            let mark = world.wire.len();
            if limit == Limit::Mac {
                // Another Host-Uniq than any session has: nothing can be replaced.
                let mut other = world.clients[101].config().clone();
                other.host_uniq = vec![9; 4];
                let mut late = bng_testkit::Client::new(other);
                let mut out = Vec::new();
                late.dial(world.now, &mut out);
                let mut pado =
                    world.wire.iter().rfind(|s| s.from_ac && word(&s.frame) == "PADO").unwrap().frame.clone();
                let at = pado.windows(4).position(|part| part == [1, 3, 0, 8]).unwrap();
                pado[at + 4..at + 8].copy_from_slice(&[9; 4]);
                late.handle(world.now, &pado, &mut out);
                world.inject(PORT, &out.pop().unwrap());
            } else {
                // The line's own session gives way to its redial: that is no new one.
                world.inject(PORT, &padr);
                assert!(world.words_since(mark).contains(&"PADS".to_string()));
                continue;
            }
            let expected: &[&str] = if when_full == WhenFull::Error { &["PADS error"] } else { &[] };
            assert_eq!(world.words_since(mark), expected, "{limit:?}");
        }
    }
}

/// The PADR of a client that got its PADO while there was still room.
#[test]
fn p67_a_padr_with_an_older_cookie_when_full() {
    for when_full in [WhenFull::Silent, WhenFull::Error] {
        let mut config = config();
        config.limits.sessions_max = 1;
        config.limits.when_full = when_full;
        let mut world = World::new(config, 69);
        let first = world.add(no_redial(1));
        let late = world.add(no_redial(2));
        world.dial(late);
        world.dial(first);
        // Both PADIs are answered; the first one's PADR comes earlier because the late client's PADO is held up.
        let mut out = Vec::new();
        world.run(millis(1));
        let pado = world.wire.iter().find(|seen| seen.from_ac && seen.frame[5] == 2).unwrap().frame.clone();
        world.with(late, |client, now, _| {
            client.handle(now, &pado, &mut out);
            client.vanish();
        });
        world.run(secs(1));
        assert_eq!(world.clients[first].state(), ClientState::Open);
        let mark = world.wire.len();
        world.inject(PORT, &out[0]);
        let expected: &[&str] = if when_full == WhenFull::Error { &["PADS error"] } else { &[] };
        assert_eq!(world.words_since(mark), expected);
        assert_eq!(world.subscribers.statistics().dropped[Drop::SessionsMax as usize], 1);
        // One leaves: at once there is an offer again.
        world.with(first, |client, _, out| client.padt(out));
        world.run(millis(5));
        up(&mut world, late);
    }
}

#[test]
fn p68_a_stop_with_disconnect_tells_every_client() {
    let mut config = config();
    config.limits.shutdown_batch = 16;
    let mut world = World::new(config, 70);
    world.audit_every = 100;
    for n in 0..100 {
        world.add(no_redial(n));
    }
    world.dial_all();
    world.run(secs(1));
    assert_eq!(world.open(), 100);
    let mark = world.wire.len();
    world.input(Input::Shutdown);
    // A client that dials now gets nothing.
    let late = world.add(no_redial(200));
    world.dial(late);
    world.run(secs(1));
    assert!(world.subscribers.is_empty());
    let words = world.words_since(mark);
    assert_eq!(words.iter().filter(|word| *word == "PADT").count(), 100);
    assert!(!words.iter().any(|word| word == "PADO"));
    for client in 0..100 {
        assert!(world.clients[client].take_events().contains(&ClientEvent::Padt));
    }
    assert!(world.ended().iter().all(|(_, cause)| *cause == EndCause::AdminReboot));
    assert_eq!(EndCause::AdminReboot.acct_terminate_cause(), 7);
    assert_eq!(world.subscribers.statistics().dropped[Drop::Draining as usize], 1);
    assert!(world.subscribers.poll_timeout().is_none());
}

#[test]
fn p68_frames_on_forgotten_ids_are_answered_with_padt_within_a_rate() {
    let mut config = config();
    config.limits.unknown_padt_per_s = 10;
    config.restore_complete = false;
    let mut world = World::new(config, 71);
    let client = MacAddr([2, 0, 0, 0, 0, 1]);
    let echo = [9, 1, 0, 8, 0, 0, 0, 0];
    // Not before the sessions of the run before are back.
    world.inject(PORT, &ppp_frame(client, &[], 7, 0xc021, &echo));
    assert_eq!(world.words_since(0), [""; 0]);
    world.input(Input::RestoreComplete);
    for n in 0..50u16 {
        world.inject(PORT, &ppp_frame(client, &[], 7 + n, 0x0021, &[0x45; 20]));
    }
    assert_eq!(world.words_since(0), ["PADT"; 10]);
    let padt = &world.wire.iter().find(|seen| seen.from_ac).unwrap().frame;
    assert_eq!(padt[..6], client.0);
    assert_eq!(padt[16..18], 7u16.to_be_bytes());
    world.run(millis(500));
    let mark = world.wire.len();
    for _ in 0..50 {
        world.inject(PORT, &ppp_frame(client, &[], 7, 0xc021, &echo));
    }
    assert_eq!(world.words_since(mark), ["PADT"; 5]);
    assert_eq!(world.subscribers.statistics().padt_unknown_out, 15);
    assert_eq!(world.subscribers.statistics().dropped[Drop::UnknownSession as usize], 101);
    // Never for what is no session's id, nor for a frame that is not for us.
    world.run(secs(1));
    let mark = world.wire.len();
    world.inject(PORT, &ppp_frame(client, &[], 0, 0xc021, &echo));
    world.inject(PORT, &ppp_frame(client, &[], 0xffff, 0xc021, &echo));
    let mut astray = ppp_frame(client, &[], 7, 0xc021, &echo);
    astray[5] = 0xaa;
    world.inject(PORT, &astray);
    assert_eq!(world.words_since(mark), [""; 0]);
}

/// 100 clients whose concentrator was killed and started again without a store: all are back within 45 s.
#[test]
fn p68_all_are_back_after_a_crash() {
    let mut world = World::new(config(), 72);
    world.audit_every = 200;
    for n in 0..100 {
        let mut client = ClientConfig::numbered(n);
        client.behaviour.echo_interval = Some(secs(10));
        world.add(client);
    }
    world.dial_all();
    world.run(secs(20));
    assert_eq!(world.open(), 100);
    // Another one with the same clients still on their old ids.
    let mut after = World::new(config(), 73);
    after.audit_every = 200;
    std::mem::swap(&mut world.clients, &mut after.clients);
    after.adopt(&world);
    after.run(secs(45));
    assert_eq!(after.open(), 100);
    assert!(after.subscribers.statistics().padt_unknown_out >= 100);
}
