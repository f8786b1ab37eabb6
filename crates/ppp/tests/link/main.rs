//! A whole link, driven packet by packet through its public interface.

mod auth;
mod convergence;
mod harness;
mod keepalive;
mod lcp;
mod ncp;
mod noise;
