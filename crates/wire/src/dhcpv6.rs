//! DHCPv6 (RFC 8415): messages between client and server, and the options that a server of addresses and prefixes reads
//! and writes. Options are views on the octets: reading copies nothing, writing keeps the order of the calls.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+-----------------------------------------------+
//! |   msg-type    |               transaction-id                  |   section 8
//! +---------------+---------------+-------------------------------+
//! |          option-code          |           option-len          |   section 21.1
//! +-------------------------------+-------------------------------+
//! |                option-data (option-len octets)                |
//! +---------------------------------------------------------------+
//! ```

use core::net::Ipv6Addr;

use crate::ether::TooSmall;
use crate::writer::Writer;

/// The port that clients listen on (section 7.2).
pub const CLIENT_PORT: u16 = 546;
/// The port that servers listen on.
pub const SERVER_PORT: u16 = 547;
/// `ff02::1:2`, All_DHCP_Relay_Agents_and_Servers (section 7.1).
pub const SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);
/// The longest DUID: its type and 128 octets (section 11.1).
pub const DUID_MAX: usize = 130;

/// Types of messages (section 7.3).
pub mod kind {
    /// A client looks for servers.
    pub const SOLICIT: u8 = 1;
    /// A server offers.
    pub const ADVERTISE: u8 = 2;
    /// A client asks a server for what it offered.
    pub const REQUEST: u8 = 3;
    /// A client asks whether its addresses still suit the link.
    pub const CONFIRM: u8 = 4;
    /// A client asks its server to extend leases.
    pub const RENEW: u8 = 5;
    /// A client asks any server to extend leases.
    pub const REBIND: u8 = 6;
    /// A server answers.
    pub const REPLY: u8 = 7;
    /// A client gives leases back.
    pub const RELEASE: u8 = 8;
    /// A client says that others use its addresses.
    pub const DECLINE: u8 = 9;
    /// A client asks for settings without addresses.
    pub const INFORMATION_REQUEST: u8 = 11;
}

/// Codes of options.
pub mod option {
    /// Client identifier.
    pub const CLIENT_ID: u16 = 1;
    /// Server identifier.
    pub const SERVER_ID: u16 = 2;
    /// Identity association for addresses.
    pub const IA_NA: u16 = 3;
    /// Identity association for temporary addresses.
    pub const IA_TA: u16 = 4;
    /// An address of an identity association.
    pub const IA_ADDRESS: u16 = 5;
    /// The options that the client asks for.
    pub const REQUESTED: u16 = 6;
    /// Preference of the server.
    pub const PREFERENCE: u16 = 7;
    /// How long the client has been trying.
    pub const ELAPSED_TIME: u16 = 8;
    /// Status code.
    pub const STATUS: u16 = 13;
    /// Solicit is to be answered by Reply.
    pub const RAPID_COMMIT: u16 = 14;
    /// Recursive DNS servers (RFC 3646).
    pub const DNS_SERVERS: u16 = 23;
    /// Domain search list (RFC 3646).
    pub const DOMAIN_LIST: u16 = 24;
    /// Identity association for delegated prefixes.
    pub const IA_PD: u16 = 25;
    /// A prefix of an identity association.
    pub const IA_PREFIX: u16 = 26;
    /// When to send Information-request again.
    pub const REFRESH_TIME: u16 = 32;
    /// The longest time between two Solicits.
    pub const SOL_MAX_RT: u16 = 82;
    /// The longest time between two Information-requests.
    pub const INF_MAX_RT: u16 = 83;
}

/// Status codes (section 21.13).
pub mod status {
    /// Success.
    pub const SUCCESS: u16 = 0;
    /// Failed for a reason that no other code says.
    pub const UNSPEC_FAIL: u16 = 1;
    /// No address can be given.
    pub const NO_ADDRS_AVAIL: u16 = 2;
    /// The server knows nothing of these leases.
    pub const NO_BINDING: u16 = 3;
    /// The addresses do not suit the link.
    pub const NOT_ON_LINK: u16 = 4;
    /// The client must send to the multicast address.
    pub const USE_MULTICAST: u16 = 5;
    /// No prefix can be given.
    pub const NO_PREFIX_AVAIL: u16 = 6;
}

