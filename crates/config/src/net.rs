//! Addresses with a prefix length: as networks, and as what an interface carries.

use core::fmt;
use core::str::FromStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What is wrong with the text of a prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    /// No `/length`, or neither part can be read.
    #[error("expected ADDRESS/LENGTH, for example {example}")]
    Syntax {
        /// A text that would do.
        example: &'static str,
    },
    /// The length is larger than the address has bits.
    #[error("the prefix length must be 0 to {max}")]
    Length {
        /// 32 or 128.
        max: u8,
    },
    /// Bits behind the length are set: often the host's address was written where a network is wanted.
    #[error("the address has bits set behind the prefix length: the network is {network}")]
    HostBits {
        /// The same prefix with those bits cleared.
        network: String,
    },
}

/// An IPv4 network; the bits behind the length are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ipv4Prefix {
    address: Ipv4Addr,
    length: u8,
}

/// An IPv6 network; the bits behind the length are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ipv6Prefix {
    address: Ipv6Addr,
    length: u8,
}

const fn mask4(length: u8) -> u32 {
    if length == 0 { 0 } else { u32::MAX << (32 - length) }
}

const fn mask6(length: u8) -> u128 {
    if length == 0 { 0 } else { u128::MAX << (128 - length) }
}

impl Ipv4Prefix {
    /// The network of `length` bits that `address` lies in.
    ///
    /// # Errors
    /// [`PrefixError::Length`] above 32.
    pub fn containing(address: Ipv4Addr, length: u8) -> Result<Self, PrefixError> {
        if length > 32 {
            return Err(PrefixError::Length { max: 32 });
        }
        Ok(Self { address: Ipv4Addr::from_bits(address.to_bits() & mask4(length)), length })
    }

    /// The lowest address.
    #[must_use]
    pub const fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The highest address.
    #[must_use]
    pub const fn last(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.address.to_bits() | !mask4(self.length))
    }

    /// The prefix length, 0 to 32 bits.
    #[must_use]
    pub const fn length(&self) -> u8 {
        self.length
    }

    /// True if `address` lies in this network.
    #[must_use]
    pub const fn contains(&self, address: Ipv4Addr) -> bool {
        address.to_bits() & mask4(self.length) == self.address.to_bits()
    }

    /// True if the two have an address in common.
    #[must_use]
    pub const fn overlaps(&self, other: &Self) -> bool {
        self.contains(other.address) || other.contains(self.address)
    }
}

impl Ipv6Prefix {
    /// The network of `length` bits that `address` lies in.
    ///
    /// # Errors
    /// [`PrefixError::Length`] above 128.
    pub fn containing(address: Ipv6Addr, length: u8) -> Result<Self, PrefixError> {
        if length > 128 {
            return Err(PrefixError::Length { max: 128 });
        }
        Ok(Self { address: Ipv6Addr::from_bits(address.to_bits() & mask6(length)), length })
    }

    /// The lowest address.
    #[must_use]
    pub const fn address(&self) -> Ipv6Addr {
        self.address
    }

    /// The prefix length, 0 to 128 bits.
    #[must_use]
    pub const fn length(&self) -> u8 {
        self.length
    }

    /// True if `address` lies in this network.
    #[must_use]
    pub const fn contains(&self, address: Ipv6Addr) -> bool {
        address.to_bits() & mask6(self.length) == self.address.to_bits()
    }

    /// True if the two have an address in common.
    #[must_use]
    pub const fn overlaps(&self, other: &Self) -> bool {
        self.contains(other.address) || other.contains(self.address)
    }
}

fn split<'a>(text: &'a str, example: &'static str) -> Result<(&'a str, u8), PrefixError> {
    let (address, length) = text.split_once('/').ok_or(PrefixError::Syntax { example })?;
    if length.is_empty() || length.len() > 3 || !length.bytes().all(|b| b.is_ascii_digit()) {
        return Err(PrefixError::Syntax { example });
    }
    Ok((address, length.parse().unwrap_or(u8::MAX)))
}

impl FromStr for Ipv4Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let example = "100.64.0.0/16";
        let (address, length) = split(text, example)?;
        let address = address.parse().map_err(|_| PrefixError::Syntax { example })?;
        let prefix = Self::containing(address, length)?;
        if prefix.address != address {
            return Err(PrefixError::HostBits { network: prefix.to_string() });
        }
        Ok(prefix)
    }
}

impl FromStr for Ipv6Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let example = "2001:db8:100::/40";
        let (address, length) = split(text, example)?;
        let address = address.parse().map_err(|_| PrefixError::Syntax { example })?;
        let prefix = Self::containing(address, length)?;
        if prefix.address != address {
            return Err(PrefixError::HostBits { network: prefix.to_string() });
        }
        Ok(prefix)
    }
}

impl fmt::Display for Ipv4Prefix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.length)
    }
}

impl fmt::Display for Ipv6Prefix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.length)
    }
}

