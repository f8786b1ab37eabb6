//! The bngd daemon.
fn main() {}
