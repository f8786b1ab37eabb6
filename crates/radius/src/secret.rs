//! Octets that must not be shown.

use core::fmt;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// A shared secret or a password: debug output hides it, memory is cleared when it is dropped, and comparing takes the
/// same time whatever differs (two lengths apart).
#[derive(Clone, Default)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes a copy of the octets.
    #[must_use]
    pub fn new(octets: &[u8]) -> Self {
        Self(Zeroizing::new(octets.to_vec()))
    }

    /// The octets themselves.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(..)")
    }
}
