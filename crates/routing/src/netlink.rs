//! Requests to the kernel's routing socket and what comes back, each as one message.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::link::LinkMessage;
use netlink_packet_route::neighbour::NeighbourMessage;
use netlink_packet_route::route::RouteMessage;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike as _};

/// Room for one datagram of the kernel, which sends up to 32 KiB in answer to a request for a whole table.
const DATAGRAM_OCTETS_MAX: usize = 64 * 1024;
/// The kernel's buffer for messages that wait for the routing thread: room for about 100,000 routes' messages in a
/// burst. What does not fit is made good by a full resync.
const EVENTS_BUFFER_OCTETS: usize = 32 * 1024 * 1024;
/// How long an answer of the kernel may take. It answers at once, unless other writers hold its lock.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The header of a netlink message: length, type, flags, sequence number, port.
const HEADER_OCTETS: usize = 16;

const NLMSG_NOOP: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLMSG_OVERRUN: u16 = 4;
const RTM_GETNEXTHOP: u16 = 106;

/// One message of the kernel, as it came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawMessage<'a> {
    /// `RTM_*`.
    pub(crate) kind: u16,
    /// `NLM_F_*`.
    pub(crate) flags: u16,
    sequence: u32,
    /// With its header.
    pub(crate) whole: &'a [u8],
}

impl<'a> RawMessage<'a> {
    /// What follows the header.
    pub(crate) fn payload(&self) -> &'a [u8] {
        self.whole.get(HEADER_OCTETS..).unwrap_or_default()
    }
}

/// The messages of one datagram.
pub(crate) fn messages(mut datagram: &[u8]) -> impl Iterator<Item = RawMessage<'_>> {
    std::iter::from_fn(move || {
        let (head, _) = datagram.split_first_chunk::<HEADER_OCTETS>()?;
        let [l0, l1, l2, l3, k0, k1, f0, f1, s0, s1, s2, s3, ..] = *head;
        let length = u32::from_ne_bytes([l0, l1, l2, l3]) as usize;
        if length < HEADER_OCTETS {
            return None;
        }
        let whole = datagram.get(..length)?;
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(RawMessage {
            kind: u16::from_ne_bytes([k0, k1]),
            flags: u16::from_ne_bytes([f0, f1]),
            sequence: u32::from_ne_bytes([s0, s1, s2, s3]),
            whole,
        })
    })
}

/// The error that an `NLMSG_ERROR` message carries; `None` for an acknowledgement.
fn error_of(message: &RawMessage<'_>) -> Option<io::Error> {
    let code = message.payload().first_chunk::<4>().map_or(-libc::EPROTO, |octets| i32::from_ne_bytes(*octets));
    (code != 0).then(|| io::Error::from_raw_os_error(code.saturating_neg()))
}

/// How a reading of a whole table ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dump {
    /// All of it was read in one state.
    Whole,
    /// It changed meanwhile.
    Interrupted,
}

/// Which table to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Links,
    NextHops,
    RoutesIpv4,
    RoutesIpv6,
    Neighbours,
}

/// A socket for requests, which are answered before the next is made.
#[derive(Debug)]
pub(crate) struct Requests {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Requests {
    /// Opens it in the network namespace of the calling thread.
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        let timeout = TimeVal::milliseconds(ANSWER_TIMEOUT.as_millis() as i64);
        setsockopt(&socket, sockopt::ReceiveTimeout, &timeout)?;
        Ok(Self { socket, sequence: 0, buffer: vec![0; DATAGRAM_OCTETS_MAX] })
    }

    /// Makes one change and waits until it is done.
    pub(crate) fn change(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        header.sequence_number = self.sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
        message.finalize();
        let mut octets = vec![0; message.buffer_len()];
        message.serialize(&mut octets);
        self.socket.send(&octets, 0)?;
        loop {
            let length = self.socket.recv(&mut &mut self.buffer[..], 0)?;
            let datagram = self.buffer.get(..length).unwrap_or_default();
            for answer in messages(datagram).filter(|answer| answer.sequence == self.sequence) {
                if answer.kind == NLMSG_ERROR {
                    return error_of(&answer).map_or(Ok(()), Err);
                }
            }
        }
    }