/// What is wrong with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DhcpError {
    /// Shorter than type and transaction id.
    #[error("the message is shorter than its header")]
    Truncated,
    /// An option runs past the end.
    #[error("an option runs past the end of the message")]
    Option,
}

/// The options of a message or of another option; all of them lie within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options<'a>(&'a [u8]);

/// One option as it lies in the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawOption<'a> {
    /// Its code, see [`option`].
    pub code: u16,
    /// Its data.
    pub body: &'a [u8],
}

fn split_option(octets: &[u8]) -> Option<(RawOption<'_>, &[u8])> {
    let (&[c0, c1, l0, l1], rest) = octets.split_first_chunk::<4>()?;
    let (body, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([l0, l1])))?;
    Some((RawOption { code: u16::from_be_bytes([c0, c1]), body }, rest))
}

impl<'a> Options<'a> {
    /// Checks that `octets` hold whole options and nothing else.
    ///
    /// # Errors
    /// [`DhcpError::Option`].
    pub fn parse(octets: &'a [u8]) -> Result<Self, DhcpError> {
        let mut rest = octets;
        while !rest.is_empty() {
            (_, rest) = split_option(rest).ok_or(DhcpError::Option)?;
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

    /// The body of the first option of a code.
    #[must_use]
    pub fn first(&self, code: u16) -> Option<&'a [u8]> {
        self.iter().find(|option| option.code == code).map(|option| option.body)
    }

    /// The octets themselves.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        self.0
    }
}

/// A message between client and server. Messages of relays (types 12 and 13) have another form, which this is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its type, see [`kind`].
    pub kind: u8,
    /// Transaction id, 24 bits.
    pub transaction: u32,
    /// Its options.
    pub options: Options<'a>,
}

impl<'a> Message<'a> {
    /// Reads a message from its type octet on.
    ///
    /// # Errors
    /// [`DhcpError`].
    pub fn parse(octets: &'a [u8]) -> Result<Self, DhcpError> {
        let (&[kind, a, b, c], rest) = octets.split_first_chunk::<4>().ok_or(DhcpError::Truncated)?;
        Ok(Self { kind, transaction: u32::from_be_bytes([0, a, b, c]), options: Options::parse(rest)? })
    }
}

/// Writes type and transaction id, of which the lower 24 bits count.
///
/// # Errors
/// [`TooSmall`].
pub fn write_header(out: &mut Writer<'_>, kind: u8, transaction: u32) -> Result<(), TooSmall> {
    let [_, a, b, c] = transaction.to_be_bytes();
    out.octets(&[kind, a, b, c])
}

/// Writes an option whose data `body` writes. Options may be nested in this way.
///
/// # Errors
/// [`TooSmall`], also for data of more than 65,535 octets; nothing of the option is then left.
pub fn write_option(
    out: &mut Writer<'_>,
    code: u16,
    body: impl FnOnce(&mut Writer<'_>) -> Result<(), TooSmall>,
) -> Result<(), TooSmall> {
    let start = out.len();
    let written = (|| {
        out.u16(code)?;
        let length_at = out.len();
        out.u16(0)?;
        let data_at = out.len();
        body(out)?;
        let length = u16::try_from(out.len().saturating_sub(data_at)).map_err(|_| TooSmall)?;
        out.patch_u16(length_at, length);
        Ok(())
    })();
    written.inspect_err(|_| out.truncate(start))
}

/// The fixed part of an IA_NA or IA_PD option (sections 21.4 and 21.21).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ia<'a> {
    /// Which of the client's associations it is.
    pub iaid: u32,
    /// When to send Renew, in seconds; 0: the client's choice.
    pub t1_s: u32,
    /// When to send Rebind, in seconds; 0: the client's choice.
    pub t2_s: u32,
    /// Its leases and status.
    pub options: Options<'a>,
}

