//! The exact trade-off of Gaussian mechanisms, in numbers.

use crate::accounting::directed::{ln_delta_down, nonnegative, positive, two_sum};
use crate::accounting::zcdp;
use crate::error::{Error, Fallible};
use crate::num::Dyadic;
use crate::num::root::bisect_near;
use crate::num::round::{down, up};
use crate::num::special::{LEGENDRE, LN_SQRT_TAU, mills, normal_density, normal_tail, one_minus_x_mills};
use crate::privacy::{Delta, Epsilon, Rho};

/// Allowance for rounding in a logarithm `v` of delta: `MARGIN (1 + |v|)`, 128 units of rounding error
/// where an analysis of the operations gives about 40.
const MARGIN: f64 = 1.4e-14;

/// Relative width at which a search stops.
const WIDTH: f64 = 1e-15;

/// Newton steps before the plain search takes over.
const NEWTON_STEPS: usize = 100;

/// The trade-off at one point.
struct Profile {
    /// An upper bound on `ln delta`.
    ln_delta: f64,
    /// `d ln delta / d epsilon`, for Newton steps only.
    by_epsilon: f64,
    /// `d ln delta / d mu`, for Newton steps only.
    by_mu: f64,
}

/// `epsilon/mu - mu/2` to a few ulps, also where the two nearly cancel.
fn lower_end(mu: f64, epsilon: f64) -> f64 {
    let quotient = epsilon / mu;
    if quotient.is_infinite() {
        return quotient;
    }
    // The remainder of a division is a double, and the fused operation finds it exactly.
    let remainder = (-quotient).mul_add(mu, epsilon);
    let (head, tail) = two_sum(quotient, -mu / 2.0);
    head + (tail + remainder / mu)
}

/// Mean of `1 - x R(x)` over `[a, a + mu]`.
fn mean_fall(a: f64, mu: f64) -> f64 {
    let (centre, half) = (a + mu / 2.0, mu / 2.0);
    LEGENDRE
        .iter()
        .map(|&(x, w)| w * (one_minus_x_mills(centre - half * x) + one_minus_x_mills(centre + half * x)))
        .sum()
}

/// Evaluates the trade-off for finite positive `mu` and finite `epsilon >= 0`.
fn profile(mu: f64, epsilon: f64) -> Profile {
    let (a, b) = (lower_end(mu, epsilon), epsilon / mu + mu / 2.0);
    let upper_ratio = mills(b);
    if a < 0.0 && mu > 1.0 {
        // 1 - delta as a sum of positive terms: delta may be within rounding of 1.
        let density = normal_density(a);
        let kept = normal_tail(-a) + density * upper_ratio;
        let delta = 1.0 - kept;
        let ln_delta = if kept < 0.5 {
            // Rounding 1 - delta down moves delta up. The densities magnify the error of a by a^2, and
            // near underflow they lose digits, so there delta is rounded up to 1.
            let low = if kept < 1e-290 { 0.0 } else { kept * (1.0 - MARGIN * (1.0 + a * a)) };
            up((-low).ln_1p(), 2)
        } else {
            zcdp::outward(delta.ln(), MARGIN * (1.0 + delta.ln().abs()))
        };
        return Profile {
            ln_delta: ln_delta.min(0.0),
            by_epsilon: -density * upper_ratio / delta,
            by_mu: density / delta,
        };
    }
    // R(a) - R(b) is the integral of 1 - x R(x); the difference is used only where it keeps its digits.
    let ln_fall = if mu <= 0.5 * a.max(1.0) { mu.ln() + mean_fall(a, mu).ln() } else { (mills(a) - upper_ratio).ln() };
    let value = ln_fall - (LN_SQRT_TAU + a * a / 2.0);
    Profile {
        ln_delta: zcdp::outward(value, MARGIN * (1.0 + value.abs())),
        by_epsilon: -upper_ratio * (-ln_fall).exp(),
        by_mu: (-ln_fall).exp(),
    }
}

