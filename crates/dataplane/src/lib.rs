//! The burst stages of forwarding, pure: bytes and tables in, verdicts out.
#![forbid(unsafe_code)]
