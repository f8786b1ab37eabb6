//! From the configuration to the subscribers' settings.

use std::time::Duration;

use bng_config as config;
use bng_discovery::{
    AccessPort, AccessRule, ControlPriority, DiscoveryLimits, LockOutBy, LockOutPolicy, MacFilter, MacPrefix,
    PadoMatch, PadoRule, PadoTime, ProfileIndex, Rate, RateLimits, ServiceProfile, VidRange, VlanMatch,
};
use bng_ipv6::{AddressSource, DhcpConfig, Ipv6Config, RouterConfig};
use bng_pool::{Ipv4PoolConfig, Ipv4Range, Prefix, PrefixPoolConfig};
use bng_ppp::{AuthMethod, PppConfig};
use bng_subscriber::{
    AaaMethod, DuplicateUser, Ipv4Profile, Ipv6Profile, Limits, LocalUser, Pool, PoolIndex, PoolKind, PppoeProfile,
    Profile, SubscriberConfig, WhenFull,
};
use bng_wire::{MacAddr, PortIndex, VrfId};

/// What is known of an access port once it is open.
#[derive(Debug, Clone, Copy)]
pub struct OpenPort {
    /// Its MAC address.
    pub mac: MacAddr,
    /// The largest PPP payload behind no tag, one tag and two.
    pub max_payload_by_tags: [u16; 3],
}

/// The octets of a PPPoE header and a PPP protocol number.
const PPPOE_OVERHEAD: u16 = 8;

/// The largest PPP payload behind no tag, one and two: what the MTU leaves (RFC 4638 section 4). net_tap takes no MTU
/// over 1504 but sends frames of up to `frame_octets_max`, which decides there.
#[must_use]
pub fn max_payload_by_tags(port: &config::Port, frame_octets_max: usize) -> [u16; 3] {
    let by_mtu = port.mtu.saturating_sub(PPPOE_OVERHEAD);
    if !port.is_net_tap || port.mtu <= 1500 {
        return [by_mtu; 3];
    }
    let frame = u16::try_from(frame_octets_max).unwrap_or(u16::MAX);
    [14u16, 18, 22].map(|header| frame.saturating_sub(header + PPPOE_OVERHEAD))
}

/// The subscribers' settings. `ports` holds an entry for each port of the configuration, in its order; `duid` names the
/// box to DHCPv6 clients.
///
/// # Errors
/// A pool that [`bng_pool`] refuses, which the configuration's own checks should have found.
pub fn settings(
    config: &config::Config,
    ports: &[OpenPort],
    cookie_key: [u8; 32],
    duid: &[u8],
) -> anyhow::Result<SubscriberConfig> {
    let access_ports = config.ports.iter().zip(ports).zip(0u8..).filter(|((port, _), _)| port.is_access);
    Ok(SubscriberConfig {
        ports: access_ports
            .map(|((_, open), index)| AccessPort {
                port: PortIndex(index),
                mac: open.mac,
                max_payload_by_tags: open.max_payload_by_tags,
            })
            .collect(),
        access: config.access.iter().flat_map(rules).collect(),
        profiles: config
            .profiles
            .iter()
            .map(|from| profile(from, config.ipv4_pools.len(), duid, config.limits.control_dscp))
            .collect(),
        pools: pools(config)?,
        users: config.aaa.users.iter().map(user).collect(),
        limits: Limits {
            sessions_max: config.limits.sessions_max,
            sessions_per_vlan_max: config.limits.sessions_max_per_vlan,
            sessions_per_line_max: config.limits.sessions_max_per_line,
            half_open_per_port_max: config.limits.half_open_max_per_port,
            aaa_timeout: aaa_timeout(config),
            when_full: match config.limits.when_full {
                config::WhenFull::Silent => WhenFull::Silent,
                config::WhenFull::Error => WhenFull::Error,
            },
            unknown_padt_per_s: config.limits.unknown_padt_per_s,
            discovery: DiscoveryLimits {
                padi_rates: request_rates(&config.limits.padi),
                padr_rates: request_rates(&config.limits.padr),
                lock_out: config.limits.lock_out.map(lock_out),
            },
            ..Limits::default()
        },
        cookie_lifetime: config.limits.cookie_lifetime,
        control_priority: ControlPriority(config.limits.control_priority),
        cookie_key,
        // No session outlives the process yet, so an id that is not known here is known nowhere.
        restore_complete: true,
    })
}

fn request_rates(from: &config::RequestRates) -> RateLimits {
    let rate = |rate: Option<config::RequestRate>| rate.map(|rate| Rate { per_s: rate.per_s, burst: rate.burst });
    RateLimits { mac: rate(from.mac), line: rate(from.line), vlan: rate(from.vlan), port: rate(from.port) }
}

const fn lock_out(from: config::LockOut) -> LockOutPolicy {
    LockOutPolicy {
        failures_max: from.failures,
        window: from.window,
        wait: from.wait,
        wait_max: from.wait_max,
        by: match from.by {
            config::LockOutBy::Line => LockOutBy::Line,
            config::LockOutBy::CircuitId => LockOutBy::CircuitId,
        },
    }
}

