//! The cases that operators reported (P numbers), and what RFC 2516 and RFC 4638 say, byte by byte.

use std::time::{Duration, Instant};

use bng_wire::{MacAddr, PortIndex, SessionId, VlanStack, VlanTag};

use crate::*;

mod field_cases;
mod limits;
mod reasons;
mod rules;

pub(super) const AC: [u8; 6] = [0x02, 0, 0, 0, 0, 0xfe];
pub(super) const CLIENT: [u8; 6] = [0x02, 0, 0, 0, 0, 0x01];
pub(super) const CLIENT_2: [u8; 6] = [0x02, 0, 0, 0, 0, 0x02];
pub(super) const BROADCAST: [u8; 6] = [0xff; 6];

pub(super) const PADI: u8 = 0x09;
pub(super) const PADO: u8 = 0x07;
pub(super) const PADR: u8 = 0x19;
pub(super) const PADS: u8 = 0x65;
pub(super) const PADT: u8 = 0xa7;

pub(super) const SERVICE_NAME: u16 = 0x0101;
pub(super) const AC_NAME: u16 = 0x0102;
pub(super) const HOST_UNIQ: u16 = 0x0103;
pub(super) const AC_COOKIE: u16 = 0x0104;
pub(super) const RELAY_SESSION_ID: u16 = 0x0110;
pub(super) const PPP_MAX_PAYLOAD: u16 = 0x0120;

/// Octets from hexadecimal text.
pub(super) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// A frame: addresses, tags (TPID and TCI), EtherType, PPPoE header with the right LENGTH, tags.
pub(super) fn frame(
    to: [u8; 6],
    from: [u8; 6],
    vlans: &[(u16, u16)],
    code: u8,
    id: u16,
    tags: &[(u16, &[u8])],
) -> Vec<u8> {
    let mut payload = Vec::new();
    for (kind, value) in tags {
        payload.extend_from_slice(&kind.to_be_bytes());
        payload.extend_from_slice(&(value.len() as u16).to_be_bytes());
        payload.extend_from_slice(value);
    }
    let mut frame = [to, from].concat();
    for (tpid, tci) in vlans {
        frame.extend_from_slice(&tpid.to_be_bytes());
        frame.extend_from_slice(&tci.to_be_bytes());
    }
    frame.extend_from_slice(&[0x88, 0x63, 0x11, code]);
    frame.extend_from_slice(&id.to_be_bytes());
    frame.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    frame.extend_from_slice(&payload);
    frame
}

/// The same, padded to 60 octets as transmitted frames are.
pub(super) fn padded(mut frame: Vec<u8>) -> Vec<u8> {
    if frame.len() < 60 {
        frame.resize(60, 0);
    }
    frame
}

/// A reply taken apart, by other code than what is tested.
#[derive(Debug, PartialEq)]
pub(super) struct Parts {
    pub(super) to: [u8; 6],
    pub(super) from: [u8; 6],
    pub(super) vlans: Vec<(u16, u16)>,
    pub(super) code: u8,
    pub(super) id: u16,
    pub(super) tags: Vec<(u16, Vec<u8>)>,
}

impl Parts {
    pub(super) fn of(frame: &[u8]) -> Self {
        let u16_at = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        let mut at = 12;
        let mut vlans = Vec::new();
        while u16_at(at) != 0x8863 {
            vlans.push((u16_at(at), u16_at(at + 2)));
            at += 4;
        }
        at += 2;
        assert_eq!(frame[at], 0x11);
        let (code, id, length) = (frame[at + 1], u16_at(at + 2), usize::from(u16_at(at + 4)));
        at += 6;
        let end = at + length;
        assert!(frame.len() == end.max(60), "{} octets for a packet that ends at {end}", frame.len());
        assert!(frame[end..].iter().all(|octet| *octet == 0), "padding is zeros");
        let mut tags = Vec::new();
        while at < end {
            let length = usize::from(u16_at(at + 2));
            tags.push((u16_at(at), frame[at + 4..at + 4 + length].to_vec()));
            at += 4 + length;
        }
        assert_eq!(at, end);
        Self { to: frame[..6].try_into().unwrap(), from: frame[6..12].try_into().unwrap(), vlans, code, id, tags }
    }

