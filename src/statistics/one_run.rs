//! A lower bound on epsilon from one run with many coins, whatever the law of what it releases.

use crate::accounting::directed::nonnegative;
use crate::error::{Error, Fallible};
use crate::num::binomial::lower_tail;
use crate::num::logs::ln_choose;
use crate::num::root::bisect;
use crate::num::round::down;

/// No number of guesses shows an epsilon as large.
const FARTHEST: f64 = 60.0;

/// Tails have a relative error far below this.
const SLACK: f64 = 1e-9;

/// Guesses about records each of which was in the data, or one of two, by a fair coin of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guesses {
    /// Records with a coin.
    pub canaries: u64,
    /// Coins that were guessed; their number was fixed before the run.
    pub made: u64,
    /// Guesses that are right.
    pub right: u64,
}

/// The lower bound on epsilon at delta that the guesses about one run show.
///
/// If the run is (epsilon, delta)-DP, `P[right >= v] <= P[W >= v] + 2 m delta max_i P[v > W >= v - i] / i` with `W` binomial of
/// `made` trials of probability `e^epsilon / (1 + e^epsilon)` and `m` canaries. The bound is the largest epsilon at which the
/// right-hand side is at most `1 - confidence`, or zero.
///
/// # Errors
/// When guesses exceed their number, delta is outside `[0, 1)`, the confidence outside `(0, 1)`, or there are too many guesses
/// for a binomial tail.
///
/// # Privacy
/// A lower bound with the given confidence, whatever the law of the scores. It needs no independence between canaries and is
/// weak for it, the more so the smaller epsilon is.
///
/// # Reference
/// Steinke, Nasr and Jagielski 2023, Theorem 3.1. Adjacency: whichever relation one coin decides, a record added or replaced.
///
/// ```
/// use rhograd::statistics::one_run::{Guesses, epsilon_lower};
/// let epsilon = epsilon_lower(Guesses { canaries: 1000, made: 200, right: 200 }, 1e-6, 0.999)?;
/// assert!(epsilon > 3.2 && epsilon < 3.4);
/// # Ok::<(), rhograd::error::Error>(())
/// ```
pub fn epsilon_lower(guesses: Guesses, delta: f64, confidence: f64) -> Fallible<f64> {
    let delta = nonnegative("delta", delta)?;
    if delta >= 1.0 {
        return Err(Error::parameter("delta", format!("is {delta}, must be below 1"), "use a small delta"));
    }
    if !(confidence > 0.0 && confidence < 1.0) {
        let problem = format!("is {confidence}, must lie strictly between 0 and 1");
        return Err(Error::parameter("confidence", problem, "use 0.95, say"));
    }
    let Guesses { canaries, made, right } = guesses;
    if right > made || made > canaries {
        let problem = format!("are {right} right of {made} about {canaries} canaries");
        return Err(Error::parameter("guesses", problem, "make at most one about each"));
    }
    let miss = (1.0 - confidence) * (1.0 - SLACK);
    let likely = |epsilon: f64| chance(guesses, epsilon, delta);
    let none = || Error::numerical("binomial tail", "has no value for so many guesses");
    if likely(0.0).ok_or_else(none)? > miss {
        return Ok(0.0);
    }
    let root = bisect(FARTHEST, 0.0, SLACK, |epsilon| Some(likely(epsilon)? <= miss)).ok_or_else(none)?;
    Ok(down(root.holds, 1))
}

/// The largest probability of so many right guesses, or more, under (epsilon, delta)-DP.
fn chance(Guesses { canaries, made, right }: Guesses, epsilon: f64, delta: f64) -> Option<f64> {
    if right == 0 {
        return Some(1.0);
    }
    let wrong = 1.0 / (1.0 + epsilon.exp());
    let (ln_wrong, ln_right) = (-epsilon - (-epsilon).exp().ln_1p(), -(-epsilon).exp().ln_1p());
    // As many right as `right` or more are as many wrong as the rest or fewer.
    let tail = lower_tail(made - right, made, wrong)?;
    let (mut below, mut steepest) = (0.0, 0.0f64);
    for back in 1..=right {
        let at = right - back;
        below += (ln_choose(made, at) + at as f64 * ln_right + (made - at) as f64 * ln_wrong).exp();
        steepest = steepest.max(below / back as f64);
    }
    Some(tail + 2.0 * canaries as f64 * delta * steepest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_delta_it_is_the_limit_of_a_binomial() {
        // All of r right: e^epsilon / (1 + e^epsilon) = miss^(1/r).
        let epsilon = epsilon_lower(Guesses { canaries: 50, made: 50, right: 50 }, 0.0, 0.95).unwrap();
        let accuracy = 0.05f64.powf(1.0 / 50.0);
        assert!((epsilon - (accuracy / (1.0 - accuracy)).ln()).abs() < 1e-7, "{epsilon}");
    }

    #[test]
    fn a_delta_weakens_the_bound_by_its_formula() {
        let guesses = Guesses { canaries: 3, made: 2, right: 2 };
        // Two guesses, both right: p^2 + 6 delta max(2 p q, (1 - p^2) / 2).
        let (epsilon, delta): (f64, f64) = (1.0, 0.01);
        let p = 1.0 / (1.0 + (-epsilon).exp());
        let expected = p * p + 6.0 * delta * (2.0 * p * (1.0 - p)).max((1.0 - p * p) / 2.0);
        assert!((chance(guesses, epsilon, delta).unwrap() - expected).abs() < 1e-14);
        let many = Guesses { canaries: 1000, made: 300, right: 290 };
        let bound = |delta| epsilon_lower(many, delta, 0.999).unwrap();
        assert!(bound(1e-6) < bound(0.0) && bound(1e-5) < bound(1e-6) && bound(1e-5) > 1.0);
    }

    #[test]
    fn guesses_that_are_no_better_than_coins_show_nothing() {
        let half = Guesses { canaries: 1000, made: 200, right: 105 };
        assert_eq!(epsilon_lower(half, 1e-6, 0.99).unwrap(), 0.0);
        assert_eq!(epsilon_lower(Guesses { made: 0, right: 0, ..half }, 0.0, 0.99).unwrap(), 0.0);
        assert!(epsilon_lower(Guesses { right: 201, ..half }, 0.0, 0.99).is_err());
        assert!(epsilon_lower(Guesses { made: 1001, ..half }, 0.0, 0.99).is_err());
        assert!(epsilon_lower(half, 1.0, 0.99).is_err() && epsilon_lower(half, 0.0, 1.0).is_err());
    }
}
