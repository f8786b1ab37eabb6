//! The environment abstraction layer: memory, CPUs, drivers. One a process, once.

use crate::affinity::{self, AffinityError};
use crate::device::Device;
use crate::log::{self, LogSink};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most workers a process can have: DPDK knows 128 lcores, and one is the main one.
pub const WORKERS_MAX: usize = dpdk_sys::RTE_MAX_LCORE as usize - 1;

/// Whether packet memory lies in huge pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HugePages {
    /// Huge pages where enough are free, ordinary ones otherwise (slower, and no use to a card).
    #[default]
    Auto,
    /// Huge pages or an error.
    Required,
    /// Ordinary pages.
    None,
}

/// How the EAL is set up.
pub struct EalConfig {
    /// Names the process in DPDK's run-time directory. Letters, digits, '-', '_' and '.'.
    pub file_prefix: String,
    /// Whether packet memory lies in huge pages.
    pub huge_pages: HugePages,
    /// Memory for packets and queues, in MiB, reserved at the start.
    pub memory_mb: u32,
    /// The CPU of the main lcore: the thread that calls [`Eal::init`] is pinned to it.
    pub main_cpu: usize,
    /// One worker lcore for each entry, on that CPU. A CPU named twice is shared. At most [`WORKERS_MAX`].
    pub worker_cpus: Vec<usize>,
    /// The cards in use, by PCI address. No other card is touched; none at all and the PCI bus is left alone.
    pub pci_addresses: Vec<String>,
    /// More arguments for the EAL, put last.
    pub extra_args: Vec<String>,
    /// Where DPDK's log lines go; `tracing`, target `dpdk`, where there is none.
    pub log: Option<LogSink>,
}

impl Default for EalConfig {
    /// One worker on CPU 0 beside the main lcore, 256 MiB, no card.
    fn default() -> Self {
        Self {
            file_prefix: "bngd".to_owned(),
            huge_pages: HugePages::Auto,
            memory_mb: 256,
            main_cpu: 0,
            worker_cpus: vec![0],
            pci_addresses: Vec::new(),
            extra_args: Vec::new(),
            log: None,
        }
    }
}

/// Why the EAL did not come up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EalError {
    /// The EAL is up, or was: it starts once a process.
    #[error("the EAL was initialised before in this process, which DPDK allows once only")]
    AlreadyInitialised,
    /// Another process holds the run-time directory (only where `extra_args` ask for shared memory).
    #[error("another DPDK process is running with the file prefix \"{file_prefix}\"{said}")]
    AlreadyRunning {
        /// The prefix in use.
        file_prefix: String,
        /// What DPDK logged.
        said: String,
    },
    /// Huge pages are required and none is free.
    #[error("huge pages are required, but none is free: reserve some, for example with `sysctl vm.nr_hugepages=256`")]
    NoHugePages,
    /// Fewer huge pages are free than the memory asked for.
    #[error("{wanted_mb} MiB of huge pages are required, but only {free_mb} MiB are free: raise vm.nr_hugepages")]
    TooFewHugePages {
        /// Asked for.
        wanted_mb: u64,
        /// Free.
        free_mb: u64,
    },
    /// The machine has less memory to give.
    #[error("{wanted_mb} MiB of memory were asked for, which this machine cannot give{said}")]
    NotEnoughMemory {
        /// Asked for.
        wanted_mb: u64,
        /// What is available, or what DPDK logged.
        said: String,
    },
    /// A CPU that does not exist, or that this process may not use.
    #[error("CPU {cpu} does not exist or is not open to this process, which may use {allowed}")]
    NoSuchCpu {
        /// The number asked for.
        cpu: usize,
        /// The CPUs that would do, as a list of ranges.
        allowed: String,
    },
    /// More workers than DPDK has lcores for, or none.
    #[error("{workers} workers were asked for, and there must be 1 to {max}", max = WORKERS_MAX)]
    WorkerCount {
        /// The number asked for.
        workers: usize,
    },
    /// A value that cannot stand in an EAL argument.
    #[error("\"{value}\" cannot be used as {what}")]
    BadValue {
        /// What it was given for.
        what: &'static str,
        /// The value.
        value: String,
    },
    /// The CPU mask cannot be read.
    #[error(transparent)]
    Affinity(#[from] AffinityError),
    /// Anything else that DPDK refuses.
    #[error("the EAL cannot be initialised: {reason}{said}")]
    Refused {
        /// DPDK's error as a text.
        reason: String,
        /// What DPDK logged.
        said: String,
    },
}

