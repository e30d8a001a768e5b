//! Gaussian noise on integers of rows that draw one step of each pass.

use serde::{Deserialize, Serialize};

use super::gaussian::GaussianCharge;
use super::kind::{ChargeKind, Claim, Cost, Releases, possible};
use crate::error::Fallible;
use crate::num::Dyadic;
use crate::num::round::up;
use crate::privacy::{Adjacency, DpEvent};

/// Gaussian releases in passes: every row joins exactly one release of each pass, which it draws evenly and on its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllocatedGaussianCharge {
    /// The releases, as if made on all rows.
    pub allocated: GaussianCharge,
    /// Releases of one pass, at least 2; the count is a multiple of it.
    pub steps_of_pass: u32,
    /// What all of them cost together.
    pub claim: Claim,
}

impl ChargeKind for AllocatedGaussianCharge {
    fn releases(&self) -> Releases<'_> {
        let rate = up(1.0 / f64::from(self.steps_of_pass), 1);
        Releases { sampling_rate: Some(rate), ..self.allocated.releases() }
    }

    fn single(&self) -> Self {
        AllocatedGaussianCharge { allocated: self.allocated.single(), ..self.clone() }
    }

    fn cost(&self) -> Cost<'_> {
        Cost::Claimed(&self.claim)
    }

    fn event(&self, adjacency: Adjacency) -> DpEvent {
        let steps = u64::from(self.steps_of_pass);
        let pass = DpEvent::allocated(self.allocated.relative(adjacency), steps);
        DpEvent::Repeated { event: Box::new(pass), count: self.allocated.count.div_ceil(steps.max(1)) }
    }

    fn has_loss_distribution(&self) -> bool {
        true
    }

    fn pure_epsilon(&self) -> Option<Dyadic> {
        None
    }

    fn check(&self) -> Fallible<()> {
        self.allocated.check()?;
        let whole = self.steps_of_pass >= 2 && self.allocated.count.is_multiple_of(self.steps_of_pass.into());
        possible(self.claim.is_possible() && whole)
    }

    fn manner(&self) -> &'static str {
        "on the rows that drew the step of a pass"
    }

    fn mechanism(&self) -> &'static str {
        self.allocated.noise.describe()
    }
}
