//! UDP sockets, opened when first needed.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use bng_radius::client::SocketId;
use hashbrown::HashMap;
use mio::net::UdpSocket;
use mio::{Interest, Registry, Token};
use nix::sys::socket::{setsockopt, sockopt};

/// Octets asked for as a receive buffer: the replies to 256 requests with room to spare. The kernel may give less.
const RECEIVE_BUFFER_OCTETS: usize = 1 << 20;

/// Whose socket it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    Authentication(SocketId),
    Accounting(SocketId),
    /// A place of the list of addresses to listen at.
    Dynamic(usize),
}

/// The sockets by owner and by token.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    by_owner: HashMap<Owner, usize>,
    list: Vec<(Owner, UdpSocket)>,
    /// The DSCP of what is sent.
    dscp: u8,
}

impl Sockets {
    /// None yet; what they send will have this DSCP, 0 to 63.
    pub(crate) fn new(dscp: u8) -> Self {
        Self { dscp, ..Self::default() }
    }

    /// Opens a socket bound to `local` and has it polled under the token of its place.
    pub(crate) fn open(&mut self, registry: &Registry, owner: Owner, local: SocketAddr) -> io::Result<()> {
        let mut socket = UdpSocket::bind(local)?;
        // Beyond the limit of ordinary users where that is allowed; what is given is good enough in any case.
        let _ = setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER_OCTETS)
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER_OCTETS));
        let class = i32::from(self.dscp & 63) << 2;
        if local.is_ipv4() {
            setsockopt(&socket, sockopt::Ipv4Tos, &class)?;
        } else {
            setsockopt(&socket, sockopt::Ipv6TClass, &class)?;
        }
        let place = self.list.len();
        registry.register(&mut socket, Token(place), Interest::READABLE)?;
        self.list.push((owner, socket));
        self.by_owner.insert(owner, place);
        Ok(())
    }

    /// Sends; a socket that is not open yet is opened from `source`.
    pub(crate) fn send(
        &mut self,
        registry: &Registry,
        owner: Owner,
        source: Option<IpAddr>,
        to: SocketAddr,
        datagram: &[u8],
    ) -> io::Result<()> {
        if !self.by_owner.contains_key(&owner) {
            let any = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
            self.open(registry, owner, SocketAddr::new(source.unwrap_or(any), 0))?;
        }
        let socket = self.by_owner.get(&owner).and_then(|place| self.list.get(*place));
        let (_, socket) = socket.ok_or(io::ErrorKind::NotFound)?;
        match socket.send_to(datagram, to) {
            // A buffer that is full is a loss on the way: repetition makes up for it.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            result => result.map(|_| ()),
        }
    }

    /// The next datagram of a socket; `None` once there is none.
    pub(crate) fn receive(&self, token: Token, buffer: &mut [u8]) -> Option<(Owner, usize, SocketAddr)> {
        let (owner, socket) = self.list.get(token.0)?;
        loop {
            match socket.recv_from(buffer) {
                Ok((length, from)) => return Some((*owner, length, from)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                // An ICMP error for an earlier datagram, or a signal: the next call goes on.
                Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionRefused) => {
                }
                Err(_) => return None,
            }
        }
    }
}
