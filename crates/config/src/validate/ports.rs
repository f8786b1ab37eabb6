//! Ports.

use crate::Port;
use crate::decode::Here;
use crate::received::{PortSection, Root};
use crate::source::Sources;

/// `bng_wire::PortIndex` runs from 0 to 31.
const PORTS_MAX: usize = 32;
/// What net_tap can do: its tables hold 4 queues safely, and `set_mtu` takes no more than 1504 (DPDK 22.11).
const NET_TAP_QUEUES_MAX: u16 = 4;
const NET_TAP_MTU_MAX: u16 = 1504;
/// Full Ethernet payload plus the PPPoE and PPP headers: what 1500-octet packets in PPPoE need (RFC 4638).
const ACCESS_MTU: u16 = 1508;
/// IFNAMSIZ is 16 with its closing zero (linux/if.h).
pub(crate) const INTERFACE_NAME_MAX: usize = 15;

/// What a device's text says.
struct Device {
    /// The device without arguments, a PCI address with its domain.
    name: String,
    /// The same with its arguments.
    text: String,
    is_virtual: bool,
    is_net_tap: bool,
    /// net_tap: the name that the kernel's side is given.
    iface: Option<String>,
}

/// Each port, `None` for one that has an error.
pub(crate) fn ports(root: &Root, workers: usize, out: &mut Sources) -> Vec<Option<Port>> {
    let named = &root.ports.0;
    let here = &root.ports.here;
    if named.is_empty() && here.at.start.line > 0 {
        out.error(here.at, &here.path, "at least one port is needed", None);
    }
    if named.len() > PORTS_MAX {
        out.error(
            here.at,
            &here.path,
            format!("{} ports are more than the {PORTS_MAX} there may be", named.len()),
            None,
        );
    }
    let mut devices: Vec<(String, &str)> = Vec::new();
    let mut ifaces: Vec<(String, Option<String>, &str)> = Vec::new();
    named
        .iter()
        .map(|(name, section)| {
            let section = section.as_ref()?;
            let device = device(&section.device.value.0, &section.device.here, out)?;
            let here = &section.device.here;
            if let Some((_, first)) = devices.iter().find(|(known, _)| *known == device.name) {
                out.error(
                    here.at,
                    &here.path,
                    format!("the device `{}` is already the port `{first}`", device.name),
                    None,
                );
            }
            devices.push((device.name.clone(), name.value.as_str()));
            if let Some(iface) = &device.iface {
                compare_iface(iface, section, root, &ifaces, out);
                let netns = section.netns.as_ref().map(|netns| netns.value.0.clone());
                ifaces.push((iface.clone(), netns, name.value.as_str()));
            }
            port(&name.value, &name.here, section, device, root, workers, out)
        })
        .collect()
}

fn port(
    name: &str,
    here: &Here,
    section: &PortSection,
    device: Device,
    root: &Root,
    workers: usize,
    out: &mut Sources,
) -> Option<Port> {
    let is_access = root.access.0.iter().any(|access| access.port.value.0 == name);
    let is_core =
        root.interfaces.0.iter().any(|(_, interface)| interface.as_ref().is_some_and(|i| i.port.value.0 == name));
    if !is_access && !is_core {
        out.hint(here.at, &here.path, "this port is used by no interface and no access match", None);
    }
    let mtu = mtu(section, is_access, device.is_net_tap, out);
    let queues = queues(section, device.is_net_tap, workers, out);
    if let Some(netns) = &section.netns {
        if !device.is_net_tap {
            out.error(
                netns.here.at,
                &netns.here.path,
                "only a net_tap port has a kernel's side that can be put into a namespace",
                None,
            );
        }
        if netns.value.0.contains('/') || matches!(netns.value.0.as_str(), "." | "..") {
            out.error(
                netns.here.at,
                &netns.here.path,
                "expected the name of a file in /run/netns, without a path",
                None,
            );
        }
    }
    if let Some(mac) = &section.mac {
        let octets = mac.value.0.0;
        if octets[0] & 1 == 1 || octets == [0; 6] {
            out.error(
                mac.here.at,
                &mac.here.path,
                "a port needs the address of one station: not a group address, not zero",
                None,
            );
        }
    }
    Some(Port {
        name: name.to_owned(),
        device: device.text,
        device_name: device.name,
        is_virtual: device.is_virtual,
        is_net_tap: device.is_net_tap,
        netns: section.netns.as_ref().map(|netns| netns.value.0.clone()),
        mtu,
        queues,
        rss: section.rss.value,
        mac: section.mac.as_ref().map(|mac| mac.value.0.0),
        rx_descriptors: section.descriptors.rx.to(),
        tx_descriptors: section.descriptors.tx.to(),
        is_access,
        is_core,
    })
}

/// The MTU that is written or, where none is, what the port is used for asks.
fn mtu(section: &PortSection, is_access: bool, is_net_tap: bool, out: &mut Sources) -> u16 {
    match &section.mtu {
        Some(mtu) => {
            let value = mtu.to::<u16>();
            if is_net_tap && value > NET_TAP_MTU_MAX {
                let help = Some("1504 carries 1500-octet packets in PPPoE without a VLAN tag or with one".into());
                let reason = format!("net_tap takes an MTU of at most {NET_TAP_MTU_MAX}, not {value}");
                out.error(mtu.here.at, &mtu.here.path, reason, help);
            }
            value
        }
        None if !is_access => 1500,
        None if is_net_tap => NET_TAP_MTU_MAX,
        None => ACCESS_MTU,
    }
}

