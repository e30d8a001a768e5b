//! The integer weights of a moment vector.

use serde::{Deserialize, Serialize};

use super::FULL_SCALE;

/// Cells of a count of persons by their numbers of rows: 1, 2, 3 to 4, 5 to 8, and so on up to 4096.
pub const SIZE_CELLS: usize = 13;

/// The cell of a person with so many rows.
pub fn size_cell(rows: usize) -> usize {
    (rows.max(1).next_power_of_two().ilog2() as usize).min(SIZE_CELLS - 1)
}

/// Public integer weights of the parts of a moment vector.
///
/// The vector of a row is `(count, features * q_j.., squares * (q_j^2 / FULL_SCALE).., label * y,
/// label_square * (y^2 / FULL_SCALE))`; a weight of zero leaves a part out. Of persons with `k` rows each row gets a `k`-th of the
/// weights, and where `shares` is not zero there is one coordinate more, `floor(shares / k)`. Where `sizes` is not zero there are
/// [`SIZE_CELLS`] coordinates more, all zero but that of [`size_cell`]`(k)`, which is `sizes`.
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
    /// What a person adds to the last coordinate, divided by the number of its rows; zero where rows are the unit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shares: u32,
    /// What a person adds to the coordinate of its number of rows; zero where these are not counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sizes: u32,
}

fn is_zero(weight: &u32) -> bool {
    *weight == 0
}

impl MomentWeights {
    /// The largest squared norm that any row's vector can have, for `columns` numeric features.
    ///
    /// Every encoded value and every scaled square is at most [`FULL_SCALE`] in size, so this public
    /// number bounds all rows; no row needs a check. Of a person's [`SIZE_CELLS`] counts one is `sizes` and the others are zero.
    pub fn worst_square(&self, columns: usize) -> u128 {
        let full = FULL_SCALE as u128 * FULL_SCALE as u128;
        let sq = |w: u32| u128::from(w) * u128::from(w);
        sq(self.count)
            + full * columns as u128 * (sq(self.features) + sq(self.squares))
            + full * (sq(self.label) + sq(self.label_square))
            + sq(self.shares)
            + sq(self.sizes)
    }

    /// The weights of each of `rows` rows whose vectors are added up to one of no larger norm.
    pub fn shared_by(&self, rows: usize) -> Self {
        self.each(|weight| weight / rows.max(1) as u64)
    }

    /// The weights of a row that counts for a part of one, `part / whole`: the nearest whole numbers, none of which is larger than it was.
    pub fn times(&self, part: u64, whole: u64) -> Self {
        self.each(|weight| weight.saturating_mul(part.min(whole)).saturating_add(whole / 2) / whole.max(1))
    }

    fn each(&self, share: impl Fn(u64) -> u64) -> Self {
        let share = |weight: u32| u32::try_from(share(weight.into())).unwrap_or(0).min(weight);
        // A count is worth as many steps of the grid as a feature at its bound, and stays so.
        let full = FULL_SCALE as u32;
        let count = if self.count.is_multiple_of(full) { full * share(self.count / full) } else { share(self.count) };
        MomentWeights {
            count,
            features: share(self.features),
            squares: share(self.squares),
            label: share(self.label),
            label_square: share(self.label_square),
            // No row's: the pass over persons adds them, once a person.
            shares: 0,
            sizes: 0,
        }
    }
}
