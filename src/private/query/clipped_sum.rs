//! The sum of gradients, each clipped to the same norm.

use ndarray::Array1;
use serde::{Deserialize, Serialize};

use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::error::Fallible;
use crate::grid::IntegerMap;
use crate::loss::Objective;
use crate::privacy::{Adjacency, Charge, L2};
use crate::private::rows::pass::{FeatureGradient, Weighing};
use crate::private::rows::store::Clips;
use crate::private::{PrivateDataset, Sensitive};

/// The sum of clipped gradients, see [`ClippedRows::gradient_sum`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClippedSum {
    /// Largest norm of a row's contribution, in grid steps.
    #[serde(rename = "bound")]
    pub clip_steps: u64,
}

impl DescribeQuery for ClippedSum {
    type Norm = L2;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        adjacency.sum_sensitivity(self.clip_steps)
    }

    fn reads(&self) -> Reads {
        Reads {
            rows: RowAccess::StreamedSum,
            role: Role::Steps(1),
            clip_steps: Some(self.clip_steps),
            persons: true,
            labels: false,
        }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_) | Charge::PoissonGaussian(_) | Charge::AllocatedGaussian(_))
    }
}

impl PrivateDataset {
    /// Prepares clipped gradient sums whose rows contribute at most `clip_steps` grid steps in l2 norm.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn clipped(&self, clip_steps: u64) -> Fallible<ClippedRows<'_>> {
        Ok(ClippedRows { clips: Clips::new(self.store(), None, clip_steps, self.typical_rows())?, data: self })
    }

    /// The rows with their clips, seen through a map made from public and released quantities.
    ///
    /// A row's contribution is `m_i A q_i` with `m_i^2 |A q_i|^2 <= clip_steps^2` checked in integers.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn clipped_through(&self, map: IntegerMap, clip_steps: u64) -> Fallible<ClippedRows<'_>> {
        Ok(ClippedRows { clips: Clips::new(self.store(), Some(map), clip_steps, self.typical_rows())?, data: self })
    }
}

/// A data set with the clip of each row decided for one norm.
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
    /// Clip norm of one row's gradient; stands for [`ClippedRows::clip_steps`].
    pub clip_norm: f64,
}

impl ClippedRows<'_> {
    /// The data set.
    pub fn data(&self) -> &PrivateDataset {
        self.data
    }

    /// The clip norm in grid steps.
    pub fn clip_steps(&self) -> u64 {
        self.clips.clip_steps()
    }

    /// Number of coordinates of one output of an iterate: those of the map, or one for each feature without one.
    pub fn coordinates(&self) -> usize {
        self.clips.map().map_or_else(|| self.data.shape().dimension(), IntegerMap::dimension)
    }

    /// Whether rows are seen through a map.
    pub fn is_mapped(&self) -> bool {
        self.clips.map().is_some()
    }

    /// The coefficients of the encoded features that stand for an iterate, `A^T w`; `w` itself without a map. One entry per feature.
    pub fn to_features(&self, weights: &Array1<f64>) -> Array1<f64> {
        self.clips
            .map()
            .map_or_else(|| weights.clone(), |map| by_block(map, (weights, map.dimension()), IntegerMap::transposed))
    }

    /// The gradient with respect to an iterate of something whose gradient in feature coefficients is `v`, `A v`. One entry per feature.
    pub fn to_iterate(&self, v: &Array1<f64>) -> Array1<f64> {
        self.clips.map().map_or_else(|| v.clone(), |map| by_block(map, (v, map.features()), IntegerMap::apply))
    }

    /// The sum over all rows of the gradient of the loss, clipped row by row, on the integer grid.
    ///
    /// # Privacy
    /// A row contributes `m_ik A q_i` for every output `k`, with `sum_k m_ik^2 |A q_i|^2 <= clip_steps^2` checked in
    /// integers, `A` the identity without a map: one joint clip for all outputs. So the l2 sensitivity is `clip_steps` under
    /// add-remove and `2 clip_steps` under replace-one, exactly. A multiplier is a function of its row and of public inputs, so
    /// it does not matter in which parts the rows are read. Where persons are the unit, a person contributes the average of its rows'
    /// gradients, or for a data set that weighs rows their sum over a public number, clipped as a whole to the same norm, see
    /// [`crate::kernel::clipped_person_sum`].
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn gradient_sum(&self, gradient: &Gradient<'_>) -> Fallible<Sensitive<L2>> {
        let sums = self.clips.sum(self.data.store(), &self.in_features(gradient))?;
        Ok(self.data.sensitive(sums, ClippedSum { clip_steps: self.clip_steps() }))
    }

    /// The clipped gradient sum over chosen rows only, or over chosen persons.
    ///
    /// # Errors
    /// When rows are in a file.
    pub(in crate::private) fn sampled_sum(&self, gradient: &Gradient<'_>, chosen: &[usize]) -> Fallible<Sensitive<L2>> {
        let sums = self.clips.sampled_sum(self.data.store(), &self.in_features(gradient), chosen)?;
        Ok(self.data.sensitive(sums, ClippedSum { clip_steps: self.clip_steps() }))
    }

    /// The sum over all rows as a pass weighs them, in the coordinates of the map.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub(super) fn weighed(&self, weighing: FeatureGradient) -> Fallible<Vec<i128>> {
        self.clips.sum(self.data.store(), &weighing)
    }

    /// What a pass of the kernel takes in the place of an iterate.
    fn in_features(&self, gradient: &Gradient<'_>) -> FeatureGradient {
        let one = f64::from(self.data.one()) * self.clips.map().map_or(1.0, IntegerMap::one);
        FeatureGradient {
            loss: gradient.loss,
            weights: self.to_features(gradient.weights).to_vec(),
            label_scale: gradient.label_scale,
            multiplier_scale: self.clip_steps() as f64 / (one * gradient.clip_norm),
            weighing: Weighing::Slopes,
        }
    }
}

/// A map applied to every block of a vector, of so many entries each.
fn by_block(
    map: &IntegerMap,
    (v, block): (&Array1<f64>, usize),
    apply: impl Fn(&IntegerMap, &Array1<f64>) -> Array1<f64>,
) -> Array1<f64> {
    v.exact_chunks(block).into_iter().flat_map(|block| apply(map, &block.to_owned())).collect()
}
