//! Log lines on standard error, for people or as JSON, with a level that can be changed while running.

use std::io;

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, fmt, reload};

/// How to log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    /// `error`, `warn`, `info`, `debug`, `trace`, or a filter such as `info,bng_subscriber=debug`.
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
         or a filter such as info,bng_subscriber=debug"
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

/// Changes how much is logged. Clones share the log.
#[derive(Debug, Clone)]
pub struct LogHandle(reload::Handle<EnvFilter, Registry>);

fn filter(text: &str) -> Result<EnvFilter, LogError> {
    let fail = |reason: String| LogError::Filter { filter: text.to_owned(), reason };
    // The filter's own grammar takes an unknown word for the name of a module.
    let mut words = text.split(',').map(str::trim).filter(|part| !part.contains(['=', '[']));
    if let Some(part) = words.find(|part| part.parse::<tracing_subscriber::filter::LevelFilter>().is_err()) {
        return Err(fail(format!("`{part}` is no level")));
    }
    EnvFilter::try_new(text).map_err(|error| fail(error.to_string()))
}

/// Sends the log lines of the whole process to standard error.
///
/// # Errors
/// [`LogError`]; a second call in one process fails.
pub fn init_logs(config: &LogConfig) -> Result<LogHandle, LogError> {
    let (layer, handle) = reload::Layer::new(filter(&config.filter)?);
    let registry = tracing_subscriber::registry().with(layer);
    let done = if config.json {
        registry.with(fmt::layer().json().flatten_event(true).with_writer(io::stderr)).try_init()
    } else {
        registry.with(fmt::layer().with_target(false).with_writer(io::stderr).with_ansi(false)).try_init()
    };
    done.map_err(|error| LogError::Subscriber(error.to_string()))?;
    Ok(LogHandle(handle))
}

impl LogHandle {
    /// Logs as much as `text` says from now on.
    ///
    /// # Errors
    /// [`LogError::Filter`] for a text that is no filter.
    pub fn set_level(&self, text: &str) -> Result<(), LogError> {
        self.0.reload(filter(text)?).map_err(|error| LogError::Subscriber(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_filters_are_told_from_words_that_are_neither() {
        for good in ["error", "info", "trace", "info,bng_ppp=debug", "bng_ppp=trace", "off"] {
            assert!(filter(good).is_ok(), "{good}");
        }
        for bad in ["verbose", "inf", "info,loud", "bng_ppp=loud"] {
            let error = filter(bad).unwrap_err();
            assert!(error.to_string().contains(bad), "{error}");
        }
    }
}
