//! Development only: the CPE side of every protocol, for tests and load.
#![forbid(unsafe_code)]
