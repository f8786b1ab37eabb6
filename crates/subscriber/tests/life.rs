//! One or a few clients from their PADI to their end.

mod support;

use bng_subscriber::{EndCause, EventKind, Input, LocalUser, SessionState};
use bng_testkit::{ClientConfig, ClientEvent, ClientState, Login};
use bng_wire::PortIndex;
use std::net::Ipv4Addr;
use support::*;

#[test]
fn a_client_comes_up_is_shown_and_hangs_up() {
    let mut world = World::new(config(), 1);
    let client = world.add(ClientConfig::numbered(1));
    world.dial(client);
    world.run(secs(1));
    assert_eq!(world.clients[client].state(), ClientState::Open);
    let address = world.clients[client].address().unwrap();
    assert_eq!(world.clients[client].dns(), [Some([203, 0, 113, 53].into()), Some([203, 0, 113, 54].into())]);
    let views: Vec<_> = world.subscribers.sessions(world.now).collect();
    assert_eq!(views.len(), 1);
    let view = &views[0];
    assert_eq!(view.state, SessionState::Up);
    assert_eq!(view.user.as_deref(), Some(&b"user1@example.net"[..]));
    assert_eq!(view.ipv4, Some(address));
    assert_eq!(view.peer_mac, world.clients[client].config().mac);
    assert_eq!(view.session_id.0, world.clients[client].session_id());
    assert_eq!((view.peer_mru, view.local_mru), (1492, 1492));
    assert!(view.uptime.is_some() && view.index.is_some());
    let words: Vec<_> = view.events.iter().map(|(_, word)| *word).collect();
    assert_eq!(words, ["created", "link_up", "authenticated", "ipv4_up"]);
    let key = view.key;
    assert!(world.plane.addresses.values().any(|owner| *owner == key));

    world.with(client, |client, _, out| client.hang_up(out));
    world.run(secs(10));
    assert!(world.subscribers.is_empty());
    assert_eq!(
        world.story(key),
        ["created", "link_up", "authenticated", "ipv4_up", "ipv4_down", "link_down", "ended", "final"]
    );
    let gauges = world.subscribers.gauges();
    assert_eq!((gauges.live, gauges.up, gauges.half_open, gauges.timers), (0, 0, 0, 0));
    assert_eq!(world.subscribers.pools()[0].usage.held, 0);
}

/// The client's first LCP request comes in the same instant as the PADS, its first IPCP request right behind the
/// success of its login, its data right behind IPCP's last Ack: nothing is lost, nothing waits for a retransmission.
#[test]
fn nothing_is_lost_of_a_client_that_fires_with_no_delay() {
    for login in [Login::PapOnly, Login::ChapOnly, Login::Any] {
        for seed in 0..50 {
            let mut world = World::new(config(), seed);
            world.quality.delay = std::time::Duration::ZERO;
            let mut client = ClientConfig::numbered(1);
            client.login = login;
            client.behaviour.data_at_once = Some(SERVER);
            let client = world.add(client);
            world.dial(client);
            world.run(std::time::Duration::ZERO);
            // Not a microsecond has passed, so no timer can have helped.
            assert_eq!(world.clients[client].state(), ClientState::Open);
            assert_eq!(world.fates.len(), 1);
            assert!(matches!(&world.fates[0].1, Fate::Forwarded(_, datagram) if datagram.payload == b"first"));
            assert_eq!(world.subscribers.statistics().dropped.iter().sum::<u64>(), 0);
            assert_eq!(world.subscribers.statistics().ppp_discarded.iter().sum::<u64>(), 0);
        }
    }
}

