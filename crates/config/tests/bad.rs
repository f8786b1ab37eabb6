//! Bad configurations, each with the line, the path and the reason that must be reported. Every case is the good
//! configuration below with one text replaced.

use std::path::Path;

use bng_config::{ConfigErrors, Machine, Severity, load_text};

const GOOD: &str = r#"node: {name: bng1}
cores: {control: 0, workers: [1, 2]}
ports:
  access0: {device: "net_tap0,iface=acc0", mtu: 1504, queues: 2}
  core0: {device: "0000:3b:00.0"}
interfaces:
  uplink: {port: core0, addresses: [198.51.100.1/30, "2001:db8::1/64"]}
  second: {port: core0, vlan: 7, addresses: [203.0.113.1/24]}
routes:
  - {to: 0.0.0.0/0, via: 198.51.100.2}
  - {to: "::/0", via: "fe80::1", interface: uplink}
access:
  - {port: access0, outer_vlan: 100-199, inner_vlan: any, profile: residential}
  - {port: access0, outer_vlan: [100, 200], inner_vlan: 5-9, profile: residential}
  - {port: access0, outer_vlan: 100-199, profile: residential}
  - {port: access0, untagged: true, profile: residential}
profiles:
  residential:
    pppoe: {service_names: [""], max_payload: 1500}
    ppp: {auth: [chap-md5, pap], mru: 1492, echo_interval: 30s}
    ipv4: {gateway: 100.64.0.1, pool: pool4, dns: [203.0.113.53]}
    ipv6: {prefix_pool: slaac6, delegated_pool: pd6}
pools:
  pool4: {prefix: 100.64.0.0/16, exclude: [100.64.9.0-100.64.9.255]}
  slaac6: {prefix: "2001:db8:100::/40", length: 64}
  pd6: {prefix: "2001:db8:8000::/34", length: 56}
aaa:
  local:
    users:
      - {name: user1, password: hunter2}
telemetry: {listen: 127.0.0.1:9464, socket: /run/bngd/api.sock}
stop: {sessions: disconnect}
"#;

fn machine() -> Machine {
    Machine { cpus: vec![0, 1, 2, 3], host_name: "host1".into() }
}

fn check(text: &str) -> Result<bng_config::Config, ConfigErrors> {
    load_text(Path::new("bng.yaml"), text, &machine())
}

