//! Raw bindings to the installed DPDK, linked statically. Everything here is unsafe and follows DPDK's own
//! documentation; `bng-dpdk` is the safe side. `K_` constants stand for DPDK's 64-bit flag macros, `shim_`
//! functions for its inline functions.
#![allow(
    non_camel_case_types,
    non_upper_case_globals,
    non_snake_case,
    dead_code,
    improper_ctypes,
    missing_docs,
    unsafe_op_in_unsafe_fn,
    clippy::all,
    clippy::pedantic,
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    reason = "generated code"
)]

include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
