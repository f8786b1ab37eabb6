//! The server, over a real UNIX socket and a real TCP port, in front of a process that answers from memory.

mod fake;

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bng_api::{
    ClearRequest, Client, ClientError, DropsView, PoolsView, PortsView, RadiusView, RoutesView, ServeError, Server,
    ServerConfig, SessionFilter, SessionState, VersionView, VlanFilter, WorkersView, serve,
};
use fake::Fake;

struct Bed {
    folder: tempfile::TempDir,
    fake: Arc<Fake>,
    server: Server,
}

fn bed() -> Bed {
    let folder = tempfile::tempdir().unwrap();
    let fake = Arc::new(Fake::new());
    let config = ServerConfig {
        listen: Some("127.0.0.1:0".parse().unwrap()),
        socket: folder.path().join("run/api.sock"),
        cpu: None,
    };
    let server = serve(config, fake.clone()).unwrap();
    Bed { folder, fake, server }
}

impl Bed {
    fn client(&self) -> Client {
        Client::new(self.folder.path().join("run/api.sock"), Duration::from_secs(10))
    }

    /// What comes back over TCP for this request line and body: status and body.
    fn tcp(&self, line: &str, body: &str) -> (u16, String) {
        let stream = std::net::TcpStream::connect(self.server.listen().unwrap()).unwrap();
        exchange(stream, line, body)
    }

    fn unix(&self, line: &str, body: &str) -> (u16, String) {
        exchange(UnixStream::connect(self.folder.path().join("run/api.sock")).unwrap(), line, body)
    }
}

