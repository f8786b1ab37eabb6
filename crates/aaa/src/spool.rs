//! Records on disk, over an outage and a restart: a journal of "keep this" and "forget that", rewritten when most of it
//! is forgotten. A thread of its own writes it, so that a slow disk delays nobody.
//!
//! ```text
//! "bngdacct1\n", then records: | length u32 | check u32 | kind u8 | id u64 | octets ... |   (little-endian)
//! ```
//!
//! `length` counts kind, id and octets. A record whose check is wrong ends the journal: a write that a crash cut short.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use tracing::{error, warn};

const MAGIC: &[u8] = b"bngdacct1\n";
const KEEP: u8 = 1;
const FORGET: u8 = 2;
/// Octets of length and check, and of kind and id.
const HEAD: usize = 8;
const BODY_MIN: usize = 9;
/// A record is at most a RADIUS packet.
const BODY_MAX: usize = 8192;
/// A journal this small is never worth rewriting.
const REWRITE_FROM_OCTETS: u64 = 4 << 20;
/// Writes that may wait for the thread; further ones wait with the caller.
const WAITING_MAX: usize = 16_384;
/// Records written in one go.
const BATCH_MAX: usize = 4096;

/// Why the folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// The system says no.
    #[error("{path}: {source}")]
    Io {
        /// Of what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process has it.
    #[error("{0} is in use by another bngd: give each its own folder")]
    Locked(PathBuf),
}

/// What was found in the folder.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Names this installation, the same at each start.
    pub(crate) instance: u32,
    /// How often it has been started, this start included.
    pub(crate) run: u32,
    /// The records kept, oldest first.
    pub(crate) records: BTreeMap<u64, Vec<u8>>,
}

#[derive(Debug)]
enum Write {
    Keep(u64, Vec<u8>),
    Forget(u64),
}

/// The way to the disk.
#[derive(Debug)]
pub(crate) struct Spool {
    writes: Option<Sender<Write>>,
    /// What found no room with the thread.
    backlog: std::collections::VecDeque<Write>,
    errors: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

struct Journal {
    folder: PathBuf,
    file: File,
    octets: u64,
    live: BTreeMap<u64, Vec<u8>>,
    live_octets: u64,
    /// The lock is held as long as this is open.
    _lock: File,
}

fn check(body: &[u8]) -> u32 {
    // FNV-1a, folded: it has to tell a whole record from half of one, not to withstand anybody.
    let hash = body
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, octet| (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3));
    (hash ^ (hash >> 32)) as u32
}

fn record(kind: u8, id: u64, octets: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(HEAD + BODY_MIN + octets.len());
    body.push(kind);
    body.extend_from_slice(&id.to_le_bytes());
    body.extend_from_slice(octets);
    let mut whole = Vec::with_capacity(HEAD + body.len());
    whole.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    whole.extend_from_slice(&check(&body).to_le_bytes());
    whole.extend_from_slice(&body);
    whole
}

/// Kind, id and octets of the first record, and what is behind it. `None`: it is cut or damaged.
fn split(octets: &[u8]) -> Option<(u8, u64, &[u8], &[u8])> {
    let (length, rest) = octets.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length) as usize;
    if !(BODY_MIN..=BODY_MAX).contains(&length) {
        return None;
    }
    let (body, behind) = rest.split_at_checked(length)?;
    if check(body) != u32::from_le_bytes(*sum) {
        return None;
    }
    let (kind, rest) = body.split_first()?;
    let (id, octets) = rest.split_first_chunk::<8>()?;
    Some((*kind, u64::from_le_bytes(*id), octets, behind))
}

fn read(octets: &[u8]) -> (BTreeMap<u64, Vec<u8>>, usize) {
    let mut records = BTreeMap::new();
    let Some(mut rest) = octets.strip_prefix(MAGIC) else { return (records, octets.len()) };
    while let Some((kind, id, octets, behind)) = split(rest) {
        match kind {
            KEEP => {
                records.insert(id, octets.to_vec());
            }
            _ => {
                records.remove(&id);
            }
        }
        rest = behind;
    }
    (records, rest.len())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> SpoolError + '_ {
    |source| SpoolError::Io { path: path.to_owned(), source }
}

