//! The request of an estimator, as JSON, to the engine's configuration.

use std::collections::BTreeMap;

use rhograd::error::{Error, Fallible};
use rhograd::optim::{Algorithm, Features, SETTINGS, Settings};
use rhograd::privacy::{Adjacency, Delta, Epsilon, NoiseLaw, Rho};
use rhograd::train::{Budget, Candidate, FAMILIES, FamilyParameters, ModelKind, TrainConfig};
use serde::Deserialize;
use serde_json::Value;

/// What can be asked for; absent is "by the engine's rule".
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Request {
    epsilon: Option<f64>,
    delta: Option<f64>,
    rho: Option<f64>,
    adjacency: Option<String>,
    model: Option<String>,
    quantile: Option<f64>,
    huber_threshold: Option<f64>,
    algorithm: Option<String>,
    features: Option<String>,
    noise: Option<String>,
    tune: Option<String>,
    #[serde(rename = "standardise")]
    standardize: Option<bool>,
    rows: Option<u64>,
    evaluate_budget: Option<f64>,
    holdout: Option<f64>,
    accept_large_delta: Option<bool>,
    /// The settings, by the names of [`SETTINGS`] with `_` for `-`.
    #[serde(flatten)]
    settings: BTreeMap<String, Value>,
}

/// Reads a request.
///
/// # Errors
/// Names the parameter that cannot be used.
pub fn config(text: &str) -> Fallible<TrainConfig> {
    let asked: Request = serde_json::from_str(text)
        .map_err(|e| Error::parameter("a parameter", format!("cannot be used: {e}"), "correct its type"))?;
    let bare = TrainConfig::new(budget(&asked)?);
    let config = TrainConfig {
        adjacency: match &asked.adjacency {
            None => bare.adjacency,
            Some(name) => adjacency(name)?,
        },
        model: asked.model.as_deref().map(|name| family(name, &asked)).transpose()?,
        algorithm: algorithm(&asked, bare.algorithm)?,
        noise: match &asked.noise {
            None => bare.noise,
            Some(name) => {
                let laws = [("normal", NoiseLaw::FlooredNormal), ("discrete-gaussian", NoiseLaw::DiscreteGaussian)];
                one_of("noise", name, laws)?
            }
        },
        settings: settings(&asked)?,
        standardize: asked.standardize.filter(|wanted| !wanted),
        evaluate_budget: asked.evaluate_budget,
        holdout: asked.holdout.unwrap_or(bare.holdout),
        rows: asked.rows,
        accept_large_delta: asked.accept_large_delta.unwrap_or(false),
        ..bare
    };
    let tune = asked.tune.as_ref().map(|grid| Candidate::grid(grid, &config)).transpose()?;
    let config = TrainConfig { tune: tune.unwrap_or_default(), ..config };
    config.check_given()?;
    Ok(config)
}

fn algorithm(asked: &Request, otherwise: Algorithm) -> Fallible<Algorithm> {
    let named = match &asked.algorithm {
        None => otherwise,
        Some(name) => one_of("algorithm", name, Algorithm::ALL.map(|a| (a.name(), a)))?,
    };
    let form = asked.features.as_ref().map(|name| one_of("features", name, Features::NAMED)).transpose()?;
    Features::algorithm(form, named)
}

fn budget(asked: &Request) -> Fallible<Budget> {
    let delta = asked.delta.map(Delta::new).transpose()?;
    match (asked.epsilon, asked.rho) {
        (Some(epsilon), None) => Ok(Budget::Epsilon(Epsilon::new(epsilon)?, delta)),
        (None, Some(rho)) => Ok(Budget::Rho(Rho::from_f64(rho)?, delta)),
        (None, None) => {
            Err(Error::parameter("epsilon", "is missing, and so is rho", "give one of them, as in epsilon=1"))
        }
        (Some(_), Some(_)) => Err(Error::parameter("epsilon", "is given, and so is rho", "give one of them")),
    }
}

fn settings(asked: &Request) -> Fallible<Settings> {
    let mut settings = Settings::default();
    for (name, value) in asked.settings.iter().filter(|(_, value)| !value.is_null()) {
        let setting = SETTINGS.iter().find(|setting| setting.name.replace('-', "_") == *name).ok_or_else(|| {
            Error::parameter("a parameter", format!("cannot be used: unknown field `{name}`"), "correct its name")
        })?;
        setting.read(&mut settings, value.as_str().map_or_else(|| value.to_string(), str::to_owned).as_str())?;
    }
    Ok(settings)
}

fn family(name: &str, asked: &Request) -> Fallible<ModelKind> {
    let given = FamilyParameters { quantile: asked.quantile, huber_threshold: asked.huber_threshold };
    let names = FAMILIES.iter().map(|family| family.name).collect::<Vec<_>>().join(", ");
    match FAMILIES.iter().find(|family| family.name == name) {
        Some(family) => Ok((family.model)(&given)),
        None => Err(Error::parameter("model", format!("is {name:?}"), format!("use one of {names}"))),
    }
}

/// The neighbouring relation of a name.
///
/// # Errors
/// Lists the names that there are.
pub fn adjacency(name: &str) -> Fallible<Adjacency> {
    one_of("adjacency", name, [("add-remove", Adjacency::AddRemove), ("replace-one", Adjacency::ReplaceOne)])
}

/// The value of a name.
///
/// # Errors
/// Lists the names that there are.
pub fn one_of<T, const N: usize>(parameter: &str, name: &str, known: [(&str, T); N]) -> Fallible<T> {
    let names = known.each_ref().map(|(name, _)| *name).join(", ");
    let found = known.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value);
    found.ok_or_else(|| Error::parameter(parameter, format!("is {name:?}"), format!("use one of {names}")))
}
