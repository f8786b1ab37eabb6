//! Everything that Prometheus is told, collected at the moment of the scrape.

use bng_api::BackendError;
use bng_dataplane::PuntClass;
use bng_subscriber::{AuthFailure, DiscoveryDrop, Drop as ControlDrop, EndCause, Ipv6Discard, PppDiscard, Statistics};
use bng_sync::Counter;
use bng_telemetry::Exposition;

use super::{Observer, forwarding};

pub(super) fn render(observer: &Observer) -> Result<String, BackendError> {
    let (statistics, discovery, gauges, pools) = observer.ask(|subscribers, _, _| {
        let discovery = *subscribers.discovery_drops();
        (subscribers.statistics().clone(), discovery, subscribers.gauges(), subscribers.pools())
    })?;
    let mut out = Exposition::new();
    out.gauge("bng_info", "Always 1; the labels say what runs.")
        .count(&[("version", env!("CARGO_PKG_VERSION")), ("node", &observer.names.node)], 1);
    out.gauge("bng_uptime_seconds", "Time since the process began to serve.")
        .sample(&[], observer.started.elapsed().as_secs_f64());
    out.counter("bng_log_lines_lost_total", "Log lines that standard error did not take in time, or at all.")
        .count(&[], observer.log.lines_lost());
    let sessions = out.gauge("bng_sessions", "Sessions now, by state: half_open, authenticated, up, removing.");
    let authenticated = gauges.live.saturating_sub(gauges.half_open).saturating_sub(gauges.up);
    for (state, count) in [
        ("half_open", gauges.half_open),
        ("authenticated", authenticated),
        ("up", gauges.up),
        ("removing", gauges.removing),
    ] {
        sessions.count(&[("state", state)], u64::from(count));
    }
    out.gauge("bng_sessions_max", "Sessions that the configuration allows.")
        .count(&[], u64::from(observer.limits.sessions_max));
    outcomes(&mut out, &statistics);
    discarded(&mut out, &statistics, &discovery);
    let names = ["usable", "held", "reserved", "peak"];
    let pool_family = out.gauge("bng_pool_addresses", "Addresses or prefixes of a pool, by what they are.");
    for pool in &pools {
        let usage = pool.usage;
        for (kind, count) in names.into_iter().zip([usage.usable, usage.held, usage.reserved, usage.peak]) {
            pool_family.count(&[("pool", &pool.name), ("kind", kind)], u64::from(count));
        }
    }
    let exhausted = out.counter("bng_pool_exhausted_total", "Times that nothing of a pool was free.");
    for pool in &pools {
        exhausted.count(&[("pool", &pool.name)], pool.usage.exhausted);
    }
    let counters: Vec<&bng_dataplane::WorkerCounters> = observer.counters.iter().map(AsRef::as_ref).collect();
    bng_telemetry::worker_metrics(&mut out, &counters, &observer.names.ports);
    workers(&mut out, observer);
    control(&mut out, observer);
    ports(&mut out, observer);
    out.process();
    super::radius::metrics(&mut out, observer)?;
    out.render().map_err(|error| BackendError::Internal(error.to_string()))
}

fn outcomes(out: &mut Exposition, statistics: &Statistics) {
    let packets = out.counter("bng_discovery_packets_total", "PPPoE discovery packets, by kind and direction.");
    for (kind, direction, count) in [
        ("padi", "in", statistics.padi_in),
        ("pado", "out", statistics.pado_out),
        ("padr", "in", statistics.padr_in),
        ("pads", "out", statistics.pads_out),
        ("pads_error", "out", statistics.pads_error_out),
        ("padt", "in", statistics.padt_in),
        ("padt", "out", statistics.padt_out),
    ] {
        packets.count(&[("kind", kind), ("direction", direction)], count);
    }
    let ppp = out.counter("bng_ppp_packets_total", "PPP control packets, by direction.");
    ppp.count(&[("direction", "in")], statistics.ppp_in).count(&[("direction", "out")], statistics.ppp_out);
    out.counter("bng_sessions_created_total", "PADRs that made a session.").count(&[], statistics.created);
    out.counter("bng_sessions_redialled_total", "Sessions that a redial of the same line replaced.")
        .count(&[], statistics.redialled);
    out.counter("bng_sessions_came_up_total", "Sessions that opened a network protocol.")
        .count(&[], statistics.came_up);
    let ended = out.counter("bng_sessions_ended_total", "Sessions that ended, by reason.");
    for (cause, count) in EndCause::ALL.iter().zip(statistics.ended) {
        ended.count(&[("reason", cause.label())], count);
    }
    let auth = out.counter("bng_auth_total", "Logins, by result: accepted, or the reason of the refusal.");
    auth.count(&[("result", "accepted")], statistics.auth_accepted);
    for (failure, count) in AuthFailure::ALL.iter().zip(statistics.auth_refused) {
        auth.count(&[("result", failure.label())], count);
    }
}

