//! What somebody who believes something beforehand can make of a release.

use super::directed::{nonnegative, probability};
use super::notion::ApproximateDp;
use crate::error::{Error, Fallible};
use crate::num::round::{down, up};
use crate::num::special::normal_tail;

/// Allowance for rounding in a sum of two tails, in units of the size of their arguments.
const MARGIN: f64 = 1e-14;

fn inner(prior: f64) -> Fallible<f64> {
    match probability("prior", prior)? {
        prior if prior > 0.0 && prior < 1.0 => Ok(prior),
        _ => Err(Error::parameter("prior", "is no doubt at all", "give a probability between 0 and 1")),
    }
}

/// The largest probability with which a guess between two neighbours is right, when one of them is true with probability `prior`.
///
/// `max{1 - (1 - delta)/(1 + e^epsilon), 1 - p + p delta, p + (1 - p) delta}`: a test with error rates `a` and `b` is right with
/// probability `p (1 - b) + (1 - p)(1 - a)`, which is linear, so it is largest at a corner of the trade-off curve.
///
/// # Errors
/// When `prior` is not strictly between 0 and 1.
///
/// # Privacy
/// An upper bound, rounded up; some (epsilon, delta)-DP mechanism attains it.
///
/// # Reference
/// Kairouz, Oh and Viswanath 2015, Theorem 2.1 (the curve); Dong, Roth and Su 2022, Proposition 2.5.
pub fn right_at_most(guarantee: ApproximateDp, prior: f64) -> Fallible<f64> {
    let (p, delta) = (inner(prior)?, guarantee.delta());
    let undecided = 1.0 - (1.0 - delta) / (1.0 + up(guarantee.epsilon().exp(), 4));
    let always = |p: f64| p + (1.0 - p) * delta;
    Ok(up(undecided.max(always(p)).max(always(1.0 - p)), 4).min(1.0))
}

/// The largest probability with which a guess between neighbours of a mu-Gaussian mechanism is right, when one of them is true
/// with probability `prior`.
///
/// `p Phi(mu/2 + c/mu) + (1 - p) Phi(mu/2 - c/mu)` with `c = ln(p/(1 - p))`: the test that prefers what is likelier afterwards.
///
/// # Errors
/// When `mu` is negative or NaN, or `prior` is not strictly between 0 and 1.
///
/// # Privacy
/// An upper bound, rounded up, and the truth but for rounding: `N(0, 1)` against `N(mu, 1)` attains it.
///
/// # Reference
/// Dong, Roth and Su 2022, Definition 2.6 (Gaussian DP); Neyman and Pearson 1933.
pub fn gaussian_right_at_most(mu: f64, prior: f64) -> Fallible<f64> {
    let (mu, p) = (nonnegative("mu", mu)?, inner(prior)?);
    let best_before = p.max(1.0 - p);
    let shift = (p.ln() - (-p).ln_1p()) / mu;
    if mu == 0.0 || shift.is_infinite() {
        // Nothing is learned that could change the better guess, to the last digit of a double.
        return Ok(up(best_before, 2).min(1.0));
    }
    if mu == f64::INFINITY {
        return Ok(1.0);
    }
    let right = p * normal_tail(-(mu / 2.0 + shift)) + (1.0 - p) * normal_tail(shift - mu / 2.0);
    Ok(up(right + MARGIN * (1.0 + shift.abs() + mu), 1).max(best_before).min(1.0))
}

/// The logarithm of the largest factor by which odds grow, but for a probability of `miss` of what is released.
///
/// `x = epsilon - ln(1 - delta/miss)`, or `epsilon` where delta is 0. For the outcomes `S` that are more than `e^x` times as
/// likely under `P` as under `Q`, `P(S) <= e^epsilon Q(S) + delta <= e^(epsilon - x) P(S) + delta`, so `P(S) <= miss`; and
/// `Q(S) <= P(S)`, so it holds whichever of both is true, and for every prior.
///
/// # Errors
/// When `miss` is no probability.
///
/// # Privacy
/// An upper bound, rounded up; infinite where `miss` is no larger than delta.
///
/// # Reference
/// Dwork, McSherry, Nissim and Smith 2006 (delta 0); Kasiviswanathan and Smith 2014.
pub fn ln_odds_factor(guarantee: ApproximateDp, miss: f64) -> Fallible<f64> {
    let (miss, delta) = (probability("miss", miss)?, guarantee.delta());
    if delta == 0.0 {
        return Ok(guarantee.epsilon());
    }
    if delta >= miss {
        return Ok(f64::INFINITY);
    }
    Ok(up(guarantee.epsilon() + up(-(-up(delta / miss, 1)).ln_1p(), 4), 1))
}

