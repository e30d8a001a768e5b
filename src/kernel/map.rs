//! Integer linear maps of encoded rows: the rows stay as they are, norms and sums are seen through the map.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use rayon::prelude::*;

use super::{LANES, Rows};
use crate::grid::IntegerMap;

impl IntegerMap {
    /// `|A q_i|^2` of every row, exactly; zero for null rows.
    ///
    /// Rows that are no rows of the map have the largest norm there is, and so no part in any sum.
    pub(super) fn norms(&self, rows: &Rows) -> Vec<u128> {
        let tiles = 0..rows.tiles();
        match self.blocks() {
            _ if !self.fits(rows.shape()) => vec![u128::MAX; rows.padded_len()],
            None => {
                let map = RowMap::new(self, rows);
                tiles.into_par_iter().flat_map_iter(|tile| map.tile_norms(tile)).collect()
            }
            Some((numbers, tables)) => {
                let map = BlockNorms::new(self, numbers, tables, rows);
                tiles.into_par_iter().flat_map_iter(|tile| map.tile_norms(tile)).collect()
            }
        }
    }
}

/// The squared norm of every row of blocks: coordinates of different blocks are different ones, so norms add up.
struct BlockNorms<'a> {
    rows: &'a Rows,
    /// The block of numeric columns, a row for each coordinate; the intercept's part apart.
    numbers: ArrayView2<'a, f64>,
    constant: Array1<f64>,
    /// By slot, zero for "none of them".
    slots: Vec<u128>,
    intercept: u128,
}

impl<'a> BlockNorms<'a> {
    fn new(map: &IntegerMap, numbers: &'a Array2<f64>, tables: &[Array2<f64>], rows: &'a Rows) -> Self {
        let square = |entry: f64| {
            let entry = u128::from((entry as i64).unsigned_abs()) * u128::from(rows.one.unsigned_abs());
            entry * entry
        };
        let mut slots = vec![0; rows.shape().slots()];
        for (column, table) in tables.iter().enumerate().take(rows.shape().categorical()) {
            let own = &mut slots[rows.shape().slots_of(column)];
            let norms = table.rows().into_iter().map(|row| row.iter().map(|&entry| square(entry)).sum());
            own.iter_mut().zip(norms).for_each(|(slot, norm): (&mut u128, u128)| *slot = norm);
        }
        let columns = rows.shape().numeric();
        BlockNorms {
            rows,
            numbers: numbers.view().split_at(ndarray::Axis(1), columns).0,
            constant: &numbers.column(columns) * f64::from(rows.one),
            slots,
            intercept: square(map.one()),
        }
    }

    /// The squared norms in the coordinates of numeric columns.
    fn of_numbers(&self, tile: usize) -> Option<Vec<u128>> {
        if self.numbers.nrows() == 0 {
            return Some(vec![0; LANES]);
        }
        let mut images = numbers_of(self.rows, tile)?.t().dot(&self.numbers.t());
        images += &self.constant;
        Some(images.rows().into_iter().map(squared_norm).collect())
    }

    fn tile_norms(&self, tile: usize) -> Vec<u128> {
        let shape = self.rows.shape();
        let Some(mut norms) = self.of_numbers(tile) else { return vec![u128::MAX; LANES] };
        norms.iter_mut().for_each(|norm| *norm += self.intercept);
        for (column, codes) in self.rows.code_tile(tile).chunks_exact(LANES).enumerate() {
            let own = &self.slots[shape.slots_of(column)];
            norms.iter_mut().zip(codes).for_each(|(norm, &code)| *norm += own[usize::from(code)]);
        }
        let present = &self.rows.norms[tile * LANES..(tile + 1) * LANES];
        norms.iter_mut().zip(present).filter(|(_, was)| **was == 0).for_each(|(norm, _)| *norm = 0);
        norms
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
        let matrix = map.matrix();
        let shape = rows.shape();
        let one = f64::from(rows.one);
        let mut slots = Array2::zeros((shape.slots(), map.dimension()));
        shape.each_slot(|coefficient, slot| slots.row_mut(slot).assign(&(&matrix.column(coefficient) * one)));
        RowMap {
            rows,
            numeric: matrix.split_at(ndarray::Axis(1), shape.numeric()).0,
            slots,
            intercept: &matrix.column(shape.dimension() - 1) * one,
        }
    }

