//! The pipeline on frames: every reason, both directions, the cases from the field, and noise.
#![allow(unreachable_pub)] // a test binary exports nothing

mod answers;
mod bed;
mod downstream;
mod errors;
mod field_cases;
mod noise;
mod several;
mod upstream;
mod watch;
