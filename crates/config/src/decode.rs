//! From the tree to typed values, and from the types to the schema.
//!
//! [`section!`] declares a section once; the decoder, the JSON schema and the list of known keys are made from it, so
//! that none of them can forget a key.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::source::{Extent, Sources};
use crate::suggest::nearest;
use crate::tree::{Key, Kind, Tree};
use crate::{Secret, VlanSet};

/// Where the decoder stands: the keys that lead here, and the place to name if something is missing here.
#[derive(Debug, Clone)]
pub(crate) struct Here {
    pub(crate) path: String,
    pub(crate) at: Extent,
}

impl Here {
    pub(crate) fn key(&self, name: &str, at: Extent) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Self { path, at }
    }

    pub(crate) fn index(&self, index: usize, at: Extent) -> Self {
        Self { path: format!("{}[{index}]", self.path), at }
    }
}

/// A value, and where it was written. A default stands at the section that left it out.
#[derive(Debug, Clone)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) here: Here,
}

impl<T> std::ops::Deref for At<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// Something that can be read from a tree.
pub(crate) trait Decode: Sized {
    /// Reads it; what is wrong goes to `out`, and `None` says that there is no value to go on with.
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self>;

    /// Its JSON schema.
    fn schema() -> Value;
}

/// The scalar that `tree` is, or an error that names what was expected.
pub(crate) fn scalar<'a>(tree: &'a Tree, here: &Here, expected: &str, out: &mut Sources) -> Option<&'a str> {
    let found = match &tree.kind {
        Kind::Scalar(text) => return Some(text),
        Kind::Null => "nothing",
        Kind::List(_) => "a list",
        Kind::Map(_) => "a map",
    };
    out.error(tree.at, &here.path, format!("expected {expected}, found {found}"), None);
    None
}

/// The entries that `tree` has as a map; nothing at all counts as an empty one.
pub(crate) fn entries<'a>(tree: &'a Tree, here: &Here, out: &mut Sources) -> Option<&'a [(Key, Tree)]> {
    let found = match &tree.kind {
        Kind::Map(entries) => return Some(entries),
        Kind::Null => return Some(&[]),
        Kind::Scalar(_) => "a single value",
        Kind::List(_) => "a list",
    };
    out.error(tree.at, &here.path, format!("expected keys with values, found {found}"), None);
    None
}

/// Reports each key that is not known.
pub(crate) fn unknown_keys(entries: &[(Key, Tree)], known: &[&str], here: &Here, out: &mut Sources) {
    for (key, _) in entries.iter().filter(|(key, _)| !known.contains(&key.name.as_str())) {
        let help = match nearest(&key.name, known) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("known keys here: {}", known.join(", ")),
        };
        out.error(key.at, &here.key(&key.name, key.at).path, format!("unknown key `{}`", key.name), Some(help));
    }
}

