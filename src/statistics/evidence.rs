//! Lower bounds on epsilon, mu and bounded range from experiments.
//!
//! Such a bound refutes a claim with the stated confidence; it never certifies one.

use crate::accounting::directed::nonnegative;
use crate::error::{Error, Fallible};
use crate::num::binomial::upper_limit;
use crate::num::root::bisect;
use crate::num::round::down;
use crate::num::special::normal_tail;

/// Normal quantiles beyond this are cut: no experiment has that many trials.
const FARTHEST: f64 = 38.0;

/// The counts of an attack that says "present" or "absent".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Times the attack said "present" when the row was absent.
    pub false_positives: u64,
    /// Trials with the row absent.
    pub negatives: u64,
    /// Times the attack said "absent" when the row was present.
    pub false_negatives: u64,
    /// Trials with the row present.
    pub positives: u64,
}

/// What the counts show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Upper confidence limit of the false positive rate.
    pub false_positive_rate: f64,
    /// Upper confidence limit of the false negative rate.
    pub false_negative_rate: f64,
    /// Lower bound on epsilon.
    pub epsilon: f64,
}

/// The lower bound on epsilon at delta that an attack shows.
///
/// `max{ln((1 - delta - FPR)/FNR), ln((1 - delta - FNR)/FPR), 0}` at one-sided Clopper-Pearson upper limits,
/// each with confidence `1 - (1 - confidence)/2`.
///
/// # Errors
/// When a count exceeds its trials, there are no trials, delta is outside `[0, 1)` or confidence outside
/// `(0, 1)`.
///
/// # Privacy
/// A lower bound on the true epsilon with the given confidence, rounded down. Valid if the attack was
/// fixed before these trials.
///
/// Reference: Kairouz, Oh and Viswanath 2015, Theorem 2.1; Jagielski, Ullman and Oprea 2020, section 4;
/// Clopper and Pearson 1934.
pub fn epsilon_lower(counts: Counts, delta: f64, confidence: f64) -> Fallible<Evidence> {
    let delta = nonnegative("delta", delta)?;
    if delta >= 1.0 {
        return Err(Error::parameter("delta", format!("is {delta}, must be below 1"), "use a small delta"));
    }
    let Limits { false_positive_rate: fpr, false_negative_rate: fnr } = limits(counts, confidence)?;
    let side = |a: f64, b: f64| {
        let room = down(down(1.0 - delta, 1) - a, 1);
        if room > 0.0 { down(down(room / b, 1).ln(), 2) } else { 0.0 }
    };
    let epsilon = side(fpr, fnr).max(side(fnr, fpr)).max(0.0);
    Ok(Evidence { false_positive_rate: fpr, false_negative_rate: fnr, epsilon })
}

/// Upper confidence limits of both error rates, which hold together.
struct Limits {
    false_positive_rate: f64,
    false_negative_rate: f64,
}

/// One-sided Clopper-Pearson limits, each with confidence `1 - (1 - confidence)/2`.
fn limits(counts: Counts, confidence: f64) -> Fallible<Limits> {
    if !(confidence > 0.0 && confidence < 1.0) {
        let problem = format!("is {confidence}, must lie strictly between 0 and 1");
        return Err(Error::parameter("confidence", problem, "use 0.95, say"));
    }
    let miss = down((1.0 - confidence) / 2.0, 2);
    let limit = |errors: u64, trials: u64, name: &str| {
        upper_limit(errors, trials, miss).ok_or_else(|| {
            Error::parameter(name, format!("are {errors} of {trials} trials"), "use a count from 0 to the trials")
        })
    };
    let false_positive_rate = limit(counts.false_positives, counts.negatives, "false positives")?;
    let false_negative_rate = limit(counts.false_negatives, counts.positives, "false negatives")?;
    Ok(Limits { false_positive_rate, false_negative_rate })
}

