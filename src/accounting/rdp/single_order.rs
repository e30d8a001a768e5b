//! What a single (order, divergence) pair implies without loss.

use super::convert::{Form, ln_delta_at_order};
use crate::accounting::directed::{nonnegative, order};
use crate::error::Fallible;
use crate::num::logs::ln_add_exp;
use crate::privacy::Epsilon;

/// How far golden section may overestimate a minimum, relatively; its error is of second order.
const SLACK: f64 = 1e-13;

/// The logarithm of the largest delta at epsilon that a bound at one order allows.
///
/// `max{p - e^eps q : p^a q^{1-a} + (1-p)^a (1-q)^{1-a} <= e^{(a-1) r}}`: by data processing a pair of
/// Bernoulli laws is the worst. For a candidate delta the convex function
/// `p^a (p-delta)^{1-a} + (1-p)^a (e^eps - p + delta)^{1-a}` is minimised over p and compared with
/// `e^{(a-1)(r-eps)}`.
///
/// # Errors
/// When `alpha` is not a finite number above 1 or `renyi` is negative or NaN.
///
/// # Privacy
/// An upper bound, at most 0 and never above the improved conversion; raised by `1e-9` relatively.
///
/// Reference: Asoodeh, Liao, Calmon, Kosut and Sankar 2021, the lossless conversion at one order.
///
/// ```
/// use rhograd::{accounting::rdp, privacy::Epsilon};
/// # fn main() -> rhograd::error::Fallible<()> {
/// let ln_delta = rdp::ln_delta_lossless(2.0, 0.5, Epsilon::new(1.0)?)?;
/// assert!((ln_delta.exp() - 0.08970229103580).abs() < 1e-9);
/// # Ok(())
/// # }
/// ```
pub fn ln_delta_lossless(alpha: f64, renyi: f64, epsilon: Epsilon) -> Fallible<f64> {
    let (a, r) = (order(alpha)?, nonnegative("renyi divergence", renyi)?);
    let improved = ln_delta_at_order(a, r, epsilon, Form::Improved)?;
    if improved == f64::NEG_INFINITY || r == f64::INFINITY || r == 0.0 {
        // Without divergence both laws are equal.
        return Ok(if r == 0.0 { f64::NEG_INFINITY } else { improved });
    }
    let e = epsilon.value();
    let allowed = (a - 1.0) * (r - e);
    // The moment exceeds the allowance: no pair reaches this delta.
    let beyond = |ln_delta: f64| {
        let (moment, size) = least_moment(a, e, ln_delta);
        moment - SLACK * (1.0 + size + allowed.abs()) > allowed
    };
    let mut low = improved - 1.0;
    while low > -1e5 && beyond(low) {
        low = low * 2.0 - 1.0;
    }
    let (mut fails, mut holds) = (low, improved);
    if low <= -1e5 || !beyond(improved) {
        return Ok(improved);
    }
    for _ in 0..60 {
        let middle = (fails + holds) / 2.0;
        if beyond(middle) {
            holds = middle;
        } else {
            fails = middle;
        }
    }
    Ok((holds + 1e-9).min(improved))
}

/// The logarithm of the least moment over p at a delta, and the magnitude of its terms.
fn least_moment(a: f64, e: f64, ln_delta: f64) -> (f64, f64) {
    let delta = ln_delta.exp();
    if delta >= 1.0 {
        return (f64::INFINITY, 0.0);
    }
    let top = (-ln_delta.exp_m1()).ln();
    // With y = p - delta: the first term alone is least at (a-1) delta, the second one falls with y.
    let bottom = ((a - 1.0).ln() + ln_delta).min(top);
    let mut size = 0.0f64;
    let mut moment = |ln_y: f64| {
        let y = ln_y.exp();
        let first = a * ln_add_exp(ln_y, ln_delta) - (a - 1.0) * ln_y;
        let rest = 1.0 - delta - y;
        // e^eps - y = (e^eps - 1) + (1 - y), where 1 - y is at least delta.
        let ln_other =
            if e > 30.0 { e + (-y * (-e).exp()).ln_1p() } else { (e.exp_m1() + (rest.max(0.0) + delta)).ln() };
        let second = if rest > 0.0 { a * rest.ln() - (a - 1.0) * ln_other } else { f64::NEG_INFINITY };
        size = size.max((a * ln_y.abs()).min(1e3) + first.abs());
        ln_add_exp(first, second)
    };
    let (mut left, mut right) = (bottom, top);
    let golden = 0.618_033_988_749_894_9;
    let mut least = moment(left).min(moment(right));
    let (mut x, mut y) = (right - golden * (right - left), left + golden * (right - left));
    let (mut at_x, mut at_y) = (moment(x), moment(y));
    for _ in 0..60 {
        least = least.min(at_x).min(at_y);
        if at_x < at_y {
            (right, y, at_y) = (y, x, at_x);
            x = right - golden * (right - left);
            at_x = moment(x);
        } else {
            (left, x, at_x) = (x, y, at_y);
            y = left + golden * (right - left);
            at_y = moment(y);
        }
    }
    (least, size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_on_the_boundary_is_not_excluded() {
        for (p, q, a) in [(0.3f64, 0.1f64, 2.0f64), (1e-6, 1e-9, 5.0), (0.9, 0.2, 1.5), (0.02, 0.001, 40.0)] {
            let moment = p.powf(a) * q.powf(1.0 - a) + (1.0 - p).powf(a) * (1.0 - q).powf(1.0 - a);
            let r = moment.ln() / (a - 1.0);
            for e in [0.0, 0.1, 1.0, 3.0] {
                let delta = p - f64::exp(e) * q;
                let bound = ln_delta_lossless(a, r, Epsilon::new(e).unwrap()).unwrap();
                assert!(delta <= bound.exp() * (1.0 + 1e-9), "{p} {q} {a} {e}: {delta} {}", bound.exp());
            }
        }
    }
}
