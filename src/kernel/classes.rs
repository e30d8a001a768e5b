//! The full-batch pass for losses of several margins per row: one joint clip, one exact sum per label.

use std::ops::Range;

use super::simd::{Level, WithWords, Words};
use super::slopes::JointSlopes;
use super::step::{MAX_TILES, Plan, over_tiles, round_to_i32};
use super::totals::Totals;
use super::{Caps, LANES, Rows, Step};
use crate::grid::MAX_MULTIPLIER;

/// Most labels: `256 * 4095^2 < 2^32`, so the squared norm of a row's multipliers fits 32 bits.
pub const MAX_CLASSES: usize = 256;

/// The public inputs of one pass.
#[derive(Clone, Debug)]
pub struct ClassStep<'a> {
    /// The coefficients of label 0, laid out as [`crate::grid::Shape::dimension`] says, then those of label 1, and so on.
    pub weights: &'a [f64],
    /// Number of labels, at most [`MAX_CLASSES`]; further ones are left out.
    pub classes: usize,
    /// Integer multiplier per unit of slope, `clip_steps / (one * clip_norm)`.
    pub multiplier_scale: f64,
}

impl ClassStep<'_> {
    /// The labels that are counted.
    pub(super) fn counted(&self) -> usize {
        self.classes.min(MAX_CLASSES)
    }

    /// The coefficients of one label, of which there are `dimension`.
    pub(super) fn weights_of(&self, class: usize, dimension: usize) -> &[f64] {
        self.weights.get(class * dimension..(class + 1) * dimension).unwrap_or(&[])
    }

    /// What rounding to integers may add to the norm of the multipliers: half a step on each.
    pub(super) fn slack(&self) -> f32 {
        (self.counted() as f32).sqrt() * 0.5
    }
}

/// Sums `m_ik * q_i` over all rows for every label `k`, in exact integers.
///
/// `slopes` replaces the margins of a tile (`margins[k][lane]`) by the gradient with respect to them, each lane a
/// pure function of that lane and its label. The multipliers of a row are `multiplier_scale` times its slopes,
/// shortened together to the norm that the row may have, rounded, and then checked:
/// `|m_i|^2 <= cap_i^2` in integers, else scaled toward zero in integers. A slope that is not a number counts as zero.
/// The result has one block of coefficients per label.
///
/// # Privacy
/// Each row contributes the matrix `m_i q_i^T`, of squared norm `|m_i|^2 |q_i|^2 <= caps.clip_steps()^2`: the whole sum has
/// exactly that l2 sensitivity under add-remove and twice that under replace-one. No float decides the clip norm.
pub fn clipped_class_sum(
    rows: &Rows,
    caps: &Caps,
    step: &ClassStep<'_>,
    slopes: impl Fn(&mut [[f32; LANES]], &[i16; LANES]) + Sync,
) -> Vec<i64> {
    clipped_class_sum_on(Level::best(), rows, caps, step, slopes)
}

/// [`clipped_class_sum`] on a given instruction set: the same bits, for tests and benches to compare.
pub fn clipped_class_sum_on(
    level: Level,
    rows: &Rows,
    caps: &Caps,
    step: &ClassStep<'_>,
    slopes: impl Fn(&mut [[f32; LANES]], &[i16; LANES]) + Sync,
) -> Vec<i64> {
    clipped_class_sum_by(level, rows, caps, step, JointSlopes::new(level, &slopes))
}

