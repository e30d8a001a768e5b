//! The same by the public trainer: full batches against Poisson samples at equal numbers of gradients.

use rhograd::error::Fallible;
use rhograd::privacy::{Delta, Epsilon};
use rhograd::train::{Budget, TrainConfig};

use super::DELTA;
use super::points::Point;
use crate::setup::Plant;
use crate::silent::Silent;

const ROWS: Silent = Silent { rows: 400, features: 1_000 };

/// Noise multiplier of a step, and standard error of the mean gradient in units of clip norm over rows.
pub(super) fn run(point: &Point, seed: u64, plant: Option<Plant>) -> Fallible<(f64, f64)> {
    let budget = Budget::Epsilon(Epsilon::new(point.epsilon)?, Some(Delta::new(DELTA)?));
    let mut config = TrainConfig { algorithm: point.algorithm(), rows: Some(ROWS.rows), ..TrainConfig::new(budget) };
    config.settings.steps = Some(point.steps());
    config.settings.sampling_rate = point.sampling_rate();
    let config = ROWS.request(config);
    let heard = ROWS.train(&config, seed)?;
    let factor = if plant == Some(Plant::HalfNoise) { 0.5 } else { 1.0 };
    Ok((factor * heard.noise_multiplier, factor * heard.error))
}
