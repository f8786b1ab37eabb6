//! MS-CHAP-2 (RFC 2759): the fields of a response, the check of it, and the messages of Success and Failure.

use des::Des;
use des::cipher::{BlockCipherEncrypt, KeyInit};
use md4::Md4;
use sha1::{Digest, Sha1};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Octets of a response value (RFC 2759 section 4).
pub(crate) const VALUE_OCTETS: usize = 49;

/// The value field of a Response (RFC 2759 section 4).
///
/// ```text
/// 16 octets Peer-Challenge | 8 reserved | 24 NT-Response | 1 Flags
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) peer_challenge: [u8; 16],
    pub(crate) nt_response: [u8; 24],
    pub(crate) flags: u8,
}

impl Response {
    /// `None`: not the 49 octets that it has to be. The reserved octets are not looked at.
    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
        let value: &[u8; VALUE_OCTETS] = value.try_into().ok()?;
        let (peer_challenge, rest) = value.split_first_chunk::<16>()?;
        let (_reserved, rest) = rest.split_first_chunk::<8>()?;
        let (nt_response, rest) = rest.split_first_chunk::<24>()?;
        let [flags] = rest.try_into().ok()?;
        Some(Self { peer_challenge: *peer_challenge, nt_response: *nt_response, flags })
    }
}

/// Checks an MS-CHAP-2 response against a known password, in constant time. `Some` is the authenticator's response
/// that the Success message must begin with: `S=` and 40 hexadecimal digits (RFC 2759 section 8.7). A password that
/// is not UTF-8 is taken as Latin-1.
#[must_use]
pub fn verify_ms_chap_v2(
    name: &[u8],
    password: &[u8],
    challenge: &[u8; 16],
    peer_challenge: &[u8; 16],
    nt_response: &[u8; 24],
) -> Option<String> {
    let hash = nt_password_hash(password);
    let challenge = challenge_hash(peer_challenge, challenge, name);
    let right: bool = challenge_response(&challenge, &hash).ct_eq(nt_response).into();
    right.then(|| authenticator_response(&hash, nt_response, &challenge))
}

/// RFC 2759 section 8.2. Only the user name counts, not a domain in front of it.
fn challenge_hash(peer_challenge: &[u8; 16], challenge: &[u8; 16], name: &[u8]) -> [u8; 8] {
    let user = name.rsplit(|octet| *octet == b'\\').next().unwrap_or(name);
    let digest: [u8; 20] =
        Sha1::new().chain_update(peer_challenge).chain_update(challenge).chain_update(user).finalize().into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    [a, b, c, d, e, f, g, h]
}

/// RFC 2759 section 8.3: MD4 over the password in UTF-16, least significant octet first.
fn nt_password_hash(password: &[u8]) -> Zeroizing<[u8; 16]> {
    let mut md4 = Md4::new();
    match core::str::from_utf8(password) {
        Ok(text) => text.encode_utf16().for_each(|unit| md4.update(unit.to_le_bytes())),
        Err(_) => password.iter().for_each(|octet| md4.update([*octet, 0])),
    }
    Zeroizing::new(md4.finalize().into())
}

/// RFC 2759 section 8.5: the hash, padded to 21 octets, is three keys.
fn challenge_response(challenge: &[u8; 8], hash: &[u8; 16]) -> [u8; 24] {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *hash;
    let keys = [[a, b, c, d, e, f, g], [h, i, j, k, l, m, n], [o, p, 0, 0, 0, 0, 0]];
    let mut response = [0; 24];
    for (octets, key) in response.as_chunks_mut::<8>().0.iter_mut().zip(keys) {
        *octets = des_encrypt(*challenge, key);
    }
    response
}

/// RFC 2759 section 8.6: a key of 56 bits gets a parity bit, which DES ignores, behind each seven.
fn des_encrypt(clear: [u8; 8], key: [u8; 7]) -> [u8; 8] {
    let [a, b, c, d, e, f, g] = key;
    let bits = u64::from_be_bytes([0, a, b, c, d, e, f, g]);
    let shifts = [49u32, 42, 35, 28, 21, 14, 7, 0];
    let key = shifts.map(|shift| ((bits >> shift) as u8) << 1);
    let mut block = clear.into();
    Des::new(&key.into()).encrypt_block(&mut block);
    block.into()
}

