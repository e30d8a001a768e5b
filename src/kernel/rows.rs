//! Encoded rows, stored in tiles of [`LANES`] rows with columns contiguous inside a tile.

use std::ops::Range;

use super::groups::Groups;
use super::lines::Lines;
use super::simd::{Column, LANES};
use crate::grid::{FULL_SCALE, Shape};
use crate::num::vectorized;

/// One encoded row in row-major form, as an encoder produces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawRow {
    /// Numeric features, `-FULL_SCALE..=FULL_SCALE`.
    pub numeric: Vec<i16>,
    /// Category codes; a code at or above the number of declared values means "none of them".
    pub codes: Vec<u16>,
    /// Encoded label.
    pub label: i16,
    /// A row that contributes nothing at all: its line was not a record.
    pub null: bool,
}

impl RawRow {
    /// A null row of the given shape, to be filled in.
    pub fn empty(shape: &Shape) -> Self {
        RawRow { numeric: vec![0; shape.numeric()], codes: vec![u16::MAX; shape.categorical()], label: 0, null: true }
    }
}

/// Encoded rows with their exact squared norms. No accessor hands out a row.
///
/// Layout: tile after tile; inside a tile column after column; inside a column the [`LANES`] rows.
/// Norms count every numeric value squared plus `one^2` for each present category and for the
/// intercept; null and padding rows have norm zero, which makes every sum skip them.
pub struct Rows {
    pub(super) shape: Shape,
    pub(super) len: usize,
    pub(super) one: i16,
    pub(super) numeric: Lines<i16>,
    pub(super) codes: Lines<u16>,
    pub(super) labels: Lines<i16>,
    pub(super) norms: Lines<u64>,
    pub(super) groups: Groups,
    /// Joint codes of the groups, made from `codes` by [`Rows::pack`]; what a step reads in their place.
    pub(super) packed: Lines<u16>,
}

impl Rows {
    /// The columns.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Number of rows, null rows included. Private under add-remove.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no row at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The integer that stands for 1.0: intercept, present category, and a numeric feature of 1.
    pub fn one(&self) -> i16 {
        self.one
    }

    /// Bytes read by one clipped sum, joint codes counted in place of those they stand for.
    pub fn bytes(&self) -> usize {
        2 * (self.numeric.len() + self.packed.len() + (self.groups.alone().len() + 1) * self.labels.len())
    }

    /// Upper bound on the bytes that a data set of so many rows takes while it trains, all that is kept for each row included.
    pub(crate) fn footprint(shape: &Shape, rows: u64) -> u64 {
        // Values, codes and at most as many joint codes, and the label.
        let encoded = 2 * (shape.numeric() + 2 * shape.categorical() + 1);
        // The norm, twice while it is replaced, the norm through a map, as much again while parts are joined, and the clip.
        let derived = 2 * size_of::<u64>() + 2 * size_of::<u128>() + size_of::<i16>();
        rows.next_multiple_of(LANES as u64).saturating_mul((encoded + derived) as u64)
    }

    /// No rows.
    pub(super) fn none(shape: Shape, one: i16) -> Rows {
        let (numeric, codes, labels, norms, packed) = Default::default();
        Rows { groups: Groups::new(&shape), shape, len: 0, one, numeric, codes, labels, norms, packed }
    }

    pub(super) fn tiles(&self) -> usize {
        self.labels.len() / LANES
    }

    pub(super) fn numeric_tile(&self, tile: usize) -> &[i16] {
        let width = self.shape.numeric() * LANES;
        &self.numeric[tile * width..(tile + 1) * width]
    }

    /// The numeric columns of a tile.
    #[inline(always)]
    pub(super) fn columns(&self, tile: usize) -> &[Column] {
        let columns = self.shape.numeric();
        &self.all_columns()[tile * columns..(tile + 1) * columns]
    }

    /// The numeric columns of consecutive tiles.
    #[inline(always)]
    pub(super) fn columns_of(&self, tiles: Range<usize>) -> &[Column] {
        let columns = self.shape.numeric();
        &self.all_columns()[tiles.start * columns..tiles.end * columns]
    }

    /// The numeric columns of all tiles, in the order of memory.
    #[inline(always)]
    pub(super) fn all_columns(&self) -> &[Column] {
        self.numeric.as_chunks::<LANES>().0
    }

    /// The joint codes of a group in a tile.
    #[inline(always)]
    pub(super) fn joint_codes(&self, tile: usize, group: usize) -> &[u16; LANES] {
        &self.packed.as_chunks::<LANES>().0[tile * self.groups.len() + group]
    }

    /// Fills in the joint codes; to be called where codes are new.
    pub(super) fn pack(&mut self) {
        self.packed = self.groups.pack(&self.shape, &self.codes);
    }

    pub(super) fn code_tile(&self, tile: usize) -> &[u16] {
        let width = self.shape.categorical() * LANES;
        &self.codes[tile * width..(tile + 1) * width]
    }

    /// Number of lanes, those that pad the last tile included.
    pub(super) fn padded_len(&self) -> usize {
        self.labels.len()
    }

