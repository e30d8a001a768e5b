//! The SQLite file: how it is made, recognised and configured.

use std::fs;
use std::io::ErrorKind::AlreadyExists;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::{Error, Fallible};
use crate::partial::folder_of;

/// Marks the file as a ledger ("rhog").
const APPLICATION_ID: i32 = 0x7268_6f67;

/// Layout of the table and of the record texts; a program refuses any other.
const SCHEMA_VERSION: i32 = 1;

/// How long a run waits for others; each holds the lock for milliseconds only.
const PATIENCE: Duration = Duration::from_secs(30);

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

/// Turns an error of SQLite into ours.
pub(super) fn failed(path: &Path) -> impl Fn(rusqlite::Error) -> Error + '_ {
    move |error| {
        let advice = match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => "it is not a rhograd ledger; name another file",
            Some(ErrorCode::DatabaseBusy) => "another program has held it for 30 seconds; try again",
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                "the file and its folder must be writable"
            }
            Some(ErrorCode::DiskFull) => "free some space",
            Some(ErrorCode::DatabaseCorrupt) => "it is damaged; restore a copy that holds every run",
            Some(ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed) => {
                "check for space, or use a local disk that supports locks"
            }
            _ => return Error::ledger(path, error.to_string()),
        };
        Error::ledger(path, format!("{error}; {advice}"))
    }
}

/// Opens the ledger at `path`, and makes an empty one if nothing is there.
pub(super) fn open_or_create(path: &Path) -> Fallible<Connection> {
    if !exists(path)? {
        create(path)?;
    }
    open_existing(path)
}

/// Opens the ledger at `path`; never changes a file that is not one.
pub(super) fn open_existing(path: &Path) -> Fallible<Connection> {
    if !exists(path)? {
        return Err(Error::ledger(path, "does not exist; create it with `rhograd ledger init`"));
    }
    let kind = fs::metadata(path).map_err(|error| Error::io(path, "open", error))?;
    if !kind.is_file() {
        let what = if kind.is_dir() { "is a directory" } else { "is not a regular file" };
        return Err(Error::ledger(path, format!("{what}; name a file, such as ledger.sqlite")));
    }
    let connection = connect(path)?;
    check_identity(&connection, path)?;
    configure(&connection).map_err(failed(path)).and_then(|()| check_settings(&connection, path))?;
    Ok(connection)
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
    let draft = tempfile::Builder::new()
        .prefix(".rhograd-ledger-")
        .tempfile_in(folder)
        .map_err(|error| Error::io(path, "create", error))?
        // Closes the file: closing it later would drop the locks that this process holds through SQLite.
        .into_temp_path();
    let connection = connect(&draft)?;
    configure(&connection).and_then(|()| write_schema(&connection)).map_err(failed(path))?;
    connection.close().map_err(|(_, error)| failed(path)(error))?;
    match draft.persist_noclobber(path) {
        Err(refused) if refused.error.kind() != AlreadyExists => Err(Error::io(path, "create", refused.error)),
        _ => sync_folder(folder),
    }
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

fn connect(path: &Path) -> Fallible<Connection> {
    // An absolute path, so that a file called ":memory:" is a file. Without CREATE, so that a ledger
    // deleted a moment ago does not come back empty.
    let absolute = std::path::absolute(path).map_err(|error| Error::io(path, "open", error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(absolute, flags).map_err(failed(path))?;
    connection.busy_timeout(PATIENCE).map_err(failed(path))?;
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
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "journal_mode", "DELETE")?;
    connection.pragma_update(None, "synchronous", "EXTRA")?;
    connection.pragma_update(None, "fullfsync", true)?;
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
        return Err(Error::ledger(path, "is not a rhograd ledger; name another file, this one was left as it is"));
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
        return Err(Error::ledger(path, "cannot be written; the file and its folder must be writable"));
    }
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).map_err(failed(path))?;
    let level: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0)).map_err(failed(path))?;
    if mode != "delete" || level != 3 {
        return Err(Error::ledger(path, "SQLite would not make it durable; close other programs that use it"));
    }
    Ok(())
}
