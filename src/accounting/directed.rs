//! Small pieces of directed arithmetic shared by the conversions.

use crate::error::{Error, Fallible};
use crate::num::logs::{ln_add_exp, ln_one_minus_exp};
use crate::num::round::{down, up};
use crate::privacy::Delta;

/// One unit of rounding error of a double, `2^-53`.
pub(crate) const UNIT: f64 = f64::EPSILON / 2.0;

/// Passes a number that is at least 0 (infinity included) and refuses NaN and negative ones.
pub(crate) fn nonnegative(name: &'static str, value: f64) -> Fallible<f64> {
    if value >= 0.0 {
        // Adding zero turns -0 into 0, whose reciprocal has the sign the formulas expect.
        return Ok(value + 0.0);
    }
    Err(Error::parameter(name, format!("is {value}, must be at least 0"), "use a positive number"))
}

/// Passes a finite number above 0.
pub(crate) fn positive(name: &'static str, value: f64) -> Fallible<f64> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(Error::parameter(name, format!("is {value}, must be finite and above 0"), "use a positive number"))
}

/// `ln delta` rounded down: a bound proved to lie below it certainly lies below delta itself.
pub(crate) fn ln_delta_down(delta: Delta) -> f64 {
    // The library logarithm errs by less than one ulp, and `ln_1p(delta - 1)` has an exact argument.
    down(delta.ln(), 2)
}

/// The rounded sum and its exact error (Knuth 1969); the error is NaN when the sum overflows.
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// `a + b` rounded up, exact when the sum is representable.
pub(crate) fn add_up(a: f64, b: f64) -> f64 {
    let (sum, error) = two_sum(a, b);
    if error <= 0.0 || sum.is_infinite() { sum } else { sum.next_up() }
}

/// `a + b - c` to a few ulps of the result even when the leading digits cancel.
pub(crate) fn gap(a: f64, b: f64, c: f64) -> f64 {
    let (sum, low) = two_sum(a, b);
    if sum.is_infinite() {
        return sum;
    }
    let (difference, lower) = two_sum(sum, -c);
    difference + (low + lower)
}

/// The first of `start`, `start (1 - 2^-52)`, `start (1 - 2^-50)`, ... at which the claim holds, else 0.
///
/// A budget computed from a formula goes through here, so that what is granted also passes the forward
/// conversion that will later be reported.
pub(crate) fn shrink_until(start: f64, mut holds: impl FnMut(f64) -> bool) -> f64 {
    let shrinks = std::iter::once(0.0).chain((0..26).map(|k| 2f64.powi(2 * k - 52)));
    // A NaN or negative start is no budget: no candidate is positive.
    for shrink in shrinks {
        let candidate = start * (1.0 - shrink);
        if candidate > 0.0 && holds(candidate) {
            return candidate;
        }
    }
    0.0
}

/// Passes a finite number at or above 0.
pub(crate) fn finite(name: &'static str, value: f64) -> Fallible<f64> {
    match nonnegative(name, value)? {
        f64::INFINITY => Err(Error::parameter(name, "is infinite", "use a finite number")),
        value => Ok(value),
    }
}

/// Passes a probability, ends included.
pub(crate) fn probability(name: &'static str, value: f64) -> Fallible<f64> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value + 0.0);
    }
    Err(Error::parameter(name, format!("is {value}, must lie between 0 and 1"), "use a probability"))
}

/// Passes an order of a Renyi divergence: at least 1, possibly infinite.
pub(crate) fn order(alpha: f64) -> Fallible<f64> {
    if alpha >= 1.0 {
        return Ok(alpha);
    }
    Err(Error::parameter("alpha", format!("is {alpha}, must be at least 1"), "use an order such as 2"))
}

/// A nonnegative result moved up by `units` rounding errors of `size`, and at least by three doubles.
///
/// `size` bounds the magnitude of every intermediate sum, so that cancellation is covered; the steps
/// cover results that underflow. NaN becomes infinity: a failed bound is no bound.
pub(crate) fn raised(value: f64, size: f64, units: f64) -> f64 {
    let moved = up(value + units * UNIT * size, 3);
    if moved.is_nan() { f64::INFINITY } else { moved.max(0.0) }
}

/// `exp` of an upper bound on a logarithm, rounded up and at most 1; 0 only for `-inf`.
pub(crate) fn delta_from_ln(ln_delta: f64) -> f64 {
    if ln_delta == f64::NEG_INFINITY { 0.0 } else { up(ln_delta.exp(), 2).min(1.0) }
}

/// The logarithm of `1 - (1 - e^a)(1 - e^b)` rounded up, for logarithms `a` and `b` of probabilities.
pub(crate) fn ln_union(a: f64, b: f64) -> f64 {
    if a == f64::NEG_INFINITY || b == f64::NEG_INFINITY {
        return a.max(b);
    }
    let value = ln_add_exp(a, b + ln_one_minus_exp(a));
    if value.is_nan() { 0.0 } else { (value + 8.0 * UNIT * (1.0 + value.abs())).min(0.0) }
}

/// Passes the logarithm of a probability: at most 0, possibly `-inf`.
pub(crate) fn ln_probability(name: &'static str, value: f64) -> Fallible<f64> {
    if value <= 0.0 {
        return Ok(value);
    }
    Err(Error::parameter(name, format!("is {value}, must be at most 0"), "pass the logarithm of a probability"))
}

/// Passes a group size of at least 1.
pub(crate) fn group_size(k: u64) -> Fallible<u64> {
    if k > 0 {
        return Ok(k);
    }
    Err(Error::parameter("group size", "is 0", "use at least 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_round_up_and_only_when_needed() {
        assert_eq!(add_up(1.0, 2.0), 3.0);
        assert_eq!(add_up(1.0, 1e-30), 1f64.next_up());
        assert_eq!(add_up(1.0, -1e-30), 1.0);
        assert_eq!(add_up(f64::MAX, f64::MAX), f64::INFINITY);
        assert_eq!(add_up(f64::MAX, 1.0), f64::INFINITY.next_down().next_up());
    }

    #[test]
    fn gaps_survive_cancellation() {
        assert_eq!(gap(1.0, 1e-20, 1.0), 1e-20);
        assert_eq!(gap(1e300, 5.0, 1e300), 5.0);
        assert_eq!(gap(f64::MAX, f64::MAX, 1.0), f64::INFINITY);
    }

    #[test]
    fn shrinking_ends() {
        assert_eq!(shrink_until(1.0, |_| false), 0.0);
        assert_eq!(shrink_until(f64::NAN, |_| true), 0.0);
        assert_eq!(shrink_until(2.0, |x| x <= 2.0), 2.0);
        assert!(shrink_until(2.0, |x| x < 1.999) > 1.9);
    }
}
