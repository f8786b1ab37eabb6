//! The daemon.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use bng::cli::{Cli, Command};
use clap::Parser as _;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match (cli.command, cli.run.config) {
        (Some(Command::Check { file }), _) => bng::daemon::check(&file),
        (Some(Command::Schema), _) => bng::cli::answer(&bng_config::schema()),
        (None, Some(file)) => bng::daemon::main(&file, cli.run.log_level.as_deref()),
        (None, None) => {
            bng::cli::complain("bngd: which configuration? Say --config FILE, or set BNGD_CONFIG.");
            ExitCode::from(2)
        }
    }
}
