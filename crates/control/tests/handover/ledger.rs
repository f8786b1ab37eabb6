//! What comes out of the workers, entered where it comes out: which data frame left, in which order, as whose.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use bng_wire::MacAddr;
use bng_wire::ether::{Ether, TpidSet};

/// Octets of an IPv4 header without options and a UDP header.
const IP_UDP_LEN: usize = 28;
const MAGIC: [u8; 4] = *b"hand";

/// One stream of data frames of one session; its frames go through one worker and carry numbers from 1 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlowName {
    pub client: u16,
    /// Which of the client's sessions.
    pub serial: u32,
    pub kind: FlowKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FlowKind {
    /// From the client, through the worker that has its control frames.
    Up,
    /// From the client, through another worker.
    UpBeside,
    /// To the client's address, through another worker.
    Down,
    /// From the client with a source address that is not its own: never forwarded.
    Foreign,
}

impl FlowKind {
    const ALL: [Self; 4] = [Self::Up, Self::UpBeside, Self::Down, Self::Foreign];
}

/// Octets of a label.
pub const LABEL_LEN: usize = 16;

/// The label of a data frame, the beginning of its UDP payload.
pub fn label(flow: FlowName, number: u32) -> [u8; LABEL_LEN] {
    let mut label = [0; LABEL_LEN];
    label[..4].copy_from_slice(&MAGIC);
    label[4..6].copy_from_slice(&flow.client.to_be_bytes());
    label[6] = flow.kind as u8;
    label[8..12].copy_from_slice(&flow.serial.to_be_bytes());
    label[12..].copy_from_slice(&number.to_be_bytes());
    label
}

fn read_label(packet: &[u8]) -> Option<(FlowName, u32)> {
    let label = packet.get(IP_UDP_LEN..IP_UDP_LEN + LABEL_LEN)?;
    if packet[9] != 17 || label[..4] != MAGIC {
        return None;
    }
    let word = |at: usize| u32::from_be_bytes([label[at], label[at + 1], label[at + 2], label[at + 3]]);
    let kind = *FlowKind::ALL.get(usize::from(label[6]))?;
    Some((FlowName { client: u16::from_be_bytes([label[4], label[5]]), serial: word(8), kind }, word(12)))
}

/// What left of one flow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Track {
    last: u32,
    /// Frames 1 to this have all left.
    pub complete_to: u32,
    pub packets: u64,
    pub octets: u64,
    /// Source addresses of the first frame.
    pub source: Option<Ipv4Addr>,
}

/// What left for one session, (outer VID, session id).
#[derive(Debug, Clone, Copy)]
pub struct Delivered {
    pub mac: MacAddr,
    pub address: Ipv4Addr,
    pub packets: u64,
    pub octets: u64,
}

/// One worker's entries.
#[derive(Debug, Default)]
pub struct Ledger {
    pub flows: HashMap<FlowName, Track>,
    pub delivered: HashMap<(u16, u16), Delivered>,
    /// ICMP errors and whatever else has no label.
    pub unlabelled: u64,
    pub faults: Vec<String>,
}

impl Ledger {
    fn fault(&mut self, what: String) {
        // One fault often has a thousand of its kind behind it.
        if self.faults.len() < 20 {
            self.faults.push(what);
        }
    }

    /// A frame that left on the core port.
    pub fn upstream(&mut self, frame: &[u8]) {
        self.packet(&frame[14..]);
    }

    /// A frame that left on the access port out of the pipeline: a session's, with an IPv4 packet.
    pub fn downstream(&mut self, frame: &[u8]) {
        let ether = Ether::parse(frame, TpidSet::ALL).expect("the pipeline sends Ethernet");
        let pppoe = &frame[ether.payload_offset..];
        let session = (ether.vlans.outer_vid(), u16::from_be_bytes([pppoe[2], pppoe[3]]));
        let packet = &pppoe[8..];
        let address = Ipv4Addr::new(packet[16], packet[17], packet[18], packet[19]);
        let fresh = Delivered { mac: ether.dst, address, packets: 0, octets: 0 };
        let entry = self.delivered.entry(session).or_insert(fresh);
        entry.packets += 1;
        entry.octets += u64::from(u16::from_be_bytes([packet[2], packet[3]]));
        let known = *entry;
        if (known.mac, known.address) != (ether.dst, address) {
            self.fault(format!("{session:?} of {known:?} got a packet for {address} as {}", ether.dst));
        }
        self.packet(packet);
    }

    fn packet(&mut self, packet: &[u8]) {
        let Some((flow, number)) = read_label(packet) else {
            self.unlabelled += 1;
            return;
        };
        let source = Ipv4Addr::new(packet[12], packet[13], packet[14], packet[15]);
        let track = self.flows.entry(flow).or_default();
        let before = track.last;
        let first = *track.source.get_or_insert(source);
        track.packets += 1;
        track.octets += u64::from(u16::from_be_bytes([packet[2], packet[3]]));
        if number == track.complete_to + 1 {
            track.complete_to = number;
        }
        track.last = number.max(before);
        if number <= before {
            self.fault(format!("{flow:?}: frame {number} left after frame {before}"));
        }
        if source != first {
            self.fault(format!("{flow:?}: frame {number} has source {source}, the first had {first}"));
        }
        if flow.kind == FlowKind::Foreign {
            self.fault(format!("{flow:?}: frame {number} from {source} was forwarded"));
        }
    }
}
