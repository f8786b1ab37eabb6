//! An input read as a sequence of values. Whatever the octets are, they mean something: nothing is refused.

use std::time::Duration;

/// What is left of an input.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// The next octet.
    pub fn octet(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// The next two octets, little end first; a missing one is 0.
    pub fn number(&mut self) -> u16 {
        u16::from_le_bytes([self.octet().unwrap_or(0), self.octet().unwrap_or(0)])
    }

    /// A length of two octets and so many octets, or as many as there are.
    pub fn octets(&mut self) -> &'a [u8] {
        let length = usize::from(self.number()).min(self.0.len());
        let (octets, rest) = self.0.split_at(length);
        self.0 = rest;
        octets
    }

    /// A time: two octets of milliseconds, or of seconds where the highest bit is set.
    pub fn time(&mut self) -> Duration {
        match self.number() {
            number if number & 0x8000 == 0 => Duration::from_millis(number.into()),
            number => Duration::from_secs((number & 0x7fff).into()),
        }
    }
}

/// Writes inputs of the same form.
#[derive(Debug, Default)]
pub struct Output(pub Vec<u8>);

impl Output {
    /// An octet.
    pub fn octet(&mut self, octet: u8) {
        self.0.push(octet);
    }

    /// A length and octets.
    pub fn octets(&mut self, octets: &[u8]) {
        self.0.extend_from_slice(&(octets.len() as u16).to_le_bytes());
        self.0.extend_from_slice(octets);
    }

    /// A time, rounded down to what can be written.
    pub fn time(&mut self, time: Duration) {
        let number = match u16::try_from(time.as_millis()) {
            Ok(ms) if ms & 0x8000 == 0 => ms,
            _ => 0x8000 | time.as_secs().min(0x7fff) as u16,
        };
        self.0.extend_from_slice(&number.to_le_bytes());
    }
}
