//! A pipeline with its tables, ports and a few sessions, and builders of frames.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use arrayvec::ArrayVec;
use bng_dataplane::memory::{MemoryFrame, MemorySink, Outcome};
use bng_dataplane::{
    FrameBuf, Pipeline, PipelineConfig, PortEntry, PortRole, PortTable, PuntClass, PuntMeta, Reason, Tables, TpidSet,
    VidSet, WorkerCounters,
};
use bng_fib::{AdjacencyId, Fib, FibConfig, FibWriter, NextHop};
use bng_session::{
    PoolMap4, PoolMap6, PoolMaps, SessionIndex, SessionSpec, SessionTable, SessionTotals, SessionWriter, TableConfig,
};
use bng_sync::{Placement, Qsbr};
use bng_wire::checksum::Sum;
use bng_wire::ether::Ether;
use bng_wire::{MacAddr, PortIndex, SessionId, VlanStack, VlanTag, VrfId, ipv4, ipv6, tcp, udp};

pub const ACCESS: PortIndex = PortIndex(0);
pub const ACCESS_2: PortIndex = PortIndex(1);
pub const CORE: PortIndex = PortIndex(2);
/// Our MAC address on both access ports.
pub const AC: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xfe]);
/// Our MAC address on the core port.
pub const CORE_MAC: MacAddr = MacAddr([2, 0, 0, 0, 1, 0xfe]);
/// The next router on the core port.
pub const ROUTER: MacAddr = MacAddr([2, 0, 0, 0, 1, 1]);
pub const CLIENT: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
pub const CLIENT_2: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

/// The first client's address.
pub const IP: &str = "192.0.2.10";
/// The second client's address.
pub const IP_2: &str = "192.0.2.11";
pub const GATEWAY: &str = "192.0.2.1";
/// A host behind the next router.
pub const SERVER: &str = "203.0.113.9";
pub const IP6: &str = "2001:db8:100:1::10";
pub const SERVER6: &str = "2001:db8:ffff::9";

pub fn v4(text: &str) -> u32 {
    text.parse::<Ipv4Addr>().expect("an IPv4 address").to_bits()
}

pub fn v6(text: &str) -> u128 {
    text.parse::<Ipv6Addr>().expect("an IPv6 address").to_bits()
}

pub struct Bed {
    pub pipeline: Pipeline,
    pub sessions: SessionWriter,
    pub fib: FibWriter,
    pub pools: Arc<PoolMaps>,
    pub pool4: u16,
    pub router: AdjacencyId,
    pub client: SessionIndex,
    pub client_2: SessionIndex,
    pub spec: SessionSpec,
    pub now_ms: u64,
    /// What was sent besides the frame itself: errors and later fragments.
    pub extra: Vec<(PortIndex, Vec<u8>)>,
}

/// The first client's session.
pub fn spec() -> SessionSpec {
    SessionSpec {
        port: ACCESS,
        local_mac: AC,
        peer_mac: CLIENT,
        session_id: SessionId(1),
        mtu: 1492,
        ipv4: Some(IP.parse().expect("an address")),
        gateway_ipv4: Some(GATEWAY.parse().expect("an address")),
        ipv6_prefix: Some(("2001:db8:100:1::".parse().expect("a prefix"), 64)),
        delegated_prefix: Some(("2001:db8:8000:100::".parse().expect("a prefix"), 56)),
        ipv4_up: true,
        ipv6_up: true,
        ..SessionSpec::default()
    }
}

