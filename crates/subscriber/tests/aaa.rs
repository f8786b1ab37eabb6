//! What AAA gives a session beyond its profile, who is asked, and changes while it is up.

mod support;

use bng_subscriber::{
    AaaMethod, AaaVerdict, Action, AuthFailure, Authorization, Change, EndCause, Input, PolicerRate, SessionState,
};
use bng_testkit::{ClientConfig, ClientEvent, ClientState};
use core::net::Ipv4Addr;
use support::{World, config, secs};

const SLOW: PolicerRate = PolicerRate { bits_per_second: 2_000_000, burst_octets: 8000 };
const FAST: PolicerRate = PolicerRate { bits_per_second: 10_000_000_000, burst_octets: 65_536 };

fn world(method: AaaMethod) -> World {
    let mut config = config();
    config.profiles[0].aaa = method;
    config.limits.aaa_timeout = secs(5);
    World::new(config, 3)
}

fn one(world: &mut World, number: u32) -> usize {
    let client = world.add(ClientConfig::numbered(number));
    world.clients[client].config_mut().behaviour.redials = false;
    world.dial(client);
    client
}

#[test]
fn rates_and_name_servers_are_the_session_s_own_and_change_while_it_is_up() {
    let mut world = world(AaaMethod::Remote);
    world.aaa = Some(|_| {
        Ok(Authorization {
            rate_up: Some(SLOW),
            rate_down: Some(FAST),
            ipv4_dns: Some([Some(Ipv4Addr::new(203, 0, 113, 1)), None]),
            session_timeout: Some(secs(600)),
            ..Authorization::default()
        })
    });
    let client = one(&mut world, 1);
    world.run(secs(2));
    assert_eq!(world.clients[client].state(), ClientState::Open);
    let view = world.subscribers.sessions(world.now).next().unwrap();
    let spec = world.plane.sessions[&view.key];
    assert_eq!((spec.policer_up, spec.policer_down), (Some(SLOW), Some(FAST)));

    // The rate alone: Session-Timeout is as it was.
    let mut out = Vec::new();
    let change = Change { rate_up: Some(FAST), ..Change::default() };
    assert!(world.subscribers.change(world.now, view.key, &change, &mut out));
    let updated: Vec<_> = out
        .iter()
        .filter_map(|action| match action {
            Action::Update { spec, .. } => Some((spec.policer_up, spec.policer_down, spec.ipv4_up)),
            _ => None,
        })
        .collect();
    assert_eq!(updated, [(Some(FAST), Some(FAST), true)]);
    let after = world.subscribers.session(world.now, view.key).unwrap();
    assert_eq!(after.ends_at, view.ends_at);

    // A timeout counts from when the client was let in.
    let change = Change { session_timeout: Some(secs(60)), ..Change::default() };
    assert!(world.subscribers.change(world.now, view.key, &change, &mut Vec::new()));
    world.run(secs(57));
    assert_eq!(world.clients[client].state(), ClientState::Open);
    world.run(secs(4));
    assert_eq!(world.ended().last().map(|(_, cause)| *cause), Some(EndCause::SessionTimeout));
    assert!(!world.subscribers.change(world.now, view.key, &change, &mut Vec::new()));
    world.subscribers.audit().unwrap();
}

#[test]
fn a_session_that_sends_nothing_ends_by_its_idle_timeout() {
    let mut world = world(AaaMethod::Remote);
    world.aaa = Some(|_| Ok(Authorization { idle_timeout: Some(secs(90)), ..Authorization::default() }));
    one(&mut world, 1);
    world.run(secs(85));
    assert!(world.ended().is_empty());
    world.run(secs(10));
    assert_eq!(world.ended().last().map(|(_, cause)| *cause), Some(EndCause::IdleTimeout));
}

#[test]
fn the_local_list_decides_when_the_owner_cannot() {
    let mut world = world(AaaMethod::RemoteThenLocal);
    // Unreachable, said so: the list knows user 1.
    world.aaa = Some(|_| Err(AuthFailure::Unreachable));
    let client = one(&mut world, 1);
    world.run(secs(2));
    assert_eq!(world.clients[client].state(), ClientState::Open);
    // Rejected: the list is not asked.
    world.aaa = Some(|_| Err(AuthFailure::Rejected));
    let rejected = one(&mut world, 2);
    world.run(secs(2));
    assert_ne!(world.clients[rejected].state(), ClientState::Open);
    // No answer in time: as unreachable.
    world.aaa = None;
    let silent = one(&mut world, 3);
    world.run(secs(4));
    assert_eq!(world.clients[silent].state(), ClientState::Authenticating);
    world.run(secs(3));
    assert_eq!(world.clients[silent].state(), ClientState::Open);
    world.subscribers.audit().unwrap();
}

#[test]
fn the_owner_decides_about_names_that_are_not_in_the_list() {
    let mut config = config();
    config.profiles[0].aaa = AaaMethod::LocalThenRemote;
    config.users.retain(|user| user.name != "user2@example.net");
    let mut world = World::new(config, 4);
    let known = one(&mut world, 1);
    world.run(secs(2));
    assert_eq!(world.clients[known].state(), ClientState::Open);
    assert!(world.aaa_requests.is_empty());
    let stranger = one(&mut world, 2);
    world.run(secs(1));
    let request = *world.aaa_requests.last().unwrap();
    assert_eq!(world.subscribers.sessions(world.now).last().unwrap().state, SessionState::Authenticating);
    let verdict = AaaVerdict::Reject { failure: AuthFailure::Rejected, message: b"pay your bill".to_vec() };
    world.input(Input::AaaResult { request, verdict });
    world.run(secs(1));
    let events = world.clients[stranger].take_events();
    assert!(events.contains(&ClientEvent::LoginFailed("pay your bill".into())), "{events:?}");
}
