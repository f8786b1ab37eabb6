//! What the management interface is told: the running process as [`bng_api::Backend`] sees it.

mod forwarding;
mod metrics;
mod radius;
mod sessions;
mod watch;

pub use watch::Watching;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bng_aaa::AaaHandle;
use bng_api as api;
use bng_api::BackendError;
use bng_config::Config;
use bng_control::{CallError, ControlCounters, ControlHandle};
use bng_dataplane::WorkerCounters;
use bng_routing::RoutingHandle;
use bng_session::{SessionTable, SessionTotals};
use bng_subscriber::{EndCause, Input, Limits, PoolView, SessionView, SubscriberConfig};
use bng_telemetry::LogHandle;
use bng_wire::{MacAddr, PortIndex};
use bng_worker::WorkerStatus;

/// How long the control core may take to answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(2);

/// The names that the configuration gave to what the running process numbers.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// The node.
    pub node: String,
    /// Ports, by index.
    pub ports: Vec<String>,
    /// Profiles, by index.
    pub profiles: Vec<String>,
    /// The length of what each pool gives out, by index: 32 for addresses.
    pub pool_lengths: Vec<u8>,
    /// The CPU of each worker.
    pub worker_cpus: Vec<usize>,
}

impl Names {
    /// The names of a configuration.
    #[must_use]
    pub fn of(config: &Config, settings: &SubscriberConfig) -> Self {
        Self {
            node: config.node.name.clone(),
            ports: config.ports.iter().map(|port| port.name.clone()).collect(),
            profiles: settings.profiles.iter().map(|profile| profile.name.clone()).collect(),
            pool_lengths: std::iter::repeat_n(32, config.ipv4_pools.len())
                .chain(config.ipv6_pools.iter().map(|pool| pool.length))
                .collect(),
            worker_cpus: config.cores.workers.clone(),
        }
    }

    /// A port's name.
    #[must_use]
    pub fn port(&self, port: PortIndex) -> &str {
        self.ports.get(usize::from(port.0)).map_or("?", String::as_str)
    }
}

/// A port to be looked at.
pub struct ObservedPort {
    /// Its configuration.
    pub config: bng_config::Port,
    /// The open port.
    pub device: Arc<bng_dpdk::Port>,
    /// Its MAC address.
    pub mac: MacAddr,
    /// Who spreads its frames over the workers.
    pub spread: crate::wiring::ports::Spread,
}

/// Looks at the running process.
pub struct Observer {
    /// Names.
    pub names: Arc<Names>,
    /// The way to the control core.
    pub control: ControlHandle,
    /// What the control core counts.
    pub control_counters: Arc<ControlCounters>,
    /// The RADIUS thread, where there is one.
    pub aaa: Option<AaaHandle>,
    /// Sessions' counters.
    pub sessions: Arc<SessionTable>,
    /// Each worker's counters.
    pub counters: Vec<Arc<WorkerCounters>>,
    /// Each worker's account of its time.
    pub status: Vec<Arc<WorkerStatus>>,
    /// The routing thread.
    pub routing: Arc<RoutingHandle>,
    /// How much is logged.
    pub log: LogHandle,
    /// When the process began to serve.
    pub started: Instant,
    /// The ports.
    pub ports: Vec<ObservedPort>,
    /// What is allowed at most.
    pub limits: Limits,
    /// The watches of clients.
    pub watching: Watching,
}

fn call_error(error: CallError) -> BackendError {
    match error {
        CallError::Queue | CallError::Timeout => BackendError::Busy(error.to_string()),
        CallError::Gone => BackendError::Internal(error.to_string()),
    }
}

impl Observer {
    fn ask<R: Send + 'static>(
        &self,
        question: impl FnOnce(&mut bng_subscriber::Subscribers, Instant, &mut Vec<bng_subscriber::Action>) -> R
        + Send
        + 'static,
    ) -> Result<R, BackendError> {
        self.control.call(CALL_TIMEOUT, question).map_err(call_error)
    }

    /// Every session with its view, in the order of port, VLANs and session id.
    fn all_sessions(&self) -> Result<Vec<(SessionView, api::SessionView)>, BackendError> {
        let mut views: Vec<SessionView> = self.ask(|subscribers, now, _| subscribers.sessions(now).collect())?;
        views.sort_by_key(|view| (view.port, view.vlans.outer_vid(), view.vlans.inner_vid(), view.session_id));
        Ok(views
            .into_iter()
            .map(|view| {
                let totals = view.index.map_or_else(SessionTotals::default, |index| self.sessions.totals(index));
                let shown = sessions::view(&self.names, &view, totals);
                (view, shown)
            })
            .collect())
    }
}

