//! Classic pcap files of Ethernet frames: little-endian, microseconds.

use std::fs;
use std::path::Path;

/// Magic number, version 2.4, no time zone, no accuracy, 65,535 octets a frame, Ethernet.
const HEADER: [u8; 24] = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0];

/// A frame and when it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) at_us: u64,
    pub(crate) octets: Vec<u8>,
}

impl Record {
    /// Time and octets, for someone to read.
    pub(crate) fn show(&self) -> String {
        let hex: String = self.octets.iter().map(|octet| format!("{octet:02x}")).collect();
        format!("at {} us, {} octets: {hex}", self.at_us, self.octets.len())
    }
}

/// The frames of a file; none where there is no file.
pub(crate) fn read(path: &Path) -> Vec<Record> {
    let Ok(file) = fs::read(path) else { return Vec::new() };
    assert_eq!(file.get(..24), Some(&HEADER[..]), "{}: not the kind of pcap that make.py writes", path.display());
    let mut records = Vec::new();
    let mut rest = &file[24..];
    while !rest.is_empty() {
        let word = |at: usize| u32::from_le_bytes([rest[at], rest[at + 1], rest[at + 2], rest[at + 3]]);
        let (seconds, micros, len) = (word(0), word(4), word(8) as usize);
        assert_eq!(len, word(12) as usize, "{}: a frame that was cut", path.display());
        records.push(Record {
            at_us: u64::from(seconds) * 1_000_000 + u64::from(micros),
            octets: rest[16..16 + len].to_vec(),
        });
        rest = &rest[16 + len..];
    }
    records
}

/// Writes a file as `make.py` does.
pub(crate) fn write(path: &Path, records: &[Record]) {
    let mut file = HEADER.to_vec();
    for Record { at_us, octets } in records {
        for word in [(at_us / 1_000_000) as u32, (at_us % 1_000_000) as u32, octets.len() as u32, octets.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(octets);
    }
    fs::write(path, file).expect("a file");
}
