//! The conversions of concentrated privacy, in numbers.

use crate::accounting::directed::{UNIT, add_up, gap, ln_delta_down, nonnegative, shrink_until};
use crate::error::{Error, Fallible};
use crate::num::root::bisect;
use crate::num::round::{down, up};
use crate::privacy::{Delta, Epsilon};

/// How closely the minimising order is located; the bound depends on it only to second order.
const ORDER_WIDTH: f64 = 1e-10;

/// The Renyi divergence bound of an (xi, rho)-zCDP mechanism at one order.
///
/// `xi + rho alpha`.
///
/// # Errors
/// When `xi` or `rho` is negative or NaN, or `alpha` is not a finite number above 1.
///
/// # Privacy
/// An upper bound: rounded up.
///
/// Reference: Bun and Steinke 2016, Definition 8.1; Mironov 2017, Corollary 3 for the Gaussian.
pub fn renyi(xi: f64, rho: f64, alpha: f64) -> Fallible<f64> {
    let (xi, rho) = (nonnegative("xi", xi)?, nonnegative("rho", rho)?);
    if !(alpha > 1.0 && alpha.is_finite()) {
        return Err(Error::parameter("alpha", format!("is {alpha}, must be above 1"), "use a finite order such as 2"));
    }
    Ok(if rho == 0.0 { xi } else { add_up(xi, (rho * alpha).next_up()) })
}

/// The rho from the first to the last of three data sets, from that between the first two and that between the last two.
///
/// `(sqrt rho + sqrt rho')^2`: distances in the square root of rho add up, as for normal laws, where they are distances of means. For a group of
/// rows of which each has a rho of its own, apply it again and again; `k` equal ones give `k^2 rho`, as [`Zcdp::group`](super::Zcdp::group).
///
/// # Errors
/// When either is negative or NaN.
///
/// # Privacy
/// An upper bound, rounded up. It holds for mechanisms with a rho alone, without a constant part, under any relation.
///
/// # Reference
/// Bun and Steinke 2016, Lemma 5.2 at the best order.
///
/// ```
/// use rhograd::accounting::zcdp;
/// assert!((zcdp::chained(0.09, 0.16).unwrap() - 0.49).abs() < 1e-15);
/// ```
pub fn chained(rho: f64, other: f64) -> Fallible<f64> {
    let (rho, other) = (nonnegative("rho", rho)?, nonnegative("rho", other)?);
    if rho == 0.0 || other == 0.0 {
        return Ok(rho.max(other));
    }
    let both = up(rho.sqrt() * other.sqrt(), 3);
    Ok(up(up(rho + other, 1) + 2.0 * both, 1))
}

/// The epsilon of an (xi, rho)-zCDP mechanism by the classical conversion.
///
/// `epsilon = xi + rho + 2 sqrt(rho L)`.
///
/// # Errors
/// When `xi` or `rho` is negative or NaN.
///
/// # Privacy
/// An upper bound: rounded up. Infinite `xi` or `rho` give infinity; `rho = 0` gives `xi`.
///
/// Reference: Bun and Steinke 2016, Lemma 3.5.
///
/// ```
/// use rhograd::{accounting::zcdp, privacy::Delta};
/// # fn main() -> rhograd::error::Fallible<()> {
/// let epsilon = zcdp::epsilon_classical(0.0, 0.5, Delta::new(1e-5)?)?;
/// assert!((epsilon.value() - 5.298525912188).abs() < 1e-11);
/// # Ok(())
/// # }
/// ```
pub fn epsilon_classical(xi: f64, rho: f64, delta: Delta) -> Fallible<Epsilon> {
    let (xi, rho) = (nonnegative("xi", xi)?, nonnegative("rho", rho)?);
    if rho == 0.0 {
        return Epsilon::new(xi);
    }
    // The product of the roots cannot overflow or underflow, unlike the root of the product.
    let spread = 2.0 * (rho.sqrt() * (-ln_delta_down(delta)).sqrt());
    // Three roundings of positive terms lose at most four ulps; xi is added with an exact error term.
    Epsilon::new(add_up(xi, up(rho + spread, 5)))
}

