//! What the workers count, as metrics.

use bng_dataplane::{Reason, Verdict, WorkerCounters};
use bng_wire::PortIndex;

use crate::exposition::Exposition;

/// Adds the workers' packets, octets, drops, punts, and what they answer and make by themselves. `counters` are the workers' in order, `ports` the ports' names
/// by index.
pub fn worker_metrics(out: &mut Exposition, counters: &[&WorkerCounters], ports: &[String]) {
    let numbers: Vec<String> = (0..counters.len()).map(|number| number.to_string()).collect();
    let each = || counters.iter().zip(&numbers);
    type Field = fn(&bng_dataplane::PortCounters) -> u64;
    let of_ports: [(&str, &str, Field); 4] = [
        ("bng_port_rx_packets_total", "Frames received by a worker on a port.", |port| port.rx_frames.get()),
        (
            "bng_port_rx_bytes_total",
            "Octets received by a worker on a port, from the Ethernet header on, without FCS.",
            |port| port.rx_octets.get(),
        ),
        ("bng_port_tx_packets_total", "Frames that a worker gave to a port.", |port| port.tx_frames.get()),
        (
            "bng_port_tx_bytes_total",
            "Octets that a worker gave to a port, from the Ethernet header on, without FCS.",
            |port| port.tx_octets.get(),
        ),
    ];
    for (name, help, field) in of_ports {
        let family = out.counter(name, help);
        for (counters, number) in each() {
            for (index, port) in (0..=PortIndex::MAX).zip(ports) {
                if let Some(of_port) = counters.port(PortIndex(index)) {
                    family.count(&[("port", port), ("worker", number)], field(of_port));
                }
            }
        }
    }
    for (verdict, name, help) in [
        (Verdict::Drop, "bng_dropped_packets_total", "Frames dropped by a worker, by reason."),
        (Verdict::Punt, "bng_punted_packets_total", "Frames that a worker handed to the control core, by reason."),
    ] {
        let family = out.counter(name, help);
        for reason in Reason::ALL.iter().filter(|reason| reason.verdict() == verdict) {
            for (counters, number) in each() {
                family.count(&[("reason", reason.label()), ("worker", number)], counters.reason(*reason).get());
            }
        }
    }
    type Own = fn(&WorkerCounters) -> u64;
    let own: [(&str, &str, Own); 5] = [
        ("bng_icmp_errors_sent_total", "ICMP and ICMPv6 errors sent.", |worker| worker.errors_sent.get()),
        (
            "bng_icmp_errors_unsent_total",
            "ICMP and ICMPv6 errors not sent: beyond the limit, or for want of a buffer or a way back.",
            |worker| worker.errors_unsent.get(),
        ),
        ("bng_echoes_answered_total", "LCP Echo-Requests that a worker answered.", |worker| {
            worker.echoes_answered.get()
        }),
        ("bng_pings_answered_total", "Pings of a subscriber's gateway that a worker answered.", |worker| {
            worker.pings_answered.get()
        }),
        ("bng_fragments_sent_total", "Fragments made, of IPv4 packets too long for their link.", |worker| {
            worker.fragments_sent.get()
        }),
    ];
    for (name, help, field) in own {
        let family = out.counter(name, help);
        for (counters, number) in each() {
            family.count(&[("worker", number)], field(counters));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_and_port_has_its_sample() {
        let counters = WorkerCounters::default();
        counters.reason(Reason::Runt).add(2);
        counters.port(PortIndex(1)).unwrap().rx_octets.add(60);
        counters.fragments_sent.add(3);
        let mut out = Exposition::new();
        worker_metrics(&mut out, &[&counters], &["access0".into(), "core0".into()]);
        let text = out.render().unwrap();
        assert!(text.contains("bng_dropped_packets_total{reason=\"runt\",worker=\"0\"} 2"), "{text}");
        assert!(text.contains("bng_port_rx_bytes_total{port=\"core0\",worker=\"0\"} 60"), "{text}");
        assert!(text.contains("bng_fragments_sent_total{worker=\"0\"} 3"), "{text}");
        for reason in Reason::ALL {
            let family = if reason.verdict() == Verdict::Drop { "dropped" } else { "punted" };
            let sample = format!("bng_{family}_packets_total{{reason=\"{}\",worker=\"0\"}}", reason.label());
            assert!(text.contains(&sample), "{sample}");
        }
    }
}