    /// Re-encodes numeric values and labels by a public map and changes what stands for 1.0.
    ///
    /// `numeric(column, value)` and `label(value)` must be pure functions of public quantities and
    /// their arguments: each new row then depends on its old row alone, so neighbouring data sets
    /// stay neighbours.
    pub fn recode(
        mut self,
        one: i16,
        numeric: impl Fn(usize, i16) -> i16 + Sync,
        label: impl Fn(i16) -> i16 + Sync,
    ) -> Rows {
        use rayon::prelude::*;
        let columns = self.shape.numeric();
        if columns > 0 {
            self.numeric.par_chunks_mut(columns * LANES).for_each(|tile| {
                vectorized(
                    #[inline(always)]
                    || {
                        for (column, values) in tile.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                            values.iter_mut().for_each(|q| *q = clamp_scale(numeric(column, *q)));
                        }
                    },
                );
            });
        }
        self.labels.par_iter_mut().for_each(|q| *q = clamp_scale(label(*q)));
        self.one = one;
        self.measure();
        self
    }

    /// The rows with categorical columns alone: what was numeric comes first, by `code(column, value)` of so many columns, then what was
    /// categorical.
    ///
    /// `code` and `label` must be pure functions of public quantities and their arguments. Where the columns of `shape` are not those that
    /// come about, all rows become null rows.
    pub(crate) fn as_categories(
        &self,
        shape: Shape,
        (columns, code): (usize, impl Fn(usize, i16) -> u16 + Sync),
        label: impl Fn(i16) -> i16 + Sync,
    ) -> Rows {
        use rayon::prelude::*;
        let numeric = self.shape.numeric();
        let same = |column: usize| self.shape.levels(column) == shape.levels(numeric + column);
        let fits = shape.numeric() == 0
            && numeric == columns
            && shape.categorical() == numeric + self.shape.categorical()
            && (0..self.shape.categorical()).all(same);
        let mut rows = Rows { len: self.len, ..Rows::none(shape, self.one) };
        let width = rows.shape.categorical() * LANES;
        rows.codes.grow(self.tiles() * width);
        rows.labels.grow(self.labels.len());
        rows.norms.grow(self.norms.len());
        if fits && width > 0 {
            let none: Vec<u16> = (0..numeric).map(|column| rows.shape.levels(column) as u16).collect();
            rows.codes.par_chunks_mut(width).enumerate().for_each(|(tile, codes)| {
                let (new, old) = codes.split_at_mut(numeric * LANES);
                for (column, (codes, values)) in new.chunks_exact_mut(LANES).zip(self.columns(tile)).enumerate() {
                    codes.iter_mut().zip(values).for_each(|(to, &q)| *to = code(column, q).min(none[column]));
                }
                old.copy_from_slice(self.code_tile(tile));
            });
        }
        rows.labels.par_iter_mut().zip(&*self.labels).for_each(|(to, &q)| *to = clamp_scale(label(q)));
        if fits {
            rows.norms.copy_from_slice(&self.norms);
        }
        rows.measure();
        rows.pack();
        rows
    }

    /// The rows of some tiles with other numeric columns, made of their codes: `fill(codes, numbers)` gets the codes of a tile, column after
    /// column, and writes its numbers so. Categorical columns are kept from the `first` on.
    ///
    /// `fill` must be a pure function of public quantities and of the codes, lane by lane. Where the columns of `shape` are not those that
    /// come about, all rows become null rows.
    pub(crate) fn with_numbers(
        &self,
        tiles: Range<usize>,
        (shape, one): (Shape, i16),
        first: usize,
        fill: impl Fn(&[[u16; LANES]], &mut [[i16; LANES]]) + Sync,
    ) -> Rows {
        use rayon::prelude::*;
        let kept = self.shape.categorical().saturating_sub(first);
        let same = |column: usize| self.shape.levels(first + column) == shape.levels(column);
        let fits = self.shape.categorical() >= first && shape.categorical() == kept && (0..kept).all(same);
        let tiles = tiles.start.min(self.tiles())..tiles.end.min(self.tiles());
        let lanes = tiles.start * LANES..tiles.end.max(tiles.start) * LANES;
        // The last tile alone may be padded.
        let len = self.len.min(lanes.end).saturating_sub(lanes.start);
        let mut rows = Rows { len, ..Rows::none(shape, one) };
        let columns = rows.shape.numeric();
        rows.numeric.grow(lanes.len() * columns);
        rows.codes.grow(lanes.len() * rows.shape.categorical());
        rows.labels.grow(lanes.len());
        rows.norms.grow(lanes.len());
        rows.labels.copy_from_slice(&self.labels[lanes.clone()]);
        if fits {
            if columns > 0 {
                rows.numeric.par_chunks_mut(columns * LANES).enumerate().for_each(|(tile, numbers)| {
                    let numbers = numbers.as_chunks_mut::<LANES>().0;
                    fill(self.code_tile(tiles.start + tile).as_chunks::<LANES>().0, numbers);
                    numbers.as_flattened_mut().iter_mut().for_each(|q| *q = clamp_scale(*q));
                });
            }
            if kept > 0 {
                rows.codes.par_chunks_mut(kept * LANES).enumerate().for_each(|(tile, codes)| {
                    codes.copy_from_slice(&self.code_tile(tiles.start + tile)[first * LANES..]);
                });
            }
            rows.norms.copy_from_slice(&self.norms[lanes]);
        }
        rows.measure();
        rows.pack();
        rows
    }

    /// Recomputes the exact squared norms; rows that were null stay null.
    fn measure(&mut self) {
        use rayon::prelude::*;
        let mut norms = std::mem::take(&mut self.norms);
        norms.par_chunks_mut(LANES).enumerate().for_each(|(tile, norms)| {
            let fresh = vectorized(
                #[inline(always)]
                || squared_norms(&self.shape, self.one, self.columns(tile), self.code_tile(tile)),
            );
            norms.iter_mut().zip(fresh).for_each(|(norm, fresh)| *norm = if *norm == 0 { 0 } else { fresh });
        });
        self.norms = norms;
    }
}

