//! The clipped Gram matrix of encoded rows, in exact integers.

use rayon::prelude::*;

use super::margins::Margins;
use super::products::PairSums;
use super::simd::Column;
use super::{LANES, Level, Rows};
use crate::grid::{DIAGONAL, GRAM_MULTIPLIER, OFF_DIAGONAL, PublicColumns, coarse, each_entry, gram_one};
use crate::num::vectorized;

/// So many tiles are worth a thread.
const TILES_PER_TASK: usize = 16;

/// `sum_i m_i q_i q_i^T` as its weighted upper triangle, row by row, diagonal first.
///
/// `q_i` is the row rounded to multiples of 32, divided by 32. `m_i` is the largest integer with
/// `m_i |q_i|^2 <= clip_steps`, at most `most` and at most [`GRAM_MULTIPLIER`]; the Frobenius norm of a row's matrix is exactly `m_i |q_i|^2`. Entry `(j, k)` is multiplied by [`DIAGONAL`] if `j = k` and by
/// [`OFF_DIAGONAL`] otherwise.
///
/// # Privacy
/// A row's vector has l2 norm at most `DIAGONAL * clip_steps`. The l2 sensitivity is that under add-remove and
/// `sqrt(2)` times that under replace-one: `|x x^T - y y^T|_F^2 = |x|^4 + |y|^4 - 2 <x, y>^2`.
pub fn gram_sum(rows: &Rows, clip_steps: u64, most: u64) -> Vec<i128> {
    weighted_sum(rows, |tile| tile_norms(rows, tile, None).map(|norm| multiplier(norm, clip_steps, most)))
}

/// The sum of `m_i q_i q_i^T` with `m_i` near `most * relative(t_i)`, `t_i` the margin of row `i` for one coefficient per feature.
///
/// `m_i` is `most * relative(t_i)` to the nearest integer, at least 0 and at most what [`gram_sum`] allows; not a number
/// counts as 0. It is a pure function of row and coefficients, and what it is decides nothing about the sensitivity.
///
/// # Privacy
/// A row's vector has l2 norm at most `DIAGONAL * clip_steps`. The l2 sensitivity is that under add-remove and `sqrt(2)` times that
/// under replace-one: multipliers are not negative, so `|m x x^T - m' y y^T|_F^2 <= (m |x|^2)^2 + (m' |y|^2)^2`.
pub fn hessian_sum(
    rows: &Rows,
    clip_steps: u64,
    most: u64,
    weights: &[f64],
    relative: impl Fn(f32) -> f32 + Sync,
) -> Vec<i128> {
    let margins = Margins::new(rows, weights);
    // A cast of a float saturates, and takes what is not a number to 0.
    let wanted = |margin: f32| (relative(margin) * most as f32).round_ties_even() as u64;
    weighted_sum(rows, |tile| {
        let mut multipliers = tile_norms(rows, tile, None);
        for (m, margin) in multipliers.iter_mut().zip(margins.tile(rows, tile)) {
            *m = multiplier(*m, clip_steps, wanted(margin).min(most));
        }
        multipliers
    })
}

/// [`gram_sum`] without the entries of two public features, which are zero, and with multipliers by the other entries alone: `m_i` is the
/// largest integer with `m_i^2 b (2 a + b) <= clip_steps^2`, at most `most` and at most [`GRAM_MULTIPLIER`]; `a` is the squared norm of the public
/// features of row `i` and of the intercept, `b` that of the private ones.
///
/// # Privacy
/// `b (2 a + b)` is the square of the Frobenius norm of what is left of `q q^T`, so a row's vector has l2 norm at most `DIAGONAL * clip_steps`.
/// Another row in its place with the same public features moves the sum by at most twice that. The root of two is not enough: with `q' = -q` in
/// the private features entries of a public and a private one change sign.
pub fn cross_gram_sum(rows: &Rows, public: &PublicColumns, clip_steps: u64, most: u64) -> Vec<i128> {
    let square = u128::from(clip_steps) * u128::from(clip_steps);
    let largest = most.min(GRAM_MULTIPLIER);
    let mut sum = weighted_sum(rows, |tile| {
        let (whole, private) = (tile_norms(rows, tile, None), tile_norms(rows, tile, Some(public)));
        std::array::from_fn(|lane| {
            let (whole, private) = (u128::from(whole[lane]), u128::from(private[lane]));
            // `b (2 a + b)`, `a + b` being the whole.
            match (whole, private * (2 * whole).saturating_sub(private)) {
                // No record.
                (0, _) => 0,
                // What is left of its matrix is zero.
                (_, 0) => largest,
                (_, norm) => u64::try_from((square / norm).isqrt()).unwrap_or(u64::MAX).min(largest),
            }
        })
    });
    public.each_public_entry(rows.shape(), |index| sum[index] = 0);
    sum
}

