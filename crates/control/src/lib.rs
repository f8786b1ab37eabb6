//! The control core: rings, clock and store around subscriber.
#![forbid(unsafe_code)]
