//! What is kept of a run, and how it is written: whole lines, each on the disk before anything else is made.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;

use super::lines::{self, FORMAT, Found, Header, Line, Part};
use super::lock::{for_the_owner, locked};
use super::notice::{Hear, Notice};
use crate::error::{Error, Fallible};
use crate::ledger::{Ledger, Position, random_name};
use crate::noise::NoiseSource;
use crate::partial::folder_of;
use crate::privacy::{Charge, Scope};
use crate::private::{ChargedRun, Stopped, charge_run, charge_run_as, resume};
use crate::train::files::{sha256_hex, sync_folder};

/// Values are kept up to so many bytes of lines.
const MAX_BYTES: u64 = 64 << 20;

/// What is asked of a run.
pub(crate) struct Asked<'a> {
    /// What is public about it.
    pub request: String,
    /// Everything that must be the same when it goes on.
    pub work: String,
    /// The budget, in words.
    pub budget: String,
    pub scope: &'a Scope,
    /// Whether values may be kept: not where they belong to a secret choice that is written down nowhere.
    pub keeps: bool,
}

/// A file, and what is known of the run that it is of.
pub(super) struct Kept {
    /// `None` where nothing is kept.
    pub(super) path: Option<PathBuf>,
    /// Made when there is something to keep.
    pub(super) file: Option<File>,
    pub(super) found: Option<Found>,
    /// What else the run was asked for.
    pub(super) about: String,
    pub(super) hear: Option<Hear>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Nothing was written, so nothing was charged, and there is nothing to keep.
        if let (Some(path), Some(_), None) = (&self.path, &self.file, &self.found) {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Kept {
    pub(super) fn new(path: Option<PathBuf>, file: Option<File>, found: Option<Found>) -> Self {
        Kept { path, file, found, about: String::new(), hear: None }
    }

    pub(super) fn tell(&mut self, notice: &Notice) {
        if let Some(hear) = &mut self.hear {
            hear(notice);
        }
    }

    /// Digest of all that is public about a request.
    pub(super) fn request(&self, request: &str) -> String {
        sha256_hex(format!("{request} {}", self.about).as_bytes())
    }

    /// Refuses what a stopped run was not asked for.
    pub(super) fn check(&self, request: &str, work: Option<&str>) -> Fallible<()> {
        let (Some(path), Some(found)) = (&self.path, &self.found) else { return Ok(()) };
        let Header { request_sha256, work_sha256, .. } = &found.header;
        let Some(before) = work_sha256 else {
            let problem = "was left by an earlier version, which did not note what can be compared";
            return Err(Error::input(
                path,
                problem,
                "go on with that version, or delete the file: its budget is spent",
            ));
        };
        if *request_sha256 == self.request(request) && work.is_none_or(|work| before == work) {
            return Ok(());
        }
        Err(Error::input(
            path,
            "holds a run that was asked for something else",
            "use the data, the schema and the flags that it was started with, or delete the file: its budget is spent",
        ))
    }

    pub(super) fn pay(
        &mut self,
        number: usize,
        asked: &Asked<'_>,
        charges: &[Charge],
        ledger: &mut Ledger,
        noise: NoiseSource,
    ) -> Fallible<ChargedRun> {
        if self.path.is_none() {
            return charge_run(ledger, asked.scope, charges, noise);
        }
        self.drop_uncharged(ledger)?;
        self.check(&asked.request, Some(&asked.work))?;
        let stopped = self.found.as_ref().and_then(|found| found.parts.get(number)).map(Part::stopped);
        let (run, charged, released) = match stopped {
            Some(stopped) => stopped,
            None => {
                let run = random_name()?;
                self.begin(&run, asked)?;
                (run, None, Vec::new())
            }
        };
        let position = match charged {
            Some(position) => {
                self.same_kind_of_ledger(ledger, position.is_some())?;
                position
            }
            // Stopped after its name was written down: the ledger tells whether before its charge was, or after.
            None => match ledger.charge_of(&run)? {
                Some((position, _)) => {
                    self.append(lines::charged(Some(position.clone())))?;
                    Some(position)
                }
                None => {
                    let paid = charge_run_as(ledger, asked.scope, charges, noise, &run).inspect_err(|_| {
                        // What was refused leaves nothing behind.
                        let _ = self.drop_uncharged(ledger);
                    })?;
                    self.append(lines::charged(paid.reservation().position().cloned()))?;
                    return Ok(paid);
                }
            },
        };
        resume(ledger, asked.scope, charges, noise, Stopped { run, position, released })
    }

    /// Forgets a run that was written down and never charged.
    pub(super) fn drop_uncharged(&mut self, ledger: &mut Ledger) -> Fallible<()> {
        let first = self.found.as_ref().and_then(|found| found.parts.first());
        let Some(run) = first.filter(|part| part.charged.is_none()).map(|part| part.run.clone()) else { return Ok(()) };
        if ledger.charge_of(&run)?.is_none()
            && let (Some(path), Some(file)) = (&self.path, &mut self.file)
        {
            let emptied = file.set_len(0).and_then(|()| file.rewind());
            emptied.map_err(|e| Error::io(path, "write the checkpoint", e))?;
            self.found = None;
        }
        Ok(())
    }

    /// Writes a run down, before it is charged.
    pub(super) fn begin(&mut self, run: &str, asked: &Asked<'_>) -> Fallible<()> {
        if self.found.is_some() {
            return self.append(Line::Run(lines::Run { run: run.to_owned(), sha256: String::new() }));
        }
        let Some(path) = self.path.clone() else { return Ok(()) };
        let header = Header {
            format: FORMAT.into(),
            run: run.to_owned(),
            position: None,
            request_sha256: self.request(&asked.request),
            work_sha256: Some(asked.work.clone()),
        };
        let text = json(&header)?;
        if self.file.is_none() {
            self.file = Some(locked(&path, for_the_owner().create_new(true))?);
        }
        self.write(&text)?;
        self.found = Some(Found::new(header, &text));
        self.sync()
    }

    /// Keeps one released value, as long as there is room for more.
    pub(super) fn keep(&mut self, values: &[i128]) -> Fallible<()> {
        if self.found.as_ref().is_none_or(|found| found.bytes > MAX_BYTES) {
            // None from here on: what is kept is always a beginning.
            return Ok(());
        }
        let values = values.iter().map(i128::to_string).collect::<Vec<_>>().join(" ");
        self.append(Line::Values(lines::Values { values, sha256: String::new() }))
    }

    pub(super) fn note(&mut self, text: &str) -> Fallible<()> {
        if self.path.is_none() {
            return Ok(());
        }
        self.append(Line::Outcome(lines::Outcome { result: text.to_owned(), sha256: String::new() }))?;
        if let Some(found) = &mut self.found {
            found.result = Some(text.to_owned());
        }
        Ok(())
    }

    /// Writes a whole line and waits until it is on the disk.
    pub(super) fn append(&mut self, line: Line) -> Fallible<()> {
        let last = self.found.as_ref().map(|found| found.last.clone()).unwrap_or_default();
        let line = line.sealed(&last);
        let text = json(&line)?;
        self.write(&text)?;
        if let Some(found) = &mut self.found {
            found.bytes += text.len() as u64;
            found.last = line.digest(&last);
        }
        let (Some(path), Some(file)) = (&self.path, &self.file) else { return Ok(()) };
        file.sync_data().map_err(|e| Error::io(path, "write the checkpoint", e))
    }

    pub(super) fn write(&mut self, text: &str) -> Fallible<()> {
        let (Some(path), Some(file)) = (&self.path, &mut self.file) else { return Ok(()) };
        file.write_all(text.as_bytes()).map_err(|e| Error::io(path, "write the checkpoint", e))
    }

    /// Waits until the file and its name are on the disk.
    pub(super) fn sync(&self) -> Fallible<()> {
        let (Some(path), Some(file)) = (&self.path, &self.file) else { return Ok(()) };
        let synced = file.sync_all().and_then(|()| sync_folder(folder_of(path)));
        synced.map_err(|e| Error::io(path, "write the checkpoint", e))
    }

    pub(super) fn same_kind_of_ledger(&self, ledger: &Ledger, durable: bool) -> Fallible<()> {
        match (ledger.path().is_some(), durable) {
            (true, false) => Err(Error::refused(
                "the run that was stopped was charged to no ledger",
                "go on without one, or delete its checkpoint",
            )),
            (false, true) => Err(no_charge()),
            _ => Ok(()),
        }
    }
}

impl Part {
    pub(super) fn stopped(&self) -> (String, Option<Option<Position>>, Vec<Vec<i128>>) {
        (self.run.clone(), self.charged.clone(), self.released.clone())
    }

    pub(super) fn place(&self) -> (String, Option<Position>) {
        (self.run.clone(), self.charged.clone().flatten())
    }
}

fn json(value: &impl serde::Serialize) -> Fallible<String> {
    let text = serde_json::to_string(value).map_err(|e| Error::numerical("checkpoint", e.to_string()))?;
    Ok(text + "\n")
}

pub(super) fn no_charge() -> Error {
    Error::refused(
        "the ledger holds no charge for this run with these releases",
        "use the ledger, the data, the schema and the flags that the run was started with",
    )
}