/// The logarithm of the exact delta of a mu-Gaussian mechanism at epsilon.
///
/// `delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)`.
///
/// # Errors
/// When `mu` is negative or NaN.
///
/// # Privacy
/// An upper bound, at most 0: rounded up. It is `-inf` only where delta is truly 0 (`mu = 0` or
/// infinite epsilon); infinite `mu` gives 0.
///
/// Reference: Balle and Wang 2018, Theorem 8.
///
/// ```
/// use rhograd::{accounting::gaussian, privacy::Epsilon};
/// # fn main() -> rhograd::error::Fallible<()> {
/// let ln_delta = gaussian::ln_delta(1.0, Epsilon::new(3.0)?)?;
/// assert!((ln_delta.exp() - 0.00153718536940).abs() < 1e-13);
/// # Ok(())
/// # }
/// ```
pub fn ln_delta(mu: f64, epsilon: Epsilon) -> Fallible<f64> {
    let mu = nonnegative("mu", mu)?;
    if mu == 0.0 || epsilon == Epsilon::INFINITE {
        return Ok(f64::NEG_INFINITY);
    }
    if mu == f64::INFINITY {
        return Ok(0.0);
    }
    checked(profile(mu, epsilon.value()).ln_delta)
}

/// The smallest epsilon that a mu-Gaussian mechanism has at delta.
///
/// The root of `delta(epsilon) = delta` of [`ln_delta`], or 0 when `delta(0) <= delta`.
///
/// # Errors
/// When `mu` is negative or NaN, or when the search fails.
///
/// # Privacy
/// An upper bound: the returned epsilon is one at which the upper bound on delta meets the target.
/// `mu` whose square overflows gives infinity.
///
/// Reference: Balle and Wang 2018, Theorem 8, solved for epsilon. `ln delta` is concave in epsilon,
/// being the survival function of a Gaussian minus an exponential variable, so Newton steps from the
/// right approach the root from the right.
///
/// ```
/// use rhograd::{accounting::gaussian, privacy::Delta};
/// # fn main() -> rhograd::error::Fallible<()> {
/// let epsilon = gaussian::epsilon(1.0, Delta::new(1e-5)?)?;
/// assert!((epsilon.value() - 4.377178095681).abs() < 1e-11);
/// # Ok(())
/// # }
/// ```
pub fn epsilon(mu: f64, delta: Delta) -> Fallible<Epsilon> {
    let mu = nonnegative("mu", mu)?;
    let target = ln_delta_down(delta);
    if mu == 0.0 || (mu.is_finite() && profile(mu, 0.0).ln_delta <= target) {
        return Epsilon::new(0.0);
    }
    // The zCDP bound is valid for the Gaussian, so it closes the bracket from above.
    let end = zcdp::epsilon_classical(0.0, (mu * mu / 2.0).next_up(), delta)?.value();
    if !end.is_finite() {
        return Ok(Epsilon::INFINITE);
    }
    let mut guess = end;
    for _ in 0..NEWTON_STEPS {
        let here = profile(mu, guess);
        let next = guess - (here.ln_delta - target) / here.by_epsilon;
        let done = (next - guess).abs() <= 1e-13 * guess;
        // A step that leaves the bracket or is NaN ends the guessing; the search below needs no guess.
        if !(next > 0.0 && next <= end) {
            break;
        }
        guess = next;
        if done {
            break;
        }
    }
    let root = bisect_near(0.0, end, guess, WIDTH, |e| meets(profile(mu, e).ln_delta, target));
    Epsilon::new(root.ok_or_else(|| no_root("epsilon of a Gaussian"))?.holds)
}

/// The largest mu whose Gaussian mechanism is (epsilon, delta)-DP.
///
/// The root of `delta(epsilon) = delta` of [`ln_delta`] in `mu`.
///
/// # Errors
/// When epsilon is infinite (any mu would do), or when the search fails.
///
/// # Privacy
/// A lower bound: the upper bound on delta meets the target at the returned mu. It is 0 only when the
/// true answer is below the smallest positive number or so.
///
/// Reference: Balle and Wang 2018, Theorem 8, solved for mu.
pub fn max_mu(epsilon: Epsilon, delta: Delta) -> Fallible<f64> {
    let target = ln_delta_down(delta);
    // Two lower bounds: the zCDP conversion, and delta(0) <= mu/sqrt(2 pi).
    let by_rho = (2.0 * zcdp::max_rho_optimal(0.0, epsilon, delta)?).sqrt();
    let start = by_rho.max(delta.value() * LN_SQRT_TAU.exp()) * (1.0 - 1e-9);
    if start == 0.0 {
        return Ok(0.0);
    }
    let e = epsilon.value();
    // There a <= -20, so 1 - delta < 1e-80, less than the gap between 1 and any other double.
    let end = 2.0 * (std::f64::consts::SQRT_2 * e.sqrt() + 20.0);
    let mut guess = start;
    for _ in 0..NEWTON_STEPS {
        let here = profile(guess, e);
        // Newton in ln mu, which stays positive.
        let step = (target - here.ln_delta) / (here.by_mu * guess);
        let next = guess * step.exp();
        if !(next >= start && next < end) {
            break;
        }
        guess = next;
        if step.abs() <= 1e-13 {
            break;
        }
    }
    let root = bisect_near(end, start, guess, WIDTH, |mu| meets(profile(mu, e).ln_delta, target));
    Ok(root.ok_or_else(|| no_root("mu of a Gaussian"))?.holds)
}

