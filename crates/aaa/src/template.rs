//! Texts with places for what is known of a session.

use bng_wire::{Line, MacAddr, SessionId};

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A brace is not closed, or none was opened.
    #[error("a brace has no partner")]
    Brace,
    /// Not one of [`Template::WORDS`].
    #[error("`{{{0}}}` is not known")]
    Unknown(String),
}

macro_rules! places {
    ($($word:literal => $place:ident,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum Place {
            $($place,)*
        }

        impl Place {
            fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$place),)*
                    _ => None,
                }
            }
        }

        impl Template {
            /// The words that may stand in braces.
            pub const WORDS: &'static [&'static str] = &[$($word),*];
        }
    };
}

places! {
    "node" => Node,
    "port" => Port,
    "outer_vlan" => OuterVlan,
    "inner_vlan" => InnerVlan,
    "vlans" => Vlans,
    "session_id" => SessionId,
    "mac" => Mac,
    "mac_dash" => MacDash,
    "mac_dot" => MacDot,
    "mac_plain" => MacPlain,
    "local_mac" => LocalMac,
    "circuit_id" => CircuitId,
    "remote_id" => RemoteId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Place(Place),
}

/// A text with places in braces; `{{` and `}}` are braces themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

/// What a template is filled with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) node: &'a str,
    pub(crate) port: &'a str,
    pub(crate) line: &'a Line,
    pub(crate) session_id: SessionId,
    pub(crate) local_mac: MacAddr,
    pub(crate) circuit_id: Option<&'a [u8]>,
    pub(crate) remote_id: Option<&'a [u8]>,
}

impl std::str::FromStr for Template {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            literal.push_str(before);
            if let Some(behind) = from.strip_prefix("{{") {
                literal.push('{');
                rest = behind;
            } else if let Some(behind) = from.strip_prefix("}}") {
                literal.push('}');
                rest = behind;
            } else {
                let inside = from.strip_prefix('{').ok_or(TemplateError::Brace)?;
                let (word, behind) = inside.split_once('}').ok_or(TemplateError::Brace)?;
                let place = Place::from_word(word).ok_or_else(|| TemplateError::Unknown(word.to_owned()))?;
                if !literal.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut literal)));
                }
                parts.push(Part::Place(place));
                rest = behind;
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Self(parts))
    }
}

impl Template {
    /// The text for a session, cut at the 253 octets of an attribute.
    pub(crate) fn fill(&self, facts: &Facts<'_>) -> Vec<u8> {
        let mut text = Vec::new();
        for part in &self.0 {
            match part {
                Part::Text(literal) => text.extend_from_slice(literal.as_bytes()),
                Part::Place(place) => place.write(facts, &mut text),
            }
        }
        text.truncate(253);
        text
    }
}

impl Place {
    fn write(self, facts: &Facts<'_>, out: &mut Vec<u8>) {
        let vlans = facts.line.vlans;
        let mac = facts.line.peer_mac.0;
        let hex = |separator: &str, upper: bool| {
            let octet = |octet: &u8| if upper { format!("{octet:02X}") } else { format!("{octet:02x}") };
            mac.iter().map(octet).collect::<Vec<_>>().join(separator)
        };
        let text = match self {
            Self::Node => facts.node.to_owned(),
            Self::Port => facts.port.to_owned(),
            Self::OuterVlan => vlans.outer_vid().to_string(),
            Self::InnerVlan => vlans.inner_vid().to_string(),
            Self::Vlans => match (vlans.outer, vlans.inner) {
                (Some(outer), Some(inner)) => format!("{}.{}", outer.vid(), inner.vid()),
                _ => vlans.outer_vid().to_string(),
            },
            Self::SessionId => facts.session_id.0.to_string(),
            Self::Mac => hex(":", false),
            Self::MacDash => hex("-", true),
            Self::MacDot => {
                let [a, b, c, d, e, f] = mac;
                format!("{a:02x}{b:02x}.{c:02x}{d:02x}.{e:02x}{f:02x}")
            }
            Self::MacPlain => hex("", false),
            Self::LocalMac => facts.local_mac.to_string(),
            Self::CircuitId => return out.extend_from_slice(facts.circuit_id.unwrap_or_default()),
            Self::RemoteId => return out.extend_from_slice(facts.remote_id.unwrap_or_default()),
        };
        out.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bng_wire::{PortIndex, VlanStack, VlanTag};

    fn filled(text: &str) -> String {
        let tag = |tci| Some(VlanTag { tpid: 0x8100, tci });
        let line = Line {
            port: PortIndex(0),
            vlans: VlanStack { outer: tag(0x2064), inner: tag(7) },
            peer_mac: MacAddr([2, 0x55, 0, 0, 0, 0xab]),
        };
        let facts = Facts {
            node: "bng1",
            port: "access0",
            line: &line,
            session_id: SessionId(9),
            local_mac: MacAddr([2, 0, 0, 0, 0, 0xfe]),
            circuit_id: Some(b"eth 1/1"),
            remote_id: None,
        };
        String::from_utf8(text.parse::<Template>().unwrap().fill(&facts)).unwrap()
    }

    #[test]
    fn every_place_is_filled() {
        assert_eq!(filled("{node} {port}:{outer_vlan}.{inner_vlan}/{session_id}"), "bng1 access0:100.7/9");
        assert_eq!(filled("{vlans}{{x}}"), "100.7{x}");
        assert_eq!(filled("{mac} {mac_dash}"), "02:55:00:00:00:ab 02-55-00-00-00-AB");
        assert_eq!(filled("{mac_dot} {mac_plain} {local_mac}"), "0255.0000.00ab 0255000000ab 02:00:00:00:00:fe");
        assert_eq!(filled("[{circuit_id}|{remote_id}]"), "[eth 1/1|]");
        assert_eq!(filled(""), "");
        for word in Template::WORDS {
            assert!(format!("{{{word}}}").parse::<Template>().is_ok(), "{word}");
        }
        let long = format!("{}{{mac}}", "x".repeat(250));
        assert_eq!(filled(&long).len(), 253);
    }

    #[test]
    fn a_bad_template_says_why() {
        assert_eq!("{mac".parse::<Template>(), Err(TemplateError::Brace));
        assert_eq!("mac}".parse::<Template>(), Err(TemplateError::Brace));
        assert_eq!("{max}".parse::<Template>(), Err(TemplateError::Unknown("max".into())));
    }
}
