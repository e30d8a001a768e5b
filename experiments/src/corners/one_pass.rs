//! One pass of noisy steps whose intermediate iterates stay secret.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rhograd::error::{Error, Fallible};

use super::{Corners, Noise, Outcome, project, step_factor};
use crate::setup::Plant;

/// Rows per step, on average.
const ROWS_PER_STEP: u64 = 4;

/// One pass under rho-zCDP, replace-one: batches that grow towards the end, noise on the iterate, and only the last one released.
///
/// With j steps left, its own among them, a row of a batch of `b_j` moves the iterate by `2 eta L / b_j` and is hidden by j noises of
/// variance `s^2`: `rho = (2 eta L / b_j)^2 / (2 j s^2)`. Batches in proportion to `1 / sqrt(j)` cost every row the same;
/// s is what the dearest one needs. Steps are `eta = min(1 / sqrt(T), n sqrt(2 rho) / (4 sqrt(d) T))`, R = L = 1.
///
/// # Errors
/// When there are too few rows, or noise cannot be drawn.
///
/// # Reference
/// Feldman, Koren, Talwar 2020, snowball SGD, after Feldman, Mironov, Talwar, Thakurta 2018.
pub fn one_pass(corners: &Corners, (n, rho): (u64, f64), seed: u64, plant: Option<Plant>) -> Fallible<Outcome> {
    let steps = n / ROWS_PER_STEP;
    if steps == 0 {
        return Err(Error::parameter("n", format!("is {n}, too few for a step"), "use at least four rows"));
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut noise = Noise::new(seed, plant);
    let (t, mu) = (steps as f64, (2.0 * rho).sqrt());
    let eta = step_factor(plant) * (1.0 / t.sqrt()).min(n as f64 * mu / (4.0 * (corners.d as f64).sqrt() * t));
    let last = n as f64 / (1..=steps).map(|left| 1.0 / (left as f64).sqrt()).sum::<f64>();
    let batch = |left: u64| ((last / (left as f64).sqrt()) as u64).max(1);
    let moves = |left: u64| 2.0 * eta / (batch(left) as f64 * (left as f64).sqrt());
    let sigma = (1..=steps).map(moves).fold(0.0, f64::max) / mu;
    let (mut x, mut gradients) = (vec![0.0; corners.d], 0.0);
    for left in (1..=steps).rev() {
        let rows = batch(left);
        (0..rows).for_each(|_| corners.add_row(eta / rows as f64, &mut x, &mut random));
        noise.add(sigma, left as u32, &mut x)?;
        project(&mut x);
        gradients += rows as f64;
    }
    Ok(Outcome { excess: corners.excess(&x), gradients, noise: noise.mean_square() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_used_twice_and_most_are_used() {
        let corners = Corners::new(4, 0.5).unwrap();
        let outcome = one_pass(&corners, (10_000, 1.0), 1, None).unwrap();
        assert!(outcome.gradients <= 10_000.0 && outcome.gradients > 8_000.0 && outcome.excess < 0.1, "{outcome:?}");
        assert!(one_pass(&corners, (3, 1.0), 1, None).is_err());
    }
}
