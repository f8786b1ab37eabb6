//! What happens at the limits that need many sessions.

mod support;

use bng_subscriber::{Drop, RateLimits};
use bng_testkit::ClientConfig;
use bng_wire::PortIndex;
use support::*;

#[test]
fn half_open_sessions_of_a_port_are_bounded() {
    let mut config = config();
    config.limits.half_open_per_port_max = 5;
    let mut world = World::new(config, 1);
    for n in 0..10 {
        let mut client = ClientConfig::numbered(n);
        client.behaviour.mute = true;
        client.behaviour.redials = false;
        world.add(client);
    }
    world.dial_all();
    // Another port is not concerned.
    let elsewhere = world.add_on(PortIndex(1), ClientConfig::numbered(20));
    world.dial(elsewhere);
    world.run(secs(1));
    assert_eq!(world.subscribers.gauges().half_open, 5);
    assert_eq!(world.clients[elsewhere].state(), bng_testkit::ClientState::Open);
    assert_eq!(world.subscribers.statistics().gave_way, 5);
    // An honest client comes in at once: the oldest mute one gives way.
    let honest = world.add(ClientConfig::numbered(30));
    world.dial(honest);
    world.run(secs(1));
    assert_eq!(world.clients[honest].state(), bng_testkit::ClientState::Open);
    assert_eq!(world.subscribers.statistics().gave_way, 6);
    assert_eq!(world.subscribers.statistics().dropped[Drop::HalfOpen as usize], 0);
    for client in 0..10 {
        world.with(client, |client, _, _| client.vanish());
    }
    world.run(secs(120));
    assert_eq!(world.subscribers.gauges().half_open, 0);
    assert_eq!(world.clients[honest].state(), bng_testkit::ClientState::Open);
}

/// A flood of forged PADRs at the limit, one after the other, and clients that dial in meanwhile: all come up.
#[test]
fn forged_sessions_keep_nobody_out() {
    let mut config = config();
    config.limits.half_open_per_port_max = 50;
    config.limits.discovery.padi_rates = RateLimits::NONE;
    config.limits.discovery.padr_rates = RateLimits::NONE;
    let mut world = World::new(config, 3);
    world.audit_every = 100;
    for n in 0..2000u32 {
        let mut client = ClientConfig::numbered(1000 + n);
        client.behaviour.mute = true;
        client.behaviour.redials = false;
        let client = world.add(client);
        world.dial(client);
        if n % 100 == 50 {
            let honest = world.add(ClientConfig::numbered(n / 100));
            world.dial(honest);
        }
        // 500 forged sessions a second.
        world.run(millis(2));
    }
    world.run(secs(1));
    let gauges = world.subscribers.gauges();
    assert_eq!((gauges.up, gauges.half_open), (20, 50));
    world.subscribers.audit().unwrap();
}

#[test]
fn the_sessions_of_a_double_tagged_line_are_bounded_whatever_their_addresses() {
    let mut config = config();
    config.limits.sessions_per_line_max = 3;
    let mut world = World::new(config, 4);
    let mut add = |n: u32, inner: u16| {
        let mut client = ClientConfig::numbered(n);
        client.vlans = vec![(0x88a8, 100), (0x8100, inner)];
        client.behaviour.redials = false;
        let client = world.add(client);
        world.dial(client);
    };
    for n in 0..6 {
        add(n, 7);
    }
    add(6, 8);
    world.run(secs(1));
    assert_eq!(world.subscribers.gauges().up, 4);
    assert!(world.subscribers.statistics().dropped[Drop::SessionsPerLine as usize] >= 3);
    // One that leaves makes room.
    let up = (0..6).find(|n| world.clients[*n].state() == bng_testkit::ClientState::Open).unwrap();
    world.with(up, |client, _, out| client.hang_up(out));
    world.run(secs(1));
    let waiting = (0..6).rfind(|n| world.clients[*n].state() != bng_testkit::ClientState::Open).unwrap();
    world.dial(waiting);
    world.run(secs(1));
    assert_eq!(world.subscribers.gauges().up, 4);
}

/// RFC 2516 gives 65,534 ids; they are counted by (port, outer VLAN), so that a port has room for more.
#[test]
fn a_vlan_has_65534_sessions_and_its_port_more() {
    let mut config = config();
    config.limits.sessions_max = 100_000;
    config.limits.half_open_per_port_max = 0;
    config.limits.discovery.padi_rates = RateLimits::NONE;
    config.limits.discovery.padr_rates = RateLimits::NONE;
    let mut world = World::new(config, 2);
    world.keep_wire = false;
    world.audit_every = 150_000;
    let total = 66_000u32;
    for n in 0..total {
        let mut client = ClientConfig::numbered(n);
        // 65,600 in one VLAN, the others in another.
        client.vlans = vec![(0x8100, if n < 65_600 { 100 } else { 101 })];
        client.behaviour.mute = true;
        client.behaviour.redials = false;
        let client = world.add(client);
        world.dial(client);
        if n % 1000 == 0 {
            world.run(millis(5));
        }
    }
    world.run(millis(100));
    let gauges = world.subscribers.gauges();
    assert_eq!(gauges.live, 65_534 + 400);
    assert_eq!(world.subscribers.statistics().dropped[Drop::SessionIds as usize], 66);
    world.subscribers.audit().unwrap();
}
