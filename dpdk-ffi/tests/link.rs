//! The bindings are those of the library that is linked, and the drivers are in.
#![allow(clippy::undocumented_unsafe_blocks, reason = "one call without conditions")]

use std::ffi::CStr;

#[test]
fn the_linked_version_is_the_one_the_build_found() {
    let version = unsafe { CStr::from_ptr(dpdk_sys::rte_version()) };
    assert!(version.to_string_lossy().contains("22.11"), "{version:?}");
}

#[test]
fn an_mbuf_has_two_cache_lines() {
    assert_eq!(std::mem::size_of::<dpdk_sys::rte_mbuf>(), 128);
}
