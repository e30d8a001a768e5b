//! Files in the making: beside their destination, named after it, and taken away by the next run where one was killed.

use std::fs::{File, Permissions, TryLockError};
use std::io;
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// What the names of all of them begin and end with.
const PREFIX: &str = ".rhograd-";
const SUFFIX: &str = ".partial";

/// Longest part of a destination's name in the name of its file in the making: names have a limit.
const MAX_NAME_LENGTH: usize = 100;

/// How often another run may get in the way before something is wrong.
const TRIES: usize = 100;

/// Permissions of a file in the making, and of files that are as private as the rows.
const FOR_THE_OWNER: u32 = 0o600;

/// Creates the file that is to become `destination`, which its owner alone may read.
///
/// A run that is killed cannot take its files away, whatever the signal. So every such file is locked while it is open, the
/// system drops the lock with the process, and whoever creates one first removes those in the same folder that nobody
/// holds. Where the file system has no locks, nothing is removed.
///
/// # Errors
/// When the folder is missing or cannot be written to.
pub(crate) fn create(destination: &Path) -> io::Result<NamedTempFile> {
    create_with(destination, FOR_THE_OWNER)
}

/// Creates a file in the making that others may read once it is complete; also the permissions that any new file gets there,
/// which [`permit`] gives it then.
///
/// # Errors
/// When the folder is missing or cannot be written to.
pub(crate) fn create_public(destination: &Path) -> io::Result<(NamedTempFile, Permissions)> {
    // The mask cannot be asked for without being changed, so an empty file shows what it leaves.
    let file = create_with(destination, 0o666)?;
    let open = file.as_file().metadata()?.permissions();
    permit(file.as_file(), owner_only(&open))?;
    Ok((file, open))
}

/// Gives a file its permissions; where there are none, nothing.
pub(crate) fn permit(file: &File, permissions: Permissions) -> io::Result<()> {
    if cfg!(unix) { file.set_permissions(permissions) } else { Ok(()) }
}

fn create_with(destination: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let folder = folder_of(destination);
    remove_abandoned(folder);
    let prefix = prefix(destination);
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(SUFFIX);
    narrow(&mut builder, mode);
    for _ in 0..TRIES {
        let file = builder.tempfile_in(folder)?;
        match file.as_file().try_lock() {
            // Nobody else can lock it either, so nobody takes it for abandoned.
            Err(TryLockError::Error(_)) => return Ok(file),
            // Another run found it before it was locked and is about to remove it, or has done so.
            Err(TryLockError::WouldBlock) => {}
            Ok(()) if file.path().exists() => return Ok(file),
            Ok(()) => {}
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// The folder that a file lies in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Says what the file is, to whoever finds it after a crash.
fn prefix(destination: &Path) -> String {
    let name = destination.file_name().unwrap_or_default().to_string_lossy();
    let end = (0..=MAX_NAME_LENGTH.min(name.len())).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
    format!("{PREFIX}{}-", &name[..end])
}

/// Removes what runs left in a folder that did not live to do it; what cannot be removed stays.
///
/// A file is removed only while its lock is held here, and its maker looks for it again after locking it: so no file that
/// a living run relies on goes away.
fn remove_abandoned(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Opening a pipe would wait for its other end.
        let ours = name.starts_with(PREFIX) && name.ends_with(SUFFIX) && entry.file_type().is_ok_and(|t| t.is_file());
        if ours
            && let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(unix)]
fn narrow(builder: &mut Builder<'_, '_>, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(Permissions::from_mode(mode));
}

#[cfg(not(unix))]
fn narrow(_: &mut Builder<'_, '_>, _: u32) {}

#[cfg(unix)]
fn owner_only(_: &Permissions) -> Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(FOR_THE_OWNER)
}

#[cfg(not(unix))]
fn owner_only(open: &Permissions) -> Permissions {
    open.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_nobody_holds_goes_and_everything_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| std::fs::write(folder.path().join(name), "x").unwrap();
        let kept = [".rhograd-a.json", "a.partial", "notes.txt"];
        kept.iter().for_each(|name| write(name));
        std::fs::create_dir(folder.path().join(".rhograd-folder.partial")).unwrap();
        write(".rhograd-dead.json-x.partial");
        write(".rhograd-x.partial");
        let held = create(&folder.path().join("a.json")).unwrap();
        let other = create(&folder.path().join("b.json")).unwrap();
        let name = held.path().file_name().unwrap().to_str().unwrap().to_owned();
        assert!(name.starts_with(".rhograd-a.json-") && held.path().exists() && other.path().exists());
        // As a killed process leaves it: closed and still there.
        drop(held.keep().unwrap());
        let third = create(&folder.path().join("c.json")).unwrap();
        let left = names(folder.path());
        assert!(!left.contains(&name) && left.len() == 6, "{left:?}");
        assert!(kept.iter().all(|kept| left.iter().any(|name| name == kept)), "{left:?}");
        assert!(other.path().exists() && third.path().exists());
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let folder = tempfile::tempdir().unwrap();
        let long = folder.path().join("ü".repeat(120));
        assert!(create(&long).unwrap().path().exists());
        assert_eq!(prefix(&long), format!(".rhograd-{}-", "ü".repeat(50)));
        assert_eq!(prefix(&folder.path().join("é")), ".rhograd-é-");
    }

    #[test]
    fn runs_that_start_and_end_together_never_lose_a_file() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let folder = folder.path();
                scope.spawn(move || {
                    for i in 0..100 {
                        let destination = folder.join(format!("{thread}-{i}"));
                        let file = create(&destination).unwrap();
                        if i % 3 == 0 {
                            drop(file.keep().unwrap());
                        } else {
                            file.persist(&destination).unwrap();
                        }
                    }
                });
            }
        });
        drop(create(&folder.path().join("last")).unwrap());
        let left = names(folder.path());
        assert_eq!(left.len(), 8 * 66, "{left:?}");
        assert!(left.iter().all(|name| !name.ends_with(SUFFIX)));
    }
}