/// The logarithm of the delta of an (xi, rho)-zCDP mechanism by the classical conversion.
///
/// `ln delta = -(epsilon - xi - rho)^2 / (4 rho)` for `epsilon >= xi + rho`, else 0.
///
/// # Errors
/// When `xi` or `rho` is negative or NaN.
///
/// # Privacy
/// An upper bound, at most 0: rounded up. It is `-inf` only where delta is truly 0: for infinite
/// epsilon, and for `rho = 0` with `epsilon >= xi`.
///
/// Reference: Bun and Steinke 2016, Lemma 3.5.
pub fn ln_delta_classical(xi: f64, rho: f64, epsilon: Epsilon) -> Fallible<f64> {
    let (xi, rho) = (nonnegative("xi", xi)?, nonnegative("rho", rho)?);
    if epsilon == Epsilon::INFINITE {
        return Ok(f64::NEG_INFINITY);
    }
    let excess = gap(xi, rho, epsilon.value());
    if rho == 0.0 && excess <= 0.0 {
        return Ok(f64::NEG_INFINITY);
    }
    if excess >= 0.0 {
        return Ok(0.0);
    }
    let half_root = excess / (2.0 * rho.sqrt());
    Ok(outward(-half_root * half_root, 16.0 * UNIT * half_root * half_root))
}

/// The largest rho whose classical conversion meets (epsilon, delta), next to a given xi.
///
/// `rho = (e / (sqrt(e + L) + sqrt(L)))^2` with `e = epsilon - xi`.
///
/// # Errors
/// When `xi` is negative or NaN, or epsilon is infinite (any rho would do).
///
/// # Privacy
/// A lower bound: rounded down until [`epsilon_classical`] and [`ln_delta_classical`] of the result
/// meet the target too. It is 0 when no positive rho does, which includes `xi > epsilon`.
///
/// Reference: Bun and Steinke 2016, Lemma 3.5, solved for rho.
pub fn max_rho_classical(xi: f64, epsilon: Epsilon, delta: Delta) -> Fallible<f64> {
    let room = room(xi, epsilon)?;
    if room <= 0.0 {
        return Ok(0.0);
    }
    let l = -ln_delta_down(delta);
    // The difference (sqrt(e+L) - sqrt L)^2 would cancel; the quotient does not.
    let root = room / ((room + l).sqrt() + l.sqrt());
    Ok(shrink_until(down(root * root, 16), |rho| {
        epsilon_classical(xi, rho, delta).is_ok_and(|it| it <= epsilon)
            && ln_delta_classical(xi, rho, epsilon).is_ok_and(|it| it <= delta.ln())
    }))
}

/// The epsilon of an (xi, rho)-zCDP mechanism, minimised over real orders.
///
/// `epsilon = min over alpha > 1 of xi + rho alpha + ln(1 - 1/alpha) + (L - ln alpha)/(alpha - 1)`, or
/// 0 if that is negative; the minimiser solves `rho (alpha-1)^2 + ln alpha = L`.
///
/// # Errors
/// When `xi` or `rho` is negative or NaN.
///
/// # Privacy
/// An upper bound: rounded up, never above [`epsilon_classical`].
///
/// Reference: Canonne, Kamath and Steinke 2020, Proposition 12.
///
/// ```
/// use rhograd::{accounting::zcdp, privacy::Delta};
/// # fn main() -> rhograd::error::Fallible<()> {
/// let epsilon = zcdp::epsilon_optimal(0.0, 0.5, Delta::new(1e-5)?)?;
/// assert!((epsilon.value() - 4.728386984943).abs() < 1e-11);
/// # Ok(())
/// # }
/// ```
pub fn epsilon_optimal(xi: f64, rho: f64, delta: Delta) -> Fallible<Epsilon> {
    let classical = epsilon_classical(xi, rho, delta)?;
    if classical.value() == 0.0 || classical == Epsilon::INFINITE {
        return Ok(classical);
    }
    let l = -ln_delta_down(delta);
    let u = order_above_one_for_epsilon(rho, l);
    let (log_ratio, tail) = ((1.0 / u).ln_1p(), l - u.ln_1p());
    let value = rho * (1.0 + u) - log_ratio + tail / u;
    let size = rho * (1.0 + u) + log_ratio + (l + u.ln_1p()) / u;
    // A NaN (possible only where terms overflow) falls through to the classical bound.
    let excess = value + 8.0 * UNIT * size;
    let best = if excess.is_nan() { classical.value() } else { add_up(xi, excess).min(classical.value()) };
    Epsilon::new(best.max(0.0))
}

