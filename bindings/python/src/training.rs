//! One run: load, charge, train; with Python free to go on, and Ctrl-C heard.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rhograd::data::{CsvFile, Schema, draft_schema};
use rhograd::error::{Error, Fallible};
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::preprocess::{MemoryLimit, RowCache};
use rhograd::train::{
    self, Loaded, LogEntry, TrainConfig, load_cached, load_remote, load_table, load_within, sha256_hex,
};
use serde_json::json;

use crate::cluster::Asked;
use crate::columns::{Columns, GivenColumn};
use crate::errors::raised;
use crate::model::Model;
use crate::{pool, request};

/// How often Ctrl-C is looked for.
const LISTEN: Duration = Duration::from_millis(50);

/// The model, the log as JSON lines, and what the custodian alone may know, as JSON.
type Outcome = (Model, String, String);

/// Adds the functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(train_table, module)?)?;
    module.add_function(wrap_pyfunction!(train_file, module)?)?;
    module.add_function(wrap_pyfunction!(train_cluster, module)?)?;
    module.add_function(wrap_pyfunction!(schema_of, module)?)?;
    module.add_function(wrap_pyfunction!(check_schema, module)?)
}

/// Trains on columns in memory.
#[pyfunction]
#[pyo3(signature = (request, schema, columns, *, ledger=None, seed=None, threads=None))]
fn train_table(
    py: Python<'_>,
    request: &str,
    schema: &str,
    columns: Vec<GivenColumn<'_>>,
    ledger: Option<PathBuf>,
    seed: Option<u64>,
    threads: Option<usize>,
) -> PyResult<Outcome> {
    let schema = raised(py, Schema::parse(schema, Path::new("schema")))?;
    let run = raised(py, Run::new(request, ledger, seed, threads))?;
    let columns = Columns::new(columns)?;
    let table = raised(py, columns.table())?;
    // Nothing in Python may change an array while it is read, so Python waits until the rows are encoded.
    supervise(py, &run, Wait::UntilLoaded, |config, _| load_table(config, schema, &table))
}

/// Trains on a file, as the command line does.
#[pyfunction]
#[pyo3(signature = (request, schema, path, *, ledger=None, seed=None, threads=None, cache=None, memory_limit=None))]
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
) -> PyResult<Outcome> {
    let schema = raised(py, Schema::parse(schema, Path::new("schema")))?;
    let run = raised(py, Run::new(request, ledger, seed, threads))?;
    supervise(py, &run, Wait::Not, |config, stop| {
        let go_on = |_: u64, _: u64| go_on(stop, "while rows were read, before anything was charged");
        let file = CsvFile::open_for(&path, &schema.target, schema.features().map(|(name, _)| name))?;
        let cache = cache.as_deref().map(|path| RowCache::new(path, false)).transpose()?;
        match memory_limit.map(MemoryLimit::new).transpose()? {
            Some(limit) => load_within(config, schema, &file, cache.as_ref(), limit, &go_on),
            None => load_cached(config, schema, &file, cache.as_ref(), &go_on),
        }
    })
}

/// Trains on rows that workers hold; `ask` takes a question and brings the answers of all parts.
#[pyfunction]
#[pyo3(signature = (request, schema, ask, *, ledger=None, seed=None, threads=None))]
fn train_cluster(
    py: Python<'_>,
    request: &str,
    schema: &str,
    ask: Py<PyAny>,
    ledger: Option<PathBuf>,
    seed: Option<u64>,
    threads: Option<usize>,
) -> PyResult<Outcome> {
    let schema = raised(py, Schema::parse(schema, Path::new("schema")))?;
    let run = raised(py, Run::new(request, ledger, seed, threads))?;
    let (asked, fault) = Asked::new(ask);
    let outcome = supervise(py, &run, Wait::Not, |config, _| load_remote(config, schema, Box::new(asked)));
    let fault = fault.lock().unwrap_or_else(PoisonError::into_inner).take();
    outcome.inspect_err(|error| error.set_cause(py, fault))
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
        (Some(text), None) => Schema::parse(text, Path::new("schema")),
        (_, Some(path)) => CsvFile::open(&path).and_then(|file| draft_schema(&file, name, target)),
        (None, None) => Err(Error::parameter("schema", "is missing", "give its text, or a file to draft it from")),
    };
    serde_json::to_string(&raised(py, schema)?).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// What a run needs besides rows.
struct Run {
    config: TrainConfig,
    ledger: Option<PathBuf>,
    seed: Option<u64>,
    threads: Option<usize>,
}

