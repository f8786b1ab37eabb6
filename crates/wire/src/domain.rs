//! Domain names as router advertisements (RFC 8106 section 5.2) and DHCPv6 (RFC 8415 section 10) carry them: labels with
//! a length octet in front (RFC 1035 section 3.1), never compressed.

/// The longest name, in octets as encoded.
pub const NAME_MAX: usize = 255;
/// The longest label.
pub const LABEL_MAX: usize = 63;

/// Why a text is no domain name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DomainError {
    /// No label at all, or one without a character.
    #[error("a label of the domain name is empty")]
    EmptyLabel,
    /// A label of more than 63 octets.
    #[error("a label of the domain name has more than 63 octets")]
    LongLabel,
    /// More than 255 octets as encoded.
    #[error("the domain name has more than 255 octets")]
    LongName,
    /// A character other than letters, digits, hyphen and underscore: names of other scripts are given in their ASCII
    /// form.
    #[error("the domain name holds a character that is no letter, digit, hyphen or underscore")]
    Character,
}

/// Appends `name` (a last dot may be left out) to `out` as encoded.
///
/// # Errors
/// [`DomainError`]; `out` is then as it was.
pub fn encode(name: &str, out: &mut Vec<u8>) -> Result<(), DomainError> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let mut encoded = Vec::with_capacity(name.len().saturating_add(2));
    for label in name.split('.') {
        if label.is_empty() {
            return Err(DomainError::EmptyLabel);
        }
        let length = u8::try_from(label.len()).ok().filter(|length| usize::from(*length) <= LABEL_MAX);
        encoded.push(length.ok_or(DomainError::LongLabel)?);
        if !label.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'-' || octet == b'_') {
            return Err(DomainError::Character);
        }
        encoded.extend_from_slice(label.as_bytes());
    }
    encoded.push(0);
    if encoded.len() > NAME_MAX {
        return Err(DomainError::LongName);
    }
    out.extend_from_slice(&encoded);
    Ok(())
}

/// Takes the next name off a list of encoded ones, as text without the last dot, and leaves the rest in `list`. `None`
/// at the end, at padding (an empty name) and where what follows is no uncompressed name.
pub fn decode(list: &mut &[u8]) -> Option<String> {
    let mut rest = *list;
    let mut name = String::new();
    loop {
        let (length, behind) = rest.split_first()?;
        if *length == 0 {
            *list = behind;
            return (!name.is_empty()).then_some(name);
        }
        if usize::from(*length) > LABEL_MAX || name.len() > NAME_MAX {
            return None;
        }
        let (label, behind) = behind.split_at_checked(usize::from(*length))?;
        if !name.is_empty() {
            name.push('.');
        }
        name.push_str(core::str::from_utf8(label).ok()?);
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_encoded_decodes(names in proptest::collection::vec("[a-z0-9_-]{1,20}(\\.[a-z0-9-]{1,20}){0,4}", 0..5)) {
            let mut list = Vec::new();
            for name in &names { encode(name, &mut list).unwrap(); }
            let mut rest = &list[..];
            let back: Vec<String> = std::iter::from_fn(|| decode(&mut rest)).collect();
            prop_assert_eq!(back, names);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn noise_ends_the_list(octets in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut rest = &octets[..];
            while let Some(name) = decode(&mut rest) { prop_assert!(name.len() <= NAME_MAX + LABEL_MAX + 1); }
        }
    }

    #[test]
    fn names_that_are_none() {
        let mut out = vec![9];
        assert_eq!(encode("", &mut out), Err(DomainError::EmptyLabel));
        assert_eq!(encode("a..b", &mut out), Err(DomainError::EmptyLabel));
        assert_eq!(encode(&"a".repeat(64), &mut out), Err(DomainError::LongLabel));
        assert_eq!(encode(&["a"; 128].join("."), &mut out), Err(DomainError::LongName));
        assert_eq!(encode("a b", &mut out), Err(DomainError::Character));
        assert_eq!(out, [9]);
        encode("example.net.", &mut out).unwrap();
        assert_eq!(out[1..], *b"\x07example\x03net\x00");
    }
}