/// So many squares add up below 2^32: `4 * 32767^2 = 2^32 - 2^18 + 4`.
const COLUMNS_IN_32_BITS: usize = 4;

/// Exact squared norms of a tile's rows, those that are no records included.
///
/// Values must be in their legal ranges: numeric ones at most [`FULL_SCALE`] in size, codes at most that for "none of them".
#[inline(always)]
pub(super) fn squared_norms(shape: &Shape, one: i16, numeric: &[Column], codes: &[u16]) -> [u64; LANES] {
    let square_of_one = square(one);
    let mut norms = [square_of_one; LANES];
    for columns in numeric.chunks(COLUMNS_IN_32_BITS) {
        let mut sums = [0u32; LANES];
        for column in columns {
            sums.iter_mut().zip(column).for_each(|(sum, &q)| *sum += square(q) as u32);
        }
        norms.iter_mut().zip(sums).for_each(|(norm, sum)| *norm += u64::from(sum));
    }
    let mut declared = [0u32; LANES];
    for (index, column) in codes.as_chunks::<LANES>().0.iter().enumerate() {
        let none = shape.levels(index) as u16;
        declared.iter_mut().zip(column).for_each(|(count, &code)| *count += u32::from(code < none));
    }
    norms.iter_mut().zip(declared).for_each(|(norm, count)| *norm += square_of_one * u64::from(count));
    norms
}

pub(super) fn square(q: i16) -> u64 {
    // Below 2^31 for every i16, so 32 bits do, which vectorise best.
    (i32::from(q) * i32::from(q)) as u64
}

/// `i16::MIN` would break the symmetry that the bounds on products rely on.
pub(super) fn clamp_scale(q: i16) -> i16 {
    q.clamp(-FULL_SCALE, FULL_SCALE)
}

/// Collects rows into tiles.
pub struct RowsBuilder {
    rows: Rows,
}

impl RowsBuilder {
    /// An empty collection in which 1.0 stands as [`FULL_SCALE`].
    pub fn new(shape: Shape) -> Self {
        Self::with_one(shape, FULL_SCALE)
    }

    /// An empty collection of rows in which 1.0 stands as `one`.
    pub(crate) fn with_one(shape: Shape, one: i16) -> Self {
        RowsBuilder { rows: Rows::none(shape, one) }
    }

    /// Appends a row; values outside the legal range are moved into it.
    pub fn push(&mut self, row: &RawRow) {
        let lane = self.rows.len % LANES;
        if lane == 0 {
            self.start_tile();
        }
        let rows = &mut self.rows;
        let tile = rows.tiles() - 1;
        let numeric_base = tile * rows.shape.numeric() * LANES;
        for (column, &q) in row.numeric.iter().enumerate().take(rows.shape.numeric()) {
            rows.numeric[numeric_base + column * LANES + lane] = clamp_scale(q);
        }
        let code_base = tile * rows.shape.categorical() * LANES;
        for column in 0..rows.shape.categorical() {
            let none = rows.shape.levels(column) as u16;
            let code = row.codes.get(column).copied().unwrap_or(none).min(none);
            rows.codes[code_base + column * LANES + lane] = code;
        }
        rows.labels[tile * LANES + lane] = clamp_scale(row.label);
        // Any nonzero mark: `build` replaces it by the exact norm.
        rows.norms[tile * LANES + lane] = u64::from(!row.null);
        rows.len += 1;
    }

    /// Rows so far.
    pub(crate) fn len(&self) -> usize {
        self.rows.len
    }

    fn start_tile(&mut self) {
        let rows = &mut self.rows;
        rows.numeric.grow(rows.numeric.len() + rows.shape.numeric() * LANES);
        for column in 0..rows.shape.categorical() {
            let none = rows.shape.levels(column) as u16;
            let first = rows.codes.len();
            rows.codes.grow(first + LANES);
            rows.codes[first..].fill(none);
        }
        rows.labels.grow(rows.labels.len() + LANES);
        rows.norms.grow(rows.norms.len() + LANES);
    }

    /// Computes norms and joint codes.
    pub fn build(mut self) -> Rows {
        self.rows.measure();
        self.rows.pack();
        self.rows
    }
}
