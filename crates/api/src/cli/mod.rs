//! The command line of bngctl.

mod show;
mod table;
mod watch;

use std::io::{IsTerminal as _, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{ClearReport, ClearRequest};
use crate::{
    Client, ClientError, DropsView, FilterError, PoolsView, PortsView, RadiusView, RoutesView, SessionFilter,
    SessionState, VersionView, VlanFilter, WorkersView, normalize_mac,
};

/// Exit code where bngd said no, or was asked for what does not exist.
pub const EXIT_REFUSED: u8 = 1;
/// Exit code where the command line makes no sense (clap's own).
pub const EXIT_USAGE: u8 = 2;
/// Exit code where bngd does not answer.
pub const EXIT_NOT_THERE: u8 = 3;

/// Looks into a running bngd and acts on it.
#[derive(Debug, Parser)]
#[command(name = "bngctl", version, about, disable_help_subcommand = true)]
#[command(after_help = "Exit codes: 0 done, 1 refused or not found, 2 wrong command line, 3 bngd does not answer.")]
pub struct Cli {
    /// The UNIX socket of bngd (`telemetry.socket` of its configuration).
    #[arg(long, global = true, env = "BNGCTL_SOCKET", value_name = "PATH", default_value = "/run/bngd/api.sock")]
    socket: PathBuf,
    /// Print JSON, with the field names of the HTTP API.
    #[arg(long, global = true, env = "BNGCTL_JSON")]
    json: bool,
    /// Seconds to wait for an answer.
    #[arg(long, global = true, env = "BNGCTL_TIMEOUT", value_name = "SECONDS", default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what is there.
    #[command(subcommand)]
    Show(Show),
    /// End sessions: their clients get a PADT.
    #[command(subcommand)]
    Clear(Clear),
    /// Show the way of a client's frames through the box: every stage, and how each ended.
    Trace(watch::TraceArgs),
    /// Write what a client sends and gets to a pcap file.
    Capture(watch::CaptureArgs),
    /// Change what is logged.
    #[command(subcommand)]
    Log(Log),
}

#[derive(Debug, Subcommand)]
enum Show {
    /// Subscriber sessions.
    Sessions(SessionsArgs),
    /// Everything about one session.
    Session {
        /// Its id, as `show sessions` lists it: PORT.OUTER_VLAN.SESSION_ID.
        id: String,
    },
    /// Ports and their counters.
    Ports,
    /// Workers, how busy they are, and what each moved.
    Workers,
    /// Where packets ended other than by being forwarded.
    Drops {
        /// Show the reasons that never happened as well.
        #[arg(long, env = "BNGCTL_ALL")]
        all: bool,
    },
    /// Address and prefix pools.
    Pools,
    /// RADIUS servers, accounting, and requests from outside.
    Radius,
    /// The forwarding table.
    Routes,
    /// What runs, and since when.
    Version,
}

#[derive(Debug, Args)]
struct SessionsArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Show this many at most.
    #[arg(long, env = "BNGCTL_LIMIT", value_name = "N")]
    limit: Option<u64>,
    /// Skip this many.
    #[arg(long, env = "BNGCTL_OFFSET", value_name = "N")]
    offset: Option<u64>,
}

#[derive(Debug, Args)]
struct FilterArgs {
    /// The user's name; `*` stands for any text.
    #[arg(long, env = "BNGCTL_USER", value_name = "NAME")]
    user: Option<String>,
    /// The client's MAC address, in any notation.
    #[arg(long, env = "BNGCTL_MAC", value_parser = normalize_mac)]
    mac: Option<String>,
    /// An address that the client has, or that lies in a prefix of it.
    #[arg(long, env = "BNGCTL_IP", value_name = "ADDRESS")]
    ip: Option<IpAddr>,
    /// VLANs: 100, 100.7, or `none` for untagged.
    #[arg(long, env = "BNGCTL_VLAN", value_parser = vlan)]
    vlan: Option<VlanFilter>,
    /// Agent Circuit ID; `*` stands for any text.
    #[arg(long, env = "BNGCTL_CIRCUIT_ID", value_name = "TEXT")]
    circuit_id: Option<String>,
    /// The access port's name.
    #[arg(long, env = "BNGCTL_PORT", value_name = "NAME")]
    port: Option<String>,
    /// link, authenticating, network, up or closing.
    #[arg(long, env = "BNGCTL_STATE", value_parser = state)]
    state: Option<SessionState>,
}

