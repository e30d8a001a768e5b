//! Products of many columns with many integers each, exactly: the images of rows under a map, and sums of columns times each other.
//!
//! An integer that does not fit 16 bits is cut into an upper and a lower part that do. Products with parts are added up in 32 bits for as
//! long as they fit, and in 64 bits from there. The order cannot matter.

use std::array::from_fn;

use super::simd::{Column, LANES, Level, WithWords, Words};
use crate::grid::GRAM_MULTIPLIER;
use crate::num::vectorized;

/// Bits of the lower part of a factor.
const LOW_BITS: u32 = 9;

/// The largest factor: both parts of it are at most `2^8`.
const MAX_FACTOR: i32 = 1 << (LOW_BITS + 8);

/// Pairs of columns whose products with a part of a factor are added up in 32 bits: `128 * 2 * 2^8 * 32767 < 2^31`. With values of -32768,
/// which no row has, it would not fit.
const PAIRS: usize = 128;

/// Sums that are formed together: with two registers of lanes and two parts each, what 32 registers hold.
const TOGETHER: usize = 6;

/// Integers of at most `2^17`, one for each sum and column, by which columns are multiplied.
pub(super) struct Factors {
    sums: usize,
    columns: usize,
    /// Pairs of columns, the last one perhaps of a single one.
    pairs: usize,
    /// For [`TOGETHER`] sums after the other the factors of each pair of columns, in their upper and lower parts.
    parts: Vec<[[[i16; 2]; 2]; TOGETHER]>,
}

impl Factors {
    /// Zeros for so many sums and columns.
    fn zeroed(sums: usize, columns: usize) -> Self {
        let pairs = columns.div_ceil(2);
        Factors { sums, columns, pairs, parts: vec![[[[0; 2]; 2]; TOGETHER]; sums.div_ceil(TOGETHER) * pairs] }
    }

    /// `factor(sum, column)` for so many sums and columns; nothing where one is larger than a factor may be.
    pub(super) fn new(sums: usize, columns: usize, factor: impl Fn(usize, usize) -> i32) -> Option<Self> {
        let mut factors = Self::zeroed(sums, columns);
        for sum in 0..sums {
            for pair in 0..factors.pairs {
                let both = [2 * pair, 2 * pair + 1].map(|at| if at < columns { factor(sum, at) } else { 0 });
                if both.iter().any(|factor| factor.unsigned_abs() > MAX_FACTOR.unsigned_abs()) {
                    return None;
                }
                factors.set(sum, pair, both);
            }
        }
        Some(factors)
    }

    /// Sets the factors of a pair of columns, which are not too large.
    #[inline(always)]
    fn set(&mut self, sum: usize, pair: usize, factors: [i32; 2]) {
        let upper = factors.map(|factor| (factor + (1 << (LOW_BITS - 1))) >> LOW_BITS);
        let lower = [0, 1].map(|j| factors[j] - (upper[j] << LOW_BITS));
        self.parts[sum / TOGETHER * self.pairs + pair][sum % TOGETHER] =
            [upper, lower].map(|part| part.map(|number| number as i16));
    }

    /// Adds `sum_j factor(k, j) columns[j]` to the `k`-th of the first sums, lane by lane.
    ///
    /// Columns are as many as there are factors for, else nothing is added. A sum is safe below `2^31` columns.
    pub(super) fn add(&self, level: Level, columns: &[Column], sums: &mut [[i64; LANES]]) {
        if self.pairs > 0 && columns.len() == self.columns {
            level.run(Add { factors: self, columns, sums });
        }
    }

    /// `sum_j factor(k, j) columns[j]` for every `k`, lane by lane; nothing where columns are not as many as there are factors for.
    pub(super) fn times(&self, level: Level, columns: &[Column]) -> Option<Vec<[i64; LANES]>> {
        let mut sums = vec![[0; LANES]; self.sums];
        self.add(level, columns, &mut sums);
        (columns.len() == self.columns).then_some(sums)
    }
}

