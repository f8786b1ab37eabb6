//! The real loop on real lcores, with rings as ports. One process, one EAL, hence one test binary.

mod bed;
mod control;
mod drops;
mod forwarding;
mod pipeline;
mod resting;
mod sharing;
