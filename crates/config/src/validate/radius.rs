//! RADIUS.

use std::net::SocketAddr;
use std::path::Path;

use crate::decode::{At, Here, List};
use crate::load::secret_file;
use crate::received::{
    RadiusAccountingSection, RadiusDynamicSection, RadiusRequestsSection, RadiusSection, RadiusServerSection, Root,
};
use crate::source::Sources;
use crate::suggest::nearest;
use crate::{AaaMethod, Radius, RadiusAccounting, RadiusDynamic, RadiusDynamicClient, RadiusRequests, RadiusServer};

/// The words that may stand in braces in a format.
pub const FORMAT_WORDS: &[&str] = &[
    "node",
    "port",
    "outer_vlan",
    "inner_vlan",
    "vlans",
    "session_id",
    "mac",
    "mac_dash",
    "mac_dot",
    "mac_plain",
    "local_mac",
    "circuit_id",
    "remote_id",
];
/// Servers for one purpose.
const SERVERS_MAX: usize = 32;
const AUTHENTICATION_PORT: u16 = 1812;
const ACCOUNTING_PORT: u16 = 1813;

pub(crate) fn radius(file: &Path, root: &Root, node: &str, out: &mut Sources) -> Option<Radius> {
    let section = root.aaa.radius.as_ref();
    let asked = root.profiles.0.iter().filter_map(|(_, profile)| profile.as_ref());
    let asked = asked.map(|profile| &profile.aaa).find(|aaa| aaa.0.contains(&AaaMethod::Radius));
    if let (Some(aaa), true) = (asked, section.is_none_or(|section| section.servers.0.is_empty())) {
        let help = Some("add `aaa: {radius: {servers: [{address: ..., secret_file: ...}]}}`".into());
        // A server with an error is reported by itself.
        let here = section.map_or(&aaa.here, |section| &section.servers.here);
        if !out.is_broken(&here.path) {
            out.error(aaa.here.at, &aaa.here.path, "no RADIUS server is there to ask", help);
        }
    }
    let section = section?;
    for format in [&section.nas_port_id, &section.calling_station_id, &section.called_station_id] {
        check_format(&format.value.0, &format.here, out);
    }
    Some(Radius {
        nas_identifier: section.nas_identifier.as_ref().map_or_else(|| node.to_owned(), |name| name.value.0.clone()),
        nas_ipv4: section.nas_ip_address.as_ref().map(|address| address.value.0),
        nas_ipv6: section.nas_ipv6_address.as_ref().map(|address| address.value.0),
        nas_port_id: section.nas_port_id.value.0.clone(),
        calling_station_id: section.calling_station_id.value.0.clone(),
        called_station_id: section.called_station_id.value.0.clone(),
        servers: servers(file, &section.servers, AUTHENTICATION_PORT, out),
        requests: requests(&section.requests, out),
        accounting: section.accounting.as_ref().map(|accounting| self::accounting(file, accounting, out)),
        dynamic: section.dynamic.as_ref().map(|dynamic| self::dynamic(file, section, dynamic, out)),
    })
}

fn servers(
    file: &Path,
    list: &At<List<RadiusServerSection>>,
    default_port: u16,
    out: &mut Sources,
) -> Vec<RadiusServer> {
    let mut servers: Vec<RadiusServer> = Vec::new();
    if list.0.len() > SERVERS_MAX {
        out.error(list.here.at, &list.here.path, format!("more than {SERVERS_MAX} servers"), None);
    }
    for section in &list.0 {
        let ip = section.address.value.0;
        let here = &section.address.here;
        if ip.is_unspecified() || ip.is_multicast() {
            out.error(here.at, &here.path, format!("{ip} is no address of a server"), None);
        }
        let address = SocketAddr::new(ip, section.port.as_ref().map_or(default_port, |port| port.to()));
        if servers.iter().any(|server| server.address == address) {
            out.error(here.at, &here.path, format!("the server {address} is already in the list"), None);
        }
        let source = section.source.as_ref().map(|source| (source.value.0, &source.here));
        if let Some((source, here)) = source
            && source.is_ipv4() != ip.is_ipv4()
        {
            out.error(here.at, &here.path, format!("{source} cannot reach {ip}: they are of two families"), None);
        }
        if !section.require_message_authenticator.value {
            let here = &section.require_message_authenticator.here;
            let help = Some("let the server send Message-Authenticator in every reply, and leave this on".into());
            let reason = "whoever can change packets on the way can let anybody in (CVE-2024-3596)";
            out.warn(here.at, &here.path, reason, help);
        }
        let Some(secret) = secret_file(file, &section.secret_file.value.0, &section.secret_file.here, out) else {
            continue;
        };
        servers.push(RadiusServer {
            address,
            secret,
            source: source.map(|(source, _)| source),
            priority: section.priority.to(),
            weight: section.weight.to(),
            status_server: section.status_server.value,
            require_message_authenticator: section.require_message_authenticator.value,
        });
    }
    servers
}

