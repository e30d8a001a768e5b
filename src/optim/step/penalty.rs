//! Proximal steps of the penalties: what follows each noisy step, computed from released values alone.

use ndarray::{Array1, Array2};

use crate::error::Fallible;
use crate::num::dense;
use crate::private::ClippedRows;

/// The map `z -> argmin |w - z|^2 / 2 + eta (alpha |w|_1 + lambda |w|^2 / 2)` and the projection to a ball.
///
/// Penalties and ball are those of the coefficients of features; intercepts, the last coefficient of each output, are
/// exempt from the penalties. Where rows are seen through a map `A` the l2 part is `(I + eta lambda A S A^T)^(-1)`, `S`
/// the identity without the intercept, so that no penalty is too large for the step size.
pub(in crate::optim) struct Penalties {
    /// `eta alpha`.
    l1: f64,
    /// `eta lambda`.
    l2: f64,
    radius: Option<f64>,
    /// Coefficients of one output.
    width: usize,
    /// The l2 part as a matrix where rows are seen through a map.
    inverse: Option<Array2<f64>>,
}

impl Penalties {
    /// Prepares the maps for steps of size `eta`, already multiplied into `l1` and `l2`.
    ///
    /// # Errors
    /// When the map of the rows has no usable spectrum.
    pub(in crate::optim) fn new(rows: &ClippedRows<'_>, l1: f64, l2: f64, radius: Option<f64>) -> Fallible<Self> {
        let width = rows.coordinates();
        let inverse = if l2 > 0.0 && rows.is_mapped() { Some(inverse(rows, width, l2)?) } else { None };
        Ok(Penalties { l1, l2, radius, width, inverse })
    }

    /// Whether there is anything to shrink.
    pub(in crate::optim) fn shrinks(&self) -> bool {
        self.l1 > 0.0 || self.l2 > 0.0
    }

    /// The penalties' part.
    pub(in crate::optim) fn shrink(&self, mut weights: Array1<f64>) -> Array1<f64> {
        for mut output in weights.exact_chunks_mut(self.width) {
            if let Some(inverse) = &self.inverse {
                let shrunk = inverse.dot(&output);
                output.assign(&shrunk);
                continue;
            }
            for w in output.iter_mut().take(self.width - 1) {
                // Not `signum() * max(..)`, which would turn NaN into zero.
                let kept = if w.abs() <= self.l1 { 0.0 } else { *w - self.l1.copysign(*w) };
                *w = kept / (1.0 + self.l2);
            }
        }
        weights
    }

    /// The ball's part.
    pub(in crate::optim) fn project(&self, rows: &ClippedRows<'_>, mut weights: Array1<f64>) -> Array1<f64> {
        let Some(radius) = self.radius else { return weights };
        let features = rows.to_features(&weights);
        let norm = features.dot(&features).sqrt();
        if norm > radius {
            weights *= radius / norm;
        }
        weights
    }
}

/// `(I + l2 A S A^T)^(-1)`.
fn inverse(rows: &ClippedRows<'_>, width: usize, l2: f64) -> Fallible<Array2<f64>> {
    let mut penalty = Array2::zeros((width, width));
    for (index, mut column) in penalty.columns_mut().into_iter().enumerate() {
        let mut unit = Array1::zeros(width);
        unit[index] = 1.0;
        let mut features = rows.to_features(&unit);
        if let Some(intercept) = features.last_mut() {
            *intercept = 0.0;
        }
        column.assign(&rows.to_iterate(&features));
    }
    let (values, vectors) = dense::symmetric_eigen(penalty)?;
    let shrunk = &vectors * &values.iter().map(|&value| 1.0 / (1.0 + l2 * value.max(0.0))).collect::<Array1<f64>>();
    Ok(shrunk.dot(&vectors.t()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinking_leaves_intercepts_alone_and_hides_no_nan() {
        let penalties = Penalties { l1: 0.5, l2: 1.0, radius: None, width: 3, inverse: None };
        let weights = penalties.shrink(Array1::from(vec![0.5, -2.0, 0.1, -0.3, f64::NAN, -9.0]));
        assert_eq!(weights.to_vec()[..4], [0.0, -0.75, 0.1, 0.0]);
        assert!(weights[4].is_nan() && weights[5] == -9.0);
    }
}
