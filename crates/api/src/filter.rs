//! Which sessions are meant.

use core::fmt;
use core::str::FromStr;
use std::net::IpAddr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{SessionState, SessionView};

/// What is wrong with the text of a filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// Not a MAC address.
    #[error("`{0}` is not a MAC address: write six two-digit hexadecimal octets, for example 02:00:00:00:00:01")]
    Mac(String),
    /// Not a VLAN, or a pair of them.
    #[error("`{0}` is not a VLAN: write the outer id (100), or outer and inner (100.7), or `none` for untagged")]
    Vlan(String),
    /// Not a state of a session.
    #[error("`{0}` is not a state: write link, authenticating, network, up or closing")]
    State(String),
}

/// VLANs of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VlanFilter {
    /// No tag at all.
    Untagged,
    /// This outer VLAN, whatever the inner one.
    Outer(u16),
    /// This outer and this inner VLAN.
    Both(u16, u16),
}

/// Which sessions are meant: those that match every field that is given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionFilter {
    /// The session's id (see [`SessionView::id`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The user's name; `*` stands for any text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The client's MAC address: read in any of the usual notations, kept in lower case with colons.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "mac")]
    pub mac: Option<String>,
    /// An address that the client has, or that lies in a prefix of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<IpAddr>,
    /// VLANs: `100`, `100.7`, or `none` for untagged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<VlanFilter>,
    /// Agent Circuit ID; `*` stands for any text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub circuit_id: Option<String>,
    /// The access port's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// Where the session is in its life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
    /// How many to return at most; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// How many of those that match to skip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

impl SessionFilter {
    /// True if it names nothing and so means every session.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self { limit: self.limit, offset: self.offset, ..Self::default() }
    }

    /// True if `session` is meant. `limit` and `offset` play no part.
    #[must_use]
    pub fn matches(&self, session: &SessionView) -> bool {
        let text = |pattern: &Option<String>, value: Option<&str>| match (pattern, value) {
            (None, _) => true,
            (Some(pattern), Some(value)) => glob(pattern, value),
            (Some(_), None) => false,
        };
        self.id.as_ref().is_none_or(|id| *id == session.id)
            && text(&self.user, session.user.as_deref())
            && self.mac.as_ref().is_none_or(|mac| *mac == session.mac)
            && self.ip.is_none_or(|ip| has_address(session, ip))
            && self.vlan.is_none_or(|vlan| vlan.matches(session.outer_vlan, session.inner_vlan))
            && text(&self.circuit_id, session.circuit_id.as_deref())
            && self.port.as_ref().is_none_or(|port| *port == session.port)
            && self.state.is_none_or(|state| state == session.state)
    }
}

fn has_address(session: &SessionView, ip: IpAddr) -> bool {
    let within = |prefix: &Option<String>| prefix.as_deref().is_some_and(|prefix| prefix_contains(prefix, ip));
    match ip {
        IpAddr::V4(address) => session.ipv4 == Some(address),
        IpAddr::V6(_) => within(&session.ipv6_prefix) || within(&session.delegated_prefix),
    }
}

fn prefix_contains(prefix: &str, ip: IpAddr) -> bool {
    let Some((address, length)) = prefix.split_once('/') else { return false };
    let (Ok(IpAddr::V6(address)), IpAddr::V6(ip), Ok(length)) = (address.parse(), ip, length.parse::<u32>()) else {
        return false;
    };
    let shift = 128u32.saturating_sub(length);
    let cut = |bits: u128| bits.checked_shr(shift).unwrap_or(0);
    cut(address.to_bits()) == cut(ip.to_bits())
}

/// True if `value` is `pattern`, in which each `*` stands for any text.
fn glob(pattern: &str, value: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = value.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        // The leftmost place is always good enough: what follows may begin anywhere behind it.
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    true
}

impl VlanFilter {
    /// True if these are the VLANs meant; `None` is a tag that is not there.
    #[must_use]
    pub fn matches(self, outer: Option<u16>, inner: Option<u16>) -> bool {
        match self {
            Self::Untagged => outer.is_none(),
            Self::Outer(vid) => outer == Some(vid),
            Self::Both(vid, inner_vid) => outer == Some(vid) && inner == Some(inner_vid),
        }
    }
}

impl FromStr for VlanFilter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let vid = |part: &str| match part.parse::<u16>() {
            Ok(vid @ 1..=4094) => Ok(vid),
            _ => Err(FilterError::Vlan(text.into())),
        };
        if text == "none" {
            return Ok(Self::Untagged);
        }
        match text.split_once('.') {
            Some((outer, inner)) => Ok(Self::Both(vid(outer)?, vid(inner)?)),
            None => vid(text).map(Self::Outer),
        }
    }
}

