//! PPP (RFC 1661) as PPPoE carries it: a protocol field, then a packet of that protocol. No HDLC framing, no address
//! and control fields (RFC 2516 section 4).
//!
//! - [`packet`]: code, identifier, length, common to LCP, the network control protocols, PAP and CHAP;
//! - [`options`]: the list of configuration options inside Configure packets;
//! - [`lcp`], [`ipcp`], [`ipv6cp`]: the options of each protocol, typed;
//! - [`auth`]: the fields of PAP and CHAP packets.

pub mod auth;
pub mod ipcp;
pub mod ipv6cp;
pub mod lcp;
pub mod options;
pub mod packet;

pub use options::{OptionError, Options, RawOption, WrongLength};
pub use packet::{Packet, PacketBuilder, PacketError, TooLong, code};

/// Numbers of the PPP protocol field.
pub mod protocol {
    /// Internet Protocol version 4 (RFC 1332).
    pub const IPV4: u16 = 0x0021;
    /// Internet Protocol version 6 (RFC 5072).
    pub const IPV6: u16 = 0x0057;
    /// Internet Protocol Control Protocol (RFC 1332).
    pub const IPCP: u16 = 0x8021;
    /// IPv6 Control Protocol (RFC 5072).
    pub const IPV6CP: u16 = 0x8057;
    /// Compression Control Protocol (RFC 1962), which is not spoken here.
    pub const CCP: u16 = 0x80fd;
    /// Link Control Protocol (RFC 1661).
    pub const LCP: u16 = 0xc021;
    /// Password Authentication Protocol (RFC 1334).
    pub const PAP: u16 = 0xc023;
    /// Challenge Handshake Authentication Protocol (RFC 1994).
    pub const CHAP: u16 = 0xc223;
}
