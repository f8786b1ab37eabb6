//! One link under test, with a clock of its own and helpers for a well-behaved client.

use bng_ppp::{
    Action, AuthMethod, AuthRequest, AuthVerdict, Credentials, Discard, EndCause, Ipv4Offer, Ipv6Offer, Ppp, PppConfig,
};
use bng_wire::ppp::{Options, Packet, protocol};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Octets written in hexadecimal, blanks allowed.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

pub(crate) fn offer4() -> Ipv4Offer {
    Ipv4Offer {
        local: Ipv4Addr::new(192, 0, 2, 1),
        peer: Ipv4Addr::new(192, 0, 2, 10),
        dns: [Some(Ipv4Addr::new(203, 0, 113, 53)), None],
        nbns: [None; 2],
    }
}

pub(crate) fn offer6() -> Ipv6Offer {
    Ipv6Offer { local_id: 1, peer_id: None }
}

pub(crate) fn accept() -> AuthVerdict {
    AuthVerdict::Accept { ipv4: Some(offer4()), ipv6: Some(offer6()), message: Vec::new() }
}

pub(crate) fn reject(message: &str) -> AuthVerdict {
    AuthVerdict::Reject { message: message.as_bytes().to_vec() }
}

/// A configuration with one method of authentication.
pub(crate) fn with_auth(method: AuthMethod) -> PppConfig {
    PppConfig { auth: vec![method], ipv6: true, ..PppConfig::default() }
}

/// The client's usual LCP request: MRU 1492, a magic number.
pub(crate) const CLIENT_LCP: &str = "01 01 00 0e 01 04 05 d4 05 06 a1 b2 c3 d4";

pub(crate) struct Link {
    pub(crate) ppp: Ppp,
    pub(crate) now: Instant,
    out: Vec<Action>,
    /// The latest request for a verdict.
    pub(crate) asked: Option<AuthRequest>,
}

impl Link {
    pub(crate) fn new(config: PppConfig) -> Self {
        Self::with(config, 1492, 0x0123_4567_89ab_cdef)
    }

    pub(crate) fn with(config: PppConfig, mru_max: u16, seed: u64) -> Self {
        Self { ppp: Ppp::new(Arc::new(config), mru_max, seed), now: Instant::now(), out: Vec::new(), asked: None }
    }

    /// The actions since the last call.
    pub(crate) fn take(&mut self) -> Vec<Action> {
        let actions = std::mem::take(&mut self.out);
        for action in &actions {
            if let Action::Authenticate(request) = action {
                self.asked = Some(request.clone());
            }
        }
        actions
    }

    pub(crate) fn start(&mut self) -> Vec<Action> {
        self.ppp.start(self.now, &mut self.out);
        self.take()
    }

    pub(crate) fn put(&mut self, protocol: u16, payload: &[u8]) -> Result<Vec<Action>, Discard> {
        self.ppp.handle(self.now, protocol, payload, &mut self.out)?;
        Ok(self.take())
    }

    pub(crate) fn lcp(&mut self, payload: &str) -> Vec<Action> {
        self.put(protocol::LCP, &hex(payload)).unwrap()
    }

    pub(crate) fn ipcp(&mut self, payload: &str) -> Vec<Action> {
        self.put(protocol::IPCP, &hex(payload)).unwrap()
    }

    pub(crate) fn ipv6cp(&mut self, payload: &str) -> Vec<Action> {
        self.put(protocol::IPV6CP, &hex(payload)).unwrap()
    }

    pub(crate) fn verdict(&mut self, verdict: AuthVerdict) -> Vec<Action> {
        let transaction = self.asked.as_ref().unwrap().transaction;
        self.ppp.auth_result(self.now, transaction, verdict, &mut self.out);
        self.take()
    }

    pub(crate) fn close(&mut self, why: EndCause) -> Vec<Action> {
        self.ppp.close(self.now, why, &mut self.out);
        self.take()
    }

