//! Kernel twins, and routes and neighbours learned over netlink into the FIB.
#![forbid(unsafe_code)]
