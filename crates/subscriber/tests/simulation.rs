//! Many clients of all kinds on bad lines, under a virtual clock. A seed that fails is repeated by
//! `SEED=n cargo test -p bng-subscriber --test simulation`.

mod support;

use bng_subscriber::{DuplicateUser, EndCause, Input};
use bng_testkit::sim::{Chance, LineQuality};
use bng_testkit::{ClientConfig, ClientState, Login};
use bng_wire::{MacAddr, PortIndex};
use std::collections::HashSet;
use std::net::Ipv4Addr;
use support::*;

/// The address that some clients have in common.
const SHARED: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

/// A client of a kind that chance picks.
fn some_client(n: u32, chance: &mut Chance) -> (PortIndex, ClientConfig) {
    let mut client = ClientConfig::numbered(n);
    let port = PortIndex(chance.below(2) as u8);
    match chance.below(4) {
        0 => client.vlans = vec![(0x8100, 100 + chance.below(4) as u16)],
        1 => client.vlans = vec![(0x88a8, 100 + chance.below(4) as u16), (0x8100, 1 + chance.below(4) as u16)],
        2 => client.vlans = vec![(0x8100, 0xa000)],
        _ => {}
    }
    if chance.happens(100) {
        client.mac = SHARED;
    }
    if chance.happens(300) {
        client.circuit_id = Some(format!("node 1/{}", chance.below(10)).into_bytes());
    }
    client.login = [Login::Any, Login::PapOnly, Login::ChapOnly][chance.below(3) as usize];
    client.fresh_host_uniq = chance.happens(700);
    if chance.happens(100) {
        client.host_uniq = Vec::new();
    }
    client.mru = [None, Some(1492), Some(1500), Some(576)][chance.below(4) as usize];
    let behaviour = &mut client.behaviour;
    behaviour.eager = chance.happens(700);
    behaviour.data_at_once = chance.happens(500).then_some(SERVER);
    behaviour.repeats_padr = chance.happens(200);
    behaviour.tries_ipv6 = chance.happens(200);
    behaviour.echo_interval = chance.happens(300).then_some(secs(10));
    match chance.below(20) {
        0 => behaviour.mute = true,
        1 => behaviour.nak_loop = true,
        2 => client.password = "wrong".into(),
        3 => client.user = "nobody".into(),
        4 => behaviour.insists_on = Some(Ipv4Addr::new(192, 0, 2, 1)),
        5 => behaviour.answers_echoes = false,
        6 => client.user = "user0@example.net".into(),
        _ => {}
    }
    (port, client)
}

