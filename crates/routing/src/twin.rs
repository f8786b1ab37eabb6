//! The kernel twin of a core interface: a plain tap.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use bng_wire::id::MacAddr;

use tracing::warn;

use crate::netlink::Requests;
use crate::{RoutingError, requests, sysctl};

/// An address of an interface, with the length of its network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InterfaceAddress {
    /// The router's own address.
    pub address: IpAddr,
    /// How many leading bits name the network: IPv4 0 to 32, IPv6 0 to 128.
    pub length: u8,
}

/// What a twin is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TwinConfig {
    /// The interface's name, also in the kernel: 1 to 15 octets.
    pub name: String,
    /// The core port's MAC address.
    pub mac: MacAddr,
    /// The largest IP packet, in octets.
    pub mtu: u16,
    /// The router's addresses on this interface.
    pub addresses: Vec<InterfaceAddress>,
}

/// A tap in the network namespace of the thread that made it.
#[derive(Debug)]
pub struct Twin {
    device: File,
    name: String,
    if_index: u32,
}

impl Twin {
    /// Makes the tap, gives it the port's MAC address, MTU and addresses, sets the kernel's switches for it and takes
    /// it up. A tap of this name that exists already, and that no process holds, is taken over.
    ///
    /// # Errors
    /// [`RoutingError::Twin`].
    pub fn create(config: &TwinConfig) -> Result<Self, RoutingError> {
        let fail = |what| move |source| RoutingError::Twin { name: config.name.clone(), what, source };
        let device = File::from(bng_sync::tap::open(&config.name).map_err(fail("created"))?);
        let if_index = nix::net::if_::if_nametoindex(config.name.as_str())
            .map_err(|errno| fail("found")(io::Error::from(errno)))?;
        let mut kernel = Requests::open().map_err(fail("configured over netlink"))?;
        // Before it is up: it has no link-local address yet, which is made from the MAC address.
        requests::set_link(&mut kernel, if_index, config.mac, config.mtu).map_err(fail("given its MAC and MTU"))?;
        sysctl::set_up_twin(&config.name).map_err(fail("set up"))?;
        if sysctl::ipv6_forwarding_everywhere() {
            warn!(twin = config.name, "net.ipv6.conf.all.forwarding is on: the kernel forwards IPv6 beside bngd");
        }
        for address in &config.addresses {
            requests::add_address(&mut kernel, if_index, *address).map_err(fail("given its addresses"))?;
        }
        requests::set_up(&mut kernel, if_index).map_err(fail("taken up"))?;
        Ok(Self { device, name: config.name.clone(), if_index })
    }

    /// The name of the device.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kernel's index of the device.
    #[must_use]
    pub const fn if_index(&self) -> u32 {
        self.if_index
    }

    /// A second way to the device, for whoever watches the port's link.
    ///
    /// # Errors
    /// The process has no room for another descriptor.
    pub fn carrier(&self) -> io::Result<Carrier> {
        Ok(Carrier { device: self.device.try_clone()?, name: self.name.clone() })
    }

    /// Takes the next frame that the kernel sends, from the Ethernet header on, and says how long it is.
    ///
    /// # Errors
    /// `WouldBlock` where there is none; otherwise what the kernel says. A buffer that is shorter than the frame
    /// gets its beginning.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.device).read(buffer)
    }

    /// Hands the kernel a frame, from the Ethernet header on and without a VLAN tag, as though it had been received.
    ///
    /// # Errors
    /// What the kernel says: `InvalidInput` for a frame that is shorter than its header.
    pub fn write(&self, frame: &[u8]) -> io::Result<()> {
        (&self.device).write(frame).map(|_| ())
    }
}

/// Says whether a twin's port has a link. It outlives the twin's other users no longer than they do: the device goes
/// when the last of them does.
#[derive(Debug)]
pub struct Carrier {
    device: File,
    name: String,
}

impl Carrier {
    /// The twin's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the twin a carrier or takes it away. Without one, routing daemons withdraw what leads by it, and the
    /// workers' routes do not lead by it either.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set(&self, up: bool) -> io::Result<()> {
        bng_sync::tap::set_carrier(&self.device, up)
    }
}

impl AsRawFd for Twin {
    fn as_raw_fd(&self) -> RawFd {
        self.device.as_raw_fd()
    }
}

impl AsFd for Twin {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
