//! The record of a run: its released values as they are made and at last its result, so that a run that was stopped goes on,
//! and one that was finished can be published.

mod lines;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lines::{FORMAT, Found, Header, Line, Part};

use super::files::{sha256_hex, sync_folder};
use crate::error::{Error, ErrorKind, Fallible};
use crate::ledger::{Ledger, Reservation, random_name};
use crate::noise::NoiseSource;
use crate::partial::folder_of;
use crate::privacy::{Charge, Scope};
use crate::private::{ChargedRun, Stopped, charge_run, charge_run_as, resume};

/// A run of more releases keeps none of them: each costs a wait for the disk.
const MOST_RELEASES: u64 = 10_000;

/// Values are kept up to so many bytes of lines.
const MOST_BYTES: u64 = 64 << 20;

/// The file, locked for this process; clones share it.
///
/// A first line names the run, before it is charged, and what it was asked; then come the place of the charge, released
/// values and the result, each with a digest of all lines so far, and each on the disk before anything else is made. From the
/// first line that is cut off or damaged on, lines are dropped: nothing of them was published, and their releases are made
/// again. Once there is a result, nothing is drawn any more: it is noted in the ledger, and published, by whoever has the file.
///
/// # Privacy
/// It holds released values only. It is still for the custodian until the run is complete: of two runs that go on from one
/// file, one may publish.
#[derive(Clone)]
pub struct Checkpoint(Arc<Mutex<Kept>>);

struct Kept {
    /// `None` where nothing is kept.
    path: Option<PathBuf>,
    /// Made when there is something to keep.
    file: Option<File>,
    found: Option<Found>,
    /// What else the run was asked for.
    about: String,
    hear: Option<Hear>,
}

/// Most runs that ask for the same at the same time.
const MOST_BESIDE: u32 = 1000;

impl Drop for Kept {
    fn drop(&mut self) {
        // Nothing was written, so nothing was charged, and there is nothing to keep.
        if let (Some(path), Some(_), None) = (&self.path, &self.file, &self.found) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Is told of charges.
type Hear = Box<dyn FnMut(&Notice) + Send>;

/// What becomes of the charge of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// It is about to be written to the ledger.
    Charging,
    /// It was refused.
    Refused,
    /// It stands.
    Charged(ChargeNotice),
}

/// What a run was charged, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct ChargeNotice {
    /// Name of the run.
    pub run: String,
    /// Its cost, rounded upward.
    pub rho: f64,
    /// The budget that it was asked to keep, in words.
    pub budget: String,
    /// The ledger; `None` for one in memory.
    pub ledger: Option<PathBuf>,
}

impl std::fmt::Display for ChargeNotice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the run was charged: rho {}, {}, ", self.rho, self.budget)?;
        match &self.ledger {
            Some(ledger) => write!(f, "run {} in {}", self.run, ledger.display()),
            None => write!(f, "to no ledger"),
        }
    }
}

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

impl std::fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Checkpoint").field(&self.kept().path).finish()
    }
}

impl Checkpoint {
    /// Keeps nothing: a run that is stopped is lost, with its budget.
    pub fn none() -> Self {
        Self::of(Kept { path: None, file: None, found: None, about: String::new(), hear: None })
    }

    /// Reads what a run has left there; without a file, one is made when a run is about to be charged.
    ///
    /// # Errors
    /// When it cannot be read or written, another process has it, or it is something else.
    pub fn open(path: &Path) -> Fallible<Self> {
        let mut kept = Kept { path: Some(path.to_owned()), file: None, found: None, about: String::new(), hear: None };
        if path.symlink_metadata().is_ok() {
            let kind = std::fs::metadata(path).map_err(|e| Error::io(path, "open the checkpoint", e))?;
            if !kind.is_file() {
                return Err(Error::input(path, "is no regular file", "name another file"));
            }
            let mut file = locked(path, OpenOptions::new().read(true).write(true))?;
            kept.found = lines::read(&mut file, path)?;
            kept.file = Some(file);
        }
        Ok(Self::of(kept))
    }

    /// A file beside a ledger, for a run that no file of its own is named for: named after the ledger and `name`, which says what
    /// was asked for. It is the one that a run like it has left, or a new one; a run that is still going keeps its own.
    ///
    /// # Errors
    /// As [`Checkpoint::open`].
    pub fn beside(ledger: &Path, name: &str) -> Fallible<Self> {
        let file = ledger.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for number in 1..=MOST_BESIDE {
            let path = ledger.with_file_name(format!("{file}.{name}-{number}.checkpoint"));
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            for_the_owner(&mut options);
            if let Some(mut file) = lock(&path, &options)? {
                let found = lines::read(&mut file, &path)?;
                let (about, hear) = (String::new(), None);
                return Ok(Self::of(Kept { path: Some(path), file: Some(file), found, about, hear }));
            }
        }
        Err(Error::input(ledger, "has too many runs like this that are still going", "wait for them"))
    }

