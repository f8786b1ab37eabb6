//! One value that its writer replaces while readers look at it.

use crate::atomic::AtomicPtr;
use crate::ordering::{POINTER_OBSERVE, POINTER_PUBLISH};
use crate::qsbr::{Qsbr, Reader};
use crate::retire::{RetireFull, RetireList};
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// The readers' side: a value that may be replaced at any time and is looked at without a lock.
pub struct Published<T> {
    domain: Arc<Qsbr>,
    pointer: AtomicPtr<T>,
    /// What the publisher had retired when it was dropped: freed with the last handle, when no reader can be left.
    orphans: Mutex<Vec<Retired<T>>>,
    _owns: PhantomData<Box<T>>,
}

/// The writer's side: there is one, and it frees what it replaced.
pub struct Publisher<T> {
    shared: Arc<Published<T>>,
    retired: RetireList<Retired<T>>,
}

/// A value that was boxed and is no longer published. Not a `Box`: readers may still look at it.
struct Retired<T>(NonNull<T>);

// SAFETY: it owns a `T` as a box does, and is freed on whichever thread holds it.
unsafe impl<T: Send> Send for Retired<T> {}

impl<T> Retired<T> {
    /// # Safety
    /// No reference to the value exists and none can be made.
    unsafe fn free(self) {
        // SAFETY: the pointer came from `Box::into_raw`; the caller says that nobody else has it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Publishes `value` to the readers of `domain`. At most `retired_max` replaced values (at least 1) wait for readers
/// at a time.
#[must_use]
pub fn published<T>(domain: &Arc<Qsbr>, value: T, retired_max: usize) -> (Publisher<T>, Arc<Published<T>>) {
    let shared = Arc::new(Published {
        domain: Arc::clone(domain),
        pointer: AtomicPtr::new(Box::into_raw(Box::new(value))),
        orphans: Mutex::new(Vec::new()),
        _owns: PhantomData,
    });
    (Publisher { shared: Arc::clone(&shared), retired: RetireList::new(domain, retired_max.max(1)) }, shared)
}

impl<T> Published<T> {
    /// The value now, valid until the reader's next quiescent point: the reference borrows the reader, so a
    /// quiescent point while it lives does not compile:
    ///
    /// ```compile_fail,E0502
    /// # let domain = bng_sync::Qsbr::new(1);
    /// # let (_publisher, number) = bng_sync::published(&domain, 7u32, 4);
    /// let mut reader = domain.reader(0).unwrap();
    /// reader.online();
    /// let seen = number.load(&reader);
    /// reader.quiescent();
    /// assert_eq!(*seen, 7);
    /// ```
    ///
    /// # Panics
    /// If the reader is offline or of another domain: the writer would not wait for it.
    #[inline]
    #[must_use]
    pub fn load<'a>(&'a self, reader: &'a Reader) -> &'a T {
        assert!(reader.is_online() && reader.reads(&self.domain), "the writer would not wait for this reader");
        let pointer = self.pointer.load(POINTER_OBSERVE);
        // SAFETY: the pointer is to a box that was published. It is freed only after every online reader of the
        // domain, this one among them, has passed a quiescent point, which needs the reader mutably and so cannot
        // happen while the reference lives; or with `self`, which the reference borrows too.
        unsafe { &*pointer }
    }
}

impl<T> Publisher<T> {
    /// Replaces the value. The old one is dropped by a later `publish` or [`Publisher::poll`], here on the writer.
    ///
    /// # Errors
    /// [`RetireFull`] with the new value when as many old ones wait for readers as may.
    pub fn publish(&mut self, value: T) -> Result<(), RetireFull<T>> {
        self.poll();
        if self.retired.room() == 0 {
            return Err(RetireFull(value));
        }
        let old = self.shared.pointer.swap(Box::into_raw(Box::new(value)), POINTER_PUBLISH);
        if let Some(old) = NonNull::new(old) {
            // There is room, so nothing comes back; if it did, leaking it would be the safe answer.
            let _ = self.retired.push(Retired(old));
        }
        Ok(())
    }

    /// The value now.
    #[must_use]
    pub fn current(&self) -> &T {
        let pointer = self.shared.pointer.load(POINTER_OBSERVE);
        // SAFETY: only `publish` retires the published box, and it needs `self` mutably.
        unsafe { &*pointer }
    }

    /// Drops the replaced values that no reader looks at any more; never waits. Returns how many still wait.
    pub fn poll(&mut self) -> usize {
        // SAFETY: the grace period has passed: each online reader has been at a quiescent point since the pointer was
        // replaced, so no reference is left and none can be made.
        self.retired.poll(|old| unsafe { old.free() });
        self.retired.len()
    }
}

impl<T> Drop for Publisher<T> {
    fn drop(&mut self) {
        self.poll();
        let waiting = self.retired.take_all();
        self.shared.orphans.lock().unwrap_or_else(PoisonError::into_inner).extend(waiting);
    }
}

impl<T> Drop for Published<T> {
    fn drop(&mut self) {
        for old in self.orphans.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // SAFETY: references to old values borrow `self`, which is going away.
            unsafe { old.free() };
        }
        let pointer = self.pointer.load(POINTER_OBSERVE);
        // SAFETY: the pointer came from `Box::into_raw` and references to the value borrow `self`, which is going
        // away; the publisher, which holds a handle, is gone.
        drop(unsafe { Box::from_raw(pointer) });
    }
}

impl<T: fmt::Debug> fmt::Debug for Publisher<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Publisher").field("current", self.current()).field("waiting", &self.retired.len()).finish()
    }
}

impl<T> fmt::Debug for Published<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Published").finish_non_exhaustive()
    }
}
