//! Gradient steps on single rows and on batches in fixed-point integers, non-expansive up to a known rounding.

use rayon::prelude::*;

use super::{LANES, Rows};
use crate::grid::{FULL_SCALE, LOG2_WEIGHT, MAX_WEIGHT, Shape};

/// Rows of a batch that one thread adds up at a time; sums are exact, so it changes no bit.
const PART: usize = 256;

/// The public parameters of the steps `W <- W - p q / 2^shift`, `p` the integer slope of the row `q`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedStep {
    /// Largest `|p| |q|`.
    pub lipschitz: u64,
    /// A step divides by `2^shift`.
    pub shift: u32,
    /// Slopes are `2^-log2_slope` each, and grow by at most `2^-log2_smooth` per unit of margin.
    pub log2_slope: u32,
    /// See `log2_slope`.
    pub log2_smooth: u32,
}

/// The largest norm that an encoded row of a shape with `dimension` coefficients can have, rounded up.
pub fn largest_row(dimension: usize) -> u64 {
    let square = dimension as u128 * u128::from(FULL_SCALE.unsigned_abs()).pow(2);
    (square.isqrt() + 1) as u64
}

/// How far rounding can move two iterates of one step apart, in grid steps, rounded up.
///
/// Each rounded coordinate is off by less than one, downward, hence two of them by less than one from each other: `sqrt(d)` in
/// all. Each slope is off by less than one, hence two steps along the row by less than `|q| / 2^shift`.
pub fn rounding(dimension: usize, shift: u32) -> u64 {
    let root = (dimension as u128).isqrt() as u64 + 1;
    root + largest_row(dimension).checked_shr(shift).unwrap_or(0) + 1
}

/// Makes one step per row of `order` from `weights` on, and returns the sum of all iterates, the last included.
///
/// `slope(margin, label)` must round down an exactly monotone function of the margin that grows by at most
/// `2^(log2_slope - log2_smooth)` per unit; a margin of 1 stands as `2^40` times the integer of 1.0. The slope is cut to
/// `p^2 |q|^2 <= lipschitz^2`, checked in integers, and a row so long that its step would overshoot,
/// `2^(40 + shift - log2_slope + log2_smooth + 1) one < |q|^2`, gets a larger shift.
///
/// # Privacy
/// Without rounding every step is a non-expansive map of the iterate: it moves along `q` only, by a monotone function of
/// `<W, q>` whose slope is between 0 and `2 / |q|^2`. So two passes over rows that differ in one place end at most
/// `2 lipschitz / 2^shift` apart, plus [`rounding`] for every step.
pub fn fixed_pass(
    rows: &Rows,
    order: &[usize],
    weights: &mut [i64],
    step: &FixedStep,
    slope: impl Fn(i128, i16) -> i64,
) -> Vec<i128> {
    let mut sum = vec![0i128; weights.len()];
    let mut row = Vec::new();
    for &index in order {
        if let Some((p, extra)) = cut_slope(rows, index, weights, step, &slope, &mut row) {
            // Beyond 127 places nothing is left to shift.
            let shift = step.shift.saturating_add(extra).min(127);
            for &(j, q) in &row {
                let moved = i128::from(weights[j]) - ((p * i128::from(q)) >> shift);
                weights[j] = moved.clamp(-i128::from(MAX_WEIGHT), i128::from(MAX_WEIGHT)) as i64;
            }
        }
        sum.iter_mut().zip(weights.iter()).for_each(|(total, &w)| *total += i128::from(w));
    }
    sum
}