fn vlan(text: &str) -> Result<VlanFilter, FilterError> {
    text.parse()
}

fn state(text: &str) -> Result<SessionState, FilterError> {
    text.parse()
}

impl FilterArgs {
    fn filter(self) -> SessionFilter {
        SessionFilter {
            user: self.user,
            mac: self.mac,
            ip: self.ip,
            vlan: self.vlan,
            circuit_id: self.circuit_id,
            port: self.port,
            state: self.state,
            ..SessionFilter::default()
        }
    }
}

#[derive(Debug, Subcommand)]
enum Clear {
    /// End the session with this id, or all that match the filters.
    #[command(visible_alias = "sessions")]
    Session {
        /// The session's id: PORT.OUTER_VLAN.SESSION_ID.
        id: Option<String>,
        #[command(flatten)]
        filter: FilterArgs,
        /// Every session of the box. Only needed where no filter is given.
        #[arg(long)]
        all: bool,
        /// Do not ask where more than one session would end.
        #[arg(long, short, env = "BNGCTL_YES")]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
enum Log {
    /// Set how much is logged, until the next start.
    Level {
        /// error, warn, info, debug, trace, or a filter such as `info,bng_routing=debug`.
        level: String,
    },
}

/// What a command needs of the world around it; tests pass their own.
pub struct Terminal<'a> {
    /// Where answers go.
    pub out: &'a mut dyn Write,
    /// Where errors go.
    pub err: &'a mut dyn Write,
    /// Asks a question; `None` where nobody is there to answer.
    pub confirm: &'a mut dyn FnMut(&str) -> Option<bool>,
}

/// bngctl's main function.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut confirm = |question: &str| {
        if !std::io::stdin().is_terminal() {
            return None;
        }
        // A question that cannot be shown can still be answered.
        let _ = write!(std::io::stderr(), "{question} [y/N] ");
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer).ok()?;
        Some(matches!(answer.trim(), "y" | "Y" | "yes"))
    };
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr().lock());
    ExitCode::from(finish(cli, &mut Terminal { out: &mut out, err: &mut err, confirm: &mut confirm }))
}

/// Runs bngctl with the given arguments, the program's name first, and returns its exit code.
pub fn run<I: IntoIterator<Item = S>, S: Into<std::ffi::OsString> + Clone>(args: I, terminal: &mut Terminal<'_>) -> u8 {
    match Cli::try_parse_from(args) {
        Ok(cli) => finish(cli, terminal),
        Err(error) => {
            let _ = write!(terminal.err, "{error}");
            if error.use_stderr() { EXIT_USAGE } else { 0 }
        }
    }
}

enum Failure {
    Client(ClientError),
    Refused(String),
    /// The answer cannot be written. `BrokenPipe`: its reader has seen enough (`bngctl ... | head`), which is no failure.
    Output(std::io::Error),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}

fn finish(cli: Cli, terminal: &mut Terminal<'_>) -> u8 {
    let (message, code) = match execute(cli, terminal) {
        Ok(()) => return 0,
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => return 0,
        Err(Failure::Output(error)) => (format!("the answer cannot be written: {error}"), EXIT_REFUSED),
        Err(Failure::Refused(message)) => (message, EXIT_REFUSED),
        Err(Failure::Client(error)) => {
            let code = if matches!(error, ClientError::Refused { .. }) { EXIT_REFUSED } else { EXIT_NOT_THERE };
            (error.to_string(), code)
        }
    };
    let _ = writeln!(terminal.err, "bngctl: {message}");
    code
}

