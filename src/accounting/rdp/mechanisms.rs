//! Renyi divergences of single mechanisms in closed form.
//!
//! Every function takes a real order `alpha >= 1`: 1 is the Kullback-Leibler divergence, infinity the
//! largest privacy loss. The forms are free of cancellation, so that a cost of 1e-12 keeps its digits.

use crate::accounting::directed::{add_up, finite, nonnegative, order, positive, probability, raised};
use crate::error::Fallible;
use crate::num::logs::exp_less_linear;
use crate::num::round::up;

/// The Renyi divergence of the Gaussian mechanism.
///
/// `D_alpha = alpha / (2 z^2)` with noise multiplier `z`, noise standard deviation over l2 sensitivity.
///
/// # Errors
/// When `noise_multiplier` is not finite and positive or `alpha` is below 1.
///
/// # Privacy
/// Exact, rounded up; both directions are equal, under the relation of the sensitivity.
///
/// Reference: Mironov 2017, Corollary 3.
///
/// ```
/// let r = rhograd::accounting::rdp::gaussian(2.0, 8.0).unwrap();
/// assert!(r >= 1.0 && r < 1.0 + 1e-14);
/// ```
pub fn gaussian(noise_multiplier: f64, alpha: f64) -> Fallible<f64> {
    let z = positive("noise multiplier", noise_multiplier)?;
    // Dividing twice keeps clear of an overflowing square.
    Ok(up(order(alpha)? / z / z / 2.0, 4))
}

/// The Renyi divergence of the Laplace mechanism.
///
/// `D_alpha = ln(a/(2a-1) e^{(a-1)e} + (a-1)/(2a-1) e^{-a e}) / (a-1)` with `e` the l1 sensitivity over
/// the scale; `e + exp(-e) - 1` at order 1.
///
/// # Errors
/// When `epsilon` is negative or NaN or `alpha` is below 1.
///
/// # Privacy
/// Exact, rounded up; symmetric, under the relation of the sensitivity.
///
/// Reference: Mironov 2017, Proposition 6.
///
/// ```
/// let r = rhograd::accounting::rdp::laplace(1.0, 2.0).unwrap();
/// assert!((r - 0.6191236299985928).abs() < 1e-14);
/// ```
pub fn laplace(epsilon: f64, alpha: f64) -> Fallible<f64> {
    let (e, a) = (nonnegative("epsilon", epsilon)?, order(alpha)?);
    if e == 0.0 || e == f64::INFINITY || a == f64::INFINITY {
        return Ok(e);
    }
    let b = a - 1.0;
    let value = if b * e < 30.0 {
        // The linear parts of the two exponentials cancel exactly, leaving a sum of positive terms.
        let first = if b == 0.0 { 0.0 } else { a * (exp_less_linear(b * e) / b) };
        log_over(b, (first + exp_less_linear(-a * e)) / (2.0 * a - 1.0))
    } else {
        e + (b * ((1.0 - 2.0 * a) * e).exp_m1() / (2.0 * a - 1.0)).ln_1p() / b
    };
    Ok(raised(value, value, 64.0).min(e))
}

/// `ln(1 + b f) / b`, and its limit `f` for tiny `b f`, which is above it.
pub(super) fn log_over(b: f64, f: f64) -> f64 {
    if b * f < 1e-17 { f } else { (b * f).ln_1p() / b }
}

/// The largest Renyi divergence of an epsilon-DP mechanism.
///
/// `D_alpha = ln(1 + 2 sinh(a e/2) sinh((a-1) e/2) / cosh(e/2)) / (a-1)`, which equals
/// `ln((sinh(a e) - sinh((a-1) e)) / sinh e) / (a-1)`; `e tanh(e/2)` at order 1.
///
/// # Errors
/// When `epsilon` is negative or NaN or `alpha` is below 1.
///
/// # Privacy
/// An upper bound, attained by randomised response, rounded up; under the relation of epsilon.
///
/// Reference: Bun and Steinke 2016, Lemma 3.3 and its proof; Mironov 2017, Proposition 5.
///
/// ```
/// let r = rhograd::accounting::rdp::pure(1.0, 2.0).unwrap();
/// assert!((r - 0.7353256640555192).abs() < 1e-14);
/// ```
pub fn pure(epsilon: f64, alpha: f64) -> Fallible<f64> {
    let (e, a) = (nonnegative("epsilon", epsilon)?, order(alpha)?);
    if e == 0.0 || e == f64::INFINITY || a == f64::INFINITY {
        return Ok(e);
    }
    let (b, half) = (a - 1.0, e / 2.0);
    let value = if b == 0.0 {
        e * half.tanh()
    } else if a * e < 600.0 {
        // The quotient of the second sine by b has a limit, so a tiny b costs no digits.
        let tiny = b * half < 1e-150;
        let sine = if tiny { half } else { (b * half).sinh() / b };
        log_over(b, 2.0 * (a * half).sinh() * (sine / half.cosh()))
    } else {
        e - ((-e).exp().ln_1p() - (-(2.0 * a - 1.0) * e).exp().ln_1p()) / b
    };
    Ok(raised(value, value, 64.0).min(e))
}

