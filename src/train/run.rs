//! Training: the charge, the releases, the model.

use std::path::Path;
use std::time::Instant;

use serde_json::json;

use super::checkpoint::{Asked, Checkpoint};
use super::config::{TrainConfig, is_large};
use super::covariance::Covariance;
use super::files::{RunningDigest, sha256_hex};
use super::load::{Loaded, request_digest};
use super::model::{ModelFile, Released};
use super::plan::Plan;
use super::rehearse::{self, Releases};
use crate::data::Schema;
use crate::error::Fallible;
use crate::ledger::{ExactRho, Ledger};
use crate::noise::NoiseSource;
use crate::optim::{Algorithm, Bins, Fitted};
use crate::private::{ChargedRun, Release, ReleaseRecord};
use crate::statement::{Facts, LedgerFacts, LogEntry, LogWriter, ReleaseFacts, Statement};

/// The result of a run.
pub struct Trained {
    /// The released model with its statement.
    pub model: ModelFile,
    /// The model file, byte for byte as the ledger noted it.
    pub text: String,
    /// Seconds from the charge to the last release; custodian-only, and zero where only the publication was left.
    pub train_seconds: f64,
    /// Seconds of one gradient step; custodian-only.
    pub seconds_per_step: f64,
    /// Rows read per second of gradient steps, by the row count that training used; custodian-only.
    pub rows_per_second: f64,
}

impl Trained {
    /// The result of a run that was finished before.
    fn kept(text: String) -> Fallible<Self> {
        let model = ModelFile::parse(&text, Path::new("the result in the checkpoint"))?;
        Ok(Trained { model, text, train_seconds: 0.0, seconds_per_step: 0.0, rows_per_second: 0.0 })
    }
}

/// Charges the plan, makes its releases, builds the model and notes it in the ledger.
///
/// `observe` gets each line of the log as its release is made; it sees released values only. [`crate::statement::write_log`] makes the
/// same log of the model. Nothing is kept: a run that is stopped is lost with its budget, see [`train_from`].
///
/// # Privacy
/// The whole cost is durable in the ledger before the first noise is drawn. Whatever fails afterwards,
/// nothing is refunded, and no model is returned that the ledger has not noted.
///
/// # Errors
/// When the ledger refuses, it holds the release of the schema under another data set's name, the observer fails, or
/// training diverges.
pub fn train(
    loaded: Loaded,
    ledger: &mut Ledger,
    noise: NoiseSource,
    observe: &mut dyn FnMut(&LogEntry) -> Fallible<()>,
) -> Fallible<(Trained, ChargedRun)> {
    let (checkpoint, secret_noise) = (Checkpoint::none(), noise.is_secure());
    loaded.counts_schema(ledger)?;
    let (charges, budget) = (loaded.plan.charges(), loaded.plan.in_words());
    let run = checkpoint.pay(0, &asked(&loaded, "", secret_noise, &budget), &charges, ledger, noise)?;
    let (trained, run) = follow(loaded, run, secret_noise, ledger, observe)?;
    checkpoint.complete(&trained.text, &[&run], &budget, ledger)?;
    Ok((trained, run))
}

/// Charges and trains like [`train`], and keeps each release and the result in a file; or goes on with a run that was stopped and has left one.
///
/// `data` names what must be the same when a run goes on; the plan and the schema are compared anyway. Where the result is
/// there already, nothing is drawn. The file stays until [`Checkpoint::remove`] is called, after the model is published.
///
/// # Privacy
/// A run is charged once, and each of its releases is part of one result at most: none is returned before the ledger has
/// noted it, and from then on it is the only one. See [`crate::ledger::Ledger::resume`].
///
/// # Errors
/// When the ledger refuses, it holds the release of the schema under another data set's name, the observer fails, training
/// diverges, or the checkpoint belongs to another request or cannot be written. The file then stays, and the same
/// call goes on.
pub fn train_from(
    checkpoint: Checkpoint,
    data: &str,
    loaded: Loaded,
    ledger: &mut Ledger,
    noise: NoiseSource,
    observe: &mut dyn FnMut(&LogEntry) -> Fallible<()>,
) -> Fallible<Trained> {
    let secret_noise = noise.is_secure();
    loaded.counts_schema(ledger)?;
    let (charges, budget) = (loaded.plan.charges(), loaded.plan.in_words());
    let asked = asked(&loaded, data, secret_noise, &budget);
    if let Some(text) = checkpoint.finished(&asked.request, Some(&asked.work), &budget, ledger)? {
        return Trained::kept(text);
    }
    let run = checkpoint.pay(0, &asked, &charges, ledger, noise)?;
    let (trained, run) = follow(loaded, run, secret_noise, ledger, observe)?;
    checkpoint.complete(&trained.text, &[&run], &budget, ledger)?;
    Ok(trained)
}

