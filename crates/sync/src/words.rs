//! The memory of a ring: 64-bit words that two threads share, each touching only the part that is its own for now.
//!
//! Who owns which part is the ring's protocol; here is only the access. While models are checked every access is
//! reported to loom, which fails a model where two threads could touch a word at once.

#[cfg(not(loom))]
use core::cell::UnsafeCell;
#[cfg(loom)]
use loom::cell::UnsafeCell;

/// The octets in a word.
pub(crate) const WORD_BYTES: usize = size_of::<u64>();

pub(crate) struct Words(Box<[UnsafeCell<u64>]>);

// SAFETY: the methods that touch the words are unsafe and their callers keep two threads from the same word; the
// words themselves are plain numbers.
unsafe impl Sync for Words {}

impl Words {
    /// `len` words, all zero, resident from the start.
    pub(crate) fn new(len: usize) -> Self {
        Self((0..len).map(|_| UnsafeCell::new(0)).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(not(loom))]
impl Words {
    /// Reads one word.
    ///
    /// # Safety
    /// No other thread writes word `at` meanwhile.
    #[inline]
    pub(crate) unsafe fn get(&self, at: usize) -> u64 {
        let cell = self.0[at].get();
        // SAFETY: the pointer is to a live word; the caller keeps writers away.
        unsafe { cell.read() }
    }

    /// Writes one word.
    ///
    /// # Safety
    /// No other thread touches word `at` meanwhile.
    #[inline]
    pub(crate) unsafe fn set(&self, at: usize, value: u64) {
        let cell = self.0[at].get();
        // SAFETY: the pointer is to a live word; the caller keeps every other thread away.
        unsafe { cell.write(value) }
    }

    /// Copies `bytes` into the words from `at` on.
    ///
    /// # Safety
    /// No other thread touches those words meanwhile.
    #[inline]
    pub(crate) unsafe fn write(&self, at: usize, bytes: &[u8]) {
        let target = &self.0[at..at + bytes.len().div_ceil(WORD_BYTES)];
        // `UnsafeCell<u64>` has the layout of `u64`, so the slice is one block of bytes.
        let target = target.as_ptr().cast::<u8>().cast_mut();
        // SAFETY: the slice above has room for all of `bytes`; it is inside `UnsafeCell`s, so it may be written
        // through a shared reference; the caller keeps every other thread away, and so `bytes`, which is borrowed,
        // does not overlap it.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len()) }
    }

    /// Hands `look` the `len` bytes that start at word `at`.
    ///
    /// # Safety
    /// No thread writes those words until `look` has returned.
    #[inline]
    pub(crate) unsafe fn read<R>(&self, at: usize, len: usize, look: impl FnOnce(&[u8]) -> R) -> R {
        let source = &self.0[at..at + len.div_ceil(WORD_BYTES)];
        let source = source.as_ptr().cast::<u8>();
        // SAFETY: the slice above is at least `len` bytes, initialised since creation; the caller keeps writers away
        // while the reference lives.
        look(unsafe { core::slice::from_raw_parts(source, len) })
    }
}

#[cfg(loom)]
#[allow(clippy::missing_safety_doc)]
impl Words {
    pub(crate) unsafe fn get(&self, at: usize) -> u64 {
        // SAFETY: as in the real implementation; loom checks it.
        self.0[at].with(|word| unsafe { word.read() })
    }

    pub(crate) unsafe fn set(&self, at: usize, value: u64) {
        // SAFETY: as in the real implementation; loom checks it.
        self.0[at].with_mut(|word| unsafe { word.write(value) });
    }

    pub(crate) unsafe fn write(&self, at: usize, bytes: &[u8]) {
        for (offset, chunk) in bytes.chunks(WORD_BYTES).enumerate() {
            let mut word = [0; WORD_BYTES];
            word[..chunk.len()].copy_from_slice(chunk);
            // SAFETY: handed on to the caller.
            unsafe { self.set(at + offset, u64::from_ne_bytes(word)) };
        }
    }

    pub(crate) unsafe fn read<R>(&self, at: usize, len: usize, look: impl FnOnce(&[u8]) -> R) -> R {
        let mut bytes = Vec::new();
        for offset in 0..len.div_ceil(WORD_BYTES) {
            // SAFETY: handed on to the caller.
            bytes.extend(unsafe { self.get(at + offset) }.to_ne_bytes());
        }
        look(&bytes[..len])
    }
}
