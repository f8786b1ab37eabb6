//! What a session costs: memory, counted by the allocator, and time, printed.

use bng_pool::Ipv4PoolConfig;
use bng_session::SessionIndex;
use bng_subscriber::{
    AccessPort, AccessRule, Action, Environment, Input, Ipv4Profile, LocalUser, Pool, PoolIndex, PoolKind, Profile,
    ProfileIndex, RateLimits, SubscriberConfig, Subscribers, VidRange, VlanMatch,
};
use bng_testkit::sim::Chance;
use bng_testkit::{Client, ClientConfig, ClientState};
use bng_wire::{MacAddr, PortIndex, VrfId};
use std::net::Ipv4Addr;
use std::time::Instant;

const SESSIONS: u32 = 20_000;

/// Resident memory of this process in octets.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

fn subscribers(now: Instant) -> Subscribers {
    let mut profile = Profile::new("residential");
    profile.ipv4 = Some(Ipv4Profile {
        gateway: Ipv4Addr::new(100, 64, 0, 1),
        pools: vec![PoolIndex(0)],
        dns: [Some(Ipv4Addr::new(203, 0, 113, 53)), None],
        nbns: [None, None],
    });
    let mut config = SubscriberConfig {
        ports: vec![AccessPort {
            port: PortIndex(0),
            mac: MacAddr([2, 0, 0, 0, 0, 0xfe]),
            max_payload_by_tags: [1492; 3],
        }],
        access: vec![AccessRule {
            port: PortIndex(0),
            vlans: VlanMatch::Double { tpid: 0x88a8, outer: VidRange::ANY, inner: VidRange::ANY },
            profile: ProfileIndex(0),
        }],
        profiles: vec![profile],
        pools: vec![Pool {
            name: "pool4".into(),
            vrf: VrfId(0),
            kind: PoolKind::Ipv4(
                Ipv4PoolConfig::prefix(Ipv4Addr::new(100, 64, 0, 0), 16, Some(Ipv4Addr::new(100, 64, 0, 1))).unwrap(),
            ),
        }],
        users: (0..SESSIONS).map(|n| LocalUser::new(&format!("user{n}@example.net"), "secret")).collect(),
        cookie_key: [3; 32],
        ..SubscriberConfig::default()
    };
    // The index tables are as large as the limit from the start.
    config.limits.sessions_max = SESSIONS;
    config.limits.half_open_per_port_max = 0;
    config.limits.discovery.padi_rates = RateLimits::NONE;
    config.limits.discovery.padr_rates = RateLimits::NONE;
    let mut chance = Chance::new(1);
    let environment = Environment {
        random: Box::new(move |buffer| chance.fill(buffer)),
        client_echoes: Box::new(|_| 0),
        upstream_packets: Box::new(|_| 0),
        boot_clock_s: 0,
    };
    Subscribers::new(config, environment, now).unwrap()
}

/// The client that the goal of 2 KiB a session names, as far as this crate has it: CHAP, IPv4, a circuit id of 63 octets.
#[test]
fn a_session_takes_at_most_1216_octets_here() {
    let now = Instant::now();
    let mut subscribers = subscribers(now);
    let port = PortIndex(0);
    let before = resident();
    let mut busy = std::time::Duration::ZERO;
    let mut actions = Vec::new();
    let (mut to_ac, mut from_client) = (Vec::new(), Vec::new());
    for n in 0..SESSIONS {
        let mut config = ClientConfig::numbered(n);
        config.vlans = vec![(0x88a8, 1 + (n % 100) as u16), (0x8100, 1 + (n / 100) as u16)];
        config.circuit_id = Some(vec![b'c'; 63]);
        let mut client = Client::new(config);
        client.dial(now, &mut to_ac);
        while !to_ac.is_empty() {
            for frame in to_ac.drain(..) {
                let start = Instant::now();
                subscribers.handle(now, Input::Frame { port, bytes: &frame }, &mut actions);
                busy += start.elapsed();
                for action in actions.drain(..) {
                    match action {
                        Action::Transmit { frame, .. } => client.handle(now, &frame, &mut from_client),
                        Action::Install { key, .. } => {
                            let index = SessionIndex(key.slot);
                            subscribers.handle(now, Input::Installed { key, index }, &mut Vec::new());
                        }
                        _ => {}
                    }
                }
            }
            std::mem::swap(&mut to_ac, &mut from_client);
        }
        assert_eq!(client.state(), ClientState::Open);
    }
    let octets = resident().saturating_sub(before) / SESSIONS as usize;
    let per_second = f64::from(SESSIONS) / busy.as_secs_f64();
    println!("{octets} octets of resident memory a session; {per_second:.0} set up per second of this thread");
    assert_eq!(subscribers.gauges().up, SESSIONS);
    assert!(octets <= 1216, "{octets} octets a session");
    subscribers.audit().unwrap();
}