fn exchange(mut stream: impl std::io::Read + std::io::Write, line: &str, body: &str) -> (u16, String) {
    write!(
        stream,
        "{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[test]
fn every_view_goes_over_the_socket_and_comes_back_the_same() {
    use bng_api::Backend as _;
    let bed = bed();
    let client = bed.client();
    assert_eq!(client.get::<WorkersView>("/api/v1/workers").unwrap(), bed.fake.workers().unwrap());
    assert_eq!(client.get::<DropsView>("/api/v1/drops").unwrap(), bed.fake.drops().unwrap());
    assert_eq!(client.get::<PortsView>("/api/v1/ports").unwrap(), bed.fake.ports().unwrap());
    assert_eq!(client.get::<RadiusView>("/api/v1/radius").unwrap(), bed.fake.radius().unwrap());
    assert_eq!(client.get::<PoolsView>("/api/v1/pools").unwrap(), bed.fake.pools().unwrap());
    assert_eq!(client.get::<RoutesView>("/api/v1/routes").unwrap(), bed.fake.routes().unwrap());
    assert_eq!(client.get::<VersionView>("/api/v1/version").unwrap(), bed.fake.version());
    let all = SessionFilter::default();
    assert_eq!(client.sessions(&all).unwrap(), bed.fake.sessions(&all).unwrap());
    assert_eq!(client.session("access0.100.2").unwrap(), fake::session(2, Some("user2@example.net")));
}

#[test]
fn each_filter_picks_what_it_says() {
    let bed = bed();
    let client = bed.client();
    let none = SessionFilter::default;
    for (filter, ids) in [
        (SessionFilter { user: Some("user1@example.net".into()), ..none() }, vec![1]),
        (SessionFilter { user: Some("*@example.net".into()), ..none() }, vec![1, 2]),
        (SessionFilter { user: Some("user1".into()), ..none() }, vec![]),
        (SessionFilter { mac: Some("02:00:00:00:00:03".into()), ..none() }, vec![3]),
        (SessionFilter { ip: Some("100.64.0.2".parse().unwrap()), ..none() }, vec![2]),
        (SessionFilter { ip: Some("2001:db8:8000:1ff::9".parse().unwrap()), ..none() }, vec![1, 2, 3]),
        (SessionFilter { ip: Some("2001:db8:8000:200::9".parse().unwrap()), ..none() }, vec![]),
        (SessionFilter { vlan: Some(VlanFilter::Both(100, 7)), ..none() }, vec![1, 2, 3]),
        (SessionFilter { vlan: Some(VlanFilter::Untagged), ..none() }, vec![]),
        (SessionFilter { circuit_id: Some("dslam1 *".into()), ..none() }, vec![1, 2, 3]),
        (SessionFilter { port: Some("access1".into()), ..none() }, vec![]),
        (SessionFilter { state: Some(SessionState::Link), ..none() }, vec![3]),
        (SessionFilter { id: Some("access0.100.2".into()), ..none() }, vec![2]),
        (SessionFilter { limit: Some(1), offset: Some(1), ..none() }, vec![2]),
    ] {
        let answer = client.sessions(&filter).unwrap();
        let found: Vec<u16> = answer.sessions.iter().map(|session| session.session_id).collect();
        assert_eq!(found, ids, "{filter:?}");
        assert_eq!(answer.matched, if filter.limit.is_some() { 3 } else { ids.len() as u64 }, "{filter:?}");
    }
}

#[test]
fn over_tcp_everything_can_be_read_and_nothing_changed() {
    let bed = bed();
    assert_eq!(bed.tcp("GET /healthz", ""), (200, "{\"status\":\"ok\"}".into()));
    let (status, text) = bed.tcp("GET /metrics", "");
    assert_eq!(status, 200);
    assert!(text.contains("\nbng_sessions 3\n"), "{text}");
    assert_eq!(bed.tcp("GET /api/v1/sessions?user=user1@example.net&vlan=100.7", "").0, 200);
    for (path, body) in [("clear", "{\"all\":true}"), ("log-level", "{\"level\":\"debug\"}")] {
        let (status, text) = bed.tcp(&format!("POST /api/v1/{path}"), body);
        assert_eq!(status, 403, "{text}");
        assert!(text.contains("over TCP nothing can be changed"), "{text}");
    }
    assert_eq!(bed.fake.sessions.lock().unwrap().len(), 3);
}

#[test]
fn readiness_is_also_the_status_code() {
    let bed = bed();
    assert_eq!(bed.tcp("GET /readyz", "").0, 200);
    *bed.fake.ready.lock().unwrap() = false;
    let (status, text) = bed.tcp("GET /readyz", "");
    assert_eq!((status, text.as_str()), (503, "{\"ready\":false,\"reasons\":[\"port access0 has no link\"]}"));
}

#[test]
fn every_error_is_a_sentence_in_json() {
    let bed = bed();
    for (line, body, status, reason) in [
        ("GET /nothing", "", 404, "there is nothing at this address"),
        ("POST /metrics", "", 405, "does not take this method"),
        ("GET /api/v1/sessions/none", "", 404, "there is no session none"),
        ("GET /api/v1/sessions?vlan=5000", "", 400, "`5000` is not a VLAN"),
        ("GET /api/v1/sessions?mac=x", "", 400, "`x` is not a MAC address"),
        ("GET /api/v1/sessions?usr=x", "", 400, "unknown field `usr`"),
        ("GET /api/v1/sessions?user=slow", "", 503, "bngd is busy"),
        ("POST /api/v1/clear", "{}", 400, "the filter names nothing"),
        ("POST /api/v1/clear", "{\"filter\":{\"usr\":\"x\"}}", 400, "unknown field `usr`"),
        ("POST /api/v1/clear", "{", 400, "EOF"),
        ("POST /api/v1/log-level", "{\"level\":\"loud\"}", 400, "`loud` is no level"),
    ] {
        let (code, text) = bed.unix(line, body);
        assert_eq!(code, status, "{line}: {text}");
        let error: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{line}: {text}"));
        assert!(error["error"].as_str().unwrap().contains(reason), "{line}: {text}");
    }
    let (status, _) = bed.unix("POST /api/v1/clear", &format!("\"{}\"", "x".repeat(100_000)));
    assert_eq!(status, 413, "a body beyond the limit");
}

#[test]
fn clearing_by_filter_and_setting_the_log_level() {
    let bed = bed();
    let client = bed.client();
    let filter = SessionFilter { user: Some("user1*".into()), ..SessionFilter::default() };
    assert_eq!(client.clear(&ClearRequest { filter, all: false }).unwrap().cleared, 1);
    assert_eq!(bed.fake.sessions.lock().unwrap().len(), 2);
    let refused = client.clear(&ClearRequest::default()).unwrap_err();
    assert!(matches!(refused, ClientError::Refused { status: 400, .. }), "{refused}");
    assert_eq!(client.clear(&ClearRequest { all: true, ..ClearRequest::default() }).unwrap().cleared, 2);
    client.set_log_level("info,bng_routing=debug").unwrap();
    assert_eq!(*bed.fake.log_level.lock().unwrap(), "info,bng_routing=debug");
}

#[test]
fn the_socket_belongs_to_owner_and_group_and_goes_with_the_server() {
    let Bed { folder, server, fake } = bed();
    let path = folder.path().join("run/api.sock");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
    // A second server does not take it from the first.
    let second = ServerConfig { listen: None, socket: path.clone(), cpu: None };
    let error = serve(second.clone(), fake.clone()).unwrap_err();
    assert!(
        matches!(&error, ServeError::Socket { .. }) && error.to_string().contains("another bngd answers"),
        "{error}"
    );
    let client = Client::new(path.clone(), Duration::from_secs(5));
    assert!(client.get::<VersionView>("/api/v1/version").is_ok());
    // A connection that is kept open does not keep the server.
    let idle = UnixStream::connect(&path).unwrap();
    let start = Instant::now();
    server.stop();
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(!path.exists());
    drop(idle);
    let gone = client.get::<VersionView>("/api/v1/version").unwrap_err();
    assert!(matches!(gone, ClientError::NotThere { .. }) && gone.to_string().contains("api.sock"), "{gone}");
    // A socket that a dead process left behind is replaced; another file is not.
    drop(UnixListener::bind(&path).unwrap());
    serve(second.clone(), fake.clone()).unwrap().stop();
    std::fs::write(&path, "x").unwrap();
    assert!(serve(second, fake).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "x");
}

#[test]
fn a_tcp_address_that_is_taken_leaves_no_socket_behind() {
    let bed = bed();
    let socket = bed.folder.path().join("other.sock");
    let config = ServerConfig { listen: bed.server.listen(), socket: socket.clone(), cpu: None };
    let error = serve(config, bed.fake.clone()).unwrap_err();
    assert!(matches!(error, ServeError::Listen { .. }), "{error}");
    assert!(!socket.exists());
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mute.sock");
    let _mute = UnixListener::bind(&path).unwrap();
    let client = Client::new(path, Duration::from_millis(200));
    assert!(matches!(client.get::<VersionView>("/api/v1/version"), Err(ClientError::Timeout(_))));
}

#[test]
fn many_clients_at_once() {
    let bed = bed();
    let threads: Vec<_> = (0..16)
        .map(|_| {
            let client = bed.client();
            std::thread::spawn(move || {
                for _ in 0..20 {
                    assert_eq!(client.sessions(&SessionFilter::default()).unwrap().matched, 3);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}
