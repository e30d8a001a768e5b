//! Integer linear maps of encoded rows: the rows stay as they are, norms and sums are seen through the map.

use ndarray::{Array1, Array2, ArrayView2};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{LANES, Rows};
use crate::error::{Error, Fallible};

/// Largest entry of a map: with it, and at most [`MOST_ROWS`] coordinates, the image of a row is exact in `f64`.
const LARGEST_ENTRY: f64 = 131_072.0;

/// Most coordinates: `2^14 * 2^17 * 2^15 < 2^53`.
const MOST_ROWS: usize = 1 << 14;

/// A square integer matrix `A` that stands for the real matrix `A / 2^s`.
///
/// A clipped sum seen through it, `sum_i m_i A q_i = A sum_i m_i q_i`, needs the map only once per pass;
/// the clip needs the exact norms `|A q_i|^2`, which are found once per run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct IntegerMap {
    /// Integers held exactly; one row per output coordinate.
    entries: Array2<f64>,
    log2_unit: u32,
}

/// A map that came from elsewhere; what it may be is checked before it is one.
#[derive(Deserialize)]
struct Parts {
    entries: Array2<f64>,
    log2_unit: u32,
}

impl TryFrom<Parts> for IntegerMap {
    type Error = Error;

    fn try_from(parts: Parts) -> Fallible<Self> {
        let Parts { entries, log2_unit } = parts;
        let small = entries.iter().all(|entry| entry.fract() == 0.0 && entry.abs() <= LARGEST_ENTRY);
        if !entries.is_square() || entries.nrows() > MOST_ROWS || !small {
            return Err(Error::numerical("linear map", "is not a square matrix of moderate integers"));
        }
        Ok(IntegerMap { entries, log2_unit })
    }
}

impl IntegerMap {
    /// Rounds a real matrix to multiples of the finest `2^-s` with `s <= finest` that keeps entries small.
    ///
    /// # Errors
    /// When the matrix is not square, too large, or has an entry that is not a number.
    pub fn nearest(real: &Array2<f64>, finest: u32) -> Fallible<Self> {
        let largest =
            real.iter().fold(0.0f64, |most, &entry| if entry.is_nan() { f64::NAN } else { most.max(entry.abs()) });
        if !real.is_square() || real.nrows() > MOST_ROWS || !largest.is_finite() || largest > LARGEST_ENTRY {
            return Err(Error::numerical("linear map", "is not a square matrix of moderate numbers"));
        }
        let mut log2_unit = finest;
        while log2_unit > 0 && largest * 2f64.powi(log2_unit as i32) > LARGEST_ENTRY {
            log2_unit -= 1;
        }
        let scale = 2f64.powi(log2_unit as i32);
        Ok(IntegerMap { entries: real.mapv(|entry| (entry * scale).round()), log2_unit })
    }

    /// Number of coordinates.
    pub fn dimension(&self) -> usize {
        self.entries.nrows()
    }

    /// The integer that stands for 1.0, `2^s`.
    pub fn unit(&self) -> f64 {
        2f64.powi(self.log2_unit as i32)
    }

    /// `A v / 2^s`.
    pub fn apply(&self, v: &Array1<f64>) -> Array1<f64> {
        self.entries.dot(v) / self.unit()
    }

    /// `A^T v / 2^s`.
    pub fn transposed(&self, v: &Array1<f64>) -> Array1<f64> {
        self.entries.t().dot(v) / self.unit()
    }

    /// `A v` in exact integers.
    pub fn image(&self, v: &[i64]) -> Vec<i128> {
        let product = |row: ndarray::ArrayView1<'_, f64>| {
            row.iter().zip(v).map(|(&entry, &x)| i128::from(entry as i64) * i128::from(x)).sum()
        };
        self.entries.rows().into_iter().map(product).collect()
    }

    /// `|A q_i|^2` of every row, exactly; zero for null rows.
    pub(super) fn norms(&self, rows: &Rows) -> Vec<u128> {
        let tiles = rows.tiles();
        let map = RowMap::new(self, rows);
        (0..tiles).into_par_iter().flat_map_iter(|tile| map.tile_norms(tile)).collect()
    }
}

