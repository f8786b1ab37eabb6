//! What proves that a packet is from who it says, and what hides a password. Comparisons take constant time.

use hmac::{Hmac, KeyInit, Mac};
use md5::{Digest, Md5};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::packet::{HEADER_OCTETS, Packet};
use crate::secret::Secret;

/// The longest password that User-Password carries (RFC 2865 section 5.2).
pub const PASSWORD_OCTETS_MAX: usize = 128;

/// The Response Authenticator of a reply: MD5 over it with the request's authenticator in place of its own, and the
/// secret (RFC 2865 section 3).
#[must_use]
pub fn response_authenticator(reply: &[u8], request_authenticator: &[u8; 16], secret: &Secret) -> [u8; 16] {
    Md5::new()
        .chain_update(reply.get(..4).unwrap_or_default())
        .chain_update(request_authenticator)
        .chain_update(reply.get(HEADER_OCTETS..).unwrap_or_default())
        .chain_update(secret.expose())
        .finalize()
        .into()
}

/// The Request Authenticator of Accounting-Requests (RFC 2866 section 3), CoA- and Disconnect-Requests (RFC 5176
/// section 2.3): as above with 16 zero octets.
#[must_use]
pub fn accounting_authenticator(request: &[u8], secret: &Secret) -> [u8; 16] {
    response_authenticator(request, &[0; 16], secret)
}

/// Message-Authenticator: HMAC-MD5 over the packet with `authenticator` in place of its own and zeros in place of the
/// value that begins at `at` (RFC 3579 section 3.2).
#[must_use]
pub fn message_authenticator(packet: &[u8], authenticator: &[u8; 16], at: usize, secret: &Secret) -> [u8; 16] {
    // A key of any length is taken: the error cannot come, and a digest of zeros would fit no packet.
    let Ok(mut mac) = <Hmac<Md5> as KeyInit>::new_from_slice(secret.expose()) else { return [0; 16] };
    mac.update(packet.get(..4).unwrap_or_default());
    mac.update(authenticator);
    mac.update(packet.get(HEADER_OCTETS..at).unwrap_or_default());
    mac.update(&[0; 16]);
    mac.update(packet.get(at.saturating_add(16)..).unwrap_or_default());
    mac.finalize().into_bytes().into()
}

/// Whether a reply's Response Authenticator is right.
#[must_use]
pub fn verify_response(reply: &Packet<'_>, request_authenticator: &[u8; 16], secret: &Secret) -> bool {
    let expected = response_authenticator(reply.octets(), request_authenticator, secret);
    expected.ct_eq(reply.authenticator()).into()
}

/// Whether the Request Authenticator of an accounting, CoA or Disconnect request is right.
#[must_use]
pub fn verify_request(request: &Packet<'_>, secret: &Secret) -> bool {
    accounting_authenticator(request.octets(), secret).ct_eq(request.authenticator()).into()
}

/// Whether the packet's Message-Authenticator is right; `None`: it has none. `authenticator` is that of the request
/// for a reply, the packet's own for an Access-Request, and zeros for accounting, CoA and Disconnect requests.
#[must_use]
pub fn verify_message_authenticator(packet: &Packet<'_>, authenticator: &[u8; 16], secret: &Secret) -> Option<bool> {
    let at = packet.message_authenticator_at()?;
    let value = packet.octets().get(at..at.saturating_add(16))?;
    Some(message_authenticator(packet.octets(), authenticator, at, secret).ct_eq(value).into())
}

/// The value of User-Password (RFC 2865 section 5.2). `None`: longer than 128 octets.
#[must_use]
pub fn hide_password(password: &Secret, authenticator: &[u8; 16], secret: &Secret) -> Option<Vec<u8>> {
    let password = password.expose();
    if password.len() > PASSWORD_OCTETS_MAX {
        return None;
    }
    // At least one block, also for an empty password: the attribute is 16 to 128 octets.
    let mut padded = Zeroizing::new(password.to_vec());
    padded.resize(password.len().div_ceil(16).max(1).saturating_mul(16), 0);
    Some(chain(&padded, authenticator, secret, |_, hidden| *hidden))
}

/// The octets behind a User-Password, padding removed. `None`: a length that it cannot have.
#[must_use]
pub fn reveal_password(hidden: &[u8], authenticator: &[u8; 16], secret: &Secret) -> Option<Secret> {
    if hidden.is_empty() || hidden.len() > PASSWORD_OCTETS_MAX || !hidden.len().is_multiple_of(16) {
        return None;
    }
    let padded = Zeroizing::new(chain(hidden, authenticator, secret, |hidden, _| *hidden));
    let end = padded.iter().rposition(|octet| *octet != 0).map_or(0, |last| last.saturating_add(1));
    Some(Secret::new(padded.get(..end)?))
}

/// XORs each block with MD5 over the secret and the hidden block before it; `next` says which of the two is that.
fn chain(
    octets: &[u8],
    authenticator: &[u8; 16],
    secret: &Secret,
    next: impl Fn(&[u8; 16], &[u8; 16]) -> [u8; 16],
) -> Vec<u8> {
    let mut before = *authenticator;
    let mut result = Vec::with_capacity(octets.len());
    for block in octets.as_chunks::<16>().0 {
        let mask: [u8; 16] = Md5::new().chain_update(secret.expose()).chain_update(before).finalize().into();
        let mut changed = *block;
        changed.iter_mut().zip(mask).for_each(|(octet, mask)| *octet ^= mask);
        before = next(block, &changed);
        result.extend_from_slice(&changed);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_authenticator_is_hmac_md5() {
        // RFC 2202 section 2, test case 2, is HMAC-MD5 itself; here the layout: octets 4..20 and the value replaced.
        let secret = Secret::new(b"Jefe");
        let packet: Vec<u8> = (0..60).collect();
        let mut plain = packet.clone();
        plain[4..20].copy_from_slice(&[7; 16]);
        plain[22..38].fill(0);
        let mut mac = <Hmac<Md5> as KeyInit>::new_from_slice(b"Jefe").unwrap();
        mac.update(&plain);
        let expected: [u8; 16] = mac.finalize().into_bytes().into();
        assert_eq!(message_authenticator(&packet, &[7; 16], 22, &secret), expected);
    }

    #[test]
    fn passwords_of_every_length_come_back() {
        let secret = Secret::new(b"xyzzy5461");
        for length in 0..=PASSWORD_OCTETS_MAX {
            let password = Secret::new(&vec![b'a'; length]);
            let hidden = hide_password(&password, &[9; 16], &secret).unwrap();
            assert_eq!(hidden.len(), length.div_ceil(16).max(1) * 16);
            assert_eq!(reveal_password(&hidden, &[9; 16], &secret), Some(password));
        }
        assert_eq!(hide_password(&Secret::new(&[1; 129]), &[9; 16], &secret), None);
        for length in [0, 1, 15, 17, 144] {
            assert_eq!(reveal_password(&vec![0; length], &[9; 16], &secret), None);
        }
    }

    #[test]
    fn secrets_do_not_show() {
        assert_eq!(format!("{:?}", Secret::new(b"hunter2")), "Secret(..)");
    }
}
