//! Discrete Laplace noise: the exact law from every bit string, planted bugs, and the first value above a bar.

use super::tape::{Exhausted, Tape, enumerate};
use crate::noise::bits::{BitSource, Exponent};
use crate::noise::laplace::{attempt, first_above};
use crate::noise::{NoiseSource, laplace_noise};

/// `exp(-rate |y| / 2^k)` over its sum.
fn law(y: i128, rate: u64, k: u32) -> f64 {
    let ratio = (-(rate as f64) / 2f64.powi(k as i32)).exp();
    (1.0 - ratio) / (1.0 + ratio) * ratio.powi(y.unsigned_abs() as i32)
}

#[test]
fn one_attempt_has_the_law_promised() {
    for (rate, k) in [(1, 0), (1, 1), (1, 2), (3, 2), (5, 1), (2, 0), (7, 3)] {
        let found = enumerate::<1, true, _>(24, |source| attempt(rate, k, source));
        for y in -12..=12 {
            assert!(found.kept_allows(y, law(y, rate, k)), "{rate} / 2^{k}: {y}");
        }
        assert!(found.undetermined() < 1e-3, "{rate} / 2^{k}: {}", found.undetermined());
        // Another epsilon is another law.
        assert!((-3..=3).any(|y| !found.kept_allows(y, law(y, rate + 1, k))));
    }
    let found = enumerate::<1, false, _>(22, |source| attempt(3, 1, source));
    assert!((-5..=5).all(|y| found.kept_allows(y, law(y, 3, 1))));
}

/// Keeps zero under both signs.
fn two_zeros<const W: u32, const COINS: bool>(source: &mut Tape<W, COINS>) -> Result<Option<i128>, Exhausted> {
    let mut whole = 0;
    while source.exp_minus(Exponent::One)? {
        whole += 1;
    }
    Ok(Some(if source.flip()? { -whole } else { whole }))
}

#[test]
fn a_zero_with_two_signs_is_noticed() {
    let found = enumerate::<1, true, _>(20, two_zeros::<1, true>);
    assert!((-3..=3).any(|y| !found.kept_allows(y, law(y, 1, 0))));
}

#[test]
fn noise_has_its_moments_and_streams() {
    let source = NoiseSource::insecure_from_seed(5);
    // Scale 20 / 3 on a grid of 2^20 / 3: variance 2 r / (1 - r)^2 with r = e^(-3/20).
    let noise = laplace_noise(3 << 10, 20, 200_000, &source, 0).unwrap();
    let ratio = (-3.0 / 1024.0f64).exp();
    let truth = 2.0 * ratio / (1.0 - ratio).powi(2);
    let found = noise.iter().map(|&y| (y * y) as f64).sum::<f64>() / noise.len() as f64;
    // The deviation of a mean square is sqrt(5 / n) of it.
    assert!((found / truth - 1.0).abs() < 5.0 * (5.0 / 200_000f64).sqrt(), "{found} {truth}");
    assert_eq!(noise, laplace_noise(3 << 10, 20, 200_000, &source, 0).unwrap());
    assert_ne!(noise[..50], laplace_noise(3 << 10, 20, 50, &source, 1).unwrap());
    assert_ne!(noise[..50], noise[1024..1074]);
    assert!(laplace_noise(0, 3, 1, &source, 2).is_err() && laplace_noise(1, 51, 1, &source, 2).is_err());
    assert!(crate::noise::first_above(&[1], 0, 50, &source, 3).is_err());
    assert_eq!(crate::noise::first_above(&[], 0, 4, &source, 3).unwrap(), None);
}

/// The law of the first above, by integrals over the noise of the bar.
fn first_law(values: &[i128], bar: i128, k: u32) -> Vec<f64> {
    let reach = 40 << (k + 1);
    // P[value + noise < bar'], for noise of twice the scale.
    let ratio = (-1.0 / 2f64.powi(k as i32 + 1)).exp();
    let tail = |from: i128| match from {
        1.. => ratio.powi(from as i32) / (1.0 + ratio),
        _ => 1.0 - ratio.powi((1 - from) as i32) / (1.0 + ratio),
    };
    let mut found = vec![0.0; values.len() + 1];
    for noise in -reach..=reach {
        let mut left = law(noise, 1, k);
        for (place, value) in values.iter().enumerate() {
            let above = tail(bar + noise - value);
            found[place] += left * above;
            left *= 1.0 - above;
        }
        found[values.len()] += left;
    }
    found
}

#[test]
fn the_first_above_keeps_its_epsilon_and_uses_half_of_it() {
    // A step more or less on each of the values, at k = 0: epsilon is 2.
    let mut worst = 0f64;
    for base in [vec![0i128; 6], vec![-2, 0, 3, -5, 1, 0], vec![-30; 6]] {
        for bar in [-3i128, 0, 4, 9] {
            for mask in 0..3u32.pow(6) {
                let moved: Vec<i128> =
                    base.iter().enumerate().map(|(i, v)| v + i128::from(mask / 3u32.pow(i as u32) % 3) - 1).collect();
                let (a, b) = (first_law(&base, bar, 0), first_law(&moved, bar, 0));
                for (p, q) in a.iter().zip(&b).filter(|(p, q)| **p > 1e-12 && **q > 1e-12) {
                    worst = worst.max((p / q).ln().abs());
                }
            }
        }
    }
    println!("epsilon shown by the first above: {worst} of 2");
    assert!(worst <= 2.0 + 1e-9 && worst > 1.5, "{worst}");
}

#[test]
fn the_first_above_has_its_law() {
    let values = [-3i128, 2, 0, 7];
    let truth = first_law(&values, 4, 2);
    assert!((truth.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    let source = NoiseSource::insecure_from_seed(11);
    let draws = 100_000u32;
    let mut seen = [0f64; 5];
    for release in 0..draws {
        let place = first_above(&values, 4, 2, &mut source.stream(release, 0)).unwrap_or_default();
        seen[place.unwrap_or(values.len())] += 1.0;
    }
    for (count, truth) in seen.iter().zip(truth) {
        let deviation = (f64::from(draws) * truth * (1.0 - truth)).sqrt();
        assert!((count - f64::from(draws) * truth).abs() < 5.0 * deviation, "{seen:?}");
    }
}
