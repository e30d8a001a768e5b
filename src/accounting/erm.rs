//! Privacy of private empirical risk minimisation: noisy gradient descent and objective perturbation.
//!
//! ```
//! use rhograd::accounting::erm::{Jacobian, NoisyDescent, noisy_descent, objective_perturbation};
//! use rhograd::privacy::{Delta, Epsilon};
//! # fn main() -> rhograd::error::Fallible<()> {
//! // 10,000 rows, 10 coefficients, epsilon 1, slopes and coefficients of norm at most 1.
//! let delta = Delta::new(1e-6)?;
//! let NoisyDescent { rho, bound, bound_lecture, .. } = noisy_descent(10_000.0, 10.0, 1.0, delta, 1.0, 1.0)?;
//! assert!(rho < 0.0091 && bound < bound_lecture);
//! // The minimiser of a logistic loss with a random linear term of deviation 20 and a penalty of 10.
//! let ln_delta = objective_perturbation(1.0, 20.0, 0.25, 10.0, Jacobian::RankOne, Epsilon::new(1.0)?)?;
//! assert!(ln_delta < delta.ln());
//! # Ok(())
//! # }
//! ```

use super::directed::{UNIT, add_up, order, positive};
use super::{gaussian, zcdp};
use crate::error::{Error, Fallible};
use crate::num::logs::{ln_add_exp, ln_one_minus_exp};
use crate::num::round::{down, up};
use crate::num::special::normal_tail;
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
    regularization: f64,
    jacobian: Jacobian,
    epsilon: Epsilon,
) -> Fallible<f64> {
    let mu = up(positive("gradient sensitivity", gradient)? / positive("sigma", sigma)?, 1);
    let ratio = up(positive("smoothness", smoothness)? / positive("regularisation", regularization)?, 1);
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

/// The Renyi divergence of objective perturbation for a generalised linear loss at a real order.
///
/// With `v = 1/z^2`, `J = ln(1 + beta/Lambda)` and `t = alpha - 1`: the divergence is at most
/// `J + v/2 + (1/t) ln E exp(t |N(0, v)|) = J + alpha v/2 + ln(2 Phi(t sqrt v)) / t`. The last term falls from its limit
/// `sqrt(2 v / pi)` at `t = 0`.
///
/// # Errors
/// When the noise multiplier `z` or `beta/Lambda` is not finite and positive, or the order is below 1.
///
/// # Privacy
/// An upper bound, rounded up, for the exact minimiser of a perturbed objective as in [`objective_perturbation`]. `z` is
/// the noise over the norm by which the sum of gradients moves: that of one row's gradient under add-remove, twice
/// that under replace-one, where both gradients are projected on the one direction of the noise that matters to
/// each and `J` stays, both determinants lying between that of the common rows and `1 + beta/Lambda` times it.
///
/// Reference: Redberg, Koskela and Wang 2023, Theorem 3.2.
pub fn objective_renyi(noise_multiplier: f64, curvature: f64, alpha: f64) -> Fallible<f64> {
    let alpha = order(alpha)?;
    let (jacobian, mu) = objective_terms(noise_multiplier, curvature)?;
    if alpha == f64::INFINITY {
        return Ok(f64::INFINITY);
    }
    let t = alpha - 1.0;
    let limit = absolute_mean(mu);
    // 2 Phi(x) = 1 + (1 - 2 tail(x)); near zero the difference cancels, and the limit is the better bound.
    let inner = ((1.0 - 2.0 * normal_tail(t * mu)).ln_1p() + 8.0 * UNIT) / t;
    let last = if inner < limit { up(inner, 2) } else { limit };
    let square = up(mu * mu / 2.0, 1);
    Ok(add_up(add_up(jacobian, up(alpha * square, 1)), last))
}

/// The (xi, rho) of objective perturbation as zCDP: `xi = J + sqrt(2 v / pi)`, `rho = v / 2`.
///
/// [`objective_renyi`] is at most `xi + rho alpha`, because `ln(2 Phi(t sqrt v)) / t` falls in t.
///
/// # Errors
/// When the noise multiplier `z` or `beta/Lambda` is not finite and positive, or the order is below 1.
///
/// # Privacy
/// Upper bounds, as there.
///
/// Reference: Redberg, Koskela and Wang 2023, Theorem 3.2; Bun and Steinke 2016.
pub fn objective_zcdp(noise_multiplier: f64, curvature: f64) -> Fallible<(f64, f64)> {
    let (jacobian, mu) = objective_terms(noise_multiplier, curvature)?;
    Ok((add_up(jacobian, absolute_mean(mu)), up(mu * mu / 2.0, 1)))
}

/// `J` and `sqrt v`, rounded up.
fn objective_terms(noise_multiplier: f64, curvature: f64) -> Fallible<(f64, f64)> {
    let mu = up(1.0 / positive("noise multiplier", noise_multiplier)?, 1);
    Ok((up(positive("curvature", curvature)?.ln_1p(), 2), mu))
}

/// `E |N(0, mu^2)| = mu sqrt(2 / pi)`, rounded up.
fn absolute_mean(mu: f64) -> f64 {
    up(mu * (2.0 / std::f64::consts::PI).sqrt(), 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::notion::RdpCurve;
    use crate::accounting::rdp;

    #[test]
    fn the_curve_is_the_expectation_and_stays_below_zcdp() {
        for z in [0.3, 1.0, 7.0, 100.0] {
            let (xi, rho) = objective_zcdp(z, 0.05).unwrap();
            let v = 1.0 / (z * z);
            for t in [1e-9, 1e-4, 0.1, 1.0, 3.0, 20.0] {
                let found = objective_renyi(z, 0.05, 1.0 + t).unwrap();
                assert!(found <= xi + rho * (1.0 + t) + 1e-12, "{z} {t}");
                // E exp(t |X|) e^(-t^2 v / 2) by the midpoint rule.
                let h = 1e-3 / z;
                let cells = (0..((20.0 / z + t * v) / h) as usize).map(|i| (i as f64 + 0.5) * h);
                let density =
                    |x: f64| 2.0 * (-(x - t * v).powi(2) / (2.0 * v)).exp() / (std::f64::consts::TAU * v).sqrt();
                let mean: f64 = cells.map(|x| density(x) * h).sum();
                let expected = 0.05f64.ln_1p() + v / 2.0 + (mean.ln() + t * t * v / 2.0) / t;
                let close = 1e-6 * expected.abs() + 1e-7 / t;
                assert!(t < 1e-3 || (found - expected).abs() < close, "{z} {t}: {found} {expected}");
            }
        }
    }

    #[test]
    fn the_curve_converts_to_no_less_than_the_profile() {
        // The profile is exact for one dimension; the curve must not promise more than it.
        for z in [0.8, 3.0, 20.0] {
            let curve = RdpCurve::from(rdp::Component::Objective { noise_multiplier: z, curvature: 0.02 });
            let delta = Delta::new(1e-6).unwrap();
            let epsilon = rdp::epsilon(&curve, delta, rdp::Form::Improved).unwrap().value;
            let at = |e: f64| {
                objective_perturbation(1.0, z, 0.02, 1.0, Jacobian::RankOne, Epsilon::new(e).unwrap()).unwrap()
            };
            assert!(at(epsilon) <= delta.ln() && at(0.8 * epsilon) > delta.ln(), "{z}: {epsilon}");
        }
    }
}
