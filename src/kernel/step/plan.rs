//! What a pass prepares once, and what it does with a block of tiles.

use std::ops::Range;

use super::super::caps::Caps;
use super::super::joint::{Table, look_up};
use super::super::margins::Margins;
use super::super::rows::Rows;
use super::super::simd::{Column, LANES, WithWords, Words};
use super::super::slopes::Slopes;
use super::super::totals::Totals;

/// Most tiles of a block.
pub(in crate::kernel) const MAX_TILES: usize = 16;

/// Bytes of rows that a block may have, so that its second pass reads from the first-level cache.
const BLOCK_BYTES: usize = 8 << 10;

/// A larger tile is a block of its own, since one block should fit a second-level cache; see [`super::wide`].
const LARGE_TILE: usize = 256 << 10;

/// How far ahead of the first pass memory is asked for, in columns of 64 bytes.
///
/// Measured from 4 to 128 KiB at 32, 128 and 1000 columns: 8 KiB is best or within 3% of it.
const AHEAD: usize = 128;

/// The public inputs of one pass.
#[derive(Clone, Debug)]
pub struct Step<'a> {
    /// One coefficient per feature in units of 1.0, laid out as [`crate::grid::Shape::dimension`] says.
    pub weights: &'a [f64],
    /// What an encoded label of 1 stands for.
    pub label_scale: f64,
    /// Integer multiplier per unit of slope, `clip_steps / (one * clip_norm)`.
    pub multiplier_scale: f64,
}

pub(super) fn tile_bytes(rows: &Rows) -> usize {
    (rows.bytes() / rows.tiles().max(1)).max(1)
}

/// A run of tiles, compiled once per instruction set and chosen at run time.
pub(super) struct Task<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) tables: &'a [Table],
    pub(super) tiles: Range<usize>,
    pub(super) slopes: Slopes<'a>,
    pub(super) totals: &'a mut Totals,
}

impl WithWords for Task<'_> {
    type Output = ();

    #[inline(always)]
    fn run<W: Words>(self, words: W) {
        let mut start = self.tiles.start;
        while start < self.tiles.end {
            let end = (start + self.plan.block).min(self.tiles.end);
            self.plan.block(words, start..end, self.tables, self.slopes, self.totals);
            start = end;
        }
    }
}

/// Everything a block needs, prepared once per pass.
pub(in crate::kernel) struct Plan<'a> {
    pub(super) rows: &'a Rows,
    caps: &'a [i16],
    pub(super) margins: Margins,
    pub(super) label_scale: f32,
    pub(in crate::kernel) multiplier_scale: f32,
    pub(in crate::kernel) block: usize,
}

impl<'a> Plan<'a> {
    pub(in crate::kernel) fn new(rows: &'a Rows, caps: &'a Caps, step: &Step<'_>) -> Self {
        let tile = tile_bytes(rows);
        // Tiles are accumulated in twos.
        let block = (BLOCK_BYTES / tile).next_multiple_of(2).clamp(2, MAX_TILES);
        Plan {
            rows,
            caps: &caps.values,
            margins: Margins::new(rows, step.weights),
            label_scale: step.label_scale as f32,
            multiplier_scale: step.multiplier_scale as f32,
            block: if tile > LARGE_TILE { 1 } else { block },
        }
    }

    #[inline(always)]
    pub(super) fn block<W: Words>(
        &self,
        words: W,
        tiles: Range<usize>,
        tables: &[Table],
        slopes: Slopes<'_>,
        totals: &mut Totals,
    ) {
        let count = tiles.len();
        let (first, second) = self.ahead(&tiles);
        let mut categories = [[0i32; LANES]; MAX_TILES];
        look_up(self.rows, tables, tiles.start, &mut categories[..count]);
        let mut margins = [[0f32; LANES]; MAX_TILES];
        for (offset, categories) in categories[..count].iter_mut().enumerate() {
            let tile = tiles.start + offset;
            let ahead = &first[first.len() * offset / count..first.len() * (offset + 1) / count];
            self.margins.add_codes(self.rows, tile, self.rows.groups.alone().iter().copied(), categories);
            let numeric = self.margins.numeric(words, self.rows.columns(tile), ahead);
            margins[offset] = self.margins.join(&numeric, categories);
        }
        let mut multipliers = [[0i16; LANES]; MAX_TILES];
        // Margins of the whole block first: slopes of several tiles then overlap.
        let slopes_of = &mut margins[..count];
        slopes.replace(slopes_of, &self.all_labels()[tiles.clone()], self.label_scale);
        for (offset, m) in multipliers[..count].iter_mut().enumerate() {
            *m = self.multipliers(tiles.start + offset, &slopes_of[offset]);
        }
        let multipliers = &multipliers[..count];
        totals.add_codes(self.rows, tiles.start, multipliers, self.rows.groups.alone());
        totals.add_numeric(words, self.rows.columns_of(tiles), multipliers, second);
    }

