//! Sums, binomials and small differences in the log domain.

use super::special::LN_SQRT_TAU;

/// A running `ln sum exp(x_i)` that neither overflows nor underflows.
///
/// ```
/// use rhograd::num::logs::LnSum;
/// let mut sum = LnSum::default();
/// sum.add(1000.0);
/// sum.add(1000.0);
/// assert!((sum.value() - 1000.0 - 2f64.ln()).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LnSum {
    largest: f64,
    scaled: f64,
}

impl Default for LnSum {
    fn default() -> Self {
        LnSum { largest: f64::NEG_INFINITY, scaled: 0.0 }
    }
}

impl LnSum {
    /// Adds `exp(x)`; NaN stays in the result.
    pub fn add(&mut self, x: f64) {
        if x == f64::NEG_INFINITY {
            return;
        }
        if x <= self.largest {
            self.scaled += (x - self.largest).exp();
        } else if x == f64::INFINITY {
            *self = LnSum { largest: x, scaled: 1.0 };
        } else {
            // Also reached by NaN, which then spreads.
            self.scaled = self.scaled * (self.largest - x).exp() + 1.0;
            self.largest = x;
        }
    }

    /// The logarithm of the sum; `-inf` for the empty one.
    pub fn value(&self) -> f64 {
        if self.largest.is_infinite() { self.largest } else { self.largest + self.scaled.ln() }
    }
}

/// `ln(e^a + e^b)`.
pub fn ln_add_exp(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if high.is_infinite() { high } else { high + (low - high).exp().ln_1p() }
}

/// `ln(1 - e^x)` for `x <= 0`; NaN above.
pub fn ln_one_minus_exp(x: f64) -> f64 {
    if x > -std::f64::consts::LN_2 { (-x.exp_m1()).ln() } else { (-x.exp()).ln_1p() }
}

/// `e^x - 1 - x`, nonnegative, without cancellation near 0.
///
/// ```
/// use rhograd::num::logs::exp_less_linear;
/// assert!((exp_less_linear(1e-9) - 5.000000001666667e-19).abs() < 1e-33);
/// ```
pub fn exp_less_linear(x: f64) -> f64 {
    if x.abs() >= 1.0 {
        return x.exp_m1() - x;
    }
    let mut tail = 1.0;
    for k in (3..=20).rev() {
        tail = 1.0 + x / f64::from(k) * tail;
    }
    x * x / 2.0 * tail
}

/// Below this the logarithm of the factorial is summed, above it Stirling's series has no error left.
const SUMMED: u64 = 64;

/// The logarithm of `n!`, within a few units in the last place.
///
/// Reference: Stirling's series, whose error is below its first omitted term.
pub fn ln_factorial(n: u64) -> f64 {
    if n < SUMMED {
        // Products of integers below 2^53 are exact up to 18!; a few roundings follow.
        let (mut product, mut logs) = (1.0, 0.0);
        for k in 2..=n {
            product *= k as f64;
            if product > 1e280 {
                logs += f64::ln(product);
                product = 1.0;
            }
        }
        return logs + product.ln();
    }
    let x = n as f64 + 1.0;
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + LN_SQRT_TAU + series
}

/// The logarithm of the binomial coefficient `n` over `k`; `-inf` for `k > n`.
///
/// The absolute error is a few units of rounding times `ln n!`.
pub fn ln_choose(n: u64, k: u64) -> f64 {
    if k > n {
        return f64::NEG_INFINITY;
    }
    let few = k.min(n - k);
    if few <= 20 {
        return (0..few).map(|i| ((n - i) as f64 / (i + 1) as f64).ln()).sum();
    }
    ln_factorial(n) - ln_factorial(few) - ln_factorial(n - few)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factorials_join() {
        let mut sum = 0.0;
        for n in 1..400u64 {
            sum += (n as f64).ln();
            assert!((ln_factorial(n) - sum).abs() <= 1e-14 * (1.0 + sum), "{n}");
        }
        assert_eq!(ln_factorial(0), 0.0);
        assert!((ln_choose(100, 50) - 66.783_841_652_017_43).abs() < 1e-12);
        assert_eq!(ln_choose(3, 4), f64::NEG_INFINITY);
    }

    #[test]
    fn sums_keep_their_ends() {
        let mut sum = LnSum::default();
        assert_eq!(sum.value(), f64::NEG_INFINITY);
        sum.add(-5000.0);
        sum.add(f64::NEG_INFINITY);
        assert_eq!(sum.value(), -5000.0);
        sum.add(f64::INFINITY);
        assert_eq!(sum.value(), f64::INFINITY);
        assert_eq!(ln_add_exp(f64::NEG_INFINITY, 2.0), 2.0);
        let mut bad = LnSum::default();
        bad.add(f64::NAN);
        assert!(bad.value().is_nan());
    }

    #[test]
    fn small_differences_keep_their_digits() {
        for x in [-0.999, -0.5, 0.3, 0.999] {
            assert!((exp_less_linear(x) / (f64::exp_m1(x) - x) - 1.0).abs() < 1e-14);
        }
        assert!((ln_one_minus_exp(-1e-20) + 46.051_701_859_880_914).abs() < 1e-12);
        assert!((ln_one_minus_exp(-50.0) + (-50f64).exp()).abs() < 1e-37);
    }
}
