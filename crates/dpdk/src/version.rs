//! Which DPDK is linked in.

use std::ffi::CStr;

/// DPDK's name and version, for example `DPDK 22.11.11`.
#[must_use]
pub fn version() -> String {
    // SAFETY: the function takes nothing and may be called at any time.
    let text = unsafe { dpdk_sys::rte_version() };
    if text.is_null() {
        return String::from("DPDK");
    }
    // SAFETY: it returns a pointer to a string that lives as long as the process.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_version_is_one_we_know() {
        assert!(super::version().starts_with("DPDK 22.11"), "{}", super::version());
    }
}
