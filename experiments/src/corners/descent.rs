//! Noisy projected descent, on all rows or on samples of them.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::error::Fallible;

use super::{Corners, Noise, Outcome, project, step_factor};
use crate::setup::Plant;

/// Which rows a step looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Batch {
    /// All.
    Full,
    /// Each on its own with this probability.
    Poisson(f64),
}

/// A descent on `n` rows whose returned point is the mean of its iterates `x_0..x_{T-1}`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Descent {
    /// Number of rows.
    pub n: u64,
    /// Number of steps.
    pub steps: u64,
    /// Which rows a step looks at.
    pub batch: Batch,
    /// Standard deviation of the noise on a step's mean gradient.
    pub sigma: f64,
}

impl Descent {
    /// Full batches under rho-zCDP, replace-one: each mean gradient moves by `2L/n`.
    pub fn full(n: u64, steps: u64, rho: f64) -> Self {
        let sigma = 2.0 / n as f64 * (steps as f64 / (2.0 * rho)).sqrt();
        Descent { n, steps, batch: Batch::Full, sigma }
    }

    /// A bound on the second moment of a step's gradient: `L^2 + d sigma^2`, and what sampling adds.
    fn second_moment(&self, d: usize) -> f64 {
        let sampling = match self.batch {
            Batch::Full => 0.0,
            Batch::Poisson(rate) => 1.0 / (rate * self.n as f64),
        };
        1.0 + sampling + d as f64 * self.sigma * self.sigma
    }

    /// Excess empirical risk at most `R sqrt((L^2 + d sigma^2) / T)`, R = 2; formulas as in
    /// [`rhograd::accounting::erm::noisy_descent`].
    pub fn bound(&self, d: usize) -> f64 {
        2.0 * (self.second_moment(d) / self.steps as f64).sqrt()
    }

    /// Runs from the centre of the ball with the step `R / sqrt(T (L^2 + d sigma^2))`.
    ///
    /// # Errors
    /// When noise cannot be drawn.
    pub fn run(&self, corners: &Corners, seed: u64, plant: Option<Plant>) -> Fallible<Outcome> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut noise = Noise::new(seed, plant);
        let d = corners.d;
        let rows = match self.batch {
            Batch::Full => Rows::Mean(corners.mean(self.n, &mut random), self.n as f64),
            Batch::Poisson(rate) => Rows::each(corners, self.n, rate, &mut random),
        };
        let eta = step_factor(plant) * 2.0 / (self.steps as f64 * self.second_moment(d)).sqrt();
        let (mut x, mut average, mut gradients) = (vec![0.0; d], vec![0.0; d], 0.0);
        for step in 0..self.steps {
            average.iter_mut().zip(&x).for_each(|(a, x)| *a += x / self.steps as f64);
            let mut pull = vec![0.0; d];
            gradients += rows.pull(&mut pull, &mut random);
            noise.add(self.sigma, step as u32, &mut pull)?;
            x.iter_mut().zip(&pull).for_each(|(x, g)| *x += eta * g);
            project(&mut x);
        }
        Ok(Outcome { excess: corners.excess(&average), gradients, noise: noise.mean_square() })
    }
}

/// The rows as far as steps need them.
enum Rows {
    /// Their mean, which is all that full batches see, and their number.
    Mean(Vec<f64>, f64),
    /// Every row.
    Each { rows: Vec<f64>, d: usize, rate: f64 },
}

impl Rows {
    fn each(corners: &Corners, n: u64, rate: f64, random: &mut ChaCha8Rng) -> Self {
        let mut rows = vec![0.0; n as usize * corners.d];
        rows.chunks_mut(corners.d).for_each(|row| corners.add_row(1.0, row, random));
        Rows::Each { rows, d: corners.d, rate }
    }

    /// The mean over a step's rows, and how many gradients that takes.
    fn pull(&self, pull: &mut [f64], random: &mut ChaCha8Rng) -> f64 {
        match self {
            Rows::Mean(mean, n) => {
                pull.copy_from_slice(mean);
                *n
            }
            Rows::Each { rows, d, rate } => {
                let n = rows.len() / d;
                let (mut taken, mut at) = (0.0, 0usize);
                loop {
                    // The gap to the next row that joins is geometric.
                    let tail = 1.0 - random.random::<f64>();
                    at = at.saturating_add((tail.ln() / (-rate).ln_1p()) as usize);
                    let Some(row) = rows.chunks(*d).nth(at) else { break };
                    pull.iter_mut().zip(row).for_each(|(p, x)| *p += x / (rate * n as f64));
                    taken += 1.0;
                    at += 1;
                }
                taken
            }
        }
    }
}