/// Declares a section: each field has a doc comment (the schema's description), a name, a type, and either a default
/// as YAML text (`with ... = "30s"`), or none:
/// - `required`: without it the section is of no use;
/// - `needed ... = "[]"`: it must be there as well, but the checks go on with the stand-in, which has no place;
/// - `optional`: it may be left out, and its documentation says what that means.
macro_rules! section {
    (
        $(#[doc = $about:literal])*
        struct $section:ident {
            $( $(#[doc = $doc:literal])* $kind:ident $field:ident : $type:ty $(= $default:literal)? ),* $(,)?
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone)]
        pub(crate) struct $section {
            $( $(#[doc = $doc])* pub(crate) $field: section!(@type $kind $type), )*
        }

        impl crate::decode::Decode for $section {
            fn decode(
                tree: &crate::tree::Tree,
                here: &crate::decode::Here,
                out: &mut crate::source::Sources,
            ) -> Option<Self> {
                let entries = crate::decode::entries(tree, here, out)?;
                crate::decode::unknown_keys(entries, &[$(stringify!($field)),*], here, out);
                $( let $field = section!(@read $kind $type, stringify!($field), entries, here, out $(, $default)?); )*
                Some(Self { $( $field: section!(@keep $kind $field), )* })
            }

            fn schema() -> serde_json::Value {
                let mut fields = crate::decode::SectionSchema::new(&[$($about),*]);
                $( fields.field(
                    stringify!($field),
                    &[$($doc),*],
                    matches!(stringify!($kind), "required" | "needed"),
                    section!(@default $kind $($default)?),
                    <$type as crate::decode::Decode>::schema(),
                ); )*
                fields.finish()
            }
        }
    };
    (@type required $type:ty) => { crate::decode::At<$type> };
    (@type needed $type:ty) => { crate::decode::At<$type> };
    (@type with $type:ty) => { crate::decode::At<$type> };
    (@type optional $type:ty) => { Option<crate::decode::At<$type>> };
    (@read required $type:ty, $name:expr, $entries:ident, $here:ident, $out:ident) => {
        crate::decode::required::<$type>($name, $entries, $here, $out)
    };
    (@read optional $type:ty, $name:expr, $entries:ident, $here:ident, $out:ident) => {
        crate::decode::optional::<$type>($name, $entries, $here, $out)
    };
    (@read with $type:ty, $name:expr, $entries:ident, $here:ident, $out:ident, $default:literal) => {
        crate::decode::defaulted::<$type>($name, $entries, $here, $out, $default)
    };
    (@read needed $type:ty, $name:expr, $entries:ident, $here:ident, $out:ident, $stand_in:literal) => {
        crate::decode::needed::<$type>($name, $entries, $here, $out, $stand_in)
    };
    (@keep optional $field:ident) => { $field };
    (@keep $kind:ident $field:ident) => { $field? };
    (@default with $default:literal) => { Some($default) };
    (@default $kind:ident $($default:literal)?) => { None };
}
pub(crate) use section;

/// Declares a type with a fixed set of words.
macro_rules! words {
    ($type:ty { $( $word:literal => $variant:ident : $doc:literal ),* $(,)? }) => {
        impl crate::decode::Decode for $type {
            fn decode(
                tree: &crate::tree::Tree,
                here: &crate::decode::Here,
                out: &mut crate::source::Sources,
            ) -> Option<Self> {
                let words = [$($word),*];
                let text = crate::decode::scalar(tree, here, &crate::decode::one_of(&words), out)?;
                $( if text == $word { return Some(Self::$variant); } )*
                crate::decode::not_a_word(text, &words, tree, here, out);
                None
            }

            fn schema() -> serde_json::Value {
                serde_json::json!({ "oneOf": [ $( { "const": $word, "description": $doc } ),* ] })
            }
        }
    };
}
pub(crate) use words;

pub(crate) fn one_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => format!("`{only}`"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|word| format!("`{word}`")).collect();
            format!("{} or `{last}`", first.join(", "))
        }
    }
}

pub(crate) fn not_a_word(text: &str, words: &[&str], tree: &Tree, here: &Here, out: &mut Sources) {
    let help = nearest(text, words).map(|word| format!("did you mean `{word}`?"));
    out.error(tree.at, &here.path, format!("expected {}, found `{text}`", one_of(words)), help);
}

fn find<'a>(name: &str, entries: &'a [(Key, Tree)]) -> Option<&'a (Key, Tree)> {
    entries.iter().find(|(key, _)| key.name == name)
}

pub(crate) fn required<T: Decode>(
    name: &str,
    entries: &[(Key, Tree)],
    here: &Here,
    out: &mut Sources,
) -> Option<At<T>> {
    match find(name, entries) {
        Some((key, tree)) => {
            let here = here.key(name, key.at);
            let value = T::decode(tree, &here, out)?;
            Some(At { value, here: Here { at: place(key, tree), ..here } })
        }
        None => {
            out.error(here.at, &here.path, format!("the key `{name}` is missing"), None);
            None
        }
    }
}

pub(crate) fn optional<T: Decode>(
    name: &str,
    entries: &[(Key, Tree)],
    here: &Here,
    out: &mut Sources,
) -> Option<At<T>> {
    let (key, tree) = find(name, entries)?;
    if matches!(tree.kind, Kind::Null) {
        return None;
    }
    let here = here.key(name, key.at);
    let value = T::decode(tree, &here, out)?;
    Some(At { value, here: Here { at: place(key, tree), ..here } })
}

pub(crate) fn defaulted<T: Decode>(
    name: &str,
    entries: &[(Key, Tree)],
    here: &Here,
    out: &mut Sources,
    default: &str,
) -> Option<At<T>> {
    if let Some(value) = optional(name, entries, here, out) {
        return Some(value);
    }
    // Left out, or unusable and reported as such: the default lets the checks go on.
    let here = here.key(name, here.at);
    let tree = default_tree(default, here.at);
    Some(At { value: T::decode(&tree, &here, out)?, here })
}

