//! Binomial tails and the exact confidence limits of Clopper and Pearson.

use super::logs::{ln_choose, ln_factorial};
use super::root::bisect;

/// Terms of the continued fraction before giving up; it needs about the square root of `n`.
const MAX_TERMS: u32 = 30_000;

/// The most trials of which [`upper_tail`] takes the continued fraction, and the least tail that it tells.
const MAX_TRIALS: u64 = 1_000_000_000;
const LEAST_TAIL: f64 = 1e-280;

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

/// At least `P[Bin(n, p) >= k]`, larger by a relative `1e-11 + 4e-15 ln n! + 1.2e-16 k / p` or so; else at most the bound of Chernoff.
///
/// Reference: Hoeffding 1963, Theorem 1.
///
/// ```
/// // Ten heads of ten.
/// let tail = rhograd::num::binomial::upper_tail(10, 10, 0.5);
/// assert!(tail >= 0.5f64.powi(10) && tail < 0.5f64.powi(10) * (1.0 + 1e-9));
/// ```
pub fn upper_tail(k: u64, n: u64, p: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if k > n || p == 0.0 {
        return 0.0;
    }
    if p == 1.0 || p.is_nan() {
        return 1.0;
    }
    // The other outcome at most n - k times. Its probability is rounded, and the logarithm of a tail moves by k / p of that at most.
    let slack = 1e-11 + 4e-15 * ln_factorial(n) + 1.2e-16 * (k as f64 / p);
    let other = 1.0 - p;
    // With more trials logarithms of factorials lose more digits than slack is for, and a complement may be below 0.
    let exact = if other < 1.0 && n <= MAX_TRIALS && slack <= 1e-3 { lower_tail(n - k, n, other) } else { None };
    let share = k as f64 / n as f64;
    let chernoff = if share > p {
        let rest = if k == n { 0.0 } else { (1.0 - share) * ((1.0 - share) / (1.0 - p)).ln() };
        // Each term is right to some units of 1.
        let distance = (share * (share / p).ln() + rest) * (1.0 - 1e-9) - 4e-15;
        (-(n as f64) * distance).exp()
    } else {
        1.0
    };
    // A tail that underflows is not none.
    let exact = exact.filter(|tail| *tail > LEAST_TAIL && tail.is_finite()).map(|tail| tail * slack.exp());
    let least = exact.map_or(chernoff, |tail| tail.min(chernoff));
    if least.is_nan() { 1.0 } else { least.clamp(f64::MIN_POSITIVE, 1.0) }
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
    fn upper_tails_are_at_least_their_sums() {
        let sum = |k: u64, n: u64, p: f64| -> f64 {
            (k..=n).map(|i| (ln_choose(n, i) + i as f64 * p.ln() + (n - i) as f64 * (-p).ln_1p()).exp()).sum()
        };
        for (k, n) in [(1, 1), (3, 10), (10, 10), (60, 100), (30, 1000), (999, 1000)] {
            for p in [1e-9, 1e-4, 0.01, 0.3, 0.62, 0.999] {
                let (tail, sum) = (upper_tail(k, n, p), sum(k, n, p));
                assert!(
                    tail >= sum * (1.0 - 1e-11) && tail <= sum * (1.0 + 1e-4) + 1e-300,
                    "{k} {n} {p}: {tail} {sum}"
                );
            }
        }
        assert_eq!([upper_tail(0, 5, 0.1), upper_tail(6, 5, 0.1), upper_tail(3, 5, 0.0)], [1.0, 0.0, 0.0]);
        // Where no continued fraction is short enough, or the probability is next to none: larger, and not by much.
        let (n, p) = (4_000_000_000u64, 0.25);
        let deviation = (n as f64 * p * (1.0 - p)).sqrt();
        let tail = upper_tail((n as f64 * p + 6.0 * deviation) as u64, n, p);
        assert!(tail > 9.8e-10 && tail < 4e-8, "{tail}");
        // Beyond what differences of floats can tell, nothing is said: these are 3.2e-5 and 1.5e-4.
        let far = |n: u64, p: f64| (n as f64 * p + 4.0 * (n as f64 * p * (1.0 - p)).sqrt()) as u64;
        assert!([10u64.pow(17), 10u64.pow(18)].iter().all(|n| upper_tail(far(*n, 0.3), *n, 0.3) > 3e-5));
        assert!(upper_tail(59, 92_928_645_074_684, 6.522505038273387e-13) >= 0.599);
        assert!(upper_tail(165, 6_392_556_597_008_196, 1.4573735048222486e-16) >= (-693.6f64).exp());
        assert!(upper_tail(2000, u64::MAX - 1, 1e-16) > 1.4e-4 && upper_tail(u64::MAX - 1, u64::MAX, 0.5) > 0.0);
        assert!(upper_tail(2, 10, 1e-20) >= 45e-40 && upper_tail(2, 10, 1e-20) < 1e-36);
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