/// What to replace, with what, and the one error: line, path, reason's beginning, help's beginning.
type Case = (&'static str, &'static str, usize, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const ERRORS: &[Case] = &[
    // Keys.
    ("mtu: 1504", "mut: 1504", 4, "ports.access0.mut", "unknown key `mut`", "did you mean `mtu`?"),
    ("mtu: 1504", "speed: 10", 4, "ports.access0.speed", "unknown key `speed`", "known keys here: device, netns, mtu, queues, rss, mac, descriptors"),
    ("stop: {", "stopp: {", 32, "stopp", "unknown key `stopp`", "did you mean `stop`?"),
    ("mtu: 1504", "mtu: 1500, mtu: 1504", 4, "", "the key `mtu` is already there, in line 4", "remove one"),
    ("  core0: {device", "  access0: {device: net_null1}\n  core0: {device", 5, "", "the key `access0` is already there, in line 4", "remove one"),
    ("device: \"0000:3b:00.0\"", "mtu: 1500", 5, "ports.core0", "the key `device` is missing", ""),
    // Values.
    ("mtu: 1504", "mtu: big", 4, "ports.access0.mtu", "expected a whole number from 576 to 9600, found `big`", ""),
    ("mtu: 1504", "mtu: -1", 4, "ports.access0.mtu", "expected a whole number from 576 to 9600, found `-1`", ""),
    ("mtu: 1504", "mtu: [1504]", 4, "ports.access0.mtu", "expected a whole number from 576 to 9600, found a list", ""),
    ("echo_interval: 30s", "echo_interval: 30", 20, "profiles.residential.ppp.echo_interval", "expected a time from 0 to 1h, found `30`", "a time has a unit: write `30s`"),
    ("echo_interval: 30s", "echo_interval: 30sec", 20, "profiles.residential.ppp.echo_interval", "expected a time from 0 to 1h, found `30sec`", "write a number and a unit"),
    ("echo_interval: 30s", "echo_interval: 2h", 20, "profiles.residential.ppp.echo_interval", "expected a time from 0 to 1h, found `2h`", ""),
    ("auth: [chap-md5, pap]", "auth: [chap-md, pap]", 20, "profiles.residential.ppp.auth[0]", "expected `chap-md5`, `ms-chap-v2` or `pap`, found `chap-md`", "did you mean `chap-md5`?"),
    ("auth: [chap-md5, pap]", "auth: [pap, pap]", 20, "profiles.residential.ppp.auth[1]", "this protocol is already in the list", ""),
    ("auth: [chap-md5, pap]", "auth: []", 20, "profiles.residential.ppp.auth", "at least one authentication protocol", ""),
    ("auth: [chap-md5, pap]", "auth: pap", 20, "profiles.residential.ppp.auth", "expected a list, found the single value `pap`", "write it in brackets"),
    ("untagged: true", "untagged: yes", 16, "access[3].untagged", "expected `true` or `false`, found `yes`", "write `true`"),
    ("disconnect", "drop", 32, "stop.sessions", "expected `keep` or `disconnect`, found `drop`", ""),
    ("listen: 127.0.0.1:9464", "listen: 127.0.0.1", 31, "telemetry.listen", "expected ADDRESS:PORT", ""),
    ("socket: /run/bngd/api.sock", "socket: api.sock", 31, "telemetry.socket", "expected an absolute path", ""),
    ("service_names: [\"\"]", "service_names: []", 19, "profiles.residential.pppoe.service_names", "no service is offered", "the empty name"),
    ("service_names: [\"\"]", "service_names: [a, a]", 19, "profiles.residential.pppoe.service_names[1]", "the service `a` is already", ""),
    ("mru: 1492", "mru: 1501", 20, "profiles.residential.ppp.mru", "an MRU of 1501 can never be agreed: `pppoe.max_payload` is 1500", ""),
    // Rates, priorities, discovery.
    ("ppp: {auth", "rate: {up: 10}\n    ppp: {auth", 20, "profiles.residential.rate.up", "expected a rate from 64kbit/s to 400Gbit/s, found `10`", "write a whole number and a unit"),
    ("ppp: {auth", "rate: {up: 10kbit/s}\n    ppp: {auth", 20, "profiles.residential.rate.up", "expected a rate from 64kbit/s to 400Gbit/s, found `10kbit/s`", ""),
    ("ppp: {auth", "rate: {burst_down: 64KiB}\n    ppp: {auth", 20, "profiles.residential.rate.burst_down", "a burst without a rate: add `down`", ""),
    ("ppp: {auth", "priority_map: voice\n    ppp: {auth", 20, "profiles.residential.priority_map", "no priority map has the name `voice`", "there is no priority map at all"),
    ("pools:\n", "priority_maps: {voice: [{dscp: 64, pcp: 5}]}\npools:\n", 23, "priority_maps.voice[0].dscp", "expected a DSCP from 0 to 63", ""),
    ("pools:\n", "priority_maps: {voice: [{dscp: 46, pcp: 8}]}\npools:\n", 23, "priority_maps.voice[0].pcp", "expected a whole number from 0 to 7, found `8`", ""),
    ("pools:\n", "priority_maps: {voice: [{dscp: 40-47, pcp: 5}, {dscp: 46, pcp: 6}]}\npools:\n", 23, "priority_maps.voice[1]", "a DSCP of this entry is in the map already", ""),
    ("max_payload: 1500}", "pado_rules: [{sessions_from: 5, service_name: x, delay: 1s}]}", 19, "profiles.residential.pppoe.pado_rules[0]", "a rule has exactly one of `sessions_from`", ""),
    ("max_payload: 1500}", "pado_rules: [{sessions_from: 5}]}", 19, "profiles.residential.pppoe.pado_rules[0]", "a rule has exactly one of `delay`", ""),
    ("max_payload: 1500}", "macs: {deny: ['02:00/24']}}", 19, "profiles.residential.pppoe.macs.deny[0]", "expected a MAC address", ""),
    ("max_payload: 1500}", "macs: {deny: ['02:00:00']}}", 19, "profiles.residential.pppoe.macs.deny[0]", "expected a MAC address", ""),
    ("stop: {", "limits: {lock_out: {wait: 10m}}\nstop: {", 32, "limits.lock_out.wait", "the first lock-out is longer than the longest", ""),
    // Users.
    ("password: hunter2}", "password: hunter2, ipv4: 224.0.0.1}", 30, "aaa.local.users[0].ipv4", "224.0.0.1 is no address of a host", ""),
    ("password: hunter2}", "password: hunter2, ipv4: 100.64.0.1}", 30, "aaa.local.users[0].ipv4", "100.64.0.1 is the gateway of a profile", ""),
    ("password: hunter2}", "password: hunter2, ipv4: 192.0.2.9}\n      - {name: user2, password: x, ipv4: 192.0.2.9}", 31, "aaa.local.users[1].ipv4", "192.0.2.9 is the address of `user1` already", ""),
    // IPv6.
    ("delegated_pool: pd6", "ra: {interval: 40m}", 22, "profiles.residential.ipv6.ra.interval", "expected a time from 4s to 30m, found `40m`", ""),
    ("delegated_pool: pd6", "ra: {interval_min: 9m}", 22, "profiles.residential.ipv6.ra.interval_min", "the shortest interval is at most three quarters", ""),
    ("delegated_pool: pd6", "ra: {lifetime: 5m}", 22, "profiles.residential.ipv6.ra.lifetime", "the lifetime is 0, or not less than `interval`", ""),
    ("delegated_pool: pd6", "ra: {prefix_preferred: 800h}", 22, "profiles.residential.ipv6.ra.prefix_preferred", "the preferred lifetime is longer than the valid one, `prefix_valid`", ""),
    ("delegated_pool: pd6", "dhcp: {preferred: 3h}", 22, "profiles.residential.ipv6.dhcp.preferred", "the preferred lifetime is longer than the valid one, `valid`", ""),
    ("delegated_pool: pd6", "domains: [example..net]", 22, "profiles.residential.ipv6.domains[0]", "`example..net` is no domain name", ""),
    // Cores.
    ("workers: [1, 2]", "workers: [1, 9]", 2, "cores.workers[1]", "CPU 9 does not exist: this machine has 0-3", ""),
    ("control: 0", "control: 4", 2, "cores.control", "CPU 4 does not exist", ""),
    ("workers: [1, 2]", "workers: []", 2, "cores.workers", "at least one worker", ""),
    ("cores: {control: 0, workers: [1, 2]}\n", "", 0, "", "the key `cores` is missing", ""),
    (", workers: [1, 2]", "", 2, "cores", "the key `workers` is missing", ""),
    // Ports.
    ("mtu: 1504", "mtu: 1508", 4, "ports.access0.mtu", "net_tap takes an MTU of at most 1504, not 1508", "1504 carries"),
    ("queues: 2", "queues: 5", 4, "ports.access0.queues", "net_tap takes at most 4 queues, not 5", ""),
    ("queues: 2", "queues: 3", 4, "ports.access0.queues", "3 queues are more than the 2 workers", ""),
    ("queues: 2", "queues: {rx: 2, tx: 1}", 4, "ports.access0.queues", "2 receive and 1 transmit queues: the two must be equal", "each worker"),
    ("0000:3b:00.0\"", "eth0\"", 5, "ports.core0.device", "`eth0` is no DPDK device", "write a PCI address"),
    ("0000:3b:00.0\"", "net_tap0,iface=cor0\"", 5, "ports.core0.device", "the device `net_tap0` is already the port `access0`", ""),
    ("0000:3b:00.0\"", "net_tap1,iface=acc0\"", 5, "ports.core0.device", "`iface=acc0` is already the kernel's side of the port `access0`", ""),
    ("0000:3b:00.0\"", "net_tap1,iface=uplink\"", 5, "ports.core0.device", "`iface=uplink` is also the name of an interface", "rename one"),
    ("0000:3b:00.0\"", "net_tap1,iface=a-very-long-name\"", 5, "ports.core0.device", "`iface=a-very-long-name`: the name of a kernel interface", ""),
    ("0000:3b:00.0\"", "3b:00.0\", netns: x", 5, "ports.core0.netns", "only a net_tap port", ""),
    ("queues: 2", "netns: a/b", 4, "ports.access0.netns", "expected the name of a file in /run/netns", ""),
    ("queues: 2", "mac: 01:00:00:00:00:01", 4, "ports.access0.mac", "a port needs the address of one station", ""),
    ("queues: 2", "mac: 2:0:0:0:0:1", 4, "ports.access0.mac", "expected a MAC address such as", ""),
    ("  core0: {", "  co re: {device: net_null1}\n  core0: {", 5, "ports.co re", "`co re` cannot be a name", "a name is"),
    // Interfaces.
    ("second: {port: core0", "second: {port: core1", 8, "interfaces.second.port", "no port has the name `core1`", "did you mean `core0`?"),
    ("second: {port: core0", "second: {port: other", 8, "interfaces.second.port", "no port has the name `other`", "there are: access0, core0"),
    ("second: {", "a-name-of-16-octs: {", 8, "interfaces.a-name-of-16-octs", "`a-name-of-16-octs` has 17 octets", ""),
    ("second: {", "lo: {", 8, "interfaces.lo", "the name `lo` is taken", ""),
    ("vlan: 7, ", "", 8, "interfaces.second", "untagged on the port `core0` is already the interface `uplink`", ""),
    ("vlan: 7", "vlan: 4095", 8, "interfaces.second.vlan", "expected a whole number from 1 to 4094, found `4095`", ""),
    ("203.0.113.1/24", "203.0.113.0/24", 8, "interfaces.second.addresses[0]", "203.0.113.0 is the network's own address", ""),
    ("203.0.113.1/24", "203.0.113.255/24", 8, "interfaces.second.addresses[0]", "203.0.113.255 is the network's broadcast address", ""),
    ("203.0.113.1/24", "203.0.113.1", 8, "interfaces.second.addresses[0]", "expected ADDRESS/LENGTH, for example 198.51.100.1/30, found `203.0.113.1`", ""),
    ("203.0.113.1/24", "203.0.113.1/33", 8, "interfaces.second.addresses[0]", "`203.0.113.1/33`: the prefix length must be 0 to 32", ""),
    ("203.0.113.1/24", "127.0.0.1/8", 8, "interfaces.second.addresses[0]", "127.0.0.1 is a loopback address", ""),
    ("203.0.113.1/24", "198.51.100.5/24", 8, "interfaces.second.addresses[0]", "198.51.100.0/24 overlaps 198.51.100.0/30 of the interface `uplink`", ""),
    ("203.0.113.1/24]", "203.0.113.1/24], mtu: 1600", 8, "interfaces.second.mtu", "an MTU of 1600 is more than the port's, 1500", ""),
    // Routes.
    ("via: 198.51.100.2", "via: 192.0.2.1", 10, "routes[0].via", "192.0.2.1 is in no network of any interface", "the next hop must be a neighbour"),
    ("via: 198.51.100.2", "via: 198.51.100.1", 10, "routes[0].via", "198.51.100.1 is this box's own address, on `uplink`", ""),
    ("via: 198.51.100.2", "via: \"2001:db8::2\"", 10, "routes[0].via", "2001:db8::2 is not of the family of 0.0.0.0/0", ""),
    (", interface: uplink", "", 11, "routes[1].via", "fe80::1 is link-local", "add `interface:`"),
    ("interface: uplink", "interface: uplnk", 11, "routes[1].interface", "no interface has the name `uplnk`", "did you mean `uplink`?"),
    ("via: 198.51.100.2", "via: 198.51.100.2, interface: second", 10, "routes[0].via", "198.51.100.2 is in no network of the interface `second`", ""),
    ("to: \"::/0\"", "to: 10.0.0.1/8", 11, "routes[1].to", "`10.0.0.1/8`: the address has bits set behind the prefix length: the network is 10.0.0.0/8", ""),
    ("  - {to: \"::/0\"", "  - {to: 0.0.0.0/0, via: 203.0.113.9}\n  - {to: \"::/0\"", 11, "routes[1].to", "a route to 0.0.0.0/0 is already there, in line 10", ""),
    ("  - {to: \"::/0\"", "  - {to: 100.64.0.0/16, via: 203.0.113.9}\n  - {to: \"::/0\"", 11, "routes[1].to", "100.64.0.0/16 is also the pool `pool4`", ""),
    // Access.
    ("untagged: true, profile: residential", "untagged: true, profile: residental", 16, "access[3].profile", "no profile has the name `residental`", "did you mean `residential`?"),
    ("port: access0, untagged", "port: acces0, untagged", 16, "access[3].port", "no port has the name `acces0`", "did you mean `access0`?"),
    ("outer_vlan: [100, 200], inner_vlan: 5-9", "outer_vlan: [100, 150-160], inner_vlan: 5-9", 14, "access[1]", "`access[1]` can never match", "the first match wins"),
    ("outer_vlan: 100-199, profile", "untagged: true, profile", 16, "access[3]", "`access[3]` can never match", "the first match wins"),
    ("outer_vlan: 100-199, profile", "outer_vlan: 199-100, profile", 15, "access[2].outer_vlan", "the range 199-100 runs backwards", ""),
    ("outer_vlan: 100-199, profile", "outer_vlan: 0, profile", 15, "access[2].outer_vlan", "VLAN id 0 is outside 1-4094", ""),
    ("outer_vlan: 100-199, profile", "outer_vlan: x, profile", 15, "access[2].outer_vlan", "expected a VLAN id (100), a range", ""),
    ("outer_vlan: [100, 200]", "outer_vlan: [100, 5000]", 14, "access[1].outer_vlan[1]", "VLAN id 5000 is outside 1-4094", ""),
    ("outer_vlan: 100-199, profile", "inner_vlan: 7, profile", 15, "access[2].inner_vlan", "`inner_vlan` needs `outer_vlan`", "a single tag is the outer one"),
    ("outer_vlan: 100-199, profile", "profile", 15, "access[2]", "this match does not say which frames it is for", "add `untagged: true`"),
    ("untagged: true", "untagged: true, tpid: dot1q", 16, "access[3].tpid", "`tpid` makes no sense beside `untagged: true`", ""),
    ("untagged: true", "outer_vlan: 300, tpid: 0x8100", 16, "access[3].tpid", "expected `dot1q`, `dot1ad` or `0x9100`, found `0x8100`", "did you mean `0x9100`?"),
    // Profiles.
    ("pool: pool4", "pool: pool5", 21, "profiles.residential.ipv4.pool", "no pool has the name `pool5`", "did you mean `pool4`?"),
    ("pool: pool4", "pool: pd6", 21, "profiles.residential.ipv4.pool", "`pd6` is an IPv6 pool", ""),
    ("prefix_pool: slaac6", "prefix_pool: pool4", 22, "profiles.residential.ipv6.prefix_pool", "`pool4` is an IPv4 pool", ""),
    ("prefix_pool: slaac6", "prefix_pool: pd6", 22, "profiles.residential.ipv6.prefix_pool", "the prefix of a line is a /64 (RFC 4862), and `pd6` gives out /56", ""),
    ("gateway: 100.64.0.1", "gateway: 100.64.0.0", 21, "profiles.residential.ipv4.gateway", "100.64.0.0 is the network's own address", ""),
    ("gateway: 100.64.0.1", "gateway: 100.64.255.255", 21, "profiles.residential.ipv4.gateway", "100.64.255.255 is the broadcast address", ""),
    ("gateway: 100.64.0.1", "gateway: 224.0.0.1", 21, "profiles.residential.ipv4.gateway", "224.0.0.1 is no address of a router", ""),
    ("dns: [203.0.113.53]", "dns: [1.1.1.1, 2.2.2.2, 3.3.3.3]", 21, "profiles.residential.ipv4.dns[2]", "at most 2 name servers", ""),
    ("dns: [203.0.113.53]", "dns: [0.0.0.0]", 21, "profiles.residential.ipv4.dns[0]", "0.0.0.0 is no address of a server", ""),
    // Pools.
    ("prefix: \"2001:db8:8000::/34\"", "prefix: \"2001:db8:100::/48\"", 26, "pools.pd6.prefix", "2001:db8:100::/48 overlaps the pool `slaac6`, 2001:db8:100::/40", ""),
    ("prefix: 100.64.0.0/16", "prefix: 100.0.0.0/7", 24, "pools.pool4.prefix", "an IPv4 pool is a /8 or longer", ""),
    ("prefix: 100.64.0.0/16", "prefix: 100.64.1.0/16", 24, "pools.pool4.prefix", "`100.64.1.0/16`: the address has bits set behind the prefix length: the network is 100.64.0.0/16", ""),
    ("100.64.9.0-100.64.9.255", "100.65.0.0", 24, "pools.pool4.exclude[0]", "100.65.0.0 is not within the pool, 100.64.0.0/16", ""),
    ("100.64.9.0-100.64.9.255", "100.64.9.9-100.64.9.1", 24, "pools.pool4.exclude[0]", "the range 100.64.9.9-100.64.9.1 runs backwards", ""),
    ("100.64.9.0-100.64.9.255", "100.64.0.0-100.64.255.255", 24, "pools.pool4", "no address of this pool is left", ""),
    ("exclude: [100.64.9.0-100.64.9.255]", "length: 30", 24, "pools.pool4.length", "`length` is for IPv6 pools", ""),
    (", length: 56", "", 26, "pools.pd6", "an IPv6 pool needs `length`", "64 for the prefix"),
    ("length: 56", "length: 33", 26, "pools.pd6.length", "a /33 does not fit into the pool, 2001:db8:8000::/34", ""),
    ("length: 56", "length: 60", 26, "pools.pd6.length", "2001:db8:8000::/34 holds more than 2^24 prefixes of /60", "a /36 is the largest"),
    ("length: 56", "length: 65", 26, "pools.pd6.length", "a prefix of /65 is too small", ""),
    ("203.0.113.1/24", "100.64.0.1/16", 24, "pools.pool4.prefix", "100.64.0.0/16 overlaps 100.64.0.0/16, which the interface `second` is connected to", ""),
    // Users.
    ("- {name: user1, password: hunter2}", "- {name: user1, password: hunter2}\n      - {name: user1, password: x}", 31, "aaa.local.users[1].name", "the user `user1` is already there, in line 30", ""),
    ("password: hunter2", "password: \"\"", 30, "aaa.local.users[0].password", "expected a text of 1 to 128 octets", ""),
    ("name: user1, ", "", 30, "aaa.local.users[0]", "the key `name` is missing", ""),
    ("    users:", "    file: none.yaml\n    users:", 29, "aaa.local.file", "cannot read none.yaml: No such file", ""),
    // The file as YAML.
    ("stop: {sessions: disconnect}", "---\nstop: {sessions: keep}", 32, "", "a second YAML document", ""),
    ("stop: {sessions: disconnect}", "stop: !x {sessions: keep}", 32, "", "YAML tags", ""),
    ("stop: {sessions: disconnect}", "stop: {sessions: [}", 32, "", "this is not YAML: ", ""),
];

#[test]
fn the_good_one_is_good() {
    let config = check(GOOD).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
}

/// What is wrong with what is reported for a case, if anything.
fn wrong((from, to, line, path, reason, help): &Case) -> Option<String> {
    if GOOD.matches(from).count() != 1 {
        return Some("does not stand once in the good configuration".into());
    }
    let Err(errors) = check(&GOOD.replace(from, to)) else { return Some("passes".into()) };
    let found: Vec<_> = errors.problems.iter().filter(|p| p.severity == Severity::Error).collect();
    let [problem] = found.as_slice() else { return Some(format!("has not one error:\n{errors}")) };
    let given = problem.help.as_deref().unwrap_or_default();
    let right = (problem.place.line, problem.path.as_str()) == (*line, *path)
        && problem.reason.starts_with(reason)
        && given.starts_with(help)
        && given.is_empty() == help.is_empty()
        && !errors.to_string().contains("hunter2");
    (!right).then(|| format!("{errors}"))
}

#[test]
fn each_error_has_its_place_path_and_reason() {
    let wrong: Vec<String> = ERRORS
        .iter()
        .filter_map(|case| wrong(case).map(|what| format!("`{}` -> `{}`: {what}", case.0, case.1)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[rustfmt::skip]
const WARNINGS: &[Case] = &[
    ("workers: [1, 2]", "workers: [1, 1]", 2, "cores.workers[1]", "CPU 1 is shared with `cores.workers[0]`", "on a machine"),
    ("workers: [1, 2]", "workers: [1, 0]", 2, "cores.workers[1]", "CPU 0 is shared with `cores.control`", "on a machine"),
    ("  core0: {", "  spare: {device: net_null0}\n  core0: {", 5, "ports.spare", "this port is used by no interface", ""),
    ("pools:\n", "  idle: {ipv4: {gateway: 10.0.0.1, pool: pool4}}\npools:\n", 23, "profiles.idle", "no access match uses this profile", ""),
    ("pools:\n", "pools:\n  spare: {prefix: 10.0.0.0/24}\n", 24, "pools.spare", "no profile uses this pool", ""),
    ("addresses: [203.0.113.1/24]", "addresses: []", 8, "interfaces.second", "this interface has no address", ""),
    ("127.0.0.1:9464", "0.0.0.0:9464", 31, "telemetry.listen", "whoever reaches 0.0.0.0:9464 can read every session", "listen on"),
    ("disconnect", "keep", 32, "stop.sessions", "clients are left up, but the next start does not know", ""),
    ("users:\n      - {name: user1, password: hunter2}", "users: []", 28, "aaa.local", "there is no user: nobody can log in", ""),
];

#[test]
fn warnings_do_not_refuse() {
    for (from, to, line, path, reason, _) in WARNINGS {
        assert_eq!(GOOD.matches(from).count(), 1, "{from}");
        let config = check(&GOOD.replace(from, to)).unwrap_or_else(|errors| panic!("`{to}`:\n{errors}"));
        let [warning] = config.warnings.as_slice() else { panic!("`{to}`: {:?}", config.warnings) };
        assert_eq!((warning.place.line, warning.path.as_str()), (*line, *path), "{warning}");
        assert!(warning.reason.starts_with(reason), "{warning}");
    }
}

#[test]
fn all_errors_come_in_one_go_and_in_order() {
    let text = GOOD
        .replace("workers: [1, 2]", "workers: [1, 9]")
        .replace("mtu: 1504", "mtu: 1508, sped: 1")
        .replace("vlan: 7", "vlan: x")
        .replace(
            "profile: residential}\n  - {port: access0, untagged",
            "profile: residental}\n  - {port: access1, untagged",
        )
        .replace("pool: pool4", "pool: pool5")
        .replace("disconnect", "drop");
    let errors = check(&text).unwrap_err();
    let lines: Vec<(usize, &str)> = errors.problems.iter().map(|p| (p.place.line, p.path.as_str())).collect();
    assert_eq!(
        lines,
        [
            (2, "cores.workers[1]"),
            (4, "ports.access0.mtu"),
            (4, "ports.access0.sped"),
            (8, "interfaces.second.vlan"),
            (15, "access[2].profile"),
            (16, "access[3].port"),
            (21, "profiles.residential.ipv4.pool"),
            (32, "stop.sessions"),
        ]
    );
    assert!(errors.to_string().ends_with("\n8 errors"));
}

#[test]
fn an_error_looks_like_this() {
    let errors = check(&GOOD.replace("pool: pool4", "pool: pool5")).unwrap_err();
    let expected = "\
bng.yaml:21:39: error: profiles.residential.ipv4.pool: no pool has the name `pool5`
    |
 21 |     ipv4: {gateway: 100.64.0.1, pool: pool5, dns: [203.0.113.53]}
    |                                       ^^^^^
  help: did you mean `pool4`?
";
    assert!(errors.to_string().contains(expected), "{errors}");
}

#[test]
fn a_gateway_in_another_pool_is_refused() {
    let text = GOOD.replace("pools:\n", "pools:\n  other: {prefix: 10.0.0.0/24}\n").replace("100.64.0.1,", "10.0.0.1,");
    let errors = check(&text).unwrap_err();
    assert_eq!(errors.errors(), 1, "{errors}");
    assert!(errors.to_string().contains("10.0.0.1 lies in the pool `other`"), "{errors}");
    // Outside every pool it is as good as inside its own.
    assert!(check(&GOOD.replace("gateway: 100.64.0.1", "gateway: 192.0.2.1")).is_ok());
}

#[test]
fn aliases_and_merges_stand_for_what_they_name() {
    let text = GOOD
        .replace("ppp: {auth", "ppp: &slow {auth")
        .replace(
            "pools:\n",
            "  other:\n    ppp: {<<: *slow, echo_interval: 5s}\n    ipv4: {gateway: 100.64.0.1, pool: pool4}\npools:\n",
        )
        .replace("untagged: true, profile: residential", "untagged: true, profile: other");
    let config = check(&text).unwrap_or_else(|errors| panic!("{errors}"));
    let [first, second] = config.profiles.as_slice() else { panic!() };
    assert_eq!(second.ppp.auth, first.ppp.auth);
    assert_eq!(second.ppp.echo_interval.as_secs(), 5);
}

#[test]
fn what_cannot_be_read_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let errors = bng_config::load(&folder.path().join("none.yaml")).unwrap_err();
    assert!(errors.to_string().contains("none.yaml: error: cannot read this file: No such file"), "{errors}");
    let errors = bng_config::load(folder.path()).unwrap_err();
    assert!(errors.to_string().contains("it is not a file"), "{errors}");
    let path = folder.path().join("latin.yaml");
    std::fs::write(&path, b"node: {}\n# caf\xe9\n").unwrap();
    let errors = bng_config::load(&path).unwrap_err();
    assert!(errors.to_string().contains("latin.yaml:2:1: error: this line is not UTF-8 text"), "{errors}");
    let errors = check("[]").unwrap_err();
    assert!(errors.to_string().contains("expected keys with values, found a list"), "{errors}");
    let errors = check("").unwrap_err();
    assert!(errors.to_string().contains("the key `cores` is missing"), "{errors}");
}

#[test]
fn users_come_from_a_file_beside_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let text = GOOD.replace("    users:", "    file: users.yaml\n    users:");
    let path = folder.path().join("bng.yaml");
    std::fs::write(&path, text).unwrap();
    let users = folder.path().join("users.yaml");
    let load = |text: &str| {
        std::fs::write(&users, text).unwrap();
        bng_config::load_for(&path, &machine())
    };
    for text in ["- {name: user2, password: 0123}\n", "users:\n  - {name: user2, password: 0123}\n"] {
        let config = load(text).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(config.aaa.users[1].name, "user2");
        assert_eq!(config.aaa.users[1].password.expose(), "0123", "a password is a text, whatever it looks like");
        assert!(config.warnings.iter().any(|warning| warning.reason.contains("can be read by every user")));
    }
    let errors = load("- {name: user1, password: hunter3}\n- {name: user3, pasword: hunter4}\n").unwrap_err();
    let shown = errors.to_string();
    assert!(shown.contains("users.yaml:1:10: error: [0].name: the user `user1` is already there"), "{shown}");
    assert!(shown.contains("users.yaml:2:17: error: [1].pasword: unknown key `pasword`"), "{shown}");
    assert!(shown.contains("did you mean `password`?") && !shown.contains("hunter3"), "{shown}");
}

/// A configuration with RADIUS, and its secret beside it.
const RADIUS: &str = r#"aaa:
  radius:
    nas_port_id: "{node}/{port}:{outer_vlan}.{inner_vlan}"
    servers:
      - {address: 192.0.2.10, secret_file: radius.secret, priority: 1, weight: 2}
      - {address: "2001:db8::10", port: 11812, source: "2001:db8::1", secret_file: radius.secret}
    accounting: {servers: [{address: 192.0.2.10, secret_file: radius.secret}], interim: 10m}
    dynamic: {listen: ["198.51.100.1:3799"], clients: [{address: 192.0.2.10, secret_file: radius.secret}]}
  local:
"#;

/// What to replace in [`RADIUS`], with what, and the one error: line from `aaa:` on, path, reason's beginning.
#[rustfmt::skip]
const RADIUS_ERRORS: &[(&str, &str, usize, &str, &str)] = &[
    ("192.0.2.10, secret_file: radius.secret, prio", "0.0.0.0, secret_file: radius.secret, prio", 5, "servers[0].address", "0.0.0.0 is no address of a server"),
    ("\"2001:db8::10\", port: 11812, source: \"2001:db8::1\"", "192.0.2.10", 6, "servers[1].address", "the server 192.0.2.10:1812 is already in the list"),
    ("source: \"2001:db8::1\"", "source: 192.0.2.1", 6, "servers[1].source", "192.0.2.1 cannot reach 2001:db8::10"),
    ("priority: 1", "priority: 256", 5, "servers[0].priority", "expected a whole number from 0 to 255"),
    ("weight: 2", "secret: x", 5, "servers[0].secret", "unknown key `secret`"),
    ("radius.secret, priority", "none.secret, priority", 5, "servers[0].secret_file", "cannot read "),
    ("radius.secret, priority", "two-lines, priority", 5, "servers[0].secret_file", ""),
    ("interim: 10m", "interim: 30s", 7, "accounting.interim", "expected a time from 1m to 24h"),
    ("{servers: [{address: 192.0.2.10, secret_file: radius.secret}], interim: 10m}", "{servers: []}", 7, "accounting.servers", "accounting needs a server"),
    ("198.51.100.1:3799", "0.0.0.0:3799", 8, "dynamic.listen[0]", "0.0.0.0:3799 is no address with a port to listen at"),
    ("198.51.100.1:3799", "198.51.100.1", 8, "dynamic.listen[0]", "expected ADDRESS:PORT"),
    ("{node}/", "{mode}/", 3, "nas_port_id", "`{mode}` is not known"),
    ("{node}/", "{node/", 3, "nas_port_id", "a brace has no partner"),
    ("{node}/", "node}/", 3, "nas_port_id", "a brace has no partner"),
];

#[test]
fn radius_is_read_with_its_secrets_and_each_error_has_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bng.yaml");
    let file = |name: &str, text: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::write(folder.path().join(name), text).unwrap();
        std::fs::set_permissions(folder.path().join(name), std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    file("radius.secret", "0123456789abcdef\n");
    file("two-lines", "one\ntwo\n");
    let whole = |radius: &str| {
        let text = GOOD.replace("aaa:\n  local:\n", radius);
        text.replace("    ipv6: {prefix_pool", "    aaa: [radius, local]\n    ipv6: {prefix_pool")
    };
    let config = load_text(&path, &whole(RADIUS), &machine()).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(!config.warnings.iter().any(|warning| warning.path.starts_with("aaa")), "{:?}", config.warnings);
    assert_eq!(config.profiles[0].aaa, [bng_config::AaaMethod::Radius, bng_config::AaaMethod::Local]);
    let radius = config.aaa.radius.as_ref().unwrap();
    assert_eq!(radius.nas_identifier, "bng1");
    assert_eq!(radius.servers[0].address, "192.0.2.10:1812".parse().unwrap());
    assert_eq!(radius.servers[1].address, "[2001:db8::10]:11812".parse().unwrap());
    assert_eq!(radius.servers[0].secret.expose(), "0123456789abcdef");
    assert_eq!(radius.accounting.as_ref().unwrap().servers[0].address, "192.0.2.10:1813".parse().unwrap());
    assert!(!format!("{config:?}").contains("0123456789abcdef"), "a secret is shown");

    let first = whole(RADIUS).lines().position(|line| line == "aaa:").unwrap();
    for (from, to, line, below, reason) in RADIUS_ERRORS {
        assert!(RADIUS.contains(from), "{from}");
        let errors = load_text(&path, &whole(&RADIUS.replace(from, to)), &machine()).unwrap_err();
        let errors: Vec<_> = errors.problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
        let found: Vec<_> = errors.iter().map(|it| (it.place.line, it.path.as_str(), it.reason.as_str())).collect();
        let first_fits = found.first().is_some_and(|(at, path, text)| {
            *at == first + line && *path == format!("aaa.radius.{below}") && text.starts_with(reason)
        });
        assert!(first_fits && errors.len() == 1, "{to}: {found:?}");
        assert!(!errors.iter().any(|error| error.to_string().contains("one\ntwo")), "a secret is shown");
    }

    // What is worth a warning.
    file("radius.secret", "short");
    let text = whole(RADIUS).replace("priority: 1", "require_message_authenticator: false");
    let config = load_text(&path, &text, &machine()).unwrap();
    let warnings: Vec<_> = config.warnings.iter().map(|warning| warning.reason.as_str()).collect();
    assert!(warnings.iter().any(|reason| reason.contains("CVE-2024-3596")), "{warnings:?}");
    assert!(warnings.iter().any(|reason| reason.contains("shorter than 16 octets")), "{warnings:?}");

    // Methods without servers, twice, or none.
    for (methods, reason) in [
        ("radius", "no RADIUS server is there to ask"),
        ("[local, radius]", "no RADIUS server is there to ask"),
        ("[local, local]", "this method is already in the list"),
        ("[]", "at least one method is needed"),
        ("diameter", "expected `local` or `radius`"),
    ] {
        let text = GOOD.replace("    ipv6: {prefix_pool", &format!("    aaa: {methods}\n    ipv6: {{prefix_pool"));
        let errors = load_text(&path, &text, &machine()).unwrap_err();
        assert!(errors.problems.iter().any(|it| it.reason.starts_with(reason)), "{methods}: {errors}");
    }
}

#[test]
fn a_password_under_a_misspelt_key_is_not_shown() {
    let errors = check(&GOOD.replace("password: hunter2", "pasword: hunter2")).unwrap_err();
    assert!(!errors.to_string().contains("hunter2"), "{errors}");
}

#[test]
fn noise_never_panics() {
    use proptest::test_runner::{Config, TestRunner};
    let mut runner = TestRunner::new(Config { cases: 300, failure_persistence: None, ..Config::default() });
    runner
        .run(&(0..GOOD.len(), 0usize..40, "[\\PC\\n:,{}&*\\[\\]!\"'#|>-]{0,12}"), |(at, length, noise)| {
            let end = (at + length).min(GOOD.len());
            if GOOD.is_char_boundary(at) && GOOD.is_char_boundary(end) {
                let text = format!("{}{noise}{}", &GOOD[..at], &GOOD[end..]);
                if let Err(errors) = check(&text) {
                    assert!(errors.errors() > 0, "refused without an error");
                    let _ = errors.to_string();
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn an_alias_bomb_ends_at_its_limit() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let refs = vec![format!("*a{}", level - 1); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{refs}]\n"));
    }
    let errors = check(&text).unwrap_err();
    assert!(errors.to_string().contains("more than 2000000 keys and values"), "{errors}");
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let errors = check(&deep).unwrap_err();
    assert!(errors.to_string().contains("nested more than 32 deep"), "{errors}");
}

#[test]
fn rates_priorities_and_limits_mean_what_they_say() {
    use bng_config::{DuplicateUser, MacPrefix, PadoMatch, Rate, RequestRate, WhenFull};
    use std::time::Duration;
    let profile = "rate: {up: 10Mbit/s, down: 1 Gbit/s, burst_up: 64KiB}
    priority_map: voice
    duplicate_user: replace
    ppp: {auth";
    let pppoe = "macs: {deny: ['02:AB/12', 02:00:00:00:00:01]}, pado_delay: 100ms, pado_rules: [{circuit_id: dslam7, never: true}, {sessions_from: 9, delay: 1s}]}";
    let more = "priority_maps:
  other: []
  voice: [{dscp: 40-46, pcp: 5}, {dscp: 48, pcp: 6}]
limits: {when_full: error, sessions_max_per_vlan: 7, padi: {mac_per_s: 0, line_per_s: 3}, lock_out: {}, control_priority: 5, control_dscp: 40}
pools:
";
    let text = GOOD.replace("ppp: {auth", profile).replace("max_payload: 1500}", pppoe).replace("pools:\n", more);
    let config = check(&text).unwrap_or_else(|errors| panic!("{errors}"));
    let profile = &config.profiles[0];
    assert_eq!(profile.rate_up, Some(Rate { bits_per_second: 10_000_000, burst_octets: 65_536 }));
    // 50 ms at 1 Gbit/s.
    assert_eq!(profile.rate_down, Some(Rate { bits_per_second: 1_000_000_000, burst_octets: 6_250_000 }));
    assert_eq!((profile.priority_map, profile.duplicate_user), (Some(1), DuplicateUser::Replace));
    let map = config.priority_maps[1];
    assert_eq!((map[39], map[40], map[46], map[47], map[48]), (0, 5, 5, 0, 6));
    let mac = |mac, bits| MacPrefix { mac, bits };
    assert_eq!(profile.pppoe.macs_denied, [mac([2, 0xab, 0, 0, 0, 0], 12), mac([2, 0, 0, 0, 0, 1], 48)]);
    let rules: Vec<_> = profile.pppoe.pado_rules.iter().map(|rule| (&rule.when, rule.delay)).collect();
    assert_eq!(
        rules,
        [
            (&PadoMatch::CircuitIdPrefix("dslam7".into()), None),
            (&PadoMatch::SessionsFrom(9), Some(Duration::from_secs(1)))
        ]
    );
    let limits = &config.limits;
    assert_eq!((limits.when_full, limits.sessions_max_per_vlan), (WhenFull::Error, 7));
    assert_eq!((limits.padi.mac, limits.padi.line), (None, Some(RequestRate { per_s: 3, burst: 1000 })));
    assert_eq!((limits.lock_out.unwrap().failures, limits.control_priority, limits.control_dscp), (5, 5, 40));
    // Left out, nobody has to wait, and a profile that delegates prefixes sets O.
    let config = check(GOOD).unwrap();
    let ipv6 = config.profiles[0].ipv6.as_ref().unwrap();
    assert_eq!(config.limits.lock_out, None);
    assert!(ipv6.router.other && !ipv6.router.managed && ipv6.dhcp.is_some());
    assert_eq!((ipv6.router.lifetime_s, ipv6.router.interval_min), (1800, Duration::from_secs(200)));
}