pub(crate) fn needed<T: Decode>(
    name: &str,
    entries: &[(Key, Tree)],
    here: &Here,
    out: &mut Sources,
    stand_in: &str,
) -> Option<At<T>> {
    if let Some(value) = required(name, entries, here, out) {
        return Some(value);
    }
    let here = Here { at: Extent::whole(here.at.file), ..here.key(name, here.at) };
    let tree = default_tree(stand_in, here.at);
    Some(At { value: T::decode(&tree, &here, out)?, here })
}

/// A default's YAML text as a tree that stands at `at`.
fn default_tree(text: &str, at: Extent) -> Tree {
    let mut tree = crate::tree::read(at.file, text).map_or(Tree { kind: Kind::Null, at }, |(tree, _)| tree);
    fn move_to(tree: &mut Tree, at: Extent) {
        tree.at = at;
        match &mut tree.kind {
            Kind::List(list) => list.iter_mut().for_each(|tree| move_to(tree, at)),
            Kind::Map(entries) => entries.iter_mut().for_each(|(key, tree)| {
                key.at = at;
                move_to(tree, at);
            }),
            Kind::Null | Kind::Scalar(_) => {}
        }
    }
    move_to(&mut tree, at);
    tree
}

/// What to point at for a value: a scalar or a flow collection of one line itself, else its key.
fn place(key: &Key, tree: &Tree) -> Extent {
    match tree.kind {
        Kind::Scalar(_) => tree.at,
        Kind::List(_) if tree.at.start.line == tree.at.end.line => tree.at,
        _ => key.at,
    }
}

/// Builds the JSON schema of a section.
pub(crate) struct SectionSchema {
    about: String,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

fn text_of(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        if !text.is_empty() {
            text.push(' ');
        }
        let _ = write!(text, "{}", line.trim());
    }
    text
}

impl SectionSchema {
    pub(crate) fn new(about: &[&str]) -> Self {
        Self { about: text_of(about), properties: Map::new(), required: Vec::new() }
    }

    pub(crate) fn field(&mut self, name: &str, doc: &[&str], required: bool, default: Option<&str>, mut schema: Value) {
        if let Value::Object(object) = &mut schema {
            object.insert("description".into(), text_of(doc).into());
            if let Some(default) = default {
                object.insert("default".into(), json_of(default));
            }
        }
        self.properties.insert(name.into(), schema);
        if required {
            self.required.push(name.into());
        }
    }

    pub(crate) fn finish(self) -> Value {
        let mut schema = json!({
            "type": "object",
            "description": self.about,
            "additionalProperties": false,
            "properties": self.properties,
        });
        if let (false, Value::Object(object)) = (self.required.is_empty(), &mut schema) {
            object.insert("required".into(), self.required.into());
        }
        schema
    }
}

/// A default's YAML text as JSON.
fn json_of(text: &str) -> Value {
    fn value(tree: &Tree) -> Value {
        match &tree.kind {
            Kind::Null => Value::Null,
            Kind::Scalar(text) => match (text.parse::<u64>(), text.as_str()) {
                (Ok(number), _) => number.into(),
                (_, "true") => true.into(),
                (_, "false") => false.into(),
                _ => text.as_str().into(),
            },
            Kind::List(list) => list.iter().map(value).collect(),
            Kind::Map(entries) => entries.iter().map(|(key, tree)| (key.name.clone(), value(tree))).collect(),
        }
    }
    value(&default_tree(text, Extent::whole(crate::source::FileId(0))))
}

/// Any text that is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text<const MAX: usize = 256>(pub(crate) String);

impl<const MAX: usize> Decode for Text<MAX> {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        let text = scalar(tree, here, "a text", out)?;
        if text.is_empty() || text.len() > MAX {
            out.error(tree.at, &here.path, format!("expected a text of 1 to {MAX} octets, found {}", text.len()), None);
            return None;
        }
        if text.chars().any(char::is_control) {
            out.error(tree.at, &here.path, "the text holds a control character", None);
            return None;
        }
        Some(Self(text.to_owned()))
    }

    fn schema() -> Value {
        json!({ "type": ["string", "number", "boolean"], "minLength": 1, "maxLength": MAX })
    }
}

/// A text that may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnyText<const MAX: usize>(pub(crate) String);

impl<const MAX: usize> Decode for AnyText<MAX> {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        match &tree.kind {
            Kind::Scalar(text) if text.is_empty() => Some(Self(String::new())),
            _ => Text::<MAX>::decode(tree, here, out).map(|text| Self(text.0)),
        }
    }

    fn schema() -> Value {
        json!({ "type": ["string", "number", "boolean"], "maxLength": MAX })
    }
}