/// The odds of the answer that is given more often, less 1, when the true one has this probability.
pub(in crate::accounting) fn response_odds(truth: f64) -> f64 {
    // Differences are exact, but for 1 - 2p below 1/4, where it is rounded once.
    if truth < 0.5 { (1.0 - 2.0 * truth) / truth } else { (2.0 * truth - 1.0) / (1.0 - truth) }
}

/// The epsilon of binary randomised response.
///
/// `|ln(p / (1 - p))|` for a true answer with probability `p`: below 1/2 it is the other answer that is given more often.
///
/// # Errors
/// When `truth` lies outside `[0, 1]`.
///
/// # Privacy
/// Exact, rounded up; infinite at `p = 1` and `p = 0`.
///
/// Reference: Warner 1965; Dwork and Roth 2014, section 3.2.
pub fn randomised_response_epsilon(truth: f64) -> Fallible<f64> {
    let odds = response_odds(probability("truth", truth)?);
    Ok(if odds == 0.0 { 0.0 } else { up(odds.ln_1p(), 4) })
}

/// The Renyi divergence of binary randomised response.
///
/// `D_alpha = ln(p^a (1-p)^{1-a} + (1-p)^a p^{1-a}) / (a-1)`, computed as [`pure`] at
/// `epsilon = ln(p/(1-p))`, to which it is equal.
///
/// # Errors
/// When `truth` lies outside `[0, 1]` or `alpha` is below 1.
///
/// # Privacy
/// Exact, rounded up.
///
/// Reference: Mironov 2017, Proposition 5.
pub fn randomised_response(truth: f64, alpha: f64) -> Fallible<f64> {
    pure(randomised_response_epsilon(truth)?, alpha)
}

/// The Renyi divergence of a mechanism of epsilon-bounded range, such as the exponential mechanism.
///
/// `min{alpha epsilon^2 / 8, D_alpha of an epsilon-DP mechanism}`.
///
/// # Errors
/// When `epsilon` is negative or NaN or `alpha` is below 1.
///
/// # Privacy
/// An upper bound, rounded up; under the relation of epsilon.
///
/// Reference: Durfee and Rogers 2019; Cesar and Rogers 2021, Lemma 3.2.
pub fn bounded_range(epsilon: f64, alpha: f64) -> Fallible<f64> {
    let general = pure(epsilon, alpha)?;
    let e = nonnegative("epsilon", epsilon)?;
    let concentrated = if e == 0.0 { 0.0 } else { up(alpha * (e / 2.0) * (e / 4.0), 4) };
    Ok(general.min(concentrated))
}

/// The Renyi divergence of two-sided geometric noise on an integer query.
///
/// With `c = 1/scale`, sensitivity `s` and `e = s c`: `D_alpha = ln A / (a-1)`,
/// `A = (e^{(a-1)e} + e^{-a e}) / (1 + e^{-c}) + tanh(c/2) e^{(a-1)e} sum_{x=1}^{s-1} e^{-(2a-1) c x}`.
///
/// # Errors
/// When `scale` is not finite and positive or `alpha` is below 1.
///
/// # Privacy
/// Exact, rounded up, never above [`pure`] at `e`; equal to it at sensitivity 1, where only two losses
/// occur. The noise is log-concave, so the largest shift is the worst.
///
/// Reference: Ghosh, Roughgarden and Sundararajan 2009 for the mechanism; the sum is geometric.
pub fn discrete_laplace(scale: f64, sensitivity: u64, alpha: f64) -> Fallible<f64> {
    let (scale, a) = (positive("scale", scale)?, order(alpha)?);
    if sensitivity == 0 {
        return Ok(0.0);
    }
    let s = (sensitivity as f64).next_up();
    let (c, e) = (1.0 / scale, up(s / scale, 2));
    let general = pure(e, a)?;
    if sensitivity == 1 || !e.is_finite() || a == f64::INFINITY {
        return Ok(general);
    }
    // The divergence rises with the order, so a slightly larger one bounds those next to 1.
    let a = a.max(1.0 + 1e-6);
    let (b, twice) = (a - 1.0, 2.0 * a - 1.0);
    // e^{-(a-1)e} A, every part positive.
    let ends = (1.0 + (-twice * e).exp()) / (1.0 + (-c).exp());
    let ratio = (-twice * c).exp();
    let middle =
        if ratio == 0.0 { 0.0 } else { (c / 2.0).tanh() * ratio * ((c - e) * twice).exp_m1() / (-twice * c).exp_m1() };
    let value = e + (ends + middle).ln() / b;
    Ok(raised(value, (e * (1.0 + twice) + 64.0) / b + e, 32.0).min(general))
}

/// The smallest rho of an epsilon-DP mechanism as zCDP.
///
/// `rho = epsilon tanh(epsilon/2)`, at most `epsilon^2/2`.
///
/// # Errors
/// When `epsilon` is negative, infinite or NaN.
///
/// # Privacy
/// An upper bound, attained by randomised response at order 1, rounded up.
///
/// Reference: Bun and Steinke 2016, Proposition 1.4, with the constant made tight.
pub fn pure_rho(epsilon: f64) -> Fallible<f64> {
    let e = finite("epsilon", epsilon)?;
    Ok(if e == 0.0 { 0.0 } else { raised(e * (e / 2.0).tanh(), e * (e / 2.0).tanh(), 8.0) })
}

