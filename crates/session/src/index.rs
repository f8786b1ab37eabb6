//! The walk from (port, outer VID, session id) to an entry: three arrays, no hash.
//!
//! A *space* is one (port, outer VID). Its cell leads to a directory of 256 cells, one for each page; a page has 256
//! cells, one for each session id. Cells hold an index plus one, so that zeroed memory is an empty index. A space
//! with few sessions takes one directory and as many pages as its ids touch, 1 KiB each.

use core::sync::atomic::{AtomicU32, Ordering};
use std::collections::VecDeque;

use bng_sync::{Arena, ArenaError, Placement, prefetch_index};
use bng_wire::{PortIndex, SessionId};

/// Cells of a directory and of a page.
const FAN_OUT: usize = 256;
/// Spaces of one port: one for each VID.
const VIDS: usize = 4096;
const PORTS: usize = PortIndex::MAX as usize + 1;
/// The number of spaces.
pub(crate) const SPACES: usize = PORTS * VIDS;

/// A directory found by the first step of the walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectoryRef(pub(crate) u32);

/// A cell of a page found by the second step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRef(pub(crate) u32);

/// The three arrays. Readers hold `&Index`; the writer's part is in [`IndexWriter`].
#[derive(Debug)]
pub(crate) struct Index {
    spaces: Arena<AtomicU32>,
    directories: Arena<AtomicU32>,
    pages: Arena<AtomicU32>,
}

/// The number of directories and pages to provide for `sessions` sessions.
pub(crate) fn limits(sessions: usize) -> (usize, usize) {
    let directories = sessions.clamp(1, SPACES);
    // At worst each session has a page of its own; an entry that waits for its grace period holds both.
    let pages = sessions.clamp(1, directories.saturating_mul(FAN_OUT));
    (directories, pages)
}

#[inline]
fn space_of(port: PortIndex, outer_vid: u16) -> usize {
    // Both factors are bounded far below overflow.
    usize::from(port.0).wrapping_mul(VIDS).wrapping_add(usize::from(outer_vid & 0x0fff))
}

#[inline]
fn cell(base: u32, low: u8) -> usize {
    // `base` counts from one. A base of zero is never asked for.
    (base as usize).wrapping_sub(1).wrapping_mul(FAN_OUT).wrapping_add(usize::from(low))
}

impl Index {
    pub(crate) fn new(sessions: usize, placement: Placement) -> Result<Self, ArenaError> {
        let (directories, pages) = limits(sessions);
        // The arrays are made for the worst case and mostly stay empty: huge pages are not reserved for that.
        let placement = if placement == Placement::Huge { Placement::Transparent } else { placement };
        Ok(Self {
            spaces: Arena::new(SPACES, Placement::Ordinary)?,
            directories: Arena::new(directories.saturating_mul(FAN_OUT), placement)?,
            pages: Arena::new(pages.saturating_mul(FAN_OUT), placement)?,
        })
    }

    #[inline]
    pub(crate) fn directory(&self, port: PortIndex, outer_vid: u16) -> Option<DirectoryRef> {
        match self.spaces.get(space_of(port, outer_vid)).map(|cell| cell.load(Ordering::Acquire)) {
            None | Some(0) => None,
            Some(directory) => Some(DirectoryRef(directory)),
        }
    }

    #[inline]
    pub(crate) fn page(&self, directory: DirectoryRef, id: SessionId) -> Option<PageRef> {
        let [high, low] = id.0.to_be_bytes();
        match self.directories.get(cell(directory.0, high)).map(|cell| cell.load(Ordering::Acquire)) {
            None | Some(0) => None,
            Some(page) => Some(PageRef(cell(page, low) as u32)),
        }
    }

    #[inline]
    pub(crate) fn prefetch(&self, page: PageRef) {
        prefetch_index(&self.pages, page.0 as usize);
    }

