//! Gaussian noise on integers of Poisson samples.

use serde::{Deserialize, Serialize};

use super::gaussian::GaussianCharge;
use super::kind::{ChargeKind, Claim, Cost, Releases, possible};
use crate::error::Fallible;
use crate::num::Dyadic;
use crate::num::round::up;
use crate::privacy::{Adjacency, DpEvent};

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
        Releases { sampling_rate: Some(self.rate()), ..self.sampled.releases() }
    }

    fn single(&self) -> Self {
        PoissonGaussianCharge { sampled: self.sampled.single(), ..self.clone() }
    }

    fn cost(&self) -> Cost<'_> {
        Cost::Claimed(&self.claim)
    }

    fn event(&self, adjacency: Adjacency) -> DpEvent {
        DpEvent::poisson(self.sampled.relative(adjacency), self.rate(), self.sampled.count)
    }

    fn has_loss_distribution(&self) -> bool {
        true
    }

    fn pure_epsilon(&self) -> Option<Dyadic> {
        None
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