fn run(seed: u64, clients: u32, minutes: u64, audit_every: u64) -> (u64, u64) {
    let mut chance = Chance::new(seed);
    let mut config = config();
    config.profiles[0].duplicate_user =
        [DuplicateUser::Allow, DuplicateUser::Replace, DuplicateUser::Deny][chance.below(3) as usize];
    config.profiles[0].pppoe.sessions_per_mac = 1 + chance.below(3) as u16;
    config.profiles[0].ppp.ipv6 = chance.happens(500);
    config.users[0].ipv4 = Some(Ipv4Addr::new(192, 0, 2, 200));
    config.users[7].ipv4 = Some(Ipv4Addr::new(203, 0, 113, 200));
    let crowded = chance.happens(200);
    if crowded {
        config.limits.sessions_max = clients / 2 + 1;
    }
    let mut world = World::new(config, seed);
    world.keep_wire = false;
    world.audit_every = audit_every;
    world.grace = millis(chance.below(300));
    world.quality = LineQuality {
        loss: chance.below(100),
        duplication: chance.below(50),
        reorder: chance.below(200),
        delay: millis(1 + chance.below(10)),
    };
    for n in 0..clients {
        let (port, client) = some_client(n, &mut chance);
        world.add_on(port, client);
    }
    world.dial_all();
    for _ in 0..minutes * 12 {
        world.run(secs(5));
        // A few of them do something of their own accord, and somebody on the line makes noise.
        for _ in 0..1 + clients / 20 {
            let client = chance.below(u64::from(clients)) as usize;
            match chance.below(6) {
                0 => world.with(client, |client, _, out| client.hang_up(out)),
                1 => world.with(client, |client, _, out| client.padt(out)),
                2 => world.with(client, |client, _, _| client.vanish()),
                3 => world.dial(client),
                4 => {
                    world.with(client, |client, _, out| {
                        client.send_data(SERVER, b"data", out);
                    });
                }
                _ => {
                    let key = world.subscribers.sessions(world.now).nth(client).map(|view| view.key);
                    if let Some(key) = key {
                        world.input(Input::Clear { key, cause: EndCause::AdminReset });
                    }
                }
            }
        }
        let mut noise = vec![0u8; chance.below(80) as usize];
        chance.fill(&mut noise);
        if noise.len() > 30 && chance.happens(800) {
            noise[..6].copy_from_slice(&AC.0);
            noise[6] &= 0xfe;
            let code = [0x09, 0x19, 0xa7, 0][chance.below(4) as usize];
            noise[12..16].copy_from_slice(&[0x88, 0x63 + chance.below(2) as u8, 0x11, code]);
            noise[18] = 0;
        }
        world.inject(PortIndex(0), &noise);
    }
    // The lines get good again: every client that does nothing odd comes up.
    world.quality = LineQuality::PERFECT;
    for client in 0..clients as usize {
        if world.clients[client].config().behaviour.nak_loop {
            // At the speed of a good line it would do nothing else.
            world.with(client, |client, _, _| client.vanish());
        } else if world.clients[client].state() == ClientState::Idle {
            world.dial(client);
        }
    }
    world.run(secs(200));
    if !crowded {
        for (client, state) in world.clients.iter().map(|client| (client.config(), client.state())) {
            let plain = ClientConfig::numbered(0).behaviour;
            let odd = client.behaviour.mute
                || client.behaviour.nak_loop
                || client.behaviour.insists_on.is_some()
                || client.behaviour.answers_echoes != plain.answers_echoes
                || client.password != "secret"
                || client.user == "nobody"
                // May be fought over by two clients.
                || client.user == "user0@example.net"
                || client.mac == SHARED;
            assert!(odd || state == ClientState::Open, "seed {seed}: {state:?} {client:?}");
        }
    }
    let opened: u64 = world.subscribers.statistics().came_up;
    // No address has two owners, as the clients see it, each with the session that the concentrator also has.
    let mut owners = HashSet::new();
    for view in world.subscribers.sessions(world.now).filter(|view| view.ipv4_up) {
        assert!(owners.insert(view.ipv4.unwrap()), "seed {seed}");
    }
    // All fall silent: in the end nothing is left, and nothing was lost on the way.
    for client in 0..clients as usize {
        world.with(client, |client, _, _| client.vanish());
    }
    world.run(secs(400));
    world.subscribers.audit().unwrap();
    assert!(world.subscribers.is_empty(), "seed {seed}: {:?}", world.subscribers.gauges());
    assert_eq!(world.subscribers.pools()[0].usage.held, 0, "seed {seed}");
    assert_eq!(world.subscribers.gauges().timers, 0, "seed {seed}");
    assert!(world.plane.sessions.is_empty() && world.plane.addresses.is_empty() && world.plane.routes.is_empty());
    let statistics = world.subscribers.statistics();
    assert_eq!(statistics.created, statistics.ended.iter().sum::<u64>(), "seed {seed}");
    let word = |what: &str| world.events.iter().filter(|(_, event)| event.what.label() == what).count();
    assert_eq!(word("created"), word("ended"), "seed {seed}");
    assert_eq!(word("created"), word("final"), "seed {seed}");
    if std::env::var_os("SEED").is_some() {
        statistics.visit(&mut |name, label, value| println!("{name} {label} {value}"));
    }
    (statistics.created - statistics.ended[EndCause::AuthFailed as usize], opened)
}

#[test]
fn every_session_opens_or_goes_and_nothing_leaks() {
    let only = std::env::var("SEED").ok().map(|seed| seed.parse::<u64>().expect("SEED is a number"));
    let seeds = only.map_or(0..200, |seed| seed..seed + 1);
    let mut created = 0;
    let mut opened = 0;
    for seed in seeds {
        let (c, o) = run(seed, 30, 3, 7);
        created += c;
        opened += o;
    }
    // The simulation is worth something only if most of it gets somewhere.
    assert!(only.is_some() || opened * 2 > created, "{opened} of {created} came up");
    println!("{created} sessions whose login was right, {opened} came up");
}

#[test]
fn a_town_on_good_lines_is_up_within_seconds() {
    let mut config = config();
    config.pools[0].kind = bng_subscriber::PoolKind::Ipv4(
        bng_pool::Ipv4PoolConfig::prefix(Ipv4Addr::new(100, 64, 0, 0), 16, Some(Ipv4Addr::new(100, 64, 0, 1))).unwrap(),
    );
    config.users =
        (0..3000).map(|n| bng_subscriber::LocalUser::new(&format!("user{n}@example.net"), "secret")).collect();
    let mut world = World::new(config, 1);
    world.keep_wire = false;
    world.audit_every = 20_000;
    for n in 0..3000 {
        let mut client = ClientConfig::numbered(n);
        client.vlans = vec![(0x88a8, 100 + (n % 50) as u16), (0x8100, 1 + (n / 50) as u16)];
        world.add(client);
    }
    world.dial_all();
    world.run(secs(2));
    assert_eq!(world.open(), 3000);
    let addresses: HashSet<_> = world.clients.iter().map(|client| client.address()).collect();
    assert_eq!(addresses.len(), 3000);
}
