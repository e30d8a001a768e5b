//! Choices by the exponential mechanism: an exact cost.

use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

use super::gaussian::MAX_LOG2_SCALE;
use super::kind::{ChargeKind, Cost, Releases};
use crate::error::{Error, Fallible};
use crate::num::Dyadic;
use crate::privacy::{Adjacency, DpEvent, Mechanism, Rho};

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
pub struct ExponentialCharge {
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

impl ExponentialCharge {
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

impl ChargeKind for ExponentialCharge {
    fn releases(&self) -> Releases<'_> {
        Releases {
            what: &self.what,
            sensitivity: self.sensitivity,
            noise_multiplier: self.scale() / self.sensitivity as f64,
            noise: None,
            count: self.count,
            sampling_rate: None,
        }
    }

    fn single(&self) -> Self {
        ExponentialCharge { count: 1, ..self.clone() }
    }

    fn cost(&self) -> Cost<'_> {
        Cost::Exact(ExponentialCharge::rho(self), 0.0)
    }

    fn event(&self, _adjacency: Adjacency) -> DpEvent {
        DpEvent::repeated(Mechanism::Exponential { epsilon: self.epsilon_up() }, self.count)
    }

    fn has_loss_distribution(&self) -> bool {
        true
    }

    fn pure_epsilon(&self) -> Option<Dyadic> {
        Some(Dyadic::new(BigUint::from(self.sensitivity), self.log2_scale).times(self.count))
    }

    fn check(&self) -> Fallible<()> {
        ExponentialCharge::check(self)
    }

    fn manner(&self) -> &'static str {
        "as a choice"
    }

    fn mechanism(&self) -> &'static str {
        "exponential mechanism, sampled exactly by rejection"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_costs_an_eighth_of_the_squared_epsilon() {
        let event = |sensitivity, log2_scale, count| ExponentialCharge {
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
