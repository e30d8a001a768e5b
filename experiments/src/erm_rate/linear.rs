//! Noisy projected descent on linear losses `<x, s_i>`, whose gradient is the same everywhere.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::accounting::erm::NoisyDescent;
use rhograd::error::Fallible;
use rhograd::noise::integer_noise;
use rhograd::privacy::NoiseLaw;

use super::points::{Instance, Point};
use super::{DIAMETER, LIPSCHITZ, Measured, lower, step};
use crate::setup::{Plant, noise};

/// The noise has a scale of `2^40` grid steps, far finer than anything measured.
const LOG2_SCALE: u32 = 40;

/// Runs the descent from the centre of the ball and averages `x_0..x_{T-1}`.
pub(super) fn run(point: &Point, theory: &NoisyDescent, seed: u64, plant: Option<Plant>) -> Fallible<Measured> {
    let mean = mean_row(point, theory.rho, seed);
    let (d, steps, eta) = (point.d, theory.steps as u64, step(theory, plant));
    let sigma = theory.sigma * if plant == Some(Plant::HalfNoise) { 0.5 } else { 1.0 };
    let (source, unit) = (noise(seed), 2f64.powi(-(LOG2_SCALE as i32)));
    let (mut x, mut average, mut squares) = (vec![0.0; d], vec![0.0; d], 0.0);
    for round in 0..steps {
        average.iter_mut().zip(&x).for_each(|(a, x)| *a += x / steps as f64);
        let drawn = integer_noise(NoiseLaw::FlooredNormal, LOG2_SCALE, d, &source, round as u32)?;
        for ((x, g), y) in x.iter_mut().zip(&mean).zip(drawn) {
            let xi = y as f64 * unit * sigma;
            squares += xi * xi;
            *x -= eta * (g + xi);
        }
        let shrink = (DIAMETER / 2.0 / norm(&x)).min(1.0);
        x.iter_mut().for_each(|x| *x *= shrink);
    }
    let value: f64 = average.iter().zip(&mean).map(|(a, g)| a * g).sum();
    let noise = squares / (theory.sigma * theory.sigma * (steps * d as u64) as f64);
    Ok(Measured { excess: value + DIAMETER / 2.0 * norm(&mean), noise })
}

/// The mean of the rows: corners of the cube of norm L whose coordinates have biases uniform on `[-1, 1]`.
fn mean_row(point: &Point, rho: f64, seed: u64) -> Vec<f64> {
    let filled = match point.instance {
        Instance::Hard => lower::bound(point, rho).1,
        _ => point.n,
    };
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let size = LIPSCHITZ / (point.d as f64).sqrt();
    let coordinate = |_| {
        let probability: f64 = random.random();
        let ones = (0..filled).filter(|_| random.random_bool(probability)).count() as f64;
        size * (2.0 * ones - filled as f64) / point.n as f64
    };
    (0..point.d).map(coordinate).collect()
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}