    /// What to ask memory for while a block is worked on: during the margins, and while adding up.
    ///
    /// Adding up is too short to ask for all that the next block needs, and if it asked for nothing memory would stand idle.
    #[inline(always)]
    fn ahead(&self, tiles: &Range<usize>) -> (&[Column], &[Column]) {
        let (columns, width) = (self.rows.all_columns(), self.rows.shape().numeric());
        let (here, count) = (tiles.start * width, tiles.len() * width);
        let start = (here + count / 8 + AHEAD).min(columns.len());
        let middle = (start + count - count / 8).min(columns.len());
        let end = (start + count).min(columns.len());
        (&columns[start..middle], &columns[middle..end])
    }

    /// Adds multipliers times rows, categories one by one.
    #[inline(always)]
    pub(in crate::kernel) fn add<W: Words>(
        &self,
        words: W,
        tiles: Range<usize>,
        multipliers: &[Column],
        columns: &[usize],
        totals: &mut Totals,
    ) {
        totals.add_codes(self.rows, tiles.start, multipliers, columns);
        totals.add_numeric(words, self.rows.columns_of(tiles), multipliers, &[]);
    }

    /// Encoded labels of a tile.
    #[inline(always)]
    pub(in crate::kernel) fn labels(&self, tile: usize) -> &[i16; LANES] {
        &self.all_labels()[tile]
    }

    /// Encoded labels of all tiles.
    #[inline(always)]
    pub(super) fn all_labels(&self) -> &[[i16; LANES]] {
        self.rows.labels.as_chunks::<LANES>().0
    }

    /// Largest multipliers of a tile.
    #[inline(always)]
    pub(in crate::kernel) fn caps(&self, tile: usize) -> &[i16; LANES] {
        &self.caps.as_chunks::<LANES>().0[tile]
    }

    /// Margins of a tile, categories looked up one by one.
    #[inline(always)]
    pub(in crate::kernel) fn margins<W: Words>(&self, words: W, tile: usize) -> [f32; LANES] {
        let mut categories = [0; LANES];
        self.margins.add_codes(self.rows, tile, 0..self.rows.shape().categorical(), &mut categories);
        self.margins.join(&self.margins.numeric(words, self.rows.columns(tile), &[]), &categories)
    }

    /// What the rows of a tile with these slopes are multiplied by.
    #[inline(always)]
    pub(super) fn multipliers(&self, tile: usize, slopes: &[f32; LANES]) -> [i16; LANES] {
        let caps = self.caps(tile);
        let mut out = [0i16; LANES];
        for lane in 0..LANES {
            let m = round_to_i32(slopes[lane] * self.multiplier_scale);
            let cap = i32::from(caps[lane]);
            out[lane] = m.min(cap).max(-cap) as i16;
        }
        out
    }
}

/// Nearest integer, ties to even, of a value first moved into the range of multipliers; NaN gives 0.
///
/// Adding `1.5 * 2^23` leaves the rounded integer in the low bits of the sum. Unlike a library call
/// it vectorises on every instruction set, with the same result on each.
#[inline(always)]
pub(in crate::kernel) fn round_to_i32(x: f32) -> i32 {
    const SHIFT: f32 = 12_582_912.0;
    const LIMIT: f32 = 8192.0; // beyond every cap
    let finite = if x.is_nan() { 0.0 } else { x };
    let low = if finite > LIMIT { LIMIT } else { finite };
    let both = if low < -LIMIT { -LIMIT } else { low };
    (both + SHIFT).to_bits() as i32 - SHIFT.to_bits() as i32
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