impl fmt::Display for VlanFilter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untagged => out.write_str("none"),
            Self::Outer(outer) => write!(out, "{outer}"),
            Self::Both(outer, inner) => write!(out, "{outer}.{inner}"),
        }
    }
}

impl Serialize for VlanFilter {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for VlanFilter {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

impl FromStr for SessionState {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or_else(|| FilterError::State(text.into()))
    }
}

/// Reads a MAC address in any of the usual notations (`02:00:00:00:00:01`, `02-00-...`, `0200.0000.0001`,
/// `020000000001`) and writes it in lower case with colons.
///
/// # Errors
/// [`FilterError::Mac`] for anything else.
pub fn normalize_mac(text: &str) -> Result<String, FilterError> {
    let digits: Vec<char> = text.chars().filter(|c| !matches!(c, ':' | '-' | '.')).collect();
    if digits.len() != 12 || !digits.iter().all(char::is_ascii_hexdigit) {
        return Err(FilterError::Mac(text.into()));
    }
    let octets: Vec<String> =
        digits.chunks(2).map(|pair| pair.iter().collect::<String>().to_ascii_lowercase()).collect();
    Ok(octets.join(":"))
}

fn mac<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Option::<String>::deserialize(from)?.map(|text| normalize_mac(&text)).transpose().map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, value, expected) in [
            ("", "", true),
            ("", "a", false),
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("*", "abc", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("*b*", "abc", true),
            ("a*c", "ac", true),
            ("a*a", "a", false),
            ("*ab*ab", "abab", true),
            ("*ab*ab", "ab", false),
            ("a**c", "abc", true),
            ("*.example.net", "a.example.com", false),
        ] {
            assert_eq!(glob(pattern, value), expected, "{pattern} {value}");
        }
    }

    #[test]
    fn mac_addresses_in_every_usual_notation() {
        for text in ["02:00:5E:00:00:01", "02-00-5e-00-00-01", "0200.5e00.0001", "02005e000001"] {
            assert_eq!(normalize_mac(text).as_deref(), Ok("02:00:5e:00:00:01"), "{text}");
        }
        for text in ["", "02:00:5e:00:00", "02:00:5e:00:00:0g", "02:00:5e:00:00:01:02"] {
            assert_eq!(normalize_mac(text), Err(FilterError::Mac(text.into())));
        }
    }

    #[test]
    fn vlans_are_one_or_two_or_none() {
        for (text, filter) in
            [("none", VlanFilter::Untagged), ("100", VlanFilter::Outer(100)), ("100.7", VlanFilter::Both(100, 7))]
        {
            assert_eq!(text.parse(), Ok(filter));
            assert_eq!(filter.to_string(), text);
        }
        for text in ["", "0", "4095", "100.", ".7", "100.0", "1.2.3", "x", "-1"] {
            assert!(text.parse::<VlanFilter>().is_err(), "{text}");
        }
        assert!(VlanFilter::Outer(100).matches(Some(100), Some(7)));
        assert!(!VlanFilter::Both(100, 7).matches(Some(100), None));
        assert!(VlanFilter::Untagged.matches(None, None));
    }

    #[test]
    fn limit_and_offset_name_no_session() {
        assert!(SessionFilter { limit: Some(1), offset: Some(2), ..SessionFilter::default() }.is_empty());
        assert!(!SessionFilter { port: Some("a".into()), ..SessionFilter::default() }.is_empty());
    }

    /// The same question, answered the slow way.
    fn glob_by_trying(pattern: &[char], value: &[char]) -> bool {
        match pattern.split_first() {
            None => value.is_empty(),
            Some(('*', rest)) => (0..=value.len()).any(|skip| glob_by_trying(rest, &value[skip..])),
            Some((first, rest)) => {
                value.split_first().is_some_and(|(c, value)| c == first && glob_by_trying(rest, value))
            }
        }
    }

    proptest! {
        #[test]
        fn a_pattern_means_what_trying_everything_says(pattern in "[ab\u{e9}*]{0,6}", value in "[ab\u{e9}]{0,8}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(glob(&pattern, &value), glob_by_trying(&chars(&pattern), &chars(&value)));
        }

        #[test]
        fn a_filter_goes_there_and_back_as_json(user in proptest::option::of("\\PC{0,12}"), vid in 1u16..=4094, state in 0usize..5) {
            let filter = SessionFilter {
                user,
                vlan: Some(VlanFilter::Outer(vid)),
                state: Some(SessionState::ALL[state]),
                ..SessionFilter::default()
            };
            let text = serde_json::to_string(&filter).unwrap();
            prop_assert_eq!(serde_json::from_str::<SessionFilter>(&text).unwrap(), filter);
        }
    }
}
