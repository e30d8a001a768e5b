//! Tiles filled in place and in parallel: by an encoder, or from a file that holds tiles as memory does.

use std::ops::Range;

use super::lines::Lines;
use super::rows::{clamp_scale, squared_norms};
use super::{LANES, Rows};
use crate::grid::{FULL_SCALE, Shape};
use crate::num::vectorized;

/// Rows that grow by whole tiles, with room handed out before it is filled.
///
/// Memory is taken as zeros from the system, so what is reserved and never filled costs nothing.
pub(crate) struct BulkBuilder {
    rows: Rows,
    /// Tiles handed out so far; the vectors may be longer.
    used: usize,
}

/// Consecutive tiles to be filled. Until a tile is sealed its norms are zero: its rows contribute nothing.
pub(crate) struct TilesMut<'a> {
    shape: &'a Shape,
    len: usize,
    one: i16,
    numeric: &'a mut [i16],
    codes: &'a mut [u16],
    labels: &'a mut [i16],
    norms: &'a mut [u64],
}

/// One tile to be filled; a value stands at `column * LANES + lane`.
pub(crate) struct TileMut<'a> {
    /// Numeric values.
    pub numeric: &'a mut [i16],
    /// Category codes.
    pub codes: &'a mut [u16],
    /// Labels, one a lane.
    pub labels: &'a mut [i16],
    /// Rows in the tile.
    pub len: usize,
    /// Bit `lane` is set where the row is a record; the values of other lanes are wiped.
    pub present: u32,
}

/// Tiles as bytes, in the order and byte order of memory.
pub(crate) struct TileBytes<'a> {
    /// Numeric values, codes and labels.
    pub parts: [&'a [u8]; 3],
    /// For each tile, the lanes that are records.
    pub present: Vec<u32>,
}

impl BulkBuilder {
    /// No rows; 1.0 will stand in them as [`FULL_SCALE`].
    pub fn new(shape: Shape) -> Self {
        Self::with_one(shape, FULL_SCALE)
    }

    /// No rows; 1.0 will stand in them as `one`.
    pub fn with_one(shape: Shape, one: i16) -> Self {
        BulkBuilder { rows: Rows::none(shape, one), used: 0 }
    }

    /// No rows, in the memory of rows that are not needed any more.
    pub fn in_place_of(mut rows: Rows, one: i16) -> Self {
        // What was sealed there before must not count as sealed.
        rows.norms.fill(0);
        (rows.len, rows.one) = (0, one);
        BulkBuilder { rows, used: 0 }
    }

    /// Room for `tiles` tiles in all.
    pub fn reserve(&mut self, tiles: usize) {
        let held = self.rows.tiles();
        if tiles <= held {
            return;
        }
        let (numeric, categorical) = (self.rows.shape.numeric() * LANES, self.rows.shape.categorical() * LANES);
        let rows = &mut self.rows;
        if held == 0 {
            // Zeros straight from the system are not touched before they are filled.
            rows.numeric = Lines::zeroed(tiles * numeric);
            rows.codes = Lines::zeroed(tiles * categorical);
            rows.labels = Lines::zeroed(tiles * LANES);
            rows.norms = Lines::zeroed(tiles * LANES);
        } else {
            rows.numeric.grow(tiles * numeric);
            rows.codes.grow(tiles * categorical);
            rows.labels.grow(tiles * LANES);
            rows.norms.grow(tiles * LANES);
        }
    }

