//! The routing thread and the twins against the running kernel, each test in a network namespace of its own. They
//! need root (CAP_NET_ADMIN, /dev/net/tun) and fail where it is missing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bng_fib::{AdjacencyView, Fib, FibConfig, FibWriter, NextHop};
use bng_sync::Qsbr;
use bng_wire::id::{MacAddr, PortIndex, VlanTag, VrfId};
use crossbeam_channel::Receiver;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use nix::sched::{CloneFlags, unshare};

use crate::netlink::{Requests, Table};
use crate::{
    Event, InterfaceAddress, InterfaceConfig, PoolRoute, Prefix, ResolveTarget, RouteAction, RouteSource,
    RoutingConfig, RoutingHandle, SessionRef, StaticRoute, Twin, TwinConfig, requests,
};

const VRF: VrfId = VrfId(0);
const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const OWN4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const PEER4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
const OWN6: &str = "2001:db8::1";
const PEER6: &str = "2001:db8::2";
/// Longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(20);

/// Runs a test on a thread of its own in a network namespace of its own, which ends with it.
fn in_own_namespace(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET)
            .expect("these tests make network namespaces and taps: run them as root, with /dev/net/tun");
        test();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn prefix(text: &str) -> Prefix {
    let (address, length) = text.split_once('/').expect("a prefix");
    Prefix::new(ip(address), length.parse().expect("a length")).expect("a prefix")
}

fn twin(name: &str) -> Twin {
    let address = |text, length| InterfaceAddress { address: ip(text), length };
    let addresses = vec![address("198.51.100.1", 24), address(OWN6, 64)];
    let config = TwinConfig { name: name.to_owned(), mac: OWN, mtu: 1500, addresses };
    Twin::create(&config).expect("a twin")
}

fn interface(twin: &Twin) -> InterfaceConfig {
    InterfaceConfig {
        name: twin.name().to_owned(),
        if_index: twin.if_index(),
        port: PortIndex(1),
        vlan: None,
        mac: OWN,
        mtu: 1500,
    }
}

/// A neighbour on the wire behind a twin, who answers ARP and neighbour solicitations for its addresses.
struct Neighbour {
    answers: bool,
    /// Frames of any other kind, as they came.
    others: Vec<Vec<u8>>,
    asked: usize,
}

impl Neighbour {
    fn new() -> Self {
        Self { answers: true, others: Vec::new(), asked: 0 }
    }

    /// Serves the wire until `done` says so.
    fn until<R>(&mut self, twin: &Twin, what: &str, mut done: impl FnMut(&mut Self) -> Option<R>) -> R {
        let end = Instant::now() + LONG;
        let mut buffer = [0; 2048];
        loop {
            if let Some(result) = done(self) {
                return result;
            }
            assert!(Instant::now() < end, "{what}: not within {LONG:?}");
            match twin.read(&mut buffer) {
                Ok(length) => self.receive(twin, &buffer[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => panic!("cannot read from the twin: {error}"),
            }
        }
    }

    fn receive(&mut self, twin: &Twin, frame: &[u8]) {
        match frame[12..14] {
            [0x08, 0x06] if frame[20..22] == [0, 1] && frame[38..42] == PEER4.octets() => {
                self.asked += 1;
                if self.answers {
                    twin.write(&arp(2, &frame[6..12], PEER4, &frame[22..28], OWN4)).expect("written");
                }
            }
            [0x86, 0xdd] if frame[20] == 58 && frame[54] == 135 => {
                let target: [u8; 16] = frame[62..78].try_into().expect("16 octets");
                if self.answers && ip(PEER6) == IpAddr::from(target) && frame[22..38] != [0; 16] {
                    twin.write(&advertisement(&frame[22..38], target)).expect("written");
                }
            }
            _ => self.others.push(frame.to_vec()),
        }
    }
}

fn ethernet(dst: &[u8], kind: u16) -> Vec<u8> {
    [dst, &PEER.0, &kind.to_be_bytes()].concat()
}

/// An ARP packet from the peer (RFC 826).
fn arp(operation: u8, dst: &[u8], sender: Ipv4Addr, target_mac: &[u8], target: Ipv4Addr) -> Vec<u8> {
    let mut frame = ethernet(dst, 0x0806);
    frame.extend([0, 1, 8, 0, 6, 4, 0, operation]);
    frame.extend(PEER.0);
    frame.extend(sender.octets());
    frame.extend(target_mac);
    frame.extend(target.octets());
    frame.resize(60, 0);
    frame
}

/// The Internet checksum (RFC 1071).
fn checksum(octets: &[u8]) -> [u8; 2] {
    let words = octets.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes()
}

/// An IPv4 packet from the peer to the router, in its frame.
fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let total = (20 + payload.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 1, 0, 0, 64, protocol, 0, 0]);
    packet.extend(PEER4.octets());
    packet.extend(OWN4.octets());
    let sum = checksum(&packet);
    packet[10..12].copy_from_slice(&sum);
    packet.extend_from_slice(payload);
    [ethernet(&OWN.0, 0x0800), packet].concat()
}

