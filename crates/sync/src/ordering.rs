//! The memory orderings that the protocols of this crate depend on, one name each, with the reason.
//!
//! Each has a mutant: building with `--cfg loom --cfg mutate="<name>"` weakens exactly that one, and the models in
//! `tests/loom.rs` must then fail. A mutant that passes means that the models do not look at what the ordering is for.

use crate::atomic::{Ordering, fence};

macro_rules! orderings {
    ($( $(#[$doc:meta])* $name:ident: $good:ident, $mutant:literal: $weak:ident; )*) => {
        $( $(#[$doc])* pub(crate) const $name: Ordering =
            if cfg!(mutate = $mutant) { Ordering::$weak } else { Ordering::$good }; )*
    };
}

orderings! {
    /// The producer makes a record readable: its bytes must be seen by who sees the new tail.
    RING_PUBLISH: Release, "ring_publish_relaxed": Relaxed;
    /// The consumer sees a new tail and then reads the bytes before it.
    RING_OBSERVE: Acquire, "ring_observe_relaxed": Relaxed;
    /// The consumer gives bytes back: its reads of them must be over for who sees the new head.
    RING_RELEASE: Release, "ring_release_relaxed": Relaxed;
    /// The producer sees a new head and then overwrites the bytes before it.
    RING_REUSE: Acquire, "ring_reuse_relaxed": Relaxed;

    /// A writer starts an epoch: who sees it must also see what was unlinked before. Read-modify-write, so that one
    /// writer's epoch carries what the writers of earlier epochs released.
    EPOCH_ADVANCE: AcqRel, "epoch_advance_relaxed": Relaxed;
    /// A reader sees an epoch; its loads from here on must not find what was unlinked before that epoch.
    EPOCH_OBSERVE: Acquire, "epoch_observe_relaxed": Relaxed;
    /// A reader says that it passed a quiescent point: its reads before must be over for who sees that.
    QUIESCENT_PUBLISH: Release, "quiescent_publish_relaxed": Relaxed;
    /// The writer sees a reader's quiescent point and then frees.
    QUIESCENT_OBSERVE: Acquire, "quiescent_observe_relaxed": Relaxed;
    /// A reader goes offline: its reads before must be over for who sees that.
    OFFLINE_PUBLISH: Release, "offline_publish_relaxed": Relaxed;

    /// The writer publishes a value: what it points to must be seen by who sees the pointer.
    POINTER_PUBLISH: Release, "pointer_publish_relaxed": Relaxed;
    /// A reader sees the pointer and then reads what it points to.
    POINTER_OBSERVE: Acquire, "pointer_observe_relaxed": Relaxed;

    /// The writer switches to the copy it has filled: its words must be seen by who sees the new state.
    SNAPSHOT_PUBLISH: Release, "snapshot_publish_relaxed": Relaxed;
    /// A reader sees the state and then reads the words of the copy in force.
    SNAPSHOT_OBSERVE: Acquire, "snapshot_observe_relaxed": Relaxed;
}

/// A reader coming online writes its state and then reads pointers; a writer writes pointers and then reads the
/// states. Only a full barrier on both sides keeps each from missing the other's write. This is the reader's side.
pub(crate) fn online_barrier() {
    if !cfg!(mutate = "online_barrier_absent") {
        fence(Ordering::SeqCst);
    }
}

/// The writer's side of [`online_barrier`].
pub(crate) fn advance_barrier() {
    if !cfg!(mutate = "advance_barrier_absent") {
        fence(Ordering::SeqCst);
    }
}

/// The writer, before it stores the words of the copy that is not in force: a reader that sees one of them must also
/// see that the copy was taken out of force. Pairs with [`snapshot_read_barrier`].
pub(crate) fn snapshot_write_barrier() {
    if !cfg!(mutate = "snapshot_write_barrier_absent") {
        fence(Ordering::Release);
    }
}

/// A reader, after it has loaded the words and before it looks at the state again.
pub(crate) fn snapshot_read_barrier() {
    if !cfg!(mutate = "snapshot_read_barrier_absent") {
        fence(Ordering::Acquire);
    }
}
