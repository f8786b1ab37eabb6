//! YAML to validated configuration.
//!
//! A file passes three stages, each with types of its own: the *tree* (what the YAML says, with the place of every
//! key and value), the *received* sections (typed, defaults filled in, unknown keys refused) and the validated
//! [`Config`] (names resolved to indexes, every rule checked). Only the last leaves this crate. Each stage collects
//! every error it can find, so that one run of `bngd check` shows them all.
#![forbid(unsafe_code)]

mod error;
mod load;
mod model;
mod net;
mod secret;
mod vlan;

pub use error::{ConfigErrors, Place, Problem, Severity};
pub use load::Machine;
pub use model::{
    Aaa, AaaMethod, AccessMatch, AuthMethod, Config, Cores, Dpdk, Hugepages, Interface, Ipv4Pool, Ipv6Pool, Limits,
    LocalUser, Log, LogFormat, LogLevel, MssClamp, Node, Port, Ppp, Pppoe, Profile, ProfileIpv4, ProfileIpv6, Queues,
    Rss, StaticRoute, Stop, StopSessions, TagMatch, Telemetry, Tpid,
};
pub use net::{InterfaceAddress, IpPrefix, Ipv4Prefix, Ipv6Prefix, PrefixError};
pub use secret::Secret;
pub use vlan::{VlanSet, VlanSetError};

/// Reads and checks a configuration file and the files that it names.
///
/// # Errors
/// Every error found, each with its place; nothing but the files was touched.
pub fn load(path: &std::path::Path) -> Result<Config, ConfigErrors> {
    load::load(path, &load::Machine::current())
}
