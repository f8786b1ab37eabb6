//! From the received sections to the validated configuration: names become indexes, and what is said in one place is
//! compared with what is said in another.

mod access;
mod interfaces;
mod pools;
mod ports;
mod profiles;
mod radius;
mod users;

pub use radius::FORMAT_WORDS;

use std::path::Path;

use crate::decode::{At, Here, Named};
use crate::received::{CoresSection, LockOutSection, RequestRatesSection, Root, UserSection};
use crate::source::Sources;
use crate::suggest::nearest;
use crate::{
    Aaa, Config, Cores, Dpdk, Limits, LockOut, Log, Machine, Node, RequestRate, RequestRates, Stop, StopSessions,
    Telemetry,
};

/// Workers at most.
const WORKERS_MAX: usize = 64;

pub(crate) fn validate(
    file: &Path,
    root: Root,
    more_users: Vec<At<UserSection>>,
    machine: &Machine,
    out: &mut Sources,
) -> Option<Config> {
    let cores = cores(&root.cores, machine, out);
    let ports = ports::ports(&root, if cores.workers.is_empty() { WORKERS_MAX } else { cores.workers.len() }, out);
    let (ipv4_pools, ipv6_pools, places) = pools::pools(&root, out);
    let interfaces = interfaces::interfaces(&root, &ports, out);
    let routes = interfaces::routes(&root, &interfaces, out);
    let node = Node { name: node_name(&root, machine), state_folder: root.node.state_folder.0.clone() };
    let profiles = profiles::profiles(&root, &node.name, &places, out);
    let ipv4_pools = pools::reserve_gateways(ipv4_pools, &profiles, &root, out);
    let access = access::access(&root, out);
    pools::compare_with_interfaces(&root, &ipv4_pools, &ipv6_pools, &interfaces, out);
    let users = users::users(&root, more_users, out);
    let radius = radius::radius(file, &root, &node.name, out);
    let telemetry = telemetry(&root, out);
    if root.stop.sessions.value == StopSessions::Keep {
        let here = &root.stop.sessions.here;
        out.warn(here.at, &here.path, "clients are left up, but the next start does not know their sessions yet", None);
    }

    let priority_maps = priority_maps(&root, out);

    let dpdk = &root.dpdk;
    let limits = &root.limits;
    Some(Config {
        file: file.to_owned(),
        warnings: Vec::new(),
        node,
        cores,
        dpdk: Dpdk {
            memory_mb: dpdk.memory_mb.to(),
            hugepages: dpdk.hugepages.value,
            eal_args: dpdk.eal_args.0.iter().map(|arg| arg.value.0.clone()).collect(),
            mbufs: dpdk.mbufs.as_ref().map(|mbufs| mbufs.to()),
        },
        ports: ports.into_iter().collect::<Option<_>>()?,
        interfaces: interfaces.into_iter().collect::<Option<_>>()?,
        routes,
        access,
        profiles: profiles.into_iter().collect::<Option<_>>()?,
        ipv4_pools: ipv4_pools.into_iter().collect::<Option<_>>()?,
        ipv6_pools: ipv6_pools.into_iter().collect::<Option<_>>()?,
        priority_maps,
        aaa: Aaa { users, radius },
        telemetry,
        stop: Stop { sessions: root.stop.sessions.value },
        limits: Limits {
            sessions_max: limits.sessions_max.to(),
            half_open_max_per_port: limits.half_open_max_per_port.to(),
            sessions_max_per_vlan: limits.sessions_max_per_vlan.to(),
            sessions_max_per_line: limits.sessions_max_per_line.to(),
            when_full: limits.when_full.value,
            unknown_padt_per_s: limits.unknown_padt_per_s.to(),
            padi: request_rates(&limits.padi),
            padr: request_rates(&limits.padr),
            lock_out: limits.lock_out.as_ref().map(|lock_out| self::lock_out(lock_out, out)),
            cookie_lifetime: limits.cookie_lifetime.0,
            control_priority: limits.control_priority.to(),
            control_dscp: limits.control_dscp.to(),
            punt_ring_frames: limits.punt_ring_frames.to(),
            punt_ring_bytes: limits.punt_ring_bytes.u32(),
            inject_ring_frames: limits.inject_ring_frames.to(),
            inject_ring_bytes: limits.inject_ring_bytes.u32(),
            ipv4_routes_max: limits.ipv4_routes_max.to(),
            ipv6_routes_max: limits.ipv6_routes_max.to(),
            neighbours_max: limits.neighbours_max.to(),
        },
    })
}

/// DSCP to PCP maps at most: the forwarding plane has room for these.
const PRIORITY_MAPS_MAX: usize = 16;

