//! Iterative localization: phases over disjoint blocks of rows, each closer to the last.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::error::Fallible;

use super::{Corners, Noise, Outcome, project, step_factor};
use crate::setup::Plant;

/// How a phase finds its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// The mean iterate of one pass with a constant step, for smooth losses.
    OnePass,
    /// Stochastic descent on the regularised loss of the block, `m^2` steps for `m` rows, for losses that need not be smooth.
    Erm,
}

/// Localization under rho-zCDP, replace-one, with `eta = (R/L) min(4 / sqrt(n), sqrt(2 rho) / (2 sqrt(d)))`, R = 1.
///
/// Phase i has `floor(n / 2^i)` rows and `eta_i = eta / 4^i`; its point moves by `2 L eta_i` with a row for one pass, and by
/// `3 L eta_i` for a solution as accurate as the theorem asks for, and is released with that over `sqrt(2 rho)` as noise.
/// The accuracy of the solver is that of the theory in expectation; nothing certifies it here.
///
/// # Errors
/// When noise cannot be drawn.
///
/// # Reference
/// Feldman, Koren, Talwar 2020, Algorithms 2 and 3.
pub fn localization(
    corners: &Corners,
    (n, rho): (u64, f64),
    solver: Solver,
    seed: u64,
    plant: Option<Plant>,
) -> Fallible<Outcome> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut noise = Noise::new(seed, plant);
    let mu = (2.0 * rho).sqrt();
    let eta = step_factor(plant) * (4.0 / (n as f64).sqrt()).min(mu / (2.0 * (corners.d as f64).sqrt()));
    let (mut x, mut gradients) = (vec![0.0; corners.d], 0.0);
    for phase in 1..=n.ilog2() {
        let rows = n >> phase;
        let eta = eta / 4f64.powi(phase as i32);
        let moves = match solver {
            Solver::OnePass => {
                gradients += rows as f64;
                pass(corners, rows, eta, &mut x, &mut random);
                2.0
            }
            Solver::Erm => {
                gradients += (rows * rows) as f64;
                solve(corners, rows, eta, &mut x, &mut random);
                3.0
            }
        };
        noise.add(moves * eta / mu, phase, &mut x)?;
    }
    project(&mut x);
    Ok(Outcome { excess: corners.excess(&x), gradients, noise: noise.mean_square() })
}

/// The mean iterate of one pass over fresh rows.
fn pass(corners: &Corners, rows: u64, eta: f64, x: &mut [f64], random: &mut ChaCha8Rng) {
    let mut w = x.to_vec();
    x.fill(0.0);
    for _ in 0..rows {
        x.iter_mut().zip(&w).for_each(|(x, w)| *x += w / rows as f64);
        corners.add_row(eta, &mut w, random);
        project(&mut w);
    }
}

/// An approximate minimiser of the mean loss of fresh rows plus `|w - x|^2 / (eta m)`, from random rows in random order.
///
/// Steps `2 / (lambda (t + 1))` with iterates weighed by t, `lambda = 2 / (eta m)` (Lacoste-Julien, Schmidt, Bach 2012).
fn solve(corners: &Corners, rows: u64, eta: f64, x: &mut [f64], random: &mut ChaCha8Rng) {
    let d = corners.d;
    let mut data = vec![0.0; rows as usize * d];
    data.chunks_mut(d).for_each(|row| corners.add_row(1.0, row, random));
    let lambda = 2.0 / (eta * rows as f64);
    let start = x.to_vec();
    let mut w = start.clone();
    x.fill(0.0);
    let steps = rows * rows;
    let weights = steps as f64 * (steps + 1) as f64 / 2.0;
    for t in 1..=steps {
        x.iter_mut().zip(&w).for_each(|(x, w)| *x += t as f64 * w / weights);
        let at = random.random_range(0..rows as usize) * d;
        let rate = 2.0 / (lambda * (t + 1) as f64);
        for ((w, from), row) in w.iter_mut().zip(&start).zip(&data[at..at + d]) {
            *w += rate * (row - lambda * (*w - from));
        }
        project(&mut w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solved_block_is_near_its_minimizer() {
        // The minimiser is a step of `1 / lambda` along the mean row, inside the ball.
        let corners = Corners::new(2, 0.9).unwrap();
        let (mut x, eta) = (vec![0.0; 2], 0.02);
        solve(&corners, 100, eta, &mut x, &mut ChaCha8Rng::seed_from_u64(3));
        let by_hand = eta * 100.0 / 2.0 * 0.9 / 2f64.sqrt();
        assert!(x.iter().all(|x| (x - by_hand).abs() < 0.15), "{x:?} {by_hand}");
    }

    #[test]
    fn one_pass_uses_each_row_once_at_most() {
        let corners = Corners::new(4, 0.5).unwrap();
        let outcome = localization(&corners, (1000, 1.0), Solver::OnePass, 1, None).unwrap();
        assert!(outcome.gradients < 1000.0 && outcome.gradients > 980.0 && outcome.excess < 0.5, "{outcome:?}");
    }
}
