//! A fixed number of zeroed elements in memory of their own.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use zerocopy::FromZeros;

/// The size of the huge pages asked for: 2 MiB, the default huge page of x86-64 and of most arm64 kernels.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// The alignment every mapping has; the largest alignment an element may ask for.
const PAGE_BYTES: usize = 4096;

/// Which pages an [`Arena`] asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Placement {
    /// Pages of the ordinary size, faulted in as elements are first touched: what is not used costs no memory.
    #[default]
    Ordinary,
    /// Ordinary pages that the kernel may merge into huge ones (transparent huge pages) where it can.
    Transparent,
    /// Reserved huge pages (hugetlbfs) if the host has enough of them free, else as [`Placement::Ordinary`].
    Huge,
}

/// Which pages an [`Arena`] got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pages {
    /// Ordinary pages, faulted one by one.
    Ordinary,
    /// Ordinary pages with transparent huge pages allowed.
    Transparent,
    /// Reserved huge pages of 2 MiB.
    Huge,
}

/// Why an arena could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ArenaError {
    /// The size does not fit the address space.
    #[error("an arena of {elements} elements of {element_bytes} octets does not fit the address space")]
    TooLarge {
        /// Elements asked for.
        elements: usize,
        /// Size of one, in octets.
        element_bytes: usize,
    },
    /// The kernel refused the mapping.
    #[error("cannot map {bytes} octets of memory")]
    Map {
        /// Octets asked for.
        bytes: usize,
        /// What the kernel said.
        source: std::io::Error,
    },
}

/// `len` elements of `T`, all zero at first, at addresses that stay.
///
/// The memory is mapped, not allocated: elements in pages that nobody has touched cost nothing (in ordinary pages),
/// so an arena may be sized for the configured maximum. Elements are usually structs of atomics: one writer sets
/// them, readers look at them through shared references.
pub struct Arena<T> {
    base: NonNull<T>,
    len: usize,
    mapped_bytes: usize,
    pages: Pages,
    _owns: PhantomData<T>,
}

// SAFETY: an arena owns its elements as a `Box<[T]>` does; moving it to another thread moves them.
unsafe impl<T: Send> Send for Arena<T> {}
// SAFETY: a shared arena gives out shared references to elements and nothing else, as a `Box<[T]>` does.
unsafe impl<T: Sync> Sync for Arena<T> {}

impl<T: FromZeros> Arena<T> {
    /// Elements have a size, an alignment a page satisfies, and no destructor (an arena runs none).
    const ELEMENT_FITS: () =
        assert!(size_of::<T>() > 0 && align_of::<T>() <= PAGE_BYTES && !core::mem::needs_drop::<T>());

    /// Maps `len` zeroed elements.
    ///
    /// # Errors
    /// [`ArenaError`] when the size overflows or the kernel refuses. A want of huge pages is not an error: see
    /// [`Arena::pages`].
    pub fn new(len: usize, placement: Placement) -> Result<Self, ArenaError> {
        let () = Self::ELEMENT_FITS;
        let too_large = ArenaError::TooLarge { elements: len, element_bytes: size_of::<T>() };
        let Some(bytes) = len.checked_mul(size_of::<T>()).map(|bytes| bytes.max(1)) else { return Err(too_large) };
        // A slice may span at most isize::MAX octets; the rounding below must not overflow either.
        if bytes > isize::MAX as usize - HUGE_PAGE_BYTES {
            return Err(too_large);
        }
        if placement == Placement::Huge {
            let mapped_bytes = bytes.next_multiple_of(HUGE_PAGE_BYTES);
            if let Ok(base) = map(mapped_bytes, libc::MAP_HUGETLB) {
                return Ok(Self { base: base.cast(), len, mapped_bytes, pages: Pages::Huge, _owns: PhantomData });
            }
        }
        let mapped_bytes = bytes.next_multiple_of(PAGE_BYTES);
        let base = map(mapped_bytes, libc::MAP_NORESERVE).map_err(|source| ArenaError::Map { bytes, source })?;
        let (advice, pages) = match placement {
            Placement::Transparent => (libc::MADV_HUGEPAGE, Pages::Transparent),
            // One touched element must not make 2 MiB resident.
            Placement::Ordinary | Placement::Huge => (libc::MADV_NOHUGEPAGE, Pages::Ordinary),
        };
        // A kernel built without transparent huge pages refuses the advice, and has then nothing to be advised on.
        // SAFETY: the range is the mapping just made; the advice changes how it is backed, never what it holds.
        let refused = unsafe { libc::madvise(base.as_ptr().cast(), mapped_bytes, advice) } != 0;
        let pages = if refused { Pages::Ordinary } else { pages };
        Ok(Self { base: base.cast(), len, mapped_bytes, pages, _owns: PhantomData })
    }
}

