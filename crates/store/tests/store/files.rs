//! On a real file: what comes back, who may read it, and what is done with files that cannot be trusted.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bng_store::{
    Change, CookieKey, FileMedia, MetaChange, NameKind, OpenError, Opened, RECORD_OCTETS_MAX, Serial, open,
    open_or_set_aside,
};
use proptest::prelude::*;

use super::{content, settings, totals};

fn opened(path: &Path) -> Opened {
    open_or_set_aside(FileMedia::new(path), settings()).unwrap()
}

fn write_some(path: &Path, count: u64) {
    let mut writer = opened(path).into_writer(|| {}).unwrap();
    for n in 0..count {
        writer.put(Change::Session { serial: Serial::new(1, n), record: vec![n as u8; 100].into() }, false).unwrap();
        writer.put(Change::Safe { serial: Serial::new(1, n), totals: totals(n) }, false).unwrap();
    }
    writer.put(Change::Meta(MetaChange::Served), false).unwrap();
    writer.finish().unwrap();
}

#[test]
fn what_was_put_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/sessions.redb");
    let mut first = opened(&path);
    assert!(!first.existed && first.boot_id_before.is_none());
    assert_eq!(first.meta.run, 1);
    assert_eq!(first.intern(&[(NameKind::Port, "access0"), (NameKind::Pool, "pool4")]).unwrap(), [0, 1]);
    let mut writer = first.into_writer(|| {}).unwrap();
    let (one, two) = (Serial::new(1, 1), Serial::new(1, 2));
    let key = |octet, made_ms| CookieKey { key: [octet; 32], made_ms };
    for change in [
        Change::Session { serial: one, record: (*b"one").into() },
        Change::Session { serial: two, record: (*b"two").into() },
        Change::Safe { serial: one, totals: totals(9) },
        Change::Safe { serial: two, totals: totals(8) },
        Change::Gone { serial: two },
        Change::Safe { serial: two, totals: totals(10) },
        Change::Accounting { sequence: 4, record: (*b"stop").into() },
        Change::Accounting { sequence: 5, record: (*b"start").into() },
        Change::Acknowledged { sequence: 4 },
        Change::IdMark { port: 0, outer_vid: 100, id: 256 },
        Change::Meta(MetaChange::CookieKeys { current: key(2, 2), before: Some(key(7, 1)) }),
        Change::Meta(MetaChange::ServerDuid((*b"duid").into())),
        Change::Meta(MetaChange::CounterEpoch(3)),
    ] {
        writer.put(change, false).unwrap();
    }
    writer.finish().unwrap();
    for (file, mode) in [(path.as_path(), 0o600), (path.parent().unwrap(), 0o700)] {
        assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, mode, "{}", file.display());
    }

    let mut second = open(Box::new(FileMedia::new(&path)), settings()).unwrap();
    assert!(second.existed && second.aside.is_none());
    assert_eq!((second.meta.run, second.meta.attempts, second.meta.instance), (2, 2, 0x1234_5678));
    assert_eq!(second.boot_id_before, Some([1; 16]));
    assert_eq!((second.meta.cookie_key, second.meta.cookie_key_before), (key(2, 2), Some(key(7, 1))));
    assert_eq!((&*second.meta.server_duid, second.meta.counter_epoch), (&b"duid"[..], 3));
    let names = [(NameKind::Pool, "pool4"), (NameKind::Pool, "access0"), (NameKind::Port, "access0")];
    assert_eq!(second.intern(&names).unwrap(), [1, 2, 0], "ids of names do not move");
    assert_eq!(second.name(2), Some((NameKind::Pool, "access0")));
    let content = content(&second);
    assert_eq!(content.sessions.into_iter().collect::<Vec<_>>(), [(one, (b"one".to_vec(), Some(totals(9))))]);
    assert_eq!(content.accounting.into_iter().collect::<Vec<_>>(), [(5, b"start".to_vec())]);
    assert_eq!(content.id_marks.into_iter().collect::<Vec<_>>(), [((0, 100), 256)]);
}

#[test]
fn one_process_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.redb");
    let first = opened(&path);
    let second = open_or_set_aside(FileMedia::new(&path), settings());
    assert!(matches!(second, Err(OpenError::Locked(_))), "{second:?}");
    drop(first);
    assert!(opened(&path).existed);
}

