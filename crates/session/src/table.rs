//! The table: entries, index and counters, with one writer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bng_sync::{Arena, ArenaError, Epoch, Placement, Qsbr, prefetch_index};
use bng_wire::{PortIndex, SessionId};

use crate::counters::{SessionCounters, SessionTotals};
use crate::entry::{Entry, flags};
use crate::index::{DirectoryRef, Index, IndexWriter, PageRef};
use crate::policer::{Buckets, Credits, Direction};
use crate::spec::SessionSpec;

/// The place of a session's entry, fixed for the session's life. Taken again for another session only after a grace
/// period; the entry's generation then differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionIndex(pub u32);

/// The size of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableConfig {
    /// The most sessions at a time, 1 to 16,777,216.
    pub sessions_max: usize,
    /// How many workers count packets, at least 1.
    pub workers: usize,
    /// Which pages the memory asks for.
    pub placement: Placement,
}

/// Why a session could not be entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TableFull {
    /// All entries are taken, or wait for their grace period.
    #[error("all entries of the session table are in use")]
    Entries,
    /// The session id is taken in this space, or no index page is left.
    #[error("the session id is in use on this port and outer VLAN, or the index is full")]
    Index,
    /// The specification names a port or a session id that cannot be.
    #[error("the port or the session id is out of range")]
    OutOfRange,
}

/// A session that is gone for good: no worker can see it any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removed {
    /// Where it was.
    pub index: SessionIndex,
    /// Which of the entry's successive sessions it was.
    pub generation: u32,
    /// The final counters, exact.
    pub counters: SessionTotals,
}

/// The part of the table that workers and observers read.
#[derive(Debug)]
pub struct SessionTable {
    entries: Arena<Entry>,
    index: Index,
    /// One array for each worker.
    counters: Box<[Arena<SessionCounters>]>,
    /// The policers, touched only where a session has one.
    buckets: Arena<Buckets>,
    /// One array for each worker.
    credits: Box<[Arena<Credits>]>,
    /// True once any session has had a policer: before, nobody asks for their memory.
    policed: AtomicBool,
}

/// Most entries: cells are 32 bits wide, and the memory reserved stays below 4 GiB.
const SESSIONS_LIMIT: usize = 1 << 24;

impl SessionTable {
    /// Makes an empty table and its writer. `grace` is the domain whose readers are the workers.
    ///
    /// # Errors
    /// [`ArenaError`] when the memory cannot be reserved.
    pub fn new(config: TableConfig, grace: Arc<Qsbr>) -> Result<(Arc<Self>, SessionWriter), ArenaError> {
        let sessions = config.sessions_max.clamp(1, SESSIONS_LIMIT);
        let counters = (0..config.workers.max(1))
            .map(|_| Arena::new(sessions, config.placement))
            .collect::<Result<Vec<_>, _>>()?
            .into_boxed_slice();
        let credits = (0..config.workers.max(1))
            .map(|_| Arena::new(sessions, config.placement))
            .collect::<Result<Vec<_>, _>>()?
            .into_boxed_slice();
        let table = Arc::new(Self {
            entries: Arena::new(sessions, config.placement)?,
            index: Index::new(sessions, config.placement)?,
            counters,
            buckets: Arena::new(sessions, config.placement)?,
            credits,
            policed: AtomicBool::new(false),
        });
        let writer = SessionWriter {
            table: Arc::clone(&table),
            grace,
            index: IndexWriter::new(sessions),
            used: 0,
            live: 0,
            free: Vec::new(),
            retired: VecDeque::new(),
        };
        Ok((table, writer))
    }

    /// True where a packet of so many octets is within the session's limit; it is charged then. Only for sessions whose
    /// flags say so, and only on the worker of that number; `now_ms` is the clock of all workers.
    ///
    /// A call, so that packets of other sessions do not pay for registers that this needs.
    #[inline(never)]
    #[must_use]
    pub fn police(&self, worker: usize, index: SessionIndex, direction: Direction, octets: u16, now_ms: u64) -> bool {
        let at = index.0 as usize;
        match (self.buckets.get(at), self.credits.get(worker).and_then(|credits| credits.get(at))) {
            (Some(buckets), Some(credits)) => buckets.take(credits, direction, octets, now_ms),
            _ => false,
        }
    }

