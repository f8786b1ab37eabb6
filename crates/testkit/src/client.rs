//! One client from its first PADI on.

use crate::bytes::{DISCOVERY, Frame, SESSION, control, frame, option, parse_control, tag};
use crate::config::{ClientConfig, ClientEvent, ClientState};
use crate::data::{Datagram, parse_datagram};
use crate::link::{CHAP, IPCP, IPV4, IPV6CP, LCP, Login, Negotiator, PAP, Step, chap_response, pap_request};
use bng_wire::MacAddr;
use core::net::Ipv4Addr;
use std::time::{Duration, Instant};

/// One subscriber's router.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    state: ClientState,
    attempt: u32,
    ac_mac: MacAddr,
    cookie: Vec<u8>,
    session_id: u16,
    lcp: Negotiator,
    ipcp: Negotiator,
    auth: Option<u16>,
    auth_packet: Option<(u16, Vec<u8>)>,
    auth_id: u8,
    /// Resend or redial at this time, for what is not a negotiator's.
    timer: Option<Instant>,
    echo_at: Option<Instant>,
    echoes_out: u32,
    tries: u32,
    address: Ipv4Addr,
    dns: [Option<Ipv4Addr>; 2],
    events: Vec<ClientEvent>,
    /// Data sent so far.
    sent: u32,
}

const MRU: u8 = 1;
const AUTH: u8 = 3;
const MAGIC: u8 = 5;
const ADDRESS: u8 = 3;
const DNS: [u8; 2] = [129, 131];

impl Client {
    /// A client that has not dialled.
    #[must_use]
    pub fn new(config: ClientConfig) -> Self {
        Self {
            config,
            state: ClientState::Idle,
            attempt: 0,
            ac_mac: MacAddr::BROADCAST,
            cookie: Vec::new(),
            session_id: 0,
            lcp: Negotiator::new(Vec::new()),
            ipcp: Negotiator::new(Vec::new()),
            auth: None,
            auth_packet: None,
            auth_id: 0,
            timer: None,
            echo_at: None,
            echoes_out: 0,
            tries: 0,
            address: Ipv4Addr::UNSPECIFIED,
            dns: [None; 2],
            events: Vec::new(),
            sent: 0,
        }
    }

    /// What it is.
    #[must_use]
    pub fn config(&self) -> &ClientConfig {
        &self.config
    }

    /// What it is, to be changed between two dials.
    pub fn config_mut(&mut self) -> &mut ClientConfig {
        &mut self.config
    }

    /// How far it has come.
    #[must_use]
    pub fn state(&self) -> ClientState {
        self.state
    }

    /// Its address, once IPCP is open.
    #[must_use]
    pub fn address(&self) -> Option<Ipv4Addr> {
        (self.state == ClientState::Open).then_some(self.address)
    }

    /// The DNS servers it was told.
    #[must_use]
    pub fn dns(&self) -> [Option<Ipv4Addr>; 2] {
        self.dns
    }

    /// Its PPPoE session id, 0 where it has none.
    #[must_use]
    pub fn session_id(&self) -> u16 {
        self.session_id
    }

    /// The concentrator's MAC address, once known.
    #[must_use]
    pub fn ac_mac(&self) -> MacAddr {
        self.ac_mac
    }

    /// What it has seen since the last call.
    pub fn take_events(&mut self) -> Vec<ClientEvent> {
        core::mem::take(&mut self.events)
    }

    /// Dials: a PADI goes out, whatever was before is forgotten without a word.
    pub fn dial(&mut self, now: Instant, out: &mut Vec<Vec<u8>>) {
        self.forget();
        self.attempt += 1;
        self.search(now, out);
    }

    /// Dies: forgets everything and says nothing.
    pub fn vanish(&mut self) {
        self.forget();
        self.timer = None;
    }

    /// Ends its session in order: LCP Terminate-Request, then a PADT.
    pub fn hang_up(&mut self, out: &mut Vec<Vec<u8>>) {
        if self.session_id != 0 {
            self.send_ppp(LCP, &control(5, 200, b"bye"), out);
            self.padt(out);
        }
    }

