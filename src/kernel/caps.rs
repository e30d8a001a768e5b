//! The largest integer multiplier each row may get: the clip, decided once in exact integers.

use rayon::prelude::*;

use super::Rows;
use crate::grid::{FULL_SCALE, IntegerMap, MAX_MULTIPLIER};

/// For each row the largest integer `m` with `m^2 * N <= clip_steps^2`, `N` its exact squared norm.
///
/// A multiplier in `-m..=m` therefore contributes a vector of norm at most `clip_steps`, whatever
/// floating point computed it. Rows of norm zero get zero.
pub struct Caps {
    pub(super) values: Vec<i16>,
    clip_steps: u64,
}

impl Caps {
    /// Computes the caps for a clip norm in grid steps.
    pub fn new(rows: &Rows, clip_steps: u64) -> Self {
        let values = rows.norms.par_iter().map(|&norm| cap(u128::from(norm), clip_steps)).collect();
        Caps { values, clip_steps }
    }

    /// Caps for rows seen through a map: the norm of row `i` is that of `A q_i`.
    pub fn through(map: &IntegerMap, rows: &Rows, clip_steps: u64) -> Self {
        let values = map.norms(rows).into_par_iter().map(|norm| cap(norm, clip_steps)).collect();
        Caps { values, clip_steps }
    }

    /// One multiplier for every row that is not null, so that no entry of `m q_i` exceeds `most * FULL_SCALE` in size.
    pub fn entrywise(rows: &Rows, most: i16) -> Self {
        let most = most.clamp(0, MAX_MULTIPLIER);
        let values = rows.norms.iter().map(|&norm| if norm > 0 { most } else { 0 }).collect();
        Caps { values, clip_steps: most as u64 * FULL_SCALE as u64 }
    }

    /// Caps that were found elsewhere for rows in another place.
    pub(super) fn of(values: Vec<i16>, clip_steps: u64) -> Self {
        Caps { values, clip_steps }
    }

    /// Copies of chosen rows with their caps; the numbers must be below the number of rows.
    pub fn subset(&self, rows: &Rows, chosen: &[usize]) -> (Rows, Caps) {
        let subset = rows.subset(chosen);
        let mut values = vec![0; subset.padded_len()];
        values.iter_mut().zip(chosen).for_each(|(cap, &row)| *cap = self.values.get(row).copied().unwrap_or(0));
        (subset, Caps { values, clip_steps: self.clip_steps })
    }

    /// The clip norm of every row in grid steps: l2, or the largest entry for [`Caps::entrywise`].
    pub fn clip_steps(&self) -> u64 {
        self.clip_steps
    }
}

/// The largest `m <= MAX_MULTIPLIER` with `m^2 * norm <= clip_steps^2`: guessed in floating point, decided in integers.
fn cap(norm: u128, clip_steps: u64) -> i16 {
    if norm == 0 {
        return 0;
    }
    let square = u128::from(clip_steps) * u128::from(clip_steps);
    // A product that does not fit 128 bits is above the square.
    let fits = |m: i16| (m as u128 * m as u128).checked_mul(norm).is_some_and(|product| product <= square);
    let guess = u64::try_from(norm).map_or(norm as f64, |norm| norm as f64).sqrt();
    let mut m = (clip_steps as f64 / guess).min(f64::from(MAX_MULTIPLIER)) as i16;
    while m > 0 && !fits(m) {
        m -= 1;
    }
    while m < MAX_MULTIPLIER && fits(m + 1) {
        m += 1;
    }
    m
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn the_cap_is_the_largest_that_fits(norm in 1u64..1 << 45, clip_steps in 0u64..1 << 36) {
            let m = i128::from(cap(u128::from(norm), clip_steps));
            let (norm, square) = (i128::from(norm), i128::from(clip_steps) * i128::from(clip_steps));
            prop_assert!(m * m * norm <= square);
            prop_assert!(m == i128::from(MAX_MULTIPLIER) || (m + 1) * (m + 1) * norm > square);
        }
    }

    #[test]
    fn extremes() {
        assert_eq!(cap(0, u64::MAX), 0);
        assert_eq!(cap(u128::MAX, u64::MAX), 0);
        assert_eq!(cap(1, u64::MAX), MAX_MULTIPLIER);
        assert_eq!(cap(25, 15), 3);
        assert_eq!(cap(26, 15), 2);
    }
}
