//! The time stamp counter.

/// The time stamp counter of the processor, in its own ticks. Monotonic on one core and, on every machine that DPDK
/// supports, the same on all of them.
#[inline(always)]
#[must_use]
pub fn rdtsc() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86_64 processor has the instruction, and Linux leaves it open to user space.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        // SAFETY: reads a counter register, no condition.
        unsafe { dpdk_sys::shim_rdtsc() }
    }
}

/// Ticks of [`rdtsc`] in a second, as the EAL measured it; 0 before the EAL is up.
#[must_use]
pub fn tsc_hz() -> u64 {
    // SAFETY: reads a variable that EAL initialisation writes once.
    unsafe { dpdk_sys::shim_tsc_hz() }
}

/// Tells the processor that this is a waiting loop.
#[inline(always)]
pub fn pause() {
    core::hint::spin_loop();
}
