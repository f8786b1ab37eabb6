//! `bngd` from start to stop: in which order the parts are made, started, stopped and let go.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bng_config::{Config, LogFormat, StopSessions};
use bng_control::{ControlConfig, ControlCore, CoreParts, WorkerRings};
use bng_dataplane::{Pipeline, PipelineConfig, PuntClass, Tables, WorkerCounters};
use bng_dpdk::Workers;
use bng_subscriber::{Environment, Subscribers};
use bng_sync::{FrameConsumer, FrameProducer, Placement, frame_ring};
use bng_worker::{IdleConfig, Stop, Worker, WorkerParts, WorkerStatus};
use tracing::{error, info, warn};

use crate::backend::{Names, Observer, Watching};
use crate::cli::{answer, complain};
use crate::wiring::ports::Dpdk;
use crate::wiring::{aaa, duid, forwarding, ports, routing, subscribers};

/// How long the clients may take to be told that the box goes down.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the lock of another instance is waited for, and how often it is tried.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);
const LOCK_AGAIN: Duration = Duration::from_millis(50);

type RunningWorkers = Workers<Worker<Pipeline>>;

/// `bngd check FILE`: says what is wrong with a configuration, or that nothing is.
#[must_use]
pub fn check(file: &Path) -> ExitCode {
    match bng_config::load(file) {
        Ok(config) => {
            for warning in &config.warnings {
                complain(warning);
            }
            answer(&format_args!("{}: ok", file.display()))
        }
        Err(errors) => {
            complain(&errors);
            ExitCode::FAILURE
        }
    }
}

