//! The best of a random number of runs.

use serde::{Deserialize, Serialize};

use super::kind::{ChargeKind, Claim, Cost, Releases, possible};
use crate::error::Fallible;
use crate::num::Dyadic;
use crate::num::round::{down, up};
use crate::privacy::{Adjacency, DpEvent, Mechanism, Rho, RunCount};

/// The best of a geometric number of runs, each rho-zCDP; all other runs, and how many there were, stay secret.
///
/// After every run it stops with probability `stop / 2^32`, whatever the run said, and opens the run whose own released
/// score is best.
///
/// Reference: Liu and Talwar 2019; Papernot and Steinke 2022, Theorem 2 with `eta = 1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivateSelectionCharge {
    /// What is released, in words.
    pub what: String,
    /// rho of the costliest run.
    pub rho: f64,
    /// Numerator over `2^32` of the probability with which a run is the last.
    pub stop: u32,
    /// What it costs.
    pub claim: Claim,
}

impl PrivateSelectionCharge {
    /// The probability with which a run is the last, exactly.
    pub fn stop_probability(&self) -> f64 {
        f64::from(self.stop) / 2f64.powi(32)
    }

    /// What one run may cost.
    ///
    /// # Errors
    /// When the record holds no number.
    pub fn run_rho(&self) -> Fallible<Rho> {
        Rho::from_f64(self.rho)
    }

    /// The noise multiplier of one Gaussian release of the same rho, rounded down.
    fn noise_multiplier(&self) -> f64 {
        down(1.0 / up((2.0 * self.rho).sqrt(), 1), 1)
    }
}

impl ChargeKind for PrivateSelectionCharge {
    fn releases(&self) -> Releases<'_> {
        let noise_multiplier = self.noise_multiplier();
        Releases { what: &self.what, sensitivity: 1, noise_multiplier, noise: None, count: 1, sampling_rate: None }
    }

    fn single(&self) -> Self {
        self.clone()
    }

    fn cost(&self) -> Cost<'_> {
        Cost::Claimed(&self.claim)
    }

    /// A Gaussian release has the largest divergences that rho allows.
    ///
    /// The recorded rho holds under `adjacency`; accountants double sensitivities under replace-one themselves.
    fn event(&self, adjacency: Adjacency) -> DpEvent {
        let noise_multiplier = down(self.noise_multiplier() * adjacency.sum_sensitivity(1) as f64, 1);
        let runs = RunCount::TruncatedNegativeBinomial { eta: 1.0, gamma: self.stop_probability() };
        DpEvent::Selected {
            event: Box::new(DpEvent::Single { mechanism: Mechanism::Gaussian { noise_multiplier } }),
            runs,
        }
    }

    fn has_loss_distribution(&self) -> bool {
        false
    }

    fn pure_epsilon(&self) -> Option<Dyadic> {
        None
    }

    fn check(&self) -> Fallible<()> {
        possible(self.claim.is_possible() && self.rho > 0.0 && self.rho.is_finite() && self.stop > 0)
    }

    fn manner(&self) -> &'static str {
        "as the best of several runs"
    }

    fn mechanism(&self) -> &'static str {
        "best of a secret geometric number of runs, each with the Gaussian noise or choices recorded for it"
    }
}