    /// Lets time pass, calling the link exactly when it wants to be called.
    pub(crate) fn pass(&mut self, time: Duration) -> Vec<Action> {
        let until = self.now + time;
        let mut actions = Vec::new();
        while let Some(at) = self.ppp.poll_timeout().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.ppp.handle_timeout(self.now, &mut self.out);
            actions.extend(self.take());
        }
        self.now = until;
        actions
    }

    /// Brings LCP to Opened: acknowledges the request in `actions`, sends the client's.
    pub(crate) fn open_lcp(&mut self, actions: &[Action]) -> Vec<Action> {
        let ours = only_send(actions, protocol::LCP);
        let mut actions = self.put(protocol::LCP, &ack_of(&ours)).unwrap();
        actions.extend(self.lcp(CLIENT_LCP));
        actions
    }

    /// Brings the link to where the client has to prove who it is.
    pub(crate) fn to_authenticate(config: PppConfig) -> (Self, Vec<Action>) {
        let mut link = Self::new(config);
        let actions = link.start();
        let actions = link.open_lcp(&actions);
        (link, actions)
    }

    /// Brings the link to where network protocols begin; the actions are those of the verdict.
    pub(crate) fn to_network(config: PppConfig) -> (Self, Vec<Action>) {
        let (mut link, actions) = Self::to_authenticate(PppConfig { auth: Vec::new(), ..config });
        assert!(matches!(
            actions.last(),
            Some(Action::Authenticate(AuthRequest { credentials: Credentials::None, .. }))
        ));
        let actions = link.verdict(accept());
        (link, actions)
    }

    /// Brings IPCP to Opened.
    pub(crate) fn to_ipv4(config: PppConfig) -> Self {
        let (mut link, actions) = Self::to_network(config);
        let ours = only_send(&actions, protocol::IPCP);
        link.put(protocol::IPCP, &ack_of(&ours)).unwrap();
        let actions = link.ipcp("01 01 00 0a 03 06 c0 00 02 0a");
        assert_eq!(actions.last(), Some(&Action::Ipv4Opened));
        link
    }
}

/// The payloads of all packets of a protocol.
pub(crate) fn sends(actions: &[Action], wanted: u16) -> Vec<Vec<u8>> {
    let payload = |action: &Action| match action {
        Action::Send { protocol, payload } if *protocol == wanted => Some(payload.clone()),
        _ => None,
    };
    actions.iter().filter_map(payload).collect()
}

/// The payload of the only packet of a protocol.
pub(crate) fn only_send(actions: &[Action], wanted: u16) -> Vec<u8> {
    let mut payloads = sends(actions, wanted);
    assert_eq!(payloads.len(), 1, "{actions:?}");
    payloads.remove(0)
}

/// A Configure-Ack for a Configure-Request.
pub(crate) fn ack_of(request: &[u8]) -> Vec<u8> {
    answer_to(request, 2, &request[4..])
}

/// An answer with the request's identifier.
pub(crate) fn answer_to(request: &[u8], code: u8, options: &[u8]) -> Vec<u8> {
    let length = u16::try_from(options.len() + 4).unwrap().to_be_bytes();
    let mut packet = vec![code, request[1], length[0], length[1]];
    packet.extend_from_slice(options);
    packet
}

/// The value of an option in a Configure packet.
pub(crate) fn option(packet: &[u8], kind: u8) -> Option<Vec<u8>> {
    let packet = Packet::parse(packet).unwrap();
    Options::parse(packet.data).unwrap().find(|option| option.kind == kind).map(|option| option.value.to_vec())
}

/// The magic number that a Configure-Request of LCP asks for; 0 where it asks for none.
pub(crate) fn magic_of(request: &[u8]) -> u32 {
    option(request, 5).map_or(0, |value| u32::from_be_bytes(value.try_into().unwrap()))
}

/// The octets of a packet that holds a code, an identifier and data.
pub(crate) fn packet(code: u8, id: u8, data: &[u8]) -> Vec<u8> {
    answer_to(&[0, id], code, data)
}

pub(crate) fn send(protocol: u16, payload: &str) -> Action {
    Action::Send { protocol, payload: hex(payload) }
}
