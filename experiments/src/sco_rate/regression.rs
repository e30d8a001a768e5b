//! The public trainer's localization on least squares with independent columns of signs, whose population risk is known.

use std::fmt::Write as _;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::data::SchemaBuilder;
use rhograd::error::{Error, Fallible};
use rhograd::privacy::{Adjacency, Delta, Rho};
use rhograd::train::{Algorithm, Budget, Coefficient, Feature, ModelFile, Target, TrainConfig};

use super::points::{DELTA, Point};
use crate::rows::{header, signs, trained_on};
use crate::setup::Plant;

/// Norm of the minimiser in units of `sqrt(d)` times [`Point::scale`].
const FAR: f64 = 2.0;

/// Largest residual that is not cut: labels are 1 long, predictions in the ball shorter.
const SLOPE: f64 = 1.75;

/// The planted step size in units of the trainer's own.
const WRONG_STEP: f64 = 0.05;

/// Trains and gives the excess population risk in units of L R.
///
/// Rows are corners of the cube of norm sqrt(d), the first coordinate the intercept; targets are signs whose mean is R times
/// the second coordinate. Columns are independent, so the excess risk of w is `|w - w*|^2 / 2` without error.
pub(super) fn run(point: &Point, seed: u64, plant: Option<Plant>) -> Fallible<f64> {
    let root = (point.d as f64).sqrt();
    let (radius, clip) = (FAR * root * point.scale(), SLOPE * root);
    let rho = point.rho() * if plant == Some(Plant::HalfNoise) { 4.0 } else { 1.0 };
    let budget = Budget::Rho(Rho::from_f64(rho)?, Some(Delta::new(DELTA)?));
    let (algorithm, adjacency) = (Algorithm::Localization, Adjacency::ReplaceOne);
    // One delta for all numbers of rows, so that nothing but these varies.
    let mut config = TrainConfig { algorithm, adjacency, accept_large_delta: true, ..TrainConfig::new(budget) };
    config.standardize = Some(false);
    config.settings.clip = Some(clip);
    config.settings.radius = Some(radius);
    if plant == Some(Plant::WrongStep) {
        let rate = (4.0 / (point.n as f64).sqrt()).min((2.0 * rho).sqrt() / (2.0 * root));
        config.settings.learning_rate = Some(WRONG_STEP * radius / clip * rate);
    }
    let schema = signs(SchemaBuilder::regression("signs", "y", -1.0, 1.0), 1..point.d)?;
    let text = rows(point, radius, seed);
    let weights = trained_on(&text, (&config, schema), seed, |_| (), |trained, _, ()| weights(&trained.model))?;
    let far = weights.iter().enumerate().map(|(j, w)| if j == 1 { w - radius } else { *w });
    Ok(far.map(|w| w * w).sum::<f64>() / 2.0 / (clip * radius))
}

fn rows(point: &Point, radius: f64, seed: u64) -> String {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut text = header(1..point.d);
    let sign = |up: bool| if up { "1" } else { "-1" };
    for _ in 0..point.n {
        let first: bool = random.random();
        let mean = if first { radius } else { -radius };
        let _ = write!(text, "{},", sign(first));
        for _ in 2..point.d {
            let _ = write!(text, "{},", sign(random.random()));
        }
        let _ = writeln!(text, "{}", sign(random.random_bool(((1.0 + mean) / 2.0).clamp(0.0, 1.0))));
    }
    text
}

/// What the model predicts, as coefficients of the intercept and the columns.
fn weights(model: &ModelFile) -> Fallible<Vec<f64>> {
    let Target::Number { centre, scale, .. } = &model.target else {
        return Err(Error::numerical("sco-rate", "a regression predicts no number"));
    };
    let one = |coefficient: &Coefficient| coefficient.values().iter().sum::<f64>();
    let columns = model.features.iter().map(|feature| match feature {
        Feature::Numeric { coefficient, .. } => one(coefficient) * scale,
        Feature::Steps { .. } | Feature::Categorical { .. } => f64::NAN,
    });
    Ok(std::iter::once(centre + scale * one(&model.intercept)).chain(columns).collect())
}