impl Decode for Secret {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        out.hide(tree.at);
        let text = scalar(tree, here, "a text", out)?;
        if text.is_empty() || text.len() > 128 {
            out.error(tree.at, &here.path, "expected a text of 1 to 128 octets", None);
            return None;
        }
        Some(Self::new(text.to_owned()))
    }

    fn schema() -> Value {
        json!({ "type": ["string", "number", "boolean"], "minLength": 1, "maxLength": 128 })
    }
}

/// A whole number within limits, in decimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Int<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Int<MIN, MAX> {
    /// The number as a type that holds `MAX`.
    pub(crate) fn to<T: TryFrom<u64>>(self) -> T
    where
        T::Error: std::fmt::Debug,
    {
        // `MAX` is chosen with the field's type in the same declaration; a mismatch is found by the first test run.
        T::try_from(self.0).expect("the limit of the number fits its type")
    }
}

impl<const MIN: u64, const MAX: u64> Decode for Int<MIN, MAX> {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        let expected = format!("a whole number from {MIN} to {MAX}");
        let text = scalar(tree, here, &expected, out)?;
        let digits = text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty();
        match text.parse::<u64>() {
            Ok(number) if digits && (MIN..=MAX).contains(&number) => Some(Self(number)),
            _ => {
                out.error(tree.at, &here.path, format!("expected {expected}, found `{text}`"), None);
                None
            }
        }
    }

    fn schema() -> Value {
        json!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

impl Decode for bool {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        let text = scalar(tree, here, "`true` or `false`", out)?;
        let meant = match text {
            "true" => return Some(true),
            "false" => return Some(false),
            "yes" | "on" | "True" | "1" => Some("write `true`".to_owned()),
            "no" | "off" | "False" | "0" => Some("write `false`".to_owned()),
            _ => None,
        };
        out.error(tree.at, &here.path, format!("expected `true` or `false`, found `{text}`"), meant);
        None
    }

    fn schema() -> Value {
        json!({ "type": "boolean" })
    }
}

/// A time with its unit: `250ms`, `30s`, `5m`, `1h`. Limits in milliseconds; with `MIN` 0, a bare `0` is taken too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time<const MIN: u64, const MAX: u64>(pub(crate) Duration);

fn time_text(ms: u64) -> String {
    match ms {
        0 => "0".into(),
        _ if ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ if ms.is_multiple_of(1000) => format!("{}s", ms / 1000),
        _ => format!("{ms}ms"),
    }
}

impl<const MIN: u64, const MAX: u64> Decode for Time<MIN, MAX> {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        let expected = format!("a time from {} to {}", time_text(MIN), time_text(MAX));
        let text = scalar(tree, here, &expected, out)?;
        let (digits, unit) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
        let factor = match unit {
            "ms" => Some(1),
            "s" => Some(1000),
            "m" => Some(60_000),
            "h" => Some(3_600_000),
            "" if MIN == 0 && digits == "0" => Some(0),
            _ => None,
        };
        let ms = factor.and_then(|factor: u64| digits.parse::<u64>().ok()?.checked_mul(factor));
        match ms {
            Some(ms) if (MIN..=MAX).contains(&ms) => Some(Self(Duration::from_millis(ms))),
            Some(_) => {
                out.error(tree.at, &here.path, format!("expected {expected}, found `{text}`"), None);
                None
            }
            None => {
                let help = if unit.is_empty() && !digits.is_empty() {
                    format!("a time has a unit: write `{digits}s` for seconds")
                } else {
                    "write a number and a unit: `250ms`, `30s`, `5m` or `1h`".into()
                };
                out.error(tree.at, &here.path, format!("expected {expected}, found `{text}`"), Some(help));
                None
            }
        }
    }

    fn schema() -> Value {
        let pattern = if MIN == 0 { "^(0|[0-9]+(ms|s|m|h))$" } else { "^[0-9]+(ms|s|m|h)$" };
        json!({
            "type": if MIN == 0 { json!(["string", "integer"]) } else { json!("string") },
            "pattern": pattern,
            "$comment": format!("{} to {}", time_text(MIN), time_text(MAX)),
        })
    }
}

