//! The ledger: caps and spending.

use std::path::PathBuf;

use pyo3::prelude::*;
use rhograd::data::Protect;
use rhograd::error::{Error, Fallible};
use rhograd::ledger::{Cap, DatasetSummary, Ledger};
use rhograd::privacy::{DatasetId, Delta, Epsilon, PrivacyUnit, Rho, Scope};
use serde_json::{Value, json};

use crate::errors::detached;
use crate::request::adjacency;

/// Adds the functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(ledger_show, module)?)?;
    module.add_function(wrap_pyfunction!(ledger_cap, module)?)
}

fn summary(of: &DatasetSummary) -> Value {
    let asked = of.cap.as_ref().and_then(Cap::asked);
    json!({
        "dataset": of.dataset.as_str(),
        "adjacency": of.adjacency.to_string(),
        "unit": of.unit,
        "spent_rho": of.spent.upper(),
        "spent_delta": of.spent_delta,
        "cap_notion": of.cap.as_ref().map(Cap::notion),
        "cap_epsilon": asked.map(|asked| asked.epsilon),
        "cap_delta": asked.map(|asked| asked.delta),
        "cap_rho": of.cap.as_ref().map(|cap| cap.most_rho().lower()),
        "cap_order": of.cap.as_ref().and_then(Cap::order),
        "cap_claims_delta": of.cap.as_ref().and_then(Cap::claims_delta),
        "spent_at_order": of.spent_at_order.as_ref().map(Rho::upper),
        "left_rho": of.left.as_ref().map(Rho::lower),
        "left_delta": of.left_delta,
        "runs": of.runs,
        "completed": of.completed,
        "seeded": of.seeded,
        "cap_raised": of.cap_raised,
        "runs_before_cap": of.runs_before_cap,
    })
}

/// The accounts of a ledger as JSON; with `verify` recomputed from its first byte.
#[pyfunction]
#[pyo3(signature = (path, verify=false))]
fn ledger_show(py: Python<'_>, path: PathBuf, verify: bool) -> PyResult<String> {
    let read = || -> Fallible<Vec<DatasetSummary>> {
        let mut ledger = Ledger::open_to_read(path)?;
        if verify { Ok(ledger.verify()?.datasets) } else { ledger.summaries() }
    };
    let accounts = detached(py, read)?;
    Ok(Value::from(accounts.iter().map(summary).collect::<Vec<_>>()).to_string())
}

/// Sets the cap of a data set, which is entered where it is not known.
#[pyfunction]
#[pyo3(signature = (path, dataset, rho, relation, *, epsilon=None, delta=None, claims_delta=None, gaussian=false, renyi=false, order=None, accept_large_delta=false, unit=None, protect=None, public=None))]
#[allow(clippy::too_many_arguments, reason = "they have names in Python")]
fn ledger_cap(
    py: Python<'_>,
    path: PathBuf,
    dataset: String,
    rho: Option<f64>,
    relation: &str,
    epsilon: Option<f64>,
    delta: Option<f64>,
    claims_delta: Option<f64>,
    gaussian: bool,
    renyi: bool,
    order: Option<f64>,
    accept_large_delta: bool,
    unit: Option<String>,
    protect: Option<String>,
    public: Option<Vec<String>>,
) -> PyResult<()> {
    let cap = || -> Fallible<Cap> {
        if gaussian && claims_delta.is_some() {
            let problem = "is given, and a Gaussian cap admits no claims";
            return Err(Error::parameter("claims_delta", problem, "leave one of them out"));
        }
        if renyi && (gaussian || claims_delta.is_some()) {
            let problem = "is given, and so is gaussian or claims_delta, which say something else of the cap";
            return Err(Error::parameter("renyi", problem, "leave the others out"));
        }
        let cap = match (rho, epsilon, delta) {
            (Some(rho), None, None) if gaussian => Cap::gaussian_rho(&Rho::from_f64(rho)?)?,
            (Some(rho), None, None) if renyi => {
                let order = order.ok_or_else(|| {
                    let problem = "names no order, and without epsilon and delta none is the best";
                    Error::parameter("renyi", problem, "give the order, or epsilon= and delta=")
                })?;
                Cap::renyi_rho(&Rho::from_f64(rho)?, order)?
            }
            (None, Some(epsilon), Some(delta)) if renyi => {
                Cap::renyi(Epsilon::new(epsilon)?, Delta::new(delta)?, order)?
            }
            (Some(rho), None, None) => Cap::rho(&Rho::from_f64(rho)?, claims_delta.unwrap_or(0.0))?,
            (None, Some(epsilon), Some(delta)) if gaussian => {
                Cap::gaussian(Epsilon::new(epsilon)?, Delta::new(delta)?)?
            }
            (None, Some(epsilon), Some(delta)) => Cap::zcdp(Epsilon::new(epsilon)?, Delta::new(delta)?, claims_delta)?,
            _ => {
                let cure = "give rho=, or epsilon= and delta=";
                return Err(Error::parameter("rho", "is not the only number of the cap, or is missing", cure));
            }
        };
        cap.with_usual_delta(accept_large_delta)
    };
    let set = || {
        let protect = protect.as_deref().map(Protect::named).transpose()?;
        let by = match (protect, unit.as_deref()) {
            (Some(Protect::Label), None) => PrivacyUnit::Label,
            (Some(Protect::Label), Some(_)) => {
                let problem = "is label, and a unit is given, by which persons are protected";
                return Err(Error::parameter("protect", problem, "leave one of them out"));
            }
            (_, None) => PrivacyUnit::private_cells(public.iter().flatten().map(String::as_str)),
            (_, Some(column)) => PrivacyUnit::person(column)?,
        };
        if public.is_some() && !by.is_private_cells() {
            let problem = "names no column, or stands beside a unit, or beside protect=\"label\"";
            return Err(Error::parameter("public", problem, "name public columns, and leave the others out"));
        }
        by.check(adjacency(relation)?)?;
        let scope = Scope { dataset: DatasetId::new(dataset)?, adjacency: adjacency(relation)?, unit: by };
        let cap = cap()?;
        let mut ledger = Ledger::open_or_create(path)?;
        match ledger.summaries()?.into_iter().find(|known| known.dataset == scope.dataset) {
            Some(known) if (unit.is_some() || protect.is_some() || public.is_some()) && known.unit != scope.unit => {
                let problem = format!("is not what the data set is counted by: the {}", known.unit);
                Err(Error::parameter("unit", problem, "leave it out: a data set keeps its unit"))
            }
            Some(_) => ledger.set_cap(&scope.dataset, &cap),
            None => ledger.init(&scope, Some(&cap)),
        }
    };
    detached(py, set)
}
