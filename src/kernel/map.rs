//! Integer linear maps of encoded rows: the rows stay as they are, norms and sums are seen through the map.

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::products::Factors;
use super::quadratic::QuadraticForm;
use super::{LANES, Level, Rows};
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
                match QuadraticForm::new(self, rows).filter(|_| map.numeric.is_some()) {
                    Some(form) => tiles.into_par_iter().flat_map_iter(|tile| form.tile_norms(tile)).collect(),
                    None => tiles.into_par_iter().flat_map_iter(|tile| map.tile_norms(tile)).collect(),
                }
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
    level: Level,
    /// The block of numeric columns; the intercept's part apart.
    numbers: Option<Factors>,
    constant: Vec<i64>,
    /// By slot, zero for "none of them".
    slots: Vec<u128>,
    intercept: u128,
}

impl<'a> BlockNorms<'a> {
    fn new(map: &IntegerMap, numbers: &Array2<f64>, tables: &[Array2<f64>], rows: &'a Rows) -> Self {
        let square = |entry: f64| square(entry as i64 * i64::from(rows.one));
        let mut slots = vec![0; rows.shape().slots()];
        for (column, table) in tables.iter().enumerate().take(rows.shape().categorical()) {
            let own = &mut slots[rows.shape().slots_of(column)];
            let norms = table.rows().into_iter().map(|row| row.iter().map(|&entry| square(entry)).sum());
            own.iter_mut().zip(norms).for_each(|(slot, norm): (&mut u128, u128)| *slot = norm);
        }
        let columns = rows.shape().numeric();
        BlockNorms {
            rows,
            level: Level::best(),
            numbers: factors(numbers.view(), columns),
            constant: numbers.column(columns).iter().map(|&entry| entry as i64 * i64::from(rows.one)).collect(),
            slots,
            intercept: square(map.one()),
        }
    }

    fn tile_norms(&self, tile: usize) -> Vec<u128> {
        let shape = self.rows.shape();
        let mut norms = vec![self.intercept; LANES];
        let images = self.numbers.as_ref().and_then(|of| of.times(self.level, self.rows.columns(tile)));
        let Some(images) = images else { return vec![u128::MAX; LANES] };
        for (image, constant) in images.iter().zip(&self.constant) {
            norms.iter_mut().zip(image).for_each(|(norm, entry)| *norm += square(entry + constant));
        }
        for (column, codes) in self.rows.code_tile(tile).chunks_exact(LANES).enumerate() {
            let own = &self.slots[shape.slots_of(column)];
            norms.iter_mut().zip(codes).for_each(|(norm, &code)| *norm += own[usize::from(code)]);
        }
        let present = &self.rows.norms[tile * LANES..(tile + 1) * LANES];
        norms.iter_mut().zip(present).filter(|(_, was)| **was == 0).for_each(|(norm, _)| *norm = 0);
        norms
    }
}

/// The map laid out for encoded rows: its numeric part, one image per category slot, the intercept's.
pub(super) struct RowMap<'a> {
    rows: &'a Rows,
    level: Level,
    numeric: Option<Factors>,
    /// A slot in each row.
    slots: Vec<i64>,
    intercept: Vec<i64>,
}

impl<'a> RowMap<'a> {
    pub(super) fn new(map: &IntegerMap, rows: &'a Rows) -> Self {
        let (matrix, shape) = (map.matrix(), rows.shape());
        let image = |coefficient: usize| {
            matrix.column(coefficient).into_iter().map(|&entry| entry as i64 * i64::from(rows.one))
        };
        let dimension = map.dimension();
        let mut slots = vec![0; shape.slots() * dimension];
        shape.each_slot(|coefficient, slot| {
            slots[slot * dimension..(slot + 1) * dimension]
                .iter_mut()
                .zip(image(coefficient))
                .for_each(|(to, x)| *to = x);
        });
        RowMap {
            rows,
            level: Level::best(),
            numeric: factors(matrix, shape.numeric()),
            slots,
            intercept: image(shape.dimension() - 1).collect(),
        }
    }

    /// `A q_i` of the rows of a tile, a coordinate in each row; what null rows hold is not wiped.
    fn integers(&self, tile: usize) -> Option<Vec<[i64; LANES]>> {
        let shape = self.rows.shape();
        let mut images = self.numeric.as_ref()?.times(self.level, self.rows.columns(tile))?;
        let codes = self.rows.code_tile(tile).as_chunks::<LANES>().0;
        if codes.is_empty() {
            for (image, constant) in images.iter_mut().zip(&self.intercept) {
                image.iter_mut().for_each(|entry| *entry += constant);
            }
            return Some(images);
        }
        let mut sum = self.intercept.clone();
        for lane in 0..LANES {
            sum.copy_from_slice(&self.intercept);
            for (column, codes) in codes.iter().enumerate() {
                let slot = shape.slot(column) + usize::from(codes[lane]);
                let own = &self.slots[slot * sum.len()..(slot + 1) * sum.len()];
                sum.iter_mut().zip(own).for_each(|(sum, entry)| *sum += entry);
            }
            images.iter_mut().zip(&sum).for_each(|(image, sum)| image[lane] += sum);
        }
        Some(images)
    }

    /// `A q_i` of the rows of a tile, exactly, a coordinate in each row; zero for null rows.
    pub(super) fn images(&self, tile: usize) -> Array2<f64> {
        let Some(integers) = self.integers(tile) else { return Array2::zeros((self.intercept.len(), LANES)) };
        let present = self.present(tile);
        let entry = |(coordinate, lane): (usize, usize)| match present[lane] {
            0 => 0.0,
            // Below `2^53`.
            _ => integers[coordinate][lane] as f64,
        };
        Array2::from_shape_fn((integers.len(), LANES), entry)
    }

    /// The norms of the rows of a tile before they are mapped; zero for null rows.
    fn present(&self, tile: usize) -> &[u64] {
        &self.rows.norms[tile * LANES..(tile + 1) * LANES]
    }

    pub(super) fn tile_norms(&self, tile: usize) -> Vec<u128> {
        let mut norms = vec![0; LANES];
        let Some(images) = self.integers(tile) else { return vec![u128::MAX; LANES] };
        for image in images {
            norms.iter_mut().zip(image).for_each(|(norm, entry)| *norm += square(entry));
        }
        norms.iter_mut().zip(self.present(tile)).filter(|(_, was)| **was == 0).for_each(|(norm, _)| *norm = 0);
        norms
    }
}

/// The entries of a map, which are moderate integers, for the first columns.
fn factors(entries: ArrayView2<'_, f64>, columns: usize) -> Option<Factors> {
    Factors::new(entries.nrows(), columns, |coordinate, column| entries[(coordinate, column)] as i32)
}

fn square(entry: i64) -> u128 {
    let size = u128::from(entry.unsigned_abs());
    size * size
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
