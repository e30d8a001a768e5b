//! Exact partial sums of multipliers times rows.

use super::joint::JointSums;
use super::simd::{Column, Words};
use super::{LANES, Rows};

/// Most tiles that are added up together; see [`Totals::add_columns`].
pub(super) const MAX_TILES_AT_ONCE: usize = 2;

/// Columns whose sums are taken together.
const QUAD: usize = 4;

/// Exact partial sums; merging is integer addition, so the order never matters.
///
/// A 64-bit total is safe below `2^36` rows: `2^36 * 4095 * 32767 < 2^63`; so many do not fit in memory.
pub(super) struct Totals {
    numeric: Vec<i64>,
    slots: Vec<i64>,
    joint: JointSums,
    intercept: i64,
}

impl Totals {
    /// Nothing added yet; `groups` of the rows' groups are added jointly: all or none.
    pub(super) fn new(rows: &Rows, groups: usize) -> Self {
        let slots = vec![0; rows.shape.slots()];
        Totals { numeric: vec![0; rows.shape.numeric()], slots, joint: JointSums::new(groups), intercept: 0 }
    }

    /// Adds the multipliers of consecutive tiles to the intercept and to their categories: those of the given columns one by
    /// one, and joint codes where these sums have groups.
    #[inline(always)]
    pub(super) fn add_codes(&mut self, rows: &Rows, first: usize, multipliers: &[Column], columns: &[usize]) {
        if self.joint.is_full(multipliers.len()) {
            self.joint.settle(rows, &mut self.slots);
        }
        self.joint.add(rows, first, multipliers);
        for (offset, m) in multipliers.iter().enumerate() {
            let codes = rows.code_tile(first + offset).as_chunks::<LANES>().0;
            for &column in columns {
                let slots = &mut self.slots[rows.shape.slots_of(column)];
                for (&code, &m) in codes[column].iter().zip(m) {
                    slots[usize::from(code)] += i64::from(m);
                }
            }
            self.intercept += i64::from(m.iter().map(|&m| i32::from(m)).sum::<i32>());
        }
    }

    /// Adds multipliers times numeric columns of consecutive tiles; asks for the columns `ahead` meanwhile.
    #[inline(always)]
    pub(super) fn add_numeric<W: Words>(
        &mut self,
        words: W,
        columns: &[Column],
        multipliers: &[Column],
        ahead: &[Column],
    ) {
        let width = self.numeric.len();
        if width == 0 {
            return;
        }
        let mut ahead = ahead.iter();
        for (m, tiles) in multipliers.chunks(2).zip(columns.chunks(2 * width)) {
            match m {
                [m] => self.add_columns(words, 0, [tiles], [m], &mut ahead),
                [m, n] => {
                    let (one, two) = tiles.split_at(width);
                    self.add_columns(words, 0, [one, two], [m, n], &mut ahead);
                }
                _ => {}
            }
        }
    }

    /// Adds the columns from `first` on of one or two tiles; asks for a column `ahead` for every four.
    ///
    /// Four neighbouring 32-bit lanes then hold 16 rows at most: `16 * 4095 * 32767 < 2^31`.
    #[inline(always)]
    pub(super) fn add_columns<'a, W: Words, const N: usize>(
        &mut self,
        words: W,
        first: usize,
        tiles: [&[Column]; N],
        m: [&Column; N],
        ahead: &mut impl Iterator<Item = &'a Column>,
    ) {
        let quads = tiles.map(|tile| tile.as_chunks::<QUAD>());
        // More do not compile.
        let _ = const { MAX_TILES_AT_ONCE - N };
        let (totals, last) = self.numeric[first..][..tiles[0].len()].as_chunks_mut::<QUAD>();
        let product = |columns: [&Column; N], part: usize| {
            let mut sum = words.zero();
            for n in 0..N {
                sum = words.add_products(sum, words.load(columns[n], part), words.load(m[n], part));
            }
            sum
        };
        // Backwards: what the margins read last is still in the nearest cache.
        for (quad, totals) in totals.iter_mut().enumerate().rev() {
            if let Some(column) = ahead.next() {
                words.prefetch(column);
            }
            for part in 0..W::PARTS {
                let column = |j: usize| product(quads.map(|(all, _)| &all[quad][j]), part);
                let sums = words.sums([column(0), column(1), column(2), column(3)]);
                totals.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
            }
        }
        for (j, total) in last.iter_mut().enumerate() {
            for part in 0..W::PARTS {
                let column = product(quads.map(|(_, rest)| &rest[j]), part);
                *total += words.sums([column, words.zero(), words.zero(), words.zero()])[0];
            }
        }
    }

    /// The sums of both.
    pub(super) fn merge(mut self, mut other: Totals, rows: &Rows) -> Totals {
        for part in [&mut self, &mut other] {
            part.joint.settle(rows, &mut part.slots);
        }
        self.numeric.iter_mut().zip(&other.numeric).for_each(|(a, b)| *a += b);
        self.slots.iter_mut().zip(&other.slots).for_each(|(a, b)| *a += b);
        self.intercept += other.intercept;
        self
    }

    /// One sum per coefficient; categories and intercept are multiplied by 1.0's integer here, once.
    pub(super) fn coefficients(mut self, rows: &Rows) -> Vec<i64> {
        self.joint.settle(rows, &mut self.slots);
        let one = i64::from(rows.one);
        let mut out = self.numeric;
        out.resize(rows.shape.dimension(), 0);
        rows.shape.each_slot(|coefficient, slot| out[coefficient] = one * self.slots[slot]);
        if let Some(last) = out.last_mut() {
            *last = one * self.intercept;
        }
        out
    }
}
