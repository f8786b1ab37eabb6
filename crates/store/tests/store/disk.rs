//! A disk of memory that can be told to fail at the n-th write, to stall, and to lose what was not synced.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bng_store::Media;
use redb::{Builder, Database, DatabaseError, StorageBackend};

#[derive(Debug, Default)]
struct Image {
    now: Vec<u8>,
    synced: Vec<u8>,
    /// Writes that still succeed.
    writes_left: Option<u64>,
    stall: Duration,
    set_aside: u32,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Disk(Arc<Mutex<Image>>);

impl Disk {
    fn image(&self) -> MutexGuard<'_, Image> {
        self.0.lock().unwrap()
    }

    /// From the `writes`-th write on everything fails.
    pub(crate) fn fail_after(&self, writes: u64) {
        self.image().writes_left = Some(writes);
    }

    pub(crate) fn heal(&self) {
        self.image().writes_left = None;
    }

    pub(crate) fn stall(&self, time: Duration) {
        self.image().stall = time;
    }

    /// What was not synced is gone, and the disk works again.
    pub(crate) fn lose_power(&self) {
        let mut image = self.image();
        image.now = image.synced.clone();
        image.writes_left = None;
    }

    pub(crate) fn spoil(&self) {
        let mut image = self.image();
        image.now.fill(0x5a);
        image.synced.fill(0x5a);
    }

    pub(crate) fn set_aside_count(&self) -> u32 {
        self.image().set_aside
    }
}

fn failure() -> io::Error {
    io::Error::other("no space left on this disk")
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64, io::Error> {
        Ok(self.image().now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        let image = self.image();
        let offset = offset as usize;
        let Some(from) = image.now.get(offset..offset + out.len()) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        out.copy_from_slice(from);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        let mut image = self.image();
        if image.writes_left == Some(0) {
            return Err(failure());
        }
        image.now.resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        let stall = self.image().stall;
        std::thread::sleep(stall);
        let mut image = self.image();
        if image.writes_left == Some(0) {
            return Err(failure());
        }
        image.synced = image.now.clone();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        let mut image = self.image();
        match &mut image.writes_left {
            Some(0) => return Err(failure()),
            Some(left) => *left -= 1,
            None => {}
        }
        let offset = offset as usize;
        image.now[offset..offset + data.len()].copy_from_slice(data);
        Ok(())
    }
}

impl Media for Disk {
    fn open(&self, builder: &Builder) -> Result<Database, DatabaseError> {
        builder.create_with_backend(self.clone())
    }

    fn set_aside(&self, _wall_ms: u64) -> io::Result<PathBuf> {
        let mut image = self.image();
        image.now.clear();
        image.synced.clear();
        image.set_aside += 1;
        Ok(PathBuf::from("memory.bad"))
    }

    fn path(&self) -> &Path {
        Path::new("memory")
    }
}
