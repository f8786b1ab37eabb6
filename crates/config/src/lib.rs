//! YAML to validated configuration.
#![forbid(unsafe_code)]