    pub(super) fn all(&self, kind: u16) -> Vec<&[u8]> {
        self.tags.iter().filter(|tag| tag.0 == kind).map(|tag| &tag.1[..]).collect()
    }

    pub(super) fn cookie(&self) -> Vec<u8> {
        let cookies = self.all(AC_COOKIE);
        assert_eq!(cookies.len(), 1);
        cookies[0].to_vec()
    }
}

pub(super) struct Bench {
    pub(super) ac: AccessConcentrator,
    pub(super) now: Instant,
}

pub(super) fn port(index: u8, max_payload: u16) -> AccessPort {
    AccessPort { port: PortIndex(index), mac: MacAddr(AC), max_payload_by_tags: [max_payload; 3] }
}

pub(super) fn rule(index: u8, vlans: VlanMatch) -> AccessRule {
    AccessRule { port: PortIndex(index), vlans, profile: ProfileIndex(0) }
}

/// One untagged port with an MTU of 1508, a concentrator named "ac".
pub(super) fn config() -> AcConfig {
    AcConfig {
        ports: vec![port(0, 1500)],
        access: vec![rule(0, VlanMatch::Untagged)],
        profiles: vec![ServiceProfile { ac_name: "ac".to_owned(), max_payload: 1500, ..ServiceProfile::default() }],
        ..AcConfig::default()
    }
}

impl Bench {
    pub(super) fn new(config: AcConfig) -> Self {
        let now = Instant::now();
        Self { ac: AccessConcentrator::new(config, [7; 32], now, 1_000_000).unwrap(), now }
    }

    pub(super) fn with(change: impl FnOnce(&mut AcConfig)) -> Self {
        let mut config = config();
        change(&mut config);
        Self::new(config)
    }

    /// Sets limits that are part of a case.
    pub(super) fn limits(mut self, change: impl FnOnce(&mut DiscoveryLimits)) -> Self {
        let mut limits = DiscoveryLimits::default();
        change(&mut limits);
        self.ac.set_limits(limits).unwrap();
        self
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    pub(super) fn send(&mut self, frame: &[u8]) -> DiscoveryOutcome {
        self.ac.handle_frame(self.now, PortIndex(0), frame)
    }

    pub(super) fn reply(&mut self, frame: &[u8]) -> Parts {
        match self.send(frame) {
            DiscoveryOutcome::Reply(frame) => Parts::of(&frame),
            other => panic!("a reply expected, not {other:?}"),
        }
    }

    pub(super) fn request(&mut self, frame: &[u8]) -> SessionRequest {
        match self.send(frame) {
            DiscoveryOutcome::Request(request) => *request,
            other => panic!("a request expected, not {other:?}"),
        }
    }

    /// Sends a frame that must lead to nothing, for a reason that is counted once.
    pub(super) fn dropped(&mut self, frame: &[u8], reason: DiscoveryDrop) {
        let before = *self.ac.drops();
        assert_eq!(self.send(frame), DiscoveryOutcome::Drop(reason));
        for (index, count) in self.ac.drops().iter().enumerate() {
            assert_eq!(*count, before[index] + u64::from(index == reason as usize));
        }
    }

    /// A cookie for a client, by a PADI.
    pub(super) fn cookie(&mut self, client: [u8; 6], vlans: &[(u16, u16)]) -> Vec<u8> {
        self.reply(&frame(BROADCAST, client, vlans, PADI, 0, &[(SERVICE_NAME, b"")])).cookie()
    }

    /// A request, by PADI and PADR with these tags besides the cookie.
    pub(super) fn dial(&mut self, client: [u8; 6], vlans: &[(u16, u16)], tags: &[(u16, &[u8])]) -> SessionRequest {
        let cookie = self.cookie(client, vlans);
        self.request(&frame(AC, client, vlans, PADR, 0, &[tags, &[(AC_COOKIE, &cookie)]].concat()))
    }

    /// The PADS of a request.
    pub(super) fn pads(&self, request: &SessionRequest, id: u16) -> Parts {
        Parts::of(&self.ac.pads(request, SessionId(id)).unwrap())
    }
}

pub(super) fn vlans(tags: &[(u16, u16)]) -> VlanStack {
    let mut tags = tags.iter().map(|(tpid, tci)| VlanTag { tpid: *tpid, tci: *tci });
    VlanStack { outer: tags.next(), inner: tags.next() }
}
