//! The daemon.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use bng::cli::{Cli, Command};
use clap::Parser as _;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match (cli.command, cli.run.config) {
        (Some(Command::Check { file }), _) => bng::daemon::check(&file),
        (Some(Command::Schema), _) => {
            println!("{}", bng_config::schema());
            ExitCode::SUCCESS
        }
        (None, Some(file)) => bng::daemon::main(&file, cli.run.log_level.as_deref()),
        (None, None) => {
            eprintln!("bngd: which configuration? Say --config FILE, or set BNGD_CONFIG.");
            ExitCode::from(2)
        }
    }
}
