//! Private summaries of the columns of a file.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use rhograd::data::{CsvFile, Schema};
use rhograd::error::{Error, Fallible};
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::privacy::{Delta, Epsilon, Rho};
use rhograd::summary::{
    Statistic, SummaryFile, SummaryNoise, SummaryRequest, finish_summary, schema_counted, summarize_from,
};
use rhograd::train::{Budget, Checkpoint, sha256_hex};
use serde_json::json;

use crate::errors::{detached, raised};
use crate::request::{adjacency, one_of};
use crate::supervise::{Ears, supervise};

/// Adds the functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(summarize_file, module)?)?;
    module.add_function(wrap_pyfunction!(summary_schema_counted, module)?)?;
    module.add_function(wrap_pyfunction!(verify_summary, module)?)
}

/// Whether a ledger holds the release that a schema was drafted by; true of a schema that was written by hand.
#[pyfunction]
fn summary_schema_counted(py: Python<'_>, schema: &str, ledger: PathBuf) -> PyResult<bool> {
    detached(py, || {
        let schema = Schema::parse(schema, Path::new("schema"))?;
        // A ledger that is still to be made holds nothing, and is not made by a question.
        match schema.released.is_none() || !ledger.exists() {
            true => Ok(schema.released.is_none()),
            false => schema_counted(&schema, &mut Ledger::open_to_read(&ledger)?),
        }
    })
}

/// Releases statistics of a file; the text of the summary.
#[pyfunction]
#[pyo3(signature = (path, schema, statistics, *, epsilon=None, rho=None, delta=None, accept_large_delta=false, relation="add-remove", noise="normal", ledger=None, seed=None))]
#[allow(clippy::too_many_arguments, reason = "they have names in Python")]
fn summarize_file(
    py: Python<'_>,
    path: PathBuf,
    schema: &str,
    statistics: Vec<String>,
    epsilon: Option<f64>,
    rho: Option<f64>,
    delta: Option<f64>,
    accept_large_delta: bool,
    relation: &str,
    noise: &str,
    ledger: Option<PathBuf>,
    seed: Option<u64>,
) -> PyResult<String> {
    let request = || -> Fallible<SummaryRequest> {
        let delta = delta.map(Delta::new).transpose()?;
        let budget = match (epsilon, rho) {
            (Some(epsilon), None) => Budget::Epsilon(Epsilon::new(epsilon)?, delta),
            (None, Some(rho)) => Budget::Rho(Rho::from_f64(rho)?, delta),
            _ => return Err(Error::parameter("epsilon", "or rho is needed, and not both", "give one of them")),
        };
        Ok(SummaryRequest {
            schema: Schema::parse(schema, Path::new("schema"))?,
            adjacency: adjacency(relation)?,
            budget,
            noise: one_of("noise", noise, [("normal", SummaryNoise::Normal), ("laplace", SummaryNoise::Laplace)])?,
            statistics: statistics.iter().map(|text| text.parse()).collect::<Fallible<Vec<Statistic>>>()?,
            accept_large_delta,
        })
    };
    let request = raised(py, request())?;
    raised(py, request.check())?;
    supervise(py, None, Ears::default(), |caller| {
        let source = seed.map_or_else(NoiseSource::from_os, |seed| Ok(NoiseSource::insecure_from_seed(seed)))?;
        let facts = std::fs::metadata(&path).map_err(|e| Error::io(&path, "read the data", e))?;
        let data = format!("{} {} {:?}", path.display(), facts.len(), facts.modified().ok());
        let file = CsvFile::open(&path)?;
        caller.settle("before anything was charged")?;
        let mut kept = match &ledger {
            Some(path) => Ledger::open_or_create(path)?,
            None => Ledger::in_memory()?,
        };
        // Beside the ledger, named after what was asked for, so that the same call goes on where this one is stopped.
        let checkpoint = match &ledger {
            None => Checkpoint::none(),
            Some(ledger) => {
                let about = format!("{} {data} {seed:?}", request.digest());
                let checkpoint = Checkpoint::beside(ledger, &sha256_hex(about.as_bytes())[..16])?;
                checkpoint.about(format!("seed {seed:?}"));
                checkpoint
            }
        };
        let made = match finish_summary(&checkpoint, &request, &mut kept)? {
            Some(made) => made,
            None => summarize_from(&checkpoint, &data, file, &request, &mut kept, source)?,
        };
        // Where it cannot go, the same call has the same summary once more.
        let _ = checkpoint.remove();
        Ok(made.text)
    })
}

/// What is checked of a summary, as JSON.
#[pyfunction]
#[pyo3(signature = (text, *, ledger=None))]
fn verify_summary(py: Python<'_>, text: &str, ledger: Option<PathBuf>) -> PyResult<String> {
    let checked = detached(py, || {
        let file = SummaryFile::parse(text, Path::new("summary"))?;
        let mut ledger = ledger.map(Ledger::open_to_read).transpose()?;
        file.verify(text, ledger.as_mut())
    });
    let (checks, noted) = checked?;
    let list: Vec<_> = checks.iter().map(|check| json!({"check": check.what, "held": check.held})).collect();
    let held = checks.iter().all(|check| check.held);
    Ok(json!({"verified": held, "authenticated": held && noted, "checks": list}).to_string())
}