    /// The entry's index, without the one that cells add.
    #[inline]
    pub(crate) fn entry(&self, page: PageRef) -> Option<u32> {
        self.pages.get(page.0 as usize)?.load(Ordering::Acquire).checked_sub(1)
    }
}

/// What the writer knows about the index and readers do not: free directories and pages, and how full each page is.
#[derive(Debug)]
pub(crate) struct IndexWriter {
    directories_used: u32,
    directories_max: u32,
    pages_used: u32,
    pages_max: u32,
    pages_free: VecDeque<u32>,
    /// Live cells by page number minus one.
    live: Vec<u16>,
}

impl IndexWriter {
    pub(crate) fn new(sessions: usize) -> Self {
        let (directories, pages) = limits(sessions);
        Self {
            directories_used: 0,
            directories_max: directories as u32,
            pages_used: 0,
            pages_max: u32::try_from(pages).unwrap_or(u32::MAX),
            pages_free: VecDeque::new(),
            live: Vec::new(),
        }
    }

    /// Sets the cell of a session id to `entry`. False when the cell is taken or there is no directory or page left.
    pub(crate) fn set(&mut self, index: &Index, place: (u8, u16, u16), entry: u32) -> bool {
        let (port, outer_vid, id) = place;
        let Some(space) = index.spaces.get(space_of(PortIndex(port), outer_vid)) else { return false };
        let mut directory = space.load(Ordering::Relaxed);
        if directory == 0 {
            if self.directories_used == self.directories_max {
                return false;
            }
            self.directories_used = self.directories_used.saturating_add(1);
            directory = self.directories_used;
            space.store(directory, Ordering::Release);
        }
        let [high, low] = id.to_be_bytes();
        let Some(hook) = index.directories.get(cell(directory, high)) else { return false };
        let mut page = hook.load(Ordering::Relaxed);
        if page == 0 {
            page = match self.pages_free.pop_front() {
                Some(page) => page,
                None if self.pages_used == self.pages_max => return false,
                None => {
                    self.pages_used = self.pages_used.saturating_add(1);
                    self.live.push(0);
                    self.pages_used
                }
            };
            hook.store(page, Ordering::Release);
        }
        let Some(slot) = index.pages.get(cell(page, low)) else { return false };
        if slot.load(Ordering::Relaxed) != 0 {
            return false;
        }
        // The entry was filled before: whoever sees this store sees the entry's contents.
        slot.store(entry.saturating_add(1), Ordering::Release);
        if let Some(live) = self.live.get_mut((page as usize).wrapping_sub(1)) {
            *live = live.saturating_add(1);
        }
        true
    }

    /// Clears the cell of a session id. The number of the page that became empty and was unhooked, which the caller
    /// gives back by [`IndexWriter::free_page`] after a grace period.
    pub(crate) fn clear(&mut self, index: &Index, place: (u8, u16, u16)) -> Option<u32> {
        let (port, outer_vid, id) = place;
        let directory = index.directory(PortIndex(port), outer_vid)?;
        let [high, low] = id.to_be_bytes();
        let hook = index.directories.get(cell(directory.0, high))?;
        let page = hook.load(Ordering::Relaxed);
        let slot = (page != 0).then(|| index.pages.get(cell(page, low))).flatten()?;
        if slot.swap(0, Ordering::AcqRel) == 0 {
            return None;
        }
        let live = self.live.get_mut((page as usize).wrapping_sub(1))?;
        *live = live.saturating_sub(1);
        if *live != 0 {
            return None;
        }
        hook.store(0, Ordering::Release);
        Some(page)
    }

    /// Takes an empty page back. No reader can be in it any more.
    pub(crate) fn free_page(&mut self, page: u32) {
        self.pages_free.push_back(page);
    }

    /// Pages in use or waiting for their grace period.
    pub(crate) fn pages_busy(&self) -> usize {
        (self.pages_used as usize).saturating_sub(self.pages_free.len())
    }
}
