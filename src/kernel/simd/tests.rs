use proptest::prelude::*;

use super::{Column, LANES, Level, WithWords, Words};
use crate::grid::FULL_SCALE;

/// Everything that the operations can be used for, on two columns: products row by row, and products summed over rows.
struct Both<'a> {
    a: &'a Column,
    b: &'a Column,
    weights: [i16; 2],
}

impl WithWords for Both<'_> {
    type Output = ([i32; LANES], [i64; 4]);

    #[inline(always)]
    fn run<W: Words>(self, words: W) -> Self::Output {
        let mut rows = [0; LANES];
        let mut sums = [0; 4];
        for part in 0..W::PARTS {
            let (a, b) = (words.load(self.a, part), words.load(self.b, part));
            let weights = words.everywhere(self.weights);
            words.prefetch(self.b);
            let products = words.pairs(a, b).map(|pair| words.add_products(words.zero(), pair, weights));
            words.rows(products, &mut rows, part);
            let product = |x, y| words.add_products(words.zero(), x, y);
            let part = words.sums([product(a, b), product(a, a), words.zero(), product(b, b)]);
            sums.iter_mut().zip(part).for_each(|(sum, more)| *sum += more);
        }
        (rows, sums)
    }
}

/// What it computes, in wide integers.
fn obvious(case: &Both<'_>) -> ([i32; LANES], [i64; 4]) {
    let wide = |x: i16| i64::from(x);
    let [u, v] = case.weights.map(wide);
    let rows = std::array::from_fn(|row| (wide(case.a[row]) * u + wide(case.b[row]) * v) as i32);
    let dot = |x: &Column, y: &Column| x.iter().zip(y).map(|(&x, &y)| wide(x) * wide(y)).sum::<i64>();
    (rows, [dot(case.a, case.b), dot(case.a, case.a), 0, dot(case.b, case.b)])
}

fn check(a: &Column, b: &Column, weights: [i16; 2]) {
    for level in Level::available() {
        let both = Both { a, b, weights };
        assert_eq!(level.run(Both { a, b, weights }), obvious(&both), "{level:?}");
    }
}

fn column(limit: i16) -> impl Strategy<Value = Column> {
    prop::collection::vec(prop_oneof![-limit..=limit, Just(limit), Just(-limit)], LANES)
        .prop_map(|values| std::array::from_fn(|row| values[row]))
}

proptest! {
    #[test]
    fn every_level_computes_the_obvious_integers(
        // Sums over four lanes of two rows each must fit 32 bits: 8 * 16,000^2 < 2^31.
        a in column(16_000), b in column(16_000), u in -FULL_SCALE..=FULL_SCALE, v in -FULL_SCALE..=FULL_SCALE,
    ) {
        check(&a, &b, [u, v]);
    }
}

#[test]
fn the_largest_products_fit() {
    for sign in [1, -1] {
        let (a, b) = ([FULL_SCALE; LANES], [sign * FULL_SCALE; LANES]);
        for level in Level::available() {
            let (rows, _) = level.run(Both { a: &a, b: &b, weights: [FULL_SCALE, sign * FULL_SCALE] });
            assert_eq!(rows, [2 * i32::from(FULL_SCALE) * i32::from(FULL_SCALE); LANES], "{level:?}");
        }
    }
}

#[test]
fn ordinary_code_runs_everywhere_and_comes_last() {
    assert_eq!(Level::available().last(), Some(&Level::Plain));
    assert_eq!(Level::available().first(), Some(&Level::best()));
    #[cfg(target_arch = "x86_64")]
    assert!(Level::available().contains(&Level::Sse2));
}
