//! Log lines on standard error, for people or as JSON, with a level that can be changed while running.
//!
//! Whoever logs only puts its line into a bounded queue. A thread writes them: where standard error takes nothing, as a
//! pipe that nobody reads, lines are lost and counted, and nobody waits.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, fmt, reload};

/// How to log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    /// `error`, `warn`, `info`, `debug`, `trace`, or a filter such as `info,bng_control=debug`.
    pub filter: String,
    /// One JSON object a line, instead of text for people.
    pub json: bool,
}

/// Why logging cannot be set up or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The filter cannot be read.
    #[error(
        "`{filter}` is no log level or filter ({reason}): write error, warn, info, debug or trace, \
         or a filter such as info,bng_control=debug"
    )]
    Filter {
        /// The text.
        filter: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is a logger already, or it is gone.
    #[error("the log cannot be set up: {0}")]
    Subscriber(String),
}

/// Lines that may wait for standard error. At a few hundred octets each this is a few MB.
const LINES_WAITING_MAX: usize = 16_384;

/// Changes how much is logged, and tells what was lost. Clones share the log.
#[derive(Debug, Clone)]
pub struct LogHandle {
    filter: reload::Handle<EnvFilter, Registry>,
    no_room: ErrorCounter,
    unwritten: Arc<AtomicU64>,
}

/// Dropping it writes what waits, for about a second at the most; what is logged later is lost.
#[derive(Debug)]
#[must_use]
pub struct LogGuard {
    _writer: WorkerGuard,
}

/// A place for lines that counts those it could not be given.
struct Counted<W> {
    inner: W,
    unwritten: Arc<AtomicU64>,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // The caller writes whole lines. It would give up its batch at an error, so it hears of none.
        if self.inner.write_all(line).is_err() {
            self.unwritten.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A queue of at most `lines_max` lines in front of `to`, and the thread between.
fn queue(to: impl Write + Send + 'static, lines_max: usize) -> (NonBlocking, WorkerGuard, Arc<AtomicU64>) {
    let unwritten = Arc::new(AtomicU64::new(0));
    let to = Counted { inner: to, unwritten: Arc::clone(&unwritten) };
    let (writer, guard) =
        NonBlockingBuilder::default().lossy(true).buffered_lines_limit(lines_max).thread_name("bng-log").finish(to);
    (writer, guard, unwritten)
}

fn filter(text: &str) -> Result<EnvFilter, LogError> {
    let fail = |reason: String| LogError::Filter { filter: text.to_owned(), reason };
    // The filter's own grammar takes an unknown word for the name of a module.
    let mut words = text.split(',').map(str::trim).filter(|part| !part.contains(['=', '[']));
    if let Some(part) = words.find(|part| part.parse::<tracing_subscriber::filter::LevelFilter>().is_err()) {
        return Err(fail(format!("`{part}` is no level")));
    }
    EnvFilter::try_new(text).map_err(|error| fail(error.to_string()))
}

/// Sends the log lines of the whole process to standard error, by a thread that runs where the caller may run.
///
/// # Errors
/// [`LogError`]; a second call in one process fails.
pub fn init_logs(config: &LogConfig) -> Result<(LogHandle, LogGuard), LogError> {
    let (layer, handle) = reload::Layer::new(filter(&config.filter)?);
    let (writer, guard, unwritten) = queue(io::stderr(), LINES_WAITING_MAX);
    let no_room = writer.error_counter();
    let registry = tracing_subscriber::registry().with(layer);
    let done = if config.json {
        registry.with(fmt::layer().json().flatten_event(true).with_writer(writer)).try_init()
    } else {
        registry.with(fmt::layer().with_target(false).with_writer(writer).with_ansi(false)).try_init()
    };
    done.map_err(|error| LogError::Subscriber(error.to_string()))?;
    Ok((LogHandle { filter: handle, no_room, unwritten }, LogGuard { _writer: guard }))
}

impl LogHandle {
    /// Logs as much as `text` says from now on.
    ///
    /// # Errors
    /// [`LogError::Filter`] for a text that is no filter.
    pub fn set_level(&self, text: &str) -> Result<(), LogError> {
        self.filter.reload(filter(text)?).map_err(|error| LogError::Subscriber(error.to_string()))
    }

    /// Lines lost: because too many waited, or because standard error could not be written to.
    #[must_use]
    pub fn lines_lost(&self) -> u64 {
        (self.no_room.dropped_lines() as u64).saturating_add(self.unwritten.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_reader_that_sleeps_holds_up_nobody() {
        let (reader, pipe) = io::pipe().unwrap();
        let (mut writer, guard, _) = queue(pipe, 100);
        let line = [b'x'; 1024];
        let begun = Instant::now();
        // 64 KiB fit into the pipe, 100 lines into the queue.
        for _ in 0..1000 {
            writer.write_all(&line).unwrap();
        }
        assert!(writer.error_counter().dropped_lines() >= 1000 - 100 - 64 - 2);
        drop(guard);
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        drop(reader);
    }

    #[test]
    fn lines_that_cannot_be_written_are_counted_and_the_next_are_tried() {
        let (reader, pipe) = io::pipe().unwrap();
        drop(reader);
        let (mut writer, guard, unwritten) = queue(pipe, 100);
        for _ in 0..3 {
            writer.write_all(b"a line\n").unwrap();
        }
        drop(guard);
        assert_eq!(unwritten.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn what_waits_is_written_before_the_end() {
        let (mut reader, pipe) = io::pipe().unwrap();
        let (mut writer, guard, _) = queue(pipe, 100);
        for number in 0..50 {
            writeln!(writer, "{number}").unwrap();
        }
        drop(guard);
        drop(writer);
        let mut text = String::new();
        io::Read::read_to_string(&mut reader, &mut text).unwrap();
        assert_eq!(text.lines().count(), 50);
    }

    #[test]
    fn levels_and_filters_are_told_from_words_that_are_neither() {
        for good in ["error", "info", "trace", "info,bng_routing=debug", "bng_routing=trace", "off"] {
            assert!(filter(good).is_ok(), "{good}");
        }
        for bad in ["verbose", "inf", "info,loud", "bng_routing=loud"] {
            let error = filter(bad).unwrap_err();
            assert!(error.to_string().contains(bad), "{error}");
        }
    }
}
