//! The accountant: questions in numbers and JSON, answers rounded to the safe side.

use pyo3::prelude::*;
use rhograd::accounting::{Conversion, pld, rdp};
use rhograd::calculator::curves::{self, Notion, Series};
use rhograd::calculator::{self, calibrate};
use rhograd::error::{Error, Fallible};
use rhograd::privacy::{Adjacency, Delta, DpEvent, Epsilon};
use rhograd::train::default_delta;
use serde_json::Value;

use crate::errors::{detached, raised};
use crate::request::{adjacency, one_of};

/// Width of the certified interval of the logarithm of a delta, of which the upper end is told.
const LN_TOLERANCE: f64 = 1e-4;

/// Named curves of points.
type Curves = Vec<(String, Vec<(f64, f64)>)>;

/// A kind of question: its name, what it needs, and what it may be given.
type Signature = (&'static str, &'static [&'static str], &'static [&'static str]);

/// Adds the functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(account, module)?)?;
    module.add_function(wrap_pyfunction!(queries, module)?)?;
    module.add_function(wrap_pyfunction!(public_delta, module)?)?;
    module.add_function(wrap_pyfunction!(rho_of_noise, module)?)?;
    module.add_function(wrap_pyfunction!(convert, module)?)?;
    module.add_function(wrap_pyfunction!(noise_multiplier, module)?)?;
    module.add_function(wrap_pyfunction!(most_steps, module)?)?;
    module.add_function(wrap_pyfunction!(largest_rate, module)?)?;
    module.add_function(wrap_pyfunction!(event_epsilon, module)?)?;
    module.add_function(wrap_pyfunction!(event_delta, module)?)?;
    module.add_function(wrap_pyfunction!(curve, module)?)
}

/// The answer to one question, both as JSON.
#[pyfunction]
fn account(py: Python<'_>, name: &str, params: &str) -> PyResult<String> {
    let solve = || {
        let params: Value = serde_json::from_str(params).map_err(|e| no_json("params", &e))?;
        calculator::answer(name, &params)
    };
    detached(py, solve).map(|answer| Value::Object(answer).to_string())
}

/// All kinds of question.
#[pyfunction]
fn queries() -> Vec<Signature> {
    calculator::signatures().map(|kind| (kind.query, kind.required, kind.optional)).collect()
}

/// Delta by the engine's public rule.
#[pyfunction]
#[pyo3(signature = (rows=None))]
fn public_delta(py: Python<'_>, rows: Option<u64>) -> PyResult<f64> {
    raised(py, default_delta(rows)).map(|delta| delta.value())
}

/// What Gaussian releases cost together; noise over the l2 sensitivity.
#[pyfunction]
fn rho_of_noise(py: Python<'_>, noise_multiplier: f64, steps: u64) -> PyResult<f64> {
    raised(py, calibrate::rho(noise_multiplier, steps))
}

/// Epsilon at delta, or the rho that both allow.
#[pyfunction]
#[pyo3(signature = (by, *, rho=None, epsilon=None, delta=None))]
fn convert(py: Python<'_>, by: &str, rho: Option<f64>, epsilon: Option<f64>, delta: Option<f64>) -> PyResult<f64> {
    let solve = || {
        let by = conversion(by)?;
        let (epsilon, delta) = (epsilon.map(Epsilon::new).transpose()?, delta.map(Delta::new).transpose()?);
        match (rho, epsilon, delta) {
            (Some(rho), None, Some(delta)) => by.epsilon(rho, delta).map(|epsilon| epsilon.value()),
            (None, Some(epsilon), Some(delta)) => by.max_rho(epsilon, delta),
            _ => Err(Error::parameter("delta", "is missing, or rho and epsilon are both given", "give two of them")),
        }
    };
    detached(py, solve)
}

/// The least noise over the l2 sensitivity under the relation.
#[pyfunction]
#[pyo3(signature = (epsilon, delta, steps, rate, relation, by, steps_of_pass))]
#[allow(clippy::too_many_arguments, reason = "they have names in Python")]
fn noise_multiplier(
    py: Python<'_>,
    epsilon: f64,
    delta: f64,
    steps: u64,
    rate: Option<f64>,
    relation: &str,
    by: &str,
    steps_of_pass: Option<u64>,
) -> PyResult<f64> {
    let solve = || {
        let (epsilon, delta, relation) = (Epsilon::new(epsilon)?, Delta::new(delta)?, adjacency(relation)?);
        if let Some(steps_of_pass) = steps_of_pass {
            if rate.is_some() {
                return Err(Error::parameter("rate", "is given beside steps_of_pass", "give one of them"));
            }
            return pld::Passes { steps, steps_of_pass }.noise_multiplier(relation, epsilon, delta);
        }
        match rate {
            None => calibrate::noise_multiplier(conversion(by)?, epsilon, delta, steps),
            // Over the sensitivity under add-remove, so the factor is taken off: a power of two, and exact.
            Some(rate) => {
                let recorded = pld::calibrate_noise_multiplier(rate, steps, relation, epsilon, delta)?;
                Ok(recorded / factor(relation))
            }
        }
    };
    detached(py, solve)
}

/// The most steps.
#[pyfunction]
#[pyo3(signature = (epsilon, delta, noise_multiplier, rate, relation, by))]
fn most_steps(
    py: Python<'_>,
    epsilon: f64,
    delta: f64,
    noise_multiplier: f64,
    rate: Option<f64>,
    relation: &str,
    by: &str,
) -> PyResult<u64> {
    let solve = || {
        let (epsilon, delta, relation) = (Epsilon::new(epsilon)?, Delta::new(delta)?, adjacency(relation)?);
        match rate {
            None => calibrate::max_steps(conversion(by)?, epsilon, delta, noise_multiplier),
            Some(rate) => pld::calibrate_steps(rate, noise_multiplier * factor(relation), relation, epsilon, delta),
        }
    };
    detached(py, solve)
}

/// The largest rate of Poisson sampling.
#[pyfunction]
#[pyo3(signature = (epsilon, delta, noise_multiplier, steps, relation))]
fn largest_rate(
    py: Python<'_>,
    epsilon: f64,
    delta: f64,
    noise_multiplier: f64,
    steps: u64,
    relation: &str,
) -> PyResult<f64> {
    let solve = || {
        let relation = adjacency(relation)?;
        let noise = noise_multiplier * factor(relation);
        pld::calibrate_rate(noise, steps, relation, Epsilon::new(epsilon)?, Delta::new(delta)?)
    };
    detached(py, solve)
}

/// An upper bound on the epsilon of an event by one notion.
#[pyfunction]
fn event_epsilon(py: Python<'_>, event: &str, relation: &str, delta: f64, notion: &str) -> PyResult<f64> {
    let solve = || {
        let (event, relation, delta) = (parse(event)?, adjacency(relation)?, Delta::new(delta)?);
        match notion_of(notion)? {
            Notion::Pld => pld::narrow_epsilon(&event, relation, delta, f64::INFINITY).map(|certified| certified.upper),
            other => other.epsilon(&event, relation, delta),
        }
    };
    detached(py, solve)
}

/// An upper bound on the delta of an event by privacy loss distributions or Renyi divergences.
#[pyfunction]
fn event_delta(py: Python<'_>, event: &str, relation: &str, epsilon: f64, notion: &str) -> PyResult<f64> {
    let solve = || {
        let (event, relation, epsilon) = (parse(event)?, adjacency(relation)?, Epsilon::new(epsilon)?);
        let ln = match notion_of(notion)? {
            Notion::Pld => pld::ln_delta(&event, relation, epsilon, LN_TOLERANCE)?.upper,
            Notion::Rdp => rdp::curve(&event, relation)?.to_ln_delta(epsilon)?,
            _ => return Err(Error::parameter("by", "has no delta of an event", "use pld or rdp")),
        };
        if ln.is_nan() {
            return Err(Error::numerical("delta", "is no number"));
        }
        // The exponential is off by less than the factor.
        Ok(if ln == f64::NEG_INFINITY { 0.0 } else { (ln.exp() * (1.0 + 1e-12)).clamp(f64::MIN_POSITIVE, 1.0) })
    };
    detached(py, solve)
}

/// Curves of an event: `delta`, `steps` or `trade-off` against epsilon or error rates.
#[pyfunction]
#[pyo3(signature = (kind, event, relation, notions, delta, steps, points))]
#[allow(clippy::too_many_arguments, reason = "they have names in Python")]
fn curve(
    py: Python<'_>,
    kind: &str,
    event: &str,
    relation: &str,
    notions: Vec<String>,
    delta: f64,
    steps: u64,
    points: usize,
) -> PyResult<Curves> {
    let solve = || -> Fallible<Vec<Series>> {
        let (one, relation, delta) = (parse(event)?, adjacency(relation)?, Delta::new(delta)?);
        let notions = notions.iter().map(|name| notion_of(name)).collect::<Fallible<Vec<_>>>()?;
        if !(2..=10_000).contains(&points) {
            return Err(Error::parameter("points", "must be in 2..=10000", "leave it out"));
        }
        let all = DpEvent::Repeated { event: Box::new(one.clone()), count: steps };
        match one_of("kind", kind, [("delta", 0), ("steps", 1), ("trade-off", 2)])? {
            0 => {
                curves::epsilon_against_delta(&all, relation, &notions, &curves::logarithmic_grid(1e-12, 1e-2, points))
            }
            1 => {
                let steps = curves::logarithmic_grid(1.0, steps.max(2) as f64, points);
                curves::epsilon_against_steps(&one, relation, &notions, delta, &steps)
            }
            _ => curves::trade_offs(&all, relation, &[delta], points),
        }
    };
    let series = detached(py, solve)?;
    Ok(series.into_iter().map(|series| (series.name, series.points)).collect())
}

/// How far a sum moves under a relation, over its bound.
fn factor(relation: Adjacency) -> f64 {
    relation.sum_sensitivity(1) as f64
}

fn conversion(name: &str) -> Fallible<Conversion> {
    one_of("by", name, Conversion::ALL.map(|conversion| (conversion.name(), conversion)))
}

fn notion_of(name: &str) -> Fallible<Notion> {
    one_of("notion", name, Notion::ALL.map(|notion| (notion.name(), notion)))
}

fn parse(event: &str) -> Fallible<DpEvent> {
    serde_json::from_str(event).map_err(|e| no_json("event", &e))
}

fn no_json(what: &str, error: &serde_json::Error) -> Error {
    Error::parameter(what, format!("is not understood: {error}"), "see rhograd.accounting for its form")
}
