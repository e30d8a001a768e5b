//! Sums of encoded values and of their squares.

use serde::{Deserialize, Serialize};

use super::describe::root_of;
use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::error::Fallible;
use crate::grid::MomentWeights;
use crate::privacy::{Adjacency, Charge, L2};
use crate::private::rows::pass::Pass;
use crate::private::{PrivateDataset, Sensitive};

/// Weighted sums of encoded values and of their squares, see [`PrivateDataset::moments`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moments {
    /// Integer weights of the parts.
    pub weights: MomentWeights,
    /// Number of numeric columns, or of private ones where some are public.
    pub columns: usize,
}

impl DescribeQuery for Moments {
    type Norm = L2;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        adjacency.sum_sensitivity(root_of(self.weights.worst_square(self.columns)))
    }

    fn reads(&self) -> Reads {
        Reads { rows: RowAccess::StreamedSum, role: Role::Preparation, clip_steps: None, persons: true, labels: false }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }
}

impl PrivateDataset {
    /// Sums of the encoded values and their squares, weighted by public integers.
    ///
    /// # Privacy
    /// Every row's vector has a squared norm of at most [`MomentWeights::worst_square`], a public
    /// integer; the l2 sensitivity is the ceiling of its root, doubled under replace-one. Where some columns are public, their sums are left
    /// out, and the bound is that of the private columns.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn moments(&self, weights: &MomentWeights) -> Fallible<Sensitive<L2>> {
        let mut sums = self.store().sum(&Pass::Moments(*weights))?;
        let mut query = Moments { weights: *weights, columns: self.shape().numeric() };
        if let Some(public) = self.public_columns() {
            for (column, _) in public.numeric.iter().enumerate().filter(|(_, public)| **public) {
                // The count, all features, all squares.
                (sums[1 + column], sums[1 + query.columns + column]) = (0, 0);
            }
            query.columns = public.private_numeric();
        }
        Ok(self.sensitive(sums, query))
    }
}