#[test]
fn a_record_that_is_too_long_is_refused_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.redb");
    let mut writer = opened(&path).into_writer(|| {}).unwrap();
    let session =
        |octets: usize| Change::Session { serial: Serial::new(1, octets as u64), record: vec![0; octets].into() };
    assert!(writer.put(session(RECORD_OCTETS_MAX + 1), true).is_err());
    writer.put(session(RECORD_OCTETS_MAX), true).unwrap();
    writer.finish().unwrap();
    assert_eq!(content(&opened(&path)).sessions.len(), 1);
}

#[test]
fn a_newer_store_is_moved_aside_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.redb");
    write_some(&path, 3);
    let database = redb::Database::open(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    let table: redb::TableDefinition<'_, &str, &[u8]> = redb::TableDefinition::new("meta");
    transaction.open_table(table).unwrap().insert("schema", 2u32.to_le_bytes().as_slice()).unwrap();
    transaction.commit().unwrap();
    drop(database);

    let refused = open(Box::new(FileMedia::new(&path)), settings());
    assert!(matches!(refused, Err(OpenError::Newer { found: 2, known: 1, .. })), "{refused:?}");
    let new = opened(&path);
    assert!(!new.existed);
    assert!(content(&new).sessions.is_empty());
    let aside = new.aside.unwrap();
    let kept = redb::Database::open(&aside.path).unwrap();
    let transaction = redb::ReadableDatabase::begin_read(&kept).unwrap();
    let sessions: redb::TableDefinition<'_, u64, &[u8]> = redb::TableDefinition::new("sessions");
    let sessions = transaction.open_table(sessions).unwrap();
    assert_eq!(redb::ReadableTableMetadata::len(&sessions).unwrap(), 3);
}

#[test]
fn the_fourth_start_without_service_begins_without_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.redb");
    write_some(&path, 3);
    for attempt in 1..=3 {
        let again = opened(&path);
        assert!(again.existed, "attempt {attempt}");
        assert_eq!(again.meta.attempts, attempt);
    }
    let fresh = opened(&path);
    assert!(!fresh.existed);
    assert!(matches!(fresh.aside.unwrap().reason, OpenError::Poisoned { attempts: 3, .. }));
}

#[test]
fn two_files_set_aside_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.redb");
    for n in 0..5u64 {
        std::fs::write(&path, vec![0x5a; 9000]).unwrap();
        let at = bng_store::Settings { wall_ms: 1_000 + n, ..settings() };
        assert!(open_or_set_aside(FileMedia::new(&path), at).unwrap().aside.is_some());
    }
    let mut names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["sessions.redb", "sessions.redb.bad-000000000001003", "sessions.redb.bad-000000000001004"]);
}

#[test]
fn a_folder_that_cannot_be_is_said() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let refused = open_or_set_aside(FileMedia::new(folder.path().join("file/sessions.redb")), settings());
    assert!(matches!(refused, Err(OpenError::Io { .. })), "{refused:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// Whatever became of the file: the start succeeds, and what it shows was once written.
    #[test]
    fn a_damaged_file_is_never_trusted_and_never_fatal(
        cut in prop::option::of(0.0..1.0f64),
        flips in prop::collection::vec((0.0..1.0f64, 1..=255u8), 0..6),
        noise in prop::option::of(prop::collection::vec(any::<u8>(), 0..6000)),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.redb");
        write_some(&path, 50);
        let mut octets = std::fs::read(&path).unwrap();
        for (place, value) in flips {
            let place = (place * octets.len() as f64) as usize;
            octets[place] ^= value;
        }
        if let Some(cut) = cut {
            octets.truncate((cut * octets.len() as f64) as usize);
        }
        std::fs::write(&path, noise.unwrap_or(octets)).unwrap();
        let opened = open_or_set_aside(FileMedia::new(&path), settings()).unwrap();
        for (serial, (record, safe)) in content(&opened).sessions {
            let n = serial.0 & 0xff;
            prop_assert_eq!(record, vec![n as u8; 100]);
            prop_assert_eq!(safe, Some(totals(n)));
        }
        opened.into_writer(|| {}).unwrap().finish().unwrap();
    }
}
