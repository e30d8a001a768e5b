//! Renyi divergences of the Poisson-sampled Gaussian mechanism at real orders.
//!
//! With `z` the noise multiplier relative to one row, `P = (1-q) N(0, z^2) + q N(1, z^2)` and
//! `Q = N(0, z^2)`. Writing `w = P/Q - 1`, which has mean 0 under `Q`, the moment is
//! `1 + E_Q[(1+w)^alpha - 1 - alpha w]`: an integral of a nonnegative function, so that a tiny rate
//! costs no digits. The trapezoid rule is spectrally accurate for it: the integrand is analytic in the
//! strip `|Im x| < pi z^2`, so a step of `min(z/16, z^2/2)` errs by less than `e^-36`. Integer orders
//! have a finite sum of positive terms instead.

use super::mechanisms::log_over;
use crate::accounting::directed::{order, positive, probability, raised};
use crate::error::Fallible;
use crate::num::logs::{LnSum, ln_add_exp, ln_choose};
use crate::num::round::up;
use crate::num::special::LN_SQRT_TAU;

/// Nodes of the trapezoid rule before an order is answered by interpolation.
const MAX_NODES: f64 = 30_000.0;
/// Largest integer order whose sum is taken.
const MAX_TERMS: f64 = 4096.0;

/// The two directions of a sampled mechanism.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Directions {
    /// With the row against without it.
    pub remove: f64,
    /// Without the row against with it.
    pub add: f64,
}

impl Directions {
    /// The larger one, which is what a guarantee needs.
    pub fn worst(self) -> f64 {
        self.remove.max(self.add)
    }
}

/// The Renyi divergences of the Poisson-sampled Gaussian mechanism.
///
/// `D_alpha(P||Q)` (remove) and `D_alpha(Q||P)` (add) for the pair of the module page.
///
/// # Errors
/// When `rate` is no probability, `noise_multiplier` not finite and positive, or `alpha` below 1.
///
/// # Privacy
/// Upper bounds under add-remove; exact up to rounding, except that orders too large for the rule are
/// answered by a larger bound (convex interpolation, then Minkowski's inequality). At rate 0 both are
/// 0, at rate 1 both are those of the Gaussian.
///
/// Reference: Mironov, Talwar and Zhang 2019, Theorems 4 and 5, section 3.3.
///
/// ```
/// let r = rhograd::accounting::rdp::poisson_gaussian(0.01, 1.0, 1.5).unwrap();
/// assert!((r.remove - 0.00012725374332745).abs() < 1e-15 && r.add < r.remove);
/// ```
pub fn poisson_gaussian(rate: f64, noise_multiplier: f64, alpha: f64) -> Fallible<Directions> {
    let remove = poisson_gaussian_remove(rate, noise_multiplier, alpha)?;
    if rate == 0.0 || rate == 1.0 || alpha == f64::INFINITY {
        return Ok(Directions { remove, add: remove });
    }
    let z = noise_multiplier;
    let range = (-13.0 * z - (alpha - 1.0), 13.0 * z + 1.0);
    // Where the rule is too long, the other direction bounds this one.
    let add = quadrature(z, fine(z), range, |x| sampled_loss(rate, z, x), |w, u| convex(1.0 - alpha, alpha, w, u))
        .map_or(remove, |mean| rounded(alpha, mean, z).min(remove));
    Ok(Directions { remove, add })
}

/// The larger direction of [`poisson_gaussian`], which is the one of removing a row.
///
/// `D_alpha((1-q) N(0, z^2) + q N(1, z^2) || N(0, z^2))`.
///
/// # Errors
/// As for [`poisson_gaussian`].
///
/// # Privacy
/// An upper bound under add-remove, as for [`poisson_gaussian`].
///
/// Reference: Mironov, Talwar and Zhang 2019, Theorem 5: this direction is never the smaller.
pub fn poisson_gaussian_remove(rate: f64, noise_multiplier: f64, alpha: f64) -> Fallible<f64> {
    let (q, z) = (probability("sampling rate", rate)?, positive("noise multiplier", noise_multiplier)?);
    let a = order(alpha)?;
    let full = super::gaussian(z, a)?;
    if q == 0.0 || q == 1.0 || a == f64::INFINITY {
        return Ok(if q == 0.0 { 0.0 } else { full });
    }
    let bound = full.min(minkowski(q, z, a));
    if a.fract() == 0.0 && (2.0..=MAX_TERMS).contains(&a) {
        return Ok(bound.min(integer_order(q, z, a as u64)));
    }
    let range = (-13.0 * z, 13.0 * z + a);
    match quadrature(z, fine(z), range, |x| sampled_loss(q, z, x), |w, u| convex(a, a, w, u)) {
        Some(mean) => Ok(bound.min(rounded(a, mean, z))),
        None if a <= MAX_TERMS => Ok(bound.min(interpolated(q, z, a))),
        None => Ok(bound),
    }
}

