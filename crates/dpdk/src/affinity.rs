//! Which CPUs a thread may run on. EAL initialisation pins its caller, and every thread started later inherits the
//! mask: each thread that is no worker has to be given the full mask back, or a CPU of its own.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::sync::OnceLock;

/// The mask of the thread that initialised the EAL, as it was before.
static ORIGINAL: OnceLock<CpuSet> = OnceLock::new();

/// Why a thread's CPUs could not be read or set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AffinityError {
    /// The EAL is not up yet, so there is nothing to restore.
    #[error("the EAL has not been initialised, so no CPU mask was saved")]
    NotSaved,
    /// The CPU number is beyond what a mask holds.
    #[error("CPU {cpu} is beyond the highest number that a CPU mask holds")]
    OutOfRange {
        /// The number asked for.
        cpu: usize,
    },
    /// The system call failed.
    #[error("the CPU mask of a thread cannot be {what}: {errno}")]
    System {
        /// "read" or "set".
        what: &'static str,
        /// The error of the system call.
        errno: nix::Error,
    },
}

/// The CPUs that the calling thread may run on, ascending.
///
/// # Errors
/// [`AffinityError::System`] when the system call fails.
pub fn current() -> Result<Vec<usize>, AffinityError> {
    Ok(listed(&current_mask()?))
}

/// Gives the calling thread the CPUs back that the process had before the EAL was initialised.
///
/// # Errors
/// [`AffinityError::NotSaved`] before [`crate::Eal::init`], [`AffinityError::System`] when the system call fails.
pub fn restore() -> Result<(), AffinityError> {
    let mask = ORIGINAL.get().ok_or(AffinityError::NotSaved)?;
    set(mask)
}

/// Pins the calling thread to one CPU.
///
/// # Errors
/// [`AffinityError::OutOfRange`], or [`AffinityError::System`] where the CPU does not exist or is not allowed.
pub fn pin(cpu: usize) -> Result<(), AffinityError> {
    let mut mask = CpuSet::new();
    mask.set(cpu).map_err(|_| AffinityError::OutOfRange { cpu })?;
    set(&mask)
}

pub(crate) fn save() -> Result<Vec<usize>, AffinityError> {
    let mask = current_mask()?;
    Ok(listed(ORIGINAL.get_or_init(|| mask)))
}

fn current_mask() -> Result<CpuSet, AffinityError> {
    sched_getaffinity(Pid::from_raw(0)).map_err(|errno| AffinityError::System { what: "read", errno })
}

fn set(mask: &CpuSet) -> Result<(), AffinityError> {
    sched_setaffinity(Pid::from_raw(0), mask).map_err(|errno| AffinityError::System { what: "set", errno })
}

fn listed(mask: &CpuSet) -> Vec<usize> {
    (0..CpuSet::count()).filter(|&cpu| mask.is_set(cpu).unwrap_or(false)).collect()
}
