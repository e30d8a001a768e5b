//! The fused full-batch pass: margin, slope, verified integer clip, exact accumulation.

use std::ops::Range;

use rayon::prelude::*;

use super::margins::Margins;
use super::{Caps, LANES, Rows};

/// Tiles whose 32-bit lane sums cannot overflow before they are flushed; see [`super::MAX_MULTIPLIER`].
pub(super) const MAX_TILES: usize = 16;

/// Bytes of rows that a block may have, so that its second pass reads from cache.
const BLOCK_BYTES: usize = 128 << 10;

/// Blocks smaller than this are not worth another thread.
const BYTES_PER_TASK: usize = 256 << 10;

/// The public inputs of one pass.
#[derive(Clone, Debug)]
pub struct Step<'a> {
    /// One coefficient per feature in units of 1.0, laid out as [`super::Shape::dimension`] says.
    pub weights: &'a [f64],
    /// What an encoded label of 1 stands for.
    pub label_scale: f64,
    /// Integer multiplier per unit of slope, `bound / (unit * clip_norm)`.
    pub multiplier_scale: f64,
}

/// Sums `m_i * q_i` over all rows in exact integers, `m_i` the rounded, capped multiplier of row `i`.
///
/// `m_i = clamp(round(multiplier_scale * slope(margin_i, label_i)), -cap_i, cap_i)` with
/// `margin_i = sum_j weights_j x_ij`; a slope that is not a number counts as zero. The multiplier is a
/// pure function of the row and of public inputs: every row sits in a lane of its own, and
/// the order of operations inside a lane is fixed, so position, block, thread count and instruction
/// set change nothing. The result has one entry per coefficient.
///
/// # Privacy
/// Each row contributes an integer vector of norm at most `caps.bound()`, so the sum has exactly that
/// l2 sensitivity under add-remove and twice that under replace-one. No float decides the bound.
pub fn clipped_sum(rows: &Rows, caps: &Caps, step: &Step<'_>, slope: impl Fn(f32, f32) -> f32 + Sync) -> Vec<i64> {
    let plan = Plan::new(rows, caps, step);
    let tiles = rows.tiles();
    let per_task = tiles_per_task(rows, plan.block);
    let tasks = tiles.div_ceil(per_task);
    let run = |task: usize, mut totals: Totals| {
        let tiles = task * per_task..((task + 1) * per_task).min(tiles);
        pulp::Arch::new().dispatch(Task { plan: &plan, tiles, slope: &slope, totals: &mut totals });
        totals
    };
    let totals = if tasks <= 1 {
        (0..tasks).fold(Totals::new(rows), |totals, task| run(task, totals))
    } else {
        (0..tasks)
            .into_par_iter()
            .fold(|| Totals::new(rows), |totals, task| run(task, totals))
            .reduce(|| Totals::new(rows), Totals::merge)
    };
    totals.coefficients(rows)
}

/// Tiles that one task takes, a multiple of a block.
pub(super) fn tiles_per_task(rows: &Rows, block: usize) -> usize {
    (BYTES_PER_TASK / (rows.bytes() / rows.tiles().max(1)).max(1)).next_multiple_of(block).max(block)
}

/// A run of tiles, compiled once per instruction set and chosen at run time.
struct Task<'a, F> {
    plan: &'a Plan<'a>,
    tiles: Range<usize>,
    slope: &'a F,
    totals: &'a mut Totals,
}

impl<F: Fn(f32, f32) -> f32> pulp::WithSimd for Task<'_, F> {
    type Output = ();

    // Everything below must be inlined here: only this function is compiled for the chosen instruction set.
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let mut tile = self.tiles.start;
        while tile < self.tiles.end {
            let next = (tile + self.plan.block).min(self.tiles.end);
            self.plan.block(tile, next, self.slope, self.totals);
            tile = next;
        }
    }
}

/// Everything a block needs, prepared once per pass.
pub(super) struct Plan<'a> {
    rows: &'a Rows,
    caps: &'a [i16],
    margins: Margins,
    columns: usize,
    label_scale: f32,
    pub(super) multiplier_scale: f32,
    pub(super) block: usize,
}

impl<'a> Plan<'a> {
    pub(super) fn new(rows: &'a Rows, caps: &'a Caps, step: &Step<'_>) -> Self {
        let tile_bytes = rows.bytes() / rows.tiles().max(1);
        Plan {
            rows,
            caps: &caps.values,
            margins: Margins::new(rows, step.weights),
            columns: rows.shape().numeric(),
            label_scale: step.label_scale as f32,
            multiplier_scale: step.multiplier_scale as f32,
            block: (BLOCK_BYTES / tile_bytes.max(1)).clamp(1, MAX_TILES),
        }
    }

    #[inline(always)]
    fn block(&self, start: usize, end: usize, slope: &impl Fn(f32, f32) -> f32, totals: &mut Totals) {
        let mut multipliers = [[0i16; LANES]; MAX_TILES];
        for (tile, m) in (start..end).zip(multipliers.iter_mut()) {
            let margins = self.margins(tile);
            *m = self.multipliers(tile, &margins, slope);
            self.scatter(tile, m, totals);
        }
        self.accumulate(start, &multipliers[..end - start], totals);
    }

