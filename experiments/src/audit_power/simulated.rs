//! Attacks on a Gaussian release whose scores are drawn by their law.
//!
//! The score of a release is normal in both worlds, so the errors at a threshold are binomial; an attack is two such
//! numbers. The threshold is in the middle, where a rule that was learned from enough runs puts it.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Binomial, Distribution};
use rhograd::error::{Error, Fallible};
use rhograd::statistics::evidence::{Counts, mu_lower};

use super::theory::Case;
use super::{FALSE_ALARM, POWER};

/// Attacks at each number of trials that is tried: quick and full.
const ATTACKS: (u32, u32) = (200, 400);

/// Attacks whose share that refutes is one measurement.
pub(super) const TOGETHER: u32 = 100;

/// Relative accuracy of the trials that are found.
const ACCURACY: f64 = 0.02;

/// Most trials that are tried.
const MAX_TRIALS: f64 = 1e8;

/// The errors of an attack, and whether they refute the claim.
fn attack(case: &Case, rate: f64, trials: u64, random: &mut ChaCha8Rng) -> Fallible<bool> {
    let errors = Binomial::new(trials, rate).map_err(|e| Error::numerical("binomial law", e.to_string()))?;
    let counts = Counts {
        false_positives: errors.sample(random),
        negatives: trials,
        false_negatives: errors.sample(random),
        positives: trials,
    };
    Ok(mu_lower(counts, 1.0 - FALSE_ALARM)? > case.claimed)
}

/// The error rate of the mechanism as it is, a planted fault included.
fn rate(case: &Case, halved: f64) -> Fallible<f64> {
    Case { factor: case.factor * halved, ..*case }.error_rate()
}

/// The share of [`TOGETHER`] attacks, of a number of trials in each world, that refute the claim.
pub(super) fn refuted(case: &Case, halved: f64, trials: u64, seed: u64) -> Fallible<f64> {
    let (rate, mut random) = (rate(case, halved)?, ChaCha8Rng::seed_from_u64(seed));
    let mut refuted = 0;
    for _ in 0..TOGETHER {
        refuted += u32::from(attack(case, rate, trials, &mut random)?);
    }
    Ok(f64::from(refuted) / f64::from(TOGETHER))
}

/// The trials in each world at which the share of attacks that refute reaches [`POWER`], by bisection.
pub(super) fn needed(case: &Case, halved: f64, seed: u64, quick: bool) -> Fallible<f64> {
    let (rate, mut random) = (rate(case, halved)?, ChaCha8Rng::seed_from_u64(seed));
    let attacks = if quick { ATTACKS.0 } else { ATTACKS.1 };
    let mut enough = |trials: f64| -> Fallible<bool> {
        let mut refuted = 0;
        for _ in 0..attacks {
            refuted += u32::from(attack(case, rate, trials.round() as u64, &mut random)?);
        }
        Ok(f64::from(refuted) >= POWER * f64::from(attacks))
    };
    let (mut low, mut high) = (1.0, 2.0);
    while !enough(high)? {
        (low, high) = (high, 2.0 * high);
        if high > MAX_TRIALS {
            return Ok(f64::INFINITY);
        }
    }
    while high / low > 1.0 + ACCURACY {
        let middle = (low * high).sqrt();
        if enough(middle)? { high = middle } else { low = middle }
    }
    Ok((low * high).sqrt())
}
