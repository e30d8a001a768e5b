//! Norms of mapped rows by the quadratic form of the map, where rows are some categories and few numbers.
//!
//! `|A q|^2 = q' (A' A) q` in whole numbers. A row has one value of each category, so the form is a number for each pair of them, which is looked
//! up, and a few products; the map itself takes a sum of as many coordinates as there are coefficients, for each category.

use super::{LANES, Rows};
use crate::grid::IntegerMap;

/// Numeric columns, categories and slots, at most: the look-ups stay in the caches, and sums of them in 64 bits.
const MOST: (usize, usize, usize) = (16, 32, 256);

/// The largest product of two columns of the map: twice as much for each of `32 * 33 / 2` pairs is less than `2^58`.
const LARGEST: i128 = 1 << 47;

/// The quadratic form of a map, by what rows hold. Products with the intercept and with categories are those of the entries: a row has
/// them times its one.
pub(super) struct QuadraticForm<'a> {
    rows: &'a Rows,
    /// Of the intercept.
    constant: i64,
    /// Of a slot, that with the intercept included, twice.
    slots: Vec<i64>,
    /// Of two slots, twice.
    pairs: Vec<i64>,
    /// Of a numeric column and the intercept, and of each slot and each numeric column.
    with_one: Vec<i64>,
    crosses: Vec<i64>,
    /// Of two numeric columns, the first not after the second; of different ones twice.
    numbers: Vec<i64>,
}

impl<'a> QuadraticForm<'a> {
    /// The form of a square map that fits the rows; `None` where it takes longer than the map, or a sum could be too large.
    pub(super) fn new(map: &IntegerMap, rows: &'a Rows) -> Option<Self> {
        let (matrix, shape) = (map.matrix(), rows.shape());
        let (numeric, categories, slots) = (shape.numeric(), shape.categorical(), shape.slots());
        let form = categories * (categories + 1) / 2 + numeric * categories + 3 * numeric * (numeric + 1) / 2;
        let direct = map.dimension() * (categories + 16) / 4;
        let small = numeric <= MOST.0 && categories <= MOST.1 && slots <= MOST.2;
        // To make the form takes products of columns, of which a row saves a few dozen.
        let build = slots * slots * map.dimension();
        let saved = rows.padded_len().saturating_mul(direct.saturating_sub(form));
        if categories == 0 || !small || saved < 2 * build {
            return None;
        }
        let column =
            |coefficient: usize| -> Vec<i64> { matrix.column(coefficient).iter().map(|&it| it as i64).collect() };
        let mut of_slots = vec![vec![0; map.dimension()]; slots];
        shape.each_slot(|coefficient, slot| of_slots[slot] = column(coefficient));
        let of_numbers: Vec<Vec<i64>> = (0..numeric).map(column).collect();
        let one = column(shape.dimension() - 1);
        let product = |a: &[i64], b: &[i64]| -> Option<i64> {
            let sum: i128 = a.iter().zip(b).map(|(a, b)| i128::from(*a) * i128::from(*b)).sum();
            (sum.abs() <= LARGEST).then_some(sum as i64)
        };
        let twice = |a: &[i64], b: &[i64]| product(a, b).map(|it| 2 * it);
        let slot = |it: &Vec<i64>| Some(product(it, it)? + twice(it, &one)?);
        let pairs = |a: &Vec<i64>| of_slots.iter().map(|b| twice(a, b)).collect::<Option<Vec<i64>>>();
        let cross = |a: &Vec<i64>| of_numbers.iter().map(|b| product(a, b)).collect::<Option<Vec<i64>>>();
        let mut numbers = Vec::new();
        for (i, a) in of_numbers.iter().enumerate() {
            numbers.push(product(a, a)?);
            for b in &of_numbers[i + 1..] {
                numbers.push(twice(a, b)?);
            }
        }
        Some(QuadraticForm {
            rows,
            constant: product(&one, &one)?,
            slots: of_slots.iter().map(slot).collect::<Option<_>>()?,
            pairs: of_slots.iter().map(pairs).collect::<Option<Vec<_>>>()?.concat(),
            with_one: cross(&one)?,
            crosses: of_slots.iter().map(cross).collect::<Option<Vec<_>>>()?.concat(),
            numbers,
        })
    }

