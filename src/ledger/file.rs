//! The SQLite file: how it is made, recognised and configured.

use std::fs;
use std::io::ErrorKind::AlreadyExists;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tempfile::TempPath;

use super::place;
use crate::error::{Error, ErrorKind, Fallible};
use crate::partial::{self, folder_of};

/// Marks the file as a ledger ("rhog").
const APPLICATION_ID: i32 = 0x7268_6f67;

/// Layout of the table and of the record texts; a program refuses any other.
const SCHEMA_VERSION: i32 = 1;

/// How long a run waits for others; each holds the lock for milliseconds only.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the name of a ledger in the making ends with.
const DRAFT: &str = ".draft";

/// Every object in the file, in the order of their names. The text must match to the letter, because a
/// trigger that somebody added could undo what is written.
///
/// The triggers stop accidents. Whoever removes them still has the hash chain to face.
const SCHEMA: [(&str, &str); 4] = [
    (
        "entries",
        "CREATE TABLE entries (sequence INTEGER PRIMARY KEY, body TEXT NOT NULL, previous TEXT NOT NULL, \
         hash TEXT NOT NULL) STRICT",
    ),
    (
        "entries_append_only",
        "CREATE TRIGGER entries_append_only BEFORE INSERT ON entries \
         WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM entries) \
         BEGIN SELECT RAISE(ABORT, 'entries may only be appended'); END",
    ),
    (
        "entries_no_delete",
        "CREATE TRIGGER entries_no_delete BEFORE DELETE ON entries \
         BEGIN SELECT RAISE(ABORT, 'entries may not be deleted'); END",
    ),
    (
        "entries_no_update",
        "CREATE TRIGGER entries_no_update BEFORE UPDATE ON entries \
         BEGIN SELECT RAISE(ABORT, 'entries may not be changed'); END",
    ),
];

/// A write was cut off, and to undo it the file would have to be written to (`SQLITE_READONLY_ROLLBACK`).
const NEEDS_ROLLBACK: i32 = 776;

/// What a message says where the file itself, as it was read, is not what was written.
const DAMAGED: &str = "restore a copy";

/// Turns an error of SQLite into ours.
pub(super) fn failed(path: &Path) -> impl Fn(rusqlite::Error) -> Error + '_ {
    move |error| {
        let extended = error.sqlite_error().map(|it| it.extended_code);
        let advice = match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => {
                return Error::no_ledger(path, format!("{error}; it is not a rhograd ledger; name another file"));
            }
            Some(ErrorCode::DatabaseBusy) => "another program has held it for 30 seconds; try again",
            Some(ErrorCode::ReadOnly) if extended == Some(NEEDS_ROLLBACK) => {
                "a write to it was cut off, and to undo that it must be writable: run `rhograd ledger verify` as its \
                 owner, or copy it together with its -journal to a folder of yours and read that copy"
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                "the file and its folder must be writable"
            }
            Some(ErrorCode::DiskFull) => "free some space",
            Some(ErrorCode::DatabaseCorrupt) => {
                let advice =
                    "try again, and check the disk; if it stays so it is damaged: restore a copy that holds every run";
                return Error::ledger(path, format!("{error}; {advice}"));
            }
            Some(ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed) => {
                "try again; if it stays so, check for space and the disk, which must be local and support locks"
            }
            _ => return Error::ledger(path, error.to_string()),
        };
        // No check has failed and no budget is spent: it may be as good as ever.
        Error::ledger_out_of_reach(path, format!("{error}; {advice}"))
    }
}

/// Whether an error says that the file is damaged.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Ledger { problem, .. } if problem.contains(DAMAGED))
}

/// Does something again that found damage: what is read only once may be a fault of the reading, and whoever is told to
/// restore a copy for that loses charges.
///
/// # Errors
/// The first error where the second is the same; where it is another, that the file is read differently each time.
pub(super) fn twice<T>(path: &Path, mut work: impl FnMut() -> Fallible<T>) -> Fallible<T> {
    let first = match work() {
        Err(error) if is_damage(&error) => error,
        done => return done,
    };
    match work() {
        Err(second) if second.to_string() == first.to_string() => Err(first),
        Err(second) if !is_damage(&second) => Err(second),
        Err(_) => Err(Error::ledger_out_of_reach(path, "is read differently each time; try again, and check the disk")),
        Ok(done) => Ok(done),
    }
}

