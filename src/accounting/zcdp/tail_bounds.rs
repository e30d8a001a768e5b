//! The sharpened conversion of Bun and Steinke's Lemma 3.6, for comparison.
//!
//! With `a = epsilon - xi - rho >= 0` all bounds have the form `e^{-a^2/(4 rho)}` times a factor. The
//! optimal-order conversion of [`zcdp`](crate::accounting::zcdp) is tighter in practice.

use std::f64::consts::PI;

use crate::accounting::directed::{UNIT, add_up, gap, ln_delta_down, nonnegative, positive};
use crate::accounting::zcdp::outward;
use crate::error::{Error, Fallible};
use crate::num::root::bisect;
use crate::num::round::up;
use crate::num::special::erfcx;
use crate::privacy::{Delta, Epsilon};

/// The three bounds on `ln delta` of the lemma and the integral they bound; each at most 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TailBounds {
    /// Factor `sqrt(pi rho)`.
    pub first: f64,
    /// Factor `1/(1 + a/(2 rho))`.
    pub second: f64,
    /// Factor `2/(1 + a/(2 rho) + sqrt((1 + a/(2 rho))^2 + 4/(pi rho)))`, always the smallest.
    pub third: f64,
    /// Factor `sqrt(pi rho) erfcx(sqrt(rho) (1 + a/(2 rho)))`, which is the integral itself.
    pub integral: f64,
}

/// The bounds on `ln delta` of an (xi, rho)-zCDP mechanism at epsilon.
///
/// See [`TailBounds`].
///
/// # Errors
/// When `xi` is negative or NaN, `rho` is not finite and positive, or `epsilon < xi + rho`.
///
/// # Privacy
/// Upper bounds, rounded up.
///
/// Reference: Bun and Steinke 2016, Lemma 3.6.
pub fn ln_delta(xi: f64, rho: f64, epsilon: Epsilon) -> Fallible<TailBounds> {
    let (xi, rho) = (nonnegative("xi", xi)?, positive("rho", rho)?);
    let a = -gap(xi, rho, epsilon.value());
    if !(a >= 0.0 && a.is_finite()) {
        return Err(Error::parameter(
            "epsilon",
            format!("is {}, must be finite and at least xi + rho", epsilon.value()),
            "use a conversion without this condition",
        ));
    }
    let (ratio, half_root) = (1.0 + a / (2.0 * rho), a / (2.0 * rho.sqrt()));
    let exponent = -half_root * half_root;
    let ln_root = 0.5 * (PI * rho).ln();
    let third = 2f64.ln() - (ratio + (ratio * ratio + 4.0 / (PI * rho)).sqrt()).ln();
    let bound = |ln_factor: f64| {
        let value = exponent + ln_factor;
        let moved = outward(value, 32.0 * UNIT * (1.0 + exponent.abs() + ln_factor.abs()));
        if moved.is_nan() { 0.0 } else { moved }
    };
    Ok(TailBounds {
        first: bound(ln_root),
        second: bound(-ratio.ln()),
        third: bound(third),
        integral: bound(ln_root + erfcx(rho.sqrt() * ratio).ln()),
    })
}

/// The epsilon of an (xi, rho)-zCDP mechanism at delta by the first bound.
///
/// `xi + rho + sqrt(4 rho ln(sqrt(pi rho)/delta))` for `delta <= sqrt(pi rho)`, else `xi + rho`.
///
/// # Errors
/// When `xi` is negative or NaN or `rho` is not finite and positive.
///
/// # Privacy
/// An upper bound, rounded up.
///
/// Reference: Bun and Steinke 2016, Lemma 3.6.
pub fn epsilon_first(xi: f64, rho: f64, delta: Delta) -> Fallible<Epsilon> {
    let (xi, rho) = (nonnegative("xi", xi)?, positive("rho", rho)?);
    let (ln_root, l) = (0.5 * (PI * rho).ln(), -ln_delta_down(delta));
    let ln_ratio = up((ln_root + l) + 8.0 * UNIT * (ln_root.abs() + l), 1).max(0.0);
    Epsilon::new(add_up(xi, up(rho + 2.0 * (rho.sqrt() * ln_ratio.sqrt()), 5)))
}

/// The epsilon of an (xi, rho)-zCDP mechanism at delta by the third bound.
///
/// The root in `epsilon >= xi + rho` of the third bound of [`ln_delta`], or `xi + rho`.
///
/// # Errors
/// When `xi` is negative or NaN, `rho` is not finite and positive, or the search fails.
///
/// # Privacy
/// An upper bound: the upper bound on delta meets the target there.
///
/// Reference: Bun and Steinke 2016, Lemma 3.6.
pub fn epsilon_best(xi: f64, rho: f64, delta: Delta) -> Fallible<Epsilon> {
    let start = add_up(nonnegative("xi", xi)?, positive("rho", rho)?);
    let target = ln_delta_down(delta);
    let meets = |e: f64| Epsilon::new(e).and_then(|e| ln_delta(xi, rho, e)).ok().map(|it| it.third <= target);
    if !start.is_finite() || meets(start) == Some(true) {
        return Epsilon::new(start);
    }
    // The factor is at most 1, so the classical conversion closes the bracket.
    let end = up(crate::accounting::zcdp::epsilon_classical(xi, rho, delta)?.value() * (1.0 + 1e-12), 4);
    if !end.is_finite() {
        return Ok(Epsilon::INFINITE);
    }
    let root = bisect(start, end, 1e-15, meets);
    Epsilon::new(root.ok_or_else(|| Error::numerical("Lemma 3.6", "the search found no bracket"))?.holds)
}
