//! How far a minimiser moves, by its penalty.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Fallible};
use crate::solve::LOG2_POINT;

/// Regularisation is an integer over `2^30`; times a point over `2^32` it is a gradient over `2^62`.
pub const LOG2_REGULARIZATION: u32 = 30;

/// A row longer than `2^32` grid steps would let sums overflow.
const MAX_ROW: u64 = 1 << 32;

/// Scales of margins for which points and margins of up to `2^32` rows fit their integers.
pub(super) const LOG2_MARGINS: std::ops::RangeInclusive<u32> = 30..=80;

/// Most coefficients: the solver keeps a dense Hessian.
pub const MAX_SOLVED: usize = 2048;

/// The public numbers that fix how far a minimiser moves.
///
/// In grid steps of the answer the objective has the gradient `G(z) = sum_i s(2^-e m_i z.q_i) m_i q_i + lambda z`, with
/// slopes `s` in `[-1, 1]` and `|m_i q_i| <= row_bound`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curvature {
    /// Largest norm of a row's gradient.
    pub row_bound: u64,
    /// `lambda` over `2^30`, which every curvature of the objective exceeds.
    #[serde(rename = "regularisation")]
    pub regularization: u64,
    /// The answer is at most this far from the exact minimiser, before it is rounded to whole steps.
    pub tolerance: u64,
}

impl Curvature {
    /// How far one row's gradient moves the minimiser, `ceil(row_bound / lambda)`.
    ///
    /// With the row the gradient at the old minimiser is at most `row_bound`, and a gradient of that size is at most
    /// `row_bound / lambda` away from where it vanishes.
    pub fn movement(&self) -> u64 {
        let scaled = u128::from(self.row_bound) << LOG2_REGULARIZATION;
        let quotient = scaled.div_ceil(u128::from(self.regularization.max(1)));
        u64::try_from(quotient).unwrap_or(u64::MAX)
    }

    /// How far two answers for the same exact minimiser can be apart: `2 tolerance` and half a step in each coordinate
    /// for the rounding of each.
    pub fn spread(&self, dimension: usize) -> u64 {
        let root = (dimension as u64).isqrt();
        let root = if root * root == dimension as u64 { root } else { root + 1 };
        self.tolerance.saturating_mul(2).saturating_add(root)
    }

    /// The norm of a gradient whose point is certainly within the tolerance, `lambda tolerance` over `2^62`.
    pub(super) fn allowed(&self) -> u128 {
        (u128::from(self.regularization) * u128::from(self.tolerance)) << LOG2_POINT
    }

    /// Refuses numbers for which the certificate could fail on some data: slopes that err by `2^-58` on `2^36` rows
    /// must stay below a quarter of the gradient that is allowed.
    ///
    /// # Errors
    /// When a number is out of range; all are public.
    pub fn check(&self) -> Fallible<()> {
        let allowed = u128::from(self.regularization) * u128::from(self.tolerance);
        let least = u128::from(self.row_bound) << (LOG2_REGULARIZATION - 20);
        if self.row_bound > 0 && self.row_bound <= MAX_ROW && allowed >= least && allowed < 1 << 90 {
            return Ok(());
        }
        Err(Error::parameter("--clip", "leaves no room to certify a minimiser", "leave out --clip, --l2 or both"))
    }
}