/// An ICMPv6 packet in its frame, with hop limit 255 (RFC 4861 section 7.1).
fn icmpv6(dst_mac: &[u8], src: [u8; 16], dst: [u8; 16], message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32).to_be_bytes();
    let mut message = message.to_vec();
    let sum = checksum(&[&src[..], &dst, &length, &[0, 0, 0, 58], &message].concat());
    message[2..4].copy_from_slice(&sum);
    let mut frame = ethernet(dst_mac, 0x86dd);
    frame.extend([0x60, 0, 0, 0, length[2], length[3], 58, 255]);
    frame.extend(src);
    frame.extend(dst);
    frame.extend(message);
    frame
}

/// The peer's neighbour advertisement, solicited and overriding (RFC 4861 section 4.4).
fn advertisement(to: &[u8], target: [u8; 16]) -> Vec<u8> {
    let mut message = vec![136, 0, 0, 0, 0x60, 0, 0, 0];
    message.extend(target);
    message.extend([2, 1]);
    message.extend(PEER.0);
    icmpv6(&OWN.0, target, to.try_into().expect("16 octets"), &message)
}

fn octets6(text: &str) -> [u8; 16] {
    text.parse::<Ipv6Addr>().expect("an IPv6 address").octets()
}

#[test]
fn the_kernel_answers_arp_and_ping_by_the_twin() {
    in_own_namespace(|| {
        let twin = twin("up0");
        let mut peer = Neighbour::new();
        twin.write(&arp(1, &[0xff; 6], PEER4, &[0; 6], OWN4)).expect("written");
        peer.until(&twin, "an ARP answer", |peer| {
            peer.others
                .iter()
                .find(|frame| frame[12..14] == [8, 6] && frame[21] == 2 && frame[22..28] == OWN.0)
                .map(drop)
        });
        twin.write(&ipv4(1, &[&[8, 0, 0, 0, 0, 7, 0, 1][..], b"ping"].concat()).tap_mut(|frame| {
            let sum = checksum(&frame[34..]);
            frame[36..38].copy_from_slice(&sum);
        }))
        .expect("written");
        let answer = peer.until(&twin, "an answer to ping", |peer| {
            peer.others.iter().find(|frame| frame[12..14] == [8, 0] && frame[23] == 1 && frame[34] == 0).cloned()
        });
        assert_eq!(answer[..6], PEER.0, "by ARP the kernel has learned who asked");
        assert_eq!(answer[42..46], *b"ping");
    });
}

#[test]
fn an_address_of_another_interface_is_not_answered_for() {
    in_own_namespace(|| {
        let twin = twin("up0");
        let other = TwinConfig {
            name: "up1".to_owned(),
            mac: MacAddr([2, 0, 0, 0, 0, 3]),
            mtu: 1500,
            addresses: vec![InterfaceAddress { address: ip("192.0.2.1"), length: 24 }],
        };
        let _other = Twin::create(&other).expect("a twin");
        let mut peer = Neighbour::new();
        twin.write(&arp(1, &[0xff; 6], PEER4, &[0; 6], Ipv4Addr::new(192, 0, 2, 1))).expect("written");
        // The answer to the second question would come after that to the first.
        twin.write(&arp(1, &[0xff; 6], PEER4, &[0; 6], OWN4)).expect("written");
        let answer = peer.until(&twin, "an ARP answer", |peer| {
            peer.others.iter().find(|frame| frame[12..14] == [8, 6] && frame[21] == 2).cloned()
        });
        assert_eq!(answer[28..32], OWN4.octets());
    });
}

#[test]
fn neighbour_advertisements_say_router_and_the_kernel_does_not_forward() {
    in_own_namespace(|| {
        let twin = twin("up0");
        let mut peer = Neighbour::new();
        let (own, from) = (octets6(OWN6), octets6(PEER6));
        let mut solicitation = vec![135, 0, 0, 0, 0, 0, 0, 0];
        solicitation.extend(own);
        solicitation.extend([1, 1]);
        solicitation.extend(PEER.0);
        let group = octets6("ff02::1:ff00:1");
        let mut asked = Instant::now() - LONG;
        let flags = peer.until(&twin, "a neighbour advertisement", |peer| {
            // Until duplicate address detection is through, the kernel is silent.
            if asked.elapsed() > Duration::from_millis(200) {
                asked = Instant::now();
                twin.write(&icmpv6(&[0x33, 0x33, 0xff, 0, 0, 1], from, group, &solicitation)).expect("written");
            }
            let mine = |frame: &&Vec<u8>| {
                frame[12..14] == [0x86, 0xdd] && frame[54] == 136 && frame[62..78] == own && frame[58] & 0x40 != 0
            };
            peer.others.iter().find(mine).map(|frame| frame[58])
        });
        assert_eq!(flags & 0x80, 0x80, "the Router flag (RFC 4861 section 4.4)");
        let all = std::fs::read_to_string("/proc/sys/net/ipv6/conf/all/forwarding").expect("the switch");
        assert_eq!(all.trim(), "0");
    });
}

