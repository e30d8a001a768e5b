//! Sums of the encoded values themselves: count, features, squares, label and its square.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

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
pub(super) fn scaled_square(q: i16) -> i64 {
    let q = i64::from(q);
    let full = i64::from(FULL_SCALE);
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
            add_tile(rows, tile, &mut sums);
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
fn add_tile(rows: &Rows, tile: usize, sums: &mut [i64]) {
    let columns = rows.shape().numeric();
    let lanes = tile * LANES..(tile + 1) * LANES;
    let present: Vec<bool> = rows.norms[lanes.clone()].iter().map(|&norm| norm > 0).collect();
    sums[0] += present.iter().filter(|&&there| there).count() as i64;
    for (column, values) in rows.numeric_tile(tile).chunks_exact(LANES).enumerate() {
        for (&q, _) in values.iter().zip(&present).filter(|(_, there)| **there) {
            sums[1 + column] += i64::from(q);
            sums[1 + columns + column] += scaled_square(q);
        }
    }
    for (&y, _) in rows.labels[lanes].iter().zip(&present).filter(|(_, there)| **there) {
        sums[1 + 2 * columns] += i64::from(y);
        sums[2 + 2 * columns] += scaled_square(y);
    }
}