    /// Room for parts of the given numbers of rows, each beginning with a new tile.
    ///
    /// Only the last part ever handed out may have a number of rows that is no multiple of [`LANES`]; after such a
    /// part there is no more room, so that no row can get lost inside.
    pub fn grow(&mut self, lens: &[usize]) -> Vec<TilesMut<'_>> {
        let tiles: usize = lens.iter().map(|len| len.div_ceil(LANES)).sum();
        let needed = self.used + tiles;
        if needed > self.rows.tiles() {
            // A little more than asked for: resizing touches what it adds.
            self.reserve(needed + needed / 16);
        }
        let first = self.used;
        self.used = needed;
        self.rows.len += lens.iter().sum::<usize>();
        split(&mut self.rows, first, lens)
    }

    /// The room that was handed out, once more, in parts of the given numbers of rows from the first tile on.
    pub fn rooms(&mut self, lens: &[usize]) -> Vec<TilesMut<'_>> {
        split(&mut self.rows, 0, lens)
    }

    /// What was filled so far: rows without joint codes, for a file. Tiles behind [`BulkBuilder::tiles`] are not filled.
    pub fn filled(&self) -> &Rows {
        &self.rows
    }

    /// Number of tiles handed out.
    pub fn tiles(&self) -> usize {
        self.used
    }

    /// Takes the first tiles out, full ones all of them; those behind move up.
    pub fn drop_front(&mut self, tiles: usize) {
        let tiles = tiles.min(self.used);
        let rows = &mut self.rows;
        let (columns, codes) = (rows.shape.numeric() * LANES, rows.shape.categorical() * LANES);
        rows.numeric.copy_within(tiles * columns..self.used * columns, 0);
        rows.codes.copy_within(tiles * codes..self.used * codes, 0);
        rows.labels.copy_within(tiles * LANES..self.used * LANES, 0);
        rows.norms.copy_within(tiles * LANES..self.used * LANES, 0);
        self.used -= tiles;
        rows.norms[self.used * LANES..].fill(0);
        rows.len = rows.len.saturating_sub(tiles * LANES);
    }

    /// The rows that were filled.
    pub fn build(self) -> Rows {
        let BulkBuilder { mut rows, used } = self;
        rows.numeric.truncate(used * rows.shape.numeric() * LANES);
        rows.codes.truncate(used * rows.shape.categorical() * LANES);
        rows.labels.truncate(used * LANES);
        rows.norms.truncate(used * LANES);
        rows.pack();
        rows
    }
}

/// The tiles from `first` on, cut into parts of the given numbers of rows.
fn split<'a>(rows: &'a mut Rows, first: usize, lens: &[usize]) -> Vec<TilesMut<'a>> {
    let (shape, one) = (&rows.shape, rows.one);
    let (columns, codes) = (shape.numeric() * LANES, shape.categorical() * LANES);
    let mut numeric = &mut rows.numeric[first * columns..];
    let mut coded = &mut rows.codes[first * codes..];
    let mut labels = &mut rows.labels[first * LANES..];
    let mut norms = &mut rows.norms[first * LANES..];
    let mut parts = Vec::with_capacity(lens.len());
    for &len in lens {
        let tiles = len.div_ceil(LANES);
        parts.push(TilesMut {
            shape,
            len,
            one,
            numeric: take(&mut numeric, tiles * columns),
            codes: take(&mut coded, tiles * codes),
            labels: take(&mut labels, tiles * LANES),
            norms: take(&mut norms, tiles * LANES),
        });
    }
    parts
}

/// The first `count` elements, taken off the slice.
fn take<'a, T>(slice: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let (head, tail) = std::mem::take(slice).split_at_mut(count);
    *slice = tail;
    head
}