impl Bed {
    pub fn new() -> Self {
        let grace = Qsbr::new(1);
        let config = TableConfig { sessions_max: 4096, workers: 1, placement: Placement::Ordinary };
        let (table, mut sessions) = SessionTable::new(config, Arc::clone(&grace)).expect("memory");
        let config = FibConfig { nodes4_max: 1024, nodes6_max: 1024, ..FibConfig::default() };
        let (fib, mut writer) = Fib::new(&config, &grace).expect("memory");
        let pools = Arc::new(PoolMaps::new());
        let map = PoolMap4::new(Ipv4Addr::from_bits(v4("192.0.2.0")), 256, Placement::Ordinary).expect("a pool");
        let pool4 = pools.add4(map).expect("room");
        let map = PoolMap6::new(Ipv6Addr::from_bits(v6("2001:db8:100::")), 48, 64, Placement::Ordinary);
        let pool6 = pools.add6(map.expect("a pool")).expect("room");

        let router = writer.adjacency_create(CORE, 1500).expect("room");
        let mut header = [0; 14];
        let ether = Ether { dst: ROUTER, src: CORE_MAC, vlans: VlanStack::default(), ethertype: 0, payload_offset: 14 };
        ether.write(&mut header).expect("room");
        writer.adjacency_resolve(router, &header).expect("an adjacency");
        let vrf = VrfId(0);
        let mut route4 = |to: &str, len, hop| {
            writer.insert4(vrf, to.parse().expect("an address"), len, hop).expect("room");
        };
        route4("0.0.0.0", 0, NextHop::Neighbour(router));
        route4("192.0.2.0", 24, NextHop::Pool(pool4));
        route4(GATEWAY, 32, NextHop::Local);
        let mut route6 = |to: &str, len, hop| {
            writer.insert6(vrf, to.parse().expect("an address"), len, hop).expect("room");
        };
        route6("::", 0, NextHop::Neighbour(router));
        route6("2001:db8:100::", 48, NextHop::Pool(pool6));

        let access =
            || PortEntry { role: PortRole::Access, mac: AC, mtu: 1508, tpids: TpidSet::ALL, vids: VidSet::default() };
        let core = PortEntry {
            role: PortRole::Core,
            mac: CORE_MAC,
            mtu: 1500,
            tpids: TpidSet::DOT1Q,
            vids: VidSet::of(&[0, 10]),
        };
        let ports = Arc::new(PortTable::new(vec![access(), access(), core]));

        let spec = spec();
        let client = sessions.insert(&spec).expect("room");
        let second = SessionSpec {
            peer_mac: CLIENT_2,
            session_id: SessionId(2),
            ipv4: Some(IP_2.parse().expect("an address")),
            ipv6_prefix: Some(("2001:db8:100:2::".parse().expect("a prefix"), 64)),
            delegated_prefix: None,
            ..spec
        };
        let client_2 = sessions.insert(&second).expect("room");
        let map = pools.v4(pool4).expect("a map");
        assert!(map.set(IP.parse().expect("an address"), Some(client)));
        assert!(map.set(IP_2.parse().expect("an address"), Some(client_2)));
        let map = pools.v6(pool6).expect("a map");
        assert!(map.set("2001:db8:100:1::".parse().expect("a prefix"), Some(client)));
        assert!(map.set("2001:db8:100:2::".parse().expect("a prefix"), Some(client_2)));
        let generation = sessions.generation(client);
        writer
            .insert6(
                vrf,
                "2001:db8:8000:100::".parse().expect("a prefix"),
                56,
                NextHop::Session { index: client.0, generation },
            )
            .expect("room");

        let tables = Tables { sessions: table, fib, pools: Arc::clone(&pools), ports };
        let pipeline = Pipeline::new(0, tables, Arc::new(WorkerCounters::default()), PipelineConfig::default());
        Self {
            pipeline,
            sessions,
            fib: writer,
            pools,
            pool4,
            router,
            client,
            client_2,
            spec,
            now_ms: 1_000_000,
            extra: Vec::new(),
        }
    }

    /// Changes the first client's session.
    pub fn change(&mut self, change: impl FnOnce(&mut SessionSpec)) {
        change(&mut self.spec);
        assert!(self.sessions.update(self.client, &self.spec));
    }

    pub fn route4(&mut self, to: &str, len: u8, hop: NextHop) {
        self.fib.insert4(VrfId(0), to.parse().expect("an address"), len, hop).expect("room");
    }

    pub fn totals(&self, index: SessionIndex) -> SessionTotals {
        self.sessions.table().totals(index)
    }

    pub fn count(&self, reason: Reason) -> u64 {
        self.pipeline.counters().reason(reason).get()
    }

    /// Sends a burst; the outcomes, in order.
    pub fn burst(&mut self, port: PortIndex, frames: impl IntoIterator<Item = MemoryFrame>) -> Vec<Outcome> {
        let mut burst: ArrayVec<_, 32> = frames.into_iter().collect();
        let mut sink = MemorySink::default();
        self.pipeline.process(port, &mut burst, self.now_ms, &mut sink);
        assert!(burst.is_empty());
        sink.outcomes
    }

