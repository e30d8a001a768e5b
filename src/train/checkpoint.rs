//! A file with the released values of a run, so that a run that was stopped goes on where it was.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::sha256_hex;
use super::plan::Plan;
use crate::error::{Error, Fallible};
use crate::ledger::{Ledger, Position};
use crate::noise::NoiseSource;
use crate::private::{Paid, Stopped, pay, resume};

/// Format of the file.
const FORMAT: &str = "rhograd-checkpoint-1";

/// The file, locked for this process.
///
/// A first line names the run and what it was asked; every further line holds one released value and a digest of all lines so
/// far. From the first line that is cut off or damaged on, lines are dropped: nothing of them was published, since the run is
/// not complete, and their releases are made again.
///
/// # Privacy
/// It holds released values only. It is still for the custodian until the run is complete: of two runs that go on from one
/// file, one may publish.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    file: File,
    found: Option<Found>,
}

/// What a run has left.
#[derive(Debug)]
struct Found {
    header: Header,
    released: Vec<Vec<i128>>,
    /// Digest of all lines.
    last: String,
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    run: String,
    position: Option<Position>,
    /// Digest of everything that must be the same when the run goes on.
    request_sha256: String,
}

/// One released value.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// Grid steps, separated by spaces: too large for the numbers of JSON.
    values: String,
    /// Digest of the digest before and the values.
    sha256: String,
}

impl Checkpoint {
    /// Opens or creates the file, and reads what a run has left there.
    ///
    /// # Errors
    /// When it cannot be read or written, another process has it, or it is something else.
    pub fn open(path: &Path) -> Fallible<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path).map_err(|e| Error::io(path, "open the checkpoint", e))?;
        file.try_lock().map_err(|e| match e {
            TryLockError::WouldBlock => {
                Error::input(path, "belongs to a run that is still going", "wait for it, or name another file")
            }
            TryLockError::Error(e) => Error::io(path, "lock the checkpoint", e),
        })?;
        let found = read(&mut file, path)?;
        Ok(Checkpoint { path: path.to_owned(), file, found })
    }

    /// The number of releases that are kept, of a run that was stopped.
    pub fn releases(&self) -> Option<usize> {
        self.found.as_ref().map(|found| found.released.len())
    }

    /// Pays for a run, or goes on with the one that was stopped, and keeps its releases from here on.
    ///
    /// # Errors
    /// When the run was asked for something else, the ledger refuses, or the file cannot be written.
    pub(super) fn pay(self, plan: &Plan, about: &str, ledger: &mut Ledger, noise: NoiseSource) -> Fallible<Paid> {
        if plan.holdout.is_some() {
            return Err(Error::parameter(
                "--checkpoint",
                "cannot go with --evaluate-budget: which rows are held out is secret and is not written down",
                "leave one of them out",
            ));
        }
        let request = request(plan, about, noise.is_secure());
        let Checkpoint { path, mut file, found } = self;
        let (paid, last) = match found {
            Some(Found { header, released, last }) => {
                if header.request_sha256 != request {
                    return Err(Error::input(
                        &path,
                        "holds a run that was asked for something else",
                        "use the data, the schema and the flags that it was started with, or delete the file: its budget is spent",
                    ));
                }
                let stopped = Stopped { run: header.run, position: header.position, released };
                (resume(ledger, &plan.scope, &plan.charges(), noise, stopped)?, last)
            }
            None => {
                let paid = pay(ledger, &plan.scope, &plan.charges(), noise)?;
                let (run, position) = (paid.reservation().run().to_owned(), paid.reservation().position().cloned());
                let header = Header { format: FORMAT.into(), run, position, request_sha256: request };
                let text = serde_json::to_string(&header).map_err(|e| Error::numerical("checkpoint", e.to_string()))?;
                append(&mut file, &path, &text)?;
                file.sync_all().map_err(|e| Error::io(&path, "write the checkpoint", e))?;
                (paid, sha256_hex(text.as_bytes()))
            }
        };
        let mut last = last;
        paid.keep_in(Box::new(move |values| {
            let values = values.iter().map(i128::to_string).collect::<Vec<_>>().join(" ");
            last = chained(&last, &values);
            let line = Line { values, sha256: last.clone() };
            let text = serde_json::to_string(&line).map_err(|e| Error::numerical("checkpoint", e.to_string()))?;
            append(&mut file, &path, &text)
        }));
        Ok(paid)
    }
}

/// What must be the same when a run goes on: every release with its query, the model, the schema and the data.
fn request(plan: &Plan, about: &str, secret: bool) -> String {
    let text = format!("{FORMAT} {} {secret} {about} {plan:?}", env!("CARGO_PKG_VERSION"));
    sha256_hex(text.as_bytes())
}

fn chained(last: &str, values: &str) -> String {
    sha256_hex(format!("{last} {values}").as_bytes())
}

/// Hands a whole line to the operating system; it then outlives this process.
fn append(file: &mut File, path: &Path, text: &str) -> Fallible<()> {
    file.write_all(format!("{text}\n").as_bytes()).map_err(|e| Error::io(path, "write the checkpoint", e))
}

/// Reads as far as lines are whole, and cuts off the rest; `None` if not even the first is.
fn read(file: &mut File, path: &Path) -> Fallible<Option<Found>> {
    let failed = |e| Error::io(path, "read the checkpoint", e);
    let mut reader = BufReader::new(&*file);
    let mut text = String::new();
    reader.read_line(&mut text).map_err(failed)?;
    let header = match (text.strip_suffix('\n'), serde_json::from_str::<Header>(&text)) {
        (Some(_), Ok(header)) if header.format == FORMAT => header,
        // A run that was stopped before its first line was whole; only this program starts a line so.
        _ if text.is_empty()
            || (!text.ends_with('\n') && "{\"format\":\"rhograd-checkpoint-".starts_with(first(&text))) =>
        {
            file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
            return Ok(None);
        }
        _ => {
            return Err(Error::input(path, "is not a checkpoint of this format", "name another file, or delete it"));
        }
    };
    let (mut good, mut last) = (text.len() as u64, sha256_hex(text.trim_end().as_bytes()));
    let mut released = Vec::new();
    loop {
        text.clear();
        let size = match reader.read_line(&mut text) {
            // What a crash left there is no text.
            Err(e) if e.kind() == ErrorKind::InvalidData => break,
            size => size.map_err(failed)?,
        };
        let Some(line) = text.strip_suffix('\n').and_then(|text| serde_json::from_str::<Line>(text).ok()) else {
            break;
        };
        let values: Result<Vec<i128>, _> = line.values.split_terminator(' ').map(str::parse).collect();
        let Ok(values) = values else { break };
        if line.sha256 != chained(&last, &line.values) {
            break;
        }
        last = line.sha256;
        good += size as u64;
        released.push(values);
    }
    drop(reader);
    file.set_len(good).and_then(|()| file.seek(SeekFrom::End(0))).map_err(failed)?;
    Ok(Some(Found { header, released, last }))
}

/// As much of a text as the beginning of a checkpoint is long.
fn first(text: &str) -> &str {
    text.get(..text.len().min(29)).unwrap_or(text)
}