/// The running EAL. Ports, pools and workers hold on to it; it is cleaned up when the last of them is gone.
#[derive(Clone)]
pub struct Eal(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    huge_pages: bool,
    workers: usize,
    devices: Mutex<BTreeSet<String>>,
    pci: bool,
    /// Serialises what DPDK wants called from one thread at a time: hot-plug, launch.
    control: Mutex<()>,
}

static INITIALISED: AtomicBool = AtomicBool::new(false);

impl Eal {
    /// Brings the EAL up and pins the calling thread to [`EalConfig::main_cpu`]. Threads started afterwards inherit
    /// that: see [`affinity::restore`].
    ///
    /// # Errors
    /// [`EalError`] says in one sentence what is wrong. What can be checked is checked first, so that a mistake in
    /// the configuration can be mended and tried again; after an error of DPDK's own the process has to start anew.
    pub fn init(config: EalConfig) -> Result<Self, EalError> {
        if INITIALISED.swap(true, Ordering::SeqCst) {
            return Err(EalError::AlreadyInitialised);
        }
        match prepare(&config) {
            Ok(plan) => start(config, plan),
            Err(error) => {
                INITIALISED.store(false, Ordering::SeqCst);
                Err(error)
            }
        }
    }

    /// True where packet memory lies in huge pages.
    #[must_use]
    pub fn uses_huge_pages(&self) -> bool {
        self.0.huge_pages
    }

    /// How many worker lcores there are.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.0.workers
    }

    pub(crate) fn control(&self) -> MutexGuard<'_, ()> {
        self.0.control.lock()
    }

    /// Enters `name` among the devices in use; false where it is there already.
    pub(crate) fn claim(&self, name: &str) -> bool {
        self.0.devices.lock().insert(name.to_owned())
    }

    pub(crate) fn release(&self, name: &str) {
        self.0.devices.lock().remove(name);
    }

    pub(crate) fn has_pci(&self) -> bool {
        self.0.pci
    }
}

/// The directory that the EAL made for itself.
fn runtime_directory() -> Option<PathBuf> {
    // SAFETY: takes nothing and answers with a zero-ended string that lives as long as the EAL, or null.
    let text = unsafe { dpdk_sys::rte_eal_get_runtime_dir() };
    if text.is_null() {
        return None;
    }
    // SAFETY: as above, and it is copied here.
    let text = unsafe { CStr::from_ptr(text) };
    Some(PathBuf::from(OsStr::from_bytes(text.to_bytes())))
}

