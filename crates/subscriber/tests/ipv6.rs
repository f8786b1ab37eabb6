//! IPv6 of a session, from IPV6CP to its end: the line's prefix, router advertisements, delegated prefixes.

mod support;

use bng_ipv6::{AddressSource, DhcpConfig, Ipv6Config};
use bng_pool::{Prefix, PrefixPoolConfig};
use bng_subscriber::{EndCause, Input, Ipv6Profile, Pool, PoolIndex, PoolKind, SessionState, SubscriberConfig};
use bng_testkit::{ClientConfig, ClientState};
use bng_wire::dhcpv6::{self, Ia, IaPrefix, Options, kind, option, write_header, write_option};
use bng_wire::ipv6::{HEADER_LEN, Header};
use bng_wire::writer::Writer;
use bng_wire::{MacAddr, PortIndex, VrfId, nd};
use std::net::Ipv6Addr;
use support::*;

const DUID: &[u8] = &[0, 3, 0, 1, 2, 0, 0x5e, 0x10, 0, 1];
const SERVER: &[u8] = &[0, 3, 0, 1, 2, 0, 0, 0, 0, 0xfe];
const SLAAC: PoolIndex = PoolIndex(1);
const PD: PoolIndex = PoolIndex(2);

fn ip(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

/// The usual world with 16 prefixes of each kind.
fn dual_stack() -> SubscriberConfig {
    let mut config = config();
    let pool = |name: &str, prefix: &str, length: u8, unit: u8| Pool {
        name: name.into(),
        vrf: VrfId(0),
        kind: PoolKind::Prefixes(PrefixPoolConfig {
            prefix: Prefix::new(ip(prefix), length).unwrap(),
            length: unit,
            exclude: Vec::new(),
            reserved: Vec::new(),
        }),
    };
    config.pools.push(pool("slaac", "2001:db8:100::", 60, 64));
    config.pools.push(pool("pd", "2001:db8:8000::", 52, 56));
    let dhcp = DhcpConfig { addresses: AddressSource::Link, ..DhcpConfig::new(SERVER.to_vec()) };
    config.profiles[0].ppp.ipv6 = true;
    config.profiles[0].ipv6 = Some(Ipv6Profile {
        services: Ipv6Config { dhcp: Some(dhcp), dns: vec![ip("2001:db8::53")], ..Ipv6Config::default() },
        prefix_pools: vec![SLAAC],
        delegated_pools: vec![PD],
    });
    config
}

struct Home {
    client: usize,
    mac: MacAddr,
    id: u16,
}

impl Home {
    /// Dials and brings IPV6CP up; the client's own part in that is played here.
    fn connect(world: &mut World, number: u32) -> Self {
        let mut config = ClientConfig::numbered(number);
        config.behaviour.tries_ipv6 = true;
        config.behaviour.redials = false;
        let client = world.add(config);
        Self::redial(world, client)
    }

    fn redial(world: &mut World, client: usize) -> Self {
        world.dial(client);
        world.run(secs(1));
        assert_eq!(world.clients[client].state(), ClientState::Open);
        let home = Self { client, mac: world.clients[client].config().mac, id: world.clients[client].session_id() };
        let request = home.last(world, 0x8057, |payload| payload[0] == 1);
        let mut ack = request;
        ack[0] = 2;
        home.send(world, 0x8057, &ack);
        home
    }

    fn send(&self, world: &mut World, protocol: u16, payload: &[u8]) {
        world.inject(PortIndex(0), &ppp_frame(self.mac, &[], self.id, protocol, payload));
    }

    /// What was sent to this client in a protocol, latest last.
    fn received(&self, world: &World, protocol: u16) -> Vec<Vec<u8>> {
        let frames = world.wire.iter().filter(|seen| seen.from_ac && seen.frame[..6] == self.mac.0);
        frames
            .filter_map(|seen| session_stage(&seen.frame))
            .filter(|(_, id, found, _)| (*id, *found) == (self.id, protocol))
            .map(|(_, _, _, payload)| payload.to_vec())
            .collect()
    }

    fn last(&self, world: &World, protocol: u16, which: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        self.received(world, protocol).into_iter().rfind(|payload| which(payload)).expect("a packet")
    }

    fn advertisements(&self, world: &World) -> Vec<Vec<u8>> {
        self.received(world, 0x0057).into_iter().filter(|packet| packet[6] == 58 && packet[40] == 134).collect()
    }

    fn solicit_router(&self, world: &mut World) {
        let (from, to) = (ip("fe80::200:ff:fe00:1"), ip("ff02::2"));
        let mut message = vec![133, 0, 0, 0, 0, 0, 0, 0];
        nd::seal(from, to, &mut message);
        let packet = ipv6(from, to, 58, 255, &message);
        self.send(world, 0x0057, &packet);
    }

    /// A DHCPv6 exchange about one IA_PD: the message's kind, and the prefix in the answer, if there is one.
    fn dhcp(
        &self,
        world: &mut World,
        kind: u8,
        server: bool,
        named: Option<(Ipv6Addr, u8)>,
    ) -> (u8, Option<(Ipv6Addr, u8)>) {
        let mut buffer = [0; 500];
        let mut out = Writer::new(&mut buffer);
        write_header(&mut out, kind, 0x1234).unwrap();
        write_option(&mut out, option::CLIENT_ID, |out| out.octets(DUID)).unwrap();
        if server {
            write_option(&mut out, option::SERVER_ID, |out| out.octets(SERVER)).unwrap();
        }
        write_option(&mut out, option::IA_PD, |out| {
            let options = Options::default();
            Ia { iaid: 1, t1_s: 0, t2_s: 0, options }.write(out)?;
            named.iter().try_for_each(|(prefix, length)| {
                IaPrefix { preferred_s: 0, valid_s: 0, length: *length, prefix: *prefix, options }.write(out)
            })
        })
        .unwrap();
        let message = out.written().to_vec();
        let before = self.received(world, 0x0057).len();
        let (from, to) = (ip("fe80::200:ff:fe00:1"), ip("ff02::1:2"));
        let length = (message.len() + 8) as u16;
        let mut datagram = [&[2, 34, 2, 35][..], &length.to_be_bytes(), &[0, 0], &message].concat();
        let sum = bng_wire::checksum::Sum::ZERO.pseudo_ipv6(from.to_bits(), to.to_bits(), 17, length.into());
        let sum = sum.octets(&datagram).checksum();
        datagram[6..8].copy_from_slice(&sum.to_be_bytes());
        self.send(world, 0x0057, &ipv6(from, to, 17, 1, &datagram));
        let answers = self.received(world, 0x0057);
        assert_eq!(answers.len(), before + 1, "one answer");
        let answer = dhcpv6::Message::parse(&answers[before][HEADER_LEN + 8..]).unwrap();
        let ia = answer.options.first(option::IA_PD).and_then(Ia::parse);
        let prefix = ia.and_then(|ia| ia.options.first(option::IA_PREFIX)).and_then(IaPrefix::parse);
        // A lifetime of 0 says that the client must not use it.
        let prefix = prefix.filter(|prefix| prefix.valid_s > 0);
        (answer.kind, prefix.map(|prefix| (prefix.prefix, prefix.length)))
    }
}

fn ipv6(from: Ipv6Addr, to: Ipv6Addr, protocol: u8, hop_limit: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; HEADER_LEN];
    Header::new(from.to_bits(), to.to_bits(), protocol, hop_limit, payload.len()).write(&mut packet).unwrap();
    packet.extend_from_slice(payload);
    packet
}

