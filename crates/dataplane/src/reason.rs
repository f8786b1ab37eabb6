//! Why a frame was punted or discarded: one declaration for counter, label, trace and documentation.

/// What becomes of a frame with this reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Handed to the control side.
    Punt,
    /// Dropped.
    Drop,
}

/// Who gives the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// The pipeline of this crate.
    Pipeline,
    /// The worker around it, for want of room.
    Worker,
}

macro_rules! reasons {
    ($($name:ident, $label:literal, $verdict:ident, $source:ident, $sentence:literal, $reference:literal;)+) => {
        /// Why a frame was punted or discarded. The order is not stable; the labels are.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Reason {
            $(#[doc = $sentence] $name,)+
        }

        impl Reason {
            /// Every reason, in the order of the declaration.
            pub const ALL: &[Self] = &[$(Self::$name,)+];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The stable name: metric label, word in traces and row of the documentation.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)+ }
            }

            /// One sentence on what it means.
            #[must_use]
            pub const fn describe(self) -> &'static str {
                match self { $(Self::$name => $sentence,)+ }
            }

            /// The clause behind it, empty where it is this router's own policy.
            #[must_use]
            pub const fn reference(self) -> &'static str {
                match self { $(Self::$name => $reference,)+ }
            }

            /// What becomes of the frame.
            #[must_use]
            pub const fn verdict(self) -> Verdict {
                match self { $(Self::$name => Verdict::$verdict,)+ }
            }

            /// Who gives it.
            #[must_use]
            pub const fn source(self) -> Source {
                match self { $(Self::$name => Source::$source,)+ }
            }
        }
    };
}