/// The result of a run of which only the publication is left, without its rows; `None` where something is still to be drawn.
///
/// # Privacy
/// The ledger notes the result, unless it has, before it is returned.
///
/// # Errors
/// When the run was asked for something else, the ledger holds no charge for it or another result, or cannot be written.
pub fn finish(
    checkpoint: &Checkpoint,
    config: &TrainConfig,
    schema: &Schema,
    secret_noise: bool,
    ledger: &mut Ledger,
) -> Fallible<Option<Trained>> {
    let request = request(&request_digest(config, schema), secret_noise);
    let budget = config.budget.in_words();
    checkpoint.finished(&request, None, &budget, ledger)?.map(Trained::kept).transpose()
}

fn request(digest: &str, secret_noise: bool) -> String {
    sha256_hex(format!("{digest} {secret_noise}").as_bytes())
}

/// What a checkpoint has to know of a run.
fn asked<'a>(loaded: &'a Loaded, data: &str, secret_noise: bool, budget: &str) -> Asked<'a> {
    let plan = &loaded.plan;
    let request = request(&loaded.request, secret_noise);
    // By what stands in files, and not by names of this code; of an optimizer from elsewhere nothing else is known.
    let custom = (plan.algorithm == Algorithm::Custom).then(|| format!("{:?}", plan.optimizer));
    let work = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "request": request,
        "data": data,
        "rows": plan.rows.map(|(rows, _)| rows),
        "delta": plan.delta.value(),
        "releases": plan.planned(),
        "custom": custom,
    });
    Asked {
        work: sha256_hex(work.to_string().as_bytes()),
        request,
        budget: budget.to_owned(),
        scope: &plan.scope,
        // Which rows are held out is secret and drawn from the key of the run.
        keeps: plan.holdout.is_none(),
    }
}

/// Makes the releases of a paid plan and builds the model.
fn follow(
    loaded: Loaded,
    mut run: ChargedRun,
    secret_noise: bool,
    ledger: &mut Ledger,
    observe: &mut dyn FnMut(&LogEntry) -> Fallible<()>,
) -> Fallible<(Trained, ChargedRun)> {
    let Loaded { schema, dataset, plan, .. } = loaded;
    let charge = ledger_facts(ledger, &run)?;

    let started = Instant::now();
    let writer = LogWriter::new(plan.rho.clone(), plan.delta, plan.scope.adjacency, &plan.charges());
    let mut log = Log { writer, digest: RunningDigest::default(), observe };
    let mut marks = Vec::new();
    let stepping = &mut || marks.push(Instant::now());
    let made = rehearse::make(&plan, &schema, dataset, &mut run, &mut |release| log.release(release), stepping)?;
    let Releases { records, fitted, map, waves, evaluation, bins, rows } = made;
    let covariance = bins.as_ref().and_then(Bins::covariance).map(|(full, noise)| Covariance::of(full, noise));
    let shares = bins.map_or_else(Vec::new, |bins| bins.shares());
    let step_seconds = match marks[..] {
        [from, to] => to.duration_since(from).as_secs_f64(),
        _ => 0.0,
    };
    let facts = facts(&plan, &schema, records, &fitted)?;
    let statement = Statement::new(Facts { secret_noise, ledger: charge, ..facts })?;
    let released = Released { map: map.as_ref(), waves, shares, covariance };
    let model = ModelFile::new(&plan, &schema, released, &fitted, evaluation, statement, log.digest.finish())?;
    let seconds_per_step = step_seconds.max(1e-9) / plan.steps().max(1) as f64;
    let text = model.to_json();
    let trained = Trained {
        model,
        text,
        train_seconds: started.elapsed().as_secs_f64(),
        seconds_per_step,
        rows_per_second: rows / seconds_per_step,
    };
    Ok((trained, run))
}

