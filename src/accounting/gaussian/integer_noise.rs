//! The exact trade-off of the discrete Gaussian mechanism on an integer query.

use crate::accounting::directed::{UNIT, positive};
use crate::accounting::zcdp;
use crate::error::{Error, Fallible};
use crate::num::logs::{LnSum, ln_one_minus_exp};
use crate::num::round::up;
use crate::privacy::Epsilon;

/// Largest sigma whose sums are taken term by term.
const MAX_SIGMA: f64 = 2e4;

/// The logarithm of the delta of the discrete Gaussian mechanism at epsilon.
///
/// `delta = P[X > eps sigma^2/s - s/2] - e^eps P[X > eps sigma^2/s + s/2]` for `P[x] ~ e^{-x^2/(2 sigma^2)}`,
/// summed as `sum_x P[x] (1 - e^{eps - (2 x s + s^2)/(2 sigma^2)})_+`.
///
/// # Errors
/// When `sigma` is not finite and positive.
///
/// # Privacy
/// An upper bound, at most 0, for an integer query of this sensitivity. Above `sigma = 20000` the zCDP
/// bound is given instead, which is larger.
///
/// Reference: Canonne, Kamath and Steinke 2020, Theorem 7.
///
/// ```
/// use rhograd::{accounting::gaussian::integer_noise, privacy::Epsilon};
/// # fn main() -> rhograd::error::Fallible<()> {
/// let ln_delta = integer_noise::ln_delta(3.0, 1, Epsilon::new(0.5)?)?;
/// assert!((ln_delta.exp() - 0.01191565439117751).abs() < 1e-13);
/// # Ok(())
/// # }
/// ```
pub fn ln_delta(sigma: f64, sensitivity: u64, epsilon: Epsilon) -> Fallible<f64> {
    let sigma = positive("sigma", sigma)?;
    let general = zcdp::ln_delta_optimal(0.0, rho(sigma, sensitivity)?, epsilon)?;
    if sigma > MAX_SIGMA || general == f64::NEG_INFINITY || sensitivity > 1 << 50 {
        return Ok(general);
    }
    let (s, e) = (sensitivity as f64, epsilon.value());
    // The loss of x is s (2 x + s) / (2 sigma^2), above epsilon from here on.
    let start = (e * sigma / s * sigma - s / 2.0).floor();
    let square = 2.0 * sigma * sigma;
    if start.is_nan() || start.abs() >= 1e15 || square.is_nan() || square <= 1e-300 {
        return Ok(general);
    }
    let from = start.max((-40.0 * sigma - 1.0).floor());
    let to = start.max(0.0) + (40.0 * sigma).ceil() + 2.0;
    let mut sum = LnSum::default();
    let (mut x, mut worst) = (from, 0.0f64);
    while x <= to {
        let loss = s * (2.0 * x + s) / square;
        if loss > e {
            sum.add(-x * x / square + ln_one_minus_exp(e - loss * (1.0 + 4.0 * UNIT)));
            worst = worst.max((x * x / square).min(1e6));
        }
        x += 1.0;
    }
    // What lies left of the window has probability below e^-790.
    if from > start {
        sum.add(-760.0);
    }
    let value = sum.value() - ln_normalizer(sigma);
    if value.is_nan() || value == f64::NEG_INFINITY {
        return Ok(general);
    }
    let slack = 64.0 * UNIT * (1.0 + value.abs() + worst.min(value.abs() + 800.0)) + 1e-13;
    Ok((value + slack).min(0.0).min(general))
}

/// The logarithm of `sum over integers of e^{-x^2/(2 sigma^2)}`.
///
/// For `sigma >= 1` by Poisson summation, `sigma sqrt(2 pi) (1 + 2 e^{-2 pi^2 sigma^2} + ...)`; below it
/// directly.
pub(super) fn ln_normalizer(sigma: f64) -> f64 {
    if sigma >= 1.0 {
        let exponent = 2.0 * (std::f64::consts::PI * sigma).powi(2);
        return sigma.ln() + crate::num::special::LN_SQRT_TAU + (2.0 * (-exponent).exp()).ln_1p();
    }
    let terms: f64 = (1..40).map(|x| (-f64::from(x * x) / sigma / sigma / 2.0).exp()).sum();
    (2.0 * terms).ln_1p()
}

/// The variance of the discrete Gaussian law, at most `sigma^2`.
///
/// `sum x^2 P[x]`; above `sigma = 100` the difference from `sigma^2` is below the smallest double.
///
/// # Errors
/// When `sigma` is not finite and positive.
///
/// # Privacy
/// Not a privacy parameter; accurate to rounding.
///
/// Reference: Canonne, Kamath and Steinke 2020, Corollary 9.
pub fn variance(sigma: f64) -> Fallible<f64> {
    let sigma = positive("sigma", sigma)?;
    if sigma > 100.0 {
        return Ok(sigma * sigma);
    }
    let ln_z = ln_normalizer(sigma);
    let end = (40.0 * sigma).ceil() as u32 + 2;
    let term = |x: u32| 2.0 * f64::from(x).powi(2) * (-f64::from(x) * f64::from(x) / sigma / sigma / 2.0 - ln_z).exp();
    Ok((1..end).map(term).sum::<f64>().min(sigma * sigma))
}

/// The rho of the discrete Gaussian mechanism.
///
/// `rho = s^2 / (2 sigma^2)`.
///
/// # Errors
/// When `sigma` is not finite and positive.
///
/// # Privacy
/// An upper bound, rounded up; also for vectors with this l2 sensitivity.
///
/// Reference: Canonne, Kamath and Steinke 2020, Theorem 14.
pub fn rho(sigma: f64, sensitivity: u64) -> Fallible<f64> {
    if sensitivity == 0 {
        return positive("sigma", sigma).map(|_| 0.0);
    }
    crate::accounting::gaussian::rho(up(sensitivity as f64, if sensitivity > 1 << 53 { 1 } else { 0 }), sigma)
}

/// Refuses a sensitivity that is no whole number.
pub(crate) fn whole(value: f64) -> Fallible<u64> {
    if value >= 0.0 && value.fract() == 0.0 && value < 9e15 {
        return Ok(value as u64);
    }
    Err(Error::parameter("sensitivity", format!("is {value}"), "use a whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variance_is_below_that_of_the_continuous_law() {
        assert!((variance(3.0).unwrap() - 9.0).abs() < 1e-12);
        assert!(variance(0.3).unwrap() < 0.09 && variance(1e3).unwrap() == 1e6);
    }

    #[test]
    fn the_profile_is_not_the_continuous_one() {
        let e = Epsilon::new(1.0).unwrap();
        let delta = ln_delta(1.0, 1, e).unwrap().exp();
        assert!((delta - 0.1414).abs() < 5e-5, "{delta}");
        for sigma in [1e-160, 1e-3, 0.4, 5.0, 1e3, 1e5, 1e200] {
            for s in [0, 1, 7, u64::MAX] {
                for e in [0.0, 1e-9, 2.0, 1e5, f64::INFINITY] {
                    let value = ln_delta(sigma, s, Epsilon::new(e).unwrap()).unwrap();
                    assert!(value <= 0.0, "{sigma} {s} {e}");
                }
            }
        }
    }
}
