//! The life of a session from PADI to its end, sans-I/O.
#![forbid(unsafe_code)]