/// Whether Python waits while rows are loaded.
enum Wait {
    UntilLoaded,
    Not,
}

struct Finished {
    model: train::ModelFile,
    text: String,
    log: String,
    report: serde_json::Value,
}

impl Run {
    fn new(request: &str, ledger: Option<PathBuf>, seed: Option<u64>, threads: Option<usize>) -> Fallible<Self> {
        Ok(Run { config: request::config(request)?, ledger, seed, threads })
    }

    /// The run itself, on threads of its own. `loaded` hears when the rows are encoded.
    fn execute(
        &self,
        load: impl FnOnce(&TrainConfig, &AtomicBool) -> Fallible<Loaded>,
        stop: &AtomicBool,
        loaded: &SyncSender<()>,
    ) -> Fallible<Finished> {
        // Without randomness there is no run, so no row is read either.
        let noise = match self.seed {
            Some(seed) => NoiseSource::insecure_from_seed(seed),
            None => NoiseSource::from_os()?,
        };
        let rows = load(&self.config, stop)?;
        // Nobody listens where Python does not wait.
        let _ = loaded.try_send(());
        go_on(stop, "before anything was charged")?;
        let mut ledger = match &self.ledger {
            Some(path) => Ledger::open_or_create(path)?,
            None => Ledger::in_memory()?,
        };
        let schema_counted = rows.counts_schema(&mut ledger)?;
        let (load_seconds, counts) = (rows.load_seconds, serde_json::to_value(rows.report).unwrap_or_default());
        let mut log = String::new();
        let mut observe = |entry: &LogEntry| {
            log.push_str(&entry.to_json()?);
            go_on(stop, "after the charge, which stands")
        };
        let (trained, paid) = train::train(rows, &mut ledger, noise, &mut observe)?;
        let text = trained.model.to_json();
        // It was paid for, so it is handed out even where the note fails; `verify` with the ledger will then say so.
        let noted = ledger.complete(paid.reservation(), &sha256_hex(text.as_bytes()));
        let report = json!({
            "load": counts,
            "load_seconds": load_seconds,
            "train_seconds": trained.train_seconds,
            "seconds_per_step": trained.seconds_per_step,
            "rows_per_second": trained.rows_per_second,
            "schema_counted": schema_counted,
            "not_noted": noted.err().map(|e| e.to_string()),
        });
        Ok(Finished { model: trained.model, text, log, report })
    }
}

/// Refuses to where a signal came.
fn go_on(stop: &AtomicBool, when: &str) -> Fallible<()> {
    match stop.load(Ordering::Relaxed) {
        true => Err(Error::refused(format!("interrupted {when}"), "fit again")),
        false => Ok(()),
    }
}

/// Runs on another thread; this one lets Python go on and asks it about signals.
fn supervise(
    py: Python<'_>,
    run: &Run,
    wait: Wait,
    load: impl FnOnce(&TrainConfig, &AtomicBool) -> Fallible<Loaded> + Send,
) -> PyResult<Outcome> {
    let pool = raised(py, pool::of(run.threads))?;
    let stop = AtomicBool::new(false);
    let (tell_loaded, loaded) = sync_channel(1);
    let (tell_done, done) = sync_channel::<()>(0);
    let (interrupt, finished) = std::thread::scope(|scope| {
        let stop = &stop;
        let worker = scope.spawn(move || {
            // Dropped when the work is over, whatever ends it.
            let _tell_done = tell_done;
            pool.install(move || {
                let tell_loaded = tell_loaded;
                run.execute(load, stop, &tell_loaded)
            })
        });
        if matches!(wait, Wait::UntilLoaded) {
            // Ends without a word where loading fails.
            let _ = loaded.recv();
        }
        let interrupt = py.detach(move || listen(&done, stop));
        (interrupt, worker.join())
    });
    if let Some(interrupt) = interrupt {
        return Err(interrupt);
    }
    let finished = finished.map_err(|_| PyRuntimeError::new_err("the engine stopped at a fault of its own"))?;
    let Finished { model, text, log, report } = raised(py, finished)?;
    Ok((Model::new(model, text), log, report.to_string()))
}

/// Waits until the work is done; a signal asks it to stop before its next release, and is raised then.
fn listen(done: &Receiver<()>, stop: &AtomicBool) -> Option<PyErr> {
    let mut interrupt = None;
    while let Err(RecvTimeoutError::Timeout) = done.recv_timeout(LISTEN) {
        if let Err(signal) = Python::attach(|py| py.check_signals()) {
            stop.store(true, Ordering::Relaxed);
            interrupt = interrupt.or(Some(signal));
        }
    }
    interrupt
}