/// Writes a file whole: after a crash there is the old one or the new one.
fn replace(folder: &Path, name: &str, octets: &[u8]) -> io::Result<File> {
    let (temporary, path) = (folder.join(format!("{name}.new")), folder.join(name));
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).open(&temporary)?;
    file.write_all(octets)?;
    file.sync_all()?;
    fs::rename(&temporary, &path)?;
    File::open(folder)?.sync_all()?;
    Ok(file)
}

impl Journal {
    fn open(folder: &Path, random: u32) -> Result<(Self, Found), SpoolError> {
        fs::create_dir_all(folder).map_err(at(folder))?;
        // Records hold users' names.
        let _ = fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let lock_path = folder.join("lock");
        let lock =
            OpenOptions::new().create(true).truncate(false).write(true).open(&lock_path).map_err(at(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(SpoolError::Locked(folder.to_owned())),
            Err(fs::TryLockError::Error(source)) => return Err(SpoolError::Io { path: lock_path, source }),
        }
        let identity_path = folder.join("identity");
        let text = match fs::read_to_string(&identity_path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(at(&identity_path)(error)),
        };
        let mut words = text.split_ascii_whitespace();
        let instance = words.next().and_then(|word| u32::from_str_radix(word, 16).ok());
        let run = words.next().and_then(|word| word.parse::<u32>().ok()).filter(|_| instance.is_some());
        if instance.is_none() && !text.is_empty() {
            warn!(path = %identity_path.display(), "not readable: this installation gets a new name");
        }
        let (instance, run) = (instance.unwrap_or(random), run.unwrap_or(0).saturating_add(1));
        replace(folder, "identity", format!("{instance:08x} {run}\n").as_bytes()).map_err(at(&identity_path))?;

        let path = folder.join("journal");
        let octets = match fs::read(&path) {
            Ok(octets) => octets,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(at(&path)(error)),
        };
        let (live, lost) = read(&octets);
        if lost > 0 {
            warn!(path = %path.display(), octets = lost, "the end of the journal was cut off by a crash and is left out");
        }
        let live_octets = live.values().map(|octets| octets.len() as u64).sum();
        let mut journal = Self {
            folder: folder.to_owned(),
            file: lock.try_clone().map_err(at(folder))?,
            octets: 0,
            live,
            live_octets,
            _lock: lock,
        };
        journal.rewrite().map_err(at(&path))?;
        let records = journal.live.clone();
        Ok((journal, Found { instance, run, records }))
    }

    /// Writes what is kept, and nothing else, into a new file.
    fn rewrite(&mut self) -> io::Result<()> {
        let mut octets = MAGIC.to_vec();
        for (id, kept) in &self.live {
            octets.extend_from_slice(&record(KEEP, *id, kept));
        }
        self.file = replace(&self.folder, "journal", &octets)?;
        self.octets = octets.len() as u64;
        Ok(())
    }

    fn write(&mut self, batch: Vec<Write>) -> io::Result<()> {
        let mut octets = Vec::new();
        for write in batch {
            match write {
                Write::Keep(id, kept) => {
                    octets.extend_from_slice(&record(KEEP, id, &kept));
                    self.live_octets += kept.len() as u64;
                    if let Some(before) = self.live.insert(id, kept) {
                        self.live_octets = self.live_octets.saturating_sub(before.len() as u64);
                    }
                }
                Write::Forget(id) => {
                    octets.extend_from_slice(&record(FORGET, id, &[]));
                    if let Some(before) = self.live.remove(&id) {
                        self.live_octets = self.live_octets.saturating_sub(before.len() as u64);
                    }
                }
            }
        }
        if self.octets > REWRITE_FROM_OCTETS && self.octets / 4 > self.live_octets {
            return self.rewrite();
        }
        self.file.write_all(&octets)?;
        self.file.sync_data()?;
        self.octets += octets.len() as u64;
        Ok(())
    }

    fn run(mut self, writes: &Receiver<Write>, errors: &AtomicU64) {
        let mut healthy = true;
        while let Ok(first) = writes.recv() {
            let mut batch = vec![first];
            batch.extend(writes.try_iter().take(BATCH_MAX));
            match self.write(batch) {
                Ok(()) => healthy = true,
                Err(error) => {
                    errors.fetch_add(1, Ordering::Relaxed);
                    if healthy {
                        error!(%error, folder = %self.folder.display(), "accounting records cannot be kept on disk");
                    }
                    healthy = false;
                    // The file may end in half a record: begin it anew with the next write.
                    self.octets = u64::MAX;
                }
            }
        }
        if !healthy && self.rewrite().is_err() {
            error!(folder = %self.folder.display(), "accounting records that wait are lost with this process");
        }
    }
}

impl Spool {
    /// Opens the folder and starts the thread.
    pub(crate) fn open(folder: &Path, random: u32) -> Result<(Self, Found), SpoolError> {
        let (journal, found) = Journal::open(folder, random)?;
        let (writes, waiting) = bounded(WAITING_MAX);
        let errors = Arc::new(AtomicU64::new(0));
        let of_thread = Arc::clone(&errors);
        let thread = std::thread::Builder::new()
            .name("bng-spool".into())
            .spawn(move || journal.run(&waiting, &of_thread))
            .map_err(at(folder))?;
        Ok((Self { writes: Some(writes), backlog: Default::default(), errors, thread: Some(thread) }, found))
    }