reasons! {
    // Ethernet.
    Runt, "runt", Drop, Pipeline, "The frame is shorter than its Ethernet header and tags.", "IEEE 802.3";
    NotOurMac, "not_our_mac", Drop, Pipeline, "The destination MAC address is neither ours nor a group that we listen to.", "IEEE 802.3";
    BadSourceMac, "bad_source_mac", Drop, Pipeline, "The source MAC address is a group address or zero, which no station has.", "IEEE 802.3";
    TooManyTags, "too_many_tags", Drop, Pipeline, "The frame has more than two VLAN tags.", "IEEE 802.1Q";
    UnknownVlan, "unknown_vlan", Drop, Pipeline, "No interface of the core port has the frame's VLAN.", "IEEE 802.1Q";
    Ethertype, "ethertype", Drop, Pipeline, "The EtherType is none that this port carries, or a tag protocol identifier that it is not set to.", "IEEE 802.3";
    // PPPoE.
    Discovery, "discovery", Punt, Pipeline, "A PPPoE discovery frame, for the access concentrator.", "RFC 2516 section 5";
    PppoeTruncated, "pppoe_truncated", Drop, Pipeline, "The frame ends within the PPPoE header, or LENGTH leaves no room for a PPP protocol.", "RFC 2516 section 4";
    PppoeVersion, "pppoe_version", Drop, Pipeline, "VER and TYPE are not both 1.", "RFC 2516 section 4";
    PppoeCode, "pppoe_code", Drop, Pipeline, "CODE of a session frame is not 0.", "RFC 2516 section 6";
    PppoeLength, "pppoe_length", Drop, Pipeline, "LENGTH is more than the frame holds.", "RFC 2516 section 4";
    PppoeBroadcast, "pppoe_broadcast", Drop, Pipeline, "A session frame was sent to a group address.", "RFC 2516 section 6";
    UnknownSession, "unknown_session", Punt, Pipeline, "No session has this id on this port and outer VLAN; control answers within limits.", "RFC 2516 section 5.5";
    UnknownSessionLimited, "unknown_session_limited", Drop, Pipeline, "As unknown_session, beyond the rate at which control is told.", "";
    SessionMac, "session_mac", Drop, Pipeline, "The session of this id has another client's MAC address.", "RFC 2516 section 6";
    SessionVlan, "session_vlan", Drop, Pipeline, "The session of this id has another inner VLAN or other tag protocol identifiers.", "";
    // PPP.
    PppKeepalive, "ppp_keepalive", Punt, Pipeline, "LCP Echo-Request, Echo-Reply, Terminate-Request or Terminate-Ack of a known session.", "RFC 1661 section 5";
    EchoLimited, "echo_limited", Drop, Pipeline, "An LCP Echo-Request beyond the number that a worker answers a session each second.", "RFC 1661 section 5.8";
    PppControl, "ppp_control", Punt, Pipeline, "Another PPP control frame of a known session, or a protocol that PPP will reject.", "RFC 1661 section 3";
    ControlLimited, "control_limited", Drop, Pipeline, "A PPP or IPv6 control frame beyond the number that a worker hands over of one session each second.", "";
    Ipv4NotUp, "ipv4_not_up", Drop, Pipeline, "IPv4 in or for a session whose IPCP is not open.", "RFC 1332 section 2";
    Ipv6NotUp, "ipv6_not_up", Drop, Pipeline, "IPv6 in or for a session whose IPV6CP is not open.", "RFC 5072 section 2";
    // IPv4.
    Ipv4Truncated, "ipv4_truncated", Drop, Pipeline, "The packet is shorter than an IPv4 header.", "RFC 1812 section 5.2.2";
    Ipv4Version, "ipv4_version", Drop, Pipeline, "The version field is not 4.", "RFC 1812 section 5.2.2";
    Ipv4HeaderLength, "ipv4_header_length", Drop, Pipeline, "The header length is below 20 octets or beyond what was received.", "RFC 1812 section 5.2.2";
    Ipv4Length, "ipv4_length", Drop, Pipeline, "The total length is below the header length or beyond what was received.", "RFC 1812 section 5.2.2";
    Ipv4Checksum, "ipv4_checksum", Drop, Pipeline, "The header checksum is wrong.", "RFC 1812 section 5.2.2";
    Ipv4Source, "ipv4_source", Drop, Pipeline, "The source address is none that a host may send from: this network, loopback, link-local, multicast, class E or broadcast.", "RFC 1812 section 5.3.7";
    Ipv4Destination, "ipv4_destination", Drop, Pipeline, "The destination address is none that is forwarded: this network, loopback, link-local or class E.", "RFC 1812 section 5.3.7";
    Ipv4Broadcast, "ipv4_broadcast", Drop, Pipeline, "The destination is the limited broadcast address, or a unicast destination came in a group frame.", "RFC 1812 section 5.3.5";
    Ipv4Multicast, "ipv4_multicast", Drop, Pipeline, "A multicast packet that is not the router's own affair; multicast is not forwarded.", "";
    Ipv4Spoofed, "ipv4_spoofed", Drop, Pipeline, "The source address is not the session's.", "RFC 2827";
    Ipv4TtlExceeded, "ipv4_ttl_exceeded", Drop, Pipeline, "The time to live does not allow another hop.", "RFC 1812 section 5.3.1";
    // IPv6.
    Ipv6Truncated, "ipv6_truncated", Drop, Pipeline, "The packet is shorter than an IPv6 header.", "RFC 8200 section 3";
    Ipv6Version, "ipv6_version", Drop, Pipeline, "The version field is not 6.", "RFC 8200 section 3";
    Ipv6Length, "ipv6_length", Drop, Pipeline, "The payload length is beyond what was received.", "RFC 8200 section 3";
    Ipv6Source, "ipv6_source", Drop, Pipeline, "The source address is none that is forwarded: unspecified, loopback, link-local, multicast or an embedded IPv4 form.", "RFC 4291 section 2.5";
    Ipv6Destination, "ipv6_destination", Drop, Pipeline, "The destination address is none that is forwarded: unspecified, loopback, link-local or an embedded IPv4 form.", "RFC 4291 section 2.5";
    Ipv6Multicast, "ipv6_multicast", Drop, Pipeline, "A multicast packet that is not the router's own affair; multicast is not forwarded.", "";
    Ipv6Spoofed, "ipv6_spoofed", Drop, Pipeline, "The source address is not within the session's prefixes.", "RFC 2827";
    Ipv6ServerMessage, "ipv6_server_message", Drop, Pipeline, "A router advertisement, redirect or DHCPv6 server message from a subscriber.", "RFC 6105";
    Ipv6HopLimitExceeded, "ipv6_hop_limit_exceeded", Drop, Pipeline, "The hop limit does not allow another hop.", "RFC 8200 section 3";
    Ipv6Control, "ipv6_control", Punt, Pipeline, "Neighbour discovery or DHCPv6 of a known session, for control.", "RFC 4861 section 6.2.6";
    // Routing.
    NoRoute, "no_route", Drop, Pipeline, "No route leads to the destination.", "RFC 1812 section 4.3.3.1";
    Blackhole, "blackhole", Drop, Pipeline, "The route to the destination says to discard.", "";
    NoSubscriber, "no_subscriber", Drop, Pipeline, "The destination is in a pool, and no session has it.", "";
    NeighbourUnresolved, "neighbour_unresolved", Punt, Pipeline, "The next hop's MAC address is not known yet; control holds the frame and resolves it.", "RFC 1812 section 3.3.2";
    HeldLimited, "held_limited", Drop, Pipeline, "As neighbour_unresolved, beyond what a worker hands over each second for one neighbour, of one session, or of one network outside.", "";
    Host, "host", Punt, Pipeline, "For the router itself: the kernel answers.", "";
    HostRefused, "host_refused", Drop, Pipeline, "A subscriber's packet for an address of the router itself, which offers subscribers nothing but answers to pings of their gateway.", "RFC 1812 section 5.2.7.1";
    PolicedUp, "policed_up", Drop, Pipeline, "The client sends more than its upstream rate.", "";
    PolicedDown, "policed_down", Drop, Pipeline, "More comes for the client than its downstream rate.", "";
    PingLimited, "ping_limited", Drop, Pipeline, "A ping of the gateway beyond the number that a worker answers a session each second.", "RFC 1812 section 4.3.2.8";
    Arp, "arp", Punt, Pipeline, "ARP on a core port: the kernel answers.", "RFC 826";
    TooBig, "too_big", Drop, Pipeline, "The packet is longer than the outgoing link takes, and must not be fragmented.", "RFC 1191 section 4";
    NoFragmentBuffer, "no_fragment_buffer", Drop, Pipeline, "No buffer was free for a fragment, or the packet would make too many.", "RFC 1812 section 4.2.2.7";
    NoHeadroom, "no_headroom", Drop, Pipeline, "The buffer has no room for the new header or for padding.", "";
    UnknownPort, "unknown_port", Drop, Pipeline, "The frame came from a port that is not in the table.", "";
    // Want of room, given by the worker.
    TxFull, "tx_full", Drop, Worker, "The port's transmit queue stayed full.", "";
    SteerFull, "steer_full", Drop, Worker, "The ring to another worker, which was to handle or to send the frame, is full.", "";
    PuntFull, "punt_full", Drop, Worker, "The ring towards control is full.", "";
    NotLinear, "not_linear", Drop, Worker, "A frame in several segments could not be made contiguous.", "";
    NoBuffer, "no_buffer", Drop, Worker, "No buffer was free for a frame from control.", "";
}

impl Reason {
    /// The inverse of `as u8`, for records of rings.
    #[must_use]
    pub fn from_u16(value: u16) -> Option<Self> {
        Self::ALL.get(usize::from(value)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn numbers_go_there_and_back_and_labels_are_unique() {
        let mut labels = HashSet::new();
        for (number, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, number);
            assert_eq!(Reason::from_u16(number as u16), Some(*reason));
            assert!(labels.insert(reason.label()));
            assert!(reason.label().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'));
            assert!(reason.describe().ends_with('.'));
        }
        assert_eq!(Reason::from_u16(Reason::COUNT as u16), None);
    }
}
