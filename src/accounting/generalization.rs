//! What a guarantee says of rows that were not trained on: private models do not overfit, by this much at most.
//!
//! `n` rows are drawn independently from a population, a mechanism is run on them, and a number in a range of width `w` (a loss, a
//! rate of errors, a share) is averaged over the same rows. Put a fresh row in the place of row `i`: the output then knows nothing
//! of row `i`, so its mean there is that of the population, and neighbours differ by one replaced row. Hence
//! `|E[mean over the rows - mean over the population]| <= w TV`, with `TV` the largest total variation between outputs on
//! neighbours (Bousquet and Elisseeff 2002; Dwork, Feldman, Hardt, Pitassi, Reingold and Roth 2015).
//!
//! It is averaged over `i`, so no algorithm has to be symmetric in its rows. The bounds on gaps want a guarantee under **replace-one**; one
//! under add-remove is that of a group of two for it.
//!
//! ```
//! use rhograd::accounting::generalization;
//! # fn main() -> rhograd::error::Fallible<()> {
//! // A rate of errors on the training rows, after a run with a rho of 0.005.
//! assert!((generalization::gaussian_gap(0.1, 1.0)? - 0.0399).abs() < 1e-4);
//! assert!((generalization::zcdp_gap(0.005, 1.0)? - 0.05).abs() < 1e-12);
//! # Ok(())
//! # }
//! ```

use super::directed::{finite, nonnegative};
use super::notion::ApproximateDp;
use crate::error::{Error, Fallible};
use crate::num::round::{down, up};
use crate::num::special::normal_tail;

const SQRT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;

/// The largest expected gap between rows that were trained on and new ones, after a mu-Gaussian mechanism.
///
/// `w (2 Phi(mu/2) - 1)`, with `w` the width of the range that the averaged numbers lie in.
///
/// # Errors
/// When `mu` is negative or NaN, or `width` is not finite.
///
/// # Privacy
/// An upper bound, rounded up. The guarantee must hold under replace-one.
///
/// # Reference
/// Dong, Roth and Su 2022, Definition 2.6 (the curve, whose largest distance from the diagonal is the total variation).
pub fn gaussian_gap(mu: f64, width: f64) -> Fallible<f64> {
    let (mu, width) = (nonnegative("mu", mu)?, finite("width", width)?);
    if mu == 0.0 {
        return Ok(0.0);
    }
    let half = mu / 2.0;
    // Where both tails are near a half, their difference is a series of falling terms with alternating signs.
    let variation = if mu < 0.01 {
        let square = half * half;
        up(SQRT_2_OVER_PI * half * (1.0 - square / 6.0 + square * square / 40.0), 6)
    } else {
        up(1.0 - 2.0 * normal_tail(half) + 1e-15, 2)
    };
    Ok(up(width * variation.min(1.0), 1))
}

/// The largest expected gap between rows that were trained on and new ones, after a mechanism with a rho.
///
/// `w min{sqrt(rho/2), sqrt(1 - e^-rho)}`: the Kullback-Leibler divergence is at most rho.
///
/// # Errors
/// When `rho` is negative or NaN, or `width` is not finite.
///
/// # Privacy
/// An upper bound, rounded up. The guarantee must hold under replace-one.
///
/// # Reference
/// Pinsker 1960; Bretagnolle and Huber 1979; Bun and Steinke 2016, Definition 1.1.
pub fn zcdp_gap(rho: f64, width: f64) -> Fallible<f64> {
    let (rho, width) = (nonnegative("rho", rho)?, finite("width", width)?);
    // The half of a subnormal number is rounded.
    let (near, far) = (up(rho / 2.0, 1).sqrt(), (-(-rho).exp_m1()).sqrt());
    Ok(if rho == 0.0 { 0.0 } else { up(width * up(near.min(far).min(1.0), 3), 1) })
}

