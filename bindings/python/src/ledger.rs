//! The ledger: caps and spending.

use std::path::PathBuf;

use pyo3::prelude::*;
use rhograd::error::Fallible;
use rhograd::ledger::{DatasetSummary, Ledger};
use rhograd::privacy::{DatasetId, Rho, Scope};
use serde_json::{Value, json};

use crate::errors::detached;
use crate::request::adjacency;

/// Adds the functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(ledger_show, module)?)?;
    module.add_function(wrap_pyfunction!(ledger_cap, module)?)
}

fn summary(of: &DatasetSummary) -> Value {
    json!({
        "dataset": of.dataset.as_str(),
        "adjacency": of.adjacency.to_string(),
        "spent_rho": of.spent.upper(),
        "spent_delta": of.spent_delta,
        "cap_rho": of.cap.as_ref().map(Rho::lower),
        "left_rho": of.left.as_ref().map(Rho::lower),
        "runs": of.runs,
        "completed": of.completed,
        "seeded": of.seeded,
        "cap_raised": of.cap_raised,
    })
}

/// The accounts of a ledger as JSON; with `verify` recomputed from its first byte.
#[pyfunction]
#[pyo3(signature = (path, verify=false))]
fn ledger_show(py: Python<'_>, path: PathBuf, verify: bool) -> PyResult<String> {
    let read = || -> Fallible<Vec<DatasetSummary>> {
        let mut ledger = Ledger::open_existing(path)?;
        if verify { Ok(ledger.verify()?.datasets) } else { ledger.summaries() }
    };
    let accounts = detached(py, read)?;
    Ok(Value::from(accounts.iter().map(summary).collect::<Vec<_>>()).to_string())
}

/// Sets the cap of a data set, which is entered where it is not known.
#[pyfunction]
#[pyo3(signature = (path, dataset, rho, relation))]
fn ledger_cap(py: Python<'_>, path: PathBuf, dataset: String, rho: f64, relation: &str) -> PyResult<()> {
    let set = || {
        let scope = Scope { dataset: DatasetId::new(dataset)?, adjacency: adjacency(relation)? };
        let cap = Rho::from_f64(rho)?;
        let mut ledger = Ledger::open_or_create(path)?;
        match ledger.summaries()?.iter().any(|known| known.dataset == scope.dataset) {
            true => ledger.set_cap(&scope.dataset, &cap),
            false => ledger.init(&scope, Some(&cap)),
        }
    };
    detached(py, set)
}