fn held(world: &World) -> [u32; 2] {
    let pools = world.subscribers.pools();
    [SLAAC, PD].map(|pool| pools[usize::from(pool.0)].usage.held)
}

fn mapped(world: &World, pool: PoolIndex) -> usize {
    world.plane.addresses.keys().filter(|(mapped, _)| *mapped == pool).count()
}

#[test]
fn the_line_s_prefix_is_advertised_routed_and_given_back() {
    let mut world = World::new(dual_stack(), 1);
    let home = Home::connect(&mut world, 1);
    world.run(secs(2));
    let spec = *world.plane.sessions.values().next().unwrap();
    let (prefix, length) = spec.ipv6_prefix.unwrap();
    assert_eq!(length, 64);
    assert!(spec.ipv6_up && spec.ipv4_up && spec.gateway_interface_id.is_some());
    assert_eq!((held(&world), mapped(&world, SLAAC), mapped(&world, PD)), ([1, 0], 1, 0));
    let view = world.subscribers.sessions(world.now).next().unwrap();
    assert_eq!((view.state, view.ipv6_prefix, view.delegated_prefix), (SessionState::Up, Some((prefix, 64)), None));
    // The first advertisement needs no solicitation; it names this prefix.
    let advertisement = home.advertisements(&world).pop().expect("a router advertisement");
    assert!(advertisement.windows(8).any(|octets| octets == &prefix.octets()[..8]));
    assert!(advertisement.windows(16).any(|octets| octets == ip("2001:db8::53").octets()));
    let before = home.advertisements(&world).len();
    home.solicit_router(&mut world);
    world.run(secs(4));
    assert!(home.advertisements(&world).len() > before, "a solicitation is answered");
    // It ends: nothing leads to it, and the prefix is free again once the workers have let go.
    world.with(home.client, |client, _, out| client.hang_up(out));
    world.run(secs(10));
    assert!(world.subscribers.is_empty() && world.plane.addresses.is_empty());
    assert_eq!(held(&world), [0, 0]);
    world.subscribers.audit().unwrap();
}