    /// Reads a whole table.
    pub(crate) fn dump(&mut self, table: Table, mut each: impl FnMut(RawMessage<'_>)) -> io::Result<Dump> {
        self.sequence = self.sequence.wrapping_add(1);
        let octets = dump_request(table, self.sequence);
        self.socket.send(&octets, 0)?;
        let mut result = Dump::Whole;
        loop {
            let length = self.socket.recv(&mut &mut self.buffer[..], 0)?;
            let datagram = self.buffer.get(..length).unwrap_or_default();
            for message in messages(datagram).filter(|message| message.sequence == self.sequence) {
                if message.flags & NLM_F_DUMP_INTR != 0 {
                    result = Dump::Interrupted;
                }
                match message.kind {
                    NLMSG_DONE => return error_of(&message).map_or(Ok(result), Err),
                    NLMSG_ERROR => return error_of(&message).map_or(Ok(result), Err),
                    NLMSG_NOOP | NLMSG_OVERRUN => {}
                    _ => each(message),
                }
            }
        }
    }
}

/// The octets of a request for a whole table.
fn dump_request(table: Table, sequence: u32) -> Vec<u8> {
    let routes = |family| {
        let mut message = RouteMessage::default();
        message.header.address_family = family;
        RouteNetlinkMessage::GetRoute(message)
    };
    let message = match table {
        Table::Links => RouteNetlinkMessage::GetLink(LinkMessage::default()),
        Table::RoutesIpv4 => routes(AddressFamily::Inet),
        Table::RoutesIpv6 => routes(AddressFamily::Inet6),
        Table::Neighbours => RouteNetlinkMessage::GetNeighbour(NeighbourMessage::default()),
        Table::NextHops => return next_hops_request(sequence),
    };
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    header.sequence_number = sequence;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
    message.finalize();
    let mut octets = vec![0; message.buffer_len()];
    message.serialize(&mut octets);
    octets
}

/// The request for all next-hop objects, which the packet crate does not know: a header and an empty `struct nhmsg`.
fn next_hops_request(sequence: u32) -> Vec<u8> {
    const NHMSG_OCTETS: usize = 8;
    let length = (HEADER_OCTETS + NHMSG_OCTETS) as u32;
    let mut octets = Vec::with_capacity(HEADER_OCTETS + NHMSG_OCTETS);
    octets.extend_from_slice(&length.to_ne_bytes());
    octets.extend_from_slice(&RTM_GETNEXTHOP.to_ne_bytes());
    octets.extend_from_slice(&(NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    octets.extend_from_slice(&sequence.to_ne_bytes());
    octets.extend_from_slice(&[0; 4 + NHMSG_OCTETS]);
    octets
}

/// What a turn of reading the kernel's messages brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// Nothing is left to read.
    Drained,
    /// There may be more.
    More,
    /// The kernel had no room for a message and dropped it: only a full resync tells what it was.
    Overrun,
}

/// A socket that hears of every change.
#[derive(Debug)]
pub(crate) struct Events {
    socket: Socket,
    buffer: Vec<u8>,
}

impl Events {
    /// Opens it in the network namespace of the calling thread, with room for `buffer_octets` of waiting messages or
    /// what is usual for `None`.
    pub(crate) fn open(buffer_octets: Option<usize>) -> io::Result<Self> {
        // RTNLGRP_*: link, neighbour, IPv4 route, IPv6 route, next hop.
        const GROUPS: [u32; 5] = [1, 3, 7, 11, 32];
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.set_non_blocking(true)?;
        // With CAP_NET_ADMIN the limit net.core.rmem_max does not count.
        setsockopt(&socket, sockopt::RcvBufForce, &buffer_octets.unwrap_or(EVENTS_BUFFER_OCTETS))?;
        for group in GROUPS {
            socket.add_membership(group)?;
        }
        Ok(Self { socket, buffer: vec![0; DATAGRAM_OCTETS_MAX] })
    }

    /// Reads one datagram.
    pub(crate) fn receive(&mut self, each: impl FnMut(RawMessage<'_>)) -> io::Result<Received> {
        match self.socket.recv(&mut &mut self.buffer[..], 0) {
            Ok(length) => {
                messages(self.buffer.get(..length).unwrap_or_default()).for_each(each);
                Ok(Received::More)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Received::Drained),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Received::More),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(Received::Overrun),
            Err(error) => Err(error),
        }
    }
}

impl AsRawFd for Events {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
