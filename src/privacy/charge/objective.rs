//! Gaussian noise on the gradient of an objective that is minimised.

use serde::{Deserialize, Serialize};

use super::gaussian::GaussianCharge;
use super::kind::{ChargeKind, Claim, Cost, NoiseLaw, Releases, possible};
use crate::error::Fallible;
use crate::num::Dyadic;
use crate::privacy::{Adjacency, DpEvent, Mechanism};

/// Gaussian noise on the gradient of an objective whose exact minimiser is then opened, alone or with more noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectiveCharge {
    /// The noise on the gradient; its sensitivity is that of the sum of gradients.
    pub perturbed: GaussianCharge,
    /// Curvature of one record over that of the penalty, `beta / Lambda`, rounded upward.
    pub curvature: f64,
    /// What it costs.
    pub claim: Claim,
}

impl ChargeKind for ObjectiveCharge {
    fn releases(&self) -> Releases<'_> {
        self.perturbed.releases()
    }

    fn single(&self) -> Self {
        self.clone()
    }

    fn cost(&self) -> Cost<'_> {
        Cost::Claimed(&self.claim)
    }

    fn event(&self, adjacency: Adjacency) -> DpEvent {
        let noise_multiplier = self.perturbed.relative_multiplier(adjacency);
        let mechanism = Mechanism::ObjectivePerturbation { noise_multiplier, curvature: self.curvature };
        DpEvent::Single { mechanism }
    }

    fn has_loss_distribution(&self) -> bool {
        false
    }

    fn pure_epsilon(&self) -> Option<Dyadic> {
        None
    }

    fn check(&self) -> Fallible<()> {
        self.perturbed.check()?;
        let curved = self.curvature > 0.0 && self.curvature.is_finite();
        let noised = self.perturbed.count == 1 && self.perturbed.noise == NoiseLaw::FlooredNormal;
        possible(self.claim.is_possible() && curved && noised)
    }

    fn manner(&self) -> &'static str {
        "as noise on the gradient of an objective"
    }

    fn mechanism(&self) -> &'static str {
        self.perturbed.noise.describe()
    }
}