#[test]
fn install_stands_before_pads_and_update_before_the_ack() {
    use bng_subscriber::Action;
    let mut world = World::new(config(), 3);
    let client = world.add(ClientConfig::numbered(1));
    // Every batch of actions is looked at by a plane of its own.
    world.dial(client);
    world.run(secs(1));
    let acks: Vec<_> =
        world.wire.iter().filter(|seen| seen.from_ac && word(&seen.frame) == "IPCP 2").map(|seen| seen.at).collect();
    assert!(!acks.is_empty());
    // The order itself, on the raw actions of a second client.
    let mut order = Vec::new();
    let mut second = bng_testkit::Client::new(ClientConfig::numbered(2));
    let mut to_ac = Vec::new();
    second.dial(world.now, &mut to_ac);
    let mut index = 5000;
    while let Some(frame) = (!to_ac.is_empty()).then(|| to_ac.remove(0)) {
        let mut actions = Vec::new();
        let port = bng_wire::PortIndex(0);
        world.subscribers.handle(world.now, Input::Frame { port, bytes: &frame }, &mut actions);
        for action in actions {
            match action {
                Action::Transmit { frame, .. } => {
                    order.push(word(&frame));
                    second.handle(world.now, &frame, &mut to_ac);
                }
                Action::Install { key, .. } => {
                    order.push("install".into());
                    let session = bng_session::SessionIndex(index);
                    index += 1;
                    world.subscribers.handle(world.now, Input::Installed { key, index: session }, &mut Vec::new());
                }
                Action::Update { spec, .. } => order.push(format!("update {}", spec.ipv4_up)),
                Action::MapAddress { .. } => order.push("map".into()),
                _ => {}
            }
        }
    }
    assert_eq!(second.state(), ClientState::Open);
    let at = |word: &str| order.iter().position(|found| found == word).unwrap_or_else(|| panic!("{word}: {order:?}"));
    assert!(at("install") < at("PADS") && at("PADS") < at("LCP 1"), "{order:?}");
    assert!(at("update true") < at("map") && at("map") < at("IPCP 2"), "{order:?}");
}

#[test]
fn a_repeated_padr_gets_the_same_session() {
    let mut world = World::new(config(), 4);
    let mut client = ClientConfig::numbered(1);
    client.behaviour.repeats_padr = true;
    let client = world.add(client);
    world.dial(client);
    world.run(secs(2));
    assert_eq!(world.clients[client].state(), ClientState::Open);
    let statistics = world.subscribers.statistics();
    assert_eq!((statistics.created, statistics.pads_out, statistics.pads_repeated), (1, 2, 1));
    assert_eq!(world.subscribers.gauges().live, 1);
    // The same PADR again, long after: still the same session, which goes on.
    let padr = world.wire.iter().rfind(|seen| !seen.from_ac && seen.frame[15] == 0x19).unwrap().frame.clone();
    let mark = world.wire.len();
    world.inject(bng_wire::PortIndex(0), &padr);
    assert_eq!(world.words_since(mark), ["PADS"]);
    assert_eq!(world.subscribers.gauges().live, 1);
    assert_eq!(world.subscribers.statistics().redialled, 0);
}

#[test]
fn a_wrong_password_is_said_once_and_costs_nothing() {
    let mut world = World::new(config(), 5);
    let mut client = ClientConfig::numbered(1);
    client.password = "wrong".into();
    client.behaviour.redials = false;
    let client = world.add(client);
    world.dial(client);
    world.run(secs(30));
    let events = world.clients[client].take_events();
    assert!(events.contains(&ClientEvent::LoginFailed("authentication failed: wrong name or password".into())));
    assert!(world.subscribers.is_empty());
    assert_eq!(world.ended().last().unwrap().1, EndCause::AuthFailed);
    assert_eq!(world.subscribers.statistics().auth_accepted, 0);
    assert_eq!(world.subscribers.pools()[0].usage.peak, 0);
}

/// P46: failure, Terminate-Request, PADT, never in another order.
#[test]
fn p46_failure_then_terminate_then_padt() {
    for login in [Login::PapOnly, Login::ChapOnly] {
        for seed in 0..100 {
            let mut world = World::new(config(), seed);
            world.audit_every = 16;
            let mut client = ClientConfig::numbered(1);
            client.password = "wrong".into();
            client.login = login;
            client.behaviour.redials = false;
            // Sometimes the client never answers the Terminate-Request: then the PADT waits for the restart time.
            let deaf = seed % 2 == 1;
            let client = world.add(client);
            world.dial(client);
            if deaf {
                while world.clients[client].take_events().iter().all(|e| !matches!(e, ClientEvent::LoginFailed(_))) {
                    world.run(std::time::Duration::from_micros(200));
                }
                world.with(client, |client, _, _| client.vanish());
            }
            world.run(secs(30));
            let words = world.words_since(0);
            let failure = if login == Login::PapOnly { "PAP 3" } else { "CHAP 4" };
            let first = |what: &str| words.iter().position(|word| word == what).unwrap();
            let last = |what: &str| words.iter().rposition(|word| word == what).unwrap();
            assert!(last(failure) < first("LCP 5"), "{words:?}");
            assert!(last("LCP 5") < first("PADT"), "{words:?}");
            assert_eq!(first("PADT"), words.len() - 1, "nothing follows the PADT: {words:?}");
            assert_eq!(world.subscribers.statistics().auth_refused.iter().sum::<u64>(), 1);
        }
    }
}

