//! A schema drafted from the rows privately, for a part of the budget.
//!
//! Two runs are charged, each before its noise is drawn. The first tells the number of rows and which columns hold numbers,
//! unless that is declared. The second, planned by it with the budget that it left, chooses an interval for each column of
//! numbers, first among intervals of any size and then among parts of the chosen one, and opens the frequent values of each
//! other column. Together they cost at most the budget, which was fixed before: see [`crate::ledger`] on adaptive runs.

mod describe;
mod domain;
mod roles;

use std::path::Path;

use serde::Serialize;
use serde_json::json;

use crate::accounting::claim;
use crate::accounting::notion::{ApproximateZcdp, Zcdp};
use crate::accounting::zcdp;
use crate::data::{CsvFile, LedgerPlace, Schema, SchemaRelease, Task};
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::noise::NoiseSource;
use crate::num::round::decimal_up;
use crate::optim::{KindsPlan, Planned};
use crate::privacy::{Adjacency, Charge, DatasetId, Delta, Rho, Scope, total_delta, total_rho};
use crate::private::{ChargedRun, PrivateCells};
use crate::train::{Asked, Budget, Checkpoint, check_delta, default_delta, sha256_hex};
use domain::{Domain, DomainPlan};
use roles::Roles;

/// Share of rho for the number of rows and the kinds of columns.
const KINDS_SHARE: f64 = 0.1;

/// Share of delta for thresholds.
const THRESHOLD_SHARE: f64 = 0.1;

/// Significant digits of upward-rounded numbers.
const DIGITS: u32 = 7;

/// What is asked for, and what is publicly known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DraftRequest {
    /// The data set's public name; the ledger charges to it.
    pub name: String,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// What the draft may cost.
    pub budget: Budget,
    /// The column to predict; the last one if none is named.
    pub target: Option<String>,
    /// What is predicted, where that is known.
    pub task: Option<Task>,
    /// Columns of numbers.
    pub numeric: Vec<String>,
    /// Columns of numbers with public rough bounds.
    pub ranges: Vec<(String, f64, f64)>,
    /// Columns of values.
    pub categorical: Vec<String>,
    /// Columns to leave out.
    pub ignore: Vec<String>,
    /// Whether the first line is known to name the columns, although a cell of it is a number or empty. It is published.
    pub header: bool,
    /// Whether the schema gets the noised number of rows as its public hint.
    pub rows: bool,
    /// Whether a delta above 1e-3, or above a tenth of one over public rows, is taken all the same.
    pub accept_large_delta: bool,
}

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

/// As [`draft_privately`], keeping what the runs release and the schema in a file, or going on with a draft that was stopped.
///
/// `data` names what must be the same when a draft goes on. The file stays until [`Checkpoint::remove`] is called, after the
/// schema is published.
///
/// # Privacy
/// Each run is charged once, and one schema at most is ever returned for it.
///
/// # Errors
/// As [`draft_privately`], and when the checkpoint belongs to another request or cannot be written.
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
    let scope = Scope { dataset: DatasetId::new(request.name.clone())?, adjacency: request.adjacency };
    if checkpoint.releases().is_none() {
        allowance.check(ledger, &scope)?;
    }
    let cells = PrivateCells::new(file, scope);
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

fn request_digest(request: &DraftRequest) -> String {
    sha256_hex(json!(request).to_string().as_bytes())
}

/// What a draft may cost.
struct Allowance {
    rho: Rho,
    delta: Delta,
    /// Failure probability of all thresholds.
    fails: f64,
}

impl Allowance {
    /// The largest rho that meets a budget with a part of delta kept for thresholds.
    fn of(budget: &Budget) -> Fallible<Self> {
        budget.check()?;
        let (Budget::Epsilon(_, delta) | Budget::Rho(_, delta)) = budget;
        let delta = delta.map_or_else(|| default_delta(None), Ok)?;
        let fails = delta.value() * THRESHOLD_SHARE;
        let rho = match budget {
            Budget::Rho(rho, _) => rho.clone(),
            Budget::Epsilon(epsilon, _) => {
                let failing = ApproximateZcdp::new(fails.ln().next_up().min(0.0), Zcdp::new(0.0, 0.0)?)?;
                let left = failing.remaining_delta(delta);
                let left = left.ok_or_else(|| Error::numerical("delta", "thresholds leave nothing of it"))?;
                Rho::from_f64(zcdp::max_rho_optimal(0.0, *epsilon, left)?)?
            }
        };
        Ok(Allowance { rho, delta, fails })
    }

