//! A schema drafted from the rows privately, for a part of the budget.
//!
//! Two runs are charged, each before its noise is drawn. The first tells the number of rows and which columns hold numbers,
//! unless that is declared. The second, planned by it with the budget that it left, chooses an interval for each column of
//! numbers, first among intervals of any size and then among parts of the chosen one, and opens the frequent values of each
//! other column. Together they cost at most the budget, which was fixed before: see [`crate::ledger`] on adaptive runs. Where persons
//! are protected, all of this is asked of one line of each: see [`PrivateCells::by_unit`].
//!
//! ```
//! use rhograd::prelude::*;
//! use rhograd::schema_draft::{DraftRequest, Drafted, draft_privately};
//!
//! let file = CsvFile::open("datasets/fair.csv".as_ref())?;
//! let request = DraftRequest {
//!     name: "fair".into(),
//!     adjacency: Adjacency::AddRemove,
//!     unit: None,
//!     budget: Budget::Epsilon(Epsilon::new(2.0)?, None),
//!     target: Some("affair".into()),
//!     task: None,
//!     numeric: Vec::new(),
//!     ranges: vec![("age".into(), 0.0, 120.0)],
//!     categorical: vec!["occupation".into()],
//!     ignore: Vec::new(),
//!     header: false,
//!     rows: false,
//!     accept_large_delta: false,
//! };
//! let drafted: Drafted = draft_privately(file, &request, &mut Ledger::in_memory()?, &mut NoiseSource::from_os)?;
//! assert!(drafted.schema.released.is_some());
//! # Ok::<(), Error>(())
//! ```

mod describe;
mod domain;
mod request;
mod roles;
mod run;

use std::path::Path;

use crate::data::{CsvFile, Schema};
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::noise::NoiseSource;
use crate::privacy::{DatasetId, PrivacyUnit, Scope};
use crate::private::{ChargedRun, PrivateCells};
use crate::train::{Budget, Checkpoint, check_delta, sha256_hex};
pub use request::DraftRequest;
use roles::Roles;
use run::{Allowance, Draft, request_digest};

impl DraftRequest {
    /// Checks everything that needs no more than the header of the file.
    ///
    /// # Errors
    /// Names the flag and the cure.
    pub fn check(&self, file: &CsvFile) -> Fallible<()> {
        self.check_header(file)?;
        Roles::declared(file.header(), self)?;
        Allowance::of(&self.budget)?;
        self.check_delta(None)?;
        DatasetId::new(self.name.clone()).map(drop)
    }

    /// Refuses a delta that was given and is large for this number of rows, where that is public.
    fn check_delta(&self, public_rows: Option<u64>) -> Fallible<()> {
        let (Budget::Epsilon(_, delta) | Budget::Rho(_, delta)) = &self.budget;
        delta.map_or(Ok(()), |delta| check_delta(delta, public_rows, self.accept_large_delta))
    }

    /// The header is published: a file that lacks one would give away its first record.
    fn check_header(&self, file: &CsvFile) -> Fallible<()> {
        match file.header_doubt() {
            Some((column, why)) if !self.header => {
                let problem = format!(
                    "cell {column} of the first line is {why}, so it may be a record, and names of columns are published"
                );
                let cure = "add a line of names, or say that this is one by --header yes";
                Err(Error::input(file.path(), problem, cure).at_line(1))
            }
            _ => Ok(()),
        }
    }
}

/// A schema that came out of the rows through the gate.
pub struct Drafted {
    /// The schema; `released` says what it cost, and with a fixed seed `draft` is set.
    pub schema: Schema,
    /// What was left out or cut, and why: released values and public numbers.
    pub notes: Vec<String>,
    /// The schema file, byte for byte as the ledger noted it.
    pub text: String,
    /// The runs that were paid for; none where they had ended before.
    pub runs: Vec<ChargedRun>,
}

/// Drafts a schema, and notes it in the ledger.
///
/// `noise` is asked for a fresh source for each run.
///
/// # Privacy
/// The schema is a function of released values: delta-approximate rho-zCDP in all, charged to the ledger before any noise is
/// drawn. Failures after the first charge depend on released values alone. No schema is returned that the ledger has not noted.
///
/// # Errors
/// When the request does not fit the header, the ledger refuses, or too little was frequent enough to be released.
pub fn draft_privately(
    file: CsvFile,
    request: &DraftRequest,
    ledger: &mut Ledger,
    noise: &mut dyn FnMut() -> Fallible<NoiseSource>,
) -> Fallible<Drafted> {
    draft_from(&Checkpoint::none(), "", file, request, ledger, noise)
}

/// Drafts a schema privately and keeps what the runs release and the schema in a file; or goes on with a draft that was stopped.
///
/// `data` names what must be the same when a draft goes on. The file stays until [`Checkpoint::remove`] is called, after the
/// schema is published.
///
/// # Privacy
/// Each run is charged once, and one schema at most is ever returned for it.
///
/// # Errors
/// When the request does not fit the header, the ledger refuses, too little was frequent enough to be released, or the checkpoint
/// belongs to another request or cannot be written.
pub fn draft_from(
    checkpoint: &Checkpoint,
    data: &str,
    file: CsvFile,
    request: &DraftRequest,
    ledger: &mut Ledger,
    noise: &mut dyn FnMut() -> Fallible<NoiseSource>,
) -> Fallible<Drafted> {
    request.check_header(&file)?;
    let roles = Roles::declared(file.header(), request)?;
    let allowance = Allowance::of(&request.budget)?;
    let unit = match &request.unit {
        None => PrivacyUnit::Row,
        Some(column) => PrivacyUnit::person(column)?,
    };
    let scope = Scope { unit, ..Scope::of_rows(DatasetId::new(request.name.clone())?, request.adjacency) };
    if checkpoint.releases().is_none() {
        allowance.check(ledger, &scope)?;
    }
    let cells = PrivateCells::by_unit(file, scope)?;
    request.check_delta(cells.public_len()?)?;
    let work = sha256_hex(format!("{} {data}", env!("CARGO_PKG_VERSION")).as_bytes());
    let keep = (checkpoint, work);
    let mut run = Draft { cells, request, keep, allowance, roles, runs: Vec::new(), charges: Vec::new(), secret: true };
    let rows = run.kinds(ledger, noise)?;
    let domain = run.domain(rows, ledger, noise)?;
    let release = run.release(ledger)?;
    let (schema, notes) = describe::schema(&run, &domain, rows, release)?;
    let text = serde_json::to_string_pretty(&schema).map_err(|e| Error::numerical("schema", e.to_string()))? + "\n";
    checkpoint.complete(&text, &run.runs.iter().collect::<Vec<_>>(), &request.budget.in_words(), ledger)?;
    Ok(Drafted { schema, notes, text, runs: run.runs })
}

/// The schema of a draft of which only the publication is left, without its rows; `None` where something is still to be drawn.
///
/// # Errors
/// When something else was asked for, the ledger holds no charge for it or another result, or cannot be written.
pub fn finish_draft(checkpoint: &Checkpoint, request: &DraftRequest, ledger: &mut Ledger) -> Fallible<Option<Drafted>> {
    let budget = request.budget.in_words();
    let Some(text) = checkpoint.finished(&request_digest(request), None, &budget, ledger)? else { return Ok(None) };
    let schema = Schema::parse(&text, Path::new("the schema in the checkpoint"))?;
    Ok(Some(Drafted { schema, notes: Vec::new(), text, runs: Vec::new() }))
}
