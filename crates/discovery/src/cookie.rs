//! The AC-Cookie: proof that a client receives what is sent to its address, with nothing kept for it here
//! (RFC 2516 section 9 and Appendix A, 0x0104).
//!
//! A cookie is the second it was made in, four octets, then HMAC-SHA-256 over that and the line (MAC address, port, VLANs),
//! truncated to its left 16 octets: half the hash's length, the least that RFC 2104 section 5 advises.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use bng_wire::{Line, VlanTag};

use crate::outcome::RequestFingerprint;

/// Octets of the time in a cookie.
const TIME_LEN: usize = 4;
/// Octets of the truncated authenticator.
const TRUNCATED_LEN: usize = 16;
/// Octets of a cookie.
pub const COOKIE_LEN: usize = TIME_LEN + TRUNCATED_LEN;
/// The block of SHA-256: a shorter key is filled up with zeros to it (RFC 2104 section 2).
const BLOCK_LEN: usize = 64;

/// Keeps the uses of a key apart.
const PURPOSE_COOKIE: u8 = 1;
const PURPOSE_FINGERPRINT: u8 = 2;
const PURPOSE_SECRET: u8 = 3;

/// Why a cookie is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CookieError {
    /// Not made with one of the two keys for this line, or not a cookie at all.
    Bad,
    /// Made here, but too long ago.
    Expired,
}

/// The keyed hash, its first block done.
#[derive(Clone)]
struct Key(Hmac<Sha256>);

impl Key {
    fn new(octets: &[u8; 32]) -> Self {
        let mut block = [0; BLOCK_LEN];
        for (to, from) in block.iter_mut().zip(octets) {
            *to = *from;
        }
        Self(Hmac::new(&block.into()))
    }

    fn authenticator(&self, line: &Line, time: [u8; TIME_LEN]) -> [u8; TRUNCATED_LEN] {
        let mut mac = self.0.clone();
        mac.update(&[PURPOSE_COOKIE, line.port.0]);
        mac.update(&time);
        mac.update(&line.peer_mac.0);
        // A priority tag is no VLAN, and priorities may change between PADI and PADR: neither is covered.
        for tag in [line.vlans.outer, line.vlans.inner] {
            let tag = tag.filter(|tag| tag.vid() != 0).unwrap_or(VlanTag { tpid: 0, tci: 0 });
            mac.update(&tag.tpid.to_be_bytes());
            mac.update(&tag.vid().to_be_bytes());
        }
        left(mac)
    }
}

/// The left octets of an authenticator.
fn left<const LEN: usize>(mac: Hmac<Sha256>) -> [u8; LEN] {
    let mut out = [0; LEN];
    for (to, from) in out.iter_mut().zip(mac.finalize().into_bytes()) {
        *to = from;
    }
    out
}

/// The current key and the one before it.
pub(crate) struct Keys {
    current: Key,
    previous: Option<Key>,
    fingerprint: Key,
}