/// The largest expected gap between rows that were trained on and new ones, after an (epsilon, delta) mechanism.
///
/// `w (e^epsilon - 1 + 2 delta) / (e^epsilon + 1)`.
///
/// # Errors
/// When `width` is not finite.
///
/// # Privacy
/// An upper bound, rounded up. The guarantee must hold under replace-one.
///
/// # Reference
/// Kairouz, Oh and Viswanath 2015, Theorem 2.1.
pub fn approximate_gap(guarantee: ApproximateDp, width: f64) -> Fallible<f64> {
    let width = finite("width", width)?;
    if guarantee.epsilon() == 0.0 && guarantee.delta() == 0.0 {
        return Ok(0.0);
    }
    // (e^x - 1)/(e^x + 1) = tanh(x/2), and 2/(e^x + 1) = 1 - tanh(x/2).
    let tanh = (guarantee.epsilon() / 2.0).tanh();
    let half = up(tanh, 4).min(1.0);
    let rest = if guarantee.delta() == 0.0 { 0.0 } else { up(guarantee.delta() * up(1.0 - down(tanh, 4), 1), 1) };
    Ok(up(width * up(half + rest, 1).min(1.0), 1))
}

/// By how much the mean of a number differs between neighbours at most.
///
/// For `Y` in `[-low, high]`, with `Y+ = max{Y, 0}` and `Y- = max{-Y, 0}`, the definition applied to level sets gives
/// `E X+ <= e^epsilon E Y+ + delta high` and `E X- >= e^-epsilon (E Y- - delta low)`. So `E X - E Y` is at most
/// `(e^epsilon - 1) E[Y+] + (1 - e^-epsilon) E[Y-] + delta (high + e^-epsilon low)`, and `E Y - E X` the same with both signs exchanged. The larger
/// of both is returned.
///
/// # Errors
/// When a mean or an end of the range is negative or not finite, or a mean lies beyond its end.
///
/// # Privacy
/// An upper bound, rounded up; it holds under the relation of the guarantee, whichever that is.
///
/// # Reference
/// Dwork, Kenthapadi, McSherry, Mironov and Naor 2006 (the definition).
pub fn moment_gap(guarantee: ApproximateDp, positive: f64, negative: f64, low: f64, high: f64) -> Fallible<f64> {
    let (positive, negative) = (finite("positive", positive)?, finite("negative", negative)?);
    let (low, high) = (finite("low", low)?, finite("high", high)?);
    if positive > high || negative > low {
        return Err(Error::parameter("positive, negative", "lie beyond the range", "give means of parts within it"));
    }
    let (epsilon, delta) = (guarantee.epsilon(), guarantee.delta());
    if epsilon == 0.0 && delta == 0.0 {
        return Ok(0.0);
    }
    // The product of an infinite factor and nothing is nothing.
    let times = |factor: f64, mean: f64| if mean == 0.0 { 0.0 } else { up(up(factor, 3) * mean, 1) };
    let one_sided = |grows: f64, falls: f64, [top, bottom]: [f64; 2]| {
        let moved = up(times(epsilon.exp_m1(), grows) + times(-(-epsilon).exp_m1(), falls), 1);
        let failing = times(delta, up(top + times((-epsilon).exp(), bottom), 1));
        up(moved + failing, 1)
    };
    let either = one_sided(positive, negative, [high, low]).max(one_sided(negative, positive, [low, high]));
    // Whatever the laws, neither mean leaves the range.
    Ok(either.min(up(low + high, 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::finite::Pair;

    #[test]
    fn the_worst_pair_has_this_gap_and_no_more() {
        for epsilon in [0.0, 1e-9, 0.3, 2.0, 40.0] {
            for delta in [0.0, 1e-8, 0.2] {
                let pair = Pair::worst(epsilon, delta).unwrap();
                let apart: f64 = pair.p().iter().zip(pair.q()).map(|(p, q)| (p - q).max(0.0)).sum();
                let bound = approximate_gap(ApproximateDp::new(epsilon, delta).unwrap(), 2.0).unwrap();
                assert!(bound >= 2.0 * apart - 1e-15 && bound <= 2.0 * apart + 1e-14, "{epsilon} {delta}");
            }
        }
    }

    #[test]
    fn gaussians_meet_theirs_and_stay_below_that_of_their_rho() {
        let mut last = 0.0;
        for mu in [1e-12, 1e-4, 0.009_999, 0.010_001, 0.3, 1.0, 4.0, 60.0] {
            let (exact, by_rho) = (gaussian_gap(mu, 1.0).unwrap(), zcdp_gap(mu * mu / 2.0, 1.0).unwrap());
            let steps = 20_000;
            let density = |x: f64| (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
            let reach = (mu / 2.0).min(9.0);
            let found: f64 = (0..steps).map(|i| density(reach * (f64::from(i) + 0.5) / f64::from(steps))).sum();
            let found = 2.0 * found * reach / f64::from(steps);
            assert!(exact >= found * (1.0 - 1e-9) && exact <= found * (1.0 + 1e-4), "{mu}: {exact} {found}");
            assert!(exact <= by_rho && exact > last, "{mu}");
            last = exact;
        }
        for least in [1u64, 5, 9, 101, (1 << 40) + 1].map(f64::from_bits) {
            assert!(
                zcdp_gap(least, 1.0).unwrap()
                    >= (least * 2f64.powi(200)).sqrt() * 2f64.powi(-100) * 0.707_106_781_186_547_5
            );
        }
        assert_eq!([gaussian_gap(0.0, 1.0).unwrap(), zcdp_gap(0.0, 1.0).unwrap()], [0.0; 2]);
        assert!(gaussian_gap(f64::INFINITY, 3.0).unwrap() <= 3.0_f64.next_up());
    }

    #[test]
    fn means_on_every_finite_pair_stay_within_the_bound_and_one_reaches_it() {
        let mut closest = 0f64;
        for epsilon in [0.1f64, 1.0] {
            for delta in [0.0, 0.05] {
                let pair = Pair::worst(epsilon, delta).unwrap();
                let guarantee = ApproximateDp::new(epsilon, delta).unwrap();
                for code in 0..81 {
                    // Every assignment of -1, 0 and 2 to four outcomes.
                    let value = |i: usize| [-1.0, 0.0, 2.0][code / 3usize.pow(i as u32) % 3];
                    let mean = |law: &[f64], part: fn(f64) -> f64| -> f64 {
                        law.iter().enumerate().map(|(i, p)| p * part(value(i))).sum()
                    };
                    let (x, y) = (mean(pair.p(), |v| v), mean(pair.q(), |v| v));
                    let (plus, minus) = (mean(pair.q(), |v| v.max(0.0)), mean(pair.q(), |v| (-v).max(0.0)));
                    let bound = moment_gap(guarantee, plus, minus, 1.0, 2.0).unwrap();
                    assert!((x - y).abs() <= bound + 1e-12, "{epsilon} {delta} {code}: {} {bound}", x - y);
                    if bound > 0.0 {
                        closest = closest.max((x - y).abs() / bound);
                    }
                }
            }
        }
        assert!(closest > 0.999, "{closest}");
        // Both signs count: -1 with probability 0.1, and e times as often on the neighbour.
        let pure = ApproximateDp::new(1.0, 0.0).unwrap();
        let bound = moment_gap(pure, 0.0, 0.1, 1.0, 0.0).unwrap();
        assert!((bound - 0.1 * 1f64.exp_m1()).abs() < 1e-14, "{bound}");
        assert!(moment_gap(pure, 0.2, 0.0, 1.0, 0.1).is_err());
    }

    #[test]
    fn what_has_no_range_has_no_bound() {
        let guarantee = ApproximateDp::new(1.0, 0.0).unwrap();
        assert!(gaussian_gap(-1.0, 1.0).is_err() && zcdp_gap(f64::NAN, 1.0).is_err());
        assert!(
            approximate_gap(guarantee, f64::INFINITY).is_err() && moment_gap(guarantee, -1.0, 0.0, 1.0, 1.0).is_err()
        );
    }
}
