//! Private rows and the queries that may be asked of them.

use ndarray::Array1;

use super::pass::{FeatureGradient, Pass};
use super::store::{Clips, Store};
use super::{Query, Sensitive};
use crate::error::Fallible;
use crate::grid::{IntegerMap, MomentWeights, Shape};
use crate::kernel::Rows;
use crate::loss::{Curved, Objective};
use crate::preprocess::Standardiser;
use crate::privacy::{L2, Scope, Sensitivity};

/// Encoded rows behind the gate: no accessor hands out a row or anything computed from rows.
pub struct PrivateDataset {
    rows: Store,
    scope: Scope,
}

impl PrivateDataset {
    /// Takes the rows in, be they in memory or in a file; from here on only released values come out.
    pub fn new(rows: impl Into<Store>, scope: Scope) -> Self {
        PrivateDataset { rows: rows.into(), scope }
    }

    /// The data set and relation that guarantees are about.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The columns; public, they follow from the schema.
    pub fn shape(&self) -> &Shape {
        self.rows.shape()
    }

    /// The integer that stands for 1.0 in an encoded row; public.
    pub fn unit(&self) -> i16 {
        self.rows.unit()
    }

    /// The number of rows where the adjacency makes it public, `None` under add-remove.
    pub fn public_len(&self) -> Option<u64> {
        self.scope.adjacency.row_count_is_public().then_some(self.rows.len())
    }

    /// The number of rows, for drawing samples inside the gate.
    pub(super) fn private_len(&self) -> usize {
        self.rows.len() as usize
    }

    /// The rows, for queries inside the gate that are sums over them.
    pub(super) fn store(&self) -> &Store {
        &self.rows
    }

    /// The rows, for queries inside the gate that need all of them at hand.
    ///
    /// # Errors
    /// When they are in a file.
    pub(super) fn rows(&self) -> Fallible<&Rows> {
        self.rows.whole()
    }

    /// What tells these rows from others, where they are in memory or with workers.
    ///
    /// # Privacy
    /// A function of the rows, for the custodian alone: it names the rows that a stopped run was about, in a file as private as
    /// they are.
    pub(crate) fn digest(&self) -> Option<String> {
        self.rows.digest()
    }

    /// The same rows once more, behind the same gate, for a run that is repeated.
    ///
    /// # Privacy
    /// Nothing comes out: what is asked of the copy is paid for like everything else.
    ///
    /// # Errors
    /// When they are in a file.
    pub fn duplicate(&self) -> Fallible<Self> {
        let rows = self.rows()?;
        let all: Vec<usize> = (0..rows.len()).collect();
        Ok(PrivateDataset::new(rows.subset(&all), self.scope.clone()))
    }

    /// Re-encodes every row by a map built from public and released quantities; rows in a file go to another one.
    ///
    /// # Privacy
    /// Each new row is a function of its old row alone, so neighbours stay neighbours and nothing
    /// is released.
    ///
    /// # Errors
    /// When rows in a file cannot be read or written.
    pub fn standardised(self, map: &Standardiser) -> Fallible<Self> {
        Ok(PrivateDataset { rows: self.rows.recoded(map)?, scope: self.scope })
    }

    /// The rows in parts; each stays behind the gate.
    ///
    /// `part_of` must not depend on what stands in the rows.
    ///
    /// # Errors
    /// When they are in a file.
    pub(super) fn split(&self, parts: usize, part_of: impl FnMut(usize) -> usize) -> Fallible<Vec<PrivateDataset>> {
        let parts = self.rows()?.partition(parts, part_of).into_iter();
        Ok(parts.map(|rows| PrivateDataset::new(rows, self.scope.clone())).collect())
    }

    /// Prepares clipped gradient sums whose rows contribute at most `bound` grid steps in l2 norm.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn clipped(&self, bound: u64) -> Fallible<ClippedRows<'_>> {
        Ok(ClippedRows { clips: Clips::new(&self.rows, None, bound)?, data: self })
    }

    /// The same with rows seen through a map made from public and released quantities.
    ///
    /// A row's contribution is `m_i A q_i` with `m_i^2 |A q_i|^2 <= bound^2` checked in integers.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn clipped_through(&self, map: IntegerMap, bound: u64) -> Fallible<ClippedRows<'_>> {
        Ok(ClippedRows { clips: Clips::new(&self.rows, Some(map), bound)?, data: self })
    }

    /// Sums of the encoded values and their squares, weighted by public integers.
    ///
    /// # Privacy
    /// Every row's vector has a squared norm of at most [`MomentWeights::worst_square`], a public
    /// integer; the l2 sensitivity is the ceiling of its root, doubled under replace-one.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn moments(&self, weights: &MomentWeights) -> Fallible<Sensitive<L2>> {
        let query = Query::Moments { weights: *weights, columns: self.shape().numeric() };
        Ok(self.sensitive(self.rows.sum(&Pass::Moments(*weights))?, &query))
    }

    /// The clipped Gram matrix as a weighted upper triangle, see [`crate::kernel::gram_sum`].
    ///
    /// # Privacy
    /// A row's matrix has Frobenius norm at most `bound`, checked in integers; replacing a row moves the sum by
    /// at most `sqrt(2) bound`.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn gram(&self, bound: u64, most: u64) -> Fallible<Sensitive<L2>> {
        Ok(self.sensitive(self.rows.sum(&Pass::Gram { bound, most })?, &Query::Gram { bound }))
    }

    /// Two data sets: the rows at chosen positions, in order, and the rest; the choice must not look at the rows.
    ///
    /// # Errors
    /// When they are in a file.
    pub(super) fn divided(self, chosen: &[usize]) -> Fallible<(Self, Self)> {
        let all = self.rows()?;
        let mut left = chosen.iter().copied().peekable();
        let rest: Vec<usize> = (0..all.len()).filter(|row| left.next_if_eq(row).is_none()).collect();
        let part = |rows: &[usize]| PrivateDataset::new(all.subset(rows), self.scope.clone());
        Ok((part(chosen), part(&rest)))
    }

    /// The Hessian sum of a loss as a weighted upper triangle, see [`crate::kernel::hessian_sum`]; `weights` in feature coordinates.
    ///
    /// A row's multiplier is `most` at the largest curvature that the loss has.
    ///
    /// # Privacy
    /// As [`PrivateDataset::gram`].
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn hessian(&self, loss: Curved, weights: &Array1<f64>, bound: u64, most: u64) -> Fallible<Sensitive<L2>> {
        let pass = Pass::Hessian { loss, weights: weights.to_vec(), bound, most };
        Ok(self.sensitive(self.rows.sum(&pass)?, &Query::Hessian { bound }))
    }

    /// The one place where a sensitivity is attached to a value: that of the query which computed it.
    pub(super) fn sensitive(&self, values: Vec<i128>, query: &Query) -> Sensitive<L2> {
        let sensitivity = Sensitivity::new(query.sensitivity(self.scope.adjacency));
        Sensitive { values, sensitivity, scope: self.scope.clone() }
    }
}

