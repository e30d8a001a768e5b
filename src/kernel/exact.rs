//! Passes over rows in wide integers: margins at points of any size, and weighted sums, without rounding.

use ndarray::Array2;
use rayon::prelude::*;

use super::{Caps, LANES, Rows};
use crate::grid::MAX_MULTIPLIER;

/// Coordinates of a point must be below `2^96` in size: with at most `2^14` coefficients every margin then fits.
pub const LOG2_LARGEST_COORDINATE: u32 = 96;

/// Most coefficients of an exact pass.
pub const MAX_EXACT: usize = 1 << 14;

/// Parts that a float sum is cut into; fixed, so that the number of threads changes no bit.
const PARTS: usize = 16;

/// Rows shrunk to a clip norm: row `i` counts as `m_i q_i`, with `m_i = min(4095, floor(clip_steps / |q_i|))`.
///
/// The multiplier 4095 leaves a row as it is; so in units of `4095 one` no row is longer than
/// `clip_steps / (4095 one)`, which is checked in integers, see [`Caps`].
pub struct ScaledRows<'a> {
    rows: &'a Rows,
    caps: Caps,
    /// The coefficient of each internal slot of a category; `None` for "none of them".
    coefficients: Vec<Option<usize>>,
}

impl<'a> ScaledRows<'a> {
    /// Shrinks rows to a norm of at most `clip_steps` grid steps.
    pub fn new(rows: &'a Rows, clip_steps: u64) -> Self {
        let mut coefficients = vec![None; rows.shape().slots()];
        rows.shape().each_slot(|coefficient, slot| coefficients[slot] = Some(coefficient));
        ScaledRows { rows, caps: Caps::new(rows, clip_steps), coefficients }
    }

