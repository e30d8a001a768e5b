//! Lower bounds on epsilon from experiments.
//!
//! Such a bound refutes a claim with the stated confidence; it never certifies one.

use super::directed::nonnegative;
use crate::error::{Error, Fallible};
use crate::num::binomial::upper_limit;
use crate::num::round::down;

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
    let fpr = limit(counts.false_positives, counts.negatives, "false positives")?;
    let fnr = limit(counts.false_negatives, counts.positives, "false negatives")?;
    let side = |a: f64, b: f64| {
        let room = down(down(1.0 - delta, 1) - a, 1);
        if room > 0.0 { down(down(room / b, 1).ln(), 2) } else { 0.0 }
    };
    let epsilon = side(fpr, fnr).max(side(fnr, fpr)).max(0.0);
    Ok(Evidence { false_positive_rate: fpr, false_negative_rate: fnr, epsilon })
}
