//! What each view looks like to a person.

use super::table::{Side, Table, list};
use crate::{
    DropsView, PoolsView, PortsView, RadiusView, RoutesView, SessionView, SessionsView, VersionView, WorkersView,
};

const L: Side = Side::Left;
const R: Side = Side::Right;

/// `1 session`, `2 sessions`.
pub(super) fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A time in its two largest units: `3d04h`, `4h05m`, `5m06s`, `7s`.
fn time(seconds: u64) -> String {
    let (days, hours, minutes, rest) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{rest}s"),
        (0, 0, _) => format!("{minutes}m{rest:02}s"),
        (0, ..) => format!("{hours}h{minutes:02}m"),
        _ => format!("{days}d{hours:02}h"),
    }
}

/// A number of octets with a decimal unit: `999 B`, `1.2 kB`, `34.5 MB`.
fn octets(number: u64) -> String {
    if number < 1000 {
        return format!("{number} B");
    }
    let mut value = number as f64;
    let mut unit = 0;
    // At 999.95 the one digit behind the point would be rounded up to 1000.0.
    while value >= 999.95 && unit < 6 {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}B", ["", "k", "M", "G", "T", "P", "E"].get(unit).copied().unwrap_or_default())
}

fn or_dash<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(|| "-".to_owned(), ToString::to_string)
}

fn vlans(session: &SessionView) -> String {
    match (session.outer_vlan, session.inner_vlan) {
        (None, _) => "-".into(),
        (Some(outer), None) => outer.to_string(),
        (Some(outer), Some(inner)) => format!("{outer}.{inner}"),
    }
}

pub(super) fn sessions(view: &SessionsView) -> String {
    let mut table = Table::new(&[
        ("ID", L),
        ("USER", L),
        ("MAC", L),
        ("VLAN", L),
        ("STATE", L),
        ("IPV4", L),
        ("UPTIME", R),
        ("UP", R),
        ("DOWN", R),
        ("PKTS-UP", R),
        ("PKTS-DOWN", R),
    ]);
    for session in &view.sessions {
        table.row([
            session.id.clone(),
            or_dash(session.user.as_ref()),
            session.mac.clone(),
            vlans(session),
            session.state.as_str().to_owned(),
            or_dash(session.ipv4.as_ref()),
            time(session.uptime_s),
            octets(session.octets_up),
            octets(session.octets_down),
            session.packets_up.to_string(),
            session.packets_down.to_string(),
        ]);
    }
    let shown = view.sessions.len() as u64;
    let mut text = if shown == 0 { String::new() } else { table.render() };
    if shown == view.matched {
        text.push_str(&format!("{}\n", count(shown, "session")));
    } else {
        text.push_str(&format!("{shown} of {}\n", count(view.matched, "session")));
    }
    text
}

pub(super) fn session(session: &SessionView) -> String {
    list(&[
        ("id", session.id.clone()),
        ("user", or_dash(session.user.as_ref())),
        ("state", session.state.as_str().to_owned()),
        ("uptime", time(session.uptime_s)),
        ("port", session.port.clone()),
        ("outer vlan", or_dash(session.outer_vlan.as_ref())),
        ("inner vlan", or_dash(session.inner_vlan.as_ref())),
        ("mac", session.mac.clone()),
        ("session id", session.session_id.to_string()),
        ("circuit id", or_dash(session.circuit_id.as_ref())),
        ("remote id", or_dash(session.remote_id.as_ref())),
        ("profile", session.profile.clone()),
        ("service name", session.service_name.clone()),
        ("authentication", or_dash(session.auth.as_ref())),
        ("ipv4", or_dash(session.ipv4.as_ref())),
        ("ipv6 prefix", or_dash(session.ipv6_prefix.as_ref())),
        ("delegated prefix", or_dash(session.delegated_prefix.as_ref())),
        ("mru", format!("{} octets", session.mru)),
        ("up", format!("{} packets, {} ({} octets)", session.packets_up, octets(session.octets_up), session.octets_up)),
        (
            "down",
            format!(
                "{} packets, {} ({} octets)",
                session.packets_down,
                octets(session.octets_down),
                session.octets_down
            ),
        ),
        ("dropped", format!("{} packets", session.packets_dropped)),
    ])
}