/// The logarithm of the delta of an (xi, rho)-zCDP mechanism, minimised over real orders.
///
/// `ln delta = min over u > 0 of u (xi + rho (1+u) - epsilon) + u ln(u/(1+u)) - ln(1+u)`, `u = alpha-1`;
/// the minimiser solves `(2u+1) rho + xi - epsilon + ln(u/(1+u)) = 0`.
///
/// # Errors
/// When `xi` or `rho` is negative or NaN.
///
/// # Privacy
/// An upper bound, at most 0: rounded up, never above [`ln_delta_classical`]. It is `-inf` only where
/// delta is truly 0.
///
/// Reference: Canonne, Kamath and Steinke 2020, Proposition 12.
pub fn ln_delta_optimal(xi: f64, rho: f64, epsilon: Epsilon) -> Fallible<f64> {
    let classical = ln_delta_classical(xi, rho, epsilon)?;
    let excess = gap(xi, rho, epsilon.value());
    // Above 690 the bound is 1 - e^-690: rounding it up to 1 keeps clear of subnormal numbers.
    if classical == f64::NEG_INFINITY || excess >= 690.0 {
        return Ok(classical);
    }
    let u = order_above_one_for_delta(rho, excess);
    let (log_ratio, log_order) = ((1.0 / u).ln_1p(), u.ln_1p());
    let value = u * (excess + rho * u - log_ratio) - log_order;
    let size = u * (excess.abs() + rho * u + log_ratio) + log_order;
    let bound = outward(value, 8.0 * UNIT * size);
    Ok(if bound.is_nan() { classical } else { bound.min(classical) })
}

/// The largest rho whose optimal-order conversion meets (epsilon, delta), next to a given xi.
///
/// `rho = max over u > 0 of (e + ln(1 + 1/u) - (L - ln(1+u))/u) / (1+u)` with `e = epsilon - xi` and
/// `u = alpha - 1`: each order that meets the target bounds rho, and the best order solves
/// `(L - ln(1+u)) (1+2u)/u^2 = e + ln(1 + 1/u)`.
///
/// # Errors
/// When `xi` is negative or NaN, or epsilon is infinite (any rho would do).
///
/// # Privacy
/// A lower bound: rounded down until [`epsilon_optimal`] and [`ln_delta_optimal`] of the result meet
/// the target too, never below [`max_rho_classical`]. It is 0 when no positive rho does.
///
/// Reference: Canonne, Kamath and Steinke 2020, Proposition 12, solved for rho.
pub fn max_rho_optimal(xi: f64, epsilon: Epsilon, delta: Delta) -> Fallible<f64> {
    let room = room(xi, epsilon)?;
    let l = -ln_delta_down(delta);
    let end = l.exp_m1().min(f64::MAX);
    let root = bisect(1e-160, end, ORDER_WIDTH, |u| {
        Some((l - u.ln_1p()) * ((1.0 + 2.0 * u) / u) / u <= room + (1.0 / u).ln_1p())
    });
    let u = root.map_or(end, |it| it.holds);
    let (log_ratio, tail) = ((1.0 / u).ln_1p(), l - u.ln_1p());
    let value = (room + log_ratio - tail / u) / (1.0 + u);
    let size = (room.abs() + log_ratio + (l + u.ln_1p()) / u) / (1.0 + u);
    // Both candidates are true lower bounds, so the larger one is.
    let start = (value - 8.0 * UNIT * size).max(max_rho_classical(xi, epsilon, delta)?);
    Ok(shrink_until(start, |rho| {
        epsilon_optimal(xi, rho, delta).is_ok_and(|it| it <= epsilon)
            && ln_delta_optimal(xi, rho, epsilon).is_ok_and(|it| it <= delta.ln())
    }))
}

/// `alpha - 1` at the root of `rho (alpha-1)^2 + ln alpha = L`, for `rho > 0`.
fn order_above_one_for_epsilon(rho: f64, l: f64) -> f64 {
    // With u = alpha - 1, both rho u^2 <= L and ln(1+u) <= L at the root.
    let end = ((l / rho).sqrt() * (1.0 + 1e-9)).min(l.exp_m1() * (1.0 + 1e-9)).min(f64::MAX);
    let root = bisect(0.0, end, ORDER_WIDTH, |u| Some(rho * u * u + u.ln_1p() >= l));
    root.map_or(end, |it| it.holds)
}

/// `alpha - 1` at the root of `2 rho (alpha-1) + excess = ln(alpha/(alpha-1))`, for `rho > 0`.
fn order_above_one_for_delta(rho: f64, excess: f64) -> f64 {
    let end = ((excess.abs() + 1.0) / (2.0 * rho) + 2.0).min(f64::MAX);
    let root = bisect(0.0, end, ORDER_WIDTH, |u| Some(2.0 * rho * u + excess >= (1.0 / u).ln_1p()));
    root.map_or(end, |it| it.holds)
}

/// The order at which [`epsilon_optimal`] is taken.
///
/// The root of `rho (alpha-1)^2 + ln alpha = L`.
///
/// # Errors
/// When `rho` is negative or NaN.
///
/// # Privacy
/// Information only, accurate to about ten digits: every order gives a valid bound.
///
/// Reference: Canonne, Kamath and Steinke 2020, Proposition 12.
pub fn order_for_epsilon(rho: f64, delta: Delta) -> Fallible<f64> {
    Ok(1.0 + order_above_one_for_epsilon(nonnegative("rho", rho)?, -ln_delta_down(delta)))
}

