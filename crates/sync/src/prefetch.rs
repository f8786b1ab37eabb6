//! Hints that a cache line will be read soon. They never fault and change no value; elsewhere than on x86-64 they do
//! nothing.

#[inline(always)]
fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint: it accepts any address, reads nothing the program can see and cannot fault;
        // SSE is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks for the first cache line of `value`.
#[inline(always)]
pub fn prefetch_read<T: ?Sized>(value: &T) {
    prefetch(core::ptr::from_ref(value).cast());
}

/// Asks for the first cache line of `slice[index]`, without a bounds check: an index out of range is only a useless
/// hint.
#[inline(always)]
pub fn prefetch_index<T>(slice: &[T], index: usize) {
    prefetch(slice.as_ptr().wrapping_add(index).cast());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_index_may_be_prefetched() {
        let words = [1u64, 2, 3];
        prefetch_read(&words);
        prefetch_index(&words, 2);
        prefetch_index(&words, 1 << 40);
        assert_eq!(words, [1, 2, 3]);
    }
}
