//! One run: load, charge, train; with Python free to go on, and Ctrl-C heard.

use std::path::{Path, PathBuf};
use std::time::Instant;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rhograd::data::{CsvFile, Estimand, Protect, RowWeight, Schema, Unit, draft_schema};
use rhograd::error::{Error, Fallible};
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::preprocess::{MemoryLimit, RowCache};
use rhograd::statement::LogEntry;
use rhograd::train::{
    self, Checkpoint, Loaded, TrainConfig, check_request, load_cached, load_encoded, load_remote, load_within,
    sha256_hex,
};
use serde_json::json;

use crate::cluster::Asked;
use crate::columns::{Columns, GivenColumn};
use crate::errors::{detached, raised};
use crate::model::Model;
use crate::request;
use crate::supervise::{Caller, Ears, aside, supervise};

/// The model, the log as JSON lines, and what the custodian alone may know, as JSON.
type Outcome = (Model, String, String);

/// Adds the functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(train_table, module)?)?;
    module.add_function(wrap_pyfunction!(train_file, module)?)?;
    module.add_function(wrap_pyfunction!(train_cluster, module)?)?;
    module.add_function(wrap_pyfunction!(check_table, module)?)?;
    module.add_function(wrap_pyfunction!(check_file, module)?)?;
    module.add_function(wrap_pyfunction!(schema_of, module)?)?;
    module.add_function(wrap_pyfunction!(check_schema, module)?)?;
    module.add_function(wrap_pyfunction!(weight_schema, module)?)?;
    module.add_function(wrap_pyfunction!(unit_schema, module)?)
}

