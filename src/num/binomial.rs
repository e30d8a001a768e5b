//! Binomial tails and the exact confidence limits of Clopper and Pearson.

use super::logs::{ln_choose, ln_factorial};
use super::root::bisect;

/// Terms of the continued fraction before giving up; it needs about the square root of `n`.
const MAX_TERMS: u32 = 30_000;

/// `P[Bin(n, p) <= k]` for `0 < p < 1`, to a relative error of about `1e-12 + 4e-16 ln n!`.
///
/// It is the regularised incomplete beta function `I_{1-p}(n - k, k + 1)`. `None` when the continued
/// fraction does not converge, which needs more than about `10^8` trials.
///
/// Reference: Lentz 1976 for the evaluation; DiDonato and Morris 1992, section 2, for the fraction.
pub fn lower_tail(k: u64, n: u64, p: f64) -> Option<f64> {
    if k >= n {
        return Some(1.0);
    }
    let (a, b) = ((n - k) as f64, k as f64 + 1.0);
    let ln_p = p.ln();
    let ln_rest = (-p).ln_1p();
    // x^a (1-x)^b / (a B(a, b)) with x = 1 - p, where 1 / (a B(a, b)) = C(n, k).
    let ln_front = ln_choose(n, k) + a * ln_rest + b * ln_p;
    if 1.0 - p < (a + 1.0) / (a + b + 2.0) {
        fraction(1.0 - p, a, b).map(|f| ln_front.exp() * f)
    } else {
        let complement = ln_front + (a / b).ln();
        fraction(p, b, a).map(|f| 1.0 - complement.exp() * f)
    }
}

/// The continued fraction of the incomplete beta function, by the modified Lentz recurrence.
fn fraction(x: f64, a: f64, b: f64) -> Option<f64> {
    const TINY: f64 = 1e-290;
    let floor = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / floor(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..MAX_TERMS {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / floor(1.0 + even * d);
        c = floor(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / floor(1.0 + odd * d);
        c = floor(1.0 + odd / c);
        let step = d * c;
        value *= step;
        if (step - 1.0).abs() < 1e-15 {
            return value.is_finite().then_some(value);
        }
    }
    None
}

/// The upper confidence limit for a probability after `k` successes in `n` trials.
///
/// The `p` with `P[Bin(n, p) <= k] = miss`, rounded up; 1 when `k = n`. Where the incomplete beta
/// function gives no answer, the larger limit of Chernoff is used: `n KL(k/n, p) = ln(1/miss)`.
///
/// Returns `None` unless `k <= n`, `n > 0` and `0 < miss < 1`.
///
/// Reference: Clopper and Pearson 1934; Hoeffding 1963, Theorem 1.
///
/// ```
/// let limit = rhograd::num::binomial::upper_limit(3, 1000, 0.025).unwrap();
/// assert!((limit - 0.00874202323847).abs() < 1e-13);
/// ```
pub fn upper_limit(k: u64, n: u64, miss: f64) -> Option<f64> {
    if k > n || n == 0 || !(miss > 0.0 && miss < 1.0) {
        return None;
    }
    if k == n {
        return Some(1.0);
    }
    let least = f64::MIN_POSITIVE;
    let most = 1f64.next_down();
    // Strictly below the target by more than the error of the tail.
    let slack = 1e-11 + 1e-15 * ln_factorial(n);
    let exact = bisect(least, most, 1e-15, |p| lower_tail(k, n, p).map(|tail| tail <= miss * (1.0 - slack)));
    if let Some(root) = exact {
        return Some(root.holds);
    }
    let share = k as f64 / n as f64;
    let wanted = -miss.ln() * (1.0 + 1e-12);
    let enough = |p: f64| {
        let kl = if k == 0 { 0.0 } else { share * (share / p).ln() } + (1.0 - share) * ((1.0 - share) / (1.0 - p)).ln();
        Some(p > share && n as f64 * kl >= wanted)
    };
    Some(bisect(share.max(least), most, 1e-15, enough).map_or(1.0, |root| root.holds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summed(k: u64, n: u64, p: f64) -> f64 {
        (0..=k).map(|i| (ln_choose(n, i) + i as f64 * p.ln() + (n - i) as f64 * (-p).ln_1p()).exp()).sum()
    }

    #[test]
    fn tails_match_their_sums() {
        for (k, n) in [(0, 5), (3, 10), (9, 10), (40, 100), (620, 1000), (3, 1000)] {
            for p in [1e-6, 0.01, 0.3, 0.62, 0.9, 0.999] {
                let (tail, sum) = (lower_tail(k, n, p).unwrap(), summed(k, n, p));
                assert!((tail - sum).abs() <= 1e-11 * sum.max(1e-3), "{k} {n} {p}: {tail} {sum}");
            }
        }
    }

    #[test]
    fn limits_are_safe_and_ordered() {
        for (k, n) in [(0, 10), (5, 10), (3, 1000), (620, 1000), (10, 100_000)] {
            let limit = upper_limit(k, n, 0.025).unwrap();
            assert!(summed(k, n, limit) <= 0.025 && summed(k, n, limit * (1.0 - 1e-9)) > 0.025 * (1.0 - 1e-8));
            assert!(upper_limit(k, n, 1e-6).unwrap() > limit);
        }
        assert_eq!(upper_limit(7, 7, 0.1), Some(1.0));
        assert_eq!(upper_limit(8, 7, 0.1), None);
        assert_eq!(upper_limit(0, 0, 0.1), None);
        let huge = upper_limit(1 << 59, 1 << 60, 0.1).unwrap();
        assert!(huge > 0.5 && huge < 0.500_000_01);
    }
}
