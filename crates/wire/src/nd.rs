//! Neighbour discovery (RFC 4861): solicitations and advertisements of routers and neighbours, and their options.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |     Type      |     Code      |          Checksum             |   router advertisement, section 4.2
//! +---------------+-+-+-+---+-----+-------------------------------+
//! | Cur Hop Limit |M|O|H|Prf|     |       Router Lifetime         |
//! +---------------+-+-+-+---+-----+-------------------------------+
//! |                         Reachable Time                        |
//! |                          Retrans Timer                        |
//! +---------------+---------------+-------------------------------+
//! |     Type      |    Length     |  ... (Length x 8 octets)      |   option, section 4.6
//! +---------------+---------------+-------------------------------+
//! ```

use core::net::Ipv6Addr;

use crate::checksum::Sum;
use crate::ether::TooSmall;
use crate::icmp::kind6;
use crate::writer::Writer;

/// The hop limit that every message must have: nobody off the link can send it (section 3.1).
pub const HOP_LIMIT: u8 = 255;
/// The IPv6 protocol number of ICMPv6.
pub const ICMPV6: u8 = 58;

/// Types of options.
pub mod option {
    /// Source link-layer address.
    pub const SOURCE_LINK_LAYER: u8 = 1;
    /// Target link-layer address.
    pub const TARGET_LINK_LAYER: u8 = 2;
    /// Prefix information.
    pub const PREFIX_INFORMATION: u8 = 3;
    /// MTU.
    pub const MTU: u8 = 5;
    /// Recursive DNS servers (RFC 8106 section 5.1).
    pub const RDNSS: u8 = 25;
    /// DNS search list (RFC 8106 section 5.2).
    pub const DNSSL: u8 = 31;
}

/// What is wrong with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NdError {
    /// Shorter than its type asks for.
    #[error("the message is shorter than its type asks for")]
    Truncated,
    /// None of the four types.
    #[error("the ICMPv6 type is none of router and neighbour solicitation and advertisement")]
    Kind,
    /// The code is not 0.
    #[error("the code of the message is not 0")]
    Code,
    /// An option with length 0, or one that runs past the end.
    #[error("an option has length 0 or runs past the end of the message")]
    Option,
}

/// The options of a message; all of them lie within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options<'a>(&'a [u8]);

/// One option as it lies in the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawOption<'a> {
    /// Its type, see [`option`].
    pub kind: u8,
    /// What follows type and length: 6 octets, 14, 22...
    pub body: &'a [u8],
}

fn split_option(octets: &[u8]) -> Option<(RawOption<'_>, &[u8])> {
    let (&[kind, units], _) = octets.split_first_chunk::<2>()?;
    let length = usize::from(units).checked_mul(8).filter(|length| *length > 0)?;
    let (option, rest) = octets.split_at_checked(length)?;
    Some((RawOption { kind, body: option.get(2..)? }, rest))
}

impl<'a> Options<'a> {
    /// Checks that `octets` hold whole options and nothing else.
    ///
    /// # Errors
    /// [`NdError::Option`]: "Nodes MUST silently discard an ND packet that contains an option with length zero"
    /// (section 4.6).
    pub fn parse(octets: &'a [u8]) -> Result<Self, NdError> {
        let mut rest = octets;
        while !rest.is_empty() {
            (_, rest) = split_option(rest).ok_or(NdError::Option)?;
        }
        Ok(Self(octets))
    }

    /// The options in their order.
    pub fn iter(&self) -> impl Iterator<Item = RawOption<'a>> + use<'a> {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            let (option, behind) = split_option(rest)?;
            rest = behind;
            Some(option)
        })
    }

    /// The body of the first option of a type.
    #[must_use]
    pub fn first(&self, kind: u8) -> Option<&'a [u8]> {
        self.iter().find(|option| option.kind == kind).map(|option| option.body)
    }

    /// The octets themselves.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        self.0
    }
}

/// The fixed part of a router advertisement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RouterAdvertisement {
    /// Hop limit that hosts are to use; 0: not said.
    pub hop_limit: u8,
    /// M: addresses come by DHCPv6.
    pub managed: bool,
    /// O: other settings come by DHCPv6.
    pub other: bool,
    /// How long this is a default router, in seconds; 0: it is none.
    pub lifetime_s: u16,
    /// Reachable time in milliseconds; 0: not said.
    pub reachable_ms: u32,
    /// Time between two neighbour solicitations in milliseconds; 0: not said.
    pub retransmit_ms: u32,
}