#[test]
fn an_operator_clears_a_session_in_order() {
    let mut world = World::new(config(), 6);
    let mut client = ClientConfig::numbered(1);
    client.behaviour.redials = false;
    let client = world.add(client);
    world.dial(client);
    world.run(secs(1));
    let key = world.subscribers.sessions(world.now).next().unwrap().key;
    let mark = world.wire.len();
    world.input(Input::Clear { key, cause: EndCause::AdminReset });
    world.run(secs(1));
    assert_eq!(world.words_since(mark), ["LCP 5", "PADT"]);
    assert_eq!(world.ended(), [(key, EndCause::AdminReset)]);
    assert!(world.subscribers.is_empty());
    // The key opens nothing any more.
    world.input(Input::Clear { key, cause: EndCause::AdminReset });
    assert!(world.subscribers.session(world.now, key).is_none());
}

#[test]
fn a_session_timeout_ends_the_session() {
    let mut config = config();
    config.users[1].session_timeout = Some(secs(100));
    let mut world = World::new(config, 7);
    let mut client = ClientConfig::numbered(1);
    client.behaviour.redials = false;
    let client = world.add(client);
    world.dial(client);
    world.run(secs(99));
    assert_eq!(world.clients[client].state(), ClientState::Open);
    world.run(secs(2));
    assert_eq!(world.ended().last().map(|(_, cause)| *cause), Some(EndCause::SessionTimeout));
    assert!(world.subscribers.is_empty());
}

#[test]
fn a_mute_client_and_one_that_never_agrees_do_not_stay() {
    for nak_loop in [false, true] {
        let mut world = World::new(config(), 8);
        world.audit_every = 16;
        let mut client = ClientConfig::numbered(1);
        client.behaviour.mute = !nak_loop;
        client.behaviour.nak_loop = nak_loop;
        client.behaviour.redials = false;
        let client = world.add(client);
        world.dial(client);
        world.run(secs(150));
        assert!(world.subscribers.is_empty(), "nak_loop {nak_loop}");
        assert_eq!(world.subscribers.gauges().half_open, 0);
    }
}

#[test]
fn a_static_address_in_and_outside_of_a_pool() {
    let mut config = config();
    let inside = Ipv4Addr::new(192, 0, 2, 77);
    let outside = Ipv4Addr::new(203, 0, 113, 200);
    config.users[1].ipv4 = Some(inside);
    config.users[2].ipv4 = Some(outside);
    let mut world = World::new(config, 9);
    world.add_numbered(3);
    world.dial_all();
    world.run(secs(1));
    assert_eq!(world.clients[1].address(), Some(inside));
    assert_eq!(world.clients[2].address(), Some(outside));
    assert_eq!(world.plane.routes.len(), 1);
    let usage = world.subscribers.pools()[0].usage;
    assert_eq!((usage.held, usage.reserved), (2, 0));
    for client in 0..3 {
        world.with(client, |client, _, out| client.hang_up(out));
    }
    world.run(secs(1));
    assert!(world.plane.routes.is_empty() && world.plane.addresses.is_empty());
    let usage = world.subscribers.pools()[0].usage;
    assert_eq!((usage.held, usage.reserved), (0, 1));
}

/// A user with an address of his own dials from a new router while the old session still stands: the address moves as
/// soon as the forwarding plane has let go of it, and never has two owners.
#[test]
fn a_static_address_moves_to_the_newer_session_of_its_user() {
    let mut config = config();
    let address = Ipv4Addr::new(192, 0, 2, 77);
    config.users[1].ipv4 = Some(address);
    let mut world = World::new(config, 10);
    world.grace = millis(50);
    let old = world.add(ClientConfig::numbered(1));
    let mut other = ClientConfig::numbered(2);
    other.user = "user1@example.net".into();
    let new = world.add(other);
    world.clients[old].config_mut().behaviour.redials = false;
    world.dial(old);
    world.run(secs(1));
    assert_eq!(world.clients[old].address(), Some(address));
    world.dial(new);
    world.run(secs(2));
    assert_eq!(world.clients[new].address(), Some(address));
    assert_eq!(world.clients[old].state(), ClientState::Idle);
    assert_eq!(world.ended().iter().map(|(_, cause)| *cause).collect::<Vec<_>>(), [EndCause::Replaced]);
}

