//! All that must be hard to guess, derived from one seed.

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// A generator whose outputs tell neither its seed nor the outputs to come: SHA-256 over seed and a serial number.
pub(crate) struct Random {
    seed: Zeroizing<[u8; 32]>,
    serial: u64,
}

impl Random {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self { seed: Zeroizing::new(seed), serial: 0 }
    }

    /// 16 octets never given before: a Request Authenticator must be unpredictable and unique (RFC 2865 section 3).
    pub(crate) fn octets(&mut self) -> [u8; 16] {
        self.serial = self.serial.wrapping_add(1);
        let digest: [u8; 32] =
            Sha256::new().chain_update(*self.seed).chain_update(self.serial.to_be_bytes()).finalize().into();
        let (first, _) = digest.split_first_chunk::<16>().unwrap_or((&[0; 16], &[]));
        *first
    }

    /// A number from 0 to 999,999.
    pub(crate) fn millionths(&mut self) -> u32 {
        let [a, b, c, d, ..] = self.octets();
        u32::from_be_bytes([a, b, c, d]) % 1_000_000
    }
}
