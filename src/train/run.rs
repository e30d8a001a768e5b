//! Training: the charge, the releases, the model.

use std::time::Instant;

use super::checkpoint::Checkpoint;
use super::files::RunningDigest;
use super::load::Loaded;
use super::log::{LogEntry, LogWriter};
use super::model::ModelFile;
use super::rehearse::{self, Releases};
use super::statement::{Facts, LedgerFacts, Statement};
use crate::error::Fallible;
use crate::ledger::{ExactRho, Ledger};
use crate::noise::NoiseSource;
use crate::optim::Progress;
use crate::private::{Paid, pay};

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
/// When the ledger refuses, it holds the release of the schema under another data set's name, the observer fails, or
/// training diverges.
pub fn train(
    loaded: Loaded,
    ledger: &mut Ledger,
    noise: NoiseSource,
    observe: &mut dyn FnMut(&LogEntry) -> Fallible<()>,
) -> Fallible<(Trained, Paid)> {
    let secret_noise = noise.is_secure();
    loaded.counts_schema(ledger)?;
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
    loaded.counts_schema(ledger)?;
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
    facts.released_schema = schema.released.clone();
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
        cap_rho: summary.cap.as_ref().map(|cap| ExactRho::new(cap.most_rho())).transpose()?,
        cap: summary.cap,
        spent_delta_after: Some(summary.spent_delta),
        spent_after: ExactRho::new(&summary.spent)?,
        cap_raised: summary.cap_raised,
    }))
}
