//! The clipped Gram matrix.

use serde::{Deserialize, Serialize};

use super::describe::acute_sum_sensitivity;
use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::error::Fallible;
use crate::grid::DIAGONAL;
use crate::privacy::{Adjacency, Charge, L2};
use crate::private::rows::pass::Pass;
use crate::private::{PrivateDataset, Sensitive};

/// The clipped Gram matrix, see [`PrivateDataset::gram`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gram {
    /// Largest Frobenius norm of a row's matrix, in grid steps.
    #[serde(rename = "bound")]
    pub clip_steps: u64,
}

impl DescribeQuery for Gram {
    type Norm = L2;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        acute_sum_sensitivity(self.clip_steps.saturating_mul(DIAGONAL), adjacency)
    }

    fn reads(&self) -> Reads {
        Reads { rows: RowAccess::StreamedSum, role: Role::Preparation, clip_steps: None, persons: true }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }
}

impl PrivateDataset {
    /// The clipped Gram matrix as a weighted upper triangle, see [`crate::kernel::gram_sum`].
    ///
    /// # Privacy
    /// A row's matrix has Frobenius norm at most `clip_steps`, checked in integers; replacing a row moves the sum by
    /// at most `sqrt(2) clip_steps`.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn gram(&self, clip_steps: u64, most: u64) -> Fallible<Sensitive<L2>> {
        Ok(self.sensitive(self.store().sum(&Pass::Gram { clip_steps, most })?, Gram { clip_steps }))
    }
}
