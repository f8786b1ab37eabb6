//! Local users.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use crate::decode::At;
use crate::received::{Root, UserSection};
use crate::source::Sources;
use crate::{AaaMethod, LocalUser};

/// The users of the configuration and those of its file, in this order.
pub(crate) fn users(root: &Root, more: Vec<At<UserSection>>, out: &mut Sources) -> Vec<LocalUser> {
    let local = &root.aaa.local;
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let all: Vec<&At<UserSection>> = local.users.0.iter().chain(&more).collect();
    for user in &all {
        let (here, name) = (&user.name.here, user.name.value.0.as_str());
        match seen.get(name) {
            Some(line) => {
                out.error(here.at, &here.path, format!("the user `{name}` is already there, in line {line}"), None);
            }
            None => {
                seen.insert(name, here.at.start.line);
            }
        }
    }
    let mut owners: HashMap<Ipv4Addr, &str> = HashMap::new();
    for user in &all {
        let Some(ipv4) = &user.ipv4 else { continue };
        let (here, address) = (&ipv4.here, ipv4.value.0);
        let gateways = root.profiles.0.iter().filter_map(|(_, profile)| profile.as_ref()?.ipv4.as_ref());
        if address.is_unspecified() || address.is_loopback() || address.is_multicast() || address == Ipv4Addr::BROADCAST
        {
            out.error(here.at, &here.path, format!("{address} is no address of a host"), None);
        } else if gateways.into_iter().any(|ipv4| ipv4.gateway.value.0 == address) {
            out.error(here.at, &here.path, format!("{address} is the gateway of a profile"), None);
        } else if let Some(owner) = owners.insert(address, user.name.value.0.as_str()) {
            out.error(here.at, &here.path, format!("{address} is the address of `{owner}` already"), None);
        }
    }
    let asked = root.profiles.0.iter().any(|(_, p)| p.as_ref().is_some_and(|p| p.aaa.0.contains(&AaaMethod::Local)));
    if asked && all.is_empty() && local.file.is_none() {
        out.hint(local.here.at, &local.here.path, "there is no user: nobody can log in", None);
    }
    all.into_iter()
        .map(|user| LocalUser {
            name: user.name.value.0.clone(),
            password: user.password.value.clone(),
            ipv4: user.ipv4.as_ref().map(|ipv4| ipv4.value.0),
            session_timeout: user.session_timeout.as_ref().map(|timeout| timeout.0),
            disabled: user.disabled.value,
        })
        .collect()
}
