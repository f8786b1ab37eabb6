//! What DPDK says, line by line: to `tracing` or to a sink of the caller's. The last errors are kept, so that a
//! failed call can say why.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

/// How grave a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something is not as it should be.
    Warning,
    /// What the EAL or a driver did.
    Info,
    /// Details for whoever looks for a fault.
    Debug,
}

impl LogLevel {
    /// DPDK counts from 1 (emergency) to 8 (debug), as syslog does with one added.
    fn from_dpdk(level: i32) -> Self {
        match level {
            ..=4 => Self::Error,
            5 => Self::Warning,
            6 | 7 => Self::Info,
            _ => Self::Debug,
        }
    }
}

/// Takes each line that DPDK logs, without its end. Called on whichever thread DPDK logs from; it must not call DPDK.
pub type LogSink = Box<dyn Fn(LogLevel, &str) + Send + Sync>;

static SINK: OnceLock<LogSink> = OnceLock::new();
static ERRORS: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

/// Lines kept for error messages.
const ERRORS_MAX: usize = 4;

/// Sends everything DPDK logs from now on to `sink`, or to `tracing` where there is none. Only the first call counts.
pub(crate) fn capture(sink: Option<LogSink>) {
    if SINK.set(sink.unwrap_or_else(|| Box::new(to_tracing))).is_err() {
        return;
    }
    // SAFETY: `take` has the signature that the stream asks for and lives for ever.
    let stream = unsafe { dpdk_sys::shim_line_stream(Some(take)) };
    if !stream.is_null() {
        // SAFETY: the stream is open and is never closed, so the EAL may keep it.
        unsafe { dpdk_sys::rte_openlog_stream(stream) };
    }
}

/// Forgets the error lines kept so far: done before a call whose failure is to be explained.
pub(crate) fn forget_errors() {
    ERRORS.lock().clear();
}

/// The error lines since [`forget_errors`], in brackets for the end of a sentence; empty where there were none.
pub(crate) fn said() -> String {
    let lines = ERRORS.lock();
    if lines.is_empty() {
        return String::new();
    }
    let joined = lines.iter().map(String::as_str).collect::<Vec<_>>().join("; ");
    format!(" (DPDK says: {joined})")
}

fn to_tracing(level: LogLevel, line: &str) {
    match level {
        LogLevel::Error => tracing::error!(target: "dpdk", "{line}"),
        LogLevel::Warning => tracing::warn!(target: "dpdk", "{line}"),
        LogLevel::Info => tracing::info!(target: "dpdk", "{line}"),
        LogLevel::Debug => tracing::debug!(target: "dpdk", "{line}"),
    }
}

fn deliver(level: LogLevel, text: &str) {
    for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        if level == LogLevel::Error {
            let mut errors = ERRORS.lock();
            if errors.len() == ERRORS_MAX {
                errors.pop_front();
            }
            errors.push_back(line.to_owned());
        }
        if let Some(sink) = SINK.get() {
            sink(level, line);
        }
    }
}

/// The write function of the stream that DPDK logs to.
unsafe extern "C" fn take(_cookie: *mut c_void, bytes: *const c_char, length: usize) -> isize {
    // SAFETY: stdio hands over `length` readable bytes for the time of the call.
    let text = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) };
    // SAFETY: reads the level of the message that this thread is logging.
    let level = unsafe { dpdk_sys::rte_log_cur_msg_loglevel() };
    let text = String::from_utf8_lossy(text);
    // A panic must not unwind into C; a line that a sink chokes on is lost.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| deliver(LogLevel::from_dpdk(level), &text)));
    isize::try_from(length).unwrap_or(isize::MAX)
}
