//! What two samples of normal scores say about mu: confidence limits of their effect size.
//!
//! Errors at one threshold prove a bound whatever the law of the scores, see [`super::evidence`]. Where scores are known to be
//! normal, all of them count: a fault of 20% at mu = 4 takes 242 scores a world instead of thousands.

use crate::error::{Error, Fallible};
use crate::num::root::bisect;
use crate::num::special::normal_tail;

/// Scores a world below which no deviation is estimated.
const MIN_SCORES: usize = 5;

/// Deviations of the logarithm of the estimated deviation, and of a normal number, between two points of the integral.
const STEP: f64 = 1.0 / 16.0;

/// The least distance of two points, in deviations of the logarithm.
const FINEST: f64 = 1.0 / 1024.0;

/// Weights below this times the largest end the integral.
const NEGLIGIBLE: f64 = 1e-18;

/// The integral has a relative error far below this.
const SLACK: f64 = 1e-9;

/// An effect size with its one-sided confidence limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectLimits {
    /// Difference of the means over the pooled standard deviation.
    pub estimate: f64,
    /// Mu is larger, with the confidence.
    pub lower: f64,
    /// Mu is smaller, with the confidence.
    pub upper: f64,
    /// The difference of the means.
    pub difference: f64,
    /// The pooled standard deviation.
    pub deviation: f64,
}

/// Limits of mu from scores that are `N(a, s^2)` without the record and `N(a + mu s, s^2)` with it, all independent, `a` and `s`
/// unknown.
///
/// `(mean_1 - mean_0) / (s_pooled sqrt(1/n_0 + 1/n_1))` has the noncentral t distribution with `n_0 + n_1 - 2` degrees of
/// freedom and noncentrality `mu / sqrt(1/n_0 + 1/n_1)`; a limit is the mu at which what was seen, or more, has probability
/// `1 - confidence`.
///
/// # Errors
/// When there are fewer than five scores of either kind, they do not vary or are not finite, or the confidence is outside
/// `(0, 1)`.
///
/// # Privacy
/// A lower limit above a claimed mu refutes the claim with the confidence, if the claim makes scores normal with a mu of
/// at most its own.
///
/// # Reference
/// Johnson and Welch 1940 (noncentral t and its limits); Dong, Roth and Su 2022, Definition 2.6 (mu-Gaussian DP).
pub fn mu_limits(absent: &[f64], present: &[f64], confidence: f64) -> Fallible<EffectLimits> {
    if !(confidence > 0.0 && confidence < 1.0) {
        let problem = format!("is {confidence}, must lie strictly between 0 and 1");
        return Err(Error::parameter("confidence", problem, "use 0.9999, say"));
    }
    if absent.len().min(present.len()) < MIN_SCORES {
        return Err(Error::parameter("scores", "are too few of one kind", "take at least five of each"));
    }
    let ((from, off), (to, more)) = (moments(absent), moments(present));
    let freedom = (absent.len() + present.len() - 2) as f64;
    let deviation = ((off + more) / freedom).sqrt();
    let difference = to - from;
    if !(deviation > 0.0 && deviation.is_finite() && difference.is_finite()) {
        return Err(Error::numerical("scores", "do not vary, or are not finite"));
    }
    let width = (1.0 / absent.len() as f64 + 1.0 / present.len() as f64).sqrt();
    let estimate = difference / deviation;
    let seen = Seen { statistic: estimate / width, freedom };
    let miss = (1.0 - confidence) * (1.0 - SLACK);
    let far = 4.0 * seen.statistic.abs() + 100.0;
    let limit = |holds: f64, sign: f64| {
        let root = bisect(-holds, holds, SLACK, |centre| Some(seen.beyond(centre, sign) <= miss));
        root.map(|root| root.holds * width).ok_or_else(|| Error::numerical("noncentral t", "has no such quantile"))
    };
    Ok(EffectLimits { estimate, lower: limit(-far, 1.0)?, upper: limit(far, -1.0)?, difference, deviation })
}

/// The mean and the sum of squares around it.
fn moments(scores: &[f64]) -> (f64, f64) {
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    (mean, scores.iter().map(|x| (x - mean).powi(2)).sum())
}

