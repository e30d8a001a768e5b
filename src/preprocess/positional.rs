//! Reading a file at a position, from several threads at once.

use std::fs::File;
use std::io::Result;

/// Fills the buffer from the bytes at `at`.
#[cfg(unix)]
pub(super) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, at)
}

/// Fills the buffer from the bytes at `at`.
#[cfg(windows)]
pub(super) fn read_at(file: &File, mut buffer: &mut [u8], mut at: u64) -> Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, at)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => {
                buffer = &mut std::mem::take(&mut buffer)[count..];
                at += count as u64;
            }
        }
    }
    Ok(())
}
