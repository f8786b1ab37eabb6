//! Which session gives way when a line dials again, and who decides about credentials from afar.

mod support;

use bng_subscriber::{
    AaaMethod, AaaVerdict, AuthFailure, Authorization, Drop, EndCause, Input, LockOutPolicy, SessionState,
};
use bng_testkit::{ClientConfig, ClientEvent, ClientState};
use std::net::Ipv4Addr;
use support::*;

/// A client number `n` behind one MAC address.
fn shared(n: u32) -> ClientConfig {
    let mut client = ClientConfig::numbered(n);
    client.mac = bng_wire::MacAddr([2, 0, 0, 0, 0, 1]);
    client.behaviour.redials = false;
    client
}

fn live_ids(world: &World) -> Vec<u16> {
    world
        .subscribers
        .sessions(world.now)
        .filter(|view| view.state != SessionState::Removing)
        .map(|view| view.session_id.0)
        .collect()
}

#[test]
fn another_circuit_id_is_another_line() {
    let mut world = World::new(config(), 1);
    for (n, circuit_id) in [(1, Some("dslam 1/1")), (2, Some("dslam 1/2")), (3, None)] {
        let mut client = shared(n);
        client.circuit_id = circuit_id.map(|id| id.as_bytes().to_vec());
        world.add(client);
    }
    for client in 0..3 {
        world.dial(client);
        world.run(secs(1));
    }
    assert_eq!(world.open(), 3, "none replaced another");
    // The second one redials: only its own old session goes.
    let old = world.clients[1].session_id();
    world.with(1, |client, _, _| client.vanish());
    world.dial(1);
    world.run(secs(1));
    assert_eq!(world.open(), 3);
    assert!(!live_ids(&world).contains(&old));
    let shown: Vec<_> = world.subscribers.sessions(world.now).filter_map(|view| view.circuit_id).collect();
    assert!(shown.contains(&Box::from(&b"dslam 1/1"[..])), "{shown:?}");
}

#[test]
fn with_several_sessions_a_line_replaces_the_one_with_the_same_host_uniq() {
    let mut config = config();
    config.profiles[0].pppoe.sessions_per_mac = 3;
    let mut world = World::new(config, 2);
    for n in 0..4 {
        let mut client = shared(n);
        client.fresh_host_uniq = false;
        world.add(client);
    }
    for client in 0..3 {
        world.dial(client);
        world.run(secs(1));
    }
    assert_eq!(world.open(), 3);
    // A fourth has nobody to replace.
    let mark = world.wire.len();
    world.dial(3);
    world.run(secs(1));
    assert_eq!(world.words_since(mark), [""; 0]);
    // The second comes back after a power cut.
    let old = world.clients[1].session_id();
    world.with(1, |client, _, _| client.vanish());
    world.dial(1);
    world.run(secs(1));
    assert_eq!(world.open(), 3);
    assert!(!live_ids(&world).contains(&old));
    assert_eq!(world.ended().len(), 1);
}

#[test]
fn with_several_sessions_a_line_replaces_the_oldest_that_does_not_answer_an_echo() {
    let mut config = config();
    config.profiles[0].pppoe.sessions_per_mac = 2;
    config.profiles[0].ppp.echo_interval = secs(10);
    config.profiles[0].ppp.echo_misses = 10;
    let mut world = World::new(config, 3);
    for n in 0..3 {
        world.add(shared(n));
    }
    world.dial(0);
    world.run(secs(1));
    world.dial(1);
    world.run(secs(1));
    let dead = world.clients[1].session_id();
    world.clients[1].config_mut().behaviour.answers_echoes = false;
    world.run(secs(14));
    world.dial(2);
    world.run(secs(1));
    assert_eq!(world.clients[0].state(), ClientState::Open);
    assert_eq!(world.clients[2].state(), ClientState::Open);
    assert!(!live_ids(&world).contains(&dead));
    assert_eq!(world.ended()[0].1, EndCause::Replaced);
}