/// Trains on columns in memory.
#[pyfunction]
#[pyo3(signature = (request, schema, columns, *, ledger=None, seed=None, threads=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "they have names in Python")]
fn train_table(
    py: Python<'_>,
    request: &str,
    schema: &str,
    columns: Vec<GivenColumn<'_>>,
    ledger: Option<PathBuf>,
    seed: Option<u64>,
    threads: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Outcome> {
    let schema = raised(py, Schema::parse(schema, Path::new("schema")))?;
    let run = raised(py, Run::new(request, ledger, seed, threads))?;
    let columns = Columns::new(columns)?;
    detached(py, || check_request(&run.config, &schema))?;
    let started = Instant::now();
    let table = columns.encoded(py, &schema, threads)?;
    run.supervised(py, Ears { progress: progress.as_ref(), ..Ears::default() }, |config, _| {
        let mut loaded = load_encoded(config, schema, table)?;
        loaded.load_seconds = started.elapsed().as_secs_f64();
        Ok(loaded)
    })
}

/// Trains on a file, as the command line does.
#[pyfunction]
#[pyo3(signature = (request, schema, path, *, ledger=None, seed=None, threads=None, cache=None, memory_limit=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "they have names in Python")]
fn train_file(
    py: Python<'_>,
    request: &str,
    schema: &str,
    path: PathBuf,
    ledger: Option<PathBuf>,
    seed: Option<u64>,
    threads: Option<usize>,
    cache: Option<PathBuf>,
    memory_limit: Option<u64>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Outcome> {
    let schema = raised(py, Schema::parse(schema, Path::new("schema")))?;
    let mut run = raised(py, Run::new(request, ledger, seed, threads))?;
    // Where it cannot be read, loading says so.
    run.file =
        std::fs::metadata(&path).map_or_else(|_| String::new(), |it| format!("{} {:?}", it.len(), it.modified().ok()));
    run.supervised(py, Ears { progress: progress.as_ref(), ..Ears::default() }, |config, caller| {
        let go_on = |done: u64, total: u64| {
            caller.tell("reading", done, total);
            caller.go_on("while rows were read, before anything was charged")
        };
        let file = CsvFile::open_for(&path, &schema.target, schema.features().map(|(name, _)| name))?;
        let cache = cache.as_deref().map(|path| RowCache::new(path, false)).transpose()?;
        match memory_limit.map(MemoryLimit::new).transpose()? {
            Some(limit) => load_within(config, schema, &file, cache.as_ref(), limit, &go_on),
            None => load_cached(config, schema, &file, cache.as_ref(), &go_on),
        }
    })
}

/// Looks at columns in memory and says, as JSON, what does not fit the schema and what a run would do; charges nothing.
#[pyfunction]
#[pyo3(signature = (request, schema, columns, *, threads=None))]
fn check_table(
    py: Python<'_>,
    request: &str,
    schema: &str,
    columns: Vec<GivenColumn<'_>>,
    threads: Option<usize>,
) -> PyResult<String> {
    let schema = raised(py, Schema::parse(schema, Path::new("schema")))?;
    let config = raised(py, request::config(request))?;
    let mut checked = None;
    Columns::new(columns)?.whole(py, threads, |table| {
        checked = Some(train::check_table(Some(&config), &schema, table)?);
        Ok(())
    })?;
    serde_json::to_string(&checked).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// Looks at a file before anything is paid: what does not fit the schema, what a run would do and cost.
#[pyfunction]
#[pyo3(signature = (request, schema, path, *, threads=None))]
fn check_file(py: Python<'_>, request: &str, schema: &str, path: PathBuf, threads: Option<usize>) -> PyResult<String> {
    let schema = raised(py, Schema::parse(schema, Path::new("schema")))?;
    let config = raised(py, request::config(request))?;
    let checked = supervise(py, threads, Ears::default(), |caller| {
        let file = CsvFile::open_for(&path, &schema.target, schema.features().map(|(name, _)| name))?;
        train::check(Some(&config), &schema, &file, &|_, _| caller.go_on("while rows were read; nothing was charged"))
    })?;
    serde_json::to_string(&checked).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// Trains on rows that workers hold; `ask` takes a question and brings the answers of all parts.
#[pyfunction]
#[pyo3(signature = (request, schema, ask, *, ledger=None, seed=None, threads=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "they have names in Python")]
fn train_cluster(
    py: Python<'_>,
    request: &str,
    schema: &str,
    ask: Bound<'_, PyAny>,
    ledger: Option<PathBuf>,
    seed: Option<u64>,
    threads: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Outcome> {
    let schema = raised(py, Schema::parse(schema, Path::new("schema")))?;
    let run = raised(py, Run::new(request, ledger, seed, threads))?;
    let ears = Ears { ask: Some(&ask), progress: progress.as_ref() };
    run.supervised(py, ears, |config, caller| load_remote(config, schema, Box::new(Asked(caller.clone()))))
}

/// A schema file as canonical JSON, checked.
#[pyfunction]
#[pyo3(signature = (path))]
fn schema_of(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let schema = raised(py, Schema::read(&path))?;
    serde_json::to_string(&schema).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// A schema's text as canonical JSON, checked; or one drafted from a file, which is NOT PRIVATE and says so.
#[pyfunction]
#[pyo3(signature = (text=None, *, draft_from=None, name="data", target=None))]
fn check_schema(
    py: Python<'_>,
    text: Option<&str>,
    draft_from: Option<PathBuf>,
    name: &str,
    target: Option<&str>,
) -> PyResult<String> {
    let schema = match (text, draft_from) {
        (Some(text), None) => raised(py, Schema::parse(text, Path::new("schema")))?,
        (_, Some(path)) => aside(py, None, || CsvFile::open(&path).and_then(|file| draft_schema(&file, name, target)))?,
        (None, None) => {
            let missing = Error::parameter("schema", "is missing", "give its text, or a file to draft it from");
            raised(py, Err(missing))?
        }
    };
    serde_json::to_string(&schema).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// A schema's text with weights of rows, as canonical JSON, checked; what the schema says already may be said again.
#[pyfunction]
fn weight_schema(py: Python<'_>, text: &str, weight: &str) -> PyResult<String> {
    let schema = raised(py, Schema::parse(text, Path::new("schema")))?;
    let weight: RowWeight = serde_json::from_str(weight).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
    let schema = raised(py, schema.with_weight(weight))?;
    serde_json::to_string(&schema).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// A schema's text with a unit, with labels alone to be protected, or with public columns, as canonical JSON, checked; what the schema says already may be said again.
#[pyfunction]
#[pyo3(signature = (text, *, unit=None, persons=None, max_rows=None, estimand=None, protect=None, public=None))]
#[allow(clippy::too_many_arguments, reason = "they have names in Python")]
fn unit_schema(
    py: Python<'_>,
    text: &str,
    unit: Option<String>,
    persons: Option<u64>,
    max_rows: Option<u32>,
    estimand: Option<&str>,
    protect: Option<&str>,
    public: Option<Vec<String>>,
) -> PyResult<String> {
    let written = |schema: &Schema| serde_json::to_string(schema).map_err(|e| PyRuntimeError::new_err(e.to_string()));
    let mut schema = raised(py, Schema::parse(text, Path::new("schema")))?;
    if let Some(protect) = protect {
        schema = raised(py, Protect::named(protect).and_then(|protect| schema.with_protect(protect)))?;
    }
    if let Some(public) = public {
        schema = raised(py, schema.with_public(&public))?;
    }
    if unit.is_none() && persons.is_none() && max_rows.is_none() && estimand.is_none() {
        return written(&schema);
    }
    let estimand = raised(py, estimand.map(Estimand::named).transpose())?;
    let given = match (persons, max_rows) {
        (Some(_), _) => "persons",
        (None, Some(_)) => "max_rows",
        (None, None) => "estimand",
    };
    let column = unit.or_else(|| schema.unit.as_ref().map(|unit| unit.column.clone())).ok_or_else(|| {
        Error::parameter(given, "is given, and nothing says who is who", "name the column of identifiers by unit=")
    });
    let schema = column.and_then(|column| schema.with_unit(Unit { column, persons, max_rows, estimand }));
    written(&raised(py, schema)?)
}

/// What a run needs besides rows.
struct Run {
    config: TrainConfig,
    /// What tells the data file from others; empty for rows in memory.
    file: String,
    ledger: Option<PathBuf>,
    seed: Option<u64>,
    threads: Option<usize>,
}

struct Finished {
    model: train::ModelFile,
    text: String,
    log: String,
    report: serde_json::Value,
    checkpoint: Checkpoint,
}

impl Run {
    fn new(request: &str, ledger: Option<PathBuf>, seed: Option<u64>, threads: Option<usize>) -> Fallible<Self> {
        Ok(Run { config: request::config(request)?, file: String::new(), ledger, seed, threads })
    }

    /// The run, while the thread that called us serves it.
    fn supervised(
        &self,
        py: Python<'_>,
        ears: Ears<'_, '_>,
        load: impl FnOnce(&TrainConfig, &Caller) -> Fallible<Loaded> + Send,
    ) -> PyResult<Outcome> {
        let finished = supervise(py, self.threads, ears, |caller| self.execute(load, caller))?;
        let Finished { model, text, log, report, checkpoint } = finished;
        // Where it cannot go, the same fit has the same model once more.
        let _ = checkpoint.remove();
        Ok((Model::new(model, text), log, report.to_string()))
    }

    /// The run itself, on threads of its own.
    fn execute(
        &self,
        load: impl FnOnce(&TrainConfig, &Caller) -> Fallible<Loaded>,
        caller: &Caller,
    ) -> Fallible<Finished> {
        // Without randomness there is no run, so no row is read either.
        let noise = match self.seed {
            Some(seed) => NoiseSource::insecure_from_seed(seed),
            None => NoiseSource::from_os()?,
        };
        let rows = load(&self.config, caller)?;
        let place = if self.file.is_empty() { "row" } else { "line" };
        let found = train::summary(&rows.findings(place));
        if !found.is_empty() {
            caller.warn(found.join("\n"));
        }
        // A signal that came until now costs nothing.
        caller.settle("before anything was charged")?;
        let known = rows.rows_digest();
        let data = known.as_deref().unwrap_or(&self.file);
        let mut ledger = match &self.ledger {
            Some(path) => Ledger::open_or_create(path)?,
            None => Ledger::in_memory()?,
        };
        let schema_counted = rows.counts_schema(&mut ledger)?;
        let (load_seconds, counts) = (rows.load_seconds, serde_json::to_value(&rows.report).unwrap_or_default());
        let mut log = String::new();
        let steps = rows.plan().steps();
        let mut observe = |entry: &LogEntry| {
            log.push_str(&entry.to_json()?);
            caller.tell("training", entry.step.min(steps), steps);
            caller.go_on("after the charge, which stands: the same fit goes on from it and is not charged again")
        };
        let checkpoint = self.checkpoint(&rows, data)?;
        let trained = train::train_from(checkpoint.clone(), data, rows, &mut ledger, noise, &mut observe)?;
        caller.tell("training", steps, steps);
        if log.is_empty() {
            // The run was finished before, and nothing was left but to hand it out.
            rhograd::statement::write_log(&trained.model.statement.facts, &mut |line| {
                log.push_str(line);
                Ok(())
            })?;
        }
        let report = json!({
            "load": counts,
            "load_seconds": load_seconds,
            "train_seconds": trained.train_seconds,
            "seconds_per_step": trained.seconds_per_step,
            "rows_per_second": trained.rows_per_second,
            "schema_counted": schema_counted,
            "ledger_place": ledger.warning(),
        });
        Ok(Finished { model: trained.model, text: trained.text, log, report, checkpoint })
    }

    /// Where releases and the result are kept until the model is handed out: beside the ledger, named after what was asked for,
    /// so that the same fit goes on. Without a ledger nothing is charged that could be lost.
    fn checkpoint(&self, rows: &Loaded, data: &str) -> Fallible<Checkpoint> {
        let Some(ledger) = &self.ledger else { return Ok(Checkpoint::none()) };
        let about = format!("{} {data} {:?}", rows.request_digest(), self.seed);
        let checkpoint = Checkpoint::beside(ledger, &sha256_hex(about.as_bytes())[..16])?;
        checkpoint.about(format!("seed {:?}", self.seed));
        Ok(checkpoint)
    }
}
