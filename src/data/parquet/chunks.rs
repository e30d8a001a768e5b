//! The bytes of a file for a reader of Parquet, which asks for them from several threads at once.

use std::fs::File;
use std::io::{BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::data::positional::ReadAt;

/// A file that is read at positions: one cursor would be moved by all threads.
pub(in crate::data) struct Chunks {
    file: Arc<File>,
    size: u64,
}

/// The bytes from a position on.
pub(in crate::data) struct From {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Chunks {
    /// # Errors
    /// When the size cannot be told.
    pub fn new(file: File) -> std::io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Chunks { file: Arc::new(file), size })
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<From>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(From { file: self.file.clone(), at: start, end: self.size }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // Before room is made for a length that only the file says.
        if start.checked_add(length as u64).is_none_or(|end| end > self.size) {
            return Err(ParquetError::EOF(String::new()));
        }
        let mut bytes = vec![0; length];
        self.file.as_ref().fill(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let count = buffer.len().min(left);
        self.file.as_ref().fill(&mut buffer[..count], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
