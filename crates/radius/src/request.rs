//! What an Access-Request says: who asks, from where, and how it proves itself.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::build::{AttributeList, DoesNotFit};
use crate::dictionary::{VENDOR_BROADBAND_FORUM, VENDOR_MICROSOFT, number};
use crate::secret::Secret;

/// Service-Type Framed (RFC 2865 section 5.6).
const SERVICE_TYPE_FRAMED: u32 = 2;
/// Framed-Protocol PPP (RFC 2865 section 5.7).
const FRAMED_PROTOCOL_PPP: u32 = 1;
/// The longest circuit id and remote id (RFC 4679 sections 3.3.1 and 3.3.2).
const IDENTITY_OCTETS_MAX: usize = 63;

/// How the box names itself, the same in every request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nas {
    /// NAS-Identifier, 0 to 253 octets; empty: not sent.
    pub identifier: Vec<u8>,
    /// NAS-IP-Address.
    pub ipv4: Option<Ipv4Addr>,
    /// NAS-IPv6-Address.
    pub ipv6: Option<Ipv6Addr>,
}

impl Nas {
    /// Adds what names the box.
    ///
    /// # Errors
    ///
    /// [`DoesNotFit`].
    pub fn write(&self, list: &mut AttributeList) -> Result<(), DoesNotFit> {
        text(list, number::NAS_IDENTIFIER, &self.identifier)?;
        if let Some(address) = self.ipv4 {
            list.push_ipv4(number::NAS_IP_ADDRESS, address)?;
        }
        if let Some(address) = self.ipv6 {
            list.push_ipv6(number::NAS_IPV6_ADDRESS, address)?;
        }
        Ok(())
    }
}

/// What is known of a session before it is authenticated. Empty texts are not sent. Formats are the owner's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subscriber {
    /// User-Name, 1 to 253 octets.
    pub user_name: Vec<u8>,
    /// Acct-Session-Id, unique across restarts.
    pub acct_session_id: Vec<u8>,
    /// NAS-Port.
    pub nas_port: Option<u32>,
    /// NAS-Port-Type: 32 PPPoEoE, 33 PPPoEoVLAN, 34 PPPoEoQinQ (RFC 4603), 15 Ethernet.
    pub nas_port_type: Option<u32>,
    /// NAS-Port-Id.
    pub nas_port_id: Vec<u8>,
    /// Calling-Station-Id.
    pub calling_station_id: Vec<u8>,
    /// Called-Station-Id.
    pub called_station_id: Vec<u8>,
    /// Framed-MTU in octets: what the link carries.
    pub framed_mtu: Option<u16>,
    /// The access node's sub-options in order: sub-type and value, sent as attributes of vendor 3561 with the same
    /// number and the same octets (RFC 4679 section 3.3). One that is empty, or a circuit or remote id of more than 63
    /// octets, is left out, never cut.
    pub line: Vec<(u8, Vec<u8>)>,
}

impl Subscriber {
    /// Adds what says who and where. Of the line, as much goes in as fits.
    ///
    /// # Errors
    ///
    /// [`DoesNotFit`]: a text is longer than 253 octets.
    pub fn write(&self, list: &mut AttributeList) -> Result<(), DoesNotFit> {
        list.push_integer(number::SERVICE_TYPE, SERVICE_TYPE_FRAMED)?;
        list.push_integer(number::FRAMED_PROTOCOL, FRAMED_PROTOCOL_PPP)?;
        text(list, number::ACCT_SESSION_ID, &self.acct_session_id)?;
        if let Some(port) = self.nas_port {
            list.push_integer(number::NAS_PORT, port)?;
        }
        if let Some(kind) = self.nas_port_type {
            list.push_integer(number::NAS_PORT_TYPE, kind)?;
        }
        text(list, number::NAS_PORT_ID, &self.nas_port_id)?;
        text(list, number::CALLING_STATION_ID, &self.calling_station_id)?;
        text(list, number::CALLED_STATION_ID, &self.called_station_id)?;
        for (kind, value) in &self.line {
            let identity = matches!(*kind, number::AGENT_CIRCUIT_ID | number::AGENT_REMOTE_ID);
            if !(identity && value.len() > IDENTITY_OCTETS_MAX) {
                // What does not fit is left out whole.
                let _ = list.push_vendor(VENDOR_BROADBAND_FORUM, *kind, value);
            }
        }
        Ok(())
    }
}

/// How a client proved who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// Not at all: the line itself is who it is. An empty User-Password is sent, since RFC 2865 section 4.1 wants one.
    None,
    /// PAP.
    Pap(Secret),
    /// CHAP with MD5.
    Chap {
        /// Identifier of the challenge.
        id: u8,
        /// Its value, 1 to 253 octets.
        challenge: Vec<u8>,
        /// The response.
        response: [u8; 16],
    },
    /// MS-CHAP-2.
    MsChapV2 {
        /// Identifier of the challenge.
        id: u8,
        /// Its value.
        challenge: [u8; 16],
        /// Peer-Challenge.
        peer_challenge: [u8; 16],
        /// NT-Response.
        nt_response: [u8; 24],
        /// Flags.
        flags: u8,
    },
}

/// The attributes of an Access-Request, and the password that goes into it hidden.
///
/// # Errors
///
/// [`DoesNotFit`]: a text is longer than its attribute, or the name is empty (P28: no attribute of length 2).
pub fn access_request(
    nas: &Nas,
    subscriber: &Subscriber,
    proof: &Proof,
    unix_s: u64,
) -> Result<(AttributeList, Option<Secret>), DoesNotFit> {
    let mut list = AttributeList::new();
    list.push(number::USER_NAME, &subscriber.user_name)?;
    let mut password = None;
    match proof {
        Proof::None => password = Some(Secret::default()),
        Proof::Pap(secret) => password = Some(secret.clone()),
        Proof::Chap { id, challenge, response } => {
            // RFC 2865 section 5.3. The challenge always goes into attribute 60 (section 5.40): the Request
            // Authenticator stays random.
            list.push(number::CHAP_PASSWORD, &[&[*id], &response[..]].concat())?;
            list.push(number::CHAP_CHALLENGE, challenge)?;
        }
        Proof::MsChapV2 { id, challenge, peer_challenge, nt_response, flags } => {
            // RFC 2548 sections 2.1.2 and 2.3.2.
            list.push_vendor(VENDOR_MICROSOFT, number::MS_CHAP_CHALLENGE, challenge)?;
            let value = [&[*id, *flags], &peer_challenge[..], &[0; 8], nt_response].concat();
            list.push_vendor(VENDOR_MICROSOFT, number::MS_CHAP2_RESPONSE, &value)?;
        }
    }
    nas.write(&mut list)?;
    list.push_integer(number::EVENT_TIMESTAMP, timestamp(unix_s))?;
    if let Some(mtu) = subscriber.framed_mtu {
        list.push_integer(number::FRAMED_MTU, mtu.into())?;
    }
    subscriber.write(&mut list)?;
    Ok((list, password))
}

/// Event-Timestamp's 32 bits (RFC 2869 section 5.3).
pub(crate) fn timestamp(unix_s: u64) -> u32 {
    u32::try_from(unix_s).unwrap_or(u32::MAX)
}

/// Adds a text unless it is empty.
pub(crate) fn text(list: &mut AttributeList, number: u8, value: &[u8]) -> Result<(), DoesNotFit> {
    if value.is_empty() { Ok(()) } else { list.push(number, value) }
}