    /// Ends its session with a PADT alone.
    pub fn padt(&mut self, out: &mut Vec<Vec<u8>>) {
        if self.session_id != 0 {
            out.push(self.build(self.ac_mac, DISCOVERY, 0xa7, self.session_id, &[]));
        }
        self.vanish();
    }

    /// A data frame to `destination`, if IPCP is open.
    pub fn send_data(&mut self, destination: Ipv4Addr, payload: &[u8], out: &mut Vec<Vec<u8>>) -> bool {
        if self.state != ClientState::Open {
            return false;
        }
        self.sent += 1;
        let datagram = Datagram { source: self.address, destination, ttl: 64, payload: payload.to_vec() };
        self.send_ppp(IPV4, &datagram.to_bytes(), out);
        true
    }

    /// A PPP packet of any kind in its session: what a test wants to say.
    pub fn send_ppp(&mut self, protocol: u16, packet: &[u8], out: &mut Vec<Vec<u8>>) {
        let mut payload = protocol.to_be_bytes().to_vec();
        payload.extend_from_slice(packet);
        out.push(self.build(self.ac_mac, SESSION, 0, self.session_id, &payload));
    }

    /// When [`Client::handle_timeout`] wants to be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let negotiating = |n: &Negotiator| n.resend_at.filter(|_| n.running && !self.config.behaviour.mute);
        [self.timer, negotiating(&self.lcp), negotiating(&self.ipcp), self.echo_at].into_iter().flatten().min()
    }

    /// The time has come; harmless if it has not.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Vec<u8>>) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(self.timer) {
            self.timer = None;
            match self.state {
                ClientState::Idle => self.dial(now, out),
                ClientState::Searching => self.search(now, out),
                ClientState::Requesting if self.tries < self.config.patience.padr_max => self.request(now, out),
                ClientState::Requesting => self.dial(now, out),
                ClientState::Authenticating => self.resend_auth(now, out),
                _ => self.give_up(now, "nothing came of it"),
            }
        }
        let resend = self.config.patience.resend;
        if due(self.lcp.resend_at) && !self.config.behaviour.mute {
            if self.lcp.tries() >= self.config.patience.resend_max {
                self.give_up(now, "no LCP");
                return;
            }
            let packet = self.lcp.request(now, resend, true);
            self.send_ppp(LCP, &packet, out);
        }
        if due(self.ipcp.resend_at) {
            if self.ipcp.tries() >= self.config.patience.resend_max {
                self.give_up(now, "no IPCP");
                return;
            }
            let packet = self.ipcp.request(now, resend, true);
            self.send_ppp(IPCP, &packet, out);
        }
        if due(self.echo_at) {
            self.echo_at = self.config.behaviour.echo_interval.map(|interval| now + interval);
            if self.echoes_out >= self.config.patience.echo_misses {
                self.give_up(now, "echoes not answered");
                return;
            }
            self.echoes_out += 1;
            let magic = self.config.magic.to_be_bytes();
            self.send_ppp(LCP, &control(9, self.echoes_out as u8, &magic), out);
        }
    }

    /// A frame from the line.
    pub fn handle(&mut self, now: Instant, bytes: &[u8], out: &mut Vec<Vec<u8>>) {
        let Some(frame) = Frame::parse(bytes) else { return };
        let vids: Vec<u16> = self.config.vlans.iter().map(|(_, tci)| tci & 0xfff).filter(|vid| *vid != 0).collect();
        if frame.destination != self.config.mac || frame.vids.iter().copied().filter(|v| *v != 0).ne(vids) {
            return;
        }
        if frame.ethertype == DISCOVERY {
            self.discovery(now, &frame, out);
        } else if self.session_id != 0 && frame.session_id == self.session_id && frame.source == self.ac_mac {
            let [high, low, rest @ ..] = frame.payload else { return };
            self.ppp(now, u16::from_be_bytes([*high, *low]), rest, out);
        }
    }

    fn build(&self, destination: MacAddr, ethertype: u16, code: u8, session_id: u16, payload: &[u8]) -> Vec<u8> {
        frame(destination, self.config.mac, &self.config.vlans, ethertype, code, session_id, payload)
    }

    fn forget(&mut self) {
        self.state = ClientState::Idle;
        self.session_id = 0;
        self.lcp.reset(Vec::new());
        self.ipcp.reset(Vec::new());
        self.auth = None;
        self.auth_packet = None;
        self.timer = None;
        self.echo_at = None;
        self.echoes_out = 0;
        self.tries = 0;
        self.address = Ipv4Addr::UNSPECIFIED;
        self.dns = [None; 2];
    }

    fn give_up(&mut self, now: Instant, why: &'static str) {
        self.events.push(ClientEvent::GaveUp(why));
        self.lost(now);
    }

    /// The session is over: dial again after a while, if that is its way.
    fn lost(&mut self, now: Instant) {
        self.forget();
        if self.config.behaviour.redials {
            self.timer = Some(now + self.config.patience.redial);
        }
    }

    fn tags(&self) -> Vec<u8> {
        let mut tags = Vec::new();
        tag(&mut tags, 0x0101, self.config.service_name.as_bytes());
        let mut host_uniq = self.config.host_uniq.clone();
        if !host_uniq.is_empty() {
            if self.config.fresh_host_uniq {
                host_uniq.extend_from_slice(&self.attempt.to_be_bytes());
            }
            tag(&mut tags, 0x0103, &host_uniq);
        }
        if let Some(max_payload) = self.config.max_payload {
            tag(&mut tags, 0x0120, &max_payload.to_be_bytes());
        }
        tags
    }

    /// What the access node adds (TR-101: vendor 3561, sub-option 1).
    fn access_node_tag(&self, tags: &mut Vec<u8>) {
        if let Some(circuit_id) = &self.config.circuit_id {
            let mut value = vec![0, 0, 0x0d, 0xe9, 1, circuit_id.len() as u8];
            value.extend_from_slice(circuit_id);
            tag(tags, 0x0105, &value);
        }
    }

    fn search(&mut self, now: Instant, out: &mut Vec<Vec<u8>>) {
        self.state = ClientState::Searching;
        self.timer = Some(now + self.config.patience.discovery);
        let mut tags = self.tags();
        self.access_node_tag(&mut tags);
        out.push(self.build(MacAddr::BROADCAST, DISCOVERY, 0x09, 0, &tags));
    }

    fn request(&mut self, now: Instant, out: &mut Vec<Vec<u8>>) {
        self.state = ClientState::Requesting;
        self.tries += 1;
        self.timer = Some(now + self.config.patience.discovery);
        let mut tags = self.tags();
        tag(&mut tags, 0x0104, &self.cookie.clone());
        self.access_node_tag(&mut tags);
        let padr = self.build(self.ac_mac, DISCOVERY, 0x19, 0, &tags);
        if self.config.behaviour.repeats_padr {
            out.push(padr.clone());
        }
        out.push(padr);
    }

    fn discovery(&mut self, now: Instant, frame: &Frame<'_>, out: &mut Vec<Vec<u8>>) {
        let mine = {
            let mut expected = self.config.host_uniq.clone();
            if !expected.is_empty() && self.config.fresh_host_uniq {
                expected.extend_from_slice(&self.attempt.to_be_bytes());
            }
            frame.tag(0x0103).unwrap_or_default() == expected
        };
        match (frame.code, self.state) {
            (0x07, ClientState::Searching) if mine => {
                self.events.push(ClientEvent::Pado);
                self.ac_mac = frame.source;
                self.cookie = frame.tag(0x0104).unwrap_or_default().to_vec();
                self.tries = 0;
                self.request(now, out);
            }
            (0x65, ClientState::Requesting) if mine && frame.source == self.ac_mac => {
                if frame.session_id == 0 {
                    let error = frame.tags().into_iter().map(|(kind, _)| kind).find(|kind| *kind >= 0x0201);
                    self.events.push(ClientEvent::Refused(error.unwrap_or(0)));
                    self.lost(now);
                    return;
                }
                self.events.push(ClientEvent::Pads(frame.session_id));
                self.session_id = frame.session_id;
                self.state = ClientState::Establishing;
                // What the whole of it may take.
                self.timer = (!self.config.behaviour.mute).then(|| now + Duration::from_secs(60));
                self.lcp.reset(self.lcp_options());
                if self.config.behaviour.eager && !self.config.behaviour.mute {
                    let packet = self.lcp.request(now, self.config.patience.resend, false);
                    self.send_ppp(LCP, &packet, out);
                }
            }
            (0xa7, _) if frame.session_id == self.session_id && self.session_id != 0 && frame.source == self.ac_mac => {
                self.events.push(ClientEvent::Padt);
                self.lost(now);
            }
            _ => {}
        }
    }

    fn lcp_options(&self) -> Vec<(u8, Vec<u8>)> {
        let mut wanted = Vec::new();
        if let Some(mru) = self.config.mru {
            wanted.push((MRU, mru.to_be_bytes().to_vec()));
        }
        wanted.push((MAGIC, self.config.magic.to_be_bytes().to_vec()));
        wanted
    }

    fn ppp(&mut self, now: Instant, protocol: u16, packet: &[u8], out: &mut Vec<Vec<u8>>) {
        if self.config.behaviour.mute {
            return;
        }
        match protocol {
            LCP => self.lcp_packet(now, packet, out),
            PAP | CHAP => self.auth_packet(now, protocol, packet, out),
            IPCP if self.lcp.is_up() => self.ipcp_packet(now, packet, out),
            IPV4 => {
                if let Some(datagram) = parse_datagram(packet) {
                    self.events.push(ClientEvent::Data(datagram));
                }
            }
            _ => {}
        }
    }

    fn lcp_packet(&mut self, now: Instant, packet: &[u8], out: &mut Vec<Vec<u8>>) {
        let Some((code, id, data)) = parse_control(packet) else { return };
        let resend = self.config.patience.resend;
        let mut packets = Vec::new();
        let step = match code {
            1 => {
                if let Some(options) = crate::bytes::options(data) {
                    for (kind, value) in options {
                        match (kind, value) {
                            (MRU, [high, low]) => {
                                self.events.push(ClientEvent::PeerMru(u16::from_be_bytes([*high, *low])));
                            }
                            (AUTH, [high, low, ..]) => self.auth = Some(u16::from_be_bytes([*high, *low])),
                            _ => {}
                        }
                    }
                }
                let login = self.config.login;
                let nak_loop = self.config.behaviour.nak_loop;
                self.lcp.asked(now, resend, id, data, |options| judge_lcp(options, login, nak_loop), &mut packets)
            }
            2..=4 => self.lcp.answered(
                now,
                resend,
                (code, id, data),
                |kind, value, wanted| {
                    if kind == MRU {
                        *wanted = value.to_vec();
                    }
                },
                &mut packets,
            ),
            5 => {
                self.events.push(ClientEvent::Terminated);
                self.send_ppp(LCP, &control(6, id, data), out);
                self.state = ClientState::Establishing;
                self.lcp.reset(Vec::new());
                self.ipcp.reset(Vec::new());
                self.echo_at = None;
                // A PADT is to follow.
                self.timer = Some(now + Duration::from_secs(10));
                return;
            }
            8 => {
                if let [high, low, ..] = data {
                    self.events.push(ClientEvent::ProtocolRejected(u16::from_be_bytes([*high, *low])));
                }
                Step::Nothing
            }
            9 => {
                if self.config.behaviour.answers_echoes {
                    let mut answer = self.config.magic.to_be_bytes().to_vec();
                    answer.extend_from_slice(data.get(4..).unwrap_or_default());
                    packets.push(control(10, id, &answer));
                }
                Step::Nothing
            }
            10 => {
                self.echoes_out = 0;
                self.events.push(ClientEvent::EchoAnswered);
                Step::Nothing
            }
            _ => Step::Nothing,
        };
        for packet in packets {
            self.send_ppp(LCP, &packet, out);
        }
        match step {
            Step::Up => self.lcp_up(now, out),
            Step::Down => {
                self.state = ClientState::Establishing;
                self.ipcp.reset(Vec::new());
                self.auth_packet = None;
                self.timer = Some(now + Duration::from_secs(60));
            }
            Step::Nothing => {}
        }
    }

    fn lcp_up(&mut self, now: Instant, out: &mut Vec<Vec<u8>>) {
        self.events.push(ClientEvent::LcpUp);
        self.state = ClientState::Authenticating;
        self.tries = 0;
        self.timer = Some(now + self.config.patience.resend);
        self.echo_at = self.config.behaviour.echo_interval.map(|interval| now + interval);
        match self.auth {
            Some(PAP) => {
                self.auth_id = self.auth_id.wrapping_add(1);
                let packet = pap_request(self.auth_id, &self.config.user, &self.config.password);
                self.send_ppp(PAP, &packet, out);
                self.auth_packet = Some((PAP, packet));
            }
            // CHAP: the challenge comes.
            Some(_) => {}
            None => self.logged_in(now, String::new(), out),
        }
    }

    fn resend_auth(&mut self, now: Instant, out: &mut Vec<Vec<u8>>) {
        self.tries += 1;
        if self.tries > self.config.patience.resend_max {
            self.give_up(now, "no answer to the login");
            return;
        }
        self.timer = Some(now + self.config.patience.resend);
        // PAP's client repeats its request (RFC 1334 section 2.2.1). CHAP's waits for the challenge to be repeated.
        if let Some((PAP, packet)) = self.auth_packet.clone() {
            self.send_ppp(PAP, &packet, out);
        }
    }

    fn auth_packet(&mut self, now: Instant, protocol: u16, packet: &[u8], out: &mut Vec<Vec<u8>>) {
        let Some((code, id, data)) = parse_control(packet) else { return };
        if !self.lcp.is_up() || self.auth != Some(protocol) {
            return;
        }
        let text = |data: &[u8]| String::from_utf8_lossy(data).into_owned();
        let authenticating = self.state == ClientState::Authenticating;
        match (protocol, code) {
            (CHAP, 1) => {
                if let Some(packet) = chap_response(id, &self.config.user, &self.config.password, data) {
                    self.auth_id = id;
                    self.send_ppp(CHAP, &packet, out);
                }
            }
            (CHAP, 3) if authenticating && id == self.auth_id => self.logged_in(now, text(data), out),
            (PAP, 2) if authenticating && id == self.auth_id => {
                self.logged_in(now, text(data.get(1..).unwrap_or_default()), out);
            }
            (CHAP, 4) if authenticating && id == self.auth_id => {
                self.events.push(ClientEvent::LoginFailed(text(data)));
            }
            (PAP, 3) if authenticating && id == self.auth_id => {
                self.events.push(ClientEvent::LoginFailed(text(data.get(1..).unwrap_or_default())));
            }
            _ => {}
        }
    }

    fn logged_in(&mut self, now: Instant, message: String, out: &mut Vec<Vec<u8>>) {
        self.events.push(ClientEvent::LoggedIn(message));
        self.state = ClientState::Configuring;
        self.auth_packet = None;
        self.timer = Some(now + Duration::from_secs(60));
        let first = self.config.behaviour.insists_on.unwrap_or(Ipv4Addr::UNSPECIFIED);
        let mut wanted = vec![(ADDRESS, first.octets().to_vec())];
        for kind in DNS {
            wanted.push((kind, vec![0; 4]));
        }
        self.ipcp.reset(wanted);
        let packet = self.ipcp.request(now, self.config.patience.resend, false);
        self.send_ppp(IPCP, &packet, out);
        if self.config.behaviour.tries_ipv6 {
            let mut data = Vec::new();
            option(&mut data, 1, &[2, 0, 0, 0xff, 0xfe, 0, 0, 1]);
            self.send_ppp(IPV6CP, &control(1, 1, &data), out);
        }
    }

    fn ipcp_packet(&mut self, now: Instant, packet: &[u8], out: &mut Vec<Vec<u8>>) {
        let Some((code, id, data)) = parse_control(packet) else { return };
        if !matches!(self.state, ClientState::Configuring | ClientState::Open) {
            return;
        }
        let resend = self.config.patience.resend;
        let insists = self.config.behaviour.insists_on;
        let mut packets = Vec::new();
        let step = match code {
            1 => self.ipcp.asked(
                now,
                resend,
                id,
                data,
                |options| {
                    let unknown: Vec<_> = options.iter().filter(|(kind, _)| *kind != ADDRESS).collect();
                    if unknown.is_empty() { Ok(()) } else { Err((4, encode(unknown.into_iter()))) }
                },
                &mut packets,
            ),
            2..=4 => self.ipcp.answered(
                now,
                resend,
                (code, id, data),
                |kind, value, wanted| {
                    if kind != ADDRESS || insists.is_none() {
                        *wanted = value.to_vec();
                    }
                },
                &mut packets,
            ),
            5 => {
                packets.push(control(6, id, data));
                self.ipcp.reset(Vec::new());
                self.state = ClientState::Configuring;
                self.timer = Some(now + Duration::from_secs(10));
                Step::Nothing
            }
            _ => Step::Nothing,
        };
        for packet in packets {
            self.send_ppp(IPCP, &packet, out);
        }
        match step {
            Step::Up => {
                let of = |kind: u8| {
                    let value = self.ipcp.wanted.iter().find(|(wanted, _)| *wanted == kind)?.1.clone();
                    Some(Ipv4Addr::from(<[u8; 4]>::try_from(value).ok()?))
                };
                self.address = of(ADDRESS).unwrap_or(Ipv4Addr::UNSPECIFIED);
                self.dns = DNS.map(of);
                self.state = ClientState::Open;
                self.timer = None;
                self.events.push(ClientEvent::Up(self.address));
                // In the same burst as the last Ack, be it the one sent or the one received.
                if let Some(destination) = self.config.behaviour.data_at_once {
                    self.send_data(destination, b"first", out);
                }
            }
            Step::Down => {
                self.state = ClientState::Configuring;
                self.timer = Some(now + Duration::from_secs(60));
            }
            Step::Nothing => {}
        }
    }
}

