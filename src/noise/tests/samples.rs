//! Poisson samples: the law of the gaps, and what a sample looks like.

use std::convert::Infallible;

use crate::noise::sample::{Coins, SAMPLE_BLOCK, gap};
use crate::noise::{NoiseSource, poisson_sample};

/// The empirical tail of the gaps against the exact one, at five standard deviations.
#[test]
fn gaps_are_geometric() {
    for (exponent, seed) in [(1u64 << 63, 1), (u64::MAX, 2), (1 << 60, 3), ((1 << 60) + (1 << 57) + 12_345, 4)] {
        let source = NoiseSource::insecure_from_seed(seed);
        let mut stream = source.stream(0, SAMPLE_BLOCK);
        let draws = 200_000;
        let gaps: Vec<u64> =
            (0..draws).map(|_| gap(exponent, &mut stream).unwrap_or_else(|e: Infallible| match e {})).collect();
        let x = exponent as f64 / 2f64.powi(64);
        for g in 1..40u64 {
            let tail = (-(g as f64) * x).exp();
            let seen = gaps.iter().filter(|&&gap| gap >= g).count() as f64 / f64::from(draws);
            let sigma = (tail * (1.0 - tail) / f64::from(draws)).sqrt();
            assert!((seen - tail).abs() < 5.0 * sigma + 1e-9, "{exponent:x} {g}: {seen} against {tail}");
        }
    }
}

#[test]
fn samples_are_in_range_and_of_the_expected_size() {
    let source = NoiseSource::insecure_from_seed(5);
    assert!(poisson_sample(0, 100, &source, 1).is_empty());
    assert!(poisson_sample(u64::MAX, 0, &source, 1).is_empty());
    let all = poisson_sample(u64::MAX, 1000, &source, 1);
    assert!(all.windows(2).all(|w| w[0] < w[1]) && all.iter().all(|&row| row < 1000));
    assert!((550..720).contains(&all.len()), "{}", all.len());
    assert_ne!(all, poisson_sample(u64::MAX, 1000, &source, 2));
    assert!(poisson_sample(1, 1_000_000, &source, 3).is_empty());
}

/// Whoever holds some rows tosses the coins that whoever holds all of them tosses for these.
#[test]
fn coins_of_some_rows_are_those_that_all_rows_have_there() {
    let source = NoiseSource::insecure_from_seed(6);
    let (exponent, len) = (1u64 << 61, 300_000u64);
    let coins = Coins::of(exponent, &source);
    let all: Vec<u64> = coins.within(0..len).collect();
    assert!(all.is_sorted() && all.windows(2).all(|pair| pair[0] < pair[1]));
    for range in [0..1, 7..7, 100..65_536, 65_535..65_537, 65_536..131_072, 1000..250_000, 262_144..300_000] {
        let expected: Vec<u64> = all.iter().copied().filter(|row| range.contains(row)).collect();
        assert_eq!(coins.within(range.clone()).collect::<Vec<u64>>(), expected, "{range:?}");
    }
    // Each block has the expected number, at five standard deviations, and its own coins.
    let p = 1.0 - (-(0.5f64.powi(3))).exp();
    let block = |at: u64| all.iter().filter(|&&row| row >> 16 == at).map(|row| row & 0xffff).collect::<Vec<u64>>();
    for at in 0..4 {
        let (found, mean) = (block(at).len() as f64, 65_536.0 * p);
        assert!((found - mean).abs() < 5.0 * (mean * (1.0 - p)).sqrt(), "{at}: {found} of {mean}");
        assert_ne!(block(at), block(at + 1));
    }
    assert!(Coins::of(0, &source).within(0..len).next().is_none());
    // Another run has others.
    let other = Coins::of(exponent, &NoiseSource::insecure_from_seed(7));
    assert_ne!(other.within(0..1000).collect::<Vec<u64>>(), coins.within(0..1000).collect::<Vec<u64>>());
}
