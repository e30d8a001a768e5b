//! Discrete Laplace noise on integers of all rows, and the first of several questions that reaches a bar: pure privacy at an exact cost.

use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

use super::gaussian::MAX_LOG2_SCALE;
use super::kind::{ChargeKind, Cost, NoiseLaw, Releases, possible};
use crate::error::Fallible;
use crate::num::Dyadic;
use crate::privacy::{Adjacency, DpEvent, Mechanism, Rho};

/// Discrete Laplace noise on an integer vector, drawn anew `count` times.
///
/// The vector has l1 sensitivity `l1_sensitivity` grid steps, and each coordinate gets noise of law
/// `P[y] ~ exp(-rate |y| / 2^log2_scale)`. Each release is epsilon-DP with `epsilon = l1_sensitivity rate / 2^log2_scale`, and hence
/// `epsilon^2/2`-zCDP, exactly `rho = count (l1_sensitivity rate)^2 / 2^(2 log2_scale + 1)`.
///
/// Reference: Dwork, McSherry, Nissim and Smith 2006; Ghosh, Roughgarden and Sundararajan 2009; Bun and Steinke 2016, Proposition 1.4.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaplaceCharge {
    /// What is released, in words.
    pub what: String,
    /// l1 sensitivity under the stated adjacency, in grid steps.
    pub l1_sensitivity: u64,
    /// How fast the law falls: by `e^-1` on `2^log2_scale / rate` steps.
    pub rate: u64,
    /// Logarithm of the denominator of the rate.
    pub log2_scale: u32,
    /// Number of releases.
    pub count: u64,
}

/// `first * second / 2^log2`, exactly.
fn ratio(first: u64, second: u64, log2: u32) -> Dyadic {
    Dyadic::new(BigUint::from(first) * second, log2)
}

/// rho of `count` releases that are each epsilon-DP: half the square of epsilon.
fn rho_of_pure(first: u64, second: u64, log2: u32, count: u64) -> Rho {
    let product = BigUint::from(first) * second;
    Rho::exact(Dyadic::new(&product * &product, 2 * log2 + 1).times(count))
}

impl LaplaceCharge {
    /// The epsilon of one release, exactly.
    pub fn epsilon(&self) -> Dyadic {
        ratio(self.l1_sensitivity, self.rate, self.log2_scale)
    }

    /// Exact cost of all releases.
    pub fn rho(&self) -> Rho {
        rho_of_pure(self.l1_sensitivity, self.rate, self.log2_scale, self.count)
    }

    /// Standard deviation of the noise over that of a scale of one step, for display: `sqrt(2)` scales of `2^log2_scale / rate`.
    pub fn scale(&self) -> f64 {
        2f64.powi(self.log2_scale as i32) / self.rate as f64
    }
}

impl ChargeKind for LaplaceCharge {
    fn releases(&self) -> Releases<'_> {
        Releases {
            what: &self.what,
            sensitivity: self.l1_sensitivity,
            noise_multiplier: self.scale() / self.l1_sensitivity as f64,
            noise: None,
            count: self.count,
            sampling_rate: None,
        }
    }

    fn single(&self) -> Self {
        LaplaceCharge { count: 1, ..self.clone() }
    }

    fn cost(&self) -> Cost<'_> {
        Cost::Exact(LaplaceCharge::rho(self), 0.0)
    }

    /// Any mechanism of its epsilon: a vector of several coordinates need not be dominated by noise on one.
    fn event(&self, _adjacency: Adjacency) -> DpEvent {
        DpEvent::repeated(Mechanism::Pure { epsilon: self.epsilon().to_f64_up() }, self.count)
    }

    fn has_loss_distribution(&self) -> bool {
        true
    }

    fn pure_epsilon(&self) -> Option<Dyadic> {
        Some(self.epsilon().times(self.count))
    }

    fn check(&self) -> Fallible<()> {
        let positive = self.l1_sensitivity > 0 && self.rate > 0 && self.count > 0;
        possible(positive && self.log2_scale <= MAX_LOG2_SCALE)
    }

    fn manner(&self) -> &'static str {
        "as Laplace noise on a value of all rows"
    }

    fn mechanism(&self) -> &'static str {
        "discrete Laplace (two-sided geometric), sampled exactly (Canonne, Kamath, Steinke 2020)"
    }
}

