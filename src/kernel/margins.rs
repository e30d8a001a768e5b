//! Margins of encoded rows, the same bits wherever they are computed.
//!
//! Coefficients are rounded to integers, so that the sums behind a margin are exact integers, which no order of operations
//! can change; what is left of floating point is done row by row in one fixed order, without fused operations.

use super::rows::Rows;
use super::simd::{Column, LANES, Level, WithWords, Words};

/// Columns whose products are added up in 32 bits: `16 * 4096 * 32767 < 2^31`.
pub(super) const CHUNK: usize = 16;

/// Bits of the lower part of a numeric coefficient; the upper part has as many and a sign.
const LOW_BITS: u32 = 12;

/// The largest numeric coefficient as an integer.
pub(super) const MAX_COEFFICIENT: f64 = ((1 << (2 * LOW_BITS)) - 1) as f64;

/// What the largest category coefficients of all columns add up to as integers.
pub(super) const MAX_CATEGORIES: f64 = (1 << 30) as f64;

/// Coefficients laid out for encoded rows.
///
/// Numeric coefficients are rounded to multiples of the largest one over `2^24 - 1`, so no coefficient moves by more than
/// `2^-25` of the largest: what single precision would do to it. Category coefficients are rounded to `2^-30` of what the
/// largest of each column add up to. Where a coefficient is not a finite number no margin is one.
pub(super) struct Margins {
    /// Integer coefficients of numeric columns, two a pair, cut into an upper and a lower part.
    numeric: Vec<Pair>,
    /// What an integer of `numeric` stands for, for a row value of 1.
    numeric_step: f32,
    /// Integer coefficients of category slots.
    slots: Vec<i32>,
    /// What an integer of `slots` stands for.
    slot_step: f32,
    intercept: f32,
}

/// The coefficients of two neighbouring columns: `4096 upper + lower`.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    upper: [i16; 2],
    lower: [i16; 2],
}

impl Margins {
    /// For one coefficient per feature in units of 1.0, laid out as [`super::Shape::dimension`] says; a missing one is 0.
    pub(super) fn new(rows: &Rows, weights: &[f64]) -> Self {
        let shape = rows.shape();
        let weight = |index: usize| weights.get(index).copied().unwrap_or(0.0);
        let numeric: Vec<f64> = (0..shape.numeric()).map(weight).collect();
        let mut categories = vec![0.0; shape.slots()];
        shape.each_slot(|coefficient, slot| categories[slot] = weight(coefficient));
        let by_column = (0..shape.categorical()).map(|column| largest(&categories[shape.slots_of(column)]));
        let (slots, slot_step) = integers(&categories, by_column.sum(), MAX_CATEGORIES);
        let (numeric, numeric_step) = integers(&numeric, largest(&numeric), MAX_COEFFICIENT);
        Margins {
            numeric: numeric.chunks(2).map(Pair::new).collect(),
            numeric_step: (numeric_step / f64::from(rows.one)) as f32,
            slots,
            slot_step: slot_step as f32,
            intercept: weight(shape.dimension() - 1) as f32,
        }
    }

    /// Category coefficients by internal slot, as integers.
    pub(super) fn slots(&self) -> &[i32] {
        &self.slots
    }

    /// `sum_j w_j x_ij` of each row of a tile, for passes that do not care for speed here.
    pub(super) fn tile(&self, rows: &Rows, tile: usize) -> [f32; LANES] {
        Level::best().run(OneTile { margins: self, rows, tile })
    }

    /// The numeric part of the margins of a tile; asks for the columns `ahead` meanwhile.
    #[inline(always)]
    pub(super) fn numeric<W: Words>(&self, words: W, columns: &[Column], ahead: &[Column]) -> Numeric {
        let mut sums = Numeric::ZERO;
        let mut ahead = ahead.iter();
        for (columns, pairs) in columns.chunks(CHUNK).zip(self.numeric.chunks(CHUNK / 2)) {
            let (mut upper, mut lower) = ([0i32; LANES], [0i32; LANES]);
            for part in 0..W::PARTS {
                let (mut up, mut low) = ([words.zero(); 2], [words.zero(); 2]);
                for (columns, pair) in columns.chunks(2).zip(pairs) {
                    (up, low) = pair.add(words, columns, part, up, low);
                    if part == 0 {
                        ahead.by_ref().take(2).for_each(|column| words.prefetch(column));
                    }
                }
                words.rows(up, &mut upper, part);
                words.rows(low, &mut lower, part);
            }
            sums.add(&upper, &lower);
        }
        sums
    }

