//! The whole receive path in one thread: frames on both ports at any time, through the data plane and, where it punts,
//! through discovery, PPP and the subscribers. An input is a sequence of: an octet that says what, then its octets.

use bng_ppp::EndCause;
use bng_session::SessionSpec;
use bng_subscriber::Input as ToSubscribers;
use bng_wire::pppoe::{self, Code, Header};

use crate::input::Input;
use crate::world::{ACCESS, CORE, Reached, World};

/// A frame arrives on the access port.
pub const ACCESS_FRAME: u8 = 0;
/// A frame arrives on the core port.
pub const CORE_FRAME: u8 = 1;
/// Time passes.
pub const TIME: u8 = 2;

/// A PPP packet in a session that exists, with the right addresses, tags and LENGTH.
fn in_session(spec: &SessionSpec, packet: &[u8]) -> Vec<u8> {
    let mut frame = [spec.local_mac.0, spec.peer_mac.0].concat();
    for tag in [spec.vlans.outer, spec.vlans.inner].into_iter().flatten() {
        frame.extend_from_slice(&tag.tpid.to_be_bytes());
        frame.extend_from_slice(&tag.tci.to_be_bytes());
    }
    frame.extend_from_slice(&pppoe::ETHERTYPE_SESSION.to_be_bytes());
    let length = u16::try_from(packet.len()).unwrap_or(u16::MAX);
    frame.extend_from_slice(&Header { code: Code::SESSION, session_id: spec.session_id, length }.to_bytes());
    frame.extend_from_slice(packet);
    frame
}

/// A sequence of frames, times and an operator's commands; what it came to.
pub fn reach(data: &[u8]) -> Reached {
    let mut world = World::new();
    let mut input = Input(data);
    while let Some(what) = input.octet() {
        match what & 0x07 {
            ACCESS_FRAME => world.receive(ACCESS, &[input.octets()]),
            CORE_FRAME => world.receive(CORE, &[input.octets()]),
            TIME => world.pass(input.time()),
            3 => {
                let sessions = world.installed();
                let packet = input.octets();
                if let Some(spec) = sessions.get(usize::from(what >> 3) % sessions.len().max(1)) {
                    world.receive(ACCESS, &[&in_session(spec, packet)]);
                }
            }
            4 => {
                // A burst: the stages over several frames, which may be of one session.
                let frames: Vec<&[u8]> = (0..=what >> 3).map(|_| input.octets()).collect();
                world.receive(if what & 8 == 0 { ACCESS } else { CORE }, &frames);
            }
            5 => {
                if let Some(key) = world.some_session(usize::from(what >> 3)) {
                    world.input(ToSubscribers::Clear { key, cause: EndCause::AdminReset });
                }
            }
            6 => world.input(ToSubscribers::Drain(what & 8 != 0)),
            _ if what == 0xff => world.input(ToSubscribers::Shutdown),
            _ => world.input(ToSubscribers::RestoreComplete),
        }
        world.check();
        world.sent.clear();
    }
    world.reached
}

/// The fuzz target.
pub fn run(data: &[u8]) {
    reach(data);
}
