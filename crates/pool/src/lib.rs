//! Address and prefix pools.
#![forbid(unsafe_code)]