fn priority_maps(root: &Root, out: &mut Sources) -> Vec<[u8; 64]> {
    let maps = &root.priority_maps;
    if maps.0.len() > PRIORITY_MAPS_MAX {
        let reason = format!("{} maps are more than the {PRIORITY_MAPS_MAX} there may be", maps.0.len());
        out.error(maps.here.at, &maps.here.path, reason, None);
    }
    let map = |entries: &crate::decode::List<crate::received::PrioritySection>, out: &mut Sources| {
        let mut map = [None; 64];
        for entry in &entries.0 {
            let range = usize::from(entry.dscp.first)..=usize::from(entry.dscp.last);
            for place in map.get_mut(range).unwrap_or_default() {
                if place.is_some() {
                    let reason = "a DSCP of this entry is in the map already";
                    out.error(entry.here.at, &entry.here.path, reason, None);
                    break;
                }
                *place = Some(entry.pcp.to());
            }
        }
        map.map(|pcp| pcp.unwrap_or(0))
    };
    maps.0.iter().map(|(_, entries)| entries.as_ref().map_or([0; 64], |entries| map(entries, out))).collect()
}

fn request_rates(section: &RequestRatesSection) -> RequestRates {
    let rate = |per_s: u32, burst: u32| (per_s != 0).then_some(RequestRate { per_s, burst });
    RequestRates {
        mac: rate(section.mac_per_s.to(), section.mac_burst.to()),
        line: rate(section.line_per_s.to(), section.line_burst.to()),
        vlan: rate(section.vlan_per_s.to(), section.vlan_burst.to()),
        port: rate(section.port_per_s.to(), section.port_burst.to()),
    }
}

fn lock_out(section: &LockOutSection, out: &mut Sources) -> LockOut {
    if section.wait.0 > section.wait_max.0 {
        let here = &section.wait.here;
        out.error(here.at, &here.path, "the first lock-out is longer than the longest, `wait_max`", None);
    }
    LockOut {
        failures: section.failures.to(),
        window: section.window.0,
        wait: section.wait.0,
        wait_max: section.wait_max.0,
        by: section.by.value,
    }
}

fn node_name(root: &Root, machine: &Machine) -> String {
    match &root.node.name {
        Some(name) => name.value.0.clone(),
        None if machine.host_name.is_empty() => "bngd".into(),
        None => machine.host_name.chars().take(64).collect(),
    }
}

/// The position of what a key refers to by name, or an error that says what is there.
pub(crate) fn refer<T>(what: &str, name: &str, here: &Here, known: &Named<T>, out: &mut Sources) -> Option<usize> {
    let found = known.position(name);
    if found.is_none() {
        let names = known.names();
        let help = match nearest(name, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => format!("there is no {what} at all"),
            None => format!("there are: {}", names.join(", ")),
        };
        out.error(here.at, &here.path, format!("no {what} has the name `{name}`"), Some(help));
    }
    found
}

/// A set of numbers as the kernel writes it: `0-3, 8`.
fn ranges(numbers: &[usize]) -> String {
    let mut text = String::new();
    let mut rest = numbers;
    while let [first, ..] = rest {
        let length = rest.iter().zip(*first..).take_while(|(number, expected)| *number == expected).count();
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&first.to_string());
        if length > 1 {
            text.push_str(&format!("-{}", first + length - 1));
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    text
}

fn cores(section: &CoresSection, machine: &Machine, out: &mut Sources) -> Cores {
    let control = section.control.to::<usize>();
    let workers: Vec<usize> = section.workers.0.iter().map(|cpu| cpu.to()).collect();
    let here = &section.workers.here;
    if workers.is_empty() && here.at.start.line > 0 {
        out.error(here.at, &here.path, "at least one worker is needed: name its CPU", None);
    }
    if workers.len() > WORKERS_MAX {
        out.error(
            here.at,
            &here.path,
            format!("{} workers are more than the {WORKERS_MAX} there may be", workers.len()),
            None,
        );
    }
    let mut used: Vec<(usize, &str)> = Vec::new();
    let named = section.workers.0.iter().map(|cpu| (cpu.to::<usize>(), &cpu.here));
    for (cpu, here) in std::iter::once((control, &section.control.here)).chain(named) {
        if !machine.cpus.is_empty() && !machine.cpus.contains(&cpu) {
            let reason = format!("CPU {cpu} does not exist: this machine has {}", ranges(&machine.cpus));
            out.error(here.at, &here.path, reason, None);
        }
        match used.iter().find(|(known, _)| *known == cpu) {
            Some((_, first)) => {
                let help = Some("on a machine with enough CPUs give each its own".into());
                out.warn(here.at, &here.path, format!("CPU {cpu} is shared with `{first}`"), help);
            }
            None => used.push((cpu, here.path.as_str())),
        }
    }
    Cores { control, workers }
}

fn telemetry(root: &Root, out: &mut Sources) -> Telemetry {
    let section = &root.telemetry;
    if let Some(address) = section.listen.0
        && !address.ip().is_loopback()
    {
        let here = &section.listen.here;
        let help = Some("listen on 127.0.0.1, or keep others out with a firewall".into());
        out.warn(
            here.at,
            &here.path,
            format!("whoever reaches {address} can read every session: there is no login"),
            help,
        );
    }
    Telemetry {
        listen: section.listen.0,
        socket: section.socket.0.clone(),
        log: Log { level: section.log.level.value, format: section.log.format.value },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_ranges() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[0]), "0");
        assert_eq!(ranges(&[0, 1, 2, 3, 8, 10, 11]), "0-3, 8, 10-11");
    }
}
