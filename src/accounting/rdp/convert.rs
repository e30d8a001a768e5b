//! From a Renyi curve to (epsilon, delta), minimised over real orders.
//!
//! Every order gives a valid bound, so an inexact minimiser only costs tightness. Write `u = alpha - 1`
//! and `L = ln(1/delta)`.

use crate::accounting::directed::{UNIT, ln_delta_down, nonnegative, order};
use crate::accounting::zcdp::outward;
use crate::error::{Error, Fallible};
use crate::num::minimize::scan_then_golden;
use crate::privacy::{Delta, Epsilon};

/// What bounds the Renyi divergence at every real order.
pub trait Renyi {
    /// The bound at an order, see [`super::RdpCurve::at`].
    ///
    /// # Errors
    /// When a parameter is outside its range or `alpha` is below 1.
    fn divergence(&self, alpha: f64) -> Fallible<f64>;
}

/// How one order becomes (epsilon, delta).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `epsilon = r + L/(alpha-1)`.
    Mironov,
    /// `epsilon = r + ln(1 - 1/alpha) + (L - ln alpha)/(alpha-1)`, never worse.
    Improved,
}

/// The best bound found and the order that gave it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// The bound.
    pub value: f64,
    /// The order.
    pub alpha: f64,
}

/// Smallest and largest `alpha - 1` tried, and the number of grid points between.
const ORDERS: (f64, f64, u32) = (1e-5, 1e7, 193);

/// The epsilon at delta that one (order, divergence) pair implies.
///
/// See [`Form`]; at least 0.
///
/// # Errors
/// When `alpha` is not a finite number above 1 or `renyi` is negative or NaN.
///
/// # Privacy
/// An upper bound, rounded up.
///
/// Reference: Mironov 2017, Proposition 3; Canonne, Kamath and Steinke 2020, Proposition 12.
pub fn epsilon_at_order(alpha: f64, renyi: f64, delta: Delta, form: Form) -> Fallible<f64> {
    let (u, r) = (above_one(alpha)?, nonnegative("renyi divergence", renyi)?);
    let l = -ln_delta_down(delta);
    let (value, size) = match form {
        Form::Mironov => (r + l / u, r + l / u),
        Form::Improved => {
            let (log_ratio, log_order) = ((1.0 / u).ln_1p(), u.ln_1p());
            (r - log_ratio + (l - log_order) / u, r + log_ratio + (l + log_order) / u)
        }
    };
    let bound = value + 8.0 * UNIT * size;
    Ok(if bound.is_nan() { f64::INFINITY } else { bound.max(0.0) })
}

/// The logarithm of delta at epsilon that one (order, divergence) pair implies.
///
/// Mironov: `(alpha-1)(r - epsilon)`; improved: `(alpha-1)(r - epsilon + ln(1 - 1/alpha)) - ln alpha`; at
/// most 0.
///
/// # Errors
/// When `alpha` is not a finite number above 1 or `renyi` is negative or NaN.
///
/// # Privacy
/// An upper bound, rounded up.
///
/// Reference: Mironov 2017, Proposition 3; Canonne, Kamath and Steinke 2020, Proposition 12.
pub fn ln_delta_at_order(alpha: f64, renyi: f64, epsilon: Epsilon, form: Form) -> Fallible<f64> {
    let (u, r) = (above_one(alpha)?, nonnegative("renyi divergence", renyi)?);
    if r == f64::INFINITY {
        return Ok(0.0);
    }
    if epsilon == Epsilon::INFINITE {
        return Ok(f64::NEG_INFINITY);
    }
    let e = epsilon.value();
    let (value, size) = match form {
        Form::Mironov => (u * (r - e), u * (r + e)),
        Form::Improved => {
            let (log_ratio, log_order) = ((1.0 / u).ln_1p(), u.ln_1p());
            (u * (r - e - log_ratio) - log_order, u * (r + e + log_ratio) + log_order)
        }
    };
    let bound = outward(value, 8.0 * UNIT * size);
    Ok(if bound.is_nan() { 0.0 } else { bound })
}

