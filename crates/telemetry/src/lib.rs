//! Counters, Prometheus collector, logs.
#![forbid(unsafe_code)]