impl RouterAdvertisement {
    /// Octets of the fixed part.
    pub const LEN: usize = 16;

    /// Writes the fixed part, with checksum 0: see [`seal`]. The router preference is medium (RFC 4191 section 2.2).
    ///
    /// # Errors
    /// [`TooSmall`].
    pub fn write(&self, out: &mut Writer<'_>) -> Result<(), TooSmall> {
        let flags = u8::from(self.managed) << 7 | u8::from(self.other) << 6;
        let mut octets = [0; Self::LEN];
        let mut fixed = Writer::new(&mut octets);
        fixed.octets(&[kind6::ROUTER_ADVERTISEMENT, 0, 0, 0, self.hop_limit, flags])?;
        fixed.u16(self.lifetime_s)?;
        fixed.u32(self.reachable_ms)?;
        fixed.u32(self.retransmit_ms)?;
        out.octets(&octets)
    }
}

/// The fixed part of a neighbour solicitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeighbourSolicitation {
    /// The address that is asked for.
    pub target: Ipv6Addr,
}

/// The fixed part of a neighbour advertisement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeighbourAdvertisement {
    /// R: the sender is a router.
    pub router: bool,
    /// S: it answers a solicitation.
    pub solicited: bool,
    /// O: it overrides what is cached.
    pub overrides: bool,
    /// The address it is about.
    pub target: Ipv6Addr,
}

impl NeighbourSolicitation {
    /// Octets of the fixed part.
    pub const LEN: usize = 24;

    /// Writes the fixed part, with checksum 0: see [`seal`].
    ///
    /// # Errors
    /// [`TooSmall`].
    pub fn write(&self, out: &mut Writer<'_>) -> Result<(), TooSmall> {
        write_neighbour(out, kind6::NEIGHBOUR_SOLICITATION, 0, self.target)
    }
}

impl NeighbourAdvertisement {
    /// Octets of the fixed part.
    pub const LEN: usize = 24;

    /// Writes the fixed part, with checksum 0: see [`seal`].
    ///
    /// # Errors
    /// [`TooSmall`].
    pub fn write(&self, out: &mut Writer<'_>) -> Result<(), TooSmall> {
        let flags = u8::from(self.router) << 7 | u8::from(self.solicited) << 6 | u8::from(self.overrides) << 5;
        write_neighbour(out, kind6::NEIGHBOUR_ADVERTISEMENT, flags, self.target)
    }
}

fn write_neighbour(out: &mut Writer<'_>, kind: u8, flags: u8, target: Ipv6Addr) -> Result<(), TooSmall> {
    let mut octets = [0; NeighbourAdvertisement::LEN];
    let mut fixed = Writer::new(&mut octets);
    fixed.octets(&[kind, 0, 0, 0, flags, 0, 0, 0])?;
    fixed.octets(&target.octets())?;
    out.octets(&octets)
}

/// Writes a router solicitation without options, with checksum 0: see [`seal`].
///
/// # Errors
/// [`TooSmall`].
pub fn write_router_solicitation(out: &mut Writer<'_>) -> Result<(), TooSmall> {
    out.octets(&[kind6::ROUTER_SOLICITATION, 0, 0, 0, 0, 0, 0, 0])
}

