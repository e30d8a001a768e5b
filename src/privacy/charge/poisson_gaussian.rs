//! Gaussian noise on integers of Poisson samples.

use serde::{Deserialize, Serialize};

use super::gaussian::GaussianCharge;
use super::kind::{ChargeKind, Claim, Releases, possible};
use crate::error::Fallible;
use crate::num::round::up;
use crate::privacy::{Adjacency, DpEvent, Rho};

/// Gaussian releases on fresh Poisson samples of the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoissonGaussianCharge {
    /// The releases, as if made on all rows.
    pub sampled: GaussianCharge,
    /// Each row joins each release on its own with probability `1 - exp(-exponent / 2^64)`.
    pub exponent: u64,
    /// What all of them cost together.
    pub claim: Claim,
}

impl PoissonGaussianCharge {
    /// The sampling rate, rounded upward.
    pub fn rate(&self) -> f64 {
        let exponent = up(self.exponent as f64 / 2f64.powi(64), 1);
        up(-(-exponent).exp_m1(), 2).min(1.0)
    }
}

impl ChargeKind for PoissonGaussianCharge {
    fn releases(&self) -> Releases<'_> {
        self.sampled.releases()
    }

    fn single(&self) -> Self {
        PoissonGaussianCharge { sampled: self.sampled.single(), ..self.clone() }
    }

    fn sampling_rate(&self) -> Option<f64> {
        Some(self.rate())
    }

    fn claim(&self) -> Option<&Claim> {
        Some(&self.claim)
    }

    fn rho(&self) -> Fallible<Rho> {
        Rho::from_f64(self.claim.rho)
    }

    fn delta(&self) -> f64 {
        self.claim.delta
    }

    fn event(&self, adjacency: Adjacency) -> DpEvent {
        DpEvent::poisson(self.sampled.relative(adjacency), self.rate(), self.sampled.count)
    }

    fn has_loss_distribution(&self) -> bool {
        true
    }

    fn check(&self) -> Fallible<()> {
        self.sampled.check()?;
        possible(self.claim.is_possible() && self.exponent > 0)
    }

    fn manner(&self) -> &'static str {
        "on a sample of the rows"
    }

    fn mechanism(&self) -> &'static str {
        self.sampled.noise.describe()
    }
}
