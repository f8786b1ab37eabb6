//! The box of a case: its configuration made tables.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use bng_dataplane::memory::{HEADROOM, MemoryFrame};
use bng_dataplane::{
    Pipeline, PipelineConfig, PortEntry, PortRole, PortTable, Reason, Tables, TpidSet, VidSet, WorkerCounters,
};
use bng_fib::{AdjacencyId, Fib, FibConfig, FibWriter, NextHop};
use bng_session::{
    PoolMap4, PoolMap6, PoolMaps, Rate, SessionIndex, SessionSpec, SessionTable, SessionWriter, TableConfig,
};
use bng_sync::{Placement, Qsbr};
use bng_wire::ether::Ether;
use bng_wire::{MacAddr, PortIndex, SessionId, VlanStack, VlanTag, VrfId};
use serde_json::Value;

/// A port that the tables do not know.
const ABSENT: u8 = 31;

pub(crate) struct World {
    pub(crate) pipeline: Pipeline,
    /// By index. One beyond those of the table is the port that it does not know.
    pub(crate) port_names: Vec<String>,
    /// No buffer is free.
    pub(crate) exhausted: bool,
    headroom: usize,
    ports: usize,
    sessions: SessionWriter,
    session_names: BTreeMap<String, SessionIndex>,
}

impl World {
    pub(crate) fn new(config: &Value) -> Self {
        let all = list(config, "ports");
        let known: Vec<&Value> = all.iter().filter(|port| text(port, "role") != "absent").collect();
        let port_names: Vec<String> = all.iter().map(|port| text(port, "name").to_owned()).collect();
        let ports = Arc::new(PortTable::new(known.iter().map(|port| port_entry(port)).collect()));
        set_router(&ports, &config["router"]);
        if let Some(pcp) = config["control_pcp"].as_u64() {
            ports.priorities().set_control(pcp as u8);
        }
        if let Some(dscp) = config["control_dscp"].as_u64() {
            ports.priorities().set_control_dscp(dscp as u8);
        }
        for it in list(config, "priorities") {
            let number = |key| number(it, key) as usize;
            assert!(ports.priorities().set(number("map"), number("dscp") as u8, number("pcp") as u8));
        }

        let grace = Qsbr::new(1);
        let table = TableConfig { sessions_max: 256, workers: 1, placement: Placement::Ordinary };
        let (table, sessions) = SessionTable::new(table, Arc::clone(&grace)).expect("memory");
        let config_fib = FibConfig { nodes4_max: 256, nodes6_max: 256, ..FibConfig::default() };
        let (fib, writer) = Fib::new(&config_fib, &grace).expect("memory");
        let pools = Arc::new(PoolMaps::new());
        let mut building = Building {
            names: port_names.clone(),
            macs: ports.iter().map(|(_, entry)| entry.mac).collect(),
            fib: writer,
            sessions,
            pools: Arc::clone(&pools),
            hops: BTreeMap::new(),
            session_names: BTreeMap::new(),
            maps: Vec::new(),
        };
        list(config, "pools").iter().for_each(|pool| building.pool(pool));
        list(config, "neighbours").iter().for_each(|neighbour| building.neighbour(neighbour));
        list(config, "sessions").iter().for_each(|session| building.session(session));
        list(config, "routes").iter().for_each(|route| building.route(route));

        let limits = PipelineConfig {
            unknown_sessions_per_second_max: number(&config["limits"], "unknown_sessions_per_second") as u32,
            errors_per_second_max: number(&config["limits"], "errors_per_second") as u32,
            held_per_second_max: config["limits"]["held_per_second"].as_u64().map_or(500, |number| number as u32),
            seed: 0x0123_4567_89ab_cdef,
        };
        let tables = Tables { sessions: table, fib, pools, ports };
        Self {
            pipeline: Pipeline::new(0, tables, Arc::new(WorkerCounters::default()), limits),
            port_names,
            exhausted: config["buffers"] == Value::Bool(false),
            headroom: config["headroom"].as_u64().map_or(HEADROOM, |octets| octets as usize),
            ports: known.len(),
            sessions: building.sessions,
            session_names: building.session_names,
        }
    }

    /// The index of the port with this place in `port_names`.
    pub(crate) fn port(index: usize) -> PortIndex {
        PortIndex(u8::try_from(index).unwrap_or(ABSENT))
    }

    pub(crate) fn frame(&self, octets: &[u8]) -> MemoryFrame {
        MemoryFrame::with_headroom(octets, self.headroom)
    }

