//! RADIUS from outside: the RFC's examples, field cases, properties, and scripted exchanges under a virtual clock.

mod accounting;
mod authorization;
mod client;
mod dynamic;
mod packets;
mod vectors;
