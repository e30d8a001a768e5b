//! Integer linear maps of encoded rows: the rows stay as they are, norms and sums are seen through the map.

use ndarray::{Array1, Array2, ArrayView2};
use rayon::prelude::*;

use super::{LANES, Rows};
use crate::grid::IntegerMap;

impl IntegerMap {
    /// `|A q_i|^2` of every row, exactly; zero for null rows.
    pub(super) fn norms(&self, rows: &Rows) -> Vec<u128> {
        let tiles = rows.tiles();
        let map = RowMap::new(self, rows);
        (0..tiles).into_par_iter().flat_map_iter(|tile| map.tile_norms(tile)).collect()
    }
}

/// The map laid out for encoded rows: numeric part as a matrix, one image per category slot, the intercept's.
pub(super) struct RowMap<'a> {
    rows: &'a Rows,
    numeric: ArrayView2<'a, f64>,
    slots: Array2<f64>,
    intercept: Array1<f64>,
}

impl<'a> RowMap<'a> {
    pub(super) fn new(map: &'a IntegerMap, rows: &'a Rows) -> Self {
        let shape = rows.shape();
        let unit = f64::from(rows.unit);
        let mut slots = Array2::zeros((shape.slots(), map.dimension()));
        shape.each_slot(|coefficient, slot| slots.row_mut(slot).assign(&(&map.entries().column(coefficient) * unit)));
        RowMap {
            rows,
            numeric: map.entries().view().split_at(ndarray::Axis(1), shape.numeric()).0,
            slots,
            intercept: &map.entries().column(shape.dimension() - 1) * unit,
        }
    }

    /// The images of a tile's rows, one in each row; what null rows hold is not wiped.
    fn tile_images(&self, tile: usize) -> Option<Array2<f64>> {
        let shape = self.rows.shape();
        let numeric: Vec<f64> = self.rows.numeric_tile(tile).iter().map(|&q| f64::from(q)).collect();
        // Every partial sum is an integer below 2^53, so the order of operations cannot matter.
        let columns = ArrayView2::from_shape((shape.numeric(), LANES), &numeric).ok()?;
        let mut images = columns.t().dot(&self.numeric.t());
        images += &self.intercept;
        for (column, codes) in self.rows.code_tile(tile).chunks_exact(LANES).enumerate() {
            for (mut image, &code) in images.rows_mut().into_iter().zip(codes) {
                image += &self.slots.row(shape.slot(column) + usize::from(code));
            }
        }
        Some(images)
    }

    /// `A q_i` of the rows of a tile, exactly, a coordinate in each row; zero for null rows.
    pub(super) fn images(&self, tile: usize) -> Array2<f64> {
        let Some(mut images) = self.tile_images(tile) else { return Array2::zeros((self.intercept.len(), LANES)) };
        let present = &self.rows.norms[tile * LANES..(tile + 1) * LANES];
        let missing = images.rows_mut().into_iter().zip(present).filter(|(_, norm)| **norm == 0);
        missing.for_each(|(mut image, _)| image.fill(0.0));
        images.t().as_standard_layout().into_owned()
    }

    fn tile_norms(&self, tile: usize) -> Vec<u128> {
        let Some(images) = self.tile_images(tile) else { return vec![u128::MAX; LANES] };
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
    use crate::grid::Shape;
    use crate::kernel::{RawRow, RowsBuilder};
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
}