fn encode<'a>(options: impl Iterator<Item = &'a (u8, &'a [u8])>) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, value) in options {
        option(&mut out, *kind, value);
    }
    out
}

/// What is wrong with a concentrator's LCP options, as this client sees it.
fn judge_lcp(options: &[(u8, &[u8])], login: Login, nak_loop: bool) -> Result<(), (u8, Vec<u8>)> {
    let unknown: Vec<_> = options.iter().filter(|(kind, _)| ![MRU, AUTH, MAGIC].contains(kind)).collect();
    if !unknown.is_empty() {
        return Err((4, encode(unknown.into_iter())));
    }
    let mut nak = Vec::new();
    if nak_loop {
        option(&mut nak, MRU, &[5, 0]);
    }
    if let Some((_, value)) = options.iter().find(|(kind, _)| *kind == AUTH) {
        let chap_md5 = *value == [0xc2, 0x23, 5];
        let pap = *value == [0xc0, 0x23];
        match login {
            Login::PapOnly if !pap => option(&mut nak, AUTH, &[0xc0, 0x23]),
            Login::ChapOnly if !chap_md5 => option(&mut nak, AUTH, &[0xc2, 0x23, 5]),
            Login::Any if !pap && !chap_md5 => option(&mut nak, AUTH, &[0xc2, 0x23, 5]),
            _ => {}
        }
    }
    if nak.is_empty() { Ok(()) } else { Err((3, nak)) }
}
