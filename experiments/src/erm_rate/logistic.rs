//! The public trainer with the textbook parameters, on logistic loss with its minimiser at the edge of the ball.

use std::fmt::Write as _;

use nalgebra::{DMatrix, DVector};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::accounting::erm::NoisyDescent;
use rhograd::data::SchemaBuilder;
use rhograd::error::{Error, Fallible};
use rhograd::privacy::{Adjacency, Delta, Rho};
use rhograd::train::{Algorithm, Budget, Metrics, TrainConfig, evaluate};

use super::points::Point;
use super::{DIAMETER, LIPSCHITZ, Measured, step};
use crate::rows::{header, signs, trained_on};
use crate::setup::Plant;

/// Rounds of accelerated descent to the reference minimum.
const ROUNDS: usize = 600;

/// Trains, and compares the mean loss on the training rows with its minimum over the ball.
///
/// Rows are corners of the cube of norm sqrt(d), so the ball has radius `1/sqrt(d)` and L R is that of the unit ball.
pub(super) fn run(point: &Point, theory: &NoisyDescent, seed: u64, plant: Option<Plant>) -> Fallible<Measured> {
    let root = (point.d as f64).sqrt();
    let budget = Budget::Rho(Rho::from_f64(theory.rho)?, Some(Delta::new(point.delta)?));
    let algorithm = Algorithm::DpGdTheory;
    let mut config = TrainConfig { algorithm, adjacency: Adjacency::ReplaceOne, ..TrainConfig::new(budget) };
    // The theorem holds for any delta.
    config.accept_large_delta = true;
    config.settings.clip = Some(LIPSCHITZ * root);
    config.settings.radius = Some(DIAMETER / 2.0 / root);
    if plant.is_some() {
        // A step of the unit ball, in coordinates whose gradients are longer and whose ball is smaller.
        config.settings.learning_rate = Some(step(theory, plant) / (point.d as f64));
    }
    let (margins, text) = rows(point, seed);
    let schema = signs(SchemaBuilder::classification("corners", "y").positive("1"), 1..point.d)?;
    let metrics =
        trained_on(&text, (&config, schema), seed, |_| (), |trained, file, ()| evaluate(&trained.model, file))?;
    let Metrics::Label { log_loss: Some(loss), .. } = metrics else {
        return Err(Error::numerical("erm-rate", "logistic regression has no log loss"));
    };
    Ok(Measured { excess: loss - minimum(&margins, DIAMETER / 2.0 / root), noise: f64::NAN })
}

/// Rows times the sign of their label, intercept first, and the CSV.
fn rows(point: &Point, seed: u64) -> (DMatrix<f64>, String) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let probabilities: Vec<f64> = (1..point.d).map(|_| random.random()).collect();
    let mut margins = DMatrix::zeros(point.n as usize, point.d);
    let mut text = header(1..point.d);
    for i in 0..point.n as usize {
        let label = random.random_bool(0.5);
        let sign = if label { 1.0 } else { -1.0 };
        margins[(i, 0)] = sign;
        for (j, probability) in probabilities.iter().enumerate() {
            let s = if random.random_bool(*probability) { 1.0 } else { -1.0 };
            margins[(i, j + 1)] = s;
            let _ = write!(text, "{},", s * sign);
        }
        let _ = writeln!(text, "{}", u8::from(label));
    }
    (margins, text)
}

/// The least mean of `ln(1 + exp(-<w, s_i>))` over a ball by accelerated projected descent (Beck and Teboulle 2009).
fn minimum(margins: &DMatrix<f64>, radius: f64) -> f64 {
    let (n, d) = (margins.nrows() as f64, margins.ncols());
    // The mean of s s^T / 4 has an eigenvalue of at most its trace.
    let eta = 4.0 / d as f64;
    let (mut w, mut ahead, mut t) = (DVector::<f64>::zeros(d), DVector::<f64>::zeros(d), 1.0f64);
    for _ in 0..ROUNDS {
        let pulls = (margins * &ahead).map(|m| -1.0 / (1.0 + m.exp()));
        let mut next = &ahead - margins.tr_mul(&pulls) * (eta / n);
        next *= (radius / next.norm()).min(1.0);
        let grown = (1.0 + (1.0 + 4.0 * t * t).sqrt()) / 2.0;
        ahead = &next + (&next - &w) * ((t - 1.0) / grown);
        (w, t) = (next, grown);
    }
    (margins * w).map(|m| (-m).max(0.0) + (-m.abs()).exp().ln_1p()).mean()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_is_that_of_a_case_solved_by_hand() {
        // All rows alike: the minimiser points along the row, to the edge of the ball.
        let margins = DMatrix::from_element(3, 4, 1.0);
        let by_hand = (-2.0f64 * 0.5).exp().ln_1p();
        assert!((minimum(&margins, 0.5) - by_hand).abs() < 1e-9);
    }
}