    /// Sends one frame; what became of it. What was sent on its behalf besides is in `extra`.
    pub fn send(&mut self, port: PortIndex, frame: &[u8]) -> Result {
        let mut outcomes = self.burst(port, [MemoryFrame::of(frame)]);
        // An error precedes the end of the frame it is about.
        let outcome = outcomes.pop().expect("each frame ends");
        self.extra = outcomes
            .into_iter()
            .map(|outcome| match outcome {
                Outcome::Transmit(port, frame) => (port, frame.bytes().to_vec()),
                other => panic!("each frame ends once: {other:?}"),
            })
            .collect();
        match outcome {
            Outcome::Transmit(port, frame) => Result::Sent(port, frame.bytes().to_vec()),
            Outcome::Punt(class, meta, punted) => {
                assert_eq!(punted.bytes(), frame, "what is punted is unchanged");
                Result::Punted(class, meta)
            }
            Outcome::Discard(reason, _) => Result::Dropped(reason),
        }
    }

    /// Sends one frame that is transmitted on `to`.
    #[track_caller]
    pub fn forward(&mut self, from: PortIndex, frame: &[u8], to: PortIndex) -> Vec<u8> {
        match self.send(from, frame) {
            Result::Sent(port, out) if port == to => out,
            other => panic!("not sent on {to:?}: {other:?}"),
        }
    }

    /// Sends one frame that is dropped, and counted so.
    #[track_caller]
    pub fn drops(&mut self, from: PortIndex, frame: &[u8], reason: Reason) {
        let before = self.count(reason);
        assert_eq!(self.send(from, frame), Result::Dropped(reason));
        assert_eq!(self.count(reason), before + 1);
    }