    /// The images of a tile's rows, one in each row; what null rows hold is not wiped.
    fn tile_images(&self, tile: usize) -> Option<Array2<f64>> {
        let shape = self.rows.shape();
        let mut images = numbers_of(self.rows, tile)?.t().dot(&self.numeric.t());
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
        let images = images.rows().into_iter().zip(present);
        images.map(|(image, &was)| if was == 0 { 0 } else { squared_norm(image) }).collect()
    }
}

/// The numeric columns of a tile, one in each row.
///
/// Every partial sum of products with the entries of a map is an integer below 2^53, so the order of operations cannot matter.
fn numbers_of(rows: &Rows, tile: usize) -> Option<Array2<f64>> {
    let numbers: Vec<f64> = rows.numeric_tile(tile).iter().map(|&q| f64::from(q)).collect();
    Array2::from_shape_vec((rows.shape().numeric(), LANES), numbers).ok()
}

/// The exact squared norm of an image.
fn squared_norm(image: ArrayView1<'_, f64>) -> u128 {
    let square = |y: &f64| {
        let y = (*y as i64).unsigned_abs();
        u128::from(y) * u128::from(y)
    };
    image.iter().map(square).sum()
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
        let u = i128::from(rows.one());
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
    fn norms_through_tables_are_those_of_their_rows() {
        let mut builder = RowsBuilder::new(Shape::new(0, &[2, 3]));
        let row = |codes: [u16; 2], null| RawRow { numeric: vec![], codes: codes.into(), label: 0, null };
        for (codes, null) in [([0, 2], false), ([1, 0], false), ([2, 9], false), ([0, 0], true)] {
            builder.push(&row(codes, null));
        }
        let rows = builder.build();
        let tables = || vec![array![[3.0, 4.0], [1.0, 0.0]], array![[2.0], [0.0], [-5.0]]];
        let map = IntegerMap::of_tables(tables(), 1).unwrap();
        let u = 4 * u128::from(rows.one().unsigned_abs()).pow(2);
        let norms = map.norms(&rows);
        assert_eq!(norms[..4], [(25 + 25 + 1) * u, (1 + 4 + 1) * u, u, 0]);
        assert!(norms[4..].iter().all(|&norm| norm == 0));
        // Tables of other columns: nobody contributes anything.
        let foreign = IntegerMap::of_tables(tables()[..1].to_vec(), 1).unwrap();
        assert!(foreign.norms(&rows).iter().all(|&norm| norm == u128::MAX));
        // Numbers beside them: the norm of their block comes on top.
        let mut builder = RowsBuilder::new(Shape::new(2, &[2, 3]));
        for (numeric, codes, null) in [([5, -3], [0, 2], false), ([9, 9], [2, 9], false), ([1, 1], [0, 0], true)] {
            builder.push(&RawRow { numeric: numeric.into(), codes: codes.into(), label: 0, null });
        }
        let rows = builder.build();
        let map = IntegerMap::of_blocks(array![[1.0, 2.0, 0.5], [0.0, -3.0, 1.0]], tables(), 1).unwrap();
        let one = i128::from(rows.one());
        let image = |q: [i128; 2]| [2 * q[0] + 4 * q[1] + one, -6 * q[1] + 2 * one];
        let square = |q| image(q).iter().map(|y| (y * y) as u128).sum::<u128>();
        assert_eq!(map.norms(&rows)[..4], [(25 + 25 + 1) * u + square([5, -3]), u + square([9, 9]), 0, 0]);
    }
}
