//! Newton directions for a gradient that is already public.

use ndarray::Array1;
use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::error::{Error, Fallible};
use crate::grid::{DIAGONAL, GRAM_MULTIPLIER, OFF_DIAGONAL, each_entry};
use crate::kernel::definite_solve;
use crate::loss::Curved;
use crate::privacy::{Adjacency, Charge, L2};
use crate::private::{PrivateDataset, Sensitive};

/// Distance in grid steps within which a direction is solved; far below every sensitivity that is worth paying for.
const SLACK: u64 = 1 << 16;

/// A scaled Newton direction, see [`PrivateDataset::direction`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// The l2 sensitivity under add-remove: how far the direction moves if a row is added or removed.
    #[serde(rename = "reach")]
    pub l2_sensitivity: u64,
}

impl DescribeQuery for Direction {
    type Norm = L2;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        adjacency.sum_sensitivity(self.l2_sensitivity)
    }

    fn reads(&self) -> Reads {
        Reads { rows: RowAccess::StreamedSum, role: Role::Preparation, clip_steps: None, persons: false, labels: false }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }
}

/// The public inputs of one direction: `K (H + ridge)^(-1) g` in integers.
#[derive(Clone, Debug)]
pub struct DirectionInputs<'a> {
    /// The released gradient, in any unit.
    pub gradient: &'a [i128],
    /// Largest `m |q|^2` of a row's part `m q q^T` in the Hessian.
    pub clip_steps: u64,
    /// Added to every eigenvalue of the Hessian.
    pub ridge: u64,
    /// The l2 sensitivity under add-remove: how far the direction may move if a row is added, in grid steps.
    pub l2_sensitivity: u64,
}

impl DirectionInputs<'_> {
    /// The largest integer scale `K` at which the direction moves by at most `l2_sensitivity`.
    ///
    /// With `A >= r I` and `A' = A + b u u^T`, `|u| = 1`, Sherman and Morrison's formula gives
    /// `A^(-1) g - A'^(-1) g = b z <z, g> / (1 + b <u, z>)`, `z = A^(-1) u`. As `|z|^2 <= <u, z> / r` and `<u, z> <= 1 / r`, its
    /// norm is at most `|g| b / (r (r + b))`. So `K |g| b <= (l2_sensitivity - 2 slack) r (r + b)`, with `|g|` rounded up.
    ///
    /// # Errors
    /// When no positive scale will do, which depends on public numbers alone.
    pub fn scale(&self) -> Fallible<u64> {
        let square: BigUint = self.gradient.iter().map(|&g| BigUint::from(g.unsigned_abs()).pow(2)).sum();
        let norm = square.sqrt() + 1u32;
        let room = BigUint::from(self.l2_sensitivity.saturating_sub(2 * SLACK)) * self.ridge;
        let room = room * (BigUint::from(self.ridge) + self.clip_steps);
        let scale = room / (norm * self.clip_steps.max(1));
        // A vanishing gradient has a vanishing direction at any scale.
        let scale = u64::try_from(scale).unwrap_or(u64::MAX).min(1 << 62);
        if scale == 0 || self.ridge == 0 {
            return Err(Error::numerical("direction", "the gradient is too long for the grid; use a larger epsilon"));
        }
        Ok(scale)
    }
}

impl PrivateDataset {
    /// The direction `K (H + ridge)^(-1) g`, `H` the Hessian of [`PrivateDataset::hessian`] with multipliers up to
    /// [`GRAM_MULTIPLIER`], `K` from [`DirectionInputs::scale`].
    ///
    /// # Privacy
    /// The exact direction moves by at most `l2_sensitivity - 2 slack` if a row is added or removed, and the integers lie within `slack`
    /// of it whatever the rows, see [`definite_solve`]: l2 sensitivity `l2_sensitivity`. If a row is replaced, both
    /// directions are compared with that of the common rows, which gives twice as much.
    ///
    /// # Errors
    /// When no positive scale will do, which depends on public numbers alone, or when gradient and rows have different dimensions.
    ///
    /// # Reference
    /// Ganesh, Haghifam, Steinke, Thakurta 2023, "Faster differentially private convex optimization via second-order methods".
    pub fn direction(
        &self,
        loss: Curved,
        weights: &Array1<f64>,
        asked: &DirectionInputs<'_>,
    ) -> Fallible<Sensitive<L2>> {
        let dimension = self.shape().dimension();
        let scale = i128::from(asked.scale()?);
        let right: Option<Vec<i128>> = asked.gradient.iter().map(|&g| g.checked_mul(scale)).collect();
        let Some(right) = right.filter(|right| right.len() == dimension) else {
            return Err(Error::numerical("direction", "the gradient does not fit the rows or the grid"));
        };
        let triangle = self.hessian(loss, weights, asked.clip_steps, GRAM_MULTIPLIER)?.values;
        let mut matrix = vec![0i128; dimension * dimension];
        each_entry(dimension, |index, row, column| {
            let weight = i128::from(if row == column { DIAGONAL } else { OFF_DIAGONAL });
            // Exact: the sum was multiplied by this weight.
            let entry = triangle[index] / weight + if row == column { i128::from(asked.ridge) } else { 0 };
            matrix[row * dimension + column] = entry;
            matrix[column * dimension + row] = entry;
        });
        let values = definite_solve(&matrix, &right, asked.ridge, SLACK);
        Ok(self.sensitive(values, Direction { l2_sensitivity: asked.l2_sensitivity }))
    }
}