    fn of(kept: Kept) -> Self {
        Checkpoint(Arc::new(Mutex::new(kept)))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Whoever panicked with it was about to end; every line is checked when it is read again.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells `hear` of every charge, or of the one that a stopped run had made.
    pub fn on_charge(&self, hear: impl FnMut(&Notice) + Send + 'static) {
        self.kept().hear = Some(Box::new(hear));
    }

    /// What must be the same when a run goes on and nothing else tells, such as a seed.
    pub fn about(&self, what: impl Into<String>) {
        self.kept().about = what.into();
    }

    /// The number of releases that are kept, of a run that was stopped.
    pub fn releases(&self) -> Option<usize> {
        self.kept().found.as_ref().map(|found| found.parts.iter().map(|part| part.released.len()).sum())
    }

    /// Whether a run has left its result here, so that no row is needed to publish it.
    pub fn is_finished(&self) -> bool {
        // A file of the first format does not say what can be checked without rows.
        self.kept().found.as_ref().is_some_and(|found| found.result.is_some() && found.header.work_sha256.is_some())
    }

    /// Whether anything is kept.
    pub fn keeps(&self) -> bool {
        self.kept().path.is_some()
    }

    /// Deletes the file, after the result is published.
    ///
    /// # Errors
    /// When it cannot be deleted; it then publishes the same bytes again.
    pub fn remove(&self) -> Fallible<()> {
        let mut kept = self.kept();
        let (Some(path), Some(_)) = (&kept.path, &kept.file) else { return Ok(()) };
        // While it is locked, so that nobody goes on from it.
        std::fs::remove_file(path).map_err(|e| Error::io(path, "remove the checkpoint", e))?;
        kept.found = None;
        kept.file = None;
        Ok(())
    }

    /// Pays for the run with this number, or goes on with the one that was stopped, and keeps its releases from here on.
    ///
    /// # Errors
    /// When the run was asked for something else, the ledger refuses, or the file cannot be written.
    pub(crate) fn pay(
        &self,
        number: usize,
        asked: &Asked<'_>,
        charges: &[Charge],
        ledger: &mut Ledger,
        noise: NoiseSource,
    ) -> Fallible<ChargedRun> {
        let mut kept = self.kept();
        kept.tell(&Notice::Charging);
        let paid = kept.pay(number, asked, charges, ledger, noise);
        // Where the ledger was found not to hold it, the file says nothing of the run any more.
        let known = kept.path.is_some() && kept.found.is_none();
        let refused = |e: &Error| {
            known
                || matches!(e.kind(), ErrorKind::Refused { .. } | ErrorKind::Parameter { .. } | ErrorKind::Input { .. })
        };
        if paid.as_ref().err().is_some_and(refused) {
            kept.tell(&Notice::Refused);
        }
        let paid = paid?;
        kept.tell(&Notice::Charged(charged(paid.reservation(), &asked.budget, ledger)));
        let few = charges.iter().map(Charge::count).fold(0, u64::saturating_add) <= MOST_RELEASES;
        if kept.path.is_some() && asked.keeps && few {
            let same = self.clone();
            paid.keep_in(Box::new(move |values| same.kept().keep(values)));
        }
        Ok(paid)
    }

    /// The result that a run has left here, noted in the ledger; `None` where there is none yet.
    ///
    /// # Errors
    /// When the run was asked for something else, another result of it is noted, or the ledger cannot be written.
    pub(crate) fn finished(
        &self,
        request: &str,
        work: Option<&str>,
        budget: &str,
        ledger: &mut Ledger,
    ) -> Fallible<Option<String>> {
        let mut kept = self.kept();
        let Some(text) = kept.found.as_ref().and_then(|found| found.result.clone()) else { return Ok(None) };
        kept.check(request, work)?;
        // It may have been read from memory only.
        kept.sync()?;
        let digest = sha256_hex(text.as_bytes());
        let parts: Vec<_> = kept.found.iter().flat_map(|found| &found.parts).map(Part::place).collect();
        for (run, position) in parts {
            let Some(position) = position else {
                kept.same_kind_of_ledger(ledger, false)?;
                continue;
            };
            if !ledger.charge_of(&run)?.is_some_and(|(held, _)| held == position) {
                return Err(no_charge());
            }
            kept.tell(&Notice::Charged(ChargeNotice {
                run: run.clone(),
                rho: ledger.cost_of_run(position.sequence)?.unwrap_or(f64::INFINITY),
                budget: budget.to_owned(),
                ledger: ledger.path().map(Path::to_owned),
            }));
            ledger.settle(&run, &digest)?;
        }
        Ok(Some(text))
    }

    /// Keeps the result and notes it in the ledger for every run of the work: from here on it may be seen.
    ///
    /// # Errors
    /// When either cannot be written; nothing may be shown then, and the same command finds what was kept.
    pub(crate) fn complete(&self, text: &str, runs: &[&ChargedRun], budget: &str, ledger: &mut Ledger) -> Fallible<()> {
        let digest = sha256_hex(text.as_bytes());
        let mut kept = self.kept();
        let noted = kept
            .note(text)
            .and_then(|()| runs.iter().try_for_each(|paid| ledger.complete(paid.reservation(), &digest)));
        noted.map_err(|error| {
            let all: Vec<String> =
                runs.iter().map(|paid| charged(paid.reservation(), budget, ledger).to_string()).collect();
            let cure = match &kept.path {
                Some(_) => "the same command (in Python the same fit) publishes it, and charges nothing again",
                None => "nothing was kept of it, so it is lost",
            };
            Error::unpublished(all.join("; "), error.to_string(), cure)
        })
    }
}

impl Kept {
    fn tell(&mut self, notice: &Notice) {
        if let Some(hear) = &mut self.hear {
            hear(notice);
        }
    }

