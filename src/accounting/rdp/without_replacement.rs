//! Amplification by sampling a fixed number of rows without replacement.

use super::mechanisms::log_over;
use crate::accounting::directed::{order, positive, probability, raised};
use crate::error::Fallible;
use crate::num::logs::{LnSum, ln_choose};
use crate::num::special::LN_SQRT_TAU;

/// Largest integer order whose sum is taken.
const MAX_ORDER: f64 = 1024.0;
/// Largest order whose Gaussian refinement is computed; above it the general bound stands alone.
const MAX_REFINED: u64 = 64;

/// What the bound needs to know about the base mechanism, under replace-one.
pub struct Base<'a> {
    /// Its Renyi divergence at an order.
    pub renyi: &'a dyn Fn(f64) -> Fallible<f64>,
    /// Its largest loss, infinite for Gaussian noise.
    pub largest: f64,
    /// The noise multiplier relative to the replace-one sensitivity, if the base is Gaussian.
    pub gaussian: Option<f64>,
}

/// The Renyi divergence of a mechanism applied to a random subset of fixed size.
///
/// With `g` the sampled fraction and `r` the curve of the base, at integer orders
/// `(a-1) r'(a) <= ln(1 + sum_{j=2}^a g^j C(a,j) t_j)` with
/// `t_2 = min{4(e^{r(2)}-1), e^{r(2)} min{2, (e^{r(inf)}-1)^2}}` and
/// `t_j = e^{(j-1) r(j)} min{2, (e^{r(inf)}-1)^j}`; for Gaussian noise the term `j >= 3` is also at most `4 g^j C(a,j) sqrt(B(2 floor(j/2)) B(2 ceil(j/2)))`, `B(l) = E[(P/Q - 1)^l]`. Between
/// integers `(a-1) r'(a)` is interpolated, being convex.
///
/// # Errors
/// When `fraction` is no probability, `alpha` is below 1 or not a number, or the base fails.
///
/// # Privacy
/// An upper bound under replace-one, never above the base, rounded up.
///
/// Reference: Wang, Balle and Kasiviswanathan 2019, Theorem 9, Theorem 27 and Corollary 10.
pub fn without_replacement(base: &Base<'_>, fraction: f64, alpha: f64) -> Fallible<f64> {
    let bounds = without_replacement_bounds(base, fraction, alpha)?;
    Ok(bounds.refined.map_or(bounds.general, |it| it.min(bounds.general)))
}

/// The bounds of [`without_replacement`] one by one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Theorem 9.
    pub general: f64,
    /// Theorem 27, where the base is Gaussian.
    pub refined: Option<f64>,
}

/// Both bounds of [`without_replacement`], neither above the base.
///
/// # Errors
/// As for [`without_replacement`].
///
/// # Privacy
/// Upper bounds under replace-one, rounded up.
///
/// Reference: Wang, Balle and Kasiviswanathan 2019, Theorems 9 and 27.
pub fn without_replacement_bounds(base: &Base<'_>, fraction: f64, alpha: f64) -> Fallible<Bounds> {
    let g = probability("sampling fraction", fraction)?;
    let alpha = order(alpha)?;
    let full = (base.renyi)(alpha)?;
    let gaussian = base.gaussian.map(|z| positive("noise multiplier", z)).transpose()?;
    if g == 0.0 {
        return Ok(Bounds { general: 0.0, refined: gaussian.map(|_| 0.0) });
    }
    // At order 1 the chord to order 2 is used: r is nondecreasing.
    let alpha = alpha.max(1.0 + 1e-9);
    if g == 1.0 || alpha > MAX_ORDER {
        return Ok(Bounds { general: full, refined: gaussian.map(|_| full) });
    }
    let (low, high) = (alpha.floor(), alpha.ceil());
    let chord = |refined: bool| -> Fallible<f64> {
        let above = moment(base, g, high.max(2.0) as u64, refined)?;
        let below = if low < 2.0 { 0.0 } else { moment(base, g, low as u64, refined)? };
        let value = (below + (alpha - low) * (above - below)) / (alpha - 1.0);
        Ok(raised(value, (above + below) / (alpha - 1.0), 16.0).min(full))
    };
    Ok(Bounds { general: chord(false)?, refined: gaussian.map(|_| chord(true)).transpose()? })
}