fn requests(section: &RadiusRequestsSection, out: &mut Sources) -> RadiusRequests {
    if section.timeout_max.0 < section.timeout.0 {
        let here = &section.timeout_max.here;
        out.error(here.at, &here.path, "the longest time between repetitions is shorter than the first", None);
    }
    RadiusRequests {
        timeout: section.timeout.0,
        timeout_max: section.timeout_max.0,
        transmissions: section.transmissions.to(),
        time_max: section.time_max.0,
        dead_after_timeouts: section.dead_after_timeouts.to(),
        dead_after: section.dead_after.0,
        dead_time: section.dead_time.0,
        probe_interval: section.probe_interval.0,
        outstanding_max: section.outstanding_max.to(),
    }
}

fn accounting(file: &Path, section: &RadiusAccountingSection, out: &mut Sources) -> RadiusAccounting {
    let here = &section.servers.here;
    if section.servers.0.is_empty() && !out.is_broken(&here.path) {
        out.error(here.at, &here.path, "accounting needs a server", None);
    }
    RadiusAccounting {
        servers: servers(file, &section.servers, ACCOUNTING_PORT, out),
        interim: section.interim.as_ref().map(|interim| interim.0),
        interim_jitter_percent: section.interim_jitter.to(),
        folder: section.folder.value.0.clone(),
        records_max: section.records_max.to(),
        records_octets_max: section.records_octets_max.u32() as usize,
        on_off: section.on_off.value,
    }
}

fn dynamic(file: &Path, radius: &RadiusSection, section: &RadiusDynamicSection, out: &mut Sources) -> RadiusDynamic {
    for (list, here, what) in [
        (section.listen.0.len(), &section.listen.here, "an address to listen at is needed"),
        (section.clients.0.len(), &section.clients.here, "nobody may ask: name a client"),
    ] {
        if list == 0 && !out.is_broken(&here.path) {
            out.error(here.at, &here.path, what, None);
        }
    }
    for listen in &section.listen.0 {
        let (address, here) = (listen.value.0, &listen.here);
        if address.ip().is_unspecified() || address.ip().is_multicast() || address.port() == 0 {
            // With a wildcard an answer could leave from another address than the one that was asked.
            let reason = format!("{address} is no address with a port to listen at");
            out.error(here.at, &here.path, reason, Some("name an address of this box".into()));
        }
    }
    let mut clients: Vec<RadiusDynamicClient> = Vec::new();
    for client in &section.clients.0 {
        let (address, here) = (client.address.value.0, &client.address.here);
        if clients.iter().any(|known| known.address == address) {
            out.error(here.at, &here.path, format!("the client {address} is already in the list"), None);
        }
        let secret = secret_file(file, &client.secret_file.value.0, &client.secret_file.here, out);
        if let Some(secret) = secret {
            let require_message_authenticator = client.require_message_authenticator.value;
            clients.push(RadiusDynamicClient { address, secret, require_message_authenticator });
        }
    }
    if radius.accounting.is_none() && radius.servers.0.is_empty() {
        let here = &section.listen.here;
        out.hint(here.at, &here.path, "there is neither a server for logins nor one for accounting", None);
    }
    RadiusDynamic {
        listen: section.listen.0.iter().map(|listen| listen.value.0).collect(),
        clients,
        window: section.window.0,
        require_event_timestamp: section.require_event_timestamp.value,
    }
}

/// A text with places in braces; doubled braces are braces.
fn check_format(text: &str, here: &Here, out: &mut Sources) {
    let plain = text.replace("{{", "").replace("}}", "");
    let mut parts = plain.split('{');
    let closed = |part: &str| part.contains('}');
    let mut good = parts.next().is_none_or(|first| !closed(first));
    for part in parts {
        let Some((word, behind)) = part.split_once('}') else {
            good = false;
            continue;
        };
        good &= !closed(behind);
        if !FORMAT_WORDS.contains(&word) {
            let help = match nearest(word, FORMAT_WORDS) {
                Some(near) => format!("did you mean `{{{near}}}`?"),
                None => format!("known: {}", FORMAT_WORDS.join(", ")),
            };
            out.error(here.at, &here.path, format!("`{{{word}}}` is not known"), Some(help));
        }
    }
    if !good {
        let help = Some("write `{{` and `}}` for braces themselves".into());
        out.error(here.at, &here.path, "a brace has no partner", help);
    }
}