/// The Renyi divergence of the Poisson-sampled Gaussian mechanism under replace-one.
///
/// `D_alpha((1-q) N(0, z^2) + q N(1, z^2) || (1-q) N(0, z^2) + q N(-1, z^2))` with `z` relative to one
/// row; the pair is symmetric.
///
/// # Errors
/// When `rate` is no probability, `noise_multiplier` not finite and positive, or `alpha` below 1.
///
/// # Privacy
/// An upper bound under replace-one, exact up to rounding where the rule is short enough; never above that of the unsampled Gaussian
/// with multiplier `z/2`, nor above that of removing a row plus `-ln(1-q)`, which is nearly exact at large orders.
///
/// Reference: Koskela, Jalko and Honkela 2020, section 5.3 for the pair.
pub fn poisson_gaussian_replace_one(rate: f64, noise_multiplier: f64, alpha: f64) -> Fallible<f64> {
    let (q, z) = (probability("sampling rate", rate)?, positive("noise multiplier", noise_multiplier)?);
    let a = order(alpha)?;
    let full = if z / 2.0 > 0.0 { super::gaussian(z / 2.0, a)? } else { f64::INFINITY };
    if q == 0.0 || q == 1.0 || a == f64::INFINITY {
        return Ok(if q == 0.0 { 0.0 } else { full });
    }
    let loss = |x: f64| {
        let shift = |sign: f64| q * ((2.0 * sign * x - 1.0) / (2.0 * z * z)).exp_m1();
        let (plus, minus) = (shift(1.0), shift(-1.0));
        let difference =
            if (x / z / z).abs() < 1.0 { 2.0 * q * (-0.5 / z / z).exp() * (x / z / z).sinh() } else { plus - minus };
        let ln_base = sampled_ratio(q, z, -x);
        (difference / ln_base.exp(), sampled_ratio(q, z, x) - ln_base, ln_base)
    };
    let range = (-13.0 * z - 2.0, 13.0 * z + 2.0 * a);
    // The quotient grows by (1/cos(t/2))^alpha at height t z^2, so a large order narrows the strip.
    let step = (z / 16.0).min(z * z / 8.0).min(z * z / (6.0 * a.sqrt()));
    // Q is at least (1 - q) N(0, z^2), which is nearly all of it where the divergence of a large order comes from.
    let bound = full.min(up(poisson_gaussian_remove(q, z, a)? - (-q).ln_1p(), 2));
    let mean = quadrature(z, step, range, loss, |w, u| convex(a, a, w, u));
    Ok(mean.map_or(bound, |mean| rounded(a, mean, z).min(bound)))
}

/// `ln(1 - q + q e^{(2x-1)/(2z^2)})`.
fn sampled_ratio(q: f64, z: f64, x: f64) -> f64 {
    let s = (2.0 * x - 1.0) / z / z / 2.0;
    if s >= 700.0 {
        q.ln() + s + ((1.0 - q) / q * (-s).exp()).ln_1p()
    } else if q > 0.5 && s < -0.5 {
        // Here 1 - q is exact; the other form would lose it next to 1.
        ((1.0 - q) + q * s.exp()).ln()
    } else {
        (q * s.exp_m1()).ln_1p()
    }
}

/// `w`, `u = ln(1 + w)` at a point, and the logarithm of the density of the base measure over `Q`.
fn sampled_loss(q: f64, z: f64, x: f64) -> (f64, f64, f64) {
    let s = (2.0 * x - 1.0) / z / z / 2.0;
    (q * s.exp_m1(), sampled_ratio(q, z, x), 0.0)
}

