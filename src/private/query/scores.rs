//! What is measured of predictions on rows that were held out.

use serde::{Deserialize, Serialize};

use super::describe::root_of;
use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::error::Fallible;
use crate::grid::{ScoreStep, Scoring};
use crate::loss::Objective;
use crate::privacy::{Adjacency, Charge, L2};
use crate::private::rows::pass::Pass;
use crate::private::{PrivateDataset, Sensitive};

/// Sums that measure predictions, see [`PrivateDataset::scores`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scores {
    /// What is measured.
    pub scoring: Scoring,
    /// Largest entry of a row's vector.
    pub weight: u32,
}

impl DescribeQuery for Scores {
    type Norm = L2;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        let moved = match adjacency {
            Adjacency::AddRemove => self.scoring.parts(),
            Adjacency::ReplaceOne => self.scoring.apart(),
        };
        root_of(u128::from(self.weight) * u128::from(self.weight) * u128::from(moved))
    }

    fn reads(&self) -> Reads {
        Reads { rows: RowAccess::StreamedSum, role: Role::Preparation, clip_steps: None, persons: true, labels: false }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }

    /// Under replace-one they were charged like any sum, for one vector that leaves and one that enters.
    fn earlier_sensitivity(&self, adjacency: Adjacency) -> Option<u64> {
        match adjacency {
            Adjacency::AddRemove => None,
            Adjacency::ReplaceOne => Some(adjacency.sum_sensitivity(self.sensitivity(Adjacency::AddRemove))),
        }
    }
}

impl PrivateDataset {
    /// Sums that measure the predictions of public coefficients for a public loss, see [`crate::kernel::score_sum`].
    ///
    /// # Privacy
    /// A row's vector has norm at most `weight sqrt(parts)`, a public number: the l2 sensitivity under add-remove. Vectors of
    /// two rows differ by no more, see [`crate::grid::Scoring::apart`], so it is that under replace-one, too.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn scores(&self, loss: Objective, step: &ScoreStep<'_>) -> Fallible<Sensitive<L2>> {
        let query = Scores { scoring: step.scoring, weight: step.weight };
        let &ScoreStep { weights, label_scale, scoring, weight } = step;
        let pass = Pass::Scores { loss, weights: weights.to_vec(), label_scale, scoring, weight };
        Ok(self.sensitive(self.store().sum(&pass)?, query))
    }
}
