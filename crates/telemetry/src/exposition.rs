//! Metric families, built at the moment of a scrape.

use std::collections::HashSet;
use std::sync::LazyLock;

use prometheus::core::Collector as _;
use prometheus::process_collector::ProcessCollector;
use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType};
use prometheus::{Encoder, TextEncoder};

/// Whether a value only rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only rises; its name ends in `_total`.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// Why metrics cannot be rendered. All are faults of this program, not of its environment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpositionError {
    /// Two families have one name.
    #[error("the metric {0} is there twice")]
    Twice(String),
    /// A name that is not of the form that this project keeps to.
    #[error("the metric name {0} does not begin with bng_, or does not say by _total that it is a counter")]
    Name(String),
    /// The encoder refuses.
    #[error("the metrics cannot be written: {0}")]
    Encode(String),
}

/// One metric with its samples.
#[derive(Debug)]
pub struct Family {
    name: String,
    help: String,
    kind: Kind,
    metrics: Vec<Metric>,
}

impl Family {
    /// Adds a sample. Labels are pairs of name and value.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: f64) -> &mut Self {
        let pair = |(name, value): &(&str, &str)| {
            let mut pair = LabelPair::default();
            pair.set_name((*name).to_owned());
            pair.set_value((*value).to_owned());
            pair
        };
        let mut metric = Metric::from_label(labels.iter().map(pair).collect());
        match self.kind {
            Kind::Counter => {
                let mut counter = Counter::default();
                counter.set_value(value);
                metric.set_counter(counter);
            }
            Kind::Gauge => {
                let mut gauge = Gauge::default();
                gauge.set_value(value);
                metric.set_gauge(gauge);
            }
        }
        self.metrics.push(metric);
        self
    }

    /// Adds a sample of a whole number. Exact up to 2^53, which is what the format itself can carry.
    pub fn count(&mut self, labels: &[(&str, &str)], value: u64) -> &mut Self {
        self.sample(labels, value as f64)
    }
}

/// All metrics of one scrape.
#[derive(Debug, Default)]
pub struct Exposition {
    families: Vec<Family>,
    process: Vec<MetricFamily>,
}

impl Exposition {
    /// Begins empty.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a counter; `help` is one sentence.
    pub fn counter(&mut self, name: &str, help: &str) -> &mut Family {
        self.family(name, help, Kind::Counter)
    }

    /// Begins a gauge; `help` is one sentence.
    pub fn gauge(&mut self, name: &str, help: &str) -> &mut Family {
        self.family(name, help, Kind::Gauge)
    }

    fn family(&mut self, name: &str, help: &str, kind: Kind) -> &mut Family {
        self.families.push(Family { name: name.to_owned(), help: help.to_owned(), kind, metrics: Vec::new() });
        let last = self.families.len() - 1;
        &mut self.families[last]
    }

    /// Adds what the kernel knows of this process, under the names that every Prometheus client uses (`process_*`):
    /// memory, CPU time, descriptors, threads, start time. The names have no `bng_` for that reason.
    pub fn process(&mut self) {
        static COLLECTOR: LazyLock<ProcessCollector> = LazyLock::new(ProcessCollector::for_self);
        self.process = COLLECTOR.collect();
    }

    /// Writes the text format, version 0.0.4. Families without samples are left out.
    ///
    /// # Errors
    /// [`ExpositionError`].
    pub fn render(self) -> Result<String, ExpositionError> {
        let mut names = HashSet::new();
        let mut families = Vec::with_capacity(self.families.len());
        for family in self.families {
            let counts = family.name.ends_with("_total");
            if !family.name.starts_with("bng_") || counts != (family.kind == Kind::Counter) {
                return Err(ExpositionError::Name(family.name));
            }
            if !names.insert(family.name.clone()) {
                return Err(ExpositionError::Twice(family.name));
            }
            if family.metrics.is_empty() {
                continue;
            }
            let mut encoded = MetricFamily::default();
            encoded.set_name(family.name);
            encoded.set_help(family.help);
            encoded.set_field_type(match family.kind {
                Kind::Counter => MetricType::COUNTER,
                Kind::Gauge => MetricType::GAUGE,
            });
            encoded.set_metric(family.metrics);
            families.push(encoded);
        }
        families.extend(self.process);
        let mut text = Vec::new();
        TextEncoder::new().encode(&families, &mut text).map_err(|error| ExpositionError::Encode(error.to_string()))?;
        String::from_utf8(text).map_err(|error| ExpositionError::Encode(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_become_text() {
        let mut exposition = Exposition::new();
        exposition.counter("bng_frames_total", "Frames.").count(&[("port", "a\"b")], 3).count(&[("port", "c")], 4);
        exposition.gauge("bng_sessions", "Sessions.").count(&[], 7);
        exposition.gauge("bng_nothing", "Nothing.");
        let text = exposition.render().unwrap();
        let expected = "# HELP bng_frames_total Frames.\n# TYPE bng_frames_total counter\n\
                        bng_frames_total{port=\"a\\\"b\"} 3\nbng_frames_total{port=\"c\"} 4\n\
                        # HELP bng_sessions Sessions.\n# TYPE bng_sessions gauge\nbng_sessions 7\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_process_is_described_by_the_usual_names() {
        let mut exposition = Exposition::new();
        exposition.process();
        let text = exposition.render().unwrap();
        for name in [
            "process_resident_memory_bytes",
            "process_cpu_seconds_total",
            "process_open_fds",
            "process_start_time_seconds",
        ] {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            let value: f64 = value.unwrap_or_else(|| panic!("{name}: {text}")).parse().unwrap();
            assert!(value > 0.0 || name == "process_cpu_seconds_total", "{name} {value}");
        }
    }

    #[test]
    fn names_keep_to_the_project_s_form() {
        let render = |name: &str, kind| {
            let mut exposition = Exposition::new();
            exposition.family(name, "Help.", kind).count(&[], 1);
            exposition.render()
        };
        assert!(render("bng_x_total", Kind::Counter).is_ok());
        for (name, kind) in [("x_total", Kind::Counter), ("bng_x", Kind::Counter), ("bng_x_total", Kind::Gauge)] {
            assert_eq!(render(name, kind), Err(ExpositionError::Name(name.to_owned())));
        }
        let mut twice = Exposition::new();
        twice.gauge("bng_x", "X.").count(&[], 1);
        twice.gauge("bng_x", "X.").count(&[], 1);
        assert_eq!(twice.render(), Err(ExpositionError::Twice("bng_x".to_owned())));
    }
}
