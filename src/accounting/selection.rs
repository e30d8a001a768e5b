//! Choosing the best of a random number of runs.
//!
//! The law of the number of runs must be exactly the stated one and not depend on the data; only the best
//! run is released.

use super::directed::{add_up, nonnegative, raised};
use super::rdp::{Form, Renyi, ln_delta as rdp_ln_delta};
use crate::error::{Error, Fallible};
use crate::num::minimize::scan_then_golden;
use crate::num::round::{down, up};
use crate::privacy::{Epsilon, RunCount};

/// The mean number of runs.
///
/// Truncated negative binomial: `(1/gamma - 1)/ln(1/gamma)` for `eta = 0`, `1/gamma` for `eta = 1`, else
/// `eta (1-gamma)/(gamma (1 - gamma^eta))`; Poisson: its mean.
///
/// # Errors
/// When `eta <= -1`, `gamma` is outside `(0, 1)`, or the Poisson mean is not finite and positive.
///
/// # Privacy
/// Rounded up, as a larger mean costs more.
///
/// Reference: Papernot and Steinke 2022, Definition 1.
pub fn mean_runs(runs: RunCount) -> Fallible<f64> {
    match runs {
        RunCount::Poisson { mean } => super::directed::positive("mean", mean),
        RunCount::TruncatedNegativeBinomial { eta, gamma } => {
            check(eta, gamma)?;
            let ln_inverse = -gamma.ln();
            // -expm1(-eta L) = 1 - gamma^eta; its quotient by eta has the limit L.
            let spread =
                if (eta * ln_inverse).abs() < 1e-16 { ln_inverse } else { -(-eta * ln_inverse).exp_m1() / eta };
            let value = (1.0 - gamma) / gamma / spread;
            Ok(raised(value, value, 32.0).max(1.0))
        }
    }
}

/// The Renyi divergence of the best of a random number of runs of a mechanism.
///
/// Truncated negative binomial: `r(a) + (1+eta) c + ln(mean)/(a-1)` with
/// `c = min over l >= 1 of (1-1/l) r(l) + ln(1/gamma)/l`. Poisson: `r(a) + mean delta + ln(mean)/(a-1)`
/// where the base is (epsilon, delta)-DP with `epsilon = ln(1 + 1/(a-1))`. The last term is not taken
/// below 0.
///
/// # Errors
/// When the law is outside its range (see [`mean_runs`]), `alpha` is below 1, or the base fails.
///
/// # Privacy
/// An upper bound under the relation of the base, rounded up; infinite at order 1.
///
/// Reference: Papernot and Steinke 2022, Theorems 2 and 6.
pub fn renyi(base: &impl Renyi, runs: RunCount, alpha: f64) -> Fallible<f64> {
    let mean = mean_runs(runs)?;
    let one = base.divergence(alpha)?;
    let u = alpha - 1.0;
    if u == 0.0 {
        return Ok(f64::INFINITY);
    }
    let ln_mean = if mean <= 1.0 { 0.0 } else { up(mean.ln(), 1) };
    let growth = if ln_mean == 0.0 { 0.0 } else { up(ln_mean / u, 1) };
    let extra = match runs {
        RunCount::TruncatedNegativeBinomial { eta, gamma } => {
            let constant = least_constant(base, gamma)?;
            up((1.0 + eta) * constant, 2)
        }
        RunCount::Poisson { .. } => {
            let epsilon = if u.is_infinite() { 0.0 } else { down((1.0 / u).ln_1p(), 2).max(0.0) };
            let ln_delta = rdp_ln_delta(base, Epsilon::new(epsilon)?, Form::Improved)?.value;
            if ln_delta == f64::NEG_INFINITY { 0.0 } else { up(mean * up(ln_delta.exp(), 2), 1) }
        }
    };
    let total = add_up(add_up(one, extra), growth);
    Ok(if total.is_nan() { f64::INFINITY } else { total })
}

/// `min over l >= 1 of (1-1/l) r(l) + ln(1/gamma)/l`, rounded up.
fn least_constant(base: &impl Renyi, gamma: f64) -> Fallible<f64> {
    let ln_inverse = up(-gamma.ln(), 1);
    let value = |l: f64| -> Fallible<f64> {
        let r = base.divergence(l)?;
        let part = if r == 0.0 { 0.0 } else { (1.0 - 1.0 / l) * r };
        Ok(up((part + ln_inverse / l) * (1.0 + 1e-15), 2))
    };
    // In l - 1, so that orders near 1 are resolved; at l = 1 the value is ln(1/gamma).
    let best = scan_then_golden(1e-6, 1e9, 161, |u| value(1.0 + u))?;
    let pure = base.divergence(f64::INFINITY)?;
    Ok(best.value.min(ln_inverse).min(pure))
}

/// The epsilon of the best of a random number of runs of an epsilon-DP mechanism.
///
/// `(2 + eta) epsilon` for the truncated negative binomial law.
///
/// # Errors
/// When `epsilon` is negative or NaN, `eta <= -1` or `gamma` is outside `(0, 1)`.
///
/// # Privacy
/// An upper bound, rounded up, under the relation of epsilon.
///
/// Reference: Papernot and Steinke 2022, Theorem 2 with all orders infinite.
pub fn pure(epsilon: f64, eta: f64, gamma: f64) -> Fallible<f64> {
    check(eta, gamma)?;
    let e = nonnegative("epsilon", epsilon)?;
    Ok(if e == 0.0 { 0.0 } else { up(e * (2.0 + eta).next_up(), 1) })
}

/// The epsilon of the best of a geometric number of runs of an epsilon-DP mechanism.
///
/// `3 epsilon`, whatever the stopping probability.
///
/// # Errors
/// When `epsilon` is negative or NaN.
///
/// # Privacy
/// An upper bound, rounded up, under the relation of epsilon.
///
/// Reference: Liu and Talwar 2019, the algorithm with random stopping; [`pure`] at `eta = 1` is the same.
///
/// ```
/// let epsilon = rhograd::accounting::selection::liu_talwar(0.5).unwrap();
/// assert!(epsilon >= 1.5 && epsilon < 1.5 + 1e-14);
/// ```
pub fn liu_talwar(epsilon: f64) -> Fallible<f64> {
    let e = nonnegative("epsilon", epsilon)?;
    Ok(if e == 0.0 { 0.0 } else { up(3.0 * e, 1) })
}

/// Refuses a truncated negative binomial law outside its range.
fn check(eta: f64, gamma: f64) -> Fallible<()> {
    let wrong = |name: &str, value: f64, range: &str| {
        Err(Error::parameter(name, format!("is {value}, must be {range}"), "use eta = 1 and gamma = 0.1, say"))
    };
    if !(eta > -1.0 && eta.is_finite()) {
        return wrong("eta", eta, "finite and above -1");
    }
    if !(gamma > 0.0 && gamma < 1.0) {
        return wrong("gamma", gamma, "strictly between 0 and 1");
    }
    Ok(())
}