impl TilesMut<'_> {
    /// Fills tile after tile, then brings every value into its legal range and measures the rows.
    ///
    /// Whatever `encode` leaves behind, numeric values end in `-FULL_SCALE..=FULL_SCALE`, unknown codes mean "none of
    /// them", lanes that are no record are null rows, and norms are exact.
    #[inline(always)]
    pub fn fill(&mut self, mut encode: impl FnMut(&mut TileMut<'_>)) {
        for tile in 0..self.labels.len() / LANES {
            let present = {
                let mut view = self.tile(tile);
                encode(&mut view);
                view.present
            };
            self.seal_tile(tile, present);
        }
    }

    /// The tiles as bytes, to be overwritten as a whole; [`TilesMut::seal`] must follow.
    pub fn bytes_mut(&mut self) -> [&mut [u8]; 3] {
        [
            bytemuck::cast_slice_mut(self.numeric),
            bytemuck::cast_slice_mut(self.codes),
            bytemuck::cast_slice_mut(self.labels),
        ]
    }

    /// Checks and measures tiles whose values stand there already, as [`TilesMut::fill`] does.
    pub fn seal(&mut self, present: &[u32]) {
        vectorized(
            #[inline(always)]
            || {
                for tile in 0..self.labels.len() / LANES {
                    self.seal_tile(tile, present.get(tile).copied().unwrap_or(0));
                }
            },
        );
    }

    #[inline(always)]
    fn tile(&mut self, tile: usize) -> TileMut<'_> {
        let (columns, codes) = (self.shape.numeric() * LANES, self.shape.categorical() * LANES);
        TileMut {
            numeric: &mut self.numeric[tile * columns..(tile + 1) * columns],
            codes: &mut self.codes[tile * codes..(tile + 1) * codes],
            labels: &mut self.labels[tile * LANES..(tile + 1) * LANES],
            len: (self.len - tile * LANES).min(LANES),
            present: 0,
        }
    }

    #[inline(always)]
    fn seal_tile(&mut self, tile: usize, present: u32) {
        let (shape, one) = (self.shape, self.one);
        let view = self.tile(tile);
        // Lanes that pad the last tile are no records.
        let present = if view.len < LANES { present & ((1 << view.len) - 1) } else { present };
        view.numeric.iter_mut().for_each(|q| *q = clamp_scale(*q));
        for (index, column) in view.codes.chunks_exact_mut(LANES).enumerate() {
            let none = shape.levels(index) as u16;
            column.iter_mut().for_each(|code| *code = (*code).min(none));
        }
        view.labels.iter_mut().for_each(|label| *label = clamp_scale(*label));
        let mut norms = squared_norms(shape, one, view.numeric.as_chunks::<LANES>().0, view.codes);
        for lane in (0..LANES).filter(|lane| present & (1 << lane) == 0) {
            norms[lane] = 0;
            view.labels[lane] = 0;
            view.numeric.chunks_exact_mut(LANES).for_each(|column| column[lane] = 0);
            let columns = view.codes.chunks_exact_mut(LANES).enumerate();
            columns.for_each(|(index, column)| column[lane] = shape.levels(index) as u16);
        }
        self.norms[tile * LANES..(tile + 1) * LANES].copy_from_slice(&norms);
    }
}

impl Rows {
    /// Number of tiles, the last one perhaps padded.
    pub(crate) fn tile_count(&self) -> usize {
        self.tiles()
    }

    /// Some of the tiles as bytes, for a file that only the custodian may read.
    pub(crate) fn tile_bytes(&self, tiles: Range<usize>) -> TileBytes<'_> {
        let (columns, codes) = (self.shape.numeric() * LANES, self.shape.categorical() * LANES);
        let mask = |norms: &[u64]| norms.iter().rev().fold(0, |mask, &norm| mask << 1 | u32::from(norm > 0));
        TileBytes {
            parts: [
                bytemuck::cast_slice(&self.numeric[tiles.start * columns..tiles.end * columns]),
                bytemuck::cast_slice(&self.codes[tiles.start * codes..tiles.end * codes]),
                bytemuck::cast_slice(&self.labels[tiles.start * LANES..tiles.end * LANES]),
            ],
            present: self.norms[tiles.start * LANES..tiles.end * LANES].chunks_exact(LANES).map(mask).collect(),
        }
    }

    /// Whether all rows are encoded alike.
    #[cfg(test)]
    pub(crate) fn same_as(&self, other: &Rows) -> bool {
        self.shape == other.shape
            && (self.len, self.one) == (other.len, other.one)
            && *self.numeric == *other.numeric
            && *self.codes == *other.codes
            && *self.labels == *other.labels
            && *self.norms == *other.norms
            && *self.packed == *other.packed
    }
}

#[cfg(test)]
mod tests;