    /// Sends one frame that is punted, and counted so.
    #[track_caller]
    pub fn punts(&mut self, from: PortIndex, frame: &[u8], class: PuntClass, reason: Reason) -> PuntMeta {
        let before = self.count(reason);
        match self.send(from, frame) {
            Result::Punted(to, meta) => {
                assert_eq!((to, meta.reason, meta.port), (class, reason, from));
                assert_eq!(self.count(reason), before + 1);
                meta
            }
            other => panic!("not punted: {other:?}"),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum Result {
    Sent(PortIndex, Vec<u8>),
    Punted(PuntClass, PuntMeta),
    Dropped(Reason),
}

pub fn untagged() -> VlanStack {
    VlanStack::default()
}

pub fn tagged(outer: (u16, u16), inner: Option<(u16, u16)>) -> VlanStack {
    let tag = |(tpid, tci)| VlanTag { tpid, tci };
    VlanStack { outer: Some(tag(outer)), inner: inner.map(tag) }
}

/// An Ethernet frame, not padded.
pub fn ether(dst: MacAddr, src: MacAddr, vlans: VlanStack, ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 22];
    let len = Ether { dst, src, vlans, ethertype, payload_offset: 0 }.write(&mut frame).expect("room");
    frame.truncate(len);
    frame.extend_from_slice(payload);
    frame
}

/// A PPPoE session frame, padded to 60 octets with aa.
pub fn pppoe(dst: MacAddr, src: MacAddr, vlans: VlanStack, id: u16, protocol: u16, payload: &[u8]) -> Vec<u8> {
    let mut octets = vec![0x11, 0];
    octets.extend(id.to_be_bytes());
    octets.extend((payload.len() as u16 + 2).to_be_bytes());
    octets.extend(protocol.to_be_bytes());
    octets.extend_from_slice(payload);
    pad(ether(dst, src, vlans, 0x8864, &octets), 0xaa)
}

/// A session frame of the first client with an IPv4 packet.
pub fn up(packet: &[u8]) -> Vec<u8> {
    pppoe(AC, CLIENT, untagged(), 1, 0x0021, packet)
}

/// The same with an IPv6 packet.
pub fn up6(packet: &[u8]) -> Vec<u8> {
    pppoe(AC, CLIENT, untagged(), 1, 0x0057, packet)
}

/// A frame from the next router, padded to 60 octets with aa.
pub fn down(packet: &[u8]) -> Vec<u8> {
    let kind = if packet.first().is_some_and(|octet| octet >> 4 == 6) { 0x86dd } else { 0x0800 };
    pad(ether(CORE_MAC, ROUTER, untagged(), kind, packet), 0xaa)
}

pub fn pad(mut frame: Vec<u8>, with: u8) -> Vec<u8> {
    while frame.len() < 60 {
        frame.push(with);
    }
    frame
}

/// An IPv4 packet.
pub fn ip4(src: &str, dst: &str, protocol: u8, ttl: u8, payload: &[u8]) -> Vec<u8> {
    let header = ipv4::Header::new(v4(src), v4(dst), protocol, ttl, payload.len());
    let mut packet = vec![0; 20];
    header.write(&mut packet).expect("room");
    packet.extend_from_slice(payload);
    packet
}

/// An IPv6 packet.
pub fn ip6(src: &str, dst: &str, next: u8, hops: u8, payload: &[u8]) -> Vec<u8> {
    let header = ipv6::Header::new(v6(src), v6(dst), next, hops, payload.len());
    let mut packet = vec![0; 40];
    header.write(&mut packet).expect("room");
    packet.extend_from_slice(payload);
    packet
}

/// A UDP datagram without checksum.
pub fn datagram(src: u16, dst: u16, payload: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; 8];
    let len = (payload.len() + 8) as u16;
    let header = udp::Header { src_port: src.into(), dst_port: dst.into(), len: len.into(), checksum: 0.into() };
    header.write(&mut octets).expect("room");
    octets.extend_from_slice(payload);
    octets
}

/// An ordinary packet from the first client.
pub fn ordinary() -> Vec<u8> {
    ip4(IP, SERVER, 17, 64, &datagram(40000, 53, b"who is there, and where?"))
}

/// An ordinary packet for the first client.
pub fn answer() -> Vec<u8> {
    ip4(SERVER, IP, 17, 64, &datagram(53, 40000, b"it is I, and here."))
}

/// A TCP segment with options (to be padded to whole words), checksummed for the addresses.
pub fn segment(flags: u8, options: &[u8], data: &[u8], pseudo: impl Fn(usize) -> Sum) -> Vec<u8> {
    let words = options.len().div_ceil(4);
    let header = tcp::Header {
        src_port: 40000.into(),
        dst_port: 443.into(),
        sequence: 1.into(),
        acknowledgment: 2.into(),
        data_offset: ((5 + words) << 4) as u8,
        flags,
        window: 64240.into(),
        checksum: 0.into(),
        urgent: 0.into(),
    };
    let mut octets = vec![0; 20 + words * 4];
    header.write(&mut octets).expect("room");
    octets[20..20 + options.len()].copy_from_slice(options);
    octets.extend_from_slice(data);
    let sum = pseudo(octets.len()).octets(&octets).checksum();
    octets[16..18].copy_from_slice(&sum.to_be_bytes());
    octets
}

/// A TCP packet over IPv4.
pub fn tcp4(src: &str, dst: &str, flags: u8, options: &[u8], data: &[u8]) -> Vec<u8> {
    let octets = segment(flags, options, data, |len| Sum::ZERO.pseudo_ipv4(v4(src), v4(dst), 6, len as u16));
    ip4(src, dst, 6, 64, &octets)
}

/// A TCP packet over IPv6.
pub fn tcp6(src: &str, dst: &str, flags: u8, options: &[u8], data: &[u8]) -> Vec<u8> {
    let octets = segment(flags, options, data, |len| Sum::ZERO.pseudo_ipv6(v6(src), v6(dst), 6, len as u32));
    ip6(src, dst, 6, 64, &octets)
}

/// True where the packet's IPv4 header and its TCP checksum are right.
pub fn tcp4_is_valid(packet: &[u8]) -> bool {
    let Ok(header) = ipv4::Header::check(packet) else { return false };
    let segment = &packet[header.header_len()..usize::from(header.total_len.get())];
    Sum::ZERO.pseudo_ipv4(header.src.get(), header.dst.get(), 6, segment.len() as u16).octets(segment).fold() == 0xffff
}

/// True where the packet's TCP checksum is right.
pub fn tcp6_is_valid(packet: &[u8]) -> bool {
    let Ok(header) = ipv6::Header::check(packet) else { return false };
    let segment = &packet[40..header.total_len()];
    Sum::ZERO.pseudo_ipv6(header.src.get(), header.dst.get(), 6, segment.len() as u32).octets(segment).fold() == 0xffff
}

/// What a packet looks like after one hop.
pub fn hopped(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    if packet[0] >> 4 == 6 {
        packet[7] -= 1;
    } else {
        let len = usize::from(packet[0] & 15) * 4;
        packet[8] -= 1;
        packet[10..12].fill(0);
        let sum = bng_wire::checksum::checksum(&packet[..len]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    packet
}
