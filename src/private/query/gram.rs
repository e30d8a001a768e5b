//! The clipped Gram matrix.

use serde::{Deserialize, Serialize};

use super::describe::acute_sum_sensitivity;
use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::error::Fallible;
use crate::grid::DIAGONAL;
use crate::preprocess::Scores;
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
        Reads { rows: RowAccess::StreamedSum, role: Role::Preparation, clip_steps: None, persons: true, labels: false }
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
    /// at most `sqrt(2) clip_steps`. Whether some columns are public changes nothing of it.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn gram(&self, clip_steps: u64, most: u64) -> Fallible<Sensitive<L2>> {
        self.gram_of(None, clip_steps, most)
    }

    /// The clipped Gram matrix of the scores of rows that were cut into intervals, as [`PrivateDataset::gram`] returns it.
    ///
    /// # Privacy
    /// Scores are a function of the row and of released quantities, and the norm of a row's matrix is checked after they are looked up.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn gram_of_scores(&self, scores: &Scores, clip_steps: u64, most: u64) -> Fallible<Sensitive<L2>> {
        self.gram_of(Some(scores.clone()), clip_steps, most)
    }

    fn gram_of(&self, scores: Option<Scores>, clip_steps: u64, most: u64) -> Fallible<Sensitive<L2>> {
        let sums = self.store().sum(&Pass::Gram { clip_steps, most, scores })?;
        Ok(self.sensitive(sums, Gram { clip_steps }))
    }
}