/// An upper bound on `(a-1) r'(a)` at an integer order.
fn moment(base: &Base<'_>, g: f64, a: u64, refined: bool) -> Fallible<f64> {
    let loss = if base.largest < 700.0 { base.largest.exp_m1().ln() } else { f64::INFINITY };
    let ln_g = g.ln();
    let mut sum = LnSum::default();
    let mut largest_exponent = 1.0f64;
    let two = (base.renyi)(2.0)?;
    let spread = if two < 700.0 { 4f64.ln() + two.exp_m1().ln() } else { f64::INFINITY };
    sum.add(2.0 * ln_g + ln_choose(a, 2) + spread.min(two + f64::ln(2.0).min(2.0 * loss)));
    let central = match base.gaussian {
        Some(z) if refined && a <= MAX_REFINED => Some(central_moments(z, a)),
        _ => None,
    };
    for j in 3..=a {
        let jf = j as f64;
        let exponent = (jf - 1.0) * (base.renyi)(jf)?;
        let mut term = exponent + f64::ln(2.0).min(jf * loss);
        if let Some(Some(b)) = &central {
            // Indexed by half the order: 2 floor(j/2) and 2 ceil(j/2).
            term = term.min(4f64.ln() + (b[(j / 2) as usize] + b[j.div_ceil(2) as usize]) / 2.0);
        }
        largest_exponent = largest_exponent.max(exponent.min(1e300));
        sum.add(jf * ln_g + ln_choose(a, j) + term);
    }
    let value = sum.value();
    let ln_moment = if value > 30.0 { value + (-value).exp() } else { log_over(1.0, value.exp()) };
    let size = a as f64 * (2.0 + ln_g.abs() + (a as f64).ln()) + largest_exponent;
    Ok(raised(ln_moment, ln_moment * 2e4 + ln_moment.min(1.0) * size, 16.0))
}

/// `ln E_Q[(P/Q - 1)^{2m}]` for `m = 0, 1, ...` up to half of `a` rounded up, by the trapezoid rule on a
/// nonnegative integrand; `None` when it would take too many nodes.
fn central_moments(z: f64, a: u64) -> Option<Vec<f64>> {
    let step = (z / 16.0).min(z * z / 2.0);
    (0..=a.div_ceil(2))
        .map(|m| {
            let l = 2.0 * m as f64;
            // For a wide law the power alone moves the bulk out to sqrt(l) deviations.
            let reach = (14.0 + 1.5 * l.sqrt()) * z;
            let (left, right) = (-reach, l + reach);
            let nodes = ((right - left) / step).ceil();
            if nodes.is_nan() || nodes > 40_000.0 {
                return None;
            }
            let mut sum = LnSum::default();
            for i in 0..=(nodes as u32) {
                let x = left + step * f64::from(i);
                let s = (2.0 * x - 1.0) / z / z / 2.0;
                let ln_power = if m == 0 {
                    0.0
                } else if s < 30.0 {
                    l * s.exp_m1().abs().ln()
                } else {
                    l * (s + (-(-s).exp()).ln_1p())
                };
                sum.add(ln_power - (x / z) * (x / z) / 2.0);
            }
            // Raised by more than the roundings of exponents of size (l/z)^2.
            let value = sum.value() + (step / z).ln() - LN_SQRT_TAU;
            Some(value + 1e-14 * (100.0 + (l / z + 14.0).powi(2)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::rdp;

    #[test]
    fn central_moments_match_their_alternating_sum() {
        let (z, b) = (1.5f64, central_moments(1.5, 8).unwrap());
        for m in 1..=4u64 {
            let l = 2 * m;
            let sum: f64 = (0..=l)
                .map(|i| {
                    let sign = if (l - i) % 2 == 0 { 1.0 } else { -1.0 };
                    sign * ln_choose(l, i).exp() * (i as f64 * (i as f64 - 1.0) / (2.0 * z * z)).exp()
                })
                .sum();
            assert!((b[m as usize] - sum.ln()).abs() < 1e-9 * (1.0 + sum.ln().abs()) + 1e-9, "{m}");
        }
    }

    #[test]
    fn never_above_the_base_and_rising_with_the_fraction() {
        let renyi = |a: f64| rdp::gaussian(2.0, a);
        let base = Base { renyi: &renyi, largest: f64::INFINITY, gaussian: Some(2.0) };
        for a in [1.0, 1.2, 2.0, 3.7, 40.0, 70.5, 5000.0, f64::INFINITY] {
            let mut last = 0.0;
            for g in [0.0, 1e-6, 1e-3, 0.1, 0.6, 1.0] {
                let r = without_replacement(&base, g, a).unwrap();
                assert!(r >= last && r <= renyi(a).unwrap(), "{a} {g}: {r}");
                last = r;
            }
        }
        assert!(without_replacement(&base, 2.0, 2.0).is_err() && without_replacement(&base, 0.5, f64::NAN).is_err());
    }
}
