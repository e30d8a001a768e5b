//! Costs of one run under both relations, and the noise that both need for the same cost.

use rhograd::accounting::pld::{self, Pld};
use rhograd::accounting::{gaussian, zcdp};
use rhograd::error::Fallible;
use rhograd::privacy::{Adjacency, Delta, DpEvent, Epsilon, Mechanism};

use super::DELTA;
use crate::results::Row;
use crate::setup::Plant;

/// Width of certified intervals relative to epsilon.
const WIDTH: f64 = 1e-4;

/// A run of `steps` steps on Poisson samples at rate `1 / one_in`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) one_in: u64,
    pub(super) steps: u64,
    /// The noise multiplier relative to one row where the noise is given, the epsilon where it is the budget.
    pub(super) given: f64,
}

/// Costs of a run at equal noise.
pub(super) struct Costs {
    pub(super) remove: f64,
    pub(super) add: f64,
    pub(super) replace: f64,
}

impl Run {
    pub(super) fn rate(&self) -> f64 {
        1.0 / self.one_in as f64
    }

    pub(super) fn key(&self, part: &str, seed: u64) -> [String; 5] {
        let Run { one_in, steps, given } = self;
        [part.to_owned(), one_in.to_string(), steps.to_string(), given.to_string(), seed.to_string()]
    }

    /// Whether a line belongs to this run.
    pub(super) fn is(&self, row: &Row<'_>) -> bool {
        row.is("one_in", self.one_in as f64) && row.is("steps", self.steps as f64) && row.is("given", self.given)
    }

    fn event(&self) -> DpEvent {
        let mechanism = Mechanism::Gaussian { noise_multiplier: self.given };
        if self.one_in == 1 { DpEvent::repeated(mechanism, self.steps) } else { self.sampled(mechanism) }
    }

    fn sampled(&self, mechanism: Mechanism) -> DpEvent {
        DpEvent::poisson(mechanism, self.rate(), self.steps)
    }

    /// Epsilon of removing, adding and replacing a row, the noise being given.
    ///
    /// With half the noise planted, nobody told the accountant of replace-one that a sum moves by two rows.
    pub(super) fn costs(&self, plant: Option<Plant>) -> Fallible<Costs> {
        let delta = Delta::new(DELTA)?;
        let one = Pld::new(&self.event(), Adjacency::AddRemove)?;
        // The first bounds may be far off, and widths are relative to the answer.
        let mut width = f64::INFINITY;
        let mut by_direction = one.epsilon_by_direction(delta, width)?;
        for _ in 0..3 {
            width = WIDTH * by_direction.remove.upper.min(by_direction.add.upper.max(WIDTH));
            by_direction = one.epsilon_by_direction(delta, width)?;
        }
        let replaced = if plant == Some(Plant::HalfNoise) { Run { given: 2.0 * self.given, ..*self } } else { *self };
        let replace = Pld::new(&replaced.event(), Adjacency::ReplaceOne)?.epsilon(delta, width)?.upper;
        Ok(Costs { remove: by_direction.remove.upper, add: by_direction.add.upper, replace })
    }

    /// rho of replacing a row over that of removing one, the noise being given; without sampling.
    pub(super) fn rho_ratio(&self, plant: Option<Plant>) -> Fallible<f64> {
        let rho = |run: &Run, relation| -> Fallible<f64> { Ok(zcdp::of_event(&run.event(), relation)?.zcdp().rho()) };
        let replaced = if plant == Some(Plant::HalfNoise) { Run { given: 2.0 * self.given, ..*self } } else { *self };
        Ok(rho(&replaced, Adjacency::ReplaceOne)? / rho(self, Adjacency::AddRemove)?)
    }

    /// The noise in units of one row's clip norm that keeps the budget: under add-remove and under replace-one.
    ///
    /// Multipliers are relative to one row under both relations; the accountant knows what a replacement moves.
    pub(super) fn noise(&self, plant: Option<Plant>) -> Fallible<(f64, f64)> {
        let (epsilon, delta) = (Epsilon::new(self.given)?, Delta::new(DELTA)?);
        let least = |relation| pld::calibrate_noise_multiplier(self.rate(), self.steps, relation, epsilon, delta);
        let factor = if plant == Some(Plant::HalfNoise) { 0.5 } else { 1.0 };
        Ok((least(Adjacency::AddRemove)?, factor * least(Adjacency::ReplaceOne)?))
    }
}

/// What the central limit says of the price of replace-one where add-remove needs this noise multiplier.
///
/// Under add-remove `mu^2 = T q^2 (e^(1/z^2) - 1)` (Bu, Dong, Long, Su 2020, Theorem 5). Replacing a row turns a
/// displacement by `x` into one by `-x`: the squared difference of the two likelihood ratios has the mean
/// `2 (e^(1/z^2) - e^(-1/z^2))`, so the noise multiplier z' of replace-one solves
/// `2 (e^(1/z'^2) - e^(-1/z'^2)) = e^(1/z^2) - 1`: twice z where z is large, and hardly more than z where it is small.
pub(super) fn limit(z: f64) -> f64 {
    let wanted = (1.0 / (z * z)).exp_m1();
    // With s = 1/z'^2 this is 4 sinh(s).
    (wanted / 4.0).asinh().powf(-0.5) / z
}

/// The ratio of epsilons at equal noise without sampling: mu is twice as large (Balle and Wang 2018, Theorem 8).
pub(super) fn full_batch_ratio(mu: f64) -> Fallible<f64> {
    let epsilon = |mu: f64| -> Fallible<f64> { Ok(gaussian::epsilon(mu, Delta::new(DELTA)?)?.value()) };
    Ok(epsilon(2.0 * mu)? / epsilon(mu)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_central_limit_has_the_right_ends() {
        assert!((limit(100.0) - 2.0).abs() < 1e-3);
        assert!(limit(0.5) < 1.2 && limit(0.5) > 1.0, "{}", limit(0.5));
    }

    #[test]
    fn full_batches_cost_what_the_trade_off_says() {
        let run = Run { one_in: 1, steps: 4, given: 8.0 };
        let costs = run.costs(None).unwrap();
        assert!((costs.replace / costs.remove / full_batch_ratio(0.25).unwrap() - 1.0).abs() < 1e-3);
        assert!((costs.add / costs.remove - 1.0).abs() < 1e-3);
        assert_eq!(run.rho_ratio(None).unwrap(), 4.0);
    }
}
