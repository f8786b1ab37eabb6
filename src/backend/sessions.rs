//! Sessions as the management interface shows them.

use std::time::{SystemTime, UNIX_EPOCH};

use bng_api as api;
use bng_session::SessionTotals;
use bng_subscriber::{SessionState, SessionView};
use bng_wire::VlanTag;

use super::Names;

/// The id by which an operator names a session: `PORT.OUTER.ID`.
#[must_use]
pub(super) fn id(names: &Names, view: &SessionView) -> String {
    format!("{}.{}.{}", names.port(view.port), view.vlans.outer_vid(), view.session_id.0)
}

/// One session, with its counters.
#[must_use]
pub(super) fn view(names: &Names, view: &SessionView, totals: SessionTotals) -> api::SessionView {
    let printable = |octets: &[u8]| bng_control::printable(octets);
    let vid = |tag: Option<VlanTag>| tag.map(VlanTag::vid).filter(|vid| *vid != 0);
    let started = SystemTime::now().checked_sub(view.age).and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    api::SessionView {
        id: id(names, view),
        user: view.user.as_deref().map(printable),
        mac: view.peer_mac.to_string(),
        port: names.port(view.port).to_owned(),
        outer_vlan: vid(view.vlans.outer),
        inner_vlan: vid(view.vlans.inner),
        session_id: view.session_id.0,
        state: state(view.state),
        profile: names.profiles.get(usize::from(view.profile.0)).cloned().unwrap_or_default(),
        service_name: String::new(),
        auth: view.auth_method.map(|method| method.label().to_owned()),
        ipv4: view.ipv4,
        ipv6_prefix: view.ipv6_prefix.map(prefix),
        delegated_prefix: view.delegated_prefix.map(prefix),
        started_unix_s: started.map_or(0, |since| since.as_secs()),
        uptime_s: view.uptime.map_or(0, |uptime| uptime.as_secs()),
        octets_up: totals.up_octets,
        octets_down: totals.down_octets,
        packets_up: totals.up_packets,
        packets_down: totals.down_packets,
        packets_dropped: totals.up_drops + totals.down_drops,
        mru: view.peer_mru,
        circuit_id: view.circuit_id.as_deref().map(printable),
        remote_id: view.remote_id.as_deref().map(printable),
    }
}

fn prefix((address, length): (std::net::Ipv6Addr, u8)) -> String {
    format!("{address}/{length}")
}

const fn state(state: SessionState) -> api::SessionState {
    match state {
        SessionState::Establishing => api::SessionState::Link,
        SessionState::Authenticating => api::SessionState::Authenticating,
        SessionState::Authenticated => api::SessionState::Network,
        SessionState::Up => api::SessionState::Up,
        SessionState::Closing | SessionState::Removing => api::SessionState::Closing,
    }
}
