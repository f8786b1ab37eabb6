//! The bngctl command line.
fn main() {}
