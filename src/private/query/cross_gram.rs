//! The clipped Gram matrix of rows of which some columns are public.

use serde::{Deserialize, Serialize};

use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::error::{Error, Fallible};
use crate::grid::DIAGONAL;
use crate::privacy::{Adjacency, Charge, L2};
use crate::private::rows::pass::Pass;
use crate::private::{PrivateDataset, Sensitive};

/// The clipped Gram matrix without the block of public features, see [`PrivateDataset::cross_gram`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossGram {
    /// Largest Frobenius norm of what a row adds, in grid steps.
    #[serde(rename = "bound")]
    pub clip_steps: u64,
}

impl DescribeQuery for CrossGram {
    type Norm = L2;

    /// Twice the clip norm, whatever the relation: the products of a public feature and a private one change sign with the private one, so what
    /// enters may be opposite to what leaves.
    fn sensitivity(&self, _adjacency: Adjacency) -> u64 {
        self.clip_steps.saturating_mul(DIAGONAL).saturating_mul(2)
    }

    fn reads(&self) -> Reads {
        Reads { rows: RowAccess::StreamedSum, role: Role::Preparation, clip_steps: None, persons: false, labels: false }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }

    fn needs_public_columns(&self) -> bool {
        true
    }
}

impl PrivateDataset {
    /// The clipped Gram matrix as a weighted upper triangle without the entries of two public features, see
    /// [`crate::kernel::cross_gram_sum`].
    ///
    /// # Privacy
    /// With `a` the squared norm of the public features of a row and `b` that of the private ones, a row adds a matrix of Frobenius norm
    /// `m sqrt(b (2 a + b))`, at most `clip_steps`, checked in integers. Other private cells in its place move the sum by at most twice that.
    ///
    /// # Errors
    /// When no column is public, or rows in a file cannot be read.
    pub fn cross_gram(&self, clip_steps: u64, most: u64) -> Fallible<Sensitive<L2>> {
        let Some(columns) = self.public_columns() else {
            return Err(Error::refused("the query is for data of which some columns are public", "ask another"));
        };
        let pass = Pass::CrossGram { public: columns.clone(), clip_steps, most };
        Ok(self.sensitive(self.store().sum(&pass)?, CrossGram { clip_steps }))
    }
}
