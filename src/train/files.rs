//! Files that appear whole or not at all.

use std::fs::{File, Permissions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::error::{Error, Fallible};
use crate::partial;

/// Most links that are followed one after the other.
const MAX_LINKS: usize = 40;

/// A file being written beside its destination; it takes the destination's place on [`StagedFile::publish`].
///
/// Staging before any budget is spent also shows that the directory can be written to. Until it is published, only its owner
/// may read it. A link is followed: what it points to is replaced, and the link stays. A device or a pipe is never replaced;
/// what was staged is written to it when it is published.
pub struct StagedFile {
    content: Content,
    destination: PathBuf,
    overwrite: bool,
}

enum Content {
    /// Beside the file that it becomes; with the permissions that it gets then.
    Beside { temporary: NamedTempFile, target: PathBuf, open: Option<Permissions> },
    /// In a file without a name, and what it is written to.
    Through { held: File, out: File },
}

/// What stands at a path.
enum Place {
    /// A regular file, or nothing yet: where it really lies, and whether it is there.
    Regular(PathBuf, bool),
    /// Something that is written to as it is.
    Stream,
}

impl StagedFile {
    /// Creates the temporary file in the destination's directory, and removes there what runs that were killed left.
    ///
    /// # Errors
    /// When the directory is missing or not writable, the destination is a directory, or it exists and may not be overwritten.
    pub fn new(destination: &Path, overwrite: bool) -> Fallible<Self> {
        Self::staged(destination, overwrite, false)
    }

    /// Stages a file that its owner alone may ever read.
    ///
    /// # Errors
    /// When the directory is missing or not writable, the destination is a directory, or it exists and may not be overwritten.
    pub fn private(destination: &Path, overwrite: bool) -> Fallible<Self> {
        Self::staged(destination, overwrite, true)
    }

    fn staged(destination: &Path, overwrite: bool, private: bool) -> Fallible<Self> {
        // The kind alone: the message would name the temporary file.
        let failed = |e: std::io::Error| Error::io(destination, "create it", e.kind().into());
        let destination = destination.to_owned();
        let content = match checked(&destination, overwrite)? {
            Place::Stream => {
                let out = File::options().write(true).open(&destination);
                let out = out.map_err(|e| Error::io(&destination, "open it", e))?;
                Content::Through { held: tempfile::tempfile().map_err(failed)?, out }
            }
            Place::Regular(target, _) if private => {
                Content::Beside { temporary: partial::create(&target).map_err(failed)?, target, open: None }
            }
            Place::Regular(target, _) => {
                let (temporary, open) = partial::create_public(&target).map_err(failed)?;
                Content::Beside { temporary, target, open: Some(open) }
            }
        };
        Ok(StagedFile { content, destination, overwrite })
    }

    /// The file in the making, while it has a name.
    pub fn temporary(&self) -> Option<&Path> {
        match &self.content {
            Content::Beside { temporary, .. } => Some(temporary.path()),
            Content::Through { .. } => None,
        }
    }

    fn file(&mut self) -> &mut File {
        match &mut self.content {
            Content::Beside { temporary, .. } => temporary.as_file_mut(),
            Content::Through { held, .. } => held,
        }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// When the disk is full or fails.
    pub fn append(&mut self, bytes: &[u8]) -> Fallible<()> {
        // The file itself: the message would name the temporary one.
        let written = self.file().write_all(bytes);
        written.map_err(|e| Error::io(&self.destination, "write it", e))
    }

    /// Where it goes.
    pub(super) fn destination(&self) -> &Path {
        &self.destination
    }

    /// Whether a file that lies there may be replaced.
    pub(super) fn overwrites(&self) -> bool {
        self.overwrite
    }

    /// Waits until the content is on the disk.
    pub(super) fn secure(&self) -> Fallible<()> {
        match &self.content {
            Content::Beside { temporary, .. } => {
                temporary.as_file().sync_all().map_err(|e| Error::io(&self.destination, "write it", e))
            }
            Content::Through { .. } => Ok(()),
        }
    }

    /// Makes the content durable and moves it to its destination in one step.
    ///
    /// # Errors
    /// When the disk fails, or a file has appeared there that may not be overwritten; the destination is then as it was.
    pub fn publish(self) -> Fallible<()> {
        self.secure()?;
        let Self { content, destination, overwrite } = self;
        let failed = |e| Error::io(&destination, "put it in place", e);
        match content {
            Content::Beside { temporary, target, open } => {
                if let Some(open) = open {
                    partial::permit(temporary.as_file(), open).map_err(failed)?;
                }
                let placed = match overwrite {
                    true => temporary.persist(&target),
                    false => temporary.persist_noclobber(&target),
                };
                match placed {
                    Ok(_) => sync_folder(partial::folder_of(&target)).map_err(failed),
                    Err(e) if !overwrite && e.error.kind() == std::io::ErrorKind::AlreadyExists => {
                        Err(exists(&destination))
                    }
                    Err(e) => Err(failed(e.error)),
                }
            }
            Content::Through { mut held, mut out } => {
                let copied = held.rewind().and_then(|()| std::io::copy(&mut held, &mut out)).and_then(|_| out.flush());
                copied.map_err(|e| Error::io(&destination, "write it", e))
            }
        }
    }

    /// Takes away the file that is to be overwritten.
    pub(super) fn clear(&self) -> Fallible<()> {
        match &self.content {
            Content::Beside { target, .. } => take_away(target, &self.destination),
            Content::Through { .. } => Ok(()),
        }
    }
}

/// Removes a file, if it is there, so that a crash does not bring it back; `named` is how messages call it.
pub(super) fn take_away(path: &Path, named: &Path) -> Fallible<()> {
    let failed = |e| Error::io(named, "replace it", e);
    match std::fs::remove_file(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(failed(e)),
        Ok(()) => sync_folder(partial::folder_of(path)).map_err(failed),
    }
}

/// Refuses a destination that cannot be a file, or that exists and may not be overwritten; nothing is made.
fn checked(destination: &Path, overwrite: bool) -> Fallible<Place> {
    if destination == Path::new("-") {
        let cure = "name a file; ./- is one of that name";
        return Err(Error::input(destination, "means standard output, which this is not written to", cure));
    }
    if destination.is_dir() {
        return Err(Error::input(destination, "is a directory", "name a file"));
    }
    let place = place_of(destination).map_err(|e| Error::io(destination, "create it", e))?;
    if let Place::Regular(target, true) = &place {
        if is_database(target) {
            return Err(Error::input(destination, "is a database, perhaps a ledger", "name another file"));
        }
        if !overwrite {
            return Err(exists(destination));
        }
    }
    Ok(place)
}

/// Refuses a destination that is no place for a model: one that holds a model already, or keeps nothing.
///
/// # Errors
/// When the directory is missing or not writable, the destination is a directory, a device or a pipe, or it exists and may not be
/// overwritten.
pub fn check_destination(destination: &Path, overwrite: bool, must_stay: bool) -> Fallible<()> {
    match checked(destination, overwrite)? {
        Place::Stream if must_stay => {
            let problem = "is a device or a pipe, which keeps no model";
            Err(Error::input(destination, problem, "name a file: the budget is spent once"))
        }
        _ => Ok(()),
    }
}

fn exists(destination: &Path) -> Error {
    Error::input(destination, "exists already", "give --overwrite to replace it, or name another file")
}

fn place_of(destination: &Path) -> std::io::Result<Place> {
    use std::io::ErrorKind::NotFound;
    let is_link = destination.symlink_metadata().is_ok_and(|facts| facts.is_symlink());
    match std::fs::metadata(destination) {
        Ok(facts) if facts.is_file() => {
            let target = if is_link { destination.canonicalize()? } else { destination.to_owned() };
            Ok(Place::Regular(target, true))
        }
        Ok(_) => Ok(Place::Stream),
        Err(e) if e.kind() == NotFound => {
            // A link to a file that is not there yet.
            let mut target = destination.to_owned();
            for _ in 0..MAX_LINKS {
                match target.read_link() {
                    Ok(next) => target = partial::folder_of(&target).join(next),
                    Err(_) => return Ok(Place::Regular(target, false)),
                }
            }
            Err(e)
        }
        Err(e) => Err(e),
    }
}

/// Makes renames in a folder survive a crash; a file system that syncs no folders has done so by itself.
pub(super) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    use std::io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(e) if !cfg!(unix) || matches!(e.kind(), InvalidInput | Unsupported | PermissionDenied) => Ok(()),
        synced => synced,
    }
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file().flush()
    }
}

