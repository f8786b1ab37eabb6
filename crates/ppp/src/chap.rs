//! CHAP with MD5 (RFC 1994): packets that the authenticator sends, and the check of a response.

use crate::events::Action;
use crate::negotiate::PACKET_OCTETS_MAX;
use crate::random::{Purpose, derive};
use bng_wire::ppp::auth::{ChapValue, chap_code};
use bng_wire::ppp::{PacketBuilder, protocol};
use md5::{Digest, Md5};
use subtle::ConstantTimeEq;

/// Octets of an MD5 response value.
pub(crate) const RESPONSE_OCTETS: usize = 16;

/// Octets of a message or a name that are sent at most, as many as PAP could carry.
const TEXT_OCTETS_MAX: usize = 255;

/// The value of this link's challenge of that number: unique and unpredictable (RFC 1994 section 2.3).
pub(crate) fn challenge_value(seed: u64, number: u32) -> [u8; 16] {
    derive(seed, Purpose::Challenge, number)
}

/// A Challenge.
pub(crate) fn challenge(id: u8, value: &[u8; 16], name: &[u8]) -> Action {
    let mut builder = PacketBuilder::new(chap_code::CHALLENGE, id, PACKET_OCTETS_MAX);
    let name = name.get(..TEXT_OCTETS_MAX).unwrap_or(name);
    // 17 + 255 octets always fit.
    let _ = ChapValue { value, name }.emit(&mut builder);
    Action::Send { protocol: protocol::CHAP, payload: builder.finish() }
}

/// A Success or Failure.
pub(crate) fn reply(code: u8, id: u8, message: &[u8]) -> Action {
    let mut builder = PacketBuilder::new(code, id, PACKET_OCTETS_MAX);
    builder.bytes_cut(message.get(..TEXT_OCTETS_MAX).unwrap_or(message));
    Action::Send { protocol: protocol::CHAP, payload: builder.finish() }
}

/// Checks a CHAP-MD5 response against a known password, in constant time (RFC 1994 section 4.1: MD5 over identifier,
/// secret and challenge).
#[must_use]
pub fn verify_chap_md5(id: u8, password: &[u8], challenge: &[u8], response: &[u8; 16]) -> bool {
    let expected: [u8; RESPONSE_OCTETS] =
        Md5::new().chain_update([id]).chain_update(password).chain_update(challenge).finalize().into();
    expected.ct_eq(response).into()
}
