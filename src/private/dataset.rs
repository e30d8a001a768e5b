//! Private rows and the queries that may be asked of them.

use super::Sensitive;
use crate::kernel::{Caps, MomentWeights, Rows, Shape, Step, clipped_sum, moment_sum};
use crate::loss::Loss;
use crate::preprocess::Standardiser;
use crate::privacy::{Adjacency, L2, Scope, Sensitivity};

/// Encoded rows behind the gate: no accessor hands out a row or anything computed from rows.
pub struct PrivateDataset {
    rows: Rows,
    scope: Scope,
}

impl PrivateDataset {
    /// Takes the rows in; from here on only released values come out.
    pub fn new(rows: Rows, scope: Scope) -> Self {
        PrivateDataset { rows, scope }
    }

    /// The data set and relation that guarantees are about.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The columns; public, they follow from the schema.
    pub fn shape(&self) -> &Shape {
        self.rows.shape()
    }

    /// The number of rows where the adjacency makes it public, `None` under add-remove.
    pub fn public_len(&self) -> Option<u64> {
        self.scope.adjacency.row_count_is_public().then_some(self.rows.len() as u64)
    }

    /// Re-encodes every row by a map built from public and released quantities.
    ///
    /// # Privacy
    /// Each new row is a function of its old row alone, so neighbours stay neighbours and nothing
    /// is released.
    pub fn standardised(self, map: &Standardiser) -> Self {
        PrivateDataset { rows: map.recode(self.rows), scope: self.scope }
    }

    /// Prepares clipped gradient sums whose rows contribute at most `bound` grid steps in l2 norm.
    pub fn clipped(&self, bound: u64) -> ClippedRows<'_> {
        ClippedRows { caps: Caps::new(&self.rows, bound), data: self }
    }

    /// Sums of the encoded values and their squares, weighted by public integers.
    ///
    /// # Privacy
    /// Every row's vector has a squared norm of at most [`MomentWeights::worst_square`], a public
    /// integer; the l2 sensitivity is the ceiling of its root, doubled under replace-one.
    pub fn moments(&self, weights: &MomentWeights) -> Sensitive<L2> {
        Sensitive {
            values: moment_sum(&self.rows, weights),
            sensitivity: Sensitivity::new(Self::moment_sensitivity(self.scope.adjacency, self.shape(), weights)),
            scope: self.scope.clone(),
        }
    }

    /// The l2 sensitivity of [`PrivateDataset::moments`] in grid steps; public.
    pub fn moment_sensitivity(adjacency: Adjacency, shape: &Shape, weights: &MomentWeights) -> u64 {
        let worst = weights.worst_square(shape.numeric());
        let root = worst.isqrt();
        let ceiling = if root * root == worst { root } else { root + 1 };
        adjacency.sum_sensitivity(u64::try_from(ceiling).unwrap_or(u64::MAX))
    }
}

/// A data set with the clip of each row decided for one bound.
pub struct ClippedRows<'a> {
    data: &'a PrivateDataset,
    caps: Caps,
}

impl ClippedRows<'_> {
    /// The data set.
    pub fn data(&self) -> &PrivateDataset {
        self.data
    }

    /// The clip in grid steps.
    pub fn bound(&self) -> u64 {
        self.caps.bound()
    }

    /// What `multiplier_scale` of a [`Step`] must be for a clip norm in units of one feature unit.
    pub fn multiplier_scale(&self, clip_norm: f64) -> f64 {
        self.bound() as f64 / (f64::from(self.data.rows.unit()) * clip_norm)
    }

    /// The sum over all rows of the gradient of `loss`, clipped row by row, on the integer grid.
    ///
    /// # Privacy
    /// A row contributes `m_i q_i` with `m_i^2 |q_i|^2 <= bound^2` checked in integers, so the l2
    /// sensitivity is `bound` under add-remove and `2 bound` under replace-one, exactly.
    pub fn gradient_sum<L: Loss>(&self, loss: L, step: &Step<'_>) -> Sensitive<L2> {
        let sums = clipped_sum(
            &self.data.rows,
            &self.caps,
            step,
            #[inline(always)]
            |margin, label| loss.slope(margin, label),
        );
        Sensitive {
            values: sums.into_iter().map(i128::from).collect(),
            sensitivity: Sensitivity::new(self.data.scope.adjacency.sum_sensitivity(self.bound())),
            scope: self.data.scope.clone(),
        }
    }
}