struct Add<'a> {
    factors: &'a Factors,
    columns: &'a [Column],
    sums: &'a mut [[i64; LANES]],
}

impl WithWords for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run<W: Words>(self, words: W) {
        // Where registers are narrower there are 16 of them.
        match W::PARTS {
            1 => self.by::<W, TOGETHER>(words),
            _ => self.by::<W, 2>(words),
        }
    }
}

impl Add<'_> {
    #[inline(always)]
    fn by<W: Words, const N: usize>(self, words: W) {
        let Factors { pairs, ref parts, .. } = *self.factors;
        // By loops alone: what iterators collect is not compiled for the registers at hand.
        let mut columns = vec![[words.zero(); 2]; W::PARTS * pairs];
        for (part, columns) in columns.chunks_exact_mut(pairs).enumerate() {
            for (to, pair) in columns.iter_mut().zip(self.columns.chunks(2)) {
                let second = if pair.len() > 1 { words.load(&pair[1], part) } else { words.zero() };
                *to = words.pairs(words.load(&pair[0], part), second);
            }
        }
        for (sums, parts) in self.sums.chunks_mut(TOGETHER).zip(parts.chunks_exact(pairs)) {
            for start in (0..TOGETHER).step_by(N) {
                for first in (0..pairs).step_by(PAIRS) {
                    let last = (first + PAIRS).min(pairs);
                    let mut lanes = [[[0i32; LANES]; 2]; N];
                    for part in 0..W::PARTS {
                        let columns = &columns[part * pairs..][first..last];
                        let products = products::<W, N>(words, columns, &parts[first..last], start);
                        for (lanes, [upper, lower]) in lanes.iter_mut().zip(products) {
                            words.rows(upper, &mut lanes[0], part);
                            words.rows(lower, &mut lanes[1], part);
                        }
                    }
                    for (sum, [upper, lower]) in sums.iter_mut().skip(start).zip(&lanes) {
                        for lane in 0..LANES {
                            sum[lane] += (i64::from(upper[lane]) << LOW_BITS) + i64::from(lower[lane]);
                        }
                    }
                }
            }
        }
    }
}

/// The sums over pairs of columns of their products with the upper and the lower parts of the factors of `N` sums.
#[inline(always)]
fn products<W: Words, const N: usize>(
    words: W,
    columns: &[[W::Register; 2]],
    parts: &[[[[i16; 2]; 2]; TOGETHER]],
    start: usize,
) -> [[[W::Register; 2]; 2]; N] {
    let mut sums = [[[words.zero(); 2]; 2]; N];
    for (columns, parts) in columns.iter().zip(parts) {
        for (k, sums) in sums.iter_mut().enumerate() {
            for (sums, part) in sums.iter_mut().zip(parts[start + k]) {
                let factor = words.everywhere(part);
                sums[0] = words.add_products(sums[0], columns[0], factor);
                sums[1] = words.add_products(sums[1], columns[1], factor);
            }
        }
    }
    sums
}

/// Tiles whose products with each other are added up together: their rows and factors fit a second-level cache, but for very wide ones.
const TILES: usize = 8;

/// `sum_i m_i a_i b_i` for all pairs of columns `a` and `b`, and `sum_i m_i a_i`, of rows that come tile by tile.
///
/// Values are `-2^10..=2^10`, multipliers at most [`GRAM_MULTIPLIER`]; a total is safe below `2^36` rows, `2^36 * 127 * 2^20 < 2^63`.
pub(super) struct PairSums {
    width: usize,
    /// The columns of tiles that wait, and the multipliers of their rows.
    waiting: Vec<(Vec<Column>, [u64; LANES])>,
    /// For each [`LANES`] columns `b` the totals of all columns `a` up to the last of them.
    totals: Vec<Vec<[i64; LANES]>>,
    /// Of single columns.
    singles: Vec<i64>,
}