struct Lab {
    twin: Twin,
    fib: Arc<Fib>,
    handle: RoutingHandle,
    events: Receiver<Event>,
    kernel: Requests,
    _domain: Arc<Qsbr>,
}

fn small_fib() -> (Arc<Qsbr>, Arc<Fib>, FibWriter) {
    let domain = Qsbr::new(1);
    let config = FibConfig { routes4_max: 300_000, nodes4_max: 1 << 16, nodes6_max: 1 << 14, ..FibConfig::default() };
    let (fib, writer) = Fib::new(&config, &domain).expect("a FIB");
    (domain, fib, writer)
}

fn lab_with(change: impl FnOnce(&mut RoutingConfig), events_buffer_octets: Option<usize>) -> Lab {
    let twin = twin("up0");
    let (domain, fib, writer) = small_fib();
    let mut config = RoutingConfig { interfaces: vec![interface(&twin)], ..RoutingConfig::default() };
    change(&mut config);
    let (handle, events) = crate::handle::spawn_with(config, writer, events_buffer_octets).expect("the routing thread");
    let kernel = Requests::open().expect("a netlink socket");
    Lab { twin, fib, handle, events, kernel, _domain: domain }
}

impl Lab {
    fn leads_to(&self, address: &str) -> NextHop {
        let id = match ip(address) {
            IpAddr::V4(v4) => self.fib.lookup4(VRF, v4.into()),
            IpAddr::V6(v6) => self.fib.lookup6(VRF, v6.into()),
        };
        self.fib.next_hop(id)
    }

    /// The frame header for an address, once its neighbour is resolved.
    fn header(&self, address: &str) -> Option<Vec<u8>> {
        let NextHop::Neighbour(id) = self.leads_to(address) else { return None };
        match self.fib.adjacency(id)?.view()? {
            AdjacencyView::Resolved { header, .. } => Some(header.bytes().to_vec()),
            AdjacencyView::Unresolved { .. } => None,
        }
    }

    fn add(&mut self, to: &str, via: &str) {
        requests::add_static(&mut self.kernel, prefix(to), ip(via), None).expect("a route");
    }

    fn remove(&mut self, to: &str, via: &str) {
        requests::remove_static(&mut self.kernel, prefix(to), ip(via), None).expect("a route that was there");
    }

    fn until(&self, peer: &mut Neighbour, what: &str, mut done: impl FnMut() -> bool) {
        peer.until(&self.twin, what, |_| done().then_some(()));
    }
}

