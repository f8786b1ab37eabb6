//! What can go wrong with a port, one sentence each.

use crate::device::DeviceError;
use std::io;

/// Why a port was not opened, or did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The text names no device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The name of a port of rings is empty, too long, or not plain.
    #[error("\"{name}\" cannot name a port of rings: 1 to 16 letters, digits and '_' can")]
    BadRingName {
        /// The name.
        name: String,
    },
    /// The device is a port of this process already.
    #[error("device {device} is open already")]
    AlreadyOpen {
        /// Its name.
        device: String,
    },
    /// No driver goes by that name.
    #[error("no driver for device {device} is built in{said}")]
    UnknownDriver {
        /// The device.
        device: String,
        /// What DPDK logged.
        said: String,
    },
    /// A card was named, but the EAL was started without cards.
    #[error("device {device} is a card, but the EAL was started without cards: list it in pci_addresses")]
    PciDisabled {
        /// The device.
        device: String,
    },
    /// The card is not there, or no driver of DPDK's may have it.
    #[error("there is no usable card at {device}: is it there, and bound to vfio-pci?{said}")]
    NoSuchCard {
        /// Its address.
        device: String,
        /// What DPDK logged.
        said: String,
    },
    /// The driver did not make a port of the device.
    #[error("device {device} cannot be set up: {reason}{said}")]
    Probe {
        /// The device.
        device: String,
        /// DPDK's error as a text.
        reason: String,
        /// What DPDK logged.
        said: String,
    },
    /// More queues than the device has, or none.
    #[error("device {device} takes 1 to {max} {side} queues, not {wanted}")]
    QueueCount {
        /// The device.
        device: String,
        /// "receive" or "transmit".
        side: &'static str,
        /// Asked for.
        wanted: u16,
        /// The most it takes.
        max: u16,
    },
    /// A net_tap port with different numbers of receive and transmit queues.
    #[error("device {device} is a tap and needs as many receive as transmit queues, not {rx} and {tx}")]
    UnequalQueues {
        /// The device.
        device: String,
        /// Receive queues asked for.
        rx: u16,
        /// Transmit queues asked for.
        tx: u16,
    },
    /// An argument that the driver does not know (it would ignore it).
    #[error("device {device} takes no argument \"{key}\": net_tap knows iface, mac, persist and remote")]
    UnknownArgument {
        /// The device.
        device: String,
        /// The key.
        key: String,
    },
    /// The name of the kernel's interface is longer than the kernel takes.
    #[error("device {device}: \"{name}\" cannot be the name of an interface: 1 to 15 characters without '/' can")]
    InterfaceName {
        /// The device.
        device: String,
        /// The name.
        name: String,
    },
    /// The kernel has an interface of that name already, perhaps of another process.
    #[error("device {device}: there is an interface \"{name}\" already: is another process using it?")]
    InterfaceInUse {
        /// The device.
        device: String,
        /// The interface.
        name: String,
    },
    /// A larger or smaller MTU than the device takes.
    #[error("device {device} takes an MTU of {min} to {max}, not {wanted}")]
    Mtu {
        /// The device.
        device: String,
        /// Asked for.
        wanted: u16,
        /// The smallest it takes.
        min: u16,
        /// The largest it takes.
        max: u16,
    },
    /// A frame of that MTU does not fit one buffer.
    #[error(
        "device {device}: frames of an MTU of {mtu} do not fit the buffers of {room} octets: make the data room larger"
    )]
    BuffersTooSmall {
        /// The device.
        device: String,
        /// The MTU asked for.
        mtu: u16,
        /// The data room of the pool.
        room: u16,
    },
    /// Not enough buffers, or not enough memory for the queue itself.
    #[error(
        "device {device}: no memory for a receive queue of {rx_descriptors} descriptors, each with a buffer of its own \
         ({free} are free in the mempool): make the mempool larger or the queues shorter"
    )]
    TooFewBuffers {
        /// The device.
        device: String,
        /// Descriptors of each receive queue.
        rx_descriptors: u16,
        /// Buffers left in the pool.
        free: u32,
    },
    /// The network namespace cannot be entered.
    #[error("device {device}: network namespace {netns} cannot be entered: {error}")]
    Netns {
        /// The device.
        device: String,
        /// The namespace.
        netns: String,
        /// Why.
        error: io::Error,
    },
    /// A step of the set-up, or a later request, that the driver refuses.
    #[error("device {device}: cannot {step}: {reason}{said}")]
    Refused {
        /// The device.
        device: String,
        /// What was asked.
        step: &'static str,
        /// DPDK's error as a text.
        reason: String,
        /// What DPDK logged.
        said: String,
    },
    /// The port is to be closed while a queue is still held somewhere: it closes when that one is dropped.
    #[error("device {device} still has queues in use and will close when the last is dropped")]
    QueuesInUse {
        /// The device.
        device: String,
    },
}
