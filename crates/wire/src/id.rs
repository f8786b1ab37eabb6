//! The names of things that appear on the wire or key the tables, one type for each.

use core::fmt;
use core::str::FromStr;

/// An Ethernet MAC address, in transmission order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// ff:ff:ff:ff:ff:ff.
    pub const BROADCAST: Self = Self([0xff; 6]);
    /// 00:00:00:00:00:00, which no station has.
    pub const ZERO: Self = Self([0; 6]);

    /// True for a group address (the I/G bit of the first octet, IEEE 802): multicast or broadcast.
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// The 48 bits as a number, first octet most significant.
    #[must_use]
    pub const fn to_u64(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    /// The inverse of [`MacAddr::to_u64`]; the upper 16 bits are ignored.
    #[must_use]
    pub const fn from_u64(value: u64) -> Self {
        let [_, _, a, b, c, d, e, f] = value.to_be_bytes();
        Self([a, b, c, d, e, f])
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// What is wrong with the text of a MAC address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a MAC address is six two-digit hexadecimal octets joined by ':', for example 02:00:00:00:00:01")]
pub struct MacAddrError;

impl FromStr for MacAddr {
    type Err = MacAddrError;

    fn from_str(text: &str) -> Result<Self, MacAddrError> {
        let mut octets = [0u8; 6];
        let mut parts = text.split(':');
        for octet in &mut octets {
            let part = parts.next().ok_or(MacAddrError)?;
            if part.len() != 2 || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(MacAddrError);
            }
            *octet = u8::from_str_radix(part, 16).map_err(|_| MacAddrError)?;
        }
        if parts.next().is_some() {
            return Err(MacAddrError);
        }
        Ok(Self(octets))
    }
}

/// A PPPoE SESSION_ID (RFC 2516 section 4). Usable values are 1 to 65,534: 0 is the discovery stage's and
/// 0xffff is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SessionId(pub u16);

impl SessionId {
    /// True for an id that a session may have.
    #[must_use]
    pub const fn is_usable(self) -> bool {
        self.0 != 0 && self.0 != 0xffff
    }
}

/// The index of a port in this process, in the order of the configuration: 0 to [`PortIndex::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct PortIndex(pub u8);

impl PortIndex {
    /// The highest index: tables are sized by it.
    pub const MAX: u8 = 31;
}

/// The index of a routing instance. Only 0 exists so far; the field stands in every key from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct VrfId(pub u16);

/// One VLAN tag (IEEE 802.1Q): the tag protocol identifier and the tag control information.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct VlanTag {
    /// 0x8100, 0x88a8 or 0x9100.
    pub tpid: u16,
    /// PCP (3 bits), DEI (1 bit), VID (12 bits).
    pub tci: u16,
}

impl VlanTag {
    /// The VLAN identifier, 0 to 4095.
    #[must_use]
    pub const fn vid(self) -> u16 {
        self.tci & 0x0fff
    }

    /// The priority code point, 0 to 7.
    #[must_use]
    pub const fn pcp(self) -> u8 {
        (self.tci >> 13) as u8
    }
}

/// The tags that a frame carries, outermost first: none, one or two. A frame with a lone priority tag (VID 0)
/// counts as untagged in every key, and keeps its tag here so that an answer may carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct VlanStack {
    /// The outer tag (S-VLAN when there are two).
    pub outer: Option<VlanTag>,
    /// The inner tag (C-VLAN); never there without an outer one.
    pub inner: Option<VlanTag>,
}

impl VlanStack {
    /// The outer VID, 0 where there is none.
    #[must_use]
    pub const fn outer_vid(self) -> u16 {
        match self.outer {
            Some(tag) => tag.vid(),
            None => 0,
        }
    }

    /// The inner VID, 0 where there is none.
    #[must_use]
    pub const fn inner_vid(self) -> u16 {
        match self.inner {
            Some(tag) => tag.vid(),
            None => 0,
        }
    }

    /// How many tags there are: 0 to 2.
    #[must_use]
    pub const fn len(self) -> usize {
        (self.outer.is_some() as usize).saturating_add(self.inner.is_some() as usize)
    }

    /// True where the frame has no tag at all.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.outer.is_none() && self.inner.is_none()
    }
}

/// Where a subscriber's frames come from: what RFC 2516 section 4 and TR-101 let one tell clients apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Line {
    /// The access port.
    pub port: PortIndex,
    /// The tags as received; compare lines by [`Line::key`], which leaves priorities out.
    pub vlans: VlanStack,
    /// The client's MAC address.
    pub peer_mac: MacAddr,
}

/// The part of a [`Line`] that identifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct LineKey {
    /// The access port.
    pub port: PortIndex,
    /// Outer VID, 0 for untagged.
    pub outer_vlan: u16,
    /// Inner VID, 0 where there is none.
    pub inner_vlan: u16,
    /// The client's MAC address.
    pub peer_mac: MacAddr,
}

impl Line {
    /// The identifying part: port, VIDs, MAC.
    #[must_use]
    pub const fn key(self) -> LineKey {
        LineKey {
            port: self.port,
            outer_vlan: self.vlans.outer_vid(),
            inner_vlan: self.vlans.inner_vid(),
            peer_mac: self.peer_mac,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mac_text_and_number_go_there_and_back() {
        let mac: MacAddr = "02:00:00:00:00:fe".parse().unwrap();
        assert_eq!(mac, MacAddr([2, 0, 0, 0, 0, 0xfe]));
        assert_eq!(mac.to_string(), "02:00:00:00:00:fe");
        assert_eq!(MacAddr::from_u64(mac.to_u64()), mac);
        for bad in
            ["", "02:00:00:00:00", "02:00:00:00:00:fe:00", "2:0:0:0:0:fe", "02-00-00-00-00-fe", "+2:00:00:00:00:fe"]
        {
            assert_eq!(bad.parse::<MacAddr>(), Err(MacAddrError), "{bad}");
        }
    }

    #[test]
    fn priority_is_not_part_of_a_line_key() {
        let tag = |tci| VlanStack { outer: Some(VlanTag { tpid: 0x8100, tci }), inner: None };
        let line = |tci| Line { port: PortIndex(1), vlans: tag(tci), peer_mac: MacAddr([2; 6]) };
        assert_eq!(line(0xa064).key(), line(0x0064).key());
        assert_ne!(line(0xa064).key(), line(0x0065).key());
    }
}
