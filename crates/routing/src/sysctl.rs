//! The kernel's switches for one interface, `/proc/sys/net/{ipv4,ipv6}/conf/<name>/...`, in the network namespace of
//! the calling thread.

use std::io;

/// A switch of a twin, with the value it needs and whether it may be missing.
struct Switch {
    path: &'static str,
    value: &'static str,
    optional: bool,
}

const fn needed(path: &'static str, value: &'static str) -> Switch {
    Switch { path, value, optional: false }
}

const fn optional(path: &'static str, value: &'static str) -> Switch {
    Switch { path, value, optional: true }
}

/// IPv4. The workers forward, not the kernel, so its forwarding is off and its reverse-path filter, which would judge
/// by its own table, too. An address is answered for only on the interface that has it, and asked for from an address
/// of that interface, since the twins of several ports must not answer for each other.
const IPV4: [Switch; 7] = [
    needed("forwarding", "0"),
    needed("rp_filter", "0"),
    needed("accept_redirects", "0"),
    needed("send_redirects", "0"),
    needed("arp_ignore", "1"),
    needed("arp_announce", "2"),
    // Tell the neighbours when the device comes up, so that they find a router that has moved.
    optional("arp_notify", "1"),
];

/// IPv6. `forwarding` of one interface makes its neighbour advertisements say Router (RFC 4861 section 4.4), which a
/// host needs to keep its default route; packets are forwarded by the kernel only where `all` is set too, and that
/// one is left alone.
const IPV6: [Switch; 7] = [
    needed("disable_ipv6", "0"),
    needed("accept_ra", "0"),
    needed("autoconf", "0"),
    needed("accept_redirects", "0"),
    needed("forwarding", "1"),
    optional("ndisc_notify", "1"),
    // `ip link set down` takes the addresses of the configuration away otherwise, and up does not bring them back.
    optional("keep_addr_on_down", "1"),
];

/// Sets the switches of a twin. A kernel without IPv6 is left without.
pub(crate) fn set_up_twin(name: &str) -> io::Result<()> {
    set_all("ipv4", name, &IPV4)?;
    if std::path::Path::new("/proc/sys/net/ipv6").exists() {
        set_all("ipv6", name, &IPV6)?;
    }
    Ok(())
}

fn set_all(family: &str, name: &str, switches: &[Switch]) -> io::Result<()> {
    for Switch { path, value, optional } in switches {
        let file = format!("/proc/sys/net/{family}/conf/{name}/{path}");
        match std::fs::write(&file, value) {
            Ok(()) => {}
            Err(error) if *optional && error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io::Error::new(error.kind(), format!("{file}: {error}"))),
        }
    }
    Ok(())
}

/// True where the kernel itself forwards IPv6 in this namespace. A twin's frames for others would then be forwarded a
/// second way; the workers hand the twin only what is for the router, so this is worth a warning, no more.
pub(crate) fn ipv6_forwarding_everywhere() -> bool {
    std::fs::read_to_string("/proc/sys/net/ipv6/conf/all/forwarding").is_ok_and(|text| text.trim() == "1")
}
