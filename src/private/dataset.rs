//! Private rows and the queries that may be asked of them.

use ndarray::Array1;

use super::{Query, Sensitive};
use crate::kernel::{
    Caps, ClassStep, IntegerMap, MomentWeights, Rows, Shape, Step, clipped_class_sum, clipped_sum, gram_sum,
    hessian_sum, moment_sum,
};
use crate::loss::{Curved, Logistic, Loss, LossVisitor, Objective, Softmax};
use crate::preprocess::Standardiser;
use crate::privacy::{L2, Scope, Sensitivity};

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

    /// The integer that stands for 1.0 in an encoded row; public.
    pub fn unit(&self) -> i16 {
        self.rows.unit()
    }

    /// The number of rows where the adjacency makes it public, `None` under add-remove.
    pub fn public_len(&self) -> Option<u64> {
        self.scope.adjacency.row_count_is_public().then_some(self.rows.len() as u64)
    }

    /// The number of rows, for drawing samples inside the gate.
    pub(super) fn private_len(&self) -> usize {
        self.rows.len()
    }

    /// The rows, for queries inside the gate.
    pub(super) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The same rows once more, behind the same gate, for a run that is repeated.
    ///
    /// # Privacy
    /// Nothing comes out: what is asked of the copy is paid for like everything else.
    pub fn duplicate(&self) -> Self {
        let all: Vec<usize> = (0..self.rows.len()).collect();
        PrivateDataset { rows: self.rows.subset(&all), scope: self.scope.clone() }
    }

    /// Re-encodes every row by a map built from public and released quantities.
    ///
    /// # Privacy
    /// Each new row is a function of its old row alone, so neighbours stay neighbours and nothing
    /// is released.
    pub fn standardised(self, map: &Standardiser) -> Self {
        PrivateDataset { rows: map.recode(self.rows), scope: self.scope }
    }

    /// The rows in parts; each stays behind the gate.
    ///
    /// `part_of` must not depend on what stands in the rows.
    pub(super) fn split(&self, parts: usize, part_of: impl FnMut(usize) -> usize) -> Vec<PrivateDataset> {
        let parts = self.rows.partition(parts, part_of).into_iter();
        parts.map(|rows| PrivateDataset { rows, scope: self.scope.clone() }).collect()
    }

    /// Prepares clipped gradient sums whose rows contribute at most `bound` grid steps in l2 norm.
    pub fn clipped(&self, bound: u64) -> ClippedRows<'_> {
        ClippedRows { caps: Caps::new(&self.rows, bound), data: self, map: None }
    }

    /// The same with rows seen through a map made from public and released quantities.
    ///
    /// A row's contribution is `m_i A q_i` with `m_i^2 |A q_i|^2 <= bound^2` checked in integers.
    pub fn clipped_through(&self, map: IntegerMap, bound: u64) -> ClippedRows<'_> {
        ClippedRows { caps: Caps::through(&map, &self.rows, bound), data: self, map: Some(map) }
    }

    /// Sums of the encoded values and their squares, weighted by public integers.
    ///
    /// # Privacy
    /// Every row's vector has a squared norm of at most [`MomentWeights::worst_square`], a public
    /// integer; the l2 sensitivity is the ceiling of its root, doubled under replace-one.
    pub fn moments(&self, weights: &MomentWeights) -> Sensitive<L2> {
        let query = Query::Moments { weights: *weights, columns: self.shape().numeric() };
        self.sensitive(moment_sum(&self.rows, weights), &query)
    }

    /// The clipped Gram matrix as a weighted upper triangle, see [`gram_sum`].
    ///
    /// # Privacy
    /// A row's matrix has Frobenius norm at most `bound`, checked in integers; replacing a row moves the sum by
    /// at most `sqrt(2) bound`.
    pub fn gram(&self, bound: u64, most: u64) -> Sensitive<L2> {
        self.sensitive(gram_sum(&self.rows, bound, most), &Query::Gram { bound })
    }

    /// Two data sets: the rows at chosen positions, in order, and the rest; the choice must not look at the rows.
    pub(super) fn divided(self, chosen: &[usize]) -> (Self, Self) {
        let mut left = chosen.iter().copied().peekable();
        let rest: Vec<usize> = (0..self.rows.len()).filter(|row| left.next_if_eq(row).is_none()).collect();
        let part = |rows: &[usize]| PrivateDataset { rows: self.rows.subset(rows), scope: self.scope.clone() };
        (part(chosen), part(&rest))
    }

    /// The Hessian sum of a loss as a weighted upper triangle, see [`hessian_sum`]; `weights` in feature coordinates.
    ///
    /// A row's multiplier is `most` at the largest curvature that the loss has.
    ///
    /// # Privacy
    /// As [`PrivateDataset::gram`].
    pub fn hessian(&self, loss: Curved, weights: &Array1<f64>, bound: u64, most: u64) -> Sensitive<L2> {
        let weights = weights.as_slice().unwrap_or(&[]);
        let largest = Logistic.smoothness() as f32;
        let sum = match loss {
            Curved::Logistic => {
                hessian_sum(&self.rows, bound, most, weights, |margin| Logistic.curvature(margin) / largest)
            }
            // Weights that are no numbers must give the same matrix, so this is no Gram sum.
            Curved::Squared => hessian_sum(&self.rows, bound, most, weights, |_| 1.0),
        };
        self.sensitive(sum, &Query::Hessian { bound })
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
    caps: Caps,
    map: Option<IntegerMap>,
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
        self.caps.bound()
    }

    /// Whether rows are seen through a map.
    pub fn is_mapped(&self) -> bool {
        self.map.is_some()
    }

    /// The coefficients of the encoded features that stand for an iterate, `A^T w`; `w` itself without a map.
    pub fn to_features(&self, weights: &Array1<f64>) -> Array1<f64> {
        self.map.as_ref().map_or_else(|| weights.clone(), |map| by_block(map, weights, IntegerMap::transposed))
    }

    /// The gradient with respect to an iterate of something whose gradient in feature coefficients is `v`, `A v`.
    pub fn to_iterate(&self, v: &Array1<f64>) -> Array1<f64> {
        self.map.as_ref().map_or_else(|| v.clone(), |map| by_block(map, v, IntegerMap::apply))
    }

    /// The sum over all rows of the gradient of the loss, clipped row by row, on the integer grid.
    ///
    /// # Privacy
    /// A row contributes `m_ik A q_i` for every output `k`, with `sum_k m_ik^2 |A q_i|^2 <= bound^2` checked in
    /// integers, `A` the identity without a map: one joint clip for all outputs. So the l2 sensitivity is `bound` under add-remove and `2 bound` under replace-one, exactly.
    pub fn gradient_sum(&self, gradient: &Gradient<'_>) -> Sensitive<L2> {
        self.sum_over(&self.data.rows, &self.caps, gradient)
    }

    /// The same over chosen rows only.
    pub(super) fn sampled_sum(&self, gradient: &Gradient<'_>, chosen: &[usize]) -> Sensitive<L2> {
        let (rows, caps) = self.caps.subset(&self.data.rows, chosen);
        self.sum_over(&rows, &caps, gradient)
    }

    fn sum_over(&self, rows: &Rows, caps: &Caps, gradient: &Gradient<'_>) -> Sensitive<L2> {
        let weights = self.to_features(gradient.weights);
        let unit = f64::from(self.data.rows.unit()) * self.map.as_ref().map_or(1.0, IntegerMap::unit);
        let multiplier_scale = self.bound() as f64 / (unit * gradient.clip_norm);
        let weights = weights.as_slice().unwrap_or(&[]);
        let sums = match gradient.loss {
            Objective::Margin(loss) => {
                let step = Step { weights, label_scale: gradient.label_scale, multiplier_scale };
                loss.with(ClippedSum { rows, caps, step: &step })
            }
            Objective::Softmax { classes } => {
                let step = ClassStep { weights, classes, multiplier_scale };
                clipped_class_sum(rows, caps, &step, Softmax::slopes)
            }
        };
        let values = match &self.map {
            None => sums.into_iter().map(i128::from).collect(),
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

/// One pass of the kernel, compiled for each loss.
struct ClippedSum<'a> {
    rows: &'a Rows,
    caps: &'a Caps,
    step: &'a Step<'a>,
}

impl LossVisitor for ClippedSum<'_> {
    type Output = Vec<i64>;

    fn visit<L: Loss>(self, loss: L) -> Vec<i64> {
        clipped_sum(
            self.rows,
            self.caps,
            self.step,
            #[inline(always)]
            |margin, label| loss.slope(margin, label),
        )
    }
}