pub(super) fn ports(view: &PortsView) -> String {
    let mut table = Table::new(&[
        ("PORT", L),
        ("DRIVER", L),
        ("ROLE", L),
        ("MAC", L),
        ("LINK", L),
        ("MTU", R),
        ("QUEUES", R),
        ("RSS", L),
        ("RX-PKTS", R),
        ("RX", R),
        ("MISSED", R),
        ("RX-ERR", R),
        ("NO-BUF", R),
        ("TX-PKTS", R),
        ("TX", R),
        ("TX-ERR", R),
    ]);
    for port in &view.ports {
        let link = match (port.link_up, port.speed_mbps) {
            (false, _) => "down".into(),
            (true, None) => "up".into(),
            (true, Some(speed)) if speed % 1000 == 0 => format!("{} Gbit/s", speed / 1000),
            (true, Some(speed)) => format!("{speed} Mbit/s"),
        };
        table.row([
            port.name.clone(),
            port.driver.clone(),
            if port.roles.is_empty() { "-".into() } else { port.roles.join("+") },
            port.mac.clone(),
            link,
            port.mtu.to_string(),
            port.queues.to_string(),
            port.rss.clone(),
            port.rx_packets.to_string(),
            octets(port.rx_octets),
            port.rx_missed.to_string(),
            port.rx_errors.to_string(),
            port.rx_no_buffer.to_string(),
            port.tx_packets.to_string(),
            octets(port.tx_octets),
            port.tx_errors.to_string(),
        ]);
    }
    table.render()
}

pub(super) fn workers(view: &WorkersView) -> String {
    let mut table = Table::new(&[
        ("WORKER", R),
        ("CPU", R),
        ("BUSY", R),
        ("PORT", L),
        ("RX-PKTS", R),
        ("RX", R),
        ("TX-PKTS", R),
        ("TX", R),
        ("PUNTED", R),
        ("INJECTED", R),
        ("DROPPED", R),
    ]);
    for worker in &view.workers {
        let empty = String::new;
        table.row([
            worker.worker.to_string(),
            worker.cpu.to_string(),
            format!("{:.0}%", worker.busy_ratio.clamp(0.0, 1.0) * 100.0),
            "all".into(),
            worker.rx_packets.to_string(),
            octets(worker.ports.iter().map(|port| port.rx_octets).sum()),
            worker.tx_packets.to_string(),
            octets(worker.ports.iter().map(|port| port.tx_octets).sum()),
            worker.punted_packets.to_string(),
            worker.injected_packets.to_string(),
            worker.dropped_packets.to_string(),
        ]);
        for port in &worker.ports {
            table.row([
                empty(),
                empty(),
                empty(),
                port.port.clone(),
                port.rx_packets.to_string(),
                octets(port.rx_octets),
                port.tx_packets.to_string(),
                octets(port.tx_octets),
                empty(),
                empty(),
                empty(),
            ]);
        }
    }
    table.render()
}

pub(super) fn drops(view: &DropsView, all: bool) -> String {
    let mut table = Table::new(&[("REASON", L), ("VERDICT", L), ("PACKETS", R), ("BY-WORKER", L), ("MEANING", L)]);
    let mut rows = 0;
    for drop in view.drops.iter().filter(|drop| all || drop.packets > 0) {
        rows += 1;
        let workers = drop.workers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let meaning = match drop.reference.as_str() {
            "" => drop.description.clone(),
            reference => format!("{} ({reference})", drop.description),
        };
        table.row([drop.reason.clone(), drop.verdict.clone(), drop.packets.to_string(), workers, meaning]);
    }
    if rows == 0 { "no packet was dropped or punted\n".into() } else { table.render() }
}

pub(super) fn pools(view: &PoolsView) -> String {
    if view.pools.is_empty() {
        return "no pool\n".into();
    }
    let mut table = Table::new(&[
        ("POOL", L),
        ("FAMILY", L),
        ("PREFIX", L),
        ("EACH", R),
        ("SIZE", R),
        ("USED", R),
        ("FREE", R),
        ("IN-USE", R),
    ]);
    for pool in &view.pools {
        let share = if pool.size == 0 { 0.0 } else { pool.used as f64 / pool.size as f64 * 100.0 };
        table.row([
            pool.name.clone(),
            pool.family.clone(),
            pool.prefix.clone(),
            format!("/{}", pool.length),
            pool.size.to_string(),
            pool.used.to_string(),
            pool.free.to_string(),
            format!("{share:.1}%"),
        ]);
    }
    table.render()
}

