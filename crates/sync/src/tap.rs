//! Attaching to a Linux tap device, and its carrier: the system calls of the routing crate that no safe wrapper offers.
//! They live here because `unsafe` is kept to three crates, and this is the one of them that knows no DPDK.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// The longest name of a network interface, in octets (the kernel's `IFNAMSIZ` less its closing zero).
pub const NAME_OCTETS_MAX: usize = 15;

/// Opens `/dev/net/tun` and attaches it to the tap device `name` of the calling thread's network namespace, which is
/// created where it does not exist. Frames are read and written whole, from the Ethernet header on and without a
/// packet-information header (`IFF_TAP | IFF_NO_PI`); the descriptor does not block.
///
/// # Errors
/// `InvalidInput` for a name that is empty, longer than [`NAME_OCTETS_MAX`], or holds `%` (which the kernel would
/// take as a pattern), `/`, white space or a zero octet; otherwise what the kernel says: `NotFound` where there is no
/// `/dev/net/tun`, `PermissionDenied` without `CAP_NET_ADMIN`, `ResourceBusy` where another process holds the device.
pub fn open(name: &str) -> io::Result<OwnedFd> {
    let octets = name.as_bytes();
    let bad = |octet: &u8| matches!(octet, b'%' | b'/' | 0) || octet.is_ascii_whitespace();
    if octets.is_empty() || octets.len() > NAME_OCTETS_MAX || octets.iter().any(bad) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a name for a network interface"));
    }
    let device: File = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")?;
    let mut request = libc::ifreq {
        ifr_name: [0; libc::IFNAMSIZ],
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short },
    };
    for (to, from) in request.ifr_name.iter_mut().zip(octets) {
        *to = *from as libc::c_char;
    }
    // SAFETY: the descriptor is open, and TUNSETIFF reads and writes one `struct ifreq`, which `request` is; its name
    // ends with a zero because at most 15 of its 16 octets were written.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(device.into())
}

/// Says whether the tap that `device` is attached to has a carrier: without one the kernel keeps addresses and routes,
/// says so to routing daemons, and sends nothing. It has one from the moment it is attached to.
///
/// # Errors
/// What the kernel says: `InvalidInput` for a descriptor that is no tap, or before Linux 5.0.
pub fn set_carrier(device: impl AsFd, up: bool) -> io::Result<()> {
    /// `_IOW('T', 226, int)`, which libc does not name.
    const TUNSETCARRIER: u64 = 0x4004_54e2;
    let carrier = libc::c_int::from(up);
    // SAFETY: the descriptor is open as long as it is borrowed, and TUNSETCARRIER reads one int, which `carrier` is.
    let result = unsafe { libc::ioctl(device.as_fd().as_raw_fd(), TUNSETCARRIER as _, &raw const carrier) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_kernel_would_misread_are_refused() {
        for name in ["", "tap%d", "a/b", "with space", "sixteen-octets-x", "zero\0"] {
            let error = open(name).expect_err(name);
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name:?}");
        }
    }

    #[test]
    fn only_a_tap_has_a_carrier() {
        let file = File::open("/dev/null").expect("a file");
        assert!(set_carrier(&file, true).is_err());
    }
}
