//! `rhograd train`.

mod arguments;
mod outputs;
mod report;

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

pub(super) use arguments::TrainArguments;

use outputs::Signer;
use report::{
    Finished, ask, page, report_cache, report_load, report_no_privacy, report_schema, report_spending,
    report_streaming, summary,
};

use super::input::identity;
use super::output::{bar, print, print_json, tell, warn};
use super::signals::Interrupts;
use crate::data::Schema;
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::noise::NoiseSource;
use crate::privacy::Charge;
use crate::statement::{LogEntry, write_log};
use crate::train::{
    Checkpoint, Loaded, StagedFile, TrainConfig, check_destination, finish, load_cached, load_within, publish_with,
    sha256_hex, sha256_of_file, train_from,
};

pub(super) fn run(arguments: &TrainArguments) -> Fallible<ExitCode> {
    let interrupts = Interrupts::listen()?;
    run_interruptibly(arguments, &interrupts).map_err(|error| interrupts.explain(error))
}

fn run_interruptibly(arguments: &TrainArguments, interrupts: &Interrupts) -> Fallible<ExitCode> {
    let config = arguments.request.config()?;
    arguments.check_ledger()?;
    let schema = arguments.protect.applied(arguments.unit.applied(arguments.schema.read(&arguments.data)?)?)?;
    let schema = arguments.weight.applied(schema)?;
    let config = arguments.request.on(&schema, config);
    config.check(&schema)?;
    // Without randomness there is no run, so no row is read either.
    let noise = match arguments.seed {
        Some(seed) => NoiseSource::insecure_from_seed(seed),
        None => NoiseSource::from_os()?,
    };
    let (out, log) = arguments.outputs();
    arguments.refuse_overwriting(&out, &log)?;
    let signer = arguments.signer(&out)?;
    signer.iter().for_each(|signer| interrupts.forget(signer.staged()));
    let checkpoint = arguments.open_checkpoint(&out)?;
    interrupts.follow(&checkpoint);
    if checkpoint.is_finished() {
        return publish_finished(arguments, &config, &schema, &checkpoint, signer, interrupts);
    }
    arguments.refuse_replacing(&out, &log)?;
    let file = arguments.open_data(&schema)?;
    let drafted = schema.draft;
    let loading = bar(file.size(), "reading", "bytes");
    let cache = arguments.cache()?;
    let hear = |done: u64, _: u64| {
        loading.set_position(done);
        Ok(())
    };
    let loaded = match arguments.memory_limit {
        Some(limit) => load_within(&config, schema, &file, cache.as_ref(), limit, &hear)?,
        None => load_cached(&config, schema, &file, cache.as_ref(), &hear)?,
    };
    loading.finish_and_clear();
    let data = identity(&file)?;
    drop(file);
    let found = report_load(&loaded);
    report_cache(&loaded, cache.as_ref());
    report_streaming(&loaded, cache.as_ref());
    if drafted {
        warn(
            "warning: the schema is a draft made from the rows, so the model will be marked NOT PRIVATE; replace its bounds by public ones and delete \"draft\"",
        );
    }
    if !arguments.yes {
        ask(&found)?;
    }
    // All files are staged before the charge: a directory that cannot be written to costs nothing.
    let model_file = StagedFile::new(&out, arguments.overwrite)?;
    interrupts.forget(&model_file);
    let log_file = StagedFile::new(&log, arguments.overwrite)?;
    interrupts.forget(&log_file);
    let mut ledger = arguments.open_ledger()?;
    report_schema(&loaded, &mut ledger)?;
    let what = match loaded.plan().bins {
        Some(_) => "an effect of every value".to_owned(),
        None => format!("{} coefficients", loaded.plan().dimension),
    };
    tell(&format!("{} steps on {what}", loaded.plan().steps()));
    if let Some(made) = checkpoint.releases() {
        let all: u64 = loaded.plan().charges().iter().map(Charge::count).sum();
        tell(&format!("going on with a run that was stopped after {made} of {all} releases"));
    }
    let kept = (checkpoint, data);
    let finished = execute(loaded, &mut ledger, noise, &kept, (model_file, log_file, signer))?;
    interrupts.published();
    conclude(arguments, &kept.0, &mut ledger, &finished)
}