/// The belief that odds come to from a prior, when they grow by at most `e^ln_factor`.
///
/// `p e^x / (1 - p + p e^x)`.
///
/// # Errors
/// When `prior` is not strictly between 0 and 1.
///
/// # Privacy
/// An upper bound, rounded up.
///
/// # Reference
/// Bayes' rule.
pub fn posterior_at_most(ln_factor: f64, prior: f64) -> Fallible<f64> {
    let p = inner(prior)?;
    let odds = up(up(p / (1.0 - p), 3) * up(ln_factor.exp(), 4), 1);
    Ok(if odds.is_finite() { up(odds / (1.0 + odds), 4).min(1.0) } else { 1.0 })
}

/// The lowest and the highest belief that a prior comes to, but for an event of probability `delta`.
///
/// `p / (p + (1 - p) e^epsilon)` and `p / (p + (1 - p) e^-epsilon)`. Both laws are mixtures, `(1 - delta) P' + delta P''` and
/// `(1 - delta) Q' + delta Q''`, with `P'` and `Q'` within `e^epsilon` of each other at every outcome. The event is that the second part is drawn: it is as likely
/// under both, so seeing that it did not happen tells nothing, and given that, odds change by `e^epsilon` at most in either direction.
///
/// # Errors
/// When `prior` is not strictly between 0 and 1.
///
/// # Privacy
/// Bounds, rounded outward; randomised response that fails with probability delta attains both. Who sees the output alone does not see the
/// event: [`ln_odds_factor`] is about outputs.
///
/// # Reference
/// Steinke 2022, on the Bayesian reading of approximate DP (the upper half); Kairouz, Oh and Viswanath 2015 (the mixture).
///
/// ```
/// use rhograd::accounting::belief;
/// use rhograd::accounting::notion::ApproximateDp;
/// let (lowest, highest) = belief::unless_failed(ApproximateDp::new(1.0, 1e-6).unwrap(), 0.1).unwrap();
/// assert!(lowest > 0.039 && highest < 0.232);
/// ```
pub fn unless_failed(guarantee: ApproximateDp, prior: f64) -> Fallible<(f64, f64)> {
    let p = inner(prior)?;
    let odds = down(down(p / (1.0 - p), 3) / up(guarantee.epsilon().exp(), 4), 1).max(0.0);
    Ok((down(odds / (1.0 + odds), 4).max(0.0), posterior_at_most(guarantee.epsilon(), prior)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::finite::Pair;
    use crate::accounting::gaussian;
    use crate::privacy::Delta;

    const PRIORS: [f64; 8] = [1e-6, 0.01, 0.3, 0.499, 0.5, 0.6, 0.99, 0.999_999];

    /// The pair of laws that every (epsilon, delta)-DP mechanism can be made from: four outcomes.
    fn worst_pair(epsilon: f64, delta: f64) -> [[f64; 4]; 2] {
        let truth = (1.0 - delta) * epsilon.exp() / (1.0 + epsilon.exp());
        let lie = (1.0 - delta) / (1.0 + epsilon.exp());
        [[delta, truth, lie, 0.0], [0.0, lie, truth, delta]]
    }

    #[test]
    fn no_rule_on_the_worst_pair_is_right_more_often_and_one_is_as_often() {
        for epsilon in [0.0f64, 0.1, 1.0, 3.0, 10.0] {
            for delta in [0.0, 1e-9, 1e-3, 0.3] {
                let [there, absent] = worst_pair(epsilon, delta);
                for prior in PRIORS {
                    // All sixteen sets of outcomes at which a rule says "there".
                    let right = |rule: u32| -> f64 {
                        let says = |outcome: usize| rule >> outcome & 1 == 1;
                        (0..4).map(|o| if says(o) { prior * there[o] } else { (1.0 - prior) * absent[o] }).sum()
                    };
                    let best = (0..16).map(right).fold(0.0, f64::max);
                    let bound = right_at_most(ApproximateDp::new(epsilon, delta).unwrap(), prior).unwrap();
                    assert!(bound >= best && bound <= best + 1e-12, "{epsilon} {delta} {prior}: {bound} {best}");
                }
            }
        }
    }

    /// Mass of the standard normal between two points, by Simpson's rule on its density.
    fn mass(from: f64, to: f64) -> f64 {
        let (from, to, steps) = (from.clamp(-12.0, 12.0), to.clamp(-12.0, 12.0), 4_000);
        let density = |x: f64| (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
        let width = (to - from) / f64::from(steps);
        let weight = |i: i32| if i == 0 || i == steps { 1.0 } else { [2.0, 4.0][(i % 2) as usize] };
        (0..=steps).map(|i| weight(i) * density(from + width * f64::from(i))).sum::<f64>() * width / 3.0
    }

    #[test]
    fn no_threshold_between_two_normals_is_right_more_often_and_one_is_as_often() {
        for mu in [0.01, 0.3, 1.0, 3.0] {
            for prior in [0.01, 0.3, 0.5, 0.9] {
                let bound = gaussian_right_at_most(mu, prior).unwrap();
                let right = |t: f64| prior * mass(t - mu, 12.0) + (1.0 - prior) * mass(-12.0, t);
                let reach = 6.0 + 5.0 / mu;
                let found = (0..=400).map(|i| right(-reach + 2.0 * reach * f64::from(i) / 400.0)).fold(0.0, f64::max);
                let best = right(mu / 2.0 - (prior / (1.0 - prior)).ln() / mu);
                assert!(bound >= found - 1e-10 && (bound - best).abs() < 1e-10, "{mu} {prior}: {bound} {found} {best}");
            }
        }
        assert_eq!(gaussian_right_at_most(0.0, 0.5).unwrap(), up(0.5, 2));
        assert_eq!(gaussian_right_at_most(f64::INFINITY, 0.2).unwrap(), 1.0);
        // A fair coin and a tiny mu: 1/2 + mu/(2 sqrt(2 pi)).
        let tiny = gaussian_right_at_most(1e-9, 0.5).unwrap();
        assert!((0.5 + 1e-9 / 5.1..0.5 + 1e-9 / 5.0).contains(&tiny), "{tiny}");
    }

    #[test]
    fn the_curve_of_a_gaussian_never_allows_more_than_a_point_of_its_profile() {
        for mu in [0.1, 0.5, 2.0] {
            for delta in [1e-9, 1e-4, 0.1] {
                let epsilon = gaussian::epsilon(mu, Delta::new(delta).unwrap()).unwrap().value();
                for prior in PRIORS {
                    let point = right_at_most(ApproximateDp::new(epsilon, delta).unwrap(), prior).unwrap();
                    assert!(gaussian_right_at_most(mu, prior).unwrap() <= point + 1e-11);
                }
            }
        }
    }

    #[test]
    fn beliefs_grow_further_than_stated_no_more_often_than_stated() {
        for epsilon in [0.0f64, 0.5, 2.0] {
            for delta in [0.0, 1e-3, 0.05] {
                let [there, absent] = worst_pair(epsilon, delta);
                for miss in [0.0011, 0.01, 0.2] {
                    let factor = ln_odds_factor(ApproximateDp::new(epsilon, delta).unwrap(), miss).unwrap();
                    for prior in PRIORS {
                        let bound = posterior_at_most(factor, prior).unwrap();
                        let beyond = |law: [f64; 4]| -> f64 {
                            let after = |o: usize| prior * there[o] / (prior * there[o] + (1.0 - prior) * absent[o]);
                            (0..4).filter(|&o| there[o] > 0.0 && after(o) > bound).map(|o| law[o]).sum()
                        };
                        assert!(beyond(there) <= miss && beyond(absent) <= miss, "{epsilon} {delta} {miss} {prior}");
                    }
                }
            }
        }
        // Pure privacy: odds grow by e^epsilon and never further, and randomised response reaches it.
        let pure = ln_odds_factor(ApproximateDp::new(1.0, 0.0).unwrap(), 0.0).unwrap();
        let [there, absent] = worst_pair(1.0, 0.0);
        let after = 0.2 * there[1] / (0.2 * there[1] + 0.8 * absent[1]);
        let bound = posterior_at_most(pure, 0.2).unwrap();
        assert!(bound >= after && bound < after + 1e-14, "{bound} {after}");
        assert_eq!(ln_odds_factor(ApproximateDp::new(1.0, 0.1).unwrap(), 0.1).unwrap(), f64::INFINITY);
        assert_eq!(posterior_at_most(f64::INFINITY, 1e-9).unwrap(), 1.0);
    }

    #[test]
    fn beliefs_stay_between_both_ends_unless_the_second_part_is_drawn() {
        for code in 1..343u32 {
            let share = |i: u32, k: u32| f64::from((code / 7u32.pow(i) + 3 * k * i) % 7 + 1);
            let normed = |k: u32| {
                let total: f64 = (0..3).map(|i| share(i, k)).sum();
                (0..3).map(|i| share(i, k) / total).collect::<Vec<_>>()
            };
            let pair = Pair::new(normed(0), normed(code % 3 + 1)).unwrap();
            for epsilon in [0.1f64, 0.4, 1.5] {
                let delta = pair.hockey_stick(epsilon).max(pair.swapped().hockey_stick(epsilon));
                let parts = pair.decompose(epsilon, delta).unwrap();
                let (grown, total) = (epsilon.exp(), epsilon.exp() + 1.0);
                let drawn = |one: &[f64], other: &[f64], y: usize| (grown * one[y] + other[y]) / total;
                for prior in [0.01, 0.3, 0.9] {
                    let guarantee = ApproximateDp::new(epsilon, delta.min(1.0)).unwrap();
                    let (lowest, highest) = unless_failed(guarantee, prior).unwrap();
                    for y in 0..3 {
                        let (there, absent) = (drawn(&parts.a, &parts.b, y), drawn(&parts.b, &parts.a, y));
                        if there + absent == 0.0 {
                            continue;
                        }
                        let after = prior * there / (prior * there + (1.0 - prior) * absent);
                        assert!(after >= lowest - 1e-12 && after <= highest + 1e-12, "{code} {epsilon} {prior} {y}");
                        // It is part of the pair's own law.
                        assert!((1.0 - delta) * there <= pair.p()[y] + 1e-12);
                    }
                }
            }
        }
        let (lowest, highest) = unless_failed(ApproximateDp::new(1.0, 0.1).unwrap(), 0.2).unwrap();
        let response = |q: f64| 0.2 * q / (0.2 * q + 0.8 * (1.0 - q));
        let truth = 1f64.exp() / (1.0 + 1f64.exp());
        assert!((highest - response(truth)).abs() < 1e-14 && (lowest - response(1.0 - truth)).abs() < 1e-14);
        assert_eq!(unless_failed(ApproximateDp::new(f64::INFINITY, 0.1).unwrap(), 0.2).unwrap(), (0.0, 1.0));
    }

    #[test]
    fn losses_of_two_normals_exceed_the_factor_no_more_often_than_stated() {
        for mu in [0.1, 1.0, 3.0] {
            for miss in [1e-6, 1e-3, 0.1] {
                for share in [0.5, 0.1, 0.01] {
                    let delta = miss * share;
                    let epsilon = gaussian::epsilon(mu, Delta::new(delta).unwrap()).unwrap().value();
                    let factor = ln_odds_factor(ApproximateDp::new(epsilon, delta).unwrap(), miss).unwrap();
                    // The loss is normal with mean mu^2/2 and deviation mu where the first law is true.
                    let beyond = normal_tail((factor - mu * mu / 2.0) / mu);
                    assert!(beyond <= miss, "{mu} {miss} {share}: {beyond}");
                }
            }
        }
    }

    #[test]
    fn certainty_is_no_prior() {
        let guarantee = ApproximateDp::new(1.0, 1e-6).unwrap();
        for prior in [0.0, 1.0, -0.1, 1.1, f64::NAN] {
            assert!(right_at_most(guarantee, prior).is_err());
            assert!(gaussian_right_at_most(1.0, prior).is_err() && posterior_at_most(1.0, prior).is_err());
        }
    }
}