    /// Adds the `index`-th [`CHUNK`] columns of two tiles to their margins; asks for as many columns `ahead` meanwhile.
    ///
    /// Single tiles go by [`Margins::numeric`]: one form for one and two tiles cost them a tenth with registers of 256 bits.
    #[inline(always)]
    pub(super) fn add_chunk<'a, W: Words>(
        &self,
        words: W,
        index: usize,
        [one, two]: [&[Column]; 2],
        sums: &mut [Numeric; 2],
        ahead: &mut impl Iterator<Item = [&'a Column; 2]>,
    ) {
        let pairs = self.numeric.chunks(CHUNK / 2).nth(index).unwrap_or_default();
        let (mut upper, mut lower) = ([[0i32; LANES]; 2], [[0i32; LANES]; 2]);
        for part in 0..W::PARTS {
            let (mut up, mut low) = ([[words.zero(); 2]; 2], [[words.zero(); 2]; 2]);
            for ((one, two), pair) in one.chunks(2).zip(two.chunks(2)).zip(pairs) {
                (up[0], low[0]) = pair.add(words, one, part, up[0], low[0]);
                (up[1], low[1]) = pair.add(words, two, part, up[1], low[1]);
                if part == 0 {
                    ahead.take(2).flatten().for_each(|column| words.prefetch(column));
                }
            }
            for tile in 0..2 {
                words.rows(up[tile], &mut upper[tile], part);
                words.rows(low[tile], &mut lower[tile], part);
            }
        }
        for tile in 0..2 {
            sums[tile].add(&upper[tile], &lower[tile]);
        }
    }

    /// Adds the integer coefficients of the categories in some columns of a tile.
    #[inline(always)]
    pub(super) fn add_codes(
        &self,
        rows: &Rows,
        tile: usize,
        columns: impl Iterator<Item = usize>,
        sums: &mut [i32; LANES],
    ) {
        let codes = rows.code_tile(tile).as_chunks::<LANES>().0;
        for column in columns {
            let slots = &self.slots[rows.shape.slots_of(column)];
            for (sum, &code) in sums.iter_mut().zip(&codes[column]) {
                *sum += slots[usize::from(code)];
            }
        }
    }

    /// Margins from their numeric part and the integer coefficients of categories.
    #[inline(always)]
    pub(super) fn join(&self, numeric: &Numeric, categories: &[i32; LANES]) -> [f32; LANES] {
        const SHIFT: f32 = (1 << LOW_BITS) as f32;
        let mut margins = [0.0; LANES];
        for lane in 0..LANES {
            let dense = (numeric.upper[lane] * SHIFT + numeric.lower[lane]) * self.numeric_step;
            margins[lane] = (self.intercept + dense) + categories[lane] as f32 * self.slot_step;
        }
        margins
    }
}

/// Sums of products with the upper and the lower parts of the coefficients.
#[derive(Clone, Copy)]
pub(super) struct Numeric {
    upper: [f32; LANES],
    lower: [f32; LANES],
}

impl Numeric {
    /// Of no columns yet.
    pub(super) const ZERO: Numeric = Numeric { upper: [0.0; LANES], lower: [0.0; LANES] };

    /// Adds exact sums over [`CHUNK`] columns.
    #[inline(always)]
    fn add(&mut self, upper: &[i32; LANES], lower: &[i32; LANES]) {
        for lane in 0..LANES {
            self.upper[lane] += upper[lane] as f32;
            self.lower[lane] += lower[lane] as f32;
        }
    }
}

struct OneTile<'a> {
    margins: &'a Margins,
    rows: &'a Rows,
    tile: usize,
}

impl WithWords for OneTile<'_> {
    type Output = [f32; LANES];

    #[inline(always)]
    fn run<W: Words>(self, words: W) -> [f32; LANES] {
        let mut categories = [0; LANES];
        self.margins.add_codes(self.rows, self.tile, 0..self.rows.shape.categorical(), &mut categories);
        self.margins.join(&self.margins.numeric(words, self.rows.columns(self.tile), &[]), &categories)
    }
}

impl Pair {
    fn new(pair: &[i32]) -> Self {
        let part = |f: fn(i32) -> i32| [0, 1].map(|i| pair.get(i).map_or(0, |&w| f(w) as i16));
        Pair { upper: part(|w| w >> LOW_BITS), lower: part(|w| w & ((1 << LOW_BITS) - 1)) }
    }

    /// Adds one or two columns times their coefficients, to the sums for the upper parts and to those for the lower.
    #[inline(always)]
    fn add<W: Words>(
        &self,
        words: W,
        columns: &[Column],
        part: usize,
        up: [W::Register; 2],
        low: [W::Register; 2],
    ) -> ([W::Register; 2], [W::Register; 2]) {
        let second = columns.get(1).map_or(words.zero(), |column| words.load(column, part));
        let both = words.pairs(words.load(&columns[0], part), second);
        let (u, l) = (words.everywhere(self.upper), words.everywhere(self.lower));
        let up = [words.add_products(up[0], both[0], u), words.add_products(up[1], both[1], u)];
        let low = [words.add_products(low[0], both[0], l), words.add_products(low[1], both[1], l)];
        (up, low)
    }
}