/// How long a verdict may take: what the RADIUS client takes at most, and a little for the way.
fn aaa_timeout(config: &config::Config) -> Duration {
    let of_radius = config.aaa.radius.as_ref().map(|radius| radius.requests.time_max + Duration::from_secs(1));
    of_radius.unwrap_or(Limits::default().aaa_timeout)
}

/// A line of the configuration's access list may name several ranges: one rule for each pair of them.
fn rules(access: &config::AccessMatch) -> Vec<AccessRule> {
    let port = PortIndex(u8::try_from(access.port).unwrap_or(u8::MAX));
    let profile = ProfileIndex(u16::try_from(access.profile).unwrap_or(u16::MAX));
    let ranges = |set: &config::VlanSet| {
        let range = |range: std::ops::RangeInclusive<u16>| VidRange { first: *range.start(), last: *range.end() };
        set.ranges().into_iter().map(range).collect::<Vec<_>>()
    };
    let matches = match &access.tags {
        config::TagMatch::Untagged => vec![VlanMatch::Untagged],
        config::TagMatch::Single { tpid, outer } => {
            let tpid = tpid.value();
            ranges(outer).into_iter().map(|vids| VlanMatch::Single { tpid, vids }).collect()
        }
        config::TagMatch::Double { tpid, outer, inner } => {
            let (tpid, inner) = (tpid.value(), ranges(inner));
            let pairs = |outer| inner.iter().map(move |inner| VlanMatch::Double { tpid, outer, inner: *inner });
            ranges(outer).into_iter().flat_map(pairs).collect()
        }
    };
    matches.into_iter().map(|vlans| AccessRule { port, vlans, profile }).collect()
}

/// Discovery's part of a profile. A list of nothing but the empty name stands for "any service".
fn service(from: &config::Pppoe) -> ServiceProfile {
    let service_names: Vec<String> = from.service_names.iter().filter(|name| !name.is_empty()).cloned().collect();
    ServiceProfile {
        ac_name: from.ac_name.clone(),
        accept_any: from.accept_any_service || service_names.is_empty(),
        service_names,
        advertise: from.advertise,
        max_payload: from.max_payload,
        pado_delay: from.pado_delay,
        pado_rules: from.pado_rules.iter().map(pado_rule).collect(),
        macs: MacFilter { allow: macs(&from.macs_allowed), deny: macs(&from.macs_denied) },
    }
}

fn pado_rule(from: &config::PadoRule) -> PadoRule {
    PadoRule {
        when: match &from.when {
            config::PadoMatch::SessionsFrom(sessions) => PadoMatch::SessionsFrom(*sessions),
            config::PadoMatch::ServiceName(name) => PadoMatch::ServiceName(name.clone()),
            config::PadoMatch::CircuitIdPrefix(text) => PadoMatch::CircuitIdPrefix(text.clone().into_bytes()),
        },
        time: from.delay.map_or(PadoTime::Never, PadoTime::After),
    }
}

fn macs(from: &[config::MacPrefix]) -> Vec<MacPrefix> {
    from.iter().map(|prefix| MacPrefix { mac: MacAddr(prefix.mac), bits: prefix.bits }).collect()
}

fn profile(from: &config::Profile, ipv4_pools: usize, duid: &[u8], dscp: u8) -> Profile {
    Profile {
        pppoe: PppoeProfile { service: service(&from.pppoe), sessions_per_mac: from.pppoe.sessions_per_mac },
        ppp: PppConfig {
            mru: from.ppp.mru,
            auth: from.ppp.auth.iter().copied().map(method).collect(),
            name: from.pppoe.ac_name.clone(),
            restart_interval: from.ppp.restart_interval,
            first_request_delay: from.ppp.first_request_delay,
            max_configure: from.ppp.configure_max,
            max_terminate: from.ppp.terminate_max,
            max_failure: from.ppp.failure_max,
            establish_timeout: from.ppp.establish_timeout,
            auth_timeout: from.ppp.auth_timeout,
            network_timeout: from.ppp.network_timeout,
            traffic_is_alive: from.ppp.traffic_is_alive,
            echo_interval: from.ppp.echo_interval,
            echo_misses: from.ppp.echo_misses,
            ipv4: from.ipv4.is_some(),
            ipv6: from.ipv6.is_some(),
        },
        ipv4: from.ipv4.as_ref().map(|ipv4| Ipv4Profile {
            gateway: ipv4.gateway,
            pools: vec![PoolIndex(u16::try_from(ipv4.pool).unwrap_or(u16::MAX))],
            dns: [ipv4.dns.first().copied(), ipv4.dns.get(1).copied()],
            nbns: [ipv4.nbns.first().copied(), ipv4.nbns.get(1).copied()],
        }),
        ipv6: from.ipv6.as_ref().map(|ipv6| self::ipv6(ipv6, ipv4_pools, duid, dscp)),
        mss_clamp: from.mss_clamp == config::MssClamp::Auto,
        source_check: from.source_check,
        rate_up: from.rate_up.map(policer),
        rate_down: from.rate_down.map(policer),
        priority_map: from.priority_map.map_or(0, |map| u8::try_from(map + 1).unwrap_or(0)),
        duplicate_user: match from.duplicate_user {
            config::DuplicateUser::Allow => DuplicateUser::Allow,
            config::DuplicateUser::Replace => DuplicateUser::Replace,
            config::DuplicateUser::Deny => DuplicateUser::Deny,
        },
        sticky_addresses: from.sticky_addresses,
        aaa: match from.aaa.as_slice() {
            [config::AaaMethod::Radius] => AaaMethod::Remote,
            [config::AaaMethod::Radius, ..] => AaaMethod::RemoteThenLocal,
            [config::AaaMethod::Local, config::AaaMethod::Radius, ..] => AaaMethod::LocalThenRemote,
            _ => AaaMethod::Local,
        },
        ..Profile::new(&from.name)
    }
}

