//! Where a ledger lies: names that would give it two journals, file systems that lose it, and the note of its existence.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Fallible};

/// What the system says of all mounts.
const MOUNTS: &str = "/proc/self/mountinfo";

/// File systems that are gone with the power.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// File systems of other machines, on which locks and syncs may not mean what they do on a disk.
const REMOTE: [&str; 16] = [
    "nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "gfs2", "ocfs2", "beegfs",
    "gpfs", "davfs",
];

/// Names of such file systems where programs of users serve them.
const REMOTE_BY_PROGRAM: [&str; 8] = ["sshfs", "s3fs", "rclone", "glusterfs", "ceph", "davfs", "gvfsd", "smbnetfs"];

/// One mounted file system.
#[derive(Debug, PartialEq)]
struct Mount {
    point: PathBuf,
    kind: String,
}

/// Refuses a file that has another name, under which SQLite would keep another journal.
///
/// Whoever is killed in a commit leaves the journal beside the name that was used. A run that comes by the other name does
/// not see it, and the next one by the first name then undoes that run's charge.
pub(super) fn check_single_name(path: &Path) -> Fallible<()> {
    let found = fs::metadata(path).map_err(|error| Error::io(path, "open", error))?;
    let problem = if links(&found) > 1 {
        "has more than one name (hard links), and SQLite keeps a journal beside each: a charge that is undone under one \
         could be lost under the other; remove the other names"
    } else if is_mounted(path, &found) {
        "is itself a mount point, and SQLite keeps a journal beside each of its two names: a charge that is undone under \
         one could be lost under the other; mount its folder instead"
    } else {
        return Ok(());
    };
    Err(Error::ledger(path, problem))
}

/// What the custodian should know about the file system.
pub(super) fn warning(path: &Path) -> Option<String> {
    let folder = fs::canonicalize(path).ok()?;
    warning_of(&kind_of(&mounts(&fs::read_to_string(MOUNTS).ok()?), &folder)?, path)
}

fn warning_of(kind: &str, path: &Path) -> Option<String> {
    let path = path.display();
    if IN_MEMORY.contains(&kind) {
        return Some(format!(
            "warning: the ledger {path} lies in memory ({kind}): when the machine stops, what was spent is forgotten; keep \
             it on a disk"
        ));
    }
    let program = kind.strip_prefix("fuse.").unwrap_or("");
    if REMOTE.contains(&kind) || REMOTE_BY_PROGRAM.iter().any(|known| program.starts_with(known)) {
        return Some(format!(
            "warning: the ledger {path} lies on a network file system ({kind}), whose locks may fail: runs at once could \
             spend the same budget; keep it on a local disk"
        ));
    }
    None
}

fn mounts(text: &str) -> Vec<Mount> {
    let mount = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let point = PathBuf::from(unescaped(before.split(' ').nth(4)?));
        Some(Mount { point, kind: after.split(' ').next()?.to_owned() })
    };
    text.lines().filter_map(mount).collect()
}

/// Blanks, tabs, line ends and backslashes stand there as octal numbers.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (code, character)| text.replace(code, character))
}

/// The file system that a path lies on: the last one mounted at the longest part of it.
fn kind_of(mounts: &[Mount], path: &Path) -> Option<String> {
    let over = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    over.max_by_key(|mount| mount.point.components().count()).map(|mount| mount.kind.clone())
}

fn is_mounted(path: &Path, found: &fs::Metadata) -> bool {
    let Ok(path) = fs::canonicalize(path) else { return false };
    match fs::read_to_string(MOUNTS) {
        Ok(text) => mounts(&text).iter().any(|mount| mount.point == path),
        // The numbers of devices are asked only where the system does not tell mounts: in layered file systems those of a
        // file and of its folder differ by themselves.
        Err(_) => {
            path.parent().and_then(|folder| fs::metadata(folder).ok()).is_some_and(|it| device(&it) != device(found))
        }
    }
}

#[cfg(unix)]
fn links(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(found)
}

#[cfg(not(unix))]
fn links(_: &fs::Metadata) -> u64 {
    1
}

#[cfg(unix)]
fn device(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::dev(found)
}

#[cfg(not(unix))]
fn device(_: &fs::Metadata) -> u64 {
    0
}

/// The file beside a ledger that says that it was there.
///
/// It lies beside the ledger, not beside the data: rows may come from memory, a pipe or a cluster, and a ledger lies beside
/// a data file unless another place is named. A field of the schema would have to be written into a public file.
pub(super) fn note_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".note");
    PathBuf::from(name)
}

/// Notes that there is a ledger; where that cannot be written, a lost ledger is not noticed.
pub(super) fn note(path: &Path) {
    let note = note_of(path);
    if note.exists() {
        return;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let text = format!(
        "The ledger \"{name}\" belongs beside this note. It holds what runs on private data have spent.\n\
         If it is missing, put it back. Without this note a run would start a new one, and what was spent would be forgotten.\n"
    );
    if let Ok(mut file) = fs::OpenOptions::new().write(true).create_new(true).open(note) {
        let _ = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    }
}

/// Refuses to start anew where a ledger was.
pub(super) fn check_not_lost(path: &Path) -> Fallible<()> {
    let note = note_of(path);
    // The ledger comes before its note, so one that is still missing is lost and not in the making.
    if !note.exists() || path.exists() {
        return Ok(());
    }
    Err(Error::ledger(
        path,
        format!(
            "is missing, and {} says that it was here: put it back or name its new place; only whoever deletes the note \
             starts anew, and what was spent is forgotten",
            note.display()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
22 1 252:0 / / rw,relatime - ext4 /dev/root rw
30 22 0:26 / /dev/shm rw,nosuid - tmpfs tmpfs rw
31 22 0:27 / /mnt/of\\040rows rw shared:3 - nfs4 host:/x rw
32 22 0:28 / /mnt/far rw - fuse.sshfs host:/x rw
33 22 252:0 /a/L /b/L rw - ext4 /dev/root rw
a line of another form
34 22 0:29 / /mnt/far/near rw - xfs /dev/sdb rw
";

    #[test]
    fn the_longest_mount_decides() {
        let mounts = mounts(TEXT);
        for (path, kind) in [
            ("/home/l.sqlite", "ext4"),
            ("/dev/shm/l.sqlite", "tmpfs"),
            ("/dev/shmall/l.sqlite", "ext4"),
            ("/mnt/of rows/l.sqlite", "nfs4"),
            ("/mnt/far/l.sqlite", "fuse.sshfs"),
            ("/mnt/far/near/l.sqlite", "xfs"),
        ] {
            assert_eq!(kind_of(&mounts, Path::new(path)).as_deref(), Some(kind), "{path}");
        }
        assert!(mounts.iter().any(|mount| mount.point == Path::new("/b/L")));
        assert_eq!(mounts.len(), 6);
    }

    #[test]
    fn memory_and_networks_are_warned_of() {
        let told = |kind: &str| warning_of(kind, Path::new("l.sqlite")).unwrap_or_default();
        assert!(told("tmpfs").contains("in memory") && told("ramfs").contains("in memory"));
        for kind in ["nfs", "cifs", "smb3", "9p", "fuse.sshfs", "fuse.gvfsd-fuse"] {
            assert!(told(kind).contains("network"), "{kind}");
        }
        for kind in ["ext4", "xfs", "btrfs", "overlay", "zfs", "fuseblk", "fuse.mergerfs"] {
            assert_eq!(told(kind), "", "{kind}");
        }
    }
}
