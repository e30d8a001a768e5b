//! Linear losses of random corners of the cube over the unit ball: stochastic optimisation with a known population risk.
//!
//! Rows are corners of norm L = 1 whose coordinates are independent coins with one common bias; the loss of a row `x` is
//! `-<w, x>`, so the population minimiser is the mean over its norm and every risk is known without error. The gradient is the
//! same everywhere, which makes a run cheap and shows the worst case: nothing but the ball ends a descent.

mod descent;
mod one_pass;
mod phased;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rhograd::error::{Error, Fallible};
use rhograd::noise::{NoiseSource, integer_noise};
use rhograd::privacy::NoiseLaw;

use crate::setup::Plant;
pub use descent::{Batch, Descent};
pub use one_pass::one_pass;
pub use phased::{Solver, localization};

/// The noise has a scale of `2^40` grid steps, far finer than anything measured.
const LOG2_SCALE: u32 = 40;

/// The planted step size in units of that of the theory.
const WRONG_STEP: f64 = 0.05;

/// The distribution of the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corners {
    d: usize,
    bias: f64,
}

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Excess population risk.
    pub excess: f64,
    /// Gradients of single rows that were computed.
    pub gradients: f64,
    /// Mean square of the noise in units of what the plan asks for.
    pub noise: f64,
}

impl Corners {
    /// Rows of `d` coordinates whose mean has the norm `bias`, which is also the excess risk of the centre of the ball.
    ///
    /// # Errors
    /// Without coordinates, or when the norm is not in `(0, 1]`.
    pub fn new(d: usize, bias: f64) -> Fallible<Self> {
        if d == 0 || !(bias > 0.0 && bias <= 1.0) {
            let problem = format!("is {bias} in {d} coordinates, must be in (0, 1]");
            return Err(Error::parameter("the norm of the mean row", problem, "use more rows"));
        }
        Ok(Corners { d, bias })
    }

    /// Norm of the mean row.
    pub fn bias(&self) -> f64 {
        self.bias
    }

    /// Excess population risk of a point of the ball: `|m| - <w, m>`.
    pub fn excess(&self, w: &[f64]) -> f64 {
        self.bias * (1.0 - w.iter().sum::<f64>() / (self.d as f64).sqrt())
    }

    /// Mean of `n` fresh rows.
    pub fn mean(&self, n: u64, random: &mut ChaCha8Rng) -> Vec<f64> {
        let mut mean = vec![0.0; self.d];
        for _ in 0..n {
            self.add_row(1.0 / n as f64, &mut mean, random);
        }
        mean
    }

    /// Adds a multiple of a fresh row.
    pub fn add_row(&self, factor: f64, sum: &mut [f64], random: &mut ChaCha8Rng) {
        let size = factor / (self.d as f64).sqrt();
        // A coin of 32 bits: a bias off by 2^-32 is far below what any run can see.
        let heads = ((1.0 + self.bias) / 2.0 * 2f64.powi(32)) as u64;
        sum.iter_mut().for_each(|s| *s += if u64::from(random.random::<u32>()) < heads { size } else { -size });
    }
}

/// Moves a point into the unit ball.
fn project(w: &mut [f64]) {
    let norm = w.iter().map(|w| w * w).sum::<f64>().sqrt();
    if norm > 1.0 {
        w.iter_mut().for_each(|w| *w /= norm);
    }
}

/// Normal noise of a run, with the planted error, and its mean square.
struct Noise {
    source: NoiseSource,
    factor: f64,
    squares: f64,
    count: usize,
}

impl Noise {
    fn new(seed: u64, plant: Option<Plant>) -> Self {
        let factor = if plant == Some(Plant::HalfNoise) { 0.5 } else { 1.0 };
        Noise { source: crate::setup::noise(seed), factor, squares: 0.0, count: 0 }
    }

    /// Adds noise of this standard deviation to each coordinate.
    fn add(&mut self, sigma: f64, release: u32, w: &mut [f64]) -> Fallible<()> {
        let drawn = integer_noise(NoiseLaw::FlooredNormal, LOG2_SCALE, w.len(), &self.source, release)?;
        for (w, y) in w.iter_mut().zip(drawn) {
            let z = self.factor * y as f64 * 2f64.powi(-(LOG2_SCALE as i32));
            self.squares += z * z;
            *w += sigma * z;
        }
        self.count += w.len();
        Ok(())
    }

    fn mean_square(&self) -> f64 {
        self.squares / self.count as f64
    }
}

/// The factor of a planted step size.
fn step_factor(plant: Option<Plant>) -> f64 {
    if plant == Some(Plant::WrongStep) { WRONG_STEP } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn rows_have_their_mean_and_risks_are_known() {
        assert!(Corners::new(4, 1.5).is_err());
        let corners = Corners::new(4, 0.5).unwrap();
        let mean = corners.mean(100_000, &mut ChaCha8Rng::seed_from_u64(1));
        assert!(mean.iter().all(|m| (m - 0.25).abs() < 0.01), "{mean:?}");
        assert_eq!((corners.excess(&[0.0; 4]), corners.excess(&[0.5; 4])), (0.5, 0.0));
        assert_eq!(corners.excess(&[-0.5; 4]), 1.0);
    }
}
