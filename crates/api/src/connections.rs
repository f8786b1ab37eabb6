//! Serving HTTP over connections that have a bound in number and in age: a peer that sends half a request, or opens
//! connections without end, costs neither the process's descriptors nor another peer's answer.

use std::collections::VecDeque;
use std::io;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What connections may cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Connections of one listener at a time. One more ends the oldest.
    pub(crate) connections_max: usize,
    /// How long the head of a request may take.
    pub(crate) head_timeout: Duration,
    /// How old a connection gets: then it ends with the answer under way.
    pub(crate) age_max: Duration,
    /// How long that answer may take.
    pub(crate) last_answer_timeout: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            // Two listeners of these leave room under the usual limit of 1,024 descriptors.
            connections_max: 256,
            head_timeout: Duration::from_secs(5),
            age_max: Duration::from_secs(60),
            last_answer_timeout: Duration::from_secs(10),
        }
    }
}

/// A socket that takes connections.
pub(crate) trait Accept {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection.
    fn next(&self) -> impl Future<Output = io::Result<Self::Stream>>;
}

impl Accept for TcpListener {
    type Stream = tokio::net::TcpStream;

    async fn next(&self) -> io::Result<Self::Stream> {
        self.accept().await.map(|(stream, _)| stream)
    }
}

impl Accept for UnixListener {
    type Stream = tokio::net::UnixStream;

    async fn next(&self) -> io::Result<Self::Stream> {
        self.accept().await.map(|(stream, _)| stream)
    }
}

/// How long nothing is accepted after the kernel refused: there may be no descriptor left.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Serves until `stopped` says so, then waits for the answers under way.
pub(crate) async fn serve(listener: impl Accept, router: Router, bounds: Bounds, stopped: watch::Receiver<bool>) {
    let mut connections: VecDeque<JoinHandle<()>> = VecDeque::new();
    let mut stop = stopped.clone();
    let mut stop = pin!(stop.wait_for(|stop| *stop));
    loop {
        let accepted = tokio::select! {
            // An error means that the server's owner is gone: stop as well.
            _ = &mut stop => break,
            accepted = listener.next() => accepted,
        };
        let Ok(stream) = accepted else {
            tokio::time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        connections.retain(|connection| !connection.is_finished());
        if connections.len() >= bounds.connections_max
            && let Some(oldest) = connections.pop_front()
        {
            oldest.abort();
        }
        connections.push_back(tokio::spawn(connection(stream, router.clone(), bounds, stopped.clone())));
    }
    for connection in connections {
        // One that failed or was ended has nothing more to say.
        let _ = connection.await;
    }
}

async fn connection<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    router: Router,
    bounds: Bounds,
    mut stopped: watch::Receiver<bool>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(bounds.head_timeout);
    let mut served = pin!(http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)));
    tokio::select! {
        // How it ended is the peer's affair.
        _ = served.as_mut() => return,
        () = tokio::time::sleep(bounds.age_max) => {}
        _ = stopped.wait_for(|stop| *stop) => {}
    }
    served.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(bounds.last_answer_timeout, served).await;
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;

    /// Serves with these bounds while `test` plays its peers.
    fn with_server<F: Future<Output = ()>>(bounds: Bounds, test: impl FnOnce(std::net::SocketAddr) -> F) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (stop, stopped) = watch::channel(false);
            let server = tokio::spawn(serve(listener, Router::new().route("/", get(async || "yes")), bounds, stopped));
            test(address).await;
            stop.send(true).unwrap();
            tokio::time::timeout(Duration::from_secs(5), server).await.expect("the server ends").unwrap();
        });
    }

    async fn half(address: std::net::SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost:").await.unwrap();
        stream
    }

    async fn asks(address: std::net::SocketAddr) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// True if the peer ends the connection within 3 s.
    async fn is_ended(stream: &mut TcpStream) -> bool {
        let mut rest = Vec::new();
        tokio::time::timeout(Duration::from_secs(3), stream.read_to_end(&mut rest)).await.is_ok()
    }

    #[test]
    fn half_a_request_is_not_waited_for() {
        let bounds = Bounds { head_timeout: Duration::from_millis(100), ..Bounds::default() };
        with_server(bounds, async |address| {
            let mut stream = half(address).await;
            assert!(is_ended(&mut stream).await);
        });
    }

    #[test]
    fn one_connection_too_many_ends_the_oldest_and_is_answered() {
        let bounds = Bounds { connections_max: 4, head_timeout: Duration::from_secs(60), ..Bounds::default() };
        with_server(bounds, async |address| {
            let mut held = Vec::new();
            for _ in 0..4 {
                held.push(half(address).await);
            }
            assert!(asks(address).await.ends_with("\r\n\r\nyes"));
            assert!(is_ended(&mut held[0]).await);
            held[3].write_all(b" x\r\nconnection: close\r\n\r\n").await.unwrap();
            let mut answer = String::new();
            held[3].read_to_string(&mut answer).await.unwrap();
            assert!(answer.ends_with("\r\n\r\nyes"), "{answer}");
        });
    }

    #[test]
    fn a_silent_connection_ends_with_its_age() {
        let bounds = Bounds {
            age_max: Duration::from_millis(100),
            head_timeout: Duration::from_secs(60),
            last_answer_timeout: Duration::from_millis(100),
            ..Bounds::default()
        };
        with_server(bounds, async |address| {
            let begun = Instant::now();
            let mut stream = half(address).await;
            assert!(is_ended(&mut stream).await);
            assert!(begun.elapsed() >= Duration::from_millis(100));
        });
    }
}