/// [`clipped_class_sum`] for slopes of any loss: compiled once for all of them.
pub(super) fn clipped_class_sum_by(
    level: Level,
    rows: &Rows,
    caps: &Caps,
    step: &ClassStep<'_>,
    slopes: JointSlopes<'_>,
) -> Vec<i64> {
    let dimension = rows.shape().dimension();
    let plans: Vec<Plan<'_>> = (0..step.counted())
        .map(|class| {
            let weights = step.weights_of(class, dimension);
            Plan::new(rows, caps, &Step { weights, label_scale: 1.0, multiplier_scale: step.multiplier_scale })
        })
        .collect();
    let Some(block) = plans.first().map(|plan| plan.block) else { return Vec::new() };
    let columns: Vec<usize> = (0..rows.shape().categorical()).collect();
    // Tables of joint codes for every label would not fit a cache.
    let new = || plans.iter().map(|_| Totals::new(rows, 0)).collect::<Vec<_>>();
    let run = |mut totals: Vec<Totals>, tiles: Range<usize>| {
        let slack = step.slack();
        level.run(Task { plans: &plans, columns: &columns, tiles, slopes, slack, totals: &mut totals });
        totals
    };
    let merge = |a: Vec<Totals>, b: Vec<Totals>| a.into_iter().zip(b).map(|(a, b)| a.merge(b, rows)).collect();
    let totals = over_tiles(rows, block, new, run, merge);
    totals.into_iter().flat_map(|total| total.coefficients(rows)).collect()
}

/// A run of tiles, compiled once per instruction set and chosen at run time.
struct Task<'a> {
    plans: &'a [Plan<'a>],
    columns: &'a [usize],
    tiles: Range<usize>,
    slopes: JointSlopes<'a>,
    slack: f32,
    totals: &'a mut [Totals],
}

impl WithWords for Task<'_> {
    type Output = ();

    #[inline(always)]
    fn run<W: Words>(self, words: W) {
        let Some(first) = self.plans.first() else { return };
        let mut margins = vec![[0f32; LANES]; self.plans.len()];
        let mut multipliers = vec![[[0i16; LANES]; MAX_TILES]; self.plans.len()];
        let mut start = self.tiles.start;
        while start < self.tiles.end {
            let end = (start + first.block).min(self.tiles.end);
            for tile in start..end {
                for (margin, plan) in margins.iter_mut().zip(self.plans) {
                    *margin = plan.margins(words, tile);
                }
                self.slopes.replace(&mut margins, first.labels(tile));
                shorten(&mut margins, first, tile, self.slack);
                round(&margins, first.caps(tile), tile - start, &mut multipliers);
            }
            for ((plan, m), totals) in self.plans.iter().zip(&multipliers).zip(self.totals.iter_mut()) {
                plan.add(words, start..end, &m[..end - start], self.columns, totals);
            }
            start = end;
        }
    }
}

/// Turns slopes into wanted multipliers, each row's shortened so that rounding will rarely exceed its cap.
#[inline(always)]
fn shorten(slopes: &mut [[f32; LANES]], plan: &Plan<'_>, tile: usize, slack: f32) {
    let mut squares = [0f32; LANES];
    for class in &mut *slopes {
        for lane in 0..LANES {
            class[lane] *= plan.multiplier_scale;
            squares[lane] += class[lane] * class[lane];
        }
    }
    let caps = plan.caps(tile);
    let mut factors = [1f32; LANES];
    for lane in 0..LANES {
        factors[lane] = shortening(squares[lane], caps[lane], slack);
    }
    for class in slopes {
        for lane in 0..LANES {
            class[lane] *= factors[lane];
        }
    }
}

/// By what a vector of squared norm `square` is multiplied so that its norm is at most `cap - slack`; at most 1.
#[inline(always)]
pub(super) fn shortening(square: f32, cap: i16, slack: f32) -> f32 {
    let allowed = f32::from(cap) - slack;
    let allowed = if allowed > 0.0 { allowed } else { 0.0 };
    let norm = square.sqrt();
    if norm > allowed { allowed / norm } else { 1.0 }
}