pub(super) fn radius(view: &RadiusView) -> String {
    if view.servers.is_empty() {
        return "no RADIUS server\n".into();
    }
    let mut table = Table::new(&[
        ("SERVER", L),
        ("PURPOSE", L),
        ("PRIORITY", R),
        ("STATE", L),
        ("WAITING", R),
        ("REQUESTS", R),
        ("REPEATED", R),
        ("REPLIES", R),
        ("TIMEOUTS", R),
        ("DEATHS", R),
        ("DISCARDED", R),
        ("MEAN-MS", R),
    ]);
    for server in &view.servers {
        table.row([
            server.address.to_string(),
            server.purpose.clone(),
            server.priority.to_string(),
            if server.alive { "alive" } else { "dead" }.to_owned(),
            server.outstanding.to_string(),
            server.requests.to_string(),
            server.retransmissions.to_string(),
            server.replies.to_string(),
            server.timeouts.to_string(),
            server.deaths.to_string(),
            server.discarded.to_string(),
            format!("{:.1}", server.round_trip_us as f64 / 1000.0),
        ]);
    }
    let mut text = table.render();
    text.push_str(&format!(
        "logins waiting: {}, accepts that could not be used: {}\n",
        view.logins_waiting, view.unusable_accepts
    ));
    if let Some(it) = &view.accounting {
        text.push_str(&format!(
            "accounting: {} sessions, {} records waiting, {} delivered, {} dropped, {} disk errors\n",
            it.sessions, it.queued, it.delivered, it.dropped, it.disk_errors
        ));
    }
    if let Some(it) = &view.dynamic {
        text.push_str(&format!(
            "requests from outside: {} disconnects, {} changes; {} done, {} refused, {} thrown away\n",
            it.disconnects, it.changes, it.acks, it.naks, it.discarded
        ));
    }
    text
}

pub(super) fn routes(view: &RoutesView) -> String {
    if view.routes.is_empty() {
        return "no route\n".into();
    }
    let columns =
        [("PREFIX", L), ("SOURCE", L), ("METRIC", R), ("KIND", L), ("NEXT-HOP", L), ("INTERFACE", L), ("MAC", L)];
    let mut table = Table::new(&[&columns[..], &[("TARGET", L)]].concat());
    for route in &view.routes {
        table.row([
            route.prefix.clone(),
            route.source.clone(),
            route.metric.to_string(),
            route.kind.as_str().to_owned(),
            or_dash(route.next_hop.as_ref()),
            or_dash(route.interface.as_ref()),
            or_dash(route.mac.as_ref()),
            or_dash(route.target.as_ref()),
        ]);
        // Each of several ways on a line of its own, with its weight.
        for way in &route.ways {
            table.row([
                String::new(),
                String::new(),
                String::new(),
                format!("  {} of", way.weight),
                or_dash(way.next_hop.as_ref()),
                way.interface.clone(),
                or_dash(way.mac.as_ref()),
                String::new(),
            ]);
        }
    }
    table.render()
}

pub(super) fn version(view: &VersionView) -> String {
    list(&[
        ("bngd", view.version.clone()),
        ("dpdk", view.dpdk.clone()),
        ("node", view.node.clone()),
        ("process", view.pid.to_string()),
        ("uptime", time(view.uptime_s)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_octets_in_units() {
        for (seconds, shown) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m00s"),
            (3599, "59m59s"),
            (3600, "1h00m"),
            (86_399, "23h59m"),
            (273_600, "3d04h"),
        ] {
            assert_eq!(time(seconds), shown);
        }
        for (number, shown) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (999_949, "999.9 kB"),
            (999_950, "1.0 MB"),
            (1_234_567_890, "1.2 GB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(octets(number), shown);
        }
    }

    #[test]
    fn counts_have_their_plural() {
        assert_eq!(
            [count(0, "session"), count(1, "session"), count(2, "session")],
            ["0 sessions", "1 session", "2 sessions"]
        );
    }
}