/// `sum_i m_i q_i q_i^T` with the multipliers of each tile, up to [`GRAM_MULTIPLIER`] and zero for null rows.
fn weighted_sum(rows: &Rows, multipliers: impl Fn(usize) -> [u64; LANES] + Sync) -> Vec<i128> {
    // A segment of rows that are read piece by piece must keep all threads busy.
    let size = rows.tiles().div_ceil(rayon::current_num_threads()).max(TILES_PER_TASK);
    let parts = rows.tiles().div_ceil(size);
    let part = |part: usize| {
        let mut block = Block::new(rows);
        let tiles = part * size..((part + 1) * size).min(rows.tiles());
        tiles.for_each(|tile| block.add(rows, tile, &multipliers(tile)));
        block.triangle(rows)
    };
    let dimension = rows.shape().dimension();
    let zero = || vec![0i128; dimension * (dimension + 1) / 2];
    let mut sum = (0..parts).into_par_iter().map(part).reduce(zero, |mut a, b| {
        a.iter_mut().zip(&b).for_each(|(x, y)| *x += y);
        a
    });
    each_entry(dimension, |index, row, column| {
        sum[index] *= i128::from(if row == column { DIAGONAL } else { OFF_DIAGONAL });
    });
    sum
}

/// The largest multiplier that keeps the Frobenius norm of a row's matrix within the clip norm.
fn multiplier(norm: u64, clip_steps: u64, most: u64) -> u64 {
    clip_steps.checked_div(norm).unwrap_or(0).min(most).min(GRAM_MULTIPLIER)
}

/// Squared norms of the rounded rows, or of their private features alone where some are public; zero for null rows.
fn tile_norms(rows: &Rows, tile: usize, public: Option<&PublicColumns>) -> [u64; LANES] {
    // At most `2^20`.
    let square = |q: i16| u64::from(u32::from(q.unsigned_abs()) * u32::from(q.unsigned_abs()));
    let one = square(gram_one(rows.one));
    // All may know that there is an intercept.
    let mut norms = [if public.is_none() { one } else { 0 }; LANES];
    let is_left =
        |public: Option<&Vec<bool>>, index: usize| public.is_none_or(|public| public.get(index) != Some(&true));
    vectorized(
        #[inline(always)]
        || {
            for (index, column) in rows.columns(tile).iter().enumerate() {
                if is_left(public.map(|of| &of.numeric), index) {
                    norms.iter_mut().zip(column).for_each(|(norm, &q)| *norm += square(coarse(q)));
                }
            }
        },
    );
    for (index, column) in rows.code_tile(tile).chunks_exact(LANES).enumerate() {
        if !is_left(public.map(|of| &of.categorical), index) {
            continue;
        }
        let none = rows.shape().levels(index);
        norms.iter_mut().zip(column).filter(|(_, code)| usize::from(**code) < none).for_each(|(norm, _)| *norm += one);
    }
    let present = &rows.norms[tile * LANES..(tile + 1) * LANES];
    norms.iter_mut().zip(present).filter(|(_, was)| **was == 0).for_each(|(norm, _)| *norm = 0);
    norms
}

/// Partial sums over some of the rows; 64 bits are safe below `2^36` rows.
struct Block {
    level: Level,
    /// Numeric columns.
    dense: PairSums,
    /// Of the multipliers alone.
    total: i64,
    /// Category slots against numeric columns and the intercept, a slot in each row; of the slot a plain 1.
    mixed: Vec<i64>,
    /// Category slots against category slots of later columns and themselves, in units squared.
    slots: Vec<i64>,
}

impl Block {
    fn new(rows: &Rows) -> Self {
        let (width, slots) = (rows.shape().numeric() + 1, rows.shape().slots());
        Block {
            level: Level::best(),
            dense: PairSums::new(width - 1),
            total: 0,
            mixed: vec![0; slots * width],
            slots: vec![0; slots * slots],
        }
    }