impl Drop for Inner {
    fn drop(&mut self) {
        let directory = runtime_directory();
        // SAFETY: pools, ports and workers each hold this `Inner`, so none is left.
        let outcome = unsafe { dpdk_sys::rte_eal_cleanup() };
        if outcome != 0 {
            tracing::warn!("the EAL did not clean up: {}", error_text(-outcome));
        }
        // The EAL leaves its directory behind, one for each file prefix. Where another process of the same prefix
        // keeps something in it, it stays.
        if let Some(directory) = directory {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

/// What the checks before initialisation came to.
struct Plan {
    huge_pages: bool,
    file_prefix: String,
    pci: Vec<String>,
}

fn prepare(config: &EalConfig) -> Result<Plan, EalError> {
    let workers = config.worker_cpus.len();
    if workers == 0 || workers > WORKERS_MAX {
        return Err(EalError::WorkerCount { workers });
    }
    let prefix = &config.file_prefix;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if prefix.is_empty() || prefix.len() > 32 || !prefix.bytes().all(plain) || prefix.starts_with('.') {
        return Err(EalError::BadValue { what: "a file prefix", value: prefix.clone() });
    }
    if let Some(bad) = config.extra_args.iter().find(|arg| arg.is_empty() || arg.contains('\0')) {
        return Err(EalError::BadValue { what: "an EAL argument", value: bad.clone() });
    }
    let mut pci = Vec::new();
    for text in &config.pci_addresses {
        match Device::parse(text) {
            Ok(Device::Pci { address, arguments }) if arguments.is_empty() => pci.push(address),
            Ok(Device::Pci { address, arguments }) => pci.push(format!("{address},{arguments}")),
            _ => return Err(EalError::BadValue { what: "a PCI address", value: text.clone() }),
        }
    }
    let allowed = affinity::save()?;
    for &cpu in std::iter::once(&config.main_cpu).chain(&config.worker_cpus) {
        if !allowed.contains(&cpu) {
            return Err(EalError::NoSuchCpu { cpu, allowed: ranges(&allowed) });
        }
    }
    let huge_pages = choose_memory(config.huge_pages, u64::from(config.memory_mb))?;
    Ok(Plan { huge_pages, file_prefix: prefix.clone(), pci })
}

/// Decides between huge and ordinary pages, before the EAL is asked: once it has failed it cannot be asked again.
fn choose_memory(wanted: HugePages, memory_mb: u64) -> Result<bool, EalError> {
    let free_mb = if wanted == HugePages::None { 0 } else { free_huge_pages_mb() };
    let enough = memory_mb > 0 && free_mb >= memory_mb;
    match wanted {
        HugePages::Required if free_mb == 0 => return Err(EalError::NoHugePages),
        HugePages::Required if !enough => return Err(EalError::TooFewHugePages { wanted_mb: memory_mb, free_mb }),
        HugePages::Required | HugePages::Auto if enough => return Ok(true),
        _ => {}
    }
    if let Some(available) = available_mb()
        && memory_mb > available
    {
        return Err(EalError::NotEnoughMemory {
            wanted_mb: memory_mb,
            said: format!(" ({available} MiB are available)"),
        });
    }
    Ok(false)
}

/// Free huge pages of every size, in MiB.
fn free_huge_pages_mb() -> u64 {
    let Ok(sizes) = std::fs::read_dir("/sys/kernel/mm/hugepages") else { return 0 };
    let mut free_kb = 0u64;
    for size in sizes.flatten() {
        let name = size.file_name();
        let page_kb = name.to_str().and_then(|n| n.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok());
        let free = std::fs::read_to_string(size.path().join("free_hugepages"));
        let free = free.ok().and_then(|text| text.trim().parse::<u64>().ok());
        if let (Some(page_kb), Some(free)) = (page_kb, free) {
            free_kb = free_kb.saturating_add(page_kb.saturating_mul(free));
        }
    }
    free_kb / 1024
}

/// What /proc/meminfo calls available, in MiB.
fn available_mb() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kb: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kb / 1024)
}

fn start(config: EalConfig, plan: Plan) -> Result<Eal, EalError> {
    let arguments = arguments(&config, &plan);
    let workers = config.worker_cpus.len();
    if !plan.huge_pages && !plan.pci.is_empty() {
        tracing::warn!("cards are in use without huge pages: they need an IOMMU then, and will be slow");
    }
    log::capture(config.log);
    log::forget_errors();
    // The EAL reorders the array and keeps pointers into it, so both live for ever.
    let leaked: Vec<*mut c_char> =
        arguments.into_iter().map(|text| CString::new(text).unwrap_or_default().into_raw()).collect();
    let leaked: &'static mut [*mut c_char] = Box::leak(leaked.into_boxed_slice());
    let count = c_int::try_from(leaked.len()).unwrap_or(c_int::MAX);
    // SAFETY: `leaked` holds `count` zero-ended strings and is never freed; this is the only call in the process.
    let outcome = unsafe { dpdk_sys::rte_eal_init(count, leaked.as_mut_ptr()) };
    if outcome < 0 {
        return Err(refusal(errno(), &plan.file_prefix, u64::from(config.memory_mb)));
    }
    tracing::info!(huge_pages = plan.huge_pages, workers, memory_mb = config.memory_mb, "the EAL is up");
    Ok(Eal(Arc::new(Inner {
        huge_pages: plan.huge_pages,
        workers,
        devices: Mutex::new(BTreeSet::new()),
        pci: !plan.pci.is_empty(),
        control: Mutex::new(()),
    })))
}

fn arguments(config: &EalConfig, plan: &Plan) -> Vec<String> {
    let mut lcores = format!("0@{}", config.main_cpu);
    for (index, cpu) in config.worker_cpus.iter().enumerate() {
        let _ = write!(lcores, ",{}@{cpu}", index + 1);
    }
    let mut list: Vec<String> = ["bngd", "--lcores", &lcores, "--main-lcore", "0", "--file-prefix", &plan.file_prefix]
        .map(str::to_owned)
        .into();
    // Telemetry is a socket and a thread of DPDK's own; what it would tell, /metrics tells.
    list.push("--no-telemetry".to_owned());
    list.extend(["-m".to_owned(), config.memory_mb.to_string()]);
    if plan.huge_pages {
        list.push("--in-memory".to_owned());
    } else {
        list.extend(["--no-huge".to_owned(), "--no-shconf".to_owned()]);
    }
    if plan.pci.is_empty() {
        // Without cards nothing needs physical addresses.
        list.extend(["--no-pci".to_owned(), "--iova-mode=va".to_owned()]);
    }
    for address in &plan.pci {
        list.extend(["-a".to_owned(), address.clone()]);
    }
    list.extend(config.extra_args.iter().cloned());
    list
}

fn refusal(errno: c_int, file_prefix: &str, wanted_mb: u64) -> EalError {
    let said = log::said();
    match errno {
        libc::EACCES => EalError::NoHugePages,
        libc::ENOMEM => EalError::NotEnoughMemory { wanted_mb, said },
        0 => EalError::AlreadyRunning { file_prefix: file_prefix.to_owned(), said },
        other => EalError::Refused { reason: error_text(other), said },
    }
}

/// DPDK's error number of this thread.
pub(crate) fn errno() -> c_int {
    // SAFETY: reads a thread-local variable.
    unsafe { dpdk_sys::shim_errno() }
}

/// DPDK's text for a positive error number.
pub(crate) fn error_text(errno: c_int) -> String {
    // SAFETY: takes any number; the answer is a zero-ended string, static or of this thread.
    let text = unsafe { dpdk_sys::rte_strerror(errno) };
    // SAFETY: as above, and it is copied before anything else of DPDK is called.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// `0-3,8` for the CPUs 0, 1, 2, 3 and 8.
fn ranges(sorted: &[usize]) -> String {
    let mut text = String::new();
    let mut rest = sorted;
    while let [first, ..] = rest {
        let run = rest.iter().zip(*first..).take_while(|(have, want)| **have == *want).count();
        let separator = if text.is_empty() { "" } else { "," };
        let _ = match run {
            1 => write!(text, "{separator}{first}"),
            _ => write!(text, "{separator}{first}-{}", first + run - 1),
        };
        rest = rest.get(run..).unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_written_short() {
        assert_eq!(ranges(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn a_refusal_is_one_sentence_with_a_cure_or_a_cause() {
        assert!(refusal(libc::EACCES, "x", 64).to_string().contains("vm.nr_hugepages"));
        assert!(refusal(libc::ENOMEM, "x", 64).to_string().contains("64 MiB"));
        assert!(refusal(0, "x", 64).to_string().contains("file prefix \"x\""));
    }

    #[test]
    fn the_arguments_say_what_was_decided() {
        let config = EalConfig { worker_cpus: vec![1, 1], ..EalConfig::default() };
        let plan = Plan { huge_pages: false, file_prefix: "t".to_owned(), pci: vec!["0000:3b:00.0".to_owned()] };
        let text = arguments(&config, &plan).join(" ");
        assert!(text.contains("--lcores 0@0,1@1,2@1"), "{text}");
        assert!(text.contains("--no-huge --no-shconf"), "{text}");
        assert!(text.contains("-a 0000:3b:00.0") && !text.contains("--no-pci"), "{text}");
    }
}
