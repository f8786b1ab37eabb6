//! Safe wrappers over DPDK 22.11: EAL, mempool, mbuf, port, queue, rings as ports, worker launch.
//!
//! Who keeps whom alive: a queue keeps its port, a port its pools and rings, all of them the [`Eal`]. The last one
//! to go cleans up the EAL, so that stopping is dropping: join the workers, drop queues, ports and pools.
//! An [`Mbuf`] alone keeps nothing (it would cost a count per packet): a pool that is dropped while mbufs of it are
//! still out is left in place, together with the EAL, and says so in the log.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod affinity;
mod clock;
mod descriptors;
mod device;
mod eal;
mod launch;
mod limits;
mod log;
mod mbuf;
mod mempool;
mod netns;
mod port;
mod port_error;
mod queue;
mod rings;
mod signals;
mod version;
pub mod yardstick;

pub use clock::{pause, rdtsc, tsc_hz};
pub use device::{Device, DeviceError};
pub use eal::{Eal, EalConfig, EalError, HugePages, WORKERS_MAX};
pub use launch::{WorkerContext, WorkerFailure, Workers};
pub use limits::{TAP_MTU_MAX, TAP_QUEUES_MAX};
pub use log::{LogLevel, LogSink};
pub use mbuf::{HEADROOM_OCTETS, Mbuf};
pub use mempool::{DATA_ROOM_OCTETS, Mempool, MempoolConfig, MempoolError};
pub use netns::Netns;
pub use port::{LinkState, Port, PortConfig, PortStats};
pub use port_error::PortError;
pub use queue::{RxQueue, TxQueue};
pub use rings::{RingDrain, RingFeed, RingPort, RingPortConfig, mbuf_ring};
pub use version::version;

/// Properties that the crates above rely on, checked when this crate is compiled.
const _: () = {
    const fn send<T: Send>() {}
    const fn send_sync<T: Send + Sync>() {}
    send::<Mbuf>();
    send::<RxQueue>();
    send::<TxQueue>();
    send::<RingFeed>();
    send::<RingDrain>();
    send::<Workers<()>>();
    send_sync::<Eal>();
    send_sync::<Mempool>();
    send_sync::<Port>();
};