    pub(crate) fn keep(&mut self, id: u64, octets: Vec<u8>) {
        self.backlog.push_back(Write::Keep(id, octets));
        self.flush();
    }

    pub(crate) fn forget(&mut self, id: u64) {
        self.backlog.push_back(Write::Forget(id));
        self.flush();
    }

    /// Hands over what waits, as far as there is room.
    pub(crate) fn flush(&mut self) {
        let Some(writes) = &self.writes else { return };
        while let Some(write) = self.backlog.pop_front() {
            match writes.try_send(write) {
                Ok(()) => {}
                Err(TrySendError::Full(write)) => {
                    self.backlog.push_front(write);
                    return;
                }
                Err(TrySendError::Disconnected(_)) => {
                    self.errors.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    pub(crate) fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }
}

impl Drop for Spool {
    /// Waits until all is written.
    fn drop(&mut self) {
        if let Some(writes) = self.writes.take() {
            for write in self.backlog.drain(..) {
                let _ = writes.send(write);
            }
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(found: &Found) -> Vec<(u64, &[u8])> {
        found.records.iter().map(|(id, octets)| (*id, octets.as_slice())).collect()
    }

    #[test]
    fn what_is_kept_is_there_at_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accounting");
        let (mut spool, found) = Spool::open(&path, 7).unwrap();
        assert_eq!((found.instance, found.run, found.records.len()), (7, 1, 0));
        spool.keep(1, b"one".to_vec());
        spool.keep(2, b"two".to_vec());
        spool.keep(3, b"three".to_vec());
        spool.keep(2, b"two, again".to_vec());
        spool.forget(1);
        assert!(matches!(Spool::open(&path, 8), Err(SpoolError::Locked(_))));
        drop(spool);
        let (spool, found) = Spool::open(&path, 8).unwrap();
        assert_eq!((found.instance, found.run), (7, 2));
        assert_eq!(kept(&found), [(2, &b"two, again"[..]), (3, b"three")]);
        assert_eq!(spool.errors(), 0);
    }

    #[test]
    fn a_journal_cut_anywhere_gives_a_prefix() {
        let folder = tempfile::tempdir().unwrap();
        let mut whole = MAGIC.to_vec();
        for id in 1..=3u64 {
            whole.extend_from_slice(&record(KEEP, id, &[id as u8; 20]));
        }
        let one = (whole.len() - MAGIC.len()) / 3;
        for cut in 0..whole.len() {
            fs::write(folder.path().join("journal"), &whole[..cut]).unwrap();
            let (_, found) = Journal::open(folder.path(), 1).unwrap();
            assert_eq!(found.records.len(), cut.saturating_sub(MAGIC.len()) / one, "cut at {cut}");
        }
        let mut damaged = whole.clone();
        damaged[MAGIC.len() + one + 12] ^= 1;
        fs::write(folder.path().join("journal"), &damaged).unwrap();
        assert_eq!(Journal::open(folder.path(), 1).unwrap().1.records.len(), 1);
    }

    #[test]
    fn the_journal_is_rewritten_when_most_of_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(folder.path(), 1).unwrap();
        let big = vec![9u8; 4000];
        for id in 0..1200u64 {
            let mut batch = vec![Write::Keep(id, big.clone())];
            if id > 0 {
                batch.push(Write::Forget(id - 1));
            }
            journal.write(batch).unwrap();
        }
        assert!(journal.octets < 1 << 20, "{} octets", journal.octets);
        drop(journal);
        let (_, found) = Journal::open(folder.path(), 1).unwrap();
        assert_eq!(found.records.keys().copied().collect::<Vec<_>>(), [1199]);
    }
}