/// A message of neighbour discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// Router solicitation.
    RouterSolicitation(Options<'a>),
    /// Router advertisement.
    RouterAdvertisement(RouterAdvertisement, Options<'a>),
    /// Neighbour solicitation.
    NeighbourSolicitation(NeighbourSolicitation, Options<'a>),
    /// Neighbour advertisement.
    NeighbourAdvertisement(NeighbourAdvertisement, Options<'a>),
}

impl<'a> Message<'a> {
    /// Reads a message from its type octet on. The checksum and the hop limit are not looked at: see [`is_sealed`] and
    /// [`HOP_LIMIT`].
    ///
    /// # Errors
    /// [`NdError`].
    pub fn parse(octets: &'a [u8]) -> Result<Self, NdError> {
        let (&[kind, code, _, _, a, b, c, d], rest) = octets.split_first_chunk::<8>().ok_or(NdError::Truncated)?;
        if !matches!(kind, kind6::ROUTER_SOLICITATION..=kind6::NEIGHBOUR_ADVERTISEMENT) {
            return Err(NdError::Kind);
        }
        if code != 0 {
            return Err(NdError::Code);
        }
        match kind {
            kind6::ROUTER_SOLICITATION => Ok(Self::RouterSolicitation(Options::parse(rest)?)),
            kind6::ROUTER_ADVERTISEMENT => {
                let (reachable, rest) = rest.split_first_chunk::<4>().ok_or(NdError::Truncated)?;
                let (retransmit, rest) = rest.split_first_chunk::<4>().ok_or(NdError::Truncated)?;
                let fixed = RouterAdvertisement {
                    hop_limit: a,
                    managed: b & 0x80 != 0,
                    other: b & 0x40 != 0,
                    lifetime_s: u16::from_be_bytes([c, d]),
                    reachable_ms: u32::from_be_bytes(*reachable),
                    retransmit_ms: u32::from_be_bytes(*retransmit),
                };
                Ok(Self::RouterAdvertisement(fixed, Options::parse(rest)?))
            }
            _ => {
                let (target, rest) = rest.split_first_chunk::<16>().ok_or(NdError::Truncated)?;
                let target = Ipv6Addr::from_octets(*target);
                let options = Options::parse(rest)?;
                Ok(if kind == kind6::NEIGHBOUR_SOLICITATION {
                    Self::NeighbourSolicitation(NeighbourSolicitation { target }, options)
                } else {
                    let (router, solicited, overrides) = (a & 0x80 != 0, a & 0x40 != 0, a & 0x20 != 0);
                    Self::NeighbourAdvertisement(
                        NeighbourAdvertisement { router, solicited, overrides, target },
                        options,
                    )
                })
            }
        }
    }
}

/// The prefix information option (section 4.6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixInformation {
    /// The prefix.
    pub prefix: Ipv6Addr,
    /// Its length in bits, 0 to 128.
    pub length: u8,
    /// L: addresses of the prefix are on the link.
    pub on_link: bool,
    /// A: hosts may make addresses of it (RFC 4862).
    pub autonomous: bool,
    /// Valid lifetime in seconds; all ones: without end.
    pub valid_s: u32,
    /// Preferred lifetime in seconds, at most the valid one.
    pub preferred_s: u32,
}

impl PrefixInformation {
    /// Reads the body of an option of this type; `None` where it has another length, or the prefix more than 128 bits.
    #[must_use]
    pub fn parse(body: &[u8]) -> Option<Self> {
        let (&[length, flags, v0, v1, v2, v3, p0, p1, p2, p3, _, _, _, _], rest) = body.split_first_chunk::<14>()?;
        let prefix: [u8; 16] = rest.try_into().ok()?;
        (length <= 128).then_some(Self {
            prefix: Ipv6Addr::from_octets(prefix),
            length,
            on_link: flags & 0x80 != 0,
            autonomous: flags & 0x40 != 0,
            valid_s: u32::from_be_bytes([v0, v1, v2, v3]),
            preferred_s: u32::from_be_bytes([p0, p1, p2, p3]),
        })
    }

    /// Writes the option.
    ///
    /// # Errors
    /// [`TooSmall`].
    pub fn write(&self, out: &mut Writer<'_>) -> Result<(), TooSmall> {
        let flags = u8::from(self.on_link) << 7 | u8::from(self.autonomous) << 6;
        let mut octets = [0; 32];
        let mut option = Writer::new(&mut octets);
        option.octets(&[option::PREFIX_INFORMATION, 4, self.length, flags])?;
        option.u32(self.valid_s)?;
        option.u32(self.preferred_s)?;
        option.u32(0)?;
        option.octets(&self.prefix.octets())?;
        out.octets(&octets)
    }
}

/// Writes the MTU option (section 4.6.4).
///
/// # Errors
/// [`TooSmall`].
pub fn write_mtu(out: &mut Writer<'_>, mtu: u32) -> Result<(), TooSmall> {
    let [a, b, c, d] = mtu.to_be_bytes();
    out.octets(&[option::MTU, 1, 0, 0, a, b, c, d])
}

/// Reads the body of an MTU option.
#[must_use]
pub fn parse_mtu(body: &[u8]) -> Option<u32> {
    let &[_, _, a, b, c, d] = body.try_into().ok().map(|body: &[u8; 6]| body)?;
    Some(u32::from_be_bytes([a, b, c, d]))
}

/// The most servers that one option of recursive DNS servers is written with.
pub const RDNSS_MAX: usize = 8;

/// Writes the option of recursive DNS servers (RFC 8106 section 5.1); nothing where there is no server. Servers after
/// the first [`RDNSS_MAX`] are left out. A lifetime of 0 tells hosts to use them no longer.
///
/// # Errors
/// [`TooSmall`].
pub fn write_rdnss(out: &mut Writer<'_>, lifetime_s: u32, servers: &[Ipv6Addr]) -> Result<(), TooSmall> {
    let servers = servers.get(..RDNSS_MAX).unwrap_or(servers);
    if servers.is_empty() {
        return Ok(());
    }
    let units = u8::try_from(servers.len()).unwrap_or(u8::MAX).saturating_mul(2).saturating_add(1);
    let start = out.len();
    let written = (|| {
        out.octets(&[option::RDNSS, units, 0, 0])?;
        out.u32(lifetime_s)?;
        servers.iter().try_for_each(|server| out.octets(&server.octets()))
    })();
    written.inspect_err(|_| out.truncate(start))
}

/// Reads the body of an option of recursive DNS servers: lifetime in seconds, and the servers. `None` where its length
/// is not that of one server or more (RFC 8106 section 5.3.1).
pub fn parse_rdnss(body: &[u8]) -> Option<(u32, impl Iterator<Item = Ipv6Addr>)> {
    let (&[_, _, a, b, c, d], rest) = body.split_first_chunk::<6>()?;
    let (servers, rest) = rest.as_chunks::<16>();
    if servers.is_empty() || !rest.is_empty() {
        return None;
    }
    Some((u32::from_be_bytes([a, b, c, d]), servers.iter().map(|octets| Ipv6Addr::from_octets(*octets))))
}

/// Writes the DNS search list option (RFC 8106 section 5.2) with names encoded by [`crate::domain`]; nothing where
/// there is no name.
///
/// # Errors
/// [`TooSmall`], also for names of more than 2,000 octets.
pub fn write_dnssl(out: &mut Writer<'_>, lifetime_s: u32, names: &[u8]) -> Result<(), TooSmall> {
    if names.is_empty() {
        return Ok(());
    }
    let units = names.len().div_ceil(8).saturating_add(1);
    let padding = units.saturating_sub(1).saturating_mul(8).saturating_sub(names.len());
    let units = u8::try_from(units).ok().filter(|units| *units <= 251).ok_or(TooSmall)?;
    let start = out.len();
    let written = (|| {
        out.octets(&[option::DNSSL, units, 0, 0])?;
        out.u32(lifetime_s)?;
        out.octets(names)?;
        // The option ends on a multiple of 8 octets, filled with zeros.
        out.octets([0u8; 7].get(..padding).unwrap_or_default())
    })();
    written.inspect_err(|_| out.truncate(start))
}

/// Reads the body of a DNS search list option: lifetime in seconds, and the names as encoded, with their padding.
#[must_use]
pub fn parse_dnssl(body: &[u8]) -> Option<(u32, &[u8])> {
    let (&[_, _, a, b, c, d], names) = body.split_first_chunk::<6>()?;
    Some((u32::from_be_bytes([a, b, c, d]), names))
}

/// Puts the checksum into an ICMPv6 message (RFC 4443 section 2.3); nothing happens to one shorter than its header.
pub fn seal(src: Ipv6Addr, dst: Ipv6Addr, message: &mut [u8]) {
    if let Some(room) = message.get_mut(2..4) {
        room.fill(0);
    }
    let sum = pseudo(src, dst, message).octets(message).checksum();
    if let Some(room) = message.get_mut(2..4) {
        room.copy_from_slice(&sum.to_be_bytes());
    }
}

/// True where the checksum of an ICMPv6 message is right.
#[must_use]
pub fn is_sealed(src: Ipv6Addr, dst: Ipv6Addr, message: &[u8]) -> bool {
    pseudo(src, dst, message).octets(message).fold() == 0xffff
}

fn pseudo(src: Ipv6Addr, dst: Ipv6Addr, message: &[u8]) -> Sum {
    let len = u32::try_from(message.len()).unwrap_or(u32::MAX);
    Sum::ZERO.pseudo_ipv6(src.to_bits(), dst.to_bits(), ICMPV6, len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain;
    use proptest::prelude::*;

    fn address() -> impl Strategy<Value = Ipv6Addr> {
        any::<u128>().prop_map(Ipv6Addr::from_bits)
    }

    /// A message of each kind, with every option, as octets.
    fn built() -> impl Strategy<Value = Vec<u8>> {
        let flags = any::<[bool; 3]>();
        let servers = proptest::collection::vec(address(), 0..10);
        let names = proptest::collection::vec("[a-z]{1,9}(\\.[a-z]{1,9}){0,3}", 0..4);
        (0u8..4, flags, any::<[u32; 4]>(), address(), 0u8..=128, servers, names).prop_map(
            |(kind, [a, b, c], [u, v, x, y], target, length, servers, names)| {
                let mut buffer = [0u8; 600];
                let mut out = Writer::new(&mut buffer);
                match kind {
                    0 => write_router_solicitation(&mut out),
                    1 => RouterAdvertisement {
                        hop_limit: u as u8,
                        managed: a,
                        other: b,
                        lifetime_s: v as u16,
                        reachable_ms: x,
                        retransmit_ms: y,
                    }
                    .write(&mut out),
                    2 => NeighbourSolicitation { target }.write(&mut out),
                    _ => NeighbourAdvertisement { router: a, solicited: b, overrides: c, target }.write(&mut out),
                }
                .unwrap();
                let prefix =
                    PrefixInformation { prefix: target, length, on_link: a, autonomous: b, valid_s: u, preferred_s: v };
                prefix.write(&mut out).unwrap();
                write_mtu(&mut out, u).unwrap();
                write_rdnss(&mut out, v, &servers).unwrap();
                let mut list = Vec::new();
                names.iter().for_each(|name| domain::encode(name, &mut list).unwrap());
                write_dnssl(&mut out, x, &list).unwrap();
                out.written().to_vec()
            },
        )
    }

    /// What is read, written again.
    fn rebuild(message: Message<'_>) -> Vec<u8> {
        let mut buffer = [0u8; 2000];
        let mut out = Writer::new(&mut buffer);
        let (fixed, options) = match message {
            Message::RouterSolicitation(options) => (write_router_solicitation(&mut out), options),
            Message::RouterAdvertisement(fixed, options) => (fixed.write(&mut out), options),
            Message::NeighbourSolicitation(fixed, options) => (fixed.write(&mut out), options),
            Message::NeighbourAdvertisement(fixed, options) => (fixed.write(&mut out), options),
        };
        fixed.unwrap();
        out.octets(options.octets()).unwrap();
        out.written().to_vec()
    }

    fn visit(options: Options<'_>) {
        for option in options.iter() {
            assert_eq!((option.body.len() + 2) % 8, 0);
            if let Some(prefix) = PrefixInformation::parse(option.body) {
                assert!(prefix.length <= 128);
            }
            let _ = parse_mtu(option.body);
            if let Some((_, servers)) = parse_rdnss(option.body) {
                assert!(servers.count() >= 1);
            }
            if let Some((_, mut names)) = parse_dnssl(option.body) {
                while domain::decode(&mut names).is_some() {}
            }
        }
    }

    fn options_of(message: Message<'_>) -> Options<'_> {
        match message {
            Message::RouterSolicitation(options)
            | Message::RouterAdvertisement(_, options)
            | Message::NeighbourSolicitation(_, options)
            | Message::NeighbourAdvertisement(_, options) => options,
        }
    }

    proptest! {
        #[test]
        fn what_is_built_parses_back(octets in built()) {
            let message = Message::parse(&octets).unwrap();
            visit(options_of(message));
            prop_assert_eq!(rebuild(message), octets);
        }

        #[test]
        fn options_are_read_as_written(target in address(), length in 0u8..=128, a: bool, b: bool, u: u32, v: u32, servers in proptest::collection::vec(address(), 1..=RDNSS_MAX)) {
            let mut buffer = [0u8; 400];
            let mut out = Writer::new(&mut buffer);
            let prefix = PrefixInformation { prefix: target, length, on_link: a, autonomous: b, valid_s: u, preferred_s: v };
            prefix.write(&mut out).unwrap();
            write_mtu(&mut out, u).unwrap();
            write_rdnss(&mut out, v, &servers).unwrap();
            write_dnssl(&mut out, u, b"\x01a\0").unwrap();
            let options = Options::parse(out.written()).unwrap();
            prop_assert_eq!(PrefixInformation::parse(options.first(option::PREFIX_INFORMATION).unwrap()), Some(prefix));
            prop_assert_eq!(parse_mtu(options.first(option::MTU).unwrap()), Some(u));
            let (lifetime, read) = parse_rdnss(options.first(option::RDNSS).unwrap()).unwrap();
            prop_assert_eq!((lifetime, read.collect::<Vec<_>>()), (v, servers));
            prop_assert_eq!(parse_dnssl(options.first(option::DNSSL).unwrap()), Some((u, &b"\x01a\0\0\0\0\0\0"[..])));
        }

        #[test]
        fn noise_is_refused_for_a_reason_that_holds(octets in proptest::collection::vec(any::<u8>(), 0..120), kind in 132u8..138, fix: bool) {
            let mut octets = octets;
            if fix && octets.len() > 1 { octets[0] = kind; octets[1] = 0; }
            match Message::parse(&octets) {
                Ok(message) => { visit(options_of(message)); }
                Err(NdError::Kind) => prop_assert!(!(133..=136).contains(&octets[0])),
                Err(NdError::Code) => prop_assert!(octets[1] != 0),
                Err(NdError::Truncated) => prop_assert!(octets.len() < 24),
                Err(NdError::Option) => {
                    let fixed = match octets[0] { 133 => 8, 134 => 16, _ => 24 };
                    prop_assert_eq!(Options::parse(&octets[fixed..]), Err(NdError::Option));
                }
            }
        }

        #[test]
        fn too_short_to_read(octets in built(), cut in 0usize..600) {
            let cut = cut % octets.len();
            match Message::parse(&octets[..cut]) {
                // A cut between two options leaves a whole message.
                Ok(message) => prop_assert_eq!(rebuild(message), &octets[..cut]),
                Err(error) => prop_assert!(matches!(error, NdError::Truncated | NdError::Option)),
            }
        }

        #[test]
        fn too_small_to_write(target in address(), room in 0usize..48) {
            let mut buffer = [0u8; 48];
            let mut out = Writer::new(&mut buffer[..room]);
            let prefix = PrefixInformation { prefix: target, length: 64, on_link: true, autonomous: true, valid_s: 1, preferred_s: 1 };
            prop_assert_eq!(RouterAdvertisement::default().write(&mut out).is_ok(), room >= 16);
            out.truncate(0);
            prop_assert_eq!(NeighbourSolicitation { target }.write(&mut out).is_ok(), room >= 24);
            out.truncate(0);
            prop_assert_eq!(prefix.write(&mut out).is_ok(), room >= 32);
            out.truncate(0);
            prop_assert_eq!(write_rdnss(&mut out, 1, &[target, target]).is_ok(), room >= 40);
            prop_assert!(out.is_empty() || room >= 40);
            out.truncate(0);
            prop_assert_eq!(write_dnssl(&mut out, 1, b"\x07example\0").is_ok(), room >= 24);
            prop_assert!(out.is_empty() || room >= 24);
        }

        #[test]
        fn a_changed_octet_keeps_the_contract(octets in built(), at in 0usize..600, bits in 1u8..) {
            let mut octets = octets;
            let at = at % octets.len();
            octets[at] ^= bits;
            if let Ok(message) = Message::parse(&octets) { visit(options_of(message)); }
        }

        #[test]
        fn a_sealed_message_breaks_with_any_change(octets in built(), src in address(), dst in address(), at in 0usize..600, bits in 1u8..) {
            let mut octets = octets;
            seal(src, dst, &mut octets);
            prop_assert!(is_sealed(src, dst, &octets));
            let at = at % octets.len();
            octets[at] ^= bits;
            prop_assert!(!is_sealed(src, dst, &octets));
        }
    }

    #[test]
    fn an_option_of_length_zero_makes_the_message_void() {
        assert_eq!(Message::parse(&[133, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]), Err(NdError::Option));
        assert_eq!(Message::parse(&[133, 1, 0, 0, 0, 0, 0, 0]), Err(NdError::Code));
        assert_eq!(Message::parse(&[133, 0, 0, 0, 0, 0, 0]), Err(NdError::Truncated));
    }
}
