//! The clipped Hessian of a loss.

use ndarray::Array1;
use serde::{Deserialize, Serialize};

use super::describe::acute_sum_sensitivity;
use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::error::Fallible;
use crate::grid::DIAGONAL;
use crate::loss::Curved;
use crate::privacy::{Adjacency, Charge, L2};
use crate::private::rows::pass::Pass;
use crate::private::{PrivateDataset, Sensitive};

/// The clipped Hessian of a loss, see [`PrivateDataset::hessian`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hessian {
    /// Largest Frobenius norm of a row's matrix, in grid steps.
    #[serde(rename = "bound")]
    pub clip_steps: u64,
}

impl DescribeQuery for Hessian {
    type Norm = L2;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        acute_sum_sensitivity(self.clip_steps.saturating_mul(DIAGONAL), adjacency)
    }

    fn reads(&self) -> Reads {
        Reads { rows: RowAccess::StreamedSum, role: Role::Preparation, clip_steps: None, persons: true, labels: false }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }
}

impl PrivateDataset {
    /// The Hessian sum of a loss as a weighted upper triangle, see [`crate::kernel::hessian_sum`]; `weights` in feature coordinates.
    ///
    /// A row's multiplier is `most` at the largest curvature that the loss has.
    ///
    /// # Privacy
    /// The sensitivity is that of [`PrivateDataset::gram`] for the same `clip_steps`: multipliers are integers that are not negative and at
    /// most what that allows.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn hessian(&self, loss: Curved, weights: &Array1<f64>, clip_steps: u64, most: u64) -> Fallible<Sensitive<L2>> {
        let pass = Pass::Hessian { loss, weights: weights.to_vec(), clip_steps, most };
        Ok(self.sensitive(self.store().sum(&pass)?, Hessian { clip_steps }))
    }
}