/// The lower bound on mu that an attack shows, for a mechanism that is claimed to be mu-Gaussian DP.
///
/// `Phi^-1(1 - FPR) - Phi^-1(FNR)` at the upper confidence limits, or zero.
///
/// # Errors
/// When a count exceeds its trials, there are no trials, or the confidence is outside `(0, 1)`.
///
/// # Privacy
/// A lower bound on the least mu of the mechanism with the given confidence, rounded down. Valid if the attack was
/// fixed before these trials.
///
/// Reference: Dong, Roth and Su 2022, Definition 2.6; Nasr et al. 2023, section 4 (auditing with the trade-off of a
/// Gaussian); Clopper and Pearson 1934.
///
/// ```
/// use rhograd::statistics::evidence::{Counts, mu_lower};
/// let counts = Counts { false_positives: 159, negatives: 1000, false_negatives: 159, positives: 1000 };
/// let mu = mu_lower(counts, 0.999)?;
/// assert!(mu > 1.6 && mu < 2.0);
/// # Ok::<(), rhograd::error::Error>(())
/// ```
pub fn mu_lower(counts: Counts, confidence: f64) -> Fallible<f64> {
    let limits = limits(counts, confidence)?;
    // Each quantile is a point whose upper tail still reaches the limit.
    let quantile = |limit: f64| {
        bisect(FARTHEST, -FARTHEST, 1e-12, |x| Some(normal_tail(x) >= limit * (1.0 + 1e-12)))
            .map_or(-FARTHEST, |root| root.holds)
    };
    Ok(down(quantile(limits.false_positive_rate) + quantile(limits.false_negative_rate), 1).max(0.0))
}

/// The lower bound on the range of log-likelihood ratios that an attack shows, for a mechanism of bounded range.
///
/// If all log-likelihood ratios lie in an interval of length epsilon, so do those of every event and of its complement:
/// the odds of an event change by at most `e^epsilon`. Hence
/// `ln((1 - FPR)/FPR) + ln((1 - FNR)/FNR)` at the upper confidence limits, or zero.
///
/// # Errors
/// When a count exceeds its trials, there are no trials, or the confidence is outside `(0, 1)`.
///
/// # Privacy
/// A lower bound on the least range of the mechanism with the given confidence, rounded down. Valid if the attack was
/// fixed before these trials.
///
/// Reference: Durfee and Rogers 2019, Definition 4 (bounded range); Dong, Durfee and Rogers 2020; Clopper and Pearson
/// 1934.
pub fn range_lower(counts: Counts, confidence: f64) -> Fallible<f64> {
    let limits = limits(counts, confidence)?;
    let odds = |limit: f64| down(down(down(1.0 - limit, 1) / limit, 1).ln(), 2);
    Ok(down(odds(limits.false_positive_rate) + odds(limits.false_negative_rate), 1).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(false_positives: u64, false_negatives: u64) -> Counts {
        Counts { false_positives, negatives: 10_000, false_negatives, positives: 10_000 }
    }

    #[test]
    fn bounds_approach_the_truth_from_below() {
        // Phi(-1) = 0.15866: mu is 2; odds of 9: the range is 2 ln 9.
        let mu = mu_lower(counts(1587, 1587), 0.95).unwrap();
        assert!(mu < 2.0 && mu > 1.93, "{mu}");
        let range = range_lower(counts(1000, 1000), 0.95).unwrap();
        assert!(range < 2.0 * 9f64.ln() && range > 4.25, "{range}");
    }

    #[test]
    fn an_attack_that_learns_nothing_shows_nothing() {
        for bound in [mu_lower, range_lower] {
            assert_eq!(bound(counts(5000, 5000), 0.99).unwrap(), 0.0);
            assert_eq!(bound(counts(10_000, 0), 0.99).unwrap(), 0.0);
            assert!(bound(counts(0, 0), 0.99).unwrap().is_finite());
            assert!(bound(counts(10_001, 0), 0.99).is_err() && bound(counts(0, 0), 1.0).is_err());
        }
    }
}
