//! The JSON schema of the file.

use serde_json::{Value, json};

use crate::decode::Decode as _;
use crate::received::Root;

/// The JSON schema (draft 2020-12) of the configuration file: every key, default, unit and range. It says what a
/// section may hold; what one section demands of another is checked by [`crate::load`] alone.
#[must_use]
pub fn schema() -> Value {
    let mut schema = Root::schema();
    if let Value::Object(object) = &mut schema {
        object.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
        object.insert("title".into(), json!("bngd"));
    }
    schema
}