/// `bngd --config FILE`.
#[must_use]
pub fn main(file: &Path, log_level: Option<&str>) -> ExitCode {
    let config = match bng_config::load(file) {
        Ok(config) => config,
        Err(errors) => {
            complain(&errors);
            return ExitCode::FAILURE;
        }
    };
    match run(&config, log_level) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format_args!("bngd: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs until SIGTERM or Ctrl-C.
///
/// # Errors
/// One sentence and its causes, where the box cannot start or had to stop; nothing is left behind.
pub fn run(config: &Config, log_level: Option<&str>) -> anyhow::Result<()> {
    // What is still to be written when this returns is waited for, before the caller says why the box stops.
    let (log, _written) = start_logs(config, log_level)?;
    for warning in &config.warnings {
        warn!("{warning}");
    }
    check_rights(config)?;
    let _only = only_instance(&config.telemetry.socket)?;
    // Before the EAL makes threads: they inherit who handles signals.
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    ignore_others()?;
    let file_prefix = format!("bngd-{}", std::process::id());
    let dpdk = ports::open(config, &file_prefix)?;
    let outcome = serve(config, &dpdk, &stop, log);
    close(dpdk);
    outcome
}

/// Starts the log on the control CPU: its thread inherits that, and the workers' CPUs are for the workers alone.
fn start_logs(
    config: &Config,
    log_level: Option<&str>,
) -> anyhow::Result<(bng_telemetry::LogHandle, bng_telemetry::LogGuard)> {
    let log = bng_telemetry::LogConfig {
        filter: log_level.unwrap_or(config.telemetry.log.level.as_str()).to_owned(),
        json: config.telemetry.log.format == LogFormat::Json,
    };
    let start = || {
        let mut cpus = nix::sched::CpuSet::new();
        // Where it cannot be placed it runs elsewhere, which is no reason not to start.
        let _ = cpus
            .set(config.cores.control)
            .and_then(|()| nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &cpus));
        bng_telemetry::init_logs(&log)
    };
    let started = std::thread::scope(|scope| scope.spawn(start).join());
    Ok(started.map_err(|_| anyhow::anyhow!("the log cannot be started"))??)
}

/// Raises the workers' flag when it goes out of scope: they are waited for where their handle is dropped, which would
/// have no end while nobody has told them to stop.
struct StopWorkers(Stop);

impl Drop for StopWorkers {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn serve(config: &Config, dpdk: &Dpdk, stop: &AtomicBool, log: bng_telemetry::LogHandle) -> anyhow::Result<()> {
    let macs = ports::macs(&dpdk.ports)?;
    let settings = subscriber_settings(config, dpdk, &macs)?;
    let placement = if dpdk.eal.uses_huge_pages() { Placement::Huge } else { Placement::Ordinary };
    let tables = forwarding::tables(config, settings.limits.table_size(), placement)?;
    let port_table = Arc::new(forwarding::port_table(config, &macs));
    let names = Arc::new(Names::of(config, &settings));

    let interfaces = routing::twins(config, &macs)?;
    // Before the routes are entered: the first reading finds the links as they are.
    let _links = routing::watch_links(&dpdk.ports, &interfaces)?;
    let routing_settings = routing::settings(config, &macs, &interfaces, tables.pool_routes.clone())?;
    let (routing, routing_events) = bng_routing::spawn(routing_settings, tables.fib_writer)?;
    let routing = Arc::new(routing);

    let count = config.cores.workers.len();
    let counters: Vec<Arc<WorkerCounters>> = (0..count).map(|_| Arc::default()).collect();
    let status: Vec<Arc<WorkerStatus>> = (0..count).map(|_| Arc::default()).collect();
    let worker_stop = Stop::new();
    let (worker_watches, watch_readers) = bng_dataplane::watches(count);
    let mut worker_watches = worker_watches.into_iter();
    let mut rings = Vec::with_capacity(count);
    let mut parts = Vec::with_capacity(count);
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).map_err(|error| anyhow::anyhow!("the kernel gives no randomness: {error}"))?;
    let seed = u64::from_ne_bytes(seed);
    let shares = ports::share_queues(config, dpdk, seed)?;
    let limits = PipelineConfig { seed: seed.rotate_left(32), ..PipelineConfig::default() };
    for (number, (share, peers)) in shares.ports.into_iter().zip(shares.peers).enumerate() {
        let (punt, punted) = punt_rings(config);
        let (injected, inject) =
            frame_ring(config.limits.inject_ring_bytes as usize, config.limits.inject_ring_frames as usize);
        rings.push(WorkerRings { punt: punted, inject: injected });
        let read = Tables {
            sessions: Arc::clone(&tables.sessions),
            fib: Arc::clone(&tables.fib),
            pools: Arc::clone(&tables.pools),
            ports: Arc::clone(&port_table),
        };
        let (Some(of_worker), Some(status), Some(watch)) =
            (counters.get(number), status.get(number), worker_watches.next())
        else {
            continue;
        };
        parts.push(WorkerParts {
            stages: Pipeline::new(number, read, Arc::clone(of_worker), limits).with_watch(watch),
            ports: share,
            peers,
            pool: dpdk.pool.clone(),
            reader: tables.grace.reader(number).context("a worker's place among the readers is taken")?,
            punt,
            inject,
            counters: Arc::clone(of_worker),
            status: Arc::clone(status),
            idle: IdleConfig::default(),
            stop: worker_stop.clone(),
        });
    }

    let (sessions, echoes) = (Arc::clone(&tables.sessions), Arc::clone(&tables.sessions));
    let environment = Environment {
        // Without randomness cookies could be guessed; the kernel always has some once it is up.
        random: Box::new(|bytes| {
            if let Err(error) = getrandom::fill(bytes) {
                error!(%error, "the kernel gives no randomness");
            }
        }),
        upstream_packets: Box::new(move |index| sessions.totals(index).up_packets),
        client_echoes: Box::new(move |index| echoes.totals(index).echoes),
        boot_clock_s: boot_clock_s()?,
    };
    let limits = settings.limits.clone();
    let (aaa_thread, aaa, aaa_events) = match start_aaa(config)? {
        Some((thread, handle, events)) => (Some(thread), Some(handle), Some(events)),
        None => (None, None, None),
    };
    let (mut control, handle) = ControlCore::new(
        ControlConfig {
            disconnect_at_stop: config.stop.sessions == StopSessions::Disconnect,
            stop_timeout: STOP_TIMEOUT,
        },
        CoreParts {
            subscribers: Subscribers::new(settings, environment, Instant::now())?,
            sessions: tables.session_writer,
            pools: tables.pools,
            bindings: tables.bindings,
            fib: Arc::clone(&tables.fib),
            reader: tables.grace.reader(count).context("the control core's place among the readers is taken")?,
            workers: rings,
            interfaces,
            routing: Arc::clone(&routing),
            routing_events,
            port_names: config.ports.iter().map(|port| port.name.clone()).collect(),
            aaa: aaa.clone().zip(aaa_events),
        },
    )?;
    let observer = Arc::new(Observer {
        names,
        control: handle,
        control_counters: control.counters(),
        aaa,
        sessions: tables.sessions,
        counters,
        status,
        routing: Arc::clone(&routing),
        log,
        started: Instant::now(),
        ports: observed_ports(config, dpdk, &macs, &shares.spread),
        limits,
        watching: Watching::new(watch_readers, Arc::clone(&tables.fib)),
    });
    let workers = start_workers(dpdk, parts)?;
    // Behind `workers`, and so dropped before them.
    let worker_stop = StopWorkers(worker_stop);
    let server = bng_api::serve(
        bng_api::ServerConfig {
            listen: config.telemetry.listen,
            socket: config.telemetry.socket.clone(),
            cpu: Some(config.cores.control),
        },
        observer,
    )?;
    info!(
        ports = config.ports.len(),
        workers = count,
        sessions_max = config.limits.sessions_max,
        "serving: {}",
        config.node.name
    );
    if let Err(error) = sd_notify::notify(&[sd_notify::NotifyState::Ready]) {
        warn!(%error, "the service manager cannot be told");
    }
    let outcome = control.run(stop);
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
    server.stop();
    if let Some(thread) = aaa_thread {
        thread.join();
    }
    // Last words to the clients are in the inject rings; the workers send them before they end.
    drop(worker_stop);
    for failure in workers.join().into_iter().filter_map(Result::err) {
        error!("{failure}");
    }
    routing.stop();
    outcome?;
    Ok(())
}

type RunningAaa = (bng_aaa::AaaThread, bng_aaa::AaaHandle, crossbeam_channel::Receiver<bng_aaa::Event>);

/// Starts the RADIUS thread, where the configuration has RADIUS.
fn start_aaa(config: &Config) -> anyhow::Result<Option<RunningAaa>> {
    let Some(settings) = aaa::settings(config)? else { return Ok(None) };
    let mut seeds = [[0; 32]; 3];
    for seed in &mut seeds {
        getrandom::fill(seed).map_err(|error| anyhow::anyhow!("the kernel gives no randomness: {error}"))?;
    }
    Ok(Some(bng_aaa::spawn(settings, seeds)?))
}

fn subscriber_settings(
    config: &Config,
    dpdk: &Dpdk,
    macs: &[bng_wire::MacAddr],
) -> anyhow::Result<bng_subscriber::SubscriberConfig> {
    let open: Vec<subscribers::OpenPort> = config
        .ports
        .iter()
        .zip(&dpdk.ports)
        .zip(macs)
        .map(|((from, port), mac)| subscribers::OpenPort {
            mac: *mac,
            max_payload_by_tags: subscribers::max_payload_by_tags(from, port.frame_octets_max()),
        })
        .collect();
    let mut cookie_key = [0; 32];
    getrandom::fill(&mut cookie_key).map_err(|error| anyhow::anyhow!("the kernel gives no randomness: {error}"))?;
    // Nobody asks for it where no profile has IPv6.
    let duid = match config.profiles.iter().any(|profile| profile.ipv6.is_some()) {
        true => duid::load(&config.node.state_folder, macs.first().copied().unwrap_or_default())?,
        false => Vec::new(),
    };
    subscribers::settings(config, &open, cookie_key, &duid)
}

/// Seconds since the machine started: a clock that a restart of this process does not set back.
fn boot_clock_s() -> anyhow::Result<u32> {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_BOOTTIME).context("the boot clock cannot be read")?;
    Ok(u32::try_from(now.tv_sec()).unwrap_or(u32::MAX))
}

