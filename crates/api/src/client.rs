//! The other end: HTTP/1.1 over the UNIX socket, one connection a question.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{ClearReport, ClearRequest, ErrorView, LogLevelRequest, SessionFilter, SessionView, SessionsView};
use crate::{WatchReading, WatchRequest, WatchView};

/// Why a question got no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens on the socket.
    #[error("bngd does not answer on {}: {error}. Is it running, and is this the socket of its configuration?", socket.display())]
    NotThere {
        /// The socket's path.
        socket: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// The socket is there and must not be used by this user.
    #[error("this user may not use {}: its owner and group may", socket.display())]
    Forbidden {
        /// The socket's path.
        socket: PathBuf,
    },
    /// No answer in time.
    #[error("bngd gave no answer within {0:?}")]
    Timeout(Duration),
    /// The answer is an error.
    #[error("{message}")]
    Refused {
        /// The HTTP status code.
        status: u16,
        /// What bngd said.
        message: String,
    },
    /// The connection broke, or the answer cannot be read.
    #[error("the answer cannot be read: {0}")]
    Broken(String),
}

/// Asks a bngd on this machine.
#[derive(Debug, Clone)]
pub struct Client {
    socket: PathBuf,
    timeout: Duration,
}

impl Client {
    /// A client for the bngd that listens on `socket`; each question may take `timeout`.
    #[must_use]
    pub const fn new(socket: PathBuf, timeout: Duration) -> Self {
        Self { socket, timeout }
    }

    /// The answer to `GET path`.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        read(&self.send(Method::GET, path, Vec::new())?)
    }

    /// The answer to `POST path` with `body` as JSON.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| ClientError::Broken(error.to_string()))?;
        read(&self.send(Method::POST, path, body)?)
    }

    /// The sessions that match.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn sessions(&self, filter: &SessionFilter) -> Result<SessionsView, ClientError> {
        self.get(&format!("/api/v1/sessions{}", query(filter)))
    }

    /// One session.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn session(&self, id: &str) -> Result<SessionView, ClientError> {
        self.get(&format!("/api/v1/sessions/{}", escape(id)))
    }

    /// Ends sessions.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn clear(&self, request: &ClearRequest) -> Result<ClearReport, ClientError> {
        self.post("/api/v1/clear", request)
    }

    /// Changes how much is logged.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn set_log_level(&self, level: &str) -> Result<LogLevelRequest, ClientError> {
        self.post("/api/v1/log-level", &LogLevelRequest { level: level.to_owned() })
    }

    /// Begins a watch.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn watch(&self, filter: &SessionFilter) -> Result<WatchView, ClientError> {
        self.post("/api/v1/watch", &WatchRequest { filter: filter.clone() })
    }

    /// Reads a watch.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn watch_read(&self, id: &str) -> Result<WatchReading, ClientError> {
        self.post(&format!("/api/v1/watch/{}/read", escape(id)), &())
    }

    /// Ends a watch.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn watch_end(&self, id: &str) -> Result<WatchReading, ClientError> {
        self.post(&format!("/api/v1/watch/{}/end", escape(id)), &())
    }

    fn send(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Bytes, ClientError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| ClientError::Broken(error.to_string()))?;
        runtime.block_on(async {
            match tokio::time::timeout(self.timeout, self.exchange(method, path, body)).await {
                Ok(result) => result,
                Err(_) => Err(ClientError::Timeout(self.timeout)),
            }
        })
    }

    async fn exchange(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Bytes, ClientError> {
        let stream = tokio::net::UnixStream::connect(&self.socket).await.map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => ClientError::Forbidden { socket: self.socket.clone() },
            _ => ClientError::NotThere { socket: self.socket.clone(), error },
        })?;
        let broken = |error: hyper::Error| ClientError::Broken(error.to_string());
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "bngd")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| ClientError::Broken(error.to_string()))?;
        let response = sender.send_request(request).await.map_err(broken)?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(broken)?.to_bytes();
        if status == StatusCode::OK {
            return Ok(body);
        }
        let message = serde_json::from_slice::<ErrorView>(&body)
            .map_or_else(|_| format!("bngd answered {status}: {}", String::from_utf8_lossy(&body)), |view| view.error);
        Err(ClientError::Refused { status: status.as_u16(), message })
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, ClientError> {
    serde_json::from_slice(body).map_err(|error| ClientError::Broken(error.to_string()))
}

/// A filter as the query part of a path, `?` included; empty where nothing is set.
fn query(filter: &SessionFilter) -> String {
    let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(filter) else { return String::new() };
    let mut text = String::new();
    for (key, value) in fields {
        let value = match value {
            serde_json::Value::String(value) => value,
            value => value.to_string(),
        };
        text.push(if text.is_empty() { '?' } else { '&' });
        text.push_str(&format!("{key}={}", escape(&value)));
    }
    text
}

/// Percent-encodes everything but RFC 3986's unreserved characters.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for octet in text.bytes() {
        if octet.is_ascii_alphanumeric() || b"-._~".contains(&octet) {
            escaped.push(char::from(octet));
        } else {
            escaped.push_str(&format!("%{octet:02X}"));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_becomes_a_query() {
        assert_eq!(query(&SessionFilter::default()), "");
        let filter = SessionFilter { user: Some("a b@x&y=*".into()), limit: Some(5), ..SessionFilter::default() };
        assert_eq!(query(&filter), "?limit=5&user=a%20b%40x%26y%3D%2A");
    }
}