/// IPv6 pools stand behind the IPv4 ones in the subscribers' list.
fn ipv6(from: &config::ProfileIpv6, ipv4_pools: usize, duid: &[u8], dscp: u8) -> Ipv6Profile {
    let pool = |pool: Option<usize>| {
        let number = pool.map(|pool| PoolIndex(u16::try_from(ipv4_pools + pool).unwrap_or(u16::MAX)));
        number.into_iter().collect::<Vec<_>>()
    };
    let mut domains = Vec::new();
    for name in &from.domains {
        // The configuration's check has found what cannot be encoded.
        let encoded = bng_wire::domain::encode(name, &mut domains);
        debug_assert!(encoded.is_ok(), "{name}");
    }
    let seconds = |time: std::time::Duration| u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
    let ra = &from.router;
    Ipv6Profile {
        services: Ipv6Config {
            router: RouterConfig {
                interval_max: ra.interval_max,
                interval_min: ra.interval_min,
                managed: ra.managed,
                other: ra.other,
                hop_limit: ra.hop_limit,
                lifetime_s: ra.lifetime_s,
                mtu: ra.mtu,
                autonomous: ra.autonomous,
                prefix_valid_s: ra.prefix_valid_s,
                prefix_preferred_s: ra.prefix_preferred_s,
                // RFC 8106 section 5.1.
                dns_lifetime_s: seconds(ra.interval_max).saturating_mul(3),
                ..RouterConfig::default()
            },
            dhcp: from.dhcp.as_ref().map(|dhcp| DhcpConfig {
                preference: dhcp.preference,
                rapid_commit: dhcp.rapid_commit,
                addresses: if dhcp.addresses { AddressSource::Link } else { AddressSource::None },
                prefixes: from.delegated_pool.is_some(),
                preferred_s: dhcp.preferred_s,
                valid_s: dhcp.valid_s,
                refresh_s: dhcp.refresh_s,
                ..DhcpConfig::new(duid.to_vec())
            }),
            dns: from.dns.clone(),
            domains,
            dscp,
        },
        prefix_pools: pool(from.prefix_pool),
        delegated_pools: pool(from.delegated_pool),
    }
}

const fn policer(from: config::Rate) -> bng_session::Rate {
    bng_session::Rate { bits_per_second: from.bits_per_second, burst_octets: from.burst_octets }
}

const fn method(from: config::AuthMethod) -> AuthMethod {
    match from {
        config::AuthMethod::Pap => AuthMethod::Pap,
        config::AuthMethod::ChapMd5 => AuthMethod::ChapMd5,
        config::AuthMethod::MsChapV2 => AuthMethod::MsChapV2,
    }
}

/// IPv4 pools first, then IPv6 pools: the numbers that profiles use for IPv4 are those of the configuration.
fn pools(config: &config::Config) -> anyhow::Result<Vec<Pool>> {
    let mut pools = Vec::with_capacity(config.ipv4_pools.len() + config.ipv6_pools.len());
    for from in &config.ipv4_pools {
        let exclude =
            from.reserved.iter().map(|(first, last)| Ipv4Range::new(*first, *last)).collect::<Result<_, _>>()?;
        let range = Ipv4Range::new(from.prefix.address(), from.prefix.last())?;
        // First, last and gateway addresses are among the reserved ones already.
        let kind =
            PoolKind::Ipv4(Ipv4PoolConfig { range, gateway: None, use_ends: true, exclude, reserved: Vec::new() });
        pools.push(Pool { name: from.name.clone(), vrf: VrfId(0), kind });
    }
    for from in &config.ipv6_pools {
        let prefix = Prefix::new(from.prefix.address(), from.prefix.length())?;
        let kind = PoolKind::Prefixes(PrefixPoolConfig {
            prefix,
            length: from.length,
            exclude: Vec::new(),
            reserved: Vec::new(),
        });
        pools.push(Pool { name: from.name.clone(), vrf: VrfId(0), kind });
    }
    Ok(pools)
}

fn user(from: &config::LocalUser) -> LocalUser {
    LocalUser {
        ipv4: from.ipv4,
        session_timeout: from.session_timeout,
        disabled: from.disabled,
        ..LocalUser::new(&from.name, from.password.expose())
    }
}
