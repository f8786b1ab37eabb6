//! The HTTP server: one router, served on a TCP address where the configuration names one and on a UNIX socket always.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Json, Path as UrlPath, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Serialize;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, watch};

use crate::connections::{self, Bounds};
use crate::{Backend, BackendError, ClearRequest, ErrorView, Health, LogLevelRequest, SessionFilter, WatchRequest};

/// How long answers under way may take once the server is to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);
/// Threads that wait for the backend's answers: so many slow questions may be under way without delaying another.
const BLOCKING_THREADS_MAX: usize = 4;
/// Requests that wait for the backend at the same time; more are told to come back.
const REQUESTS_MAX: usize = 64;
/// Octets of a request's body.
const BODY_OCTETS_MAX: usize = 64 * 1024;
/// Owner and group may talk to the socket; what it offers includes clearing sessions.
const SOCKET_MODE: u32 = 0o660;

/// Where to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The TCP address; `None` for none.
    pub listen: Option<SocketAddr>,
    /// The UNIX socket.
    pub socket: PathBuf,
    /// The CPU of the server's threads; `None` leaves them where they are.
    pub cpu: Option<usize>,
}

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The TCP address cannot be listened on.
    #[error("telemetry.listen: cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the kernel says.
        source: io::Error,
    },
    /// The socket cannot be made.
    #[error("telemetry.socket: cannot make the socket {}: {source}", path.display())]
    Socket {
        /// The path.
        path: PathBuf,
        /// What the kernel says.
        source: io::Error,
    },
    /// The thread cannot be started.
    #[error("the management server cannot be started: {0}")]
    Thread(#[source] io::Error),
}

/// The running server. Dropping it stops it.
#[derive(Debug)]
pub struct Server {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
    socket: PathBuf,
    listen: Option<SocketAddr>,
}

impl Server {
    /// The TCP address served, with the port that the kernel chose where 0 was asked for.
    #[must_use]
    pub const fn listen(&self) -> Option<SocketAddr> {
        self.listen
    }

    /// Ends it within about a second and takes the socket away.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Where the thread has ended already nobody listens, which is as good.
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the management server ended by a panic");
        }
        let _ = fs::remove_file(&self.socket);
    }
}

/// Starts the server on threads of its own. When this returns both addresses take connections.
///
/// # Errors
/// [`ServeError`].
pub fn serve(config: ServerConfig, backend: Arc<dyn Backend>) -> Result<Server, ServeError> {
    let socket =
        unix_listener(&config.socket).map_err(|source| ServeError::Socket { path: config.socket.clone(), source })?;
    let tcp = config
        .listen
        .map(|address| tcp_listener(address).map_err(|source| ServeError::Listen { address, source }))
        .transpose()
        .inspect_err(|_| drop(fs::remove_file(&config.socket)))?;
    let listen = tcp.as_ref().and_then(|tcp| tcp.local_addr().ok());
    let (stop, stopped) = watch::channel(false);
    let cpu = config.cpu;
    let thread = std::thread::Builder::new()
        .name("bng-api".into())
        .spawn(move || {
            if let Err(error) = run(cpu, tcp, socket, backend, stopped) {
                tracing::error!(%error, "the management server cannot run");
            }
        })
        .map_err(ServeError::Thread)?;
    Ok(Server { stop, thread: Some(thread), socket: config.socket, listen })
}

fn tcp_listener(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn unix_listener(path: &Path) -> io::Result<std::os::unix::net::UnixListener> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "another bngd answers on it"));
    }
    // A socket that an earlier run left behind; anything else in its place is somebody's.
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket()) {
        fs::remove_file(path)?;
    }
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(SOCKET_MODE))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn pin(cpu: Option<usize>) {
    if let Some(id) = cpu
        && !core_affinity::set_for_current(core_affinity::CoreId { id })
    {
        tracing::warn!(cpu = id, "a thread of the management server cannot be pinned");
    }
}

