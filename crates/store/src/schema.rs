//! The tables, and how a batch becomes one transaction.

use redb::{Database, Durability, ReadableTable, TableDefinition, WriteTransaction};

use crate::change::NameKind;
use crate::error::StoreError;
use crate::meta::Meta;
use crate::queue::{Batch, SessionRow};

/// What this program writes.
pub(crate) const SCHEMA: u32 = 1;

pub(crate) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
pub(crate) const NAMES: TableDefinition<'_, u16, &[u8]> = TableDefinition::new("names");
pub(crate) const SESSIONS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("sessions");
pub(crate) const SAFE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("safe");
pub(crate) const ID_MARKS: TableDefinition<'_, (u16, u16), u16> = TableDefinition::new("id_marks");
pub(crate) const ACCOUNTING: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("accounting");

/// Keys of `meta`.
pub(crate) const KEY_SCHEMA: &str = "schema";
pub(crate) const KEY_META: &str = "meta";

/// A transaction whose commit is on the disk when it returns.
pub(crate) fn begin(database: &Database) -> Result<WriteTransaction, StoreError> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Immediate).map_err(std::io::Error::other)?;
    Ok(transaction)
}

/// Makes all tables, so that a reader never meets one that is missing, and writes what is known at a start.
pub(crate) fn write_start(database: &Database, meta: &Meta) -> Result<(), StoreError> {
    let transaction = begin(database)?;
    {
        transaction.open_table(NAMES)?;
        transaction.open_table(SESSIONS)?;
        transaction.open_table(SAFE)?;
        transaction.open_table(ID_MARKS)?;
        transaction.open_table(ACCOUNTING)?;
        let mut table = transaction.open_table(META)?;
        table.insert(KEY_SCHEMA, SCHEMA.to_le_bytes().as_slice())?;
        table.insert(KEY_META, meta.encode().as_slice())?;
    }
    Ok(transaction.commit()?)
}

pub(crate) fn write_names(database: &Database, names: &[(u16, NameKind, String)]) -> Result<(), StoreError> {
    let transaction = begin(database)?;
    {
        let mut table = transaction.open_table(NAMES)?;
        for (id, kind, name) in names {
            let mut octets = vec![*kind as u8];
            octets.extend(name.as_bytes());
            table.insert(id, octets.as_slice())?;
        }
    }
    Ok(transaction.commit()?)
}

/// Writes a batch, whole or not at all. `meta` is the value with the batch's changes in it.
pub(crate) fn write_batch(database: &Database, batch: &Batch, meta: &Meta) -> Result<(), StoreError> {
    let transaction = begin(database)?;
    {
        let mut sessions = transaction.open_table(SESSIONS)?;
        let mut safe = transaction.open_table(SAFE)?;
        for (serial, row) in &batch.sessions {
            match row {
                SessionRow::Record(record) => {
                    sessions.insert(serial.0, &**record)?;
                }
                SessionRow::Gone => {
                    sessions.remove(serial.0)?;
                    safe.remove(serial.0)?;
                }
            }
        }
        for (serial, totals) in &batch.safe {
            // A late value of a session whose end is written already must not come back as a row without an owner.
            if sessions.get(serial.0)?.is_some() {
                safe.insert(serial.0, totals.encode().as_slice())?;
            }
        }
        let mut accounting = transaction.open_table(ACCOUNTING)?;
        for (sequence, record) in &batch.accounting {
            match record {
                Some(record) => accounting.insert(sequence, &**record)?,
                None => accounting.remove(sequence)?,
            };
        }
        let mut id_marks = transaction.open_table(ID_MARKS)?;
        for (space, id) in &batch.id_marks {
            id_marks.insert(space, id)?;
        }
        if !batch.meta.is_empty() {
            transaction.open_table(META)?.insert(KEY_META, meta.encode().as_slice())?;
        }
    }
    Ok(transaction.commit()?)
}