/// The first of several questions whose noised answer reaches a noised bar, asked `count` times.
///
/// Each answer moves by at most `sensitivity` grid steps between neighbours; the bar has discrete Laplace noise of scale
/// `2^log2_scale`, every answer fresh noise of twice that. Each release is epsilon-DP with `epsilon = 2 sensitivity / 2^log2_scale`, whatever the
/// number of questions, and hence `epsilon^2/2`-zCDP.
///
/// Reference: Dwork, Naor, Reingold, Rothblum and Vadhan 2009; Lyu, Su and Li 2017, Theorem 4.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SparseVectorCharge {
    /// What is asked, in words.
    pub what: String,
    /// Largest change of one answer under the stated adjacency, in grid steps.
    pub sensitivity: u64,
    /// The noise on the bar has scale `2^log2_scale` grid steps.
    pub log2_scale: u32,
    /// Number of questions.
    pub questions: u64,
    /// Number of releases.
    pub count: u64,
}

impl SparseVectorCharge {
    /// The epsilon of one release, exactly.
    pub fn epsilon(&self) -> Dyadic {
        ratio(self.sensitivity, 2, self.log2_scale)
    }

    /// Exact cost of all releases.
    pub fn rho(&self) -> Rho {
        rho_of_pure(self.sensitivity, 2, self.log2_scale, self.count)
    }
}

impl ChargeKind for SparseVectorCharge {
    fn releases(&self) -> Releases<'_> {
        Releases {
            what: &self.what,
            sensitivity: self.sensitivity,
            noise_multiplier: 2f64.powi(self.log2_scale as i32) / self.sensitivity as f64,
            noise: None::<NoiseLaw>,
            count: self.count,
            sampling_rate: None,
        }
    }

    fn single(&self) -> Self {
        SparseVectorCharge { count: 1, ..self.clone() }
    }

    fn cost(&self) -> Cost<'_> {
        Cost::Exact(SparseVectorCharge::rho(self), 0.0)
    }

    fn event(&self, _adjacency: Adjacency) -> DpEvent {
        DpEvent::repeated(Mechanism::Pure { epsilon: self.epsilon().to_f64_up() }, self.count)
    }

    fn has_loss_distribution(&self) -> bool {
        true
    }

    fn pure_epsilon(&self) -> Option<Dyadic> {
        Some(self.epsilon().times(self.count))
    }

    fn check(&self) -> Fallible<()> {
        let positive = self.sensitivity > 0 && self.questions > 0 && self.count > 0;
        // Answers get noise of twice the scale.
        possible(positive && self.log2_scale < MAX_LOG2_SCALE)
    }

    fn manner(&self) -> &'static str {
        "as the first of several questions that reaches a bar"
    }

    fn mechanism(&self) -> &'static str {
        "sparse vector with discrete Laplace noise (Dwork et al. 2009; Lyu, Su, Li 2017)"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_costs_half_the_squared_epsilon() {
        let event = |l1_sensitivity, rate, log2_scale, count| LaplaceCharge {
            what: "t".into(),
            l1_sensitivity,
            rate,
            log2_scale,
            count,
        };
        assert_eq!(event(3, 5, 4, 1).epsilon().to_f64_up(), 15.0 / 16.0);
        assert_eq!(event(3, 5, 4, 2).rho(), Rho::from_f64(225.0 / 256.0).unwrap());
        assert_eq!(event(3, 5, 4, 2).pure_epsilon().unwrap().to_f64_up(), 15.0 / 8.0);
        assert_eq!(event(1, 1, 1, 1).scale(), 2.0);
        for bad in [event(0, 1, 1, 1), event(1, 0, 1, 1), event(1, 1, 51, 1), event(1, 1, 1, 0)] {
            assert!(ChargeKind::check(&bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_sparse_vector_costs_the_same_for_any_number_of_questions() {
        let event = |questions, log2_scale| SparseVectorCharge {
            what: "t".into(),
            sensitivity: 6,
            log2_scale,
            questions,
            count: 1,
        };
        assert_eq!(event(1, 3).epsilon().to_f64_up(), 1.5);
        assert_eq!(event(1 << 40, 3).rho(), event(1, 3).rho());
        assert_eq!(event(1, 3).rho(), Rho::from_f64(1.125).unwrap());
        assert!(ChargeKind::check(&event(5, 49)).is_ok());
        assert!(ChargeKind::check(&event(5, 50)).is_err() && ChargeKind::check(&event(0, 3)).is_err());
    }
}