fn run(
    cpu: Option<usize>,
    tcp: Option<std::net::TcpListener>,
    socket: std::os::unix::net::UnixListener,
    backend: Arc<dyn Backend>,
    stopped: watch::Receiver<bool>,
) -> io::Result<()> {
    pin(cpu);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .thread_name("bng-api-wait")
        .on_thread_start(move || pin(cpu))
        .build()?;
    runtime.block_on(async {
        let socket = UnixListener::from_std(socket)?;
        let tcp = tcp.map(TcpListener::from_std).transpose()?;
        let slots = Arc::new(Semaphore::new(REQUESTS_MAX));
        let context = |access| Context { backend: backend.clone(), access, slots: slots.clone() };
        let (full, read_only) = (router(context(Access::Full)), router(context(Access::ReadOnly)));
        let bounds = Bounds::default();
        let over_unix = connections::serve(socket, full, bounds, stopped.clone());
        let over_tcp = async {
            if let Some(tcp) = tcp {
                connections::serve(tcp, read_only, bounds, stopped.clone()).await;
            }
        };
        let both = async { tokio::join!(over_unix, over_tcp) };
        let mut stop = stopped.clone();
        let deadline = async {
            // An error means that the server's owner is gone: stop as well.
            let _ = stop.wait_for(|stop| *stop).await;
            tokio::time::sleep(STOP_TIMEOUT).await;
        };
        tokio::select! {
            _ = both => {}
            () = deadline => {}
        }
        Ok::<_, io::Error>(())
    })?;
    // Questions under way may outlast the deadline; they are not waited for.
    runtime.shutdown_background();
    Ok(())
}

/// What the clients of a listener may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Read and change.
    Full,
    /// Read.
    ReadOnly,
}

/// What every answer needs.
#[derive(Clone)]
struct Context {
    backend: Arc<dyn Backend>,
    access: Access,
    /// One for each request that may be waiting for the backend.
    slots: Arc<Semaphore>,
}

type Shared = State<Context>;

/// The routes. Over TCP nobody has shown who he is, so what changes something is refused there: the UNIX socket's owner
/// and group are the ones to do that.
fn router(context: Context) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(async || Json(Health { status: "ok".into() })))
        .route("/readyz", get(readyz))
        .route("/api/v1/sessions", get(sessions))
        .route("/api/v1/sessions/{id}", get(session))
        .route("/api/v1/workers", get(async |state: Shared| answer(state, |b| b.workers()).await))
        .route("/api/v1/drops", get(async |state: Shared| answer(state, |b| b.drops()).await))
        .route("/api/v1/ports", get(async |state: Shared| answer(state, |b| b.ports()).await))
        .route("/api/v1/radius", get(async |state: Shared| answer(state, |b| b.radius()).await))
        .route("/api/v1/pools", get(async |state: Shared| answer(state, |b| b.pools()).await))
        .route("/api/v1/routes", get(async |state: Shared| answer(state, |b| b.routes()).await))
        .route("/api/v1/version", get(async |state: Shared| answer(state, |b| Ok(b.version())).await))
        .route("/api/v1/clear", post(clear))
        .route("/api/v1/log-level", post(log_level))
        .route("/api/v1/watch", post(watch))
        .route("/api/v1/watch/{id}/read", post(watch_read))
        .route("/api/v1/watch/{id}/end", post(watch_end))
        .fallback(async || failure(StatusCode::NOT_FOUND, "there is nothing at this address".into()))
        .method_not_allowed_fallback(async || {
            failure(StatusCode::METHOD_NOT_ALLOWED, "this address does not take this method".into())
        })
        .layer(DefaultBodyLimit::max(BODY_OCTETS_MAX))
        .with_state(context)
}

fn failure(status: StatusCode, error: String) -> Response {
    (status, Json(ErrorView { error })).into_response()
}

fn backend_failure(error: &BackendError) -> Response {
    let status = match error {
        BackendError::NotFound(_) => StatusCode::NOT_FOUND,
        BackendError::Invalid(_) => StatusCode::BAD_REQUEST,
        BackendError::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
        BackendError::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    failure(status, error.to_string())
}

/// Asks the backend on a thread that may wait.
async fn ask<T: Send + 'static>(
    State(context): Shared,
    question: impl FnOnce(&dyn Backend) -> Result<T, BackendError> + Send + 'static,
) -> Result<T, Response> {
    let Ok(_slot) = context.slots.try_acquire() else {
        let reason = format!("{REQUESTS_MAX} requests are waiting for an answer already");
        return Err(failure(StatusCode::SERVICE_UNAVAILABLE, reason));
    };
    let backend = context.backend;
    match tokio::task::spawn_blocking(move || question(&*backend)).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(backend_failure(&error)),
        Err(error) => Err(failure(StatusCode::INTERNAL_SERVER_ERROR, format!("the question failed: {error}"))),
    }
}