#[test]
fn a_prefix_is_delegated_routed_released_and_kept_for_the_client() {
    let mut world = World::new(dual_stack(), 2);
    let home = Home::connect(&mut world, 1);
    let (answer, offered) = home.dhcp(&mut world, kind::SOLICIT, false, None);
    assert_eq!((answer, mapped(&world, PD)), (kind::ADVERTISE, 0));
    let (answer, prefix) = home.dhcp(&mut world, kind::REQUEST, true, offered);
    assert_eq!((answer, prefix), (kind::REPLY, offered));
    let prefix = prefix.unwrap();
    assert_eq!((prefix.1, mapped(&world, PD), held(&world)), (56, 1, [1, 1]));
    assert_eq!(world.plane.sessions.values().next().unwrap().delegated_prefix, Some(prefix));
    assert_eq!(world.subscribers.sessions(world.now).next().unwrap().delegated_prefix, Some(prefix));
    assert_eq!(home.dhcp(&mut world, kind::RENEW, true, Some(prefix)).1, Some(prefix));
    home.dhcp(&mut world, kind::RELEASE, true, Some(prefix));
    assert_eq!((mapped(&world, PD), held(&world)), (0, [1, 1]));
    assert_eq!(world.plane.sessions.values().next().unwrap().delegated_prefix, None);
    // It asks again and gets the same; Rebind after a restart of the client, too.
    let (_, again) = home.dhcp(&mut world, kind::SOLICIT, false, None);
    assert_eq!(again, Some(prefix));
    assert_eq!(home.dhcp(&mut world, kind::REQUEST, true, again).1, Some(prefix));
    assert_eq!(held(&world), [1, 1]);
    world.subscribers.audit().unwrap();
    // The link negotiates anew: leases end with IPV6CP, the prefixes stay the session's.
    home.send(&mut world, 0xc021, &[1, 99, 0, 4]);
    assert_eq!((mapped(&world, PD), held(&world)), (0, [1, 1]));
    world.subscribers.audit().unwrap();
    // A PADT in the middle of it all.
    world.inject(PortIndex(0), &padt(AC, home.mac, &[], home.id));
    world.run(secs(1));
    assert_eq!((mapped(&world, SLAAC), held(&world)), (0, [0, 0]));
    assert_eq!(world.ended().last().unwrap().1, EndCause::PadtReceived);
    world.subscribers.audit().unwrap();
}

