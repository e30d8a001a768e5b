//! Poisson samples: the law of the gaps, and what a sample looks like.

use std::convert::Infallible;

use crate::noise::sample::{SAMPLE_BLOCK, gap};
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