/// Rounds wanted multipliers to integers and checks the joint norm of every row.
#[inline(always)]
fn round(wanted: &[[f32; LANES]], caps: &[i16; LANES], slot: usize, out: &mut [[[i16; LANES]; MAX_TILES]]) {
    let mut squares = [0u32; LANES];
    for (class, m) in wanted.iter().zip(&mut *out) {
        for lane in 0..LANES {
            let most = i32::from(MAX_MULTIPLIER);
            let rounded = round_to_i32(class[lane]).min(most).max(-most);
            m[slot][lane] = rounded as i16;
            squares[lane] += (rounded * rounded) as u32;
        }
    }
    for lane in 0..LANES {
        let cap = u32::from(caps[lane].unsigned_abs());
        if squares[lane] > cap * cap {
            settle(out.iter_mut().map(|m| &mut m[slot][lane]), squares[lane], cap);
        }
    }
}

/// Scales integers of squared norm `square` toward zero until their norm is at most `cap`.
///
/// With `r > sqrt(square)` an integer, `m cap / r` has norm below `cap`, and cutting off fractions only shortens it.
/// The result is checked all the same, and dropped if it were ever too long.
pub(super) fn settle<'a>(multipliers: impl Iterator<Item = &'a mut i16>, square: u32, cap: u32) {
    let root = i64::from(square.isqrt()) + 1;
    let mut left = 0u64;
    let mut settled: Vec<&mut i16> = multipliers.collect();
    for m in &mut settled {
        **m = (i64::from(**m) * i64::from(cap) / root) as i16;
        left += u64::from(m.unsigned_abs()) * u64::from(m.unsigned_abs());
    }
    if left > u64::from(cap) * u64::from(cap) {
        settled.into_iter().for_each(|m| *m = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]
        #[test]
        fn settled_multipliers_fit_and_lose_little(
            mut m in prop::collection::vec(-MAX_MULTIPLIER..=MAX_MULTIPLIER, 1..MAX_CLASSES),
            cap in 0..=MAX_MULTIPLIER as u32,
        ) {
            let square = |m: &[i16]| m.iter().map(|&x| (i32::from(x) * i32::from(x)) as u32).sum::<u32>();
            let before = square(&m);
            let classes = m.len();
            settle(m.iter_mut(), before, cap);
            prop_assert!(square(&m) <= cap * cap);
            if before >= cap * cap {
                // Each integer lost less than one by cutting, and the vector less than one by the larger root.
                let lost = f64::from(cap) - f64::from(square(&m)).sqrt();
                prop_assert!(lost <= (classes as f64).sqrt() + 1.0 + f64::from(cap) / f64::from(before.max(1)).sqrt(), "{}", lost);
            }
        }
    }

    /// Integers whose squares add up to just more than the square of the cap: the first that must be settled.
    #[test]
    fn the_least_excess_over_a_cap_is_settled() {
        let mut looked_at = 0;
        for cap in 1i32..=60 {
            for a in 0..=cap {
                for b in 0..=a {
                    for c in 0..=b {
                        let square = a * a + b * b + c * c;
                        if square <= cap * cap || square > (cap + 1) * (cap + 1) {
                            continue;
                        }
                        let wanted = [a, -b, c].map(|m| [m as f32; LANES]);
                        let mut out = vec![[[0i16; LANES]; MAX_TILES]; 3];
                        round(&wanted, &[cap as i16; LANES], 1, &mut out);
                        let found = out.iter().map(|m| i32::from(m[1][7]).pow(2)).sum::<i32>();
                        assert!(found <= cap * cap, "{cap}: {a} {b} {c} leaves {found}");
                        looked_at += 1;
                    }
                }
            }
        }
        assert!(looked_at > 1000, "{looked_at}");
        // Those that fit exactly stay as they are.
        let mut out = vec![[[0i16; LANES]; MAX_TILES]; 2];
        round(&[[3.0; LANES], [-4.0; LANES]], &[5; LANES], 0, &mut out);
        assert_eq!((out[0][0][0], out[1][0][0]), (3, -4));
    }

    #[test]
    fn the_square_of_the_most_and_largest_multipliers_fits_32_bits() {
        assert!(MAX_CLASSES as u64 * (MAX_MULTIPLIER as u64).pow(2) <= u64::from(u32::MAX));
    }
}
