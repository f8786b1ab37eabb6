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
    assert!(world.subscribers.statistics().dropped[Drop::HalfOpen as usize] >= 5);
    // An honest client comes in once the mute ones are gone.
    let honest = world.add(ClientConfig::numbered(30));
    for client in 0..10 {
        world.with(client, |client, _, _| client.vanish());
    }
    world.dial(honest);
    world.run(secs(120));
    assert_eq!(world.clients[honest].state(), bng_testkit::ClientState::Open);
    assert_eq!(world.subscribers.gauges().half_open, 0);
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