/// A number of octets: `65536`, `64KiB`, `16MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Octets<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Octets<MIN, MAX> {
    /// The number; callers' `MAX` fits.
    pub(crate) fn u32(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

impl<const MIN: u64, const MAX: u64> Decode for Octets<MIN, MAX> {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        let expected = format!("a size from {} to {}", size_text(MIN), size_text(MAX));
        let text = scalar(tree, here, &expected, out)?;
        let (digits, unit) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
        let factor = match unit.trim_start() {
            "" => Some(1),
            "KiB" => Some(1 << 10),
            "MiB" => Some(1 << 20),
            "GiB" => Some(1 << 30),
            _ => None,
        };
        match factor.and_then(|factor: u64| digits.parse::<u64>().ok()?.checked_mul(factor)) {
            Some(octets) if (MIN..=MAX).contains(&octets) => Some(Self(octets)),
            Some(_) => {
                out.error(tree.at, &here.path, format!("expected {expected}, found `{text}`"), None);
                None
            }
            None => {
                let help = Some("write a number of octets, or one with a unit: `64KiB`, `16MiB`".into());
                out.error(tree.at, &here.path, format!("expected {expected}, found `{text}`"), help);
                None
            }
        }
    }

    fn schema() -> Value {
        json!({
            "type": ["integer", "string"],
            "minimum": MIN,
            "maximum": MAX,
            "pattern": "^[0-9]+ ?(KiB|MiB|GiB)?$",
        })
    }
}

/// A rate with its unit: `512kbit/s`, `50Mbit/s`, `1Gbit/s`; decimal, as rates are. Limits in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BitRate<const MIN: u64, const MAX: u64>(pub(crate) u64);

fn rate_text(rate: u64) -> String {
    match rate {
        _ if rate >= 1_000_000_000 && rate.is_multiple_of(1_000_000_000) => format!("{}Gbit/s", rate / 1_000_000_000),
        _ if rate >= 1_000_000 && rate.is_multiple_of(1_000_000) => format!("{}Mbit/s", rate / 1_000_000),
        _ if rate >= 1000 && rate.is_multiple_of(1000) => format!("{}kbit/s", rate / 1000),
        _ => format!("{rate}bit/s"),
    }
}

impl<const MIN: u64, const MAX: u64> Decode for BitRate<MIN, MAX> {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        let expected = format!("a rate from {} to {}", rate_text(MIN), rate_text(MAX));
        let text = scalar(tree, here, &expected, out)?;
        let (digits, unit) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
        let factor = match unit.trim_start() {
            "bit/s" => Some(1),
            "kbit/s" => Some(1000),
            "Mbit/s" => Some(1_000_000),
            "Gbit/s" => Some(1_000_000_000),
            _ => None,
        };
        match factor.and_then(|factor: u64| digits.parse::<u64>().ok()?.checked_mul(factor)) {
            Some(rate) if (MIN..=MAX).contains(&rate) => Some(Self(rate)),
            Some(_) => {
                out.error(tree.at, &here.path, format!("expected {expected}, found `{text}`"), None);
                None
            }
            None => {
                let help = Some("write a whole number and a unit: `512kbit/s`, `50Mbit/s` or `1Gbit/s`".into());
                out.error(tree.at, &here.path, format!("expected {expected}, found `{text}`"), help);
                None
            }
        }
    }

    fn schema() -> Value {
        json!({
            "type": "string",
            "pattern": "^[0-9]+ ?(bit|kbit|Mbit|Gbit)/s$",
            "$comment": format!("{} to {}", rate_text(MIN), rate_text(MAX)),
        })
    }
}

fn size_text(octets: u64) -> String {
    match octets {
        _ if octets >= 1 << 20 && octets.is_multiple_of(1 << 20) => format!("{}MiB", octets >> 20),
        _ if octets >= 1 << 10 && octets.is_multiple_of(1 << 10) => format!("{}KiB", octets >> 10),
        _ => octets.to_string(),
    }
}

/// Whatever has a text form of its own: addresses, prefixes.
pub(crate) trait TextForm: std::str::FromStr {
    /// For `expected ...`.
    const EXPECTED: &'static str;
    /// JSON schema's `format`, if there is one.
    const FORMAT: Option<&'static str> = None;

    /// The reason to give for a text that cannot be read.
    fn reason(text: &str, _error: Self::Err) -> String {
        format!("expected {}, found `{text}`", Self::EXPECTED)
    }
}

/// A value in its text form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parsed<T>(pub(crate) T);

impl<T: TextForm> Decode for Parsed<T> {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        let text = scalar(tree, here, T::EXPECTED, out)?;
        match text.parse() {
            Ok(value) => Some(Self(value)),
            Err(error) => {
                out.error(tree.at, &here.path, T::reason(text, error), None);
                None
            }
        }
    }

    fn schema() -> Value {
        match T::FORMAT {
            Some(format) => json!({ "type": "string", "format": format }),
            None => json!({ "type": "string" }),
        }
    }
}