/// What happened, but for the charge.
fn facts(plan: &Plan, schema: &Schema, records: Vec<ReleaseRecord>, fitted: &Fitted) -> Fallible<Facts> {
    let release = |ReleaseRecord { planned, grid_step }: ReleaseRecord| ReleaseFacts {
        charge: planned.charge,
        query: planned.query,
        unit: grid_step,
    };
    let count = if plan.scope.unit.is_person() { "number of persons" } else { "row count" };
    let rule = format!("public rule: a tenth of one over the public {count}, at most 1e-5; 1e-6 without one");
    let (rows, origin) = match plan.rows {
        Some((rows, origin)) => (Some(rows), origin),
        None => (None, "released with the moments"),
    };
    Ok(Facts {
        dataset: plan.scope.dataset.to_string(),
        adjacency: plan.scope.adjacency,
        unit: plan.scope.unit.clone(),
        estimand: plan.estimand,
        weight: plan.weight.clone(),
        releases: records.into_iter().map(release).collect(),
        numeric_columns: plan.numeric_columns,
        private_numeric: plan.public.as_ref().map(|public| public.private_numeric()),
        standardized: plan.standardize,
        budget_rho: ExactRho::new(&plan.rho)?,
        delta: format!("{:e}", plan.delta.value()),
        delta_origin: if plan.delta_by_rule { rule } else { "given by the user".into() },
        large_delta_accepted: is_large(plan.delta, plan.rows.map(|(rows, _)| rows)),
        model: plan.model,
        algorithm: plan.algorithm,
        dimension: fitted.weights.len(),
        holdout: plan.holdout.as_ref().map(|holdout| holdout.share),
        settings: fitted.settings.clone(),
        rows,
        rows_origin: origin.into(),
        schema_sha256: schema.fingerprint(),
        secret_noise: true,
        drafted_schema: schema.draft,
        released_schema: schema.released.clone(),
        ledger: None,
        version: env!("CARGO_PKG_VERSION").into(),
    })
}

/// Hands each line of the log on, and keeps their digest.
struct Log<'a> {
    writer: LogWriter,
    digest: RunningDigest,
    observe: &'a mut dyn FnMut(&LogEntry) -> Fallible<()>,
}

impl Log<'_> {
    fn release(&mut self, release: &Release<'_>) -> Fallible<()> {
        let entry = self.writer.line(release.released.charge(), release.query, release.grid_step)?;
        self.digest.update(entry.to_json()?.as_bytes());
        (self.observe)(&entry)
    }
}

/// What the ledger holds about the charge; `None` when it keeps nothing.
fn ledger_facts(ledger: &mut Ledger, run: &ChargedRun) -> Fallible<Option<LedgerFacts>> {
    let reservation = run.reservation();
    let Some(position) = reservation.position() else { return Ok(None) };
    // As of this charge: another run may have been charged since.
    let summary = ledger.summary_at(&reservation.scope().dataset, position.sequence)?;
    Ok(Some(LedgerFacts {
        position: position.clone(),
        run: reservation.run().to_owned(),
        cap_rho: summary.cap.as_ref().map(|cap| ExactRho::new(cap.most_rho())).transpose()?,
        cap: summary.cap,
        spent_delta_after: Some(summary.spent_delta),
        spent_after: ExactRho::new(&summary.spent)?,
        spent_at_order_after: summary.spent_at_order.as_ref().map(ExactRho::new).transpose()?,
        cap_raised: summary.cap_raised,
        runs_before_cap: (summary.runs_before_cap > 0).then_some(summary.runs_before_cap),
    }))
}
