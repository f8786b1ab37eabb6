//! The concurrency floor: quiescent-state reclaim, bounded rings, per-worker counters, arenas.
//!
//! Everything that threads of bngd share is built from the types here, so that this one crate can be model-checked
//! (`loom.sh` beside this crate runs the checks) and the crates above it need no `unsafe`:
//!
//! - [`Qsbr`] and [`RetireList`]: what a writer replaces is freed by that writer after every reader has passed a
//!   quiescent point (a burst boundary). No destructor runs on a reader.
//! - [`Published`]: one value that a writer replaces and readers borrow until their next quiescent point.
//! - [`Snapshot`]: a few words that a writer changes and readers see whole.
//! - [`frame_ring`]: frames of any length from one thread to another; never blocks, never allocates once made.
//! - [`Arena`]: a fixed number of zeroed elements in lazily faulted memory, in huge pages where there are any.
//! - [`Counter`], [`PerWorker`]: counters that one thread writes and others read.
//! - [`prefetch_read`], [`prefetch_index`]: hints to the cache.
#![deny(unsafe_op_in_unsafe_fn)]

mod arena;
mod atomic;
mod counter;
mod frame_ring;
mod ordering;
mod prefetch;
#[cfg(not(loom))]
pub mod proof;
mod published;
mod qsbr;
mod retire;
mod snapshot;
pub mod tap;
mod words;

pub use arena::{Arena, ArenaError, Pages, Placement};
pub use counter::{Counter, PerWorker};
pub use crossbeam_utils::CachePadded;
pub use frame_ring::{FrameConsumer, FrameMeta, FrameProducer, Full, frame_ring};
pub use prefetch::{prefetch_index, prefetch_read};
pub use published::{Published, Publisher, published};
pub use qsbr::{Epoch, Qsbr, Reader};
pub use retire::{RetireFull, RetireList};
pub use snapshot::Snapshot;

/// Properties that the crates above rely on, checked when this crate is compiled.
const _: () = {
    const fn send<T: Send>() {}
    const fn send_sync<T: Send + Sync>() {}
    send_sync::<Qsbr>();
    send::<Reader>();
    send::<RetireList<Box<u8>>>();
    send::<FrameProducer>();
    send::<FrameConsumer>();
    send::<Publisher<u64>>();
    send_sync::<Published<u64>>();
    send_sync::<Arena<core::sync::atomic::AtomicU32>>();
    send_sync::<Counter>();
    send_sync::<Snapshot<3>>();
    send_sync::<PerWorker<Counter>>();
};