/// Opens the ledger at `path`, and makes an empty one if nothing is there.
pub(super) fn open_or_create(path: &Path) -> Fallible<Connection> {
    if !exists(path)? {
        place::check_not_lost(path)?;
        create(path)?;
    }
    open_existing(path)
}

/// Opens the ledger at `path`; never changes a file that is not one.
pub(super) fn open_existing(path: &Path) -> Fallible<Connection> {
    check_place(path)?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    check_identity(&connection, path)?;
    configure(&connection).map_err(failed(path)).and_then(|()| check_settings(&connection, path))?;
    Ok(connection)
}

/// Opens the ledger at `path` to be read: neither it nor its folder need be writable.
///
/// Where a write was cut off, it is undone first if that is possible.
pub(super) fn open_to_read(path: &Path) -> Fallible<Connection> {
    check_place(path)?;
    let read_only = || -> rusqlite::Result<Connection> {
        let connection = connect_raw(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        protect(&connection)?;
        connection.pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0))?;
        Ok(connection)
    };
    let connection = match read_only() {
        Err(error) if error.sqlite_error().is_some_and(|it| it.extended_code == NEEDS_ROLLBACK) => {
            let writable = open_existing(path);
            return writable.map_err(|_| failed(path)(error));
        }
        other => other.map_err(failed(path))?,
    };
    check_identity(&connection, path)?;
    Ok(connection)
}

/// Refuses what is no file, or has two names.
fn check_place(path: &Path) -> Fallible<()> {
    if !exists(path)? {
        place::check_not_lost(path)?;
        return Err(Error::no_ledger(path, "does not exist; create it with `rhograd ledger init`"));
    }
    let kind = fs::metadata(path).map_err(|error| Error::io(path, "open", error))?;
    if !kind.is_file() {
        let what = if kind.is_dir() { "is a directory" } else { "is not a regular file" };
        return Err(Error::no_ledger(path, format!("{what}; name a file, such as ledger.sqlite")));
    }
    place::check_single_name(path)
}

/// An empty ledger without a file.
pub(super) fn in_memory(name: &Path) -> Fallible<Connection> {
    let connection = Connection::open_in_memory().map_err(failed(name))?;
    write_schema(&connection).map_err(failed(name))?;
    Ok(connection)
}

fn exists(path: &Path) -> Fallible<bool> {
    path.try_exists().map_err(|error| Error::io(path, "open", error))
}