/// The mean step of the rows of `batch` at `weights`, `floor(sum_i floor(p_i / 2^e_i) q_i / (b 2^shift))` of a batch of `b`.
///
/// Slopes are those of [`fixed_pass`]; what a long row's shift grows by, `e_i`, divides its slope here, so that the sum over
/// rows is exact and only its quotient is rounded.
///
/// # Privacy
/// A mean of non-expansive maps is non-expansive. So `W` less the mean step brings two points no further apart than they were
/// but for [`rounding`]: each rounded slope is off by less than one, hence the mean step by less than the longest row over
/// `2^shift`, and each coordinate is rounded once. If one row of the batch is replaced, the two maps differ by
/// `2 lipschitz / (b 2^shift)` more.
pub fn fixed_batch(
    rows: &Rows,
    batch: &[usize],
    weights: &[i64],
    step: &FixedStep,
    slope: impl Fn(i128, i16) -> i64 + Sync,
) -> Vec<i128> {
    let zero = || vec![0i128; weights.len()];
    let part = |part: &[usize]| {
        let (mut sum, mut row) = (zero(), Vec::new());
        for &index in part {
            if let Some((p, extra)) = cut_slope(rows, index, weights, step, &slope, &mut row) {
                row.iter().for_each(|&(j, q)| sum[j] += (p >> extra) * i128::from(q));
            }
        }
        sum
    };
    let join = |mut one: Vec<i128>, other: Vec<i128>| {
        one.iter_mut().zip(other).for_each(|(total, more)| *total += more);
        one
    };
    let sum = batch.par_chunks(PART).map(part).reduce(zero, join);
    let count = batch.len().max(1) as i128;
    // Rounding down twice is rounding down once: the second divisor is an integer.
    sum.into_iter().map(|total| total.div_euclid(count) >> step.shift.min(127)).collect()
}

/// The slope of a row at `weights`, cut to the clip norm, and by how much the row's shift grows; `row` is filled.
///
/// `None` for a null row: it has no norm, and its step is the identity.
fn cut_slope(
    rows: &Rows,
    index: usize,
    weights: &[i64],
    step: &FixedStep,
    slope: &impl Fn(i128, i16) -> i64,
    row: &mut Vec<(usize, i16)>,
) -> Option<(i128, u32)> {
    let norm = u128::from(rows.norms.get(index).copied().filter(|&norm| norm > 0)?);
    sparse_row(rows, index, row);
    let margin = row.iter().map(|&(j, q)| i128::from(weights[j]) * i128::from(q)).sum();
    let cap = cap(norm, step.lipschitz);
    let p = i128::from(slope(margin, rows.labels[index])).clamp(-cap, cap);
    Some((p, overshoot(norm, rows.one, step)))
}

/// The largest integer `p` with `p^2 norm <= clip_steps^2`.
fn cap(norm: u128, clip_steps: u64) -> i128 {
    let square = u128::from(clip_steps) * u128::from(clip_steps);
    let root = (square / norm).isqrt();
    i128::try_from(root).unwrap_or(0)
}

/// By how much a row's shift must grow for its step to stay non-expansive.
fn overshoot(norm: u128, one: i16, step: &FixedStep) -> u32 {
    let free = LOG2_WEIGHT + step.shift + step.log2_smooth + 1;
    let mut extra = 0;
    while extra < 127 {
        let exponent = (free + extra).saturating_sub(step.log2_slope);
        let room = u128::from(one.unsigned_abs()).checked_mul(1u128.checked_shl(exponent).unwrap_or(u128::MAX));
        if room.is_none_or(|room| norm <= room) && free + extra >= step.log2_slope {
            return extra;
        }
        extra += 1;
    }
    extra
}

/// The coordinates of a row that are not zero.
fn sparse_row(rows: &Rows, index: usize, row: &mut Vec<(usize, i16)>) {
    row.clear();
    let (tile, lane) = (index / LANES, index % LANES);
    let shape: &Shape = &rows.shape;
    row.extend(rows.numeric_tile(tile).chunks_exact(LANES).map(|column| column[lane]).enumerate());
    let mut first = shape.numeric();
    for (column, codes) in rows.code_tile(tile).chunks_exact(LANES).enumerate() {
        let code = usize::from(codes[lane]);
        if code < shape.levels(column) {
            row.push((first + code, rows.one));
        }
        first += shape.levels(column);
    }
    row.push((first, rows.one));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slope of one step more would make the row longer than what is paid for.
    #[test]
    fn a_cut_slope_is_the_largest_that_fits() {
        for norm in [1u128, 2, 3, 999, 32_767 * 32_767, 5 * 32_767 * 32_767 + 1, 1 << 60] {
            for clip_steps in [0u64, 1, 2, 31, 32_767, 98_765, (1 << 44) + 1, 3 << 44, u64::MAX] {
                let p = cap(norm, clip_steps).unsigned_abs();
                let square = u128::from(clip_steps) * u128::from(clip_steps);
                assert!(p * p * norm <= square, "{norm} {clip_steps}");
                assert!(
                    (p + 1).checked_pow(2).and_then(|p| p.checked_mul(norm)).is_none_or(|more| more > square),
                    "{norm} {clip_steps}"
                );
            }
        }
    }
}
