//! For tests: proof that a piece of code allocates nothing and makes no system call.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use std::alloc::System;

thread_local! {
    /// Whether this thread is inside [`allocations_in`], and what it did there.
    static WATCHED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The system's allocator, which counts what threads inside [`allocations_in`] ask of it. Made a test binary's own by
/// `#[global_allocator]`.
#[derive(Debug, Default, Clone, Copy)]
pub struct WatchedAllocator;

fn note() {
    // A thread that is about to end has no cell any more; it is not inside.
    let _ = WATCHED.try_with(|cell| cell.set(cell.get().map(|count| count.wrapping_add(1))));
}

// SAFETY: every call is passed on to the system's allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for WatchedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note();
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Runs `work` and answers how often this thread asked the allocator for memory or gave some back meanwhile. Always 0
/// where the binary's allocator is not a [`WatchedAllocator`]: a test shows first that it counts.
pub fn allocations_in(work: impl FnOnce()) -> u64 {
    WATCHED.set(Some(0));
    work();
    WATCHED.replace(None).unwrap_or(0)
}

/// From now on any system call ends the calling thread, and it alone (seccomp(2), a filter of one instruction). There is
/// no way back, and such a thread cannot end in any other way. Strict mode would do, but takes the time stamp counter
/// away, too.
///
/// # Errors
/// The kernel's number where it refuses.
pub fn forbid_system_calls() -> Result<(), i32> {
    let failed = || std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
    let end = libc::sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: libc::SECCOMP_RET_KILL_THREAD,
    };
    let mut filter = [end];
    let program = libc::sock_fprog { len: 1, filter: filter.as_mut_ptr() };
    // SAFETY: a request about the calling thread, all numbers.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(failed());
    }
    // SAFETY: the program and its one instruction outlive the call, and the kernel copies both.
    match unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) } {
        0 => Ok(()),
        _ => Err(failed()),
    }
}
