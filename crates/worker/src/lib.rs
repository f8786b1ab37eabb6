//! The lcore loop: poll, run the stages, transmit, punt, inject, idle ramp.
#![forbid(unsafe_code)]
