//! What privacy forbids: information, packing and fingerprinting bounds.

use crate::accounting::directed::{finite, positive, probability};
use crate::error::{Error, Fallible};
use crate::num::round::{down, up};

/// The information in nats that the output of a rho-zCDP mechanism has about its n rows.
///
/// `I(X; M(X)) <= rho n^2`.
///
/// # Errors
/// When `rho` is negative, infinite or NaN.
///
/// # Privacy
/// An upper bound, rounded up, for every law of the rows.
///
/// Reference: Bun and Steinke 2016, Theorem 1.10.
pub fn information(rho: f64, rows: u64) -> Fallible<f64> {
    let (rho, n) = (finite("rho", rho)?, up(rows as f64, 1));
    Ok(if rho == 0.0 || rows == 0 { 0.0 } else { up(rho * up(n * n, 1), 1) })
}

/// The information in nats when the rows are independent.
///
/// `I(X; M(X)) <= rho n`.
///
/// # Errors
/// When `rho` is negative, infinite or NaN.
///
/// # Privacy
/// An upper bound, rounded up, for independent rows.
///
/// Reference: Bun and Steinke 2016, Theorem 1.10.
pub fn information_independent(rho: f64, rows: u64) -> Fallible<f64> {
    let (rho, n) = (finite("rho", rho)?, up(rows as f64, 1));
    Ok(if rho == 0.0 || rows == 0 { 0.0 } else { up(rho * n, 1) })
}

/// The rho needed to tell apart `count` data sets that pairwise differ in at most `distance` rows.
///
/// `rho >= ((1 - error) ln(count) - ln 2) / distance^2`: by Fano's inequality telling them apart takes that
/// much information, and group privacy allows `rho distance^2`.
///
/// # Errors
/// When `count` or `distance` is 0 or `error` is no probability.
///
/// # Privacy
/// A lower bound on rho, rounded down, at least 0.
///
/// Reference: Bun and Steinke 2016, section 6; Fano 1961.
pub fn packing_rho(count: f64, distance: u64, error: f64) -> Fallible<f64> {
    let (count, error) = (positive("count", count)?, probability("error", error)?);
    if distance == 0 || count < 1.0 {
        return Err(Error::parameter("distance", "needs at least one row and one data set", "use positive numbers"));
    }
    let information = (1.0 - error) * count.ln() - 2f64.ln();
    let distance = up(distance as f64, 1);
    Ok(down(down(information, 4) / up(distance * distance, 1), 1).max(0.0))
}

/// The epsilon needed to tell apart `count` data sets at pairwise distance at most `distance`.
///
/// `epsilon >= ln((1 - error) count) / distance`.
///
/// # Errors
/// When `count` or `distance` is 0 or `error` is no probability.
///
/// # Privacy
/// A lower bound on epsilon of pure privacy, rounded down, at least 0.
///
/// Reference: Hardt and Talwar 2010, Lemma 3.2.
pub fn packing_epsilon(count: f64, distance: u64, error: f64) -> Fallible<f64> {
    let (count, error) = (positive("count", count)?, probability("error", error)?);
    if distance == 0 {
        return Err(Error::parameter("distance", "is 0", "use at least one row"));
    }
    Ok(down(down(((1.0 - error) * count).ln(), 4) / up(distance as f64, 1), 1).max(0.0))
}

/// The two sides of the fingerprinting lemma for a function of n bits.
///
/// For `P` uniform on `[0, 1]` and `X_i` independent Bernoulli(P):
/// `E[(f(X) - P) sum_i (X_i - P)] + E_P[(E[f(X) | P] - P)^2] >= 1/12`, attained by `f = 1/2`. The value is
/// the left side, computed exactly for a symmetric `f` given by its value at every number of ones.
///
/// # Errors
/// When there are no values, more than 200, or one is outside `[0, 1]`.
///
/// # Privacy
/// A law of nature: it is never below 1/12, up to rounding.
///
/// Reference: Bun, Steinke and Ullman 2017, Lemma 6; Dwork, Smith, Steinke, Ullman and Vadhan 2015.
///
/// ```
/// let left = rhograd::statistics::bounds::fingerprinting(&[0.5; 9]).unwrap();
/// assert!((left - 1.0 / 12.0).abs() < 1e-12);
/// ```
pub fn fingerprinting(value_at_ones: &[f64]) -> Fallible<f64> {
    if value_at_ones.is_empty() || value_at_ones.len() > 201 {
        return Err(Error::parameter("function", "needs 1 to 201 values", "give one for each number of ones"));
    }
    for &value in value_at_ones {
        probability("function value", value)?;
    }
    let n = value_at_ones.len() - 1;
    // All expectations given P are polynomials of degree at most 2n + 2: Gauss-Legendre-like exactness by
    // integrating monomials of the Bernstein basis, which the Beta integral gives in closed form.
    let beta = |a: usize, b: usize| {
        // int p^a (1-p)^b dp
        let ln = |k: usize| crate::num::logs::ln_factorial(k as u64);
        (ln(a) + ln(b) - ln(a + b + 1)).exp()
    };
    let choose = |k: usize| crate::num::logs::ln_choose(n as u64, k as u64).exp();
    let mut left = 0.0;
    for (k, &f) in value_at_ones.iter().enumerate() {
        let (weight, m) = (choose(k), n - k);
        // E[(f - P)(k - nP)] and E[-2 P f] + E[P^2] / 1 spread over k.
        let (kf, nf) = (k as f64, n as f64);
        let moment = |power: usize| beta(k + power, m);
        left += weight * (f * kf * moment(0) - (f * nf + kf) * moment(1) + nf * moment(2));
        left += weight * (moment(2) - 2.0 * f * moment(1));
        for (j, &g) in value_at_ones.iter().enumerate() {
            left += weight * choose(j) * f * g * beta(k + j, 2 * n - k - j);
        }
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_never_below_a_twelfth() {
        let functions: [fn(f64) -> f64; 4] = [|x| x, |x| 1.0 - x, |x| x * x, |x| if x > 0.5 { 1.0 } else { 0.0 }];
        for n in [1u32, 2, 5, 12] {
            for f in functions {
                let values: Vec<_> = (0..=n).map(|k| f(f64::from(k) / f64::from(n))).collect();
                let left = fingerprinting(&values).unwrap();
                assert!(left >= 1.0 / 12.0 - 1e-10, "{n}: {left}");
            }
        }
    }

    #[test]
    fn information_and_packing_fit_together() {
        let rho = packing_rho(1024.0, 10, 0.0).unwrap();
        assert!(information(rho, 10).unwrap() >= 1024f64.ln() - 2f64.ln() - 1e-9);
        assert!(information_independent(rho, 10).unwrap() < information(rho, 10).unwrap());
        assert!(packing_epsilon(1024.0, 10, 0.0).unwrap() > 0.69);
        assert!(packing_rho(0.5, 1, 0.0).is_err() && packing_rho(2.0, 0, 0.0).is_err());
    }
}