    fn set_policers(&self, slot: u32, spec: &SessionSpec, fresh: bool) {
        let rates = [spec.policer_up, spec.policer_down];
        if rates != [None, None]
            && let Some(buckets) = self.buckets.get(slot as usize)
        {
            buckets.set(rates, self.credits.len(), fresh);
            // Relaxed: it only says whether a hint to the cache is worth its while.
            self.policed.store(true, Ordering::Relaxed);
        }
    }

    /// Asks for the cache lines that [`SessionTable::police`] works on, where sessions have policers at all.
    #[inline]
    pub fn prefetch_policers(&self, worker: usize, index: SessionIndex) {
        if self.policed.load(Ordering::Relaxed) {
            prefetch_index(&self.buckets, index.0 as usize);
            if let Some(credits) = self.credits.get(worker) {
                prefetch_index(credits, index.0 as usize);
            }
        }
    }

    /// The first step of the walk: the space's directory.
    #[inline]
    #[must_use]
    pub fn directory(&self, port: PortIndex, outer_vid: u16) -> Option<DirectoryRef> {
        self.index.directory(port, outer_vid)
    }

    /// The second step: the cell of the session id.
    #[inline]
    #[must_use]
    pub fn page(&self, directory: DirectoryRef, id: SessionId) -> Option<PageRef> {
        self.index.page(directory, id)
    }

    /// Asks for the cell's cache line.
    #[inline]
    pub fn prefetch_page(&self, page: PageRef) {
        self.index.prefetch(page);
    }

    /// The third step: the entry's index.
    #[inline]
    #[must_use]
    pub fn index(&self, page: PageRef) -> Option<SessionIndex> {
        self.index.entry(page).map(SessionIndex)
    }

    /// The whole walk at once.
    #[inline]
    #[must_use]
    pub fn find(&self, port: PortIndex, outer_vid: u16, id: SessionId) -> Option<SessionIndex> {
        self.index(self.page(self.directory(port, outer_vid)?, id)?)
    }

    /// The entry at `index`; `None` only for an index that this table never gave out.
    #[inline]
    #[must_use]
    pub fn entry(&self, index: SessionIndex) -> Option<&Entry> {
        self.entries.get(index.0 as usize)
    }

    /// Asks for the cache line of the entry that serves packets from the client.
    #[inline]
    pub fn prefetch_up(&self, index: SessionIndex) {
        prefetch_index(&self.entries, index.0 as usize);
    }

    /// Asks for the cache line of the entry that serves packets to the client.
    #[inline]
    pub fn prefetch_down(&self, index: SessionIndex) {
        if let Some(entry) = self.entries.get(index.0 as usize) {
            entry.prefetch_down();
        }
    }

    /// The counters of `worker` for `index`; `None` when either is out of range.
    #[inline]
    #[must_use]
    pub fn counters(&self, worker: usize, index: SessionIndex) -> Option<&SessionCounters> {
        self.counters.get(worker)?.get(index.0 as usize)
    }

    /// All counters of `worker`, by entry: what a worker keeps at hand.
    #[inline]
    #[must_use]
    pub fn worker_counters(&self, worker: usize) -> Option<&[SessionCounters]> {
        self.counters.get(worker).map(|arena| &**arena)
    }

    /// The session's counters, summed over the workers.
    #[must_use]
    pub fn totals(&self, index: SessionIndex) -> SessionTotals {
        self.counters
            .iter()
            .filter_map(|arena| arena.get(index.0 as usize))
            .map(SessionCounters::totals)
            .fold(SessionTotals::default(), core::ops::Add::add)
    }

    /// The most sessions at a time.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// How many workers count.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.counters.len()
    }
}

/// What waits for its grace period.
#[derive(Debug)]
enum Retired {
    Entry(SessionIndex),
    Page(u32),
}

/// The one writer of a [`SessionTable`].
///
/// What waits for its grace period is bounded by the table itself: an entry waits at most once, and insertion is
/// refused ([`TableFull`]) when all entries live or wait.
#[derive(Debug)]
pub struct SessionWriter {
    table: Arc<SessionTable>,
    grace: Arc<Qsbr>,
    index: IndexWriter,
    /// Entries ever used; those beyond were never touched.
    used: usize,
    live: usize,
    free: Vec<u32>,
    retired: VecDeque<(Epoch, Retired)>,
}