    /// Refuses before the first charge what the second would be refused for.
    fn check(&self, ledger: &mut Ledger, scope: &Scope) -> Fallible<()> {
        // Choices and thresholds are no Gaussian noise on all rows.
        ledger.affords(scope, &self.rho, self.fails, false)
    }
}

/// A draft under way.
struct Draft<'a> {
    cells: PrivateCells,
    request: &'a DraftRequest,
    /// Where releases are kept, and the digest of what must be the same when the draft goes on.
    keep: (&'a Checkpoint, String),
    allowance: Allowance,
    roles: Roles,
    runs: Vec<ChargedRun>,
    charges: Vec<Charge>,
    secret: bool,
}

impl Draft<'_> {
    fn pay(
        &mut self,
        plan: &[Planned],
        ledger: &mut Ledger,
        noise: &mut dyn FnMut() -> Fallible<NoiseSource>,
    ) -> Fallible<ChargedRun> {
        let charges: Vec<Charge> = plan.iter().map(|planned| planned.charge.clone()).collect();
        self.charges.extend(charges.iter().cloned());
        if total_rho(&self.charges)? > self.allowance.rho {
            return Err(Error::numerical("plan", "its exact cost exceeds the budget"));
        }
        let noise = noise()?;
        self.secret &= noise.is_secure();
        let (checkpoint, work) = &self.keep;
        let asked = Asked {
            request: request_digest(self.request),
            work: work.clone(),
            budget: self.request.budget.in_words(),
            scope: self.cells.scope(),
            keeps: true,
        };
        checkpoint.pay(self.runs.len(), &asked, &charges, ledger, noise)
    }

    /// The first run: the number of rows, and the kinds of columns that are not declared.
    fn kinds(&mut self, ledger: &mut Ledger, noise: &mut dyn FnMut() -> Fallible<NoiseSource>) -> Fallible<f64> {
        let known = self.cells.public_len()?;
        let undecided = self.roles.undecided();
        let mut rows = known.map_or(0.0, |rows| rows as f64);
        if known.is_none() || !undecided.is_empty() {
            let rho = self.allowance.rho.lower() * KINDS_SHARE;
            let plan = KindsPlan::new(undecided, known.is_none(), self.request.adjacency, rho)?;
            let mut paid = self.pay(&[plan.planned()], ledger, noise)?;
            let seen = plan.run(&self.cells, &mut paid)?;
            self.runs.push(paid);
            rows = seen.rows.unwrap_or(rows).max(1.0);
            self.roles.decide(&seen, rows);
        }
        Ok(rows)
    }

    /// The second run: intervals and values, with what is left.
    fn domain(
        &mut self,
        rows: f64,
        ledger: &mut Ledger,
        noise: &mut dyn FnMut() -> Fallible<NoiseSource>,
    ) -> Fallible<Domain> {
        let left = self.allowance.rho.minus(&total_rho(&self.charges)?).lower();
        let budget = (left, self.allowance.fails);
        let plan = DomainPlan::new(&self.roles, self.request.task, self.request.adjacency, budget)?;
        let mut paid = self.pay(&plan.planned(), ledger, noise)?;
        let domain = plan.run(&self.cells, rows, &mut paid)?;
        self.runs.push(paid);
        Ok(domain)
    }

    /// What all of it costs, and where it stands.
    ///
    /// The second run follows from what the first released, so what holds for both together is the cost that was fixed
    /// before, not the one that came about.
    ///
    /// Reference: Rogers, Roth, Ullman and Vadhan 2016 (filters and odometers).
    fn release(&self, ledger: &Ledger) -> Fallible<SchemaRelease> {
        let (rho, fails) = match self.runs.len() {
            0 | 1 => (total_rho(&self.charges)?, total_delta(&self.charges)),
            _ => (self.allowance.rho.clone(), total_delta(&self.charges).max(self.allowance.fails)),
        };
        let together = claim::approximate_of(&rho, fails)?;
        let epsilon = decimal_up(together.to_epsilon_optimal(self.allowance.delta)?.value(), DIGITS);
        let rho = rho.as_dyadic().to_decimal_up(DIGITS);
        let delta = decimal_up(self.allowance.delta.value(), DIGITS);
        let approximate_delta = decimal_up(fails, DIGITS);
        let place = |run: &ChargedRun| {
            let position = run.reservation().position().filter(|_| ledger.path().is_some())?;
            Some(LedgerPlace { sequence: position.sequence, hash: position.hash.clone() })
        };
        let ledger = self.runs.iter().filter_map(place).collect();
        let adjacency = self.request.adjacency;
        let mut release =
            SchemaRelease { statement: String::new(), adjacency, rho, approximate_delta, epsilon, delta, ledger };
        release.statement = release.sentence();
        Ok(release)
    }
}
