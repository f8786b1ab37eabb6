//! What the thread is told.

use std::net::SocketAddr;
use std::path::PathBuf;

use bng_radius::mapping::Rule;
use bng_radius::request::Nas;
use bng_radius::{AccountingConfig, ClientConfig, DynamicConfig};
use bng_subscriber::PoolIndex;
use hashbrown::HashMap;

use crate::template::Template;

/// Everything that [`crate::spawn`] needs to know.
#[derive(Debug, Clone)]
pub struct AaaConfig {
    /// How the box names itself.
    pub nas: Nas,
    /// How a session's place and client are written.
    pub formats: Formats,
    /// What the configuration calls things.
    pub names: Names,
    /// The DSCP of RADIUS packets, 0 to 63.
    pub dscp: u8,
    /// Who is asked about logins; `None`: nobody, and each is answered with "unreachable".
    pub authentication: Option<ClientConfig>,
    /// Accounting; `None` for none.
    pub accounting: Option<AccountingSettings>,
    /// Disconnect and CoA requests; `None`: not listened for.
    pub dynamic: Option<DynamicSettings>,
    /// What vendors' attributes mean.
    pub rules: Vec<Rule>,
    /// Messages from the control core that may wait.
    pub messages_max: usize,
}

/// How texts are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formats {
    /// NAS-Port-Id.
    pub nas_port_id: Template,
    /// Calling-Station-Id.
    pub calling_station_id: Template,
    /// Called-Station-Id.
    pub called_station_id: Template,
}

/// What the configuration calls things.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// The node.
    pub node: String,
    /// Ports by index.
    pub ports: Vec<String>,
    /// IPv4 pools by name.
    pub ipv4_pools: HashMap<Vec<u8>, PoolIndex>,
}

/// Accounting.
#[derive(Debug, Clone)]
pub struct AccountingSettings {
    /// Who is told.
    pub client: ClientConfig,
    /// What, and when. `nas` and `box_session_id` are filled in.
    pub accounting: AccountingConfig,
    /// The folder in which records outlive an outage and a restart.
    pub folder: PathBuf,
    /// Whether the servers are told when the box starts and stops (Accounting-On and -Off).
    pub on_off: bool,
}

/// The listener for requests from outside.
#[derive(Debug, Clone)]
pub struct DynamicSettings {
    /// Where to listen; no wildcard, so that answers leave from where they were asked.
    pub listen: Vec<SocketAddr>,
    /// Who may ask, and how it is checked. `nas` and `rules` are filled in.
    pub dynamic: DynamicConfig,
}