/// What control packets came to nothing.
fn discarded(out: &mut Exposition, statistics: &Statistics, discovery: &[u64; DiscoveryDrop::COUNT]) {
    let dropped = out.counter("bng_control_dropped_packets_total", "Frames dropped by the control core, by reason.");
    for (reason, count) in ControlDrop::ALL.iter().zip(statistics.dropped) {
        dropped.count(&[("reason", reason.label())], count);
    }
    let dropped =
        out.counter("bng_discovery_dropped_packets_total", "PPPoE discovery packets that led to nothing, by reason.");
    for (reason, count) in DiscoveryDrop::ALL.iter().zip(discovery) {
        dropped.count(&[("reason", reason.label())], *count);
    }
    let dropped = out.counter("bng_ppp_discarded_packets_total", "PPP control packets discarded, by reason.");
    for (reason, count) in PppDiscard::ALL.iter().zip(statistics.ppp_discarded) {
        dropped.count(&[("reason", reason.label())], count);
    }
    let dropped =
        out.counter("bng_ipv6_discarded_packets_total", "IPv6 packets for the router that it discarded, by reason.");
    for (reason, count) in Ipv6Discard::ALL.iter().zip(statistics.ipv6_discarded) {
        dropped.count(&[("reason", reason.label())], count);
    }
}

fn workers(out: &mut Exposition, observer: &Observer) {
    let numbers: Vec<String> = (0..observer.status.len()).map(|number| number.to_string()).collect();
    let each = || observer.status.iter().zip(&numbers);
    let busy = out.gauge("bng_worker_busy_ratio", "Share of a worker's time since its start spent on packets, 0 to 1.");
    for (status, number) in each() {
        busy.sample(&[("worker", number)], forwarding::busy_ratio(status));
    }
    let running = out.gauge("bng_worker_running", "1 while the worker's loop runs.");
    for (status, number) in each() {
        running.count(&[("worker", number)], status.running.get());
    }
    type Own = fn(&bng_worker::WorkerStatus) -> &Counter;
    let own: [(&str, &str, Own); 5] = [
        ("bng_worker_turns_total", "Turns of a worker's loop.", |status| &status.turns),
        ("bng_worker_turns_empty_total", "Turns that found nothing to do.", |status| &status.turns_empty),
        ("bng_worker_sleeps_total", "Times that a worker went to sleep for want of frames.", |status| &status.sleeps),
        ("bng_worker_injected_total", "Frames that a worker took from the control core.", |status| &status.injected),
        ("bng_worker_linearised_total", "Frames in several segments that were joined.", |status| &status.linearised),
    ];
    for (name, help, field) in own {
        let family = out.counter(name, help);
        for (status, number) in each() {
            family.count(&[("worker", number)], field(status).get());
        }
    }
    let bursts =
        out.counter("bng_worker_bursts_total", "Bursts received, by the least number of frames of the bucket.");
    for (status, number) in each() {
        for (floor, count) in bng_worker::WorkerStatus::BURST_FLOORS.iter().zip(&status.bursts) {
            bursts.count(&[("worker", number), ("frames", &floor.to_string())], count.get());
        }
    }
    let steered = out.counter("bng_worker_steered_packets_total", "Frames that a worker polled and handed to another.");
    for (status, number) in each() {
        steered.count(&[("worker", number)], status.steered.get());
    }
    let taken = out.counter("bng_worker_taken_packets_total", "Frames that a worker took from others.");
    for (status, number) in each() {
        taken.count(&[("worker", number)], status.from_peers.get());
    }
    let full = out.counter("bng_punt_ring_full_total", "Frames lost because the ring to control was full, by class.");
    for (status, number) in each() {
        for (class, count) in PuntClass::ALL.iter().zip(&status.punt_full) {
            full.count(&[("worker", number), ("class", class.label())], count.get());
        }
    }
}