/// For values that are changed in the middle of an expression.
trait TapMut: Sized {
    fn tap_mut(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl TapMut for Vec<u8> {}

#[test]
fn what_is_there_at_the_start_is_in_the_fib() {
    in_own_namespace(|| {
        let lab = lab_with(
            |config| {
                config.pools = vec![
                    PoolRoute { prefix: prefix("100.64.0.0/16"), map: 0 },
                    PoolRoute { prefix: prefix("2001:db8:100::/40"), map: 1 },
                ];
                config.static_routes =
                    vec![StaticRoute { to: prefix("0.0.0.0/0"), via: PEER4.into(), interface: None }];
            },
            None,
        );
        assert_eq!(lab.leads_to("198.51.100.1"), NextHop::Local);
        assert_eq!(lab.leads_to("198.51.100.7"), NextHop::Glean { interface: 0 });
        assert_eq!(lab.leads_to("198.51.100.255"), NextHop::Blackhole);
        assert_eq!(lab.leads_to("2001:db8::77"), NextHop::Glean { interface: 0 });
        assert_eq!(lab.leads_to("100.64.255.255"), NextHop::Pool(0));
        assert_eq!(lab.leads_to("2001:db8:1ff::1"), NextHop::Pool(1));
        assert!(matches!(lab.leads_to("8.8.8.8"), NextHop::Neighbour(_)));
        assert_eq!(lab.leads_to("2001:4860::1"), NextHop::Unreachable);
        // The pools are in the kernel's table, for a routing daemon.
        let mut kernel = Requests::open().expect("a netlink socket");
        let mut pools = Vec::new();
        for table in [Table::RoutesIpv4, Table::RoutesIpv6] {
            kernel.dump(table, |message| pools.extend(crate::messages::own_pool(&message))).expect("read");
        }
        assert_eq!(pools, [prefix("100.64.0.0/16"), prefix("2001:db8:100::/40")]);
        let view = lab.handle.routes(100).expect("the routes");
        let default = view.iter().find(|route| route.prefix == prefix("0.0.0.0/0")).expect("the default route");
        assert_eq!(default.source, RouteSource::Kernel(4), "RTPROT_STATIC");
        assert!(matches!(&default.action, RouteAction::Neighbour { via, mac: None, .. } if *via == ip("198.51.100.2")));
        // And they leave with the thread.
        lab.handle.stop();
        pools.clear();
        kernel.dump(Table::RoutesIpv4, |message| pools.extend(crate::messages::own_pool(&message))).expect("read");
        assert!(pools.is_empty());
        assert!(lab.handle.routes(1).is_err());
    });
}

#[test]
fn a_pool_that_an_earlier_run_left_is_swept() {
    in_own_namespace(|| {
        let mut kernel = Requests::open().expect("a netlink socket");
        requests::add_pool(&mut kernel, prefix("100.100.0.0/16")).expect("a route");
        let lab = lab_with(|config| config.pools = vec![PoolRoute { prefix: prefix("100.64.0.0/16"), map: 0 }], None);
        let mut pools = Vec::new();
        kernel.dump(Table::RoutesIpv4, |message| pools.extend(crate::messages::own_pool(&message))).expect("read");
        assert_eq!(pools, [prefix("100.64.0.0/16")]);
        assert_eq!(lab.leads_to("100.100.0.1"), NextHop::Unreachable);
    });
}

#[test]
fn routes_are_learned_and_withdrawn() {
    in_own_namespace(|| {
        let mut lab = lab_with(|_| {}, None);
        let mut peer = Neighbour::new();
        lab.add("203.0.113.0/24", "198.51.100.2");
        let header = peer.until(&lab.twin, "a route with its neighbour", |_| lab.header("203.0.113.9"));
        assert_eq!(header, [&PEER.0[..], &OWN.0, &[0, 0]].concat());
        // The next hop itself is a host route now.
        assert_eq!(lab.header("198.51.100.2"), Some(header));
        lab.remove("203.0.113.0/24", "198.51.100.2");
        lab.until(&mut peer, "the route's withdrawal", || lab.leads_to("203.0.113.9") == NextHop::Unreachable);
        assert!(lab.header("198.51.100.2").is_some());
    });
}

#[test]
fn ipv6_routes_and_neighbours_are_learned() {
    in_own_namespace(|| {
        let mut lab = lab_with(|_| {}, None);
        let mut peer = Neighbour::new();
        lab.add("2001:db8:ffff::/48", PEER6);
        let header = peer.until(&lab.twin, "a route with its neighbour", |_| lab.header("2001:db8:ffff::9"));
        assert_eq!(header, [&PEER.0[..], &OWN.0, &[0, 0]].concat());
        lab.remove("2001:db8:ffff::/48", PEER6);
        lab.until(&mut peer, "the withdrawal", || lab.leads_to("2001:db8:ffff::9") == NextHop::Unreachable);
        // IPv4 by way of an IPv6 gateway (RFC 5549).
        lab.add("203.0.113.0/24", PEER6);
        peer.until(&lab.twin, "a route with its neighbour", |_| lab.header("203.0.113.9"));
    });
}

#[test]
fn a_tagged_interface_has_its_tag_in_the_header() {
    in_own_namespace(|| {
        let mut lab = lab_with(|config| config.interfaces[0].vlan = Some(VlanTag { tpid: 0x8100, tci: 0x2064 }), None);
        lab.add("203.0.113.0/24", "198.51.100.2");
        let mut peer = Neighbour::new();
        let header = peer.until(&lab.twin, "a route with its neighbour", |_| lab.header("203.0.113.9"));
        assert_eq!(header, [&PEER.0[..], &OWN.0, &[0x81, 0, 0x20, 0x64, 0, 0]].concat());
    });
}

#[test]
fn a_host_on_a_connected_network_is_resolved_on_demand() {
    in_own_namespace(|| {
        let lab = lab_with(|_| {}, None);
        let mut peer = Neighbour::new();
        let target = |last| ResolveTarget::Destination { interface: 0, address: [198, 51, 100, last].into() };
        assert_eq!(lab.leads_to("198.51.100.2"), NextHop::Glean { interface: 0 });
        assert!(lab.handle.resolve(target(2)));
        assert!(lab.handle.resolve(target(99)));
        let started = Instant::now();
        let first = peer.until(&lab.twin, "an answer", |_| lab.events.try_recv().ok());
        assert_eq!(first, Event::Resolved(target(2)));
        assert!(lab.header("198.51.100.2").is_some(), "the FIB leads there before the event says so");
        let second = peer.until(&lab.twin, "an answer", |_| lab.events.try_recv().ok());
        assert_eq!(second, Event::Unreachable(target(99)));
        assert!(started.elapsed() > Duration::from_secs(2), "given up too early");
    });
}

#[test]
fn a_next_hop_that_was_silent_is_found_when_a_packet_wants_it() {
    in_own_namespace(|| {
        let mut lab = lab_with(|_| {}, None);
        let mut peer = Neighbour { answers: false, ..Neighbour::new() };
        lab.add("203.0.113.0/24", "198.51.100.2");
        peer.until(&lab.twin, "three questions", |peer| (peer.asked >= 3).then_some(()));
        let NextHop::Neighbour(id) = lab.leads_to("203.0.113.9") else { panic!("no adjacency") };
        peer.answers = true;
        let target = ResolveTarget::Adjacency(id);
        assert!(lab.handle.resolve(target));
        let event = peer.until(&lab.twin, "an answer", |_| lab.events.try_recv().ok());
        // The kernel may have given up just before it was asked again.
        if event == Event::Unreachable(target) {
            assert!(lab.handle.resolve(target));
            assert_eq!(peer.until(&lab.twin, "an answer", |_| lab.events.try_recv().ok()), Event::Resolved(target));
        }
        assert!(lab.header("203.0.113.9").is_some());
    });
}

#[test]
fn a_neighbour_that_moves_is_followed() {
    in_own_namespace(|| {
        let mut lab = lab_with(|_| {}, None);
        let mut peer = Neighbour::new();
        lab.add("203.0.113.0/24", "198.51.100.2");
        peer.until(&lab.twin, "a neighbour", |_| lab.header("203.0.113.9"));
        // Its address answers from another station now: an unasked ARP answer, after the kernel's lock time of one
        // second (neigh/default/locktime).
        let moved = MacAddr([2, 0, 0, 0, 0, 0x77]);
        let mut frame = arp(2, &OWN.0, PEER4, &OWN.0, OWN4);
        frame[6..12].copy_from_slice(&moved.0);
        frame[22..28].copy_from_slice(&moved.0);
        let mut told = Instant::now();
        peer.until(&lab.twin, "the neighbour's move", |_| {
            if told.elapsed() > Duration::from_millis(300) {
                told = Instant::now();
                lab.twin.write(&frame).expect("written");
            }
            (lab.header("203.0.113.9")?[..6] == moved.0).then_some(())
        });
    });
}

#[test]
fn next_hop_objects_are_followed() {
    in_own_namespace(|| {
        let mut lab = lab_with(|_| {}, None);
        let mut peer = Neighbour::new();
        ip_command(&["nexthop", "add", "id", "7", "via", "198.51.100.2", "dev", "up0"]);
        ip_command(&["route", "add", "203.0.113.0/24", "nhid", "7"]);
        peer.until(&lab.twin, "a route by a next-hop object", |_| lab.header("203.0.113.9"));
        // A blackhole object hangs on the loopback device.
        ip_command(&["link", "set", "lo", "up"]);
        ip_command(&["nexthop", "replace", "id", "7", "blackhole"]);
        lab.until(&mut peer, "the object's change", || lab.leads_to("203.0.113.9") == NextHop::Blackhole);
        // The kernel takes the routes away without a message of their own.
        ip_command(&["nexthop", "del", "id", "7"]);
        lab.until(&mut peer, "the route's end", || lab.leads_to("203.0.113.9") == NextHop::Unreachable);
        lab.add("192.0.2.0/24", "198.51.100.2");
        peer.until(&lab.twin, "another route", |_| lab.header("192.0.2.9"));
    });
}

#[test]
fn a_twin_that_goes_down_takes_its_routes_along() {
    in_own_namespace(|| {
        let mut lab = lab_with(|_| {}, None);
        let mut peer = Neighbour::new();
        lab.add("203.0.113.0/24", "198.51.100.2");
        peer.until(&lab.twin, "a route", |_| lab.header("203.0.113.9"));
        ip_command(&["link", "set", "up0", "down"]);
        lab.until(&mut peer, "the route's end", || {
            lab.leads_to("203.0.113.9") == NextHop::Unreachable && lab.leads_to("198.51.100.7") == NextHop::Unreachable
        });
        ip_command(&["link", "set", "up0", "up"]);
        lab.add("203.0.113.0/24", "198.51.100.2");
        peer.until(&lab.twin, "the route again", |_| lab.header("203.0.113.9"));
    });
}

/// The kernel drops what leads by a device that goes down, and an operator who sets it up again expects his
/// configuration back.
#[test]
fn static_routes_and_addresses_come_back_with_the_twin() {
    in_own_namespace(|| {
        let lab = lab_with(
            |config| {
                config.static_routes = vec![
                    StaticRoute { to: prefix("0.0.0.0/0"), via: PEER4.into(), interface: None },
                    StaticRoute { to: prefix("::/0"), via: ip("2001:db8::2"), interface: None },
                ];
            },
            None,
        );
        let mut peer = Neighbour::new();
        peer.until(&lab.twin, "the default route", |_| lab.header("203.0.113.9"));
        for _ in 0..3 {
            ip_command(&["link", "set", "up0", "down"]);
            lab.until(&mut peer, "the routes' end", || {
                lab.leads_to("203.0.113.9") == NextHop::Unreachable
                    && lab.leads_to("2001:db8:9::1") == NextHop::Unreachable
            });
            ip_command(&["link", "set", "up0", "up"]);
            peer.until(&lab.twin, "the default route again", |_| lab.header("203.0.113.9"));
            lab.until(&mut peer, "the IPv6 default route", || {
                matches!(lab.leads_to("2001:db8:9::1"), NextHop::Neighbour(_))
            });
        }
    });
}

/// An ARP request has the kernel note its sender, whatever address that has.
#[test]
fn a_foreign_address_in_an_arp_request_draws_no_packets() {
    in_own_namespace(|| {
        let mut lab = lab_with(|_| {}, None);
        let mut peer = Neighbour::new();
        lab.add("0.0.0.0/0", "198.51.100.2");
        let honest = peer.until(&lab.twin, "the default route", |_| lab.header("203.0.113.9"));
        let mut frame = arp(1, &[0xff; 6], Ipv4Addr::new(203, 0, 113, 9), &[0; 6], Ipv4Addr::new(198, 51, 100, 1));
        // From another station than the next hop: the Ethernet source, and the sender in the ARP packet.
        let evil = [2, 0xe7, 0, 0, 0, 1];
        frame[6..12].copy_from_slice(&evil);
        frame[22..28].copy_from_slice(&evil);
        lab.twin.write(&frame).expect("a frame into the twin");
        let noted = |_: &mut Neighbour| {
            let shown =
                std::process::Command::new("ip").args(["neighbour", "show", "203.0.113.9"]).output().expect("ip");
            (!shown.stdout.is_empty()).then_some(())
        };
        peer.until(&lab.twin, "the kernel's entry", noted);
        // A later change has been taken in, so the entry has been, too.
        lab.add("192.0.2.0/24", "198.51.100.2");
        peer.until(&lab.twin, "a later route", |_| lab.header("192.0.2.9"));
        assert_eq!(lab.header("203.0.113.9"), Some(honest));
    });
}

/// Adds or removes `count` routes, /24s from 10.0.0.0 on, as fast as the kernel takes them.
fn many_routes(kernel: &mut Requests, count: u32, add: bool) {
    let message = |number: u32| {
        let to = Prefix::new(Ipv4Addr::from(0x0a00_0000 + (number << 8)).into(), 24).expect("a prefix");
        requests::static_message(to, PEER4.into(), None)
    };
    for number in 0..count {
        let (message, flags) = match add {
            true => (RouteNetlinkMessage::NewRoute(message(number)), NLM_F_CREATE | NLM_F_REPLACE),
            false => (RouteNetlinkMessage::DelRoute(message(number)), 0),
        };
        kernel.change(message, flags).expect("a change of the kernel's table");
    }
}

const MANY: u32 = 100_000;

fn last_of_many(count: u32) -> String {
    Ipv4Addr::from(0x0a00_0000 + ((count - 1) << 8) + 1).to_string()
}

#[test]
fn a_hundred_thousand_routes_come_and_go() {
    in_own_namespace(|| {
        let mut lab = lab_with(|_| {}, None);
        let mut peer = Neighbour::new();
        let started = Instant::now();
        many_routes(&mut lab.kernel, MANY, true);
        let written = started.elapsed();
        lab.until(&mut peer, "100,000 routes", || lab.handle.counts().routes_ipv4 >= u64::from(MANY));
        assert!(lab.header(&last_of_many(MANY)).is_some() || lab.leads_to(&last_of_many(MANY)) != NextHop::Unreachable);
        let learned = started.elapsed();
        many_routes(&mut lab.kernel, MANY, false);
        lab.until(&mut peer, "their end", || lab.handle.counts().routes_ipv4 < 10);
        eprintln!("written in {written:?}, learned in {learned:?}, gone after {:?}", started.elapsed());
        eprintln!("{:?}", lab.handle.counts());
        assert_eq!(lab.leads_to(&last_of_many(MANY)), NextHop::Unreachable);
        assert_eq!(lab.handle.counts().unreadable, 0);
    });
}

#[test]
fn an_overrun_is_made_good_by_a_resync() {
    in_own_namespace(|| {
        // A buffer that holds a few dozen messages: it runs over again and again.
        let mut lab = lab_with(|_| {}, Some(64 * 1024));
        let mut peer = Neighbour::new();
        let steady = "203.0.113.0/24";
        lab.add(steady, "198.51.100.2");
        peer.until(&lab.twin, "a route", |_| lab.header("203.0.113.9"));
        many_routes(&mut lab.kernel, MANY, true);
        let started = Instant::now();
        lab.until(&mut peer, "100,000 routes", || lab.handle.counts().routes_ipv4 >= u64::from(MANY));
        let learned = started.elapsed();
        assert!(lab.handle.counts().resyncs > 0, "the buffer was meant to run over");
        many_routes(&mut lab.kernel, MANY, false);
        let started = Instant::now();
        lab.until(&mut peer, "their end", || lab.handle.counts().routes_ipv4 < 10);
        eprintln!("learned {learned:?}, gone {:?} after the last change", started.elapsed());
        eprintln!("{:?}", lab.handle.counts());
        assert!(lab.header("203.0.113.9").is_some(), "what stayed is still there");
        assert!(learned < Duration::from_secs(10));
        assert!(started.elapsed() < Duration::from_secs(10));
    });
}

/// Runs `ip` in the thread's namespace, for what bngd itself never asks of the kernel.
fn ip_command(arguments: &[&str]) {
    let output = std::process::Command::new("ip").args(arguments).output().expect("the ip command (package iproute2)");
    assert!(output.status.success(), "ip {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A lab with a second twin, 192.0.2.1/24 and 2001:db8:2::1/64, whose neighbours need no asking.
fn lab_of_two() -> (Lab, Twin) {
    let addresses =
        [("192.0.2.1", 24), ("2001:db8:2::1", 64)].map(|(text, length)| InterfaceAddress { address: ip(text), length });
    let config = TwinConfig {
        name: "up1".to_owned(),
        mac: MacAddr([2, 0, 0, 0, 0, 3]),
        mtu: 1500,
        addresses: addresses.to_vec(),
    };
    let second = Twin::create(&config).expect("a twin");
    let of_second = InterfaceConfig { port: PortIndex(2), mac: config.mac, ..interface(&second) };
    let lab = lab_with(|config| config.interfaces.push(of_second), None);
    for (address, mac, device) in [
        ("198.51.100.2", "02:00:00:00:00:02", "up0"),
        ("198.51.100.3", "02:00:00:00:00:04", "up0"),
        ("192.0.2.2", "02:00:00:00:00:05", "up1"),
        ("2001:db8::2", "02:00:00:00:00:02", "up0"),
        ("2001:db8:2::2", "02:00:00:00:00:05", "up1"),
    ] {
        ip_command(&["neigh", "replace", address, "lladdr", mac, "dev", device, "nud", "permanent"]);
    }
    (lab, second)
}

impl Lab {
    /// How many of the shares of the group that an address leads to go to each neighbour, by the last octet of its MAC
    /// address; none where it leads to no group. Shares that are not resolved count for 0.
    fn shares(&self, address: &str) -> std::collections::BTreeMap<u8, usize> {
        let mut shares = std::collections::BTreeMap::new();
        if let NextHop::Group(group) = self.leads_to(address) {
            for hash in 0..bng_fib::GROUP_BUCKETS as u32 {
                let mac = match self.fib.group_member(group, hash) {
                    NextHop::Neighbour(id) => match self.fib.adjacency(id).and_then(bng_fib::Adjacency::view) {
                        Some(AdjacencyView::Resolved { header, .. }) => header.bytes()[5],
                        _ => 0,
                    },
                    other => panic!("{other:?} is no neighbour"),
                };
                *shares.entry(mac).or_default() += 1;
            }
        }
        shares
    }

    fn shares_are(&self, address: &str, wanted: &[(u8, usize)]) -> bool {
        self.shares(address) == wanted.iter().copied().collect()
    }
}

#[test]
fn a_multipath_route_is_a_group_and_follows_its_ways() {
    in_own_namespace(|| {
        let (lab, _second) = lab_of_two();
        let mut peer = Neighbour::new();
        let via = ["nexthop", "via", "198.51.100.2", "nexthop", "via", "192.0.2.2"];
        ip_command(&[&["route", "add", "203.0.113.0/24"][..], &via].concat());
        lab.until(&mut peer, "a route of two ways", || lab.shares_are("203.0.113.9", &[(2, 128), (5, 128)]));
        let view = lab.handle.routes(100).expect("the routes");
        let route = view.iter().find(|route| route.prefix == prefix("203.0.113.0/24")).expect("the route");
        assert!(matches!(&route.action, RouteAction::Several(ways) if ways.len() == 2));
        // Weights: three parts in four.
        let heavy = ["nexthop", "via", "198.51.100.2", "nexthop", "via", "192.0.2.2", "weight", "3"];
        ip_command(&[&["route", "replace", "203.0.113.0/24"][..], &heavy].concat());
        lab.until(&mut peer, "the weights", || {
            let shares = lab.shares("203.0.113.9");
            shares.get(&5).is_some_and(|share| (190..=194).contains(share))
        });
        let three = [&via[..], &["nexthop", "via", "198.51.100.3"]].concat();
        ip_command(&[&["route", "replace", "203.0.113.0/24"][..], &three].concat());
        lab.until(&mut peer, "a third way", || lab.shares("203.0.113.9").len() == 3);
        ip_command(&["route", "replace", "203.0.113.0/24", "via", "198.51.100.3"]);
        lab.until(&mut peer, "one way", || lab.header("203.0.113.9").is_some_and(|header| header[5] == 4));
        // IPv6, whose ways come and go one by one.
        ip_command(&["-6", "route", "add", "2001:db8:7::/48", "via", "2001:db8::2"]);
        ip_command(&["-6", "route", "append", "2001:db8:7::/48", "via", "2001:db8:2::2"]);
        lab.until(&mut peer, "a route of two ways", || lab.shares_are("2001:db8:7::9", &[(2, 128), (5, 128)]));
        ip_command(&["-6", "route", "delete", "2001:db8:7::/48", "via", "2001:db8::2"]);
        lab.until(&mut peer, "one way", || lab.header("2001:db8:7::9").is_some_and(|header| header[5] == 5));
        assert_eq!(lab.handle.counts().unreadable, 0);
    });
}

#[test]
fn a_group_of_next_hop_objects_is_followed() {
    in_own_namespace(|| {
        let (lab, _second) = lab_of_two();
        let mut peer = Neighbour::new();
        ip_command(&["nexthop", "add", "id", "1", "via", "198.51.100.2", "dev", "up0"]);
        ip_command(&["nexthop", "add", "id", "2", "via", "192.0.2.2", "dev", "up1"]);
        ip_command(&["nexthop", "add", "id", "9", "group", "1/2"]);
        ip_command(&["route", "add", "203.0.113.0/24", "nhid", "9"]);
        lab.until(&mut peer, "a route of two ways", || lab.shares_are("203.0.113.9", &[(2, 128), (5, 128)]));
        ip_command(&["nexthop", "replace", "id", "9", "group", "1,1/2,3"]);
        lab.until(&mut peer, "the weights", || {
            lab.shares("203.0.113.9").get(&5).is_some_and(|share| (190..=194).contains(share))
        });
        // The kernel takes a member that goes out of the group, with a message about the group.
        ip_command(&["nexthop", "del", "id", "2"]);
        lab.until(&mut peer, "one way", || lab.header("203.0.113.9").is_some_and(|header| header[5] == 2));
    });
}

#[test]
fn a_link_that_goes_down_takes_its_ways_out_and_up_brings_them_back() {
    in_own_namespace(|| {
        let (mut lab, second) = lab_of_two();
        let mut peer = Neighbour::new();
        let via = ["nexthop", "via", "198.51.100.2", "nexthop", "via", "192.0.2.2"];
        ip_command(&[&["route", "add", "203.0.113.0/24"][..], &via].concat());
        lab.add("198.18.0.0/15", "192.0.2.2");
        ip_command(&["-6", "route", "add", "2001:db8:7::/48", "via", "2001:db8:2::2"]);
        lab.until(&mut peer, "a route of two ways", || lab.shares_are("203.0.113.9", &[(2, 128), (5, 128)]));
        peer.until(&lab.twin, "a route of one", |_| lab.header("198.18.0.9").and(lab.header("2001:db8:7::9")));
        let carrier = second.carrier().expect("a descriptor");
        let resyncs = lab.handle.counts().resyncs;
        for _ in 0..3 {
            carrier.set(false).expect("Linux 5.0 or later");
            lab.until(&mut peer, "the other way alone", || {
                lab.header("203.0.113.9").is_some_and(|header| header[5] == 2)
                    && lab.leads_to("198.18.0.9") == NextHop::Unreachable
                    && lab.leads_to("2001:db8:7::9") == NextHop::Unreachable
                    && lab.leads_to("192.0.2.77") == NextHop::Unreachable
            });
            assert_eq!(lab.leads_to("192.0.2.1"), NextHop::Local, "an address of the router stays one");
            carrier.set(true).expect("Linux 5.0 or later");
            // The kernel forgets the neighbours of a link that goes down, but for those that were entered.
            lab.until(&mut peer, "both ways", || lab.shares_are("203.0.113.9", &[(2, 128), (5, 128)]));
            peer.until(&lab.twin, "the one way", |_| lab.header("198.18.0.9").and(lab.header("2001:db8:7::9")));
        }
        assert_eq!(lab.handle.counts().resyncs, resyncs, "the tables need not be read for that");
    });
}

#[test]
fn a_subscriber_s_route_is_in_the_fib_and_in_the_kernel_s_table_until_the_session_ends() {
    in_own_namespace(|| {
        let lab = lab_with(|_| {}, None);
        let mut kernel = Requests::open().expect("a netlink socket");
        let mut own = || {
            let mut found = Vec::new();
            for table in [Table::RoutesIpv4, Table::RoutesIpv6] {
                kernel.dump(table, |message| found.extend(crate::messages::own_pool(&message))).expect("read");
            }
            found
        };
        let session = SessionRef { index: 5, generation: 2 };
        let routes = [prefix("203.0.113.200/32"), prefix("2001:db8:77::/48")];
        for route in routes {
            assert!(lab.handle.session_route(route, Some(session)));
        }
        // Requests are served in their order, so the routes are there when this is answered.
        lab.handle.routes(1).expect("an answer");
        let leads = NextHop::Session { index: 5, generation: 2 };
        assert_eq!((lab.leads_to("203.0.113.200"), lab.leads_to("2001:db8:77:1::1")), (leads, leads));
        assert_eq!(own(), routes);
        assert!(lab.handle.session_route(routes[0], None));
        lab.handle.routes(1).expect("an answer");
        assert_eq!(lab.leads_to("203.0.113.200"), NextHop::Unreachable);
        assert_eq!(own(), routes[1..]);
        // The rest leaves with the thread.
        lab.handle.stop();
        assert!(own().is_empty());
    });
}
