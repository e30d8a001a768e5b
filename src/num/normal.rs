//! Masses and mean losses of intervals under two unit normals, to nearly full relative precision, with bounds on their rounding.
//!
//! Bounds count units of rounding, `2^-53`: one for every operation and two for a function, which errs by less than one in the last place.

use super::Compensated;
use super::special::{LEGENDRE, MILLS_UNITS, mills};

/// `1 / sqrt(2 pi)`.
const INV_SQRT_TAU: f64 = 0.398_942_280_401_432_7;

/// A mass `factor * e^exponent`, in which the exponent is exact: logarithms of what is far out are large, and so would be their rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mass {
    pub exponent: f64,
    pub factor: f64,
    /// Units of rounding of the factor, relative to it.
    pub units: f64,
}

impl Mass {
    /// A mass of this logarithm, which is off by some units absolutely.
    pub(crate) fn of_ln(ln: f64, units: f64) -> Self {
        Mass { exponent: ln, factor: 1.0, units }
    }

    /// `phi(x)` times a factor that is off by some units, phi being the density of the standard normal.
    pub(crate) fn of_density(x: f64, factor: f64, units: f64) -> Self {
        let square = x * x;
        // What squaring rounded.
        let lost = if square.is_finite() { x.mul_add(x, -square) } else { 0.0 };
        Mass { exponent: -square / 2.0, factor: factor * (INV_SQRT_TAU * (-lost / 2.0).exp()), units: units + 5.0 }
    }

    /// The mass times a factor that is off by some units.
    pub(crate) fn times(self, factor: f64, units: f64) -> Self {
        Mass { factor: self.factor * factor, units: self.units + units + 1.0, ..self }
    }

    /// Its logarithm, rounded.
    pub(crate) fn ln(&self) -> f64 {
        self.exponent + self.factor.ln()
    }

    /// By how many units that may be off.
    pub(crate) fn ln_units(&self) -> f64 {
        self.units + 2.0 * self.factor.ln().abs() + self.ln().abs()
    }
}

/// A logarithm that is off by at most so many units of rounding, absolutely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rounded {
    pub ln: f64,
    pub units: f64,
}

/// An interval under `N(0, 1)` and `N(mu, 1)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    /// The mass under `N(0, 1)`.
    pub mass: Mass,
    /// The mass under `N(mu, 1)`.
    pub moved: Mass,
    /// The second over the first.
    pub ratio: Rounded,
}

/// `P[a < Z < b]` for a standard normal and `a < b`, whose ends are off by some units.
fn mass_by_tails(a: f64, b: f64, ends: f64) -> Mass {
    if a >= 0.0 {
        // phi(a) (R(a) - e^(-(b^2-a^2)/2) R(b)) with the Mills ratio R: nothing underflows.
        let drop = (b - a) * (0.5 * (a + b));
        let fall = (-drop).exp();
        let (near, far) = (mills(a), if fall > 0.0 { fall * mills(b) } else { 0.0 });
        let far_units = if fall > 0.0 { far * (MILLS_UNITS + 3.0 + 4.0 * drop) + ends * b * fall } else { 0.0 };
        let left = near - far;
        Mass::of_density(a, left, 1.0 + (MILLS_UNITS * near + ends * a + far_units) / left)
    } else if b <= 0.0 {
        mass_by_tails(-b, -a, ends)
    } else {
        // The exponents at 0 are 0.
        let (left, right) = (mass_by_tails(0.0, -a, ends), mass_by_tails(0.0, b, ends));
        Mass { exponent: 0.0, factor: left.factor + right.factor, units: left.units.max(right.units) + 1.0 }
    }
}

/// The loss of `N(mu, 1)` against `N(0, 1)` at `u`.
pub(crate) fn loss(u: f64, mu: f64) -> f64 {
    mu * (u - mu / 2.0)
}

/// The widest interval, in decay lengths, that is integrated piece by piece.
const PIECES: f64 = 64.0;

