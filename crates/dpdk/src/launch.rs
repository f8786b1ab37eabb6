//! Running closures on the worker lcores.

use crate::eal::{Eal, errno, error_text};
use std::any::Any;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, channel};

/// Where a worker runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerContext {
    /// The worker's number, from 0.
    pub worker: usize,
    /// Its lcore, from 1.
    pub lcore: u32,
}

/// Why a worker gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkerFailure {
    /// It panicked. The panic went no further.
    #[error("worker {worker} panicked: {message}")]
    Panicked {
        /// Its number.
        worker: usize,
        /// What the panic said.
        message: String,
    },
    /// There are fewer worker lcores than closures.
    #[error("{wanted} workers were asked for, but the EAL has {have} worker lcores")]
    TooMany {
        /// Closures.
        wanted: usize,
        /// Worker lcores.
        have: usize,
    },
    /// The lcore did not take the closure: another one still runs on it.
    #[error("worker {worker} cannot be started: {reason}")]
    NotStarted {
        /// Its number.
        worker: usize,
        /// DPDK's error as a text.
        reason: String,
    },
}

type Outcome<T> = Result<T, String>;
type Task = Box<dyn FnOnce() + Send>;

struct Running<T> {
    context: WorkerContext,
    outcome: Receiver<Outcome<T>>,
    finished: Option<Outcome<T>>,
}

/// The workers launched together. Dropping it waits for them.
pub struct Workers<T> {
    running: Vec<Running<T>>,
    _eal: Eal,
}

impl Eal {
    /// Runs each closure on a worker lcore of its own: the first on worker 0, and so on. Signals that are meant for the
    /// process (SIGTERM, SIGINT, SIGHUP, SIGCHLD and their like) go to the other threads. What a closure holds should
    /// come back as its result, so that it is dropped by whoever joins and not on the worker.
    ///
    /// # Errors
    /// [`WorkerFailure::TooMany`] before anything runs; [`WorkerFailure::NotStarted`] once those already running have
    /// been waited for: tell them to stop by the same flag that would stop them all.
    pub fn launch_workers<T, F>(&self, closures: Vec<F>) -> Result<Workers<T>, WorkerFailure>
    where
        T: Send + 'static,
        F: FnOnce(WorkerContext) -> T + Send + 'static,
    {
        let (wanted, have) = (closures.len(), self.workers());
        if wanted > have {
            return Err(WorkerFailure::TooMany { wanted, have });
        }
        let _one_at_a_time = self.control();
        let mut workers = Workers { running: Vec::with_capacity(wanted), _eal: self.clone() };
        for (worker, (closure, lcore)) in closures.into_iter().zip(1u32..).enumerate() {
            let context = WorkerContext { worker, lcore };
            let (sender, outcome) = channel();
            let task: Task = Box::new(move || {
                let result = catch_unwind(AssertUnwindSafe(|| closure(context)));
                // The other end may be gone; then nobody asks.
                let _ = sender.send(result.map_err(|panic| panic_text(panic.as_ref())));
            });
            let argument = Box::into_raw(Box::new(task));
            // SAFETY: `run_task` takes the argument back as what it is; it is used once, as the lcore runs it once.
            let code = unsafe { dpdk_sys::rte_eal_remote_launch(Some(run_task), argument.cast(), lcore) };
            if code != 0 {
                // SAFETY: the lcore did not take it, so this is still the only pointer to it.
                drop(unsafe { Box::from_raw(argument) });
                let reason = if code == -libc::EBUSY {
                    "another closure still runs on its lcore".to_owned()
                } else {
                    error_text(errno())
                };
                return Err(WorkerFailure::NotStarted { worker, reason });
            }
            workers.running.push(Running { context, outcome, finished: None });
        }
        Ok(workers)
    }
}

impl<T> Workers<T> {
    /// True once any of them has come to its end, by itself or by a panic. Never blocks.
    pub fn any_finished(&mut self) -> bool {
        let mut any = false;
        for running in &mut self.running {
            if running.finished.is_none() {
                running.finished = running.outcome.try_recv().ok();
            }
            any |= running.finished.is_some();
        }
        any
    }

    /// Waits for all of them and gives their results, in order.
    #[must_use]
    pub fn join(mut self) -> Vec<Result<T, WorkerFailure>> {
        std::mem::take(&mut self.running).into_iter().map(wait_for).collect()
    }
}

impl<T> Drop for Workers<T> {
    fn drop(&mut self) {
        for running in std::mem::take(&mut self.running) {
            if let Err(failure) = wait_for(running) {
                tracing::error!("{failure}");
            }
        }
    }
}

fn wait_for<T>(running: Running<T>) -> Result<T, WorkerFailure> {
    let worker = running.context.worker;
    let outcome = match running.finished {
        Some(outcome) => outcome,
        // Sleeps, where rte_eal_wait_lcore would spin.
        None => running.outcome.recv().unwrap_or_else(|_| Err("it ended without a result".to_owned())),
    };
    // SAFETY: the lcore exists; what is left of its task is to return.
    unsafe { dpdk_sys::rte_eal_wait_lcore(running.context.lcore) };
    outcome.map_err(|message| WorkerFailure::Panicked { worker, message })
}

unsafe extern "C" fn run_task(argument: *mut c_void) -> c_int {
    crate::signals::leave_to_others();
    // SAFETY: `launch_workers` passes a box of this type, to be taken back here and nowhere else.
    let task = unsafe { Box::from_raw(argument.cast::<Task>()) };
    // The closure inside catches panics; this catches one from dropping what it held.
    let _ = catch_unwind(AssertUnwindSafe(task));
    0
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "no message".to_owned()
    }
}
