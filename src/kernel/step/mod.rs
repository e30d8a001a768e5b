//! The fused full-batch pass: margin, slope, verified integer clip, exact accumulation.

mod plan;
mod wide;

use std::ops::Range;

pub use plan::Step;
pub(super) use plan::{MAX_TILES, Plan, round_to_i32};
use plan::{Task, tile_bytes};
use rayon::prelude::*;
use wide::Wide;

use super::joint::tables;
use super::simd::Level;
use super::slopes::Slopes;
use super::totals::Totals;
use super::{Caps, Rows};

/// Rows of fewer bytes are not worth another thread.
const BYTES_PER_TASK: usize = 256 << 10;

/// Sums `m_i * q_i` over all rows in exact integers, `m_i` the rounded, capped multiplier of row `i`.
///
/// `m_i = clamp(round(multiplier_scale * slope(margin_i, label_i)), -cap_i, cap_i)` with
/// `margin_i = sum_j weights_j x_ij`; a slope that is not a number counts as zero. The multiplier is a
/// pure function of the row and of public inputs: every row sits in a lane of its own, and
/// the order of operations inside a lane is fixed, so position, block, thread count and instruction
/// set change nothing. The result has one entry per coefficient.
///
/// # Privacy
/// Each row contributes an integer vector of norm at most `caps.clip_steps()`, so the sum has exactly that
/// l2 sensitivity under add-remove and twice that under replace-one. No float decides the clip norm.
pub fn clipped_sum(rows: &Rows, caps: &Caps, step: &Step<'_>, slope: impl Fn(f32, f32) -> f32 + Sync) -> Vec<i64> {
    clipped_sum_on(Level::best(), rows, caps, step, slope)
}

/// [`clipped_sum`] on a given instruction set: the same bits, for tests and benches to compare.
pub fn clipped_sum_on(
    level: Level,
    rows: &Rows,
    caps: &Caps,
    step: &Step<'_>,
    slope: impl Fn(f32, f32) -> f32 + Sync,
) -> Vec<i64> {
    clipped_sum_by(level, rows, caps, step, Slopes::new(level, &slope))
}

/// [`clipped_sum`] for slopes of any loss: compiled once for all of them.
pub(super) fn clipped_sum_by(level: Level, rows: &Rows, caps: &Caps, step: &Step<'_>, slopes: Slopes<'_>) -> Vec<i64> {
    let plan = Plan::new(rows, caps, step);
    let tables = tables(rows, &plan.margins);
    let new = || Totals::new(rows, rows.groups.len());
    let run = |mut totals: Totals, tiles: Range<usize>| {
        let task = Task { plan: &plan, tables: &tables, tiles, slopes, totals: &mut totals };
        // Apart, so that neither is compiled worse for the other.
        if plan.is_wide() {
            level.run(Wide(task))
        } else {
            level.run(task)
        }
        totals
    };
    over_tiles(rows, plan.run_of_tiles(), new, run, |a, b| a.merge(b, rows)).coefficients(rows)
}

/// Adds up a pass over all tiles, in parallel where there is enough to do.
pub(super) fn over_tiles<T: Send>(
    rows: &Rows,
    block: usize,
    new: impl Fn() -> T + Sync + Send,
    run: impl Fn(T, Range<usize>) -> T + Sync + Send,
    merge: impl Fn(T, T) -> T + Sync + Send,
) -> T {
    let tiles = rows.tiles();
    let per_task = (BYTES_PER_TASK / tile_bytes(rows)).next_multiple_of(block).max(block);
    if tiles <= per_task || rayon::current_num_threads() == 1 {
        return run(new(), 0..tiles);
    }
    (0..tiles.div_ceil(per_task))
        .into_par_iter()
        .fold(&new, |sums, task| run(sums, task * per_task..((task + 1) * per_task).min(tiles)))
        .reduce(&new, &merge)
}