fn queues(section: &PortSection, is_net_tap: bool, workers: usize, out: &mut Sources) -> u16 {
    let most = u16::try_from(workers.max(1)).unwrap_or(u16::MAX);
    let Some(queues) = &section.queues else { return if is_net_tap { most.min(NET_TAP_QUEUES_MAX) } else { most } };
    let (rx, tx) = (queues.value.rx, queues.value.tx);
    let (at, path) = (queues.here.at, &queues.here.path);
    if rx != tx {
        let help = Some("each worker that polls a queue also owns one to send on".into());
        out.error(at, path, format!("{rx} receive and {tx} transmit queues: the two must be equal"), help);
    }
    let larger = rx.max(tx);
    if is_net_tap && larger > NET_TAP_QUEUES_MAX {
        out.error(at, path, format!("net_tap takes at most {NET_TAP_QUEUES_MAX} queues, not {larger}"), None);
    } else if larger > most {
        let reason = format!(
            "{larger} queues are more than the {most} worker{} that could poll them",
            if most == 1 { "" } else { "s" }
        );
        out.error(at, path, reason, None);
    }
    rx
}

/// Two net_tap ports, or a net_tap port and a twin, cannot have kernel interfaces of one name in one namespace.
fn compare_iface(
    iface: &str,
    section: &PortSection,
    root: &Root,
    ifaces: &[(String, Option<String>, &str)],
    out: &mut Sources,
) {
    let here = &section.device.here;
    let netns = section.netns.as_ref().map(|netns| netns.value.0.clone());
    if iface.is_empty() || iface.len() > INTERFACE_NAME_MAX {
        let reason = format!("`iface={iface}`: the name of a kernel interface has 1 to {INTERFACE_NAME_MAX} octets");
        out.error(here.at, &here.path, reason, None);
    }
    if let Some((.., first)) = ifaces.iter().find(|(known, place, _)| known == iface && *place == netns) {
        out.error(
            here.at,
            &here.path,
            format!("`iface={iface}` is already the kernel's side of the port `{first}`"),
            None,
        );
    }
    if netns.is_none() && root.interfaces.position(iface).is_some() {
        let reason = format!("`iface={iface}` is also the name of an interface, whose kernel twin has that name");
        out.error(here.at, &here.path, reason, Some("rename one of them, or set `netns`".into()));
    }
}

fn device(text: &str, here: &Here, out: &mut Sources) -> Option<Device> {
    let (name, args) = match text.split_once(',') {
        Some((name, args)) => (name.trim(), Some(args)),
        None => (text.trim(), None),
    };
    let with_args = |name: &str| args.map_or_else(|| name.to_owned(), |args| format!("{name},{args}"));
    if let Some(address) = pci_address(name) {
        return Some(Device {
            text: with_args(&address),
            name: address,
            is_virtual: false,
            is_net_tap: false,
            iface: None,
        });
    }
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if plain && (name.starts_with("net_") || name.starts_with("eth_")) {
        let is_net_tap = name.starts_with("net_tap");
        let iface = args.unwrap_or_default().split(',').find_map(|arg| arg.trim().strip_prefix("iface="));
        let iface = iface.filter(|_| is_net_tap).map(str::to_owned);
        return Some(Device { text: with_args(name), name: name.to_owned(), is_virtual: true, is_net_tap, iface });
    }
    let help = Some("write a PCI address (0000:3b:00.0) or a virtual device (net_tap0,iface=acc0)".into());
    out.error(here.at, &here.path, format!("`{name}` is no DPDK device"), help);
    None
}

/// A PCI address in lower case with its domain, if `text` is one: `[DDDD:]BB:DD.F`.
fn pci_address(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let full = if lower.matches(':').count() == 1 { format!("0000:{lower}") } else { lower };
    let hex = |part: &str, length: usize| part.len() == length && part.bytes().all(|b| b.is_ascii_hexdigit());
    let (domain, rest) = full.split_once(':')?;
    let (bus, rest) = rest.split_once(':')?;
    let (slot, function) = rest.split_once('.')?;
    let good = (4..=8).contains(&domain.len())
        && hex(domain, domain.len())
        && hex(bus, 2)
        && hex(slot, 2)
        && matches!(function.as_bytes(), [b'0'..=b'7']);
    good.then_some(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pci_addresses_get_their_domain() {
        for (text, full) in
            [("0000:3b:00.0", "0000:3b:00.0"), ("3B:00.1", "0000:3b:00.1"), ("10000:01:1f.7", "10000:01:1f.7")]
        {
            assert_eq!(pci_address(text).as_deref(), Some(full));
        }
        for text in ["", "3b", "3b:00", "3b:00.8", "3b:0.0", "0000:3b:00.0.0", "net_tap0", "zz:00.0"] {
            assert_eq!(pci_address(text), None, "{text}");
        }
    }
}