/// A network of either family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IpPrefix {
    /// IPv4.
    V4(Ipv4Prefix),
    /// IPv6.
    V6(Ipv6Prefix),
}

impl IpPrefix {
    /// True if `address` is of the same family and lies in this network.
    #[must_use]
    pub const fn contains(&self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::V4(prefix), IpAddr::V4(address)) => prefix.contains(address),
            (Self::V6(prefix), IpAddr::V6(address)) => prefix.contains(address),
            _ => false,
        }
    }

    /// True if the two are of the same family and have an address in common.
    #[must_use]
    pub const fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::V4(one), Self::V4(two)) => one.overlaps(two),
            (Self::V6(one), Self::V6(two)) => one.overlaps(two),
            _ => false,
        }
    }
}

impl FromStr for IpPrefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        if text.contains(':') { text.parse().map(Self::V6) } else { text.parse().map(Self::V4) }
    }
}

impl fmt::Display for IpPrefix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(prefix) => prefix.fmt(out),
            Self::V6(prefix) => prefix.fmt(out),
        }
    }
}

/// An address that an interface has, with the length of the network that it connects to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InterfaceAddress {
    /// The address itself.
    pub address: IpAddr,
    /// The length of the connected network's prefix: 0 to 32 or 0 to 128 bits.
    pub length: u8,
}

impl InterfaceAddress {
    /// The connected network.
    #[must_use]
    pub fn network(&self) -> IpPrefix {
        match self.address {
            IpAddr::V4(address) => IpPrefix::V4(Ipv4Prefix {
                address: Ipv4Addr::from_bits(address.to_bits() & mask4(self.length)),
                length: self.length,
            }),
            IpAddr::V6(address) => IpPrefix::V6(Ipv6Prefix {
                address: Ipv6Addr::from_bits(address.to_bits() & mask6(self.length)),
                length: self.length,
            }),
        }
    }
}

impl FromStr for InterfaceAddress {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let example = if text.contains(':') { "2001:db8::1/64" } else { "198.51.100.1/30" };
        let (address, length) = split(text, example)?;
        let address: IpAddr = address.parse().map_err(|_| PrefixError::Syntax { example })?;
        let max = if address.is_ipv4() { 32 } else { 128 };
        if length > max {
            return Err(PrefixError::Length { max });
        }
        Ok(Self { address, length })
    }
}

impl fmt::Display for InterfaceAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_with_host_bits_is_refused_and_named() {
        let error = "100.64.0.1/16".parse::<Ipv4Prefix>().unwrap_err();
        assert_eq!(error, PrefixError::HostBits { network: "100.64.0.0/16".into() });
        let error = "2001:db8::1/64".parse::<Ipv6Prefix>().unwrap_err();
        assert_eq!(error, PrefixError::HostBits { network: "2001:db8::/64".into() });
    }

    #[test]
    fn lengths_at_and_beyond_their_ends() {
        for good in ["0.0.0.0/0", "10.0.0.0/8", "192.0.2.1/32"] {
            assert_eq!(good.parse::<IpPrefix>().unwrap().to_string(), good);
        }
        for good in ["::/0", "2001:db8::/32", "2001:db8::1/128"] {
            assert_eq!(good.parse::<IpPrefix>().unwrap().to_string(), good);
        }
        assert_eq!("10.0.0.0/33".parse::<Ipv4Prefix>(), Err(PrefixError::Length { max: 32 }));
        assert_eq!("::/129".parse::<Ipv6Prefix>(), Err(PrefixError::Length { max: 128 }));
        assert_eq!("::/999".parse::<Ipv6Prefix>(), Err(PrefixError::Length { max: 128 }));
        for bad in ["10.0.0.0", "10.0.0.0/", "10.0.0.0/+8", "10.0.0/8", "/8", "", "10.0.0.0/8/8", "::/-1"] {
            assert!(bad.parse::<IpPrefix>().is_err(), "{bad}");
        }
    }

    #[test]
    fn overlap_is_containment_one_way_or_the_other() {
        let p = |text: &str| text.parse::<IpPrefix>().unwrap();
        assert!(p("10.0.0.0/8").overlaps(&p("10.1.0.0/16")));
        assert!(p("10.1.0.0/16").overlaps(&p("10.0.0.0/8")));
        assert!(!p("10.1.0.0/16").overlaps(&p("10.2.0.0/16")));
        assert!(!p("0.0.0.0/0").overlaps(&p("::/0")));
        assert!(p("::/0").overlaps(&p("2001:db8::/32")));
    }

    #[test]
    fn an_interface_address_keeps_its_host_bits() {
        let address: InterfaceAddress = "198.51.100.1/30".parse().unwrap();
        assert_eq!(address.to_string(), "198.51.100.1/30");
        assert_eq!(address.network().to_string(), "198.51.100.0/30");
        let address: InterfaceAddress = "2001:db8::1/64".parse().unwrap();
        assert_eq!(address.network().to_string(), "2001:db8::/64");
    }
}