/// The order at which [`ln_delta_optimal`] is taken.
///
/// The root of `(2 alpha - 1) rho + xi - epsilon + ln(1 - 1/alpha) = 0`.
///
/// # Errors
/// When `xi` or `rho` is negative or NaN.
///
/// # Privacy
/// Information only, accurate to about ten digits: every order gives a valid bound.
///
/// Reference: Canonne, Kamath and Steinke 2020, Proposition 12.
pub fn order_for_delta(xi: f64, rho: f64, epsilon: Epsilon) -> Fallible<f64> {
    let (xi, rho) = (nonnegative("xi", xi)?, nonnegative("rho", rho)?);
    Ok(1.0 + order_above_one_for_delta(rho, gap(xi, rho, epsilon.value())))
}

/// `epsilon - xi` for a finite epsilon; a single rounding, absorbed by the shrinking of the result.
fn room(xi: f64, epsilon: Epsilon) -> Fallible<f64> {
    let xi = nonnegative("xi", xi)?;
    if epsilon == Epsilon::INFINITE {
        return Err(Error::parameter("epsilon", "is infinite, so any rho meets it", "use a finite epsilon"));
    }
    Ok(epsilon.value() - xi)
}

/// A computed logarithm of delta moved up by `margin` and kept within the finite nonpositive numbers.
///
/// An overflow to `-inf` would claim delta = 0, so it becomes the most negative finite number.
pub(crate) fn outward(ln_delta: f64, margin: f64) -> f64 {
    if ln_delta == f64::NEG_INFINITY {
        return -f64::MAX;
    }
    let moved = ln_delta + margin;
    if moved.is_nan() { moved } else { moved.clamp(-f64::MAX, 0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(value: f64) -> Delta {
        Delta::new(value).unwrap()
    }

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    #[test]
    fn edges_are_answered() {
        let d = delta(1e-6);
        assert_eq!(epsilon_classical(0.0, 0.0, d).unwrap(), epsilon(0.0));
        assert_eq!(epsilon_optimal(0.0, 0.0, d).unwrap(), epsilon(0.0));
        assert_eq!(epsilon_optimal(0.0, f64::INFINITY, d).unwrap(), Epsilon::INFINITE);
        assert_eq!(epsilon_optimal(f64::INFINITY, 1.0, d).unwrap(), Epsilon::INFINITE);
        for bad in [f64::NAN, -1.0, f64::NEG_INFINITY] {
            assert!(epsilon_classical(bad, 1.0, d).is_err() && epsilon_optimal(0.0, bad, d).is_err());
            assert!(ln_delta_classical(bad, 1.0, epsilon(1.0)).is_err());
            assert!(ln_delta_optimal(0.0, bad, epsilon(1.0)).is_err());
            assert!(max_rho_classical(bad, epsilon(1.0), d).is_err());
            assert!(max_rho_optimal(bad, epsilon(1.0), d).is_err());
        }
        assert!(max_rho_optimal(0.0, Epsilon::INFINITE, d).is_err());
    }

    #[test]
    fn delta_is_zero_only_where_it_is() {
        for f in [ln_delta_classical, ln_delta_optimal] {
            assert_eq!(f(0.0, 0.0, epsilon(0.0)).unwrap(), f64::NEG_INFINITY);
            assert_eq!(f(1.0, 0.0, epsilon(1.0)).unwrap(), f64::NEG_INFINITY);
            assert_eq!(f(1.0, 1.0, Epsilon::INFINITE).unwrap(), f64::NEG_INFINITY);
            assert_eq!(f(0.0, 5e-324, epsilon(1e300)).unwrap(), -f64::MAX);
            assert_eq!(f(0.0, f64::INFINITY, epsilon(1.0)).unwrap(), 0.0);
        }
        // Pure 2-DP is (1, 1 - 1/e)-DP: the optimal order still answers where the classical bound is 1.
        let pure = ln_delta_optimal(2.0, 0.0, epsilon(1.0)).unwrap();
        assert!((pure - (1.0 - (-1f64).exp()).ln()).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_granted_without_room() {
        assert_eq!(max_rho_classical(2.0, epsilon(1.0), delta(1e-6)).unwrap(), 0.0);
        assert_eq!(max_rho_optimal(2.0, epsilon(1.0), delta(1e-6)).unwrap(), 0.0);
        assert!(max_rho_optimal(0.0, epsilon(0.0), delta(1e-6)).unwrap() > 0.0);
    }

    #[test]
    fn renyi_is_linear_in_the_order() {
        assert!((renyi(0.0, 0.125, 8.0).unwrap() - 1.0).abs() < 1e-15);
        assert!(renyi(0.0, 0.125, 1.0).is_err() && renyi(0.0, 1.0, f64::NAN).is_err());
    }
}
