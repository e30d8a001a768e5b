//! Masses and mean losses of intervals under two unit normals, to nearly full relative precision.

use super::special::{LEGENDRE, LN_SQRT_TAU, mills};

/// `ln P[a < Z < b]` for a standard normal and `a < b`; relative error of the mass a few units over the
/// width of the interval in units of the local decay length.
pub(crate) fn ln_mass(a: f64, b: f64) -> f64 {
    if a >= 0.0 {
        // phi(a) (R(a) - e^(-(b^2-a^2)/2) R(b)) with the Mills ratio R: nothing underflows.
        let fall = (-(b - a) * (0.5 * (a + b))).exp();
        -a * a / 2.0 - LN_SQRT_TAU + (mills(a) - if fall > 0.0 { fall * mills(b) } else { 0.0 }).ln()
    } else if b <= 0.0 {
        ln_mass(-b, -a)
    } else {
        (ln_mass(0.0, -a).exp() + ln_mass(0.0, b).exp()).ln()
    }
}

/// The loss of `N(mu, 1)` against `N(0, 1)` at `u`.
pub(crate) fn loss(u: f64, mu: f64) -> f64 {
    mu * (u - mu / 2.0)
}

/// The widest interval, in decay lengths, that is integrated piece by piece.
const PIECES: f64 = 64.0;

/// `ln` of the mass of `(a, b)` under `N(0, 1)`, and `ln` of the ratio of the masses under `N(mu, 1)`
/// and `N(0, 1)`.
///
/// Intervals are integrated by 10-point rules on pieces so narrow that their error is below 1e-30. Where
/// losses are small the ratio is summed less 1, so that it keeps its relative precision even when it is
/// tiny; elsewhere that difference would lose digits. Only very wide intervals, whose exact ratio never
/// matters, take the difference of two tails.
pub(crate) fn cell(a: f64, b: f64, mu: f64) -> (f64, f64) {
    let width = b - a;
    let reach = width * (a.abs().max(b.abs()) + mu.abs() + 1.0);
    if reach.is_nan() || reach > PIECES {
        let base = ln_mass(a, b);
        return (base, ln_mass(a - mu, b - mu) - base);
    }
    // Densities relative to the point nearest 0, losses relative to the one there unless they are small.
    let nearest = 0f64.clamp(a, b);
    let small = loss(a, mu).abs().max(loss(b, mu).abs()) < 1.0;
    let base = if small { 0.0 } else { loss(nearest, mu) };
    let pieces = reach.ceil().max(1.0);
    let half = width / pieces / 2.0;
    let (mut mass, mut shifted) = (0.0, 0.0);
    for piece in 0..pieces as u32 {
        let middle = a + half * f64::from(2 * piece + 1);
        for (node, weight) in LEGENDRE {
            for u in [middle - node * half, middle + node * half] {
                let density = weight * (-(u - nearest) * (u + nearest) / 2.0).exp();
                mass += density;
                let gain = loss(u, mu) - base;
                shifted += density * if small { gain.exp_m1() } else { gain.exp() };
            }
        }
    }
    let ln_base = -nearest * nearest / 2.0 - LN_SQRT_TAU;
    let ratio = shifted / mass;
    (ln_base + (2.0 * half * mass).ln(), if small { ratio.ln_1p() } else { ratio.ln() + base })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::special::normal_tail;

    #[test]
    fn both_rules_agree() {
        for mu in [1e-4, 0.1, 1.0, 5.0] {
            for i in -40..40 {
                let a = f64::from(i) * 0.5;
                let b = a + 0.9 / (a.abs() + mu + 2.0);
                let (base, ratio) = cell(a, b, mu);
                assert!((base - ln_mass(a, b)).abs() < 1e-13 * (1.0 + base.abs()), "{mu} {a}");
                let plain = ln_mass(a - mu, b - mu) - ln_mass(a, b);
                assert!((ratio - plain).abs() < 1e-13 * (1.0 + base.abs()), "{mu} {a}: {ratio} {plain}");
            }
        }
    }

    #[test]
    fn masses_agree_with_tails() {
        for (a, b) in [(-1.0, 2.0), (0.5, 0.6), (-3.0, -1.0), (3.0, 40.0), (-50.0, 50.0)] {
            let direct = normal_tail(a) - normal_tail(b);
            assert!((ln_mass(a, b).exp() / direct - 1.0).abs() < 1e-13);
        }
    }
}
