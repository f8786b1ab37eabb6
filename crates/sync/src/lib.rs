//! The concurrency floor: quiescent-state reclaim, bounded rings, per-worker counters, arenas.
#![deny(unsafe_op_in_unsafe_fn)]
