//! The command line of `bngd`.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// A carrier PPPoE broadband network gateway on DPDK.
///
/// With --config it runs until SIGTERM or Ctrl-C; `check` only looks at a configuration.
#[derive(Debug, Parser)]
#[command(name = "bngd", version, args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct Cli {
    /// Another thing to do than to run.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// How to run.
    #[command(flatten)]
    pub run: RunArgs,
}

/// How to run.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The configuration file.
    #[arg(long, short, env = "BNGD_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How much is logged, in place of the configuration's telemetry.log.level: error, warn, info, debug, trace, or a
    /// filter such as info,bng_control=debug.
    #[arg(long, env = "BNGD_LOG_LEVEL", value_name = "LEVEL")]
    pub log_level: Option<String>,
}

/// Another thing to do than to run.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check a configuration file; every error is printed with file, line, path and reason. Exits 0 if it can be
    /// used, else 1.
    Check {
        /// The configuration file.
        #[arg(env = "BNGD_CONFIG", value_name = "FILE")]
        file: PathBuf,
    },
    /// Print the JSON schema of the configuration file.
    Schema,
}

/// Prints an answer. A reader that has seen enough (`bngd schema | head`) is no failure; an answer that cannot be written
/// for another reason, such as a full disk, is one.
#[must_use]
pub fn answer(text: &impl Display) -> ExitCode {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format_args!("bngd: the answer cannot be written: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Says something on standard error, if anybody listens there.
pub fn complain(text: &(impl Display + ?Sized)) {
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
        assert!(Cli::try_parse_from(["bngd", "check", "a.yaml"]).is_ok());
        assert!(Cli::try_parse_from(["bngd", "--config", "a.yaml"]).is_ok());
        assert!(Cli::try_parse_from(["bngd", "--config", "a.yaml", "schema"]).is_err());
    }
}