/// A t statistic as it came out.
struct Seen {
    statistic: f64,
    freedom: f64,
}

impl Seen {
    /// The probability of a larger statistic (`sign` 1) or a smaller one (-1) under a noncentrality.
    ///
    /// The mean of `Phi(sign (centre - t e^v))` over `v`, the logarithm of the root of a chi-square over its degrees of freedom f,
    /// whose density is proportional to `e^(f (v - e^(2v) / 2))`; by the trapezoidal rule, which for so smooth an integrand errs
    /// by less than rounding does.
    fn beyond(&self, centre: f64, sign: f64) -> f64 {
        let spread = 1.0 / (2.0 * self.freedom).sqrt();
        // So large a statistic that the last takes effect is far beyond any limit.
        let step = (STEP * spread.min(1.0 / self.statistic.abs().max(1.0))).max(spread * FINEST);
        let (mut sum, mut mass) = (0.0, 0.0);
        for side in [1.0, -1.0] {
            // The middle belongs to the right side.
            let mut k = if side > 0.0 { 0.0 } else { 1.0 };
            loop {
                let v: f64 = side * k * step;
                let weight = (self.freedom * (v + 0.5 - (2.0 * v).exp() / 2.0)).exp();
                if weight < NEGLIGIBLE {
                    break;
                }
                sum += weight * normal_tail(sign * (self.statistic * v.exp() - centre));
                mass += weight;
                k += 1.0;
            }
        }
        sum / mass
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_central_case_is_students_t() {
        // P[t_10 > 1.812461] = 0.05 and P[t_10 > 4.143700] = 0.001.
        for (statistic, tail) in [(1.812_461_123, 0.05), (4.143_700_494, 0.001)] {
            let seen = Seen { statistic, freedom: 10.0 };
            assert!((seen.beyond(0.0, 1.0) / tail - 1.0).abs() < 1e-7, "{}", seen.beyond(0.0, 1.0));
            assert!((seen.beyond(0.0, 1.0) + seen.beyond(0.0, -1.0) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_mean_of_the_noncentral_case_is_the_known_one() {
        // E t = centre sqrt(f/2) G((f-1)/2) / G(f/2); for f = 9 that is 2 sqrt(4.5) * 6 / 11.631728 = 2.188483.
        let tail = |t: f64| Seen { statistic: t, freedom: 9.0 }.beyond(2.0, 1.0);
        let width = 1.0 / 64.0;
        let mean: f64 =
            (0..4096).map(|k| (f64::from(k) + 0.5) * width).map(|t| width * (tail(t) + tail(-t) - 1.0)).sum();
        assert!((mean - 2.188_483).abs() < 1e-4, "{mean}");
    }

    #[test]
    fn limits_enclose_the_estimate_and_close_in_on_it() {
        let scores = |count: usize, mean: f64| -> Vec<f64> {
            (0..count).map(|k| mean + if k % 2 == 0 { 1.0 } else { -1.0 }).collect()
        };
        let mut wide = f64::INFINITY;
        for count in [6, 60, 600, 6000] {
            let limits = mu_limits(&scores(count, 0.0), &scores(count, 4.0), 0.999).unwrap();
            assert!(limits.lower < limits.estimate && limits.estimate < limits.upper, "{limits:?}");
            assert!(limits.upper - limits.lower < wide);
            wide = limits.upper - limits.lower;
        }
        // Normal approximation: 3.09 sqrt(2/n + mu^2/(4n)) on each side.
        assert!((wide / (2.0 * 3.09 * (6.0 / 6000.0f64).sqrt()) - 1.0).abs() < 0.01, "{wide}");
    }

    #[test]
    fn samples_that_say_nothing_are_refused() {
        let scores = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert!(mu_limits(&scores, &scores[..4], 0.9).is_err());
        assert!(mu_limits(&[1.0; 5], &[1.0; 5], 0.9).is_err());
        assert!(mu_limits(&scores, &[f64::NAN; 5], 0.9).is_err());
        assert!(mu_limits(&scores, &scores, 1.0).is_err());
    }
}