fn punt_rings(config: &Config) -> ([FrameProducer; PuntClass::COUNT], [FrameConsumer; PuntClass::COUNT]) {
    let ring = |_| frame_ring(config.limits.punt_ring_bytes as usize, config.limits.punt_ring_frames as usize);
    let [keepalive, session, discovery, host] = PuntClass::ALL.map(ring);
    ([keepalive.0, session.0, discovery.0, host.0], [keepalive.1, session.1, discovery.1, host.1])
}

fn start_workers(dpdk: &Dpdk, parts: Vec<WorkerParts<Pipeline>>) -> anyhow::Result<RunningWorkers> {
    let workers = parts.into_iter().map(Worker::new).collect::<Result<Vec<_>, _>>()?;
    let closures = workers.into_iter().map(|worker| move |_context| worker.run()).collect();
    Ok(dpdk.eal.launch_workers(closures)?)
}

fn observed_ports(
    config: &Config,
    dpdk: &Dpdk,
    macs: &[bng_wire::MacAddr],
    spread: &[ports::Spread],
) -> Vec<crate::backend::ObservedPort> {
    let each = config.ports.iter().zip(&dpdk.ports).zip(macs).zip(spread);
    each.map(|(((from, port), mac), spread)| crate::backend::ObservedPort {
        config: from.clone(),
        device: Arc::clone(port),
        mac: *mac,
        spread: *spread,
    })
    .collect()
}

