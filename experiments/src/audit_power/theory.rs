//! How many trials an attack on normal scores needs, by formula.

use rhograd::error::{Error, Fallible};
use rhograd::statistics::evidence::{Counts, mu_lower};
use statrs::distribution::{Continuous, ContinuousCDF, Normal};

use super::{FALSE_ALARM, POWER};

/// An attack on a mechanism that claims `claimed`-Gaussian DP and gives away `true_mu`.
///
/// Scores are normal with deviation one and means 0 and `true_mu`; the threshold is in the middle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Case {
    /// mu as claimed.
    pub(super) claimed: f64,
    /// The noise over what the claim needs.
    pub(super) factor: f64,
}

impl Case {
    /// mu as it is.
    pub(super) fn truth(&self) -> f64 {
        self.claimed / self.factor
    }

    /// The rate of either error at the middle threshold.
    pub(super) fn error_rate(&self) -> Fallible<f64> {
        Ok(standard()?.sf(self.truth() / 2.0))
    }

    /// By how much the mechanism exceeds its claim, in standard deviations of mu as one trial in each world estimates it.
    ///
    /// A rate p with density phi at its quantile is estimated from N trials with variance `p (1 - p) / N`, its quantile by the
    /// delta method with that over `phi^2`; mu is the sum of two such quantiles.
    pub(super) fn excess(&self) -> Fallible<f64> {
        let (normal, middle) = (standard()?, self.truth() / 2.0);
        let p = normal.sf(middle);
        let deviation = (2.0 * p * (1.0 - p)).sqrt() / normal.pdf(middle);
        Ok((self.truth() - self.claimed) / deviation)
    }

    /// Trials in each world at which the claim is refuted with probability [`POWER`] if errors are many.
    ///
    /// Each error rate gets a limit of its own with half the false alarms, so the two of them together are `2 z_a / sqrt(2)`
    /// deviations above the estimate, which itself is `z_b` below the truth once in `1 / (1 - POWER)`:
    /// `N = ((sqrt(2) z_a + z_b) / excess)^2`.
    ///
    /// Reference: the normal approximation of the limits of Clopper and Pearson 1934.
    pub(super) fn trials_in_the_limit(&self) -> Fallible<f64> {
        let normal = standard()?;
        let (alarm, power) = (normal.inverse_cdf(1.0 - FALSE_ALARM / 2.0), normal.inverse_cdf(POWER));
        Ok(((2f64.sqrt() * alarm + power) / self.excess()?).powi(2))
    }

    /// The same with the limits as they are: the least number of trials whose bound, at error counts that are `z_b / sqrt(2)`
    /// deviations too large each, exceeds the claim.
    pub(super) fn trials(&self) -> Fallible<f64> {
        let (p, unlucky) = (self.error_rate()?, standard()?.inverse_cdf(POWER) / 2f64.sqrt());
        let enough = |trials: f64| -> Fallible<bool> {
            let errors = (trials * p + unlucky * (trials * p * (1.0 - p)).sqrt()).round() as u64;
            let total = trials.round() as u64;
            let counts =
                Counts { false_positives: errors, negatives: total, false_negatives: errors, positives: total };
            Ok(mu_lower(counts, 1.0 - FALSE_ALARM)? > self.claimed)
        };
        let about = self.trials_in_the_limit()?;
        let (mut low, mut high) = (about / 10.0, about * 10.0);
        while high / low > 1.001 {
            let middle = (low * high).sqrt();
            if enough(middle)? { high = middle } else { low = middle }
        }
        Ok((low * high).sqrt())
    }
}

fn standard() -> Fallible<Normal> {
    Normal::new(0.0, 1.0).map_err(|e| Error::numerical("normal law", e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_computed_by_hand() {
        // mu 1 for 0.8: p = 1 - Phi(0.625) = 0.26599, phi(0.625) = 0.32816, z_a = 3.8906, z_b = 1.2816.
        let case = Case { claimed: 1.0, factor: 0.8 };
        let deviation = (2.0 * 0.265_99 * 0.734_01f64).sqrt() / 0.328_16;
        let by_hand = ((2f64.sqrt() * 3.8906 + 1.2816) * deviation / 0.25).powi(2);
        assert!((case.trials_in_the_limit().unwrap() / by_hand - 1.0).abs() < 1e-3);
    }

    #[test]
    fn many_errors_are_nearly_normal() {
        let ratio = |factor| {
            let case = Case { claimed: 1.0, factor };
            case.trials().unwrap() / case.trials_in_the_limit().unwrap()
        };
        assert!((ratio(0.99) - 1.0).abs() < 0.02 && (ratio(0.8) - 1.0).abs() < 0.1, "{} {}", ratio(0.99), ratio(0.8));
    }
}
