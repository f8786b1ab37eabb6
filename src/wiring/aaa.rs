//! From the configuration to the RADIUS thread's settings.

use anyhow::Context as _;
use bng_aaa::{AaaConfig, AccountingSettings, DynamicSettings, Formats, Names, Template};
use bng_config as config;
use bng_radius::client::Purpose;
use bng_radius::request::Nas;
use bng_radius::server::DynamicClient;
use bng_radius::{AccountingConfig, ClientConfig, DynamicConfig, Secret, ServerConfig, mapping};
use bng_subscriber::PoolIndex;

/// Messages of the control core that may wait: a few for each of many sessions, without much memory.
const MESSAGES_MAX: usize = 262_144;

/// The RADIUS thread's settings; `None` where the configuration has no RADIUS.
///
/// # Errors
/// A format that cannot be read, which the configuration's own checks should have found.
pub fn settings(config: &config::Config) -> anyhow::Result<Option<AaaConfig>> {
    let Some(radius) = &config.aaa.radius else { return Ok(None) };
    let template = |text: &str| text.parse::<Template>().with_context(|| format!("the format `{text}`"));
    let ipv4_pools = config.ipv4_pools.iter().zip(0u16..);
    Ok(Some(AaaConfig {
        nas: Nas {
            identifier: radius.nas_identifier.clone().into_bytes(),
            ipv4: radius.nas_ipv4,
            ipv6: radius.nas_ipv6,
        },
        formats: Formats {
            nas_port_id: template(&radius.nas_port_id)?,
            calling_station_id: template(&radius.calling_station_id)?,
            called_station_id: template(&radius.called_station_id)?,
        },
        names: Names {
            node: config.node.name.clone(),
            ports: config.ports.iter().map(|port| port.name.clone()).collect(),
            ipv4_pools: ipv4_pools.map(|(pool, index)| (pool.name.clone().into_bytes(), PoolIndex(index))).collect(),
        },
        dscp: config.limits.control_dscp,
        authentication: (!radius.servers.is_empty())
            .then(|| client(Purpose::Authentication, &radius.servers, &radius.requests)),
        accounting: radius.accounting.as_ref().map(|accounting| AccountingSettings {
            client: client(Purpose::Accounting, &accounting.servers, &radius.requests),
            accounting: AccountingConfig {
                interim_interval: accounting.interim,
                interim_jitter_percent: accounting.interim_jitter_percent,
                entries_max: accounting.records_max,
                octets_max: accounting.records_octets_max,
                ..AccountingConfig::default()
            },
            folder: accounting.folder.clone(),
            on_off: accounting.on_off,
        }),
        dynamic: radius.dynamic.as_ref().map(|dynamic| DynamicSettings {
            listen: dynamic.listen.clone(),
            dynamic: DynamicConfig {
                clients: dynamic.clients.iter().map(dynamic_client).collect(),
                window: dynamic.window,
                require_event_timestamp: dynamic.require_event_timestamp,
                ..DynamicConfig::default()
            },
        }),
        rules: mapping::DEFAULT_RULES.to_vec(),
        messages_max: MESSAGES_MAX,
    }))
}

fn client(purpose: Purpose, servers: &[config::RadiusServer], requests: &config::RadiusRequests) -> ClientConfig {
    ClientConfig {
        outstanding_max: requests.outstanding_max,
        first_timeout: requests.timeout,
        timeout_max: requests.timeout_max,
        transmissions_per_server: requests.transmissions,
        request_time_max: requests.time_max,
        dead_after_timeouts: requests.dead_after_timeouts,
        dead_after: requests.dead_after,
        dead_time: requests.dead_time,
        probe_interval: requests.probe_interval,
        ..ClientConfig::new(purpose, servers.iter().map(server).collect())
    }
}

fn server(from: &config::RadiusServer) -> ServerConfig {
    ServerConfig {
        source: from.source,
        require_message_authenticator: from.require_message_authenticator,
        priority: from.priority,
        weight: from.weight,
        status_server: from.status_server,
        ..ServerConfig::new(from.address, Secret::new(from.secret.expose().as_bytes()))
    }
}

fn dynamic_client(from: &config::RadiusDynamicClient) -> DynamicClient {
    DynamicClient {
        address: from.address,
        secret: Secret::new(from.secret.expose().as_bytes()),
        require_message_authenticator: from.require_message_authenticator,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_know_the_same_words_as_the_configuration() {
        assert_eq!(Template::WORDS, config::FORMAT_WORDS);
    }
}