/// The smallest epsilon at delta over all real orders.
///
/// [`epsilon_at_order`], scanned over a grid of `ln(alpha - 1)` and refined by golden section; 0 also
/// where the total variation `sqrt(1 - e^{-r})` of the smallest order is at most delta.
///
/// # Errors
/// When the curve has a parameter outside its range.
///
/// # Privacy
/// An upper bound; infinite when no order tried has a finite divergence.
///
/// Reference: Canonne, Kamath and Steinke 2020, Proposition 12; Bretagnolle and Huber 1979.
///
/// ```
/// use rhograd::accounting::{notion::RdpCurve, rdp::{self, Component, Form}};
/// use rhograd::privacy::Delta;
/// # fn main() -> rhograd::error::Fallible<()> {
/// let curve = RdpCurve::from(Component::Gaussian { noise_multiplier: 4.0 }).repeat(10);
/// let best = rdp::epsilon(&curve, Delta::new(1e-6)?, Form::Improved)?;
/// assert!((best.value - 4.010280776192016).abs() < 1e-9);
/// # Ok(())
/// # }
/// ```
pub fn epsilon(curve: &impl Renyi, delta: Delta, form: Form) -> Fallible<Best> {
    let (low, high, points) = ORDERS;
    let first = curve.divergence(1.0 + low)?;
    let square = delta.value() * delta.value() * (1.0 - 1e-15);
    if -(-first).exp_m1() <= square && first < 1.0 && (square > 1e-290 || first == 0.0) {
        return Ok(Best { value: 0.0, alpha: 1.0 + low });
    }
    let best = scan_then_golden(low, high, points, |u| {
        let alpha = 1.0 + u;
        epsilon_at_order(alpha, curve.divergence(alpha)?, delta, form)
    })?;
    // The infinite order bounds every mechanism with bounded loss.
    let pure = curve.divergence(f64::INFINITY)?;
    Ok(if pure < best.value {
        Best { value: pure, alpha: f64::INFINITY }
    } else {
        Best { value: best.value, alpha: 1.0 + best.at }
    })
}

/// The smallest logarithm of delta at epsilon over all real orders.
///
/// [`ln_delta_at_order`], scanned and refined as in [`epsilon`]; at most the logarithm of the total variation, `ln sqrt(1 - e^{-r})` for the
/// divergence `r` of the smallest order.
///
/// # Errors
/// When the curve has a parameter outside its range.
///
/// # Privacy
/// An upper bound, at most 0; `-inf` only where the largest loss is at most epsilon.
///
/// Reference: Canonne, Kamath and Steinke 2020, Proposition 12; Bretagnolle and Huber 1979.
pub fn ln_delta(curve: &impl Renyi, epsilon: Epsilon, form: Form) -> Fallible<Best> {
    if curve.divergence(f64::INFINITY)? <= epsilon.value() {
        return Ok(Best { value: f64::NEG_INFINITY, alpha: f64::INFINITY });
    }
    let (low, high, points) = ORDERS;
    let best = scan_then_golden(low, high, points, |u| {
        let alpha = 1.0 + u;
        ln_delta_at_order(alpha, curve.divergence(alpha)?, epsilon, form)
    })?;
    let best = Best { value: best.value.min(0.0), alpha: 1.0 + best.at };
    let variation = Best { value: ln_variation(curve.divergence(1.0 + low)?), alpha: 1.0 + low };
    Ok(if form == Form::Improved && variation.value < best.value { variation } else { best })
}

/// `ln sqrt(1 - e^{-r})`, rounded up: at most so large is the logarithm of the total variation, and so of delta at every epsilon.
fn ln_variation(renyi: f64) -> f64 {
    let ln = (-(-renyi).exp_m1()).ln() / 2.0;
    // Rounding of the exponential shows as it is where its logarithm is near 0.
    (ln + 4.0 * UNIT * (1.0 + ln.abs())).min(0.0)
}

/// The smallest epsilon at delta over the listed orders only.
///
/// [`epsilon_at_order`] at each; the first best one wins.
///
/// # Errors
/// When no order is given, one is not a finite number above 1, or the curve has a bad parameter.
///
/// # Privacy
/// An upper bound.
///
/// Reference: as for [`epsilon_at_order`].
pub fn epsilon_over_orders(values: &[(f64, f64)], delta: Delta, form: Form) -> Fallible<Best> {
    let mut best = Best { value: f64::INFINITY, alpha: f64::NAN };
    for &(alpha, renyi) in values {
        let value = epsilon_at_order(alpha, renyi, delta, form)?;
        if best.alpha.is_nan() || value < best.value {
            best = Best { value, alpha };
        }
    }
    if best.alpha.is_nan() {
        return Err(Error::parameter("orders", "are empty", "list at least one order above 1"));
    }
    Ok(best)
}

/// `alpha - 1`, exactly, for a finite order above 1.
fn above_one(alpha: f64) -> Fallible<f64> {
    let alpha = order(alpha)?;
    if alpha > 1.0 && alpha.is_finite() {
        return Ok(alpha - 1.0);
    }
    Err(Error::parameter("alpha", format!("is {alpha}, must be finite and above 1"), "use an order such as 2"))
}