/// A mu that is not below that of a Gaussian mechanism of the given rho.
///
/// `mu = sqrt(2 rho)`.
///
/// # Errors
/// When `rho` is negative or NaN.
///
/// # Privacy
/// An upper bound: the smallest double not below, so exact where the root is.
///
/// Reference: Bun and Steinke 2016, Proposition 1.6.
///
/// ```
/// assert_eq!(rhograd::accounting::gaussian::mu_upper_from_rho(0.5).unwrap(), 1.0);
/// ```
pub fn mu_upper_from_rho(rho: f64) -> Fallible<f64> {
    let square = 2.0 * nonnegative("rho", rho)?;
    let root = square.sqrt();
    // The sign of root^2 - square is exact unless it underflows.
    let short = square > 0.0 && (square < 1e-280 || root.mul_add(root, -square) < 0.0);
    Ok(if short { root.next_up() } else { root })
}

/// The smallest epsilon that a Gaussian mechanism of the given rho has at delta.
///
/// [`epsilon`] at `mu = sqrt(2 rho)`.
///
/// # Errors
/// When `rho` is negative or NaN, or when the search fails.
///
/// # Privacy
/// An upper bound, never above [`zcdp::epsilon_optimal`].
///
/// Reference: Balle and Wang 2018, Theorem 8.
pub fn epsilon_from_rho(rho: f64, delta: Delta) -> Fallible<Epsilon> {
    let exact = epsilon(mu_upper_from_rho(rho)?, delta)?;
    // Both are upper bounds for a Gaussian; the smaller one is too.
    let general = zcdp::epsilon_optimal(0.0, rho, delta)?;
    Ok(if general < exact { general } else { exact })
}

/// The logarithm of the exact delta of a Gaussian mechanism of the given rho.
///
/// [`ln_delta`] at `mu = sqrt(2 rho)`.
///
/// # Errors
/// When `rho` is negative or NaN.
///
/// # Privacy
/// An upper bound, never above [`zcdp::ln_delta_optimal`].
///
/// Reference: Balle and Wang 2018, Theorem 8.
pub fn ln_delta_from_rho(rho: f64, epsilon: Epsilon) -> Fallible<f64> {
    let exact = ln_delta(mu_upper_from_rho(rho)?, epsilon)?;
    Ok(exact.min(zcdp::ln_delta_optimal(0.0, rho, epsilon)?))
}

/// The largest rho whose Gaussian mechanism is (epsilon, delta)-DP.
///
/// `mu^2/2` at the mu of [`max_mu`].
///
/// # Errors
/// When epsilon is infinite (any rho would do), or when the search fails.
///
/// # Privacy
/// A lower bound: rounded down until [`epsilon_from_rho`] and [`ln_delta_from_rho`] of the result meet
/// the target too, never below [`zcdp::max_rho_optimal`].
///
/// Reference: Balle and Wang 2018, Theorem 8, solved for mu.
pub fn max_rho(epsilon: Epsilon, delta: Delta) -> Fallible<f64> {
    let mu = max_mu(epsilon, delta)?;
    let start = down(mu * mu / 2.0, 2).max(zcdp::max_rho_optimal(0.0, epsilon, delta)?);
    Ok(crate::accounting::directed::shrink_until(start, |rho| {
        epsilon_from_rho(rho, delta).is_ok_and(|it| it <= epsilon)
            && ln_delta_from_rho(rho, epsilon).is_ok_and(|it| it <= delta.ln())
    }))
}