/// The largest size; not a number where one is not.
pub(super) fn largest(weights: &[f64]) -> f64 {
    weights.iter().fold(0.0, |most: f64, w| {
        if w.is_nan() {
            f64::NAN
        } else if most.is_nan() {
            most
        } else {
            most.max(w.abs())
        }
    })
}

/// Nearest integers, and what an integer stands for: `size` becomes `most`.
///
/// Where `size` is no finite number, neither is the step; where it is too small to divide, everything is zero.
pub(super) fn integers(weights: &[f64], size: f64, most: f64) -> (Vec<i32>, f64) {
    let step = size / most;
    if !step.is_normal() {
        return (vec![0; weights.len()], if step.is_finite() { 0.0 } else { f64::NAN });
    }
    (weights.iter().map(|w| (w / step).round().clamp(-most, most) as i32).collect(), step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{FULL_SCALE, Shape};
    use crate::kernel::{RawRow, RowsBuilder};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        /// A margin is within the rounding of single precision of the true one, in units of the largest possible.
        #[test]
        fn margins_are_near_the_true_ones(
            cells in prop::collection::vec((-FULL_SCALE..=FULL_SCALE, -30.0f64..30.0, 0i32..3), 1..70),
            codes in prop::collection::vec((0u16..6, -10.0f64..10.0), 3),
        ) {
            let (numeric, levels) = (cells.len(), [5u16, 5, 5]);
            let mut builder = RowsBuilder::new(Shape::new(numeric, &levels));
            let row = RawRow {
                numeric: cells.iter().map(|c| c.0).collect(),
                codes: codes.iter().map(|c| c.0).collect(),
                label: 0,
                null: false,
            };
            builder.push(&row);
            let rows = builder.build();
            let mut weights: Vec<f64> = cells.iter().map(|c| c.1 * 10f64.powi(-3 * c.2)).collect();
            for (code, w) in &codes {
                weights.extend((0..5u16).map(|level| if level == *code { *w } else { -w }));
            }
            weights.push(0.25);
            let x = |j: usize| f64::from(cells[j].0) / f64::from(FULL_SCALE);
            let chosen: f64 = codes.iter().filter(|c| c.0 < 5).map(|c| c.1).sum();
            let truth = (0..numeric).map(|j| weights[j] * x(j)).sum::<f64>() + chosen + 0.25;
            let size: f64 = largest(&weights[..numeric]) * (0..numeric).map(|j| x(j).abs()).sum::<f64>();
            let size = size + codes.iter().map(|c| c.1.abs()).sum::<f64>() + 0.25;
            let margin = f64::from(Margins::new(&rows, &weights).tile(&rows, 0)[0]);
            prop_assert!((margin - truth).abs() <= size * 2f64.powi(-21), "{margin} {truth}");
        }
    }

    #[test]
    fn largest_coefficients_and_values_do_not_overflow() {
        for (q, w) in [(FULL_SCALE, 1.0), (-FULL_SCALE, 1.0), (FULL_SCALE, -1.0), (-FULL_SCALE, -1.0)] {
            let mut builder = RowsBuilder::new(Shape::new(33, &[1, 1]));
            builder.push(&RawRow { numeric: vec![q; 33], codes: vec![0, 0], label: 0, null: false });
            let rows = builder.build();
            let margin = Margins::new(&rows, &[w; 36]).tile(&rows, 0)[0];
            let truth = 33.0 * w as f32 * f32::from(q.signum()) + 3.0 * w as f32;
            assert!((margin - truth).abs() < 1e-4, "{margin} {truth}");
        }
    }

    #[test]
    fn coefficients_that_are_no_numbers_give_margins_that_are_none() {
        let mut builder = RowsBuilder::new(Shape::new(2, &[1]));
        builder.push(&RawRow { numeric: vec![1, 2], codes: vec![0], label: 0, null: false });
        let rows = builder.build();
        let margin = |weights: [f64; 4]| Margins::new(&rows, &weights).tile(&rows, 0)[0];
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(margin([bad, 1.0, 1.0, 1.0]).is_nan());
            assert!(margin([1.0, bad, 1.0, 1.0]).is_nan());
            assert!(margin([1.0, 1.0, bad, 1.0]).is_nan());
        }
        assert_eq!(margin([1e-320, 1e-320, 1e-320, 0.5]), 0.5);
    }
}
