//! All that must be hard to guess on a link, derived from its seed.

use md5::{Digest, Md5};

/// What a derived value is for; values with different purposes are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Purpose {
    /// First identifiers of the protocols and the first jitter.
    Identifiers = 1,
    /// This side's magic numbers.
    Magic = 2,
    /// Magic numbers suggested to the client.
    SuggestedMagic = 3,
    /// CHAP challenges.
    Challenge = 4,
    /// Interface identifiers suggested to the client.
    InterfaceId = 5,
}

/// 16 octets for a purpose and a serial number: MD5 of seed, purpose and number, so that values already shown tell
/// neither the seed nor those to come.
pub(crate) fn derive(seed: u64, purpose: Purpose, serial: u32) -> [u8; 16] {
    Md5::new()
        .chain_update(seed.to_be_bytes())
        .chain_update([purpose as u8])
        .chain_update(serial.to_be_bytes())
        .finalize()
        .into()
}

/// The first four octets of [`derive`] as a number that is not 0.
pub(crate) fn derive_u32(seed: u64, purpose: Purpose, serial: u32) -> u32 {
    let [a, b, c, d, ..] = derive(seed, purpose, serial);
    u32::from_be_bytes([a, b, c, d]).max(1)
}
