//! Who a session is, as requests say it.

use bng_radius::request::{Proof, Subscriber};
use bng_radius::{Secret, request};
use bng_subscriber::{AaaRequest, Credentials, SessionView};
use bng_wire::pppoe::AccessLine;
use bng_wire::{Line, MacAddr, SessionId, VlanStack};

use crate::config::{Formats, Names};
use crate::template::Facts;

/// What is known of a session's place, from a login or from a view of the session.
pub(crate) struct Place<'a> {
    pub(crate) line: &'a Line,
    pub(crate) session_id: SessionId,
    pub(crate) local_mac: MacAddr,
    pub(crate) peer_mru: u16,
    pub(crate) access_line: Option<&'a AccessLine>,
}

impl<'a> Place<'a> {
    pub(crate) fn of_request(request: &'a AaaRequest) -> Self {
        Self {
            line: &request.line,
            session_id: request.session_id,
            local_mac: request.local_mac,
            peer_mru: request.peer_mru,
            access_line: request.access_line.as_ref(),
        }
    }

    pub(crate) fn of_view(view: &'a SessionView, line: &'a Line) -> Self {
        Self {
            line,
            session_id: view.session_id,
            local_mac: view.local_mac,
            peer_mru: view.peer_mru,
            access_line: view.access_line.as_ref(),
        }
    }
}

/// The attributes that say who and where.
pub(crate) fn subscriber(
    place: &Place<'_>,
    user: &[u8],
    acct_session_id: Vec<u8>,
    formats: &Formats,
    names: &Names,
) -> Subscriber {
    let vlans = place.line.vlans;
    let facts = Facts {
        node: &names.node,
        port: names.ports.get(usize::from(place.line.port.0)).map_or("", String::as_str),
        line: place.line,
        session_id: place.session_id,
        local_mac: place.local_mac,
        circuit_id: place.access_line.and_then(AccessLine::circuit_id),
        remote_id: place.access_line.and_then(AccessLine::remote_id),
    };
    Subscriber {
        user_name: user.to_vec(),
        acct_session_id,
        nas_port: Some(nas_port(place.line)),
        nas_port_type: Some(nas_port_type(vlans)),
        nas_port_id: formats.nas_port_id.fill(&facts),
        calling_station_id: formats.calling_station_id.fill(&facts),
        called_station_id: formats.called_station_id.fill(&facts),
        framed_mtu: Some(place.peer_mru),
        line: place
            .access_line
            .map(|line| line.sub_options().map(|option| (option.kind.0, option.value.to_vec())).collect())
            .unwrap_or_default(),
    }
}

/// Port index in 8 bits, outer and inner VID in 12 bits each.
fn nas_port(line: &Line) -> u32 {
    let (outer, inner) = (u32::from(line.vlans.outer_vid()), u32::from(line.vlans.inner_vid()));
    (u32::from(line.port.0) << 24) | ((outer & 0xfff) << 12) | (inner & 0xfff)
}

/// PPPoEoE, PPPoEoVLAN or PPPoEoQinQ (RFC 4603).
const fn nas_port_type(vlans: VlanStack) -> u32 {
    match (vlans.outer_vid(), vlans.inner) {
        (_, Some(_)) => 34,
        (0, None) => 32,
        _ => 33,
    }
}

/// How the client proved who it is. `None`: in a way that RADIUS has no attribute for.
pub(crate) fn proof(credentials: &Credentials) -> Option<Proof> {
    Some(match credentials {
        Credentials::None => Proof::None,
        Credentials::Pap { password, .. } => Proof::Pap(Secret::new(password.expose())),
        Credentials::ChapMd5 { id, challenge, response, .. } => {
            Proof::Chap { id: *id, challenge: challenge.to_vec(), response: *response }
        }
        Credentials::MsChapV2 { id, challenge, peer_challenge, nt_response, flags, .. } => request::Proof::MsChapV2 {
            id: *id,
            challenge: *challenge,
            peer_challenge: *peer_challenge,
            nt_response: *nt_response,
            flags: *flags,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bng_wire::{PortIndex, VlanTag};

    #[test]
    fn ports_and_their_types_by_tags() {
        let tag = |tci| Some(VlanTag { tpid: 0x8100, tci });
        let line = |outer, inner| Line {
            port: PortIndex(3),
            vlans: VlanStack { outer, inner },
            peer_mac: MacAddr([2, 0, 0, 0, 0, 1]),
        };
        let of = |line: Line| (nas_port(&line), nas_port_type(line.vlans));
        assert_eq!(of(line(None, None)), (0x0300_0000, 32));
        // A priority tag is none.
        assert_eq!(of(line(tag(0xe000), None)), (0x0300_0000, 32));
        assert_eq!(of(line(tag(100), None)), (0x0306_4000, 33));
        assert_eq!(of(line(tag(4094), tag(4094))), (0x03ff_effe, 34));
    }
}
