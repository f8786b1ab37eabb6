//! The router's side of one link against hand-made clients, under a virtual clock.

mod dhcp;
mod field;
mod lab;
mod loss;
mod noise;
mod router;
