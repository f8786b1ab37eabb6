//! The attributes that bngd sends or takes, as data: names, numbers, types, and the packets in which they may stand.

/// The vendor number of bngd's own attributes: 32473, which RFC 5612 sets aside for examples, until the project has
/// one of its own.
pub const VENDOR_BNGD: u32 = 32473;
/// Cisco.
pub const VENDOR_CISCO: u32 = 9;
/// Microsoft (RFC 2548).
pub const VENDOR_MICROSOFT: u32 = 311;
/// The Broadband Forum, formerly ADSL Forum (RFC 4679).
pub const VENDOR_BROADBAND_FORUM: u32 = 3561;
/// Juniper's ERX series, formerly Unisphere.
pub const VENDOR_ERX: u32 = 4874;
/// WISPr.
pub const VENDOR_WISPR: u32 = 14122;
/// MikroTik.
pub const VENDOR_MIKROTIK: u32 = 14988;

/// The type of a value, and with it the lengths that it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// 32 bits.
    Integer,
    /// 64 bits (RFC 8044 section 3.10).
    Integer64,
    /// 32 bits, or 64 bits where the sender needs them.
    IntegerOr64,
    /// Seconds since 1970 in 32 bits.
    Time,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// Reserved octet, prefix length, 0 to 16 octets of prefix (RFC 3162 section 2.3).
    Ipv6Prefix,
    /// 8 octets (RFC 3162 section 2.2).
    InterfaceId,
    /// UTF-8 in principle, any octets in practice; at least one.
    Text,
    /// Octets, at least one.
    Octets,
    /// Exactly so many octets.
    Fixed(u8),
    /// Vendor-Specific (RFC 2865 section 5.26).
    Vendor,
    /// Extended attribute: one more octet of number (RFC 6929 section 2.1).
    Extended,
    /// Long extended attribute: number and flags (RFC 6929 section 2.2).
    LongExtended,
}

impl Kind {
    /// Whether a value may look like this.
    #[must_use]
    pub fn admits(self, value: &[u8]) -> bool {
        match self {
            Self::Integer | Self::Time | Self::Ipv4 => value.len() == 4,
            Self::Integer64 | Self::InterfaceId => value.len() == 8,
            Self::IntegerOr64 => matches!(value.len(), 4 | 8),
            Self::Ipv6 => value.len() == 16,
            Self::Ipv6Prefix => crate::value::ipv6_prefix(value).is_some(),
            Self::Text | Self::Octets => !value.is_empty(),
            Self::Fixed(octets) => value.len() == usize::from(octets),
            // Vendor number and at least one octet (RFC 2865 section 5.26: Length at least 7).
            Self::Vendor => value.len() >= 5,
            // Extended: number and at least one octet; long: number, flags and at least one octet.
            Self::Extended => value.len() >= 2,
            Self::LongExtended => value.len() >= 3,
        }
    }
}

/// The packets in which an attribute may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Where(u8);

impl Where {
    /// Access-Request.
    pub const REQUEST: Self = Self(1);
    /// Access-Accept.
    pub const ACCEPT: Self = Self(2);
    /// Access-Reject and Access-Challenge.
    pub const REFUSAL: Self = Self(4);
    /// Accounting-Request.
    pub const ACCOUNTING: Self = Self(8);
    /// CoA-Request, as a change.
    pub const CHANGE: Self = Self(16);
    /// CoA-Request and Disconnect-Request, as a key that names a session or the NAS.
    pub const KEY: Self = Self(32);

    /// Both sets together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is in this set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What is known of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttributeInfo {
    /// Its name in the usual dictionaries.
    pub name: &'static str,
    /// Its vendor, 0 for a standard attribute.
    pub vendor: u32,
    /// Its number.
    pub number: u8,
    /// The type of its value.
    pub kind: Kind,
    /// Where it may stand.
    pub place: Where,
}

