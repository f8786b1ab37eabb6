//! A text that must never be printed.

use core::fmt;

use zeroize::Zeroizing;

/// A password or shared secret. Its memory is overwritten when it is dropped, and neither `Debug` nor `Display` shows
/// it: only [`Secret::expose`] does, so that a search for that word finds every use.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes the text over.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The text itself. The caller must not log, print or copy it further than it has to.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// True for the empty text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_does_not_show_the_secret() {
        let secret = Secret::new("hunter2".into());
        assert_eq!(format!("{secret:?}"), "[redacted]");
        assert_eq!(format!("{:?}", Some(&secret)), "Some([redacted])");
        assert_eq!(secret.expose(), "hunter2");
        assert!(!secret.is_empty());
    }
}
