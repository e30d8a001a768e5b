//! The mechanisms, and what the theory expects of them. All under replace-one.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::error::{Error, Fallible};
use rhograd::noise::integer_noise;
use rhograd::privacy::NoiseLaw;

use super::{ACCURACY, DELTA, EPSILON, Part, SUCCESS, gaussian_scale};
use crate::setup::{Plant, noise};

/// Runs from which a quantile is taken.
const TRIALS: usize = 2_000;

/// Scale of the integers that stand for normal noise, in bits.
const LOG2_SCALE: u32 = 40;

/// The randomness of one measurement, with the planted error.
pub(super) struct Noises {
    random: ChaCha8Rng,
    seed: u64,
    factor: f64,
}

impl Noises {
    pub(super) fn new(seed: u64, plant: Option<Plant>) -> Self {
        Noises { random: ChaCha8Rng::seed_from_u64(seed), seed, factor: Self::factor(plant) }
    }

    /// The share of the noise that is drawn.
    pub(super) fn factor(plant: Option<Plant>) -> f64 {
        if plant == Some(Plant::HalfNoise) { 0.5 } else { 1.0 }
    }

    /// A Laplace number of scale 1, in floating point: good for a picture, not for a release.
    fn laplace(&mut self) -> f64 {
        // In (0, 1].
        let tail = 1.0 - self.random.random::<f64>();
        if self.random.random() { -tail.ln() } else { tail.ln() }
    }

    /// Mean absolute error of `count` numbers with Laplace noise (Dwork, McSherry, Nissim, Smith 2006).
    pub(super) fn laplace_error(&mut self, count: u64, scale: f64) -> f64 {
        let sum: f64 = (0..count).map(|_| self.laplace().abs()).sum();
        self.factor * scale * sum / count as f64
    }

    /// The same with normal noise.
    pub(super) fn gaussian_error(&self, count: u64, scale: f64) -> Fallible<f64> {
        let drawn = integer_noise(NoiseLaw::FlooredNormal, LOG2_SCALE, count as usize, &noise(self.seed), 0)?;
        let sum: f64 = drawn.iter().map(|y| (*y as f64).abs()).sum();
        Ok(self.factor * scale * sum * 2f64.powi(-(LOG2_SCALE as i32)) / count as f64)
    }

    /// By how much the largest count must exceed all others to be the largest with Laplace noise of scale `2/epsilon` on
    /// each: a row moves two counts by one.
    pub(super) fn gap_for_noisy_counts(&mut self, bins: u64) -> f64 {
        let scale = self.factor * 2.0 / EPSILON;
        let gaps = (0..TRIALS).map(|_| {
            // The largest of many numbers has the power of their distribution function; 1 - u^(1/m) without cancellation.
            let u = 1.0 - self.random.random::<f64>();
            let above = -(u.ln() / (bins - 1) as f64).exp_m1();
            scale * (upper_quantile(above) - self.laplace())
        });
        quantile(gaps.collect())
    }

    /// By how much it must exceed the second for propose-test-release to name it (Dwork and Lei 2009).
    ///
    /// `ceil(gap/2)` rows must change before the mode does. One less, with Laplace noise of scale `1/epsilon`, must
    /// exceed `ln(1/(2 delta)) / epsilon`, which noise alone does with probability delta.
    pub(super) fn gap_for_a_stable_mode(&mut self) -> f64 {
        let threshold = (1.0 / (2.0 * DELTA)).ln() / EPSILON;
        let distances = (0..TRIALS).map(|_| threshold - self.factor * self.laplace() / EPSILON);
        2.0 * (quantile(distances.collect()) + 1.0)
    }
}

/// The largest error of `count` numbers with normal noise.
pub(super) fn largest_gaussian_error(
    count: u64,
    scale: f64,
    seed: u64,
    run: u32,
    plant: Option<Plant>,
) -> Fallible<f64> {
    let drawn = integer_noise(NoiseLaw::FlooredNormal, LOG2_SCALE, count as usize, &noise(seed), run)?;
    let most = drawn.iter().map(|y| y.unsigned_abs()).max().unwrap_or(0);
    Ok(Noises::factor(plant) * scale * most as f64 * 2f64.powi(-(LOG2_SCALE as i32)))
}

/// The Laplace number that is exceeded with probability `above`.
fn upper_quantile(above: f64) -> f64 {
    if above < 0.5 { -(2.0 * above).ln() } else { (2.0 * (1.0 - above)).ln() }
}

fn quantile(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() as f64 * SUCCESS) as usize).min(values.len() - 1)]
}

/// What a measurement should give: `E|Lap(b)| = b`, `E|N(0, s^2)| = s sqrt(2/pi)`, and quantiles.
pub(super) fn expected(part: Part, size: u64) -> Fallible<f64> {
    let d = size as f64;
    match part {
        Part::LaplaceMarginals => Ok(d / EPSILON / ACCURACY),
        Part::GaussianMarginals => Ok(gaussian_scale(size)? * (2.0 / std::f64::consts::PI).sqrt() / ACCURACY),
        Part::Mean => Ok(1.0 / (EPSILON * d)),
        Part::NoisyCounts => noisy_gap(d),
        Part::StableMode => {
            let tail = (1.0 / (2.0 * (1.0 - SUCCESS))).ln();
            Ok(2.0 * (((1.0 / (2.0 * DELTA)).ln() + tail) / EPSILON + 1.0))
        }
    }
}

/// The quantile of the largest of `bins - 1` Laplace numbers less another one: the largest is below t plus the other with
/// probability `E F(t + Z)^(bins - 1)`, an integral by the trapezoidal rule over quantiles of Z.
fn noisy_gap(bins: f64) -> Fallible<f64> {
    const NODES: u32 = 20_000;
    let success = |t: f64| {
        let node = |i: u32| {
            let z = upper_quantile((f64::from(i) + 0.5) / f64::from(NODES));
            let above = if t + z > 0.0 { (-(t + z)).exp() / 2.0 } else { 1.0 - (t + z).exp() / 2.0 };
            ((bins - 1.0) * (-above).ln_1p()).exp()
        };
        (0..NODES).map(node).sum::<f64>() / f64::from(NODES)
    };
    let (mut low, mut high) = (0.0, 100.0);
    if success(high) < SUCCESS {
        return Err(Error::numerical("marginals", "too many bins for the reference"));
    }
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if success(middle) < SUCCESS { low = middle } else { high = middle }
    }
    Ok(high * 2.0 / EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_law() {
        assert_eq!(upper_quantile(0.5), 0.0);
        assert!((upper_quantile(0.05) - 10f64.ln()).abs() < 1e-12);
        assert!((upper_quantile(0.95) + 10f64.ln()).abs() < 1e-12);
        // Two bins: the difference of two Laplace numbers exceeds t with probability e^-t (2 + t) / 4.
        let t = noisy_gap(2.0).unwrap() * EPSILON / 2.0;
        assert!(((-t).exp() * (2.0 + t) / 4.0 - (1.0 - SUCCESS)).abs() < 1e-4, "{t}");
    }
}
