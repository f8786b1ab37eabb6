//! IPv4/IPv6 longest-prefix match, next hops and adjacencies: one writer, lock-free readers.
#![forbid(unsafe_code)]
