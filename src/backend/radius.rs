//! RADIUS as the management interface and Prometheus show it.

use std::time::Duration;

use bng_aaa::{ServerSnapshot, Snapshot};
use bng_api as api;
use bng_api::BackendError;
use bng_radius::Discard;
use bng_radius::accounting::Kind;
use bng_radius::client::Purpose;
use bng_telemetry::Exposition;

use super::Observer;

/// How long the RADIUS thread may take to answer.
const SHOW_TIMEOUT: Duration = Duration::from_secs(1);

fn snapshot(observer: &Observer) -> Result<Option<Snapshot>, BackendError> {
    let Some(aaa) = &observer.aaa else { return Ok(None) };
    aaa.show(SHOW_TIMEOUT).map(Some).map_err(|error| BackendError::Busy(error.to_string()))
}

const fn purpose(of: Purpose) -> &'static str {
    match of {
        Purpose::Authentication => "authentication",
        Purpose::Accounting => "accounting",
    }
}

pub(super) fn view(observer: &Observer) -> Result<api::RadiusView, BackendError> {
    let Some(snapshot) = snapshot(observer)? else { return Ok(api::RadiusView::default()) };
    Ok(api::RadiusView {
        servers: snapshot.servers.iter().map(server).collect(),
        logins_waiting: snapshot.logins_waiting as u64,
        unusable_accepts: snapshot.unusable_accepts,
        accounting: snapshot.accounting.map(|it| api::RadiusAccountingView {
            queued: it.queued as u64,
            sessions: it.sessions as u64,
            delivered: it.counters.delivered.iter().sum(),
            dropped: it.counters.dropped.iter().sum(),
            disk_errors: it.disk_errors,
        }),
        dynamic: snapshot.dynamic.map(|it| api::RadiusDynamicView {
            disconnects: it.counters.disconnects,
            changes: it.counters.changes,
            acks: it.counters.acks,
            naks: it.counters.naks,
            discarded: it.counters.discards.sum(),
        }),
    })
}

fn server(from: &ServerSnapshot) -> api::RadiusServerView {
    let counters = &from.counters;
    let replies = counters.accepts + counters.rejects + counters.challenges + counters.accounting_responses;
    api::RadiusServerView {
        purpose: purpose(from.purpose).to_owned(),
        address: from.address,
        priority: from.priority,
        alive: from.alive,
        outstanding: from.outstanding as u64,
        requests: counters.requests,
        retransmissions: counters.retransmissions,
        replies,
        timeouts: counters.timeouts,
        deaths: counters.deaths,
        discarded: counters.discards.sum(),
        round_trip_us: counters.round_trip_us.checked_div(replies).unwrap_or(0),
    }
}

pub(super) fn metrics(out: &mut Exposition, observer: &Observer) -> Result<(), BackendError> {
    let Some(snapshot) = snapshot(observer)? else { return Ok(()) };
    servers(out, &snapshot);
    out.gauge("bng_radius_logins_waiting", "Logins that wait for a RADIUS server.")
        .count(&[], snapshot.logins_waiting as u64);
    out.counter("bng_radius_unusable_accepts_total", "Access-Accepts that could not be used: logins refused.")
        .count(&[], snapshot.unusable_accepts);
    out.counter("bng_radius_send_errors_total", "RADIUS datagrams that could not be sent.")
        .count(&[], snapshot.send_errors);
    out.counter("bng_radius_messages_lost_total", "Messages to the RADIUS thread that found no room.")
        .count(&[], snapshot.messages_lost);
    if let Some(accounting) = &snapshot.accounting {
        out.gauge("bng_radius_accounting_queue_records", "Accounting records that wait for an answer.")
            .count(&[], accounting.queued as u64);
        out.gauge("bng_radius_accounting_queue_bytes", "Memory of the accounting records that wait.")
            .count(&[], accounting.queued_octets as u64);
        out.gauge("bng_radius_accounting_sessions", "Sessions that are accounted for.")
            .count(&[], accounting.sessions as u64);
        out.counter("bng_radius_accounting_disk_errors_total", "Writes of accounting records to disk that failed.")
            .count(&[], accounting.disk_errors);
        let counters = &accounting.counters;
        let records = out.counter(
            "bng_radius_accounting_records_total",
            "Accounting records, by kind and by what became of them: queued, delivered, dropped (queue full).",
        );
        for (fate, counts) in
            [("queued", &counters.queued), ("delivered", &counters.delivered), ("dropped", &counters.dropped)]
        {
            for (kind, count) in Kind::ALL.iter().zip(counts) {
                records.count(&[("kind", kind.label()), ("fate", fate)], *count);
            }
        }
        out.counter("bng_radius_accounting_superseded_total", "Interims that a later record made needless.")
            .count(&[], counters.superseded);
        out.counter("bng_radius_accounting_too_long_total", "Accounting records that did not fit in a packet.")
            .count(&[], counters.too_long);
        out.counter("bng_radius_accounting_unreadable_total", "Kept accounting records that could not be read.")
            .count(&[], counters.unreadable);
    }
    if let Some(dynamic) = &snapshot.dynamic {
        let counters = &dynamic.counters;
        let requests = out.counter("bng_radius_dynamic_requests_total", "Disconnect- and CoA-Requests, by kind.");
        requests.count(&[("kind", "disconnect")], counters.disconnects).count(&[("kind", "coa")], counters.changes);
        let answers = out.counter("bng_radius_dynamic_answers_total", "Answers to them: ack, nak, or repeated.");
        for (kind, count) in [("ack", counters.acks), ("nak", counters.naks), ("repeated", counters.repeated)] {
            answers.count(&[("answer", kind)], count);
        }
        let discards =
            out.counter("bng_radius_dynamic_discards_total", "Requests that were met with silence, by reason.");
        for reason in Discard::ALL {
            discards.count(&[("reason", reason.label())], counters.discards.get(reason));
        }
    }
    Ok(())
}

