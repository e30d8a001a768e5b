//! Files that appear whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::error::{Error, Fallible};
use crate::partial;

/// Permissions of results, which the user's mask may narrow.
const AS_ANY_NEW_FILE: u32 = 0o666;

/// A file being written beside its destination; it takes the destination's place on [`StagedFile::publish`].
///
/// Staging before any budget is spent also shows that the directory can be written to.
pub struct StagedFile {
    temporary: NamedTempFile,
    destination: PathBuf,
}

impl StagedFile {
    /// Creates the temporary file in the destination's directory, and removes there what runs that were killed left.
    ///
    /// # Errors
    /// When the directory is missing or not writable, or the destination is a directory.
    pub fn new(destination: &Path) -> Fallible<Self> {
        if destination.is_dir() {
            return Err(Error::input(destination, "is a directory", "name a file"));
        }
        if is_database(destination) {
            return Err(Error::input(destination, "is a database, perhaps a ledger", "name another file"));
        }
        let temporary = partial::create(destination, AS_ANY_NEW_FILE)
            // The kind alone: the message would name the temporary file.
            .map_err(|e| Error::io(destination, "create it", e.kind().into()))?;
        Ok(StagedFile { temporary, destination: destination.to_owned() })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// When the disk is full or fails.
    pub fn append(&mut self, bytes: &[u8]) -> Fallible<()> {
        // The file itself: the message would name the temporary one.
        self.temporary.as_file_mut().write_all(bytes).map_err(|e| Error::io(&self.destination, "write it", e))
    }

    /// Makes the content durable and moves it to its destination in one step.
    ///
    /// # Errors
    /// When the disk fails; the destination is then as it was.
    pub fn publish(self) -> Fallible<()> {
        let Self { temporary, destination } = self;
        temporary.as_file().sync_all().map_err(|e| Error::io(&destination, "write it", e))?;
        temporary.persist(&destination).map_err(|e| Error::io(&destination, "put it in place", e.error))?;
        // The rename itself must survive a crash too; a file system without directory syncs has done so.
        if let Ok(directory) = std::fs::File::open(partial::folder_of(&destination)) {
            let _ = directory.sync_all();
        }
        Ok(())
    }
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.temporary.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.temporary.as_file_mut().flush()
    }
}

/// Whether a file is in SQLite's format; losing a ledger to a wrong argument would lose its spending.
fn is_database(path: &Path) -> bool {
    let mut start = [0; 16];
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start));
    read.is_ok() && start == *b"SQLite format 3\0"
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut digest = RunningDigest::default();
    digest.update(bytes);
    digest.finish()
}

/// SHA-256 of a text that is never held whole.
#[derive(Default)]
pub(super) struct RunningDigest(Sha256);

impl RunningDigest {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn finish(self) -> String {
        format!("{:x}", self.0.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_appears_before_publication() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        std::fs::write(&path, "old").unwrap();
        let mut staged = StagedFile::new(&path).unwrap();
        staged.append(b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        staged.publish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        drop(StagedFile::new(&path).unwrap());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        assert!(StagedFile::new(directory.path()).is_err());
        assert!(StagedFile::new(&directory.path().join("none/a")).is_err());
    }
}