impl PairSums {
    /// Of so many columns, over no rows yet.
    pub(super) fn new(width: usize) -> Self {
        let blocks = 0..width.div_ceil(LANES);
        let totals = blocks.map(|block| vec![[0; LANES]; ((block + 1) * LANES).min(width)]).collect();
        PairSums { width, waiting: Vec::new(), totals, singles: vec![0; width] }
    }

    /// Adds the rows of a tile.
    pub(super) fn push(&mut self, level: Level, columns: Vec<Column>, multipliers: [u64; LANES]) {
        self.waiting.push((columns, multipliers));
        if self.waiting.len() == TILES {
            self.settle(level);
        }
    }

    /// Moves waiting tiles on: their rows become the columns that are multiplied, lanes are then columns.
    fn settle(&mut self, level: Level) {
        let waiting = std::mem::take(&mut self.waiting);
        let mut factors = Factors::zeroed(self.width, waiting.len() * LANES);
        vectorized(
            #[inline(always)]
            || {
                for (tile, (columns, multipliers)) in waiting.iter().enumerate() {
                    let multipliers = multipliers.map(|m| m.min(GRAM_MULTIPLIER) as i32);
                    for ((index, column), single) in columns.iter().enumerate().zip(&mut self.singles) {
                        let scaled: [i32; LANES] = from_fn(|lane| multipliers[lane] * i32::from(column[lane]));
                        for (pair, scaled) in scaled.as_chunks::<2>().0.iter().enumerate() {
                            factors.set(index, tile * LANES / 2 + pair, *scaled);
                        }
                        // Below `2^5 * 2^17`.
                        *single += i64::from(scaled.iter().sum::<i32>());
                    }
                }
            },
        );
        let mut rows = vec![[0i16; LANES]; waiting.len() * LANES];
        for (block, totals) in self.totals.iter_mut().enumerate() {
            for ((columns, _), rows) in waiting.iter().zip(rows.chunks_exact_mut(LANES)) {
                let own = columns.get(block * LANES..).unwrap_or_default();
                for lane in 0..LANES {
                    let column = own.get(lane).unwrap_or(&[0; LANES]);
                    rows.iter_mut().zip(column).for_each(|(row, &value)| row[lane] = value);
                }
            }
            factors.add(level, &rows, totals);
        }
    }

    /// Nothing waits any more.
    pub(super) fn settled(mut self, level: Level) -> Self {
        self.settle(level);
        self
    }

    /// `sum_i m_i a_i b_i` over all rows that are settled, `a` not behind `b`.
    pub(super) fn pair(&self, a: usize, b: usize) -> i64 {
        self.totals[b / LANES][a][b % LANES]
    }