#[test]
fn rejected_by_the_list_for_every_reason() {
    let mut config = config();
    config.users[3].disabled = true;
    config.users.push(LocalUser::new("long", &"p".repeat(200)));
    let mut world = World::new(config, 11);
    world.add_numbered(4);
    world.clients[1].config_mut().user = "nobody@example.net".into();
    let long = world.add(ClientConfig::numbered(5));
    world.clients[long].config_mut().user = "long".into();
    world.clients[long].config_mut().password = "p".repeat(200);
    for client in 0..5 {
        world.clients[client].config_mut().behaviour.redials = false;
    }
    world.dial_all();
    world.run(secs(30));
    assert_eq!(world.clients[1].state(), ClientState::Idle);
    assert_eq!(world.clients[3].state(), ClientState::Idle);
    assert_eq!(world.clients[long].state(), ClientState::Open);
    let failures: Vec<_> = world
        .events
        .iter()
        .filter_map(|(_, event)| match event.what {
            EventKind::AuthFailed { failure } => Some(failure.label()),
            _ => None,
        })
        .collect();
    assert_eq!(failures, ["unknown_user", "disabled"]);
}

/// The workers answer echoes with the magic number that the link has now, and with none while it negotiates.
#[test]
fn the_forwarding_plane_knows_the_magic_number_while_the_link_is_up() {
    let mut world = World::new(config(), 21);
    let client = world.add(ClientConfig::numbered(1));
    world.dial(client);
    world.run(secs(1));
    let spec = *world.plane.sessions.values().next().unwrap();
    let request = |seen: &&Seen| seen.from_ac && word(&seen.frame) == "LCP 1";
    let magic = |frame: &[u8]| {
        let (_, _, _, payload) = session_stage(frame).unwrap();
        let at = payload.windows(2).position(|option| option == [5, 6]).unwrap();
        u32::from_be_bytes(payload[at + 2..at + 6].try_into().unwrap())
    };
    let first = magic(&world.wire.iter().rfind(request).unwrap().frame);
    assert_eq!(spec.echo_magic, Some(first));
    assert_eq!((spec.policer_up, spec.policer_down, spec.priority_map), (None, None, 0));
    // The client negotiates anew: a new number, and none in between.
    let id = spec.session_id.0;
    world.arrive(PortIndex(0), &ppp_frame(spec.peer_mac, &[], id, 0xc021, &[1, 77, 0, 4]));
    assert_eq!(world.plane.sessions.values().next().unwrap().echo_magic, None);
    let second = magic(&world.wire.iter().rfind(request).unwrap().frame);
    assert_ne!(first, second);
    let mut ack = session_stage(&world.wire.iter().rfind(request).unwrap().frame).unwrap().3.to_vec();
    ack[0] = 2;
    world.arrive(PortIndex(0), &ppp_frame(spec.peer_mac, &[], id, 0xc021, &ack));
    assert_eq!(world.plane.sessions.values().next().unwrap().echo_magic, Some(second));
}

#[test]
fn rates_and_priorities_of_the_profile_are_the_session_s() {
    let mut config = config();
    let rate = |kbps: u64| Some(bng_session::Rate { bits_per_second: kbps * 1000, burst_octets: 20_000 });
    config.profiles[0].rate_up = rate(10_000);
    config.profiles[0].rate_down = rate(50_000);
    config.profiles[0].priority_map = 3;
    let mut world = World::new(config, 22);
    let client = world.add(ClientConfig::numbered(1));
    world.dial(client);
    world.run(secs(1));
    let spec = world.plane.sessions.values().next().unwrap();
    assert_eq!((spec.policer_up, spec.policer_down, spec.priority_map), (rate(10_000), rate(50_000), 3));
}

/// A client whose echoes the workers answer is alive, though it answers none of ours; but it uses nothing.
#[test]
fn echoes_answered_by_the_workers_are_signs_of_life_and_not_of_use() {
    for idle_timeout in [None, Some(secs(200))] {
        let mut config = config();
        config.profiles[0].aaa = bng_subscriber::AaaMethod::Remote;
        config.profiles[0].ppp.echo_interval = secs(10);
        let mut world = World::new(config, 23);
        world.aaa = Some(match idle_timeout {
            None => |_| Ok(bng_subscriber::Authorization::default()),
            Some(_) => |_| {
                let idle_timeout = Some(secs(200));
                Ok(bng_subscriber::Authorization { idle_timeout, ..Default::default() })
            },
        });
        let mut client = ClientConfig::numbered(1);
        client.behaviour.answers_echoes = false;
        client.behaviour.redials = false;
        let client = world.add(client);
        world.dial(client);
        for _ in 0..60 {
            world.run(secs(5));
            for count in world.plane.sessions.keys().map(|key| key.slot).collect::<Vec<_>>() {
                *world.plane.client_echoes.lock().unwrap().entry(count).or_default() += 1;
            }
        }
        let ends: Vec<_> = world.ended().into_iter().map(|(_, cause)| cause).collect();
        assert_eq!(ends, idle_timeout.map(|_| EndCause::IdleTimeout).into_iter().collect::<Vec<_>>());
    }
}