/// A list. Elements that cannot be used are reported and left out.
#[derive(Debug, Clone)]
pub(crate) struct List<T>(pub(crate) Vec<At<T>>);

impl<T: Decode> Decode for List<T> {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        let list = match &tree.kind {
            Kind::List(list) => list,
            Kind::Null => return Some(Self(Vec::new())),
            Kind::Scalar(text) => {
                let found = if tree.at.start == tree.at.end { String::new() } else { format!(" `{}`", text.as_str()) };
                // A scalar where a list is wanted may be a secret in the wrong place only under its own key, which
                // never takes a list: so it may be shown.
                out.error(
                    tree.at,
                    &here.path,
                    format!("expected a list, found the single value{found}"),
                    Some("write it in brackets: `[a, b]`".into()),
                );
                return None;
            }
            Kind::Map(_) => {
                out.error(
                    here.at,
                    &here.path,
                    "expected a list, found keys with values",
                    Some("begin each element with `- `".into()),
                );
                return None;
            }
        };
        let mut values = Vec::with_capacity(list.len());
        for (index, tree) in list.iter().enumerate() {
            let here = here.index(index, tree.at);
            if let Some(value) = T::decode(tree, &here, out) {
                values.push(At { value, here });
            }
        }
        Some(Self(values))
    }

    fn schema() -> Value {
        json!({ "type": "array", "items": T::schema() })
    }
}

/// A map from names that the operator chooses. An entry that cannot be used keeps its name, so that what refers to it
/// is not reported as well.
#[derive(Debug, Clone)]
pub(crate) struct Named<T>(pub(crate) Vec<(At<String>, Option<T>)>);

impl<T> Named<T> {
    /// The position of `name`.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(known, _)| known.value == name)
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.value.as_str()).collect()
    }
}

/// True for a name that can stand in a command line, a metric label and a session's id without quotes.
fn is_name(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
}

impl<T: Decode> Decode for Named<T> {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        let entries = entries(tree, here, out)?;
        let mut named = Vec::with_capacity(entries.len());
        for (key, tree) in entries {
            let here = here.key(&key.name, key.at);
            if !is_name(&key.name) {
                let help = Some(
                    "a name is 1 to 32 letters, digits, `-`, `_` and `.`, and begins with a letter or digit".into(),
                );
                out.error(key.at, &here.path, format!("`{}` cannot be a name", key.name), help);
            }
            let value = T::decode(tree, &here, out);
            named.push((At { value: key.name.clone(), here }, value));
        }
        Some(Self(named))
    }

    fn schema() -> Value {
        json!({
            "type": "object",
            "propertyNames": { "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$" },
            "additionalProperties": T::schema(),
        })
    }
}

impl Decode for VlanSet {
    fn decode(tree: &Tree, here: &Here, out: &mut Sources) -> Option<Self> {
        let mut set = Self::empty();
        let one = |tree: &Tree, here: &Here, set: &mut Self, out: &mut Sources| -> Option<()> {
            let text = scalar(tree, here, "VLAN ids", out)?;
            match set.add(text) {
                Ok(()) => Some(()),
                Err(error) => {
                    let reason = match error {
                        crate::VlanSetError::Syntax => format!("{error}, found `{text}`"),
                        _ => error.to_string(),
                    };
                    out.error(tree.at, &here.path, reason, None);
                    None
                }
            }
        };
        match &tree.kind {
            Kind::List(list) => {
                let mut good = true;
                for (index, tree) in list.iter().enumerate() {
                    good &= one(tree, &here.index(index, tree.at), &mut set, out).is_some();
                }
                if list.is_empty() {
                    out.error(tree.at, &here.path, crate::VlanSetError::Empty.to_string(), None);
                    good = false;
                }
                good.then_some(set)
            }
            _ => one(tree, here, &mut set, out).map(|()| set),
        }
    }

    fn schema() -> Value {
        let one = json!([
            { "type": "integer", "minimum": Self::FIRST, "maximum": Self::LAST },
            { "type": "string", "pattern": "^(any|[0-9]+(-[0-9]+)?(, *[0-9]+(-[0-9]+)?)*)$" },
        ]);
        let mut all = one.as_array().cloned().unwrap_or_default();
        all.push(json!({ "type": "array", "minItems": 1, "items": { "anyOf": one } }));
        json!({ "anyOf": all })
    }
}
