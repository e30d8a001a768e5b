//! The file of a checkpoint, locked for one process.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use crate::error::{Error, Fallible};

/// How a file is made that its owner alone may read.
pub(super) fn for_the_owner() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Opens a file and locks it.
pub(super) fn locked(path: &Path, options: &OpenOptions) -> Fallible<File> {
    lock(path, options)?
        .ok_or_else(|| Error::input(path, "belongs to a run that is still going", "wait for it, or name another file"))
}

/// Opens a file and locks it; `None` where another run has it.
pub(super) fn lock(path: &Path, options: &OpenOptions) -> Fallible<Option<File>> {
    let file = match options.open(path) {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => return Ok(None),
        opened => opened.map_err(|e| Error::io(path, "open the checkpoint", e))?,
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(e)) => Err(Error::io(path, "lock the checkpoint", e)),
        // Whoever had it may have removed it in between.
        Ok(()) => Ok(same_file(&file, path).then_some(file)),
    }
}

#[cfg(unix)]
fn same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |facts: std::fs::Metadata| (facts.dev(), facts.ino());
    matches!((file.metadata().map(place), std::fs::metadata(path).map(place)), (Ok(a), Ok(b)) if a == b)
}

#[cfg(not(unix))]
fn same_file(_: &File, path: &Path) -> bool {
    path.exists()
}
