//! What the control side says about a session when it installs or updates it.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::policer::Rate;
use bng_wire::{MacAddr, PortIndex, SessionId, VlanStack, VrfId};

/// The least IP limit that a session may have: below it IPv4 itself does not work (RFC 791 section 3.2).
pub const MTU_MIN: u16 = 68;

/// A session as the control side describes it; the writer turns it into an entry.
///
/// `port`, `vlans`, `local_mac`, `peer_mac` and `session_id` identify the session and are fixed for its life; the rest
/// may change by [`SessionWriter::update`](crate::SessionWriter::update).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSpec {
    /// The access port.
    pub port: PortIndex,
    /// The tags as the client sent them; the ones sent to it have the same identifiers in the same order. A lone
    /// priority tag (VID 0) counts as untagged, and frames to the client then carry none.
    pub vlans: VlanStack,
    /// Our own MAC address on the access port.
    pub local_mac: MacAddr,
    /// The client's MAC address.
    pub peer_mac: MacAddr,
    /// The PPPoE session id, unique within (port, outer VID).
    pub session_id: SessionId,
    /// The routing instance.
    pub vrf: VrfId,
    /// The longest IP packet that may be sent to the client, in octets: its negotiated MRU. At least [`MTU_MIN`].
    pub mtu: u16,
    /// Whether the MSS of TCP SYN segments is lowered to what fits `mtu`, both ways.
    pub mss_clamp: bool,
    /// Whether the source address of what the client sends must be its own. On by default.
    pub source_check: bool,
    /// Whether the packets of this session are traced.
    pub trace: bool,
    /// The client's IPv4 address, once known.
    pub ipv4: Option<Ipv4Addr>,
    /// The gateway's IPv4 address towards this client: the source of ICMP errors.
    pub gateway_ipv4: Option<Ipv4Addr>,
    /// The interface identifier of the gateway's link-local IPv6 address towards this client (RFC 5072 section 4.1), once
    /// IPV6CP has agreed on it: pings of fe80:: with this identifier are answered by the workers.
    pub gateway_interface_id: Option<u64>,
    /// Our LCP magic number, 0 where none was agreed on; set while LCP is open: the workers answer Echo-Requests with it
    /// (RFC 1661 section 5.8). `None`: control is given them.
    pub echo_magic: Option<u32>,
    /// The client's own IPv6 prefix: (address, length 0 to 128), usually a /64.
    pub ipv6_prefix: Option<(Ipv6Addr, u8)>,
    /// The first delegated prefix: (address, length 0 to 64). A longer one is a route in the FIB instead.
    pub delegated_prefix: Option<(Ipv6Addr, u8)>,
    /// IPCP is open: IPv4 is forwarded.
    pub ipv4_up: bool,
    /// IPV6CP is open: IPv6 is forwarded.
    pub ipv6_up: bool,
    /// What the client may send; `None` for as much as it can.
    pub policer_up: Option<Rate>,
    /// What may be sent to the client; `None` for as much as there is.
    pub policer_down: Option<Rate>,
    /// The index of the DSCP to PCP map plus one; 0 for none.
    pub priority_map: u8,
}

impl Default for SessionSpec {
    /// A session that is known but forwards nothing yet.
    fn default() -> Self {
        Self {
            port: PortIndex(0),
            vlans: VlanStack::default(),
            local_mac: MacAddr::ZERO,
            peer_mac: MacAddr::ZERO,
            session_id: SessionId(0),
            vrf: VrfId(0),
            mtu: 1492,
            mss_clamp: true,
            source_check: true,
            trace: false,
            ipv4: None,
            gateway_ipv4: None,
            gateway_interface_id: None,
            echo_magic: None,
            ipv6_prefix: None,
            delegated_prefix: None,
            ipv4_up: false,
            ipv6_up: false,
            policer_up: None,
            policer_down: None,
            priority_map: 0,
        }
    }
}
