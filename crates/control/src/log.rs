//! Session events as log lines: one a session start, stop and failure, with who, where and why.

use bng_subscriber::{EventKind, SessionEvent};
use tracing::{debug, info, warn};

/// Text of octets that a client chose: printable ASCII as it is, the rest as `\xNN`, so that no client can forge a
/// log line.
#[must_use]
pub fn printable(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len());
    for octet in octets {
        if octet.is_ascii_graphic() && *octet != b'\\' || *octet == b' ' {
            text.push(char::from(*octet));
        } else {
            text.push_str(&format!("\\x{octet:02x}"));
        }
    }
    text
}

/// Writes one event; `port` is the access port's name.
pub(crate) fn write(event: &SessionEvent, port: &str) {
    let user = event.user.as_deref().map(printable).unwrap_or_default();
    let mac = event.line.peer_mac;
    let outer_vlan = event.line.vlans.outer_vid();
    let inner_vlan = event.line.vlans.inner_vid();
    let session_id = event.session_id.0;
    macro_rules! line {
        ($level:ident, $message:literal $(, $($field:tt)*)?) => {
            $level!(port, outer_vlan, inner_vlan, session_id, %mac, user, $($($field)*,)? $message)
        };
    }
    match &event.what {
        EventKind::Created => line!(debug, "session created"),
        EventKind::LinkUp { peer_mru } => line!(debug, "link up", peer_mru),
        EventKind::LinkDown => line!(debug, "link down"),
        EventKind::Authenticated => line!(debug, "authenticated"),
        EventKind::AuthFailed { failure } => line!(warn, "login refused", reason = failure.label()),
        EventKind::Ipv4Up { address } => line!(info, "session up", ipv4 = %address),
        EventKind::Ipv6Up { prefix } => line!(debug, "ipv6 up", prefix = prefix_text(*prefix)),
        EventKind::Ipv6Down => line!(debug, "ipv6 down"),
        EventKind::PrefixDelegated { prefix } => line!(debug, "prefix delegated", prefix = prefix_text(Some(*prefix))),
        EventKind::Ipv4Down => line!(debug, "ipv4 down"),
        EventKind::PoolExhausted => line!(warn, "no address is free"),
        EventKind::Ended { cause, lasted, was_up } => {
            line!(info, "session ended", reason = cause.label(), lasted_s = lasted.as_secs(), was_up)
        }
        EventKind::Final { totals } => line!(
            info,
            "session counters",
            packets_up = totals.up_packets,
            octets_up = totals.up_octets,
            packets_down = totals.down_packets,
            octets_down = totals.down_octets,
            drops_up = totals.up_drops,
            drops_down = totals.down_drops
        ),
        other => line!(debug, "session event", event = other.label()),
    }
}

fn prefix_text(prefix: Option<(std::net::Ipv6Addr, u8)>) -> String {
    prefix.map(|(address, length)| format!("{address}/{length}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_client_cannot_forge_a_log_line() {
        assert_eq!(super::printable(b"user1@example.net"), "user1@example.net");
        assert_eq!(super::printable(b"a\nINFO forged\\x\xff"), "a\\x0aINFO forged\\x5cx\\xff");
    }
}