fn servers(out: &mut Exposition, snapshot: &Snapshot) {
    let addresses: Vec<String> = snapshot.servers.iter().map(|server| server.address.to_string()).collect();
    let each = || snapshot.servers.iter().zip(&addresses);
    fn labels<'a>(server: &ServerSnapshot, address: &'a str) -> [(&'static str, &'a str); 2] {
        [("server", address), ("purpose", purpose(server.purpose))]
    }
    let alive = out.gauge("bng_radius_server_up", "1 while the RADIUS server counts as alive.");
    for (server, address) in each() {
        alive.count(&labels(server, address), u64::from(server.alive));
    }
    let waiting = out.gauge("bng_radius_outstanding_requests", "Requests that wait for this server.");
    for (server, address) in each() {
        waiting.count(&labels(server, address), server.outstanding as u64);
    }
    let sockets = out.gauge("bng_radius_sockets", "Sockets open for this server.");
    for (server, address) in each() {
        sockets.count(&labels(server, address), server.sockets as u64);
    }
    type Pick = fn(&ServerSnapshot) -> u64;
    let single: [(&str, &str, Pick); 7] = [
        ("bng_radius_requests_total", "Requests given to a server, repetitions not counted.", |s| s.counters.requests),
        ("bng_radius_retransmissions_total", "Repetitions of requests.", |s| s.counters.retransmissions),
        ("bng_radius_timeouts_total", "Transmissions without an answer in time.", |s| s.counters.timeouts),
        ("bng_radius_unanswered_total", "Requests that a server left without any answer.", |s| s.counters.unanswered),
        ("bng_radius_server_deaths_total", "Times that a server was found dead.", |s| s.counters.deaths),
        ("bng_radius_probes_total", "Status-Server requests to dead servers.", |s| s.counters.probes),
        ("bng_radius_probe_replies_total", "Answers to those.", |s| s.counters.probe_replies),
    ];
    for (name, help, pick) in single {
        let family = out.counter(name, help);
        for (server, address) in each() {
            family.count(&labels(server, address), pick(server));
        }
    }
    let replies = out.counter("bng_radius_replies_total", "Verified replies, by kind.");
    for (server, address) in each() {
        let counters = &server.counters;
        let kinds: &[(&str, u64)] = match server.purpose {
            Purpose::Authentication => {
                &[("accept", counters.accepts), ("reject", counters.rejects), ("challenge", counters.challenges)]
            }
            Purpose::Accounting => &[("accounting", counters.accounting_responses)],
        };
        for (kind, count) in kinds {
            let [server, purpose] = labels(server, address);
            replies.count(&[server, purpose, ("kind", kind)], *count);
        }
    }
    let time = out.counter("bng_radius_round_trip_seconds_total", "Time that answered requests waited, summed up.");
    for (server, address) in each() {
        time.sample(&labels(server, address), server.counters.round_trip_us as f64 / 1e6);
    }
    let discards = out.counter("bng_radius_discards_total", "Datagrams of a server that were thrown away, by reason.");
    for (server, address) in each() {
        for reason in Discard::ALL {
            let [server_label, purpose] = labels(server, address);
            let labels = [server_label, purpose, ("reason", reason.label())];
            discards.count(&labels, server.counters.discards.get(reason));
        }
    }
}