/// The logarithm of `((1+w)^p - 1 - p w) / (alpha - 1)` for `p = alpha` or `p = 1 - alpha`, given
/// `u = ln(1 + w)`; at `alpha = 1` its limit.
fn convex(p: f64, alpha: f64, w: f64, u: f64) -> f64 {
    let b = alpha - 1.0;
    if w.abs() <= 0.1 && (p * w).abs() <= 1.0 {
        // The binomial series without its first two terms: p (p-1) / (alpha-1) = alpha for both p.
        let mut tail = 1.0;
        for k in (3..=28).rev() {
            tail = 1.0 + (p - f64::from(k) + 1.0) * w / f64::from(k) * tail;
        }
        return (alpha / 2.0 * w * w * tail).ln();
    }
    if p * u > 30.0 {
        // Only reached with b > 0: the power dominates.
        return p * u + (-(1.0 + p * w) * (-p * u).exp()).ln_1p() - b.ln();
    }
    let growth = |t: f64| if b * t.abs() < 1e-17 { t } else { (b * t).exp_m1() / b };
    let value = if p >= 1.0 { (1.0 + w) * growth(u) - w } else { growth(-u) + w };
    value.max(0.0).ln()
}

/// The step of the rule for one sampled law against a normal one.
fn fine(z: f64) -> f64 {
    (z / 16.0).min(z * z / 2.0)
}

/// The logarithm of the integral of `exp(f)` against the base measure by the trapezoid rule; `None`
/// when it would take too many nodes.
fn quadrature(
    z: f64,
    step: f64,
    (left, right): (f64, f64),
    loss: impl Fn(f64) -> (f64, f64, f64),
    f: impl Fn(f64, f64) -> f64,
) -> Option<f64> {
    let nodes = ((right - left) / step).ceil();
    if nodes.is_nan() || nodes > MAX_NODES {
        return None;
    }
    let mut sum = LnSum::default();
    for i in 0..=(nodes as u32) {
        let x = left + step * f64::from(i);
        let (w, u, ln_base) = loss(x);
        sum.add(ln_base + f(w, u) - (x / z) * (x / z) / 2.0);
    }
    Some(sum.value() + (step / z).ln() - LN_SQRT_TAU)
}

/// `ln(1 + (alpha-1) e^mean) / (alpha-1)` rounded up by more than the rule and its roundings lose.
fn rounded(alpha: f64, mean: f64, z: f64) -> f64 {
    let b = alpha - 1.0;
    let value = if b > 0.0 && mean + b.ln() > 30.0 {
        (mean + b.ln() + (-mean - b.ln()).exp()) / b
    } else {
        log_over(b, mean.exp())
    };
    // Exponents of size (alpha/z)^2 carry an absolute error in the logarithm of the mean.
    let exponent = (alpha / z + 13.0) * (alpha / z + 13.0);
    raised(value, value * (1e4 + exponent.min(1e9)), 4.0)
}

/// The finite sum at an integer order, `A - 1 = sum_{k>=2} C(a,k) q^k (1-q)^{a-k} (e^{(k^2-k)/(2z^2)} - 1)`.
fn integer_order(q: f64, z: f64, a: u64) -> f64 {
    let (ln_q, ln_rest) = (q.ln(), (-q).ln_1p());
    let mut sum = LnSum::default();
    for k in 2..=a {
        let exponent = (k as f64) * ((k - 1) as f64) / z / z / 2.0;
        let ln_growth = if exponent < 30.0 { exponent.exp_m1().ln() } else { exponent + (-(-exponent).exp()).ln_1p() };
        sum.add(ln_choose(a, k) + k as f64 * ln_q + (a - k) as f64 * ln_rest + ln_growth);
    }
    let b = (a - 1) as f64;
    let moment = sum.value();
    let value = if moment > 30.0 { (moment + (-moment).exp()) / b } else { moment.exp().ln_1p() / b };
    let size = (a as f64) * (1.0 + ln_q.abs() + (a as f64).ln() + a as f64 / z / z / 2.0);
    // An error of size rounding units in ln(A - 1) moves ln A by at most that much of itself or of 1.
    raised(value, value * 64.0 + value.min(1.0 / b) * size, 16.0)
}

/// `ln A` is convex in the order and 0 at order 1, so the chord between integers lies above it.
fn interpolated(q: f64, z: f64, a: f64) -> f64 {
    let (low, high) = (a.floor(), a.ceil());
    let above = (high - 1.0) * integer_order(q, z, high.max(2.0) as u64);
    let below = if low < 2.0 { 0.0 } else { (low - 1.0) * integer_order(q, z, low as u64) };
    let chord = below + (a - low) * (above - below);
    raised(chord / (a - 1.0), (above + below) / (a - 1.0), 16.0)
}