fn control(out: &mut Exposition, observer: &Observer) {
    let counters = &observer.control_counters;
    let punted =
        out.counter("bng_control_punts_total", "Frames that the control core took from the workers, by class.");
    for class in PuntClass::ALL {
        punted.count(&[("class", class.label())], counters.punted(class).get());
    }
    let single: [(&str, &str, &Counter); 8] = [
        ("bng_control_injected_total", "Frames given to the workers for transmission.", &counters.injected),
        ("bng_control_inject_full_total", "Frames that found their inject ring full.", &counters.inject_full),
        ("bng_host_in_packets_total", "Frames handed to the kernel's twins.", &counters.host_in),
        ("bng_host_out_packets_total", "Frames that the kernel sent by its twins.", &counters.host_out),
        ("bng_host_refused_packets_total", "Frames for the router itself that no twin took.", &counters.host_refused),
        ("bng_neighbour_held_packets_total", "Frames held for a neighbour.", &counters.held),
        ("bng_neighbour_held_dropped_packets_total", "Held frames that were dropped.", &counters.held_dropped),
        ("bng_control_turns_total", "Turns of the control core's loop.", &counters.turns),
    ];
    for (name, help, counter) in single {
        out.counter(name, help).count(&[], counter.get());
    }
    out.counter("bng_control_busy_seconds_total", "Time that the control core spent on turns with work.")
        .sample(&[], counters.busy_nanoseconds.get() as f64 / 1e9);
    let routing = observer.routing.counts();
    let routes = out.gauge("bng_routes", "Routes in force, by family.");
    routes.count(&[("family", "ipv4")], routing.routes_ipv4).count(&[("family", "ipv6")], routing.routes_ipv6);
    let neighbours = out.gauge("bng_neighbours", "Neighbours that routes need, by whether their MAC address is known.");
    neighbours
        .count(&[("state", "resolved")], routing.neighbours_resolved)
        .count(&[("state", "unresolved")], routing.neighbours_unresolved);
    out.counter("bng_routing_resyncs_total", "Full reads of the kernel's tables after an overrun of its messages.")
        .count(&[], routing.resyncs);
    out.counter("bng_routing_refused_total", "Routes and neighbours that found no room.").count(&[], routing.refused);
}

fn ports(out: &mut Exposition, observer: &Observer) {
    let up = out.gauge("bng_port_up", "1 while the port has a link.");
    for port in &observer.ports {
        let link = port.device.link().is_ok_and(|link| link.up);
        up.count(&[("port", &port.config.name)], u64::from(link));
    }
    let spread = out.gauge(
        "bng_port_spread",
        "1 for who spreads the port's frames over the workers: hardware, software, or single (one worker).",
    );
    for port in &observer.ports {
        spread.count(&[("port", &port.config.name), ("kind", port.spread.label())], 1);
    }
    let ratio = out.gauge(
        "bng_port_spread_ratio",
        "Frames of the worker that took most from the port, to the mean of all workers: 1 is even.",
    );
    for (index, port) in (0u8..).zip(&observer.ports) {
        let frames: Vec<u64> = observer
            .counters
            .iter()
            .filter_map(|counters| counters.port(bng_wire::PortIndex(index)))
            .map(|port| port.rx_frames.get())
            .collect();
        ratio.sample(&[("port", &port.config.name)], spread_ratio(&frames));
    }
    let missed =
        out.counter("bng_port_missed_packets_total", "Frames that the device dropped for want of a descriptor.");
    for port in &observer.ports {
        let stats = port.device.stats().unwrap_or_default();
        missed.count(&[("port", &port.config.name)], stats.rx_missed);
    }
}

/// The largest to the mean; 1 where nothing has come yet.
fn spread_ratio(frames: &[u64]) -> f64 {
    let sum: u64 = frames.iter().sum();
    match frames.iter().max() {
        Some(most) if sum > 0 => *most as f64 * frames.len() as f64 / sum as f64,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_spread_is_one() {
        for (frames, ratio) in [(&[5, 5][..], 1.0), (&[0, 0], 1.0), (&[], 1.0), (&[30, 10], 1.5), (&[7, 0, 0, 0], 4.0)]
        {
            assert!((spread_ratio(frames) - ratio).abs() < 1e-9, "{frames:?}");
        }
    }
}