    /// Every counter that is not zero, by its name in `counters.json`.
    pub(crate) fn counters(&self) -> BTreeMap<String, u64> {
        let counters = self.pipeline.counters();
        let mut all = BTreeMap::new();
        for reason in Reason::ALL {
            all.insert(format!("reason.{}", reason.label()), counters.reason(*reason).get());
        }
        for (index, name) in self.port_names.iter().take(self.ports).enumerate() {
            let port = counters.port(Self::port(index)).expect("a port");
            for (what, counter) in [
                ("rx_frames", &port.rx_frames),
                ("rx_octets", &port.rx_octets),
                ("tx_frames", &port.tx_frames),
                ("tx_octets", &port.tx_octets),
            ] {
                all.insert(format!("port.{name}.{what}"), counter.get());
            }
        }
        for (name, index) in &self.session_names {
            let totals = self.sessions.table().totals(*index);
            for (what, count) in [
                ("up_packets", totals.up_packets),
                ("up_octets", totals.up_octets),
                ("down_packets", totals.down_packets),
                ("down_octets", totals.down_octets),
                ("up_drops", totals.up_drops),
                ("down_drops", totals.down_drops),
                ("echoes", totals.echoes),
            ] {
                all.insert(format!("session.{name}.{what}"), count);
            }
        }
        for (what, counter) in [
            ("errors_sent", &counters.errors_sent),
            ("errors_unsent", &counters.errors_unsent),
            ("echoes_answered", &counters.echoes_answered),
            ("pings_answered", &counters.pings_answered),
            ("fragments_sent", &counters.fragments_sent),
        ] {
            all.insert(format!("worker.{what}"), counter.get());
        }
        all.retain(|_, count| *count != 0);
        all
    }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} in {value}"))
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key} in {value}"))
}

fn parse<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text:?} cannot be read"))
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("{text:?} is no hexadecimal number"))
}

fn mac(text: &str) -> MacAddr {
    let octets: Vec<u8> = text.split(':').map(|octet| hex(octet) as u8).collect();
    MacAddr(octets.try_into().expect("six octets"))
}

fn prefix(text: &str) -> (IpAddr, u8) {
    let (address, len) = text.split_once('/').expect("a prefix");
    (parse(address), parse(len))
}

fn optional<T: std::str::FromStr>(value: &Value, key: &str) -> Option<T> {
    value[key].as_str().map(parse)
}

fn optional6(value: &Value, key: &str) -> Option<(Ipv6Addr, u8)> {
    match prefix(value[key].as_str()?) {
        (IpAddr::V6(address), len) => Some((address, len)),
        (IpAddr::V4(_), _) => panic!("{key} in {value}"),
    }
}

fn rate(value: &Value, key: &str) -> Option<Rate> {
    let it = value.get(key)?;
    Some(Rate { bits_per_second: number(it, "bits_per_second"), burst_octets: number(it, "burst_octets") as u32 })
}

fn port_entry(port: &Value) -> PortEntry {
    let tpids = list(port, "tpids").iter().map(|tpid| match tpid.as_str() {
        Some("8100") => TpidSet::DOT1Q,
        Some("88a8") => TpidSet::DOT1AD,
        Some("9100") => TpidSet::QINQ_9100,
        _ => panic!("{tpid}"),
    });
    PortEntry {
        role: if text(port, "role") == "access" { PortRole::Access } else { PortRole::Core },
        mac: mac(text(port, "mac")),
        mtu: number(port, "mtu") as u16,
        tpids: tpids.fold(TpidSet::NONE, TpidSet::with),
        vids: VidSet::of(&list(port, "vids").iter().map(|vid| vid.as_u64().expect("a VID") as u16).collect::<Vec<_>>()),
    }
}

fn set_router(ports: &PortTable, router: &Value) {
    ports.router().set_ipv4(optional(router, "ipv4"));
    ports.router().set_ipv6(optional(router, "ipv6"));
}

/// The tables while they are filled.
struct Building {
    names: Vec<String>,
    macs: Vec<MacAddr>,
    fib: FibWriter,
    sessions: SessionWriter,
    pools: Arc<PoolMaps>,
    /// What a route may lead to, by kind and name.
    hops: BTreeMap<String, NextHop>,
    session_names: BTreeMap<String, SessionIndex>,
    maps: Vec<(IpAddr, u16)>,
}

impl Building {
    fn port(&self, value: &Value) -> PortIndex {
        let name = text(value, "port");
        World::port(self.names.iter().position(|other| other == name).expect("a port"))
    }