    fn add(&mut self, rows: &Rows, tile: usize, multipliers: &[u64; LANES]) {
        let columns: Vec<Column> = rows.columns(tile).iter().map(|column| column.map(coarse)).collect();
        // At most `2^7` each.
        let multipliers = multipliers.map(|m| m.min(GRAM_MULTIPLIER));
        self.total += multipliers.iter().sum::<u64>() as i64;
        let codes = rows.code_tile(tile).as_chunks::<LANES>().0;
        if !codes.is_empty() {
            self.add_codes(rows, &columns, codes, &multipliers.map(|m| m as i64));
        }
        self.dense.push(self.level, columns, multipliers);
    }

    fn add_codes(&mut self, rows: &Rows, columns: &[Column], codes: &[[u16; LANES]], multipliers: &[i64; LANES]) {
        let (width, slots) = (columns.len() + 1, rows.shape().slots());
        let mut row = vec![i64::from(gram_one(rows.one)); width];
        for (lane, &m) in multipliers.iter().enumerate().filter(|(_, m)| **m > 0) {
            row.iter_mut().zip(columns).for_each(|(to, column)| *to = i64::from(column[lane]));
            for (a, column) in codes.iter().enumerate() {
                let slot = rows.shape().slot(a) + usize::from(column[lane]);
                let mixed = &mut self.mixed[slot * width..(slot + 1) * width];
                mixed.iter_mut().zip(&row).for_each(|(sum, value)| *sum += m * value);
                let own = &mut self.slots[slot * slots..(slot + 1) * slots];
                for (b, other) in codes.iter().enumerate().skip(a) {
                    own[rows.shape().slot(b) + usize::from(other[lane])] += m;
                }
            }
        }
    }

