//! Signals: those that net_tap would send to itself, and those that are no affair of a worker.

use nix::sys::signal::{SigSet, Signal};
use std::sync::Once;

/// Sets every real-time signal that nobody handles yet to "ignore", once a process.
///
/// net_tap asks the kernel for a signal with each frame and polls only after one came. Under load that breaks every
/// poll() of every thread with EINTR. Where it finds no free signal it polls always, which is what a worker wants:
/// no EINTR, fuller bursts. Blocking the signals instead would stop reception.
pub(crate) fn ignore_real_time() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in libc::SIGRTMIN() + 1..=libc::SIGRTMAX() {
            ignore_if_default(signal);
        }
    });
}

fn ignore_if_default(signal: libc::c_int) {
    // SAFETY: all zeros is a valid sigaction: the default handler, an empty mask, no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: with no new action the call only writes the current one into `action`, which is large enough.
    let read = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    if read != 0 || action.sa_sigaction != libc::SIG_DFL {
        return;
    }
    action.sa_sigaction = libc::SIG_IGN;
    // SAFETY: `action` is valid and "ignore" runs no code; nobody handled this signal.
    unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
}

/// Leaves the signals that are meant for the process as a whole to the other threads: on a worker, each would cut a
/// system call of a driver short. The real-time signals stay as they are, since net_tap stops receiving where they
/// are blocked.
pub(crate) fn leave_to_others() {
    let mut set = SigSet::empty();
    for signal in [
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
        Signal::SIGUSR1,
        Signal::SIGUSR2,
        Signal::SIGCHLD,
        Signal::SIGALRM,
        Signal::SIGPIPE,
        Signal::SIGWINCH,
    ] {
        set.add(signal);
    }
    // Cannot fail: the set is valid. If it did, the worker would only be disturbed now and then.
    let _ = set.thread_block();
}