/// A client without Host-Uniq whose cookie is the same within a second: its PADR after a reboot looks like a repetition.
#[test]
fn a_reboot_is_a_redial_even_if_its_padr_looks_the_same() {
    let mut world = World::new(config(), 4);
    let mut client = shared(1);
    client.host_uniq = Vec::new();
    let client = world.add(client);
    world.dial(client);
    world.run(millis(50));
    assert_eq!(world.clients[client].state(), ClientState::Open);
    let old = world.clients[client].session_id();
    world.with(client, |client, _, _| client.vanish());
    world.dial(client);
    world.run(millis(50));
    assert_eq!(world.clients[client].state(), ClientState::Open);
    assert_ne!(world.clients[client].session_id(), old);
    assert_eq!(world.subscribers.gauges().live, 1);
}

#[test]
fn an_id_rests_for_a_minute_and_never_serves_two() {
    let mut world = World::new(config(), 5);
    world.keep_wire = false;
    let client = world.add(shared(1));
    let mut last_seen = std::collections::HashMap::new();
    for _ in 0..300 {
        world.dial(client);
        world.run(millis(100));
        let id = world.clients[client].session_id();
        if let Some(before) = last_seen.insert(id, world.now) {
            assert!(world.now - before >= secs(60), "id {id} after {:?}", world.now - before);
        }
    }
}

#[test]
fn draining_keeps_what_is_there() {
    let mut world = World::new(config(), 6);
    world.add_numbered(2);
    world.dial(0);
    world.run(secs(1));
    world.input(Input::Drain(true));
    world.dial(1);
    world.run(secs(3));
    assert_eq!((world.clients[0].state(), world.clients[1].state()), (ClientState::Open, ClientState::Searching));
    world.input(Input::Drain(false));
    world.run(secs(10));
    assert_eq!(world.open(), 2);
    assert!(world.subscribers.statistics().dropped[Drop::Draining as usize] >= 1);
}

#[test]
fn a_line_that_fails_again_and_again_is_locked_out() {
    let mut config = config();
    config.limits.discovery.lock_out = Some(LockOutPolicy::default());
    let mut world = World::new(config, 7);
    let mut client = ClientConfig::numbered(1);
    client.password = "wrong".into();
    client.patience.redial = millis(100);
    let client = world.add(client);
    world.dial(client);
    world.run(secs(120));
    let statistics = world.subscribers.statistics();
    assert!(statistics.locked_out >= 2, "{}", statistics.locked_out);
    assert!(statistics.created < 40, "{}", statistics.created);
    // The right password is let in once the wait is over.
    world.clients[client].config_mut().password = "secret".into();
    world.run(secs(600));
    assert_eq!(world.clients[client].state(), ClientState::Open);
}

#[test]
fn credentials_checked_from_afar() {
    let mut config = config();
    config.profiles[0].aaa = AaaMethod::Remote;
    config.limits.aaa_timeout = secs(5);
    config.users.clear();
    let mut world = World::new(config, 8);
    world.add_numbered(4);
    for client in 0..4 {
        world.clients[client].config_mut().behaviour.redials = false;
    }
    world.aaa = Some(|name| match name {
        "user0@example.net" => Ok(Authorization::default()),
        "user1@example.net" => Ok(Authorization {
            ipv4: Some(Ipv4Addr::new(203, 0, 113, 77)),
            session_timeout: Some(secs(60)),
            message: b"welcome".to_vec(),
            ..Authorization::default()
        }),
        "user2@example.net" => Err(AuthFailure::Rejected),
        // An address that is the gateway's: never given.
        _ => Ok(Authorization { ipv4: Some(Ipv4Addr::new(192, 0, 2, 10)), ..Authorization::default() }),
    });
    world.dial_all();
    world.run(secs(2));
    assert!(world.clients[0].address().is_some());
    assert_eq!(world.clients[1].address(), Some(Ipv4Addr::new(203, 0, 113, 77)));
    assert!(world.clients[1].take_events().contains(&ClientEvent::LoggedIn("welcome".into())));
    assert_ne!(world.clients[2].state(), ClientState::Open);
    assert_eq!(world.clients[3].address(), Some(Ipv4Addr::new(192, 0, 2, 10)));
    world.run(secs(60));
    assert!(world.ended().iter().any(|(_, cause)| *cause == EndCause::SessionTimeout));

    // Nobody answers: refused in time. A late answer, and one to a request never made, change nothing.
    world.aaa = None;
    let late = world.add(ClientConfig::numbered(10));
    world.clients[late].config_mut().behaviour.redials = false;
    world.dial(late);
    world.run(secs(4));
    assert_eq!(world.clients[late].state(), ClientState::Authenticating);
    let request = *world.aaa_requests.last().unwrap();
    let mut wrong = request;
    wrong.transaction = wrong.transaction.wrapping_add(1);
    world.input(Input::AaaResult { request: wrong, verdict: AaaVerdict::Accept(Box::default()) });
    assert_eq!(world.clients[late].state(), ClientState::Authenticating);
    world.run(secs(3));
    let events = world.clients[late].take_events();
    assert!(events.contains(&ClientEvent::LoginFailed("authentication service unavailable".into())), "{events:?}");
    let live = world.subscribers.gauges().live;
    world.input(Input::AaaResult { request, verdict: AaaVerdict::Accept(Box::default()) });
    assert_eq!(world.subscribers.gauges().live, live);
    assert_eq!(world.subscribers.statistics().auth_refused[AuthFailure::Unreachable as usize], 1);
}

