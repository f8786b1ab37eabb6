//! DPDK's own longest-prefix matches, for IPv4. The router has another, with reclaim; benchmarks measure it against these.

use crate::device::c_string;
use crate::eal::{Eal, errno, error_text};
use dpdk_sys::{rte_fib, rte_lpm};
use std::ffi::c_int;
use std::ptr::NonNull;

/// The next hop where there is no route.
pub const NO_ROUTE: u32 = 0xff_ffff;

/// An `rte_lpm`.
pub struct Lpm {
    raw: NonNull<rte_lpm>,
    _eal: Eal,
}

/// An `rte_fib` of the kind DIR24-8 with next hops of four octets.
pub struct Dir24Fib {
    raw: NonNull<rte_fib>,
    _eal: Eal,
}

fn accepted(code: c_int) -> Result<(), String> {
    if code >= 0 { Ok(()) } else { Err(error_text(-code)) }
}

impl Lpm {
    /// An empty table of at most `routes_max` routes, as many of them longer than 24 bits in /24s of their own as
    /// `groups_max` says. `name` is its own in the process.
    ///
    /// # Errors
    /// DPDK's word on why there is none.
    pub fn new(eal: &Eal, name: &str, routes_max: u32, groups_max: u32) -> Result<Self, String> {
        let config = dpdk_sys::rte_lpm_config { max_rules: routes_max, number_tbl8s: groups_max, flags: 0 };
        let name = c_string(name);
        // SAFETY: the EAL is up; the name is a zero-ended string and, as the configuration, copied.
        let raw = unsafe { dpdk_sys::rte_lpm_create(name.as_ptr(), dpdk_sys::SOCKET_ID_ANY, &config) };
        let raw = NonNull::new(raw).ok_or_else(|| error_text(errno()))?;
        Ok(Self { raw, _eal: eal.clone() })
    }

    /// Enters a route: `address` in host order, `len` 1 to 32, `next_hop` below 2^24.
    ///
    /// # Errors
    /// DPDK's word on why not.
    pub fn insert(&mut self, address: u32, len: u8, next_hop: u32) -> Result<(), String> {
        // SAFETY: the table is alive and borrowed alone.
        accepted(unsafe { dpdk_sys::rte_lpm_add(self.raw.as_ptr(), address, len, next_hop) })
    }

    /// Looks up each address into the place of the same number; [`NO_ROUTE`] where there is none. The shorter of the
    /// two slices says how many.
    pub fn look_up(&self, addresses: &[u32], next_hops: &mut [u32]) {
        /// The bit of an answer that says that there is one.
        const VALID: u32 = 0x0100_0000;
        let count = addresses.len().min(next_hops.len());
        // SAFETY: the table is alive, and both arrays have `count` places.
        unsafe {
            dpdk_sys::shim_lpm_lookup_bulk(
                self.raw.as_ptr(),
                addresses.as_ptr(),
                next_hops.as_mut_ptr(),
                count as std::ffi::c_uint,
            )
        };
        for next_hop in next_hops.iter_mut().take(count) {
            *next_hop = if *next_hop & VALID == 0 { NO_ROUTE } else { *next_hop & NO_ROUTE };
        }
    }
}

impl Drop for Lpm {
    fn drop(&mut self) {
        // SAFETY: nobody else has the table.
        unsafe { dpdk_sys::rte_lpm_free(self.raw.as_ptr()) };
    }
}

impl Dir24Fib {
    /// An empty table; see [`Lpm::new`].
    ///
    /// # Errors
    /// DPDK's word on why there is none.
    pub fn new(eal: &Eal, name: &str, routes_max: u32, groups_max: u32) -> Result<Self, String> {
        // SAFETY: all zeros is a valid rte_fib_conf.
        let mut config: dpdk_sys::rte_fib_conf = unsafe { std::mem::zeroed() };
        config.type_ = dpdk_sys::RTE_FIB_DIR24_8;
        config.default_nh = NO_ROUTE.into();
        config.max_routes = i32::try_from(routes_max).unwrap_or(i32::MAX);
        config.__bindgen_anon_1.dir24_8.nh_sz = dpdk_sys::RTE_FIB_DIR24_8_4B;
        config.__bindgen_anon_1.dir24_8.num_tbl8 = groups_max;
        let name = c_string(name);
        // SAFETY: the EAL is up; the name is a zero-ended string and, as the configuration, copied.
        let raw = unsafe { dpdk_sys::rte_fib_create(name.as_ptr(), dpdk_sys::SOCKET_ID_ANY, &mut config) };
        let raw = NonNull::new(raw).ok_or_else(|| error_text(errno()))?;
        Ok(Self { raw, _eal: eal.clone() })
    }

    /// Enters a route; see [`Lpm::insert`].
    ///
    /// # Errors
    /// DPDK's word on why not.
    pub fn insert(&mut self, address: u32, len: u8, next_hop: u32) -> Result<(), String> {
        // SAFETY: the table is alive and borrowed alone.
        accepted(unsafe { dpdk_sys::rte_fib_add(self.raw.as_ptr(), address, len, next_hop.into()) })
    }

    /// Looks up each address into the place of the same number; [`NO_ROUTE`] where there is none. The shorter of the
    /// two slices says how many.
    pub fn look_up(&self, addresses: &mut [u32], next_hops: &mut [u64]) {
        let count = addresses.len().min(next_hops.len());
        // SAFETY: the table is alive, and both arrays have `count` places. DPDK declares the addresses as not constant,
        // and does not change them.
        unsafe {
            dpdk_sys::rte_fib_lookup_bulk(
                self.raw.as_ptr(),
                addresses.as_mut_ptr(),
                next_hops.as_mut_ptr(),
                count as c_int,
            )
        };
    }
}

impl Drop for Dir24Fib {
    fn drop(&mut self) {
        // SAFETY: nobody else has the table.
        unsafe { dpdk_sys::rte_fib_free(self.raw.as_ptr()) };
    }
}