async fn answer<T: Serialize + Send + 'static>(
    state: Shared,
    question: impl FnOnce(&dyn Backend) -> Result<T, BackendError> + Send + 'static,
) -> Response {
    match ask(state, question).await {
        Ok(value) => Json(value).into_response(),
        Err(response) => response,
    }
}

async fn metrics(state: Shared) -> Response {
    match ask(state, |backend| backend.metrics()).await {
        Ok(text) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response(),
        Err(response) => response,
    }
}

async fn readyz(state: Shared) -> Response {
    match ask(state, |backend| Ok(backend.readiness())).await {
        Ok(readiness) => {
            let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            (status, Json(readiness)).into_response()
        }
        Err(response) => response,
    }
}

async fn sessions(state: Shared, filter: Result<Query<SessionFilter>, QueryRejection>) -> Response {
    match filter {
        Ok(Query(filter)) => answer(state, move |backend| backend.sessions(&filter)).await,
        Err(rejection) => failure(StatusCode::BAD_REQUEST, rejection.body_text()),
    }
}

async fn session(state: Shared, UrlPath(id): UrlPath<String>) -> Response {
    answer(state, move |backend| backend.session(&id)).await
}

/// The body of a request that changes something, where such requests are taken.
fn change<T>(context: &Context, request: Result<Json<T>, JsonRejection>) -> Result<T, (StatusCode, String)> {
    if context.access == Access::ReadOnly {
        let reason = "over TCP nothing can be changed: use the UNIX socket, or bngctl on the machine itself";
        return Err((StatusCode::FORBIDDEN, reason.into()));
    }
    match request {
        Ok(Json(request)) => Ok(request),
        Err(rejection) => {
            // Whether the body is no JSON or not the JSON that is wanted makes no difference to the caller.
            let large = rejection.status() == StatusCode::PAYLOAD_TOO_LARGE;
            let status = if large { StatusCode::PAYLOAD_TOO_LARGE } else { StatusCode::BAD_REQUEST };
            Err((status, rejection.body_text()))
        }
    }
}

async fn clear(state: Shared, request: Result<Json<ClearRequest>, JsonRejection>) -> Response {
    match change(&state, request) {
        Ok(request) if request.filter.is_empty() && !request.all => {
            let reason = "the filter names nothing: set `all` to clear every session";
            failure(StatusCode::BAD_REQUEST, reason.into())
        }
        Ok(request) => answer(state, move |backend| backend.clear(&request)).await,
        Err((status, reason)) => failure(status, reason),
    }
}

/// Whoever sees what clients send must be as much as one who may change something.
async fn watch(state: Shared, request: Result<Json<WatchRequest>, JsonRejection>) -> Response {
    match change(&state, request) {
        Ok(request) if request.filter.is_empty() => {
            failure(StatusCode::BAD_REQUEST, "the filter names nothing: name a session, a user or a MAC address".into())
        }
        Ok(request) => answer(state, move |backend| backend.watch(&request.filter)).await,
        Err((status, reason)) => failure(status, reason),
    }
}

async fn watch_read(state: Shared, UrlPath(id): UrlPath<String>, body: Result<Json<()>, JsonRejection>) -> Response {
    match change(&state, body) {
        Ok(()) => answer(state, move |backend| backend.watch_read(&id)).await,
        Err((status, reason)) => failure(status, reason),
    }
}

async fn watch_end(state: Shared, UrlPath(id): UrlPath<String>, body: Result<Json<()>, JsonRejection>) -> Response {
    match change(&state, body) {
        Ok(()) => answer(state, move |backend| backend.watch_end(&id)).await,
        Err((status, reason)) => failure(status, reason),
    }
}

async fn log_level(state: Shared, request: Result<Json<LogLevelRequest>, JsonRejection>) -> Response {
    match change(&state, request) {
        Ok(request) => answer(state, move |backend| backend.set_log_level(&request.level).map(|()| request)).await,
        Err((status, reason)) => failure(status, reason),
    }
}
