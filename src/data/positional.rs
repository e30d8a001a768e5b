//! Reading at a position, from several threads at once.

use std::fs::File;
use std::io::{ErrorKind, Result};

/// Bytes that can be read anywhere, by several threads at once.
pub trait ReadAt: Sync {
    /// Fills the buffer from the bytes at `at`.
    ///
    /// # Errors
    /// When they cannot be read, or there are fewer.
    fn fill(&self, buffer: &mut [u8], at: u64) -> Result<()>;
}

impl ReadAt for File {
    #[cfg(unix)]
    fn fill(&self, buffer: &mut [u8], at: u64) -> Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buffer, at)
    }

    #[cfg(windows)]
    fn fill(&self, mut buffer: &mut [u8], mut at: u64) -> Result<()> {
        while !buffer.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(self, buffer, at)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => {
                    buffer = &mut std::mem::take(&mut buffer)[count..];
                    at += count as u64;
                }
            }
        }
        Ok(())
    }
}

impl ReadAt for &[u8] {
    fn fill(&self, buffer: &mut [u8], at: u64) -> Result<()> {
        let from = usize::try_from(at).ok().and_then(|at| self.get(at..)?.get(..buffer.len()));
        from.map(|bytes| buffer.copy_from_slice(bytes)).ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }
}