    /// `sum_i m_i a_i` over all rows that are settled.
    pub(super) fn single(&self, a: usize) -> i64 {
        self.singles[a]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;
    use proptest::prelude::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    /// Columns of values up to `most` in size, of which some are all that can be.
    fn columns(random: &mut StdRng, width: usize, most: i16) -> Vec<Column> {
        let extreme = random.random_range(0..3);
        let mut value = |_| match extreme {
            0 => most,
            1 => [-most, most][random.random_range(0..2)],
            _ => random.random_range(-most..=most),
        };
        (0..width).map(|_| from_fn(&mut value)).collect()
    }

    /// All products as large as they can be, and of one sign: nothing may overflow on the way.
    #[test]
    fn the_largest_products_fit() {
        for (value, factor) in [32_767, -32_767]
            .into_iter()
            .flat_map(|q| [MAX_FACTOR, -MAX_FACTOR, MAX_FACTOR - 256, 255 - MAX_FACTOR].map(|factor| (q, factor)))
        {
            let columns = vec![[value; LANES]; 600];
            let factors = Factors::new(7, columns.len(), |_, _| factor).unwrap();
            for level in Level::available() {
                let expected = 600 * i64::from(value) * i64::from(factor);
                assert!(
                    factors.times(level, &columns).unwrap().iter().flatten().all(|&sum| sum == expected),
                    "{level:?}"
                );
            }
        }
    }

    /// A sum of part of the columns would be a norm that is too small.
    #[test]
    fn other_columns_and_larger_factors_give_nothing() {
        let factors = Factors::new(2, 3, |_, _| MAX_FACTOR).unwrap();
        for count in [0, 2, 4] {
            assert!(factors.times(Level::best(), &vec![[1; LANES]; count]).is_none());
        }
        assert!(factors.times(Level::best(), &[[1; LANES]; 3]).is_some());
        assert!(
            [MAX_FACTOR + 1, -MAX_FACTOR - 1, i32::MIN]
                .iter()
                .all(|&factor| Factors::new(2, 3, |_, _| factor).is_none())
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn sums_of_pairs_are_the_obvious_ones(width in 1usize..70, tiles in 0usize..12, seed: u64) {
            let random = &mut StdRng::seed_from_u64(seed);
            let (mut expected, mut singles) = (vec![0i64; width * width], vec![0i64; width]);
            let levels = Level::available();
            let mut sums: Vec<PairSums> = levels.iter().map(|_| PairSums::new(width)).collect();
            for _ in 0..tiles {
                let columns = columns(random, width, 1 << 10);
                let full = random.random_range(0..2) == 0;
                let multipliers: [u64; LANES] =
                    from_fn(|_| if full { GRAM_MULTIPLIER } else { random.random_range(0..=GRAM_MULTIPLIER) });
                for (a, one) in columns.iter().enumerate() {
                    singles[a] += (0..LANES).map(|lane| multipliers[lane] as i64 * i64::from(one[lane])).sum::<i64>();
                    for (b, other) in columns.iter().enumerate().skip(a) {
                        expected[a * width + b] += (0..LANES)
                            .map(|lane| multipliers[lane] as i64 * i64::from(one[lane]) * i64::from(other[lane]))
                            .sum::<i64>();
                    }
                }
                sums.iter_mut().zip(&levels).for_each(|(sums, &level)| sums.push(level, columns.clone(), multipliers));
            }
            for (sums, level) in sums.into_iter().zip(levels) {
                let sums = sums.settled(level);
                for (a, b) in (0..width).flat_map(|a| (a..width).map(move |b| (a, b))) {
                    prop_assert_eq!(sums.pair(a, b), expected[a * width + b]);
                }
                prop_assert_eq!((0..width).map(|a| sums.single(a)).collect::<Vec<_>>(), singles.clone());
            }
        }

        #[test]
        fn sums_of_products_are_the_obvious_ones(width in 0usize..600, coordinates in 0usize..15, extreme: bool, seed: u64) {
            let random = &mut StdRng::seed_from_u64(seed);
            let most = 131_072;
            // Entries of which both parts are as large as they can be.
            let mut entry = |_| match extreme {
                true => [-most, most, most - 256, 255 - most][random.random_range(0..4)],
                false => random.random_range(-most..=most),
            };
            let entries = Array2::from_shape_fn((coordinates, width), &mut entry);
            let columns = columns(random, width, 32_767);
            let factors = Factors::new(coordinates, width, |coordinate, column| entries[(coordinate, column)]).unwrap();
            for level in Level::available() {
                let found = factors.times(level, &columns).unwrap();
                prop_assert_eq!(found.len(), coordinates);
                for (coordinate, image) in found.iter().enumerate() {
                    for lane in 0..LANES {
                        let product = |j: usize| i64::from(entries[(coordinate, j)]) * i64::from(columns[j][lane]);
                        prop_assert_eq!(image[lane], (0..width).map(product).sum::<i64>());
                    }
                }
            }
        }
    }
}