impl SessionWriter {
    /// Enters a session; workers see it from now on. What it forwards is up to the specification's flags.
    ///
    /// # Errors
    /// [`TableFull`]; nothing has changed then.
    pub fn insert(&mut self, spec: &SessionSpec) -> Result<SessionIndex, TableFull> {
        if !spec.session_id.is_usable() || spec.port.0 > PortIndex::MAX {
            return Err(TableFull::OutOfRange);
        }
        let (slot, fresh) = match self.free.pop() {
            Some(slot) => (slot, false),
            None if self.used < self.table.capacity() => (self.used as u32, true),
            None => return Err(TableFull::Entries),
        };
        let Some(entry) = self.table.entries.get(slot as usize) else { return Err(TableFull::Entries) };
        self.table.set_policers(slot, spec, true);
        entry.fill(spec, entry.generation().wrapping_add(1));
        if !self.index.set(&self.table.index, entry.place(), slot) {
            entry.close();
            if !fresh {
                self.free.push(slot);
            }
            return Err(TableFull::Index);
        }
        if fresh {
            self.used = self.used.saturating_add(1);
        }
        self.live = self.live.saturating_add(1);
        Ok(SessionIndex(slot))
    }

    /// Changes what may change of a live session; see [`SessionSpec`]. False where there is none at `index` or where
    /// the specification is another session's.
    pub fn update(&mut self, index: SessionIndex, spec: &SessionSpec) -> bool {
        let Some(entry) = self.live_entry(index) else { return false };
        let place = (spec.port.0, spec.vlans.outer_vid(), spec.session_id.0);
        let same = entry.place() == place && entry.key() == crate::SessionKey::new(spec.peer_mac, spec.vlans);
        if same {
            self.table.set_policers(index.0, spec, false);
            entry.refresh(spec);
        }
        same
    }

    /// Takes a session out: no frame that a worker receives from now on finds it. It counts for up to one more burst;
    /// [`SessionWriter::poll`] reports it with its final counters. False where there is none at `index`.
    pub fn remove(&mut self, index: SessionIndex) -> bool {
        let Some(entry) = self.live_entry(index) else { return false };
        let place = entry.place();
        entry.close();
        let page = self.index.clear(&self.table.index, place);
        let epoch = self.grace.advance();
        self.retired.push_back((epoch, Retired::Entry(index)));
        if let Some(page) = page {
            self.retired.push_back((epoch, Retired::Page(page)));
        }
        self.live = self.live.saturating_sub(1);
        true
    }

    /// Gives back what has passed its grace period and reports each session among it.
    pub fn poll(&mut self, mut gone: impl FnMut(Removed)) {
        while let Some((epoch, _)) = self.retired.front() {
            if !self.grace.passed(*epoch) {
                return;
            }
            match self.retired.pop_front() {
                Some((_, Retired::Entry(index))) => {
                    gone(Removed { index, generation: self.generation(index), counters: self.table.totals(index) });
                    for arena in &self.table.counters {
                        if let Some(counters) = arena.get(index.0 as usize) {
                            counters.reset();
                        }
                    }
                    for arena in &self.table.credits {
                        if let Some(credits) = arena.get(index.0 as usize) {
                            credits.reset();
                        }
                    }
                    self.free.push(index.0);
                }
                Some((_, Retired::Page(page))) => self.index.free_page(page),
                None => return,
            }
        }
    }

    /// The generation of the entry at `index`, 0 for one never used.
    #[must_use]
    pub fn generation(&self, index: SessionIndex) -> u32 {
        self.table.entry(index).map_or(0, Entry::generation)
    }

    /// Live sessions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.live
    }

    /// True with no live session.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Entries and pages that wait for their grace period.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.retired.len()
    }

    /// Index pages in use or waiting, 1 KiB each.
    #[must_use]
    pub fn pages_busy(&self) -> usize {
        self.index.pages_busy()
    }

    /// The table that this writer writes.
    #[must_use]
    pub fn table(&self) -> &Arc<SessionTable> {
        &self.table
    }

    fn live_entry(&self, index: SessionIndex) -> Option<&Entry> {
        self.table.entry(index).filter(|entry| entry.up_flags() & flags::LIVE != 0)
    }
}
