//! `rhograd train`.

mod arguments;
mod outputs;
mod report;

use std::path::Path;
use std::process::ExitCode;

pub(super) use arguments::TrainArguments;

use report::{ask, page, report_cache, report_load, report_schema, report_spending, report_streaming, summary};

use super::arguments::set_threads;
use super::output::{bar, print, print_json, warn};
use crate::data::CsvFile;
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::noise::NoiseSource;
use crate::privacy::Charge;
use crate::train::{
    Checkpoint, Loaded, LogEntry, StagedFile, Trained, load_cached, load_within, sha256_hex, train, train_from,
};

pub(super) fn run(arguments: &TrainArguments) -> Fallible<ExitCode> {
    let key = arguments.signing_key()?;
    let code = run_unsigned(arguments)?;
    key.map_or(Ok(()), |key| arguments.sign_published(&key))?;
    Ok(code)
}

fn run_unsigned(arguments: &TrainArguments) -> Fallible<ExitCode> {
    set_threads(arguments.threads)?;
    let config = arguments.request.config()?;
    arguments.check_ledger()?;
    let schema = arguments.schema.read(&arguments.data)?;
    config.check(&schema)?;
    // Without randomness there is no run, so no row is read either.
    let noise = match arguments.seed {
        Some(seed) => NoiseSource::insecure_from_seed(seed),
        None => NoiseSource::from_os()?,
    };
    let file = CsvFile::open_for(&arguments.data, &schema.target, schema.features().map(|(name, _)| name))?;
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
    // Both files are staged before the charge: a directory that cannot be written to costs nothing.
    let (out, log) = arguments.outputs();
    arguments.refuse_overwriting(&out, &log)?;
    let (model_file, log_file) = (StagedFile::new(&out)?, StagedFile::new(&log)?);
    let mut ledger = arguments.open_ledger()?;
    report_schema(&loaded, &mut ledger)?;
    warn(&format!("{} steps on {} coefficients", loaded.plan().steps(), loaded.plan().dimension));
    let checkpoint = arguments.checkpoint.as_deref().map(Checkpoint::open).transpose()?;
    if let Some(made) = checkpoint.as_ref().and_then(Checkpoint::releases) {
        let all: u64 = loaded.plan().charges().iter().map(Charge::count).sum();
        warn(&format!("going on with a run that was stopped after {made} of {all} releases"));
    }
    let checkpoint = match checkpoint {
        Some(checkpoint) => Some((checkpoint, identity(&arguments.data)?)),
        None => None,
    };
    let finished = execute(loaded, &mut ledger, noise, checkpoint, model_file, log_file)?;
    if let Some(path) = &arguments.checkpoint {
        // What it held is in the model now; a file that stays is refused when it is used again.
        let _ = std::fs::remove_file(path);
    }
    report_spending(&mut ledger, &finished.trained)?;
    if arguments.json {
        print_json(&summary(&finished, &out, &log))?;
    } else {
        print(&page(&finished.trained, &out, &log))?;
    }
    Ok(ExitCode::SUCCESS)
}

struct Finished {
    trained: Trained,
    last: Option<LogEntry>,
    load_seconds: f64,
}

/// Charges, trains, notes the model in the ledger, and publishes log and model.
fn execute(
    loaded: Loaded,
    ledger: &mut Ledger,
    noise: NoiseSource,
    checkpoint: Option<(Checkpoint, String)>,
    mut model_file: StagedFile,
    mut log_file: StagedFile,
) -> Fallible<Finished> {
    let load_seconds = loaded.load_seconds;
    let steps = bar(loaded.plan().steps(), "training", "steps");
    let mut last = None;
    let mut observe = |entry: &LogEntry| {
        log_file.append(entry.to_json()?.as_bytes())?;
        steps.set_position(entry.step);
        last = Some(entry.clone());
        Ok(())
    };
    let (trained, paid) = match checkpoint {
        Some((checkpoint, data)) => train_from(checkpoint, &data, loaded, ledger, noise, &mut observe)?,
        None => train(loaded, ledger, noise, &mut observe)?,
    };
    steps.finish_and_clear();
    let text = trained.model.to_json();
    model_file.append(text.as_bytes())?;
    // Noted first, so that every model that can be seen is in the ledger. It was paid for: it is
    // published even where the note fails, and `verify --ledger` will then say so.
    let noted = ledger.complete(paid.reservation(), &sha256_hex(text.as_bytes()));
    log_file.publish()?;
    model_file.publish()?;
    noted?;
    Ok(Finished { trained, last, load_seconds })
}

/// Length and time of change of the data, which must be the same when a run goes on.
fn identity(data: &Path) -> Fallible<String> {
    let facts = std::fs::metadata(data).map_err(|e| Error::io(data, "read the data", e))?;
    Ok(format!("{} {:?}", facts.len(), facts.modified().ok()))
}