    /// The sums in the order of coefficients: numeric, categories, intercept.
    fn triangle(self, rows: &Rows) -> Vec<i128> {
        let shape = rows.shape();
        let one = i128::from(gram_one(rows.one));
        let (width, slots) = (shape.numeric() + 1, shape.slots());
        let sums = self.dense.settled(self.level);
        // Where a coefficient lives: a dense column, or a slot.
        let mut slot_of = vec![None; shape.dimension()];
        shape.each_slot(|coefficient, slot| slot_of[coefficient] = Some(slot));
        let dense = |coefficient: usize| coefficient.min(shape.numeric());
        let product = |a: usize, b: usize| match (a < shape.numeric(), b < shape.numeric()) {
            (true, true) => i128::from(sums.pair(a, b)),
            (true, false) => one * i128::from(sums.single(a)),
            _ => one * one * i128::from(self.total),
        };
        let mixed = |slot: usize, coefficient: usize| i128::from(self.mixed[slot * width + dense(coefficient)]);
        let mut out = vec![0; shape.dimension() * (shape.dimension() + 1) / 2];
        each_entry(shape.dimension(), |index, row, column| {
            out[index] = match (slot_of[row], slot_of[column]) {
                (None, None) => product(row, column),
                (Some(slot), None) => one * mixed(slot, column),
                (None, Some(slot)) => one * mixed(slot, row),
                (Some(a), Some(b)) => one * one * i128::from(self.slots[a * slots + b]),
            };
        });
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{FULL_SCALE, Shape};
    use crate::kernel::{RawRow, RowsBuilder, naive};
    use proptest::prelude::*;

    fn dense(row: &RawRow, levels: &[u16], one: i16) -> Vec<i128> {
        let mut q: Vec<i128> = row.numeric.iter().map(|&v| (i128::from(v) + 16).div_euclid(32)).collect();
        for (&code, &level) in row.codes.iter().zip(levels) {
            q.extend((0..level).map(|l| if l == code { i128::from(one) } else { 0 }));
        }
        q.push(i128::from(one));
        q
    }

    fn only_row(levels: &[u16], row: &RawRow) -> Rows {
        let mut builder = RowsBuilder::new(Shape::new(2, levels));
        builder.push(row);
        builder.build()
    }

    proptest! {
        #[test]
        fn the_sum_is_the_obvious_one_and_each_row_keeps_its_bound(
            cells in prop::collection::vec((-FULL_SCALE..=FULL_SCALE, -FULL_SCALE..=FULL_SCALE, 0u16..4, 0u16..3, any::<bool>()), 0..80),
            log_bound in 0u32..36,
            most in 1u64..200,
            shape in 0usize..4,
        ) {
            // Relative weights that no loss has: the clip norm must hold for any.
            let relative = |margin: f32| [1.0, margin, f32::NAN, 1e30 * margin][shape];
            let weights: Vec<f64> = (0..8).map(|j| 0.3 - 0.1 * f64::from(j)).collect();
            let levels = [3u16, 2];
            let clip_steps = 1u64 << log_bound;
            let mut builder = RowsBuilder::new(Shape::new(2, &levels));
            let mut expected = vec![0i128; 8 * 9 / 2];
            for &(a, b, c, d, null) in &cells {
                let row = RawRow { numeric: vec![a, b], codes: vec![c, d], label: 0, null };
                builder.push(&row);
                if null {
                    continue;
                }
                let q = dense(&row, &levels, 1024);
                let norm: i128 = q.iter().map(|v| v * v).sum();
                let single = only_row(&levels, &row);
                let margin = naive::margin(&single, &naive::dense_row(&single, 0), &weights);
                let wanted = (relative(margin) * most as f32).round_ties_even();
                let wanted = if wanted.is_nan() { 0.0 } else { wanted.clamp(0.0, most as f32) };
                let m = (i128::from(clip_steps) / norm).min(127).min(wanted as i128);
                let mut square = 0;
                each_entry(8, |index, j, k| {
                    let entry = m * q[j] * q[k] * if j == k { 99 } else { 140 };
                    expected[index] += entry;
                    square += entry * entry;
                });
                let limit = i128::from(DIAGONAL) * i128::from(clip_steps);
                prop_assert!(square <= limit * limit);
            }
            let rows = builder.build();
            prop_assert_eq!(&hessian_sum(&rows, clip_steps, most, &weights, relative), &expected);
            if shape == 0 {
                prop_assert_eq!(&gram_sum(&rows, clip_steps, most), &expected);
            }
        }

        #[test]
        fn of_private_features_nothing_moves_further_than_is_stated(
            cells in prop::collection::vec((-FULL_SCALE..=FULL_SCALE, -FULL_SCALE..=FULL_SCALE, 0u16..4, 0u16..3), 1..40),
            other in (-FULL_SCALE..=FULL_SCALE, -FULL_SCALE..=FULL_SCALE, 0u16..4, 0u16..3),
            masks in (prop::collection::vec(any::<bool>(), 2), prop::collection::vec(any::<bool>(), 2)),
            log_bound in 0u32..36,
            most in 1u64..200,
        ) {
            let levels = [3u16, 2];
            let public = PublicColumns { numeric: masks.0, categorical: masks.1 };
            let clip_steps = 1u64 << log_bound;
            let row = |&(a, b, c, d): &(i16, i16, u16, u16)| RawRow { numeric: vec![a, b], codes: vec![c, d], label: 0, null: false };
            let sum_of = |rows: &[RawRow]| {
                let mut builder = RowsBuilder::new(Shape::new(2, &levels));
                rows.iter().for_each(|row| builder.push(row));
                cross_gram_sum(&builder.build(), &public, clip_steps, most)
            };
            let rows: Vec<RawRow> = cells.iter().map(row).collect();
            let mut moved = rows.clone();
            // The last row with other private cells.
            let (mine, theirs) = (&mut moved[cells.len() - 1], row(&other));
            for column in 0..2 {
                if !public.numeric[column] {
                    mine.numeric[column] = theirs.numeric[column];
                }
                if !public.categorical[column] {
                    mine.codes[column] = theirs.codes[column];
                }
            }
            let (sum, after) = (sum_of(&rows), sum_of(&moved));
            let limit = 2 * i128::from(DIAGONAL) * i128::from(clip_steps);
            let square: i128 = sum.iter().zip(&after).map(|(a, b)| (a - b) * (a - b)).sum();
            prop_assert!(square <= limit * limit, "{square} {limit}");
            // Each row alone is within the clip, is the obvious matrix, and a row as null adds nothing.
            let coefficients = public.coefficients(&Shape::new(2, &levels));
            let mut expected = vec![0i128; 36];
            for row in &rows {
                let q = dense(row, &levels, 1024);
                let of = |public: bool| -> u128 {
                    q.iter().zip(&coefficients).filter(|(_, is)| **is == public).map(|(v, _)| (v * v) as u128).sum()
                };
                let norm = of(false) * (2 * of(true) + of(false));
                let largest = most.min(127);
                let m = (0..=largest).rev().find(|m| u128::from(m * m) * norm <= u128::from(clip_steps).pow(2)).unwrap();
                each_entry(8, |index, j, k| {
                    if !(coefficients[j] && coefficients[k]) {
                        expected[index] += i128::from(m) * q[j] * q[k] * if j == k { 99 } else { 140 };
                    }
                });
            }
            prop_assert_eq!(&sum, &expected);
            prop_assert_eq!(sum_of(&[RawRow { null: true, ..rows[0].clone() }]), vec![0; 36]);
        }
    }
}