/// The rho of one Gaussian release.
///
/// `rho = sensitivity^2 / (2 sigma^2)`.
///
/// # Errors
/// When either number is not finite and positive.
///
/// # Privacy
/// An upper bound: rounded up.
///
/// Reference: Bun and Steinke 2016, Proposition 1.6; Mironov 2017, Corollary 3.
pub fn rho(sensitivity: f64, sigma: f64) -> Fallible<f64> {
    let ratio = (positive("sensitivity", sensitivity)? / positive("sigma", sigma)?).next_up();
    Ok(((ratio * ratio).next_up() / 2.0).next_up())
}

/// The total rho of adaptive Gaussian releases, exactly; one mu per release.
///
/// `rho = sum mu_t^2 / 2`; the composition is one Gaussian mechanism with `mu = sqrt(2 rho)`.
///
/// # Errors
/// When a `mu` is negative, infinite or NaN.
///
/// # Privacy
/// Exact; [`Rho::upper`] rounds it up for the conversions.
///
/// Reference: Dong, Roth and Su 2022, Corollary 3.3.
///
/// ```
/// use rhograd::{accounting::gaussian, privacy::Rho};
/// assert_eq!(gaussian::compose(&[3.0, 4.0]).unwrap(), Rho::from_f64(12.5).unwrap());
/// ```
pub fn compose(mus: &[f64]) -> Fallible<Rho> {
    let half_square = |&mu: &f64| {
        let exact = Dyadic::from_f64(nonnegative("mu", mu)?)
            .ok_or_else(|| Error::parameter("mu", "is infinite", "use a finite number"))?;
        let square = exact.numerator() * exact.numerator();
        Ok(Rho::exact(Dyadic::new(square, 2 * exact.log2_denominator() + 1)))
    };
    mus.iter().map(half_square).sum::<Fallible<Rho>>()
}

/// Whether an upper bound on `ln delta` meets the target; no answer for NaN.
fn meets(ln_delta: f64, target: f64) -> Option<bool> {
    if ln_delta.is_nan() { None } else { Some(ln_delta <= target) }
}

/// Refuses NaN.
fn checked(value: f64) -> Fallible<f64> {
    if value.is_nan() { Err(Error::numerical("delta of a Gaussian", "the result is not a number")) } else { Ok(value) }
}

/// The failure of a search.
fn no_root(what: &'static str) -> Error {
    Error::numerical(what, "the search found no bracket")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_answered() {
        let (e, d) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
        assert_eq!(ln_delta(0.0, e).unwrap(), f64::NEG_INFINITY);
        assert_eq!(ln_delta(f64::INFINITY, e).unwrap(), 0.0);
        assert_eq!(ln_delta(f64::INFINITY, Epsilon::INFINITE).unwrap(), f64::NEG_INFINITY);
        assert_eq!(epsilon(0.0, d).unwrap().value(), 0.0);
        assert_eq!(epsilon(f64::INFINITY, d).unwrap(), Epsilon::INFINITE);
        assert_eq!(epsilon_from_rho(f64::INFINITY, d).unwrap(), Epsilon::INFINITE);
        assert!(max_mu(Epsilon::INFINITE, d).is_err() && max_rho(Epsilon::INFINITE, d).is_err());
        for bad in [f64::NAN, -1.0, f64::NEG_INFINITY] {
            assert!(ln_delta(bad, e).is_err() && epsilon(bad, d).is_err() && mu_upper_from_rho(bad).is_err());
            assert!(rho(bad, 1.0).is_err() && rho(1.0, bad).is_err() && compose(&[1.0, bad]).is_err());
        }
    }

    #[test]
    fn mu_is_the_smallest_double_not_below() {
        for rho in [0.5, 2.0, 0.1, 1e-300, 5e-324, 3e7, 1e308] {
            let mu = mu_upper_from_rho(rho).unwrap();
            let (whole, exact) = (compose(&[mu]).map_or(Rho::zero(), |it| it), Rho::from_f64(rho).unwrap());
            assert!(mu == f64::INFINITY || whole >= exact, "{rho}");
        }
        assert_eq!(mu_upper_from_rho(2.0).unwrap(), 2.0);
    }

    #[test]
    fn both_forms_of_the_fall_agree_where_they_meet() {
        for a in [0.0, 0.3, 1.0, 2.0, 10.0, 1e3] {
            let mu = 0.5 * f64::max(a, 1.0);
            let (mean, difference) = (mean_fall(a, mu) * mu, mills(a) - mills(a + mu));
            assert!((mean / difference - 1.0).abs() < 6e-15, "{a}: {mean} {difference}");
        }
    }
}