    /// `|A q|^2` of the rows of a tile, exactly; zero for null rows.
    pub(super) fn tile_norms(&self, tile: usize) -> Vec<u128> {
        let (shape, one) = (self.rows.shape(), i128::from(self.rows.one));
        let (columns, codes) = (self.rows.columns(tile), self.rows.code_tile(tile).as_chunks::<LANES>().0);
        let present = &self.rows.norms[tile * LANES..(tile + 1) * LANES];
        let numeric = columns.len();
        let firsts: Vec<usize> = (0..codes.len()).map(|column| shape.slot(column)).collect();
        let mut held = vec![0; codes.len()];
        let mut with_number = vec![0; numeric];
        let norm = |lane: usize| {
            if present[lane] == 0 {
                return 0;
            }
            let mut among = self.constant;
            with_number.copy_from_slice(&self.with_one);
            for (column, (first, codes)) in firsts.iter().zip(codes).enumerate() {
                let slot = first + usize::from(codes[lane]);
                held[column] = slot;
                among += self.slots[slot];
                let others = &self.pairs[slot * self.slots.len()..(slot + 1) * self.slots.len()];
                among += held[..column].iter().map(|&other| others[other]).sum::<i64>();
                let crosses = &self.crosses[slot * numeric..(slot + 1) * numeric];
                with_number.iter_mut().zip(crosses).for_each(|(sum, cross)| *sum += cross);
            }
            let (mut crossed, mut squared, mut at) = (0i128, 0i128, 0);
            for (i, (first, sum)) in columns.iter().zip(&with_number).enumerate() {
                let x = i64::from(first[lane]);
                crossed += i128::from(x) * i128::from(*sum);
                for second in &columns[i..] {
                    squared += i128::from(x * i64::from(second[lane])) * i128::from(self.numbers[at]);
                    at += 1;
                }
            }
            (one * one * i128::from(among) + 2 * one * crossed + squared).unsigned_abs()
        };
        (0..LANES).map(norm).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::map::RowMap;
    use super::*;
    use crate::grid::Shape;
    use crate::kernel::{RawRow, RowsBuilder};
    use ndarray::Array2;

    #[test]
    fn norms_by_the_form_are_those_of_the_mapped_rows() {
        let mut state = 7u64;
        let mut next = |below: i64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as i64 % below
        };
        let mut met = 0;
        for (numeric, levels) in
            [(0, vec![3, 40, 2]), (1, vec![30, 2]), (3, vec![9, 9, 9, 9]), (6, vec![2, 3, 5, 7, 9, 12, 16, 16])]
        {
            let shape = Shape::new(numeric, &levels);
            let mut builder = RowsBuilder::new(shape.clone());
            for k in 0..4000 {
                let extreme = [i16::MAX, -i16::MAX][(k % 2) as usize];
                let numeric =
                    (0..numeric).map(|_| if k % 5 == 0 { extreme } else { next(4000) as i16 - 2000 }).collect();
                // Among them the value that is none of those declared.
                let codes = levels.iter().map(|&levels| next(levels as i64 + 1) as u16).collect();
                builder.push(&RawRow { numeric, codes, label: 0, null: k % 7 == 0 });
            }
            let rows = builder.build();
            // Entries as small as they come, and as large as a map may have.
            for size in [3, 1 << 17] {
                let dimension = shape.dimension();
                let real = Array2::from_shape_fn((dimension, dimension), |_| (next(2 * size + 1) - size) as f64);
                let map = IntegerMap::nearest(&real, 0).unwrap();
                let by_map = RowMap::new(&map, &rows);
                let form = QuadraticForm::new(&map, &rows).unwrap();
                for tile in 0..rows.tiles() {
                    assert_eq!(form.tile_norms(tile), by_map.tile_norms(tile), "{numeric} {levels:?} {size}");
                    met += form.tile_norms(tile).iter().filter(|norm| **norm > 0).count();
                }
                assert_eq!(map.norms(&rows)[..LANES], by_map.tile_norms(0));
            }
        }
        assert!(met > 1000);
    }

    #[test]
    fn few_rows_are_mapped() {
        let shape = Shape::new(6, &[2, 3, 5, 7, 9, 12, 16, 16]);
        let real = Array2::eye(shape.dimension());
        let map = IntegerMap::nearest(&real, 0).unwrap();
        let form = |count: usize| {
            let mut builder = RowsBuilder::new(shape.clone());
            let row = RawRow { numeric: vec![1; 6], codes: vec![0; 8], label: 0, null: false };
            (0..count).for_each(|_| builder.push(&row));
            QuadraticForm::new(&map, &builder.build()).is_some()
        };
        assert!(!form(1000) && form(20_000));
    }
}