/// The smallest rho of the scalar Laplace mechanism as zCDP.
///
/// `rho = e + exp(-e) - 1` with `e` the l1 sensitivity over the scale.
///
/// # Errors
/// When `epsilon` is negative, infinite or NaN.
///
/// # Privacy
/// The largest `D_alpha / alpha`, reached as alpha falls to 1; rounded up.
///
/// Reference: Mironov 2017, Proposition 6, at its limit; that the supremum is there was checked
/// numerically.
pub fn laplace_rho(epsilon: f64) -> Fallible<f64> {
    let e = finite("epsilon", epsilon)?;
    let value = exp_less_linear(-e);
    Ok(if e == 0.0 { 0.0 } else { raised(value, value, 16.0) })
}

/// The rho of a mechanism of epsilon-bounded range as zCDP.
///
/// `rho = epsilon^2 / 8`.
///
/// # Errors
/// When `epsilon` is negative, infinite or NaN.
///
/// # Privacy
/// An upper bound, rounded up.
///
/// Reference: Cesar and Rogers 2021, Lemma 3.2.
pub fn bounded_range_rho(epsilon: f64) -> Fallible<f64> {
    let e = finite("epsilon", epsilon)?;
    Ok(if e == 0.0 { 0.0 } else { up((e / 2.0) * (e / 4.0), 3) })
}

/// The Renyi divergence bound of truncated or plain concentrated privacy at an order.
pub(super) fn concentrated(xi: f64, rho: f64, alpha: f64) -> Fallible<f64> {
    let (xi, rho, alpha) = (nonnegative("xi", xi)?, nonnegative("rho", rho)?, order(alpha)?);
    Ok(if rho == 0.0 { xi } else { add_up(xi, (rho * alpha).next_up()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_join_where_they_meet() {
        for a in [1.5f64, 7.0, 40.0] {
            let e = 30.0 / (a - 1.0);
            let (below, above) = (laplace(e * (1.0 - 1e-13), a).unwrap(), laplace(e * (1.0 + 1e-13), a).unwrap());
            assert!((above / below - 1.0).abs() < 1e-12, "laplace {a}");
            let e = 600.0 / a;
            let (below, above) = (pure(e * (1.0 - 1e-13), a).unwrap(), pure(e * (1.0 + 1e-13), a).unwrap());
            assert!((above / below - 1.0).abs() < 1e-12, "pure {a}");
        }
    }

    #[test]
    fn geometric_noise_matches_its_sum() {
        for (scale, s, a) in [(2.0f64, 3u64, 2.5f64), (5.0, 7, 11.0), (1.0, 2, 1.5), (0.7, 1, 3.0)] {
            let p = |x: i64| (1.0 / scale / 2.0).tanh() * (-(x.abs() as f64) / scale).exp();
            let sum: f64 = (-160..160).map(|x| p(x).powf(a) * p(x - s as i64).powf(1.0 - a)).sum();
            let value = discrete_laplace(scale, s, a).unwrap();
            assert!((value - sum.ln() / (a - 1.0)).abs() < 1e-9, "{value} {}", sum.ln() / (a - 1.0));
        }
        // A fine grid approaches the continuous law.
        let (fine, limit) = (discrete_laplace(1e6, 1_000_000, 3.0).unwrap(), laplace(1.0, 3.0).unwrap());
        assert!((fine / limit - 1.0).abs() < 1e-5, "{fine} {limit}");
    }

    #[test]
    fn edges_are_answered() {
        for f in [laplace, pure, bounded_range] {
            assert_eq!(f(0.0, 3.0).unwrap(), 0.0);
            assert_eq!(f(f64::INFINITY, 3.0).unwrap(), f64::INFINITY);
            assert_eq!(f(2.0, f64::INFINITY).unwrap(), 2.0);
            assert!(f(-1.0, 2.0).is_err() && f(1.0, 0.5).is_err() && f(f64::NAN, 2.0).is_err());
            assert!(f(1e-200, 1e-3 + 1.0).unwrap() > 0.0 && f(1e300, 1e300).unwrap() <= 1e300);
        }
        assert_eq!(randomised_response(1.0, 2.0).unwrap(), f64::INFINITY);
        assert_eq!(randomised_response(0.5, 2.0).unwrap(), 0.0);
        assert_eq!(randomised_response(0.0, 2.0).unwrap(), f64::INFINITY);
        assert_eq!(randomised_response(0.25, 2.0).unwrap(), randomised_response(0.75, 2.0).unwrap());
        assert!(randomised_response(-0.1, 2.0).is_err() && randomised_response(1.1, 2.0).is_err());
        assert_eq!(gaussian(1e-300, 2.0).unwrap(), f64::INFINITY);
        assert!(gaussian(1e300, 2.0).unwrap() > 0.0);
    }
}
