//! What the server asks of the process that it stands in.

use crate::{
    ClearReport, ClearRequest, DropsView, PoolsView, PortsView, RadiusView, Readiness, RoutesView, SessionFilter,
    SessionView, SessionsView, VersionView, WatchReading, WatchView, WorkersView,
};

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// The thing asked for does not exist. The text names it.
    #[error("{0}")]
    NotFound(String),
    /// The question makes no sense. The text says why.
    #[error("{0}")]
    Invalid(String),
    /// The control core did not answer in time.
    #[error("bngd is busy: {0}")]
    Busy(String),
    /// Anything else. The text says what.
    #[error("{0}")]
    Internal(String),
}

/// What the server asks of the process that it stands in.
///
/// Each call may wait for another thread, but only for a bounded time (a second or two), after which it returns
/// [`BackendError::Busy`]. Calls come from up to four threads at once.
pub trait Backend: Send + Sync {
    /// The sessions that match, in the order of port, VLANs and session id, `filter.offset` of them skipped and at
    /// most `filter.limit` of them returned.
    ///
    /// # Errors
    /// See [`BackendError`]. No match is an empty list, not an error.
    fn sessions(&self, filter: &SessionFilter) -> Result<SessionsView, BackendError>;

    /// The session with this id (see [`SessionView::id`]).
    ///
    /// # Errors
    /// [`BackendError::NotFound`] where there is none.
    fn session(&self, id: &str) -> Result<SessionView, BackendError>;

    /// The workers, in order.
    ///
    /// # Errors
    /// See [`BackendError`].
    fn workers(&self) -> Result<WorkersView, BackendError>;

    /// Where packets ended other than by being forwarded.
    ///
    /// # Errors
    /// See [`BackendError`].
    fn drops(&self) -> Result<DropsView, BackendError>;

    /// The ports, in order.
    ///
    /// # Errors
    /// See [`BackendError`].
    fn ports(&self) -> Result<PortsView, BackendError>;

    /// The address and prefix pools.
    ///
    /// # Errors
    /// See [`BackendError`].
    fn pools(&self) -> Result<PoolsView, BackendError>;

    /// RADIUS servers, accounting, and requests from outside.
    ///
    /// # Errors
    /// See [`BackendError`]. Without RADIUS it is empty, not an error.
    fn radius(&self) -> Result<RadiusView, BackendError>;

    /// The forwarding table.
    ///
    /// # Errors
    /// See [`BackendError`].
    fn routes(&self) -> Result<RoutesView, BackendError>;

    /// What runs here.
    fn version(&self) -> VersionView;

    /// Whether subscribers can be served.
    fn readiness(&self) -> Readiness;

    /// All metrics in Prometheus's text format.
    ///
    /// # Errors
    /// See [`BackendError`].
    fn metrics(&self) -> Result<String, BackendError>;

    /// Ends the sessions that match, each with a PADT to its client. `filter.limit` and `filter.offset` do not apply.
    ///
    /// # Errors
    /// See [`BackendError`]. No match is a report of none, not an error.
    fn clear(&self, request: &ClearRequest) -> Result<ClearReport, BackendError>;

    /// Begins to watch the clients that match `filter`: at most eight sessions, and a MAC address with or without one.
    ///
    /// # Errors
    /// [`BackendError::NotFound`] where nothing matches, [`BackendError::Invalid`] where too much does,
    /// [`BackendError::Busy`] where as many watches are on as may be.
    fn watch(&self, filter: &SessionFilter) -> Result<WatchView, BackendError>;

    /// What a watch has seen since it was read last. A watch that is not read for ten seconds ends.
    ///
    /// # Errors
    /// [`BackendError::NotFound`] where there is no such watch (any more).
    fn watch_read(&self, id: &str) -> Result<WatchReading, BackendError>;

    /// Ends a watch; what it has seen to the last.
    ///
    /// # Errors
    /// As for [`Backend::watch_read`].
    fn watch_end(&self, id: &str) -> Result<WatchReading, BackendError>;

    /// Changes how much is logged: `error`, `warn`, `info`, `debug`, `trace`, or a filter such as
    /// `info,bng_routing=debug`.
    ///
    /// # Errors
    /// [`BackendError::Invalid`] for a text that is none of these.
    fn set_log_level(&self, level: &str) -> Result<(), BackendError>;
}