/// RFC 2759 section 8.7, from the steps that have already been taken.
fn authenticator_response(hash: &[u8; 16], nt_response: &[u8; 24], challenge: &[u8; 8]) -> String {
    let hash_hash: [u8; 16] = Md4::new().chain_update(hash).finalize().into();
    let digest: [u8; 20] = Sha1::new()
        .chain_update(hash_hash)
        .chain_update(nt_response)
        .chain_update(b"Magic server to client signing constant")
        .finalize()
        .into();
    let digest: [u8; 20] = Sha1::new()
        .chain_update(digest)
        .chain_update(challenge)
        .chain_update(b"Pad to make it do more than one iteration")
        .finalize()
        .into();
    format!("S={}", hex_upper(&digest))
}

fn hex_upper(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02X}")).collect()
}

/// The message of a Failure (RFC 2759 section 6): as given if it is one, else error 691, "authentication failure",
/// no retry, with the challenge that the format wants and the given text.
pub(crate) fn failure_message(message: &[u8], challenge: &[u8; 16]) -> Vec<u8> {
    if message.starts_with(b"E=") {
        return message.to_vec();
    }
    let mut whole = format!("E=691 R=0 C={} V=3 M=", hex_upper(challenge)).into_bytes();
    whole.extend_from_slice(message);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 2759 section 9.2.
    const CHALLENGE: [u8; 16] =
        [0x5b, 0x5d, 0x7c, 0x7d, 0x7b, 0x3f, 0x2f, 0x3e, 0x3c, 0x2c, 0x60, 0x21, 0x32, 0x26, 0x26, 0x28];
    const PEER_CHALLENGE: [u8; 16] =
        [0x21, 0x40, 0x23, 0x24, 0x25, 0x5e, 0x26, 0x2a, 0x28, 0x29, 0x5f, 0x2b, 0x3a, 0x33, 0x7c, 0x7e];
    const NT_RESPONSE: [u8; 24] = [
        0x82, 0x30, 0x9e, 0xcd, 0x8d, 0x70, 0x8b, 0x5e, 0xa0, 0x8f, 0xaa, 0x39, 0x81, 0xcd, 0x83, 0x54, 0x42, 0x33,
        0x11, 0x4a, 0x3d, 0x85, 0xd6, 0xdf,
    ];

    #[test]
    fn the_example_of_the_rfc() {
        let check =
            |name: &[u8], password: &[u8]| verify_ms_chap_v2(name, password, &CHALLENGE, &PEER_CHALLENGE, &NT_RESPONSE);
        let right = Some(String::from("S=407A5589115FD0D6209F510FE9C04566932CDA56"));
        assert_eq!(check(b"User", b"clientPass"), right);
        assert_eq!(check(b"BIGCO\\User", b"clientPass"), right);
        assert_eq!(check(b"User", b"clientPast"), None);
        assert_eq!(check(b"user", b"clientPass"), None);
    }

    #[test]
    fn only_49_octets_are_a_response() {
        for octets in [0, 16, 48, 50] {
            assert_eq!(Response::parse(&vec![0; octets]), None);
        }
        let value: Vec<u8> = (0..49).collect();
        let response = Response::parse(&value).unwrap();
        assert_eq!((response.peer_challenge[0], response.nt_response[0], response.flags), (0, 24, 48));
    }

    #[test]
    fn a_failure_message_is_kept_or_made() {
        assert_eq!(failure_message(b"E=648 R=0", &CHALLENGE), b"E=648 R=0");
        assert_eq!(failure_message(b"no", &CHALLENGE), b"E=691 R=0 C=5B5D7C7D7B3F2F3E3C2C602132262628 V=3 M=no");
    }
}
