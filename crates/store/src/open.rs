//! Opening: what is there, whether it can be trusted, and what is done where it cannot.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use redb::{Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError};

use crate::change::{NameKind, Serial, Totals};
use crate::error::{OpenError, StoreError};
use crate::media::Media;
use crate::meta::{CookieKey, Meta};
use crate::schema::{
    ACCOUNTING, ID_MARKS, KEY_META, KEY_SCHEMA, META, NAMES, SAFE, SCHEMA, SESSIONS, write_names, write_start,
};
use crate::writer::StoreWriter;

/// What a start brings along. Randomness and clocks are the caller's.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Memory for redb's cache, octets.
    pub cache_octets: usize,
    /// The instance number of a store that has to be made: random.
    pub instance: u32,
    /// The cookie key of a store that has to be made: random.
    pub cookie_key: CookieKey,
    /// `/proc/sys/kernel/random/boot_id` of now.
    pub boot_id: [u8; 16],
    /// Milliseconds since 1970, UTC: names a file that is set aside.
    pub wall_ms: u64,
}

/// How many starts may fail with the same store: at the next it is set aside.
const ATTEMPTS_MAX: u32 = 3;

/// A store that was moved out of the way.
#[derive(Debug)]
pub struct Aside {
    /// Where it is now.
    pub path: PathBuf,
    /// Why.
    pub reason: OpenError,
}

/// A row of the sessions, as it is read back.
#[derive(Debug, Clone, Copy)]
pub struct StoredSession<'a> {
    /// Which.
    pub serial: Serial,
    /// Its record.
    pub record: &'a [u8],
    /// Its last safe counters.
    pub safe: Option<Totals>,
}

/// A store that is open and has not begun to write.
pub struct Opened {
    /// What there is one of. `run` and `attempts` are those of this start already, and on the disk.
    pub meta: Meta,
    /// The boot id that the run before this one saw: the same one means that boot time goes on.
    pub boot_id_before: Option<[u8; 16]>,
    /// True where the file was there before; false for one made anew.
    pub existed: bool,
    /// What was moved out of the way for it.
    pub aside: Option<Aside>,
    pub(crate) database: Database,
    pub(crate) media: Box<dyn Media>,
    pub(crate) settings: Settings,
    pub(crate) names: BTreeMap<u16, (NameKind, String)>,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("meta", &self.meta).field("existed", &self.existed).finish_non_exhaustive()
    }
}

pub(crate) fn builder(settings: &Settings) -> Builder {
    let mut builder = Database::builder();
    // Every page's checksum, at every open: a store that was altered is noticed here or never.
    builder.set_cache_size(settings.cache_octets).set_check_integrity_on_open(true);
    builder
}

/// redb returns what it finds wrong; a panic inside it on a file that nobody could foresee is the same to us.
pub(crate) fn open_database(media: &dyn Media, builder: &Builder) -> Result<Database, OpenError> {
    let path = || media.path().to_owned();
    match catch_unwind(AssertUnwindSafe(|| media.open(builder))) {
        Ok(Ok(database)) => Ok(database),
        Ok(Err(DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch)) => {
            Err(OpenError::Locked(path()))
        }
        Ok(Err(DatabaseError::Storage(StorageError::Io(error)))) if !is_bad_content(&error) => {
            Err(OpenError::Io { path: path(), error })
        }
        Ok(Err(error)) => Err(OpenError::Damaged { path: path(), reason: error.to_string() }),
        Err(_) => Err(OpenError::Damaged { path: path(), reason: "the reader gave up".to_owned() }),
    }
}

/// redb tells "this is no store" and "it ends too early" as errors of input: those are the file's fault, not the disk's.
fn is_bad_content(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof)
}

/// Opens a store and counts this start in it.
///
/// # Errors
/// [`OpenError`]; nothing was changed then but, where the reason lies in redb's own repair, its pages.
pub fn open(media: Box<dyn Media>, settings: Settings) -> Result<Opened, OpenError> {
    let database = open_database(&*media, &builder(&settings))?;
    let path = media.path().to_owned();
    let told = |error: StoreError| tell(&path, error);
    let before = catch_unwind(AssertUnwindSafe(|| read_meta(&database, &path)))
        .unwrap_or_else(|_| Err(OpenError::Damaged { path: path.clone(), reason: "the reader gave up".to_owned() }))?;
    let existed = before.is_some();
    let boot_id_before = before.as_ref().map(|meta| meta.boot_id);
    let mut meta = before.unwrap_or_else(|| Meta {
        instance: settings.instance,
        run: 0,
        boot_id: settings.boot_id,
        counter_epoch: 0,
        cookie_key: settings.cookie_key,
        cookie_key_before: None,
        server_duid: Box::default(),
        attempts: 0,
    });
    if meta.attempts >= ATTEMPTS_MAX {
        return Err(OpenError::Poisoned { path, attempts: meta.attempts });
    }
    meta.run = meta.run.wrapping_add(1);
    meta.attempts = meta.attempts.saturating_add(1);
    meta.boot_id = settings.boot_id;
    write_start(&database, &meta).map_err(told)?;
    let names = read_names(&database).map_err(told)?;
    Ok(Opened { meta, boot_id_before, existed, aside: None, database, media, settings, names })
}

/// [`open`], and where the file cannot be trusted it is moved aside and a new one made.
///
/// # Errors
/// [`OpenError::Locked`] and [`OpenError::Io`]: moving the file would help nobody.
pub fn open_or_set_aside(media: impl Media + Clone, settings: Settings) -> Result<Opened, OpenError> {
    let reason = match open(Box::new(media.clone()), settings.clone()) {
        Err(reason @ (OpenError::Newer { .. } | OpenError::Damaged { .. } | OpenError::Poisoned { .. })) => reason,
        done => return done,
    };
    let path =
        media.set_aside(settings.wall_ms).map_err(|error| OpenError::Io { path: media.path().to_owned(), error })?;
    let mut opened = open(Box::new(media), settings)?;
    opened.aside = Some(Aside { path, reason });
    Ok(opened)
}

