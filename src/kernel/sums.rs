//! Sums of the encoded values themselves: count, features, squares, label and its square.

use rayon::prelude::*;

use super::simd::Column;
use super::{LANES, Rows};
use crate::grid::{FULL_SCALE, MomentWeights};
use crate::num::vectorized;

/// `q^2 / FULL_SCALE` to the nearest integer, at most [`FULL_SCALE`].
pub(super) fn scaled_square(q: i16) -> u32 {
    let (q, full) = (u32::from(q.unsigned_abs()), FULL_SCALE as u32);
    (q * q + full / 2) / full
}

/// Sums the moment vectors of all rows that are not null.
///
/// # Privacy
/// The l2 sensitivity is the ceiling of the root of [`MomentWeights::worst_square`] under add-remove,
/// twice that under replace-one.
pub fn moment_sum(rows: &Rows, weights: &MomentWeights) -> Vec<i128> {
    let columns = rows.shape().numeric();
    let zero = || vec![0i64; 2 * columns + 3];
    let sums = (0..rows.tiles())
        .into_par_iter()
        .with_min_len(64)
        .fold(zero, |mut sums, tile| {
            vectorized(
                #[inline(always)]
                || add_tile(rows, tile, &mut sums),
            );
            sums
        })
        .reduce(zero, |mut a, b| {
            a.iter_mut().zip(&b).for_each(|(x, y)| *x += y);
            a
        });
    let parts = [
        (1, weights.count),
        (columns, weights.features),
        (columns, weights.squares),
        (1, weights.label),
        (1, weights.label_square),
    ];
    let scale = parts.iter().flat_map(|&(times, weight)| std::iter::repeat_n(i128::from(weight), times));
    sums.into_iter().zip(scale).map(|(sum, weight)| i128::from(sum) * weight).collect()
}

/// Adds one tile to `(count, q.., q^2.., y, y^2)`.
#[inline(always)]
fn add_tile(rows: &Rows, tile: usize, sums: &mut [i64]) {
    let lanes = tile * LANES..(tile + 1) * LANES;
    // All bits where there is a record: what others hold becomes zero, and adds nothing.
    let mut there = [0i16; LANES];
    there.iter_mut().zip(&rows.norms[lanes.clone()]).for_each(|(there, &norm)| *there = -i16::from(norm > 0));
    let add = |values: &Column| {
        let (mut sum, mut squares) = (0i32, 0u32);
        for (q, there) in values.iter().zip(there) {
            sum += i32::from(q & there);
            squares += scaled_square(q & there);
        }
        (i64::from(sum), i64::from(squares))
    };
    let (count, rest) = sums.split_at_mut(1);
    let (features, labels) = rest.split_at_mut(2 * rows.shape().numeric());
    let (sum, squares) = features.split_at_mut(rows.shape().numeric());
    count[0] -= there.iter().map(|&there| i64::from(there)).sum::<i64>();
    for ((values, sum), square) in rows.columns(tile).iter().zip(sum).zip(squares) {
        let added = add(values);
        (*sum, *square) = (*sum + added.0, *square + added.1);
    }
    for (values, labels) in rows.labels[lanes].as_chunks::<LANES>().0.iter().zip(labels.chunks_exact_mut(2)) {
        let added = add(values);
        (labels[0], labels[1]) = (labels[0] + added.0, labels[1] + added.1);
    }
}
