//! Gaussian noise on integers of all rows: an exact cost.

use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

use super::kind::{ChargeKind, Cost, NoiseLaw, Releases};
use crate::error::{Error, Fallible};
use crate::num::Dyadic;
use crate::num::round::{down, up};
use crate::privacy::{Adjacency, DpEvent, Mechanism, Rho};

/// The finest grid: noise has scale at most `2^50` grid steps, so that every product fits 128 bits.
pub const MAX_LOG2_SCALE: u32 = 50;

/// The finest grid of Gaussian noise on sums of rows that weigh differently, which are whole numbers of smaller steps. Noise beyond `2^5`
/// standard deviations, of probability below `exp(-2^8)`, is then more than an `i64` holds, and stands for the largest.
pub const MAX_LOG2_FINE: u32 = 58;

/// One kind of Gaussian release of an integer vector, made `count` times.
///
/// The sum has l2 sensitivity `sensitivity` grid steps and each coordinate gets noise of scale
/// `2^log2_scale` grid steps: zCDP with `rho = count * sensitivity^2 / 2^(2 log2_scale + 1)`.
///
/// Reference: Bun and Steinke 2016, Proposition 1.6; Canonne, Kamath, Steinke 2020, Theorem 14.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianCharge {
    /// What is released, in words.
    pub what: String,
    /// l2 sensitivity under the stated adjacency, in grid steps.
    pub sensitivity: u64,
    /// The noise scale is `2^log2_scale` grid steps.
    pub log2_scale: u32,
    /// Law of the noise.
    pub noise: NoiseLaw,
    /// Number of releases.
    pub count: u64,
}

impl GaussianCharge {
    /// Exact cost of one release.
    pub fn rho_each(&self) -> Rho {
        let square = BigUint::from(self.sensitivity) * self.sensitivity;
        Rho::exact(Dyadic::new(square, 2 * self.log2_scale + 1))
    }

    /// Exact cost of all releases.
    pub fn rho(&self) -> Rho {
        Rho::exact(self.rho_each().as_dyadic().times(self.count))
    }

    /// Noise standard deviation over l2 sensitivity, for display.
    pub fn noise_multiplier(&self) -> f64 {
        2f64.powi(self.log2_scale as i32) / self.sensitivity as f64
    }

    /// Refuses values no planner produces, so that a forged file cannot exhaust memory.
    ///
    /// # Errors
    /// When the sensitivity or the count is zero or the scale is above `2^`[`MAX_LOG2_FINE`].
    pub fn check(&self) -> Fallible<()> {
        if self.sensitivity == 0 || self.count == 0 || self.log2_scale > MAX_LOG2_FINE {
            return Err(Error::parameter(
                "event",
                "needs a positive sensitivity and count and a scale of at most 2^58",
                "the record is damaged: restore it from a copy",
            ));
        }
        Ok(())
    }

    /// The mechanism relative to one row, its noise multiplier rounded down.
    ///
    /// The recorded sensitivity holds under `adjacency`; accountants multiply by the factor of replace-one themselves.
    pub(super) fn relative(&self, adjacency: Adjacency) -> Mechanism {
        Mechanism::Gaussian { noise_multiplier: self.relative_multiplier(adjacency) }
    }

    /// The noise multiplier of [`GaussianCharge::relative`].
    pub(super) fn relative_multiplier(&self, adjacency: Adjacency) -> f64 {
        let sensitivity = up(self.sensitivity as f64, 1) / adjacency.sum_sensitivity(1) as f64;
        down(2f64.powi(self.log2_scale as i32) / sensitivity, 1)
    }
}

impl ChargeKind for GaussianCharge {
    fn releases(&self) -> Releases<'_> {
        Releases {
            what: &self.what,
            sensitivity: self.sensitivity,
            noise_multiplier: self.noise_multiplier(),
            noise: Some(self.noise),
            count: self.count,
            sampling_rate: None,
        }
    }

    fn single(&self) -> Self {
        GaussianCharge { count: 1, ..self.clone() }
    }

    fn cost(&self) -> Cost<'_> {
        Cost::Exact(GaussianCharge::rho(self), 0.0)
    }

    fn event(&self, adjacency: Adjacency) -> DpEvent {
        DpEvent::repeated(self.relative(adjacency), self.count)
    }

    fn has_loss_distribution(&self) -> bool {
        true
    }

    fn pure_epsilon(&self) -> Option<Dyadic> {
        None
    }

    fn check(&self) -> Fallible<()> {
        GaussianCharge::check(self)
    }

    fn manner(&self) -> &'static str {
        "as noise on a value of all rows"
    }

    fn mechanism(&self) -> &'static str {
        self.noise.describe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(sensitivity: u64, log2_scale: u32, count: u64) -> GaussianCharge {
        GaussianCharge { what: "test".into(), sensitivity, log2_scale, noise: NoiseLaw::FlooredNormal, count }
    }

    #[test]
    fn cost_is_half_the_squared_ratio() {
        assert_eq!(event(1 << 30, 30, 1).rho(), Rho::from_f64(0.5).unwrap());
        assert_eq!(event(1 << 28, 30, 16).rho(), Rho::from_f64(0.5).unwrap());
        assert_eq!(event(3, 2, 5).rho(), Rho::from_f64(45.0 / 32.0).unwrap());
    }

    #[test]
    fn many_steps_cost_exactly_their_sum() {
        let step = event(34_769_610_576, 40, 1);
        let sum: Rho = (0..100).map(|_| step.rho_each()).sum();
        assert_eq!(event(34_769_610_576, 40, 100).rho(), sum);
        assert!(sum <= Rho::from_f64(0.05).unwrap());
    }
}
