//! The control core's own account of the sessions, read where an operator reads it: from its log.

use std::collections::HashMap;
use std::fmt::Debug;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// The final counters of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Final {
    pub packets_up: u64,
    pub octets_up: u64,
    pub packets_down: u64,
    pub octets_down: u64,
}

/// What the log says, by (outer VID, session id).
#[derive(Debug, Default)]
pub struct Entries {
    pub up: HashMap<(u16, u16), Ipv4Addr>,
    pub finals: HashMap<(u16, u16), Final>,
    /// Warnings, errors, and sessions that stand in it twice.
    pub faults: Vec<String>,
}

/// Listens to the log.
#[derive(Debug, Clone, Default)]
pub struct Journal(pub Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Line {
    message: String,
    numbers: HashMap<&'static str, u64>,
    ipv4: Option<Ipv4Addr>,
    rest: String,
}

impl Visit for Line {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.numbers.insert(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "ipv4" => self.ipv4 = format!("{value:?}").parse().ok(),
            name => self.rest.push_str(&format!(" {name}={value:?}")),
        }
    }
}

impl Subscriber for Journal {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::DEBUG
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let number = |name| line.numbers.get(name).copied().unwrap_or(0);
        let session = (number("outer_vlan") as u16, number("session_id") as u16);
        let mut entries = self.0.lock().expect("the journal");
        let twice = match line.message.as_str() {
            "session up" => {
                let address = line.ipv4.expect("an address");
                entries.up.insert(session, address).is_some_and(|before| before != address)
            }
            "session counters" => {
                let counters = Final {
                    packets_up: number("packets_up"),
                    octets_up: number("octets_up"),
                    packets_down: number("packets_down"),
                    octets_down: number("octets_down"),
                };
                entries.finals.insert(session, counters).is_some()
            }
            _ => *event.metadata().level() <= Level::WARN,
        };
        if twice && entries.faults.len() < 20 {
            entries.faults.push(format!("{session:?}: {}{}", line.message, line.rest));
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