    fn pool(&mut self, pool: &Value) {
        let (base, len) = prefix(text(pool, "prefix"));
        let number = match base {
            IpAddr::V4(base) => {
                let map = PoolMap4::new(base, 1 << (32 - len), Placement::Ordinary).expect("a pool");
                self.pools.add4(map).expect("room")
            }
            IpAddr::V6(base) => {
                let unit = number(pool, "unit") as u8;
                let map = PoolMap6::new(base, len, unit, Placement::Ordinary).expect("a pool");
                self.pools.add6(map).expect("room")
            }
        };
        self.maps.push((base, number));
        self.hops.insert(format!("pool {}", text(pool, "name")), NextHop::Pool(number));
    }

    fn neighbour(&mut self, neighbour: &Value) {
        let port = self.port(neighbour);
        let id: AdjacencyId = self.fib.adjacency_create(port, number(neighbour, "mtu") as u16).expect("room");
        if neighbour["resolved"] == Value::Bool(true) {
            let tag = neighbour["vlan"].as_u64().map(|vid| VlanTag { tpid: 0x8100, tci: vid as u16 });
            let ether = Ether {
                dst: mac(text(neighbour, "mac")),
                src: self.macs[usize::from(port.0)],
                vlans: VlanStack { outer: tag, inner: None },
                ethertype: 0,
                payload_offset: 0,
            };
            let mut header = [0; 22];
            let len = ether.write(&mut header).expect("room");
            self.fib.adjacency_resolve(id, &header[..len]).expect("an adjacency");
        }
        self.hops.insert(format!("neighbour {}", text(neighbour, "name")), NextHop::Neighbour(id));
    }

    fn session(&mut self, session: &Value) {
        let port = self.port(session);
        let mut tags = list(session, "vlans").iter().map(|tag| VlanTag {
            tpid: hex(tag[0].as_str().expect("an identifier")) as u16,
            tci: tag[1].as_u64().expect("a VID") as u16,
        });
        let vlans = VlanStack { outer: tags.next(), inner: tags.next() };
        let flag = |key: &str| session[key].as_bool().unwrap_or_else(|| panic!("{key} in {session}"));
        let spec = SessionSpec {
            port,
            vlans,
            local_mac: self.macs[usize::from(port.0)],
            peer_mac: mac(text(session, "mac")),
            session_id: SessionId(number(session, "id") as u16),
            mtu: number(session, "mtu") as u16,
            mss_clamp: flag("mss_clamp"),
            source_check: flag("source_check"),
            ipv4: optional(session, "ipv4"),
            gateway_ipv4: optional(session, "gateway"),
            gateway_interface_id: session["gateway_interface_id"].as_str().map(hex),
            echo_magic: session["echo_magic"].as_u64().map(|magic| magic as u32),
            ipv6_prefix: optional6(session, "prefix"),
            delegated_prefix: optional6(session, "delegated"),
            ipv4_up: flag("ipv4_up"),
            ipv6_up: flag("ipv6_up"),
            policer_up: rate(session, "police_up"),
            policer_down: rate(session, "police_down"),
            priority_map: session["priority_map"].as_u64().unwrap_or(0) as u8,
            ..SessionSpec::default()
        };
        let index = self.sessions.insert(&spec).expect("room");
        // An address of a pool is found by the pool's map; another one by the routes of the case.
        for (_, number) in self.maps.iter().filter(|(base, _)| base.is_ipv4()) {
            if let Some(address) = spec.ipv4 {
                self.pools.v4(*number).expect("a pool").set(address, Some(index));
            }
        }
        for (_, number) in self.maps.iter().filter(|(base, _)| base.is_ipv6()) {
            if let Some((address, _)) = spec.ipv6_prefix {
                self.pools.v6(*number).expect("a pool").set(address, Some(index));
            }
        }
        let generation = self.sessions.generation(index);
        let name = text(session, "name").to_owned();
        self.hops.insert(format!("session {name}"), NextHop::Session { index: index.0, generation });
        self.session_names.insert(name, index);
    }

    fn route(&mut self, route: &Value) {
        let hop = match text(route, "via") {
            "local" => NextHop::Local,
            "blackhole" => NextHop::Blackhole,
            "unreachable" => NextHop::Unreachable,
            "glean" => NextHop::Glean { interface: 0 },
            named => *self.hops.get(named).unwrap_or_else(|| panic!("no {named}")),
        };
        match prefix(text(route, "to")) {
            (IpAddr::V4(to), len) => self.fib.insert4(VrfId(0), to, len, hop).map(drop),
            (IpAddr::V6(to), len) => self.fib.insert6(VrfId(0), to, len, hop).map(drop),
        }
        .expect("room");
    }
}