/// The masses of `(a, b)` under `N(0, 1)` and `N(mu, 1)`, and their ratio.
///
/// Intervals are integrated by 10-point rules on pieces so narrow that their error is below 1e-30. Where
/// losses are small the ratio is summed less 1, so that it keeps its relative precision even when it is
/// tiny; elsewhere that difference would lose digits. Only very wide intervals, whose exact ratio never
/// matters, take the difference of two tails.
pub(crate) fn cell(a: f64, b: f64, mu: f64) -> Interval {
    let width = b - a;
    let reach = width * (a.abs().max(b.abs()) + mu.abs() + 1.0);
    if reach.is_nan() || reach > PIECES {
        let (mass, moved) = (mass_by_tails(a, b, 0.0), mass_by_tails(a - mu, b - mu, 1.0));
        let ln = moved.ln() - mass.ln();
        return Interval { mass, moved, ratio: Rounded { ln, units: mass.ln_units() + moved.ln_units() + ln.abs() } };
    }
    // Densities relative to the point nearest 0, losses relative to the one there unless they are small. Distances from that point are
    // summed, for those from 0 would be rounded, and the square of what is far magnifies it.
    let (nearest, first, sign) = if a >= 0.0 {
        (a, 0.0, 1.0)
    } else if b <= 0.0 {
        (b, 0.0, -1.0)
    } else {
        (0.0, a, 1.0)
    };
    let largest = loss(a, mu).abs().max(loss(b, mu).abs());
    let small = largest < 1.0;
    // The loss at the nearest point in units of mu.
    let from = if small { nearest - mu / 2.0 } else { 0.0 };
    let pieces = reach.ceil().max(1.0);
    let half = width / pieces / 2.0;
    let (mut mass, mut shifted) = (Compensated::default(), Compensated::default());
    // Units of rounding of the exponents in both.
    let (mut mass_units, mut shifted_units) = (0.0, 0.0);
    for piece in 0..pieces as u32 {
        let middle = f64::from(2 * piece + 1);
        for (node, weight) in LEGENDRE {
            for at in [middle - node, middle + node] {
                let distance = first + sign * (at * half);
                let exponent = distance * (distance + 2.0 * nearest) / 2.0;
                let density = weight * (-exponent).exp();
                mass.add(density);
                // Ten of products of sums, and five of a distance that may be the difference of larger ones.
                let units = 10.0 * exponent + if first < 0.0 { 5.0 * width * distance.abs() } else { 0.0 };
                mass_units += density * units;
                let gain = mu * (from + distance);
                let term = density * if small { gain.exp_m1() } else { gain.exp() };
                shifted.add(term);
                shifted_units += if small { 0.0 } else { term * (units + 8.0 * mu.abs() * (distance.abs() + width)) };
            }
        }
    }
    let (mass, shifted) = (mass.value(), shifted.value());
    // A weight, a product, a function or two, and the sum; then half the width, and a product.
    let own = 6.0 + mass_units / mass;
    let mass_of_q = Mass::of_density(nearest, 2.0 * half * mass, own + 3.0);
    if small {
        let ratio = shifted / mass;
        let ln = ratio.ln_1p();
        // A gain errs by 13 units of the largest loss; weights err by their own, which moves a mean by no more than losses differ; then
        // there are sums, products and functions. All of it is magnified by an exponential and a logarithm at most.
        let magnified = (2.0 * largest).exp();
        let units = magnified * (25.0 * largest + 2.0 * own * mu.abs() * width);
        let moved = mass_of_q.times(1.0 + ratio, units + 1.0);
        return Interval { mass: mass_of_q, moved, ratio: Rounded { ln, units } };
    }
    let other = 9.0 + shifted_units / shifted;
    let base = loss(nearest, mu);
    let ratio = (shifted / mass).ln();
    let ln = ratio + base;
    let units = own + other + 1.0 + 2.0 * ratio.abs() + 2.0 * base.abs() + ln.abs();
    // The density of the other law at the nearest point, whose square is `d^2 + 2 d r` for a difference d and what it rounded, r.
    let distance = nearest - mu;
    let back = nearest - distance;
    let lost = (nearest - (distance + back)) + (back - mu);
    let moved = Mass::of_density(distance, 2.0 * half * shifted, other + 3.0);
    Interval { mass: mass_of_q, moved: moved.times((-distance * lost).exp(), 2.0), ratio: Rounded { ln, units } }
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
                let Interval { mass, ratio, .. } = cell(a, b, mu);
                let (base, ratio) = (mass.ln(), ratio.ln);
                assert!((base - mass_by_tails(a, b, 0.0).ln()).abs() < 1e-13 * (1.0 + base.abs()), "{mu} {a}");
                let plain = mass_by_tails(a - mu, b - mu, 1.0).ln() - mass_by_tails(a, b, 0.0).ln();
                assert!((ratio - plain).abs() < 1e-13 * (1.0 + base.abs()), "{mu} {a}: {ratio} {plain}");
            }
        }
    }

    /// Every rounding is counted, and not much more: a narrow interval errs by some units of itself, however far out it is.
    #[test]
    fn errors_are_within_the_units_that_are_stated() {
        let (mut used, mut narrow) = ([0f64; 3], 0);
        // Differences of `erfc` in 60 digits, each logarithm as the nearest number and what is left.
        for line in include_str!("../../tests/golden/normal_masses.csv").lines().skip(1) {
            let numbers: Vec<f64> = line.split(',').map(|it| it.parse().unwrap()).collect();
            let [a, b, mu] = [0, 1, 2].map(|k| numbers[k]);
            let it = cell(a, b, mu);
            let units = |error: f64| error.abs() / (f64::EPSILON / 2.0);
            for (k, mass) in [it.mass, it.moved].into_iter().enumerate() {
                let truth = &numbers[3 + 2 * k..];
                let ln_factor = (truth[0] - mass.exponent) + truth[1];
                let error = units(mass.factor / ln_factor.exp() - 1.0);
                // What the comparison itself rounds.
                let slack = 4.0 + 2.0 * ln_factor.abs();
                assert!(error <= mass.units + slack, "{a} {b} {mu} {k}: {error} units, {}", mass.units);
                used[k] = used[k].max(error / (mass.units + slack));
            }
            let error = units((it.ratio.ln - numbers[7]) - numbers[8]);
            assert!(error <= it.ratio.units, "{a} {b} {mu}: {error} units, {}", it.ratio.units);
            used[2] = used[2].max(error / it.ratio.units);
            if (b - a) * (a.abs().max(b.abs()) + mu) < 0.1 {
                narrow += 1;
                let both = [it.mass.units, it.moved.units];
                assert!(both.iter().all(|it| *it < 32.0), "{a} {b} {mu}: {both:?}");
            }
        }
        assert!(used.iter().all(|it| *it > 0.1) && narrow > 10, "{used:?} {narrow}");
    }

    #[test]
    fn masses_agree_with_tails() {
        for (a, b) in [(-1.0, 2.0), (0.5, 0.6), (-3.0, -1.0), (3.0, 40.0), (-50.0, 50.0)] {
            let direct = normal_tail(a) - normal_tail(b);
            assert!((mass_by_tails(a, b, 0.0).ln().exp() / direct - 1.0).abs() < 1e-13);
        }
    }
}
