//! The client's PPP: LCP and IPCP by one small negotiator, PAP and CHAP.

use crate::bytes::{control, option, options};
use md5::{Digest as _, Md5};
use std::time::{Duration, Instant};

pub(crate) const LCP: u16 = 0xc021;
pub(crate) const PAP: u16 = 0xc023;
pub(crate) const CHAP: u16 = 0xc223;
pub(crate) const IPCP: u16 = 0x8021;
pub(crate) const IPV6CP: u16 = 0x8057;
pub(crate) const IPV4: u16 = 0x0021;

/// How a client is willing to prove who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// Whatever the concentrator asks for.
    Any,
    /// PAP alone: CHAP is refused with a Nak that names PAP.
    PapOnly,
    /// CHAP-MD5 alone.
    ChapOnly,
}

/// One layer's Configure exchange (RFC 1661 section 4): what is asked for, and what of it stands.
#[derive(Debug)]
pub(crate) struct Negotiator {
    /// Options that this side asks for, in order.
    pub(crate) wanted: Vec<(u8, Vec<u8>)>,
    id: u8,
    pub(crate) running: bool,
    ours_acked: bool,
    theirs_acked: bool,
    tries: u32,
    pub(crate) resend_at: Option<Instant>,
}

/// What a Configure packet led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Nothing,
    /// Both directions have just been acknowledged.
    Up,
    /// It was up and is negotiating anew.
    Down,
}

impl Negotiator {
    pub(crate) fn new(wanted: Vec<(u8, Vec<u8>)>) -> Self {
        Self { wanted, id: 0, running: false, ours_acked: false, theirs_acked: false, tries: 0, resend_at: None }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.running && self.ours_acked && self.theirs_acked
    }

    pub(crate) fn reset(&mut self, wanted: Vec<(u8, Vec<u8>)>) {
        // The identifier goes on, so that an answer to an earlier request is known as such.
        *self = Self { id: self.id, ..Self::new(wanted) };
    }

    pub(crate) fn tries(&self) -> u32 {
        self.tries
    }

    /// Sends a Configure-Request, the first or again.
    pub(crate) fn request(&mut self, now: Instant, resend: Duration, again: bool) -> Vec<u8> {
        self.running = true;
        self.tries = if again { self.tries + 1 } else { 1 };
        self.resend_at = Some(now + resend);
        if !again {
            self.id = self.id.wrapping_add(1);
        }
        let mut data = Vec::new();
        for (kind, value) in &self.wanted {
            option(&mut data, *kind, value);
        }
        control(1, self.id, &data)
    }

    /// The peer asks. `judge` says what is wrong with its options: `Err((code, options))` for a Nak (3) or Reject (4).
    pub(crate) fn asked(
        &mut self,
        now: Instant,
        resend: Duration,
        id: u8,
        data: &[u8],
        judge: impl Fn(&[(u8, &[u8])]) -> Result<(), (u8, Vec<u8>)>,
        out: &mut Vec<Vec<u8>>,
    ) -> Step {
        let Some(found) = options(data) else { return Step::Nothing };
        let was_up = self.is_up();
        if was_up || !self.running {
            // RFC 1661 section 4.1: RCR in Opened is answered with a Configure-Request of one's own as well.
            self.ours_acked = false;
            self.theirs_acked = false;
            let request = self.request(now, resend, false);
            out.push(request);
        }
        match judge(&found) {
            Ok(()) => {
                out.push(control(2, id, data));
                self.theirs_acked = true;
            }
            Err((code, options)) => {
                out.push(control(code, id, &options));
                self.theirs_acked = false;
            }
        }
        self.step(was_up)
    }

    /// The peer answers with Ack (2), Nak (3) or Reject (4). `adopt` takes over what a Nak proposes.
    pub(crate) fn answered(
        &mut self,
        now: Instant,
        resend: Duration,
        (code, id, data): (u8, u8, &[u8]),
        adopt: impl Fn(u8, &[u8], &mut Vec<u8>),
        out: &mut Vec<Vec<u8>>,
    ) -> Step {
        if !self.running || id != self.id {
            return Step::Nothing;
        }
        let was_up = self.is_up();
        if self.ours_acked {
            if was_up && code != 2 {
                self.ours_acked = false;
                self.theirs_acked = false;
                out.push(self.request(now, resend, false));
                return Step::Down;
            }
            return Step::Nothing;
        }
        let Some(found) = options(data) else { return Step::Nothing };
        match code {
            2 => {
                self.ours_acked = true;
                self.resend_at = None;
            }
            3 => {
                for (kind, value) in found {
                    if let Some((_, wanted)) = self.wanted.iter_mut().find(|(wanted, _)| *wanted == kind) {
                        adopt(kind, value, wanted);
                    }
                }
                out.push(self.request(now, resend, false));
            }
            _ => {
                self.wanted.retain(|(kind, _)| !found.iter().any(|(rejected, _)| rejected == kind));
                out.push(self.request(now, resend, false));
            }
        }
        self.step(was_up)
    }

    fn step(&self, was_up: bool) -> Step {
        match (was_up, self.is_up()) {
            (false, true) => Step::Up,
            (true, false) => Step::Down,
            // Acknowledged once more while up: it was down in between, for one moment.
            _ => Step::Nothing,
        }
    }
}

/// PAP's Authenticate-Request (RFC 1334 section 2.2.1).
pub(crate) fn pap_request(id: u8, name: &str, password: &str) -> Vec<u8> {
    let mut data = vec![name.len() as u8];
    data.extend_from_slice(name.as_bytes());
    data.push(password.len() as u8);
    data.extend_from_slice(password.as_bytes());
    control(1, id, &data)
}

/// CHAP's Response to a Challenge (RFC 1994 section 4.1); `data` is the challenge's: value size, value, name.
pub(crate) fn chap_response(id: u8, name: &str, password: &str, data: &[u8]) -> Option<Vec<u8>> {
    let size = usize::from(*data.first()?);
    let challenge = data.get(1..1 + size)?;
    let mut hash = Md5::new();
    hash.update([id]);
    hash.update(password.as_bytes());
    hash.update(challenge);
    let mut answer = vec![16];
    answer.extend_from_slice(&hash.finalize());
    answer.extend_from_slice(name.as_bytes());
    Some(control(2, id, &answer))
}