/// A data set with the clip of each row decided for one bound.
pub struct ClippedRows<'a> {
    data: &'a PrivateDataset,
    clips: Clips,
}

/// The public inputs of one clipped gradient sum.
#[derive(Clone, Debug)]
pub struct Gradient<'a> {
    /// The loss.
    pub loss: Objective,
    /// The iterate, in the coordinates of the map if there is one; for several outputs one block after the other.
    pub weights: &'a Array1<f64>,
    /// What an encoded label of 1 stands for.
    pub label_scale: f64,
    /// Clip norm of one row's gradient; stands for the bound in grid steps.
    pub clip_norm: f64,
}

impl ClippedRows<'_> {
    /// The data set.
    pub fn data(&self) -> &PrivateDataset {
        self.data
    }

    /// The clip in grid steps.
    pub fn bound(&self) -> u64 {
        self.clips.bound()
    }

    /// Whether rows are seen through a map.
    pub fn is_mapped(&self) -> bool {
        self.clips.map().is_some()
    }

    /// The coefficients of the encoded features that stand for an iterate, `A^T w`; `w` itself without a map.
    pub fn to_features(&self, weights: &Array1<f64>) -> Array1<f64> {
        self.clips.map().map_or_else(|| weights.clone(), |map| by_block(map, weights, IntegerMap::transposed))
    }

    /// The gradient with respect to an iterate of something whose gradient in feature coefficients is `v`, `A v`.
    pub fn to_iterate(&self, v: &Array1<f64>) -> Array1<f64> {
        self.clips.map().map_or_else(|| v.clone(), |map| by_block(map, v, IntegerMap::apply))
    }

    /// The sum over all rows of the gradient of the loss, clipped row by row, on the integer grid.
    ///
    /// # Privacy
    /// A row contributes `m_ik A q_i` for every output `k`, with `sum_k m_ik^2 |A q_i|^2 <= bound^2` checked in
    /// integers, `A` the identity without a map: one joint clip for all outputs. So the l2 sensitivity is `bound` under
    /// add-remove and `2 bound` under replace-one, exactly. A multiplier is a function of its row and of public inputs, so
    /// it does not matter in which parts the rows are read.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn gradient_sum(&self, gradient: &Gradient<'_>) -> Fallible<Sensitive<L2>> {
        let asked = self.in_features(gradient);
        let sums = self.clips.sum(&self.data.rows, &asked)?;
        Ok(self.mapped(&sums))
    }

    /// The same over chosen rows only.
    ///
    /// # Errors
    /// When rows are in a file.
    pub(super) fn sampled_sum(&self, gradient: &Gradient<'_>, chosen: &[usize]) -> Fallible<Sensitive<L2>> {
        let (rows, caps) = self.clips.whole()?.subset(self.data.rows()?, chosen);
        Ok(self.mapped(&self.in_features(gradient).over(&rows, &caps)))
    }

    /// What a pass of the kernel takes in the place of an iterate.
    fn in_features(&self, gradient: &Gradient<'_>) -> FeatureGradient {
        let unit = f64::from(self.data.unit()) * self.clips.map().map_or(1.0, IntegerMap::unit);
        FeatureGradient {
            loss: gradient.loss,
            weights: self.to_features(gradient.weights).to_vec(),
            label_scale: gradient.label_scale,
            multiplier_scale: self.bound() as f64 / (unit * gradient.clip_norm),
        }
    }

    /// Sums over features as sums over coordinates of the iterate, with the sensitivity that the clips give them.
    fn mapped(&self, sums: &[i64]) -> Sensitive<L2> {
        let values = match self.clips.map() {
            None => sums.iter().map(|&sum| i128::from(sum)).collect(),
            Some(map) => sums.chunks_exact(map.dimension()).flat_map(|block| map.image(block)).collect(),
        };
        self.data.sensitive(values, &Query::ClippedSum { bound: self.bound() })
    }
}

/// A map applied to every block of a vector.
fn by_block(
    map: &IntegerMap,
    v: &Array1<f64>,
    apply: impl Fn(&IntegerMap, &Array1<f64>) -> Array1<f64>,
) -> Array1<f64> {
    v.exact_chunks(map.dimension()).into_iter().flat_map(|block| apply(map, &block.to_owned())).collect()
}