fn split_u32(octets: &[u8]) -> Option<(u32, &[u8])> {
    octets.split_first_chunk::<4>().map(|(value, rest)| (u32::from_be_bytes(*value), rest))
}

impl<'a> Ia<'a> {
    /// Reads the body of an option of either kind; `None` where it is too short or its options run past its end.
    #[must_use]
    pub fn parse(body: &'a [u8]) -> Option<Self> {
        let (iaid, rest) = split_u32(body)?;
        let (t1_s, rest) = split_u32(rest)?;
        let (t2_s, rest) = split_u32(rest)?;
        Some(Self { iaid, t1_s, t2_s, options: Options::parse(rest).ok()? })
    }

    /// Writes the body: the fixed part and the options.
    ///
    /// # Errors
    /// [`TooSmall`].
    pub fn write(&self, out: &mut Writer<'_>) -> Result<(), TooSmall> {
        out.u32(self.iaid)?;
        out.u32(self.t1_s)?;
        out.u32(self.t2_s)?;
        out.octets(self.options.octets())
    }
}

/// An address of an IA_NA (section 21.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IaAddress<'a> {
    /// The address.
    pub address: Ipv6Addr,
    /// Preferred lifetime in seconds.
    pub preferred_s: u32,
    /// Valid lifetime in seconds.
    pub valid_s: u32,
    /// Its options.
    pub options: Options<'a>,
}

impl<'a> IaAddress<'a> {
    /// Reads the body of an option of this code.
    #[must_use]
    pub fn parse(body: &'a [u8]) -> Option<Self> {
        let (address, rest) = body.split_first_chunk::<16>()?;
        let (preferred_s, rest) = split_u32(rest)?;
        let (valid_s, rest) = split_u32(rest)?;
        let options = Options::parse(rest).ok()?;
        Some(Self { address: Ipv6Addr::from_octets(*address), preferred_s, valid_s, options })
    }

    /// Writes the option.
    ///
    /// # Errors
    /// [`TooSmall`].
    pub fn write(&self, out: &mut Writer<'_>) -> Result<(), TooSmall> {
        write_option(out, option::IA_ADDRESS, |out| {
            out.octets(&self.address.octets())?;
            out.u32(self.preferred_s)?;
            out.u32(self.valid_s)?;
            out.octets(self.options.octets())
        })
    }
}

/// A prefix of an IA_PD (section 21.22).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IaPrefix<'a> {
    /// Preferred lifetime in seconds.
    pub preferred_s: u32,
    /// Valid lifetime in seconds.
    pub valid_s: u32,
    /// Length in bits, 0 to 128.
    pub length: u8,
    /// The prefix; `::` where a client names a length alone.
    pub prefix: Ipv6Addr,
    /// Its options.
    pub options: Options<'a>,
}

impl<'a> IaPrefix<'a> {
    /// Reads the body of an option of this code; `None` also for a length of more than 128 bits.
    #[must_use]
    pub fn parse(body: &'a [u8]) -> Option<Self> {
        let (preferred_s, rest) = split_u32(body)?;
        let (valid_s, rest) = split_u32(rest)?;
        let (&length, rest) = rest.split_first()?;
        let (prefix, rest) = rest.split_first_chunk::<16>()?;
        let options = Options::parse(rest).ok()?;
        (length <= 128).then_some(Self {
            preferred_s,
            valid_s,
            length,
            prefix: Ipv6Addr::from_octets(*prefix),
            options,
        })
    }

    /// Writes the option.
    ///
    /// # Errors
    /// [`TooSmall`].
    pub fn write(&self, out: &mut Writer<'_>) -> Result<(), TooSmall> {
        write_option(out, option::IA_PREFIX, |out| {
            out.u32(self.preferred_s)?;
            out.u32(self.valid_s)?;
            out.u8(self.length)?;
            out.octets(&self.prefix.octets())?;
            out.octets(self.options.octets())
        })
    }
}

