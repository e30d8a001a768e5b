//! Records of what was released, as integers, so that the cost can be recomputed exactly.

use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

use super::Rho;
use crate::error::{Error, Fallible};
use crate::num::Dyadic;

/// The finest grid: noise has scale at most `2^50` grid steps, so that every product fits 128 bits.
pub const MAX_LOG2_SCALE: u32 = 50;

/// The law of the integer noise added to each coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseLaw {
    /// `floor(2^k Z)` with `Z` an exact standard normal. The release is a post-processing of the
    /// continuous Gaussian mechanism, so the exact Gaussian trade-off holds for it.
    FlooredNormal,
    /// The discrete Gaussian with parameter `2^k` (Canonne, Kamath, Steinke 2020). Only its zCDP
    /// bound may be used; the continuous trade-off is not an upper bound for it.
    DiscreteGaussian,
}

/// One kind of Gaussian release of an integer vector, made `count` times.
///
/// The sum has l2 sensitivity `sensitivity` grid steps and each coordinate gets noise of scale
/// `2^log2_scale` grid steps: zCDP with `rho = count * sensitivity^2 / 2^(2 log2_scale + 1)`.
///
/// Reference: Bun and Steinke 2016, Proposition 1.6; Canonne, Kamath, Steinke 2020, Theorem 14.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianEvent {
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

impl GaussianEvent {
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
    /// When the sensitivity or the count is zero or the scale is above `2^`[`MAX_LOG2_SCALE`].
    pub fn check(&self) -> Fallible<()> {
        if self.sensitivity == 0 || self.count == 0 || self.log2_scale > MAX_LOG2_SCALE {
            return Err(Error::parameter(
                "event",
                "needs a positive sensitivity and count and a scale of at most 2^50",
                "the record is damaged: restore it from a copy",
            ));
        }
        Ok(())
    }
}

/// One kind of choice among public candidates by the exponential mechanism on integer scores, made `count` times.
///
/// A candidate is chosen with probability proportional to `exp(-score / 2^log2_scale)`. Between neighbours the changes
/// of all scores lie in an interval of length `sensitivity`, so the log-probabilities do in one of length
/// `epsilon = sensitivity / 2^log2_scale`: epsilon-bounded range, hence epsilon-DP and `epsilon^2/8`-zCDP, exactly
/// `rho = count * sensitivity^2 / 2^(2 log2_scale + 3)`.
///
/// Reference: McSherry and Talwar 2007; Durfee and Rogers 2019; Cesar and Rogers 2021, Lemma 3.2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectionEvent {
    /// What is chosen, in words.
    pub what: String,
    /// Length of the interval that holds the changes of all scores between neighbours.
    pub sensitivity: u64,
    /// Scores count over `2^log2_scale`.
    pub log2_scale: u32,
    /// Number of candidates.
    pub candidates: u64,
    /// Number of choices.
    pub count: u64,
}

impl SelectionEvent {
    /// Exact cost of one choice.
    pub fn rho_each(&self) -> Rho {
        let square = BigUint::from(self.sensitivity) * self.sensitivity;
        Rho::exact(Dyadic::new(square, 2 * self.log2_scale + 3))
    }

    /// Exact cost of all choices.
    pub fn rho(&self) -> Rho {
        Rho::exact(self.rho_each().as_dyadic().times(self.count))
    }

    /// `2^log2_scale`.
    pub fn scale(&self) -> f64 {
        2f64.powi(self.log2_scale as i32)
    }

    /// The epsilon of one choice, rounded up.
    pub fn epsilon_up(&self) -> f64 {
        Dyadic::new(BigUint::from(self.sensitivity), self.log2_scale).to_f64_up()
    }

    /// Refuses values no planner produces, so that a forged file cannot exhaust memory.
    ///
    /// # Errors
    /// When a number is zero or the scale is above `2^`[`MAX_LOG2_SCALE`].
    pub fn check(&self) -> Fallible<()> {
        let positive = self.sensitivity > 0 && self.count > 0 && self.candidates > 0;
        if positive && self.log2_scale <= MAX_LOG2_SCALE {
            return Ok(());
        }
        Err(Error::parameter(
            "event",
            "needs a positive sensitivity, count and number of candidates and a scale of at most 2^50",
            "the record is damaged: restore it from a copy",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(sensitivity: u64, log2_scale: u32, count: u64) -> GaussianEvent {
        GaussianEvent { what: "test".into(), sensitivity, log2_scale, noise: NoiseLaw::FlooredNormal, count }
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

    #[test]
    fn a_choice_costs_an_eighth_of_the_squared_epsilon() {
        let event = |sensitivity, log2_scale, count| SelectionEvent {
            what: "t".into(),
            sensitivity,
            log2_scale,
            candidates: 4,
            count,
        };
        assert_eq!(event(3, 1, 1).rho(), Rho::from_f64(1.5 * 1.5 / 8.0).unwrap());
        assert_eq!(event(1 << 20, 20, 16).rho(), Rho::from_f64(2.0).unwrap());
        assert_eq!(event(3, 1, 1).epsilon_up(), 1.5);
        assert!(event(0, 1, 1).check().is_err() && event(1, 51, 1).check().is_err() && event(1, 1, 0).check().is_err());
    }
}