/// Charges, trains, notes the model in the ledger, and publishes log, signature and model.
fn execute(
    loaded: Loaded,
    ledger: &mut Ledger,
    noise: NoiseSource,
    (checkpoint, data): &(Checkpoint, String),
    (mut model_file, mut log_file, signer): (StagedFile, StagedFile, Option<Signer>),
) -> Fallible<Finished> {
    let load_seconds = loaded.load_seconds;
    let steps = bar(loaded.plan().steps(), "training", "steps");
    let mut observe = |entry: &LogEntry| {
        log_file.append(entry.to_json()?.as_bytes())?;
        steps.set_position(entry.step);
        Ok(())
    };
    // Noted when this returns: every model that can be seen is in the ledger, and no other one of its run.
    let trained = train_from(checkpoint.clone(), data, loaded, ledger, noise, &mut observe)?;
    steps.finish_and_clear();
    model_file.append(trained.text.as_bytes())?;
    let signature = signer.map(|signer| signer.sign(&trained, ledger)).transpose()?;
    publish_with(Some(model_file), [log_file].into_iter().chain(signature))?;
    Ok(Finished { trained, load_seconds })
}

/// Publishes what a run has left that was stopped when only that was to be done; no row is read.
fn publish_finished(
    arguments: &TrainArguments,
    config: &TrainConfig,
    schema: &Schema,
    checkpoint: &Checkpoint,
    signer: Option<Signer>,
    interrupts: &Interrupts,
) -> Fallible<ExitCode> {
    let (out, log) = arguments.outputs();
    let mut ledger = arguments.open_ledger()?;
    let trained = finish(checkpoint, config, schema, arguments.seed.is_none(), &mut ledger)?;
    let trained = trained.ok_or_else(|| Error::numerical("checkpoint", "its result is gone"))?;
    warn("publishing the result of a run that was stopped; nothing is drawn or charged, and no row given now was read");
    // Whatever has its place already was published by that run.
    let stage = |path: &Path, digest: &str, must_stay: bool| -> Fallible<Option<StagedFile>> {
        if sha256_of_file(path).is_some_and(|found| found == digest) {
            return Ok(None);
        }
        check_destination(path, arguments.overwrite, must_stay)?;
        let staged = StagedFile::new(path, arguments.overwrite)?;
        interrupts.forget(&staged);
        Ok(Some(staged))
    };
    let mut model_file = stage(&out, &sha256_hex(trained.text.as_bytes()), true)?;
    let mut log_file = stage(&log, &trained.model.log_sha256, false)?;
    if let Some(file) = &mut model_file {
        file.append(trained.text.as_bytes())?;
    }
    if let Some(file) = &mut log_file {
        let mut lines = BufWriter::new(file);
        let failed = |e| Error::io(&log, "write it", e);
        write_log(&trained.model.statement.facts, &mut |line| lines.write_all(line.as_bytes()).map_err(failed))?;
        lines.flush().map_err(failed)?;
    }
    let signature = signer.map(|signer| signer.sign(&trained, &mut ledger)).transpose()?;
    publish_with(model_file, log_file.into_iter().chain(signature))?;
    interrupts.published();
    conclude(arguments, checkpoint, &mut ledger, &Finished { trained, load_seconds: 0.0 })
}

/// Says what was done, once it is published.
fn conclude(
    arguments: &TrainArguments,
    checkpoint: &Checkpoint,
    ledger: &mut Ledger,
    finished: &Finished,
) -> Fallible<ExitCode> {
    if let Err(error) = checkpoint.remove() {
        warn(&format!("the model is published; {error}"));
    }
    let (out, log) = arguments.outputs();
    // The model is there: what the ledger says of it can be asked again.
    if let Err(error) = report_spending(ledger, &finished.trained) {
        warn(&error.to_string());
    }
    if arguments.json {
        print_json(&summary(finished, &out, &log))?;
    } else {
        print(&page(&finished.trained, &out, &log))?;
    }
    report_no_privacy(&finished.trained);
    Ok(ExitCode::SUCCESS)
}
