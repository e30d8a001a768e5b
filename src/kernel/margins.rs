//! Margins of encoded rows, the same bits wherever they are computed.

use super::{LANES, Rows};

/// Coefficients laid out for encoded rows.
pub(super) struct Margins {
    numeric: Vec<f32>,
    categories: Vec<f32>,
    intercept: f32,
}

impl Margins {
    /// For one coefficient per feature in units of 1.0, laid out as [`super::Shape::dimension`] says; a missing one is 0.
    pub(super) fn new(rows: &Rows, weights: &[f64]) -> Self {
        let shape = rows.shape();
        let weight = |index: usize| weights.get(index).copied().unwrap_or(0.0);
        let numeric = (0..shape.numeric()).map(|j| (weight(j) / f64::from(rows.unit)) as f32).collect();
        let mut categories = vec![0.0; shape.slots()];
        shape.each_slot(|coefficient, slot| categories[slot] = weight(coefficient) as f32);
        Margins { numeric, categories, intercept: weight(shape.dimension() - 1) as f32 }
    }

    /// `sum_j w_j x_ij` of each row of a tile: intercept first, then columns in order, without fused operations.
    #[inline(always)]
    pub(super) fn tile(&self, rows: &Rows, tile: usize) -> [f32; LANES] {
        let mut margins = [self.intercept; LANES];
        for (column, &weight) in rows.numeric_tile(tile).as_chunks::<LANES>().0.iter().zip(&self.numeric) {
            for (margin, &q) in margins.iter_mut().zip(column) {
                *margin += f32::from(q) * weight;
            }
        }
        for (index, codes) in rows.code_tile(tile).as_chunks::<LANES>().0.iter().enumerate() {
            let weights = &self.categories[rows.shape.slot(index)..rows.shape.slot(index + 1)];
            for (margin, &code) in margins.iter_mut().zip(codes) {
                *margin += weights[usize::from(code)];
            }
        }
        margins
    }
}