/// Whether a file is in SQLite's format; losing a ledger to a wrong argument would lose its spending.
fn is_database(path: &Path) -> bool {
    let mut start = [0; 16];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *b"SQLite format 3\0"
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut digest = RunningDigest::default();
    digest.update(bytes);
    digest.finish()
}

/// SHA-256 of a regular file; `None` where there is none that can be read.
pub fn sha256_of_file(path: &Path) -> Option<String> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let mut digest = RunningDigest::default();
    let mut part = vec![0; 1 << 16];
    loop {
        match file.read(&mut part).ok()? {
            0 => return Some(digest.finish()),
            size => digest.update(&part[..size]),
        }
    }
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
        assert!(StagedFile::new(&path, false).err().unwrap().to_string().contains("--overwrite"));
        let mut staged = StagedFile::new(&path, true).unwrap();
        staged.append(b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        staged.publish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        drop(StagedFile::new(&path, true).unwrap());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        assert!(StagedFile::new(directory.path(), true).is_err());
        assert!(StagedFile::new(&directory.path().join("none/a"), true).is_err());
    }

    #[test]
    fn what_appears_meanwhile_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        let mut staged = StagedFile::new(&path, false).unwrap();
        staged.append(b"new").unwrap();
        std::fs::write(&path, "another").unwrap();
        assert!(staged.publish().unwrap_err().to_string().contains("exists already"));
        assert_eq!(std::fs::read(&path).unwrap(), b"another");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn links_stay_and_files_are_private_until_they_are_published() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        std::fs::write(at("plain"), "x").unwrap();
        std::fs::write(at("target"), "old").unwrap();
        symlink("target", at("link")).unwrap();
        symlink("later", at("dangling")).unwrap();
        for (name, becomes) in [("link", "target"), ("dangling", "later")] {
            let mut staged = StagedFile::new(&at(name), true).unwrap();
            staged.append(b"new").unwrap();
            assert_eq!(mode(staged.temporary().unwrap()), 0o600);
            staged.publish().unwrap();
            assert!(at(name).is_symlink() && std::fs::read(at(becomes)).unwrap() == b"new");
            assert_eq!(mode(&at(becomes)), mode(&at("plain")));
        }
        StagedFile::private(&at("predictions"), false).unwrap().publish().unwrap();
        assert_eq!(mode(&at("predictions")), 0o600);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn devices_are_written_to_and_never_replaced() {
        use std::os::unix::fs::FileTypeExt;
        for overwrite in [false, true] {
            let mut staged = StagedFile::new(Path::new("/dev/null"), overwrite).unwrap();
            staged.append(b"new").unwrap();
            staged.publish().unwrap();
        }
        assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        let mut full = StagedFile::new(Path::new("/dev/full"), false).unwrap();
        full.append(b"new").unwrap();
        assert!(full.publish().is_err());
        assert!(check_destination(Path::new("/dev/null"), true, true).unwrap_err().to_string().contains("device"));
        assert!(StagedFile::new(Path::new("-"), true).is_err());
    }
}