fn execute(cli: Cli, terminal: &mut Terminal<'_>) -> Result<(), Failure> {
    let client = Client::new(cli.socket, Duration::from_secs(cli.timeout));
    let mut view = Viewer { client: &client, json: cli.json, terminal };
    match cli.command {
        Command::Show(Show::Sessions(args)) => {
            let filter = SessionFilter { limit: args.limit, offset: args.offset, ..args.filter.filter() };
            let sessions = client.sessions(&filter)?;
            view.print(&sessions, show::sessions)
        }
        Command::Show(Show::Session { id }) => view.print(&client.session(&id)?, show::session),
        Command::Show(Show::Ports) => view.get::<PortsView>("ports", show::ports),
        Command::Show(Show::Workers) => view.get::<WorkersView>("workers", show::workers),
        Command::Show(Show::Drops { all }) => view.get::<DropsView>("drops", |drops| show::drops(drops, all)),
        Command::Show(Show::Pools) => view.get::<PoolsView>("pools", show::pools),
        Command::Show(Show::Radius) => view.get::<RadiusView>("radius", show::radius),
        Command::Show(Show::Routes) => view.get::<RoutesView>("routes", show::routes),
        Command::Show(Show::Version) => view.get::<VersionView>("version", show::version),
        Command::Clear(Clear::Session { id, filter, all, yes }) => {
            let filter = SessionFilter { id, ..filter.filter() };
            let report = clear(&client, filter, all, yes, view.terminal)?;
            view.print(&report, |report| format!("{} being ended\n", show::count(report.cleared, "session")))
        }
        Command::Trace(args) => watch::trace(&client, args, cli.json, view.terminal),
        Command::Capture(args) => watch::capture(&client, args, view.terminal),
        Command::Log(Log::Level { level }) => {
            let answer = client.set_log_level(&level)?;
            view.print(&answer, |answer| format!("log level is now {}\n", answer.level))
        }
    }
}

/// Ends sessions, after a question where it is more than one and the caller has not said yes to that already.
fn clear(
    client: &Client,
    filter: SessionFilter,
    all: bool,
    yes: bool,
    terminal: &mut Terminal<'_>,
) -> Result<ClearReport, Failure> {
    if filter.is_empty() && !all {
        return Err(Failure::Refused("name a session or a filter, or say --all".into()));
    }
    if filter.id.is_none() && !yes {
        let matched = client.sessions(&SessionFilter { limit: Some(0), ..filter.clone() })?.matched;
        if matched > 1 {
            let sessions = show::count(matched, "session");
            match (terminal.confirm)(&format!("End {sessions}?")) {
                Some(true) => {}
                Some(false) => return Err(Failure::Refused("nothing was done".into())),
                None => return Err(Failure::Refused(format!("this would end {sessions}: say --yes"))),
            }
        }
    }
    if let Some(id) = &filter.id {
        // So that a wrong id is an error, and not "0 sessions".
        client.session(id)?;
    }
    Ok(client.clear(&ClearRequest { filter, all })?)
}

struct Viewer<'a, 'b> {
    client: &'a Client,
    json: bool,
    terminal: &'a mut Terminal<'b>,
}

impl Viewer<'_, '_> {
    fn get<T: DeserializeOwned + Serialize>(
        &mut self,
        what: &str,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        let value: T = self.client.get(&format!("/api/v1/{what}"))?;
        self.print(&value, text)
    }

    fn print<T: Serialize>(&mut self, value: &T, text: impl FnOnce(&T) -> String) -> Result<(), Failure> {
        if self.json {
            let json = serde_json::to_string_pretty(value).map_err(|error| ClientError::Broken(error.to_string()))?;
            writeln!(self.terminal.out, "{json}")?;
        } else {
            self.terminal.out.write_all(text(value).as_bytes())?;
        }
        self.terminal.out.flush()?;
        Ok(())
    }
}