/// Makes the ledger beside its final name and moves it there in one step.
///
/// So no other program ever sees a half-made file, an empty file is never mistaken for a ledger in the
/// making, and of several creators at once all use the file of the first.
fn create(path: &Path) -> Fallible<()> {
    let folder = folder_of(path);
    if let Some(journal) = stray_journal(path)
        // Whoever created the ledger a moment ago may be writing to it by now.
        && !exists(path)?
    {
        return Err(Error::ledger(
            path,
            format!("is missing, but its journal {} is there; put the ledger back", journal.display()),
        ));
    }
    // The draft itself must not be opened but by SQLite: closing it would drop the locks that this process holds through
    // SQLite once it has its name. So another file is locked for it while it is made.
    let sentinel = partial::create(path).map_err(|error| Error::io(path, "create", error))?;
    remove_abandoned_drafts(folder);
    let draft = TempPath::try_from_path(draft_of(sentinel.path())).map_err(|error| Error::io(path, "create", error))?;
    make_private(&draft).map_err(|error| Error::io(path, "create", error))?;
    let connection = connect(&draft, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    configure(&connection).and_then(|()| write_schema(&connection)).map_err(failed(path))?;
    connection.close().map_err(|(_, error)| failed(path)(error))?;
    match draft.persist_noclobber(path) {
        Err(refused) if refused.error.kind() != AlreadyExists => Err(Error::io(path, "create", refused.error)),
        _ => sync_folder(folder),
    }
}

/// The file that a ledger is made in, named after the file that is locked meanwhile.
fn draft_of(sentinel: &Path) -> PathBuf {
    let mut name = sentinel.as_os_str().to_owned();
    name.push(DRAFT);
    PathBuf::from(name)
}

/// Removes drafts, and their journals, that a killed program left: those whose locked file is gone.
fn remove_abandoned_drafts(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let sentinel = name.strip_suffix("-journal").unwrap_or(&name).strip_suffix(DRAFT);
        if sentinel.is_some_and(|it| it.starts_with(".rhograd-") && !folder.join(it).exists()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// An empty file for its owner only.
fn make_private(path: &Path) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// A journal left by a lost ledger of the same name: SQLite would play it back into the new one.
fn stray_journal(path: &Path) -> Option<PathBuf> {
    ["-journal", "-wal"].iter().find_map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        Some(PathBuf::from(name)).filter(|journal| journal.exists())
    })
}

/// A new name is durable only once its folder is.
fn sync_folder(folder: &Path) -> Fallible<()> {
    // Elsewhere a folder cannot be opened as a file, and the system writes names through by itself.
    if cfg!(unix) {
        fs::File::open(folder).and_then(|it| it.sync_all()).map_err(|error| Error::io(folder, "sync", error))?;
    }
    Ok(())
}

fn connect(path: &Path, access: OpenFlags) -> Fallible<Connection> {
    connect_raw(path, access).map_err(failed(path))
}

fn connect_raw(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    // An absolute path, so that a file called ":memory:" is a file. Without CREATE, so that a ledger
    // deleted a moment ago does not come back empty.
    let absolute = std::path::absolute(path).map_err(|_| rusqlite::Error::InvalidPath(path.to_owned()))?;
    let connection = Connection::open_with_flags(absolute, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

/// Chooses durability over speed: a run reserves once.
///
/// - A rollback journal, not a write-ahead log: between runs the ledger is one file, so a plain copy
///   is complete, and it does not depend on shared memory.
/// - `synchronous = EXTRA`: with a rollback journal, deleting the journal is what commits. Unless the
///   folder is synced after that, a power cut can bring the journal back, and the next opening would
///   undo a charge whose noise has been drawn.
/// - `fullfsync`: on macOS a plain fsync stops at the drive's cache.
/// - Defensive, schema not trusted: a crafted file can neither run code nor switch these off.
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    protect(connection)?;
    connection.pragma_update(None, "journal_mode", "DELETE")?;
    connection.pragma_update(None, "synchronous", "EXTRA")?;
    connection.pragma_update(None, "fullfsync", true)
}

/// Guards against a crafted file, also where it is only read.
fn protect(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "cell_size_check", true)
}

fn write_schema(connection: &Connection) -> rusqlite::Result<()> {
    let statements: Vec<&str> = SCHEMA.iter().map(|(_, sql)| *sql).collect();
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION}; {}; COMMIT;",
        statements.join("; ")
    ))
}

/// Refuses a file that this version did not make; reads only.
fn check_identity(connection: &Connection, path: &Path) -> Fallible<()> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    if pragma("application_id").map_err(failed(path))? != APPLICATION_ID {
        return Err(Error::no_ledger(path, "is not a rhograd ledger; name another file, this one was left as it is"));
    }
    let version = pragma("user_version").map_err(failed(path))?;
    if version != SCHEMA_VERSION {
        return Err(Error::ledger(
            path,
            format!("has format {version}, this program reads {SCHEMA_VERSION}; use the version that wrote it"),
        ));
    }
    let schema = || -> rusqlite::Result<Vec<(String, String)>> {
        let mut statement = connection.prepare("SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name")?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    let found = schema().map_err(failed(path))?;
    if !found.iter().map(|(name, sql)| (name.as_str(), sql.as_str())).eq(SCHEMA) {
        return Err(Error::ledger(path, "its tables are not those of a ledger; restore a copy that holds every run"));
    }
    Ok(())
}

/// Refuses a place where the settings do not hold.
fn check_settings(connection: &Connection, path: &Path) -> Fallible<()> {
    if connection.is_readonly("main").map_err(failed(path))? {
        return Err(Error::ledger_out_of_reach(path, "cannot be written; the file and its folder must be writable"));
    }
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).map_err(failed(path))?;
    let level: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0)).map_err(failed(path))?;
    if mode != "delete" || level != 3 {
        return Err(Error::ledger_out_of_reach(
            path,
            "SQLite would not make it durable; close other programs that use it",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    #[test]
    fn what_the_system_could_not_do_is_no_refusal() {
        let code =
            |code| failed(Path::new("l"))(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)).exit_code();
        for system in
            [ffi::SQLITE_FULL, ffi::SQLITE_IOERR, ffi::SQLITE_BUSY, ffi::SQLITE_CANTOPEN, ffi::SQLITE_READONLY]
        {
            assert_eq!(code(system), 2, "{system}");
        }
        assert_eq!(code(ffi::SQLITE_CORRUPT), 1);
        assert_eq!(code(ffi::SQLITE_CONSTRAINT), 1);
    }
}
