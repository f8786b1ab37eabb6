//! YAML as the values that serde reads: the event parser is that of the configuration, and cases need no places.

use anyhow::{Context as _, bail};
use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// A list or map that is still open.
enum Open {
    List(Vec<Value>),
    Map(Map<String, Value>, Option<String>),
}

/// Reads one document without anchors and tags.
///
/// # Errors
/// It is not YAML, or more of YAML than cases need.
pub(crate) fn read(text: &str) -> anyhow::Result<Value> {
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| anyhow::anyhow!("{}", error.info()))?;
        let line = span.start.line();
        let done = match event {
            Event::Scalar(text, style, ..) => Some(scalar(&text, style)),
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                None
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Map::new(), None));
                None
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop().context("an end without a beginning")? {
                Open::List(list) => Some(Value::Array(list)),
                Open::Map(map, _) => Some(Value::Object(map)),
            },
            Event::Alias(_) => bail!("line {line}: aliases have no use here"),
            _ => None,
        };
        let Some(value) = done else { continue };
        match open.last_mut() {
            None => root = Some(value),
            Some(Open::List(list)) => list.push(value),
            Some(Open::Map(map, key)) => match key.take() {
                Some(name) => {
                    if map.insert(name.clone(), value).is_some() {
                        bail!("line {line}: {name} is given twice");
                    }
                }
                None => {
                    *key = Some(value.as_str().with_context(|| format!("line {line}: a key is a word"))?.to_owned())
                }
            },
        }
    }
    root.context("the file is empty")
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::from(text);
    }
    match text {
        "" | "~" | "null" => Value::Null,
        "true" => Value::from(true),
        "false" => Value::from(false),
        _ => text.replace('_', "").parse::<u64>().map_or_else(|_| Value::from(text), Value::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_maps_and_scalars() {
        let read = |text| read(text).expect("YAML");
        assert_eq!(
            read("a: 1_000\nb: [x, '7', true]\nc: {d: ~}\n"),
            json!({"a": 1000, "b": ["x", "7", true], "c": {"d": null}})
        );
    }

    #[test]
    fn what_cases_have_no_use_for_is_refused() {
        for text in ["", "a: &x 1\nb: *x\n", "a: 1\na: 2\n", "[1]: 2\n", "a: [1\n"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
