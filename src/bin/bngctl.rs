//! The bngctl command line: everything it does is in `bng_api::cli`, where it is tested without DPDK.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    bng_api::cli::main()
}
