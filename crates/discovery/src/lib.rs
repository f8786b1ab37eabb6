//! PPPoE access concentrator discovery stage (RFC 2516), sans-I/O.
#![forbid(unsafe_code)]
