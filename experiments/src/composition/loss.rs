//! The privacy loss of composed Gaussian releases, simulated with the noise that releases get.

use rhograd::error::{Error, Fallible};
use rhograd::noise::integer_noise;
use rhograd::privacy::NoiseLaw;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::setup::{Plant, noise};

/// Noise multiplier of each release: a power of two, so that the shift is a whole number of grid steps.
pub(super) const NOISE_MULTIPLIER: f64 = 16.0;

/// Scale of the integer noise in bits.
const LOG2_SCALE: u32 = 40;

/// Runs of one seed.
pub(super) const RUNS: usize = 2_000;

/// Bins of the histogram, over this many standard deviations on either side of the mean.
pub(super) const BINS: usize = 24;
pub(super) const SPAN: f64 = 4.0;

/// rho of `k` releases.
pub(super) fn rho(k: u64) -> f64 {
    k as f64 / (2.0 * NOISE_MULTIPLIER * NOISE_MULTIPLIER)
}

/// Losses of runs of `k` releases each.
///
/// With noise N of scale sigma on an integer that the row moves by s, the output `s + N` has the loss
/// `ln p(N) / p(s + N) = (s^2 + 2 s N) / (2 sigma^2)`, and losses of the releases of a run add.
pub(super) fn simulate(k: u64, seed: u64, plant: Option<Plant>) -> Fallible<Vec<f64>> {
    let source = noise(seed);
    let factor = if plant == Some(Plant::HalfNoise) { 0.5 } else { 1.0 };
    let sigma = 2f64.powi(LOG2_SCALE as i32);
    let shift = sigma / NOISE_MULTIPLIER;
    let loss = |n: i64| (shift * shift + 2.0 * shift * factor * n as f64) / (2.0 * sigma * sigma);
    (0..RUNS)
        .map(|run| {
            let drawn = integer_noise(NoiseLaw::FlooredNormal, LOG2_SCALE, k as usize, &source, run as u32)?;
            Ok(drawn.into_iter().map(loss).sum())
        })
        .collect()
}

/// The law that the losses should have: mean rho and variance 2 rho (Bun and Steinke 2016, Proposition 1.6).
fn law(k: u64) -> Fallible<Normal> {
    let (mean, deviation) = (rho(k), (2.0 * rho(k)).sqrt());
    Normal::new(mean, deviation).map_err(|e| Error::numerical("loss", e.to_string()))
}

/// Largest distance of the empirical distribution function from the law, times the root of the number of runs
/// (Kolmogorov 1933).
pub(super) fn distance(losses: &[f64], k: u64) -> Fallible<f64> {
    let law = law(k)?;
    let mut sorted = losses.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let apart = |(i, loss): (usize, &f64)| {
        let below = law.cdf(*loss);
        (below - i as f64 / n).abs().max(((i + 1) as f64 / n - below).abs())
    };
    Ok(n.sqrt() * sorted.iter().enumerate().map(apart).fold(0.0, f64::max))
}

/// The middle of a bin of the histogram.
pub(super) fn middle(bin: usize, k: u64) -> f64 {
    let width = 2.0 * SPAN / BINS as f64;
    rho(k) + (2.0 * rho(k)).sqrt() * (-SPAN + (bin as f64 + 0.5) * width)
}

/// The share of losses in each bin over the bin's width.
pub(super) fn histogram(losses: &[f64], k: u64) -> Vec<f64> {
    let width = (2.0 * rho(k)).sqrt() * 2.0 * SPAN / BINS as f64;
    let low = middle(0, k) - width / 2.0;
    let mut densities = vec![0.0; BINS];
    for loss in losses {
        let bin = ((loss - low) / width).floor();
        if (0.0..BINS as f64).contains(&bin) {
            densities[bin as usize] += 1.0 / (width * losses.len() as f64);
        }
    }
    densities
}

/// The density that the histogram should show.
pub(super) fn density(at: f64, k: u64) -> f64 {
    let variance = 2.0 * rho(k);
    (-(at - rho(k)).powi(2) / (2.0 * variance)).exp() / (std::f64::consts::TAU * variance).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_of_the_law_shows_its_density() {
        let law = law(64).unwrap();
        let losses: Vec<f64> = (0..20_000).map(|i| law.inverse_cdf((f64::from(i) + 0.5) / 20_000.0)).collect();
        assert!(distance(&losses, 64).unwrap() < 0.01);
        for (bin, found) in histogram(&losses, 64).into_iter().enumerate() {
            assert!((found / density(middle(bin, 64), 64) - 1.0).abs() < 0.2 || found < 0.01, "{bin}: {found}");
        }
    }
}
