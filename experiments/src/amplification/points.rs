//! Where the noise of sampled steps is measured, and what the theory expects there.

use rhograd::accounting::{gaussian, pld};
use rhograd::error::Fallible;
use rhograd::privacy::{Adjacency, Delta, DpEvent, Epsilon, Mechanism};
use rhograd::train::Algorithm;

use super::DELTA;
use crate::results::Row;
use crate::setup::Plant;

/// Width of the interval in which a calibrated epsilon is looked for, relative to the budget.
const CHECKED: f64 = 1e-3;

/// A run that computes `passes * n` gradients of single rows in expectation, by steps on samples of `rate * n` rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) epsilon: f64,
    pub(super) passes: u64,
    /// One over the sampling rate.
    pub(super) one_in: u64,
}

impl Point {
    pub(super) fn rate(&self) -> f64 {
        1.0 / self.one_in as f64
    }

    pub(super) fn steps(&self) -> u64 {
        self.passes * self.one_in
    }

    /// The trainer's algorithm for these steps.
    pub(super) fn algorithm(&self) -> Algorithm {
        if self.one_in == 1 { Algorithm::DpGd } else { Algorithm::DpSgd }
    }

    /// The rate, where something is sampled.
    pub(super) fn sampling_rate(&self) -> Option<f64> {
        (self.one_in > 1).then_some(self.rate())
    }

    pub(super) fn key(&self, part: &str, seed: u64) -> [String; 5] {
        let Point { epsilon, passes, one_in } = self;
        [part.to_owned(), epsilon.to_string(), passes.to_string(), one_in.to_string(), seed.to_string()]
    }

    /// Whether a line belongs to this point.
    pub(super) fn is(&self, row: &Row<'_>) -> bool {
        let numbers = [("epsilon", self.epsilon), ("passes", self.passes as f64), ("one_in", self.one_in as f64)];
        numbers.iter().all(|(name, value)| row.is(name, *value))
    }

    /// The least noise multiplier that the budget allows, by privacy-loss distributions, or half of it.
    pub(super) fn noise_multiplier(&self, plant: Option<Plant>) -> Fallible<f64> {
        let (epsilon, delta) = (Epsilon::new(self.epsilon)?, Delta::new(DELTA)?);
        let relation = Adjacency::AddRemove;
        let z = pld::calibrate_noise_multiplier(self.rate(), self.steps(), relation, epsilon, delta)?;
        Ok(if plant == Some(Plant::HalfNoise) { z / 2.0 } else { z })
    }

    /// A certified bound on the epsilon that a noise multiplier has, over that of the budget.
    pub(super) fn spent(&self, z: f64) -> Fallible<f64> {
        let event = DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: z }, self.rate(), self.steps());
        let found = pld::epsilon(&event, Adjacency::AddRemove, Delta::new(DELTA)?, CHECKED * self.epsilon)?;
        Ok(found.upper / self.epsilon)
    }

    /// Standard error of the mean gradient of the run, in units of clip norm over rows.
    ///
    /// A step divides a sum with noise of deviation `z C` by `q n`, and T of them are averaged:
    /// `z C / (q n sqrt(T)) = z / sqrt(K q) * C / n` for `K = T q` passes.
    pub(super) fn error(&self, z: f64) -> f64 {
        z / (self.passes as f64 * self.rate()).sqrt()
    }

    /// The same without sampling: `1/mu`, whatever the number of steps (Balle and Wang 2018, Theorem 8).
    pub(super) fn full_batch(&self) -> Fallible<f64> {
        Ok(1.0 / gaussian::max_mu(Epsilon::new(self.epsilon)?, Delta::new(DELTA)?)?)
    }

    /// What the central limit says of a noise multiplier: `mu = q sqrt(T (e^(1/z^2) - 1))` makes the error
    /// `z sqrt(e^(1/z^2) - 1)` times that without sampling (Bu, Dong, Long, Su 2020, Theorem 5).
    pub(super) fn limit(z: f64) -> f64 {
        z * (1.0 / (z * z)).exp_m1().sqrt()
    }

    /// The error by the central limit at a sampling rate, over that without sampling: the noise multiplier solves
    /// `e^(1/z^2) - 1 = mu^2 / (K q)`.
    pub(super) fn limit_at(&self, rate: f64) -> Fallible<f64> {
        let full = self.full_batch()?;
        let z = (1.0 / (full * full * self.passes as f64 * rate)).ln_1p().powf(-0.5);
        Ok(Self::limit(z))
    }

    /// The rate at which that noise multiplier is 1: `mu^2 / (K (e - 1))`.
    pub(super) fn limit_crossover(&self) -> Fallible<f64> {
        let full = self.full_batch()?;
        Ok(1.0 / (full * full * self.passes as f64 * 1f64.exp_m1()))
    }
}

/// Epsilon and passes of every curve.
pub(super) fn curves(quick: bool) -> &'static [(f64, u64)] {
    if quick {
        &[(1.0, 1), (1.0, 10), (1.0, 30), (1.0, 100)]
    } else {
        &[
            (1.0, 1),
            (1.0, 3),
            (1.0, 10),
            (1.0, 30),
            (1.0, 100),
            (1.0, 300),
            (1.0, 1_000),
            (8.0, 10),
            (8.0, 100),
            (8.0, 1_000),
        ]
    }
}

/// The points of a curve by falling rate, from 1 to 2^-14, or to 2^-17 for the curve that turns last.
pub(super) fn curve((epsilon, passes): (f64, u64), quick: bool) -> Vec<Point> {
    let step = if quick { 2 } else { 1 };
    let last = if (epsilon, passes) == (1.0, 1_000) { 17 } else { 14 };
    (0..=last).step_by(step).map(|power| Point { epsilon, passes, one_in: 1 << power }).collect()
}

/// Runs of the public trainer: a budget so small that sampling is free, and one so large that it is not.
pub(super) const TRAINED: [Point; 6] = [
    Point { epsilon: 0.5, passes: 50, one_in: 1 },
    Point { epsilon: 0.5, passes: 50, one_in: 2 },
    Point { epsilon: 0.5, passes: 50, one_in: 10 },
    Point { epsilon: 8.0, passes: 2, one_in: 1 },
    Point { epsilon: 8.0, passes: 2, one_in: 10 },
    Point { epsilon: 8.0, passes: 2, one_in: 100 },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_rate_one_nothing_is_sampled() {
        let point = Point { epsilon: 1.0, passes: 7, one_in: 1 };
        let error = point.error(point.noise_multiplier(None).unwrap());
        assert!((error / point.full_batch().unwrap() - 1.0).abs() < 1e-3, "{error}");
        assert!((point.limit_at(1.0).unwrap() - 1.0).abs() < 0.01);
        let crossover = point.limit_at(point.limit_crossover().unwrap()).unwrap();
        assert!((crossover - 1f64.exp_m1().sqrt()).abs() < 1e-9);
    }
}
