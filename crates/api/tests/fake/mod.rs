//! A process that answers from memory.

use std::sync::Mutex;

use bng_api::{
    Backend, BackendError, ClearReport, ClearRequest, DropView, DropsView, PoolView, PoolsView, PortView, PortsView,
    RadiusAccountingView, RadiusDynamicView, RadiusServerView, RadiusView, Readiness, RouteKind, RouteView, RoutesView,
    SentFrame, SessionFilter, SessionState, SessionView, SessionsView, VersionView, WatchReading, WatchView,
    WatchedFrame, WatchedStage, WorkerPortView, WorkerView, WorkersView,
};

/// Keeps sessions in memory, and what it was told.
#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) sessions: Mutex<Vec<SessionView>>,
    pub(crate) log_level: Mutex<String>,
    pub(crate) ready: Mutex<bool>,
    /// Watches that were begun and not ended.
    pub(crate) watches: Mutex<u64>,
    /// Readings of a watch.
    pub(crate) readings: Mutex<u64>,
}

pub(crate) fn session(number: u16, user: Option<&str>) -> SessionView {
    SessionView {
        id: format!("access0.100.{number}"),
        user: user.map(str::to_owned),
        mac: format!("02:00:00:00:00:{number:02x}"),
        port: "access0".into(),
        outer_vlan: Some(100),
        inner_vlan: Some(7),
        session_id: number,
        state: if user.is_some() { SessionState::Up } else { SessionState::Link },
        profile: "residential".into(),
        service_name: String::new(),
        auth: user.map(|_| "chap-md5".into()),
        ipv4: user.map(|_| [100, 64, 0, u8::try_from(number).unwrap()].into()),
        ipv6_prefix: None,
        delegated_prefix: Some("2001:db8:8000:100::/56".into()),
        started_unix_s: 1_700_000_000,
        uptime_s: 3661,
        octets_up: 1500,
        octets_down: 2_500_000,
        packets_up: 10,
        packets_down: 2000,
        packets_dropped: 1,
        mru: 1492,
        circuit_id: Some("dslam1 eth 0/1:100".into()),
        remote_id: None,
    }
}

/// A frame from session 1's client (number 1) or to it (number 2).
fn watched(number: u64) -> WatchedFrame {
    let client = "020000000001020000000 0fe8864".replace(' ', "");
    let from = "0200000000fe0200000000018864";
    let core = "0200000001fe0200000001010800";
    let (port, frame, to, sent) =
        if number == 1 { ("access0", from, "core0", core) } else { ("core0", core, "access0", client.as_str()) };
    let stage = |stage: &str, what: &str| WatchedStage { stage: stage.into(), what: what.into() };
    WatchedFrame {
        worker: 0,
        number,
        time_unix_ms: 1_700_000_000_123 + number,
        port: port.into(),
        octets: 1514,
        frame: frame.into(),
        stages: vec![stage("ethernet", "an address > another"), stage("out", "1514 octets")],
        verdict: "sent".into(),
        reason: None,
        sent: vec![SentFrame { port: to.into(), octets: 1514, frame: sent.into() }],
    }
}

impl Fake {
    pub(crate) fn new() -> Self {
        let sessions =
            vec![session(1, Some("user1@example.net")), session(2, Some("user2@example.net")), session(3, None)];
        Self { sessions: Mutex::new(sessions), ready: Mutex::new(true), ..Self::default() }
    }
}

impl Backend for Fake {
    fn sessions(&self, filter: &SessionFilter) -> Result<SessionsView, BackendError> {
        if filter.user.as_deref() == Some("slow") {
            return Err(BackendError::Busy("the control core gave no answer within 2 s".into()));
        }
        let all = self.sessions.lock().unwrap();
        let matching: Vec<&SessionView> = all.iter().filter(|session| filter.matches(session)).collect();
        let skip = usize::try_from(filter.offset.unwrap_or(0)).unwrap();
        let take = usize::try_from(filter.limit.unwrap_or(u64::MAX)).unwrap();
        let sessions = matching.iter().skip(skip).take(take).map(|session| (*session).clone()).collect();
        Ok(SessionsView { matched: matching.len() as u64, sessions })
    }

    fn session(&self, id: &str) -> Result<SessionView, BackendError> {
        let all = self.sessions.lock().unwrap();
        let found = all.iter().find(|session| session.id == id).cloned();
        found.ok_or_else(|| BackendError::NotFound(format!("there is no session {id}")))
    }

    fn workers(&self) -> Result<WorkersView, BackendError> {
        let port = |port: &str, packets| WorkerPortView {
            port: port.into(),
            rx_packets: packets,
            rx_octets: packets * 100,
            tx_packets: packets / 2,
            tx_octets: packets * 50,
        };
        let worker = |worker| WorkerView {
            worker,
            cpu: worker + 1,
            busy_ratio: 0.126,
            rx_packets: 30,
            tx_packets: 15,
            punted_packets: 4,
            injected_packets: 5,
            dropped_packets: 6,
            ports: vec![port("access0", 10), port("core0", 20)],
        };
        Ok(WorkersView { workers: vec![worker(0), worker(1)] })
    }