macro_rules! attributes {
    ($($constant:ident $vendor:ident $number:literal $name:literal $kind:expr, $($place:ident)|+;)*) => {
        /// Numbers by name.
        pub mod number {
            $(#[doc = $name] pub const $constant: u8 = $number;)*
        }

        /// Every attribute that bngd knows.
        pub const ATTRIBUTES: &[AttributeInfo] = &[
            $(AttributeInfo {
                name: $name,
                vendor: $vendor,
                number: $number,
                kind: $kind,
                place: Where(0 $(| Where::$place.0)+),
            },)*
        ];
    };
}

const STANDARD: u32 = 0;
use Kind::{
    Extended, Fixed, Integer, Integer64, IntegerOr64, InterfaceId, Ipv4, Ipv6, Ipv6Prefix, LongExtended, Octets, Text,
    Time, Vendor,
};

attributes! {
    USER_NAME STANDARD 1 "User-Name" Text, REQUEST|ACCEPT|ACCOUNTING|KEY;
    USER_PASSWORD STANDARD 2 "User-Password" Octets, REQUEST;
    CHAP_PASSWORD STANDARD 3 "CHAP-Password" Fixed(17), REQUEST;
    NAS_IP_ADDRESS STANDARD 4 "NAS-IP-Address" Ipv4, REQUEST|ACCOUNTING|KEY;
    NAS_PORT STANDARD 5 "NAS-Port" Integer, REQUEST|ACCOUNTING|KEY;
    SERVICE_TYPE STANDARD 6 "Service-Type" Integer, REQUEST|ACCEPT|ACCOUNTING|CHANGE;
    FRAMED_PROTOCOL STANDARD 7 "Framed-Protocol" Integer, REQUEST|ACCEPT|ACCOUNTING;
    FRAMED_IP_ADDRESS STANDARD 8 "Framed-IP-Address" Ipv4, REQUEST|ACCEPT|ACCOUNTING|KEY;
    FRAMED_IP_NETMASK STANDARD 9 "Framed-IP-Netmask" Ipv4, REQUEST|ACCEPT|ACCOUNTING;
    FRAMED_ROUTING STANDARD 10 "Framed-Routing" Integer, ACCEPT|ACCOUNTING;
    FILTER_ID STANDARD 11 "Filter-Id" Text, ACCEPT|ACCOUNTING|CHANGE;
    FRAMED_MTU STANDARD 12 "Framed-MTU" Integer, REQUEST|ACCEPT|ACCOUNTING;
    FRAMED_COMPRESSION STANDARD 13 "Framed-Compression" Integer, REQUEST|ACCEPT|ACCOUNTING;
    REPLY_MESSAGE STANDARD 18 "Reply-Message" Text, ACCEPT|REFUSAL|CHANGE;
    FRAMED_ROUTE STANDARD 22 "Framed-Route" Text, ACCEPT|ACCOUNTING|CHANGE;
    STATE STANDARD 24 "State" Octets, REQUEST|ACCEPT|REFUSAL|CHANGE;
    CLASS STANDARD 25 "Class" Octets, ACCEPT|ACCOUNTING|CHANGE;
    VENDOR_SPECIFIC STANDARD 26 "Vendor-Specific" Vendor, REQUEST|ACCEPT|REFUSAL|ACCOUNTING|CHANGE;
    SESSION_TIMEOUT STANDARD 27 "Session-Timeout" Integer, ACCEPT|REFUSAL|CHANGE;
    IDLE_TIMEOUT STANDARD 28 "Idle-Timeout" Integer, ACCEPT|REFUSAL|CHANGE;
    CALLED_STATION_ID STANDARD 30 "Called-Station-Id" Text, REQUEST|ACCOUNTING|KEY;
    CALLING_STATION_ID STANDARD 31 "Calling-Station-Id" Text, REQUEST|ACCOUNTING|KEY;
    NAS_IDENTIFIER STANDARD 32 "NAS-Identifier" Text, REQUEST|ACCOUNTING|KEY;
    PROXY_STATE STANDARD 33 "Proxy-State" Octets, REQUEST|ACCEPT|REFUSAL|ACCOUNTING;
    ACCT_STATUS_TYPE STANDARD 40 "Acct-Status-Type" Integer, ACCOUNTING;
    ACCT_DELAY_TIME STANDARD 41 "Acct-Delay-Time" Integer, ACCOUNTING;
    ACCT_INPUT_OCTETS STANDARD 42 "Acct-Input-Octets" Integer, ACCOUNTING;
    ACCT_OUTPUT_OCTETS STANDARD 43 "Acct-Output-Octets" Integer, ACCOUNTING;
    ACCT_SESSION_ID STANDARD 44 "Acct-Session-Id" Text, REQUEST|ACCOUNTING|KEY;
    ACCT_AUTHENTIC STANDARD 45 "Acct-Authentic" Integer, ACCOUNTING;
    ACCT_SESSION_TIME STANDARD 46 "Acct-Session-Time" Integer, ACCOUNTING;
    ACCT_INPUT_PACKETS STANDARD 47 "Acct-Input-Packets" Integer, ACCOUNTING;
    ACCT_OUTPUT_PACKETS STANDARD 48 "Acct-Output-Packets" Integer, ACCOUNTING;
    ACCT_TERMINATE_CAUSE STANDARD 49 "Acct-Terminate-Cause" Integer, ACCOUNTING;
    ACCT_MULTI_SESSION_ID STANDARD 50 "Acct-Multi-Session-Id" Text, ACCOUNTING|KEY;
    ACCT_INPUT_GIGAWORDS STANDARD 52 "Acct-Input-Gigawords" Integer, ACCOUNTING;
    ACCT_OUTPUT_GIGAWORDS STANDARD 53 "Acct-Output-Gigawords" Integer, ACCOUNTING;
    EVENT_TIMESTAMP STANDARD 55 "Event-Timestamp" Time, REQUEST|ACCOUNTING;
    CHAP_CHALLENGE STANDARD 60 "CHAP-Challenge" Octets, REQUEST;
    NAS_PORT_TYPE STANDARD 61 "NAS-Port-Type" Integer, REQUEST|ACCOUNTING;
    CONNECT_INFO STANDARD 77 "Connect-Info" Text, REQUEST|ACCOUNTING;
    MESSAGE_AUTHENTICATOR STANDARD 80 "Message-Authenticator" Fixed(16), REQUEST|ACCEPT|REFUSAL|ACCOUNTING;
    ACCT_INTERIM_INTERVAL STANDARD 85 "Acct-Interim-Interval" Integer, ACCEPT|CHANGE;
    NAS_PORT_ID STANDARD 87 "NAS-Port-Id" Text, REQUEST|ACCOUNTING|KEY;
    FRAMED_POOL STANDARD 88 "Framed-Pool" Text, ACCEPT;
    NAS_IPV6_ADDRESS STANDARD 95 "NAS-IPv6-Address" Ipv6, REQUEST|ACCOUNTING|KEY;
    FRAMED_INTERFACE_ID STANDARD 96 "Framed-Interface-Id" InterfaceId, REQUEST|ACCEPT|ACCOUNTING|KEY;
    FRAMED_IPV6_PREFIX STANDARD 97 "Framed-IPv6-Prefix" Ipv6Prefix, REQUEST|ACCEPT|ACCOUNTING|KEY;
    FRAMED_IPV6_ROUTE STANDARD 99 "Framed-IPv6-Route" Text, ACCEPT|ACCOUNTING|CHANGE;
    FRAMED_IPV6_POOL STANDARD 100 "Framed-IPv6-Pool" Text, ACCEPT;
    ERROR_CAUSE STANDARD 101 "Error-Cause" Integer, REFUSAL;
    DELEGATED_IPV6_PREFIX STANDARD 123 "Delegated-IPv6-Prefix" Ipv6Prefix, REQUEST|ACCEPT|ACCOUNTING|KEY;
    FRAMED_IPV6_ADDRESS STANDARD 168 "Framed-IPv6-Address" Ipv6, REQUEST|ACCEPT|ACCOUNTING|KEY;
    DNS_SERVER_IPV6_ADDRESS STANDARD 169 "DNS-Server-IPv6-Address" Ipv6, ACCEPT;
    DELEGATED_IPV6_PREFIX_POOL STANDARD 171 "Delegated-IPv6-Prefix-Pool" Text, ACCEPT;
    STATEFUL_IPV6_ADDRESS_POOL STANDARD 172 "Stateful-IPv6-Address-Pool" Text, ACCEPT;
    EXTENDED_1 STANDARD 241 "Extended-Attribute-1" Extended, REQUEST|ACCEPT|ACCOUNTING;
    EXTENDED_2 STANDARD 242 "Extended-Attribute-2" Extended, REQUEST|ACCEPT|ACCOUNTING;
    EXTENDED_3 STANDARD 243 "Extended-Attribute-3" Extended, REQUEST|ACCEPT|ACCOUNTING;
    EXTENDED_4 STANDARD 244 "Extended-Attribute-4" Extended, REQUEST|ACCEPT|ACCOUNTING;
    EXTENDED_5 STANDARD 245 "Extended-Attribute-5" LongExtended, REQUEST|ACCEPT|ACCOUNTING;
    EXTENDED_6 STANDARD 246 "Extended-Attribute-6" LongExtended, REQUEST|ACCEPT|ACCOUNTING;

    MS_CHAP_ERROR VENDOR_MICROSOFT 2 "MS-CHAP-Error" Octets, REFUSAL;
    MS_CHAP_CHALLENGE VENDOR_MICROSOFT 11 "MS-CHAP-Challenge" Octets, REQUEST;
    MS_CHAP2_RESPONSE VENDOR_MICROSOFT 25 "MS-CHAP2-Response" Fixed(50), REQUEST;
    MS_CHAP2_SUCCESS VENDOR_MICROSOFT 26 "MS-CHAP2-Success" Fixed(43), ACCEPT;
    MS_PRIMARY_DNS_SERVER VENDOR_MICROSOFT 28 "MS-Primary-DNS-Server" Ipv4, ACCEPT;
    MS_SECONDARY_DNS_SERVER VENDOR_MICROSOFT 29 "MS-Secondary-DNS-Server" Ipv4, ACCEPT;
    MS_PRIMARY_NBNS_SERVER VENDOR_MICROSOFT 30 "MS-Primary-NBNS-Server" Ipv4, ACCEPT;
    MS_SECONDARY_NBNS_SERVER VENDOR_MICROSOFT 31 "MS-Secondary-NBNS-Server" Ipv4, ACCEPT;

    AGENT_CIRCUIT_ID VENDOR_BROADBAND_FORUM 1 "ADSL-Agent-Circuit-Id" Octets, REQUEST|ACCOUNTING;
    AGENT_REMOTE_ID VENDOR_BROADBAND_FORUM 2 "ADSL-Agent-Remote-Id" Octets, REQUEST|ACCOUNTING;

    CISCO_AVPAIR VENDOR_CISCO 1 "Cisco-AVPair" Text, ACCEPT|CHANGE;
    ERX_INGRESS_POLICY_NAME VENDOR_ERX 10 "ERX-Ingress-Policy-Name" Text, ACCEPT|CHANGE;
    ERX_EGRESS_POLICY_NAME VENDOR_ERX 11 "ERX-Egress-Policy-Name" Text, ACCEPT|CHANGE;
    WISPR_BANDWIDTH_MAX_UP VENDOR_WISPR 7 "WISPr-Bandwidth-Max-Up" IntegerOr64, ACCEPT|CHANGE;
    WISPR_BANDWIDTH_MAX_DOWN VENDOR_WISPR 8 "WISPr-Bandwidth-Max-Down" IntegerOr64, ACCEPT|CHANGE;
    MIKROTIK_RATE_LIMIT VENDOR_MIKROTIK 8 "Mikrotik-Rate-Limit" Text, ACCEPT|CHANGE;

    BNGD_RATE_UP VENDOR_BNGD 1 "Bngd-Rate-Up" Integer64, ACCEPT|CHANGE;
    BNGD_RATE_DOWN VENDOR_BNGD 2 "Bngd-Rate-Down" Integer64, ACCEPT|CHANGE;
    BNGD_BURST_UP VENDOR_BNGD 3 "Bngd-Burst-Up" Integer64, ACCEPT|CHANGE;
    BNGD_BURST_DOWN VENDOR_BNGD 4 "Bngd-Burst-Down" Integer64, ACCEPT|CHANGE;
    BNGD_IPV4_INPUT_OCTETS VENDOR_BNGD 16 "Bngd-IPv4-Input-Octets" Integer64, ACCOUNTING;
    BNGD_IPV4_OUTPUT_OCTETS VENDOR_BNGD 17 "Bngd-IPv4-Output-Octets" Integer64, ACCOUNTING;
    BNGD_IPV4_INPUT_PACKETS VENDOR_BNGD 18 "Bngd-IPv4-Input-Packets" Integer64, ACCOUNTING;
    BNGD_IPV4_OUTPUT_PACKETS VENDOR_BNGD 19 "Bngd-IPv4-Output-Packets" Integer64, ACCOUNTING;
    BNGD_IPV6_INPUT_OCTETS VENDOR_BNGD 20 "Bngd-IPv6-Input-Octets" Integer64, ACCOUNTING;
    BNGD_IPV6_OUTPUT_OCTETS VENDOR_BNGD 21 "Bngd-IPv6-Output-Octets" Integer64, ACCOUNTING;
    BNGD_IPV6_INPUT_PACKETS VENDOR_BNGD 22 "Bngd-IPv6-Input-Packets" Integer64, ACCOUNTING;
    BNGD_IPV6_OUTPUT_PACKETS VENDOR_BNGD 23 "Bngd-IPv6-Output-Packets" Integer64, ACCOUNTING;
}

/// Where a standard attribute's row is, by its number; `u8::MAX` for none.
static STANDARD_ROWS: [u8; 256] = standard_rows();

// Evaluated when compiling: an index out of range is a compile error.
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
const fn standard_rows() -> [u8; 256] {
    let mut rows = [u8::MAX; 256];
    let mut row = 0;
    while row < ATTRIBUTES.len() {
        if ATTRIBUTES[row].vendor == STANDARD {
            rows[ATTRIBUTES[row].number as usize] = row as u8;
        }
        row += 1;
    }
    rows
}

/// What is known of an attribute.
#[must_use]
pub fn info(vendor: u32, number: u8) -> Option<&'static AttributeInfo> {
    if vendor == STANDARD {
        return ATTRIBUTES.get(usize::from(*STANDARD_ROWS.get(usize::from(number))?));
    }
    ATTRIBUTES.iter().find(|info| info.vendor == vendor && info.number == number)
}

/// Whether this vendor's attributes are known to have the form of RFC 2865 section 5.26: an octet of number, an octet
/// of length. Others may have any form, and are not looked into unless they have this one.
#[must_use]
pub fn is_known_vendor(vendor: u32) -> bool {
    ATTRIBUTES.iter().any(|info| info.vendor != STANDARD && info.vendor == vendor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_attribute_is_there_once_and_found() {
        let mut seen = HashSet::new();
        let mut names = HashSet::new();
        for row in ATTRIBUTES {
            assert!(seen.insert((row.vendor, row.number)), "{} twice", row.name);
            assert!(names.insert(row.name));
            assert_eq!(info(row.vendor, row.number), Some(row));
        }
        assert!(ATTRIBUTES.len() < usize::from(u8::MAX), "the row index is an octet");
        assert_eq!(info(0, 200), None);
        assert_eq!(info(99, 1), None);
    }
}
