//! Loading and training.

use std::time::Instant;

use super::checkpoint::Checkpoint;
use super::config::TrainConfig;
use super::files::RunningDigest;
use super::log::{LogEntry, LogWriter};
use super::model::ModelFile;
use super::plan::{Plan, Planner};
use super::rehearse::{self, Releases};
use super::statement::{Facts, LedgerFacts, Statement};
use crate::data::{CsvFile, Schema};
use crate::error::Fallible;
use crate::ledger::{ExactRho, Ledger};
use crate::noise::NoiseSource;
use crate::optim::Progress;
use crate::preprocess::{CacheUse, Encoder, LoadReport, RowCache};
use crate::privacy::{DatasetId, Scope};
use crate::private::{Paid, PrivateDataset, pay};

/// A data set behind the gate, with its plan; nothing has been charged or released yet.
pub struct Loaded {
    pub(super) schema: Schema,
    pub(super) dataset: PrivateDataset,
    pub(super) plan: Plan,
    /// What the custodian may know about the load; custodian-only.
    pub report: LoadReport,
    /// What the cache did, where one was asked for; custodian-only.
    pub cache: Option<CacheUse>,
    /// Seconds of reading and encoding; custodian-only.
    pub load_seconds: f64,
}

impl Loaded {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// Checks the request, reads and encodes the file, and plans the run.
///
/// `progress` hears `(bytes done, bytes in all)`.
///
/// # Errors
/// When the request, the schema or the header of the file cannot be used.
pub fn load(
    config: &TrainConfig,
    schema: Schema,
    file: &CsvFile,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Fallible<Loaded> {
    load_cached(config, schema, file, None, progress)
}

/// As [`load`], with the encoded rows taken from a cache where it fits, and kept there where it does not.
///
/// # Errors
/// As [`load`].
pub fn load_cached(
    config: &TrainConfig,
    schema: Schema,
    file: &CsvFile,
    cache: Option<&RowCache>,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Fallible<Loaded> {
    read(config, schema, file, cache, progress, &|schema, public_len| Plan::new(config, schema, public_len))
}

/// As [`load`], with an optimizer from outside this crate; `docs/extending.md` has the recipe.
///
/// # Privacy
/// The optimizer sees public facts when it is planned and released values when it runs; the gate charges what it
/// planned and opens no more.
///
/// # Errors
/// As [`load`], and whatever the planner refuses.
pub fn load_with(
    config: &TrainConfig,
    schema: Schema,
    file: &CsvFile,
    progress: &(dyn Fn(u64, u64) + Sync),
    planner: &Planner<'_>,
) -> Fallible<Loaded> {
    read(config, schema, file, None, progress, &|schema, public_len| Plan::custom(config, schema, public_len, planner))
}

fn read(
    config: &TrainConfig,
    schema: Schema,
    file: &CsvFile,
    cache: Option<&RowCache>,
    progress: &(dyn Fn(u64, u64) + Sync),
    plan: &dyn Fn(&Schema, Option<u64>) -> Fallible<Plan>,
) -> Fallible<Loaded> {
    config.check(&schema)?;
    let started = Instant::now();
    let encoder = Encoder::new(&schema, file, true)?;
    // Everything that can be refused without the rows is refused before they are read.
    if !config.adjacency.row_count_is_public() {
        plan(&schema, None)?;
    }
    let total = file.size();
    let hear = |done| progress(done, total);
    let (rows, report, cache) = match cache {
        Some(cache) => {
            cache.load(&schema, file, &encoder, &hear).map(|(rows, report, used)| (rows, report, Some(used)))?
        }
        None => encoder.encode(file, &hear).map(|(rows, report)| (rows, report, None))?,
    };
    let scope = Scope { dataset: DatasetId::new(schema.name.clone())?, adjacency: config.adjacency };
    let dataset = PrivateDataset::new(rows, scope);
    let plan = plan(&schema, dataset.public_len())?;
    Ok(Loaded { schema, dataset, plan, report, cache, load_seconds: started.elapsed().as_secs_f64() })
}

/// The result of a run.
pub struct Trained {
    /// The released model with its statement.
    pub model: ModelFile,
    /// Seconds from the charge to the last release; custodian-only.
    pub train_seconds: f64,
    /// Seconds of one gradient step; custodian-only.
    pub seconds_per_step: f64,
    /// Rows read per second of gradient steps, by the row count that training used; custodian-only.
    pub rows_per_second: f64,
}

/// Charges the plan, makes its releases and builds the model.
///
/// `observe` gets each line of the log as its release is made; it sees released values only.
///
/// # Privacy
/// The whole cost is durable in the ledger before the first noise is drawn. Whatever fails afterwards,
/// nothing is refunded.
///
/// # Errors
/// When the ledger refuses, the observer fails, or training diverges.
pub fn train(
    loaded: Loaded,
    ledger: &mut Ledger,
    noise: NoiseSource,
    observe: &mut dyn FnMut(&LogEntry) -> Fallible<()>,
) -> Fallible<(Trained, Paid)> {
    let secret_noise = noise.is_secure();
    let paid = pay(ledger, &loaded.plan.scope, &loaded.plan.charges(), noise)?;
    follow(loaded, paid, secret_noise, ledger, observe)
}

/// As [`train`], keeping each release in a file, or going on with a run that was stopped and has left one.
///
/// `data` names what must be the same when a run goes on; the plan and the schema are compared anyway.
///
/// # Privacy
/// A run is charged once, and each of its releases is part of one result at most; see [`crate::ledger::Ledger::resume`].
///
/// # Errors
/// As [`train`], and when the checkpoint belongs to another request or cannot be written.
pub fn train_from(
    checkpoint: Checkpoint,
    data: &str,
    loaded: Loaded,
    ledger: &mut Ledger,
    noise: NoiseSource,
    observe: &mut dyn FnMut(&LogEntry) -> Fallible<()>,
) -> Fallible<(Trained, Paid)> {
    let secret_noise = noise.is_secure();
    let about = format!("{} {data}", loaded.schema.fingerprint());
    let paid = checkpoint.pay(&loaded.plan, &about, ledger, noise)?;
    follow(loaded, paid, secret_noise, ledger, observe)
}

/// Makes the releases of a paid plan and builds the model.
fn follow(
    loaded: Loaded,
    mut paid: Paid,
    secret_noise: bool,
    ledger: &mut Ledger,
    observe: &mut dyn FnMut(&LogEntry) -> Fallible<()>,
) -> Fallible<(Trained, Paid)> {
    let Loaded { schema, dataset, plan, .. } = loaded;
    let charge = ledger_facts(ledger, &paid)?;

    let started = Instant::now();
    let writer = LogWriter::new(plan.rho.clone(), plan.delta, plan.scope.adjacency, &plan.charges());
    let mut log = Log { writer, digest: RunningDigest::default(), observe };
    let mut marks = Vec::new();
    let stepping = &mut || marks.push(Instant::now());
    let made = rehearse::make(&plan, &schema, dataset, &mut paid, &mut |progress| log.release(progress), stepping)?;
    let Releases { records, fitted, map, evaluation, rows } = made;
    let step_seconds = match marks[..] {
        [from, to] => to.duration_since(from).as_secs_f64(),
        _ => 0.0,
    };
    let mut facts = Facts::new(&plan, records, fitted.settings.clone())?;
    facts.schema_sha256 = schema.fingerprint();
    facts.secret_noise = secret_noise;
    facts.drafted_schema = schema.draft;
    facts.ledger = charge;
    let statement = Statement::new(facts)?;
    let model = ModelFile::new(&plan, &schema, map.as_ref(), &fitted, evaluation, statement, log.digest.finish())?;
    let seconds_per_step = step_seconds.max(1e-9) / plan.steps().max(1) as f64;
    let trained = Trained {
        model,
        train_seconds: started.elapsed().as_secs_f64(),
        seconds_per_step,
        rows_per_second: rows / seconds_per_step,
    };
    Ok((trained, paid))
}

/// Hands each line of the log on, and keeps their digest.
struct Log<'a> {
    writer: LogWriter,
    digest: RunningDigest,
    observe: &'a mut dyn FnMut(&LogEntry) -> Fallible<()>,
}

impl Log<'_> {
    fn release(&mut self, progress: &Progress<'_>) -> Fallible<()> {
        let entry = self.writer.line(progress.released.charge(), progress.query, progress.unit)?;
        self.digest.update(entry.to_json()?.as_bytes());
        (self.observe)(&entry)
    }
}

/// What the ledger holds about the charge; `None` when it keeps nothing.
fn ledger_facts(ledger: &mut Ledger, paid: &Paid) -> Fallible<Option<LedgerFacts>> {
    let reservation = paid.reservation();
    let Some(position) = reservation.position() else { return Ok(None) };
    // As of this charge: another run may have been charged since.
    let summary = ledger.summary_at(&reservation.scope().dataset, position.sequence)?;
    Ok(Some(LedgerFacts {
        position: position.clone(),
        run: reservation.run().to_owned(),
        cap_rho: summary.cap.as_ref().map(ExactRho::new).transpose()?,
        spent_after: ExactRho::new(&summary.spent)?,
        cap_raised: summary.cap_raised,
    }))
}
