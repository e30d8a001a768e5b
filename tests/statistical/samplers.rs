//! Statistics of seeded noise against the exact laws.
//!
//! False alarms: each check has a level of at most 1e-6. There are seven checks (fit, symmetry, mean, variance,
//! two tails, low bits) at ten combinations of law and scale and one long fit, so a correct sampler under a new
//! seed fails this file with probability at most 7.1e-5. Seeds are fixed: a failure is a change in the code.

use rand::Rng;
use rhograd::noise::{NoiseSource, integer_noise};
use rhograd::privacy::NoiseLaw;
use statrs::distribution::{ChiSquared, ContinuousCDF, DiscreteCDF, Normal, Poisson};

const DRAWS: usize = 2_000_000;
const LEVEL: f64 = 1e-6;
/// Two-sided normal quantile of `LEVEL`.
const Z: f64 = 4.892;
const SCALES: [u32; 5] = [0, 1, 4, 20, 40];
/// From this scale on, sums are replaced by their midpoint integrals; the relative error is below 2^-40.
const WIDE: u32 = 20;

fn draw(law: NoiseLaw, k: u32) -> Vec<i64> {
    let source = NoiseSource::insecure_from_seed(20_260_001);
    integer_noise(law, k, DRAWS, &source, k).unwrap()
}

/// The probability of a value below `edge`.
fn below(law: NoiseLaw, k: u32, edge: i64) -> f64 {
    let scale = 2f64.powi(k as i32);
    match law {
        NoiseLaw::FlooredNormal => Normal::standard().cdf(edge as f64 / scale),
        NoiseLaw::DiscreteGaussian if k >= WIDE => Normal::standard().cdf((edge as f64 - 0.5) / scale),
        NoiseLaw::DiscreteGaussian => sum(law, k, |y| f64::from(y < edge)),
    }
}

/// The exact expectation of `f` for a small scale.
fn sum(law: NoiseLaw, k: u32, f: impl Fn(i64) -> f64) -> f64 {
    let scale = 2f64.powi(k as i32);
    let weight = |y: i64| match law {
        NoiseLaw::FlooredNormal => {
            let low = y.min(-1 - y) as f64;
            Normal::standard().cdf((low + 1.0) / scale) - Normal::standard().cdf(low / scale)
        }
        NoiseLaw::DiscreteGaussian => (-0.5 * (y as f64 / scale).powi(2)).exp(),
    };
    let span = -(12 << k)..=12 << k;
    span.clone().map(|y| weight(y) * f(y)).sum::<f64>() / span.map(weight).sum::<f64>()
}

/// Mean, variance and fourth central moment.
fn moments(law: NoiseLaw, k: u32) -> (f64, f64, f64) {
    let mean = if law == NoiseLaw::FlooredNormal { -0.5 } else { 0.0 };
    if k >= WIDE {
        let variance = 4f64.powi(k as i32);
        return (mean, variance, 3.0 * variance * variance);
    }
    assert!((sum(law, k, |y| y as f64) - mean).abs() < 1e-12);
    let central = |power| sum(law, k, |y| (y as f64 - mean).powi(power));
    (mean, central(2), central(4))
}

/// Lower edges of all cells but the first, a quarter deviation or one integer apart, up to 4 deviations; the
/// outermost cells keep at least ten expected values.
fn edges(law: NoiseLaw, k: u32, draws: usize) -> Vec<i64> {
    let step = (1usize << k) / 4;
    let enough = |edge: &i64| {
        let under = below(law, k, *edge);
        under.min(1.0 - under) * draws as f64 >= 10.0
    };
    (-4 << k..=4 << k).step_by(step.max(1)).filter(enough).collect()
}

fn counts(sample: impl Iterator<Item = i64>, edges: &[i64]) -> Vec<f64> {
    let mut counts = vec![0.0; edges.len() + 1];
    for y in sample {
        counts[edges.partition_point(|&edge| edge <= y)] += 1.0;
    }
    counts
}

/// The p-value of Pearson's statistic.
fn chi_square(counts: &[f64], expected: &[f64]) -> f64 {
    assert!(expected.iter().all(|&e| e >= 10.0), "cells are large enough: {expected:?}");
    let statistic: f64 = counts.iter().zip(expected).map(|(c, e)| (c - e).powi(2) / e).sum();
    ChiSquared::new(counts.len() as f64 - 1.0).unwrap().sf(statistic)
}

