//! The file descriptors of taps.

use std::os::fd::RawFd;
use std::path::Path;

/// Marks every descriptor of a tap that this process has as not for its children. The driver does not: a child would
/// keep the interface alive after the port is closed, and the kernel would go on handing it a share of the frames.
///
/// A child started while a port is being opened may still get them.
pub(crate) fn keep_taps_from_children() {
    let Ok(directory) = std::fs::read_dir("/proc/self/fd") else {
        tracing::warn!("/proc/self/fd cannot be read: child processes would inherit the descriptors of taps");
        return;
    };
    for entry in directory.flatten() {
        let is_tap = std::fs::read_link(entry.path()).is_ok_and(|target| target == Path::new("/dev/net/tun"));
        let number = entry.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok());
        if let (true, Some(number)) = (is_tap, number) {
            // SAFETY: sets a flag of a descriptor by its number; should it have been closed meanwhile, the call fails
            // or marks a descriptor that the standard library would have marked itself.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
}
