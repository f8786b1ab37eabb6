//! Writing into a buffer of fixed size, octet after octet.

use crate::ether::TooSmall;

/// A buffer and how much of it has been written. Nothing is written in part: a value that does not fit leaves the
/// buffer as it was.
#[derive(Debug)]
pub struct Writer<'b> {
    buffer: &'b mut [u8],
    len: usize,
}

impl<'b> Writer<'b> {
    /// A writer at the front of `buffer`.
    pub const fn new(buffer: &'b mut [u8]) -> Self {
        Self { buffer, len: 0 }
    }

    /// Octets written so far.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True before anything is written.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends octets.
    ///
    /// # Errors
    /// [`TooSmall`].
    pub fn octets(&mut self, octets: &[u8]) -> Result<(), TooSmall> {
        let end = self.len.checked_add(octets.len()).ok_or(TooSmall)?;
        self.buffer.get_mut(self.len..end).ok_or(TooSmall)?.copy_from_slice(octets);
        self.len = end;
        Ok(())
    }

    /// Appends one octet.
    ///
    /// # Errors
    /// [`TooSmall`].
    pub fn u8(&mut self, value: u8) -> Result<(), TooSmall> {
        self.octets(&[value])
    }

    /// Appends two octets, the high one first.
    ///
    /// # Errors
    /// [`TooSmall`].
    pub fn u16(&mut self, value: u16) -> Result<(), TooSmall> {
        self.octets(&value.to_be_bytes())
    }

    /// Appends four octets, the highest first.
    ///
    /// # Errors
    /// [`TooSmall`].
    pub fn u32(&mut self, value: u32) -> Result<(), TooSmall> {
        self.octets(&value.to_be_bytes())
    }

    /// Replaces two octets that were written at `at`; nothing happens where they were not.
    pub fn patch_u16(&mut self, at: usize, value: u16) {
        let end = at.saturating_add(2);
        if end <= self.len
            && let Some(room) = self.buffer.get_mut(at..end)
        {
            room.copy_from_slice(&value.to_be_bytes());
        }
    }

    /// Takes back all but the first `len` octets.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// What has been written.
    #[must_use]
    pub fn written(&self) -> &[u8] {
        self.buffer.get(..self.len).unwrap_or_default()
    }

    /// What has been written, to be changed.
    pub fn written_mut(&mut self) -> &mut [u8] {
        self.buffer.get_mut(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let mut buffer = [0u8; 7];
        let mut writer = Writer::new(&mut buffer);
        writer.u32(0x0102_0304).unwrap();
        writer.u16(0x0506).unwrap();
        assert_eq!(writer.u16(0xffff), Err(TooSmall));
        writer.u8(7).unwrap();
        assert_eq!(writer.u8(8), Err(TooSmall));
        writer.patch_u16(6, 0xffff);
        writer.patch_u16(usize::MAX, 0xffff);
        writer.patch_u16(0, 0x0a0b);
        assert_eq!(writer.written(), [10, 11, 3, 4, 5, 6, 7]);
        writer.truncate(2);
        assert_eq!(writer.written(), [10, 11]);
    }
}