impl api::Backend for Observer {
    fn sessions(&self, filter: &api::SessionFilter) -> Result<api::SessionsView, BackendError> {
        let matching: Vec<api::SessionView> =
            self.all_sessions()?.into_iter().map(|(_, shown)| shown).filter(|shown| filter.matches(shown)).collect();
        let matched = matching.len() as u64;
        let skip = usize::try_from(filter.offset.unwrap_or(0)).unwrap_or(usize::MAX);
        let take = usize::try_from(filter.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        Ok(api::SessionsView { matched, sessions: matching.into_iter().skip(skip).take(take).collect() })
    }

    fn session(&self, id: &str) -> Result<api::SessionView, BackendError> {
        let found = self.all_sessions()?.into_iter().map(|(_, shown)| shown).find(|shown| shown.id == id);
        found.ok_or_else(|| BackendError::NotFound(format!("no session {id}")))
    }

    fn workers(&self) -> Result<api::WorkersView, BackendError> {
        Ok(forwarding::workers(self))
    }

    fn drops(&self) -> Result<api::DropsView, BackendError> {
        let (statistics, discovery) =
            self.ask(|subscribers, _, _| (subscribers.statistics().clone(), *subscribers.discovery_drops()))?;
        Ok(forwarding::drops(self, &statistics, &discovery))
    }

    fn ports(&self) -> Result<api::PortsView, BackendError> {
        Ok(forwarding::ports(self))
    }

    fn pools(&self) -> Result<api::PoolsView, BackendError> {
        let pools = self.ask(|subscribers, _, _| subscribers.pools())?;
        Ok(api::PoolsView { pools: pools.into_iter().map(|view| pool(&self.names, view)).collect() })
    }

    fn radius(&self) -> Result<api::RadiusView, BackendError> {
        radius::view(self)
    }

    fn routes(&self) -> Result<api::RoutesView, BackendError> {
        forwarding::routes(self)
    }

    fn version(&self) -> api::VersionView {
        api::VersionView {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            dpdk: bng_dpdk::version(),
            node: self.names.node.clone(),
            pid: std::process::id(),
            uptime_s: self.started.elapsed().as_secs(),
        }
    }

    fn readiness(&self) -> api::Readiness {
        let mut reasons = Vec::new();
        for (number, status) in self.status.iter().enumerate() {
            if status.running.get() == 0 {
                reasons.push(format!("worker {number} does not run"));
            }
        }
        for port in &self.ports {
            if port.device.link().is_ok_and(|link| !link.up) {
                reasons.push(format!("port {} has no link", port.config.name));
            }
        }
        api::Readiness { ready: reasons.is_empty(), reasons }
    }

    fn metrics(&self) -> Result<String, BackendError> {
        metrics::render(self)
    }

    fn clear(&self, request: &api::ClearRequest) -> Result<api::ClearReport, BackendError> {
        if request.filter.is_empty() && !request.all {
            return Err(BackendError::Invalid(String::from(
                "the filter names no session: say `all` to clear every session of the box",
            )));
        }
        let sessions = self.all_sessions()?;
        let keys: Vec<_> =
            sessions.into_iter().filter(|(_, shown)| request.filter.matches(shown)).map(|(view, _)| view.key).collect();
        let cleared = keys.len() as u64;
        self.ask(move |subscribers, now, actions| {
            for key in keys {
                subscribers.handle(now, Input::Clear { key, cause: EndCause::AdminReset }, actions);
            }
        })?;
        Ok(api::ClearReport { cleared })
    }

    fn watch(&self, filter: &api::SessionFilter) -> Result<api::WatchView, BackendError> {
        watch::begin(self, filter)
    }

    fn watch_read(&self, id: &str) -> Result<api::WatchReading, BackendError> {
        watch::read(self, id, false)
    }

    fn watch_end(&self, id: &str) -> Result<api::WatchReading, BackendError> {
        watch::read(self, id, true)
    }

    fn set_log_level(&self, level: &str) -> Result<(), BackendError> {
        self.log.set_level(level).map_err(|error| BackendError::Invalid(error.to_string()))
    }
}

fn pool(names: &Names, view: PoolView) -> api::PoolView {
    let usage = view.usage;
    api::PoolView {
        name: view.name,
        family: if view.range.contains(':') { "ipv6" } else { "ipv4" }.to_owned(),
        prefix: view.range,
        length: names.pool_lengths.get(usize::from(view.pool.0)).copied().unwrap_or(0),
        size: u64::from(usage.usable),
        used: u64::from(usage.held),
        free: u64::from(usage.free()),
    }
}
