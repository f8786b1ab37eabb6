//! Which addresses may be sent from and forwarded to.

/// What an IPv4 destination is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind4 {
    /// A host's address.
    Unicast,
    /// 224.0.0.0/24, never forwarded (RFC 5771 section 4): routing protocols between neighbours.
    LocalMulticast,
    /// Other multicast.
    Multicast,
    /// 255.255.255.255.
    Broadcast,
    /// Never on the wire as a destination: this network, loopback, link-local, class E (RFC 1812 section 5.3.7,
    /// RFC 3927 section 7).
    Martian,
}

/// Classifies an IPv4 address.
#[inline]
pub(crate) const fn kind4(address: u32) -> Kind4 {
    // Nearly every address: 1/8 to 126/8 and 128/8 to 223/8, but for 169.254/16. Two comparisons.
    let top = address >> 24;
    let ordinary = top.wrapping_sub(1) < 126 || top.wrapping_sub(128) < 96;
    if ordinary && address >> 16 != 0xa9fe { Kind4::Unicast } else { unusual4(address) }
}

#[cold]
const fn unusual4(address: u32) -> Kind4 {
    match address >> 24 {
        0 | 127 => Kind4::Martian,
        169 if address >> 16 == 0xa9fe => Kind4::Martian,
        224..=239 => {
            if address >> 8 == 0x00e0_0000 {
                Kind4::LocalMulticast
            } else {
                Kind4::Multicast
            }
        }
        240..=255 => {
            if address == u32::MAX {
                Kind4::Broadcast
            } else {
                Kind4::Martian
            }
        }
        _ => Kind4::Unicast,
    }
}

/// What an IPv6 address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind6 {
    /// A host's global address.
    Unicast,
    /// fe80::/10.
    LinkLocal,
    /// ff01::/16 and ff02::/16 (RFC 4291 section 2.7): within the interface or the link.
    LocalMulticast,
    /// Other multicast.
    Multicast,
    /// Unspecified.
    Unspecified,
    /// Loopback, IPv4-mapped and IPv4-compatible addresses: ::/8 but for the unspecified one (RFC 4291 section 2.5).
    Martian,
}

/// Classifies an IPv6 address.
#[inline]
pub(crate) const fn kind6(address: u128) -> Kind6 {
    match (address >> 120) as u8 {
        0x00 => {
            // 64:ff9b::/96 (RFC 6052) is ::/8 too, and a translator's legitimate prefix.
            if address == 0 {
                Kind6::Unspecified
            } else if address >> 112 == 0x0064 {
                Kind6::Unicast
            } else {
                Kind6::Martian
            }
        }
        0xfe if address >> 118 == 0x3fa => Kind6::LinkLocal,
        0xff => match (address >> 112) as u8 & 0x0f {
            0..=2 => Kind6::LocalMulticast,
            _ => Kind6::Multicast,
        },
        _ => Kind6::Unicast,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn ipv4_kinds() {
        let kind = |text: &str| kind4(text.parse::<Ipv4Addr>().unwrap().to_bits());
        for text in ["1.0.0.0", "100.64.0.1", "169.253.255.255", "169.255.0.0", "192.0.2.255", "223.255.255.255"] {
            assert_eq!(kind(text), Kind4::Unicast, "{text}");
        }
        for text in ["0.0.0.0", "0.1.2.3", "127.0.0.1", "169.254.1.1", "240.0.0.1", "255.255.255.254"] {
            assert_eq!(kind(text), Kind4::Martian, "{text}");
        }
        assert_eq!(kind("224.0.0.5"), Kind4::LocalMulticast);
        assert_eq!(kind("224.0.1.1"), Kind4::Multicast);
        assert_eq!(kind("239.255.255.255"), Kind4::Multicast);
        assert_eq!(kind("255.255.255.255"), Kind4::Broadcast);
    }

    #[test]
    fn ipv6_kinds() {
        let kind = |text: &str| kind6(text.parse::<Ipv6Addr>().unwrap().to_bits());
        for text in ["2001:db8::1", "fd00::1", "64:ff9b::c000:201", "fec0::1"] {
            assert_eq!(kind(text), Kind6::Unicast, "{text}");
        }
        assert_eq!(kind("::"), Kind6::Unspecified);
        for text in ["::1", "::ffff:192.0.2.1", "::192.0.2.1"] {
            assert_eq!(kind(text), Kind6::Martian, "{text}");
        }
        assert_eq!(kind("fe80::1"), Kind6::LinkLocal);
        assert_eq!(kind("febf::1"), Kind6::LinkLocal);
        assert_eq!(kind("ff02::1:2"), Kind6::LocalMulticast);
        assert_eq!(kind("ff05::2"), Kind6::Multicast);
        assert_eq!(kind("ff0e::1"), Kind6::Multicast);
    }
}