    /// Encoded labels of a tile.
    #[inline(always)]
    pub(super) fn labels(&self, tile: usize) -> &[i16; LANES] {
        &self.rows.labels.as_chunks::<LANES>().0[tile]
    }

    /// Largest multipliers of a tile.
    #[inline(always)]
    pub(super) fn caps(&self, tile: usize) -> &[i16; LANES] {
        &self.caps.as_chunks::<LANES>().0[tile]
    }

    /// Margins of a tile.
    #[inline(always)]
    pub(super) fn margins(&self, tile: usize) -> [f32; LANES] {
        self.margins.tile(self.rows, tile)
    }

    #[inline(always)]
    fn multipliers(&self, tile: usize, margins: &[f32; LANES], slope: &impl Fn(f32, f32) -> f32) -> [i16; LANES] {
        let (labels, caps) = (self.labels(tile), self.caps(tile));
        let mut out = [0i16; LANES];
        for lane in 0..LANES {
            let label = f32::from(labels[lane]) * self.label_scale;
            let wanted = slope(margins[lane], label) * self.multiplier_scale;
            let m = round_to_i32(wanted);
            let cap = i32::from(caps[lane]);
            out[lane] = m.min(cap).max(-cap) as i16;
        }
        out
    }

    #[inline(always)]
    pub(super) fn scatter(&self, tile: usize, multipliers: &[i16; LANES], totals: &mut Totals) {
        for (index, codes) in self.rows.code_tile(tile).as_chunks::<LANES>().0.iter().enumerate() {
            let sums = &mut totals.categories[self.rows.shape.slot(index)..self.rows.shape.slot(index + 1)];
            for (&code, &m) in codes.iter().zip(multipliers) {
                sums[usize::from(code)] += i64::from(m);
            }
        }
        totals.intercept += multipliers.iter().map(|&m| i64::from(m)).sum::<i64>();
    }

    #[inline(always)]
    pub(super) fn accumulate(&self, start: usize, multipliers: &[[i16; LANES]], totals: &mut Totals) {
        let columns = self.columns;
        let tiles = self.rows.numeric.as_chunks::<LANES>().0;
        for (column, total) in totals.numeric.iter_mut().enumerate() {
            let mut lanes = [0i32; LANES];
            for (offset, m) in multipliers.iter().enumerate() {
                let q = &tiles[(start + offset) * columns + column];
                for lane in 0..LANES {
                    lanes[lane] += i32::from(m[lane]) * i32::from(q[lane]);
                }
            }
            *total += lanes.iter().map(|&lane| i64::from(lane)).sum::<i64>();
        }
    }
}

/// Nearest integer, ties to even, of a value first moved into the range of multipliers; NaN gives 0.
///
/// Adding `1.5 * 2^23` leaves the rounded integer in the low bits of the sum. Unlike a library call
/// it vectorises on every instruction set, with the same result on each.
#[inline(always)]
pub(super) fn round_to_i32(x: f32) -> i32 {
    const SHIFT: f32 = 12_582_912.0;
    const LIMIT: f32 = 8192.0; // beyond every cap
    let finite = if x.is_nan() { 0.0 } else { x };
    let low = if finite > LIMIT { LIMIT } else { finite };
    let both = if low < -LIMIT { -LIMIT } else { low };
    (both + SHIFT).to_bits() as i32 - SHIFT.to_bits() as i32
}

/// Exact partial sums; merging is integer addition, so the order never matters.
///
/// A 64-bit total is safe below `2^36` rows: `2^36 * 4095 * 32767 < 2^63`; so many do not fit in memory.
pub(super) struct Totals {
    numeric: Vec<i64>,
    categories: Vec<i64>,
    intercept: i64,
}

impl Totals {
    pub(super) fn new(rows: &Rows) -> Self {
        Totals { numeric: vec![0; rows.shape.numeric()], categories: vec![0; rows.shape.slots()], intercept: 0 }
    }

    pub(super) fn merge(mut self, other: Totals) -> Totals {
        self.numeric.iter_mut().zip(&other.numeric).for_each(|(a, b)| *a += b);
        self.categories.iter_mut().zip(&other.categories).for_each(|(a, b)| *a += b);
        self.intercept += other.intercept;
        self
    }

    /// One sum per coefficient; categories and intercept carry the unit here, once.
    pub(super) fn coefficients(self, rows: &Rows) -> Vec<i64> {
        let unit = i64::from(rows.unit);
        let mut out = self.numeric;
        out.resize(rows.shape.dimension(), 0);
        rows.shape.each_slot(|coefficient, slot| out[coefficient] = unit * self.categories[slot]);
        if let Some(last) = out.last_mut() {
            *last = unit * self.intercept;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::round_to_i32;

    #[test]
    fn rounding_is_total() {
        let cases = [
            (0.4, 0),
            (0.6, 1),
            (-0.6, -1),
            (2.5, 2),
            (4094.6, 4095),
            (1e30, 8192),
            (-1e30, -8192),
            (f32::INFINITY, 8192),
            (f32::NEG_INFINITY, -8192),
            (f32::NAN, 0),
            (1e-45, 0),
        ];
        for (x, expected) in cases {
            assert_eq!(round_to_i32(x), expected, "{x}");
        }
    }
}