    /// Digest of all that is public about a request.
    fn request(&self, request: &str) -> String {
        sha256_hex(format!("{request} {}", self.about).as_bytes())
    }

    /// Refuses what a stopped run was not asked for.
    fn check(&self, request: &str, work: Option<&str>) -> Fallible<()> {
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

    fn pay(
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
    fn drop_uncharged(&mut self, ledger: &mut Ledger) -> Fallible<()> {
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
    fn begin(&mut self, run: &str, asked: &Asked<'_>) -> Fallible<()> {
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
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true);
            for_the_owner(&mut options);
            self.file = Some(locked(&path, &options)?);
        }
        self.write(&text)?;
        self.found = Some(Found::new(header, &text));
        self.sync()
    }

    /// Keeps one released value, as long as there is room for more.
    fn keep(&mut self, values: &[i128]) -> Fallible<()> {
        if self.found.as_ref().is_none_or(|found| found.bytes > MOST_BYTES) {
            // None from here on: what is kept is always a beginning.
            return Ok(());
        }
        let values = values.iter().map(i128::to_string).collect::<Vec<_>>().join(" ");
        self.append(Line::Values(lines::Values { values, sha256: String::new() }))
    }

    fn note(&mut self, text: &str) -> Fallible<()> {
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
    fn append(&mut self, line: Line) -> Fallible<()> {
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

    fn write(&mut self, text: &str) -> Fallible<()> {
        let (Some(path), Some(file)) = (&self.path, &mut self.file) else { return Ok(()) };
        file.write_all(text.as_bytes()).map_err(|e| Error::io(path, "write the checkpoint", e))
    }

    /// Waits until the file and its name are on the disk.
    fn sync(&self) -> Fallible<()> {
        let (Some(path), Some(file)) = (&self.path, &self.file) else { return Ok(()) };
        let synced = file.sync_all().and_then(|()| sync_folder(folder_of(path)));
        synced.map_err(|e| Error::io(path, "write the checkpoint", e))
    }

    fn same_kind_of_ledger(&self, ledger: &Ledger, durable: bool) -> Fallible<()> {
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
    fn stopped(&self) -> (String, Option<Option<crate::ledger::Position>>, Vec<Vec<i128>>) {
        (self.run.clone(), self.charged.clone(), self.released.clone())
    }

    fn place(&self) -> (String, Option<crate::ledger::Position>) {
        (self.run.clone(), self.charged.clone().flatten())
    }
}

/// Opens a file and locks it.
fn locked(path: &Path, options: &OpenOptions) -> Fallible<File> {
    lock(path, options)?
        .ok_or_else(|| Error::input(path, "belongs to a run that is still going", "wait for it, or name another file"))
}

/// Opens a file and locks it; `None` where another run has it.
fn lock(path: &Path, options: &OpenOptions) -> Fallible<Option<File>> {
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
fn for_the_owner(options: &mut OpenOptions) {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
}

#[cfg(not(unix))]
fn for_the_owner(_: &mut OpenOptions) {}

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

fn json(value: &impl serde::Serialize) -> Fallible<String> {
    let text = serde_json::to_string(value).map_err(|e| Error::numerical("checkpoint", e.to_string()))?;
    Ok(text + "\n")
}

fn charged(reservation: &Reservation, budget: &str, ledger: &Ledger) -> ChargeNotice {
    ChargeNotice {
        run: reservation.run().to_owned(),
        rho: reservation.rho().upper(),
        budget: budget.to_owned(),
        ledger: ledger.path().map(Path::to_owned),
    }
}

fn no_charge() -> Error {
    Error::refused(
        "the ledger holds no charge for this run with these releases",
        "use the ledger, the data, the schema and the flags that the run was started with",
    )
}