    /// The multiplier of a row that is not shrunk.
    pub fn whole() -> i16 {
        MAX_MULTIPLIER
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// `sum_i weight(m_i z.q_i, label_i) m_i q_i` in exact integers.
    ///
    /// Weights are below `2^62`, multipliers below `2^12` and values below `2^15` in size, so a sum over `2^36` rows fits.
    /// The margin saturates, which happens only where `|m_i z.q_i|` exceeds `2^127`.
    pub fn weighted_sum(&self, point: &[i128], weight: impl Fn(i128, i16) -> i64 + Sync) -> Vec<i128> {
        let dimension = self.rows.shape().dimension();
        let zero = || vec![0i128; dimension];
        (0..self.rows.tiles())
            .into_par_iter()
            .with_min_len(16)
            .fold(zero, |mut sum, tile| {
                self.each_row(tile, |lane| {
                    let at = weight(self.margin(tile, lane, point), self.label(tile, lane));
                    let scaled = i128::from(at) * i128::from(self.multiplier(tile, lane));
                    self.each_value(tile, lane, |coefficient, q| sum[coefficient] += scaled * i128::from(q));
                });
                sum
            })
            .reduce(zero, |mut a, b| {
                a.iter_mut().zip(&b).for_each(|(x, y)| *x += y);
                a
            })
    }

    /// `sum_i weight(m_i z.q_i, label_i) m_i^2 q_i q_i^T` in floating point, the same on any number of threads.
    pub fn weighted_gram(&self, point: &[i128], weight: impl Fn(i128, i16) -> f64 + Sync) -> Array2<f64> {
        let dimension = self.rows.shape().dimension();
        let per_part = self.rows.tiles().div_ceil(PARTS).max(1);
        let part = |part: usize| {
            let mut sum = Array2::<f64>::zeros((dimension, dimension));
            let mut values = Vec::new();
            for tile in part * per_part..((part + 1) * per_part).min(self.rows.tiles()) {
                self.each_row(tile, |lane| {
                    let multiplier = f64::from(self.multiplier(tile, lane));
                    let at = weight(self.margin(tile, lane, point), self.label(tile, lane)) * multiplier * multiplier;
                    values.clear();
                    self.each_value(tile, lane, |coefficient, q| values.push((coefficient, f64::from(q))));
                    for &(row, x) in &values {
                        values.iter().for_each(|&(column, y)| sum[(row, column)] += at * x * y);
                    }
                });
            }
            sum
        };
        let parts: Vec<_> = (0..PARTS).into_par_iter().map(part).collect();
        parts.into_iter().fold(Array2::zeros((dimension, dimension)), |sum, part| sum + part)
    }

    /// Calls `visit` with each lane of a tile that holds a row.
    fn each_row(&self, tile: usize, mut visit: impl FnMut(usize)) {
        (0..LANES).filter(|&lane| self.multiplier(tile, lane) > 0).for_each(&mut visit);
    }

    fn multiplier(&self, tile: usize, lane: usize) -> i16 {
        self.caps.values[tile * LANES + lane]
    }

    fn label(&self, tile: usize, lane: usize) -> i16 {
        self.rows.labels[tile * LANES + lane]
    }

    /// `m_i z.q_i`.
    fn margin(&self, tile: usize, lane: usize, point: &[i128]) -> i128 {
        let mut sum = 0i128;
        self.each_value(tile, lane, |coefficient, q| sum += point[coefficient] * i128::from(q));
        sum.saturating_mul(i128::from(self.multiplier(tile, lane)))
    }

    /// Calls `visit(coefficient, value)` for every coordinate of a row that can differ from zero.
    fn each_value(&self, tile: usize, lane: usize, mut visit: impl FnMut(usize, i16)) {
        let shape = self.rows.shape();
        for (column, values) in self.rows.numeric_tile(tile).chunks_exact(LANES).enumerate() {
            visit(column, values[lane]);
        }
        for (column, codes) in self.rows.code_tile(tile).chunks_exact(LANES).enumerate() {
            if let Some(coefficient) = self.coefficients[shape.slot(column) + usize::from(codes[lane])] {
                visit(coefficient, self.rows.one);
            }
        }
        visit(shape.dimension() - 1, self.rows.one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Shape;
    use crate::kernel::{RawRow, RowsBuilder};

    #[test]
    fn sums_are_those_of_dense_rows() {
        let shape = Shape::new(2, &[2]);
        let mut builder = RowsBuilder::new(shape);
        let raw = [([100i16, -7], 0u16, 1i16), ([i16::MAX, i16::MIN], 1, 0), ([0, 0], 5, 3)];
        for (numeric, code, label) in raw {
            builder.push(&RawRow { numeric: numeric.to_vec(), codes: vec![code], label, null: false });
        }
        builder.push(&RawRow { numeric: vec![5, 5], codes: vec![0], label: 1, null: true });
        let rows = builder.build();
        let u = i128::from(rows.one());
        let dense = [[100, -7, u, 0, u], [32_767, -32_767, 0, u, u], [0, 0, 0, 0, u]];
        let clip_steps = 40_000 * 4095;
        let scaled = ScaledRows::new(&rows, clip_steps);
        let point = [3i128 << 80, -1, 2, 5, -(1 << 60)];
        let dot = |q: &[i128; 5]| q.iter().zip(point).map(|(q, z)| q * z).sum::<i128>();
        let m: Vec<i128> = dense
            .iter()
            .map(|q| {
                let square: i128 = q.iter().map(|q| q * q).sum();
                (0..=4095).rev().find(|m| m * m * square <= i128::from(clip_steps) * i128::from(clip_steps)).unwrap()
            })
            .collect();
        let weight = |margin: i128, label: i16| ((margin >> 70) as i64) + i64::from(label);
        let sum = scaled.weighted_sum(&point, weight);
        let gram = scaled.weighted_gram(&point, |_, label| f64::from(label) + 1.0);
        for j in 0..5 {
            let expected: i128 =
                (0..3).map(|i| i128::from(weight(m[i] * dot(&dense[i]), raw[i].2)) * m[i] * dense[i][j]).sum();
            assert_eq!(sum[j], expected);
            for k in 0..5 {
                let expected: i128 =
                    (0..3).map(|i| i128::from(raw[i].2 + 1) * m[i] * m[i] * dense[i][j] * dense[i][k]).sum();
                assert!((gram[(j, k)] / expected as f64 - 1.0).abs() < 1e-12 || expected == 0);
            }
        }
    }
}