    fn drops(&self) -> Result<DropsView, BackendError> {
        let row = |reason: &str, packets: u64, reference: &str| DropView {
            reason: reason.into(),
            verdict: "drop".into(),
            packets,
            workers: vec![packets, 0],
            description: "What it means.".into(),
            reference: reference.into(),
        };
        Ok(DropsView { drops: vec![row("runt", 0, ""), row("pppoe_length", 12, "RFC 2516 section 4")] })
    }

    fn ports(&self) -> Result<PortsView, BackendError> {
        Ok(PortsView {
            ports: vec![PortView {
                name: "access0".into(),
                device: "0000:3b:00.0".into(),
                driver: "net_ice".into(),
                mac: "02:00:00:00:00:aa".into(),
                roles: vec!["access".into()],
                link_up: true,
                speed_mbps: Some(25_000),
                mtu: 1508,
                queues: 2,
                rss: "hardware".into(),
                rx_packets: 1,
                rx_octets: 2,
                rx_missed: 3,
                rx_errors: 4,
                rx_no_buffer: 5,
                tx_packets: 6,
                tx_octets: 7,
                tx_errors: 8,
            }],
        })
    }

    fn radius(&self) -> Result<RadiusView, BackendError> {
        let server = |purpose: &str, port, alive| RadiusServerView {
            purpose: purpose.into(),
            address: ([192, 0, 2, 10], port).into(),
            priority: 0,
            alive,
            outstanding: 1,
            requests: 10,
            retransmissions: 2,
            replies: 9,
            timeouts: 3,
            deaths: u64::from(!alive),
            discarded: 0,
            round_trip_us: 1250,
        };
        Ok(RadiusView {
            servers: vec![server("authentication", 1812, true), server("accounting", 1813, false)],
            logins_waiting: 1,
            unusable_accepts: 0,
            accounting: Some(RadiusAccountingView { queued: 4, sessions: 3, delivered: 9, dropped: 0, disk_errors: 0 }),
            dynamic: Some(RadiusDynamicView { disconnects: 1, changes: 2, acks: 2, naks: 1, discarded: 5 }),
        })
    }

    fn pools(&self) -> Result<PoolsView, BackendError> {
        Ok(PoolsView {
            pools: vec![PoolView {
                name: "pool4".into(),
                family: "ipv4".into(),
                prefix: "100.64.0.0/16".into(),
                length: 32,
                size: 65_533,
                used: 2,
                free: 65_531,
            }],
        })
    }

    fn routes(&self) -> Result<RoutesView, BackendError> {
        Ok(RoutesView {
            routes: vec![RouteView {
                prefix: "0.0.0.0/0".into(),
                vrf: 0,
                kind: RouteKind::Neighbour,
                next_hop: Some([198, 51, 100, 2].into()),
                interface: Some("uplink".into()),
                mac: None,
                target: None,
                ways: vec![],
                source: "static".into(),
                metric: 20,
            }],
        })
    }

    fn version(&self) -> VersionView {
        VersionView { version: "0.1.0".into(), dpdk: "DPDK 22.11".into(), node: "bng1".into(), pid: 7, uptime_s: 90 }
    }

    fn readiness(&self) -> Readiness {
        let ready = *self.ready.lock().unwrap();
        Readiness { ready, reasons: if ready { vec![] } else { vec!["port access0 has no link".into()] } }
    }

    fn metrics(&self) -> Result<String, BackendError> {
        Ok("# HELP bng_sessions Sessions.\n# TYPE bng_sessions gauge\nbng_sessions 3\n".into())
    }

    fn clear(&self, request: &ClearRequest) -> Result<ClearReport, BackendError> {
        let mut all = self.sessions.lock().unwrap();
        let before = all.len();
        all.retain(|session| !request.filter.matches(session));
        Ok(ClearReport { cleared: (before - all.len()) as u64 })
    }

    fn watch(&self, filter: &SessionFilter) -> Result<WatchView, BackendError> {
        let sessions = self.sessions(filter)?.sessions;
        let Some(first) = sessions.first() else { return Err(BackendError::NotFound("no session matches".into())) };
        *self.watches.lock().unwrap() += 1;
        Ok(WatchView { id: "0-1".into(), sessions: vec![first.id.clone()], macs: vec![first.mac.clone()] })
    }

    /// A packet up in the first reading, one down in the second, nothing after.
    fn watch_read(&self, id: &str) -> Result<WatchReading, BackendError> {
        if id != "0-1" {
            return Err(BackendError::NotFound(format!("no watch {id}: it has ended")));
        }
        let mut readings = self.readings.lock().unwrap();
        *readings += 1;
        let frames = if *readings < 3 { vec![watched(*readings)] } else { Vec::new() };
        Ok(WatchReading { frames, lost: 7, active: *readings < 3 })
    }

    fn watch_end(&self, id: &str) -> Result<WatchReading, BackendError> {
        let reading = self.watch_read(id)?;
        *self.watches.lock().unwrap() -= 1;
        Ok(reading)
    }

    fn set_log_level(&self, level: &str) -> Result<(), BackendError> {
        if level == "loud" {
            return Err(BackendError::Invalid("`loud` is no level".into()));
        }
        *self.log_level.lock().unwrap() = level.to_owned();
        Ok(())
    }
}