/// The probabilities of the cells.
fn shares(law: NoiseLaw, k: u32, edges: &[i64]) -> Vec<f64> {
    let mut at: Vec<f64> = edges.iter().map(|&edge| below(law, k, edge)).collect();
    at.insert(0, 0.0);
    at.push(1.0);
    at.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn scaled(shares: &[f64], draws: usize) -> Vec<f64> {
    shares.iter().map(|share| share * draws as f64).collect()
}

/// The p-value of the fit of a sample to the law.
fn fit(law: NoiseLaw, k: u32, sample: impl Iterator<Item = i64>) -> f64 {
    let edges = edges(law, k, DRAWS);
    chi_square(&counts(sample, &edges), &scaled(&shares(law, k, &edges), DRAWS))
}

/// The reflection that keeps the law: `-y`, or `-1 - y` for the floor of a symmetric number.
fn mirrored(law: NoiseLaw, y: i64) -> i64 {
    if law == NoiseLaw::FlooredNormal { !y } else { -y }
}

fn check_symmetry(law: NoiseLaw, k: u32, sample: &[i64]) {
    // Each value and its mirror image are equally likely; self-mirrored values say nothing.
    let least = if law == NoiseLaw::FlooredNormal { 0 } else { 1 };
    let mut edges: Vec<i64> = edges(law, k, DRAWS).into_iter().filter(|&edge| edge >= 0).collect();
    edges.iter_mut().for_each(|edge| *edge = (*edge).max(least));
    edges.dedup();
    let up = counts(sample.iter().copied(), &edges);
    let down = counts(sample.iter().map(|&y| mirrored(law, y)), &edges);
    // The first cell, below the first edge, holds the values whose mirror image is not counted; leave it out.
    let statistic: f64 = up.iter().zip(&down).skip(1).map(|(a, b)| (a - b).powi(2) / (a + b)).sum();
    let p = ChiSquared::new(edges.len() as f64).unwrap().sf(statistic);
    assert!(p > LEVEL, "{law:?}, k = {k}: asymmetric, p = {p:.1e}");
}

fn check_moments(law: NoiseLaw, k: u32, sample: &[i64]) -> (f64, f64) {
    let n = sample.len() as f64;
    let (mean, variance, fourth) = moments(law, k);
    let average = sample.iter().map(|&y| y as f64 - mean).sum::<f64>() / n;
    let spread = sample.iter().map(|&y| (y as f64 - mean).powi(2)).sum::<f64>() / n;
    let z_mean = average / (variance / n).sqrt();
    let z_spread = (spread - variance) / ((fourth - variance * variance) / n).sqrt();
    assert!(z_mean.abs() < Z, "{law:?}, k = {k}: mean off by {z_mean} standard errors");
    assert!(z_spread.abs() < Z, "{law:?}, k = {k}: variance off by {z_spread} standard errors");
    (z_mean, z_spread)
}

/// The number of values beyond `deviations`, against its Poisson law at half the level on either side.
fn check_tail(law: NoiseLaw, k: u32, sample: &[i64], deviations: i64) -> u64 {
    let edge = deviations << k;
    let beyond = |y: i64| y >= edge || mirrored(law, y) >= edge;
    let count = sample.iter().filter(|&&y| beyond(y)).count() as u64;
    // By symmetry, and in the lower tail, where the distribution function does not lose digits.
    let lowest = if law == NoiseLaw::FlooredNormal { -edge } else { 1 - edge };
    let poisson = Poisson::new(2.0 * DRAWS as f64 * below(law, k, lowest)).unwrap();
    let at_most = poisson.cdf(count);
    let at_least = if count == 0 { 1.0 } else { poisson.sf(count - 1) };
    assert!(at_most > LEVEL / 2.0, "{law:?}, k = {k}: too few ({count}) beyond {deviations}");
    assert!(at_least > LEVEL / 2.0, "{law:?}, k = {k}: too many ({count}) beyond {deviations}");
    count
}

/// The four lowest bits of wide noise are uniform to far below what can be seen.
fn check_low_bits(law: NoiseLaw, k: u32, sample: &[i64]) {
    let low = counts(sample.iter().map(|y| y & 15), &(1..16).collect::<Vec<_>>());
    let p = chi_square(&low, &[DRAWS as f64 / 16.0; 16]);
    assert!(p > LEVEL, "{law:?}, k = {k}: low bits, p = {p:.1e}");
}

fn check_law(law: NoiseLaw) {
    for k in SCALES {
        let sample = draw(law, k);
        let p = fit(law, k, sample.iter().copied());
        assert!(p > LEVEL, "{law:?}, k = {k}: p = {p:.1e}");
        check_symmetry(law, k, &sample);
        let (z_mean, z_spread) = check_moments(law, k, &sample);
        let tails = [3, 5].map(|deviations| check_tail(law, k, &sample, deviations));
        if k >= WIDE {
            check_low_bits(law, k, &sample);
        }
        println!("{law:?}, k = {k}: p = {p:.3}, mean {z_mean:+.2}, variance {z_spread:+.2}, tails {tails:?}");
    }
}

#[test]
fn floored_normal_fits() {
    check_law(NoiseLaw::FlooredNormal);
}

#[test]
fn discrete_gaussian_fits() {
    check_law(NoiseLaw::DiscreteGaussian);
}

#[test]
fn noise_two_percent_too_small_is_noticed() {
    for (law, k) in [(NoiseLaw::FlooredNormal, 20), (NoiseLaw::DiscreteGaussian, 40)] {
        let p = fit(law, k, draw(law, k).into_iter().map(|y| (0.98 * y as f64).floor() as i64));
        assert!(p < LEVEL / 1e6, "{law:?}: p = {p:.1e}");
    }
}

#[test]
fn laws_are_told_apart() {
    let p = fit(NoiseLaw::FlooredNormal, 1, draw(NoiseLaw::DiscreteGaussian, 1).into_iter());
    assert!(p < LEVEL / 1e6, "p = {p:.1e}");
}

/// The exact cell probabilities of the floored normal with `exp(-1/2)` replaced by `exp(-1/2) + 1e-3`.
///
/// Karney's algorithm tosses that coin `w^2` times for the whole part `w` of the absolute value, so the bias
/// multiplies a probability by the `w^2`-th power of the ratio. At scale 1, `w` is the value or its mirror image.
fn biased_shares(edges: &[i64]) -> Vec<f64> {
    let ratio = 1.0 + 1e-3 / (-0.5f64).exp();
    let law = NoiseLaw::FlooredNormal;
    let weight = |y: i64| sum(law, 0, |z| f64::from(z == y)) * ratio.powi((y.max(!y) * y.max(!y)) as i32);
    let mut cells = vec![0.0; edges.len() + 1];
    (-9..9).for_each(|y| cells[edges.partition_point(|&edge| edge <= y)] += weight(y));
    let total: f64 = cells.iter().sum();
    cells.iter().map(|cell| cell / total).collect()
}

/// A coin off by 1e-3 moves the statistic by 2.6e-6 per draw: nothing at two million draws, seen at forty
/// million. (The exact enumeration in the unit tests sees it for sure.)
#[test]
fn a_long_run_would_notice_a_coin_off_by_a_thousandth() {
    const LONG: usize = 20 * DRAWS;
    let (law, k) = (NoiseLaw::FlooredNormal, 0);
    let edges = edges(law, k, LONG);
    let truth = scaled(&shares(law, k, &edges), LONG);

    let mut stream = NoiseSource::insecure_from_seed(5).stream(0, 0);
    for _ in 0..20 {
        // Counts of independent draws, up to their total, are independent Poisson numbers.
        let biased: Vec<f64> = scaled(&biased_shares(&edges), LONG)
            .into_iter()
            .map(|mean| stream.sample(rand_distr::Poisson::new(mean).unwrap()))
            .collect();
        let p = chi_square(&biased, &truth);
        assert!(p < LEVEL, "a biased coin passes with p = {p:.1e}");
    }

    let source = NoiseSource::insecure_from_seed(20_260_002);
    let mut seen = vec![0.0; truth.len()];
    for release in 0..20 {
        let part = integer_noise(law, k, DRAWS, &source, release).unwrap();
        seen.iter_mut().zip(counts(part.into_iter(), &edges)).for_each(|(sum, count)| *sum += count);
    }
    let p = chi_square(&seen, &truth);
    println!("{law:?}, k = {k}, {LONG} draws: p = {p:.3}");
    assert!(p > LEVEL, "p = {p:.1e}");
}
