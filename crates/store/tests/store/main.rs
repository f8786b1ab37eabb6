//! The store on a real file, and on a disk that fails, stalls and forgets.

mod disk;
mod failing;
mod files;
mod prefix;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bng_store::{CookieKey, Opened, Serial, Settings, StoreState, StoreWriter, Totals};

/// A start at a moment that is the same for all tests.
fn settings() -> Settings {
    Settings {
        cache_octets: 1 << 20,
        instance: 0x1234_5678,
        cookie_key: CookieKey { key: [7; 32], made_ms: 1_700_000_000_000 },
        boot_id: [1; 16],
        wall_ms: 1_700_000_000_000,
    }
}

fn totals(value: u64) -> Totals {
    Totals { values: [value; 6], boot_ms: value, wall_ms: value }
}

/// All rows, as one value to compare.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Content {
    sessions: BTreeMap<Serial, (Vec<u8>, Option<Totals>)>,
    accounting: BTreeMap<u64, Vec<u8>>,
    id_marks: BTreeMap<(u16, u16), u16>,
}

fn content(opened: &Opened) -> Content {
    let mut content = Content::default();
    opened
        .sessions(|session| {
            content.sessions.insert(session.serial, (session.record.to_vec(), session.safe));
        })
        .unwrap();
    opened
        .accounting(|sequence, record| {
            content.accounting.insert(sequence, record.to_vec());
        })
        .unwrap();
    opened
        .id_marks(|port, outer_vid, id| {
            content.id_marks.insert((port, outer_vid), id);
        })
        .unwrap();
    content
}

fn within(seconds: u64, what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(seconds);
    while !done() {
        assert!(Instant::now() < end, "{what}: not within {seconds} s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_safe(writer: &StoreWriter) -> bool {
    writer.state(Instant::now()) == StoreState::Safe
}