#[test]
fn the_same_subscriber_gets_the_same_prefixes_again() {
    let mut world = World::new(dual_stack(), 3);
    let home = Home::connect(&mut world, 1);
    let (_, offered) = home.dhcp(&mut world, kind::SOLICIT, false, None);
    let (_, delegated) = home.dhcp(&mut world, kind::REQUEST, true, offered);
    let line = world.plane.sessions.values().next().unwrap().ipv6_prefix;
    world.with(home.client, |client, _, out| client.hang_up(out));
    world.run(secs(10));
    let home = Home::redial(&mut world, home.client);
    let (_, offered) = home.dhcp(&mut world, kind::SOLICIT, false, None);
    assert_eq!(offered, delegated);
    assert_eq!(world.plane.sessions.values().next().unwrap().ipv6_prefix, line);
}

#[test]
fn a_client_cannot_gather_prefixes_nor_take_another_s() {
    let mut world = World::new(dual_stack(), 4);
    let home = Home::connect(&mut world, 1);
    let other = Home::connect(&mut world, 2);
    let (_, offered) = other.dhcp(&mut world, kind::SOLICIT, false, None);
    let (_, theirs) = other.dhcp(&mut world, kind::REQUEST, true, offered);
    // Prefix after prefix by name, each released before the next.
    for place in 0..16u16 {
        let wanted = (Ipv6Addr::from_bits(ip("2001:db8:8000::").to_bits() | u128::from(place) << 72), 56);
        let (_, given) = home.dhcp(&mut world, kind::REBIND, false, Some(wanted));
        assert!(given.is_none() || given != theirs, "{place}");
        if given.is_some() {
            home.dhcp(&mut world, kind::RELEASE, true, given);
        }
        world.run(secs(2));
    }
    assert!(held(&world)[1] <= 5, "{:?}", held(&world));
    assert_eq!(other.dhcp(&mut world, kind::RENEW, true, theirs).1, theirs);
    world.subscribers.audit().unwrap();
}

#[test]
fn ipv6_alone_and_an_empty_pool_of_ipv4() {
    // No IPv4 in the profile: IPCP is refused, and the session is up by IPv6 alone.
    let mut config = dual_stack();
    config.profiles[0].ipv4 = None;
    config.profiles[0].ppp.ipv4 = false;
    let mut world = World::new(config, 5);
    let mut client = ClientConfig::numbered(1);
    client.behaviour.tries_ipv6 = true;
    client.behaviour.redials = false;
    let client = world.add(client);
    world.dial(client);
    world.run(secs(1));
    let home = Home { client, mac: world.clients[client].config().mac, id: world.clients[client].session_id() };
    let mut ack = home.last(&world, 0x8057, |payload| payload[0] == 1);
    ack[0] = 2;
    home.send(&mut world, 0x8057, &ack);
    world.run(secs(1));
    let view = world.subscribers.sessions(world.now).next().unwrap();
    assert_eq!((view.state, view.ipv4, view.ipv6_up), (SessionState::Up, None, true));
    assert!(!home.advertisements(&world).is_empty());
    let (_, offered) = home.dhcp(&mut world, kind::SOLICIT, false, None);
    assert!(offered.is_some());
    // An operator ends it.
    world.input(Input::Clear { key: view.key, cause: EndCause::AdminReset });
    world.run(secs(20));
    assert!(world.subscribers.is_empty());
    assert_eq!(held(&world), [0, 0]);
}

#[test]
fn sixteen_prefixes_for_eighteen_lines() {
    let mut world = World::new(dual_stack(), 6);
    let homes: Vec<Home> = (0..18).map(|number| Home::connect(&mut world, number)).collect();
    assert_eq!(held(&world), [16, 0]);
    // Two are up without a prefix: the router advertises itself and nothing else.
    let without = world.plane.sessions.values().filter(|spec| spec.ipv6_up && spec.ipv6_prefix.is_none()).count();
    assert_eq!(without, 2);
    assert_eq!(world.subscribers.statistics().pool_exhausted, 2);
    let delegated = homes.iter().filter(|home| home.dhcp(&mut world, kind::SOLICIT, false, None).1.is_some()).count();
    assert_eq!((delegated, held(&world)), (16, [16, 16]));
    world.subscribers.audit().unwrap();
}