/// Maps `bytes` of private zeroed memory.
fn map(bytes: usize, flags: libc::c_int) -> Result<NonNull<u8>, std::io::Error> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    // SAFETY: without an address and MAP_FIXED a new mapping replaces none that exists.
    let base = unsafe { libc::mmap(core::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    NonNull::new(base.cast()).ok_or_else(|| std::io::Error::other("mapped at address 0"))
}

impl<T> Arena<T> {
    /// Which pages the kernel granted.
    #[must_use]
    pub fn pages(&self) -> Pages {
        self.pages
    }

    /// The octets of address space the arena takes (not the memory resident).
    #[must_use]
    pub fn mapped_bytes(&self) -> usize {
        self.mapped_bytes
    }
}

impl<T> Deref for Arena<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `base` is the start of a mapping of at least `len` elements, aligned to a page, that lives as long
        // as `self`; zeroed memory is a valid `T` (`FromZeros` at creation).
        unsafe { core::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Arena<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and `self` is borrowed mutably, so no other reference to an element exists.
        unsafe { core::slice::from_raw_parts_mut(self.base.as_ptr(), self.len) }
    }
}

impl<T> Drop for Arena<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is this arena's own, made by `map` with this length, and references into it have ended.
        let _ = unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped_bytes) };
    }
}

impl<T> fmt::Debug for Arena<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Arena")
            .field("len", &self.len)
            .field("mapped_bytes", &self.mapped_bytes)
            .field("pages", &self.pages)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    #[derive(FromZeros)]
    #[repr(C, align(128))]
    struct Entry {
        key: AtomicU64,
        value: AtomicU32,
    }

    #[test]
    fn elements_start_at_zero_and_keep_what_is_stored() {
        for placement in [Placement::Ordinary, Placement::Transparent, Placement::Huge] {
            let arena: Arena<Entry> = Arena::new(1_000_000, placement).expect("memory");
            assert_eq!(arena.len(), 1_000_000);
            assert!(arena.mapped_bytes() >= 128_000_000);
            for index in [0, 1, 65_537, 999_999] {
                let entry = &arena[index];
                assert_eq!(std::ptr::from_ref(entry).addr() % 128, 0);
                assert_eq!((entry.key.load(Ordering::Relaxed), entry.value.load(Ordering::Relaxed)), (0, 0));
                entry.key.store(index as u64, Ordering::Relaxed);
            }
            assert_eq!(arena[999_999].key.load(Ordering::Relaxed), 999_999);
            assert!(arena.get(1_000_000).is_none());
            // What was got is reported, whatever the host could give.
            assert!(placement != Placement::Ordinary || arena.pages() == Pages::Ordinary);
        }
    }

    #[test]
    fn untouched_elements_are_not_resident() {
        let resident = || -> usize {
            let text = std::fs::read_to_string("/proc/self/statm").expect("statm");
            text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number")
        };
        let before = resident();
        let arena: Arena<AtomicU64> = Arena::new(1 << 27, Placement::Ordinary).expect("memory");
        for index in (0..arena.len()).step_by(1 << 21) {
            arena[index].store(1, Ordering::Relaxed);
        }
        // 64 touched pages; other tests of this process may touch some of theirs meanwhile. 1 GiB would be 262,144.
        assert!(resident() - before.min(resident()) < 100_000);
    }

    #[test]
    fn an_empty_arena_and_one_too_large() {
        let empty: Arena<AtomicU64> = Arena::new(0, Placement::Ordinary).expect("memory");
        assert!(empty.is_empty());
        let refused = Arena::<AtomicU64>::new(usize::MAX / 2, Placement::Ordinary);
        assert!(matches!(refused, Err(ArenaError::TooLarge { .. })));
        let refused = Arena::<AtomicU64>::new(isize::MAX as usize / 8 - (1 << 20), Placement::Ordinary);
        assert!(matches!(refused, Err(ArenaError::Map { .. })));
    }

    #[test]
    fn elements_may_be_set_through_a_mutable_borrow() {
        let mut arena: Arena<u32> = Arena::new(5000, Placement::Ordinary).expect("memory");
        arena[4999] = 7;
        arena.fill(9);
        assert!(arena.iter().all(|element| *element == 9));
    }
}
