//! The record of a run: its released values as they are made and at last its result, so that a run that was stopped goes on,
//! and one that was finished can be published.

mod kept;
mod lines;
mod lock;
mod notice;

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use kept::Asked;
pub use notice::{ChargeNotice, Notice};

use kept::{Kept, no_charge};
use lines::Part;
use lock::{for_the_owner, lock, locked};

use super::files::sha256_hex;
use crate::error::{Error, ErrorKind, Fallible};
use crate::ledger::Ledger;
use crate::noise::NoiseSource;
use crate::privacy::Charge;
use crate::private::ChargedRun;

/// A run of more releases keeps none of them: each costs a wait for the disk.
const MAX_RELEASES: u64 = 10_000;

/// Most runs that ask for the same at the same time.
const MAX_BESIDE: u32 = 1000;

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

impl std::fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Checkpoint").field(&self.kept().path).finish()
    }
}

impl Checkpoint {
    /// Keeps nothing: a run that is stopped is lost, with its budget.
    pub fn none() -> Self {
        Self::of(Kept::new(None, None, None))
    }

    /// Reads what a run has left there; without a file, one is made when a run is about to be charged.
    ///
    /// # Errors
    /// When it cannot be read or written, another process has it, or it is something else.
    pub fn open(path: &Path) -> Fallible<Self> {
        let mut kept = Kept::new(Some(path.to_owned()), None, None);
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
    /// When it cannot be read or written, another process has it, or it is something else.
    pub fn beside(ledger: &Path, name: &str) -> Fallible<Self> {
        let file = ledger.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for number in 1..=MAX_BESIDE {
            let path = ledger.with_file_name(format!("{file}.{name}-{number}.checkpoint"));
            if let Some(mut file) = lock(&path, for_the_owner().create(true).truncate(false))? {
                let found = lines::read(&mut file, &path)?;
                return Ok(Self::of(Kept::new(Some(path), Some(file), found)));
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
        kept.tell(&Notice::Charged(ChargeNotice::of(&paid, &asked.budget, ledger)));
        let few = charges.iter().map(Charge::count).fold(0, u64::saturating_add) <= MAX_RELEASES;
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
            let rho = ledger.cost_of_run(position.sequence)?.unwrap_or(f64::INFINITY);
            kept.tell(&Notice::Charged(ChargeNotice::new(&run, rho, budget, ledger)));
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
            let all: Vec<String> = runs.iter().map(|paid| ChargeNotice::of(paid, budget, ledger).to_string()).collect();
            let cure = match &kept.path {
                Some(_) => "the same command (in Python the same fit) publishes it, and charges nothing again",
                None => "nothing was kept of it, so it is lost",
            };
            Error::unpublished(all.join("; "), error.to_string(), cure)
        })
    }
}