/// `alpha/(alpha-1) ln(1 - q + q e^{(alpha-1)/(2z^2)})`, by the triangle inequality in `L_alpha(Q)`.
fn minkowski(q: f64, z: f64, a: f64) -> f64 {
    let b = a - 1.0;
    let exponent = b / z / z / 2.0;
    let mixed = if exponent < 700.0 {
        (q * exponent.exp_m1()).ln_1p()
    } else {
        ln_add_exp((-q).ln_1p(), q.ln() + exponent) * (1.0 + 1e-12)
    };
    // An exponent carries its rounding into the exponential.
    if b == 0.0 { f64::INFINITY } else { up(a / b * mixed * (1.0 + 1e-12), 8) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_agrees_with_the_sum() {
        for (q, z, a) in [(0.01, 1.0, 2.0), (0.3, 0.5, 12.0), (1e-6, 2.0, 32.0), (0.9, 5.0, 64.0), (0.1, 0.1, 3.0)] {
            let sum = integer_order(q, z, a as u64);
            let range = (-13.0 * z, 13.0 * z + a);
            let rule = rounded(
                a,
                quadrature(z, fine(z), range, |x| sampled_loss(q, z, x), |w, u| convex(a, a, w, u)).unwrap(),
                z,
            );
            assert!((sum / rule - 1.0).abs() < 2e-11, "{q} {z} {a}: {sum:e} {rule:e}");
            assert!(minkowski(q, z, a) * (1.0 + 1e-10) >= sum && interpolated(q, z, a + 0.5) >= sum);
        }
    }

    /// A rule of ten times as many nodes as an order is given.
    #[test]
    fn large_orders_of_a_replaced_row_are_those_of_a_removed_one() {
        for (q, z, a) in [(0.01, 1.0, 300.0), (0.001, 0.7, 260.0), (0.1, 2.0, 2000.0), (1e-4, 0.6, 512.0)] {
            let found = poisson_gaussian_replace_one(q, z, a).unwrap();
            let ln_moment = |x: f64| {
                let base = sampled_ratio(q, z, -x);
                a * (sampled_ratio(q, z, x) - base) + base - (x / z) * (x / z) / 2.0
            };
            let (left, step) = (-13.0 * z - 2.0, (z * z / (6.0 * a.sqrt())).min(z / 16.0));
            let nodes = ((13.0 * z + 2.0 * a - left) / step) as u32;
            assert!(f64::from(nodes) > MAX_NODES, "{q} {z} {a}: {nodes} are few");
            let mut sum = LnSum::default();
            (0..=nodes).for_each(|i| sum.add(ln_moment(left + step * f64::from(i))));
            let truth = (sum.value() + (step / z).ln() - LN_SQRT_TAU) / (a - 1.0);
            assert!(
                found >= truth && found <= truth + 1.01 * q && found <= 1.01 * truth,
                "{q} {z} {a}: {found} {truth}"
            );
        }
    }

    /// References by the trapezoid rule with 40 digits, its step halved until 20 agree.
    #[test]
    fn a_rate_next_to_1_keeps_its_distance_from_it() {
        for (q, z, a, add, both) in [
            (0.999_999_988_037_851_6, 1.052_951_443_945_706_6, 21.0, 9.176_861_184_010_333, 27.562_415_439_276_782),
            (0.999_999_999_999, 1.3, 7.5, 2.218_934_911_159_011, 8.875_739_637_814_181),
            (0.999_999_999, 2.0, 33.25, 4.156_245_926_600_321, 16.609_620_116_400_23),
        ] {
            let found = poisson_gaussian(q, z, a).unwrap().add;
            assert!(found >= add && found <= add * (1.0 + 1e-10), "{q} {z} {a}: {found:e} {add:e}");
            let found = poisson_gaussian_replace_one(q, z, a).unwrap();
            assert!(found >= both && found <= both * (1.0 + 1e-10), "{q} {z} {a}: {found:e} {both:e}");
        }
    }

    #[test]
    fn ends_and_extremes_are_answered() {
        for a in [1.0, 1.0 + 1e-12, 1.3, 2.0, 1e5, 1e300, f64::INFINITY] {
            for z in [1e-300, 1e-3, 0.3, 1.0, 1e4, 1e200] {
                for q in [0.0, 1e-300, 1e-9, 0.5, 1.0 - 1e-16, 1.0] {
                    let r = poisson_gaussian(q, z, a).unwrap();
                    let full = super::super::gaussian(z, a).unwrap();
                    assert!(r.remove >= 0.0 && r.add >= 0.0 && r.worst() <= full, "{q} {z} {a} {r:?}");
                    assert!(q == 0.0 || r.remove > 0.0, "{q} {z} {a}");
                    let both = poisson_gaussian_replace_one(q, z, a).unwrap();
                    assert!(both >= 0.0 && (q == 0.0 || both > 0.0), "{q} {z} {a}");
                }
            }
        }
    }
}
