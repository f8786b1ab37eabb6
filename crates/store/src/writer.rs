//! The thread that commits, and the control core's end of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use redb::Database;

use crate::change::{Change, NameKind, RECORD_OCTETS_MAX, Ticket};
use crate::error::{OpenError, RecordTooLong, StoreError};
use crate::media::Media;
use crate::meta::Meta;
use crate::open::{Opened, Settings, builder, open_database, tell};
use crate::queue::Batch;
use crate::schema::{write_batch, write_names, write_start};

/// A commit begins when its first change is this old, ...
const AGE: Duration = Duration::from_millis(10);
/// ... or when so many wait, or at once for a promise.
const COUNT: usize = 1024;
/// The window: a commit that ends later than this after its first change is counted.
const LATE: Duration = Duration::from_millis(100);
/// A commit that takes longer than this no longer holds anything back.
const STALLED: Duration = Duration::from_secs(1);
/// Between two tries of a store that fails.
const RETRY: Duration = Duration::from_secs(1);

/// Whether what is put is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreState {
    /// Commits succeed in time.
    Safe,
    /// The last commit failed, or one takes longer than a second: everything is released without being safe.
    Degraded,
}

/// What the store has done since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Commits that succeeded.
    pub commits: u64,
    /// Commits that failed.
    pub failures: u64,
    /// Of the successful ones, those that ended more than 100 ms after their first change.
    pub late: u64,
    /// Changes written, after those of one key were joined.
    pub rows: u64,
    /// Time in commits, microseconds.
    pub commit_us: u64,
    /// Changes that wait now.
    pub waiting: u64,
}

#[derive(Default)]
struct Queue {
    batch: Batch,
    /// The newest ticket in the batch.
    newest: u64,
    /// When the batch's first change came.
    since: Option<Instant>,
    promise: bool,
    stop: bool,
    /// What the last try said.
    error: Option<String>,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    origin: Instant,
    committed: AtomicU64,
    state: AtomicU8,
    /// Milliseconds since `origin`, plus one, of the first change of the commit under way; 0 for none.
    under_way: AtomicU64,
    rewrite: AtomicBool,
    commits: AtomicU64,
    failures: AtomicU64,
    late: AtomicU64,
    rows: AtomicU64,
    commit_us: AtomicU64,
}

/// The control core's end. Nothing here waits for the disk but [`StoreWriter::finish`].
pub struct StoreWriter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    last: u64,
}

impl std::fmt::Debug for StoreWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreWriter").field("last", &self.last).finish_non_exhaustive()
    }
}

impl StoreWriter {
    pub(crate) fn start(opened: Opened, wake: Box<dyn Fn() + Send>) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            origin: Instant::now(),
            committed: AtomicU64::new(0),
            state: AtomicU8::new(0),
            under_way: AtomicU64::new(0),
            rewrite: AtomicBool::new(false),
            commits: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            late: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            commit_us: AtomicU64::new(0),
        });
        let committer = Committer {
            shared: Arc::clone(&shared),
            wake,
            meta: opened.meta,
            database: Some(opened.database),
            media: opened.media,
            settings: opened.settings,
            names: opened.names,
        };
        let thread = std::thread::Builder::new().name("store".to_owned()).spawn(move || committer.run())?;
        Ok(Self { shared, thread: Some(thread), last: 0 })
    }

    /// Takes a change. With `promise`, something waits for it: the commit begins as soon as the disk is idle.
    ///
    /// # Errors
    /// [`RecordTooLong`]; nothing was taken then.
    pub fn put(&mut self, change: Change, promise: bool) -> Result<Ticket, RecordTooLong> {
        if let Change::Session { record, .. } | Change::Accounting { record, .. } = &change
            && record.len() > RECORD_OCTETS_MAX
        {
            return Err(RecordTooLong(record.len()));
        }
        self.last = self.last.saturating_add(1);
        let mut queue = self.shared.queue.lock();
        let first = queue.batch.is_empty();
        queue.batch.put(change);
        queue.newest = self.last;
        queue.promise |= promise;
        if first {
            queue.since = Some(Instant::now());
        }
        if first || promise || queue.batch.len() == COUNT {
            self.shared.wake.notify_one();
        }
        Ok(Ticket(self.last))
    }

    /// Everything up to this ticket is on the disk.
    #[must_use]
    pub fn committed(&self) -> Ticket {
        Ticket(self.shared.committed.load(Ordering::Acquire))
    }

    /// Everything up to this ticket may be promised: what is committed, and while the store is degraded all there is.
    #[must_use]
    pub fn released(&self, now: Instant) -> Ticket {
        match self.state(now) {
            StoreState::Safe => self.committed(),
            StoreState::Degraded => Ticket(self.last),
        }
    }

    /// Whether what is put becomes safe.
    #[must_use]
    pub fn state(&self, now: Instant) -> StoreState {
        let begun = self.shared.under_way.load(Ordering::Acquire);
        let stalled = begun != 0
            && now.saturating_duration_since(self.shared.origin).as_millis()
                > u128::from(begun).saturating_add(STALLED.as_millis());
        if stalled || self.shared.state.load(Ordering::Acquire) != 0 { StoreState::Degraded } else { StoreState::Safe }
    }

    /// True once after the file had to be made anew while bngd ran: the caller puts everything that it knows again.
    #[must_use]
    pub fn wants_everything(&self) -> bool {
        self.shared.rewrite.swap(false, Ordering::AcqRel)
    }

    /// What the last failed try said.
    #[must_use]
    pub fn last_error(&self) -> Option<String> {
        self.shared.queue.lock().error.clone()
    }

    /// What it has done.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
        Statistics {
            commits: read(&self.shared.commits),
            failures: read(&self.shared.failures),
            late: read(&self.shared.late),
            rows: read(&self.shared.rows),
            commit_us: read(&self.shared.commit_us),
            waiting: self.shared.queue.lock().batch.len() as u64,
        }
    }

    /// Commits what waits and closes the store. Waits for the disk.
    ///
    /// # Errors
    /// The last commit's, with how many changes are lost.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.end();
        let queue = self.shared.queue.lock();
        if queue.batch.is_empty() {
            return Ok(());
        }
        let error = queue.error.as_deref().unwrap_or("the store's thread is gone");
        Err(StoreError::Io(std::io::Error::other(format!("{} changes were not written: {error}", queue.batch.len()))))
    }

    fn end(&mut self) {
        self.shared.queue.lock().stop = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic in the thread shows as changes that were not written.
            let _ = thread.join();
        }
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        self.end();
    }
}