pub(crate) fn tell(path: &Path, error: StoreError) -> OpenError {
    match error {
        StoreError::Io(error) => OpenError::Io { path: path.to_owned(), error },
        other => OpenError::Damaged { path: path.to_owned(), reason: other.to_string() },
    }
}

/// `None` for a store that was just made.
fn read_meta(database: &Database, path: &Path) -> Result<Option<Meta>, OpenError> {
    let damaged = |reason: &str| OpenError::Damaged { path: path.to_owned(), reason: reason.to_owned() };
    let told = |error: StoreError| tell(path, error);
    let transaction = database.begin_read().map_err(|error| told(error.into()))?;
    let table = match transaction.open_table(META) {
        Ok(table) => table,
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
        Err(error) => return Err(told(error.into())),
    };
    let schema = table.get(KEY_SCHEMA).map_err(|error| told(error.into()))?;
    let schema: [u8; 4] =
        schema.and_then(|value| value.value().try_into().ok()).ok_or_else(|| damaged("there is no schema number"))?;
    let found = u32::from_le_bytes(schema);
    if found > SCHEMA {
        return Err(OpenError::Newer { path: path.to_owned(), found, known: SCHEMA });
    }
    let meta = table.get(KEY_META).map_err(|error| told(error.into()))?;
    meta.and_then(|value| Meta::decode(value.value()))
        .map(Some)
        .ok_or_else(|| damaged("the table `meta` is no such table"))
}

fn read_names(database: &Database) -> Result<BTreeMap<u16, (NameKind, String)>, StoreError> {
    let transaction = database.begin_read()?;
    let table = transaction.open_table(NAMES)?;
    let mut names = BTreeMap::new();
    for row in table.iter()? {
        let (id, value) = row?;
        if let Some((kind, name)) = value.value().split_first()
            && let Some(kind) = NameKind::from_octet(*kind)
            && let Ok(name) = std::str::from_utf8(name)
        {
            names.insert(id.value(), (kind, name.to_owned()));
        }
    }
    Ok(names)
}

impl Opened {
    /// The ids of names, in their order; those that are new get one, and are on the disk when this returns.
    ///
    /// # Errors
    /// The disk's, and [`StoreError::NamesFull`].
    pub fn intern(&mut self, names: &[(NameKind, &str)]) -> Result<Vec<u16>, StoreError> {
        let mut ids = Vec::with_capacity(names.len());
        let mut new = Vec::new();
        for &(kind, name) in names {
            let known = self.names.iter().find(|(_, (k, n))| *k == kind && n == name).map(|(id, _)| *id);
            let id = match known {
                Some(id) => id,
                None => {
                    let id = match self.names.last_key_value() {
                        None => 0,
                        Some((last, _)) => last.checked_add(1).ok_or(StoreError::NamesFull)?,
                    };
                    self.names.insert(id, (kind, name.to_owned()));
                    new.push((id, kind, name.to_owned()));
                    id
                }
            };
            ids.push(id);
        }
        if !new.is_empty() {
            write_names(&self.database, &new)?;
        }
        Ok(ids)
    }

    /// What an id of a record means.
    #[must_use]
    pub fn name(&self, id: u16) -> Option<(NameKind, &str)> {
        self.names.get(&id).map(|(kind, name)| (*kind, name.as_str()))
    }

    /// Shows each session, by serial.
    ///
    /// # Errors
    /// The disk's, or a damaged page that appeared since the store was opened.
    pub fn sessions(&self, mut each: impl FnMut(StoredSession<'_>)) -> Result<(), StoreError> {
        let transaction = self.database.begin_read()?;
        let (sessions, safe) = (transaction.open_table(SESSIONS)?, transaction.open_table(SAFE)?);
        for row in sessions.iter()? {
            let (serial, record) = row?;
            let serial = serial.value();
            let safe = safe.get(serial)?.and_then(|value| Totals::decode(value.value()));
            each(StoredSession { serial: Serial(serial), record: record.value(), safe });
        }
        Ok(())
    }

    /// Shows each accounting record that no server has acknowledged, oldest first.
    ///
    /// # Errors
    /// As [`Self::sessions`].
    pub fn accounting(&self, mut each: impl FnMut(u64, &[u8])) -> Result<(), StoreError> {
        let transaction = self.database.begin_read()?;
        for row in transaction.open_table(ACCOUNTING)?.iter()? {
            let (sequence, record) = row?;
            each(sequence.value(), record.value());
        }
        Ok(())
    }

    /// Shows each space of session ids: name id of its port, outer VLAN, mark.
    ///
    /// # Errors
    /// As [`Self::sessions`].
    pub fn id_marks(&self, mut each: impl FnMut(u16, u16, u16)) -> Result<(), StoreError> {
        let transaction = self.database.begin_read()?;
        for row in transaction.open_table(ID_MARKS)?.iter()? {
            let (space, id) = row?;
            let (port, outer_vid) = space.value();
            each(port, outer_vid, id.value());
        }
        Ok(())
    }

    /// Begins to write. `wake` is called by the store's thread after each commit and each change of state.
    ///
    /// # Errors
    /// The system's, where it gives no thread.
    pub fn into_writer(self, wake: impl Fn() + Send + 'static) -> Result<StoreWriter, StoreError> {
        StoreWriter::start(self, Box::new(wake))
    }
}
