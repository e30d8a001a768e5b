//! Files that appear whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::error::{Error, Fallible};

/// A file being written beside its destination; it takes the destination's place on [`StagedFile::publish`].
///
/// Staging before any budget is spent also shows that the directory can be written to.
pub struct StagedFile {
    temporary: NamedTempFile,
    destination: PathBuf,
}

impl StagedFile {
    /// Creates the temporary file in the destination's directory.
    ///
    /// # Errors
    /// When the directory is missing or not writable, or the destination is a directory.
    pub fn new(destination: &Path) -> Fallible<Self> {
        if destination.is_dir() {
            return Err(Error::input(destination, "is a directory", "name a file"));
        }
        let directory = parent(destination);
        let temporary = tempfile::Builder::new()
            .prefix(".rhograd-")
            .suffix(".partial")
            .tempfile_in(directory)
            .map_err(|e| Error::io(destination, "create it", e))?;
        Ok(StagedFile { temporary, destination: destination.to_owned() })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// When the disk is full or fails.
    pub fn append(&mut self, bytes: &[u8]) -> Fallible<()> {
        self.temporary.write_all(bytes).map_err(|e| Error::io(&self.destination, "write it", e))
    }

    /// Makes the content durable and moves it to its destination in one step.
    ///
    /// # Errors
    /// When the disk fails; the destination is then as it was.
    pub fn publish(self) -> Fallible<()> {
        let Self { temporary, destination } = self;
        temporary.as_file().sync_all().map_err(|e| Error::io(&destination, "write it", e))?;
        make_readable(&temporary);
        temporary.persist(&destination).map_err(|e| Error::io(&destination, "put it in place", e.error))?;
        // The rename itself must survive a crash too; a file system without directory syncs has done so.
        if let Ok(directory) = std::fs::File::open(parent(&destination)) {
            let _ = directory.sync_all();
        }
        Ok(())
    }
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.temporary.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.temporary.flush()
    }
}

/// Temporary files are private to the user; results get the usual permissions.
#[cfg(unix)]
fn make_readable(file: &NamedTempFile) {
    use std::os::unix::fs::PermissionsExt;
    let _ = file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644));
}

#[cfg(not(unix))]
fn make_readable(_: &NamedTempFile) {}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
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