/// The map laid out for encoded rows: numeric part as a matrix, one image per category slot, the intercept's.
struct RowMap<'a> {
    rows: &'a Rows,
    numeric: ArrayView2<'a, f64>,
    slots: Array2<f64>,
    intercept: Array1<f64>,
}

impl<'a> RowMap<'a> {
    fn new(map: &'a IntegerMap, rows: &'a Rows) -> Self {
        let shape = rows.shape();
        let unit = f64::from(rows.unit);
        let mut slots = Array2::zeros((shape.slots(), map.dimension()));
        shape.each_slot(|coefficient, slot| slots.row_mut(slot).assign(&(&map.entries.column(coefficient) * unit)));
        RowMap {
            rows,
            numeric: map.entries.view().split_at(ndarray::Axis(1), shape.numeric()).0,
            slots,
            intercept: &map.entries.column(shape.dimension() - 1) * unit,
        }
    }

    fn tile_norms(&self, tile: usize) -> Vec<u128> {
        let shape = self.rows.shape();
        let numeric: Vec<f64> = self.rows.numeric_tile(tile).iter().map(|&q| f64::from(q)).collect();
        // Every partial sum is an integer below 2^53, so the order of operations cannot matter.
        let mut images = match ArrayView2::from_shape((shape.numeric(), LANES), &numeric) {
            Ok(columns) => columns.t().dot(&self.numeric.t()),
            Err(_) => return vec![u128::MAX; LANES],
        };
        images += &self.intercept;
        for (column, codes) in self.rows.code_tile(tile).chunks_exact(LANES).enumerate() {
            for (mut image, &code) in images.rows_mut().into_iter().zip(codes) {
                image += &self.slots.row(shape.slot(column) + usize::from(code));
            }
        }
        let present = &self.rows.norms[tile * LANES..(tile + 1) * LANES];
        let square = |y: &f64| {
            let y = (*y as i64).unsigned_abs();
            u128::from(y) * u128::from(y)
        };
        let norm = |image: ndarray::ArrayView1<'_, f64>| image.iter().map(square).sum();
        images.rows().into_iter().zip(present).map(|(image, &was)| if was == 0 { 0 } else { norm(image) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{RawRow, RowsBuilder, Shape};
    use ndarray::array;

    #[test]
    fn norms_are_those_of_the_mapped_rows() {
        let shape = Shape::new(1, &[2]);
        let mut builder = RowsBuilder::new(shape.clone());
        let row = |q: i16, code: u16, null| RawRow { numeric: vec![q], codes: vec![code], label: 0, null };
        builder.push(&row(100, 1, false));
        builder.push(&row(-7, 9, false));
        builder.push(&row(-7, 0, true));
        let rows = builder.build();
        // Coordinates: x, first value, second value, intercept.
        let real = array![[1.0, 0.5, -2.0, 0.0], [0.0, 1.0, 1.0, 1.0], [0.25, 0.0, 0.0, -1.0], [0.0, 0.0, 0.0, 3.0]];
        let map = IntegerMap::nearest(&real, 2).unwrap();
        let u = i128::from(rows.unit());
        let norm = |q: [i128; 4]| {
            let image = [4 * q[0] + 2 * q[1] - 8 * q[2], 4 * (q[1] + q[2] + q[3]), q[0] - 4 * q[3], 12 * q[3]];
            image.iter().map(|y| (y * y) as u128).sum::<u128>()
        };
        let norms = map.norms(&rows);
        assert_eq!(norms[..3], [norm([100, 0, u, u]), norm([-7, 0, 0, u]), 0]);
        assert!(norms[3..].iter().all(|&n| n == 0));
        assert_eq!(map.image(&[1, 2, 3, 4]), [4 + 4 - 24, 36, 1 - 16, 48]);
    }

    #[test]
    fn unusable_matrices_are_refused() {
        assert!(IntegerMap::nearest(&array![[f64::NAN]], 4).is_err());
        assert!(IntegerMap::nearest(&array![[1.0, 2.0]], 4).is_err());
        assert!(IntegerMap::nearest(&array![[1e9]], 4).is_err());
        assert_eq!(IntegerMap::nearest(&array![[1e5]], 9).unwrap().unit(), 1.0);
    }
}