#[test]
fn a_session_that_cannot_be_installed_ends_and_leaves_nothing() {
    use bng_subscriber::Action;
    let mut world = World::new(config(), 9);
    let mut client = bng_testkit::Client::new(ClientConfig::numbered(1));
    let mut to_ac = Vec::new();
    client.dial(world.now, &mut to_ac);
    let port = bng_wire::PortIndex(0);
    let mut failed = None;
    while let Some(frame) = (!to_ac.is_empty()).then(|| to_ac.remove(0)) {
        let mut actions = Vec::new();
        world.subscribers.handle(world.now, Input::Frame { port, bytes: &frame }, &mut actions);
        for action in actions {
            match action {
                Action::Transmit { frame, .. } if failed.is_none() => client.handle(world.now, &frame, &mut to_ac),
                Action::Install { key, .. } => failed = Some(key),
                Action::Remove { .. } => panic!("what was never put in"),
                _ => {}
            }
        }
        if let Some(key) = failed {
            let mut actions = Vec::new();
            world.subscribers.handle(world.now, Input::InstallFailed { key }, &mut actions);
            assert!(actions.iter().any(|a| matches!(a, Action::Transmit { frame, .. } if word(frame) == "PADT")));
            break;
        }
    }
    assert!(failed.is_some() && world.subscribers.is_empty());
    world.subscribers.audit().unwrap();
}

#[test]
fn max_payload_and_mru() {
    let mut config = config();
    config.profiles[0].pppoe.service.max_payload = 1500;
    config.profiles[0].ppp.mru = 1500;
    let mut world = World::new(config, 10);
    let mut with_tag = ClientConfig::numbered(1);
    with_tag.max_payload = Some(1500);
    with_tag.mru = Some(1500);
    let mut without = ClientConfig::numbered(2);
    without.mru = Some(1500);
    let mut stacked = ClientConfig::numbered(3);
    stacked.vlans = vec![(0x88a8, 100), (0x8100, 5)];
    stacked.max_payload = Some(1500);
    stacked.mru = Some(1500);
    let mut small = ClientConfig::numbered(4);
    small.mru = Some(1400);
    let mut silent = ClientConfig::numbered(5);
    silent.mru = None;
    for client in [with_tag, without, stacked, small, silent] {
        world.add(client);
    }
    world.dial_all();
    world.run(secs(5));
    assert_eq!(world.open(), 5);
    let mut mtus: Vec<_> = world.plane.sessions.values().map(|spec| (spec.peer_mac.0[5], spec.mtu)).collect();
    mtus.sort_unstable();
    assert_eq!(mtus, [(1, 1500), (2, 1492), (3, 1496), (4, 1400), (5, 1492)]);
}
