//! Sums of the encoded values themselves: count, features, squares, label and its square.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::simd::Column;
use super::{FULL_SCALE, LANES, Rows};

/// Public integer weights of the parts of a moment vector.
///
/// The vector of a row is `(count, features * q_j.., squares * (q_j^2 / FULL_SCALE).., label * y,
/// label_square * (y^2 / FULL_SCALE))`; a weight of zero leaves a part out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MomentWeights {
    /// Value of the constant coordinate.
    pub count: u32,
    /// Weight of each numeric feature.
    pub features: u32,
    /// Weight of each squared numeric feature.
    pub squares: u32,
    /// Weight of the label.
    pub label: u32,
    /// Weight of the squared label.
    pub label_square: u32,
}

impl MomentWeights {
    /// The largest squared norm that any row's vector can have, for `columns` numeric features.
    ///
    /// Every encoded value and every scaled square is at most [`FULL_SCALE`] in size, so this public
    /// number bounds all rows; no row needs a check.
    pub fn worst_square(&self, columns: usize) -> u128 {
        let full = FULL_SCALE as u128 * FULL_SCALE as u128;
        let sq = |w: u32| u128::from(w) * u128::from(w);
        sq(self.count)
            + full * columns as u128 * (sq(self.features) + sq(self.squares))
            + full * (sq(self.label) + sq(self.label_square))
    }
}

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
    let arch = pulp::Arch::new();
    let sums = (0..rows.tiles())
        .into_par_iter()
        .with_min_len(64)
        .fold(zero, |mut sums, tile| {
            arch.dispatch(
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