/// Writes a status code option.
///
/// # Errors
/// [`TooSmall`].
pub fn write_status(out: &mut Writer<'_>, code: u16, text: &str) -> Result<(), TooSmall> {
    write_option(out, option::STATUS, |out| {
        out.u16(code)?;
        out.octets(text.as_bytes())
    })
}

/// Reads the body of a status code option: the code, and the text, which is UTF-8 if the sender keeps to the RFC.
#[must_use]
pub fn parse_status(body: &[u8]) -> Option<(u16, &[u8])> {
    body.split_first_chunk::<2>().map(|(code, text)| (u16::from_be_bytes(*code), text))
}

/// True where the body of an option request names `code`.
#[must_use]
pub fn requests(body: &[u8], code: u16) -> bool {
    body.as_chunks::<2>().0.contains(&code.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address() -> impl Strategy<Value = Ipv6Addr> {
        any::<u128>().prop_map(Ipv6Addr::from_bits)
    }

    #[derive(Debug, Clone)]
    struct Built {
        kind: u8,
        transaction: u32,
        duid: Vec<u8>,
        ias: Vec<(u32, u32, u32, Ipv6Addr, u8, bool)>,
        unknown: (u16, Vec<u8>),
    }

    prop_compose! {
        fn built()(
            kind: u8,
            transaction in 0u32..1 << 24,
            duid in proptest::collection::vec(any::<u8>(), 3..DUID_MAX),
            ias in proptest::collection::vec((any::<u32>(), any::<u32>(), any::<u32>(), address(), 0u8..=128, any::<bool>()), 0..4),
            code in 100u16..,
            body in proptest::collection::vec(any::<u8>(), 0..40),
        ) -> Built {
            Built { kind, transaction, duid, ias, unknown: (code, body) }
        }
    }

    impl Built {
        fn write(&self, out: &mut Writer<'_>) -> Result<(), TooSmall> {
            write_header(out, self.kind, self.transaction)?;
            write_option(out, option::CLIENT_ID, |out| out.octets(&self.duid))?;
            for (iaid, t1_s, t2_s, address, length, pd) in &self.ias {
                write_option(out, if *pd { option::IA_PD } else { option::IA_NA }, |out| {
                    Ia { iaid: *iaid, t1_s: *t1_s, t2_s: *t2_s, options: Options::default() }.write(out)?;
                    let (preferred_s, valid_s, options) = (*t1_s, *t2_s, Options::default());
                    if *pd {
                        IaPrefix { preferred_s, valid_s, length: *length, prefix: *address, options }.write(out)?;
                    } else {
                        IaAddress { address: *address, preferred_s, valid_s, options }.write(out)?;
                    }
                    write_status(out, status::SUCCESS, "given")
                })?;
            }
            write_option(out, self.unknown.0, |out| out.octets(&self.unknown.1))
        }

        fn octets(&self) -> Vec<u8> {
            let mut buffer = [0u8; 800];
            let mut out = Writer::new(&mut buffer);
            self.write(&mut out).unwrap();
            out.written().to_vec()
        }
    }

    /// Reads everything that can be read in options, however deep.
    fn visit(options: Options<'_>) {
        for RawOption { code, body } in options.iter() {
            match code {
                option::IA_NA | option::IA_PD => {
                    if let Some(ia) = Ia::parse(body) {
                        visit(ia.options);
                    }
                }
                option::IA_ADDRESS => {
                    if let Some(address) = IaAddress::parse(body) {
                        visit(address.options);
                    }
                }
                option::IA_PREFIX => {
                    if let Some(prefix) = IaPrefix::parse(body) {
                        assert!(prefix.length <= 128);
                        visit(prefix.options);
                    }
                }
                _ => {
                    let _ = parse_status(body);
                    let _ = requests(body, 23);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_built_parses_back(built in built()) {
            let octets = built.octets();
            let message = Message::parse(&octets).unwrap();
            prop_assert_eq!((message.kind, message.transaction), (built.kind, built.transaction));
            prop_assert_eq!(message.options.first(option::CLIENT_ID), Some(&built.duid[..]));
            prop_assert_eq!(message.options.first(built.unknown.0), Some(&built.unknown.1[..]));
            let ias = message.options.iter().filter(|option| matches!(option.code, option::IA_NA | option::IA_PD));
            for (option, (iaid, t1, t2, address, length, pd)) in ias.zip(&built.ias) {
                let ia = Ia::parse(option.body).unwrap();
                prop_assert_eq!((ia.iaid, ia.t1_s, ia.t2_s), (*iaid, *t1, *t2));
                if *pd {
                    let prefix = IaPrefix::parse(ia.options.first(option::IA_PREFIX).unwrap()).unwrap();
                    prop_assert_eq!((prefix.prefix, prefix.length, prefix.preferred_s, prefix.valid_s), (*address, *length, *t1, *t2));
                } else {
                    let lease = IaAddress::parse(ia.options.first(option::IA_ADDRESS).unwrap()).unwrap();
                    prop_assert_eq!((lease.address, lease.preferred_s, lease.valid_s), (*address, *t1, *t2));
                }
                prop_assert_eq!(ia.options.first(option::STATUS).and_then(parse_status), Some((0, &b"given"[..])));
            }
        }

        #[test]
        fn what_parses_is_built_the_same(octets in proptest::collection::vec(any::<u8>(), 4..100)) {
            if let Ok(message) = Message::parse(&octets) {
                let mut buffer = [0u8; 100];
                let mut out = Writer::new(&mut buffer);
                write_header(&mut out, message.kind, message.transaction).unwrap();
                for RawOption { code, body } in message.options.iter() {
                    write_option(&mut out, code, |out| out.octets(body)).unwrap();
                }
                prop_assert_eq!(out.written(), &octets[..]);
            }
        }

        #[test]
        fn noise_is_refused_for_a_reason_that_holds(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
            match Message::parse(&octets) {
                Ok(message) => visit(message.options),
                Err(DhcpError::Truncated) => prop_assert!(octets.len() < 4),
                Err(DhcpError::Option) => {
                    let mut at = 4;
                    while at + 4 <= octets.len() {
                        at += 4 + usize::from(u16::from_be_bytes([octets[at + 2], octets[at + 3]]));
                    }
                    prop_assert!(at != octets.len());
                }
            }
        }

        #[test]
        fn too_short_to_read(built in built(), cut in 0usize..800) {
            let octets = built.octets();
            let cut = cut % octets.len();
            match Message::parse(&octets[..cut]) {
                Ok(message) => prop_assert_eq!(message.options.octets(), &octets[4..cut]),
                Err(error) => prop_assert_eq!(error, if cut < 4 { DhcpError::Truncated } else { DhcpError::Option }),
            }
        }

        #[test]
        fn too_small_to_write(built in built(), cut in 0usize..800) {
            let octets = built.octets();
            let mut buffer = vec![0u8; cut % octets.len()];
            let mut out = Writer::new(&mut buffer);
            prop_assert_eq!(built.write(&mut out), Err(TooSmall));
            // What is there is whole.
            prop_assert!(out.is_empty() || Message::parse(out.written()).is_ok());
        }

        #[test]
        fn a_changed_octet_keeps_the_contract(built in built(), at in 0usize..800, bits in 1u8..) {
            let mut octets = built.octets();
            let at = at % octets.len();
            octets[at] ^= bits;
            if let Ok(message) = Message::parse(&octets) { visit(message.options); }
        }
    }

    #[test]
    fn an_option_request_is_a_list_of_pairs() {
        assert!(requests(&[0, 23, 0, 24], 24));
        assert!(!requests(&[0, 23, 0, 24], 23 << 8));
        assert!(!requests(&[0, 23, 0], 0));
    }
}
