//! Privacy of private empirical risk minimisation: noisy gradient descent and objective perturbation.

use super::directed::{UNIT, positive};
use super::{gaussian, zcdp};
use crate::error::{Error, Fallible};
use crate::num::logs::{ln_add_exp, ln_one_minus_exp};
use crate::num::round::{down, up};
use crate::privacy::{Delta, Epsilon};

/// The parameters of full-batch noisy gradient descent by the textbook choice, replace-one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisyDescent {
    /// Number of steps, `ceil(n^2 epsilon^2 / (16 d ln(1/delta)))`.
    pub steps: f64,
    /// Noise on the mean gradient, `4 L sqrt(T ln(1/delta)) / (epsilon n)`.
    pub sigma: f64,
    /// Total rho, `T (2L/n)^2 / (2 sigma^2) = epsilon^2 / (8 ln(1/delta))`.
    pub rho: f64,
    /// Step size that doubles the second moment, `R / sqrt(2 T (L^2 + d sigma^2))`.
    pub eta_lecture: f64,
    /// Excess risk at most `R sqrt(2 (L^2 + d sigma^2) / T)`.
    pub bound_lecture: f64,
    /// `8 L R sqrt(d ln(1/delta)) / (epsilon n)`.
    pub target: f64,
    /// Step size for the true second moment, `R / sqrt(T (L^2 + d sigma^2))`.
    pub eta: f64,
    /// Excess risk at most `R sqrt((L^2 + d sigma^2) / T)`.
    pub bound: f64,
    /// Epsilon at delta by the classical conversion.
    pub epsilon_classical: f64,
    /// Epsilon at delta by the exact Gaussian trade-off.
    pub epsilon_exact: f64,
}

/// The textbook parameters of noisy gradient descent for n rows, d coordinates, L-Lipschitz losses and a
/// domain of diameter R.
///
/// See the fields of [`NoisyDescent`].
///
/// # Errors
/// When a number is not finite and positive, or the number of steps overflows.
///
/// # Privacy
/// Under replace-one with public n. Sigma, rho and both epsilons are rounded up; step sizes and utility
/// bounds are plain numbers.
///
/// Reference: Bassily, Smith and Thakurta 2014, Theorem 2.4, with the constants of the zCDP analysis.
pub fn noisy_descent(n: f64, d: f64, epsilon: f64, delta: Delta, l: f64, r: f64) -> Fallible<NoisyDescent> {
    let (n, d) = (positive("n", n)?, positive("d", d)?);
    let (e, lipschitz, diameter) = (positive("epsilon", epsilon)?, positive("lipschitz", l)?, positive("diameter", r)?);
    let ln_inverse = -delta.ln();
    let budget = n * e;
    let steps = (budget * budget / (16.0 * d * ln_inverse)).ceil().max(1.0);
    if steps.is_nan() || steps >= 9e15 {
        return Err(Error::parameter("n", format!("needs {steps} steps"), "use fewer rows or a smaller epsilon"));
    }
    let sigma = up(4.0 * lipschitz * (steps * ln_inverse).sqrt() / budget, 4);
    positive("sigma", sigma)?;
    // The rho of the exact sigma, which is not below that of the rounded one.
    let rho = up(e * (e / 8.0) / ln_inverse, 4);
    let second = lipschitz * lipschitz + d * sigma * sigma;
    Ok(NoisyDescent {
        steps,
        sigma,
        rho,
        eta_lecture: diameter / (2.0 * steps * second).sqrt(),
        bound_lecture: diameter * (2.0 * second / steps).sqrt(),
        target: 8.0 * lipschitz * diameter * (d * ln_inverse).sqrt() / budget,
        eta: diameter / (steps * second).sqrt(),
        bound: diameter * (second / steps).sqrt(),
        epsilon_classical: zcdp::epsilon_classical(0.0, rho, delta)?.value(),
        epsilon_exact: gaussian::epsilon_from_rho(rho, delta)?.value(),
    })
}

/// The Jacobian term of objective perturbation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jacobian {
    /// `|ln(1 - beta/lambda)|`, as published; needs `lambda > beta`.
    Published,
    /// `ln(1 + beta/lambda)`, which the rank-one determinant lemma gives.
    RankOne,
}

/// The logarithm of the delta of objective perturbation for a generalised linear loss at epsilon.
///
/// With `J` the [`Jacobian`] term, `t = epsilon - J`, `h = t - L^2/(2 sigma^2)` and `H` the profile of the
/// Gaussian with `mu = L/sigma`: `delta = 2 H(t)` if `h >= 0`, else
/// `(1 - e^h) + 2 e^h H(L^2/(2 sigma^2))`.
///
/// # Errors
/// When a number is not finite and positive.
///
/// # Privacy
/// An upper bound, at most 0, under add-remove for the exact minimiser of
/// `sum_i l_i(w) + lambda/2 |w|^2 + <b, w>` with `b ~ N(0, sigma^2 I)`, row gradients of norm at most L and
/// curvature at most beta. Not for losses that are not generalised linear.
///
/// Reference: Redberg, Koskela and Wang 2023, the profile for generalized linear losses.
pub fn objective_perturbation(
    gradient: f64,
    sigma: f64,
    smoothness: f64,
    regularisation: f64,
    jacobian: Jacobian,
    epsilon: Epsilon,
) -> Fallible<f64> {
    let mu = up(positive("gradient sensitivity", gradient)? / positive("sigma", sigma)?, 1);
    let ratio = up(positive("smoothness", smoothness)? / positive("regularisation", regularisation)?, 1);
    let j = match jacobian {
        Jacobian::RankOne => up(ratio.ln_1p(), 2),
        Jacobian::Published if ratio < 1.0 => up(-(-ratio).ln_1p(), 2),
        Jacobian::Published => f64::INFINITY,
    };
    if epsilon == Epsilon::INFINITE || !j.is_finite() || !mu.is_finite() {
        // Without a finite term nothing is guaranteed, and an infinite epsilon guarantees nothing.
        return Ok(if epsilon == Epsilon::INFINITE { f64::NEG_INFINITY } else { 0.0 });
    }
    let half = up(mu * mu / 2.0, 2);
    let t = down(epsilon.value() - j, 1);
    let h = down(t - half, 1);
    if h >= 0.0 {
        return Ok(up(2f64.ln() + gaussian::ln_delta(mu, Epsilon::new(t)?)?, 2).min(0.0));
    }
    // 2 H(mu^2/2) < 1, so the sum falls with h, which was rounded down.
    let inner = gaussian::ln_delta(mu, Epsilon::new(down(half, 4))?)?;
    let first = ln_one_minus_exp(h);
    let value = ln_add_exp(first, 2f64.ln() + h + inner);
    let slack = 32.0 * UNIT * (2.0 + h.abs() + value.abs());
    Ok(if value.is_nan() { 0.0 } else { (value + slack).min(0.0) })
}