impl Keys {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        Self { current: Key::new(key), previous: None, fingerprint: Key::new(&[0; 32]) }
    }

    /// Two secret numbers for a purpose that has nothing to do with cookies.
    pub(crate) fn secret(&self, purpose: u8) -> [u64; 2] {
        let mut mac = self.current.0.clone();
        mac.update(&[PURPOSE_SECRET, purpose]);
        let octets: [u8; 16] = left(mac);
        let number = u128::from_be_bytes(octets);
        [(number >> 64) as u64, number as u64]
    }

    pub(crate) fn rotate(&mut self, key: &[u8; 32]) {
        self.previous = Some(core::mem::replace(&mut self.current, Key::new(key)));
    }

    /// Makes the cookie of a line at a time in seconds.
    pub(crate) fn make(&self, line: &Line, now_s: u32) -> [u8; COOKIE_LEN] {
        let time = now_s.to_be_bytes();
        let mut cookie = [0; COOKIE_LEN];
        for (to, from) in cookie.iter_mut().zip(time.into_iter().chain(self.current.authenticator(line, time))) {
            *to = from;
        }
        cookie
    }

    /// Checks a cookie that came over a line.
    pub(crate) fn check(&self, line: &Line, cookie: &[u8], now_s: u32, lifetime_s: u32) -> Result<(), CookieError> {
        let Some((&time, authenticator)) = cookie.split_first_chunk::<TIME_LEN>() else {
            return Err(CookieError::Bad);
        };
        // In constant time, so that a forger learns nothing from how long a refusal takes. A wrong length is no secret.
        let made_with = |key: &Key| bool::from(key.authenticator(line, time).as_slice().ct_eq(authenticator));
        if !made_with(&self.current) && !self.previous.as_ref().is_some_and(made_with) {
            return Err(CookieError::Bad);
        }
        // The clock wraps after 136 years; a time ahead of it is the distant past, hence expired.
        if now_s.wrapping_sub(u32::from_be_bytes(time)) > lifetime_s {
            return Err(CookieError::Expired);
        }
        Ok(())
    }

    /// Tells a request and its repetitions from others of the same line.
    pub(crate) fn fingerprint(&self, cookie: &[u8], host_uniq: Option<&[u8]>) -> RequestFingerprint {
        // A key of its own that never changes: a rotation between a request and its repetition must not part them, and a
        // client can confuse only its own requests. What a forger cannot know is in the cookie.
        let mut mac = self.fingerprint.0.clone();
        mac.update(&[PURPOSE_FINGERPRINT, u8::from(host_uniq.is_some())]);
        mac.update(cookie);
        mac.update(host_uniq.unwrap_or_default());
        RequestFingerprint(u64::from_be_bytes(left(mac)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bng_wire::{MacAddr, PortIndex, VlanStack};

    fn line() -> Line {
        let tag = |tpid, tci| Some(VlanTag { tpid, tci });
        let vlans = VlanStack { outer: tag(0x88a8, 100), inner: tag(0x8100, 200) };
        Line { port: PortIndex(3), vlans, peer_mac: MacAddr([2, 0, 0, 0, 0, 1]) }
    }

    #[test]
    fn a_cookie_is_good_for_its_line_and_lifetime_only() {
        let keys = Keys::new(&[7; 32]);
        let cookie = keys.make(&line(), 1000);
        assert_eq!(keys.check(&line(), &cookie, 1000, 60), Ok(()));
        assert_eq!(keys.check(&line(), &cookie, 1060, 60), Ok(()));
        assert_eq!(keys.check(&line(), &cookie, 1061, 60), Err(CookieError::Expired));
        assert_eq!(keys.check(&line(), &cookie, 999, 60), Err(CookieError::Expired));

        let tag = |tpid, tci| Some(VlanTag { tpid, tci });
        let other_vlans = [
            VlanStack { outer: tag(0x88a8, 101), inner: tag(0x8100, 200) },
            VlanStack { outer: tag(0x88a8, 100), inner: tag(0x8100, 201) },
            VlanStack { outer: tag(0x8100, 100), inner: tag(0x8100, 200) },
            VlanStack { outer: tag(0x88a8, 100), inner: None },
            VlanStack::default(),
        ];
        for vlans in other_vlans {
            assert_eq!(keys.check(&Line { vlans, ..line() }, &cookie, 1000, 60), Err(CookieError::Bad));
        }
        for other in [Line { port: PortIndex(4), ..line() }, Line { peer_mac: MacAddr([2, 0, 0, 0, 0, 2]), ..line() }] {
            assert_eq!(keys.check(&other, &cookie, 1000, 60), Err(CookieError::Bad));
        }
    }

    #[test]
    fn priority_is_not_covered() {
        let keys = Keys::new(&[7; 32]);
        let cookie = keys.make(&line(), 1000);
        let mut other = line();
        other.vlans.outer = Some(VlanTag { tpid: 0x88a8, tci: 0xa000 | 100 });
        assert_eq!(keys.check(&other, &cookie, 1000, 60), Ok(()));
        let untagged = Line { vlans: VlanStack::default(), ..line() };
        let cookie = keys.make(&untagged, 1000);
        let vlans = VlanStack { outer: Some(VlanTag { tpid: 0x8100, tci: 0xa000 }), inner: None };
        assert_eq!(keys.check(&Line { vlans, ..line() }, &cookie, 1000, 60), Ok(()));
    }

    #[test]
    fn every_octet_and_the_length_count() {
        let keys = Keys::new(&[7; 32]);
        let cookie = keys.make(&line(), 1000);
        for at in 0..COOKIE_LEN {
            let mut forged = cookie;
            forged[at] ^= 1;
            assert_eq!(keys.check(&line(), &forged, 1000, 60), Err(CookieError::Bad), "octet {at}");
            assert_eq!(keys.check(&line(), &cookie[..at], 1000, 60), Err(CookieError::Bad), "{at} octets");
        }
        assert_eq!(keys.check(&line(), &[&cookie[..], &[0]].concat(), 1000, 60), Err(CookieError::Bad));
    }

    #[test]
    fn the_previous_key_is_good_and_the_one_before_is_not() {
        let mut keys = Keys::new(&[1; 32]);
        let cookie = keys.make(&line(), 1000);
        keys.rotate(&[2; 32]);
        assert_eq!(keys.check(&line(), &cookie, 1001, 60), Ok(()));
        assert_ne!(keys.make(&line(), 1000), cookie);
        keys.rotate(&[3; 32]);
        assert_eq!(keys.check(&line(), &cookie, 1001, 60), Err(CookieError::Bad));
    }

    /// The value is HMAC-SHA-256 as RFC 2104 has it: computed with another implementation, it must stay the same over a
    /// restart with the same key.
    #[test]
    fn the_cookie_is_hmac_sha_256() {
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&[7; 32]).unwrap();
        mac.update(&[1, 3, 0, 0, 3, 0xe8, 2, 0, 0, 0, 0, 1, 0x88, 0xa8, 0, 100, 0x81, 0, 0, 200]);
        let cookie = Keys::new(&[7; 32]).make(&line(), 1000);
        assert_eq!(cookie[..4], [0, 0, 3, 0xe8]);
        assert_eq!(cookie[4..], mac.finalize().into_bytes()[..16]);
    }

    #[test]
    fn fingerprints_part_requests_and_keep_repetitions_together() {
        let mut keys = Keys::new(&[1; 32]);
        let cookie = keys.make(&line(), 1000);
        let first = keys.fingerprint(&cookie, Some(b"a"));
        assert_ne!(first, keys.fingerprint(&cookie, Some(b"b")));
        assert_ne!(first, keys.fingerprint(&cookie, None));
        assert_ne!(keys.fingerprint(&cookie, Some(b"")), keys.fingerprint(&cookie, None));
        assert_ne!(first, keys.fingerprint(&keys.make(&line(), 1001), Some(b"a")));
        keys.rotate(&[2; 32]);
        assert_eq!(first, keys.fingerprint(&cookie, Some(b"a")));
    }
}