struct Committer {
    shared: Arc<Shared>,
    wake: Box<dyn Fn() + Send>,
    meta: Meta,
    /// `None` after a failure, until the store could be opened again.
    database: Option<Database>,
    media: Box<dyn Media>,
    settings: Settings,
    names: BTreeMap<u16, (NameKind, String)>,
}

struct Taken {
    batch: Batch,
    newest: u64,
    since: Instant,
    last: bool,
}

impl Committer {
    fn run(mut self) {
        while let Some(taken) = self.take() {
            let last = taken.last;
            let done = self.commit(taken);
            (self.wake)();
            if last {
                return;
            }
            if !done {
                self.pause();
                self.open_again();
            }
        }
    }

    /// Waits for a batch that is due; `None` at the end.
    fn take(&self) -> Option<Taken> {
        let mut queue = self.shared.queue.lock();
        loop {
            let due = queue.since.map(|since| since.checked_add(AGE).unwrap_or(since));
            match due {
                None if queue.stop => return None,
                None => self.shared.wake.wait(&mut queue),
                Some(due) => {
                    let now = Instant::now();
                    if queue.stop || queue.promise || queue.batch.len() >= COUNT || now >= due {
                        let since = queue.since.take().unwrap_or(now);
                        queue.promise = false;
                        let begun = since.saturating_duration_since(self.shared.origin).as_millis();
                        let begun = u64::try_from(begun).unwrap_or(u64::MAX).saturating_add(1);
                        self.shared.under_way.store(begun, Ordering::Release);
                        return Some(Taken {
                            batch: std::mem::take(&mut queue.batch),
                            newest: queue.newest,
                            since,
                            last: queue.stop,
                        });
                    }
                    self.shared.wake.wait_until(&mut queue, due);
                }
            }
        }
    }

    fn commit(&mut self, taken: Taken) -> bool {
        let began = Instant::now();
        let mut meta = self.meta.clone();
        taken.batch.meta.iter().for_each(|change| meta.apply(change));
        let result = match &self.database {
            Some(database) => write_batch(database, &taken.batch, &meta),
            None => Err(StoreError::Io(std::io::Error::other("the store is not open"))),
        };
        let add = |counter: &AtomicU64, value: u64| counter.fetch_add(value, Ordering::Relaxed);
        let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        match result {
            Ok(()) => {
                self.meta = meta;
                add(&self.shared.commits, 1);
                add(&self.shared.rows, taken.batch.len() as u64);
                add(&self.shared.commit_us, micros(began.elapsed()));
                if taken.since.elapsed() > LATE {
                    add(&self.shared.late, 1);
                }
                self.shared.queue.lock().error = None;
                self.shared.state.store(0, Ordering::Release);
                self.shared.committed.store(taken.newest, Ordering::Release);
                self.shared.under_way.store(0, Ordering::Release);
                true
            }
            Err(error) => {
                add(&self.shared.failures, 1);
                let mut queue = self.shared.queue.lock();
                queue.batch.merge_under(taken.batch);
                queue.since.get_or_insert(taken.since);
                queue.error = Some(error.to_string());
                drop(queue);
                self.shared.state.store(1, Ordering::Release);
                self.shared.under_way.store(0, Ordering::Release);
                false
            }
        }
    }

    fn pause(&self) {
        let end = Instant::now().checked_add(RETRY);
        let mut queue = self.shared.queue.lock();
        while let Some(end) = end
            && !queue.stop
            && !self.shared.wake.wait_until(&mut queue, end).timed_out()
        {}
    }

    /// After an error redb takes no more writes until it is opened anew, and that is when damage shows.
    fn open_again(&mut self) {
        // The old one first: it holds the file's lock.
        self.database = None;
        match self.opened_again() {
            Ok(database) => self.database = Some(database),
            Err(error) => self.shared.queue.lock().error = Some(error.to_string()),
        }
    }

    fn opened_again(&self) -> Result<Database, OpenError> {
        let builder = builder(&self.settings);
        match open_database(&*self.media, &builder) {
            Err(OpenError::Damaged { .. }) => {}
            done => return done,
        }
        let since = u64::try_from(self.shared.origin.elapsed().as_millis()).unwrap_or_default();
        self.media
            .set_aside(self.settings.wall_ms.saturating_add(since))
            .map_err(|error| OpenError::Io { path: self.media.path().to_owned(), error })?;
        let database = open_database(&*self.media, &builder)?;
        let names: Vec<_> = self.names.iter().map(|(id, (kind, name))| (*id, *kind, name.clone())).collect();
        write_start(&database, &self.meta)
            .and_then(|()| write_names(&database, &names))
            .map_err(|error| tell(self.media.path(), error))?;
        self.shared.rewrite.store(true, Ordering::Release);
        Ok(database)
    }
}
