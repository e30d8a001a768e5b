//! The price by the public trainer: noise of the mean gradient under both relations, and what a private count costs.

use rhograd::error::Fallible;
use rhograd::privacy::{Adjacency, Delta, Epsilon};
use rhograd::train::{Algorithm, Budget, Plan, TrainConfig};

use super::DELTA;
use super::noise::Run;
use crate::setup::{Plant, seed_of};
use crate::silent::Silent;

const ROWS: Silent = Silent { rows: 400, features: 1_000 };

/// The request of a run; `rows` is what is public of their number under add-remove.
fn request(run: &Run, adjacency: Adjacency, rows: Option<u64>) -> Fallible<TrainConfig> {
    let budget = Budget::Epsilon(Epsilon::new(run.given)?, Some(Delta::new(DELTA)?));
    let algorithm = if run.one_in == 1 { Algorithm::DpGd } else { Algorithm::DpSgd };
    let mut config = TrainConfig { algorithm, adjacency, rows, ..TrainConfig::new(budget) };
    config.settings.steps = Some(run.steps);
    config.settings.sampling_rate = (run.one_in > 1).then_some(run.rate());
    Ok(ROWS.request(config))
}

/// Noise of the mean gradient in units of clip norm over rows.
pub(super) fn error(run: &Run, adjacency: Adjacency, seed: u64, plant: Option<Plant>) -> Fallible<f64> {
    let public = match adjacency {
        Adjacency::AddRemove => Some(ROWS.rows),
        Adjacency::ReplaceOne => None,
    };
    // The relation is part of the key, so that the two sides of a ratio share no noise.
    let seed = seed_of(&run.key(adjacency.name(), seed));
    let heard = ROWS.train(&request(run, adjacency, public)?, seed)?;
    let halved = plant == Some(Plant::HalfNoise) && adjacency == Adjacency::ReplaceOne;
    Ok(if halved { 0.5 } else { 1.0 } * heard.error)
}

/// What a private count costs under add-remove.
pub(super) struct Count {
    /// Noise of a step where the count is released, over that where the number of rows is declared.
    pub(super) noise: f64,
    /// The share of rho that the release of the count gets.
    pub(super) share: f64,
    /// Noise of the count, in rows.
    pub(super) error: f64,
}

/// By the trainer's plans of a full-batch run.
pub(super) fn count(run: &Run) -> Fallible<Count> {
    let plan = |rows| ROWS.plan(&request(run, Adjacency::AddRemove, rows)?);
    let (declared, private) = (plan(Some(ROWS.rows))?, plan(None)?);
    let step = |plan: &Plan| plan.charges().last().map_or(f64::NAN, |charge| charge.noise_multiplier());
    let charges = private.charges();
    let count = charges.first().filter(|_| charges.len() == 2);
    let rho = match count {
        Some(charge) => charge.rho()?.upper(),
        None => f64::NAN,
    };
    Ok(Count {
        noise: step(&private) / step(&declared),
        share: rho / private.rho.upper(),
        error: count.map_or(f64::NAN, |charge| charge.noise_multiplier()),
    })
}