fn close(dpdk: Dpdk) {
    let Dpdk { ports, pool, eal } = dpdk;
    for port in ports {
        match Arc::into_inner(port).map(bng_dpdk::Port::close) {
            Some(Ok(())) => {}
            Some(Err(error)) => error!(%error, "a port did not close"),
            None => error!("a port is still observed and closes with the process"),
        }
    }
    let in_use = pool.in_use();
    if in_use > 0 {
        error!(in_use, "packet buffers were not given back");
    }
    drop(pool);
    drop(eal);
}

/// What is missing for the configuration, in one sentence.
fn check_rights(config: &Config) -> anyhow::Result<()> {
    if !nix::unistd::geteuid().is_root() {
        bail!("bngd needs root (or CAP_NET_ADMIN and the rights that DPDK needs): run it as root");
    }
    let needs_tun = !config.interfaces.is_empty() || config.ports.iter().any(|port| port.is_net_tap);
    if needs_tun && !Path::new("/dev/net/tun").exists() {
        bail!("/dev/net/tun is missing: load the tun module (modprobe tun) or give it to the container");
    }
    Ok(())
}

/// Signals that would end the process, and with it every session, without meaning to: habits of operators and of tools
/// that rotate logs. The real-time ones are left to the drivers.
const IGNORED_SIGNALS: [i32; 7] = {
    use signal_hook::consts::{SIGALRM, SIGHUP, SIGIO, SIGPROF, SIGUSR1, SIGUSR2, SIGVTALRM};
    [SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO]
};

/// A signal that means nothing here is said in the log, and nothing happens. What SIGHUP is meant for, reading the
/// configuration again, does not exist yet. The thread lives as long as the process.
fn ignore_others() -> anyhow::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new(IGNORED_SIGNALS)?;
    let wait = move || {
        for signal in signals.forever() {
            match signal {
                signal_hook::consts::SIGHUP => {
                    warn!("SIGHUP: the configuration cannot be read again while running yet; nothing was changed");
                }
                _ => {
                    let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
                    warn!("{name} means nothing to bngd; nothing was done");
                }
            }
        }
    };
    std::thread::Builder::new().name("bng-signals".into()).spawn(wait).context("a thread cannot be started")?;
    Ok(())
}

/// Holds the lock beside the management socket: two daemons with one socket would be in each other's way.
fn only_instance(socket: &Path) -> anyhow::Result<File> {
    if let Some(folder) = socket.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    }
    let path = socket.with_extension("lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .with_context(|| format!("the lock file {} cannot be opened", path.display()))?;
    // One that was just killed holds it until the kernel has freed its memory.
    let begun = Instant::now();
    let outcome = loop {
        match file.try_lock() {
            Err(std::fs::TryLockError::WouldBlock) if begun.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(LOCK_AGAIN);
            }
            outcome => break outcome,
        }
    };
    match outcome {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => {
            bail!("another bngd runs with the socket {}: stop it, or name another telemetry.socket", socket.display())
        }
        Err(std::fs::TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("the lock file {} cannot be locked", path.display()))
        }
    }
}
