//! How many rows have each value of each column, by intervals for numbers.

use serde::{Deserialize, Serialize};

use super::describe::root_of;
use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::error::Fallible;
use crate::grid::{FEATURE_TREE, Shape, TARGET_TREE, Tree};
use crate::privacy::{Adjacency, Charge, L2};
use crate::private::rows::pass::Pass;
use crate::private::{PrivateDataset, Sensitive};

/// Counts of every column, see [`PrivateDataset::marginals`].
///
/// ```
/// use rhograd::privacy::Adjacency;
/// use rhograd::private::{DescribeQuery, query::Marginals};
///
/// // Three numeric columns on five levels, counted twice, and four categories: 20 * 3 + 4 = 64.
/// let query = Marginals { numeric: 3, categorical: 4, target: false, step: 1000 };
/// assert_eq!(query.square(), 64);
/// assert_eq!(query.sensitivity(Adjacency::AddRemove), 8000);
/// // Two rows that share no count: the root of two times as far.
/// assert_eq!(query.sensitivity(Adjacency::ReplaceOne), 11_314);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marginals {
    /// Number of numeric columns.
    pub numeric: usize,
    /// Number of categorical columns.
    pub categorical: usize,
    /// Whether the label is counted, too.
    pub target: bool,
    /// The integer that a row adds to the count of its category.
    pub step: u64,
}

impl Marginals {
    /// What a row adds to each interval of a numeric column that holds it, in steps.
    pub const FEATURE: u64 = 2;

    /// What a row adds to each interval of the target that holds it, in steps.
    pub const TARGET: u64 = 4;

    /// The squared norm of the vector of a row, in steps: one interval on each level, one category a column.
    pub fn square(&self) -> u128 {
        let of_tree = |tree: Tree, weight: u64| u128::from(weight * weight) * tree.levels() as u128;
        of_tree(FEATURE_TREE, Self::FEATURE) * self.numeric as u128
            + self.categorical as u128
            + if self.target { of_tree(TARGET_TREE, Self::TARGET) } else { 0 }
    }

    /// Every count as intervals of all levels, weighted.
    fn expanded(&self, shape: &Shape, counts: &[i128]) -> Vec<i128> {
        let intervals = |cells: &[i128], tree: Tree, weight: u64| {
            tree.sums(cells).into_iter().map(move |sum| sum * i128::from(weight)).collect::<Vec<_>>()
        };
        let (features, rest) = counts.split_at(shape.numeric() * FEATURE_TREE.cells());
        let (categories, target) = rest.split_at(shape.slots() - shape.categorical());
        let mut values: Vec<i128> = features
            .chunks_exact(FEATURE_TREE.cells())
            .flat_map(|cells| intervals(cells, FEATURE_TREE, Self::FEATURE))
            .collect();
        values.extend(categories);
        if self.target {
            values.extend(intervals(target, TARGET_TREE, Self::TARGET));
        }
        values
    }
}

impl DescribeQuery for Marginals {
    type Norm = L2;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        let square = self.square().saturating_mul(u128::from(self.step).saturating_mul(u128::from(self.step)));
        match adjacency {
            Adjacency::AddRemove => root_of(square),
            // No entry is negative, so `|u - v|^2 <= |u|^2 + |v|^2`.
            Adjacency::ReplaceOne => root_of(square.saturating_mul(2)),
        }
    }

    fn reads(&self) -> Reads {
        Reads { rows: RowAccess::StreamedSum, role: Role::Preparation, clip_steps: None, persons: true, labels: false }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }
}

impl PrivateDataset {
    /// Counts of all rows: for each numeric column by the intervals of every level of [`FEATURE_TREE`], the coarsest level first and
    /// each count twice, then by declared value of each categorical column, then of the label, if `target`, by the intervals of
    /// [`TARGET_TREE`], each count four times; all of it times `step`.
    ///
    /// # Privacy
    /// A row lies in one interval of each level, and has one declared value of a categorical column at most. So its vector has a squared
    /// norm of at most `step^2 (20 p + c + 96 t)`, for `p` numeric and `c` categorical columns, and `t` 1 if the label is counted, whatever the row is:
    /// the l2 sensitivity under add-remove is the root of that. No entry is negative, so that the vectors of two rows form no obtuse angle: under replace-one it is the root
    /// of twice that. Where persons are the unit, each of `k` rows counts `floor(step / k)`: a mean of such vectors times a number of at most 1,
    /// not longer, and not negative.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    ///
    /// # Reference
    /// Hay, Rastogi, Miklau and Suciu 2010, for counts in a tree.
    pub fn marginals(&self, target: bool, step: u64) -> Fallible<Sensitive<L2>> {
        let shape = self.shape();
        let query = Marginals { numeric: shape.numeric(), categorical: shape.categorical(), target, step };
        let counts = self.store().sum(&Pass::Marginals { target, step })?;
        Ok(self.sensitive(query.expanded(shape, &counts), query))
    }
}
