//! YAML to validated configuration.
//!
//! A file passes three stages, each with types of its own: the *tree* (what the YAML says, with the place of every
//! key and value), the *received* sections (typed, defaults filled in, unknown keys refused) and the validated
//! [`Config`] (names resolved to indexes, every rule checked). Only the last leaves this crate. Each stage collects
//! every error it can find, so that one run of `bngd check` shows them all.
#![forbid(unsafe_code)]

mod decode;
mod error;
mod load;
mod model;
mod net;
mod received;
mod schema;
mod secret;
mod source;
mod suggest;
mod tree;
mod validate;
mod vlan;

pub use error::{ConfigErrors, Place, Problem, Severity};
pub use load::Machine;
pub use model::{
    Aaa, AaaMethod, AccessMatch, AuthMethod, Config, Cores, Dhcp, Dpdk, DuplicateUser, Hugepages, Interface, Ipv4Pool,
    Ipv6Pool, Limits, LocalUser, LockOut, LockOutBy, Log, LogFormat, LogLevel, MacPrefix, MssClamp, Node, PadoMatch,
    PadoRule, Port, Ppp, Pppoe, Profile, ProfileIpv4, ProfileIpv6, Queues, Radius, RadiusAccounting, RadiusDynamic,
    RadiusDynamicClient, RadiusRequests, RadiusServer, Rate, RequestRate, RequestRates, RouterAdvertisements, Rss,
    StaticRoute, Stop, StopSessions, TagMatch, Telemetry, Tpid, WhenFull,
};
pub use net::{InterfaceAddress, IpPrefix, Ipv4Prefix, Ipv6Prefix, PrefixError};
pub use secret::Secret;
pub use vlan::{VlanSet, VlanSetError};

pub use schema::schema;
pub use validate::FORMAT_WORDS;

/// Reads and checks a configuration file and the files that it names.
///
/// # Errors
/// Every error found, each with its place; nothing but the files was touched.
pub fn load(path: &std::path::Path) -> Result<Config, ConfigErrors> {
    load::load(path, &Machine::current())
}

/// The same for a machine other than this one.
///
/// # Errors
/// See [`load`].
pub fn load_for(path: &std::path::Path, machine: &Machine) -> Result<Config, ConfigErrors> {
    load::load(path, machine)
}

/// The same for a text that is at hand; files that it names are sought from the folder of `path`, which is also the
/// name in what is reported.
///
/// # Errors
/// See [`load`].
pub fn load_text(path: &std::path::Path, text: &str, machine: &Machine) -> Result<Config, ConfigErrors> {
    load::load_text(path, text, machine)
}
