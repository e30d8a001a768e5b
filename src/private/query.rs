//! Public descriptions of the queries, from which their sensitivities follow.

use serde::{Deserialize, Serialize};

use crate::kernel::{DIAGONAL, MomentWeights};
use crate::privacy::Adjacency;

/// What a release asked of the rows; its l2 sensitivity is a function of these public integers alone.
///
/// A statement records it beside the event that was paid for, so that whoever verifies can see that the
/// sensitivity is the query's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Query {
    /// [`super::PrivateDataset::moments`].
    Moments {
        /// Integer weights of the parts.
        weights: MomentWeights,
        /// Number of numeric columns.
        columns: usize,
    },
    /// [`super::PrivateDataset::gram`].
    Gram {
        /// Largest Frobenius norm of a row's matrix.
        bound: u64,
    },
    /// [`super::PrivateDataset::hessian`].
    Hessian {
        /// Largest Frobenius norm of a row's matrix.
        bound: u64,
    },
    /// [`super::ClippedRows::gradient_sum`].
    ClippedSum {
        /// Largest norm of a row's contribution.
        bound: u64,
    },
}

impl Query {
    /// The l2 sensitivity in grid steps, saturating.
    pub fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        match self {
            Query::Moments { weights, columns } => {
                adjacency.sum_sensitivity(small(root_up(weights.worst_square(*columns))))
            }
            Query::Gram { bound } | Query::Hessian { bound } => {
                let norm = bound.saturating_mul(DIAGONAL);
                let square = u128::from(norm) * u128::from(norm);
                match adjacency {
                    Adjacency::AddRemove => norm,
                    Adjacency::ReplaceOne => square.checked_mul(2).map_or(u64::MAX, |twice| small(root_up(twice))),
                }
            }
            Query::ClippedSum { bound } => adjacency.sum_sensitivity(*bound),
        }
    }

    /// Whether the release is one of the steps of an optimizer.
    pub fn is_step(&self) -> bool {
        matches!(self, Query::ClippedSum { .. })
    }
}

fn root_up(square: u128) -> u128 {
    let root = square.isqrt();
    if root * root == square { root } else { root + 1 }
}

fn small(x: u128) -> u64 {
    u64::try_from(x).unwrap_or(u64::MAX)
}
